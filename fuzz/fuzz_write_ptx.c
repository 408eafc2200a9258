/* A module as PTX text. Written from the PTX ISA manual alone. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_kernels.h"

typedef struct text {
    char *out;
    size_t size, capacity;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(t->out + t->size, t->capacity - t->size, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= t->capacity - t->size) abort();
    t->size += (size_t)n;
}

static const char *type_word(const fuzz_param *p) {
    static const char *const words[4][4] = {{".b8", ".u8", ".s8", ".b8"},
                                            {".b16", ".u16", ".s16", ".f16"},
                                            {".b32", ".u32", ".s32", ".f32"},
                                            {".b64", ".u64", ".s64", ".f64"}};
    const uint32_t row = p->element_bytes == 1 ? 0 : p->element_bytes == 2 ? 1 : p->element_bytes == 4 ? 2 : 3;
    return p->pointer ? ".u64" : words[row][p->flavour];
}

static void put_param(text *t, const fuzz_kernel *k, uint32_t index, int odd) {
    const fuzz_param *p = &k->params[index];
    put(t, "%s\t.param", index == 0 ? "" : ",\n");
    if (p->align != 0) put(t, " .align %u", p->align);
    put(t, " %s", type_word(p));
    if (p->pointer) put(t, index % 2 ? " .ptr .global .align 4" : " .ptr");
    if (odd) put(t, " /* , ) .entry x( */");
    put(t, " p_param_%u", index);
    if (p->count != 0) put(t, odd ? "[ 0x%x ]" : "[%u]", p->count);
}

static void put_triple(text *t, const char *word, const uint32_t d[3]) {
    if (d[0] == 0) return;
    /* Dimensions that are 1 may be left out from the end. */
    if (d[2] != 1)
        put(t, "%s %u, %u, %u\n", word, d[0], d[1], d[2]);
    else if (d[1] != 1)
        put(t, "%s %u, %u\n", word, d[0], d[1]);
    else
        put(t, "%s %u\n", word, d[0]);
}

static void put_kernel(text *t, const fuzz_kernel *k, int odd) {
    static const char *const linkages[] = {".visible ", ".weak ", ""};
    if (odd) put(t, "// .visible .entry no(){\n.func helper_of_%s() { ret; }\n", k->name + 1);
    put(t, "%s.entry %s", linkages[k->linkage], k->name);
    if (k->param_count != 0 || !odd) {
        put(t, "(\n");
        for (uint32_t i = 0; i < k->param_count; i++) put_param(t, k, i, odd);
        put(t, "\n)\n");
    }
    put(t, "\n");
    put_triple(t, ".maxntid", k->maxntid);
    put_triple(t, ".reqntid", k->reqntid);
    if (k->min_blocks != 0) put(t, ".minnctapersm %u\n", k->min_blocks);
    if (k->max_registers != 0) put(t, ".maxnreg %u\n", k->max_registers);
    put_triple(t, ".reqnctapercluster", k->cluster);
    if (k->explicit_cluster) put(t, ".explicitcluster\n");
    if (k->max_cluster_rank != 0) put(t, ".maxclusterrank %u\n", k->max_cluster_rank);
    if (k->blocks_are_clusters) put(t, ".blocksareclusters\n");
    put(t, "{\n");
    if (k->shared_bytes != 0) put(t, "\t.shared .align 4 .b8 s[%u];\n", k->shared_bytes);
    if (odd) put(t, "\t{ .reg .b32 \t%%r<2>; /* } */ }\n");
    put(t, "\tret;\n}\n");
}

size_t fuzz_write_ptx(const fuzz_module *module, char *out, size_t capacity) {
    text t = {out, 0, capacity};
    put(&t, ".version 9.0\n.target sm_%u", module->sm);
    if (module->variant != 0) put(&t, "%c", module->variant);
    put(&t, "\n.address_size 64\n\n");
    for (uint32_t i = 0; i < module->kernel_count; i++)
        put_kernel(&t, &module->kernels[i], (module->odd & FUZZ_ODD_TEXT) != 0);
    return t.size;
}
