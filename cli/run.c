/* run: the whole way to a launch, one line a transition. */
#include "arguments.h"
#include "run_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_STAGES 16
#define RUN_PHASES 6

typedef struct phase_line {
    const char *name;
    char outcome[16];
    uint64_t duration_ns, bytes;
    int known; /* bytes mean something */
} phase_line;

typedef struct run {
    const cli_options *options;
    cli_places places;
    slw_metrics *metrics;
    slw_store *store;
    slw_memo *memo;
    slw_compiler *compiler;
    slw_device *device; /* of a binary: opened when its kind is known */
    slw_device_info info;
    run_input input; /* of a binary */
    slw_build_report report;
    arguments args;
    slw_launch_shape shape;
    slw_grid grid;
    char key[SLW_DIGEST_TEXT_SIZE];
    int is_source;
    const char *extension;   /* of a source: "cu" */
    const char *source_kind; /* the device that its backend compiles for: "cuda" */
    struct {
        char name[32];
        uint64_t duration_ns;
    } stages[MAX_STAGES];
    size_t stage_count;
    phase_line phases[RUN_PHASES];
    uint64_t timeout_ns; /* 0: the library's */
    double tolerance;
    uint64_t identity_ns; /* finding and proving the toolchain: before any phase, and the largest part of a hot run */
    slw_identity_cost identity;
    struct {
        char outcome[16]; /* "": there was none */
        uint64_t duration_ns;
        slw_error error; /* without the compiler's words, which ended with the event */
    } audit;
} run;

enum { LOOKUP, COMPILE, HYDRATE, DEVICE_LOAD, MAKE_LAUNCHABLE, LAUNCH };

static uint64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void record(run *r, int phase, const char *outcome, uint64_t duration_ns, uint64_t bytes, int known) {
    phase_line *line = &r->phases[phase];
    snprintf(line->outcome, sizeof line->outcome, "%s", outcome);
    line->duration_ns = duration_ns;
    line->bytes = bytes;
    line->known = known;
}

static void record_audit(run *r, const slw_event *event) {
    snprintf(r->audit.outcome, sizeof r->audit.outcome, "%s", event->outcome);
    r->audit.duration_ns = event->duration_ns;
    r->audit.error = event->error != NULL ? *event->error : (slw_error)SLW_ERROR_INIT;
    r->audit.error.diagnostics = NULL;
    r->audit.error.diagnostics_size = r->audit.error.diagnostics_capacity = 0;
}

/* The library tells each transition; lookups and compiles say HIT and MISS in the command's words. */
static void on_event(void *context, const slw_event *event) {
    run *r = context;
    const char *outcome = event->code == SLW_OK ? "OK" : "FAILED";
    switch (event->phase) {
    case SLW_PHASE_LOOKUP: { /* INVALID and STORAGE_ERROR are no misses: `reason` has the words */
        const int hit = strcmp(event->outcome, "HIT") == 0;
        record(r, LOOKUP,
               hit                                   ? "HIT"
               : strcmp(event->outcome, "MISS") == 0 ? "MISS"
                                                     : "FAILED",
               event->duration_ns, event->bytes, hit);
        break;
    }
    case SLW_PHASE_STAGE:
        if (r->stage_count < MAX_STAGES) {
            snprintf(r->stages[r->stage_count].name, sizeof r->stages[0].name, "%s",
                     event->stage != NULL ? event->stage : "?");
            r->stages[r->stage_count++].duration_ns = event->duration_ns;
        }
        break;
    case SLW_PHASE_COMPILE:
        if (event->hit) break; /* nothing was compiled: it stays SKIPPED */
        record(r, COMPILE, outcome, event->duration_ns, event->bytes, 1);
        break;
    case SLW_PHASE_HYDRATE:
        record(r, HYDRATE, outcome, event->duration_ns, event->bytes, 1);
        break;
    case SLW_PHASE_DEVICE_LOAD:
        record(r, DEVICE_LOAD, outcome, event->duration_ns, event->bytes, 1);
        break;
    case SLW_PHASE_MAKE_LAUNCHABLE:
        record(r, MAKE_LAUNCHABLE, outcome, event->duration_ns, 0, 0);
        break;
    case SLW_PHASE_AUDIT:
        record_audit(r, event);
        break;
    default:
        break;
    }
}

