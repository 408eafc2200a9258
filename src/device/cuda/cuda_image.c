/* What an image is, before the driver sees it.
 *
 * The driver is given an address and no length, so it follows whatever the file says.  The readers have proved the
 * structure and the digest is of these very bytes; what is asked here again is what would lead out of them at once. */
#include <string.h>

#include "cuda_driver.h"
#include "fail.h"

#define ELF_HEADER_BYTES    64u
#define ELF_CLASS_64        2u
#define ELF_LITTLE          1u
#define MACHINE_CUDA        190u
#define FATBIN_MAGIC        0xba55ed50u
#define FATBIN_HEADER_BYTES 16u

static uint64_t read_le(const uint8_t *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i > 0; i--) value = value << 8 | at[i - 1];
    return value;
}

static slw_code truncated(slw_error *err, const char *what) {
    return slwi_fail(err, SLW_E_INVALID_BINARY, "TRUNCATED", "%s reaches beyond the end of the image", what);
}

static int table_fits(uint64_t offset, uint64_t count, uint64_t entry, uint64_t size) {
    return count == 0 || (offset <= size && count * entry <= size - offset); /* 16 by 16 bits: no overflow */
}

static slw_code check_elf(const uint8_t *at, uint64_t size, slw_error *err) {
    if (size < ELF_HEADER_BYTES) return truncated(err, "the ELF header");
    if (at[4] != ELF_CLASS_64 || at[5] != ELF_LITTLE || read_le(at + 18, 2) != MACHINE_CUDA) {
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "KIND", "the ELF file is not for a CUDA device");
    }
    if (!table_fits(read_le(at + 32, 8), read_le(at + 56, 2), read_le(at + 54, 2), size)) {
        return truncated(err, "the table of segments");
    }
    if (!table_fits(read_le(at + 40, 8), read_le(at + 60, 2), read_le(at + 58, 2), size)) {
        return truncated(err, "the table of sections");
    }
    return SLW_OK;
}

static slw_code check_fatbin(const uint8_t *at, uint64_t size, slw_error *err) {
    if (size < FATBIN_HEADER_BYTES) return truncated(err, "the fatbin header");
    const uint64_t header = read_le(at + 6, 2);
    if (header < FATBIN_HEADER_BYTES || header > size || read_le(at + 8, 8) > size - header) {
        return truncated(err, "the fatbin");
    }
    return SLW_OK;
}

static slw_code check_text(const uint8_t *at, uint64_t size, slw_error *err) {
    for (uint64_t i = 0; i < size; i++) {
        if (at[i] != 0 && at[i] < 0x80u) continue;
        slwi_error_place(err, 0, 0, i);
        return slwi_fail(err, SLW_E_INVALID_PTX, "BAD_BYTE", "byte 0x%02x in PTX text", at[i]);
    }
    return SLW_OK;
}

slw_code slwi_cuda_image_form(slw_bytes bytes, slw_image_kind kind, slwi_cuda_form *out, slw_error *err) {
    const uint8_t *const at = bytes.data;
    if (at == NULL || bytes.size == 0) return slwi_fail(err, SLW_E_INVALID_BINARY, "EMPTY", "the image is empty");
    if (kind != SLW_IMAGE_CUBIN && kind != SLW_IMAGE_PTX && kind != SLW_IMAGE_UNKNOWN) {
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "KIND", "the image is of a kind that no CUDA driver loads");
    }
    if (bytes.size >= 4 && memcmp(at, "\177ELF", 4) == 0) {
        *out = SLWI_CUDA_CUBIN;
        return check_elf(at, bytes.size, err);
    }
    if (bytes.size >= 4 && read_le(at, 4) == FATBIN_MAGIC) {
        *out = SLWI_CUDA_FATBIN;
        return check_fatbin(at, bytes.size, err);
    }
    if (kind == SLW_IMAGE_PTX) {
        *out = SLWI_CUDA_PTX;
        return check_text(at, bytes.size, err);
    }
    return slwi_fail(err, SLW_E_INVALID_BINARY, "BAD_MAGIC", "the image is no cubin, fatbin or PTX");
}

uint32_t slwi_cuda_isa_number(const char *text) {
    if (text == NULL || text[0] < '0' || text[0] > '9') return 0;
    uint32_t major = 0;
    size_t at = 0;
    while (text[at] >= '0' && text[at] <= '9' && major < 1000u) major = major * 10u + (uint32_t)(text[at++] - '0');
    if (text[at] != '.' || text[at + 1] < '0' || text[at + 1] > '9' || text[at + 2] != '\0') return 0;
    return major * 10u + (uint32_t)(text[at + 1] - '0');
}

slw_code slwi_cuda_image_policy(const slw_contract *contract, slwi_cuda_form form, uint32_t allow_ptx,
                                uint32_t newest_isa, slw_error *err) {
    if (form != SLWI_CUDA_PTX && contract->kind != SLW_IMAGE_PTX) return SLW_OK;
    if (!allow_ptx) {
        slwi_error_hint(err, "Compile it to a cubin first, or let the device take PTX (allow_ptx).");
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "PTX_NOT_ALLOWED",
                         "the image is PTX, which the driver would have to compile now");
    }
    const uint32_t isa = slwi_cuda_isa_number(contract->isa_version);
    if (newest_isa == 0 || isa <= newest_isa) return SLW_OK;
    slwi_error_subject(err, contract->isa_version, strlen(contract->isa_version));
    return slwi_fail(err, SLW_E_TARGET_MISMATCH, "ISA_VERSION", "PTX %s is newer than %u.%u, the newest of this driver",
                     contract->isa_version, newest_isa / 10u, newest_isa % 10u);
}
