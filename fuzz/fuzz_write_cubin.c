/* A module as a minimal well-formed cubin: what ptxas 13.0 and 12.x write for it, less what no launch needs. Made by looking
 * at their files with readelf, without the reader's source. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_kernels.h"

typedef struct file {
    uint8_t *out;
    size_t size, capacity;
} file;

typedef struct section {
    uint32_t name, type;
    uint64_t flags, offset, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
} section;

#define FIXED       7 /* null, .shstrtab, .strtab, .symtab, .nv.info, .nv.compat or a note, .note.nv.cuinfo */
#define PER_KERNEL  4 /* .nv.info.K, .text.K, .nv.shared.K, .nv.constant0.K */
#define SECTIONS    (FIXED + PER_KERNEL * FUZZ_KERNELS_MAX)
#define TEXT_BYTES  128u
#define LOPROC      0x70000000u
#define SYMBOL_SIZE 24u

typedef struct writer {
    file f;
    const fuzz_module *module;
    section sections[SECTIONS];
    uint32_t count;
    char names[16384]; /* .shstrtab */
    size_t names_size;
    uint32_t text_section[FUZZ_KERNELS_MAX];
    uint32_t symbol[FUZZ_KERNELS_MAX];
} writer;

static void put(file *f, const void *data, size_t size) {
    if (size > f->capacity - f->size) abort();
    memcpy(f->out + f->size, data, size);
    f->size += size;
}

static void zeros(file *f, size_t size) {
    if (size > f->capacity - f->size) abort();
    memset(f->out + f->size, 0, size);
    f->size += size;
}

static void number(file *f, uint64_t value, size_t bytes) {
    uint8_t raw[8];
    for (size_t i = 0; i < bytes; i++) raw[i] = (uint8_t)(value >> (8 * i));
    put(f, raw, bytes);
}

static void align(file *f, size_t alignment) {
    while (f->size % alignment != 0) zeros(f, 1);
}

static uint32_t section_name(writer *w, const char *stem, const char *kernel) {
    const size_t at = w->names_size, a = strlen(stem), b = strlen(kernel);
    if (a + b + 1 > sizeof w->names - at) abort();
    memcpy(w->names + at, stem, a);
    memcpy(w->names + at + a, kernel, b + 1);
    w->names_size += a + b + 1;
    return (uint32_t)at;
}

/* Starts a section where the file ends now; its size is set by `end`. */
static section *begin(writer *w, const char *stem, const char *kernel, uint32_t type, uint64_t alignment) {
    section *s = &w->sections[w->count++];
    align(&w->f, (size_t)alignment);
    s->name = section_name(w, stem, kernel);
    s->type = type;
    s->alignment = alignment;
    s->offset = w->f.size;
    return s;
}

static void end(writer *w, section *s) {
    s->size = w->f.size - s->offset;
}

/* ---- records of .nv.info ---- */

static void record(file *f, uint32_t format, uint32_t attribute, uint32_t value) {
    number(f, format, 1);
    number(f, attribute, 1);
    number(f, value, 2);
}

static void record_triple(file *f, uint32_t attribute, const uint32_t d[3]) {
    if (d[0] == 0) return;
    record(f, 4, attribute, 12);
    for (int i = 0; i < 3; i++) number(f, d[i], 4);
}

static void record_pair(file *f, uint32_t attribute, uint32_t symbol, uint32_t value) {
    record(f, 4, attribute, 8);
    number(f, symbol, 4);
    number(f, value, 4);
}

static uint32_t constant_base(uint32_t sm) {
    return sm < 90 ? 0x160 : sm < 100 ? 0x210 : 0x380;
}

static void put_params(const writer *w, file *f, const fuzz_kernel *k) {
    for (uint32_t i = k->param_count; i-- > 0;) {
        const fuzz_param *p = &k->params[i];
        const int wide = (w->module->odd & FUZZ_ODD_WIDE) != 0;
        record(f, 4, wide ? 0x45 : 0x17, 12);
        number(f, 0, 4);
        number(f, i, 2);
        number(f, p->offset_bytes, 2);
        /* Behind the size of a wide record: log2 of the pointee's alignment and its space, here 16 bytes, generic. */
        const uint64_t pointee = p->size_bytes == 8 ? 0x05040000 : 0;
        number(f, wide ? p->size_bytes | pointee : (uint64_t)p->size_bytes << 18 | 0x1f000, 4);
    }
}

