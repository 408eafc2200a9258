/* What is in a GPU binary or a PTX text, and whether it would run on a device: from bytes alone, with no driver. No
 * file is opened and no process started, except by slw_disassemble.
 *
 * Formats: PTX, cubin, fatbin, amdgcn code object (hsaco), offload bundle, host shared object, and host objects, shared
 * objects and programs that carry a fatbin (section .nv_fatbin). */
#ifndef SLIPWAY_INSPECT_H
#define SLIPWAY_INSPECT_H

#include <slipway/device.h>
#include <slipway/phases.h>

SLW_BEGIN_DECLS

typedef enum slw_file_format {
    SLW_FORMAT_UNKNOWN = 0,
    SLW_FORMAT_PTX = 1,
    SLW_FORMAT_CUBIN = 2,
    SLW_FORMAT_FATBIN = 3,
    SLW_FORMAT_HSACO = 4,
    SLW_FORMAT_BUNDLE = 5,
    SLW_FORMAT_HOST = 6,
    SLW_FORMAT_ELF_WITH_FATBIN = 7
} slw_file_format;

/* "ptx", "cubin", "fatbin", "hsaco", "bundle", "host", "elf-with-fatbin"; "unknown" for any other value. */
SLW_API const char *slw_file_format_name(slw_file_format format);
/* "cubin", "ptx", "hsaco", "host", "lto_ir"; "unknown" for any other value. */
SLW_API const char *slw_image_kind_name(slw_image_kind kind);

/* One image of a file. Pointers belong to the inspection. */
typedef struct slw_image {
    uint32_t size;
    slw_image_kind kind;
    const char *target;           /* in full: "sm_90a", "gfx942:sramecc+:xnack-"; NULL: not known */
    const char *compression;      /* "lz4", "zstd"; NULL: none. A compressed image is listed and not read */
    const char *isa_version;      /* "9.0" of PTX; NULL: none or not known */
    uint64_t offset_bytes;        /* of the image's bytes in the file */
    uint64_t size_bytes;          /* as they stand there */
    const slw_contract *contract; /* NULL: not read (compressed, LTO IR) or refused: then `error` says why */
    const slw_error *error;       /* NULL: none */
    uint32_t container; /* which of the file's containers it stands in, from 0: each is loaded as one module */
} slw_image;
#define SLW_IMAGE_INIT                                                                                                 \
    { sizeof(slw_image), SLW_IMAGE_UNKNOWN, NULL, NULL, NULL, 0, 0, NULL, NULL, 0 }

typedef struct slw_inspection slw_inspection;

typedef struct slw_inspect_options {
    uint32_t size;
    slw_allocator allocator;
    const char *name; /* what errors call the file; NULL: none */
} slw_inspect_options;
#define SLW_INSPECT_OPTIONS_INIT                                                                                       \
    { sizeof(slw_inspect_options), SLW_ALLOCATOR_INIT, NULL }

/* Reads every image of the file. Nothing of `file` is kept. An image that is refused does not fail the call: its own
   `error` says what and where; so a PTX, cubin, hsaco or host file, which is one image, never fails for what stands in
   it. Offsets of errors are of the file, lines of the PTX text. A bundle's empty host entries are no images; LLVM
   bitcode in one is LTO_IR. In a file of a processor every section that begins as a fatbin or a bundle is read,
   whatever its name. What nothing recognises is PTX where `name` ends in ".ptx".
   Fails, with *out untouched: USAGE; UNSUPPORTED_INPUT (NOT_RECOGNISED: none of these formats; COMPRESSED_BUNDLE, by
   name, with a hint how to unpack it); INVALID_BINARY where the container itself is bad (OVERLAP: images that lie over
   one another); LIMIT; NO_MEMORY. `options` NULL: the defaults. Cost: linear in the file. Threads: any. */
SLW_API SLW_MUST_CHECK slw_code slw_inspect(const slw_inspect_options *options, slw_bytes file, slw_inspection **out,
                                            slw_error *err);
/* Frees it and everything handed out of it. Accepts a pointer to NULL. */
SLW_API void slw_inspection_discard(slw_inspection **inspection);
SLW_API slw_file_format slw_inspection_format(const slw_inspection *inspection);
SLW_API size_t slw_inspection_count(const slw_inspection *inspection);
/* Image `index`: 1, or 0 past the end. out->size is the caller's. */
SLW_API int slw_inspection_image(const slw_inspection *inspection, size_t index, slw_image *out);
/* How well the image suits a device of that target among those of its container. 0: it does not run there. The highest
   of a container is the one that is loaded (and the one that slw_hydrate_options.target chooses): the exact binary, a
   family's, an older minor number's, then PTX. Pure. */
