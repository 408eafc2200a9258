/* Requests of a warm-up, checked before anything is built. */
#define SLIPWAY_NO_GUARDS
#include "warm_state.h"

#include <fcntl.h>
#include <string.h>

#include "fail.h"
#include "file.h"
#include "heap_sort.h"
#include "memory.h"

/* ---- one request ------------------------------------------------------------------------------------------------- */

static slw_code check_shape(const slw_warm_request *request, slw_error *err) {
    const slw_source *source = &request->source;
    const slw_compile_options *options = &request->options;
    if (request->size != sizeof *request || source->size != sizeof *source || options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "a slw_warm_request of another version");
    if ((source->path != NULL) + (source->text.data != NULL) + (source->lowered != NULL) != 1)
        return slwi_fail(err, SLW_E_USAGE, NULL, "a source has one of a path, a text and a form that is lowered");
    if ((options->flag_count > 0 && options->flags == NULL) ||
        (source->include_root_count > 0 && source->include_roots == NULL))
        return slwi_fail(err, SLW_E_USAGE, NULL, "the flags or the include roots are NULL");
    if (request->want != SLW_WARM_SHARED && request->want != SLW_WARM_PRIVATE)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "a request wants a shared or a private result");
    if (options->always_compile)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "whether a request is always compiled is its want's to say");
    return SLW_OK;
}

static const char *name_of(const slw_source *source) {
    if (source->name != NULL) return source->name;
    if (source->path == NULL) return "source";
    const char *slash = strrchr(source->path, '/');
    return slash != NULL ? slash + 1 : source->path;
}

/* As slw_compiler_open chooses: by the target and what the source's name ends with; without either the host's. */
static slw_code find_backend(const slw_warm_request *request, const slw_backend_vtable *impl,
                             const slw_backend_vtable **out, slw_error *err) {
    const char *name = request->backend;
    if (impl != NULL) {
        *out = impl;
        if (name == NULL || strcmp(name, impl->name) == 0) return SLW_OK;
    } else if (name == NULL) {
        const char *extension = request->source.extension;
        if (extension == NULL) {
            const char *dot = strrchr(name_of(&request->source), '.');
            extension = dot != NULL && dot[1] != '\0' ? dot + 1 : NULL;
        }
        name = "host";
        if (request->options.target != NULL || extension != NULL) {
            const slw_code rc = slw_backend_choose(request->options.target, extension, &name, err);
            if (rc != SLW_OK) return rc;
        }
    }
    if (impl == NULL) *out = slw_backend_find(name);
    if (impl == NULL && *out != NULL) return SLW_OK;
    *out = NULL;
    slwi_error_subject(err, name, strlen(name));
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_BACKEND", "there is no backend of the name %.64s", name);
}

static slw_code check_target(const slw_backend_vtable *backend, const char *target, slw_error *err) {
    if (target == NULL || backend->supports_target == NULL || backend->supports_target(target)) return SLW_OK;
    slwi_error_subject(err, target, strlen(target));
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "TARGET", "%s has no target of the name %.64s", backend->name,
                     target);
}

static slw_code check_extension(const slw_backend_vtable *backend, const char *extension, slw_error *err) {
    if (extension == NULL || slwi_backend_source(backend, extension) != NULL) return SLW_OK;
    slwi_error_subject(err, extension, strlen(extension));
    for (size_t i = 0; i < backend->source_count; i++) slwi_error_tried(err, backend->sources[i].extension);
    return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "SOURCE_KIND", "%s does not begin with a source of the kind %.32s",
                     backend->name, extension);
}

static slw_code check_stage(const slw_backend_vtable *backend, const slw_compile_options *options, slw_error *err) {
    if ((options->override_stage != NULL) != (options->override_path != NULL))
        return slwi_fail(err, SLW_E_USAGE, NULL, "an override needs both a stage and a path");
    if (options->override_stage == NULL) return SLW_OK;
    for (size_t i = 0; i < backend->stage_count; i++) {
        if (strcmp(backend->stages[i].name, options->override_stage) == 0) return SLW_OK;
    }
    slwi_error_subject(err, options->override_stage, strlen(options->override_stage));
    return slwi_fail(err, SLW_E_USAGE, "NO_STAGE", "%s has no stage of that name", backend->name);
}

