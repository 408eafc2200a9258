/* Pitfall 13: a device's failure taken for the image's. Remembered is what the driver blames on the bytes, per context
 * and digest: 200, 209, 218, 222 with the context healthy afterwards; nothing else, or a good entry is refused for ever.
 * Refusals of our own are found anew each time, without the driver: they are about a contract, of which one image may
 * have several. */
#include <stdio.h>

#include "double_kit.h"

#define GOOD "tests/gpu/kernels/number_sm90.cubin"
#define PTX  "tests/gpu/kernels/check.ptx"
#define TRITON                                                                                                         \
    "tests/fixtures/triton/cache-3.2.0/5LT7HwvoxThOW9-xXnBIchfkE0_VBOzpnPwPTgyjbt4/add_kernel" /* for sm_90 */

static dk world;

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

static slw_code try_load(slw_hydrated *hydrated, slw_device *device) {
    slw_hydrated *share = NULL;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_hydrated_share(hydrated, &share, &world.err), &world.err);
    const slw_code code = slw_device_load(&share, device, &loaded, &world.err);
    ck_assert_int_eq(share == NULL, code == SLW_OK);
    slw_hydrated_discard(&share);
    slw_device_loaded_discard(&loaded);
    return code;
}

/* The driver gives each code once; the next attempt shows whether it was remembered. */
static const struct {
    int raw;
    slw_code code;
    int remembered;
} answers[] = {
    {200, SLW_E_INVALID_BINARY, 1}, {209, SLW_E_TARGET_MISMATCH, 1},
    {218, SLW_E_INVALID_PTX, 1},    {222, SLW_E_TARGET_MISMATCH, 1},
    {1, SLW_E_DRIVER, 0},           {2, SLW_E_DRIVER, 0},
    {221, SLW_E_DRIVER, 0},         {223, SLW_E_DRIVER, 0},
    {900, SLW_E_DRIVER, 0},         {999, SLW_E_DRIVER, 0},
};

START_TEST(what_is_remembered) {
    slw_hydrated *hydrated = dk_hydrate(&world, GOOD, NULL);
    ck_assert_int_eq(world.d.control->inject("cuModuleLoadData", 1, answers[_i].raw, 1), 1);
    const slw_code first = try_load(hydrated, world.device);
    ck_assert_int_ne(first, SLW_OK);
    ck_assert_int_eq(world.err.raw_code, answers[_i].raw);
    if (answers[_i].code != SLW_E_DRIVER) ck_assert_int_eq(first, answers[_i].code);
    ck_assert_uint_eq(dk_counts(&world).failures_remembered, answers[_i].remembered);
    world.d.control->log_clear();
    const slw_code second = try_load(hydrated, world.device);
    if (answers[_i].remembered) {
        ck_assert_int_eq(second, first); /* as it was, and the driver is not asked */
        ck_assert_int_eq(world.err.raw_code, answers[_i].raw);
        ck_assert_uint_eq(world.d.control->count(NULL), 0);
        slw_hydrated_forget_failure(hydrated, world.device);
        slt_ok(try_load(hydrated, world.device), &world.err);
    } else {
        slt_ok(second, &world.err);
    }
    ck_assert_uint_eq(dk_counts(&world).failures_remembered, 0);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* A sticky error that surfaces at a load is the device's, whatever the image. */
START_TEST(a_dead_context_blames_no_image) {
    slw_hydrated *hydrated = dk_hydrate(&world, GOOD, NULL);
    ck_assert_int_eq(world.d.control->inject("cuModuleLoadData", 1, 700, 1), 1);
    ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_LOST);
    ck_assert_uint_eq(dk_counts(&world).failures_remembered, 0);
    world.d.control->log_clear();
    ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_LOST);
    ck_assert_uint_eq(world.d.control->count(NULL), 0);
    slw_hydrated_discard(&hydrated);
    slw_device_close(&world.device); /* with its memory: the context is gone */
    world.out = 0;
    slt_gpu_open(&world.d, "cuda", 0, &world.heap.allocator, &world.device);
    hydrated = dk_hydrate(&world, GOOD, NULL);
    slt_ok(try_load(hydrated, world.device), &world.err);
    slw_hydrated_discard(&hydrated);
}
END_TEST

/* The driver blames the image, and then even an event cannot be made: the context was sick, and the image is not held
   to it. */
START_TEST(blamed_by_a_sick_context) {
    slw_hydrated *hydrated = dk_hydrate(&world, GOOD, NULL);
    ck_assert_int_eq(world.d.control->inject("cuModuleLoadData", 1, 200, 1), 1);
    ck_assert_int_eq(world.d.control->inject("cuEventCreate", 1, 719, 1), 1);
    ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_LOST);
    ck_assert_uint_eq(dk_counts(&world).failures_remembered, 0);
    slw_hydrated_discard(&hydrated);
    world.out = 0; /* goes with the context */
}
END_TEST

/* One device's verdict is not another's, though the bytes are the same. */
START_TEST(per_context_and_digest) {
    slw_device *other = NULL;
    slt_gpu_open(&world.d, "cuda", 0, &world.heap.allocator, &other);
    slw_hydrated *hydrated = dk_hydrate(&world, GOOD, NULL);
    slw_hydrated *good = dk_hydrate(&world, "tests/gpu/kernels/check_sm90.cubin", NULL);
    ck_assert_int_eq(world.d.control->inject("cuModuleLoadData", 1, 200, 1), 1);
    ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_INVALID_BINARY);
    slt_ok(try_load(hydrated, other), &world.err);
    slt_ok(try_load(good, world.device), &world.err);
    ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_INVALID_BINARY);
    slw_hydrated_discard(&hydrated);
    slw_hydrated_discard(&good);
    slw_device_close(&other);
}
END_TEST

