/* compile(): derive the key, ask the store, and only on a miss run the stages. */
#define SLIPWAY_NO_GUARDS
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "compile_state.h"
#include "fail.h"

static slwi_moment moment_of(const slwi_request *request, slw_phase phase) {
    slwi_moment moment = slwi_moment_begin(request->compiler->metrics, phase);
    moment.backend = request->compiler->backend->name;
    if (request->job != NULL) moment.target = request->compiler->backend->job_target(request->job);
    if (request->key != NULL) moment.key = slw_key_digest(request->key);
    return moment;
}

static void send_stage(const slwi_request *request, const slwi_stage_mark *mark, const char *name,
                       const slw_error *err) {
    slwi_moment moment = moment_of(request, SLW_PHASE_STAGE);
    moment.stage = name;
    moment.start_ns = mark->start_ns;
    moment.duration_ns = mark->duration_ns;
    moment.bytes = mark->bytes;
    (void)slwi_moment_send(&moment, mark->code, err);
}

/* The stages that ran, each with an event of its own, and their times into `times` for the event of the compile. */
static size_t send_stages(const slwi_request *request, const slw_error *err,
                          slw_stage_time times[SLWI_STAGES_MAX + 1]) {
    const slw_backend_vtable *backend = request->compiler->backend;
    size_t count = 0;
    for (size_t i = 0; i <= backend->stage_count; i++) {
        const slwi_stage_mark *mark = i == 0 ? &request->lowering : &request->marks[i - 1];
        const char *name = i == 0 ? "lower" : backend->stages[i - 1].name;
        if (mark->start_ns == 0) continue;
        times[count++] = (slw_stage_time){name, mark->code, mark->bytes, mark->start_ns, mark->duration_ns};
        send_stage(request, mark, name, err);
    }
    return count;
}

/* The look-up (with the making of the key), the stages that ran, and the compile as a whole: of a hit it is only told,
   for nothing was compiled. */
static void send_events(const slwi_request *request, slw_code rc, const slw_build_report *report, uint64_t bytes,
                        const slw_error *err) {
    if (request->compiler->metrics == NULL) return;
    const uint64_t end_ns = slwi_now_ns();
    const int built = request->build_ns != 0 || (rc == SLW_OK && report->disposition != SLW_HIT);
    const uint64_t split_ns = request->build_ns != 0 ? request->build_ns : end_ns;
    const int looked_up = request->reason[0] == '\0';
    if (looked_up) {
        slwi_moment lookup = moment_of(request, SLW_PHASE_LOOKUP);
        lookup.start_ns = request->created_ns;
        lookup.duration_ns = split_ns - request->created_ns;
        lookup.outcome = built ? "MISS" : rc == SLW_OK ? "HIT" : "FAILED";
        if (built && rc == SLW_OK && report->failure == SLW_FAILURE_INVALID) lookup.outcome = "INVALID";
        if (!built) lookup.bytes = bytes;
        (void)slwi_moment_send(&lookup, built ? SLW_OK : rc, err);
    }
    slw_stage_time times[SLWI_STAGES_MAX + 1];
    slwi_moment compile = moment_of(request, SLW_PHASE_COMPILE);
    compile.stages = times;
    compile.stage_count = send_stages(request, err, times);
    compile.outcome = rc == SLW_OK ? slw_disposition_name(report->disposition) : "FAILED";
    compile.bytes = bytes;
    const int counted = built || !looked_up;
    compile.start_ns = counted ? split_ns : request->created_ns;
    compile.duration_ns = end_ns - compile.start_ns;
    if (counted)
        (void)slwi_moment_send(&compile, rc, err);
    else
        (void)slwi_moment_tell(&compile, rc, err);
}

/* Asks the store, or builds privately where there is a reason to. */
static slw_code obtain(slwi_request *request, slw_build_report *report, slwi_entry **entry, slw_error *err) {
    slw_builder builder = SLW_BUILDER_INIT;
    builder.context = request;
    builder.build = slwi_request_build;
    builder.confirm = slwi_request_confirm;
    builder.timeout_ns = request->options.timeout_ns;
    builder.cancel = request->options.cancel;
    slw_store *store = request->compiler->store;
    if (request->reason[0] == '\0')
        return slwi_store_get_or_build(store, request->key, request->spec, &builder, report, entry, err);
    return slwi_store_build_private(store, request->key, request->spec, &builder, request->reason, report, entry, err);
}

static slw_code compile_request(slwi_request *request, slw_build_report *report, slw_cached **out, slw_error *err) {
    slwi_entry *entry = NULL;
    slw_cached *cached = NULL;
    uint64_t bytes = 0;
    slw_code rc = slwi_request_prepare(request, err);
    if (rc == SLW_OK) rc = obtain(request, report, &entry, err);
    if (rc == SLW_OK) {
        bytes = slwi_entry_size_bytes(entry);
        rc = slwi_cached_create(entry, request->compiler->metrics, request->created_ns, &cached, err);
        if (rc != SLW_OK) slwi_release(entry);
    }
    if (rc != SLW_OK) slwi_error_phase(err, "compile");
    send_events(request, rc, report, bytes, err);
    /* After all that is told of the hit, and its time is no part of the time to the first launch. What this very call
       has built, and lost to a faster one, has nothing left to be audited for. */
    if (rc == SLW_OK && report->disposition == SLW_HIT && request->build_ns == 0)
        cached->created_ns += slwi_audit(request, entry);
    if (rc == SLW_OK) *out = cached;
    return rc;
}

slw_code slw_compile(slw_compiler *compiler, const slw_source *source, const slw_compile_options *options,
                     slw_build_report *report, slw_cached **out, slw_error *err) {
    static const slw_compile_options defaults = SLW_COMPILE_OPTIONS_INIT;
    slwi_error_reset(err);
    if (compiler == NULL || compiler->tag != SLWI_TAG_COMPILER) return slwi_wrong_object(err, "compiler");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_compile needs `out`");
    if (options == NULL) options = &defaults;
    slw_code rc = slwi_check_report(report, err);
    if (rc == SLW_OK) rc = slwi_compile_check(source, options, compiler->backend, err);
    if (rc != SLW_OK) return rc;

    slw_error spare;
    slw_build_report own = SLW_BUILD_REPORT_INIT;
    slwi_request request;
    memset(&request, 0, sizeof request);
    request.compiler = compiler;
    request.source = source;
    request.options = *options;
    request.created_ns = slwi_now_ns();
    rc = compile_request(&request, &own, out, slwi_error_or(err, &spare));
    slwi_request_end(&request);
    /* The report is filled apart and moved on success; without one the directory goes with the last handle. */
    if (rc == SLW_OK && report != NULL)
        *report = own;
    else
        slw_build_report_release(&own);
    return rc;
}
