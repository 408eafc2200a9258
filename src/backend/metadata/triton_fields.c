/* X.json to a struct. Types are strict: true is no number, 4.0 is no count, and a field that is there has a value. */
#include <stddef.h>
#include <string.h>

#include <slipway/limits.h>

#include "fail.h"
#include "text.h"
#include "triton_metadata.h"

#define VERSION_NEWEST UINT32_MAX

typedef enum value_kind {
    VALUE_TEXT,      /* const char * */
    VALUE_COUNT,     /* uint32_t, 1 or more */
    VALUE_SIZE,      /* uint32_t */
    VALUE_BYTES,     /* uint64_t; null is 0 */
    VALUE_ALIGNMENT, /* uint32_t, a power of two; null is 0 */
    VALUE_FLAG       /* uint32_t, 0 or 1 */
} value_kind;

typedef struct value_field {
    const char *name;
    const char *member; /* of the object `name` stands for; NULL: at the top */
    value_kind kind;
    int required;
    size_t offset;
} value_field;

#define FIELD(name) offsetof(slwi_triton_metadata, name)

static const value_field value_fields[] = {
    {"target.backend", "backend", VALUE_TEXT, 1, FIELD(backend)},
    {"target.warp_size", "warp_size", VALUE_COUNT, 1, FIELD(warp_size)},
    {"name", NULL, VALUE_TEXT, 1, FIELD(name)},
    {"num_warps", NULL, VALUE_COUNT, 1, FIELD(num_warps)},
    {"num_ctas", NULL, VALUE_COUNT, 1, FIELD(num_ctas)},
    {"warp_size", NULL, VALUE_COUNT, 0, FIELD(warp_size_again)},
    {"shared", NULL, VALUE_SIZE, 1, FIELD(shared_bytes)},
    {"tmem_size", NULL, VALUE_SIZE, 0, FIELD(tensor_memory_columns)},
    {"global_scratch_size", NULL, VALUE_BYTES, 0, FIELD(global_scratch_bytes)},
    {"global_scratch_align", NULL, VALUE_ALIGNMENT, 0, FIELD(global_scratch_alignment_bytes)},
    {"profile_scratch_size", NULL, VALUE_BYTES, 0, FIELD(profile_scratch_bytes)},
    {"profile_scratch_align", NULL, VALUE_ALIGNMENT, 0, FIELD(profile_scratch_alignment_bytes)},
    {"launch_cooperative_grid", NULL, VALUE_FLAG, 0, FIELD(cooperative)},
    {"launch_pdl", NULL, VALUE_FLAG, 0, FIELD(programmatic_launch)},
};

static slw_code refuse(slw_error *err, const char *field, const char *reason, const char *what) {
    slwi_error_subject(err, field, strlen(field));
    return slwi_fail(err, SLW_E_INVALID_METADATA, reason, "Triton's %s %s", field, what);
}

/* Text of a bounded size without a NUL, UTF-8. */
static int read_text(const slwi_json *node, const char **out) {
    slw_bytes text;
    size_t at = 0;
    uint32_t code_point = 0;
    if (!slwi_json_string(node, &text)) return 0;
    if (text.size == 0 || text.size > SLW_LIMIT_NAME_BYTES || memchr(text.data, 0, text.size) != NULL) return 0;
    while (at < text.size) {
        if (!slwi_utf8_next(text, &at, &code_point)) return 0;
    }
    *out = text.data;
    return 1;
}

static int is_power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* NULL, or what is wrong with it. */
static const char *read_number(const slwi_json *node, value_kind kind, uint32_t *out) {
    int flag = 0;
    if (kind == VALUE_FLAG) {
        if (!slwi_json_bool(node, &flag)) return "is neither true nor false";
        *out = flag != 0;
        return NULL;
    }
    if (kind == VALUE_ALIGNMENT && slwi_json_kind(node) == SLWI_JSON_NULL) {
        *out = 0;
        return NULL;
    }
    uint32_t value = 0;
    if (!slwi_json_u32(node, &value)) return "is not a whole number from 0 to 4294967295";
    if (kind == VALUE_COUNT && value == 0) return "is 0";
    if (kind == VALUE_ALIGNMENT && !is_power_of_two(value)) return "is not a power of two";
    *out = value;
    return NULL;
}

static const char *read_value(const slwi_json *node, value_kind kind, void *at) {
    const char *text = NULL;
    uint32_t number = 0;
    int64_t bytes = 0;
    if (kind == VALUE_TEXT) {
        if (!read_text(node, &text)) return "is not text, or too long, or empty, or holds a NUL";
        memcpy(at, &text, sizeof text);
        return NULL;
    }
    if (kind == VALUE_BYTES) {
        /* Triton's own numbers are signed: more than that is a mistake. */
        const int is_null = slwi_json_kind(node) == SLWI_JSON_NULL;
        if (!is_null && (!slwi_json_i64(node, &bytes) || bytes < 0)) return "is not a whole number of bytes";
        const uint64_t size = (uint64_t)bytes;
        memcpy(at, &size, sizeof size);
        return NULL;
    }
    const char *wrong = read_number(node, kind, &number);
    if (wrong == NULL) memcpy(at, &number, sizeof number);
    return wrong;
}

