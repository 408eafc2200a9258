#include "elf_closure_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "file.h"
#include "memory.h"
#include "reader.h"

#define HEADER_BYTES      64u
#define SEGMENT_BYTES     56u
#define SEGMENTS_MAX      4096u
#define DYNAMIC_BYTES_MAX 1048576u
#define NOTES_BYTES_MAX   1048576u
#define STRING_BYTES_MAX  65536u

enum { PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PT_NOTE = 4 };
enum { ET_EXEC = 2, ET_DYN = 3 };
enum { DT_NULL = 0, DT_NEEDED = 1, DT_STRTAB = 5, DT_STRSZ = 10, DT_SONAME = 14, DT_RPATH = 15, DT_RUNPATH = 29 };
#define DT_CONFIG     UINT64_C(0x6ffffefa)
#define DT_DEPAUDIT   UINT64_C(0x6ffffefb)
#define DT_AUDIT      UINT64_C(0x6ffffefc)
#define DT_FLAGS_1    UINT64_C(0x6ffffffb)
#define DT_AUXILIARY  UINT64_C(0x7ffffffd)
#define DT_FILTER     UINT64_C(0x7fffffff)
#define DF_1_NODEFLIB UINT64_C(0x800)

typedef struct segment {
    uint32_t type;
    uint64_t offset, address, size;
} segment;

/* A file being read; `segments` is freed with elf_done. */
typedef struct elf_input {
    const slwi_os *os;
    const slw_allocator *allocator;
    int fd;
    uint64_t size;
    uint16_t type, machine;
    unsigned char *segments;
    size_t segment_count;
} elf_input;

/* The dynamic section as numbers; strings are offsets into the string table. */
typedef struct dynamic_facts {
    uint64_t strings_at, strings_size; /* an address, until it was turned into an offset */
    int has[3];
    uint64_t text[3]; /* soname, rpath, runpath */
    uint64_t needed[SLWI_ELF_NEEDED_MAX];
    size_t needed_count;
    uint64_t flags;
    const char *refused;
} dynamic_facts;
enum { SONAME, RPATH, RUNPATH };

/* What is wrong with a file, as a static text; no_memory is told apart by its address. */
static const char no_memory[] = "no memory";
static const char damaged[] = "is a damaged ELF file";

static const char *read_at(const elf_input *in, void *to, uint64_t offset, size_t size) {
    uint64_t end = 0;
    if (slwi_add_u64(offset, size, &end) || end > in->size) return damaged;
    return slwi_pread_all(in->os, in->fd, to, size, offset) == 0 ? NULL : "cannot be read";
}

static const char *check_ident(const unsigned char *header, size_t size) {
    if (size >= 2 && header[0] == '#' && header[1] == '!') return "is a script: what it runs is not known";
    if (size < HEADER_BYTES || memcmp(header, "\177ELF", 4) != 0) return "is not an ELF file";
    if (header[4] != 2 || header[5] != 1) return "is not a 64-bit little-endian ELF file";
    return NULL;
}

static const char *elf_begin(elf_input *in) {
    unsigned char header[HEADER_BYTES];
    const size_t size = in->size < HEADER_BYTES ? (size_t)in->size : HEADER_BYTES;
    const char *why = read_at(in, header, 0, size);
    if (why == NULL) why = check_ident(header, size);
    if (why != NULL) return why;
    const slw_bytes bytes = {header, size};
    uint64_t offset = 0;
    uint16_t entry = 0, count = 0;
    (void)slwi_read_u16(bytes, 16, &in->type);
    (void)slwi_read_u16(bytes, 18, &in->machine);
    (void)slwi_read_u64(bytes, 32, &offset);
    (void)slwi_read_u16(bytes, 54, &entry);
    (void)slwi_read_u16(bytes, 56, &count);
    if (count == 0) return NULL;
    if (entry != SEGMENT_BYTES || count > SEGMENTS_MAX) return damaged;
    in->segments = slwi_alloc_array(in->allocator, count, SEGMENT_BYTES);
    if (in->segments == NULL) return no_memory;
    in->segment_count = count;
    return read_at(in, in->segments, offset, (size_t)count * SEGMENT_BYTES);
}

