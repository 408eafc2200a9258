/* Every limit on what comes from outside, by name. Passing one is SLW_E_LIMIT (or INVALID_ENTRY for a slot) with the
   required and allowed amounts. */
#ifndef SLIPWAY_LIMITS_H
#define SLIPWAY_LIMITS_H

#define SLW_LIMIT_MANIFEST_BYTES       16777216u      /* artifact_manifest.json, written and read */
#define SLW_LIMIT_ENTRY_FILES          65536u         /* files of one entry */
#define SLW_LIMIT_ENTRY_BYTES          68719476736ull /* bytes of one entry */
#define SLW_LIMIT_PATH_BYTES           4096u          /* a payload path */
#define SLW_LIMIT_TREE_DEPTH           1000u          /* directories below a slot */
#define SLW_LIMIT_REQUIRED_FILES       4096u
#define SLW_LIMIT_COMPONENTS           32u /* of a toolchain identity in the default domain */
#define SLW_LIMIT_COMPONENT_NAME_BYTES 64u
#define SLW_LIMIT_INVENTORY_ITEMS       1024u /* of one component, by name in slipway.json; the rest is counted */
#define SLW_LIMIT_INVENTORY_VALUE_BYTES 1024u /* of one value there; a longer one is told by its digest */
#define SLW_LIMIT_INPUT_RECORD_BYTES    262144u /* of one record in slipway.json, and 16 levels; else null */
#define SLW_LIMIT_NEAREST               64u   /* entries of one explanation */
#define SLW_LIMIT_DIFFERENCES           256u  /* of one of them, by field; the rest is counted */
#define SLW_LIMIT_DIFFERENCE_BYTES      1024u /* of a field, of an old and of a new value; cut there */
#define SLW_LIMIT_RECORD_DEPTH         512u      /* of a typed record */
#define SLW_LIMIT_RECORD_BYTES         67108864u /* encoded */
#define SLW_LIMIT_JSON_BYTES           16777216u
#define SLW_LIMIT_JSON_DEPTH           2048u /* a record nests three JSON levels each */
#define SLW_LIMIT_JSON_VALUES          1048576u
#define SLW_LIMIT_SOURCE_BYTES         67108864u   /* one source file */
#define SLW_LIMIT_TREE_FILES           262144u     /* files of one identity tree or include root */
#define SLW_LIMIT_BINARY_BYTES         1073741824u /* a launch binary */
#define SLW_LIMIT_ELF_SECTIONS         65536u
#define SLW_LIMIT_KERNELS              65536u    /* of one binary */
#define SLW_LIMIT_NAME_BYTES           131072u   /* one name in a GPU binary: mangled names of 70,000 bytes are real */
#define SLW_LIMIT_NAMES_BYTES          16777216u /* all kernel names of one binary */
#define SLW_LIMIT_GPU_PARAMETERS       4096u     /* of one kernel of a GPU binary */
#define SLW_LIMIT_GPU_PARAMETERS_ALL   1048576u  /* of one GPU binary */
#define SLW_LIMIT_PARAM_BYTES          32764u    /* of one GPU kernel: the most a launch takes */
#define SLW_LIMIT_IMAGES               4096u     /* of one file: fatbin entries, bundle entries */
#define SLW_LIMIT_IMAGE_NAME_BYTES     4096u     /* a bundle entry's id */
#define SLW_LIMIT_MSGPACK_DEPTH        16u
#define SLW_LIMIT_MSGPACK_KEYS         4096u    /* of one map: real ones have some thirty */
#define SLW_LIMIT_MSGPACK_ITEMS        4194304u   /* of one note */
#define SLW_LIMIT_PARAMETERS           64u        /* of one host kernel */
#define SLW_LIMIT_KERNEL_NAME_BYTES    128u       /* of a host kernel, with the NUL */
#define SLW_LIMIT_PTX_BYTES            67108864u  /* one PTX module */
#define SLW_LIMIT_PTX_KERNELS          65536u     /* of one module, as of any binary */
#define SLW_LIMIT_PTX_PARAMETERS       4096u      /* of one kernel */
#define SLW_LIMIT_PTX_PARAMETERS_ALL   1048576u   /* of one module */
#define SLW_LIMIT_PTX_PARAMETER_BYTES  1048576u   /* of one kernel; devices take 32,764 */
#define SLW_LIMIT_PTX_DEPTH            65536u     /* braces inside one another */
#define SLW_LIMIT_DIAGNOSTICS_BYTES    1048576u   /* of a child's output kept */
#define SLW_LIMIT_DISASSEMBLY_BYTES    268435456u /* of a disassembler's text */
#define SLW_LIMIT_BACKENDS             32u        /* registered, beside the built-in ones */
#define SLW_LIMIT_BACKEND_NAME_BYTES   63u        /* of a backend, a stage, its file, a kind of source */
#define SLW_LIMIT_SYMLINKS             40u
#define SLW_LIMIT_METRICS_SERIES       64u      /* of one phase, counted apart; the rest in one series more */
#define SLW_LIMIT_METRICS_LABEL_BYTES  63u      /* a name in a counter or a trace, cut there */
#define SLW_LIMIT_TRACE_EVENTS         1048576u /* of one slw_metrics */
#define SLW_LIMIT_WARM_REQUESTS        65536u   /* of one warm-up */
#define SLW_LIMIT_WARM_JOBS            256u     /* compiles of one warm-up at one time */
#define SLW_LIMIT_HELD_LOCKS           256u /* locks and other fork-closed descriptors at one time, per process */

#endif
