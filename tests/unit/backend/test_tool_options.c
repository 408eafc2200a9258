/* The allow-list of options, on a table of every kind of row. */
#include "slt.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "tool_options.h"

#define A SLWI_TOOL_OPTION_ALLOWED
#define P SLWI_TOOL_OPTION_PRIVATE
#define R SLWI_TOOL_OPTION_RESERVED

static const slwi_tool_option_rule inner[] = {
    {"-v", SLWI_TOOL_OPTION_EXACT, A, NULL, NULL, 1, NULL},
    {"--level", SLWI_TOOL_OPTION_EQUALS, A, "0|1|2", "-level=", 1, NULL},
    {"--out", SLWI_TOOL_OPTION_EQUALS, R, SLWI_TOOL_VALUES_ANY, NULL, 1, NULL},
    {NULL, SLWI_TOOL_OPTION_END, A, NULL, NULL, 0, NULL},
};

static const slwi_tool_option_rule rules[] = {
    {"-o", SLWI_TOOL_OPTION_EITHER, R, SLWI_TOOL_VALUES_ANY, NULL, 0, NULL},
    {"-w", SLWI_TOOL_OPTION_EXACT, A, NULL, NULL, 0, NULL},
    {"-D", SLWI_TOOL_OPTION_EITHER, A, SLWI_TOOL_VALUES_ANY, "-D", 0, NULL},
    {"-W", SLWI_TOOL_OPTION_JOINED, A, NULL, NULL, 0, NULL},
    {"-regs", SLWI_TOOL_OPTION_EQUALS, A, SLWI_TOOL_VALUES_NUMBER, "-regs=", 1, NULL},
    {"--regs", SLWI_TOOL_OPTION_EQUALS, A, SLWI_TOOL_VALUES_NUMBER, "-regs=", 1, NULL},
    {"-ffast", SLWI_TOOL_OPTION_SWITCH, A, NULL, NULL, 0, NULL},
    {"-include", SLWI_TOOL_OPTION_NEXT, P, SLWI_TOOL_VALUES_ANY, NULL, 0, NULL},
    {"-Xinner", SLWI_TOOL_OPTION_EQUALS, A, SLWI_TOOL_VALUES_ANY, NULL, 0, inner},
    {NULL, SLWI_TOOL_OPTION_END, A, NULL, NULL, 0, NULL},
};

static const slw_allocator *allocator;
static slw_error err = SLW_ERROR_INIT;

static slw_code parse(const char *const *flags, slwi_tool_options *out) {
    size_t count = 0;
    while (flags[count] != NULL) count++;
    slwi_error_reset(&err);
    return slwi_tool_options_parse(rules, flags, count, allocator, out, &err);
}

static void joined(const slwi_tool_list *list, char *out) {
    out[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        if (i != 0) strcat(out, " ");
        strcat(out, list->items[i]);
    }
}

static const struct accepted {
    const char *flags[6];
    const char *groups[2];
    const char *why;
} accepted[] = {
    {{"-w", NULL}, {"-w", ""}, ""},
    {{"-D", "X=a b", "-DY", NULL}, {"-DX=a b -DY", ""}, ""},
    {{"-regs", "32", NULL}, {"", "-regs=32"}, ""},
    {{"--regs=32", NULL}, {"", "-regs=32"}, ""},
    {{"-regs=many", NULL}, {"", "-regs=many"}, "OPTION -regs=many"},
    {{"-ffast", "-fno-fast", NULL}, {"-ffast -fno-fast", ""}, ""},
    {{"-fno-slow", NULL}, {"-fno-slow", ""}, "OPTION -fno-slow"},
    {{"-Wall", "-Wl,-T,x", NULL}, {"-Wall -Wl,-T,x", ""}, "OPTION -Wl,-T,x"},
    {{"-include", "x.h", "-w", NULL}, {"-include x.h -w", ""}, "OPTION -include"},
    {{"@file", "-unknown", NULL}, {"@file -unknown", ""}, "OPTION @file"},
    {{"-Xinner", "-v,--level=2", "-Xinner=--level=1", NULL}, {"", "-v -level=2 -level=1"}, ""},
    {{"-Xinner", "--level=9", NULL}, {"", "--level=9"}, "OPTION --level=9"},
    {{"-Xinner", "-x", NULL}, {"-x", ""}, "OPTION -x"},
    {{"-D", "-unknown", NULL}, {"-D-unknown", ""}, ""},
    /* What would become a response file of the compiler's passes. */
    {{"-D", "@file", NULL}, {"-D @file", ""}, "OPTION -D"},
    {{"-D@file", NULL}, {"-D@file", ""}, "OPTION -D@file"},
    {{"-DX=@file", NULL}, {"-DX=@file", ""}, ""},
    {{"-Xinner", "-v,@file", NULL}, {"@file", "-v"}, "OPTION @file"},
};

START_TEST(each_way_to_write_an_option) {
    const struct accepted *row = &accepted[_i];
    slwi_tool_options options;
    char text[256];
    ck_assert_int_eq(parse(row->flags, &options), SLW_OK);
    for (size_t g = 0; g < 2; g++) {
        joined(&options.groups[g], text);
        ck_assert_str_eq(text, row->groups[g]);
    }
    ck_assert_str_eq(options.why, row->why);
    slwi_tool_options_free(&options);
}
END_TEST

static const struct refused {
    const char *flags[4];
    const char *reason, *subject;
} refused[] = {
    {{"-o", NULL}, "RESERVED", "-o"},
    {{"-ofile", NULL}, "RESERVED", "-ofile"},
    {{"-w", "file.c", NULL}, "INPUT", "file.c"},
    {{"", NULL}, "EMPTY", ""},
    {{"-D", NULL}, "MISSING_VALUE", "-D"},
    {{"-regs", NULL}, "MISSING_VALUE", "-regs"},
    {{"-D", "", "-w", NULL}, "MISSING_VALUE", "-D"},
    {{"-Xinner", "", NULL}, "MISSING_VALUE", "-Xinner"},
    {{"-Xinner", "--out=x", NULL}, "RESERVED", "--out=x"},
};

START_TEST(what_is_refused_says_the_option) {
    slwi_tool_options options;
    ck_assert_int_eq(parse(refused[_i].flags, &options), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, refused[_i].reason);
    ck_assert_str_eq(err.subject, refused[_i].subject);
}
END_TEST

START_TEST(options_without_number) {
    static const char *many[SLWI_TOOL_OPTIONS_MAX + 1];
    slwi_tool_options options;
    for (size_t i = 0; i < SLWI_TOOL_OPTIONS_MAX + 1; i++) many[i] = "-w";
    ck_assert_int_eq(slwi_tool_options_parse(rules, many, SLWI_TOOL_OPTIONS_MAX + 1, allocator, &options, &err),
                     SLW_E_LIMIT);
    ck_assert_int_eq(slwi_tool_options_parse(rules, many, SLWI_TOOL_OPTIONS_MAX, allocator, &options, &err), SLW_OK);
    ck_assert_uint_eq(options.groups[0].count, SLWI_TOOL_OPTIONS_MAX);
    slwi_tool_options_free(&options);
}
END_TEST

static Suite *suite(void) {
    static slw_allocator usable;
    Suite *s = suite_create("tool_options");
    TCase *c = tcase_create("tool_options");
    if (slwi_allocator_take(NULL, &usable, NULL) != SLW_OK) abort();
    allocator = &usable;
    tcase_add_loop_test(c, each_way_to_write_an_option, 0, (int)(sizeof accepted / sizeof *accepted));
    tcase_add_loop_test(c, what_is_refused_says_the_option, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(c, options_without_number);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
