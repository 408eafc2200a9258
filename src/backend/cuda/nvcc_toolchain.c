/* Finding nvcc, its host compiler and ptxas, and deciding whether what is remembered of them still holds. */
#include "nvcc_toolchain.h"

#include <string.h>

#include "fail.h"
#include "memory.h"
#include "tool_find.h"
#include "tool_memo.h"
#include "tool_run.h"

#define HINT                                                                                                           \
    "install the CUDA toolkit (nvcc, ptxas), put its bin directory into the search path or name nvcc with --cc; "      \
    "ptxas alone is enough for PTX"
#define HOST_HINT                                                                                                      \
    "nvcc preprocesses with a C++ compiler: install g++ or clang++, or put the directory of one into the search path"

const char *const slwi_nvcc_compile_after[] = {"-ptx", "-m64", NULL};
const char *const slwi_nvcc_reproducible[] = {SLWI_NVCC_SEED "0", SLWI_NVCC_PATH_OPTION,
                                              SLWI_NVCC_PATH_VALUE "0/source.cu", NULL};

void slwi_nvcc_variables(slwi_tool_list *out) {
    /* Line tables hold the working directory, and this is how it is asked for. */
    slwi_tool_list_add(out, "PWD=" SLWI_NVCC_HERE);
}

int slwi_nvcc_is_for_shell(const char *text) {
    return strpbrk(text, "$`\\\"\n\r") != NULL;
}

/* ---- what an answer says ---- */

const char *slwi_nvcc_program(const slwi_tool_answer *answer, const char *name) {
    const slwi_tool_list *programs = &answer->facts[SLWI_TOOL_FACT_PROGRAM];
    for (size_t i = 0; i < programs->count; i++) {
        if (strcmp(slwi_tool_base_name(programs->items[i]), name) == 0) return programs->items[i];
    }
    return NULL;
}

const char *slwi_nvcc_note(const slwi_tool_answer *answer, const char *name) {
    const slwi_tool_list *notes = &answer->facts[SLWI_TOOL_FACT_NOTE];
    const size_t size = strlen(name);
    for (size_t i = 0; i < notes->count; i++) {
        if (strncmp(notes->items[i], name, size) == 0 && notes->items[i][size] == ' ') return notes->items[i] + size + 1;
    }
    return NULL;
}

static uint32_t number(const char **at) {
    uint32_t value = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9' && *at - start < 4; (*at)++) value = value * 10 + (uint32_t)(**at - '0');
    return value;
}

uint32_t slwi_nvcc_isa_number(const char *text) {
    const char *at = text;
    const uint32_t major = number(&at);
    if (at == text || *at != '.') return 0;
    const char *dot = at++;
    const uint32_t minor = number(&at);
    return at == dot + 1 || *at != '\0' ? 0 : major * 1000u + minor;
}

/* ---- search ---- */

static const char *const toolkit_directories[] = {"/usr/local/cuda/bin", NULL};

static slw_code find(const char *what, const char *const *names, const char *program, const char *search_path,
                     char *found, char *resolved, slw_error *err) {
    const slwi_tool_wanted wanted = {.what = what, .names = names, .more = toolkit_directories, .hint = HINT};
    return slwi_tool_find(&wanted, program, search_path, found, resolved, err);
}

static int is_ptxas(const char *resolved) {
    return strncmp(slwi_tool_base_name(resolved), "ptxas", 5) == 0;
}

/* What is named is used; unnamed, nvcc is wanted and ptxas will do. The error is the one about nvcc. */
static slw_code find_driver(const slw_toolchain_request *request, char *found, char *resolved, slw_error *err) {
    static const char *const compilers[] = {"nvcc", NULL};
    static const char *const assemblers[] = {"ptxas", NULL};
    slw_code rc = find("CUDA compiler", compilers, request->compiler, request->search_path, found, resolved, err);
    if (rc == SLW_E_TOOL_MISSING && request->compiler == NULL &&
        find("PTX assembler", assemblers, NULL, request->search_path, found, resolved, NULL) == SLW_OK)
        return SLW_E_MISS;
    return rc;
}

/* The C++ driver first: gcc alone may have been installed without its C++ half. */
static slw_code find_host(const char *search_path, char *resolved, slw_error *err) {
    static const char *const names[] = {"g++", "c++", "clang++", "gcc", "clang", NULL};
    static const slwi_tool_wanted wanted = {.what = "C++ compiler for nvcc", .names = names, .hint = HOST_HINT};
    char found[SLWI_TOOL_PATH_MAX];
    return slwi_tool_find(&wanted, NULL, search_path, found, resolved, err);
}

static slw_code keep(const slwi_nvcc_toolchain *toolchain, const char *text, char **out, slw_error *err) {
    *out = slwi_strndup(&toolchain->allocator, text, strlen(text));
    return *out != NULL ? SLW_OK : slwi_fail_memory(err, strlen(text) + 1);
}

/* Keeps the error that stands in `err`, for those who ask for CUDA C, and clears it. */
static slw_code keep_missing(slwi_nvcc_toolchain *toolchain, const slw_error *from, slw_error *err) {
    static const slw_error empty = SLW_ERROR_INIT;
    toolchain->missing = slwi_alloc(&toolchain->allocator, sizeof(*toolchain->missing));
    if (toolchain->missing == NULL) return slwi_fail_memory(err, sizeof(*toolchain->missing));
    *toolchain->missing = empty;
    slwi_error_copy(toolchain->missing, from);
    return SLW_OK;
}

