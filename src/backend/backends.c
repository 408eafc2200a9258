/* The built-in backends, those that were registered, and the choice of one. */
#include "backends.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <slipway/limits.h>

#include "cuda_backend.h"
#include "fail.h"
#include "hip_backend.h"
#include "host_backend.h"

#define BUILT_IN 3u
static const slw_backend_vtable *const built_in[BUILT_IN] = {&slwi_host_backend, &slwi_cuda_backend, &slwi_hip_backend};

/* Written under the lock, an entry before the count; read without. Nothing is ever taken out. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const slw_backend_vtable *registered[SLW_LIMIT_BACKENDS];
static atomic_size_t registered_count;

static const slw_backend_vtable *backend_at(size_t index) {
    if (index < BUILT_IN) return built_in[index];
    index -= BUILT_IN;
    return index < atomic_load_explicit(&registered_count, memory_order_acquire) ? registered[index] : NULL;
}

const slw_backend_vtable *slw_backend_find(const char *name) {
    const slw_backend_vtable *backend = NULL;
    for (size_t i = 0; name != NULL && (backend = backend_at(i)) != NULL; i++) {
        if (strcmp(backend->name, name) == 0) return backend;
    }
    return NULL;
}

const slw_backend_vtable *slwi_backend_recognise(slw_bytes binary) {
    const slw_backend_vtable *backend = NULL;
    for (size_t i = 0; (backend = backend_at(i)) != NULL; i++) {
        if (backend->recognises != NULL && backend->recognises(binary)) return backend;
    }
    return NULL;
}

/* ---- Registering ------------------------------------------------------------------------------------------------- */

static int has_what_compiles(const slw_backend_vtable *b) {
    return b->toolchain_open != NULL && b->toolchain_close != NULL && b->toolchain_path != NULL &&
           b->job_open != NULL && b->job_close != NULL && b->job_target != NULL && b->job_private_reason != NULL &&
           b->job_source_record != NULL && b->job_option_record != NULL && b->job_run != NULL &&
           b->job_confirm != NULL && b->read_contract != NULL && b->release_contract != NULL;
}

/* A name that can stand in a path, a message and a document. */
static int is_plain(const char *text) {
    const size_t size = text != NULL ? strnlen(text, SLW_LIMIT_BACKEND_NAME_BYTES + 1u) : 0;
    if (size == 0 || size > SLW_LIMIT_BACKEND_NAME_BYTES || text[0] == '.') return 0;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        const int is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '_' && c != '-' && c != '.') return 0;
    }
    return 1;
}

static int sources_are_good(const slw_backend_vtable *b) {
    for (size_t i = 0; b->sources != NULL && i < b->source_count; i++) {
        if (!is_plain(b->sources[i].extension) || b->sources[i].first_stage >= b->stage_count) return 0;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(b->sources[i].extension, b->sources[j].extension) == 0) return 0;
        }
    }
    return b->sources != NULL && b->source_count > 0;
}

/* Each leaves one file of its own, which is none of the store's. */
static int stages_are_good(const slw_backend_vtable *b) {
    if (b->stages == NULL || b->stage_count == 0 || b->stage_count > SLWI_STAGES_MAX) return 0;
    for (size_t i = 0; i < b->stage_count; i++) {
        const slw_stage *stage = &b->stages[i];
        if (!is_plain(stage->name) || !is_plain(stage->payload)) return 0;
        if (strcmp(stage->payload, "slipway.json") == 0 || strcmp(stage->payload, "artifact_manifest.json") == 0)
            return 0;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(stage->payload, b->stages[j].payload) == 0 || strcmp(stage->name, b->stages[j].name) == 0)
                return 0;
        }
    }
    return b->launch_binary != NULL && strcmp(b->stages[b->stage_count - 1].payload, b->launch_binary) == 0;
}

