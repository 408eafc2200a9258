/* --expect: results against a document. Floats are equal bit for bit (NaN to any NaN written "NaN"), or within a
 * relative tolerance. json-c reads the document. */
#include "arguments.h"

#include <slipway/limits.h>

#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static slw_code differs(slw_error *err, uint32_t arg, const char *format, ...) SLW_PRINTF(3, 4);

static slw_code differs(slw_error *err, uint32_t arg, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    err->code = SLW_E_INVALID_LAUNCH;
    err->reason = "RESULTS_DIFFER";
    const int used = snprintf(err->message, sizeof err->message, "argument %u: ", arg);
    vsnprintf(err->message + used, sizeof err->message - (size_t)used, format, rest);
    va_end(rest);
    return err->code;
}

/* A float of the document: a number, or "NaN", "Infinity", "-Infinity". f32 is read as one, so that its shortest text
 * gives it. */
static double expected_float(struct json_object *value, arg_type type) {
    const char *text = json_object_get_string(value);
    if (strcmp(text, "NaN") == 0) return (double)NAN;
    if (strcmp(text, "Infinity") == 0) return HUGE_VAL;
    if (strcmp(text, "-Infinity") == 0) return -HUGE_VAL;
    return type == ARG_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
}

static int same_float(double got, double wanted, double tolerance) {
    if (isnan(got) || isnan(wanted)) return isnan(got) && isnan(wanted);
    if (tolerance > 0 && isfinite(got) && isfinite(wanted))
        return fabs(got - wanted) <= tolerance * fmax(fabs(got), fabs(wanted));
    return memcmp(&got, &wanted, sizeof got) == 0;
}

static int same_value(const argument *arg, uint64_t i, struct json_object *wanted, double tolerance) {
    if (arg->type == ARG_F32)
        return same_float((double)((const float *)arg->data)[i], expected_float(wanted, arg->type), tolerance);
    if (arg->type == ARG_F64)
        return same_float(((const double *)arg->data)[i], expected_float(wanted, arg->type), tolerance);
    uint64_t bits = 0;
    const size_t size = arg_type_size(arg->type);
    memcpy(&bits, (const char *)arg->data + i * size, size);
    const char *text = json_object_get_string(wanted);
    const uint64_t value = text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
    return json_object_is_type(wanted, json_type_int) && memcmp(&bits, &value, size) == 0;
}

static struct json_object *member(struct json_object *object, const char *name, json_type type) {
    struct json_object *value = NULL;
    if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, name, &value)) return NULL;
    return json_object_is_type(value, type) ? value : NULL;
}

static slw_code compare_one(const argument *arg, uint32_t at, struct json_object *wanted, double tolerance,
                            slw_error *err) {
    struct json_object *type = member(wanted, "type", json_type_string),
                       *count = member(wanted, "count", json_type_int);
    struct json_object *values = member(wanted, "values", json_type_array);
    if (type == NULL || strcmp(json_object_get_string(type), arg_type_name(arg->type)) != 0)
        return differs(err, at, "the type is %s, not %s", arg_type_name(arg->type),
                       type != NULL ? json_object_get_string(type) : "given");
    if (count == NULL || values == NULL || json_object_get_uint64(count) != arg->count ||
        json_object_array_length(values) != arg->count)
        return differs(err, at, "there are %llu values, not as many as expected", (unsigned long long)arg->count);
    for (uint64_t i = 0; i < arg->count; i++) {
        struct json_object *value = json_object_array_get_idx(values, i);
        if (!same_value(arg, i, value, tolerance))
            return differs(err, at, "value %llu is not %s", (unsigned long long)i, json_object_get_string(value));
    }
    return SLW_OK;
}

static slw_code compare_all(const arguments *args, struct json_object *results, double tolerance, slw_error *err) {
    size_t next = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        if (!args->items[i].is_array || !args->items[i].copies_out) continue;
        struct json_object *wanted =
            next < json_object_array_length(results) ? json_object_array_get_idx(results, next) : NULL;
        struct json_object *position = member(wanted, "arg", json_type_int);
        if (position == NULL || json_object_get_int64(position) != (int64_t)i)
            return differs(err, i, "no result for it is expected");
        const slw_code code = compare_one(&args->items[i], i, wanted, tolerance, err);
        if (code != SLW_OK) return code;
        next++;
    }
    if (next != json_object_array_length(results))
        return differs(err, args->count, "%zu results are expected, there are %zu", json_object_array_length(results),
                       next);
    return SLW_OK;
}

slw_code arguments_expect(const arguments *args, const char *path, double tolerance, slw_error *err) {
    char *text = NULL;
    size_t size = 0;
    slw_code code = cli_read_file(path, SLW_LIMIT_BINARY_BYTES, &text, &size, err);
    if (code != SLW_OK) return code;
    struct json_object *document = json_tokener_parse(text);
    struct json_object *results = member(document, "results", json_type_array);
    if (results == NULL)
        code = cli_usage(err, "BAD_EXPECT", "%s is no document with \"results\"", path);
    else
        code = compare_all(args, results, tolerance, err);
    json_object_put(document);
    free(text);
    return code;
}
