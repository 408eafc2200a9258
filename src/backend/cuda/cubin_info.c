/* The records of .nv.info: what ptxas says about the module's functions and about each kernel. Attributes that are not
 * known here are passed over, whatever their format. Names are those the toolkit's own tools print. */
#include <string.h>

#include "cubin_state.h"
#include "fail.h"
#include "reader.h"

#define MAX_THREADS         0x05u
#define PARAM_CBANK         0x0au
#define EXTERNS             0x0fu
#define REQNTID             0x10u
#define FRAME_SIZE          0x11u
#define KPARAM_INFO         0x17u
#define CBANK_PARAM_SIZE    0x19u
#define MAXREG_COUNT        0x1bu
#define REGCOUNT            0x2fu
#define CTA_PER_CLUSTER     0x3du
#define MAX_CLUSTER_RANK    0x3fu
#define KPARAM_INFO_V2      0x45u
#define BLOCKS_ARE_CLUSTERS 0x5bu
/* Not read: COOP_GROUP_INSTR_OFFSETS (0x28) stands in every kernel with a shuffle or a warp barrier as well as in those
   that synchronize the grid, so it is no sign of a cooperative launch; EXPLICIT_CLUSTER (0x3e) says that a launch has
   to name the cluster, which stands in CTA_PER_CLUSTER where it is fixed. */

#define NO_REGISTER_LIMIT 0xffu

/* Of a parameter that is bound by name (texture, surface): it lies nowhere. */
#define OFFSET_NOWHERE 0xffffu

/* Address spaces in KPARAM_INFO: local, shared, const, global, generic; 0 for no pointer, 6 and 7 for opaque ones. */
#define SPACE_FIRST   1u
#define SPACE_LAST    5u
#define POINTER_BYTES 8u

#define ORDINAL_WORDS (SLW_LIMIT_GPU_PARAMETERS / 32u)

/* ---- the walk ---- */

slw_code slwi_cubin_next_record(const slwi_elf *elf, slwi_cubin_walk *walk, slwi_cubin_record *out, slw_error *err) {
    uint8_t format = 0;
    uint8_t attribute = 0;
    uint16_t value = 0;
    if (walk->at == walk->bytes.size) return SLW_E_MISS;
    uint64_t at = walk->at;
    out->offset = walk->file_offset + at;
    if (!slwi_read_u8(walk->bytes, at, &format) || !slwi_read_u8(walk->bytes, at + 1, &attribute) ||
        !slwi_read_u16(walk->bytes, at + 2, &value)) {
        return slwi_elf_bad(elf, err, "BAD_INFO", out->offset, "a record ends early");
    }
    out->format = format;
    out->attribute = attribute;
    out->value = format == SLWI_CUBIN_BVAL ? value & 0xffu : value;
    out->payload.data = "";
    out->payload.size = 0;
    walk->at = at + 4;
    if (format == SLWI_CUBIN_SVAL) {
        if (!slwi_window(walk->bytes, at + 4, value, &out->payload)) {
            return slwi_elf_bad(elf, err, "BAD_INFO", out->offset, "a record is longer than its section");
        }
        walk->at += value;
    } else if (format < SLWI_CUBIN_NVAL || format > SLWI_CUBIN_SVAL) {
        return slwi_elf_bad(elf, err, "BAD_INFO", out->offset, "a record has a format that is none");
    }
    return SLW_OK;
}

static uint32_t u32(slw_bytes bytes, uint64_t offset) {
    uint32_t value = 0;
    (void)slwi_read_u32(bytes, offset, &value);
    return value;
}

static slw_code expect(const slwi_cubin *cubin, const slwi_cubin_record *record, uint32_t format, size_t size) {
    if (record->format == format && record->payload.size == size) return SLW_OK;
    return slwi_cubin_bad(cubin, "BAD_INFO", record->offset, "a record has another form than its attribute");
}

/* ---- the module ---- */

