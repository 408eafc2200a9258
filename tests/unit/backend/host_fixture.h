/* What the tests of the host backend share: a compiler that is open, and a compilation run to its end. */
#ifndef HOST_FIXTURE_H
#define HOST_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include <slipway/key.h>
#include "host_backend.h"
#include "slt.h"

static const char fixture_kernel[] =
    "#include <slipway/host_kernel.h>\n"
    "SLW_HOST_KERNEL_SHARED(scale, 40, SLW_HOST_PARAM(float *, values), SLW_HOST_PARAM(uint32_t, count),\n"
    "                       SLW_HOST_PARAM(double, factor));\n"
    "void scale(const slw_host_block *block, void *const *args) {\n"
    "    float *values = SLW_HOST_ARG(float *, args, 0);\n"
    "    uint32_t count = SLW_HOST_ARG(uint32_t, args, 1);\n"
    "    double factor = SLW_HOST_ARG(double, args, 2);\n"
    "    for (uint32_t i = 0; i < block->block[0] && i < count; i++) values[i] *= (float)factor;\n"
    "}\n"
    "SLW_HOST_KERNEL(nothing);\n"
    "void nothing(const slw_host_block *block, void *const *args) { (void)block; (void)args; }\n";

typedef struct fixture_toolchain {
    slw_memo *memo;
    slw_identity *identity;
    void *toolchain;
} fixture_toolchain;

/* `memo_directory` NULL: none. */
static inline slw_code fixture_open(fixture_toolchain *t, const char *compiler, const char *search_path,
                                    const char *memo_directory, slw_error *err) {
    memset(t, 0, sizeof(*t));
    if (memo_directory != NULL) {
        slw_memo_options memo = SLW_MEMO_OPTIONS_INIT;
        memo.directory = memo_directory;
        slt_ok(slw_memo_open(&memo, &t->memo, err), err);
    }
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.memo = t->memo;
    slt_ok(slw_identity_create(&options, &t->identity, err), err);
    slw_toolchain_request request;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.compiler = compiler;
    request.search_path = search_path;
    request.memo = t->memo;
    request.identity = t->identity;
    return slwi_host_backend.toolchain_open(&request, &t->toolchain, err);
}

static inline void fixture_close(fixture_toolchain *t) {
    if (t->toolchain != NULL) slwi_host_backend.toolchain_close(t->toolchain);
    slw_identity_release(&t->identity);
    slw_memo_close(&t->memo);
    t->toolchain = NULL;
}

typedef struct fixture_request {
    const char *text;
    const char *name;
    const char *roots[4]; /* NULL-terminated */
    const char *flags[16];
    const char *override_stage;
    const char *override_path;
    uint64_t deadline_ns; /* 0: none */
    slw_cancel *cancel;
} fixture_request;

/* Opens a job; the request must outlive it. */
static inline slw_code fixture_job(fixture_toolchain *t, const fixture_request *r, void **job, slw_error *err) {
    static slw_source source;
    static slw_compile_options options;
    slw_source source_init = SLW_SOURCE_INIT;
    slw_compile_options options_init = SLW_COMPILE_OPTIONS_INIT;
    source = source_init;
    options = options_init;
    while (r->roots[source.include_root_count] != NULL) source.include_root_count++;
    source.include_roots = r->roots;
    while (r->flags[options.flag_count] != NULL) options.flag_count++;
    options.flags = r->flags;
    options.override_stage = r->override_stage;
    options.override_path = r->override_path;
    slw_compile_request request;
    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.source = &source;
    request.options = &options;
    request.source_text.data = r->text != NULL ? r->text : fixture_kernel;
    request.source_text.size = strlen(request.source_text.data);
    request.source_name = r->name != NULL ? r->name : "kernel.c";
    request.extension = "c";
    slw_sha256(request.source_text, &request.source_digest);
    request.identity = t->identity;
    return slwi_host_backend.job_open(t->toolchain, &request, job, err);
}

static inline slw_stage_context fixture_context(const fixture_request *r, const char *directory) {
    slw_stage_context context;
    memset(&context, 0, sizeof(context));
    context.size = sizeof(context);
    context.directory = directory;
    context.deadline_ns = r->deadline_ns != 0 ? r->deadline_ns : UINT64_MAX;
    context.cancel = r->cancel;
    context.source_text.data = r->text != NULL ? r->text : fixture_kernel;
    context.source_text.size = strlen(context.source_text.data);
    return context;
}

/* Both stages. */
static inline slw_code fixture_run(void *job, const fixture_request *r, const char *directory, slw_error *err) {
    slw_stage_context context = fixture_context(r, directory);
    slw_code rc = SLW_OK;
    for (size_t i = 0; rc == SLW_OK && i < slwi_host_backend.stage_count; i++) {
        rc = slwi_host_backend.job_run(job, i, &context, err);
    }
    return rc;
}

/* Compiles into a fresh directory and gives its path; fails the test where it does not work. */
static inline const char *fixture_compile(fixture_toolchain *t, const fixture_request *r) {
    slw_error err = SLW_ERROR_INIT;
    static char words[65536];
    void *job = NULL;
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof(words);
    const char *directory = slt_scratch();
    slt_ok(fixture_job(t, r, &job, &err), &err);
    slw_code rc = fixture_run(job, r, directory, &err);
    ck_assert_msg(rc == SLW_OK, "%s (%s)\n%s", err.message, slw_code_name(rc), words);
    slwi_host_backend.job_close(job);
    return directory;
}

/* The digest of a record of the job, as text. */
static inline void fixture_digest(void *job, slw_code (*of)(void *, slw_record **, slw_error *),
                                  char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    slw_digest digest;
    slt_ok(of(job, &record, &err), &err);
    slt_ok(slw_record_digest(record, NULL, &digest, &err), &err);
    slw_digest_format(&digest, out);
    slw_record_release(&record);
}

/* 1 when both directories hold the same bytes under that name. */
static inline int fixture_same(const char *a, const char *b, const char *name) {
    size_t left_size;
    size_t right_size;
    char *left = slt_read_file(slt_path(a, name, NULL), &left_size);
    char *right = slt_read_file(slt_path(b, name, NULL), &right_size);
    int same = left_size == right_size && memcmp(left, right, left_size) == 0;
    free(left);
    free(right);
    return same;
}

#endif
