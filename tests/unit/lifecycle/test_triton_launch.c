/* Every real Triton entry to a launch on the doubles: parameters packed as the binary says, the scratch pointers behind the
 * caller's in the order and number of the version that wrote the entry, the block of its warps, the dynamic shared memory
 * of its metadata, the grid in programs. What arrived is known from the sums that add_kernel makes, and of every other
 * kernel from the checksum of all it was given. */
#include "../backend/triton_fixture.h"

#include "double_loader.h"

#define MOST_PARAMS     32
#define ELEMENTS        3000u
#define GLOBAL_SCRATCH  UINT64_C(0x1122334455667780)
#define PROFILE_SCRATCH UINT64_C(0x66778899aabbccc0)

static slt_double d;
static slw_error err = SLW_ERROR_INIT;
static unsigned launched, summed, checked;

static slw_device *open_device(const triton_entry *e) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slt_double_use(&d, &options);
    /* Device 0 is sm_90 or gfx942, device 1 what the test has made it. */
    options.ordinal =
        e->is_cuda ? triton_number(e->oracle, "arch") != 90 : strcmp(triton_text(e->oracle, "arch"), "gfx942") != 0;
    slt_ok(slw_device_open(&options, &device, &err), &err);
    return device;
}

static slw_hydrated *hydrate(const triton_entry *e, slw_bytes metadata) {
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    options.metadata = metadata;
    slt_ok(slw_hydrate_binary(e->binary, e->stem, NULL, &options, &hydrated, &err), &err);
    return hydrated;
}

/* With nothing said of the shape: metadata and binary say it all. */
static slw_launchable *make(const triton_entry *e, slw_bytes metadata, slw_device *device) {
    slw_hydrated *hydrated = hydrate(e, metadata);
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slt_ok(slw_device_load(&hydrated, device, &loaded, &err), &err);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &err), &err);
    return launchable;
}

/* ---- what is given ------------------------------------------------------------------------------------------- */

typedef struct given {
    unsigned char bytes[MOST_PARAMS][128];
    void *all[MOST_PARAMS]; /* as the binary counts them */
    uint32_t sizes[MOST_PARAMS];
    void *callers[MOST_PARAMS];
    uint32_t caller_sizes[MOST_PARAMS];
    uint32_t count, caller_count;
    slw_grid grid;
    slw_device_address arrays[3];
} given;

static void put_address(given *g, uint32_t at, uint64_t address) {
    ck_assert_uint_eq(g->sizes[at], sizeof address);
    memcpy(g->bytes[at], &address, sizeof address);
}

static unsigned scratch_of(const triton_entry *e) {
    return strstr(e->cache, "3.2.") != NULL ? 0 : strstr(e->cache, "3.4.") != NULL ? 1 : 2;
}

/* Each value has bytes of its own; the scratch pointers are the last, global before profile. */
static void fill(given *g, const triton_entry *e, const slw_kernel_contract *kernel) {
    memset(g, 0, sizeof *g);
    g->grid = (slw_grid)SLW_GRID_INIT;
    ck_assert_uint_le(kernel->param_count, MOST_PARAMS);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *param = &kernel->params[i];
        if (param->role == SLW_ROLE_HIDDEN) continue;
        ck_assert_uint_le(param->size_bytes, sizeof g->bytes[0]);
        memset(g->bytes[g->count], (int)(0x21 + i), param->size_bytes);
        g->all[g->count] = g->bytes[g->count];
        g->sizes[g->count++] = param->size_bytes;
    }
    const unsigned scratch = scratch_of(e);
    ck_assert_uint_gt(g->count, scratch);
    g->caller_count = g->count - scratch;
    if (scratch > 0) put_address(g, g->caller_count, GLOBAL_SCRATCH);
    if (scratch > 1) put_address(g, g->caller_count + 1, PROFILE_SCRATCH);
    memcpy(g->callers, g->all, g->caller_count * sizeof g->all[0]);
    memcpy(g->caller_sizes, g->sizes, g->caller_count * sizeof g->sizes[0]);
    g->grid.global_scratch = GLOBAL_SCRATCH;
    g->grid.global_scratch_bytes = 4096;
    g->grid.profile_scratch = PROFILE_SCRATCH;
    g->grid.profile_scratch_bytes = 4096;
}

static int is_add(const triton_entry *e) {
    return strcmp(e->entry, "add_kernel") == 0;
}

