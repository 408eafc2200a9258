/* Trees digested for requests, and the recheck. An identity is shared by threads that compile; what one of them has
 * digested belongs to its own request, so it is kept by thread: another thread's later digest of an edited tree must
 * neither hide the edit from this one nor fail it. */
#include <slipway/identity.h>

#include <string.h>

#include "fail.h"
#include "identity_input.h"
#include "identity_snapshot.h"
#include "identity_state.h"
#include "memory.h"
#include "tree.h"

static void free_lent(slw_identity *identity, slwi_lent_tree *lent) {
    slwi_gather_free(&lent->gather);
    slwi_free(&identity->allocator, lent->root);
    slwi_free(&identity->allocator, lent);
}

void slwi_identity_free_lent(slw_identity *identity) {
    while (identity->lent != NULL) {
        slwi_lent_tree *next = identity->lent->next;
        free_lent(identity, identity->lent);
        identity->lent = next;
    }
}

/* Takes this thread's record of a root out of the list. The lock is held. */
static void drop_own(slw_identity *identity, const char *root) {
    const pthread_t self = pthread_self();
    for (slwi_lent_tree **at = &identity->lent; *at != NULL;) {
        slwi_lent_tree *lent = *at;
        if (pthread_equal(lent->thread, self) && strcmp(lent->root, root) == 0) {
            *at = lent->next;
            free_lent(identity, lent);
        } else {
            at = &lent->next;
        }
    }
}

/* What stands in the gather's list of failures, as one error. */
static slw_code report_failures(const slwi_gather *gather, const char *path, slw_error *err) {
    slwi_error_subject(err, path, strlen(path));
    slwi_error_path(err, path);
    for (const slwi_failure *failure = gather->first_failure; failure != NULL; failure = failure->next) {
        slwi_error_tried(err, failure->reason);
    }
    const char *why = gather->first_failure != NULL ? gather->first_failure->reason : "it could not be read";
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "TREE_UNREADABLE", "the tree %s has no identity: %s", path, why);
}

static slw_code digest_lent(slw_identity *identity, slwi_lent_tree *lent, const char *path, slw_digest *out,
                            slw_error *err) {
    char absolute[SLWI_PATH_BYTES];
    int ok = 0;
    slw_code rc = slwi_gather_absolute(&lent->gather, path, absolute, &ok, err);
    if (rc != SLW_OK || !ok) return rc != SLW_OK ? rc : report_failures(&lent->gather, path, err);
    size_t size = strlen(absolute);
    while (size > 1 && absolute[size - 1] == '/') absolute[--size] = 0;
    lent->root = slwi_strndup(&identity->allocator, absolute, size);
    slwi_tree_result *result = slwi_alloc(&identity->allocator, sizeof *result);
    if (lent->root == NULL || result == NULL) rc = slwi_fail_memory(err, sizeof *result);
    if (rc == SLW_OK) rc = slwi_tree_digest(&lent->gather, absolute, 1, result, err);
    if (rc == SLW_OK && result != NULL && result->state == SLWI_TREE_FAILED)
        rc = report_failures(&lent->gather, absolute, err);
    if (rc == SLW_OK) rc = slwi_input_tree(&identity->allocator, absolute, result, out, err);
    slwi_free(&identity->allocator, result);
    slwi_gather_finish(&lent->gather);
    return rc;
}

slw_code slw_identity_digest_tree(slw_identity *identity, const char *path, slw_digest *out, slw_error *err) {
    slw_digest digest;
    slwi_error_reset(err);
    if (!slwi_identity_ok(identity) || path == NULL || path[0] == 0 || out == NULL) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_digest_tree: an identity, a path and out are required");
    }
    slwi_lent_tree *lent = slwi_alloc_zero(&identity->allocator, sizeof *lent);
    if (lent == NULL) return slwi_fail_memory(err, sizeof *lent);
    slwi_gather_init(&lent->gather, &identity->allocator, identity->memo);
    lent->thread = pthread_self();
    /* Without the lock: the memo has its own, and nothing else of the identity is touched. */
    const slw_code rc = digest_lent(identity, lent, path, &digest, err);
    (void)pthread_mutex_lock(&identity->lock);
    identity->lent_cost.memo_files += lent->gather.cost.memo_files;
    identity->lent_cost.read_files += lent->gather.cost.read_files;
    identity->lent_cost.read_bytes += lent->gather.cost.read_bytes;
    if (rc == SLW_OK) {
        drop_own(identity, lent->root);
        lent->next = identity->lent;
        identity->lent = lent;
    }
    (void)pthread_mutex_unlock(&identity->lock);
    if (rc != SLW_OK) {
        free_lent(identity, lent);
        return rc;
    }
    *out = digest;
    return SLW_OK;
}

static slw_code changed(const char *path, slw_error *err) {
    slwi_error_path(err, path);
    return slwi_fail(err, SLW_E_IDENTITY_UNUSABLE, "TOOLCHAIN_CHANGED", "%s has changed since the identity was taken",
                     path);
}

/* A tree that has changed is forgotten with the request it fails; the next request has it digested anew. */
static slw_code recheck_lent(slw_identity *identity, slw_error *err) {
    const pthread_t self = pthread_self();
    int own = 0;
    for (const slwi_lent_tree *lent = identity->lent; lent != NULL; lent = lent->next) {
        own = own || pthread_equal(lent->thread, self);
    }
    for (slwi_lent_tree **at = &identity->lent; *at != NULL; at = &(*at)->next) {
        slwi_lent_tree *lent = *at;
        if (own && !pthread_equal(lent->thread, self)) continue;
        const char *path = slwi_snapshot_changed(&lent->gather);
        if (path == NULL) continue;
        const slw_code rc = changed(path, err);
        if (own) {
            *at = lent->next;
            free_lent(identity, lent);
        }
        return rc;
    }
    return SLW_OK;
}

slw_code slw_identity_recheck(const slw_identity *identity, slw_error *err) {
    slwi_error_reset(err);
    if (!slwi_identity_ok(identity) || !identity->sealed) {
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_identity_recheck: a sealed identity is required");
    }
    const char *path = slwi_snapshot_changed(&identity->gather);
    if (path != NULL) return changed(path, err);
    slw_identity *self = identity->self;
    (void)pthread_mutex_lock(&self->lock);
    const slw_code rc = recheck_lent(self, err);
    (void)pthread_mutex_unlock(&self->lock);
    return rc;
}
