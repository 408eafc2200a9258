/* Finding libcuda and its symbols: by an injected loader over functions that do nothing but answer. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_driver.h"
#include "fault_alloc.h"
#include "slt.h"

static slw_error err;
static slt_heap heap;

/* ---- A library that answers ------------------------------------------------------------------------------------ */

static int answer;      /* of every function */
static int init_answer; /* of cuInit */
static unsigned init_calls, all_calls;
static const char *hidden;   /* this exported name is missing */
static const char *only;     /* nothing but this one is there */
static const char *withheld; /* cuGetProcAddress says "success" for it and gives nothing */
static int newest;           /* the newest version it gives; 0: any */
static int has_v2, has_v1;   /* which cuGetProcAddress is there */
static unsigned pinned;      /* symbols asked for by version */
static char opened[512];     /* names, each with a space behind it */
static int handle;           /* its address is the library's */
static int opens;            /* 1: the library can be opened */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define FAKE(name, version, exported, parameters)                                                                      \
    static slwi_cu_result fake_##name parameters {                                                                     \
        all_calls++;                                                                                                   \
        if (strcmp(#name, "cuInit") == 0) {                                                                            \
            init_calls++;                                                                                              \
            return init_answer;                                                                                        \
        }                                                                                                              \
        return answer;                                                                                                 \
    }
SLWI_CUDA_SYMBOLS(FAKE, FAKE)
#pragma GCC diagnostic pop

typedef struct fake {
    const char *name, *exported;
    int version, required;
    void (*function)(void);
} fake;
#define REQUIRED(name, version, exported, parameters) {#name, exported, version, 1, (void (*)(void))fake_##name},
#define OPTIONAL(name, version, exported, parameters) {#name, exported, version, 0, (void (*)(void))fake_##name},
static const fake fakes[] = {SLWI_CUDA_SYMBOLS(REQUIRED, OPTIONAL)};
#define FAKES (sizeof fakes / sizeof *fakes)

static void *address_of(void (*function)(void)) {
    void *address = NULL;
    memcpy(&address, &function, sizeof address);
    return address;
}

static slwi_cu_result give(const char *name, void **out, int version, uint64_t flags) {
    ck_assert_uint_eq(flags, 1); /* the default stream is the legacy one, whatever this program was built for */
    *out = NULL;
    pinned++;
    for (size_t i = 0; i < FAKES; i++) {
        if (strcmp(fakes[i].name, name) != 0) continue;
        ck_assert_int_eq(version, fakes[i].version);
        if (newest != 0 && version > newest) return SLWI_CU_INVALID_VALUE;
        if (withheld == NULL || strcmp(withheld, name) != 0) *out = address_of(fakes[i].function);
        return SLWI_CU_SUCCESS;
    }
    ck_abort_msg("nobody declares %s", name);
    return 1;
}

static slwi_cu_result give_v2(const char *name, void **out, int version, uint64_t flags, int *found) {
    *found = 0;
    return give(name, out, version, flags);
}

static void *loader_open(void *context, const char *name, char *why, size_t why_size) {
    ck_assert_ptr_eq(context, &handle);
    const size_t used = strlen(opened);
    snprintf(opened + used, sizeof opened - used, "%s ", name);
    if (opens) return &handle;
    snprintf(why, why_size, "%s: no such luck", name);
    return NULL;
}

static void *loader_symbol(void *context, void *library, const char *name) {
    ck_assert_ptr_eq(context, &handle);
    ck_assert_ptr_eq(library, &handle);
    if (hidden != NULL && strcmp(hidden, name) == 0) return NULL;
    if (only != NULL && strcmp(only, name) != 0) return NULL;
    if (strcmp(name, "cuGetProcAddress_v2") == 0) return has_v2 ? address_of((void (*)(void))give_v2) : NULL;
    if (strcmp(name, "cuGetProcAddress") == 0) return has_v1 ? address_of((void (*)(void))give) : NULL;
    for (size_t i = 0; i < FAKES; i++) {
        if (strcmp(fakes[i].exported, name) == 0) return address_of(fakes[i].function);
    }
    return NULL;
}

static int loader_path(void *context, const void *address, char *out, size_t size) {
    ck_assert_ptr_eq(context, &handle);
    ck_assert_ptr_eq(address, address_of((void (*)(void))fake_cuInit));
    snprintf(out, size, "/where/it/really/lies/libcuda.so.550");
    return 1;
}

