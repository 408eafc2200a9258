/* Why a request is no hit: every input, changed alone, is the one field that is named, with its old and its new
 * value. */
#include "explain_kit.h"

#include <pthread.h>

#include "process.h"

/* ---- requests, and what is said of them
   ----------------------------------------------------------------------------- */

#define MOST 400

/* One request, as the rows of the table change it. */
typedef struct request {
    slw_source source;
    slw_compile_options options;
    const char *roots[4];
    const char *flags[MOST];
    char a[300], b[300], override[300], tool[300], device[300];
} request;

static request base_request(void) {
    request r;
    memset(&r, 0, sizeof r);
    r.source = (slw_source)SLW_SOURCE_INIT;
    r.options = (slw_compile_options)SLW_COMPILE_OPTIONS_INIT;
    r.source.text = (slw_bytes){kernel_text, sizeof kernel_text - 1};
    r.source.name = "kernel.c";
    (void)snprintf(r.a, sizeof r.a, "%s/a", world.scratch);
    (void)snprintf(r.b, sizeof r.b, "%s/b", world.scratch);
    (void)snprintf(r.override, sizeof r.override, "%s/kernel.o", world.scratch);
    (void)snprintf(r.tool, sizeof r.tool, "%s/tool", world.scratch);
    (void)snprintf(r.device, sizeof r.device, "%s/device", world.scratch);
    return r;
}

/* The lists lie in the request itself, which must not have moved. */
static void settle(request *r) {
    r->source.include_roots = r->roots;
    r->options.flags = r->flags;
    for (r->source.include_root_count = 0; r->roots[r->source.include_root_count] != NULL;)
        r->source.include_root_count++;
    for (r->options.flag_count = 0; r->flags[r->options.flag_count] != NULL;) r->options.flag_count++;
}

static slw_explanation *explain(request *r, const slw_explain_options *how) {
    slw_explanation *explanation = NULL;
    settle(r);
    slt_ok(slw_explain(compiler, &r->source, &r->options, how, &explanation, &world.err), &world.err);
    ck_assert_ptr_nonnull(explanation);
    return explanation;
}

static slw_near_entry entry_of(const slw_explanation *explanation, size_t index) {
    slw_near_entry entry = SLW_NEAR_ENTRY_INIT;
    ck_assert_int_eq(slw_explanation_entry(explanation, index, &entry), 1);
    return entry;
}

/* All the differences of an entry as one text, for messages and for looking through. */
static const char *told(const slw_explanation *explanation, size_t index) {
    static char text[65536];
    const slw_near_entry entry = entry_of(explanation, index);
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < entry.differences && size < sizeof text - 4096; i++) {
        slw_difference d = SLW_DIFFERENCE_INIT;
        ck_assert_int_eq(slw_explanation_difference(explanation, index, i, &d), 1);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s: %s -> %s\n", d.field,
                                 d.old_value != NULL ? d.old_value : "(null)",
                                 d.new_value != NULL ? d.new_value : "(null)");
    }
    return text;
}

/* ---- one row for every input
   ------------------------------------------------------------------------------------------ */

static void nothing(request *r) {
    (void)r;
}
static void other_text(request *r) {
    r->source.text = (slw_bytes){kernel_text, sizeof kernel_text - 2};
}
static void other_name(request *r) {
    r->source.name = "other.c";
}
static void one_root(request *r) {
    slt_shell("mkdir -p '%s' && echo 1 > '%s/x.h'", r->a, r->a);
    r->roots[0] = r->a;
}
static void root_edited(request *r) {
    one_root(r);
    slt_shell("echo 2 > '%s/x.h'", r->a);
}
static void root_emptied(request *r) {
    one_root(r);
    slt_shell("rm -r '%s'", r->a);
}
static void two_roots(request *r) {
    one_root(r);
    slt_shell("mkdir -p '%s' && echo 3 > '%s/y.h'", r->b, r->b);
    r->roots[1] = r->b;
}
static void roots_swapped(request *r) {
    two_roots(r);
    r->roots[0] = r->b;
    r->roots[1] = r->a;
}
static void three_flags(request *r) {
    r->flags[0] = "-DX=1";
    r->flags[1] = "-O1";
    r->flags[2] = "-DZ";
}
static void flag_changed(request *r) {
    three_flags(r);
    r->flags[0] = "-DX=2";
}
static void flag_added(request *r) {
    three_flags(r);
    r->flags[3] = "-DW";
}
static void flag_added_first(request *r) {
    three_flags(r);
    memmove(r->flags + 1, r->flags, 3 * sizeof *r->flags);
    r->flags[0] = "-DW";
}
static void flag_removed(request *r) {
    r->flags[0] = "-DX=1";
    r->flags[1] = "-DZ";
}
static void flags_swapped(request *r) {
    three_flags(r);
    r->flags[0] = "-DZ";
    r->flags[2] = "-DX=1";
}
static void overridden(request *r) {
    if (access(r->override, R_OK) != 0)
        slt_shell("printf '#include <stdint.h>\\n' > '%s.c' && cat >> '%s.c' <<'END'\n%s\nEND\n"
                  "gcc -Iinclude -fPIC -c -o '%s' '%s.c'",
                  r->override, r->override, kernel_text, r->override, r->override);
    r->options.override_stage = "object";
    r->options.override_path = r->override;
}
static void override_edited(request *r) {
    overridden(r);
    slt_shell("gcc -Iinclude -DX=5 -fPIC -c -o '%s' '%s.c'", r->override, r->override);
}
static void binary_only(request *r) {
    r->options.store_binary_only = 1;
}
static void target_90(request *r) {
    (void)r;
    option_target = "sm_90";
}
static void target_90a(request *r) {
    (void)r;
    option_target = "sm_90a";
}
static void variable_unset(request *r) {
    (void)r;
    extra.variable = "";
}
static void variable_empty(request *r) {
    (void)r;
    extra.variable = "=";
}
static void variable_one(request *r) {
    (void)r;
    extra.variable = "=-O1";
}
static void variable_two(request *r) {
    (void)r;
    extra.variable = "=-O2";
}
static void library(request *r) {
    slt_shell("mkdir -p '%s' && echo one > '%s/device.bc'", r->device, r->device);
    extra.file = slt_path(r->device, "device.bc", NULL);
}
static void library_edited(request *r) {
    library(r);
    slt_shell("echo two > '%s'", extra.file);
}
static void headers(request *r) {
    slt_shell("mkdir -p '%s/include/deep' && echo one > '%s/include/deep/x.h'", r->device, r->device);
    extra.tree = slt_path(r->device, "include", NULL);
}
static void headers_edited(request *r) {
    headers(r);
    slt_shell("echo two > '%s/include/deep/x.h'", r->device);
}
static void headers_absent(request *r) {
    headers(r);
    slt_shell("rm -r '%s/include'", r->device);
}
/* A tool and another one that says the same version. */
static void tool(request *r) {
    slt_shell("cp -p /usr/bin/env '%s'", r->tool);
    extra.program = r->tool;
    extra.claim = "tool 1.0";
}
static void tool_replaced(request *r) {
    tool(r);
    slt_shell("echo more >> '%s'", r->tool);
}
static void claim_raised(request *r) {
    tool(r);
    extra.claim = "tool 1.1";
}
static void rules(request *r) {
    (void)r;
    extra.digest = "one";
}
static void rules_changed(request *r) {
    (void)r;
    extra.digest = "two";
}

