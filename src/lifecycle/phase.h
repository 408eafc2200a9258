/* The phase objects and what they share.
 *
 *     cached ──▶ entry
 *     hydrated ──▶ core ──▶ origin, contract box, entry, images
 *     device_loaded ──▶ origin, contract box, module
 *     launchable ──▶ launch core ──▶ origin, contract box, module, function
 *
 * The contract box is what a module keeps alive, so a module never keeps payload memory or a private build's directory;
 * the origin keeps the directory of a private build until the last handle made from it is gone. */
#ifndef SLWI_PHASE_H
#define SLWI_PHASE_H

#include "backends.h"
#include "measure.h"
#include "modules.h"
#include "store_entry.h"

#define SLWI_TAG_CACHED     0x53434143u
#define SLWI_TAG_HYDRATED   0x53485944u
#define SLWI_TAG_LOADED     0x534c4f44u
#define SLWI_TAG_LAUNCHABLE 0x534c4348u
#define SLWI_TAG_DEAD       0xdeadc0deu

/* A launch contract, counted. Immutable. */
typedef struct slwi_contract_box {
    slwi_ref ref;
    slw_allocator allocator;
    slw_contract *contract;
    const slw_backend_vtable *reader; /* releases it; NULL: it came from JSON */
} slwi_contract_box;

/* Where a family of handles came from. Immutable. */
typedef struct slwi_origin {
    slwi_ref ref;
    slw_allocator allocator;
    slwi_entry *private_entry;      /* NULL unless the build is private: its directory lives as long as any handle */
    slw_metrics *metrics;           /* NULL: nobody listens */
    uint64_t created_ns;            /* when the look-up or the compile began */
    char key[SLW_DIGEST_TEXT_SIZE]; /* "": none */
} slwi_origin;

/* What a hydrated kernel and its shares have in common. */
typedef struct slwi_core {
    slwi_ref ref;
    slw_allocator allocator;
    slwi_origin *origin;
    slwi_contract_box *box;
    slwi_entry *entry; /* NULL: a binary given directly, which is image 0 */
    size_t launch_index;
    uint64_t launch_bytes;
    slw_digest launch_sha256;
    atomic_int launch_read; /* 1: the contract has been compared with the binary's bytes, or was read from them */
    size_t image_count;
    _Atomic(slwi_image *)
        images[]; /* by inventory index; published once, whole, never taken back while the core lives */
} slwi_core;

struct slw_cached {
    uint32_t tag;
    slw_allocator allocator;
    slwi_entry *entry;
    slw_metrics *metrics; /* retained */
    uint64_t created_ns;
};

struct slw_hydrated {
    uint32_t tag;
    slw_allocator allocator;
    slwi_core *core;
};

struct slw_device_loaded {
    uint32_t tag;
    slw_allocator allocator;
    slwi_origin *origin;
    slwi_contract_box *box;
    slwi_module *module; /* keeps its device */
};

/* A shape with nothing left open. */
typedef struct slwi_shape {
    uint32_t block[3];
    uint32_t cluster[3]; /* all 0: none */
    uint32_t shared_bytes;
    uint32_t cooperative;
    uint32_t flags; /* SLW_LAUNCH_… */
} slwi_shape;

/* What a launchable and its shares have in common. Counted by `owners` and not by a slwi_ref, because the last
   owner says whether the module may be unloaded at once. Immutable but for `owners` and `launched`. */
typedef struct slwi_launch_core {
    slw_allocator allocator;
    slwi_origin *origin;
    slwi_contract_box *box;
    slwi_module *module;
    const slw_device *device; /* the module's */
    const slw_kernel_contract *kernel;
    void *function;
    slwi_shape shape;
    uint64_t most_blocks; /* of a cooperative grid; UINT64_MAX: no limit is known */
    uint32_t caller_params;
    uint32_t direct; /* 1: every parameter is the caller's, so the array is passed on as it is */
    atomic_uint_fast32_t owners;
    atomic_uint_fast32_t launched; /* the one thing a launch writes, once */
} slwi_launch_core;

struct slw_launchable {
    uint32_t tag;
    slw_allocator allocator;
    slwi_launch_core *core;
};

/* `err` when the caller's record can be used, else `spare`, reset: events carry a record also where the caller
   wants none. */
slw_error *slwi_error_or(slw_error *err, slw_error *spare);
/* USAGE for a NULL or an object of another phase; `what` names the argument. */
slw_code slwi_wrong_object(slw_error *err, const char *what);

/* Makes a handle; takes over the reference to `entry` on success only. `metrics` is retained. */
slw_code slwi_cached_create(slwi_entry *entry, slw_metrics *metrics, uint64_t created_ns, slw_cached **out,
                            slw_error *err);

/* A report that can be filled: NULL, or of this version and owning nothing; else USAGE. */
slw_code slwi_check_report(const slw_build_report *report, slw_error *err);

/* Frees a handle's memory after overwriting its tag. */
void slwi_handle_free(const slw_allocator *allocator, uint32_t *tag, void *handle);

/* Takes over `contract` on success only. */
slw_code slwi_contract_box_create(const slw_allocator *allocator, slw_contract *contract,
                                  const slw_backend_vtable *reader, slwi_contract_box **out, slw_error *err);
slw_code slwi_origin_create(const slw_allocator *allocator, slwi_entry *entry, slw_metrics *metrics,
                            uint64_t created_ns, slwi_origin **out, slw_error *err);
/* An empty core with room for `image_count` images; origin is retained, entry is retained. */
slw_code slwi_core_create(const slw_allocator *allocator, slwi_origin *origin, slwi_entry *entry, size_t image_count,
                          slwi_core **out, slw_error *err);

/* The image of a file of the inventory, read at first use: borrowed, lives as long as the core. Any thread. */
slw_code slwi_core_image(slwi_core *core, size_t index, slwi_image **out, slw_error *err);
/* Index of a payload; 0: none of that name. */
int slwi_core_find(const slwi_core *core, const char *name, size_t *index);
/* Compares the contract with the launch binary's own, once. Reads the binary. */
slw_code slwi_core_check_binary(slwi_core *core, slwi_image **out, slw_error *err);

slw_bytes slwi_image_bytes(slwi_image *image);

/* Begins an event of a kernel whose contract is known. */
slwi_moment slwi_moment_of(const slwi_origin *origin, const slw_contract *contract, slw_phase phase);

/* The kernel of that name, or MISS, NO_KERNEL with the names there are. */
slw_code slwi_find_kernel(const slw_contract *contract, const char *entry, const slw_kernel_contract **out,
                          slw_error *err);

/* Drops one owner; with `unload` the last one unloads the module instead of retiring it. */
void slwi_launch_core_drop(slwi_launch_core *core, int unload);

#endif
