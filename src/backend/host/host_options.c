#include "host_options.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"

typedef enum match {
    EXACT,    /* the whole option */
    VALUE,    /* the text and then a value of plain characters */
    ANYTHING, /* the text and then anything: text that is only text to the compiler */
    ON_OFF    /* after "-f" or "-m", with or without "no-" */
} match;

typedef enum verdict {
    ALLOWED,
    PRIVATE,      /* known to reach outside the key */
    PRIVATE_LINK, /* likewise, and only the linker's */
    RESERVED      /* slipway sets it */
} verdict;

typedef struct rule {
    const char *text;
    uint8_t match;
    uint8_t verdict;
    uint8_t separate; /* 1: where the text stands alone, the next word is its value; of ON_OFF the letter */
} rule;

static const rule rules[] = {
    /* set here */
    {"-c", EXACT, RESERVED, 0},
    {"-S", EXACT, RESERVED, 0},
    {"-E", EXACT, RESERVED, 0},
    {"-o", ANYTHING, RESERVED, 1},
    {"-x", ANYTHING, RESERVED, 1},
    {"-M", ANYTHING, RESERVED, 0},
    {"-###", EXACT, RESERVED, 0},
    {"-v", EXACT, RESERVED, 0},
    {"--help", ANYTHING, RESERVED, 0},
    {"--version", EXACT, RESERVED, 0},
    {"-shared", EXACT, RESERVED, 0},
    {"-dump", ANYTHING, RESERVED, 0},
    {"-print-", ANYTHING, RESERVED, 0},
    {"-fsyntax-only", EXACT, RESERVED, 0},
    {"-", EXACT, RESERVED, 0},
    /* language and macros */
    {"-D", ANYTHING, ALLOWED, 1},
    {"-U", ANYTHING, ALLOWED, 1},
    {"-std=", VALUE, ALLOWED, 0},
    {"-ansi", EXACT, ALLOWED, 0},
    {"-trigraphs", EXACT, ALLOWED, 0},
    {"-pthread", EXACT, ALLOWED, 0},
    {"-pipe", EXACT, ALLOWED, 0},
    /* warnings; "-Wl,…", "-Wa,…" and "-Wp,…" have a comma, which no plain value has */
    {"-w", EXACT, ALLOWED, 0},
    {"-W", VALUE, ALLOWED, 0},
    {"-pedantic", EXACT, ALLOWED, 0},
    {"-pedantic-errors", EXACT, ALLOWED, 0},
    /* optimisation and debugging */
    {"-O", EXACT, ALLOWED, 0},
    {"-O0", EXACT, ALLOWED, 0},
    {"-O1", EXACT, ALLOWED, 0},
    {"-O2", EXACT, ALLOWED, 0},
    {"-O3", EXACT, ALLOWED, 0},
    {"-Os", EXACT, ALLOWED, 0},
    {"-Oz", EXACT, ALLOWED, 0},
    {"-Og", EXACT, ALLOWED, 0},
    {"-Ofast", EXACT, ALLOWED, 0},
    {"-g", EXACT, ALLOWED, 0},
    {"-g0", EXACT, ALLOWED, 0},
    {"-g1", EXACT, ALLOWED, 0},
    {"-g2", EXACT, ALLOWED, 0},
    {"-g3", EXACT, ALLOWED, 0},
    {"-ggdb", VALUE, ALLOWED, 0},
    {"-gdwarf", VALUE, ALLOWED, 0},
    {"-gline-tables-only", EXACT, ALLOWED, 0},
    {"-gcolumn-info", EXACT, ALLOWED, 0},
    {"-gno-column-info", EXACT, ALLOWED, 0},
    {"-gstrict-dwarf", EXACT, ALLOWED, 0},
    {"-gno-strict-dwarf", EXACT, ALLOWED, 0},
    {"--param", VALUE, ALLOWED, 1},
    /* values of -f */
    {"-ffp-contract=", VALUE, ALLOWED, 0},
    {"-ffp-model=", VALUE, ALLOWED, 0},
    {"-fexcess-precision=", VALUE, ALLOWED, 0},
    {"-fvisibility=", VALUE, ALLOWED, 0},
    {"-ftls-model=", VALUE, ALLOWED, 0},
    {"-finline-limit=", VALUE, ALLOWED, 0},
    {"-fmax-errors=", VALUE, ALLOWED, 0},
    {"-ferror-limit=", VALUE, ALLOWED, 0},
    {"-fmessage-length=", VALUE, ALLOWED, 0},
    {"-falign-functions=", VALUE, ALLOWED, 0},
    {"-falign-loops=", VALUE, ALLOWED, 0},
    {"-fcf-protection=", VALUE, ALLOWED, 0},
    {"-fpack-struct=", VALUE, ALLOWED, 0},
    {"-fvect-cost-model=", VALUE, ALLOWED, 0},
    {"-fsimd-cost-model=", VALUE, ALLOWED, 0},
    {"-fdiagnostics-color=", VALUE, ALLOWED, 0},
    {"-fdenormal-fp-math=", VALUE, ALLOWED, 0},
    {"-fno-builtin-", VALUE, ALLOWED, 0},
    /* -f…, -fno-… */
    {"fast-math", ON_OFF, ALLOWED, 'f'},
    {"finite-math-only", ON_OFF, ALLOWED, 'f'},
    {"math-errno", ON_OFF, ALLOWED, 'f'},
    {"trapping-math", ON_OFF, ALLOWED, 'f'},
    {"rounding-math", ON_OFF, ALLOWED, 'f'},
    {"signed-zeros", ON_OFF, ALLOWED, 'f'},
    {"signaling-nans", ON_OFF, ALLOWED, 'f'},
    {"associative-math", ON_OFF, ALLOWED, 'f'},
    {"reciprocal-math", ON_OFF, ALLOWED, 'f'},
    {"unsafe-math-optimizations", ON_OFF, ALLOWED, 'f'},
    {"single-precision-constant", ON_OFF, ALLOWED, 'f'},
    {"approx-func", ON_OFF, ALLOWED, 'f'},
    {"cx-limited-range", ON_OFF, ALLOWED, 'f'},
    {"unroll-loops", ON_OFF, ALLOWED, 'f'},
    {"unroll-all-loops", ON_OFF, ALLOWED, 'f'},
    {"peel-loops", ON_OFF, ALLOWED, 'f'},
    {"split-loops", ON_OFF, ALLOWED, 'f'},
    {"vectorize", ON_OFF, ALLOWED, 'f'},
    {"slp-vectorize", ON_OFF, ALLOWED, 'f'},
    {"tree-vectorize", ON_OFF, ALLOWED, 'f'},
    {"tree-slp-vectorize", ON_OFF, ALLOWED, 'f'},
    {"tree-loop-vectorize", ON_OFF, ALLOWED, 'f'},
    {"tree-loop-distribution", ON_OFF, ALLOWED, 'f'},
    {"loop-interchange", ON_OFF, ALLOWED, 'f'},
    {"loop-unroll-and-jam", ON_OFF, ALLOWED, 'f'},
    {"gcse", ON_OFF, ALLOWED, 'f'},
    {"inline", ON_OFF, ALLOWED, 'f'},
    {"inline-functions", ON_OFF, ALLOWED, 'f'},
    {"inline-small-functions", ON_OFF, ALLOWED, 'f'},
    {"inline-functions-called-once", ON_OFF, ALLOWED, 'f'},
    {"keep-inline-functions", ON_OFF, ALLOWED, 'f'},
    {"omit-frame-pointer", ON_OFF, ALLOWED, 'f'},
    {"optimize-sibling-calls", ON_OFF, ALLOWED, 'f'},
    {"strict-aliasing", ON_OFF, ALLOWED, 'f'},
    {"strict-overflow", ON_OFF, ALLOWED, 'f'},
    {"wrapv", ON_OFF, ALLOWED, 'f'},
    {"trapv", ON_OFF, ALLOWED, 'f'},
    {"delete-null-pointer-checks", ON_OFF, ALLOWED, 'f'},
    {"isolate-erroneous-paths-dereference", ON_OFF, ALLOWED, 'f'},
    {"prefetch-loop-arrays", ON_OFF, ALLOWED, 'f'},
    {"schedule-insns", ON_OFF, ALLOWED, 'f'},
    {"schedule-insns2", ON_OFF, ALLOWED, 'f'},
    {"rename-registers", ON_OFF, ALLOWED, 'f'},
    {"reorder-blocks", ON_OFF, ALLOWED, 'f'},
    {"reorder-functions", ON_OFF, ALLOWED, 'f'},
    {"ipa-cp-clone", ON_OFF, ALLOWED, 'f'},
    {"ipa-pta", ON_OFF, ALLOWED, 'f'},
    {"function-sections", ON_OFF, ALLOWED, 'f'},
    {"data-sections", ON_OFF, ALLOWED, 'f'},
    {"merge-constants", ON_OFF, ALLOWED, 'f'},
    {"merge-all-constants", ON_OFF, ALLOWED, 'f'},
    {"common", ON_OFF, ALLOWED, 'f'},
    {"builtin", ON_OFF, ALLOWED, 'f'},
    {"freestanding", ON_OFF, ALLOWED, 'f'},
    {"hosted", ON_OFF, ALLOWED, 'f'},
    {"signed-char", ON_OFF, ALLOWED, 'f'},
    {"unsigned-char", ON_OFF, ALLOWED, 'f'},
    {"signed-bitfields", ON_OFF, ALLOWED, 'f'},
    {"unsigned-bitfields", ON_OFF, ALLOWED, 'f'},
    {"short-enums", ON_OFF, ALLOWED, 'f'},
    {"ms-extensions", ON_OFF, ALLOWED, 'f'},
    {"gnu89-inline", ON_OFF, ALLOWED, 'f'},
    {"exceptions", ON_OFF, ALLOWED, 'f'},
    {"unwind-tables", ON_OFF, ALLOWED, 'f'},
    {"asynchronous-unwind-tables", ON_OFF, ALLOWED, 'f'},
    {"non-call-exceptions", ON_OFF, ALLOWED, 'f'},
    {"stack-protector", ON_OFF, ALLOWED, 'f'},
    {"stack-protector-strong", ON_OFF, ALLOWED, 'f'},
    {"stack-protector-all", ON_OFF, ALLOWED, 'f'},
    {"stack-clash-protection", ON_OFF, ALLOWED, 'f'},
    {"cf-protection", ON_OFF, ALLOWED, 'f'},
    {"plt", ON_OFF, ALLOWED, 'f'},
    {"semantic-interposition", ON_OFF, ALLOWED, 'f'},
    {"pic", ON_OFF, ALLOWED, 'f'},
    {"PIC", ON_OFF, ALLOWED, 'f'},
    {"ident", ON_OFF, ALLOWED, 'f'},
    {"diagnostics-show-caret", ON_OFF, ALLOWED, 'f'},
    {"diagnostics-show-option", ON_OFF, ALLOWED, 'f'},
    {"caret-diagnostics", ON_OFF, ALLOWED, 'f'},
    {"color-diagnostics", ON_OFF, ALLOWED, 'f'},
    {"openmp-simd", ON_OFF, ALLOWED, 'f'},
    /* the machine */
    {"-march=", VALUE, ALLOWED, 0},
    {"-mtune=", VALUE, ALLOWED, 0},
    {"-mcpu=", VALUE, ALLOWED, 0},
    {"-mfpmath=", VALUE, ALLOWED, 0},
    {"-mprefer-vector-width=", VALUE, ALLOWED, 0},
    {"-mbranch-protection=", VALUE, ALLOWED, 0},
    {"-msve-vector-bits=", VALUE, ALLOWED, 0},
    {"-mavx", VALUE, ALLOWED, 0},
    {"-mno-avx", VALUE, ALLOWED, 0},
    {"-msse", VALUE, ALLOWED, 0},
    {"-mno-sse", VALUE, ALLOWED, 0},
    {"-mssse3", EXACT, ALLOWED, 0},
    {"fma", ON_OFF, ALLOWED, 'm'},
    {"fma4", ON_OFF, ALLOWED, 'm'},
    {"f16c", ON_OFF, ALLOWED, 'm'},
    {"bmi", ON_OFF, ALLOWED, 'm'},
    {"bmi2", ON_OFF, ALLOWED, 'm'},
    {"abm", ON_OFF, ALLOWED, 'm'},
    {"lzcnt", ON_OFF, ALLOWED, 'm'},
    {"popcnt", ON_OFF, ALLOWED, 'm'},
    {"movbe", ON_OFF, ALLOWED, 'm'},
    {"aes", ON_OFF, ALLOWED, 'm'},
    {"vaes", ON_OFF, ALLOWED, 'm'},
    {"sha", ON_OFF, ALLOWED, 'm'},
    {"pclmul", ON_OFF, ALLOWED, 'm'},
    {"vpclmulqdq", ON_OFF, ALLOWED, 'm'},
    {"gfni", ON_OFF, ALLOWED, 'm'},
    {"adx", ON_OFF, ALLOWED, 'm'},
    {"recip", ON_OFF, ALLOWED, 'm'},
    {"red-zone", ON_OFF, ALLOWED, 'm'},
    {"vzeroupper", ON_OFF, ALLOWED, 'm'},
    {"omit-leaf-frame-pointer", ON_OFF, ALLOWED, 'm'},
    {"outline-atomics", ON_OFF, ALLOWED, 'm'},
    {"general-regs-only", ON_OFF, ALLOWED, 'm'},
    /* reach outside the key; listed for the values they take */
    {"-I", ANYTHING, PRIVATE, 1},
    {"-include", EXACT, PRIVATE, 1},
    {"-imacros", EXACT, PRIVATE, 1},
    {"-isystem", ANYTHING, PRIVATE, 1},
    {"-iquote", ANYTHING, PRIVATE, 1},
    {"-idirafter", ANYTHING, PRIVATE, 1},
    {"-iprefix", ANYTHING, PRIVATE, 1},
    {"-iwithprefix", ANYTHING, PRIVATE, 1},
    {"-isysroot", ANYTHING, PRIVATE, 1},
    {"--sysroot", ANYTHING, PRIVATE, 1},
    {"-specs", ANYTHING, PRIVATE, 1},
    {"--specs", ANYTHING, PRIVATE, 1},
    {"-B", ANYTHING, PRIVATE, 1},
    {"-wrapper", ANYTHING, PRIVATE, 1},
    {"-aux-info", ANYTHING, PRIVATE, 1},
    {"-Xpreprocessor", EXACT, PRIVATE, 1},
    {"-Xassembler", EXACT, PRIVATE, 1},
    {"-Xclang", EXACT, PRIVATE, 1},
    {"-mllvm", EXACT, PRIVATE, 1},
    {"-target", EXACT, PRIVATE, 1},
    {"-Xlinker", EXACT, PRIVATE_LINK, 1},
    {"-Wl,", ANYTHING, PRIVATE_LINK, 0},
    {"-T", ANYTHING, PRIVATE_LINK, 1},
    {"-L", ANYTHING, PRIVATE_LINK, 1},
    {"-l", ANYTHING, PRIVATE_LINK, 1},
    {"-u", ANYTHING, PRIVATE_LINK, 1},
    {"-z", ANYTHING, PRIVATE_LINK, 1},
    {"-fuse-ld=", ANYTHING, PRIVATE_LINK, 0},
    {NULL, EXACT, PRIVATE, 0},
};

