/* ls, show, verify: what lies in the cache. Nothing is written. Names and targets come from an entry's slipway.json,
 * where it has one; json-c reads it (documents for people, not identity). */
#include "cli.h"

#include <slipway/limits.h>

#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file's text, NUL-terminated; NULL for anything else. What lies in a slot may be damaged: a link there is
   not followed and a fifo does not block. */
static char *slot_text(const char *path) {
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= SLW_LIMIT_MANIFEST_BYTES)
        text = malloc((size_t)st.st_size + 1);
    size_t have = 0;
    for (ssize_t n = 1; text != NULL && n > 0 && have<(size_t)st.st_size; have += n> 0 ? (size_t)n : 0)
        n = read(fd, text + have, (size_t)st.st_size - have);
    if (text != NULL) text[have] = '\0';
    close(fd);
    return text;
}

struct json_object *cli_slot_document(const char *directory, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0) return NULL;
    char *text = slot_text(path);
    struct json_object *object = text != NULL ? json_tokener_parse(text) : NULL;
    free(text);
    free(path);
    return object;
}

const char *cli_member_text(struct json_object *object, const char *name) {
    struct json_object *member = NULL;
    if (object == NULL || !json_object_is_type(object, json_type_object)) return NULL;
    if (!json_object_object_get_ex(object, name, &member) || !json_object_is_type(member, json_type_string))
        return NULL;
    return json_object_get_string(member);
}

static void member_document(cli_json *json, const char *key, struct json_object *object, const char *name) {
    struct json_object *member = NULL;
    if (object == NULL || !json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, name, &member) || member == NULL) {
        put_null(json, key);
        return;
    }
    const char *text = json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    put_raw(json, key, text, strlen(text));
}

static const char *slot_status(slw_code code) {
    return code == SLW_OK ? "HIT" : code == SLW_E_STORAGE ? "STORAGE_ERROR" : "INVALID";
}

static void put_slot_names(cli_json *json, const slw_slot_info *slot) {
    put_text(json, "environment", slot->environment);
    put_text(json, "key", slot->key);
    put_text(json, "spec", slot->spec);
    put_text(json, "state", slot->state);
}

static void put_entry(cli_json *json, const slw_slot_info *slot, struct json_object *document) {
    put_slot_names(json, slot);
    put_text(json, "build_kind", slot->build_kind);
    put_text(json, "name", cli_member_text(document, "name"));
    put_text(json, "backend", cli_member_text(document, "backend"));
    put_text(json, "target", cli_member_text(document, "target"));
    if (slot->status == SLW_OK) {
        put_u64(json, "size_bytes", slot->size_bytes);
        put_u64(json, "files", slot->files);
    } else { /* what is no hit has no size that is known */
        put_null(json, "size_bytes");
        put_null(json, "files");
    }
    put_text(json, "status", slot_status(slot->status));
    if (slot->last_used_ns != 0)
        put_u64(json, "last_used_ns", slot->last_used_ns);
    else
        put_null(json, "last_used_ns");
    put_text(json, "directory", slot->directory);
}

slw_code cli_open_cache(const cli_options *options, cli_places *places, slw_store **store, slw_error *err) {
    if (cli_find_places(options, places, err) != 0) return err->code;
    if (places->cache == NULL) return cli_usage(err, "NO_CACHE", "there is no cache: %s", places->why_no_cache);
    cli_options reading = *options;
    reading.read_only = 1;
    return cli_open_store(&reading, places, options->domain, NULL, store, err);
}

typedef struct listing {
    cli_json *json; /* NULL: a table */
    const cli_options *options;
    size_t shown;
    uint64_t hits, invalid, storage_errors;
} listing;

static slw_code list_slot(void *context, const slw_slot_info *slot) {
    listing *l = context;
    struct json_object *document = cli_slot_document(slot->directory, "slipway.json");
    if (l->json != NULL) {
        put_object(l->json, NULL);
        put_entry(l->json, slot, document);
        put_end(l->json, '}');
    } else {
        const char *name = cli_member_text(document, "name"), *backend = cli_member_text(document, "backend"),
                   *target = cli_member_text(document, "target");
        printf("%.16s  %-9s %-11s %10llu  %5llu  %-8s %-20s %s%s%s\n", slot->key, slot->state,
               slot->build_kind ? slot->build_kind : "?", (unsigned long long)slot->size_bytes,
               (unsigned long long)slot->files, backend ? cli_plain(backend) : "-", target ? cli_plain(target) : "-",
               name ? cli_plain(name) : "-", slot->status != SLW_OK ? "  " : "",
               slot->status != SLW_OK ? slot_status(slot->status) : "");
    }
    l->shown++;
    if (slot->status == SLW_E_STORAGE) l->storage_errors++;
    json_object_put(document);
    return SLW_OK;
}

/* Runs a visitor over the cache between an opened document's "entries" and what `finish` adds. */
static int visit(const cli_options *options, int full, slw_slot_visitor visitor, listing *l, void (*finish)(listing *),
                 slw_error *err) {
    cli_places places;
    slw_store *store = NULL;
    cli_json json;
    int status = 0;
    l->options = options;
    l->json = NULL;
    slw_code code = cli_open_cache(options, &places, &store, err);
    if (code == SLW_OK && options->json) {
        if (put_open(&json) != 0)
            code = SLW_E_NO_MEMORY;
        else {
            l->json = &json;
            put_array(&json, "entries");
        }
    }
    if (code == SLW_OK) code = slw_store_visit(store, full, visitor, l, err);
    if (code != SLW_OK) {
        if (l->json != NULL) put_drop(l->json);
        status = cli_fail(options, err);
    } else {
        if (l->json != NULL) put_end(l->json, ']');
        finish(l);
        if (l->json != NULL) status = put_close(l->json);
    }
    slw_store_close(&store);
    cli_free_places(&places);
    return status;
}