/* ---- what the command line says -------------------------------------------------------------------------------- */

static slw_code parse_u32(const char *text, const char *option, uint32_t *out, char end, const char **rest,
                          slw_error *err) {
    char *at = NULL;
    errno = 0;
    const unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &at, 10) : 0;
    if (at == NULL || errno != 0 || (*at != '\0' && *at != end) || value > UINT32_MAX)
        return cli_usage(err, "BAD_VALUE", "%s: \"%s\" is no number of at most 32 bits", option, text);
    *out = (uint32_t)value;
    *rest = at;
    return SLW_OK;
}

static slw_code parse_extent(const char *text, const char *option, uint32_t out[3], slw_error *err) {
    for (int i = 0; i < 3; i++) out[i] = 1;
    for (int i = 0; i < 3; i++) {
        const slw_code code = parse_u32(text, option, &out[i], ',', &text, err);
        if (code != SLW_OK) return code;
        if (*text == '\0') return SLW_OK;
        if (i == 2) break;
        text++;
    }
    return cli_usage(err, "BAD_VALUE", "%s has more than three numbers", option);
}

static slw_code parse_run(run *r, slw_error *err) {
    const cli_options *o = r->options;
    const char *rest = NULL;
    slw_code code = parse_extent(o->grid != NULL ? o->grid : "1,1,1", "--grid", r->grid.extent, err);
    if (code == SLW_OK && o->block != NULL) code = parse_extent(o->block, "--block", r->shape.block, err);
    if (code == SLW_OK && o->cluster != NULL) code = parse_extent(o->cluster, "--cluster", r->shape.cluster, err);
    if (code == SLW_OK && o->shared != NULL)
        code = parse_u32(o->shared, "--shared", &r->shape.shared_bytes, '\0', &rest, err);
    if (code == SLW_OK) code = cli_timeout(o, &r->timeout_ns, err);
    if (code == SLW_OK && o->tolerance != NULL) code = cli_number(o->tolerance, "--tolerance", &r->tolerance, err);
    if (code == SLW_OK) code = arguments_parse(&o->args, &r->args, err);
    r->shape.entry = o->entry;
    r->shape.cooperative = o->cooperative != 0;
    if (o->programmatic) r->shape.flags |= SLW_LAUNCH_PROGRAMMATIC;
    if (o->non_portable_cluster) r->shape.flags |= SLW_LAUNCH_NON_PORTABLE_CLUSTER;
    return code;
}

static slw_code open_compiler(run *r, slw_error *err) {
    slw_error ignored = SLW_ERROR_INIT;
    const uint64_t start = now_ns();
    r->memo = cli_open_memo(r->options, &r->places);
    const slw_code code = cli_open_compiler_for(r->options, r->store, r->memo, NULL, r->extension, &r->compiler, err);
    if (code != SLW_OK) return code;
    r->identity_ns = now_ns() - start;
    r->identity = (slw_identity_cost)SLW_IDENTITY_COST_INIT;
    return slw_identity_get_cost(slw_compiler_identity(r->compiler), &r->identity, &ignored);
}

/* PTX that is given by its name is asked for. */
static slw_code open_device(run *r, const char *kind, slw_error *err) {
    const int allow_ptx = r->options->allow_ptx || r->input.format == SLW_FORMAT_PTX;
    const slw_code code = cli_open_device_of(r->options, kind, allow_ptx, &r->device, err);
    return code == SLW_OK ? slw_device_describe(r->device, &r->info, err) : code;
}

/* ---- the way --------------------------------------------------------------------------------------------------- */

