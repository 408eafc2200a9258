/* PTX and JSON. */
#include <string.h>

#include "hostile.h"

#define HEAD "\n.version 9.0\n.target sm_90\n.address_size 64\n"

static void one_body(size_t size, blob *b) {
    blob_text(b, HEAD ".visible .entry k(.param .u64 p)\n{\n");
    while (b->size < size - 40) blob_text(b, "\tmad.lo.s32 %r1, %r2, %r3, %r4; // x\n");
    blob_text(b, "ret; }\n");
}

static void kernels(size_t size, blob *b) {
    blob_text(b, HEAD);
    for (unsigned i = 0; i < 65000; i++) {
        blob_format(b, ".visible .entry k%u(.param .u64 p0, .param .u32 p1)\n{ ret; ", i);
        while (b->size < size / 65000 * (i + 1)) blob_text(b, "add.s32 %r1, %r2, %r3;\n");
        blob_text(b, "}\n");
    }
}

static void functions(size_t size, blob *b) {
    blob_text(b, HEAD ".visible .entry k() { ret; }\n");
    for (unsigned i = 0; b->size < size - 60; i++) blob_format(b, ".func f%u(.param .b32 a) ;\n", i);
}

static void parameters(size_t size, blob *b) {
    blob_text(b, HEAD);
    for (unsigned k = 0; k < 250; k++) {
        blob_format(b, ".entry k%u(", k);
        for (unsigned p = 0; p < 4000; p++) blob_format(b, "%s.param .u8 p%u", p == 0 ? "" : ",\n", p);
        blob_text(b, ") {");
        while (b->size < size / 250 * (k + 1)) blob_text(b, ".loc 1 2 3\n");
        blob_text(b, "}\n");
    }
}

static void long_names(size_t size, blob *b) {
    blob_text(b, HEAD);
    for (unsigned k = 0; b->size < size - 140000; k++) {
        blob_format(b, ".entry k%u", k);
        blob_fill(b, 'a', 130000);
        blob_text(b, "(){}\n");
    }
}

static void one_comment(size_t size, blob *b) {
    blob_text(b, HEAD "/*");
    blob_fill(b, '*', size - 100);
    blob_text(b, "*/ .entry k() {}");
}

static void one_line(size_t size, blob *b) {
    blob_text(b, HEAD ".entry k() { }");
    while (b->size < size - 20) blob_text(b, " .func f();");
    blob_text(b, "\x01");
}

static void many_lines(size_t size, blob *b) {
    blob_text(b, HEAD ".entry k() { }");
    blob_fill(b, '\n', size - b->size - 1);
    blob_text(b, "?");
}

static void braces(size_t size, blob *b) {
    blob_text(b, HEAD ".entry k() {");
    while (b->size < size - 140000) {
        blob_fill(b, '{', 65000);
        blob_fill(b, '}', 65000);
    }
    blob_text(b, "}");
}

static void no_entry(size_t size, blob *b) {
    blob_text(b, HEAD);
    while (b->size < size - 40) blob_text(b, ".global .align 4 .b8 a[4] = {1, 2};\n");
}

static void half_words(size_t size, blob *b) {
    blob_text(b, HEAD);
    while (b->size < size) blob_text(b, ".visible .weak .entry k .extern .ent ");
}

const hostile_file hostile_ptx[] = {
    {"one body", one_body},           {"65,000 kernels", kernels},
    {"declarations", functions},      {"1,000,000 parameters", parameters},
    {"long names", long_names},       {"one comment", one_comment},
    {"one line", one_line},           {"empty lines", many_lines},
    {"braces in braces", braces},     {"no entry", no_entry},
    {"half a prototype", half_words}, {NULL, NULL},
};

/* ---- JSON: at most SLW_LIMIT_JSON_BYTES, so that these are smaller by a factor of eight ---- */

static const char kernel_fields[] =
    "\"accumulation_registers\":0,\"cluster\":[0,0,0],\"cluster_required\":false,\"cooperative\":false,\"ctas\":1,"
    "\"dynamic_shared_bytes\":0,\"global_scratch_alignment_bytes\":0,\"global_scratch_bytes\":0,\"grid_unit\":"
    "\"blocks\","
    "\"local_bytes\":0,\"max_block\":[0,0,0],\"max_cluster_rank\":0,\"max_registers\":0,\"max_threads\":0,\"min_"
    "blocks\":0,";
static const char kernel_rest[] =
    "\"profile_scratch_alignment_bytes\":0,\"profile_scratch_bytes\":0,\"programmatic_launch\":false,\"registers\":0,"
    "\"required_threads\":[0,0,0],\"reserved_shared_bytes\":0,\"scalar_registers\":0,\"static_shared_bytes\":0,"
    "\"tensor_memory_columns\":0,\"warp_threads\":32,\"warps\":0}";

static void contract_head(blob *b) {
    blob_text(b, "{\"backend\":\"cuda\",\"isa_version\":null,\"kernels\":[");
}

