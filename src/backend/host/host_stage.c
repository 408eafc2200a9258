/* Running the stages. Everything but the two outputs lives in a directory of its own inside the build's, which is gone
 * before a stage ends: what stays in the build directory is published. */
#include <errno.h>
#include <fcntl.h>
#include <slipway/limits.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "hex.h"
#include "host_job.h"
#include "host_kernel_text.h"
#include "host_words.h"
#include "memory.h"

#define WORK               ".slipway-work"
#define DEPENDENCIES       "source.d"
#define OBJECT             "../kernel.o"
#define SHARED_OBJECT      "../kernel.so"
#define OBJECT_MODE        0644u
#define SHARED_OBJECT_MODE 0755u

typedef struct stage {
    slwi_host_job *job;
    const slw_stage_context *context;
    slw_error *err;
    int build_fd; /* the build directory */
    int work_fd;
    int root_fd;                   /* the caller's directory for temporary files; -1: inside the working directory */
    char private_name[40];         /* of ours in it; "": none was made */
    char work[SLWI_HOST_PATH_MAX]; /* its path, as given */
    char real_work[SLWI_HOST_PATH_MAX]; /* and as the compiler will say it */
    char temporary[SLWI_HOST_PATH_MAX];
} stage;

static slw_code storage(stage *s, int status, const char *name, const char *what) {
    return slwi_fail_os(s->err, SLW_E_STORAGE, NULL, -status, name, "%s", what);
}

/* ---- the working directory ---- */

static slw_code make_directory(stage *s, int dirfd, const char *name) {
    const slwi_os *os = slwi_os_get();
    int status = os->mkdirat(os, dirfd, name, 0700);
    return status < 0 ? storage(s, status, name, "a directory for the compiler cannot be made") : SLW_OK;
}

static slw_code write_file(stage *s, int dirfd, const char *name, const void *data, size_t size) {
    const slwi_os *os = slwi_os_get();
    int fd = os->openat(os, dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return storage(s, fd, name, "a file for the compiler cannot be made");
    int status = slwi_write_all(os, fd, data, size);
    int closed = os->close(os, fd);
    if (status >= 0) status = closed;
    return status < 0 ? storage(s, status, name, "a file for the compiler cannot be written") : SLW_OK;
}

static slw_code write_header(stage *s) {
    slwi_buffer text;
    slwi_buffer_init(&text, &s->job->allocator, SIZE_MAX);
    for (size_t i = 0; slwi_host_kernel_lines[i] != NULL; i++)
        slwi_buffer_append_text(&text, slwi_host_kernel_lines[i]);
    slw_code rc = slwi_buffer_status(&text, s->err);
    if (rc == SLW_OK) rc = make_directory(s, s->work_fd, "include");
    if (rc == SLW_OK) rc = make_directory(s, s->work_fd, "include/slipway");
    if (rc == SLW_OK) rc = write_file(s, s->work_fd, "include/" SLWI_HOST_KERNEL_INCLUDE, text.data, text.size);
    slwi_buffer_free(&text);
    return rc;
}

/* The bytes of the request, whatever the file has become; with a time of its own, for __TIMESTAMP__ shows it. */
static slw_code write_source(stage *s) {
    const slwi_os *os = slwi_os_get();
    slw_code rc = write_file(s, s->work_fd, SLWI_HOST_SOURCE_FILE, s->job->source.data, s->job->source.size);
    if (rc != SLW_OK) return rc;
    int status = os->utime(os, s->work_fd, SLWI_HOST_SOURCE_FILE, 0);
    return status < 0 ? storage(s, status, SLWI_HOST_SOURCE_FILE, "the source's time cannot be set") : SLW_OK;
}

/* A directory of ours where the caller wants temporary files. Its name is random: the place may be shared. */
static slw_code open_temporary(stage *s) {
    const slwi_os *os = slwi_os_get();
    const char *root = s->context->temporary_root;
    uint8_t random[12];
    char name[40] = "slipway-";
    slwi_stat stat;
    int status = os->random(os, random, sizeof(random));
    if (status < 0) return storage(s, status, root, "there is no randomness");
    slwi_hex_encode(random, sizeof(random), name + 8);
    name[8 + 2 * sizeof(random)] = '\0';
    s->root_fd = slwi_open_directory(os, AT_FDCWD, root, 1, &stat);
    if (s->root_fd < 0) return storage(s, s->root_fd, root, "the directory for temporary files cannot be opened");
    slw_code rc = make_directory(s, s->root_fd, name);
    if (rc != SLW_OK) return rc;
    memcpy(s->private_name, name, sizeof(name));
    if (!slwi_host_join(s->temporary, root, name)) {
        return slwi_fail(s->err, SLW_E_LIMIT, "PATH_TOO_LONG",
                         "the path of the directory for temporary files is too long");
    }
    return SLW_OK;
}

static int wants_temporary_root(const stage *s) {
    return s->context->size >= sizeof(slw_stage_context) && s->context->temporary_root != NULL;
}

static slw_code open_work(stage *s) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    int status = slwi_remove_tree(os, s->build_fd, WORK);
    if (status < 0) return storage(s, status, WORK, "an earlier working directory cannot be removed");
    slw_code rc = make_directory(s, s->build_fd, WORK);
    if (rc != SLW_OK) return rc;
    s->work_fd = slwi_open_directory(os, s->build_fd, WORK, 0, &stat);
    if (s->work_fd < 0) return storage(s, s->work_fd, WORK, "the compiler's directory cannot be opened");
    if (!slwi_host_join(s->work, s->context->directory, WORK) || !slwi_host_join(s->temporary, s->work, "tmp")) {
        return slwi_fail(s->err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    }
    rc = wants_temporary_root(s) ? open_temporary(s) : make_directory(s, s->work_fd, "tmp");
    if (rc != SLW_OK) return rc;
    status = os->realpath(os, s->work, s->real_work);
    return status < 0 ? storage(s, status, s->work, "the compiler's directory cannot be resolved") : SLW_OK;
}

/* ---- command lines ---- */

static void add_fixed(slwi_host_list *list, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) slwi_host_list_add(list, words[i]);
}

