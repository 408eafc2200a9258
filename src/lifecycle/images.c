/* Payloads in memory: read once each, published whole, never half seen. */
#define SLIPWAY_NO_GUARDS
#include <string.h>

#include "fail.h"
#include "phase.h"
#include "text.h"

/* Sealed memory for the event of one read. */
static slw_code read_image(slwi_core *core, const slw_file *file, slwi_image **out, slw_error *err) {
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slwi_moment moment =
        slwi_moment_of(core->origin, core->box != NULL ? core->box->contract : NULL, SLW_PHASE_PAYLOAD);
    const slw_code rc = slwi_entry_read(core->entry, file->path.data, out, record);
    if (rc == SLW_OK) moment.bytes = slwi_image_size(*out);
    return slwi_moment_send(&moment, rc, record);
}

int slwi_core_find(const slwi_core *core, const char *name, size_t *index) {
    if (core->entry == NULL) {
        if (strcmp(name, core->box->contract->launch_binary) != 0) return 0;
        *index = 0;
        return 1;
    }
    const slw_bytes wanted = {name, strlen(name)};
    size_t low = 0;
    size_t high = slwi_entry_file_count(core->entry);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        slw_file file;
        if (!slwi_entry_file(core->entry, middle, &file)) return 0;
        const int order = slwi_os_compare(file.path, wanted);
        if (order == 0) {
            *index = middle;
            return 1;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

slw_code slwi_core_image(slwi_core *core, size_t index, slwi_image **out, slw_error *err) {
    slwi_image *image = atomic_load_explicit(&core->images[index], memory_order_acquire);
    if (image != NULL) {
        *out = image;
        return SLW_OK;
    }
    slw_file file;
    if (core->entry == NULL || !slwi_entry_file(core->entry, index, &file))
        return slwi_fail(err, SLW_E_MISS, NULL, "there is no payload %zu", index);
    const slw_code rc = read_image(core, &file, &image, err);
    if (rc != SLW_OK) return rc;
    /* Two shares may have read it at once: one image wins, the other is dropped, and everybody hands out the
       winner. */
    slwi_image *winner = NULL;
    if (!atomic_compare_exchange_strong_explicit(&core->images[index], &winner, image, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        slwi_release(image);
        image = winner;
    }
    *out = image;
    return SLW_OK;
}

slw_code slwi_core_check_binary(slwi_core *core, slwi_image **out, slw_error *err) {
    slwi_image *image = NULL;
    slw_code rc = slwi_core_image(core, core->launch_index, &image, err);
    if (rc != SLW_OK) return rc;
    *out = image;
    const slw_contract *stored = core->box->contract;
    const slw_backend_vtable *reader = slw_backend_find(stored->backend);
    /* A reader that is not built in cannot be asked; its contract was written by the compile() that used it. */
    if (reader == NULL || atomic_load_explicit(&core->launch_read, memory_order_acquire)) return SLW_OK;
    slw_contract *derived = NULL;
    rc = reader->read_contract(&core->allocator, slwi_image_bytes(image), stored->launch_binary, stored->target,
                               &derived, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_compare(stored, derived, err);
    reader->release_contract(&core->allocator, &derived);
    if (rc == SLW_OK) atomic_store_explicit(&core->launch_read, 1, memory_order_release);
    return rc;
}

slw_code slw_hydrated_payload(slw_hydrated *hydrated, const char *name, slw_bytes *out, slw_error *err) {
    slwi_error_reset(err);
    if (hydrated == NULL || hydrated->tag != SLWI_TAG_HYDRATED) return slwi_wrong_object(err, "hydrated");
    if (name == NULL || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_hydrated_payload needs a name and `out`");
    size_t index = 0;
    slwi_image *image = NULL;
    slw_code rc = SLW_E_MISS;
    if (!slwi_core_find(hydrated->core, name, &index)) {
        slwi_error_subject(err, name, strlen(name));
        rc = slwi_fail(err, SLW_E_MISS, "NO_PAYLOAD", "the entry has no payload of the name %.200s", name);
    } else {
        rc = slwi_core_image(hydrated->core, index, &image, err);
    }
    if (rc != SLW_OK) {
        slwi_error_phase(err, "payload");
        return rc;
    }
    *out = slwi_image_bytes(image);
    return SLW_OK;
}
