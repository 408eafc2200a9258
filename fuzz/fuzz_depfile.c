/* Attacks slwi_tool_depfile_parse, slwi_tool_dependency_inside and the paths as text below it. */
#include <string.h>

#include "fuzz.h"
#include "tool_depfile.h"

static void check_item(const slw_allocator *allocator, const char *item) {
    char out[SLWI_TOOL_PATH_MAX];
    const char *rest = NULL;
    FUZZ_REQUIRE(strlen(item) < SLWI_TOOL_PATH_MAX);
    if (slwi_tool_normalize(out, item)) {
        /* A normalized path stays as it is, and holds no step upwards. */
        char again[SLWI_TOOL_PATH_MAX];
        FUZZ_REQUIRE(slwi_tool_normalize(again, out) && strcmp(out, again) == 0);
        FUZZ_REQUIRE(strcmp(out, "..") != 0 && strstr(out, "/../") == NULL && strstr(out, "//") == NULL);
        (void)slwi_tool_below(out, "/usr/include", &rest);
    }
    if (slwi_tool_directory(out, item)) FUZZ_REQUIRE(out[0] != '\0');
    slwi_tool_list roots, own;
    slwi_tool_list_init(&roots, allocator);
    slwi_tool_list_init(&own, allocator);
    slwi_tool_list_add(&roots, "/usr/include");
    slwi_tool_list_add(&own, "kernel.c");
    const int inside = slwi_tool_dependency_inside(item, "/build", &roots, &own);
    /* Without a link in the way only a path that begins in the root can be inside. */
    if (inside && item[0] == '/' && !roots.failed) FUZZ_REQUIRE(strstr(item, "usr") != NULL && strstr(item, "include") != NULL);
    slwi_tool_list_free(&roots);
    slwi_tool_list_free(&own);
}

static slw_code once(const slw_allocator *allocator, const uint8_t *data, size_t size) {
    slwi_tool_list list;
    slwi_tool_list_init(&list, allocator);
    const int ok = slwi_tool_depfile_parse((slw_bytes){data, size}, &list);
    FUZZ_REQUIRE(!ok || (list.count > 0 && !list.failed));
    const slw_code rc = list.failed ? SLW_E_NO_MEMORY : ok ? SLW_OK : SLW_E_INVALID_METADATA;
    for (size_t i = 0; i < list.count && i < 8; i++) check_item(NULL, list.items[i]);
    slwi_tool_list_free(&list);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t header[] = "int x;\n";
    const fuzz_file files[] = {{"/usr/include/stdio.h", header, sizeof header - 1}, {"/build/kernel.c", header, 3}};
    fuzz_os_begin(files, 2);
    (void)fuzz_with_fault(once, data, size);
    fuzz_os_end();
    return 0;
}
