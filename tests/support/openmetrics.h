/* A strict reader of OpenMetrics 1.0 text, written from the specification and not from the writer.
 *
 *     om_text *om = om_parse(text, size);     // fails the test with the line that is wrong
 *     om_value(om, "slipway_transitions_total{outcome=\"HIT\",phase=\"lookup\"}")   // labels in the order of names
 *     om_free(om);
 */
#ifndef SLT_OPENMETRICS_H
#define SLT_OPENMETRICS_H

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OM_UNUSED __attribute__((unused))
#define OM_LABELS 16

typedef struct om_sample {
    char *name;
    char *labels; /* {a="x",b="y"} in the order of names, values decoded; without le */
    char *le;     /* NULL: none */
    size_t family;
    double value;
} om_sample;

typedef struct om_family {
    char name[128];
    char type[32];
    char unit[32];
    int has_help, has_samples;
} om_family;

typedef struct om_text {
    om_family families[64];
    size_t family_count;
    om_sample *samples;
    size_t sample_count;
    size_t line;
} om_text;

OM_UNUSED __attribute__((format(printf, 2, 3))) static void om_fail(const om_text *om, const char *format, ...) {
    char why[512];
    va_list rest;
    va_start(rest, format);
    (void)vsnprintf(why, sizeof why, format, rest);
    va_end(rest);
    ck_abort_msg("OpenMetrics, line %zu: %s", om->line + 1, why);
}

static int om_name_size(const char *at, int colons) {
    int n = 0;
    while ((at[n] >= 'a' && at[n] <= 'z') || (at[n] >= 'A' && at[n] <= 'Z') || at[n] == '_' ||
           (colons && at[n] == ':') || (n > 0 && at[n] >= '0' && at[n] <= '9'))
        n++;
    return n;
}

static int om_utf8(const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < size;) {
        const size_t n = p[i] < 0x80                    ? 1
                         : p[i] >= 0xc2 && p[i] <= 0xdf ? 2
                         : p[i] >= 0xe0 && p[i] <= 0xef ? 3
                         : p[i] >= 0xf0 && p[i] <= 0xf4 ? 4
                                                        : 0;
        if (n == 0 || i + n > size) return 0;
        for (size_t k = 1; k < n; k++)
            if ((p[i + k] & 0xc0) != 0x80) return 0;
        if ((p[i] == 0xe0 && p[i + 1] < 0xa0) || (p[i] == 0xed && p[i + 1] > 0x9f) ||
            (p[i] == 0xf0 && p[i + 1] < 0x90) || (p[i] == 0xf4 && p[i + 1] > 0x8f))
            return 0;
        i += n;
    }
    return 1;
}

static om_family *om_family_of(om_text *om, const char *name, size_t size) {
    for (size_t i = 0; i < om->family_count; i++)
        if (strlen(om->families[i].name) == size && memcmp(om->families[i].name, name, size) == 0)
            return &om->families[i];
    return NULL;
}

/* "# TYPE name type", "# UNIT name unit", "# HELP name text": each once, all before the family's samples, and of the
   last family alone. */
static void om_metadata(om_text *om, const char *line) {
    char word[8] = "";
    if (line[1] != ' ' || strlen(line) < 8 || line[6] != ' ') om_fail(om, "no metadata: %s", line);
    memcpy(word, line + 2, 4);
    const char *name = line + 7;
    const int size = om_name_size(name, 1);
    if (size == 0 || size > 127 || name[size] != ' ') om_fail(om, "bad name: %s", line);
    const char *rest = name + size + 1;
    om_family *family = om_family_of(om, name, (size_t)size);
    if (family == NULL) {
        if (om->family_count == 64) om_fail(om, "more families than the test holds");
        family = &om->families[om->family_count++];
        memset(family, 0, sizeof *family);
        memcpy(family->name, name, (size_t)size);
    }
    if (family != &om->families[om->family_count - 1]) om_fail(om, "%s comes again", family->name);
    if (family->has_samples) om_fail(om, "metadata after samples");
    if (strcmp(word, "TYPE") == 0) {
        static const char *const types[] = {"counter", "gauge", "histogram", "info", "stateset", "summary", "unknown"};
        int known = 0;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) known |= strcmp(rest, types[i]) == 0;
        if (!known || family->type[0] != '\0') om_fail(om, "type %s", rest);
        (void)snprintf(family->type, sizeof family->type, "%s", rest);
    } else if (strcmp(word, "UNIT") == 0) {
        const size_t unit = strlen(rest);
        if (unit == 0 || (size_t)om_name_size(rest, 0) != unit || family->unit[0] != '\0') om_fail(om, "unit %s", rest);
        if ((size_t)size < unit + 2 || family->name[(size_t)size - unit - 1] != '_' ||
            strcmp(family->name + (size_t)size - unit, rest) != 0)
            om_fail(om, "%s does not end in its unit %s", family->name, rest);
        (void)snprintf(family->unit, sizeof family->unit, "%s", rest);
    } else if (strcmp(word, "HELP") == 0) {
        if (family->has_help) om_fail(om, "HELP twice");
        family->has_help = 1;
        for (const char *at = rest; *at != '\0'; at++) {
            if (*at != '\\') continue;
            at++;
            if (*at != '\\' && *at != 'n' && *at != '"') om_fail(om, "bad escape in HELP");
        }
    } else {
        om_fail(om, "unknown metadata %s", word);
    }
}

