/* Keys: the digests of a known chain, every refusal, sharing, and what the store writes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "key_internal.h"
#include "slt.h"

static slw_error error = SLW_ERROR_INIT;

#define D1 "1111111111111111111111111111111111111111111111111111111111111111"
#define D2 "2222222222222222222222222222222222222222222222222222222222222222"
#define D3 "3333333333333333333333333333333333333333333333333333333333333333"

/* The chain of store-semantics A1. */
static const slw_component fixture[] = {
    {"runtime", "8b27bd9b7cac86b6302be2639d259fbcd321b2f2d69a4b22000832f1917b24b2"},
    {"pypto", "d5f6bcdda57432dbb76780fb8e74ffea3f65a3222d5cd9a4daac28c2e88f1569"},
    {"ptoas", "3be107781ec6daf01456dd60fd0b316a6fe407d884a1fdffea80b0a63c44baae"},
    {"pto_isa", "83508f9effdaedc6067a56dd4dcce0a6061576a4039cdd791b2d69abcd4e05ef"},
    {"device_toolchain", "b28d53a483efa2f1b4b4327ce879e253f52c4e6c2292ca0b51ef1a77944600eb"},
};

static slw_key_inputs fixture_inputs(void) {
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.domain = SLW_DOMAIN_PYPTO;
    inputs.components = fixture;
    inputs.component_count = 5;
    inputs.source = "9a9d8ceb53d72ca4a4920583d2e00acbc3d7dfcd743924bb6ff29bd11b9eda67";
    inputs.specialization = "b0451d8685d8be1eeea24dc98dea37b9e0c715f192dc418ac151cdc399acf515";
    return inputs;
}

static slw_key_inputs small_inputs(const slw_component *components, size_t count) {
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.components = components;
    inputs.component_count = count;
    inputs.source = D1;
    inputs.specialization = D2;
    return inputs;
}

static void ck_refused(const slw_key_inputs *inputs, slw_code code, const char *reason, const char *subject) {
    slw_key *key = NULL;
    ck_assert_int_eq(slw_key_create(inputs, &key, &error), code);
    ck_assert_int_eq(error.code, code);
    ck_assert_str_eq(error.reason, reason);
    ck_assert_str_eq(error.subject, subject);
    ck_assert_ptr_null(key);
}

START_TEST(the_known_chain) {
    slw_key_inputs inputs = fixture_inputs();
    slw_key *key = NULL;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    ck_assert_str_eq(slw_key_environment(key), "85ccb682c235f801a3ac733c44c4e76cb5f018ce4a7ff8db70fbadbccc4cc3d7");
    ck_assert_str_eq(slw_key_digest(key), "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e6");
    ck_assert_str_eq(slw_key_domain(key), "pypto.identity");
    ck_assert_str_eq(slw_key_source(key), inputs.source);
    ck_assert_str_eq(slw_key_specialization(key), inputs.specialization);
    ck_assert_uint_eq(slw_key_component_count(key), 5);
    ck_assert_str_eq(slw_key_component(key, 0).name, "device_toolchain");
    ck_assert_str_eq(slw_key_component(key, 4).name, "runtime");
    ck_assert_str_eq(slw_key_component(key, 4).digest, fixture[0].digest);
    ck_assert_ptr_null(slw_key_component(key, 5).name);
    ck_assert_ptr_null(slw_key_component(key, 5).digest);
    slw_key_release(&key);
    ck_assert_ptr_null(key);
}
END_TEST

START_TEST(order_is_no_difference) {
    slw_component turned[5];
    slw_key_inputs inputs = fixture_inputs();
    slw_key *key = NULL, *other = NULL;
    for (size_t i = 0; i < 5; i++) turned[i] = fixture[4 - i];
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    inputs.components = turned;
    slt_ok(slw_key_create(&inputs, &other, &error), &error);
    ck_assert(slwi_key_equal(key, other));
    ck_assert_str_eq(slw_key_environment(key), slw_key_environment(other));
    slw_key_release(&key);
    slw_key_release(&other);
}
END_TEST

