#include "nvrtc.h"

#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "os.h"
#include "tool_find.h"

#if defined(__x86_64__)
#define TARGET_DIRECTORY "targets/x86_64-linux"
#define TARGET_LIBRARIES "targets/x86_64-linux/lib"
#define USUAL_TARGET     "/usr/local/cuda/targets/x86_64-linux/lib"
#define SYSTEM_LIBRARIES "/usr/lib/x86_64-linux-gnu"
#else
#define TARGET_DIRECTORY "targets/sbsa-linux"
#define TARGET_LIBRARIES "targets/sbsa-linux/lib"
#define USUAL_TARGET     "/usr/local/cuda/targets/sbsa-linux/lib"
#define SYSTEM_LIBRARIES "/usr/lib/aarch64-linux-gnu"
#endif

int slwi_nvrtc_is_driver(const char *path) {
    return strcmp(slwi_tool_base_name(path), SLWI_NVRTC_DRIVER) == 0;
}

/* ---- the library ---- */

/* N of "libnvrtc.so.N"; 0 for any other name, also for variants ("libnvrtc.alt.so.13") and minor versions. */
static uint32_t major_of(const char *name) {
    static const char start[] = "libnvrtc.so.";
    uint32_t major = 0;
    if (strncmp(name, start, sizeof(start) - 1) != 0) return 0;
    const char *at = name + sizeof(start) - 1;
    for (int digits = 0; *at >= '0' && *at <= '9' && digits < 6; at++, digits++)
        major = major * 10 + (uint32_t)(*at - '0');
    return *at == '\0' ? major : 0;
}

/* 1 with the path of the newest there. */
static int newest_in(const char *directory, char *out) {
    const slwi_os *os = slwi_os_get();
    slwi_dir dir;
    slwi_dirent entry;
    uint32_t newest = 0;
    char path[SLWI_TOOL_PATH_MAX];
    memset(&dir, 0, sizeof(dir));
    dir.fd = os->openat(os, AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir.fd < 0) return 0;
    while (os->readdir(os, &dir, &entry) == 1) {
        const uint32_t major = major_of(entry.name);
        if (major > newest && slwi_tool_join(path, directory, entry.name) && os->realpath(os, path, out) == 0)
            newest = major;
    }
    os->closedir(os, &dir);
    (void)os->close(os, dir.fd);
    return newest != 0;
}

slw_code slwi_nvrtc_find_library(const slw_allocator *allocator, const char *tool, char *out, slw_error *err) {
    static const char *const beside[] = {"../lib64", "../lib", "../" TARGET_LIBRARIES, NULL};
    static const char *const usual[] = {
        "/usr/local/cuda/lib64", "/usr/local/cuda/lib", USUAL_TARGET, SYSTEM_LIBRARIES, "/usr/lib64", "/usr/lib", NULL};
    slwi_tool_list directories;
    char directory[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    slwi_tool_list_init(&directories, allocator);
    for (size_t i = 0; tool != NULL && tool[0] == '/' && beside[i] != NULL; i++) {
        if (slwi_tool_directory(directory, tool) && slwi_tool_join(path, directory, beside[i]))
            slwi_tool_list_add(&directories, path);
    }
    for (size_t i = 0; usual[i] != NULL; i++) slwi_tool_list_add(&directories, usual[i]);
    slw_code rc = slwi_tool_list_status(&directories, err);
    int found = 0;
    for (size_t i = 0; rc == SLW_OK && !found && i < directories.count; i++) {
        found = newest_in(directories.items[i], out);
        if (!found) slwi_error_tried(err, directories.items[i]);
    }
    slwi_tool_list_free(&directories);
    if (rc != SLW_OK || found) return rc;
    slwi_error_hint(err, "install NVRTC (libnvrtc and libnvrtc-builtins of the CUDA toolkit)");
    return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_LIBRARY", "no libnvrtc.so was found");
}

/* ---- what lies around it ---- */

int slwi_nvrtc_find_assembler(const char *library, char *out) {
    static const char *const places[] = {"../bin/ptxas", "../../../bin/ptxas", NULL};
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    for (size_t i = 0; places[i] != NULL; i++) {
        if (slwi_tool_directory(directory, library) && slwi_tool_join(path, directory, places[i]) &&
            os->realpath(os, path, out) == 0 && slwi_tool_is_program(out))
            return 1;
    }
    return 0;
}

void slwi_nvrtc_includes(const char *library, slwi_tool_list *out) {
    static const char *const places[] = {"include", "include/cccl", TARGET_DIRECTORY "/include",
                                         TARGET_DIRECTORY "/include/cccl", NULL};
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    char top[SLWI_TOOL_PATH_MAX];
    char path[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    if (!slwi_tool_directory(directory, library) || !slwi_tool_directory(top, directory)) return;
    for (size_t i = 0; places[i] != NULL; i++) {
        if (!slwi_tool_join(path, top, places[i])) continue;
        slwi_tool_list_add_once(out, os->realpath(os, path, resolved) == 0 ? resolved : path);
    }
}

/* ---- the source ---- */

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* A name that lies in one of the roots whatever it is: relative, and with no step upwards. */
static int is_tame(const char *at, const char *end) {
    if (at == end || (*at != '"' && *at != '<')) return 0; /* a macro */
    const char close = *at == '"' ? '"' : '>';
    const char *name = ++at;
    while (at < end && *at != close && *at != '\n') at++;
    if (at == end || *at != close || name[0] == '/') return 0;
    for (const char *step = name; at - step >= 2; step++) {
        if (step[0] == '.' && step[1] == '.') return 0;
    }
    return 1;
}

static int includes_are_tame(slw_bytes text) {
    const char *at = text.data;
    const char *end = at + text.size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        const char *word = skip_blanks(at, stop);
        if (word < stop && *word == '#') {
            word = skip_blanks(word + 1, stop);
            if (stop - word >= 7 && memcmp(word, "include", 7) == 0) {
                word += 7;
                if (stop - word >= 5 && memcmp(word, "_next", 5) == 0) return 0;
                if (!is_tame(skip_blanks(word, stop), stop)) return 0;
            }
        }
        at = stop < end ? stop + 1 : end;
    }
    return 1;
}

const char *slwi_nvrtc_source_reason(slw_bytes text, size_t include_roots) {
    if (include_roots != 0) return "SOURCE has include roots, and NVRTC does not list what it read";
    if (text.size != 0 && !includes_are_tame(text))
        return "SOURCE includes by a path, and NVRTC does not list what it read";
    return NULL;
}