#define DIGEST "#"  /* any digest */
#define NONE   NULL /* not there */
#define ROOT_A "@a"
#define ROOT_B "@b"
#define A_TEXT "source.include_roots[0] @a"

/* "@a" and the like stand for the request's paths. */
static const struct row {
    void (*from)(request *r);
    void (*to)(request *r);
    struct {
        const char *field, *old_value, *new_value;
    } said[3];
} rows[] = {
    {nothing, other_text, {{"source.sha256", DIGEST, DIGEST}}},
    {nothing, other_name, {{"source.name", "kernel.c", "other.c"}}},
    {nothing, one_root, {{"source.include_roots[0]", NONE, "(@a, #)"}}},
    {one_root, root_edited, {{A_TEXT, DIGEST, DIGEST}}},
    {one_root, root_emptied, {{A_TEXT, DIGEST, DIGEST}}},
    {one_root, two_roots, {{"source.include_roots[1]", NONE, "(@b, #)"}}},
    {two_roots, one_root, {{"source.include_roots[1]", "(@b, #)", NONE}}},
    {two_roots,
     roots_swapped,
     {{"source.include_roots[0]", ROOT_A, ROOT_B}, {"source.include_roots[1]", ROOT_B, ROOT_A}}},
    {three_flags, flag_changed, {{"options.options[0]", "-DX=1", "-DX=2"}}},
    {three_flags, flag_added, {{"options.options[3]", NONE, "-DW"}}},
    {three_flags, flag_added_first, {{"options.options[0]", NONE, "-DW"}}},
    {three_flags, flag_removed, {{"options.options[1]", "-O1", NONE}}},
    {three_flags, flags_swapped, {{"options.options[0]", "-DX=1", "-DZ"}, {"options.options[2]", "-DZ", "-DX=1"}}},
    {nothing, overridden, {{"options.override", "none", "(object, #)"}}},
    {overridden, override_edited, {{"options.override object", DIGEST, DIGEST}}},
    {nothing, binary_only, {{"spec.required_files", "kernel.o, kernel.so, slipway.json", "kernel.so, slipway.json"}}},
    {target_90, target_90a, {{"options.target", "sm_90", "sm_90a"}}},
    {variable_one, variable_two, {{"device_library.CUDA_FLAGS", "-O1", "-O2"}}},
    {variable_unset, variable_empty, {{"device_library.CUDA_FLAGS", "unset", ""}}},
    {variable_one, nothing, {{"device_library.CUDA_FLAGS", "-O1", NONE}}},
    {library, library_edited, {{"device_library: @device/device.bc", DIGEST, DIGEST}}},
    {headers, headers_edited, {{"device_library: @device/include", DIGEST, DIGEST}}},
    {headers, headers_absent, {{"device_library: @device/include", DIGEST, "absent"}}},
    {headers_absent, headers, {{"device_library: @device/include", "absent", DIGEST}}},
    {tool, tool_replaced, {{"device_library: @tool", DIGEST, DIGEST}}},
    {tool, claim_raised, {{"device_library.version", "tool 1.0", "tool 1.1"}}},
    {rules, rules_changed, {{"device_library.rules", DIGEST, DIGEST}}},
};

/* Compares with "@name" and "#" filled in. */
static int is_said(const char *said, const char *expected, const request *r) {
    if (said == NULL || expected == NULL) return said == expected;
    while (*expected != '\0') {
        if (*expected == '#') {
            if (strspn(said, "0123456789abcdef") < 64) return 0;
            said += 64;
            expected++;
        } else if (*expected == '@') {
            const char *path = strncmp(expected, "@device", 7) == 0 ? r->device
                               : strncmp(expected, "@tool", 5) == 0 ? r->tool
                               : expected[1] == 'a'                 ? r->a
                                                                    : r->b;
            const size_t size = strlen(path);
            if (strncmp(said, path, size) != 0) return 0;
            said += size;
            expected += path == r->device ? 7 : path == r->tool ? 5 : 2;
        } else if (*said++ != *expected++) {
            return 0;
        }
    }
    return *said == '\0';
}