/* Every input changes the key; components change the environment too. */
START_TEST(every_input_counts) {
    slw_component parts[2] = {{"a", D1}, {"b", D2}};
    slw_key_inputs inputs = small_inputs(parts, 2);
    slw_key *keys[7] = {NULL};
    slt_ok(slw_key_create(&inputs, &keys[0], &error), &error);
    parts[0].digest = D3;
    slt_ok(slw_key_create(&inputs, &keys[1], &error), &error);
    parts[0].digest = D1;
    parts[1].digest = D3;
    slt_ok(slw_key_create(&inputs, &keys[2], &error), &error);
    parts[1] = (slw_component){"c", D2};
    slt_ok(slw_key_create(&inputs, &keys[3], &error), &error);
    parts[1] = (slw_component){"b", D2};
    inputs.source = D3;
    slt_ok(slw_key_create(&inputs, &keys[4], &error), &error);
    inputs.source = D1;
    inputs.specialization = D3;
    slt_ok(slw_key_create(&inputs, &keys[5], &error), &error);
    inputs.specialization = D2;
    inputs.component_count = 1;
    slt_ok(slw_key_create(&inputs, &keys[6], &error), &error);
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < i; j++) {
            ck_assert(!slwi_key_equal(keys[i], keys[j]));
            ck_assert_str_ne(slw_key_digest(keys[i]), slw_key_digest(keys[j]));
        }
    }
    ck_assert_str_eq(slw_key_environment(keys[4]), slw_key_environment(keys[0]));
    ck_assert_str_eq(slw_key_environment(keys[5]), slw_key_environment(keys[0]));
    ck_assert_str_ne(slw_key_environment(keys[1]), slw_key_environment(keys[0]));
    ck_assert_str_ne(slw_key_environment(keys[6]), slw_key_environment(keys[0]));
    for (size_t i = 0; i < 7; i++) slw_key_release(&keys[i]);
}
END_TEST

static const char *const bad_digests[] = {
    NULL,
    "",
    "111111111111111111111111111111111111111111111111111111111111111",
    "11111111111111111111111111111111111111111111111111111111111111111",
    "1111111111111111111111111111111111111111111111111111111111111111\n",
    "A111111111111111111111111111111111111111111111111111111111111111",
    "g111111111111111111111111111111111111111111111111111111111111111",
    "../1111111111111111111111111111111111111111111111111111111111111",
    "\xef\xbc\x90" "1111111111111111111111111111111111111111111111111111111111111",
};

START_TEST(bad_digests_are_refused) {
    slw_component parts[2] = {{"a", D1}, {"b", bad_digests[_i]}};
    slw_key_inputs inputs = small_inputs(parts, 2);
    ck_refused(&inputs, SLW_E_USAGE, "BAD_DIGEST", "b");
    parts[1].digest = D2;
    inputs.source = bad_digests[_i];
    ck_refused(&inputs, SLW_E_USAGE, "BAD_DIGEST", "source");
    inputs.source = D1;
    inputs.specialization = bad_digests[_i];
    ck_refused(&inputs, SLW_E_USAGE, "BAD_DIGEST", "specialization");
}
END_TEST

START_TEST(component_names) {
    static const char *const bad[] = {"", "schema", "A", "a-b", "a b", "a/b", "\xc3\xa9", "a.b"};
    slw_component one = {"a", D1};
    slw_key_inputs inputs = small_inputs(&one, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        one.name = bad[i];
        ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", bad[i]);
    }
    one.name = NULL;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "");
    char name[SLW_LIMIT_COMPONENT_NAME_BYTES + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    one.name = name;
    ck_assert_int_eq(slw_key_create(&inputs, &(slw_key *){NULL}, &error), SLW_E_USAGE);
    name[sizeof name - 2] = 0;
    slw_key *key = NULL;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    slw_key_release(&key);
}
END_TEST

START_TEST(component_counts) {
    char names[SLW_LIMIT_COMPONENTS + 1][8];
    slw_component parts[SLW_LIMIT_COMPONENTS + 1];
    for (size_t i = 0; i <= SLW_LIMIT_COMPONENTS; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        parts[i] = (slw_component){names[i], D1};
    }
    slw_key_inputs inputs = small_inputs(parts, SLW_LIMIT_COMPONENTS);
    slw_key *key = NULL;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    ck_assert_uint_eq(slw_key_component_count(key), SLW_LIMIT_COMPONENTS);
    slw_key_release(&key);
    inputs.component_count++;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "n32");
    inputs.component_count = 0;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "");
    inputs.components = NULL;
    inputs.component_count = 1;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "");
    parts[1].name = "n0";
    inputs = small_inputs(parts, 3);
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "n0");
}
END_TEST

