/* Bytes that are handed out: read once into private pages, then read-only. Pages and not the heap, so that a stray
   write ends at once instead of changing a kernel. */
#include "file.h"

#include <errno.h>
#include <stddef.h>

#include "memory.h"
#include "ref.h"

struct slwi_image {
    slwi_ref ref; /* first: slwi_retain and slwi_release count it */
    slw_allocator allocator;
    void *data;
    size_t size;
    int sealed;
};

static void destroy(slwi_ref *ref) {
    slwi_image *image = (slwi_image *)(void *)ref;
    const slwi_os *os = slwi_os_get();
    os->unmap(os, image->data, image->size);
    const slw_allocator allocator = image->allocator;
    slwi_free(&allocator, image);
}

int slwi_image_create(const slw_allocator *allocator, size_t size, slwi_image **out) {
    const slw_allocator standard = SLW_ALLOCATOR_INIT;
    const slwi_os *os = slwi_os_get();
    slwi_image *image = slwi_alloc(allocator, sizeof *image);
    if (image == NULL) return -ENOMEM;
    const int rc = os->map_anonymous(os, size, &image->data);
    if (rc < 0) {
        slwi_free(allocator, image);
        return rc;
    }
    slwi_ref_init(&image->ref, destroy);
    image->allocator = allocator != NULL ? *allocator : standard;
    image->size = size;
    image->sealed = 0;
    *out = image;
    return 0;
}

void *slwi_image_data(slwi_image *image) {
    return image->data;
}

size_t slwi_image_size(const slwi_image *image) {
    return image->size;
}

int slwi_image_seal(slwi_image *image) {
    if (image->sealed) return 0;
    const slwi_os *os = slwi_os_get();
    const int rc = os->map_protect_read(os, image->data, image->size);
    if (rc == 0) image->sealed = 1;
    return rc;
}
