#include "store_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- keys and specs ---- */

static slw_bytes text_bytes(const char *text) {
    return (slw_bytes){text, strlen(text)};
}

static void record_text(slw_record **record, const char *domain, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_error err = SLW_ERROR_INIT;
    slw_digest digest;
    slt_ok(slw_record_digest(*record, domain, &digest, &err), &err);
    slw_digest_format(&digest, out);
    slw_record_release(record);
}

void slk_string_digest(const char *domain, const char *text, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *record = NULL;
    slt_ok(slw_record_string(NULL, text_bytes(text), &record, &err), &err);
    record_text(&record, domain, out);
}

static void rows_digest(const char *domain, char out[SLW_DIGEST_TEXT_SIZE]) {
    slw_error err = SLW_ERROR_INIT;
    slw_record *dict = NULL, *rows = NULL;
    slt_ok(slw_record_dict(NULL, &dict, &err), &err);
    slt_ok(slw_record_int(NULL, 16, &rows, &err), &err);
    slt_ok(slw_record_set(dict, text_bytes("rows"), &rows, &err), &err);
    record_text(&dict, domain, out);
}

slw_key *slk_key(const char *domain, const char *source) {
    static const char *const names[5] = {"pypto", "runtime", "pto_isa", "ptoas", "device_toolchain"};
    static const char *const values[5] = {"pypto", "runtime", "isa", "ptoas", "cxx"};
    char digests[5][SLW_DIGEST_TEXT_SIZE], source_text[SLW_DIGEST_TEXT_SIZE], rows[SLW_DIGEST_TEXT_SIZE];
    slw_component components[5];
    for (size_t i = 0; i < 5; i++) {
        slk_string_digest(domain, values[i], digests[i]);
        components[i] = (slw_component){names[i], digests[i]};
    }
    slk_string_digest(domain, source != NULL ? source : "source", source_text);
    rows_digest(domain, rows);
    slw_key_inputs inputs = SLW_KEY_INPUTS_INIT;
    inputs.domain = domain;
    inputs.components = components;
    inputs.component_count = 5;
    inputs.source = source_text;
    inputs.specialization = rows;
    slw_error err = SLW_ERROR_INIT;
    slw_key *key = NULL;
    slt_ok(slw_key_create(&inputs, &key, &err), &err);
    return key;
}

slw_spec *slk_spec(const char *domain, slw_state state, slw_build_kind kind, ...) {
    slw_bytes names[64];
    size_t count = 0;
    va_list rest;
    va_start(rest, kind);
    for (const char *name = va_arg(rest, const char *); name != NULL; name = va_arg(rest, const char *)) {
        ck_assert_uint_lt(count, 64);
        names[count++] = text_bytes(name);
    }
    va_end(rest);
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.domain = domain;
    inputs.state = state;
    inputs.build_kind = kind;
    inputs.required_files = names;
    inputs.required_file_count = count;
    slw_error err = SLW_ERROR_INIT;
    slw_spec *spec = NULL;
    slt_ok(slw_spec_create(&inputs, &spec, &err), &err);
    return spec;
}

slw_spec *slk_fixture_spec(const char *domain, slw_state state, slw_build_kind kind) {
    return slk_spec(domain, state, kind, "kernel/source.pto", "kernel_config.py", (const char *)NULL);
}

/* ---- builders ---- */

const slk_file slk_fixture_files[2] = {{"kernel/source.pto", "generated code", 14, 0644},
                                       {"kernel_config.py", "KERNELS = []\n", 13, 0644}};

void slk_write_files(const char *directory, const slk_file *files, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", directory, files[i].path), (int)sizeof path);
        for (char *slash = path + strlen(directory) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
            *slash = 0;
            ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
            *slash = '/';
        }
        slt_write_file(path, files[i].data, files[i].size, files[i].mode);
    }
}

