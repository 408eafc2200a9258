/* The record of a source in a front end's own form. */
#include <string.h>

#include <slipway/compile.h>

#include "fail.h"

static slw_code set(slw_record *dict, const char *name, slw_record **item, slw_error *err) {
    return slw_record_set(dict, (slw_bytes){name, strlen(name)}, item, err);
}

static slw_code set_text(const slw_allocator *allocator, slw_record *dict, const char *name, const char *text,
                         slw_error *err) {
    slw_record *item = NULL;
    slw_code rc = slw_record_string(allocator, (slw_bytes){text, strlen(text)}, &item, err);
    if (rc == SLW_OK) rc = set(dict, name, &item, err);
    slw_record_release(&item);
    return rc;
}

/* A dict, so that the order of listing is no part of it and a name that comes twice is refused. */
static slw_code set_named(const slw_allocator *allocator, slw_record *dict, const char *name,
                          const slw_named_record *list, size_t count, slw_error *err) {
    slw_record *items = NULL;
    slw_code rc = slw_record_dict(allocator, &items, err);
    for (size_t i = 0; rc == SLW_OK && i < count; i++) {
        slw_record *copy = NULL;
        if (list[i].name == NULL || list[i].value == NULL) {
            slwi_error_subject(err, name, strlen(name));
            rc = slwi_fail(err, SLW_E_USAGE, "EMPTY", "%s: entry %llu has no name or no value", name,
                           (unsigned long long)i);
            break;
        }
        rc = slw_record_copy(allocator, list[i].value, &copy, err);
        if (rc == SLW_OK) rc = set(items, list[i].name, &copy, err);
        slw_record_release(&copy);
    }
    if (rc == SLW_OK) rc = set(dict, name, &items, err);
    slw_record_release(&items);
    return rc;
}

static slw_code fill(const slw_allocator *allocator, const slw_lowered_source *source, slw_record *dict,
                     slw_error *err) {
    slw_record *body = NULL;
    slw_code rc = set_text(allocator, dict, "language", source->language, err);
    if (rc == SLW_OK) rc = slw_record_copy(allocator, source->body, &body, err);
    if (rc == SLW_OK) rc = set(dict, "body", &body, err);
    slw_record_release(&body);
    if (rc == SLW_OK) rc = set_named(allocator, dict, "signature", source->signature, source->signature_count, err);
    if (rc == SLW_OK) rc = set_named(allocator, dict, "constants", source->constants, source->constant_count, err);
    if (rc == SLW_OK) rc = set_named(allocator, dict, "attributes", source->attributes, source->attribute_count, err);
    return rc;
}

slw_code slw_lowered_source_record(const slw_allocator *allocator, const slw_lowered_source *source, slw_record **out,
                                   slw_error *err) {
    slwi_error_reset(err);
    if (source == NULL || source->size != sizeof *source)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_lowered_source is NULL or of another version");
    if (out == NULL || source->language == NULL || source->body == NULL || source->lower == NULL)
        return slwi_fail(err, SLW_E_USAGE, "EMPTY", "a lowered source needs its language, its body and what lowers it");
    if ((source->signature_count > 0 && source->signature == NULL) ||
        (source->constant_count > 0 && source->constants == NULL) ||
        (source->attribute_count > 0 && source->attributes == NULL) ||
        (source->flag_count > 0 && source->flags == NULL))
        return slwi_fail(err, SLW_E_USAGE, "EMPTY", "a list of the lowered source is NULL");
    slw_record *dict = NULL;
    slw_code rc = slw_record_dict(allocator, &dict, err);
    if (rc == SLW_OK) rc = fill(allocator, source, dict, err);
    if (rc != SLW_OK) {
        slw_record_release(&dict);
        return rc;
    }
    *out = dict;
    return SLW_OK;
}
