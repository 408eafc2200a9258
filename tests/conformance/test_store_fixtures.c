/* The stores of tests/fixtures/stores under pypto.identity: what they hold is found, what was damaged is refused
 * with the same verdict, and what slipway publishes from the same files is the same to the byte, name and mode. */
#include "store_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const stores[4] = {"fixture", "mixed", "stages", "distributed"};

static slw_store *open_at(const char *root, const char *private_root, int read_only) {
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    options.domain = SLW_DOMAIN_PYPTO;
    options.read_only = read_only;
    return slk_open_options(&options);
}

/* Everything a test needs, readable by the user it runs as. */
static const char *prepare(int as_root) {
    (void)umask(022);
    const char *scratch = slt_scratch();
    ck_assert_int_eq(mkdir(slt_path(scratch, "private", NULL), 0700), 0);
    slk_fixtures_copy(scratch);
    if (!as_root) slt_become_nobody(scratch);
    return scratch;
}

/* A builder that hands out the payload of a slot: copied, its marker left out, other modes than the store's own. */
static slw_code build_copy(void *context, const slw_build_context *build, slw_error *err) {
    (void)err;
    slt_shell(
        "cp -r '%s/.' '%s/' && rm '%s/artifact_manifest.json' && "
        "find '%s' -type f -perm -0100 -exec chmod 0755 {} + && find '%s' -type f ! -perm -0100 -exec chmod 0655 {} +",
        (const char *)context, build->directory, build->directory, build->directory, build->directory);
    ck_assert_int_eq(mkdir(slt_path(build->directory, "an empty directory", NULL), 0755), 0);
    return SLW_OK;
}

static slw_builder copy_of(const char *slot) {
    slw_builder builder = SLW_BUILDER_INIT;
    static char kept[64][4096];
    static int at;
    builder.context = kept[at++ % 64];
    snprintf(builder.context, sizeof kept[0], "%s", slot);
    builder.build = build_copy;
    return builder;
}

/* ---- the stores as they are ---- */

static void expect_request(slw_store *store, const char *root, const slk_request *request) {
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    const slw_code code = slw_store_lookup(store, request->key, request->spec, &entry, &err);
    ck_assert_msg(strcmp(slk_verdict(code), request->expect) == 0, "%s: %s instead of %s: %s", request->name,
                  slk_verdict(code), request->expect, err.message);
    if (entry == NULL) return;
    ck_assert_uint_eq(slw_cached_file_count(entry), request->files);
    ck_assert_str_eq(slw_cached_directory(entry), slt_path(root, request->slot, NULL));
    slw_cached_discard(&entry);
}

