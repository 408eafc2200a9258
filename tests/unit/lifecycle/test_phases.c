/* The four phases: every transition succeeds as promised and fails without touching its input. */
#include "kit.h"

#include <errno.h>
#include <pthread.h>

#include "fault_os.h"

static kit world;

/* The guards want to know which NULL. */
#define NO(type) ((type **)NULL)

static void setup(void) {
    memset(&world, 0, sizeof world);
    kit_open(&world);
}

static void setup_on_map(void) {
    memset(&world, 0, sizeof world);
    world.verify = SLW_VERIFY_ON_MAP;
    kit_open(&world);
}

static void teardown(void) {
    kit_close(&world);
}

#define ck_code(call, expected)                                                                                        \
    ck_assert_msg((call) == (expected), "%s: %s %s", #call, slw_code_name(world.err.code), world.err.message)

START_TEST(whole_way) {
    slw_cached *cached = kit_lookup(&world);
    ck_assert_ptr_nonnull(slw_cached_key(cached));
    ck_assert_str_eq(slw_key_digest(slw_cached_key(cached)), slw_key_digest(world.key));
    ck_assert_str_eq(slw_spec_digest(slw_cached_spec(cached)), slw_spec_digest(world.spec));
    ck_assert_int_eq(slw_cached_is_private(cached), 0);
    ck_assert_uint_eq(slw_cached_file_count(cached), 3);
    ck_assert_str_eq(slw_cached_directory(cached), kit_slot(&world));
    slw_file file;
    uint64_t sum = 0;
    for (size_t i = 0; slw_cached_file(cached, i, &file); i++) sum += file.size_bytes;
    ck_assert_uint_eq(sum, slw_cached_size_bytes(cached));
    ck_assert_int_eq(slw_cached_file(cached, 3, &file), 0);

    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &world.err), &world.err);
    ck_assert_ptr_null(cached);
    const slw_contract *contract = slw_hydrated_contract(hydrated);
    ck_assert_str_eq(contract->target, "null");
    ck_assert_uint_eq(contract->kernel_count, 4);

    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    ck_assert_ptr_null(hydrated);
    ck_assert_uint_eq(atomic_load(&world.null.loads), 1);
    ck_assert_ptr_nonnull(slw_device_loaded_native_module(loaded));
    ck_assert_str_eq(slw_device_loaded_contract(loaded)->launch_binary, KIT_BINARY);

    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = kit_shape("use", 256);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    ck_assert_ptr_null(loaded);
    ck_assert_str_eq(slw_launchable_kernel(launchable)->name, "use");
    ck_assert_ptr_nonnull(slw_launchable_native_function(launchable));

    uint64_t data = 0;
    uint32_t count = 7;
    void *values[2] = {&data, &count};
    const slw_grid grid = kit_grid(3, 2, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 2, values), &world.err);
    ck_assert_uint_eq(world.null.last_launch.blocks[0], 3);
    ck_assert_uint_eq(world.null.last_launch.block[0], 256);
    slw_launchable_discard(&launchable);
    ck_assert_ptr_null(launchable);
}
END_TEST

START_TEST(events_of_the_way) {
    slw_launchable *launchable = kit_make(&world, "none", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    slw_launchable_discard(&launchable);
    static const slw_phase order[] = {SLW_PHASE_LOOKUP,      SLW_PHASE_HYDRATE,         SLW_PHASE_PAYLOAD,
                                      SLW_PHASE_DEVICE_LOAD, SLW_PHASE_MAKE_LAUNCHABLE, SLW_PHASE_FIRST_LAUNCH};
    ck_assert_uint_eq(world.event_count, 6);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(world.events[i].phase, order[i]);
        ck_assert_str_eq(world.events[i].outcome, i == 0 ? "HIT" : "OK");
        ck_assert_str_eq(world.events[i].key, slw_key_digest(world.key));
        ck_assert_str_eq(world.events[i].target, i == 0 ? "" : "null");
    }
    ck_assert_uint_eq(world.events[2].bytes, strlen(world.binary));
    ck_assert_uint_eq(world.events[3].bytes, strlen(world.binary));
    /* Creation is the look-up: the first launch took at least as long as all in between. */
    ck_assert_uint_ge(world.events[5].duration_ns, world.events[3].duration_ns + world.events[4].duration_ns);
}
END_TEST

