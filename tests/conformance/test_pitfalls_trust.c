/* Pitfall 9: trust does not stop at the root. Every directory on the way, the marker and the owners are judged; the
 * modes of payload files are access policy. */
#include "store_kit.h"
#include "store_root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without uid 0 there is no other user to make. */
static int only_root(const char *test) {
    if (geteuid() == 0) return 1;
    slt_skip(test, "needs uid 0");
    return 0;
}

static const char *verdict_with(const slk_world *world, const uint32_t *uids, size_t count, int trust_root) {
    slw_store_options options = slk_options(world);
    options.trusted_uids = uids;
    options.trusted_uid_count = count;
    options.trust_root = trust_root;
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    if (slw_store_open(&options, &store, &err) != SLW_OK) return err.reason != NULL ? err.reason : "refused";
    const char *verdict = slk_world_verdict(world, store);
    slw_store_close(&store);
    return verdict;
}

static const char *verdict_of(const slk_world *world) {
    return verdict_with(world, NULL, 0, 0);
}

/* The directories from the slot up to artifacts, by how many names are cut off. */
static const char *level(const slk_world *world, int up) {
    char path[1024];
    snprintf(path, sizeof path, "%s", slk_slot(world, world->key, world->spec));
    for (int i = 0; i < up; i++) *strrchr(path, '/') = 0;
    return slt_path(path, NULL);
}

