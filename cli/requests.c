/* digest, lookup, put, get: records and requests from files, one request each. */
#include "cli.h"

#include <slipway/limits.h>

#include <stdlib.h>
#include <string.h>

int verb_digest(const cli_options *options, slw_error *err) {
    char *text = NULL;
    size_t size = 0;
    slw_record *record = NULL;
    slw_text encoded = SLW_TEXT_INIT;
    slw_digest digest;
    slw_code code = cli_read_file(options->files.items[0], SLW_LIMIT_JSON_BYTES, &text, &size, err);
    if (code == SLW_OK) code = slw_record_parse(NULL, (slw_bytes){text, size}, &record, err);
    if (code == SLW_OK) code = slw_record_encode(record, options->domain, &encoded, err);
    if (code == SLW_OK) code = slw_record_digest(record, options->domain, &digest, err);
    int status;
    if (code != SLW_OK) {
        if (err->path[0] == '\0') snprintf(err->path, sizeof err->path, "%s", options->files.items[0]);
        status = cli_fail(options, err);
    } else {
        char sha256[SLW_DIGEST_TEXT_SIZE];
        slw_digest_format(&digest, sha256);
        cli_json json;
        if (!options->json) {
            status = printf("%s\n%s\n", encoded.data, sha256) < 0 ? 4 : 0;
        } else if ((status = put_open(&json)) == 0) {
            put_bytes(&json, "encoded", (slw_bytes){encoded.data, encoded.size});
            put_text(&json, "sha256", sha256);
            status = put_close(&json);
        }
    }
    slw_text_release(&encoded);
    slw_record_release(&record);
    free(text);
    return status;
}

/* What lookup, put and get begin with: the request and the store. */
typedef struct request {
    cli_places places;
    slw_key *key;
    slw_spec *spec;
    slw_store *store;
} request;

static slw_code open_request(const cli_options *options, request *out, slw_error *err) {
    char *text = NULL;
    size_t size = 0;
    memset(out, 0, sizeof *out);
    slw_code code = cli_read_file(options->files.items[0], SLW_LIMIT_JSON_BYTES, &text, &size, err);
    if (code == SLW_OK)
        code = slw_request_parse(NULL, (slw_bytes){text, size}, options->domain, &out->key, &out->spec, err);
    if (code != SLW_OK && err->path[0] == '\0') snprintf(err->path, sizeof err->path, "%s", options->files.items[0]);
    free(text);
    if (code == SLW_OK && cli_find_places(options, &out->places, err) != 0) code = err->code;
    if (code == SLW_OK && out->places.cache == NULL)
        code = cli_usage(err, "NO_CACHE", "there is no cache: %s", out->places.why_no_cache);
    if (code == SLW_OK) code = cli_open_store(options, &out->places, options->domain, NULL, &out->store, err);
    return code;
}

static void close_request(request *r) {
    slw_store_close(&r->store);
    slw_spec_release(&r->spec);
    slw_key_release(&r->key);
    cli_free_places(&r->places);
}

static const char *verdict(slw_code code) {
    switch (code) {
    case SLW_OK:
        return "HIT";
    case SLW_E_MISS:
        return "MISS";
    case SLW_E_INVALID_ENTRY:
        return "INVALID";
    case SLW_E_STORAGE:
        return "STORAGE_ERROR";
    default:
        return NULL;
    }
}

static int verdict_status(slw_code code) {
    return code == SLW_OK ? 0 : code == SLW_E_STORAGE ? 4 : 1;
}

static void put_names(cli_json *json, const request *r) {
    put_text(json, "environment", slw_key_environment(r->key));
    put_text(json, "key", slw_key_digest(r->key));
    put_text(json, "spec", slw_spec_digest(r->spec));
}

/* The slot's directory as far as it can be told without looking. */
static char *slot_directory(const request *r) {
    char *out = NULL;
    if (asprintf(&out, "%s/artifacts/%s/%s/%s/%s", slw_store_root(r->store), slw_key_environment(r->key),
                 slw_key_digest(r->key), slw_spec_digest(r->spec), slw_state_name(slw_spec_state(r->spec))) < 0)
        out = NULL;
    return out;
}

static int print_lookup(const cli_options *options, const request *r, slw_code code, const slw_error *err) {
    char *directory = slot_directory(r);
    int status = verdict_status(code);
    cli_json json;
    if (!options->json) {
        printf("%-13s %s\n", verdict(code), directory != NULL ? directory : "");
        if (code != SLW_OK) printf("  %s\n", err->message);
    } else if (put_open(&json) != 0) {
        status = 3;
    } else {
        put_text(&json, "status", verdict(code));
        put_text(&json, "reason", code == SLW_OK || code == SLW_E_MISS ? NULL : err->message);
        put_names(&json, r);
        put_text(&json, "directory", code == SLW_OK ? directory : NULL);
        const int printed = put_close(&json);
        if (printed != 0) status = printed;
    }
    free(directory);
    return status;
}

