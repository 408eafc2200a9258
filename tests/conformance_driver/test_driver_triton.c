/* Every entry of the real Triton caches goes to a launch on the doubles: hydrated with its metadata, loaded on a device
 * of its architecture, launched. What the launch must be is known without the library: grid, block and dynamic shared
 * memory by the numbers of the entry's own JSON, the parameters' number and sizes by what other tools say of the binary
 * (oracle.json), the scratch pointers by the version of Triton. It is seen twice: where the driver is called, and by
 * what the double's kernel makes of it. add_kernel adds; every other whose first parameter is a pointer writes a
 * checksum of all it was given. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"
#include "gpu_world.h"
#include "hip_api.h"
#include "json.h"

#define MOST_PARAMS  64
#define MOST_BYTES   256
#define BUFFER_BYTES 65536u
#define ELEMENTS     2000

typedef struct entry {
    const char *kind;
    const char *cache; /* "cache-3.9.0" */
    const char *key;
    char binary[4096], metadata[4096];
} entry;

/* ---- What it must be --------------------------------------------------------------------------------------------- */

typedef struct expected {
    char name[512];
    uint32_t warps, warp_threads, ctas, shared_bytes;
    uint64_t global_scratch_bytes, profile_scratch_bytes; /* of a block */
    uint32_t sizes[MOST_PARAMS], count;                   /* of all that a launch passes */
    uint32_t scratch;                                     /* how many of them, the last, are for scratch */
} expected;

static slwi_json_document *parse(const char *path, char **text) {
    size_t size = 0;
    slwi_json_document *document = NULL;
    slw_error err = SLW_ERROR_INIT;
    const slw_allocator heap = SLW_ALLOCATOR_INIT;
    *text = slt_read_file(path, &size);
    slt_ok(slwi_json_parse(&heap, (slw_bytes){*text, size}, NULL, &document, &err), &err);
    return document;
}

/* What is null or not there is 0. */
static uint32_t number(const slwi_json *object, const char *name) {
    uint32_t value = 0;
    const slwi_json *const node = slwi_json_get(object, name);
    if (node == NULL || slwi_json_kind(node) == SLWI_JSON_NULL) return 0;
    ck_assert_msg(slwi_json_u32(node, &value), "%s", name);
    return value;
}

static int says(const slwi_json *object, const char *name, const char *text) {
    slw_bytes found = {NULL, 0};
    return slwi_json_string(slwi_json_get(object, name), &found) && strcmp(found.data, text) == 0;
}

/* The entry's own, or, of one whose compile was killed before it was whole, another's of the same kernel. */
static const slwi_json *find_tool(const slwi_json *entries, const entry *e, const char *name) {
    const slwi_json *other = NULL;
    for (size_t i = 0; i < slwi_json_length(entries); i++) {
        const slwi_json *const one = slwi_json_item(entries, i);
        if (!says(one, "cache", e->cache) || !says(one, "backend", e->kind)) continue;
        if (says(one, "key", e->key)) return slwi_json_get(one, "tool");
        if (says(one, "entry", name)) other = one;
    }
    ck_assert_msg(other != NULL, "no tool has seen %s/%s", e->cache, e->key);
    return slwi_json_get(other, "tool");
}

/* [ordinal, offset, size] of cuobjdump, or [offset, size, kind] of the notes; no hidden ones in these caches. */
static void expect_params(const slwi_json *tool, const entry *e, expected *x) {
    const int is_cuda = e->kind[0] == 'c';
    const slwi_json *const rows =
        slwi_json_get(tool, is_cuda ? "kparams_ordinal_offset_size" : "args_offset_size_kind");
    x->count = (uint32_t)slwi_json_length(rows);
    ck_assert_uint_gt(x->count, 0);
    ck_assert_uint_le(x->count, MOST_PARAMS);
    for (uint32_t i = 0; i < x->count; i++) {
        ck_assert(slwi_json_u32(slwi_json_item(slwi_json_item(rows, i), is_cuda ? 2 : 1), &x->sizes[i]));
        ck_assert_uint_le(x->sizes[i], MOST_BYTES);
    }
}

