/* Explaining: the request's key as slw_compile makes it, the store's answer, and the nearest of its entries. */
#define SLIPWAY_NO_GUARDS
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "compile_state.h"
#include "entry_document.h"
#include "explain_state.h"
#include "fail.h"
#include "memory.h"

#define NEAREST_DEFAULT 3u

static slw_code create(const slw_allocator *allocator, const slw_explain_options *how, slw_explanation **out,
                       slw_error *err) {
    if (how != NULL && how->size != sizeof *how)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_explain_options.size is not this version's");
    const size_t wanted = how != NULL && how->nearest != 0 ? how->nearest : NEAREST_DEFAULT;
    if (wanted > SLW_LIMIT_NEAREST) {
        slwi_error_amount(err, "nearest entries", wanted, SLW_LIMIT_NEAREST, "entries");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "an explanation has at most %u entries", SLW_LIMIT_NEAREST);
    }
    slw_explanation *made = slwi_alloc_zero(allocator, sizeof *made);
    slwi_near *nearest = slwi_alloc_array(allocator, wanted + 1, sizeof *nearest);
    if (made == NULL || nearest == NULL) {
        slwi_free(allocator, made);
        slwi_free(allocator, nearest);
        return slwi_fail_memory(err, (wanted + 1) * sizeof *nearest);
    }
    made->tag = SLWI_TAG_EXPLANATION;
    made->allocator = *allocator;
    made->nearest = nearest;
    made->wanted = wanted;
    *out = made;
    return SLW_OK;
}

static int is_explanation(const slw_explanation *explanation) {
    return explanation != NULL && explanation->tag == SLWI_TAG_EXPLANATION;
}

void slw_explanation_release(slw_explanation **explanation) {
    if (explanation == NULL || !is_explanation(*explanation)) return;
    slw_explanation *gone = *explanation;
    const slw_allocator allocator = gone->allocator;
    *explanation = NULL;
    for (size_t i = 0; i < gone->count; i++) slwi_near_free(&allocator, &gone->nearest[i]);
    slwi_free(&allocator, gone->nearest);
    gone->tag = 0;
    slwi_free(&allocator, gone);
}

/* ---- the nearest ------------------------------------------------------------------------------------------------ */

typedef struct walk {
    slw_explanation *explanation;
    const slwi_side *request;
    slw_error *err;
} walk;

/* Nearer: the same name and backend, then fewer differences, then used later, then by key and spec. */
static int is_nearer(const slwi_near *a, const slwi_near *b) {
    if (a->apart != b->apart) return a->apart < b->apart;
    if (a->total != b->total) return a->total < b->total;
    if (a->last_used_ns != b->last_used_ns) return a->last_used_ns > b->last_used_ns;
    const int order = strcmp(a->texts.data + a->key, b->texts.data + b->key);
    return order != 0 ? order < 0 : strcmp(a->texts.data + a->spec, b->texts.data + b->spec) < 0;
}

/* Takes over `near`; the last one goes where there are too many. */
static void keep(slw_explanation *explanation, const slwi_near *near) {
    size_t at = explanation->count;
    while (at > 0 && is_nearer(near, &explanation->nearest[at - 1])) {
        explanation->nearest[at] = explanation->nearest[at - 1];
        at--;
    }
    explanation->nearest[at] = *near;
    explanation->count++;
    if (explanation->count <= explanation->wanted) return;
    explanation->count--;
    slwi_near_free(&explanation->allocator, &explanation->nearest[explanation->count]);
}

static slw_code compare_slot(walk *w, const slwi_side *side, const slw_slot_info *slot) {
    slw_explanation *explanation = w->explanation;
    slwi_near near;
    const slw_code rc = slwi_compare(&explanation->allocator, side, w->request, &near, w->err);
    if (rc != SLW_OK) {
        slwi_near_free(&explanation->allocator, &near);
        return rc;
    }
    near.last_used_ns = slot->last_used_ns;
    explanation->compared++;
    keep(explanation, &near);
    return SLW_OK;
}

/* A damaged entry, one that nobody made with a compile, one that went meanwhile: no reason to explain nothing. */
static slw_code visit_slot(void *context, const slw_slot_info *slot) {
    walk *w = context;
    slw_error why = SLW_ERROR_INIT;
    slwi_side side;
    if (slot->status != SLW_OK) {
        w->explanation->skipped++;
        return SLW_OK;
    }
    if (strcmp(slot->key, w->request->key) == 0 && strcmp(slot->spec, w->request->spec) == 0) return SLW_OK;
    slwi_side_init(&side, &w->explanation->allocator);
    slw_code rc = slwi_side_read(&side, &w->explanation->allocator, slot, &why);
    if (rc == SLW_OK) {
        rc = compare_slot(w, &side, slot);
    } else if (rc != SLW_E_NO_MEMORY) {
        w->explanation->skipped++;
        rc = SLW_OK;
    }
    slwi_side_free(&side);
    return rc;
}

