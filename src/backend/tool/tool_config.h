/* Configuration that a compiler reads by itself, unasked: clang's *.cfg, gcc's specs. Their bytes are in the identity;
 * what they name is not, unless it is found out. So they may say only what reaches no other file. */
#ifndef SLWI_TOOL_CONFIG_H
#define SLWI_TOOL_CONFIG_H

#include <slipway/identity.h>

#include "tool_list.h"

#define SLWI_TOOL_CONFIG_WHY_MAX 256

int slwi_tool_is_config(const char *path); /* "clang.cfg" */
int slwi_tool_is_specs(const char *path);  /* "specs" */

/* The words of a configuration file: whitespace between them, lines that begin with '#' and backslashes that
   only continue a line left out. Quotes are not undone. */
void slwi_tool_config_split(slw_bytes text, slwi_tool_list *out);

/* Says in why[SLWI_TOOL_CONFIG_WHY_MAX] what of the words is not allowed; "" : nothing. Any failure but NO_MEMORY is
   taken for a verdict too, with its message. */
typedef slw_code (*slwi_tool_config_judge)(const slwi_tool_list *words, const slw_allocator *allocator, char *why,
                                           slw_error *err);
/* Reads one of clang's configuration files and rejects the component where it holds '@', a quote or a backslash, where
   the judge has something to say, and where it cannot be read. */
slw_code slwi_tool_config_check(slw_identity *identity, const char *component, const char *path,
                                const slw_allocator *allocator, slwi_tool_config_judge judge, slw_error *err);

/* The same of a specs file of gcc: each of its texts must be one that the driver itself holds, as in what
   `gcc -dumpspecs` writes; all else is rejected: a text of another's may name files and programs in many ways. */
slw_code slwi_tool_specs_check(slw_identity *identity, const char *component, const char *path, const char *driver,
                               const slw_allocator *allocator, slw_error *err);

#endif