/* Paths of this build are mapped away, and the source gets its name back: two builds give the same bytes. */
static void add_prefix_maps(const stage *s, slwi_host_list *list) {
    slwi_host_list_add_format(list, "-ffile-prefix-map=%s=.", s->real_work);
    if (strcmp(s->work, s->real_work) != 0) slwi_host_list_add_format(list, "-ffile-prefix-map=%s=.", s->work);
    slwi_host_list_add_format(list, "-ffile-prefix-map=" SLWI_HOST_SOURCE_FILE "=%s", s->job->name);
}

static void compile_arguments(const stage *s, slwi_host_list *list) {
    const slwi_host_job *job = s->job;
    add_fixed(list, slwi_host_compile_before);
    slwi_host_list_add_all(list, &job->options.compile);
    slwi_host_list_add(list, "-I");
    slwi_host_list_add(list, "include"); /* the shipped header comes first: it is the one the reader knows */
    for (size_t i = 0; i < job->roots.count; i++) {
        slwi_host_list_add(list, "-I");
        slwi_host_list_add(list, job->roots.items[i]);
    }
    add_fixed(list, slwi_host_compile_after);
    if (job->toolchain->answer.family == SLWI_HOST_GCC) slwi_host_list_add(list, "-frandom-seed=slipway");
    add_prefix_maps(s, list);
    static const char *const rest[] = {"-MD", "-MF",  DEPENDENCIES,          "-MT", "kernel", "-c",
                                       "-o",  OBJECT, SLWI_HOST_SOURCE_FILE, NULL};
    add_fixed(list, rest);
}

static void link_arguments(const stage *s, slwi_host_list *list) {
    static const char *const start[] = {"-shared", "-o", SHARED_OBJECT, OBJECT, NULL};
    add_fixed(list, start);
    slwi_host_list_add_all(list, &s->job->options.link);
    add_fixed(list, slwi_host_link_arguments);
}

/* ---- running ---- */

static slw_code failed(stage *s, slw_bytes words, int status) {
    slwi_buffer renamed;
    slwi_host_place place;
    slw_error *err = s->err;
    slwi_buffer_init(&renamed, &s->job->allocator, (size_t)2 * SLW_LIMIT_DIAGNOSTICS_BYTES);
    slwi_host_words_rename(words, s->job->name, &renamed);
    if (!renamed.failed) words = (slw_bytes){renamed.data != NULL ? renamed.data : "", renamed.size};
    slwi_error_diagnostics(err, words.data, words.size);
    slwi_error_raw(err, "exit status", status);
    slw_code rc;
    if (slwi_host_words_place(words, &place)) {
        if (place.file.size != 0) {
            char *path = slwi_strndup(&s->job->allocator, place.file.data, place.file.size);
            if (path != NULL) slwi_error_path(err, path);
            slwi_free(&s->job->allocator, path);
            slwi_error_place(err, place.line, place.column, UINT64_MAX);
        }
        rc = slwi_fail(err, SLW_E_COMPILE_FAILED, "COMPILER", "%.*s",
                       (int)(place.message.size > 400 ? 400 : place.message.size), (const char *)place.message.data);
    } else {
        rc = slwi_fail(err, SLW_E_COMPILE_FAILED, "COMPILER", "the compiler ended with status %d and said nothing",
                       status);
    }
    slwi_buffer_free(&renamed);
    return rc;
}

