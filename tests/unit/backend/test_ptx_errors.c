/* What the scanner refuses and how it says so; limits, memory, prefixes, and that time is linear. */
#include "backends.h"
#include "fault_alloc.h"
#include "ptx_fixture.h"
#include <slipway/limits.h>

typedef struct refusal {
    const char *text;
    const char *reason;
    uint32_t line;
    uint32_t column;
    const char *subject; /* NULL: not looked at */
} refusal;

#define K ".visible .entry k"

static const refusal refusals[] = {
    /* the head */
    {"", "NO_VERSION", 1, 1, NULL},
    {"  // nothing\n", "NO_VERSION", 2, 1, NULL},
    {".versionx 9.0\n", "NO_VERSION", 1, 1, NULL},
    {".version9.0 .target sm_90\n", "NO_VERSION", 1, 1, NULL},
    {".version", "TRUNCATED", 1, 9, "head"},
    {".version 9", "BAD_VERSION", 1, 10, NULL},
    {".version 9.", "BAD_VERSION", 1, 10, NULL},
    {".version 9 .0", "BAD_VERSION", 1, 10, NULL},
    {".version 9.0e0", "BAD_VERSION", 1, 10, NULL},
    {".version nine", "BAD_VERSION", 1, 10, NULL},
    {".version 4294967296.0", "BAD_VERSION", 1, 10, NULL},
    {".version 9.0\n", "TRUNCATED", 2, 1, "head"},
    {".version 9.0\n" K "() {}", "NO_TARGET", 2, 1, NULL},
    {".version 9.0 .address_size 64 .target sm_90", "NO_TARGET", 1, 14, NULL},
    {".version 9.0 .target", "TRUNCATED", 1, 21, "head"},
    {".version 9.0 .target sm_90,", "TRUNCATED", 1, 28, "head"},
    {".version 9.0 .target debug, sm_90", "BAD_TARGET", 1, 22, NULL},
    {".version 9.0 .target sm_", "BAD_TARGET", 1, 22, NULL},
    {".version 9.0 .target sm_99999999999", "BAD_TARGET", 1, 22, NULL},
    {".version 9.0 .target sm_90, 80", "BAD_TARGET", 1, 29, NULL},
    {".version 9.0 .target sm_90 .address_size", "TRUNCATED", 1, 41, "directive"},
    {".version 9.0 .target sm_90 .address_size 16", "BAD_ADDRESS_SIZE", 1, 28, NULL},
    {".version 9.0 .target sm_90 .address_size x", "BAD_ADDRESS_SIZE", 1, 42, NULL},
    /* names */
    {HEAD ".visible .entry", "TRUNCATED", 4, 16, "prototype"},
    {HEAD K, "TRUNCATED", 4, 18, "prototype"},
    {HEAD ".entry %%() " BODY, "BAD_NAME", 4, 8, NULL},
    {HEAD ".entry .visible k() " BODY, "BAD_NAME", 4, 8, NULL},
    {HEAD K "%() " BODY, "BAD_NAME", 4, 18, NULL},
    {HEAD K "() .visible .entry k2() " BODY, "BAD_NAME", 4, 21, NULL},
    {HEAD K "() .maxntid 32 [ " BODY, "BAD_NAME", 4, 33, NULL},
    {HEAD K "(.param .u64 p)(.param .u64 q) " BODY, "BAD_NAME", 4, 33, NULL},
    /* linkage */
    {HEAD ".visible .weak .entry k() " BODY, "BAD_LINKAGE", 4, 16, NULL},
    {HEAD ".extern .entry k() " BODY, "BAD_LINKAGE", 4, 9, NULL},
    /* parameters */
    {HEAD K "(", "TRUNCATED", 4, 19, "parameters"},
    {HEAD K "(.param", "TRUNCATED", 4, 25, "parameters"},
    {HEAD K "(.param .u64", "TRUNCATED", 4, 30, "parameters"},
    {HEAD K "(.param .u64 p", "TRUNCATED", 4, 32, "parameters"},
    {HEAD K "(.param .b8 p[", "TRUNCATED", 4, 32, "parameters"},
    {HEAD K "(.param .b8 p[8", "TRUNCATED", 4, 33, "parameters"},
    {HEAD K "(.param .b8 p[8]", "TRUNCATED", 4, 34, "parameters"},
    {HEAD K "(.param .u64 p,", "TRUNCATED", 4, 33, "parameters"},
    {HEAD K "(.param .align", "TRUNCATED", 4, 32, "directive"},
    {HEAD K "(.u64 p) " BODY, "BAD_PARAMETER", 4, 19, NULL},
    {HEAD K "(,.param .u64 p) " BODY, "BAD_PARAMETER", 4, 19, NULL},
    {HEAD K "((.param .u64 p)) " BODY, "BAD_PARAMETER", 4, 19, NULL},
    {HEAD K "(.param .u64) " BODY, "BAD_PARAMETER", 4, 30, NULL},
    {HEAD K "(.param p) " BODY, "BAD_PARAMETER", 4, 26, "p"},
    {HEAD K "(.param .u64 .u32 p) " BODY, "BAD_PARAMETER", 4, 31, NULL},
    {HEAD K "(.param .v2 .v4 .u32 p) " BODY, "BAD_PARAMETER", 4, 30, NULL},
    {HEAD K "(.param .e9m99 p) " BODY, "BAD_PARAMETER", 4, 26, "p"},
    {HEAD K "(.param .global .u64 p) " BODY, "BAD_PARAMETER", 4, 26, NULL},
    {HEAD K "(.param .u64 .ptr .ptr p) " BODY, "BAD_PARAMETER", 4, 36, NULL},
    {HEAD K "(.param .u64 .ptr .global .const p) " BODY, "BAD_PARAMETER", 4, 44, NULL},
    {HEAD K "(.param .align 0 .b8 p[4]) " BODY, "BAD_PARAMETER", 4, 26, NULL},
    {HEAD K "(.param .align 3 .b8 p[4]) " BODY, "BAD_PARAMETER", 4, 26, NULL},
    {HEAD K "(.param .align .b8 p[4]) " BODY, "BAD_PARAMETER", 4, 33, NULL},
    {HEAD K "(.param .b8 p[]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[0]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[08]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[24u]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[1.5]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[0xG]) " BODY, "BAD_PARAMETER", 4, 32, "p"},
    {HEAD K "(.param .b8 p[4)) " BODY, "BAD_PARAMETER", 4, 33, "p"},
    {HEAD K "(.param .u64 a, .param .u64 b, ...) " BODY, "BAD_PARAMETER", 4, 49, NULL},
    {HEAD K "(.param .u64 a .param .u64 b) " BODY, "BAD_PARAMETER", 4, 33, NULL},
    /* directives */
    {HEAD K "() .maxntid " BODY, "BAD_DIRECTIVE", 4, 30, NULL},
    {HEAD K "() .maxntid", "TRUNCATED", 4, 29, "directive"},
    {HEAD K "() .maxntid 64,", "TRUNCATED", 4, 33, "directive"},
    {HEAD K "() .maxntid 64, " BODY, "BAD_DIRECTIVE", 4, 34, NULL},
    {HEAD K "() .maxntid 0 " BODY, "BAD_DIRECTIVE", 4, 21, NULL},
    {HEAD K "() .maxntid 4294967296 " BODY, "BAD_DIRECTIVE", 4, 30, NULL},
    {HEAD K "() .maxnreg 0 " BODY, "BAD_DIRECTIVE", 4, 21, NULL},
    {HEAD K "() .pragma \"x\" " BODY, "BAD_DIRECTIVE", 4, 33, NULL},
    {HEAD K "() .pragma \"x\"", "TRUNCATED", 4, 32, "directive"},
    {HEAD ".file \"a\" " K "() " BODY, "BAD_DIRECTIVE", 4, 7, NULL},
    {HEAD ".file 1 " K "() " BODY, "BAD_DIRECTIVE", 4, 9, NULL},
    {HEAD ".file 1 \"a\", " K "() " BODY, "BAD_DIRECTIVE", 4, 14, NULL},
    {HEAD ".file 1", "TRUNCATED", 4, 8, "directive"},
    /* nested and stray */
    {HEAD K "() { .entry: }", "NESTED", 4, 23, NULL},
    {HEAD K "() { mov.entry; }", "NESTED", 4, 26, NULL},
    {HEAD ".section .debug_str { .visible .entry k() {} }", "NESTED", 4, 32, NULL},
    {HEAD ".global .b32 x[1] = { .entry };", "NESTED", 4, 23, NULL},
    {HEAD ".global .b32 x .entry k() " BODY, "NESTED", 4, 16, NULL},
    {HEAD ".func (.entry k) f() " BODY, "NESTED", 4, 8, NULL},
    {HEAD ".global .b32 x " K "() " BODY, "BAD_TOKEN", 4, 16, NULL},
    {HEAD K "() " BODY "}", "BAD_TOKEN", 5, 1, NULL},
    {HEAD ".func }", "BAD_TOKEN", 4, 7, NULL},
    {HEAD ".func )", "BAD_TOKEN", 4, 7, NULL},
    {HEAD ";" K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD "L: " K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD "# any\n" K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD "#line 3\n" K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD "#line 3 \"x\" y\n" K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD "#line 3\"x\"\n" K "() " BODY, "BAD_TOKEN", 4, 1, NULL},
    {HEAD K "() " BODY "#line 3 \"x\"", "TRUNCATED", 5, 12, "line"},
    {HEAD K "() " BODY "#line 3 \"x", "TRUNCATED", 5, 11, "string"},
    /* bytes */
    {HEAD "\v" K "() " BODY, "BAD_BYTE", 4, 1, NULL},
    {HEAD "\x7f" K "() " BODY, "BAD_BYTE", 4, 1, NULL},
    {HEAD "// \xc3\xa9\n" K "() " BODY, "BAD_BYTE", 4, 4, NULL},
    {HEAD ".file 1 \"\xff\"\n" K "() " BODY, "BAD_BYTE", 4, 10, NULL},
    /* ends */
    {HEAD "/", "BAD_TOKEN", 4, 1, NULL},
    {HEAD "/*/", "TRUNCATED", 4, 4, "comment"},
    {HEAD "/* *", "TRUNCATED", 4, 5, "comment"},
    {HEAD "\"", "TRUNCATED", 4, 2, "string"},
    {HEAD ".global .b32 x", "TRUNCATED", 4, 15, "statement"},
    {HEAD ".global .b32 x[2] = {1,2}", "TRUNCATED", 4, 26, "statement"},
    {HEAD K "() " BODY ".visible", "TRUNCATED", 5, 9, "statement"},
    {HEAD K "() " BODY K "() " BODY, "DUPLICATE", 5, 17, "k"},
    {HEAD K "() " BODY ".weak .entry k() " BODY, "DUPLICATE", 5, 14, "k"},
    {HEAD K "();" K "();", "NO_ENTRY", 4, 41, NULL},
    /* a CR ends no comment: the kernel stands in it */
    {HEAD "// c\r" K "() { ret; }", "NO_ENTRY", 4, 34, NULL},
};
#define REFUSALS ((int)(sizeof(refusals) / sizeof(refusals[0])))

