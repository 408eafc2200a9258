/* What the tests of the cubin and fatbin readers share: fixtures as bytes, places in them, how a refusal is checked. */
#ifndef CUBIN_FIXTURE_H
#define CUBIN_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "cuda/cubin_read.h"
#include "cuda/fatbin_read.h"
#include "slt.h"

static const slw_allocator cub_heap = SLW_ALLOCATOR_INIT;

static inline uint8_t *cub_load(const char *kind, const char *file, size_t *size) {
    return (uint8_t *)slt_read_file(slt_fixture(slt_path(kind, file, NULL)), size);
}

static inline uint64_t cub_get(const uint8_t *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static inline void cub_put(uint8_t *at, unsigned bytes, uint64_t value) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* The header of the section of that name. */
static inline uint8_t *cub_section(uint8_t *data, const char *name) {
    uint8_t *headers = data + cub_get(data + 40, 8);
    uint64_t count = cub_get(data + 60, 2);
    uint8_t *names = headers + 64 * cub_get(data + 62, 2);
    const char *text = (const char *)data + cub_get(names + 24, 8);
    for (uint64_t i = 1; i < count; i++) {
        if (strcmp(text + cub_get(headers + 64 * i, 4), name) == 0) return headers + 64 * i;
    }
    ck_abort_msg("no section %s", name);
    return NULL;
}

/* The record of that attribute in a section; NULL: none. */
static inline uint8_t *cub_record_or_null(uint8_t *data, const char *section, unsigned attribute) {
    uint8_t *header = cub_section(data, section);
    uint8_t *at = data + cub_get(header + 24, 8);
    uint8_t *end = at + cub_get(header + 32, 8);
    while (at < end) {
        if (at[1] == attribute) return at;
        at += 4 + (at[0] == 4 ? cub_get(at + 2, 2) : 0);
    }
    return NULL;
}

static inline uint8_t *cub_record(uint8_t *data, const char *section, unsigned attribute) {
    uint8_t *record = cub_record_or_null(data, section, attribute);
    ck_assert_msg(record != NULL, "no record 0x%x in %s", attribute, section);
    return record;
}

/* The symbol of that name in .symtab. */
static inline uint8_t *cub_symbol(uint8_t *data, const char *name) {
    uint8_t *table = cub_section(data, ".symtab");
    uint8_t *strings = data + cub_get(data + 40, 8) + 64 * cub_get(table + 40, 4);
    const char *text = (const char *)data + cub_get(strings + 24, 8);
    uint8_t *at = data + cub_get(table + 24, 8);
    uint8_t *end = at + cub_get(table + 32, 8);
    for (; at < end; at += 24) {
        if (strcmp(text + cub_get(at, 4), name) == 0 && (at[4] & 15) == 2) return at;
    }
    ck_abort_msg("no symbol %s", name);
    return NULL;
}

static inline slw_contract *cub_good(const char *what, const void *data, size_t size) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = slwi_cubin_contract(&cub_heap, (slw_bytes){data, size}, NULL, &contract, &err);
    ck_assert_msg(rc == SLW_OK, "%s: %s (%s) %s", what, slw_code_name(rc), err.reason != NULL ? err.reason : "",
                  err.message);
    return contract;
}

static inline void cub_refused(const char *what, const void *data, size_t size, slw_code code, const char *reason,
                               slw_error *err) {
    slw_contract *contract = NULL;
    slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    slw_code rc = slwi_cubin_contract(&cub_heap, (slw_bytes){data, size}, "x.cubin", &contract, err);
    ck_assert_msg(rc == code && err->reason != NULL && strcmp(err->reason, reason) == 0,
                  "%s: got %s (%s) %s, wanted %s", what, slw_code_name(rc), err->reason != NULL ? err->reason : "",
                  err->message, reason);
    ck_assert_ptr_null(contract);
}

/* Calls `row` with the fields of each line but the first of a table. */
#define CUB_FIELDS_MAX 20
static inline void cub_table(const char *fixture, void (*row)(char **fields, size_t count)) {
    char *text = slt_read_file(slt_fixture(fixture), NULL);
    char *line = strchr(text, '\n');
    ck_assert_ptr_nonnull(line);
    line++;
    while (*line != '\0') {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        char *fields[CUB_FIELDS_MAX];
        size_t count = 0;
        for (char *at = line; at != NULL;) {
            ck_assert_uint_lt(count, CUB_FIELDS_MAX);
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
