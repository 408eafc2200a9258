/* What of the toolchain can change a code object, as the four components of its identity. */
#include <stdio.h>
#include <string.h>

#include "clang_options.h"
#include "clang_toolchain.h"
#include "amdgcn_read.h"
#include "fail.h"
#include "tool_config.h"
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

/* What clang reads by itself may say what the request may: no more files. */
static slw_code judge_config(const slwi_tool_list *words, const slw_allocator *allocator, char *why, slw_error *err) {
    slwi_tool_options options;
    slw_code rc = slwi_tool_options_parse(slwi_clang_option_rules, (const char *const *)words->items, words->count,
                                          allocator, &options, err);
    if (rc != SLW_OK) return rc;
    (void)snprintf(why, SLWI_TOOL_CONFIG_WHY_MAX, "%.200s", options.why);
    slwi_tool_options_free(&options);
    return SLW_OK;
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
        /* The other files are those that tell ROCm's version. */
        if (rc == SLW_OK && slwi_tool_is_config(configs->items[i]))
            rc = slwi_tool_config_check(identity, SLWI_TOOL_COMPILER, configs->items[i], &toolchain->allocator,
                                        judge_config, err);
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
