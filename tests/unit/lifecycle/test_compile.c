/* compile() over the real store and the real host backend: cold, hot, private and refused. */
#include "kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends.h"
#include "clock.h"
#include "os.h"
#include "process.h"

static const char kernel_text[] =
    "#include <slipway/host_kernel.h>\n"
    "SLW_HOST_KERNEL(scale, SLW_HOST_PARAM(float *, values), SLW_HOST_PARAM(uint32_t, count));\n"
    "void scale(const slw_host_block *block, void *const *args) {\n"
    "    float *values = SLW_HOST_ARG(float *, args, 0);\n"
    "    const uint32_t count = SLW_HOST_ARG(uint32_t, args, 1);\n"
    "    for (uint32_t t = 0; t < block->block[0]; t++) {\n"
    "        const uint32_t i = block->index[0] * block->block[0] + t;\n"
    "        if (i < count) values[i] *= 3.0f;\n"
    "    }\n"
    "}\n";

/* Shared by the tests, which are processes: the first one fills it, so that the others need not hash the toolchain
   again. */
static char memo_directory[256];
static kit world;
static slw_memo *memo;
static slw_compiler *compiler;
static slw_build_report report;
static char words[65536];

#define ck_code(call, expected)                                                                                        \
    ck_assert_msg((call) == (expected), "%s: %s %s", #call, slw_code_name(world.err.code), world.err.message)

static void open_compiler(const char *name, const char *search_path, const slw_backend_vtable *backend) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.store = world.store;
    options.compiler = name;
    options.search_path = search_path;
    options.memo = memo;
    options.backend_impl = backend;
    slt_ok(slw_compiler_open(&options, &compiler, &world.err), &world.err);
}

static void setup_closed(void) {
    const slw_build_report fresh = SLW_BUILD_REPORT_INIT;
    memset(&world, 0, sizeof world);
    kit_open(&world);
    world.err.diagnostics = words;
    world.err.diagnostics_capacity = sizeof words;
    report = fresh;
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    options.directory = memo_directory;
    slt_ok(slw_memo_open(&options, &memo, &world.err), &world.err);
}

static void setup(void) {
    setup_closed();
    open_compiler("/usr/bin/gcc", NULL, NULL);
}

static void teardown(void) {
    slw_build_report_release(&report);
    slw_compiler_close(&compiler);
    slw_memo_close(&memo);
    kit_close(&world);
}

static slw_source source_of(const char *text) {
    slw_source source = SLW_SOURCE_INIT;
    source.text = (slw_bytes){text, strlen(text)};
    source.name = "kernel.c";
    return source;
}

static slw_code compile_with(const slw_source *source, const slw_compile_options *options, slw_cached **out) {
    slw_build_report_release(&report);
    return slw_compile(compiler, source, options, &report, out, &world.err);
}

static slw_cached *compile_ok(const slw_source *source, const slw_compile_options *options,
                              slw_disposition disposition) {
    slw_cached *cached = NULL;
    const slw_code rc = compile_with(source, options, &cached);
    ck_assert_msg(rc == SLW_OK, "%s %s\n%s", slw_code_name(rc), world.err.message, words);
    ck_assert_msg(report.disposition == disposition, "%s: %s", slw_disposition_name(report.disposition), report.reason);
    return cached;
}

static void launch_and_check(slw_cached *cached) {
    slw_device *device = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    slt_ok(slw_device_open(&(slw_device_options)SLW_DEVICE_OPTIONS_INIT, &device, &world.err), &world.err);
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &world.err), &world.err);
    slt_ok(slw_device_load(&hydrated, device, &loaded, &world.err), &world.err);
    const slw_launch_shape shape = kit_shape("scale", 64);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    float values[100];
    for (int i = 0; i < 100; i++) values[i] = (float)i;
    float *data = values;
    uint32_t count = 100;
    void *arguments[2] = {&data, &count};
    const slw_grid grid = kit_grid(2, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 2, arguments), &world.err);
    for (int i = 0; i < 100; i++) ck_assert(values[i] == 3.0f * (float)i);
    slw_launchable_discard(&launchable);
    slw_device_close(&device);
}

