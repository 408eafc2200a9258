/* nvcc's and ptxas's options: one spelling for each, to whom they go, which are private and which are refused. */
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "nvcc_options.h"
#include "slt.h"

static slw_allocator allocator;
static slw_error err = SLW_ERROR_INIT;

static slw_code parse(const char *const *flags, int is_ptx, slwi_nvcc_options *out) {
    size_t count = 0;
    while (flags[count] != NULL) count++;
    slwi_error_reset(&err);
    return slwi_nvcc_options_parse(flags, count, is_ptx, &allocator, out, &err);
}

static void joined(const slwi_tool_list *list, char out[1024]) {
    out[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        if (i != 0) strcat(out, " ");
        strcat(out, list->items[i]);
    }
}

static const struct accepted {
    const char *flags[6];
    int is_ptx;
    const char *ptx, *cubin, *why;
} accepted[] = {
    {{NULL}, 0, "", "", ""},
    {{"-std=c++17", NULL}, 0, "-std=c++17", "", ""},
    {{"--std", "c++20", NULL}, 0, "-std=c++20", "", ""},
    {{"-DX", "-D", "Y=1 + 2", "--define-macro=Z", "-UW", NULL}, 0, "-DX -DY=1 + 2 -DZ -UW", "", ""},
    {{"-use_fast_math", "--use_fast_math", NULL}, 0, "-use_fast_math -use_fast_math", "", ""},
    {{"--maxrregcount", "32", NULL}, 0, "-maxrregcount=32", "-maxrregcount=32", ""},
    {{"-G", NULL}, 0, "-G", "-g", ""},
    {{"--device-debug", "-lineinfo", NULL}, 0, "-G -lineinfo", "-g -lineinfo", ""},
    {{"-Xptxas", "-O1,-v", "-Xptxas=-dlcm=cg", NULL}, 0, "", "-O1 -v -dlcm=cg", ""},
    {{"--ptxas-options=--opt-level=2", NULL}, 0, "", "-O2", ""},
    {{"-Xptxas", "--allow-expensive-optimizations=true", NULL}, 0, "", "-allow-expensive-optimizations=true", ""},
    {{"-Xptxas", "--frobnicate", NULL}, 0, "--frobnicate", "", "OPTION --frobnicate"},
    {{"-Xcudafe", "--diag_suppress=20012", NULL}, 0, "-Xcudafe --diag_suppress=20012", "", ""},
    {{"--diag-suppress", "177,20012", NULL}, 0, "-diag-suppress=177,20012", "", ""},
    {{"-Werror", "all-warnings", "-Wno-deprecated-gpu-targets", NULL},
     0,
     "-Werror=all-warnings -Wno-deprecated-gpu-targets",
     "",
     ""},
    {{"-fmad=false", "-ftz", "true", NULL}, 0, "-fmad=false -ftz=true", "", ""},
    {{"-O3", "--optimize", "2", NULL}, 0, "-O3 -O2", "", ""},
    {{"--expt-relaxed-constexpr", "--extended-lambda", "--expt-extended-lambda", NULL},
     0,
     "-expt-relaxed-constexpr -extended-lambda -extended-lambda",
     "",
     ""},
    {{"-fmad=perhaps", NULL}, 0, "-fmad=perhaps", "", "OPTION -fmad=perhaps"},
    {{"-Xcompiler", "-O2", NULL}, 0, "-Xcompiler -O2", "", "OPTION -Xcompiler"},
    {{"-include", "x.h", "-w", NULL}, 0, "-include x.h -w", "", "OPTION -include"},
    {{"-I/tmp", NULL}, 0, "-I/tmp", "", "OPTION -I/tmp"},
    {{"-I", "/tmp", "-L", "/x", NULL}, 0, "-I /tmp -L /x", "", "OPTION -I"},
    {{"--options-file=x", NULL}, 0, "--options-file=x", "", "OPTION --options-file=x"},
    {{"-rdc=true", NULL}, 0, "-rdc=true", "", "OPTION -rdc=true"},
    {{"@x", NULL}, 0, "@x", "", "OPTION @x"},
    {{"-D@/tmp/rsp", NULL}, 0, "-D@/tmp/rsp", "", "OPTION -D@/tmp/rsp"},
    {{"-D", "@/tmp/rsp", NULL}, 0, "-D @/tmp/rsp", "", "OPTION -D"},
    {{"-DA=1,@/tmp/rsp", NULL}, 0, "-DA=1,@/tmp/rsp", "", "OPTION -DA=1,@/tmp/rsp"},
    {{"-D", "A=1, @/tmp/rsp", NULL}, 0, "-DA=1, @/tmp/rsp", "", "OPTION A=1, @/tmp/rsp"},
    {{"--define-macro=A,@/tmp/rsp", NULL}, 0, "-DA,@/tmp/rsp", "", "OPTION --define-macro=A,@/tmp/rsp"},
    {{"-diag-suppress=1,@/tmp/rsp", NULL}, 0, "-diag-suppress=1,@/tmp/rsp", "", "OPTION -diag-suppress=1,@/tmp/rsp"},
    {{"-Xptxas", "-O1,@/tmp/rsp", NULL}, 1, "", "@/tmp/rsp -O1", "OPTION @/tmp/rsp"},
    {{"-ldir", "/x", NULL}, 0, "-ldir /x", "", "OPTION -ldir"},
    {{"-lineinfo", NULL}, 1, "", "-lineinfo", ""},
    {{"-O", "3", "--maxrregcount=64", "-v", NULL}, 1, "", "-O3 -maxrregcount=64 -v", ""},
    {{"-Xptxas", "-O1", "-G", NULL}, 1, "", "-O1 -g", ""},
    {{"-use_fast_math", NULL}, 1, "", "-use_fast_math", "OPTION -use_fast_math"},
    {{"-optf", "x", NULL}, 1, "", "-optf x", "OPTION -optf"},
};