/* Pitfall 26: what the driver measured otherwise is an event, and no refusal as long as it fits. */
START_TEST(pitfall_26_other_figures_are_an_event) {
    atomic_store(&world.null.more_registers, 8);
    slw_launchable *launchable = kit_make(&world, "use", 32);
    slw_launchable_discard(&launchable);
    const kit_event *made = kit_event_of(&world, SLW_PHASE_MAKE_LAUNCHABLE, 0);
    ck_assert_int_eq(made->code, SLW_OK);
    ck_assert_str_eq(made->outcome, "DIFFERS");
    atomic_store(&world.null.more_registers, 0);
    launchable = kit_make(&world, "use", 32);
    slw_launchable_discard(&launchable);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_MAKE_LAUNCHABLE, 1)->outcome, "OK");
    slw_text text = SLW_TEXT_INIT;
    slt_ok(slw_metrics_snapshot(world.metrics, &text, &world.err), &world.err);
    ck_assert_ptr_nonnull(strstr(text.data, "\"DIFFERS\":1,\"OK\":1"));
    slw_text_release(&text);
}
END_TEST

START_TEST(lookup_failures) {
    slw_cached *cached = NULL;
    slw_key *other = world.key;
    world.key = NULL;
    slw_spec *spec = world.spec;
    world.spec = NULL;
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    ck_code(slw_store_lookup(world.store, world.key, world.spec, &cached, &world.err), SLW_E_MISS);
    ck_assert_ptr_null(cached);
    ck_assert_str_eq(world.err.phase, "lookup");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->outcome, "MISS");
    ck_code(slw_store_lookup(NULL, world.key, world.spec, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_store_lookup(world.store, NULL, world.spec, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_store_lookup(world.store, world.key, NULL, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_store_lookup(world.store, world.key, world.spec, NO(slw_cached), &world.err), SLW_E_USAGE);
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    world.key = other;
    world.spec = spec;
    slt_shell("echo more >> '%s/notes.txt'", kit_slot(&world));
    ck_code(slw_store_lookup(world.store, world.key, world.spec, &cached, &world.err), SLW_E_INVALID_ENTRY);
    ck_assert_ptr_null(cached);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 1)->outcome, "INVALID");
}
END_TEST

