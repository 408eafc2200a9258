/* Devices on the doubles: the options that lead to one, and an image that both drivers can load. */
#ifndef SLT_GPU_WORLD_H
#define SLT_GPU_WORLD_H

#include "device_image.h"
#include "double_loader.h"

/* cuda and hip, as a loop test counts them. Not asked of slw_driver_examine: that would open the machine's own libraries
   in the parent of every test. */
#define GPU_KINDS 2

/* Kernels first, second (64 bytes of shared memory), saxpy, and on cuda shared_of_the_launch; global slt_counter = 7.
   `target`: sm_75, sm_80, sm_90, gfx90a or gfx942. The contract is written by hand: no reader of the library's stands
   between a test and its driver. */
slt_image *slt_gpu_pair(const char *target);
/* The same as PTX, with the target it says: sm_75. */
slt_image *slt_gpu_pair_ptx(void);
/* The target of a double's device as it comes. */
const char *slt_gpu_target(const char *kind, uint32_t ordinal);

/* How the drivers call what both have. `what`: "load", "unload", "function", "launch", "alloc", "free", "copy in",
   "copy out", "stream", "device". Fails the test for another word. */
const char *slt_gpu_call(const char *kind, const char *what);

/* Opens a device of a double through its loader; fails the test when that fails. `allocator` may be NULL. */
void slt_gpu_open(slt_double *d, const char *kind, uint32_t ordinal, const slw_allocator *allocator,
                  slw_device **device);

#endif
