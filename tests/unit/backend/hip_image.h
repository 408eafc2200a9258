/* Code objects and MessagePack written by hand, so that a test can have one thing wrong and all else right.
 *
 * Notes are written as text: {'.name': 'k', '.args': [8, -1, true, null]}, with ' for strings. */
#ifndef HIP_IMAGE_H
#define HIP_IMAGE_H

#include "hip_fixture.h"

typedef struct hip_bytes {
    uint8_t *data;
    size_t size, room;
} hip_bytes;

static inline void hip_put(hip_bytes *b, const void *data, size_t size) {
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size) + 256;
        b->data = realloc(b->data, b->room);
        ck_assert_ptr_nonnull(b->data);
    }
    if (size != 0) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void hip_put_little(hip_bytes *b, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) {
        uint8_t byte = i < 8 ? (uint8_t)(value >> (8 * i)) : 0;
        hip_put(b, &byte, 1);
    }
}

static inline void hip_put_big(hip_bytes *b, uint8_t head, uint64_t value, size_t width) {
    hip_put(b, &head, 1);
    for (size_t i = width; i > 0; i--) {
        uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));
        hip_put(b, &byte, 1);
    }
}

static inline void hip_align(hip_bytes *b, size_t alignment) {
    while (b->size % alignment != 0) hip_put(b, "", 1);
}

static inline void hip_set(hip_bytes *b, size_t at, uint64_t value, size_t width) {
    ck_assert_uint_le(at + width, b->size);
    for (size_t i = 0; i < width; i++) b->data[at + i] = (uint8_t)(value >> (8 * i));
}

/* ---- MessagePack ---- */

static inline const char *hip_blanks(const char *text) {
    while (*text == ' ' || *text == ',' || *text == ':') text++;
    return text;
}

static inline const char *hip_pack(hip_bytes *b, const char *text);

static inline const char *hip_pack_list(hip_bytes *b, const char *text, char close) {
    size_t head = b->size;
    uint32_t count = 0;
    hip_put_big(b, close == '}' ? 0xde : 0xdc, 0, 2);
    for (text = hip_blanks(text); *text != close; text = hip_blanks(text)) {
        text = hip_pack(b, text);
        count++;
    }
    if (close == '}') count /= 2;
    b->data[head + 1] = (uint8_t)(count >> 8);
    b->data[head + 2] = (uint8_t)count;
    return text + 1;
}

static inline const char *hip_pack_string(hip_bytes *b, const char *text) {
    const char *end = strchr(text, '\'');
    ck_assert_ptr_nonnull(end);
    size_t size = (size_t)(end - text);
    if (size < 32) {
        uint8_t head = (uint8_t)(0xa0 + size);
        hip_put(b, &head, 1);
    } else {
        hip_put_big(b, 0xda, size, 2);
    }
    hip_put(b, text, size);
    return end + 1;
}

static inline const char *hip_pack(hip_bytes *b, const char *text) {
    text = hip_blanks(text);
    if (*text == '{') return hip_pack_list(b, text + 1, '}');
    if (*text == '[') return hip_pack_list(b, text + 1, ']');
    if (*text == '\'') return hip_pack_string(b, text + 1);
    if (strncmp(text, "true", 4) == 0) return hip_put(b, "\xc3", 1), text + 4;
    if (strncmp(text, "null", 4) == 0) return hip_put(b, "\xc0", 1), text + 4;
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    ck_assert_msg(end != text, "no item: %s", text);
    if (value < 0) hip_put_big(b, 0xd3, (uint64_t)value, 8);
    if (value >= 0 && value < 128) hip_put_little(b, (uint64_t)value, 1);
    if (value >= 128 && value < 65536) hip_put_big(b, 0xcd, (uint64_t)value, 2);
    if (value >= 65536) hip_put_big(b, 0xcf, (uint64_t)value, 8);
    return end;
}

/* ---- a code object ---- */

typedef struct hip_kernel {
    const char *symbol; /* "k.kd" */
    uint32_t group, private_bytes, kernarg;
} hip_kernel;

typedef struct hip_image {
    hip_bytes file;
    size_t note_at, descriptors_at, symbols_at, strings_at, sections_at; /* in the file */
} hip_image;

#define HIP_PHDR(i)      (64 + 56 * (size_t)(i)) /* 0: notes, 1: data, 2: code */
#define HIP_SHDR(m, i)   ((m)->sections_at + 64 * (size_t)(i))
#define HIP_SHDR_NOTE    1
#define HIP_SHDR_SYMBOLS 2
#define HIP_SHDR_STRINGS 3

static inline void hip_phdr(hip_image *m, int i, uint32_t type, uint32_t flags, size_t at, size_t size) {
    hip_set(&m->file, HIP_PHDR(i), type, 4);
    hip_set(&m->file, HIP_PHDR(i) + 4, flags, 4);
    hip_set(&m->file, HIP_PHDR(i) + 8, at, 8);
    hip_set(&m->file, HIP_PHDR(i) + 16, at, 8);
    hip_set(&m->file, HIP_PHDR(i) + 32, size, 8);
    hip_set(&m->file, HIP_PHDR(i) + 40, size, 8);
}

static inline void hip_shdr(hip_image *m, uint32_t name, uint32_t type, size_t at, size_t size, uint32_t link,
                            size_t entry) {
    hip_put_little(&m->file, name, 4);
    hip_put_little(&m->file, type, 4);
    hip_put_little(&m->file, 0, 16); /* flags and address */
    hip_put_little(&m->file, at, 8);
    hip_put_little(&m->file, size, 8);
    hip_put_little(&m->file, link, 4);
    hip_put_little(&m->file, 0, 4 + 8);
    hip_put_little(&m->file, entry, 8);
}