typedef struct om_label {
    char name[64];
    char value[256];
} om_label;

static int om_compare_labels(const void *a, const void *b) {
    return strcmp(((const om_label *)a)->name, ((const om_label *)b)->name);
}

/* {name="value",…} with the escapes \\ \" \n alone; gives where it ends. */
static const char *om_labels(om_text *om, const char *at, om_label *labels, size_t *count) {
    *count = 0;
    if (*at != '{') return at;
    at++;
    for (;;) {
        if (*count == OM_LABELS) om_fail(om, "too many labels");
        om_label *label = &labels[(*count)++];
        const int size = om_name_size(at, 0);
        if (size == 0 || size > 63 || at[size] != '=' || at[size + 1] != '"') om_fail(om, "bad label at %s", at);
        memcpy(label->name, at, (size_t)size);
        label->name[size] = '\0';
        at += size + 2;
        size_t used = 0;
        for (; *at != '"'; at++) {
            char c = *at;
            if (c == '\0') om_fail(om, "a label without an end");
            if (c == '\\') {
                at++;
                if (*at != '\\' && *at != '"' && *at != 'n') om_fail(om, "bad escape \\%c", *at);
                c = *at == 'n' ? '\n' : *at;
            }
            if (used == 255) om_fail(om, "a label longer than the test holds");
            label->value[used++] = c;
        }
        label->value[used] = '\0';
        for (size_t i = 0; i + 1 < *count; i++)
            if (strcmp(labels[i].name, label->name) == 0) om_fail(om, "label %s twice", label->name);
        at++;
        if (*at == '}') return at + 1;
        if (*at++ != ',') om_fail(om, "no comma between labels");
    }
}

static double om_number(om_text *om, const char *text) {
    if (strcmp(text, "+Inf") == 0) return (double)INFINITY;
    if (strspn(text, "0123456789.eE+-") != strlen(text) || text[0] == '\0') om_fail(om, "no number: %s", text);
    char *end = NULL;
    const double value = strtod(text, &end);
    if (*end != '\0') om_fail(om, "no number: %s", text);
    return value;
}

static int om_ends(const char *name, const char *family, const char *suffix) {
    const size_t n = strlen(family);
    return strncmp(name, family, n) == 0 && strcmp(name + n, suffix) == 0;
}

/* Names and values that a family's type allows. */
static void om_check_sample(om_text *om, const om_family *family, const om_sample *sample) {
    const char *type = family->type;
    const int whole = sample->value >= 0 && floor(sample->value) == sample->value;
    int fits = 0;
    if (strcmp(type, "counter") == 0) fits = om_ends(sample->name, family->name, "_total") && sample->value >= 0;
    if (strcmp(type, "gauge") == 0) fits = strcmp(sample->name, family->name) == 0;
    if (strcmp(type, "info") == 0) fits = om_ends(sample->name, family->name, "_info") && sample->value == 1;
    if (strcmp(type, "histogram") == 0)
        fits = (om_ends(sample->name, family->name, "_bucket") && sample->le != NULL && whole) ||
               (om_ends(sample->name, family->name, "_count") && whole) ||
               (om_ends(sample->name, family->name, "_sum") && sample->value >= 0);
    if (!fits || isnan(sample->value) || isinf(sample->value))
        om_fail(om, "%s %g is no sample of %s, a %s", sample->name, sample->value, family->name, type);
    if (sample->le != NULL && !om_ends(sample->name, family->name, "_bucket")) om_fail(om, "le without a bucket");
}

static void om_sample_line(om_text *om, const char *line) {
    if (om->family_count == 0) om_fail(om, "a sample of no family");
    om_family *family = &om->families[om->family_count - 1];
    const int size = om_name_size(line, 1);
    if (size == 0) om_fail(om, "bad sample: %s", line);
    om_label labels[OM_LABELS];
    size_t count = 0;
    const char *at = om_labels(om, line + size, labels, &count);
    if (*at != ' ') om_fail(om, "no value: %s", line);
    om->samples = realloc(om->samples, (om->sample_count + 1) * sizeof *om->samples);
    om_sample *sample = &om->samples[om->sample_count++];
    memset(sample, 0, sizeof *sample);
    sample->name = strndup(line, (size_t)size);
    sample->value = om_number(om, at + 1);
    sample->family = om->family_count - 1;
    qsort(labels, count, sizeof *labels, om_compare_labels);
    size_t length = 0;
    FILE *to = open_memstream(&sample->labels, &length);
    int put = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(labels[i].name, "le") == 0)
            sample->le = strdup(labels[i].value);
        else
            fprintf(to, "%s%s=\"%s\"", put++ == 0 ? "{" : ",", labels[i].name, labels[i].value);
    }
    if (put > 0) fputc('}', to);
    fclose(to);
    om_check_sample(om, family, sample);
    family->has_samples = 1;
}

