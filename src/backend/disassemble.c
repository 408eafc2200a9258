/* Machine code as text, by the vendor's tool. The tool is looked for when it is asked for and not before; it runs in an
 * environment made for it, on a copy of the image in a directory of its own, which is removed whatever happens. */
#include "disassemble.h"

#include <fcntl.h>
#include <slipway/limits.h>
#include <stdio.h>
#include <string.h>

#include "amdgcn_read.h"
#include "bundle_read.h"
#include "clock.h"
#include "cubin_read.h"
#include "fail.h"
#include "fatbin_read.h"
#include "file.h"
#include "hex.h"
#include "memory.h"
#include "process.h"
#include "ptx_scan.h"

#define TIMEOUT_NS 60000000000ull
#define INPUT      "image.bin"

static slw_code check_options(const slw_disassemble_options *options, slw_error *err) {
    if (options != NULL && options->size != sizeof(*options)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "the options are of another version");
    }
    if (options != NULL && options->temporary != NULL && options->temporary[0] != '/') {
        return slwi_fail(err, SLW_E_USAGE, "NOT_ABSOLUTE", "the directory for temporary files is no absolute path");
    }
    return SLW_OK;
}

/* ---- what the image is ---- */

static slw_code unsupported(slw_error *err, const char *reason, const char *what) {
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, reason, "%s", what);
}

static slw_code kind_of(slw_bytes image, slw_image_kind *kind, slw_error *err) {
    if (slwi_cubin_recognises(image)) {
        *kind = SLW_IMAGE_CUBIN;
        return SLW_OK;
    }
    if (slwi_amdgcn_recognises(image)) {
        *kind = SLW_IMAGE_HSACO;
        return SLW_OK;
    }
    if (slwi_fatbin_recognises(image) || slwi_bundle_recognises(image) || slwi_bundle_recognises_compressed(image)) {
        slwi_error_hint(err, "give one of its images; slw_inspect says where they lie");
        return unsupported(err, "SEVERAL_IMAGES", "a container of images has no machine code of its own");
    }
    if (slwi_ptx_recognises(image)) return unsupported(err, "PTX", "PTX is text already and no machine code yet");
    return unsupported(err, "NO_MACHINE_CODE", "neither a cubin nor an amdgcn code object");
}

/* ---- the tool's input, in a directory of ours ---- */

typedef struct job {
    slw_allocator allocator;
    const slw_disassemble_options *options;
    slwi_disassembler tool;
    slw_bytes image;
    int root_fd, work_fd;
    char name[40]; /* of the directory in the root; "": not made */
    char path[SLWI_TOOL_PATH_MAX];
    slw_error *err;
} job;

static slw_code storage(const job *j, int status, const char *what) {
    return slwi_fail_os(j->err, SLW_E_STORAGE, NULL, -status, j->path, "%s", what);
}

static slw_code open_work(job *j, const char *root) {
    const slwi_os *os = slwi_os_get();
    uint8_t noise[12];
    slwi_stat stat;
    (void)snprintf(j->path, sizeof(j->path), "%s", root);
    int status = os->random(os, noise, sizeof(noise));
    if (status < 0) return storage(j, status, "there is no randomness");
    j->root_fd = slwi_open_directory(os, AT_FDCWD, root, 1, &stat);
    if (j->root_fd < 0) return storage(j, j->root_fd, "the directory for temporary files cannot be opened");
    char name[sizeof(j->name)] = "slipway-";
    slwi_hex_encode(noise, sizeof(noise), name + 8);
    name[8 + 2 * sizeof(noise)] = '\0';
    if (snprintf(j->path, sizeof(j->path), "%s/%s", root, name) >= (int)sizeof(j->path)) {
        return slwi_fail(j->err, SLW_E_LIMIT, "PATH_TOO_LONG", "the directory for temporary files has too long a path");
    }
    status = os->mkdirat(os, j->root_fd, name, 0700);
    if (status < 0) return storage(j, status, "a private directory cannot be made");
    memcpy(j->name, name, sizeof(name));
    j->work_fd = slwi_open_directory(os, j->root_fd, name, 0, &stat);
    if (j->work_fd < 0) return storage(j, j->work_fd, "the private directory cannot be opened");
    if (stat.uid != os->euid(os) || (stat.mode & 0077u) != 0) {
        return slwi_fail(j->err, SLW_E_STORAGE, "UNTRUSTED", "the private directory is not what was made");
    }
    return SLW_OK;
}

