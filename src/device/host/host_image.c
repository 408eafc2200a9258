/* Verified bytes become a loaded library under a name that nothing else in this process has or will have.
 *
 * The loader knows libraries by name: asked for /proc/self/fd/7 again, it answers with what it loaded under that name
 * before, whatever lies there now (pitfall 2).  So every image has a sealed memfd of its own, whose descriptor keeps
 * its number taken until the loader says that the library is gone; a descriptor that somebody else closed behind our
 * back is noticed both when its number comes again and when we would close it.  Where there is no memfd, a file of a
 * random name does the same. */
#include "host_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "hex.h"

#define DIRECTORY_MODE    0700u
#define FILE_MODE         0600u
#define TAKEN_NUMBERS_MAX 64

typedef enum verdict {
    LOADED,
    IMAGE_AT_FAULT,
    REFUSED, /* by the system: another way may do */
    NO_MEMORY,
    NO_LOADER, /* a static program without one */
    OTHER
} verdict;

/* What a failed attempt leaves for the record. */
typedef struct attempt {
    verdict verdict;
    int error_number; /* of a system call; 0: the loader spoke */
    const char *step; /* static */
    char why[256];
} attempt;

/* ---- The loader's words ---------------------------------------------------------------------------------- */

static int says(const char *why, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strstr(why, *words) != NULL) return 1;
    }
    return 0;
}

/* The loader has no codes. An image is blamed only for words that can mean nothing else: blame is remembered. */
static verdict judge(const char *why, const char *name) {
    static const char *const memory[] = {"annot allocate memory", "Out of memory", NULL};
    static const char *const image[] = {"undefined symbol",   "symbol not found",        "invalid ELF header",
                                        "wrong ELF class",    "file too short",          "ELF file",
                                        "ELF load command",   "Exec format error",       "Not a valid dynamic program",
                                        "object file has no", "cannot dynamically load", NULL};
    static const char *const refused[] = {"failed to map segment", "Operation not permitted", "Permission denied",
                                          NULL};
    static const char *const loader[] = {"Dynamic loading not supported", NULL};
    if (says(why, memory)) return NO_MEMORY;
    if (says(why, loader)) return NO_LOADER;
    if (says(why, image)) return IMAGE_AT_FAULT;
    if (says(why, refused)) return REFUSED;
    /* Our own file cannot be opened under its name: no /proc here. A library it needs would be named instead. */
    if (strstr(why, "annot open shared object") != NULL && strncmp(why, name, strlen(name)) == 0) return REFUSED;
    return OTHER;
}

static verdict load(slwi_host_image *image, attempt *out) {
    const slwi_os *os = slwi_os_get();
    image->library = os->dl_open(os, image->name, out->why);
    out->error_number = 0;
    out->step = "loading the image";
    out->verdict = image->library != NULL ? LOADED : judge(out->why, image->name);
    return out->verdict;
}

static verdict failed(attempt *out, int error_number, const char *step) {
    out->error_number = error_number;
    out->step = step;
    out->why[0] = '\0';
    out->verdict = error_number == ENOMEM                                                    ? NO_MEMORY
                   : error_number == EMFILE || error_number == ENFILE || error_number == EIO ? OTHER
                                                                                             : REFUSED;
    return out->verdict;
}

static int is_loaded(const slwi_os *os, const char *name) {
    void *const library = os->dl_loaded(os, name);
    if (library != NULL) (void)os->dl_close(os, library);
    return library != NULL;
}

/* ---- A sealed memfd -------------------------------------------------------------------------------------- */

/* A new memfd whose /proc name the loader does not know. Numbers that it does know (somebody closed our descriptor) are
   held until another is found. */
static int fresh_descriptor(const slwi_os *os, char name[80]) {
    int taken[TAKEN_NUMBERS_MAX];
    int count = 0;
    int fd = -EMFILE;
    while (count < TAKEN_NUMBERS_MAX) {
        fd = os->memfd(os, "slipway-kernel");
        if (fd < 0) break;
        (void)snprintf(name, 80, "/proc/self/fd/%d", fd);
        if (!is_loaded(os, name)) break;
        taken[count++] = fd;
        fd = -EMFILE;
    }
    while (count > 0) (void)os->close(os, taken[--count]);
    return fd;
}

static verdict open_memfd(slw_bytes bytes, slwi_host_image *image, attempt *out) {
    const slwi_os *os = slwi_os_get();
    const int fd = fresh_descriptor(os, image->name);
    if (fd < 0) return failed(out, -fd, "making memory for the image");
    image->descriptor = fd;
    const char *step = "writing the image";
    int answer = slwi_write_all(os, fd, bytes.data, bytes.size);
    if (answer == 0) {
        step = "sealing the image";
        answer = os->memfd_seal(os, fd);
    }
    if (answer == 0) answer = os->fstat(os, fd, &image->identity);
    const verdict result = answer < 0 ? failed(out, -answer, step) : load(image, out);
    if (result != LOADED) (void)os->close(os, fd);
    return result;
}

/* ---- A file ---------------------------------------------------------------------------------------------- */