static void expect(const entry *e, expected *x) {
    char *text = NULL, *oracle_text = NULL;
    slw_bytes name = {NULL, 0};
    slwi_json_document *const document = parse(e->metadata, &text);
    const slwi_json *const root = slwi_json_root(document);
    memset(x, 0, sizeof *x);
    ck_assert(slwi_json_string(slwi_json_get(root, "name"), &name));
    (void)snprintf(x->name, sizeof x->name, "%s", (const char *)name.data);
    x->warps = number(root, "num_warps");
    x->warp_threads = number(slwi_json_get(root, "target"), "warp_size");
    x->ctas = number(root, "num_ctas");
    x->shared_bytes = number(root, "shared");
    x->global_scratch_bytes = number(root, "global_scratch_size");
    x->profile_scratch_bytes = number(root, "profile_scratch_size");
    x->scratch = strstr(e->cache, "-3.2.") != NULL ? 0 : strstr(e->cache, "-3.4.") != NULL ? 1 : 2;
    const int is_beside = strncmp(e->cache, "cache-", 6) != 0;
    slwi_json_document *const oracle =
        parse(slt_fixture(is_beside ? slt_path("triton", e->cache, "oracle.json", NULL) : "triton/oracle.json"),
              &oracle_text);
    expect_params(find_tool(slwi_json_get(slwi_json_root(oracle), "entries"), e, x->name), e, x);
    slwi_json_document *documents[] = {document, oracle};
    for (int i = 0; i < 2; i++) slwi_json_free(&documents[i]);
    free(text);
    free(oracle_text);
}

/* ---- Where the driver is called ---------------------------------------------------------------------------------- */

static struct {
    const expected *x;
    unsigned launches;
    uint32_t grid[3], block[3], shared_bytes, cluster[3];
    unsigned char values[MOST_PARAMS][MOST_BYTES];
} seen;

static slwi_cuda_api cuda; /* the double's own entry points */
static slwi_hip_api hip;
static slwi_cu_get_proc_address_v2 *find_by_version;

static void keep(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes, void **params) {
    seen.launches++;
    seen.shared_bytes = shared_bytes;
    for (int i = 0; i < 3; i++) {
        seen.grid[i] = grid[i];
        seen.block[i] = block[i];
        seen.cluster[i] = 0;
    }
    for (uint32_t i = 0; i < seen.x->count; i++) memcpy(seen.values[i], params[i], seen.x->sizes[i]);
}

static slwi_cu_result see_cuda(slwi_cu_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               slwi_cu_stream *stream, void **params, void **extra) {
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    keep(grid, block, shared_bytes, params);
    return cuda.cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                               params, extra);
}

static slwi_cu_result see_cuda_config(const slwi_cu_launch_config *config, slwi_cu_function *function, void **params,
                                      void **extra) {
    keep(config->grid, config->block, config->shared_bytes, params);
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const slwi_cu_launch_attribute *const attribute = &config->attributes[i];
        if (attribute->id != SLWI_CU_LAUNCH_CLUSTER_DIMENSION) continue;
        seen.cluster[0] = attribute->value.cluster.x;
        seen.cluster[1] = attribute->value.cluster.y;
        seen.cluster[2] = attribute->value.cluster.z;
    }
    return cuda.cuLaunchKernelEx(config, function, params, extra);
}

static slwi_hip_result see_hip(slwi_hip_native_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               slwi_hip_native_stream *stream, void **params, void **extra) {
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    keep(grid, block, shared_bytes, params);
    return hip.hipModuleLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                     params, extra);
}

static slwi_cu_get_proc_address_v2 see_search;

/* In place of a launch, this program's; its own address is kept. */
static void *put_in_place(const char *name, void *found) {
    slwi_cu_result (*const config)(const slwi_cu_launch_config *, slwi_cu_function *, void **, void **) =
        see_cuda_config;
    slwi_cu_result (*const plain)(slwi_cu_function *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, slwi_cu_stream *, void **, void **) = see_cuda;
    slwi_hip_result (*const other)(slwi_hip_native_function *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, slwi_hip_native_stream *, void **, void **) = see_hip;
    slwi_cu_get_proc_address_v2 *const search = see_search;
    const struct {
        const char *name;
        void *real;
        const void *ours;
    } rows[] = {
        {"cuLaunchKernel", &cuda.cuLaunchKernel, &plain},
        {"cuLaunchKernelEx", &cuda.cuLaunchKernelEx, &config},
        {"hipModuleLaunchKernel", &hip.hipModuleLaunchKernel, &other},
        {"cuGetProcAddress_v2", &find_by_version, &search},
    };
    for (size_t i = 0; found != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        memcpy(rows[i].real, &found, sizeof found);
        memcpy(&found, rows[i].ours, sizeof found);
    }
    return found;
}

