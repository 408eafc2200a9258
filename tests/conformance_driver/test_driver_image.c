/* What a driver is given of an image: it takes no length, so the last byte of the image has to be the last that it
   reads. The bytes lie, or are copied to, where the next one cannot be read. */
#include <stdint.h>
#include <sys/mman.h>

#include "gpu_way.h"
#include "modules.h"

#define PAGE      ((size_t)4096)
#define ALIGNMENT ((size_t)64) /* from which on an image goes uncopied to CUDA */

/* ---- Memory that ends where its page does ---------------------------------------------------------------------- */

static size_t pages_of(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

static char *guarded(size_t size) {
    const size_t room = pages_of(size);
    char *const map = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    ck_assert_int_eq(mprotect(map + room, PAGE, PROT_NONE), 0);
    memset(map, 0xa5, room); /* no NUL that somebody forgot to write */
    return map + (room - size);
}
static void unguard(char *at, size_t size) {
    const size_t room = pages_of(size);
    ck_assert_int_eq(munmap(at + size - room, room + PAGE), 0);
}

/* An allocator of such blocks, each with its size before it: aligned for any type, as far as the size lets it. */
typedef struct head {
    size_t size;
    size_t filler;
} head;
static unsigned live;

static size_t whole_of(size_t size) {
    return sizeof(head) + (size + 15) / 16 * 16;
}
static void *guard_allocate(void *context, size_t size) {
    (void)context;
    char *const at = guarded(whole_of(size));
    if (at == NULL) return NULL;
    *(head *)(void *)at = (head){size, 0};
    live++;
    return at + sizeof(head);
}
static void guard_release(void *context, void *pointer) {
    (void)context;
    head *const at = (head *)pointer - 1;
    live--;
    unguard((char *)(void *)at, whole_of(at->size));
}
static void *guard_reallocate(void *context, void *pointer, size_t size) {
    void *const fresh = guard_allocate(context, size);
    if (fresh == NULL || pointer == NULL) return fresh;
    const size_t before = ((head *)pointer - 1)->size;
    memcpy(fresh, pointer, before < size ? before : size);
    guard_release(context, pointer);
    return fresh;
}
static const slw_allocator guard = {NULL, guard_allocate, guard_reallocate, guard_release};

/* ---- Machine code ---------------------------------------------------------------------------------------------- */

static uint64_t number(const char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The ELF file with what is its end, the sections' table and CUDA's of segments, moved on, so that its size is one of whole lines. malloc'ed. */
static char *stretched(slw_bytes bytes, size_t *size) {
    const char *const from = bytes.data;
    const size_t sections = (size_t)number(from + 40), segments = (size_t)number(from + 32);
    const size_t add = (ALIGNMENT - bytes.size % ALIGNMENT) % ALIGNMENT;
    char *const out = calloc(1, bytes.size + add);
    memcpy(out, from, sections);
    memcpy(out + sections + add, from + sections, bytes.size - sections);
    const uint64_t moved[2] = {segments < sections ? segments : segments + add, sections + add};
    memcpy(out + 32, moved, sizeof moved);
    *size = bytes.size + add;
    return out;
}

/* Loads the pair by the table of modules, which hands over the very bytes it is given. */
static void load_bytes(slw_device *device, slt_image *image, slw_bytes bytes, uint32_t number_of_it) {
    slwi_module *module = NULL;
    slw_driver_image given = image->image;
    slt_image_renumber(image, number_of_it);
    given.sha256 = image->image.sha256;
    given.bytes = bytes;
    slt_ok(slwi_module_load(device, &given, NULL, &module, &w.err), &w.err);
    void *function = NULL;
    slw_function_attributes attributes = SLW_FUNCTION_ATTRIBUTES_INIT;
    const slw_kernel_contract *const kernel = slt_image_kernel(image, "saxpy");
    slt_ok(slwi_module_function(module, kernel, &function, &attributes, &w.err), &w.err);
    slwi_module_unload_or_release(&module);
    ck_assert_ptr_null(module);
    slt_double_check_violations(&w.d);
}

/* Uncopied where it lies as the driver wants it, and a copy of exactly its bytes where it does not. */
START_TEST(machine_code_at_the_end_of_memory) {
    start(_i);
    slw_device *device = NULL;
    slt_double same;
    slt_gpu_open(&same, w.kind, 0, &guard, &device);
    size_t size = 0;
    char *const bytes = stretched(w.pair->image.bytes, &size);
    char *const aligned = guarded(size), *const aside = guarded(size + 4);
    memcpy(aligned, bytes, size);
    memcpy(aside, bytes, size);
    ck_assert_uint_eq((uintptr_t)aligned % ALIGNMENT, 0);
    load_bytes(device, w.pair, (slw_bytes){aligned, size}, 1);
    load_bytes(device, w.pair, (slw_bytes){aside, size}, 2);
    if (_i == 0) { /* the first without a copy: that many bytes were never asked for */
        slt_heap_reset(&w.heap);
        w.heap.peak_bytes = w.heap.live_bytes;
        load_bytes(w.device, w.pair, (slw_bytes){aligned, size}, 3);
        ck_assert_uint_lt(w.heap.peak_bytes - w.heap.live_bytes, size);
        w.heap.peak_bytes = w.heap.live_bytes;
        load_bytes(w.device, w.pair, (slw_bytes){aside, size}, 4);
        ck_assert_uint_ge(w.heap.peak_bytes - w.heap.live_bytes, size);
    }
    unguard(aligned, size);
    unguard(aside, size + 4);
    slw_device_close(&device);
    ck_assert_uint_eq(live, 0);
    free(bytes);
    stop();
}
END_TEST

/* Less than the image says it has: a driver would read on, so it is not asked. */
START_TEST(an_image_cut_short_stays_here) {
    start(0);
    size_t size = 0;
    char *const bytes = stretched(w.pair->image.bytes, &size);
    char *const at = guarded(size - ALIGNMENT);
    memcpy(at, bytes, size - ALIGNMENT);
    slw_driver_image given = w.pair->image;
    given.bytes = (slw_bytes){at, size - ALIGNMENT};
    slwi_module *module = NULL;
    w.d.control->log_clear();
    ck_assert_int_eq(slwi_module_load(w.device, &given, NULL, &module, &w.err), SLW_E_INVALID_BINARY);
    ck_assert_uint_eq(w.d.control->count("cuModuleLoadData"), 0);
    unguard(at, size - ALIGNMENT);
    free(bytes);
    stop();
}
END_TEST

/* ---- PTX ------------------------------------------------------------------------------------------------------- */

/* A file has no NUL at its end and a driver wants one: there is nothing but that NUL between the copy's text and bytes
   that are none, up to the end of what can be read. Sizes around a page's and a line's. */
START_TEST(ptx_ends_with_a_nul) {
    start(0);
    slt_image *const text = slt_gpu_pair_ptx();
    slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
    slw_device *device = NULL;
    slt_double_use(&w.d, &options);
    options.allow_ptx = 1;
    options.allocator = guard;
    slt_ok(slw_device_open(&options, &device, &w.err), &w.err);
    const size_t shortest = text->image.bytes.size;
    for (size_t size = shortest; size < shortest + 2 * ALIGNMENT; size += size % 16 == 0 ? 1 : 5) {
        char *const at = guarded(size);
        memcpy(at, text->image.bytes.data, shortest);
        memset(at + shortest, '\n', size - shortest);
        load_bytes(device, text, (slw_bytes){at, size}, (uint32_t)size);
        unguard(at, size);
    }
    slw_device_close(&device);
    ck_assert_uint_eq(live, 0);
    slt_image_free(text);
    stop();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("images for GPUs");
    TCase *tcase = tcase_create("image");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, machine_code_at_the_end_of_memory, 0, GPU_KINDS);
    tcase_add_test(tcase, an_image_cut_short_stays_here);
    tcase_add_test(tcase, ptx_ends_with_a_nul);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
