/* Two builds of one payload: the same, debug sections alone, or more. Real files by the system's compiler, damaged. */
#include "slt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "elf_view.h"

static const char text[] = "int shared_data[4] = {1, 2, 3, 4};\n"
                           "int scale(int a) { return a * shared_data[1]; }\n";

static const char *scratch;

static slw_bytes file_of(const char *path) {
    size_t size = 0;
    char *data = slt_read_file(path, &size);
    return (slw_bytes){data, size};
}

/* One source, compiled in two directories whose names differ in length: -g tells them. */
static void build(const char *flags, const char *out_name, slw_bytes out[2]) {
    static const char *const directories[2] = {"a", "a-longer-name"};
    for (int i = 0; i < 2; i++) {
        const char *directory = slt_path(scratch, directories[i], NULL);
        slt_shell("mkdir -p '%s'", directory);
        slt_write_file(slt_path(directory, "k.c", NULL), text, strlen(text), 0644);
        slt_shell("cd '%s' && /usr/bin/gcc -O1 -fPIC %s k.c -o %s", directory, flags, out_name);
        out[i] = file_of(slt_path(directory, out_name, NULL));
    }
}

static void drop(slw_bytes files[2]) {
    for (int i = 0; i < 2; i++) free((void *)(uintptr_t)files[i].data);
}

static slwi_binary_difference compare(slw_bytes a, slw_bytes b) {
    slwi_binary_difference difference;
    slwi_binary_compare(a, b, &difference);
    return difference;
}

static slwi_elf_section section_of(slw_bytes file, const char *name) {
    slwi_elf elf;
    slwi_elf_section section = {0};
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_elf_open(file, NULL, &elf, &err), &err);
    ck_assert_msg(slwi_elf_section_named(&elf, name, &section, &err) == SLW_OK, "no section %s", name);
    return section;
}

static uint8_t *byte_of(slw_bytes file, uint64_t offset) {
    ck_assert_uint_lt(offset, file.size);
    return (uint8_t *)(uintptr_t)file.data + offset;
}

static void set_up(void) {
    scratch = slt_scratch();
}

START_TEST(equal_files_are_the_same) {
    slw_bytes files[2];
    build("-c", "k.o", files); /* without -g nothing of the directory is told */
    ck_assert_int_eq(compare(files[0], files[1]).kind, SLWI_SAME);
    ck_assert_int_eq(compare(files[0], files[0]).kind, SLWI_SAME);
    const slw_bytes nothing = {NULL, 0}, empty = {"", 0};
    ck_assert_int_eq(compare(nothing, empty).kind, SLWI_SAME);
    drop(files);
}
END_TEST

START_TEST(debug_sections_alone) {
    static const char *const flags[] = {"-g -c", "-g -shared -Wl,--build-id=sha1",
                                        "-gdwarf-4 -shared -Wl,--build-id=none"};
    for (size_t i = 0; i < 3; i++) {
        slw_bytes files[2];
        build(flags[i], "k.bin", files);
        ck_assert_msg(files[0].size != files[1].size || memcmp(files[0].data, files[1].data, files[0].size) != 0,
                      "the directory is not told by %s: the test tests nothing", flags[i]);
        const slwi_binary_difference difference = compare(files[0], files[1]);
        ck_assert_msg(difference.kind == SLWI_DEBUG_ONLY, "%s: %d %llu %s", flags[i], (int)difference.kind,
                      (unsigned long long)difference.offset_bytes, difference.section);
        ck_assert_uint_lt(difference.offset_bytes, files[0].size);
        drop(files);
    }
}
END_TEST

START_TEST(a_build_id_alone) {
    slw_bytes files[2];
    build("-shared -Wl,--build-id=sha1", "k.so", files);
    ck_assert_int_eq(compare(files[0], files[1]).kind, SLWI_SAME);
    const slwi_elf_section id = section_of(files[1], ".note.gnu.build-id");
    ck_assert_uint_ne(id.flags & SLWI_SHF_ALLOC, 0); /* in a segment, too */
    *byte_of(files[1], id.offset + id.size - 1) ^= 1;
    slwi_binary_difference difference = compare(files[0], files[1]);
    ck_assert_int_eq(difference.kind, SLWI_DEBUG_ONLY);
    ck_assert_uint_eq(difference.offset_bytes, id.offset + id.size - 1);
    /* And with it one byte that runs. */
    const slwi_elf_section code = section_of(files[1], ".text");
    *byte_of(files[1], code.offset + code.size - 1) ^= 1;
    difference = compare(files[0], files[1]);
    ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
    ck_assert_str_eq(difference.section, ".text");
    ck_assert_uint_eq(difference.offset_bytes, code.offset + code.size - 1);
    drop(files);
}
END_TEST