START_TEST(cold_then_hot) {
    const slw_source source = source_of(kernel_text);
    ck_assert_str_eq(slw_compiler_path(compiler), "/usr/bin/gcc");
    slt_ok(slw_identity_usable(slw_compiler_identity(compiler), &world.err), &world.err);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->outcome, "MISS");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->backend, "host");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_STAGE, 0)->stage, "object");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_STAGE, 1)->stage, "shared_object");
    ck_assert_uint_gt(kit_event_of(&world, SLW_PHASE_STAGE, 0)->duration_ns, 0);
    for (int i = 0; i < 2; i++) { /* a stage's bytes are those of the payload it left */
        slw_file file;
        ck_assert_int_eq(slw_cached_file(cached, (size_t)i, &file), 1);
        ck_assert_uint_eq(kit_event_of(&world, SLW_PHASE_STAGE, i)->bytes, file.size_bytes);
    }
    const kit_event *compiled = kit_event_of(&world, SLW_PHASE_COMPILE, 0);
    ck_assert_str_eq(compiled->outcome, "PUBLISHED");
    ck_assert_int_eq(compiled->hit, 0);
    ck_assert_uint_eq(compiled->stage_count, 2);
    ck_assert_str_eq(compiled->last_stage, "shared_object");
    ck_assert_uint_eq(compiled->stages_ns, kit_event_of(&world, SLW_PHASE_STAGE, 0)->duration_ns +
                                               kit_event_of(&world, SLW_PHASE_STAGE, 1)->duration_ns);
    ck_assert_uint_ge(compiled->duration_ns, compiled->stages_ns);
    /* The payload of every stage and slipway.json, all required. */
    ck_assert_uint_eq(slw_spec_required_count(slw_cached_spec(cached)), 3);
    ck_assert_str_eq(slw_spec_keep(slw_cached_spec(cached)), "kernel.so");
    ck_assert_int_eq(slw_spec_state(slw_cached_spec(cached)), SLW_READY);
    ck_assert_uint_eq(slw_cached_file_count(cached), 3);
    char key[SLW_DIGEST_TEXT_SIZE];
    kit_copy(key, sizeof key, slw_key_digest(slw_cached_key(cached)));
    launch_and_check(cached);

    world.event_count = 0;
    const uint64_t processes = slwi_process_count();
    cached = compile_ok(&source, NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    ck_assert_str_eq(slw_key_digest(slw_cached_key(cached)), key);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->outcome, "HIT");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_LOOKUP, 0)->key, key);
    compiled = kit_event_of(&world, SLW_PHASE_COMPILE, 0);
    ck_assert_str_eq(compiled->outcome, "HIT"); /* told, with no stage */
    ck_assert_int_eq(compiled->hit, 1);
    ck_assert_uint_eq(compiled->stage_count, 0);
    ck_assert_str_eq(compiled->key, key);
    ck_assert_uint_gt(compiled->duration_ns, 0);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_COMPILE, 1));
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_STAGE, 0));
    launch_and_check(cached);

    /* And in a compiler of its own, with a search path that leads nowhere, still without a process. */
    slw_compiler_close(&compiler);
    open_compiler("/usr/bin/gcc", "/nonexistent", NULL);
    cached = compile_ok(&source, NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(by_path_and_by_text_are_two_names_of_one_text) {
    const char *path = slt_path(world.scratch, "kernel.c", NULL);
    slt_write_file(path, kernel_text, strlen(kernel_text), 0644);
    slw_source by_path = SLW_SOURCE_INIT;
    by_path.path = path;
    slw_cached *cached = compile_ok(&by_path, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    const slw_source by_text = source_of(kernel_text);
    cached = compile_ok(&by_text, NULL, SLW_HIT);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(usage) {
    slw_source source = source_of(kernel_text);
    slw_cached *cached = NULL;
    ck_code(slw_compile(NULL, &source, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_compile((slw_compiler *)(void *)world.key, &source, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_compile(compiler, NULL, NULL, NULL, &cached, &world.err), SLW_E_USAGE);
    ck_code(slw_compile(compiler, &source, NULL, NULL, (slw_cached **)NULL, &world.err), SLW_E_USAGE);
    source.path = "both";
    ck_code(compile_with(&source, NULL, &cached), SLW_E_USAGE);
    source.path = NULL;
    source.text.data = NULL;
    ck_code(compile_with(&source, NULL, &cached), SLW_E_USAGE);
    source = source_of(kernel_text);
    source.size--;
    ck_code(compile_with(&source, NULL, &cached), SLW_E_USAGE);
    source.size++;
    source.include_root_count = 1;
    ck_code(compile_with(&source, NULL, &cached), SLW_E_USAGE);
    source.include_root_count = 0;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.size--;
    ck_code(compile_with(&source, &options, &cached), SLW_E_USAGE);
    options.size++;
    options.override_stage = "object";
    ck_code(compile_with(&source, &options, &cached), SLW_E_USAGE);
    options.override_path = "x";
    options.override_stage = "nosuch";
    ck_code(compile_with(&source, &options, &cached), SLW_E_USAGE);
    ck_assert_ptr_null(cached);
    report.size--;
    options.override_stage = options.override_path = NULL;
    ck_code(slw_compile(compiler, &source, &options, &report, &cached, &world.err), SLW_E_USAGE);
    report.size++;
}
END_TEST

/* A kind of source that begins with the second stage: what comes before it can be neither run nor overridden. */
START_TEST(kinds_of_sources) {
    static const slw_source_kind kinds[] = {{"c", 0}, {"o", 1}};
    slw_backend_vtable two = *slw_backend_find("host");
    slw_compiler *both = NULL;
    slw_cached *cached = NULL;
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    slw_compile_options how = SLW_COMPILE_OPTIONS_INIT;
    slw_source source = SLW_SOURCE_INIT;
    two.sources = kinds;
    two.source_count = 2;
    options.store = world.store;
    options.backend_impl = &two;
    slt_ok(slw_compiler_open(&options, &both, &world.err), &world.err);
    how.override_stage = "object";
    how.override_path = "/dev/null";
    source.text = (slw_bytes){"x", 1};
    for (int i = 0; i < 3; i++) {
        source.extension = i == 0 ? "o" : NULL;
        source.name = i == 1 ? "k.o" : NULL;
        source.path = i == 2 ? "/nonexistent/k.o" : NULL;
        source.text.data = i == 2 ? NULL : "x";
        ck_code(slw_compile(both, &source, &how, NULL, &cached, &world.err), SLW_E_USAGE);
        ck_assert_str_eq(world.err.reason, "NO_STAGE");
        ck_assert_str_eq(world.err.subject, "object");
    }
    source.path = NULL;
    source.text.data = "x";
    source.extension = "f90";
    ck_code(slw_compile(both, &source, NULL, NULL, &cached, &world.err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.reason, "SOURCE_KIND");
    ck_assert_str_eq(world.err.tried, "c\no");
    slw_compiler_close(&both);
}
END_TEST

/* One that has both, or a clear word. */
START_TEST(a_backend_is_chosen) {
    const char *name = "untouched";
    slt_ok(slw_backend_choose(NULL, "c", &name, &world.err), &world.err);
    ck_assert_str_eq(name, "host");
    slt_ok(slw_backend_choose("sm_90a", NULL, &name, &world.err), &world.err);
    ck_assert_str_eq(name, "cuda");
    slt_ok(slw_backend_choose("gfx90a:xnack-", "ll", &name, &world.err), &world.err);
    ck_assert_str_eq(name, "hip");
    ck_code(slw_backend_choose("sm_90", "hip", &name, &world.err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world.err.reason, "NO_BACKEND");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "cuda: cu ptx"));
    ck_code(slw_backend_choose(NULL, NULL, &name, &world.err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(world.err.reason, "AMBIGUOUS");
    ck_assert_ptr_nonnull(strstr(world.err.tried, "host: c"));
    ck_assert_str_eq(name, "hip");
    ck_code(slw_backend_choose("sm_90", "cu", NULL, &world.err), SLW_E_USAGE);
}
END_TEST

static slw_backend_vtable mine[SLW_LIMIT_BACKENDS + 1];

/* A stage's file is removed, read and published by its name. */
static void half_made_stages(slw_backend_vtable *backend) {
    static const char *const bad[] = {
        NULL, "", "../x", "/tmp/x", "a b", ".hidden", "slipway.json", "artifact_manifest.json", "kernel.so"};
    const slw_stage *const good = backend->stages;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        slw_stage stages[2] = {{"one", "o", bad[i]}, {"two", "so", "kernel.so"}};
        backend->stages = stages;
        ck_code(slw_backend_register(backend, &world.err), SLW_E_USAGE);
        ck_assert_str_eq(world.err.reason, "BAD_BACKEND");
        stages[0].payload = "kernel.o";
        stages[0].name = i == 0 ? NULL : "two";
        ck_code(slw_backend_register(backend, &world.err), SLW_E_USAGE);
        stages[0].name = "one";
        stages[1].payload = NULL;
        ck_code(slw_backend_register(backend, &world.err), SLW_E_USAGE);
    }
    backend->stages = good;
}

START_TEST(backends_are_registered_once_and_for_good) {
    static char names[SLW_LIMIT_BACKENDS + 1][16];
    const char *name = NULL;
    static const slw_source_kind kind[] = {{"tiny", 0}};
    for (unsigned i = 0; i <= SLW_LIMIT_BACKENDS; i++) {
        (void)snprintf(names[i], sizeof names[i], "mine_%u", i);
        mine[i] = *slw_backend_find("host");
        mine[i].name = names[i];
    }
    ck_code(slw_backend_register(NULL, &world.err), SLW_E_USAGE);
    mine[0].abi++;
    ck_code(slw_backend_register(&mine[0], &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "BAD_ABI");
    mine[0].abi--;
    mine[0].source_count = 0;
    ck_code(slw_backend_register(&mine[0], &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "BAD_BACKEND");
    mine[0].sources = kind;
    mine[0].source_count = 1;
    mine[0].job_run = NULL;
    ck_code(slw_backend_register(&mine[0], &world.err), SLW_E_USAGE);
    mine[0].job_run = slw_backend_find("host")->job_run;
    mine[0].sources = NULL;
    ck_code(slw_backend_register(&mine[0], &world.err), SLW_E_USAGE);
    mine[0].sources = kind;
    half_made_stages(&mine[0]);
    mine[1].name = "cuda";
    ck_code(slw_backend_register(&mine[1], &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "DUPLICATE");
    mine[1].name = names[1];
    for (unsigned i = 0; i < SLW_LIMIT_BACKENDS; i++) slt_ok(slw_backend_register(&mine[i], &world.err), &world.err);
    ck_code(slw_backend_register(&mine[SLW_LIMIT_BACKENDS], &world.err), SLW_E_LIMIT);
    ck_assert_uint_eq(world.err.limit, SLW_LIMIT_BACKENDS);
    slt_ok(slw_backend_choose(NULL, "tiny", &name, &world.err), &world.err);
    ck_assert_str_eq(name, "mine_0");
    ck_assert_ptr_eq(slw_backend_find("mine_3"), &mine[3]);
}
END_TEST

START_TEST(open_usage) {
    slw_compiler *out = NULL;
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    ck_code(slw_compiler_open(NULL, &out, &world.err), SLW_E_USAGE);
    ck_code(slw_compiler_open(&options, NULL, &world.err), SLW_E_USAGE);
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_USAGE);
    options.store = world.store;
    options.identity = 9;
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_USAGE);
    options.identity = SLW_IDENTITY_MEMO;
    options.backend = "nosuch";
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_UNSUPPORTED);
    options.backend = NULL;
    options.compiler = "/nonexistent/cc";
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_TOOL_MISSING);
    options.compiler = NULL;
    slw_backend_vtable other = *slw_backend_find("host");
    other.abi++;
    options.backend_impl = &other;
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_USAGE);
    other.abi--;
    other.stage_count = 0;
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_USAGE);
    options.backend_impl = NULL;

    slw_store_options pypto = SLW_STORE_OPTIONS_INIT;
    slw_store *store = NULL;
    pypto.root = slt_path(world.scratch, "pypto", NULL);
    pypto.domain = SLW_DOMAIN_PYPTO;
    slt_ok(slw_store_open(&pypto, &store, &world.err), &world.err);
    options.store = store;
    ck_code(slw_compiler_open(&options, &out, &world.err), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "BAD_DOMAIN");
    slw_store_close(&store);
    ck_assert_ptr_null(out);
    slw_compiler_close(NULL);
    slw_compiler_close(&out);
    ck_assert_ptr_null(slw_compiler_path(NULL));
    ck_assert_ptr_null(slw_compiler_identity(NULL));
}
END_TEST

START_TEST(compile_errors_have_their_words) {
    slw_source source = source_of("int fine;\nint broken = ;\n");
    source.name = "broken.c";
    slw_cached *cached = NULL;
    ck_code(compile_with(&source, NULL, &cached), SLW_E_COMPILE_FAILED);
    ck_assert_ptr_null(cached);
    ck_assert_str_eq(world.err.phase, "compile");
    ck_assert_uint_eq(world.err.line, 2);
    ck_assert_uint_eq(world.err.present & SLW_ERROR_HAS_OFFSET, 0); /* a compiler names none */
    ck_assert_str_eq(world.err.path, "broken.c");
    ck_assert_ptr_nonnull(strstr(words, "broken.c:2:"));
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_STAGE, 0)->outcome, "FAILED");
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 0)->outcome, "FAILED");
    ck_assert_uint_eq(report.build_ns, 0);
    /* And nothing stays behind. */
    slt_shell("test -z \"$(ls -A '%s')\"", world.private_root);
    source.path = slt_path(world.scratch, "nosuch.c", NULL);
    source.text = (slw_bytes){NULL, 0};
    ck_code(compile_with(&source, NULL, &cached), SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(world.err.subject, source.path);
    ck_assert_str_eq(world.err.raw_name, "ENOENT");
    ck_assert_int_eq(world.err.code, SLW_E_INVALID_SOURCE);
}
END_TEST

