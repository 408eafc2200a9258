/* Conformance list B1, rows 1, 3, 7, 8, 9, 18, 24 to 27: what a lookup takes for a hit and what it refuses. */
#include "store_kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const domains[2] = {SLW_DOMAIN_PYPTO, SLW_DOMAIN_DEFAULT};

static void file_digest(const char *path, char out[SLW_DIGEST_TEXT_SIZE]) {
    size_t size = 0;
    char *data = slt_read_file(path, &size);
    slw_digest digest;
    slw_sha256((slw_bytes){data, size}, &digest);
    slw_digest_format(&digest, out);
    free(data);
}

/* ---- row 1 ---- */

static void expect_marker(const slk_world *world, const slw_spec *spec) {
    char *text = slt_read_file(slt_path(slk_slot(world, world->key, spec), "artifact_manifest.json", NULL), NULL);
    char expected[4096], lists[2048];
    size_t used = 0;
    for (size_t i = 0; i < slw_key_component_count(world->key); i++) {
        const slw_component component = slw_key_component(world->key, i);
        used += (size_t)snprintf(lists + used, sizeof lists - used, "\"%s\":\"%s\",", component.name, component.digest);
    }
    snprintf(
        expected, sizeof expected,
        "{\"build_kind\":\"%s\",\"components\":{\"environment\":{%s\"schema\":1},\"schema\":1,\"source\":\"%s\","
        "\"specialization\":\"%s\"},\"files\":[{\"executable\":false,\"path\":\"kernel/source.pto\",\"sha256\":"
        "\"941c29e895ed195e84141776a872d5fce13e806ff29f32d281456a5bd77130f6\",\"size\":14},{\"executable\":false,"
        "\"path\":\"kernel_config.py\",\"sha256\":\"aaf6d5e6d4fba7743e24d67a928a8da235348ccb0efdc6a84b0b7f2fb93632c1\","
        "\"size\":13}],\"key\":\"%s\",\"required_files\":[\"kernel/source.pto\",\"kernel_config.py\"],\"schema\":1,"
        "\"state\":\"%s\"}",
        slw_build_kind_name(slw_spec_build_kind(spec)), lists, slw_key_source(world->key),
        slw_key_specialization(world->key), slw_key_digest(world->key), slw_state_name(slw_spec_state(spec)));
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(b1_01_publish_then_hit_preserves_private_value_and_records) {
    slk_world world;
    slk_world_make(&world, domains[_i / 4]);
    slw_spec *spec = slk_fixture_spec(world.domain, (_i & 1) != 0 ? SLW_READY : SLW_GENERATED,
                                      (_i & 2) != 0 ? SLW_DISTRIBUTED : SLW_SINGLE);
    slw_store *store = slk_open(&world);
    ck_assert(!slk_exists(world.root)); /* opening writes nothing */
    slk_result result;
    slk_get(store, world.key, spec, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_ptr_eq(result.report.value, world.build.value);
    ck_assert_str_eq(slw_cached_directory(result.entry), slk_slot(&world, world.key, spec));
    slk_expect_files(result.entry, slk_fixture_files, 2);
    ck_assert_int_eq(slk_exists(slt_path(result.report.private_directory, "kernel/source.pto", NULL)), 1);
    expect_marker(&world, spec);
    char private_directory[512];
    snprintf(private_directory, sizeof private_directory, "%s", result.report.private_directory);
    ck_assert_int_eq(strncmp(private_directory, world.private_root, strlen(world.private_root)), 0);
    slw_cached_discard(&result.entry);
    ck_assert(slk_exists(private_directory)); /* the report's until it is released */
    ck_assert_int_eq(atomic_load(&world.build.released), 0);
    slw_build_report_release(&result.report);
    ck_assert(!slk_exists(private_directory));
    ck_assert_int_eq(atomic_load(&world.build.released), 1);

    slk_get(store, world.key, spec, &world.builder, &result);
    slk_expect(&result, SLW_HIT, SLW_FAILURE_NONE);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    ck_assert_int_eq(atomic_load(&world.build.calls), 1);
    ck_assert_int_eq(atomic_load(&world.build.confirms), 1);
    slw_store_close(&store);
    slw_spec_release(&spec);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_01_without_a_report_nothing_private_stays) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slw_store *store = slk_open(&world);
    for (int i = 0; i < 2; i++) {
        slw_error err = SLW_ERROR_INIT;
        slw_cached *entry = NULL;
        slt_ok(slw_store_get_or_build(store, world.key, world.spec, &world.builder, NULL, &entry, &err), &err);
        ck_assert_uint_eq(slk_names(world.private_root), 0);
        ck_assert_int_eq(atomic_load(&world.build.released), 1);
        slw_cached_discard(&entry);
    }
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_01_the_manifest_is_the_chain_vector) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_PYPTO);
    slk_publish(&world);
    char digest[SLW_DIGEST_TEXT_SIZE];
    file_digest(slk_marker(&world), digest);
    ck_assert_str_eq(digest, "dff617a714c53bead226f80a4400cb8fdb8d5e930ce0caf834ac35eed5c52e11");
    ck_assert_str_eq(slw_key_environment(world.key),
                     "85ccb682c235f801a3ac733c44c4e76cb5f018ce4a7ff8db70fbadbccc4cc3d7");
    ck_assert_str_eq(slw_key_digest(world.key), "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e6");
    ck_assert_str_eq(slw_spec_digest(world.spec), "ee13741bac893dda0f168359dd97bb105ddf4750706322c60210d0136075bdca");
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    ck_assert_str_eq(slw_spec_digest(ready), "3a35e5e1d1fff1f4fe3add52341b773b5e3eb0687d4ba73358b35f61f05a70e8");
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

