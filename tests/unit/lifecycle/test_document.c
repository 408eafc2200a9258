/* Where the contract comes from: slipway.json, the binary, or a binary given directly. */
#include "kit.h"

#include "backends.h"
#include "device_image.h"

static kit world;
static slt_image *image; /* a real host binary with the kernels first and second */

static const char image_text[] =
    "#include <slipway/host_kernel.h>\n"
    "SLW_HOST_KERNEL(first, SLW_HOST_PARAM(uint64_t *, sum));\n"
    "void first(const slw_host_block *block, void *const *args) { (void)block; ++*SLW_HOST_ARG(uint64_t *, args, 0); "
    "}\n"
    "SLW_HOST_KERNEL(second);\n"
    "void second(const slw_host_block *block, void *const *args) { (void)block; (void)args; }\n";

/* Files of the entry under test, written by the builder. */
static struct {
    const char *name;
    const void *data;
    size_t size;
} files[4];
static size_t file_count;

static void add_file(const char *name, const void *data, size_t size) {
    files[file_count].name = name;
    files[file_count].data = data;
    files[file_count++].size = size;
}

/* Half an allocator. */
static void *no_memory_at_all(void *context, size_t size) {
    (void)context;
    (void)size;
    return NULL;
}

static slw_code build_files(void *context, const slw_build_context *build, slw_error *err) {
    (void)context;
    slw_code rc = SLW_OK;
    for (size_t i = 0; rc == SLW_OK && i < file_count; i++)
        rc = kit_write(build->directory, files[i].name, files[i].data, files[i].size, err);
    return rc;
}

static void setup(void) {
    memset(&world, 0, sizeof world);
    kit_open(&world);
    image = slt_image_compile_text(image_text, "");
    file_count = 0;
}

static void teardown(void) {
    slt_image_free(image);
    kit_close(&world);
}

/* Publishes the files under a key of their own. */
static slw_cached *entry_of_files(const char *keep) {
    const slw_bytes required = {files[0].name, strlen(files[0].name)};
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    inputs.state = SLW_READY;
    inputs.required_files = &required;
    inputs.required_file_count = 1;
    inputs.keep = keep;
    slw_key_release(&world.key);
    slw_spec_release(&world.spec);
    kit_make_names(&world, KIT_DIGEST_B, NULL);
    slw_spec_release(&world.spec);
    slt_ok(slw_spec_create(&inputs, &world.spec, &world.err), &world.err);
    slw_builder builder = SLW_BUILDER_INIT;
    builder.build = build_files;
    slw_cached *cached = NULL;
    slt_ok(slw_store_get_or_build(world.store, world.key, world.spec, &builder, NULL, &cached, &world.err), &world.err);
    return cached;
}

static slw_code hydrate_files(const char *keep, const slw_hydrate_options *options, slw_hydrated **out) {
    slw_cached *cached = entry_of_files(keep);
    const slw_code rc = slw_hydrate(&cached, options, out, &world.err);
    ck_assert_int_eq(rc == SLW_OK, cached == NULL);
    ck_assert_int_eq(rc == SLW_OK, *out != NULL);
    slw_cached_discard(&cached);
    return rc;
}

#define ck_code(call, expected)                                                                                        \
    ck_assert_msg((call) == (expected), "%s: %s %s", #call, slw_code_name(world.err.code), world.err.message)

static char *document_of(const slw_contract *contract, size_t *size) {
    slw_allocator libc = SLW_ALLOCATOR_INIT;
    slwi_buffer text;
    slwi_buffer_init(&text, &libc, SIZE_MAX);
    const slwi_entry_document document = {.name = "k.c", .contract = contract, .compiler = "/bin/cc"};
    slwi_entry_document_write(&document, &text);
    ck_assert_int_eq(text.failed, 0);
    *size = text.size;
    return text.data;
}

static slw_contract *host_contract(const char *name) {
    const slw_backend_vtable *host = slw_backend_find("host");
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slw_contract *contract = NULL;
    slt_ok(host->read_contract(&libc, image->image.bytes, name, NULL, &contract, &world.err), &world.err);
    return contract;
}

/* ---- the document
   --------------------------------------------------------------------------------------------------- */

static slw_code read_text(const char *text, slw_contract **out) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    const slw_error fresh = SLW_ERROR_INIT;
    world.err = fresh;
    *out = NULL;
    return slwi_entry_document_contract(&libc, (slw_bytes){text, strlen(text)}, out, &world.err);
}

