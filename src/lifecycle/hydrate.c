/* Cached to Hydrated: the launch contract, from slipway.json or from the binary itself. */
#define SLIPWAY_NO_GUARDS
#include <slipway/inspect.h>
#include <slipway/limits.h>

#include <string.h>

#include "binary.h"
#include "clock.h"
#include "entry_document.h"
#include "fail.h"
#include "memory.h"
#include "phase.h"

/* Puts the box in its place and finds the launch binary of the contract in the inventory. */
static slw_code settle(slwi_core *core, slwi_contract_box *box, slw_error *err) {
    const char *name = box->contract->launch_binary;
    slw_file file;
    core->box = box; /* slwi_core_find and the events look at it; the core's destroy releases it */
    if (!slwi_core_find(core, name, &core->launch_index) || !slwi_entry_file(core->entry, core->launch_index, &file)) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_INVALID_METADATA, "NO_LAUNCH_BINARY",
                         "the contract's launch binary is not in the entry");
    }
    core->launch_bytes = file.size_bytes;
    core->launch_sha256 = file.sha256;
    return SLW_OK;
}

/* What the binary's own bytes say, in place of what another reader made of them; what metadata once said is kept. */
static slw_code derive_anew(slwi_core *core, const slw_backend_vtable *reader, slw_error *err) {
    const slw_contract *stored = core->box->contract;
    slwi_image *image = NULL;
    slw_contract *derived = NULL;
    slw_contract *contract = NULL;
    slwi_contract_box *box = NULL;
    slw_code rc = slwi_core_image(core, core->launch_index, &image, err);
    if (rc == SLW_OK)
        rc = reader->read_contract(&core->allocator, slwi_image_bytes(image), stored->launch_binary, stored->target,
                                   &derived, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_renew(&core->allocator, stored, derived, &contract, err);
    reader->release_contract(&core->allocator, &derived);
    if (rc == SLW_OK) rc = slwi_contract_box_create(&core->allocator, contract, NULL, &box, err);
    if (rc != SLW_OK) {
        slwi_contract_free(&core->allocator, &contract);
        return rc;
    }
    slwi_release(core->box);
    core->box = box;
    atomic_store_explicit(&core->launch_read, 1, memory_order_relaxed);
    return SLW_OK;
}

/* From slipway.json; *found 0 where there is none of a schema we read. */
static slw_code hydrate_document(slwi_core *core, int *found, uint64_t *bytes, slw_error *err) {
    slw_file file;
    *found = 0;
    if (!slwi_entry_find(core->entry, SLWI_ENTRY_DOCUMENT_NAME, &file)) return SLW_OK;
    if (file.size_bytes > SLW_LIMIT_JSON_BYTES) {
        slwi_error_amount(err, SLWI_ENTRY_DOCUMENT_NAME, file.size_bytes, SLW_LIMIT_JSON_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "%s is too long", SLWI_ENTRY_DOCUMENT_NAME);
    }
    /* Not kept: the contract is all that is wanted of it, and a second reading is cheap. */
    slwi_image *image = NULL;
    slw_contract *contract = NULL;
    slwi_contract_box *box = NULL;
    slw_code rc = slwi_entry_read(core->entry, SLWI_ENTRY_DOCUMENT_NAME, &image, err);
    if (rc != SLW_OK) return rc;
    *bytes += slwi_image_size(image);
    rc = slwi_entry_document_contract(&core->allocator, slwi_image_bytes(image), &contract, err);
    slwi_release(image);
    if (rc != SLW_OK || contract == NULL) return rc;
    rc = slwi_contract_box_create(&core->allocator, contract, NULL, &box, err);
    if (rc != SLW_OK) {
        slwi_contract_free(&core->allocator, &contract);
        return rc;
    }
    *found = 1;
    rc = settle(core, box, err);
    if (rc != SLW_OK) return rc;
    const slw_backend_vtable *reader = slw_backend_find(box->contract->backend);
    if (reader != NULL && reader->reader_revision != box->contract->reader_revision) {
        rc = derive_anew(core, reader, err);
        if (rc == SLW_OK) *bytes += core->launch_bytes;
    }
    return rc;
}

/* From the launch binary, found by recognising it. */
static slw_code hydrate_recognised(slwi_core *core, const slw_hydrate_options *options, uint64_t *bytes,
                                   slw_error *err) {
    slwi_found_binary binary = {0};
    slwi_contract_box *box = NULL;
    slw_code rc = slwi_find_binary(core->entry, &core->allocator, options->backend, options->target, &binary, err);
    if (rc != SLW_OK) return rc;
    *bytes += binary.read_bytes;
    rc = slwi_contract_box_create(&core->allocator, binary.contract, binary.reader, &box, err);
    if (rc != SLW_OK) {
        slwi_found_binary_drop(&binary, &core->allocator);
        return rc;
    }
    rc = settle(core, box, err);
    if (rc != SLW_OK) {
        slwi_release(binary.image);
        return rc;
    }
    atomic_store_explicit(&core->images[core->launch_index], binary.image, memory_order_release);
    atomic_store_explicit(&core->launch_read, 1, memory_order_relaxed);
    return SLW_OK;
}

static slw_code hydrate_core(slwi_core *core, const slw_hydrate_options *options, uint64_t *bytes, slw_error *err) {
    int found = 0;
    slw_code rc = hydrate_document(core, &found, bytes, err);
    if (rc == SLW_OK && !found) rc = hydrate_recognised(core, options, bytes, err);
    if (rc != SLW_OK || options->launch_binary != SLW_HYDRATE_EAGER) return rc;
    slwi_image *image = NULL;
    const int had = atomic_load_explicit(&core->images[core->launch_index], memory_order_relaxed) != NULL;
    rc = slwi_core_check_binary(core, &image, err);
    if (rc == SLW_OK && !had) *bytes += core->launch_bytes;
    return rc;
}

static slw_code check_options(const slw_hydrate_options *options, slw_error *err) {
    if (options->size != sizeof *options)
        return slwi_fail(err, SLW_E_USAGE, "BAD_SIZE", "slw_hydrate_options.size is not this version's");
    if (options->launch_binary != SLW_HYDRATE_LAZY && options->launch_binary != SLW_HYDRATE_EAGER)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION",
                         "launch_binary is neither SLW_HYDRATE_LAZY nor SLW_HYDRATE_EAGER");
    if (options->metadata.data == NULL && options->metadata.size != 0)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "metadata has a size and no bytes");
    if (options->backend != NULL && slw_backend_find(options->backend) == NULL) {
        slwi_error_subject(err, options->backend, strlen(options->backend));
        return slwi_fail(err, SLW_E_UNSUPPORTED, "NO_BACKEND", "this build has no backend of that name");
    }
    return SLW_OK;
}

