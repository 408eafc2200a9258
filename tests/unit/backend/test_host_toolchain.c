/* Search, discovery, the memo and what enters the identity. */
#include <sys/stat.h>
#include <unistd.h>

#include "host_fixture.h"
#include "host_toolchain.h"
#include "process.h"
#include "tool_config.h"

static const char system_path[] = "/usr/local/bin:/usr/bin";

static void component(const fixture_toolchain *t, const char *wanted, char out[SLW_DIGEST_TEXT_SIZE]) {
    const char *name;
    const slw_digest *digest;
    for (size_t i = 0; slw_identity_at(t->identity, i, &name, &digest); i++) {
        if (strcmp(name, wanted) != 0) continue;
        ck_assert_msg(digest != NULL, "%s is unavailable", wanted);
        slw_digest_format(digest, out);
        return;
    }
    ck_abort_msg("no component %s", wanted);
}

static const slwi_tool_list *facts(const fixture_toolchain *t, slwi_tool_fact kind) {
    const slwi_host_toolchain *toolchain = t->toolchain;
    return &toolchain->answer.facts[kind];
}

static int names(const slwi_tool_list *list, const char *base) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(slwi_tool_base_name(list->items[i]), base) == 0) return 1;
    }
    return 0;
}

START_TEST(search_order_and_refusals) {
    slw_error err = SLW_ERROR_INIT;
    char found[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    const char *directory = slt_scratch();
    slt_write_file(slt_path(directory, "gcc", NULL), "x", 1, 0755);
    slt_write_file(slt_path(directory, "cc", NULL), "x", 1, 0644); /* not executable: passed over */
    ck_assert_int_eq(symlink("gcc", slt_path(directory, "clang", NULL)), 0);
    slt_ok(slwi_host_find_compiler(NULL, directory, found, resolved, &err), &err);
    ck_assert_str_eq(found, slt_path(directory, "gcc", NULL));
    slt_ok(slwi_host_find_compiler("clang", directory, found, resolved, &err), &err);
    ck_assert_str_eq(found, slt_path(directory, "clang", NULL));
    ck_assert_str_eq(slwi_tool_base_name(resolved), "gcc");
    /* a launcher under a compiler's name is passed over */
    const char *launchers = slt_scratch();
    slt_write_file(slt_path(launchers, "ccache", NULL), "x", 1, 0755);
    ck_assert_int_eq(symlink("ccache", slt_path(launchers, "gcc", NULL)), 0);
    char both[SLWI_TOOL_PATH_MAX];
    (void)snprintf(both, sizeof(both), "%s:%s", launchers, directory);
    slt_ok(slwi_host_find_compiler("gcc", both, found, resolved, &err), &err);
    ck_assert_str_eq(found, slt_path(directory, "gcc", NULL));
    /* the system's directories come last, and a path that is nowhere still ends there */
    slt_ok(slwi_host_find_compiler(NULL, "/nonexistent:.:", found, resolved, &err), &err);
    ck_assert_ptr_nonnull(strstr(found, "/bin/cc"));

    ck_assert_int_eq(slwi_host_find_compiler("no-such-compiler", directory, found, resolved, &err), SLW_E_TOOL_MISSING);
    ck_assert_ptr_nonnull(strstr(err.tried, slt_path(directory, "no-such-compiler", NULL)));
    ck_assert_ptr_nonnull(strstr(err.tried, "/usr/bin/no-such-compiler"));
    slw_error path_err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_host_find_compiler(slt_path(directory, "cc", NULL), NULL, found, resolved, &path_err),
                     SLW_E_TOOL_MISSING);
    slw_error empty_err = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_host_find_compiler("", NULL, found, resolved, &empty_err), SLW_E_USAGE);
}
END_TEST

