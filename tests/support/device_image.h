/* Images for tests of the device room: kernels compiled here and now, with a contract read by a second, small reader of
 * section ".slipway.kernels", so that these tests need neither the store nor the backend. */
#ifndef SLT_DEVICE_IMAGE_H
#define SLT_DEVICE_IMAGE_H

#include <slipway/sys/driver_impl.h>

/* Everything is malloc'ed and lives until slt_image_free. */
typedef struct slt_image {
    void *data;
    slw_contract contract;
    slw_driver_image image; /* what a driver is given */
} slt_image;

/* Compiles a C file (absolute), or C text, to a shared object with `cc`. `flags` may be "". Fails the test when cc
   fails. */
slt_image *slt_image_compile(const char *source_path, const char *flags);
slt_image *slt_image_compile_text(const char *text, const char *flags);
/* Any bytes, with the contract of one kernel of that name without parameters. */
slt_image *slt_image_of_bytes(const void *bytes, size_t size, const char *kernel);
/* Any bytes with any kernels; both, and the names and parameters of the kernels, are malloc'ed and become the image's. */
slt_image *slt_image_of_kernels(void *data, size_t size, slw_kernel_contract *kernels, uint32_t count);
void slt_image_free(slt_image *image);
/* The record's own reader: kernels of the contract, sorted by name. Fails the test on a malformed section. */
const slw_kernel_contract *slt_image_kernel(const slt_image *image, const char *name);
/* Another digest, so that the same bytes are another module. */
void slt_image_renumber(slt_image *image, uint32_t number);

/* Path of a file of the repository, absolute. */
const char *slt_repository(const char *relative);

#endif