START_TEST(pypto_has_exactly_its_five) {
    slw_component parts[6];
    slw_key_inputs inputs = fixture_inputs();
    memcpy(parts, fixture, sizeof fixture);
    parts[5] = (slw_component){"zeta", D1};
    inputs.components = parts;
    inputs.component_count = 6;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "zeta");
    parts[5].name = "alpha";
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "alpha");
    inputs.component_count = 4;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "device_toolchain");
    parts[0].name = "runtimes";
    inputs.component_count = 5;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "runtime");
    inputs.component_count = 0;
    ck_refused(&inputs, SLW_E_USAGE, "BAD_COMPONENT", "device_toolchain");
}
END_TEST

START_TEST(domains) {
    slw_component one = {"a", D1};
    slw_key_inputs inputs = small_inputs(&one, 1);
    slw_key *key = NULL, *named = NULL;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    ck_assert_str_eq(slw_key_domain(key), "slipway.identity");
    inputs.domain = "slipway.identity";
    slt_ok(slw_key_create(&inputs, &named, &error), &error);
    ck_assert(slwi_key_equal(key, named));
    inputs.domain = "other.identity";
    ck_refused(&inputs, SLW_E_USAGE, "BAD_DOMAIN", "other.identity");
    slw_key_inputs five = fixture_inputs();
    slw_key *ours = NULL, *theirs = NULL;
    slt_ok(slw_key_create(&five, &theirs, &error), &error);
    five.domain = NULL;
    slt_ok(slw_key_create(&five, &ours, &error), &error);
    ck_assert_str_ne(slw_key_digest(ours), slw_key_digest(theirs));
    ck_assert_str_ne(slw_key_environment(ours), slw_key_environment(theirs));
    slw_key_release(&key);
    slw_key_release(&named);
    slw_key_release(&ours);
    slw_key_release(&theirs);
}
END_TEST

START_TEST(arguments) {
    slw_key_inputs inputs = fixture_inputs();
    slw_key *key = NULL;
    ck_assert_int_eq(slw_key_create(NULL, &key, &error), SLW_E_USAGE);
    ck_assert_int_eq(slw_key_create(&inputs, NULL, &error), SLW_E_USAGE);
    inputs.size--;
    ck_assert_int_eq(slw_key_create(&inputs, &key, NULL), SLW_E_USAGE);
    ck_assert_ptr_null(key);
    slw_key_release(NULL);
    slw_key_release(&key);
    ck_assert_ptr_null(slw_key_retain(NULL));
    ck_assert_ptr_null(slw_key_digest(NULL));
    ck_assert_ptr_null(slw_key_domain(NULL));
    ck_assert_ptr_null(slw_key_environment(NULL));
    ck_assert_ptr_null(slw_key_source(NULL));
    ck_assert_ptr_null(slw_key_specialization(NULL));
    ck_assert_uint_eq(slw_key_component_count(NULL), 0);
    ck_assert_ptr_null(slw_key_component(NULL, 0).name);
    ck_assert(!slwi_key_ok(NULL));
}
END_TEST

START_TEST(everything_is_copied_and_shared_by_count) {
    slt_heap heap;
    slt_heap_init(&heap);
    char name[] = "a", digest[] = D1, source[] = D2;
    slw_component one = {name, digest};
    slw_key_inputs inputs = small_inputs(&one, 1);
    slw_key *key = NULL;
    inputs.allocator = heap.allocator;
    inputs.source = source;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    name[0] = 'b';
    memset(digest, 'f', 64);
    memset(source, 'f', 64);
    ck_assert_str_eq(slw_key_component(key, 0).name, "a");
    ck_assert_str_eq(slw_key_component(key, 0).digest, D1);
    ck_assert_str_eq(slw_key_source(key), D2);
    slw_key *second = slw_key_retain(key), *dead = key;
    ck_assert_ptr_eq(second, key);
    slw_key_release(&key);
    ck_assert_str_eq(slw_key_source(second), D2);
    slw_key_release(&second);
    (void) dead;
    slt_heap_check_empty(&heap);
}
END_TEST

START_TEST(every_allocation_fails_once) {
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t at = 1;; at++) {
        slw_key_inputs inputs = fixture_inputs();
        slw_key *key = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = at;
        inputs.allocator = heap.allocator;
        slw_code rc = slw_key_create(&inputs, &key, &error);
        ck_assert_int_eq(rc, heap.failed != 0 ? SLW_E_NO_MEMORY : SLW_OK);
        ck_assert((rc == SLW_OK) == (key != NULL));
        slw_key_release(&key);
        slt_heap_check_empty(&heap);
        if (heap.failed == 0) break;
    }
}
END_TEST

