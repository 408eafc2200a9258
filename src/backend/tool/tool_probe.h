/* Asking a compiler driver about itself: starting it, and reading what it said line by line. */
#ifndef SLWI_TOOL_PROBE_H
#define SLWI_TOOL_PROBE_H

#include "tool_answer.h"

typedef struct slwi_tool_probe {
    const slw_allocator *allocator;
    const char *program; /* absolute, with every link followed */
    const char *path;    /* PATH of the child */
    slw_cancel *cancel;
    slwi_tool_answer *answer;
    slw_error *err;
    slwi_buffer output; /* of the last question */
    int status;         /* its exit status */
} slwi_tool_probe;

void slwi_tool_probe_init(slwi_tool_probe *probe, const slw_allocator *allocator);
void slwi_tool_probe_free(slwi_tool_probe *probe);
/* Runs the program with the arguments, then `more` (NULL-terminated both, `more` may be NULL), in a made environment,
   for half a minute at most; whatever its exit status. What the process layer gives, NO_MEMORY. */
slw_code slwi_tool_probe_ask(slwi_tool_probe *probe, const char *const *arguments, const char *const *more);
/* UNSUPPORTED with the program as path and what it said as diagnostics. */
slw_code slwi_tool_probe_refuse(const slwi_tool_probe *probe, const char *reason, const char *what);

/* A place in what it said. */
typedef struct slwi_tool_lines {
    const char *at;
    const char *end;
} slwi_tool_lines;
slwi_tool_lines slwi_tool_probe_lines(const slwi_tool_probe *probe);
/* 1 and the next line without its end, or 0 behind the last. */
int slwi_tool_next_line(slwi_tool_lines *lines, slw_bytes *line);
/* What follows `start` in the line, into out[SLWI_TOOL_PATH_MAX]: 1, or 0 for another line or one that is too long. */
int slwi_tool_after(slw_bytes line, const char *start, char *out);
/* 1 when what it said holds the text. */
int slwi_tool_probe_says(const slwi_tool_probe *probe, const char *text);
/* A line of what `cc -E -v` says, in the words that gcc and clang share; any other line changes nothing. */
/* An include root; *inside, 0 before the first line, is where in the list this line stands. A root that is absent now
   counts too: it may come into being. */
void slwi_tool_read_include(const slwi_tool_probe *probe, slw_bytes line, int *inside);
/* A configuration or specs file that was read, a directory where one is looked for (into `configs`), and the gcc that
   clang chose among several. What slwi_tool_answer_watch gives. */
slw_code slwi_tool_read_choice(const slwi_tool_probe *probe, slw_bytes line, slwi_tool_list *configs);
/* Splits a line of `driver -###` as the driver quoted it: words are bare, or in double quotes with a backslash before
   what would end or change them. */
void slwi_tool_split_line(slw_bytes line, slwi_tool_list *out);

/* Notes that there is nothing of that name in the directory; nothing is noted where there is something. */
void slwi_tool_answer_absent(slwi_tool_answer *answer, const char *directory, const char *name);

#endif
