/* amdgcn code objects and host shared objects. */
#include <slipway/limits.h>
#include <string.h>

#include "hostile.h"

/* ---- MessagePack ---- */

static void text(blob *b, const char *s) {
    const size_t n = strlen(s);
    if (n < 32) {
        blob_number(b, 0xa0 | n, 1);
    } else {
        blob_number(b, 0xda, 1);
        blob_big(b, n, 2);
    }
    blob_put(b, s, n);
}

static void map(blob *b, uint32_t count) {
    blob_number(b, 0xdf, 1);
    blob_big(b, count, 4);
}

static void array(blob *b, uint32_t count) {
    blob_number(b, 0xdd, 1);
    blob_big(b, count, 4);
}

static void pair(blob *b, const char *key, uint32_t value) {
    text(b, key);
    blob_number(b, 0xce, 1);
    blob_big(b, value, 4);
}

static void note_kernel(blob *b, const char *name, uint32_t args) {
    char symbol[1024];
    (void)strcat(strcpy(symbol, name), ".kd");
    map(b, 9);
    text(b, ".args");
    array(b, args);
    for (uint32_t i = 0; i < args; i++) {
        map(b, 3);
        pair(b, ".offset", 8 * i);
        pair(b, ".size", 8);
        text(b, ".value_kind");
        text(b, "by_value");
    }
    pair(b, ".group_segment_fixed_size", 0);
    pair(b, ".kernarg_segment_align", 8);
    pair(b, ".kernarg_segment_size", 8 * args);
    pair(b, ".private_segment_fixed_size", 0);
    pair(b, ".sgpr_count", 8);
    pair(b, ".vgpr_count", 8);
    text(b, ".name");
    text(b, name);
    text(b, ".symbol");
    text(b, symbol);
}

/* ---- code objects ---- */

typedef struct object {
    elf_file elf;
    blob strings, symbols, rodata;
    size_t rodata_at;
    uint32_t args;
} object;

#define RODATA 0x1000000000u
#define TEXT   0x100u

static void open_object(object *o, blob *out) {
    memset(o, 0, sizeof *o);
    elf_begin(&o->elf, out, 224, 3);
    o->elf.os_abi = 64;
    o->elf.abi_version = 3;
    o->elf.flags = 0x3f;
    blob_fill(&o->strings, 0, 1);
    elf_symbol(&o->symbols, 0, 0, 0, 0, 0, 0);
    elf_section *s = elf_section_begin(&o->elf, ".text", "", 1, 256);
    s->address = TEXT;
    blob_fill(out, 0, 256);
    elf_section_end(&o->elf);
    elf_segment_add(&o->elf, 1, 5, o->elf.sections[1].offset, TEXT, 256);
}

static void descriptor(object *o, const char *name, uint32_t args) {
    const uint64_t at = RODATA + o->rodata.size;
    elf_symbol(&o->symbols, (uint32_t)o->strings.size, 0x11, 0, 1, at, 64);
    blob_text(&o->strings, name);
    blob_put(&o->strings, ".kd", 4);
    blob_number(&o->rodata, 0, 8);
    blob_number(&o->rodata, 8 * args, 4);
    blob_number(&o->rodata, 0, 4);
    blob_number(&o->rodata, TEXT - at, 8);
    blob_fill(&o->rodata, 0, 40);
}

static elf_section *open_note(object *o) {
    elf_section *s = elf_section_begin(&o->elf, ".note", "", 7, 4);
    blob_number(o->elf.out, 7, 4);
    blob_number(o->elf.out, 0, 4); /* its size: in close_note */
    blob_number(o->elf.out, 32, 4);
    blob_put(o->elf.out, "AMDGPU\0", 8);
    return s;
}

static void close_note(object *o, int with_segment) {
    blob *b = o->elf.out;
    elf_section_end(&o->elf);
    const elf_section *s = &o->elf.sections[o->elf.section_count - 1];
    blob size = {b->data + s->offset + 4, 0, 4};
    blob_number(&size, s->size - 20, 4);
    blob_align(b, 4);
    if (with_segment) elf_segment_add(&o->elf, 4, 4, s->offset, 0, (s->size + 3) & ~(uint64_t)3);
}

