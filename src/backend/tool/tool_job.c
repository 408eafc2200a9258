/* Preparing a compilation: everything it depends on, checked and read before anything runs. */
#include "tool_job.h"

#include <slipway/key.h>
#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "memory.h"
#include "os.h"
#include "tool_depfile.h"
#include "tool_options.h"
#include "tool_source.h"

/* ---- taking ---- */

void slwi_tool_job_init(slwi_tool_job *job, const slw_allocator *allocator) {
    memset(job, 0, sizeof(*job));
    job->allocator = *allocator;
    job->source = (slw_bytes){"", 0};
    job->override_stage = -1;
    slwi_tool_list_init(&job->roots, &job->allocator);
    slwi_tool_list_init(&job->dependencies, &job->allocator);
    slwi_buffer_init(&job->override_bytes, &job->allocator, SLW_LIMIT_BINARY_BYTES);
}

static slw_code take_roots(slwi_tool_job *job, const slw_source *source, slw_error *err) {
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

static slw_code bad_stage(const slwi_tool_job *job, const char *name, slw_error *err) {
    char names[256] = "";
    size_t size = 0;
    for (size_t i = 0; i < job->stage_count && size < sizeof(names); i++) {
        const char *joint = i == 0 ? "" : i + 1 == job->stage_count ? " and " : ", ";
        size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%s", joint, job->stages[i].name);
    }
    slwi_error_subject(err, name, strlen(name));
    return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE", "there is no stage \"%.100s\"; the stages are %s", name, names);
}

static slw_code take_override(slwi_tool_job *job, const slw_compile_options *options, slw_error *err) {
    if (options->override_stage == NULL && options->override_path == NULL) return SLW_OK;
    if (options->override_stage == NULL || options->override_path == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "OVERRIDE", "an override needs a stage and a path");
    }
    for (size_t i = 0; i < job->stage_count; i++) {
        if (strcmp(job->stages[i].name, options->override_stage) == 0) job->override_stage = (int)i;
    }
    if (job->override_stage < 0) return bad_stage(job, options->override_stage, err);
    return slwi_read_file(options->override_path, &job->override_bytes, err);
}

/* A macro's value brings words into the source. What else is wrong with the options is for those that know them. */
static void look_at_flags(slwi_tool_job *job, const slw_compile_options *options) {
    char why[sizeof(job->why)];
    if (options->flags == NULL || options->flag_count > SLWI_TOOL_OPTIONS_MAX) return;
    for (size_t i = 0; i < options->flag_count; i++) {
        const char *flag = options->flags[i];
        if (flag == NULL) continue;
        const char *found = slwi_tool_header_reason((slw_bytes){flag, strlen(flag)});
        if (found == NULL) continue;
        (void)snprintf(why, sizeof(why), "OPTION %.150s: %s", flag, found + strlen(SLWI_TOOL_SOURCE_WORD));
        slwi_tool_job_keep_private(job, why);
    }
}

