/* Finding nvcc, its host compiler and ptxas, and deciding whether what is remembered of them still holds. */
#include "nvcc_toolchain.h"

#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "nvrtc.h"
#include "os.h"
#include "tool_find.h"
#include "tool_memo.h"
#include "tool_run.h"

#define HINT                                                                                                           \
    "install the CUDA toolkit (nvcc, ptxas), put its bin directory into the search path or name nvcc with --cc; "      \
    "slipway-nvrtc in the search path compiles with NVRTC; ptxas alone is enough for PTX"
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
        if (strncmp(notes->items[i], name, size) == 0 && notes->items[i][size] == ' ')
            return notes->items[i] + size + 1;
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

/* The vendor's place, and those of distributions. */
static const char *const toolkit_directories[] = {"/usr/local/cuda/bin", "/usr/lib/nvidia-cuda-toolkit/bin",
                                                  "/opt/cuda/bin", NULL};

static int is_script(const char *path) {
    const slwi_os *os = slwi_os_get();
    char start[2] = {0, 0};
    const int fd = os->openat(os, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    const int64_t size = os->pread(os, fd, start, sizeof(start), 0);
    (void)os->close(os, fd);
    return size == 2 && start[0] == '#' && start[1] == '!';
}

static int is_tool(const char *directory, const char *name, char *found) {
    return slwi_tool_join(found, directory, name) && slwi_tool_is_program(found) && !is_script(found);
}

/* The first of that name that is no script, in the order of slwi_tool_find: distributions put a script of that name
   into a directory of PATH, which starts the tool, cannot be proved and is not the tool. */
static int find_tool(const char *name, const char *search_path, char *found, char *resolved) {
    const char *const paths[] = {search_path != NULL ? search_path : "", NULL, slwi_tool_system_path};
    const slwi_os *os = slwi_os_get();
    char directory[SLWI_TOOL_PATH_MAX];
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        for (size_t d = 0; paths[i] == NULL && toolkit_directories[d] != NULL; d++) {
            if (is_tool(toolkit_directories[d], name, found)) return os->realpath(os, found, resolved) == 0;
        }
        for (const char *at = paths[i]; at != NULL && slwi_tool_next_directory(&at, directory);) {
            if (is_tool(directory, name, found)) return os->realpath(os, found, resolved) == 0;
        }
    }
    return 0;
}