START_TEST(a_header_outside_stays_private_and_is_named) {
    const char *header = slt_path(world.scratch, "outside.h", NULL);
    slt_write_file(header, "#define X 1\n", 12, 0644);
    char text[4096];
    (void)snprintf(text, sizeof text, "#include \"%s\"\n%s", header, kernel_text);
    const slw_source source = source_of(text);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PRIVATE);
    ck_assert_msg(strstr(report.reason, header) != NULL, "%s", report.reason);
    ck_assert_int_eq(report.failure, SLW_FAILURE_NONE);
    ck_assert_int_eq(slw_cached_is_private(cached), 1);
    launch_and_check(cached);
    /* Below a declared root it is in the key. */
    slw_source inside =
        source_of("#include \"outside.h\"\nint y = X;\n#include <slipway/host_kernel.h>\n"
                  "SLW_HOST_KERNEL(k);\nvoid k(const slw_host_block *b, void *const *a) { (void)b; (void)a; }\n");
    const char *include = slt_path(world.scratch, "include", NULL);
    slt_shell("mkdir '%s' && mv '%s' '%s'", include, header, include);
    const char *roots[1] = {include};
    inside.include_roots = roots;
    inside.include_root_count = 1;
    cached = compile_ok(&inside, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    cached = compile_ok(&inside, NULL, SLW_HIT);
    slw_cached_discard(&cached);
    /* An edited header is another key, and no changed toolchain. */
    slt_write_file(slt_path(include, "outside.h", NULL), "#define X 2\n", 12, 0644);
    cached = compile_ok(&inside, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(unknown_options_stay_private_and_are_named) {
    const slw_source source = source_of(kernel_text);
    const char *flags[1] = {"-fplugin=nosuch.so"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.flags = flags;
    options.flag_count = 1;
    slw_cached *cached = NULL;
    const slw_code rc = compile_with(&source, &options, &cached);
    /* The compiler itself says no to this one; a harmless one is built and named. */
    ck_assert_int_eq(rc, SLW_E_COMPILE_FAILED);
    flags[0] = "-frandom-seed=mine";
    cached = compile_ok(&source, &options, SLW_PRIVATE);
    ck_assert_msg(strstr(report.reason, "-frandom-seed=mine") != NULL, "%s", report.reason);
    ck_assert_ptr_null(slw_cached_key(cached)); /* a key that does not hold the option would be a lie */
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(options_are_in_the_key) {
    const slw_source source = source_of(kernel_text);
    const char *flags[1] = {"-O1"};
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.flags = flags;
    options.flag_count = 1;
    slw_cached *cached = compile_ok(&source, &options, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    flags[0] = "-O2";
    cached = compile_ok(&source, &options, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    flags[0] = "-O1";
    cached = compile_ok(&source, &options, SLW_HIT);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(always_compile_and_dump) {
    const slw_source source = source_of(kernel_text);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.always_compile = 1;
    for (int i = 0; i < 2; i++) {
        slw_cached *cached = compile_ok(&source, &options, SLW_PRIVATE);
        ck_assert_str_eq(report.reason, "ALWAYS_COMPILE");
        ck_assert_ptr_nonnull(slw_cached_key(cached));
        slw_cached_discard(&cached);
    }
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_LOOKUP, 0));
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_COMPILE, 1)->outcome, "PRIVATE");
    options.always_compile = 0;
    options.dump_directory = slt_path(world.scratch, "dump", "deeper", NULL);
    slw_cached *cached = compile_ok(&source, &options, SLW_PRIVATE);
    ck_assert_str_eq(report.reason, "DUMP");
    slt_shell("cmp '%s/kernel.o' '%s/kernel.o' && cmp '%s/kernel.so' '%s/kernel.so'", options.dump_directory,
              report.private_directory, options.dump_directory, report.private_directory);
    char directory[512];
    kit_copy(directory, sizeof directory, report.private_directory);
    slw_cached_discard(&cached);
    slt_shell("test -d '%s'", directory); /* the report's too */
    slw_build_report_release(&report);
    slt_shell("test ! -e '%s'", directory);
    ck_assert_int_eq(chdir(world.scratch), 0);
    options.dump_directory = "relative/dump";
    cached = compile_ok(&source, &options, SLW_PRIVATE);
    slt_shell("test -s '%s/relative/dump/kernel.so'", world.scratch);
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(overrides_are_in_the_key) {
    const slw_source source = source_of(kernel_text);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.dump_directory = slt_path(world.scratch, "dump", NULL);
    slw_cached *cached = compile_ok(&source, &options, SLW_PRIVATE);
    slw_cached_discard(&cached);
    const char *object = slt_path(world.scratch, "dump", "kernel.o", NULL);
    options.dump_directory = NULL;
    options.override_stage = "object";
    options.override_path = object;
    cached = compile_ok(&source, &options, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    cached = compile_ok(&source, &options, SLW_HIT);
    launch_and_check(cached);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED); /* without it: another key */
    slw_cached_discard(&cached);
}
END_TEST

START_TEST(timeouts_and_cancellation) {
    /* A source that takes long: a deep template of macros. */
    static const char slow[] =
        "#define A(x) x x x x x x x x\n#define B(x) A(x) A(x) A(x) A(x)\n#define C(x) B(x) B(x) B(x) B(x)\n"
        "#define D(x) C(x) C(x) C(x) C(x)\n#define E(x) D(x) D(x) D(x) D(x)\n#define F(x) E(x) E(x) E(x) E(x)\n"
        "int f(int a) { F(F(a++;)) return a; }\n";
    const slw_source source = source_of(slow);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slw_cached *cached = NULL;
    options.timeout_ns = 300000000;
    const uint64_t start = slwi_now_ns();
    ck_code(compile_with(&source, &options, &cached), SLW_E_TIMEOUT);
    ck_assert_uint_lt(slwi_now_ns() - start, 60000000000u);
    ck_assert_ptr_null(cached);
    slt_shell("test -z \"$(ls -A '%s')\"", world.private_root);
    options.timeout_ns = 0;
    slt_ok(slw_cancel_create(NULL, &options.cancel, &world.err), &world.err);
    slw_cancel_request(options.cancel);
    ck_code(compile_with(&source, &options, &cached), SLW_E_CANCELLED);
    slw_cancel_release(&options.cancel);
}
END_TEST

static void *cancel_soon(void *token) {
    const slwi_os *os = slwi_os_real();
    os->sleep_ns(os, 200000000);
    slw_cancel_request(token);
    return NULL;
}

/* The request's own token also ends the wait for the key's lock, which somebody else holds. */
START_TEST(cancellation_reaches_the_wait_for_the_lock) {
    const slw_source source = source_of(kernel_text);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    char lock[512];
    snprintf(lock, sizeof lock, "%s/locks/%s.lock", world.root, slw_key_digest(slw_cached_key(cached)));
    slw_cached_discard(&cached);
    slt_shell("rm -r '%s/artifacts'", world.root);
    const int fd = open(lock, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);

    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    slt_ok(slw_cancel_create(NULL, &options.cancel, &world.err), &world.err);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, options.cancel), 0);
    const uint64_t start = slwi_now_ns();
    ck_code(compile_with(&source, &options, &cached), SLW_E_CANCELLED);
    ck_assert_ptr_null(cached);
    ck_assert_uint_lt(slwi_now_ns() - start, 60000000000u); /* the lock's own deadline is far behind that */
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    slw_cancel_release(&options.cancel);
    close(fd);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
}
END_TEST

/* ---- identity
   ------------------------------------------------------------------------------------------------------- */

START_TEST(an_unusable_identity_stays_private) {
    static const char script[] = "#!/bin/sh\nexec /usr/bin/gcc \"$@\"\n";
    slt_write_file(slt_path(world.scratch, "cc", NULL), script, sizeof script - 1, 0755);
    slw_compiler_close(&compiler);
    open_compiler(slt_path(world.scratch, "cc", NULL), NULL, NULL);
    const slw_source source = source_of(kernel_text);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PRIVATE);
    ck_assert_int_eq(strncmp(report.reason, "IDENTITY_UNUSABLE compiler:", 27), 0);
    ck_assert_int_eq(report.failure, SLW_FAILURE_NONE);
    ck_assert_ptr_null(slw_cached_key(cached));
    ck_assert_int_eq(slw_cached_is_private(cached), 1);
    slt_shell("test \"$(ls '%s/artifacts' | wc -l)\" = 1", world.root); /* the kit's own entry, and nothing else */
    launch_and_check(cached);
}
END_TEST

/* A host backend whose first stage is watched: something happens while it runs. */
static slw_backend_vtable watched;
static slw_code (*real_run)(void *, size_t, const slw_stage_context *, slw_error *);
static char change_command[1024];
static int runs;

static slw_code watched_run(void *job, size_t index, const slw_stage_context *context, slw_error *err) {
    const slw_code rc = real_run(job, index, context, err);
    if (index == 0 && change_command[0] != '\0') slt_shell("%s", change_command);
    if (index == 0) runs++;
    return rc;
}

static void watch(void) {
    watched = *slw_backend_find("host");
    real_run = watched.job_run;
    watched.job_run = watched_run;
}

START_TEST(pitfall_03_toolchain_replaced_during_the_build) {
    watch();
    const char *bin = slt_path(world.scratch, "tools", "bin", NULL);
    slt_shell("mkdir -p '%s' '%s/../lib' && cp \"$(readlink -f /usr/bin/gcc)\" '%s/gcc' && ln -s /usr/lib/gcc "
              "'%s/../lib/gcc'",
              bin, bin, bin, bin);
    open_compiler(NULL, bin, &watched);
    slt_ok(slw_identity_usable(slw_compiler_identity(compiler), &world.err), &world.err);
    char before[SLW_DIGEST_TEXT_SIZE] = "";
    const slw_source source = source_of(kernel_text);
    /* The tools are upgraded while the build runs: what was made is of nobody knows which. */
    (void)snprintf(change_command, sizeof change_command,
                   "cp '%s/gcc' '%s/new' && printf x >> '%s/new' && mv '%s/new' '%s/gcc'", bin, bin, bin, bin, bin);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PRIVATE);
    ck_assert_msg(strstr(report.reason, "TOOLCHAIN_CHANGED") != NULL, "%s", report.reason);
    kit_copy(before, sizeof before, slw_key_digest(slw_cached_key(cached)));
    ck_assert_int_eq(slw_cached_is_private(cached), 1);
    slw_cached_discard(&cached);
    /* The snapshot is dropped: the next compile takes a new one and publishes under another key. */
    change_command[0] = '\0';
    const slw_identity *old = slw_compiler_identity(compiler);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    ck_assert_str_ne(slw_key_digest(slw_cached_key(cached)), before);
    ck_assert_ptr_ne(slw_compiler_identity(compiler), old);
    ck_assert_int_ne(slw_identity_recheck(old, &world.err), SLW_OK); /* and the old one is still there to be asked */
    slw_cached_discard(&cached);
    cached = compile_ok(&source, NULL, SLW_HIT);
    slw_cached_discard(&cached);
    ck_assert_int_eq(runs, 2);
}
END_TEST

