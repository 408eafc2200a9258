/* The stores of tests/fixtures/stores: their requests, and the operations of damaged.json and accepted.json. */
#include "store_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "json.h"

static slwi_json_document *parse_file(const char *path) {
    slw_error err = SLW_ERROR_INIT;
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    limits.lone_surrogates = 1;
    size_t size = 0;
    char *text = slt_read_file(path, &size);
    slwi_json_document *document = NULL;
    static const slw_allocator allocator = SLW_ALLOCATOR_INIT;
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text, size}, &limits, &document, &err), &err);
    free(text);
    return document;
}

static slw_bytes string_of(const slwi_json *node) {
    slw_bytes bytes = {NULL, 0};
    ck_assert(slwi_json_string(node, &bytes));
    return bytes;
}

static const char *text_of(const slwi_json *object, const char *name) {
    return string_of(slwi_json_get(object, name)).data;
}

static void copy_text(char *out, size_t capacity, const char *text) {
    ck_assert_uint_lt(strlen(text), capacity);
    memcpy(out, text, strlen(text) + 1);
}

/* ---- stores and requests ---- */

struct slk_fixture {
    slwi_json_document *document;
    const slwi_json *root;
};

void slk_fixtures_copy(const char *scratch) {
    slt_shell("mkdir '%s/fixtures' && cp '%s'/*.tar '%s'/*.json '%s/fixtures/' && chmod -R a+rX '%s/fixtures'", scratch,
              slt_fixture("stores"), slt_fixture("stores"), scratch, scratch);
}

slk_fixture *slk_fixture_load(const char *scratch, const char *name) {
    char file[64];
    snprintf(file, sizeof file, "%s.json", name);
    slk_fixture *fixture = calloc(1, sizeof *fixture);
    ck_assert_ptr_nonnull(fixture);
    fixture->document = parse_file(slt_path(scratch, "fixtures", file, NULL));
    fixture->root = slwi_json_root(fixture->document);
    return fixture;
}

void slk_fixture_free(slk_fixture *fixture) {
    slwi_json_free(&fixture->document);
    free(fixture);
}

size_t slk_fixture_requests(const slk_fixture *fixture) {
    return slwi_json_length(slwi_json_get(fixture->root, "requests"));
}

static slw_key *request_key(const slwi_json *entry) {
    slw_component components[8];
    size_t count = 0;
    void *cursor = NULL;
    slw_bytes name;
    const slwi_json *value;
    while (slwi_json_member(slwi_json_get(entry, "components"), &cursor, &name, &value)) {
        ck_assert_uint_lt(count, 8);
        components[count++] = (slw_component){name.data, string_of(value).data};
    }
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.domain = SLW_DOMAIN_PYPTO;
    inputs.components = components;
    inputs.component_count = count;
    inputs.source = text_of(entry, "source");
    inputs.specialization = text_of(entry, "specialization");
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    slt_ok(slw_key_create(&inputs, &key, &err), &err);
    ck_assert_str_eq(slw_key_environment(key), text_of(entry, "environment"));
    ck_assert_str_eq(slw_key_digest(key), text_of(entry, "key"));
    return key;
}

static slw_spec *request_spec(const slwi_json *request) {
    const slwi_json *given = slwi_json_get(request, "required_files_given");
    slw_bytes names[64];
    const size_t count = slwi_json_length(given);
    ck_assert_uint_le(count, 64);
    for (size_t i = 0; i < count; i++) names[i] = string_of(slwi_json_item(given, i));
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.domain = SLW_DOMAIN_PYPTO;
    inputs.state = strcmp(text_of(request, "state"), "ready") == 0 ? SLW_READY : SLW_GENERATED;
    inputs.build_kind = strcmp(text_of(request, "build_kind"), "distributed") == 0 ? SLW_DISTRIBUTED : SLW_SINGLE;
    inputs.required_files = names;
    inputs.required_file_count = count;
    slw_error err = SLW_ERROR_INIT;
    slw_spec *spec = NULL;
    slt_ok(slw_spec_create(&inputs, &spec, &err), &err);
    ck_assert_str_eq(slw_spec_digest(spec), text_of(request, "spec"));
    return spec;
}

