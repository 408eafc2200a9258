/* slw_inspect: every format, each image with what the sources and the vendors' tools say of it; what is refused, and
 * that a refusal of one image is no refusal of the file. */
#include <slipway/limits.h>
#include <stdlib.h>
#include <string.h>

#include "fault_alloc.h"
#include "host_target.h"
#include "slt.h"

static slw_error err;

static void fresh(void) {
    const slw_error none = SLW_ERROR_INIT;
    err = none;
}

static slw_inspection *inspect_bytes(const void *data, size_t size, const char *name) {
    slw_inspection *inspection = NULL;
    slw_inspect_options options = SLW_INSPECT_OPTIONS_INIT;
    options.name = name;
    fresh();
    slt_ok(slw_inspect(&options, (slw_bytes){data, size}, &inspection, &err), &err);
    return inspection;
}

static slw_inspection *inspect_file(const char *path) {
    size_t size = 0;
    char *data = slt_read_file(path, &size);
    slw_inspection *inspection = inspect_bytes(data, size, path);
    memset(data, 0xa5, size); /* nothing of the file is kept */
    free(data);
    return inspection;
}

static slw_image image_at(const slw_inspection *inspection, size_t index) {
    slw_image image = SLW_IMAGE_INIT;
    ck_assert_int_eq(slw_inspection_image(inspection, index, &image), 1);
    return image;
}

static void check_image(const slw_inspection *inspection, size_t index, slw_image_kind kind, const char *target,
                        uint64_t offset, uint64_t size) {
    const slw_image image = image_at(inspection, index);
    ck_assert_int_eq(image.kind, kind);
    if (target == NULL)
        ck_assert_ptr_null(image.target);
    else
        ck_assert_str_eq(image.target, target);
    ck_assert_uint_eq(image.offset_bytes, offset);
    ck_assert_uint_eq(image.size_bytes, size);
}

static void refused(const void *data, size_t size, const char *name, slw_code code, const char *reason) {
    slw_inspection *const untouched = (slw_inspection *)(void *)&err;
    slw_inspection *inspection = untouched;
    slw_inspect_options options = SLW_INSPECT_OPTIONS_INIT;
    options.name = name;
    fresh();
    const slw_code rc = slw_inspect(&options, (slw_bytes){data, size}, &inspection, &err);
    ck_assert_msg(rc == code && err.code == code && err.reason != NULL && strcmp(err.reason, reason) == 0,
                  "got %s (%s) %s, wanted %s", slw_code_name(rc), err.reason != NULL ? err.reason : "", err.message,
                  reason);
    ck_assert_ptr_eq(inspection, untouched);
}

/* ---- building files ---- */

typedef struct bytes {
    unsigned char data[1 << 20];
    size_t size;
} bytes;

static void put(bytes *to, const void *data, size_t size) {
    ck_assert_uint_le(to->size + size, sizeof to->data);
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void put_number(bytes *to, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
        put(to, &byte, 1);
    }
}

/* A container with room for entries of that many bytes in all. */
static void put_container(bytes *to, uint64_t size) {
    put_number(to, 0xba55ed50u, 4);
    put_number(to, 1, 2);
    put_number(to, 16, 2);
    put_number(to, size, 8);
}

static void put_entry(bytes *to, unsigned kind, unsigned arch, const void *payload, size_t size) {
    put_number(to, kind, 2);
    put_number(to, 0x0101, 2);
    put_number(to, 64, 4);
    put_number(to, size, 8);
    put_number(to, 0, 4); /* not compressed */
    put_number(to, 0, 4);
    put_number(to, 0, 2); /* ISA 9.0 */
    put_number(to, 9, 2);
    put_number(to, arch, 4);
    put_number(to, 0, 8);
    put_number(to, 0x11, 8);
    put_number(to, 0, 8);
    put_number(to, 0, 8);
    put(to, payload, size);
}

#define PTX                                                                                                            \
    "// made by hand\n.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x) { ret; }\n"

/* ---- single images ---- */

