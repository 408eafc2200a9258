/* The records of a component's inputs: each kind has a tag of its own, so no claim can ever equal a proof. For
 * identity*.c alone. Each gives the digest of the input's record; NO_MEMORY or LIMIT otherwise. */
#ifndef SLWI_IDENTITY_INPUT_H
#define SLWI_IDENTITY_INPUT_H

#include "elf_closure.h"
#include "identity_gather.h"
#include "tree.h"

slw_code slwi_input_file(const slw_allocator *allocator, const char *path, const slwi_seen *seen, slw_digest *out,
                         slw_error *err);
/* Digested or absent. */
slw_code slwi_input_tree(const slw_allocator *allocator, const char *path, const slwi_tree_result *tree,
                         slw_digest *out, slw_error *err);
/* The members in any order: they are sorted here. */
slw_code slwi_input_program(const slw_allocator *allocator, slwi_closure *closure, slw_digest *out, slw_error *err);
slw_code slwi_input_environment(const slw_allocator *allocator, const char *name, const char *value, slw_digest *out,
                                slw_error *err);
slw_code slwi_input_build_id(const slw_allocator *allocator, const char *path, const char *resolved, slw_bytes id,
                             slw_digest *out, slw_error *err);
slw_code slwi_input_no_build_id(const slw_allocator *allocator, const char *path, const slwi_seen *seen,
                                slw_digest *out, slw_error *err);
slw_code slwi_input_claim(const slw_allocator *allocator, const char *name, slw_bytes text, slw_digest *out,
                          slw_error *err);
slw_code slwi_input_digest(const slw_allocator *allocator, const char *name, const slw_digest *digest, slw_digest *out,
                           slw_error *err);

/* A component: its name and the digests of its inputs, which are sorted and of equal ones kept once. */
slw_code slwi_input_component(const slw_allocator *allocator, const char *name, slw_digest *inputs, size_t count,
                              slw_digest *out, slw_error *err);

#endif