/* A regular file that can be read; what is in it the compile will say. */
static slw_code check_file(const char *path, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    const int fd = slwi_open_regular(os, AT_FDCWD, path, 1, &stat);
    slwi_error_subject(err, path, strlen(path));
    if (fd < 0) return slwi_fail_os(err, SLW_E_INVALID_SOURCE, NULL, -fd, NULL, "the source cannot be read");
    (void)os->close(os, fd);
    if (stat.size <= SLW_LIMIT_SOURCE_BYTES) return SLW_OK;
    slwi_error_amount(err, "source", stat.size, SLW_LIMIT_SOURCE_BYTES, "bytes");
    return slwi_fail(err, SLW_E_LIMIT, NULL, "the source is too long");
}

/* An include root may be absent; a file is none. */
static slw_code check_root(const char *root, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    slwi_stat stat;
    if (root == NULL || root[0] == '\0') return slwi_fail(err, SLW_E_USAGE, "EMPTY", "an include root is empty");
    if (os->fstatat(os, AT_FDCWD, root, 1, &stat) < 0 || (stat.mode & S_IFMT) == S_IFDIR) return SLW_OK;
    slwi_error_subject(err, root, strlen(root));
    return slwi_fail(err, SLW_E_INVALID_SOURCE, "NO_DIRECTORY", "the include root is not a directory");
}

/* What is told to, and how often it was. */
typedef struct teller {
    slwi_warm_found found;
    void *context;
    size_t problems;
} teller;

static void say(teller *t, slwi_warm_field field, size_t item, slw_code rc, slw_error *problem) {
    static const slw_error fresh = SLW_ERROR_INIT;
    if (rc == SLW_OK) return;
    t->problems++;
    t->found(t->context, (slwi_warm_place){field, item}, problem);
    *problem = fresh;
}

