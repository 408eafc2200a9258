/* What the tests of explaining and of lowered sources share: a compiler over the kit's store, with a component of the
 * toolchain's identity that a test may change without touching the machine's own files. */
#ifndef LIFECYCLE_EXPLAIN_KIT_H
#define LIFECYCLE_EXPLAIN_KIT_H

#include "kit.h"

#include <unistd.h>

#include "backends.h"

static const char kernel_text[] KIT_UNUSED =
    "#include <slipway/host_kernel.h>\n"
    "#ifndef X\n#define X 1\n#endif\n"
    "SLW_HOST_KERNEL(add, SLW_HOST_PARAM(uint32_t *, sum));\n"
    "void add(const slw_host_block *block, void *const *args) { (void)block; *SLW_HOST_ARG(uint32_t *, args, 0) += X; "
    "}\n";

/* Shared by the tests, which are processes: the first one fills it. */
static char memo_directory[256];
static kit world;
static slw_memo *memo;
static slw_compiler *compiler;
static char words[65536];

#define ck_code(call, expected)                                                                                        \
    ck_assert_msg((call) == (expected), "%s: %s %s", #call, slw_code_name(world.err.code), world.err.message)

/* ---- the host's backend with more in its toolchain
   ------------------------------------------------------------------ */

/* What the component `device_library` is made of; NULL: not a part of it. */
typedef struct extra_parts {
    const char *file, *tree, *program, *claim, *digest;
    const char *variable; /* "=" first: set to what follows; "": unset */
} extra_parts;
static extra_parts extra;
static const char *option_target; /* what the option record says as its target; NULL: the host's own */
static slw_backend_vtable wrapped;

static slw_code declare_extra(slw_identity *identity, slw_error *err) {
    static const char name[] = "device_library";
    slw_digest digest;
    slw_code rc = slw_identity_component(identity, name, err);
    if (rc == SLW_OK) rc = slw_identity_add_environment(identity, name, "ALWAYS", "there", err);
    if (rc == SLW_OK && extra.file != NULL) rc = slw_identity_add_file(identity, name, extra.file, err);
    if (rc == SLW_OK && extra.tree != NULL) rc = slw_identity_add_tree(identity, name, extra.tree, 1, err);
    if (rc == SLW_OK && extra.program != NULL) rc = slw_identity_add_program(identity, name, extra.program, err);
    if (rc == SLW_OK && extra.claim != NULL)
        rc = slw_identity_add_claim(identity, name, "version", (slw_bytes){extra.claim, strlen(extra.claim)}, err);
    if (rc == SLW_OK && extra.variable != NULL)
        rc = slw_identity_add_environment(identity, name, "CUDA_FLAGS",
                                          extra.variable[0] == '=' ? extra.variable + 1 : NULL, err);
    if (extra.digest != NULL) slw_sha256((slw_bytes){extra.digest, strlen(extra.digest)}, &digest);
    if (rc == SLW_OK && extra.digest != NULL) rc = slw_identity_add_digest(identity, name, "rules", &digest, err);
    return rc == SLW_OK ? slw_identity_prove(identity, name, err) : rc;
}

static slw_code open_wrapped(const slw_toolchain_request *request, void **toolchain, slw_error *err) {
    const slw_code rc = declare_extra(request->identity, err);
    return rc == SLW_OK ? slw_backend_find("host")->toolchain_open(request, toolchain, err) : rc;
}

static slw_code wrapped_option_record(void *job, slw_record **out, slw_error *err) {
    slw_record *record = NULL, *inner = NULL, *target = NULL;
    slw_code rc = slw_backend_find("host")->job_option_record(job, &inner, err);
    if (rc != SLW_OK || option_target == NULL) {
        *out = inner;
        return rc;
    }
    rc = slw_record_dict(NULL, &record, err);
    if (rc == SLW_OK) rc = slw_record_string(NULL, (slw_bytes){option_target, strlen(option_target)}, &target, err);
    if (rc == SLW_OK) rc = slw_record_set(record, (slw_bytes){"target", 6}, &target, err);
    if (rc == SLW_OK) rc = slw_record_set(record, (slw_bytes){"host", 4}, &inner, err);
    if (rc == SLW_OK) *out = record;
    return rc;
}

KIT_UNUSED static void use_wrapped(void) {
    wrapped = *slw_backend_find("host");
    wrapped.toolchain_open = open_wrapped;
    wrapped.job_option_record = wrapped_option_record;
}

KIT_UNUSED static void open_compiler(const char *path, const slw_backend_vtable *backend) {
    slw_compiler_options options = SLW_COMPILER_OPTIONS_INIT;
    options.allocator = world.heap.allocator;
    options.store = world.store;
    options.compiler = path;
    options.memo = memo;
    options.backend_impl = backend;
    slt_ok(slw_compiler_open(&options, &compiler, &world.err), &world.err);
}

KIT_UNUSED static void setup_closed(void) {
    memset(&world, 0, sizeof world);
    memset(&extra, 0, sizeof extra);
    option_target = NULL;
    kit_open(&world);
    world.err.diagnostics = words;
    world.err.diagnostics_capacity = sizeof words;
    slw_memo_options options = SLW_MEMO_OPTIONS_INIT;
    options.directory = memo_directory;
    slt_ok(slw_memo_open(&options, &memo, &world.err), &world.err);
    use_wrapped();
}

KIT_UNUSED static void setup(void) {
    setup_closed();
    open_compiler("/usr/bin/gcc", NULL);
}

KIT_UNUSED static void teardown(void) {
    slw_compiler_close(&compiler);
    slw_memo_close(&memo);
    kit_close(&world);
}

/* Compiles and gives the key, which lives until the next call; NULL: private. */
KIT_UNUSED static const char *compile_key(const slw_source *source, const slw_compile_options *options,
                                          slw_disposition disposition) {
    static char key[SLW_DIGEST_TEXT_SIZE];
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    const slw_code rc = slw_compile(compiler, source, options, &report, &cached, &world.err);
    ck_assert_msg(rc == SLW_OK, "%s %s\n%s", slw_code_name(rc), world.err.message, words);
    ck_assert_msg(report.disposition == disposition, "%s: %s", slw_disposition_name(report.disposition), report.reason);
    const slw_key *made = slw_cached_key(cached);
    if (made != NULL) kit_copy(key, sizeof key, slw_key_digest(made));
    slw_cached_discard(&cached);
    slw_build_report_release(&report);
    return made != NULL ? key : NULL;
}

/* Runs the suite with a fresh memo. */
KIT_UNUSED static int explain_main(Suite *suite) {
    const char *base = getenv("TMPDIR");
    if (access("/usr/bin/gcc", X_OK) != 0) {
        slt_skip("compiling", "no /usr/bin/gcc");
        return EXIT_SUCCESS;
    }
    (void)snprintf(memo_directory, sizeof memo_directory, "%s/slipway-memo-XXXXXX",
                   base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo_directory) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", memo_directory);
    return system(command) == 0 ? status : EXIT_FAILURE;
}

#endif
