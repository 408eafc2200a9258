/* Attacks the four phases, the store below them and the device beside them: the input is a sequence of operations over a
 * fresh store, the null driver and handles of every phase, with failing allocations, failing system calls, a failing driver
 * and a hostile hand in the slot between them.
 *
 * Promises: a failure leaves every handle as it was and fills the record; OK sets the output; bytes that are handed out are
 * the ones that were published; when all is closed no memory, no descriptor and no module is left, and where no system call
 * failed no private directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry_document.h"
#include "fault_os.h"
#include "file.h"
#include "fuzz.h"
#include "null_driver.h"

#define BINARY "kernel.bin"
#define KEYS 2
#define DIGEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define STEPS_MAX 48

typedef struct handles {
    slw_cached *cached;
    slw_hydrated *hydrated[2];
    slw_device_loaded *loaded[2];
    slw_launchable *launchable[2];
} handles;

typedef struct world {
    fuzz_heap heap;
    slt_null null;
    char scratch[64], root[80], private_root[80];
    slw_key *keys[KEYS];
    slw_spec *spec;
    slw_store *store;
    slw_device *device;
    handles h;
    int which;           /* the key of what is built */
    int hydrated_key[2]; /* the key each hydrated handle came from */
    int build_mode;
    int os_failed; /* a system call was told to fail at some time */
    const uint8_t *data;
    size_t size, at;
    slw_error err;
} world;

static world w;

static const char *const contents[KEYS] = {"the bytes of the first binary", "what the second one is made of, a little longer"};

static const slw_param params[2] = {
    {"data", 0, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_CALLER},
    {"scratch", 8, 8, 8, SLW_PARAM_POINTER, SLW_ROLE_GLOBAL_SCRATCH},
};
static const slw_kernel_contract kernels[3] = {
    {.name = "fixed", .params = params, .param_count = 1, .param_bytes = 8, .required_threads = {128, 1, 1}, .ctas = 1},
    {.name = "none", .ctas = 1},
    {.name = "scratch", .params = params, .param_count = 2, .param_bytes = 16, .ctas = 2, .registers = 40,
     .grid_unit = SLW_GRID_PROGRAMS_BY_CTAS, .global_scratch_bytes = 256, .global_scratch_alignment_bytes = 16},
};
static const slw_contract contract = {
    .schema = SLW_CONTRACT_SCHEMA, .reader_revision = 1, .backend = "null", .target = "null", .launch_binary = BINARY,
    .kind = SLW_IMAGE_HOST, .kernels = kernels, .kernel_count = 3};

static uint32_t next_byte(void) {
    return w.at < w.size ? w.data[w.at++] : 0;
}

static uint32_t next_word(void) {
    const uint32_t low = next_byte(), high = next_byte();
    /* Small numbers, and the ones at the ends. */
    return high < 128 ? low : high < 192 ? low << 8 : high < 224 ? low << 24 : UINT32_MAX - low;
}

/* ---- the builder ---- */

static slw_code write_file(const char *directory, const char *name, const void *data, size_t size) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    FUZZ_REQUIRE(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    return SLW_OK;
}

static slw_code build(void *context, const slw_build_context *request, slw_error *err) {
    (void)context;
    if ((w.build_mode & 7) == 1) {
        if (err != NULL) {
            err->code = SLW_E_BUILDER_FIRST + 3;
            (void)snprintf(err->message, sizeof err->message, "the builder will not");
        }
        return SLW_E_BUILDER_FIRST + 3;
    }
    if ((w.build_mode & 7) != 2) (void)write_file(request->directory, BINARY, contents[w.which], strlen(contents[w.which]));
    if ((w.build_mode & 8) != 0) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/link", request->directory);
        FUZZ_REQUIRE(symlink("/etc/passwd", path) == 0);
    }
    slwi_buffer text;
    slwi_buffer_init(&text, NULL, SIZE_MAX);
    const slwi_entry_document document = {.name = "fuzz", .contract = &contract, .key = w.keys[w.which], .compiler = "/x"};
    slwi_entry_document_write(&document, &text);
    (void)write_file(request->directory, SLWI_ENTRY_DOCUMENT_NAME, text.data, text.size);
    slwi_buffer_free(&text);
    return SLW_OK;
}

static slw_code confirm(void *context, const slw_build_context *request, slw_error *err) {
    (void)context;
    (void)request;
    (void)err;
    return (w.build_mode & 16) != 0 ? SLW_E_BUILDER_FIRST : SLW_OK;
}

