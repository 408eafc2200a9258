/* When an entry was last asked for: a file beside the slot, so that neither the entry nor any time stamp in it
   changes. */
#include <errno.h>
#include <fcntl.h>

#include "store_lookup.h"

#define HOUR_NS INT64_C(3600000000000)

void slwi_stamp_used(const slw_store *store, int directory, const char *name) {
    const slwi_os *os = slwi_os_get();
    if (store->read_only || !slwi_store_is_default_domain(store)) return;
    slwi_stat stat;
    const int64_t now = os->wall_ns(os);
    const int r = os->fstatat(os, directory, name, 0, &stat);
    if (r == -ENOENT) {
        const int fd = os->openat(os, directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
        if (fd >= 0) (void)os->close(os, fd);
        return;
    }
    if (r < 0 || !S_ISREG(stat.mode)) return;
    /* A stamp from the future is of a clock that was set back. */
    if (stat.mtime_ns <= now && now - stat.mtime_ns < HOUR_NS) return;
    (void)os->utime(os, directory, name, now);
}
