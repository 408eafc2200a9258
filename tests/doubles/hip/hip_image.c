/* Code objects and bundles of them, read the way the run-time does: with the sizes they state. */
#include "hip_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 30)

typedef struct span {
    const unsigned char *at;
    uint64_t size;
} span;

static uint64_t number(span s, uint64_t offset, unsigned bytes) {
    uint64_t value = 0;
    if (offset > s.size || bytes > s.size - offset) return 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)s.at[offset + i] << (8 * i);
    return value;
}

/* ---- Where the image lies -------------------------------------------------------------------------------- */

int dhip_image_of_file(const void *image) {
    FILE *const maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int code = DHIP_OK;
    if (maps == NULL) return DHIP_OK;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long long from = 0, to = 0, inode = 0;
        if (sscanf(line, "%llx-%llx %*s %*s %*s %llu", &from, &to, &inode) != 3) continue;
        if ((uintptr_t)image < from || (uintptr_t)image >= to || inode == 0) continue;
        double_violation("the image lies in a file's mapping");
        code = strstr(line, "(deleted)") != NULL ? DHIP_FILE_NOT_FOUND : DHIP_OK;
    }
    fclose(maps);
    return code;
}

uint64_t dhip_image_hash(const unsigned char *image, uint64_t size, int *readable) {
    unsigned char bytes[4096];
    uint64_t hash = UINT64_C(14695981039346656037);
    *readable = 1;
    for (uint64_t at = 0; at < size; at += sizeof bytes) {
        const size_t step = size - at < sizeof bytes ? (size_t)(size - at) : sizeof bytes;
        if (double_read(image + at, bytes, step) != step) {
            *readable = 0;
            return hash;
        }
        hash = double_hash(hash, bytes, step);
    }
    return hash;
}

/* ---- Taking it ------------------------------------------------------------------------------------------- */

/* By the section table alone, as the run-time does. */
static uint64_t elf_size(const unsigned char head[64]) {
    const span h = {head, 64};
    return number(h, 40, 8) + number(h, 58, 2) * number(h, 60, 2);
}

static int runs_on(span elf, const dhip_device_facts *facts) {
    if (elf.size < 64 || number(elf, 18, 2) != 224) return DHIP_INVALID_IMAGE;
    const uint64_t flags = number(elf, 48, 4);
    if ((flags & 0xff) != facts->mach) return DHIP_NO_BINARY_FOR_GPU;
    const unsigned xnack = (unsigned)(flags >> 8 & 3), sramecc = (unsigned)(flags >> 10 & 3);
    if ((xnack > 1 && xnack != facts->xnack) || (sramecc > 1 && sramecc != facts->sramecc)) {
        return DHIP_NO_BINARY_FOR_GPU;
    }
    return DHIP_OK;
}

static int take(const unsigned char *image, uint64_t size, unsigned char **copy) {
    if (size == 0 || size >= MOST_BYTES) return DHIP_INVALID_IMAGE;
    unsigned char *const bytes = malloc((size_t)size);
    if (bytes == NULL) return DHIP_OUT_OF_MEMORY;
    if (double_read(image, bytes, (size_t)size) != size) {
        double_violation("the image says it has %llu bytes and they cannot all be read", (unsigned long long)size);
        free(bytes);
        return DHIP_INVALID_IMAGE;
    }
    *copy = bytes;
    return DHIP_OK;
}

/* The end of the farthest entry; 0 for what is no bundle. */
static uint64_t bundle_size(const unsigned char *image) {
    unsigned char head[32], entry[24];
    if (double_read(image, head, 32) != 32 || memcmp(head, "__CLANG_OFFLOAD_BUNDLE__", 24) != 0) return 0;
    uint64_t end = 32, at = 32;
    for (uint64_t n = number((span){head, 32}, 24, 8); n > 0 && at < MOST_BYTES; n--) {
        if (double_read(image + at, entry, 24) != 24) return MOST_BYTES;
        const span e = {entry, 24};
        if (number(e, 0, 8) + number(e, 8, 8) > end) end = number(e, 0, 8) + number(e, 8, 8);
        at += 24 + number(e, 16, 8);
    }
    return end > at ? end : at;
}

static int choose(span bundle, const dhip_device_facts *facts, uint64_t *offset, uint64_t *size) {
    uint64_t at = 32;
    for (uint64_t n = number(bundle, 24, 8); n > 0; n--) {
        const uint64_t from = number(bundle, at, 8), length = number(bundle, at + 8, 8),
                       id = number(bundle, at + 16, 8);
        const int device = id > 3 && at + 24 + id <= bundle.size && memcmp(bundle.at + at + 24, "hip", 3) == 0;
        if (device && from <= bundle.size && length <= bundle.size - from &&
            runs_on((span){bundle.at + from, length}, facts) == DHIP_OK) {
            *offset = from;
            *size = length;
            return DHIP_OK;
        }
        at += 24 + id;
    }
    return DHIP_NO_BINARY_FOR_GPU;
}

