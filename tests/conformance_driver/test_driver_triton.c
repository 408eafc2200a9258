/* Every entry of the real Triton caches goes to a launch on the doubles: hydrated with its metadata, loaded on a device
 * of its architecture, launched with the parameters as its binary says. add_kernel adds; of every other kernel the
 * double writes a checksum of what it was given, scratch pointers included, so a parameter that is missing, of another
 * size or in another place is seen. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_world.h"

#define MOST_PARAMS  64
#define BUFFER_BYTES 65536u
#define ELEMENTS     2000

typedef struct entry {
    const char *kind;
    char binary[4096], metadata[4096];
} entry;

/* The device of an architecture: the first, or the second told to be of it. 0: none of the doubles'. */
static int device_of(const char *kind, const char *target, long *second) {
    static const struct {
        const char *target;
        int ordinal;
        long second;
    } rows[] = {
        {"sm_90", 0, 75},     {"sm_90a", 0, 75},    {"sm_80", 1, 80},       {"sm_75", 1, 75},
        {"gfx942", 0, 0x90a}, {"gfx90a", 1, 0x90a}, {"gfx1100", 1, 0x1100},
    };
    (void)kind;
    const size_t length = strcspn(target, ":");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].target) != length || strncmp(rows[i].target, target, length) != 0) continue;
        *second = rows[i].second;
        return rows[i].ordinal;
    }
    ck_abort_msg("no device for %s", target);
    return 0;
}

typedef struct job {
    slt_double d;
    slw_device *device;
    slw_launchable *launchable;
    slw_device_address buffers[MOST_PARAMS];
    unsigned char bytes[MOST_PARAMS][256]; /* values, by number of the contract's parameter */
    void *caller[MOST_PARAMS];
    uint32_t caller_sizes[MOST_PARAMS], caller_count;
    void *all[MOST_PARAMS]; /* as the binary has them */
    uint32_t all_sizes[MOST_PARAMS], all_count;
    slw_grid grid;
    slw_error err;
} job;

static slw_hydrated *hydrate(const entry *e, slw_error *err) {
    size_t binary_size = 0, metadata_size = 0;
    char *const binary = slt_read_file(e->binary, &binary_size);
    char *const metadata = slt_read_file(e->metadata, &metadata_size);
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    const slw_bytes bytes = {binary, binary_size};
    options.metadata = (slw_bytes){metadata, metadata_size};
    const slw_code code = slw_hydrate_binary(bytes, e->binary, NULL, &options, &hydrated, err);
    ck_assert_msg(code == SLW_OK, "%s: %s %s", e->binary, slw_code_name(code), err->message);
    free(binary);
    free(metadata);
    return hydrated;
}

static void open_device(job *j, const entry *e, const char *target) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    long second = 0;
    slt_double_open(&j->d, e->kind);
    options.ordinal = (uint32_t)device_of(e->kind, target, &second);
    j->d.control->set(DOUBLE_SECOND_DEVICE, second);
    slt_double_use(&j->d, &options);
    slt_ok(slw_device_open(&options, &j->device, &j->err), &j->err);
}

static void make(job *j, slw_hydrated **hydrated, const entry *e) {
    slw_device_loaded *loaded = NULL;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_code code = slw_device_load(hydrated, j->device, &loaded, &j->err);
    ck_assert_msg(code == SLW_OK, "%s: %s %s", e->binary, slw_code_name(code), j->err.message);
    code = slw_make_launchable(&loaded, &shape, &j->launchable, &j->err);
    ck_assert_msg(code == SLW_OK, "%s: %s %s", e->binary, slw_code_name(code), j->err.message);
}

/* A buffer for what is 8 bytes wide, small numbers for the rest. */
static void fill_caller(job *j, uint32_t i, uint32_t size) {
    ck_assert_uint_le(size, sizeof j->bytes[i]);
    if (size == 8) {
        slt_ok(slw_device_alloc(j->device, BUFFER_BYTES, &j->buffers[i], &j->err), &j->err);
        memcpy(j->bytes[i], &j->buffers[i], 8);
    } else {
        const uint32_t number = size == 4 ? ELEMENTS : i + 1;
        memcpy(j->bytes[i], &number, size < 4 ? size : 4);
    }
    j->caller_sizes[j->caller_count] = size;
    j->caller[j->caller_count++] = j->bytes[i];
}

static void fill(job *j) {
    const slw_kernel_contract *const kernel = slw_launchable_kernel(j->launchable);
    ck_assert_uint_le(kernel->param_count, MOST_PARAMS);
    j->grid = (slw_grid)SLW_GRID_INIT;
    j->grid.extent[0] = 2;
    j->grid.extent[1] = j->grid.extent[2] = 1;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const slw_param *const param = &kernel->params[i];
        if (param->role == SLW_ROLE_HIDDEN) continue;
        if (param->role == SLW_ROLE_CALLER) fill_caller(j, i, param->size_bytes);
        if (param->role == SLW_ROLE_GLOBAL_SCRATCH) {
            j->grid.global_scratch_bytes = kernel->global_scratch_bytes * 2 * kernel->ctas;
            slt_ok(slw_device_alloc(j->device, BUFFER_BYTES, &j->grid.global_scratch, &j->err), &j->err);
            memcpy(j->bytes[i], &j->grid.global_scratch, 8);
        }
        if (param->role == SLW_ROLE_PROFILE_SCRATCH) {
            j->grid.profile_scratch_bytes = kernel->profile_scratch_bytes * 2 * kernel->ctas;
            slt_ok(slw_device_alloc(j->device, BUFFER_BYTES, &j->grid.profile_scratch, &j->err), &j->err);
            memcpy(j->bytes[i], &j->grid.profile_scratch, 8);
        }
        j->all_sizes[j->all_count] = param->size_bytes;
        j->all[j->all_count++] = j->bytes[i];
    }
}