static void give_arrays(given *g, slw_device *device, int add) {
    static float ones[ELEMENTS];
    for (uint32_t i = 0; i < ELEMENTS; i++) ones[i] = (float)i;
    for (uint32_t i = 0; i < (add ? 3u : 1u); i++) {
        slt_ok(slw_device_alloc(device, sizeof ones, &g->arrays[i], &err), &err);
        slt_ok(slw_device_copy_in(device, g->arrays[i], ones, sizeof ones, &err), &err);
        if (add || g->sizes[0] == 8) put_address(g, i, g->arrays[i]);
    }
    if (!add) return;
    const int32_t count = (int32_t)ELEMENTS;
    ck_assert_uint_eq(g->sizes[3], sizeof count);
    memcpy(g->bytes[3], &count, sizeof count);
}

static void take_arrays(given *g, slw_device *device) {
    for (int i = 0; i < 3; i++)
        if (g->arrays[i] != 0) slt_ok(slw_device_free(device, &g->arrays[i], &err), &err);
}

static slw_code launch(const slw_launchable *launchable, const given *g, uint32_t count) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_args args = SLW_ARGS_INIT;
    args.count = count;
    args.values = count == g->caller_count ? g->callers : g->all;
    args.sizes_bytes = count == g->caller_count ? g->caller_sizes : g->sizes;
    return slw_launch(launchable, &g->grid, stream, &args, &err);
}

/* ---- what arrived --------------------------------------------------------------------------------------------- */

/* `covered` elements are the sum of two equal arrays; the rest is as it was. */
static void check_sum(const given *g, slw_device *device, uint32_t covered) {
    static float sum[ELEMENTS];
    slt_ok(slw_device_copy_out(device, sum, g->arrays[2], sizeof sum, &err), &err);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        ck_assert_msg(sum[i] == (i < covered ? 2 : 1) * (float)i, "%u: %g", i, (double)sum[i]);
    summed++;
}

static void check_checksum(const triton_entry *e, const given *g, slw_device *device) {
    if (g->sizes[0] != 8) return; /* a descriptor by value: the double has no address to write to */
    const uint32_t grid[3] = {(uint32_t)triton_number(e->oracle, "num_ctas") * 3, 2, 1};
    const uint32_t block[3] = {
        (uint32_t)(triton_number(e->oracle, "num_warps") * triton_number(e->oracle, "warp_size")), 1, 1};
    const uint64_t wanted =
        double_checksum(g->all, g->sizes, g->count, grid, block, (uint32_t)triton_number(e->oracle, "shared"));
    uint64_t got = 0;
    slt_ok(slw_device_copy_out(device, &got, g->arrays[0], sizeof got, &err), &err);
    ck_assert_msg(got == wanted, "%s: something did not arrive as it was given", e->label);
    checked++;
}

static unsigned launches(void) {
    return d.control->count("cuLaunchKernel") + d.control->count("cuLaunchKernelEx") +
           d.control->count("cuLaunchCooperativeKernel") + d.control->count("hipModuleLaunchKernel");
}