static void check_said(const slw_explanation *explanation, const struct row *row, const request *r) {
    const slw_near_entry entry = entry_of(explanation, 0);
    size_t count = 0;
    while (count < 3 && row->said[count].field != NULL) count++;
    ck_assert_msg(entry.differences == count && entry.left_out == 0, "%zu: %s", entry.differences,
                  told(explanation, 0));
    for (size_t i = 0; i < count; i++) {
        slw_difference d = SLW_DIFFERENCE_INIT;
        ck_assert_int_eq(slw_explanation_difference(explanation, 0, i, &d), 1);
        ck_assert_msg(is_said(d.field, row->said[i].field, r) && is_said(d.old_value, row->said[i].old_value, r) &&
                          is_said(d.new_value, row->said[i].new_value, r),
                      "%s", told(explanation, 0));
        if (row->said[i].old_value != NULL && row->said[i].new_value != NULL)
            ck_assert_str_ne(d.old_value, d.new_value);
    }
}

/* Each row is a request that is compiled and another that is not. */
START_TEST(each_input_is_the_one_that_is_named) {
    const struct row *row = &rows[_i];
    request r = base_request();
    row->from(&r);
    settle(&r);
    open_compiler("/usr/bin/gcc", &wrapped);
    char first[SLW_DIGEST_TEXT_SIZE];
    kit_copy(first, sizeof first, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_HIT);
    ck_assert_str_eq(slw_explanation_key(explanation), first);
    ck_assert_uint_eq(slw_explanation_count(explanation), 0);
    slw_explanation_release(&explanation);
    slw_compiler_close(&compiler);

    r = base_request();
    memset(&extra, 0, sizeof extra);
    option_target = NULL;
    row->to(&r);
    open_compiler("/usr/bin/gcc", &wrapped);
    const uint64_t processes = slwi_process_count();
    explanation = explain(&r, NULL);
    ck_assert_uint_eq(slwi_process_count(), processes);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
    ck_assert_ptr_null(slw_explanation_reason(explanation));
    const slw_near_entry entry = entry_of(explanation, 0);
    ck_assert_str_eq(entry.key, first);
    ck_assert_int_eq(strcmp(slw_explanation_key(explanation), first) == 0, row->to == binary_only);
    ck_assert_str_eq(entry.name, "kernel.c");
    ck_assert_str_eq(entry.backend, "host");
    ck_assert_str_eq(entry.state, "ready");
    check_said(explanation, row, &r);
    slw_explanation_release(&explanation);
}
END_TEST

/* The compiler itself: a copy of the real one by a path of its own, and then with one byte more. It says the same
   version before and after. */
START_TEST(a_compiler_that_says_the_same_version) {
    request r = base_request();
    char path[320];
    (void)snprintf(path, sizeof path, "%s/bin/gcc", world.scratch);
    slt_shell("mkdir '%s/bin' && ln -s /usr/lib /usr/libexec '%s' && cp \"$(readlink -f /usr/bin/gcc)\" '%s'",
              world.scratch, world.scratch, path);
    open_compiler(path, NULL);
    settle(&r);
    (void)compile_key(&r.source, &r.options, SLW_PUBLISHED);
    slw_compiler_close(&compiler);
    slt_shell("printf x >> '%s'", path);
    open_compiler(path, NULL);
    slw_explanation *explanation = explain(&r, NULL);
    slw_difference d = SLW_DIFFERENCE_INIT;
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
    ck_assert_msg(entry_of(explanation, 0).differences == 1, "%s", told(explanation, 0));
    ck_assert_int_eq(slw_explanation_difference(explanation, 0, 0, &d), 1);
    char field[340];
    (void)snprintf(field, sizeof field, "compiler: %s", path);
    ck_assert_str_eq(d.field, field);
    ck_assert_uint_eq(strlen(d.old_value), 64);
    ck_assert_uint_eq(strlen(d.new_value), 64);
    ck_assert_str_ne(d.old_value, d.new_value);
    slw_explanation_release(&explanation);

    /* Another one by its path: told as that, before all its files. */
    slw_compiler_close(&compiler);
    open_compiler("/usr/bin/gcc", NULL);
    explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_difference(explanation, 0, 0, &d), 1);
    ck_assert_str_eq(d.field, "toolchain.compiler");
    ck_assert_str_eq(d.old_value, path);
    ck_assert_str_eq(d.new_value, "/usr/bin/gcc");
    slw_explanation_release(&explanation);
}
END_TEST

/* What wrote the contract, where the backend's own identity differs. */
START_TEST(another_reader_revision) {
    request r = base_request();
    extra.digest = "one";
    open_compiler("/usr/bin/gcc", &wrapped);
    settle(&r);
    (void)compile_key(&r.source, &r.options, SLW_PUBLISHED);
    slw_compiler_close(&compiler);
    extra.digest = "two";
    wrapped.reader_revision += 1;
    open_compiler("/usr/bin/gcc", &wrapped);
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_ptr_nonnull(strstr(told(explanation, 0), "\nreader_revision: 1 -> 2\n"));
    slw_explanation_release(&explanation);
}
END_TEST

/* ---- lowered sources
   --------------------------------------------------------------------------------------------------- */

static slw_code lower(void *context, slw_text *out, slw_error *err) {
    (void)context;
    return slw_text_copy(NULL, (slw_bytes){kernel_text, sizeof kernel_text - 1}, out, err);
}