static int is_plain(const char *text) {
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+=-")] == '\0';
}

/* "-fno-NAME" or "-fNAME" for a row that stands for both. */
static int matches_switch(const rule *row, const char *option) {
    if (option[1] != (char)row->separate) return 0;
    const char *name = option + 2;
    if (strncmp(name, "no-", 3) == 0) name += 3;
    return strcmp(name, row->text) == 0;
}

static int matches(const rule *row, const char *option) {
    size_t size = strlen(row->text);
    switch (row->match) {
    case EXACT:
        return strcmp(option, row->text) == 0;
    case ON_OFF:
        return matches_switch(row, option);
    case ANYTHING:
        return strncmp(option, row->text, size) == 0;
    default:
        return strncmp(option, row->text, size) == 0 && is_plain(option + size);
    }
}

/* The first row that fits. Specific rows that a general one would swallow stand before it, except that "-W" needs a
   plain value and so never takes "-Wl,". */
static const rule *find_rule(const char *option) {
    for (const rule *row = rules; row->text != NULL; row++) {
        if (matches(row, option)) return row;
    }
    return NULL;
}

static int takes_next(const rule *row, const char *option) {
    return row != NULL && row->match != ON_OFF && row->separate && strcmp(option, row->text) == 0;
}

static void keep_private(slwi_host_options *out, const char *option) {
    if (out->why[0] == '\0') (void)snprintf(out->why, sizeof(out->why), "OPTION %s", option);
}

