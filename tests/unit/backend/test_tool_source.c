/* What a source, a header or an option may say that no dependency list shows. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slt.h"
#include "tool_source.h"

typedef struct row {
    const char *text;
    const char *why; /* a part of the reason; NULL: there is none */
} row;

static void judge(const char *(*of)(slw_bytes), const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(rows[i].text);
        char *exact = malloc(size + 1); /* so that a step past the end is seen */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, rows[i].text, size);
        char *text = realloc(exact, size != 0 ? size : 1);
        ck_assert_ptr_nonnull(text);
        const char *why = of((slw_bytes){text, size});
        if (rows[i].why == NULL) {
            ck_assert_msg(why == NULL, "%s: %s", rows[i].text, why);
        } else {
            ck_assert_msg(why != NULL && strstr(why, rows[i].why) != NULL, "%s: %s", rows[i].text, why ? why : "none");
            ck_assert_int_eq(strncmp(why, SLWI_TOOL_SOURCE_WORD, strlen(SLWI_TOOL_SOURCE_WORD)), 0);
        }
        free(text);
    }
}

#define JUDGE(of, rows) judge(of, rows, sizeof(rows) / sizeof((rows)[0]))

START_TEST(the_assembler_reads_files_of_its_own) {
    static const row rows[] = {
        {"", NULL},
        {"int x;", NULL},
        {"incbi", NULL},
        {".", NULL},
        {".incbi", NULL},
        {".includ", NULL},
        {"__asm__(\".incbin \\\"f\\\"\");", ".incbin"},
        {"__asm__(\".INCBIN \\\"f\\\"\");", ".incbin"},
        {"__asm__(\"\\t.IncBin\\t\\\"f\\\"\");", ".incbin"},
        {"#define I \".incbin\"", ".incbin"},
        {"__asm__(\".include \\\"f\\\"\");", ".include"},
        {"__asm__(\"\\t.Include \\\"f\\\"\");", ".include"},
        {"__asm__(\"\\n.INCLUDE\" F);", ".include"},
        {"asm(R\"(\n.include \"f\"\n)\");", ".include"},
        {"#define I .include\n", ".include"},
        {"-DI=.include", ".include"},
        /* the preprocessor's, and members */
        {"#include \"x.h\"\n#include <y.h>\n# include \"a/b.h\"\n#include MACRO\n", NULL},
        {"options.include = 1; options.include(x); f().include, a[1].include;", NULL},
        {"struct s v = {.include = 1};", NULL},
        {"v.included; v.include_all; w.incBinary(3);", NULL},
        {"h.incBin(3); int incBin = 1; IncBin(2);", NULL},
    };
    JUDGE(slwi_tool_source_reason, rows);
    JUDGE(slwi_tool_header_reason, rows);
}
END_TEST

