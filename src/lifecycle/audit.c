/* The audit of a hit. It finds inputs that the key does not hold, and stages that give other bytes each time.
 *
 * What is built is never published and always removed, also where the store keeps private builds: it is nobody's
 * result. The hit has been had before an audit begins, and whatever comes out of it the hit is handed out. */
#include "audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "entry_document.h"
#include "fail.h"
#include "file.h"
#include "memory.h"

#define DIAGNOSTICS_BYTES 65536u

typedef struct audit {
    slwi_request request; /* of the rebuild: a copy that borrows all but its marks and what it lowers */
    slw_code confirmed;
    slw_error why; /* it was not confirmed */
    char directory[SLW_LIMIT_PATH_BYTES];
} audit;

/* ---- whether ----------------------------------------------------------------------------------------------------- */

int slwi_audit_drawn(uint32_t random, uint32_t audits_per_million) {
    return (uint32_t)(((uint64_t)random * 1000000u) >> 32) < audits_per_million;
}

/* Without a random number there is no audit: it is the one thing nobody waits for. */
static int is_wanted(const slwi_request *request) {
    const uint32_t per_million = request->compiler->audits_per_million;
    if (request->options.audit || per_million >= 1000000u) return 1;
    if (per_million == 0) return 0;
    const slwi_os *os = slwi_os_get();
    uint32_t random = 0;
    return os->random(os, &random, sizeof random) >= 0 && slwi_audit_drawn(random, per_million);
}

/* ---- the rebuild ------------------------------------------------------------------------------------------------- */

static slw_code build(void *context, const slw_build_context *given, slw_error *err) {
    audit *a = context;
    (void)snprintf(a->directory, sizeof a->directory, "%s", given->directory);
    return slwi_request_build(&a->request, given, err);
}

/* A toolchain that is another by now, or a header outside: then the comparison would say nothing, and this is told. */
static slw_code confirm(void *context, const slw_build_context *given, slw_error *err) {
    audit *a = context;
    a->confirmed = slwi_request_confirm(&a->request, given, &a->why);
    slwi_error_copy(err, &a->why);
    return a->confirmed;
}

static slw_code rebuild(audit *a, slw_build_report *report, slwi_entry **out, slw_error *err) {
    const slwi_request *request = &a->request;
    slw_builder builder = SLW_BUILDER_INIT;
    builder.context = a;
    builder.build = build;
    builder.confirm = confirm;
    builder.timeout_ns = request->options.timeout_ns;
    builder.cancel = request->options.cancel;
    slw_code rc = slwi_store_build_private(request->compiler->store, request->key, request->spec, &builder, "AUDIT",
                                           report, out, err);
    if (rc == SLW_OK && a->confirmed != SLW_OK) {
        slwi_error_copy(err, &a->why);
        rc = a->confirmed;
    }
    return rc;
}

