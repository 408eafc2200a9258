/* Grids: unit conversion, limits and scratch, all in 64 bit. On the launch path: nothing here allocates or locks. */
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "preflight.h"

static slw_code grid_over(slw_error *err, const slw_kernel_contract *kernel, const slw_device_info *info,
                          const char *resource, uint64_t required, uint64_t limit) {
    slwi_error_amount(err, resource, required, limit, "blocks");
    slwi_error_kernel(err, kernel->name, info->name);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s: %s is %llu blocks; %.64s allows %llu", kernel->name,
                     resource, (unsigned long long)required, info->name, (unsigned long long)limit);
}

static slw_code bad_grid(slw_error *err, const slw_kernel_contract *kernel, const slw_device_info *info,
                         const char *reason, const char *what) {
    slwi_error_kernel(err, kernel->name, info->name);
    return slwi_fail(err, SLW_E_INVALID_LAUNCH, reason, "%.128s: %s", kernel->name, what);
}

/* How many blocks one step of the grid is, in this dimension. */
static uint64_t blocks_of_step(const slw_kernel_contract *kernel, const slwi_shape *shape, int dimension) {
    if (kernel->grid_unit == SLW_GRID_CLUSTERS) return shape->cluster[dimension] != 0 ? shape->cluster[dimension] : 1;
    if (kernel->grid_unit == SLW_GRID_PROGRAMS_BY_CTAS && dimension == 0) return kernel->ctas != 0 ? kernel->ctas : 1;
    return 1;
}

/* HIP counts a grid in threads, in 32 bits a dimension (the dispatch packet's fields). */
static slw_code check_items(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                            const uint32_t blocks[3], slw_error *err) {
    static const char *const names[3] = {"grid x in threads", "grid y in threads", "grid z in threads"};
    if (strcmp(info->kind, "hip") != 0) return SLW_OK;
    for (int i = 0; i < 3; i++) {
        const uint64_t items = (uint64_t)blocks[i] * shape->block[i];
        if (items <= UINT32_MAX) continue;
        slwi_error_amount(err, names[i], items, UINT32_MAX, "threads");
        slwi_error_kernel(err, kernel->name, info->name);
        return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s: %s is %llu; %.64s allows %lu", kernel->name,
                         names[i], (unsigned long long)items, info->name, (unsigned long)UINT32_MAX);
    }
    return SLW_OK;
}

slw_code slwi_preflight_grid(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                             const uint32_t extent[3], uint32_t blocks[3], slw_error *err) {
    static const char *const names[3] = {"grid x", "grid y", "grid z"};
    if (extent[0] == 0 || extent[1] == 0 || extent[2] == 0)
        return bad_grid(err, kernel, info, "ZERO", "a dimension of the grid is 0");
    uint32_t converted[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t wide = extent[i] * blocks_of_step(kernel, shape, i); /* 32 by 32 bits: always fits */
        if (wide > info->max_grid[i]) return grid_over(err, kernel, info, names[i], wide, info->max_grid[i]);
        converted[i] = (uint32_t)wide;
        if (shape->cluster[i] != 0 && converted[i] % shape->cluster[i] != 0)
            return bad_grid(err, kernel, info, "BAD_CLUSTER", "the grid is not divisible by the cluster");
    }
    const slw_code rc = check_items(kernel, info, shape, converted, err);
    if (rc != SLW_OK) return rc;
    memcpy(blocks, converted, sizeof converted);
    return SLW_OK;
}

static slw_code check_one(const slw_kernel_contract *kernel, const slw_device_info *info, const uint32_t blocks[3],
                          uint64_t bytes_a_block, uint32_t alignment, slw_device_address address, uint64_t given,
                          const char *resource, slw_error *err) {
    uint64_t needed = 0;
    if (bytes_a_block == 0) return SLW_OK;
    /* The greatest legal grid times its scratch passes 64 bits. */
    if (slwi_mul_u64((uint64_t)blocks[0] * blocks[1], blocks[2], &needed) ||
        slwi_mul_u64(needed, bytes_a_block, &needed))
        needed = UINT64_MAX;
    if (address != 0 && needed != UINT64_MAX && given >= needed) {
        if (alignment > 1 && address % alignment != 0)
            return bad_grid(err, kernel, info, "BAD_SCRATCH", "a scratch buffer is not aligned as the kernel needs");
        return SLW_OK;
    }
    slwi_error_amount(err, resource, needed, address != 0 ? given : 0, "bytes");
    return bad_grid(err, kernel, info, "BAD_SCRATCH", "a scratch buffer is missing or too small for this grid");
}

slw_code slwi_preflight_scratch(const slw_kernel_contract *kernel, const slw_device_info *info,
                                const uint32_t blocks[3], const slw_grid *grid, slw_error *err) {
    const slw_code rc =
        check_one(kernel, info, blocks, kernel->global_scratch_bytes, kernel->global_scratch_alignment_bytes,
                  grid->global_scratch, grid->global_scratch_bytes, "global scratch", err);
    if (rc != SLW_OK) return rc;
    return check_one(kernel, info, blocks, kernel->profile_scratch_bytes, kernel->profile_scratch_alignment_bytes,
                     grid->profile_scratch, grid->profile_scratch_bytes, "profile scratch", err);
}
