/* What the compiler read, as it lists it for make, and whether all of it lies inside the key. */
#ifndef SLWI_TOOL_DEPFILE_H
#define SLWI_TOOL_DEPFILE_H

#include "tool_list.h"

#define SLWI_TOOL_DEPFILE_BYTES_MAX 16777216u

/* The prerequisites of every rule, unescaped: "\ " and "\#" are a blank and a hash, "$$" a dollar, a backslash at the
   end of a line goes on. 1, or 0 for text that is no such list (no target, a NUL, no end). */
int slwi_tool_depfile_parse(slw_bytes text, slwi_tool_list *out);

/* 1 when a file the compiler read from `directory` lies in one of the roots (absolute), or is one of the names the
   build wrote there itself (relative, exact). What a tree leaves out (.git, __pycache__, *.pyc, *.pyo) is not in it. */
int slwi_tool_dependency_inside(const char *dependency, const char *directory, const slwi_tool_list *roots,
                                const slwi_tool_list *own);

/* What an identity tree passes over by name, and what it cannot have (a step upwards), is not in it: 1 when a path
   relative to a tree's root is. */
int slwi_tool_tree_has(const char *rest);

#endif
