/* Cubins. */
#include <string.h>

#include "hostile.h"

#define LOPROC 0x70000000u

typedef struct cubin {
    elf_file elf;
    blob strings, symbols, global;
} cubin;

static void begin(cubin *c, blob *out) {
    memset(c, 0, sizeof *c);
    elf_begin(&c->elf, out, 190, 2);
    c->elf.os_abi = 0x41;
    c->elf.abi_version = 8;
    c->elf.flags = 0x06005a04;
    blob_fill(&c->strings, 0, 1);
    elf_symbol(&c->symbols, 0, 0, 0, 0, 0, 0);
}

static void record(blob *b, uint32_t format, uint32_t attribute, uint32_t value) {
    blob_number(b, format, 1);
    blob_number(b, attribute, 1);
    blob_number(b, value, 2);
}

/* A kernel with its text; `name` has to live until the end. `pad` bytes are added to its code. */
static void kernel(cubin *c, const char *name, size_t pad) {
    const uint32_t symbol = (uint32_t)(c->symbols.size / 24);
    elf_section *s = elf_section_begin(&c->elf, ".text.", name, 1, 8);
    s->flags = 6;
    s->info = symbol;
    s->link = 3;
    blob_fill(c->elf.out, 0, 16 + pad);
    elf_section_end(&c->elf);
    elf_symbol(&c->symbols, (uint32_t)c->strings.size, 0x12, 0x10, (uint16_t)elf_section_index(&c->elf), 0, 16 + pad);
    blob_put(&c->strings, name, strlen(name) + 1);
    static const uint32_t attributes[] = {0x2f, 0x11, 0x12};
    for (int i = 0; i < 3; i++) {
        record(&c->global, 4, attributes[i], 8);
        blob_number(&c->global, symbol, 4);
        blob_number(&c->global, 8, 4);
    }
}

/* Its records come next, then elf_section_end. */
static void info(cubin *c, const char *name, size_t text) {
    elf_section *s = elf_section_begin(&c->elf, ".nv.info.", name, LOPROC, 4);
    s->flags = 0x40;
    s->info = (uint32_t)text;
    record(c->elf.out, 3, 0x1b, 0xff);
}

static void end(cubin *c) {
    elf_section *s = elf_section_begin(&c->elf, ".nv.info", "", LOPROC, 4);
    blob_put(c->elf.out, c->global.data, c->global.size);
    elf_section_end(&c->elf);
    s = elf_section_begin(&c->elf, ".strtab", "", 3, 1);
    blob_put(c->elf.out, c->strings.data, c->strings.size);
    elf_section_end(&c->elf);
    const size_t strings = elf_section_index(&c->elf);
    s = elf_section_begin(&c->elf, ".symtab", "", 2, 8);
    s->link = (uint32_t)strings;
    s->info = 1;
    s->entry_size = 24;
    blob_put(c->elf.out, c->symbols.data, c->symbols.size);
    elf_section_end(&c->elf);
    elf_end(&c->elf);
    blob_free(&c->strings);
    blob_free(&c->symbols);
    blob_free(&c->global);
}

static void plain(cubin *c, blob *out) {
    begin(c, out);
    kernel(c, "k", 0);
    const size_t text = elf_section_index(&c->elf);
    info(c, "k", text);
    elf_section_end(&c->elf);
}

static void symbols(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    const uint32_t name = (uint32_t)c.strings.size;
    blob_put(&c.strings, "object", 7);
    for (size_t i = 0; i < size / 24; i++) elf_symbol(&c.symbols, name, 0x11, 0, 1, i, 4);
    end(&c);
}

static void functions(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    const uint32_t name = (uint32_t)c.strings.size;
    blob_put(&c.strings, "$k$helper", 10);
    for (size_t i = 0; i < size / 24; i++) elf_symbol(&c.symbols, name, 0x02, 0, 1, i, 4);
    end(&c);
}

/* Names that are the ends of one another. */
static void names_over_names(size_t size, blob *b, uint8_t type, uint8_t other) {
    cubin c;
    plain(&c, b);
    const uint32_t first = (uint32_t)c.strings.size;
    const size_t count = size / 2 / 24;
    for (size_t i = 0; i < count; i += 100000) {
        blob_fill(&c.strings, 'a', 100000);
        blob_fill(&c.strings, 0, 1);
    }
    while (c.strings.size < size / 2) blob_fill(&c.strings, 'b', 1000);
    blob_fill(&c.strings, 0, 1);
    for (size_t i = 0; i < count; i++) elf_symbol(&c.symbols, first + (uint32_t)i, type, other, 1, i, 4);
    end(&c);
}

static void long_objects(size_t size, blob *b) {
    names_over_names(size, b, 0x11, 0);
}

static void long_kernels(size_t size, blob *b) {
    names_over_names(size, b, 0x12, 0x10);
}

