/* The reader of host kernels: what it reads, what it refuses, and that no damage makes it crash. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends.h"
#include "host_backend.h"
#include "host_reader.h"
#include "host_target.h"
#include "slt.h"

static slw_allocator allocator = SLW_ALLOCATOR_INIT;
static char *whole;
static size_t whole_size;

/* Compiled once for all tests of this program; Check forks after this. */
static const char *compile(const char *source, const char *options) {
    const char *out = slt_path(slt_scratch(), "kernel.so", NULL);
    slt_shell("cc -shared -fPIC -O1 -I '%s/../../include' -o %s %s %s", slt_fixture("."), out, source, options);
    return out;
}

static void build(void) {
    whole = slt_read_file(compile(slt_fixture("host/two_kernels.c"), ""), &whole_size);
}

static void drop(void) {
    free(whole);
}

static slw_code read_bytes(const char *data, size_t size, slw_contract **out, slw_error *err) {
    return slwi_host_read_contract(&allocator, (slw_bytes){data, size}, "kernel.so", out, err);
}

static Elf64_Shdr *section(char *file, const char *name) {
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file;
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(file + header->e_shoff);
    const char *names = file + sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0) return &sections[i];
    }
    ck_abort_msg("no section %s", name);
}

/* A copy of the good file, to be spoiled. */
static char *copy(void) {
    char *bytes = malloc(whole_size);
    memcpy(bytes, whole, whole_size);
    return bytes;
}

static void refused(const char *data, size_t size, slw_code code, const char *reason) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slw_code rc = read_bytes(data, size, &contract, &err);
    ck_assert_msg(rc == code && err.reason != NULL && strcmp(err.reason, reason) == 0, "got %s (%s): %s, wanted %s",
                  slw_code_name(rc), err.reason != NULL ? err.reason : "", err.message, reason);
    ck_assert_ptr_null(contract);
}

START_TEST(what_it_reads) {
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    slt_ok(read_bytes(whole, whole_size, &contract, &err), &err);
    ck_assert_str_eq(contract->backend, "host");
    ck_assert_str_eq(contract->target, slwi_host_target());
    ck_assert_str_eq(contract->launch_binary, "kernel.so");
    ck_assert_uint_eq(contract->kernel_count, 2);
    ck_assert_str_eq(contract->kernels[0].name, "first");
    ck_assert_uint_eq(contract->kernels[0].param_count, 0);
    const slw_kernel_contract *second = &contract->kernels[1];
    ck_assert_uint_eq(second->static_shared_bytes, 112);
    ck_assert_uint_eq(second->param_count, 5);
    static const slw_param_kind kinds[] = {SLW_PARAM_POINTER, SLW_PARAM_SIGNED, SLW_PARAM_UNSIGNED, SLW_PARAM_FLOAT,
                                           SLW_PARAM_STRUCT};
    static const uint32_t sizes[] = {8, 1, 8, 8, 16};
    uint32_t offset = 0;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(second->params[i].kind, kinds[i]);
        ck_assert_uint_eq(second->params[i].size_bytes, sizes[i]);
        ck_assert_uint_eq(second->params[i].offset_bytes, offset);
        offset += sizes[i];
    }
    ck_assert_uint_eq(second->param_bytes, offset);
    ck_assert_uint_le(slwi_contract_overhead_bytes(contract), 4096);

    /* and through JSON */
    slwi_buffer text;
    slwi_json_writer writer;
    slwi_buffer_init(&text, &allocator, SIZE_MAX);
    slwi_json_begin(&writer, &text, 1);
    slwi_contract_write(contract, &writer);
    slwi_json_limits limits = SLWI_JSON_LIMITS_DEFAULT;
    slwi_json_document *document = NULL;
    slw_contract *back = NULL;
    slt_ok(slwi_json_parse(&allocator, (slw_bytes){text.data, text.size}, &limits, &document, &err), &err);
    slt_ok(slwi_contract_read(&allocator, slwi_json_root(document), &back, &err), &err);
    slt_ok(slwi_contract_compare(back, contract, &err), &err);
    slwi_contract_free(&allocator, &back);
    slwi_json_free(&document);
    slwi_buffer_free(&text);
    slwi_contract_free(&allocator, &contract);
}
END_TEST