static void remove_rebuild(const audit *a) {
    const slwi_os *os = slwi_os_get();
    if (a->directory[0] != '\0') (void)slwi_remove_tree(os, AT_FDCWD, a->directory);
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

typedef struct comparison {
    const slw_allocator *allocator;
    slwi_entry *entry;
    slwi_entry *again;
    slwi_difference kind; /* the gravest so far */
    slw_error *err;       /* the first place of that kind */
} comparison;

static void set_place(const comparison *c, const char *reason, const char *name, uint64_t offset, uint64_t now_bytes,
                      uint64_t stored_bytes) {
    slwi_error_reset(c->err);
    slwi_error_subject(c->err, name, strlen(name));
    slwi_error_place(c->err, 0, 0, offset);
    slwi_error_amount(c->err, "payload", now_bytes, stored_bytes, "bytes");
    c->err->reason = reason;
}

/* The message, and the code; DEBUG_ONLY is no failure. */
static void say_difference(comparison *c, const char *name, const slwi_binary_difference *difference, uint64_t now,
                           uint64_t stored) {
    if (difference->kind <= c->kind) return;
    c->kind = difference->kind;
    const unsigned long long at = difference->offset_bytes;
    if (c->kind == SLWI_DEBUG_ONLY) {
        set_place(c, "DEBUG_ONLY", name, difference->offset_bytes, now, stored);
        (void)snprintf(c->err->message, sizeof c->err->message,
                       "%.128s differs from byte %llu on, in %.128s, and in debug sections alone", name, at,
                       difference->section);
        return;
    }
    set_place(c, "NOT_REPRODUCED", name, difference->offset_bytes, now, stored);
    slwi_error_hint(c->err, "a stage that is not deterministic, or an input that the key does not hold");
    (void)slwi_fail(c->err, SLW_E_INVALID_ENTRY, "NOT_REPRODUCED",
                    "built again, %.128s differs from byte %llu on%s%.128s: %llu bytes now, %llu in the entry", name,
                    at, difference->section[0] != '\0' ? ", in the section " : "", difference->section,
                    (unsigned long long)now, (unsigned long long)stored);
}

static void say_absent(comparison *c, const char *name, const slw_file *stored, const slw_file *now) {
    if (c->kind == SLWI_DIFFERS) return;
    c->kind = SLWI_DIFFERS;
    set_place(c, "NOT_REPRODUCED", name, 0, now != NULL ? now->size_bytes : 0, stored != NULL ? stored->size_bytes : 0);
    (void)slwi_fail(c->err, SLW_E_INVALID_ENTRY, "NOT_REPRODUCED",
                    stored != NULL ? "built again, there is no %.256s" : "built again, there is a %.256s besides",
                    name);
}

/* What slipway.json tells of the key both have: where its tools lay, and its records, which are left out when too long.
   Under one key they may rightly be told otherwise; what was made of them is compared. */
static int explains_the_key(slw_bytes member) {
    return (member.size == 9 && memcmp(member.data, "toolchain", 9) == 0) ||
           (member.size == 6 && memcmp(member.data, "inputs", 6) == 0);
}

/* 1 when slipway.json says the same of both. */
static int same_documents(const comparison *c, slw_bytes a, slw_bytes b) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slwi_json_document *documents[2] = {NULL, NULL};
    slwi_buffer texts[2];
    int good = 1;
    for (int i = 0; i < 2; i++) {
        slwi_buffer_init(&texts[i], c->allocator, SLW_LIMIT_JSON_BYTES);
        if (slwi_json_parse(c->allocator, i == 0 ? a : b, &limits, &documents[i], NULL) != SLW_OK) good = 0;
    }
    for (int i = 0; i < 2 && good; i++) {
        const slwi_json *root = slwi_json_root(documents[i]);
        void *cursor = NULL;
        slw_bytes name;
        const slwi_json *value = NULL;
        slwi_json_writer writer;
        slwi_json_begin(&writer, &texts[i], 1);
        slwi_json_object_begin(&writer);
        while (slwi_json_member(root, &cursor, &name, &value)) {
            if (explains_the_key(name)) continue;
            slwi_json_key(&writer, name.data);
            slwi_json_put_node(&writer, value);
        }
        slwi_json_object_end(&writer);
        good = slwi_json_kind(root) == SLWI_JSON_OBJECT && texts[i].failed == 0;
    }
    good = good && texts[0].size == texts[1].size && memcmp(texts[0].data, texts[1].data, texts[0].size) == 0;
    for (int i = 0; i < 2; i++) {
        slwi_buffer_free(&texts[i]);
        slwi_json_free(&documents[i]);
    }
    return good;
}

/* The bytes of both are read only where their digests differ. */
static slw_code compare_bytes(comparison *c, const char *name, const slw_file *stored, const slw_file *now) {
    if (stored->size_bytes == now->size_bytes && memcmp(&stored->sha256, &now->sha256, sizeof stored->sha256) == 0)
        return SLW_OK;
    slwi_image *images[2] = {NULL, NULL};
    slw_error why = SLW_ERROR_INIT;
    slw_code rc = slwi_entry_read(c->entry, name, &images[0], &why);
    if (rc == SLW_OK) rc = slwi_entry_read(c->again, name, &images[1], &why);
    if (rc == SLW_OK) {
        const slw_bytes a = slwi_image_bytes(images[0]), b = slwi_image_bytes(images[1]);
        slwi_binary_difference difference;
        slwi_binary_compare(a, b, &difference);
        if (strcmp(name, SLWI_ENTRY_DOCUMENT_NAME) != 0 || !same_documents(c, a, b))
            say_difference(c, name, &difference, now->size_bytes, stored->size_bytes);
    } else {
        slwi_error_reset(c->err);
        slwi_error_copy(c->err, &why);
    }
    slwi_release(images[0]);
    slwi_release(images[1]);
    return rc;
}