slw_code slwi_tool_job_take(slwi_tool_job *job, const slw_compile_request *request, const slw_stage *stages,
                            size_t stage_count, const char *default_name, slw_error *err) {
    if (request->source_text.size > SLW_LIMIT_SOURCE_BYTES) {
        slwi_error_amount(err, "source size", request->source_text.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the source is too large");
    }
    const char *name = request->source_name;
    if (name == NULL || name[0] == '\0') name = default_name;
    job->name = slwi_strndup(&job->allocator, name, strlen(name));
    if (job->name == NULL) return slwi_fail_memory(err, strlen(name));
    if (request->source_text.data != NULL) job->source = request->source_text;
    job->source_digest = request->source_digest;
    job->is_lowered = request->is_lowered;
    job->identity = request->identity;
    job->stages = stages;
    job->stage_count = stage_count;
    look_at_flags(job, request->options);
    slw_code rc = take_roots(job, request->source, err);
    return rc == SLW_OK ? take_override(job, request->options, err) : rc;
}

void slwi_tool_job_free(slwi_tool_job *job) {
    slwi_tool_list_free(&job->roots);
    slwi_tool_list_free(&job->dependencies);
    slwi_buffer_free(&job->override_bytes);
    slwi_free(&job->allocator, job->name);
    job->name = NULL;
}

void slwi_tool_job_keep_private(slwi_tool_job *job, const char *why) {
    if (job->why[0] == '\0') (void)snprintf(job->why, sizeof(job->why), "%s", why);
}

const char *slwi_tool_job_private_reason(const slwi_tool_job *job) {
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

static slw_code append_root(const slwi_tool_job *job, slw_record *list, const char *root, slw_error *err) {
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

static slw_code fill_source(const slwi_tool_job *job, slw_record *dict, slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = os_text(&job->allocator, job->name, &item, err);
    if (rc == SLW_OK) rc = set(dict, "name", &item, err);
    if (rc == SLW_OK) rc = digest_text(&job->allocator, &job->source_digest, &item, err);
    if (rc == SLW_OK) rc = set(dict, job->is_lowered ? "lowered" : "sha256", &item, err);
    if (rc == SLW_OK && job->extension != NULL) {
        rc = os_text(&job->allocator, job->extension, &item, err);
        if (rc == SLW_OK) rc = set(dict, "extension", &item, err);
    }
    if (rc == SLW_OK) rc = slw_record_list(&job->allocator, &item, err);
    for (size_t i = 0; rc == SLW_OK && i < job->roots.count; i++) rc = append_root(job, item, job->roots.items[i], err);
    if (rc == SLW_OK) rc = set(dict, "include_roots", &item, err);
    slw_record_release(&item);
    return rc;
}

slw_code slwi_tool_job_source_record(const slwi_tool_job *job, slw_record **out, slw_error *err) {
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

static slw_code override_record(const slwi_tool_job *job, slw_record **out, slw_error *err) {
    slw_record *pair = NULL;
    slw_digest digest;
    if (job->override_stage < 0) return slw_record_none(&job->allocator, out, err);
    slw_sha256((slw_bytes){job->override_bytes.data, job->override_bytes.size}, &digest);
    slw_code rc = slw_record_tuple(&job->allocator, &pair, err);
    if (rc == SLW_OK) rc = append_text(pair, &job->allocator, job->stages[job->override_stage].name, err);
    if (rc == SLW_OK) rc = append_digest(pair, &job->allocator, &digest, err);
    if (rc != SLW_OK) {
        slw_record_release(&pair);
        return rc;
    }
    *out = pair;
    return SLW_OK;
}

static slw_code fill_options(const slwi_tool_job *job, const slwi_tool_list *options, const char *target,
                             slw_record *dict, slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = slw_record_list(&job->allocator, &item, err);
    for (size_t i = 0; rc == SLW_OK && i < options->count; i++) {
        rc = append_text(item, &job->allocator, options->items[i], err);
    }
    if (rc == SLW_OK) rc = set(dict, "options", &item, err);
    if (rc == SLW_OK) rc = os_text(&job->allocator, target, &item, err);
    if (rc == SLW_OK) rc = set(dict, "target", &item, err);
    if (rc == SLW_OK) rc = override_record(job, &item, err);
    if (rc == SLW_OK) rc = set(dict, "override", &item, err);
    slw_record_release(&item);
    return rc;
}

slw_code slwi_tool_job_option_record(const slwi_tool_job *job, const slwi_tool_list *options, const char *target,
                                     slw_record **out, slw_error *err) {
    slw_record *dict = NULL;
    slw_code rc = slw_record_dict(&job->allocator, &dict, err);
    if (rc == SLW_OK) rc = fill_options(job, options, target, dict, err);
    if (rc != SLW_OK) {
        slw_record_release(&dict);
        return rc;
    }
    *out = dict;
    return SLW_OK;
}

/* ---- running ---- */

typedef struct running {
    const slwi_tool_job *job;
    const slwi_tool_stage *stage;
} running;

static int is_overridden(const slwi_tool_job *job, const slwi_tool_stage *stage) {
    return job->override_stage == (int)stage->index;
}

static slw_code run_stage(slwi_tool_work *w, void *context) {
    const running *r = context;
    const char *output = r->job->stages[r->stage->index].payload;
    if (is_overridden(r->job, r->stage)) {
        const slw_bytes bytes = {r->job->override_bytes.data, r->job->override_bytes.size};
        return slwi_tool_work_replace(w, output, bytes, r->stage->mode);
    }
    const slw_code rc = r->stage->body(r->stage->context, w);
    return rc == SLW_OK ? slwi_tool_work_finish(w, output, r->stage->mode) : rc;
}

slw_code slwi_tool_job_run(const slwi_tool_job *job, const slwi_tool_stage *stage, const slw_stage_context *context,
                           slw_error *err) {
    running r = {job, stage};
    if (stage->index >= job->stage_count) return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE", "there is no such stage");
    return slwi_tool_work_do(&job->allocator, context, !is_overridden(job, stage), run_stage, &r, err);
}

/* ---- confirmation ---- */

void slwi_tool_job_keep_dependencies(slwi_tool_job *job, slwi_tool_list *from) {
    slwi_tool_list_free(&job->dependencies);
    job->dependencies = *from;
    job->dependencies.allocator = &job->allocator;
    slwi_tool_list_init(from, &job->allocator);
    job->compiled = 1;
}

static slw_code outside(const char *path, slw_error *err) {
    slwi_error_path(err, path);
    slwi_error_hint(err, "declare the directory as an include root");
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "HEADER_OUTSIDE",
                     "the compiler read %.300s, which is not in the key", path);
}

/* A header of a declared root, read as the compiler read it a moment ago: that it is still the same is asked of the
   whole tree after this. A hit is not looked at again, for its key holds the digest of what was looked at here. */
static slw_code look_at_header(const slwi_tool_job *job, const char *path, slw_error *err) {
    slwi_buffer text;
    slw_error unread = SLW_ERROR_INIT;
    slwi_buffer_init(&text, &job->allocator, SLW_LIMIT_SOURCE_BYTES);
    const slw_code rc = slwi_read_file(path, &text, &unread);
    const char *why = rc == SLW_OK ? slwi_tool_header_reason((slw_bytes){text.data, text.size}) : NULL;
    slwi_buffer_free(&text);
    if (rc == SLW_OK && why == NULL) return SLW_OK;
    slwi_error_path(err, path);
    if (why != NULL) {
        return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "HEADER_REACHES_OUT", "the header %.300s says %s", path,
                         why + strlen(SLWI_TOOL_SOURCE_WORD));
    }
    if (rc == SLW_E_NO_MEMORY) return slwi_fail_memory(err, 0);
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "HEADER_UNREAD",
                     "the header %.300s, which the compiler read, cannot be read again", path);
}

/* The compiler's own headers are taken as they are. */
static slw_code look_at_dependency(const slwi_tool_job *job, const char *dependency, const char *work,
                                   const slwi_tool_list *compiler_roots, const slwi_tool_list *own, slw_error *err) {
    char path[SLWI_TOOL_PATH_MAX];
    if (slwi_tool_dependency_inside(dependency, work, compiler_roots, own)) return SLW_OK;
    if (!slwi_tool_dependency_inside(dependency, work, &job->roots, own)) return outside(dependency, err);
    if (!slwi_tool_join(path, work, dependency)) return outside(dependency, err);
    return look_at_header(job, path, err);
}

slw_code slwi_tool_job_confirm(const slwi_tool_job *job, const slw_stage_context *context,
                               const slwi_tool_list *compiler_roots, const char *const *own, slw_error *err) {
    slwi_tool_list names;
    char work[SLWI_TOOL_PATH_MAX];
    if (!job->compiled) return SLW_OK; /* what compiling makes was given */
    if (job->lowered_why != NULL) return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "SOURCE", "%s", job->lowered_why);
    slwi_tool_list_init(&names, &job->allocator);
    for (size_t i = 0; own[i] != NULL; i++) slwi_tool_list_add(&names, own[i]);
    slw_code rc = slwi_tool_list_status(&names, err);
    if (rc == SLW_OK && !slwi_tool_join(work, context->directory, SLWI_TOOL_WORK_NAME)) {
        rc = slwi_fail(err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    }
    for (size_t i = 0; rc == SLW_OK && i < job->dependencies.count; i++)
        rc = look_at_dependency(job, job->dependencies.items[i], work, compiler_roots, &names, err);
    slwi_tool_list_free(&names);
    return rc;
}