/* Ours: another architecture, and PTX where it is not allowed. The driver is not asked the first time either. */
START_TEST(our_own_refusals) {
    static const struct {
        const char *path;
        const char *reason;
    } refused[] = {{"tests/gpu/kernels/number_sm80.cubin", NULL}, {PTX, "PTX_NOT_ALLOWED"}};
    for (unsigned i = 0; i < 2; i++) {
        slw_hydrated *hydrated = dk_hydrate(&world, refused[i].path, NULL);
        world.d.control->log_clear();
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(try_load(hydrated, world.device), SLW_E_TARGET_MISMATCH);
            if (refused[i].reason != NULL) ck_assert_str_eq(world.err.reason, refused[i].reason);
            ck_assert_uint_eq(dk_counts(&world).failures_remembered, 0);
        }
        ck_assert_uint_eq(world.d.control->count(NULL), 0);
        slw_hydrated_discard(&hydrated);
    }
}
END_TEST

static slw_hydrated *hydrate_bytes(slw_bytes binary, slw_bytes metadata, const char *target) {
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    slw_hydrated *hydrated = NULL;
    options.metadata = metadata;
    options.target = target;
    slt_ok(slw_hydrate_binary(binary, "a binary", &world.heap.allocator, &options, &hydrated, &world.err), &world.err);
    return hydrated;
}

/* One fatbin, two of its images: that the one is refused says nothing of the other. */
START_TEST(a_refused_target_is_not_the_fatbins) {
    size_t size = 0;
    char *const bytes = slt_read_file(slt_repository("tests/fixtures/fatbin/k1.fatbin"), &size);
    slw_hydrated *wrong = hydrate_bytes((slw_bytes){bytes, size}, (slw_bytes){NULL, 0}, "sm_80");
    slw_hydrated *right = hydrate_bytes((slw_bytes){bytes, size}, (slw_bytes){NULL, 0}, "sm_90");
    ck_assert_int_eq(try_load(wrong, world.device), SLW_E_TARGET_MISMATCH);
    slt_ok(try_load(right, world.device), &world.err);
    ck_assert_int_eq(try_load(wrong, world.device), SLW_E_TARGET_MISMATCH); /* nor is its being loaded a reason */
    slw_hydrated_discard(&wrong);
    slw_hydrated_discard(&right);
    free(bytes);
}
END_TEST

/* One cubin, two metadata: the one that asks for too much is refused, and only that one. */
START_TEST(refused_metadata_is_not_the_cubins) {
    size_t size = 0, text_size = 0;
    char *const bytes = slt_read_file(slt_repository(TRITON ".cubin"), &size);
    char *const text = slt_read_file(slt_repository(TRITON ".json"), &text_size);
    static const char said[] = "\"shared\": 0", asked[] = "\"shared\": 999999";
    const char *const at = strstr(text, said);
    ck_assert_ptr_nonnull(at);
    char greedy[8192];
    const int greedy_size =
        snprintf(greedy, sizeof greedy, "%.*s%s%s", (int)(at - text), text, asked, at + strlen(said));
    slw_hydrated *wrong = hydrate_bytes((slw_bytes){bytes, size}, (slw_bytes){greedy, (size_t)greedy_size}, "sm_90");
    slw_hydrated *right = hydrate_bytes((slw_bytes){bytes, size}, (slw_bytes){text, text_size}, "sm_90");
    ck_assert_int_eq(try_load(wrong, world.device), SLW_E_OUT_OF_RESOURCES);
    ck_assert_uint_eq(world.err.required, 999999);
    slt_ok(try_load(right, world.device), &world.err);
    slw_hydrated_discard(&wrong);
    slw_hydrated_discard(&right);
    free(bytes);
    free(text);
}
END_TEST

/* The second time the compiler's words are there too, with a buffer and without. */
START_TEST(the_compilers_log_is_remembered) {
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k()\n{\n not_an_instruction;\n ret;\n}\n";
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    char words[2][512] = {"", ""};
    options.allocator = world.heap.allocator;
    options.kind = "cuda";
    options.driver_library = world.d.path;
    options.allow_ptx = 1;
    slt_ok(slw_device_open(&options, &device, &world.err), &world.err);
    slw_hydrated *hydrated = hydrate_bytes((slw_bytes){text, strlen(text)}, (slw_bytes){NULL, 0}, NULL);
    for (int i = 0; i < 2; i++) {
        world.err.diagnostics = words[i];
        world.err.diagnostics_capacity = sizeof words[i];
        ck_assert_int_eq(try_load(hydrated, device), SLW_E_INVALID_PTX);
        ck_assert_ptr_nonnull(strstr(words[i], "not_an_instruction"));
        ck_assert_ptr_nonnull(strstr(world.err.message, "not_an_instruction"));
    }
    ck_assert_str_eq(words[0], words[1]);
    ck_assert_uint_eq(world.d.control->count("cuModuleLoadDataEx"), 1);
    world.err.diagnostics = NULL;
    world.err.diagnostics_capacity = 0;
    ck_assert_int_eq(try_load(hydrated, device), SLW_E_INVALID_PTX);
    slw_hydrated_discard(&hydrated);
    slw_device_close(&device);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 13");
    TCase *c = tcase_create("remembered");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, what_is_remembered, 0, (int)(sizeof answers / sizeof answers[0]));
    tcase_add_test(c, a_dead_context_blames_no_image);
    tcase_add_test(c, blamed_by_a_sick_context);
    tcase_add_test(c, per_context_and_digest);
    tcase_add_test(c, our_own_refusals);
    tcase_add_test(c, a_refused_target_is_not_the_fatbins);
    tcase_add_test(c, refused_metadata_is_not_the_cubins);
    tcase_add_test(c, the_compilers_log_is_remembered);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