/* (symbol, value); a value may be said twice, but not two values. */
static slw_code read_function(slwi_cubin *cubin, const slwi_cubin_record *record) {
    slw_code rc = expect(cubin, record, SLWI_CUBIN_SVAL, 8);
    if (rc != SLW_OK) return rc;
    uint32_t symbol = u32(record->payload, 0);
    uint32_t value = u32(record->payload, 4);
    if (symbol >= cubin->symbol_count) {
        return slwi_cubin_bad(cubin, "BAD_INFO", record->offset, "a record is about a symbol that is not there");
    }
    slwi_cubin_kernel *kernel = slwi_cubin_kernel_of(cubin, symbol);
    if (kernel == NULL) return SLW_OK; /* a function that kernels call */
    int is_registers = record->attribute == REGCOUNT;
    uint32_t *to = is_registers ? &kernel->registers : &kernel->local_bytes;
    uint8_t *has = is_registers ? &kernel->has_registers : &kernel->has_local;
    if (*has && *to != value) {
        return slwi_cubin_bad_kernel(cubin, kernel, "DUPLICATE", record->offset,
                                     is_registers ? "two numbers of registers are said of one kernel"
                                                  : "two sizes of local memory are said of one kernel");
    }
    *to = value;
    *has = 1;
    return SLW_OK;
}

static slw_code add_externs(const slwi_cubin *cubin, const slwi_cubin_record *record, uint32_t *needs) {
    if (record->format != SLWI_CUBIN_SVAL || record->payload.size % 4 != 0) return expect(cubin, record, 0, 0);
    for (uint64_t at = 0; at < record->payload.size; at += 4) {
        uint32_t symbol = u32(record->payload, at);
        if (symbol >= cubin->symbol_count) {
            return slwi_cubin_bad(cubin, "BAD_INFO", record->offset, "a record is about a symbol that is not there");
        }
        *needs |= slwi_cubin_needs_of_symbol(cubin, symbol);
    }
    return SLW_OK;
}

/* Functions that were linked in have records of their own; who calls them is not said there. */
static slw_code read_functions(slwi_cubin *cubin) {
    for (uint32_t i = 0; i < cubin->elf.section_count; i++) {
        const slwi_cubin_place *place = &cubin->places[i];
        if (!place->has_info || place->has_kernel) continue;
        slwi_cubin_walk walk = {place->info, 0, place->info_offset};
        slwi_cubin_record record;
        slw_code rc;
        while ((rc = slwi_cubin_next_record(&cubin->elf, &walk, &record, cubin->err)) == SLW_OK) {
            if (record.attribute == EXTERNS) rc = add_externs(cubin, &record, &cubin->module_needs);
            if (rc != SLW_OK) return rc;
        }
        if (rc != SLW_E_MISS) return rc;
    }
    return SLW_OK;
}

slw_code slwi_cubin_read_module_info(slwi_cubin *cubin) {
    slwi_cubin_walk walk = {cubin->info, 0, cubin->info_offset};
    slwi_cubin_record record;
    slw_code rc;
    while ((rc = slwi_cubin_next_record(&cubin->elf, &walk, &record, cubin->err)) == SLW_OK) {
        if (record.attribute != REGCOUNT && record.attribute != FRAME_SIZE) continue;
        rc = read_function(cubin, &record);
        if (rc != SLW_OK) return rc;
    }
    return rc == SLW_E_MISS ? read_functions(cubin) : rc;
}

/* ---- parameters ---- */

static int is_param(const slwi_cubin_record *record) {
    return record->attribute == KPARAM_INFO || record->attribute == KPARAM_INFO_V2;
}

static slw_code too_many(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, uint64_t count, uint64_t limit) {
    slwi_error_kernel(cubin->err, kernel->name.data, NULL);
    slwi_error_amount(cubin->err, "parameters", count, limit, "parameters");
    return slwi_fail(cubin->err, SLW_E_LIMIT, "TOO_MANY_PARAMETERS", "there are too many parameters");
}

static slw_code count_params(slwi_cubin *cubin, slwi_cubin_kernel *kernel) {
    const slwi_cubin_place *place = &cubin->places[kernel->section];
    if (!place->has_info) return slwi_cubin_missing(cubin, kernel, ".nv.info");
    slwi_cubin_walk walk = {place->info, 0, place->info_offset};
    slwi_cubin_record record;
    slw_code rc;
    while ((rc = slwi_cubin_next_record(&cubin->elf, &walk, &record, cubin->err)) == SLW_OK) {
        if (!is_param(&record)) continue;
        if (kernel->param_count == SLW_LIMIT_GPU_PARAMETERS) {
            return too_many(cubin, kernel, (uint64_t)kernel->param_count + 1, SLW_LIMIT_GPU_PARAMETERS);
        }
        kernel->param_count += 1;
    }
    if (rc != SLW_E_MISS) return rc;
    cubin->param_count += kernel->param_count; /* 65,536 × 4,096 at most */
    if (cubin->param_count > SLW_LIMIT_GPU_PARAMETERS_ALL) {
        return too_many(cubin, kernel, cubin->param_count, SLW_LIMIT_GPU_PARAMETERS_ALL);
    }
    return SLW_OK;
}

