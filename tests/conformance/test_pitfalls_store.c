/* Pitfalls of the store, each by its number in the list of faults found by trying: wrong bytes, descriptors,
 * renames, files that block. Those about locks and processes stand in test_pitfalls_locks.c, those about trust in
 * test_pitfalls_trust.c. */
#include "store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "file.h"

/* The entry itself, for what only its room offers: reading one payload. */
static slwi_entry *look_up(slw_store *store, const slk_world *world) {
    slw_error err = SLW_ERROR_INIT;
    slwi_entry *entry = NULL;
    slt_ok(slwi_store_lookup(store, world->key, world->spec, &entry, &err), &err);
    return entry;
}

static slwi_image *read_payload(slwi_entry *entry, const char *name) {
    slw_error err = SLW_ERROR_INIT;
    slwi_image *image = NULL;
    slt_ok(slwi_entry_read(entry, name, &image, &err), &err);
    return image;
}

static void overwrite(const char *path, const char *data, size_t size) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    close(fd);
}

static void limit_descriptors(unsigned count) {
    struct rlimit limit = {count, count};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* ---- 1: bytes handed out do not change under a writer ---- */

START_TEST(pitfall_01_a_writer_in_place_reaches_no_bytes_that_were_handed_out) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slw_store *store = slk_open(&world);
    slwi_entry *entry = look_up(store, &world);
    char path[1024];
    snprintf(path, sizeof path, "%s/kernel/source.pto", slwi_entry_directory(entry));
    slwi_image *image = read_payload(entry, "kernel/source.pto");
    ck_assert_uint_eq(slwi_image_size(image), 14);
    overwrite(path, "changed bytes!", 14);
    ck_assert_mem_eq(slwi_image_data(image), "generated code", 14);
    ck_assert_int_eq(truncate(path, 0), 0); /* a file mapping would now be SIGBUS */
    ck_assert_mem_eq(slwi_image_data(image), "generated code", 14);
    slwi_release(image);

    slw_error err = SLW_ERROR_INIT;
    image = NULL;
    ck_assert_int_eq(slwi_entry_read(entry, "kernel/source.pto", &image, &err), SLW_E_INVALID_ENTRY);
    ck_assert_ptr_null(image);
    overwrite(path, "generated codE", 14);
    ck_assert_int_eq(slwi_entry_read(entry, "kernel/source.pto", &image, &err), SLW_E_INVALID_ENTRY);
    ck_assert_int_eq(slwi_entry_read(entry, "no such payload", &image, &err), SLW_E_MISS);
    overwrite(path, "generated code", 14);
    image = read_payload(entry, "kernel/source.pto"); /* the same bytes again are the same payload */
    slwi_release(image);
    slwi_release(entry);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_01_the_payload_a_lookup_kept_is_what_was_judged) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    const slw_bytes names[2] = {{"kernel/source.pto", 17}, {"kernel_config.py", 16}};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.required_files = names;
    inputs.required_file_count = 2;
    inputs.keep = "kernel/source.pto";
    slw_error err = SLW_ERROR_INIT;
    slw_spec *keeping = NULL;
    slt_ok(slw_spec_create(&inputs, &keeping, &err), &err);
    ck_assert_str_eq(slw_spec_digest(keeping), slw_spec_digest(world.spec));
    slw_spec_release(&world.spec);
    world.spec = keeping;
    slw_store *store = slk_open(&world);
    slwi_entry *entry = look_up(store, &world);
    slt_shell("rm -r '%s'", world.root);
    slwi_image *image = read_payload(entry, "kernel/source.pto");
    ck_assert_mem_eq(slwi_image_data(image), "generated code", 14);
    slwi_release(image);
    ck_assert_int_eq(slwi_entry_read(entry, "kernel_config.py", &image, &err), SLW_E_GONE);
    slwi_release(entry);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 3: what was built with a toolchain that changed is not published ---- */

START_TEST(pitfall_03_a_build_that_is_not_confirmed_is_private) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store *store = slk_open(&world);
    world.build.confirm_code = SLW_E_IDENTITY_UNUSABLE;
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PRIVATE, SLW_FAILURE_NONE);
    ck_assert_msg(strstr(result.report.reason, "BUILDER_SAID_NO") != NULL ||
                      strstr(result.report.reason, "confirm said no") != NULL,
                  "%s", result.report.reason);
    ck_assert_int_eq(atomic_load(&world.build.confirms), 1);
    slk_expect_files(result.entry, slk_fixture_files, 2);
    slk_expect_verdict(&world, store, "MISS");
    ck_assert_uint_eq(slk_names(slt_path(world.root, "artifacts", NULL)), 0);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    world.build.confirm_code = SLW_OK;
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 20: a slot that is moved away is never INVALID ---- */

