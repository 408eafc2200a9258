/* Contracts in memory and as JSON: what is written reads back, and nothing else is accepted. */
#include <slipway/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "contract_fields.h"
#include "memory.h"
#include "slt.h"

#define SCHEMA "2" /* SLW_CONTRACT_SCHEMA as text */

static slw_allocator allocator = SLW_ALLOCATOR_INIT;

static const slw_param params[3] = {
    {"x", 0, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
    {NULL, 8, 4, 4, SLW_PARAM_UNKNOWN, SLW_ROLE_HIDDEN},
    {"scratch", 16, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_GLOBAL_SCRATCH},
};

/* A contract in which every field has a value of its own. */
static void fill(slw_contract *contract, slw_kernel_contract *kernels) {
    memset(contract, 0, sizeof(*contract));
    memset(kernels, 0, 2 * sizeof(*kernels));
    slw_kernel_contract *k = &kernels[0];
    k->name = "alpha";
    k->params = params;
    k->param_count = 3;
    k->param_bytes = 24;
    k->registers = 101;
    k->local_bytes = 102;
    k->static_shared_bytes = 103;
    k->dynamic_shared_bytes = 104;
    k->reserved_shared_bytes = 1024;
    k->max_threads = 105;
    k->required_threads[1] = 106;
    k->max_block[2] = 107;
    k->min_blocks = 108;
    k->max_registers = 109;
    k->cluster[0] = 110;
    k->cluster_required = 1;
    k->max_cluster_rank = 111;
    k->grid_unit = SLW_GRID_PROGRAMS_BY_CTAS;
    k->ctas = 2;
    k->cooperative = 1;
    k->warps = 112;
    k->warp_threads = 32;
    k->global_scratch_bytes = UINT64_MAX;
    k->global_scratch_alignment_bytes = 128;
    k->profile_scratch_bytes = 113;
    k->profile_scratch_alignment_bytes = 8;
    k->tensor_memory_columns = 114;
    k->needs = SLW_NEEDS_PRINTF | SLW_NEEDS_GLOBALS;
    k->scalar_registers = 115;
    k->accumulation_registers = 116;
    k->programmatic_launch = 1;
    kernels[1].name = "beta";
    kernels[1].ctas = 1;
    contract->schema = SLW_CONTRACT_SCHEMA;
    contract->reader_revision = 7;
    contract->backend = "cuda";
    contract->target = "sm_90a";
    contract->launch_binary = "kernel.cubin";
    contract->kind = SLW_IMAGE_PTX;
    contract->isa_version = "9.0";
    contract->kernels = kernels;
    contract->kernel_count = 2;
}

static void write_contract(const slw_contract *contract, slwi_buffer *out) {
    slwi_json_writer writer;
    slwi_buffer_init(out, &allocator, SIZE_MAX);
    slwi_json_begin(&writer, out, 1);
    slwi_contract_write(contract, &writer);
    ck_assert_int_eq(out->failed, 0);
}

static slw_code read_contract(const char *text, size_t size, slw_contract **out, slw_error *err) {
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slwi_json_document *document = NULL;
    slw_code rc = slwi_json_parse(&allocator, (slw_bytes){text, size}, &limits, &document, err);
    if (rc != SLW_OK) return rc;
    rc = slwi_contract_read(&allocator, slwi_json_root(document), out, err);
    slwi_json_free(&document);
    return rc;
}

START_TEST(every_field_survives) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract contract;
    slw_kernel_contract kernels[2];
    slwi_buffer text;
    slwi_buffer again;
    slw_contract *back = NULL;
    fill(&contract, kernels);
    write_contract(&contract, &text);
    slt_ok(read_contract(text.data, text.size, &back, &err), &err);
    slt_ok(slwi_contract_compare(&contract, back, &err), &err);
    write_contract(back, &again);
    ck_assert_uint_eq(text.size, again.size);
    ck_assert_mem_eq(text.data, again.data, text.size);
    ck_assert_uint_eq(back->kernels[0].global_scratch_bytes, UINT64_MAX);
    ck_assert_ptr_null(back->kernels[0].params[1].name);
    ck_assert_str_eq(back->isa_version, "9.0");
    ck_assert_ptr_ne(back->isa_version, contract.isa_version); /* its own text */
    ck_assert_int_eq(back->kind, SLW_IMAGE_PTX);
    ck_assert_uint_eq(back->kernels[0].scalar_registers, 115);
    ck_assert_uint_eq(back->kernels[0].accumulation_registers, 116);
    ck_assert_uint_eq(back->kernels[0].programmatic_launch, 1);
    ck_assert_uint_lt(slwi_contract_overhead_bytes(back), 1024);
    ck_assert_uint_ge(slwi_contract_overhead_bytes(back), sizeof(contract) + 2 * sizeof(*kernels) + sizeof(params));
    slwi_contract_free(&allocator, &back);
    ck_assert_ptr_null(back);
    slwi_contract_free(&allocator, &back);
    slwi_buffer_free(&text);
    slwi_buffer_free(&again);
}
END_TEST