void slk_fixture_request(const slk_fixture *fixture, size_t index, slk_request *out) {
    const slwi_json *request = slwi_json_item(slwi_json_get(fixture->root, "requests"), index);
    const slwi_json *keys = slwi_json_get(fixture->root, "keys");
    memset(out, 0, sizeof *out);
    copy_text(out->name, sizeof out->name, text_of(request, "name"));
    copy_text(out->expect, sizeof out->expect, text_of(request, "expect"));
    copy_text(out->slot, sizeof out->slot, text_of(request, "slot"));
    out->key = request_key(slwi_json_get(keys, text_of(request, "key_label")));
    out->spec = request_spec(request);
    out->files = slwi_json_length(slwi_json_get(request, "files"));
}

void slk_request_release(slk_request *request) {
    slw_key_release(&request->key);
    slw_spec_release(&request->spec);
}

void slk_fixture_extract(const char *scratch, const char *name, const char *directory) {
    slt_shell("mkdir -p '%s' && chmod 0755 '%s' && tar -xpf '%s/fixtures/%s.tar' -C '%s'", directory, directory,
              scratch, name, directory);
}

/* ---- cases ---- */

struct slk_cases {
    slwi_json_document *document;
    const slwi_json *list;
};

slk_cases *slk_cases_load(const char *scratch, const char *document, const char *list) {
    slk_cases *cases = calloc(1, sizeof *cases);
    ck_assert_ptr_nonnull(cases);
    cases->document = parse_file(slt_path(scratch, "fixtures", document, NULL));
    cases->list = slwi_json_get(slwi_json_root(cases->document), list);
    ck_assert_uint_gt(slwi_json_length(cases->list), 0);
    return cases;
}

void slk_cases_free(slk_cases *cases) {
    slwi_json_free(&cases->document);
    free(cases);
}

size_t slk_cases_count(const slk_cases *cases) {
    return slwi_json_length(cases->list);
}

static void take_verdicts(const slwi_json *from, slk_case *out) {
    const slwi_json *build = slwi_json_get(from, "build");
    if (slwi_json_get(from, "verdict") != NULL) copy_text(out->verdict, sizeof out->verdict, text_of(from, "verdict"));
    if (slwi_json_get(from, "lookup_after_build") != NULL)
        copy_text(out->after, sizeof out->after, text_of(from, "lookup_after_build"));
    if (build == NULL) return;
    slw_bytes failure = {"", 0};
    copy_text(out->disposition, sizeof out->disposition, string_of(slwi_json_item(build, 0)).data);
    (void)slwi_json_string(slwi_json_item(build, 1), &failure);
    copy_text(out->failure, sizeof out->failure, failure.data);
}

void slk_case_at(const slk_cases *cases, size_t index, int as_root, slk_case *out) {
    const slwi_json *node = slwi_json_item(cases->list, index);
    memset(out, 0, sizeof *out);
    copy_text(out->id, sizeof out->id, text_of(node, "id"));
    copy_text(out->base, sizeof out->base, text_of(node, "base"));
    take_verdicts(node, out);
    const slwi_json *root = slwi_json_get(node, "as_root");
    out->as_root_differs = root != NULL;
    (void)slwi_json_bool(slwi_json_get(node, "needs_unprivileged_user"), &out->unprivileged_only);
    if (as_root && root != NULL) take_verdicts(root, out);
    out->operations = slwi_json_get(node, "ops");
}

/* ---- operations ---- */

typedef struct place {
    const char *root;
    const char *slot;
} place;

