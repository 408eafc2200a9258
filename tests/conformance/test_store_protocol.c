/* The order of a publication's system calls: what a power cut may not undo is synced before what makes it visible. Read from a
 * log of the calls, so it holds on every file system. */
#include "store_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_os.h"

typedef struct published {
    slk_world world;
    size_t rename; /* its place in the log */
} published;

static const slk_file files[4] = {{"a/b/c", "one", 3, 0644},
                                  {"bin/tool", "two", 3, 0755},
                                  {"kernel/source.pto", "generated code", 14, 0644},
                                  {"kernel_config.py", "KERNELS = []\n", 13, 0644}};

static void publish_logged(published *p, const char *domain) {
    slk_world_make(&p->world, domain);
    p->world.build.files = files;
    p->world.build.file_count = 4;
    slw_store *store = slk_open(&p->world);
    slt_fault_os_install(NULL);
    slk_result result;
    slk_world_get(&p->world, store, &result);
    slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
    p->rename = slt_log_find(0, SLT_RENAME_NOREPLACE, NULL);
    ck_assert_uint_ne(p->rename, SIZE_MAX);
    slk_result_release(&result);
    slw_store_close(&store);
}

static void end_logged(published *p) {
    slt_fault_os_remove();
    slk_world_end(&p->world);
}

static int ends_with(const char *path, const char *ending) {
    const size_t size = strlen(path), tail = strlen(ending);
    return size >= tail && strcmp(path + size - tail, ending) == 0;
}

/* The last call of this kind on a path that ends so, before `before`; SIZE_MAX: none. */
static size_t last_call(slt_call call, const char *ending, size_t before) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < before; i++) {
        const slt_log_entry entry = slt_log_at(i);
        if (entry.call == call && entry.result >= 0 && ends_with(entry.path, ending)) found = i;
    }
    return found;
}

static size_t must_call(slt_call call, const char *ending, size_t before) {
    const size_t found = last_call(call, ending, before);
    if (found == SIZE_MAX) slt_log_print();
    ck_assert_msg(found != SIZE_MAX, "no %s of …%s before call %zu", slt_call_name(call), ending, before);
    return found;
}

/* ".tmp.<host>.<random>", from the log. */
static void staging_name(char out[128]) {
    const size_t made = slt_log_find(0, SLT_MKDIRAT, "/.tmp.");
    ck_assert_uint_ne(made, SIZE_MAX);
    const slt_log_entry entry = slt_log_at(made);
    snprintf(out, 128, "%s", strrchr(entry.path, '/'));
}

START_TEST(what_is_published_was_synced_before) {
    published p;
    publish_logged(&p, SLW_DOMAIN_DEFAULT);
    char staging[128], path[256];
    staging_name(staging);
    snprintf(path, sizeof path, "%s/artifact_manifest.json", staging);
    const size_t marker_open = must_call(SLT_OPENAT, path, p.rename);
    const size_t marker_write = must_call(SLT_WRITE, path, p.rename);
    const size_t marker_sync = must_call(SLT_FSYNC, path, p.rename);
    ck_assert_uint_lt(marker_open, marker_write);
    ck_assert_uint_lt(marker_write, marker_sync);
    ck_assert_uint_lt(marker_sync, must_call(SLT_FSYNC, staging, p.rename)); /* the directory once more */
    for (size_t i = 0; i < 4; i++) { /* files, each after its last byte and before the marker is begun */
        snprintf(path, sizeof path, "%s/%s", staging, files[i].path);
        const size_t synced = must_call(SLT_FSYNC, path, marker_open);
        ck_assert_uint_lt(must_call(SLT_WRITE, path, p.rename), synced);
    }
    static const char *const directories[5] = {"/a/b", "/a", "/bin", "/kernel", ""};
    size_t last_file = 0;
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", staging, files[i].path);
        const size_t synced = must_call(SLT_FSYNC, path, marker_open);
        if (synced > last_file) last_file = synced;
    }
    for (size_t i = 0; i < 5; i++) { /* then directories, the inner before the outer */
        snprintf(path, sizeof path, "%s%s", staging, directories[i]);
        ck_assert_uint_gt(must_call(SLT_FSYNC, path, marker_open), last_file);
    }
    snprintf(path, sizeof path, "%s/a/b", staging);
    char outer[256];
    snprintf(outer, sizeof outer, "%s/a", staging);
    ck_assert_uint_lt(must_call(SLT_FSYNC, path, marker_open), must_call(SLT_FSYNC, outer, marker_open));
    end_logged(&p);
}
END_TEST

START_TEST(the_copy_is_read_back_before_it_is_published) {
    published p;
    publish_logged(&p, SLW_DOMAIN_DEFAULT);
    char staging[128], path[256];
    staging_name(staging);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", staging, files[i].path);
        const size_t written = must_call(SLT_WRITE, path, p.rename);
        const size_t read = last_call(SLT_READ, path, p.rename), pread = last_call(SLT_PREAD, path, p.rename);
        ck_assert_msg((read != SIZE_MAX && read > written) || (pread != SIZE_MAX && pread > written),
                      "%s is not read back", files[i].path);
    }
    end_logged(&p);
}
END_TEST

