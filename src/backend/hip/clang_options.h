/* Which options of clang may enter a key of the hip backend. */
#ifndef SLWI_CLANG_OPTIONS_H
#define SLWI_CLANG_OPTIONS_H

#include "tool_options.h"

/* The groups of slwi_tool_options: what clang compiles with, and what only a link takes. */
enum { SLWI_CLANG_COMPILE = 0, SLWI_CLANG_LINK = 1 };

extern const slwi_tool_option_rule slwi_clang_option_rules[];

/* How many words at `index` the code generator wants to know again, where it begins with the IR that the same options
   made: 1 or, with a value of its own, 2; 0: none, the IR has it all. */
size_t slwi_clang_code_words(const slwi_tool_list *options, size_t index);
/* Where ROCm lies may be said: for the device libraries, for the headers, or for both. Then clang's own search does not
   count. */
#define SLWI_CLANG_NAMES_LIBRARIES 1
#define SLWI_CLANG_NAMES_HEADERS   2
/* What the option says (0: something else), and *directory, which follows its "="; NULL where the next word is it. */
int slwi_clang_names_rocm(const char *option, const char **directory);

#endif
