/* What the files of `inspect` share: one run, the file it is at, and what was found out about an image. */
#ifndef SLIPWAY_CLI_INSPECT_H
#define SLIPWAY_CLI_INSPECT_H

#include "cli.h"

typedef enum verdict { FITS_UNKNOWN = -1, FITS_NO = 0, FITS_YES = 1 } verdict;

typedef struct inspect_run {
    const cli_options *options;
    const slw_device_info *device; /* NULL: nobody asked what fits */
    slw_device_info device_info;
    cli_json json;
    size_t entries_found; /* of --entry, over all files */
    size_t images_disassembled;
    int bad; /* 1: a file could not be read, or does not fit */
} inspect_run;

typedef struct inspect_file {
    const char *path;
    slw_bytes bytes;
    slw_inspection *inspection; /* NULL: `error` says why */
    const slw_error *error;     /* of the file, or of the one image that it is; NULL: none */
    verdict fits;
} inspect_file;

/* Does the image run on the device, and if so, do all its kernels fit? `why` says what does not. */
verdict inspect_judge_image(const inspect_run *run, const slw_image *image, slw_error *why);
verdict inspect_judge_kernel(const inspect_run *run, const slw_image *image, const slw_kernel_contract *kernel,
                             slw_error *why);
/* Of the images a device would choose from: those that run, the compiled before the PTX. */
verdict inspect_judge_file(const inspect_run *run, const inspect_file *file);

/* What the binary does not say is told apart from zero. */
int inspect_knows_registers(const slw_image *image, const slw_kernel_contract *kernel);
int inspect_knows_local(const slw_image *image);
int inspect_knows_shared(const slw_image *image);
const char *inspect_grid_unit(slw_grid_unit unit);

/* Machine code of an image, of one kernel with --entry. OK with text->data NULL: there is none of this image.
   COMPILE_FAILED and LIMIT are of the image; anything else ends the run. */
slw_code inspect_sass(inspect_run *run, const inspect_file *file, const slw_image *image, slw_text *text,
                      slw_error *err);

/* Both give OK, or what ends the run. */
slw_code inspect_put_file(inspect_run *run, const inspect_file *file, slw_error *err);
slw_code inspect_print_file(inspect_run *run, const inspect_file *file, slw_error *err);

#endif
