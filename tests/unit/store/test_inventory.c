/* The inventory of a tree: order, depth, descriptors, what is unsafe, and which error comes first. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "fault_os.h"
#include "store_inventory.h"
#include "store_kit.h"
#include "store_scratch.h"
#include "text.h"

typedef struct world {
    const char *root;
    slw_store *store;
    slwi_scratch *scratch;
    slwi_inventory inventory;
    slw_error err;
    int changed;
} world;

static void begin(world *w) {
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    const slw_error fresh = SLW_ERROR_INIT;
    w->err = fresh;
    w->changed = 0;
    w->root = slt_scratch();
    options.root = slt_path(w->root, "store", NULL);
    w->store = slk_open_options(&options);
    w->scratch = slwi_scratch_borrow(w->store);
    ck_assert_ptr_nonnull(w->scratch);
    slwi_inventory_init(&w->inventory, slwi_store_allocator(w->store));
    ck_assert_int_eq(mkdir(slt_path(w->root, "tree", NULL), 0700), 0);
}

static void end(world *w) {
    slwi_inventory_free(&w->inventory);
    slwi_scratch_return(w->store, w->scratch);
    slw_store_close(&w->store);
}

static const char *in_tree(const world *w, const char *path) {
    return slt_path(w->root, "tree", path, NULL);
}

static void put(const world *w, const char *path, const char *text, unsigned mode) {
    slt_write_file(in_tree(w, path), text, strlen(text), mode);
}

static slw_code read_rules(world *w, const slwi_tree_rules *rules, slwi_image **kept) {
    const slw_error fresh = SLW_ERROR_INIT;
    w->err = fresh;
    w->changed = 0;
    const int fd = open(in_tree(w, "."), O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    const int before = slt_open_descriptors();
    const slw_code code = slwi_inventory_read(w->scratch, fd, rules, &w->inventory, kept, &w->changed, &w->err);
    ck_assert_int_eq(slt_open_descriptors(), before);
    ck_assert_int_eq(w->err.code, code);
    close(fd);
    return code;
}

static slw_code read_tree(world *w) {
    const slwi_tree_rules rules = {
        .bad_code = SLW_E_INVALID_SOURCE, .limit_code = SLW_E_LIMIT, .hash = 1, .where = "tree"};
    return read_rules(w, &rules, NULL);
}

static void expect_paths(const world *w, const char *const *paths, size_t count) {
    ck_assert_uint_eq(w->inventory.count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(w->inventory.files[i].path, paths[i]);
        ck_assert_uint_eq(slwi_inventory_find(&w->inventory, paths[i], strlen(paths[i])), i);
    }
}

START_TEST(paths_come_in_the_order_of_code_points) {
    static const char *const paths[] = {
        "A", "_", "a-b", "a.b", "a/x", "a/y/z", "a0b", "\xee\x80\x80", "\xf0\x9f\x98\x80"};
    world w;
    begin(&w);
    ck_assert_int_eq(mkdir(in_tree(&w, "a"), 0700), 0);
    ck_assert_int_eq(mkdir(in_tree(&w, "a/y"), 0700), 0);
    ck_assert_int_eq(mkdir(in_tree(&w, "empty"), 0700), 0);
    for (size_t i = 0; i < 9; i++) put(&w, paths[i], paths[i], 0600);
    slt_ok(read_tree(&w), &w.err);
    expect_paths(&w, paths, 9);
    end(&w);
}
END_TEST

/* A byte that is not UTF-8 is a surrogate: behind the Chinese names, before U+E000. */
START_TEST(names_that_are_not_text_sort_as_surrogates) {
    static const char *const paths[] = {"\xe4\xb8\xad", "\xff", "\xee\x80\x80"};
    world w;
    begin(&w);
    for (size_t i = 0; i < 3; i++) put(&w, paths[i], "x", 0600);
    slt_ok(read_tree(&w), &w.err);
    expect_paths(&w, paths, 3);
    end(&w);
}
END_TEST