static void close_object(object *o) {
    blob *b = o->elf.out;
    elf_section *s = elf_section_begin(&o->elf, ".rodata", "", 1, 64);
    s->address = RODATA;
    blob_put(b, o->rodata.data, o->rodata.size);
    elf_section_end(&o->elf);
    elf_segment_add(&o->elf, 1, 4, o->elf.sections[elf_section_index(&o->elf)].offset, RODATA, o->rodata.size);
    (void)elf_section_begin(&o->elf, ".dynstr", "", 3, 1);
    blob_put(b, o->strings.data, o->strings.size);
    elf_section_end(&o->elf);
    const size_t strings = elf_section_index(&o->elf);
    s = elf_section_begin(&o->elf, ".dynsym", "", 11, 8);
    s->link = (uint32_t)strings;
    s->entry_size = 24;
    blob_put(b, o->symbols.data, o->symbols.size);
    elf_section_end(&o->elf);
    elf_end(&o->elf);
    blob_free(&o->strings);
    blob_free(&o->symbols);
    blob_free(&o->rodata);
}

static void root(blob *b, uint32_t extra, uint32_t kernels) {
    map(b, 2 + extra);
    text(b, "amdhsa.target");
    text(b, "amdgcn-amd-amdhsa--gfx90a");
    text(b, "amdhsa.kernels");
    array(b, kernels);
}

static void plain_note(object *o, blob *b, uint32_t extra) {
    (void)open_note(o);
    root(b, extra, 1);
    note_kernel(b, "k", 1);
    descriptor(o, "k", 1);
}

static void strings_in_note(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 1);
    text(b, "unknown");
    const uint32_t count = 4000000;
    array(b, count);
    for (uint32_t i = 0; i < count; i++) {
        const size_t n = size / count;
        blob_number(b, 0xa0 | (n - 1), 1);
        blob_fill(b, 'a', n - 1);
    }
    close_note(&o, 1);
    close_object(&o);
}

#define KEY_BYTES 33 /* of a key and its nil: as many as SLW_LIMIT_MSGPACK_ITEMS allows in 64 MiB */

static void keys_in_note(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 1);
    text(b, "unknown");
    /* As many in one map as may be, in no order. */
    const uint32_t maps = (uint32_t)(size / KEY_BYTES / SLW_LIMIT_MSGPACK_KEYS);
    array(b, maps);
    for (uint32_t i = 0; i < maps * SLW_LIMIT_MSGPACK_KEYS; i++) {
        if (i % SLW_LIMIT_MSGPACK_KEYS == 0) map(b, SLW_LIMIT_MSGPACK_KEYS);
        blob_number(b, 0xa0u | (KEY_BYTES - 2), 1);
        blob_format(b, "%0*u", KEY_BYTES - 2, i * 2654435761u);
        blob_number(b, 0xc0, 1);
    }
    close_note(&o, 1);
    close_object(&o);
}

static void root_keys(size_t size, blob *b) {
    object o;
    const uint32_t count = (uint32_t)(size / KEY_BYTES);
    open_object(&o, b);
    plain_note(&o, b, count);
    for (uint32_t i = 0; i < count; i++) {
        blob_number(b, 0xa0u | (KEY_BYTES - 2), 1);
        blob_format(b, "%0*u", KEY_BYTES - 2, i);
        blob_number(b, 0xc0, 1);
    }
    close_note(&o, 1);
    close_object(&o);
}

static void one_string(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 1);
    text(b, "unknown");
    blob_number(b, 0xdb, 1);
    blob_big(b, size, 4);
    blob_fill(b, 'a', size);
    close_note(&o, 1);
    close_object(&o);
}

static void kernels_of(size_t size, blob *b, uint32_t count, uint32_t args) {
    object o;
    char name[600];
    const size_t each = size / count;
    const size_t overhead = 300 + 64 + 24 + args * 50;
    size_t width = each > overhead + 40 ? (each - overhead) / 3 : 10;
    if (width > 200) width = 200;
    open_object(&o, b);
    (void)open_note(&o);
    root(b, 0, count);
    for (uint32_t i = 0; i < count; i++) {
        memset(name, 'a', width);
        name[width] = '\0';
        for (uint32_t n = i, d = 1; d < 8; d++, n /= 10) name[width - d] = (char)('0' + n % 10);
        note_kernel(b, name, args);
        descriptor(&o, name, args);
    }
    close_note(&o, 1);
    close_object(&o);
}

static void kernels(size_t size, blob *b) {
    kernels_of(size, b, 65000, 0);
}

