#include "nvcc_options.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "nvcc_toolchain.h"

/* One line a rule. nvcc takes each long name with one dash and with two; handed on is the spelling in `written`. */
#define RULE(text_, match_, verdict_, values_, written_, group_, nested_)                                              \
    { text_, SLWI_TOOL_OPTION_##match_, SLWI_TOOL_OPTION_##verdict_, values_, written_, group_, nested_ }
#define ANY     SLWI_TOOL_VALUES_ANY
#define PLAIN   SLWI_TOOL_VALUES_PLAIN
#define NUMBER  SLWI_TOOL_VALUES_NUMBER
#define BOOLEAN "true|false"

#define SET_HERE(text_)       RULE(text_, EXACT, RESERVED, PLAIN, NULL, 0, NULL)
#define SET_HERE_VALUE(text_) RULE(text_, EQUALS, RESERVED, ANY, NULL, 0, NULL)
#define SET_HERE_START(text_) RULE(text_, JOINED, RESERVED, ANY, NULL, 0, NULL)
#define OUTSIDE(text_)        RULE(text_, EQUALS, PRIVATE, ANY, NULL, 0, NULL)
#define OUTSIDE_EITHER(text_) RULE(text_, EITHER, PRIVATE, ANY, NULL, 0, NULL)
#define END_OF_RULES          RULE(NULL, END, ALLOWED, NULL, NULL, 0, NULL)

/* nvcc's: a flag and an option with a value, in both spellings. */
#define N SLWI_NVCC_TO_NVCC
#define P SLWI_NVCC_TO_PTXAS
#define FLAG(group_, name_, written_)                                                                                  \
    RULE("-" name_, EXACT, ALLOWED, PLAIN, written_, group_, NULL),                                                    \
        RULE("--" name_, EXACT, ALLOWED, PLAIN, written_, group_, NULL)
#define VALUE(group_, name_, values_, written_)                                                                        \
    RULE("-" name_, EQUALS, ALLOWED, values_, written_, group_, NULL),                                                 \
        RULE("--" name_, EQUALS, ALLOWED, values_, written_, group_, NULL)

/* ptxas's own options, and where they come from its own table, those that nvcc spells the same. */
#define PTXAS_RULES                                                                                                    \
    VALUE(P, "opt-level", "0|1|2|3", "-O"), RULE("-O", EITHER, ALLOWED, "0|1|2|3", "-O", P, NULL),                     \
        FLAG(P, "device-debug", "-g"), FLAG(P, "generate-line-info", "-lineinfo"), FLAG(P, "lineinfo", "-lineinfo"),   \
        FLAG(P, "suppress-debug-info", "-suppress-debug-info"), VALUE(P, "maxrregcount", PLAIN, "-maxrregcount="),     \
        VALUE(P, "fmad", BOOLEAN, "-fmad="), VALUE(P, "def-load-cache", "ca|cg|cs|lu|cv", "-dlcm="),                   \
        VALUE(P, "dlcm", "ca|cg|cs|lu|cv", "-dlcm="), VALUE(P, "def-store-cache", "wb|cg|cs|wt", "-dscm="),            \
        VALUE(P, "dscm", "wb|cg|cs|wt", "-dscm="), VALUE(P, "force-load-cache", "ca|cg|cs|lu|cv", "-flcm="),           \
        VALUE(P, "flcm", "ca|cg|cs|lu|cv", "-flcm="), VALUE(P, "force-store-cache", "wb|cg|cs|wt", "-fscm="),          \
        VALUE(P, "fscm", "wb|cg|cs|wt", "-fscm="), FLAG(P, "warn-on-spills", "-warn-spills"),                          \
        FLAG(P, "warn-spills", "-warn-spills"), FLAG(P, "warn-on-local-memory-usage", "-warn-lmem-usage"),             \
        FLAG(P, "warn-lmem-usage", "-warn-lmem-usage"), FLAG(P, "warn-on-double-precision-use", "-warn-double-usage"), \
        FLAG(P, "warn-double-usage", "-warn-double-usage"), FLAG(P, "warning-as-error", "-Werror"),                    \
        FLAG(P, "Werror", "-Werror"), FLAG(P, "disable-warnings", "-w"), FLAG(P, "verbose", "-v"),                     \
        FLAG(P, "disable-optimizer-constants", "-disable-optimizer-consts"),                                           \
        FLAG(P, "disable-optimizer-consts", "-disable-optimizer-consts"),                                              \
        FLAG(P, "suppress-stack-size-warning", "-suppress-stack-size-warning"),                                        \
        FLAG(P, "override-directive-values", "-override-directive-values"),                                            \
        VALUE(P, "allow-expensive-optimizations", BOOLEAN, "-allow-expensive-optimizations="),                         \
        VALUE(P, "device-stack-protector", BOOLEAN, "-device-stack-protector="),                                       \
        VALUE(P, "Ofast-compile", "0|min|mid|max", "-Ofc="), VALUE(P, "Ofc", "0|min|mid|max", "-Ofc="),                \
        VALUE(P, "register-usage-level", NUMBER, "-regUsageLevel="),                                                   \
        VALUE(P, "regUsageLevel", NUMBER, "-regUsageLevel="), VALUE(P, "minnctapersm", NUMBER, "-minnctapersm="),      \
        FLAG(P, "dont-merge-basicblocks", "-no-bb-merge"), FLAG(P, "no-bb-merge", "-no-bb-merge"),                     \
        FLAG(P, "return-at-end", "-ret-end"), FLAG(P, "ret-end", "-ret-end"),                                          \
        RULE("-v", EXACT, ALLOWED, PLAIN, "-v", P, NULL), RULE("-g", EXACT, ALLOWED, PLAIN, "-g", P, NULL),            \
        RULE("-w", EXACT, ALLOWED, PLAIN, "-w", P, NULL), SET_HERE_VALUE("-arch"), SET_HERE_VALUE("--gpu-name"),       \
        SET_HERE_VALUE("-gpu-name"), SET_HERE_VALUE("-o"), SET_HERE_VALUE("--output-file"),                            \
        SET_HERE_VALUE("-output-file"), SET_HERE_VALUE("-ias"), SET_HERE_VALUE("--input-as-string"),                   \
        SET_HERE_VALUE("-input-as-string"), SET_HERE("-c"), SET_HERE("--compile-only"), SET_HERE("-compile-only"),     \
        SET_HERE("-h"), SET_HERE("--help"), SET_HERE("-V"), SET_HERE("--version"), OUTSIDE("-optf"),                   \
        OUTSIDE("--options-file"), OUTSIDE("-options-file")

static const slwi_tool_option_rule ptxas_rules[] = {PTXAS_RULES, END_OF_RULES};

/* For PTX, -Xptxas is what nvcc would be given. */
static const slwi_tool_option_rule ptx_source_rules[] = {
    RULE("-Xptxas", EQUALS, ALLOWED, ANY, NULL, P, ptxas_rules),
    RULE("--ptxas-options", EQUALS, ALLOWED, ANY, NULL, P, ptxas_rules),
    RULE("-G", EXACT, ALLOWED, PLAIN, "-g", P, NULL),
    PTXAS_RULES,
    END_OF_RULES,
};

static const slwi_tool_option_rule cudafe_rules[] = {
    RULE("--diag_suppress=", JOINED, ALLOWED, PLAIN, NULL, SLWI_NVCC_TO_CUDAFE, NULL),
    RULE("--diag_warning=", JOINED, ALLOWED, PLAIN, NULL, SLWI_NVCC_TO_CUDAFE, NULL),
    RULE("--diag_error=", JOINED, ALLOWED, PLAIN, NULL, SLWI_NVCC_TO_CUDAFE, NULL),
    RULE("--display_error_number", EXACT, ALLOWED, PLAIN, NULL, SLWI_NVCC_TO_CUDAFE, NULL),
    END_OF_RULES,
};

/* What is done, for what and where to is the request's; what reaches outside the key is private; others are allowed. */
static const slwi_tool_option_rule nvcc_rules[] = {
    SET_HERE("-ptx"),
    SET_HERE("--ptx"),
    SET_HERE("-cubin"),
    SET_HERE("--cubin"),
    VALUE(SLWI_NVCC_TO_FATBIN, "fatbin", ANY, ""),
    SET_HERE("-c"),
    SET_HERE("--compile"),
    SET_HERE("-dc"),
    SET_HERE("--device-c"),
    SET_HERE("-dw"),
    SET_HERE("--device-w"),
    SET_HERE("-dlink"),
    SET_HERE("--device-link"),
    SET_HERE("-lib"),
    SET_HERE("--lib"),
    SET_HERE("-link"),
    SET_HERE("--link"),
    SET_HERE("-run"),
    SET_HERE("--run"),
    SET_HERE("-E"),
    SET_HERE("--preprocess"),
    SET_HERE("-cuda"),
    SET_HERE("--cuda"),
    SET_HERE("-optix-ir"),
    SET_HERE("--optix-ir"),
    SET_HERE("-ltoir"),
    SET_HERE("--ltoir"),
    SET_HERE("-hls"),
    SET_HERE("-fdevice-syntax-only"),
    SET_HERE("--fdevice-syntax-only"),
    SET_HERE_START("-M"),
    SET_HERE_START("--generate-dependencies"),
    SET_HERE_START("--generate-nonsystem-dependencies"),
    SET_HERE_START("--dependency-"),
    SET_HERE_VALUE("-o"),
    SET_HERE_VALUE("--output-file"),
    SET_HERE_VALUE("-output-file"),
    SET_HERE_VALUE("-odir"),
    SET_HERE_VALUE("--output-directory"),
    SET_HERE_VALUE("-arch"),
    SET_HERE_VALUE("--gpu-architecture"),
    SET_HERE_VALUE("-gpu-architecture"),
    SET_HERE_VALUE("-code"),
    SET_HERE_VALUE("--gpu-code"),
    SET_HERE_VALUE("-gpu-code"),
    SET_HERE_VALUE("-gencode"),
    SET_HERE_VALUE("--generate-code"),
    SET_HERE_VALUE("-generate-code"),
    SET_HERE_VALUE("-x"),
    SET_HERE_VALUE("--x"),
    SET_HERE_VALUE("-ccbin"),
    SET_HERE_VALUE("--compiler-bindir"),
    SET_HERE_VALUE("-compiler-bindir"),
    SET_HERE_VALUE("-frandom-seed"),
    SET_HERE_VALUE("--frandom-seed"),
    SET_HERE("-dryrun"),
    SET_HERE("--dryrun"),
    SET_HERE("-v"),
    SET_HERE("--verbose"),
    SET_HERE("-keep"),
    SET_HERE("--keep"),
    SET_HERE("-save-temps"),
    SET_HERE("--save-temps"),
    SET_HERE_VALUE("-keep-dir"),
    SET_HERE_VALUE("--keep-dir"),
    SET_HERE_VALUE("-time"),
    SET_HERE_VALUE("--time"),
    SET_HERE("-clean"),
    SET_HERE("--clean-targets"),
    SET_HERE("-h"),
    SET_HERE("--help"),
    SET_HERE("-V"),
    SET_HERE("--version"),
    SET_HERE("-m64"),
    SET_HERE("-m32"),
    SET_HERE_VALUE("-m"),
    SET_HERE_VALUE("--machine"),
    SET_HERE_START("-list-gpu"),
    SET_HERE_START("--list-gpu"),
    SET_HERE_VALUE("-t"),
    SET_HERE_VALUE("--threads"),
    /* options of other programs */
    RULE("-Xptxas", EQUALS, ALLOWED, ANY, NULL, P, ptxas_rules),
    RULE("--ptxas-options", EQUALS, ALLOWED, ANY, NULL, P, ptxas_rules),
    RULE("-ptxas-options", EQUALS, ALLOWED, ANY, NULL, P, ptxas_rules),
    RULE("-Xcudafe", EQUALS, ALLOWED, ANY, NULL, SLWI_NVCC_TO_CUDAFE, cudafe_rules),
    OUTSIDE("-Xcompiler"),
    OUTSIDE("--compiler-options"),
    OUTSIDE("-compiler-options"),
    OUTSIDE("-Xlinker"),
    OUTSIDE("--linker-options"),
    OUTSIDE("-Xfatbin"),
    OUTSIDE("-Xnvlink"),
    OUTSIDE("--nvlink-options"),
    OUTSIDE("-Xarchive"),
    OUTSIDE("--archive-options"),
    OUTSIDE("-Xcicc"),
    OUTSIDE("-Xnvvm"),
    /* files, directories, programs */
    OUTSIDE("-optf"),
    OUTSIDE("--options-file"),
    OUTSIDE("-options-file"),
    OUTSIDE("-include"),
    OUTSIDE("--pre-include"),
    OUTSIDE("-pre-include"),
    OUTSIDE("-isystem"),
    OUTSIDE("--system-include"),
    OUTSIDE("--include-path"),
    OUTSIDE("-include-path"),
    OUTSIDE("-ldir"),
    OUTSIDE("--libdevice-directory"),
    OUTSIDE("-target-dir"),
    OUTSIDE("--target-directory"),
    OUTSIDE("-target-directory"),
    OUTSIDE("-idp"),
    OUTSIDE("--input-drive-prefix"),
    OUTSIDE("-ddp"),
    OUTSIDE("-cudart"),
    OUTSIDE("--cudart"),
    OUTSIDE("-cudadevrt"),
    OUTSIDE("--cudadevrt"),
    OUTSIDE("--library-path"),
    OUTSIDE("--library"),
    OUTSIDE("-fdevice-time-trace"),
    OUTSIDE("--fdevice-time-trace"),
    OUTSIDE("-run-args"),
    OUTSIDE("--run-args"),
    /* language and macros */
    RULE("-D", EITHER, ALLOWED, ANY, "-D", N, NULL),
    RULE("--define-macro", EQUALS, ALLOWED, ANY, "-D", N, NULL),
    RULE("-U", EITHER, ALLOWED, PLAIN, "-U", N, NULL),
    RULE("--undefine-macro", EQUALS, ALLOWED, PLAIN, "-U", N, NULL),
    VALUE(N, "std", PLAIN, "-std="),
    FLAG(N, "restrict", "-restrict"),
    FLAG(N, "expt-relaxed-constexpr", "-expt-relaxed-constexpr"),
    FLAG(N, "extended-lambda", "-extended-lambda"),
    FLAG(N, "expt-extended-lambda", "-extended-lambda"),
    VALUE(N, "default-stream", "legacy|null|per-thread", "-default-stream="),
    VALUE(N, "ftemplate-depth", NUMBER, "-ftemplate-depth="),
    VALUE(N, "ftemplate-backtrace-limit", NUMBER, "-ftemplate-backtrace-limit="),
    /* floating point, optimisation, debugging */
    FLAG(N, "use_fast_math", "-use_fast_math"),
    VALUE(N, "ftz", BOOLEAN, "-ftz="),
    VALUE(N, "prec-div", BOOLEAN, "-prec-div="),
    VALUE(N, "prec-sqrt", BOOLEAN, "-prec-sqrt="),
    VALUE(N, "fmad", BOOLEAN, "-fmad="),
    FLAG(N, "extra-device-vectorization", "-extra-device-vectorization"),
    RULE("-O", EITHER, ALLOWED, "0|1|2|3", "-O", N, NULL),
    VALUE(N, "optimize", "0|1|2|3", "-O"),
    VALUE(N, "dopt", "on", "-dopt="),
    VALUE(N, "maxrregcount", NUMBER, "-maxrregcount="),
    RULE("-G", EXACT, ALLOWED, PLAIN, "-G", N, NULL),
    FLAG(N, "device-debug", "-G"),
    FLAG(N, "lineinfo", "-lineinfo"),
    FLAG(N, "generate-line-info", "-lineinfo"),
    RULE("-g", EXACT, ALLOWED, PLAIN, "-g", N, NULL),
    FLAG(N, "debug", "-g"),
    FLAG(N, "src-in-ptx", "-src-in-ptx"),
    FLAG(N, "source-in-ptx", "-src-in-ptx"),
    VALUE(N, "rdc", "false", "-rdc="),
    VALUE(N, "relocatable-device-code", "false", "-rdc="),
    FLAG(N, "extensible-whole-program", "-ewp"),
    FLAG(N, "ewp", "-ewp"),
    /* warnings and messages */
    RULE("-w", EXACT, ALLOWED, PLAIN, "-w", N, NULL),
    FLAG(N, "disable-warnings", "-w"),
    VALUE(N, "Werror", ANY, "-Werror="),
    RULE("-W", JOINED, ALLOWED, PLAIN, NULL, N, NULL),
    VALUE(N, "diag-suppress", ANY, "-diag-suppress="),
    VALUE(N, "diag-warn", ANY, "-diag-warn="),
    VALUE(N, "diag-error", ANY, "-diag-error="),
    FLAG(N, "display-error-number", "-err-no"),
    FLAG(N, "err-no", "-err-no"),
    FLAG(N, "no-display-error-number", "-no-err-no"),
    VALUE(N, "brief-diagnostics", BOOLEAN, "-brief-diag="),
    FLAG(N, "resource-usage", "-res-usage"),
    FLAG(N, "res-usage", "-res-usage"),
    FLAG(N, "allow-unsupported-compiler", "-allow-unsupported-compiler"),
    /* what a joined value follows, behind all that begin alike */
    OUTSIDE_EITHER("-I"),
    OUTSIDE_EITHER("-L"),
    OUTSIDE_EITHER("-l"),
    END_OF_RULES,
};

/* ---- parsing ---- */

static slw_code refuse_shell(const char *const *flags, size_t count, slw_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (flags[i] == NULL || !slwi_nvcc_is_for_shell(flags[i])) continue;
        slwi_error_subject(err, flags[i], strlen(flags[i]));
        return slwi_fail(err, SLW_E_USAGE, "SHELL",
                         "nvcc hands its options to a shell, which would change the option \"%.200s\"", flags[i]);
    }
    return SLW_OK;
}

