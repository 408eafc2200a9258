/* warm: a configuration is right as a whole or nothing is built; a line for each request, one document, exit status.
   And run --audit. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *scratch, *config, *places;
static char memo[300]; /* shared by the tests: proving the toolchain by reading it takes seconds */

static const char kernel[] = "#include <slipway/host_kernel.h>\n"
                             "SLW_HOST_KERNEL(k, SLW_HOST_PARAM(float *, values));\n"
                             "void k(const slw_host_block *b, void *const *a) {\n"
                             "    SLW_HOST_ARG(float *, a, 0)[b->index[0]] *= FACTOR;\n"
                             "}\n";

static void set_up(void) {
    static char buffer[2048];
    scratch = slt_scratch();
    snprintf(buffer, sizeof buffer, "--cache %s/cache --private %s/private --memo %s --cc /usr/bin/gcc", scratch,
             scratch, memo);
    places = buffer;
    slt_shell("mkdir '%s/conf' '%s/conf/src'", scratch, scratch);
    config = slt_path(scratch, "conf", "warm.json", NULL);
    slt_write_file(slt_path(scratch, "conf", "src", "k.c", NULL), kernel, strlen(kernel), 0644);
    slt_write_file(slt_path(scratch, "conf", "src", "bad.c", NULL), "int fine;\nint x = ;\n", 20, 0644);
}

static void write_config(const char *text) {
    slt_write_file(config, text, strlen(text), 0644);
}

static int lines_of(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

#define GOOD                                                                                                           \
    "{\"schema\": 1, \"jobs\": 2, \"requests\": [\n"                                                                   \
    "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"]},\n"                                                   \
    "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=3.0f\"], \"want\": \"private\"},\n"                            \
    "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"], \"store_binary_only\": true}]}\n"

START_TEST(cold_then_hot_from_anywhere) {
    write_config(GOOD);
    command_result r = command_run(scratch, "warm %s %s --json", config, places);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_int_eq(lines_of(r.err), 3); /* one calm line each */
    ck_assert_ptr_nonnull(strstr(r.err, "[ 3/3] "));
    ck_assert_str_eq(command_text(r.json, "requests.0.source"), "src/k.c");
    ck_assert_str_eq(command_text(r.json, "requests.0.backend"), "host");
    ck_assert_str_eq(command_text(r.json, "requests.0.status"), "PUBLISHED");
    ck_assert_str_eq(command_text(r.json, "requests.0.want"), "shared");
    ck_assert_ptr_null(command_text(r.json, "requests.0.reason"));
    ck_assert_str_eq(command_text(r.json, "requests.1.status"), "PRIVATE");
    ck_assert_str_eq(command_text(r.json, "requests.1.reason"), "ALWAYS_COMPILE");
    ck_assert_int_eq(json_object_get_boolean(command_at(r.json, "requests.1.as_wanted")), 1);
    ck_assert_str_eq(command_text(r.json, "requests.2.key"), command_text(r.json, "requests.0.key"));
    ck_assert_int_eq(command_int(r.json, "counts.published"), 2);
    ck_assert_int_eq(command_int(r.json, "counts.private"), 1);
    ck_assert_int_eq(command_int(r.json, "counts.not_as_wanted"), 0);
    command_free(&r);
    /* Again, with the path told otherwise: the same keys. And `run` finds what was warmed. */
    ck_assert_int_eq(chdir(slt_path(scratch, "conf", "src", NULL)), 0);
    r = command_run(scratch, "warm ../warm.json %s", places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_msg(strstr(r.out, "2 hits, 0 published, 1 private, 0 failed, 0 not run: all as wanted") != NULL, "%s",
                  r.out);
    command_free(&r);
    r = command_run(scratch, "run k.c --flag=-DFACTOR=2.0f --grid 4 --arg 'inout:f32[4]=iota' %s --json", places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "HIT");
    command_free(&r);
    /* And each hit is built again the same. */
    r = command_run(scratch, "warm ../warm.json %s --audit --json", places);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "audits")), 2);
    for (int i = 0; i < 2; i++) {
        char path[32];
        snprintf(path, sizeof path, "audits.%d.outcome", i);
        ck_assert_str_eq(command_text(r.json, path), "SAME");
        snprintf(path, sizeof path, "audits.%d.key", i);
        ck_assert_str_eq(command_text(r.json, path), command_text(r.json, "requests.0.key"));
    }
    command_free(&r);
    slt_shell("test -z \"$(ls -A '%s/private')\"", scratch);
}
END_TEST

