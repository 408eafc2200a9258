/* inspect: what is in a binary or a PTX text, and what of it would not run on a device. No driver is asked. */
#include "inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static slw_code bad_file(slw_error *err, slw_code code, const char *reason, const char *path, const char *what) {
    err->code = code;
    err->reason = reason;
    snprintf(err->path, sizeof err->path, "%s", path);
    snprintf(err->message, sizeof err->message, "%s", what);
    return code;
}

static slw_code system_said(slw_error *err, const char *path, int number) {
    static const struct {
        int number;
        const char *name;
    } known[] = {{ENOENT, "ENOENT"}, {EACCES, "EACCES"}, {EPERM, "EPERM"},   {ENOTDIR, "ENOTDIR"},
                 {ELOOP, "ELOOP"},   {EISDIR, "EISDIR"}, {EMFILE, "EMFILE"}, {ENAMETOOLONG, "ENAMETOOLONG"},
                 {EIO, "EIO"},       {ENXIO, "ENXIO"}};
    err->raw_code = number;
    err->present |= SLW_ERROR_HAS_RAW_CODE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number) snprintf(err->raw_name, sizeof err->raw_name, "%s", known[i].name);
    (void)bad_file(err, SLW_E_STORAGE, NULL, path, "");
    snprintf(err->message, sizeof err->message, "the file cannot be read: %s", strerror(number));
    return SLW_E_STORAGE;
}

static slw_code read_open(int fd, const char *path, char **out, size_t *size, slw_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return system_said(err, path, errno);
    if (!S_ISREG(st.st_mode))
        return bad_file(err, SLW_E_INVALID_SOURCE, "NOT_A_FILE", path,
                        S_ISDIR(st.st_mode) ? "this is a directory" : "this is no regular file");
    if (st.st_size > (off_t)SLW_LIMIT_BINARY_BYTES) {
        err->resource = "file size";
        err->unit = "bytes";
        err->required = (uint64_t)st.st_size;
        err->limit = SLW_LIMIT_BINARY_BYTES;
        err->present |= SLW_ERROR_HAS_REQUIRED | SLW_ERROR_HAS_LIMIT;
        return bad_file(err, SLW_E_LIMIT, "TOO_LARGE", path, "the file is too large");
    }
    const size_t wanted = (size_t)st.st_size;
    size_t used = 0;
    char *data = malloc(wanted + 1);
    if (data == NULL) return bad_file(err, SLW_E_NO_MEMORY, NULL, path, "no memory for the file");
    while (used < wanted) {
        const ssize_t n = read(fd, data + used, wanted - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int number = errno;
            free(data);
            return system_said(err, path, number);
        }
        if (n == 0) break; /* it has become shorter meanwhile: what is there is what is read */
        used += (size_t)n;
    }
    *out = data;
    *size = used;
    return SLW_OK;
}

/* A fifo with nobody at its other end must not stop us. */
static slw_code read_regular(const char *path, char **out, size_t *size, slw_error *err) {
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return system_said(err, path, errno);
    const slw_code code = read_open(fd, path, out, size, err);
    close(fd);
    return code;
}

/* ---- what fits ---- */

verdict inspect_judge_kernel(const inspect_run *run, const slw_image *image, const slw_kernel_contract *kernel,
                             slw_error *why) {
    if (run->device == NULL || image->contract == NULL) return FITS_UNKNOWN;
    return slw_preflight(image->contract, kernel, run->device, NULL, why) == SLW_OK ? FITS_YES : FITS_NO;
}

/* Of an image that was not read, what its container says of it is enough to ask for whom it is. */
static verdict runs(const inspect_run *run, const slw_image *image, slw_error *why) {
    slw_contract named;
    memset(&named, 0, sizeof named);
    named.schema = SLW_CONTRACT_SCHEMA;
    named.backend = image->kind == SLW_IMAGE_HSACO ? "hip" : image->kind == SLW_IMAGE_HOST ? "host" : "cuda";
    named.target = image->target;
    named.launch_binary = "";
    named.kind = image->kind;
    named.isa_version = image->isa_version;
    if (run->device == NULL || image->error != NULL || (image->target == NULL && image->contract == NULL))
        return FITS_UNKNOWN;
    const slw_contract *contract = image->contract != NULL ? image->contract : &named;
    return slw_preflight(contract, NULL, run->device, NULL, why) == SLW_OK ? FITS_YES : FITS_NO;
}

