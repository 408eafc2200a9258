/* Finding clang, and deciding whether what is remembered of it still holds. */
#include "clang_toolchain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "os.h"
#include "tool_find.h"
#include "tool_memo.h"
#include "tool_run.h"

const char *const slwi_clang_compile_before[] = {"-O3", NULL};
const char *const slwi_clang_compile_after[] = {"-fdiagnostics-color=never", SLWI_TOOL_NO_CLOCK_WARNING, NULL};
const char *const slwi_clang_for_cl[] = {"--target=" SLWI_CLANG_TRIPLE, "-x", "cl", SLWI_TOOL_NO_CLOCK, NULL};
/* A fixed name for the compilation: else clang makes one of the source's path, and static device variables carry it. */
const char *const slwi_clang_for_hip[] = {
    "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-cuid=slipway", SLWI_TOOL_NO_CLOCK, NULL,
};
const char *const slwi_clang_for_ir[] = {"--target=" SLWI_CLANG_TRIPLE, "-x", "ir", NULL};
const char *const slwi_clang_code_only[] = {"-Xclang", "-disable-llvm-passes", NULL};

/* ---- search ---- */

/* Newer ROCm calls its driver's wrapper amdllvm: the compiler it starts lies beside it. */
static int pass_wrapper(char *found, char *resolved) {
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    char beside[SLWI_TOOL_PATH_MAX];
    if (strcmp(slwi_tool_base_name(resolved), "amdllvm") != 0) return 0;
    if (!slwi_tool_directory(directory, resolved) || !slwi_tool_join(beside, directory, "clang")) return 0;
    if (!slwi_tool_is_program(beside) || os->realpath(os, beside, resolved) < 0) return 0;
    memcpy(found, beside, strlen(beside) + 1);
    return 1;
}

static slw_code find_clang(const slw_toolchain_request *request, char *found, char *resolved, slw_error *err) {
    static const char *const names[] = {"amdclang", "clang",    "clang-22", "clang-21", "clang-20", "clang-19",
                                        "clang-18", "clang-17", "clang-16", "clang-15", "clang-14", NULL};
    static const char *const more[] = {"/opt/rocm/llvm/bin", "/opt/rocm/lib/llvm/bin", NULL};
    static const slwi_tool_wanted wanted = {
        .what = "clang",
        .names = names,
        .more = more,
        .hint =
            "install clang and lld (their packages are called so), or ROCm, or name a clang with --cc or SLIPWAY_CC",
    };
    const slw_code rc = slwi_tool_find(&wanted, request->compiler, request->search_path, found, resolved, err);
    if (rc == SLW_OK) (void)pass_wrapper(found, resolved);
    return rc;
}

/* ---- the answer: remembered or asked for ---- */

static slw_code ask(void *context, slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err) {
    return slwi_clang_discover(context, cancel, answer, err);
}

static slw_code find_answer(slwi_clang_toolchain *toolchain, slw_cancel *cancel, slw_error *err) {
    const slwi_tool_question question = {
        .allocator = &toolchain->allocator,
        .memo = toolchain->memo,
        .about = "slipway hip answer 1",
        .driver = toolchain->driver,
        .path = toolchain->path,
        .fixed = slwi_clang_for_hip,
        .ask = ask,
        .context = toolchain,
    };
    return slwi_tool_answer_find(&question, cancel, &toolchain->answer, &toolchain->driver_proof,
                                 &toolchain->driver_proved, err);
}

/* ---- opening ---- */

static slw_code find_driver(slwi_clang_toolchain *toolchain, const slw_toolchain_request *request, slw_error *err) {
    char found[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    slw_code rc = find_clang(request, found, resolved, err);
    if (rc != SLW_OK) return rc;
    toolchain->found = slwi_strndup(&toolchain->allocator, found, strlen(found));
    toolchain->driver = slwi_strndup(&toolchain->allocator, resolved, strlen(resolved));
    if (toolchain->found == NULL || toolchain->driver == NULL) return slwi_fail_memory(err, SLWI_TOOL_PATH_MAX);
    return slwi_tool_make_path(&toolchain->allocator, resolved, NULL, &toolchain->path, err);
}

slw_code slwi_clang_toolchain_open(const slw_toolchain_request *request, slwi_clang_toolchain **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_clang_toolchain *toolchain = slwi_alloc_zero(&allocator, sizeof(*toolchain));
    if (toolchain == NULL) return slwi_fail_memory(err, sizeof(*toolchain));
    toolchain->allocator = allocator;
    toolchain->memo = request->memo;
    slwi_tool_answer_init(&toolchain->answer, &toolchain->allocator);
    rc = find_driver(toolchain, request, err);
    if (rc == SLW_OK) rc = find_answer(toolchain, request->cancel, err);
    if (rc == SLW_OK) rc = slwi_clang_declare_identity(toolchain, request->identity, err);
    if (rc != SLW_OK) {
        slwi_clang_toolchain_close(&toolchain);
        return rc;
    }
    *out = toolchain;
    return SLW_OK;
}

void slwi_clang_toolchain_close(slwi_clang_toolchain **toolchain) {
    if (toolchain == NULL || *toolchain == NULL) return;
    slwi_clang_toolchain *dead = *toolchain;
    *toolchain = NULL;
    slw_allocator allocator = dead->allocator;
    slwi_tool_answer_free(&dead->answer);
    slwi_free(&allocator, dead->found);
    slwi_free(&allocator, dead->driver);
    slwi_free(&allocator, dead->path);
    slwi_free(&allocator, dead);
}

/* ---- what the answer says ---- */

/* The names of the libraries are in the answer and their bytes in the identity: to look again is to read either. */
int slwi_clang_has_device_libraries(const slwi_clang_toolchain *toolchain, const char *processor) {
    const slwi_os *os = slwi_os_get();
    const slwi_tool_list *directories = &toolchain->answer.facts[SLWI_TOOL_FACT_DIRECTORY];
    const char *version = strncmp(processor, "gfx", 3) == 0 ? processor + 3 : processor;
    char name[64];
    char path[SLWI_TOOL_PATH_MAX];
    slwi_stat stat;
    (void)snprintf(name, sizeof(name), "oclc_isa_version_%s.bc", version);
    for (size_t i = 0; i < directories->count; i++) {
        if (slwi_tool_join(path, directories->items[i], name) && os->fstatat(os, AT_FDCWD, path, 0, &stat) >= 0)
            return 1;
    }
    return 0;
}

int slwi_clang_has_hip(const slwi_clang_toolchain *toolchain) {
    return slwi_tool_list_has(&toolchain->answer.facts[SLWI_TOOL_FACT_LIBRARY], SLWI_CLANG_FACT_HIP);
}

int slwi_clang_has_processor(const slwi_clang_toolchain *toolchain, const char *processor) {
    return slwi_tool_list_has(&toolchain->answer.facts[SLWI_TOOL_FACT_TARGET], processor);
}
