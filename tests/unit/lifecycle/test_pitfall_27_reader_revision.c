/* Pitfall 27: a corrected reader disagrees with every stored contract. A contract of another reader revision is derived
 * anew from the binary; what metadata told it, which no binary says, is kept. */
#include "kit.h"

#include "backends.h"
#include "device_image.h"

#define BINARY "kernel.bin"

static kit world;
static struct {
    const void *binary;
    size_t binary_size;
    char *document;
    size_t document_size;
} entry;

static const slw_allocator libc = SLW_ALLOCATOR_INIT;

static void setup(void) {
    memset(&world, 0, sizeof world);
    memset(&entry, 0, sizeof entry);
    kit_open(&world);
}

static void teardown(void) {
    free(entry.document);
    kit_close(&world);
}

static slw_code build_entry(void *context, const slw_build_context *build, slw_error *err) {
    (void)context;
    slw_code rc = kit_write(build->directory, BINARY, entry.binary, entry.binary_size, err);
    if (rc != SLW_OK) return rc;
    return kit_write(build->directory, SLWI_ENTRY_DOCUMENT_NAME, entry.document, entry.document_size, err);
}

/* An entry of that binary and a slipway.json with that contract, as another version of the library would leave it. */
static slw_cached *entry_with(slw_bytes binary, const slw_contract *stored) {
    slwi_buffer text;
    slwi_buffer_init(&text, &libc, SIZE_MAX);
    const slwi_entry_document document = {.name = "k", .contract = stored, .compiler = "/bin/cc"};
    slwi_entry_document_write(&document, &text);
    ck_assert_int_eq(text.failed, 0);
    entry.binary = binary.data;
    entry.binary_size = binary.size;
    entry.document = text.data;
    entry.document_size = text.size;
    /* A key of its own for each document: an entry that is there already would be a hit. */
    static uint64_t count;
    char source[SLW_DIGEST_TEXT_SIZE];
    slw_digest digest;
    count++;
    slw_sha256((slw_bytes){&count, sizeof count}, &digest);
    slw_digest_format(&digest, source);
    const slw_bytes required = {BINARY, strlen(BINARY)};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.state = SLW_READY;
    inputs.required_files = &required;
    inputs.required_file_count = 1;
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, source, NULL);
    slw_spec_release(&world.spec);
    slt_ok(slw_spec_create(&inputs, &world.spec, &world.err), &world.err);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.build = build_entry;
    slw_cached *cached = NULL;
    slt_ok(slw_store_get_or_build(world.store, world.key, world.spec, &builder, NULL, &cached, &world.err), &world.err);
    return cached;
}

static slw_contract *read_binary(slw_bytes binary, slw_bytes metadata) {
    slw_contract *contract = NULL;
    slt_ok(slw_contract_read(NULL, binary, metadata, BINARY, NULL, &contract, &world.err), &world.err);
    return contract;
}

static slw_bytes fixture(const char *path) {
    slw_bytes bytes;
    bytes.data = slt_read_file(slt_fixture(path), &bytes.size);
    return bytes;
}

/* Hydrates the entry, lazily and eagerly, and expects the contract `right`, however wrong the stored one is. */
static void check_derived(slw_bytes binary, const slw_contract *stored, const slw_contract *right) {
    for (int eager = 0; eager < 2; eager++) {
        slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
        options.launch_binary = eager ? SLW_HYDRATE_EAGER : SLW_HYDRATE_LAZY;
        slw_cached *cached = entry_with(binary, stored);
        slw_hydrated *hydrated = NULL;
        slt_ok(slw_hydrate(&cached, &options, &hydrated, &world.err), &world.err);
        const slw_contract *now = slw_hydrated_contract(hydrated);
        slt_ok(slwi_contract_compare(right, now, &world.err), &world.err);
        slt_ok(slwi_contract_compare(now, right, &world.err), &world.err);
        slw_bytes bytes = {NULL, 0};
        slt_ok(slw_hydrated_payload(hydrated, BINARY, &bytes, &world.err), &world.err);
        ck_assert_uint_eq(bytes.size, binary.size);
        slw_hydrated_discard(&hydrated);
        free(entry.document);
        entry.document = NULL;
    }
}

static void check_gpu(const char *binary_path, const char *metadata_path) {
    slw_bytes binary = fixture(binary_path);
    slw_bytes metadata = metadata_path != NULL ? fixture(metadata_path) : (slw_bytes){NULL, 0};
    slw_contract *right = read_binary(binary, metadata);
    ck_assert_uint_eq(right->kernel_count, 1);
    for (int newer = 0; newer < 2; newer++) {
        slw_contract other = *right;
        slw_kernel_contract kernel = right->kernels[0];
        other.reader_revision = newer ? right->reader_revision + 1000 : right->reader_revision - 1;
        other.kernels = &kernel;
        kernel.registers += 8;
        kernel.local_bytes += 16;
        kernel.static_shared_bytes += 1024; /* a reader that counted the reserved KiB */
        kernel.max_threads = 7;
        check_derived(binary, &other, right);
    }
    slw_contract_release(NULL, &right);
    free((void *)(uintptr_t)binary.data);
    free((void *)(uintptr_t)metadata.data);
}

