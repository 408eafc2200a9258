/* A cubin of a kernel that uses shared memory has a section .nv.shared.NAME, of size 0 (or of the system's reserved
 * bytes) where all of it is dynamic, as Triton's is. So a cubin can tell that metadata with no shared memory lies. */
#include <string.h>

#include "elf_view.h"
#include "fail.h"
#include "triton_metadata.h"

#define SHARED_SECTION "nv.shared."

static int is_shared_section(slw_bytes section, const char *kernel) {
    static const char prefix[] = "." SHARED_SECTION;
    const size_t prefix_size = sizeof prefix - 1;
    const size_t size = strlen(kernel);
    const char *name = section.data;
    return section.size == prefix_size + size && memcmp(name, prefix, prefix_size) == 0 &&
           memcmp(name + prefix_size, kernel, size) == 0;
}

slw_code slwi_triton_check_shared(slw_bytes binary, const slw_contract *contract, slw_error *err) {
    const slw_kernel_contract *kernel = &contract->kernels[0];
    slwi_elf elf;
    uint16_t type = 0;
    uint16_t machine = 0;
    if (contract->kind != SLW_IMAGE_CUBIN || kernel->dynamic_shared_bytes != 0 || kernel->static_shared_bytes != 0)
        return SLW_OK;
    if (!slwi_elf_peek(binary, &type, &machine) || machine != SLWI_EM_CUDA) return SLW_OK; /* inside a container */
    slw_code rc = slwi_elf_open(binary, contract->launch_binary, &elf, err);
    for (uint32_t i = 0; rc == SLW_OK && i < elf.section_count; i++) {
        slwi_elf_section section;
        rc = slwi_elf_section_at(&elf, i, &section, err);
        if (rc != SLW_OK || !is_shared_section(section.name, kernel->name)) continue;
        slwi_error_subject(err, "shared", strlen("shared"));
        slwi_error_path(err, contract->launch_binary);
        slwi_error_kernel(err, kernel->name, NULL);
        return slwi_fail(err, SLW_E_CONTRACT_MISMATCH, "CONTRACT_DIFFERS",
                         "the metadata's shared is 0, and the binary's kernel uses dynamic shared memory (section "
                         "." SHARED_SECTION "%.160s)",
                         kernel->name);
    }
    return rc;
}