START_TEST(document_round_trip) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    size_t size = 0;
    char *text = document_of(&kit_contract, &size);
    ck_assert_ptr_nonnull(strstr(text, "\"record\":null"));
    slw_contract *contract = NULL;
    slt_ok(read_text(text, &contract), &world.err);
    slt_ok(slwi_contract_compare(contract, &kit_contract, &world.err), &world.err);
    char *again = document_of(contract, &size);
    ck_assert_str_eq(text, again);
    slwi_contract_free(&libc, &contract);
    free(again);
    free(text);
}
END_TEST

/* Replaces the first `from` of the canonical document by `to`. */
static char *edited(const char *from, const char *to) {
    size_t size = 0;
    char *text = document_of(&kit_contract, &size);
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", from);
    char *out = malloc(size + strlen(to) + 1);
    (void)sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    free(text);
    return out;
}

static const char *const edits[][2] = {
    {"{\"backend\":\"null\",", "{"},
    {"{\"backend\":\"null\",", "{\"backend\":\"host\","},
    {"\"target\":\"null\",\"toolchain\"", "\"target\":\"other\",\"toolchain\""},
    {"\"schema\":1,\"target\":\"null\",\"toolchain\"", "\"schema\":\"1\",\"target\":\"null\",\"toolchain\""},
    {"\"name\":\"k.c\",", "\"name\":\"k.c\",\"name2\":1,"},
    {"\"name\":\"k.c\",", " \"name\":\"k.c\","},
    {"\"name\":\"k.c\",", "\"name\":\"k\\u002ec\","},
    {"{\"backend\":\"null\",", "{\"backend\":\"null\",\"backend\":\"null\","},
    {"\"record\":null,", "\"record\":nul,"},
    {"\"contract\":{", "\"contract\":[{"},
    {"\"kernels\":[", "\"kernels\":[5,"},
};

START_TEST(document_refusals) {
    char *text = edited(edits[_i][0], edits[_i][1]);
    slw_contract *contract = NULL;
    ck_code(read_text(text, &contract), SLW_E_INVALID_METADATA);
    ck_assert_ptr_null(contract);
    ck_assert_str_eq(world.err.path, SLWI_ENTRY_DOCUMENT_NAME);
    free(text);
}
END_TEST

START_TEST(document_that_is_none) {
    static const char *const texts[] = {"", "[]", "null", "{}", "{\"schema\":1}", "{\"schema\":1,\"contract\":{}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        slw_contract *contract = NULL;
        ck_code(read_text(texts[i], &contract), SLW_E_INVALID_METADATA);
        ck_assert_ptr_null(contract);
    }
}
END_TEST

