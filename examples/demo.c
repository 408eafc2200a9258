/* Six kernels, the whole way, each checked against a reference of its own. Usage: demo DIRECTORY MATRIX.mtx KERNELS
 * (where cache and memo lie, a Matrix Market file, the folder of the kernels). examples/demo.sh runs it cold, then hot.
 * Prints one line a kernel: disposition, milliseconds of each phase, the error and its stated tolerance. */
#include <slipway/slipway.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BUFFERS 8

/* One run of a kernel: arguments in order, and what to compare. */
typedef struct job {
    const char *entry;
    uint32_t grid[3], block[3], shared_bytes;
    struct {
        void *host;
        size_t size_bytes;
        int is_buffer;
        slw_device_address address;
    } args[MAX_BUFFERS];
    uint32_t count;
    double (*error)(const struct job *); /* the greatest error */
    double tolerance;
    const char *stated; /* what the tolerance is */
} job;

static void fail(const char *what, const slw_error *err) {
    fprintf(stderr, "demo: %s: %s %s\n%s\n", what, slw_code_name(err->code), err->message,
            err->diagnostics != NULL ? err->diagnostics : "");
    exit(slw_code_exit_status(err->code));
}

static void *memory(size_t count, size_t size) {
    void *out = calloc(count, size);
    if (out == NULL) exit(3);
    return out;
}

static void scalar(job *j, const void *value, size_t size) {
    j->args[j->count].host = memory(1, size);
    memcpy(j->args[j->count].host, value, size);
    j->args[j->count++].size_bytes = size;
}

static void *buffer(job *j, size_t count, size_t size) {
    j->args[j->count].host = memory(count, size);
    j->args[j->count].size_bytes = count * size;
    j->args[j->count].is_buffer = 1;
    return j->args[j->count++].host;
}

static void shape(job *j, const char *entry, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by,
                  uint32_t shared_bytes) {
    j->entry = entry;
    j->grid[0] = gx, j->grid[1] = gy, j->grid[2] = 1;
    j->block[0] = bx, j->block[1] = by, j->block[2] = 1;
    j->shared_bytes = shared_bytes;
}

static uint32_t random_state;

static float random_float(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) / 16777216.0f - 0.5f;
}

static void fill(float *values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = random_float();
}

static double greatest(double a, double b) {
    return b > a || isnan(b) ? b : a;
}

/* ---- saxpy: exact but for one rounding of a fused multiply-add ---- */

#define SAXPY_N 1000003u
static float *saxpy_before;

static double saxpy_error(const job *j) {
    const float *x = j->args[2].host, *y = j->args[3].host;
    double worst = 0;
    for (size_t i = 0; i < SAXPY_N; i++)
        worst = greatest(worst, fabs((double)y[i] - (2.5 * (double)x[i] + (double)saxpy_before[i])));
    return worst;
}

static void saxpy(job *j) {
    const uint64_t n = SAXPY_N;
    const float a = 2.5f;
    scalar(j, &n, sizeof n);
    scalar(j, &a, sizeof a);
    fill(buffer(j, SAXPY_N, sizeof(float)), SAXPY_N);
    float *y = buffer(j, SAXPY_N, sizeof(float));
    fill(y, SAXPY_N);
    saxpy_before = memory(SAXPY_N, sizeof(float));
    memcpy(saxpy_before, y, SAXPY_N * sizeof(float));
    shape(j, "saxpy", (SAXPY_N + 255) / 256, 1, 256, 1, 0);
    j->error = saxpy_error;
    j->tolerance = 2.4e-7;
    j->stated = "two roundings of values below 2";
}

/* ---- matmul: a float sum of K terms against the same sum in double ---- */

enum { M = 150, N = 131, K = 170 };

static double matmul_error(const job *j) {
    const float *a = j->args[3].host, *b = j->args[4].host, *c = j->args[5].host;
    double worst = 0;
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            double sum = 0;
            for (int i = 0; i < K; i++) sum += (double)a[row * K + i] * (double)b[i * N + column];
            worst = greatest(worst, fabs((double)c[row * N + column] - sum));
        }
    return worst;
}

static void matmul(job *j) {
    const uint32_t m = M, n = N, k = K;
    scalar(j, &m, sizeof m);
    scalar(j, &n, sizeof n);
    scalar(j, &k, sizeof k);
    fill(buffer(j, (size_t)M * K, sizeof(float)), (size_t)M * K);
    fill(buffer(j, (size_t)K * N, sizeof(float)), (size_t)K * N);
    (void)buffer(j, (size_t)M * N, sizeof(float));
    shape(j, "matmul", (N + 15) / 16, (M + 15) / 16, 16, 16, 0);
    j->error = matmul_error;
    j->tolerance = 170 * 0.25 * 6e-8 * 4;
    j->stated = "K terms of at most 1/4, 4 half units each";
}