static slwi_cu_result see_search(const char *symbol, void **function, int version, uint64_t flags, int *found) {
    const slwi_cu_result result = find_by_version(symbol, function, version, flags, found);
    if (result == SLWI_CU_SUCCESS) *function = put_in_place(symbol, *function);
    return result;
}

static void *open_library(void *context, const char *name, char *why, size_t why_size) {
    slt_double *const d = context;
    return d->loader.open(d->loader.context, name, why, why_size);
}
static void *find_symbol(void *context, void *library, const char *name) {
    slt_double *const d = context;
    return put_in_place(name, d->loader.symbol(d->loader.context, library, name));
}

/* ---- Launching --------------------------------------------------------------------------------------------------- */

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
    slw_library_loader loader;
    expected x;
    slw_device *device;
    slw_launchable *launchable;
    slw_device_address buffers[MOST_PARAMS];
    unsigned char bytes[MOST_PARAMS][MOST_BYTES]; /* values, by the binary's numbers */
    void *values[MOST_PARAMS];
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
    j->loader = (slw_library_loader){sizeof j->loader, &j->d, open_library, find_symbol, NULL};
    options.loader = &j->loader;
    slt_ok(slw_device_open(&options, &j->device, &j->err), &j->err);
}

/* With nothing said of the shape: metadata and binary say it all. */
static void make(job *j, slw_hydrated **hydrated, const entry *e) {
    slw_device_loaded *loaded = NULL;
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    slw_code code = slw_device_load(hydrated, j->device, &loaded, &j->err);
    ck_assert_msg(code == SLW_OK, "%s: %s %s", e->binary, slw_code_name(code), j->err.message);
    code = slw_make_launchable(&loaded, &shape, &j->launchable, &j->err);
    ck_assert_msg(code == SLW_OK, "%s: %s %s", e->binary, slw_code_name(code), j->err.message);
}

static slw_device_address give_buffer(job *j, uint32_t i) {
    slt_ok(slw_device_alloc(j->device, BUFFER_BYTES, &j->buffers[i], &j->err), &j->err);
    memcpy(j->bytes[i], &j->buffers[i], sizeof j->buffers[i]);
    return j->buffers[i];
}

/* A buffer for what is 8 bytes wide, the number of elements for 4, bytes of its own for the rest. */
static void fill(job *j) {
    const expected *const x = &j->x;
    const int adds = strcmp(x->name, "add_kernel") == 0;
    j->grid = (slw_grid)SLW_GRID_INIT;
    j->grid.extent[0] = 2;
    j->grid.extent[1] = adds ? 1 : 3;
    j->grid.extent[2] = 1;
    for (uint32_t i = 0; i < x->count; i++) {
        const uint32_t elements = ELEMENTS;
        memset(j->bytes[i], (int)(0x21 + i), x->sizes[i]);
        if (x->sizes[i] == 8) (void)give_buffer(j, i);
        if (x->sizes[i] == 4) memcpy(j->bytes[i], &elements, sizeof elements);
        j->values[i] = j->bytes[i];
    }
    /* The scratch pointers are the last, the global one first: the library puts them there. */
    for (uint32_t i = x->count - x->scratch; i < x->count; i++) ck_assert_uint_eq(x->sizes[i], 8);
    if (x->scratch > 0) j->grid.global_scratch = j->buffers[x->count - x->scratch];
    if (x->scratch > 1) j->grid.profile_scratch = j->buffers[x->count - 1];
    const uint64_t blocks = (uint64_t)j->grid.extent[0] * j->grid.extent[1] * x->ctas;
    j->grid.global_scratch_bytes = x->global_scratch_bytes * blocks;
    j->grid.profile_scratch_bytes = x->profile_scratch_bytes * blocks;
    ck_assert_uint_le(j->grid.global_scratch_bytes, BUFFER_BYTES);
}

static slw_code try_launch(job *j) {
    slw_args args = SLW_ARGS_INIT;
    args.count = j->x.count - j->x.scratch;
    args.values = j->values;
    args.sizes_bytes = j->x.sizes;
    return slw_launch(j->launchable, &j->grid, (slw_stream)SLW_STREAM_DEFAULT, &args, &j->err);
}

/* The scratch of every block of every program, not a byte less: that is refused before any call. */
static void check_scratch(job *j) {
    const uint64_t needed = j->grid.global_scratch_bytes;
    if (needed == 0) return;
    j->grid.global_scratch_bytes = needed - 1;
    ck_assert_int_eq(try_launch(j), SLW_E_INVALID_LAUNCH);
    ck_assert_str_eq(j->err.reason, "BAD_SCRATCH");
    ck_assert_uint_eq(j->err.required, needed);
    ck_assert_uint_eq(seen.launches, 0);
    j->grid.global_scratch_bytes = needed;
}

