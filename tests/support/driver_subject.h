/* What the driver conformance suite runs over: each driver that is there, by index. */
#ifndef DRIVER_SUBJECT_H
#define DRIVER_SUBJECT_H

#include "device_image.h"
#include "gpu_world.h"
#include "modules.h"
#include "null_driver.h"
#include "slt.h"

#define SUBJECT_HOST 0
#define SUBJECT_NULL 1
#define SUBJECT_CUDA 2 /* on the double of libcuda */
#define SUBJECT_HIP  3 /* on the double of libamdhip64 */
/* Not asked of slw_driver_examine: that would open the machine's own libraries in the parent of every test. */
#define SUBJECTS 4

/* One test's world: made by world_open, which every test starts with. */
typedef struct world {
    int subject;
    int runs; /* 1: kernels really run */
    slt_null null;
    const char *gpu; /* "cuda" or "hip" when the driver is one of a GPU, else NULL */
    slt_double double_;
    uint32_t ordinal;  /* a second world of one GPU driver has the second device */
    slt_image *pair;   /* kernels first, second; globals slt_counter and, for null, null_global */
    slt_image *other;  /* the same bytes as another image */
    slt_image *broken; /* an image that is itself to blame */
    slw_device *device;
    slw_error err;
} world;

void world_open(world *w, int subject, const slw_allocator *allocator);
void world_close(world *w); /* closes the device when it is still open; checks for violations */
slw_device_counts world_counts(world *w);
const char *world_global(const world *w);

/* Loads the pair; fails the test when that fails. */
slwi_module *world_load(world *w, slt_image *image);
/* Loads the broken image: the driver is told to blame it where it does not look. */
slw_code world_load_broken(world *w, slwi_module **out);
/* Where the driver does not look at an image: it blames each from now on, or (0) no longer. */
void world_blame_images(world *w, int blamed);
/* Each load takes that long in the driver; host: as long as it takes. */
void world_delay_loads(world *w, unsigned milliseconds);
/* How often the driver was asked to load, -1 where nobody counts. */
int world_driver_loads(world *w);
void *world_function(world *w, slwi_module *module, const char *kernel);
/* Launches `kernel` of the pair over `blocks` blocks; each adds its argument to *sum. */
slw_code world_launch(world *w, slwi_module *module, void *function, uint32_t blocks, uint64_t *sum);

#endif