static slw_code find_nearest(slw_explanation *explanation, slw_store *store, const slwi_side *request, slw_error *err) {
    walk w = {explanation, request, err};
    return slw_store_visit(store, 0, visit_slot, &w, err);
}

/* ---- a request -------------------------------------------------------------------------------------------------- */

static void take_names(slwi_side *side, const slw_key *key, const slw_spec *spec) {
    (void)snprintf(side->key, sizeof side->key, "%s", slw_key_digest(key));
    (void)snprintf(side->spec, sizeof side->spec, "%s", slw_spec_digest(spec));
    side->state = slw_state_name(slw_spec_state(spec));
    side->build_kind = slw_build_kind_name(slw_spec_build_kind(spec));
    for (size_t i = 0; i < slw_spec_required_count(spec); i++) {
        const slw_bytes name = slw_spec_required(spec, i);
        if (i > 0) slwi_buffer_append_text(&side->required, ", ");
        slwi_buffer_append(&side->required, name.data, name.size);
    }
}

/* The request as an entry of it would describe itself. */
static slw_code take_request(slwi_side *side, const slwi_request *request, slw_error *err) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    const slw_allocator *allocator = &request->compiler->allocator;
    const slw_backend_vtable *backend = request->compiler->backend;
    const slwi_entry_document document = {
        .name = request->name,
        .key = request->key,
        .identity = request->toolchain->identity,
        .compiler = backend->toolchain_path(request->toolchain->state),
        .source = request->source_record,
        .options = request->option_record,
        .lowered = request->lowered_record,
    };
    slwi_buffer text;
    slwi_buffer_init(&text, allocator, SLW_LIMIT_JSON_BYTES);
    slwi_entry_document_write_inputs(&document, backend->job_target(request->job), &text);
    slw_code rc = slwi_buffer_status(&text, err);
    if (rc == SLW_OK) rc = slwi_json_parse(allocator, (slw_bytes){text.data, text.size}, &limits, &side->document, err);
    slwi_buffer_free(&text);
    if (rc != SLW_OK) return rc;
    side->root = slwi_json_root(side->document);
    side->backend = backend->name;
    side->reader_revision = backend->reader_revision;
    take_names(side, request->key, request->spec);
    return slwi_buffer_status(&side->required, err);
}

/* What the store says of the key, as slw_compile would hear it. */
static slw_code ask_store(slw_explanation *explanation, const slwi_request *request, slw_error *err) {
    slw_error why = SLW_ERROR_INIT;
    slwi_entry *entry = NULL;
    const slw_code rc = slwi_store_lookup(request->compiler->store, request->key, request->spec, &entry, &why);
    slwi_release(entry);
    if (rc == SLW_OK) explanation->verdict = SLW_EXPLAIN_HIT;
    if (rc == SLW_E_MISS) explanation->verdict = SLW_EXPLAIN_MISS;
    if (rc == SLW_E_INVALID_ENTRY) {
        explanation->verdict = SLW_EXPLAIN_INVALID;
        (void)snprintf(explanation->reason, sizeof explanation->reason, "%s", why.message);
    }
    if (rc == SLW_OK || rc == SLW_E_MISS || rc == SLW_E_INVALID_ENTRY) return SLW_OK;
    slwi_error_copy(err, &why);
    return rc;
}

static slw_code explain_request(slw_explanation *explanation, slwi_request *request, slw_error *err) {
    slwi_side side;
    slw_code rc = slwi_request_prepare(request, err);
    if (rc != SLW_OK) return rc;
    (void)snprintf(explanation->spec, sizeof explanation->spec, "%s", slw_spec_digest(request->spec));
    if (request->key != NULL)
        (void)snprintf(explanation->key, sizeof explanation->key, "%s", slw_key_digest(request->key));
    if (request->reason[0] != '\0') {
        explanation->verdict = SLW_EXPLAIN_PRIVATE;
        (void)snprintf(explanation->reason, sizeof explanation->reason, "%s", request->reason);
    } else {
        rc = ask_store(explanation, request, err);
    }
    if (rc != SLW_OK || request->key == NULL || explanation->verdict == SLW_EXPLAIN_HIT) return rc;
    slwi_side_init(&side, &explanation->allocator);
    rc = take_request(&side, request, err);
    if (rc == SLW_OK) rc = find_nearest(explanation, request->compiler->store, &side, err);
    slwi_side_free(&side);
    return rc;
}

