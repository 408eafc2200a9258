/* What does not fit is refused before any driver call: shapes and modules. */
#include "preflight.h"

#include <string.h>

#include "checked.h"
#include "fail.h"

static slw_code over(slw_error *err, const slw_kernel_contract *kernel, const slw_device_info *info,
                     const char *resource, uint64_t required, uint64_t limit, const char *unit) {
    slwi_error_amount(err, resource, required, limit, unit);
    slwi_error_kernel(err, kernel->name, info->name);
    return slwi_fail(err, SLW_E_OUT_OF_RESOURCES, NULL, "%.128s needs %llu %s of %s; %.64s has %llu", kernel->name,
                     (unsigned long long)required, unit, resource, info->name, (unsigned long long)limit);
}

static slw_code invalid(slw_error *err, const slw_kernel_contract *kernel, const char *device, const char *reason,
                        const char *what) {
    slwi_error_kernel(err, kernel->name, device);
    return slwi_fail(err, SLW_E_INVALID_LAUNCH, reason, "%.128s: %s", kernel->name, what);
}

static int all_zero(const uint32_t v[3]) {
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

static int any_zero(const uint32_t v[3]) {
    return v[0] == 0 || v[1] == 0 || v[2] == 0;
}

static int same3(const uint32_t a[3], const uint32_t b[3]) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* The product; UINT64_MAX where it does not fit, which is over every limit. */
static uint64_t product3(const uint32_t v[3]) {
    uint64_t product = 0;
    if (slwi_mul_u64((uint64_t)v[0] * v[1], v[2], &product)) return UINT64_MAX;
    return product;
}

/* The smaller of two limits, 0 meaning none. */
static uint64_t limit_of(uint64_t a, uint64_t b) {
    if (a == 0) return b;
    if (b == 0) return a;
    return a < b ? a : b;
}

/* The block that every launch must have, as the binary says it, or as Triton's metadata does: warps, all in x. 0: any
   block will do. */
static int required_block(const slw_kernel_contract *kernel, uint32_t block[3]) {
    if (!all_zero(kernel->required_threads)) {
        memcpy(block, kernel->required_threads, sizeof kernel->required_threads);
        return 1;
    }
    if (kernel->warps == 0 || kernel->warp_threads == 0) return 0;
    const uint64_t threads = (uint64_t)kernel->warps * kernel->warp_threads;
    block[0] = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
    block[1] = block[2] = 1;
    return 1;
}

slw_code slwi_preflight_resolve(const slw_kernel_contract *kernel, const slw_launch_shape *shape, slwi_shape *out,
                                slw_error *err) {
    slwi_shape resolved = {
        {shape->block[0], shape->block[1], shape->block[2]},
        {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
        shape->shared_bytes,
        shape->cooperative != 0 || kernel->cooperative != 0,
        shape->flags | (kernel->programmatic_launch != 0 ? SLW_LAUNCH_PROGRAMMATIC : 0u),
    };
    if (all_zero(resolved.block) && !required_block(kernel, resolved.block))
        return invalid(err, kernel, NULL, "ZERO", "the block is 0, and the binary does not say which it wants");
    if (any_zero(resolved.block)) return invalid(err, kernel, NULL, "ZERO", "a dimension of the block is 0");
    if (all_zero(resolved.cluster))
        memcpy(resolved.cluster, kernel->cluster, sizeof resolved.cluster);
    else if (any_zero(resolved.cluster))
        return invalid(err, kernel, NULL, "BAD_CLUSTER", "a dimension of the cluster is 0");
    else if (kernel->cluster_required && !same3(resolved.cluster, kernel->cluster))
        return invalid(err, kernel, NULL, "BAD_CLUSTER", "the binary fixes another cluster");
    if (resolved.shared_bytes == 0) resolved.shared_bytes = kernel->dynamic_shared_bytes;
    if (resolved.shared_bytes < kernel->dynamic_shared_bytes)
        return invalid(err, kernel, NULL, "BAD_SHARED", "less dynamic shared memory than every launch needs");
    *out = resolved;
    return SLW_OK;
}

static slw_code check_block(const slw_kernel_contract *kernel, const slw_device_info *info, const uint32_t block[3],
                            slw_error *err) {
    static const char *const names[3] = {"block x", "block y", "block z"};
    if (any_zero(block)) return invalid(err, kernel, info->name, "ZERO", "a dimension of the block is 0");
    for (int i = 0; i < 3; i++) {
        const uint64_t limit = limit_of(info->max_block[i], kernel->max_block[i]);
        if (limit != 0 && block[i] > limit) return over(err, kernel, info, names[i], block[i], limit, "threads");
    }
    const uint64_t threads = product3(block);
    const uint64_t limit = limit_of(info->max_threads, kernel->max_threads);
    if (limit != 0 && threads > limit) return over(err, kernel, info, "threads per block", threads, limit, "threads");
    uint32_t required[3];
    if (required_block(kernel, required) && !same3(block, required))
        return invalid(err, kernel, info->name, "BAD_BLOCK", "the binary requires another block");
    return SLW_OK;
}

/* The device's limit is without the part it reserves; what the contract reserves beyond that counts. */
static slw_code check_shared(const slw_kernel_contract *kernel, const slw_device_info *info, uint32_t dynamic_bytes,
                             slw_error *err) {
    const uint64_t limit =
        info->max_optin_shared_bytes > info->max_shared_bytes ? info->max_optin_shared_bytes : info->max_shared_bytes;
    uint64_t needed = (uint64_t)kernel->static_shared_bytes + dynamic_bytes;
    if (kernel->reserved_shared_bytes > info->reserved_shared_bytes)
        needed += kernel->reserved_shared_bytes - info->reserved_shared_bytes;
    if (needed > limit) return over(err, kernel, info, "shared memory", needed, limit, "bytes");
    return SLW_OK;
}

/* More per thread than that no NVIDIA device has (cuda_occupancy.h; the guide and ptxas stop at 255). */
#define MAX_REGISTERS_PER_THREAD 256u

/* AMD's vector registers belong to a lane of a SIMD unit, in steps, kinds and numbers of each generation. A code object
   says how many threads it may be launched with (max_flat_workgroup_size, our max_threads), and the compiler has
   spilled until that many fit; so there is nothing left to refuse, and NVIDIA's rule would refuse what runs. */
static int registers_are_nvidias(const slw_device_info *info) {
    return strcmp(info->kind, "hip") != 0;
}

/* Pitfall 36. Registers are given to a warp in steps of 8 a thread, and a warp lives in one of four equal parts of
   the file. */
static slw_code check_registers(const slw_kernel_contract *kernel, const slw_device_info *info, const uint32_t block[3],
                                slw_error *err) {
    const uint64_t file = limit_of(info->registers_per_multiprocessor, info->registers_per_block);
    if (file == 0 || kernel->registers == 0 || info->warp_threads == 0 || !registers_are_nvidias(info)) return SLW_OK;
    if (kernel->registers > MAX_REGISTERS_PER_THREAD)
        return over(err, kernel, info, "registers per thread", kernel->registers, MAX_REGISTERS_PER_THREAD,
                    "registers");
    const uint64_t warp = ((uint64_t)kernel->registers + 7) / 8 * 8 * info->warp_threads;
    /* Threads were checked, against no limit where the device has none. */
    const uint64_t threads = product3(block);
    const uint64_t warps = threads / info->warp_threads + (threads % info->warp_threads != 0);
    uint64_t needed = 0;
    if (slwi_mul_u64(warps / 4 + (warps % 4 != 0), warp * 4, &needed)) needed = UINT64_MAX;
    if (needed > file) return over(err, kernel, info, "registers", needed, file, "registers");
    return SLW_OK;
}

/* Who asks for a cluster of a size that is not portable gets what the largest devices grant; the driver says whether
   this one does. */
#define PORTABLE_CLUSTER 8u
#define LARGEST_CLUSTER  16u

static slw_code check_cluster(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                              slw_error *err) {
    if (all_zero(shape->cluster)) return SLW_OK;
    if (any_zero(shape->cluster))
        return invalid(err, kernel, info->name, "BAD_CLUSTER", "a dimension of the cluster is 0");
    const uint64_t rank = product3(shape->cluster);
    uint64_t device = info->max_cluster_rank != 0 ? info->max_cluster_rank : 1;
    if (device == PORTABLE_CLUSTER) {
        if ((shape->flags & SLW_LAUNCH_NON_PORTABLE_CLUSTER) != 0)
            device = LARGEST_CLUSTER;
        else if (rank > PORTABLE_CLUSTER && rank <= LARGEST_CLUSTER)
            slwi_error_hint(err, "Ask for it with SLW_LAUNCH_NON_PORTABLE_CLUSTER: some devices grant it.");
    }
    const uint64_t limit = limit_of(device, kernel->max_cluster_rank);
    if (rank > limit) return over(err, kernel, info, "cluster", rank, limit, "blocks");
    return SLW_OK;
}

slw_code slwi_preflight_shape(const slw_kernel_contract *kernel, const slw_device_info *info, const slwi_shape *shape,
                              slw_error *err) {
    slw_code rc = check_block(kernel, info, shape->block, err);
    if (rc == SLW_OK) rc = check_shared(kernel, info, shape->shared_bytes, err);
    if (rc == SLW_OK) rc = check_registers(kernel, info, shape->block, err);
    if (rc == SLW_OK) rc = check_cluster(kernel, info, shape, err);
    if (rc != SLW_OK) return rc;
    if (kernel->tensor_memory_columns > info->tensor_memory_columns)
        return over(err, kernel, info, "tensor memory", kernel->tensor_memory_columns, info->tensor_memory_columns,
                    "columns");
    if (shape->cooperative && !info->cooperative)
        return over(err, kernel, info, "cooperative launch", 1, 0, "launches");
    return SLW_OK;
}

slw_code slwi_preflight_measured(const slw_kernel_contract *kernel, const slw_function_attributes *attributes,
                                 const slw_device_info *info, const slwi_shape *shape, slw_error *err) {
    slw_kernel_contract measured = *kernel;
    if (attributes->registers != 0) measured.registers = attributes->registers;
    if (attributes->static_shared_bytes != 0) measured.static_shared_bytes = attributes->static_shared_bytes;
    measured.max_threads = (uint32_t)limit_of(kernel->max_threads, attributes->max_threads);
    return slwi_preflight_shape(&measured, info, shape, err);
}

static int other_figure(uint32_t contract, uint32_t measured) {
    return contract != 0 && measured != 0 && contract != measured;
}

int slwi_preflight_differs(const slw_kernel_contract *kernel, const slw_function_attributes *attributes) {
    return other_figure(kernel->registers, attributes->registers) ||
           other_figure(kernel->local_bytes, attributes->local_bytes) ||
           other_figure(kernel->static_shared_bytes, attributes->static_shared_bytes);
}

/* One warp, or as much of one as the kernel's own limits allow: registers are given to whole warps anyway. */
static void least_block(const slw_kernel_contract *kernel, const slw_device_info *info, uint32_t block[3]) {
    if (required_block(kernel, block)) return;
    uint64_t threads = info->warp_threads != 0 ? info->warp_threads : 1;
    threads = limit_of(threads, kernel->max_threads);
    threads = limit_of(threads, kernel->max_block[0]);
    block[0] = (uint32_t)limit_of(threads, info->max_threads);
    block[1] = block[2] = 1;
}

slw_code slwi_preflight_least(const slw_kernel_contract *kernel, const slw_device_info *info, slw_error *err) {
    slwi_shape least = {
        .shared_bytes = kernel->dynamic_shared_bytes,
        .cooperative = kernel->cooperative,
        .flags = SLW_LAUNCH_NON_PORTABLE_CLUSTER, /* some shape may ask for it */
    };
    least_block(kernel, info, least.block);
    if (kernel->cluster_required) memcpy(least.cluster, kernel->cluster, sizeof least.cluster);
    return slwi_preflight_shape(kernel, info, &least, err);
}

slw_code slwi_preflight_load(const slw_contract *contract, const slw_device_info *info, slw_error *err) {
    slw_code rc = slwi_preflight_target(contract, info, err);
    if (rc != SLW_OK) return rc;
    /* One kernel that fits makes the module worth loading (pitfall 15: several entries in one); make_launchable
       refuses the others by name. Without any, the first one's reason is told. */
    slw_code first = SLW_OK;
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        rc = slwi_preflight_least(&contract->kernels[i], info, NULL);
        if (rc == SLW_OK) return SLW_OK;
        if (first == SLW_OK) first = rc;
    }
    return first == SLW_OK ? SLW_OK : slwi_preflight_least(&contract->kernels[0], info, err);
}
