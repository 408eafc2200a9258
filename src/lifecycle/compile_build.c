/* The builder of compile(): the stages in order, the contract of what they made, and the question whether all that
   was read lies in the key. */
#define SLIPWAY_NO_GUARDS
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "compile_state.h"
#include "entry_document.h"
#include "fail.h"
#include "file.h"
#include "memory.h"

static slw_code join(const slw_allocator *allocator, const char *directory, const char *name, slwi_buffer *out,
                     slw_error *err) {
    slwi_buffer_init(out, allocator, SLW_LIMIT_PATH_BYTES);
    slwi_buffer_append_text(out, directory);
    slwi_buffer_append_char(out, '/');
    slwi_buffer_append_text(out, name);
    return slwi_buffer_status(out, err);
}

static slw_stage_context stage_context(const slwi_request *request, const slw_build_context *build) {
    return (slw_stage_context){
        .size = sizeof(slw_stage_context),
        .directory = build->directory,
        .deadline_ns = build->deadline_ns,
        .cancel = build->cancel,
        .temporary_root = request->compiler->temporary_root,
        .source_text =
            request->text.data != NULL ? request->text : (slw_bytes){request->lowered.data, request->lowered.size},
    };
}

static slw_code read_output(const slwi_request *request, const char *directory, const char *name, slwi_buffer *out,
                            slw_error *err) {
    const slw_allocator *allocator = &request->compiler->allocator;
    slwi_buffer path;
    slwi_buffer_init(out, allocator, SLW_LIMIT_BINARY_BYTES);
    slw_code rc = join(allocator, directory, name, &path, err);
    if (rc == SLW_OK) rc = slwi_read_file(path.data, out, err);
    slwi_buffer_free(&path);
    return rc;
}

static slw_code write_output(const slwi_request *request, const char *directory, const char *name,
                             const slwi_buffer *from, slw_error *err) {
    slwi_buffer path;
    slw_code rc = join(&request->compiler->allocator, directory, name, &path, err);
    if (rc == SLW_OK) rc = slwi_write_file_atomic(path.data, (slw_bytes){from->data, from->size}, 0644, err);
    slwi_buffer_free(&path);
    return rc;
}

/* mkdir -p, also for a path that is not absolute. */
static slw_code make_dump_directory(const slwi_request *request, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const char *directory = request->options.dump_directory;
    char here[4096] = "";
    int rc = directory[0] == '/' ? 0 : os->getcwd(os, here);
    if (rc == 0) {
        slwi_buffer path;
        slw_code joined = SLW_OK;
        if (here[0] != '\0')
            joined = join(&request->compiler->allocator, here, directory, &path, err);
        else
            slwi_buffer_init(&path, &request->compiler->allocator, SLW_LIMIT_PATH_BYTES);
        if (joined == SLW_OK) rc = slwi_make_directories(os, here[0] != '\0' ? path.data : directory, 0755);
        slwi_buffer_free(&path);
        if (joined != SLW_OK) return joined;
    }
    if (rc < 0) return slwi_fail_os(err, SLW_E_STORAGE, "DUMP", -rc, directory, "the dump directory cannot be made");
    return SLW_OK;
}

static slw_code dump_stage(const slwi_request *request, const char *directory, const char *payload, slw_error *err) {
    if (request->options.dump_directory == NULL) return SLW_OK;
    slwi_buffer bytes;
    slw_code rc = read_output(request, directory, payload, &bytes, err);
    if (rc == SLW_OK) rc = make_dump_directory(request, err);
    if (rc == SLW_OK) rc = write_output(request, request->options.dump_directory, payload, &bytes, err);
    slwi_buffer_free(&bytes);
    return rc;
}

/* How much a stage left, for its event; 0 where that cannot be told. */
static uint64_t output_bytes(const char *directory, const char *name) {
    const slwi_os *os = slwi_os_get();
    char path[SLW_LIMIT_PATH_BYTES];
    slwi_stat stat;
    const int size = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (size < 0 || (size_t)size >= sizeof path || os->fstatat(os, AT_FDCWD, path, 0, &stat) < 0) return 0;
    return stat.size;
}

/* Runs one stage and keeps its time; the event is sent when no lock of the store is held any more. */
static slw_code run_stage(slwi_request *request, const slw_build_context *build, size_t index, slw_error *err) {
    const slw_backend_vtable *backend = request->compiler->backend;
    const slw_stage_context context = stage_context(request, build);
    slwi_stage_mark *mark = &request->marks[index];
    slw_code rc = slwi_check_wait(context.deadline_ns, context.cancel, backend->stages[index].name, err);
    if (rc != SLW_OK) return rc;
    mark->start_ns = slwi_now_ns();
    rc = backend->job_run(request->job, index, &context, err);
    mark->duration_ns = slwi_now_ns() - mark->start_ns;
    mark->code = rc;
    if (rc == SLW_OK) mark->bytes = output_bytes(build->directory, backend->stages[index].payload);
    if (rc == SLW_OK) rc = dump_stage(request, build->directory, backend->stages[index].payload, err);
    return rc;
}

