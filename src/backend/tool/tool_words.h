/* The compiler's words: the name of the source put back, and the place of the first error. */
#ifndef SLWI_TOOL_WORDS_H
#define SLWI_TOOL_WORDS_H

#include "buffer.h"

/* Copies the words with `file`, what the source is called where it is compiled, replaced by `name` where a line or a
   word starts with it and a colon, a parenthesis ("k.cu(3): error", nvcc's way) or a comma (ptxas's) follows, or where
   it stands in double quotes. */
void slwi_tool_words_rename(slw_bytes words, const char *file, const char *name, slwi_buffer *out);

typedef struct slwi_tool_place {
    slw_bytes file;    /* empty: no place was named */
    uint32_t line;     /* 0: none */
    uint32_t column;   /* 0: none */
    slw_bytes message; /* the line it stands on */
} slwi_tool_place;

/* The first "file:line:column: error: …" or "fatal error", "file(line): error …" or "ptxas file, line N; error …"; else
   the first line that says "error" or "undefined reference"; else the first line. 0 for no words at all. */
int slwi_tool_words_place(slw_bytes words, slwi_tool_place *out);

#endif