static void expect_requests(int as_root, int which) {
    const char *scratch = prepare(as_root);
    char root[512];
    snprintf(root, sizeof root, "%s/store", scratch);
    slk_fixture_extract(scratch, stores[which], root);
    char *before = slk_tree(root, SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    slk_fixture *fixture = slk_fixture_load(scratch, stores[which]);
    slw_store *store = open_at(root, NULL, 0);
    for (size_t i = 0; i < slk_fixture_requests(fixture); i++) {
        slk_request request;
        slk_fixture_request(fixture, i, &request);
        expect_request(store, slw_store_root(store), &request);
        slk_request_release(&request);
    }
    slw_store_close(&store);
    char *after = slk_tree(root, SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    ck_assert_str_eq(after, before);
    free(after);
    free(before);
    slk_fixture_free(fixture);
}

START_TEST(every_request_of_a_store_has_its_verdict) {
    expect_requests(0, _i);
}
END_TEST

START_TEST(every_request_of_a_store_has_its_verdict_as_root) {
    expect_requests(1, _i);
}
END_TEST

START_TEST(a_store_of_pypto_is_empty_to_the_default_domain) {
    const char *scratch = prepare(0);
    const char *root = slt_path(scratch, "store", NULL);
    slk_fixture_extract(scratch, "fixture", root);
    slk_world world;
    slk_world_make_in(&world, SLW_DOMAIN_DEFAULT, scratch);
    snprintf(world.root, sizeof world.root, "%s", root);
    slw_store *store = slk_open(&world);
    slk_expect_verdict(&world, store, "MISS");
    slk_request request;
    slk_fixture *fixture = slk_fixture_load(scratch, "fixture");
    slk_fixture_request(fixture, 0, &request);
    ck_assert_str_eq(slk_lookup_verdict(store, request.key, request.spec), "USAGE");
    slk_request_release(&request);
    slk_fixture_free(fixture);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- the same files, published here ---- */

static void publish_copy(slw_store *store, const char *theirs, const slk_request *request) {
    const slw_builder builder = copy_of(slt_path(theirs, request->slot, NULL));
    slk_result result;
    slk_get(store, request->key, request->spec, &builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert_str_eq(slk_lookup_verdict(store, request->key, request->spec), "HIT");
}

static void expect_same_tree(const char *ours, const char *theirs) {
    char *a = slk_tree(slt_path(ours, "artifacts", NULL), SLK_TREE_MODES);
    char *b = slk_tree(slt_path(theirs, "artifacts", NULL), SLK_TREE_MODES);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}

static void publish_same(int as_root, int which) {
    const char *scratch = prepare(as_root);
    char theirs[512], ours[512];
    snprintf(theirs, sizeof theirs, "%s/theirs", scratch);
    snprintf(ours, sizeof ours, "%s/ours", scratch);
    slk_fixture_extract(scratch, stores[which], theirs);
    slk_fixture *fixture = slk_fixture_load(scratch, stores[which]);
    slw_store *store = open_at(ours, slt_path(scratch, "private", NULL), 0);
    for (size_t i = 0; i < slk_fixture_requests(fixture); i++) {
        slk_request request;
        slk_fixture_request(fixture, i, &request);
        if (strcmp(request.expect, "HIT") == 0 && !slk_exists(slt_path(ours, request.slot, NULL)))
            publish_copy(store, theirs, &request);
        slk_request_release(&request);
    }
    slw_store_close(&store);
    expect_same_tree(ours, theirs);
    /* Nothing of slipway's own in a store of a foreign domain. */
    ck_assert_uint_eq(slk_names(ours), 2);
    ck_assert(slk_exists(slt_path(ours, "artifacts", NULL)) && slk_exists(slt_path(ours, "locks", NULL)));
    ck_assert_uint_eq(slk_names(slt_path(scratch, "private", NULL)), 0);
    slk_fixture_free(fixture);
}

START_TEST(the_same_files_publish_the_same_tree) {
    publish_same(0, _i);
}
END_TEST

START_TEST(the_same_files_publish_the_same_tree_as_root) {
    publish_same(1, _i);
}
END_TEST

/* ---- damaged and accepted ---- */

/* What a case is run in. */
typedef struct bench {
    const char *scratch;
    slk_fixture *fixtures[4];
    slw_builder builders[4]; /* request 0 of each store, from an undamaged copy */
} bench;

static void bench_make(bench *out, int as_root) {
    out->scratch = prepare(as_root);
    for (int i = 0; i < 4; i++) {
        slk_request request;
        const char *good = slt_path(out->scratch, "good", stores[i], NULL);
        slk_fixture_extract(out->scratch, stores[i], good);
        out->fixtures[i] = slk_fixture_load(out->scratch, stores[i]);
        slk_fixture_request(out->fixtures[i], 0, &request);
        out->builders[i] = copy_of(slt_path(good, request.slot, NULL));
        slk_request_release(&request);
    }
}

static void bench_end(bench *b) {
    for (int i = 0; i < 4; i++) slk_fixture_free(b->fixtures[i]);
}

static int store_index(const char *name) {
    for (int i = 0; i < 4; i++)
        if (strcmp(stores[i], name) == 0) return i;
    ck_abort_msg("no store %s", name);
}

static void run_case(const bench *b, const slk_case *which, char *wrong, size_t capacity) {
    const int base = store_index(which->base);
    char root[512], private_root[512];
    snprintf(root, sizeof root, "%s/case-%s", b->scratch, which->id);
    snprintf(private_root, sizeof private_root, "%s/private", b->scratch);
    slk_fixture_extract(b->scratch, which->base, root);
    slk_request request;
    slk_fixture_request(b->fixtures[base], 0, &request);
    slk_apply(which, root, request.slot);

    slw_store *store = open_at(root, private_root, 0);
    const int descriptors = slt_open_descriptors();
    const char *verdict = slk_lookup_verdict(store, request.key, request.spec);
    slk_result result;
    slk_get(store, request.key, request.spec, &b->builders[base], &result);
    const char *disposition =
        result.code == SLW_OK ? slw_disposition_name(result.report.disposition) : slw_code_name(result.code);
    const char *failure = slw_build_failure_name(result.report.failure);
    if (failure == NULL) failure = "";
    const char *after = slk_lookup_verdict(store, request.key, request.spec);
    if (strcmp(verdict, which->verdict) != 0 || strcmp(disposition, which->disposition) != 0 ||
        strcmp(failure, which->failure) != 0 || strcmp(after, which->after) != 0) {
        const size_t used = strlen(wrong);
        snprintf(wrong + used, capacity - used, "\n%s: %s, %s/%s (%s), then %s; expected %s, %s/%s, then %s", which->id,
                 verdict, disposition, failure, result.report.reason, after, which->verdict, which->disposition,
                 which->failure, which->after);
    }
    slk_result_release(&result);
    slk_request_release(&request);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_store_close(&store);
    ck_assert_uint_eq(slk_names(private_root), 0);
    if (strcmp(which->base, "mixed") == 0) slt_shell("chmod -R u+rwX '%s' && rm -r '%s'", root, root);
}

/* Every case is run, then all that were wrong are named together. */
static void run_cases(const char *document, const char *list, int as_root, const char *all) {
    bench b;
    slk_use_memory(); /* a hundred stores a run; those above lie on the ordinary file system */
    bench_make(&b, as_root);
    slk_cases *cases = slk_cases_load(b.scratch, document, list);
    static char wrong[65536];
    wrong[0] = 0;
    for (size_t i = 0; i < slk_cases_count(cases); i++) {
        slk_case which;
        slk_case_at(cases, i, as_root, &which);
        if (all != NULL) { /* the same for every case, whatever the document says */
            snprintf(which.verdict, sizeof which.verdict, "%s", all);
            snprintf(which.after, sizeof which.after, "%s", all);
            snprintf(which.disposition, sizeof which.disposition, "PRIVATE");
            snprintf(which.failure, sizeof which.failure, "%s", all);
        }
        run_case(&b, &which, wrong, sizeof wrong);
    }
    slk_cases_free(cases);
    bench_end(&b);
    ck_assert_msg(wrong[0] == 0, "%s", wrong);
}

START_TEST(damaged_stores_have_the_same_verdicts) {
    run_cases("damaged.json", "cases", 0, NULL);
}
END_TEST

START_TEST(damaged_stores_have_the_same_verdicts_as_root) {
    if (geteuid() != 0) {
        slt_skip("damaged_stores_have_the_same_verdicts_as_root", "needs uid 0");
        return;
    }
    run_cases("damaged.json", "cases", 1, NULL);
}
END_TEST

START_TEST(accepted_stores_stay_hits) {
    run_cases("accepted.json", "cases", 0, NULL);
}
END_TEST

START_TEST(accepted_stores_stay_hits_as_root) {
    run_cases("accepted.json", "cases", 1, NULL);
}
END_TEST

START_TEST(another_textual_form_of_the_marker_is_invalid) {
    run_cases("accepted.json", "marker_text", 0, "INVALID");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store fixtures");
    TCase *as_is = tcase_create("as they are");
    tcase_set_timeout(as_is, 300);
    tcase_add_loop_test(as_is, every_request_of_a_store_has_its_verdict, 0, 4);
    tcase_add_loop_test(as_is, every_request_of_a_store_has_its_verdict_as_root, 0, 4);
    tcase_add_test(as_is, a_store_of_pypto_is_empty_to_the_default_domain);
    suite_add_tcase(suite, as_is);
    TCase *same = tcase_create("published here");
    tcase_set_timeout(same, 300);
    tcase_add_loop_test(same, the_same_files_publish_the_same_tree, 0, 4);
    tcase_add_loop_test(same, the_same_files_publish_the_same_tree_as_root, 0, 4);
    suite_add_tcase(suite, same);
    TCase *changed = tcase_create("damaged and accepted");
    tcase_set_timeout(changed, 600);
    tcase_add_test(changed, damaged_stores_have_the_same_verdicts);
    tcase_add_test(changed, damaged_stores_have_the_same_verdicts_as_root);
    tcase_add_test(changed, accepted_stores_stay_hits);
    tcase_add_test(changed, accepted_stores_stay_hits_as_root);
    tcase_add_test(changed, another_textual_form_of_the_marker_is_invalid);
    suite_add_tcase(suite, changed);
    return slt_run(suite, NULL);
}
