#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static void *need(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

static void room(blob *b, size_t size) {
    if (size <= b->capacity - b->size) return;
    while (b->capacity - b->size < size) b->capacity = b->capacity == 0 ? 65536 : 2 * b->capacity;
    b->data = need(realloc(b->data, b->capacity));
}

void blob_put(blob *b, const void *data, size_t size) {
    room(b, size);
    if (size != 0) memcpy(b->data + b->size, data, size);
    b->size += size;
}

void blob_text(blob *b, const char *text) {
    blob_put(b, text, strlen(text));
}

void blob_format(blob *b, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof line) abort();
    blob_put(b, line, (size_t)n);
}

void blob_number(blob *b, uint64_t value, size_t bytes) {
    uint8_t raw[8];
    for (size_t i = 0; i < bytes; i++) raw[i] = (uint8_t)(value >> (8 * i));
    blob_put(b, raw, bytes);
}

void blob_big(blob *b, uint64_t value, size_t bytes) {
    uint8_t raw[8];
    for (size_t i = 0; i < bytes; i++) raw[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    blob_put(b, raw, bytes);
}

void blob_fill(blob *b, uint8_t value, size_t size) {
    room(b, size);
    memset(b->data + b->size, value, size);
    b->size += size;
}

void blob_align(blob *b, size_t alignment) {
    while (b->size % alignment != 0) blob_fill(b, 0, 1);
}

void blob_free(blob *b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}

/* ---- ELF ---- */

void elf_begin(elf_file *f, blob *out, uint16_t machine, uint16_t type) {
    memset(f, 0, sizeof *f);
    f->out = out;
    f->machine = machine;
    f->type = type;
    f->version = 1;
    blob_fill(out, 0, 64);
    blob_fill(&f->names, 0, 1);
    (void)elf_section_begin(f, "", "", 0, 1);
    f->sections[0].offset = 0;
}

elf_section *elf_section_begin(elf_file *f, const char *stem, const char *tail, uint32_t type, size_t alignment) {
    if (f->section_count == f->section_capacity) {
        f->section_capacity = f->section_capacity == 0 ? 64 : 2 * f->section_capacity;
        f->sections = need(realloc(f->sections, f->section_capacity * sizeof *f->sections));
    }
    blob_align(f->out, alignment);
    elf_section *s = &f->sections[f->section_count++];
    memset(s, 0, sizeof *s);
    s->stem = stem;
    s->tail = tail;
    s->type = type;
    s->offset = f->out->size;
    return s;
}

void elf_section_end(elf_file *f) {
    elf_section *s = &f->sections[f->section_count - 1];
    s->size = f->out->size - s->offset;
}

size_t elf_section_index(const elf_file *f) {
    return f->section_count - 1;
}

void elf_segment_add(elf_file *f, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size) {
    if (f->segment_count == f->segment_capacity) {
        f->segment_capacity = f->segment_capacity == 0 ? 64 : 2 * f->segment_capacity;
        f->segments = need(realloc(f->segments, f->segment_capacity * sizeof *f->segments));
    }
    f->segments[f->segment_count++] = (elf_segment){type, flags, offset, address, size};
}

void elf_symbol(blob *b, uint32_t name, uint8_t info, uint8_t other, uint16_t section, uint64_t value, uint64_t size) {
    blob_number(b, name, 4);
    blob_number(b, info, 1);
    blob_number(b, other, 1);
    blob_number(b, section, 2);
    blob_number(b, value, 8);
    blob_number(b, size, 8);
}

static void put_sections(elf_file *f) {
    for (size_t i = 0; i < f->section_count; i++) {
        const elf_section *s = &f->sections[i];
        blob_number(f->out, s->name_at, 4);
        blob_number(f->out, s->type, 4);
        blob_number(f->out, s->flags, 8);
        blob_number(f->out, s->address, 8);
        blob_number(f->out, s->offset, 8);
        blob_number(f->out, s->size, 8);
        blob_number(f->out, s->link, 4);
        blob_number(f->out, s->info, 4);
        blob_number(f->out, 1, 8);
        blob_number(f->out, s->entry_size, 8);
    }
}

static void put_segments(elf_file *f) {
    for (size_t i = 0; i < f->segment_count; i++) {
        const elf_segment *s = &f->segments[i];
        blob_number(f->out, s->type, 4);
        blob_number(f->out, s->flags, 4);
        blob_number(f->out, s->offset, 8);
        blob_number(f->out, s->address, 8);
        blob_number(f->out, s->address, 8);
        blob_number(f->out, s->size, 8);
        blob_number(f->out, s->size, 8);
        blob_number(f->out, 1, 8);
    }
}

static void name_sections(elf_file *f) {
    for (size_t i = 1; i < f->section_count; i++) {
        elf_section *s = &f->sections[i];
        if (s->name_at != 0) continue;
        s->name_at = (uint32_t)f->names.size;
        blob_text(&f->names, s->stem);
        blob_put(&f->names, s->tail, strlen(s->tail) + 1);
    }
}

static void put_header(elf_file *f, uint64_t segments, uint64_t sections) {
    blob head = {f->out->data, 0, 64};
    blob_put(&head,
             "\x7f"
             "ELF\x02\x01\x01",
             7);
    blob_number(&head, f->os_abi, 1);
    blob_number(&head, f->abi_version, 1);
    blob_fill(&head, 0, 7);
    blob_number(&head, f->type, 2);
    blob_number(&head, f->machine, 2);
    blob_number(&head, f->version, 4);
    blob_number(&head, 0, 8);
    blob_number(&head, f->segment_count != 0 ? segments : 0, 8);
    blob_number(&head, sections, 8);
    blob_number(&head, f->flags, 4);
    blob_number(&head, 64, 2);
    blob_number(&head, 56, 2);
    blob_number(&head, f->segment_count, 2);
    blob_number(&head, 64, 2);
    blob_number(&head, f->section_count, 2);
    blob_number(&head, f->section_count - 1, 2);
}

void elf_end(elf_file *f) {
    elf_section *names = elf_section_begin(f, ".shstrtab", "", 3, 1);
    name_sections(f);
    names = &f->sections[f->section_count - 1];
    blob_put(f->out, f->names.data, f->names.size);
    names->size = f->names.size;
    blob_align(f->out, 8);
    const uint64_t segments = f->out->size;
    put_segments(f);
    const uint64_t sections = f->out->size;
    put_sections(f);
    put_header(f, segments, sections);
    free(f->sections);
    free(f->segments);
    blob_free(&f->names);
}
