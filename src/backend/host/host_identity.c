/* What of the toolchain can change a host kernel, as the four components of its identity. */
#include <slipway/key.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "host_kernel_text.h"
#include "host_options.h"
#include "host_reader.h"
#include "host_target.h"
#include "host_toolchain.h"
#include "tool_config.h"
#include "tool_identity.h"

#define BACKEND   SLWI_TOOL_BACKEND
#define COMPILER  SLWI_TOOL_COMPILER
#define LIBRARIES SLWI_TOOL_LIBRARIES

static slw_code add_facts(slw_identity *identity, const char *component, const char *name,
                          const slwi_host_toolchain *toolchain, slwi_tool_fact kind, slw_error *err) {
    return slwi_tool_identity_add_list(identity, component, name, &toolchain->allocator,
                                       (const char *const *)toolchain->answer.facts[kind].items, err);
}

static slw_code header_digest(const slw_allocator *allocator, slw_digest *out, slw_error *err) {
    slwi_buffer text;
    slwi_buffer_init(&text, allocator, SIZE_MAX);
    for (size_t i = 0; slwi_host_kernel_lines[i] != NULL; i++)
        slwi_buffer_append_text(&text, slwi_host_kernel_lines[i]);
    slw_code rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) slw_sha256((slw_bytes){text.data, text.size}, out);
    slwi_buffer_free(&text);
    return rc;
}

/* The backend itself: its name, how it reads, what it adds to every command line, and the header it ships. */
static slw_code add_backend(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    char revision[24] = "reader-0";
    char schema[24] = "contract-0";
    revision[7] = (char)('0' + SLWI_HOST_READER_REVISION);
    schema[9] = (char)('0' + SLW_CONTRACT_SCHEMA);
    const char *const about[] = {"host", revision, schema, slwi_host_target(), NULL};
    slw_digest header;
    slw_code rc = slw_identity_component(identity, BACKEND, err);
    if (rc == SLW_OK) rc = slwi_tool_identity_add_list(identity, BACKEND, "about", &toolchain->allocator, about, err);
    if (rc == SLW_OK) rc = header_digest(&toolchain->allocator, &header, err);
    if (rc == SLW_OK) rc = slw_identity_add_digest(identity, BACKEND, "host_kernel.h", &header, err);
    if (rc == SLW_OK) {
        rc = slwi_tool_identity_add_list(identity, BACKEND, "compile_before", &toolchain->allocator,
                                         slwi_host_compile_before, err);
    }
    if (rc == SLW_OK)
        rc = slwi_tool_identity_add_list(identity, BACKEND, "compile_after", &toolchain->allocator,
                                         slwi_host_compile_after, err);
    if (rc == SLW_OK)
        rc = slwi_tool_identity_add_list(identity, BACKEND, "link", &toolchain->allocator, slwi_host_link_arguments,
                                         err);
    return rc == SLW_OK ? slw_identity_prove(identity, BACKEND, err) : rc;
}

/* What clang reads by itself may say what the request may, and not the machine's own processor: it is in no key. */
static slw_code judge_config(const slwi_tool_list *words, const slw_allocator *allocator, char *why, slw_error *err) {
    slwi_host_options options;
    slw_code rc = slwi_host_options_parse((const char *const *)words->items, words->count, allocator, &options, err);
    if (rc != SLW_OK) return rc;
    (void)snprintf(why, SLWI_TOOL_CONFIG_WHY_MAX, "%.200s", options.native ? "OPTION native" : options.why);
    slwi_host_options_free(&options);
    return SLW_OK;
}

slw_code slwi_host_check_configs(const slwi_tool_answer *answer, const char *driver, const slw_allocator *allocator,
                                 slw_identity *identity, const char *component, slw_error *err) {
    const slwi_tool_list *files = &answer->facts[SLWI_TOOL_FACT_FILE];
    slw_code rc = SLW_OK;
    for (size_t i = 0; rc == SLW_OK && i < files->count; i++) {
        if (slwi_tool_is_config(files->items[i])) {
            rc = slwi_tool_config_check(identity, component, files->items[i], allocator, judge_config, err);
        } else if (slwi_tool_is_specs(files->items[i])) {
            rc = slwi_tool_specs_check(identity, component, files->items[i], driver, allocator, err);
        }
    }
    return rc;
}

