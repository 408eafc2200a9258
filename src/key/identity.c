/* The identity object: declaring, proving, sealing and asking. What is added to it stands in identity_add.c. */
#include <slipway/identity.h>

#include <string.h>

#include "fail.h"
#include "identity_input.h"
#include "identity_snapshot.h"
#include "identity_state.h"
#include "memo.h"
#include "memory.h"

int slwi_identity_ok(const slw_identity *identity) {
    return identity != NULL && identity->tag == SLWI_IDENTITY_TAG;
}

slw_code slw_identity_create(const slw_identity_options *options, slw_identity **out, slw_error *err) {
    slw_allocator allocator;
    slwi_error_reset(err);
    if (options == NULL || out == NULL || options->size != sizeof *options) {
        return slwi_fail(err, SLW_E_USAGE, NULL,
                         "slw_identity_create: options with the right size, and out, are required");
    }
    if (options->policy < SLW_IDENTITY_MEMO || options->policy > SLW_IDENTITY_CLAIM) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_create: there is no policy %d", options->policy);
    }
    if (options->memo != NULL && !slwi_memo_ok(options->memo)) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_create: the memo is not open");
    }
    const slw_code rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_identity *identity = slwi_alloc_zero(&allocator, sizeof *identity);
    if (identity == NULL) return slwi_fail_memory(err, sizeof *identity);
    if (pthread_mutex_init(&identity->lock, NULL) != 0) {
        slwi_free(&allocator, identity);
        return slwi_fail_memory(err, sizeof identity->lock);
    }
    const slw_identity_cost nothing = SLW_IDENTITY_COST_INIT;
    identity->allocator = allocator;
    identity->policy = options->policy;
    identity->memo = options->policy == SLW_IDENTITY_CONTENT ? NULL : options->memo;
    identity->lent_cost = nothing;
    identity->self = identity;
    slwi_gather_init(&identity->gather, &identity->allocator, identity->memo);
    identity->tag = SLWI_IDENTITY_TAG;
    *out = identity;
    return SLW_OK;
}

void slw_identity_release(slw_identity **identity) {
    if (identity == NULL || !slwi_identity_ok(*identity)) return;
    slw_identity *gone = *identity;
    const slw_allocator allocator = gone->allocator;
    slwi_identity_free_lent(gone);
    for (size_t i = 0; i < gone->component_count; i++) {
        slwi_free(&allocator, gone->components[i]->inputs);
        slwi_free(&allocator, gone->components[i]->items);
    }
    slwi_gather_free(&gone->gather);
    (void)pthread_mutex_destroy(&gone->lock);
    gone->tag = 0;
    slwi_free(&allocator, gone);
    *identity = NULL;
}

static slwi_component *find_component(const slw_identity *identity, const char *name) {
    for (size_t i = 0; i < identity->component_count; i++) {
        if (strcmp(identity->components[i]->name, name) == 0) return identity->components[i];
    }
    return NULL;
}

static int name_ok(const char *name) {
    const size_t size = strlen(name);
    return size > 0 && size <= SLW_LIMIT_COMPONENT_NAME_BYTES && strcmp(name, "schema") != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == size;
}

static slw_code check_open(const slw_identity *identity, const char *component, slw_error *err) {
    if (!slwi_identity_ok(identity) || component == NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "an identity and the name of a component are required");
    }
    if (identity->sealed) return slwi_fail(err, SLW_E_USAGE, "SEALED", "the identity is sealed: nothing can be added");
    return SLW_OK;
}

static slw_code no_component(slw_error *err, const char *name) {
    slwi_error_subject(err, name, strlen(name));
    return slwi_fail(err, SLW_E_USAGE, "BAD_COMPONENT", "the component %s has not been declared", name);
}