/* What eviction and a new publication do to a slot, again and again: moved to a trash beside it, emptied there, made anew
   and renamed into place. */
typedef struct churn {
    char slot[1024];
    char parent[1024];
    char *marker;
    size_t marker_size;
    atomic_int stop;
    int rounds;
} churn;

static void *evict_and_publish(void *context) {
    churn *c = context;
    const int parent = open(c->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(parent, 0);
    while (!atomic_load(&c->stop)) {
        const char *name = strrchr(c->slot, '/') + 1;
        ck_assert_int_eq(renameat(parent, name, parent, ".trash.0"), 0);
        ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), parent, ".trash.0"), 0);
        ck_assert_int_eq(mkdirat(parent, ".tmp.next", 0700), 0);
        const char *next = slt_path(c->parent, ".tmp.next", NULL);
        slk_write_files(next, slk_fixture_files, 2);
        slt_write_file(slt_path(next, "artifact_manifest.json", NULL), c->marker, c->marker_size, 0644);
        ck_assert_int_eq(renameat(parent, ".tmp.next", parent, name), 0);
        c->rounds++;
    }
    close(parent);
    return NULL;
}

START_TEST(pitfall_20_a_slot_evicted_while_it_is_judged_is_never_invalid) {
    slk_use_memory();
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    static churn c;
    snprintf(c.slot, sizeof c.slot, "%s", slk_slot(&world, world.key, world.spec));
    snprintf(c.parent, sizeof c.parent, "%.*s", (int)(strrchr(c.slot, '/') - c.slot), c.slot);
    c.marker = slt_read_file(slk_marker(&world), &c.marker_size);
    slw_store *store = slk_open(&world);
    pthread_t evictor;
    ck_assert_int_eq(pthread_create(&evictor, NULL, evict_and_publish, &c), 0);
    int hits = 0, misses = 0;
    const uint64_t end = slwi_os_real()->now_ns(slwi_os_real()) + 3000000000u;
    while (slwi_os_real()->now_ns(slwi_os_real()) < end) {
        const char *verdict = slk_world_verdict(&world, store);
        ck_assert_msg(strcmp(verdict, "HIT") == 0 || strcmp(verdict, "MISS") == 0, "%s", verdict);
        if (verdict[0] == 'H')
            hits++;
        else
            misses++;
    }
    atomic_store(&c.stop, 1);
    ck_assert_int_eq(pthread_join(evictor, NULL), 0);
    ck_assert_int_gt(hits, 10);
    ck_assert_int_gt(misses, 10);
    ck_assert_int_gt(c.rounds, 10);
    slk_expect_verdict(&world, store, "HIT");
    free(c.marker);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* The same, exactly between two calls of one look-up, for every pair of calls. */
typedef struct interruption {
    char slot[1024];
    char trash[1024];
    char saved[600];
    uint64_t at;
    uint64_t calls;
    int again; /* 1: another publication follows at once */
} interruption;

static void evict_at(void *context, slt_call call, const char *path) {
    interruption *i = context;
    (void)path;
    if (call > SLT_POLL_READABLE || ++i->calls != i->at) return;
    ck_assert_int_eq(rename(i->slot, i->trash), 0);
    ck_assert_int_eq(slwi_remove_tree(slwi_os_real(), AT_FDCWD, i->trash), 0);
    if (i->again) slt_shell("cp -a '%s' '%s'", i->saved, i->slot);
}

START_TEST(pitfall_20_a_slot_evicted_between_two_calls_is_never_invalid) {
    slk_use_memory();
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    static interruption i;
    i.again = _i;
    snprintf(i.slot, sizeof i.slot, "%s", slk_slot(&world, world.key, world.spec));
    snprintf(i.trash, sizeof i.trash, "%.*s/.trash.0", (int)(strrchr(i.slot, '/') - i.slot), i.slot);
    snprintf(i.saved, sizeof i.saved, "%s/saved", world.scratch);
    slt_shell("cp -a '%s' '%s'", i.slot, i.saved);
    slw_store *store = slk_open(&world);
    slk_expect_verdict(&world, store, "HIT");
    int hits = 0, misses = 0;
    for (i.at = 1; i.calls + 1 >= i.at; i.at++) {
        i.calls = 0;
        slt_fault_os_install(NULL);
        slt_fault_os_hook(evict_at, &i);
        const char *verdict = slk_world_verdict(&world, store);
        slt_fault_os_remove();
        ck_assert_msg(strcmp(verdict, "HIT") == 0 || (!i.again && strcmp(verdict, "MISS") == 0), "%s before call %llu",
                      verdict, (unsigned long long)i.at);
        if (verdict[0] == 'H')
            hits++;
        else
            misses++;
        if (!slk_exists(i.slot)) slt_shell("cp -a '%s' '%s'", i.saved, i.slot);
    }
    ck_assert_int_gt(hits, 1);
    if (!i.again) ck_assert_int_gt(misses, 10);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_20_another_slot_of_the_name_is_gone_not_invalid) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slw_store *store = slk_open(&world);
    slwi_entry *entry = look_up(store, &world);
    char slot[1024];
    snprintf(slot, sizeof slot, "%s", slwi_entry_directory(entry));
    slw_error err = SLW_ERROR_INIT;
    slwi_image *image = NULL;
    /* The same bytes in another slot are accepted, whichever inode. */
    slt_shell("mv '%s' '%s/old' && cp -a '%s/old' '%s'", slot, world.scratch, world.scratch, slot);
    image = read_payload(entry, "kernel_config.py");
    slwi_release(image);
    /* Other bytes in another slot: the judged one is gone. */
    overwrite(slt_path(slot, "kernel_config.py", NULL), "kernels = []\n", 13);
    ck_assert_int_eq(slwi_entry_read(entry, "kernel_config.py", &image, &err), SLW_E_GONE);
    slt_shell("rm -r '%s'", slot);
    ck_assert_int_eq(slwi_entry_read(entry, "kernel_config.py", &image, &err), SLW_E_GONE);
    ck_assert_int_eq(slwi_entry_materialize(entry, slt_path(world.scratch, "copy", NULL), &err), SLW_E_GONE);
    slwi_release(entry);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 25 and 28 ---- */

START_TEST(pitfall_25_an_entry_outlives_its_store_key_and_spec) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slw_store *store = slk_open(&world);
    slwi_entry *entry = look_up(store, &world);
    slk_result private_build;
    slw_key *other = slk_key(world.domain, "other");
    slw_store *reader = slk_open_read_only(&world);
    slk_get(reader, other, world.spec, &world.builder, &private_build);
    slw_store_close(&store);
    slw_store_close(&reader);
    slw_key_release(&other);
    slk_world_end(&world);
    slwi_image *image = read_payload(entry, "kernel_config.py");
    ck_assert_mem_eq(slwi_image_data(image), "KERNELS = []\n", 13);
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_entry_materialize(entry, slt_path(world.scratch, "copy", NULL), &err), &err);
    ck_assert_str_eq(slw_spec_digest(slwi_entry_spec(entry)), slw_spec_digest(slwi_entry_spec(entry)));
    slwi_release(entry);
    ck_assert_mem_eq(slwi_image_data(image), "KERNELS = []\n", 13);
    slwi_release(image);
    slk_expect(&private_build, SLW_PRIVATE, SLW_FAILURE_NONE);
    slk_expect_files(private_build.entry, slk_fixture_files, 2);
    slt_ok(slw_cached_materialize(private_build.entry, slt_path(world.scratch, "private copy", NULL), &err), &err);
    slk_result_release(&private_build);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
}
END_TEST