/* Another schema is not an error: the binary says everything. */
START_TEST(another_schema_reads_the_binary) {
    slw_contract *none = (slw_contract *)&world;
    slt_ok(read_text("{\"schema\":2,\"whatever\":[]}", &none), &world.err);
    ck_assert_ptr_null(none);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    add_file(SLWI_ENTRY_DOCUMENT_NAME, "{\"schema\":2}", 12);
    slw_hydrated *hydrated = NULL;
    slt_ok(hydrate_files(NULL, NULL, &hydrated), &world.err);
    ck_assert_uint_eq(slw_hydrated_contract(hydrated)->kernel_count, 2);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* What only an explanation reads is passed over, wherever brackets and quotes stand in it; where it ends must be told, and
   its place in the order is looked at. */
START_TEST(what_only_an_explanation_reads_is_passed_over) {
    static const struct {
        const char *from, *to;
        int ok;
    } cases[] = {
        {"\"name\":\"k.c\",", "\"inputs\":{\"a\":[\"]}\\\"{[\",{\"b\":[[]]}]},\"name\":\"k.c\",", 1},
        {"\"name\":\"k.c\",", "\"inputs\":\"\\\\\",\"name\":\"k.c\",", 1},
        {"\"name\":\"k.c\",", "\"inputs\":null,\"name\":\"k.c\",", 1},
        {"\"toolchain\":{\"compiler\":\"/bin/cc\",\"components\":[]}", "\"toolchain\":[{},\"}\"]", 1},
        {"\"name\":\"k.c\",", "\"name\":\"k.c\",\"inputs\":{},", 0},
        {"\"name\":\"k.c\",", "\"inputs\":,\"name\":\"k.c\",", 0},
        {"\"name\":\"k.c\",", "\"inputs\":{\"name\":\"k.c\",", 0},
        {"\"name\":\"k.c\",", "\"inputs\":\"name\":\"k.c\",", 0},
        {"\"name\":\"k.c\",", "\"inputs\":{},\"inputs\":{},\"name\":\"k.c\",", 0},
        {"\"name\":\"k.c\",", "\"\\u0069nputs\":{},\"name\":\"k.c\",", 0},
        {"\"name\":\"k.c\",", "\"inputs2\":{},\"name\":\"k.c\",", 0},
        {"\"components\":[]}}", "\"components\":[]}} ", 0},
        {"\"components\":[]}}", "\"components\":[]}}}", 0},
        {"\"components\":[]}}", "\"components\":[]},}", 0},
    };
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slw_contract *contract = NULL;
        char *text = edited(cases[i].from, cases[i].to);
        const slw_code rc = read_text(text, &contract);
        ck_assert_msg(rc == (cases[i].ok ? SLW_OK : SLW_E_INVALID_METADATA), "%zu: %s %s", i, slw_code_name(rc), text);
        ck_assert_int_eq(contract != NULL, cases[i].ok);
        if (!cases[i].ok) ck_assert_str_eq(world.err.path, SLWI_ENTRY_DOCUMENT_NAME);
        slwi_contract_free(&libc, &contract);
        free(text);
    }
}
END_TEST

/* A place is one of the whole text, also behind what was passed over. */
START_TEST(places_are_of_the_whole_document) {
    slw_contract *contract = NULL;
    char *text = edited("\"schema\":1,\"target\"", "\"schema\":01,\"target\"");
    char *longer = edited("\"name\":\"k.c\",", "\"inputs\":{\"x\":[1,2,3]},\"name\":\"k.c\",");
    char *at = strstr(longer, "\"schema\":1,\"target\"");
    ck_assert_ptr_nonnull(at);
    at[9] = '+';
    ck_code(read_text(text, &contract), SLW_E_INVALID_METADATA);
    ck_code(read_text(longer, &contract), SLW_E_INVALID_METADATA);
    ck_assert_uint_eq(world.err.offset_bytes, (uint64_t)(at + 9 - longer));
    free(text);
    free(longer);
}
END_TEST

START_TEST(every_cut_of_a_document_is_refused) {
    size_t size = 0;
    char *text = document_of(&kit_contract, &size);
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    for (size_t cut = 0; cut < size; cut++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        ck_assert_int_ne(slwi_entry_document_contract(&libc, (slw_bytes){text, cut}, &contract, &err), SLW_OK);
        ck_assert_ptr_null(contract);
    }
    free(text);
}
END_TEST

/* ---- hydrating with one
   --------------------------------------------------------------------------------------------- */

