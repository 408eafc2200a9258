#include "arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of the command line end here: 4 GiB. */
#define ARRAY_LIMIT_BYTES 4294967296ull

static const struct {
    const char *name;
    size_t size;
    int64_t least;
    uint64_t most;
} types[] = {
    {"i8", 1, INT8_MIN, INT8_MAX},
    {"u8", 1, 0, UINT8_MAX},
    {"i16", 2, INT16_MIN, INT16_MAX},
    {"u16", 2, 0, UINT16_MAX},
    {"i32", 4, INT32_MIN, INT32_MAX},
    {"u32", 4, 0, UINT32_MAX},
    {"i64", 8, INT64_MIN, INT64_MAX},
    {"u64", 8, 0, UINT64_MAX},
    {"f32", 4, 0, 0},
    {"f64", 8, 0, 0},
};

const char *arg_type_name(arg_type type) {
    return types[type].name;
}

size_t arg_type_size(arg_type type) {
    return types[type].size;
}

static int is_float(arg_type type) {
    return type == ARG_F32 || type == ARG_F64;
}

/* Little-endian store of an integer's low bytes; slipway supports no big-endian machine. */
static void put_integer(argument *arg, uint64_t index, uint64_t value) {
    memcpy((char *)arg->data + index * types[arg->type].size, &value, types[arg->type].size);
}

static void put_float(argument *arg, uint64_t index, double value) {
    if (arg->type == ARG_F32)
        ((float *)arg->data)[index] = (float)value;
    else
        ((double *)arg->data)[index] = value;
}

static void put_number(argument *arg, uint64_t index, uint64_t value) {
    if (is_float(arg->type))
        put_float(arg, index, (double)value);
    else
        put_integer(arg, index, value);
}

/* One value of the type; the whole text must be it. Integers may be 0x…; floats are C's, nan and inf too. */
static int parse_value(argument *arg, uint64_t index, const char *text) {
    char *end = NULL;
    errno = 0;
    if (text[0] == '\0' || strchr(" \t\n", text[0]) != NULL) return 0;
    if (is_float(arg->type)) {
        const double value = arg->type == ARG_F32 ? (double)strtof(text, &end) : strtod(text, &end);
        put_float(arg, index, value);
        return *end == '\0';
    }
    if (text[0] == '-') {
        const long long value = strtoll(text, &end, 0);
        put_integer(arg, index, (uint64_t)value);
        return *end == '\0' && errno == 0 && value >= types[arg->type].least;
    }
    const unsigned long long value = strtoull(text, &end, 0);
    put_integer(arg, index, value);
    return *end == '\0' && errno == 0 && value <= types[arg->type].most;
}

/* splitmix64: every seed gives its own full-period sequence, the same on every machine. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static slw_code fill_random(argument *arg, const char *seed_text, slw_error *err) {
    char *end = NULL;
    errno = 0;
    uint64_t state = strtoull(seed_text, &end, 0);
    if (seed_text[0] == '\0' || *end != '\0' || errno != 0)
        return cli_usage(err, "BAD_ARGUMENT", "rand: needs a seed, not \"%s\"", seed_text);
    for (uint64_t i = 0; i < arg->count; i++) {
        const uint64_t bits = next_random(&state);
        if (is_float(arg->type))
            put_float(arg, i, (double)(bits >> 40) / 16777216.0); /* [0, 1), exact in both types */
        else
            put_integer(arg, i, bits);
    }
    return SLW_OK;
}

static slw_code no_memory(slw_error *err, const char *what) {
    err->code = SLW_E_NO_MEMORY;
    snprintf(err->message, sizeof err->message, "no memory for %s", what);
    return err->code;
}