START_TEST(wrong_objects_are_usage) {
    slw_cached *cached = kit_lookup(&world);
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_device_loaded *loaded = kit_load(&world);
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_hydrated *out_h = NULL;
    slw_device_loaded *out_l = NULL;
    slw_launchable *out_r = NULL;
    const slw_launch_shape shape = kit_shape("none", 32);
    const slw_grid grid = kit_grid(1, 1, 1);
    const slw_stream stream = SLW_STREAM_DEFAULT;

    /* As a cast or a stale alias would: another phase's object behind the right type. */
    slw_cached *not_cached = (slw_cached *)(void *)hydrated;
    slw_hydrated *not_hydrated = (slw_hydrated *)(void *)loaded;
    slw_device_loaded *not_loaded = (slw_device_loaded *)(void *)launchable;
    slw_launchable *not_launchable = (slw_launchable *)(void *)cached;
    ck_code(slw_hydrate(&not_cached, NULL, &out_h, &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "BAD_OBJECT");
    ck_code(slw_device_load(&not_hydrated, world.device, &out_l, &world.err), SLW_E_USAGE);
    ck_code(slw_make_launchable(&not_loaded, &shape, &out_r, &world.err), SLW_E_USAGE);
    ck_code(slw_launch(not_launchable, &grid, stream, NULL, &world.err), SLW_E_USAGE);
    ck_code(slw_launchable_retire(&not_launchable, NULL, 0, 0, &world.err), SLW_E_USAGE);
    ck_code(slw_hydrated_share(not_hydrated, &out_h, &world.err), SLW_E_USAGE);
    ck_code(slw_device_loaded_share(not_loaded, &out_l, &world.err), SLW_E_USAGE);
    ck_code(slw_launchable_share(not_launchable, &out_r, &world.err), SLW_E_USAGE);
    ck_code(slw_cached_materialize(not_cached, "/nowhere", &world.err), SLW_E_USAGE);
    slw_bytes bytes = {NULL, 0};
    ck_code(slw_hydrated_payload(not_hydrated, KIT_BINARY, &bytes, &world.err), SLW_E_USAGE);
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    ck_code(slw_device_loaded_attributes(not_loaded, NULL, &attributes, &world.err), SLW_E_USAGE);
    slw_device_address address = 0;
    uint64_t size = 0;
    ck_code(slw_device_loaded_global(not_loaded, "x", &address, &size, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(slw_cached_key(not_cached));
    ck_assert_ptr_null(slw_cached_spec(not_cached));
    ck_assert_uint_eq(slw_cached_size_bytes(not_cached), 0);
    ck_assert_ptr_null(slw_hydrated_contract(not_hydrated));
    ck_assert_uint_eq(slw_hydrated_overhead_bytes(not_hydrated), 0);
    ck_assert_ptr_null(slw_device_loaded_contract(not_loaded));
    ck_assert_ptr_null(slw_launchable_kernel(not_launchable));
    /* A discard of another phase's object does nothing at all. */
    slw_cached_discard(&not_cached);
    slw_hydrated_discard(&not_hydrated);
    slw_device_loaded_discard(&not_loaded);
    slw_launchable_discard(&not_launchable);
    ck_assert_ptr_null(out_h);
    ck_assert_ptr_null(out_l);
    ck_assert_ptr_null(out_r);

    slw_cached_discard(&cached);
    slw_hydrated_discard(&hydrated);
    slw_device_loaded_discard(&loaded);
    slw_launchable_discard(&launchable);
    /* And of NULL. */
    slw_cached_discard(&cached);
    slw_cached_discard(NO(slw_cached));
    slw_hydrated_discard(&hydrated);
    slw_hydrated_discard(NO(slw_hydrated));
    slw_device_loaded_discard(&loaded);
    slw_launchable_discard(&launchable);
    ck_code(slw_hydrate(&cached, NULL, &out_h, &world.err), SLW_E_USAGE);
    ck_code(slw_device_load(&hydrated, world.device, &out_l, &world.err), SLW_E_USAGE);
    ck_code(slw_make_launchable(&loaded, &shape, &out_r, &world.err), SLW_E_USAGE);
    ck_code(slw_launch(launchable, &grid, stream, NULL, &world.err), SLW_E_USAGE);
}
END_TEST

START_TEST(hydrate_failures_keep_the_input) {
    slw_cached *cached = kit_lookup(&world);
    slw_cached *before = cached;
    slw_hydrated *out = NULL;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.size--;
    ck_code(slw_hydrate(&cached, &options, &out, &world.err), SLW_E_USAGE);
    options.size++;
    options.launch_binary = 7;
    ck_code(slw_hydrate(&cached, &options, &out, &world.err), SLW_E_USAGE);
    options.launch_binary = SLW_HYDRATE_LAZY;
    options.backend = "nosuch";
    ck_code(slw_hydrate(&cached, &options, &out, &world.err), SLW_E_UNSUPPORTED);
    ck_code(slw_hydrate(&cached, NULL, NO(slw_hydrated), &world.err), SLW_E_USAGE);

    slt_fault_os_install(NULL);
    slt_fault_os_add(
        (slt_fault){.call = SLT_OPENAT, .path = SLWI_ENTRY_DOCUMENT_NAME, .nth = 1, .error_number = EACCES});
    ck_code(slw_hydrate(&cached, NULL, &out, &world.err), SLW_E_STORAGE);
    ck_assert_uint_eq(slt_fault_os_fired(), 1);
    slt_fault_os_remove();
    ck_assert_str_eq(world.err.phase, "hydrate");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_HYDRATE, 0)->outcome, "FAILED");

    slt_shell("mv '%s' '%s.away'", kit_slot(&world), kit_slot(&world));
    ck_code(slw_hydrate(&cached, NULL, &out, &world.err), SLW_E_GONE);
    ck_assert_ptr_eq(cached, before);
    ck_assert_ptr_null(out);
    slt_shell("mv '%s.away' '%s'", kit_slot(&world), kit_slot(&world));
    slt_ok(slw_hydrate(&cached, NULL, &out, &world.err), &world.err);
    ck_assert_ptr_null(cached);
    slw_hydrated_discard(&out);
}
END_TEST

START_TEST(hydrate_other_bytes) {
    slw_cached *cached = kit_lookup(&world);
    slw_hydrated *out = NULL;
    slt_shell("printf X | dd of='%s/%s' bs=1 seek=20 conv=notrunc status=none", kit_slot(&world),
              SLWI_ENTRY_DOCUMENT_NAME);
    ck_code(slw_hydrate(&cached, NULL, &out, &world.err), SLW_E_INVALID_ENTRY);
    ck_assert_ptr_null(out);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(load_failures_keep_the_input) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_hydrated *before = hydrated;
    slw_device_loaded *out = NULL;
    ck_code(slw_device_load(&hydrated, NULL, &out, &world.err), SLW_E_USAGE);
    ck_code(slw_device_load(&hydrated, world.device, NO(slw_device_loaded), &world.err), SLW_E_USAGE);

    /* Not the image's fault: asked again (pitfall 13). */
    slt_null_fail(&world.null.load, SLW_E_NO_MEMORY, 1);
    ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_NO_MEMORY);
    ck_assert_str_eq(world.err.phase, "device_load");
    ck_assert_ptr_eq(hydrated, before);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(kit_counts(&world).failures_remembered, 0);

    /* The image's fault: refused at once the next time, until it is forgotten. */
    atomic_store(&world.null.at_fault, 1);
    slt_null_fail(&world.null.load, SLW_E_INVALID_BINARY, 1);
    ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_INVALID_BINARY);
    ck_assert_uint_eq(atomic_load(&world.null.failed_loads), 2);
    ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(world.err.reason, "SCRIPT");
    ck_assert_uint_eq(atomic_load(&world.null.failed_loads), 2);
    ck_assert_ptr_eq(hydrated, before);
    slw_hydrated_forget_failure(hydrated, world.device);
    slt_ok(slw_device_load(&hydrated, world.device, &out, &world.err), &world.err);
    ck_assert_ptr_null(hydrated);
    slw_device_loaded_discard(&out);
}
END_TEST

