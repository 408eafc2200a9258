/* One compilation as every backend prepares it: what of the request belongs to no compiler in particular, its records,
 * and whether what was read lies inside the key. A backend's job starts with one. */
#ifndef SLWI_TOOL_JOB_H
#define SLWI_TOOL_JOB_H

#include <slipway/sys/backend_impl.h>

#include "tool_work.h"

typedef struct slwi_tool_job {
    slw_allocator allocator; /* the lists point to it: a job does not move */
    slw_identity *identity;  /* the compiler's; borrowed */
    slw_bytes source;        /* borrowed; empty where it comes with the stage */
    slw_digest source_digest;
    int is_lowered;
    const char *lowered_why; /* what is_lowered came to reaches outside the key; NULL: it does not. Static */
    char *name;              /* of the source */
    const char *extension;   /* of its kind; NULL: the backend has one only, and the record leaves it out. Static */
    slwi_tool_list roots;    /* declared include roots, absolute */
    char why[256];           /* why the request is private ("OPTION -fplugin=x"); "": it is not */
    const slw_stage *stages; /* the backend's */
    size_t stage_count;
    int override_stage; /* -1: none */
    slwi_buffer override_bytes;
    slwi_tool_list dependencies; /* of the compilation that was run */
    int compiled;                /* 1: they are there */
} slwi_tool_job;

/* What a job needs to be closed, whatever happens then. */
void slwi_tool_job_init(slwi_tool_job *job, const slw_allocator *allocator);
/* Takes the source's name (or `default_name`), roots (made absolute by the calling process's directory) and override,
   whose bytes are read here, once: what is in the key is what is used. Options that say what no list shows keep the
   job private. LIMIT (TOO_LARGE, PATH_TOO_LONG), USAGE (EMPTY, OVERRIDE, BAD_STAGE), STORAGE, NO_MEMORY. */
slw_code slwi_tool_job_take(slwi_tool_job *job, const slw_compile_request *request, const slw_stage *stages,
                            size_t stage_count, const char *default_name, slw_error *err);
void slwi_tool_job_free(slwi_tool_job *job);

/* The first reason counts. */
void slwi_tool_job_keep_private(slwi_tool_job *job, const char *why);
const char *slwi_tool_job_private_reason(const slwi_tool_job *job);

/* {name, sha256 or lowered, [extension,] include_roots: [(path, digest of the tree)]}. */
slw_code slwi_tool_job_source_record(const slwi_tool_job *job, slw_record **out, slw_error *err);
/* {options: [text], target, override: none or (stage, digest)}. */
slw_code slwi_tool_job_option_record(const slwi_tool_job *job, const slwi_tool_list *options, const char *target,
                                     slw_record **out, slw_error *err);

/* Runs one stage: `body` makes its output in the working directory, or the override's bytes stand in for it; either has
   the mode then. USAGE (BAD_STAGE), what the body gives, what slwi_tool_work_* give. */
typedef struct slwi_tool_stage {
    size_t index;
    uint32_t mode;
    slw_code (*body)(void *context, slwi_tool_work *work);
    void *context; /* the backend's job */
} slwi_tool_stage;
slw_code slwi_tool_job_run(const slwi_tool_job *job, const slwi_tool_stage *stage, const slw_stage_context *context,
                           slw_error *err);

/* Keeps the dependency list of a compilation (it is moved out of `from`). */
void slwi_tool_job_keep_dependencies(slwi_tool_job *job, slwi_tool_list *from);
/* OK, or IDENTITY_UNUSABLE: HEADER_OUTSIDE for what lies neither in the request's roots nor in the compiler's own,
   HEADER_REACHES_OUT for a header of the request's roots that says what no list shows (tool_source.h), HEADER_UNREAD
   for one that is gone, SOURCE for a lowered source that reaches outside. `own` are the names the build wrote in its
   working directory, NULL-terminated. */
slw_code slwi_tool_job_confirm(const slwi_tool_job *job, const slw_stage_context *context,
                               const slwi_tool_list *compiler_roots, const char *const *own, slw_error *err);

#endif