START_TEST(launch_binary_is_not_in_the_entry) {
    size_t size = 0;
    char *text = document_of(&kit_contract, &size);
    add_file("other.bin", "x", 1);
    add_file(SLWI_ENTRY_DOCUMENT_NAME, text, size);
    slw_hydrated *hydrated = NULL;
    ck_code(hydrate_files(NULL, NULL, &hydrated), SLW_E_INVALID_METADATA);
    ck_assert_str_eq(world.err.reason, "NO_LAUNCH_BINARY");
    ck_assert_str_eq(world.err.subject, KIT_BINARY);
    free(text);
}
END_TEST

/* Pitfall 27: a corrected reader disagrees with every stored contract; the binary is asked anew. */
START_TEST(pitfall_27_another_reader_revision) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slw_contract *contract = host_contract("kernel.so");
    slw_contract older = *contract;
    slw_kernel_contract kernels[2] = {contract->kernels[0], contract->kernels[1]};
    older.reader_revision += 1000;
    kernels[0].static_shared_bytes = 4096; /* what that reader got wrong */
    older.kernels = kernels;
    size_t size = 0;
    char *text = document_of(&older, &size);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    add_file(SLWI_ENTRY_DOCUMENT_NAME, text, size);
    slw_hydrated *hydrated = NULL;
    slt_ok(hydrate_files(NULL, NULL, &hydrated), &world.err);
    ck_assert_uint_eq(slw_hydrated_contract(hydrated)->reader_revision, contract->reader_revision);
    ck_assert_uint_eq(slw_hydrated_contract(hydrated)->kernels[0].static_shared_bytes, 0);
    slw_hydrated_discard(&hydrated);
    free(text);
    slwi_contract_free(&libc, &contract);
}
END_TEST

/* The same revision is believed at once, and compared as soon as the binary is read. */
START_TEST(a_stored_contract_that_lies) {
    const slw_allocator libc = SLW_ALLOCATOR_INIT;
    slw_contract *contract = host_contract("kernel.so");
    slw_contract lying = *contract;
    slw_kernel_contract kernels[2] = {contract->kernels[0], contract->kernels[1]};
    kernels[0].param_count = 0; /* an argument array one short (pitfall 10) */
    kernels[0].param_bytes = 0;
    lying.kernels = kernels;
    size_t size = 0;
    char *text = document_of(&lying, &size);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    add_file(SLWI_ENTRY_DOCUMENT_NAME, text, size);
    slw_hydrated *hydrated = NULL;
    slw_hydrate_options eager = SLW_HYDRATE_OPTIONS_INIT;
    eager.launch_binary = SLW_HYDRATE_EAGER;
    ck_code(hydrate_files(NULL, &eager, &hydrated), SLW_E_CONTRACT_MISMATCH);
    ck_assert_str_ne(world.err.subject, "");
    slt_ok(hydrate_files(NULL, NULL, &hydrated), &world.err);
    slw_device *host = NULL;
    const slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_ok(slw_device_open(&options, &host, &world.err), &world.err);
    slw_device_loaded *loaded = NULL;
    ck_code(slw_device_load(&hydrated, host, &loaded, &world.err), SLW_E_CONTRACT_MISMATCH);
    ck_assert_ptr_null(loaded);
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(host, &counts, &world.err), &world.err);
    ck_assert_uint_eq(counts.loads, 0); /* no driver was asked */
    slw_hydrated_discard(&hydrated);
    slw_device_close(&host);
    free(text);
    slwi_contract_free(&libc, &contract);
}
END_TEST

/* ---- hydrating without one
   ------------------------------------------------------------------------------------------ */