/* A handle on a core, whose reference it takes over on success. */
static slw_code make_handle(slwi_core *core, slw_hydrated **out, slw_error *err) {
    slw_hydrated *hydrated = slwi_alloc_zero(&core->allocator, sizeof *hydrated);
    if (hydrated == NULL) return slwi_fail_memory(err, sizeof *hydrated);
    hydrated->tag = SLWI_TAG_HYDRATED;
    hydrated->allocator = core->allocator;
    hydrated->core = core;
    *out = hydrated;
    return SLW_OK;
}

slw_code slw_hydrate(slw_cached **from, const slw_hydrate_options *options, slw_hydrated **out, slw_error *err) {
    static const slw_hydrate_options defaults = SLW_HYDRATE_OPTIONS_INIT;
    slwi_error_reset(err);
    if (from == NULL || *from == NULL || (*from)->tag != SLWI_TAG_CACHED) return slwi_wrong_object(err, "from");
    if (out == NULL) return slwi_fail(err, SLW_E_USAGE, NULL, "slw_hydrate needs `out`");
    if (options == NULL) options = &defaults;
    slw_code rc = check_options(options, err);
    if (rc != SLW_OK) return rc;
    if (options->metadata.size != 0)
        return slwi_fail(err, SLW_E_USAGE, "BAD_OPTION", "an entry keeps its metadata itself; slw_hydrate takes none");
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slw_cached *cached = *from;
    slw_metrics *metrics = options->metrics != NULL ? options->metrics : cached->metrics;

    slwi_origin *origin = NULL;
    slwi_core *core = NULL;
    slw_hydrated *hydrated = NULL;
    uint64_t bytes = 0;
    slwi_moment moment = slwi_moment_begin(metrics, SLW_PHASE_HYDRATE);
    rc = slwi_origin_create(&cached->allocator, cached->entry, metrics, cached->created_ns, &origin, record);
    if (rc == SLW_OK)
        rc = slwi_core_create(&cached->allocator, origin, cached->entry, slwi_entry_file_count(cached->entry), &core,
                              record);
    if (rc == SLW_OK) rc = hydrate_core(core, options, &bytes, record);
    if (rc == SLW_OK) rc = make_handle(core, &hydrated, record);
    if (rc != SLW_OK) slwi_error_phase(record, "hydrate");

    moment.bytes = bytes;
    if (origin != NULL && origin->key[0] != '\0') moment.key = origin->key;
    if (rc == SLW_OK) {
        *out = hydrated;
        *from = NULL;
        moment.backend = core->box->contract->backend;
        moment.target = core->box->contract->target;
    }
    /* Sent before anything is let go: the strings of the event are the core's. On success the handle keeps it. */
    (void)slwi_moment_send(&moment, rc, record);
    slwi_release(origin);
    if (rc != SLW_OK) {
        slwi_release(core);
        return rc;
    }
    slw_cached_discard(&cached);
    return SLW_OK;
}

