/* --expect: results against a document, whose values stand in it or in the raw file it names. Floats are equal bit for
 * bit (NaN to any NaN written "NaN"), or within a relative tolerance. json-c reads the document. */
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
    char text[24];
    argument_integer_text(arg, i, text);
    return json_object_is_type(wanted, json_type_int) && strcmp(json_object_get_string(wanted), text) == 0;
}

/* The same for values of a raw file. */
static int same_raw(const argument *arg, uint64_t i, const void *wanted, double tolerance) {
    const size_t size = arg_type_size(arg->type);
    const char *at = (const char *)wanted + i * size;
    if (tolerance > 0 && arg->type == ARG_F32) {
        float value;
        memcpy(&value, at, sizeof value);
        return same_float((double)((const float *)arg->data)[i], (double)value, tolerance);
    }
    if (tolerance > 0 && arg->type == ARG_F64) {
        double value;
        memcpy(&value, at, sizeof value);
        return same_float(((const double *)arg->data)[i], value, tolerance);
    }
    return memcmp((const char *)arg->data + i * size, at, size) == 0;
}

static struct json_object *member(struct json_object *object, const char *name, json_type type) {
    struct json_object *value = NULL;
    if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, name, &value)) return NULL;
    return json_object_is_type(value, type) ? value : NULL;
}

static slw_code compare_file(const argument *arg, uint32_t at, const char *path, double tolerance, slw_error *err) {
    char *data = NULL;
    size_t size = 0;
    slw_code code = cli_read_file(path, SLW_LIMIT_BINARY_BYTES, &data, &size, err);
    if (code != SLW_OK) return code;
    if (size != arg->count * arg_type_size(arg->type)) code = differs(err, at, "%s has %zu bytes", path, size);
    for (uint64_t i = 0; code == SLW_OK && i < arg->count; i++)
        if (!same_raw(arg, i, data, tolerance))
            code = differs(err, at, "value %llu is not the one of %s", (unsigned long long)i, path);
    free(data);
    return code;
}

static slw_code compare_one(const argument *arg, uint32_t at, struct json_object *wanted, double tolerance,
                            slw_error *err) {
    struct json_object *type = member(wanted, "type", json_type_string),
                       *count = member(wanted, "count", json_type_int);
    struct json_object *values = member(wanted, "values", json_type_array);
    if (type == NULL || strcmp(json_object_get_string(type), arg_type_name(arg->type)) != 0)
        return differs(err, at, "the type is %s, not %s", arg_type_name(arg->type),
                       type != NULL ? json_object_get_string(type) : "given");
    struct json_object *file = member(wanted, "file", json_type_string);
    if (count != NULL && values == NULL && file != NULL && json_object_get_uint64(count) == arg->count)
        return compare_file(arg, at, json_object_get_string(file), tolerance, err);
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

/* json-c takes "-0" for the integer 0. This document is read with every such number made "-0.0". NULL without memory.
 */
static char *with_negative_zeros(const char *text, size_t size) {
    char *out = malloc(size * 2 + 1);
    size_t used = 0;
    int in_string = 0;
    for (size_t i = 0; out != NULL && i < size; i++) {
        if (text[i] == '"') in_string = !in_string;
        out[used++] = text[i];
        if (in_string && text[i] == '\\' && i + 1 < size) out[used++] = text[++i];
        if (in_string || text[i] != '0' || i == 0 || text[i - 1] != '-') continue;
        if (i >= 2 && (text[i - 2] == 'e' || text[i - 2] == 'E')) continue;
        if (i + 1 < size && text[i + 1] != '\0' && strchr("0123456789.eE", text[i + 1]) != NULL) continue;
        out[used++] = '.';
        out[used++] = '0';
    }
    if (out != NULL) out[used] = '\0';
    return out;
}

slw_code arguments_expect(const arguments *args, const char *path, double tolerance, slw_error *err) {
    char *text = NULL;
    size_t size = 0;
    slw_code code = cli_read_file(path, SLW_LIMIT_BINARY_BYTES, &text, &size, err);
    if (code != SLW_OK) return code;
    char *readable = with_negative_zeros(text, size);
    struct json_object *document = readable != NULL ? json_tokener_parse(readable) : NULL;
    struct json_object *results = member(document, "results", json_type_array);
    if (results == NULL)
        code = cli_usage(err, "BAD_EXPECT", "%s is no document with \"results\"", path);
    else
        code = compare_all(args, results, tolerance, err);
    json_object_put(document);
    free(readable);
    free(text);
    return code;
}
