/* What a vendor's results are called and what they mean, in the same way for every vendor.
 *
 * A driver brings its own names: what a vendor's library says of a result cannot be had where the library is the
 * trouble, and is not always a name. */
#ifndef SLWI_GPU_RESULT_H
#define SLWI_GPU_RESULT_H

#include <slipway/error.h>

#include <stddef.h>

typedef struct slwi_gpu_name {
    int result;
    const char *name;
} slwi_gpu_name;

/* What a result means, where it means more than "the driver says no". */
typedef struct slwi_gpu_meaning {
    int result;
    slw_code code;
    const char *reason; /* may be NULL */
    const char *hint;   /* may be NULL */
} slwi_gpu_meaning;

typedef struct slwi_gpu_results {
    const slwi_gpu_name *names; /* by number */
    size_t name_count;
    const slwi_gpu_meaning *meanings;
    size_t meaning_count;
    int (*is_sticky)(int result); /* 1: the context, and everything in it, is of no more use */
} slwi_gpu_results;

/* NULL: not in the table. */
const char *slwi_gpu_result_name(const slwi_gpu_results *results, int result);
/* NULL: it means nothing more. */
const slwi_gpu_meaning *slwi_gpu_result_meaning(const slwi_gpu_results *results, int result);
/* 0 is OK; sticky ones are LOST (reason STICKY); then the meaning's code; else DRIVER. */
slw_code slwi_gpu_result_classify(const slwi_gpu_results *results, int result, const char **reason);

/* One failed call, for its record. All but `name` and `what` may be NULL. */
typedef struct slwi_gpu_failure {
    int result;
    const char *name; /* of the result */
    const char *what; /* was being done */
    const char *library;
    const char *device;
    const char *kernel;
    const char *version; /* of the library, for the message */
} slwi_gpu_failure;

/* Fills the record, with the hint of the result's meaning, and returns the code. */
slw_code slwi_gpu_fail(const slwi_gpu_results *results, const slwi_gpu_failure *failure, slw_code code,
                       const char *reason, slw_error *err);

#endif