static slw_code add_compiler(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    const slwi_tool_answer *answer = &toolchain->answer;
    const char *version = slwi_tool_answer_version(answer);
    slw_code rc = slw_identity_component(identity, COMPILER, err);
    if (rc == SLW_OK) rc = slw_identity_add_program(identity, COMPILER, toolchain->driver, err);
    const slwi_tool_list *programs = &answer->facts[SLWI_TOOL_FACT_PROGRAM];
    const slwi_tool_list *plugins = &answer->facts[SLWI_TOOL_FACT_PLUGIN];
    for (size_t i = 0; rc == SLW_OK && i < programs->count; i++) {
        if (strcmp(programs->items[i], toolchain->driver) == 0) continue;
        rc = slw_identity_add_program(identity, COMPILER, programs->items[i], err);
    }
    for (size_t i = 0; rc == SLW_OK && i < plugins->count; i++) {
        rc = slw_identity_add_program(identity, COMPILER, plugins->items[i], err);
    }
    if (rc == SLW_OK)
        rc = slwi_host_check_configs(answer, toolchain->driver, &toolchain->allocator, identity, COMPILER, err);
    if (rc == SLW_OK) {
        rc = slw_identity_add_claim(identity, COMPILER, "version", (slw_bytes){version, strlen(version)}, err);
    }
    return rc == SLW_OK ? slw_identity_prove(identity, COMPILER, err) : rc;
}

/* Link inputs are files; include roots are trees, also those that are not there: one may come into being. */
static slw_code add_libraries(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    slwi_host_link_inputs inputs;
    const slwi_tool_list *includes = &toolchain->answer.facts[SLWI_TOOL_FACT_INCLUDE];
    slw_code rc = slwi_host_link_inputs_find(&toolchain->answer, &toolchain->allocator, &inputs, err);
    if (rc == SLW_OK) rc = slw_identity_component(identity, LIBRARIES, err);
    if (rc == SLW_OK && inputs.why[0] != '\0') rc = slw_identity_reject(identity, LIBRARIES, inputs.why, err);
    for (size_t i = 0; rc == SLW_OK && i < inputs.files.count; i++) {
        rc = slw_identity_add_file(identity, LIBRARIES, inputs.files.items[i], err);
    }
    for (size_t i = 0; rc == SLW_OK && i < inputs.shared.count; i++) {
        rc = slw_identity_add_program(identity, LIBRARIES, inputs.shared.items[i], err);
    }
    if (rc == SLW_OK) rc = slwi_tool_identity_add_trees(identity, LIBRARIES, includes, err);
    /* The order of a search is meaning as well. */
    if (rc == SLW_OK) rc = add_facts(identity, LIBRARIES, "include_order", toolchain, SLWI_TOOL_FACT_INCLUDE, err);
    if (rc == SLW_OK)
        rc = add_facts(identity, LIBRARIES, "library_directories", toolchain, SLWI_TOOL_FACT_DIRECTORY, err);
    if (rc == SLW_OK) rc = add_facts(identity, LIBRARIES, "libraries", toolchain, SLWI_TOOL_FACT_LIBRARY, err);
    if (rc == SLW_OK && inputs.why[0] == '\0') rc = slw_identity_prove(identity, LIBRARIES, err);
    slwi_host_link_inputs_free(&inputs);
    return rc;
}

static slw_code add_environment(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    static const char *const rules[] = {"working directory: private, inside the build's, mapped out of the output",
                                        "source: source.c, with a fixed time", NULL};
    return slwi_tool_identity_environment(identity, &toolchain->allocator, toolchain->path, NULL, rules, err);
}

slw_code slwi_host_declare_identity(const slwi_host_toolchain *toolchain, slw_identity *identity, slw_error *err) {
    slw_code rc = add_backend(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_compiler(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_libraries(toolchain, identity, err);
    if (rc == SLW_OK) rc = add_environment(toolchain, identity, err);
    return rc == SLW_OK ? slw_identity_seal(identity, err) : rc;
}
