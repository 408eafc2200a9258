/* The ELF closure: what the loader would map, compared with what ldd says, and everything the search has to refuse. */
#include <limits.h>
#include <stdio.h>

#include "elf_closure.h"
#include "elf_closure_cache.h"
#include "identity_kit.h"

static slwi_gather gather;

static void begin(void) {
    static const slw_allocator standard = SLW_ALLOCATOR_INIT;
    slwi_gather_init(&gather, &standard, NULL);
}

static int has_path(const slwi_closure *closure, const char *path) {
    char real[PATH_MAX];
    ck_assert_msg(realpath(path, real) != NULL, "%s", path);
    for (size_t i = 0; i < closure->count; i++) {
        if (strcmp(closure->members[i].seen->named.path, real) == 0) return 1;
    }
    return 0;
}

static int has_compiler(void) {
    return system("cc --version >/dev/null 2>&1") == 0;
}

/* Compares with the lines of ldd: "libc.so.6 => /lib/libc.so.6 (0x…)", "/lib64/ld-linux-x86-64.so.2 (0x…)". */
static int compare_with_ldd(const char *program) {
    char command[PATH_MAX + 64], line[4096];
    slwi_closure closure;
    size_t listed = 0;
    snprintf(command, sizeof command, "env -i /usr/bin/ldd %s 2>/dev/null", program);
    FILE *ldd = popen(command, "r");
    ck_assert_ptr_nonnull(ldd);
    begin();
    slt_ok(slwi_closure_of(&gather, program, &closure, &err), &err);
    ck_assert_msg(gather.failure_count == 0, "%s", gather.failure_count > 0 ? gather.first_failure->reason : "");
    while (fgets(line, sizeof line, ldd) != NULL) {
        char *path = strstr(line, "=> ");
        path = path != NULL ? path + 3 : line + strspn(line, " \t");
        char *end = strstr(path, " (0x");
        if (path[0] != '/' || end == NULL) continue;
        *end = 0;
        ck_assert_msg(has_path(&closure, path), "%s: ldd has %s, the closure has not", program, path);
        listed++;
    }
    ck_assert_int_eq(pclose(ldd), 0);
    ck_assert_msg(closure.count == listed + 1, "%s: ldd lists %zu, the closure has %zu", program, listed, closure.count - 1);
    slwi_closure_free(&closure);
    slwi_gather_free(&gather);
    return 1;
}

/* What cc itself calls its part. */
static const char *part(const char *name) {
    static char line[PATH_MAX];
    char command[256];
    snprintf(command, sizeof command, "command -v \"$(cc -print-prog-name=%s)\"", name);
    FILE *shell = popen(command, "r");
    ck_assert_ptr_nonnull(shell);
    char *got = fgets(line, sizeof line, shell);
    (void)pclose(shell);
    if (got == NULL) return NULL;
    line[strcspn(line, "\n")] = 0;
    return line[0] == '/' ? line : NULL;
}

START_TEST(the_closure_is_what_ldd_lists) {
    if (access("/usr/bin/ldd", X_OK) != 0 || system("env -i /usr/bin/ldd /bin/sh >/dev/null 2>&1") != 0) {
        slt_skip("the_closure_is_what_ldd_lists", "there is no ldd");
        return;
    }
    const char *programs[] = {"/usr/bin/gcc", "/usr/bin/python3", "/bin/sh", "/bin/ls", "/usr/bin/clang-16", NULL};
    int compared = 0;
    for (int i = 0; programs[i] != NULL; i++) {
        if (access(programs[i], X_OK) == 0) compared += compare_with_ldd(programs[i]);
    }
    const char *parts[] = {"cc1", "as", "ld", "collect2", "lto1", NULL};
    for (int i = 0; parts[i] != NULL && has_compiler(); i++) {
        const char *path = part(parts[i]);
        if (path != NULL && access(path, X_OK) == 0) compared += compare_with_ldd(path);
    }
    ck_assert_int_gt(compared, 1);
}
END_TEST

static void closure_fails(const char *path, const char *a, const char *b) {
    slw_identity *identity = kit_identity();
    slw_digest digest;
    slt_ok(slw_identity_add_program(identity, "tools", path, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &digest), 0);
    const char *reason = "";
    (void)slw_identity_failure(identity, 0, NULL, &reason);
    ck_assert_msg(kit_failed_with(identity, a, b), "wanted \"%s\" and \"%s\": %s", a, b, reason);
    slw_identity_release(&identity);
}

