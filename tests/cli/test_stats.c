/* stats: what lies in the cache, told without a lock and without a write. And the files that run writes about
 * itself. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "openmetrics.h"

static const char *scratch, *places, *sources;
static char cache[300];
static char memo[300]; /* shared by the tests: proving the toolchain by reading it takes seconds */

#define SAXPY "--grid 4 --block 256 --arg u64=1000 --arg f32=2 --arg 'f32[1000]=iota' --arg 'inout:f32[1000]=const:1'"

static void set_up(void) {
    static char buffer[2048];
    scratch = slt_scratch();
    snprintf(cache, sizeof cache, "%s/cache", scratch);
    snprintf(buffer, sizeof buffer, "--cache %s --private %s/private --memo %s", cache, scratch, memo);
    places = buffer;
    sources = slt_fixture("../../examples/kernels");
}

/* Publishes an entry of one file of `size` bytes and, with a backend, a slipway.json that names it and the target. */
static void put(unsigned number, unsigned size, const char *backend, const char *target) {
    const char *directory = slt_path(scratch, "outputs", NULL);
    char text[1024];
    slt_shell("rm -rf '%s'; mkdir '%s'; head -c %u /dev/zero >'%s/kernel.bin'", directory, directory, size, directory);
    if (backend != NULL) {
        const int used =
            snprintf(text, sizeof text, "{\"backend\":\"%s\",\"target\":\"%s\",\"name\":\"n\"}", backend, target);
        slt_write_file(slt_path(directory, "slipway.json", NULL), text, (size_t)used, 0644);
    }
    const int used = snprintf(text, sizeof text,
                              "{\"components\":{\"tool\":\"%064x\"},\"source\":\"%064x\",\"specialization\":\"%064x\","
                              "\"state\":\"%s\",\"build_kind\":\"single_chip\",\"required_files\":[\"kernel.bin\"]}",
                              1u, 2u, number + 16, number % 2 == 0 ? "ready" : "generated");
    slt_write_file(slt_path(scratch, "request.json", NULL), text, (size_t)used, 0644);
    slt_shell("HOME='%s' '%s' put '%s/request.json' '%s' %s --json | grep -q PUBLISHED", scratch, command_path, scratch,
              directory, places);
}

static command_result stats(const char *more) {
    return command_run(scratch, "stats %s %s", places, more);
}

START_TEST(an_absent_cache_is_empty) {
    command_result r = stats("--json");
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_int_eq(command_int(r.json, "entries"), 0);
    ck_assert_int_eq(command_int(r.json, "size_bytes"), 0);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "by_target")), 0);
    ck_assert_ptr_null(command_at(r.json, "oldest_used_ns"));
    command_free(&r);
    r = stats("");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, cache));
    command_free(&r);
    r = stats("--openmetrics");
    ck_assert_int_eq(r.status, 0);
    om_text *om = om_parse(r.out, strlen(r.out));
    ck_assert(om_value(om, "slipway_store_slots{status=\"HIT\"}") == 0);
    om_free(om);
    command_free(&r);
    ck_assert_int_ne(access(cache, F_OK), 0);
}
END_TEST

static void put_five(void) {
    put(0, 100, "cuda", "sm_90");
    put(1, 200, "cuda", "sm_90");
    put(2, 1000, "hip", "gfx942:sramecc+:xnack-");
    put(3, 5, NULL, NULL);
    put(4, 7, "a\\\"b\\\\c\\nd", "x");
}

static struct json_object *target_of(struct json_object *json, const char *backend) {
    struct json_object *all = command_at(json, "by_target");
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *at = json_object_array_get_idx(all, i);
        const char *name = command_text(at, "backend");
        if ((name == NULL) == (backend == NULL) && (name == NULL || strcmp(name, backend) == 0)) return at;
    }
    ck_abort_msg("%s is not there", backend);
}