START_TEST(gcc_is_known_in_all_its_parts) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slt_ok(fixture_open(&t, "gcc", system_path, NULL, &err), &err);
    slt_ok(slw_identity_usable(t.identity, &err), &err);
    const slwi_tool_list *programs = facts(&t, SLWI_TOOL_FACT_PROGRAM);
    ck_assert(names(programs, "cc1"));
    ck_assert(names(programs, "collect2"));
    ck_assert(names(programs, "as"));
    ck_assert(names(programs, "ld"));
    for (size_t i = 0; i < programs->count; i++) ck_assert_int_eq(programs->items[i][0], '/');
    ck_assert(names(facts(&t, SLWI_TOOL_FACT_FILE), "crti.o"));
    ck_assert(names(facts(&t, SLWI_TOOL_FACT_FILE), "crtendS.o"));
    ck_assert(slwi_tool_list_has(facts(&t, SLWI_TOOL_FACT_LIBRARY), "c"));
    ck_assert(slwi_tool_list_has(facts(&t, SLWI_TOOL_FACT_LIBRARY), "m"));
    ck_assert(slwi_tool_list_has(facts(&t, SLWI_TOOL_FACT_INCLUDE), "/usr/include"));
    ck_assert_uint_gt(facts(&t, SLWI_TOOL_FACT_ABSENT)->count, 0);
    /* LIBRARY_PATH of the one who runs the tests is not in the link */
    for (size_t i = 0; i < facts(&t, SLWI_TOOL_FACT_DIRECTORY)->count; i++) {
        ck_assert_ptr_null(strstr(facts(&t, SLWI_TOOL_FACT_DIRECTORY)->items[i], "cuda"));
    }
    slwi_host_link_inputs inputs;
    const slwi_host_toolchain *toolchain = t.toolchain;
    slt_ok(slwi_host_link_inputs_find(&toolchain->answer, &toolchain->allocator, &inputs, &err), &err);
    ck_assert_str_eq(inputs.why, "");
    ck_assert(names(&inputs.files, "libc.so") || names(&inputs.shared, "libc.so"));
    ck_assert(names(&inputs.files, "libgcc.a"));
    slwi_host_link_inputs_free(&inputs);
    size_t count = 0;
    const char *name;
    const slw_digest *digest;
    while (slw_identity_at(t.identity, count, &name, &digest)) count++;
    ck_assert_uint_eq(count, 4);
    fixture_close(&t);
}
END_TEST

START_TEST(clang_is_known_in_all_its_parts) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slw_code rc = fixture_open(&t, "clang-16", system_path, NULL, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("clang_is_known_in_all_its_parts", "there is no clang-16");
        fixture_close(&t);
        return;
    }
    slt_ok(rc, &err);
    slt_ok(slw_identity_usable(t.identity, &err), &err);
    const slwi_host_toolchain *toolchain = t.toolchain;
    ck_assert_int_eq(toolchain->answer.family, SLWI_TOOL_CLANG);
    ck_assert(names(facts(&t, SLWI_TOOL_FACT_PROGRAM), "ld"));
    ck_assert(names(facts(&t, SLWI_TOOL_FACT_FILE), "crti.o"));
    ck_assert_uint_ge(facts(&t, SLWI_TOOL_FACT_LISTING)->count, 1); /* it chose a gcc installation */
    fixture_close(&t);
}
END_TEST

/* The answer is remembered as text; what it says is what was asked. */
START_TEST(the_answer_survives_its_text_form) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    slt_ok(fixture_open(&t, "gcc", system_path, NULL, &err), &err);
    const slwi_host_toolchain *toolchain = t.toolchain;
    slw_digest proof;
    slw_digest back;
    memset(&proof, 7, sizeof(proof));
    slwi_buffer text;
    slwi_buffer again;
    slwi_buffer_init(&text, &toolchain->allocator, SIZE_MAX);
    slwi_buffer_init(&again, &toolchain->allocator, SIZE_MAX);
    ck_assert(slwi_tool_answer_write(&toolchain->answer, &proof, &text));
    slwi_tool_answer answer;
    slwi_tool_answer_init(&answer, &toolchain->allocator);
    ck_assert(slwi_tool_answer_read((slw_bytes){text.data, text.size}, &answer, &back));
    ck_assert_mem_eq(&proof, &back, sizeof(proof));
    ck_assert(slwi_tool_answer_write(&answer, &back, &again));
    ck_assert_uint_eq(text.size, again.size);
    ck_assert_mem_eq(text.data, again.data, text.size);
    slwi_tool_answer_free(&answer);
    /* every proper prefix that does not end with a line is refused, and no prefix is a crash */
    for (size_t size = 0; size < text.size; size++) {
        slwi_tool_answer_init(&answer, &toolchain->allocator);
        int good = slwi_tool_answer_read((slw_bytes){text.data, size}, &answer, &back);
        ck_assert(!good || text.data[size - 1] == '\n');
        slwi_tool_answer_free(&answer);
    }
    slwi_buffer_free(&text);
    slwi_buffer_free(&again);
    fixture_close(&t);
}
END_TEST