static slw_code refuse(slw_error *err, const char *option, const char *reason, const char *what) {
    slwi_error_subject(err, option, strlen(option));
    return slwi_fail(err, SLW_E_USAGE, reason, "the option \"%.200s\" %s", option, what);
}

static int asks_for_native(const char *option) {
    return strcmp(option, "-march=native") == 0 || strcmp(option, "-mtune=native") == 0 ||
           strcmp(option, "-mcpu=native") == 0;
}

/* A compiler hands a value on to its passes as a word of its own, joined or not, and a word that begins with '@' is a
   file of more options to each of them. */
static int names_response_file(const rule *row, const char *option, const char *value) {
    if (value == NULL && row != NULL && row->match == ANYTHING) value = option + strlen(row->text);
    return value != NULL && value[0] == '@';
}

/* A macro is handed on joined, so that its value is never taken for an option. */
static void hand_on(slwi_tool_list *list, const char *option, const char *value, int allowed) {
    if (allowed && value != NULL && strlen(option) == 2) {
        slwi_tool_list_add_format(list, "%s%s", option, value);
        return;
    }
    slwi_tool_list_add(list, option);
    if (value != NULL) slwi_tool_list_add(list, value);
}

static slw_code take(slwi_host_options *out, const char *option, const char *value, const rule *row, slw_error *err) {
    if (row != NULL && row->verdict == RESERVED) return refuse(err, option, "RESERVED", "is slipway's own to set");
    /* A value that stands alone is judged like one that is joined. */
    int plain = value == NULL || row == NULL || row->match != VALUE || is_plain(value);
    int allowed = row != NULL && row->verdict == ALLOWED && plain && !names_response_file(row, option, value);
    if (!allowed) {
        keep_private(out, option);
        hand_on(&out->link, option, value, 0);
    }
    if (row == NULL || row->verdict != PRIVATE_LINK) hand_on(&out->compile, option, value, allowed);
    if (allowed && asks_for_native(option)) out->native = 1;
    return SLW_OK;
}