/* A payload of either, by name: NUL-terminated, as names of inventories are. */
static slw_code compare_payload(comparison *c, const char *name) {
    slw_file stored, now;
    const int was = slwi_entry_find(c->entry, name, &stored);
    const int is = slwi_entry_find(c->again, name, &now);
    if (was && is) return compare_bytes(c, name, &stored, &now);
    if (was || is) say_absent(c, name, was ? &stored : NULL, is ? &now : NULL);
    return SLW_OK;
}

/* In the order of the stages, since what one makes differently the next cannot make alike; then all there is, by name.
   The gravest difference is told, and of those the first. */
static slw_code compare(comparison *c, const slw_backend_vtable *backend) {
    slw_code rc = SLW_OK;
    for (size_t i = 0; rc == SLW_OK && c->kind != SLWI_DIFFERS && i < backend->stage_count; i++)
        rc = compare_payload(c, backend->stages[i].payload);
    slwi_entry *const both[2] = {c->entry, c->again};
    for (int which = 0; which < 2; which++) {
        slw_file file;
        for (size_t i = 0; rc == SLW_OK && c->kind != SLWI_DIFFERS && slwi_entry_file(both[which], i, &file); i++)
            rc = compare_payload(c, file.path.data);
    }
    return rc;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static slw_code run(audit *a, slwi_entry *entry, slwi_difference *kind, uint64_t *bytes, slw_error *err) {
    const slw_compiler *compiler = a->request.compiler;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    slwi_entry *again = NULL;
    slw_code rc = rebuild(a, &report, &again, err);
    if (rc == SLW_OK) {
        *bytes = slwi_entry_size_bytes(again);
        comparison c = {.allocator = &compiler->allocator, .entry = entry, .again = again, .err = err};
        rc = compare(&c, compiler->backend);
        *kind = c.kind;
    }
    slwi_release(again);
    slw_build_report_release(&report);
    remove_rebuild(a);
    return rc;
}

static const char *outcome_of(slw_code rc, slwi_difference kind) {
    if (rc != SLW_OK) return "FAILED";
    return kind == SLWI_DIFFERS ? "DIFFERS" : kind == SLWI_DEBUG_ONLY ? "DEBUG_ONLY" : "SAME";
}

static void init_audit(audit *a, const slwi_request *request) {
    static const slw_error fresh = SLW_ERROR_INIT;
    const slw_text no_text = SLW_TEXT_INIT;
    a->request = *request;
    a->request.lowered = no_text;
    a->request.build_ns = 0;
    memset(a->request.marks, 0, sizeof a->request.marks);
    memset(&a->request.lowering, 0, sizeof a->request.lowering);
    a->why = fresh;
}

uint64_t slwi_audit(const slwi_request *request, slwi_entry *entry) {
    if (!is_wanted(request)) return 0;
    slw_compiler *compiler = request->compiler;
    const uint64_t start_ns = slwi_now_ns();
    slwi_moment moment = slwi_moment_begin(compiler->metrics, SLW_PHASE_AUDIT);
    moment.backend = compiler->backend->name;
    moment.target = compiler->backend->job_target(request->job);
    moment.key = slw_key_digest(request->key);

    slw_error record = SLW_ERROR_INIT;
    slwi_difference kind = SLWI_SAME;
    slw_code rc = SLW_OK;
    audit *a = slwi_alloc_zero(&compiler->allocator, sizeof *a);
    /* Without memory for the compiler's words they are not told. */
    record.diagnostics = slwi_alloc(&compiler->allocator, DIAGNOSTICS_BYTES);
    record.diagnostics_capacity = record.diagnostics != NULL ? DIAGNOSTICS_BYTES : 0;
    if (record.diagnostics != NULL) record.diagnostics[0] = '\0';
    if (a != NULL) {
        init_audit(a, request);
        rc = run(a, entry, &kind, &moment.bytes, &record);
        slw_text_release(&a->request.lowered);
    } else {
        rc = slwi_fail_memory(&record, sizeof *a);
    }
    slwi_error_phase(&record, "audit");
    moment.outcome = outcome_of(rc, kind);
    if (rc == SLW_OK && kind == SLWI_DIFFERS) rc = SLW_E_INVALID_ENTRY;
    (void)slwi_moment_send(&moment, rc, rc == SLW_OK && kind == SLWI_SAME ? NULL : &record);
    slwi_free(&compiler->allocator, record.diagnostics);
    slwi_free(&compiler->allocator, a);
    return slwi_now_ns() - start_ns;
}