static void elf_done(elf_input *in) {
    slwi_free(in->allocator, in->segments);
    in->segments = NULL;
}

static segment segment_at(const elf_input *in, size_t index) {
    const slw_bytes bytes = {in->segments, in->segment_count * SEGMENT_BYTES};
    const uint64_t at = (uint64_t)index * SEGMENT_BYTES;
    segment out = {0, 0, 0, 0};
    (void)slwi_read_u32(bytes, at, &out.type);
    (void)slwi_read_u64(bytes, at + 8, &out.offset);
    (void)slwi_read_u64(bytes, at + 16, &out.address);
    (void)slwi_read_u64(bytes, at + 32, &out.size);
    return out;
}

static int find_segment(const elf_input *in, uint32_t type, segment *out) {
    for (size_t i = 0; i < in->segment_count; i++) {
        *out = segment_at(in, i);
        if (out->type == type) return 1;
    }
    return 0;
}

/* Where an address of the loaded image lies in the file. */
static int offset_of(const elf_input *in, uint64_t address, uint64_t *out) {
    for (size_t i = 0; i < in->segment_count; i++) {
        const segment s = segment_at(in, i);
        if (s.type != PT_LOAD || address < s.address || address - s.address >= s.size) continue;
        return !slwi_add_u64(s.offset, address - s.address, out);
    }
    return 0;
}

/* A NUL-terminated string of the file, copied into the arena; it must end within `room` bytes. */
static const char *read_text(const elf_input *in, slwi_gather *gather, uint64_t offset, uint64_t room,
                             const char **out) {
    char small[512];
    char *text = small;
    size_t take = sizeof small;
    const char *why = NULL;
    for (;;) {
        if (take > room) take = (size_t)room;
        why = read_at(in, text, offset, take);
        slw_bytes found;
        const slw_bytes window = {text, take};
        if (why == NULL && slwi_read_string(window, 0, &found)) {
            *out = slwi_arena_copy(&gather->arena, found.data, found.size);
            if (*out == NULL) why = no_memory;
            break;
        }
        if (why == NULL && (take == room || take == STRING_BYTES_MAX)) why = damaged;
        if (why != NULL) break;
        text = slwi_alloc(in->allocator, STRING_BYTES_MAX);
        if (text == NULL) return no_memory;
        take = STRING_BYTES_MAX;
    }
    if (text != small) slwi_free(in->allocator, text);
    return why;
}

static const char *note_tag(dynamic_facts *facts, uint64_t tag, uint64_t value) {
    switch (tag) {
    case DT_NEEDED:
        if (facts->needed_count == SLWI_ELF_NEEDED_MAX) return "needs too many libraries";
        facts->needed[facts->needed_count++] = value;
        break;
    case DT_STRTAB:
        facts->strings_at = value;
        break;
    case DT_STRSZ:
        facts->strings_size = value;
        break;
    case DT_SONAME:
        facts->has[SONAME] = 1, facts->text[SONAME] = value;
        break;
    case DT_RPATH:
        facts->has[RPATH] = 1, facts->text[RPATH] = value;
        break;
    case DT_RUNPATH:
        facts->has[RUNPATH] = 1, facts->text[RUNPATH] = value;
        break;
    case DT_FLAGS_1:
        facts->flags = value;
        break;
    case DT_AUDIT:
    case DT_DEPAUDIT:
        facts->refused = "asks for an audit library (DT_AUDIT)";
        break;
    case DT_FILTER:
    case DT_AUXILIARY:
        facts->refused = "is a filter (DT_FILTER, DT_AUXILIARY)";
        break;
    case DT_CONFIG:
        facts->refused = "names a loader configuration (DT_CONFIG)";
        break;
    default:
        break;
    }
    return NULL;
}