static slw_code find(const char *what, const char *const *names, const char *program, const char *search_path,
                     char *found, char *resolved, slw_error *err) {
    const slwi_tool_wanted wanted = {.what = what, .names = names, .more = toolkit_directories, .hint = HINT};
    if (program == NULL && find_tool(names[0], search_path, found, resolved)) return SLW_OK;
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

/* What a search has come to. */
typedef struct tools {
    char found[SLWI_TOOL_PATH_MAX];
    char resolved[SLWI_TOOL_PATH_MAX];
    char host[SLWI_TOOL_PATH_MAX]; /* "": none */
    slw_error why;                 /* there is no nvcc that compiles */
} tools;

/* nvcc with its host compiler, else what there is of the rest: OK with `host`, or MISS with `resolved` some tool of the
   toolkit and `why` set. */
static slw_code find_nvcc(const slw_toolchain_request *request, tools *t) {
    slw_code rc = find_driver(request, t->found, t->resolved, &t->why);
    if (rc != SLW_OK) return rc;
    if (slwi_nvrtc_is_driver(t->resolved)) return SLW_E_MISS;
    if (is_ptxas(t->resolved)) {
        slwi_error_hint(&t->why, HINT);
        (void)slwi_fail(&t->why, SLW_E_TOOL_MISSING, "NO_COMPILER", "CUDA C needs nvcc, and ptxas is what was named");
        return SLW_E_MISS;
    }
    return find_host(request->search_path, t->host, &t->why) == SLW_OK ? SLW_OK : SLW_E_MISS;
}

/* NVRTC where slipway-nvrtc was named, or is in the search path: MISS where it is neither. */
static slw_code find_nvrtc(slwi_nvcc_toolchain *toolchain, const slw_toolchain_request *request, tools *t,
                           slw_error *err) {
    static const char *const names[] = {SLWI_NVRTC_DRIVER, NULL};
    static const char *const assemblers[] = {"ptxas", NULL};
    const int is_named = slwi_nvrtc_is_driver(t->resolved);
    char library[SLWI_TOOL_PATH_MAX];
    char ptxas[SLWI_TOOL_PATH_MAX];
    char found[SLWI_TOOL_PATH_MAX];
    char driver[SLWI_TOOL_PATH_MAX];
    if (is_ptxas(t->resolved) && request->compiler != NULL) return SLW_E_MISS;
    if (is_named) {
        memcpy(found, t->found, sizeof(found));
        memcpy(driver, t->resolved, sizeof(driver));
    } else if (find("NVRTC driver", names, NULL, request->search_path, found, driver, NULL) != SLW_OK) {
        return SLW_E_MISS;
    }
    /* The assembler that NVRTC was shipped with lies beside it; any other will do. */
    slw_code rc = slwi_nvrtc_find_library(&toolchain->allocator, t->resolved, library, is_named ? err : NULL);
    if (rc == SLW_OK && !slwi_nvrtc_find_assembler(library, ptxas)) {
        char met[SLWI_TOOL_PATH_MAX];
        rc = find("PTX assembler", assemblers, NULL, request->search_path, met, ptxas, is_named ? err : NULL);
    }
    if (rc != SLW_OK) return is_named || rc == SLW_E_NO_MEMORY ? rc : SLW_E_MISS;
    memcpy(t->found, found, sizeof(found));
    memcpy(t->resolved, driver, sizeof(driver));
    rc = keep(toolchain, library, &toolchain->library, err);
    return rc == SLW_OK ? keep(toolchain, ptxas, &toolchain->assembler, err) : rc;
}

static slw_code choose_tools(slwi_nvcc_toolchain *toolchain, const slw_toolchain_request *request, tools *t,
                             slw_error *err) {
    slw_code rc = find_nvcc(request, t);
    if (rc == SLW_OK) return keep(toolchain, t->host, &toolchain->host, err);
    if (rc == SLW_E_MISS || (rc == SLW_E_TOOL_MISSING && request->compiler == NULL)) {
        const slw_code missing = rc;
        if (rc != SLW_E_MISS) t->resolved[0] = '\0';
        rc = find_nvrtc(toolchain, request, t, err);
        if (rc != SLW_E_MISS) return rc;
        if (missing == SLW_E_MISS && (is_ptxas(t->resolved) || fall_back_to_ptxas(t->found, t->resolved) == SLW_OK))
            return keep_missing(toolchain, &t->why, err);
    }
    slwi_error_copy(err, &t->why);
    return t->why.code;
}

static slw_code find_tools(slwi_nvcc_toolchain *toolchain, const slw_toolchain_request *request, slw_error *err) {
    static const slw_error no_error = SLW_ERROR_INIT;
    char directory[SLWI_TOOL_PATH_MAX] = "";
    tools *t = slwi_alloc_zero(&toolchain->allocator, sizeof(*t));
    if (t == NULL) return slwi_fail_memory(err, sizeof(*t));
    t->why = no_error;
    slw_code rc = choose_tools(toolchain, request, t, err);
    if (rc == SLW_OK) rc = keep(toolchain, t->found, &toolchain->found, err);
    if (rc == SLW_OK) rc = keep(toolchain, t->resolved, &toolchain->driver, err);
    if (toolchain->host != NULL && !slwi_tool_directory(directory, toolchain->host)) directory[0] = '\0';
    const char *const more[] = {directory[0] != '\0' ? directory : NULL, NULL};
    if (rc == SLW_OK) rc = slwi_tool_make_path(&toolchain->allocator, t->resolved, more, &toolchain->path, err);
    slwi_free(&toolchain->allocator, t);
    return rc;
}

/* ---- the answer: remembered or asked for ---- */

static slw_code ask(void *context, slw_cancel *cancel, slwi_tool_answer *answer, slw_error *err) {
    return slwi_nvcc_discover(context, cancel, answer, err);
}

static slw_code find_answer(slwi_nvcc_toolchain *toolchain, slw_cancel *cancel, slw_error *err) {
    const char *const fixed[] = {toolchain->host != NULL      ? toolchain->host
                                 : toolchain->library != NULL ? toolchain->library
                                                              : "ptxas alone",
                                 toolchain->assembler != NULL ? toolchain->assembler : "",
                                 slwi_nvcc_compile_after[0],
                                 slwi_nvcc_reproducible[0],
                                 slwi_nvcc_reproducible[1],
                                 slwi_nvcc_reproducible[2],
                                 NULL};
    const slwi_tool_question question = {
        .allocator = &toolchain->allocator,
        .memo = toolchain->memo,
        .about = "slipway cuda answer 2",
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
    slwi_free(&allocator, dead->library);
    slwi_free(&allocator, dead->assembler);
    slwi_free(&allocator, dead->path);
    slwi_free(&allocator, dead->missing);
    slwi_free(&allocator, dead);
}
