#include "tool_work.h"

#include <errno.h>
#include <fcntl.h>
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "hex.h"
#include "memory.h"
#include "tool_depfile.h"
#include "tool_words.h"

static slw_code storage(slwi_tool_work *w, int status, const char *name, const char *what) {
    return slwi_fail_os(w->err, SLW_E_STORAGE, NULL, -status, name, "%s", what);
}

/* ---- the directories ---- */

static slw_code make_directory(slwi_tool_work *w, int dirfd, const char *name) {
    const slwi_os *os = slwi_os_get();
    int status = os->mkdirat(os, dirfd, name, 0700);
    return status < 0 ? storage(w, status, name, "a directory for the compiler cannot be made") : SLW_OK;
}

static slw_code write_file(slwi_tool_work *w, int dirfd, const char *name, slw_bytes bytes) {
    const slwi_os *os = slwi_os_get();
    int fd = os->openat(os, dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return storage(w, fd, name, "a file for the compiler cannot be made");
    int status = slwi_write_all(os, fd, bytes.data, bytes.size);
    int closed = os->close(os, fd);
    if (status >= 0) status = closed;
    return status < 0 ? storage(w, status, name, "a file for the compiler cannot be written") : SLW_OK;
}

slw_code slwi_tool_work_make_directory(slwi_tool_work *w, const char *name) {
    return make_directory(w, w->work_fd, name);
}

slw_code slwi_tool_work_write(slwi_tool_work *w, const char *name, slw_bytes bytes) {
    return write_file(w, w->work_fd, name, bytes);
}

slw_code slwi_tool_work_write_source(slwi_tool_work *w, const char *name, slw_bytes bytes) {
    const slwi_os *os = slwi_os_get();
    slw_code rc = write_file(w, w->work_fd, name, bytes);
    if (rc != SLW_OK) return rc;
    int status = os->utime(os, w->work_fd, name, 0);
    return status < 0 ? storage(w, status, name, "the source's time cannot be set") : SLW_OK;
}

static slw_code read_list(slwi_tool_work *w, const char *name, slwi_buffer *text) {
    char path[SLWI_TOOL_PATH_MAX];
    if (!slwi_tool_join(path, w->work, name)) {
        return slwi_fail(w->err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    }
    return slwi_read_file(path, text, w->err);
}

slw_code slwi_tool_work_dependencies(slwi_tool_work *w, const char *name, slwi_tool_list *out) {
    slwi_buffer text;
    slwi_buffer_init(&text, w->allocator, SLWI_TOOL_DEPFILE_BYTES_MAX);
    slw_code rc = read_list(w, name, &text);
    if (rc == SLW_OK && !slwi_tool_depfile_parse((slw_bytes){text.data != NULL ? text.data : "", text.size}, out)) {
        rc = slwi_tool_list_status(out, w->err);
        if (rc == SLW_OK) {
            rc = slwi_fail(w->err, SLW_E_COMPILE_FAILED, "DEPENDENCIES",
                           "the compiler's list of what it read is not understood");
        }
    }
    slwi_buffer_free(&text);
    return rc;
}

/* A directory of ours where the caller wants temporary files. Its name is random: the place may be shared. */
static slw_code open_temporary(slwi_tool_work *w) {
    const slwi_os *os = slwi_os_get();
    const char *root = w->context->temporary_root;
    uint8_t random[12];
    char name[40] = "slipway-";
    slwi_stat stat;
    int status = os->random(os, random, sizeof(random));
    if (status < 0) return storage(w, status, root, "there is no randomness");
    slwi_hex_encode(random, sizeof(random), name + 8);
    name[8 + 2 * sizeof(random)] = '\0';
    w->root_fd = slwi_open_directory(os, AT_FDCWD, root, 1, &stat);
    if (w->root_fd < 0) return storage(w, w->root_fd, root, "the directory for temporary files cannot be opened");
    slw_code rc = make_directory(w, w->root_fd, name);
    if (rc != SLW_OK) return rc;
    memcpy(w->private_name, name, sizeof(name));
    if (!slwi_tool_join(w->temporary, root, name)) {
        return slwi_fail(w->err, SLW_E_LIMIT, "PATH_TOO_LONG",
                         "the path of the directory for temporary files is too long");
    }
    return SLW_OK;
}

static int wants_temporary_root(const slwi_tool_work *w) {
    return w->context->size >= sizeof(slw_stage_context) && w->context->temporary_root != NULL;
}

static slw_code open_work(slwi_tool_work *w) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    int status = slwi_remove_tree(os, w->build_fd, SLWI_TOOL_WORK_NAME);
    if (status < 0) return storage(w, status, SLWI_TOOL_WORK_NAME, "an earlier working directory cannot be removed");
    slw_code rc = make_directory(w, w->build_fd, SLWI_TOOL_WORK_NAME);
    if (rc != SLW_OK) return rc;
    w->work_fd = slwi_open_directory(os, w->build_fd, SLWI_TOOL_WORK_NAME, 0, &stat);
    if (w->work_fd < 0) return storage(w, w->work_fd, SLWI_TOOL_WORK_NAME, "the compiler's directory cannot be opened");
    if (!slwi_tool_join(w->work, w->context->directory, SLWI_TOOL_WORK_NAME) ||
        !slwi_tool_join(w->temporary, w->work, "tmp")) {
        return slwi_fail(w->err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    }
    rc = wants_temporary_root(w) ? open_temporary(w) : make_directory(w, w->work_fd, "tmp");
    if (rc != SLW_OK) return rc;
    status = os->realpath(os, w->work, w->real_work);
    return status < 0 ? storage(w, status, w->work, "the compiler's directory cannot be resolved") : SLW_OK;
}

/* Closes what is open and removes what was made for the children; the first failure, for left-overs would be
   published. */
static int close_work(slwi_tool_work *w) {
    const slwi_os *os = slwi_os_get();
    int status = 0;
    if (w->work_fd >= 0) (void)os->close(os, w->work_fd);
    if (w->root_fd >= 0) {
        if (w->private_name[0] != '\0') status = slwi_remove_tree(os, w->root_fd, w->private_name);
        (void)os->close(os, w->root_fd);
    }
    int removed = slwi_remove_tree(os, w->build_fd, SLWI_TOOL_WORK_NAME);
    return status < 0 ? status : removed;
}

static slw_code do_in_work(slwi_tool_work *w, slwi_tool_work_body body, void *body_context) {
    slw_code rc = open_work(w);
    if (rc == SLW_OK) rc = body(w, body_context);
    int removed = close_work(w);
    if (removed < 0 && rc == SLW_OK)
        rc = storage(w, removed, SLWI_TOOL_WORK_NAME, "the compiler's directory cannot be removed");
    return rc;
}

slw_code slwi_tool_work_do(const slw_allocator *allocator, const slw_stage_context *context, int needs_work,
                           slwi_tool_work_body body, void *body_context, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    slw_code rc;
    slwi_tool_work *w = slwi_alloc_zero(allocator, sizeof(*w));
    if (w == NULL) return slwi_fail_memory(err, sizeof(*w));
    w->allocator = allocator;
    w->context = context;
    w->err = err;
    w->work_fd = -1;
    w->root_fd = -1;
    w->build_fd = slwi_open_directory(os, AT_FDCWD, context->directory, 1, &stat);
    if (w->build_fd < 0) {
        rc = storage(w, w->build_fd, context->directory, "the build directory cannot be opened");
    } else {
        rc = needs_work ? do_in_work(w, body, body_context) : body(w, body_context);
        (void)os->close(os, w->build_fd);
    }
    slwi_free(allocator, w);
    return rc;
}

/* ---- running ---- */

static slw_code failed(slwi_tool_work *w, const slwi_tool_command *command, slw_bytes words, int status) {
    slwi_buffer renamed;
    slwi_tool_place place;
    slw_error *err = w->err;
    slwi_buffer_init(&renamed, w->allocator, (size_t)2 * SLW_LIMIT_DIAGNOSTICS_BYTES);
    slwi_tool_words_rename(words, command->source_file, command->name, &renamed);
    if (!renamed.failed) words = (slw_bytes){renamed.data != NULL ? renamed.data : "", renamed.size};
    slwi_error_diagnostics(err, words.data, words.size);
    slwi_error_raw(err, "exit status", status);
    slw_code rc;
    if (slwi_tool_words_place(words, &place)) {
        if (place.file.size != 0) {
            char *path = slwi_strndup(w->allocator, place.file.data, place.file.size);
            if (path != NULL) slwi_error_path(err, path);
            slwi_free(w->allocator, path);
            slwi_error_place(err, place.line, place.column, UINT64_MAX);
        }
        rc = slwi_fail(err, SLW_E_COMPILE_FAILED, "COMPILER", "%.*s",
                       (int)(place.message.size > 400 ? 400 : place.message.size), (const char *)place.message.data);
    } else {
        rc = slwi_fail(err, SLW_E_COMPILE_FAILED, "COMPILER", "%s ended with status %d and said nothing",
                       slwi_tool_base_name(command->program), status);
    }
    slwi_buffer_free(&renamed);
    return rc;
}

slw_code slwi_tool_work_run(slwi_tool_work *w, const slwi_tool_command *command) {
    slwi_buffer words;
    int status = 0;
    slw_code rc = slwi_tool_list_status(command->arguments, w->err);
    if (rc != SLW_OK) return rc;
    slwi_buffer_init(&words, w->allocator, SLW_LIMIT_DIAGNOSTICS_BYTES);
    const slwi_tool_run run = {
        .program = command->program,
        .arguments = command->arguments,
        .path = command->path,
        .variables = command->variables,
        .directory = w->work,
        .temporary = w->temporary,
        .deadline_ns = w->context->deadline_ns,
        .cancel = w->context->cancel,
        .output = &words,
    };
    rc = slwi_tool_start(w->allocator, &run, &status, w->err);
    if (rc == SLW_OK && status != 0)
        rc = failed(w, command, (slw_bytes){words.data != NULL ? words.data : "", words.size}, status);
    slwi_buffer_free(&words);
    return rc;
}

/* ---- outputs ---- */

slw_code slwi_tool_work_finish(slwi_tool_work *w, const char *name, uint32_t mode) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    int fd = slwi_open_regular(os, w->build_fd, name, 0, &stat);
    if (fd == -ENOENT)
        return slwi_fail(w->err, SLW_E_COMPILE_FAILED, "NO_OUTPUT", "the compiler succeeded and made no %s", name);
    if (fd < 0) return storage(w, fd, name, "the compiler's output cannot be opened");
    int status = os->fchmod(os, fd, mode);
    (void)os->close(os, fd);
    return status < 0 ? storage(w, status, name, "the mode of the compiler's output cannot be set") : SLW_OK;
}

slw_code slwi_tool_work_replace(slwi_tool_work *w, const char *name, slw_bytes bytes, uint32_t mode) {
    const slwi_os *os = slwi_os_get();
    int status = os->unlinkat(os, w->build_fd, name, 0);
    if (status < 0 && status != -ENOENT) return storage(w, status, name, "an earlier output cannot be removed");
    slw_code rc = write_file(w, w->build_fd, name, bytes);
    return rc == SLW_OK ? slwi_tool_work_finish(w, name, mode) : rc;
}
