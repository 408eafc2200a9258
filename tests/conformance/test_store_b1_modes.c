/* Conformance list B1, rows 10 to 17: two stages, read-only stores, permissions, materialized copies. */
#include "store_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const domains[2] = {SLW_DOMAIN_PYPTO, SLW_DOMAIN_DEFAULT};
#define TREE_ALL (SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES)

/* ---- row 10 ---- */

typedef struct promotion {
    slk_world *world;
    slw_store *store;
} promotion;

/* The READY builder: takes the GENERATED entry of its own key, and edits its copy. */
static slw_code promote(slk_build *self, const slw_build_context *build, slw_error *err) {
    const promotion *p = self->context;
    slw_error inner = SLW_ERROR_INIT;
    slw_cached *generated = NULL;
    (void)err;
    slt_ok(slw_store_lookup(p->store, p->world->key, p->world->spec, &generated, &inner), &inner);
    slt_ok(slw_cached_materialize(generated, build->directory, &inner), &inner);
    ck_assert(!slk_exists(slt_path(build->directory, "artifact_manifest.json", NULL)));
    char ours[1024], theirs[1024];
    snprintf(ours, sizeof ours, "%s/kernel/source.pto", build->directory);
    snprintf(theirs, sizeof theirs, "%s/kernel/source.pto", slw_cached_directory(generated));
    ck_assert_uint_ne(slk_inode(ours), slk_inode(theirs));
    slk_append(ours, " edited", 7);
    slw_cached_discard(&generated);
    return SLW_OK;
}

START_TEST(b1_10_generated_to_ready_copies_without_mutating_shared_source) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    slw_spec *ready = slk_spec(world.domain, SLW_READY, SLW_SINGLE, "kernel/source.pto", "kernel_config.py", "obj.so",
                               (const char *)NULL);
    slw_store *store = slk_open(&world);
    char *before = slk_tree(slk_slot(&world, world.key, world.spec), TREE_ALL);
    promotion p = {&world, store};
    static const slk_file object = {"obj.so", "\177ELF", 4, 0755};
    slk_build build = {.files = &object, .file_count = 1, .before = promote, .context = &p};
    const slw_builder builder = slk_builder(&build);
    slk_result result;
    slk_get(store, world.key, ready, &builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    static const slk_file expected[3] = {{"kernel/source.pto", "generated code edited", 21, 0600},
                                         {"kernel_config.py", "KERNELS = []\n", 13, 0600},
                                         {"obj.so", "\177ELF", 4, 0700}};
    slk_expect_files(result.entry, expected, 3);
    slk_result_release(&result);
    char *after = slk_tree(slk_slot(&world, world.key, world.spec), TREE_ALL);
    ck_assert_str_eq(after, before);
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, ready), "HIT");
    free(before);
    free(after);
    slw_store_close(&store);
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 11 and 12 ---- */

START_TEST(b1_11_readonly_hit_and_miss_make_no_cache_writes) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    slw_key *other = slk_key(world.domain, "never published");
    slw_store *store = slk_open_read_only(&world);
    char *before = slk_tree(world.scratch, TREE_ALL);
    slk_pause_ms(20);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_str_eq(slk_lookup_verdict(store, other, world.spec), "MISS");
    char *after = slk_tree(world.scratch, TREE_ALL);
    ck_assert_str_eq(after, before);
    free(after);
    free(before);

    before = slk_tree(world.root, TREE_ALL);
    slk_result result;
    slk_get(store, other, world.spec, &world.builder, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_NONE);
    ck_assert_ptr_nonnull(strstr(result.report.reason, "read-only"));
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    after = slk_tree(world.root, TREE_ALL);
    ck_assert_str_eq(after, before);
    free(after);
    free(before);
    slw_store_close(&store);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_11_readonly_ignores_a_held_lock) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    const int fd = slwi_os_real()->openat(slwi_os_real(), -1, slk_lock_file(&world), 2, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(slwi_os_real()->lock(slwi_os_real(), fd), 0);
    slw_key *other = slk_key(world.domain, "never published");
    slw_store *store = slk_open_read_only(&world);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slk_result result;
    slk_get(store, world.key, ready, &world.builder, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_NONE);
    slk_result_release(&result);
    slw_store_close(&store);
    (void)close(fd);
    slw_spec_release(&ready);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_12_readonly_missing_root_is_never_created) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slw_store *store = slk_open_read_only(&world);
    slk_expect_verdict(&world, store, "MISS");
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_NONE);
    ck_assert(!slk_exists(world.root));
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_12_private_root_inside_the_root_is_refused) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    ck_assert_int_eq(mkdir(world.root, 0755), 0);
    ck_assert_int_eq(mkdir(slt_path(world.root, "in", NULL), 0755), 0);
    ck_assert_int_eq(symlink("root/in", slt_path(world.scratch, "link", NULL)), 0);
    const char *const inside[4] = {world.root, slt_path(world.root, "in", NULL), slt_path(world.scratch, "link", NULL),
                                   slt_path(world.root, "absent", NULL)};
    for (int read_only = 0; read_only < 2; read_only++) {
        for (int i = 0; i < 4; i++) {
            slw_store_options options = slk_options(&world);
            options.read_only = read_only;
            options.private_root = inside[i];
            slw_error err = SLW_ERROR_INIT;
            slw_store *store = NULL;
            ck_assert_msg(slw_store_open(&options, &store, &err) == SLW_E_USAGE, "%s is taken", inside[i]);
            ck_assert_ptr_null(store);
        }
    }
    slk_world_end(&world);
}
END_TEST

