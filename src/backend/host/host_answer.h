/* What a compiler driver answered about itself: gathered once by starting it (host_discover.c), remembered as text,
 * and good only as long as every file it names has its digest and every place it found empty is still empty. */
#ifndef SLWI_HOST_ANSWER_H
#define SLWI_HOST_ANSWER_H

#include <slipway/identity.h>

#include "host_list.h"

typedef enum slwi_host_family { SLWI_HOST_UNKNOWN = 0, SLWI_HOST_GCC = 1, SLWI_HOST_CLANG = 2 } slwi_host_family;

/* The lists in the order of the text form. */
typedef enum slwi_host_fact {
    SLWI_FACT_PROGRAM,   /* cc1, collect2, as, ld, lto-wrapper: by absolute path */
    SLWI_FACT_PLUGIN,    /* libraries the linker loads */
    SLWI_FACT_FILE,      /* start files, specs, configuration files */
    SLWI_FACT_INCLUDE,   /* the compiler's own include roots in order, also those that do not exist */
    SLWI_FACT_DIRECTORY, /* -L of the link, in order */
    SLWI_FACT_LIBRARY,   /* -l of the link, without the -l */
    SLWI_FACT_SYSROOT,   /* at most one */
    SLWI_FACT_ABSENT,    /* looked for there before it was found elsewhere: must not exist */
    SLWI_FACT_LISTING,   /* "<digest of the names> <directory>": a choice was made among what lies there */
    SLWI_FACT_COUNT
} slwi_host_fact;

typedef struct slwi_host_answer {
    slwi_host_family family;
    slwi_host_list text; /* [0] the version line, [1] the target triple */
    slwi_host_list facts[SLWI_FACT_COUNT];
} slwi_host_answer;

#define SLWI_HOST_ANSWER_BYTES_MAX 1048576u

void slwi_host_answer_init(slwi_host_answer *answer, const slw_allocator *allocator);
void slwi_host_answer_free(slwi_host_answer *answer);
slw_code slwi_host_answer_status(const slwi_host_answer *answer, slw_error *err); /* OK or NO_MEMORY */
const char *slwi_host_answer_version(const slwi_host_answer *answer);
const char *slwi_host_answer_triple(const slwi_host_answer *answer);

/* The text form: one fact a line. 0 when a fact cannot be a line (it holds a line break): then it is not remembered. */
int slwi_host_answer_write(const slwi_host_answer *answer, const slw_digest *proof, slwi_buffer *out);
/* 1, or 0 for anything but what write wrote. */
int slwi_host_answer_read(slw_bytes text, slwi_host_answer *answer, slw_digest *proof);

/* The digest of a directory's names, sorted; a directory that cannot be read has one of its own. */
slw_code slwi_host_listing_digest(const slw_allocator *allocator, const char *directory, slw_digest *out,
                                  slw_error *err);
/* Adds a listing fact with the digest of now. */
slw_code slwi_host_answer_watch(slwi_host_answer *answer, const char *directory, slw_error *err);

/* 1 when what must be absent is absent and every listing is as it was. Starts nothing. */
int slwi_host_answer_holds(const slwi_host_answer *answer, const slw_allocator *allocator);
/* One digest over the content of every file the answer names (and of the driver), by memo or by reading. MISS when
   one cannot be read. */
slw_code slwi_host_answer_proof(const slwi_host_answer *answer, const char *driver, const slw_allocator *allocator,
                                slw_memo *memo, slw_digest *out, slw_error *err);

#endif
