/* Fatbins and bundles. */
#include <string.h>

#include "hostile.h"

#define PTX ".version 9.0\n.target sm_%u\n.entry k%u(.param .u64 p) { ret; }\n"

static void container(blob *b, uint64_t size) {
    blob_number(b, 0xba55ed50, 4);
    blob_number(b, 1, 2);
    blob_number(b, 16, 2);
    blob_number(b, size, 8);
}

static void entry(blob *b, uint32_t kind, uint32_t arch, uint64_t payload) {
    blob_number(b, kind, 2);
    blob_number(b, 0x0101, 2);
    blob_number(b, 64, 4);
    blob_number(b, payload, 8);
    blob_number(b, 0, 8);
    blob_number(b, kind == 1 ? 0 : 8, 2);
    blob_number(b, kind == 1 ? 9 : 1, 2);
    blob_number(b, arch, 4);
    blob_number(b, 0, 8);
    blob_number(b, 0x11, 8);
    blob_fill(b, 0, 16);
}

static void texts(size_t size, blob *b, uint32_t count, uint32_t archs) {
    const size_t each = size / count / 8 * 8;
    container(b, (uint64_t)count * each);
    for (uint32_t i = 0; i < count; i++) {
        const size_t end = b->size + each;
        entry(b, 1, 50 + i % archs, each - 64);
        blob_format(b, PTX, 50 + i % archs, i);
        while (b->size < end) blob_fill(b, '\n', 1);
    }
}

static void entries(size_t size, blob *b) {
    texts(size, b, 4000, 4000);
}

static void same_target(size_t size, blob *b) {
    texts(size, b, 4000, 1);
}

static void one_entry(size_t size, blob *b) {
    texts(size, b, 1, 1);
}

static void too_many(size_t size, blob *b) {
    texts(size, b, (uint32_t)(size / 256), 40);
}

static void empty_containers(size_t size, blob *b) {
    while (b->size < size) container(b, 0);
}

static void containers(size_t size, blob *b) {
    for (uint32_t i = 0; i < 4000; i++) texts(size / 4000, b, 1, 50);
}

static void headers(size_t size, blob *b) {
    container(b, size / 64 * 64);
    while (b->size < size / 64 * 64 + 16) entry(b, 1, 90, 0);
}

/* A cubin of one entry, with as many symbols as fit. */
static void cubin_inside(size_t size, blob *b) {
    blob cubin = {NULL, 0, 0};
    hostile_cubin[0].make(size, &cubin);
    blob_align(&cubin, 8);
    container(b, 64 + cubin.size);
    entry(b, 2, 90, cubin.size);
    blob_put(b, cubin.data, cubin.size);
    blob_free(&cubin);
}

const hostile_file hostile_fatbin[] = {
    {"4,000 entries", entries},     {"4,000 entries of one target", same_target}, {"one entry", one_entry},
    {"too many entries", too_many}, {"empty containers", empty_containers},       {"4,000 containers", containers},
    {"only headers", headers},      {"a cubin of symbols", cubin_inside},         {NULL, NULL},
};

/* ---- bundles ---- */

/* `overlap`: every entry is the whole rest of the file. */
static void bundle(size_t size, blob *b, uint64_t count, size_t id_bytes, int overlap) {
    const uint64_t index = 32 + count * (24 + id_bytes);
    const uint64_t rest = size > index ? size - index : 0;
    blob_text(b, "__CLANG_OFFLOAD_BUNDLE__");
    blob_number(b, count, 8);
    for (uint64_t i = 0; i < count; i++) {
        char id[64] = "hipv4-amdgcn-amd-amdhsa--gfx9";
        size_t n = strlen(id);
        for (uint64_t k = i, d = 0; d < 5; d++, k /= 10) id[n++] = (char)('0' + k % 10);
        blob_number(b, overlap ? index : index + rest / count * i, 8);
        blob_number(b, overlap ? rest : rest / count, 8);
        blob_number(b, id_bytes, 8);
        blob_put(b, id, n < id_bytes ? n : id_bytes);
        if (id_bytes > n) blob_fill(b, 'x', id_bytes - n);
    }
    blob object = {NULL, 0, 0};
    hostile_amdgcn[4].make(4 << 20, &object);
    if (object.size < rest) blob_put(b, object.data, object.size);
    blob_free(&object);
    if (b->size < size) blob_fill(b, 0, size - b->size);
}

static void images(size_t size, blob *b) {
    bundle(size, b, 4000, 34, 0);
}

static void same_image(size_t size, blob *b) {
    bundle(size, b, 4000, 34, 1);
}

static void long_ids(size_t size, blob *b) {
    bundle(size, b, 4000, 4000, 1);
}

static void too_many_images(size_t size, blob *b) {
    bundle(size, b, size / 64, 34, 1);
}

static void one_image(size_t size, blob *b) {
    blob object = {NULL, 0, 0};
    hostile_amdgcn[6].make(size, &object);
    blob_text(b, "__CLANG_OFFLOAD_BUNDLE__");
    blob_number(b, 1, 8);
    blob_number(b, 32 + 24 + 31, 8);
    blob_number(b, object.size, 8);
    blob_number(b, 31, 8);
    blob_text(b, "hipv4-amdgcn-amd-amdhsa--gfx90a");
    blob_put(b, object.data, object.size);
    blob_free(&object);
}

const hostile_file hostile_bundle[] = {
    {"4,000 entries", images},
    {"4,000 entries over one image", same_image},
    {"long ids", long_ids},
    {"too many entries", too_many_images},
    {"one image of symbols", one_image},
    {NULL, NULL},
};
