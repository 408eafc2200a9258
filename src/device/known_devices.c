/* What devices are known to be, without one: the figures a driver gives, from a table.
 *
 * NVIDIA: CUDA programming guide, "Compute Capabilities", its tables of technical specifications and of memory per
 * capability (13.x; 7.5 to 12.x, with 10.7 from 13.4): threads, block and grid dimensions, 64 Ki registers a
 * multiprocessor and a block, shared memory of a multiprocessor (64, 164, 100, 228, 328 KiB) and of a block, which is
 * the same less the 1 KiB that the system reserves for each block from 8.0 on (cuda_occupancy.h: "Starting Ampere"). A
 * kernel gets 48 KiB without opting in. Clusters exist from 9.0 on; 8 blocks is what every such device grants, and up
 * to 16 is what some grant to who sets the attribute for non-portable sizes, which nobody may count on. Tensor memory:
 * 512 columns where the PTX ISA has tcgen05, that is, in the families of sm_100 and sm_110.
 *
 * AMD: LLVM's AMDGPUUsage for the wavefront a processor prefers, the features it has and its local data share ("group
 * segment": 64 KiB, 160 KiB on gfx950); hipDeviceProp_t as hipInfo prints it for block (1,024 in each dimension) and
 * grid (2^31-1, 65,536, 65,536). There is no opting in. The modes are those a Linux driver starts with: sramecc on,
 * xnack off. registers_per_block is 0, it does not apply: vector registers are counted otherwise (preflight.c).
 *
 * 0 where the product or its driver decides: multiprocessors, memory, the newest PTX. */
#include <slipway/inspect.h>

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "host_target.h"
#include "target.h"

#define KIB 1024u

/* ---- NVIDIA ----------------------------------------------------------------------------------------------------- */

typedef struct known_sm {
    const char *target;
    uint32_t number;
    uint32_t shared_kib;          /* of a multiprocessor */
    uint32_t reserved_shared_kib; /* of it, per block */
    uint32_t max_cluster_rank;
    uint32_t tensor_memory_columns;
} known_sm;

static const known_sm known_sms[] = {
    {"sm_75", 75, 64, 0, 1, 0},      {"sm_80", 80, 164, 1, 1, 0},     {"sm_86", 86, 100, 1, 1, 0},
    {"sm_87", 87, 164, 1, 1, 0},     {"sm_89", 89, 100, 1, 1, 0},     {"sm_90", 90, 228, 1, 8, 0},
    {"sm_100", 100, 228, 1, 8, 512}, {"sm_103", 103, 228, 1, 8, 512}, {"sm_107", 107, 328, 1, 8, 512},
    {"sm_110", 110, 228, 1, 8, 512}, {"sm_120", 120, 100, 1, 8, 0},   {"sm_121", 121, 100, 1, 8, 0},
};
#define KNOWN_SMS (sizeof known_sms / sizeof *known_sms)

static void set_dimensions(slw_device_info *info, uint32_t block_z, uint32_t grid_yz) {
    info->max_threads = 1024;
    info->max_block[0] = info->max_block[1] = 1024;
    info->max_block[2] = block_z;
    info->max_grid[0] = 2147483647;
    info->max_grid[1] = info->max_grid[2] = grid_yz;
}

static void set_names(slw_device_info *info, const char *kind, const char *target) {
    (void)snprintf(info->kind, sizeof info->kind, "%s", kind);
    (void)snprintf(info->name, sizeof info->name, "%s", target);
    (void)snprintf(info->target, sizeof info->target, "%s", target);
}

static void describe_sm(const known_sm *row, slw_device_info *info) {
    set_names(info, "cuda", row->target);
    set_dimensions(info, 64, 65535);
    info->max_shared_bytes = 48 * KIB;
    info->max_optin_shared_bytes = (row->shared_kib - row->reserved_shared_kib) * KIB;
    info->reserved_shared_bytes = row->reserved_shared_kib * KIB;
    info->registers_per_block = info->registers_per_multiprocessor = 65536;
    info->warp_threads = 32;
    info->max_cluster_rank = row->max_cluster_rank;
    info->cooperative = 1;
    info->tensor_memory_columns = row->tensor_memory_columns;
}

/* "sm_90", and "sm_90a" and such: the code is of another kind, the device is the same. */
static int find_sm(const char *target, slw_device_info *info) {
    slwi_sm sm;
    if (!slwi_sm_parse(target, &sm)) return 0;
    if (sm.number == 101) sm.number = 110; /* its name up to CUDA 12.9 */
    for (size_t i = 0; i < KNOWN_SMS; i++) {
        if (known_sms[i].number != sm.number) continue;
        describe_sm(&known_sms[i], info);
        return 1;
    }
    return 0;
}