START_TEST(target_mismatch_is_ours_each_time) {
    slw_device *device = world.device;
    world.device = NULL;
    slw_device_close(&device);
    (void)snprintf(world.null.info.target, sizeof world.null.info.target, "another");
    kit_open_device(&world);
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_device_loaded *out = NULL;
    for (int i = 0; i < 2; i++) {
        ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_TARGET_MISMATCH);
        ck_assert_str_eq(world.err.subject, "null");
        ck_assert_uint_eq(kit_counts(&world).failures_remembered, 0);
    }
    ck_assert_uint_eq(atomic_load(&world.null.loads) + atomic_load(&world.null.failed_loads), 0);
    /* No byte was read for it. */
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_PAYLOAD, 0));
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(load_other_bytes) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_device_loaded *out = NULL;
    slt_shell("printf X | dd of='%s/%s' bs=1 conv=notrunc status=none", kit_slot(&world), KIT_BINARY);
    ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_INVALID_ENTRY);
    slt_shell("rm -rf '%s'", kit_slot(&world));
    ck_code(slw_device_load(&hydrated, world.device, &out, &world.err), SLW_E_GONE);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(atomic_load(&world.null.failed_loads), 0);
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(loaded_image_needs_no_read) {
    slw_device_loaded *first = kit_load(&world);
    slw_hydrated *hydrated = kit_hydrate(&world);
    slt_shell("rm -rf '%s'", kit_slot(&world)); /* nothing could be read any more */
    slw_device_loaded *second = NULL;
    slt_ok(slw_device_load(&hydrated, world.device, &second, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.loads), 1);
    ck_assert_ptr_eq(slw_device_loaded_native_module(first), slw_device_loaded_native_module(second));
    slw_device_loaded_discard(&first);
    slw_device_loaded_discard(&second);
}
END_TEST

START_TEST(make_failures_keep_the_input) {
    slw_device_loaded *loaded = kit_load(&world);
    slw_device_loaded *before = loaded;
    slw_launchable *out = NULL;
    slw_launch_shape shape = kit_shape("nosuch", 32);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_MISS);
    ck_assert_str_eq(world.err.reason, "NO_KERNEL");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "fixed\nnone\nscratch\nuse"));
    shape.entry = NULL;
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_MISS);
    shape = kit_shape("use", 2048);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "block x");
    shape = kit_shape("use", 0);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_INVALID_LAUNCH);
    shape = kit_shape("fixed", 64);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_INVALID_LAUNCH);
    shape = kit_shape("use", 32);
    shape.flags = 1u << 31; /* no flag there is */
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_USAGE);
    shape.flags = 0;
    slt_null_fail(&world.null.function, SLW_E_DRIVER, 1);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_DRIVER);
    slt_null_fail(&world.null.prepare, SLW_E_DRIVER, 1);
    ck_code(slw_make_launchable(&loaded, &shape, &out, &world.err), SLW_E_DRIVER);
    ck_assert_str_eq(world.err.phase, "make_launchable");
    ck_assert_ptr_eq(loaded, before);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(atomic_load(&world.null.modules_now), 1);
    /* The block that the contract requires is filled in. */
    shape = kit_shape("fixed", 0);
    slt_ok(slw_make_launchable(&loaded, &shape, &out, &world.err), &world.err);
    uint64_t data = 0;
    void *values[1] = {&data};
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, out, &grid, 1, values), &world.err);
    ck_assert_uint_eq(world.null.last_launch.block[0], 128);
    slw_launchable_discard(&out);
}
END_TEST