static void put_kernel_info(writer *w, uint32_t index) {
    const fuzz_kernel *k = &w->module->kernels[index];
    section *s = begin(w, ".nv.info.", k->name, LOPROC, 4);
    file *f = &w->f;
    s->flags = 0x40;
    s->link = 3;
    s->info = w->text_section[index];
    if (k->blocks_are_clusters) record(f, 1, 0x5b, 0);
    record(f, 4, 0x37, 4);
    number(f, w->module->abi == 8 ? 130 : 120, 4);
    if (w->module->odd & FUZZ_ODD_ATTRIBUTES) {
        record(f, 4, 0xe7, 20);
        zeros(f, 20);
        record(f, 2, 0xe8, 1);
        record(f, 1, 0xe9, 0);
    }
    put_params(w, f, k);
    if (k->max_cluster_rank != 0) {
        record(f, 4, 0x3f, 4);
        number(f, k->max_cluster_rank, 4);
    }
    if (k->explicit_cluster) record(f, 1, 0x3e, 0);
    record_triple(f, 0x3d, k->cluster);
    record(f, 3, 0x1b, k->max_registers != 0 ? k->max_registers : 0xff);
    record_triple(f, 0x05, k->maxntid);
    record_triple(f, 0x10, k->reqntid);
    if (k->param_count != 0) {
        record(f, 3, 0x19, k->param_bytes);
        record(f, 4, 0x0a, 8);
        number(f, w->symbol[index], 4);
        number(f, constant_base(w->module->sm), 2);
        number(f, k->param_bytes, 2);
    }
    end(w, s);
}

static void put_global_info(writer *w) {
    section *s = begin(w, ".nv.info", "", LOPROC, 4);
    s->link = 3;
    for (uint32_t i = 0; i < w->module->kernel_count; i++) {
        const fuzz_kernel *k = &w->module->kernels[i];
        record_pair(&w->f, 0x2f, w->symbol[i], k->registers);
        record_pair(&w->f, 0x11, w->symbol[i], k->local_bytes);
        record_pair(&w->f, 0x12, w->symbol[i], k->local_bytes);
    }
    end(w, s);
}

/* ---- sections ---- */

/* Where the tools keep the 'a': e_flags up to ABI 7, this record from ABI 8. */
static void put_compat(writer *w) {
    if (w->module->abi != 8 || w->module->sm < 90) return;
    section *s = begin(w, ".nv.compat", "", LOPROC + 0x86, 4);
    record(&w->f, 2, 0x09, w->module->variant == 'a');
    record(&w->f, 2, 0x02, w->module->variant == 'a' ? 4 : 1);
    end(w, s);
}

static void put_cuinfo(writer *w) {
    section *s = begin(w, ".note.nv.cuinfo", "", 7, 4);
    number(&w->f, 12, 4);
    number(&w->f, 8, 4);
    number(&w->f, 1000, 4);
    put(&w->f, "NVIDIA Corp", 12);
    number(&w->f, 2, 2);
    number(&w->f, w->module->sm, 2);
    number(&w->f, w->module->abi == 8 ? 130 : 120, 4);
    end(w, s);
}

static void put_strings(writer *w, uint32_t name_of[FUZZ_KERNELS_MAX]) {
    section *s = begin(w, ".strtab", "", 3, 1);
    zeros(&w->f, 1);
    for (uint32_t i = 0; i < w->module->kernel_count; i++) {
        name_of[i] = (uint32_t)(w->f.size - s->offset);
        put(&w->f, w->module->kernels[i].name, strlen(w->module->kernels[i].name) + 1);
    }
    end(w, s);
}

static void put_symbols(writer *w, const uint32_t name_of[FUZZ_KERNELS_MAX]) {
    static const uint32_t bindings[] = {1, 2, 0};
    section *s = begin(w, ".symtab", "", 2, 8);
    s->link = 2;
    s->entry_size = SYMBOL_SIZE;
    s->info = 1;
    zeros(&w->f, SYMBOL_SIZE);
    for (uint32_t i = 0; i < w->module->kernel_count; i++) {
        const uint32_t at = (w->module->odd & FUZZ_ODD_REVERSE) ? w->module->kernel_count - 1 - i : i;
        number(&w->f, name_of[at], 4);
        number(&w->f, bindings[w->module->kernels[at].linkage] << 4 | 2, 1);
        number(&w->f, 0x10, 1);
        number(&w->f, w->text_section[at], 2);
        number(&w->f, 0, 8);
        number(&w->f, TEXT_BYTES, 8);
    }
    end(w, s);
}