START_TEST(pitfall_04_header_edited_during_the_build) {
    watch();
    open_compiler("/usr/bin/gcc", NULL, &watched);
    const char *include = slt_path(world.scratch, "include", NULL);
    slt_shell("mkdir '%s' && echo '#define X 1' > '%s/x.h'", include, include);
    char text[4096];
    (void)snprintf(text, sizeof text, "#include \"x.h\"\n%s", kernel_text);
    slw_source source = source_of(text);
    const char *roots[1] = {include};
    source.include_roots = roots;
    source.include_root_count = 1;
    (void)snprintf(change_command, sizeof change_command, "echo '#define X 22' > '%s/x.h'", include);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PRIVATE);
    slw_cached_discard(&cached);
    change_command[0] = '\0';
    const slw_identity *identity = slw_compiler_identity(compiler);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    ck_assert_ptr_eq(slw_compiler_identity(compiler), identity); /* the toolchain was not to blame */
    slw_cached_discard(&cached);
}
END_TEST

/* ---- slipway.json
   --------------------------------------------------------------------------------------------------- */

START_TEST(the_document_tells_everything) {
    const slw_source source = source_of(kernel_text);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    char *text = slt_read_file(slt_path(slw_cached_directory(cached), "slipway.json", NULL), NULL);
    char expected[512];
    (void)snprintf(expected, sizeof expected, "\"source\":\"%s\",\"specialization\":\"%s\"}",
                   slw_key_source(slw_cached_key(cached)), slw_key_specialization(slw_cached_key(cached)));
    ck_assert_ptr_nonnull(strstr(text, expected));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"kernel.c\",\"record\":{\"environment\":{"));
    ck_assert_ptr_nonnull(strstr(text, "\"compiler\":\"/usr/bin/gcc\""));
    for (size_t i = 0; i < slw_key_component_count(slw_cached_key(cached)); i++) {
        const slw_component component = slw_key_component(slw_cached_key(cached), i);
        (void)snprintf(expected, sizeof expected, "{\"digest\":\"%s\",\"inventory\":[{", component.digest);
        ck_assert_ptr_nonnull(strstr(text, expected));
        (void)snprintf(expected, sizeof expected, "}],\"left_out\":0,\"name\":\"%s\"}", component.name);
        ck_assert_ptr_nonnull(strstr(text, expected));
    }
    ck_assert_ptr_nonnull(strstr(text, "\"kind\":\"program\",\"name\":\"/usr/bin/as\"}"));
    ck_assert_ptr_nonnull(strstr(text, "{\"kind\":\"environment\",\"name\":\"LC_ALL\",\"value\":\"C\"}"));
    ck_assert_ptr_nonnull(strstr(text, "\"kind\":\"tree\",\"name\":\"/usr/include\"}"));
    ck_assert_int_eq(strncmp(text, "{\"backend\":\"host\",\"contract\":{", 30), 0);
    free(text);
    slw_cached_discard(&cached);
}
END_TEST