/* ---- beginning and end ---- */

static void open_store(uint32_t flags) {
    slw_store_options options = SLW_STORE_OPTIONS_INIT;
    slw_error err = SLW_ERROR_INIT;
    options.allocator = w.heap.allocator;
    options.root = w.root;
    options.private_root = w.private_root;
    options.verify = (flags & 1) != 0 ? SLW_VERIFY_ON_MAP : SLW_VERIFY_FULL;
    options.read_only = (flags & 2) != 0;
    options.lock_timeout_ns = 20000000u;
    slw_store *fresh = NULL;
    const slw_code rc = slw_store_open(&options, &fresh, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (fresh != NULL));
    if (rc != SLW_OK) return;
    slw_store_close(&w.store);
    w.store = fresh;
}

static void open_device(void) {
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_error err = SLW_ERROR_INIT;
    slw_device *fresh = NULL;
    options.allocator = w.heap.allocator;
    slt_null_use(&w.null, &options);
    const slw_code rc = slw_device_open(&options, &fresh, &err);
    FUZZ_REQUIRE((rc == SLW_OK) == (fresh != NULL));
    if (rc != SLW_OK) return;
    slw_device_close(&w.device);
    w.device = fresh;
}

static void make_names(void) {
    const slw_component component = {"fuzz", DIGEST_A};
    const slw_bytes required = {BINARY, strlen(BINARY)};
    for (int i = 0; i < KEYS; i++) {
        slw_key_inputs key = SLW_KEY_INPUTS_INIT;
        key.allocator = w.heap.allocator;
        key.components = &component;
        key.component_count = 1;
        key.source = i == 0 ? DIGEST_A : DIGEST_B;
        key.specialization = DIGEST_B;
        FUZZ_REQUIRE(slw_key_create(&key, &w.keys[i], NULL) == SLW_OK);
    }
    slw_spec_inputs spec = SLW_SPEC_INPUTS_INIT;
    spec.allocator = w.heap.allocator;
    spec.state = SLW_READY;
    spec.required_files = &required;
    spec.required_file_count = 1;
    spec.keep = BINARY;
    FUZZ_REQUIRE(slw_spec_create(&spec, &w.spec, NULL) == SLW_OK);
}

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) count++;
    if (folder != NULL) (void)closedir(folder);
    return count;
}

static int names_in(const char *directory) {
    int count = 0;
    const struct dirent *entry;
    DIR *folder = opendir(directory);
    while (folder != NULL && (entry = readdir(folder)) != NULL) count += entry->d_name[0] != '.';
    if (folder != NULL) (void)closedir(folder);
    return count;
}

static void begin(const uint8_t *data, size_t size) {
    const slw_error fresh = SLW_ERROR_INIT;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    memset(&w, 0, sizeof w);
    w.err = fresh;
    w.data = data;
    w.size = size;
    (void)umask(022);
    (void)snprintf(w.scratch, sizeof w.scratch, "%s/slipway-fuzz-%ld", base, (long)getpid());
    (void)snprintf(w.root, sizeof w.root, "%s/root", w.scratch);
    (void)snprintf(w.private_root, sizeof w.private_root, "%s/private", w.scratch);
    (void)slwi_remove_tree(slwi_os_real(), AT_FDCWD, w.scratch);
    FUZZ_REQUIRE(mkdir(w.scratch, 0700) == 0 && mkdir(w.private_root, 0700) == 0);
    fuzz_heap_begin(&w.heap, 0);
    slt_null_init(&w.null);
    make_names();
    open_store(0);
    open_device();
    FUZZ_REQUIRE(w.store != NULL && w.device != NULL);
    slt_fault_os_install(NULL);
}

static void discard_all(void) {
    slw_cached_discard(&w.h.cached);
    for (int i = 0; i < 2; i++) {
        slw_hydrated_discard(&w.h.hydrated[i]);
        slw_device_loaded_discard(&w.h.loaded[i]);
        slw_launchable_discard(&w.h.launchable[i]);
    }
}

static void end(int descriptors) {
    slt_fault_os_remove();
    w.heap.fail_at = 0;
    /* In any order. */
    if ((w.size & 1) != 0) slw_device_close(&w.device);
    if ((w.size & 2) != 0) slw_store_close(&w.store);
    discard_all();
    slw_store_close(&w.store);
    slw_device_close(&w.device);
    for (int i = 0; i < KEYS; i++) slw_key_release(&w.keys[i]);
    slw_spec_release(&w.spec);
    fuzz_heap_end(&w.heap);
    FUZZ_REQUIRE(atomic_load(&w.null.violations) == 0);
    FUZZ_REQUIRE(atomic_load(&w.null.modules_now) == 0);
    FUZZ_REQUIRE(open_descriptors() == descriptors);
    if (!w.os_failed) FUZZ_REQUIRE(names_in(w.private_root) == 0);
    (void)slwi_remove_tree(slwi_os_real(), AT_FDCWD, w.scratch);
}

