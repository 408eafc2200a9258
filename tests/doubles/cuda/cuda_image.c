/* What a driver reads of an image that comes without a length. A reader of its own, small and trusting within the size
 * that the image says it has. */
#include "cuda_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 30)

/* ---- Bytes ----------------------------------------------------------------------------------------------- */

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
static uint32_t u32(span s, uint64_t offset) {
    return (uint32_t)number(s, offset, 4);
}
static uint16_t u16(span s, uint64_t offset) {
    return (uint16_t)number(s, offset, 2);
}
static uint64_t u64(span s, uint64_t offset) {
    return number(s, offset, 8);
}

/* ---- ELF ------------------------------------------------------------------------------------------------- */

typedef struct section {
    const char *name;
    uint32_t type;
    uint32_t link, info;
    uint64_t offset, size;
} section;

static int section_at(span elf, unsigned index, section *out) {
    const uint64_t table = u64(elf, 40);
    const unsigned count = u16(elf, 60), names = u16(elf, 62);
    if (index >= count) return 0;
    const uint64_t header = table + 64ull * index;
    const uint64_t text = u64(elf, table + 64ull * names + 24);
    const uint64_t name = text + u32(elf, header);
    if (name >= elf.size || memchr(elf.at + name, 0, (size_t)(elf.size - name)) == NULL) return 0;
    *out = (section){(const char *)elf.at + name, u32(elf, header + 4),  u32(elf, header + 40),
                     u32(elf, header + 44),       u64(elf, header + 24), u64(elf, header + 32)};
    return out->type == 8 || (out->offset <= elf.size && out->size <= elf.size - out->offset);
}

static int section_named(span elf, const char *prefix, const char *name, section *out) {
    const size_t length = strlen(prefix);
    for (unsigned i = 0; i < u16(elf, 60); i++) {
        if (!section_at(elf, i, out)) continue;
        if (strncmp(out->name, prefix, length) == 0 && strcmp(out->name + length, name) == 0) return 1;
    }
    return 0;
}

/* How long a driver would take an ELF image to be: the farthest thing its tables lead to. */
static uint64_t elf_size(const unsigned char *head, const unsigned char *image) {
    const span h = {head, 64};
    uint64_t end = u64(h, 40) + 64ull * u16(h, 60);
    const uint64_t segments = u64(h, 32) + 56ull * u16(h, 56);
    if (u16(h, 56) != 0 && segments > end) end = segments;
    for (unsigned i = 0; i < u16(h, 60) && end < MOST_BYTES; i++) {
        unsigned char bytes[64];
        if (double_read(image + u64(h, 40) + 64ull * i, bytes, 64) != 64) {
            double_violation("section header %u of the image cannot be read", i);
            return MOST_BYTES;
        }
        const span s = {bytes, 64};
        if (u32(s, 4) != 8 && u64(s, 24) + u64(s, 32) > end) end = u64(s, 24) + u64(s, 32);
    }
    return end;
}

/* ---- Taking an image ------------------------------------------------------------------------------------- */

static int take(const unsigned char *image, uint64_t size, unsigned char **copy, size_t *out) {
    if (size == 0 || size >= MOST_BYTES) return DCU_INVALID_IMAGE;
    unsigned char *const bytes = malloc((size_t)size + 1);
    if (bytes == NULL) return DCU_OUT_OF_MEMORY;
    if (double_read(image, bytes, (size_t)size) != size) {
        double_violation("the image says it has %llu bytes and they cannot all be read", (unsigned long long)size);
        free(bytes);
        return DCU_INVALID_IMAGE;
    }
    bytes[size] = '\0';
    *copy = bytes;
    *out = (size_t)size;
    return DCU_OK;
}

static int take_elf(const unsigned char *image, unsigned char **copy, size_t *size) {
    unsigned char head[64];
    if (double_read(image, head, 64) != 64) {
        double_violation("an image of fewer than 64 bytes");
        return DCU_INVALID_IMAGE;
    }
    return take(image, elf_size(head, image), copy, size);
}

static int take_text(const unsigned char *image, unsigned char **copy, size_t *size) {
    for (uint64_t length = 0; length < MOST_BYTES; length++) {
        unsigned char byte;
        if (((uintptr_t)image + length) % 4096 == 0 || length == 0) {
            if (double_read(image + length, &byte, 1) != 1) {
                double_violation("PTX that no NUL ends");
                return DCU_INVALID_IMAGE;
            }
        }
        if (image[length] == 0) return length == 0 ? DCU_INVALID_IMAGE : take(image, length, copy, size);
    }
    return DCU_INVALID_IMAGE;
}