/* ---- softmax ---- */

enum { ROWS = 64, COLUMNS = 1000 };

static double softmax_error(const job *j) {
    const float *in = j->args[2].host, *out = j->args[3].host;
    double worst = 0;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++) sum += exp((double)in[row * COLUMNS + i]);
        for (int i = 0; i < COLUMNS; i++) {
            const double wanted = exp((double)in[row * COLUMNS + i]) / sum;
            worst = greatest(worst, fabs((double)out[row * COLUMNS + i] - wanted) / wanted);
        }
    }
    return worst;
}

static void softmax(job *j) {
    const uint32_t rows = ROWS, columns = COLUMNS;
    scalar(j, &rows, sizeof rows);
    scalar(j, &columns, sizeof columns);
    float *in = buffer(j, (size_t)ROWS * COLUMNS, sizeof(float));
    fill(in, (size_t)ROWS * COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++) in[i] *= 20;
    (void)buffer(j, (size_t)ROWS * COLUMNS, sizeof(float));
    shape(j, "softmax", ROWS, 1, 128, 1, 128 * sizeof(float));
    j->error = softmax_error;
    j->tolerance = 5e-6;
    j->stated = "relative";
}

/* ---- histogram: exact ---- */

#define HISTOGRAM_N 3000017u

static double histogram_error(const job *j) {
    const uint8_t *values = j->args[1].host;
    const uint64_t *bins = j->args[2].host;
    uint64_t wanted[256] = {0};
    for (size_t i = 0; i < HISTOGRAM_N; i++) wanted[values[i]]++;
    return memcmp(wanted, bins, sizeof wanted) == 0 ? 0 : 1;
}

static void histogram(job *j) {
    const uint64_t n = HISTOGRAM_N;
    scalar(j, &n, sizeof n);
    uint8_t *values = buffer(j, HISTOGRAM_N, 1);
    for (size_t i = 0; i < HISTOGRAM_N; i++)
        values[i] = (uint8_t)(128 + 120 * random_float() + 100 * random_float() * random_float());
    (void)buffer(j, 256, sizeof(uint64_t));
    shape(j, "histogram", 61, 1, 256, 1, 0);
    j->error = histogram_error;
    j->tolerance = 0;
    j->stated = "exact";
}

/* ---- stencil ---- */

enum { WIDTH = 517, HEIGHT = 389 };

static double stencil_error(const job *j) {
    const float *in = j->args[3].host, *out = j->args[4].host;
    double worst = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int at = y * WIDTH + x;
            double wanted = (double)in[at];
            if (x > 0 && y > 0 && x < WIDTH - 1 && y < HEIGHT - 1)
                wanted += 0.2 * ((double)in[at - 1] + (double)in[at + 1] + (double)in[at - WIDTH] +
                                 (double)in[at + WIDTH] - 4 * (double)in[at]);
            worst = greatest(worst, fabs((double)out[at] - wanted));
        }
    return worst;
}

static void stencil(job *j) {
    const uint32_t width = WIDTH, height = HEIGHT;
    const float rate = 0.2f;
    scalar(j, &width, sizeof width);
    scalar(j, &height, sizeof height);
    scalar(j, &rate, sizeof rate);
    fill(buffer(j, (size_t)WIDTH * HEIGHT, sizeof(float)), (size_t)WIDTH * HEIGHT);
    (void)buffer(j, (size_t)WIDTH * HEIGHT, sizeof(float));
    shape(j, "stencil", (WIDTH + 31) / 32, (HEIGHT + 7) / 8, 32, 8, 0);
    j->error = stencil_error;
    j->tolerance = 3e-7;
    j->stated = "a few roundings of values below 1";
}

/* ---- spmv on a Matrix Market file ---- */

typedef struct entry {
    uint32_t row, column;
    double value;
} entry;

static entry *entries;
static size_t entry_count;
static uint32_t matrix_rows, matrix_columns;