/* ---- operations ---- */

/* What is handed out is what was published under that key, whatever has happened to the slot. */
static void check_bytes(slw_bytes bytes, int key) {
    FUZZ_REQUIRE(bytes.size == strlen(contents[key]) && memcmp(bytes.data, contents[key], bytes.size) == 0);
}

static int key_of(const slw_cached *cached) {
    return strcmp(slw_key_digest(slw_cached_key(cached)), slw_key_digest(w.keys[0])) == 0 ? 0 : 1;
}

static slw_code op_lookup(uint32_t a) {
    if (w.h.cached != NULL) return SLW_OK;
    return slw_store_lookup(w.store, w.keys[a % KEYS], w.spec, &w.h.cached, &w.err);
}

static slw_code op_build(uint32_t a) {
    if (w.h.cached != NULL) return SLW_OK;
    slw_builder builder = SLW_BUILDER_INIT;
    slw_build_report report = SLW_BUILD_REPORT_INIT;
    w.which = (int)(a % KEYS);
    w.build_mode = (int)(a / KEYS % 32);
    builder.build = build;
    builder.confirm = confirm;
    const slw_code rc = slw_store_get_or_build(w.store, w.keys[w.which], w.spec, &builder, (a & 128) != 0 ? &report : NULL,
                                               &w.h.cached, &w.err);
    slw_build_report_release(&report);
    return rc;
}

static slw_code op_hydrate(uint32_t a) {
    slw_hydrate_options options = SLW_HYDRATE_OPTIONS_INIT;
    if (w.h.cached == NULL || w.h.hydrated[0] != NULL) return SLW_OK;
    options.launch_binary = (a & 1) != 0 ? SLW_HYDRATE_EAGER : SLW_HYDRATE_LAZY;
    const int key = key_of(w.h.cached);
    const slw_code rc = slw_hydrate(&w.h.cached, &options, &w.h.hydrated[0], &w.err);
    if (rc == SLW_OK) w.hydrated_key[0] = key;
    return rc;
}

static slw_code op_payload(uint32_t a) {
    static const char *const names[] = {BINARY, "absent", SLWI_ENTRY_DOCUMENT_NAME, "../kernel.bin", ""};
    slw_hydrated *from = w.h.hydrated[a & 1];
    slw_bytes bytes = {NULL, 0};
    if (from == NULL) return SLW_OK;
    const char *name = names[a / 2 % 5];
    const slw_code rc = slw_hydrated_payload(from, name, &bytes, &w.err);
    FUZZ_REQUIRE((rc == SLW_OK) == (bytes.data != NULL));
    if (rc == SLW_OK && strcmp(name, BINARY) == 0) check_bytes(bytes, w.hydrated_key[a & 1]);
    return rc;
}

static slw_code op_share(uint32_t a) {
    const uint32_t phase = a % 3;
    if (phase == 0 && w.h.hydrated[0] != NULL && w.h.hydrated[1] == NULL)
        w.hydrated_key[1] = w.hydrated_key[0];
    if (phase == 0 && w.h.hydrated[0] != NULL && w.h.hydrated[1] == NULL)
        return slw_hydrated_share(w.h.hydrated[0], &w.h.hydrated[1], &w.err);
    if (phase == 1 && w.h.loaded[0] != NULL && w.h.loaded[1] == NULL)
        return slw_device_loaded_share(w.h.loaded[0], &w.h.loaded[1], &w.err);
    if (phase == 2 && w.h.launchable[0] != NULL && w.h.launchable[1] == NULL)
        return slw_launchable_share(w.h.launchable[0], &w.h.launchable[1], &w.err);
    return SLW_OK;
}

static slw_code op_load(uint32_t a) {
    if (w.h.hydrated[a & 1] == NULL || w.h.loaded[0] != NULL) return SLW_OK;
    return slw_device_load(&w.h.hydrated[a & 1], w.device, &w.h.loaded[0], &w.err);
}