verdict inspect_judge_image(const inspect_run *run, const slw_image *image, slw_error *why) {
    const verdict on_device = runs(run, image, why);
    if (on_device != FITS_YES) return on_device;
    if (image->contract == NULL) return FITS_UNKNOWN;
    for (uint32_t i = 0; i < image->contract->kernel_count; i++)
        if (inspect_judge_kernel(run, image, &image->contract->kernels[i], why) != FITS_YES) return FITS_NO;
    return FITS_YES;
}

/* A program linked with the run-time's own empty images has containers with nothing to launch. */
static int is_empty(const slw_image *image) {
    return image->error != NULL && image->error->reason != NULL && strcmp(image->error->reason, "NO_ENTRY") == 0;
}

/* The image that is loaded of the container that begins at image `first`; *next is the next container's first. 0: none
   runs there. *empty: nothing in the container could be launched anyway. */
static int chosen_image(const inspect_run *run, const slw_inspection *inspection, size_t first, size_t *next,
                        slw_image *chosen, int *empty) {
    slw_image image = SLW_IMAGE_INIT;
    uint32_t best = 0, container = 0;
    *empty = 1;
    for (*next = first; slw_inspection_image(inspection, *next, &image); (*next)++) {
        if (*next == first) container = image.container;
        if (image.container != container) break;
        const uint32_t rank = slw_image_rank(&image, run->device->target);
        if (rank > best) *chosen = image;
        if (rank > best) best = rank;
        if (!is_empty(&image)) *empty = 0;
    }
    return best != 0;
}

/* Each container is a module of its own, and of each the image counts that a device would load. */
verdict inspect_judge_file(const inspect_run *run, const inspect_file *file) {
    if (run->device == NULL || file->inspection == NULL) return FITS_UNKNOWN;
    verdict whole = FITS_YES;
    size_t next = 0, judged = 0;
    for (size_t at = 0; at < slw_inspection_count(file->inspection); at = next) {
        slw_image image = SLW_IMAGE_INIT;
        slw_error why = SLW_ERROR_INIT;
        int empty = 0;
        const int any = chosen_image(run, file->inspection, at, &next, &image, &empty);
        if (empty) continue;
        judged++;
        if (!any || image.error != NULL) return FITS_NO;
        const verdict it = inspect_judge_image(run, &image, &why);
        if (it == FITS_NO) return FITS_NO;
        if (it == FITS_UNKNOWN) whole = FITS_UNKNOWN;
    }
    return judged != 0 ? whole : FITS_NO;
}

int inspect_knows_registers(const slw_image *image, const slw_kernel_contract *kernel) {
    return image->kind == SLW_IMAGE_HSACO || (image->kind == SLW_IMAGE_CUBIN && kernel->registers != 0);
}

int inspect_knows_local(const slw_image *image) {
    return image->kind == SLW_IMAGE_HSACO || image->kind == SLW_IMAGE_CUBIN;
}

int inspect_knows_shared(const slw_image *image) {
    return image->kind != SLW_IMAGE_PTX;
}

const char *inspect_grid_unit(slw_grid_unit unit) {
    static const char *const names[] = {"blocks", "clusters", "programs_by_ctas"};
    return (uint32_t)unit < sizeof names / sizeof *names ? names[unit] : NULL;
}

/* ---- the run ---- */

/* A file that is one image has no error but the image's. */
static const slw_error *error_of_whole(const slw_inspection *inspection) {
    slw_image image = SLW_IMAGE_INIT;
    switch (slw_inspection_format(inspection)) {
    case SLW_FORMAT_PTX:
    case SLW_FORMAT_CUBIN:
    case SLW_FORMAT_HSACO:
    case SLW_FORMAT_HOST:
        return slw_inspection_image(inspection, 0, &image) ? image.error : NULL;
    default:
        return NULL;
    }
}