static slw_code run_driver(stage *s, const slwi_host_list *arguments) {
    slwi_buffer words;
    int status = 0;
    slw_code rc = slwi_host_list_status(arguments, s->err);
    if (rc != SLW_OK) return rc;
    slwi_buffer_init(&words, &s->job->allocator, SLW_LIMIT_DIAGNOSTICS_BYTES);
    slwi_host_run run = {arguments, s->work, s->temporary, s->context->deadline_ns, s->context->cancel, &words};
    rc = slwi_host_run_driver(s->job->toolchain, &run, &status, s->err);
    if (rc == SLW_OK && status != 0)
        rc = failed(s, (slw_bytes){words.data != NULL ? words.data : "", words.size}, status);
    slwi_buffer_free(&words);
    return rc;
}

/* What the compiler read, kept for the confirmation: its list goes with the working directory. */
static slw_code keep_dependencies(stage *s) {
    slwi_buffer text;
    char path[SLWI_HOST_PATH_MAX];
    slwi_buffer_init(&text, &s->job->allocator, SLWI_HOST_DEPFILE_BYTES_MAX);
    slwi_host_list_free(&s->job->dependencies);
    slw_code rc = slwi_host_join(path, s->work, DEPENDENCIES)
                      ? slwi_read_file(path, &text, s->err)
                      : slwi_fail(s->err, SLW_E_LIMIT, "PATH_TOO_LONG", "too long");
    if (rc == SLW_OK &&
        !slwi_host_depfile_parse((slw_bytes){text.data != NULL ? text.data : "", text.size}, &s->job->dependencies)) {
        rc = slwi_host_list_status(&s->job->dependencies, s->err);
        if (rc == SLW_OK) {
            rc = slwi_fail(s->err, SLW_E_COMPILE_FAILED, "DEPENDENCIES",
                           "the compiler's list of what it read is not understood");
        }
    }
    s->job->compiled = rc == SLW_OK;
    slwi_buffer_free(&text);
    return rc;
}

/* The mode is ours, not the umask's; a driver that made nothing is found out here. */
static slw_code finish_output(stage *s, const char *name, unsigned mode) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    int fd = slwi_open_regular(os, s->build_fd, name, 0, &stat);
    if (fd == -ENOENT)
        return slwi_fail(s->err, SLW_E_COMPILE_FAILED, "NO_OUTPUT", "the compiler succeeded and made no %s", name);
    if (fd < 0) return storage(s, fd, name, "the compiler's output cannot be opened");
    int status = os->fchmod(os, fd, mode);
    (void)os->close(os, fd);
    return status < 0 ? storage(s, status, name, "the mode of the compiler's output cannot be set") : SLW_OK;
}

static slw_code run_object(stage *s) {
    slwi_host_list arguments;
    slwi_host_list_init(&arguments, &s->job->allocator);
    slw_code rc = write_source(s);
    if (rc == SLW_OK) rc = write_header(s);
    if (rc == SLW_OK) {
        compile_arguments(s, &arguments);
        rc = run_driver(s, &arguments);
    }
    if (rc == SLW_OK) rc = keep_dependencies(s);
    if (rc == SLW_OK) rc = finish_output(s, slwi_host_stages[SLWI_HOST_STAGE_OBJECT].payload, OBJECT_MODE);
    slwi_host_list_free(&arguments);
    return rc;
}

static slw_code run_shared_object(stage *s) {
    slwi_host_list arguments;
    slwi_host_list_init(&arguments, &s->job->allocator);
    link_arguments(s, &arguments);
    slw_code rc = run_driver(s, &arguments);
    if (rc == SLW_OK)
        rc = finish_output(s, slwi_host_stages[SLWI_HOST_STAGE_SHARED_OBJECT].payload, SHARED_OBJECT_MODE);
    slwi_host_list_free(&arguments);
    return rc;
}

