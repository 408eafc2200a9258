/* Where a loader looks for a library, in its order. glibc: the RPATHs up the chain of loaders unless the asker has a
 * RUNPATH; its RUNPATH; ld.so.cache; the system's directories. LD_LIBRARY_PATH is no part of it: children run in a
 * made environment. */
#include "elf_closure_search.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"

static const char *const system_dirs_x86_64[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL};
static const char *const system_dirs_aarch64[] = {
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL};
static const char *const system_dirs_other[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL};
/* The sub-directories of glibc-hwcaps; glibc knows none for aarch64. */
static const char *const choices_x86_64[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2", NULL};
static const char *const choices_other[] = {NULL};

static const char *const *system_dirs(const slwi_closure_work *work) {
    if (work->machine == SLWI_EM_X86_64) return system_dirs_x86_64;
    return work->machine == SLWI_EM_AARCH64 ? system_dirs_aarch64 : system_dirs_other;
}

static const char *const *choices(const slwi_closure_work *work) {
    return work->machine == SLWI_EM_X86_64 ? choices_x86_64 : choices_other;
}

static slw_code push_member(slwi_closure_work *work, const slwi_closure_member *member, slw_error *err) {
    slwi_closure *closure = work->closure;
    if (closure->count == SLWI_CLOSURE_MAX) {
        return slwi_gather_fail(work->gather, err, closure->members[0].found, "needs more than %u libraries",
                                SLWI_CLOSURE_MAX);
    }
    if (closure->count == closure->capacity) {
        const size_t wanted = closure->capacity == 0 ? 32 : closure->capacity * 2;
        slwi_closure_member *grown = slwi_realloc_array(closure->allocator, closure->members, wanted, sizeof *grown);
        if (grown == NULL) return slwi_fail_memory(err, wanted * sizeof *grown);
        closure->members = grown;
        closure->capacity = wanted;
    }
    closure->members[closure->count++] = *member;
    return SLW_OK;
}

/* A file that was looked at before needs not be opened to know its machine. 1, 0 or -errno. */
static int is_for_machine(slwi_closure_work *work, const char *path, const char *resolved) {
    slwi_seen *seen = NULL;
    (void)slwi_gather_find(work->gather, resolved, &seen, NULL); /* without memory it is opened */
    if (seen != NULL && seen->elf != NULL) return seen->elf->machine == work->machine;
    return slwi_elf_is_for(path, work->machine);
}

slw_code slwi_closure_try(slwi_closure_work *work, size_t asker, const char *name, const char *path, int *added,
                          slw_error *err) {
    char resolved[SLWI_PATH_BYTES];
    slwi_stat stat;
    int error = 0;
    slwi_closure_member member = {.loader = asker};
    *added = 0;
    slw_code rc = slwi_gather_resolve(work->gather, path, resolved, &stat, &error, err);
    if (rc != SLW_OK || slwi_gather_means_absent(error) || (error == 0 && !S_ISREG(stat.mode))) return rc;
    const int fits = error != 0 ? -error : is_for_machine(work, path, resolved);
    if (fits == 0) return SLW_OK;
    *added = 1; /* from here on it is this file or a failure */
    if (fits < 0) return slwi_gather_fail_os(work->gather, err, path, -fits);
    rc = slwi_gather_path(work->gather, path, &member.seen, err);
    if (rc == SLW_OK && member.seen != NULL) rc = slwi_elf_read(work->gather, member.seen, &member.elf, err);
    if (rc != SLW_OK || member.elf == NULL) return rc;
    member.name = slwi_arena_copy(&work->gather->arena, name, strlen(name));
    member.found = slwi_arena_copy(&work->gather->arena, path, strlen(path));
    if (member.name == NULL || member.found == NULL) return slwi_fail_memory(err, strlen(path));
    return push_member(work, &member, err);
}

static int join(char out[SLWI_PATH_BYTES], const char *dir, size_t dir_size, const char *middle, const char *name) {
    const size_t middle_size = strlen(middle), name_size = strlen(name);
    if (dir_size + middle_size + name_size + 2 > SLWI_PATH_BYTES) return 0;
    memcpy(out, dir, dir_size);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the name follows */
    memcpy(out + dir_size, middle, middle_size);
    out[dir_size + middle_size] = '/';
    memcpy(out + dir_size + middle_size + 1, name, name_size + 1);
    return 1;
}

/* 1, 0 or -errno. The folder is the gather's own; what is asked once about it is kept there. */
static int has_hwcaps(slwi_folder *folder) {
    const slwi_os *os = slwi_os_get();
    char path[SLWI_PATH_BYTES];
    slwi_stat stat;
    if (folder->hwcaps >= 0) return folder->hwcaps;
    if (!join(path, folder->resolved, folder->resolved_size, "", "glibc-hwcaps")) return 0;
    const int r = os->fstatat(os, AT_FDCWD, path, 1, &stat);
    if (r < 0 && !slwi_gather_means_absent(-r)) return r;
    folder->hwcaps = r >= 0;
    return folder->hwcaps;
}

/* Looks in one directory. An own directory (of an RPATH or RUNPATH) in which the library is absent is a fact: a file
   that appears there would be taken instead. */
static slw_code try_dir(slwi_closure_work *work, size_t asker, const char *name, const char *dir, size_t dir_size,
                        int is_own, int *found, slw_error *err) {
    char path[SLWI_PATH_BYTES], middle[64];
    slwi_folder *folder = NULL;
    int added = 0;
    slw_code rc = slwi_gather_folder(work->gather, dir, dir_size, &folder, err);
    if (rc == SLW_OK && folder->error != 0) {
        return slwi_gather_fail_os(work->gather, err, folder->named.path, folder->error);
    }
    if (rc == SLW_OK && folder->resolved == NULL && is_own && !folder->absence_noted) {
        folder->absence_noted = 1;
        rc = slwi_gather_absent(work->gather, folder->named.path, err);
    }
    if (rc != SLW_OK || folder->resolved == NULL) return rc;
    const int hwcaps = work->musl ? 0 : has_hwcaps(folder);
    if (hwcaps < 0) return slwi_gather_fail_os(work->gather, err, folder->named.path, -hwcaps);
    const char *const *choice = hwcaps ? choices(work) : choices_other;
    for (; rc == SLW_OK && *choice != NULL; choice++) {
        memcpy(middle, "/glibc-hwcaps/", 15);
        memcpy(middle + 14, *choice, strlen(*choice) + 1);
        if (join(path, dir, dir_size, middle, name)) rc = slwi_closure_try(work, asker, name, path, &added, err);
    }
    if (rc != SLW_OK || !join(path, dir, dir_size, "", name)) return rc;
    rc = slwi_closure_try(work, asker, name, path, found, err);
    if (rc != SLW_OK || *found || !is_own) return rc;
    return slwi_gather_absent(work->gather, path, err);
}

/* $ORIGIN at the front of what is left of a path element: its length, or 0. */
static size_t origin_token(const char *text, size_t size) {
    if (size >= 9 && memcmp(text, "${ORIGIN}", 9) == 0) return 9;
    return size >= 7 && memcmp(text, "$ORIGIN", 7) == 0 ? 7 : 0;
}

/* The directory of a member: of the program the real one, of a library the one where it was found. */
static size_t origin_of(const slwi_closure_work *work, size_t index, const char **out) {
    const slwi_closure_member *member = &work->closure->members[index];
    *out = index == 0 ? member->seen->named.path : member->found;
    return (size_t)(strrchr(*out, '/') - *out);
}

/* An element of a search path, or a name with a slash, with its tokens replaced. 0, or what is wrong with it. */
static const char *expand(const slwi_closure_work *work, size_t owner, const char *text, size_t size,
                          char out[SLWI_PATH_BYTES]) {
    const char *origin = NULL;
    const size_t origin_size = origin_of(work, owner, &origin);
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        const size_t token = text[at] == '$' ? origin_token(text + at, size - at) : 0;
        if (text[at] == '$' && token == 0) return "uses a token other than $ORIGIN";
        const size_t more = token > 0 ? origin_size : 1;
        if (used + more >= SLWI_PATH_BYTES) return "is too long";
        memcpy(out + used, token > 0 ? origin : text + at, more);
        used += more;
        at += token > 0 ? token : 1;
    }
    out[used] = 0;
    return out[0] == '/' ? NULL : "is relative to the working directory";
}

