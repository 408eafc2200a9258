/* Requests in flight, without a store's work behind them: who leads, who waits, what everybody gets, what is left. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fail.h"
#include "store_flight.h"
#include "store_kit.h"

static slk_world world;
static slw_store *store;
static slw_error err;

static void begin(void) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    store = slk_open(&world);
}

static void end(void) {
    ck_assert_uint_eq(slwi_flight_count(), 0);
    slw_store_close(&store);
    slk_world_end(&world);
}

typedef struct joiner {
    pthread_t thread;
    slw_store *store;
    const slw_spec *spec;
    uint64_t wait_ms;
    const slw_cancel *cancel; /* of the request */
    slw_code code;
    int leads;
    slwi_outcome outcome; /* a copy of what it saw */
    slw_error error;
    atomic_int done;
} joiner;

static void *join_flight(void *context) {
    joiner *j = context;
    const slw_error fresh = SLW_ERROR_INIT;
    slwi_flight *flight = NULL;
    j->error = fresh;
    j->code = slwi_flight_join(j->store, world.key, j->spec, slwi_now_ns() + j->wait_ms * 1000000, j->cancel, &flight,
                               &j->leads, &j->error);
    if (j->code == SLW_OK && j->leads) {
        const slwi_outcome outcome = {.code = SLW_OK, .disposition = SLW_HIT};
        slwi_flight_settle(flight, &outcome, NULL);
    } else if (j->code == SLW_OK) {
        j->outcome = *slwi_flight_outcome(flight);
        slwi_error_copy(&j->error, slwi_flight_error(flight));
        slwi_flight_leave(flight);
    }
    atomic_store(&j->done, 1);
    return NULL;
}

static void start_with(joiner *j, slw_store *from, const slw_spec *spec, uint64_t wait_ms, const slw_cancel *cancel) {
    memset(j, 0, sizeof *j);
    j->store = from;
    j->spec = spec;
    j->wait_ms = wait_ms;
    j->cancel = cancel;
    ck_assert_int_eq(pthread_create(&j->thread, NULL, join_flight, j), 0);
}

static void start(joiner *j, slw_store *from, const slw_spec *spec, uint64_t wait_ms) {
    start_with(j, from, spec, wait_ms, NULL);
}

static void finish(joiner *j) {
    ck_assert_int_eq(pthread_join(j->thread, NULL), 0);
}

static slwi_flight *lead(void) {
    slwi_flight *flight = NULL;
    int leads = 0;
    slt_ok(slwi_flight_join(store, world.key, world.spec, SLWI_NEVER, NULL, &flight, &leads, &err), &err);
    ck_assert_int_eq(leads, 1);
    return flight;
}

START_TEST(an_error_reaches_every_waiter) {
    joiner waiters[3];
    begin();
    slwi_flight *flight = lead();
    for (int i = 0; i < 3; i++) start(&waiters[i], store, world.spec, 60000);
    slk_pause_ms(100);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(atomic_load(&waiters[i].done), 0);
    slw_error failure = SLW_ERROR_INIT;
    (void)slwi_fail(&failure, SLW_E_BUILDER_FIRST + 7, "WHY", "the builder's own words");
    const slwi_outcome outcome = {.code = SLW_E_BUILDER_FIRST + 7};
    slwi_flight_settle(flight, &outcome, &failure);
    for (int i = 0; i < 3; i++) {
        finish(&waiters[i]);
        ck_assert_int_eq(waiters[i].code, SLW_OK);
        ck_assert_int_eq(waiters[i].leads, 0);
        ck_assert_int_eq(waiters[i].outcome.code, SLW_E_BUILDER_FIRST + 7);
        ck_assert_int_eq(waiters[i].error.code, SLW_E_BUILDER_FIRST + 7);
        ck_assert_str_eq(waiters[i].error.message, "the builder's own words");
    }
    end();
}
END_TEST

START_TEST(giving_up_makes_a_waiter_leader) {
    joiner waiters[3];
    begin();
    slwi_flight *flight = lead();
    for (int i = 0; i < 3; i++) start(&waiters[i], store, world.spec, 60000);
    slk_pause_ms(100);
    slwi_flight_abandon(flight);
    int leaders = 0;
    for (int i = 0; i < 3; i++) {
        finish(&waiters[i]);
        ck_assert_int_eq(waiters[i].code, SLW_OK);
        leaders += waiters[i].leads;
    }
    ck_assert_int_eq(leaders, 1);
    end();
}
END_TEST

START_TEST(nobody_waits_and_the_leader_gives_up) {
    begin();
    slwi_flight_abandon(lead());
    ck_assert_uint_eq(slwi_flight_count(), 0);
    end();
}
END_TEST

START_TEST(a_thread_does_not_wait_for_itself) {
    slwi_flight *again = NULL;
    int leads = 0;
    begin();
    slwi_flight *flight = lead();
    ck_assert_int_eq(slwi_flight_join(store, world.key, world.spec, SLWI_NEVER, NULL, &again, &leads, &err),
                     SLW_E_RECURSIVE);
    slwi_flight_abandon(flight);
    end();
}
END_TEST