int verb_lookup(const cli_options *options, slw_error *err) {
    request r;
    slw_cached *cached = NULL;
    slw_code code = open_request(options, &r, err);
    int status;
    if (code != SLW_OK) {
        status = cli_fail(options, err);
    } else {
        code = slw_store_lookup(r.store, r.key, r.spec, &cached, err);
        if (code == SLW_OK) slw_cached_discard(&cached);
        status = verdict(code) != NULL ? print_lookup(options, &r, code, err) : cli_fail(options, err);
    }
    close_request(&r);
    return status;
}

static int print_put(const cli_options *options, const request *r, const slw_build_report *report,
                     const char *directory) {
    int status = report->disposition != SLW_PRIVATE ? 0 : report->failure == SLW_FAILURE_INVALID ? 1 : 4;
    cli_json json;
    if (!options->json) {
        printf("%s %s\n", slw_disposition_name(report->disposition), directory);
        if (report->reason[0] != '\0') printf("  %s\n", report->reason);
        return status;
    }
    if (put_open(&json) != 0) return 3;
    put_text(&json, "disposition", slw_disposition_name(report->disposition));
    put_text(&json, "failure", slw_build_failure_name(report->failure));
    put_text(&json, "reason", report->reason[0] != '\0' ? report->reason : NULL);
    put_names(&json, r);
    put_text(&json, "directory", directory);
    const int printed = put_close(&json);
    return printed != 0 ? printed : status;
}

int verb_put(const cli_options *options, slw_error *err) {
    request r;
    slw_builder builder = SLW_BUILDER_INIT;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slw_cached *cached = NULL;
    if (options->read_only) {
        (void)cli_usage(err, "READ_ONLY", "put writes: it cannot be --read-only");
        return cli_fail(options, err);
    }
    slw_code code = open_request(options, &r, err);
    builder.directory = options->files.items[1];
    int status;
    if (code != SLW_OK) {
        status = cli_fail(options, err);
    } else {
        cli_interrupt_begin();
        code = slw_store_get_or_build(r.store, r.key, r.spec, &builder, &report, &cached, err);
        cli_interrupt_end();
        if (code != SLW_OK) {
            status = cli_fail(options, err);
        } else {
            status = print_put(options, &r, &report, slw_cached_directory(cached));
            slw_cached_discard(&cached);
        }
    }
    slw_build_report_release(&report);
    close_request(&r);
    return status;
}

static int print_get(const cli_options *options, uint64_t files, uint64_t size_bytes) {
    cli_json json;
    if (!options->json)
        return printf("HIT %llu files, %llu bytes\n", (unsigned long long)files, (unsigned long long)size_bytes) < 0
                   ? 4
                   : 0;
    if (put_open(&json) != 0) return 3;
    put_text(&json, "status", "HIT");
    put_null(&json, "reason");
    put_u64(&json, "files", files);
    put_u64(&json, "size_bytes", size_bytes);
    return put_close(&json);
}

/* A non-hit of get has the same document as a hit, with no files. */
static int print_no_get(const cli_options *options, slw_code code, const slw_error *err) {
    cli_json json;
    if (!options->json) {
        printf("%s %s\n", verdict(code), err->message);
        return verdict_status(code);
    }
    if (put_open(&json) != 0) return 3;
    put_text(&json, "status", verdict(code));
    put_text(&json, "reason", code == SLW_E_MISS ? NULL : err->message);
    put_null(&json, "files");
    put_null(&json, "size_bytes");
    const int printed = put_close(&json);
    return printed != 0 ? printed : verdict_status(code);
}

/* One look-up and the copy of its hit. */
static slw_code look_up_and_copy(const request *r, const char *destination, uint64_t *files, uint64_t *size_bytes,
                                 slw_error *err) {
    slw_cached *cached = NULL;
    slw_code code = slw_store_lookup(r->store, r->key, r->spec, &cached, err);
    if (code != SLW_OK) return code;
    code = slw_cached_materialize(cached, destination, err);
    *files = slw_cached_file_count(cached);
    *size_bytes = slw_cached_size_bytes(cached);
    slw_cached_discard(&cached);
    return code;
}

int verb_get(const cli_options *options, slw_error *err) {
    request r;
    uint64_t files = 0, size_bytes = 0;
    slw_code code = open_request(options, &r, err);
    const int opened = code == SLW_OK;
    if (opened) code = look_up_and_copy(&r, options->files.items[1], &files, &size_bytes, err);
    /* Gone while it was copied: asked for once more, into what is then empty or, with USAGE, is not. */
    if (code == SLW_E_GONE) code = look_up_and_copy(&r, options->files.items[1], &files, &size_bytes, err);
    int status;
    if (opened && code == SLW_OK)
        status = print_get(options, files, size_bytes);
    else if (opened && verdict(code) != NULL)
        status = print_no_get(options, code, err);
    else
        status = cli_fail(options, err);
    close_request(&r);
    return status;
}
