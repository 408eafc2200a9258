/* What of the toolchain can change a CUDA kernel, as the four components of its identity. */
#include <slipway/contract.h>
#include <string.h>

#include "cubin_read.h"
#include "fail.h"
#include "host_toolchain.h"
#include "nvcc_toolchain.h"
#include "tool_identity.h"

static slw_code add_facts(slw_identity *identity, const char *component, const char *name,
                          const slwi_nvcc_toolchain *toolchain, slwi_tool_fact kind, slw_error *err) {
    return slwi_tool_identity_add_list(identity, component, name, &toolchain->allocator,
                                       (const char *const *)toolchain->answer.facts[kind].items, err);
}

/* The backend itself: its name, how it reads, and what it adds to every command line. */
static slw_code add_backend(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    char revision[24] = "reader-0";
    char schema[24] = "contract-0";
    revision[7] = (char)('0' + SLWI_CUDA_READER_REVISION);
    schema[9] = (char)('0' + SLW_CONTRACT_SCHEMA);
    const char *kind = toolchain->host != NULL ? "nvcc" : toolchain->library != NULL ? "nvrtc" : "ptxas";
    const char *const about[] = {"cuda", revision, schema, kind, NULL};
    const int reproducible = slwi_nvcc_note(&toolchain->answer, SLWI_NVCC_NOTE_REPRODUCIBLE) != NULL;
    slw_code rc = slw_identity_component(identity, SLWI_TOOL_BACKEND, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_BACKEND, "about", &toolchain->allocator, about, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_BACKEND, "compile_after", &toolchain->allocator,
                                         slwi_nvcc_compile_after, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_add_list(identity, SLWI_TOOL_BACKEND, "reproducible", &toolchain->allocator,
                                         reproducible ? slwi_nvcc_reproducible : NULL, err);
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_BACKEND, err) : rc;
}

static slw_code claim(slw_identity *identity, const char *name, const char *text, slw_error *err) {
    if (text == NULL) return SLW_OK;
    return slw_identity_add_claim(identity, SLWI_TOOL_COMPILER, name, (slw_bytes){text, strlen(text)}, err);
}

static slw_code add_compiler(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    const slwi_tool_answer *answer = &toolchain->answer;
    const slwi_tool_list *programs = &answer->facts[SLWI_TOOL_FACT_PROGRAM];
    slw_code rc = slw_identity_component(identity, SLWI_TOOL_COMPILER, err);
    if (rc == SLW_OK) rc = slw_identity_add_program(identity, SLWI_TOOL_COMPILER, toolchain->driver, err);
    for (size_t i = 0; rc == SLW_OK && i < programs->count; i++) {
        if (strcmp(programs->items[i], toolchain->driver) == 0) continue;
        rc = slw_identity_add_program(identity, SLWI_TOOL_COMPILER, programs->items[i], err);
    }
    if (rc == SLW_OK) rc = claim(identity, "version", slwi_tool_answer_version(answer), err);
    if (rc == SLW_OK) rc = claim(identity, "ptxas", slwi_nvcc_note(answer, SLWI_NVCC_NOTE_PTXAS), err);
    if (rc == SLW_OK) rc = claim(identity, "host", slwi_nvcc_note(answer, SLWI_NVCC_NOTE_HOST), err);
    /* The compiler that nvcc drives reads configuration of its own. */
    if (rc == SLW_OK && toolchain->host != NULL)
        rc = slwi_host_check_configs(answer, toolchain->host, &toolchain->allocator, identity, SLWI_TOOL_COMPILER, err);
    return rc == SLW_OK ? slw_identity_prove(identity, SLWI_TOOL_COMPILER, err) : rc;
}

/* nvcc.profile and the bitcode as files, what is loaded before the system's libraries as programs, headers as trees. */
static slw_code add_libraries(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    const slwi_tool_answer *answer = &toolchain->answer;
    const slwi_tool_list *files = &answer->facts[SLWI_TOOL_FACT_FILE];
    const slwi_tool_list *plugins = &answer->facts[SLWI_TOOL_FACT_PLUGIN];
    const slwi_tool_list *includes = &answer->facts[SLWI_TOOL_FACT_INCLUDE];
    const char *why = slwi_nvcc_note(answer, SLWI_NVCC_NOTE_WHY);
    slw_code rc = slw_identity_component(identity, SLWI_TOOL_LIBRARIES, err);
    if (rc == SLW_OK && why != NULL) rc = slw_identity_reject(identity, SLWI_TOOL_LIBRARIES, why, err);
    for (size_t i = 0; rc == SLW_OK && i < files->count; i++)
        rc = slw_identity_add_file(identity, SLWI_TOOL_LIBRARIES, files->items[i], err);
    for (size_t i = 0; rc == SLW_OK && i < plugins->count; i++)
        rc = slw_identity_add_program(identity, SLWI_TOOL_LIBRARIES, plugins->items[i], err);
    if (rc == SLW_OK) rc = slwi_tool_identity_add_trees(identity, SLWI_TOOL_LIBRARIES, includes, err);
    /* The order of a search is meaning as well. */
    if (rc == SLW_OK)
        rc = add_facts(identity, SLWI_TOOL_LIBRARIES, "include_order", toolchain, SLWI_TOOL_FACT_INCLUDE, err);
    if (rc == SLW_OK)
        rc = add_facts(identity, SLWI_TOOL_LIBRARIES, "library_directories", toolchain, SLWI_TOOL_FACT_DIRECTORY, err);
    return rc == SLW_OK && why == NULL ? slw_identity_prove(identity, SLWI_TOOL_LIBRARIES, err) : rc;
}

static slw_code add_environment(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    static const char *const rules[] = {"working directory: private, inside the build's, called " SLWI_NVCC_HERE,
                                        "source: source.cu or source.ptx, with a fixed time", NULL};
    slwi_tool_list variables;
    slwi_tool_list_init(&variables, &toolchain->allocator);
    slwi_nvcc_variables(&variables);
    slw_code rc = slwi_tool_list_status(&variables, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_environment(identity, &toolchain->allocator, toolchain->path, &variables, rules, err);
    slwi_tool_list_free(&variables);
    return rc;
}

slw_code slwi_nvcc_declare_identity(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    slw_code rc = add_backend(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_compiler(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_libraries(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_environment(toolchain, identity, err);
    return rc == SLW_OK ? slw_identity_seal(identity, err) : rc;
}