static slw_code fill_from_file(argument *arg, const char *name, slw_error *err) {
    char *data = NULL;
    size_t size = 0;
    slw_code code = SLW_OK;
    const uint64_t wanted = arg->count * arg_type_size(arg->type);
    if (name[0] != '\0') code = cli_read_file(name, (size_t)wanted, &data, &size, err); /* it may be /dev/zero */
    if (code == SLW_E_LIMIT)
        return cli_usage(err, "BAD_ARGUMENT", "%s has more bytes than the array: %llu", name,
                         (unsigned long long)wanted);
    if (code == SLW_OK && data != NULL && size != wanted)
        code =
            cli_usage(err, "BAD_ARGUMENT", "%s has %zu bytes, the array %llu", name, size, (unsigned long long)wanted);
    if (code == SLW_OK && data != NULL) memcpy(arg->data, data, size);
    free(data);
    return code;
}

static slw_code fill(argument *arg, const char *init, slw_error *err) {
    if (init[0] == '@') return fill_from_file(arg, init + 1, err);
    if (strncmp(init, "rand:", 5) == 0) return fill_random(arg, init + 5, err);
    if (strcmp(init, "zero") == 0) return SLW_OK;
    if (strcmp(init, "iota") == 0) {
        for (uint64_t i = 0; i < arg->count; i++) put_number(arg, i, i);
        return SLW_OK;
    }
    if (strncmp(init, "const:", 6) != 0)
        return cli_usage(err, "BAD_ARGUMENT", "an array is zero, iota, const:V, rand:SEED or @FILE, not \"%s\"", init);
    for (uint64_t i = 0; i < arg->count; i++)
        if (!parse_value(arg, i, init + 6))
            return cli_usage(err, "BAD_ARGUMENT", "\"%s\" is no %s", init + 6, arg_type_name(arg->type));
    return SLW_OK;
}

/* What stands before '>' fills the array; what stands behind it is the file its result goes to. */
static slw_code fill_and_name(argument *arg, const char *init, slw_error *err) {
    const char *out = strchr(init, '>');
    if (out == NULL) return fill(arg, init, err);
    if (out[1] == '\0') return cli_usage(err, "BAD_ARGUMENT", "no file is named after '>' in \"%s\"", init);
    char *before = strndup(init, (size_t)(out - init));
    arg->out_file = strdup(out + 1);
    arg->copies_out = 1;
    slw_code code = SLW_OK;
    if (before == NULL || arg->out_file == NULL)
        code = no_memory(err, init);
    else
        code = fill(arg, before, err);
    free(before);
    return code;
}

static const char *parse_direction(argument *arg, const char *text) {
    arg->copies_in = 1;
    if (strncmp(text, "in:", 3) == 0) return text + 3;
    if (strncmp(text, "inout:", 6) == 0) {
        arg->copies_out = 1;
        return text + 6;
    }
    if (strncmp(text, "out:", 4) != 0) return text;
    arg->copies_out = 1;
    return text + 4;
}

/* TYPE or TYPE[N], then '='; gives what follows it, or NULL. */
static const char *parse_type(argument *arg, const char *text) {
    size_t n = 0;
    size_t i = 0;
    for (; i < sizeof types / sizeof *types; i++) {
        n = strlen(types[i].name);
        if (strncmp(text, types[i].name, n) == 0 && (text[n] == '=' || text[n] == '[')) break;
    }
    if (i == sizeof types / sizeof *types) return NULL;
    arg->type = (arg_type)i;
    arg->count = 1;
    if (text[n] == '=') return text + n + 1;
    char *end = NULL;
    errno = 0;
    arg->is_array = 1;
    if (text[n + 1] < '0' || text[n + 1] > '9') return NULL;
    arg->count = strtoull(text + n + 1, &end, 10);
    if (errno != 0 || arg->count == 0 || arg->count > ARRAY_LIMIT_BYTES / types[i].size) return NULL;
    return end[0] == ']' && end[1] == '=' ? end + 2 : NULL;
}

