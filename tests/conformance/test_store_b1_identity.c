/* Conformance list B1, rows 2, 4, 5 and 6: what a key and a spec may be, and that each value of them counts. */
#include "store_kit.h"

#include <stdio.h>
#include <string.h>

static const char *const domains[2] = {SLW_DOMAIN_PYPTO, SLW_DOMAIN_DEFAULT};

START_TEST(b1_02_changed_spec_gets_an_independent_reusable_slot) {
    slk_world world;
    slk_world_make(&world, domains[_i]);
    slk_publish(&world);
    static const slk_file three[3] = {{"extra.json", "{}", 2, 0644},
                                      {"kernel/source.pto", "generated code", 14, 0644},
                                      {"kernel_config.py", "KERNELS = []\n", 13, 0644}};
    slw_spec *longer = slk_spec(world.domain, SLW_GENERATED, SLW_SINGLE, "kernel/source.pto", "kernel_config.py",
                                "extra.json", (const char *)NULL);
    slw_spec *reversed =
        slk_spec(world.domain, SLW_GENERATED, SLW_SINGLE, "kernel_config.py", "kernel/source.pto", (const char *)NULL);
    slw_spec *other_kind = slk_fixture_spec(world.domain, SLW_GENERATED, SLW_DISTRIBUTED);
    ck_assert_str_eq(slw_spec_digest(reversed), slw_spec_digest(world.spec));
    ck_assert_str_ne(slw_spec_digest(longer), slw_spec_digest(world.spec));
    ck_assert_str_ne(slw_spec_digest(other_kind), slw_spec_digest(world.spec));
    slw_store *store = slk_open(&world);
    const slw_spec *const specs[2] = {longer, other_kind};
    for (int i = 0; i < 2; i++) {
        slk_result result;
        world.build.files = i == 0 ? three : slk_fixture_files;
        world.build.file_count = i == 0 ? 3 : 2;
        const int calls = atomic_load(&world.build.calls);
        ck_assert_str_eq(slk_lookup_verdict(store, world.key, specs[i]), "MISS");
        slk_get(store, world.key, specs[i], &world.builder, &result);
        slk_expect(&result, SLW_PUBLISHED, SLW_FAILURE_NONE);
        ck_assert_str_eq(slw_cached_directory(result.entry), slk_slot(&world, world.key, specs[i]));
        slk_result_release(&result);
        slk_get(store, world.key, specs[i], &world.builder, &result);
        slk_expect(&result, SLW_HIT, SLW_FAILURE_NONE);
        slk_result_release(&result);
        ck_assert_int_eq(atomic_load(&world.build.calls), calls + 1);
    }
    slk_expect_verdict(&world, store, "HIT");
    ck_assert_str_eq(slk_lookup_verdict(store, world.key, reversed), "HIT");
    slw_store_close(&store);
    slw_spec_release(&longer);
    slw_spec_release(&reversed);
    slw_spec_release(&other_kind);
    slk_world_end(&world);
}
END_TEST

/* ---- row 4 ---- */

typedef struct key_parts {
    slw_component components[5];
    char digests[5][SLW_DIGEST_TEXT_SIZE];
    char source[SLW_DIGEST_TEXT_SIZE];
    slw_key_inputs inputs;
} key_parts;

static void good_parts(key_parts *parts, const char *domain) {
    static const char *const names[5] = {"pypto", "runtime", "pto_isa", "ptoas", "device_toolchain"};
    const slw_key_inputs fresh = SLW_KEY_INPUTS_INIT;
    for (size_t i = 0; i < 5; i++) {
        slk_string_digest(domain, names[i], parts->digests[i]);
        parts->components[i] = (slw_component){names[i], parts->digests[i]};
    }
    slk_string_digest(domain, "source", parts->source);
    parts->inputs = fresh;
    parts->inputs.domain = domain;
    parts->inputs.components = parts->components;
    parts->inputs.component_count = 5;
    parts->inputs.source = parts->source;
    parts->inputs.specialization = parts->source;
}

static void refuse_key(const key_parts *parts, const char *what) {
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    const slw_code code = slw_key_create(&parts->inputs, &key, &err);
    ck_assert_msg(code == SLW_E_USAGE && key == NULL, "%s: %s", what, slw_code_name(code));
    ck_assert_ptr_nonnull(err.reason);
}

static const char *const bad_digests[] = {
    NULL,
    "",
    "abc",
    "../../../../../../../../../../../../../../../../../../../../../../etc",
    "DF9FD1A81A2FD4D068567D456AE70374786BA88CC5565E95FA1FBD4EC41C51E6",
    "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e",
    "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e60",
    "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51eg",
    " f9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e6",
    "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e\n",
};

START_TEST(b1_04_key_requires_complete_full_digests) {
    key_parts parts;
    for (size_t i = 0; i < sizeof bad_digests / sizeof *bad_digests; i++) {
        const char *shown = bad_digests[i] != NULL ? bad_digests[i] : "NULL";
        for (size_t component = 0; component < 5; component++) {
            good_parts(&parts, domains[_i]);
            parts.components[component].digest = bad_digests[i];
            refuse_key(&parts, shown);
        }
        good_parts(&parts, domains[_i]);
        parts.inputs.source = bad_digests[i];
        refuse_key(&parts, shown);
        good_parts(&parts, domains[_i]);
        parts.inputs.specialization = bad_digests[i];
        refuse_key(&parts, shown);
    }
}
END_TEST