static slw_code op_make(uint32_t a) {
    static const char *const entries[] = {"none", "fixed", "scratch", NULL, "absent"};
    slw_launch_shape shape = SLW_LAUNCH_SHAPE_INIT;
    if (w.h.loaded[a & 1] == NULL || w.h.launchable[0] != NULL) return SLW_OK;
    shape.entry = entries[a / 2 % 5];
    if ((a & 128) != 0) {
        for (int i = 0; i < 3; i++) shape.block[i] = next_word();
        for (int i = 0; i < 3; i++) shape.cluster[i] = next_word();
        shape.shared_bytes = next_word();
        shape.cooperative = next_byte() & 1;
    } else {
        shape.block[0] = (a & 64) != 0 ? 128 : 32;
        shape.block[1] = shape.block[2] = 1;
    }
    return slw_make_launchable(&w.h.loaded[a & 1], &shape, &w.h.launchable[0], &w.err);
}

static slw_code op_launch(uint32_t a) {
    static uint64_t value;
    void *const values[3] = {&value, &value, &value};
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_grid grid = SLW_GRID_INIT;
    slw_args args = SLW_ARGS_INIT;
    if (w.h.launchable[a & 1] == NULL) return SLW_OK;
    for (int i = 0; i < 3; i++) grid.extent[i] = (a & 2) != 0 ? next_word() : 1;
    if ((a & 4) != 0) {
        grid.global_scratch = 4096;
        grid.global_scratch_bytes = (uint64_t)next_word() << (next_byte() % 33);
    }
    args.count = a / 8 % 4;
    args.values = values;
    return slw_launch(w.h.launchable[a & 1], &grid, stream, &args, &w.err);
}

static slw_code op_retire(uint32_t a) {
    if (w.h.launchable[a & 1] == NULL) return SLW_OK;
    return slw_launchable_retire(&w.h.launchable[a & 1], NULL, 0, 1000000u, &w.err);
}

static slw_code op_discard(uint32_t a) {
    switch (a % 7) {
    case 0: slw_cached_discard(&w.h.cached); break;
    case 1:
    case 2: slw_hydrated_discard(&w.h.hydrated[a % 7 - 1]); break;
    case 3:
    case 4: slw_device_loaded_discard(&w.h.loaded[a % 7 - 3]); break;
    default: slw_launchable_discard(&w.h.launchable[a % 7 - 5]); break;
    }
    return SLW_OK;
}

static slw_code op_driver(uint32_t a) {
    slt_null_script *const scripts[] = {&w.null.open, &w.null.load, &w.null.function, &w.null.prepare, &w.null.launch, &w.null.wait};
    static const slw_code codes[] = {SLW_E_DRIVER, SLW_E_NO_MEMORY, SLW_E_INVALID_BINARY, SLW_E_TIMEOUT};
    slt_null_fail(scripts[a % 6], codes[a / 6 % 4], a >= 128 ? -1 : (int)(a / 24 % 3));
    atomic_store(&w.null.at_fault, (int)(a & 1));
    return SLW_OK;
}

/* A hand in the slot. Whatever it does, the library may answer with a failure but never with other bytes. */
static slw_code op_damage(uint32_t a) {
    static const char *const files[] = {BINARY, SLWI_ENTRY_DOCUMENT_NAME, "artifact_manifest.json"};
    const slw_key *key = w.keys[a & 1];
    char slot[512], path[600];
    (void)snprintf(slot, sizeof slot, "%s/artifacts/%s/%s/%s/ready", w.root, slw_key_environment(key), slw_key_digest(key),
                   slw_spec_digest(w.spec));
    (void)snprintf(path, sizeof path, "%s/%s", slot, files[a / 2 % 3]);
    switch (a / 6 % 10) {
    case 0: { /* other bytes, the same length */
        const int fd = open(path, O_WRONLY);
        if (fd >= 0) (void)!pwrite(fd, "X", 1, next_byte() % 32);
        if (fd >= 0) (void)close(fd);
        break;
    }
    case 1: (void)!truncate(path, next_byte()); break;
    case 2: (void)unlink(path); break;
    case 3:
        (void)unlink(path);
        (void)!symlink("/etc/hostname", path);
        break;
    case 4: (void)slwi_remove_tree(slwi_os_real(), AT_FDCWD, slot); break;
    case 5: (void)!chmod(slot, 0777); break;
    case 6:
        (void)unlink(path);
        (void)mkfifo(path, 0600);
        break;
    case 7:
        (void)snprintf(path, sizeof path, "%s/more", slot);
        (void)mkdir(path, 0700);
        break;
    case 8: (void)slwi_remove_tree(slwi_os_real(), AT_FDCWD, w.root); break;
    default:
        (void)snprintf(path, sizeof path, "%s/locks/%s.lock", w.root, slw_key_digest(key));
        (void)unlink(path);
        (void)mkdir(path, 0700);
        break;
    }
    return SLW_OK;
}