/* nvcc takes values apart at commas and blanks and hands each part to the preprocessor, the joined ones too, as a word
   of its own: with an '@' before it that is a file of more options. No ordinary value has one anywhere. */
static void find_response_files(const char *const *flags, size_t count, slwi_nvcc_options *out) {
    for (size_t i = 0; i < count && out->why[0] == '\0'; i++) {
        if (strchr(flags[i], '@') != NULL) (void)snprintf(out->why, sizeof(out->why), "OPTION %s", flags[i]);
    }
}

/* What ptxas is told when nvcc is told it, as nvcc itself would do. */
static void give_to_both(const char *option, slwi_tool_list *cubin) {
    if (strcmp(option, "-G") == 0) slwi_tool_list_add_once(cubin, "-g");
    if (strcmp(option, "-lineinfo") == 0) slwi_tool_list_add_once(cubin, "-lineinfo");
    if (strncmp(option, "-maxrregcount=", 14) == 0) slwi_tool_list_add(cubin, option);
}

/* "sm_80,compute_90" */
static void add_targets(const char *list, slwi_tool_list *out) {
    while (*list != '\0') {
        const size_t part = strcspn(list, ",");
        slwi_tool_list_add_bytes(out, list, part);
        list += part + (list[part] == ',');
    }
}

