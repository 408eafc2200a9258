/* Memory from the allocator of the options. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "fail.h"

slw_code slwi_allocator_take(const slw_allocator *from, slw_allocator *out, slw_error *err) {
    const slw_allocator standard = SLW_ALLOCATOR_INIT;
    if (from == NULL) {
        *out = standard;
        return SLW_OK;
    }
    const int set = (from->allocate != NULL) + (from->reallocate != NULL) + (from->release != NULL);
    if (set != 0 && set != 3) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_ALLOCATOR", "an allocator has three functions or none, not %d", set);
    }
    *out = *from;
    return SLW_OK;
}

static int is_standard(const slw_allocator *allocator) {
    return allocator == NULL || allocator->allocate == NULL;
}

void *slwi_alloc(const slw_allocator *allocator, size_t size) {
    if (size == 0) size = 1;
    if (is_standard(allocator)) return malloc(size);
    return allocator->allocate(allocator->context, size);
}

void *slwi_alloc_zero(const slw_allocator *allocator, size_t size) {
    if (size == 0) size = 1;
    if (is_standard(allocator)) return calloc(1, size);
    void *memory = allocator->allocate(allocator->context, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void *slwi_alloc_array(const slw_allocator *allocator, size_t count, size_t size) {
    size_t total = 0;
    if (slwi_mul_size(count, size, &total)) return NULL;
    return slwi_alloc(allocator, total);
}

void *slwi_realloc_array(const slw_allocator *allocator, void *pointer, size_t count, size_t size) {
    size_t total = 0;
    if (slwi_mul_size(count, size, &total)) return NULL;
    if (total == 0) total = 1;
    if (is_standard(allocator)) return realloc(pointer, total);
    return allocator->reallocate(allocator->context, pointer, total);
}

char *slwi_strndup(const slw_allocator *allocator, const char *text, size_t size) {
    size_t total = 0;
    if (slwi_add_size(size, 1, &total)) return NULL;
    char *copy = slwi_alloc(allocator, total);
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void slwi_free(const slw_allocator *allocator, void *pointer) {
    if (pointer == NULL) return;
    if (is_standard(allocator)) {
        free(pointer);
    } else {
        allocator->release(allocator->context, pointer);
    }
}

slw_code slwi_fail_memory(slw_error *err, size_t size) {
    (void)slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no memory for %zu bytes", size);
    return SLW_E_NO_MEMORY;
}
