/* What an image is, before HIP sees it, and where it lies while it is loaded.
 *
 * HIP is given an address and no length, so it follows whatever the file says; the readers have proved the structure,
 * and what is asked here again is what would lead out of the bytes at once.  HIP also looks the address up in
 * /proc/self/maps: where a file is behind it, that file is opened by its name, replaced or not, and newer releases take
 * the image to end where its line of that list ends.  And it goes on pointing into the bytes until the module is
 * unloaded.  So it gets pages of its own, with some to spare, which stay (device.md B.4, G 34 and 35). */
#include <string.h>

#include "checked.h"
#include "fail.h"
#include "hip_driver.h"
#include "memory.h"
#include "os.h"
#include "reader.h"

#define ELF_HEADER_BYTES       64u
#define ELF_CLASS_64           2u
#define ELF_LITTLE             1u
#define OSABI_AMDGPU_HSA       0x40u
#define MACHINE_AMDGPU         224u
#define BUNDLE_MAGIC           "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_MAGIC_BYTES     24u
#define BUNDLE_ENTRY_BYTES     24u /* offset, size and length of the id, which follows */
#define BUNDLE_ENTRIES_LARGEST 65536u
#define COMPRESSED_MAGIC       "CCOB"

/* A whole page, of whichever size this processor's systems have. */
#if defined(__x86_64__) || defined(__i386__)
#define SLACK_BYTES ((size_t)4096)
#else
#define SLACK_BYTES ((size_t)65536)
#endif

static slw_code truncated(slw_error *err, const char *what) {
    return slwi_fail(err, SLW_E_INVALID_BINARY, "TRUNCATED", "%s reaches beyond the end of the image", what);
}

static int starts_with(slw_bytes bytes, const char *magic, size_t size) {
    return bytes.size >= size && memcmp(bytes.data, magic, size) == 0;
}

/* A table of the ELF header: where its offset, the size of an entry and their number stand there. */
static int table_fits(slw_bytes bytes, uint64_t offset_at, uint64_t entry_at, uint64_t count_at) {
    uint64_t offset = 0;
    uint16_t entry = 0, count = 0;
    slw_bytes table;
    if (!slwi_read_u64(bytes, offset_at, &offset) || !slwi_read_u16(bytes, entry_at, &entry) ||
        !slwi_read_u16(bytes, count_at, &count)) {
        return 0;
    }
    return count == 0 || slwi_window(bytes, offset, (uint64_t)count * entry, &table);
}

static slw_code check_elf(slw_bytes bytes, slw_error *err) {
    const uint8_t *const at = bytes.data;
    uint16_t machine = 0;
    if (bytes.size < ELF_HEADER_BYTES || !slwi_read_u16(bytes, 18, &machine)) return truncated(err, "the ELF header");
    if (at[4] != ELF_CLASS_64 || at[5] != ELF_LITTLE || at[7] != OSABI_AMDGPU_HSA || machine != MACHINE_AMDGPU) {
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "KIND", "the ELF file is not for a HIP device");
    }
    if (!table_fits(bytes, 32, 54, 56)) return truncated(err, "the table of segments");
    if (!table_fits(bytes, 40, 58, 60)) return truncated(err, "the table of sections");
    return SLW_OK;
}

static slw_code check_bundle(slw_bytes bytes, slw_error *err) {
    uint64_t count = 0, offset = 0, size = 0, id_size = 0, at = BUNDLE_MAGIC_BYTES;
    slw_bytes part;
    if (!slwi_read_u64(bytes, at, &count) || count == 0 || count > BUNDLE_ENTRIES_LARGEST) {
        return truncated(err, "the bundle's index");
    }
    at += sizeof count;
    for (uint64_t i = 0; i < count; i++) {
        if (!slwi_read_u64(bytes, at, &offset) || !slwi_read_u64(bytes, at + 8, &size) ||
            !slwi_read_u64(bytes, at + 16, &id_size) || !slwi_window(bytes, at + BUNDLE_ENTRY_BYTES, id_size, &part)) {
            return truncated(err, "the bundle's index");
        }
        if (!slwi_window(bytes, offset, size, &part)) return truncated(err, "an entry of the bundle");
        at += BUNDLE_ENTRY_BYTES + id_size;
    }
    return SLW_OK;
}

slw_code slwi_hip_image_check(slw_bytes bytes, slw_image_kind kind, slw_error *err) {
    if (bytes.data == NULL || bytes.size == 0) {
        return slwi_fail(err, SLW_E_INVALID_BINARY, "EMPTY", "the image is empty");
    }
    if (kind != SLW_IMAGE_HSACO && kind != SLW_IMAGE_UNKNOWN) {
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "KIND", "the image is of a kind that HIP does not load");
    }
    if (starts_with(bytes, "\177ELF", 4)) return check_elf(bytes, err);
    if (starts_with(bytes, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES)) return check_bundle(bytes, err);
    if (starts_with(bytes, COMPRESSED_MAGIC, 4)) {
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE",
                         "the image is a compressed offload bundle, whose contents are not known");
    }
    return slwi_fail(err, SLW_E_INVALID_BINARY, "BAD_MAGIC", "the image is no code object and no offload bundle");
}

/* ---- Where it lies ----------------------------------------------------------------------------------------------- */

slw_code slwi_hip_copy_make(slw_bytes bytes, slwi_hip_copy *out, slw_error *err) {
    size_t size = 0;
    if (slwi_add_size(bytes.size, SLACK_BYTES, &size)) return slwi_fail_memory(err, SIZE_MAX);
    void *pages = NULL;
    const slwi_os *os = slwi_os_get();
    const int failed = os->map_anonymous(os, size, &pages);
    if (failed < 0)
        return slwi_fail_os(err, SLW_E_NO_MEMORY, NULL, -failed, NULL, "pages for an image of %zu bytes", size);
    memcpy(pages, bytes.data, bytes.size);
    /* Nothing has to write there; where it cannot be forbidden, nothing is lost. */
    (void)os->map_protect_read(os, pages, size);
    *out = (slwi_hip_copy){pages, size};
    return SLW_OK;
}

void slwi_hip_copy_drop(slwi_hip_copy *copy) {
    const slwi_os *os = slwi_os_get();
    if (copy->pages != NULL) os->unmap(os, copy->pages, copy->size_bytes);
    *copy = (slwi_hip_copy){NULL, 0};
}
