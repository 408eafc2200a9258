/* Private directories: who owns one, how long it stays, what a builder is given, and builds from a directory of the caller's. */
#include "store_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_world(slk_world *world) {
    slk_world_make(world, SLW_DOMAIN_DEFAULT);
}

START_TEST(the_last_owner_of_a_private_build_removes_it) {
    slk_world world;
    a_world(&world);
    slw_store *store = slk_open_read_only(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_NONE);
    char directory[512];
    snprintf(directory, sizeof directory, "%s", result.report.private_directory);
    ck_assert_str_eq(slw_cached_directory(result.entry), directory);
    ck_assert_uint_eq(slk_mode(directory), 0700);
    slw_store_close(&store);
    if (_i == 0)
        slw_cached_discard(&result.entry);
    else
        slw_build_report_release(&result.report);
    ck_assert(slk_exists(directory));
    if (_i != 0) slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result); /* the other one */
    ck_assert(!slk_exists(directory));
    ck_assert_int_eq(atomic_load(&world.build.released), 1);
    slk_world_end(&world);
}
END_TEST

START_TEST(two_builds_never_share_a_directory) {
    slk_world world;
    a_world(&world);
    slw_store *store = slk_open_read_only(&world);
    slk_result first, second;
    slk_world_get(&world, store, &first);
    slk_world_get(&world, store, &second);
    ck_assert_str_ne(first.report.private_directory, second.report.private_directory);
    slk_result_release(&first);
    slk_expect_files(second.entry, slk_fixture_files, 2);
    slk_result_release(&second);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(directories_stay_when_they_are_to_be_kept) {
    slk_world world;
    a_world(&world);
    slw_store_options options = slk_options(&world);
    options.keep_failed_builds = _i & 1;
    options.keep_private_builds = (_i >> 1) & 1;
    slw_store *store = slk_open_options(&options);
    slk_result result;
    world.build.file_count = 1; /* a required file is missing */
    slk_world_get(&world, store, &result);
    ck_assert_int_eq(result.code, SLW_E_INVALID_SOURCE);
    slk_result_release(&result);
    const size_t failed = slk_names(world.private_root);
    if (options.keep_failed_builds)
        ck_assert_uint_eq(failed, 1);
    else if (!options.keep_private_builds)
        ck_assert_uint_eq(failed, 0);
    world.build.file_count = 2;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slk_names(world.private_root), failed + (options.keep_private_builds ? 1 : 0));
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- what a builder is given ---- */

typedef struct given {
    const slk_world *world;
    slw_cancel *cancel;
    uint64_t begin_ns;
    uint64_t deadline_ns;
} given;

static slw_code look_at_context(slk_build *self, const slw_build_context *build, slw_error *err) {
    given *g = self->context;
    (void)err;
    ck_assert_uint_eq(build->size, sizeof *build);
    ck_assert_int_eq(build->directory[0], '/');
    ck_assert_uint_eq(slk_names(build->directory), 0);
    ck_assert_uint_eq(slk_mode(build->directory), 0700);
    ck_assert_int_eq(strncmp(build->directory, g->world->private_root, strlen(g->world->private_root)), 0);
    ck_assert_ptr_eq(build->cancel, g->cancel);
    g->deadline_ns = build->deadline_ns;
    return SLW_OK;
}

START_TEST(a_builder_gets_a_directory_a_deadline_and_the_token) {
    slk_world world;
    slw_error err = SLW_ERROR_INIT;
    a_world(&world);
    given g = {.world = &world};
    slt_ok(slw_cancel_create(NULL, &g.cancel, &err), &err);
    world.build.before = look_at_context;
    world.build.context = &g;
    world.builder.timeout_ns = _i == 0 ? 5000000000u : _i == 1 ? 0 : SLW_NO_TIMEOUT;
    slw_store_options options = slk_options(&world);
    options.cancel = g.cancel;
    options.build_timeout_ns = 7000000000u;
    slw_store *store = slk_open_options(&options);
    g.begin_ns = slwi_os_real()->now_ns(slwi_os_real());
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    if (_i == 2) {
        ck_assert_uint_eq(g.deadline_ns, UINT64_MAX);
    } else {
        const uint64_t timeout_ns = _i == 0 ? 5000000000u : 7000000000u;
        ck_assert_uint_ge(g.deadline_ns, g.begin_ns + timeout_ns);
        ck_assert_uint_lt(g.deadline_ns, g.begin_ns + timeout_ns + 60000000000u);
    }
    slw_store_close(&store);
    slw_cancel_release(&g.cancel);
    slk_world_end(&world);
}
END_TEST

/* ---- a builder's own manifest, and a directory of the caller's ---- */

START_TEST(a_builders_own_manifest_is_dropped) {
    slk_world world;
    a_world(&world);
    static const slk_file files[4] = {{"artifact_manifest.json", "not ours", 8, 0644},
                                      {"kernel/artifact_manifest.json", "{}", 2, 0644},
                                      {"kernel/source.pto", "generated code", 14, 0644},
                                      {"kernel_config.py", "KERNELS = []\n", 13, 0644}};
    world.build.files = files;
    world.build.file_count = 4;
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect_files(result.entry, files + 1, 3);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

static slw_builder from_directory(const char *directory) {
    slw_builder builder = SLW_BUILDER_INIT;
    builder.directory = directory;
    return builder;
}

START_TEST(a_directory_of_the_caller_is_used_in_place_and_never_changed) {
    slk_world world;
    a_world(&world);
    char directory[300];
    snprintf(directory, sizeof directory, "%s/mine", world.scratch);
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    slk_write_files(directory, slk_fixture_files, 2);
    char *before = slk_tree(directory, SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    const slw_builder builder = from_directory(directory);
    slw_store *store = slk_open(&world), *reader = slk_open_read_only(&world);
    slk_result result;
    slk_get(reader, world.key, world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_OK);
    ck_assert_int_eq(result.report.disposition, SLW_PRIVATE);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    ck_assert_str_eq(slw_cached_directory(result.entry), directory);
    slk_result_release(&result);
    slk_get(store, world.key, world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_OK);
    ck_assert_int_eq(result.report.disposition, SLW_PUBLISHED);
    ck_assert_str_eq(slw_cached_directory(result.entry), slk_slot(&world, world.key, world.spec));
    slk_result_release(&result);
    slk_get(store, world.key, world.spec, &builder, &result);
    slk_expect(&result, SLW_HIT, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    char *after = slk_tree(directory, SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    slw_store_close(&store);
    slw_store_close(&reader);
    slk_world_end(&world);
}
END_TEST

START_TEST(a_bad_directory_of_the_caller_is_refused_and_stays) {
    slk_world world;
    a_world(&world);
    slk_publish(&world);
    slw_key *other = slk_key(world.domain, "other");
    char directory[300], inside[400];
    snprintf(directory, sizeof directory, "%s/mine", world.scratch);
    snprintf(inside, sizeof inside, "%s/artifacts", world.root);
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    slk_write_files(directory, slk_fixture_files, 1);
    slw_store *store = slk_open(&world);
    slk_result result;
    slw_builder builder = from_directory(directory);
    slk_get(store, other, world.spec, &builder, &result); /* a required file is missing */
    ck_assert_int_eq(result.code, SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(result.err.subject, "kernel_config.py");
    slk_result_release(&result);
    ck_assert(slk_exists(slt_path(directory, "kernel/source.pto", NULL)));
    builder = from_directory(inside);
    slk_get(store, other, world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_E_USAGE);
    slk_result_release(&result);
    builder = from_directory(slt_path(world.scratch, "absent", NULL));
    slk_get(store, other, world.spec, &builder, &result);
    ck_assert_int_eq(result.code, SLW_E_INVALID_SOURCE);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store private builds");
    TCase *all = tcase_create("directories");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, the_last_owner_of_a_private_build_removes_it, 0, 2);
    tcase_add_test(all, two_builds_never_share_a_directory);
    tcase_add_loop_test(all, directories_stay_when_they_are_to_be_kept, 0, 4);
    tcase_add_loop_test(all, a_builder_gets_a_directory_a_deadline_and_the_token, 0, 3);
    tcase_add_test(all, a_builders_own_manifest_is_dropped);
    tcase_add_test(all, a_directory_of_the_caller_is_used_in_place_and_never_changed);
    tcase_add_test(all, a_bad_directory_of_the_caller_is_refused_and_stays);
    suite_add_tcase(suite, all);
    return slt_run(suite, NULL);
}