/* A source by its name's end, where one backend begins with that. PTX is one where a target is named: else it is a
   binary that the driver compiles. */
static void find_source(run *r) {
    const char *file = r->options->files.items[0];
    const char *slash = strrchr(file, '/');
    const char *dot = strrchr(slash != NULL ? slash : file, '.');
    slw_error ignored = SLW_ERROR_INIT;
    if (dot == NULL || slw_backend_choose(NULL, dot + 1, &r->source_kind, &ignored) != SLW_OK) return;
    r->extension = dot + 1;
    r->is_source = strcmp(r->extension, "ptx") != 0 || r->options->target != NULL;
}

/* What a source is compiled for: what is asked for, else what the device is. The host's is the compiler's matter. */
static const char *target_of(const run *r) {
    if (r->options->target != NULL) return r->options->target;
    return r->info.target[0] != '\0' && strcmp(r->source_kind, "host") != 0 ? r->info.target : NULL;
}

static slw_code compile(run *r, slw_cached **out, slw_error *err) SLW_MAKES(*out);

static slw_code compile(run *r, slw_cached **out, slw_error *err) {
    slw_source source = SLW_SOURCE_INIT;
    slw_compile_options options = SLW_COMPILE_OPTIONS_INIT;
    source.path = r->options->files.items[0];
    source.include_roots = r->options->includes.items;
    source.include_root_count = r->options->includes.count;
    options.target = target_of(r);
    options.flags = r->options->flags.items;
    options.flag_count = r->options->flags.count;
    options.always_compile = r->options->no_cache;
    options.timeout_ns = r->timeout_ns;
    options.audit = r->options->audit;
    slw_build_report_release(&r->report);
    cli_interrupt_begin();
    const slw_code code = slw_compile(r->compiler, &source, &options, &r->report, out, err);
    cli_interrupt_end();
    if (code != SLW_OK || !cli_interrupted()) return code;
    slw_cached_discard(out); /* nobody waits for the launch any more */
    err->code = SLW_E_CANCELLED;
    snprintf(err->message, sizeof err->message, "interrupted before the launch");
    return err->code;
}

static slw_code hydrate_source(run *r, slw_hydrated **out, slw_error *err) SLW_MAKES(*out);

static slw_code hydrate_source(run *r, slw_hydrated **out, slw_error *err) {
    slw_cached *cached = NULL;
    slw_code code = compile(r, &cached, err);
    if (code != SLW_OK) return code;
    const slw_key *key = slw_cached_key(cached);
    if (key != NULL) snprintf(r->key, sizeof r->key, "%s", slw_key_digest(key));
    code = slw_hydrate(&cached, NULL, out, err);
    if (code != SLW_OK) slw_cached_discard(&cached);
    return code;
}

static slw_code hydrate_binary(run *r, slw_hydrated **out, slw_error *err) SLW_MAKES(*out);

static slw_code hydrate_binary(run *r, slw_hydrated **out, slw_error *err) {
    const run_input *input = &r->input;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.metrics = r->metrics;
    if (input->chooser != NULL) options.target = r->info.target;
    options.metadata = (slw_bytes){input->metadata_text, input->metadata_size};
    const slw_bytes binary = {input->binary, input->binary_size};
    const slw_code code = slw_hydrate_binary(binary, input->path, NULL, &options, out, err);
    if (code == SLW_E_INVALID_METADATA && input->metadata != NULL)
        snprintf(err->path, sizeof err->path, "%s", input->metadata);
    return code;
}

static slw_code hydrate_file(run *r, slw_hydrated **out, slw_error *err) SLW_MAKES(*out);

static slw_code hydrate_file(run *r, slw_hydrated **out, slw_error *err) {
    if (r->is_source) return hydrate_source(r, out, err);
    return hydrate_binary(r, out, err);
}

