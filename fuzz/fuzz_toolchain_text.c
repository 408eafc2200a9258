/* Attacks what the host backend reads of compilers: slwi_tool_words_rename and slwi_tool_words_place (diagnostics),
 * slwi_tool_answer_read (remembered answers), and slwi_host_link_inputs_find (linker scripts), all with the same bytes. */
#include <string.h>

#include "fuzz.h"
#include "tool_answer.h"
#include "host_toolchain.h"
#include "tool_words.h"

static slw_code words(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slwi_buffer out;
    slwi_tool_place place;
    const slw_bytes text = {data, size};
    slwi_buffer_init(&out, allocator, SIZE_MAX);
    slwi_tool_words_rename(text, "source.c", "name.c", &out);
    const slw_code rc = out.failed ? SLW_E_NO_MEMORY : SLW_OK;
    if (rc == SLW_OK) FUZZ_REQUIRE(out.size <= size); /* the new name is the shorter one */
    slwi_buffer_free(&out);
    if (slwi_tool_words_place(text, &place)) {
        const uint8_t *message = place.message.data;
        FUZZ_REQUIRE(message >= data && message + place.message.size <= data + size);
        FUZZ_REQUIRE(memchr(message, '\n', place.message.size) == NULL);
        FUZZ_REQUIRE(place.file.size <= place.message.size);
    }
    return rc;
}

/* Only what was written is read: read and written again it is the same text. */
static slw_code answer(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slwi_tool_answer read;
    slw_digest proof;
    slwi_tool_answer_init(&read, allocator);
    const int ok = slwi_tool_answer_read((slw_bytes){data, size}, &read, &proof);
    slw_code rc = ok ? SLW_OK : SLW_E_INVALID_METADATA;
    if (slwi_tool_answer_status(&read, NULL) != SLW_OK) rc = SLW_E_NO_MEMORY;
    FUZZ_REQUIRE(!ok || rc == SLW_OK);
    if (ok) {
        slwi_buffer again;
        slwi_buffer_init(&again, NULL, SIZE_MAX);
        FUZZ_REQUIRE(slwi_tool_answer_write(&read, &proof, &again));
        FUZZ_REQUIRE(again.size == size && memcmp(again.data, data, size) == 0);
        slwi_buffer_free(&again);
    }
    slwi_tool_answer_free(&read);
    return rc;
}

static slw_code linker_script(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slwi_tool_answer of;
    slwi_host_link_inputs inputs;
    slw_error err = SLW_ERROR_INIT;
    slwi_tool_answer_init(&of, NULL);
    slwi_tool_list_add(&of.facts[SLWI_TOOL_FACT_DIRECTORY], "/lib");
    slwi_tool_list_add(&of.facts[SLWI_TOOL_FACT_DIRECTORY], "/usr/lib");
    slwi_tool_list_add(&of.facts[SLWI_TOOL_FACT_LIBRARY], "c");
    slwi_tool_list_add(&of.facts[SLWI_TOOL_FACT_SYSROOT], "/usr");
    const slw_code rc = slwi_host_link_inputs_find(&of, allocator, &inputs, &err);
    FUZZ_REQUIRE(rc == SLW_OK || rc == SLW_E_NO_MEMORY);
    FUZZ_REQUIRE(memchr(inputs.why, 0, sizeof inputs.why) != NULL);
    for (size_t i = 0; i < inputs.files.count; i++) FUZZ_REQUIRE(inputs.files.items[i][0] == '/');
    (void)data;
    (void)size;
    slwi_host_link_inputs_free(&inputs);
    slwi_tool_answer_free(&of);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t archive[] = "!<arch>\nxxxxxxxxxxxxxxxxxxxxxxxx";
    const fuzz_file files[] = {
        {"/lib/libc.so", data, size},
        {"/usr/lib/libm.so", data, size / 2},
        {"/lib/libc_nonshared.a", archive, sizeof archive - 1},
    };
    (void)fuzz_with_fault(words, data, size);
    (void)fuzz_with_fault(answer, data, size);
    fuzz_os_begin(files, sizeof files / sizeof *files);
    (void)fuzz_with_fault(linker_script, data, size);
    fuzz_os_end();
    return 0;
}