START_TEST(what_is_refused) {
    const refusal *want = &refusals[_i];
    slw_error err = SLW_ERROR_INIT;
    ptx_refused(want->text, want->text, strlen(want->text), SLW_E_INVALID_PTX, want->reason, &err);
    ck_assert_msg(err.line == want->line && err.column == want->column, "%s: %s at %u:%u, wanted %u:%u", want->text,
                  err.message, err.line, err.column, want->line, want->column);
    uint32_t line;
    uint32_t column;
    slwi_ptx_place((slw_bytes){want->text, strlen(want->text)}, err.offset_bytes, &line, &column);
    ck_assert_uint_eq(line, err.line);
    ck_assert_uint_eq(column, err.column);
    if (want->subject != NULL) ck_assert_str_eq(err.subject, want->subject);
}
END_TEST

/* Each was tried: ptxas 13.0 -arch=sm_90 takes it and names these kernels. */
static const char *const accepted[][2] = {
    {HEAD "\x1a\n" K "() { \x1a ret; }", "k"},
    {HEAD K "()" BODY "\x1a .visible .entry k2() {ret;}", "k,k2"},
    {HEAD "\f" K "() " BODY, "k"},
    {HEAD "// \x01\x7f\v\n/* \x01\f\v */.file 1 \"a\x01\f\"\n" K "()" BODY, "k"},
    {".version 9.0\r.target sm_90\r.address_size 64\r" K "(){ ret; }", "k"},
    {HEAD "   #line 3 \"x\"\n" K "()" BODY, "k"},
    {HEAD K "() #line 3 \"x\"\n" BODY, "k"},
    {HEAD "# 3 \"x\"\n#3 \"x\"\n# line 3 \"x\"   \n#\tline 3 \"a\nb\" 1\r\n" K "()" BODY, "k"},
    {"#line 1 \"x\"\n" HEAD K "()" BODY, "k"},
    {HEAD K "{\n#line 3 \"x\"\n ret; }", "k"},
    {HEAD K ".maxntid 32{ret;}", "k"},
    {HEAD K "() .maxntid 64 .minnctapersm 2 .maxntid 64" BODY, "k"},
    {HEAD K "() .reqnctapercluster 0 .explicitcluster" BODY, "k"},
    {HEAD K "() .pragma \"a\" ;.maxntid 32" BODY, "k"},
    {HEAD K "();" K "();" K "()" BODY, "k"},
    {HEAD ".global .b32 x[2] = {1,2};" K "()" BODY, "k"},
    {HEAD ".file 1 \"a\", 123, 456\n" K "()" BODY ".file 2 \"a\"", "k"},
    {HEAD ".file 1 \"a\nb.entry x(\"\n" K "()" BODY, "k"},
    {HEAD ".file 1 \"a\\\"\n" K "()" BODY, "k"},
    {HEAD "/* // */" K "()" BODY, "k"},
    {HEAD "/*/ .entry z() { */" K "()" BODY, "k"},
    {HEAD "// x \\\n" K "()" BODY "// x", "k"},
    {HEAD K "{ .reg .b32 entry; mov.b32 entry, 0; ret; }", "k"},
    {HEAD ".visible .entry __()" BODY ".visible .entry $$()" BODY ".visible .entry %9()" BODY, "__,$$,%9"},
    {HEAD ".visible .entry ret()" BODY ".visible .entry entry()" BODY, "ret,entry"},
    {HEAD K "(.param.u64 p,.param.u64.ptr.global.align 16 q)" BODY, "k"},
    {HEAD ".visible .func f() {ret;} .visible .func g(); .alias g, f;" K "()" BODY, "k"},
    {HEAD ".func f() .noreturn { exit; }" K "()" BODY, "k"},
    {HEAD ".func f { ret; } .func g() .abi_preserve 4 { ret; }" K "()" BODY, "k"},
    {HEAD ".align 4 .global .b32 x; .global .b32 a, b = 2, c[2] = {1,2};" K "()" BODY, "k"},
    {HEAD K "(); .global .u64 x[1] = {k}; " K "()" BODY, "k"},
    {HEAD K "()" BODY
            ".section .debug_info { .b32 L1 \n L1: .b8 1\n .b32 .debug_abbrev } .section\t.debug_macinfo\t{\t}",
     "k"},
    {".version 9.0 .target sm_90, sm_80 " K "()" BODY, "k"},
    {".version 9.0 .target compute_80 " K "()" BODY, "k"},
    {".version 8.10 .target sm_90 .address_size 0x40 " K "()" BODY, "k"},
};
#define ACCEPTED ((int)(sizeof(accepted) / sizeof(accepted[0])))