void slwi_warm_check(const slw_warm_request *request, const slw_backend_vtable *impl,
                     const slw_backend_vtable **backend, slwi_warm_found found, void *context) {
    const slw_source *source = &request->source;
    const slw_compile_options *options = &request->options;
    const slw_backend_vtable *chosen = NULL;
    slw_error problem = SLW_ERROR_INIT;
    teller t = {found, context, 0};
    *backend = NULL;
    say(&t, SLWI_WARM_WHOLE, 0, check_shape(request, &problem), &problem);
    if (t.problems > 0) return; /* nothing of it can be trusted */
    say(&t, SLWI_WARM_BACKEND, 0, find_backend(request, impl, &chosen, &problem), &problem);
    if (chosen != NULL) {
        say(&t, SLWI_WARM_TARGET, 0, check_target(chosen, options->target, &problem), &problem);
        say(&t, SLWI_WARM_EXTENSION, 0, check_extension(chosen, source->extension, &problem), &problem);
        say(&t, SLWI_WARM_WHOLE, 0, check_stage(chosen, options, &problem), &problem);
    }
    if (source->path != NULL) say(&t, SLWI_WARM_SOURCE, 0, check_file(source->path, &problem), &problem);
    for (size_t i = 0; i < source->include_root_count; i++)
        say(&t, SLWI_WARM_ROOT, i, check_root(source->include_roots[i], &problem), &problem);
    if (t.problems == 0) *backend = chosen;
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

typedef struct asked {
    slw_digest digest;
    size_t index;
} asked;

static int compare_asked(const void *a, const void *b) {
    const asked *x = a, *y = b;
    const int order = memcmp(&x->digest, &y->digest, sizeof x->digest);
    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int compare_index(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Each with its length before it, so that no two lists have one text. */
static void put(slwi_buffer *out, const void *data, size_t size) {
    slwi_buffer_append_u64(out, size);
    slwi_buffer_append_char(out, ':');
    slwi_buffer_append(out, data, size);
}

static void put_text(slwi_buffer *out, const char *text) {
    if (text == NULL)
        slwi_buffer_append_char(out, '-');
    else
        put(out, text, strlen(text));
}

static void put_texts(slwi_buffer *out, const char *const *texts, size_t count) {
    slwi_buffer_append_u64(out, count);
    slwi_buffer_append_char(out, ';');
    for (size_t i = 0; i < count; i++) put_text(out, texts[i]);
}

/* What is asked for, as far as it can be told without reading: a file by where it really lies. */
static slw_code digest_request(const slw_warm_request *request, const slw_backend_vtable *backend, slwi_buffer *text,
                               slw_digest *out, slw_error *err) {
    const slwi_os *os = slwi_os_get();
    const slw_source *source = &request->source;
    const slw_compile_options *options = &request->options;
    char resolved[4096];
    const char *path = source->path;
    if (path != NULL && os->realpath(os, path, resolved) >= 0) path = resolved;
    slwi_buffer_clear(text);
    put_text(text, backend->name);
    put_text(text, request->compiler);
    put_text(text, path);
    put_text(text, name_of(source));
    put_text(text, source->extension);
    put_text(text, options->target);
    put_texts(text, options->flags, options->flag_count);
    put_texts(text, source->include_roots, source->include_root_count);
    put_text(text, options->override_stage);
    put_text(text, options->override_path);
    slwi_buffer_append_u64(text, options->store_binary_only != 0);
    slwi_buffer_append_char(text, request->want == SLW_WARM_PRIVATE ? 'p' : 's');
    if (source->text.data != NULL) put(text, source->text.data, source->text.size);
    const void *lowered = source->lowered; /* one form is one object: that is all that can be told of it here */
    slwi_buffer_append(text, &lowered, sizeof lowered);
    const slw_code rc = slwi_buffer_status(text, err);
    if (rc == SLW_OK) slw_sha256((slw_bytes){text->data, text->size}, out);
    return rc;
}

/* Equal digests stand together, the earliest first; the others are told in rising order. */
static slw_code tell(const slw_allocator *allocator, const asked *items, size_t count, slwi_warm_duplicate found,
                     void *context, slw_error *err) {
    typedef size_t pair[2]; /* index, and the earliest that asks the same */
    pair *pairs = slwi_alloc_array(allocator, count > 0 ? count : 1, sizeof *pairs);
    if (pairs == NULL) return slwi_fail_memory(err, count * sizeof *pairs);
    size_t used = 0, first = 0;
    for (size_t i = 1; i < count; i++) {
        if (memcmp(&items[i].digest, &items[first].digest, sizeof items[i].digest) != 0) {
            first = i;
            continue;
        }
        pairs[used][0] = items[i].index;
        pairs[used++][1] = items[first].index;
    }
    slwi_heap_sort(pairs, used, sizeof *pairs, compare_index);
    for (size_t i = 0; i < used; i++) found(context, pairs[i][0], pairs[i][1]);
    slwi_free(allocator, pairs);
    return SLW_OK;
}

slw_code slwi_warm_duplicates(const slw_allocator *allocator, const slw_warm_request *requests,
                              const slw_backend_vtable *const *backends, size_t count, slwi_warm_duplicate found,
                              void *context, slw_error *err) {
    asked *items = slwi_alloc_array(allocator, count > 0 ? count : 1, sizeof *items);
    if (items == NULL) return slwi_fail_memory(err, count * sizeof *items);
    slwi_buffer text;
    slwi_buffer_init(&text, allocator, SIZE_MAX);
    slw_code rc = SLW_OK;
    size_t used = 0;
    for (size_t i = 0; rc == SLW_OK && i < count; i++) {
        if (backends[i] == NULL) continue;
        items[used].index = i;
        rc = digest_request(&requests[i], backends[i], &text, &items[used].digest, err);
        used++;
    }
    slwi_buffer_free(&text);
    if (rc == SLW_OK) {
        slwi_heap_sort(items, used, sizeof *items, compare_asked);
        rc = tell(allocator, items, used, found, context, err);
    }
    slwi_free(allocator, items);
    return rc;
}

slw_code slwi_warm_say_duplicate(slw_error *err, size_t earlier) {
    return slwi_fail(err, SLW_E_USAGE, "DUPLICATE", "the request asks for what request %zu asks for", earlier);
}
