/* Finding the compiler, running it, and deciding whether what is remembered of it still holds. */
#include "host_toolchain.h"

#include <string.h>

#include "fail.h"
#include "memory.h"
#include "tool_find.h"
#include "tool_memo.h"
#include "tool_run.h"

const char *const slwi_host_link_arguments[] = {
    "-Wl,--as-needed", "-lm", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--build-id=sha1", NULL,
};
/* Options of the request may override these. */
const char *const slwi_host_compile_before[] = {"-O2", NULL};
/* And may not override these. */
const char *const slwi_host_compile_after[] = {
    "-fPIC", "-fdiagnostics-color=never", SLWI_TOOL_NO_CLOCK_WARNING, SLWI_TOOL_NO_CLOCK, NULL,
};

/* ---- search ---- */

slw_code slwi_host_find_compiler(const char *compiler, const char *search_path, char *found, char *resolved,
                                 slw_error *err) {
    static const char *const names[] = {"cc", "gcc", "clang", NULL};
    static const slwi_tool_wanted wanted = {
        .what = "C compiler",
        .names = names,
        .hint = "install a C compiler, or name one with --cc or SLIPWAY_CC",
    };
    return slwi_tool_find(&wanted, compiler, search_path, found, resolved, err);
}

/* ---- the answer: remembered or asked for ---- */

static slw_code ask(void *context, slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err) {
    return slwi_host_discover(context, cancel, answer, err);
}

static slw_code find_answer(slwi_host_toolchain *toolchain, slw_cancel *cancel, slw_error *err) {
    const slwi_tool_question question = {
        .allocator = &toolchain->allocator,
        .memo = toolchain->memo,
        .about = "slipway host answer 2",
        .driver = toolchain->driver,
        .path = toolchain->path,
        .fixed = slwi_host_link_arguments,
        .ask = ask,
        .context = toolchain,
    };
    return slwi_tool_answer_find(&question, cancel, &toolchain->answer, &toolchain->driver_proof,
                                 &toolchain->driver_proved, err);
}

/* ---- opening ---- */

static slw_code find_driver(slwi_host_toolchain *toolchain, const slw_toolchain_request *request, slw_error *err) {
    char found[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    slw_code rc = slwi_host_find_compiler(request->compiler, request->search_path, found, resolved, err);
    if (rc != SLW_OK) return rc;
    toolchain->found = slwi_strndup(&toolchain->allocator, found, strlen(found));
    toolchain->driver = slwi_strndup(&toolchain->allocator, resolved, strlen(resolved));
    if (toolchain->found == NULL || toolchain->driver == NULL) return slwi_fail_memory(err, SLWI_TOOL_PATH_MAX);
    return slwi_tool_make_path(&toolchain->allocator, resolved, NULL, &toolchain->path, err);
}

slw_code slwi_host_toolchain_open(const slw_toolchain_request *request, slwi_host_toolchain **out, slw_error *err) {
    slw_allocator allocator;
    slw_code rc = slwi_allocator_take(&request->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slwi_host_toolchain *toolchain = slwi_alloc_zero(&allocator, sizeof(*toolchain));
    if (toolchain == NULL) return slwi_fail_memory(err, sizeof(*toolchain));
    toolchain->allocator = allocator;
    toolchain->memo = request->memo;
    slwi_tool_answer_init(&toolchain->answer, &toolchain->allocator);
    rc = find_driver(toolchain, request, err);
    if (rc == SLW_OK) rc = find_answer(toolchain, request->cancel, err);
    if (rc == SLW_OK) rc = slwi_host_declare_identity(toolchain, request->identity, err);
    if (rc != SLW_OK) {
        slwi_host_toolchain_close(&toolchain);
        return rc;
    }
    *out = toolchain;
    return SLW_OK;
}

void slwi_host_toolchain_close(slwi_host_toolchain **toolchain) {
    if (toolchain == NULL || *toolchain == NULL) return;
    slwi_host_toolchain *dead = *toolchain;
    *toolchain = NULL;
    slw_allocator allocator = dead->allocator;
    slwi_tool_answer_free(&dead->answer);
    slwi_free(&allocator, dead->found);
    slwi_free(&allocator, dead->driver);
    slwi_free(&allocator, dead->path);
    slwi_free(&allocator, dead);
}