slw_code slwi_backend_check(const slw_backend_vtable *backend, slw_error *err) {
    if (backend->size != sizeof *backend || backend->abi != SLW_BACKEND_ABI)
        return slwi_fail(err, SLW_E_USAGE, "BAD_ABI", "the backend is made for another version");
    if (!is_plain(backend->name))
        return slwi_fail(err, SLW_E_USAGE, "BAD_BACKEND",
                         "a backend's name has letters, digits, \"_\", \"-\" and \".\"");
    if (!stages_are_good(backend))
        return slwi_fail(err, SLW_E_USAGE, "BAD_BACKEND",
                         "%.64s has no stages, too many, one without a file of its own, or none at the end that makes "
                         "its launch binary",
                         backend->name);
    if (!sources_are_good(backend) || !has_what_compiles(backend))
        return slwi_fail(err, SLW_E_USAGE, "BAD_BACKEND",
                         "%.64s has no source kinds, one that begins nowhere, or leaves out a function", backend->name);
    return SLW_OK;
}

slw_code slw_backend_register(const slw_backend_vtable *backend, slw_error *err) {
    slwi_error_reset(err);
    if (backend == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_backend_register needs a backend");
    slw_code code = slwi_backend_check(backend, err);
    if (code != SLW_OK) return code;
    (void)pthread_mutex_lock(&lock);
    const size_t count = atomic_load_explicit(&registered_count, memory_order_relaxed);
    if (slw_backend_find(backend->name) != NULL) {
        slwi_error_subject(err, backend->name, strlen(backend->name));
        code = slwi_fail(err, SLW_E_USAGE, "DUPLICATE", "there is a backend of that name");
    } else if (count == SLW_LIMIT_BACKENDS) {
        slwi_error_amount(err, "backends", count + 1u, SLW_LIMIT_BACKENDS, "backends");
        code = slwi_fail(err, SLW_E_LIMIT, NULL, "too many backends are registered");
    } else {
        registered[count] = backend;
        atomic_store_explicit(&registered_count, count + 1u, memory_order_release);
    }
    (void)pthread_mutex_unlock(&lock);
    return code;
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

const slw_source_kind *slwi_backend_source(const slw_backend_vtable *backend, const char *extension) {
    for (size_t i = 0; i < backend->source_count; i++) {
        if (strcmp(backend->sources[i].extension, extension) == 0) return &backend->sources[i];
    }
    return NULL;
}

static int fits(const slw_backend_vtable *backend, const char *target, const char *extension) {
    if (extension != NULL && slwi_backend_source(backend, extension) == NULL) return 0;
    return target == NULL || (backend->supports_target != NULL && backend->supports_target(target));
}

/* "cuda: cu ptx" */
static void note(const slw_backend_vtable *backend, slw_error *err) {
    char line[256];
    int used = snprintf(line, sizeof line, "%.64s:", backend->name);
    for (size_t i = 0; i < backend->source_count && used > 0 && (size_t)used < sizeof line; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, " %.16s", backend->sources[i].extension);
    }
    slwi_error_tried(err, line);
}

slw_code slw_backend_choose(const char *target, const char *extension, const char **out_name, slw_error *err) {
    slwi_error_reset(err);
    if (out_name == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_backend_choose needs `out_name`");
    const slw_backend_vtable *backend = NULL, *chosen = NULL;
    size_t count = 0;
    for (size_t i = 0; (backend = backend_at(i)) != NULL; i++) {
        if (!fits(backend, target, extension)) continue;
        chosen = backend;
        count++;
    }
    if (count == 1) {
        *out_name = chosen->name;
        return SLW_OK;
    }
    for (size_t i = 0; (backend = backend_at(i)) != NULL; i++) {
        if (count == 0 || fits(backend, target, extension)) note(backend, err);
    }
    slwi_error_hint(err, "name one backend, or a target and a kind of source that only one has");
    return slwi_fail(err, SLW_E_UNSUPPORTED, count == 0 ? "NO_BACKEND" : "AMBIGUOUS",
                     "%s has the target %.64s and begins with sources of the kind %.32s",
                     count == 0 ? "no backend" : "more than one backend", target != NULL ? target : "(any)",
                     extension != NULL ? extension : "(any)");
}
