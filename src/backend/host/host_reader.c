#include "host_reader.h"

#include <slipway/host_kernel.h>
#include <slipway/limits.h>
#include <string.h>

#include "contract_fields.h"
#include "elf_view.h"
#include "fail.h"
#include "heap_sort.h"
#include "host_dynamic.h"
#include "host_target.h"
#include "memory.h"
#include "reader.h"
#include "text.h"

#define RECORD_BYTES       ((uint32_t)sizeof(slw_host_kernel_record))
#define PARAM_BYTES        ((uint32_t)sizeof(slw_host_param_record))
#define POINTER_BYTES      (sizeof(void *))
#define STATIC_SHARED_STEP 16u

int slwi_host_recognises(slw_bytes binary) {
    uint16_t type;
    uint16_t machine;
    if (!slwi_elf_peek(binary, &type, &machine) || type != SLWI_ET_DYN) return 0;
    return machine != SLWI_EM_CUDA && machine != SLWI_EM_AMDGPU;
}

/* ---- records ---- */

typedef struct reader {
    const slwi_elf *elf;
    slw_bytes records;
    uint64_t file_offset; /* of the section, for errors */
    slw_error *err;
    /* What is built: room for all kernels and parameters of the section. */
    slw_kernel_contract *kernels;
    slw_param *params;
    uint32_t kernel_count;
    size_t param_count;
} reader;

static slw_code bad_record(const reader *r, uint64_t at, const char *what) {
    return slwi_elf_bad(r->elf, r->err, "BAD_RECORD", r->file_offset + at, what);
}

static uint32_t u32_at(const reader *r, uint64_t offset) {
    uint32_t value = 0;
    (void)slwi_read_u32(r->records, offset, &value);
    return value;
}

static int all_zero(slw_bytes bytes, uint64_t offset, uint64_t size) {
    slw_bytes window;
    if (!slwi_window(bytes, offset, size, &window)) return 0;
    const uint8_t *data = window.data;
    for (size_t i = 0; i < window.size; i++) {
        if (data[i] != 0) return 0;
    }
    return 1;
}

/* A field of `size` bytes that holds text, a NUL and then only NULs. Printable, valid UTF-8: it goes into JSON and
   messages. */
static int read_name(const reader *r, uint64_t offset, size_t size, slw_bytes *out) {
    slw_bytes field;
    if (!slwi_window(r->records, offset, size, &field) || !slwi_read_string(field, 0, out)) return 0;
    if (!all_zero(field, out->size, size - out->size)) return 0;
    size_t at = 0;
    while (at < out->size) {
        uint32_t code;
        if (!slwi_utf8_next(*out, &at, &code) || code < 0x21 || code == 0x7f) return 0;
    }
    return 1;
}

static slw_code check_kind(const reader *r, uint64_t at, uint32_t kind) {
    if (kind >= SLW_HOST_POINTER && kind <= SLW_HOST_STRUCT) return SLW_OK;
    return bad_record(r, at + 40, "a parameter has a kind that is none");
}

static slw_code read_param(reader *r, uint64_t at, uint32_t offset_bytes, slw_param *out) {
    slw_bytes name;
    if (!read_name(r, at, SLW_HOST_PARAM_NAME_BYTES, &name)) return bad_record(r, at, "a parameter's name is no text");
    uint32_t size = u32_at(r, at + 32);
    uint32_t alignment = u32_at(r, at + 36);
    uint32_t kind = u32_at(r, at + 40);
    if (size == 0 || size > SLWI_HOST_PARAM_BYTES_MAX) {
        return bad_record(r, at + 32, "a parameter's size is zero or over the limit");
    }
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > SLWI_HOST_PARAM_ALIGNMENT_MAX) {
        return bad_record(r, at + 36, "a parameter's alignment is no power of two or over the limit");
    }
    slw_code rc = check_kind(r, at, kind);
    if (rc != SLW_OK) return rc;
    if (!all_zero(r->records, at + 44, PARAM_BYTES - 44)) return bad_record(r, at + 44, "reserved bytes are not zero");
    memset(out, 0, sizeof(*out));
    out->name = name.size == 0 ? NULL : name.data;
    out->offset_bytes = offset_bytes;
    out->size_bytes = size;
    out->alignment_bytes = alignment;
    out->kind = (slw_param_kind)kind;
    out->role = SLW_ROLE_CALLER;
    return SLW_OK;
}

