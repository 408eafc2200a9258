/* Streams that capture, and figures beside the image's, as the doubles give them to whoever asks directly. */
#include <stdlib.h>
#include <string.h>

#include "double_loader.h"

/* The calls of both that are alike, by the doubles' own names. */
static slt_double d;
static int (*init)(unsigned);
static int (*stream_create)(void **, unsigned);
static int (*stream_destroy)(void *);
static int (*stream_query)(void *);
static int (*stream_synchronize)(void *);
static int (*stream_capturing)(void *, int *);
static int (*event_create)(void **, unsigned);
static int (*event_destroy)(void *);
static int (*event_record)(void *, void *);
static int (*event_query)(void *);
static int (*synchronize)(void);
static int (*module_load)(void **, const void *);
static int (*module_unload)(void *);
static int (*function_get)(void **, void *, const char *);
static int (*function_attribute)(int *, int, void *);
static int (*retain)(void **, int); /* cuda */
static int (*release)(int);
static int (*push)(void *);
static int (*pop)(void **);

static void find(const char *cuda, const char *hip, void *out) {
    const char *const name = d.kind[0] == 'c' ? cuda : hip;
    void *const found = name == NULL ? NULL : slt_double_symbol(&d, name);
    memcpy(out, &found, sizeof found);
}

static void start(int kind) {
    void *context = NULL;
    slt_double_open(&d, kind == 0 ? "cuda" : "hip");
    find("cuInit", "hipInit", &init);
    find("cuStreamCreate", "hipStreamCreateWithFlags", &stream_create);
    find("cuStreamDestroy_v2", "hipStreamDestroy", &stream_destroy);
    find("cuStreamQuery", "hipStreamQuery", &stream_query);
    find("cuStreamSynchronize", "hipStreamSynchronize", &stream_synchronize);
    find("cuStreamIsCapturing", "hipStreamIsCapturing", &stream_capturing);
    find("cuEventCreate", "hipEventCreateWithFlags", &event_create);
    find("cuEventDestroy_v2", "hipEventDestroy", &event_destroy);
    find("cuEventRecord", "hipEventRecord", &event_record);
    find("cuEventQuery", "hipEventQuery", &event_query);
    find("cuCtxSynchronize", "hipDeviceSynchronize", &synchronize);
    find("cuModuleLoadData", "hipModuleLoadData", &module_load);
    find("cuModuleUnload", "hipModuleUnload", &module_unload);
    find("cuModuleGetFunction", "hipModuleGetFunction", &function_get);
    find("cuFuncGetAttribute", "hipFuncGetAttribute", &function_attribute);
    find("cuDevicePrimaryCtxRetain", NULL, &retain);
    find("cuDevicePrimaryCtxRelease_v2", NULL, &release);
    find("cuCtxPushCurrent_v2", NULL, &push);
    find("cuCtxPopCurrent_v2", NULL, &pop);
    ck_assert_int_eq(init(0), 0);
    if (kind != 0) return;
    ck_assert_int_eq(retain(&context, 0), 0);
    ck_assert_int_eq(push(context), 0);
}
static void stop(void) {
    if (pop != NULL) ck_assert_int_eq(pop(NULL), 0);
    if (release != NULL) ck_assert_int_eq(release(0), 0);
    slt_double_check(&d);
}

/* Each call that asks or waits is told 900, 906 or 907, and has ended the capture; to ask whether it captures has not. */
START_TEST(a_capture_is_ended_by_waiting) {
    start(_i);
    void *stream = NULL, *other = NULL, *event = NULL;
    int capturing = 7;
    ck_assert_int_eq(stream_create(&stream, 0), 0);
    ck_assert_int_eq(stream_create(&other, 0), 0);
    ck_assert_int_eq(event_create(&event, 2), 0);
    ck_assert_int_eq(stream_capturing(stream, &capturing), 0);
    ck_assert_int_eq(capturing, 0);
    d.control->set(DOUBLE_CAPTURING_STREAM, (long)(intptr_t)stream);
    ck_assert_int_eq(stream_capturing(stream, &capturing), 0);
    ck_assert_int_eq(capturing, 1);
    ck_assert_int_eq(stream_capturing(other, &capturing), 0);
    ck_assert_int_eq(capturing, 0);
    ck_assert_int_eq(stream_capturing(NULL, &capturing), 906);
    ck_assert_int_eq(stream_query(other), 0);
    ck_assert_int_eq(event_record(event, other), 0);
    ck_assert_int_eq(event_query(event), 0);
    ck_assert_int_eq(event_record(event, stream), 0); /* recorded as a node */
    ck_assert_int_eq(d.control->get(DOUBLE_CAPTURES_BROKEN), 0);
    ck_assert_int_eq(event_query(event), 907);
    ck_assert_int_eq(event_record(event, NULL), 906);
    ck_assert_int_eq(stream_query(stream), 900);
    ck_assert_int_eq(stream_synchronize(stream), 900);
    ck_assert_int_eq(synchronize(), 900);
    ck_assert_int_eq(d.control->get(DOUBLE_CAPTURES_BROKEN), 5);
    d.control->set(DOUBLE_CAPTURING_STREAM, 0);
    ck_assert_int_eq(synchronize(), 0);
    ck_assert_int_eq(event_destroy(event), 0);
    ck_assert_int_eq(stream_destroy(stream), 0);
    ck_assert_int_eq(stream_destroy(other), 0);
    stop();
}
END_TEST

/* Attributes 0, 1, 3 and 4 of both: most threads, static shared and local bytes, registers. */
static void ask(const char *image, int out[4]) {
    static const int which[] = {0, 1, 3, 4};
    void *module = NULL, *function = NULL;
    ck_assert_int_eq(module_load(&module, image), 0);
    ck_assert_int_eq(function_get(&function, module, "second"), 0);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(function_attribute(&out[i], which[i], function), 0);
    ck_assert_int_eq(module_unload(module), 0);
}

START_TEST(figures_beside_the_images) {
    start(_i);
    char *const image =
        slt_read_file(slt_fixture(_i == 0 ? "doubles/pair_sm90.cubin" : "doubles/pair_gfx942.hsaco"), NULL);
    int before[4], after[4];
    ask(image, before);
    ck_assert_int_eq(before[0], 1024);
    ck_assert_int_eq(before[1], 64);
    d.control->set(DOUBLE_MORE_REGISTERS, 3);
    d.control->set(DOUBLE_MORE_LOCAL, 16);
    d.control->set(DOUBLE_MORE_SHARED, 32);
    d.control->set(DOUBLE_FEWER_THREADS, 128);
    ask(image, after);
    ck_assert_int_eq(after[0], 128);
    ck_assert_int_eq(after[1], 96);
    ck_assert_int_eq(after[2], before[2] + 16);
    ck_assert_int_eq(after[3], before[3] + 3);
    free(image);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("doubles that capture, and tell other figures");
    TCase *tcase = tcase_create("capture");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_capture_is_ended_by_waiting, 0, 2);
    tcase_add_loop_test(tcase, figures_beside_the_images, 0, 2);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