static slw_code parse_one(const char *text, argument *out, slw_error *err) {
    const char *typed = parse_direction(out, text);
    const char *init = parse_type(out, typed);
    if (init == NULL || (!out->is_array && typed != text))
        return cli_usage(err, "BAD_ARGUMENT", "\"%s\" is neither TYPE=VALUE nor [in:|out:|inout:]TYPE[N]=…", text);
    out->data = calloc(out->count, arg_type_size(out->type));
    if (out->data == NULL) return no_memory(err, text);
    if (out->is_array) return fill_and_name(out, init, err);
    if (!parse_value(out, 0, init))
        return cli_usage(err, "BAD_ARGUMENT", "\"%s\" is no %s", init, arg_type_name(out->type));
    return SLW_OK;
}

slw_code arguments_parse(const cli_list *texts, arguments *out, slw_error *err) {
    for (size_t i = 0; i < texts->count; i++) {
        if (i == sizeof out->items / sizeof *out->items) return cli_usage(err, "TOO_MANY", "more than 64 arguments");
        out->count++;
        const slw_code code = parse_one(texts->items[i], &out->items[i], err);
        if (code != SLW_OK) return code;
    }
    return SLW_OK;
}

static int takes(const slw_param *param, int is_array, int untyped) {
    if (param->kind == SLW_PARAM_UNKNOWN || (param->kind == SLW_PARAM_POINTER) == is_array) return 1;
    return untyped && is_array && param->size_bytes == sizeof(slw_device_address) &&
           (param->kind == SLW_PARAM_UNSIGNED || param->kind == SLW_PARAM_SIGNED);
}

slw_code arguments_check(const arguments *args, const slw_kernel_contract *kernel, int untyped, slw_error *err) {
    uint32_t at = 0;
    for (uint32_t i = 0; kernel != NULL && i < kernel->param_count && at < args->count; i++) {
        const slw_param *param = &kernel->params[i];
        if (param->role != SLW_ROLE_CALLER) continue;
        const int is_array = args->items[at].is_array;
        if (!takes(param, is_array, untyped))
            return cli_usage(err, "BAD_ARGUMENT", "argument %u (%s) is %s: give it %s", at,
                             param->name != NULL ? param->name : "?", is_array ? "a value" : "a pointer",
                             is_array ? "TYPE=VALUE" : "TYPE[N]=…");
        at++;
    }
    return SLW_OK;
}

static uint64_t size_bytes(const argument *arg) {
    return arg->count * arg_type_size(arg->type);
}

slw_code arguments_to_device(arguments *args, slw_device *device, slw_error *err) {
    args->device = device;
    for (uint32_t i = 0; i < args->count; i++) {
        argument *arg = &args->items[i];
        args->values[i] = arg->is_array ? (void *)&arg->address : arg->data;
        args->sizes_bytes[i] = arg->is_array ? (uint32_t)sizeof arg->address : (uint32_t)arg_type_size(arg->type);
        if (!arg->is_array) continue;
        slw_code code = slw_device_alloc(device, size_bytes(arg), &arg->address, err);
        if (code == SLW_OK) code = slw_device_copy_in(device, arg->address, arg->data, size_bytes(arg), err);
        if (code != SLW_OK) return code;
    }
    return SLW_OK;
}

static slw_code write_out(const argument *arg, slw_error *err) {
    FILE *file = fopen(arg->out_file, "wbe");
    int failed = file == NULL || fwrite(arg->data, arg_type_size(arg->type), arg->count, file) != arg->count;
    if (file != NULL && fclose(file) != 0) failed = 1;
    if (!failed) return SLW_OK;
    err->code = SLW_E_STORAGE;
    snprintf(err->path, sizeof err->path, "%s", arg->out_file);
    snprintf(err->message, sizeof err->message, "the result cannot be written: %s", strerror(errno));
    return err->code;
}

slw_code arguments_from_device(arguments *args, slw_error *err) {
    for (uint32_t i = 0; i < args->count; i++) {
        argument *arg = &args->items[i];
        if (!arg->is_array || !arg->copies_out) continue;
        slw_code code = slw_device_copy_out(args->device, arg->data, arg->address, size_bytes(arg), err);
        if (code == SLW_OK && arg->out_file != NULL) code = write_out(arg, err);
        if (code != SLW_OK) return code;
    }
    return SLW_OK;
}