/* ---- rows 13 and 16 ---- */

START_TEST(b1_13_removing_write_permissions_preserves_cache_hits) {
    slk_world world;
    slk_world_make(&world, domains[_i / 2]);
    slt_become_nobody(world.scratch);
    slw_spec *spec = slk_fixture_spec(world.domain, _i % 2 == 0 ? SLW_GENERATED : SLW_READY, SLW_SINGLE);
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_get(store, world.key, spec, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    slt_shell("chmod -R a-w '%s'", world.root);
    char *before = slk_tree(world.root, TREE_ALL);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, spec), "HIT");
    slk_get(store, world.key, spec, &world.builder, &result);
    slk_expect(&result, SLW_HIT, SLW_FAILURE_NONE);
    slk_result_release(&result);
    slw_store *reader = slk_open_read_only(&world);
    ck_assert_str_eq(slk_lookup_verdict(reader, world.key, spec), "HIT");
    char *after = slk_tree(world.root, TREE_ALL);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    slw_store_close(&store);
    slw_store_close(&reader);
    slw_spec_release(&spec);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_16_sharing_chmod_preserves_owner_execute_contract) {
    slk_world world;
    slk_world_make(&world, domains[_i / 2]);
    slw_spec *spec = slk_fixture_spec(world.domain, _i % 2 == 0 ? SLW_GENERATED : SLW_READY, SLW_SINGLE);
    static const slk_file files[2] = {{"kernel/source.pto", "generated code", 14, 0755},
                                      {"kernel_config.py", "KERNELS = []\n", 13, 0655}};
    world.build.files = files;
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_get(store, world.key, spec, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    char slot[1024], source[1100];
    snprintf(slot, sizeof slot, "%s", slk_slot(&world, world.key, spec));
    snprintf(source, sizeof source, "%s/kernel/source.pto", slot);
    ck_assert_uint_eq(slk_mode(slot), 0700);
    ck_assert_uint_eq(slk_mode(source), 0700);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "kernel_config.py", NULL)), 0600);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "kernel", NULL)), 0755);
    ck_assert_uint_eq(slk_mode(slt_path(slot, "artifact_manifest.json", NULL)), 0644);
    slt_shell("chmod -R a+rX '%s'", world.root);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, spec), "HIT");
    ck_assert_int_eq(chmod(source, 0744), 0);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, spec), "HIT");
    ck_assert_int_eq(chmod(source, 0655), 0);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, spec), "INVALID");
    ck_assert_int_eq(chmod(source, 0700), 0);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, spec), "HIT");
    slw_store_close(&store);
    slw_spec_release(&spec);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 14 and 15 ---- */

START_TEST(b1_14_readonly_payload_materializes_writable_private_files) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slt_become_nobody(world.scratch);
    static const slk_file files[2] = {{"kernel/source.pto", "generated code", 14, 0555},
                                      {"kernel_config.py", "KERNELS = []\n", 13, 0444}};
    world.build.files = files;
    slk_publish(&world);
    slt_shell("chmod -R a-w '%s'", world.root);
    slw_store *store = slk_open(&world);
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    slt_ok(slw_store_lookup(store, world.key, world.spec, &entry, &err), &err);
    char *before = slk_tree(slw_cached_directory(entry), TREE_ALL);
    ck_assert_int_eq(mkdir(slt_path(world.scratch, "empty", NULL), 0755), 0);
    const char *const destinations[2] = {"absent", "empty"};
    for (int i = 0; i < 2; i++) {
        char copy[512], source[600], config[600];
        snprintf(copy, sizeof copy, "%s/%s", world.scratch, destinations[i]);
        slt_ok(slw_cached_materialize(entry, copy, &err), &err);
        snprintf(source, sizeof source, "%s/kernel/source.pto", copy);
        snprintf(config, sizeof config, "%s/kernel_config.py", copy);
        ck_assert_uint_eq(slk_mode(source), 0700);
        ck_assert_uint_eq(slk_mode(config), 0600);
        ck_assert_uint_eq(slk_names(copy), 2); /* the marker is not part of the payload */
        slk_append(source, "x", 1);
        slk_append(config, "x", 1);
    }
    char *after = slk_tree(slw_cached_directory(entry), TREE_ALL);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    slk_expect_verdict(&world, store, "HIT");
    slw_cached_discard(&entry);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