static slw_code op_copy(uint32_t a) {
    char path[128];
    if (w.h.cached == NULL) return SLW_OK;
    (void)snprintf(path, sizeof path, "%s/copy-%u", w.scratch, (unsigned)(a & 1));
    (void)slwi_remove_tree(slwi_os_real(), AT_FDCWD, path);
    const slw_code rc = slw_cached_materialize(w.h.cached, path, &w.err);
    if (rc == SLW_OK) {
        char copied[128] = "";
        (void)snprintf(path, sizeof path, "%s/copy-%u/%s", w.scratch, (unsigned)(a & 1), BINARY);
        const int fd = open(path, O_RDONLY);
        const ssize_t got = fd < 0 ? -1 : read(fd, copied, sizeof copied);
        FUZZ_REQUIRE(got >= 0);
        check_bytes((slw_bytes){copied, (size_t)got}, key_of(w.h.cached));
        (void)close(fd);
    }
    return rc;
}

static slw_code op_ask(uint32_t a) {
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    slw_device_address address = 0;
    uint64_t size = 0;
    if (w.h.hydrated[0] != NULL && (a & 1) != 0) slw_hydrated_forget_failure(w.h.hydrated[0], w.device);
    if (w.h.loaded[0] == NULL) return SLW_OK;
    if ((a & 2) != 0) return slw_device_loaded_attributes(w.h.loaded[0], (a & 4) != 0 ? "none" : NULL, &attributes, &w.err);
    return slw_device_loaded_global(w.h.loaded[0], (a & 4) != 0 ? "null_global" : "x", &address, &size, &w.err);
}

/* The calls whose failure the next operation has to bear. */
static void tell_failure(uint32_t a, uint32_t b) {
    static const int errors[] = {EIO, ENOSPC, EACCES, EMFILE, ENOMEM, EDQUOT, ENOENT, EEXIST, ENOLCK, EROFS, ENOSYS, ESTALE};
    if ((a & 1) == 0) {
        w.heap.fail_at = w.heap.calls + 1 + a / 2;
        return;
    }
    slt_fault fault;
    memset(&fault, 0, sizeof fault);
    fault.call = (slt_call)(SLT_OPENAT + a / 2 % (SLT_POLL_READABLE - SLT_OPENAT + 1));
    fault.nth = 1 + b % 16;
    fault.every = b >= 192;
    fault.error_number = errors[b / 16 % 12];
    if ((b & 8) != 0 && (fault.call == SLT_READ || fault.call == SLT_PREAD || fault.call == SLT_WRITE)) fault.short_size = 1;
    slt_fault_os_add(fault);
    w.os_failed = 1;
}

static void step(void) {
    typedef slw_code (*operation)(uint32_t a);
    static const operation operations[] = {op_lookup, op_build,  op_build,   op_hydrate, op_payload, op_share, op_load, op_make,
                                           op_launch, op_retire, op_discard, op_driver,  op_damage,  op_copy,  op_ask};
    const uint32_t count = sizeof operations / sizeof *operations;
    uint32_t op = next_byte();
    const uint32_t a = next_byte();
    if (op >= 240) {
        open_store(a);
        return;
    }
    if (op >= 232) {
        /* The null driver counts modules of all its devices together: a second one beside living modules would look wrong. */
        if (atomic_load(&w.null.modules_now) == 0) open_device();
        return;
    }
    const int faulty = op >= 128; /* a fault for this operation */
    if (faulty) {
        const uint32_t fault = next_byte();
        tell_failure(fault, next_byte());
    }
    const handles before = w.h;
    const slw_error fresh = SLW_ERROR_INIT;
    w.err = fresh;
    const slw_code rc = operations[op % count](a);
    w.heap.fail_at = 0;
    if (faulty) slt_fault_os_clear();
    if (rc != SLW_OK) {
        FUZZ_REQUIRE(memcmp(&before, &w.h, sizeof before) == 0);
        FUZZ_REQUIRE(w.err.code == rc && w.err.message[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int descriptors = open_descriptors();
    begin(data, size);
    for (int i = 0; i < STEPS_MAX && w.at < w.size; i++) step();
    end(descriptors);
    return 0;
}