void arguments_free(arguments *args) {
    slw_error ignored = SLW_ERROR_INIT;
    for (uint32_t i = 0; i < args->count; i++) {
        argument *arg = &args->items[i];
        if (arg->address != 0 && slw_device_free(args->device, &arg->address, &ignored) != SLW_OK) arg->address = 0;
        free(arg->data);
        free(arg->out_file);
    }
    memset(args, 0, sizeof *args);
}

static int64_t signed_at(const argument *arg, uint64_t i) {
    switch (arg->type) {
    case ARG_I8:
        return ((const int8_t *)arg->data)[i];
    case ARG_I16:
        return ((const int16_t *)arg->data)[i];
    case ARG_I32:
        return ((const int32_t *)arg->data)[i];
    default:
        return ((const int64_t *)arg->data)[i];
    }
}

static uint64_t unsigned_at(const argument *arg, uint64_t i) {
    switch (arg->type) {
    case ARG_U8:
        return ((const uint8_t *)arg->data)[i];
    case ARG_U16:
        return ((const uint16_t *)arg->data)[i];
    case ARG_U32:
        return ((const uint32_t *)arg->data)[i];
    default:
        return ((const uint64_t *)arg->data)[i];
    }
}

void argument_integer_text(const argument *arg, uint64_t i, char out[24]) {
    const int is_signed = arg->type == ARG_I8 || arg->type == ARG_I16 || arg->type == ARG_I32 || arg->type == ARG_I64;
    if (is_signed)
        snprintf(out, 24, "%lld", (long long)signed_at(arg, i));
    else
        snprintf(out, 24, "%llu", (unsigned long long)unsigned_at(arg, i));
}

static void put_value(cli_json *json, const argument *arg, uint64_t i) {
    switch (arg->type) {
    case ARG_F32:
        put_f32(json, NULL, ((const float *)arg->data)[i]);
        break;
    case ARG_F64:
        put_f64(json, NULL, ((const double *)arg->data)[i]);
        break;
    case ARG_I8:
    case ARG_I16:
    case ARG_I32:
    case ARG_I64:
        put_i64(json, NULL, signed_at(arg, i));
        break;
    default:
        put_u64(json, NULL, unsigned_at(arg, i));
        break;
    }
}

void arguments_json(cli_json *json, const char *key, const arguments *args) {
    put_array(json, key);
    for (uint32_t i = 0; i < args->count; i++) {
        const argument *arg = &args->items[i];
        if (!arg->is_array || !arg->copies_out) continue;
        put_object(json, NULL);
        put_u64(json, "arg", i);
        put_text(json, "type", arg_type_name(arg->type));
        put_u64(json, "count", arg->count);
        if (arg->out_file != NULL) {
            put_text(json, "file", arg->out_file);
        } else {
            put_array(json, "values");
            for (uint64_t at = 0; at < arg->count; at++) put_value(json, arg, at);
            put_end(json, ']');
        }
        put_end(json, '}');
    }
    put_end(json, ']');
}

void arguments_print(const arguments *args) {
    for (uint32_t i = 0; i < args->count; i++) {
        const argument *arg = &args->items[i];
        if (!arg->is_array || !arg->copies_out) continue;
        printf("argument %u %s[%llu]:", i, arg_type_name(arg->type), (unsigned long long)arg->count);
        for (uint64_t at = 0; at < arg->count && at < 8; at++) {
            if (arg->type == ARG_F32)
                printf(" %.9g", (double)((const float *)arg->data)[at]);
            else if (arg->type == ARG_F64)
                printf(" %.17g", ((const double *)arg->data)[at]);
            else if (types[arg->type].least < 0)
                printf(" %lld", (long long)signed_at(arg, at));
            else
                printf(" %llu", (unsigned long long)unsigned_at(arg, at));
        }
        printf("%s\n", arg->count > 8 ? " …" : "");
    }
}
