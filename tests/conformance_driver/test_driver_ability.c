/* What a driver can and cannot do, and what it says of a kernel beside what stands in the binary. */
#include "gpu_way.h"

static slw_code try_shape(const char *entry, uint32_t threads, uint32_t shared_bytes, const slw_launch_shape *beside,
                          slw_launchable **out) {
    slw_device_loaded *loaded = load();
    slw_launch_shape shape = *beside;
    shape.entry = entry;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    shape.shared_bytes = shared_bytes;
    slw_device_loaded *const before = loaded;
    const slw_code code = slw_make_launchable(&loaded, &shape, out, &w.err);
    if (code == SLW_OK) {
        ck_assert_ptr_null(loaded);
    } else {
        ck_assert_ptr_eq(loaded, before);
        slw_device_loaded_discard(&loaded);
    }
    return code;
}

static const slw_launch_shape plain = SLW_LAUNCH_SHAPE_INIT;

/* ---- Launches of every kind ------------------------------------------------------------------------------------ */

static slw_launch_shape asking(uint32_t cluster, uint32_t cooperative, uint32_t flags) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    for (int i = 0; cluster != 0 && i < 3; i++) shape.cluster[i] = i == 0 ? cluster : 1;
    shape.cooperative = cooperative;
    shape.flags = flags;
    return shape;
}

/* Launches four blocks of "first" once: that call and no other launches, and what it did. */
static double_extras launch_as(uint32_t cluster, uint32_t cooperative, uint32_t flags, const char *call) {
    static const char *const calls[] = {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
                                        "hipModuleLaunchKernel", "hipModuleLaunchCooperativeKernel"};
    const slw_launch_shape shape = asking(cluster, cooperative, flags);
    slw_launchable *launchable = NULL;
    double_extras extras;
    uint64_t sum = 0;
    slt_ok(slw_device_copy_in(w.device, w.sum, &sum, sizeof sum, &w.err), &w.err);
    slt_ok(try_shape("first", 64, 0, &shape, &launchable), &w.err);
    w.d.control->log_clear();
    slt_ok(launch(launchable, null_stream), &w.err);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        ck_assert_uint_eq(w.d.control->count(calls[i]), strcmp(calls[i], call) == 0 ? 1 : 0);
    }
    w.d.control->last_launch(&extras);
    slt_ok(slw_device_copy_out(w.device, &sum, w.sum, sizeof sum, &w.err), &w.err);
    ck_assert_uint_eq(sum, 10);
    slw_launchable_discard(&launchable);
    return extras;
}

static void has_exactly(const double_extras *extras, unsigned count, int cooperative, int programmatic,
                        unsigned cluster) {
    unsigned seen = 0;
    ck_assert_uint_eq(extras->count, count);
    for (unsigned i = 0; i < count; i++) seen |= 1u << extras->ids[i];
    ck_assert_uint_eq(seen, (cooperative ? 1u << 2 : 0u) | (cluster ? 1u << 4 : 0u) | (programmatic ? 1u << 6 : 0u));
    ck_assert_int_eq(extras->cooperative, cooperative);
    ck_assert_int_eq(extras->programmatic, programmatic ? 1 : -1);
    ck_assert_uint_eq(extras->cluster[0], cluster);
    ck_assert_uint_eq(extras->cluster[1], cluster != 0);
    ck_assert_uint_eq(extras->cluster[2], cluster != 0);
}

/* One call with the attributes that the shape asks for and no other, in every combination. */
START_TEST(a_launch_says_what_was_asked) {
    start(0);
    for (unsigned i = 0; i < 8; i++) {
        const int cooperative = i & 1, programmatic = (i & 2) != 0;
        const unsigned cluster = (i & 4) != 0 ? 2 : 0;
        const double_extras extras =
            launch_as(cluster, (uint32_t)cooperative, programmatic ? SLW_LAUNCH_PROGRAMMATIC : 0,
                      i == 0 ? "cuLaunchKernel" : "cuLaunchKernelEx");
        has_exactly(&extras, (unsigned)(cooperative + programmatic + (cluster != 0)), cooperative, programmatic,
                    cluster);
    }
    stop();
}
END_TEST