static const slw_library_loader loader = {sizeof loader, &handle, loader_open, loader_symbol, loader_path};

static void setup(void) {
    slt_heap_init(&heap);
    err = (slw_error)SLW_ERROR_INIT;
    opens = 1;
    has_v2 = 1;
}

static slw_device_options options(void) {
    slw_device_options made = SLW_DEVICE_OPTIONS_INIT;
    made.kind = "cuda";
    made.loader = &loader;
    made.allocator = heap.allocator;
    return made;
}

static void refused(const slw_device_options *opt, slw_code code, const char *reason) {
    slw_device *device = (slw_device *)(void *)&heap; /* stays as it is */
    opened[0] = '\0';
    ck_assert_msg(slw_device_open(opt, &device, &err) == code, "%s, not %s: %s", slw_code_name(err.code),
                  slw_code_name(code), err.message);
    ck_assert_ptr_eq(device, (void *)&heap);
    if (reason != NULL) ck_assert_str_eq(err.reason, reason);
    slt_heap_check_empty(&heap);
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

START_TEST(list_fills_the_table) {
    slwi_gpu_library library;
    slwi_cuda_api api;
    uint32_t capabilities = 0;
    memset(&api, 0, sizeof api);
    ck_assert_uint_eq(sizeof api, FAKES * sizeof(void *));
    slt_ok(slwi_cuda_library_open(NULL, &loader, &library, &err), &err);
    slt_ok(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), &err);
    for (size_t i = 0; i < FAKES; i++) { /* the table has the order of the list */
        void *address = NULL;
        memcpy(&address, (const char *)&api + i * sizeof address, sizeof address);
        ck_assert_msg(address == address_of(fakes[i].function), "%s", fakes[i].name);
    }
    ck_assert_uint_eq(capabilities, (1u << SLWI_CUDA_OPTIONAL_COUNT) - 1u);
    ck_assert_uint_eq(pinned, FAKES);
    ck_assert_uint_eq(all_calls, 0);
}
END_TEST

/* cuMemAlloc and such without their version are the 32-bit functions of CUDA 2 (device.md A.2). */
START_TEST(list_names_the_version_that_is_declared) {
    static const char *const versioned[] = {"cuCtxPushCurrent",
                                            "cuCtxPopCurrent",
                                            "cuStreamDestroy",
                                            "cuEventDestroy",
                                            "cuMemAlloc",
                                            "cuMemFree",
                                            "cuMemcpyHtoD",
                                            "cuMemcpyDtoH",
                                            "cuModuleGetGlobal",
                                            "cuDeviceTotalMem",
                                            "cuDevicePrimaryCtxRelease"};
    for (size_t i = 0; i < FAKES; i++) {
        char expected[80];
        int is_versioned = 0;
        for (size_t k = 0; k < sizeof versioned / sizeof *versioned; k++) {
            if (strcmp(fakes[i].name, versioned[k]) == 0) is_versioned = 1;
        }
        snprintf(expected, sizeof expected, "%s%s", fakes[i].name, is_versioned ? "_v2" : "");
        ck_assert_str_eq(fakes[i].exported, expected);
        ck_assert_int_lt(fakes[i].version, 13000); /* 13.0 changed signatures under the same name */
    }
}
END_TEST

START_TEST(resolves_without_the_drivers_help) {
    slwi_gpu_library library;
    slwi_cuda_api api;
    uint32_t capabilities = 0;
    for (int v1 = 0; v1 < 2; v1++) {
        has_v2 = 0;
        has_v1 = v1;
        pinned = 0;
        slt_ok(slwi_cuda_library_open(NULL, &loader, &library, &err), &err);
        slt_ok(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), &err);
        ck_assert_uint_eq(pinned, v1 ? FAKES : 0);
        ck_assert_uint_eq(capabilities, (1u << SLWI_CUDA_OPTIONAL_COUNT) - 1u);
        ck_assert_ptr_eq((void *)(uintptr_t)api.cuMemAlloc, (void *)(uintptr_t)fake_cuMemAlloc);
    }
}
END_TEST

