/* What of the toolchain can change a code object, as the four components of its identity. */
#include <stdio.h>
#include <string.h>

#include "clang_options.h"
#include "clang_toolchain.h"
#include "amdgcn_read.h"
#include "fail.h"
#include "file.h"
#include "tool_identity.h"

/* The backend itself: its name, how it reads, and what it adds to every command line. */
static slw_code add_backend(const slwi_clang_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    char revision[24];
    char schema[24];
    (void)snprintf(revision, sizeof(revision), "reader-%u", (unsigned)SLWI_HIP_READER_REVISION);
    (void)snprintf(schema, sizeof(schema), "contract-%u", (unsigned)SLW_CONTRACT_SCHEMA);
    const char *const about[] = {"hip", revision, schema, SLWI_CLANG_TRIPLE, NULL};
    const struct {
        const char *name;
        const char *const *items;
    } lists[] = {
        {"about", about},
        {"compile_before", slwi_clang_compile_before},
        {"compile_after", slwi_clang_compile_after},
        {"cl", slwi_clang_for_cl},
        {"hip", slwi_clang_for_hip},
        {"ir", slwi_clang_for_ir},
        {"code_only", slwi_clang_code_only},
    };
    slw_code rc = slw_identity_component(identity, SLWI_TOOL_BACKEND, err);
    for (size_t i = 0; rc == SLW_OK && i < sizeof(lists) / sizeof(*lists); i++) {
        rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_BACKEND, lists[i].name, &toolchain->allocator,
                                         lists[i].items, err);
    }
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_BACKEND, err) : rc;
}

/* ---- configuration files ---- */

/* The words of a configuration file: whitespace between them, comments from '#', a backslash before what would end
   them or a line. Quotes are not undone: a word with one is on no list. */
static void split_config(slw_bytes text, slwi_tool_list *out) {
    const char *at = text.data;
    const char *end = at + text.size;
    while (at < end) {
        if (*at == '#') {
            while (at < end && *at != '\n') at++;
        } else if (strchr(" \t\r\n", *at) != NULL) {
            at++;
        } else {
            const char *start = at;
            while (at < end && strchr(" \t\r\n", *at) == NULL) at++;
            if (at - start != 1 || *start != '\\') slwi_tool_list_add_bytes(out, start, (size_t)(at - start));
        }
    }
}

/* The other files are those that tell ROCm's version. */
static int is_config(const char *path) {
    const size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".cfg") == 0;
}

/* What clang reads by itself may say what the request may: no more files. */
static slw_code check_config(const slwi_clang_toolchain *toolchain, slw_identity *identity, const char *path,
                             slw_error *err) {
    slw_error local = SLW_ERROR_INIT;
    slwi_buffer text;
    slwi_tool_list words;
    slwi_tool_options options;
    char why[512] = "";
    slwi_buffer_init(&text, &toolchain->allocator, SLWI_TOOL_ANSWER_BYTES_MAX);
    slwi_tool_list_init(&words, &toolchain->allocator);
    slw_code rc = slwi_read_file(path, &text, &local);
    if (rc == SLW_OK) {
        split_config((slw_bytes){text.data != NULL ? text.data : "", text.size}, &words);
        rc = slwi_tool_list_status(&words, &local);
    }
    if (rc == SLW_OK)
        rc = slwi_tool_options_parse(slwi_clang_option_rules, (const char *const *)words.items, words.count,
                                     &toolchain->allocator, &options, &local);
    if (rc == SLW_OK) {
        if (options.why[0] != '\0')
            (void)snprintf(why, sizeof(why), "%.200s says what may reach outside the key: %.200s", path, options.why);
        slwi_tool_options_free(&options);
    } else if (rc != SLW_E_NO_MEMORY) {
        (void)snprintf(why, sizeof(why), "%.200s: %.200s", path, local.message);
    }
    slwi_buffer_free(&text);
    slwi_tool_list_free(&words);
    if (rc == SLW_E_NO_MEMORY) return slwi_fail(err, rc, NULL, "no memory for the configuration of clang");
    return why[0] != '\0' ? slw_identity_reject(identity, SLWI_TOOL_COMPILER, why, err) : SLW_OK;
}

/* ---- the components ---- */

static slw_code add_compiler(const slwi_clang_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    const slwi_tool_answer *answer = &toolchain->answer;
    const slwi_tool_list *programs = &answer->facts[SLWI_TOOL_FACT_PROGRAM];
    const slwi_tool_list *configs = &answer->facts[SLWI_TOOL_FACT_FILE];
    const char *version = slwi_tool_answer_version(answer);
    slw_code rc = slw_identity_component(identity, SLWI_TOOL_COMPILER, err);
    if (rc == SLW_OK) rc = slw_identity_add_program(identity, SLWI_TOOL_COMPILER, toolchain->driver, err);
    for (size_t i = 0; rc == SLW_OK && i < programs->count; i++) {
        if (strcmp(programs->items[i], toolchain->driver) != 0)
            rc = slw_identity_add_program(identity, SLWI_TOOL_COMPILER, programs->items[i], err);
    }
    for (size_t i = 0; rc == SLW_OK && i < configs->count; i++) {
        rc = slw_identity_add_file(identity, SLWI_TOOL_COMPILER, configs->items[i], err);
        if (rc == SLW_OK && is_config(configs->items[i]))
            rc = check_config(toolchain, identity, configs->items[i], err);
    }
    if (rc == SLW_OK)
        rc =
            slw_identity_add_claim(identity, SLWI_TOOL_COMPILER, "version", (slw_bytes){version, strlen(version)}, err);
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_COMPILER, err) : rc;
}

/* Include roots and ROCm's bitcode as trees; their order, and whether there is ROCm at all, is meaning as well. */
static slw_code add_libraries(const slwi_clang_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    static const struct {
        const char *name;
        slwi_tool_fact kind;
    } lists[] = {
        {"include_order", SLWI_TOOL_FACT_INCLUDE},
        {"device_libraries", SLWI_TOOL_FACT_DIRECTORY},
        {"runtimes", SLWI_TOOL_FACT_LIBRARY},
    };
    const slwi_tool_list *facts = toolchain->answer.facts;
    slwi_tool_list roots;
    slwi_tool_list_init(&roots, &toolchain->allocator);
    slwi_tool_list_add_all(&roots, &facts[SLWI_TOOL_FACT_INCLUDE]);
    slwi_tool_list_add_all(&roots, &facts[SLWI_TOOL_FACT_DIRECTORY]);
    slw_code rc = slwi_tool_list_status(&roots, err);
    if (rc == SLW_OK) rc = slw_identity_component(identity, SLWI_TOOL_LIBRARIES, err);
    if (rc == SLW_OK) rc = slwi_tool_identity_add_trees(identity, SLWI_TOOL_LIBRARIES, &roots, err);
    for (size_t i = 0; rc == SLW_OK && i < sizeof(lists) / sizeof(*lists); i++) {
        rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_LIBRARIES, lists[i].name, &toolchain->allocator,
                                         (const char *const *)facts[lists[i].kind].items, err);
    }
    slwi_tool_list_free(&roots);
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_LIBRARIES, err) : rc;
}

slw_code slwi_clang_declare_identity(const slwi_clang_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    static const char *const rules[] = {"working directory: private, inside the build's, mapped out of the output",
                                        "source: source.EXTENSION, with a fixed time", NULL};
    slw_code rc = add_backend(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_compiler(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_libraries(toolchain, identity, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_environment(identity, &toolchain->allocator, toolchain->path, NULL, rules, err);
    return rc == SLW_OK ? slw_identity_seal(identity, err) : rc;
}
