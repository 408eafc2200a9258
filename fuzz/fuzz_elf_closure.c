/* Attacks slwi_elf_read, slwi_elf_build_id, slwi_closure_of and slwi_ldcache_open through slw_identity_add_program and
 * slw_identity_add_build_id. The input is the program, its interpreter and its libraries at once, and the loader's cache. */
#include <string.h>

#include "fuzz.h"

static slw_code once(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    const fuzz_file files[] = {
        {"/bin/program", data, size},
        {"/lib/libx.so.1", data, size},
        {"/lib64/ld-linux-x86-64.so.2", data, size},
        {"/lib/ld-musl-x86_64.so.1", data, size},
        {"/lib/x86_64-linux-gnu/libc.so.6", data, size},
        {"/etc/ld.so.cache", data, size},
    };
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    slw_error err = SLW_ERROR_INIT;
    options.allocator = *allocator;
    fuzz_os_begin(files, sizeof files / sizeof *files);
    slw_code rc = slw_identity_create(&options, &identity, &err);
    if (rc == SLW_OK) rc = slw_identity_component(identity, "tools", &err);
    if (rc == SLW_OK) rc = slw_identity_add_program(identity, "tools", "/bin/program", &err);
    if (rc == SLW_OK) rc = slw_identity_add_build_id(identity, "tools", "/bin/program", &err);
    if (rc == SLW_OK) rc = slw_identity_prove(identity, "tools", &err);
    if (rc == SLW_OK) rc = slw_identity_seal(identity, &err);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_NO_MEMORY); /* a bad program is a fact about the component */
    if (rc == SLW_OK) {
        const slw_code usable = slw_identity_usable(identity, &err);
        FUZZ_REQUIRE(usable == SLW_OK || usable == SLW_E_IDENTITY_UNUSABLE);
        FUZZ_REQUIRE(slw_identity_recheck(identity, &err) == SLW_OK); /* nothing changed */
        const char *component = NULL, *reason = NULL;
        size_t failures = 0;
        while (slw_identity_failure(identity, failures, &component, &reason)) failures++;
        FUZZ_REQUIRE((usable == SLW_OK) == (failures == 0));
    }
    slw_identity_release(&identity);
    fuzz_os_end();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FUZZ_REQUIRE(fuzz_with_fault(once, data, size) != SLW_E_NO_MEMORY);
    return 0;
}