START_TEST(scripts_and_other_files_are_refused) {
    const char *path = slt_path(slt_scratch(), "tool", NULL);
    slt_write_file(path, "#!/bin/sh\nexec gcc \"$@\"\n", 24, 0755);
    closure_fails(path, path, "is a script");
    slt_write_file(path, "", 0, 0755);
    closure_fails(path, path, "is not an ELF file");
    slt_write_file(path, "\177ELF\1\1\1", 7, 0755);
    closure_fails(path, path, "is not an ELF file");
}
END_TEST

static const char dir_source[] = "int f(void) { return 1; }";

/* dir/main needs libone.so, which needs libtwo.so, which needs libone.so; all found by `flags` of the program. */
static const char *build_program(const char *dir, const char *flags) {
    slt_write_file(slt_path(dir, "f.c", NULL), dir_source, sizeof dir_source - 1, 0644);
    slt_shell("cd %s && mkdir -p lib && printf 'int f(void);int main(void){return f();}' > main.c && "
              "cc -shared -fPIC f.c -o lib/libone.so && cc -shared -fPIC -Wl,--no-as-needed f.c -Llib -lone -o lib/libtwo.so && "
              "cc -shared -fPIC -Wl,--no-as-needed f.c -Llib -ltwo -o lib/libone.so && "
              "cc main.c -Llib -lone -Wl,--allow-shlib-undefined,-rpath-link,lib '%s' -o main", dir, flags);
    return slt_path(dir, "main", NULL);
}