START_TEST(a_cooperative_launch_of_hip) {
    start(1);
    ck_assert_int_eq(launch_as(0, 1, 0, "hipModuleLaunchCooperativeKernel").cooperative, 1);
    ck_assert_int_eq(launch_as(0, 0, 0, "hipModuleLaunchKernel").cooperative, 0);
    stop();
}
END_TEST

/* ---- Old drivers ----------------------------------------------------------------------------------------------- */

static void refused_as_old(uint32_t cluster, uint32_t cooperative, uint32_t flags) {
    const slw_launch_shape shape = asking(cluster, cooperative, flags);
    slw_launchable *launchable = NULL;
    ck_assert_int_eq(try_shape("first", 64, 0, &shape, &launchable), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(w.err.reason, "OLD_DRIVER");
    ck_assert_ptr_null(launchable);
}

/* Of before 11.6, and of any age without the one call: a cooperative launch has a call of its own, the rest has not. */
START_TEST(a_driver_without_launch_attributes) {
    slt_double before;
    slt_double_open(&before, "cuda");
    if (_i == 0) {
        before.control->set(DOUBLE_DRIVER_VERSION, 11040);
    } else {
        before.control->hide("cuLaunchKernelEx");
    }
    start(0);
    const double_extras extras = launch_as(0, 1, 0, "cuLaunchCooperativeKernel");
    ck_assert_uint_eq(extras.count, 0);
    ck_assert_int_eq(extras.cooperative, 1);
    ck_assert_int_eq(extras.programmatic, -1);
    (void)launch_as(0, 0, 0, "cuLaunchKernel");
    refused_as_old(0, 0, SLW_LAUNCH_PROGRAMMATIC);
    refused_as_old(0, 1, SLW_LAUNCH_PROGRAMMATIC);
    if (_i == 0) { /* which does not know clusters, so its devices have none */
        const slw_launch_shape shape = asking(2, 0, 0);
        slw_launchable *launchable = NULL;
        ck_assert_int_eq(try_shape("first", 64, 0, &shape, &launchable), SLW_E_OUT_OF_RESOURCES);
        ck_assert_str_eq(w.err.resource, "cluster");
        ck_assert_uint_eq(w.err.limit, 1);
    } else {
        refused_as_old(2, 0, 0);
        refused_as_old(2, 1, 0);
        refused_as_old(2, 1, SLW_LAUNCH_PROGRAMMATIC);
    }
    (void)launch_as(1, 1, 0, "cuLaunchCooperativeKernel"); /* a cluster of one block is none */
    stop();
}
END_TEST

START_TEST(a_driver_without_cooperative_launches) {
    slt_double before;
    slt_double_open(&before, "cuda");
    before.control->hide("cuLaunchKernelEx");
    before.control->hide("cuLaunchCooperativeKernel");
    start(0);
    refused_as_old(0, 1, 0);
    (void)launch_as(0, 0, 0, "cuLaunchKernel");
    stop();
}
END_TEST

/* ---- The driver's own figures ---------------------------------------------------------------------------------- */

static slw_function_attributes figures(const char *entry) {
    slw_device_loaded *loaded = load();
    slw_function_attributes out = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slw_device_loaded_attributes(loaded, entry, &out, &w.err), &w.err);
    slw_device_loaded_discard(&loaded);
    return out;
}

/* The module goes, so that the next load is one. */
static void unload_all(void) {
    slw_launchable *launchable = make("first", 0);
    slt_ok(slw_launchable_retire(&launchable, &null_stream, 1, 0, &w.err), &w.err);
    ck_assert_int_eq(w.d.control->get(DOUBLE_LIVE_MODULES), 0);
}

