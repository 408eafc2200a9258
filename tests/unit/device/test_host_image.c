/* How the host driver loads: sealed, under a name of its own, and with the right one to blame. Pitfall 2 is here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_image.h"
#include "host_driver.h"
#include "modules.h"
#include "slt.h"

static slw_error err;
static slw_device *device;

static void open_device(void) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    options.pool_threads = UINT32_MAX;
    slt_ok(slw_device_open(&options, &device, &err), &err);
}

/* A kernel that says `answer` plus how often it was called in its module. */
static slt_image *make_image(unsigned answer, const char *flags) {
    char text[512];
    snprintf(text, sizeof text,
             "#include <slipway/host_kernel.h>\n"
             "static unsigned calls;\n"
             "SLW_HOST_KERNEL(k, SLW_HOST_PARAM(unsigned *, out));\n"
             "void k(const slw_host_block *b, void *const *args) {\n"
             "    (void)b;\n"
             "    *SLW_HOST_ARG(unsigned *, args, 0) = %uu + calls++;\n"
             "}\n",
             answer);
    return slt_image_compile_text(text, flags);
}

static slwi_module *load(slw_device *on, slt_image *image) {
    slwi_module *module = NULL;
    slt_ok(slwi_module_load(on, &image->image, NULL, &module, &err), &err);
    return module;
}

static unsigned ask(slwi_module *module) {
    void *function = NULL;
    unsigned answer = 0, *out = &answer;
    void *params[] = {&out};
    const slw_driver_launch launch = {
        .size = sizeof launch, .blocks = {1, 1, 1}, .block = {1, 1, 1}, .params = params, .param_count = 1};
    const slw_kernel_contract *kernel = slwi_module_contract(module)->kernels;
    slt_ok(slwi_module_function(module, kernel, &function, NULL, &err), &err);
    slt_ok(slwi_module_launch(module, function, &launch, &err), &err);
    return answer;
}

/* The highest descriptor that is a memfd of the driver; -1: none. */
static int find_memfd(void) {
    int found = -1;
    for (int fd = 0; fd < 1024; fd++) {
        char name[64], target[256] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (readlink(name, target, sizeof target - 1) > 0 && strstr(target, "memfd:slipway-kernel") != NULL) found = fd;
    }
    return found;
}

START_TEST(image_is_sealed) {
    open_device();
    slt_image *image = make_image(100, "");
    slwi_module *module = load(device, image);
    const int fd = find_memfd();
    ck_assert_int_ge(fd, 0);
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS), seals);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    char *bytes = malloc(image->image.bytes.size);
    ck_assert_int_eq(pread(fd, bytes, image->image.bytes.size, 0), (ssize_t)image->image.bytes.size);
    ck_assert_mem_eq(bytes, image->image.bytes.data, image->image.bytes.size);
    ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
    free(bytes);
    slwi_module_unload_or_release(&module);
    ck_assert_int_eq(find_memfd(), -1);
    slw_device_close(&device);
    slt_image_free(image);
}
END_TEST

/* Pitfall 2: the number of an unloaded module is used again, and what answers is the new module. */
START_TEST(pitfall_02_reused_number_is_the_new_module) {
    open_device();
    const int before = slt_open_descriptors();
    for (unsigned i = 0; i < 20; i++) {
        slt_image *image = make_image(100 * (i + 1), "");
        slwi_module *module = load(device, image);
        ck_assert_uint_eq(ask(module), 100 * (i + 1));
        ck_assert_uint_eq(ask(module), 100 * (i + 1) + 1);
        slwi_module_unload_or_release(&module);
        ck_assert_int_eq(slt_open_descriptors(), before);
        slt_image_free(image);
    }
    slw_device_close(&device);
}
END_TEST

/* Pitfall 2: a library that does not go away keeps its number for ever, so the next one has another. */
START_TEST(pitfall_02_nodelete_keeps_its_number) {
    open_device();
    const int before = slt_open_descriptors();
    for (unsigned i = 0; i < 5; i++) {
        slt_image *image = make_image(100 * (i + 1), "-Wl,-z,nodelete");
        slwi_module *module = load(device, image);
        ck_assert_uint_eq(ask(module), 100 * (i + 1));
        slwi_module_unload_or_release(&module);
        ck_assert_int_eq(slt_open_descriptors(), before + (int)i + 1);
        slt_image_free(image);
    }
    slw_device_close(&device);
}
END_TEST