/* The slot's parent, and the parent of every directory that was made for it. */
START_TEST(the_parents_are_synced_after_the_rename) {
    published p;
    publish_logged(&p, SLW_DOMAIN_DEFAULT);
    const char *const parents[5] = {slw_spec_digest(p.world.spec), slw_key_digest(p.world.key),
                                    slw_key_environment(p.world.key), "/artifacts", "/root"};
    for (size_t i = 0; i < 5; i++) {
        const size_t synced = must_call(SLT_FSYNC, parents[i], slt_log_size());
        ck_assert_msg(synced > p.rename, "%s is not synced after the rename", parents[i]);
    }
    end_logged(&p);
}
END_TEST

/* Under the lock: taken before the builder runs, let go after the parents were synced. */
START_TEST(the_lock_is_held_from_the_second_look_to_the_last_sync) {
    published p;
    publish_logged(&p, SLW_DOMAIN_DEFAULT);
    const size_t taken = slt_log_find(0, SLT_LOCK, NULL), first_look = slt_log_find(0, SLT_OPENAT, "/root");
    ck_assert_uint_ne(taken, SIZE_MAX);
    ck_assert_uint_lt(first_look, taken);
    const size_t second_look = slt_log_find(taken, SLT_OPENAT, "/root"),
                 built = slt_log_find(0, SLT_MKDIRAT, "/private");
    ck_assert_uint_ne(second_look, SIZE_MAX);
    ck_assert_uint_ne(built, SIZE_MAX);
    ck_assert_uint_lt(second_look, built);
    const size_t synced = must_call(SLT_FSYNC, "/root", slt_log_size());
    size_t released = slt_log_find(taken, SLT_UNLOCK, NULL);
    if (released == SIZE_MAX) released = must_call(SLT_CLOSE, ".lock", slt_log_size());
    ck_assert_uint_gt(released, synced);
    ck_assert_uint_eq(slt_fault_os_count(SLT_LOCK), 1);
    end_logged(&p);
}
END_TEST

/* A tag for backup programs at the first publication, in a store of our own only; a stamp of use beside the slot. */
START_TEST(what_stands_beside_the_slots) {
    published p;
    publish_logged(&p, _i == 0 ? SLW_DOMAIN_DEFAULT : SLW_DOMAIN_PYPTO);
    const char *tag = slt_path(p.world.root, "CACHEDIR.TAG", NULL);
    char parent[1024];
    snprintf(parent, sizeof parent, "%s", slk_slot(&p.world, p.world.key, p.world.spec));
    *strrchr(parent, '/') = 0;
    if (_i == 0) {
        char *text = slt_read_file(tag, NULL);
        ck_assert_int_eq(strncmp(text, "Signature: 8a477f597d28d172789f06886806bc55", 43), 0);
        free(text);
        ck_assert_uint_le(slk_names(parent), 2); /* the slot and its stamp */
    } else {
        ck_assert(!slk_exists(tag));
        ck_assert_uint_eq(slk_names(parent), 1);
        ck_assert_uint_eq(slk_names(p.world.root), 2);
    }
    end_logged(&p);
}
END_TEST

START_TEST(what_a_lookup_calls_writes_nothing) {
    static const slt_call writing[] = {SLT_WRITE,     SLT_MKDIRAT, SLT_UNLINKAT, SLT_RENAME,    SLT_RENAME_NOREPLACE,
                                       SLT_SYMLINKAT, SLT_FCHMOD,  SLT_FSYNC,    SLT_FTRUNCATE, SLT_UTIME,
                                       SLT_LOCK,      SLT_SPAWN};
    slk_world world;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store *store = slk_open(&world);
    for (int i = 0; i < 3; i++) {
        if (i == 1) slk_publish(&world);
        if (i == 2) slt_write_file(slk_marker(&world), "{", 1, 0644);
        slt_fault_os_install(NULL);
        slk_expect_verdict(&world, store, i == 0 ? "MISS" : i == 1 ? "HIT" : "INVALID");
        for (size_t j = 0; j < sizeof writing / sizeof *writing; j++)
            ck_assert_msg(slt_fault_os_count(writing[j]) == 0, "%s", slt_call_name(writing[j]));
        slt_fault_os_remove();
    }
    slw_store_close(&store);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store protocol");
    TCase *all = tcase_create("order of calls");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, what_is_published_was_synced_before);
    tcase_add_test(all, the_copy_is_read_back_before_it_is_published);
    tcase_add_test(all, the_parents_are_synced_after_the_rename);
    tcase_add_test(all, the_lock_is_held_from_the_second_look_to_the_last_sync);
    tcase_add_loop_test(all, what_stands_beside_the_slots, 0, 2);
    tcase_add_test(all, what_a_lookup_calls_writes_nothing);
    suite_add_tcase(suite, all);
    return slt_run(suite, NULL);
}
