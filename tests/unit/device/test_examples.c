/* The example kernels through the host driver, each against an independent reference within the tolerance that
 * examples/kernels/README.md states. Sizes are no multiples of anything, so that every edge is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_image.h"
#include "modules.h"
#include "slt.h"

typedef struct rig {
    slw_device *device;
    slt_image *image;
    slwi_module *module;
    void *function;
    slw_error err;
} rig;

static void rig_open(rig *r, const char *kernel, uint32_t params) {
    char source[128];
    snprintf(source, sizeof source, "examples/kernels/%s.c", kernel);
    r->err = (slw_error)SLW_ERROR_INIT;
    r->image = slt_image_compile(slt_repository(source), "");
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.pool_threads = 3;
    slt_ok(slw_device_open(&options, &r->device, &r->err), &r->err);
    slt_ok(slwi_module_load(r->device, &r->image->image, NULL, &r->module, &r->err), &r->err);
    const slw_kernel_contract *contract = slt_image_kernel(r->image, kernel);
    ck_assert_uint_eq(contract->param_count, params);
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slwi_module_function(r->module, contract, &r->function, &attributes, &r->err), &r->err);
    ck_assert_uint_eq(attributes.static_shared_bytes, contract->static_shared_bytes);
}

static void rig_launch(rig *r, const uint32_t grid[3], const uint32_t block[3], uint32_t shared, void **params,
                       uint32_t count) {
    slw_driver_launch launch = {.size = sizeof launch,
                                .blocks = {grid[0], grid[1], grid[2]},
                                .block = {block[0], block[1], block[2]},
                                .shared_bytes = shared,
                                .params = params,
                                .param_count = count};
    slt_ok(slwi_module_launch(r->module, r->function, &launch, &r->err), &r->err);
}

static void rig_close(rig *r) {
    slwi_release(r->module);
    slw_device_close(&r->device);
    slt_image_free(r->image);
}

/* A small generator of its own; values in [-1, 1). */
static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static float *random_floats(size_t count, uint32_t seed, float scale) {
    float *values = malloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = scale * ((float)next_random(&seed) / 8388608.0f - 1.0f);
    values[count] = 12345.0f; /* a mark behind the end */
    return values;
}

#define GRID(x, y, z) ((const uint32_t[3]){(uint32_t)(x), (uint32_t)(y), (uint32_t)(z)})

START_TEST(saxpy_is_within_its_bound) {
    rig r = {0};
    rig_open(&r, "saxpy", 4);
    uint64_t n = 100003;
    float a = 1.7f;
    float *x = random_floats(n, 1, 3.0f);
    float *y = random_floats(n, 2, 3.0f);
    float *before = malloc(n * sizeof *before);
    memcpy(before, y, n * sizeof *before);
    rig_launch(&r, GRID((n + 255) / 256, 1, 1), GRID(256, 1, 1), 0, (void *[]){&n, &a, &x, &y}, 4);
    for (uint64_t i = 0; i < n; i++) {
        const double exact = (double)a * x[i] + before[i];
        const double unit = ldexp(fabs((double)a * x[i]) + fabs(before[i]), -23);
        ck_assert_msg(fabs(y[i] - exact) <= unit, "y[%llu] = %g, exactly %.17g", (unsigned long long)i, y[i], exact);
    }
    ck_assert(y[n] == 12345.0f);
    free(before);
    free(x);
    free(y);
    rig_close(&r);
}
END_TEST

START_TEST(matmul_is_within_its_bound) {
    rig r = {0};
    rig_open(&r, "matmul", 6);
    static const uint32_t sizes[][3] = {{1, 1, 1}, {16, 16, 16}, {37, 53, 71}, {5, 130, 33}, {64, 3, 129}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint32_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        float *a = random_floats((size_t)m * k, 3, 1.0f);
        float *b = random_floats((size_t)k * n, 4, 1.0f);
        float *c = random_floats((size_t)m * n, 5, 1.0f);
        rig_launch(&r, GRID((n + 15) / 16, (m + 15) / 16, 1), GRID(16, 16, 1), 0, (void *[]){&m, &n, &k, &a, &b, &c},
                   6);
        for (uint32_t i = 0; i < m; i++) {
            for (uint32_t j = 0; j < n; j++) {
                double exact = 0.0, size = 0.0;
                for (uint32_t t = 0; t < k; t++) {
                    const double term = (double)a[(size_t)i * k + t] * b[(size_t)t * n + j];
                    exact += term;
                    size += fabs(term);
                }
                ck_assert_msg(fabs(c[(size_t)i * n + j] - exact) <= k * ldexp(size, -23), "c[%u][%u] of %u x %u x %u",
                              i, j, m, n, k);
            }
        }
        ck_assert(c[(size_t)m * n] == 12345.0f);
        free(a);
        free(b);
        free(c);
    }
    rig_close(&r);
}
END_TEST