START_TEST(rpath_is_inherited_and_cycles_end) {
    if (!has_compiler()) {
        slt_skip("rpath_is_inherited_and_cycles_end", "there is no cc");
        return;
    }
    const char *dir = slt_scratch();
    const char *program = build_program(dir, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib");
    slwi_closure closure;
    begin();
    slt_ok(slwi_closure_of(&gather, program, &closure, &err), &err);
    ck_assert_msg(gather.failure_count == 0, "%s", gather.failure_count > 0 ? gather.first_failure->reason : "");
    ck_assert(has_path(&closure, slt_path(dir, "lib/libone.so", NULL)));
    ck_assert(has_path(&closure, slt_path(dir, "lib/libtwo.so", NULL)));
    slwi_closure_free(&closure);
    slwi_gather_free(&gather);
}
END_TEST

START_TEST(runpath_is_not_inherited) {
    if (!has_compiler()) {
        slt_skip("runpath_is_not_inherited", "there is no cc");
        return;
    }
    const char *dir = slt_scratch();
    const char *program = build_program(dir, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib");
    closure_fails(program, "lib/libone.so", "its library libtwo.so was not found");
}
END_TEST

START_TEST(a_library_that_is_gone_or_search_paths_that_depend_are_named) {
    if (!has_compiler()) {
        slt_skip("a_library_that_is_gone_or_search_paths_that_depend_are_named", "there is no cc");
        return;
    }
    const char *dir = slt_scratch();
    const char *program = build_program(dir, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib");
    slt_shell("rm %s/lib/libone.so", dir);
    closure_fails(program, "main", "libone.so was not found");
    slt_shell("printf 'not a library, but long enough to hold the sixty-four bytes of a header.......' > %s/lib/libone.so", dir);
    closure_fails(program, "main", "libone.so was not found"); /* passed over, as the loader does */
    program = build_program(dir, "-Wl,-rpath,lib");
    closure_fails(program, "\"lib\"", "relative to the working directory");
    program = build_program(dir, "-Wl,-rpath,/usr/$LIB/x");
    closure_fails(program, "$LIB", "token other than $ORIGIN");
}
END_TEST

START_TEST(a_library_that_would_be_found_first_is_a_change) {
    if (!has_compiler()) {
        slt_skip("a_library_that_would_be_found_first_is_a_change", "there is no cc");
        return;
    }
    const char *dir = slt_scratch();
    const char *program = build_program(dir, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/first:$ORIGIN/lib");
    slw_identity *identity = kit_identity();
    slw_digest before, after;
    kit_dir(dir, "first");
    slt_ok(slw_identity_add_program(identity, "tools", program, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &before), 1);
    slt_ok(slw_identity_recheck(identity, &err), &err);
    slt_shell("cp %s/lib/libone.so %s/first/", dir, dir);
    ck_assert_int_eq(slw_identity_recheck(identity, &err), SLW_E_IDENTITY_UNUSABLE);
    ck_assert_str_eq(err.path, slt_path(dir, "first/libone.so", NULL));
    slw_identity_release(&identity);
    identity = kit_identity();
    slt_ok(slw_identity_add_program(identity, "tools", program, &err), &err);
    ck_assert_int_eq(kit_seal(identity, &after), 1);
    ck_assert(!kit_same(&before, &after));
    slw_identity_release(&identity);
}
END_TEST

START_TEST(every_choice_by_processor_is_taken) {
    if (!has_compiler()) {
        slt_skip("every_choice_by_processor_is_taken", "there is no cc");
        return;
    }
#ifdef __x86_64__
    const char *dir = slt_scratch();
    const char *program = build_program(dir, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib");
    slwi_closure closure;
    slt_shell("cd %s/lib && mkdir -p glibc-hwcaps/x86-64-v4 && cp libone.so glibc-hwcaps/x86-64-v4/ && printf . >> libone.so", dir);
    begin();
    slt_ok(slwi_closure_of(&gather, program, &closure, &err), &err);
    ck_assert_uint_eq(gather.failure_count, 0);
    ck_assert(has_path(&closure, slt_path(dir, "lib/libone.so", NULL)));
    ck_assert(has_path(&closure, slt_path(dir, "lib/glibc-hwcaps/x86-64-v4/libone.so", NULL)));
    slwi_closure_free(&closure);
    slwi_gather_free(&gather);
#endif
}
END_TEST

START_TEST(a_static_program_is_its_own_closure) {
    if (!has_compiler() || system("cd /tmp && echo 'int main(void){return 0;}' | cc -static -xc - -o /dev/null 2>/dev/null") != 0) {
        slt_skip("a_static_program_is_its_own_closure", "there is no cc -static");
        return;
    }
    const char *dir = slt_scratch();
    slt_shell("cd %s && echo 'int main(void){return 0;}' | cc -static -xc - -o still", dir);
    slwi_closure closure;
    begin();
    slt_ok(slwi_closure_of(&gather, slt_path(dir, "still", NULL), &closure, &err), &err);
    ck_assert_uint_eq(gather.failure_count, 0);
    ck_assert_uint_eq(closure.count, 1);
    slwi_closure_free(&closure);
    slwi_gather_free(&gather);
}
END_TEST

START_TEST(damage_never_reads_outside_the_file) {
    const char *dir = slt_scratch();
    const char *path = slt_path(dir, "cut", NULL);
    size_t size = 0;
    char *whole = slt_read_file("/bin/ls", &size);
    slwi_closure closure;
    for (size_t cut = 0; cut < 1024 && cut < size; cut += 7) { /* cut short */
        slt_write_file(path, whole, cut, 0755);
        begin();
        slt_ok(slwi_closure_of(&gather, path, &closure, &err), &err);
        slwi_closure_free(&closure);
        slwi_gather_free(&gather);
    }
    for (size_t at = 0; at < 1024 && at < size; at += 3) { /* one byte of the headers wrong */
        whole[at] = (char)(whole[at] ^ 0xff);
        slt_write_file(path, whole, size, 0755);
        whole[at] = (char)(whole[at] ^ 0xff);
        begin();
        slt_ok(slwi_closure_of(&gather, path, &closure, &err), &err);
        slwi_closure_free(&closure);
        slwi_gather_free(&gather);
    }
    free(whole);
}
END_TEST

START_TEST(names_in_the_cache_are_ordered_with_their_numbers) {
    const char *rising[] = {"liba.so", "liba.so.1", "liba.so.2", "liba.so.10", "libb.so", "libb1.so", "libb01.so.1", NULL};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_lt(slwi_ldcache_compare(rising[i], rising[i + 1]), 0);
        ck_assert_int_gt(slwi_ldcache_compare(rising[i + 1], rising[i]), 0);
    }
    ck_assert_int_eq(slwi_ldcache_compare("lib1.so.01", "lib1.so.1"), 0);
}
END_TEST

/* A cache of three entries; two of one name, one of them for a processor. */
static size_t make_cache(unsigned char *out, int old_form) {
    const char strings[] = "libz.so.1\0/lib/libz.so.1\0/lib/v3/libz.so.1\0liba.so\0/lib/liba.so";
    const uint32_t at = 48 + 3 * 24;
    const uint32_t keys[] = {at, at, at + 43}, values[] = {at + 25, at + 10, at + 51};
    const uint32_t flags = 0x0303, count = 3, strings_size = sizeof strings;
    const uint64_t hwcaps[] = {UINT64_C(1) << 62, 0, 0};
    size_t start = 0;
    memset(out, 0, 512);
    if (old_form) {
        const uint32_t old_count = 1;
        memcpy(out, "ld.so-1.7.0", 11);
        memcpy(out + 12, &old_count, 4);
        start = 32; /* 16 + 12, aligned */
    }
    unsigned char *head = out + start;
    memcpy(head, "glibc-ld.so.cache1.1", 20);
    memcpy(head + 20, &count, 4);
    memcpy(head + 24, &strings_size, 4);
    for (int i = 0; i < 3; i++) {
        unsigned char *entry = head + 48 + 24 * i;
        memcpy(entry, &flags, 4);
        memcpy(entry + 4, &keys[i], 4);
        memcpy(entry + 8, &values[i], 4);
        memcpy(entry + 16, &hwcaps[i], 8);
    }
    memcpy(head + at, strings, sizeof strings);
    return start + at + sizeof strings;
}

START_TEST(the_cache_is_read_in_both_forms) {
    unsigned char file[512];
    for (int form = 0; form < 2; form++) {
        const slw_bytes bytes = {file, make_cache(file, form)};
        slwi_ldcache cache;
        slwi_ldcache_entry entry;
        uint32_t at = UINT32_MAX;
        ck_assert_int_eq(slwi_ldcache_open(bytes, &cache), 1);
        ck_assert_int_eq(slwi_ldcache_next(&cache, "libz.so.1", SLWI_EM_X86_64, &at, &entry), 1);
        ck_assert_str_eq(entry.path, "/lib/v3/libz.so.1");
        ck_assert(entry.hwcap != 0);
        ck_assert_int_eq(slwi_ldcache_next(&cache, "libz.so.1", SLWI_EM_X86_64, &at, &entry), 1);
        ck_assert_str_eq(entry.path, "/lib/libz.so.1");
        ck_assert_int_eq(slwi_ldcache_next(&cache, "libz.so.1", SLWI_EM_X86_64, &at, &entry), 0);
        at = UINT32_MAX;
        ck_assert_int_eq(slwi_ldcache_next(&cache, "liba.so", SLWI_EM_X86_64, &at, &entry), 1);
        ck_assert_str_eq(entry.path, "/lib/liba.so");
        at = UINT32_MAX;
        ck_assert_int_eq(slwi_ldcache_next(&cache, "liba.so", SLWI_EM_AARCH64, &at, &entry), 0);
        at = UINT32_MAX;
        ck_assert_int_eq(slwi_ldcache_next(&cache, "libq.so", SLWI_EM_X86_64, &at, &entry), 0);
    }
}
END_TEST

START_TEST(a_damaged_cache_is_read_within_its_bounds) {
    unsigned char file[512];
    const size_t size = make_cache(file, 1);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned char *copy = malloc(cut + 1); /* exactly as long, so that a sanitizer sees every byte too far */
        memcpy(copy, file, cut);
        const slw_bytes bytes = {copy, cut};
        slwi_ldcache cache;
        slwi_ldcache_entry entry;
        uint32_t at = UINT32_MAX;
        if (slwi_ldcache_open(bytes, &cache)) {
            while (slwi_ldcache_next(&cache, "libz.so.1", SLWI_EM_X86_64, &at, &entry)) ck_assert_ptr_nonnull(entry.path);
        }
        free(copy);
    }
    for (size_t i = 0; i < size; i++) {
        file[i] ^= 0xff;
        const slw_bytes bytes = {file, size};
        slwi_ldcache cache;
        slwi_ldcache_entry entry;
        uint32_t at = UINT32_MAX;
        if (slwi_ldcache_open(bytes, &cache)) {
            while (slwi_ldcache_next(&cache, "libz.so.1", SLWI_EM_X86_64, &at, &entry)) ck_assert_ptr_nonnull(entry.path);
        }
        file[i] ^= 0xff;
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("elf_closure");
    TCase *tests = tcase_create("elf_closure");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, the_closure_is_what_ldd_lists);
    tcase_add_test(tests, scripts_and_other_files_are_refused);
    tcase_add_test(tests, rpath_is_inherited_and_cycles_end);
    tcase_add_test(tests, runpath_is_not_inherited);
    tcase_add_test(tests, a_library_that_is_gone_or_search_paths_that_depend_are_named);
    tcase_add_test(tests, a_library_that_would_be_found_first_is_a_change);
    tcase_add_test(tests, every_choice_by_processor_is_taken);
    tcase_add_test(tests, a_static_program_is_its_own_closure);
    tcase_add_test(tests, damage_never_reads_outside_the_file);
    tcase_add_test(tests, names_in_the_cache_are_ordered_with_their_numbers);
    tcase_add_test(tests, the_cache_is_read_in_both_forms);
    tcase_add_test(tests, a_damaged_cache_is_read_within_its_bounds);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