START_TEST(by_target_state_and_age) {
    put_five();
    command_result r = stats("--json");
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "root"), cache);
    ck_assert_int_eq(command_int(r.json, "entries"), 5);
    ck_assert_int_eq(command_int(r.json, "counts.HIT"), 5);
    ck_assert_int_eq(command_int(r.json, "files"), 9);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "by_target")), 4);
    struct json_object *cuda = target_of(r.json, "cuda");
    ck_assert_str_eq(command_text(cuda, "target"), "sm_90");
    ck_assert_int_eq(command_int(cuda, "entries"), 2);
    ck_assert_int_eq(command_int(cuda, "files"), 4);
    ck_assert_int_eq(command_int(target_of(r.json, NULL), "size_bytes"), 5);
    ck_assert_int_eq(command_int(target_of(r.json, "a\"b\\c\nd"), "entries"), 1);
    ck_assert_int_eq(command_int(r.json, "by_state.0.entries"), 2);
    ck_assert_int_eq(command_int(r.json, "by_state.1.entries"), 3);
    ck_assert_str_eq(command_text(r.json, "by_age.0.age"), "1h");
    ck_assert_int_eq(command_int(r.json, "by_age.0.within_ns"), 3600000000000);
    ck_assert_int_gt(command_int(r.json, "newest_used_ns"), 0);
    ck_assert_int_le(command_int(r.json, "oldest_used_ns"), command_int(r.json, "newest_used_ns"));
    int64_t aged = 0;
    for (int i = 0; i < 7; i++) {
        char path[32];
        snprintf(path, sizeof path, "by_age.%d.entries", i);
        aged += command_int(r.json, path);
    }
    ck_assert_int_eq(aged, 5);
    ck_assert_int_eq(command_int(r.json, "by_age.0.entries"), 5);
    /* The sums are those of ls. */
    command_result ls = command_run(scratch, "ls %s --json", places);
    int64_t bytes = 0;
    for (size_t i = 0; i < 5; i++) {
        char path[40];
        snprintf(path, sizeof path, "entries.%zu.size_bytes", i);
        bytes += command_int(ls.json, path);
    }
    ck_assert_int_eq(command_int(r.json, "size_bytes"), bytes);
    command_free(&ls);
    command_free(&r);
    r = stats("");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "sm_90"));
    ck_assert_ptr_nonnull(strstr(r.out, "within 1h"));
    ck_assert_ptr_null(strstr(r.out, "INVALID"));
    command_free(&r);
}
END_TEST

START_TEST(openmetrics) {
    put_five();
    command_result r = stats("--openmetrics");
    ck_assert_msg(r.status == 0, "%d %s", r.status, r.err);
    om_text *om = om_parse(r.out, strlen(r.out));
    ck_assert(om_value(om, "slipway_store_entries{backend=\"cuda\",target=\"sm_90\"}") == 2);
    ck_assert(om_value(om, "slipway_store_files{backend=\"cuda\",target=\"sm_90\"}") == 4);
    ck_assert(om_value(om, "slipway_store_bytes") == 5);
    ck_assert(om_value(om, "slipway_store_entries{backend=\"a\"b\\c\nd\",target=\"x\"}") == 1);
    ck_assert(om_value(om, "slipway_store_state_entries{state=\"ready\"}") == 3);
    ck_assert(om_value(om, "slipway_store_age_entries{last_used=\"1h\"}") == 5);
    ck_assert(om_value(om, "slipway_store_slots{status=\"INVALID\"}") == 0);
    char info[400];
    snprintf(info, sizeof info, "slipway_store_info{root=\"%s\"}", cache);
    ck_assert(om_value(om, info) == 1);
    om_free(om);
    command_free(&r);
}
END_TEST

/* Nothing changes, no lock is asked for: every lock is held meanwhile, and everything is read-only. */
START_TEST(looks_only) {
    put_five();
    slt_shell("cd '%s' && chmod -R a-w cache && find cache -printf '%%p %%y %%m %%s %%T@ %%C@ %%i\\n' | sort >before",
              scratch);
    slt_shell("cd '%s' && for l in cache/locks/*; do flock -x \"$l\" sleep 30 & echo $! >>holders; done; sleep 0.3",
              scratch);
    static const char *const forms[] = {"", "--json", "--openmetrics"};
    for (size_t i = 0; i < 3; i++) {
        command_result r = stats(forms[i]);
        ck_assert_msg(r.status == 0, "%d %s", r.status, r.err);
        command_free(&r);
    }
    slt_shell("cd '%s' && for p in $(cat holders); do kill $p || exit 1; done", scratch); /* they were held all along */
    slt_shell("cd '%s' && find cache -printf '%%p %%y %%m %%s %%T@ %%C@ %%i\\n' | sort | cmp - before", scratch);
    slt_shell("cd '%s' && chmod -R u+w cache", scratch);
}
END_TEST

/* What is no hit is counted apart and has no size; a slipway.json that is none is none. */
START_TEST(damage) {
    put_five();
    slt_shell(
        "cd '%s' && chmod -R u+w cache && touch \"$(dirname \"$(find cache/artifacts -name kernel.bin -size -8c | "
        "head -1)\")/extra\"",
        scratch);
    command_result r = stats("--json");
    ck_assert_msg(r.status == 0, "%d %s", r.status, r.err);
    ck_assert_int_eq(command_int(r.json, "entries"), 4);
    ck_assert_int_eq(command_int(r.json, "counts.INVALID"), 1);
    command_free(&r);
    r = stats("");
    ck_assert_ptr_nonnull(strstr(r.out, "1 INVALID"));
    command_free(&r);
    if (geteuid() != 0) return;
    slt_become_nobody(scratch);
    slt_shell("cd '%s' && chmod 000 \"$(find cache/artifacts -name artifact_manifest.json | head -1)\"", scratch);
    r = stats("--json");
    ck_assert_int_eq(r.status, 4); /* as of ls, with the document */
    ck_assert_int_eq(command_int(r.json, "counts.STORAGE_ERROR"), 1);
    command_free(&r);
}
END_TEST