/* What a driver says it has not got is not used, though a file exports it. */
START_TEST(older_driver_lacks_abilities_only) {
    slwi_gpu_library library;
    slwi_cuda_api api;
    uint32_t capabilities = 0;
    newest = 12020;
    slt_ok(slwi_cuda_library_open(NULL, &loader, &library, &err), &err);
    slt_ok(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), &err);
    ck_assert_ptr_null((void *)(uintptr_t)api.cuFuncLoad);
    ck_assert_uint_eq(capabilities & SLWI_CUDA_CAN(cuFuncLoad), 0);
    ck_assert_uint_eq(capabilities & SLWI_CUDA_CAN(cuFuncGetParamInfo), 0);
    ck_assert_uint_ne(capabilities & SLWI_CUDA_CAN(cuLaunchKernelEx), 0);
    ck_assert_uint_ne(capabilities & SLWI_CUDA_CAN(cuCtxGetId), 0);
}
END_TEST

/* "Success" with nothing is nothing; a required symbol is then looked for under the name of its version. */
START_TEST(success_without_an_address_is_none) {
    slwi_gpu_library library;
    slwi_cuda_api api;
    uint32_t capabilities = 0;
    slt_ok(slwi_cuda_library_open(NULL, &loader, &library, &err), &err);
    withheld = "cuLaunchKernelEx";
    slt_ok(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), &err);
    ck_assert_ptr_null((void *)(uintptr_t)api.cuLaunchKernelEx);
    withheld = "cuMemAlloc";
    slt_ok(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), &err);
    ck_assert_ptr_eq((void *)(uintptr_t)api.cuMemAlloc, (void *)(uintptr_t)fake_cuMemAlloc);
    hidden = "cuMemAlloc_v2";
    ck_assert_int_eq(slwi_cuda_library_resolve(&library, &api, &capabilities, &err), SLW_E_UNAVAILABLE);
    ck_assert_str_eq(err.subject, "cuMemAlloc");
}
END_TEST

/* ---- Not there ------------------------------------------------------------------------------------------------- */

START_TEST(no_library_lists_what_was_tried) {
    slw_device_options opt = options();
    opens = 0;
    refused(&opt, SLW_E_UNAVAILABLE, "NO_LIBRARY");
    ck_assert_str_eq(opened, "libcuda.so.1 "); /* never libcuda.so: that is what the stub is called */
    ck_assert_str_eq(err.tried, "libcuda.so.1: libcuda.so.1: no such luck");
    ck_assert_str_eq(err.subject, "cuda");
    opt.driver_library = "/opt/here.so";
    refused(&opt, SLW_E_UNAVAILABLE, "NO_LIBRARY");
    ck_assert_str_eq(opened, "/opt/here.so ");
    ck_assert_str_eq(err.path, "/opt/here.so");
    ck_assert_ptr_nonnull(strstr(err.tried, "no such luck"));
}
END_TEST

START_TEST(no_library_by_the_systems_loader) {
    slw_device_options opt = options();
    opt.loader = NULL;
    opt.driver_library = "/nonexistent/libcuda.so.1";
    refused(&opt, SLW_E_UNAVAILABLE, "NO_LIBRARY");
    ck_assert_ptr_nonnull(strstr(err.tried, "/nonexistent/libcuda.so.1: "));
    opt.driver_library = "libm.so.6"; /* a library, and no driver */
    refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
    ck_assert_ptr_nonnull(strstr(err.subject, "cuInit, "));
    ck_assert_ptr_nonnull(strstr(err.subject, " more")); /* as many as there is room for, and how many are left out */
}
END_TEST

START_TEST(bad_loader_is_usage) {
    slw_device_options opt = options();
    slw_library_loader bad = loader;
    opt.loader = &bad;
    bad.size--;
    refused(&opt, SLW_E_USAGE, "BAD_LOADER");
    bad = loader;
    bad.symbol = NULL;
    refused(&opt, SLW_E_USAGE, "BAD_LOADER");
    bad = loader;
    bad.path = NULL; /* may be */
    answer = SLWI_CU_NO_DEVICE;
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_str_eq(err.path, "libcuda.so.1");
}
END_TEST

START_TEST(missing_symbols_are_named) {
    slw_device_options opt = options();
    has_v2 = 0;
    for (size_t i = 0; i < FAKES; i++) {
        err = (slw_error)SLW_ERROR_INIT;
        hidden = fakes[i].exported;
        answer = SLWI_CU_NO_DEVICE; /* as far as it comes */
        if (!fakes[i].required) {
            refused(&opt, SLW_E_NO_DEVICE, NULL);
        } else if (i != 0) {
            refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
            ck_assert_str_eq(err.subject, fakes[i].name);
            ck_assert_ptr_nonnull(strstr(err.message, fakes[i].name));
            ck_assert_ptr_nonnull(strstr(err.tried, "libcuda"));
        }
    }
    hidden = NULL;
    only = "cuInit";
    init_calls = 0;
    refused(&opt, SLW_E_UNAVAILABLE, "MISSING_SYMBOLS");
    ck_assert_ptr_nonnull(strstr(err.message, "cuDriverGetVersion"));
    ck_assert_uint_eq(init_calls, 0);
}
END_TEST