START_TEST(from_an_identity) {
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    slw_identity *identity = NULL;
    slw_component parts[2] = {{"compiler", NULL}, {"backend", NULL}};
    slw_key_inputs inputs = small_inputs(parts, 2);
    slw_key *key = NULL, *same = NULL;
    slw_digest digest;
    char texts[2][SLW_DIGEST_TEXT_SIZE];
    slw_sha256((slw_bytes){"x", 1}, &digest);
    slt_ok(slw_identity_create(&options, &identity, &error), &error);
    slt_ok(slw_identity_component(identity, "compiler", &error), &error);
    slt_ok(slw_identity_component(identity, "backend", &error), &error);
    slt_ok(slw_identity_add_digest(identity, "compiler", "cc", &digest, &error), &error);
    slt_ok(slw_identity_add_digest(identity, "backend", "b", &digest, &error), &error);
    slt_ok(slw_identity_prove(identity, "compiler", &error), &error);
    inputs.identity = identity;
    ck_assert_int_eq(slw_key_create(&inputs, &key, &error), SLW_E_IDENTITY_UNUSABLE); /* not sealed */
    ck_assert_ptr_null(key);
    slt_ok(slw_identity_prove(identity, "backend", &error), &error);
    slt_ok(slw_identity_seal(identity, &error), &error);
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    const char *name;
    const slw_digest *component;
    for (size_t i = 0; i < 2; i++) {
        ck_assert(slw_identity_at(identity, i, &name, &component));
        slw_digest_format(component, texts[i]);
        parts[i] = (slw_component){name, texts[i]};
        ck_assert_str_eq(slw_key_component(key, i).name, name);
        ck_assert_str_eq(slw_key_component(key, i).digest, texts[i]);
    }
    inputs.identity = NULL;
    slt_ok(slw_key_create(&inputs, &same, &error), &error);
    ck_assert(slwi_key_equal(key, same));
    slw_identity_release(&identity);
    ck_assert_str_eq(slw_key_component(key, 0).name, "backend"); /* copied */
    slw_key_release(&key);
    slw_key_release(&same);
}
END_TEST

static char *components_text(const slw_key *key) {
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slwi_buffer buffer;
    slwi_json_writer writer;
    slw_text text = SLW_TEXT_INIT;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    slwi_json_begin(&writer, &buffer, 1);
    slwi_key_write_components(&writer, key);
    slt_ok(slwi_buffer_take(&buffer, &text, &error), &error);
    return text.data;
}

/* "schema" stands among the components where the alphabet puts it: the canonical writer refuses any other order. */
START_TEST(components_of_a_marker) {
    slw_component parts[] = {{"schema_2", D2}, {"zz", D3}, {"a", D1}, {"schem", D1}};
    slw_key *key = NULL;
    char *text;
    for (size_t count = 1; count <= 4; count++) {
        slw_key_inputs inputs = small_inputs(parts + 4 - count, count);
        slt_ok(slw_key_create(&inputs, &key, &error), &error);
        text = components_text(key);
        free(text);
        slw_key_release(&key);
    }
    slw_key_inputs inputs = small_inputs(parts, 4);
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    text = components_text(key);
    ck_assert_str_eq(text, "{\"environment\":{\"a\":\"" D1 "\",\"schem\":\"" D1 "\",\"schema\":1,\"schema_2\":\"" D2
                           "\",\"zz\":\"" D3 "\"},\"schema\":1,\"source\":\"" D1 "\",\"specialization\":\"" D2 "\"}");
    free(text);
    slw_key_release(&key);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/key");
    TCase *t = tcase_create("key");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, the_known_chain);
    tcase_add_test(t, order_is_no_difference);
    tcase_add_test(t, every_input_counts);
    tcase_add_loop_test(t, bad_digests_are_refused, 0, (int) (sizeof bad_digests / sizeof bad_digests[0]));
    tcase_add_test(t, component_names);
    tcase_add_test(t, component_counts);
    tcase_add_test(t, pypto_has_exactly_its_five);
    tcase_add_test(t, domains);
    tcase_add_test(t, arguments);
    tcase_add_test(t, everything_is_copied_and_shared_by_count);
    tcase_add_test(t, every_allocation_fails_once);
    tcase_add_test(t, from_an_identity);
    tcase_add_test(t, components_of_a_marker);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
