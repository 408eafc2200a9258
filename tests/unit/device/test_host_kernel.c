/* host_kernel.h: the record byte for byte, read from the file by a reader that knows only the table in the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_image.h"
#include "slt.h"

static const char all_kinds[] =
    "#include <slipway/host_kernel.h>\n"
    "typedef struct pair { double a; float b; } pair;\n"
    "typedef union either { char c; long double l; } either;\n"
    "typedef float row[4];\n"
    "typedef void action(int);\n"
    "enum color { RED, GREEN };\n"
    "#define KERNEL renamed\n"
    "SLW_HOST_KERNEL(KERNEL, SLW_HOST_PARAM(const float *, f0), SLW_HOST_PARAM(void *, f1), SLW_HOST_PARAM(row *, "
    "f2),\n"
    "  SLW_HOST_PARAM(action *, f3), SLW_HOST_PARAM(char **, f4), SLW_HOST_PARAM(int8_t, f5), SLW_HOST_PARAM(short, "
    "f6),\n"
    "  SLW_HOST_PARAM(int, f7), SLW_HOST_PARAM(long, f8), SLW_HOST_PARAM(int64_t, f9), SLW_HOST_PARAM(_Bool, f10),\n"
    "  SLW_HOST_PARAM(uint8_t, f11), SLW_HOST_PARAM(uint16_t, f12), SLW_HOST_PARAM(const uint32_t, f13),\n"
    "  SLW_HOST_PARAM(size_t, f14), SLW_HOST_PARAM(unsigned long long, f15), SLW_HOST_PARAM(enum color, f16),\n"
    "  SLW_HOST_PARAM(float, f17), SLW_HOST_PARAM(double, f18), SLW_HOST_PARAM(long double, f19),\n"
    "  SLW_HOST_PARAM(pair, f20), SLW_HOST_PARAM(either, f21), SLW_HOST_PARAM(struct pair, "
    "a_name_of_thirty_one_bytes_abcd));\n"
    "void KERNEL(const slw_host_block *b, void *const *args) { (void)b; (void)args; }\n";

START_TEST(every_kind_of_parameter) {
    static const struct {
        slw_param_kind kind;
        uint32_t size, alignment;
    } expected[] = {
        {SLW_PARAM_POINTER, 8, 8},  {SLW_PARAM_POINTER, 8, 8},  {SLW_PARAM_POINTER, 8, 8},  {SLW_PARAM_POINTER, 8, 8},
        {SLW_PARAM_POINTER, 8, 8},  {SLW_PARAM_SIGNED, 1, 1},   {SLW_PARAM_SIGNED, 2, 2},   {SLW_PARAM_SIGNED, 4, 4},
        {SLW_PARAM_SIGNED, 8, 8},   {SLW_PARAM_SIGNED, 8, 8},   {SLW_PARAM_UNSIGNED, 1, 1}, {SLW_PARAM_UNSIGNED, 1, 1},
        {SLW_PARAM_UNSIGNED, 2, 2}, {SLW_PARAM_UNSIGNED, 4, 4}, {SLW_PARAM_UNSIGNED, 8, 8}, {SLW_PARAM_UNSIGNED, 8, 8},
        {SLW_PARAM_UNSIGNED, 4, 4}, {SLW_PARAM_FLOAT, 4, 4},    {SLW_PARAM_FLOAT, 8, 8},    {SLW_PARAM_FLOAT, 16, 16},
        {SLW_PARAM_STRUCT, 16, 8},  {SLW_PARAM_STRUCT, 16, 16}, {SLW_PARAM_STRUCT, 16, 8},
    };
    static const char *const flags[] = {"-O0",
                                        "-O2 -fPIC -pedantic",
                                        "-Os -fvisibility=hidden -Wl,--gc-sections",
                                        "-O3 -ffunction-sections -fdata-sections -Wl,--gc-sections",
                                        "-O2 -flto",
                                        "-ffreestanding -fsanitize=undefined -fsanitize-undefined-trap-on-error"};
    const uint32_t count = sizeof expected / sizeof expected[0];
    for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++) {
        slt_image *image = slt_image_compile_text(all_kinds, flags[f]);
        ck_assert_uint_eq(image->contract.kernel_count, 1);
        const slw_kernel_contract *kernel = slt_image_kernel(image, "renamed");
        ck_assert_uint_eq(kernel->param_count, count);
        ck_assert_uint_eq(kernel->static_shared_bytes, 0);
        for (uint32_t i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%u", i);
            if (i + 1 < count) ck_assert_str_eq(kernel->params[i].name, name);
            ck_assert_int_eq(kernel->params[i].kind, expected[i].kind);
            ck_assert_uint_eq(kernel->params[i].size_bytes, expected[i].size);
            ck_assert_uint_eq(kernel->params[i].alignment_bytes, expected[i].alignment);
        }
        ck_assert_str_eq(kernel->params[count - 1].name, "a_name_of_thirty_one_bytes_abcd");
        slt_image_free(image);
    }
}
END_TEST

START_TEST(no_parameters_and_shared_memory) {
    slt_image *image = slt_image_compile_text(
        "#include <slipway/host_kernel.h>\n"
        "#define BODY (const slw_host_block *b, void *const *args) { (void)b; (void)args; }\n"
        "SLW_HOST_KERNEL(none);\n"
        "SLW_HOST_KERNEL_SHARED(none_shared, 1);\n"
        "SLW_HOST_KERNEL_SHARED(exact, sizeof(double[64]), SLW_HOST_PARAM(int, a));\n"
        "SLW_HOST_KERNEL_SHARED(past_the_limit, 65536, SLW_HOST_PARAM(int, a), SLW_HOST_PARAM(int, b));\n"
        "void none BODY void none_shared BODY void exact BODY void past_the_limit BODY\n",
        "");
    ck_assert_uint_eq(image->contract.kernel_count, 4);
    ck_assert_uint_eq(slt_image_kernel(image, "none")->param_count, 0);
    ck_assert_uint_eq(slt_image_kernel(image, "none")->static_shared_bytes, 0);
    ck_assert_uint_eq(slt_image_kernel(image, "none_shared")->param_count, 0);
    ck_assert_uint_eq(slt_image_kernel(image, "none_shared")->static_shared_bytes, 16);
    ck_assert_uint_eq(slt_image_kernel(image, "exact")->static_shared_bytes, 512);
    ck_assert_uint_eq(slt_image_kernel(image, "past_the_limit")->static_shared_bytes, 65536);
    slt_image_free(image);
}
END_TEST

/* 64 parameters, and a name of 127 bytes. */
START_TEST(the_largest_kernel) {
    char text[16384] = "#include <slipway/host_kernel.h>\nSLW_HOST_KERNEL(";
    char name[128];
    memset(name, 'k', 127);
    name[127] = '\0';
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s", name);
    for (int i = 0; i < 64; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", SLW_HOST_PARAM(double, p%d)", i);
    snprintf(text + at, sizeof text - at,
             ");\nvoid %s(const slw_host_block *b, void *const *a) { (void)b; (void)a; }\n", name);
    slt_image *image = slt_image_compile_text(text, "");
    ck_assert_uint_eq(slt_image_kernel(image, name)->param_count, 64);
    ck_assert_uint_eq(slt_image_kernel(image, name)->param_bytes, 512);
    slt_image_free(image);
}
END_TEST

