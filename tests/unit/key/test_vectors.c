/* vectors.json of the stores that slipway has to be compatible with: every record, path, digest string, and the chain from
 * component to manifest; and the table of store-semantics A1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "json_place.h"
#include "key_internal.h"
#include "slt.h"
#include "text.h"

static slw_error error = SLW_ERROR_INIT;
static char *text;
static size_t text_size;
static slwi_json_document *document;
static const slwi_json *root;

static void open_vectors(void) {
    static const slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, SLW_LIMIT_JSON_DEPTH, SLW_LIMIT_JSON_VALUES, 1};
    text = slt_read_file(slt_fixture("stores/vectors.json"), &text_size);
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text, text_size}, &limits, &document, &error), &error);
    root = slwi_json_root(document);
}

static void close_vectors(void) {
    slwi_json_free(&document);
    free(text);
}

static slw_bytes string_of(const slwi_json *object, const char *name) {
    slw_bytes bytes = {NULL, 0};
    ck_assert_msg(slwi_json_string(slwi_json_get(object, name), &bytes), "no string %s", name);
    return bytes;
}

static size_t number_of(const slwi_json *object, const char *name) {
    return slwi_json_member_number(object, (slw_bytes){name, strlen(name)});
}

/* The text of the value at a path: from where it begins to its closing bracket. */
static slw_bytes text_at(const size_t *path, size_t steps) {
    slw_error place = SLW_ERROR_INIT;
    slwi_json_place((slw_bytes){text, text_size}, path, steps, &place);
    size_t from = (size_t) place.offset_bytes, at = from, depth = 0;
    int quoted = 0;
    do {
        if (text[at] == '"') quoted = !quoted; /* no escapes in values */
        if (!quoted) depth += (size_t) (text[at] == '{' || text[at] == '[') - (size_t) (text[at] == '}' || text[at] == ']');
        at++;
    } while (depth != 0 && at < text_size);
    return (slw_bytes){text + from, at - from};
}

static void ck_record(const slw_record *record, slw_bytes encoded, slw_bytes sha256) {
    slw_text got = SLW_TEXT_INIT;
    slw_digest digest;
    char digest_text[SLW_DIGEST_TEXT_SIZE];
    slt_ok(slw_record_encode(record, SLW_DOMAIN_PYPTO, &got, &error), &error);
    if (encoded.data != NULL) {
        ck_assert_uint_eq(got.size, encoded.size);
        ck_assert_str_eq(got.data, encoded.data);
    }
    slt_ok(slw_record_digest(record, SLW_DOMAIN_PYPTO, &digest, &error), &error);
    slw_digest_format(&digest, digest_text);
    ck_assert_str_eq(digest_text, sha256.data);
    slw_sha256((slw_bytes){got.data, got.size}, &digest);
    slw_digest_format(&digest, digest_text);
    ck_assert_str_eq(digest_text, sha256.data);
    slw_text_release(&got);
}

START_TEST(records) {
    open_vectors();
    const slwi_json *list = slwi_json_get(root, "records");
    ck_assert_uint_eq(slwi_json_length(list), 42);
    for (size_t i = 0; i < slwi_json_length(list); i++) {
        const slwi_json *item = slwi_json_item(list, i);
        size_t path[3] = {number_of(root, "records"), i, number_of(item, "value")};
        slw_record *record = NULL;
        slt_ok(slw_record_parse(NULL, text_at(path, 3), &record, &error), &error);
        ck_record(record, string_of(item, "encoded"), string_of(item, "sha256"));
        slw_record_release(&record);
    }
    close_vectors();
}
END_TEST