static slw_code write_input(const job *j) {
    const slwi_os *os = slwi_os_get();
    const int fd = os->openat(os, j->work_fd, INPUT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return storage(j, fd, "the image cannot be written for the tool");
    int status = slwi_write_all(os, fd, j->image.data, j->image.size);
    const int closed = os->close(os, fd);
    if (status >= 0) status = closed;
    return status < 0 ? storage(j, status, "the image cannot be written for the tool") : SLW_OK;
}

/* Where it cannot be removed, that is said beside what went wrong before, and is no failure by itself. */
static void close_work(job *j, slw_code rc) {
    const slwi_os *os = slwi_os_get();
    if (j->work_fd >= 0) (void)os->close(os, j->work_fd);
    const int status = j->name[0] != '\0' ? slwi_remove_tree(os, j->root_fd, j->name) : 0;
    if (status < 0 && rc != SLW_OK) (void)storage(j, status, "the private directory cannot be removed");
    if (j->root_fd >= 0) (void)os->close(os, j->root_fd);
}

/* ---- running it ---- */

static slw_code tool_failed(const job *j, int exit_status, const slwi_buffer *output) {
    if (output->size != 0) slwi_error_diagnostics(j->err, output->data, output->size);
    slwi_error_path(j->err, j->tool.path);
    slwi_error_raw(j->err, NULL, exit_status);
    slwi_error_hint(j->err, "an image newer than the tool needs a newer tool");
    return slwi_fail(j->err, SLW_E_COMPILE_FAILED, "TOOL_FAILED", "%s ended with status %d", j->tool.path, exit_status);
}

static slw_code judge(const job *j, int exit_status, slwi_buffer *output, slw_text *text) {
    slw_code rc = output->failed == SLW_E_NO_MEMORY ? slwi_buffer_status(output, j->err) : SLW_OK;
    if (rc != SLW_OK) return rc;
    if (exit_status != 0) return tool_failed(j, exit_status, output);
    if (output->size >= SLW_LIMIT_DISASSEMBLY_BYTES) {
        slwi_error_amount(j->err, "disassembly", output->size, SLW_LIMIT_DISASSEMBLY_BYTES, "bytes");
        return slwi_fail(j->err, SLW_E_LIMIT, "TOO_LARGE", "the disassembly is too large");
    }
    return slwi_buffer_take(output, text, j->err);
}

static slw_code run_tool(const job *j, slw_text *text) {
    char path_variable[SLWI_TOOL_PATH_MAX + 32];
    char temporary_variable[SLWI_TOOL_PATH_MAX + 32];
    char input[SLWI_TOOL_PATH_MAX + 32];
    char directory[SLWI_TOOL_PATH_MAX];
    const char *argv[4] = {j->tool.path, j->tool.argument, input, NULL};
    const char *envp[4] = {path_variable, temporary_variable, "LC_ALL=C", NULL};
    (void)snprintf(directory, sizeof(directory), "%s", j->tool.path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) *slash = '\0';
    /* cuobjdump starts nvdisasm, which stands beside it. */
    (void)snprintf(path_variable, sizeof(path_variable), "PATH=%s:/usr/bin:/bin", directory);
    (void)snprintf(temporary_variable, sizeof(temporary_variable), "TMPDIR=%s", j->path);
    (void)snprintf(input, sizeof(input), "%s/%s", j->path, INPUT);

    slwi_buffer output;
    slwi_process process;
    int exit_status = 0;
    slwi_buffer_init(&output, &j->allocator, SLW_LIMIT_DISASSEMBLY_BYTES);
    memset(&process, 0, sizeof(process));
    process.program = j->tool.path;
    process.argv = argv;
    process.envp = envp;
    process.directory = j->path;
    process.deadline_ns = slwi_deadline_ns(j->options != NULL ? j->options->timeout_ns : 0, TIMEOUT_NS);
    process.cancel = j->options != NULL ? j->options->cancel : NULL;
    process.output = &output;
    slw_code rc = slwi_process_run(&process, &exit_status, j->err);
    if (rc == SLW_OK) rc = judge(j, exit_status, &output, text);
    slwi_buffer_free(&output);
    return rc;
}

slw_code slw_disassemble(const slw_disassemble_options *options, slw_bytes image, slw_text *text, slw_error *err) {
    slwi_error_reset(err);
    if (text == NULL || (image.data == NULL && image.size != 0)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_disassemble needs an image and a place for its text");
    }
    static const char nothing[1] = "";
    job j;
    memset(&j, 0, sizeof(j));
    j.options = options;
    j.image = (slw_bytes){image.data != NULL ? image.data : nothing, image.size};
    j.root_fd = j.work_fd = -1;
    j.err = err;
    slw_image_kind kind = SLW_IMAGE_UNKNOWN;
    slw_code rc = check_options(options, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(options != NULL ? &options->allocator : NULL, &j.allocator, err);
    if (rc == SLW_OK) rc = kind_of(j.image, &kind, err);
    if (rc == SLW_OK) rc = slwi_disassembler_find(options, kind, &j.tool, err);
    if (rc != SLW_OK) return rc;
    slw_text made = SLW_TEXT_INIT;
    rc = open_work(&j, options != NULL && options->temporary != NULL ? options->temporary : "/tmp");
    if (rc == SLW_OK) rc = write_input(&j);
    if (rc == SLW_OK) rc = run_tool(&j, &made);
    close_work(&j, rc);
    if (rc == SLW_OK) *text = made;
    return rc;
}

slw_code slw_disassembler_find(const slw_disassemble_options *options, slw_image_kind kind, slw_text *path,
                               slw_error *err) {
    slwi_error_reset(err);
    if (path == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "path is NULL");
    slwi_disassembler tool;
    slw_allocator allocator;
    slw_code rc = check_options(options, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(options != NULL ? &options->allocator : NULL, &allocator, err);
    if (rc == SLW_OK) rc = slwi_disassembler_find(options, kind, &tool, err);
    if (rc != SLW_OK) return rc;
    const size_t size = strlen(tool.path);
    char *copy = slwi_strndup(&allocator, tool.path, size);
    if (copy == NULL) return slwi_fail_memory(err, size + 1);
    *path = (slw_text){copy, size, allocator};
    return SLW_OK;
}
