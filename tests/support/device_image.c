#include "device_image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slt.h"

const char *slt_repository(const char *relative) {
    return slt_path(slt_fixture("../.."), relative, NULL);
}

/* FNV-1a, four times over: spread enough for a table in a test, and no other room is needed. */
static void digest(const void *data, size_t size, slw_digest *out) {
    for (uint64_t part = 0; part < 4; part++) {
        uint64_t hash = 14695981039346656037u ^ (part * 0x9e3779b97f4a7c15u);
        for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
        memcpy(out->bytes + part * 8u, &hash, 8);
    }
}

static void image_finish(slt_image *image, size_t size, slw_kernel_contract *kernels, uint32_t count) {
    image->contract = (slw_contract){
        .schema = SLW_CONTRACT_SCHEMA,
        .reader_revision = 1,
        .backend = "host",
        .target = "test",
        .launch_binary = "kernel.so",
        .kernels = kernels,
        .kernel_count = count,
    };
    image->image.size = sizeof image->image;
    image->image.bytes = (slw_bytes){image->data, size};
    image->image.contract = &image->contract;
    digest(image->data, size, &image->image.sha256);
}

static uint32_t u32_at(const unsigned char *data) {
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* One record; the offsets are those of the table in host_kernel.h, not of its structures. */
static size_t read_record(const unsigned char *record, size_t left, slw_kernel_contract *out) {
    ck_assert_uint_ge(left, 256);
    ck_assert_uint_eq(u32_at(record), 1);
    const uint32_t size = u32_at(record + 4);
    const uint32_t count = u32_at(record + 12);
    ck_assert_uint_eq(size, 256u + 64u * count);
    ck_assert_uint_le(size, left);
    for (size_t i = 144; i < 256; i++) ck_assert_uint_eq(record[i], 0);
    ck_assert_uint_eq(record[143], 0);
    slw_param *params = calloc(count + 1u, sizeof *params);
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *from = record + 256 + 64 * i;
        ck_assert_uint_eq(from[31], 0);
        for (size_t k = 44; k < 64; k++) ck_assert_uint_eq(from[k], 0);
        params[i] = (slw_param){.name = strdup((const char *)from),
                                .offset_bytes = bytes,
                                .size_bytes = u32_at(from + 32),
                                .alignment_bytes = u32_at(from + 36),
                                .kind = (slw_param_kind)u32_at(from + 40)};
        bytes += params[i].size_bytes;
    }
    out->name = strdup((const char *)record + 16);
    out->params = params;
    out->param_count = count;
    out->param_bytes = bytes;
    out->static_shared_bytes = u32_at(record + 8);
    out->ctas = 1;
    return size;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const slw_kernel_contract *)a)->name, ((const slw_kernel_contract *)b)->name);
}

static const Elf64_Shdr *find_section(const unsigned char *data, const char *name) {
    const Elf64_Ehdr *head = (const void *)data;
    const Elf64_Shdr *sections = (const void *)(data + head->e_shoff);
    const char *names = (const char *)data + sections[head->e_shstrndx].sh_offset;
    for (int i = 0; i < head->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0) return &sections[i];
    }
    ck_abort_msg("no section %s", name);
    return NULL;
}

static slt_image *image_read(const char *path) {
    slt_image *image = calloc(1, sizeof *image);
    size_t size = 0;
    image->data = slt_read_file(path, &size);
    const unsigned char *data = image->data;
    const Elf64_Shdr *section = find_section(data, ".slipway.kernels");
    ck_assert_uint_eq(section->sh_type, SHT_PROGBITS);
    ck_assert_uint_eq(section->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR), SHF_ALLOC);
    ck_assert_uint_eq(section->sh_size % 64u, 0);
    slw_kernel_contract *kernels = calloc(section->sh_size / 256u + 1u, sizeof *kernels);
    uint32_t count = 0;
    for (size_t at = 0; at < section->sh_size;) {
        at += read_record(data + section->sh_offset + at, section->sh_size - at, &kernels[count++]);
    }
    qsort(kernels, count, sizeof *kernels, by_name);
    image_finish(image, size, kernels, count);
    return image;
}

slt_image *slt_image_compile(const char *source_path, const char *flags) {
    const char *output = slt_path(slt_scratch(), "kernel.so", NULL);
    slt_shell("cc -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared -I '%s' %s -o '%s' '%s'", slt_repository("include"),
              flags, output, source_path);
    return image_read(output);
}

slt_image *slt_image_compile_text(const char *text, const char *flags) {
    const char *source = slt_path(slt_scratch(), "kernel.c", NULL);
    slt_write_file(source, text, strlen(text), 0600);
    return slt_image_compile(source, flags);
}

slt_image *slt_image_of_bytes(const void *bytes, size_t size, const char *kernel) {
    slt_image *image = calloc(1, sizeof *image);
    image->data = malloc(size + 1u);
    memcpy(image->data, bytes, size);
    slw_kernel_contract *kernels = calloc(1, sizeof *kernels);
    kernels->name = strdup(kernel);
    kernels->params = calloc(1, sizeof *kernels->params);
    kernels->ctas = 1;
    image_finish(image, size, kernels, 1);
    return image;
}

slt_image *slt_image_of_kernels(void *data, size_t size, slw_kernel_contract *kernels, uint32_t count) {
    slt_image *image = calloc(1, sizeof *image);
    image->data = data;
    qsort(kernels, count, sizeof *kernels, by_name);
    image_finish(image, size, kernels, count);
    return image;
}

static void release(const void *pointer) {
    free((void *)(uintptr_t)pointer);
}

void slt_image_free(slt_image *image) {
    if (image == NULL) return;
    for (uint32_t i = 0; i < image->contract.kernel_count; i++) {
        const slw_kernel_contract *kernel = &image->contract.kernels[i];
        for (uint32_t k = 0; k < kernel->param_count; k++) release(kernel->params[k].name);
        release(kernel->params);
        release(kernel->name);
    }
    release(image->contract.kernels);
    free(image->data);
    free(image);
}

const slw_kernel_contract *slt_image_kernel(const slt_image *image, const char *name) {
    for (uint32_t i = 0; i < image->contract.kernel_count; i++) {
        if (strcmp(image->contract.kernels[i].name, name) == 0) return &image->contract.kernels[i];
    }
    ck_abort_msg("no kernel %s", name);
    return NULL;
}

void slt_image_renumber(slt_image *image, uint32_t number) {
    memcpy(image->image.sha256.bytes + 8, &number, sizeof number);
}