START_TEST(loaded_tells_the_drivers_figures) {
    start(_i);
    const slw_function_attributes before = figures("second");
    ck_assert_uint_eq(before.static_shared_bytes, 64);
    ck_assert_uint_eq(before.max_threads, 1024);
    ck_assert_uint_gt(before.registers, 0);
    unload_all();
    w.d.control->set(DOUBLE_MORE_REGISTERS, 9);
    w.d.control->set(DOUBLE_MORE_LOCAL, 48);
    w.d.control->set(DOUBLE_MORE_SHARED, 100);
    w.d.control->set(DOUBLE_FEWER_THREADS, 96);
    const slw_function_attributes after = figures("second");
    ck_assert_uint_eq(after.registers, before.registers + 9);
    ck_assert_uint_eq(after.local_bytes, before.local_bytes + 48);
    ck_assert_uint_eq(after.static_shared_bytes, 164);
    ck_assert_uint_eq(after.max_threads, 96);
    stop();
}
END_TEST

static void refused(const char *entry, uint32_t threads, uint32_t shared_bytes, const char *resource, uint64_t required,
                    uint64_t limit) {
    slw_launchable *launchable = NULL;
    w.d.control->log_clear();
    ck_assert_int_eq(try_shape(entry, threads, shared_bytes, &plain, &launchable), SLW_E_OUT_OF_RESOURCES);
    ck_assert_ptr_null(launchable);
    ck_assert_str_eq(w.err.resource, resource);
    ck_assert_uint_eq(w.err.required, required);
    ck_assert_uint_eq(w.err.limit, limit);
    ck_assert_str_eq(w.err.kernel, entry);
    ck_assert_uint_eq(w.d.control->count("cuFuncSetAttribute"), 0);
}
static void fits(const char *entry, uint32_t threads, uint32_t shared_bytes) {
    slw_launchable *launchable = NULL;
    slt_ok(try_shape(entry, threads, shared_bytes, &plain, &launchable), &w.err);
    slt_ok(launch(launchable, null_stream), &w.err);
    slw_launchable_discard(&launchable);
}

/* Pitfall 26: what was checked with the binary's figures is checked again with the driver's. */
START_TEST(pitfall_26_the_drivers_threads_count) {
    start(_i);
    fits("first", 128, 0);
    unload_all();
    w.d.control->set(DOUBLE_FEWER_THREADS, 96);
    refused("first", 128, 0, "threads per block", 128, 96);
    refused("first", 97, 0, "threads per block", 97, 96);
    fits("first", 96, 0);
    stop();
}
END_TEST

START_TEST(pitfall_26_the_drivers_shared_memory_counts) {
    static const uint32_t all[] = {232448, 65536};
    start(_i);
    fits("first", 64, all[_i]);
    unload_all();
    w.d.control->set(DOUBLE_MORE_SHARED, 100);
    refused("first", 64, all[_i], "shared memory", all[_i] + 100u, all[_i]);
    refused("first", 64, all[_i] - 99, "shared memory", all[_i] + 1u, all[_i]);
    fits("first", 64, all[_i] - 100);
    stop();
}
END_TEST

/* NVIDIA's rule, which AMD's figures must not meet. */
START_TEST(pitfall_26_the_drivers_registers_count) {
    start(_i);
    const uint32_t before = figures("first").registers;
    unload_all();
    w.d.control->set(DOUBLE_MORE_REGISTERS, 300);
    if (_i == 0) {
        refused("first", 64, 0, "registers per thread", before + 300u, 256);
    } else {
        fits("first", 1024, 0);
    }
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("abilities of GPU drivers");
    TCase *tcase = tcase_create("ability");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_launch_says_what_was_asked);
    tcase_add_test(tcase, a_cooperative_launch_of_hip);
    tcase_add_loop_test(tcase, a_driver_without_launch_attributes, 0, 2);
    tcase_add_test(tcase, a_driver_without_cooperative_launches);
    tcase_add_loop_test(tcase, loaded_tells_the_drivers_figures, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, pitfall_26_the_drivers_threads_count, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, pitfall_26_the_drivers_shared_memory_counts, 0, GPU_KINDS);
    tcase_add_loop_test(tcase, pitfall_26_the_drivers_registers_count, 0, GPU_KINDS);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
