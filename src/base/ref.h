/* Reference counts. A counted object has a slwi_ref as its FIRST member. */
#ifndef SLWI_REF_H
#define SLWI_REF_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct slwi_ref {
    atomic_uint_fast32_t count;
    void (*destroy)(struct slwi_ref *self); /* called by the last release, on its thread */
} slwi_ref;

void slwi_ref_init(slwi_ref *ref, void (*destroy)(slwi_ref *self)); /* count 1 */
void *slwi_retain(const void *counted);                             /* returns its argument; NULL is fine */
void slwi_release(void *counted);                                   /* NULL is fine */

#endif