/* A record as the document keeps it, read again. */
static void check_kept_record(const char *text, const char *member, const char *end, const char *digest) {
    char begin[32], found[SLW_DIGEST_TEXT_SIZE];
    (void)snprintf(begin, sizeof begin, "\"%s\":{\"t\":\"dict\"", member);
    const char *at = strstr(text, begin);
    ck_assert_msg(at != NULL, "%s in %s", member, text);
    at += strlen(member) + 3;
    const char *last = strstr(at, end);
    ck_assert_ptr_nonnull(last);
    slw_record *record = NULL;
    slw_digest sha256;
    slt_ok(slw_record_parse(NULL, (slw_bytes){at, (size_t)(last - at)}, &record, &world.err), &world.err);
    slt_ok(slw_record_digest(record, NULL, &sha256, &world.err), &world.err);
    slw_digest_format(&sha256, found);
    ck_assert_str_eq(found, digest);
    slw_record_release(&record);
}

/* What the key's two digests are of stands in the document. */
START_TEST(the_document_keeps_what_the_key_was_made_of) {
    const char *flags[] = {"-O1", "-DX=\"a b\""};
    const slw_source source = source_of(kernel_text);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.flags = flags;
    options.flag_count = 2;
    slw_cached *cached = compile_ok(&source, &options, SLW_PUBLISHED);
    char *text = slt_read_file(slt_path(slw_cached_directory(cached), "slipway.json", NULL), NULL);
    check_kept_record(text, "options", ",\"source\":", slw_key_specialization(slw_cached_key(cached)));
    check_kept_record(text, "source", "},\"name\":", slw_key_source(slw_cached_key(cached)));
    ck_assert_ptr_nonnull(strstr(text, "\"inputs\":{\"lowered\":null,\"options\":"));
    free(text);
    slw_cached_discard(&cached);
}
END_TEST