/* Pitfall 2: somebody closes every descriptor he does not know; the number comes again while the module is loaded. */
START_TEST(pitfall_02_number_closed_behind_our_back) {
    open_device();
    slt_image *first = make_image(100, ""), *second = make_image(200, "");
    slwi_module *a = load(device, first);
    const int number = find_memfd();
    close(number);
    slwi_module *b = load(device, second);
    ck_assert_uint_eq(ask(b), 200);
    ck_assert_uint_eq(ask(a), 100);
    ck_assert_int_ne(find_memfd(), number);
    /* The number now belongs to somebody else: unloading the first must not close it. */
    const int foreign = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(foreign, number);
    slwi_module_unload_or_release(&a);
    ck_assert_int_ge(fcntl(foreign, F_GETFD), 0);
    close(foreign);
    ck_assert_uint_eq(ask(b), 201);
    slwi_module_unload_or_release(&b);
    ck_assert_int_eq(find_memfd(), -1);
    slw_device_close(&device);
    slt_image_free(first);
    slt_image_free(second);
}
END_TEST

/* Pitfall 2: two devices are two contexts; each has the module's statics for itself. */
START_TEST(pitfall_02_two_devices_two_sets_of_statics) {
    open_device();
    slw_device *other = NULL;
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slt_ok(slw_device_open(&options, &other, &err), &err);
    slt_image *image = make_image(100, "");
    slwi_module *a = load(device, image), *b = load(other, image);
    ck_assert_ptr_ne(slwi_module_native(a), slwi_module_native(b));
    ck_assert_uint_eq(ask(a), 100);
    ck_assert_uint_eq(ask(a), 101);
    ck_assert_uint_eq(ask(b), 100);
    slwi_release(a);
    slwi_release(b);
    slw_device_close(&device);
    slw_device_close(&other);
    ck_assert_int_eq(find_memfd(), -1); /* closing the device unloads */
    slt_image_free(image);
}
END_TEST

/* ---- Systems that say no ----------------------------------------------------------------------------------- */

static slwi_os table;
static int memfd_error, seal_error, mkdir_error, write_error;
static const char *loader_words;
static int loads_seen;

static int no_memfd(const slwi_os *os, const char *name) {
    return memfd_error != 0 ? -memfd_error : slwi_os_real()->memfd(os, name);
}
static int no_seal(const slwi_os *os, int fd) {
    return seal_error != 0 ? -seal_error : slwi_os_real()->memfd_seal(os, fd);
}
static int no_mkdirat(const slwi_os *os, int dirfd, const char *path, unsigned mode) {
    return mkdir_error != 0 ? -mkdir_error : slwi_os_real()->mkdirat(os, dirfd, path, mode);
}
static int64_t no_write(const slwi_os *os, int fd, const void *data, size_t size) {
    return write_error != 0 ? -write_error : slwi_os_real()->write(os, fd, data, size);
}
static void *no_dl_open(const slwi_os *os, const char *path, char why[256]) {
    loads_seen++;
    if (loader_words == NULL) return slwi_os_real()->dl_open(os, path, why);
    snprintf(why, 256, loader_words, path);
    return NULL;
}

static void install(void) {
    table = *slwi_os_real();
    table.memfd = no_memfd;
    table.memfd_seal = no_seal;
    table.mkdirat = no_mkdirat;
    table.write = no_write;
    table.dl_open = no_dl_open;
    slwi_os_replace(&table);
}

static int leftovers(void) {
    static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp"};
    int count = 0;
    for (size_t i = 0; i < 3; i++) {
        DIR *directory = opendir(places[i]);
        if (directory == NULL) continue;
        for (struct dirent *e = readdir(directory); e != NULL; e = readdir(directory)) {
            /* "slipway-" and 24 digits: others of that name are not the driver's. */
            if (strncmp(e->d_name, "slipway-", 8) == 0 && strlen(e->d_name) == 32) count++;
        }
        closedir(directory);
    }
    return count;
}