START_TEST(what_ptxas_takes) {
    slwi_ptx_module module = ptx_good(accepted[_i][0], accepted[_i][0], strlen(accepted[_i][0]));
    ck_assert_str_eq(ptx_names(&module), accepted[_i][1]);
    slwi_ptx_release(&ptx_heap, &module);
}
END_TEST

/* Sizes and offsets as the cubin has them that ptxas makes of it. */
START_TEST(what_ptxas_makes_of_parameters) {
    static const struct {
        const char *list;
        uint32_t size;
        uint32_t offset;
    } rows[] = {{"(.param .u8 a, .param .b8 p[010])", 8, 1},
                {"(.param .u8 a, .param .b8 p[0b11])", 3, 1},
                {"(.param .u8 a, .param .b8 p[0XA])", 10, 1},
                {"(.param .u8 a, .param .b8 p[24U])", 24, 1},
                {"(.param .u8 a, .param .align 1 .u64 p)", 8, 8},
                {"(.param .u8 a, .param .align 4 .align 8 .b8 p[4])", 4, 8},
                {"(.param .u8 a, .param .align 8 .align 4 .b8 p[4])", 4, 8},
                {"(.param .u8 a, .param .v2 .u64 p[2])", 32, 16},
                {"(.param .u8 a, .param .v4 .b8 p[2])", 8, 4},
                {"(.param .u8 a, .param .b128 p)", 16, 16},
                {"(.param .u8 a, .param .align 2 .b64 p[2])", 16, 8}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), HEAD K "%s" BODY, rows[i].list);
        slwi_ptx_module module = ptx_good(text, text, strlen(text));
        const slwi_ptx_param *p = &module.kernels[0].params[1];
        ck_assert_msg(p->size_bytes == rows[i].size && p->offset_bytes == rows[i].offset, "%s: %u at %u", rows[i].list,
                      p->size_bytes, p->offset_bytes);
        slwi_ptx_release(&ptx_heap, &module);
    }
}
END_TEST