static void launch(job *j) {
    slw_args args = SLW_ARGS_INIT;
    args.count = j->caller_count;
    args.values = j->caller;
    args.sizes_bytes = j->caller_sizes;
    slt_ok(slw_launch(j->launchable, &j->grid, (slw_stream)SLW_STREAM_DEFAULT, &args, &j->err), &j->err);
}

/* BLOCK_SIZE is 1,024: two programs reach all elements. */
static void check_sum(job *j) {
    static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i);
    }
    slt_ok(slw_device_copy_in(j->device, j->buffers[0], a, sizeof a, &j->err), &j->err);
    slt_ok(slw_device_copy_in(j->device, j->buffers[1], b, sizeof b, &j->err), &j->err);
    launch(j);
    slt_ok(slw_device_copy_out(j->device, c, j->buffers[2], sizeof c, &j->err), &j->err);
    for (int i = 0; i < ELEMENTS; i++) ck_assert(c[i] == a[i] + b[i]);
}

static void check_checksum(job *j, uint32_t dynamic_shared) {
    const slw_kernel_contract *const kernel = slw_launchable_kernel(j->launchable);
    uint64_t seen = 0;
    const uint32_t grid[3] = {2 * kernel->ctas, 1, 1};
    const uint32_t *const block = kernel->required_threads;
    launch(j);
    if (j->all_sizes[0] != 8) return; /* no pointer to write it to: the launch itself is the test */
    slt_ok(slw_device_copy_out(j->device, &seen, j->buffers[0], 8, &j->err), &j->err);
    ck_assert_uint_ne(seen, 0);
    const uint32_t warps[3] = {kernel->warps * kernel->warp_threads, 1, 1};
    ck_assert_msg(seen == double_checksum(j->all, j->all_sizes, j->all_count, grid, block[0] != 0 ? block : warps,
                                          dynamic_shared),
                  "%s did not get what it was given", kernel->name);
}

static void run(const entry *e) {
    job *const j = calloc(1, sizeof *j);
    j->err = (slw_error)SLW_ERROR_INIT;
    slw_hydrated *hydrated = hydrate(e, &j->err);
    open_device(j, e, slw_hydrated_contract(hydrated)->target);
    make(j, &hydrated, e);
    fill(j);
    const slw_kernel_contract *const kernel = slw_launchable_kernel(j->launchable);
    if (strcmp(kernel->name, "add_kernel") == 0) {
        check_sum(j);
    } else {
        check_checksum(j, kernel->dynamic_shared_bytes);
    }
    for (int i = 0; i < MOST_PARAMS; i++) slt_ok(slw_device_free(j->device, &j->buffers[i], &j->err), &j->err);
    slt_ok(slw_device_free(j->device, &j->grid.global_scratch, &j->err), &j->err);
    slt_ok(slw_device_free(j->device, &j->grid.profile_scratch, &j->err), &j->err);
    slt_ok(slw_launchable_retire(&j->launchable, NULL, 0, 0, &j->err), &j->err);
    slw_device_close(&j->device);
    slt_double_check(&j->d);
    free(j);
}

/* The binary of an entry's folder and the metadata beside it; 0: an entry without one, or one that was not finished. */
static int find_entry(const char *folder, entry *e) {
    int binary = 0, group = 0;
    DIR *const directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *found; (found = readdir(directory)) != NULL;) {
        const char *const end = strrchr(found->d_name, '.');
        group |= strncmp(found->d_name, "__grp__", 7) == 0;
        if (end == NULL || (strcmp(end, ".cubin") != 0 && strcmp(end, ".hsaco") != 0)) continue;
        e->kind = strcmp(end, ".cubin") == 0 ? "cuda" : "hip";
        (void)snprintf(e->binary, sizeof e->binary, "%s/%s", folder, found->d_name);
        (void)snprintf(e->metadata, sizeof e->metadata, "%s/%.*s.json", folder, (int)(end - found->d_name),
                       found->d_name);
        binary = 1;
    }
    closedir(directory);
    FILE *const metadata = binary ? fopen(e->metadata, "rb") : NULL;
    if (metadata == NULL) return 0;
    fclose(metadata);
    (void)group; /* a copy of fixtures may leave out the mark of a finished entry */
    return 1;
}

static void run_cache(const char *cache, unsigned *entries) {
    DIR *const directory = opendir(cache);
    ck_assert_msg(directory != NULL, "%s", cache);
    for (struct dirent *found; (found = readdir(directory)) != NULL;) {
        entry e;
        if (found->d_name[0] == '.' || strchr(found->d_name, '.') != NULL) continue;
        if (!find_entry(slt_path(cache, found->d_name, NULL), &e)) continue;
        run(&e);
        ++*entries;
    }
    closedir(directory);
}

static const struct {
    const char *folder;
    unsigned least;
} caches[] = {{"triton/cache-3.2.0", 2}, {"triton/cache-3.4.0", 2}, {"triton/cache-3.9.0", 29}};

START_TEST(every_entry_is_launched) {
    unsigned entries = 0;
    run_cache(slt_fixture(caches[_i].folder), &entries);
    ck_assert_msg(entries >= caches[_i].least, "%u entries of %s", entries, caches[_i].folder);
    printf("%s: %u entries launched\n", caches[_i].folder, entries);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("Triton's entries on the doubles");
    TCase *tcase = tcase_create("triton");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, every_entry_is_launched, 0, 3);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
