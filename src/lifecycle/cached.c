/* Cached: look-ups, builds by the caller's builder, and what can be asked of an entry. */
#define SLIPWAY_NO_GUARDS
#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"
#include "phase.h"

slw_code slwi_cached_create(slwi_entry *entry, slw_metrics *metrics, uint64_t created_ns, slw_cached **out,
                            slw_error *err) {
    const slw_allocator *allocator = slwi_entry_allocator(entry);
    slw_cached *cached = slwi_alloc_zero(allocator, sizeof *cached);
    if (cached == NULL) return slwi_fail_memory(err, sizeof *cached);
    cached->tag = SLWI_TAG_CACHED;
    cached->allocator = *allocator;
    cached->entry = entry;
    cached->metrics = slwi_retain(metrics);
    cached->created_ns = created_ns;
    *out = cached;
    return SLW_OK;
}

slw_code slwi_check_report(const slw_build_report *report, slw_error *err) {
    if (report == NULL) return SLW_OK;
    if (report->size != sizeof *report)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_build_report.size is not this version's");
    if (report->owned_ != NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the report still owns another build: release it first");
    return SLW_OK;
}

static slw_metrics *metrics_of(const slw_store *store) {
    return (slw_metrics *)(void *)slwi_store_metrics(store);
}

slw_code slw_store_lookup(slw_store *store, const slw_key *key, const slw_spec *spec, slw_cached **out,
                          slw_error *err) {
    slwi_error_reset(err);
    if (store == NULL || key == NULL || spec == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_store_lookup needs a store, a key, a spec and `out`");
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slwi_moment moment = slwi_moment_begin(metrics_of(store), SLW_PHASE_LOOKUP);
    moment.key = slw_key_digest(key);
    const uint64_t created_ns = slwi_now_ns();

    slwi_entry *entry = NULL;
    slw_cached *cached = NULL;
    slw_code rc = slwi_store_lookup(store, key, spec, &entry, record);
    moment.outcome = slwi_lookup_outcome(rc);
    if (rc == SLW_OK) {
        moment.bytes = slwi_entry_size_bytes(entry);
        rc = slwi_cached_create(entry, metrics_of(store), created_ns, &cached, record);
        if (rc != SLW_OK) {
            moment.outcome = "FAILED";
            slwi_release(entry);
        }
    }
    if (rc != SLW_OK) slwi_error_phase(record, "lookup");
    if (rc == SLW_OK) *out = cached;
    return slwi_moment_send(&moment, rc, record);
}

/* One event for the look-up; another for the build where there was one. The report's times split them: a builder
   cannot be wrapped to be watched, for its context is used again when the report is released. */
static slw_code send_events(slw_metrics *metrics, const slw_key *key, slw_code rc, const slw_build_report *report,
                            uint64_t start_ns, uint64_t bytes, const slw_error *err) {
    if (metrics == NULL) return rc;
    const uint64_t duration_ns = slwi_now_ns() - start_ns;
    const int built =
        report->build_ns != 0 || rc >= SLW_E_BUILDER_FIRST || (rc == SLW_OK && report->disposition != SLW_HIT);
    slwi_moment lookup = slwi_moment_begin(metrics, SLW_PHASE_LOOKUP);
    lookup.key = slw_key_digest(key);
    lookup.start_ns = start_ns;
    lookup.duration_ns = duration_ns;
    if (!built) {
        lookup.outcome = rc == SLW_OK ? "HIT" : "FAILED";
        lookup.bytes = bytes;
        return slwi_moment_send(&lookup, rc, err);
    }
    lookup.outcome = rc == SLW_OK && report->failure == SLW_FAILURE_INVALID ? "INVALID" : "MISS";
    lookup.duration_ns = report->lookup_ns < duration_ns ? report->lookup_ns : duration_ns;
    (void)slwi_moment_send(&lookup, SLW_OK, NULL);
    slwi_moment compile = slwi_moment_begin(metrics, SLW_PHASE_COMPILE);
    compile.key = lookup.key;
    compile.start_ns = start_ns + lookup.duration_ns;
    compile.duration_ns = duration_ns - lookup.duration_ns;
    compile.outcome = rc == SLW_OK ? slw_disposition_name(report->disposition) : "FAILED";
    compile.bytes = bytes;
    return slwi_moment_send(&compile, rc, err);
}

slw_code slw_store_get_or_build(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder,
                                slw_build_report *report, slw_cached **out, slw_error *err) {
    slwi_error_reset(err);
    if (store == NULL || key == NULL || spec == NULL || builder == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL,
                         "slw_store_get_or_build needs a store, a key, a spec, a builder and `out`");
    const slw_code checked = slwi_check_report(report, err);
    if (checked != SLW_OK) return checked;
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    const uint64_t created_ns = slwi_now_ns();

    /* Filled here and moved on success. Without a report it is released: the value at once, the directory with the
       handle. */
    slw_build_report own = SLW_BUILD_REPORT_INIT;
    slwi_entry *entry = NULL;
    slw_cached *cached = NULL;
    uint64_t bytes = 0;
    slw_code rc = slwi_store_get_or_build(store, key, spec, builder, &own, &entry, record);
    if (rc == SLW_OK) {
        bytes = slwi_entry_size_bytes(entry);
        rc = slwi_cached_create(entry, metrics_of(store), created_ns, &cached, record);
        if (rc != SLW_OK) slwi_release(entry);
    }
    if (rc != SLW_OK) slwi_error_phase(record, "compile");
    rc = send_events(metrics_of(store), key, rc, &own, created_ns, bytes, record);
    if (rc == SLW_OK) *out = cached;
    if (rc == SLW_OK && report != NULL)
        *report = own;
    else
        slw_build_report_release(&own);
    return rc;
}

static int is_cached(const slw_cached *cached) {
    return cached != NULL && cached->tag == SLWI_TAG_CACHED;
}

const slw_key *slw_cached_key(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_key(cached->entry) : NULL;
}

const slw_spec *slw_cached_spec(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_spec(cached->entry) : NULL;
}

uint64_t slw_cached_size_bytes(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_size_bytes(cached->entry) : 0;
}

int slw_cached_is_private(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_is_private(cached->entry) : 0;
}

const char *slw_cached_directory(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_directory(cached->entry) : NULL;
}

size_t slw_cached_file_count(const slw_cached *cached) {
    return is_cached(cached) ? slwi_entry_file_count(cached->entry) : 0;
}

int slw_cached_file(const slw_cached *cached, size_t index, slw_file *out) {
    return is_cached(cached) && out != NULL ? slwi_entry_file(cached->entry, index, out) : 0;
}

slw_code slw_cached_materialize(const slw_cached *cached, const char *destination, slw_error *err) {
    slwi_error_reset(err);
    if (!is_cached(cached)) return slwi_wrong_object(err, "cached");
    if (destination == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_cached_materialize needs a destination");
    return slwi_entry_materialize(cached->entry, destination, err);
}

void slw_cached_discard(slw_cached **cached) {
    if (cached == NULL || !is_cached(*cached)) return;
    slw_cached *handle = *cached;
    *cached = NULL;
    slwi_release(handle->metrics);
    slwi_release(handle->entry);
    slwi_handle_free(&handle->allocator, &handle->tag, handle);
}
