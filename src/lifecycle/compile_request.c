/* From a source and options to a key, or to the reason why the request stays private. */
#define SLIPWAY_NO_GUARDS
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile_state.h"
#include "entry_document.h"
#include "fail.h"
#include "file.h"
#include "memory.h"

static slw_code check_source(const slw_source *source, slw_error *err) {
    if (source == NULL || source->size != sizeof *source)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_source is NULL or of another version");
    if ((source->path != NULL) + (source->text.data != NULL) + (source->lowered != NULL) != 1)
        return slwi_fail(err, SLW_E_USAGE, NULL, "a source has one of a path, a text and a form that is lowered");
    if (source->include_root_count > 0 && source->include_roots == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the include roots are NULL");
    return SLW_OK;
}

slw_code slwi_compile_check(const slw_source *source, const slw_compile_options *options,
                            const slw_backend_vtable *backend, slw_error *err) {
    const slw_code rc = check_source(source, err);
    if (rc != SLW_OK) return rc;
    if (options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_compile_options.size is not this version's");
    if (options->flag_count > 0 && options->flags == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "the flags are NULL");
    if ((options->override_stage != NULL) != (options->override_path != NULL))
        return slwi_fail(err, SLW_E_USAGE, NULL, "an override needs both a stage and a path");
    if (options->override_stage == NULL) return SLW_OK;
    for (size_t i = 0; i < backend->stage_count; i++)
        if (strcmp(backend->stages[i].name, options->override_stage) == 0) return SLW_OK;
    slwi_error_subject(err, options->override_stage, strlen(options->override_stage));
    return slwi_fail(err, SLW_E_USAGE, "NO_STAGE", "%s has no stage of that name", backend->name);
}

/* The whole source by path. Missing or unreadable is the source's fault, not the store's. */
static slw_code read_path(slwi_request *request, slw_error *err) {
    const char *path = request->source->path;
    const slw_code rc = slwi_read_file(path, &request->file, err);
    if (rc == SLW_E_STORAGE) {
        err->code = SLW_E_INVALID_SOURCE;
        slwi_error_subject(err, path, strlen(path));
        return SLW_E_INVALID_SOURCE;
    }
    request->text = (slw_bytes){request->file.data != NULL ? request->file.data : "", request->file.size};
    return rc;
}

static slw_code take_text(slwi_request *request, slw_error *err) {
    const slw_bytes text = request->source->text;
    if (text.size > SLW_LIMIT_SOURCE_BYTES) {
        slwi_error_amount(err, "source", text.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "the source is too long");
    }
    request->text = text;
    return SLW_OK;
}

/* Its record stands for it in the key; its flags come before the request's. */
static slw_code take_lowered(slwi_request *request, slw_error *err) {
    const slw_allocator *allocator = &request->compiler->allocator;
    const slw_lowered_source *lowered = request->source->lowered;
    slw_record **record = &request->lowered_record;
    slw_code rc = slw_lowered_source_record(allocator, lowered, record, err);
    if (rc == SLW_OK) rc = slw_record_digest(*record, SLW_DOMAIN_DEFAULT, &request->source_digest, err);
    if (rc != SLW_OK || lowered->flag_count == 0) return rc;
    const size_t asked = request->options.flag_count;
    request->flags = slwi_alloc_array(allocator, lowered->flag_count + asked, sizeof *request->flags);
    if (request->flags == NULL) return slwi_fail_memory(err, (lowered->flag_count + asked) * sizeof *request->flags);
    memcpy(request->flags, lowered->flags, lowered->flag_count * sizeof *request->flags);
    if (asked > 0) memcpy(request->flags + lowered->flag_count, request->options.flags, asked * sizeof *request->flags);
    request->options.flags = request->flags;
    request->options.flag_count = lowered->flag_count + asked;
    return SLW_OK;
}

static const slw_source_kind *kind_by_name(const slw_backend_vtable *backend, const char *name) {
    const char *dot = name != NULL ? strrchr(name, '.') : NULL;
    return dot != NULL ? slwi_backend_source(backend, dot + 1) : NULL;
}

/* A stage that comes before what the source begins with never runs: nothing would be overridden. */
static slw_code check_override(const slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    const char *stage = request->options.override_stage;
    for (size_t i = 0; stage != NULL && i < request->kind->first_stage; i++) {
        if (strcmp(backend->stages[i].name, stage) != 0) continue;
        slwi_error_subject(err, stage, strlen(stage));
        return slwi_fail(err, SLW_E_USAGE, "NO_STAGE", "a source of the kind %s begins behind the stage %s",
                         request->kind->extension, stage);
    }
    return SLW_OK;
}

/* What the caller says, else what name or path end with where the backend knows that, else the backend's first. */
static slw_code find_kind(slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    const char *said = request->source->extension;
    if (said == NULL) {
        request->kind = kind_by_name(backend, request->name);
        if (request->kind == NULL) request->kind = kind_by_name(backend, request->source->path);
        if (request->kind == NULL) request->kind = &backend->sources[0];
        return check_override(request, err);
    }
    request->kind = slwi_backend_source(backend, said);
    if (request->kind != NULL) return check_override(request, err);
    slwi_error_subject(err, said, strlen(said));
    for (size_t i = 0; i < backend->source_count; i++) slwi_error_tried(err, backend->sources[i].extension);
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "SOURCE_KIND", "%s does not begin with a source of the kind %.32s",
                     backend->name, said);
}

static slw_code read_source(slwi_request *request, slw_error *err) {
    const slw_source *source = request->source;
    const char *slash = source->path != NULL ? strrchr(source->path, '/') : NULL;
    const char *own = source->path == NULL ? "source" : slash != NULL ? slash + 1 : source->path;
    slwi_buffer_init(&request->file, &request->compiler->allocator, SLW_LIMIT_SOURCE_BYTES);
    request->name = source->name != NULL ? source->name : own;
    slw_code rc = find_kind(request, err);
    if (rc != SLW_OK) return rc;
    if (source->lowered != NULL) return take_lowered(request, err);
    rc = source->path != NULL ? read_path(request, err) : take_text(request, err);
    if (rc == SLW_OK) slw_sha256(request->text, &request->source_digest);
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
        .extension = request->kind->extension,
        .source_digest = request->source_digest,
        .is_lowered = request->source->lowered != NULL,
        .identity = request->headers,
    };
    return compiler->backend->job_open(request->toolchain->state, &asked, &request->job, err);
}

