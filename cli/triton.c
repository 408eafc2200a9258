/* An entry of a Triton cache: X.json, and X.cubin or X.hsaco beside it. */
#include "run_input.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GROUP_PREFIX "__grp__"
#define METADATA_END ".json"

static slw_code no_memory(slw_error *err) {
    err->code = SLW_E_NO_MEMORY;
    snprintf(err->message, sizeof err->message, "no memory for a name");
    return err->code;
}

static slw_code no_entry(slw_error *err, const char *reason, const char *path, const char *message, const char *hint) {
    err->code = SLW_E_INVALID_SOURCE;
    err->reason = reason;
    err->hint = hint;
    snprintf(err->subject, sizeof err->subject, "%s", path);
    snprintf(err->message, sizeof err->message, "%s", message);
    return err->code;
}

/* A whole line or none: half a name would be looked for. */
static void add_tried(slw_error *err, const char *name) {
    const size_t used = strlen(err->tried);
    if (used + strlen(name) + 2 > sizeof err->tried) return;
    snprintf(err->tried + used, sizeof err->tried - used, "%s%s", used != 0 ? "\n" : "", name);
}

static int has_end(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int is_group(const char *path) {
    const char *slash = strrchr(path, '/');
    return strncmp(slash != NULL ? slash + 1 : path, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0;
}

static int is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* "a/X.json" with another end, malloc'ed; NULL without memory. */
static char *beside(const char *metadata, const char *end) {
    char *out = NULL;
    const int stem = (int)(strlen(metadata) - strlen(METADATA_END));
    return asprintf(&out, "%.*s%s", stem, metadata, end) < 0 ? NULL : out;
}

/* How many binaries stand beside the metadata; `out` is the last of them. */
static int find_binary(const char *metadata, char **out, slw_error *err) {
    static const char *const ends[] = {".cubin", ".hsaco"};
    int found = 0;
    *out = NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *path = beside(metadata, ends[i]);
        if (path == NULL) {
            free(*out);
            *out = NULL;
            (void)no_memory(err);
            return -1;
        }
        add_tried(err, path);
        if (!is_file(path)) {
            free(path);
            continue;
        }
        free(*out);
        *out = path;
        found++;
    }
    return found;
}

static slw_code find_of_metadata(const char *path, char **binary, char **metadata, slw_error *err) {
    if (is_group(path))
        return no_entry(err, "GROUP_FILE", path, "a group file only lists paths of the machine that compiled",
                        "name the X.json beside it");
    slw_error seen = SLW_ERROR_INIT;
    char *found = NULL;
    const int count = is_file(path) ? find_binary(path, &found, &seen) : 0;
    if (count == 1) *metadata = strdup(path);
    if (count == 1 && *metadata != NULL) {
        *binary = found;
        return SLW_OK;
    }
    free(found);
    if (count < 0 || count == 1) return no_memory(err);
    snprintf(err->tried, sizeof err->tried, "%s", seen.tried);
    if (!is_file(path)) return no_entry(err, "NOT_FOUND", path, "there is no such file", NULL);
    if (count == 0)
        return no_entry(err, "NO_BINARY", path, "beside the metadata there is no binary of its name",
                        "Triton writes X.json and X.cubin or X.hsaco into one folder");
    return no_entry(err, "SEVERAL_BINARIES", path, "beside the metadata there are a cubin and an hsaco of its name",
                    "leave the one that it describes");
}

static int is_metadata(const struct dirent *entry) {
    return has_end(entry->d_name, METADATA_END) && !is_group(entry->d_name);
}

/* Of the folder's JSON files the one with a binary: an autotuner's timings have none. */
static slw_code choose(const char *folder, struct dirent **list, int count, char **chosen, slw_error *err) {
    slw_error entries = SLW_ERROR_INIT, others = SLW_ERROR_INIT;
    int found = 0;
    for (int i = 0; i < count; i++) {
        slw_error ignored = SLW_ERROR_INIT;
        char *path = NULL, *binary = NULL;
        if (asprintf(&path, "%s/%s", folder, list[i]->d_name) < 0) return no_memory(err);
        const int binaries = find_binary(path, &binary, &ignored);
        free(binary);
        add_tried(binaries > 0 ? &entries : &others, path);
        if (binaries > 0 && found++ == 0)
            *chosen = path;
        else
            free(path);
        if (binaries < 0) return no_memory(err);
    }
    if (found == 1) return SLW_OK;
    snprintf(err->tried, sizeof err->tried, "%s", found == 0 ? others.tried : entries.tried);
    if (found == 0)
        return no_entry(err, "NO_ENTRY", folder, "no X.json with X.cubin or X.hsaco beside it in this folder", NULL);
    return no_entry(err, "SEVERAL_ENTRIES", folder, "several entries in this folder", "name one X.json");
}

static slw_code find_of_folder(const char *folder, char **binary, char **metadata, slw_error *err) {
    struct dirent **list = NULL;
    char *chosen = NULL;
    const int count = scandir(folder, &list, is_metadata, alphasort);
    if (count < 0) return no_entry(err, "NOT_READABLE", folder, strerror(errno), NULL);
    slw_code code = choose(folder, list, count, &chosen, err);
    for (int i = 0; i < count; i++) free(list[i]);
    free(list);
    if (code == SLW_OK && chosen != NULL) code = find_of_metadata(chosen, binary, metadata, err);
    free(chosen);
    return code;
}

slw_code triton_find(const char *file, char **binary, char **metadata, slw_error *err) {
    struct stat st;
    if (stat(file, &st) == 0 && S_ISDIR(st.st_mode)) return find_of_folder(file, binary, metadata, err);
    if (has_end(file, METADATA_END)) return find_of_metadata(file, binary, metadata, err);
    *binary = strdup(file);
    return *binary != NULL ? SLW_OK : no_memory(err);
}