/* The best entry of a fat binary that is not compressed: a cubin that runs here, else PTX. */
static int take_fat(const unsigned char *image, const dcu_device_facts *facts, unsigned char **copy, size_t *size) {
    unsigned char head[16];
    if (double_read(image, head, 16) != 16) return DCU_INVALID_IMAGE;
    const uint64_t header = u16((span){head, 16}, 6);
    const uint64_t all = header + u64((span){head, 16}, 8);
    int code = take(image, all, copy, size);
    if (code != DCU_OK) return code;
    const span fat = {*copy, *size};
    uint64_t found = 0, length = 0;
    int found_kind = 0;
    for (uint64_t at = header; at + 64 <= fat.size;) {
        const int kind = u16(fat, at);
        const uint64_t skip = u32(fat, at + 4), bytes = u64(fat, at + 8);
        if (skip < 64 || bytes > fat.size || skip > fat.size - at || bytes > fat.size - at - skip) break;
        const int compressed = (u64(fat, at + 40) & 0xa000) != 0;
        const unsigned char *const payload = fat.at + at + skip;
        const int runs = kind == 2 && !compressed && dcu_cubin_runs_on(payload, (size_t)bytes, facts) == DCU_OK;
        const int text = kind == 1 && !compressed && u32(fat, at + 28) <= (uint32_t)(facts->major * 10 + facts->minor);
        if (runs || (text && found_kind != 2)) {
            found = at + skip;
            length = bytes;
            found_kind = kind;
        }
        at += skip + bytes;
    }
    if (found == 0) {
        free(*copy);
        return DCU_NO_BINARY_FOR_GPU;
    }
    memmove(*copy, *copy + found, (size_t)length);
    (*copy)[length] = '\0';
    *size = (size_t)length;
    return DCU_OK;
}

int dcu_image_take(const void *image, const dcu_device_facts *facts, unsigned char **copy, size_t *size) {
    unsigned char magic[4];
    if (double_read(image, magic, 4) != 4) {
        double_violation("an image that cannot be read");
        return DCU_INVALID_IMAGE;
    }
    if (memcmp(magic, "\177ELF", 4) == 0) return take_elf(image, copy, size);
    if (memcmp(magic, "\x50\xed\x55\xba", 4) == 0) return take_fat(image, facts, copy, size);
    return take_text(image, copy, size);
}

/* ---- Cubins ---------------------------------------------------------------------------------------------- */

static uint32_t isa_of(span elf) {
    const uint32_t flags = u32(elf, 48);
    return elf.at[8] >= 8 ? (flags >> 8) & 0xff : flags & 0xff;
}

/* 'a' code runs on exactly its device. */
static int exact(span elf) {
    section compat;
    if (elf.at[8] < 8) return (u32(elf, 48) & 0x800) != 0;
    if (!section_named(elf, ".nv.compat", "", &compat)) return 0;
    for (uint64_t at = 0; at + 4 <= compat.size;) {
        const span s = {elf.at + compat.offset, compat.size};
        const unsigned format = s.at[at], attribute = s.at[at + 1];
        if (format == 2 && attribute == 9 && s.at[at + 2] == 1) return 1;
        at += 4 + (format == 4 ? u16(s, at + 2) : 0);
    }
    return 0;
}

int dcu_cubin_runs_on(const unsigned char *bytes, size_t size, const dcu_device_facts *facts) {
    const span elf = {bytes, size};
    if (size < 64 || u16(elf, 18) != 190 || u16(elf, 16) != 2) return DCU_INVALID_IMAGE;
    const int major = (int)isa_of(elf) / 10, minor = (int)isa_of(elf) % 10;
    if (major != facts->major || minor > facts->minor) return DCU_NO_BINARY_FOR_GPU;
    if (minor != facts->minor && exact(elf)) return DCU_NO_BINARY_FOR_GPU;
    return DCU_OK;
}

static void put_three(span s, uint64_t at, uint32_t out[3]) {
    for (unsigned i = 0; i < 3; i++) out[i] = u32(s, at + 4ull * i);
}

static int read_attribute(dcu_function *f, unsigned attribute, span payload) {
    switch (attribute) {
    case 0x05:
        put_three(payload, 0, f->most_threads);
        return 1;
    case 0x10:
        put_three(payload, 0, f->required_threads);
        return 1;
    case 0x3d:
        put_three(payload, 0, f->cluster);
        return 1;
    case 0x3e:
        f->cluster_must_be_set = 0;
        return 1;
    case 0x5b:
        f->grid_in_clusters = 1;
        return 1;
    case 0x17:
        return dcu_function_param(f, u16(payload, 4), u16(payload, 6), u32(payload, 8) >> 18);
    case 0x45: /* the pointee's alignment and space stand above the size */
        return dcu_function_param(f, u16(payload, 4), u16(payload, 6), u16(payload, 8));
    default:
        return 1;
    }
}