START_TEST(failures_and_what_stays_private) {
    write_config("{\"schema\": 1, \"requests\": [\n"
                 "  {\"source\": \"src/bad.c\"},\n"
                 "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\", \"-frandom-seed=x\"]}]}\n");
    command_result r = command_run(scratch, "warm %s %s --json --jobs 1", config, places);
    ck_assert_msg(r.status == 1 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "requests.0.status"), "FAILED");
    ck_assert_str_eq(command_text(r.json, "requests.0.error.code"), "COMPILE_FAILED");
    ck_assert_int_eq(command_int(r.json, "requests.0.error.line"), 2);
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "requests.0.error.diagnostics"), "bad.c:2:"));
    ck_assert_str_eq(command_text(r.json, "requests.1.status"), "NOT_RUN");
    ck_assert_int_eq(command_int(r.json, "counts.not_as_wanted"), 2);
    ck_assert_int_eq(lines_of(r.err), 1);
    command_free(&r);
    r = command_run(scratch, "warm %s %s --json --jobs 1 --keep-going", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "requests.1.status"), "PRIVATE");
    ck_assert_int_eq(json_object_get_boolean(command_at(r.json, "requests.1.as_wanted")), 0);
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "requests.1.reason"), "-frandom-seed=x"));
    command_free(&r);
    r = command_run(scratch, "warm %s %s --keep-going", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.out, "bad.c:2:")); /* the compiler's words, after all */
    ck_assert_ptr_nonnull(strstr(r.out, "1 private, 1 failed, 0 not run: 2 not as wanted"));
    ck_assert_int_eq(lines_of(r.err), 2);
    command_free(&r);
}
END_TEST

START_TEST(all_that_is_wrong_and_nothing_built) {
    write_config("{\"schema\": 1, \"requests\": [\n"
                 "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"]},\n"
                 "  {\"source\": \"src/nosuch.c\"},\n"
                 "  {\"source\": \"src/k.c\", \"backend\": \"host\", \"target\": \"sm_90\"},\n"
                 "  {\"sauce\": \"src/k.c\", \"source\": \"src/k.c\"},\n"
                 "  {\"source\": \"src/../src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"]}]}\n");
    command_result r = command_run(scratch, "warm %s %s --json", config, places);
    ck_assert_msg(r.status == 1 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_SOURCE");
    static const char *const codes[] = {"INVALID_SOURCE", "UNSUPPORTED_INPUT", "INVALID_METADATA", "INVALID_METADATA"};
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "problems")), 4);
    for (int i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "problems.%d.request", i);
        ck_assert_int_eq(command_int(r.json, path), i + 1);
        snprintf(path, sizeof path, "problems.%d.error.code", i);
        ck_assert_str_eq(command_text(r.json, path), codes[i]);
        snprintf(path, sizeof path, "problems.%d.error.line", i);
        ck_assert_int_eq(command_int(r.json, path), i + 3);
        snprintf(path, sizeof path, "problems.%d.error.path", i);
        ck_assert_str_eq(command_text(r.json, path), config);
    }
    ck_assert_str_eq(command_text(r.json, "problems.3.error.reason"), "DUPLICATE");
    command_free(&r);
    r = command_run(scratch, "warm %s %s", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(r.out, "");
    ck_assert_int_eq(lines_of(r.err), 5);
    ck_assert_ptr_nonnull(strstr(r.err, "warm.json:5:"));
    ck_assert_ptr_nonnull(strstr(r.err, "nothing was built"));
    command_free(&r);
    slt_shell("test ! -e '%s/cache'", scratch);
    write_config("{\"schema\": 1, \"requests\": [");
    r = command_run(scratch, "warm %s %s --json", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "TRUNCATED");
    command_free(&r);
}
END_TEST

START_TEST(compilers) {
    write_config("{\"schema\": 1, \"compilers\": {\"host\": \"/nonexistent/cc\"}, \"requests\": [\n"
                 "  {\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"]}]}\n");
    command_result r = command_run(scratch, "warm %s %s --json", config, places); /* before --cc */
    ck_assert_msg(r.status == 3, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "error.code"), "TOOL_MISSING");
    command_free(&r);
    r = command_run(scratch, "warm %s %s --json --keep-going", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "requests.0.error.code"), "TOOL_MISSING");
    command_free(&r);
}
END_TEST

START_TEST(usage) {
    write_config(GOOD);
    static const char *const wrong[] = {"--jobs 0",   "--jobs 257",  "--jobs x",    "--jobs=1x", "--read-only",
                                        "--no-cache", "--timeout 0", "--timeout x", "--grid 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        command_result r = command_run(scratch, "warm %s %s --json %s", config, places, wrong[i]);
        ck_assert_msg(r.status == 2, "%s: %d %s", wrong[i], r.status, r.err);
        ck_assert_str_eq(command_text(r.json, "error.code"), "USAGE");
        command_free(&r);
    }
    command_result r = command_run(scratch, "warm %s --json", places);
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
    r = command_run(scratch, "warm %s/nosuch.json %s --json", scratch, places);
    ck_assert_int_eq(r.status, 4);
    ck_assert_str_eq(command_text(r.json, "error.code"), "STORAGE");
    command_free(&r);
    /* Enough time for nothing. */
    r = command_run(scratch, "warm %s %s --json --timeout 0.000001 --keep-going", config, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "requests.0.error.code"), "TIMEOUT");
    command_free(&r);
}
END_TEST