/* ---- row 3 ---- */

START_TEST(b1_03_invalid_slot_does_not_poison_another_spec) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    slw_spec *ready = slk_fixture_spec(world.domain, SLW_READY, SLW_SINGLE);
    slw_store *store = slk_open(&world);
    slt_write_file(slk_marker(&world), "{", 1, 0644);
    slk_expect_verdict(&world, store, "INVALID");
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, ready), "MISS");
    slk_result result;
    slk_get(store, world.key, ready, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, ready), "HIT");
    slk_expect_verdict(&world, store, "INVALID");
    char *marker = slt_read_file(slk_marker(&world), NULL);
    ck_assert_str_eq(marker, "{");
    free(marker);
    slw_store_close(&store);
    slw_spec_release(&ready);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 7, 8, 9 and 27: one damage each ---- */

/* Publishes, damages, and then: INVALID; a private build that says so; the slot as it was damaged; INVALID again. */
static void expect_refused(int domain, void (*damage)(slk_world *world, int which), int which) {
    slk_world world;
    slk_world_make(&world, domains[domain]);
    slk_publish(&world);
    damage(&world, which);
    char *before = slk_tree(slt_path(world.root, "artifacts", NULL), SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    slw_store *store = slk_open(&world);
    const int descriptors = slt_open_descriptors();
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, &entry, &err), SLW_E_INVALID_ENTRY);
    ck_assert_ptr_null(entry);
    ck_assert_int_ne(err.message[0], 0);
    ck_assert_ptr_nonnull(err.reason);
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_INVALID);
    slk_expect_verdict(&world, store, "INVALID");
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_store_close(&store);
    char *after = slk_tree(slt_path(world.root, "artifacts", NULL), SLK_TREE_MODES | SLK_TREE_TIMES | SLK_TREE_INODES);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    slk_world_end(&world);
}

static const struct {
    const char *old_text, *new_text;
} manifest_changes[] = {
    {"\"schema\":1,\"state\"", "\"schema\":99,\"state\""},
    {"\"schema\":1,\"state\"", "\"schema\":true,\"state\""},
    {"\"schema\":1,\"state\"", "\"schema\":1.0,\"state\""},
    {"\"key\":\"", "\"key\":\"0"},
    {"\"components\":{", "\"components\":{},\"c\":{"},
    {"\"state\":\"generated\"", "\"state\":\"ready\""},
    {"\"build_kind\":\"single_chip\"", "\"build_kind\":\"distributed\""},
    {"\"required_files\":[\"kernel/source.pto\",\"kernel_config.py\"]", "\"required_files\":[]"},
    {"\"files\":[{", "\"files\":[],\"f\":[{"},
    {"\"state\":\"generated\"", "\"state\":\"generated\",\"unexpected\":1"},
};
enum { MANIFEST_CHANGES = sizeof manifest_changes / sizeof *manifest_changes };

static void change_manifest(slk_world *world, int which) {
    slk_replace(slk_marker(world), manifest_changes[which].old_text, manifest_changes[which].new_text);
}

