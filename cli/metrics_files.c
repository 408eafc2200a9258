/* The files that run writes about itself. */
#include "cli.h"

#include <errno.h>
#include <string.h>

static int ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static slw_code write_text(const char *path, const slw_text *text, slw_error *err) {
    FILE *file = fopen(path, "wbe");
    int error_number = errno;
    int bad = file == NULL;
    if (file != NULL && fwrite(text->data, 1, text->size, file) != text->size) {
        bad = 1;
        error_number = errno;
    }
    if (file != NULL && fclose(file) != 0 && !bad) {
        bad = 1;
        error_number = errno;
    }
    if (!bad) return SLW_OK;
    err->code = SLW_E_STORAGE;
    snprintf(err->path, sizeof err->path, "%s", path);
    snprintf(err->message, sizeof err->message, "%.200s cannot be written: %s", path, strerror(error_number));
    return err->code;
}

static slw_code write_export(const slw_metrics *metrics, const char *path, int format, slw_error *err) {
    slw_text text = SLW_TEXT_INIT;
    slw_code code = slw_metrics_export(metrics, format, &text, err);
    if (code == SLW_OK) code = write_text(path, &text, err);
    slw_text_release(&text);
    return code;
}

slw_code cli_write_metrics(const cli_options *options, const slw_metrics *metrics, slw_error *err) {
    slw_code code = SLW_OK;
    slw_error second = SLW_ERROR_INIT;
    if (options->metrics != NULL) {
        const int text = ends_with(options->metrics, ".prom") || ends_with(options->metrics, ".txt");
        code = write_export(metrics, options->metrics, text ? SLW_EXPORT_OPENMETRICS : SLW_EXPORT_JSON, err);
    }
    if (options->trace == NULL) return code;
    const slw_code traced = write_export(metrics, options->trace, SLW_EXPORT_TRACE, code == SLW_OK ? err : &second);
    return code == SLW_OK ? traced : code;
}
