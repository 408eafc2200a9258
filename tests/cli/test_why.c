/* why: a request or an entry against the nearest entries of the cache. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *scratch, *places, *kernel;
static char memo[300]; /* shared by the tests: proving the toolchain by reading it takes seconds */

#define ARGUMENTS                                                                                                      \
    "--grid 4 --block 256 --arg u64=1000 --arg f32=2 --arg 'f32[1000]=iota' --arg 'inout:f32[1000]=const:1'"

static void set_up(void) {
    static char buffer[2048];
    scratch = slt_scratch();
    snprintf(buffer, sizeof buffer, "--cc /usr/bin/gcc --cache %s/cache --private %s/private --memo %s", scratch,
             scratch, memo);
    places = buffer;
    kernel = slt_path(scratch, "saxpy.c", NULL);
    slt_shell("cp %s/saxpy.c %s", slt_fixture("../../examples/kernels"), kernel);
}

/* Runs it once and gives the key, malloc'ed. */
static char *run_key(const char *more) {
    command_result r = command_run(scratch, "run %s %s --json %s " ARGUMENTS, kernel, places, more);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    char *key = strdup(command_text(r.json, "key"));
    command_free(&r);
    return key;
}

static command_result why(const char *what, const char *more, int status) {
    command_result r = command_run(scratch, "why %s %s --json %s", what, places, more);
    ck_assert_msg(r.status == status && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    return r;
}

/* The one field that differs from the nearest entry, and its values; NULL: null. */
static void check_only(const command_result *r, const char *key, const char *field, const char *old_value,
                       const char *new_value) {
    ck_assert_str_eq(command_text(r->json, "nearest.0.key"), key);
    ck_assert_msg(json_object_array_length(command_at(r->json, "nearest.0.differences")) == 1, "%s", r->out);
    ck_assert_str_eq(command_text(r->json, "nearest.0.differences.0.field"), field);
    ck_assert_int_eq(command_int(r->json, "nearest.0.left_out"), 0);
    const char *const said[2] = {command_text(r->json, "nearest.0.differences.0.old"),
                                 command_text(r->json, "nearest.0.differences.0.new")};
    const char *const expected[2] = {old_value, new_value};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(said[i] == NULL, expected[i] == NULL);
        if (said[i] == NULL) continue;
        if (strcmp(expected[i], "#") == 0)
            ck_assert_uint_eq(strspn(said[i], "0123456789abcdef"), 64);
        else
            ck_assert_str_eq(said[i], expected[i]);
    }
}

START_TEST(a_file) {
    command_result r = why(kernel, "", 1);
    ck_assert_str_eq(command_text(r.json, "status"), "MISS");
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "nearest")), 0);
    char *missed = strdup(command_text(r.json, "key"));
    command_free(&r);

    char *key = run_key("");
    ck_assert_str_eq(key, missed); /* of two processes, each with its own addresses */
    r = why(kernel, "", 0);
    ck_assert_str_eq(command_text(r.json, "status"), "HIT");
    ck_assert_str_eq(command_text(r.json, "key"), key);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "nearest")), 0);
    command_free(&r);

    r = why(kernel, "--flag=-DX=1", 1);
    ck_assert_str_eq(command_text(r.json, "status"), "MISS");
    ck_assert_str_eq(command_text(r.json, "nearest.0.name"), "saxpy.c");
    ck_assert_str_eq(command_text(r.json, "nearest.0.backend"), "host");
    check_only(&r, key, "options.options[0]", NULL, "-DX=1");
    command_free(&r);

    char field[400];
    snprintf(field, sizeof field, "--include %s", scratch);
    r = why(kernel, field, 1);
    ck_assert_str_eq(command_text(r.json, "nearest.0.differences.0.field"), "source.include_roots[0]");
    command_free(&r);

    slt_shell("echo '/* */' >> %s", kernel);
    r = why(kernel, "", 1);
    check_only(&r, key, "source.sha256", "#", "#");
    command_free(&r);
    free(missed);
    free(key);
}
END_TEST

START_TEST(a_key) {
    char *first = run_key(""), *second = run_key("--flag=-DX=1");
    ck_assert_str_ne(first, second);
    for (int i = 0; i < 2; i++) {
        char begin[64 + 1];
        snprintf(begin, sizeof begin, "%.*s", i == 0 ? 64 : 12, second);
        command_result r = why(begin, "", 0);
        ck_assert_str_eq(command_text(r.json, "status"), "ENTRY");
        ck_assert_str_eq(command_text(r.json, "key"), second);
        check_only(&r, first, "options.options[0]", NULL, "-DX=1");
        command_free(&r);
    }
    command_result r = why("0000000000000000", "", 1);
    ck_assert_str_eq(command_text(r.json, "status"), "MISS");
    ck_assert_ptr_null(command_text(r.json, "key"));
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "nearest")), 0);
    command_free(&r);
    free(first);
    free(second);
}
END_TEST