static void refuse_destination(slk_world *world, const slw_cached *entry, const char *destination) {
    char *before = slk_tree(world->scratch, TREE_ALL);
    slw_error err = SLW_ERROR_INIT;
    const slw_code code = slw_cached_materialize(entry, destination, &err);
    ck_assert_msg(code == SLW_E_USAGE, "%s: %s", destination, slw_code_name(code));
    char *after = slk_tree(world->scratch, TREE_ALL);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
}

START_TEST(b1_15_materialization_rejects_all_shared_cache_destinations) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slw_key *other = slk_key(world.domain, "other");
    slw_store *store = slk_open(&world);
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    slt_ok(slw_store_lookup(store, world.key, world.spec, &entry, &err), &err);
    char sibling[1024], others[1024];
    snprintf(sibling, sizeof sibling, "%s", slk_slot(&world, world.key, ready));
    snprintf(others, sizeof others, "%s", slk_slot(&world, other, world.spec));
    slt_shell("mkdir -p '%s' '%s' '%s/full' && ln -s '%s' '%s/link' && echo x > '%s/full/file'", sibling, others,
              world.scratch, sibling, world.scratch, world.scratch);
    refuse_destination(&world, entry, sibling);
    refuse_destination(&world, entry, others);
    refuse_destination(&world, entry, slt_path(world.scratch, "link", NULL));
    refuse_destination(&world, entry, world.root);
    refuse_destination(&world, entry, slt_path(world.root, "absent", NULL));
    refuse_destination(&world, entry, slt_path(world.scratch, "link", "absent", NULL));
    refuse_destination(&world, entry, slt_path(world.scratch, "private", "..", "root", "locks", "absent", NULL));
    refuse_destination(&world, entry, slt_path(world.scratch, "full", NULL));
    slk_expect_verdict(&world, store, "HIT");
    slw_cached_discard(&entry);
    slw_store_close(&store);
    slw_spec_release(&ready);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

/* ---- row 17 ---- */

START_TEST(b1_17_missing_private_root_allows_hits_without_probing_temporary_directories) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    slw_key *other = slk_key(world.domain, "other");
    const char *temporary = slt_path(world.scratch, "temporary", NULL);
    ck_assert_int_eq(mkdir(temporary, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", temporary, 1), 0);
    char *before = slk_tree(world.scratch, SLK_TREE_TIMES);
    slw_store_options options = slk_options(&world);
    options.private_root = NULL;
    options.read_only = _i;
    slw_store *store = slk_open_options(&options);
    slk_expect_verdict(&world, store, "HIT");
    slk_result result;
    slk_get(store, other, world.spec, &world.builder, &result);
    ck_assert_int_eq(result.code, SLW_E_STORAGE);
    ck_assert_str_eq(result.err.reason, "NO_PRIVATE_ROOT");
    slk_result_release(&result);
    ck_assert_int_eq(atomic_load(&world.build.calls), 1);
    ck_assert_uint_eq(slk_names(temporary), 0);
    if (_i == 1) { /* read-only: nothing at all was touched */
        char *after = slk_tree(world.scratch, SLK_TREE_TIMES);
        ck_assert_str_eq(after, before);
        free(after);
    }
    free(before);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store B1: stages and modes");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 120);
    tcase_add_loop_test(rows, b1_10_generated_to_ready_copies_without_mutating_shared_source, 0, 2);
    tcase_add_loop_test(rows, b1_11_readonly_hit_and_miss_make_no_cache_writes, 0, 2);
    tcase_add_loop_test(rows, b1_11_readonly_ignores_a_held_lock, 0, 2);
    tcase_add_loop_test(rows, b1_12_readonly_missing_root_is_never_created, 0, 2);
    tcase_add_loop_test(rows, b1_12_private_root_inside_the_root_is_refused, 0, 2);
    tcase_add_loop_test(rows, b1_13_removing_write_permissions_preserves_cache_hits, 0, 4);
    tcase_add_loop_test(rows, b1_14_readonly_payload_materializes_writable_private_files, 0, 2);
    tcase_add_loop_test(rows, b1_15_materialization_rejects_all_shared_cache_destinations, 0, 2);
    tcase_add_loop_test(rows, b1_16_sharing_chmod_preserves_owner_execute_contract, 0, 4);
    tcase_add_loop_test(rows, b1_17_missing_private_root_allows_hits_without_probing_temporary_directories, 0, 2);
    suite_add_tcase(suite, rows);
    return slt_run(suite, NULL);
}