slw_code slwi_identity_enter(slw_identity *identity, const char *component, slwi_component **out, slw_error *err) {
    const slw_code rc = check_open(identity, component, err);
    if (rc != SLW_OK) return rc;
    slwi_component *found = find_component(identity, component);
    if (found == NULL) return no_component(err, component);
    if (found->said) {
        slwi_error_subject(err, component, strlen(component));
        return slwi_fail(err, SLW_E_USAGE, "PROVED", "the inventory of %s has been said to be complete", component);
    }
    *out = found;
    return SLW_OK;
}

slw_code slw_identity_component(slw_identity *identity, const char *name, slw_error *err) {
    slwi_error_reset(err);
    const slw_code rc = check_open(identity, name, err);
    if (rc != SLW_OK) return rc;
    if (!name_ok(name)) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_USAGE, "BAD_COMPONENT",
                         "a component's name has 1 to %u of a-z, 0-9 and _, and is not "
                         "\"schema\"",
                         SLW_LIMIT_COMPONENT_NAME_BYTES);
    }
    if (find_component(identity, name) != NULL) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_USAGE, "DUPLICATE", "the component %s has been declared", name);
    }
    if (identity->component_count == SLW_LIMIT_COMPONENTS) {
        slwi_error_amount(err, "components", SLW_LIMIT_COMPONENTS + 1u, SLW_LIMIT_COMPONENTS, "components");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "an identity has at most %u components", SLW_LIMIT_COMPONENTS);
    }
    slwi_component *component = slwi_arena_alloc(&identity->gather.arena, sizeof *component);
    if (component == NULL) return slwi_fail_memory(err, sizeof *component);
    memcpy(component->name, name, strlen(name) + 1);
    identity->components[identity->component_count++] = component;
    return SLW_OK;
}

slw_code slw_identity_prove(slw_identity *identity, const char *component, slw_error *err) {
    slwi_error_reset(err);
    slwi_component *found = NULL;
    slw_code rc = check_open(identity, component, err);
    if (rc != SLW_OK) return rc;
    found = find_component(identity, component);
    if (found == NULL) return no_component(err, component);
    if (found->said) return SLW_OK;
    identity->gather.owner = found;
    if (found->input_count == 0) {
        rc = slwi_gather_fail(&identity->gather, err, NULL, "its inventory is empty");
    } else if (!found->has_proof && identity->policy != SLW_IDENTITY_CLAIM) {
        rc = slwi_gather_fail(&identity->gather, err, NULL, "it stands on claims and build-ids alone");
    }
    if (rc == SLW_OK) found->said = 1;
    return rc;
}

slw_code slw_identity_reject(slw_identity *identity, const char *component, const char *why, slw_error *err) {
    slwi_error_reset(err);
    const slw_code rc = check_open(identity, component, err);
    if (rc != SLW_OK) return rc;
    slwi_component *found = find_component(identity, component);
    if (found == NULL) return no_component(err, component);
    identity->gather.owner = found;
    return slwi_gather_fail(&identity->gather, err, NULL, "%s",
                            why != NULL && why[0] != 0 ? why : "rejected without a reason");
}

static const char *first_reason(const slw_identity *identity, const slwi_component *component) {
    const slwi_failure *failure = identity->gather.first_failure;
    while (failure != NULL && failure->owner != component) failure = failure->next;
    return failure == NULL ? NULL : failure->reason;
}

static slw_code seal_component(slw_identity *identity, slwi_component *component, slw_error *err) {
    if (!component->said) {
        identity->gather.owner = component;
        const slw_code rc =
            slwi_gather_fail(&identity->gather, err, NULL, "its inventory was never said to be complete");
        if (rc != SLW_OK) return rc;
    }
    component->available = first_reason(identity, component) == NULL;
    if (!component->available) return SLW_OK;
    return slwi_input_component(&identity->allocator, component->name, component->inputs, component->input_count,
                                &component->digest, err);
}

