/* Reading an explanation. */
#include "explain_state.h"

static int is_explanation(const slw_explanation *explanation) {
    return explanation != NULL && explanation->tag == SLWI_TAG_EXPLANATION;
}

const char *slw_explain_verdict_name(slw_explain_verdict verdict) {
    switch (verdict) {
    case SLW_EXPLAIN_HIT:
        return "HIT";
    case SLW_EXPLAIN_MISS:
        return "MISS";
    case SLW_EXPLAIN_INVALID:
        return "INVALID";
    case SLW_EXPLAIN_PRIVATE:
        return "PRIVATE";
    case SLW_EXPLAIN_ENTRY:
        return "ENTRY";
    }
    return NULL;
}

slw_explain_verdict slw_explanation_verdict(const slw_explanation *explanation) {
    return is_explanation(explanation) ? explanation->verdict : SLW_EXPLAIN_MISS;
}

static const char *or_null(const slw_explanation *explanation, const char *text) {
    return is_explanation(explanation) && text[0] != '\0' ? text : NULL;
}

const char *slw_explanation_key(const slw_explanation *explanation) {
    return explanation != NULL ? or_null(explanation, explanation->key) : NULL;
}

const char *slw_explanation_spec(const slw_explanation *explanation) {
    return explanation != NULL ? or_null(explanation, explanation->spec) : NULL;
}

const char *slw_explanation_reason(const slw_explanation *explanation) {
    return explanation != NULL ? or_null(explanation, explanation->reason) : NULL;
}

uint64_t slw_explanation_compared(const slw_explanation *explanation) {
    return is_explanation(explanation) ? explanation->compared : 0;
}

uint64_t slw_explanation_skipped(const slw_explanation *explanation) {
    return is_explanation(explanation) ? explanation->skipped : 0;
}

size_t slw_explanation_count(const slw_explanation *explanation) {
    return is_explanation(explanation) ? explanation->count : 0;
}

static const char *text_at(const slwi_near *near, size_t at) {
    return at != SLWI_NO_TEXT ? near->texts.data + at : NULL;
}

int slw_explanation_entry(const slw_explanation *explanation, size_t index, slw_near_entry *out) {
    if (index >= slw_explanation_count(explanation) || out == NULL || out->size != sizeof *out) return 0;
    const slwi_near *near = &explanation->nearest[index];
    out->key = text_at(near, near->key);
    out->spec = text_at(near, near->spec);
    out->state = text_at(near, near->state);
    out->name = text_at(near, near->name);
    out->backend = text_at(near, near->backend);
    out->target = text_at(near, near->target);
    out->last_used_ns = near->last_used_ns;
    out->differences = near->count;
    out->left_out = near->total - near->count;
    return 1;
}

int slw_explanation_difference(const slw_explanation *explanation, size_t entry, size_t index, slw_difference *out) {
    if (entry >= slw_explanation_count(explanation) || out == NULL || out->size != sizeof *out) return 0;
    const slwi_near *near = &explanation->nearest[entry];
    if (index >= near->count) return 0;
    out->field = text_at(near, near->items[index].field);
    out->old_value = text_at(near, near->items[index].old_value);
    out->new_value = text_at(near, near->items[index].new_value);
    return 1;
}