/* Looks through a colon-separated list that belongs to member `owner`. */
static slw_code try_list(slwi_closure_work *work, size_t asker, const char *name, size_t owner, const char *list,
                         int *found, slw_error *err) {
    char dir[SLWI_PATH_BYTES];
    slw_code rc = SLW_OK;
    while (rc == SLW_OK && !*found) {
        const size_t size = strcspn(list, ":");
        const char *why = expand(work, owner, list, size, dir);
        if (why != NULL) {
            const char *path = work->closure->members[owner].found;
            return slwi_gather_fail(work->gather, err, path, "its search path element \"%.*s\" %s", (int)size, list,
                                    why);
        }
        size_t dir_size = strlen(dir);
        while (dir_size > 1 && dir[dir_size - 1] == '/') dir_size--;
        rc = try_dir(work, asker, name, dir, dir_size, 1, found, err);
        if (list[size] == 0) break;
        list += size + 1;
    }
    return rc;
}

/* RPATHs count from the asker up to the program (glibc: unless the asker has a RUNPATH). */
static slw_code try_rpaths(slwi_closure_work *work, size_t asker, const char *name, int *found, slw_error *err) {
    slw_code rc = SLW_OK;
    size_t owner = asker;
    if (!work->musl && work->closure->members[asker].elf->runpath != NULL) return SLW_OK;
    for (size_t steps = 0; rc == SLW_OK && !*found && steps <= work->closure->count; steps++) {
        const slwi_closure_member *member = &work->closure->members[owner];
        const char *list = member->elf->rpath;
        if (list == NULL && work->musl) list = member->elf->runpath; /* musl makes no difference between the two */
        if (list != NULL) rc = try_list(work, asker, name, owner, list, found, err);
        const size_t next = work->closure->members[owner].loader;
        if (next == owner) break;
        owner = next;
    }
    return rc;
}