/* slipway.json, from the launch binary that the stages left. */
static slw_code write_document(slwi_request *request, const slw_build_context *build, slw_error *err) {
    const slw_compiler *compiler = request->compiler;
    const slw_backend_vtable *backend = compiler->backend;
    slwi_buffer binary;
    slwi_buffer text;
    slw_contract *contract = NULL;
    slwi_buffer_init(&text, &compiler->allocator, SLW_LIMIT_JSON_BYTES);
    slw_code rc = read_output(request, build->directory, backend->launch_binary, &binary, err);
    if (rc == SLW_OK)
        rc = backend->read_contract(&compiler->allocator, (slw_bytes){binary.data, binary.size}, backend->launch_binary,
                                    NULL, &contract, err);
    if (rc == SLW_OK) {
        const slwi_entry_document document = {
            .name = request->name,
            .contract = contract,
            .key = request->key,
            .identity = request->toolchain->identity,
            .compiler = backend->toolchain_path(request->toolchain->state),
            .source = request->source_record,
            .options = request->option_record,
            .lowered = request->lowered_record,
        };
        slwi_entry_document_write(&document, &text);
        rc = slwi_buffer_status(&text, err);
        if (rc == SLW_OK) rc = write_output(request, build->directory, SLWI_ENTRY_DOCUMENT_NAME, &text, err);
        backend->release_contract(&compiler->allocator, &contract);
    }
    slwi_buffer_free(&text);
    slwi_buffer_free(&binary);
    return rc;
}

/* On a miss only, and timed as a stage of its own. */
static slw_code lower(slwi_request *request, slw_error *err) {
    const slw_lowered_source *source = request->source->lowered;
    if (source == NULL) return SLW_OK;
    slwi_stage_mark *mark = &request->lowering;
    slw_text_release(&request->lowered);
    mark->start_ns = slwi_now_ns();
    slw_code rc = source->lower(source->context, &request->lowered, err);
    mark->duration_ns = slwi_now_ns() - mark->start_ns;
    if (rc == SLW_OK && request->lowered.size > SLW_LIMIT_SOURCE_BYTES) {
        slwi_error_amount(err, "source", request->lowered.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
        rc = slwi_fail(err, SLW_E_LIMIT, NULL, "what the source was lowered to is too long");
    }
    if (rc == SLW_OK && request->lowered.data == NULL)
        rc = slwi_fail(err, SLW_E_INVALID_SOURCE, "EMPTY", "the source was lowered to nothing");
    mark->code = rc;
    mark->bytes = rc == SLW_OK ? request->lowered.size : 0;
    return rc;
}

/* What lies between the source and the binary is not kept where the caller wants the binary alone. */
static slw_code drop_output(const slw_build_context *build, const char *name, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char path[SLW_LIMIT_PATH_BYTES];
    const int size = snprintf(path, sizeof path, "%s/%s", build->directory, name);
    if (size < 0 || (size_t)size >= sizeof path)
        return slwi_fail(err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    const int rc = os->unlinkat(os, AT_FDCWD, path, 0);
    return rc < 0 ? slwi_fail_os(err, SLW_E_STORAGE, NULL, -rc, path, "a stage's output cannot be removed") : SLW_OK;
}

slw_code slwi_request_build(void *context, const slw_build_context *build, slw_error *err) {
    slwi_request *request = context;
    const slw_backend_vtable *backend = request->compiler->backend;
    const size_t first = request->kind->first_stage;
    request->build_ns = slwi_now_ns();
    slw_code rc = lower(request, err);
    for (size_t i = first; rc == SLW_OK && i < backend->stage_count; i++) rc = run_stage(request, build, i, err);
    for (size_t i = first; rc == SLW_OK && i < backend->stage_count; i++) {
        if (!slwi_request_keeps(request, i)) rc = drop_output(build, backend->stages[i].payload, err);
    }
    if (rc == SLW_OK) rc = write_document(request, build, err);
    return rc;
}

/* The header question is asked first and the files are stat'ed last, as near to the publication as can be; but a
   changed file explains everything else, so it is told before the header (pitfall 3). */
slw_code slwi_request_confirm(void *context, const slw_build_context *build, slw_error *err) {
    slwi_request *request = context;
    const slw_stage_context stage = stage_context(request, build);
    slw_error outside = SLW_ERROR_INIT;
    const slw_code inside = request->compiler->backend->job_confirm(request->job, &stage, &outside);
    slw_code rc = slw_identity_recheck(request->toolchain->identity, err);
    if (rc != SLW_OK) {
        /* The snapshot is dropped: the next compile takes a new one. */
        atomic_store_explicit(&request->toolchain->changed, 1, memory_order_release);
        return rc;
    }
    rc = slw_identity_recheck(request->headers, err);
    if (rc == SLW_OK && inside != SLW_OK) {
        slwi_error_copy(err, &outside);
        rc = inside;
    }
    return rc;
}