/* ---- Initialising ---------------------------------------------------------------------------------------------- */

typedef struct init_case {
    int result;
    slw_code code;
    const char *reason;
} init_case;
static const init_case init_cases[] = {
    {SLWI_CU_STUB_LIBRARY, SLW_E_STUB, "STUB"},
    {SLWI_CU_NO_DEVICE, SLW_E_NO_DEVICE, NULL},
    {SLWI_CU_NOT_INITIALIZED, SLW_E_FORKED, NULL},
    {SLWI_CU_SYSTEM_NOT_READY, SLW_E_UNAVAILABLE, "SYSTEM_NOT_READY"},
    {SLWI_CU_SYSTEM_DRIVER_MISMATCH, SLW_E_UNAVAILABLE, "VERSION_MISMATCH"},
    {SLWI_CU_COMPAT_NOT_SUPPORTED, SLW_E_UNAVAILABLE, "VERSION_MISMATCH"},
    {SLWI_CU_UNKNOWN, SLW_E_DRIVER, NULL},
    {4711, SLW_E_DRIVER, NULL},
};

START_TEST(init_failure_is_told_and_remembered) {
    const init_case *const c = &init_cases[_i];
    slw_device_options opt = options();
    init_answer = c->result;
    refused(&opt, c->code, c->reason);
    ck_assert_int_eq(err.raw_code, c->result);
    ck_assert_str_eq(err.path, "/where/it/really/lies/libcuda.so.550");
    init_answer = SLWI_CU_SUCCESS;
    refused(&opt, c->code, c->reason);
    ck_assert_uint_eq(init_calls, 1);
}
END_TEST

/* Everything answers 34 and writes nothing, cuGetProcAddress too. */
static slwi_cu_result stub_proc_address(const char *name, void **out, int version, uint64_t flags, int *found) {
    (void)name, (void)out, (void)version, (void)flags, (void)found;
    return SLWI_CU_STUB_LIBRARY;
}

static void *stub_symbol(void *context, void *library, const char *name) {
    if (strcmp(name, "cuGetProcAddress_v2") == 0) return address_of((void (*)(void))stub_proc_address);
    return loader_symbol(context, library, name);
}

START_TEST(stub_is_a_stub_with_its_path) {
    slw_device_options opt = options();
    slw_library_loader stub = loader;
    stub.symbol = stub_symbol;
    opt.loader = &stub;
    answer = init_answer = SLWI_CU_STUB_LIBRARY;
    refused(&opt, SLW_E_STUB, "STUB");
    ck_assert_str_eq(err.path, "/where/it/really/lies/libcuda.so.550");
    ck_assert_str_eq(err.raw_name, "CUDA_ERROR_STUB_LIBRARY");
    ck_assert_ptr_nonnull(strstr(err.message, err.path));
    ck_assert_ptr_nonnull(err.hint);
    ck_assert_ptr_nonnull(strstr(err.tried, err.path));
}
END_TEST

START_TEST(init_is_asked_once) {
    slw_device_options opt = options();
    answer = SLWI_CU_SUCCESS; /* no device: the count stays 0 */
    for (int i = 0; i < 3; i++) refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_uint_eq(init_calls, 1);
    ck_assert_uint_eq(err.required, 1);
    ck_assert_uint_eq(err.limit, 0);
}
END_TEST

