/* The files that were looked at, by directory. Those of a directory are indexed by their paths only once one of them is
 * looked for: a walk comes to a directory once, knows that none of its files was seen before, and looks for none. */
#include <string.h>

#include "fail.h"
#include "identity_gather.h"
#include "memory.h"

static slw_code index_home(slwi_gather *gather, slwi_home *home, slw_error *err) {
    while (home->loose != NULL) {
        slwi_named *file = home->loose;
        if (!slwi_table_reserve(&gather->files)) return slwi_fail_memory(err, sizeof *file);
        home->loose = file->chain;
        slwi_table_add(&gather->files, file);
    }
    home->indexed = 1;
    return SLW_OK;
}

/* The home of a directory; *fresh: it is made here. */
static slw_code home_of(slwi_gather *gather, const char *path, size_t size, slwi_home **out, int *fresh,
                        slw_error *err) {
    *out = (slwi_home *)slwi_table_find(&gather->homes, path, size);
    *fresh = *out == NULL;
    if (!*fresh) return SLW_OK;
    slwi_home *home = slwi_arena_alloc(&gather->arena, sizeof *home);
    if (home == NULL || !slwi_table_reserve(&gather->homes)) return slwi_fail_memory(err, sizeof *home);
    home->named.path = slwi_arena_copy(&gather->arena, path, size);
    if (home->named.path == NULL) return slwi_fail_memory(err, size + 1);
    home->named.path_size = size;
    slwi_table_add(&gather->homes, &home->named);
    *out = home;
    return SLW_OK;
}

static size_t directory_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path);
}

slw_code slwi_gather_enter(slwi_gather *gather, const char *resolved, slwi_home **out, slw_error *err) {
    int fresh = 0;
    const slw_code rc = home_of(gather, resolved, strcmp(resolved, "/") == 0 ? 0 : strlen(resolved), out, &fresh, err);
    return rc == SLW_OK && !fresh ? index_home(gather, *out, err) : rc;
}

slw_code slwi_gather_home(slwi_gather *gather, const char *resolved, slwi_home **out, slw_error *err) {
    int fresh = 0;
    const slw_code rc = home_of(gather, resolved, directory_size(resolved), out, &fresh, err);
    return rc == SLW_OK ? index_home(gather, *out, err) : rc;
}

slw_code slwi_gather_find(slwi_gather *gather, const char *resolved, slwi_seen **out, slw_error *err) {
    *out = NULL;
    slwi_home *home = (slwi_home *)slwi_table_find(&gather->homes, resolved, directory_size(resolved));
    if (home == NULL) return SLW_OK;
    const slw_code rc = index_home(gather, home, err);
    if (rc == SLW_OK) *out = (slwi_seen *)slwi_table_find(&gather->files, resolved, strlen(resolved));
    if (*out != NULL && (*out)->ahead) *out = NULL;
    return rc;
}

slw_code slwi_gather_add(slwi_gather *gather, slwi_home *home, const char *resolved, const slwi_stat *stat,
                         const slw_digest *digest, slwi_seen **out, slw_error *err) {
    const size_t size = strlen(resolved);
    slwi_seen *seen = slwi_arena_alloc(&gather->arena, sizeof *seen + size + 1);
    if (seen == NULL || (home->indexed && !slwi_table_reserve(&gather->files)))
        return slwi_fail_memory(err, sizeof *seen);
    char *path = (char *)(seen + 1);
    memcpy(path, resolved, size + 1);
    seen->named.path = path;
    seen->named.path_size = size;
    seen->stat = *stat;
    seen->sha256 = *digest;
    if (home->indexed) {
        slwi_table_add(&gather->files, &seen->named);
    } else {
        seen->named.chain = home->loose;
        home->loose = &seen->named;
    }
    *gather->last_seen = seen;
    gather->last_seen = &seen->next;
    *out = seen;
    return SLW_OK;
}