static int read_attributes(span elf, dcu_function *f) {
    section info;
    if (!section_named(elf, ".nv.info.", f->name, &info)) return 1;
    const span s = {elf.at + info.offset, info.size};
    for (uint64_t at = 0; at + 4 <= s.size;) {
        const unsigned format = s.at[at];
        const uint64_t length = format == 4 ? u16(s, at + 2) : 0;
        if (format < 1 || format > 4 || length > s.size - at - 4) return 0;
        if (!read_attribute(f, s.at[at + 1], (span){s.at + at + 4, length})) return 0;
        at += 4 + length;
    }
    return 1;
}

/* Registers and frame of symbol `index` stand in the module's own record. */
static void read_figures(span elf, dcu_function *f, uint32_t index) {
    section info;
    if (!section_named(elf, ".nv.info", "", &info)) return;
    const span s = {elf.at + info.offset, info.size};
    for (uint64_t at = 0; at + 4 <= s.size;) {
        const unsigned format = s.at[at], attribute = s.at[at + 1];
        const uint64_t length = format == 4 ? u16(s, at + 2) : 0;
        if (length == 8 && u32(s, at + 4) == index) {
            if (attribute == 0x2f) f->registers = u32(s, at + 8);
            if (attribute == 0x11) f->local_bytes = u32(s, at + 8);
        }
        at += 4 + length;
    }
}

static int add_kernel(dcu_module *module, span elf, const char *name, uint32_t index) {
    section shared;
    dcu_function *const f = dcu_function_new(module, name, strlen(name));
    if (f == NULL) return DCU_OUT_OF_MEMORY;
    f->isa = isa_of(elf);
    if (!read_attributes(elf, f)) return DCU_INVALID_IMAGE;
    read_figures(elf, f, index);
    if (section_named(elf, ".nv.shared.", name, &shared)) {
        const uint32_t reserved = f->isa >= 90 ? 1024 : 0;
        f->shared_bytes = (uint32_t)shared.size > reserved ? (uint32_t)shared.size - reserved : 0;
    }
    return DCU_OK;
}

static int add_global(dcu_module *module, span elf, const char *name, const section *in, uint64_t offset,
                      uint64_t size) {
    dcu_global *const more = realloc(module->globals, (module->global_count + 1) * sizeof *more);
    if (more == NULL) return DCU_OUT_OF_MEMORY;
    module->globals = more;
    const uint64_t address = double_memory_alloc(size, module->context, module);
    char *const copy = strdup(name);
    if (address == 0 || copy == NULL) {
        free(copy);
        return DCU_OUT_OF_MEMORY;
    }
    if (in->type != 8 && offset <= in->size && size <= in->size - offset) {
        memcpy((void *)(uintptr_t)address, elf.at + in->offset + offset, (size_t)size);
    }
    more[module->global_count++] = (dcu_global){copy, address, size};
    return DCU_OK;
}

int dcu_cubin_parse(dcu_module *module, const unsigned char *bytes, size_t size) {
    const span elf = {bytes, size};
    section symbols, text, in;
    unsigned index = 0;
    while (index < u16(elf, 60) && (!section_at(elf, index, &symbols) || symbols.type != 2)) index++;
    if (index == u16(elf, 60) || !section_at(elf, symbols.link, &text)) return DCU_INVALID_IMAGE;
    for (uint64_t i = 0; i < symbols.size / 24; i++) {
        const uint64_t at = symbols.offset + 24 * i;
        const uint64_t name_at = text.offset + u32(elf, at);
        const unsigned type = elf.at[at + 4] & 15u, other = elf.at[at + 5], where = u16(elf, at + 6);
        if (name_at >= elf.size || where == 0) continue;
        const char *const name = (const char *)elf.at + name_at;
        int code = DCU_OK;
        if (type == 2 && (other & 0x10) != 0) {
            code = add_kernel(module, elf, name, (uint32_t)i);
        } else if (type == 1 && u64(elf, at + 16) != 0 && section_at(elf, where, &in) &&
                   (strncmp(in.name, ".nv.global", 10) == 0 || strcmp(in.name, ".nv.constant3") == 0)) {
            code = add_global(module, elf, name, &in, u64(elf, at + 8), u64(elf, at + 16));
        }
        if (code != DCU_OK) return code;
    }
    return module->function_count > 0 ? DCU_OK : DCU_INVALID_IMAGE;
}

