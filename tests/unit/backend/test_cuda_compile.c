/* CUDA C and PTX through compile(), with the real nvcc and ptxas where they are installed: cold, hot, refused. */
#include "cuda_fixture.h"

static cuda_world *world;

static void setup(void) {
    world = malloc(sizeof(*world));
    ck_assert_ptr_nonnull(world);
    cuda_open(world);
}

static void teardown(void) {
    cuda_close(world);
    free(world);
}

static const char kernel[] = "extern \"C\" __global__ void scale(float *data, int count, float factor) {\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < count) data[i] *= factor;\n"
                             "}\n";

START_TEST(cold_then_hot) {
    cuda_expect(world, cuda_compile_for(world, kernel, "scale.cu", "sm_90"), SLW_OK);
    ck_assert_msg(world->report.disposition == SLW_PUBLISHED, "%s", world->report.reason);
    size_t size;
    char *ptx = cuda_payload(world, "kernel.ptx", &size);
    ck_assert_ptr_nonnull(strstr(ptx, ".target sm_90"));
    free(ptx);
    free(cuda_payload(world, "kernel.cubin", &size));
    cuda_expect(world, cuda_compile_for(world, kernel, "scale.cu", "sm_90"), SLW_OK);
    ck_assert_int_eq(world->report.disposition, SLW_HIT);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("backend/cuda_compile");
    TCase *c = tcase_create("nvcc");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, cold_then_hot);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return cuda_main(suite());
}