START_TEST(softmax_is_within_its_bound) {
    rig r = {0};
    rig_open(&r, "softmax", 4);
    static const struct {
        uint32_t rows, columns, threads, shared;
        float scale;
    } cases[] = {{1, 1, 32, 128, 1.0f},       {7, 33, 32, 128, 5.0f}, {64, 1000, 256, 1024, 30.0f},
                 {5, 3, 256, 1024, 100.0f},   {9, 517, 1, 4, 10.0f},  {3, 100, 128, 0, 10.0f},
                 {4, 2048, 1024, 4096, 80.0f}};
    for (size_t s = 0; s < sizeof cases / sizeof cases[0]; s++) {
        uint32_t rows = cases[s].rows, columns = cases[s].columns;
        float *in = random_floats((size_t)rows * columns, 6, cases[s].scale);
        float *out = random_floats((size_t)rows * columns, 7, 1.0f);
        rig_launch(&r, GRID(rows, 1, 1), GRID(cases[s].threads, 1, 1), cases[s].shared,
                   (void *[]){&rows, &columns, &in, &out}, 4);
        for (uint32_t i = 0; i < rows; i++) {
            const float *row = in + (size_t)i * columns;
            double greatest = row[0], sum = 0.0, total = 0.0;
            for (uint32_t j = 1; j < columns; j++) greatest = fmax(greatest, row[j]);
            for (uint32_t j = 0; j < columns; j++) sum += exp(row[j] - greatest);
            for (uint32_t j = 0; j < columns; j++) {
                const double exact = exp(row[j] - greatest) / sum;
                const double found = out[(size_t)i * columns + j];
                /* The difference to the greatest is rounded before it is an exponent. Below 2^-120 may be zero. */
                const double bound = ldexp(exact, -20) + ldexp(exact * (greatest - row[j]), -23) + ldexp(1.0, -120);
                ck_assert_msg(fabs(found - exact) <= bound, "row %u column %u: %.9g, not %.9g", i, j, found, exact);
                total += found;
            }
            ck_assert(fabs(total - 1.0) < 1e-5);
        }
        ck_assert(out[(size_t)rows * columns] == 12345.0f);
        free(in);
        free(out);
    }
    rig_close(&r);
}
END_TEST

START_TEST(histogram_is_exact) {
    rig r = {0};
    rig_open(&r, "histogram", 3);
    static const uint32_t grids[] = {1, 2, 7, 64, 1001};
    for (size_t s = 0; s < sizeof grids / sizeof grids[0]; s++) {
        uint64_t n = s == 0 ? 3 : 250007;
        uint8_t *values = malloc(n);
        uint32_t seed = 9;
        uint64_t expected[256] = {0};
        for (uint64_t i = 0; i < n; i++) {
            values[i] = (uint8_t)(next_random(&seed) & next_random(&seed) & 255u);
            expected[values[i]]++;
        }
        uint64_t counts[256] = {0};
        uint64_t *bins = counts;
        rig_launch(&r, GRID(grids[s], 1, 1), GRID(128, 1, 1), 0, (void *[]){&n, &values, &bins}, 3);
        ck_assert_mem_eq(counts, expected, sizeof counts);
        free(values);
    }
    rig_close(&r);
}
END_TEST

START_TEST(stencil_is_within_its_bound) {
    rig r = {0};
    rig_open(&r, "stencil", 5);
    static const uint32_t sizes[][2] = {{1, 1}, {2, 9}, {100, 1}, {67, 45}, {129, 130}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint32_t width = sizes[s][0], height = sizes[s][1];
        float rate = 0.2f;
        float *in = random_floats((size_t)width * height, 10, 100.0f);
        float *out = random_floats((size_t)width * height, 11, 1.0f);
        rig_launch(&r, GRID((width + 15) / 16, (height + 7) / 8, 1), GRID(16, 8, 1), 0,
                   (void *[]){&width, &height, &rate, &in, &out}, 5);
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                const size_t at = (size_t)y * width + x;
                const int rim = x == 0 || y == 0 || x + 1 == width || y + 1 == height;
                double exact = in[at], size = fabs(in[at]);
                const size_t around[4] = {at - 1, at + 1, at - width, at + width};
                for (int i = 0; i < 4 && !rim; i++) {
                    exact += (double)rate * ((double)in[around[i]] - in[at]);
                    size += (double)rate * fabs((double)in[around[i]] - in[at]);
                }
                ck_assert_msg(fabs(out[at] - exact) <= (rim ? 0.0 : ldexp(size, -21)), "(%u, %u)", x, y);
            }
        }
        ck_assert(out[(size_t)width * height] == 12345.0f);
        free(in);
        free(out);
    }
    rig_close(&r);
}
END_TEST