slw_code slwi_cubin_count_params(slwi_cubin *cubin) {
    for (uint32_t i = 0; i < cubin->kernel_count; i++) {
        slw_code rc = count_params(cubin, &cubin->kernels[i]);
        if (rc != SLW_OK) return rc;
    }
    return SLW_OK;
}

/* ---- one kernel ---- */

typedef struct about {
    const slwi_cubin *cubin;
    const slwi_cubin_kernel *kernel;
    slw_kernel_contract *out;
    slw_param *params;
    uint32_t ordinals[ORDINAL_WORDS]; /* a bit each that was seen */
    uint32_t size_bytes;              /* of the parameter block, by CBANK_PARAM_SIZE */
    uint32_t bank_bytes;              /* the same by PARAM_CBANK */
    int has_size, has_bank;
} about;

static slw_code bad(const about *a, const char *reason, const slwi_cubin_record *record, const char *what) {
    return slwi_cubin_bad_kernel(a->cubin, a->kernel, reason, record->offset, what);
}

/* KPARAM_INFO: u32 (an index, of opaque parameters), u16 ordinal, u16 offset, u32: log2 of the pointee's alignment
   in bits 0-7, its address space in 8-11, 12-17 the bank, size in 18-31. V2 stands for every parameter of a kernel
   with large ones: size in 0-15, alignment in 16-23, space in 24-27 (as cuobjdump 13.5 reads it). */
static slw_code read_param(about *a, const slwi_cubin_record *record) {
    slw_code rc = expect(a->cubin, record, SLWI_CUBIN_SVAL, 12);
    if (rc != SLW_OK) return rc;
    uint32_t place = u32(record->payload, 4);
    uint32_t ordinal = place & 0xffffu;
    uint32_t offset = place >> 16;
    uint32_t word = u32(record->payload, 8);
    int is_short = record->attribute == KPARAM_INFO;
    uint32_t size = is_short ? word >> 18 : word & 0xffffu;
    uint32_t space = (is_short ? word >> 8 : word >> 24) & 0xfu;
    /* As many records as parameters, each ordinal below that and none twice: none is missing. */
    if (ordinal >= a->kernel->param_count)
        return bad(a, "BAD_PARAMETER", record, "the record of a parameter is missing");
    uint32_t bit = 1u << (ordinal % 32);
    if (a->ordinals[ordinal / 32] & bit) return bad(a, "DUPLICATE", record, "two records are about one parameter");
    a->ordinals[ordinal / 32] |= bit;
    if (size == 0 && offset == OFFSET_NOWHERE) offset = 0;
    slw_param *param = &a->params[ordinal];
    param->offset_bytes = offset;
    param->size_bytes = size;
    param->kind =
        space >= SPACE_FIRST && space <= SPACE_LAST && size == POINTER_BYTES ? SLW_PARAM_POINTER : SLW_PARAM_UNKNOWN;
    param->role = SLW_ROLE_CALLER; /* scratch is the metadata's to say */
    return SLW_OK;
}

/* Three dimensions: all of them or none. */
static slw_code read_triple(const about *a, const slwi_cubin_record *record, uint32_t out[3]) {
    slw_code rc = expect(a->cubin, record, SLWI_CUBIN_SVAL, 12);
    if (rc != SLW_OK) return rc;
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < 3; i++) {
        out[i] = u32(record->payload, (uint64_t)4 * i);
        if (out[i] == 0) zeros++;
    }
    if (zeros != 0 && zeros != 3) return bad(a, "BAD_INFO", record, "one of three dimensions is zero");
    return SLW_OK;
}

static slw_code read_registers(const about *a, const slwi_cubin_record *record) {
    slw_code rc = expect(a->cubin, record, SLWI_CUBIN_HVAL, 0);
    if (rc == SLW_OK) a->out->max_registers = record->value == NO_REGISTER_LIMIT ? 0 : record->value;
    return rc;
}