static void lowered_keys(const slw_record *constant, int is_second, char key[SLW_DIGEST_TEXT_SIZE]) {
    request r = base_request();
    slw_lowered_source lowered = SLW_LOWERED_SOURCE_INIT;
    slw_record *body = NULL;
    slt_ok(slw_record_string(NULL, (slw_bytes){"f", 1}, &body, &world.err), &world.err);
    const slw_named_record constants[] = {{"BLOCK", constant}, {"other", body}};
    lowered.language = "tiny 1";
    lowered.body = body;
    lowered.constants = constants;
    lowered.constant_count = 2;
    lowered.lower = lower;
    r.source.text = (slw_bytes){NULL, 0};
    r.source.lowered = &lowered;
    if (!is_second) {
        settle(&r);
        kit_copy(key, SLW_DIGEST_TEXT_SIZE, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    } else {
        slw_explanation *explanation = explain(&r, NULL);
        ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
        ck_assert_str_eq(entry_of(explanation, 0).key, key);
        ck_assert_str_eq(told(explanation, 0), "source.lowered.constants.BLOCK: int 1 -> str 1\n");
        slw_explanation_release(&explanation);
    }
    slw_record_release(&body);
}

/* The constants 1 and "1": two keys, and the difference is told. */
START_TEST(what_a_lowered_source_is_made_of_is_told) {
    slw_record *number = NULL, *text = NULL;
    char key[SLW_DIGEST_TEXT_SIZE];
    slt_ok(slw_record_int(NULL, 1, &number, &world.err), &world.err);
    slt_ok(slw_record_string(NULL, (slw_bytes){"1", 1}, &text, &world.err), &world.err);
    lowered_keys(number, 0, key);
    lowered_keys(text, 1, key);
    slw_record_release(&number);
    slw_record_release(&text);
}
END_TEST

/* ---- verdicts
   ---------------------------------------------------------------------------------------------------------- */

START_TEST(a_private_request_says_why) {
    request r = base_request();
    r.flags[0] = "-fplugin=x";
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_PRIVATE);
    ck_assert_ptr_nonnull(strstr(slw_explanation_reason(explanation), "-fplugin=x"));
    ck_assert_ptr_null(slw_explanation_key(explanation));
    ck_assert_ptr_nonnull(slw_explanation_spec(explanation));
    ck_assert_uint_eq(slw_explanation_count(explanation), 0);
    slw_explanation_release(&explanation);

    r = base_request();
    settle(&r);
    (void)compile_key(&r.source, &r.options, SLW_PUBLISHED);
    r.options.always_compile = 1;
    r.source.name = "other.c";
    explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_PRIVATE);
    ck_assert_str_eq(slw_explanation_reason(explanation), "ALWAYS_COMPILE");
    ck_assert_ptr_nonnull(slw_explanation_key(explanation));
    ck_assert_str_eq(told(explanation, 0), "source.name: kernel.c -> other.c\n");
    slw_explanation_release(&explanation);

    r = base_request();
    slt_shell("mkdir '%s' && ln -s nowhere '%s/x.h'", r.a, r.a);
    r.roots[0] = r.a;
    explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_PRIVATE);
    ck_assert_ptr_nonnull(strstr(slw_explanation_reason(explanation), r.a));
    ck_assert_ptr_null(slw_explanation_key(explanation));
    slw_explanation_release(&explanation);
}
END_TEST

static const char *slot_of(const slw_source *source, const slw_compile_options *options) {
    static char directory[1024];
    slw_cached *cached = NULL;
    slt_ok(slw_compile(compiler, source, options, NULL, &cached, &world.err), &world.err);
    kit_copy(directory, sizeof directory, slw_cached_directory(cached));
    slw_cached_discard(&cached);
    return directory;
}

/* Its own damaged entry is what the store says; another one's is skipped and counted, as is one that no compile
   made. */
START_TEST(damaged_and_foreign_entries_are_skipped) {
    request r = base_request();
    settle(&r);
    const char *slot = slot_of(&r.source, &r.options);
    slt_shell("chmod u+w '%s/kernel.so' && printf x >> '%s/kernel.so'", slot, slot);
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_INVALID);
    ck_assert_ptr_nonnull(slw_explanation_reason(explanation));
    slw_explanation_release(&explanation);

    r.source.name = "other.c";
    settle(&r);
    explanation = explain(&r, NULL);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
    ck_assert_uint_eq(slw_explanation_skipped(explanation), 1);
    ck_assert_uint_eq(slw_explanation_compared(explanation), 1); /* the kit's own */
    slw_explanation_release(&explanation);

    /* The same size and other bytes: the manifest's digest is looked at. */
    slot = slot_of(&r.source, &r.options);
    slt_shell("chmod u+w '%s/slipway.json' && sed -i s/other.c/OTHER.C/ '%s/slipway.json'", slot, slot);
    r.source.name = "third.c";
    explanation = explain(&r, NULL);
    ck_assert_uint_eq(slw_explanation_skipped(explanation), 2);
    ck_assert_uint_eq(slw_explanation_compared(explanation), 1);
    slw_explanation_release(&explanation);

    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    world.without_document = 1;
    slw_cached *cached = kit_build_entry(&world);
    slw_cached_discard(&cached);
    explanation = explain(&r, NULL);
    ck_assert_uint_eq(slw_explanation_skipped(explanation), 3);
    ck_assert_uint_eq(slw_explanation_compared(explanation), 1);
    slw_explanation_release(&explanation);
}
END_TEST

/* ---- which entries, and how much of them
   -------------------------------------------------------------------------------- */