/* device.md G 4: the child of a process that has initialised is told so, and nothing of the library is called. */
START_TEST(fork_after_init_is_forked) {
    slw_device_options opt = options();
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    const pid_t child = fork();
    if (child == 0) {
        all_calls = 0;
        pinned = 0;
        refused(&opt, SLW_E_FORKED, NULL);
        ck_assert_uint_eq(all_calls + pinned, 0);
        _exit(0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(fork_before_init_is_fine) {
    slw_device_options opt = options();
    const pid_t child = fork();
    if (child == 0) {
        refused(&opt, SLW_E_NO_DEVICE, NULL);
        ck_assert_uint_eq(init_calls, 1);
        _exit(0);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    refused(&opt, SLW_E_NO_DEVICE, NULL);
    ck_assert_uint_eq(init_calls, 1);
}
END_TEST

START_TEST(ptx_option_is_a_flag) {
    slw_device_options opt = options();
    opt.allow_ptx = 2;
    refused(&opt, SLW_E_USAGE, NULL);
    ck_assert_uint_eq(all_calls, 0);
}
END_TEST

START_TEST(open_survives_every_allocation) {
    slw_device_options opt = options();
    heap.fail_at = 1;
    slw_code code = SLW_E_NO_MEMORY;
    for (uint64_t n = 1; code == SLW_E_NO_MEMORY; n++) {
        slw_device *device = NULL;
        slt_heap_reset(&heap);
        heap.fail_at = n;
        code = slw_device_open(&opt, &device, &err);
        ck_assert_ptr_null(device);
        slt_heap_check_empty(&heap);
    }
    ck_assert_int_eq(code, SLW_E_NO_DEVICE);
}
END_TEST

/* ---- Is it there? ---------------------------------------------------------------------------------------------- */

static slw_driver_status examine(const char *library) {
    slw_driver_status status = SLW_DRIVER_STATUS_INIT;
    slwi_cuda_examine(library, &status);
    ck_assert_str_ne(status.why, "");
    ck_assert_int_ne(status.presence, SLW_PRESENCE_YES);
    ck_assert_int_eq(status.code == SLW_OK, status.presence == SLW_PRESENCE_MAYBE);
    return status;
}

START_TEST(examine_says_no) {
    slw_driver_status status = examine("/nonexistent/libcuda.so.1");
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_str_eq(status.path, "/nonexistent/libcuda.so.1");
    status = examine("libm.so.6");
    ck_assert_int_eq(status.code, SLW_E_UNAVAILABLE);
    ck_assert_str_eq(status.why, "the library has no cuInit");
    (void)examine(NULL); /* whatever this machine has */
}
END_TEST

/* ---- The toolkit's own stub, where there is a toolkit ---------------------------------------------------------- */

static const char *find_stub(void) {
    static const char *const places[] = {"/usr/local/cuda/lib64/stubs/libcuda.so", "/opt/cuda/lib64/stubs/libcuda.so"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (access(places[i], R_OK) == 0) return places[i];
    }
    return NULL;
}

START_TEST(vendors_stub_is_known) {
    const char *const path = find_stub();
    if (path == NULL) {
        slt_skip("vendors_stub_is_known", "no CUDA toolkit here");
        return;
    }
    slw_device_options opt = options();
    opt.loader = NULL;
    opt.driver_library = path;
    ck_assert_int_eq(examine(path).code, SLW_E_STUB);
    refused(&opt, SLW_E_STUB, "STUB");
    ck_assert_ptr_nonnull(strstr(err.path, "stubs"));
    ck_assert_int_eq(err.raw_code, 34);
    /* Once it is in the process, the right name leads to it as well: the name alone proves nothing (device.md A.1). */
    opt.driver_library = NULL;
    err = (slw_error)SLW_ERROR_INIT;
    slw_device *device = NULL;
    const slw_code code = slw_device_open(&opt, &device, &err);
    if (code == SLW_E_STUB) ck_assert_ptr_nonnull(strstr(err.path, "stubs"));
    slw_device_close(&device);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda library");
    TCase *tcase = tcase_create("library");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, list_fills_the_table);
    tcase_add_test(tcase, list_names_the_version_that_is_declared);
    tcase_add_test(tcase, resolves_without_the_drivers_help);
    tcase_add_test(tcase, older_driver_lacks_abilities_only);
    tcase_add_test(tcase, success_without_an_address_is_none);
    tcase_add_test(tcase, no_library_lists_what_was_tried);
    tcase_add_test(tcase, no_library_by_the_systems_loader);
    tcase_add_test(tcase, bad_loader_is_usage);
    tcase_add_test(tcase, missing_symbols_are_named);
    tcase_add_loop_test(tcase, init_failure_is_told_and_remembered, 0, sizeof init_cases / sizeof *init_cases);
    tcase_add_test(tcase, stub_is_a_stub_with_its_path);
    tcase_add_test(tcase, init_is_asked_once);
    tcase_add_test(tcase, fork_after_init_is_forked);
    tcase_add_test(tcase, fork_before_init_is_fine);
    tcase_add_test(tcase, ptx_option_is_a_flag);
    tcase_add_test(tcase, open_survives_every_allocation);
    tcase_add_test(tcase, examine_says_no);
    tcase_add_test(tcase, vendors_stub_is_known);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
