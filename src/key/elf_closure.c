#include "elf_closure.h"

#include <string.h>

#include "elf_closure_search.h"
#include "fail.h"
#include "file.h"
#include "memory.h"

#define CACHE_PATH      "/etc/ld.so.cache"
#define CACHE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define PRELOAD_PATH    "/etc/ld.so.preload"
#define SMALL_BYTES_MAX 65536u
#define MUSL_DIRS       "/lib:/usr/local/lib:/usr/lib"

/* Loaded already under this name? The loader compares what was asked for, and what a library calls itself. */
static int is_loaded(const slwi_closure *closure, const char *name) {
    for (size_t i = 1; i < closure->count; i++) {
        const slwi_closure_member *member = &closure->members[i];
        if (strcmp(member->name, name) == 0) return 1;
        if (member->elf->soname != NULL && strcmp(member->elf->soname, name) == 0) return 1;
    }
    return 0;
}

/* Under musl the C library, the loader and the names of its parts are one file, which is a member as the
   interpreter. */
static int is_musl_itself(const char *name) {
    static const char *const parts[] = {"c", "pthread", "rt", "m", "dl", "util", "xnet", NULL};
    if (strncmp(name, "ld-musl-", 8) == 0) return 1;
    if (strncmp(name, "lib", 3) != 0) return 0;
    for (const char *const *part = parts; *part != NULL; part++) {
        const size_t size = strlen(*part);
        if (strncmp(name + 3, *part, size) == 0 && name[3 + size] == '.') return 1;
    }
    return 0;
}

static slw_code load(slwi_closure_work *work, size_t asker, const char *name, slw_error *err) {
    int found = 0;
    if (is_loaded(work->closure, name) || (work->musl && is_musl_itself(name))) return SLW_OK;
    const slw_code rc = slwi_closure_find(work, asker, name, &found, err);
    if (rc != SLW_OK || found) return rc;
    return slwi_gather_fail(work->gather, err, work->closure->members[asker].found, "its library %s was not found",
                            name);
}

/* Libraries in the loader's order: the program's own first, then those of each library in turn. */
static slw_code load_all(slwi_closure_work *work, slw_error *err) {
    slw_code rc = SLW_OK;
    for (size_t at = 0; rc == SLW_OK && at < work->closure->count; at++) {
        const slwi_elf *elf = work->closure->members[at].elf;
        if (elf->refused != NULL) {
            rc = slwi_gather_fail(work->gather, err, work->closure->members[at].found, "%s", elf->refused);
        }
        for (size_t i = 0; rc == SLW_OK && i < elf->needed_count; i++) rc = load(work, at, elf->needed[i], err);
    }
    return rc;
}

/* A small file of the loader's own configuration; nothing in `out` where there is none. *ok 0: put down as a failure.
 */
static slw_code read_small(slwi_closure_work *work, const char *path, size_t limit, slwi_buffer *out, int *ok,
                           slw_error *err) {
    slw_error why = SLW_ERROR_INIT;
    *ok = 1;
    slwi_buffer_init(out, &work->gather->allocator, limit);
    const slw_code rc = slwi_read_file(path, out, &why);
    if (rc == SLW_OK) return rc;
    slwi_buffer_free(out);
    if (rc == SLW_E_NO_MEMORY) return slwi_fail_memory(err, limit);
    if (rc == SLW_E_STORAGE && slwi_gather_means_absent((int)why.raw_code)) return SLW_OK;
    *ok = 0;
    return slwi_gather_fail(work->gather, err, path, "cannot be read (%s)", why.message);
}

static slw_code open_cache(slwi_closure_work *work, slw_error *err) {
    slwi_gather *gather = work->gather;
    int ok = 0;
    if (!gather->ld_cache_read) {
        const slw_code rc = read_small(work, CACHE_PATH, CACHE_BYTES_MAX, &gather->ld_cache, &ok, err);
        if (rc != SLW_OK || !ok) return rc;
        gather->ld_cache_read = 1;
    }
    const slw_bytes file = {gather->ld_cache.data, gather->ld_cache.size};
    if (file.size == 0 || !slwi_ldcache_open(file, &work->cache)) work->cache.count = 0;
    return SLW_OK;
}

