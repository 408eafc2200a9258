/* Which files may be recorded. A stat identity stands for bytes only where nothing can change the bytes without
 * changing it; these are the rules that make it so (pitfalls 6 and 7), judged when recording, by what was true while
 * the file was read. */
#include <errno.h>
#include <fcntl.h>

#include "file.h"
#include "memo_state.h"

#define AGE_MIN_NS     INT64_C(2000000000)
#define MARGIN_NS      INT64_C(2000000000)
#define CLOCK_FRESH_NS UINT64_C(1000000000)

/* Writes a byte into a file of the memo directory: its mtime is that file system's own "now". */
static int touch_clock(const slwi_os *os, const slw_memo *memo, int64_t *out) {
    slwi_stat stat;
    const int fd = os->openat(os, memo->directory_fd, SLWI_MEMO_CLOCK_NAME,
                              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return fd;
    int r = slwi_write_all(os, fd, "x", 1);
    if (r == 0) r = os->fstat(os, fd, &stat);
    (void)os->close(os, fd);
    if (r == 0) *out = stat.mtime_ns;
    return r;
}

/* A time not later than "now" by the clock of the file's file system. On the memo directory's own that clock is
   read. The other file systems on which anything is recorded are local too and stamp with this kernel's clock, which
   the wall clock runs ahead of by at most a tick (10 ms) and a file system's granularity (1 s on ext4 with 128-byte
   inodes): two seconds are taken off for both. A reading up to a second old is used again: an older "now" only makes
   the rule stricter. */
static int64_t file_system_now(slw_memo *memo, uint64_t dev) {
    const slwi_os *os = slwi_os_get();
    if (memo->directory_fd < 0 || memo->read_only || dev != memo->directory.dev) return os->wall_ns(os) - MARGIN_NS;
    const uint64_t now = os->now_ns(os);
    if (memo->clock_ns != 0 && now - memo->clock_read_at_ns < CLOCK_FRESH_NS) return memo->clock_ns;
    int64_t said = 0;
    if (touch_clock(os, memo, &said) != 0) return os->wall_ns(os) - MARGIN_NS;
    memo->clock_ns = said;
    memo->clock_read_at_ns = now;
    return said;
}

slwi_memo_ticket slwi_memo_begin(slw_memo *memo, int fd, const slwi_stat *stat, const slwi_volume *volume) {
    const slwi_os *os = slwi_os_get();
    slwi_memo_ticket ticket = {0, 0};
    if (memo == NULL || !memo->has_boot || !volume->fs.memo_allowed) return ticket;
    (void)pthread_mutex_lock(&memo->lock);
    const int64_t now = file_system_now(memo, stat->dev);
    (void)pthread_mutex_unlock(&memo->lock);
    if (now - AGE_MIN_NS < stat->mtime_ns || now - AGE_MIN_NS < stat->ctime_ns) return ticket;
    if (stat->uid == os->euid(os)) {
        /* Ours: somebody who may write it could have it mapped, and stores through a mapping change no time. A read
           lease is refused while anybody has it open for writing or mapped so. */
        ticket.leased = os->lease_read(os, fd) == 0;
        ticket.allowed = ticket.leased;
    } else {
        ticket.allowed = stat->uid == 0 && (stat->mode & 022) == 0;
    }
    return ticket;
}

void slwi_memo_end(slw_memo *memo, slwi_memo_ticket *ticket, int fd, const slwi_stat *stat, const slwi_volume *volume,
                   const slw_digest *digest) {
    const slwi_os *os = slwi_os_get();
    if (ticket->leased) (void)os->lease_drop(os, fd);
    if (ticket->allowed && digest != NULL) {
        const slwi_memo_place place = slwi_memo_place_of(memo, stat, volume);
        const slwi_memo_record record = {.ino = stat->ino,
                                         .size = stat->size,
                                         .mtime_ns = stat->mtime_ns,
                                         .ctime_ns = stat->ctime_ns,
                                         .used_s = slwi_memo_now_s(os),
                                         .sha256 = *digest};
        (void)pthread_mutex_lock(&memo->lock);
        if (slwi_memo_table_put(&memo->table, &place, &record)) memo->dirty = 1;
        (void)pthread_mutex_unlock(&memo->lock);
    }
    ticket->allowed = ticket->leased = 0;
}
