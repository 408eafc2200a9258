/* Gathering: what an identity (or one digested tree) has looked at. Files by their resolved path, each read once;
 * the facts beside them that must still hold when it is asked "did anything change?"; and what could not be read,
 * all of it.
 *
 * Every function gives SLW_OK, or NO_MEMORY. What the world is at fault for is no error here: it is put down with
 * slwi_gather_fail and the output says that there is none. One thread at a time. */
#ifndef SLWI_IDENTITY_GATHER_H
#define SLWI_IDENTITY_GATHER_H

#include <slipway/identity.h>

#include "buffer.h"
#include "identity_arena.h"
#include "identity_table.h"
#include "memo.h"
#include "os.h"

#define SLWI_PATH_BYTES 4096u /* with the NUL: what the system takes */

struct slwi_elf; /* elf_closure_file.h */

/* A file whose content is in the identity. */
typedef struct slwi_seen {
    slwi_named named; /* by resolved path */
    struct slwi_seen *next;
    slwi_stat stat;
    slw_digest sha256;
    const struct slwi_elf *elf; /* once read */
    int ahead; /* read ahead, and not looked at since: that is what makes it one of the files */
} slwi_seen;

/* A directory of seen files. */
typedef struct slwi_home {
    slwi_named named;  /* by resolved path; "" for the root of the file system */
    slwi_named *loose; /* those of its files that are not indexed, through `chain` */
    int indexed;       /* one of its files was looked for: all of them are indexed, and those that come will be */
} slwi_home;

/* Another path of a seen file. */
typedef struct slwi_alias {
    slwi_named named; /* by the path it was asked for */
    slwi_seen *seen;
} slwi_alias;

/* A directory, resolved once. */
typedef struct slwi_folder {
    slwi_named named;
    const char *resolved; /* NULL: there is no such directory */
    int error;            /* an errno, when that could not be told */
    size_t resolved_size;
    int hwcaps;        /* a glibc-hwcaps directory is in it: 1 yes, 0 no, -1 not asked */
    int absence_noted; /* that it is absent was made a fact */
} slwi_folder;

typedef enum slwi_fact_kind {
    SLWI_FACT_LEADS_TO,  /* this path leads to that file or directory (dev, ino) */
    SLWI_FACT_UNCHANGED, /* the whole stat identity: a file whose content is not in the identity */
    SLWI_FACT_NAMES,     /* a directory holds exactly these names */
    SLWI_FACT_ABSENT
} slwi_fact_kind;

typedef struct slwi_fact {
    struct slwi_fact *next;
    slwi_fact_kind kind;
    const char *path;
    slwi_stat stat;
    uint64_t names_count; /* of SLWI_FACT_NAMES: how many, and the sum of their hashes */
    uint64_t names_sum;
    int settled; /* of SLWI_FACT_NAMES: the same stat identity tells the same names (memo_tree.h) */
} slwi_fact;

typedef struct slwi_failure {
    struct slwi_failure *next;
    const void *owner; /* the component, for its identity */
    const char *reason;
} slwi_failure;

typedef struct slwi_gather {
    slw_allocator allocator;
    slw_memo *memo; /* borrowed; NULL: every file is read */
    slwi_arena arena;
    slwi_table homes, files, aliases, folders; /* of the files, those of indexed homes */
    slwi_seen *first_seen, **last_seen;
    slwi_fact *first_fact, **last_fact;
    slwi_failure *first_failure, **last_failure;
    size_t failure_count;
    const void *owner; /* of the failures that come */
    slwi_volume volumes[32];
    size_t volume_count;
    unsigned char *chunk; /* for reading; allocated at first use */
    slwi_buffer ld_cache; /* /etc/ld.so.cache */
    int ld_cache_read;
    slw_identity_cost cost;
} slwi_gather;

void slwi_gather_init(slwi_gather *gather, const slw_allocator *allocator, slw_memo *memo);
/* Nothing more will be looked at: frees what only looking needs. */
void slwi_gather_finish(slwi_gather *gather);
void slwi_gather_free(slwi_gather *gather);

/* "PATH: why" against the owner. Always SLW_OK or NO_MEMORY. */
slw_code slwi_gather_fail(slwi_gather *gather, slw_error *err, const char *path, const char *format, ...)
    SLW_PRINTF(4, 5);
slw_code slwi_gather_fail_os(slwi_gather *gather, slw_error *err, const char *path, int error_number);
/* Failures put down since `mark` are taken back: the call that made them ran out of memory and may be repeated. */
typedef struct slwi_gather_mark {
    slwi_failure **last;
    size_t count;
} slwi_gather_mark;
slwi_gather_mark slwi_gather_mark_get(const slwi_gather *gather);
void slwi_gather_mark_return(slwi_gather *gather, slwi_gather_mark mark);

/* Joins a relative path to the current directory without touching its "..". *ok 0: put down as a failure. */
slw_code slwi_gather_absolute(slwi_gather *gather, const char *path, char out[SLWI_PATH_BYTES], int *ok,
                              slw_error *err);

/* 1 for the errors that say, to a loader as to us, that there is nothing: others say that it could not be told. */
int slwi_gather_means_absent(int error_number);

/* A directory by an absolute path. */
slw_code slwi_gather_folder(slwi_gather *gather, const char *path, size_t size, slwi_folder **out, slw_error *err);

/* Where an absolute path leads: its resolved path and what is there. *error is 0 or an errno; nothing is put down. */
slw_code slwi_gather_resolve(slwi_gather *gather, const char *path, char resolved[SLWI_PATH_BYTES], slwi_stat *stat,
                             int *error, slw_error *err);

/* What the device of an open file or directory is, asked once. NULL: not known, or too many to keep. */
const slwi_volume *slwi_gather_volume(slwi_gather *gather, int fd, const slwi_stat *stat);

/* A file whose resolved path and stat are known, found under `name` in `directory` (AT_FDCWD with the resolved path
   where no descriptor is at hand). *out NULL: put down as a failure. `home` is its directory's. */
slw_code slwi_gather_file(slwi_gather *gather, slwi_home *home, int directory, const char *name, const char *resolved,
                          const slwi_stat *stat, slwi_seen **out, slw_error *err);
/* The same with its digest known already; the file was not seen before. */
slw_code slwi_gather_add(slwi_gather *gather, slwi_home *home, const char *resolved, const slwi_stat *stat,
                         const slw_digest *digest, slwi_seen **out, slw_error *err);
/* The home of a directory that is about to be walked: while it is not indexed, each of its files is new. */
slw_code slwi_gather_enter(slwi_gather *gather, const char *resolved, slwi_home **out, slw_error *err);
/* The home of one file; it is indexed. */
slw_code slwi_gather_home(slwi_gather *gather, const char *resolved, slwi_home **out, slw_error *err);
/* The seen file of this path; *out NULL: there is none. */
slw_code slwi_gather_find(slwi_gather *gather, const char *resolved, slwi_seen **out, slw_error *err);
/* A file by an absolute path; where that is not its resolved path, that it leads there becomes a fact. */
slw_code slwi_gather_path(slwi_gather *gather, const char *path, slwi_seen **out, slw_error *err);

/* Adds a fact; the names are to be filled in by the caller. *out may be NULL. */
slw_code slwi_gather_fact(slwi_gather *gather, slwi_fact_kind kind, const char *path, const slwi_stat *stat,
                          slwi_fact **out, slw_error *err);
/* That there is nothing at `path`. */
slw_code slwi_gather_absent(slwi_gather *gather, const char *path, slw_error *err);

#endif
