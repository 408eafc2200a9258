/* Preparing a compilation: everything it depends on, checked and read before anything runs. */
#include "host_job.h"

#include <errno.h>
#include <fcntl.h>
#include <slipway/key.h>
#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "host_native.h"
#include "host_reader.h"
#include "host_target.h"
#include "memory.h"

const slw_stage slwi_host_stages[SLWI_HOST_STAGE_COUNT] = {
    {"object", "o", "kernel.o"},
    {"shared_object", "so", SLWI_HOST_LAUNCH_BINARY},
};

/* ---- opening ---- */

static slw_code take_roots(slwi_host_job *job, const slw_source *source, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    int known = 0;
    for (size_t i = 0; i < source->include_root_count; i++) {
        const char *root = source->include_roots != NULL ? source->include_roots[i] : NULL;
        if (root == NULL || root[0] == '\0') return slwi_fail(err, SLW_E_USAGE, "EMPTY", "an include root is empty");
        if (root[0] != '/' && !known) {
            int rc = os->getcwd(os, directory);
            if (rc < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -rc, root, "the working directory is not known");
            known = 1;
        }
        if (!slwi_tool_join(path, known ? directory : "", root)) {
            slwi_error_path(err, root);
            return slwi_fail(err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of an include root is too long");
        }
        slwi_tool_list_add(&job->roots, path);
    }
    return slwi_tool_list_status(&job->roots, err);
}

static slw_code check_target(const char *target, slw_error *err) {
    if (target == NULL || strcmp(target, "host") == 0 || strcmp(target, slwi_host_target()) == 0) return SLW_OK;
    slwi_error_subject(err, target, strlen(target));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "host kernels are compiled for %s only",
                     slwi_host_target());
}

/* The bytes are read once, here: what is in the key is what is used. */
static slw_code take_override(slwi_host_job *job, const slw_compile_options *options, slw_error *err) {
    job->override_stage = -1;
    if (options->override_stage == NULL && options->override_path == NULL) return SLW_OK;
    if (options->override_stage == NULL || options->override_path == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "OVERRIDE", "an override needs a stage and a path");
    }
    for (int i = 0; i < SLWI_HOST_STAGE_COUNT; i++) {
        if (strcmp(slwi_host_stages[i].name, options->override_stage) == 0) job->override_stage = i;
    }
    if (job->override_stage < 0) {
        slwi_error_subject(err, options->override_stage, strlen(options->override_stage));
        return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE",
                         "there is no stage \"%.100s\"; the stages are object and shared_object",
                         options->override_stage);
    }
    return slwi_read_file(options->override_path, &job->override_bytes, err);
}

static slw_code take_options(slwi_host_job *job, const slw_compile_options *options, slw_error *err) {
    slw_code rc = slwi_host_options_parse(options->flags, options->flag_count, &job->allocator, &job->options, err);
    if (rc == SLW_OK && job->options.native)
        rc = slwi_host_expand_native(job->toolchain, &job->options, options->cancel, err);
    if (rc != SLW_OK) return rc;
    const char *source_why = slwi_host_source_reason(job->source);
    if (job->options.why[0] != '\0') {
        memcpy(job->why, job->options.why, sizeof(job->why));
    } else if (source_why != NULL) {
        (void)snprintf(job->why, sizeof(job->why), "%s", source_why);
    }
    return SLW_OK;
}