START_TEST(b1_04_key_requires_its_components) {
    static const char *const wrong[] = {"", "schema", "Pypto", "py-pto", "pypto ", "a/b", "runtime"};
    key_parts parts;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        good_parts(&parts, domains[_i]);
        parts.components[0].name = wrong[i]; /* the last one: twice the same name */
        refuse_key(&parts, wrong[i]);
    }
    good_parts(&parts, domains[_i]);
    parts.components[0].name = NULL;
    refuse_key(&parts, "no name");
    good_parts(&parts, domains[_i]);
    parts.inputs.component_count = 0;
    refuse_key(&parts, "no components");
    if (_i == 0) { /* exactly the five in a store of pypto */
        good_parts(&parts, domains[_i]);
        parts.inputs.component_count = 4;
        refuse_key(&parts, "four components");
        good_parts(&parts, domains[_i]);
        parts.components[2].name = "pto_isb";
        refuse_key(&parts, "another name");
    } else {
        slw_component many[33];
        char names[33][16];
        good_parts(&parts, domains[_i]);
        for (int i = 0; i < 33; i++) {
            snprintf(names[i], sizeof names[i], "c%d", i);
            many[i] = (slw_component){names[i], parts.digests[0]};
        }
        parts.inputs.components = many;
        parts.inputs.component_count = 33;
        slw_error err = SLW_ERROR_INIT;
        slw_key *key = NULL;
        ck_assert_int_ne(slw_key_create(&parts.inputs, &key, &err), SLW_OK);
        parts.inputs.component_count = 32;
        slt_ok(slw_key_create(&parts.inputs, &key, &err), &err);
        slw_key_release(&key);
    }
}
END_TEST

START_TEST(b1_04_every_value_changes_the_key) {
    char digests[9][SLW_DIGEST_TEXT_SIZE];
    size_t count = 0;
    for (size_t changed = 0; changed < 8; changed++) { /* 7: nothing is changed */
        key_parts parts;
        good_parts(&parts, domains[_i]);
        if (changed < 5) parts.components[changed].digest = parts.digests[(changed + 1) % 5];
        if (changed == 5) parts.inputs.source = parts.digests[0];
        if (changed == 6) parts.inputs.specialization = parts.digests[0];
        slw_error err = SLW_ERROR_INIT;
        slw_key *key = NULL;
        slt_ok(slw_key_create(&parts.inputs, &key, &err), &err);
        snprintf(digests[count], sizeof digests[0], "%s", slw_key_digest(key));
        for (size_t i = 0; i < count; i++) ck_assert_str_ne(digests[i], digests[count]);
        count++;
        slw_key_release(&key);
    }
    slw_key *ours = slk_key(domains[_i], NULL), *other = slk_key(domains[1 - _i], NULL);
    ck_assert_str_ne(slw_key_digest(ours), slw_key_digest(other));
    slw_key_release(&ours);
    slw_key_release(&other);
}
END_TEST

/* ---- rows 5 and 6 ---- */

static slw_code make_spec(const slw_bytes *names, size_t count, slw_error *err) {
    const slw_error fresh = SLW_ERROR_INIT;
    *err = fresh;
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.required_files = names;
    inputs.required_file_count = count;
    slw_spec *spec = NULL;
    const slw_code code = slw_spec_create(&inputs, &spec, err);
    ck_assert_int_eq(code == SLW_OK, spec != NULL);
    slw_spec_release(&spec);
    return code;
}

START_TEST(b1_05_spec_rejects_unsafe_relative_paths) {
    static const char *const unsafe[] = {"../x", "/etc/passwd", "a/../b", "a//b", "a/./b",
                                         "a/",   "a\\b",        "",       ".",    "artifact_manifest.json",
                                         "..",   "./a",         "a/.",    "a/.."};
    slw_error err;
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        const slw_bytes names[2] = {{"fine", 4}, {unsafe[i], strlen(unsafe[i])}};
        ck_assert_msg(make_spec(names, 2, &err) == SLW_E_USAGE, "\"%s\" passes", unsafe[i]);
        ck_assert_str_eq(err.reason, "BAD_PATH");
        ck_assert_str_eq(err.subject, unsafe[i]);
    }
    const slw_bytes with_nul = {"a\0b", 3};
    ck_assert_int_eq(make_spec(&with_nul, 1, &err), SLW_E_USAGE);
    static const char *const safe[] = {"a", "a/b",  "...", ".hidden", "a..b", "sub/artifact_manifest.json",
                                       " ", "\xff", "A:b"};
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        const slw_bytes name = {safe[i], strlen(safe[i])};
        ck_assert_msg(make_spec(&name, 1, &err) == SLW_OK, "\"%s\" is refused: %s", safe[i], err.message);
    }
}
END_TEST

START_TEST(b1_06_spec_requires_nonempty_unique_files) {
    slw_error err;
    const slw_bytes twice[3] = {{"a", 1}, {"b", 1}, {"a", 1}};
    ck_assert_int_eq(make_spec(twice, 0, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "EMPTY");
    ck_assert_int_eq(make_spec(twice, 3, &err), SLW_E_USAGE);
    ck_assert_str_eq(err.reason, "DUPLICATE");
    ck_assert_int_eq(make_spec(twice, 2, &err), SLW_OK);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store B1: identity");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 120);
    tcase_add_loop_test(rows, b1_02_changed_spec_gets_an_independent_reusable_slot, 0, 2);
    tcase_add_loop_test(rows, b1_04_key_requires_complete_full_digests, 0, 2);
    tcase_add_loop_test(rows, b1_04_key_requires_its_components, 0, 2);
    tcase_add_loop_test(rows, b1_04_every_value_changes_the_key, 0, 2);
    tcase_add_test(rows, b1_05_spec_rejects_unsafe_relative_paths);
    tcase_add_test(rows, b1_06_spec_requires_nonempty_unique_files);
    suite_add_tcase(suite, rows);
    return slt_run(suite, NULL);
}