static int by_place(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static void bad_matrix(const char *path, const char *why) {
    fprintf(stderr, "demo: %s: %s\n", path, why);
    exit(1);
}

/* coordinate, real, general or symmetric: what most of the collections hold. */
static void read_matrix(const char *path) {
    char line[1024];
    unsigned rows = 0, columns = 0, count = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) bad_matrix(path, "cannot be read");
    const int symmetric = strstr(line, "symmetric") != NULL;
    if (strncmp(line, "%%MatrixMarket matrix coordinate real ", 38) != 0)
        bad_matrix(path, "is no real coordinate matrix");
    while (fgets(line, sizeof line, file) != NULL && line[0] == '%') continue;
    if (sscanf(line, "%u %u %u", &rows, &columns, &count) != 3 || count > 10000000)
        bad_matrix(path, "has no size line");
    entries = memory((size_t)count * 2, sizeof *entries);
    for (unsigned i = 0; i < count; i++) {
        unsigned row = 0, column = 0;
        double value = 0;
        if (fscanf(file, "%u %u %lf", &row, &column, &value) != 3 || row == 0 || row > rows || column == 0 ||
            column > columns)
            bad_matrix(path, "has a bad entry");
        entries[entry_count++] = (entry){row - 1, column - 1, value};
        if (symmetric && row != column) entries[entry_count++] = (entry){column - 1, row - 1, value};
    }
    fclose(file);
    qsort(entries, entry_count, sizeof *entries, by_place);
    matrix_rows = rows;
    matrix_columns = columns;
}

/* Against the coordinate form, in long double: |error| <= eps * sum |a x|. */
static double spmv_error(const job *j) {
    const double *x = j->args[4].host, *y = j->args[5].host;
    long double *wanted = memory(matrix_rows, sizeof *wanted), *size = memory(matrix_rows, sizeof *size);
    for (size_t i = 0; i < entry_count; i++) {
        const long double term = (long double)entries[i].value * (long double)x[entries[i].column];
        wanted[entries[i].row] += term;
        size[entries[i].row] += fabsl(term);
    }
    double worst = 0;
    for (uint32_t row = 0; row < matrix_rows; row++)
        if (size[row] > 0) worst = greatest(worst, (double)(fabsl((long double)y[row] - wanted[row]) / size[row]));
    free(wanted);
    free(size);
    return worst;
}

static void spmv(job *j) {
    scalar(j, &matrix_rows, sizeof matrix_rows);
    uint32_t *starts = buffer(j, (size_t)matrix_rows + 1, sizeof(uint32_t));
    uint32_t *columns = buffer(j, entry_count, sizeof(uint32_t));
    double *values = buffer(j, entry_count, sizeof(double));
    for (size_t i = 0; i < entry_count; i++) {
        starts[entries[i].row + 1]++;
        columns[i] = entries[i].column;
        values[i] = entries[i].value;
    }
    for (uint32_t row = 0; row < matrix_rows; row++) starts[row + 1] += starts[row];
    double *x = buffer(j, matrix_columns, sizeof(double));
    for (uint32_t i = 0; i < matrix_columns; i++) x[i] = (double)random_float();
    (void)buffer(j, matrix_rows, sizeof(double));
    shape(j, "spmv", (matrix_rows + 63) / 64, 1, 64, 1, 0);
    j->error = spmv_error;
    j->tolerance = 4.5e-16;
    j->stated = "two units of sum |a x|";
}

/* ---- the way --------------------------------------------------------------------------------------------------- */

static slw_code launch(slw_device *device, const slw_launchable *kernel, job *j, slw_error *err) SLW_NEEDS(kernel);

static slw_code launch(slw_device *device, const slw_launchable *kernel, job *j, slw_error *err) {
    void *values[MAX_BUFFERS];
    slw_code code = SLW_OK;
    for (uint32_t i = 0; i < j->count && code == SLW_OK; i++) {
        values[i] = j->args[i].is_buffer ? (void *)&j->args[i].address : j->args[i].host;
        if (!j->args[i].is_buffer) continue;
        code = slw_device_alloc(device, j->args[i].size_bytes, &j->args[i].address, err);
        if (code == SLW_OK)
            code = slw_device_copy_in(device, j->args[i].address, j->args[i].host, j->args[i].size_bytes, err);
    }
    slw_args args = SLW_ARGS_INIT;
    args.count = j->count;
    args.values = values;
    slw_grid grid = SLW_GRID_INIT;
    memcpy(grid.extent, j->grid, sizeof grid.extent);
    const slw_stream stream = SLW_STREAM_DEFAULT;
    if (code == SLW_OK) code = slw_launch(kernel, &grid, stream, &args, err);
    if (code == SLW_OK) code = slw_device_synchronize(device, &stream, err);
    for (uint32_t i = 0; i < j->count && code == SLW_OK; i++)
        if (j->args[i].is_buffer)
            code = slw_device_copy_out(device, j->args[i].host, j->args[i].address, j->args[i].size_bytes, err);
    for (uint32_t i = 0; i < j->count && code == SLW_OK; i++)
        if (j->args[i].is_buffer) code = slw_device_free(device, &j->args[i].address, err);
    return code;
}