static const struct {
    const char *json, *sha256;
} table[] = {
    {"{\"t\":\"none\"}", "1e1e02c6a8c8a6bca1bc4f83e0ab0b8a4373b5f5442012765b47fc917a41a829"},
    {"{\"t\":\"bool\",\"v\":true}", "8dd0ecbdbcab4ffc8a4e6e7032f0408deadc2de92b7a8098238a05b6f39b8c2a"},
    {"{\"t\":\"int\",\"v\":\"1\"}", "8ba3d1f4cbfbfa979faf7a7aefd9ca02c82a49bcf19ef98e14bb75158e4a2922"},
    {"{\"t\":\"int\",\"v\":\"-1\"}", "856e4f58b54c5687804d059e38b9008618f42f9acf02f894bfb0cbe59b7b7caf"},
    {"{\"t\":\"f64\",\"bits\":\"0000000000000000\"}", "1d0b6e6adf6eabba01f9520c5f2e7e5de4c5a90eb06143e297908ef6ab365c94"},
    {"{\"t\":\"f64\",\"bits\":\"8000000000000000\"}", "754c42239400eb786d48eab3769b756aacd1bef7c443fcb693ae414037da14c6"},
    {"{\"t\":\"f64\",\"bits\":\"3ff0000000000000\"}", "3b9f0258ce3103a9c5bc99ed75eccb5dff68f54ab98b531dec766f1736712058"},
    {"{\"t\":\"str\",\"wtf8_hex\":\"\"}", "5ab9d59c520ab33b191142d749698f95e1c73384f43d485bec37cc596174bfa6"},
    {"{\"t\":\"str\",\"wtf8_hex\":\"f09f9880\"}", "dad2cf5d9b5be9a221d2abbebaedf4e6b55f09525515b56c9861043e12261835"},
    {"{\"t\":\"str\",\"wtf8_hex\":\"eda0bdedb880\"}", "61fb62d503fa7d600adfe12712adaa1a9856e8601e55f54c477ccf5c78777223"},
    {"{\"t\":\"bytes\",\"hex\":\"00ff\"}", "80d4fc37f873a83074e46215313f5ae102077771065b3e7afb02eac8181e9edd"},
    {"{\"t\":\"list\",\"v\":[{\"t\":\"int\",\"v\":\"1\"}]}", "224f3742a78793ebe6073854cb742c8e43d0a4fc11c7fef9e1bd2838516dbd74"},
    {"{\"t\":\"tuple\",\"v\":[{\"t\":\"int\",\"v\":\"1\"}]}", "e5fc72ab9ddd8353842e9b16966dbcf4b3808b447d84bb05ac79cbaa2a0938a0"},
    {"{\"t\":\"dict\",\"v\":[[{\"t\":\"str\",\"wtf8_hex\":\"62\"},{\"t\":\"list\",\"v\":[{\"t\":\"int\",\"v\":\"2\"}]}],[{\"t\":"
     "\"str\",\"wtf8_hex\":\"61\"},{\"t\":\"int\",\"v\":\"1\"}]]}",
     "1a8500795e5650f35e5c48c053a2660b4ac4c937cb444337e17c4046f2135434"},
};

START_TEST(the_table_of_a1) {
    slw_record *record = NULL;
    slt_ok(slw_record_parse(NULL, (slw_bytes){table[_i].json, strlen(table[_i].json)}, &record, &error), &error);
    ck_record(record, (slw_bytes){NULL, 0}, (slw_bytes){table[_i].sha256, 64});
    slw_record_release(&record);
}
END_TEST

START_TEST(required_paths) {
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    open_vectors();
    const slwi_json *list = slwi_json_get(root, "required_paths");
    ck_assert_uint_eq(slwi_json_length(list), 23);
    for (size_t i = 0; i < slwi_json_length(list); i++) {
        const slwi_json *item = slwi_json_item(list, i);
        slw_bytes hex = string_of(item, "wtf8_hex");
        slwi_buffer raw;
        int ok;
        char *wtf8 = malloc(hex.size + 1);
        ck_assert(slwi_hex_decode(hex.data, hex.size, wtf8));
        ck_assert(slwi_json_bool(slwi_json_get(item, "ok"), &ok));
        slwi_buffer_init(&raw, &allocator, SIZE_MAX);
        ck_assert(slwi_wtf8_to_os((slw_bytes){wtf8, hex.size / 2}, &raw));
        slw_bytes name = {raw.data, raw.size};
        slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
        slw_spec *spec = NULL;
        inputs.domain = SLW_DOMAIN_PYPTO;
        inputs.required_files = &name;
        inputs.required_file_count = 1;
        slw_code rc = slw_spec_create(&inputs, &spec, &error);
        if (ok) {
            slt_ok(rc, &error);
            ck_assert_str_eq(slw_spec_digest(spec), string_of(item, "spec").data);
        } else {
            ck_assert_msg(rc == SLW_E_USAGE, "%s was taken", (const char *) hex.data);
            ck_assert_str_eq(error.reason, "BAD_PATH");
        }
        slw_spec_release(&spec);
        slwi_buffer_free(&raw);
        free(wtf8);
    }
    close_vectors();
}
END_TEST