static slw_code write_override(stage *s, size_t index) {
    const slwi_host_job *job = s->job;
    const char *name = slwi_host_stages[index].payload;
    const slwi_os *os = slwi_os_get();
    int status = os->unlinkat(os, s->build_fd, name, 0);
    if (status < 0 && status != -ENOENT) return storage(s, status, name, "an earlier output cannot be removed");
    slw_code rc = write_file(s, s->build_fd, name, job->override_bytes.data, job->override_bytes.size);
    if (rc == SLW_OK) rc = finish_output(s, name, index == SLWI_HOST_STAGE_OBJECT ? OBJECT_MODE : SHARED_OBJECT_MODE);
    return rc;
}

/* Closes what is open and removes what was made for the children; the first failure, for left-overs would be
   published. */
static int close_work(stage *s) {
    const slwi_os *os = slwi_os_get();
    int status = 0;
    if (s->work_fd >= 0) (void)os->close(os, s->work_fd);
    if (s->root_fd >= 0) {
        if (s->private_name[0] != '\0') status = slwi_remove_tree(os, s->root_fd, s->private_name);
        (void)os->close(os, s->root_fd);
    }
    int removed = slwi_remove_tree(os, s->build_fd, WORK);
    return status < 0 ? status : removed;
}

static slw_code run_in_work(stage *s, size_t index) {
    slw_code rc = open_work(s);
    if (rc == SLW_OK) rc = index == SLWI_HOST_STAGE_OBJECT ? run_object(s) : run_shared_object(s);
    int removed = close_work(s);
    if (removed < 0 && rc == SLW_OK) rc = storage(s, removed, WORK, "the compiler's directory cannot be removed");
    return rc;
}

slw_code slwi_host_job_run(void *opaque, size_t index, const slw_stage_context *context, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    slw_code rc;
    if (index >= SLWI_HOST_STAGE_COUNT) return slwi_fail(err, SLW_E_USAGE, "BAD_STAGE", "there is no such stage");
    slwi_host_job *job = opaque;
    stage *s = slwi_alloc_zero(&job->allocator, sizeof(*s));
    if (s == NULL) return slwi_fail_memory(err, sizeof(*s));
    s->job = job;
    s->context = context;
    s->err = err;
    s->work_fd = -1;
    s->root_fd = -1;
    s->build_fd = slwi_open_directory(os, AT_FDCWD, context->directory, 1, &stat);
    if (s->build_fd < 0) {
        rc = storage(s, s->build_fd, context->directory, "the build directory cannot be opened");
    } else {
        rc = job->override_stage == (int)index ? write_override(s, index) : run_in_work(s, index);
        (void)os->close(os, s->build_fd);
    }
    slwi_free(&job->allocator, s);
    return rc;
}

/* ---- confirmation ---- */

static slw_code outside(const char *path, slw_error *err) {
    slwi_error_path(err, path);
    slwi_error_hint(err, "declare the directory as an include root");
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "HEADER_OUTSIDE",
                     "the compiler read %.300s, which is not in the key", path);
}

slw_code slwi_host_job_confirm(void *opaque, const slw_stage_context *context, slw_error *err) {
    slwi_host_job *job = opaque;
    slwi_host_list roots;
    slwi_host_list own;
    char work[SLWI_HOST_PATH_MAX];
    if (!job->compiled) return SLW_OK; /* the object was given */
    slwi_host_list_init(&roots, &job->allocator);
    slwi_host_list_init(&own, &job->allocator);
    slwi_host_list_add_all(&roots, &job->roots);
    slwi_host_list_add_all(&roots, &job->toolchain->answer.facts[SLWI_FACT_INCLUDE]);
    slwi_host_list_add(&own, SLWI_HOST_SOURCE_FILE);
    slwi_host_list_add(&own, "include/" SLWI_HOST_KERNEL_INCLUDE);
    slw_code rc = slwi_host_list_status(&roots, err);
    if (rc == SLW_OK) rc = slwi_host_list_status(&own, err);
    if (rc == SLW_OK && !slwi_host_join(work, context->directory, WORK)) {
        rc = slwi_fail(err, SLW_E_LIMIT, "PATH_TOO_LONG", "the path of the build directory is too long");
    }
    for (size_t i = 0; rc == SLW_OK && i < job->dependencies.count; i++) {
        const char *dependency = job->dependencies.items[i];
        if (!slwi_host_dependency_inside(dependency, work, &roots, &own)) rc = outside(dependency, err);
    }
    slwi_host_list_free(&roots);
    slwi_host_list_free(&own);
    return rc;
}
