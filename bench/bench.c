#include "bench.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int bench_smoke(void) {
    return getenv("SLW_BENCH_SMOKE") != NULL;
}

uint64_t bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_die(const char *what, const slw_error *err) {
    fprintf(stderr, "bench: %s: %s %s: %s %s\n", what, slw_code_name(err->code), err->reason ? err->reason : "",
            err->message, err->path);
    exit(1);
}

void bench_check(slw_code code, const char *what, const slw_error *err) {
    if (code != SLW_OK) bench_die(what, err);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that a part of all lies below. */
static double part(double *values, int count, double below) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[(int)(below * (count - 1))];
}

static double one(bench_function function, void *context, int inner) {
    const uint64_t start = bench_now_ns();
    for (int i = 0; i < inner; i++) function(context);
    return (double)(bench_now_ns() - start) / inner;
}

void bench_report(const char *name, double *floor, double *subject, int rounds, double target) {
    double *ratio = calloc((size_t)rounds, sizeof *ratio);
    for (int i = 0; i < rounds; i++) ratio[i] = subject[i] / floor[i];
    const double s = part(subject, rounds, 0.5), f = part(floor, rounds, 0.5);
    if (s < 1e3)
        printf("%-44s %10.1f ns  floor %10.1f ns", name, s, f);
    else
        printf("%-44s %10.2f us  floor %10.2f us", name, s / 1e3, f / 1e3);
    printf("  ratio %6.2f  undisturbed %.2f", part(ratio, rounds, 0.5),
           part(subject, rounds, 0.05) / part(floor, rounds, 0.05));
    if (target > 0) printf("  (target %.2f)", target);
    printf("\n");
    fflush(stdout);
    free(ratio);
}

void bench_ratio(const char *name, bench_function floor, bench_function subject, void *context, int rounds, int inner,
                 double target) {
    if (bench_smoke()) rounds = inner = 2;
    double *f = calloc((size_t)rounds * 2, sizeof *f), *s = f + rounds;
    (void)one(floor, context, inner); /* warm */
    (void)one(subject, context, inner);
    for (int i = 0; i < rounds; i++) {
        f[i] = one(floor, context, inner);
        s[i] = one(subject, context, inner);
    }
    bench_report(name, f, s, rounds, target);
    free(f);
}

void bench_value(const char *name, double value, const char *unit, double target) {
    printf("%-44s %10.2f %s", name, value, unit);
    if (target > 0) printf("  (target %.0f)", target);
    printf("\n");
    fflush(stdout);
}

static char directory[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_directory(void) {
    (void)nftw(directory, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

const char *bench_directory(void) {
    if (directory[0] == '\0') {
        strcpy(directory, "/tmp/slipway-bench-XXXXXX");
        if (mkdtemp(directory) == NULL) exit(1);
        atexit(remove_directory);
    }
    return directory;
}

void bench_request(int number, const char *const *files, size_t count, const char *keep, slw_key **key,
                   slw_spec **spec) {
    slw_error err = SLW_ERROR_INIT;
    char digest[SLW_DIGEST_TEXT_SIZE];
    slw_digest d;
    slw_sha256((slw_bytes){&number, sizeof number}, &d);
    slw_digest_format(&d, digest);
    const slw_component component = {"compiler", digest};
    slw_key_inputs k = SLW_KEY_INPUTS_INIT;
    k.components = &component;
    k.component_count = 1;
    k.source = k.specialization = digest;
    bench_check(slw_key_create(&k, key, &err), "key", &err);
    slw_bytes *required = calloc(count, sizeof *required);
    for (size_t i = 0; i < count; i++) required[i] = (slw_bytes){files[i], strlen(files[i])};
    slw_spec_inputs s = SLW_SPEC_INPUTS_INIT;
    s.state = SLW_READY;
    s.required_files = required;
    s.required_file_count = count;
    s.keep = keep;
    bench_check(slw_spec_create(&s, spec, &err), "spec", &err);
    free(required);
}