START_TEST(digest_strings) {
    static const char good[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    open_vectors();
    const slwi_json *list = slwi_json_get(root, "digest_strings");
    ck_assert_uint_eq(slwi_json_length(list), 10);
    for (size_t i = 0; i < slwi_json_length(list); i++) {
        slw_bytes string = {NULL, 0};
        int ok, given = slwi_json_string(slwi_json_item(slwi_json_item(list, i), 0), &string);
        ck_assert(slwi_json_bool(slwi_json_item(slwi_json_item(list, i), 1), &ok));
        slw_component one = {"a", good};
        slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
        slw_key *key = NULL;
        slw_digest digest;
        inputs.components = &one;
        inputs.component_count = 1;
        inputs.source = given ? string.data : NULL;
        inputs.specialization = good;
        slw_code rc = slw_key_create(&inputs, &key, &error);
        ck_assert_int_eq(rc, ok ? SLW_OK : SLW_E_USAGE);
        if (!ok) ck_assert_str_eq(error.reason, "BAD_DIGEST");
        slw_key_release(&key);
        ck_assert_int_eq(slw_digest_parse(inputs.source, given ? string.size : 0, &digest, &error), ok ? SLW_OK : SLW_E_USAGE);
    }
    close_vectors();
}
END_TEST

static slw_record *put_string(slw_record *into, const char *name, slw_bytes value) {
    slw_record *item = NULL;
    slt_ok(slw_record_string(NULL, value, &item, &error), &error);
    if (name == NULL) {
        slt_ok(slw_record_append(into, &item, &error), &error);
    } else {
        slt_ok(slw_record_set(into, (slw_bytes){name, strlen(name)}, &item, &error), &error);
    }
    return into;
}

static void put_one(slw_record *into, const char *name) {
    slw_record *one = NULL;
    slt_ok(slw_record_int(NULL, 1, &one, &error), &error);
    if (name == NULL) {
        slt_ok(slw_record_append(into, &one, &error), &error);
    } else {
        slt_ok(slw_record_set(into, (slw_bytes){name, strlen(name)}, &one, &error), &error);
    }
}

static slw_record *components_dict(const slwi_json *components) {
    slw_record *dict = NULL;
    void *cursor = NULL;
    slw_bytes name, digest;
    const slwi_json *value;
    slt_ok(slw_record_dict(NULL, &dict, &error), &error);
    while (slwi_json_member(components, &cursor, &name, &value)) {
        ck_assert(slwi_json_string(value, &digest));
        put_string(dict, name.data, digest);
    }
    return dict;
}

/* The records of the chain, built node by node, are the texts of the fixture; key.c writes them without a tree. */
START_TEST(records_of_the_chain) {
    open_vectors();
    const slwi_json *f = slwi_json_get(root, "fixture");
    slw_record *environment = NULL, *dict = components_dict(slwi_json_get(f, "components"));
    slt_ok(slw_record_tuple(NULL, &environment, &error), &error);
    put_string(environment, NULL, (slw_bytes){"toolchain", 9});
    put_one(environment, NULL);
    slt_ok(slw_record_append(environment, &dict, &error), &error);
    ck_record(environment, string_of(f, "environment_record_encoded"), string_of(f, "environment"));
    slw_record_release(&environment);
    slw_record *key = NULL;
    slt_ok(slw_record_dict(NULL, &key, &error), &error);
    dict = components_dict(slwi_json_get(f, "components"));
    put_one(dict, "schema");
    slt_ok(slw_record_set(key, (slw_bytes){"environment", 11}, &dict, &error), &error);
    put_one(key, "schema");
    slw_bytes digest;
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "source"), 1), &digest));
    put_string(key, "source", digest);
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "specialization"), 1), &digest));
    put_string(key, "specialization", digest);
    ck_record(key, string_of(f, "key_record_encoded"), string_of(f, "key"));
    slw_record_release(&key);
    close_vectors();
}
END_TEST

static slw_key *fixture_key(const slwi_json *f) {
    slw_component components[8];
    size_t count = 0;
    void *cursor = NULL;
    slw_bytes name, digest;
    const slwi_json *value;
    while (slwi_json_member(slwi_json_get(f, "components"), &cursor, &name, &value) && count < 8) {
        ck_assert(slwi_json_string(value, &digest));
        components[count++] = (slw_component){name.data, digest.data};
    }
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    slw_key *key = NULL;
    slw_bytes source, specialization;
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "source"), 1), &source));
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "specialization"), 1), &specialization));
    inputs.domain = SLW_DOMAIN_PYPTO;
    inputs.components = components;
    inputs.component_count = count;
    inputs.source = source.data;
    inputs.specialization = specialization.data;
    slt_ok(slw_key_create(&inputs, &key, &error), &error);
    return key;
}

static slw_spec *fixture_spec(slw_state state, slw_build_kind kind) {
    slw_bytes files[] = {{"kernel_config.py", 16}, {"kernel/source.pto", 17}};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    slw_spec *spec = NULL;
    inputs.domain = SLW_DOMAIN_PYPTO;
    inputs.state = state;
    inputs.build_kind = kind;
    inputs.required_files = files;
    inputs.required_file_count = 2;
    slt_ok(slw_spec_create(&inputs, &spec, &error), &error);
    return spec;
}