START_TEST(a_waiters_deadline_is_its_own) {
    joiner waiter;
    begin();
    slwi_flight *flight = lead();
    start(&waiter, store, world.spec, 60);
    finish(&waiter);
    ck_assert_int_eq(waiter.code, SLW_E_TIMEOUT);
    slwi_flight_abandon(flight);
    end();
}
END_TEST

/* The store's token, or one of the request's own. */
START_TEST(a_waiters_cancellation_is_its_own) {
    joiner cancelled, other;
    slw_cancel *token = NULL;
    begin();
    slt_ok(slw_cancel_create(NULL, &token, &err), &err);
    slw_store_options options = slk_options(&world);
    if (_i == 0) options.cancel = token;
    slw_store *cancellable = slk_open_options(&options);
    slwi_flight *flight = lead();
    start_with(&cancelled, cancellable, world.spec, 60000, _i == 0 ? NULL : token);
    start(&other, store, world.spec, 60000);
    slk_pause_ms(60);
    slw_cancel_request(token);
    finish(&cancelled);
    ck_assert_int_eq(cancelled.code, SLW_E_CANCELLED);
    ck_assert_int_eq(atomic_load(&other.done), 0);
    const slwi_outcome outcome = {.code = SLW_OK, .disposition = SLW_PUBLISHED};
    slwi_flight_settle(flight, &outcome, NULL);
    finish(&other);
    ck_assert_int_eq(other.code, SLW_OK);
    ck_assert_int_eq(other.outcome.disposition, SLW_PUBLISHED);
    slw_store_close(&cancellable);
    slw_cancel_release(&token);
    end();
}
END_TEST

/* Another spec, another policy, another private root: flights of their own. */
START_TEST(what_differs_flies_alone) {
    begin();
    slw_spec *spec = slk_fixture_spec(SLW_DOMAIN_DEFAULT, SLW_READY, SLW_SINGLE);
    slw_store_options options = slk_options(&world);
    options.read_only = 1;
    slw_store *read_only = slk_open_options(&options);
    options = slk_options(&world);
    options.verify = SLW_VERIFY_ON_MAP;
    slw_store *on_map = slk_open_options(&options);
    options = slk_options(&world);
    options.private_root = slt_path(world.scratch, "another", NULL);
    slw_store *elsewhere = slk_open_options(&options);
    slw_store *same = slk_open(&world);
    slwi_flight *flight = lead(), *others[4];
    slw_store *const stores[4] = {store, read_only, on_map, elsewhere};
    int leads = 0;
    for (int i = 0; i < 4; i++) {
        slt_ok(slwi_flight_join(stores[i], world.key, i == 0 ? spec : world.spec, SLWI_NEVER, NULL, &others[i], &leads,
                                &err),
               &err);
        ck_assert_int_eq(leads, 1);
    }
    ck_assert_uint_eq(slwi_flight_count(), 5);
    slwi_flight *joined = NULL;
    ck_assert_int_eq(slwi_flight_join(same, world.key, world.spec, SLWI_NEVER, NULL, &joined, &leads, &err),
                     SLW_E_RECURSIVE);
    for (int i = 0; i < 4; i++) slwi_flight_abandon(others[i]);
    slwi_flight_abandon(flight);
    slw_store_close(&same);
    slw_store_close(&elsewhere);
    slw_store_close(&on_map);
    slw_store_close(&read_only);
    slw_spec_release(&spec);
    end();
}
END_TEST

static int in_child(void *context) {
    (void)context;
    slwi_flight *flight = NULL;
    int leads = 0;
    if (slwi_flight_count() != 0) return 1;
    if (slwi_flight_join(store, world.key, world.spec, slwi_now_ns(), NULL, &flight, &leads, &err) != SLW_OK || !leads)
        return 2;
    slwi_flight_abandon(flight);
    return 0;
}

START_TEST(a_forked_child_has_no_flights) {
    begin();
    slwi_flight *flight = lead();
    ck_assert_int_eq(slk_child(in_child, NULL), 0);
    ck_assert_uint_eq(slwi_flight_count(), 1);
    slwi_flight_abandon(flight);
    end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store flight");
    TCase *tests = tcase_create("flight");
    tcase_set_timeout(tests, 90);
    tcase_add_test(tests, an_error_reaches_every_waiter);
    tcase_add_test(tests, giving_up_makes_a_waiter_leader);
    tcase_add_test(tests, nobody_waits_and_the_leader_gives_up);
    tcase_add_test(tests, a_thread_does_not_wait_for_itself);
    tcase_add_test(tests, a_waiters_deadline_is_its_own);
    tcase_add_loop_test(tests, a_waiters_cancellation_is_its_own, 0, 2);
    tcase_add_test(tests, what_differs_flies_alone);
    tcase_add_test(tests, a_forked_child_has_no_flights);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