/* Two compilers on two stores make the same bytes: nothing of the machine's directories is in them. */
START_TEST(builds_are_reproducible) {
    const slw_source source = source_of(kernel_text);
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    options.always_compile = 1;
    slw_cached *cached = compile_ok(&source, &options, SLW_PRIVATE);
    char first[512];
    (void)snprintf(first, sizeof first, "%s/first", world.scratch);
    slt_ok(slw_cached_materialize(cached, first, &world.err), &world.err);
    slw_cached_discard(&cached);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    slt_shell("cd '%s' && for f in *; do cmp $f '%s'/$f || exit 1; done", first, slw_cached_directory(cached));
    slw_cached_discard(&cached);
}
END_TEST

/* ---- failing allocations
   -------------------------------------------------------------------------------------------- */

START_TEST(no_memory_on_a_hit) {
    const slw_source source = source_of(kernel_text);
    slw_cached *cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    slw_build_report_release(&report);
    const uint64_t blocks = world.heap.live_blocks;
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = compile_with(&source, NULL, &cached);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        if (rc != SLW_OK) {
            ck_code(rc, SLW_E_NO_MEMORY);
            ck_assert_ptr_null(cached);
            ck_assert_ptr_null(report.owned_);
        }
        slw_cached_discard(&cached);
        ck_assert_uint_eq(world.heap.live_blocks, blocks);
        if (!met) break;
        ck_assert_uint_lt(n, 2000);
    }
}
END_TEST

