/* The compiler's words: the name of the source put back, and the place of the first error. */
#ifndef SLWI_HOST_WORDS_H
#define SLWI_HOST_WORDS_H

#include "buffer.h"

#define SLWI_HOST_SOURCE_FILE "source.c" /* what every source is called where it is compiled */

/* Copies the words with SLWI_HOST_SOURCE_FILE replaced by `name` where a line or a word starts with it and a colon
   follows. */
void slwi_host_words_rename(slw_bytes words, const char *name, slwi_buffer *out);

typedef struct slwi_host_place {
    slw_bytes file;    /* empty: no place was named */
    uint32_t line;     /* 0: none */
    uint32_t column;   /* 0: none */
    slw_bytes message; /* the line it stands on */
} slwi_host_place;

/* The first "file:line:column: error: …" or "fatal error"; else the first line that says "error" or "undefined
   reference"; else the first line. 0 for no words at all. */
int slwi_host_words_place(slw_bytes words, slwi_host_place *out);

#endif