static slw_code read_record(about *a, const slwi_cubin_record *record) {
    uint32_t triple[3];
    slw_code rc;
    switch (record->attribute) {
    case KPARAM_INFO:
    case KPARAM_INFO_V2:
        return read_param(a, record);
    case CBANK_PARAM_SIZE:
        rc = expect(a->cubin, record, SLWI_CUBIN_HVAL, 0);
        a->size_bytes = record->value;
        a->has_size = 1;
        return rc;
    case PARAM_CBANK: /* u32 symbol of the bank, u16 where in it, u16 size */
        rc = expect(a->cubin, record, SLWI_CUBIN_SVAL, 8);
        a->bank_bytes = u32(record->payload, 4) >> 16;
        a->has_bank = 1;
        return rc;
    case MAX_THREADS: /* it bounds the product of the block's dimensions, as .maxntid does, not each of them */
        rc = read_triple(a, record, triple);
        if (rc == SLW_OK) a->out->max_threads = slwi_contract_product(triple);
        return rc;
    case REQNTID:
        return read_triple(a, record, a->out->required_threads);
    case CTA_PER_CLUSTER:
        return read_triple(a, record, a->out->cluster);
    case MAX_CLUSTER_RANK:
        rc = expect(a->cubin, record, SLWI_CUBIN_SVAL, 4);
        a->out->max_cluster_rank = u32(record->payload, 0);
        return rc;
    case BLOCKS_ARE_CLUSTERS:
        rc = expect(a->cubin, record, SLWI_CUBIN_NVAL, 0);
        a->out->grid_unit = SLW_GRID_CLUSTERS;
        return rc;
    case MAXREG_COUNT:
        return read_registers(a, record);
    case EXTERNS:
        return add_externs(a->cubin, record, &a->out->needs);
    default:
        return SLW_OK;
    }
}

/* The parameter block, said twice, holds every parameter. */
static slw_code check_params(const about *a) {
    const slwi_cubin *cubin = a->cubin;
    uint64_t at = cubin->places[a->kernel->section].info_offset;
    if (!a->has_size && !a->has_bank && a->kernel->param_count != 0) {
        return slwi_cubin_missing(cubin, a->kernel, "CBANK_PARAM_SIZE");
    }
    if (a->has_size && a->has_bank && a->size_bytes != a->bank_bytes) {
        return slwi_cubin_bad_kernel(cubin, a->kernel, "BAD_PARAMETER", at, "two sizes of the parameters are said");
    }
    uint32_t size = a->has_size ? a->size_bytes : a->bank_bytes;
    if (size > SLW_LIMIT_PARAM_BYTES) {
        slwi_error_kernel(cubin->err, a->kernel->name.data, NULL);
        slwi_error_amount(cubin->err, "parameter bytes", size, SLW_LIMIT_PARAM_BYTES, "bytes");
        return slwi_fail(cubin->err, SLW_E_LIMIT, "PARAMETERS_TOO_LARGE",
                         "the parameters are larger than a launch takes");
    }
    if (size != 0 && a->kernel->param_count == 0) return slwi_cubin_missing(cubin, a->kernel, "KPARAM_INFO");
    for (uint32_t p = 0; p < a->kernel->param_count; p++) {
        uint64_t end = (uint64_t)a->params[p].offset_bytes + a->params[p].size_bytes;
        if (end > size) {
            return slwi_cubin_bad_kernel(cubin, a->kernel, "BAD_PARAMETER", at,
                                         "a parameter lies outside the parameter block");
        }
    }
    a->out->param_bytes = size;
    return SLW_OK;
}

slw_code slwi_cubin_read_kernel_info(const slwi_cubin *cubin, const slwi_cubin_kernel *kernel, slw_kernel_contract *out,
                                     slw_param *params) {
    const slwi_cubin_place *place = &cubin->places[kernel->section];
    slwi_cubin_walk walk = {place->info, 0, place->info_offset};
    slwi_cubin_record record;
    about a;
    memset(&a, 0, sizeof(a));
    a.cubin = cubin;
    a.kernel = kernel;
    a.out = out;
    a.params = params;
    slw_code rc;
    while ((rc = slwi_cubin_next_record(&cubin->elf, &walk, &record, cubin->err)) == SLW_OK) {
        rc = read_record(&a, &record);
        if (rc != SLW_OK) return rc;
    }
    if (rc != SLW_E_MISS) return rc;
    out->cluster_required = out->cluster[0] != 0;
    return check_params(&a);
}