static void arguments(size_t size, blob *b) {
    kernels_of(size, b, size / 210000 < 145 ? (uint32_t)(size / 210000) : 145,
               4000); /* as many as SLW_LIMIT_MSGPACK_ITEMS allows */
}

static void symbols(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 0);
    close_note(&o, 1);
    for (size_t i = 0; i < size / 32; i++) {
        char name[16] = "sym0000";
        for (size_t n = i, d = 0; d < 7; d++, n /= 10) name[6 - d] = (char)('0' + n % 10);
        elf_symbol(&o.symbols, (uint32_t)o.strings.size, 0x11, 0, 1, i, 64);
        blob_put(&o.strings, name, 8);
    }
    close_object(&o);
}

static void names_over_names(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 0);
    close_note(&o, 1);
    const uint32_t first = (uint32_t)o.strings.size;
    for (size_t i = 0; i < size / 2; i += 100000) {
        blob_fill(&o.strings, 'a', 100000);
        blob_fill(&o.strings, 0, 1);
    }
    for (size_t i = 0; i < size / 2 / 24; i++) elf_symbol(&o.symbols, first + (uint32_t)i, 0x11, 0, 1, i, 64);
    close_object(&o);
}

/* Every segment is the same long run of small notes of somebody else; the last holds ours. */
static void segments_of_notes(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    (void)elf_section_begin(&o.elf, ".note.x", "", 1, 4);
    while (b->size < size - 65000 * 56) {
        blob_number(b, 4, 4);
        blob_number(b, 0, 4);
        blob_number(b, 7, 4);
        blob_put(b, "GNU", 4);
    }
    elf_section_end(&o.elf);
    const elf_section *s = &o.elf.sections[o.elf.section_count - 1];
    for (int i = 0; i < 65000; i++) elf_segment_add(&o.elf, 4, 4, s->offset, 0, s->size);
    plain_note(&o, b, 0);
    close_note(&o, 1);
    close_object(&o);
}

static void sections_of_notes(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    (void)elf_section_begin(&o.elf, ".note.x", "", 7, 4);
    while (b->size < size - 60000 * 64) {
        blob_number(b, 4, 4);
        blob_number(b, 0, 4);
        blob_number(b, 7, 4);
        blob_put(b, "GNU", 4);
    }
    elf_section_end(&o.elf);
    const elf_section first = o.elf.sections[o.elf.section_count - 1];
    for (int i = 0; i < 60000; i++) {
        elf_section *s = elf_section_begin(&o.elf, ".n", "", 7, 1);
        s->offset = first.offset;
        s->size = first.size;
    }
    plain_note(&o, b, 0);
    close_note(&o, 0);
    close_object(&o);
}

static void deep(size_t size, blob *b) {
    object o;
    open_object(&o, b);
    plain_note(&o, b, 1);
    text(b, "unknown");
    blob_fill(b, 0x91, size);
    blob_fill(b, 0xc0, 1);
    close_note(&o, 1);
    close_object(&o);
}

const hostile_file hostile_amdgcn[] = {
    {"4,000,000 strings", strings_in_note},
    {"keys", keys_in_note},
    {"keys at the top", root_keys},
    {"one string", one_string},
    {"65,000 kernels", kernels},
    {"4,000 arguments each", arguments},
    {"symbols", symbols},
    {"names over names", names_over_names},
    {"65,000 segments of notes", segments_of_notes},
    {"60,000 sections of notes", sections_of_notes},
    {"arrays in arrays", deep},
    {NULL, NULL},
};

/* ---- host shared objects ---- */

static void open_host(elf_file *f, blob *b) {
#if defined(__aarch64__)
    elf_begin(f, b, 183, 3);
#else
    elf_begin(f, b, 62, 3);
#endif
}

static void host_record(blob *b, uint32_t index, uint32_t params) {
    char name[128] = "kernel";
    for (uint32_t n = index, d = 0; d < 8; d++, n /= 10) name[6 + d] = (char)('0' + n % 10);
    blob_number(b, 1, 4);
    blob_number(b, 256 + 64 * params, 4);
    blob_number(b, 0, 4);
    blob_number(b, params, 4);
    blob_put(b, name, sizeof name);
    blob_fill(b, 0, 112);
    for (uint32_t i = 0; i < params; i++) {
        blob_put(b, "parameter", 9);
        blob_fill(b, 0, 23);
        blob_number(b, 8, 4);
        blob_number(b, 8, 4);
        blob_number(b, 2, 4);
        blob_fill(b, 0, 20);
    }
}

