/* A compiler: the store it fills, the backend that knows the stages, and the toolchain that was found and proved. */
#include <string.h>

#include "compile_state.h"
#include "fail.h"
#include "fork.h"
#include "memory.h"

static int is_compiler(const slw_compiler *compiler) {
    return compiler != NULL && compiler->tag == SLWI_TAG_COMPILER;
}

/* The one that is given or named, else the one that the target and the kind of source decide, else the host's. */
static slw_code choose_backend(const slw_compiler_options *options, const slw_backend_vtable **out, slw_error *err) {
    const char *name = options->backend;
    if (options->backend_impl != NULL) {
        *out = options->backend_impl;
        return slwi_backend_check(*out, err);
    }
    if (name == NULL && (options->target != NULL || options->extension != NULL)) {
        const slw_code rc = slw_backend_choose(options->target, options->extension, &name, err);
        if (rc != SLW_OK) return rc;
    }
    if (name == NULL) name = "host";
    *out = slw_backend_find(name);
    if (*out != NULL) return slwi_backend_check(*out, err);
    slwi_error_subject(err, name, strlen(name));
    return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_BACKEND", "this build has no backend of that name");
}

static slw_code check_options(const slw_compiler_options *options, const slw_backend_vtable **backend, slw_error *err) {
    if (options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_compiler_options.size is not this version's");
    if (options->store == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_compiler_open needs a store");
    if (options->identity < SLW_IDENTITY_MEMO || options->identity > SLW_IDENTITY_CLAIM)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "%d is no identity policy", options->identity);
    if (strcmp(slwi_store_domain(options->store), SLW_DOMAIN_DEFAULT) != 0)
        return slwi_fail(err, SLW_E_USAGE, "BAD_DOMAIN", "compile() fills stores of the domain %s only",
                         SLW_DOMAIN_DEFAULT);
    if (options->audits_per_million > 1000000u)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "%u audits of a million hits", options->audits_per_million);
    return choose_backend(options, backend, err);
}

static void free_toolchain(slw_compiler *compiler, slwi_toolchain *toolchain) {
    if (toolchain->state != NULL) compiler->backend->toolchain_close(toolchain->state);
    slw_identity_release(&toolchain->identity);
    slwi_free(&compiler->allocator, toolchain);
}

/* Finds the compiler and gathers its identity anew. */
static slw_code open_toolchain(slw_compiler *compiler, slwi_toolchain **out, slw_error *err) {
    slwi_toolchain *toolchain = slwi_alloc_zero(&compiler->allocator, sizeof *toolchain);
    if (toolchain == NULL) return slwi_fail_memory(err, sizeof *toolchain);
    atomic_init(&toolchain->changed, 0);
    slw_identity_options options = SLW_IDENTITY_OPTIONS_INIT;
    options.allocator = compiler->allocator;
    options.memo = compiler->memo;
    options.policy = compiler->policy;
    slw_code rc = slw_identity_create(&options, &toolchain->identity, err);
    if (rc == SLW_OK) {
        const slw_toolchain_request request = {
            .size = sizeof request,
            .allocator = compiler->allocator,
            .compiler = compiler->compiler,
            .search_path = compiler->search_path,
            .memo = compiler->memo,
            .identity = toolchain->identity,
            .cancel = slwi_store_cancel(compiler->store),
        };
        rc = compiler->backend->toolchain_open(&request, &toolchain->state, err);
    }
    if (rc != SLW_OK) {
        free_toolchain(compiler, toolchain);
        return rc;
    }
    *out = toolchain;
    return SLW_OK;
}

slw_code slwi_compiler_toolchain(slw_compiler *compiler, slwi_toolchain **out, slw_error *err) {
    if (compiler->generation != slwi_fork_generation())
        return slwi_fail(err, SLW_E_FORKED, NULL, "the compiler was opened before a fork");
    slw_code rc = SLW_OK;
    (void)pthread_mutex_lock(&compiler->mutex);
    slwi_toolchain *toolchain = compiler->newest;
    if (atomic_load_explicit(&toolchain->changed, memory_order_acquire)) {
        slwi_toolchain *fresh = NULL;
        rc = open_toolchain(compiler, &fresh, err);
        if (rc == SLW_OK && fresh != NULL) {
            fresh->older = toolchain;
            compiler->newest = toolchain = fresh;
        }
    }
    (void)pthread_mutex_unlock(&compiler->mutex);
    if (rc == SLW_OK) *out = toolchain;
    return rc;
}