static slw_code digest_record(const slw_record *record, char out[SLW_DIGEST_TEXT_SIZE], slw_error *err) {
    slw_digest digest;
    const slw_code rc = slw_record_digest(record, SLW_DOMAIN_DEFAULT, &digest, err);
    if (rc == SLW_OK) slw_digest_format(&digest, out);
    return rc;
}

static slw_code make_key(slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    char source[SLW_DIGEST_TEXT_SIZE];
    char specialization[SLW_DIGEST_TEXT_SIZE];
    slw_code rc = backend->job_source_record(request->job, &request->source_record, err);
    if (rc == SLW_OK) rc = digest_record(request->source_record, source, err);
    if (rc == SLW_OK) rc = backend->job_option_record(request->job, &request->option_record, err);
    if (rc == SLW_OK) rc = digest_record(request->option_record, specialization, err);
    if (rc != SLW_OK) return rc;
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.allocator = request->compiler->allocator;
    inputs.identity = request->toolchain->identity;
    inputs.source = source;
    inputs.specialization = specialization;
    return slw_key_create(&inputs, &request->key, err);
}

int slwi_request_keeps(const slwi_request *request, size_t stage) {
    return !request->options.store_binary_only || stage + 1 == request->compiler->backend->stage_count;
}

static slw_code make_spec(slwi_request *request, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    slw_bytes required[SLWI_STAGES_MAX + 1];
    size_t count = 0;
    for (size_t i = request->kind->first_stage; i < backend->stage_count; i++) {
        if (slwi_request_keeps(request, i))
            required[count++] = (slw_bytes){backend->stages[i].payload, strlen(backend->stages[i].payload)};
    }
    required[count++] = (slw_bytes){SLWI_ENTRY_DOCUMENT_NAME, strlen(SLWI_ENTRY_DOCUMENT_NAME)};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.allocator = request->compiler->allocator;
    inputs.state = SLW_READY;
    inputs.build_kind = SLW_SINGLE;
    inputs.required_files = required;
    inputs.required_file_count = count;
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
    slw_record_release(&request->lowered_record);
    slw_record_release(&request->source_record);
    slw_record_release(&request->option_record);
    slw_key_release(&request->key);
    slw_spec_release(&request->spec);
    slw_text_release(&request->lowered);
    slwi_buffer_free(&request->file);
    slwi_free(&request->compiler->allocator, (void *)request->flags);
}