/* Cold, each time another source, and every 29th allocation: a build is not cheap. What cannot be published for want of
   memory may be PRIVATE, since a usable build is never lost; everything else is NO_MEMORY. */
START_TEST(no_memory_on_a_miss) {
    slw_cached *cached = NULL;
    char text[2048];
    (void)snprintf(text, sizeof text, "/* warm */\n%s", kernel_text);
    slw_source source = source_of(text);
    cached = compile_ok(&source, NULL, SLW_PUBLISHED);
    slw_cached_discard(&cached);
    slw_build_report_release(&report);
    const uint64_t blocks = world.heap.live_blocks;
    for (uint64_t n = 1;; n += 29) {
        (void)snprintf(text, sizeof text, "/* %u */\n%s", (unsigned)n, kernel_text);
        source = source_of(text);
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = compile_with(&source, NULL, &cached);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        if (rc != SLW_OK) {
            ck_code(rc, SLW_E_NO_MEMORY);
            ck_assert_ptr_null(cached);
            ck_assert_ptr_null(report.owned_);
        }
        slw_cached_discard(&cached);
        slw_build_report_release(&report);
        ck_assert_msg(world.heap.live_blocks == blocks, "allocation %u: %u blocks, not %u", (unsigned)n,
                      (unsigned)world.heap.live_blocks, (unsigned)blocks);
        slt_shell("test -z \"$(ls -A '%s')\"", world.private_root);
        if (!met) break;
        ck_assert_uint_lt(n, 20000);
    }
}
END_TEST

