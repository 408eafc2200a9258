/* What `run` is given that needs no compiler: a binary, or an entry of a Triton cache. */
#ifndef SLIPWAY_CLI_RUN_INPUT_H
#define SLIPWAY_CLI_RUN_INPUT_H

#include "cli.h"

typedef struct run_input {
    char *path;     /* of the binary: what errors call it */
    char *metadata; /* of Triton's X.json; NULL: none */
    char *binary, *metadata_text;
    size_t binary_size, metadata_size;
    slw_file_format format; /* UNKNOWN: reading it as a contract says why */
    /* For a file of several images, among which the device's target chooses, the kind of that device: it is opened
       before the file is read as a contract. NULL: one image, whose contract says the kind. */
    const char *chooser;
} run_input;

/* FILE read. INVALID_SOURCE for what is not there or is no entry; UNSUPPORTED for a source of a language that this
   version does not compile. */
slw_code run_input_open(const char *file, run_input *out, slw_error *err);
void run_input_free(run_input *input);

/* The binary that FILE means, malloc'ed, and its metadata where FILE is a Triton entry: X.json, or its folder. Found by
   name beside it: the group file __grp__X.json has paths of the machine that compiled. */
slw_code triton_find(const char *file, char **binary, char **metadata, slw_error *err);

/* The scratch that a contract asks for, for every block of a grid. Nothing is allocated for a grid that no launch would
   take, which says it better. Freed with the device's own free. */
slw_code run_scratch_make(slw_device *device, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                          slw_grid *grid, slw_device_address base[2], slw_error *err);
void run_scratch_free(slw_device *device, slw_device_address base[2]);

#endif
