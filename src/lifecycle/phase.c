/* Making and ending what the phase objects share. */
#define SLIPWAY_NO_GUARDS
#include "phase.h"

#include <string.h>

#include "clock.h"
#include "fail.h"
#include "memory.h"

slw_error *slwi_error_or(slw_error *err, slw_error *spare) {
    if (err != NULL && err->size == sizeof *err) return err;
    memset(spare, 0, sizeof *spare);
    spare->size = sizeof *spare;
    return spare;
}

slw_code slwi_wrong_object(slw_error *err, const char *what) {
    return slwi_fail(err, SLW_E_USAGE, "BAD_OBJECT", "%s is NULL, spent, or an object of another phase", what);
}

void slwi_handle_free(const slw_allocator *allocator, uint32_t *tag, void *handle) {
    const slw_allocator copy = *allocator; /* it lies in the handle */
    /* Through a volatile, or the compiler drops a store to memory that is freed next. */
    *(volatile uint32_t *)tag = SLWI_TAG_DEAD;
    slwi_free(&copy, handle);
}

static void destroy_box(slwi_ref *self) {
    slwi_contract_box *box = (slwi_contract_box *)(void *)self;
    const slw_allocator allocator = box->allocator;
    if (box->reader != NULL)
        box->reader->release_contract(&allocator, &box->contract);
    else
        slwi_contract_free(&allocator, &box->contract);
    slwi_free(&allocator, box);
}

slw_code slwi_contract_box_create(const slw_allocator *allocator, slw_contract *contract,
                                  const slw_backend_vtable *reader, slwi_contract_box **out, slw_error *err) {
    slwi_contract_box *box = slwi_alloc_zero(allocator, sizeof *box);
    if (box == NULL) return slwi_fail_memory(err, sizeof *box);
    slwi_ref_init(&box->ref, destroy_box);
    box->allocator = *allocator;
    box->contract = contract;
    box->reader = reader;
    *out = box;
    return SLW_OK;
}

static void destroy_origin(slwi_ref *self) {
    slwi_origin *origin = (slwi_origin *)(void *)self;
    const slw_allocator allocator = origin->allocator;
    slwi_release(origin->private_entry);
    slwi_release(origin->metrics);
    slwi_free(&allocator, origin);
}

slw_code slwi_origin_create(const slw_allocator *allocator, slwi_entry *entry, slw_metrics *metrics,
                            uint64_t created_ns, slwi_origin **out, slw_error *err) {
    slwi_origin *origin = slwi_alloc_zero(allocator, sizeof *origin);
    if (origin == NULL) return slwi_fail_memory(err, sizeof *origin);
    slwi_ref_init(&origin->ref, destroy_origin);
    origin->allocator = *allocator;
    if (entry != NULL && slwi_entry_is_private(entry)) origin->private_entry = slwi_retain(entry);
    origin->metrics = slwi_retain(metrics);
    origin->created_ns = created_ns;
    const slw_key *key = entry != NULL ? slwi_entry_key(entry) : NULL;
    if (key != NULL) memcpy(origin->key, slw_key_digest(key), SLW_DIGEST_TEXT_SIZE);
    *out = origin;
    return SLW_OK;
}

static void destroy_core(slwi_ref *self) {
    slwi_core *core = (slwi_core *)(void *)self;
    const slw_allocator allocator = core->allocator;
    for (size_t i = 0; i < core->image_count; i++)
        slwi_release(atomic_load_explicit(&core->images[i], memory_order_relaxed));
    slwi_release(core->entry);
    slwi_release(core->box);
    slwi_release(core->origin);
    slwi_free(&allocator, core);
}

slw_code slwi_core_create(const slw_allocator *allocator, slwi_origin *origin, slwi_entry *entry, size_t image_count,
                          slwi_core **out, slw_error *err) {
    /* image_count is bounded by SLW_LIMIT_ENTRY_FILES. */
    const size_t size = sizeof(slwi_core) + image_count * sizeof(_Atomic(slwi_image *));
    slwi_core *core = slwi_alloc_zero(allocator, size);
    if (core == NULL) return slwi_fail_memory(err, size);
    slwi_ref_init(&core->ref, destroy_core);
    core->allocator = *allocator;
    core->origin = slwi_retain(origin);
    core->entry = slwi_retain(entry);
    core->image_count = image_count;
    atomic_init(&core->launch_read, 0);
    for (size_t i = 0; i < image_count; i++) atomic_init(&core->images[i], NULL);
    *out = core;
    return SLW_OK;
}

slw_bytes slwi_image_bytes(slwi_image *image) {
    return (slw_bytes){slwi_image_data(image), slwi_image_size(image)};
}

slwi_moment slwi_moment_of(const slwi_origin *origin, const slw_contract *contract, slw_phase phase) {
    slwi_moment moment = slwi_moment_begin(origin->metrics, phase);
    moment.key = origin->key[0] != '\0' ? origin->key : NULL;
    if (contract != NULL) {
        moment.backend = contract->backend;
        moment.target = contract->target;
    }
    return moment;
}

slw_code slwi_find_kernel(const slw_contract *contract, const char *entry, const slw_kernel_contract **out,
                          slw_error *err) {
    const slw_kernel_contract *kernel = slw_contract_find(contract, entry);
    if (kernel != NULL) {
        *out = kernel;
        return SLW_OK;
    }
    for (uint32_t i = 0; i < contract->kernel_count; i++) slwi_error_tried(err, contract->kernels[i].name);
    if (entry != NULL) slwi_error_subject(err, entry, strlen(entry));
    if (entry == NULL)
        return slwi_fail(err, SLW_E_MISS, "NO_KERNEL", "the binary has %u kernels and no entry was named",
                         (unsigned)contract->kernel_count);
    return slwi_fail(err, SLW_E_MISS, "NO_KERNEL", "the binary has no kernel of the name %.200s", entry);
}

void slwi_launch_core_drop(slwi_launch_core *core, int unload) {
    if (atomic_fetch_sub_explicit(&core->owners, 1, memory_order_acq_rel) != 1) return;
    const slw_allocator allocator = core->allocator;
    if (unload)
        slwi_module_unload_or_release(&core->module);
    else
        slwi_release(core->module);
    slwi_release(core->box);
    slwi_release(core->origin);
    slwi_free(&allocator, core);
}
