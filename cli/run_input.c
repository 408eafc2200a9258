#include "run_input.h"

#include <slipway/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is not there or cannot be read is the fault of what was asked for, as with a source; no storage of ours
   failed. */
static slw_code read_whole(const char *path, size_t limit_bytes, char **out, size_t *size, slw_error *err) {
    const slw_code code = cli_read_file(path, limit_bytes, out, size, err);
    if (code != SLW_E_STORAGE) return code;
    err->code = SLW_E_INVALID_SOURCE;
    err->reason = err->raw_code == ENOENT ? "NOT_FOUND" : "NOT_READABLE";
    snprintf(err->subject, sizeof err->subject, "%s", path);
    return err->code;
}

/* What was found wrong with the image, said as our own. */
static slw_code pass_on(const slw_error *found, slw_error *err) {
    char *const diagnostics = err->diagnostics;
    const size_t capacity = err->diagnostics_capacity;
    *err = *found;
    err->diagnostics = diagnostics;
    err->diagnostics_capacity = capacity;
    err->diagnostics_size = 0;
    return err->code;
}

/* PTX by its name that does not begin as PTX is recognised by no reader later: what is wrong with it is told here. */
static slw_code inspect(run_input *input, slw_error *err) {
    slw_error ignored = SLW_ERROR_INIT;
    slw_inspect_options how = SLW_INSPECT_OPTIONS_INIT;
    slw_inspection *inspection = NULL;
    how.name = input->path;
    const slw_bytes bytes = {input->binary, input->binary_size};
    slw_code code = slw_inspect(&how, bytes, &inspection, &ignored);
    if (code == SLW_E_NO_MEMORY) return pass_on(&ignored, err);
    if (code != SLW_OK) return SLW_OK;
    input->format = slw_inspection_format(inspection);
    if (input->format == SLW_FORMAT_FATBIN) input->chooser = "cuda";
    if (input->format == SLW_FORMAT_BUNDLE) input->chooser = "hip";
    slw_image image = SLW_IMAGE_INIT;
    if (input->format == SLW_FORMAT_PTX && slw_inspection_image(inspection, 0, &image) && image.error != NULL) {
        code = pass_on(image.error, err);
        if (err->path[0] == '\0') snprintf(err->path, sizeof err->path, "%s", input->path);
    }
    slw_inspection_discard(&inspection);
    return code;
}

/* A source by its name: told apart from a binary that nobody knows. */
static slw_code check_language(const char *path, slw_error *err) {
    static const char *const names[] = {".cpp", ".cc", ".cxx", ".mlir", ".bc"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcmp(dot, names[i]) != 0) continue;
        err->code = SLW_E_UNSUPPORTED;
        err->reason = "NO_COMPILER";
        err->hint = "compile it with the vendor's compiler and give the binary";
        snprintf(err->subject, sizeof err->subject, "%s", path);
        snprintf(err->message, sizeof err->message, "%s sources are not compiled in this version", dot);
        return err->code;
    }
    return SLW_OK;
}

slw_code run_input_open(const char *file, run_input *out, slw_error *err) {
    slw_code code = triton_find(file, &out->path, &out->metadata, err);
    if (code == SLW_OK && out->metadata != NULL)
        code = read_whole(out->metadata, SLW_LIMIT_JSON_BYTES, &out->metadata_text, &out->metadata_size, err);
    if (code == SLW_OK && out->metadata != NULL && out->metadata_size == 0) { /* size 0 would mean none */
        err->code = code = SLW_E_INVALID_METADATA;
        err->reason = "EMPTY";
        snprintf(err->path, sizeof err->path, "%s", out->metadata);
        snprintf(err->message, sizeof err->message, "the metadata is an empty file");
    }
    if (code == SLW_OK) code = read_whole(out->path, SLW_LIMIT_BINARY_BYTES, &out->binary, &out->binary_size, err);
    if (code == SLW_OK && out->binary_size == 0) {
        err->code = code = SLW_E_INVALID_BINARY;
        err->reason = "EMPTY";
        snprintf(err->path, sizeof err->path, "%s", out->path);
        snprintf(err->message, sizeof err->message, "the binary is an empty file");
    }
    if (code != SLW_OK) return code;
    code = inspect(out, err);
    if (code != SLW_OK) return code;
    return out->format == SLW_FORMAT_UNKNOWN ? check_language(out->path, err) : SLW_OK;
}