slw_code slw_explain(slw_compiler *compiler, const slw_source *source, const slw_compile_options *options,
                     const slw_explain_options *how, slw_explanation **out, slw_error *err) {
    static const slw_compile_options defaults = SLW_COMPILE_OPTIONS_INIT;
    slwi_error_reset(err);
    if (compiler == NULL || compiler->tag != SLWI_TAG_COMPILER) return slwi_wrong_object(err, "compiler");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_explain needs `out`");
    if (options == NULL) options = &defaults;
    slw_explanation *explanation = NULL;
    slw_code rc = slwi_compile_check(source, options, compiler->backend, err);
    if (rc == SLW_OK) rc = create(&compiler->allocator, how, &explanation, err);
    if (rc != SLW_OK || explanation == NULL) return rc;
    slwi_request request;
    memset(&request, 0, sizeof request);
    request.compiler = compiler;
    request.source = source;
    request.options = *options;
    request.created_ns = slwi_now_ns();
    rc = explain_request(explanation, &request, err);
    slwi_request_end(&request);
    if (rc == SLW_OK)
        *out = explanation;
    else
        slw_explanation_release(&explanation);
    return rc;
}

/* ---- a key ------------------------------------------------------------------------------------------------------ */

typedef struct search {
    const slw_allocator *allocator;
    const char *prefix;
    slwi_side side; /* the first slot of the key that was found */
    char key[SLW_DIGEST_TEXT_SIZE];
    int found; /* 1: there, 2: read */
    int is_ambiguous;
    slw_code damage; /* of a slot of the key that cannot be read; SLW_OK: none */
    slw_error why;
    slw_error *err;
} search;

/* The first good slot of the key is what is compared: the specs of one key have the same inputs. */
static slw_code find_slot(void *context, const slw_slot_info *slot) {
    search *s = context;
    if (strncmp(slot->key, s->prefix, strlen(s->prefix)) != 0) return SLW_OK;
    if (s->found && strcmp(s->key, slot->key) != 0) {
        if (!s->is_ambiguous) slwi_error_tried(s->err, s->key);
        slwi_error_tried(s->err, slot->key);
        s->is_ambiguous = 1;
        return SLW_OK;
    }
    (void)snprintf(s->key, sizeof s->key, "%s", slot->key);
    if (s->found == 2) return SLW_OK;
    s->found = 1;
    slw_code rc = slot->status;
    slw_error why = SLW_ERROR_INIT;
    if (rc == SLW_OK)
        rc = slwi_side_read(&s->side, s->allocator, slot, &why);
    else
        (void)slwi_fail(&why, rc, NULL, "%s", slot->reason != NULL ? slot->reason : "the entry cannot be read");
    if (rc == SLW_OK) {
        s->found = 2;
        return SLW_OK;
    }
    slwi_side_free(&s->side);
    slwi_side_init(&s->side, s->allocator);
    if (s->damage == SLW_OK) slwi_error_copy(&s->why, &why);
    if (s->damage == SLW_OK) s->damage = rc;
    return rc == SLW_E_NO_MEMORY ? slwi_fail_memory(s->err, 0) : SLW_OK;
}

static slw_code check_key(const char *key, slw_error *err) {
    const size_t size = strlen(key);
    if (size >= 4 && size < SLW_DIGEST_TEXT_SIZE && strspn(key, "0123456789abcdef") == size) return SLW_OK;
    slwi_error_subject(err, key, size);
    return slwi_fail(err, SLW_E_USAGE, "BAD_DIGEST", "a key is 4 to 64 lowercase hexadecimal digits");
}

static slw_code explain_found(slw_explanation *explanation, slw_store *store, search *s, slw_error *err) {
    explanation->verdict = SLW_EXPLAIN_MISS;
    if (s->is_ambiguous)
        return slwi_fail(err, SLW_E_USAGE, "AMBIGUOUS", "several keys of the store begin with %s", s->prefix);
    if (!s->found) return SLW_OK;
    (void)snprintf(explanation->key, sizeof explanation->key, "%s", s->key);
    if (s->found == 1) {
        slwi_error_copy(err, &s->why);
        return s->damage;
    }
    explanation->verdict = SLW_EXPLAIN_ENTRY;
    (void)snprintf(explanation->spec, sizeof explanation->spec, "%s", s->side.spec);
    return find_nearest(explanation, store, &s->side, err);
}

slw_code slw_explain_key(slw_store *store, const char *key, const slw_explain_options *how, slw_explanation **out,
                         slw_error *err) {
    slwi_error_reset(err);
    if (store == NULL || key == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_explain_key needs a store, a key and `out`");
    slw_code rc = check_key(key, err);
    slw_explanation *explanation = NULL;
    if (rc == SLW_OK) rc = create(slwi_store_allocator(store), how, &explanation, err);
    if (rc != SLW_OK || explanation == NULL) return rc;
    search s = {.allocator = &explanation->allocator, .prefix = key, .why = SLW_ERROR_INIT, .err = err};
    slwi_side_init(&s.side, s.allocator);
    rc = slw_store_visit(store, 0, find_slot, &s, err);
    if (rc == SLW_OK) rc = explain_found(explanation, store, &s, err);
    slwi_side_free(&s.side);
    if (rc == SLW_OK)
        *out = explanation;
    else
        slw_explanation_release(&explanation);
    return rc;
}