slw_code slwi_nvcc_options_parse(const char *const *flags, size_t count, int is_ptx, const slw_allocator *allocator,
                                 slwi_nvcc_options *out, slw_error *err) {
    slwi_tool_options parsed;
    slw_code rc = is_ptx || flags == NULL ? SLW_OK : refuse_shell(flags, count, err);
    if (rc == SLW_OK)
        rc = slwi_tool_options_parse(is_ptx ? ptx_source_rules : nvcc_rules, flags, count, allocator, &parsed, err);
    if (rc != SLW_OK) return rc;
    const slwi_tool_list *nvcc = &parsed.groups[SLWI_NVCC_TO_NVCC];
    const slwi_tool_list *cudafe = &parsed.groups[SLWI_NVCC_TO_CUDAFE];
    slwi_tool_list_init(&out->ptx, allocator);
    slwi_tool_list_init(&out->cubin, allocator);
    slwi_tool_list_init(&out->fatbin, allocator);
    /* Of PTX, what is on no list is ptxas's to judge. */
    slwi_tool_list_add_all(is_ptx ? &out->cubin : &out->ptx, nvcc);
    for (size_t i = 0; i < cudafe->count; i++) {
        slwi_tool_list_add(&out->ptx, "-Xcudafe");
        slwi_tool_list_add(&out->ptx, cudafe->items[i]);
    }
    for (size_t i = 0; !is_ptx && i < nvcc->count; i++) give_to_both(nvcc->items[i], &out->cubin);
    out->shared = is_ptx ? 0 : out->cubin.count;
    for (size_t i = 0; i < parsed.groups[SLWI_NVCC_TO_FATBIN].count; i++)
        add_targets(parsed.groups[SLWI_NVCC_TO_FATBIN].items[i], &out->fatbin);
    slwi_tool_list_add_all(&out->cubin, &parsed.groups[SLWI_NVCC_TO_PTXAS]);
    memcpy(out->why, parsed.why, sizeof(out->why));
    if (!is_ptx) find_response_files(flags, count, out);
    slwi_tool_options_free(&parsed);
    rc = slwi_tool_list_status(&out->ptx, err);
    if (rc == SLW_OK) rc = slwi_tool_list_status(&out->cubin, err);
    if (rc == SLW_OK) rc = slwi_tool_list_status(&out->fatbin, err);
    if (rc != SLW_OK) slwi_nvcc_options_free(out);
    return rc;
}

void slwi_nvcc_options_free(slwi_nvcc_options *options) {
    if (options->ptx.allocator != NULL) slwi_tool_list_free(&options->ptx);
    if (options->cubin.allocator != NULL) slwi_tool_list_free(&options->cubin);
    if (options->fatbin.allocator != NULL) slwi_tool_list_free(&options->fatbin);
}