/* Several files in one image: records without gaps, whatever order the linker chose. */
START_TEST(several_files_in_one_image) {
    const char *scratch = slt_scratch();
    char sources[2048] = "";
    for (int i = 0; i < 5; i++) {
        char name[16], text[512];
        snprintf(name, sizeof name, "part%d.c", i);
        snprintf(text, sizeof text,
                 "#include <slipway/host_kernel.h>\nSLW_HOST_KERNEL(k%d, SLW_HOST_PARAM(int, a));\n"
                 "static const char pad%d[%d] __attribute__((used)) = {1};\n"
                 "void k%d(const slw_host_block *b, void *const *a) { (void)b; (void)a; }\n",
                 i, i, 3 + i * 17, i);
        const char *path = slt_path(scratch, name, NULL);
        slt_write_file(path, text, strlen(text), 0600);
        if (i > 0) snprintf(sources + strlen(sources), sizeof sources - strlen(sources), " '%s'", path);
    }
    slt_image *image = slt_image_compile(slt_path(scratch, "part0.c", NULL), sources);
    ck_assert_uint_eq(image->contract.kernel_count, 5);
    slt_image_free(image);
}
END_TEST

static int compiles(const char *text) {
    const char *path = slt_path(slt_scratch(), "bad.c", NULL);
    slt_write_file(path, text, strlen(text), 0600);
    char command[4096];
    snprintf(command, sizeof command, "cc -std=c11 -Wall -Werror -I '%s' -c -o /dev/null '%s' 2>/dev/null",
             slt_repository("include"), path);
    return system(command) == 0;
}

