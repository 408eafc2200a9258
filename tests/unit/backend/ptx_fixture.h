/* What the tests of the PTX scanner share: a head to write modules with, and how a refusal is checked. */
#ifndef PTX_FIXTURE_H
#define PTX_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx_read.h"
#include "ptx/ptx_scan.h"
#include "slt.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define BODY "{ ret; }\n"

static const slw_allocator ptx_heap = SLW_ALLOCATOR_INIT;

static inline slw_code ptx_scan(const void *text, size_t size, slwi_ptx_module *out, slw_error *err) {
    return slwi_ptx_scan(&ptx_heap, (slw_bytes){text, size}, "kernel.ptx", out, err);
}

/* The names in the order of the text, with commas. Valid until the next call. */
static inline const char *ptx_names(const slwi_ptx_module *module) {
    static char names[1 << 16];
    size_t at = 0;
    names[0] = '\0';
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        slw_bytes name = module->kernels[i].name;
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.*s", i == 0 ? "" : ",", (int)name.size,
                               (const char *)name.data);
        ck_assert_uint_lt(at, sizeof(names));
    }
    return names;
}

static inline void ptx_refused(const char *what, const void *text, size_t size, slw_code code, const char *reason,
                               slw_error *err) {
    slwi_ptx_module module;
    memset(&module, 0xa5, sizeof(module));
    slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    slw_code rc = ptx_scan(text, size, &module, err);
    ck_assert_msg(rc == code && err->reason != NULL && strcmp(err->reason, reason) == 0,
                  "%s: got %s (%s) %s, wanted %s", what, slw_code_name(rc), err->reason != NULL ? err->reason : "",
                  err->message, reason);
    slwi_ptx_module untouched;
    memset(&untouched, 0xa5, sizeof(untouched));
    ck_assert_mem_eq(&module, &untouched, sizeof(module));
}

/* The module of a text that must scan. Release with slwi_ptx_release. */
static inline slwi_ptx_module ptx_good(const char *what, const void *text, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slwi_ptx_module module;
    slw_code rc = ptx_scan(text, size, &module, &err);
    ck_assert_msg(rc == SLW_OK, "%s: %s (%s) at %u:%u: %s", what, slw_code_name(rc),
                  err.reason != NULL ? err.reason : "", err.line, err.column, err.message);
    return module;
}

static inline int ptx_bytes_are(slw_bytes bytes, const char *text) {
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

/* Calls `row` with the fields of each line but the first of a table. */
#define PTX_FIELDS_MAX 16
static inline void ptx_table(const char *fixture, void (*row)(char **fields, size_t count)) {
    char *text = slt_read_file(slt_fixture(fixture), NULL);
    char *line = strchr(text, '\n');
    ck_assert_ptr_nonnull(line);
    line++;
    while (*line != '\0') {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        char *fields[PTX_FIELDS_MAX];
        size_t count = 0;
        for (char *at = line; at != NULL;) {
            ck_assert_uint_lt(count, PTX_FIELDS_MAX);
            fields[count++] = at;
            at = strchr(at, '\t');
            if (at != NULL) *at++ = '\0';
        }
        row(fields, count);
        line = end + 1;
    }
    free(text);
}

#endif