START_TEST(names) {
    static const char *const formats[] = {"unknown", "ptx",    "cubin", "fatbin",
                                          "hsaco",   "bundle", "host",  "elf-with-fatbin"};
    for (int i = 0; i < 8; i++) ck_assert_str_eq(slw_file_format_name((slw_file_format)i), formats[i]);
    ck_assert_str_eq(slw_file_format_name((slw_file_format)8), "unknown");
    ck_assert_str_eq(slw_file_format_name((slw_file_format)-1), "unknown");
    ck_assert_str_eq(slw_image_kind_name(SLW_IMAGE_CUBIN), "cubin");
    ck_assert_str_eq(slw_image_kind_name(SLW_IMAGE_PTX), "ptx");
    ck_assert_str_eq(slw_image_kind_name(SLW_IMAGE_HSACO), "hsaco");
    ck_assert_str_eq(slw_image_kind_name(SLW_IMAGE_HOST), "host");
    ck_assert_str_eq(slw_image_kind_name(SLW_IMAGE_LTO_IR), "lto_ir");
    ck_assert_str_eq(slw_image_kind_name((slw_image_kind)99), "unknown");
}
END_TEST

START_TEST(ptx) {
    slw_inspection *inspection = inspect_file(slt_fixture("ptx/k9_90.ptx"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_PTX);
    ck_assert_uint_eq(slw_inspection_count(inspection), 1);
    check_image(inspection, 0, SLW_IMAGE_PTX, "sm_90", 0, 3096);
    const slw_image image = image_at(inspection, 0);
    ck_assert_str_eq(image.isa_version, "9.0");
    ck_assert_ptr_null(image.compression);
    ck_assert_ptr_null(image.error);
    ck_assert_uint_eq(image.contract->kernel_count, 5);
    ck_assert_str_eq(image.contract->isa_version, "9.0");
    ck_assert_int_eq(image.contract->kind, SLW_IMAGE_PTX);
    ck_assert_uint_eq(slw_contract_find(image.contract, "clus")->cluster[0], 2);
    slw_inspection_discard(&inspection);
    ck_assert_ptr_null(inspection);
}
END_TEST

/* A file of one image does not fail for what stands in it. */
START_TEST(bad_ptx_has_an_image_with_an_error) {
    static const char text[] = ".version 9.0\n.target sm_90\n.visible .entry 9k() { ret; }\n";
    slw_inspection *inspection = inspect_bytes(text, sizeof text - 1, "some.ptx");
    ck_assert_uint_eq(slw_inspection_count(inspection), 1);
    const slw_image image = image_at(inspection, 0);
    ck_assert_ptr_null(image.contract);
    ck_assert_int_eq(image.error->code, SLW_E_INVALID_PTX);
    ck_assert_str_eq(image.error->reason, "BAD_NAME");
    ck_assert_str_eq(image.error->path, "some.ptx");
    ck_assert_uint_eq(image.error->line, 3);
    slw_inspection_discard(&inspection);
    /* By its name it is PTX though nothing in it says so; without it is nothing. */
    inspection = inspect_bytes("hello\n", 6, "hello.ptx");
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_PTX);
    ck_assert_str_eq(image_at(inspection, 0).error->reason, "NO_VERSION");
    slw_inspection_discard(&inspection);
    refused("hello\n", 6, "hello.txt", SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED");
    refused("hello\n", 6, ".ptx", SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED");
}
END_TEST

START_TEST(cubin) {
    slw_inspection *inspection = inspect_file(slt_fixture("cubin/k9_sm90.cubin"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_CUBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 1);
    check_image(inspection, 0, SLW_IMAGE_CUBIN, "sm_90", 0, 10576);
    const slw_image image = image_at(inspection, 0);
    ck_assert_ptr_null(image.isa_version);
    ck_assert_uint_eq(slw_contract_find(image.contract, "coop")->registers, 14); /* as nvdisasm says */
    slw_inspection_discard(&inspection);
    inspection = inspect_file(slt_fixture("cubin/k1_rdc80.cubin"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_CUBIN);
    ck_assert_int_eq(image_at(inspection, 0).error->code, SLW_E_UNSUPPORTED_INPUT);
    slw_inspection_discard(&inspection);
}
END_TEST

START_TEST(hsaco) {
    slw_inspection *inspection = inspect_file(slt_fixture("hsaco/k_gfx90a.hsaco"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_HSACO);
    check_image(inspection, 0, SLW_IMAGE_HSACO, "gfx90a", 0, 16296);
    const slw_kernel_contract *kernel = slw_contract_find(image_at(inspection, 0).contract, "static_lds");
    ck_assert_uint_eq(kernel->static_shared_bytes, 4096);
    slw_inspection_discard(&inspection);
}
END_TEST

START_TEST(host) {
    const char *path = slt_path(slt_scratch(), "kernel.so", NULL);
    slt_shell("cc -shared -fPIC -O1 -I '%s/../../include' -o %s %s", slt_fixture("."), path,
              slt_fixture("host/two_kernels.c"));
    slw_inspection *inspection = inspect_file(path);
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_HOST);
    const slw_image image = image_at(inspection, 0);
    ck_assert_int_eq(image.kind, SLW_IMAGE_HOST);
    ck_assert_str_eq(image.target, slwi_host_target());
    ck_assert_uint_eq(image.contract->kernel_count, 2);
    slw_inspection_discard(&inspection);
}
END_TEST

/* ---- containers ---- */

START_TEST(fatbin) {
    slw_inspection *inspection = inspect_file(slt_fixture("fatbin/f_100f.fatbin"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_FATBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 2);
    slw_image image = image_at(inspection, 0);
    ck_assert_int_eq(image.kind, SLW_IMAGE_CUBIN);
    ck_assert_str_eq(image.target, "sm_100f");
    ck_assert_str_eq(image.contract->target, "sm_100f"); /* the image alone says sm_100 */
    ck_assert_uint_eq(image.contract->kernel_count, 5);
    image = image_at(inspection, 1);
    ck_assert_int_eq(image.kind, SLW_IMAGE_PTX);
    ck_assert_str_eq(image.compression, "zstd");
    ck_assert_str_eq(image.isa_version, "9.0");
    ck_assert_ptr_null(image.contract);
    ck_assert_ptr_null(image.error);
    slw_inspection_discard(&inspection);

    inspection = inspect_file(slt_fixture("fatbin/f_lto.fatbin"));
    image = image_at(inspection, 0);
    ck_assert_int_eq(image.kind, SLW_IMAGE_LTO_IR);
    ck_assert_ptr_null(image.contract);
    ck_assert_ptr_null(image.error);
    slw_inspection_discard(&inspection);
}
END_TEST

/* Texts in containers end with NULs; their errors have places in the file. */
START_TEST(ptx_in_a_fatbin) {
    static bytes file;
    static const char bad[] = "// made by hand\n.version 9.0\n.target sm_90\n.visible .entry ?";
    file.size = 0;
    put_container(&file, 2 * 64 + sizeof PTX + 7 + sizeof bad);
    put_entry(&file, 1, 90, PTX "\0\0\0\0\0\0\0", sizeof PTX + 7);
    const size_t second = file.size + 64;
    put_entry(&file, 1, 90, bad, sizeof bad);
    slw_inspection *inspection = inspect_bytes(file.data, file.size, "x.fatbin");
    ck_assert_uint_eq(slw_inspection_count(inspection), 2);
    slw_image image = image_at(inspection, 0);
    ck_assert_ptr_null(image.error);
    ck_assert_uint_eq(image.offset_bytes, 16 + 64);
    ck_assert_str_eq(image.contract->kernels[0].name, "k");
    image = image_at(inspection, 1);
    ck_assert_str_eq(image.target, "sm_90");
    ck_assert_uint_eq(image.error->line, 4);
    ck_assert_uint_eq(image.error->offset_bytes, second + (size_t)(strchr(bad, '?') - bad));
    ck_assert_int_eq(file.data[image.error->offset_bytes], '?');
    slw_inspection_discard(&inspection);

    file.size = 0; /* a kind nobody has heard of is listed */
    put_container(&file, 64 + 4);
    put_entry(&file, 77, 90, "abcd", 4);
    inspection = inspect_bytes(file.data, file.size, "x.fatbin");
    image = image_at(inspection, 0);
    ck_assert_int_eq(image.kind, SLW_IMAGE_UNKNOWN);
    ck_assert_int_eq(image.error->code, SLW_E_UNSUPPORTED_INPUT);
    slw_inspection_discard(&inspection);
}
END_TEST

START_TEST(bundle) {
    slw_inspection *inspection = inspect_file(slt_fixture("hsaco/k.bundle"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_BUNDLE);
    ck_assert_uint_eq(slw_inspection_count(inspection), 2); /* the host's entry is empty */
    check_image(inspection, 0, SLW_IMAGE_HSACO, "gfx90a:sramecc+:xnack-", 4096, 16304);
    check_image(inspection, 1, SLW_IMAGE_HSACO, "gfx1100", 20480, 13240);
    slw_inspection_discard(&inspection);
    size_t size = 0;
    char *data = slt_read_file(slt_fixture("hsaco/kc.bundle"), &size);
    refused(data, size, "kc.bundle", SLW_E_UNSUPPORTED_INPUT, "COMPRESSED_BUNDLE");
    ck_assert_ptr_nonnull(err.hint);
    free(data);
}
END_TEST

static void put_bundle_head(bytes *to, uint64_t count) {
    put(to, "__CLANG_OFFLOAD_BUNDLE__", 24);
    put_number(to, count, 8);
}

static void put_bundled(bytes *to, uint64_t offset, uint64_t size, const char *id) {
    put_number(to, offset, 8);
    put_number(to, size, 8);
    put_number(to, strlen(id), 8);
    put(to, id, strlen(id));
}

/* What else bundles hold: bitcode, PTX with a NUL, and things nobody knows. */
START_TEST(other_images_in_a_bundle) {
    static bytes file;
    static const char nvptx[] = "openmp-nvptx64-nvidia-cuda--sm_90", amd[] = "hip-amdgcn-amd-amdhsa--gfx90a";
    const size_t head = 24 + 8 + 24 + strlen(nvptx) + 24 + strlen(amd) + 24 + strlen(amd) + 2;
    file.size = 0;
    put_bundle_head(&file, 3);
    put_bundled(&file, head, sizeof PTX, nvptx);
    put_bundled(&file, head + sizeof PTX, 8, amd);
    put_bundled(&file, head + sizeof PTX + 8, 3, "hip-amdgcn-amd-amdhsa--gfx1100x");
    ck_assert_uint_eq(file.size, head);
    put(&file, PTX, sizeof PTX);
    put(&file, "BC\xc0\xde....", 8);
    put(&file, "???", 3);
    slw_inspection *inspection = inspect_bytes(file.data, file.size, "x.bundle");
    ck_assert_uint_eq(slw_inspection_count(inspection), 3);
    slw_image image = image_at(inspection, 0);
    ck_assert_int_eq(image.kind, SLW_IMAGE_PTX);
    ck_assert_str_eq(image.target, "sm_90");
    ck_assert_str_eq(image.contract->kernels[0].name, "k");
    image = image_at(inspection, 1);
    ck_assert_int_eq(image.kind, SLW_IMAGE_LTO_IR);
    ck_assert_str_eq(image.target, "gfx90a");
    ck_assert_ptr_null(image.error);
    image = image_at(inspection, 2);
    ck_assert_int_eq(image.kind, SLW_IMAGE_UNKNOWN);
    ck_assert_str_eq(image.error->reason, "NOT_RECOGNISED");
    slw_inspection_discard(&inspection);
}
END_TEST

/* ---- files of a processor ---- */

/* The places are readelf's section offset and cuobjdump's order; sizes are what `cuobjdump -xelf all` writes. */
START_TEST(object) {
    slw_inspection *inspection = inspect_file(slt_fixture("elf/small.o"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_ELF_WITH_FATBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 3);
    check_image(inspection, 0, SLW_IMAGE_CUBIN, "sm_80", 456, 3240);
    check_image(inspection, 2, SLW_IMAGE_CUBIN, "sm_90", 4192, 3832);
    slw_image image = image_at(inspection, 1);
    ck_assert_int_eq(image.kind, SLW_IMAGE_PTX);
    ck_assert_str_eq(image.target, "sm_90");
    ck_assert_str_eq(image.compression, "zstd");
    image = image_at(inspection, 2);
    ck_assert_str_eq(image.contract->kernels[0].name, "scale");
    ck_assert_uint_eq(image.contract->kernels[0].param_count, 3);
    slw_inspection_discard(&inspection);
}
END_TEST

START_TEST(shared_object_with_two_containers) {
    slw_inspection *inspection = inspect_file(slt_fixture("elf/both.so"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_ELF_WITH_FATBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 4);
    const slw_image image = image_at(inspection, 3);
    ck_assert_str_eq(image.contract->kernels[0].name, "fill");
    ck_assert_uint_eq(image.contract->kernels[0].registers, 10);
    slw_inspection_discard(&inspection);
}
END_TEST

/* A section of another name; an image that is none of a launch. */
START_TEST(relocatable_device_code) {
    slw_inspection *inspection = inspect_file(slt_fixture("elf/rdc.o"));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_ELF_WITH_FATBIN);
    const slw_image image = image_at(inspection, 0);
    ck_assert_str_eq(image.target, "sm_80");
    ck_assert_ptr_null(image.contract);
    ck_assert_int_eq(image.error->code, SLW_E_UNSUPPORTED_INPUT);
    slw_inspection_discard(&inspection);
}
END_TEST

/* Two bundles in one section, on pages of their own, as the linker leaves them. */
START_TEST(hip_object) {
    const char *scratch = slt_scratch();
    slt_shell(
        "cd %s && echo 'int x;' >x.c && cc -c x.c -o x.o && cat '%s' >b && truncate -s 36864 b && cat '%s' >>b && "
        "objcopy --add-section .hip_fatbin=b x.o y.o",
        scratch, slt_fixture("hsaco/k.bundle"), slt_fixture("hsaco/k.bundle"));
    slw_inspection *inspection = inspect_file(slt_path(scratch, "y.o", NULL));
    ck_assert_int_eq(slw_inspection_format(inspection), SLW_FORMAT_ELF_WITH_FATBIN);
    ck_assert_uint_eq(slw_inspection_count(inspection), 4);
    ck_assert_str_eq(image_at(inspection, 3).target, "gfx1100");
    ck_assert_uint_eq(image_at(inspection, 2).offset_bytes, image_at(inspection, 0).offset_bytes + 36864);
    slw_inspection_discard(&inspection);
    size_t size = 0;
    char *data = slt_read_file(slt_path(scratch, "x.o", NULL), &size);
    refused(data, size, "x.o", SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED");
    ck_assert_ptr_nonnull(strstr(err.message, "no GPU code"));
    free(data);
}
END_TEST

/* ---- refusals ---- */

START_TEST(refusals) {
    static bytes file;
    refused(NULL, 0, "empty", SLW_E_UNSUPPORTED_INPUT, "NOT_RECOGNISED");
    ck_assert_str_eq(err.path, "empty");
    refused("\x7f"
            "ELF",
            4, NULL, SLW_E_INVALID_BINARY, "TRUNCATED");
    size_t size = 0;
    char *data = slt_read_file(slt_fixture("elf/small.o"), &size);
    refused(data, size - 1, NULL, SLW_E_INVALID_BINARY, "TRUNCATED");
    data[376 + 16 + 8] = 1; /* the padded size of the first entry */
    data[376 + 16 + 12] = 1;
    refused(data, size, NULL, SLW_E_INVALID_BINARY, "BAD_ENTRY");
    ck_assert_uint_ge(err.offset_bytes, 376); /* of the file, not of the section */
    ck_assert_uint_lt(err.offset_bytes, 376 + 80);
    free(data);
    file.size = 0;
    put_container(&file, 64);
    refused(file.data, file.size, NULL, SLW_E_INVALID_BINARY, "TRUNCATED");

    slw_inspection *inspection = NULL;
    slw_inspect_options options = SLW_INSPECT_OPTIONS_INIT;
    ck_assert_int_eq(slw_inspect(&options, (slw_bytes){"x", 1}, NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_inspect(&options, (slw_bytes){NULL, 1}, &inspection, &err), SLW_E_USAGE);
    options.size--;
    ck_assert_int_eq(slw_inspect(&options, (slw_bytes){"x", 1}, &inspection, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_inspect(NULL, (slw_bytes){"x", 1}, &inspection, NULL), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_int_eq(slw_inspect(NULL, (slw_bytes){"x", (size_t)SLW_LIMIT_BINARY_BYTES + 1}, &inspection, &err),
                     SLW_E_LIMIT);
    ck_assert_ptr_null(inspection);
    slw_inspection_discard(&inspection);
    slw_inspection_discard(NULL);
    slw_image image = SLW_IMAGE_INIT;
    ck_assert_int_eq(slw_inspection_image(NULL, 0, &image), 0);
    ck_assert_uint_eq(slw_inspection_count(NULL), 0);
    ck_assert_int_eq(slw_inspection_format(NULL), SLW_FORMAT_UNKNOWN);
    inspection = inspect_bytes(PTX, sizeof PTX - 1, NULL);
    ck_assert_int_eq(slw_inspection_image(inspection, 1, &image), 0);
    image.size--;
    ck_assert_int_eq(slw_inspection_image(inspection, 0, &image), 0);
    slw_inspection_discard(&inspection);
}
END_TEST

/* Images over one another would be read again and again. */
START_TEST(overlaps) {
    static bytes file;
    static const char id[] = "hip-amdgcn-amd-amdhsa--gfx90a";
    const uint64_t head = 24 + 8 + 2 * (24 + sizeof id - 1);
    static char zeros[1000];
    file.size = 0;
    put_bundle_head(&file, 2);
    put_bundled(&file, head, sizeof zeros, id);
    put_bundled(&file, head, sizeof zeros, id);
    put(&file, zeros, sizeof zeros);
    slw_inspection *inspection = NULL;
    fresh();
    ck_assert_int_eq(slw_inspect(NULL, (slw_bytes){file.data, file.size}, &inspection, &err), SLW_E_INVALID_BINARY);
    ck_assert_ptr_null(inspection);

    /* Sections: three of one fatbin that is most of the file. */
    file.size = 0;
    static const unsigned char magic[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    const uint64_t sections = 64, fat = sections + 4 * 64;
    put(&file, magic, sizeof magic);
    put_number(&file, 1, 2);
    put_number(&file, 62, 2);
    put_number(&file, 1, 4);
    put_number(&file, 0, 8);
    put_number(&file, 0, 8);
    put_number(&file, sections, 8);
    put_number(&file, 0, 4);
    put_number(&file, 64, 2);
    put_number(&file, 56, 2);
    put_number(&file, 0, 2);
    put_number(&file, 64, 2);
    put_number(&file, 4, 2);
    put_number(&file, 0, 2);
    for (int i = 0; i < 4; i++) {
        put_number(&file, 0, 4);
        put_number(&file, i == 0 ? 0 : 1, 4);
        put_number(&file, 0, 16);
        put_number(&file, i == 0 ? 0 : fat, 8);
        put_number(&file, i == 0 ? 0 : 16 + 64 + sizeof zeros, 8);
        put_number(&file, 0, 24);
    }
    put_container(&file, 64 + sizeof zeros);
    put_entry(&file, 8, 90, zeros, sizeof zeros);
    refused(file.data, file.size, "x.o", SLW_E_INVALID_BINARY, "OVERLAP");
}
END_TEST

START_TEST(too_many_images) {
    static bytes file;
    file.size = 0;
    put_container(&file, 64 * (SLW_LIMIT_IMAGES + 1));
    for (uint32_t i = 0; i <= SLW_LIMIT_IMAGES; i++) put_entry(&file, 8, 90, "", 0);
    refused(file.data, file.size, "x", SLW_E_LIMIT, "TOO_MANY_IMAGES");
    ck_assert_uint_eq(err.required, SLW_LIMIT_IMAGES + 1);
    ck_assert_uint_eq(err.limit, SLW_LIMIT_IMAGES);
    /* Containers count together. */
    file.size = 0;
    for (uint32_t i = 0; i <= SLW_LIMIT_IMAGES; i++) {
        put_container(&file, 64);
        put_entry(&file, 8, 90, "", 0);
    }
    refused(file.data, file.size, "x", SLW_E_LIMIT, "TOO_MANY_IMAGES");
    file.size -= 16 + 64;
    slw_inspection *inspection = inspect_bytes(file.data, file.size, "x");
    ck_assert_uint_eq(slw_inspection_count(inspection), SLW_LIMIT_IMAGES);
    slw_inspection_discard(&inspection);
}
END_TEST

static const char *const files[] = {"ptx/k9_90.ptx",
                                    "cubin/k9_sm90.cubin",
                                    "cubin/k1_rdc80.cubin",
                                    "fatbin/f_100f.fatbin",
                                    "fatbin/f_lto.fatbin",
                                    "hsaco/k_gfx90a.hsaco",
                                    "hsaco/k.bundle",
                                    "hsaco/kc.bundle",
                                    "elf/small.o",
                                    "elf/both.so",
                                    "elf/rdc.o"};
#define FILES ((int)(sizeof files / sizeof *files))

START_TEST(every_allocation_may_fail) {
    size_t size = 0;
    char *data = slt_read_file(slt_fixture(files[_i]), &size);
    slt_heap heap;
    slt_heap_init(&heap);
    for (uint64_t n = 1;; n++) {
        slw_inspection *inspection = NULL;
        slw_inspect_options options = SLW_INSPECT_OPTIONS_INIT;
        options.allocator = heap.allocator;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        fresh();
        const slw_code rc = slw_inspect(&options, (slw_bytes){data, size}, &inspection, &err);
        const int last = heap.failed == 0;
        if (!last) {
            ck_assert_msg(rc == SLW_E_NO_MEMORY, "%s, allocation %llu: %s %s", files[_i], (unsigned long long)n,
                          slw_code_name(rc), err.message);
            ck_assert_ptr_null(inspection);
        }
        slw_inspection_discard(&inspection);
        slt_heap_check_empty(&heap);
        if (last) break;
    }
    free(data);
}
END_TEST

/* Damage of any sort is an answer, not a crash: the sanitizers watch. Also every prefix. */
START_TEST(damage) {
    size_t size = 0;
    char *data = slt_read_file(slt_fixture(files[_i]), &size);
    uint32_t noise = 12345u + (uint32_t)_i;
    for (int round = 0; round < 600; round++) {
        char *copy = malloc(size);
        memcpy(copy, data, size);
        size_t used = size;
        for (int i = 0; i < 1 + round % 8; i++) {
            noise = noise * 1664525u + 1013904223u;
            const size_t at = round % 2 ? (noise >> 8) % size : (noise >> 8) % (size < 700 ? size : 700);
            noise = noise * 1664525u + 1013904223u;
            copy[at] = (char)(noise >> 24);
        }
        if (round % 5 == 0) used = (noise >> 4) % size;
        char *exact = malloc(used != 0 ? used : 1);
        memcpy(exact, copy, used);
        slw_inspection *inspection = NULL;
        fresh();
        const slw_code rc = slw_inspect(NULL, (slw_bytes){exact, used}, &inspection, &err);
        ck_assert((rc == SLW_OK) == (inspection != NULL));
        ck_assert_int_eq(rc, err.code);
        slw_image image = SLW_IMAGE_INIT;
        for (size_t i = 0; slw_inspection_image(inspection, i, &image); i++) {
            ck_assert(image.offset_bytes <= used && image.size_bytes <= used - image.offset_bytes);
            ck_assert(image.error == NULL || image.contract == NULL);
        }
        slw_inspection_discard(&inspection);
        free(exact);
        free(copy);
    }
    free(data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("inspect");
    TCase *tc = tcase_create("inspect");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, names);
    tcase_add_test(tc, ptx);
    tcase_add_test(tc, bad_ptx_has_an_image_with_an_error);
    tcase_add_test(tc, cubin);
    tcase_add_test(tc, hsaco);
    tcase_add_test(tc, host);
    tcase_add_test(tc, fatbin);
    tcase_add_test(tc, ptx_in_a_fatbin);
    tcase_add_test(tc, bundle);
    tcase_add_test(tc, other_images_in_a_bundle);
    tcase_add_test(tc, object);
    tcase_add_test(tc, shared_object_with_two_containers);
    tcase_add_test(tc, relocatable_device_code);
    tcase_add_test(tc, hip_object);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, overlaps);
    tcase_add_test(tc, too_many_images);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0, FILES);
    tcase_add_loop_test(tc, damage, 0, FILES);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
