/* The small parsers of the host backend: options, dependency lists, the compiler's words, paths, quoted command lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool_depfile.h"
#include "host_options.h"
#include "host_target.h"
#include "host_toolchain.h"
#include "tool_probe.h"
#include "tool_words.h"
#include "slt.h"

static slw_allocator allocator = SLW_ALLOCATOR_INIT;

/* ---- options ---- */

START_TEST(allowed_options) {
    static const char *const allowed[] = {
        "-O0",
        "-O3",
        "-Ofast",
        "-Os",
        "-g",
        "-g0",
        "-gdwarf-4",
        "-ggdb3",
        "-ffast-math",
        "-fno-fast-math",
        "-funroll-loops",
        "-fno-unroll-loops",
        "-ffp-contract=off",
        "-march=x86-64-v3",
        "-mtune=native",
        "-mavx2",
        "-mno-avx512f",
        "-msse4.2",
        "-mfma",
        "-mno-fma",
        "-DNAME",
        "-DNAME=/any text, at all",
        "-UNAME",
        "-std=c11",
        "-std=gnu2x",
        "-Wall",
        "-Wno-error=unused",
        "-Werror",
        "-Wframe-larger-than=100",
        "-w",
        "-pedantic",
        "-fvisibility=hidden",
        "--param=max-unroll-times=2",
        "-pthread",
        "-fno-builtin-sin",
        "-mprefer-vector-width=256",
        "-fstack-protector-strong",
    };
    slw_error err = SLW_ERROR_INIT;
    slwi_host_options options;
    size_t count = sizeof(allowed) / sizeof(*allowed);
    slt_ok(slwi_host_options_parse(allowed, count, &allocator, &options, &err), &err);
    ck_assert_str_eq(options.why, "");
    ck_assert_uint_eq(options.compile.count, count);
    for (size_t i = 0; i < count; i++) ck_assert_str_eq(options.compile.items[i], allowed[i]); /* in order, untouched */
    ck_assert_uint_eq(options.link.count, 0);
    ck_assert_int_eq(options.native, 1);
    slwi_host_options_free(&options);
}
END_TEST

START_TEST(values_that_stand_alone) {
    static const char *const flags[] = {"-D",  "A=1", "-U",   "B",        "--param",
                                        "x=2", "-I",  "/tmp", "-Xlinker", "--gc-sections"};
    slw_error err = SLW_ERROR_INIT;
    slwi_host_options options;
    slt_ok(slwi_host_options_parse(flags, 10, &allocator, &options, &err), &err);
    ck_assert_str_eq(options.why, "OPTION -I");  /* the first that reaches outside */
    ck_assert_uint_eq(options.compile.count, 6); /* -Xlinker is for the link alone, macros are joined */
    ck_assert_str_eq(options.compile.items[0], "-DA=1");
    ck_assert_str_eq(options.compile.items[1], "-UB");
    ck_assert_str_eq(options.compile.items[2], "--param");
    ck_assert_uint_eq(options.link.count, 4);
    ck_assert_str_eq(options.link.items[2], "-Xlinker");
    ck_assert_str_eq(options.link.items[3], "--gc-sections");
    slwi_host_options_free(&options);
    static const char *const bad_value[] = {"--param", "/etc/passwd"};
    slt_ok(slwi_host_options_parse(bad_value, 2, &allocator, &options, &err), &err);
    ck_assert_str_eq(options.why, "OPTION --param");
    slwi_host_options_free(&options);
}
END_TEST

START_TEST(refused_options) {
    static const struct {
        const char *option;
        const char *reason;
    } cases[] = {
        {"-c", "RESERVED"},
        {"-S", "RESERVED"},
        {"-E", "RESERVED"},
        {"-oout", "RESERVED"},
        {"-xc++", "RESERVED"},
        {"-MD", "RESERVED"},
        {"-MF", "RESERVED"},
        {"-shared", "RESERVED"},
        {"-###", "RESERVED"},
        {"-v", "RESERVED"},
        {"-", "RESERVED"},
        {"--help", "RESERVED"},
        {"-print-file-name=x", "RESERVED"},
        {"other.c", "INPUT"},
        {"", "EMPTY"},
        {"-D", "MISSING_VALUE"},
        {"-I", "MISSING_VALUE"},
        {"-o", "MISSING_VALUE"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        slw_error err = SLW_ERROR_INIT;
        slwi_host_options options;
        ck_assert_msg(slwi_host_options_parse(&cases[i].option, 1, &allocator, &options, &err) == SLW_E_USAGE, "%s",
                      cases[i].option);
        ck_assert_str_eq(err.reason, cases[i].reason);
        ck_assert_str_eq(err.subject, cases[i].option);
    }
    slw_error err = SLW_ERROR_INIT;
    slwi_host_options options;
    ck_assert_int_eq(slwi_host_options_parse(NULL, 1, &allocator, &options, &err), SLW_E_USAGE);
    slw_error many = SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_host_options_parse(NULL, 5000, &allocator, &options, &many), SLW_E_LIMIT);
}
END_TEST

