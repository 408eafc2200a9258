/* Arguments of a kernel on the command line: --arg TYPE=VALUE or --arg [in:|out:|inout:]TYPE[N]=INIT. */
#ifndef SLIPWAY_CLI_ARGUMENTS_H
#define SLIPWAY_CLI_ARGUMENTS_H

#include "cli.h"

typedef enum arg_type {
    ARG_I8,
    ARG_U8,
    ARG_I16,
    ARG_U16,
    ARG_I32,
    ARG_U32,
    ARG_I64,
    ARG_U64,
    ARG_F32,
    ARG_F64
} arg_type;

typedef struct argument {
    arg_type type;
    int is_array, copies_in, copies_out;
    uint64_t count;
    void *data;                 /* host memory: count values */
    char *out_file;             /* after >; NULL */
    slw_device_address address; /* of an array on the device */
} argument;

typedef struct arguments {
    argument items[64];
    uint32_t count;
    slw_device *device; /* where the arrays lie; NULL before arguments_to_device */
    void *values[64];
    uint32_t sizes_bytes[64];
} arguments;

slw_code arguments_parse(const cli_list *texts, arguments *out, slw_error *err);
/* Arrays for pointers and values for values: a kernel would follow a number as a pointer. Counts and sizes are the
   launch's to check; kernel NULL is fine. untyped 1: an integer of eight bytes may be a pointer, as PTX writes them. */
slw_code arguments_check(const arguments *args, const slw_kernel_contract *kernel, int untyped, slw_error *err);
slw_code arguments_to_device(arguments *args, slw_device *device, slw_error *err);
slw_code arguments_from_device(arguments *args, slw_error *err); /* out and inout arrays; files are written */
void arguments_free(arguments *args);

void arguments_print(const arguments *args); /* for people: the first values of each result */
const char *arg_type_name(arg_type type);
size_t arg_type_size(arg_type type);
/* The value of an integer array, in decimal. */
void argument_integer_text(const argument *arg, uint64_t i, char out[24]);

/* "results": the out and inout arrays. */
void arguments_json(cli_json *json, const char *key, const arguments *args);
/* Compares the results with a document that has "results": OK, or INVALID_LAUNCH with reason RESULTS_DIFFER. */
slw_code arguments_expect(const arguments *args, const char *path, double tolerance, slw_error *err);

#endif
