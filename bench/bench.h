/* Benchmarks print ratios: what slipway does to the least that gives the same result, both measured in turns in the
 * same run, since these machines are shared. They report; they gate nothing. */
#ifndef SLIPWAY_BENCH_H
#define SLIPWAY_BENCH_H

#include <slipway/slipway.h>

#include <stdint.h>

typedef void (*bench_function)(void *context);

/* 1 when SLW_BENCH_SMOKE is set, as the tests do: everything is gone through once or twice, and no figure means
   anything. */
int bench_smoke(void);

/* Runs floor and subject by turns, `rounds` times `inner` calls each, and prints the medians of one call, the median
   of the ratios of neighbours, and the ratio of the fastest twentieths, which other programs on the machine disturb
   least. `inner` is 1 wherever one call is long against reading the clock: a run of calls that the scheduler cuts into
   says little. `target` 0: none; it is for the median. */
void bench_ratio(const char *name, bench_function floor, bench_function subject, void *context, int rounds, int inner,
                 double target);
/* The same of durations in ns measured by turns; it sorts them. */
void bench_report(const char *name, double *floor, double *subject, int rounds, double target);
void bench_value(const char *name, double value, const char *unit, double target);

uint64_t bench_now_ns(void);
/* Says what and ends the program with 1. */
void bench_die(const char *what, const slw_error *err) __attribute__((noreturn));
void bench_check(slw_code code, const char *what, const slw_error *err);
/* A fresh directory, removed at exit. */
const char *bench_directory(void);

/* A key and spec of the default domain made from a number. */
void bench_request(int number, const char *const *files, size_t count, const char *keep, slw_key **key,
                   slw_spec **spec);

#endif
