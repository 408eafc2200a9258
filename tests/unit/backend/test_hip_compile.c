/* compile() with the hip backend over a real store: cold, hot, and what the contract says. */
#include "hip_compile.h"

static hipc world;

static void setup(void) {
    hipc_setup(&world);
}

static void teardown(void) {
    hipc_teardown(&world);
}

START_TEST(cold_then_hot) {
    if (!hipc_ready(&world, "cold_then_hot")) return;
    slw_source source = SLW_SOURCE_INIT;
    source.path = slt_fixture("hip_src/reduce.cl");
    slt_ok(slw_identity_usable(slw_compiler_identity(world.compiler), &world.err), &world.err);
    slw_cached *cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_PUBLISHED);
    char key[SLW_DIGEST_TEXT_SIZE];
    hipc_copy(key, sizeof key, slw_key_digest(slw_cached_key(cached)));
    ck_assert_uint_eq(slw_cached_file_count(cached), 3); /* kernel.hsaco, kernel.ll, slipway.json */
    ck_assert_str_eq(slw_spec_keep(slw_cached_spec(cached)), "kernel.hsaco");
    slw_hydrated *hydrated = NULL;
    const slw_contract *contract = hipc_hydrate(&world, &cached, &hydrated);
    ck_assert_str_eq(contract->backend, "hip");
    ck_assert_str_eq(contract->target, "gfx90a");
    ck_assert_int_eq(contract->kind, SLW_IMAGE_HSACO);
    const slw_kernel_contract *kernel = slw_contract_find(contract, "reduce");
    ck_assert_ptr_nonnull(kernel);
    ck_assert_uint_eq(kernel->static_shared_bytes, 1024);
    ck_assert_uint_eq(kernel->max_threads, 256);
    ck_assert_uint_eq(kernel->required_threads[0], 256);
    slw_hydrated_discard(&hydrated);

    const uint64_t processes = slwi_process_count();
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    ck_assert_str_eq(slw_key_digest(slw_cached_key(cached)), key);
    slw_cached_discard(&cached);

    /* In a compiler of its own, with a search path that leads nowhere, still without a process. */
    char path[4096];
    hipc_copy(path, sizeof path, slw_compiler_path(world.compiler));
    slt_ok(hipc_open(&world, path, "/nonexistent"), &world.err);
    cached = hipc_compile_ok(&world, &source, "gfx90a", NULL, SLW_HIT);
    ck_assert_uint_eq(slwi_process_count(), processes);
    slw_cached_discard(&cached);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/hip_compile");
    TCase *tcase = tcase_create("compile");
    tcase_set_timeout(tcase, 240);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, cold_then_hot);
    suite_add_tcase(suite, tcase);
    return hipc_run(suite);
}
