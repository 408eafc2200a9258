/* The PTX scanner: which kernels a module defines and what their prototypes say, from its text alone.
 *
 * A tokenizer over borrowed bytes: nothing is copied, nothing recurses, each byte is looked at a fixed number of times.
 * It reads what stands at brace depth 0 and only counts braces below it, so it knows no instruction and a newer PTX
 * reads as far as it says. What `ptxas` accepts is never refused here and gives the same kernels; what ptxas refuses
 * for deeper reasons (types that do not fit, symbols that are not there) may be accepted. */
#ifndef SLWI_PTX_SCAN_H
#define SLWI_PTX_SCAN_H

#include <slipway/bytes.h>

typedef enum slwi_ptx_linkage {
    SLWI_PTX_LINKAGE_NONE = 0, /* local to the module, as nvcc does it for anonymous name spaces */
    SLWI_PTX_LINKAGE_VISIBLE = 1,
    SLWI_PTX_LINKAGE_WEAK = 2,
    SLWI_PTX_LINKAGE_EXTERN = 3 /* a declaration only, never a kernel of the module */
} slwi_ptx_linkage;

typedef enum slwi_ptx_type {
    SLWI_PTX_BITS = 0, /* .b8 to .b128 */
    SLWI_PTX_SIGNED = 1,
    SLWI_PTX_UNSIGNED = 2,
    SLWI_PTX_FLOAT = 3,
    SLWI_PTX_OPAQUE = 4 /* .texref, .samplerref, .surfref: bound by name, size 0 */
} slwi_ptx_type;

/* Where a parameter marked `.ptr` points to. */
typedef enum slwi_ptx_space {
    SLWI_PTX_SPACE_NONE = 0, /* no `.ptr`: which says nothing, nvcc writes plain .u64 for pointers */
    SLWI_PTX_SPACE_GENERIC = 1,
    SLWI_PTX_SPACE_GLOBAL = 2,
    SLWI_PTX_SPACE_CONST = 3,
    SLWI_PTX_SPACE_LOCAL = 4,
    SLWI_PTX_SPACE_SHARED = 5
} slwi_ptx_space;

typedef struct slwi_ptx_param {
    slw_bytes name;
    slw_bytes type_name; /* ".u64" */
    slwi_ptx_type type;
    uint32_t element_bytes;
    uint32_t vector; /* elements of a vector, 1 for none */
    uint32_t count;  /* elements of the array, 1 for none */
    uint32_t is_array;
    uint32_t size_bytes;      /* element × vector × count */
    uint32_t alignment_bytes; /* the largest of the type's own and every `.align` */
    uint32_t offset_bytes;    /* by the rules of C; the device's may differ for alignments above 16 */
    slwi_ptx_space space;
    uint32_t pointer_alignment_bytes; /* of what it points to; 0: not said */
} slwi_ptx_param;

typedef struct slwi_ptx_kernel {
    slw_bytes name;
    uint64_t offset_bytes; /* of the name in the text */
    slwi_ptx_linkage linkage;
    const slwi_ptx_param *params; /* NULL for none */
    uint32_t param_count;
    uint32_t param_bytes;  /* of all, with the gaps of offset_bytes */
    uint32_t maxntid[3];   /* all 0: not said. A dimension that is left out is 1 */
    uint32_t reqntid[3];   /* all 0: not said */
    uint32_t minnctapersm; /* 0: not said; so below */
    uint32_t maxnctapersm; /* of PTX before 2.0 */
    uint32_t maxnreg;
    uint32_t cluster[3];       /* .reqnctapercluster */
    uint32_t explicit_cluster; /* 1: .explicitcluster */
    uint32_t max_cluster_rank;
    uint32_t blocks_are_clusters; /* 1: the grid is counted in clusters */
} slwi_ptx_kernel;

#define SLWI_PTX_TEXMODE_UNIFIED     1u
#define SLWI_PTX_TEXMODE_INDEPENDENT 2u
#define SLWI_PTX_DEBUG               4u
#define SLWI_PTX_MAP_F64_TO_F32      8u
#define SLWI_PTX_OTHER_TARGET        16u /* a second architecture stands in the list */
#define SLWI_PTX_OTHER_OPTION        32u /* one that is not known here */

typedef struct slwi_ptx_module {
    uint32_t version_major;
    uint32_t version_minor;
    slw_bytes target;         /* "sm_90a": the first of the list, in full */
    uint32_t target_number;   /* 90 */
    slw_bytes target_suffix;  /* "a", "f" or empty */
    uint32_t target_options;  /* SLWI_PTX_… */
    slw_bytes target_list;    /* all of it, for messages */
    uint32_t address_size;    /* 32, 64; 0: not said */
    slwi_ptx_kernel *kernels; /* in the order of the text; at least one */
    uint32_t kernel_count;
    slwi_ptx_param *params; /* of all kernels */
    uint32_t param_count;
    uint64_t steps; /* bytes looked at, each time they were: what a test of linear time counts */
} slwi_ptx_module;

/* Everything in *out but its two arrays points into `text`, which must outlive it; `name` is what errors call the text.
   INVALID_PTX with line, column and offset, and the reason
     NO_VERSION, BAD_VERSION, NO_TARGET, BAD_TARGET, BAD_ADDRESS_SIZE   the head of the module
     NO_ENTRY        no kernel is defined (declarations and functions are none)
     BAD_NAME        no name where a kernel's must stand, or something that belongs to no prototype after it
     BAD_LINKAGE     two linkage words, .common, or a body after .extern
     BAD_PARAMETER   `subject` is the parameter where it has a name
     BAD_DIRECTIVE   .maxntid and the like without their numbers
     TRUNCATED       the text ends inside `subject`: comment, string, line (a marker), head, directive, prototype,
                     parameters, body, statement
     DUPLICATE       two kernels of one name
     NESTED          an .entry inside a body or another statement
     BAD_BYTE        NUL, a byte that is not ASCII, a control character outside comments and strings
     BAD_TOKEN       something that begins no statement
   LIMIT (reason LIMIT; SLW_LIMIT_PTX_…); NO_MEMORY. On failure *out is untouched.
   Cost: linear in the text, plus sorting the names. */
slw_code slwi_ptx_scan(const slw_allocator *allocator, slw_bytes text, const char *name, slwi_ptx_module *out,
                       slw_error *err);
void slwi_ptx_release(const slw_allocator *allocator, slwi_ptx_module *module);

/* 1-based line (ended by LF) and column in bytes of an offset; linear in the offset. */
void slwi_ptx_place(slw_bytes text, uint64_t offset, uint32_t *line, uint32_t *column);

/* 1 where the first token is `.version`; the rest may be anything. */
int slwi_ptx_recognises(slw_bytes text);

#endif