START_TEST(pitfall_15_one_module_two_entries) {
    slw_device_loaded *loaded = kit_load(&world);
    slw_device_loaded *share = NULL;
    slt_ok(slw_device_loaded_share(loaded, &share, &world.err), &world.err);
    slw_launchable *small = NULL;
    slw_launchable *other = NULL;
    slw_launch_shape shape = kit_shape("use", 32);
    slt_ok(slw_make_launchable(&loaded, &shape, &small, &world.err), &world.err);
    shape = kit_shape("none", 64);
    slt_ok(slw_make_launchable(&share, &shape, &other, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.loads), 1);
    ck_assert_str_ne(slw_launchable_kernel(small)->name, slw_launchable_kernel(other)->name);
    /* The same kernel in another block needs no second module either. */
    slw_device_loaded *again = kit_load(&world);
    slw_launchable *large = NULL;
    shape = kit_shape("use", 512);
    slt_ok(slw_make_launchable(&again, &shape, &large, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.loads), 1);
    ck_assert_ptr_eq(slw_launchable_native_function(small), slw_launchable_native_function(large));
    slw_launchable_discard(&small);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, other, &grid, 0, NULL), &world.err);
    slw_launchable_discard(&other);
    slw_launchable_discard(&large);
    ck_assert_uint_eq(kit_counts(&world).modules_retired, 1);
}
END_TEST

START_TEST(shares_own_the_same) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_hydrated *share = NULL;
    slt_ok(slw_hydrated_share(hydrated, &share, &world.err), &world.err);
    slw_bytes first = {NULL, 0};
    slw_bytes second = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, "notes.txt", &first, &world.err), &world.err);
    ck_assert_uint_eq(first.size, 5);
    slw_hydrated_discard(&hydrated);
    slt_ok(slw_hydrated_payload(share, "notes.txt", &second, &world.err), &world.err);
    ck_assert_ptr_eq(first.data, second.data); /* the view outlived the handle that made it, as long as a share lives */
    ck_assert_mem_eq(second.data, "notes", 5);
    ck_assert_ptr_nonnull(slw_hydrated_contract(share));
    slw_hydrated_discard(&share);

    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_launchable *twin = NULL;
    slt_ok(slw_launchable_share(launchable, &twin, &world.err), &world.err);
    ck_assert_ptr_eq(slw_launchable_native_function(launchable), slw_launchable_native_function(twin));
    slw_launchable_discard(&launchable);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, twin, &grid, 0, NULL), &world.err);
    slw_launchable_discard(&twin);
    ck_assert_uint_eq(kit_counts(&world).modules_loaded, 1); /* retired, not unloaded */
}
END_TEST

START_TEST(payload_on_demand) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_PAYLOAD, 0));
    slw_bytes bytes = {NULL, 0};
    ck_code(slw_hydrated_payload(hydrated, "nosuch", &bytes, &world.err), SLW_E_MISS);
    ck_code(slw_hydrated_payload(hydrated, NULL, &bytes, &world.err), SLW_E_USAGE);
    ck_code(slw_hydrated_payload(hydrated, KIT_BINARY, NULL, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(bytes.data);
    slt_ok(slw_hydrated_payload(hydrated, KIT_BINARY, &bytes, &world.err), &world.err);
    ck_assert_uint_eq(bytes.size, strlen(world.binary));
    ck_assert_mem_eq(bytes.data, world.binary, bytes.size);
    slw_bytes again = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, KIT_BINARY, &again, &world.err), &world.err);
    ck_assert_ptr_eq(bytes.data, again.data);
    ck_assert_ptr_nonnull(kit_event_of(&world, SLW_PHASE_PAYLOAD, 0));
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_PAYLOAD, 1));
    slt_shell("rm -rf '%s'", kit_slot(&world));
    ck_code(slw_hydrated_payload(hydrated, "notes.txt", &bytes, &world.err), SLW_E_GONE);
    ck_assert_ptr_eq(bytes.data, again.data); /* untouched, and what is in memory stays */
    slt_ok(slw_hydrated_payload(hydrated, KIT_BINARY, &again, &world.err), &world.err);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* Pitfall 1, seen from here: bytes in hand do not change under a writer in place. */
START_TEST(payload_bytes_are_our_own) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_bytes bytes = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, KIT_BINARY, &bytes, &world.err), &world.err);
    slt_shell("printf XXXX | dd of='%s/%s' bs=1 conv=notrunc status=none", kit_slot(&world), KIT_BINARY);
    slt_shell("truncate -s 1 '%s/notes.txt'", kit_slot(&world));
    ck_assert_mem_eq(bytes.data, world.binary, bytes.size);
    ck_code(slw_hydrated_payload(hydrated, "notes.txt", &bytes, &world.err), SLW_E_INVALID_ENTRY);
    slw_hydrated_discard(&hydrated);
}
END_TEST

