#include "fuzz_kernels.h"

#include <string.h>

typedef struct source {
    const uint8_t *data;
    size_t size, at;
} source;

static uint32_t take(source *s) {
    return s->at < s->size ? s->data[s->at++] : 0;
}

static uint32_t below(source *s, uint32_t limit) {
    return take(s) % limit;
}

/* A letter, the kernel's number (which keeps names apart), and a tail of what PTX and mangled names are made of. */
static void name_from(source *s, uint32_t index, char *out) {
    static const char first[] = "kZ_a$Mz%";
    static const char tail[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
    const uint32_t length = below(s, FUZZ_NAME_MAX - 3);
    out[0] = first[below(s, sizeof first - 1)];
    out[1] = (char)('0' + index);
    for (uint32_t i = 0; i < length; i++) out[2 + i] = tail[below(s, sizeof tail - 1)];
    out[2 + length] = '\0';
}

static void triple_from(source *s, uint32_t x, uint32_t y, uint32_t z, uint32_t out[3]) {
    out[0] = 1 + below(s, x);
    out[1] = 1 + below(s, y);
    out[2] = 1 + below(s, z);
}

static void param_from(source *s, fuzz_param *p) {
    const uint32_t what = take(s);
    p->element_bytes = 1u << (what & 3);
    p->flavour = (what >> 2) & 3;
    if (what & 16) p->count = 1 + below(s, 200);
    if (what & 32) p->align = 1u << below(s, 5);
    p->pointer = (what & 64) != 0 && p->element_bytes == 8 && p->count == 0;
}

/* The rules of C. */
static void lay_out(fuzz_kernel *k) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < k->param_count; i++) {
        fuzz_param *p = &k->params[i];
        const uint32_t alignment = p->align > p->element_bytes ? p->align : p->element_bytes;
        p->size_bytes = p->element_bytes * (p->count == 0 ? 1 : p->count);
        p->offset_bytes = (at + alignment - 1) / alignment * alignment;
        at = p->offset_bytes + p->size_bytes;
    }
    k->param_bytes = at;
}

static void block_from(source *s, uint32_t sm, fuzz_kernel *k) {
    const uint32_t what = take(s);
    if ((what & 3) == 1) triple_from(s, 32, 8, 4, k->maxntid);
    if ((what & 3) == 2) triple_from(s, 32, 8, 4, k->reqntid);
    if (what & 4) k->max_registers = 16 + below(s, 200);
    if (what & 8) k->min_blocks = 1 + below(s, 8);
    if (sm < 90) return;
    if (what & 16)
        triple_from(s, 4, 2, 1, k->cluster);
    else if (what & 32)
        k->max_cluster_rank = 1 + below(s, 16);
    k->explicit_cluster = (what & 64) != 0;
    k->blocks_are_clusters = (what & 128) != 0 && k->cluster[0] != 0 && k->reqntid[0] != 0;
}

void fuzz_module_from(const uint8_t *data, size_t size, fuzz_module *out) {
    static const uint32_t sms[] = {90, 75, 80, 86, 89, 100, 103, 120, 121, 133};
    source s = {data, size, 0};
    memset(out, 0, sizeof *out);
    out->sm = sms[below(&s, sizeof sms / sizeof sms[0])];
    const uint32_t what = take(&s);
    out->variant = out->sm >= 90 && (what & 1) ? 'a' : 0;
    out->abi = (what & 2) && out->sm <= 120 ? 7 : 8;
    out->odd = (what >> 2) & 15;
    out->kernel_count = below(&s, FUZZ_KERNELS_MAX + 1);
    for (uint32_t i = 0; i < out->kernel_count; i++) {
        fuzz_kernel *k = &out->kernels[i];
        k->linkage = below(&s, 3);
        name_from(&s, i, k->name);
        k->param_count = below(&s, FUZZ_PARAMS_MAX + 1);
        for (uint32_t p = 0; p < k->param_count; p++) param_from(&s, &k->params[p]);
        lay_out(k);
        block_from(&s, out->sm, k);
        k->registers = below(&s, 255);
        k->local_bytes = 8 * take(&s);
        k->shared_bytes = 4 * take(&s);
    }
}
