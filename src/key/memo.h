/* The memo, for the rest of slipway: digests of files by their stat identity, and what compiler drivers answered.
 * Every call may come from any thread. A NULL memo is an empty one that remembers nothing. */
#ifndef SLWI_MEMO_H
#define SLWI_MEMO_H

#include <slipway/identity.h>

#include "os.h"

#define SLWI_MEMO_RECORDS_MAX      65536u   /* files; the longest unused are dropped */
#define SLWI_MEMO_PLACES_MAX       256u     /* file systems they lie on, each boot and mount its own; likewise */
#define SLWI_MEMO_ANSWERS_MAX      256u     /* likewise */
#define SLWI_MEMO_ANSWER_BYTES_MAX 1048576u /* of one answer; a longer one is not kept */

int slwi_memo_ok(const slw_memo *memo); /* 0: not a memo, or one that was closed */

/* What a device number stands for at the moment: another mount may get the same number (pitfall 6). */
typedef struct slwi_volume {
    uint64_t dev;
    uint64_t mount_id; /* by which a file of it was first seen; 0: not known */
    slwi_fs fs;
} slwi_volume;

/* 1 and the digest when the memo knows a file with exactly this stat identity on this file system in this boot. */
int slwi_memo_get_file(slw_memo *memo, const slwi_stat *stat, const slwi_volume *volume, slw_digest *out);

/* Recording, around the reading of an open file: begin before the first byte is read, with what fstat said, end
   after the last. `begin` decides by the rules (pitfalls 6 and 7) whether this file may be recorded at all and takes
   a read lease where the file is ours; `end` must follow it, and records only when `digest` is not NULL. */
typedef struct slwi_memo_ticket {
    int allowed;
    int leased;
} slwi_memo_ticket;
slwi_memo_ticket slwi_memo_begin(slw_memo *memo, int fd, const slwi_stat *stat, const slwi_volume *volume);
void slwi_memo_end(slw_memo *memo, slwi_memo_ticket *ticket, int fd, const slwi_stat *stat, const slwi_volume *volume,
                   const slw_digest *digest);

/* What a compiler driver answered, under a key that names the driver by path and digest. The bytes are what was put
   in; that every file they name still has its digest is the caller's to check. OK, or MISS with `out` untouched;
   NO_MEMORY. */
slw_code slwi_memo_get_answer(slw_memo *memo, const slw_digest *key, slw_text *out, slw_error *err);
/* Remembers an answer, or replaces it; one that is too long or finds no memory is not remembered. */
void slwi_memo_put_answer(slw_memo *memo, const slw_digest *key, slw_bytes answer);

#endif