typedef struct reader {
    slw_hydrated *share;
    slw_bytes bytes;
    slw_code code;
} reader;

static pthread_barrier_t gate;

static void *read_payload(void *context) {
    reader *r = context;
    slw_error err = SLW_ERROR_INIT;
    (void)pthread_barrier_wait(&gate);
    r->code = slw_hydrated_payload(r->share, KIT_BINARY, &r->bytes, &err);
    return NULL;
}

START_TEST(payload_by_many_threads) {
    enum { THREADS = 8 };
    for (int round = 0; round < 20; round++) {
        slw_hydrated *hydrated = kit_hydrate(&world);
        reader readers[THREADS];
        pthread_t threads[THREADS];
        ck_assert_int_eq(pthread_barrier_init(&gate, NULL, THREADS), 0);
        for (int i = 0; i < THREADS; i++) {
            memset(&readers[i], 0, sizeof readers[i]);
            slt_ok(slw_hydrated_share(hydrated, &readers[i].share, &world.err), &world.err);
        }
        world.event_count = KIT_EVENTS; /* the listener's table is for one thread */
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, read_payload, &readers[i]), 0);
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
            ck_assert_int_eq(readers[i].code, SLW_OK);
            ck_assert_ptr_eq(readers[i].bytes.data, readers[0].bytes.data);
        }
        for (int i = 0; i < THREADS; i++) slw_hydrated_discard(&readers[i].share);
        slw_hydrated_discard(&hydrated);
        ck_assert_int_eq(pthread_barrier_destroy(&gate), 0);
    }
}
END_TEST

START_TEST(eager_reads_now) {
    slw_cached *cached = kit_lookup(&world);
    slw_hydrated *hydrated = NULL;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.launch_binary = SLW_HYDRATE_EAGER;
    slt_ok(slw_hydrate(&cached, &options, &hydrated, &world.err), &world.err);
    ck_assert_uint_gt(kit_event_of(&world, SLW_PHASE_HYDRATE, 0)->bytes, strlen(world.binary));
    slt_shell("rm -rf '%s'", kit_slot(&world));
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    slw_device_loaded_discard(&loaded);
}
END_TEST

START_TEST(overhead_is_small) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    const size_t said = slw_hydrated_overhead_bytes(hydrated);
    ck_assert_uint_gt(said, 200);
    ck_assert_uint_le(said, 4096);
    /* And it is what the heap says: all that is alive now and was not before. */
    slw_hydrated *second = NULL;
    slw_cached *cached = NULL;
    const uint64_t before = world.heap.live_bytes;
    cached = kit_lookup(&world);
    slt_ok(slw_hydrate(&cached, NULL, &second, &world.err), &world.err);
    const uint64_t kept = world.heap.live_bytes - before;
    ck_assert_uint_le(kept, said + 64);
    ck_assert_uint_ge(kept + 512, said);
    slw_hydrated_discard(&second);
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(pitfall_29_no_descriptor_kept) {
    const int before = slt_open_descriptors();
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_bytes bytes = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, "notes.txt", &bytes, &world.err), &world.err);
    ck_assert_int_eq(slt_open_descriptors(), before);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* Payload memory is let go with the last hydrated handle: the driver has its own copy (pitfall 29). */
START_TEST(pitfall_29_payload_memory_released_after_load) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_hydrated *share = NULL;
    slw_bytes bytes = {NULL, 0};
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_hydrated_payload(hydrated, "notes.txt", &bytes, &world.err), &world.err);
    slt_ok(slw_hydrated_share(hydrated, &share, &world.err), &world.err);
    slt_fault_os_install(NULL);
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UNMAP), 0);
    ck_assert_mem_eq(bytes.data, "notes", 5);
    slw_hydrated_discard(&share);
    ck_assert_uint_eq(slt_fault_os_count(SLT_UNMAP), 2);
    slt_fault_os_remove();
    slw_device_loaded_discard(&loaded);
}
END_TEST