static int om_same(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const om_sample *om_find(const om_text *om, const char *family, const char *suffix, const char *labels) {
    for (size_t i = 0; i < om->sample_count; i++)
        if (om_ends(om->samples[i].name, family, suffix) && strcmp(om->samples[i].labels, labels) == 0)
            return &om->samples[i];
    return NULL;
}

/* Buckets of one histogram stand together, rise in le and in value, and end in +Inf, which is the count. */
static void om_check_histograms(om_text *om) {
    for (size_t i = 0; i < om->sample_count; i++) {
        const om_sample *at = &om->samples[i];
        const om_family *family = &om->families[at->family];
        if (at->le == NULL) continue;
        const om_sample *before = i > 0 ? &om->samples[i - 1] : NULL;
        const int goes_on = before != NULL && before->le != NULL && before->family == at->family &&
                            strcmp(before->labels, at->labels) == 0;
        const double le = om_number(om, at->le);
        if (goes_on && (om_number(om, before->le) >= le || before->value > at->value))
            om_fail(om, "%s: buckets fall at %s", at->labels, at->le);
        if (!goes_on)
            for (size_t k = 0; k < i; k++)
                if (om->samples[k].le != NULL && om->samples[k].family == at->family &&
                    strcmp(om->samples[k].labels, at->labels) == 0)
                    om_fail(om, "%s: buckets apart", at->labels);
        const om_sample *after = i + 1 < om->sample_count ? &om->samples[i + 1] : NULL;
        if (after != NULL && after->le != NULL && strcmp(after->labels, at->labels) == 0) continue;
        const om_sample *count = om_find(om, family->name, "_count", at->labels);
        if (!isinf(le) || count == NULL || count->value != at->value ||
            om_find(om, family->name, "_sum", at->labels) == NULL)
            om_fail(om, "%s%s: +Inf, count or sum", family->name, at->labels);
    }
}

OM_UNUSED static om_text *om_parse(const char *text, size_t size) {
    om_text *om = calloc(1, sizeof *om);
    if (size < 6 || memcmp(text + size - 6, "# EOF\n", 6) != 0) om_fail(om, "no # EOF at the end");
    if (!om_utf8(text, size) || memchr(text, '\0', size) != NULL) om_fail(om, "no UTF-8");
    const char *end = text + size - 6;
    for (const char *at = text; at < end; om->line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) om_fail(om, "a line without an end");
        char *line = strndup(at, (size_t)(stop - at));
        if (line[0] == '\0') om_fail(om, "an empty line");
        if (line[0] == '#')
            om_metadata(om, line);
        else
            om_sample_line(om, line);
        free(line);
        at = stop + 1;
    }
    for (size_t i = 0; i < om->family_count; i++)
        if (om->families[i].type[0] == '\0' || !om->families[i].has_help)
            om_fail(om, "%s has no type or no help", om->families[i].name);
    for (size_t i = 0; i < om->sample_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(om->samples[i].name, om->samples[k].name) == 0 &&
                strcmp(om->samples[i].labels, om->samples[k].labels) == 0 &&
                om_same(om->samples[i].le, om->samples[k].le))
                om_fail(om, "%s%s twice", om->samples[i].name, om->samples[i].labels);
    om_check_histograms(om);
    return om;
}

OM_UNUSED static void om_free(om_text *om) {
    for (size_t i = 0; i < om->sample_count; i++) {
        free(om->samples[i].name);
        free(om->samples[i].labels);
        free(om->samples[i].le);
    }
    free(om->samples);
    free(om);
}

/* The value of name{labels} (of a bucket: with `le` as it is written, else NULL); NaN: there is none. */
OM_UNUSED static double om_bucket(const om_text *om, const char *name_and_labels, const char *le) {
    for (size_t i = 0; i < om->sample_count; i++) {
        const om_sample *at = &om->samples[i];
        const size_t n = strlen(at->name);
        if (strncmp(name_and_labels, at->name, n) == 0 && strcmp(name_and_labels + n, at->labels) == 0 &&
            om_same(at->le, le))
            return at->value;
    }
    return (double)NAN;
}

OM_UNUSED static double om_value(const om_text *om, const char *name_and_labels) {
    return om_bucket(om, name_and_labels, NULL);
}

#endif