SLW_API uint32_t slw_image_rank(const slw_image *image, const char *target);

/* The contract of a launch binary, alone (metadata.size 0) or agreeing with its metadata: Triton's X.json (any version
   from 3.2), or a contract as slipway.json keeps it. `target`: the device's, which chooses among several images; NULL:
   the only one. Release with slw_contract_release.
   Fails, with *out untouched: INVALID_BINARY, INVALID_PTX, UNSUPPORTED_INPUT, TARGET_MISMATCH as the readers say;
   INVALID_METADATA (subject: the field); CONTRACT_MISMATCH (subject: the field that differs); LIMIT; NO_MEMORY. */
SLW_API SLW_MUST_CHECK slw_code slw_contract_read(const slw_allocator *allocator, slw_bytes binary, slw_bytes metadata,
                                                  const char *name, const char *target, slw_contract **out,
                                                  slw_error *err);
SLW_API void slw_contract_release(const slw_allocator *allocator, slw_contract **contract);

/* The figures of a device by its target ("sm_90", "sm_90a", "gfx942", "host"), from a table in the library; sources
   stand in it. The same figures a driver gives, but for the name and, all 0, what the product or its driver decides:
   multiprocessors, ptx_isa_version, memory_bytes. "gfx942" is "gfx942:sramecc+:xnack-", the usual modes: out->target
   says it in full. UNSUPPORTED_INPUT (UNKNOWN_TARGET) for one that is not there: `tried` lists those that are. */
SLW_API SLW_MUST_CHECK slw_code slw_device_known(const char *target, slw_device_info *out, slw_error *err);
/* The targets of that table, by index; NULL past the end. */
SLW_API const char *slw_device_known_target(size_t index);

/* Would it run? Pure. `kernel` NULL: only whether the image is for this device. `shape` NULL: the least the kernel asks
   for in any shape (its required block or one warp, static and required dynamic shared memory).
   TARGET_MISMATCH (subject: what it was built for), OUT_OF_RESOURCES with resource, required, limit, unit, kernel and
   device; INVALID_LAUNCH. */
SLW_API SLW_MUST_CHECK slw_code slw_preflight(const slw_contract *contract, const slw_kernel_contract *kernel,
                                              const slw_device_info *device, const slw_launch_shape *shape,
                                              slw_error *err);

/* The machine code of an image as text, by the vendor's tool: nvdisasm, else cuobjdump, for a cubin; llvm-objdump for
   an hsaco. Looked for only now. */
typedef struct slw_disassemble_options {
    uint32_t size;
    slw_allocator allocator;
    const char *tool;        /* a path; NULL: found in search_path */
    const char *search_path; /* directories as in PATH; NULL: the system's and the toolkit's usual ones */
    const char *temporary;   /* where a private directory is made for the tool's input; NULL: /tmp */
    uint64_t timeout_ns;     /* 0: 60 s */
    slw_cancel *cancel;
} slw_disassemble_options;
#define SLW_DISASSEMBLE_OPTIONS_INIT                                                                                   \
    { sizeof(slw_disassemble_options), SLW_ALLOCATOR_INIT, NULL, NULL, NULL, 0, NULL }

/* `text` is the caller's; release it with slw_text_release. Fails, with *text untouched: USAGE; TOOL_MISSING (`tried`,
   and a hint how to get it); UNSUPPORTED_INPUT for an image no tool reads (PTX, host, LTO IR, several images);
   COMPILE_FAILED (TOOL_FAILED) with the tool's words in diagnostics; TIMEOUT; CANCELLED; STORAGE; LIMIT
   (SLW_LIMIT_DISASSEMBLY_BYTES); NO_MEMORY. Cost: a process. Threads: any. */
SLW_API SLW_MUST_CHECK slw_code slw_disassemble(const slw_disassemble_options *options, slw_bytes image, slw_text *text,
                                                slw_error *err);

/* Which tool slw_disassemble would run for an image of that kind (CUBIN, HSACO); no process is started. TOOL_MISSING,
   UNSUPPORTED_INPUT, NO_MEMORY; `path` is untouched then. */
SLW_API SLW_MUST_CHECK slw_code slw_disassembler_find(const slw_disassemble_options *options, slw_image_kind kind,
                                                      slw_text *path, slw_error *err);

SLW_END_DECLS
#endif