START_TEST(more_targets_than_are_told_apart) {
    for (unsigned i = 0; i < 260; i++) {
        char target[32];
        snprintf(target, sizeof target, "t%u", i);
        put(i, 1, "made_up", target);
    }
    command_result r = stats("--json");
    ck_assert_msg(r.status == 0, "%d %s", r.status, r.err);
    struct json_object *all = command_at(r.json, "by_target");
    ck_assert_uint_eq(json_object_array_length(all), 257);
    int64_t sum = 0;
    for (size_t i = 0; i < 257; i++) sum += command_int(json_object_array_get_idx(all, i), "entries");
    ck_assert_int_eq(sum, 260);
    ck_assert_int_eq(json_object_get_boolean(command_at(r.json, "by_target.256.overflow")), 1);
    command_free(&r);
    r = stats("--openmetrics");
    om_text *om = om_parse(r.out, strlen(r.out));
    ck_assert(om_value(om, "slipway_store_entries{backend=\"other\",overflow=\"true\",target=\"other\"}") == 4);
    om_free(om);
    command_free(&r);
}
END_TEST

START_TEST(usage) {
    static const char *const bad[] = {"stats --json --openmetrics", "stats argument", "ls --openmetrics",
                                      "stats --metrics f", "stats --no-cache"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        command_result r = command_run(scratch, "%s %s", bad[i], places);
        ck_assert_msg(r.status == 2, "%s: %d %s", bad[i], r.status, r.out);
        ck_assert_str_eq(i == 0 ? "" : r.out, "");
        command_free(&r);
    }
    command_result r = command_run(scratch, "--help");
    ck_assert_ptr_nonnull(strstr(r.out, "  stats "));
    ck_assert_ptr_nonnull(strstr(r.out, "--openmetrics"));
    ck_assert_ptr_nonnull(strstr(r.out, "--trace"));
    command_free(&r);
    if (access("/dev/full", W_OK) == 0) {
        static const char *const forms[] = {"", "--json", "--openmetrics"};
        put(0, 1, NULL, NULL);
        for (size_t i = 0; i < 3; i++)
            slt_shell("'%s' stats %s %s >/dev/full 2>/dev/null; test $? = 4", command_path, places, forms[i]);
    }
}
END_TEST

/* ---- the files of run -------------------------------------------------------------------------------------------- */

static struct json_object *parse_file(const char *name) {
    char *text = slt_read_file(slt_path(scratch, name, NULL), NULL);
    struct json_object *json = json_tokener_parse(text);
    ck_assert_msg(json != NULL, "%s: %s", name, text);
    free(text);
    return json;
}

static om_text *parse_exposition(const char *name) {
    size_t size = 0;
    char *text = slt_read_file(slt_path(scratch, name, NULL), &size);
    om_text *om = om_parse(text, size);
    free(text);
    return om;
}

/* The complete event of a phase, or NULL. */
static struct json_object *span(struct json_object *trace, const char *phase, const char *name) {
    struct json_object *events = command_at(trace, "traceEvents");
    for (size_t i = 0; i < json_object_array_length(events); i++) {
        struct json_object *at = json_object_array_get_idx(events, i);
        if (strcmp(command_text(at, "ph"), "X") == 0 && strcmp(command_text(at, "args.phase"), phase) == 0 &&
            strcmp(command_text(at, "name"), name) == 0)
            return at;
    }
    return NULL;
}

static double number(struct json_object *at, const char *name) {
    return json_object_get_double(command_at(at, name));
}