/* The short cut orders every pair as decoding does. */
START_TEST(comparing_by_bytes_where_they_are_ascii) {
    static const char *const names[] = {"",
                                        "a",
                                        "ab",
                                        "b",
                                        "a/b",
                                        "a-b",
                                        "\x7f",
                                        "\x80",
                                        "\xff",
                                        "\xc3\xa9",
                                        "\xe4"
                                        "a",
                                        "\xe4\xb8\xad",
                                        "\xe4\xb8",
                                        "\xe4\xb8"
                                        "z",
                                        "\xee\x80\x80",
                                        "\xf0\x9f\x98\x80",
                                        "\xf0\x9f"
                                        "a",
                                        "\xed\xb3\xa9"};
    const size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const slw_bytes a = {names[i], strlen(names[i])}, b = {names[k], strlen(names[k])};
            const int fast = slwi_path_compare(names[i], a.size, names[k], b.size), slow = slwi_os_compare(a, b);
            ck_assert_msg((fast > 0) - (fast < 0) == (slow > 0) - (slow < 0), "%zu and %zu: %d, %d", i, k, fast, slow);
        }
}
END_TEST

START_TEST(digests_sizes_and_execute_bits) {
    world w;
    begin(&w);
    put(&w, "empty", "", 0600);
    put(&w, "group", "abc", 0611);
    put(&w, "owner", "abc", 0500);
    slt_ok(read_tree(&w), &w.err);
    slw_digest digest;
    slw_sha256((slw_bytes){"abc", 3}, &digest);
    const slwi_tree_file *files = w.inventory.files;
    ck_assert_uint_eq(w.inventory.count, 3);
    ck_assert_uint_eq(w.inventory.size_bytes, 6);
    ck_assert_uint_eq(files[0].size, 0);
    ck_assert_uint_eq(files[1].executable, 0);
    ck_assert_uint_eq(files[2].executable, 1);
    ck_assert_mem_eq(&files[1].sha256, &digest, sizeof digest);
    ck_assert_mem_eq(&files[2].sha256, &digest, sizeof digest);
    end(&w);
}
END_TEST

/* Sizes around the batch's: files that fill it, that just fit, and that are hashed in pieces. */
START_TEST(every_size_is_hashed_right) {
    static const size_t sizes[] = {1,      63, 64, 4096, SLWI_BATCH_BYTES - 1, SLWI_BATCH_BYTES, SLWI_BATCH_BYTES + 1,
                                   900001, 5};
    world w;
    begin(&w);
    char *bytes = malloc(1000000);
    for (size_t i = 0; i < 1000000; i++) bytes[i] = (char)(i * 31 ^ i >> 8);
    for (size_t i = 0; i < 9; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%zu", i);
        slt_write_file(in_tree(&w, name), bytes + i, sizes[i], 0600);
    }
    slt_ok(read_tree(&w), &w.err);
    ck_assert_uint_eq(w.inventory.count, 9);
    for (size_t i = 0; i < 9; i++) {
        slw_digest digest;
        slw_sha256((slw_bytes){bytes + i, sizes[i]}, &digest);
        ck_assert_mem_eq(&w.inventory.files[i].sha256, &digest, sizeof digest);
    }
    free(bytes);
    end(&w);
}
END_TEST

START_TEST(more_files_than_a_batch_holds) {
    world w;
    begin(&w);
    for (int i = 0; i < 500; i++) {
        char name[8];
        snprintf(name, sizeof name, "%03d", i);
        put(&w, name, name, 0600);
    }
    slt_ok(read_tree(&w), &w.err);
    ck_assert_uint_eq(w.inventory.count, 500);
    for (int i = 0; i < 500; i++) {
        slw_digest digest;
        slw_sha256((slw_bytes){w.inventory.files[i].path, 3}, &digest);
        ck_assert_mem_eq(&w.inventory.files[i].sha256, &digest, sizeof digest);
    }
    end(&w);
}
END_TEST

