/* What the lifecycle's tests share: a real store with one entry of a made-up backend, and the null driver that
 * loads it.
 *
 * The backend is called "null" and is not built in, so its contract is used as slipway.json says it. */
#ifndef LIFECYCLE_KIT_H
#define LIFECYCLE_KIT_H

#include <slipway/metrics.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry_document.h"
#include "fault_alloc.h"
#include "null_driver.h"
#include "slt.h"

#define KIT_UNUSED __attribute__((unused))
#define KIT_BINARY "kernel.bin"
#define KIT_EVENTS 64

typedef struct kit_event {
    slw_phase phase;
    slw_code code;
    char outcome[16];
    char key[65];
    char backend[16];
    char target[64];
    char stage[32];
    char reason[32];
    uint64_t bytes;
    uint64_t duration_ns;
    int hit;
    size_t stage_count;
    char last_stage[32];
    uint64_t stages_ns; /* the sum of them */
} kit_event;

typedef struct kit {
    slt_heap heap;
    slt_null null;
    char scratch[256];
    char root[300];
    char private_root[300];
    int verify;
    int read_only;
    slw_store *store;
    slw_device *device;
    slw_key *key;
    slw_spec *spec;
    slw_metrics *metrics;
    slw_error err;
    kit_event events[KIT_EVENTS];
    size_t event_count;
    /* What the builder writes. */
    const slw_contract *contract;
    const char *binary;
    int without_document;
    int builds;
} kit;

/* ---- the contract
   ------------------------------------------------------------------------------------------------- */

static const slw_param kit_params[2] = {
    {"data", 0, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
    {"count", 8, 4, 4, SLW_PARAM_UNSIGNED, SLW_ROLE_CALLER},
};
/* As Triton 3.9 makes them: two scratch pointers that callers know nothing of, and here a hidden one (pitfall 10). */
static const slw_param kit_scratch_params[5] = {
    {NULL, 0, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
    {NULL, 8, 4, 4, SLW_PARAM_UNSIGNED, SLW_ROLE_CALLER},
    {NULL, 16, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_GLOBAL_SCRATCH},
    {NULL, 24, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_PROFILE_SCRATCH},
    {NULL, 32, 4, 4, SLW_PARAM_UNSIGNED, SLW_ROLE_HIDDEN},
};
static const slw_kernel_contract kit_kernels[4] = {
    {.name = "fixed",
     .params = kit_params,
     .param_count = 1,
     .param_bytes = 8,
     .required_threads = {128, 1, 1},
     .ctas = 1},
    {.name = "none", .ctas = 1},
    {.name = "scratch",
     .params = kit_scratch_params,
     .param_count = 5,
     .param_bytes = 36,
     .ctas = 1,
     .global_scratch_bytes = 256,
     .global_scratch_alignment_bytes = 16,
     .profile_scratch_bytes = 8},
    {.name = "use",
     .params = kit_params,
     .param_count = 2,
     .param_bytes = 12,
     .registers = 32,
     .ctas = 1,
     .static_shared_bytes = 1024},
};
static const slw_contract kit_contract KIT_UNUSED = {
    .schema = SLW_CONTRACT_SCHEMA,
    .reader_revision = 1,
    .backend = "null",
    .target = "null",
    .launch_binary = KIT_BINARY,
    .kernels = kit_kernels,
    .kernel_count = 4,
};

/* ---- the entry
   ------------------------------------------------------------------------------------------------------ */

KIT_UNUSED static slw_code kit_write(const char *directory, const char *name, const void *data, size_t size,
                                     slw_error *err) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        if (err != NULL) err->code = SLW_E_BUILDER_FIRST;
        return SLW_E_BUILDER_FIRST;
    }
    return SLW_OK;
}

KIT_UNUSED static slw_code kit_build(void *context, const slw_build_context *build, slw_error *err) {
    kit *k = context;
    k->builds++;
    slw_code rc = kit_write(build->directory, KIT_BINARY, k->binary, strlen(k->binary), err);
    if (rc == SLW_OK) rc = kit_write(build->directory, "notes.txt", "notes", 5, err);
    if (rc != SLW_OK || k->without_document) return rc;
    slw_allocator libc = SLW_ALLOCATOR_INIT;
    slwi_buffer text;
    slwi_buffer_init(&text, &libc, SIZE_MAX);
    const slwi_entry_document document = {
        .name = "kit", .contract = k->contract, .key = k->key, .compiler = "/bin/kit"};
    slwi_entry_document_write(&document, &text);
    ck_assert_int_eq(text.failed, 0);
    rc = kit_write(build->directory, SLWI_ENTRY_DOCUMENT_NAME, text.data, text.size, err);
    slwi_buffer_free(&text);
    return rc;
}

