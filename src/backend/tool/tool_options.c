#include "tool_options.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"

/* One option as it was written. */
typedef struct option {
    const slwi_tool_option_rule *rule; /* NULL: on no list */
    const char *text;
    const char *value; /* NULL: none; joined, it points into `text` */
    size_t value_size;
    int is_separate; /* 1: the value was a word of its own */
} option;

/* ---- values ---- */

static int is_one_of(const char *list, const char *value, size_t size) {
    while (*list != '\0') {
        size_t part = strcspn(list, "|");
        if (part == size && memcmp(list, value, size) == 0) return 1;
        list += part + (list[part] == '|');
    }
    return 0;
}

int slwi_tool_value_fits(const char *values, const char *value, size_t size) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+=-";
    if (values != NULL && strcmp(values, SLWI_TOOL_VALUES_ANY) == 0) return 1;
    if (values != NULL && strcmp(values, SLWI_TOOL_VALUES_NUMBER) == 0) {
        if (size == 0 || size > 9) return 0;
        for (size_t i = 0; i < size; i++) {
            if (value[i] < '0' || value[i] > '9') return 0;
        }
        return 1;
    }
    if (values != NULL) return is_one_of(values, value, size);
    for (size_t i = 0; i < size; i++) {
        if (strchr(plain, value[i]) == NULL) return 0;
    }
    return 1;
}

/* ---- one option against one row ---- */

/* "-fno-NAME" for a row "-fNAME". */
static int is_switched_off(const char *row, const char *text) {
    return strlen(row) > 2 && text[0] == '-' && text[1] == row[1] && strncmp(text + 2, "no-", 3) == 0 &&
           strcmp(text + 5, row + 2) == 0;
}

static void set_value(option *o, const char *value, int is_separate) {
    o->value = value;
    o->value_size = value != NULL ? strlen(value) : 0;
    o->is_separate = is_separate;
}

/* 1 when the row fits the text; o->is_separate says that the next word is its value. */
static int fits(const slwi_tool_option_rule *row, const char *text, option *o) {
    const size_t size = strlen(row->text);
    set_value(o, NULL, 0);
    switch (row->match) {
    case SLWI_TOOL_OPTION_EXACT:
        return strcmp(text, row->text) == 0;
    case SLWI_TOOL_OPTION_SWITCH:
        return strcmp(text, row->text) == 0 || is_switched_off(row->text, text);
    case SLWI_TOOL_OPTION_NEXT:
        o->is_separate = 1;
        return strcmp(text, row->text) == 0;
    case SLWI_TOOL_OPTION_EQUALS:
        if (strncmp(text, row->text, size) != 0 || (text[size] != '=' && text[size] != '\0')) return 0;
        set_value(o, text[size] == '=' ? text + size + 1 : NULL, text[size] == '\0');
        return 1;
    case SLWI_TOOL_OPTION_EITHER:
        if (strncmp(text, row->text, size) != 0) return 0;
        set_value(o, text[size] != '\0' ? text + size : NULL, text[size] == '\0');
        return 1;
    default:
        if (strncmp(text, row->text, size) != 0) return 0;
        set_value(o, text + size, 0);
        /* A row that would take the option in, were it not for its value, leaves it to those behind it. */
        return row->verdict != SLWI_TOOL_OPTION_ALLOWED || slwi_tool_value_fits(row->values, o->value, o->value_size);
    }
}

static void find_rule(const slwi_tool_option_rule *rules, const char *text, option *o) {
    memset(o, 0, sizeof *o);
    o->text = text;
    for (const slwi_tool_option_rule *row = rules; text[0] == '-' && row->match != SLWI_TOOL_OPTION_END; row++) {
        if (!fits(row, text, o)) continue;
        o->rule = row;
        return;
    }
    set_value(o, NULL, 0);
}

/* ---- taking it in ---- */

static slw_code refuse(slw_error *err, const char *text, const char *reason, const char *what) {
    slwi_error_subject(err, text, strlen(text));
    return slwi_fail(err, SLW_E_USAGE, reason, "the option \"%.200s\" %s", text, what);
}

static void keep_private(slwi_tool_options *out, const char *text) {
    if (out->why[0] == '\0') (void)snprintf(out->why, sizeof(out->why), "OPTION %s", text);
}

static void hand_on(slwi_tool_options *out, const option *o, int is_allowed) {
    slwi_tool_list *list = &out->groups[o->rule != NULL ? o->rule->group : 0];
    if (is_allowed && o->rule->written != NULL) {
        slwi_tool_list_add_format(list, "%s%s", o->rule->written, o->value != NULL ? o->value : "");
        return;
    }
    slwi_tool_list_add(list, o->text);
    if (o->is_separate) slwi_tool_list_add(list, o->value);
}

