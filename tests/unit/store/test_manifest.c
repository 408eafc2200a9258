/* The canonical text of a marker: the fixtures' own digests, escapes, where "schema" sorts, ON_MAP's digests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "store_kit.h"
#include "store_manifest.h"

static const slw_allocator standard = SLW_ALLOCATOR_INIT;

typedef struct text {
    slwi_buffer text, tail;
    slwi_inventory inventory;
    slwi_manifest manifest;
    slw_error err;
} text;

static void begin(text *t) {
    const slw_error fresh = SLW_ERROR_INIT;
    t->err = fresh;
    slwi_buffer_init(&t->text, &standard, SIZE_MAX);
    slwi_buffer_init(&t->tail, &standard, SIZE_MAX);
    slwi_inventory_init(&t->inventory, &standard);
}

static void end(text *t) {
    slwi_buffer_free(&t->text);
    slwi_buffer_free(&t->tail);
    slwi_inventory_free(&t->inventory);
}

/* Files in the order given; their paths stay the caller's. */
static void add(text *t, const char *path, const char *bytes, size_t size, int executable) {
    slwi_inventory *inventory = &t->inventory;
    inventory->files = slwi_realloc_array(&standard, inventory->files, inventory->count + 1, sizeof *inventory->files);
    slwi_tree_file *file = &inventory->files[inventory->count++];
    *file = (slwi_tree_file){
        .path = path, .path_size = (uint32_t)strlen(path), .size = size, .executable = executable != 0};
    slw_sha256((slw_bytes){bytes, size}, &file->sha256);
}

static void write_all(text *t, const slw_key *key, const slw_spec *spec, slw_bytes marker) {
    slt_ok(slwi_manifest_begin(&t->manifest, &t->text, &t->tail, key, spec, &t->err), &t->err);
    slt_ok(slwi_manifest_finish(&t->manifest, &t->inventory, marker, &t->err), &t->err);
}

static const slw_bytes none = {NULL, 0};

static void add_fixture(text *t) {
    add(t, "kernel/source.pto", "generated code", 14, 0);
    add(t, "kernel_config.py", "KERNELS = []\n", 13, 0);
}

START_TEST(the_fixture_has_its_known_digest) {
    text t;
    begin(&t);
    slw_key *key = slk_key(SLW_DOMAIN_PYPTO, NULL);
    slw_spec *spec = slk_fixture_spec(SLW_DOMAIN_PYPTO, SLW_GENERATED, SLW_SINGLE);
    add_fixture(&t);
    write_all(&t, key, spec, none);
    ck_assert_uint_eq(t.text.size, 1070);
    slw_digest digest;
    char digits[SLW_DIGEST_TEXT_SIZE];
    slw_sha256((slw_bytes){t.text.data, t.text.size}, &digest);
    slw_digest_format(&digest, digits);
    ck_assert_str_eq(digits, "dff617a714c53bead226f80a4400cb8fdb8d5e930ce0caf834ac35eed5c52e11");
    slw_key_release(&key);
    slw_spec_release(&spec);
    end(&t);
}
END_TEST

START_TEST(names_are_escaped_as_json_wants_them) {
    text t;
    begin(&t);
    slw_key *key = slk_key(SLW_DOMAIN_DEFAULT, NULL);
    slw_spec *spec = slk_spec(SLW_DOMAIN_DEFAULT, SLW_READY, SLW_DISTRIBUTED, "a\"b", NULL);
    add(&t, "a\"b", "1", 1, 1);
    add(&t, "tab\there", "2", 1, 0);
    add(&t, "\xc3\xa9", "3", 1, 0);
    add(&t, "\xff", "4", 1, 0);
    add(&t, "\xf0\x9f\x98\x80", "5", 1, 0);
    write_all(&t, key, spec, none);
    static const char *const pieces[] = {"{\"build_kind\":\"distributed\",\"components\":{\"environment\":{",
                                         "\"files\":[{\"executable\":true,\"path\":\"a\\\"b\",\"sha256\":\"",
                                         "{\"executable\":false,\"path\":\"tab\\there\",",
                                         "\"path\":\"\\u00e9\",",
                                         "\"path\":\"\\udcff\",",
                                         "\"path\":\"\\ud83d\\ude00\",",
                                         "\"required_files\":[\"a\\\"b\"],\"schema\":1,\"state\":\"ready\"}"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        ck_assert_msg(strstr(t.text.data, pieces[i]) != NULL, "%s is not in %s", pieces[i], t.text.data);
    slw_key_release(&key);
    slw_spec_release(&spec);
    end(&t);
}
END_TEST

static slw_key *key_of(const char *const *names, size_t count) {
    slw_component components[4];
    char digits[SLW_DIGEST_TEXT_SIZE];
    slk_string_digest(SLW_DOMAIN_DEFAULT, "x", digits);
    for (size_t i = 0; i < count; i++) components[i] = (slw_component){names[i], digits};
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.components = components;
    inputs.component_count = count;
    inputs.source = inputs.specialization = digits;
    slw_key *key = NULL;
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slw_key_create(&inputs, &key, &err), &err);
    return key;
}