/* ---- dependency lists ---- */

static void dependencies(const char *text, int good, const char *joined) {
    slwi_tool_list list;
    slwi_tool_list_init(&list, &allocator);
    int got = slwi_tool_depfile_parse((slw_bytes){text, strlen(text)}, &list);
    ck_assert_msg(got == good, "%s", text);
    if (good) {
        char all[1024] = "";
        for (size_t i = 0; i < list.count; i++) {
            strcat(all, "[");
            strcat(all, list.items[i]);
            strcat(all, "]");
        }
        ck_assert_str_eq(all, joined);
    }
    slwi_tool_list_free(&list);
}

START_TEST(dependency_lists) {
    dependencies("kernel: source.c /usr/include/stdc-predef.h\n", 1, "[source.c][/usr/include/stdc-predef.h]");
    dependencies("kernel: source.c \\\n a.h \\\n  b.h\n", 1, "[source.c][a.h][b.h]");
    dependencies("kernel: source.c\\\n a.h\\\r\n b.h", 1, "[source.c][a.h][b.h]");
    dependencies("kernel: my\\ file.h $$x\\#y.h\n", 1, "[my file.h][$x#y.h]");
    dependencies("kernel: a\\\\\\ b.h\n", 1, "[a\\ b.h]");
    dependencies("kernel: a\\\\ b.h\n", 1, "[a\\][b.h]");
    dependencies("kernel: a\\b.h\n", 1, "[a\\b.h]");
    dependencies("kernel: a.h\n\na.h:\n", 1, "[a.h]");
    dependencies("kernel : a.h\n", 1, "[a.h]");
    dependencies("one two: a.h\nthree: b.h\n", 1, "[a.h][b.h]");
    dependencies("", 0, NULL);
    dependencies("no target at all\n", 0, NULL);
    dependencies("kernel:\n", 0, NULL);
    slwi_tool_list list;
    slwi_tool_list_init(&list, &allocator);
    ck_assert(!slwi_tool_depfile_parse((slw_bytes){"k: a\0b\n", 7}, &list));
    char *longest = malloc(10000);
    memset(longest, 'a', 10000);
    memcpy(longest, "k: ", 3);
    ck_assert(!slwi_tool_depfile_parse((slw_bytes){longest, 10000}, &list));
    free(longest);
    slwi_tool_list_free(&list);
    /* no text of these characters is a crash or an endless loop */
    static const char letters[] = "a:\\ \n$#\r\t";
    for (unsigned long n = 0; n < 59049; n++) {
        char text[6];
        unsigned long rest = n;
        for (int i = 0; i < 5; i++, rest /= 9) text[i] = letters[rest % 9];
        slwi_tool_list_init(&list, &allocator);
        (void)slwi_tool_depfile_parse((slw_bytes){text, 5}, &list);
        slwi_tool_list_free(&list);
    }
}
END_TEST

