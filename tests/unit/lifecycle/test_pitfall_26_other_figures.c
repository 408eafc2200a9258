/* Pitfall 26: the driver measures other figures than the binary says (it compiled PTX, or took another image). What
 * fits is checked again with them; only what does not fit, and parameters in another order, are refused. */
#include <stdio.h>

#include "double_kit.h"
#include "modules.h"
#include "null_driver.h"

#define CHECK "tests/gpu/kernels/check_sm90.cubin"

static dk world;
static slt_null null;

/* The null driver measures the contract's registers and so many more. */
static slw_device_loaded *load_null(unsigned more_registers) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device_loaded *loaded = NULL;
    slt_ok(slw_device_free(world.device, &world.out, &world.err), &world.err);
    slw_device_close(&world.device);
    slt_null_init(&null);
    (void)snprintf(null.info.kind, sizeof null.info.kind, "cuda");
    (void)snprintf(null.info.target, sizeof null.info.target, "sm_90");
    atomic_store(&null.more_registers, more_registers);
    slt_null_use(&null, &options);
    options.allocator = world.heap.allocator;
    slt_ok(slw_device_open(&options, &world.device, &world.err), &world.err);
    slw_hydrated *hydrated = dk_hydrate(&world, CHECK, NULL);
    slt_ok(slw_device_load(&hydrated, world.device, &loaded, &world.err), &world.err);
    return loaded;
}

static void setup(void) {
    dk_open(&world);
}
static void teardown(void) {
    dk_close(&world);
}

/* first has 8 registers by the binary. With 66 (72 of the file a thread) 896 threads fit, and 928 do not. */
START_TEST(more_registers) {
    slw_device_loaded *loaded = load_null(58);
    slw_launch_shape shape = dk_shape("first", 896);
    slw_launchable *launchable = NULL;
    slt_ok(dk_try_make(&world, loaded, &shape, &launchable), &world.err);
    slw_launchable_discard(&launchable);
    shape = dk_shape("first", 928);
    ck_assert_int_eq(dk_try_make(&world, loaded, &shape, &launchable), SLW_E_OUT_OF_RESOURCES);
    ck_assert_str_eq(world.err.resource, "registers");
    ck_assert_str_eq(world.err.phase, "make_launchable");
    ck_assert_str_eq(world.err.kernel, "first");
    ck_assert_uint_eq(dk_counts(&world).failures_remembered, 0); /* a shape was refused, not the image */
    slw_function_attributes measured = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slw_device_loaded_attributes(loaded, "first", &measured, &world.err), &world.err);
    ck_assert_uint_eq(measured.registers, 66);
    ck_assert_uint_eq(slw_contract_find(slw_device_loaded_contract(loaded), "first")->registers, 8);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* PTX has no registers; the driver's compiler gives some, and everything goes on. */
START_TEST(compiled_by_the_driver) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_ok(slw_device_free(world.device, &world.out, &world.err), &world.err);
    slw_device_close(&world.device);
    slt_double_use(&world.d, &options);
    options.allocator = world.heap.allocator;
    options.allow_ptx = 1;
    slt_ok(slw_device_open(&options, &world.device, &world.err), &world.err);
    slt_ok(slw_device_alloc(world.device, sizeof(uint64_t), &world.out, &world.err), &world.err);
    slw_device_loaded *loaded = dk_load(&world, "tests/gpu/kernels/check.ptx", NULL);
    slw_function_attributes measured = SLW_FUNCTION_ATTRIBUTES_INIT;
    slt_ok(slw_device_loaded_attributes(loaded, "first", &measured, &world.err), &world.err);
    ck_assert_uint_gt(measured.registers, 0);
    slw_launchable *launchable = dk_make(&world, loaded, "first", 256);
    const uint64_t zero = 0;
    void *values[] = {&world.out};
    slt_ok(slw_device_copy_in(world.device, world.out, &zero, sizeof zero, &world.err), &world.err);
    slt_ok(dk_launch(&world, launchable, 10, 1, values), &world.err);
    ck_assert_uint_eq(dk_read(&world), 55);
    slw_launchable_discard(&launchable);
    slw_device_loaded_discard(&loaded);
}
END_TEST

/* The double's own reader has the last word on parameters: a contract that says otherwise than the binary is no
   launch. */
static slw_code load_with(uint32_t offset_bytes, uint32_t size_bytes, uint32_t count) {
    slw_param *const params = calloc(count, sizeof *params);
    slw_kernel_contract *const kernel = calloc(1, sizeof *kernel);
    size_t size = 0;
    char *const bytes = slt_read_file(slt_repository("tests/gpu/kernels/number_sm90.cubin"), &size);
    for (uint32_t i = 0; i < count; i++)
        params[i] = (slw_param){.offset_bytes = 8 * i, .size_bytes = 8, .alignment_bytes = 8};
    params[1].offset_bytes = offset_bytes;
    params[1].size_bytes = size_bytes;
    *kernel = (slw_kernel_contract){
        .name = strdup("number"), .params = params, .param_count = count, .param_bytes = 8 * count, .ctas = 1};
    slt_image *image = slt_image_of_kernels(bytes, size, kernel, 1);
    image->contract.kind = SLW_IMAGE_CUBIN;
    slwi_module *module = NULL;
    void *function = NULL;
    slt_ok(slwi_module_load(world.device, &image->image, NULL, &module, &world.err), &world.err);
    const slw_code code = slwi_module_function(module, &image->contract.kernels[0], &function, NULL, &world.err);
    slwi_module_unload_or_release(&module);
    slt_image_free(image);
    return code;
}

START_TEST(another_layout) {
    slt_ok(load_with(8, 8, 2), &world.err);
    ck_assert_int_eq(load_with(8, 4, 2), SLW_E_CONTRACT_MISMATCH);
    ck_assert_int_eq(load_with(16, 8, 2), SLW_E_CONTRACT_MISMATCH);
    ck_assert_int_eq(load_with(8, 8, 3), SLW_E_CONTRACT_MISMATCH);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lifecycle pitfall 26");
    TCase *c = tcase_create("other figures");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, more_registers);
    tcase_add_test(c, compiled_by_the_driver);
    tcase_add_test(c, another_layout);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