/* '@' = slot, '@1'..'@4' = its parents, '@L' = the key's lock file, '@R' = the root; the rest follows. */
static const char *expand(const place *where, const slwi_json *operand) {
    const char *text = string_of(operand).data;
    char slot[1024], key[80];
    ck_assert_int_eq(text[0], '@');
    snprintf(slot, sizeof slot, "%s/%s", where->root, where->slot);
    if (text[1] == 'R') return slt_path(where->root, text[2] == '/' ? text + 3 : ".", NULL);
    if (text[1] == 'L') {
        const char *at = strchr(strchr(where->slot, '/') + 1, '/') + 1; /* artifacts/<environment>/<key> */
        snprintf(key, sizeof key, "%.64s.lock", at);
        ck_assert_int_eq(text[2], 0);
        return slt_path(where->root, "locks", key, NULL);
    }
    size_t used = 1;
    if (text[1] >= '1' && text[1] <= '4') {
        for (int i = text[1] - '0'; i > 0; i--) *strrchr(slot, '/') = 0;
        used = 2;
    }
    if (text[used] == 0) return slt_path(slot, NULL);
    ck_assert_int_eq(text[used], '/');
    return slt_path(slot, text + used + 1, NULL);
}

static int64_t number_of(const slwi_json *node) {
    int64_t value = 0;
    ck_assert(slwi_json_i64(node, &value));
    return value;
}

static void write_at(const char *path, int flags, const void *data, size_t size) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    if (size > 0) ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    ck_assert_int_eq(close(fd), 0);
}

static size_t from_hex(slw_bytes hex, unsigned char *out, size_t capacity) {
    ck_assert_uint_eq(hex.size % 2, 0);
    ck_assert_uint_le(hex.size / 2, capacity);
    for (size_t i = 0; i < hex.size / 2; i++) {
        unsigned value = 0;
        ck_assert_int_eq(sscanf((const char *)hex.data + 2 * i, "%2x", &value), 1);
        out[i] = (unsigned char)value;
    }
    return hex.size / 2;
}

static void write_repeated(const char *path, int flags, slw_bytes prefix, slw_bytes unit, int64_t count,
                           slw_bytes suffix) {
    const size_t total = prefix.size + unit.size * (size_t)count + suffix.size;
    char *data = malloc(total + 1);
    ck_assert_ptr_nonnull(data);
    size_t used = prefix.size;
    if (prefix.size > 0) memcpy(data, prefix.data, prefix.size);
    for (int64_t i = 0; i < count; i++, used += unit.size) memcpy(data + used, unit.data, unit.size);
    if (suffix.size > 0) memcpy(data + used, suffix.data, suffix.size);
    write_at(path, flags, data, total);
    free(data);
}

static void pad(const char *path, slw_bytes hex, int64_t total) {
    unsigned char byte = 0;
    struct stat st;
    ck_assert_uint_eq(from_hex(hex, &byte, 1), 1);
    ck_assert_int_eq(stat(path, &st), 0);
    write_repeated(path, O_APPEND, (slw_bytes){"", 0}, (slw_bytes){&byte, 1}, total - (int64_t)st.st_size,
                   (slw_bytes){"", 0});
}

/* ASCII text to UTF-16 or UTF-32, little-endian with a mark unless the name says otherwise. */
static void transcode(const char *path, const char *encoding) {
    size_t size = 0, used = 0;
    char *text = slt_read_file(path, &size);
    const size_t width = strncmp(encoding, "utf-32", 6) == 0 ? 4 : 2;
    const int big = strstr(encoding, "-be") != NULL, mark = encoding[6] == 0;
    unsigned char *out = calloc(size + 1, width);
    ck_assert_ptr_nonnull(out);
    if (mark) {
        out[0] = 0xff;
        out[1] = 0xfe;
        used = width;
    }
    for (size_t i = 0; i < size; i++, used += width) out[used + (big ? width - 1 : 0)] = (unsigned char)text[i];
    write_at(path, O_TRUNC, out, used);
    free(out);
    free(text);
}

static void flip(const char *path, int64_t offset, int64_t mask) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char byte = 0;
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(pread(fd, &byte, 1, (off_t)offset), 1);
    byte = (unsigned char)(byte ^ (unsigned char)mask);
    ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

/* The path of a slot is longer than a socket's name may be, so it is bound from its own directory. */
static void make_socket(const char *path) {
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", path);
    char *name = strrchr(directory, '/');
    *name++ = 0;
    const int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(fchdir(back), 0);
    close(fd);
    close(back);
}