/* The head of the record at `at`; its length and number of parameters, both checked against the section. */
static slw_code read_head(const reader *r, uint64_t at, uint32_t *record_bytes, uint32_t *param_count) {
    uint32_t version;
    if (!slwi_read_u32(r->records, at, &version)) return bad_record(r, at, "a kernel record ends early");
    if (version != SLW_HOST_KERNEL_VERSION) {
        if (r->elf->name != NULL) slwi_error_path(r->err, r->elf->name);
        slwi_error_place(r->err, 0, 0, r->file_offset + at);
        return slwi_fail(r->err, SLW_E_UNSUPPORTED_INPUT, "KERNEL_VERSION",
                         "a kernel record has version %u; this library reads %u", (unsigned)version,
                         (unsigned)SLW_HOST_KERNEL_VERSION);
    }
    slw_bytes window;
    if (!slwi_window(r->records, at, RECORD_BYTES, &window)) return bad_record(r, at, "a kernel record ends early");
    uint32_t bytes = u32_at(r, at + 4);
    uint32_t count = u32_at(r, at + 12);
    if (count > SLW_LIMIT_PARAMETERS) {
        slwi_error_amount(r->err, "parameters", count, SLW_LIMIT_PARAMETERS, "parameters");
        return slwi_fail(r->err, SLW_E_LIMIT, "TOO_MANY_PARAMETERS", "a kernel has too many parameters");
    }
    if (bytes != RECORD_BYTES + count * PARAM_BYTES)
        return bad_record(r, at + 4, "a kernel record's length is not right");
    if (!slwi_window(r->records, at, bytes, &window)) return bad_record(r, at, "a kernel record ends early");
    *record_bytes = bytes;
    *param_count = count;
    return SLW_OK;
}

static slw_code count_records(reader *r, uint32_t *kernels, size_t *params) {
    uint64_t at = 0;
    *kernels = 0;
    *params = 0;
    while (at < r->records.size) {
        uint32_t bytes = 0;
        uint32_t count = 0;
        slw_code rc = read_head(r, at, &bytes, &count);
        if (rc != SLW_OK) return rc;
        if (*kernels == SLW_LIMIT_KERNELS) {
            slwi_error_amount(r->err, "kernels", (uint64_t)*kernels + 1, SLW_LIMIT_KERNELS, "kernels");
            return slwi_fail(r->err, SLW_E_LIMIT, "TOO_MANY_KERNELS", "the binary has too many kernels");
        }
        *kernels += 1;
        *params += count;
        at += bytes;
    }
    return SLW_OK;
}

static slw_code read_record(reader *r, uint64_t at, uint32_t param_count) {
    slw_bytes name;
    if (!read_name(r, at + 16, SLW_HOST_KERNEL_NAME_BYTES, &name) || name.size == 0) {
        return bad_record(r, at + 16, "a kernel's name is no text");
    }
    uint32_t shared = u32_at(r, at + 8);
    if (shared % STATIC_SHARED_STEP != 0) return bad_record(r, at + 8, "static shared memory is no multiple of 16");
    if (!all_zero(r->records, at + 144, RECORD_BYTES - 144))
        return bad_record(r, at + 144, "reserved bytes are not zero");

    slw_kernel_contract *kernel = &r->kernels[r->kernel_count];
    memset(kernel, 0, sizeof(*kernel));
    kernel->name = name.data;
    kernel->params = &r->params[r->param_count];
    kernel->param_count = param_count;
    kernel->static_shared_bytes = shared;
    kernel->ctas = 1;
    for (uint32_t p = 0; p < param_count; p++) {
        slw_param *param = &r->params[r->param_count + p];
        slw_code rc = read_param(r, at + RECORD_BYTES + (uint64_t)p * PARAM_BYTES, kernel->param_bytes, param);
        if (rc != SLW_OK) return rc;
        kernel->param_bytes += param->size_bytes; /* 64 of 64 KiB at most */
    }
    r->param_count += param_count;
    r->kernel_count += 1;
    return SLW_OK;
}