START_TEST(without_memfd_a_file_does) {
    static const int errors[] = {ENOSYS, EPERM, EACCES, EINVAL};
    const int before = leftovers();
    install();
    open_device();
    for (size_t i = 0; i < 8; i++) {
        memfd_error = i < 4 ? errors[i] : 0;
        seal_error = i < 4 ? 0 : errors[i - 4];
        const int descriptors = slt_open_descriptors();
        slt_image *image = make_image(100 + (unsigned)i, "");
        slwi_module *module = load(device, image);
        ck_assert_uint_eq(ask(module), 100 + i);
        ck_assert_int_eq(slt_open_descriptors(), descriptors);
        slwi_module_unload_or_release(&module);
        slt_image_free(image);
    }
    slw_device_close(&device);
    ck_assert_int_eq(leftovers(), before);
}
END_TEST

static void expect_failure(slw_code code, const char *reason, int remembered) {
    slt_image *image = make_image(100, "");
    slwi_module *module = NULL;
    const int descriptors = slt_open_descriptors();
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_module_load(device, &image->image, NULL, &module, &err), code);
    ck_assert_ptr_null(module);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.reason, reason);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slw_device_counts counts = SLW_DEVICE_COUNTS_INIT;
    slt_ok(slw_device_get_counts(device, &counts, &err), &err);
    ck_assert_uint_eq(counts.failures_remembered, (unsigned)remembered);
    slwi_device_forget_failure(device, &image->image.sha256);
    slt_image_free(image);
}

