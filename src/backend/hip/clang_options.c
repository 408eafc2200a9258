#include "clang_options.h"

#include <string.h>

/* One line a rule: match, verdict, what stands in it. */
#define RESERVED(match_, text_)                                                                                        \
    { .text = (text_), .match = SLWI_TOOL_OPTION_##match_, .verdict = SLWI_TOOL_OPTION_RESERVED }
#define PRIVATE(match_, text_)                                                                                         \
    { .text = (text_), .match = SLWI_TOOL_OPTION_##match_, .verdict = SLWI_TOOL_OPTION_PRIVATE }
#define LINK(match_, text_)                                                                                            \
    {                                                                                                                  \
        .text = (text_), .match = SLWI_TOOL_OPTION_##match_, .verdict = SLWI_TOOL_OPTION_PRIVATE,                      \
        .group = SLWI_CLANG_LINK                                                                                       \
    }
#define EXACT(text_)                                                                                                   \
    { .text = (text_), .match = SLWI_TOOL_OPTION_EXACT }
#define SWITCH(text_)                                                                                                  \
    { .text = (text_), .match = SLWI_TOOL_OPTION_SWITCH }
#define VALUE(text_)                                                                                                   \
    { .text = (text_), .match = SLWI_TOOL_OPTION_JOINED }
#define ONE_OF(text_, values_)                                                                                         \
    { .text = (text_), .match = SLWI_TOOL_OPTION_JOINED, .values = (values_) }
#define TEXT(match_, text_)                                                                                            \
    { .text = (text_), .match = SLWI_TOOL_OPTION_##match_, .values = SLWI_TOOL_VALUES_ANY }
/* However it was written, the value is handed on joined. */
#define JOINED_TEXT(text_)                                                                                             \
    { .text = (text_), .match = SLWI_TOOL_OPTION_EITHER, .values = SLWI_TOOL_VALUES_ANY, .written = (text_) }

const slwi_tool_option_rule slwi_clang_option_rules[] = {
    /* set here: what is done, for what, where the output goes */
    RESERVED(EXACT, "-c"),
    RESERVED(EXACT, "-S"),
    RESERVED(EXACT, "-E"),
    RESERVED(EXACT, "-"),
    RESERVED(EXACT, "-###"),
    RESERVED(EXACT, "-v"),
    RESERVED(EXACT, "-emit-llvm"),
    RESERVED(EXACT, "-fsyntax-only"),
    RESERVED(EXACT, "-shared"),
    RESERVED(JOINED, "-dump"),
    RESERVED(JOINED, "-print-"),
    RESERVED(JOINED, "--print-"),
    RESERVED(JOINED, "--help"),
    RESERVED(JOINED, "--version"),
    RESERVED(JOINED, "-save-temps"),
    RESERVED(JOINED, "--save-temps"),
    RESERVED(EITHER, "-x"),
    RESERVED(JOINED, "-M"),
    /* the target is a field of the request */
    RESERVED(NEXT, "-target"),
    RESERVED(JOINED, "--target"),
    RESERVED(JOINED, "-mcpu="),
    RESERVED(JOINED, "-march="),
    RESERVED(JOINED, "-mtune="),
    RESERVED(JOINED, "--offload"),
    RESERVED(JOINED, "--no-offload-arch"),
    RESERVED(JOINED, "--cuda-"),
    RESERVED(JOINED, "-cuid="),
    RESERVED(JOINED, "-fuse-cuid="),
    RESERVED(SWITCH, "-fgpu-rdc"),
    RESERVED(EXACT, "--gpu-bundle-output"),
    RESERVED(EXACT, "--no-gpu-bundle-output"),
    /* language and macros */
    JOINED_TEXT("-D"),
    JOINED_TEXT("-U"),
    VALUE("-std="),
    VALUE("-cl-std="),
    TEXT(JOINED, "-cl-ext="),
    EXACT("-cl-opt-disable"),
    EXACT("-cl-strict-aliasing"),
    EXACT("-cl-single-precision-constant"),
    EXACT("-cl-finite-math-only"),
    EXACT("-cl-kernel-arg-info"),
    EXACT("-cl-unsafe-math-optimizations"),
    EXACT("-cl-fast-relaxed-math"),
    EXACT("-cl-mad-enable"),
    EXACT("-cl-no-signed-zeros"),
    EXACT("-cl-denorms-are-zero"),
    EXACT("-cl-fp32-correctly-rounded-divide-sqrt"),
    EXACT("-cl-uniform-work-group-size"),
    EXACT("-cl-no-stdinc"),
    EXACT("-nogpulib"),
    EXACT("-nogpuinc"),
    EXACT("-nostdinc"),
    EXACT("-nostdinc++"),
    EXACT("-pthread"),
    EXACT("-pipe"),
    /* warnings; "-Wl,…" has a comma, which no plain value has */
    EXACT("-w"),
    VALUE("-W"),
    EXACT("-pedantic"),
    EXACT("-pedantic-errors"),
    /* optimisation and debugging */
    ONE_OF("-O", "|0|1|2|3|s|z|g|fast"),
    ONE_OF("-g", "|0|1|2|3|line-tables-only|dwarf-2|dwarf-3|dwarf-4|dwarf-5|column-info|no-column-info|gdb|gdb0|gdb1|"
                 "gdb2|gdb3"),
    /* the machine */
    ONE_OF("-mcode-object-version=", "3|4|5|6"),
    SWITCH("-mwavefrontsize64"),
    SWITCH("-mcumode"),
    SWITCH("-mtgsplit"),
    SWITCH("-munsafe-fp-atomics"),
    SWITCH("-mamdgpu-ieee"),
    SWITCH("-mamdgpu-precise-memory-op"),
    VALUE("-mrecip="),
    ONE_OF("-mprintf-kind=", "hostcall|buffered"),
    /* values of -f */
    VALUE("-ffp-contract="),
    VALUE("-ffp-model="),
    VALUE("-ffp-exception-behavior="),
    VALUE("-fvisibility="),
    VALUE("-ferror-limit="),
    VALUE("-fmessage-length="),
    VALUE("-ftemplate-depth="),
    VALUE("-fconstexpr-depth="),
    VALUE("-fconstexpr-steps="),
    VALUE("-finline-limit="),
    TEXT(JOINED, "-fdenormal-fp-math"), /* "-fdenormal-fp-math=preserve-sign,preserve-sign" and the one of f32 */
    VALUE("-fgpu-default-stream="),
    ONE_OF("-fdiagnostics-color=", "auto|never|always"),
    /* -f…, -fno-… */
    SWITCH("-ffast-math"),
    SWITCH("-ffinite-math-only"),
    SWITCH("-fmath-errno"),
    SWITCH("-ftrapping-math"),
    SWITCH("-frounding-math"),
    SWITCH("-fsigned-zeros"),
    SWITCH("-fassociative-math"),
    SWITCH("-freciprocal-math"),
    SWITCH("-funsafe-math-optimizations"),
    SWITCH("-fapprox-func"),
    SWITCH("-fhonor-nans"),
    SWITCH("-fhonor-infinities"),
    SWITCH("-funroll-loops"),
    SWITCH("-fvectorize"),
    SWITCH("-fslp-vectorize"),
    SWITCH("-finline"),
    SWITCH("-finline-functions"),
    SWITCH("-foptimize-sibling-calls"),
    SWITCH("-fstrict-aliasing"),
    SWITCH("-fstrict-overflow"),
    SWITCH("-fwrapv"),
    SWITCH("-ftrapv"),
    SWITCH("-fdelete-null-pointer-checks"),
    SWITCH("-fomit-frame-pointer"),
    SWITCH("-ffunction-sections"),
    SWITCH("-fdata-sections"),
    SWITCH("-fmerge-all-constants"),
    SWITCH("-fbuiltin"),
    SWITCH("-ffreestanding"),
    SWITCH("-fsigned-char"),
    SWITCH("-funsigned-char"),
    SWITCH("-fshort-enums"),
    SWITCH("-fexceptions"),
    SWITCH("-fcxx-exceptions"),
    SWITCH("-frtti"),
    SWITCH("-fthreadsafe-statics"),
    SWITCH("-fident"),
    SWITCH("-fcaret-diagnostics"),
    SWITCH("-fdiagnostics-show-option"),
    SWITCH("-fcolor-diagnostics"),
    SWITCH("-fgpu-flush-denormals-to-zero"),
    SWITCH("-fcuda-flush-denormals-to-zero"),
    SWITCH("-fgpu-approx-transcendentals"),
    SWITCH("-fcuda-approx-transcendentals"),
    SWITCH("-fgpu-allow-device-init"),
    SWITCH("-fgpu-defer-diag"),
    SWITCH("-fhip-new-launch-api"),
    SWITCH("-fhip-fp32-correctly-rounded-divide-sqrt"),
    SWITCH("-fhip-kernel-arg-name"),
    /* reach outside the key; listed for the values they take */
    PRIVATE(EITHER, "-I"),
    PRIVATE(NEXT, "-include"),
    PRIVATE(NEXT, "-imacros"),
    PRIVATE(NEXT, "-include-pch"),
    PRIVATE(EITHER, "-isystem"),
    PRIVATE(EITHER, "-iquote"),
    PRIVATE(EITHER, "-idirafter"),
    PRIVATE(EITHER, "-iprefix"),
    PRIVATE(EITHER, "-iwithprefix"),
    PRIVATE(EITHER, "-isysroot"),
    PRIVATE(EQUALS, "--sysroot"),
    PRIVATE(EQUALS, "--config"),
    PRIVATE(EQUALS, "--rocm-path"),
    PRIVATE(EQUALS, "--hip-path"),
    PRIVATE(EQUALS, "--rocm-device-lib-path"),
    PRIVATE(EQUALS, "--gcc-toolchain"),
    PRIVATE(EQUALS, "-resource-dir"),
    PRIVATE(EITHER, "-B"),
    PRIVATE(NEXT, "-Xclang"),
    PRIVATE(NEXT, "-Xarch_device"),
    PRIVATE(NEXT, "-Xarch_host"),
    PRIVATE(NEXT, "-Xpreprocessor"),
    PRIVATE(NEXT, "-Xassembler"),
    PRIVATE(NEXT, "-mllvm"),
    LINK(NEXT, "-Xlinker"),
    LINK(NEXT, "-Xoffload-linker"),
    LINK(JOINED, "-Wl,"),
    LINK(EITHER, "-T"),
    LINK(EITHER, "-L"),
    LINK(EITHER, "-l"),
    LINK(EITHER, "-u"),
    LINK(EITHER, "-z"),
    LINK(JOINED, "-fuse-ld="),
    LINK(JOINED, "--ld-path="),
    RESERVED(EITHER, "-o"),
    {.match = SLWI_TOOL_OPTION_END},
};

size_t slwi_clang_code_words(const slwi_tool_list *options, size_t index) {
    static const char *const starts[] = {"-O", "-m", "-g", "-fdata-sections", "-ffunction-sections", "-fno-ident"};
    const char *word = options->items[index];
    if (strcmp(word, "-mllvm") == 0) return index + 1 < options->count ? 2 : 0;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (strncmp(word, starts[i], strlen(starts[i])) == 0) return 1;
    }
    return 0;
}

int slwi_clang_names_rocm(const char *option, const char **directory) {
    static const struct {
        const char *name;
        int what;
    } rows[] = {
        {"--rocm-path", SLWI_CLANG_NAMES_LIBRARIES | SLWI_CLANG_NAMES_HEADERS},
        {"--hip-path", SLWI_CLANG_NAMES_HEADERS},
        {"--rocm-device-lib-path", SLWI_CLANG_NAMES_LIBRARIES},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const size_t size = strlen(rows[i].name);
        if (strncmp(option, rows[i].name, size) != 0 || (option[size] != '=' && option[size] != '\0')) continue;
        *directory = option[size] == '=' ? option + size + 1 : NULL;
        return rows[i].what;
    }
    return 0;
}