START_TEST(every_proper_prefix_is_truncated) {
    ck_assert(slwi_host_recognises((slw_bytes){whole, whole_size}));
    for (size_t size = 0; size < whole_size; size++) {
        slw_error err = SLW_ERROR_INIT;
        slw_contract *contract = NULL;
        /* In memory of exactly that size, so that a sanitizer sees a read past it. */
        char *cut = malloc(size == 0 ? 1 : size);
        memcpy(cut, whole, size);
        slw_code rc = read_bytes(cut, size, &contract, &err);
        ck_assert_msg(rc == SLW_E_INVALID_BINARY && strcmp(err.reason, "TRUNCATED") == 0, "%zu bytes: %s (%s)", size,
                      slw_code_name(rc), err.reason != NULL ? err.reason : "");
        ck_assert(err.present & SLW_ERROR_HAS_OFFSET);
        ck_assert_uint_ge(err.offset_bytes, size);
        free(cut);
    }
}
END_TEST

START_TEST(other_files_and_machines) {
    refused("this is no ELF file, by any means whatsoever, however long it is made to be", 76, SLW_E_INVALID_BINARY,
            "NOT_ELF");
    char *bytes = copy();
    ((Elf64_Ehdr *)(void *)bytes)->e_machine = slwi_host_machine() == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
    refused(bytes, whole_size, SLW_E_TARGET_MISMATCH, "MACHINE");
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    (void)read_bytes(bytes, whole_size, &contract, &err);
    ck_assert_ptr_nonnull(strstr(err.message, slwi_host_target())); /* both names */
    ck_assert_ptr_nonnull(strstr(err.message, slwi_host_machine() == EM_X86_64 ? "aarch64" : "x86_64"));
    ck_assert(slwi_host_recognises((slw_bytes){bytes, whole_size})); /* it is ours to refuse */
    ((Elf64_Ehdr *)(void *)bytes)->e_machine = 190;
    ck_assert(!slwi_host_recognises((slw_bytes){bytes, whole_size}));
    ck_assert_str_eq(slwi_backend_recognise((slw_bytes){bytes, whole_size})->name, "cuda");
    memcpy(bytes, whole, whole_size);
    ((Elf64_Ehdr *)(void *)bytes)->e_type = ET_EXEC;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "NOT_SHARED_OBJECT");
    free(bytes);
    ck_assert(!slwi_host_recognises((slw_bytes){"\177ELF", 4}));
}
END_TEST

START_TEST(no_kernels_is_an_error_of_its_own) {
    size_t size;
    char *bytes = slt_read_file(compile(slt_fixture("host/no_kernels.c"), ""), &size);
    refused(bytes, size, SLW_E_INVALID_BINARY, "NO_ENTRY");
    free(bytes);
    /* a record without its function: the symbol is hidden from the dynamic table */
    const char *script = slt_path(slt_scratch(), "map", NULL);
    slt_write_file(script, "{ global: slw_*; local: *; };", 29, 0644);
    char option[4096];
    (void)snprintf(option, sizeof(option), "-Wl,--version-script=%s", script);
    bytes = slt_read_file(compile(slt_fixture("host/two_kernels.c"), option), &size);
    refused(bytes, size, SLW_E_INVALID_BINARY, "NO_ENTRY");
    free(bytes);
}
END_TEST