static double milliseconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static slw_code whole_way(slw_compiler *compiler, slw_device *device, const char *path, job *j, slw_error *err) {
    slw_cached *cached = NULL;
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *kernel = NULL;
    double at[6];
    slw_source source = SLW_SOURCE_INIT;
    source.path = path;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    at[0] = milliseconds();
    slw_code code = slw_compile(compiler, &source, NULL, &report, &cached, err);
    if (code != SLW_OK) return code;
    at[1] = milliseconds();
    printf("%-10s %-9s", j->entry, slw_disposition_name(report.disposition));
    slw_build_report_release(&report);
    code = slw_hydrate(&cached, NULL, &hydrated, err);
    if (code != SLW_OK) {
        slw_cached_discard(&cached);
        return code;
    }
    at[2] = milliseconds();
    code = slw_device_load(&hydrated, device, &loaded, err);
    if (code != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return code;
    }
    at[3] = milliseconds();
    slw_launch_shape how = SLW_LAUNCH_SHAPE_INIT;
    how.entry = j->entry;
    memcpy(how.block, j->block, sizeof how.block);
    how.shared_bytes = j->shared_bytes;
    code = slw_make_launchable(&loaded, &how, &kernel, err);
    if (code != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return code;
    }
    at[4] = milliseconds();
    code = launch(device, kernel, j, err);
    at[5] = milliseconds();
    slw_launchable_discard(&kernel);
    for (int i = 0; i < 5; i++) printf(" %10.3f", at[i + 1] - at[i]);
    return code;
}

int main(int argc, char **argv) {
    static void (*const prepare[])(job *) = {saxpy, matmul, softmax, histogram, stencil, spmv};
    static char words[65536];
    if (argc != 4) return 2;
    char root[4096], private_root[4096], memo_directory[4096];
    snprintf(root, sizeof root, "%s/cache", argv[1]);
    snprintf(private_root, sizeof private_root, "%s/private", argv[1]);
    snprintf(memo_directory, sizeof memo_directory, "%s/memo", argv[1]);
    slw_error err = SLW_ERROR_INIT;
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof words;
    read_matrix(argv[2]);

    slw_store *store = NULL;
    slw_memo *memo = NULL;
    slw_compiler *compiler = NULL;
    slw_device *device = NULL;
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = root;
    options.private_root = private_root;
    const double start = milliseconds();
    if (slw_store_open(&options, &store, &err) != SLW_OK) fail("store", &err);
    slw_memo_options memo_options = SLW_MEMO_OPTIONS_INIT;
    memo_options.directory = memo_directory;
    if (slw_memo_open(&memo_options, &memo, &err) != SLW_OK) fail("memo", &err);
    slw_compiler_options tools = SLW_COMPILER_OPTIONS_INIT;
    tools.store = store;
    tools.memo = memo;
    tools.search_path = getenv("PATH");
    if (slw_compiler_open(&tools, &compiler, &err) != SLW_OK) fail("compiler", &err);
    const double proved = milliseconds();
    slw_device_options where = SLW_DEVICE_OPTIONS_INIT;
    if (slw_device_open(&where, &device, &err) != SLW_OK) fail("device", &err);

    slw_identity_cost cost = SLW_IDENTITY_COST_INIT;
    if (slw_identity_get_cost(slw_compiler_identity(compiler), &cost, &err) != SLW_OK) fail("identity", &err);
    printf("compiler %s proved in %.1f ms: %llu files read (%.1f MB), %llu from the memo\n",
           slw_compiler_path(compiler), proved - start, (unsigned long long)cost.read_files,
           (double)cost.read_bytes / 1e6, (unsigned long long)cost.memo_files);
    printf("%-10s %-9s %10s %10s %10s %10s %10s   error (tolerance)\n", "kernel", "", "compile", "hydrate", "load",
           "launchable", "launch ms");
    int bad = 0;
    for (size_t i = 0; i < sizeof prepare / sizeof *prepare; i++) {
        char path[4096];
        job j = {0};
        random_state = 1;
        prepare[i](&j);
        snprintf(path, sizeof path, "%s/%s.c", argv[3], j.entry);
        if (whole_way(compiler, device, path, &j, &err) != SLW_OK) fail(j.entry, &err);
        const double error = j.error(&j);
        const int wrong = !(error <= j.tolerance);
        printf("   %.1e (%.1e: %s)%s\n", error, j.tolerance, j.stated, wrong ? "  WRONG" : "");
        bad += wrong;
        for (uint32_t a = 0; a < j.count; a++) free(j.args[a].host);
    }
    free(saxpy_before);
    free(entries);
    slw_device_close(&device);
    slw_compiler_close(&compiler);
    slw_memo_close(&memo);
    slw_store_close(&store);
    return bad > 0 ? 1 : 0;
}