/* ---- events
   --------------------------------------------------------------------------------------------------------- */

KIT_UNUSED static void kit_copy(char *out, size_t size, const char *text) {
    (void)snprintf(out, size, "%s", text != NULL ? text : "");
}

KIT_UNUSED static void kit_listen(void *context, const slw_event *event) {
    kit *k = context;
    ck_assert_uint_eq(event->size, sizeof *event);
    ck_assert_int_eq(event->error != NULL, event->code != SLW_OK);
    if (event->error != NULL) ck_assert_int_eq(event->error->code, event->code);
    if (k->event_count == KIT_EVENTS) return;
    kit_event *e = &k->events[k->event_count++];
    memset(e, 0, sizeof *e);
    e->phase = event->phase;
    e->code = event->code;
    kit_copy(e->outcome, sizeof e->outcome, event->outcome);
    kit_copy(e->key, sizeof e->key, event->key);
    kit_copy(e->backend, sizeof e->backend, event->backend);
    kit_copy(e->target, sizeof e->target, event->target);
    kit_copy(e->stage, sizeof e->stage, event->stage);
    kit_copy(e->reason, sizeof e->reason, event->error != NULL ? event->error->reason : NULL);
    e->bytes = event->bytes;
    e->duration_ns = event->duration_ns;
    e->hit = event->hit;
    e->stage_count = event->stage_count;
    for (size_t i = 0; i < event->stage_count; i++) {
        kit_copy(e->last_stage, sizeof e->last_stage, event->stages[i].stage);
        e->stages_ns += event->stages[i].duration_ns;
    }
}

/* The n-th event (from 0) of a phase since the last kit_events_clear; NULL: none. */
KIT_UNUSED static const kit_event *kit_event_of(const kit *k, slw_phase phase, size_t nth) {
    for (size_t i = 0; i < k->event_count; i++)
        if (k->events[i].phase == phase && nth-- == 0) return &k->events[i];
    return NULL;
}

/* ---- the world
   ------------------------------------------------------------------------------------------------------ */

#define KIT_DIGEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KIT_DIGEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

KIT_UNUSED static void kit_open_store(kit *k) {
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.allocator = k->heap.allocator;
    options.root = k->root;
    options.private_root = k->private_root;
    options.verify = k->verify;
    options.read_only = k->read_only;
    options.metrics = k->metrics;
    slt_ok(slw_store_open(&options, &k->store, &k->err), &k->err);
}

KIT_UNUSED static void kit_open_device(kit *k) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.allocator = k->heap.allocator;
    slt_null_use(&k->null, &options);
    slt_ok(slw_device_open(&options, &k->device, &k->err), &k->err);
}

KIT_UNUSED static void kit_make_names(kit *k, const char *source, const char *keep) {
    const slw_component component = {"kit", KIT_DIGEST_A};
    slw_key_inputs key = SLW_KEY_INPUTS_INIT;
    key.components = &component;
    key.component_count = 1;
    key.source = source;
    key.specialization = KIT_DIGEST_B;
    slt_ok(slw_key_create(&key, &k->key, &k->err), &k->err);
    const slw_bytes required = {KIT_BINARY, strlen(KIT_BINARY)};
    slw_spec_inputs spec = SLW_SPEC_INPUTS_INIT;
    spec.state = SLW_READY;
    spec.required_files = &required;
    spec.required_file_count = 1;
    spec.keep = keep;
    slt_ok(slw_spec_create(&spec, &k->spec, &k->err), &k->err);
}

KIT_UNUSED static slw_cached *kit_build_entry(kit *k) {
    slw_builder builder = SLW_BUILDER_INIT;
    slw_cached *cached = NULL;
    builder.context = k;
    builder.build = kit_build;
    slt_ok(slw_store_get_or_build(k->store, k->key, k->spec, &builder, NULL, &cached, &k->err), &k->err);
    return cached;
}

/* Everything open, the entry published, the events cleared. A zeroed kit whose settings (verify, contract, binary)
   may be set before. */
