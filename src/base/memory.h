/* Memory from the allocator in the options. An allocator whose three functions are NULL is the C library's. */
#ifndef SLWI_MEMORY_H
#define SLWI_MEMORY_H

#include <slipway/bytes.h>

/* NULL becomes the default; a half-set one is USAGE. The copy is what objects hold. */
slw_code slwi_allocator_take(const slw_allocator *from, slw_allocator *out, slw_error *err);

/* All give NULL on failure or when count * size overflows; size 0 is taken as 1. */
void *slwi_alloc(const slw_allocator *allocator, size_t size);
void *slwi_alloc_zero(const slw_allocator *allocator, size_t size);
void *slwi_alloc_array(const slw_allocator *allocator, size_t count, size_t size); /* not zeroed */
void *slwi_realloc_array(const slw_allocator *allocator, void *pointer, size_t count, size_t size);
char *slwi_strndup(const slw_allocator *allocator, const char *text, size_t size); /* NUL-terminated */
void slwi_free(const slw_allocator *allocator, void *pointer); /* NULL is fine */

/* NO_MEMORY with the amount. */
slw_code slwi_fail_memory(slw_error *err, size_t size);

#endif