START_TEST(a_system_that_refuses_is_not_the_images_fault) {
    const int before = leftovers();
    install();
    open_device();
    memfd_error = EPERM;
    mkdir_error = EACCES;
    expect_failure(SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", 0);
    memfd_error = EMFILE;
    mkdir_error = 0;
    expect_failure(SLW_E_DRIVER, "IMAGE", 0);
    memfd_error = ENOMEM;
    expect_failure(SLW_E_NO_MEMORY, "IMAGE", 0);
    memfd_error = 0;
    write_error = ENOSPC;
    expect_failure(SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", 0);
    write_error = 0;
    seal_error = ENOMEM;
    expect_failure(SLW_E_NO_MEMORY, "IMAGE", 0);
    slw_device_close(&device);
    ck_assert_int_eq(leftovers(), before);
}
END_TEST

/* The loader has words only. Blame is for words that mean the image and nothing else. */
START_TEST(the_loaders_words_are_understood) {
    static const struct {
        const char *words;
        slw_code code;
        const char *reason;
        int remembered;
        int tries; /* 1: the memfd alone, 4: the files too */
    } cases[] = {
        {"%s: undefined symbol: nobody", SLW_E_INVALID_BINARY, "LOADER", 1, 1},
        {"%s: invalid ELF header", SLW_E_INVALID_BINARY, "LOADER", 1, 1},
        {"%s: file too short", SLW_E_INVALID_BINARY, "LOADER", 1, 1},
        {"Error relocating %s: nobody: symbol not found", SLW_E_INVALID_BINARY, "LOADER", 1, 1},
        {"Error loading shared library %s: Exec format error", SLW_E_INVALID_BINARY, "LOADER", 1, 1},
        {"%s: failed to map segment from shared object", SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", 0, 4},
        {"%s: failed to map segment from shared object: Operation not permitted", SLW_E_UNAVAILABLE,
         "NO_EXECUTABLE_MEMORY", 0, 4},
        {"Error loading shared library %s: Permission denied", SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", 0, 4},
        {"%s: cannot open shared object file: No such file or directory", SLW_E_UNAVAILABLE, "NO_EXECUTABLE_MEMORY", 0,
         4},
        {"libnone.so.3: cannot open shared object file: No such file or directory", SLW_E_DRIVER, "LOADER", 0, 1},
        {"%s: failed to map segment from shared object: Cannot allocate memory", SLW_E_NO_MEMORY, "LOADER", 0, 1},
        {"%s: cannot allocate memory in static TLS block", SLW_E_NO_MEMORY, "LOADER", 0, 1},
        {"Dynamic loading not supported", SLW_E_UNSUPPORTED, "NO_LOADER", 0, 1},
        {"something never heard before", SLW_E_DRIVER, "LOADER", 0, 1},
    };
    install();
    open_device();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        loader_words = cases[i].words;
        loads_seen = 0;
        expect_failure(cases[i].code, cases[i].reason, cases[i].remembered);
        ck_assert_int_eq(loads_seen, cases[i].tries);
    }
    slw_device_close(&device);
}
END_TEST

START_TEST(what_is_no_image_is_refused_before_the_loader) {
    open_device();
    slt_image *good = make_image(100, "");
    const struct {
        size_t at;
        unsigned char value;
        slw_code code;
    } damages[] = {{0, 'M', SLW_E_INVALID_BINARY}, {4, 1, SLW_E_INVALID_BINARY},    {5, 2, SLW_E_INVALID_BINARY},
                   {16, 2, SLW_E_INVALID_BINARY},  {18, 20, SLW_E_TARGET_MISMATCH}, {19, 9, SLW_E_TARGET_MISMATCH}};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        unsigned char *copy = malloc(good->image.bytes.size);
        memcpy(copy, good->image.bytes.data, good->image.bytes.size);
        copy[damages[i].at] = damages[i].value;
        slt_image *bad = slt_image_of_bytes(copy, good->image.bytes.size, "k");
        slwi_module *module = NULL;
        err = (slw_error)SLW_ERROR_INIT;
        ck_assert_int_eq(slwi_module_load(device, &bad->image, NULL, &module, &err), damages[i].code);
        err = (slw_error)SLW_ERROR_INIT;
        ck_assert_int_eq(slwi_module_find(device, &bad->image.sha256, &module, &err), damages[i].code); /* remembered */
        slt_image_free(bad);
        free(copy);
    }
    slt_image *empty = slt_image_of_bytes("", 0, "k");
    slwi_module *module = NULL;
    ck_assert_int_eq(slwi_module_load(device, &empty->image, NULL, &module, &err), SLW_E_INVALID_BINARY);
    slt_image_free(empty);
    slt_image_free(good);
    slw_device_close(&device);
}
END_TEST

/* "Loaded" means that every kernel of the contract is there. */
START_TEST(a_kernel_that_is_not_there_fails_the_load) {
    open_device();
    slt_image *real = make_image(100, "");
    slt_image *image = slt_image_of_bytes(real->image.bytes.data, real->image.bytes.size, "not_there");
    const int descriptors = slt_open_descriptors();
    slwi_module *module = NULL;
    err = (slw_error)SLW_ERROR_INIT;
    ck_assert_int_eq(slwi_module_load(device, &image->image, NULL, &module, &err), SLW_E_INVALID_BINARY);
    ck_assert_str_eq(err.reason, "NO_KERNEL");
    ck_assert_str_eq(err.kernel, "not_there");
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slt_image_free(image);
    slt_image_free(real);
    slw_device_close(&device);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("host image");
    TCase *tcase = tcase_create("images");
    tcase_set_timeout(tcase, 180);
    tcase_add_test(tcase, image_is_sealed);
    tcase_add_test(tcase, pitfall_02_reused_number_is_the_new_module);
    tcase_add_test(tcase, pitfall_02_nodelete_keeps_its_number);
    tcase_add_test(tcase, pitfall_02_number_closed_behind_our_back);
    tcase_add_test(tcase, pitfall_02_two_devices_two_sets_of_statics);
    tcase_add_test(tcase, without_memfd_a_file_does);
    tcase_add_test(tcase, a_system_that_refuses_is_not_the_images_fault);
    tcase_add_test(tcase, the_loaders_words_are_understood);
    tcase_add_test(tcase, what_is_no_image_is_refused_before_the_loader);
    tcase_add_test(tcase, a_kernel_that_is_not_there_fails_the_load);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
