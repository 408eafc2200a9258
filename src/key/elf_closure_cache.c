#include "elf_closure_cache.h"

#include <string.h>

#include "elf_closure_file.h"
#include "reader.h"

#define OLD_MAGIC        "ld.so-1.7.0"
#define OLD_HEADER_BYTES 16u
#define OLD_ENTRY_BYTES  12u
#define NEW_MAGIC        "glibc-ld.so.cache1.1"
#define NEW_HEADER_BYTES 48u
#define NEW_ENTRY_BYTES  24u

/* The kind of library (3: for glibc) and the machine; -1 where we do not know the number: the file itself is asked
   then. */
static int64_t flags_for(uint16_t machine) {
    if (machine == SLWI_EM_X86_64) return 0x0303;
    if (machine == SLWI_EM_AARCH64) return 0x0a03;
    return -1;
}

int slwi_ldcache_open(slw_bytes file, slwi_ldcache *out) {
    slw_bytes part = file, window;
    uint32_t count = 0;
    if (slwi_window(file, 0, sizeof OLD_MAGIC - 1, &window) && memcmp(window.data, OLD_MAGIC, window.size) == 0) {
        if (!slwi_read_u32(file, 12, &count)) return 0;
        const uint64_t behind = OLD_HEADER_BYTES + (uint64_t)count * OLD_ENTRY_BYTES;
        const uint64_t aligned = (behind + 7) & ~UINT64_C(7);
        if (aligned > file.size || !slwi_window(file, aligned, file.size - aligned, &part)) return 0;
    }
    if (!slwi_window(part, 0, sizeof NEW_MAGIC - 1, &window) || memcmp(window.data, NEW_MAGIC, window.size) != 0)
        return 0;
    if (!slwi_read_u32(part, 20, &count)) return 0;
    if (!slwi_window(part, NEW_HEADER_BYTES, (uint64_t)count * NEW_ENTRY_BYTES, &window)) return 0;
    out->bytes = part;
    out->count = count;
    return 1;
}

static uint64_t number_at(const char **text) {
    uint64_t value = 0;
    while (**text >= '0' && **text <= '9') value = value * 10 + (uint64_t)(*(*text)++ - '0');
    return value;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

int slwi_ldcache_compare(const char *a, const char *b) {
    while (*a != 0) {
        if (is_digit(*a) && is_digit(*b)) {
            const uint64_t x = number_at(&a), y = number_at(&b);
            if (x != y) return x < y ? -1 : 1;
        } else if (is_digit(*a) || is_digit(*b)) {
            return is_digit(*a) ? 1 : -1;
        } else if (*a != *b) {
            return *a < *b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *b == 0 ? 0 : -1;
}

/* The name of an entry; NULL when its offset leads nowhere. */
static const char *name_at(const slwi_ldcache *cache, uint32_t index, uint64_t field) {
    uint32_t offset = 0;
    slw_bytes text;
    if (!slwi_read_u32(cache->bytes, NEW_HEADER_BYTES + (uint64_t)index * NEW_ENTRY_BYTES + field, &offset))
        return NULL;
    return slwi_read_string(cache->bytes, offset, &text) ? text.data : NULL;
}

/* The first entry of a name: the file is sorted, greatest first. The count where there is none. */
static uint32_t first_of(const slwi_ldcache *cache, const char *name) {
    uint32_t low = 0, high = cache->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const char *there = name_at(cache, middle, 4);
        if (there == NULL) return cache->count;
        if (slwi_ldcache_compare(name, there) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int slwi_ldcache_next(const slwi_ldcache *cache, const char *name, uint16_t machine, uint32_t *at,
                      slwi_ldcache_entry *out) {
    const int64_t wanted = flags_for(machine);
    uint32_t index = *at == UINT32_MAX ? first_of(cache, name) : *at + 1;
    for (; index < cache->count; index++) {
        const uint64_t entry = NEW_HEADER_BYTES + (uint64_t)index * NEW_ENTRY_BYTES;
        const char *there = name_at(cache, index, 4);
        uint32_t flags = 0;
        if (there == NULL || slwi_ldcache_compare(name, there) != 0) break;
        (void)slwi_read_u32(cache->bytes, entry, &flags);
        if (strcmp(there, name) != 0 || (wanted >= 0 && flags != (uint32_t)wanted)) continue;
        out->path = name_at(cache, index, 8);
        (void)slwi_read_u64(cache->bytes, entry + 16, &out->hwcap);
        if (out->path == NULL || out->path[0] != '/') continue;
        *at = index;
        return 1;
    }
    *at = cache->count;
    return 0;
}
