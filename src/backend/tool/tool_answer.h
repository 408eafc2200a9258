/* What a compiler driver answered about itself: gathered once by starting it (host_discover.c), remembered as text,
 * and good only as long as every file it names has its digest and every place it found empty is still empty. */
#ifndef SLWI_TOOL_ANSWER_H
#define SLWI_TOOL_ANSWER_H

#include <slipway/identity.h>

#include "tool_list.h"

typedef enum slwi_tool_family {
    SLWI_TOOL_UNKNOWN = 0,
    SLWI_TOOL_GCC = 1,
    SLWI_TOOL_CLANG = 2,
    SLWI_TOOL_OTHER = 3 /* no compiler of C: ptxas */
} slwi_tool_family;

/* The lists in the order of the text form. */
typedef enum slwi_tool_fact {
    SLWI_TOOL_FACT_PROGRAM,   /* cc1, collect2, as, ld, lto-wrapper: by absolute path */
    SLWI_TOOL_FACT_PLUGIN,    /* libraries the linker loads */
    SLWI_TOOL_FACT_FILE,      /* start files, specs, configuration files */
    SLWI_TOOL_FACT_INCLUDE,   /* the compiler's own include roots in order, also those that do not exist */
    SLWI_TOOL_FACT_DIRECTORY, /* -L of the link, in order */
    SLWI_TOOL_FACT_LIBRARY,   /* -l of the link, without the -l */
    SLWI_TOOL_FACT_SYSROOT,   /* at most one */
    SLWI_TOOL_FACT_ABSENT,    /* looked for there before it was found elsewhere: must not exist */
    SLWI_TOOL_FACT_LISTING,   /* "<digest of the names> <directory>": a choice was made among what lies there */
    SLWI_TOOL_FACT_TARGET,    /* "gfx90a", "sm_90a": what it compiles for */
    SLWI_TOOL_FACT_NOTE,      /* "isa 9.0": what else a backend asked, in words of its own */
    SLWI_TOOL_FACT_COUNT
} slwi_tool_fact;

typedef struct slwi_tool_answer {
    slwi_tool_family family;
    slwi_tool_list text; /* [0] the version line, [1] the target triple */
    slwi_tool_list facts[SLWI_TOOL_FACT_COUNT];
} slwi_tool_answer;

#define SLWI_TOOL_ANSWER_BYTES_MAX 1048576u

void slwi_tool_answer_init(slwi_tool_answer *answer, const slw_allocator *allocator);
void slwi_tool_answer_free(slwi_tool_answer *answer);
slw_code slwi_tool_answer_status(const slwi_tool_answer *answer, slw_error *err); /* OK or NO_MEMORY */
const char *slwi_tool_answer_version(const slwi_tool_answer *answer);
const char *slwi_tool_answer_triple(const slwi_tool_answer *answer);

/* The text form: one fact a line. 0 when a fact cannot be a line (it holds a line break): then it is not remembered. */
int slwi_tool_answer_write(const slwi_tool_answer *answer, const slw_digest *proof, slwi_buffer *out);
/* 1, or 0 for anything but what write wrote. */
int slwi_tool_answer_read(slw_bytes text, slwi_tool_answer *answer, slw_digest *proof);

/* The digest of a directory's names, sorted; a directory that cannot be read has one of its own. */
slw_code slwi_tool_listing_digest(const slw_allocator *allocator, const char *directory, slw_digest *out,
                                  slw_error *err);
/* Adds a listing fact with the digest of now. */
slw_code slwi_tool_answer_watch(slwi_tool_answer *answer, const char *directory, slw_error *err);

/* 1 when what must be absent is absent and every listing is as it was. Starts nothing. */
int slwi_tool_answer_holds(const slwi_tool_answer *answer, const slw_allocator *allocator);
/* One digest over the content of every file the answer names (and of the driver), by memo or by reading. MISS when
   one cannot be read. */
slw_code slwi_tool_answer_proof(const slwi_tool_answer *answer, const char *driver, const slw_allocator *allocator,
                                slw_memo *memo, slw_digest *out, slw_error *err);

#endif