START_TEST(schema_stands_where_its_name_sorts) {
    static const char *const before[] = {"backend", "compiler"};
    static const char *const around[] = {"a", "schem", "schema_2", "zlib"};
    slw_spec *spec = slk_fixture_spec(SLW_DOMAIN_DEFAULT, SLW_READY, SLW_SINGLE);
    text t;
    begin(&t);
    slw_key *key = key_of(before, 2);
    write_all(&t, key, spec, none);
    const char *compiler = strstr(t.text.data, "\"compiler\""), *schema = strstr(t.text.data, "\"schema\":1}");
    ck_assert_ptr_nonnull(compiler);
    ck_assert_ptr_nonnull(schema);
    ck_assert(compiler < schema);
    slw_key_release(&key);
    key = key_of(around, 4);
    write_all(&t, key, spec, none);
    const char *at = t.text.data;
    static const char *const order[] = {"\"a\":", "\"schem\":", "\"schema\":1,", "\"schema_2\":", "\"zlib\":"};
    for (size_t i = 0; i < 5; i++) {
        at = strstr(at, order[i]);
        ck_assert_msg(at != NULL, "%s is missing or out of order", order[i]);
    }
    slw_key_release(&key);
    slw_spec_release(&spec);
    end(&t);
}
END_TEST

/* A marker must begin and end as its key and spec say, whatever its files. */
START_TEST(frames) {
    text t;
    begin(&t);
    slw_key *key = slk_key(SLW_DOMAIN_PYPTO, NULL);
    slw_spec *spec = slk_fixture_spec(SLW_DOMAIN_PYPTO, SLW_GENERATED, SLW_SINGLE);
    add_fixture(&t);
    write_all(&t, key, spec, none);
    char *marker = malloc(t.text.size + 2);
    const size_t size = t.text.size;
    memcpy(marker, t.text.data, size + 1);
    slt_ok(slwi_manifest_begin(&t.manifest, &t.text, &t.tail, key, spec, &t.err), &t.err);
    ck_assert(slwi_manifest_frames(&t.manifest, (slw_bytes){marker, size}));
    ck_assert(!slwi_manifest_frames(&t.manifest, (slw_bytes){marker, size - 1}));
    ck_assert(!slwi_manifest_frames(&t.manifest, (slw_bytes){marker, t.text.size}));
    ck_assert(!slwi_manifest_frames(&t.manifest, (slw_bytes){marker, 0}));
    ck_assert(!slwi_manifest_frames(&t.manifest, (slw_bytes){marker + 1, size - 1}));
    marker[size] = ' ';
    ck_assert(!slwi_manifest_frames(&t.manifest, (slw_bytes){marker, size + 1}));
    free(marker);
    slw_key_release(&key);
    slw_spec_release(&spec);
    end(&t);
}
END_TEST

/* ON_MAP: the digests come from the marker, and only a marker that is right otherwise gives an equal text. */
START_TEST(digests_from_the_marker) {
    text t, u;
    begin(&t);
    begin(&u);
    slw_key *key = slk_key(SLW_DOMAIN_PYPTO, NULL);
    slw_spec *spec = slk_fixture_spec(SLW_DOMAIN_PYPTO, SLW_GENERATED, SLW_SINGLE);
    add_fixture(&t);
    write_all(&t, key, spec, none);
    const slw_bytes marker = {t.text.data, t.text.size};
    add_fixture(&u);
    for (size_t i = 0; i < 2; i++) memset(&u.inventory.files[i].sha256, 0, sizeof(slw_digest));
    write_all(&u, key, spec, marker);
    ck_assert_uint_eq(u.text.size, marker.size);
    ck_assert_mem_eq(u.text.data, marker.data, marker.size);
    ck_assert_mem_eq(&u.inventory.files[1].sha256, &t.inventory.files[1].sha256, sizeof(slw_digest));
    char *upper = strstr(t.text.data, "\"sha256\":\"") + 10;
    upper[3] = 'G';
    write_all(&u, key, spec, marker);
    ck_assert_int_ne(memcmp(u.text.data, marker.data, marker.size), 0);
    for (size_t cut = 0; cut < marker.size; cut += 7) write_all(&u, key, spec, (slw_bytes){marker.data, cut});
    slw_key_release(&key);
    slw_spec_release(&spec);
    end(&u);
    end(&t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store manifest");
    TCase *tests = tcase_create("manifest");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_fixture_has_its_known_digest);
    tcase_add_test(tests, names_are_escaped_as_json_wants_them);
    tcase_add_test(tests, schema_stands_where_its_name_sorts);
    tcase_add_test(tests, frames);
    tcase_add_test(tests, digests_from_the_marker);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
