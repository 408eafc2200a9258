/* What backends give to lifecycle: the built-in vtables, and contracts as JSON. */
#ifndef SLWI_BACKENDS_H
#define SLWI_BACKENDS_H

#include <slipway/sys/backend_impl.h>

#include "json.h"

#define SLWI_STAGES_MAX 16u

const slw_backend_vtable *slwi_backend_recognise(slw_bytes binary); /* by content; NULL: nobody's */
/* USAGE (BAD_ABI, BAD_BACKEND) for a vtable that nobody can compile with. */
slw_code slwi_backend_check(const slw_backend_vtable *backend, slw_error *err);
/* NULL: it does not begin with such a source. */
const slw_source_kind *slwi_backend_source(const slw_backend_vtable *backend, const char *extension);

/* Writes a contract as one canonical JSON object (of schema SLW_CONTRACT_SCHEMA); reads it back, every field checked
   and bounded: INVALID_METADATA with the field as subject. A contract read and written again gives the same text. */
void slwi_contract_write(const slw_contract *contract, slwi_json_writer *writer);
slw_code slwi_contract_read(const slw_allocator *allocator, const slwi_json *object, slw_contract **out,
                            slw_error *err);
void slwi_contract_free(const slw_allocator *allocator, slw_contract **contract); /* pointer to NULL is fine */
size_t slwi_contract_overhead_bytes(const slw_contract *contract);
/* OK, or CONTRACT_MISMATCH naming the first kernel and field that differ. What metadata told the stored one (dynamic
   shared memory, warps, scratch, …) and the binary is silent on is no difference. */
slw_code slwi_contract_compare(const slw_contract *stored, const slw_contract *derived, slw_error *err);
/* The contract of a binary with what metadata once told the stored one: everything the binary says is `derived`'s, the
   rest is kept. Of one reader revision the two must agree as slwi_contract_compare says; of two revisions the derived
   one is right, and CONTRACT_MISMATCH is said only where what metadata told has no place any more (its kernel or its
   parameters). NO_MEMORY. Nothing of either is borrowed; release with slwi_contract_free. */
slw_code slwi_contract_renew(const slw_allocator *allocator, const slw_contract *stored, const slw_contract *derived,
                             slw_contract **out, slw_error *err);

/* How two builds of one payload differ. Pure; any bytes. DEBUG_ONLY: both are ELF files, and apart from debug sections
   (.debug_*, .nv_debug_*, .line and their like, which no launch loads) and the build-id they are equal. */
typedef enum slwi_difference { SLWI_SAME = 0, SLWI_DEBUG_ONLY = 1, SLWI_DIFFERS = 2 } slwi_difference;
typedef struct slwi_binary_difference {
    slwi_difference kind;
    uint64_t offset_bytes; /* in `a`; of two ELF files the first that such a difference is made of */
    char section[128];     /* it lies in this one, where both are ELF files; cut; "" */
} slwi_binary_difference;
void slwi_binary_compare(slw_bytes a, slw_bytes b, slwi_binary_difference *out);

#endif
