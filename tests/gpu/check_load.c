/* What the machine is, and everything about an image before and while the driver takes it. */
#include "gpu_checks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* There is nothing to check where nobody named a library and the machine has no device; anywhere else a library that
   finds none is broken. */
static void nothing_here(gpu *g, slw_code code, const char *why) {
    const int has_device = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
    if (g->library == NULL && !has_device) gpu_skip(g, "%s: %s", slw_code_name(code), why);
    gpu_fail("%s: %s, %s", slw_code_name(code), why,
             g->library != NULL ? "of the library that was named" : "on a machine with a device");
}

/* Nothing was initialised by asking: the driver itself still says so afterwards. */
static void examine(gpu *g) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    static const char *const said[] = {"no", "maybe", "yes"};
    gpu_require(slw_driver_examine_library("cuda", g->library, &status), "no driver of kind cuda in this build");
    gpu_figure_text("examined", "%s: %s", said[status.presence], status.why);
    gpu_require(status.presence != SLW_PRESENCE_YES, "examining says yes with nothing initialised");
    if (status.presence == SLW_PRESENCE_NO) nothing_here(g, status.code, status.why);
    cu_result (*count)(int *) = NULL;
    int devices = -1;
    if (g->control != NULL) return; /* would be a violation there, and is counted by it */
    gpu_raw(g, count, "cuDeviceGetCount");
    gpu_figure("count_before_init", count(&devices));
    gpu_require(count(&devices) == 3, "examining has initialised the driver");
}

void check_machine(gpu *g) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device_info info = SLW_DEVICE_INFO_INIT;
    examine(g);
    gpu_device_options(g, &options);
    const uint64_t start_ns = gpu_now_ns();
    const slw_code code = slw_device_open(&options, &g->device, &g->err);
    if (code == SLW_E_UNAVAILABLE || code == SLW_E_STUB || code == SLW_E_NO_DEVICE)
        nothing_here(g, code, g->err.tried[0] != '\0' ? g->err.tried : g->err.message);
    gpu_ok(g, code);
    gpu_figure("open_ms", (double)(gpu_now_ns() - start_ns) / 1e6);
    gpu_ok(g, slw_device_describe(g->device, &info, &g->err));
    gpu_figure_text("gpu", "%s", info.name);
    gpu_figure_text("target", "%s", info.target);
    gpu_figure("driver_version", gpu_driver_version(g));
    gpu_figure("double", g->control != NULL);
    char line[160] = "";
    FILE *const file = fopen("/proc/driver/nvidia/version", "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) line[strcspn(line, "\n")] = '\0';
    if (file != NULL) fclose(file);
    gpu_figure_text("kernel_driver", "%s", line);
    Dl_info where;
    void *const anchor = gpu_symbol(g, "cuInit");
    if (dladdr(anchor, &where) != 0) gpu_figure_text("library", "%s", where.dli_fname);
    gpu_close(g);
}

void check_describe(gpu *g) {
    gpu_open(g);
    const slw_device_info *const i = &g->info;
    const struct {
        const char *name;
        int attribute;
        uint64_t ours;
    } figures[] = {
        {"max_threads", 1, i->max_threads},
        {"block_x", 2, i->max_block[0]},
        {"block_y", 3, i->max_block[1]},
        {"block_z", 4, i->max_block[2]},
        {"grid_x", 5, i->max_grid[0]},
        {"grid_y", 6, i->max_grid[1]},
        {"grid_z", 7, i->max_grid[2]},
        {"shared", 8, i->max_shared_bytes},
        {"warp", 10, i->warp_threads},
        {"registers", 12, i->registers_per_block},
        {"multiprocessors", 16, i->multiprocessors},
        {"registers_per_multiprocessor", 82, i->registers_per_multiprocessor},
        {"cooperative", 95, i->cooperative},
        {"optin_shared", 97, i->max_optin_shared_bytes},
        {"reserved_shared", 111, i->reserved_shared_bytes},
        {"clusters", 120, i->max_cluster_rank > 1},
    };
    for (size_t n = 0; n < sizeof figures / sizeof *figures; n++) {
        const int value = gpu_attribute(g, figures[n].attribute);
        gpu_figure(figures[n].name, value);
        gpu_require(value >= 0 && (uint64_t)value == figures[n].ours, "%s: the driver says %d, the library %llu",
                    figures[n].name, value, (unsigned long long)figures[n].ours);
    }
    gpu_require(i->max_cluster_rank == (gpu_attribute(g, 120) != 0 ? 8u : 1u), "a cluster of %u blocks at most",
                i->max_cluster_rank);
    gpu_figure("memory_bytes", (double)i->memory_bytes);
    gpu_figure("ptx_isa", i->ptx_isa_version);
    gpu_close(g);
}

