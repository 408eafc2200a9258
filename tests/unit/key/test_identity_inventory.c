/* What is in a component, by name: every kind, in order, each once, bounded; and no digest is made of it. */
#include <slipway/limits.h>
#include <stdio.h>

#include "fault_alloc.h"
#include "identity_inventory.h"
#include "identity_kit.h"

/* All items as text, one a line. */
static const char *listed(const slw_identity *identity) {
    static char text[8192];
    size_t size = 0;
    slwi_inventory_item item;
    text[0] = '\0';
    for (size_t i = 0; slwi_identity_item(identity, 0, i, &item); i++) {
        char digest[SLW_DIGEST_TEXT_SIZE];
        slw_digest_format(&item.digest, digest);
        digest[8] = '\0';
        const char *base = strrchr(item.name, '/');
        size += (size_t)snprintf(text + size, sizeof text - size, "%s %s %s\n", item.kind,
                                 base != NULL ? base + 1 : item.name, item.value != NULL ? item.value : digest);
    }
    return text;
}

static slw_bytes bytes_of(const char *text) {
    return (slw_bytes){text, strlen(text)};
}

static const char *short_digest(const char *text) {
    static char out[4][SLW_DIGEST_TEXT_SIZE];
    static int next;
    slw_digest digest;
    char *at = out[next++ % 4];
    slw_sha256(bytes_of(text), &digest);
    slw_digest_format(&digest, at);
    at[8] = '\0';
    return at;
}

START_TEST(every_kind) {
    const char *scratch = slt_scratch();
    const char *tree = kit_dir(scratch, "tree");
    slw_identity *identity = kit_identity();
    slw_digest digest, given;
    char expected[1024];
    kit_put(scratch, "file", "content");
    kit_put(tree, "inside", "x");
    slw_sha256(bytes_of("rule"), &given);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(scratch, "file", NULL), &err), &err);
    slt_ok(slw_identity_add_file(identity, "tools", slt_path(scratch, "file", NULL), &err), &err); /* once */
    slt_ok(slw_identity_add_build_id(identity, "tools", slt_path(scratch, "file", NULL), &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", tree, 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", slt_path(scratch, "none", NULL), 1, &err), &err);
    slt_ok(slw_identity_add_environment(identity, "tools", "SET", "", &err), &err);
    slt_ok(slw_identity_add_environment(identity, "tools", "UNSET", NULL, &err), &err);
    slt_ok(slw_identity_add_claim(identity, "tools", "version", bytes_of("1.0"), &err), &err);
    slt_ok(slw_identity_add_digest(identity, "tools", "rules", &given, &err), &err);
    slwi_inventory_item item;
    ck_assert_int_eq(slwi_identity_item(identity, 0, 0, &item), 0); /* not before it is sealed */
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    (void)snprintf(expected, sizeof expected,
                   "file file %s\nabsent none 00000000\ntree tree ????????\nenvironment SET \ndigest rules %s\nclaim "
                   "version 1.0\n",
                   short_digest("content"), short_digest("rule"));
    char *found = strdup(listed(identity));
    char *at = strstr(found, "tree tree ");
    ck_assert_ptr_nonnull(at);
    memcpy(at + 10, "????????", 8);
    char *unset = strstr(found, "unset UNSET 00000000\n");
    ck_assert_ptr_nonnull(unset);
    memmove(unset, unset + 21, strlen(unset + 21) + 1);
    /* By name in full: paths begin with a slash, which is before letters. */
    ck_assert_str_eq(found, expected);
    ck_assert_uint_eq(slwi_identity_left_out(identity, 0), 0);
    ck_assert_int_eq(slwi_identity_item(identity, 1, 0, &item), 0);
    ck_assert_int_eq(slwi_identity_item(NULL, 0, 0, &item), 0);
    free(found);
    slw_identity_release(&identity);
}
END_TEST