START_TEST(the_payload_to_keep_is_kept) {
    world w;
    begin(&w);
    put(&w, "a", "alpha", 0600);
    put(&w, "b", "beta", 0600);
    slwi_tree_rules rules = {.bad_code = SLW_E_INVALID_SOURCE, .limit_code = SLW_E_LIMIT, .hash = 1, .keep = "b"};
    slwi_image *kept = NULL;
    slt_ok(read_rules(&w, &rules, &kept), &w.err);
    ck_assert_ptr_nonnull(kept);
    ck_assert_uint_eq(slwi_image_size(kept), 4);
    ck_assert_mem_eq(slwi_image_data(kept), "beta", 4);
    slwi_release(kept);
    slw_digest digest;
    slw_sha256((slw_bytes){"beta", 4}, &digest);
    ck_assert_mem_eq(&w.inventory.files[1].sha256, &digest, sizeof digest);
    kept = NULL;
    rules.keep = "absent";
    slt_ok(read_rules(&w, &rules, &kept), &w.err);
    ck_assert_ptr_null(kept);
    end(&w);
}
END_TEST

START_TEST(depth_is_limited_and_descriptors_are_few) {
    world w;
    begin(&w);
    slk_nest(in_tree(&w, "."), "d", 700);
    put(&w, "z", "z", 0600);
    slt_ok(read_tree(&w), &w.err);
    ck_assert_uint_eq(w.inventory.count, 1);
    slt_shell("rm -rf '%s'", in_tree(&w, "d"));
    slk_nest(in_tree(&w, "."), "d", 1100);
    ck_assert_int_eq(read_tree(&w), SLW_E_LIMIT);
    end(&w);
}
END_TEST

static int deepest;
static void note_descriptors(void *context, slt_call call, const char *path) {
    (void)context;
    (void)path;
    if (call != SLT_READDIR) return;
    const int now = slt_open_descriptors();
    if (now > deepest) deepest = now;
}

START_TEST(a_walk_holds_a_bounded_number_of_descriptors) {
    world w;
    begin(&w);
    slk_nest(in_tree(&w, "."), "d", 100);
    const int before = slt_open_descriptors();
    deepest = 0;
    slt_fault_os_install(NULL);
    slt_fault_os_hook(note_descriptors, NULL);
    slt_ok(read_tree(&w), &w.err);
    slt_fault_os_remove();
    ck_assert_int_gt(deepest, before);
    ck_assert_int_le(deepest, before + 12);
    end(&w);
}
END_TEST

