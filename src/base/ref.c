/* Reference counts. */
#include "ref.h"

#include <stddef.h>

void slwi_ref_init(slwi_ref *ref, void (*destroy)(slwi_ref *self)) {
    atomic_init(&ref->count, 1);
    ref->destroy = destroy;
}

void *slwi_retain(const void *counted) {
    if (counted == NULL) return NULL;
    /* The count is the one part of a counted object that changes behind a const pointer. */
    slwi_ref *ref = (slwi_ref *)(uintptr_t)counted;
    (void)atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
    return ref;
}

void slwi_release(void *counted) {
    if (counted == NULL) return;
    slwi_ref *ref = counted;
    /* Acquire and release: what other threads did to the object is seen by the one that destroys it. */
    if (atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1) ref->destroy(ref);
}