/* The same name and backend first, then the fewest differences; as many as were asked for. */
START_TEST(the_nearest_come_first) {
    char keys[4][SLW_DIGEST_TEXT_SIZE];
    static const char *const names[] = {"other.c", "kernel.c", "kernel.c", "kernel.c"};
    for (int i = 0; i < 4; i++) {
        request r = base_request();
        static const char *const flags[] = {"-DP", "-DQ", "-DR", "-DS"};
        r.source.name = names[i];
        for (int j = 0; j < (i == 0 ? 1 : i); j++) r.flags[j] = flags[j];
        settle(&r);
        kit_copy(keys[i], sizeof keys[i], compile_key(&r.source, &r.options, SLW_PUBLISHED));
    }
    request r = base_request(); /* no flag at all */
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_uint_eq(slw_explanation_compared(explanation), 5);
    ck_assert_uint_eq(slw_explanation_count(explanation), 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(entry_of(explanation, i).key, keys[i + 1]);
        ck_assert_uint_eq(entry_of(explanation, i).differences, i + 1);
    }
    slw_explanation_release(&explanation);

    slw_explain_options how = SLW_EXPLAIN_OPTIONS_INIT;
    how.nearest = SLW_LIMIT_NEAREST;
    explanation = explain(&r, &how);
    ck_assert_uint_eq(slw_explanation_count(explanation), 5);
    ck_assert_str_eq(entry_of(explanation, 3).key, keys[0]);
    ck_assert_str_eq(entry_of(explanation, 4).name, "kit");
    /* The kit's document is as those were before inputs and inventories: told by digests. */
    ck_assert_ptr_nonnull(strstr(told(explanation, 4), "source.name: kit -> kernel.c\n"));
    ck_assert_ptr_nonnull(strstr(told(explanation, 4), "\nsource: " KIT_DIGEST_A " -> "));
    ck_assert_ptr_nonnull(strstr(told(explanation, 4), "\nspecialization: " KIT_DIGEST_B " -> "));
    ck_assert_ptr_nonnull(strstr(told(explanation, 4), "\ntoolchain.compiler: /bin/kit -> /usr/bin/gcc\n"));
    slw_explanation_release(&explanation);

    how.nearest = 1;
    explanation = explain(&r, &how);
    ck_assert_uint_eq(slw_explanation_count(explanation), 1);
    ck_assert_uint_eq(slw_explanation_compared(explanation), 5);
    slw_near_entry entry = SLW_NEAR_ENTRY_INIT;
    slw_difference d = SLW_DIFFERENCE_INIT;
    ck_assert_int_eq(slw_explanation_entry(explanation, 1, &entry), 0);
    ck_assert_int_eq(slw_explanation_difference(explanation, 1, 0, &d), 0);
    ck_assert_int_eq(slw_explanation_difference(explanation, 0, 1, &d), 0);
    entry.size = 1;
    ck_assert_int_eq(slw_explanation_entry(explanation, 0, &entry), 0);
    slw_explanation_release(&explanation);
}
END_TEST

/* More differences than are kept; values that are long, or would speak to a terminal. */
START_TEST(what_is_told_is_bounded) {
    static char names[300][2][16];
    request r = base_request();
    char *spelled = malloc(3000);
    memset(spelled, 'y', 2999);
    memcpy(spelled, "-DY=", 4);
    spelled[2999] = '\0';
    for (int i = 0; i < 300; i++) {
        for (int side = 0; side < 2; side++) (void)snprintf(names[i][side], 16, "-DA%d=%d", i, side);
        r.flags[i] = names[i][0];
    }
    r.flags[0] = spelled;
    r.source.name = "k\x1b[31m.c";
    settle(&r);
    (void)compile_key(&r.source, &r.options, SLW_PUBLISHED);
    for (int i = 0; i < 300; i++) r.flags[i] = names[i][1];
    slw_explanation *explanation = explain(&r, NULL);
    const slw_near_entry entry = entry_of(explanation, 0);
    ck_assert_uint_eq(entry.differences, SLW_LIMIT_DIFFERENCES);
    ck_assert_uint_eq(entry.left_out, 300 - SLW_LIMIT_DIFFERENCES);
    ck_assert_str_eq(entry.name, "k\\x1b[31m.c");
    slw_difference d = SLW_DIFFERENCE_INIT;
    ck_assert_int_eq(slw_explanation_difference(explanation, 0, 0, &d), 1);
    ck_assert_ptr_nonnull(strstr(d.old_value, "2999 bytes, sha256 "));
    ck_assert_uint_lt(strlen(d.old_value), SLW_LIMIT_DIFFERENCE_BYTES);
    slw_explanation_release(&explanation);
    free(spelled);
}
END_TEST

/* ---- entries of before
   --------------------------------------------------------------------------------------------------- */

static const char *stripped_text;

static slw_code build_stripped(void *context, const slw_build_context *build, slw_error *err) {
    (void)err;
    slt_shell("cp '%s/kernel.o' '%s/kernel.so' '%s'", (const char *)context, (const char *)context, build->directory);
    return kit_write(build->directory, "slipway.json", stripped_text, strlen(stripped_text), err);
}

/* Cuts from `begin` up to `end`. */
static int cut(char *text, const char *begin, const char *end) {
    char *from = strstr(text, begin);
    if (from == NULL) return 0;
    char *to = strstr(from, end);
    ck_assert_ptr_nonnull(to);
    memmove(from, to, strlen(to) + 1);
    return 1;
}