/* What /etc/ld.so.preload lists is mapped into every program: the list and its libraries are members. */
static slw_code load_preloads(slwi_closure_work *work, slw_error *err) {
    slwi_buffer text;
    int ok = 0;
    slw_code rc = read_small(work, PRELOAD_PATH, SMALL_BYTES_MAX, &text, &ok, err);
    char *at = text.data;
    while (rc == SLW_OK && at != NULL && *at != 0) {
        at += strspn(at, " \t\n:");
        const size_t size = strcspn(at, " \t\n:");
        if (size == 0) break;
        const int last = at[size] == 0;
        at[size] = 0;
        rc = load(work, 0, at, err);
        at += last ? size : size + 1;
    }
    slwi_buffer_free(&text);
    return rc;
}

/* "/etc/ld-musl-x86_64.path" for "/lib/ld-musl-x86_64.so.1"; its lines or colons separate directories. */
static slw_code read_musl_dirs(slwi_closure_work *work, slw_error *err) {
    char path[SLWI_PATH_BYTES] = "/etc/";
    slwi_buffer text;
    const char *base = strrchr(work->interpreter, '/') + 1;
    const size_t size = strcspn(base, ".");
    work->musl_dirs = MUSL_DIRS;
    if (size + 11 >= sizeof path) return SLW_OK;
    memcpy(path + 5, base, size);
    memcpy(path + 5 + size, ".path", 6);
    int ok = 0;
    slw_code rc = read_small(work, path, SMALL_BYTES_MAX, &text, &ok, err);
    if (rc == SLW_OK && text.size > 0) {
        char *dirs = slwi_arena_copy(&work->gather->arena, text.data, text.size);
        if (dirs == NULL) rc = slwi_fail_memory(err, text.size + 1);
        if (dirs != NULL) {
            for (char *c = dirs; *c != 0; c++) if (*c == '\n') *c = ':';
            size_t end = strlen(dirs);
            while (end > 0 && dirs[end - 1] == ':') dirs[--end] = 0;
            work->musl_dirs = dirs;
        }
    }
    slwi_buffer_free(&text);
    return rc;
}

static slw_code add_interpreter(slwi_closure_work *work, slw_error *err) {
    const char *path = work->interpreter;
    int added = 0;
    if (path[0] != '/') {
        return slwi_gather_fail(work->gather, err, work->closure->members[0].found, "its interpreter \"%s\" is no path",
                                path);
    }
    const slw_code rc = slwi_closure_try(work, 0, path, path, &added, err);
    if (rc != SLW_OK || added) return rc;
    return slwi_gather_fail(work->gather, err, work->closure->members[0].found, "its interpreter %s was not found",
                            path);
}

static slw_code load_dynamic(slwi_closure_work *work, slw_error *err) {
    const slwi_elf *elf = work->closure->members[0].elf;
    const char *base = elf->interpreter == NULL ? "" : strrchr(elf->interpreter, '/');
    slw_code rc = SLW_OK;
    work->interpreter = elf->interpreter;
    work->musl = base != NULL && strncmp(base, "/ld-musl-", 9) == 0;
    if (work->interpreter != NULL) rc = add_interpreter(work, err);
    if (rc == SLW_OK && work->musl) rc = read_musl_dirs(work, err);
    if (rc == SLW_OK && !work->musl) rc = open_cache(work, err);
    if (rc == SLW_OK && work->interpreter != NULL && !work->musl) rc = load_preloads(work, err);
    return rc == SLW_OK ? load_all(work, err) : rc;
}

slw_code slwi_closure_of(slwi_gather *gather, const char *path, slwi_closure *out, slw_error *err) {
    slwi_closure_work work = {.gather = gather, .closure = out};
    slwi_closure_member program = {.name = path, .found = path};
    memset(out, 0, sizeof *out);
    out->allocator = &gather->allocator;
    slw_code rc = slwi_gather_path(gather, path, &program.seen, err);
    if (rc == SLW_OK && program.seen != NULL) rc = slwi_elf_read(gather, program.seen, &program.elf, err);
    if (rc != SLW_OK || program.elf == NULL) return rc;
    program.found = slwi_arena_copy(&gather->arena, path, strlen(path));
    out->members = slwi_alloc_array(out->allocator, 32, sizeof *out->members);
    if (program.found == NULL || out->members == NULL) return slwi_fail_memory(err, 32 * sizeof *out->members);
    program.name = program.found;
    out->capacity = 32;
    out->members[out->count++] = program;
    work.machine = program.elf->machine;
    return load_dynamic(&work, err);
}

void slwi_closure_free(slwi_closure *closure) {
    slwi_free(closure->allocator, closure->members);
    closure->members = NULL;
    closure->count = 0;
}