START_TEST(b1_07_invalid_manifest_is_not_repaired) {
    expect_refused(_i / MANIFEST_CHANGES, change_manifest, _i % MANIFEST_CHANGES);
}
END_TEST

static void change_payload(slk_world *world, int which) {
    char source[1024], marker[1024];
    const char *slot = slk_slot(world, world->key, world->spec);
    snprintf(source, sizeof source, "%s/kernel/source.pto", slot);
    snprintf(marker, sizeof marker, "%s", slk_marker(world));
    switch (which) {
    case 0:
        ck_assert_int_eq(unlink(source), 0);
        break;
    case 1:
        slt_write_file(source, "generated codE", 14, 0600);
        break;
    case 2:
        slt_write_file(slt_path(slot, "extra", NULL), "x", 1, 0600);
        break;
    case 3:
        ck_assert_int_eq(chmod(source, 0700), 0);
        break;
    case 4:
        ck_assert_int_eq(rename(source, slt_path(slot, "kernel/real", NULL)), 0);
        ck_assert_int_eq(symlink("real", source), 0);
        break;
    case 5:
        ck_assert_int_eq(unlink(source), 0);
        ck_assert_int_eq(mkfifo(source, 0600), 0);
        break;
    case 6:
        ck_assert_int_eq(unlink(marker), 0);
        break;
    default:
        slk_replace(marker, "\"schema\":1,\"state\"", "\"schema\":1,\"schema\":1,\"state\"");
        break;
    }
}

START_TEST(b1_08_payload_and_completion_marker_are_verified) {
    expect_refused(_i / 8, change_payload, _i % 8);
}
END_TEST

static void change_record(slk_world *world, int which) {
    static const char *const changes[3][2] = {
        {"\"path\":\"kernel/source.pto\"", "\"path\":\"../../../../../../outside\""},
        {"\"size\":14", "\"size\":true"},
        {"941c29e895ed195e84141776a872d5fce13e806ff29f32d281456a5bd77130f6",
         "0000000000000000000000000000000000000000000000000000000000000000"}};
    slt_write_file(slt_path(world->scratch, "outside", NULL), "generated code", 14, 0600);
    slk_replace(slk_marker(world), changes[which][0], changes[which][1]);
}

START_TEST(b1_09_file_records_cannot_redirect_or_coerce_validation) {
    expect_refused(_i / 3, change_record, _i % 3);
}
END_TEST

static void malform_marker(slk_world *world, int which) {
    static const char *const texts[5] = {"{\"build_kind\":\"single_chip\",", "\xff\xfe", "null", "[]", "NaN"};
    slt_write_file(slk_marker(world), texts[which], strlen(texts[which]), 0644);
}

START_TEST(b1_27_malformed_marker_is_invalid) {
    expect_refused(_i / 5, malform_marker, _i % 5);
}
END_TEST

/* ---- row 18 ---- */

START_TEST(b1_18_orphan_staging_and_empty_final_slot_never_hit) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    char spec_directory[1024], orphan[1100];
    snprintf(spec_directory, sizeof spec_directory, "%s", slk_slot(&world, world.key, world.spec));
    *strrchr(spec_directory, '/') = 0;
    snprintf(orphan, sizeof orphan, "%s/.tmp.0123abcd.abandoned", spec_directory);
    slt_shell("mkdir -p '%s' && chmod 0700 '%s' && echo x > '%s/kernel_config.py'", orphan, orphan, orphan);
    slw_store *store = slk_open(&world);
    slw_store *reader = slk_open_read_only(&world);
    slk_expect_verdict(&world, store, "MISS");
    slk_world_expect(&world, reader, SLW_PRIVATE, SLW_FAILURE_NONE);
    ck_assert(slk_exists(orphan));

    slw_key *other = slk_key(world.domain, "another source");
    slk_result result;
    slk_get(store, other, world.spec, &world.builder, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_result_release(&result);
    ck_assert(slk_exists(orphan)); /* another key's publication has not got the lock for it */

    const char *slot = slk_slot(&world, world.key, world.spec);
    ck_assert_int_eq(mkdir(slot, 0700), 0);
    slk_expect_verdict(&world, store, "INVALID");
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_INVALID);
    slk_expect_verdict(&world, store, "INVALID");
    ck_assert_uint_eq(slk_names(slot), 0);
    ck_assert(slk_exists(orphan)); /* nothing was published */

    ck_assert_int_eq(rmdir(slot), 0);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert(!slk_exists(orphan)); /* swept by a publication of its key, under the lock */
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slw_store_close(&reader);
    slw_key_release(&other);
    slk_world_end(&world);
}
END_TEST

