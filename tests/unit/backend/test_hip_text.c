/* What is read of text alone: LLVM IR, and clang's options. */
#include "clang_ir.h"
#include "clang_options.h"
#include "hip_compile.h"

#define TRIPLE "target triple = \"amdgcn-amd-amdhsa\"\n"
#define KERNEL "define amdgpu_kernel void @k() {\n  ret void\n}\n"

/* ---- IR ---- */

static const struct {
    const char *text;
    slw_code code;
    const char *reason;
    const char *subject;
    uint32_t line, column;
} texts[] = {
    {TRIPLE KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {KERNEL, SLW_OK, NULL, NULL, 0, 0}, /* what it is compiled for */
    {"target triple = \"amdgcn-amd-amdhsa-unknown\"\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"target triple = \"amdgcn--amdhsa\"\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"target triple = \"amdgpu9.42-amd-amdhsa-unknown\"\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"  target\ttriple=\"amdgcn-amd-amdhsa\"\r\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    /* a triple in a comment, in a string, in a name is none */
    {"; target triple = \"x86_64\"\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"@\"target triple = \\22x\\22\" = global i32 0\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"!0 = !{!\"target triple = \", !\"x86\"}\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"target datalayout = \"e-p:64:64\"\nsource_filename = \"x86_64\"\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    {"attributes #0 = { \"target-cpu\"=\"gfx90a\" \"tune-cpu\"=\"gfx906\" }\n" KERNEL, SLW_OK, NULL, NULL, 0, 0},
    /* other machines */
    {"target triple = \"nvptx64-nvidia-cuda\"\n" KERNEL, SLW_E_UNSUPPORTED_INPUT, "TRIPLE", "nvptx64-nvidia-cuda", 1,
     17},
    {"\n\n target triple = \"amdgcn-amd-amdpal\"\n" KERNEL, SLW_E_UNSUPPORTED_INPUT, "TRIPLE", "amdgcn-amd-amdpal", 3,
     18},
    {"target triple = \"amdgcn\"\n" KERNEL, SLW_E_UNSUPPORTED_INPUT, "TRIPLE", "amdgcn", 1, 17},
    {"target triple = \"\"\n" KERNEL, SLW_E_UNSUPPORTED_INPUT, "TRIPLE", "", 1, 17},
    {KERNEL "attributes #0 = { nounwind \"target-cpu\"=\"gfx906\" }\n", SLW_E_UNSUPPORTED_INPUT, "TARGET", "gfx906", 4,
     41},
    /* no kernel: the word in a comment, a string, a name, a label is none */
    {"", SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    {TRIPLE, SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    {"; amdgpu_kernel", SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    {"define void @amdgpu_kernel() {\namdgpu_kernel:\n ret void\n}\n", SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    {"define void @\"amdgpu_kernel\"(i32 %amdgpu_kernel) !amdgpu_kernel { ret void }\n", SLW_E_INVALID_SOURCE,
     "NO_KERNEL", "", 1, 1},
    {"define void @k() \"amdgpu_kernel\" { ret void }\n", SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    {"define amdgpu_kernels void @k() { ret void }\n", SLW_E_INVALID_SOURCE, "NO_KERNEL", "", 1, 1},
    /* damage */
    {TRIPLE "@x = \"no end\n", SLW_E_INVALID_SOURCE, "OPEN_STRING", "", 2, 6},
    {"@\"no end", SLW_E_INVALID_SOURCE, "OPEN_STRING", "", 1, 1},
};

START_TEST(ir_says_what_it_is) {
    slw_error err = SLW_ERROR_INIT;
    const slw_code rc =
        slwi_clang_ir_check((slw_bytes){texts[_i].text, strlen(texts[_i].text)}, "k.ll", "gfx90a", &err);
    ck_assert_msg(rc == texts[_i].code, "%s: %s %s", texts[_i].text, slw_code_name(rc), err.message);
    if (rc == SLW_OK) return;
    ck_assert_str_eq(err.reason, texts[_i].reason);
    ck_assert_str_eq(err.subject, texts[_i].subject);
    ck_assert_str_eq(err.path, "k.ll");
    ck_assert_msg(err.line == texts[_i].line && err.column == texts[_i].column, "%s: %u:%u", texts[_i].text, err.line,
                  err.column);
}
END_TEST

START_TEST(bitcode_is_no_text) {
    slw_error err = SLW_ERROR_INIT;
    static const char bitcode[] = "BC\xc0\xde\x35\x14\0\0amdgpu_kernel";
    ck_assert_int_eq(slwi_clang_ir_check((slw_bytes){bitcode, sizeof bitcode - 1}, "k.ll", "gfx90a", &err),
                     SLW_E_INVALID_SOURCE);
    ck_assert_str_eq(err.reason, "NOT_TEXT");
}
END_TEST

/* Every prefix is judged, none is read past its end (the sanitizer watches), none is accepted before its kernel. */
START_TEST(every_prefix_of_a_text) {
    static const char text[] = TRIPLE "@\"s\" = addrspace(3) global i32 undef ; c\n" KERNEL;
    const char *kernel = strstr(text, "amdgpu_kernel void");
    for (size_t size = 0; size < sizeof text; size++) {
        char *copy = malloc(size + 1);
        memcpy(copy, text, size);
        const slw_code rc = slwi_clang_ir_check((slw_bytes){copy, size}, "k.ll", "gfx90a", NULL);
        const int has_kernel = size >= (size_t)(kernel - text) + strlen("amdgpu_kernel");
        if (size < sizeof text - 1) ck_assert_msg((rc == SLW_OK) == has_kernel, "%zu: %s", size, slw_code_name(rc));
        free(copy);
    }
}
END_TEST

/* ---- options ---- */

static const slw_allocator heap = SLW_ALLOCATOR_INIT;

static const struct {
    const char *flags[3];
    slw_code code;
    const char *why;    /* NULL: not private */
    const char *reason; /* of a refusal */
} options[] = {
    {{"-O2"}, SLW_OK, NULL, NULL},
    {{"-Ofast"}, SLW_OK, NULL, NULL},
    {{"-O4"}, SLW_OK, "OPTION -O4", NULL},
    {{"-DN=3", "-D", "M"}, SLW_OK, NULL, NULL},
    {{"-D/etc/passwd"}, SLW_OK, NULL, NULL}, /* a macro is only text */
    {{"-std=c++17"}, SLW_OK, NULL, NULL},
    {{"-cl-std=CL2.0"}, SLW_OK, NULL, NULL},
    {{"-cl-fast-relaxed-math"}, SLW_OK, NULL, NULL},
    {{"-cl-ext=+cl_khr_fp64,-all"}, SLW_OK, NULL, NULL},
    {{"-ffast-math", "-fno-fast-math"}, SLW_OK, NULL, NULL},
    {{"-mcode-object-version=5"}, SLW_OK, NULL, NULL},
    {{"-mcode-object-version=x"}, SLW_OK, "OPTION -mcode-object-version=x", NULL},
    {{"-mno-cumode", "-mtgsplit"}, SLW_OK, NULL, NULL},
    {{"-munsafe-fp-atomics"}, SLW_OK, NULL, NULL},
    {{"-Wall", "-Werror=unused"}, SLW_OK, NULL, NULL},
    {{"-g"}, SLW_OK, NULL, NULL},
    /* files and programs */
    {{"-I/usr/include"}, SLW_OK, "OPTION -I/usr/include", NULL},
    {{"-I", "/usr/include"}, SLW_OK, "OPTION -I", NULL},
    {{"-include", "x.h"}, SLW_OK, "OPTION -include", NULL},
    {{"@options"}, SLW_OK, "OPTION @options", NULL},
    {{"-D", "@options"}, SLW_OK, "OPTION -D", NULL}, /* clang's passes would read the file */
    {{"-D@options"}, SLW_OK, "OPTION -D@options", NULL},
    {{"-U", "@options"}, SLW_OK, "OPTION -U", NULL},
    {{"--config=x.cfg"}, SLW_OK, "OPTION --config=x.cfg", NULL},
    {{"--rocm-path=/opt/rocm-9"}, SLW_OK, "OPTION --rocm-path=/opt/rocm-9", NULL},
    {{"--rocm-device-lib-path=/x"}, SLW_OK, "OPTION --rocm-device-lib-path=/x", NULL},
    {{"--hip-path=/x"}, SLW_OK, "OPTION --hip-path=/x", NULL},
    {{"-fplugin=x.so"}, SLW_OK, "OPTION -fplugin=x.so", NULL},
    {{"-fpass-plugin=x.so"}, SLW_OK, "OPTION -fpass-plugin=x.so", NULL},
    {{"-fprofile-use=x"}, SLW_OK, "OPTION -fprofile-use=x", NULL},
    {{"-fsanitize-blacklist=x"}, SLW_OK, "OPTION -fsanitize-blacklist=x", NULL},
    {{"-B/tmp"}, SLW_OK, "OPTION -B/tmp", NULL},
    {{"-resource-dir=/tmp"}, SLW_OK, "OPTION -resource-dir=/tmp", NULL},
    {{"-Xclang", "-load"}, SLW_OK, "OPTION -Xclang", NULL},
    {{"-mllvm", "-amdgpu-early-inline-all"}, SLW_OK, "OPTION -mllvm", NULL},
    {{"-Wl,-T,script"}, SLW_OK, "OPTION -Wl,-T,script", NULL},
    {{"-T", "script"}, SLW_OK, "OPTION -T", NULL},
    {{"-fuse-ld=/tmp/ld"}, SLW_OK, "OPTION -fuse-ld=/tmp/ld", NULL},
    {{"-fnothing-known"}, SLW_OK, "OPTION -fnothing-known", NULL},
    /* slipway's own */
    {{"-o", "x"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-c"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-S"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-x", "c"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-emit-llvm"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-mcpu=native"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-march=native"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"--offload-arch=gfx906"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"--target=x86_64"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-target", "x86_64"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-fgpu-rdc"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-save-temps"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"-MD"}, SLW_E_USAGE, NULL, "RESERVED"},
    {{"file.cl"}, SLW_E_USAGE, NULL, "INPUT"},
    {{"-D"}, SLW_E_USAGE, NULL, "MISSING_VALUE"},
    {{"-D", "", "-Wall"}, SLW_E_USAGE, NULL, "MISSING_VALUE"},
};

START_TEST(options_are_an_allow_list) {
    slw_error err = SLW_ERROR_INIT;
    slwi_tool_options out;
    size_t count = 0;
    while (count < 3 && options[_i].flags[count] != NULL) count++;
    const slw_code rc = slwi_tool_options_parse(slwi_clang_option_rules, options[_i].flags, count, &heap, &out, &err);
    ck_assert_msg(rc == options[_i].code, "%s: %s %s", options[_i].flags[0], slw_code_name(rc), err.message);
    if (rc != SLW_OK) {
        ck_assert_str_eq(err.reason, options[_i].reason);
        return;
    }
    ck_assert_str_eq(out.why, options[_i].why != NULL ? options[_i].why : "");
    slwi_tool_options_free(&out);
}
END_TEST

/* Of what compiled the IR the code generator hears again what is its own, in order and with values. */
START_TEST(options_of_the_code_generator) {
    static const char *const flags[] = {"-DX",      "-O1", "-mllvm", "-x",    "-ffast-math",
                                        "-mcumode", "-g",  "-Wl,-z", "-Wall", "-O0"};
    static const size_t words[] = {0, 1, 2, 0, 0, 1, 1, 0, 1};
    slwi_tool_options out;
    slt_ok(slwi_tool_options_parse(slwi_clang_option_rules, flags, sizeof flags / sizeof *flags, &heap, &out, NULL),
           &(slw_error)SLW_ERROR_INIT);
    const slwi_tool_list *compile = &out.groups[SLWI_CLANG_COMPILE];
    ck_assert_uint_eq(compile->count, 9);
    ck_assert_uint_eq(out.groups[SLWI_CLANG_LINK].count, 1);
    for (size_t i = 0; i < 9; i++) {
        if (strcmp(compile->items[i], "-x") == 0) continue; /* a value of -mllvm's */
        ck_assert_msg(slwi_clang_code_words(compile, i) == words[i], "%s", compile->items[i]);
    }
    slwi_tool_options_free(&out);
}
END_TEST

START_TEST(options_that_say_where_rocm_is) {
    const char *directory = "untouched";
    ck_assert_int_eq(slwi_clang_names_rocm("-O3", &directory), 0);
    ck_assert_int_eq(slwi_clang_names_rocm("--rocm-pathological", &directory), 0);
    ck_assert_str_eq(directory, "untouched");
    ck_assert_int_eq(slwi_clang_names_rocm("--rocm-path=/opt/rocm", &directory),
                     SLWI_CLANG_NAMES_LIBRARIES | SLWI_CLANG_NAMES_HEADERS);
    ck_assert_str_eq(directory, "/opt/rocm");
    ck_assert_int_eq(slwi_clang_names_rocm("--hip-path=/h", &directory), SLWI_CLANG_NAMES_HEADERS);
    ck_assert_int_eq(slwi_clang_names_rocm("--rocm-device-lib-path", &directory), SLWI_CLANG_NAMES_LIBRARIES);
    ck_assert_ptr_null(directory);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_text");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, ir_says_what_it_is, 0, sizeof texts / sizeof *texts);
    tcase_add_test(tcase, bitcode_is_no_text);
    tcase_add_test(tcase, every_prefix_of_a_text);
    tcase_add_loop_test(tcase, options_are_an_allow_list, 0, sizeof options / sizeof *options);
    tcase_add_test(tcase, options_of_the_code_generator);
    tcase_add_test(tcase, options_that_say_where_rocm_is);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