START_TEST(find_by_name) {
    slw_contract contract;
    slw_kernel_contract kernels[2];
    fill(&contract, kernels);
    ck_assert_ptr_eq(slw_contract_find(&contract, "alpha"), &kernels[0]);
    ck_assert_ptr_eq(slw_contract_find(&contract, "beta"), &kernels[1]);
    ck_assert_ptr_null(slw_contract_find(&contract, "gamma"));
    ck_assert_ptr_null(slw_contract_find(&contract, ""));
    ck_assert_ptr_null(slw_contract_find(&contract, NULL)); /* two of them */
    contract.kernel_count = 1;
    ck_assert_ptr_eq(slw_contract_find(&contract, NULL), &kernels[0]);
    ck_assert_ptr_null(slw_contract_find(NULL, "alpha"));
}
END_TEST

/* Each field of each table, changed alone, is found and named. */
START_TEST(every_difference_is_named) {
    slw_contract one;
    slw_contract two;
    slw_kernel_contract kernels_one[2];
    slw_kernel_contract kernels_two[2];
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        slw_error err = SLW_ERROR_INIT;
        fill(&one, kernels_one);
        fill(&two, kernels_two);
        if (field->kind == SLWI_FIELD_LIST) {
            kernels_two[0].param_count = 2;
        } else if (field->kind == SLWI_FIELD_TEXT) {
            kernels_two[0].name = "alpha2";
        } else {
            ((unsigned char *)&kernels_two[0])[field->offset] ^= 4u;
        }
        ck_assert_int_eq(slwi_contract_compare(&one, &two, &err), SLW_E_CONTRACT_MISMATCH);
        ck_assert_str_eq(err.subject, field->name);
        ck_assert_str_eq(err.kernel, "alpha");
        ck_assert_ptr_nonnull(strstr(err.message, field->name));
    }
    for (const slwi_field *field = slwi_param_fields; field->name != NULL; field++) {
        slw_error err = SLW_ERROR_INIT;
        slw_param changed[3];
        fill(&one, kernels_one);
        fill(&two, kernels_two);
        memcpy(changed, params, sizeof(changed));
        kernels_two[0].params = changed;
        if (field->kind == SLWI_FIELD_NAME) {
            changed[1].name = "y";
        } else {
            ((unsigned char *)&changed[1])[field->offset] ^= 1u;
        }
        ck_assert_int_eq(slwi_contract_compare(&one, &two, &err), SLW_E_CONTRACT_MISMATCH);
        ck_assert_str_eq(err.subject, field->name);
    }
    for (const slwi_field *field = slwi_contract_fields; field->name != NULL; field++) {
        static const char *const other = "other";
        slw_error err = SLW_ERROR_INIT;
        fill(&one, kernels_one);
        fill(&two, kernels_two);
        if (field->kind == SLWI_FIELD_LIST) continue;
        if (field->kind == SLWI_FIELD_TEXT || field->kind == SLWI_FIELD_NAME) {
            memcpy((char *)&two + field->offset, &other, sizeof(other));
        } else {
            ((unsigned char *)&two)[field->offset] ^= 1u;
        }
        ck_assert_int_eq(slwi_contract_compare(&one, &two, &err), SLW_E_CONTRACT_MISMATCH);
        ck_assert_str_eq(err.subject, field->name);
        ck_assert_str_eq(err.kernel, "");
    }
    slw_error null = SLW_ERROR_INIT;
    fill(&one, kernels_one);
    fill(&two, kernels_two);
    two.isa_version = NULL;
    ck_assert_int_eq(slwi_contract_compare(&one, &two, &null), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(null.subject, "isa_version");
    one.isa_version = NULL;
    slt_ok(slwi_contract_compare(&one, &two, &null), &null);
    fill(&one, kernels_one);
    slw_error less = SLW_ERROR_INIT;
    fill(&two, kernels_two);
    two.kernel_count = 1;
    ck_assert_int_eq(slwi_contract_compare(&one, &two, &less), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(less.kernel, "beta");
}
END_TEST

/* What metadata said and the binary is silent on is no difference; the other way round it is. */
START_TEST(silence_is_no_difference) {
    uint32_t silent = 0;
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        slw_contract one;
        slw_contract two;
        slw_kernel_contract kernels_one[2];
        slw_kernel_contract kernels_two[2];
        slw_error err = SLW_ERROR_INIT;
        slw_error back = SLW_ERROR_INIT;
        if (field->kind == SLWI_FIELD_LIST || field->kind == SLWI_FIELD_TEXT) continue;
        fill(&one, kernels_one);
        fill(&two, kernels_two);
        memset((char *)&kernels_two[0] + field->offset, 0, slwi_field_size(field->kind));
        if (strcmp(field->name, "ctas") == 0) kernels_two[0].ctas = 1;
        const int may = field->origin == SLWI_ORIGIN_METADATA;
        silent += may;
        ck_assert_int_eq(slwi_field_is_silent(&kernels_one[0], field), 0);
        ck_assert_int_eq(slwi_field_is_silent(&kernels_two[0], field), may);
        ck_assert_int_eq(slwi_contract_compare(&one, &two, &err), may ? SLW_OK : SLW_E_CONTRACT_MISMATCH);
        ck_assert_int_eq(slwi_contract_compare(&two, &one, &back), SLW_E_CONTRACT_MISMATCH);
        ck_assert_str_eq(back.subject, field->name);
    }
    ck_assert_uint_eq(silent, 13);
    slw_contract one;
    slw_contract two;
    slw_kernel_contract kernels_one[2];
    slw_kernel_contract kernels_two[2];
    slw_param changed[3];
    slw_error err = SLW_ERROR_INIT;
    fill(&one, kernels_one);
    fill(&two, kernels_two);
    memcpy(changed, params, sizeof(changed));
    kernels_two[0].params = changed;
    changed[2].role = SLW_ROLE_CALLER; /* scratch: a binary does not say so */
    slt_ok(slwi_contract_compare(&one, &two, &err), &err);
    changed[1].role = SLW_ROLE_CALLER; /* hidden: it does */
    ck_assert_int_eq(slwi_contract_compare(&one, &two, &err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(err.subject, "role");
}
END_TEST

/* What the binary says is derived anew, what metadata said is kept. */
START_TEST(renewed) {
    slw_contract stored;
    slw_contract derived;
    slw_kernel_contract was[2];
    slw_kernel_contract is[2];
    slw_param plain[3];
    slw_contract *out = NULL;
    slw_error err = SLW_ERROR_INIT;
    fill(&stored, was);
    fill(&derived, is);
    memcpy(plain, params, sizeof(plain));
    plain[2].role = SLW_ROLE_CALLER;
    for (const slwi_field *field = slwi_kernel_fields; field->name != NULL; field++) {
        if (field->origin == SLWI_ORIGIN_METADATA)
            memset((char *)&is[0] + field->offset, 0, slwi_field_size(field->kind));
    }
    is[0].ctas = 1;
    is[0].params = plain;
    slt_ok(slwi_contract_renew(&allocator, &stored, &derived, &out, &err), &err);
    slt_ok(slwi_contract_compare(&stored, out, &err), &err);
    slt_ok(slwi_contract_compare(out, &stored, &err), &err); /* so they are equal */
    slwi_contract_free(&allocator, &out);

    is[0].registers = 64; /* of one revision: a contradiction */
    ck_assert_int_eq(slwi_contract_renew(&allocator, &stored, &derived, &out, &err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(err.subject, "registers");
    ck_assert_ptr_null(out);
    derived.reader_revision = 8; /* a corrected reader */
    is[0].warp_threads = 64;     /* which is not silent on this */
    slw_error fresh = SLW_ERROR_INIT;
    slt_ok(slwi_contract_renew(&allocator, &stored, &derived, &out, &fresh), &fresh);
    ck_assert_uint_eq(out->reader_revision, 8);
    ck_assert_uint_eq(out->kernels[0].registers, 64);
    ck_assert_uint_eq(out->kernels[0].warp_threads, 64);
    ck_assert_uint_eq(out->kernels[0].dynamic_shared_bytes, 104);
    ck_assert_uint_eq(out->kernels[0].ctas, 2);
    ck_assert_int_eq(out->kernels[0].params[2].role, SLW_ROLE_GLOBAL_SCRATCH);
    slwi_contract_free(&allocator, &out);

    is[0].param_count = 2; /* the scratch parameter is gone */
    ck_assert_int_eq(slwi_contract_renew(&allocator, &stored, &derived, &out, &fresh), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(fresh.subject, "params");
    slw_error name = SLW_ERROR_INIT;
    is[0].name = "aleph";
    ck_assert_int_eq(slwi_contract_renew(&allocator, &stored, &derived, &out, &name), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(name.subject, "name");
    ck_assert_str_eq(name.kernel, "alpha");
    slw_error backend = SLW_ERROR_INIT;
    derived.backend = "hip";
    ck_assert_int_eq(slwi_contract_renew(&allocator, &stored, &derived, &out, &backend), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(backend.subject, "backend");
    ck_assert_ptr_null(out);
}
END_TEST

/* `from` in the canonical text replaced by `to` must be refused with the field as subject. */
static void refuse(const char *from, const char *to, const char *subject) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract contract;
    slw_kernel_contract kernels[2];
    slwi_buffer text;
    slw_contract *back = NULL;
    fill(&contract, kernels);
    write_contract(&contract, &text);
    char *at = strstr(text.data, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, text.data);
    char changed[8192];
    int size = snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text.data), text.data, to, at + strlen(from));
    ck_assert_int_eq(read_contract(changed, (size_t)size, &back, &err), SLW_E_INVALID_METADATA);
    ck_assert_ptr_null(back);
    ck_assert_str_eq(err.subject, subject);
    slwi_buffer_free(&text);
}

START_TEST(what_is_refused) {
    refuse("\"registers\":101,", "", "registers");
    refuse("\"registers\":101", "\"registers\":-1", "registers");
    refuse("\"registers\":101", "\"registers\":4294967296", "registers");
    refuse("\"registers\":101", "\"registers\":1.0", "registers");
    refuse("\"registers\":101", "\"registers\":\"101\"", "registers");
    refuse("\"registers\":101", "\"registers\":true", "registers");
    refuse("\"registers\":101", "\"registers\":101,\"regs\":1", "kernels");
    refuse("\"cooperative\":true", "\"cooperative\":1", "cooperative");
    refuse("\"grid_unit\":\"programs_by_ctas\"", "\"grid_unit\":\"programs\"", "grid_unit");
    refuse("[\"printf\",\"globals\"]", "[\"globals\",\"printf\"]", "needs");
    refuse("[\"printf\",\"globals\"]", "[\"printf\",\"printf\"]", "needs");
    refuse("[\"printf\",\"globals\"]", "[\"other\"]", "needs");
    refuse("\"cluster\":[110,0,0]", "\"cluster\":[110,0]", "cluster");
    refuse("\"cluster\":[110,0,0]", "\"cluster\":[110,0,null]", "cluster");
    refuse("\"name\":\"alpha\"", "\"name\":null", "name");
    refuse("\"name\":\"alpha\"", "\"name\":\"\"", "name");
    refuse("\"name\":\"alpha\"", "\"name\":\"a\\u0000b\"", "name");
    refuse("\"name\":\"alpha\"", "\"name\":\"beta\"", "kernels");
    refuse("\"name\":\"alpha\"", "\"name\":\"gamma\"", "kernels");
    refuse("\"ctas\":2", "\"ctas\":0", "ctas");
    refuse("\"offset_bytes\":16", "\"offset_bytes\":17", "offset_bytes");
    refuse("\"offset_bytes\":16", "\"offset_bytes\":4294967295", "offset_bytes");
    refuse("\"alignment_bytes\":4", "\"alignment_bytes\":3", "alignment_bytes");
    refuse("\"alignment_bytes\":4", "\"alignment_bytes\":0", "alignment_bytes");
    refuse("\"kind\":\"pointer\"", "\"kind\":\"Pointer\"", "kind");
    refuse("\"role\":\"hidden\"", "\"role\":3", "role");
    refuse("\"schema\":" SCHEMA, "\"schema\":" SCHEMA "0", "schema");
    refuse("\"schema\":" SCHEMA, "\"schema\":0", "schema");
    refuse("\"schema\":" SCHEMA, "\"schema\":true", "schema");
    refuse("\"schema\":" SCHEMA, "\"schema\":-1", "schema");
    refuse("\"schema\":" SCHEMA ",", "", "schema");
    refuse("\"kind\":\"ptx\"", "\"kind\":\"PTX\"", "kind");
    refuse("\"kind\":\"ptx\"", "\"kind\":3", "kind");
    refuse("\"isa_version\":\"9.0\"", "\"isa_version\":9.0", "isa_version");
    refuse("\"isa_version\":\"9.0\"", "\"isa_version\":\"\"", "isa_version");
    refuse("\"isa_version\":\"9.0\",", "", "isa_version");
    refuse("\"programmatic_launch\":true", "\"programmatic_launch\":1", "programmatic_launch");
    refuse("\"programmatic_launch\":true,", "", "programmatic_launch");
    refuse("\"scalar_registers\":115,", "", "scalar_registers");
    refuse("\"accumulation_registers\":116", "\"accumulation_registers\":null", "accumulation_registers");
    refuse("\"backend\":\"cuda\",", "", "backend");
    refuse("\"backend\":\"cuda\",", "\"backend\":\"cuda\",\"more\":0,", "contract");
    refuse("\"target\":\"sm_90a\"", "\"target\":[]", "target");
}
END_TEST

/* Found by fuzz_contract_json: it was read as three bytes that are written as three surrogates. */
START_TEST(lone_surrogates_are_refused) {
    static const slwi_json_limits limits = {SLW_LIMIT_JSON_BYTES, 64, SLW_LIMIT_JSON_VALUES, 1};
    slw_contract contract;
    slw_kernel_contract kernels[2];
    slw_error err = SLW_ERROR_INIT;
    slwi_buffer text;
    fill(&contract, kernels);
    contract.launch_binary = "kernel\xff.cubin"; /* written as \udcff */
    write_contract(&contract, &text);
    slwi_json_document *document = NULL;
    slw_contract *read = NULL;
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text.data, text.size}, &limits, &document, &err), &err);
    ck_assert_int_eq(slwi_contract_read(&allocator, slwi_json_root(document), &read, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.subject, "launch_binary");
    ck_assert_ptr_null(read);
    slwi_json_free(&document);
    slwi_buffer_free(&text);
}
END_TEST

START_TEST(counts_are_bounded) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *back = NULL;
    static const char empty[] = "{\"backend\":\"host\",\"isa_version\":null,\"kernels\":[],\"kind\":\"host\","
                                "\"launch_binary\":\"k\",\"reader_revision\":1,\"schema\":" SCHEMA ",\"target\":\"t\"}";
    ck_assert_int_eq(read_contract(empty, sizeof(empty) - 1, &back, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.reason, "NO_ENTRY");
    slwi_buffer text;
    slwi_buffer_init(&text, &allocator, SIZE_MAX);
    slwi_buffer_append_text(&text, "{\"backend\":\"host\",\"isa_version\":null,\"kernels\":[0");
    for (uint32_t i = 0; i < SLW_LIMIT_KERNELS; i++) slwi_buffer_append_text(&text, ",0");
    slwi_buffer_append_text(&text,
                            "],\"kind\":\"host\",\"launch_binary\":\"k\",\"reader_revision\":1,\"schema\":" SCHEMA
                            ",\"target\":\"t\"}");
    slw_error many = SLW_ERROR_INIT;
    ck_assert_int_eq(read_contract(text.data, text.size, &back, &many), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(many.reason, "TOO_MANY");
    slwi_buffer_free(&text);
    slw_error kind = SLW_ERROR_INIT;
    ck_assert_int_eq(read_contract("[]", 2, &back, &kind), SLW_E_INVALID_METADATA);
    ck_assert_ptr_null(back);
}
END_TEST

/* As many kernels as a binary may have, and the longest name, there and back. */
START_TEST(the_largest_contract) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract contract;
    slw_kernel_contract two[2];
    fill(&contract, two);
    const uint32_t count = SLW_LIMIT_KERNELS;
    slw_kernel_contract *kernels = calloc(count, sizeof(*kernels));
    char *names = malloc((size_t)count * 8);
    char *longest = malloc(SLW_LIMIT_NAME_BYTES + 2);
    ck_assert(kernels != NULL && names != NULL && longest != NULL);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names + (size_t)i * 8, 8, "k%05u", i);
        kernels[i].name = names + (size_t)i * 8;
        kernels[i].ctas = 1;
        kernels[i].registers = i;
    }
    memset(longest, 'z', SLW_LIMIT_NAME_BYTES + 1);
    longest[SLW_LIMIT_NAME_BYTES] = '\0';
    kernels[count - 1].name = longest;
    contract.kernels = kernels;
    contract.kernel_count = count;
    contract.isa_version = NULL;
    slwi_buffer text;
    write_contract(&contract, &text);
    const slwi_json_limits wide = {SIZE_MAX, 64, SIZE_MAX, 0};
    slwi_json_document *document = NULL;
    slw_contract *back = NULL;
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text.data, text.size}, &wide, &document, &err), &err);
    slt_ok(slwi_contract_read(&allocator, slwi_json_root(document), &back, &err), &err);
    slwi_json_free(&document);
    slt_ok(slwi_contract_compare(&contract, back, &err), &err);
    ck_assert_ptr_null(back->isa_version);
    ck_assert_ptr_nonnull(slw_contract_find(back, longest));
    ck_assert_uint_eq(slw_contract_find(back, "k40000")->registers, 40000);
    slwi_contract_free(&allocator, &back);
    slwi_buffer_free(&text);

    longest[SLW_LIMIT_NAME_BYTES] = 'z'; /* one byte more */
    longest[SLW_LIMIT_NAME_BYTES + 1] = '\0';
    contract.kernels = kernels + count - 1;
    contract.kernel_count = 1;
    write_contract(&contract, &text);
    ck_assert_int_eq(read_contract(text.data, text.size, &back, &err), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(err.subject, "name");
    slwi_buffer_free(&text);
    free(kernels);
    free(names);
    free(longest);
}
END_TEST