int dhip_image_take(const void *image, const dhip_device_facts *facts, uint64_t *whole, unsigned char **copy,
                    size_t *size) {
    unsigned char head[64];
    uint64_t offset = 0, length = bundle_size(image);
    const int bundled = length != 0;
    if (!bundled) {
        if (double_read(image, head, 64) != 64 || memcmp(head, "\177ELF", 4) != 0) return DHIP_INVALID_IMAGE;
        length = elf_size(head);
    }
    int code = take(image, length, copy);
    if (code != DHIP_OK) return code;
    *whole = length;
    *size = (size_t)length;
    const span all = {*copy, length};
    if (bundled) {
        code = choose(all, facts, &offset, &length);
        if (code == DHIP_OK) memmove(*copy, *copy + offset, (size_t)length);
        *size = (size_t)length;
    } else {
        code = runs_on(all, facts);
    }
    if (code != DHIP_OK) free(*copy);
    return code;
}

/* ---- The note: MessagePack, big-endian ------------------------------------------------------------------- */

enum { PACK_BAD, PACK_INT, PACK_TEXT, PACK_LIST, PACK_MAP, PACK_OTHER };
typedef struct pack {
    const unsigned char *at, *end;
} pack;
typedef struct value {
    int kind;
    uint64_t number; /* or how many elements, or bytes of text */
    const char *text;
} value;

static uint64_t big(pack *p, unsigned bytes) {
    uint64_t result = 0;
    if ((size_t)(p->end - p->at) < bytes) {
        p->at = p->end;
        return 0;
    }
    while (bytes-- > 0) result = result << 8 | *p->at++;
    return result;
}

static value text_of(pack *p, uint64_t length) {
    const value v = {PACK_TEXT, length, (const char *)p->at};
    if (length > (uint64_t)(p->end - p->at)) return (value){PACK_BAD, 0, NULL};
    p->at += length;
    return v;
}

static value next(pack *p) {
    if (p->at >= p->end) return (value){PACK_BAD, 0, NULL};
    const unsigned tag = *p->at++;
    if (tag < 0x80) return (value){PACK_INT, tag, NULL};
    if (tag < 0x90) return (value){PACK_MAP, tag & 15u, NULL};
    if (tag < 0xa0) return (value){PACK_LIST, tag & 15u, NULL};
    if (tag < 0xc0) return text_of(p, tag & 31u);
    if (tag >= 0xcc && tag <= 0xcf) return (value){PACK_INT, big(p, 1u << (tag - 0xcc)), NULL};
    if (tag >= 0xd9 && tag <= 0xdb) return text_of(p, big(p, 1u << (tag - 0xd9)));
    if (tag == 0xdc || tag == 0xdd) return (value){PACK_LIST, big(p, tag == 0xdc ? 2 : 4), NULL};
    if (tag == 0xde || tag == 0xdf) return (value){PACK_MAP, big(p, tag == 0xde ? 2 : 4), NULL};
    if (tag == 0xc0 || tag == 0xc2 || tag == 0xc3) return (value){PACK_OTHER, tag == 0xc3, NULL};
    return (value){PACK_BAD, 0, NULL};
}

static void skip(pack *p) {
    for (uint64_t left = 1; left > 0 && p->at < p->end; left--) {
        const value v = next(p);
        if (v.kind == PACK_LIST) left += v.number;
        if (v.kind == PACK_MAP) left += 2 * v.number;
    }
}

static int is(value v, const char *text) {
    return v.kind == PACK_TEXT && v.number == strlen(text) && memcmp(v.text, text, (size_t)v.number) == 0;
}

/* One of .args: its size, or 0 for what the caller does not pass. */
static uint32_t argument(pack *p) {
    uint32_t size = 0;
    int hidden = 0;
    const value map = next(p);
    for (uint64_t i = 0; map.kind == PACK_MAP && i < map.number && p->at < p->end; i++) {
        const value key = next(p);
        if (is(key, ".size")) {
            size = (uint32_t)next(p).number;
        } else if (is(key, ".value_kind")) {
            const value kind = next(p);
            hidden = kind.kind == PACK_TEXT && kind.number > 7 && memcmp(kind.text, "hidden_", 7) == 0;
        } else {
            skip(p);
        }
    }
    return hidden ? 0 : size;
}

static void arguments(pack *p, dhip_function *f) {
    const value list = next(p);
    f->param_sizes = calloc((size_t)list.number + 1, sizeof *f->param_sizes);
    for (uint64_t i = 0; list.kind == PACK_LIST && i < list.number && p->at < p->end; i++) {
        const uint32_t size = argument(p);
        if (size != 0 && f->param_sizes != NULL) f->param_sizes[f->param_count++] = size;
    }
}

