/* The key lock by itself: names, owners, file systems without locks, time-outs, who may go on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fault_os.h"
#include "store_kit.h"
#include "store_lock.h"

static slk_world world;
static slw_store *store;
static slw_error err;

static void begin(const char *domain) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    slk_world_make(&world, domain);
    store = slk_open(&world);
}

static void end(void) {
    slw_store_close(&store);
    slk_world_end(&world);
}

static uint64_t soon(uint64_t ms) {
    return slwi_now_ns() + ms * 1000000;
}

static slw_code take(slwi_key_lock *lock, const slw_spec *spec, uint64_t ms) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    return slwi_key_lock_take(lock, store, world.key, spec, soon(ms), NULL, &err);
}

/* 1 when nobody holds the file. */
static int is_free(void) {
    const int fd = open(slk_lock_file(&world), O_RDWR);
    ck_assert_int_ge(fd, 0);
    const int r = flock(fd, LOCK_EX | LOCK_NB);
    close(fd);
    return r == 0;
}

START_TEST(taken_and_dropped) {
    slwi_key_lock lock;
    begin(SLW_DOMAIN_DEFAULT);
    const int before = slt_open_descriptors();
    slt_ok(take(&lock, world.spec, 1000), &err);
    ck_assert_int_eq(lock.exclusive, 1);
    ck_assert(!is_free());
    slwi_key_lock_drop(&lock);
    ck_assert(is_free());
    ck_assert_int_eq(slt_open_descriptors(), before);
    ck_assert_uint_eq(slk_mode(slt_path(world.root, "locks", NULL)), 0755);
    ck_assert_uint_eq(slk_mode(slk_lock_file(&world)), 0600);
    end();
}
END_TEST

START_TEST(the_owner_is_written_in_the_default_domain_only) {
    slwi_key_lock lock;
    size_t size = 0;
    char expected[32];
    snprintf(expected, sizeof expected, "%ld ", (long)getpid());
    begin(SLW_DOMAIN_DEFAULT);
    slt_ok(take(&lock, world.spec, 1000), &err);
    char *owner = slt_read_file(slk_lock_file(&world), &size);
    ck_assert_int_eq(strncmp(owner, expected, strlen(expected)), 0);
    free(owner);
    slwi_key_lock_drop(&lock);
    end();
    begin(SLW_DOMAIN_PYPTO);
    slt_ok(take(&lock, world.spec, 1000), &err);
    free(slt_read_file(slk_lock_file(&world), &size));
    ck_assert_uint_eq(size, 0);
    slwi_key_lock_drop(&lock);
    end();
}
END_TEST

START_TEST(a_file_with_another_name_is_not_written) {
    slwi_key_lock lock;
    begin(SLW_DOMAIN_DEFAULT);
    ck_assert_int_eq(mkdir(world.root, 0755), 0);
    ck_assert_int_eq(mkdir(slt_path(world.root, "locks", NULL), 0755), 0);
    const char *precious = slt_path(world.scratch, "precious", NULL);
    slt_write_file(precious, "precious", 8, 0600);
    ck_assert_int_eq(link(precious, slk_lock_file(&world)), 0);
    slt_ok(take(&lock, world.spec, 1000), &err);
    slwi_key_lock_drop(&lock);
    size_t size = 0;
    char *text = slt_read_file(precious, &size);
    ck_assert_str_eq(text, "precious");
    free(text);
    end();
}
END_TEST

START_TEST(the_holder_is_named_when_time_is_over) {
    slwi_key_lock lock;
    begin(SLW_DOMAIN_DEFAULT);
    slt_ok(take(&lock, world.spec, 1000), &err);
    slwi_key_lock_drop(&lock);
    slt_write_file(slk_lock_file(&world), "4711 somewhere boot\n", 20, 0600);
    const int fd = open(slk_lock_file(&world), O_RDWR);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(take(&lock, world.spec, 60), SLW_E_LOCK);
    ck_assert_str_eq(err.reason, "TIMEOUT");
    ck_assert_msg(strstr(err.message, "4711 somewhere boot") != NULL, "%s", err.message);
    close(fd);
    end();
}
END_TEST

START_TEST(a_cancelled_wait) {
    slwi_key_lock lock;
    slw_cancel *token = NULL;
    begin(SLW_DOMAIN_DEFAULT);
    slk_publish(&world);
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    slw_store_options options = slk_options(&world);
    options.cancel = token;
    slw_store *cancellable = slk_open_options(&options);
    const int fd = open(slk_lock_file(&world), O_RDWR);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    slw_cancel_request(token);
    ck_assert_int_eq(slwi_key_lock_take(&lock, cancellable, world.key, world.spec, soon(60000), NULL, &err), SLW_E_CANCELLED);
    close(fd);
    slw_store_close(&cancellable);
    slw_cancel_release(&token);
    end();
}
END_TEST

static const int no_locks[] = {ENOLCK, EOPNOTSUPP, ENOSYS};