/* What a newer toolkit may write is passed over where nothing hangs on it. */
START_TEST(newer_than_this_reader) {
    static const char text[] =
        ".version 12.3\n.target sm_300x, new_option\n.address_size 64\n.toolkit 7, \"x\"\n"
        ".visible .attribute(.unified(1,2)) .entry k(.param .new .u64 .ptr .global .fresh p) .maxfoo 3, 4 .bar \"x\"\n"
        "{ new.insn {a}, [b]; }\n.table t { .b8 1 }\n.visible .entry k2() { }\n";
    slwi_ptx_module module = ptx_good("newer", text, sizeof(text) - 1);
    ck_assert_str_eq(ptx_names(&module), "k,k2");
    ck_assert_uint_eq(module.version_major, 12);
    ck_assert_uint_eq(module.version_minor, 3);
    ck_assert_uint_eq(module.target_number, 300);
    ck_assert(ptx_bytes_are(module.target_suffix, "x"));
    ck_assert_uint_eq(module.target_options, SLWI_PTX_OTHER_OPTION);
    ck_assert_uint_eq(module.kernels[0].params[0].size_bytes, 8);
    slwi_ptx_release(&ptx_heap, &module);
}
END_TEST

START_TEST(the_last_directive_counts) {
    static const char text[] = HEAD K "() .maxntid 64 .maxntid 32, 2 .maxnreg 32 .maxnreg 64" BODY;
    slwi_ptx_module module = ptx_good("twice", text, sizeof(text) - 1);
    ck_assert_uint_eq(module.kernels[0].maxntid[0], 32);
    ck_assert_uint_eq(module.kernels[0].maxntid[1], 2);
    ck_assert_uint_eq(module.kernels[0].maxntid[2], 1);
    ck_assert_uint_eq(module.kernels[0].maxnreg, 64);
    slwi_ptx_release(&ptx_heap, &module);
}
END_TEST