START_TEST(the_binary_is_recognised) {
    add_file("a.txt", "not a binary", 12);
    add_file("kernel_of_mine", image->image.bytes.data, image->image.bytes.size);
    add_file("z.o", "\177ELF and then nothing", 21);
    slw_hydrated *hydrated = NULL;
    slt_ok(hydrate_files(NULL, NULL, &hydrated), &world.err);
    const slw_contract *contract = slw_hydrated_contract(hydrated);
    ck_assert_str_eq(contract->backend, "host");
    ck_assert_str_eq(contract->launch_binary, "kernel_of_mine");
    slw_bytes bytes = {NULL, 0};
    world.event_count = 0;
    slt_ok(slw_hydrated_payload(hydrated, "kernel_of_mine", &bytes, &world.err), &world.err);
    ck_assert_ptr_null(kit_event_of(&world, SLW_PHASE_PAYLOAD, 0)); /* read already */
    ck_assert_uint_eq(bytes.size, image->image.bytes.size);
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(nothing_is_recognised) {
    add_file("a.txt", "not a binary", 12);
    add_file("empty", "", 0);
    slw_hydrated *hydrated = NULL;
    ck_code(hydrate_files(NULL, NULL, &hydrated), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.reason, "NOT_RECOGNISED");
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.backend = "host";
    ck_code(hydrate_files(NULL, &options, &hydrated), SLW_E_UNSUPPORTED_INPUT);
}
END_TEST

START_TEST(two_are_ambiguous_and_a_name_decides) {
    add_file("one.so", image->image.bytes.data, image->image.bytes.size);
    add_file("two.so", image->image.bytes.data, image->image.bytes.size);
    slw_hydrated *hydrated = NULL;
    ck_code(hydrate_files(NULL, NULL, &hydrated), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.reason, "AMBIGUOUS");
    ck_assert_str_eq(world.err.tried, "one.so\ntwo.so");
    ck_assert_ptr_nonnull(world.err.hint);
    slt_ok(hydrate_files("two.so", NULL, &hydrated), &world.err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->launch_binary, "two.so");
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(the_backends_own_name_decides) {
    add_file("a.so", image->image.bytes.data, image->image.bytes.size);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    slw_hydrated *hydrated = NULL;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.backend = "host";
    slt_ok(hydrate_files(NULL, &options, &hydrated), &world.err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->launch_binary, "kernel.so");
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(a_damaged_binary_says_what_is_wrong) {
    char *damaged = malloc(image->image.bytes.size);
    memcpy(damaged, image->image.bytes.data, image->image.bytes.size);
    add_file("kernel.so", damaged, 200); /* cut after the header */
    slw_hydrated *hydrated = NULL;
    ck_code(hydrate_files(NULL, NULL, &hydrated), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(world.err.phase, "hydrate");
    free(damaged);
}
END_TEST

/* ---- a binary given directly
   ---------------------------------------------------------------------------------------- */

static slw_bytes fixture_bytes(const char *name) {
    size_t size = 0;
    char *data = slt_read_file(slt_fixture(name), &size);
    return (slw_bytes){data, size};
}

#define TRITON_ENTRY "triton/cache-3.9.0/LMGZLHEX3GHOW5OR6QUSP2VYKDG6D65XHHMZ6Q6HCWAUACQGFCPQ/add_kernel"

/* What the launcher has to know and the binary does not say. */
START_TEST(metadata_beside_a_binary_is_joined_with_it) {
    const slw_bytes binary = fixture_bytes(TRITON_ENTRY ".cubin");
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    slt_ok(slw_hydrate_binary(binary, "add_kernel.cubin", NULL, &options, &hydrated, &world.err), &world.err);
    ck_assert_uint_eq(slw_hydrated_contract(hydrated)->kernels[0].warps, 0);
    slw_hydrated_discard(&hydrated);
    const slw_bytes metadata = fixture_bytes(TRITON_ENTRY ".json");
    options.metadata = metadata;
    slt_ok(slw_hydrate_binary(binary, "add_kernel.cubin", NULL, &options, &hydrated, &world.err), &world.err);
    const slw_kernel_contract *kernel = &slw_hydrated_contract(hydrated)->kernels[0];
    ck_assert_uint_ne(kernel->warps, 0);
    ck_assert_int_eq(kernel->params[kernel->param_count - 1].role, SLW_ROLE_PROFILE_SCRATCH);
    slw_hydrated_discard(&hydrated);
    options.metadata = (slw_bytes){"{}", 2};
    ck_code(slw_hydrate_binary(binary, "add_kernel.cubin", NULL, &options, &hydrated, &world.err),
            SLW_E_INVALID_METADATA);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    ck_code(hydrate_files(NULL, &options, &hydrated), SLW_E_USAGE);
    ck_assert_ptr_null(hydrated);
    free((void *)(uintptr_t)binary.data);
    free((void *)(uintptr_t)metadata.data);
}
END_TEST

START_TEST(a_target_chooses_among_images) {
    const slw_bytes fatbin = fixture_bytes("fatbin/k1.fatbin");
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    ck_code(slw_hydrate_binary(fatbin, "k1.fatbin", NULL, &options, &hydrated, &world.err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.reason, "AMBIGUOUS");
    options.target = "sm_90";
    slt_ok(slw_hydrate_binary(fatbin, "k1.fatbin", NULL, &options, &hydrated, &world.err), &world.err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->target, "sm_90");
    slw_hydrated_discard(&hydrated);
    add_file("k1.fatbin", fatbin.data, fatbin.size);
    slt_ok(hydrate_files(NULL, &options, &hydrated), &world.err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->target, "sm_90");
    slw_hydrated_discard(&hydrated);
}
END_TEST

START_TEST(binary_goes_the_whole_way) {
    slw_hydrated *hydrated = NULL;
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.metrics = world.metrics;
    slt_ok(slw_hydrate_binary(image->image.bytes, "given.so", &world.heap.allocator, &options, &hydrated, &world.err),
           &world.err);
    ck_assert_str_eq(slw_hydrated_contract(hydrated)->launch_binary, "given.so");
    slw_bytes bytes = {NULL, 0};
    slt_ok(slw_hydrated_payload(hydrated, "given.so", &bytes, &world.err), &world.err);
    ck_assert_ptr_ne(bytes.data, image->image.bytes.data); /* a copy of our own */
    ck_assert_mem_eq(bytes.data, image->image.bytes.data, bytes.size);
    ck_code(slw_hydrated_payload(hydrated, "other", &bytes, &world.err), SLW_E_MISS);
    ck_assert_uint_le(slw_hydrated_overhead_bytes(hydrated), 4096);
    slw_device *host = NULL;
    slw_device_loaded *loaded = NULL;
    slw_launchable *launchable = NULL;
    const slw_device_options device_options = SLW_DEVICE_OPTIONS_INIT;
    slt_ok(slw_device_open(&device_options, &host, &world.err), &world.err);
    slt_ok(slw_device_load(&hydrated, host, &loaded, &world.err), &world.err);
    const slw_launch_shape shape = kit_shape("first", 1);
    slt_ok(slw_make_launchable(&loaded, &shape, &launchable, &world.err), &world.err);
    uint64_t sum = 41;
    uint64_t *pointer = &sum;
    void *values[1] = {&pointer};
    const slw_grid grid = kit_grid(1, 1, 1);
    slt_ok(kit_launch(&world, launchable, &grid, 1, values), &world.err);
    ck_assert_uint_eq(sum, 42);
    ck_assert_str_eq(kit_event_of(&world, SLW_PHASE_FIRST_LAUNCH, 0)->key, "");
    slw_launchable_discard(&launchable);
    slw_device_close(&host);
}
END_TEST

START_TEST(binary_refusals) {
    slw_hydrated *hydrated = NULL;
    const slw_bytes none = {NULL, 0};
    const slw_bytes text = {"hello", 5};
    const slw_allocator half = {NULL, no_memory_at_all, NULL, NULL};
    ck_code(slw_hydrate_binary(none, "n", NULL, NULL, &hydrated, &world.err), SLW_E_USAGE);
    ck_code(slw_hydrate_binary(text, "n", NULL, NULL, (slw_hydrated **)NULL, &world.err), SLW_E_USAGE);
    ck_code(slw_hydrate_binary(text, "n", &half, NULL, &hydrated, &world.err), SLW_E_USAGE);
    ck_code(slw_hydrate_binary(text, "n", NULL, NULL, &hydrated, &world.err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_str_eq(world.err.subject, "n");
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    options.backend = "host";
    ck_code(slw_hydrate_binary(text, NULL, NULL, &options, &hydrated, &world.err), SLW_E_INVALID_BINARY);
    ck_assert_ptr_null(hydrated);
}
END_TEST

START_TEST(binary_without_memory) {
    const uint64_t blocks = world.heap.live_blocks;
    for (uint64_t n = 1;; n++) {
        slw_hydrated *hydrated = NULL;
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc =
            slw_hydrate_binary(image->image.bytes, "given.so", &world.heap.allocator, NULL, &hydrated, &world.err);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        ck_code(rc, met ? SLW_E_NO_MEMORY : SLW_OK);
        slw_hydrated_discard(&hydrated);
        ck_assert_uint_eq(world.heap.live_blocks, blocks);
        if (!met) break;
        ck_assert_uint_lt(n, 500);
    }
}
END_TEST

/* Recognising and deriving allocate too: every allocation of a hydration without a document fails once. */
START_TEST(hydration_without_memory) {
    add_file("a.txt", "not a binary", 12);
    add_file("kernel.so", image->image.bytes.data, image->image.bytes.size);
    slw_cached *cached = entry_of_files(NULL);
    for (uint64_t n = 1;; n++) {
        slw_hydrated *hydrated = NULL;
        slw_cached *before = cached;
        slt_heap_reset(&world.heap);
        world.heap.fail_at = n;
        const slw_code rc = slw_hydrate(&cached, NULL, &hydrated, &world.err);
        const int met = world.heap.failed > 0;
        world.heap.fail_at = 0;
        if (rc == SLW_OK) {
            slw_hydrated_discard(&hydrated);
            ck_assert(!met);
            break;
        }
        ck_code(rc, SLW_E_NO_MEMORY);
        ck_assert_ptr_eq(cached, before);
        ck_assert_ptr_null(hydrated);
        ck_assert_uint_lt(n, 500);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle documents and binaries");
    TCase *c = tcase_create("documents");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, document_round_trip);
    tcase_add_loop_test(c, document_refusals, 0, (int)(sizeof edits / sizeof *edits));
    tcase_add_test(c, document_that_is_none);
    tcase_add_test(c, another_schema_reads_the_binary);
    tcase_add_test(c, what_only_an_explanation_reads_is_passed_over);
    tcase_add_test(c, places_are_of_the_whole_document);
    tcase_add_test(c, every_cut_of_a_document_is_refused);
    tcase_add_test(c, launch_binary_is_not_in_the_entry);
    tcase_add_test(c, pitfall_27_another_reader_revision);
    tcase_add_test(c, a_stored_contract_that_lies);
    tcase_add_test(c, the_binary_is_recognised);
    tcase_add_test(c, nothing_is_recognised);
    tcase_add_test(c, two_are_ambiguous_and_a_name_decides);
    tcase_add_test(c, the_backends_own_name_decides);
    tcase_add_test(c, a_damaged_binary_says_what_is_wrong);
    tcase_add_test(c, metadata_beside_a_binary_is_joined_with_it);
    tcase_add_test(c, a_target_chooses_among_images);
    tcase_add_test(c, binary_goes_the_whole_way);
    tcase_add_test(c, binary_refusals);
    tcase_add_test(c, binary_without_memory);
    tcase_add_test(c, hydration_without_memory);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