START_TEST(pitfall_12_retire_unloads_and_discard_does_not) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_launchable *launchable = kit_make(&world, "none", 32);
    slw_launchable *share = NULL;
    slt_ok(slw_launchable_share(launchable, &share, &world.err), &world.err);
    slt_null_fail(&world.null.wait, SLW_E_TIMEOUT, 1);
    slw_launchable *before = launchable;
    ck_code(slw_launchable_retire(&launchable, &stream, 1, 1000, &world.err), SLW_E_TIMEOUT);
    ck_assert_ptr_eq(launchable, before);
    ck_code(slw_launchable_retire(&launchable, NULL, 1, 0, &world.err), SLW_E_USAGE);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &world.err), &world.err);
    ck_assert_ptr_null(launchable);
    ck_assert_uint_eq(atomic_load(&world.null.unloads), 0); /* the share is an owner */
    slt_ok(slw_launchable_retire(&share, &stream, 1, 0, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.unloads), 1);
    ck_assert_uint_eq(kit_counts(&world).modules_loaded, 0);

    /* The last owner decides: one that only discards leaves the module loaded and counted. */
    launchable = kit_make(&world, "none", 32);
    slt_ok(slw_launchable_share(launchable, &share, &world.err), &world.err);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &world.err), &world.err);
    slw_launchable_discard(&share);
    ck_assert_uint_eq(atomic_load(&world.null.unloads), 1);
    ck_assert_uint_eq(kit_counts(&world).modules_retired, 1);
    /* Another launchable of the module keeps it too. */
    launchable = kit_make(&world, "none", 32);
    share = kit_make(&world, "use", 32);
    slt_ok(slw_launchable_retire(&launchable, &stream, 1, 0, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.unloads), 1);
    slt_ok(slw_launchable_retire(&share, NULL, 0, 0, &world.err), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.unloads), 2);
}
END_TEST

START_TEST(globals_and_attributes) {
    slw_device_loaded *loaded = kit_load(&world);
    slw_device_address address = 77;
    uint64_t size = 77;
    const slw_code rc = slw_device_loaded_global(loaded, "nosuch", &address, &size, &world.err);
    ck_assert_int_eq(rc, SLW_E_MISS);
    ck_assert_uint_eq(address, 77);
    ck_assert_uint_eq(size, 77);
    slt_ok(slw_device_loaded_global(loaded, "null_global", &address, &size, &world.err), &world.err);
    ck_assert_uint_ne(address, 77);
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    ck_code(slw_device_loaded_attributes(loaded, "nosuch", &attributes, &world.err), SLW_E_MISS);
    ck_code(slw_device_loaded_attributes(loaded, "use", NULL, &world.err), SLW_E_USAGE);
    slt_ok(slw_device_loaded_attributes(loaded, "use", &attributes, &world.err), &world.err);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* Pitfall 25: everything is closed in every order, at every phase the kernel may be in. */
static void close_one(int which, slw_cached **c, slw_hydrated **h, slw_device_loaded **l, slw_launchable **r) {
    switch (which) {
    case 0:
        slw_store_close(&world.store);
        break;
    case 1:
        slw_device_close(&world.device);
        break;
    case 2:
        slw_metrics_release(&world.metrics);
        break;
    default:
        slw_cached_discard(c);
        slw_hydrated_discard(h);
        slw_device_loaded_discard(l);
        slw_launchable_discard(r);
    }
}

START_TEST(pitfall_25_close_in_any_order) {
    const int order = _i % 24;
    const int phase = _i / 24;
    int left[4] = {0, 1, 2, 3};
    slw_cached *cached = phase == 0 ? kit_lookup(&world) : NULL;
    slw_hydrated *hydrated = phase == 1 ? kit_hydrate(&world) : NULL;
    slw_device_loaded *loaded = phase == 2 ? kit_load(&world) : NULL;
    slw_launchable *launchable = phase == 3 ? kit_make(&world, "none", 32) : NULL;
    int code = order;
    for (int n = 4; n > 0; n--) {
        const int at = code % n;
        code /= n;
        close_one(left[at], &cached, &hydrated, &loaded, &launchable);
        left[at] = left[n - 1];
    }
}
END_TEST

/* A hydrated kernel outlives its store; a launchable outlives everything. */
START_TEST(pitfall_25_handles_go_on) {
    slw_hydrated *hydrated = kit_hydrate(&world);
    slw_store_close(&world.store);
    slw_metrics_release(&world.metrics);
    slw_bytes bytes = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, "notes.txt", &bytes, &world.err), &world.err);
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    slw_device_close(&world.device);
    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = kit_shape("none", 32);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 0, NULL), &world.err);
    ck_assert_uint_eq(atomic_load(&world.null.closes), 0);
    slw_launchable_discard(&launchable);
    ck_assert_uint_eq(atomic_load(&world.null.closes), 1);
}
END_TEST