START_TEST(an_error_names_the_kernel) {
    static const char text[] = HEAD K "2() " BODY K "3(.param .u64 a, .param .wide b) " BODY;
    slw_error err = SLW_ERROR_INIT;
    ptx_refused("kernel", text, sizeof(text) - 1, SLW_E_INVALID_PTX, "BAD_PARAMETER", &err);
    ck_assert_str_eq(err.kernel, "k3");
    ck_assert_str_eq(err.subject, "b");
    ck_assert_ptr_nonnull(strstr(err.message, ".wide"));
}
END_TEST

START_TEST(recognised_by_its_first_token) {
    static const char *const yes[] = {".version", " \n// c\n/* */ .version 9.0", HEAD};
    static const char *const no[] = {"", ".versions", "version", "\"", "\177ELF", "// .version", ".target sm_90"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        ck_assert_int_eq(slwi_ptx_recognises((slw_bytes){yes[i], strlen(yes[i])}), 1);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        ck_assert_int_eq(slwi_ptx_recognises((slw_bytes){no[i], strlen(no[i])}), 0);
    }
    ck_assert_int_eq(slwi_ptx_recognises((slw_bytes){NULL, 0}), 0);
}
END_TEST

/* ---- limits ---- */

typedef struct text {
    char *data;
    size_t size;
    size_t capacity;
} text;

static void add(text *t, const char *piece, uint32_t times) {
    size_t size = strlen(piece);
    for (uint32_t i = 0; i < times; i++) {
        if (t->size + size > t->capacity) t->data = realloc(t->data, t->capacity = (t->size + size) * 2);
        memcpy(t->data + t->size, piece, size);
        t->size += size;
    }
}

static void add_kernels(text *t, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        char kernel[64];
        snprintf(kernel, sizeof(kernel), ".entry k%u(){}\n", i);
        add(t, kernel, 1);
    }
}

static void over(const text *t, const char *resource, uint64_t required, uint64_t limit) {
    slw_error err = SLW_ERROR_INIT;
    ptx_refused(resource, t->data, t->size, SLW_E_LIMIT, "LIMIT", &err);
    ck_assert_str_eq(err.resource, resource);
    ck_assert_uint_eq(err.required, required);
    ck_assert_uint_eq(err.limit, limit);
}