static slw_code parse(const slwi_tool_option_rule *rules, const char *const *flags, size_t count,
                      slwi_tool_options *out, slw_error *err);

/* "-O3,-v" behind -Xptxas. */
static slw_code parse_nested(const option *o, slwi_tool_options *out, slw_error *err) {
    slwi_tool_list words;
    slwi_tool_list_init(&words, out->groups[0].allocator);
    for (const char *at = o->value != NULL ? o->value : ""; *at != '\0';) {
        size_t part = strcspn(at, ",");
        slwi_tool_list_add_bytes(&words, at, part);
        at += part + (at[part] == ',');
    }
    slw_code rc = slwi_tool_list_status(&words, err);
    if (rc == SLW_OK && words.count == 0) rc = refuse(err, o->text, "MISSING_VALUE", "lacks its value");
    if (rc == SLW_OK) rc = parse(o->rule->nested, (const char *const *)words.items, words.count, out, err);
    slwi_tool_list_free(&words);
    return rc;
}

/* A compiler hands a value on to its passes as a word of its own, joined or not, and a word that begins with '@' is a
   file of more options to each of them. */
static int names_response_file(const option *o) {
    return o->value_size > 0 && o->value[0] == '@';
}

static slw_code take(const option *o, slwi_tool_options *out, slw_error *err) {
    if (o->rule != NULL && o->rule->verdict == SLWI_TOOL_OPTION_RESERVED)
        return refuse(err, o->text, "RESERVED", "is slipway's own to set");
    if (o->rule != NULL && o->rule->nested != NULL) return parse_nested(o, out, err);
    const int is_allowed = o->rule != NULL && o->rule->verdict == SLWI_TOOL_OPTION_ALLOWED && !names_response_file(o) &&
                           (o->value == NULL || slwi_tool_value_fits(o->rule->values, o->value, o->value_size));
    if (!is_allowed) keep_private(out, o->text);
    hand_on(out, o, is_allowed);
    return SLW_OK;
}

static slw_code parse(const slwi_tool_option_rule *rules, const char *const *flags, size_t count,
                      slwi_tool_options *out, slw_error *err) {
    for (size_t i = 0; i < count; i++) {
        const char *text = flags[i];
        option o;
        if (text == NULL || text[0] == '\0') return refuse(err, "", "EMPTY", "is empty");
        if (text[0] != '-' && text[0] != '@') return refuse(err, text, "INPUT", "is not an option");
        find_rule(rules, text, &o);
        /* What is refused is refused whatever follows. */
        if (o.is_separate && o.rule->verdict != SLWI_TOOL_OPTION_RESERVED) {
            /* Joined, an empty one would take the next word instead. */
            if (i + 1 >= count || flags[i + 1] == NULL || flags[i + 1][0] == '\0')
                return refuse(err, text, "MISSING_VALUE", "lacks its value");
            set_value(&o, flags[++i], 1);
        }
        slw_code rc = take(&o, out, err);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

slw_code slwi_tool_options_parse(const slwi_tool_option_rule *rules, const char *const *flags, size_t count,
                                 const slw_allocator *allocator, slwi_tool_options *out, slw_error *err) {
    slwi_tool_options parsed;
    if (count > SLWI_TOOL_OPTIONS_MAX) {
        slwi_error_amount(err, "options", count, SLWI_TOOL_OPTIONS_MAX, "options");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_MANY_OPTIONS", "there are too many compiler options");
    }
    if (count != 0 && flags == NULL) return slwi_fail(err, SLW_E_USAGE, "EMPTY", "the options are missing");
    memset(&parsed, 0, sizeof parsed);
    for (size_t i = 0; i < SLWI_TOOL_OPTION_GROUPS; i++) slwi_tool_list_init(&parsed.groups[i], allocator);
    slw_code rc = parse(rules, flags, count, &parsed, err);
    for (size_t i = 0; rc == SLW_OK && i < SLWI_TOOL_OPTION_GROUPS; i++)
        rc = slwi_tool_list_status(&parsed.groups[i], err);
    if (rc == SLW_OK) {
        *out = parsed;
    } else {
        slwi_tool_options_free(&parsed);
    }
    return rc;
}

void slwi_tool_options_free(slwi_tool_options *options) {
    for (size_t i = 0; i < SLWI_TOOL_OPTION_GROUPS; i++) {
        /* A record of zeros, which was never parsed, has no allocator and no items. */
        if (options->groups[i].allocator != NULL) slwi_tool_list_free(&options->groups[i]);
    }
}
