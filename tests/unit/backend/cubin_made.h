/* A cubin made here, of any size: kernels of chosen names with one pointer parameter each. */
#ifndef CUBIN_MADE_H
#define CUBIN_MADE_H

#include "cubin_fixture.h"

typedef struct cub_made {
    uint8_t *data;
    size_t size, room;
} cub_made;

static inline size_t made_add(cub_made *m, const void *bytes, size_t count) {
    size_t at = m->size;
    if (m->size + count > m->room) {
        m->room = (m->size + count) * 2;
        m->data = realloc(m->data, m->room);
        ck_assert_ptr_nonnull(m->data);
    }
    if (bytes != NULL) memcpy(m->data + at, bytes, count);
    if (bytes == NULL) memset(m->data + at, 0, count);
    m->size += count;
    return at;
}

static inline void made_number(cub_made *m, unsigned bytes, uint64_t value) {
    uint8_t text[8];
    cub_put(text, bytes, value);
    made_add(m, text, bytes);
}

static inline void made_section(cub_made *m, uint32_t type, uint64_t offset, uint64_t count, uint32_t link,
                                uint32_t info, uint64_t entry) {
    made_number(m, 4, 0);
    made_number(m, 4, type);
    made_number(m, 8, 0);
    made_number(m, 8, 0);
    made_number(m, 8, offset);
    made_number(m, 8, count);
    made_number(m, 4, link);
    made_number(m, 4, info);
    made_number(m, 8, 4);
    made_number(m, 8, entry);
}

static inline void made_sval(cub_made *m, unsigned attribute, const uint32_t *words, unsigned count) {
    uint8_t head[4] = {4, (uint8_t)attribute, (uint8_t)(4 * count), (uint8_t)((4 * count) >> 8)};
    made_add(m, head, 4);
    for (unsigned i = 0; i < count; i++) made_number(m, 4, words[i]);
}

/* Sections: 0 none, 1 names of symbols, 2 symbols, 3 .nv.info, 4 names of sections (empty ones), then two a kernel: its
   code (four bytes) and its records, which end with `padding` unknown ones. Names are given one behind another, each
   ended by NUL. */
static inline cub_made made_cubin(const char *names, uint32_t kernels, uint32_t padding) {
    cub_made m = {NULL, 0, 0};
    size_t names_bytes = 1;
    const char *name = names;
    for (uint32_t i = 0; i < kernels; i++) name += strlen(name) + 1;
    names_bytes += (size_t)(name - names);
    made_add(&m, NULL, 64);
    size_t strings = made_add(&m, "", 1);
    made_add(&m, names, names_bytes - 1);
    while (m.size % 8 != 0) made_add(&m, "", 1);
    size_t symbols = made_add(&m, NULL, 24);
    name = names;
    for (uint32_t i = 0; i < kernels; i++) {
        made_number(&m, 4, 1 + (uint64_t)(name - names));
        made_number(&m, 1, 0x12);
        made_number(&m, 1, 0x10);
        made_number(&m, 2, 5 + 2 * i);
        made_number(&m, 8, 0);
        made_number(&m, 8, 4);
        name += strlen(name) + 1;
    }
    size_t info = m.size;
    for (uint32_t i = 0; i < kernels; i++) made_sval(&m, 0x2f, (uint32_t[]){i + 1, 10 + i % 200}, 2);
    size_t info_end = m.size;
    size_t code = made_add(&m, NULL, 4);
    size_t first = m.size;
    size_t one = 0;
    for (uint32_t i = 0; i < kernels; i++) {
        size_t begin = m.size;
        made_sval(&m, 0x17, (uint32_t[]){0, 0, (8u << 18) | (4u << 8)}, 3);
        made_add(&m, (uint8_t[]){3, 0x19, 8, 0}, 4);
        for (uint32_t p = 0; p < padding; p++) made_add(&m, (uint8_t[]){2, 0xf0, 1, 0}, 4);
        one = m.size - begin;
    }
    while (m.size % 8 != 0) made_add(&m, "", 1);
    size_t headers = m.size;
    made_section(&m, 0, 0, 0, 0, 0, 0);
    made_section(&m, 3, strings, names_bytes, 0, 0, 0);
    made_section(&m, 2, symbols, 24 * ((uint64_t)kernels + 1), 1, 0, 24);
    made_section(&m, 0x70000000, info, info_end - info, 2, 0, 0);
    made_section(&m, 3, strings, 1, 0, 0, 0);
    for (uint32_t i = 0; i < kernels; i++) {
        made_section(&m, 1, code, 4, 2, 0, 0);
        made_section(&m, 0x70000000, first + i * one, one, 2, 5 + 2 * i, 0);
    }
    static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
    memcpy(m.data, ident, 16);
    cub_put(m.data + 16, 2, 2);
    cub_put(m.data + 18, 2, 190);
    cub_put(m.data + 20, 4, 1);
    cub_put(m.data + 40, 8, headers);
    cub_put(m.data + 48, 4, 0x06005a04);
    cub_put(m.data + 52, 2, 64);
    cub_put(m.data + 58, 2, 64);
    cub_put(m.data + 60, 2, 5 + 2 * (uint64_t)kernels);
    cub_put(m.data + 62, 2, 4);
    return m;
}

#endif