START_TEST(limit_of_bytes) {
    text t = {0};
    add(&t, HEAD K "(){}\n", 1);
    t.data = realloc(t.data, SLW_LIMIT_PTX_BYTES + 1);
    memset(t.data + t.size, ' ', SLW_LIMIT_PTX_BYTES + 1 - t.size);
    t.size = SLW_LIMIT_PTX_BYTES;
    slwi_ptx_module module = ptx_good("as large as may be", t.data, t.size);
    slwi_ptx_release(&ptx_heap, &module);
    t.size++;
    over(&t, "PTX bytes", (uint64_t)SLW_LIMIT_PTX_BYTES + 1, SLW_LIMIT_PTX_BYTES);
    free(t.data);
}
END_TEST

START_TEST(limit_of_kernels) {
    text t = {0};
    add(&t, HEAD, 1);
    add_kernels(&t, SLW_LIMIT_PTX_KERNELS);
    slwi_ptx_module module = ptx_good("as many as may be", t.data, t.size);
    ck_assert_uint_eq(module.kernel_count, SLW_LIMIT_PTX_KERNELS);
    slwi_ptx_release(&ptx_heap, &module);
    add(&t, ".entry one_more(){}", 1);
    over(&t, "PTX kernels", SLW_LIMIT_PTX_KERNELS + 1, SLW_LIMIT_PTX_KERNELS);
    free(t.data);
}
END_TEST

START_TEST(limit_of_parameters) {
    text t = {0};
    add(&t, HEAD K "(", 1);
    add(&t, ".param .u8 p,", SLW_LIMIT_PTX_PARAMETERS - 1);
    size_t size = t.size;
    add(&t, ".param .u8 q){}", 1);
    slwi_ptx_module module = ptx_good("as many as may be", t.data, t.size);
    ck_assert_uint_eq(module.kernels[0].param_count, SLW_LIMIT_PTX_PARAMETERS);
    slwi_ptx_release(&ptx_heap, &module);
    t.size = size;
    add(&t, ".param .u8 q, .param .u8 r){}", 1);
    over(&t, "PTX parameters of a kernel", SLW_LIMIT_PTX_PARAMETERS + 1, SLW_LIMIT_PTX_PARAMETERS);
    free(t.data);
}
END_TEST

START_TEST(limit_of_all_parameters) {
    text t = {0};
    add(&t, HEAD, 1);
    for (uint32_t i = 0; i <= SLW_LIMIT_PTX_PARAMETERS_ALL / SLW_LIMIT_PTX_PARAMETERS; i++) {
        char kernel[64];
        snprintf(kernel, sizeof(kernel), ".entry k%u(", i);
        add(&t, kernel, 1);
        add(&t, ".param.u8 p,", SLW_LIMIT_PTX_PARAMETERS - 1);
        add(&t, ".param.u8 p){}", 1);
    }
    over(&t, "PTX parameters", SLW_LIMIT_PTX_PARAMETERS_ALL + 1, SLW_LIMIT_PTX_PARAMETERS_ALL);
    free(t.data);
}
END_TEST

START_TEST(limit_of_parameter_bytes) {
    text t = {0};
    add(&t, HEAD K "(.param .b8 p[1048575], .param .b8 q){}", 1);
    slwi_ptx_module module = ptx_good("as large as may be", t.data, t.size);
    ck_assert_uint_eq(module.kernels[0].param_bytes, SLW_LIMIT_PTX_PARAMETER_BYTES);
    slwi_ptx_release(&ptx_heap, &module);
    t.size = 0;
    add(&t, HEAD K "(.param .b8 p[1048575], .param .u16 q){}", 1);
    over(&t, "PTX parameter bytes", 1048578, SLW_LIMIT_PTX_PARAMETER_BYTES);
    t.size = 0;
    add(&t, HEAD K "(.param .b128 p[1048576]){}", 1);
    over(&t, "PTX parameter bytes", 16777216, SLW_LIMIT_PTX_PARAMETER_BYTES);
    t.size = 0;
    add(&t, HEAD K "(.param .b8 p[18446744073709551615]){}", 1);
    over(&t, "PTX parameter elements", UINT64_MAX, SLW_LIMIT_PTX_PARAMETER_BYTES);
    t.size = 0;
    add(&t, HEAD K "(.param .b8 p[18446744073709551616]){}", 1);
    slw_error err = SLW_ERROR_INIT;
    ptx_refused("past 64 bits", t.data, t.size, SLW_E_INVALID_PTX, "BAD_PARAMETER", &err);
    free(t.data);
}
END_TEST

