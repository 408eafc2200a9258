/* An allow-list of a compiler's options, as a table. What is not on it may name a file, a program or a variable that is
 * not in the key: the request becomes private and the option is named. */
#ifndef SLWI_TOOL_OPTIONS_H
#define SLWI_TOOL_OPTIONS_H

#include "tool_list.h"

#define SLWI_TOOL_OPTIONS_MAX   4096u
#define SLWI_TOOL_OPTION_GROUPS 4u

typedef enum slwi_tool_option_match {
    SLWI_TOOL_OPTION_END,    /* of the table */
    SLWI_TOOL_OPTION_EXACT,  /* the whole option */
    SLWI_TOOL_OPTION_JOINED, /* the text with a value right behind it: "-O" and "3", "-std=" and "c++17" */
    SLWI_TOOL_OPTION_EITHER, /* likewise, or the next word is the value: "-DX", "-D X" */
    SLWI_TOOL_OPTION_EQUALS, /* the text, then "=" and a value, or the next word is it: "-std=c++17", "-std c++17" */
    SLWI_TOOL_OPTION_NEXT,   /* the next word is the value */
    SLWI_TOOL_OPTION_SWITCH  /* "-fNAME", and "-fno-NAME" as well */
} slwi_tool_option_match;

typedef enum slwi_tool_option_verdict {
    SLWI_TOOL_OPTION_ALLOWED,
    SLWI_TOOL_OPTION_PRIVATE, /* reaches outside the key (a file, a program, "native"); listed for the value it takes */
    SLWI_TOOL_OPTION_RESERVED /* slipway sets it: USAGE */
} slwi_tool_option_verdict;

/* What values are allowed; others make the option private. */
#define SLWI_TOOL_VALUES_PLAIN  NULL /* letters, digits and "_.+=-": no path, no list, no shell */
#define SLWI_TOOL_VALUES_ANY    "*"  /* text that is only text to the compiler: a macro */
#define SLWI_TOOL_VALUES_NUMBER "#"  /* decimal digits, at most 9 */

typedef struct slwi_tool_option_rule {
    const char *text;
    slwi_tool_option_match match;
    slwi_tool_option_verdict verdict;
    const char *values;  /* one of the above, or the only ones there are: "true|false" */
    const char *written; /* how it is handed on, with the value joined ("-maxrregcount="), so that two ways to write one
                            option are one key; NULL: as it was given */
    uint8_t group;       /* whose option it is: the list of slwi_tool_options.groups that it goes into */
    const struct slwi_tool_option_rule *nested; /* the value is options of another program, separated by commas, each
                                                   judged by that table, and handed on in its rule's group. A value of
                                                   such an option is joined to it by "="; nothing nests in it */
} slwi_tool_option_rule;

typedef struct slwi_tool_options {
    slwi_tool_list groups[SLWI_TOOL_OPTION_GROUPS]; /* in the order given; private ones too */
    char why[256]; /* why the request is private ("OPTION -fplugin=x"), the first of all; "": it is not */
} slwi_tool_options;

/* The first row that fits decides, so specific ones stand before general ones. What no row fits is private and goes
   into group 0, as given, and so does an "@file". A value that begins with '@' is private as well: it would become an
   "@file" of the compiler's passes.
   USAGE (RESERVED; INPUT: a file among the options; EMPTY; MISSING_VALUE), LIMIT, NO_MEMORY; `subject` is the option.
   On success the caller frees *out; on failure it is untouched. */
slw_code slwi_tool_options_parse(const slwi_tool_option_rule *rules, const char *const *flags, size_t count,
                                 const slw_allocator *allocator, slwi_tool_options *out, slw_error *err);
void slwi_tool_options_free(slwi_tool_options *options);
/* 1 when the value is one that `values` allows. */
int slwi_tool_value_fits(const char *values, const char *value, size_t size);

#endif