START_TEST(a_hot_open_starts_no_process) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    const char *compiler = _i == 0 ? "gcc" : "clang-16";
    const char *memo = slt_path(slt_scratch(), "memo", NULL);
    char cold[SLW_DIGEST_TEXT_SIZE];
    char hot[SLW_DIGEST_TEXT_SIZE];
    slw_code rc = fixture_open(&t, compiler, system_path, memo, &err);
    if (rc == SLW_E_TOOL_MISSING) {
        slt_skip("a_hot_open_starts_no_process", compiler);
        fixture_close(&t);
        return;
    }
    slt_ok(rc, &err);
    ck_assert_uint_gt(slwi_process_count(), 0);
    component(&t, "compiler", cold);
    fixture_close(&t);

    uint64_t before = slwi_process_count();
    slt_ok(fixture_open(&t, compiler, "/nonexistent", memo, &err), &err);
    ck_assert_uint_eq(slwi_process_count(), before);
    component(&t, "compiler", hot);
    ck_assert_str_eq(cold, hot);
    /* native needs the driver once, and then not either */
    fixture_request r = {.flags = {"-march=native"}};
    void *job = NULL;
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    slwi_host_backend.job_close(job);
    ck_assert_uint_eq(slwi_process_count(), before + 1);
    slt_ok(fixture_job(&t, &r, &job, &err), &err);
    slwi_host_backend.job_close(job);
    ck_assert_uint_eq(slwi_process_count(), before + 1);
    fixture_close(&t);
}
END_TEST

/* A driver of our own: a copy, which finds its parts beside itself. */
static const char *copied_gcc(void) {
    const char *prefix = slt_scratch();
    slt_shell("cd %s && mkdir bin lib && cp \"$(readlink -f /usr/bin/gcc)\" bin/gcc && ln -s /usr/lib/gcc lib/gcc",
              prefix);
    return slt_path(prefix, "bin", NULL);
}

START_TEST(a_replaced_driver_is_asked_again) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    const char *bin = copied_gcc();
    const char *memo = slt_path(slt_scratch(), "memo", NULL);
    char one[SLW_DIGEST_TEXT_SIZE];
    char two[SLW_DIGEST_TEXT_SIZE];
    slt_ok(fixture_open(&t, NULL, bin, memo, &err), &err);
    slt_ok(slw_identity_usable(t.identity, &err), &err);
    component(&t, "compiler", one);
    fixture_close(&t);
    uint64_t before = slwi_process_count();
    slt_ok(fixture_open(&t, NULL, bin, memo, &err), &err);
    fixture_close(&t);
    ck_assert_uint_eq(slwi_process_count(), before);

    slt_shell("printf x >> %s/gcc", bin); /* an ELF program with a byte more still runs */
    slt_ok(fixture_open(&t, NULL, bin, memo, &err), &err);
    ck_assert_uint_gt(slwi_process_count(), before);
    component(&t, "compiler", two);
    ck_assert_str_ne(one, two);
    fixture_close(&t);
}
END_TEST

