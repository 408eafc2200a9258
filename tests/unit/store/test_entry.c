/* Entries as objects: how small they are, finding files, reading payloads later, roots and paths. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_os.h"
#include "store_entry.h"
#include "store_kit.h"
#include "store_object.h"
#include "store_root.h"

static slk_world world;
static slw_store *store;
static slw_error err;

static const slk_file five[] = {{"kernel.cubin", "binary", 6, 0600},
                                {"kernel.json", "{}", 2, 0600},
                                {"kernel/source.pto", "source", 6, 0600},
                                {"kernel_config.py", "config", 6, 0600},
                                {"tool", "#!", 2, 0700}};

static slwi_entry *look(const slw_spec *spec) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    slwi_entry *entry = NULL;
    slt_ok(slwi_store_lookup(store, world.key, spec, &entry, &err), &err);
    return entry;
}

static void begin(void) {
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    world.build.files = five;
    world.build.file_count = 5;
    slk_publish(&world);
    store = slk_open(&world);
}

static void end(void) {
    slw_store_close(&store);
    slk_world_end(&world);
}

START_TEST(an_entry_is_small) {
    begin();
    slwi_entry *entry = look(world.spec);
    ck_assert_uint_eq(slwi_entry_file_count(entry), 5);
    ck_assert_uint_le(slwi_entry_overhead_bytes(entry), 1536);
    slwi_release(entry);
    end();
}
END_TEST

START_TEST(files_are_found_by_name) {
    begin();
    slwi_entry *entry = look(world.spec);
    slw_file file;
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(slwi_entry_find(entry, five[i].path, &file), 1);
        ck_assert_str_eq(file.path.data, five[i].path);
        ck_assert_uint_eq(file.size_bytes, five[i].size);
        ck_assert_int_eq(file.executable != 0, five[i].mode == 0700);
    }
    static const char *const absent[] = {"", "a", "kernel", "kernel.cubin2", "zz"};
    for (size_t i = 0; i < 5; i++) ck_assert_int_eq(slwi_entry_find(entry, absent[i], &file), 0);
    ck_assert_int_eq(slwi_entry_file(entry, 5, &file), 0);
    slwi_release(entry);
    end();
}
END_TEST

static slw_code read_one(slwi_entry *entry, const char *name, const char *expected) {
    const slw_error fresh = SLW_ERROR_INIT;
    err = fresh;
    slwi_image *image = NULL;
    const slw_code code = slwi_entry_read(entry, name, &image, &err);
    ck_assert_int_eq(code == SLW_OK, image != NULL);
    ck_assert_int_eq(err.code, code);
    if (image != NULL) {
        ck_assert_uint_eq(slwi_image_size(image), strlen(expected));
        ck_assert_mem_eq(slwi_image_data(image), expected, strlen(expected));
        slwi_release(image);
    }
    return code;
}

static const char *in_slot(const char *name) {
    return slt_path(slk_slot(&world, world.key, world.spec), name, NULL);
}

START_TEST(payloads_are_read_by_name_and_judged) {
    begin();
    slwi_entry *entry = look(world.spec);
    const int descriptors = slt_open_descriptors();
    ck_assert_int_eq(read_one(entry, "kernel/source.pto", "source"), SLW_OK);
    ck_assert_int_eq(read_one(entry, "absent", ""), SLW_E_MISS);
    slt_write_file(in_slot("kernel/source.pto"), "SOURCE", 6, 0600);
    ck_assert_int_eq(read_one(entry, "kernel/source.pto", "source"), SLW_E_INVALID_ENTRY);
    slt_write_file(in_slot("kernel/source.pto"), "source and more", 15, 0600);
    ck_assert_int_eq(read_one(entry, "kernel/source.pto", "source"), SLW_E_INVALID_ENTRY);
    ck_assert_int_eq(unlink(in_slot("kernel/source.pto")), 0);
    ck_assert_int_eq(read_one(entry, "kernel/source.pto", "source"), SLW_E_INVALID_ENTRY);
    ck_assert_int_eq(symlink("../kernel.json", in_slot("kernel/source.pto")), 0);
    ck_assert_int_eq(read_one(entry, "kernel/source.pto", "source"), SLW_E_INVALID_ENTRY);
    ck_assert_int_eq(slt_open_descriptors(), descriptors);
    slwi_release(entry);
    end();
}
END_TEST

START_TEST(a_slot_that_is_gone_or_another) {
    begin();
    slwi_entry *entry = look(world.spec);
    const char *slot = slk_slot(&world, world.key, world.spec);
    slt_shell("cp -a '%s' '%s.copy' && rm -rf '%s'", slot, slot, slot);
    ck_assert_int_eq(read_one(entry, "kernel.json", "{}"), SLW_E_GONE);
    slt_shell("mv '%s.copy' '%s'", slot, slot);
    ck_assert_int_eq(read_one(entry, "kernel.json", "{}"), SLW_OK); /* the same bytes, whichever inode */
    slt_write_file(in_slot("kernel.json"), "[]", 2, 0600);
    ck_assert_int_eq(read_one(entry, "kernel.json", "{}"), SLW_E_GONE);
    slwi_release(entry);
    end();
}
END_TEST