static int kernel(pack *p, dhip_module *module) {
    dhip_function *const f = dhip_function_new(module, "", 0);
    const value map = next(p);
    if (f == NULL || map.kind != PACK_MAP) return DHIP_INVALID_IMAGE;
    for (uint64_t i = 0; i < map.number && p->at < p->end; i++) {
        const value key = next(p);
        if (is(key, ".args")) {
            arguments(p, f);
        } else if (is(key, ".name")) {
            const value name = next(p);
            free(f->name);
            f->name = strndup(name.text == NULL ? "" : name.text, (size_t)name.number);
        } else if (is(key, ".group_segment_fixed_size")) {
            f->shared_bytes = (uint32_t)next(p).number;
        } else if (is(key, ".private_segment_fixed_size")) {
            f->local_bytes = (uint32_t)next(p).number;
        } else if (is(key, ".max_flat_workgroup_size")) {
            f->most_threads = (uint32_t)next(p).number;
        } else if (is(key, ".vgpr_count")) {
            f->registers = (uint32_t)next(p).number;
        } else {
            skip(p);
        }
    }
    return f->name != NULL ? DHIP_OK : DHIP_OUT_OF_MEMORY;
}

static int note(dhip_module *module, const unsigned char *at, uint64_t size) {
    pack p = {at, at + size};
    const value map = next(&p);
    for (uint64_t i = 0; map.kind == PACK_MAP && i < map.number && p.at < p.end; i++) {
        if (!is(next(&p), "amdhsa.kernels")) {
            skip(&p);
            continue;
        }
        const value list = next(&p);
        for (uint64_t k = 0; list.kind == PACK_LIST && k < list.number; k++) {
            const int code = kernel(&p, module);
            if (code != DHIP_OK) return code;
        }
    }
    return DHIP_OK;
}

/* ---- The rest of it -------------------------------------------------------------------------------------- */

static int notes(dhip_module *module, span elf) {
    for (uint64_t i = 0; i < number(elf, 56, 2); i++) {
        const uint64_t header = number(elf, 32, 8) + 56 * i;
        if (number(elf, header, 4) != 4) continue;
        uint64_t at = number(elf, header + 8, 8);
        const uint64_t end = at + number(elf, header + 32, 8);
        while (at + 12 <= end && end <= elf.size) {
            const uint64_t name = number(elf, at, 4), size = number(elf, at + 4, 4);
            const uint64_t bytes = at + 12 + (name + 3) / 4 * 4;
            if (bytes + size > elf.size) return DHIP_INVALID_IMAGE;
            if (number(elf, at + 8, 4) == 32 && name == 7) return note(module, elf.at + bytes, size);
            at = bytes + (size + 3) / 4 * 4;
        }
    }
    return DHIP_INVALID_IMAGE;
}

static int global(dhip_module *module, span elf, const char *name, uint64_t section, uint64_t address, uint64_t size) {
    dhip_global *const more = realloc(module->globals, (module->global_count + 1) * sizeof *more);
    if (more == NULL) return DHIP_OUT_OF_MEMORY;
    module->globals = more;
    const uint64_t memory = double_memory_alloc(size, &dhip_devices[module->device], module);
    char *const copy = strdup(name);
    if (memory == 0 || copy == NULL) {
        free(copy);
        return DHIP_OUT_OF_MEMORY;
    }
    const uint64_t header = number(elf, 40, 8) + 64 * section;
    const uint64_t from = number(elf, header + 24, 8) + (address - number(elf, header + 16, 8));
    if (number(elf, header + 4, 4) != 8 && from <= elf.size && size <= elf.size - from) {
        memcpy((void *)(uintptr_t)memory, elf.at + from, (size_t)size);
    }
    more[module->global_count++] = (dhip_global){copy, memory, size};
    return DHIP_OK;
}

/* Objects of the dynamic symbol table that are not kernel descriptors. */
static int globals(dhip_module *module, span elf) {
    for (uint64_t i = 0; i < number(elf, 60, 2); i++) {
        const uint64_t header = number(elf, 40, 8) + 64 * i;
        if (number(elf, header + 4, 4) != 11) continue;
        const uint64_t strings = number(elf, 40, 8) + 64 * number(elf, header + 40, 4);
        for (uint64_t s = 0; s < number(elf, header + 32, 8) / 24; s++) {
            const uint64_t symbol = number(elf, header + 24, 8) + 24 * s;
            const uint64_t name = number(elf, strings + 24, 8) + number(elf, symbol, 4);
            const uint64_t size = number(elf, symbol + 16, 8), section = number(elf, symbol + 6, 2);
            if (name >= elf.size || (number(elf, symbol + 4, 1) & 15) != 1 || section == 0 || size == 0) continue;
            const char *const text = (const char *)elf.at + name;
            const size_t length = strnlen(text, (size_t)(elf.size - name));
            if (length > 3 && memcmp(text + length - 3, ".kd", 3) == 0) continue;
            const int code = global(module, elf, text, section, number(elf, symbol + 8, 8), size);
            if (code != DHIP_OK) return code;
        }
    }
    return DHIP_OK;
}

int dhip_image_parse(dhip_module *module, const unsigned char *bytes, size_t size) {
    const span elf = {bytes, size};
    const int code = notes(module, elf);
    return code != DHIP_OK ? code : globals(module, elf);
}