/* ---- rows 24, 25 and 26 ---- */

START_TEST(b1_24_symlinked_cache_ancestor_is_invalid_and_not_written) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    const char *elsewhere = slt_path(world.scratch, "elsewhere", NULL);
    ck_assert_int_eq(mkdir(world.root, 0755), 0);
    ck_assert_int_eq(mkdir(elsewhere, 0755), 0);
    ck_assert_int_eq(symlink(elsewhere, slt_path(world.root, "artifacts", NULL)), 0);
    slw_store *store = slk_open(&world);
    slk_expect_verdict(&world, store, "INVALID");
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_INVALID);
    ck_assert_uint_eq(slk_names(elsewhere), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_24_a_symlinked_root_is_resolved_once) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    ck_assert_int_eq(mkdir(slt_path(world.scratch, "real", NULL), 0755), 0);
    ck_assert_int_eq(symlink("real", world.root), 0);
    slw_store *store = slk_open(&world);
    ck_assert_str_eq(slw_store_root(store), slt_path(world.scratch, "real", NULL));
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_int_eq(unlink(world.root), 0);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_25_symlinked_lock_directory_is_not_followed) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    const char *elsewhere = slt_path(world.scratch, "elsewhere", NULL);
    ck_assert_int_eq(mkdir(world.root, 0755), 0);
    ck_assert_int_eq(mkdir(elsewhere, 0755), 0);
    ck_assert_int_eq(symlink(elsewhere, slt_path(world.root, "locks", NULL)), 0);
    slw_store *store = slk_open(&world);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_LOCK);
    ck_assert_ptr_nonnull(strstr(result.report.reason, "lock"));
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "MISS");
    ck_assert_uint_eq(slk_names(elsewhere), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(b1_26_unreadable_manifest_falls_back_without_repair) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slt_become_nobody(world.scratch);
    slk_publish(&world);
    ck_assert_int_eq(chmod(slk_marker(&world), 0), 0);
    slw_store *store = slk_open(&world);
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, &entry, &err), SLW_E_STORAGE);
    ck_assert_str_eq(err.raw_name, "EACCES");
    ck_assert_int_eq(err.raw_code, EACCES);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_STORAGE);
    ck_assert_ptr_nonnull(strstr(result.report.reason, "EACCES"));
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_result_release(&result);
    slk_expect_verdict(&world, store, "STORAGE_ERROR");
    ck_assert_uint_eq(slk_mode(slk_marker(&world)), 0);
    ck_assert_int_eq(chmod(slk_marker(&world), 0644), 0);
    slk_expect_verdict(&world, store, "HIT");
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store B1: entries");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 120);
    tcase_add_loop_test(rows, b1_01_publish_then_hit_preserves_private_value_and_records, 0, 8);
    tcase_add_loop_test(rows, b1_01_without_a_report_nothing_private_stays, 0, 2);
    tcase_add_test(rows, b1_01_the_manifest_is_the_chain_vector);
    tcase_add_loop_test(rows, b1_03_invalid_slot_does_not_poison_another_spec, 0, 2);
    tcase_add_loop_test(rows, b1_07_invalid_manifest_is_not_repaired, 0, 2 * MANIFEST_CHANGES);
    tcase_add_loop_test(rows, b1_08_payload_and_completion_marker_are_verified, 0, 16);
    tcase_add_loop_test(rows, b1_09_file_records_cannot_redirect_or_coerce_validation, 0, 6);
    tcase_add_loop_test(rows, b1_18_orphan_staging_and_empty_final_slot_never_hit, 0, 2);
    tcase_add_loop_test(rows, b1_24_symlinked_cache_ancestor_is_invalid_and_not_written, 0, 2);
    tcase_add_loop_test(rows, b1_24_a_symlinked_root_is_resolved_once, 0, 2);
    tcase_add_loop_test(rows, b1_25_symlinked_lock_directory_is_not_followed, 0, 2);
    tcase_add_loop_test(rows, b1_26_unreadable_manifest_falls_back_without_repair, 0, 2);
    tcase_add_loop_test(rows, b1_27_malformed_marker_is_invalid, 0, 10);
    suite_add_tcase(suite, rows);
    return slt_run(suite, NULL);
}