/* ---- AMD -------------------------------------------------------------------------------------------------------- */

typedef struct known_gfx {
    const char *processor;
    uint32_t warp_threads;
    uint32_t shared_kib;
    uint32_t sramecc, xnack; /* SLWI_GFX_ANY: has not got it */
} known_gfx;

static const known_gfx known_gfxs[] = {
    {"gfx900", 64, 64, SLWI_GFX_ANY, SLWI_GFX_OFF},  {"gfx906", 64, 64, SLWI_GFX_ON, SLWI_GFX_OFF},
    {"gfx908", 64, 64, SLWI_GFX_ON, SLWI_GFX_OFF},   {"gfx90a", 64, 64, SLWI_GFX_ON, SLWI_GFX_OFF},
    {"gfx942", 64, 64, SLWI_GFX_ON, SLWI_GFX_OFF},   {"gfx950", 64, 160, SLWI_GFX_ON, SLWI_GFX_OFF},
    {"gfx1010", 32, 64, SLWI_GFX_ANY, SLWI_GFX_OFF}, {"gfx1030", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx1100", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY}, {"gfx1101", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx1102", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY}, {"gfx1150", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx1151", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY}, {"gfx1200", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY},
    {"gfx1201", 32, 64, SLWI_GFX_ANY, SLWI_GFX_ANY},
};
#define KNOWN_GFXS (sizeof known_gfxs / sizeof *known_gfxs)

/* The asked mode of a feature, or the usual one. 0 where the processor has no such feature. */
static int choose_mode(uint32_t asked, uint32_t usual, uint32_t *out) {
    if (asked != SLWI_GFX_ANY && usual == SLWI_GFX_ANY) return 0;
    *out = asked != SLWI_GFX_ANY ? asked : usual;
    return 1;
}

static int find_gfx(const char *target, slw_device_info *info) {
    slwi_gfx gfx;
    char text[64];
    if (!slwi_gfx_parse(target, &gfx)) return 0;
    for (size_t i = 0; i < KNOWN_GFXS; i++) {
        const known_gfx *row = &known_gfxs[i];
        if (strcmp(row->processor, gfx.processor) != 0) continue;
        if (!choose_mode(gfx.sramecc, row->sramecc, &gfx.sramecc)) return 0;
        if (!choose_mode(gfx.xnack, row->xnack, &gfx.xnack)) return 0;
        slwi_gfx_format(&gfx, text);
        set_names(info, "hip", text);
        set_dimensions(info, 1024, 65536);
        info->max_shared_bytes = info->max_optin_shared_bytes = row->shared_kib * KIB;
        info->warp_threads = row->warp_threads;
        info->max_cluster_rank = 1;
        info->cooperative = 1;
        return 1;
    }
    return 0;
}

/* ---- the host, and the interface -------------------------------------------------------------------------------- */

/* As the host driver describes itself, with the caller's thread alone. */
static int find_host(const char *target, slw_device_info *info) {
    if (strcmp(target, "host") != 0 && strcmp(target, slwi_host_target()) != 0) return 0;
    set_names(info, "host", slwi_host_target());
    (void)snprintf(info->name, sizeof info->name, "host:0");
    set_dimensions(info, 64, 65535);
    info->max_shared_bytes = info->max_optin_shared_bytes = 48 * KIB;
    info->warp_threads = 1;
    info->multiprocessors = 1;
    info->max_cluster_rank = 1;
    return 1;
}

const char *slw_device_known_target(size_t index) {
    if (index < KNOWN_SMS) return known_sms[index].target;
    index -= KNOWN_SMS;
    if (index < KNOWN_GFXS) return known_gfxs[index].processor;
    return index == KNOWN_GFXS ? "host" : NULL;
}

slw_code slw_device_known(const char *target, slw_device_info *out, slw_error *err) {
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    slwi_error_reset(err);
    if (target == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "there is no target to look for");
    if (out == NULL || out->size != sizeof *out)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the place for the description has another size");
    if (find_sm(target, &info) || find_gfx(target, &info) || find_host(target, &info)) {
        *out = info;
        return SLW_OK;
    }
    for (size_t i = 0; slw_device_known_target(i) != NULL; i++) slwi_error_tried(err, slw_device_known_target(i));
    slwi_error_subject(err, target, strlen(target));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "UNKNOWN_TARGET", "no figures are known of a device %.100s", target);
}
