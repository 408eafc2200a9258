/* The memo object, for memo*.c alone. */
#ifndef SLWI_MEMO_STATE_H
#define SLWI_MEMO_STATE_H

#include <pthread.h>

#include "memo.h"
#include "memo_table.h"

#define SLWI_MEMO_TAG        0x4d4c5753u /* "SWLM" */
#define SLWI_MEMO_FILE_NAME  "identity.memo"
#define SLWI_MEMO_CLOCK_NAME "identity.clock" /* written to, to read the file system's own clock */
#define SLWI_MEMO_LOCK_NAME  "identity.lock"

struct slw_memo {
    uint32_t tag;
    int read_only;
    slw_allocator allocator;
    pthread_mutex_t lock; /* guards all below */
    int directory_fd;     /* -1: absent, and read_only */
    slwi_stat directory;
    slwi_stat loaded; /* the memo file that was loaded; ino 0: none */
    slwi_memo_table table;
    int dirty;
    int has_boot; /* without a boot id nothing is known and nothing recorded */
    uint8_t boot[16];
    int64_t clock_ns; /* what the memo directory's file system last said, and when (monotonic); 0: not asked yet */
    uint64_t clock_read_at_ns;
    uint32_t wall_s; /* the wall clock, asked once; only for used_s */
};

/* Where a file lies, for this memo. */
slwi_memo_place slwi_memo_place_of(const slw_memo *memo, const slwi_stat *stat, const slwi_volume *volume);
/* As used_s wants it. */
uint32_t slwi_memo_now_s(const slwi_os *os);

/* Fills an empty table from the memo file; *out tells which file that was (ino 0: none, or a damaged or untrusted
   one, which counts as none). 0, or -ENOMEM. */
int slwi_memo_load(const slw_memo *memo, slwi_memo_table *table, slwi_stat *out);
/* Writes the table, joined with what others have written since it was loaded. A failure loses only speed. */
void slwi_memo_save(slw_memo *memo);

#endif
