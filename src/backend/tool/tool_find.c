#include "tool_find.h"

#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "os.h"

const char slwi_tool_system_path[] = "/usr/local/bin:/usr/bin:/bin";

int slwi_tool_is_program(const char *path) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    if (os->fstatat(os, AT_FDCWD, path, 1, &stat) < 0) return 0;
    return S_ISREG(stat.mode) && (stat.mode & 0111u) != 0;
}

int slwi_tool_next_directory(const char **at, char *out) {
    while (**at != '\0') {
        const char *start = *at;
        size_t size = strcspn(start, ":");
        *at = start[size] == ':' ? start + size + 1 : start + size;
        if (size == 0 || start[0] != '/' || size + 1 > SLWI_TOOL_PATH_MAX) continue;
        memcpy(out, start, size);
        out[size] = '\0';
        return 1;
    }
    return 0;
}

/* A launcher that stands under a compiler's name starts another program, which is not the one that would be proved. The
   compiler itself comes later in the same search. */
static int is_launcher(const char *path) {
    static const char *const names[] = {"ccache", "sccache", "distcc", "icecc", NULL};
    const slwi_os *os = slwi_os_get();
    char resolved[SLWI_TOOL_PATH_MAX];
    if (os->realpath(os, path, resolved) < 0) return 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], slwi_tool_base_name(resolved)) == 0) return 1;
    }
    return 0;
}

static int try_directory(const char *directory, const char *name, char *out, slw_error *note) {
    if (!slwi_tool_join(out, directory, name)) return 0;
    if (slwi_tool_is_program(out) && !is_launcher(out)) return 1;
    if (note != NULL) slwi_error_tried(note, out);
    return 0;
}

static int find_or_note(const char *path, const char *name, char *out, slw_error *note) {
    char directory[SLWI_TOOL_PATH_MAX];
    while (slwi_tool_next_directory(&path, directory)) {
        if (try_directory(directory, name, out, note)) return 1;
    }
    return 0;
}

int slwi_tool_find_in_path(const char *path, const char *name, char *out) {
    return find_or_note(path, name, out, NULL);
}

static int search_path_for(const char *const *names, const char *path, char *found, slw_error *note) {
    for (size_t n = 0; names[n] != NULL; n++) {
        if (find_or_note(path, names[n], found, note)) return 1;
    }
    return 0;
}

static int search(const slwi_tool_wanted *wanted, const char *program, const char *search_path, char *found,
                  slw_error *note) {
    const char *const named[] = {program, NULL};
    const char *const *names = program != NULL ? named : wanted->names;
    if (search_path_for(names, search_path != NULL ? search_path : "", found, note)) return 1;
    for (size_t d = 0; wanted->more != NULL && wanted->more[d] != NULL; d++) {
        for (size_t n = 0; names[n] != NULL; n++) {
            if (try_directory(wanted->more[d], names[n], found, note)) return 1;
        }
    }
    return search_path_for(names, slwi_tool_system_path, found, note);
}

static slw_code find_path(const char *program, char *found, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    directory[0] = '\0';
    if (program[0] != '/') {
        int rc = os->getcwd(os, directory);
        if (rc < 0) return slwi_fail_os(err, SLW_E_STORAGE, NULL, -rc, program, "the working directory is not known");
    }
    if (!slwi_tool_join(found, directory, program) || !slwi_tool_is_program(found)) {
        slwi_error_tried(err, program);
        slwi_error_path(err, program);
        return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "there is no program at %s", program);
    }
    return SLW_OK;
}

slw_code slwi_tool_find(const slwi_tool_wanted *wanted, const char *program, const char *search_path, char *found,
                        char *resolved, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    if (program != NULL && program[0] == '\0') {
        return slwi_fail(err, SLW_E_USAGE, "EMPTY", "the name of the compiler is empty");
    }
    if (program != NULL && strchr(program, '/') != NULL) {
        slw_code rc = find_path(program, found, err);
        if (rc != SLW_OK) return rc;
    } else if (!search(wanted, program, search_path, found, NULL)) {
        (void)search(wanted, program, search_path, found, err);
        slwi_error_hint(err, wanted->hint);
        if (program == NULL) return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "no %s was found", wanted->what);
        slwi_error_subject(err, program, strlen(program));
        return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_COMPILER", "no compiler of the name %.128s was found", program);
    }
    int rc = os->realpath(os, found, resolved);
    if (rc < 0)
        return slwi_fail_os(err, SLW_E_TOOL_MISSING, "NO_COMPILER", -rc, found, "the compiler cannot be resolved");
    return SLW_OK;
}