/* The dynamic part: symbols of the kernels (`count`), all in one loaded segment. */
static void close_host(elf_file *f, uint32_t count, size_t filler, size_t dynamic_filler, int segments) {
    blob *b = f->out;
    blob_align(b, 4096);
    const uint64_t base = b->size;
    elf_section *s = elf_section_begin(f, ".text", "", 1, 64);
    s->address = base;
    s->flags = 6;
    blob_fill(b, 0xc3, 64);
    elf_section_end(f);
    s = elf_section_begin(f, ".dynstr", "", 3, 1);
    const uint64_t strings = s->address = b->size;
    blob_fill(b, 0, 1);
    for (uint32_t i = 0; i < count; i++) {
        char name[16] = "kernel";
        for (uint32_t n = i, d = 0; d < 8; d++, n /= 10) name[6 + d] = (char)('0' + n % 10);
        blob_put(b, name, 15);
    }
    blob_put(b, "filler", 7);
    const uint64_t strings_size = b->size - strings;
    elf_section_end(f);
    const uint32_t strings_index = (uint32_t)elf_section_index(f);
    s = elf_section_begin(f, ".dynsym", "", 11, 8);
    const uint64_t symbols = s->address = b->size;
    s->link = strings_index;
    s->entry_size = 24;
    elf_symbol(b, 0, 0, 0, 0, 0, 0);
    for (uint32_t i = 0; i < count; i++) elf_symbol(b, 1 + 15 * i, 0x12, 0, 2, base, 16);
    for (size_t i = 0; i < filler / 24; i++) elf_symbol(b, 1 + 15 * count, 0x12, 0, 2, base + i % 32, 16);
    elf_section_end(f);
    const uint64_t symbol_count = (b->size - symbols) / 24;
    const uint64_t hash = b->size;
    blob_number(b, 1, 4);
    blob_number(b, symbol_count, 4);
    blob_fill(b, 0, 4 + 4 * symbol_count);
    blob_align(b, 8);
    const uint64_t dynamic = b->size;
    const uint64_t entries[][2] = {{5, strings}, {10, strings_size}, {6, symbols}, {11, 24}, {4, hash}};
    for (size_t i = 0; i < 5; i++) {
        blob_number(b, entries[i][0], 8);
        blob_number(b, entries[i][1], 8);
    }
    for (size_t i = 0; i < dynamic_filler / 16; i++) {
        blob_number(b, 1, 8);
        blob_number(b, 1 + 15 * count, 8);
    }
    blob_fill(b, 0, 16);
    elf_segment_add(f, 1, 5, 0, 0, b->size);
    for (int i = 0; i < segments; i++) elf_segment_add(f, 1, 4, 0, b->size + 4096 * ((uint64_t)i + 1), 4096);
    elf_segment_add(f, 2, 6, dynamic, dynamic, b->size - dynamic);
    elf_end(f);
}

static void host_of(size_t size, blob *b, uint32_t count, uint32_t params, size_t filler, size_t dynamic,
                    int segments) {
    elf_file f;
    open_host(&f, b);
    elf_section *s = elf_section_begin(&f, ".slipway.kernels", "", 1, 64);
    s->flags = 2;
    s->address = s->offset;
    for (uint32_t i = 0; i < count; i++) host_record(b, i, params);
    elf_section_end(&f);
    (void)size;
    close_host(&f, count, filler, dynamic, segments);
}

static void host_kernels(size_t size, blob *b) {
    host_of(size, b, size / 320 < 65000 ? (uint32_t)(size / 320) : 65000, 0, 0, 0, 0);
}

static void host_params(size_t size, blob *b) {
    host_of(size, b, (uint32_t)(size / (256 + 64 * 64)), 64, 0, 0, 0);
}

static void host_symbols(size_t size, blob *b) {
    host_of(size, b, 1, 1, size / 28 * 24, 0, 0);
}

static void host_dynamic(size_t size, blob *b) {
    host_of(size, b, 1, 1, 0, size, 0);
}

static void host_segments(size_t size, blob *b) {
    host_of(size, b, 20000, 1, (size - 20000 * 320) / 28 * 24, 0, 65000);
}

const hostile_file hostile_host[] = {
    {"kernels", host_kernels},
    {"64 parameters each", host_params},
    {"symbols", host_symbols},
    {"needed libraries", host_dynamic},
    {"kernels, symbols and 65,000 segments", host_segments},
    {NULL, NULL},
};