static void put_kernel_sections(writer *w, uint32_t index) {
    const fuzz_kernel *k = &w->module->kernels[index];
    section *s = begin(w, ".text.", k->name, 1, 128);
    if (w->count - 1 != w->text_section[index]) abort();
    s->flags = 6;
    s->link = 3;
    s->info = (w->module->sm < 90 ? k->registers << 24 : 0) | w->symbol[index];
    zeros(&w->f, TEXT_BYTES);
    end(w, s);
    put_kernel_info(w, index);
    if (k->shared_bytes != 0) {
        s = begin(w, ".nv.shared.", k->name, 8, 4);
        s->flags = 0x43;
        s->info = w->text_section[index];
        s->size = k->shared_bytes + (w->module->sm >= 90 ? 1024 : 0);
    }
    s = begin(w, ".nv.constant0.", k->name, 1, 4);
    s->flags = 0x42;
    s->info = w->text_section[index];
    zeros(&w->f, constant_base(w->module->sm) + k->param_bytes);
    end(w, s);
}

/* Sections of kernels come after the fixed ones, so their numbers are known before any is written. */
static void number_sections(writer *w) {
    uint32_t next = 6u + (w->module->abi == 8 && w->module->sm >= 90);
    for (uint32_t n = 0; n < w->module->kernel_count; n++) {
        const uint32_t i = (w->module->odd & FUZZ_ODD_REVERSE) ? w->module->kernel_count - 1 - n : n;
        w->symbol[i] = 1 + n;
        w->text_section[i] = next;
        next += 3u + (w->module->kernels[i].shared_bytes != 0);
    }
}

static void put_section_headers(writer *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        const section *s = &w->sections[i];
        number(&w->f, s->name, 4);
        number(&w->f, s->type, 4);
        number(&w->f, s->flags, 8);
        number(&w->f, 0, 8);
        number(&w->f, s->offset, 8);
        number(&w->f, s->size, 8);
        number(&w->f, s->link, 4);
        number(&w->f, s->info, 4);
        number(&w->f, s->alignment, 8);
        number(&w->f, s->entry_size, 8);
    }
}

static uint32_t header_flags(const fuzz_module *m) {
    if (m->abi == 8) return 0x06000000u | m->sm << 8 | (m->sm >= 100 ? 2u : 4u);
    return m->sm << 16 | 0x500u | (m->variant == 'a' ? 0x800u : 0) | m->sm;
}

static void put_header(writer *w, uint64_t section_table) {
    const fuzz_module *m = w->module;
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    file head = {w->f.out, 0, 64};
    put(&head, magic, sizeof magic);
    number(&head, m->abi == 8 ? 0x41 : 0x33, 1);
    number(&head, m->abi, 1);
    zeros(&head, 7);
    number(&head, 2, 2);
    number(&head, 190, 2);
    number(&head, m->abi == 8 ? 1 : 120, 4);
    number(&head, 0, 8);
    number(&head, 0, 8);
    number(&head, section_table, 8);
    number(&head, header_flags(m), 4);
    number(&head, 64, 2);
    number(&head, 56, 2);
    number(&head, 0, 2);
    number(&head, 64, 2);
    number(&head, w->count, 2);
    number(&head, 1, 2);
}

size_t fuzz_write_cubin(const fuzz_module *module, uint8_t *out, size_t capacity) {
    writer w;
    uint32_t name_of[FUZZ_KERNELS_MAX] = {0};
    memset(&w, 0, sizeof w);
    w.f = (file){out, 0, capacity};
    w.module = module;
    number_sections(&w);
    zeros(&w.f, 64);
    w.count = 1; /* the null section */
    (void)section_name(&w, "", "");
    section *names = begin(&w, ".shstrtab", "", 3, 1); /* its bytes come last, when they are known */
    put_strings(&w, name_of);
    put_symbols(&w, name_of);
    put_global_info(&w);
    put_cuinfo(&w);
    put_compat(&w);
    for (uint32_t n = 0; n < module->kernel_count; n++)
        put_kernel_sections(&w, (module->odd & FUZZ_ODD_REVERSE) ? module->kernel_count - 1 - n : n);
    names->offset = w.f.size;
    put(&w.f, w.names, w.names_size);
    end(&w, names);
    align(&w.f, 8);
    const uint64_t section_table = w.f.size;
    put_section_headers(&w);
    put_header(&w, section_table);
    return w.f.size;
}