/* An assembler that comes to lie where the driver looks first was not there when it was asked. */
START_TEST(a_new_program_in_front_is_noticed) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    const char *bin = copied_gcc();
    const char *memo = slt_path(slt_scratch(), "memo", NULL);
    char one[SLW_DIGEST_TEXT_SIZE];
    char two[SLW_DIGEST_TEXT_SIZE];
    slt_ok(fixture_open(&t, NULL, bin, memo, &err), &err);
    component(&t, "compiler", one);
    fixture_close(&t);
    slt_shell("cp \"$(readlink -f /usr/bin/as)\" %s/as", bin);
    uint64_t before = slwi_process_count();
    slt_ok(fixture_open(&t, NULL, bin, memo, &err), &err);
    ck_assert_uint_gt(slwi_process_count(), before);
    ck_assert(slwi_tool_list_has(facts(&t, SLWI_TOOL_FACT_PROGRAM), slt_path(bin, "as", NULL)));
    component(&t, "compiler", two);
    ck_assert_str_ne(one, two);
    fixture_close(&t);
}
END_TEST

/* A wrapper answers like the compiler it starts, but what it does is not known: usable, and never published. */
START_TEST(a_script_is_no_proof) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    const char *directory = slt_scratch();
    static const char script[] = "#!/bin/sh\nexec /usr/bin/gcc \"$@\"\n";
    slt_write_file(slt_path(directory, "cc", NULL), script, sizeof(script) - 1, 0755);
    slt_ok(fixture_open(&t, NULL, directory, NULL, &err), &err);
    ck_assert_int_eq(slw_identity_usable(t.identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.subject, "compiler");
    ck_assert_str_eq(slwi_host_backend.toolchain_path(t.toolchain), slt_path(directory, "cc", NULL));
    fixture_request r = {0};
    (void)fixture_compile(&t, &r);
    fixture_close(&t);
}
END_TEST

START_TEST(what_is_no_compiler_is_refused) {
    slw_error err = SLW_ERROR_INIT;
    fixture_toolchain t;
    ck_assert_int_eq(fixture_open(&t, "/bin/true", NULL, NULL, &err), SLW_E_UNSUPPORTED);
    ck_assert_str_eq(err.reason, "UNKNOWN_COMPILER");
    ck_assert_ptr_null(t.toolchain);
    fixture_close(&t);
    slw_error again = SLW_ERROR_INIT;
    ck_assert_int_eq(fixture_open(&t, "/bin/false", NULL, NULL, &again), SLW_E_UNSUPPORTED);
    fixture_close(&t);
}
END_TEST

/* Linker scripts: what is followed, and what makes the libraries unproved. */
static void judge_script(const char *script, const char *extra, int good) {
    slw_error err = SLW_ERROR_INIT;
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    const char *directory = slt_scratch();
    slt_write_file(slt_path(directory, "libx.so", NULL), script, strlen(script), 0644);
    slt_write_file(slt_path(directory, "liby.a", NULL), "!<arch>\n", 8, 0644);
    slt_write_file(slt_path(directory, "libz.so.1", NULL), "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\0\0", 20, 0644);
    slwi_tool_answer answer;
    slwi_tool_answer_init(&answer, &allocator);
    slwi_tool_list_add(&answer.facts[SLWI_TOOL_FACT_DIRECTORY], directory);
    slwi_tool_list_add(&answer.facts[SLWI_TOOL_FACT_LIBRARY], "x");
    slwi_host_link_inputs inputs;
    slt_ok(slwi_host_link_inputs_find(&answer, &allocator, &inputs, &err), &err);
    ck_assert_msg((inputs.why[0] == '\0') == good, "%s: %s", script, inputs.why);
    if (extra != NULL)
        ck_assert_msg(names(&inputs.files, extra) || names(&inputs.shared, extra), "%s lacks %s", script, extra);
    slwi_host_link_inputs_free(&inputs);
    slwi_tool_answer_free(&answer);
}

