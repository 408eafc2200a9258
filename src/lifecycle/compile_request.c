/* From a source and options to a key, or to the reason why the request stays private. */
#define SLIPWAY_NO_GUARDS
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile_state.h"
#include "entry_document.h"
#include "fail.h"
#include "file.h"

/* The whole source by path. Missing or unreadable is the source's fault, not the store's. */
static slw_code read_source(slwi_request *request, slw_error *err) {
    const slw_source *source = request->source;
    slwi_buffer_init(&request->file, &request->compiler->allocator, SLW_LIMIT_SOURCE_BYTES);
    if (source->path == NULL) {
        if (source->text.size > SLW_LIMIT_SOURCE_BYTES) {
            slwi_error_amount(err, "source", source->text.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
            return slwi_fail(err, SLW_E_LIMIT, NULL, "the source is too long");
        }
        request->text = source->text;
        request->name = source->name != NULL ? source->name : "source";
        return SLW_OK;
    }
    const char *slash = strrchr(source->path, '/');
    request->name = source->name != NULL ? source->name : slash != NULL ? slash + 1 : source->path;
    const slw_code rc = slwi_read_file(source->path, &request->file, err);
    if (rc == SLW_E_STORAGE) {
        err->code = SLW_E_INVALID_SOURCE;
        slwi_error_subject(err, source->path, strlen(source->path));
        return SLW_E_INVALID_SOURCE;
    }
    request->text = (slw_bytes){request->file.data, request->file.size};
    return rc;
}

/* An identity of the request's own lends the memo and remembers the include roots: the compiler's is shared by
   threads, and a header that was edited between two compiles must not spoil the second one. */
static slw_code open_job(slwi_request *request, slw_error *err) {
    slw_compiler *compiler = request->compiler;
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.allocator = compiler->allocator;
    options.memo = compiler->memo;
    options.policy = compiler->policy;
    slw_code rc = slw_identity_create(&options, &request->headers, err);
    if (rc == SLW_OK) rc = slw_identity_seal(request->headers, err);
    if (rc != SLW_OK) return rc;
    const slw_compile_request asked = {
        .size = sizeof asked,
        .allocator = compiler->allocator,
        .source = request->source,
        .options = &request->options,
        .source_text = request->text,
        .source_name = request->name,
        .identity = request->headers,
    };
    return compiler->backend->job_open(request->toolchain->state, &asked, &request->job, err);
}

static slw_code digest_record(slw_record **record, char out[SLW_DIGEST_TEXT_SIZE], slw_error *err) {
    slw_digest digest;
    const slw_code rc = slw_record_digest(*record, SLW_DOMAIN_DEFAULT, &digest, err);
    slw_record_release(record);
    if (rc == SLW_OK) slw_digest_format(&digest, out);
    return rc;
}

static slw_code make_key(slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    char source[SLW_DIGEST_TEXT_SIZE];
    char specialization[SLW_DIGEST_TEXT_SIZE];
    slw_record *record = NULL;
    slw_code rc = backend->job_source_record(request->job, &record, err);
    if (rc == SLW_OK) rc = digest_record(&record, source, err);
    if (rc == SLW_OK) rc = backend->job_option_record(request->job, &record, err);
    if (rc == SLW_OK) rc = digest_record(&record, specialization, err);
    if (rc != SLW_OK) return rc;
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.allocator = request->compiler->allocator;
    inputs.identity = request->toolchain->identity;
    inputs.source = source;
    inputs.specialization = specialization;
    return slw_key_create(&inputs, &request->key, err);
}

static slw_code make_spec(slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    slw_bytes required[SLWI_STAGES_MAX + 1];
    for (size_t i = 0; i < backend->stage_count; i++)
        required[i] = (slw_bytes){backend->stages[i].payload, strlen(backend->stages[i].payload)};
    required[backend->stage_count] = (slw_bytes){SLWI_ENTRY_DOCUMENT_NAME, strlen(SLWI_ENTRY_DOCUMENT_NAME)};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.allocator = request->compiler->allocator;
    inputs.state = SLW_READY;
    inputs.build_kind = SLW_SINGLE;
    inputs.required_files = required;
    inputs.required_file_count = backend->stage_count + 1;
    inputs.keep = backend->launch_binary;
    return slw_spec_create(&inputs, &request->spec, err);
}

static void add_reason(slwi_request *request, const char *format, ...) SLW_PRINTF(2, 3);
static void add_reason(slwi_request *request, const char *format, ...) {
    const size_t used = strlen(request->reason);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(request->reason + used, sizeof request->reason - used, format, arguments);
    va_end(arguments);
}

/* Why this request cannot share its result: what the job says, every component that is not proved, or the caller's
   wish. */
static slw_code find_reasons(slwi_request *request, int *keyless, slw_error *err) {
    const char *said = request->compiler->backend->job_private_reason(request->job);
    if (said != NULL) {
        add_reason(request, "%s", said);
        *keyless = 1;
    }
    slw_error local = SLW_ERROR_INIT;
    const slw_code usable = slw_identity_usable(request->toolchain->identity, &local);
    if (usable != SLW_OK && usable != SLW_E_IDENTITY_UNUSABLE) {
        slwi_error_copy(err, &local);
        return usable;
    }
    if (usable == SLW_E_IDENTITY_UNUSABLE) {
        const char *component = NULL;
        const char *reason = NULL;
        *keyless = 1;
        add_reason(request, "%sIDENTITY_UNUSABLE", request->reason[0] != '\0' ? "; " : "");
        for (size_t i = 0; slw_identity_failure(request->toolchain->identity, i, &component, &reason); i++)
            add_reason(request, "%s %s: %s", i > 0 ? ";" : "", component, reason);
    }
    if (request->reason[0] != '\0') return SLW_OK;
    if (request->options.always_compile)
        add_reason(request, "ALWAYS_COMPILE");
    else if (request->options.dump_directory != NULL)
        add_reason(request, "DUMP");
    return SLW_OK;
}

/* An include root that cannot be read in full has no digest: the request is built privately, and says which. */
static slw_code make_key_if_known(slwi_request *request, slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    const slw_code rc = make_key(request, &local);
    if (rc == SLW_E_IDENTITY_UNUSABLE) {
        add_reason(request, "IDENTITY_UNUSABLE %s: %s", local.path, local.message);
        return SLW_OK;
    }
    if (rc != SLW_OK) slwi_error_copy(err, &local);
    return rc;
}

slw_code slwi_request_prepare(slwi_request *request, slw_error *err) {
    int keyless = 0;
    slw_code rc = read_source(request, err);
    if (rc == SLW_OK) rc = slwi_compiler_toolchain(request->compiler, &request->toolchain, err);
    if (rc == SLW_OK) rc = open_job(request, err);
    if (rc == SLW_OK) rc = find_reasons(request, &keyless, err);
    if (rc == SLW_OK && !keyless) rc = make_key_if_known(request, err);
    if (rc == SLW_OK) rc = make_spec(request, err);
    return rc;
}

void slwi_request_end(slwi_request *request) {
    if (request->job != NULL) request->compiler->backend->job_close(request->job);
    slw_identity_release(&request->headers);
    slw_key_release(&request->key);
    slw_spec_release(&request->spec);
    slwi_buffer_free(&request->file);
}