START_TEST(pitfall_28_ok_means_that_out_is_set_and_nothing_else_does) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store *store = slk_open(&world);
    slw_error err = SLW_ERROR_INIT;
    slw_cached *const mark = (slw_cached *)(void *)&world; /* never dereferenced: it must stay what it is */
    slw_cached *out = mark;
    ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, &out, &err), SLW_E_MISS);
    ck_assert_ptr_eq(out, mark);
    slk_publish(&world);
    slt_write_file(slk_marker(&world), "{", 1, 0644);
    ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, &out, &err), SLW_E_INVALID_ENTRY);
    ck_assert_ptr_eq(out, mark);
    slw_spec *foreign = slk_fixture_spec(SLW_DOMAIN_PYPTO, SLW_GENERATED, SLW_SINGLE);
    ck_assert_int_eq(slw_store_lookup(store, world.key, foreign, &out, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_store_lookup(store, NULL, world.spec, &out, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_store_lookup(store, world.key, NULL, &out, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_store_lookup(NULL, world.key, world.spec, &out, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_store_lookup(store, world.key, world.spec, (slw_cached **)NULL, &err), SLW_E_USAGE);
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    world.build.code = SLW_E_COMPILE_FAILED;
    ck_assert_int_eq(slw_store_get_or_build(store, world.key, world.spec, &world.builder, &report, &out, &err),
                     SLW_E_COMPILE_FAILED);
    ck_assert_ptr_eq(out, mark);
    ck_assert_int_eq(slw_store_get_or_build(store, world.key, world.spec, NULL, &report, &out, &err), SLW_E_USAGE);
    ck_assert_ptr_eq(out, mark);
    slw_build_report_release(&report);
    slw_spec_release(&foreign);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 29: no descriptor per entry ---- */

START_TEST(pitfall_29_two_thousand_entries_are_kept_with_64_descriptors) {
    enum { ENTRIES = 50, TIMES = 40 };
    slk_use_memory();
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    static slwi_entry *entries[ENTRIES * TIMES];
    static slwi_image *images[ENTRIES * TIMES];
    const int descriptors = slt_open_descriptors();
    slw_store *store = slk_open(&world);
    limit_descriptors(64);
    for (int i = 0; i < ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "source %d", i);
        slw_key_release(&world.key);
        world.key = slk_key(world.domain, name);
        slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
        for (int j = 0; j < TIMES; j++) {
            entries[i * TIMES + j] = look_up(store, &world);
            images[i * TIMES + j] = read_payload(entries[i * TIMES + j], "kernel/source.pto");
        }
    }
    slw_store_close(&store);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    for (int i = 0; i < ENTRIES * TIMES; i++) {
        slwi_release(images[i]);
        images[i] = read_payload(entries[i], "kernel_config.py");
        ck_assert_mem_eq(slwi_image_data(images[i]), "KERNELS = []\n", 13);
        slwi_release(images[i]);
        slwi_release(entries[i]);
    }
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slk_world_end(&world);
}
END_TEST

/* ---- 30: the rename said no, and had been done ---- */

static int renamed_and_failed(const slwi_os *os, int from, const char *from_name, int to, const char *to_name) {
    const int result = os->next->rename_noreplace(os->next, from, from_name, to, to_name);
    return result == 0 ? -EIO : result;
}

START_TEST(pitfall_30_a_rename_that_fails_though_done_has_published) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slwi_os table = slk_table();
    table.rename_noreplace = renamed_and_failed;
    slwi_os_replace(&table);
    slw_store *store = slk_open(&world);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_uint_eq(slk_leftovers(world.root), 0);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    slwi_os_replace(NULL);
    slk_world_end(&world);
}
END_TEST

/* ---- 35: the root is removed under a living store ---- */

START_TEST(pitfall_35_a_root_that_was_removed_is_opened_again) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store *store = slk_open(&world);
    for (int i = 0; i < 3; i++) {
        slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
        slk_expect_verdict(&world, store, "HIT");
        slt_shell("rm -r '%s'", world.root);
        if (i == 1) ck_assert_int_eq(mkdir(world.root, 0755), 0);
        slk_expect_verdict(&world, store, "MISS");
    }
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

/* ---- 39: files that block, signals, deep trees ---- */

START_TEST(pitfall_39_a_fifo_never_blocks) {
    static const char *const places[3] = {"artifact_manifest.json", "kernel/source.pto", "kernel"};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    const char *place = slt_path(slk_slot(&world, world.key, world.spec), places[_i], NULL);
    slt_shell("rm -r '%s' && mkfifo '%s'", place, place);
    slw_store *store = slk_open(&world);
    (void)alarm(20);
    slk_expect_verdict(&world, store, "INVALID");
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_INVALID);
    (void)alarm(0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_39_a_fifo_as_the_lock_never_blocks) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    const char *lock = slk_lock_file(&world);
    slt_shell("mkdir -p '%s/locks' && mkfifo '%s'", world.root, lock);
    slw_store *store = slk_open(&world);
    (void)alarm(20);
    slk_world_expect(&world, store, SLW_PRIVATE, SLW_FAILURE_LOCK);
    (void)alarm(0);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_39_an_ignored_sigchld_changes_nothing) {
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    slw_store *store = slk_open(&world);
    slk_world_expect(&world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slk_world_expect(&world, store, SLW_HIT, SLW_FAILURE_NONE);
    slw_store_close(&store);
    ck_assert(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
    slk_world_end(&world);
}
END_TEST

/* A file 700 directories down, and empty directories beside it. */
static slw_code deep_output(slk_build *self, const slw_build_context *build, slw_error *err) {
    const unsigned *depth = self->context;
    (void)err;
    slk_nest(build->directory, "d", *depth);
    slt_shell("cd '%s' && i=0 && while [ $i -lt %u ]; do cd d && i=$((i+100)) && "
              "for j in 1 2 3 4 5 6 7 8 9; do cd d/d/d/d/d/d/d/d/d/d/d; done; done && echo deep > leaf",
              build->directory, *depth);
    return SLW_OK;
}

START_TEST(pitfall_39_deep_trees_take_few_descriptors) {
    slk_use_memory();
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    unsigned depth = 700;
    world.build.before = deep_output;
    world.build.context = &depth;
    slw_store *store = slk_open(&world);
    const int descriptors = slt_open_descriptors();
    limit_descriptors(40);
    slk_result result;
    slk_world_get(&world, store, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    ck_assert_uint_eq(slw_cached_file_count(result.entry), 3);
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slw_cached_materialize(result.entry, slt_path(world.scratch, "copy", NULL), &err), &err);
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0); /* removed, with O(1) descriptors too */
    slk_expect_verdict(&world, store, "HIT");
    slk_nest(slk_slot(&world, world.key, world.spec), "e", 1100);
    slk_expect_verdict(&world, store, "INVALID");
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

START_TEST(pitfall_39_too_deep_an_output_is_the_builders_fault) {
    slk_use_memory();
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    unsigned depth = 1100;
    world.build.before = deep_output;
    world.build.context = &depth;
    slw_store *store = slk_open(&world);
    limit_descriptors(40);
    slk_result result;
    slk_world_get(&world, store, &result);
    ck_assert_msg(result.code == SLW_E_INVALID_SOURCE || result.code == SLW_E_LIMIT, "%s", slw_code_name(result.code));
    slk_result_release(&result);
    ck_assert_uint_eq(slk_names(world.private_root), 0);
    slk_expect_verdict(&world, store, "MISS");
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store pitfalls: bytes, descriptors, names");
    TCase *bytes = tcase_create("bytes");
    tcase_set_timeout(bytes, 180);
    tcase_add_test(bytes, pitfall_01_a_writer_in_place_reaches_no_bytes_that_were_handed_out);
    tcase_add_test(bytes, pitfall_01_the_payload_a_lookup_kept_is_what_was_judged);
    tcase_add_test(bytes, pitfall_03_a_build_that_is_not_confirmed_is_private);
    tcase_add_test(bytes, pitfall_20_a_slot_evicted_while_it_is_judged_is_never_invalid);
    tcase_add_loop_test(bytes, pitfall_20_a_slot_evicted_between_two_calls_is_never_invalid, 0, 2);
    tcase_add_test(bytes, pitfall_20_another_slot_of_the_name_is_gone_not_invalid);
    tcase_add_test(bytes, pitfall_25_an_entry_outlives_its_store_key_and_spec);
    tcase_add_test(bytes, pitfall_28_ok_means_that_out_is_set_and_nothing_else_does);
    suite_add_tcase(suite, bytes);
    TCase *system = tcase_create("descriptors and names");
    tcase_set_timeout(system, 240);
    tcase_add_test(system, pitfall_29_two_thousand_entries_are_kept_with_64_descriptors);
    tcase_add_test(system, pitfall_30_a_rename_that_fails_though_done_has_published);
    tcase_add_test(system, pitfall_35_a_root_that_was_removed_is_opened_again);
    tcase_add_loop_test(system, pitfall_39_a_fifo_never_blocks, 0, 3);
    tcase_add_test(system, pitfall_39_a_fifo_as_the_lock_never_blocks);
    tcase_add_test(system, pitfall_39_an_ignored_sigchld_changes_nothing);
    tcase_add_test(system, pitfall_39_deep_trees_take_few_descriptors);
    tcase_add_test(system, pitfall_39_too_deep_an_output_is_the_builders_fault);
    suite_add_tcase(suite, system);
    return slt_run(suite, NULL);
}