/* nvcc without a host compiler: its ptxas, which lies beside it, goes on alone. */
static slw_code fall_back_to_ptxas(char *found, char *resolved) {
    char directory[SLWI_TOOL_PATH_MAX];
    if (!slwi_tool_directory(directory, resolved) || !slwi_tool_join(found, directory, "ptxas") ||
        !slwi_tool_is_program(found))
        return SLW_E_MISS;
    memcpy(resolved, found, strlen(found) + 1);
    return SLW_OK;
}

static slw_code find_tools(slwi_nvcc_toolchain *toolchain, const slw_toolchain_request *request, slw_error *err) {
    char found[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    char host[SLWI_TOOL_PATH_MAX];
    char host_directory[SLWI_TOOL_PATH_MAX] = "";
    slw_error why = SLW_ERROR_INIT;
    slw_code rc = find_driver(request, found, resolved, &why);
    if (rc != SLW_OK && rc != SLW_E_MISS) {
        slwi_error_copy(err, &why);
        return rc;
    }
    if (rc == SLW_OK && is_ptxas(resolved)) {
        slwi_error_hint(&why, HINT);
        (void)slwi_fail(&why, SLW_E_TOOL_MISSING, "NO_COMPILER", "CUDA C needs nvcc, and ptxas is what was named");
    } else if (rc == SLW_OK && find_host(request->search_path, host, &why) == SLW_OK) {
        rc = keep(toolchain, host, &toolchain->host, err);
        if (rc == SLW_OK && !slwi_tool_directory(host_directory, host)) host_directory[0] = '\0';
    } else if (rc == SLW_OK && fall_back_to_ptxas(found, resolved) != SLW_OK) {
        slwi_error_copy(err, &why);
        return why.code;
    }
    if (rc == SLW_E_MISS) rc = SLW_OK;
    if (rc == SLW_OK && toolchain->host == NULL) rc = keep_missing(toolchain, &why, err);
    if (rc == SLW_OK) rc = keep(toolchain, found, &toolchain->found, err);
    if (rc == SLW_OK) rc = keep(toolchain, resolved, &toolchain->driver, err);
    const char *const more[] = {host_directory[0] != '\0' ? host_directory : NULL, NULL};
    return rc == SLW_OK ? slwi_tool_make_path(&toolchain->allocator, resolved, more, &toolchain->path, err) : rc;
}

/* ---- the answer: remembered or asked for ---- */

static slw_code ask(void *context, slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err) {
    return slwi_nvcc_discover(context, cancel, answer, err);
}

static slw_code find_answer(slwi_nvcc_toolchain *toolchain, slw_cancel *cancel, slw_error *err) {
    const char *const fixed[] = {
        toolchain->host != NULL ? toolchain->host : "ptxas alone", slwi_nvcc_compile_after[0],
        slwi_nvcc_reproducible[0], slwi_nvcc_reproducible[1], slwi_nvcc_reproducible[2], NULL};
    const slwi_tool_question question = {
        .allocator = &toolchain->allocator,
        .memo = toolchain->memo,
        .about = "slipway cuda answer 1",
        .driver = toolchain->driver,
        .path = toolchain->path,
        .fixed = fixed,
        .ask = ask,
        .context = toolchain,
    };
    return slwi_tool_answer_find(&question, cancel, &toolchain->answer, &toolchain->driver_proof,
                                 &toolchain->driver_proved, err);
}

/* ---- opening ---- */

slw_code slwi_nvcc_toolchain_open(const slw_toolchain_request *request, slwi_nvcc_toolchain **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_nvcc_toolchain *toolchain = slwi_alloc_zero(&allocator, sizeof(*toolchain));
    if (toolchain == NULL) return slwi_fail_memory(err, sizeof(*toolchain));
    toolchain->allocator = allocator;
    toolchain->memo = request->memo;
    slwi_tool_answer_init(&toolchain->answer, &toolchain->allocator);
    rc = find_tools(toolchain, request, err);
    if (rc == SLW_OK) rc = find_answer(toolchain, request->cancel, err);
    if (rc == SLW_OK) rc = slwi_nvcc_declare_identity(toolchain, request->identity, err);
    if (rc != SLW_OK) {
        slwi_nvcc_toolchain_close(&toolchain);
        return rc;
    }
    *out = toolchain;
    return SLW_OK;
}

void slwi_nvcc_toolchain_close(slwi_nvcc_toolchain **toolchain) {
    if (toolchain == NULL || *toolchain == NULL) return;
    slwi_nvcc_toolchain *dead = *toolchain;
    *toolchain = NULL;
    slw_allocator allocator = dead->allocator;
    slwi_tool_answer_free(&dead->answer);
    slwi_free(&allocator, dead->found);
    slwi_free(&allocator, dead->driver);
    slwi_free(&allocator, dead->host);
    slwi_free(&allocator, dead->path);
    slwi_free(&allocator, dead->missing);
    slwi_free(&allocator, dead);
}
