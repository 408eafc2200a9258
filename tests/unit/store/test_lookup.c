/* A look-up goes down to its slot in one call where the kernel can, step by step where it cannot: the verdicts are the
 * same, and neither makes more calls than it needs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "store_entry.h"
#include "store_kit.h"

static slk_world world;
static slw_store *store;

static const slk_file three[] = {{"kernel.cubin", "binary", 6, 0600},
                                 {"kernel/source.pto", "source", 6, 0600},
                                 {"kernel_config.py", "config", 6, 0600}};

static const slt_fault no_openat2 = {.call = SLT_OPENAT_STRAIGHT, .nth = 1, .every = 1, .error_number = ENOSYS};

static void begin(int verify) {
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    world.build.files = three;
    world.build.file_count = 3;
    slk_publish(&world);
    slw_store_options options = slk_options(&world);
    options.verify = verify;
    store = slk_open_options(&options);
}

static void end(void) {
    slw_store_close(&store);
    slk_world_end(&world);
}

/* 1 where this kernel has openat2 and we may use it. */
static int has_openat2(void) {
    const slwi_os *os = slwi_os_real();
    const int fd = os->openat_straight(os, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
    if (fd >= 0) os->close(os, fd);
    return fd >= 0;
}

/* The calls of a hit, and of a payload read from it when `name` is given. */
static uint64_t calls_of_a_hit(const slt_fault *fault, const char *name) {
    slw_error err = SLW_ERROR_INIT;
    slwi_entry *entry = NULL;
    slwi_image *image = NULL;
    slt_fault_os_install(NULL);
    if (fault != NULL) slt_fault_os_add(*fault);
    slt_ok(slwi_store_lookup(store, world.key, world.spec, &entry, &err), &err);
    if (name != NULL) {
        slt_fault_os_clear();
        if (fault != NULL) slt_fault_os_add(*fault);
        slt_ok(slwi_entry_read(entry, name, &image, &err), &err);
    }
    const uint64_t calls = slt_fault_os_count(SLT_ANY);
    slt_fault_os_remove();
    slwi_release(image);
    slwi_release(entry);
    return calls;
}

/* Way: open, fstat, five directories above, close. Marker: open, fstat, read, close. Two directories listed, one of
   them opened, judged and closed: the table counts names and the end. Files: open, fstat, read, close. */
#define CALLS_FULL   (8u + 4u + (4u + 1u) + (1u + 1u) + 3u + 3u * 4u)
#define CALLS_ON_MAP (8u + 4u + (4u + 1u) + (1u + 1u) + 3u + 3u)
/* The refused call, and root and four directories opened, judged and closed instead of five looked at. Way; file: open,
   fstat, map, pread, protect, close. */
#define STEPWISE   11u
#define CALLS_READ (8u + 6u)

START_TEST(a_hit_makes_few_calls) {
    begin(SLW_VERIFY_FULL);
    if (has_openat2()) {
        ck_assert_uint_le(calls_of_a_hit(NULL, NULL), CALLS_FULL);
        ck_assert_uint_le(calls_of_a_hit(NULL, "kernel.cubin"), CALLS_READ);
    } else {
        slt_skip("a_hit_makes_few_calls", "needs openat2");
    }
    ck_assert_uint_le(calls_of_a_hit(&no_openat2, NULL), CALLS_FULL + STEPWISE);
    end();
}
END_TEST

START_TEST(an_on_map_hit_opens_no_payload) {
    begin(SLW_VERIFY_ON_MAP);
    if (has_openat2()) ck_assert_uint_le(calls_of_a_hit(NULL, NULL), CALLS_ON_MAP);
    ck_assert_uint_le(calls_of_a_hit(&no_openat2, NULL), CALLS_ON_MAP + STEPWISE);
    end();
}
END_TEST

static const char *verdict(int stepwise) {
    if (!stepwise) return slk_world_verdict(&world, store);
    slt_fault_os_install(NULL);
    slt_fault_os_add(no_openat2);
    const char *said = slk_world_verdict(&world, store);
    ck_assert_uint_gt(slt_fault_os_fired(), 0);
    slt_fault_os_remove();
    return said;
}

static void expect_both(const char *what, const char *expected) {
    for (int stepwise = 0; stepwise < 2; stepwise++) {
        const char *said = verdict(stepwise);
        ck_assert_msg(strcmp(said, expected) == 0, "%s, %s: %s", what, stepwise ? "stepwise" : "straight", said);
    }
}

/* The directory `up` names above the slot. */
static void above(int up, char out[1024]) {
    snprintf(out, 1024, "%s", slk_slot(&world, world.key, world.spec));
    for (int i = 0; i < up; i++) *strrchr(out, '/') = 0;
}

START_TEST(a_link_on_the_way_is_invalid_and_one_above_the_root_is_followed) {
    begin(SLW_VERIFY_FULL);
    expect_both("as published", "HIT");
    for (int up = 0; up <= 4; up++) {
        char path[1024], moved[1100];
        above(up, path);
        snprintf(moved, sizeof moved, "%s.moved", path);
        ck_assert_int_eq(rename(path, moved), 0);
        expect_both("a directory is gone", "MISS");
        ck_assert_int_eq(symlink(strrchr(moved, '/') + 1, path), 0);
        expect_both("a link", "INVALID");
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(rename(moved, path), 0);
    }
    expect_both("all is back", "HIT");
    /* The store was opened by a path that now leads through a link to the same root. */
    char parent[1024], moved[1100];
    snprintf(parent, sizeof parent, "%s", world.root);
    *strrchr(parent, '/') = 0;
    snprintf(moved, sizeof moved, "%s.moved", parent);
    ck_assert_int_eq(rename(parent, moved), 0);
    ck_assert_int_eq(symlink(moved, parent), 0);
    expect_both("a link above the root", "HIT");
    ck_assert_int_eq(unlink(parent), 0);
    ck_assert_int_eq(rename(moved, parent), 0);
    end();
}
END_TEST

START_TEST(a_directory_that_others_may_write_is_invalid) {
    begin(SLW_VERIFY_FULL);
    for (int up = 0; up <= 3; up++) {
        char path[1024];
        above(up, path);
        const unsigned mode = slk_mode(path);
        ck_assert_int_eq(chmod(path, 0777), 0);
        expect_both(path, "INVALID");
        ck_assert_int_eq(chmod(path, 01777), 0);
        expect_both(path, "HIT");
        ck_assert_int_eq(chmod(path, (mode_t)mode), 0);
    }
    ck_assert_int_eq(chmod(world.root, 0777), 0);
    expect_both("the root", "STORAGE_ERROR");
    ck_assert_int_eq(chmod(world.root, 0755), 0);
    expect_both("all is back", "HIT");
    end();
}
END_TEST

/* A store that was opened before its root existed has judged no parent yet: each look does. */
START_TEST(the_parent_of_a_root_that_came_later_is_judged) {
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    world.build.files = three;
    world.build.file_count = 3;
    char parent[310];
    snprintf(parent, sizeof parent, "%s/parent", world.scratch);
    snprintf(world.root, sizeof world.root, "%.250s/parent/root", world.scratch);
    store = slk_open(&world);
    ck_assert_int_eq(mkdir(parent, 0755), 0);
    slk_publish(&world);
    expect_both("a good parent", "HIT");
    ck_assert_int_eq(chmod(parent, 0777), 0);
    expect_both("a parent that others may write", "STORAGE_ERROR");
    ck_assert_int_eq(chmod(parent, 01777), 0);
    expect_both("a sticky parent", "HIT");
    end();
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("store look-up");
    TCase *t = tcase_create("the way down");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, a_hit_makes_few_calls);
    tcase_add_test(t, an_on_map_hit_opens_no_payload);
    tcase_add_test(t, a_link_on_the_way_is_invalid_and_one_above_the_root_is_followed);
    tcase_add_test(t, a_directory_that_others_may_write_is_invalid);
    tcase_add_test(t, the_parent_of_a_root_that_came_later_is_judged);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