/* slipway.json without inputs and inventories is read: it hydrates, and is compared by what it has. */
START_TEST(documents_without_inputs_are_read) {
    request r = base_request();
    settle(&r);
    slw_cached *cached = NULL;
    slt_ok(slw_compile(compiler, &r.source, &r.options, NULL, &cached, &world.err), &world.err);
    char *text = slt_read_file(slt_path(slw_cached_directory(cached), "slipway.json", NULL), NULL);
    ck_assert_int_eq(cut(text, "\"inputs\":", "\"name\":\"kernel.c\",\"record\""), 1);
    int cuts = 0;
    while (cut(text, ",\"inventory\":", ",\"left_out\":0,")) {
        ck_assert_int_eq(cut(text, ",\"left_out\":0,", ",\"name\":"), 1);
        cuts++;
    }
    ck_assert_int_eq(cuts, 4);
    stripped_text = text;

    kit old;
    memset(&old, 0, sizeof old);
    old.err = world.err;
    kit_copy(old.root, sizeof old.root, slt_path(world.scratch, "old", NULL));
    kit_copy(old.private_root, sizeof old.private_root, world.private_root);
    slt_heap_init(&old.heap);
    kit_open_store(&old);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.context = (void *)(uintptr_t)slw_cached_directory(cached);
    builder.build = build_stripped;
    slw_cached *kept = NULL;
    slt_ok(slw_store_get_or_build(old.store, slw_cached_key(cached), slw_cached_spec(cached), &builder, NULL, &kept,
                                  &world.err),
           &world.err);
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&kept, NULL, &hydrated, &world.err), &world.err);
    slw_hydrated_discard(&hydrated);

    slw_store *newer = world.store;
    slw_compiler_close(&compiler);
    world.store = old.store;
    extra.digest = "one";
    open_compiler("/usr/bin/gcc", &wrapped);
    world.store = newer;
    r.flags[0] = "-DX=4";
    slw_explanation *explanation = explain(&r, NULL);
    ck_assert_str_eq(entry_of(explanation, 0).key, slw_key_digest(slw_cached_key(cached)));
    char expected[512];
    (void)snprintf(expected, sizeof expected, "specialization: %s -> ", slw_key_specialization(slw_cached_key(cached)));
    const char *said = told(explanation, 0);
    ck_assert_msg(strncmp(said, expected, strlen(expected)) == 0, "%s", said);
    ck_assert_ptr_nonnull(strstr(said, "\ntoolchain.device_library: (null) -> "));
    ck_assert_uint_eq(entry_of(explanation, 0).differences, 2);
    slw_explanation_release(&explanation);
    slw_compiler_close(&compiler);
    slw_cached_discard(&cached);
    slw_store_close(&old.store);
    slt_heap_check_empty(&old.heap);
    free(text);
}
END_TEST

/* Documents whose digest is right and whose shape is not: compared by what can be read, or skipped, and never more. */
static const char *const odd_edits[][2] = {
    {"\"inputs\":{", "\"inputs\":[{"},
    {"\"options\":{\"t\":\"dict\",\"v\":", "\"options\":{\"t\":\"dict\",\"w\":"},
    {"\"options\":{\"t\":\"dict\"", "\"options\":{\"t\":\"list\""},
    {"\"options\":{\"t\":\"dict\"", "\"options\":{\"t\":\"tuple\""},
    {"\"options\":{\"t\":\"dict\"", "\"options\":{\"t\":7"},
    {"\"wtf8_hex\":\"6f7074696f6e73\"", "\"wtf8_hex\":\"6f707469f\""},
    {"\"wtf8_hex\":\"6f7074696f6e73\"", "\"wtf8_hex\":\"zz\""},
    {"\"wtf8_hex\":\"6f7074696f6e73\"", "\"wtf8_hex\":\"ff00edb2\""},
    {"\"wtf8_hex\":\"6f7074696f6e73\"", "\"wtf8_hex\":null"},
    {"\"source\":{\"t\":\"dict\",\"v\":[", "\"source\":{\"t\":\"dict\",\"v\":[7,[],[[]],null,"},
    {"\"inventory\":[{", "\"inventory\":[7,null,[],{},{\"kind\":\"file\"},{\"name\":\"x\"},{"},
    {"\"inventory\":[{", "\"inventory\":[{\"kind\":\"odd\",\"name\":\"x\",\"value\":5},{"},
    {"\"components\":[{", "\"components\":[7,{},{\"name\":5},{"},
    {"\"name\":\"kernel.c\",\"record\":{", "\"name\":7,\"record\":{"},
    {"\"record\":{\"environment\"", "\"record\":{\"x\":1,\"environment\""},
    {"\"reader_revision\":", "\"reader_revision\":-"},
    {"\"toolchain\":{", "\"toolchain\":null,\"x\":{"},
    {"\"schema\":1,\"target\"", "\"schema\":9,\"target\""},
    {"{\"backend\"", "[{\"backend\""},
};

/* The text with the first `from` replaced; malloc'ed. */
static char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    (void)sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

START_TEST(odd_documents_do_no_harm) {
    request r = base_request();
    r.flags[0] = "-DX=1";
    settle(&r);
    slw_cached *cached = NULL;
    slt_ok(slw_compile(compiler, &r.source, &r.options, NULL, &cached, &world.err), &world.err);
    char *text = slt_read_file(slt_path(slw_cached_directory(cached), "slipway.json", NULL), NULL);
    const size_t count = sizeof odd_edits / sizeof *odd_edits;
    for (size_t i = 0; i < count; i++) {
        const slw_digest digest = {{(uint8_t)i, 1}};
        char source[SLW_DIGEST_TEXT_SIZE];
        char *odd = replaced(text, odd_edits[i][0], odd_edits[i][1]);
        stripped_text = odd;
        slw_digest_format(&digest, source);
        slw_key_release(&world.key);
        slw_spec_release(&world.spec);
        kit_make_names(&world, source, NULL);
        slw_builder builder = SLW_BUILDER_INIT;
        slw_cached *kept = NULL;
        builder.context = (void *)(uintptr_t)slw_cached_directory(cached);
        builder.build = build_stripped;
        slt_ok(
            slw_store_get_or_build(world.store, world.key, slw_cached_spec(cached), &builder, NULL, &kept, &world.err),
            &world.err);
        slw_cached_discard(&kept);
        free(odd);
    }
    free(text);
    slw_explain_options how = SLW_EXPLAIN_OPTIONS_INIT;
    how.nearest = SLW_LIMIT_NEAREST;
    r.flags[0] = "-DX=2";
    slw_explanation *explanation = explain(&r, &how);
    ck_assert_uint_gt(slw_explanation_skipped(explanation), 2);
    ck_assert_uint_gt(slw_explanation_compared(explanation), count - 5);
    ck_assert_str_eq(told(explanation, 0), "options.options[0]: -DX=1 -> -DX=2\n");
    for (size_t i = 0; i < slw_explanation_count(explanation); i++) (void)told(explanation, i);
    slw_explanation_release(&explanation);
    slw_cached_discard(&cached);
}
END_TEST