static void expect_bad(world *w, const char *subject, const char *reason) {
    ck_assert_int_eq(read_tree(w), SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(w->err.reason, reason);
    ck_assert_str_eq(w->err.subject, subject);
}

START_TEST(what_is_no_payload_is_named) {
    world w;
    begin(&w);
    ck_assert_int_eq(symlink("nowhere", in_tree(&w, "link")), 0);
    expect_bad(&w, "link", "NOT_REGULAR");
    ck_assert_int_eq(unlink(in_tree(&w, "link")), 0);
    ck_assert_int_eq(mkfifo(in_tree(&w, "pipe"), 0600), 0);
    expect_bad(&w, "pipe", "NOT_REGULAR");
    ck_assert_int_eq(unlink(in_tree(&w, "pipe")), 0);
    ck_assert_int_eq(mkdir(in_tree(&w, "a\\b"), 0700), 0);
    expect_bad(&w, "a\\b", "UNSAFE_PATH");
    ck_assert_int_eq(rmdir(in_tree(&w, "a\\b")), 0);
    put(&w, "artifact_manifest.json", "{}", 0600);
    slt_ok(read_tree(&w), &w.err); /* dropped */
    ck_assert_uint_eq(w.inventory.count, 0);
    ck_assert_int_eq(unlink(in_tree(&w, "artifact_manifest.json")), 0);
    ck_assert_int_eq(mkdir(in_tree(&w, "artifact_manifest.json"), 0700), 0);
    expect_bad(&w, "artifact_manifest.json", "UNSAFE_PATH");
    end(&w);
}
END_TEST

START_TEST(the_first_error_in_walk_order_wins) {
    world w;
    begin(&w);
    ck_assert_int_eq(mkdir(in_tree(&w, "kernel"), 0700), 0);
    put(&w, "kernel/source", "x", 0000);
    put(&w, "z", "x", 0600);
    slt_become_nobody(w.root);
    ck_assert_int_eq(read_tree(&w), SLW_E_STORAGE);
    ck_assert_str_eq(w.err.raw_name, "EACCES");
    ck_assert_str_eq(w.err.subject, "kernel/source");
    ck_assert_int_eq(symlink("nowhere", in_tree(&w, "zz")), 0);
    ck_assert_int_eq(read_tree(&w), SLW_E_STORAGE);
    ck_assert_int_eq(symlink("nowhere", in_tree(&w, "a")), 0);
    ck_assert_int_eq(read_tree(&w), SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(w.err.subject, "a");
    end(&w);
}
END_TEST

/* Makes the file longer as soon as it has been read. */
static void grow(void *context, slt_call call, const char *path) {
    (void)path;
    if (call == SLT_READ) slk_append(in_tree(context, "a"), "more", 4);
}

START_TEST(a_file_that_changes_while_it_is_read) {
    world w;
    begin(&w);
    put(&w, "a", "alpha", 0600);
    slt_fault_os_install(NULL);
    slt_fault_os_hook(grow, &w);
    expect_bad(&w, "a", "CHANGED");
    ck_assert_int_eq(w.changed, 1);
    slt_fault_os_remove();
    end(&w);
}
END_TEST

START_TEST(every_allocation_may_fail) {
    slt_heap heap;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    world w;
    begin(&w);
    slk_nest(in_tree(&w, "."), "d", 40);
    put(&w, "a", "alpha", 0600);
    slt_heap_init(&heap);
    options.root = slt_path(w.root, "other", NULL);
    options.allocator = heap.allocator;
    slw_store *store = slk_open_options(&options);
    uint64_t refused = 0;
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slwi_inventory inventory;
        slwi_inventory_init(&inventory, slwi_store_allocator(store));
        slwi_scratch *scratch = slwi_scratch_borrow(store);
        ck_assert_ptr_nonnull(scratch);
        const int fd = open(in_tree(&w, "."), O_RDONLY | O_DIRECTORY);
        const slwi_tree_rules rules = {
            .bad_code = SLW_E_INVALID_SOURCE, .limit_code = SLW_E_LIMIT, .hash = 1, .keep = "a"};
        slwi_image *kept = NULL;
        slw_error err = SLW_ERROR_INIT;
        const slw_code code = slwi_inventory_read(scratch, fd, &rules, &inventory, &kept, NULL, &err);
        ck_assert_int_eq(code, heap.failed ? SLW_E_NO_MEMORY : SLW_OK);
        slwi_release(kept);
        close(fd);
        slwi_inventory_free(&inventory);
        slwi_scratch_return(store, scratch);
        if (!heap.failed) break;
        refused++;
    }
    ck_assert_uint_gt(refused, 5);
    slw_store_close(&store);
    slt_heap_check_empty(&heap);
    end(&w);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store inventory");
    TCase *tests = tcase_create("inventory");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, paths_come_in_the_order_of_code_points);
    tcase_add_test(tests, names_that_are_not_text_sort_as_surrogates);
    tcase_add_test(tests, comparing_by_bytes_where_they_are_ascii);
    tcase_add_test(tests, digests_sizes_and_execute_bits);
    tcase_add_test(tests, every_size_is_hashed_right);
    tcase_add_test(tests, more_files_than_a_batch_holds);
    tcase_add_test(tests, the_payload_to_keep_is_kept);
    tcase_add_test(tests, depth_is_limited_and_descriptors_are_few);
    tcase_add_test(tests, a_walk_holds_a_bounded_number_of_descriptors);
    tcase_add_test(tests, what_is_no_payload_is_named);
    tcase_add_test(tests, the_first_error_in_walk_order_wins);
    tcase_add_test(tests, a_file_that_changes_while_it_is_read);
    tcase_add_test(tests, every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