static slw_code fill(slwi_host_job *job, const slw_compile_request *request, slw_error *err) {
    if (request->source_text.size > SLW_LIMIT_SOURCE_BYTES) {
        slwi_error_amount(err, "source size", request->source_text.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the source is too large");
    }
    const char *name =
        request->source_name != NULL && request->source_name[0] != '\0' ? request->source_name : "source.c";
    job->name = slwi_strndup(&job->allocator, name, strlen(name));
    if (job->name == NULL) return slwi_fail_memory(err, strlen(name));
    job->source = request->source_text;
    if (job->source.data == NULL) job->source = (slw_bytes){"", 0};
    job->source_digest = request->source_digest;
    job->is_lowered = request->is_lowered;
    job->identity = request->identity;
    slw_code rc = check_target(request->options->target, err);
    if (rc == SLW_OK) rc = take_roots(job, request->source, err);
    if (rc == SLW_OK) rc = take_override(job, request->options, err);
    if (rc == SLW_OK) rc = take_options(job, request->options, err);
    return rc;
}

slw_code slwi_host_job_open(void *toolchain, const slw_compile_request *request, void **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_host_job *job = slwi_alloc_zero(&allocator, sizeof(*job));
    if (job == NULL) return slwi_fail_memory(err, sizeof(*job));
    job->allocator = allocator;
    job->toolchain = toolchain;
    slwi_tool_list_init(&job->roots, &job->allocator);
    slwi_tool_list_init(&job->dependencies, &job->allocator);
    slwi_tool_list_init(&job->options.compile, &job->allocator);
    slwi_tool_list_init(&job->options.link, &job->allocator);
    slwi_buffer_init(&job->override_bytes, &job->allocator, SLW_LIMIT_BINARY_BYTES);
    rc = fill(job, request, err);
    if (rc != SLW_OK) {
        slwi_host_job_close(job);
        return rc;
    }
    *out = job;
    return SLW_OK;
}

void slwi_host_job_close(void *opaque) {
    slwi_host_job *job = opaque;
    if (job == NULL) return;
    slw_allocator allocator = job->allocator;
    slwi_tool_list_free(&job->roots);
    slwi_tool_list_free(&job->dependencies);
    slwi_host_options_free(&job->options);
    slwi_buffer_free(&job->override_bytes);
    slwi_free(&allocator, job->name);
    slwi_free(&allocator, job);
}

const char *slwi_host_job_private_reason(const void *opaque) {
    const slwi_host_job *job = opaque;
    return job->why[0] != '\0' ? job->why : NULL;
}

/* ---- records ---- */

static slw_code set(slw_record *dict, const char *name, slw_record **item, slw_error *err) {
    slw_code rc = slw_record_set(dict, (slw_bytes){name, strlen(name)}, item, err);
    slw_record_release(item); /* NULL after a success */
    return rc;
}

static slw_code os_text(const slw_allocator *allocator, const char *text, slw_record **out, slw_error *err) {
    return slw_record_os_string(allocator, (slw_bytes){text, strlen(text)}, out, err);
}

static slw_code digest_text(const slw_allocator *allocator, const slw_digest *digest, slw_record **out,
                            slw_error *err) {
    char text[SLW_DIGEST_TEXT_SIZE];
    slw_digest_format(digest, text);
    return slw_record_string(allocator, (slw_bytes){text, SLW_DIGEST_TEXT_SIZE - 1}, out, err);
}

static slw_code append_text(slw_record *sequence, const slw_allocator *allocator, const char *text, slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = os_text(allocator, text, &item, err);
    if (rc == SLW_OK) rc = slw_record_append(sequence, &item, err);
    slw_record_release(&item);
    return rc;
}

static slw_code append_digest(slw_record *sequence, const slw_allocator *allocator, const slw_digest *digest,
                              slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = digest_text(allocator, digest, &item, err);
    if (rc == SLW_OK) rc = slw_record_append(sequence, &item, err);
    slw_record_release(&item);
    return rc;
}

static slw_code append_root(slwi_host_job *job, slw_record *list, const char *root, slw_error *err) {
    slw_digest digest;
    slw_record *pair = NULL;
    slw_code rc = slw_identity_digest_tree(job->identity, root, &digest, err);
    if (rc == SLW_OK) rc = slw_record_tuple(&job->allocator, &pair, err);
    if (rc == SLW_OK) rc = append_text(pair, &job->allocator, root, err);
    if (rc == SLW_OK) rc = append_digest(pair, &job->allocator, &digest, err);
    if (rc == SLW_OK) rc = slw_record_append(list, &pair, err);
    slw_record_release(&pair);
    return rc;
}

static slw_code fill_source(slwi_host_job *job, slw_record *dict, slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = os_text(&job->allocator, job->name, &item, err);
    if (rc == SLW_OK) rc = set(dict, "name", &item, err);
    if (rc == SLW_OK) rc = digest_text(&job->allocator, &job->source_digest, &item, err);
    if (rc == SLW_OK) rc = set(dict, job->is_lowered ? "lowered" : "sha256", &item, err);
    if (rc == SLW_OK) rc = slw_record_list(&job->allocator, &item, err);
    for (size_t i = 0; rc == SLW_OK && i < job->roots.count; i++) rc = append_root(job, item, job->roots.items[i], err);
    if (rc == SLW_OK) rc = set(dict, "include_roots", &item, err);
    slw_record_release(&item);
    return rc;
}

slw_code slwi_host_job_source_record(void *opaque, slw_record **out, slw_error *err) {
    slwi_host_job *job = opaque;
    slw_record *dict = NULL;
    slw_code rc = slw_record_dict(&job->allocator, &dict, err);
    if (rc == SLW_OK) rc = fill_source(job, dict, err);
    if (rc != SLW_OK) {
        slw_record_release(&dict);
        return rc;
    }
    *out = dict;
    return SLW_OK;
}

static slw_code override_record(const slwi_host_job *job, slw_record **out, slw_error *err) {
    slw_record *pair = NULL;
    slw_digest digest;
    if (job->override_stage < 0) return slw_record_none(&job->allocator, out, err);
    slw_sha256((slw_bytes){job->override_bytes.data, job->override_bytes.size}, &digest);
    slw_code rc = slw_record_tuple(&job->allocator, &pair, err);
    if (rc == SLW_OK) rc = append_text(pair, &job->allocator, slwi_host_stages[job->override_stage].name, err);
    if (rc == SLW_OK) rc = append_digest(pair, &job->allocator, &digest, err);
    if (rc != SLW_OK) {
        slw_record_release(&pair);
        return rc;
    }
    *out = pair;
    return SLW_OK;
}

static slw_code fill_options(const slwi_host_job *job, slw_record *dict, slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = slw_record_list(&job->allocator, &item, err);
    for (size_t i = 0; rc == SLW_OK && i < job->options.compile.count; i++) {
        rc = append_text(item, &job->allocator, job->options.compile.items[i], err);
    }
    if (rc == SLW_OK) rc = set(dict, "options", &item, err);
    if (rc == SLW_OK) rc = os_text(&job->allocator, slwi_host_target(), &item, err);
    if (rc == SLW_OK) rc = set(dict, "target", &item, err);
    if (rc == SLW_OK) rc = override_record(job, &item, err);
    if (rc == SLW_OK) rc = set(dict, "override", &item, err);
    slw_record_release(&item);
    return rc;
}

slw_code slwi_host_job_option_record(void *opaque, slw_record **out, slw_error *err) {
    const slwi_host_job *job = opaque;
    slw_record *dict = NULL;
    slw_code rc = slw_record_dict(&job->allocator, &dict, err);
    if (rc == SLW_OK) rc = fill_options(job, dict, err);
    if (rc != SLW_OK) {
        slw_record_release(&dict);
        return rc;
    }
    *out = dict;
    return SLW_OK;
}