START_TEST(a_file_system_without_locks) {
    slwi_key_lock lock;
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_LOCK, .nth = 1, .every = 1, .error_number = no_locks[_i]});
    slt_ok(take(&lock, world.spec, 1000), &err);
    ck_assert_int_eq(lock.exclusive, 0);
    ck_assert_int_eq(lock.fd, -1);
    slwi_key_lock again;
    ck_assert_int_eq(take(&again, world.spec, 1000), SLW_E_RECURSIVE);
    slwi_key_lock_drop(&lock);
    slt_fault_os_remove();
    end();
}
END_TEST

START_TEST(any_other_failure_is_a_failure_of_the_lock) {
    slwi_key_lock lock;
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_add((slt_fault){.call = SLT_LOCK, .nth = 1, .every = 1, .error_number = EIO});
    ck_assert_int_eq(take(&lock, world.spec, 1000), SLW_E_LOCK);
    ck_assert_str_eq(err.raw_name, "EIO");
    slt_fault_os_remove();
    end();
}
END_TEST

START_TEST(the_same_thread_goes_on_for_another_spec) {
    slwi_key_lock outer, inner, same;
    begin(SLW_DOMAIN_DEFAULT);
    slw_spec *other = slk_fixture_spec(SLW_DOMAIN_DEFAULT, SLW_READY, SLW_SINGLE);
    slt_ok(take(&outer, world.spec, 1000), &err);
    slt_ok(take(&inner, other, 1000), &err);
    ck_assert_int_eq(inner.exclusive, 1);
    ck_assert_int_eq(inner.fd, -1);
    ck_assert_int_eq(take(&same, world.spec, 1000), SLW_E_RECURSIVE);
    ck_assert_int_eq(take(&same, other, 1000), SLW_E_RECURSIVE);
    slwi_key_lock_drop(&inner);
    ck_assert(!is_free());
    slwi_key_lock_drop(&outer);
    ck_assert(is_free());
    slw_spec_release(&other);
    end();
}
END_TEST

static void *take_elsewhere(void *context) {
    slwi_key_lock lock;
    slw_error why = SLW_ERROR_INIT;
    const slw_code code = slwi_key_lock_take(&lock, store, world.key, context, soon(60), NULL, &why);
    if (code == SLW_OK) slwi_key_lock_drop(&lock);
    return (void *)(intptr_t)code;
}

START_TEST(another_thread_waits_to_its_deadline) {
    slwi_key_lock lock;
    pthread_t thread;
    void *result = NULL;
    begin(SLW_DOMAIN_DEFAULT);
    slw_spec *other = slk_fixture_spec(SLW_DOMAIN_DEFAULT, SLW_READY, SLW_SINGLE);
    slt_ok(take(&lock, world.spec, 1000), &err);
    ck_assert_int_eq(pthread_create(&thread, NULL, take_elsewhere, other), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_int_eq((int)(intptr_t)result, SLW_E_LOCK);
    slwi_key_lock_drop(&lock);
    slw_spec_release(&other);
    end();
}
END_TEST

/* Removes the lock file's name between open and flock: the lock that is granted is nobody's. */
static void prune(void *context, slt_call call, const char *path) {
    int *left = context;
    if (call != SLT_LOCK || *left == 0) return;
    (void)path;
    (*left)--;
    ck_assert_int_eq(unlink(slk_lock_file(&world)), 0);
}

START_TEST(a_pruned_file_is_opened_again) {
    slwi_key_lock lock;
    int left = 3;
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_hook(prune, &left);
    slt_ok(take(&lock, world.spec, 5000), &err);
    slt_fault_os_remove();
    ck_assert_int_eq(left, 0);
    ck_assert(!is_free());
    slwi_key_lock_drop(&lock);
    end();
}
END_TEST

START_TEST(a_file_that_never_stays_is_given_up) {
    slwi_key_lock lock;
    int left = 1000000;
    begin(SLW_DOMAIN_DEFAULT);
    slt_fault_os_install(NULL);
    slt_fault_os_hook(prune, &left);
    ck_assert_int_eq(take(&lock, world.spec, 50), SLW_E_LOCK);
    ck_assert_int_gt(left, 1000000 - 100);
    slt_fault_os_remove();
    end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store lock");
    TCase *tests = tcase_create("lock");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, taken_and_dropped);
    tcase_add_test(tests, the_owner_is_written_in_the_default_domain_only);
    tcase_add_test(tests, a_file_with_another_name_is_not_written);
    tcase_add_test(tests, the_holder_is_named_when_time_is_over);
    tcase_add_test(tests, a_cancelled_wait);
    tcase_add_loop_test(tests, a_file_system_without_locks, 0, 3);
    tcase_add_test(tests, any_other_failure_is_a_failure_of_the_lock);
    tcase_add_test(tests, the_same_thread_goes_on_for_another_spec);
    tcase_add_test(tests, another_thread_waits_to_its_deadline);
    tcase_add_test(tests, a_pruned_file_is_opened_again);
    tcase_add_test(tests, a_file_that_never_stays_is_given_up);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