static void prove_saxpy(gpu *g, const slw_launchable *saxpy) {
    enum { N = 1000 };
    static float x[N], y[N];
    float factor = 2;
    int n = N;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_device_address at_x = gpu_zeros(g, g->device, sizeof x), at_y = gpu_zeros(g, g->device, sizeof y);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    gpu_ok(g, slw_device_copy_in(g->device, at_x, x, sizeof x, &g->err));
    gpu_ok(g, slw_device_copy_in(g->device, at_y, y, sizeof y, &g->err));
    void *values[] = {&factor, &at_x, &at_y, &n};
    gpu_ok(g, gpu_try_launch(g, saxpy, 4, stream, 4, values));
    gpu_ok(g, slw_device_synchronize(g->device, NULL, &g->err));
    gpu_ok(g, slw_device_copy_out(g->device, y, at_y, sizeof y, &g->err));
    for (int i = 0; i < N; i++) gpu_require(y[i] == 2 * (float)i + 1, "saxpy: element %d is %g", i, (double)y[i]);
    gpu_ok(g, slw_device_free(g->device, &at_x, &g->err));
    gpu_ok(g, slw_device_free(g->device, &at_y, &g->err));
}

void check_load_and_launch(gpu *g) {
    gpu_open(g);
    void *const before = gpu_current_context(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    slw_launchable *saxpy = gpu_make_plain(g, loaded, "saxpy", 256);
    gpu_prove(g, g->device, first, 1);
    gpu_prove(g, g->device, first, 1000);
    prove_saxpy(g, saxpy);
    gpu_require(gpu_current_context(g) == before, "the thread's current context is another one");
    gpu_require(gpu_counts(g).loads == 1, "one image is loaded %llu times", (unsigned long long)gpu_counts(g).loads);
    slw_launchable_discard(&first);
    slw_launchable_discard(&saxpy);
    slw_device_loaded_discard(&loaded);
    gpu_require(gpu_counts(g).modules_retired == 1, "a discarded module is not retired");
    gpu_close(g);
}

/* The driver's own figures beside the contract's, for every kernel: differences are allowed, and reported (pitfall
   26). */
void check_measured_by_driver(gpu *g) {
    gpu_open(g);
    slw_device_loaded *loaded = gpu_load(g, g->device, gpu_cubin(g, "check"));
    const slw_contract *const contract = slw_device_loaded_contract(loaded);
    unsigned differences = 0;
    for (uint32_t i = 0; i < contract->kernel_count; i++) {
        const slw_kernel_contract *const k = &contract->kernels[i];
        slw_function_attributes a = SLW_FUNCTION_ATTRIBUTES_INIT;
        gpu_ok(g, slw_device_loaded_attributes(loaded, k->name, &a, &g->err));
        gpu_require(a.max_threads > 0 && a.registers > 0, "%s: no registers or threads are measured", k->name);
        const int same = a.registers == k->registers && a.local_bytes == k->local_bytes &&
                         a.static_shared_bytes == k->static_shared_bytes;
        differences += !same;
        gpu_figure_text(k->name, "registers %u/%u local %u/%u static shared %u/%u threads %u", a.registers,
                        k->registers, a.local_bytes, k->local_bytes, a.static_shared_bytes, k->static_shared_bytes,
                        a.max_threads);
    }
    gpu_figure("differences", differences);
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}

/* ---- Refused before the driver, or by it ------------------------------------------------------------------------- */

/* What the driver would have said: our own refusal comes first, so it is asked beside us. */
static void ask_raw(gpu *g, const char *name, const void *image) {
    cu_result (*load)(void **, const void *) = NULL;
    cu_result (*unload)(void *) = NULL;
    void *module = NULL;
    gpu_raw(g, load, "cuModuleLoadData");
    gpu_raw(g, unload, "cuModuleUnload");
    gpu_make_current(g);
    const cu_result result = load(&module, image);
    gpu_figure(name, result);
    if (result == 0) (void)unload(module);
}

void check_wrong_architecture(gpu *g) {
    gpu_open(g);
    const unsigned other = g->major == 9 ? 80 : 90;
    const slw_bytes image = gpu_cubin_of(g, "check", other);
    for (int again = 0; again < 2; again++) {
        slw_hydrated *hydrated = gpu_hydrate(g, image);
        slw_device_loaded *loaded = NULL;
        char target[16];
        (void)snprintf(target, sizeof target, "sm_%u", other);
        gpu_refused(g, slw_device_load(&hydrated, g->device, &loaded, &g->err), SLW_E_TARGET_MISMATCH, NULL);
        gpu_require(hydrated != NULL && loaded == NULL, "a refused load has taken its input");
        gpu_require(strstr(g->err.message, g->info.target) != NULL &&
                        (strstr(g->err.message, target) != NULL || strstr(g->err.subject, target) != NULL),
                    "both targets belong into \"%s\" (%s)", g->err.message, g->err.subject);
        slw_hydrated_discard(&hydrated);
    }
    gpu_require(gpu_counts(g).failures_remembered == 0, "what the driver was not asked is kept as its failure");
    ask_raw(g, "driver_says_of_other_major", image.data);
    gpu_close(g);
}

/* ---- The digest -------------------------------------------------------------------------------------------------- */

static unsigned loads_seen;
static cu_result (*real_load)(void **, const void *);
static cu_result (*real_load_ex)(void **, const void *, unsigned, int *, void **);

static cu_result counted_load(void **module, const void *image) {
    loads_seen++;
    return real_load(module, image);
}
static cu_result counted_load_ex(void **module, const void *image, unsigned count, int *options, void **values) {
    loads_seen++;
    return real_load_ex(module, image, count, options, values);
}

static void *loader_open(void *context, const char *name, char *why, size_t why_size) {
    gpu *const g = context;
    (void)name;
    (void)snprintf(why, why_size, "not found");
    (void)gpu_symbol(g, "cuInit");
    return g->handle;
}

/* By name alone, so that every load passes here. */
static void *loader_symbol(void *context, void *library, const char *name) {
    void *address = NULL;
    (void)context;
    if (strncmp(name, "cuGetProcAddress", 16) == 0) return NULL;
    if (strcmp(name, "cuModuleLoadData") == 0) {
        cu_result (*const ours)(void **, const void *) = counted_load;
        memcpy(&address, &ours, sizeof address);
        return address;
    }
    if (strcmp(name, "cuModuleLoadDataEx") == 0) {
        cu_result (*const ours)(void **, const void *, unsigned, int *, void **) = counted_load_ex;
        memcpy(&address, &ours, sizeof address);
        return address;
    }
    return dlsym(library, name);
}

static slw_code write_cubin(void *context, const slw_build_context *build, slw_error *err) {
    const slw_bytes *const image = context;
    char path[GPU_PATH_BYTES];
    (void)err;
    (void)snprintf(path, sizeof path, "%s/kernel.cubin", build->directory);
    FILE *const file = fopen(path, "wb");
    if (file == NULL) return SLW_E_BUILDER_FIRST;
    const int whole = fwrite(image->data, 1, image->size, file) == image->size;
    return fclose(file) == 0 && whole ? SLW_OK : SLW_E_BUILDER_FIRST;
}

static slw_store *open_store(gpu *g) {
    char root[256], private_root[256];
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    slw_store *store = NULL;
    (void)snprintf(root, sizeof root, "%s/store", gpu_directory());
    (void)snprintf(private_root, sizeof private_root, "%s/private", gpu_directory());
    options.root = root;
    options.private_root = private_root;
    options.verify = SLW_VERIFY_ON_MAP; /* so that the damage is there between look-up and load */
    gpu_ok(g, slw_store_open(&options, &store, &g->err));
    return store;
}

static slw_cached *publish(gpu *g, slw_store *store, slw_bytes *image) {
    static const char digest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const slw_component component = {"tests_gpu", digest};
    const slw_bytes required = {"kernel.cubin", 12};
    slw_key_inputs k = SLW_KEY_INPUTS_INIT;
    slw_spec_inputs s = SLW_SPEC_INPUTS_INIT;
    slw_builder builder = SLW_BUILDER_INIT;
    slw_key *key = NULL;
    slw_spec *spec = NULL;
    slw_cached *cached = NULL;
    k.components = &component;
    k.component_count = 1;
    k.source = k.specialization = digest;
    s.state = SLW_READY;
    s.required_files = &required;
    s.required_file_count = 1;
    gpu_ok(g, slw_key_create(&k, &key, &g->err));
    gpu_ok(g, slw_spec_create(&s, &spec, &g->err));
    builder.build = write_cubin;
    builder.context = image;
    gpu_ok(g, slw_store_get_or_build(store, key, spec, &builder, NULL, &cached, &g->err));
    slw_key_release(&key);
    slw_spec_release(&spec);
    return cached;
}

static void damage(const slw_cached *cached) {
    char command[GPU_PATH_BYTES + 64];
    (void)snprintf(command, sizeof command, "%s/kernel.cubin", slw_cached_directory(cached));
    FILE *const file = fopen(command, "r+b");
    gpu_require(file != NULL && fseek(file, -100, SEEK_END) == 0, "%s cannot be written", command);
    const int byte = fgetc(file);
    gpu_require(byte != EOF && fseek(file, -1, SEEK_CUR) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0,
                "%s cannot be written", command);
}

void check_corrupted_digest(gpu *g) {
    const slw_library_loader loader = {sizeof loader, g, loader_open, loader_symbol, NULL};
    void *address = gpu_symbol(g, "cuModuleLoadData");
    memcpy(&real_load, &address, sizeof address);
    address = gpu_symbol(g, "cuModuleLoadDataEx");
    memcpy(&real_load_ex, &address, sizeof address);
    gpu_open(g); /* for its target */
    gpu_close(g);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    gpu_device_options(g, &options);
    options.loader = &loader;
    gpu_ok(g, slw_device_open(&options, &g->device, &g->err));
    slw_bytes image = gpu_cubin(g, "check");
    slw_store *store = open_store(g);
    slw_cached *cached = publish(g, store, &image);
    slw_cached *kept = publish(g, store, &image); /* for its directory */
    slw_hydrate_options how = SLW_HYDRATE_OPTIONS_INIT;
    how.backend = "cuda";
    slw_hydrated *hydrated = NULL;
    slw_device_loaded *loaded = NULL;
    gpu_ok(g, slw_hydrate(&cached, &how, &hydrated, &g->err));
    slw_hydrated *good = NULL;
    gpu_ok(g, slw_hydrated_share(hydrated, &good, &g->err));
    slw_hydrated_discard(&good);
    slw_hydrated_discard(&hydrated);
    damage(kept);
    cached = kept;
    const slw_code at_hydrate = slw_hydrate(&cached, &how, &hydrated, &g->err);
    if (at_hydrate != SLW_OK) {
        gpu_refused(g, at_hydrate, SLW_E_INVALID_ENTRY, NULL);
        slw_cached_discard(&cached);
    } else {
        gpu_refused(g, slw_device_load(&hydrated, g->device, &loaded, &g->err), SLW_E_INVALID_ENTRY, NULL);
        slw_hydrated_discard(&hydrated);
    }
    gpu_figure_text("refused_at", "%s", at_hydrate != SLW_OK ? "hydrate" : "device_load");
    gpu_require(loads_seen == 0, "the driver was given a damaged image");
    loaded = gpu_load(g, g->device, image); /* the good bytes do pass where loads are counted */
    gpu_require(loads_seen == 1, "%u loads are seen of one", loads_seen);
    slw_device_loaded_discard(&loaded);
    slw_store_close(&store);
    gpu_close(g);
}

/* ---- PTX --------------------------------------------------------------------------------------------------------- */

static slw_bytes with(gpu *g, slw_bytes text, const char *old, const char *fresh) {
    char *const copy = gpu_keep(text.size + strlen(fresh) + 1);
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    char *const at = strstr(copy, old);
    gpu_require(at != NULL, "no %s in the PTX", old);
    (void)g;
    memmove(at + strlen(fresh), at + strlen(old), strlen(at + strlen(old)) + 1);
    memcpy(at, fresh, strlen(fresh));
    return (slw_bytes){copy, strlen(copy)};
}

static void refuse_ptx(gpu *g, slw_bytes image, slw_code code, const char *reason) {
    slw_hydrated *hydrated = gpu_hydrate(g, image);
    slw_device_loaded *loaded = NULL;
    g->jit_log[0] = '\0';
    gpu_refused(g, slw_device_load(&hydrated, g->device, &loaded, &g->err), code, reason);
    slw_hydrated_discard(&hydrated);
}

void check_ptx_policy(gpu *g) {
    gpu_open(g);
    const slw_bytes text = gpu_file(g, "check.ptx");
    refuse_ptx(g, text, SLW_E_TARGET_MISMATCH, "PTX_NOT_ALLOWED");
    gpu_close(g);
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    gpu_device_options(g, &options);
    options.allow_ptx = 1;
    gpu_ok(g, slw_device_open(&options, &g->device, &g->err));
    const uint64_t start_ns = gpu_now_ns();
    slw_device_loaded *loaded = gpu_load(g, g->device, text);
    gpu_figure("compile_ms", (double)(gpu_now_ns() - start_ns) / 1e6);
    slw_launchable *first = gpu_make_plain(g, loaded, "first", 32);
    gpu_prove(g, g->device, first, 100);
    slw_launchable_discard(&first);
    slw_device_loaded_discard(&loaded);
    refuse_ptx(g, with(g, text, "ret;", "not_an_instruction;"), SLW_E_INVALID_PTX, NULL);
    gpu_require(strstr(g->jit_log, "not_an_instruction") != NULL, "the compiler's words are lost: \"%s\"", g->jit_log);
    gpu_figure_text("compiler_said", "%.200s", g->jit_log);
    refuse_ptx(g, with(g, text, ".version 7.0", ".version 99.0"), SLW_E_TARGET_MISMATCH, NULL);
    gpu_figure_text("newer_ptx", "%s %s", g->err.reason != NULL ? g->err.reason : "", g->err.message);
    first = NULL;
    loaded = gpu_load(g, g->device, gpu_cubin(g, "check")); /* none of it was sticky */
    slw_device_loaded_discard(&loaded);
    gpu_close(g);
}