/* ---- spmv on the Matrix Market file ------------------------------------------------------------------------ */

typedef struct entry {
    uint32_t row, column;
    double value;
} entry;

static int by_place(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* The whole matrix, both triangles, sorted by row. */
static entry *read_matrix(uint32_t *rows, size_t *count) {
    FILE *file = fopen(slt_repository("examples/kernels/data/plate_15x13.mtx"), "r");
    ck_assert_ptr_nonnull(file);
    char line[256];
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "%%MatrixMarket matrix coordinate real symmetric\n");
    do {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    } while (line[0] == '%');
    uint32_t columns = 0;
    size_t lines = 0;
    ck_assert_int_eq(sscanf(line, "%u %u %zu", rows, &columns, &lines), 3);
    ck_assert_uint_eq(*rows, columns);
    entry *entries = malloc(2 * lines * sizeof *entries);
    *count = 0;
    for (size_t i = 0; i < lines; i++) {
        entry e;
        ck_assert_int_eq(fscanf(file, "%u %u %lf", &e.row, &e.column, &e.value), 3);
        ck_assert(e.row >= e.column && e.row <= *rows && e.column >= 1);
        e.row--;
        e.column--;
        entries[(*count)++] = e;
        if (e.row != e.column) entries[(*count)++] = (entry){e.column, e.row, e.value};
    }
    fclose(file);
    qsort(entries, *count, sizeof *entries, by_place);
    return entries;
}

START_TEST(spmv_is_within_its_bound) {
    rig r = {0};
    rig_open(&r, "spmv", 6);
    uint32_t rows = 0;
    size_t count = 0;
    entry *entries = read_matrix(&rows, &count);
    ck_assert_uint_eq(rows, 195);
    ck_assert_uint_eq(count, 919);
    uint32_t *starts = calloc(rows + 1u, sizeof *starts);
    uint32_t *columns = malloc(count * sizeof *columns);
    double *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        starts[entries[i].row + 1]++;
        columns[i] = entries[i].column;
        values[i] = entries[i].value;
    }
    for (uint32_t i = 0; i < rows; i++) starts[i + 1] += starts[i];
    for (int exact = 0; exact < 2; exact++) {
        uint32_t seed = 12;
        double *x = malloc(rows * sizeof *x);
        double *y = malloc(rows * sizeof *y);
        for (uint32_t i = 0; i < rows; i++) {
            x[i] = exact ? (double)(next_random(&seed) % 100u) : next_random(&seed) / 8388608.0 - 1.0;
        }
        rig_launch(&r, GRID((rows + 63) / 64, 1, 1), GRID(64, 1, 1), 0,
                   (void *[]){&rows, &starts, &columns, &values, &x, &y}, 6);
        /* From the list of entries, not from the rows; in extended precision where there is one. */
        long double *sum = calloc(rows, sizeof *sum);
        double *size = calloc(rows, sizeof *size);
        for (size_t i = 0; i < count; i++) {
            sum[entries[i].row] += (long double)entries[i].value * x[entries[i].column];
            size[entries[i].row] += fabs(entries[i].value * x[entries[i].column]);
        }
        for (uint32_t i = 0; i < rows; i++) {
            const double off = fabs((double)((long double)y[i] - sum[i]));
            ck_assert_msg(off <= (exact ? 0.0 : ldexp(size[i], -51)), "row %u is off by %g", i, off);
        }
        free(sum);
        free(size);
        free(x);
        free(y);
    }
    free(values);
    free(columns);
    free(starts);
    free(entries);
    rig_close(&r);
}
END_TEST

/* Each compiles alone, as README promises, with the other compiler and stricter flags too. */
START_TEST(all_compile_alone) {
    static const char *const names[] = {"saxpy", "matmul", "softmax", "histogram", "stencil", "spmv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char source[128];
        snprintf(source, sizeof source, "examples/kernels/%s.c", names[i]);
        slt_image *image =
            slt_image_compile(slt_repository(source), "-Wpedantic -Wconversion -Wshadow -Wmissing-prototypes");
        ck_assert_uint_eq(image->contract.kernel_count, 1);
        ck_assert_str_eq(image->contract.kernels[0].name, names[i]);
        slt_image_free(image);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("examples");
    TCase *tcase = tcase_create("against references");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, saxpy_is_within_its_bound);
    tcase_add_test(tcase, matmul_is_within_its_bound);
    tcase_add_test(tcase, softmax_is_within_its_bound);
    tcase_add_test(tcase, histogram_is_exact);
    tcase_add_test(tcase, stencil_is_within_its_bound);
    tcase_add_test(tcase, spmv_is_within_its_bound);
    tcase_add_test(tcase, all_compile_alone);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