static const char *read_dynamic(const elf_input *in, const segment *dynamic, dynamic_facts *facts) {
    if (dynamic->size > DYNAMIC_BYTES_MAX) return damaged;
    const size_t size = (size_t)dynamic->size;
    unsigned char *memory = slwi_alloc(in->allocator, size);
    if (memory == NULL) return no_memory;
    const slw_bytes bytes = {memory, size};
    const char *why = read_at(in, memory, dynamic->offset, size);
    for (uint64_t at = 0; why == NULL; at += 16) {
        uint64_t tag = 0, value = 0;
        if (!slwi_read_u64(bytes, at, &tag) || !slwi_read_u64(bytes, at + 8, &value)) break;
        if (tag == DT_NULL) break;
        why = note_tag(facts, tag, value);
    }
    slwi_free(in->allocator, memory);
    return why;
}

static const char *read_string(const elf_input *in, slwi_gather *gather, const dynamic_facts *facts, uint64_t at,
                               const char **out) {
    uint64_t offset = 0;
    if (at >= facts->strings_size || slwi_add_u64(facts->strings_at, at, &offset)) return damaged;
    return read_text(in, gather, offset, facts->strings_size - at, out);
}

static const char *read_strings(const elf_input *in, slwi_gather *gather, dynamic_facts *facts, slwi_elf *elf) {
    const char *why = NULL;
    if (facts->needed_count == 0 && !facts->has[SONAME] && !facts->has[RPATH] && !facts->has[RUNPATH]) return NULL;
    if (!offset_of(in, facts->strings_at, &facts->strings_at)) return damaged;
    elf->needed = slwi_arena_alloc(&gather->arena, (facts->needed_count + 1) * sizeof *elf->needed);
    if (elf->needed == NULL) return no_memory;
    for (size_t i = 0; why == NULL && i < facts->needed_count; i++) {
        why = read_string(in, gather, facts, facts->needed[i], &elf->needed[i]);
    }
    elf->needed_count = facts->needed_count;
    if (why == NULL && facts->has[SONAME]) why = read_string(in, gather, facts, facts->text[SONAME], &elf->soname);
    if (why == NULL && facts->has[RUNPATH]) why = read_string(in, gather, facts, facts->text[RUNPATH], &elf->runpath);
    if (why == NULL && facts->has[RPATH] && !facts->has[RUNPATH]) {
        why = read_string(in, gather, facts, facts->text[RPATH], &elf->rpath);
    }
    return why;
}

static const char *read_elf(elf_input *in, slwi_gather *gather, dynamic_facts *facts, slwi_elf *elf) {
    segment found;
    const char *why = elf_begin(in);
    if (why != NULL) return why;
    if (in->type != ET_EXEC && in->type != ET_DYN) return "is an ELF file, but neither a program nor a library";
    elf->machine = in->machine;
    if (find_segment(in, PT_INTERP, &found)) {
        if (found.size == 0 || found.size > SLWI_PATH_BYTES) return damaged;
        why = read_text(in, gather, found.offset, found.size, &elf->interpreter);
    }
    if (why != NULL || !find_segment(in, PT_DYNAMIC, &found)) return why;
    why = read_dynamic(in, &found, facts);
    if (why == NULL) why = read_strings(in, gather, facts, elf);
    elf->no_default = (facts->flags & DF_1_NODEFLIB) != 0;
    elf->refused = facts->refused;
    return why;
}

/* Opens, checks that it is what was hashed, reads. */
static const char *read_seen(slwi_gather *gather, const slwi_seen *seen, dynamic_facts *facts, slwi_elf *elf) {
    const slwi_os *os = slwi_os_get();
    slwi_stat opened;
    elf_input in = {.os = os, .allocator = &gather->allocator};
    in.fd = slwi_open_regular(os, AT_FDCWD, seen->named.path, 0, &opened);
    if (in.fd < 0) return "cannot be read";
    in.size = opened.size;
    const char *why = slwi_unchanged(&opened, &seen->stat) ? NULL : "changed while being read";
    if (why == NULL) why = read_elf(&in, gather, facts, elf);
    elf_done(&in);
    (void)os->close(os, in.fd);
    return why;
}

