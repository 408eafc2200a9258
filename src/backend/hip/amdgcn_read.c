#include "amdgcn_read.h"

#include <slipway/limits.h>
#include <string.h>

#include "amdgcn_state.h"
#include "amdgcn_target.h"
#include "fail.h"
#include "memory.h"

#define LAUNCH_BINARY "kernel.hsaco"

#define OSABI_OFFSET   7u
#define ABI_OFFSET     8u
#define TYPE_OFFSET    16u
#define OSABI_HSA      0x40u
#define ABI_OLDEST     2u /* code object v4 */
#define MACHINE_OFFSET 18u

int slwi_amdgcn_recognises(slw_bytes binary) {
    uint16_t type;
    uint16_t machine;
    return slwi_elf_peek(binary, &type, &machine) && machine == SLWI_EM_AMDGPU;
}

static slw_code unsupported(const slwi_amdgcn *r, const char *reason, uint64_t offset, const char *hint,
                            const char *what) {
    if (r->elf.name != NULL) slwi_error_path(r->err, r->elf.name);
    slwi_error_place(r->err, 0, 0, offset);
    if (hint != NULL) slwi_error_hint(r->err, hint);
    return slwi_fail(r->err, SLW_E_UNSUPPORTED_INPUT, reason, "%s", what);
}

/* Versions above the newest known are read as far as they say; below the oldest, metadata and flags mean other things.
 */
static slw_code check_header(slwi_amdgcn *r) {
    if (r->elf.machine != SLWI_EM_AMDGPU) {
        return slwi_elf_bad(&r->elf, r->err, "BAD_HEADER", MACHINE_OFFSET, "this is not an amdgcn code object");
    }
    if (r->elf.type == SLWI_ET_REL) {
        return unsupported(r, "RELOCATABLE", TYPE_OFFSET, "link it with ld.lld -shared",
                           "this is a relocatable object, not a code object that can be loaded");
    }
    if (r->elf.type != SLWI_ET_DYN) {
        return slwi_elf_bad(&r->elf, r->err, "BAD_HEADER", TYPE_OFFSET, "a code object is a shared object");
    }
    if (r->elf.os_abi != OSABI_HSA) {
        return unsupported(r, "OSABI", OSABI_OFFSET, "build it for amdgcn-amd-amdhsa",
                           "the code object is for another run time than HSA");
    }
    if (r->elf.abi_version >= ABI_OLDEST) return SLW_OK;
    return unsupported(r, "CODE_OBJECT_VERSION", ABI_OFFSET, "build it with -mcode-object-version=5",
                       r->elf.abi_version == 0 ? "code object v2 is not read: only v4 and newer"
                                               : "code object v3 is not read: only v4 and newer");
}

static slw_code build(const slwi_amdgcn *r, slwi_contract_builder *builder, slw_contract **out) {
    char target[64];
    slw_contract head;
    memset(&head, 0, sizeof(head));
    slw_code rc = slwi_amdgcn_build_kernels(r, builder);
    if (rc == SLW_OK) rc = slwi_amdgcn_check_descriptors(r);
    if (rc == SLW_OK) rc = slwi_amdgcn_target(r, target);
    if (rc != SLW_OK) return rc;
    head.reader_revision = SLWI_HIP_READER_REVISION;
    head.backend = "hip";
    head.target = target;
    head.launch_binary = r->elf.name != NULL && r->elf.name[0] != '\0' ? r->elf.name : LAUNCH_BINARY;
    head.kind = SLW_IMAGE_HSACO;
    return slwi_contract_builder_finish(builder, &head, out, r->err);
}

static slw_code read_all(slwi_amdgcn *r, slw_contract **out) {
    slw_code rc = slwi_amdgcn_open_note(r);
    if (rc != SLW_OK) return rc;
    r->kernels = slwi_alloc_array(r->allocator, r->kernel_count, sizeof(*r->kernels));
    if (r->kernels == NULL) return slwi_fail_memory(r->err, r->kernel_count * sizeof(*r->kernels));
    rc = slwi_amdgcn_read_kernels(r);
    slwi_contract_builder builder;
    /* Each name stands in the note with at least one byte before it: its size is room for all, with their NULs. */
    if (rc == SLW_OK) {
        rc = slwi_contract_builder_open(&builder, r->allocator, r->kernel_count, r->param_count, r->note.size, r->err);
    }
    if (rc != SLW_OK) return rc;
    rc = build(r, &builder, out);
    slwi_contract_builder_close(&builder);
    return rc;
}

slw_code slwi_amdgcn_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                              slw_error *err) {
    slwi_amdgcn r;
    memset(&r, 0, sizeof(r));
    r.allocator = allocator;
    r.err = err;
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "binary size", binary.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the binary is too large");
    }
    slw_code rc = slwi_elf_open(binary, name, &r.elf, err);
    if (rc == SLW_OK) rc = check_header(&r);
    if (rc == SLW_OK) rc = read_all(&r, out);
    slwi_free(allocator, r.kernels);
    return rc;
}
