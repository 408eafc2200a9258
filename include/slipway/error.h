/* Codes and the error record.
 *
 * Every fallible call returns a slw_code: SLW_OK (0) if and only if its outputs are set.  What happened and what to do
 * stands in the caller's slw_error, which every call resets at its start; NULL is allowed and loses only the detail.
 * The library never logs, never exits and keeps no "last error". */
#ifndef SLIPWAY_ERROR_H
#define SLIPWAY_ERROR_H

#include <slipway/attributes.h>

SLW_BEGIN_DECLS

/* Positive, never an enum: clang's phase analysis understands `rc`, `rc == SLW_OK`, `rc != SLW_OK` on a plain int. */
typedef int slw_code;

#define SLW_OK 0

/* The caller's mistake: fix the program. */
#define SLW_E_USAGE       1 /* a NULL, a wrong size field, an object of the wrong phase, an option out of range */
#define SLW_E_NO_MEMORY   2 /* the allocator gave NULL; nothing was changed, the call may be repeated */
#define SLW_E_LIMIT       3 /* a named limit of <slipway/limits.h> was passed */
#define SLW_E_UNSUPPORTED 4 /* this build or platform has not got the ability asked for */

/* The thing asked about. */
#define SLW_E_MISS           10 /* no such entry: build it */
#define SLW_E_INVALID_ENTRY  11 /* the slot is there and is not what its name says; never repaired silently */
#define SLW_E_GONE           12 /* it was there and has been removed: ask the store again, once */
#define SLW_E_RECURSIVE      13 /* a builder asked for the very entry it is building */
#define SLW_E_INVALID_SOURCE 14 /* a builder's output or a source is missing or unsafe; `subject` names it */

/* Storage. */
#define SLW_E_STORAGE     20 /* the file system said no; `path` and `raw_name` say where and what */
#define SLW_E_LOCK        21 /* the key's lock could not be had */
#define SLW_E_PUBLICATION 22 /* the build is usable, publishing it was not possible */

/* Compilers and identity. */
#define SLW_E_COMPILE_FAILED    30 /* a stage said no; `diagnostics` holds its words */
#define SLW_E_TOOL_MISSING      31 /* no such compiler or tool; `tried` lists the places */
#define SLW_E_IDENTITY_UNUSABLE 32 /* a component of the toolchain is not proved; `subject` names it */
#define SLW_E_UNSUPPORTED_INPUT 33 /* well-formed, and slipway does not do it */

/* Binaries and metadata. */
#define SLW_E_INVALID_PTX       40
#define SLW_E_INVALID_BINARY    41
#define SLW_E_INVALID_METADATA  42
#define SLW_E_CONTRACT_MISMATCH 43 /* binary and metadata disagree; `subject` names the field */
#define SLW_E_TARGET_MISMATCH   44 /* built for another device */

/* Launches. */
#define SLW_E_OUT_OF_RESOURCES 50 /* over a device limit: `resource`, `required`, `limit`, `unit` */
#define SLW_E_INVALID_LAUNCH   51 /* zero, a wrong argument count or size, not divisible by the cluster */

/* Drivers and devices. */
#define SLW_E_UNAVAILABLE 60 /* no driver library, or one without the symbols needed; `tried` lists the paths */
#define SLW_E_STUB        61 /* the driver library is a link-time stub */
#define SLW_E_NO_DEVICE   62
#define SLW_E_FORKED      63 /* the object belongs to the process before a fork; memory is freed, no more is done */
#define SLW_E_LOST        64 /* a sticky error: every later call on this device is refused at once */
#define SLW_E_DRIVER      65 /* any other answer of the driver; `raw_name`, `raw_code` */

/* The moment. */
#define SLW_E_TIMEOUT   70
#define SLW_E_CANCELLED 71

/* Codes of a builder: passed through untouched. */
#define SLW_E_BUILDER_FIRST 10000

/* Which of the number fields of a slw_error mean something. */
#define SLW_ERROR_HAS_LINE     1u
#define SLW_ERROR_HAS_COLUMN   2u
#define SLW_ERROR_HAS_OFFSET   4u
#define SLW_ERROR_HAS_REQUIRED 8u
#define SLW_ERROR_HAS_LIMIT    16u
#define SLW_ERROR_HAS_RAW_CODE 32u

/* The record.  Pointers are to static storage and never freed; arrays are NUL-terminated and cut, never overrun.
   An empty string or NULL means absent. */
typedef struct slw_error {
    uint32_t size;         /* sizeof(slw_error), set by SLW_ERROR_INIT and left alone by every call */
    slw_code code;         /* what the call returned */
    uint32_t present;      /* SLW_ERROR_HAS_… bits */
    uint32_t line;         /* 1-based */
    uint32_t column;       /* 1-based, in bytes */
    int64_t raw_code;      /* errno, CUresult, hipError_t, exit status */
    uint64_t offset_bytes; /* where in the file or buffer */
    uint64_t required;     /* how much was asked for, in `unit` */
    uint64_t limit;        /* how much there may be, in `unit` */
    const char *reason;    /* the finer name: NO_PRIVATE_ROOT, UNTRUSTED, NO_ENTRY, … */
    const char *phase;     /* lookup, compile, hydrate, device_load, make_launchable, launch, … */
    const char *resource;  /* shared memory, threads per block, … */
    const char *unit;      /* bytes, threads, blocks, … */
    const char *hint;      /* what to do, one sentence */
    char *diagnostics;     /* the caller's buffer for compiler or JIT output, or NULL; always NUL-terminated */
    size_t diagnostics_capacity;
    size_t diagnostics_size; /* bytes written, without the NUL */
    char message[512];       /* one line; failures of the clean-up are appended after "; also: " */
    char subject[512];       /* the file, component, field or option meant */
    char path[1024];
    char kernel[256];
    char device[64];
    char raw_name[64]; /* EACCES, CUDA_ERROR_INVALID_IMAGE, SIGSEGV, … */
    char tried[1024];  /* one place a line */
} slw_error;

#define SLW_ERROR_INIT                                                                                                 \
    { sizeof(slw_error), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, "", "", "", "", "", "", "" }

/* The name of a code without its prefix ("INVALID_PTX"); "BUILDER" from 10000 up, "UNKNOWN" otherwise.
   Static storage.  Threads: any.  Cost: a table look-up. */
SLW_API const char *slw_code_name(slw_code code);

/* The exit status the command gives for a code (0, 1, 2, 3, 4; a builder's codes are 1).  Threads: any. */
SLW_API int slw_code_exit_status(slw_code code);

SLW_END_DECLS
#endif