void run_input_free(run_input *input) {
    free(input->path);
    free(input->metadata);
    free(input->binary);
    free(input->metadata_text);
    memset(input, 0, sizeof *input);
}

/* ---- scratch --------------------------------------------------------------------------------------------------- */

/* Every allocation is aligned to this at least; what wants more gets so much more memory. */
#define ALLOCATION_ALIGNMENT 16u

static uint64_t blocks_of_step(const slw_kernel_contract *kernel, const slw_launch_shape *shape, int dimension) {
    const uint32_t *cluster = shape->cluster[0] != 0 ? shape->cluster : kernel->cluster;
    if (kernel->grid_unit == SLW_GRID_CLUSTERS) return cluster[dimension] != 0 ? cluster[dimension] : 1;
    if (kernel->grid_unit == SLW_GRID_PROGRAMS_BY_CTAS && dimension == 0) return kernel->ctas != 0 ? kernel->ctas : 1;
    return 1;
}

/* 0: the launch will refuse this grid. Else the blocks; UINT64_MAX where they do not fit in 64 bit. */
static uint64_t count_blocks(const slw_device_info *info, const slw_kernel_contract *kernel,
                             const slw_launch_shape *shape, const slw_grid *grid) {
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        const uint64_t wide = grid->extent[i] * blocks_of_step(kernel, shape, i); /* 32 by 32 bits */
        if (wide == 0 || wide > info->max_grid[i]) return 0;
        blocks = blocks > UINT64_MAX / wide ? UINT64_MAX : blocks * wide;
    }
    return blocks;
}

typedef struct wish {
    const char *resource;
    uint64_t bytes_a_block;
    uint32_t alignment;
} wish;

static slw_code allocate(slw_device *device, const wish *w, uint64_t blocks, slw_device_address *base,
                         slw_device_address *address, uint64_t *size, slw_error *err) {
    const uint64_t more = w->alignment > ALLOCATION_ALIGNMENT ? w->alignment - 1 : 0;
    if (w->bytes_a_block == 0 || blocks == 0) return SLW_OK;
    if (blocks > (UINT64_MAX - more) / w->bytes_a_block) {
        err->code = SLW_E_OUT_OF_RESOURCES;
        err->resource = w->resource;
        err->unit = "bytes";
        snprintf(err->message, sizeof err->message, "the %s of this grid has more bytes than 64 bits count",
                 w->resource);
        return err->code;
    }
    const uint64_t wanted = blocks * w->bytes_a_block;
    const slw_code code = slw_device_alloc(device, wanted + more, base, err);
    if (code != SLW_OK) {
        if (err->resource == NULL) err->resource = w->resource;
        return code;
    }
    *address = more != 0 ? (*base + more) / w->alignment * w->alignment : *base;
    *size = wanted;
    return SLW_OK;
}

slw_code run_scratch_make(slw_device *device, const slw_kernel_contract *kernel, const slw_launch_shape *shape,
                          slw_grid *grid, slw_device_address base[2], slw_error *err) {
    const wish global = {"global scratch", kernel->global_scratch_bytes, kernel->global_scratch_alignment_bytes};
    const wish profile = {"profile scratch", kernel->profile_scratch_bytes, kernel->profile_scratch_alignment_bytes};
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slw_code code = slw_device_describe(device, &info, err);
    if (code != SLW_OK) return code;
    const uint64_t blocks = count_blocks(&info, kernel, shape, grid);
    code = allocate(device, &global, blocks, &base[0], &grid->global_scratch, &grid->global_scratch_bytes, err);
    if (code != SLW_OK) return code;
    return allocate(device, &profile, blocks, &base[1], &grid->profile_scratch, &grid->profile_scratch_bytes, err);
}

void run_scratch_free(slw_device *device, slw_device_address base[2]) {
    slw_error ignored = SLW_ERROR_INIT;
    for (int i = 0; i < 2; i++)
        if (base[i] != 0 && slw_device_free(device, &base[i], &ignored) != SLW_OK) base[i] = 0;
}