slw_code slwi_elf_read(slwi_gather *gather, slwi_seen *seen, const slwi_elf **out, slw_error *err) {
    *out = seen->elf;
    if (seen->elf != NULL) return SLW_OK;
    slwi_elf *elf = slwi_arena_alloc(&gather->arena, sizeof *elf);
    dynamic_facts *facts = slwi_alloc_zero(&gather->allocator, sizeof *facts);
    const char *why = elf == NULL || facts == NULL ? no_memory : read_seen(gather, seen, facts, elf);
    slwi_free(&gather->allocator, facts);
    if (why == no_memory) return slwi_fail_memory(err, sizeof *facts);
    if (why != NULL) return slwi_gather_fail(gather, err, seen->named.path, "%s", why);
    seen->elf = elf;
    *out = elf;
    return SLW_OK;
}

int slwi_elf_is_for(const char *path, uint16_t machine) {
    const slwi_os *os = slwi_os_get();
    unsigned char header[HEADER_BYTES];
    slwi_stat stat;
    uint16_t theirs = 0;
    const int fd = slwi_open_regular(os, AT_FDCWD, path, 1, &stat);
    if (fd < 0) return fd == -ENOENT || fd == -EACCES || fd == -EINVAL ? 0 : fd;
    const int r = slwi_pread_all(os, fd, header, sizeof header, 0);
    (void)os->close(os, fd);
    if (r < 0) return r == -ENODATA ? 0 : r;
    const slw_bytes bytes = {header, sizeof header};
    if (check_ident(header, sizeof header) != NULL) return 0;
    return slwi_read_u16(bytes, 18, &theirs) && theirs == machine;
}

/* Notes: name size, descriptor size, type, then both padded to 4. */
static size_t find_build_id(slw_bytes notes, unsigned char out[64]) {
    uint64_t at = 0;
    for (;;) {
        uint32_t name_size = 0, size = 0, type = 0;
        slw_bytes name, id;
        if (!slwi_read_u32(notes, at, &name_size) || !slwi_read_u32(notes, at + 4, &size) ||
            !slwi_read_u32(notes, at + 8, &type)) {
            return 0;
        }
        const uint64_t id_at = at + 12 + (((uint64_t)name_size + 3) & ~UINT64_C(3));
        if (!slwi_window(notes, at + 12, name_size, &name) || !slwi_window(notes, id_at, size, &id)) return 0;
        if (type == 3 && name_size == 4 && memcmp(name.data, "GNU", 4) == 0 && size > 0 && size <= 64) {
            memcpy(out, id.data, size);
            return size;
        }
        at = id_at + (((uint64_t)size + 3) & ~UINT64_C(3));
    }
}

int slwi_elf_build_id(const slw_allocator *allocator, int fd, unsigned char out[64], size_t *size) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    elf_input in = {.os = os, .allocator = allocator, .fd = fd};
    *size = 0;
    if (os->fstat(os, fd, &stat) < 0) return 1;
    in.size = stat.size;
    const char *why = elf_begin(&in);
    for (size_t i = 0; why == NULL && *size == 0 && i < in.segment_count; i++) {
        const segment s = segment_at(&in, i);
        if (s.type != PT_NOTE || s.size == 0 || s.size > NOTES_BYTES_MAX) continue;
        unsigned char *memory = slwi_alloc(allocator, (size_t)s.size);
        if (memory == NULL) why = no_memory;
        if (memory == NULL) break;
        const slw_bytes notes = {memory, (size_t)s.size};
        if (read_at(&in, memory, s.offset, (size_t)s.size) == NULL) *size = find_build_id(notes, out);
        slwi_free(allocator, memory);
    }
    elf_done(&in);
    return why != no_memory;
}
