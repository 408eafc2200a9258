/* Where the vendors' disassemblers lie. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "disassemble.h"
#include "fail.h"
#include "os.h"

#define NEWEST_LLVM 30u
#define OLDEST_LLVM 9u /* the first that says the target of a code object by itself */

static const char cuda_places[] = "/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/bin:/usr/bin:/bin";
static const char rocm_places[] = "/opt/rocm/llvm/bin:/opt/rocm/bin:/usr/local/bin:/usr/bin:/bin";
static const char cuda_hint[] =
    "nvdisasm and cuobjdump come with the CUDA toolkit, or as nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump from PyPI";
static const char rocm_hint[] = "llvm-objdump comes with ROCm, or with the llvm package of the system";

typedef struct named_tool {
    const char *name;
    const char *argument;
    int versioned; /* 1: also NAME-16 and the like */
} named_tool;

static const named_tool cuda_tools[] = {{"nvdisasm", "-c", 0}, {"cuobjdump", "-sass", 0}, {NULL, NULL, 0}};
static const named_tool rocm_tools[] = {{"llvm-objdump", "-d", 1}, {NULL, NULL, 0}};

static int is_program(const char *path) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    if (os->fstatat(os, AT_FDCWD, path, 1, &stat) < 0) return 0;
    return S_ISREG(stat.mode) && (stat.mode & 0111u) != 0;
}

/* A name with a version behind it, the newest first: distributions install no other. */
static int find_versioned(const char *directory, const char *name, char *out) {
    for (unsigned version = NEWEST_LLVM; version >= OLDEST_LLVM; version--) {
        const int size = snprintf(out, SLWI_TOOL_PATH_MAX, "%s/%s-%u", directory, name, version);
        if (size > 0 && size < (int)SLWI_TOOL_PATH_MAX && is_program(out)) return 1;
    }
    return 0;
}

/* Directories that are not absolute are passed over: what they mean changes with the working directory. */
static int find_in(const char *places, const named_tool *tool, char *out, slw_error *err) {
    char directory[SLWI_TOOL_PATH_MAX];
    while (*places != '\0') {
        const size_t size = strcspn(places, ":");
        const char *start = places;
        places += places[size] == ':' ? size + 1 : size;
        if (size == 0 || start[0] != '/' || size >= sizeof(directory)) continue;
        memcpy(directory, start, size);
        directory[size] = '\0';
        if (snprintf(out, SLWI_TOOL_PATH_MAX, "%s/%s", directory, tool->name) >= (int)SLWI_TOOL_PATH_MAX) continue;
        if (is_program(out)) return 1;
        slwi_error_tried(err, out);
        if (tool->versioned && find_versioned(directory, tool->name, out)) return 1;
    }
    return 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The way it is asked goes by its name: a wrapper is called as what it wraps. */
static const char *argument_of(const char *path, const named_tool *tools) {
    for (const named_tool *tool = tools; tool->name != NULL; tool++) {
        if (strstr(base_name(path), tool->name) != NULL) return tool->argument;
    }
    return tools[0].argument;
}

static slw_code named(const char *path, const named_tool *tools, const char *hint, slwi_disassembler *out,
                      slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const int known = os->realpath(os, path, out->path);
    if (known < 0 || !is_program(out->path)) {
        slwi_error_tried(err, path);
        slwi_error_path(err, path);
        slwi_error_hint(err, hint);
        return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER", "there is no program at %s", path);
    }
    out->argument = argument_of(path, tools);
    return SLW_OK;
}

slw_code slwi_disassembler_find(const slw_disassemble_options *options, slw_image_kind kind, slwi_disassembler *out,
                                slw_error *err) {
    if (kind != SLW_IMAGE_CUBIN && kind != SLW_IMAGE_HSACO) {
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "NO_MACHINE_CODE", "no tool reads an image of that kind");
    }
    const int cuda = kind == SLW_IMAGE_CUBIN;
    const named_tool *tools = cuda ? cuda_tools : rocm_tools;
    const char *hint = cuda ? cuda_hint : rocm_hint;
    if (options != NULL && options->tool != NULL) return named(options->tool, tools, hint, out, err);
    const char *places = options != NULL ? options->search_path : NULL;
    if (places == NULL) places = cuda ? cuda_places : rocm_places;
    slw_error tried = SLW_ERROR_INIT; /* told only when nothing is found */
    for (const named_tool *tool = tools; tool->name != NULL; tool++) {
        if (!find_in(places, tool, out->path, &tried)) continue;
        out->argument = tool->argument;
        return SLW_OK;
    }
    for (char *at = tried.tried; *at != '\0';) {
        const size_t size = strcspn(at, "\n");
        const int more = at[size] == '\n';
        at[size] = '\0';
        slwi_error_tried(err, at);
        at += size + (size_t)more;
    }
    slwi_error_hint(err, hint);
    return slwi_fail(err, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER",
                     cuda ? "neither nvdisasm nor cuobjdump was found" : "llvm-objdump was not found");
}