static void finish_ls(listing *l) {
    if (l->json == NULL && l->shown == 0) printf("no entries\n");
}

int verb_ls(const cli_options *options, slw_error *err) {
    listing l = {0};
    if (!options->json)
        printf("%-16s  %-9s %-11s %10s  %5s  %-8s %-20s %s\n", "key", "state", "kind", "bytes", "files", "backend",
               "target", "name");
    const int status = visit(options, 0, list_slot, &l, finish_ls, err);
    return status == 0 && l.storage_errors > 0 ? slw_code_exit_status(SLW_E_STORAGE) : status;
}

static slw_code verify_slot(void *context, const slw_slot_info *slot) {
    listing *l = context;
    *(slot->status == SLW_OK ? &l->hits : slot->status == SLW_E_STORAGE ? &l->storage_errors : &l->invalid) += 1;
    if (l->json != NULL) {
        put_object(l->json, NULL);
        put_slot_names(l->json, slot);
        put_text(l->json, "status", slot_status(slot->status));
        put_text(l->json, "reason", slot->status == SLW_OK ? NULL : slot->reason);
        put_end(l->json, '}');
    } else {
        printf("%-13s %.16s %s %s%s%s\n", slot_status(slot->status), slot->key, slot->state, cli_plain(slot->directory),
               slot->status == SLW_OK ? "" : ": ",
               slot->status == SLW_OK || slot->reason == NULL ? "" : cli_plain(slot->reason));
    }
    return SLW_OK;
}

static void finish_verify(listing *l) {
    if (l->json == NULL) {
        printf("%llu HIT, %llu INVALID, %llu STORAGE_ERROR\n", (unsigned long long)l->hits,
               (unsigned long long)l->invalid, (unsigned long long)l->storage_errors);
        return;
    }
    put_object(l->json, "counts");
    put_u64(l->json, "HIT", l->hits);
    put_u64(l->json, "INVALID", l->invalid);
    put_u64(l->json, "STORAGE_ERROR", l->storage_errors);
    put_end(l->json, '}');
}

int verb_verify(const cli_options *options, slw_error *err) {
    listing l = {0};
    const int status = visit(options, 1, verify_slot, &l, finish_verify, err);
    return status != 0 ? status : l.invalid + l.storage_errors > 0 ? 1 : 0;
}

/* ---- show ------------------------------------------------------------------------------------------------------ */

typedef struct search {
    const cli_options *options;
    cli_json json;
    int found;
} search;

static int matches(const cli_options *options, const slw_slot_info *slot) {
    const char *key = options->files.items[0];
    return strlen(key) >= 4 && strncmp(slot->key, key, strlen(key)) == 0 &&
           (options->state == NULL || strcmp(options->state, slot->state) == 0) &&
           (options->spec == NULL || strcmp(options->spec, slot->spec) == 0);
}

static slw_code show_slot(void *context, const slw_slot_info *slot) {
    search *s = context;
    if (!matches(s->options, slot) || s->found++ > 0) return SLW_OK;
    struct json_object *document = cli_slot_document(slot->directory, "slipway.json");
    struct json_object *manifest = cli_slot_document(slot->directory, "artifact_manifest.json");
    put_entry(&s->json, slot, document);
    if (manifest != NULL) {
        const char *text =
            json_object_to_json_string_ext(manifest, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        put_raw(&s->json, "manifest", text, strlen(text));
    } else {
        put_null(&s->json, "manifest");
    }
    member_document(&s->json, "contract", document, "contract");
    member_document(&s->json, "record", document, "record");
    member_document(&s->json, "toolchain", document, "toolchain");
    json_object_put(manifest);
    json_object_put(document);
    return SLW_OK;
}

/* For people the same document, one member a line. */
static void print_shown(const cli_json *json) {
    char *text = NULL;
    if (asprintf(&text, "%s}", json->text) < 0) return;
    struct json_object *object = json_tokener_parse(text);
    json_object_object_foreach(object, name, value) {
        printf("%-13s %s\n", name,
               json_object_to_json_string_ext(value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    json_object_put(object);
    free(text);
}

static slw_code check_found(const cli_options *options, const search *s, slw_error *err) {
    if (s->found == 1) return SLW_OK;
    if (s->found > 1)
        return cli_usage(err, "AMBIGUOUS", "%d entries match %s: name more of the key, --state or --spec", s->found,
                         options->files.items[0]);
    err->code = SLW_E_MISS;
    err->reason = "NO_ENTRY";
    snprintf(err->message, sizeof err->message, "no entry of the cache has a key that begins with %s",
             options->files.items[0]);
    return err->code;
}

int verb_show(const cli_options *options, slw_error *err) {
    cli_places places;
    slw_store *store = NULL;
    search s = {.options = options};
    int status = 0;
    slw_code code = cli_open_cache(options, &places, &store, err);
    if (code == SLW_OK && put_open(&s.json) != 0) code = err->code = SLW_E_NO_MEMORY;
    if (code == SLW_OK) code = slw_store_visit(store, 0, show_slot, &s, err);
    if (code == SLW_OK) code = check_found(options, &s, err);
    if (code != SLW_OK) {
        put_drop(&s.json);
        status = cli_fail(options, err);
    } else if (options->json) {
        status = put_close(&s.json);
    } else {
        fflush(s.json.to);
        print_shown(&s.json);
        put_drop(&s.json);
    }
    slw_store_close(&store);
    cli_free_places(&places);
    return status;
}