/* ---- the n-th allocation fails ---- */

typedef struct countdown {
    long left;
    long live;
} countdown;
static void *count_allocate(void *context, size_t size) {
    countdown *c = context;
    if (c->left-- == 0) return NULL;
    c->live++;
    return malloc(size);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    countdown *c = context;
    if (c->left-- == 0) return NULL;
    if (pointer == NULL) c->live++;
    return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
    countdown *c = context;
    c->live--;
    free(pointer);
}

START_TEST(every_allocation_may_fail) {
    slw_contract contract;
    slw_kernel_contract kernels[2];
    slwi_buffer text;
    fill(&contract, kernels);
    write_contract(&contract, &text);
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slwi_json_document *document = NULL;
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text.data, text.size}, &limits, &document, &err), &err);
    slw_code rc = SLW_E_NO_MEMORY;
    int failures = 0;
    for (long n = 0; rc != SLW_OK; n++) {
        countdown count = {n, 0};
        slw_allocator counting = {&count, count_allocate, count_reallocate, count_release};
        slw_contract *back = NULL;
        slw_contract *renewed_one = NULL;
        slw_error again = SLW_ERROR_INIT;
        rc = slwi_contract_read(&counting, slwi_json_root(document), &back, &again);
        ck_assert(rc == SLW_OK || (rc == SLW_E_NO_MEMORY && back == NULL));
        if (rc == SLW_OK) rc = slwi_contract_renew(&counting, back, &contract, &renewed_one, &again);
        ck_assert(rc == SLW_OK || (rc == SLW_E_NO_MEMORY && renewed_one == NULL));
        slwi_contract_free(&counting, &renewed_one);
        failures += rc != SLW_OK;
        slwi_contract_free(&counting, &back);
        ck_assert_int_eq(count.live, 0);
    }
    ck_assert_int_ge(failures, 6);
    slwi_json_free(&document);
    slwi_buffer_free(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/contract");
    TCase *tcase = tcase_create("contract");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, every_field_survives);
    tcase_add_test(tcase, find_by_name);
    tcase_add_test(tcase, every_difference_is_named);
    tcase_add_test(tcase, silence_is_no_difference);
    tcase_add_test(tcase, renewed);
    tcase_add_test(tcase, what_is_refused);
    tcase_add_test(tcase, lone_surrogates_are_refused);
    tcase_add_test(tcase, counts_are_bounded);
    tcase_add_test(tcase, the_largest_contract);
    tcase_add_test(tcase, every_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