START_TEST(inside_and_outside) {
    const char *root = slt_scratch();
    const char *elsewhere = slt_scratch();
    const char *work = slt_scratch();
    slt_shell("mkdir -p %s/sub %s/.git && touch %s/sub/a.h %s/.git/a.h %s/x.pyc %s/b.h && ln -s %s/b.h %s/link.h && ln "
              "-s %s %s/other",
              root, root, root, root, root, elsewhere, elsewhere, root, root, elsewhere);
    slwi_tool_list roots;
    slwi_tool_list own;
    slwi_tool_list_init(&roots, &allocator);
    slwi_tool_list_init(&own, &allocator);
    slwi_tool_list_add_format(&roots, "%s/", root);
    slwi_tool_list_add(&own, "source.c");
    const struct {
        const char *path;
        int inside;
    } cases[] = {
        {"source.c", 1},
        {"./source.c", 1},
        {"other.c", 0},
        {"../source.c", 0},
        {slt_path(root, "sub/a.h", NULL), 1},
        {slt_path(root, "sub/../sub/a.h", NULL), 1},
        {slt_path(root, "link.h", NULL), 1}, /* the tree follows it */
        {slt_path(elsewhere, "other/sub/a.h", NULL), 1},
        {slt_path(elsewhere, "b.h", NULL), 0},
        {slt_path(root, "sub/../../nothing", NULL), 0},
        {slt_path(root, ".git/a.h", NULL), 0},
        {slt_path(root, "x.pyc", NULL), 0},
        {root, 0},
        {"/etc/passwd", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_msg(slwi_tool_dependency_inside(cases[i].path, work, &roots, &own) == cases[i].inside, "%s",
                      cases[i].path);
    }
    slwi_tool_list_free(&roots);
    slwi_tool_list_free(&own);
}
END_TEST

/* ---- words ---- */

START_TEST(names_are_put_back) {
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"source.c:1:2: error: x\n", "k.c:1:2: error: x\n"},
        {"In file included from source.c:3:\n", "In file included from k.c:3:\n"},
        {"source.c: In function 'f':\nsource.c:1:1: y", "k.c: In function 'f':\nk.c:1:1: y"},
        {"mysource.c:1:2: error", "mysource.c:1:2: error"},
        {"source.cc:1", "source.cc:1"},
        {"source.c", "source.c"},
        {"", ""},
        {"source.c:", "k.c:"},
        {"source.c:source.c:", "k.c:source.c:"},
        {"source.c(3): error: x\n1 error detected in \"source.c\".", "k.c(3): error: x\n1 error detected in \"k.c\"."},
        {"ptxas source.c, line 3; error   : x", "ptxas k.c, line 3; error   : x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        slwi_buffer out;
        slwi_buffer_init(&out, &allocator, SIZE_MAX);
        slwi_tool_words_rename((slw_bytes){cases[i].from, strlen(cases[i].from)}, "source.c", "k.c", &out);
        ck_assert_str_eq(out.data != NULL ? out.data : "", cases[i].to);
        slwi_buffer_free(&out);
    }
}
END_TEST