#define MATMUL_CUDA "triton/cache-3.9.0/GS6E3BRL2R4X4T7ZNXJDTV2RY2AJS2DOPSNLF2UHSGLFQPU6M3AQ/matmul_kernel"
#define MATMUL_HIP  "triton/cache-3.9.0/7VBEGSHLWVHDOYIIEZ4FLNW4JTT4ZURJLSE74CQGNYQSKNVVGFHQ/matmul_kernel"

START_TEST(of_a_cubin) {
    check_gpu(MATMUL_CUDA ".cubin", NULL);
}
END_TEST

START_TEST(of_a_code_object) {
    check_gpu(MATMUL_HIP ".hsaco", NULL);
}
END_TEST

/* 57,344 bytes of dynamic shared memory, warps, scratch: said by Triton's metadata when the entry was made. */
START_TEST(what_metadata_said_is_kept) {
    check_gpu(MATMUL_CUDA ".cubin", MATMUL_CUDA ".json");
    check_gpu(MATMUL_HIP ".hsaco", MATMUL_HIP ".json");
}
END_TEST

START_TEST(of_a_host_binary) {
    slt_image *image = slt_image_compile_text("#include <slipway/host_kernel.h>\n"
                                              "SLW_HOST_KERNEL(only);\n"
                                              "void only(const slw_host_block *block, void *const *args) { "
                                              "(void)block; (void)args; }\n",
                                              "");
    slw_contract *right = read_binary(image->image.bytes, (slw_bytes){NULL, 0});
    slw_contract other = *right;
    slw_kernel_contract kernel = right->kernels[0];
    other.reader_revision += 1000;
    other.kernels = &kernel;
    kernel.static_shared_bytes = 4096;
    check_derived(image->image.bytes, &other, right);
    slw_contract_release(NULL, &right);
    slt_image_free(image);
}
END_TEST

/* The same revision is held to its word: the lie is found when the binary is read. */
START_TEST(the_same_revision_is_not) {
    slw_bytes binary = fixture(MATMUL_CUDA ".cubin");
    slw_contract *right = read_binary(binary, (slw_bytes){NULL, 0});
    slw_contract lying = *right;
    slw_kernel_contract kernel = right->kernels[0];
    lying.kernels = &kernel;
    kernel.registers += 8;
    slw_hydrate_options eager = SLW_HYDRATE_OPTIONS_INIT;
    eager.launch_binary = SLW_HYDRATE_EAGER;
    slw_cached *cached = entry_with(binary, &lying);
    slw_hydrated *hydrated = NULL;
    ck_assert_int_eq(slw_hydrate(&cached, &eager, &hydrated, &world.err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(world.err.subject, "registers");
    ck_assert_ptr_null(hydrated);
    slw_cached_discard(&cached);
    slw_contract_release(NULL, &right);
    free((void *)(uintptr_t)binary.data);
}
END_TEST

/* Of another revision whose kernel is gone although metadata told how to launch it: neither contract is right. */
START_TEST(what_has_no_place_any_more) {
    slw_bytes binary = fixture(MATMUL_CUDA ".cubin");
    slw_bytes metadata = fixture(MATMUL_CUDA ".json");
    slw_contract *right = read_binary(binary, metadata);
    slw_contract other = *right;
    slw_kernel_contract kernel = right->kernels[0];
    other.reader_revision += 1000;
    other.kernels = &kernel;
    kernel.name = "matmul_kernel_0";
    slw_cached *cached = entry_with(binary, &other);
    slw_hydrated *hydrated = NULL;
    ck_assert_int_eq(slw_hydrate(&cached, NULL, &hydrated, &world.err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_eq(world.err.subject, "name");
    ck_assert_ptr_null(hydrated);
    ck_assert_ptr_nonnull(cached);
    slw_cached_discard(&cached);
    slw_contract_release(NULL, &right);
    free((void *)(uintptr_t)binary.data);
    free((void *)(uintptr_t)metadata.data);
}
END_TEST

/* Another schema has other fields: the whole contract is the binary's. */
START_TEST(another_schema) {
    slw_bytes binary = fixture(MATMUL_CUDA ".cubin");
    slw_contract *right = read_binary(binary, (slw_bytes){NULL, 0});
    slw_contract other = *right;
    slw_kernel_contract kernel = right->kernels[0];
    other.schema = SLW_CONTRACT_SCHEMA + 1;
    other.kernels = &kernel;
    kernel.registers += 8;
    check_derived(binary, &other, right);
    other.schema = 1;
    check_derived(binary, &other, right);
    slw_contract_release(NULL, &right);
    free((void *)(uintptr_t)binary.data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle/pitfall_27_reader_revision");
    TCase *tcase = tcase_create("pitfall_27");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, of_a_cubin);
    tcase_add_test(tcase, of_a_code_object);
    tcase_add_test(tcase, what_metadata_said_is_kept);
    tcase_add_test(tcase, of_a_host_binary);
    tcase_add_test(tcase, the_same_revision_is_not);
    tcase_add_test(tcase, what_has_no_place_any_more);
    tcase_add_test(tcase, another_schema);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