static int in_system_dirs(const slwi_closure_work *work, const char *path) {
    for (const char *const *dir = system_dirs(work); *dir != NULL; dir++) {
        const size_t size = strlen(*dir);
        if (strncmp(path, *dir, size) == 0 && path[size] == '/' && strchr(path + size + 1, '/') == NULL) return 1;
    }
    return 0;
}

static slw_code try_cache(slwi_closure_work *work, size_t asker, const char *name, int *found, slw_error *err) {
    const int no_default = work->closure->members[asker].elf->no_default;
    slwi_ldcache_entry entry;
    uint32_t at = UINT32_MAX;
    slw_code rc = SLW_OK;
    int base_tried = 0;
    while (rc == SLW_OK && work->cache.count > 0 && slwi_ldcache_next(&work->cache, name, work->machine, &at, &entry)) {
        int added = 0;
        if ((entry.hwcap == 0 && base_tried) || (no_default && in_system_dirs(work, entry.path))) continue;
        rc = slwi_closure_try(work, asker, name, entry.path, &added, err);
        if (entry.hwcap == 0) base_tried = *found = added;
    }
    return rc;
}

static slw_code find_by_name(slwi_closure_work *work, size_t asker, const char *name, int *found, slw_error *err) {
    slw_code rc = try_rpaths(work, asker, name, found, err);
    if (work->musl) {
        if (rc == SLW_OK && !*found) rc = try_list(work, asker, name, 0, work->musl_dirs, found, err);
        return rc;
    }
    const char *runpath = work->closure->members[asker].elf->runpath;
    if (rc == SLW_OK && !*found && runpath != NULL) rc = try_list(work, asker, name, asker, runpath, found, err);
    if (rc == SLW_OK && !*found) rc = try_cache(work, asker, name, found, err);
    if (work->closure->members[asker].elf->no_default) return rc;
    for (const char *const *dir = system_dirs(work); rc == SLW_OK && !*found && *dir != NULL; dir++) {
        rc = try_dir(work, asker, name, *dir, strlen(*dir), 0, found, err);
    }
    return rc;
}

slw_code slwi_closure_find(slwi_closure_work *work, size_t asker, const char *name, int *found, slw_error *err) {
    char path[SLWI_PATH_BYTES];
    *found = 0;
    if (strchr(name, '/') == NULL) return find_by_name(work, asker, name, found, err);
    const char *why = expand(work, asker, name, strlen(name), path);
    if (why == NULL) return slwi_closure_try(work, asker, name, path, found, err);
    *found = 1; /* what is wrong with it is said here */
    return slwi_gather_fail(work->gather, err, work->closure->members[asker].found, "its library \"%s\" %s", name, why);
}