/* A program is itself and all that its loader maps; what two programs share stands there once. */
START_TEST(a_program_is_its_closure) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_program(identity, "tools", "/usr/bin/env", &err), &err);
    slt_ok(slw_identity_add_program(identity, "tools", "/bin/sh", &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    const char *text = listed(identity);
    const char *libc = strstr(text, "program libc.so.6 ");
    ck_assert_ptr_nonnull(libc);
    ck_assert_ptr_null(strstr(libc + 1, "program libc.so.6 "));
    ck_assert_ptr_nonnull(strstr(text, "program env "));
    ck_assert_ptr_nonnull(strstr(text, "program sh "));
    slw_identity_release(&identity);
}
END_TEST

/* A tree that takes the place of one in it takes it in the list, too. */
START_TEST(an_enclosed_tree_goes) {
    const char *scratch = slt_scratch();
    const char *outer = kit_dir(scratch, "outer"), *inner = kit_dir(outer, "inner");
    slw_identity *identity = kit_identity();
    slw_digest digest;
    kit_put(inner, "x", "x");
    slt_ok(slw_identity_add_tree(identity, "tools", inner, 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", outer, 0, &err), &err);
    slt_ok(slw_identity_add_tree(identity, "tools", inner, 0, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    ck_assert_int_eq(strncmp(listed(identity), "tree outer ", 11), 0);
    ck_assert_ptr_null(strchr(strchr(listed(identity), '\n') + 1, '\n'));
    slw_identity_release(&identity);
}
END_TEST

/* A long value by its digest, one with a NUL too; one that is just short enough in full. */
START_TEST(long_values_are_told_by_digest) {
    static char text[SLW_LIMIT_INVENTORY_VALUE_BYTES + 2];
    slw_identity *identity = kit_identity();
    slw_digest digest, expected;
    slwi_inventory_item item;
    memset(text, 'v', SLW_LIMIT_INVENTORY_VALUE_BYTES + 1);
    slt_ok(slw_identity_add_environment(identity, "tools", "A", text, &err), &err);
    slw_sha256(bytes_of(text), &expected);
    text[SLW_LIMIT_INVENTORY_VALUE_BYTES] = '\0';
    slt_ok(slw_identity_add_environment(identity, "tools", "B", text, &err), &err);
    slt_ok(slw_identity_add_claim(identity, "tools", "C", (slw_bytes){"a\0b", 3}, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 1);
    ck_assert_int_eq(slwi_identity_item(identity, 0, 0, &item), 1);
    ck_assert_ptr_null(item.value);
    ck_assert_int_eq(kit_same(&item.digest, &expected), 1);
    ck_assert_int_eq(slwi_identity_item(identity, 0, 1, &item), 1);
    ck_assert_str_eq(item.value, text);
    ck_assert_int_eq(slwi_identity_item(identity, 0, 2, &item), 1);
    ck_assert_ptr_null(item.value);
    slw_identity_release(&identity);
}
END_TEST

/* More than are listed: counted, and every one of them in the digest as before. */
START_TEST(the_list_is_bounded) {
    slw_digest digests[2];
    for (int way = 0; way < 2; way++) {
        slw_identity *identity = kit_identity();
        slwi_inventory_item item;
        for (int i = 0; i < (int)SLW_LIMIT_INVENTORY_ITEMS + 5; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "V%05d", i);
            const char *value = way == 1 && i == (int)SLW_LIMIT_INVENTORY_ITEMS + 4 ? "other" : "value";
            slt_ok(slw_identity_add_environment(identity, "tools", name, value, &err), &err);
        }
        ck_assert_int_eq(kit_seal(identity, &digests[way]), 1);
        ck_assert_uint_eq(slwi_identity_left_out(identity, 0), 5);
        ck_assert_int_eq(slwi_identity_item(identity, 0, SLW_LIMIT_INVENTORY_ITEMS - 1, &item), 1);
        ck_assert_str_eq(item.name, "V01023");
        ck_assert_int_eq(slwi_identity_item(identity, 0, SLW_LIMIT_INVENTORY_ITEMS, &item), 0);
        slw_identity_release(&identity);
    }
    ck_assert_int_eq(kit_same(&digests[0], &digests[1]), 0);
}
END_TEST

/* A call that fails leaves nothing in the list, and may be repeated. */
START_TEST(no_memory) {
    static const char *const kinds[] = {"file", "tree", "program", "environment", "claim"};
    const char *scratch = slt_scratch();
    const char *file = slt_path(scratch, "file", NULL), *tree = kit_dir(scratch, "tree");
    kit_put(scratch, "file", "x");
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        slt_heap heap;
        slt_heap_init(&heap);
        for (uint64_t n = 1;; n++) {
            slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
            slw_identity *identity = NULL;
            slw_digest digest;
            options.allocator = heap.allocator;
            slt_ok(slw_identity_create(&options, &identity, &err), &err);
            slt_ok(slw_identity_component(identity, "tools", &err), &err);
            slw_code rc = SLW_OK;
            for (int again = 0; again < 2; again++) {
                slt_heap_reset(&heap);
                heap.fail_at = again ? 0 : n;
                rc = kind == 0   ? slw_identity_add_file(identity, "tools", file, &err)
                     : kind == 1 ? slw_identity_add_tree(identity, "tools", tree, 0, &err)
                     : kind == 2 ? slw_identity_add_program(identity, "tools", "/usr/bin/env", &err)
                     : kind == 3 ? slw_identity_add_environment(identity, "tools", "E", "value", &err)
                                 : slw_identity_add_claim(identity, "tools", "E", bytes_of("value"), &err);
                heap.fail_at = 0;
                if (rc == SLW_OK) break;
                ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
            }
            ck_assert_int_eq(rc, SLW_OK);
            const int done = heap.calls < n && heap.failed == 0;
            slt_ok(slw_identity_add_environment(identity, "tools", "Z", "z", &err), &err);
            ck_assert_int_eq(kit_seal(identity, &digest), 1);
            const char *text = listed(identity);
            const char *first = strstr(text, kinds[kind]);
            ck_assert_msg(first != NULL, "%s: %s", kinds[kind], text);
            size_t lines = 0;
            for (const char *at = text; *at != '\0'; at++) lines += *at == '\n';
            if (kind != 2) ck_assert_uint_eq(lines, 2); /* itself and Z */
            slw_identity_release(&identity);
            slt_heap_check_empty(&heap);
            if (done) break;
            ck_assert_uint_lt(n, 500);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("identity inventory");
    TCase *c = tcase_create("inventory");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, every_kind);
    tcase_add_test(c, a_program_is_its_closure);
    tcase_add_test(c, an_enclosed_tree_goes);
    tcase_add_test(c, long_values_are_told_by_digest);
    tcase_add_test(c, the_list_is_bounded);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