START_TEST(files_of_a_cold_and_a_hot_run) {
    command_result r = command_run(scratch, "run %s/saxpy.c %s --json " SAXPY " --metrics %s/m.prom --trace %s/t.json",
                                   sources, places, scratch, scratch);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    om_text *om = parse_exposition("m.prom");
    double stages = 0, first = 0, misses = 0;
    for (size_t i = 0; i < om->sample_count; i++) {
        const om_sample *at = &om->samples[i];
        if (strcmp(at->name, "slipway_transitions_total") != 0) continue;
        if (strstr(at->labels, "phase=\"stage\"") != NULL) stages += at->value;
        if (strstr(at->labels, "phase=\"first_launch\"") != NULL) first += at->value;
        if (strstr(at->labels, "outcome=\"MISS\",phase=\"lookup\"") != NULL) misses += at->value;
    }
    ck_assert(stages == 2 && first == 1 && misses == 1);
    om_free(om);
    struct json_object *trace = parse_file("t.json");
    struct json_object *compile = span(trace, "compile", "compile");
    ck_assert_ptr_nonnull(compile);
    ck_assert_str_eq(command_text(compile, "args.key"), command_text(r.json, "key"));
    ck_assert_str_eq(command_text(compile, "args.outcome"), "PUBLISHED");
    static const char *const names[] = {"object", "shared_object"};
    for (size_t i = 0; i < 2; i++) {
        struct json_object *stage = span(trace, "stage", names[i]);
        ck_assert_ptr_nonnull(stage);
        ck_assert(number(stage, "ts") >= number(compile, "ts"));
        ck_assert(number(stage, "ts") + number(stage, "dur") <= number(compile, "ts") + number(compile, "dur") + 0.001);
        ck_assert_int_eq(command_int(stage, "tid"), command_int(compile, "tid"));
    }
    json_object_put(trace);
    command_free(&r);

    r = command_run(scratch, "run %s/saxpy.c %s --json " SAXPY " --metrics %s/m.json --trace %s/t.json", sources,
                    places, scratch, scratch);
    ck_assert_str_eq(command_text(r.json, "disposition"), "HIT");
    ck_assert_str_eq(command_text(r.json, "phases.1.outcome"), "SKIPPED");
    command_free(&r);
    struct json_object *metrics = parse_file("m.json");
    ck_assert_int_eq(command_int(metrics, "hit_ratio.0.hits"), 1);
    ck_assert_str_eq(command_text(metrics, "hit_ratio.0.backend"), "host");
    ck_assert_uint_eq(json_object_array_length(command_at(metrics, "lowering")), 0);
    ck_assert_int_eq(command_int(metrics, "creation_to_first_launch.0.count"), 1);
    json_object_put(metrics);
    trace = parse_file("t.json");
    ck_assert_ptr_null(span(trace, "compile", "compile"));
    ck_assert_str_eq(command_text(span(trace, "lookup", "lookup"), "args.outcome"), "HIT");
    json_object_put(trace);
}
END_TEST

/* A run that fails is told too; files that cannot be written are a failure, after the result. */
START_TEST(files_of_failures) {
    const char *bad = slt_path(scratch, "bad.c", NULL);
    slt_write_file(bad, "int y = ;\n", 10, 0644);
    command_result r =
        command_run(scratch, "run %s %s --json --metrics %s/m.txt --trace %s/t.json", bad, places, scratch, scratch);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "COMPILE_FAILED");
    command_free(&r);
    om_text *om = parse_exposition("m.txt");
    ck_assert(om_value(om, "slipway_errors_total{backend=\"host\",code=\"COMPILE_FAILED\",phase=\"compile\"}") == 1);
    om_free(om);
    struct json_object *trace = parse_file("t.json");
    ck_assert_str_eq(command_text(span(trace, "compile", "compile"), "args.code"), "COMPILE_FAILED");
    json_object_put(trace);
    r = command_run(scratch, "run %s/saxpy.c %s --json " SAXPY " --metrics %s/absent/m --trace %s/t2.json", sources,
                    places, scratch, scratch);
    ck_assert_int_eq(r.status, 4);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PUBLISHED");
    ck_assert_ptr_nonnull(strstr(r.err, "absent/m"));
    command_free(&r);
    json_object_put(parse_file("t2.json"));
    if (access("/dev/full", W_OK) != 0) return;
    r = command_run(scratch, "run %s/saxpy.c %s --json " SAXPY " --trace /dev/full", sources, places);
    ck_assert_int_eq(r.status, 4);
    command_free(&r);
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    const char *base = getenv("TMPDIR");
    snprintf(memo, sizeof memo, "%s/slipway-memo-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo) == NULL) return EXIT_FAILURE;
    Suite *suite = suite_create("command: stats");
    TCase *tc = tcase_create("stats");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, an_absent_cache_is_empty);
    tcase_add_test(tc, by_target_state_and_age);
    tcase_add_test(tc, openmetrics);
    tcase_add_test(tc, looks_only);
    tcase_add_test(tc, damage);
    tcase_add_test(tc, more_targets_than_are_told_apart);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, files_of_a_cold_and_a_hot_run);
    tcase_add_test(tc, files_of_failures);
    suite_add_tcase(suite, tc);
    const int status = slt_run(suite, NULL);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", memo);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