/* What metadata or binary require is the library's to put in place of zeros. */
static void default_block(run *r, const slw_contract *contract) {
    const slw_kernel_contract *kernel = slw_contract_find(contract, r->shape.entry);
    if (r->options->block == NULL && (kernel == NULL || (kernel->required_threads[0] == 0 && kernel->warps == 0)))
        for (int i = 0; i < 3; i++) r->shape.block[i] = 1;
    if (r->options->shared == NULL && kernel != NULL) r->shape.shared_bytes = kernel->dynamic_shared_bytes;
}

static slw_code launch(run *r, const slw_launchable *kernel, slw_error *err) SLW_NEEDS(kernel);

static slw_code launch(run *r, const slw_launchable *kernel, slw_error *err) {
    slw_device_address scratch[2] = {0, 0};
    slw_args args = SLW_ARGS_INIT;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    const int untyped = strcmp(r->info.kind, "host") != 0;
    slw_code code = arguments_check(&r->args, slw_launchable_kernel(kernel), untyped, err);
    if (code == SLW_OK) code = arguments_to_device(&r->args, r->device, err);
    if (code == SLW_OK)
        code = run_scratch_make(r->device, slw_launchable_kernel(kernel), &r->shape, &r->grid, scratch, err);
    if (code != SLW_OK) {
        run_scratch_free(r->device, scratch);
        return code;
    }
    args.count = r->args.count;
    args.values = r->args.values;
    args.sizes_bytes = r->args.sizes_bytes;
    const uint64_t start = now_ns();
    code = slw_launch(kernel, &r->grid, stream, &args, err);
    if (code == SLW_OK) code = slw_device_synchronize(r->device, &stream, err);
    record(r, LAUNCH, code == SLW_OK ? "OK" : "FAILED", now_ns() - start, 0, 0);
    if (code == SLW_OK) code = arguments_from_device(&r->args, err);
    run_scratch_free(r->device, scratch);
    return code;
}

static slw_code load_and_launch(run *r, slw_hydrated **hydrated, slw_error *err) SLW_ENDS(*hydrated);

static slw_code load_and_launch(run *r, slw_hydrated **hydrated, slw_error *err) {
    slw_device_loaded *loaded = NULL;
    slw_launchable *kernel = NULL;
    default_block(r, slw_hydrated_contract(*hydrated));
    slw_code code = slw_device_load(hydrated, r->device, &loaded, err);
    if (code != SLW_OK) {
        slw_hydrated_discard(hydrated);
        return code;
    }
    code = slw_make_launchable(&loaded, &r->shape, &kernel, err);
    if (code != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return code;
    }
    code = launch(r, kernel, err);
    slw_launchable_discard(&kernel);
    return code;
}

static slw_code once(run *r, slw_error *err) {
    slw_hydrated *hydrated = NULL;
    slw_code code = hydrate_file(r, &hydrated, err);
    if (code != SLW_OK) return code;
    if (r->device == NULL) code = open_device(r, slw_hydrated_contract(hydrated)->backend, err);
    if (code != SLW_OK) {
        slw_hydrated_discard(&hydrated);
        return code;
    }
    return load_and_launch(r, &hydrated, err);
}

/* An entry that goes away under us, before its contract or its binary was read, is asked for once more. Nothing was
   launched then. */
static slw_code whole_way(run *r, slw_error *err) {
    const slw_code code = once(r, err);
    if (code != SLW_E_GONE) return code;
    r->stage_count = 0;
    return once(r, err);
}

/* ---- what is said about it ------------------------------------------------------------------------------------- */