START_TEST(the_first_error_is_found) {
    static const struct {
        const char *words;
        const char *file;
        uint32_t line, column;
    } cases[] = {
        {"a.c:1:2: warning: w\na.c:3:4: error: e\nb.c:5:6: error: f\n", "a.c", 3, 4},
        {"a.c:3:4: fatal error: x.h: No such file\n", "a.c", 3, 4},
        {"a:b.c:3: error: e\n", "a:b.c", 3, 0},
        {"gcc: error: unrecognized\n", "", 0, 0},
        {"ld: undefined reference to `f'\n", "", 0, 0},
        {":3:4: error: e\n", "", 3, 4},
        {"k.cu(7): warning #1: w\nk.cu(8): error: e\n\n1 error detected in the compilation of \"k.cu\".", "k.cu", 8, 0},
        {"k.cu(8): error #20: e\n", "k.cu", 8, 0},
        {"k.cu(1): catastrophic error: cannot open source file \"x.h\"\n", "k.cu", 1, 0},
        {"k.cu(x): error: e\n", "", 0, 0},
        {"ptxas k.ptx, line 20; fatal   : Parsing error near '.bx': syntax error\n", "k.ptx", 20, 0},
        {"ptxas a b.ptx, line 7; error   : Unknown symbol 'x'\n", "a b.ptx", 7, 0},
        {"ptxas fatal   : Ptx assembly aborted due to errors\n", "", 0, 0},
        {"ptxas k.ptx, line 20; warning : w\nptxas k.ptx, line 21; error   : e\n", "k.ptx", 21, 0},
        {"99999999999999999999:1: error: e", "99999999999999999999", 1, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        slwi_tool_place place;
        ck_assert(slwi_tool_words_place((slw_bytes){cases[i].words, strlen(cases[i].words)}, &place));
        ck_assert_uint_eq(place.file.size, strlen(cases[i].file));
        ck_assert_mem_eq(place.file.data, cases[i].file, place.file.size);
        ck_assert_uint_eq(place.line, cases[i].line);
        ck_assert_uint_eq(place.column, cases[i].column);
    }
    slwi_tool_place place;
    ck_assert(!slwi_tool_words_place((slw_bytes){"", 0}, &place));
    ck_assert(slwi_tool_words_place((slw_bytes){"odd\n", 4}, &place));
    ck_assert_uint_eq(place.message.size, 3);
}
END_TEST

/* ---- paths and lines ---- */

START_TEST(paths) {
    char out[SLWI_TOOL_PATH_MAX];
    const char *rest;
    ck_assert(slwi_tool_join(out, "/a/", "b") && strcmp(out, "/a/b") == 0);
    ck_assert(slwi_tool_join(out, "/", "b") && strcmp(out, "/b") == 0);
    ck_assert(slwi_tool_join(out, "/a", "/b") && strcmp(out, "/b") == 0);
    ck_assert(slwi_tool_directory(out, "/usr/bin/cc") && strcmp(out, "/usr/bin") == 0);
    ck_assert(slwi_tool_directory(out, "/cc") && strcmp(out, "/") == 0);
    ck_assert(slwi_tool_directory(out, "cc") && strcmp(out, ".") == 0);
    ck_assert(slwi_tool_normalize(out, "/a/./b//../c/") && strcmp(out, "/a/c") == 0);
    ck_assert(slwi_tool_normalize(out, "/../a") && strcmp(out, "/a") == 0);
    ck_assert(slwi_tool_normalize(out, "a/..") && strcmp(out, ".") == 0);
    ck_assert(!slwi_tool_normalize(out, "../a"));
    ck_assert(!slwi_tool_normalize(out, "a/../../b"));
    ck_assert(slwi_tool_below("/a/b", "/a", &rest) && strcmp(rest, "b") == 0);
    ck_assert(slwi_tool_below("/a", "/a", &rest) && rest[0] == '\0');
    ck_assert(!slwi_tool_below("/ab", "/a", &rest));
    ck_assert(slwi_tool_below("/a", "/", &rest) && strcmp(rest, "a") == 0);
    char *longest = malloc(5000);
    memset(longest, 'a', 4999);
    longest[4999] = '\0';
    ck_assert(!slwi_tool_join(out, "/", longest));
    ck_assert(!slwi_tool_normalize(out, longest));
    free(longest);
}
END_TEST

START_TEST(quoted_lines) {
    slwi_tool_list words;
    static const char line[] = " /x/cc1 \"-march=a b\" --param \"p=1\" -D\"a\\\"b\\\\\" last";
    slwi_tool_list_init(&words, &allocator);
    slwi_tool_split_line((slw_bytes){line, sizeof(line) - 1}, &words);
    ck_assert_uint_eq(words.count, 6);
    ck_assert_str_eq(words.items[0], "/x/cc1");
    ck_assert_str_eq(words.items[1], "-march=a b");
    ck_assert_str_eq(words.items[3], "p=1");
    ck_assert_str_eq(words.items[4], "-Da\"b\\");
    ck_assert_str_eq(words.items[5], "last");
    slwi_tool_list_free(&words);
}
END_TEST

START_TEST(triples) {
    const char *target = slwi_host_target(); /* machine-linux-gnu */
    char triple[128];
    ck_assert(slwi_host_triple_fits(target));
    const char *dash = strchr(target, '-');
    (void)snprintf(triple, sizeof(triple), "%.*s-pc%s", (int)(dash - target), target, dash);
    ck_assert(slwi_host_triple_fits(triple));
    (void)snprintf(triple, sizeof(triple), "%sx32", target);
    ck_assert(!slwi_host_triple_fits(triple));
    (void)snprintf(triple, sizeof(triple), "%.*s-redhat-linux", (int)(dash - target), target);
    ck_assert_int_eq(slwi_host_triple_fits(triple), !slwi_host_is_musl());
    ck_assert(!slwi_host_triple_fits("sparc-linux-gnu"));
    (void)snprintf(triple, sizeof(triple), "%.*s-apple-darwin", (int)(dash - target), target);
    ck_assert(!slwi_host_triple_fits(triple));
    ck_assert(!slwi_host_triple_fits(""));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/host_text");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, allowed_options);
    tcase_add_test(tcase, values_that_stand_alone);
    tcase_add_test(tcase, refused_options);
    tcase_add_test(tcase, dependency_lists);
    tcase_add_test(tcase, inside_and_outside);
    tcase_add_test(tcase, names_are_put_back);
    tcase_add_test(tcase, the_first_error_is_found);
    tcase_add_test(tcase, paths);
    tcase_add_test(tcase, quoted_lines);
    tcase_add_test(tcase, triples);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