START_TEST(limit_of_depth) {
    text t = {0};
    add(&t, HEAD K "()", 1);
    add(&t, "{", SLW_LIMIT_PTX_DEPTH);
    add(&t, "}", SLW_LIMIT_PTX_DEPTH);
    slwi_ptx_module module = ptx_good("as deep as may be", t.data, t.size);
    slwi_ptx_release(&ptx_heap, &module);
    t.size = 0;
    add(&t, HEAD K "()", 1);
    add(&t, "{", SLW_LIMIT_PTX_DEPTH + 1);
    over(&t, "PTX braces", SLW_LIMIT_PTX_DEPTH + 1, SLW_LIMIT_PTX_DEPTH);
    free(t.data);
}
END_TEST

/* A name of 70,000 characters is real; one that no contract holds is a kernel all the same. */
START_TEST(names_of_70000_characters) {
    text t = {0};
    add(&t, HEAD ".visible .entry ", 1);
    add(&t, "k", 70000);
    add(&t, "() " BODY, 1);
    slwi_ptx_module module = ptx_good("long", t.data, t.size);
    ck_assert_uint_eq(module.kernels[0].name.size, 70000);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slt_ok(slwi_ptx_contract(&ptx_heap, &module, "cuda", NULL, &contract, &err), &err);
    ck_assert_uint_eq(strlen(contract->kernels[0].name), 70000);
    slwi_contract_free(&ptx_heap, &contract);
    slwi_ptx_release(&ptx_heap, &module);
    t.size = 0;
    add(&t, HEAD ".visible .entry ", 1);
    add(&t, "k", SLW_LIMIT_NAME_BYTES + 1);
    add(&t, "() " BODY, 1);
    module = ptx_good("longer", t.data, t.size);
    ck_assert_int_eq(slwi_ptx_contract(&ptx_heap, &module, "cuda", NULL, &contract, &err), SLW_E_LIMIT);
    ck_assert_ptr_null(contract);
    ck_assert_uint_eq(err.required, SLW_LIMIT_NAME_BYTES + 1);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_NAME_BYTES);
    slwi_ptx_release(&ptx_heap, &module);
    free(t.data);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_allocation_fails_once) {
    size_t size;
    char *bytes = slt_read_file(slt_fixture("ptx/k1_90.ptx"), &size);
    slt_heap heap;
    slt_heap_init(&heap);
    uint64_t n = 1;
    for (;; n++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        slw_code rc = slwi_ptx_read_contract(&heap.allocator, (slw_bytes){bytes, size}, "cuda", NULL, &contract, &err);
        if (heap.failed == 0) {
            ck_assert_int_eq(rc, SLW_OK);
            slwi_contract_free(&heap.allocator, &contract);
            break;
        }
        ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_null(contract);
        slt_heap_check_empty(&heap);
    }
    slt_heap_check_empty(&heap);
    ck_assert_uint_gt(n, 6);
    free(bytes);
}
END_TEST

/* ---- prefixes ---- */

/* A prefix is a module by the rules exactly where it ends between two statements behind the body of a kernel: cut behind
   a closing brace of the outermost level, or in the white space and the line comments that follow. Counted here by a
   walk of its own: the fixtures hold no brace in a comment or string, and nothing behind a body but further entries, comments
   and, in Triton's, .file and .section. */