/* Writes the image as `file` in the new directory `directory` and loads it; both are removed again in any case: what is
   loaded does not need them, and their random name is never used again. */
static verdict open_in(const char *directory, slw_bytes bytes, slwi_host_image *image, attempt *out) {
    const slwi_os *os = slwi_os_get();
    int answer = os->mkdirat(os, AT_FDCWD, directory, DIRECTORY_MODE);
    if (answer < 0) return failed(out, -answer, "making a directory for the image");
    verdict result = REFUSED;
    const int fd = os->openat(os, AT_FDCWD, image->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
    if (fd < 0) {
        result = failed(out, -fd, "making a file for the image");
    } else {
        answer = slwi_write_all(os, fd, bytes.data, bytes.size);
        const int closed = os->close(os, fd);
        if (answer == 0) answer = closed;
        result = answer < 0 ? failed(out, -answer, "writing the image") : load(image, out);
        (void)os->unlinkat(os, AT_FDCWD, image->name, 0);
    }
    (void)os->unlinkat(os, AT_FDCWD, directory, 1);
    return result;
}

static verdict open_file(slw_bytes bytes, slwi_host_image *image, attempt *out) {
    static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp"};
    const slwi_os *os = slwi_os_get();
    verdict result = REFUSED;
    image->descriptor = -1;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && result == REFUSED; i++) {
        unsigned char random[12];
        char digits[sizeof random * 2u + 1u];
        const int answer = os->random(os, random, sizeof random);
        if (answer < 0) return failed(out, -answer, "choosing a name for the image");
        slwi_hex_encode(random, sizeof random, digits);
        digits[sizeof digits - 1u] = '\0';
        char directory[64];
        (void)snprintf(directory, sizeof directory, "%s/slipway-%s", places[i], digits);
        (void)snprintf(image->name, sizeof image->name, "%s/k", directory);
        result = open_in(directory, bytes, image, out);
    }
    return result;
}

/* ---- Both ways ------------------------------------------------------------------------------------------- */

static slw_code report(const attempt *last, int *at_fault, slw_error *err) {
    if (last->error_number != 0) {
        if (last->verdict == REFUSED) {
            return slwi_fail_os(err, SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", last->error_number, NULL, "%s",
                                last->step);
        }
        return slwi_fail_os(err, last->verdict == NO_MEMORY ? SLW_E_NO_MEMORY : SLW_E_DRIVER, "IMAGE",
                            last->error_number, NULL, "%s", last->step);
    }
    switch (last->verdict) {
    case IMAGE_AT_FAULT:
        *at_fault = 1;
        return slwi_fail(err, SLW_E_INVALID_BINARY, "LOADER", "the loader refuses the image: %s", last->why);
    case NO_MEMORY:
        return slwi_fail(err, SLW_E_NO_MEMORY, "LOADER", "no memory to load the image: %s", last->why);
    case NO_LOADER:
        return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_LOADER", "this program has no dynamic loader: %s", last->why);
    case REFUSED:
        slwi_error_hint(err, "Let this process map executable memory: from a memfd, or from a file in /tmp.");
        return slwi_fail(err, SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", "this system lets no image be loaded: %s",
                         last->why);
    default:
        return slwi_fail(err, SLW_E_DRIVER, "LOADER", "the image cannot be loaded here: %s", last->why);
    }
}

/* The little that has to be true before bytes are given to a loader: all else was read before. */
static slw_code check_header(slw_bytes bytes, slw_error *err) {
    const unsigned char *const data = bytes.data;
    if (bytes.size < 64u || memcmp(data, "\177ELF\2\1", 6) != 0 || data[16] != 3u || data[17] != 0u) {
        return slwi_fail(err, SLW_E_INVALID_BINARY, "NOT_ELF", "the image is no 64-bit ELF shared object");
    }
    const unsigned machine = data[18] + 256u * data[19];
    if (machine != slwi_host_machine()) {
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "MACHINE", "the image is for ELF machine %u, this is %u (%s)",
                         machine, (unsigned)slwi_host_machine(), slwi_host_target());
    }
    return SLW_OK;
}

slw_code slwi_host_image_open(slw_bytes bytes, slwi_host_image *out, int *at_fault, slw_error *err) {
    const slw_code code = check_header(bytes, err);
    if (code != SLW_OK) {
        *at_fault = 1;
        return code;
    }
    slwi_host_image image = {.descriptor = -1};
    attempt last = {.verdict = REFUSED};
    verdict result = open_memfd(bytes, &image, &last);
    if (result == REFUSED) result = open_file(bytes, &image, &last);
    if (result != LOADED) return report(&last, at_fault, err);
    *out = image;
    return SLW_OK;
}

void slwi_host_image_close(slwi_host_image *image) {
    const slwi_os *os = slwi_os_get();
    const int answer = os->dl_close(os, image->library);
    if (image->descriptor < 0) return;
    if (answer != 0 || is_loaded(os, image->name)) return; /* kept for ever */
    slwi_stat now;
    if (os->fstat(os, image->descriptor, &now) != 0 || !slwi_same_file(&now, &image->identity))
        return; /* not ours now */
    (void)os->close(os, image->descriptor);
}