static slw_code inspect_one(inspect_run *run, const char *path, slw_error *err) {
    inspect_file file = {path, {"", 0}, NULL, NULL, FITS_UNKNOWN};
    slw_error own = SLW_ERROR_INIT;
    slw_inspect_options how = SLW_INSPECT_OPTIONS_INIT;
    char *data = NULL;
    size_t size = 0;
    how.name = path;
    slw_code code = read_regular(path, &data, &size, &own);
    if (code == SLW_OK) {
        file.bytes = (slw_bytes){data, size};
        code = slw_inspect(&how, file.bytes, &file.inspection, &own);
        if (code != SLW_OK && own.path[0] == '\0') snprintf(own.path, sizeof own.path, "%s", path);
    }
    file.error = code != SLW_OK ? &own : error_of_whole(file.inspection);
    file.fits = inspect_judge_file(run, &file);
    if (file.error != NULL || file.fits == FITS_NO) run->bad = 1;
    code = run->options->json ? inspect_put_file(run, &file, err) : inspect_print_file(run, &file, err);
    slw_inspection_discard(&file.inspection);
    free(data);
    return code;
}

static slw_code describe_device(inspect_run *run, slw_error *err) {
    slw_device *device = NULL;
    slw_code code = cli_open_device(run->options, &device, err);
    if (code == SLW_OK) code = slw_device_describe(device, &run->device_info, err);
    slw_device_close(&device);
    return code;
}

static slw_code prepare(inspect_run *run, slw_error *err) {
    const cli_options *o = run->options;
    if (o->entry != NULL && !o->sass) return cli_usage(err, "BAD_OPTION", "--entry needs --sass here");
    if (o->target != NULL && o->device != NULL)
        return cli_usage(err, "BAD_OPTION", "--target and --device exclude each other");
    if (o->driver_library != NULL && o->device == NULL)
        return cli_usage(err, "BAD_OPTION", "--driver-library needs --device here");
    if (o->target == NULL && o->device == NULL) return SLW_OK;
    run->device = &run->device_info;
    return o->target != NULL ? slw_device_known(o->target, &run->device_info, err) : describe_device(run, err);
}

/* --sass that found nothing to show is a failure, not an empty answer. */
static slw_code check_sass(const inspect_run *run, slw_error *err) {
    if (!run->options->sass || run->bad) return SLW_OK;
    if (run->options->entry != NULL && run->entries_found == 0) {
        err->code = SLW_E_MISS;
        err->reason = "NO_KERNEL";
        snprintf(err->subject, sizeof err->subject, "%s", run->options->entry);
        snprintf(err->message, sizeof err->message, "no machine code of a kernel of that name");
        return err->code;
    }
    if (run->images_disassembled != 0) return SLW_OK;
    err->code = SLW_E_UNSUPPORTED_INPUT;
    err->reason = "NO_MACHINE_CODE";
    snprintf(err->message, sizeof err->message, "no image here holds machine code that a tool could show");
    return err->code;
}

int verb_inspect(const cli_options *options, slw_error *err) {
    static inspect_run run;
    run.options = options;
    run.device_info = (slw_device_info)SLW_DEVICE_INFO_INIT;
    slw_code code = prepare(&run, err);
    if (code != SLW_OK) return cli_fail(options, err);
    if (options->json && put_open(&run.json) != 0) return 3;
    if (options->json && run.device != NULL) put_text(&run.json, "target", run.device->target);
    if (options->json) put_array(&run.json, "files");
    for (size_t i = 0; code == SLW_OK && i < options->files.count; i++)
        code = inspect_one(&run, options->files.items[i], err);
    if (code == SLW_OK) code = check_sass(&run, err);
    if (code != SLW_OK) {
        if (options->json) put_drop(&run.json);
        fflush(stdout);
        return cli_fail(options, err);
    }
    if (options->json) {
        put_end(&run.json, ']');
        const int status = put_close(&run.json);
        if (status != 0) return status;
    } else if (fflush(stdout) != 0) {
        return 4;
    }
    return run.bad;
}