static void same_kernel(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    for (size_t i = 0; i < size / 24; i++) elf_symbol(&c.symbols, 1, 0x12, 0x10, 1, 0, 16);
    end(&c);
}

static void unknown_records(size_t size, blob *b) {
    cubin c;
    begin(&c, b);
    kernel(&c, "k", 0);
    info(&c, "k", elf_section_index(&c.elf));
    while (b->size < size) record(b, 1, 0xe9, 0);
    elf_section_end(&c.elf);
    end(&c);
}

static void global_records(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    while (c.global.size < size) {
        record(&c.global, 4, 0x2f, 8);
        blob_number(&c.global, 1, 4);
        blob_number(&c.global, 8, 4);
    }
    end(&c);
}

static void same_parameter(size_t size, blob *b) {
    cubin c;
    begin(&c, b);
    kernel(&c, "k", 0);
    info(&c, "k", elf_section_index(&c.elf));
    for (uint32_t i = 0; b->size < size; i++) {
        record(b, 4, 0x17, 12);
        blob_number(b, 0, 4);
        blob_number(b, 4095 - i % 4096, 2);
        blob_number(b, (4095 - i % 4096) * 4, 2);
        blob_number(b, 4 << 18 | 0x1f000, 4);
    }
    elf_section_end(&c.elf);
    end(&c);
}

static char kernel_names[21000][512];

static void kernels_named(size_t size, blob *b, int length) {
    cubin c;
    const size_t count = 20000;
    begin(&c, b);
    for (size_t i = 0; i < count; i++) {
        memset(kernel_names[i], 'a', (size_t)length);
        for (size_t n = i, d = 0; d < 6; d++, n /= 10) kernel_names[i][(size_t)length - 1 - d] = (char)('0' + n % 10);
        kernel_names[i][length] = '\0';
        kernel(&c, kernel_names[i], size / count > 2000 ? size / count - 2000 : 0);
        const size_t text = elf_section_index(&c.elf);
        info(&c, kernel_names[i], text);
        record(b, 4, 0x17, 12);
        blob_number(b, 0, 8);
        blob_number(b, 8 << 18 | 0x1f000, 4);
        record(b, 3, 0x19, 8);
        record(b, 4, 0x0a, 8);
        blob_number(b, (uint32_t)(c.symbols.size / 24 - 1), 4);
        blob_number(b, 0x210, 2);
        blob_number(b, 8, 2);
        elf_section_end(&c.elf);
    }
    end(&c);
}

static void kernels(size_t size, blob *b) {
    kernels_named(size, b, 8);
}

static void kernels_long(size_t size, blob *b) {
    kernels_named(size, b, 500);
}

/* Names of sections that are the ends of one another, and more sections than kernels. */
static void sections(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    const uint32_t first = (uint32_t)c.elf.names.size;
    for (size_t i = 0; i < 65000; i += 8000) {
        blob_fill(&c.elf.names, 'a', 8000);
        blob_fill(&c.elf.names, 0, 1);
    }
    while (c.elf.names.size < size - 65000 * 64) blob_fill(&c.elf.names, 'b', 8000);
    blob_fill(&c.elf.names, 0, 1);
    for (uint32_t i = 0; i < 65000; i++) {
        elf_section *s = elf_section_begin(&c.elf, "", "", 1, 1);
        s->name_at = first + i;
        elf_section_end(&c.elf);
    }
    end(&c);
}

static void infos(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    while (c.elf.section_count < 65000) {
        (void)elf_section_begin(&c.elf, ".nv.info.", "x", LOPROC, 4);
        while (b->size < size / 65000 * c.elf.section_count) record(b, 1, 0xe9, 0);
        elf_section_end(&c.elf);
    }
    end(&c);
}

static void segments(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    while (b->size < size - 65000 * 56) blob_fill(b, 0, 4096);
    for (int i = 0; i < 65000; i++) elf_segment_add(&c.elf, 4, 4, 64, 0, 4096);
    end(&c);
}

static void note(size_t size, blob *b) {
    cubin c;
    plain(&c, b);
    (void)elf_section_begin(&c.elf, ".note.nv.tkinfo", "", 7, 4);
    while (b->size < size) {
        blob_number(b, 4, 4);
        blob_number(b, 0, 4);
        blob_number(b, 7, 4);
        blob_put(b, "NV\0", 4);
    }
    elf_section_end(&c.elf);
    end(&c);
}

const hostile_file hostile_cubin[] = {
    {"symbols", symbols},
    {"device functions", functions},
    {"object names over names", long_objects},
    {"kernel names over names", long_kernels},
    {"one kernel again and again", same_kernel},
    {"unknown records", unknown_records},
    {"global records", global_records},
    {"one parameter table again", same_parameter},
    {"20,000 kernels", kernels},
    {"20,000 long names", kernels_long},
    {"65,000 sections", sections},
    {"65,000 .nv.info.x", infos},
    {"65,000 segments", segments},
    {"notes", note},
    {NULL, NULL},
};
