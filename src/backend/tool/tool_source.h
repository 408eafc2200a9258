/* What a source in C, or in a language on top of it, may say that no dependency list shows. */
#ifndef SLWI_TOOL_SOURCE_H
#define SLWI_TOOL_SOURCE_H

#include <slipway/bytes.h>

/* What every reason starts with. */
#define SLWI_TOOL_SOURCE_WORD "SOURCE "

/* What a source may say that is not in the key either: "SOURCE …", or NULL. The assembler reads files of its own
   (.incbin, .include; its words in any case); a question whether a file exists (__has_include, __has_embed) leaves no
   trace, so it may only be one that the trees in the key answer: literal, relative, without a step upwards, and of a
   name that they do not pass over. Linear in time. */
const char *slwi_tool_source_reason(slw_bytes text);
/* The same of a header or of an option's value, where __TIMESTAMP__ is also the time of a file that is not ours: a
   fresh checkout sets it anew. (The main source is written with a time of its own.) */
const char *slwi_tool_header_reason(slw_bytes text);

#endif