static void set_time(const char *path, int64_t seconds) {
    const struct timespec times[2] = {{(time_t)seconds, 0}, {(time_t)seconds, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void must(int result, const char *operation, const char *path) {
    ck_assert_msg(result == 0, "%s %s: %s", operation, path, strerror(errno));
}

static int apply_to_names(const char *op, const place *where, const char *path, const slwi_json *arguments) {
    const slwi_json *second = slwi_json_item(arguments, 2);
    if (strcmp(op, "unlink") == 0)
        must(unlink(path), op, path);
    else if (strcmp(op, "rmtree") == 0)
        slt_shell("rm -r '%s'", path);
    else if (strcmp(op, "mkdir") == 0)
        must(mkdir(path, 0755), op, path);
    else if (strcmp(op, "mkfifo") == 0)
        must(mkfifo(path, 0644), op, path);
    else if (strcmp(op, "socket") == 0)
        make_socket(path);
    else if (strcmp(op, "chmod") == 0)
        must(chmod(path, (mode_t)strtoul(string_of(second).data, NULL, 8)), op, path);
    else if (strcmp(op, "utime") == 0)
        set_time(path, number_of(second));
    else if (strcmp(op, "symlink") == 0)
        must(symlink(string_of(second).data, path), op, path);
    else if (strcmp(op, "link") == 0)
        must(link(path, expand(where, second)), op, path);
    else if (strcmp(op, "rename") == 0)
        must(rename(path, expand(where, second)), op, path);
    else if (strcmp(op, "nest") == 0)
        slk_nest(path, string_of(second).data, (unsigned)number_of(slwi_json_item(arguments, 3)));
    else
        return 0;
    return 1;
}

static int apply_to_bytes(const char *op, const char *path, const slwi_json *arguments) {
    const slwi_json *second = slwi_json_item(arguments, 2), *third = slwi_json_item(arguments, 3);
    const slw_bytes none = {"", 0};
    unsigned char raw[4096];
    if (strcmp(op, "write") == 0)
        write_at(path, O_TRUNC, string_of(second).data, string_of(second).size);
    else if (strcmp(op, "write_hex") == 0)
        write_at(path, O_TRUNC, raw, from_hex(string_of(second), raw, sizeof raw));
    else if (strcmp(op, "append_hex") == 0)
        write_at(path, O_APPEND, raw, from_hex(string_of(second), raw, sizeof raw));
    else if (strcmp(op, "write_repeat") == 0)
        write_repeated(path, O_TRUNC, string_of(second), string_of(third), number_of(slwi_json_item(arguments, 4)),
                       string_of(slwi_json_item(arguments, 5)));
    else if (strcmp(op, "append_repeat") == 0)
        write_repeated(path, O_APPEND, none, string_of(second), number_of(third), none);
    else if (strcmp(op, "pad_hex") == 0)
        pad(path, string_of(second), number_of(third));
    else if (strcmp(op, "replace") == 0) {
        if (slwi_json_item(arguments, 4) != NULL) ck_assert_int_eq(number_of(slwi_json_item(arguments, 4)), 1);
        slk_replace(path, string_of(second).data, string_of(third).data);
    } else if (strcmp(op, "transcode") == 0)
        transcode(path, string_of(second).data);
    else if (strcmp(op, "flip") == 0)
        flip(path, number_of(second), number_of(third));
    else if (strcmp(op, "truncate") == 0)
        must(truncate(path, (off_t)number_of(second)), op, path);
    else
        return 0;
    return 1;
}

void slk_apply(const slk_case *which, const char *root, const char *slot) {
    const slwi_json *operations = which->operations;
    const place where = {root, slot};
    ck_assert_uint_gt(slwi_json_length(operations), 0);
    for (size_t i = 0; i < slwi_json_length(operations); i++) {
        const slwi_json *operation = slwi_json_item(operations, i);
        const char *op = string_of(slwi_json_item(operation, 0)).data;
        const char *path = expand(&where, slwi_json_item(operation, 1));
        ck_assert_msg(apply_to_names(op, &where, path, operation) || apply_to_bytes(op, path, operation),
                      "%s: unknown operation %s", which->id, op);
    }
}
