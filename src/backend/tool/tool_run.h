/* Starting a tool in a made environment: nothing is inherited. */
#ifndef SLWI_TOOL_RUN_H
#define SLWI_TOOL_RUN_H

#include "tool_list.h"

/* A value that time macros are given instead of the time. */
#define SLWI_TOOL_SOURCE_DATE_EPOCH "0"
/* What they are with it, as text. clang before 16 does not read that variable, and no compiler takes __TIMESTAMP__
   from it: so they are defined away, in words that are handed to no shell. */
#define SLWI_TOOL_DATE             "Jan  1 1970"
#define SLWI_TOOL_TIME             "00:00:00"
#define SLWI_TOOL_TIMESTAMP        "Thu Jan  1 00:00:00 1970"
#define SLWI_TOOL_NO_CLOCK_WARNING "-Wno-builtin-macro-redefined"
#define SLWI_TOOL_NO_CLOCK                                                                                             \
    "-D__DATE__=\"" SLWI_TOOL_DATE "\"", "-D__TIME__=\"" SLWI_TOOL_TIME "\"",                                          \
        "-D__TIMESTAMP__=\"" SLWI_TOOL_TIMESTAMP "\""

/* PATH of the children of a program: its own directory, `more` (may be NULL), then the system's, each once. The caller
   frees *out. */
slw_code slwi_tool_make_path(const slw_allocator *allocator, const char *program, const char *const *more, char **out,
                             slw_error *err);
/* The environment of every child, as NAME=VALUE: PATH, LC_ALL, SOURCE_DATE_EPOCH, and TMPDIR. */
void slwi_tool_environment(const char *path, const char *temporary, slwi_tool_list *out);

typedef struct slwi_tool_run {
    const char *program;             /* absolute */
    const slwi_tool_list *arguments; /* without argv[0] */
    const char *path;                /* PATH of the child */
    const slwi_tool_list *variables; /* beside those of slwi_tool_environment; NULL: none */
    const char *directory;
    const char *temporary;
    uint64_t deadline_ns;
    slw_cancel *cancel;
    slwi_buffer *output;
} slwi_tool_run;

/* See slwi_process_run. */
slw_code slwi_tool_start(const slw_allocator *allocator, const slwi_tool_run *run, int *exit_status, slw_error *err);

#endif