/* ---- a key
   ------------------------------------------------------------------------------------------------------------- */

static slw_code explain_key(const char *key, slw_explanation **out) {
    return slw_explain_key(world.store, key, NULL, out, &world.err);
}

START_TEST(an_entry_is_compared_with_the_others) {
    request r = base_request();
    char first[SLW_DIGEST_TEXT_SIZE], second[SLW_DIGEST_TEXT_SIZE], begin[17];
    settle(&r);
    kit_copy(first, sizeof first, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    r.flags[0] = "-DX=2";
    settle(&r);
    kit_copy(second, sizeof second, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    kit_copy(begin, sizeof begin, second);
    for (int i = 0; i < 2; i++) {
        slw_explanation *explanation = NULL;
        slt_ok(explain_key(i == 0 ? second : begin, &explanation), &world.err);
        ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_ENTRY);
        ck_assert_str_eq(slw_explanation_key(explanation), second);
        ck_assert_str_eq(entry_of(explanation, 0).key, first);
        ck_assert_str_eq(told(explanation, 0), "options.options[0]: (null) -> -DX=2\n");
        slw_explanation_release(&explanation);
    }
    slw_explanation *explanation = NULL;
    slt_ok(explain_key("0123456789abcdef", &explanation), &world.err);
    ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
    ck_assert_ptr_null(slw_explanation_key(explanation));
    ck_assert_uint_eq(slw_explanation_count(explanation), 0);
    slw_explanation_release(&explanation);

    /* One that begins as the other does. */
    char *other = slt_path(world.root, "artifacts", KIT_DIGEST_A, NULL) != NULL ? strdup(second) : NULL;
    other[63] = other[63] == '0' ? '1' : '0';
    slt_shell("mkdir -p -m 755 '%s/artifacts/%s/%s/%s/ready'", world.root, KIT_DIGEST_A, other, KIT_DIGEST_A);
    ck_code(explain_key(begin, &explanation), SLW_E_USAGE);
    ck_assert_str_eq(world.err.reason, "AMBIGUOUS");
    ck_assert_ptr_nonnull(strstr(world.err.tried, second));
    ck_assert_ptr_nonnull(strstr(world.err.tried, other));
    ck_code(explain_key(other, &explanation), SLW_E_INVALID_ENTRY);
    slt_ok(explain_key(second, &explanation), &world.err);
    slw_explanation_release(&explanation);
    free(other);
}
END_TEST

START_TEST(keys_that_are_refused) {
    static const char *const keys[] = {
        "", "abc", "ABCDEF", "kernel", "0123g", "00000000000000000000000000000000000000000000000000000000000000000"};
    slw_explanation *explanation = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        ck_code(explain_key(keys[i], &explanation), SLW_E_USAGE);
        ck_assert_str_eq(world.err.reason, "BAD_DIGEST");
    }
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    world.without_document = 1;
    slw_cached *cached = kit_build_entry(&world);
    ck_code(explain_key(slw_key_digest(world.key), &explanation), SLW_E_INVALID_METADATA);
    slw_cached_discard(&cached);
    ck_assert_ptr_null(explanation);
}
END_TEST

START_TEST(usage) {
    request r = base_request();
    slw_explanation *explanation = NULL;
    slw_explain_options how = SLW_EXPLAIN_OPTIONS_INIT;
    settle(&r);
    ck_code(slw_explain(NULL, &r.source, NULL, NULL, &explanation, &world.err), SLW_E_USAGE);
    ck_code(slw_explain(compiler, NULL, NULL, NULL, &explanation, &world.err), SLW_E_USAGE);
    ck_code(slw_explain(compiler, &r.source, NULL, NULL, NULL, &world.err), SLW_E_USAGE);
    how.nearest = SLW_LIMIT_NEAREST + 1;
    ck_code(slw_explain(compiler, &r.source, NULL, &how, &explanation, &world.err), SLW_E_LIMIT);
    ck_code(slw_explain_key(world.store, "abcd", &how, &explanation, &world.err), SLW_E_LIMIT);
    how.size = 1;
    ck_code(slw_explain(compiler, &r.source, NULL, &how, &explanation, &world.err), SLW_E_USAGE);
    r.options.override_stage = "nosuch";
    r.options.override_path = "x";
    ck_code(slw_explain(compiler, &r.source, &r.options, NULL, &explanation, &world.err), SLW_E_USAGE);
    r.source.path = "x";
    ck_code(slw_explain(compiler, &r.source, NULL, NULL, &explanation, &world.err), SLW_E_USAGE);
    ck_code(slw_explain_key(NULL, "abcd", NULL, &explanation, &world.err), SLW_E_USAGE);
    ck_code(slw_explain_key(world.store, NULL, NULL, &explanation, &world.err), SLW_E_USAGE);
    ck_code(slw_explain_key(world.store, "abcd", NULL, NULL, &world.err), SLW_E_USAGE);
    ck_assert_ptr_null(explanation);
    slw_explanation_release(&explanation);
    slw_explanation_release(NULL);
    ck_assert_uint_eq(slw_explanation_count(NULL), 0);
    ck_assert_ptr_null(slw_explanation_key(NULL));
    ck_assert_ptr_null(slw_explain_verdict_name((slw_explain_verdict)9));
    ck_assert_str_eq(slw_explain_verdict_name(SLW_EXPLAIN_ENTRY), "ENTRY");
}
END_TEST