START_TEST(get_or_build_reports) {
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.context = &world;
    builder.build = kit_build;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    slt_ok(slw_store_get_or_build(world.store, world.key, world.spec, &builder, &report, &cached, &world.err),
           &world.err);
    ck_assert_int_eq(report.disposition, SLW_PUBLISHED);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->outcome, "MISS");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 0)->outcome, "PUBLISHED");
    slw_cached *other = NULL;
    /* The report owns a build: it has to be released before it is filled again. */
    ck_code(slw_store_get_or_build(world.store, world.key, world.spec, &builder, &report, &other, &world.err),
            SLW_E_USAGE);
    slw_build_report_release(&report);
    slt_ok(slw_store_get_or_build(world.store, world.key, world.spec, &builder, &report, &other, &world.err),
           &world.err);
    ck_assert_int_eq(report.disposition, SLW_HIT);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 1)->outcome, "HIT");
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_COMPILE, 1));
    ck_assert_int_eq(world.builds, 2);
    slw_cached_discard(&cached);
    slw_cached_discard(&other);
    slw_build_report_release(&report);
}
END_TEST

static slw_code failing_build(void *context, const slw_build_context *build, slw_error *err) {
    (void)context;
    (void)build;
    if (err != NULL) {
        err->code = SLW_E_BUILDER_FIRST + 7;
        (void)snprintf(err->message, sizeof err->message, "no");
    }
    return SLW_E_BUILDER_FIRST + 7;
}

START_TEST(builder_errors_pass_through) {
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.build = failing_build;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    ck_code(slw_store_get_or_build(world.store, world.key, world.spec, &builder, &report, &cached, &world.err),
            SLW_E_BUILDER_FIRST + 7);
    ck_assert_str_eq(world.err.message, "no");
    ck_assert_ptr_null(cached);
    ck_assert_uint_eq(report.build_ns, 0); /* outputs are untouched on failure */
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 0)->outcome, "FAILED");
}
END_TEST

/* The directory of a private build lives as long as any handle made from it, and not one moment longer. */
START_TEST(private_directory_goes_with_the_last_handle) {
    slw_store_close(&world.store);
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    world.read_only = 1;
    kit_open_store(&world);
    slw_cached *cached = kit_build_entry(&world);
    ck_assert_int_eq(slw_cached_is_private(cached), 1);
    char directory[512];
    kit_copy(directory, sizeof directory, slw_cached_directory(cached));
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = kit_shape("none", 32);
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &world.err), &world.err);
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    slt_shell("test -d '%s'", directory);
    slw_launchable_discard(&launchable);
    slt_shell("test ! -e '%s'", directory); /* though the module is still loaded */
    ck_assert_uint_eq(kit_counts(&world).modules_loaded, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle phases");
    TCase *c = tcase_create("phases");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, whole_way);
    tcase_add_test(c, events_of_the_way);
    tcase_add_test(c, pitfall_26_other_figures_are_an_event);
    tcase_add_test(c, lookup_failures);
    tcase_add_test(c, wrong_objects_are_usage);
    tcase_add_test(c, hydrate_failures_keep_the_input);
    tcase_add_test(c, load_failures_keep_the_input);
    tcase_add_test(c, target_mismatch_is_ours_each_time);
    tcase_add_test(c, load_other_bytes);
    tcase_add_test(c, loaded_image_needs_no_read);
    tcase_add_test(c, make_failures_keep_the_input);
    tcase_add_test(c, pitfall_15_one_module_two_entries);
    tcase_add_test(c, shares_own_the_same);
    tcase_add_test(c, payload_on_demand);
    tcase_add_test(c, payload_bytes_are_our_own);
    tcase_add_test(c, payload_by_many_threads);
    tcase_add_test(c, eager_reads_now);
    tcase_add_test(c, overhead_is_small);
    tcase_add_test(c, pitfall_29_no_descriptor_kept);
    tcase_add_test(c, pitfall_29_payload_memory_released_after_load);
    tcase_add_test(c, pitfall_12_retire_unloads_and_discard_does_not);
    tcase_add_test(c, globals_and_attributes);
    tcase_add_loop_test(c, pitfall_25_close_in_any_order, 0, 24 * 4);
    tcase_add_test(c, pitfall_25_handles_go_on);
    tcase_add_test(c, get_or_build_reports);
    tcase_add_test(c, builder_errors_pass_through);
    tcase_add_test(c, private_directory_goes_with_the_last_handle);
    suite_add_tcase(suite, c);
    TCase *m = tcase_create("on map");
    tcase_set_timeout(m, 120);
    tcase_add_checked_fixture(m, setup_on_map, teardown);
    tcase_add_test(m, whole_way);
    tcase_add_test(m, hydrate_other_bytes);
    tcase_add_test(m, load_other_bytes);
    suite_add_tcase(suite, m);
    return slt_run(suite, NULL);
}