static void contract_tail(blob *b) {
    blob_text(
        b,
        "],\"kind\":\"cubin\",\"launch_binary\":\"k.cubin\",\"reader_revision\":1,\"schema\":2,\"target\":\"sm_90\"}");
}

static void contract_kernels(size_t size, blob *b) {
    contract_head(b);
    for (unsigned i = 0; b->size < size / 8 - 2000; i++) {
        blob_format(b, "%s{%s\"name\":\"k%08u\",\"needs\":[],\"param_bytes\":0,\"params\":[],", i == 0 ? "" : ",",
                    kernel_fields, i);
        blob_text(b, kernel_rest);
    }
    contract_tail(b);
}

static void contract_params(size_t size, blob *b) {
    contract_head(b);
    for (unsigned i = 0; b->size < size / 8 - 600000; i++) {
        blob_format(b, "%s{%s\"name\":\"k%08u\",\"needs\":[],\"param_bytes\":4000,\"params\":[", i == 0 ? "" : ",",
                    kernel_fields, i);
        for (unsigned p = 0; p < 4000; p++)
            blob_format(b,
                        "%s{\"alignment_bytes\":1,\"kind\":\"unknown\",\"name\":null,\"offset_bytes\":%u,\"role\":"
                        "\"caller\",\"size_bytes\":1}",
                        p == 0 ? "" : ",", p);
        blob_text(b, "],");
        blob_text(b, kernel_rest);
    }
    contract_tail(b);
}

static void unknown_keys(size_t size, blob *b) {
    blob_text(b, "{");
    for (unsigned i = 0; b->size < size / 8 - 40; i++) blob_format(b, "\"unknown%08x\":%u,", i * 2654435761u, i % 10);
    blob_text(b, "\"z\":0}");
}

static void numbers(size_t size, blob *b) {
    blob_text(b, "{\"hash\":[0");
    while (b->size < size / 8 - 20) blob_text(b, ",1234567890123");
    blob_text(b, "]}");
}

static void spaces(size_t size, blob *b) {
    blob_text(b, "{");
    blob_fill(b, ' ', size / 8 - 3);
    blob_text(b, "}");
}

static void escapes(size_t size, blob *b) {
    blob_text(b, "{\"hash\":\"");
    while (b->size < size / 8 - 20) blob_text(b, "\\ud83d\\ude00");
    blob_text(b, "\"}");
}

static void deep(size_t size, blob *b) {
    blob_text(b, "{\"hash\":");
    blob_fill(b, '[', size / 8 - b->size);
}

const hostile_file hostile_contract[] = {
    {"kernels", contract_kernels},
    {"parameters", contract_params},
    {"unknown keys", unknown_keys},
    {"numbers", numbers},
    {"spaces", spaces},
    {"escapes", escapes},
    {"brackets", deep},
    {NULL, NULL},
};
/* ---- Triton's metadata: the fields that are needed, then one of the above ---- */

static const char triton_head[] =
    "{\"hash\": \"00\", \"target\": {\"backend\": \"cuda\", \"arch\": 90, \"warp_size\": 32}, \"num_warps\": 4, "
    "\"num_ctas\": 1, "
    "\"num_stages\": 3, \"warp_size\": 32, \"triton_version\": \"3.9.0\", \"shared\": 0, \"tmem_size\": 0, "
    "\"global_scratch_size\": 0, "
    "\"global_scratch_align\": 1, \"profile_scratch_size\": 0, \"profile_scratch_align\": 1, \"name\": \"k\", "
    "\"launch_cooperative_grid\": false, \"launch_pdl\": false, \"cluster_dims\": [1, 1, 1], ";

static void triton_of(size_t size, blob *b, hostile_make rest) {
    blob other = {NULL, 0, 0};
    rest(size, &other);
    blob_text(b, triton_head);
    if (memcmp(other.data, "{\"hash\"", 7) == 0) other.data[5] = 'p'; /* the name is taken */
    blob_put(b, other.data + 1, other.size - 1);
    blob_free(&other);
}

static void triton_keys(size_t size, blob *b) {
    triton_of(size, b, unknown_keys);
}

static void triton_numbers(size_t size, blob *b) {
    triton_of(size, b, numbers);
}

static void triton_escapes(size_t size, blob *b) {
    triton_of(size, b, escapes);
}

static void triton_brackets(size_t size, blob *b) {
    triton_of(size, b, deep);
}

static void triton_name(size_t size, blob *b) {
    blob_text(b, triton_head);
    blob_text(b, "\"source\":\"");
    blob_fill(b, 'a', size / 8 - b->size - 2);
    blob_text(b, "\"}");
}

const hostile_file hostile_triton[] = {
    {"unknown keys", triton_keys}, {"numbers", triton_numbers},    {"escapes", triton_escapes},
    {"brackets", triton_brackets}, {"one long text", triton_name}, {NULL, NULL},
};
