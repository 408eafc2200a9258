#include "identity_snapshot.h"

#include <fcntl.h>

#include "file.h"
#include "tree.h"

static int fact_holds(const slwi_os *os, const slwi_fact *fact) {
    slwi_stat now;
    const int follow = fact->kind == SLWI_FACT_LEADS_TO || fact->kind == SLWI_FACT_ABSENT;
    const int r = os->fstatat(os, AT_FDCWD, fact->path, follow, &now);
    if (fact->kind == SLWI_FACT_ABSENT) return r < 0 && slwi_gather_means_absent(-r);
    if (r < 0) return 0;
    switch (fact->kind) {
    case SLWI_FACT_LEADS_TO:
        return slwi_same_file(&now, &fact->stat);
    case SLWI_FACT_UNCHANGED:
        return slwi_unchanged(&now, &fact->stat);
    case SLWI_FACT_NAMES:
        /* A directory changes also when a name that does not count comes or goes (__pycache__): then the names
           decide. */
        return slwi_unchanged(&now, &fact->stat) || slwi_tree_names_differ(fact) == 0;
    case SLWI_FACT_ABSENT:
        break;
    }
    return 0;
}

const char *slwi_snapshot_changed(const slwi_gather *gather) {
    const slwi_os *os = slwi_os_get();
    for (const slwi_seen *seen = gather->first_seen; seen != NULL; seen = seen->next) {
        slwi_stat now;
        if (seen->ahead) continue; /* it was gone before it was walked */
        if (os->fstatat(os, AT_FDCWD, seen->named.path, 0, &now) < 0 || !slwi_unchanged(&now, &seen->stat)) {
            return seen->named.path;
        }
    }
    for (const slwi_fact *fact = gather->first_fact; fact != NULL; fact = fact->next) {
        if (!fact_holds(os, fact)) return fact->path;
    }
    return NULL;
}