START_TEST(pitfall_09_a_directory_on_the_way_that_others_may_write_is_untrusted) {
    static const mode_t bad[3] = {0777, 0775, 0757};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    for (int up = 0; up <= 4; up++) {
        const char *directory = level(&world, up);
        const mode_t before = (mode_t)slk_mode(directory);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(chmod(directory, bad[i]), 0);
            ck_assert_msg(strcmp(verdict_of(&world), "INVALID") == 0, "%s with mode %o", directory, (unsigned)bad[i]);
            slw_store *store = slk_open(&world);
            slw_error err = SLW_ERROR_INIT;
            slw_cached *entry = NULL;
            ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, &entry, &err), SLW_E_INVALID_ENTRY);
            ck_assert_str_eq(err.reason, "UNTRUSTED");
            if (i == 0) slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_INVALID);
            slw_store_close(&store);
            ck_assert_str_eq(verdict_with(&world, NULL, 0, 1), "HIT");
            ck_assert_int_eq(chmod(directory, bad[i] | 01000), 0); /* sticky: others cannot replace what is ours */
            ck_assert_str_eq(verdict_of(&world), "HIT");
        }
        ck_assert_int_eq(chmod(directory, before), 0);
        ck_assert_str_eq(verdict_of(&world), "HIT");
    }
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_a_directory_of_the_payload_is_judged_like_the_slot) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    const char *kernel = slt_path(level(&world, 0), "kernel", NULL);
    ck_assert_int_eq(chmod(kernel, 0777), 0);
    ck_assert_str_eq(verdict_of(&world), "INVALID");
    ck_assert_int_eq(chmod(kernel, 01777), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_an_entry_planted_by_another_user_is_untrusted) {
    if (!only_root("pitfall_09_an_entry_planted_by_another_user_is_untrusted")) return;
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    /* A sticky artifacts/ in which somebody else made a whole, self-consistent entry. */
    ck_assert_int_eq(chmod(level(&world, 4), 01777), 0);
    slt_shell("chown -R 65534:65534 '%s'", level(&world, 3));
    ck_assert_str_eq(verdict_of(&world), "INVALID");
    static const uint32_t nobody = 65534, somebody = 12345;
    ck_assert_str_eq(verdict_with(&world, &nobody, 1, 0), "HIT");
    ck_assert_str_eq(verdict_with(&world, &somebody, 1, 0), "INVALID");
    ck_assert_str_eq(verdict_with(&world, NULL, 0, 1), "HIT");
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_one_file_of_another_user_is_untrusted) {
    static const char *const places[4] = {".", "kernel", "kernel/source.pto", "artifact_manifest.json"};
    if (!only_root("pitfall_09_one_file_of_another_user_is_untrusted")) return;
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    const char *place = slt_path(level(&world, 0), places[_i], NULL);
    ck_assert_int_eq(chown(place, 65534, 65534), 0);
    ck_assert_str_eq(verdict_of(&world), "INVALID");
    static const uint32_t nobody = 65534;
    ck_assert_str_eq(verdict_with(&world, &nobody, 1, 0), "HIT");
    ck_assert_int_eq(chown(place, 0, 0), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_a_layer_of_root_is_trusted_by_everybody) {
    if (!only_root("pitfall_09_a_layer_of_root_is_trusted_by_everybody")) return;
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slt_shell("chmod -R a+rX '%s' && chmod 0755 '%s' && chown 65534:65534 '%s'", world.root, world.scratch,
              world.private_root);
    slt_become_nobody(NULL);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slw_store *store = slk_open(&world); /* writable in name only: a hit needs nothing */
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_key *other = slk_key(world.domain, "other");
    slk_result result;
    slk_get(store, other, world.spec, &world.builder, &result);
    ck_assert_int_eq(result.code, SLW_OK);
    ck_assert_int_eq(result.report.disposition, SLW_PRIVATE); /* neither lock nor publication is possible here */
    slk_result_release(&result);
    slw_key_release(&other);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* Something mounted below the root is another's business, unless the root is trusted whole. */
START_TEST(pitfall_09_what_lies_on_another_device_is_untrusted) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store *store = slk_open(&world);
    const slwi_trust trust = {.store = store, .euid = (uint32_t)geteuid(), .dev = 7};
    slwi_stat stat = {.mode = S_IFDIR | 0755, .uid = (uint32_t)geteuid(), .dev = 7, .ino = 1, .nlink = 1};
    const char *why = NULL;
    ck_assert_int_eq(slwi_trust_directory(&trust, &stat, &why), 1);
    stat.dev = 8;
    ck_assert_int_eq(slwi_trust_directory(&trust, &stat, &why), 0);
    ck_assert_ptr_nonnull(strstr(why, "device"));
    stat.mode = S_IFREG | 0644;
    ck_assert_int_eq(slwi_trust_marker(&trust, &stat, &why), 0);
    ck_assert_int_eq(slwi_trust_payload(&trust, &stat, &why), 0);
    slw_store_close(&store);
    slw_store_options options = slk_options(&world);
    options.trust_root = 1;
    store = slk_open_options(&options);
    const slwi_trust all = {.store = store, .euid = (uint32_t)geteuid(), .dev = 7};
    ck_assert_int_eq(slwi_trust_payload(&all, &stat, &why), 1);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_payload_modes_are_access_policy_and_marker_modes_are_not) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    const char *source = slt_path(level(&world, 0), "kernel/source.pto", NULL), *marker = slk_marker(&world);
    ck_assert_int_eq(chmod(source, 0666), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT"); /* the digest judges */
    ck_assert_int_eq(chmod(marker, 0666), 0);
    ck_assert_str_eq(verdict_of(&world), "INVALID");
    ck_assert_int_eq(chmod(marker, 0664), 0);
    ck_assert_str_eq(verdict_of(&world), "INVALID");
    ck_assert_int_eq(chmod(marker, 0444), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_what_we_create_is_never_group_writable) {
    static const mode_t masks[3] = {002, 000, 077};
    static const unsigned directory_modes[3] = {0755, 0755, 0700}, file_modes[3] = {0644, 0644, 0600};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    (void)umask(masks[_i]);
    slk_publish(&world);
    (void)umask(022);
    for (int up = 1; up <= 5; up++) ck_assert_uint_eq(slk_mode(level(&world, up)), directory_modes[_i]);
    ck_assert_uint_eq(slk_mode(level(&world, 0)), 0700);
    ck_assert_uint_eq(slk_mode(slt_path(level(&world, 0), "kernel", NULL)), directory_modes[_i]);
    ck_assert_uint_eq(slk_mode(slk_marker(&world)), file_modes[_i]);
    ck_assert_uint_eq(slk_mode(slt_path(world.root, "locks", NULL)), directory_modes[_i]);
    ck_assert_uint_eq(slk_mode(slk_lock_file(&world)) & 022, 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_a_root_that_others_may_write_is_refused) {
    static const mode_t bad[3] = {0777, 0775, 0757};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(chmod(world.root, bad[i]), 0);
        slw_store_options options = slk_options(&world);
        slw_error err = SLW_ERROR_INIT;
        slw_store *store = NULL;
        ck_assert_int_eq(slw_store_open(&options, &store, &err), SLW_E_STORAGE);
        ck_assert_ptr_null(store);
        ck_assert_str_eq(err.reason, "UNTRUSTED");
        ck_assert_str_eq(verdict_with(&world, NULL, 0, 1), "HIT");
    }
    ck_assert_int_eq(chmod(world.root, 0755), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    /* Its parent counts as well: who may rename the root may replace it. */
    ck_assert_int_eq(chmod(world.scratch, 0777), 0);
    ck_assert_str_eq(verdict_of(&world), "UNTRUSTED");
    ck_assert_int_eq(chmod(world.scratch, 01777), 0);
    ck_assert_str_eq(verdict_of(&world), "HIT");
    slk_world_end(&world);
}
END_TEST

/* Found by attacking: whoever may write the private root may put a directory of his own in the place of the build's, between
   the builder and the copy, and it would be published for everybody. */
START_TEST(pitfall_09_a_private_root_that_others_may_write_builds_nothing) {
    static const mode_t modes[5] = {0777, 0775, 0757, 01777, 0755};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    for (int i = 0; i < 5; i++) {
        const int good = i >= 3;
        ck_assert_int_eq(chmod(world.private_root, modes[i]), 0);
        slw_store *store = slk_open(&world);
        slk_result result;
        slk_world_get(&world, store, &result);
        if (good) {
            slk_expect(&result, i == 3 ? SLW_PUBLISHED : SLW_HIT, SLW_FAILURE_NONE);
        } else {
            ck_assert_int_eq(result.code, SLW_E_STORAGE);
            ck_assert_str_eq(result.err.reason, "UNTRUSTED");
            ck_assert_str_eq(result.err.path, world.private_root);
            ck_assert_int_eq(atomic_load(&world.build.calls), 0);
        }
        slk_result_release(&result);
        slw_store_close(&store);
    }
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_a_private_root_is_trusted_when_told_so) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    ck_assert_int_eq(chmod(world.private_root, 0777), 0);
    slw_store_options options = slk_options(&world);
    options.trust_root = 1;
    slw_store *store = slk_open_options(&options);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_09_a_root_of_another_user_is_refused) {
    if (!only_root("pitfall_09_a_root_of_another_user_is_refused")) return;
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    ck_assert_int_eq(chown(world.root, 65534, 65534), 0);
    ck_assert_str_eq(verdict_of(&world), "UNTRUSTED");
    static const uint32_t nobody = 65534;
    ck_assert_str_eq(verdict_with(&world, &nobody, 1, 0), "HIT");
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store pitfalls: trust");
    TCase *trust = tcase_create("9");
    tcase_set_timeout(trust, 120);
    tcase_add_test(trust, pitfall_09_a_directory_on_the_way_that_others_may_write_is_untrusted);
    tcase_add_test(trust, pitfall_09_a_directory_of_the_payload_is_judged_like_the_slot);
    tcase_add_test(trust, pitfall_09_an_entry_planted_by_another_user_is_untrusted);
    tcase_add_loop_test(trust, pitfall_09_one_file_of_another_user_is_untrusted, 0, 4);
    tcase_add_test(trust, pitfall_09_a_layer_of_root_is_trusted_by_everybody);
    tcase_add_test(trust, pitfall_09_what_lies_on_another_device_is_untrusted);
    tcase_add_test(trust, pitfall_09_payload_modes_are_access_policy_and_marker_modes_are_not);
    tcase_add_loop_test(trust, pitfall_09_what_we_create_is_never_group_writable, 0, 3);
    tcase_add_test(trust, pitfall_09_a_root_that_others_may_write_is_refused);
    tcase_add_test(trust, pitfall_09_a_private_root_that_others_may_write_builds_nothing);
    tcase_add_test(trust, pitfall_09_a_private_root_is_trusted_when_told_so);
    tcase_add_test(trust, pitfall_09_a_root_of_another_user_is_refused);
    suite_add_tcase(suite, trust);
    return slt_run(suite, NULL);
}
