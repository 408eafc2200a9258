/* What the tests of identity share: an identity with one component, in few words. */
#ifndef IDENTITY_KIT_H
#define IDENTITY_KIT_H

#include <slipway/slipway.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "os.h"
#include "slt.h"

static slw_error err = SLW_ERROR_INIT;

static inline slw_identity *kit_identity_with(slw_memo *memo, int policy) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    options.memo = memo;
    options.policy = policy;
    slt_ok(slw_identity_create(&options, &identity, &err), &err);
    slt_ok(slw_identity_component(identity, "tools", &err), &err);
    return identity;
}

static inline slw_identity *kit_identity(void) {
    return kit_identity_with(NULL, SLW_IDENTITY_MEMO);
}

/* Proves and seals; 1 and the digest when the component is available. */
static inline int kit_seal(slw_identity *identity, slw_digest *out) {
    const slw_digest *digest = NULL;
    const char *name = NULL;
    slt_ok(slw_identity_prove(identity, "tools", &err), &err);
    slt_ok(slw_identity_seal(identity, &err), &err);
    ck_assert_int_eq(slw_identity_at(identity, 0, &name, &digest), 1);
    if (digest != NULL) *out = *digest;
    const slw_code usable = slw_identity_usable(identity, &err);
    ck_assert_int_eq(usable == SLW_OK, digest != NULL);
    return digest != NULL;
}

/* The first failure that holds both texts. */
static inline int kit_failed_with(const slw_identity *identity, const char *a, const char *b) {
    const char *component = NULL, *reason = NULL;
    for (size_t i = 0; slw_identity_failure(identity, i, &component, &reason); i++) {
        if (strstr(reason, a) != NULL && strstr(reason, b) != NULL) return 1;
    }
    return 0;
}

static inline int kit_same(const slw_digest *a, const slw_digest *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* The identity of one tree (or file) as a component; the test fails when it has none. */
static inline slw_digest kit_tree(const char *path) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", path, 0, &err), &err);
    const int available = kit_seal(identity, &digest);
    const char *reason = "";
    (void)slw_identity_failure(identity, 0, NULL, &reason);
    ck_assert_msg(available, "%s: %s", path, reason);
    slw_identity_release(&identity);
    return digest;
}

static inline slw_digest kit_file(const char *path) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_file(identity, "tools", path, &err), &err);
    const int available = kit_seal(identity, &digest);
    const char *reason = "";
    (void)slw_identity_failure(identity, 0, NULL, &reason);
    ck_assert_msg(available, "%s: %s", path, reason);
    slw_identity_release(&identity);
    return digest;
}

/* The tree has no identity, and one of the reasons holds both texts. */
static inline void kit_tree_fails(const char *path, const char *a, const char *b) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_tree(identity, "tools", path, 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    const char *reason = "no failure";
    (void)slw_identity_failure(identity, 0, NULL, &reason);
    ck_assert_msg(kit_failed_with(identity, a, b), "wanted \"%s\" and \"%s\", the first reason is: %s", a, b, reason);
    slw_identity_release(&identity);
}

static inline void kit_put(const char *directory, const char *name, const char *text) {
    slt_write_file(slt_path(directory, name, NULL), text, strlen(text), 0644);
}

static inline const char *kit_dir(const char *directory, const char *name) {
    const char *path = slt_path(directory, name, NULL);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    return path;
}

#endif