/* ---- nothing written, nothing lost
   -------------------------------------------------------------------------------------- */

static char *state_of_store(void) {
    const char *file = slt_path(world.scratch, "state", NULL);
    slt_shell("cd '%s' && find . -printf '%%p %%m %%s %%T@ %%C@\\n' | sort > '%s'", world.root, file);
    return slt_read_file(file, NULL);
}

START_TEST(nothing_is_written) {
    request r = base_request();
    settle(&r);
    char key[SLW_DIGEST_TEXT_SIZE];
    kit_copy(key, sizeof key, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    char *before = state_of_store();
    for (int i = 0; i < 3; i++) {
        if (i == 1) r.flags[0] = "-DX=9";
        slw_explanation *explanation = NULL;
        if (i < 2) explanation = explain(&r, NULL);
        if (i == 2) slt_ok(explain_key(key, &explanation), &world.err);
        slw_explanation_release(&explanation);
    }
    char *after = state_of_store();
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

/* Shared by threads, beside one that compiles. */
static void *explain_often(void *context) {
    const int which = *(const int *)context;
    for (int i = 0; i < 6; i++) {
        request r = base_request();
        slw_error err = SLW_ERROR_INIT;
        slw_explanation *explanation = NULL;
        char flag[32];
        (void)snprintf(flag, sizeof flag, "-DT=%d", which * 100 + i);
        r.flags[0] = flag;
        settle(&r);
        if (which == 0) {
            slw_cached *cached = NULL;
            slt_ok(slw_compile(compiler, &r.source, &r.options, NULL, &cached, &err), &err);
            slw_cached_discard(&cached);
            continue;
        }
        slt_ok(slw_explain(compiler, &r.source, &r.options, NULL, &explanation, &err), &err);
        slw_difference d = SLW_DIFFERENCE_INIT;
        ck_assert_int_eq(slw_explanation_verdict(explanation), SLW_EXPLAIN_MISS);
        ck_assert_int_eq(slw_explanation_difference(explanation, 0, 0, &d), 1);
        ck_assert_str_eq(d.field, "options.options[0]");
        ck_assert_str_eq(d.new_value, flag);
        slw_explanation_release(&explanation);
    }
    return NULL;
}

START_TEST(threads_may_ask_at_once) {
    request r = base_request();
    pthread_t threads[4];
    int which[4];
    settle(&r);
    (void)compile_key(&r.source, &r.options, SLW_PUBLISHED);
    for (int i = 0; i < 4; i++) {
        which[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, explain_often, &which[i]), 0);
    }
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

/* Every n-th allocation fails: NO_MEMORY, nothing lost, and then the same explanation as ever. */
START_TEST(no_memory) {
    request r = base_request();
    settle(&r);
    char key[SLW_DIGEST_TEXT_SIZE];
    kit_copy(key, sizeof key, compile_key(&r.source, &r.options, SLW_PUBLISHED));
    slt_shell("mkdir '%s' '%s'", r.a, r.b);
    r.flags[0] = "-DX=9";
    r.roots[0] = r.a;
    settle(&r);
    const uint64_t blocks = world.heap.live_blocks;
    for (int way = 0; way < 2; way++) {
        uint64_t n = 1;
        for (;; n++) {
            slw_explanation *explanation = NULL;
            slt_heap_reset(&world.heap);
            world.heap.fail_at = n;
            const slw_code rc = way == 0 ? slw_explain(compiler, &r.source, &r.options, NULL, &explanation, &world.err)
                                         : explain_key(key, &explanation);
            world.heap.fail_at = 0;
            if (rc == SLW_OK) {
                const int done = !world.heap.failed;
                ck_assert_msg(slw_explanation_count(explanation) == 1 || slw_explanation_count(explanation) == 2, "%d",
                              (int)slw_explanation_count(explanation));
                slw_explanation_release(&explanation);
                ck_assert_uint_eq(world.heap.live_blocks, blocks);
                if (done) break;
                continue;
            }
            ck_assert_msg(rc == SLW_E_NO_MEMORY, "%llu: %s %s", (unsigned long long)n, slw_code_name(rc),
                          world.err.message);
            ck_assert_ptr_null(explanation);
            ck_assert_uint_eq(world.heap.live_blocks, blocks);
        }
        ck_assert_uint_gt(n, 30);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle explain");
    TCase *c = tcase_create("rows");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup_closed, teardown);
    tcase_add_loop_test(c, each_input_is_the_one_that_is_named, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(c, a_compiler_that_says_the_same_version);
    tcase_add_test(c, another_reader_revision);
    suite_add_tcase(suite, c);
    TCase *o = tcase_create("open");
    tcase_set_timeout(o, 300);
    tcase_add_checked_fixture(o, setup, teardown);
    tcase_add_test(o, what_a_lowered_source_is_made_of_is_told);
    tcase_add_test(o, a_private_request_says_why);
    tcase_add_test(o, damaged_and_foreign_entries_are_skipped);
    tcase_add_test(o, the_nearest_come_first);
    tcase_add_test(o, what_is_told_is_bounded);
    tcase_add_test(o, documents_without_inputs_are_read);
    tcase_add_test(o, odd_documents_do_no_harm);
    tcase_add_test(o, an_entry_is_compared_with_the_others);
    tcase_add_test(o, keys_that_are_refused);
    tcase_add_test(o, usage);
    tcase_add_test(o, nothing_is_written);
    tcase_add_test(o, threads_may_ask_at_once);
    tcase_add_test(o, no_memory);
    suite_add_tcase(suite, o);
    return explain_main(suite);
}