static slw_code read_values(const slwi_json *root, const slwi_json *target, slwi_triton_metadata *out, slw_error *err) {
    for (size_t i = 0; i < sizeof value_fields / sizeof value_fields[0]; i++) {
        const value_field *field = &value_fields[i];
        const slwi_json *node =
            field->member != NULL ? slwi_json_get(target, field->member) : slwi_json_get(root, field->name);
        if (node == NULL && field->required) return refuse(err, field->name, "MISSING_FIELD", "is missing");
        if (node == NULL) continue;
        const char *wrong = read_value(node, field->kind, (char *)out + field->offset);
        if (wrong != NULL) return refuse(err, field->name, "BAD_VALUE", wrong);
    }
    return SLW_OK;
}

/* A number for cuda, a name for hip; another vendor's may be either. */
static slw_code read_arch(const slwi_json *target, slwi_triton_metadata *out, slw_error *err) {
    static const char field[] = "target.arch";
    const slwi_json *node = slwi_json_get(target, "arch");
    if (node == NULL) return refuse(err, field, "MISSING_FIELD", "is missing");
    const int is_cuda = strcmp(out->backend, "cuda") == 0;
    const int is_hip = strcmp(out->backend, "hip") == 0;
    if (!is_hip && slwi_json_u32(node, &out->arch_number) && out->arch_number != 0) return SLW_OK;
    if (!is_cuda && read_text(node, &out->arch_name)) return SLW_OK;
    return refuse(err, field, "BAD_VALUE",
                  is_cuda  ? "is not a number such as 90"
                  : is_hip ? "is not a name such as gfx942"
                           : "is neither a number nor a name");
}

static slw_code read_cluster_dims(const slwi_json *root, slwi_triton_metadata *out, slw_error *err) {
    static const char field[] = "cluster_dims";
    const slwi_json *node = slwi_json_get(root, field);
    if (node == NULL) return SLW_OK;
    if (slwi_json_kind(node) != SLWI_JSON_ARRAY || slwi_json_length(node) != 3)
        return refuse(err, field, "BAD_VALUE", "is not an array of three");
    for (size_t i = 0; i < 3; i++) {
        const char *wrong = read_number(slwi_json_item(node, i), VALUE_COUNT, &out->cluster_dims[i]);
        if (wrong != NULL) return refuse(err, field, "BAD_VALUE", "holds something else than a number from 1");
    }
    return SLW_OK;
}

/* "3.9.0", "3.6.0+git1a2b": the first two numbers. What does not start so is taken for newer than all known. */
static uint32_t parse_version(const char *text) {
    uint32_t numbers[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int digits = 0;
        for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
            numbers[i] = numbers[i] * 10 + (uint32_t)(*text - '0');
        if (digits == 0 || (i == 0 && *text++ != '.')) return VERSION_NEWEST;
    }
    return numbers[1] < 100 ? numbers[0] * 100 + numbers[1] : VERSION_NEWEST;
}

static slw_code read_version(const slwi_json *root, slwi_triton_metadata *out, slw_error *err) {
    static const char field[] = "triton_version";
    const slwi_json *node = slwi_json_get(root, field);
    const char *text = NULL;
    out->version = 302;
    if (node == NULL) return SLW_OK;
    if (!read_text(node, &text)) return refuse(err, field, "BAD_VALUE", "is not text");
    out->version = parse_version(text);
    return SLW_OK;
}

/* How many of the last parameters are scratch: none in 3.2, global scratch since 3.3, and profile scratch behind it
   since 3.5 or 3.6. The metadata names what there is, but for hip, which says nothing of the first before 3.9 and of
   the second before 3.6. A version that always writes a field must have it: guessed wrong, a scratch pointer would
   be taken for one of the caller's arguments. */
static slw_code count_scratch_params(const slwi_json *root, slwi_triton_metadata *out, slw_error *err) {
    const int has_global = slwi_json_get(root, "global_scratch_size") != NULL;
    const int has_profile = slwi_json_get(root, "profile_scratch_size") != NULL;
    const int is_cuda = strcmp(out->backend, "cuda") == 0;
    if (!has_global && out->version >= (is_cuda ? 303u : 309u))
        return refuse(err, "global_scratch_size", "MISSING_FIELD", "is missing");
    if (!has_profile && out->version >= 306) return refuse(err, "profile_scratch_size", "MISSING_FIELD", "is missing");
    if (has_profile)
        out->scratch_params = 2;
    else if (has_global)
        out->scratch_params = 1;
    else
        out->scratch_params = out->version >= 305 ? 2 : out->version >= 303 ? 1 : 0;
    return SLW_OK;
}

int slwi_triton_recognises(const slwi_json *root) {
    static const char *const always[] = {"hash", "target", "name", "num_warps", "num_ctas", "shared"};
    size_t found = 0;
    if (root == NULL || slwi_json_kind(root) != SLWI_JSON_OBJECT) return 0;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) found += slwi_json_get(root, always[i]) != NULL;
    return found >= 3;
}

slw_code slwi_triton_read(const slwi_json *root, slwi_triton_metadata *out, slw_error *err) {
    slwi_triton_metadata read;
    memset(&read, 0, sizeof read);
    read.name = "";
    read.backend = "";
    const slwi_json *target = slwi_json_get(root, "target");
    if (target == NULL) return refuse(err, "target", "MISSING_FIELD", "is missing");
    if (slwi_json_kind(target) != SLWI_JSON_OBJECT) return refuse(err, "target", "BAD_VALUE", "is not an object");
    slw_code rc = read_values(root, target, &read, err);
    if (rc == SLW_OK) rc = read_arch(target, &read, err);
    if (rc == SLW_OK) rc = read_cluster_dims(root, &read, err);
    if (rc == SLW_OK) rc = read_version(root, &read, err);
    if (rc == SLW_OK) rc = count_scratch_params(root, &read, err);
    if (rc == SLW_OK) *out = read;
    return rc;
}