START_TEST(an_entry_outlives_its_store_and_keeps_what_it_was_told) {
    begin();
    slw_spec_inputs inputs = SLW_SPEC_INPUTS_INIT;
    static const slw_bytes required[] = {{"kernel/source.pto", 17}, {"kernel_config.py", 16}};
    inputs.required_files = required;
    inputs.required_file_count = 2;
    inputs.keep = "kernel.cubin";
    slw_spec *spec = NULL;
    slt_ok(slw_spec_create(&inputs, &spec, &err), &err);
    ck_assert_str_eq(slw_spec_digest(spec), slw_spec_digest(world.spec));
    slwi_entry *entry = look(spec);
    slw_store_close(&store);
    slt_write_file(in_slot("kernel.cubin"), "BINARY", 6, 0600);
    ck_assert_int_eq(read_one(entry, "kernel.cubin", "binary"), SLW_OK);
    ck_assert_int_eq(read_one(entry, "kernel.json", "{}"), SLW_OK);
    slt_shell("rm -rf '%s'", world.root);
    ck_assert_int_eq(read_one(entry, "kernel.cubin", "binary"), SLW_OK);
    ck_assert_int_eq(read_one(entry, "kernel.json", "{}"), SLW_E_GONE);
    slwi_release(entry);
    slw_spec_release(&spec);
    end();
}
END_TEST

START_TEST(paths_that_do_not_exist_are_resolved) {
    char out[4096];
    const slwi_os *os = slwi_os_get();
    const char *scratch = slt_scratch();
    ck_assert_int_eq(mkdir(slt_path(scratch, "real", NULL), 0700), 0);
    ck_assert_int_eq(symlink("real", slt_path(scratch, "link", NULL)), 0);
    ck_assert_int_eq(slwi_resolve_path(os, slt_path(scratch, "link/./new//deep", NULL), out), 0);
    ck_assert_msg(strstr(out, "/real/new/deep") != NULL, "%s", out);
    ck_assert_int_lt(slwi_resolve_path(os, slt_path(scratch, "new/../real", NULL), out), 0);
    ck_assert_int_lt(slwi_resolve_path(os, "", out), 0);
    ck_assert_int_eq(chdir(scratch), 0);
    ck_assert_int_eq(slwi_resolve_path(os, "fresh/one", out), 0);
    ck_assert_msg(out[0] == '/' && strstr(out, "/fresh/one") != NULL, "%s", out);
    ck_assert_int_eq(slwi_path_inside("/a/b", "/a/b"), 1);
    ck_assert_int_eq(slwi_path_inside("/a/b", "/a/b/c"), 1);
    ck_assert_int_eq(slwi_path_inside("/a/b", "/a/bc"), 0);
    ck_assert_int_eq(slwi_path_inside("/", "/x"), 1);
}
END_TEST

static slw_code remember(void *context, const slw_slot_info *slot) {
    slw_slot_info *out = context;
    *out = *slot;
    out->directory = out->reason = NULL;
    return SLW_OK;
}

START_TEST(enumeration_tells_what_there_is) {
    begin();
    slw_slot_info info;
    memset(&info, 0, sizeof info);
    slt_ok(slw_store_visit(store, 1, remember, &info, &err), &err);
    ck_assert_int_eq(info.status, SLW_OK);
    ck_assert_uint_eq(info.files, 5);
    ck_assert_uint_eq(info.size_bytes, 22);
    ck_assert_str_eq(info.build_kind, "single_chip");
    ck_assert_uint_gt(info.last_used_ns, 0);
    slt_write_file(in_slot("kernel.json"), "[]", 2, 0600);
    slt_ok(slw_store_visit(store, 1, remember, &info, &err), &err);
    ck_assert_int_eq(info.status, SLW_E_INVALID_ENTRY);
    ck_assert_str_eq(info.build_kind, "single_chip");
    slt_ok(slw_store_visit(store, 0, remember, &info, &err), &err);
    ck_assert_int_eq(info.status, SLW_OK); /* sizes and modes are as they were */
    end();
}
END_TEST

START_TEST(later_options_are_refused) {
    slk_world_make(&world, SLW_DOMAIN_DEFAULT);
    slw_store_options options = slk_options(&world);
    slw_store *out = NULL;
    const char *layer = "x";
    switch (_i) {
    case 0:
        options.verify = SLW_VERIFY_MEMO;
        break;
    case 1:
        options.durability = SLW_DURABILITY_BATCH;
        break;
    case 2:
        options.durability = SLW_DURABILITY_NONE;
        break;
    case 3:
        options.quarantine = 1;
        break;
    case 4:
        options.leases = 1;
        break;
    case 5:
        options.limit_bytes = 1;
        break;
    case 6:
        options.limit_entries = 1;
        break;
    default:
        options.layers = &layer;
        break;
    }
    ck_assert_int_eq(slw_store_open(&options, &out, &err), SLW_E_UNSUPPORTED);
    ck_assert_ptr_null(out);
    slk_world_end(&world);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("store entry");
    TCase *tests = tcase_create("entry");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_entry_is_small);
    tcase_add_test(tests, files_are_found_by_name);
    tcase_add_test(tests, payloads_are_read_by_name_and_judged);
    tcase_add_test(tests, a_slot_that_is_gone_or_another);
    tcase_add_test(tests, an_entry_outlives_its_store_and_keeps_what_it_was_told);
    tcase_add_test(tests, paths_that_do_not_exist_are_resolved);
    tcase_add_test(tests, enumeration_tells_what_there_is);
    tcase_add_loop_test(tests, later_options_are_refused, 0, 8);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