static void launch_entry(const triton_entry *e) {
    slw_device *device = open_device(e);
    slw_launchable *launchable = make(e, e->metadata, device);
    const slw_kernel_contract *kernel = slw_launchable_kernel(launchable);
    const slwi_json *const params =
        triton_at(e->oracle, e->is_cuda ? "tool.kparams_ordinal_offset_size" : "tool.args_offset_size_kind");
    given g;
    fill(&g, e, kernel);
    ck_assert_uint_eq(g.count, slwi_json_length(params)); /* as other tools count them */
    give_arrays(&g, device, is_add(e));
    g.grid.extent[0] = is_add(e) ? (ELEMENTS + 1023) / 1024 : 3;
    g.grid.extent[1] = is_add(e) ? 1 : 2;
    g.grid.extent[2] = 1;
    d.control->log_clear();
    slt_ok(launch(launchable, &g, g.caller_count), &err);
    ck_assert_uint_eq(launches(), 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slt_ok(slw_device_synchronize(device, &stream, &err), &err);
    launched++;
    if (is_add(e))
        check_sum(&g, device, ELEMENTS);
    else
        check_checksum(e, &g, device);
    /* Who counts the scratch among the arguments is told (pitfall 10). */
    if (g.count != g.caller_count) {
        ck_assert_int_eq(launch(launchable, &g, g.count), SLW_E_INVALID_LAUNCH);
        ck_assert_str_eq(err.reason, "BAD_COUNT");
        ck_assert_uint_eq(err.limit, g.caller_count);
    }
    take_arrays(&g, device);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
    slt_double_check(&d);
}

static void launch_all(int is_cuda, long second_device, unsigned least, unsigned least_checked) {
    slt_double_open(&d, is_cuda ? "cuda" : "hip");
    d.control->set(DOUBLE_SECOND_DEVICE, second_device);
    launched = summed = checked = 0;
    const size_t count = triton_open();
    for (size_t i = 0; i < count; i++) {
        triton_entry e = triton_load(i);
        if (e.is_cuda == is_cuda) launch_entry(&e);
        triton_free(&e);
    }
    triton_close();
    ck_assert_msg(launched >= least && checked >= least_checked && summed > 0, "%u launched, %u checked, %u summed",
                  launched, checked, summed);
}

START_TEST(every_cuda_entry) {
    launch_all(1, 80, 21, 13);
}
END_TEST

START_TEST(every_hip_entry) {
    launch_all(0, 0x1100, 14, 9);
}
END_TEST

/* ---- num_ctas ------------------------------------------------------------------------------------------------- */

/* Triton's programs of several blocks (pitfall 11): a real entry of 3.2, whose binary says nothing of clusters because then
   only the launch did, with metadata that says two. One program of the caller's is two blocks of the driver's. */
START_TEST(programs_of_two_blocks) {
    slt_double_open(&d, "cuda");
    triton_entry e = triton_load_named("3.2.0/5LT7Hw");
    slw_bytes one = triton_replace(e.metadata, "\"num_ctas\": 1", "\"num_ctas\": 2");
    slw_bytes two = triton_replace(one, "\"cluster_dims\": [1, 1, 1]", "\"cluster_dims\": [2, 1, 1]");
    slw_device *device = open_device(&e);
    slw_launchable *launchable = make(&e, two, device);
    const slw_kernel_contract *kernel = slw_launchable_kernel(launchable);
    ck_assert_int_eq(kernel->grid_unit, SLW_GRID_PROGRAMS_BY_CTAS);
    given g;
    fill(&g, &e, kernel);
    give_arrays(&g, device, 1);
    g.grid.extent[0] = g.grid.extent[1] = g.grid.extent[2] = 1;
    d.control->log_clear();
    slt_ok(launch(launchable, &g, g.caller_count), &err);
    ck_assert_uint_eq(d.control->count("cuLaunchKernelEx"), 1); /* the cluster is an attribute */
    ck_assert_uint_eq(launches(), 1);
    check_sum(&g, device, 2048);
    /* What the driver would have to launch is what is held against the limit. */
    g.grid.extent[0] = 1073741824;
    ck_assert_int_eq(launch(launchable, &g, g.caller_count), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(err.resource, "grid x");
    ck_assert_uint_eq(err.required, UINT64_C(2147483648));
    ck_assert_uint_eq(launches(), 1);
    take_arrays(&g, device);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
    slt_double_check(&d);
    free((void *)(uintptr_t)one.data);
    free((void *)(uintptr_t)two.data);
    triton_free(&e);
    triton_close();
}
END_TEST

/* ---- scratch --------------------------------------------------------------------------------------------------- */

/* A program that wants scratch is refused without it, before any call; with it, it is launched. */
START_TEST(scratch_is_wanted_for_every_block) {
    slt_double_open(&d, "cuda");
    triton_entry e = triton_load_named("3.9.0/6GYFKN");
    slw_bytes more = triton_replace(e.metadata, "\"global_scratch_size\": 0", "\"global_scratch_size\": 512");
    slw_device *device = open_device(&e);
    slw_launchable *launchable = make(&e, more, device);
    given g;
    fill(&g, &e, slw_launchable_kernel(launchable));
    give_arrays(&g, device, 0);
    g.grid.extent[0] = 3;
    g.grid.extent[1] = 2;
    g.grid.extent[2] = 1;
    d.control->log_clear();
    g.grid.global_scratch_bytes = 6 * 512 - 1;
    ck_assert_int_eq(launch(launchable, &g, g.caller_count), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(err.reason, "BAD_SCRATCH");
    ck_assert_uint_eq(err.required, 6 * 512);
    ck_assert_uint_eq(launches(), 0);
    g.grid.global_scratch_bytes = 6 * 512;
    slt_ok(launch(launchable, &g, g.caller_count), &err);
    check_checksum(&e, &g, device);
    take_arrays(&g, device);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
    slt_double_check(&d);
    free((void *)(uintptr_t)more.data);
    triton_free(&e);
    triton_close();
}
END_TEST

START_TEST(without_doubles) {
    slt_skip("Triton's entries on the doubles", "no doubles were given");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle: Triton's entries launched");
    TCase *tcase = tcase_create("triton launch");
    tcase_set_timeout(tcase, 300);
    if (slt_double_path("cuda") != NULL && slt_double_path("hip") != NULL) {
        tcase_add_test(tcase, every_cuda_entry);
        tcase_add_test(tcase, every_hip_entry);
        tcase_add_test(tcase, programs_of_two_blocks);
        tcase_add_test(tcase, scratch_is_wanted_for_every_block);
    } else {
        tcase_add_test(tcase, without_doubles);
    }
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