START_TEST(linker_scripts) {
    judge_script("/* GNU ld script */ GROUP ( libz.so.1 AS_NEEDED ( -ly ) )", "liby.a", 1);
    judge_script("OUTPUT_FORMAT(elf64-x86-64)\nINPUT(libz.so.1)", "libz.so.1", 1);
    judge_script("INPUT(\"liby.a\", libz.so.1);", "liby.a", 1);
    judge_script("/* INPUT(nothing.a) */ INPUT(liby.a)", "liby.a", 1);
    judge_script("", NULL, 1);
    judge_script("INPUT(missing.a)", NULL, 0);
    judge_script("INPUT(-lmissing)", NULL, 0);
    judge_script("INPUT(/nonexistent/liby.a)", NULL, 0);
    judge_script("INPUT(=/lib/liby.a)", NULL, 0);
    judge_script("INPUT($SYSROOT/liby.a)", NULL, 0);
    judge_script("SEARCH_DIR(/usr/lib)", NULL, 0);
    judge_script("INCLUDE other.ld", NULL, 0);
    judge_script("STARTUP(liby.a)", NULL, 0);
    judge_script("INPUT(liby.a", NULL, 0);
    judge_script("INPUT liby.a", NULL, 0);
    judge_script("/* no end", NULL, 0);
    judge_script("GROUP ( \"liby.a )", NULL, 0);
    judge_script("INPUT(libx.so liby.a)", "liby.a", 1); /* names itself: taken once */
}
END_TEST

/* ---- what the compiler reads by itself ---- */

/* A gcc of our own whose directories are its own too: only the files in them are the system's. */
static const char *own_gcc(void) {
    const char *prefix = slt_scratch();
    slt_shell(
        "cd %s && mkdir bin && cp \"$(readlink -f /usr/bin/gcc)\" bin/gcc && d=$(/usr/bin/gcc "
        "-print-file-name=) && d=$(readlink -f \"$d\") && v=lib/gcc/$(basename \"$(dirname \"$d\")\")/$(basename "
        "\"$d\") && mkdir -p $v $(/usr/bin/gcc -dumpmachine)/lib/$(/usr/bin/gcc -dumpmachine)/$(basename \"$d\") && "
        "ln -s \"$d\"/* $v/ && echo $v > own && echo $(/usr/bin/gcc -dumpmachine) > machine",
        prefix);
    return prefix;
}

static slw_code usable(const char *bin, const char *compiler, const char *memo, slw_error *err,
                       char digest[SLW_DIGEST_TEXT_SIZE]) {
    fixture_toolchain t;
    slw_error open_err = SLW_ERROR_INIT;
    slt_ok(fixture_open(&t, compiler, bin, memo, &open_err), &open_err);
    slw_code rc = slw_identity_usable(t.identity, err);
    if (rc == SLW_OK && digest != NULL) component(&t, "compiler", digest);
    fixture_close(&t);
    return rc;
}