/* One byte of each section that is no debug section: said to be more, and where. */
START_TEST(any_other_section_differs) {
    slw_bytes files[2];
    build("-g -shared", "k.so", files);
    slwi_elf elf;
    slw_error err = SLW_ERROR_INIT;
    slt_ok(slwi_elf_open(files[1], NULL, &elf, &err), &err);
    int debug = 0, other = 0;
    for (uint32_t i = 1; i < elf.section_count; i++) {
        slwi_elf_section section;
        slt_ok(slwi_elf_section_at(&elf, i, &section, &err), &err);
        if (section.bytes.size == 0) continue;
        const uint64_t at = section.offset + section.bytes.size / 2;
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)section.name.size, (const char *)section.name.data);
        if (strcmp(name, ".shstrtab") == 0) continue; /* that is another section's name */
        *byte_of(files[1], at) ^= 1;
        const slwi_binary_difference difference = compare(files[0], files[1]);
        const int is_debug = strncmp(name, ".debug_", 7) == 0 || strcmp(name, ".note.gnu.build-id") == 0;
        ck_assert_msg(difference.kind == (is_debug ? SLWI_DEBUG_ONLY : SLWI_DIFFERS), "%s", name);
        if (!is_debug) {
            ck_assert_str_eq(difference.section, name);
            const slwi_elf_section mine = section_of(files[0], name); /* behind shorter debug sections */
            ck_assert_uint_eq(difference.offset_bytes - mine.offset, at - section.offset);
        }
        *(is_debug ? &debug : &other) += 1;
        *byte_of(files[1], at) ^= 1;
    }
    ck_assert_int_gt(debug, 4);
    ck_assert_int_gt(other, 10);
    drop(files);
}
END_TEST

START_TEST(headers_names_and_tails_differ) {
    slw_bytes files[2];
    build("-g -shared", "k.so", files);
    ck_assert_int_eq(compare(files[0], files[1]).kind, SLWI_DEBUG_ONLY);
    *byte_of(files[1], 24) ^= 1; /* the entry point */
    slwi_binary_difference difference = compare(files[0], files[1]);
    ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
    *byte_of(files[1], 24) ^= 1;
    *byte_of(files[1], 64 + 4) ^= 1; /* flags of the first segment */
    ck_assert_int_eq(compare(files[0], files[1]).kind, SLWI_DIFFERS);
    *byte_of(files[1], 64 + 4) ^= 1;
    ck_assert_int_eq(compare(files[0], files[1]).kind, SLWI_DEBUG_ONLY);
    /* What is no ELF file any more, and what never was one. */
    *byte_of(files[1], 0) ^= 1;
    difference = compare(files[0], files[1]);
    ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
    ck_assert_uint_eq(difference.offset_bytes, 0);
    const slw_bytes one = {"abcdef", 6}, two = {"abcdXf", 6}, less = {"abc", 3};
    ck_assert_uint_eq(compare(one, two).offset_bytes, 4);
    ck_assert_uint_eq(compare(one, less).offset_bytes, 3);
    ck_assert_int_eq(compare(one, less).kind, SLWI_DIFFERS);
    /* Bytes after all sections are in none: not said to be debug information. */
    char *longer = malloc(files[0].size + 1);
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, files[0].data, files[0].size);
    longer[files[0].size] = 7;
    difference = compare(files[0], (slw_bytes){longer, files[0].size + 1});
    ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
    ck_assert_uint_eq(difference.offset_bytes, files[0].size);
    free(longer);
    drop(files);
}
END_TEST