slw_code slw_identity_seal(slw_identity *identity, slw_error *err) {
    slwi_error_reset(err);
    if (!slwi_identity_ok(identity))
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_seal: an identity is required");
    if (identity->sealed) return SLW_OK;
    const slwi_gather_mark mark = slwi_gather_mark_get(&identity->gather);
    slwi_component **all = identity->components;
    for (size_t i = 1; i < identity->component_count; i++) {
        for (size_t j = i; j > 0 && strcmp(all[j - 1]->name, all[j]->name) > 0; j--) {
            slwi_component *kept = all[j];
            all[j] = all[j - 1];
            all[j - 1] = kept;
        }
    }
    for (size_t i = 0; i < identity->component_count; i++) {
        const slw_code rc = seal_component(identity, all[i], err);
        if (rc == SLW_OK) continue;
        slwi_gather_mark_return(&identity->gather, mark);
        return rc;
    }
    for (size_t i = 0; i < identity->component_count; i++) slwi_inventory_sort(all[i]);
    slwi_gather_finish(&identity->gather);
    identity->sealed = 1;
    return SLW_OK;
}

slw_code slw_identity_usable(const slw_identity *identity, slw_error *err) {
    slwi_error_reset(err);
    if (!slwi_identity_ok(identity))
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_usable: an identity is required");
    if (!identity->sealed)
        return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "NOT_SEALED", "the identity has not been sealed");
    if (identity->component_count == 0) {
        return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "EMPTY", "the identity has no components");
    }
    const slwi_component *first = NULL;
    for (size_t i = 0; i < identity->component_count; i++) {
        const slwi_component *component = identity->components[i];
        if (component->available) continue;
        if (first == NULL) first = component;
        slwi_error_tried(err, component->name);
    }
    if (first == NULL) return SLW_OK;
    slwi_error_subject(err, first->name, strlen(first->name));
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "UNAVAILABLE", "the component %s is not proved: %s", first->name,
                     first_reason(identity, first));
}

int slw_identity_failure(const slw_identity *identity, size_t index, const char **component, const char **reason) {
    if (!slwi_identity_ok(identity)) return 0;
    const slwi_failure *failure = identity->gather.first_failure;
    while (failure != NULL && index-- > 0) failure = failure->next;
    if (failure == NULL) return 0;
    const slwi_component *owner = failure->owner;
    if (component != NULL) *component = owner->name;
    if (reason != NULL) *reason = failure->reason;
    return 1;
}

int slw_identity_at(const slw_identity *identity, size_t index, const char **name, const slw_digest **digest) {
    if (!slwi_identity_ok(identity) || index >= identity->component_count) return 0;
    /* In order of name also before sealing sorted them: the one that has `index` smaller ones. */
    const slwi_component *found = NULL;
    for (size_t i = 0; i < identity->component_count && found == NULL; i++) {
        size_t smaller = 0;
        for (size_t j = 0; j < identity->component_count; j++) {
            smaller += strcmp(identity->components[j]->name, identity->components[i]->name) < 0;
        }
        if (smaller == index) found = identity->components[i];
    }
    if (found == NULL) return 0;
    if (name != NULL) *name = found->name;
    if (digest != NULL) *digest = identity->sealed && found->available ? &found->digest : NULL;
    return 1;
}

slw_code slw_identity_get_cost(const slw_identity *identity, slw_identity_cost *out, slw_error *err) {
    slwi_error_reset(err);
    if (!slwi_identity_ok(identity) || out == NULL || out->size != sizeof *out) {
        return slwi_fail(err, SLW_E_USAGE, NULL,
                         "slw_identity_get_cost: an identity, and out with the right size, are required");
    }
    slw_identity *self = identity->self;
    (void)pthread_mutex_lock(&self->lock);
    out->memo_files = identity->gather.cost.memo_files + identity->lent_cost.memo_files;
    out->read_files = identity->gather.cost.read_files + identity->lent_cost.read_files;
    out->read_bytes = identity->gather.cost.read_bytes + identity->lent_cost.read_bytes;
    (void)pthread_mutex_unlock(&self->lock);
    return SLW_OK;
}
