/* What the tests of the hip readers share: fixtures, tables, refusals. */
#ifndef HIP_FIXTURE_H
#define HIP_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amdgcn_read.h"
#include "backends.h"
#include "bundle_read.h"
#include "fault_alloc.h"
#include "slt.h"

static const slw_allocator hip_heap = SLW_ALLOCATOR_INIT;

static inline slw_bytes hip_file(const char *name) {
    char path[256];
    slw_bytes out;
    snprintf(path, sizeof(path), "hsaco/%s", name);
    out.data = slt_read_file(slt_fixture(path), &out.size);
    return out;
}

static inline void hip_free(slw_bytes bytes) {
    union {
        const void *from;
        void *to;
    } pun = {bytes.data};
    free(pun.to);
}

/* The contract of bytes that must be read; free it with slwi_contract_free. */
static inline slw_contract *hip_good(const char *what, slw_bytes binary) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = slwi_amdgcn_contract(&hip_heap, binary, what, &contract, &err);
    ck_assert_msg(rc == SLW_OK, "%s: %s (%s) at %llu: %s", what, slw_code_name(rc),
                  err.reason != NULL ? err.reason : "", (unsigned long long)err.offset_bytes, err.message);
    return contract;
}

static inline void hip_check_error(const char *what, slw_code rc, const slw_error *err, slw_code code,
                                   const char *reason, const char *subject) {
    ck_assert_msg(rc == code && err->reason != NULL && strcmp(err->reason, reason) == 0,
                  "%s: got %s (%s) %s, wanted %s (%s)", what, slw_code_name(rc), err->reason != NULL ? err->reason : "",
                  err->message, slw_code_name(code), reason);
    ck_assert_int_eq(err->code, code);
    if (subject != NULL) ck_assert_msg(strcmp(err->subject, subject) == 0, "%s: %s", what, err->subject);
}

static inline slw_error hip_refused(const char *what, slw_bytes binary, slw_code code, const char *reason,
                                    const char *subject) {
    slw_error err = SLW_ERROR_INIT;
    static slw_contract mark;
    slw_contract *contract = &mark;
    slw_code rc = slwi_amdgcn_contract(&hip_heap, binary, "kernel.hsaco", &contract, &err);
    hip_check_error(what, rc, &err, code, reason, subject);
    ck_assert_ptr_eq(contract, &mark);
    return err;
}

/* Calls `row` with the fields of each line but the first of a table. */
#define HIP_FIELDS_MAX 16
static inline void hip_table(const char *fixture, void (*row)(char **fields, size_t count)) {
    char *text = slt_read_file(slt_fixture(fixture), NULL);
    char *line = strchr(text, '\n');
    ck_assert_ptr_nonnull(line);
    line++;
    while (*line != '\0') {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        char *fields[HIP_FIELDS_MAX];
        size_t count = 0;
        for (char *at = line; at != NULL;) {
            ck_assert_uint_lt(count, HIP_FIELDS_MAX);
            fields[count++] = at;
            at = strchr(at, '\t');
            if (at != NULL) *at++ = '\0';
        }
        row(fields, count);
        line = end + 1;
    }
    free(text);
}

static inline uint32_t hip_number(const char *text) {
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 0);
    ck_assert_msg(end != text && *end == '\0', "%s is no number", text);
    return (uint32_t)value;
}

static inline uint64_t hip_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