START_TEST(private_and_refused) {
    command_result r = why(kernel, "--flag=-fplugin=x", 1);
    ck_assert_str_eq(command_text(r.json, "status"), "PRIVATE");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "reason"), "-fplugin=x"));
    ck_assert_ptr_null(command_text(r.json, "key"));
    command_free(&r);
    r = why("absent.c", "", 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_SOURCE");
    command_free(&r);
    r = why("readme.txt", "", 3);
    ck_assert_str_eq(command_text(r.json, "error.code"), "UNSUPPORTED");
    command_free(&r);
    r = why(kernel, "--no-cache", 2);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "NO_CACHE");
    command_free(&r);
    r = command_run(scratch, "why --json");
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
    r = why(kernel, "--target sm_90", 3);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "NO_BACKEND");
    command_free(&r);
}
END_TEST

/* For people: a few lines. */
START_TEST(as_text) {
    char *key = run_key("");
    command_result r = command_run(scratch, "why %s %s --flag=-DX=1", kernel, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.out, "saxpy.c is not in the cache: "));
    ck_assert_ptr_nonnull(strstr(r.out, "compared with 1 entry, the nearest first, old -> new:\n"));
    char line[200];
    snprintf(line, sizeof line, "  %.16s  saxpy.c, host ", key);
    ck_assert_ptr_nonnull(strstr(r.out, line));
    ck_assert_ptr_nonnull(strstr(r.out, ": 1 field differs\n    options.options[0]: (none) -> -DX=1\n"));
    command_free(&r);
    r = command_run(scratch, "why %s %s", kernel, places);
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "saxpy.c is in the cache: "));
    command_free(&r);
    r = command_run(scratch, "why 00001111 %s", places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(r.out, "no entry of the cache has a key that begins with 00001111\n");
    command_free(&r);
    free(key);
}
END_TEST

/* Nothing of the cache changes, and no process is started where the memo knows the compiler. */
START_TEST(nothing_is_written_and_nothing_started) {
    free(run_key(""));
    slt_shell("cd %s && find cache -printf '%%p %%m %%s %%T@ %%C@\\n' | sort > before", scratch);
    command_result r = why(kernel, "--flag=-DX=1", 1);
    command_free(&r);
    r = why(kernel, "", 0);
    command_free(&r);
    slt_shell("cd %s && find cache -printf '%%p %%m %%s %%T@ %%C@\\n' | sort | cmp - before", scratch);
    if (system("strace -qq -o /dev/null true 2>/dev/null") != 0) {
        slt_skip("nothing_is_written_and_nothing_started", "ptrace is not allowed here");
        return;
    }
    slt_shell("HOME=%s strace -f -qq -e trace=execve -o %s/trace %s why %s %s >/dev/null; "
              "test $(grep -c 'execve.* = 0$' %s/trace) = 1",
              scratch, scratch, command_path, kernel, places, scratch);
}
END_TEST

/* Without and with addresses made at random: one key. */
START_TEST(addresses_are_in_no_key) {
    if (system("setarch -R true 2>/dev/null") != 0) {
        slt_skip("addresses_are_in_no_key", "setarch cannot switch it off here");
        return;
    }
    slt_shell("for how in '' 'setarch -R'; do HOME=%s $how %s why %s %s --flag=-DX=1 --json; done | "
              "grep -o '\"key\":\"[0-9a-f]*\"' | sort -u > %s/keys; test $(wc -l < %s/keys) = 1",
              scratch, command_path, kernel, places, scratch, scratch);
}
END_TEST

int main(int argc, char **argv) {
    Suite *suite = suite_create("slipway why");
    TCase *tests = tcase_create("why");
    command_use(argc, argv);
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, a_file);
    tcase_add_test(tests, a_key);
    tcase_add_test(tests, private_and_refused);
    tcase_add_test(tests, as_text);
    tcase_add_test(tests, nothing_is_written_and_nothing_started);
    tcase_add_test(tests, addresses_are_in_no_key);
    suite_add_tcase(suite, tests);
    const char *base = getenv("TMPDIR");
    snprintf(memo, sizeof memo, "%s/slipway-memo-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo) == NULL) return EXIT_FAILURE;
    const int status = slt_run(suite, NULL);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", memo);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