START_TEST(questions_are_about_what_is_in_the_key) {
    static const row rows[] = {
        {"#if __has_include(<x/y.h>)", NULL},
        {"#if __has_include (\t\"./late.h\" )", NULL},
        {"#if __has_include_next(<limits.h>)", NULL},
        {"#if __has_include(<a..h>)", "__has_include"}, /* no step upwards, but never an honest name */
        {"#if __has_include(\"/etc/x.h\")", "__has_include"},
        {"#if __has_include (\t</x>)", "__has_include"},
        {"#if __has_include(\"../opt.h\")", "__has_include"},
        {"#if __has_include(<a/../../opt.h>)", "__has_include"},
        {"#if __has_include_next(\"/x.h\")", "__has_include"},
        {"#define P \"/tmp/x.h\"\n#if __has_include(P)\n", "__has_include"},
        {"#define HAS(x) __has_include(x)\n", "__has_include"},
        {"#define HAS __has_include\n", "__has_include"},
        {"#define HAS __has_include", "__has_include"},
        {"__has_include(", "__has_include"},
        {"__has_include(\"", "__has_include"},
        {"__has_include(\"x", "__has_include"},
        {"__has_include__(\"x\")", "__has_include"},
        {"__has_include(\"x\n\")", "__has_include"},
        {"__has_include\\\n(\"x\")", "__has_include"},
        {"__has_include(\".\\\n./x\")", "__has_include"},
        {"#if __has_include(\"x\") && __has_include(\"/x\")", "__has_include"},
        /* names that a tree passes over */
        {"#if __has_include(\".git/opt.h\")", "__has_include"},
        {"#if __has_include(\"o.pyc\")", "__has_include"},
        {"#if __has_include(<a/__pycache__/o.h>)", "__has_include"},
        {"#if __has_include(\"git/opt.h\")", NULL},
        /* whether the compiler has the word */
        {"#if defined(__has_include) && __has_include(<math.h>)", NULL},
        {"#if defined __has_include\n#elif defined ( __has_include_next )\n", NULL},
        {"#ifdef __has_include\n#endif\n# ifndef\t__has_include\n# define __has_include(x) 0\n#endif\n", NULL},
        {"#elifdef __has_include\n#undef __has_include\n", NULL},
        {"ifdef __has_include\n", "__has_include"},
        {"xdefined(__has_include)\n", "__has_include"},
        {"#ifdef __has_include(\"x\")\n#define A __has_include\n", "__has_include"},
    };
    JUDGE(slwi_tool_source_reason, rows);
    JUDGE(slwi_tool_header_reason, rows);
}
END_TEST

START_TEST(embed_and_include_next_are_judged_alike) {
    static const row rows[] = {
        {"#if __has_embed(\"data.bin\" limit(1))", NULL},
        {"#if defined(__has_embed)", NULL},
        {"#if __has_embed(\"/data.bin\")", "__has_embed"},
        {"#if __has_embed(P)", "__has_embed"},
        {"int a[] = {\n#embed \"data.bin\"\n};", NULL},
        {"#embed </data.bin>", "#embed"},
        {"# embed \"../data.bin\"", "#embed"},
        {"#embed", "#embed"},
        {"embed \"/x\"; #embedded \"/x\"", NULL},
        {"#include_next <limits.h>", NULL},
        {"#include_next \"../limits.h\"", "#include_next"},
        {"#include_next P", "#include_next"},
    };
    JUDGE(slwi_tool_source_reason, rows);
    JUDGE(slwi_tool_header_reason, rows);
}
END_TEST

/* The main source has a time that we set. */
START_TEST(the_time_of_a_header_is_not_in_the_key) {
    static const row header[] = {{"const char *t = __TIMESTAMP__;", "__TIMESTAMP__"},
                                 {"-DT=__TIMESTAMP__", "__TIMESTAMP__"},
                                 {"__TIME__", NULL}};
    static const row source[] = {{"const char *t = __TIMESTAMP__;", NULL}};
    JUDGE(slwi_tool_header_reason, header);
    JUDGE(slwi_tool_source_reason, source);
}
END_TEST

static const char *scan_many(const char *unit, size_t count, double *seconds) {
    const size_t size = strlen(unit);
    char *text = malloc(size * count);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++) memcpy(text + i * size, unit, size);
    const clock_t start = clock();
    const char *why = slwi_tool_header_reason((slw_bytes){text, size * count});
    *seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(text);
    return why;
}

/* A square of the size would take hours here. */
START_TEST(the_time_is_linear) {
    static const char *const units[] = {
        " ",     "_", ".",       "\t(", "__has_include(\"x\")", "defined(__has_include)",
        ".incl", "i", "#embed ", "#",   ".include = "};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        double seconds;
        (void)scan_many(units[i], 8000000 / strlen(units[i]), &seconds);
        ck_assert_msg(seconds < 30, "\"%s\": %f s", units[i], seconds);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/tool_source");
    TCase *tcase = tcase_create("source");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, the_assembler_reads_files_of_its_own);
    tcase_add_test(tcase, questions_are_about_what_is_in_the_key);
    tcase_add_test(tcase, embed_and_include_next_are_judged_alike);
    tcase_add_test(tcase, the_time_of_a_header_is_not_in_the_key);
    tcase_add_test(tcase, the_time_is_linear);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