KIT_UNUSED static void kit_open(kit *k) {
    const slw_error fresh = SLW_ERROR_INIT;
    k->err = fresh;
    if (k->contract == NULL) k->contract = &kit_contract;
    if (k->binary == NULL) k->binary = "the bytes of a binary that nothing reads";
    slt_heap_init(&k->heap);
    slt_null_init(&k->null);
    kit_copy(k->scratch, sizeof k->scratch, slt_scratch());
    (void)snprintf(k->root, sizeof k->root, "%s/root", k->scratch);
    (void)snprintf(k->private_root, sizeof k->private_root, "%s/private", k->scratch);
    slt_shell("umask 022; mkdir -p '%s' && chmod 700 '%s'", k->private_root, k->private_root);
    slw_metrics_options metrics = SLW_METRICS_OPTIONS_INIT;
    metrics.allocator = k->heap.allocator;
    metrics.listener = kit_listen;
    metrics.context = k;
    slt_ok(slw_metrics_create(&metrics, &k->metrics, &k->err), &k->err);
    kit_make_names(k, KIT_DIGEST_A, NULL);
    kit_open_store(k);
    kit_open_device(k);
    if (!k->read_only) {
        slw_cached *cached = kit_build_entry(k);
        ck_assert_int_eq(slw_cached_is_private(cached), 0);
        slw_cached_discard(&cached);
    }
    k->event_count = 0;
}

KIT_UNUSED static void kit_close(kit *k) {
    slw_store_close(&k->store);
    slw_device_close(&k->device);
    slw_metrics_release(&k->metrics);
    slw_key_release(&k->key);
    slw_spec_release(&k->spec);
    slt_heap_check_empty(&k->heap);
    ck_assert_msg(atomic_load(&k->null.violations) == 0, "%s", k->null.violation);
    ck_assert_uint_eq(atomic_load(&k->null.modules_now), 0);
}

KIT_UNUSED static slw_cached *kit_lookup(kit *k) {
    slw_cached *cached = NULL;
    slt_ok(slw_store_lookup(k->store, k->key, k->spec, &cached, &k->err), &k->err);
    ck_assert_ptr_nonnull(cached);
    return cached;
}

KIT_UNUSED static slw_hydrated *kit_hydrate(kit *k) {
    slw_cached *cached = kit_lookup(k);
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate(&cached, NULL, &hydrated, &k->err), &k->err);
    ck_assert_ptr_null(cached);
    return hydrated;
}

KIT_UNUSED static slw_device_loaded *kit_load(kit *k) {
    slw_hydrated *hydrated = kit_hydrate(k);
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_load(&hydrated, k->device, &loaded, &k->err), &k->err);
    ck_assert_ptr_null(hydrated);
    return loaded;
}

KIT_UNUSED static slw_launch_shape kit_shape(const char *entry, uint32_t threads) {
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    shape.entry = entry;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = threads == 0 ? 0 : 1;
    return shape;
}

KIT_UNUSED static slw_launchable *kit_make(kit *k, const char *entry, uint32_t threads) {
    slw_device_loaded *loaded = kit_load(k);
    slw_launchable *launchable = NULL;
    const slw_launch_shape shape = kit_shape(entry, threads);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &k->err), &k->err);
    ck_assert_ptr_null(loaded);
    return launchable;
}

KIT_UNUSED static slw_grid kit_grid(uint32_t x, uint32_t y, uint32_t z) {
    slw_grid grid = SLW_GRID_INIT;
    grid.extent[0] = x;
    grid.extent[1] = y;
    grid.extent[2] = z;
    return grid;
}

KIT_UNUSED static slw_code kit_launch(kit *k, const slw_launchable *launchable, const slw_grid *grid, uint32_t count,
                                      void *const *values) {
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_args args = SLW_ARGS_INIT;
    args.count = count;
    args.values = values;
    return slw_launch(launchable, grid, stream, &args, &k->err);
}

KIT_UNUSED static slw_device_counts kit_counts(kit *k) {
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(k->device, &counts, &k->err), &k->err);
    return counts;
}

/* The slot's directory, for tests that damage it. */
KIT_UNUSED static const char *kit_slot(kit *k) {
    return slt_path(k->root, "artifacts", slw_key_environment(k->key), slw_key_digest(k->key), slw_spec_digest(k->spec),
                    "ready", NULL);
}

#endif