START_TEST(pitfall_02_search_paths_and_libraries) {
    static const struct {
        const char *option;
        const char *reason;
    } cases[] = {
        {"-Wl,-rpath,/tmp", "SEARCH_PATH"},
        {"-Wl,--disable-new-dtags,-rpath,/tmp", "SEARCH_PATH"},
        {"-Wl,--enable-new-dtags,-rpath,/tmp", "SEARCH_PATH"},
        {"-Wl,--audit=x.so", "LIBRARY"},
        {"-Wl,-f,x.so", "LIBRARY"},
        {"-Wl,-F,x.so", "LIBRARY"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t size;
        char *bytes = slt_read_file(compile(slt_fixture("host/two_kernels.c"), cases[i].option), &size);
        refused(bytes, size, SLW_E_INVALID_BINARY, cases[i].reason);
        free(bytes);
    }
    const char *other = slt_scratch();
    size_t size;
    char option[4096];
    slt_shell("cc -shared -fPIC -o %s/libother.so -Wl,-soname,libother.so.1 %s", other,
              slt_fixture("host/no_kernels.c"));
    (void)snprintf(option, sizeof(option), "-Wl,--no-as-needed -L%s -lother", other);
    char *bytes = slt_read_file(compile(slt_fixture("host/two_kernels.c"), option), &size);
    refused(bytes, size, SLW_E_INVALID_BINARY, "LIBRARY");
    free(bytes);
}
END_TEST

/* One record field at a time. Offsets are those of <slipway/host_kernel.h>. */
START_TEST(records) {
    static const struct {
        uint32_t offset;
        uint32_t value;
        slw_code code;
        const char *reason;
    } cases[] = {
        {0, 2, SLW_E_UNSUPPORTED_INPUT, "KERNEL_VERSION"},
        {0, 0, SLW_E_UNSUPPORTED_INPUT, "KERNEL_VERSION"},
        {4, 0, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {4, 256, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {4, 0xffffffff, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {8, 17, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {12, 65, SLW_E_LIMIT, "TOO_MANY_PARAMETERS"},
        {12, 4, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {16, 0, SLW_E_INVALID_BINARY, "BAD_RECORD"},          /* no name */
        {16, 0x01010101, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* control characters */
        {16, 0xffffffff, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* no UTF-8 */
        {16, 0x73747465, SLW_E_INVALID_BINARY, "NO_ENTRY"},   /* another name */
        {140, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"},         /* after the NUL */
        {144, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"},         /* reserved */
        {252, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 28, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* a parameter's name */
        {256 + 32, 0, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* its size */
        {256 + 32, 65537, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 36, 0, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* its alignment */
        {256 + 36, 12, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 36, 8192, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 40, 0, SLW_E_INVALID_BINARY, "BAD_RECORD"}, /* its kind */
        {256 + 40, 6, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 44, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"},
        {256 + 60, 1, SLW_E_INVALID_BINARY, "BAD_RECORD"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *bytes = copy();
        char *record = bytes + section(bytes, ".slipway.kernels")->sh_offset;
        if (memcmp(record + 16, "second", 7) != 0) record += 256; /* the linker's order */
        memcpy(record + cases[i].offset, &cases[i].value, 4);
        refused(bytes, whole_size, cases[i].code, cases[i].reason);
        free(bytes);
    }
    /* the same name twice */
    char *bytes = copy();
    char *record = bytes + section(bytes, ".slipway.kernels")->sh_offset;
    uint32_t length;
    memcpy(&length, record + 4, 4);
    memcpy(record + length + 16, record + 16, 128);
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "DUPLICATE");
    /* a section that ends inside a record */
    memcpy(bytes, whole, whole_size);
    section(bytes, ".slipway.kernels")->sh_size -= 64;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "BAD_RECORD");
    section(bytes, ".slipway.kernels")->sh_size = 0;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "NO_ENTRY");
    memcpy(bytes, whole, whole_size);
    section(bytes, ".slipway.kernels")->sh_type = SHT_NOBITS;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "BAD_RECORD");
    free(bytes);
}
END_TEST

START_TEST(headers_and_tables) {
    static const struct {
        uint32_t offset; /* in the ELF header */
        uint32_t width;
        uint64_t value;
        const char *reason;
    } cases[] = {
        {4, 1, 1, "NOT_ELF"},
        {5, 1, 2, "NOT_ELF"},
        {6, 1, 0, "NOT_ELF"},
        {32, 8, UINT64_MAX, "TRUNCATED"},
        {40, 8, UINT64_MAX, "TRUNCATED"},
        {32, 8, 8, "BAD_HEADER"},
        {54, 2, 55, "BAD_HEADER"},
        {58, 2, 63, "BAD_HEADER"},
        {60, 2, 0xfffe, "TRUNCATED"},
        {56, 2, 0xfffe, "TRUNCATED"},
        {62, 2, 0xfff0, "BAD_HEADER"},
        {40, 8, 0, "NO_ENTRY"},
        {56, 2, 0, "BAD_DYNAMIC"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *bytes = copy();
        memcpy(bytes + cases[i].offset, &cases[i].value, cases[i].width);
        refused(bytes, whole_size, SLW_E_INVALID_BINARY, cases[i].reason);
        free(bytes);
    }
    /* Where the loader would look, and where the sections say, must be one place. */
    char *bytes = copy();
    section(bytes, ".dynsym")->sh_addr += 24;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "BAD_DYNAMIC");
    memcpy(bytes, whole, whole_size);
    section(bytes, ".dynsym")->sh_link = 60000;
    refused(bytes, whole_size, SLW_E_INVALID_BINARY, "BAD_SECTION");
    free(bytes);
}
END_TEST

/* A file in which every one of many symbols is asked for in every one of many segments took minutes: 4 MB, and both counts
   within their limits. */
START_TEST(segments_times_symbols_is_no_product) {
    enum { SEGMENTS = 60000, SYMBOLS = 40000 };
    const size_t room = whole_size + 64 + SEGMENTS * sizeof(Elf64_Phdr) + SYMBOLS * sizeof(Elf64_Sym);
    char *file = calloc(1, room);
    ck_assert_ptr_nonnull(file);
    memcpy(file, whole, whole_size);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file;
    const size_t segments = (whole_size + 15) / 16 * 16;
    memcpy(file + segments, file + header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
    header->e_phoff = segments;
    header->e_phnum = SEGMENTS;
    Elf64_Shdr *symbols = section(file, ".dynsym");
    const Elf64_Sym *there = (const Elf64_Sym *)(void *)(file + symbols->sh_offset);
    const size_t count = symbols->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym *more = (Elf64_Sym *)(void *)(file + segments + SEGMENTS * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < SYMBOLS; i++) {
        more[i] = there[i % count];
        if (i >= count) more[i].st_value = (uint64_t)1 << 60; /* in no segment, so that none is found early */
    }
    symbols->sh_offset = (uint64_t)((char *)more - file);
    symbols->sh_size = SYMBOLS * sizeof(Elf64_Sym);
    slw_error err = SLW_ERROR_INIT;
    slw_contract *contract = NULL;
    const clock_t start = clock();
    slt_ok(read_bytes(file, room, &contract, &err), &err);
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 10);
    slwi_contract_free(&allocator, &contract);
    free(file);
}
END_TEST

static uint64_t state = 0x9e3779b97f4a7c15u;
static uint64_t random_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Whatever is done to the bytes: an answer, never a crash; and what is accepted obeys the bounds. */
START_TEST(mutations) {
    char *bytes = malloc(whole_size);
    unsigned accepted = 0;
    static const uint64_t interesting[] = {0,      1,          0x7f,        0x80,        0xff,
                                           0xffff, 0x7fffffff, 0x80000000u, 0xffffffffu, UINT64_MAX};
    Elf64_Ehdr header;
    memcpy(&header, whole, sizeof(header));
    Elf64_Shdr *kernels = section(whole, ".slipway.kernels");
    Elf64_Shdr *dynamic = section(whole, ".dynamic");
    for (unsigned round = 0; round < 100000; round++) {
        memcpy(bytes, whole, whole_size);
        for (unsigned n = 1 + (unsigned)(random_number() % 4); n > 0; n--) {
            /* Most of the file is code and padding: aim at what is read. */
            uint64_t from[] = {0, header.e_shoff, header.e_phoff, kernels->sh_offset, dynamic->sh_offset, 0};
            uint64_t span[] = {64,
                               (uint64_t)header.e_shnum * 64,
                               (uint64_t)header.e_phnum * 56,
                               kernels->sh_size,
                               dynamic->sh_size,
                               whole_size};
            unsigned area = (unsigned)(random_number() % 6);
            uint64_t at = from[area] + random_number() % span[area];
            if (random_number() % 2 == 0) {
                bytes[at] = (char)random_number();
            } else {
                size_t width = (size_t)1 << (random_number() % 4);
                uint64_t value = interesting[random_number() % 10];
                if (at + width <= whole_size) memcpy(bytes + at, &value, width);
            }
        }
        slw_contract *contract = NULL;
        slw_error err = SLW_ERROR_INIT;
        slw_code rc = read_bytes(bytes, whole_size, &contract, &err);
        ck_assert((rc == SLW_OK) == (contract != NULL));
        ck_assert_int_eq(rc, err.code);
        if (rc != SLW_OK) continue;
        accepted++;
        for (uint32_t i = 0; i < contract->kernel_count; i++) {
            ck_assert_uint_le(contract->kernels[i].param_count, 64);
            ck_assert_uint_le(strlen(contract->kernels[i].name), 127);
        }
        slwi_contract_free(&allocator, &contract);
    }
    ck_assert_uint_gt(accepted, 0); /* else the mutations are too wild to test anything deep */
    free(bytes);
}
END_TEST

typedef struct countdown {
    long left;
    long live;
} countdown;
static void *count_allocate(void *context, size_t size) {
    countdown *c = context;
    if (c->left-- == 0) return NULL;
    c->live++;
    return malloc(size);
}
static void *count_reallocate(void *context, void *pointer, size_t size) {
    countdown *c = context;
    if (c->left-- == 0) return NULL;
    if (pointer == NULL) c->live++;
    return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
    countdown *c = context;
    c->live--;
    free(pointer);
}

START_TEST(every_allocation_may_fail) {
    slw_code rc = SLW_E_NO_MEMORY;
    int failures = 0;
    for (long n = 0; rc != SLW_OK; n++) {
        countdown count = {n, 0};
        slw_allocator counting = {&count, count_allocate, count_reallocate, count_release};
        slw_contract *contract = NULL;
        slw_error err = SLW_ERROR_INIT;
        rc = slwi_host_read_contract(&counting, (slw_bytes){whole, whole_size}, NULL, &contract, &err);
        ck_assert(rc == SLW_OK || (rc == SLW_E_NO_MEMORY && contract == NULL && err.code == SLW_E_NO_MEMORY));
        failures += rc != SLW_OK;
        slwi_contract_free(&counting, &contract);
        ck_assert_int_eq(count.live, 0);
    }
    ck_assert_int_ge(failures, 5);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/host_reader");
    TCase *tcase = tcase_create("reader");
    tcase_set_timeout(tcase, 240);
    tcase_add_unchecked_fixture(tcase, build, drop);
    tcase_add_test(tcase, what_it_reads);
    tcase_add_test(tcase, every_proper_prefix_is_truncated);
    tcase_add_test(tcase, other_files_and_machines);
    tcase_add_test(tcase, no_kernels_is_an_error_of_its_own);
    tcase_add_test(tcase, pitfall_02_search_paths_and_libraries);
    tcase_add_test(tcase, records);
    tcase_add_test(tcase, headers_and_tables);
    tcase_add_test(tcase, segments_times_symbols_is_no_product);
    tcase_add_test(tcase, mutations);
    tcase_add_test(tcase, every_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return slt_run(suite, NULL);
}
