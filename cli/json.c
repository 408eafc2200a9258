/* JSON for programs: one document, collected first and printed whole. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void begin(cli_json *json, const char *key) {
    if (!json->first[json->depth]) fputc(',', json->to);
    json->first[json->depth] = 0;
    if (key != NULL) fprintf(json->to, "\"%s\":", key);
}

int put_open(cli_json *json) {
    memset(json, 0, sizeof *json);
    json->to = open_memstream(&json->text, &json->size);
    if (json->to == NULL) return 3;
    json->first[0] = 1;
    put_object(json, NULL);
    return 0;
}

void put_drop(cli_json *json) {
    if (json->to != NULL) fclose(json->to);
    free(json->text);
    memset(json, 0, sizeof *json);
}

int put_close(cli_json *json) {
    put_end(json, '}');
    fputc('\n', json->to);
    const int failed = fclose(json->to) != 0;
    json->to = NULL;
    int status = failed ? 3 : 0;
    if (!failed && (fwrite(json->text, 1, json->size, stdout) != json->size || fflush(stdout) != 0)) status = 4;
    put_drop(json);
    return status;
}

static void open_bracket(cli_json *json, const char *key, char bracket) {
    begin(json, key);
    fputc(bracket, json->to);
    json->first[++json->depth] = 1;
}

void put_object(cli_json *json, const char *key) {
    open_bracket(json, key, '{');
}

void put_array(cli_json *json, const char *key) {
    open_bracket(json, key, '[');
}

void put_end(cli_json *json, char bracket) {
    json->depth--;
    fputc(bracket, json->to);
}

size_t cli_utf8(const unsigned char *at, size_t left) {
    if (at[0] < 0x80) return 1;
    const size_t n = at[0] >= 0xf0 && at[0] <= 0xf4  ? 4
                     : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                     : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                                                     : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (at[0] == 0xe0 && at[1] < 0xa0) return 0;
    if (at[0] == 0xed && at[1] > 0x9f) return 0;
    if (at[0] == 0xf0 && at[1] < 0x90) return 0;
    if (at[0] == 0xf4 && at[1] > 0x8f) return 0;
    return n;
}

/* Text goes out as UTF-8; a byte that is not becomes \udc80 to \udcff, as in records. */
static void quoted(FILE *to, const unsigned char *text, size_t size) {
    fputc('"', to);
    for (size_t i = 0; i < size;) {
        const size_t n = cli_utf8(text + i, size - i);
        if (n == 0) {
            fprintf(to, "\\udc%02x", text[i++]);
            continue;
        }
        if (n == 1 && (text[i] == '"' || text[i] == '\\')) fputc('\\', to);
        if (n == 1 && text[i] < 0x20)
            fprintf(to, "\\u%04x", text[i]);
        else
            fwrite(text + i, 1, n, to);
        i += n;
    }
    fputc('"', to);
}

void put_bytes(cli_json *json, const char *key, slw_bytes raw) {
    begin(json, key);
    quoted(json->to, raw.data, raw.size);
}

void put_text(cli_json *json, const char *key, const char *text) {
    if (text == NULL) {
        put_null(json, key);
        return;
    }
    put_bytes(json, key, (slw_bytes){text, strlen(text)});
}

void put_u64(cli_json *json, const char *key, uint64_t value) {
    begin(json, key);
    fprintf(json->to, "%llu", (unsigned long long)value);
}

void put_i64(cli_json *json, const char *key, int64_t value) {
    begin(json, key);
    fprintf(json->to, "%lld", (long long)value);
}

/* NaN and infinities as strings; 1 when that was done. */
static int special(cli_json *json, double value) {
    if (isfinite(value)) return 0;
    fputs(isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"", json->to);
    return 1;
}

/* Minus zero as most readers of JSON keep it; they take "-0" for an integer without a sign. */
static int minus_zero(cli_json *json, double value) {
    if (value != 0 || !signbit(value)) return 0;
    fputs("-0.0", json->to);
    return 1;
}

void put_f64(cli_json *json, const char *key, double value) {
    begin(json, key);
    if (special(json, value) || minus_zero(json, value)) return;
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, json->to);
}

void put_f32(cli_json *json, const char *key, float value) {
    begin(json, key);
    if (special(json, (double)value) || minus_zero(json, (double)value)) return;
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    fputs(text, json->to);
}

void put_bool(cli_json *json, const char *key, int value) {
    begin(json, key);
    fputs(value ? "true" : "false", json->to);
}

void put_null(cli_json *json, const char *key) {
    begin(json, key);
    fputs("null", json->to);
}

void put_raw(cli_json *json, const char *key, const char *text, size_t size) {
    begin(json, key);
    fwrite(text, 1, size, json->to);
}

static void present_text(cli_json *json, const char *key, const char *text) {
    if (text != NULL && text[0] != '\0') put_text(json, key, text);
}

static void error_numbers(cli_json *json, const slw_error *err) {
    if (err->present & SLW_ERROR_HAS_LINE) put_u64(json, "line", err->line);
    if (err->present & SLW_ERROR_HAS_COLUMN) put_u64(json, "column", err->column);
    if (err->present & SLW_ERROR_HAS_OFFSET) put_u64(json, "offset", err->offset_bytes);
    present_text(json, "resource", err->resource);
    if (err->present & SLW_ERROR_HAS_REQUIRED) put_u64(json, "required", err->required);
    if (err->present & SLW_ERROR_HAS_LIMIT) put_u64(json, "limit", err->limit);
    present_text(json, "unit", err->unit);
    present_text(json, "raw_name", err->raw_name);
    if (err->present & SLW_ERROR_HAS_RAW_CODE) put_i64(json, "raw_code", err->raw_code);
}

void put_error(cli_json *json, const char *key, const slw_error *err) {
    put_object(json, key);
    put_text(json, "code", slw_code_name(err->code));
    present_text(json, "reason", err->reason);
    present_text(json, "phase", err->phase);
    present_text(json, "message", err->message);
    present_text(json, "subject", err->subject);
    present_text(json, "kernel", err->kernel);
    present_text(json, "device", err->device);
    present_text(json, "path", err->path);
    error_numbers(json, err);
    if (err->tried[0] != '\0') {
        put_array(json, "tried");
        for (const char *at = err->tried; *at != '\0';) {
            const size_t n = strcspn(at, "\n");
            put_bytes(json, NULL, (slw_bytes){at, n});
            at += n + (at[n] == '\n');
        }
        put_end(json, ']');
    }
    if (err->diagnostics != NULL && err->diagnostics_size > 0)
        put_bytes(json, "diagnostics", (slw_bytes){err->diagnostics, err->diagnostics_size});
    present_text(json, "hint", err->hint);
    put_end(json, '}');
}