static slw_code copy_text(const slw_allocator *allocator, const char *text, char **out, slw_error *err) {
    if (text == NULL) return SLW_OK;
    *out = slwi_strndup(allocator, text, strlen(text));
    return *out != NULL ? SLW_OK : slwi_fail_memory(err, strlen(text) + 1);
}

/* Frees a compiler, also one that is not whole. */
static void free_compiler(slw_compiler *compiler) {
    const slw_allocator allocator = compiler->allocator;
    while (compiler->newest != NULL) {
        slwi_toolchain *toolchain = compiler->newest;
        compiler->newest = toolchain->older;
        free_toolchain(compiler, toolchain);
    }
    if (compiler->generation == slwi_fork_generation()) (void)pthread_mutex_destroy(&compiler->mutex);
    slwi_release(compiler->metrics);
    slw_store_close(&compiler->store);
    slwi_free(&allocator, compiler->compiler);
    slwi_free(&allocator, compiler->search_path);
    slwi_free(&allocator, compiler->temporary_root);
    slwi_handle_free(&allocator, &compiler->tag, compiler);
}

slw_code slw_compiler_open(const slw_compiler_options *options, slw_compiler **out, slw_error *err) {
    slwi_error_reset(err);
    if (options == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_compiler_open needs options and `out`");
    const slw_backend_vtable *backend = NULL;
    slw_allocator allocator;
    slw_code rc = check_options(options, &backend, err);
    if (rc == SLW_OK) rc = slwi_allocator_take(&options->allocator, &allocator, err);
    if (rc != SLW_OK) return rc;
    slw_compiler *compiler = slwi_alloc_zero(&allocator, sizeof *compiler);
    if (compiler == NULL) return slwi_fail_memory(err, sizeof *compiler);
    if (pthread_mutex_init(&compiler->mutex, NULL) != 0) {
        slwi_free(&allocator, compiler);
        return slwi_fail(err, SLW_E_NO_MEMORY, NULL, "no mutex for the compiler");
    }
    slw_metrics *metrics =
        options->metrics != NULL ? options->metrics : (slw_metrics *)(void *)slwi_store_metrics(options->store);
    compiler->tag = SLWI_TAG_COMPILER;
    compiler->lock = &compiler->mutex;
    compiler->allocator = allocator;
    compiler->store = slwi_store_retain(options->store);
    compiler->metrics = slwi_retain(metrics);
    compiler->backend = backend;
    compiler->memo = options->memo;
    compiler->policy = options->identity;
    compiler->audits_per_million = options->audits_per_million;
    compiler->generation = slwi_fork_generation();
    rc = copy_text(&allocator, options->compiler, &compiler->compiler, err);
    if (rc == SLW_OK) rc = copy_text(&allocator, options->search_path, &compiler->search_path, err);
    if (rc == SLW_OK) rc = copy_text(&allocator, options->temporary_root, &compiler->temporary_root, err);
    if (rc == SLW_OK) rc = open_toolchain(compiler, &compiler->newest, err);
    if (rc != SLW_OK) {
        free_compiler(compiler);
        return rc;
    }
    *out = compiler;
    return SLW_OK;
}

void slw_compiler_close(slw_compiler **compiler) {
    if (compiler == NULL || !is_compiler(*compiler)) return;
    slw_compiler *handle = *compiler;
    *compiler = NULL;
    free_compiler(handle);
}

/* The newest snapshot; without the mutex in a forked child, where nobody else changes it. */
static slwi_toolchain *newest_of(const slw_compiler *compiler) {
    const int ours = compiler->generation == slwi_fork_generation();
    if (ours) (void)pthread_mutex_lock(compiler->lock);
    slwi_toolchain *toolchain = compiler->newest;
    if (ours) (void)pthread_mutex_unlock(compiler->lock);
    return toolchain;
}

const char *slw_compiler_path(const slw_compiler *compiler) {
    return is_compiler(compiler) ? compiler->backend->toolchain_path(newest_of(compiler)->state) : NULL;
}

const slw_identity *slw_compiler_identity(const slw_compiler *compiler) {
    return is_compiler(compiler) ? newest_of(compiler)->identity : NULL;
}