/* Every place that gcc itself reads (strace shows them), with a memo that remembers it without. */
START_TEST(specs_that_come_to_be_are_noticed) {
    static const char *const places[] = {
        "$(cat own)/specs",
        "lib/gcc/specs",
        "lib/gcc/$(cat machine)/specs",
        "$(cat machine)/lib/specs",
        "$(cat machine)/lib/$(cat machine)/$(basename $(cat own))/specs",
    };
    slw_error err = SLW_ERROR_INIT;
    const char *prefix = own_gcc();
    const char *bin = slt_path(prefix, "bin", NULL);
    const char *memo = slt_path(slt_scratch(), "memo", NULL);
    slt_ok(usable(bin, NULL, memo, &err, NULL), &err);
    uint64_t before = slwi_process_count();
    slt_ok(usable(bin, NULL, memo, &err, NULL), &err);
    ck_assert_uint_eq(slwi_process_count(), before);
    slt_shell("cd %s && printf '*cpp:\\n+ -DTRAP\\n\\n' > %s", prefix, places[_i]);
    slw_error reached = SLW_ERROR_INIT;
    ck_assert_int_eq(usable(bin, NULL, memo, &reached, NULL), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(reached.subject, "compiler");
    ck_assert_ptr_nonnull(strstr(reached.message, "specs"));
    slt_shell("cd %s && rm %s", prefix, places[_i]);
    slt_ok(usable(bin, NULL, memo, &err, NULL), &err);
}
END_TEST

/* gcc's own texts are no danger; any other may name files. */
START_TEST(specs_are_judged) {
    static const char *const reaching[] = {
        "*cpp:\n+ @/tmp/more\n\n",
        "*asm:\n+ @/tmp/more\n\n",
        "*cc1:\n+ -include /tmp/x.h\n\n",
        "*cpp:\n-isystem /tmp\n\n",
        "*cc1:\n%{!q:-fplugin=/tmp/x}\n",
        "%include </tmp/other>\n",
        "%rename cpp old_cpp\n\n",
        "*link:\n+ -T /tmp/x.ld\n\n",
        "*libgcc:\n-lgcc -L/tmp\n\n",
        "*multilib:\n. ;../x m64;\n\n",
        ".c:\n@c\n\n",
        "*invoke_as:\n/tmp/as %i\n\n",
        "*cc1:\n\\\n@/tmp/more\n\n",
        "*sysroot_spec:\n--sysroot=/x\n",
        "*cpp:\n\n\n*cc1:\n@x\n",
    };
    slw_error err = SLW_ERROR_INIT;
    char without[SLW_DIGEST_TEXT_SIZE];
    char with[SLW_DIGEST_TEXT_SIZE];
    const char *prefix = own_gcc();
    const char *bin = slt_path(prefix, "bin", NULL);
    slt_ok(usable(bin, NULL, NULL, &err, without), &err);
    slt_shell("cd %s && /usr/bin/gcc -dumpspecs > $(cat own)/specs", prefix);
    slt_ok(usable(bin, NULL, NULL, &err, with), &err);
    slt_shell("cd %s && rm $(cat own)/specs && ln -s ../../../../../specs $(cat own)/specs", prefix);
    for (size_t i = 0; i < sizeof(reaching) / sizeof(*reaching); i++) {
        slw_allocator allocator = SLW_ALLOCATOR_INIT;
        const char *specs = slt_path(prefix, "specs", NULL);
        slt_write_file(specs, reaching[i], strlen(reaching[i]), 0644);
        slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
        slw_identity *identity = NULL;
        slw_error reached = SLW_ERROR_INIT;
        slt_ok(slw_identity_create(&options, &identity, &err), &err);
        slt_ok(slw_identity_component(identity, "compiler", &err), &err);
        slt_ok(slwi_tool_specs_check(identity, "compiler", specs, slt_path(bin, "gcc", NULL), &allocator, &err), &err);
        slt_ok(slw_identity_add_file(identity, "compiler", specs, &err), &err);
        slt_ok(slw_identity_prove(identity, "compiler", &err), &err);
        slt_ok(slw_identity_seal(identity, &err), &err);
        ck_assert_msg(slw_identity_usable(identity, &reached) == SLW_E_IDENTITY_UNUSABLE, "%s", reaching[i]);
        ck_assert_ptr_nonnull(strstr(reached.message, "reach outside the key"));
        slw_identity_release(&identity);
    }
}
END_TEST

START_TEST(configuration_of_clang_is_judged) {
    static const char *const reaching[] = {
        "@other.cfg\n",
        "-DX=1\n@/tmp/other.cfg\n",
        "# a comment\n-include /tmp/x.h\n",
        "-D # @/tmp/other.cfg\n-DX\n",
        "-DX \\\n# @/tmp/other.cfg\n",
        "-fplugin=x.so\n",
        "-B/tmp\n",
        "-isystem /tmp\n",
        "-I/tmp\n",
        "--sysroot=/x\n",
        "-imacros x.h\n",
        "-DX \"@/tmp/other.cfg\"\n",
        "-march=native\n",
        "-D \"@/tmp/other.cfg\"\n",
        "-D @/tmp/other.cfg\n",
        "-D '' -D -include/tmp/x.h\n",
        "-D \\  -include/tmp/x.h\n",
        "-DX\\\n@/tmp/other.cfg\n",
    };
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slw_error err = SLW_ERROR_INIT;
    const char *directory = slt_scratch();
    const char *config = slt_path(directory, "clang.cfg", NULL);
    for (size_t i = 0; i <= sizeof(reaching) / sizeof(*reaching); i++) {
        const int good = i == sizeof(reaching) / sizeof(*reaching);
        const char *text = good ? "# @other.cfg -include x\n  # and more\n-DX=1 \\\n -Wall\n" : reaching[i];
        slt_write_file(config, text, strlen(text), 0644);
        slwi_tool_answer answer;
        slwi_tool_answer_init(&answer, &allocator);
        slwi_tool_list_add(&answer.facts[SLWI_TOOL_FACT_FILE], config);
        slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
        slw_identity *identity = NULL;
        slt_ok(slw_identity_create(&options, &identity, &err), &err);
        slt_ok(slw_identity_component(identity, "compiler", &err), &err);
        slt_ok(slw_identity_add_file(identity, "compiler", config, &err), &err);
        slt_ok(slwi_host_check_configs(&answer, "/usr/bin/clang", &allocator, identity, "compiler", &err), &err);
        slt_ok(slw_identity_prove(identity, "compiler", &err), &err);
        slt_ok(slw_identity_seal(identity, &err), &err);
        slw_error reached = SLW_ERROR_INIT;
        slw_code rc = slw_identity_usable(identity, &reached);
        ck_assert_msg(rc == (good ? SLW_OK : SLW_E_IDENTITY_UNUSABLE), "%s: %s", text, slw_code_name(rc));
        if (!good) ck_assert_ptr_nonnull(strstr(reached.message, "clang.cfg"));
        slw_identity_release(&identity);
        slwi_tool_answer_free(&answer);
    }
}
END_TEST

/* A clang of our own with a configuration file beside it, and another behind that. */
START_TEST(configuration_behind_clangs_own_is_no_part_of_a_key) {
    slw_error err = SLW_ERROR_INIT;
    if (access("/usr/bin/clang-16", X_OK) != 0) {
        slt_skip("configuration_behind_clangs_own_is_no_part_of_a_key", "there is no clang-16");
        return;
    }
    const char *prefix = slt_scratch();
    slt_shell("cd %s && mkdir bin lib && cp \"$(readlink -f /usr/bin/clang-16)\" bin/clang && "
              "ln -s \"$(dirname \"$(dirname \"$(readlink -f /usr/bin/clang-16)\")\")/lib/clang\" lib/clang",
              prefix);
    const char *bin = slt_path(prefix, "bin", NULL);
    char own[SLW_DIGEST_TEXT_SIZE];
    const char *config = slt_path(bin, "clang.cfg", NULL);
    slt_write_file(config, "-DX=1\n", 6, 0644);
    slt_ok(usable(bin, "clang", NULL, &err, own), &err);
    slt_write_file(config, "@more.cfg\n", 10, 0644);
    slt_write_file(slt_path(bin, "more.cfg", NULL), "-DX=1\n", 6, 0644);
    slw_error reached = SLW_ERROR_INIT;
    ck_assert_int_eq(usable(bin, "clang", NULL, &reached, NULL), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(reached.message, "@more.cfg"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/host_toolchain");
    TCase *tcase = tcase_create("toolchain");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, search_order_and_refusals);
    tcase_add_test(tcase, gcc_is_known_in_all_its_parts);
    tcase_add_test(tcase, clang_is_known_in_all_its_parts);
    tcase_add_test(tcase, the_answer_survives_its_text_form);
    tcase_add_loop_test(tcase, a_hot_open_starts_no_process, 0, 2);
    tcase_add_test(tcase, a_replaced_driver_is_asked_again);
    tcase_add_test(tcase, a_new_program_in_front_is_noticed);
    tcase_add_test(tcase, a_script_is_no_proof);
    tcase_add_test(tcase, what_is_no_compiler_is_refused);
    tcase_add_test(tcase, linker_scripts);
    tcase_add_loop_test(tcase, specs_that_come_to_be_are_noticed, 0, 5);
    tcase_add_test(tcase, specs_are_judged);
    tcase_add_test(tcase, configuration_of_clang_is_judged);
    tcase_add_test(tcase, configuration_behind_clangs_own_is_no_part_of_a_key);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