static slw_code builder_failure(slw_error *err, slw_code code, const char *message) {
    if (err != NULL) {
        err->code = code;
        err->reason = "BUILDER_SAID_NO";
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

static slw_code kit_build(void *context, const slw_build_context *build, slw_error *err) {
    slk_build *self = context;
    (void)atomic_fetch_add(&self->calls, 1);
    if (self->before != NULL) {
        const slw_code code = self->before(self, build, err);
        if (code != SLW_OK) return code;
    }
    if (self->code != SLW_OK) return builder_failure(err, self->code, "builder said no");
    slk_write_files(build->directory, self->files, self->file_count);
    if (self->value != NULL && build->value != NULL) *build->value = self->value;
    return SLW_OK;
}

static slw_code kit_confirm(void *context, const slw_build_context *build, slw_error *err) {
    slk_build *self = context;
    (void)build;
    (void)atomic_fetch_add(&self->confirms, 1);
    return self->confirm_code == SLW_OK ? SLW_OK : builder_failure(err, self->confirm_code, "confirm said no");
}

static void kit_release(void *context, void *value) {
    slk_build *self = context;
    if (value == self->value) (void)atomic_fetch_add(&self->released, 1);
}

slw_builder slk_builder(slk_build *build) {
    slw_builder builder = SLW_BUILDER_INIT;
    builder.context = build;
    builder.build = kit_build;
    builder.confirm = kit_confirm;
    builder.release_value = kit_release;
    return builder;
}

/* ---- a world ---- */

void slk_world_make_in(slk_world *world, const char *domain, const char *directory) {
    static int value;
    memset(world, 0, sizeof *world);
    (void)umask(022);
    world->domain = domain;
    snprintf(world->scratch, sizeof world->scratch, "%s", directory);
    snprintf(world->root, sizeof world->root, "%s/root", directory);
    snprintf(world->private_root, sizeof world->private_root, "%s/private", directory);
    ck_assert(mkdir(world->private_root, 0700) == 0 || errno == EEXIST);
    world->key = slk_key(domain, NULL);
    world->spec = slk_fixture_spec(domain, SLW_GENERATED, SLW_SINGLE);
    world->build.files = slk_fixture_files;
    world->build.file_count = 2;
    world->build.value = &value;
    world->builder = slk_builder(&world->build);
}

void slk_world_make(slk_world *world, const char *domain) {
    slk_world_make_in(world, domain, slt_scratch());
}

void slk_world_end(slk_world *world) {
    slw_key_release(&world->key);
    slw_spec_release(&world->spec);
}

slw_store_options slk_options(const slk_world *world) {
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    options.root = world->root;
    options.private_root = world->private_root;
    options.domain = world->domain;
    options.lock_timeout_ns = 120000000000u;
    return options;
}

slw_store *slk_open_options(const slw_store_options *options) {
    slw_error err = SLW_ERROR_INIT;
    slw_store *store = NULL;
    slt_ok(slw_store_open(options, &store, &err), &err);
    ck_assert_ptr_nonnull(store);
    return store;
}

slw_store *slk_open(const slk_world *world) {
    const slw_store_options options = slk_options(world);
    return slk_open_options(&options);
}

slw_store *slk_open_read_only(const slk_world *world) {
    slw_store_options options = slk_options(world);
    options.read_only = 1;
    return slk_open_options(&options);
}

void slk_publish(slk_world *world) {
    slw_store *store = slk_open(world);
    slk_world_expect(world, store, SLW_PUBLISHED, SLW_FAILURE_NONE);
    slw_store_close(&store);
}

const char *slk_slot(const slk_world *world, const slw_key *key, const slw_spec *spec) {
    return slt_path(world->root, "artifacts", slw_key_environment(key), slw_key_digest(key), slw_spec_digest(spec),
                    slw_state_name(slw_spec_state(spec)), NULL);
}

const char *slk_marker(const slk_world *world) {
    return slt_path(slk_slot(world, world->key, world->spec), "artifact_manifest.json", NULL);
}

const char *slk_lock_file(const slk_world *world) {
    char name[80];
    snprintf(name, sizeof name, "%s.lock", slw_key_digest(world->key));
    return slt_path(world->root, "locks", name, NULL);
}

/* ---- one request ---- */

void slk_get(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder, slk_result *out) {
    const slw_error fresh_error = SLW_ERROR_INIT;
    const slw_build_report fresh_report = SLW_BUILD_REPORT_INIT;
    out->err = fresh_error;
    out->report = fresh_report;
    out->entry = NULL;
    out->code = slw_store_get_or_build(store, key, spec, builder, &out->report, &out->entry, &out->err);
    ck_assert_msg((out->code == SLW_OK) == (out->entry != NULL), "%s with out %s", slw_code_name(out->code),
                  out->entry != NULL ? "set" : "not set");
    ck_assert_int_eq(out->err.code, out->code);
}

void slk_world_get(const slk_world *world, slw_store *store, slk_result *out) {
    slk_get(store, world->key, world->spec, &world->builder, out);
}

void slk_result_release(slk_result *result) {
    if (result->entry != NULL) slw_cached_discard(&result->entry);
    slw_build_report_release(&result->report);
}

void slk_expect(const slk_result *result, slw_disposition disposition, slw_build_failure failure) {
    ck_assert_msg(result->code == SLW_OK, "%s (%s) %s", slw_code_name(result->code),
                  result->err.reason != NULL ? result->err.reason : "", result->err.message);
    const char *name = slw_build_failure_name(result->report.failure);
    ck_assert_msg(result->report.disposition == disposition && result->report.failure == failure,
                  "%s, failure %s, reason \"%s\"", slw_disposition_name(result->report.disposition),
                  name != NULL ? name : "none", result->report.reason);
    ck_assert_int_eq(result->report.reason[0] != 0, disposition == SLW_PRIVATE);
    ck_assert_int_eq(slw_cached_is_private(result->entry) != 0, disposition == SLW_PRIVATE);
    if (disposition == SLW_HIT) {
        ck_assert_ptr_null(result->report.value);
        ck_assert_ptr_null(result->report.private_directory);
    } else {
        ck_assert_ptr_nonnull(result->report.private_directory);
        ck_assert(slk_exists(result->report.private_directory));
    }
}

void slk_world_expect(const slk_world *world, slw_store *store, slw_disposition disposition,
                      slw_build_failure failure) {
    slk_result result;
    slk_world_get(world, store, &result);
    slk_expect(&result, disposition, failure);
    slk_expect_files(result.entry, world->build.files, world->build.file_count);
    slk_result_release(&result);
}

const char *slk_verdict(slw_code code) {
    switch (code) {
    case SLW_OK:
        return "HIT";
    case SLW_E_MISS:
        return "MISS";
    case SLW_E_INVALID_ENTRY:
        return "INVALID";
    case SLW_E_STORAGE:
        return "STORAGE_ERROR";
    default:
        return slw_code_name(code);
    }
}

const char *slk_lookup_verdict(slw_store *store, const slw_key *key, const slw_spec *spec) {
    slw_error err = SLW_ERROR_INIT;
    slw_cached *entry = NULL;
    const slw_code code = slw_store_lookup(store, key, spec, &entry, &err);
    ck_assert_int_eq(code == SLW_OK, entry != NULL);
    ck_assert_int_eq(err.code, code);
    if (entry != NULL) slw_cached_discard(&entry);
    return slk_verdict(code);
}

const char *slk_world_verdict(const slk_world *world, slw_store *store) {
    return slk_lookup_verdict(store, world->key, world->spec);
}

static void expect_file(const slw_cached *entry, const slk_file *file) {
    slw_digest digest;
    slw_sha256((slw_bytes){file->data, file->size}, &digest);
    slw_file found;
    size_t at = 0;
    while (slw_cached_file(entry, at, &found) && strcmp(found.path.data, file->path) != 0) at++;
    ck_assert_msg(slw_cached_file(entry, at, &found), "%s is not in the inventory", file->path);
    ck_assert_uint_eq(found.size_bytes, file->size);
    ck_assert_int_eq(found.executable != 0, (file->mode & 0100) != 0);
    ck_assert_mem_eq(found.sha256.bytes, digest.bytes, sizeof digest.bytes);
    size_t size = 0;
    char path[4096]; /* not from slt_path: threads come here at once */
    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", slw_cached_directory(entry), file->path), (int)sizeof path);
    char *data = slt_read_file(path, &size);
    ck_assert_uint_eq(size, file->size);
    if (size > 0) ck_assert_mem_eq(data, file->data, size);
    free(data);
}

void slk_expect_files(const slw_cached *entry, const slk_file *files, size_t count) {
    ck_assert_uint_eq(slw_cached_file_count(entry), count);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        expect_file(entry, &files[i]);
        total += files[i].size;
    }
    ck_assert_uint_eq(slw_cached_size_bytes(entry), total);
}

/* ---- processes ---- */

void slk_use_memory(void) {
    if (access("/dev/shm", W_OK) == 0) (void)setenv("TMPDIR", "/dev/shm", 1);
}

void *slk_shared(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

int slk_child_start(int (*run)(void *context), void *context) {
    fflush(stdout);
    fflush(stderr);
    const pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) _exit(run(context));
    return (int)process;
}

int slk_child_end(int process) {
    int status = 0;
    pid_t ended;
    do ended = waitpid((pid_t)process, &status, 0);
    while (ended < 0 && errno == EINTR);
    ck_assert_int_eq(ended, process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int slk_child(int (*run)(void *context), void *context) {
    return slk_child_end(slk_child_start(run, context));
}

void slk_pause_ms(unsigned duration_ms) {
    struct timespec rest = {(time_t)(duration_ms / 1000), (long)(duration_ms % 1000) * 1000000L};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

void slk_wait_for(atomic_int *value, int at_least) {
    for (int i = 0; i < 60000; i++) {
        if (atomic_load(value) >= at_least) return;
        slk_pause_ms(1);
    }
    ck_abort_msg("waited for %d, have %d", at_least, atomic_load(value));
}

slwi_os slk_table(void) {
    slwi_os table = *slwi_os_real();
    table.next = slwi_os_real();
    return table;
}

void slk_descriptor_path(int fd, char out[4096]) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(name, out, 4095);
    out[size > 0 ? size : 0] = 0;
}