static size_t check_prefixes(const char *file, size_t *valid) {
    char path[128];
    size_t size;
    snprintf(path, sizeof(path), "ptx/%s", file);
    char *bytes = slt_read_file(slt_fixture(path), &size);
    slwi_ptx_module whole = ptx_good(file, bytes, size);
    *valid = 0;
    for (size_t n = 0; n < size; n++) {
        char *cut = malloc(n == 0 ? 1 : n); /* its own block: a read past the end is seen by the sanitizer */
        memcpy(cut, bytes, n);
        slw_error err = SLW_ERROR_INIT;
        slwi_ptx_module module;
        slw_code rc = ptx_scan(cut, n, &module, &err);
        if (rc == SLW_OK) {
            *valid += 1;
            ck_assert_uint_le(module.kernel_count, whole.kernel_count);
            for (uint32_t i = 0; i < module.kernel_count; i++) {
                slw_bytes a = module.kernels[i].name;
                slw_bytes b = whole.kernels[i].name;
                ck_assert(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
            }
            /* What comes next in the whole text is not the middle of anything. */
            int depth = 0;
            for (size_t i = 0; i < n; i++) depth += (bytes[i] == '{') - (bytes[i] == '}');
            ck_assert_int_eq(depth, 0);
            size_t last = n;
            while (last > 0 && bytes[last - 1] != '}') last--;
            ck_assert_uint_gt(last, 0);
            for (size_t i = last; i < n; i++) {
                if (bytes[i] == '/') {
                    /* a whole line comment, or one cut after both of its slashes */
                    ck_assert_msg(i + 1 < n && bytes[i + 1] == '/', "%s: accepted %zu bytes", file, n);
                    while (i < n && bytes[i] != '\n') i++;
                    continue;
                }
                ck_assert_msg(strchr(" \t\r\n", bytes[i]) != NULL, "%s: accepted %zu bytes", file, n);
            }
            slwi_ptx_release(&ptx_heap, &module);
        } else {
            ck_assert_int_eq(rc, SLW_E_INVALID_PTX);
            ck_assert_uint_le(err.offset_bytes, n);
        }
        free(cut);
    }
    slwi_ptx_release(&ptx_heap, &whole);
    free(bytes);
    return size;
}

START_TEST(prefixes) {
    size_t valid;
    /* rq.ptx has three definitions of which two are kernels, and 1 + 2 bytes between and behind them: cut after the
       first body (and its newline), after the second (and its newline), after the third. */
    check_prefixes("rq.ptx", &valid);
    ck_assert_uint_eq(valid, 5);
    check_prefixes("al_80.ptx", &valid);
    ck_assert_uint_gt(valid, 9);
    check_prefixes("k9_90.ptx", &valid);
    ck_assert_uint_gt(valid, 5);
}
END_TEST

/* ---- linear ---- */

/* Bytes looked at, for one piece repeated; each shape is one where a scanner that looks again would be quadratic. */
static uint64_t steps_of(const char *begin, const char *piece, const char *end, uint32_t times) {
    text t = {0};
    add(&t, begin, 1);
    add(&t, piece, times);
    add(&t, end, 1);
    slwi_ptx_module module = ptx_good(piece, t.data, t.size);
    uint64_t steps = module.steps;
    ck_assert_uint_le(steps, 4 * (uint64_t)t.size + 64); /* each byte a few times, whatever the shape */
    slwi_ptx_release(&ptx_heap, &module);
    free(t.data);
    return steps;
}

START_TEST(linear_time) {
    static const char *const shapes[][3] = {
        {HEAD K "(){", "{}", "}"},
        {HEAD K "(){", "/ * ", "}"},
        {HEAD K "(){/*", "/*", "*/}"},
        {HEAD K "(){", "//\n", "}"},
        {HEAD K "(){", "\"\"", "}"},
        {HEAD K "(){", ".entr ", "}"},
        {HEAD K "(){", "%", "}"},
        {HEAD K "(){", "9.", "}"},
        {HEAD K "(){", "# 1 \"\"\n", "}"},
        {HEAD ".visible .entry k", "k", "(){}"},
        {HEAD K "() .maxntid 1", " .foo 1,2", "{}"},
        {HEAD K "() ", ".pragma \"x\";", "{}"},
        {HEAD, "/**/", K "(){}"},
        {HEAD, ".global .b8 x[1] = {1};", K "(){}"},
        {HEAD, ".extern .entry k();", K "(){}"},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        uint64_t once = steps_of(shapes[i][0], shapes[i][1], shapes[i][2], 10000);
        uint64_t twice = steps_of(shapes[i][0], shapes[i][1], shapes[i][2], 20000);
        ck_assert_msg(twice <= 2 * once + 256, "%s: %llu then %llu", shapes[i][1], (unsigned long long)once,
                      (unsigned long long)twice);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx errors");
    TCase *tcase = tcase_create("refusals");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, what_is_refused, 0, REFUSALS);
    tcase_add_loop_test(tcase, what_ptxas_takes, 0, ACCEPTED);
    tcase_add_test(tcase, what_ptxas_makes_of_parameters);
    tcase_add_test(tcase, newer_than_this_reader);
    tcase_add_test(tcase, the_last_directive_counts);
    tcase_add_test(tcase, an_error_names_the_kernel);
    tcase_add_test(tcase, recognised_by_its_first_token);
    tcase_add_test(tcase, limit_of_bytes);
    tcase_add_test(tcase, limit_of_kernels);
    tcase_add_test(tcase, limit_of_parameters);
    tcase_add_test(tcase, limit_of_all_parameters);
    tcase_add_test(tcase, limit_of_parameter_bytes);
    tcase_add_test(tcase, limit_of_depth);
    tcase_add_test(tcase, names_of_70000_characters);
    tcase_add_test(tcase, every_allocation_fails_once);
    tcase_add_test(tcase, prefixes);
    tcase_add_test(tcase, linear_time);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