static void print_table(const run *r) {
    if (r->is_source)
        printf("%-16s %-8s %12.3f ms  %llu files from the memo, %llu read\n", "toolchain", "",
               (double)r->identity_ns / 1e6, (unsigned long long)r->identity.memo_files,
               (unsigned long long)r->identity.read_files);
    for (size_t i = 0; i < RUN_PHASES; i++) {
        const phase_line *line = &r->phases[i];
        printf("%-16s %-8s %12.3f ms", line->name, line->outcome, (double)line->duration_ns / 1e6);
        if (line->known) printf("  %llu bytes", (unsigned long long)line->bytes);
        printf("\n");
        if (i != COMPILE) continue;
        for (size_t s = 0; s < r->stage_count; s++)
            printf("  %-14s          %12.3f ms\n", r->stages[s].name, (double)r->stages[s].duration_ns / 1e6);
    }
    if (r->audit.outcome[0] != '\0')
        printf("%-16s %-10s %10.3f ms  %s\n", "audit", r->audit.outcome, (double)r->audit.duration_ns / 1e6,
               r->audit.error.message);
    const slw_disposition disposition = r->is_source ? r->report.disposition : SLW_PRIVATE;
    printf("%s%s%s", slw_disposition_name(disposition), r->key[0] ? " " : "", r->key);
    printf("%s%s\n", r->report.reason[0] != '\0' ? ": " : "", r->report.reason);
    printf("on %s, %s\n", r->info.name, r->info.target);
    arguments_print(&r->args);
}

static void json_toolchain(cli_json *json, const run *r) {
    if (!r->is_source) {
        put_null(json, "toolchain");
        return;
    }
    put_object(json, "toolchain");
    put_u64(json, "duration_ns", r->identity_ns);
    put_u64(json, "memo_files", r->identity.memo_files);
    put_u64(json, "read_files", r->identity.read_files);
    put_u64(json, "read_bytes", r->identity.read_bytes);
    put_end(json, '}');
}

/* `difference`: what --expect found, NULL when nothing. */
static void json_audit(cli_json *json, const run *r) {
    if (r->audit.outcome[0] == '\0') {
        put_null(json, "audit");
        return;
    }
    put_object(json, "audit");
    put_text(json, "outcome", r->audit.outcome);
    put_u64(json, "duration_ns", r->audit.duration_ns);
    if (r->audit.error.message[0] != '\0')
        put_error(json, "error", &r->audit.error);
    else
        put_null(json, "error");
    put_end(json, '}');
}

static int print_json(const run *r, const char *difference) {
    cli_json json;
    if (put_open(&json) != 0) return 3;
    put_text(&json, "disposition", slw_disposition_name(r->is_source ? r->report.disposition : SLW_PRIVATE));
    put_text(&json, "reason", r->report.reason[0] != '\0' ? r->report.reason : NULL);
    put_text(&json, "key", r->key[0] != '\0' ? r->key : NULL);
    put_object(&json, "device");
    put_text(&json, "kind", r->info.kind);
    put_text(&json, "name", r->info.name);
    put_text(&json, "target", r->info.target);
    put_end(&json, '}');
    json_toolchain(&json, r);
    json_audit(&json, r);
    put_array(&json, "stages");
    for (size_t i = 0; i < r->stage_count; i++) {
        put_object(&json, NULL);
        put_text(&json, "name", r->stages[i].name);
        put_u64(&json, "duration_ns", r->stages[i].duration_ns);
        put_end(&json, '}');
    }
    put_end(&json, ']');
    put_array(&json, "phases");
    for (size_t i = 0; i < RUN_PHASES; i++) {
        put_object(&json, NULL);
        put_text(&json, "phase", r->phases[i].name);
        put_text(&json, "outcome", r->phases[i].outcome);
        put_u64(&json, "duration_ns", r->phases[i].duration_ns);
        if (r->phases[i].known)
            put_u64(&json, "bytes", r->phases[i].bytes);
        else
            put_null(&json, "bytes");
        put_end(&json, '}');
    }
    put_end(&json, ']');
    arguments_json(&json, "results", &r->args);
    if (r->options->expect != NULL) {
        put_bool(&json, "as_expected", difference == NULL);
        put_text(&json, "difference", difference);
    }
    return put_close(&json);
}