START_TEST(each_option_in_one_spelling) {
    const struct accepted *row = &accepted[_i];
    slwi_nvcc_options options;
    char text[1024];
    const slw_code rc = parse(row->flags, row->is_ptx, &options);
    ck_assert_msg(rc == SLW_OK, "%s %s", row->flags[0], err.message);
    joined(&options.ptx, text);
    ck_assert_str_eq(text, row->ptx);
    joined(&options.cubin, text);
    ck_assert_str_eq(text, row->cubin);
    ck_assert_str_eq(options.why, row->why);
    slwi_nvcc_options_free(&options);
}
END_TEST

static const struct refused {
    const char *flags[3];
    int is_ptx;
    const char *reason;
} refused[] = {
    {{"-arch=sm_90", NULL}, 0, "RESERVED"},
    {{"-gencode", "arch=compute_90,code=sm_90", NULL}, 0, "RESERVED"},
    {{"--gpu-architecture=sm_90", NULL}, 0, "RESERVED"},
    {{"-o", "x", NULL}, 0, "RESERVED"},
    {{"-ccbin=/usr/bin/g++", NULL}, 0, "RESERVED"},
    {{"-cubin", NULL}, 0, "RESERVED"},
    {{"-fatbin", NULL}, 0, "MISSING_VALUE"},
    {{"--dryrun", NULL}, 0, "RESERVED"},
    {{"-MD", NULL}, 0, "RESERVED"},
    {{"--keep", NULL}, 0, "RESERVED"},
    {{"-frandom-seed=1", NULL}, 0, "RESERVED"},
    {{"-Xptxas", "-arch=sm_80", NULL}, 0, "RESERVED"},
    {{"-Xptxas", "-c", NULL}, 0, "RESERVED"},
    {{"-arch", "sm_80", NULL}, 1, "RESERVED"},
    {{"--input-as-string=x", NULL}, 1, "RESERVED"},
    {{"x.cu", NULL}, 0, "INPUT"},
    {{"-Xptxas", NULL}, 0, "MISSING_VALUE"},
    {{"-std", NULL}, 0, "MISSING_VALUE"},
    {{"-DX=$(x)", NULL}, 0, "SHELL"},
    {{"-D", "X=`x`", NULL}, 0, "SHELL"},
    {{"", NULL}, 0, "EMPTY"},
};

START_TEST(what_is_refused) {
    slwi_nvcc_options options;
    const slw_code rc = parse(refused[_i].flags, refused[_i].is_ptx, &options);
    ck_assert_msg(rc == SLW_E_USAGE, "%s", refused[_i].flags[0]);
    ck_assert_str_eq(err.reason, refused[_i].reason);
}
END_TEST

int main(void) {
    Suite *s = suite_create("backend/nvcc_options");
    TCase *c = tcase_create("options");
    if (slwi_allocator_take(NULL, &allocator, NULL) != SLW_OK) return 1;
    tcase_add_loop_test(c, each_option_in_one_spelling, 0, (int)(sizeof accepted / sizeof *accepted));
    tcase_add_loop_test(c, what_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    suite_add_tcase(s, c);
    return slt_run(s, NULL);
}