/* The one image of a core without an entry, copied, sealed and read. */
static slw_code fill_direct(slwi_core *core, slw_bytes binary, const char *name, const slw_hydrate_options *options,
                            slw_error *err) {
    slwi_image *image = NULL;
    const int rc = slwi_image_create(&core->allocator, binary.size, &image);
    if (rc != 0)
        return slwi_fail_os(err, SLW_E_NO_MEMORY, NULL, -rc, NULL, "no memory for a binary of %zu bytes", binary.size);
    memcpy(slwi_image_data(image), binary.data, binary.size);
    const int sealed = slwi_image_seal(image);
    atomic_store_explicit(&core->images[0], image, memory_order_release);
    if (sealed != 0)
        return slwi_fail_os(err, SLW_E_STORAGE, NULL, -sealed, NULL, "the binary's memory cannot be sealed");
    slw_sha256(slwi_image_bytes(image), &core->launch_sha256);
    core->launch_bytes = binary.size;
    const slw_backend_vtable *reader = options->backend != NULL ? slw_backend_find(options->backend)
                                                                : slwi_backend_recognise(slwi_image_bytes(image));
    if (reader == NULL) {
        slwi_error_subject(err, name, strlen(name));
        return slwi_fail(err, SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED",
                         "no backend of this build knows such a binary");
    }
    slw_contract *contract = NULL;
    /* With metadata the contract is the two of them joined, and no reader's own. */
    if (options->metadata.size != 0) reader = NULL;
    slw_code code = reader == NULL ? slw_contract_read(&core->allocator, slwi_image_bytes(image), options->metadata,
                                                       name, options->target, &contract, err)
                                   : reader->read_contract(&core->allocator, slwi_image_bytes(image), name,
                                                           options->target, &contract, err);
    if (code != SLW_OK) return code;
    code = slwi_contract_box_create(&core->allocator, contract, reader, &core->box, err);
    if (code != SLW_OK && reader != NULL) reader->release_contract(&core->allocator, &contract);
    if (code != SLW_OK) slwi_contract_free(&core->allocator, &contract);
    atomic_store_explicit(&core->launch_read, 1, memory_order_relaxed);
    return code;
}

slw_code slw_hydrate_binary(slw_bytes binary, const char *name, const slw_allocator *allocator,
                            const slw_hydrate_options *options, slw_hydrated **out, slw_error *err) {
    static const slw_hydrate_options defaults = SLW_HYDRATE_OPTIONS_INIT;
    slwi_error_reset(err);
    if (binary.data == NULL || binary.size == 0 || out == NULL)
        return slwi_fail(err, SLW_E_USAGE, NULL, "slw_hydrate_binary needs bytes and `out`");
    if (options == NULL) options = &defaults;
    if (name == NULL) name = "binary";
    slw_code rc = check_options(options, err);
    if (rc != SLW_OK) return rc;
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "launch binary", binary.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, NULL, "the binary is too long");
    }
    slw_allocator own;
    rc = slwi_allocator_take(allocator, &own, err);
    if (rc != SLW_OK) return rc;
    slw_error spare;
    slw_error *record = slwi_error_or(err, &spare);
    slwi_origin *origin = NULL;
    slwi_core *core = NULL;
    slw_hydrated *hydrated = NULL;
    slwi_moment moment = slwi_moment_begin(options->metrics, SLW_PHASE_HYDRATE);
    rc = slwi_origin_create(&own, NULL, options->metrics, slwi_now_ns(), &origin, record);
    if (rc == SLW_OK) rc = slwi_core_create(&own, origin, NULL, 1, &core, record);
    slwi_release(origin);
    if (rc == SLW_OK) rc = fill_direct(core, binary, name, options, record);
    if (rc == SLW_OK) rc = make_handle(core, &hydrated, record);
    if (rc != SLW_OK) slwi_error_phase(record, "hydrate");
    moment.bytes = binary.size;
    if (rc == SLW_OK) {
        *out = hydrated;
        moment.backend = core->box->contract->backend;
        moment.target = core->box->contract->target;
    }
    (void)slwi_moment_send(&moment, rc, record);
    if (rc != SLW_OK) slwi_release(core);
    return rc;
}