static slw_code prepare(run *r, slw_error *err) {
    static const char *const names[RUN_PHASES] = {"lookup",      "compile",         "hydrate",
                                                  "device_load", "make_launchable", "launch"};
    for (int i = 0; i < RUN_PHASES; i++) {
        r->phases[i].name = names[i];
        record(r, i, "SKIPPED", 0, 0, 0);
    }
    find_source(r);
    slw_metrics_options metrics = SLW_METRICS_OPTIONS_INIT;
    metrics.listener = on_event;
    metrics.context = r;
    if (r->options->trace != NULL) metrics.trace_events = 4096;
    slw_code code = parse_run(r, err);
    if (code == SLW_OK && cli_find_places(r->options, &r->places, err) != 0) code = err->code;
    if (code == SLW_OK && r->places.cache == NULL && !r->options->no_cache)
        fprintf(stderr, "slipway: no cache: %s\n", r->places.why_no_cache);
    if (code == SLW_OK) code = slw_metrics_create(&metrics, &r->metrics, err);
    if (code == SLW_OK && !r->is_source) code = run_input_open(r->options->files.items[0], &r->input, err);
    /* A device is opened early where its target is needed, to choose an image or to compile for. */
    const char *kind = !r->is_source ? r->input.chooser : r->options->target == NULL ? r->source_kind : NULL;
    if (code == SLW_OK && kind != NULL) code = open_device(r, kind, err);
    if (code == SLW_OK && r->is_source) code = cli_open_store(r->options, &r->places, NULL, r->metrics, &r->store, err);
    if (code == SLW_OK && r->is_source) code = open_compiler(r, err);
    return code;
}

static void finish(run *r) {
    arguments_free(&r->args);
    slw_build_report_release(&r->report);
    slw_device_close(&r->device);
    slw_compiler_close(&r->compiler);
    slw_memo_close(&r->memo);
    slw_store_close(&r->store);
    slw_metrics_release(&r->metrics);
    run_input_free(&r->input);
    cli_free_places(&r->places);
}

/* The library's hints name its own options; here they are the command's. */
static void hint_at_options(slw_error *err) {
    if (err->reason != NULL && strcmp(err->reason, "PTX_NOT_ALLOWED") == 0)
        err->hint = "--allow-ptx lets the driver compile it now";
    else if (err->hint != NULL && strstr(err->hint, "NON_PORTABLE_CLUSTER") != NULL)
        err->hint = "--non-portable-cluster asks for it: some devices grant it";
}

int verb_run(const cli_options *options, slw_error *err) {
    static run r;
    r.options = options;
    r.report = (slw_build_report)SLW_BUILD_REPORT_INIT;
    r.shape = (slw_launch_shape)SLW_LAUNCH_SHAPE_INIT;
    r.grid = (slw_grid)SLW_GRID_INIT;
    r.info = (slw_device_info)SLW_DEVICE_INFO_INIT;
    slw_code code = prepare(&r, err);
    if (code == SLW_OK) code = whole_way(&r, err);
    int status;
    if (code != SLW_OK) {
        hint_at_options(err);
        status = cli_fail(options, err);
    } else {
        const slw_code expected =
            options->expect != NULL ? arguments_expect(&r.args, options->expect, r.tolerance, err) : SLW_OK;
        if (options->json) {
            status = print_json(&r, expected != SLW_OK ? err->message : NULL);
        } else {
            print_table(&r);
            status = 0;
        }
        if (expected != SLW_OK) {
            fprintf(stderr, "slipway: %s %s: %s\n", slw_code_name(expected), err->reason != NULL ? err->reason : "",
                    err->message);
            status = slw_code_exit_status(expected);
        }
    }
    slw_error unwritten = SLW_ERROR_INIT; /* of a failed run too: that is when they are looked at */
    if (r.metrics != NULL && cli_write_metrics(options, r.metrics, &unwritten) != SLW_OK) {
        fprintf(stderr, "slipway: %s: %s\n", slw_code_name(unwritten.code), unwritten.message);
        if (status == 0) status = slw_code_exit_status(unwritten.code);
    }
    finish(&r);
    return status;
}