/* ---- PTX ------------------------------------------------------------------------------------------------- */

static int newest_ptx(void) {
    static const struct {
        long driver;
        int ptx;
    } table[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85}, {12040, 84}, {12030, 83}, {12020, 82},
                 {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75}, {11040, 74}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (double_settings[DOUBLE_DRIVER_VERSION] >= table[i].driver) return table[i].ptx;
    }
    return 70;
}

/* A directive that does not stand behind "//" on its line. */
static const char *find_word(const char *from, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(from, word); at != NULL; at = strstr(at + length, word)) {
        const char *line = at;
        while (line > from && line[-1] != '\n' && !(line[0] == '/' && line[1] == '/')) line--;
        if (!(line[0] == '/' && line[1] == '/')) return at;
    }
    return NULL;
}

static uint32_t size_of_type(const char *type) {
    return strstr(type, "64") != NULL ? 8 : strstr(type, "32") != NULL ? 4 : strstr(type, "16") != NULL ? 2 : 1;
}

/* `text` is one ".param …" up to its comma or parenthesis. */
static void param(dcu_function *f, const char *text, size_t length) {
    char copy[256];
    if (length >= sizeof copy) length = sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    uint32_t size = 0;
    const char *type = copy;
    for (char *word = copy; (word = strchr(word, '.')) != NULL; word++) {
        if ((word[1] == 'u' || word[1] == 's' || word[1] == 'b' || word[1] == 'f') && word[2] >= '1' &&
            word[2] <= '9') {
            type = word;
        }
    }
    size = size_of_type(type);
    const char *const bracket = strchr(copy, '[');
    if (bracket != NULL) size *= (uint32_t)strtoul(bracket + 1, NULL, 0);
    const unsigned ordinal = f->param_count;
    uint32_t offset = ordinal == 0 ? 0 : f->param_offsets[ordinal - 1] + f->param_sizes[ordinal - 1];
    const uint32_t alignment = bracket == NULL && size > 0 ? size : 8;
    offset = (offset + alignment - 1) / alignment * alignment;
    (void)dcu_function_param(f, ordinal, offset, size);
}

static const char *entry(dcu_module *module, const char *at, uint32_t isa) {
    at += strspn(at, " \t\r\n");
    const size_t length = strcspn(at, " \t\r\n(;{");
    dcu_function *const f = dcu_function_new(module, at, length);
    if (f == NULL) return NULL;
    f->isa = isa;
    f->registers = 32;
    at += length;
    at += strspn(at, " \t\r\n");
    if (*at != '(') return at;
    const char *const end = strchr(at, ')');
    while (end != NULL) {
        const char *const next = strstr(at, ".param");
        if (next == NULL || next > end) break;
        const size_t more = strcspn(next, ",)");
        param(f, next + 6, more - 6);
        at = next + more;
    }
    return end;
}

int dcu_ptx_parse(dcu_module *module, const char *text, const dcu_device_facts *facts, char *log, size_t log_size) {
    const char *const version = find_word(text, ".version");
    const char *const target = find_word(text, ".target");
    int major = 0, minor = 0, isa = 0;
    if (version == NULL || sscanf(version, ".version %d.%d", &major, &minor) != 2) return DCU_INVALID_IMAGE;
    if (10 * major + minor > newest_ptx()) {
        if (log != NULL) {
            (void)snprintf(log, log_size, "ptxas application ptx input, line 1; fatal : Unsupported .version %d.%d\n",
                           major, minor);
        }
        return DCU_UNSUPPORTED_PTX_VERSION;
    }
    if (target == NULL || sscanf(target, ".target sm_%d", &isa) != 1) return DCU_INVALID_PTX;
    if (isa > 10 * facts->major + facts->minor) return DCU_NO_BINARY_FOR_GPU;
    for (const char *at = text; (at = find_word(at, ".entry")) != NULL;) {
        at = entry(module, at + 6, (uint32_t)(10 * facts->major + facts->minor));
        if (at == NULL) break;
    }
    if (module->function_count == 0 || strstr(text, "not_an_instruction") != NULL) {
        if (log != NULL) {
            (void)snprintf(log, log_size,
                           "ptxas application ptx input, line 7; error : Not a name of any known "
                           "instruction: 'not_an_instruction'\n");
        }
        return DCU_INVALID_PTX;
    }
    if (log != NULL) (void)snprintf(log, log_size, "ptxas info : 0 bytes gmem\n");
    return DCU_OK;
}
