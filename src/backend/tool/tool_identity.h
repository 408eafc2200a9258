/* What the identities of all toolchains have in common: lists as digests, include roots as trees, the made
 * environment. */
#ifndef SLWI_TOOL_IDENTITY_H
#define SLWI_TOOL_IDENTITY_H

#include <slipway/identity.h>

#include "tool_list.h"

/* The four components that compile() makes. */
#define SLWI_TOOL_BACKEND     "backend"
#define SLWI_TOOL_COMPILER    "compiler"
#define SLWI_TOOL_LIBRARIES   "libraries"
#define SLWI_TOOL_ENVIRONMENT "environment"

/* Adds the digest of a list (NULL-terminated; NULL: empty), each item ended by a NUL so that joining cannot make two
   lists equal. */
slw_code slwi_tool_identity_add_list(slw_identity *identity, const char *component, const char *name,
                                     const slw_allocator *allocator, const char *const *items, slw_error *err);
/* Adds roots as trees, also those that are not there, for one may come into being; what the tree of another root holds
   is not read twice. */
slw_code slwi_tool_identity_add_trees(slw_identity *identity, const char *component, const slwi_tool_list *roots,
                                      slw_error *err);
/* The component `environment`, whole: every variable of slwi_tool_environment, the extra ones (NULL: none) as
   NAME=VALUE, and what else is made the same for every child. TMPDIR and the working directory differ from build to
   build; what is constant is the rule. */
slw_code slwi_tool_identity_environment(slw_identity *identity, const slw_allocator *allocator, const char *path,
                                        const slwi_tool_list *variables, const char *const *rules, slw_error *err);

#endif