/* Launches once, and looks at what the driver was told. */
static void launch(job *j) {
    const expected *const x = &j->x;
    check_scratch(j);
    slt_ok(try_launch(j), &j->err);
    ck_assert_uint_eq(seen.launches, 1);
    const uint32_t grid[3] = {j->grid.extent[0] * x->ctas, j->grid.extent[1], 1};
    const uint32_t block[3] = {x->warps * x->warp_threads, 1, 1};
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(seen.grid[i] == grid[i], "%s: grid[%d] %u, not %u", x->name, i, seen.grid[i], grid[i]);
        ck_assert_msg(seen.block[i] == block[i], "%s: block[%d] %u, not %u", x->name, i, seen.block[i], block[i]);
    }
    ck_assert_msg(seen.shared_bytes == x->shared_bytes, "%s: %u bytes of shared memory, not %u", x->name,
                  seen.shared_bytes, x->shared_bytes);
    /* Where the binary says it, the launch need not. */
    ck_assert(seen.cluster[0] == 0 || (seen.cluster[0] == x->ctas && seen.cluster[1] == 1 && seen.cluster[2] == 1));
    for (uint32_t i = 0; i < x->count; i++) {
        ck_assert_msg(memcmp(seen.values[i], j->bytes[i], x->sizes[i]) == 0, "%s: parameter %u is another", x->name, i);
    }
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

static void check_checksum(job *j) {
    const expected *const x = &j->x;
    uint64_t found = 0;
    launch(j);
    if (x->sizes[0] != 8) return; /* no pointer to write it to: what was seen of the launch is all */
    const uint32_t grid[3] = {j->grid.extent[0] * x->ctas, j->grid.extent[1], 1};
    const uint32_t block[3] = {x->warps * x->warp_threads, 1, 1};
    slt_ok(slw_device_copy_out(j->device, &found, j->buffers[0], 8, &j->err), &j->err);
    ck_assert_uint_ne(found, 0);
    ck_assert_msg(found == double_checksum(j->values, x->sizes, x->count, grid, block, x->shared_bytes),
                  "%s did not get what it was given", x->name);
}

static void run(const entry *e) {
    job *const j = calloc(1, sizeof *j);
    j->err = (slw_error)SLW_ERROR_INIT;
    expect(e, &j->x);
    memset(&seen, 0, sizeof seen);
    seen.x = &j->x;
    slw_hydrated *hydrated = hydrate(e, &j->err);
    open_device(j, e, slw_hydrated_contract(hydrated)->target);
    make(j, &hydrated, e);
    ck_assert_str_eq(slw_launchable_kernel(j->launchable)->name, j->x.name);
    fill(j);
    if (strcmp(j->x.name, "add_kernel") == 0) {
        check_sum(j);
    } else {
        check_checksum(j);
    }
    for (int i = 0; i < MOST_PARAMS; i++) slt_ok(slw_device_free(j->device, &j->buffers[i], &j->err), &j->err);
    slt_ok(slw_launchable_retire(&j->launchable, NULL, 0, 0, &j->err), &j->err);
    slw_device_close(&j->device);
    slt_double_check(&j->d);
    free(j);
}

/* ---- The caches -------------------------------------------------------------------------------------------------- */

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

static void run_cache(const char *name, unsigned *entries) {
    char cache[4096]; /* paths of slt_path are soon gone */
    (void)snprintf(cache, sizeof cache, "%s", slt_fixture(name));
    DIR *const directory = opendir(cache);
    ck_assert_msg(directory != NULL, "%s", cache);
    for (struct dirent *found; (found = readdir(directory)) != NULL;) {
        entry e = {.cache = strrchr(cache, '/') + 1, .key = found->d_name};
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
} caches[] = {
    {"triton/cache-3.2.0", 2}, {"triton/cache-3.4.0", 2}, {"triton/cache-3.9.0", 29}, {"triton/ctas-3.9.0", 3}};

START_TEST(every_entry_is_launched) {
    unsigned entries = 0;
    run_cache(caches[_i].folder, &entries);
    ck_assert_msg(entries >= caches[_i].least, "%u entries of %s", entries, caches[_i].folder);
    printf("%s: %u entries launched\n", caches[_i].folder, entries);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("Triton's entries on the doubles");
    TCase *tcase = tcase_create("triton");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, every_entry_is_launched, 0, sizeof caches / sizeof caches[0]);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