/* run --audit: a hit that is built again the same, and one whose entry somebody else's build has published. */
START_TEST(run_audits) {
    static const char how[] = "--flag=-DFACTOR=2.0f --grid 4 --arg 'inout:f32[4]=iota' --json --audit";
    const char *source = slt_path(scratch, "conf", "src", "k.c", NULL);
    command_result r = command_run(scratch, "run %s %s %s", source, how, places);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_ptr_null(command_at(r.json, "audit")); /* built: there is nothing to compare it with */
    char key[80];
    snprintf(key, sizeof key, "%s", command_text(r.json, "key"));
    command_free(&r);
    r = command_run(scratch, "run %s %s %s", source, how, places);
    ck_assert_str_eq(command_text(r.json, "audit.outcome"), "SAME");
    ck_assert_ptr_null(command_at(r.json, "audit.error"));
    command_free(&r);

    r = command_run(scratch, "show %s %s --json", key, places);
    ck_assert_msg(r.status == 0, "%s %s", r.out, r.err);
    struct json_object *environment = NULL;
    json_object_deep_copy(command_at(r.json, "record.environment"), &environment, NULL);
    json_object_object_del(environment, "schema");
    char request[4096];
    snprintf(request, sizeof request,
             "{\"components\":%s,\"source\":\"%s\",\"specialization\":\"%s\",\"state\":\"ready\",\"build_kind\":"
             "\"single_chip\",\"required_files\":[\"kernel.o\",\"kernel.so\",\"slipway.json\"]}",
             json_object_to_json_string(environment), command_text(r.json, "record.source"),
             command_text(r.json, "record.specialization"));
    json_object_put(environment);
    const char *other = slt_path(scratch, "other", NULL);
    slt_shell("cp -r '%s' '%s' && chmod -R u+w '%s' && rm '%s/artifact_manifest.json'",
              command_text(r.json, "directory"), other, other, other);
    command_free(&r);
    slt_shell("printf X >> '%s/kernel.o'; rm -rf '%s/cache'", other, scratch);
    const char *path = slt_path(scratch, "request.json", NULL);
    slt_write_file(path, request, strlen(request), 0644);
    r = command_run(scratch, "put %s %s %s --json", path, other, places);
    ck_assert_msg(r.status == 0, "%s %s", r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "key"), key);
    command_free(&r);
    r = command_run(scratch, "run %s %s %s", source, how, places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err); /* the hit is launched all the same */
    ck_assert_str_eq(command_text(r.json, "disposition"), "HIT");
    ck_assert_str_eq(command_text(r.json, "audit.outcome"), "DIFFERS");
    ck_assert_str_eq(command_text(r.json, "audit.error.reason"), "NOT_REPRODUCED");
    ck_assert_str_eq(command_text(r.json, "audit.error.subject"), "kernel.o");
    ck_assert_int_eq(command_int(r.json, "audit.error.limit"), command_int(r.json, "audit.error.required") + 1);
    command_free(&r);
    /* A warm-up that audits it says so, and is not done well. */
    write_config("{\"schema\": 1, \"requests\": [{\"source\": \"src/k.c\", \"flags\": [\"-DFACTOR=2.0f\"]}]}");
    r = command_run(scratch, "warm %s %s --audit", config, places);
    ck_assert_msg(r.status == 1, "%d %s %s", r.status, r.out, r.err);
    ck_assert_msg(strstr(r.out, "audit DIFFERS") != NULL && strstr(r.out, "kernel.o") != NULL, "%s", r.out);
    command_free(&r);
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    if (access("/usr/bin/gcc", X_OK) != 0) {
        slt_skip("command: warm", "no /usr/bin/gcc");
        return EXIT_SUCCESS;
    }
    const char *base = getenv("TMPDIR");
    snprintf(memo, sizeof memo, "%s/slipway-memo-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo) == NULL) return EXIT_FAILURE;
    Suite *suite = suite_create("command: warm");
    TCase *tc = tcase_create("warm");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, cold_then_hot_from_anywhere);
    tcase_add_test(tc, failures_and_what_stays_private);
    tcase_add_test(tc, all_that_is_wrong_and_nothing_built);
    tcase_add_test(tc, compilers);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, run_audits);
    suite_add_tcase(suite, tc);
    const int status = slt_run(suite, NULL);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", memo);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