static inline void hip_header(hip_image *m, uint32_t flags) {
    static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x40, 3};
    hip_put(&m->file, ident, sizeof(ident));
    hip_put_little(&m->file, 3, 2);
    hip_put_little(&m->file, 224, 2);
    hip_put_little(&m->file, 1, 4);
    hip_put_little(&m->file, 0, 8);
    hip_put_little(&m->file, 64, 8);
    hip_put_little(&m->file, 0, 8); /* of the sections: later */
    hip_put_little(&m->file, flags, 4);
    hip_put_little(&m->file, 64, 2);
    hip_put_little(&m->file, 56, 2);
    hip_put_little(&m->file, 3, 2);
    hip_put_little(&m->file, 64, 2);
    hip_put_little(&m->file, 5, 2);
    hip_put_little(&m->file, 4, 2);
    for (int i = 0; i < 3 * 56; i++) hip_put(&m->file, "", 1);
}

static inline void hip_put_note(hip_bytes *b, const void *document, size_t size) {
    hip_put_little(b, 7, 4);
    hip_put_little(b, size, 4);
    hip_put_little(b, 32, 4);
    hip_put(b, "AMDGPU\0", 8);
    hip_put(b, document, size);
    hip_align(b, 4);
}

/* `flags`: of the ELF header; 0x53f is gfx90a, either mode. Free it with hip_image_free. */
static inline hip_image hip_image_make(uint32_t flags, const void *document, size_t size, const hip_kernel *kernels,
                                       size_t count) {
    hip_image m;
    memset(&m, 0, sizeof(m));
    hip_bytes *b = &m.file;
    hip_header(&m, flags);
    hip_align(b, 16);
    m.note_at = b->size;
    hip_put_note(b, document, size);
    size_t note_size = b->size - m.note_at;
    hip_align(b, 64);
    m.descriptors_at = b->size;
    size_t code = m.descriptors_at + 64 * count;
    for (size_t i = 0; i < count; i++) {
        hip_put_little(b, kernels[i].group, 4);
        hip_put_little(b, kernels[i].private_bytes, 4);
        hip_put_little(b, kernels[i].kernarg, 8);
        hip_put_little(b, code - (m.descriptors_at + 64 * i), 8);
        for (int pad = 0; pad < 40; pad++) hip_put(b, "", 1);
    }
    for (int pad = 0; pad < 64; pad++) hip_put(b, "", 1); /* code */
    m.symbols_at = b->size;
    for (int pad = 0; pad < 24; pad++) hip_put(b, "", 1);
    uint32_t name = 1;
    for (size_t i = 0; i < count; i++) {
        hip_put_little(b, name, 4);
        hip_put_little(b, 0x11, 2); /* global object */
        hip_put_little(b, 1, 2);
        hip_put_little(b, m.descriptors_at + 64 * i, 8);
        hip_put_little(b, 64, 8);
        name += (uint32_t)strlen(kernels[i].symbol) + 1;
    }
    m.strings_at = b->size;
    hip_put(b, "", 1);
    for (size_t i = 0; i < count; i++) hip_put(b, kernels[i].symbol, strlen(kernels[i].symbol) + 1);
    size_t names_at = b->size;
    static const char names[] = "\0.note\0.dynsym\0.dynstr\0.shstrtab";
    hip_put(b, names, sizeof(names));
    hip_align(b, 8);
    m.sections_at = b->size;
    hip_shdr(&m, 0, 0, 0, 0, 0, 0);
    hip_shdr(&m, 1, 7, m.note_at, note_size, 0, 0);
    hip_shdr(&m, 7, 11, m.symbols_at, m.strings_at - m.symbols_at, 3, 24);
    hip_shdr(&m, 15, 3, m.strings_at, names_at - m.strings_at, 0, 0);
    hip_shdr(&m, 23, 3, names_at, sizeof(names), 0, 0);
    hip_set(b, 40, m.sections_at, 8);
    hip_phdr(&m, 0, 4, 4, m.note_at, note_size);
    hip_phdr(&m, 1, 1, 4, 0, code);
    hip_phdr(&m, 2, 1, 5, code, 64);
    return m;
}

/* As above, the note as text and one kernel "k" with 16, 4 and 8 bytes in its descriptor. */
static inline hip_image hip_image_of(uint32_t flags, const char *note) {
    static const hip_kernel kernel = {"k.kd", 16, 4, 8};
    hip_bytes document = {NULL, 0, 0};
    (void)hip_pack(&document, note);
    hip_image m = hip_image_make(flags, document.data, document.size, &kernel, 1);
    free(document.data);
    return m;
}

static inline void hip_image_free(hip_image *m) {
    free(m->file.data);
    m->file.data = NULL;
}

static inline slw_bytes hip_image_bytes(const hip_image *m) {
    slw_bytes bytes = {m->file.data, m->file.size};
    return bytes;
}

#define HIP_TARGET "'amdhsa.target':'amdgcn-amd-amdhsa--gfx90a'"
#define HIP_SIZES  "'.kernarg_segment_size':8,'.group_segment_fixed_size':16,'.private_segment_fixed_size':4"
#define HIP_ARG    "{'.offset':0,'.size':8,'.value_kind':'global_buffer'}"
#define HIP_ARGS   "'.args':[" HIP_ARG "]"
#define HIP_NAMES  "'.name':'k','.symbol':'k.kd'"
#define HIP_KERNEL HIP_NAMES "," HIP_SIZES "," HIP_ARGS
/* A note with that inside its only kernel. */
#define HIP_NOTE(inside) "{'amdhsa.kernels':[{" inside "}]," HIP_TARGET "}"

#endif