/* The vendors' compilers write a source's time and place; one byte of what runs, and it is not that any more. */
START_TEST(code_for_gpus) {
    static const char *const names[] = {"lineinfo_80_12.9.%d.cubin", "g_80_13.0.%d.cubin", "g_gfx90a.%d.hsaco"};
    static const char *const debug[] = {".debug_line", ".debug_line", ".debug_str_offsets"};
    static const char *const code[] = {".text.scale", ".text.scale", ".text"};
    for (size_t i = 0; i < 3; i++) {
        slw_bytes files[2];
        for (int n = 0; n < 2; n++) {
            char name[64], path[80];
            (void)snprintf(name, sizeof name, names[i], n + 1);
            (void)snprintf(path, sizeof path, "audit/%s", name);
            files[n] = file_of(slt_fixture(path));
        }
        slwi_binary_difference difference = compare(files[0], files[1]);
        ck_assert_msg(difference.kind == SLWI_DEBUG_ONLY, "%s: %s", names[i], difference.section);
        ck_assert_str_eq(difference.section, debug[i]);
        const slwi_elf_section section = section_of(files[1], code[i]);
        const slwi_elf_section mine = section_of(files[0], code[i]);
        *byte_of(files[1], section.offset + 9) ^= 1;
        difference = compare(files[0], files[1]);
        ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
        ck_assert_str_eq(difference.section, code[i]);
        ck_assert_uint_eq(difference.offset_bytes, mine.offset + 9);
        drop(files);
    }
}
END_TEST

/* A section that is loaded is none of debugging, whatever it is called. */
START_TEST(a_loaded_section_of_such_a_name_differs) {
    static const char loaded[] = "__attribute__((section(\".debug_mine\"), used)) int mine = VALUE;\n";
    slw_bytes files[2];
    for (int i = 0; i < 2; i++) {
        const char *source = slt_path(scratch, i == 0 ? "l0.c" : "l1.c", NULL);
        const char *object = slt_path(scratch, i == 0 ? "l0.o" : "l1.o", NULL);
        slt_write_file(source, loaded, strlen(loaded), 0644);
        /* By standard input, so that no file's name is told. */
        slt_shell("/usr/bin/gcc -c -DVALUE=%d -x c - -o '%s' < '%s'", i + 1, object, source);
        files[i] = file_of(object);
    }
    const slwi_elf_section mine = section_of(files[0], ".debug_mine");
    ck_assert_uint_ne(mine.flags & SLWI_SHF_ALLOC, 0);
    const slwi_binary_difference difference = compare(files[0], files[1]);
    ck_assert_int_eq(difference.kind, SLWI_DIFFERS);
    ck_assert_str_eq(difference.section, ".debug_mine");
    drop(files);
}
END_TEST

/* Any bytes: no crash, SAME only where they are equal. Each single byte of a small file, and many at once. */
START_TEST(damage) {
    slw_bytes files[2];
    build("-g -c", "k.o", files);
    uint32_t state = 1;
    for (uint64_t at = 0; at < files[0].size; at += 3) {
        uint8_t *byte = byte_of(files[1], at % files[1].size);
        state = state * 1664525u + 1013904223u;
        const uint8_t before = *byte;
        *byte ^= (uint8_t)(1u + (state >> 24) % 255u);
        (void)compare(files[0], files[1]);
        ck_assert_int_ne(compare(files[1], files[0]).kind, SLWI_SAME);
        *byte = before;
    }
    for (int round = 0; round < 2000; round++) {
        state = state * 1664525u + 1013904223u;
        *byte_of(files[1], (state >> 4) % files[1].size) ^= (uint8_t)(state >> 9);
        (void)compare(files[0], files[1]);
        (void)compare(files[1], (slw_bytes){files[0].data, state % files[0].size});
    }
    drop(files);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend binary compare");
    TCase *c = tcase_create("compare");
    tcase_set_timeout(c, 180);
    tcase_add_checked_fixture(c, set_up, NULL);
    tcase_add_test(c, equal_files_are_the_same);
    tcase_add_test(c, debug_sections_alone);
    tcase_add_test(c, a_build_id_alone);
    tcase_add_test(c, any_other_section_differs);
    tcase_add_test(c, headers_names_and_tails_differ);
    tcase_add_test(c, code_for_gpus);
    tcase_add_test(c, a_loaded_section_of_such_a_name_differs);
    tcase_add_test(c, damage);
    suite_add_tcase(suite, c);
    return slt_run(suite, NULL);
}