/* Component digests are digests of strings; the specialization one of a dict. */
START_TEST(inputs_of_the_chain) {
    open_vectors();
    const slwi_json *f = slwi_json_get(root, "fixture"), *value;
    void *cursor = NULL;
    slw_bytes name, input;
    slw_record *record = NULL;
    while (slwi_json_member(slwi_json_get(f, "component_inputs"), &cursor, &name, &value)) {
        ck_assert(slwi_json_string(value, &input));
        slt_ok(slw_record_string(NULL, input, &record, &error), &error);
        ck_record(record, (slw_bytes){NULL, 0}, string_of(slwi_json_get(f, "components"), name.data));
        slw_record_release(&record);
    }
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "source"), 0), &input));
    slt_ok(slw_record_string(NULL, input, &record, &error), &error);
    ck_assert(slwi_json_string(slwi_json_item(slwi_json_get(f, "source"), 1), &input));
    ck_record(record, (slw_bytes){NULL, 0}, input);
    slw_record_release(&record);
    close_vectors();
}
END_TEST

START_TEST(the_chain) {
    open_vectors();
    const slwi_json *f = slwi_json_get(root, "fixture");
    slw_key *key = fixture_key(f);
    ck_assert_str_eq(slw_key_environment(key), string_of(f, "environment").data);
    ck_assert_str_eq(slw_key_digest(key), string_of(f, "key").data);
    static const struct {
        slw_state state;
        slw_build_kind kind;
        const char *field;
    } specs[] = {{SLW_GENERATED, SLW_SINGLE, "spec_generated"},
                 {SLW_READY, SLW_SINGLE, "spec_ready"},
                 {SLW_GENERATED, SLW_DISTRIBUTED, "spec_generated_distributed"},
                 {SLW_READY, SLW_DISTRIBUTED, "spec_ready_distributed"}};
    for (size_t i = 0; i < 4; i++) {
        slw_spec *spec = fixture_spec(specs[i].state, specs[i].kind);
        ck_assert_str_eq(slw_spec_digest(spec), string_of(f, specs[i].field).data);
        slw_spec_release(&spec);
    }
    slw_key_release(&key);
    close_vectors();
}
END_TEST

/* What of the manifest is the key's and the spec's: components, key, required_files. */
START_TEST(the_manifest) {
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    open_vectors();
    const slwi_json *f = slwi_json_get(root, "fixture");
    slw_bytes manifest = string_of(f, "manifest");
    slw_key *key = fixture_key(f);
    slw_spec *spec = fixture_spec(SLW_GENERATED, SLW_SINGLE);
    slwi_buffer buffer;
    slwi_json_writer writer;
    slwi_buffer_init(&buffer, &allocator, SIZE_MAX);
    slwi_json_begin(&writer, &buffer, 1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "build_kind");
    slwi_json_put_text(&writer, slw_build_kind_name(slw_spec_build_kind(spec)));
    slwi_json_key(&writer, "components");
    slwi_key_write_components(&writer, key);
    slwi_json_object_end(&writer);
    ck_assert_int_eq(slwi_buffer_status(&buffer, &error), SLW_OK);
    ck_assert_mem_eq(buffer.data, manifest.data, buffer.size - 1);
    slwi_buffer_clear(&buffer);
    slwi_json_begin(&writer, &buffer, 1);
    slwi_json_object_begin(&writer);
    slwi_json_key(&writer, "key");
    slwi_json_put_text(&writer, slw_key_digest(key));
    slwi_json_key(&writer, "required_files");
    slwi_spec_write_required(&writer, spec);
    slwi_json_key(&writer, "schema");
    slwi_json_put_u64(&writer, 1);
    slwi_json_key(&writer, "state");
    slwi_json_put_text(&writer, slw_state_name(slw_spec_state(spec)));
    slwi_json_object_end(&writer);
    ck_assert_int_eq(slwi_buffer_status(&buffer, &error), SLW_OK);
    ck_assert_str_eq((const char *) manifest.data + manifest.size - (buffer.size - 1), buffer.data + 1);
    slwi_buffer_free(&buffer);
    slw_digest digest;
    char digest_text[SLW_DIGEST_TEXT_SIZE];
    slw_sha256(manifest, &digest);
    slw_digest_format(&digest, digest_text);
    ck_assert_uint_eq(manifest.size, 1070);
    ck_assert_str_eq(digest_text, string_of(f, "manifest_sha256").data);
    slw_key_release(&key);
    slw_spec_release(&spec);
    close_vectors();
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("key/vectors");
    TCase *t = tcase_create("vectors");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, records);
    tcase_add_loop_test(t, the_table_of_a1, 0, (int) (sizeof table / sizeof table[0]));
    tcase_add_test(t, required_paths);
    tcase_add_test(t, digest_strings);
    tcase_add_test(t, records_of_the_chain);
    tcase_add_test(t, inputs_of_the_chain);
    tcase_add_test(t, the_chain);
    tcase_add_test(t, the_manifest);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return slt_run(suite(), NULL);
}
