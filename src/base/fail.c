/* The error record. Everything here tolerates NULL and a record of another size, cuts instead of overrunning, and never
   replaces what an earlier failure said. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "errno_names.h"

/* Room for one message before it is put (or appended) into the record. */
#define MESSAGE_CAPACITY 1024

static int usable(const slw_error *err) {
    return err != NULL && err->size == sizeof(slw_error);
}

/* The largest prefix of `size` bytes, at most `room`, that does not end inside a UTF-8 sequence. */
static size_t cut_length(const char *text, size_t size, size_t room) {
    if (size <= room) return size;
    size_t end = room;
    for (int back = 0; back < 3 && end > 0 && ((unsigned char)text[end] & 0xC0u) == 0x80u; back++) end--;
    return ((unsigned char)text[end] & 0xC0u) == 0x80u ? room : end;
}

static void put(char *to, size_t capacity, const char *text, size_t size) {
    const size_t length = cut_length(text, size, capacity - 1);
    memcpy(to, text, length);
    to[length] = '\0';
}

static void append(char *to, size_t capacity, const char *text, size_t size) {
    const size_t used = strnlen(to, capacity - 1);
    put(to + used, capacity - used, text, size);
}

void slwi_error_reset(slw_error *err) {
    if (!usable(err)) return;
    err->code = SLW_OK;
    err->present = 0;
    err->line = 0;
    err->column = 0;
    err->raw_code = 0;
    err->offset_bytes = 0;
    err->required = 0;
    err->limit = 0;
    err->reason = NULL;
    err->phase = NULL;
    err->resource = NULL;
    err->unit = NULL;
    err->hint = NULL;
    err->diagnostics_size = 0;
    if (err->diagnostics != NULL && err->diagnostics_capacity > 0) err->diagnostics[0] = '\0';
    err->message[0] = '\0';
    err->subject[0] = '\0';
    err->path[0] = '\0';
    err->kernel[0] = '\0';
    err->device[0] = '\0';
    err->raw_name[0] = '\0';
    err->tried[0] = '\0';
}

/* A message is one line and, whatever names stand in it, moves no cursor and changes no colour of a terminal. */
static void flatten(char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = ' ';
    }
}

static void commit(slw_error *err, slw_code code, const char *reason, char *message) {
    flatten(message);
    if (err->code == SLW_OK) {
        err->code = code;
        if (err->reason == NULL) err->reason = reason;
        put(err->message, sizeof err->message, message, strlen(message));
        return;
    }
    append(err->message, sizeof err->message, "; also: ", 8);
    append(err->message, sizeof err->message, message, strlen(message));
}

slw_code slwi_fail(slw_error *err, slw_code code, const char *reason, const char *format, ...) {
    if (!usable(err)) return code;
    char message[MESSAGE_CAPACITY];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    commit(err, code, reason, message);
    return code;
}

slw_code slwi_fail_os(slw_error *err, slw_code code, const char *reason, int error_number, const char *path,
                      const char *format, ...) {
    if (!usable(err)) return code;
    char message[MESSAGE_CAPACITY];
    char number[16];
    const char *name = slwi_errno_name(error_number, number);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message - 128, format, arguments);
    va_end(arguments);
    const size_t used = strlen(message);
    (void)snprintf(message + used, sizeof message - used, ": %s (%s)", name, slwi_errno_words(error_number));
    const int first = err->code == SLW_OK;
    commit(err, code, reason, message);
    if (first) {
        slwi_error_raw(err, name, error_number);
        slwi_error_path(err, path);
    }
    return code;
}

static void put_once(char *to, size_t capacity, const char *text, size_t size) {
    if (text != NULL && to[0] == '\0') put(to, capacity, text, size);
}

void slwi_error_subject(slw_error *err, const char *subject, size_t size) {
    if (usable(err)) put_once(err->subject, sizeof err->subject, subject, size);
}

void slwi_error_path(slw_error *err, const char *path) {
    if (usable(err) && path != NULL) put_once(err->path, sizeof err->path, path, strlen(path));
}

void slwi_error_place(slw_error *err, uint32_t line, uint32_t column, uint64_t offset_bytes) {
    const uint32_t place = SLW_ERROR_HAS_LINE | SLW_ERROR_HAS_COLUMN | SLW_ERROR_HAS_OFFSET;
    if (!usable(err) || (err->present & place) != 0) return;
    if (line != 0) {
        err->line = line;
        err->present |= SLW_ERROR_HAS_LINE;
    }
    if (column != 0) {
        err->column = column;
        err->present |= SLW_ERROR_HAS_COLUMN;
    }
    if (offset_bytes != UINT64_MAX) {
        err->offset_bytes = offset_bytes;
        err->present |= SLW_ERROR_HAS_OFFSET;
    }
}

void slwi_error_amount(slw_error *err, const char *static_resource, uint64_t required, uint64_t limit,
                       const char *static_unit) {
    if (!usable(err) || (err->present & (SLW_ERROR_HAS_REQUIRED | SLW_ERROR_HAS_LIMIT)) != 0) return;
    err->resource = static_resource;
    err->required = required;
    err->limit = limit;
    err->unit = static_unit;
    err->present |= SLW_ERROR_HAS_REQUIRED | SLW_ERROR_HAS_LIMIT;
}

void slwi_error_kernel(slw_error *err, const char *kernel, const char *device) {
    if (!usable(err)) return;
    if (kernel != NULL) put_once(err->kernel, sizeof err->kernel, kernel, strlen(kernel));
    if (device != NULL) put_once(err->device, sizeof err->device, device, strlen(device));
}

void slwi_error_raw(slw_error *err, const char *raw_name, int64_t raw_code) {
    if (!usable(err) || (err->present & SLW_ERROR_HAS_RAW_CODE) != 0) return;
    if (raw_name != NULL) put_once(err->raw_name, sizeof err->raw_name, raw_name, strlen(raw_name));
    err->raw_code = raw_code;
    err->present |= SLW_ERROR_HAS_RAW_CODE;
}

void slwi_error_hint(slw_error *err, const char *static_hint) {
    if (usable(err) && err->hint == NULL) err->hint = static_hint;
}

void slwi_error_phase(slw_error *err, const char *static_phase) {
    if (usable(err) && err->phase == NULL) err->phase = static_phase;
}

void slwi_error_tried(slw_error *err, const char *place) {
    if (!usable(err) || place == NULL) return;
    if (err->tried[0] != '\0') append(err->tried, sizeof err->tried, "\n", 1);
    append(err->tried, sizeof err->tried, place, strlen(place));
}

void slwi_error_diagnostics(slw_error *err, const void *text, size_t size) {
    if (!usable(err) || err->diagnostics == NULL || err->diagnostics_capacity == 0 || text == NULL) return;
    const size_t used = err->diagnostics_size;
    if (used >= err->diagnostics_capacity) return;
    const size_t length = cut_length(text, size, err->diagnostics_capacity - 1 - used);
    memcpy(err->diagnostics + used, text, length);
    err->diagnostics[used + length] = '\0';
    err->diagnostics_size = used + length;
}

void slwi_error_copy(slw_error *to, const slw_error *from) {
    if (!usable(to) || !usable(from) || to == from) return;
    char *const diagnostics = to->diagnostics;
    const size_t capacity = to->diagnostics_capacity;
    *to = *from;
    to->diagnostics = diagnostics;
    to->diagnostics_capacity = capacity;
    to->diagnostics_size = 0;
    if (diagnostics != NULL && capacity > 0) diagnostics[0] = '\0';
    slwi_error_diagnostics(to, from->diagnostics, from->diagnostics_size);
}