/* Mistakes the header turns into compile errors. */
START_TEST(mistakes_do_not_compile) {
#define HEAD "#include <slipway/host_kernel.h>\n"
    ck_assert(
        compiles(HEAD "SLW_HOST_KERNEL(k);\nvoid k(const slw_host_block *b, void *const *a) { (void)b; (void)a; }\n"));
    /* Another signature than a kernel's. */
    ck_assert(!compiles(HEAD "SLW_HOST_KERNEL(k);\nvoid k(slw_host_block *b, void **a) { (void)b; (void)a; }\n"));
    ck_assert(!compiles(
        HEAD "SLW_HOST_KERNEL(k);\nint k(const slw_host_block *b, void *const *a) { return b == (void *)a; }\n"));
    /* Twice. */
    ck_assert(!compiles(HEAD "SLW_HOST_KERNEL(k);\nSLW_HOST_KERNEL(k, SLW_HOST_PARAM(int, a));\n"));
    /* Names that do not fit. */
    ck_assert(!compiles(HEAD "SLW_HOST_KERNEL(k, SLW_HOST_PARAM(int, a_name_of_thirty_two_bytes_abcde));\n"));
    char text[512] = HEAD "SLW_HOST_KERNEL(";
    memset(text + strlen(text), 'k', 128);
    strcat(text, ");\n");
    ck_assert(!compiles(text));
    /* A type without a size. */
    ck_assert(!compiles(HEAD "struct s;\nSLW_HOST_KERNEL(k, SLW_HOST_PARAM(struct s, a));\n"));
    ck_assert(!compiles(HEAD "SLW_HOST_KERNEL(k, SLW_HOST_PARAM(void, a));\n"));
    /* Writing to an argument. */
    ck_assert(!compiles(HEAD "void f(void *const *args) { SLW_HOST_ARG(int, args, 0) = 1; }\n"));
#undef HEAD
}
END_TEST

/* Alone, with every compiler here, in C11 and C++17, freestanding, and with nothing of slipway's beside it. */
START_TEST(header_stands_alone) {
    const char *scratch = slt_scratch();
    const char *folder = slt_path(scratch, "slipway", NULL);
    slt_shell("mkdir '%s' && cp '%s' '%s'", folder, slt_repository("include/slipway/host_kernel.h"), folder);
    const char *source = slt_path(scratch, "alone.c", NULL);
    slt_write_file(source, "#include <slipway/host_kernel.h>\n", 33, 0600);
    static const char *const compilers[] = {"cc", "gcc", "clang", "clang-16"};
    for (size_t i = 0; i < 4; i++) {
        slt_shell(
            "command -v %s >/dev/null || exit 0; for o in '' -ffreestanding; do %s $o -std=c11 -pedantic -Wall -Wextra "
            "-Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wcast-qual -Wundef -Werror -I '%s' -fsyntax-only "
            "'%s' "
            "|| exit 1; done; %s -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -I '%s' -fsyntax-only '%s'",
            compilers[i], compilers[i], scratch, source, compilers[i], scratch, source);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("host kernel header");
    TCase *tcase = tcase_create("records");
    tcase_set_timeout(tcase, 180);
    tcase_add_test(tcase, every_kind_of_parameter);
    tcase_add_test(tcase, no_parameters_and_shared_memory);
    tcase_add_test(tcase, the_largest_kernel);
    tcase_add_test(tcase, several_files_in_one_image);
    tcase_add_test(tcase, mistakes_do_not_compile);
    tcase_add_test(tcase, header_stands_alone);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