START_TEST(no_memory_while_opening) {
    const uint64_t blocks = world.heap.live_blocks;
    for (uint64_t n = 1; n < 12; n++) {
        slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
        options.allocator = world.heap.allocator;
        options.store = world.store;
        options.compiler = "/usr/bin/gcc";
        options.search_path = "/usr/bin";
        options.temporary_root = "/tmp";
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        ck_code(slw_compiler_open(&options, &compiler, &world.err), SLW_E_NO_MEMORY);
        world.heap.fail_at = 0;
        ck_assert_ptr_null(compiler);
        ck_assert_uint_eq(world.heap.live_blocks, blocks);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle compile");
    TCase *c = tcase_create("compile");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, cold_then_hot);
    tcase_add_test(c, by_path_and_by_text_are_two_names_of_one_text);
    tcase_add_test(c, usage);
    tcase_add_test(c, open_usage);
    tcase_add_test(c, kinds_of_sources);
    tcase_add_test(c, a_backend_is_chosen);
    tcase_add_test(c, backends_are_registered_once_and_for_good);
    tcase_add_test(c, compile_errors_have_their_words);
    tcase_add_test(c, a_header_outside_stays_private_and_is_named);
    tcase_add_test(c, unknown_options_stay_private_and_are_named);
    tcase_add_test(c, options_are_in_the_key);
    tcase_add_test(c, always_compile_and_dump);
    tcase_add_test(c, overrides_are_in_the_key);
    tcase_add_test(c, timeouts_and_cancellation);
    tcase_add_test(c, cancellation_reaches_the_wait_for_the_lock);
    tcase_add_test(c, an_unusable_identity_stays_private);
    tcase_add_test(c, the_document_tells_everything);
    tcase_add_test(c, the_document_keeps_what_the_key_was_made_of);
    tcase_add_test(c, builds_are_reproducible);
    tcase_add_test(c, no_memory_on_a_hit);
    tcase_add_test(c, no_memory_on_a_miss);
    suite_add_tcase(suite, c);
    TCase *o = tcase_create("opening");
    tcase_set_timeout(o, 300);
    tcase_add_checked_fixture(o, setup_closed, teardown);
    tcase_add_test(o, pitfall_03_toolchain_replaced_during_the_build);
    tcase_add_test(o, pitfall_04_header_edited_during_the_build);
    tcase_add_test(o, no_memory_while_opening);
    suite_add_tcase(suite, o);
    if (access("/usr/bin/gcc", X_OK) != 0) {
        slt_skip("lifecycle compile", "no /usr/bin/gcc");
        return EXIT_SUCCESS;
    }
    const char *base = getenv("TMPDIR");
    (void)snprintf(memo_directory, sizeof memo_directory, "%s/slipway-memo-XXXXXX",
                   base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo_directory) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", memo_directory);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