static slw_code parse(const char *const *flags, size_t count, slwi_host_options *out, slw_error *err) {
    for (size_t i = 0; i < count; i++) {
        const char *option = flags[i];
        if (option == NULL || option[0] == '\0') return refuse(err, "", "EMPTY", "is empty");
        const rule *row = option[0] == '-' ? find_rule(option) : NULL;
        if (option[0] != '-' && option[0] != '@') return refuse(err, option, "INPUT", "is not an option");
        const char *value = NULL;
        if (takes_next(row, option)) {
            if (i + 1 >= count || flags[i + 1] == NULL || flags[i + 1][0] == '\0')
                return refuse(err, option, "MISSING_VALUE", "lacks its value");
            value = flags[++i];
        }
        slw_code rc = take(out, option, value, row, err);
        if (rc != SLW_OK) return rc;
    }
    slw_code rc = slwi_tool_list_status(&out->compile, err);
    return rc == SLW_OK ? slwi_tool_list_status(&out->link, err) : rc;
}

slw_code slwi_host_options_parse(const char *const *flags, size_t count, const slw_allocator *allocator,
                                 slwi_host_options *out, slw_error *err) {
    memset(out, 0, sizeof(*out));
    slwi_tool_list_init(&out->compile, allocator);
    slwi_tool_list_init(&out->link, allocator);
    if (count > SLWI_HOST_OPTIONS_MAX) {
        slwi_error_amount(err, "options", count, SLWI_HOST_OPTIONS_MAX, "options");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_MANY_OPTIONS", "there are too many compiler options");
    }
    if (count != 0 && flags == NULL) return slwi_fail(err, SLW_E_USAGE, "EMPTY", "the options are NULL");
    slw_code rc = parse(flags, count, out, err);
    if (rc != SLW_OK) slwi_host_options_free(out);
    return rc;
}

void slwi_host_options_free(slwi_host_options *options) {
    slwi_tool_list_free(&options->compile);
    slwi_tool_list_free(&options->link);
}