static int by_name(const void *a, const void *b) {
    const slw_kernel_contract *const *left = a;
    const slw_kernel_contract *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Pointers are sorted and the kernels copied in their order: a kernel is too large to be swapped about. */
static slw_code sort_kernels(reader *r, const slw_allocator *allocator) {
    const slw_kernel_contract **order = slwi_alloc_array(allocator, r->kernel_count, POINTER_BYTES);
    slw_kernel_contract *sorted = slwi_alloc_array(allocator, r->kernel_count, sizeof(*sorted));
    if (order == NULL || sorted == NULL) {
        slwi_free(allocator, order);
        slwi_free(allocator, sorted);
        return slwi_fail_memory(r->err, r->kernel_count * sizeof(*sorted));
    }
    for (uint32_t i = 0; i < r->kernel_count; i++) order[i] = &r->kernels[i];
    slwi_heap_sort(order, r->kernel_count, POINTER_BYTES, by_name);
    for (uint32_t i = 0; i < r->kernel_count; i++) sorted[i] = *order[i];
    slwi_free(allocator, order);
    slwi_free(allocator, r->kernels);
    r->kernels = sorted;
    return SLW_OK;
}

static slw_code read_records(reader *r, const slw_allocator *allocator) {
    uint64_t at = 0;
    while (at < r->records.size) {
        uint32_t bytes = 0;
        uint32_t count = 0;
        slw_code status = read_head(r, at, &bytes, &count);
        if (status == SLW_OK) status = read_record(r, at, count);
        if (status != SLW_OK) return status;
        at += bytes;
    }
    slw_code rc = sort_kernels(r, allocator);
    if (rc != SLW_OK) return rc;
    for (uint32_t i = 1; i < r->kernel_count; i++) {
        if (strcmp(r->kernels[i - 1].name, r->kernels[i].name) != 0) continue;
        slwi_error_kernel(r->err, r->kernels[i].name, NULL);
        return slwi_elf_bad(r->elf, r->err, "DUPLICATE", r->file_offset, "two kernels have the same name");
    }
    return SLW_OK;
}

/* ---- the whole ---- */

static slw_code no_kernels(const slwi_elf *elf, slw_error *err) {
    slwi_error_hint(err, "declare each kernel with SLW_HOST_KERNEL of <slipway/host_kernel.h>");
    return slwi_elf_bad(elf, err, "NO_ENTRY", 0, "the shared object holds no kernels");
}

static slw_code find_records(reader *r) {
    slwi_elf_section section;
    slw_code rc = slwi_elf_section_named(r->elf, SLW_HOST_KERNEL_SECTION, &section, r->err);
    if (rc == SLW_E_MISS) return no_kernels(r->elf, r->err);
    if (rc != SLW_OK) return rc;
    r->records = section.bytes;
    r->file_offset = section.offset;
    if (section.type != SLWI_SHT_PROGBITS || (section.flags & SLWI_SHF_ALLOC) == 0) {
        return slwi_elf_bad(r->elf, r->err, "BAD_RECORD", section.offset, "the section of kernels is of another kind");
    }
    if (section.size == 0) return no_kernels(r->elf, r->err);
    return SLW_OK;
}

static slw_code check_machine(const slwi_elf *elf, slw_error *err) {
    char buffer[24];
    if (elf->machine != slwi_host_machine()) {
        const char *is = slwi_elf_machine_name(elf->machine, buffer);
        if (elf->name != NULL) slwi_error_path(err, elf->name);
        slwi_error_subject(err, is, strlen(is));
        return slwi_fail(err, SLW_E_TARGET_MISMATCH, "MACHINE", "the binary is for %s, this process is %s", is,
                         slwi_host_target());
    }
    if (elf->type != SLWI_ET_DYN) return slwi_elf_bad(elf, err, "NOT_SHARED_OBJECT", 16, "this is not a shared object");
    return SLW_OK;
}

static slw_code read_kernels(reader *r, const slw_allocator *allocator, slw_contract **out) {
    slw_code rc = read_records(r, allocator);
    if (rc == SLW_OK) rc = slwi_host_check_dynamic(r->elf, r->kernels, r->kernel_count, allocator, r->err);
    if (rc != SLW_OK) return rc;
    slw_contract draft;
    memset(&draft, 0, sizeof(draft));
    draft.schema = SLW_CONTRACT_SCHEMA;
    draft.reader_revision = SLWI_HOST_READER_REVISION;
    draft.backend = "host";
    draft.kind = SLW_IMAGE_HOST;
    draft.target = slwi_host_target();
    /* The bytes that were read are the ones to load, whatever they are called. */
    draft.launch_binary = r->elf->name != NULL && r->elf->name[0] != '\0' ? r->elf->name : SLWI_HOST_LAUNCH_BINARY;
    draft.kernels = r->kernels;
    draft.kernel_count = r->kernel_count;
    return slwi_contract_copy(allocator, &draft, out, r->err);
}

slw_code slwi_host_read_contract(const slw_allocator *allocator, slw_bytes binary, const char *name, slw_contract **out,
                                 slw_error *err) {
    slwi_elf elf;
    reader r;
    memset(&r, 0, sizeof(r));
    r.elf = &elf;
    r.err = err;
    if (binary.size > SLW_LIMIT_BINARY_BYTES) {
        slwi_error_amount(err, "binary size", binary.size, SLW_LIMIT_BINARY_BYTES, "bytes");
        return slwi_fail(err, SLW_E_LIMIT, "TOO_LARGE", "the binary is too large");
    }
    slw_code rc = slwi_elf_open(binary, name, &elf, err);
    if (rc == SLW_OK) rc = check_machine(&elf, err);
    if (rc == SLW_OK) rc = find_records(&r);
    uint32_t kernels = 0;
    size_t params = 0;
    if (rc == SLW_OK) rc = count_records(&r, &kernels, &params);
    if (rc != SLW_OK) return rc;

    r.kernels = slwi_alloc_array(allocator, kernels, sizeof(*r.kernels));
    r.params = slwi_alloc_array(allocator, params, sizeof(*r.params));
    if (r.kernels == NULL || r.params == NULL) {
        rc = slwi_fail_memory(err, kernels * sizeof(*r.kernels) + params * sizeof(*r.params));
    } else {
        rc = read_kernels(&r, allocator, out);
    }
    slwi_free(allocator, r.kernels);
    slwi_free(allocator, r.params);
    return rc;
}
