/* inspect: every format as a document and as a table; files that cannot be read stand beside those that can; what would
 * not fit is said with the amounts; machine code by whichever tool is there. */
#include "command.h"

#include <slipway/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *scratch, *fixtures;

static void set_up(void) {
    scratch = slt_scratch();
    fixtures = slt_fixture(".");
}

static command_result inspect(const char *arguments) {
    command_result r = command_run(scratch, "inspect --json %s", arguments);
    ck_assert_msg(r.json != NULL, "%s: no document: %s %s", arguments, r.out, r.err);
    return r;
}

static command_result inspect_fixture(const char *fixture, const char *more) {
    char arguments[4096];
    snprintf(arguments, sizeof arguments, "%s/%s %s", fixtures, fixture, more);
    return inspect(arguments);
}

static int is_null(struct json_object *json, const char *path) {
    return command_at(json, path) == NULL;
}

static int is_true(struct json_object *json, const char *path) {
    struct json_object *at = command_at(json, path);
    ck_assert_msg(at == NULL || json_object_is_type(at, json_type_boolean), "%s is no boolean", path);
    return at != NULL && json_object_get_boolean(at);
}

static int is_false(struct json_object *json, const char *path) {
    return command_at(json, path) != NULL && !is_true(json, path);
}

/* ---- formats ---- */

/* Format, status, and "kind target kernels…" of each image, compressed ones with their way. */
START_TEST(formats) {
    static const struct {
        const char *fixture, *format, *images;
        int status;
    } rows[] = {
        {"ptx/k9_90.ptx", "ptx", "ptx sm_90 clus coop maxclus mreg pdl;", 0},
        {"cubin/k9_sm90.cubin", "cubin", "cubin sm_90 clus coop maxclus mreg pdl;", 0},
        {"fatbin/f_100f.fatbin", "fatbin", "cubin sm_100f clus coop maxclus mreg pdl;ptx sm_100f zstd;", 0},
        {"fatbin/f_lto.fatbin", "fatbin", "lto_ir sm_80 zstd;", 0},
        {"fatbin/f_msize.fatbin", "fatbin", "cubin sm_80 zstd;ptx sm_80 zstd;", 0},
        {"hsaco/k_gfx90a.hsaco", "hsaco",
         "hsaco gfx90a _Z2tkIfLi5EEvPT_ add_f32 dyn_lds lb256 mixed noparams spill static_lds;", 0},
        {"hsaco/k.bundle", "bundle",
         "hsaco gfx90a:sramecc+:xnack- _Z2tkIfLi5EEvPT_ add_f32 dyn_lds lb256 mixed noparams spill static_lds;"
         "hsaco gfx1100 _Z2tkIfLi5EEvPT_ add_f32 dyn_lds lb256 mixed noparams spill static_lds;",
         0},
        {"elf/small.o", "elf-with-fatbin", "cubin sm_80 scale;ptx sm_90 zstd;cubin sm_90 scale;", 0},
        {"elf/both.so", "elf-with-fatbin", "cubin sm_80 scale;ptx sm_90 zstd;cubin sm_90 scale;cubin sm_90 fill;", 0},
        {"elf/rdc.o", "elf-with-fatbin", "cubin sm_80 refused;", 0},
        {"cubin/k1_rdc80.cubin", "cubin", "cubin refused;", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_result r = inspect_fixture(rows[i].fixture, "");
        ck_assert_msg(r.status == rows[i].status, "%s: %d %s", rows[i].fixture, r.status, r.out);
        ck_assert_str_eq(command_text(r.json, "files.0.format"), rows[i].format);
        char seen[2048];
        size_t used = 0;
        struct json_object *images = command_at(r.json, "files.0.images");
        for (size_t n = 0; n < json_object_array_length(images); n++) {
            struct json_object *image = json_object_array_get_idx(images, n);
            const char *target = command_text(image, "target"), *compression = command_text(image, "compression");
            used += (size_t)snprintf(seen + used, sizeof seen - used, "%s%s%s%s%s%s", command_text(image, "kind"),
                                     target != NULL ? " " : "", target != NULL ? target : "",
                                     compression != NULL ? " " : "", compression != NULL ? compression : "",
                                     is_null(image, "error") ? "" : " refused");
            ck_assert_int_eq(is_true(image, "compressed"), compression != NULL);
            struct json_object *kernels = command_at(image, "kernels");
            for (size_t k = 0; k < json_object_array_length(kernels); k++)
                used += (size_t)snprintf(seen + used, sizeof seen - used, " %s",
                                         command_text(json_object_array_get_idx(kernels, k), "name"));
            used += (size_t)snprintf(seen + used, sizeof seen - used, ";");
        }
        ck_assert_str_eq(seen, rows[i].images);
        ck_assert(is_null(r.json, "files.0.fits"));
        command_free(&r);
    }
}
END_TEST

/* Every field of a kernel; what a format does not say is null. */
START_TEST(fields) {
    command_result r = inspect_fixture("cubin/rq_90.cubin", "");
    static const char at[] = "files.0.images.0.kernels.0.";
    char path[128];
#define FIELD(name) (snprintf(path, sizeof path, "%s%s", at, name), path)
    ck_assert_str_eq(command_text(r.json, FIELD("name")), "rq"); /* .reqntid 64, 2 */
    ck_assert_int_eq(command_int(r.json, FIELD("required_threads.0")), 64);
    ck_assert_int_eq(command_int(r.json, FIELD("required_threads.1")), 2);
    ck_assert_int_eq(command_int(r.json, FIELD("required_threads.2")), 1);
    ck_assert_int_gt(command_int(r.json, FIELD("registers")), 0);
    ck_assert_int_eq(command_int(r.json, FIELD("local_bytes")), 0);
    ck_assert_int_ge(command_int(r.json, FIELD("static_shared_bytes")), 0);
    ck_assert_int_eq(command_int(r.json, FIELD("param_bytes")), 8);
    ck_assert_int_eq(command_int(r.json, FIELD("params.0.offset_bytes")), 0);
    ck_assert_int_eq(command_int(r.json, FIELD("params.0.size_bytes")), 8);
    ck_assert_str_eq(command_text(r.json, FIELD("params.0.role")), "caller");
    ck_assert(is_null(r.json, FIELD("params.0.kind"))); /* the binary gives only a size */
    ck_assert(is_null(r.json, FIELD("min_blocks")));
    ck_assert(is_null(r.json, FIELD("cluster")));
    ck_assert_str_eq(command_text(r.json, FIELD("grid_unit")), "blocks");
    ck_assert(is_null(r.json, FIELD("fits")) && is_null(r.json, FIELD("why_not")));
    ck_assert(is_null(r.json, "files.0.images.0.isa_version"));
    command_free(&r);

    r = inspect_fixture("ptx/k9_90.ptx", "");
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.isa_version"), "9.0");
    ck_assert(is_null(r.json, FIELD("registers")));
    ck_assert(is_null(r.json, FIELD("local_bytes")));
    ck_assert(is_null(r.json, FIELD("static_shared_bytes")));
    ck_assert_int_eq(command_int(r.json, FIELD("cluster.0")), 2);
    ck_assert_int_eq(command_int(r.json, FIELD("max_threads")), 128);
    command_free(&r);

    r = inspect_fixture("hsaco/k_gfx90a.hsaco", ""); /* kernel 1 is add_f32 */
    ck_assert_int_eq(command_int(r.json, "files.0.images.0.kernels.1.registers"), 8);
    ck_assert_int_eq(command_int(r.json, "files.0.images.0.kernels.1.scalar_registers"), 12);
    ck_assert_int_eq(command_int(r.json, "files.0.images.0.kernels.1.accumulation_registers"), 0);
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.kernels.1.params.0.kind"), "pointer");
    command_free(&r);
    /* Hidden arguments are among the parameters, and told apart. */
    r = inspect_fixture("hsaco/imp.hsaco", "");
    struct json_object *params = command_at(r.json, "files.0.images.0.kernels.0.params");
    int hidden = 0;
    for (size_t i = 0; i < json_object_array_length(params); i++)
        hidden += strcmp(command_text(json_object_array_get_idx(params, i), "role"), "hidden") == 0;
    ck_assert_int_gt(hidden, 0);
    command_free(&r);
}
END_TEST

START_TEST(host_files) {
    slt_shell("cc -shared -fPIC -O1 -I '%s/../../include' -o %s/k.so %s/host/two_kernels.c", fixtures, scratch, fixtures);
    slt_shell("cd %s && echo 'int x;' >x.c && cc -c x.c", scratch);
    char arguments[512];
    snprintf(arguments, sizeof arguments, "%s/k.so --target host", scratch);
    command_result r = inspect(arguments);
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(command_text(r.json, "files.0.format"), "host");
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.kernels.0.name"), "first");
    ck_assert_int_eq(command_int(r.json, "files.0.images.0.kernels.1.static_shared_bytes"), 112);
    ck_assert(is_null(r.json, "files.0.images.0.kernels.0.registers"));
    ck_assert(is_true(r.json, "files.0.images.0.kernels.0.fits"));
    command_free(&r);
    snprintf(arguments, sizeof arguments, "%s/k.so --device host", scratch);
    r = inspect(arguments);
    ck_assert_int_eq(r.status, 0);
    ck_assert(is_true(r.json, "files.0.fits"));
    command_free(&r);
    snprintf(arguments, sizeof arguments, "%s/x.o", scratch);
    r = inspect(arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "files.0.error.reason"), "NOT_RECOGNISED");
    command_free(&r);
}
END_TEST

/* ---- files that are none ---- */

static void check_bad(const char *path, const char *code, const char *reason) {
    command_result r = inspect(path);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "files.0.path"), path);
    ck_assert_str_eq(command_text(r.json, "files.0.error.code"), code);
    ck_assert_msg(reason == NULL || strcmp(command_text(r.json, "files.0.error.reason"), reason) == 0, "%s", r.out);
    ck_assert_str_eq(command_text(r.json, "files.0.error.path"), path);
    command_free(&r);
    r = command_run(scratch, "inspect %s", path);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.err, code));
    command_free(&r);
}

/* A fifo with nobody at its other end blocks whoever opens it plainly (pitfall 39). */
START_TEST(pitfall_39_files_that_are_none) {
    slt_shell("cd %s && mkfifo fifo && mkdir folder && : >empty && printf hello >text && ln -s nowhere link", scratch);
    check_bad(slt_path(scratch, "fifo", NULL), "INVALID_SOURCE", "NOT_A_FILE");
    check_bad(slt_path(scratch, "folder", NULL), "INVALID_SOURCE", "NOT_A_FILE");
    check_bad("/dev/null", "INVALID_SOURCE", "NOT_A_FILE");
    check_bad(slt_path(scratch, "empty", NULL), "UNSUPPORTED_INPUT", "NOT_RECOGNISED");
    check_bad(slt_path(scratch, "text", NULL), "UNSUPPORTED_INPUT", "NOT_RECOGNISED");
    check_bad(slt_path(scratch, "absent", NULL), "STORAGE", NULL);
    check_bad(slt_path(scratch, "link", NULL), "STORAGE", NULL);
    slt_shell("cd %s && for f in cubin/k9_sm90.cubin fatbin/f_100f.fatbin hsaco/k.bundle hsaco/k_gfx90a.hsaco elf/both.so; "
              "do head -c 1000 '%s'/$f >$(basename $f); done; head -c 500 '%s/ptx/k9_90.ptx' >cut.ptx",
              scratch, fixtures, fixtures);
    check_bad(slt_path(scratch, "k9_sm90.cubin", NULL), "INVALID_BINARY", "TRUNCATED");
    check_bad(slt_path(scratch, "f_100f.fatbin", NULL), "INVALID_BINARY", "TRUNCATED");
    check_bad(slt_path(scratch, "k.bundle", NULL), "INVALID_BINARY", NULL);
    check_bad(slt_path(scratch, "k_gfx90a.hsaco", NULL), "INVALID_BINARY", "TRUNCATED");
    check_bad(slt_path(scratch, "both.so", NULL), "INVALID_BINARY", "TRUNCATED");
    check_bad(slt_path(scratch, "cut.ptx", NULL), "INVALID_PTX", "TRUNCATED");
    check_bad(slt_fixture("hsaco/kc.bundle"), "UNSUPPORTED_INPUT", "COMPRESSED_BUNDLE");
    slt_shell("truncate -s %u %s/huge", SLW_LIMIT_BINARY_BYTES + 1u, scratch);
    check_bad(slt_path(scratch, "huge", NULL), "LIMIT", "TOO_LARGE");
}
END_TEST

START_TEST(no_permission) {
    slt_shell("cp %s/ptx/k9_90.ptx %s/secret.ptx && chmod 0 %s/secret.ptx", fixtures, scratch, scratch);
    slt_become_nobody(scratch);
    if (access(command_path, X_OK) != 0) {
        slt_skip("no_permission", "the command's folder is closed to other users");
        return;
    }
    const char *path = slt_path(scratch, "secret.ptx", NULL);
    command_result r = command_run(scratch, "inspect --json %s", path);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "files.0.error.code"), "STORAGE");
    ck_assert_str_eq(command_text(r.json, "files.0.error.raw_name"), "EACCES");
    command_free(&r);
}
END_TEST

/* A bad file hides none of the others. */
START_TEST(several_files) {
    char arguments[4096];
    snprintf(arguments, sizeof arguments, "%s/cubin/k9_sm90.cubin %s/absent %s/ptx/k9_90.ptx", fixtures, scratch, fixtures);
    command_result r = inspect(arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "files")), 3);
    ck_assert(is_null(r.json, "files.0.error"));
    ck_assert_str_eq(command_text(r.json, "files.1.error.code"), "STORAGE");
    ck_assert(is_null(r.json, "files.1.format"));
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "files.1.images")), 0);
    ck_assert_str_eq(command_text(r.json, "files.2.format"), "ptx");
    command_free(&r);
    r = command_run(scratch, "inspect %s", arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.out, "k9_sm90.cubin: cubin"));
    ck_assert_ptr_nonnull(strstr(r.out, "k9_90.ptx: ptx"));
    ck_assert_ptr_nonnull(strstr(r.err, "absent"));
    command_free(&r);
}
END_TEST

/* ---- what fits ---- */

START_TEST(targets) {
    static const struct {
        const char *fixture, *target;
        int status;
    } rows[] = {
        {"cubin/k9_sm90.cubin", "sm_90", 0},    {"cubin/k9_sm90.cubin", "sm_80", 1},
        {"cubin/k9_sm90.cubin", "gfx90a", 1},   {"cubin/k9_sm90.cubin", "host", 1},
        {"ptx/k9_90.ptx", "sm_90", 0},          {"ptx/k9_90.ptx", "sm_100", 0},
        {"ptx/k9_90.ptx", "sm_80", 1},          {"hsaco/k_gfx90a.hsaco", "gfx90a", 0},
        {"hsaco/k_gfx90a.hsaco", "gfx942", 1},  {"hsaco/k.bundle", "gfx1100", 0},
        {"hsaco/k.bundle", "gfx1030", 1},       {"fatbin/f_lto.fatbin", "sm_80", 1},
        {"fatbin/f_msize.fatbin", "sm_80", 0}, /* compressed: for this device, and not proved wrong */
        {"fatbin/f_msize.fatbin", "gfx90a", 1}, {"elf/small.o", "sm_80", 0},
        {"elf/small.o", "sm_90", 0},            {"elf/small.o", "sm_75", 1},
        {"elf/rdc.o", "sm_80", 1},
        /* of a container the image that is chosen counts; each container has to have one */
        {"elf/chosen.fatbin", "sm_86", 1},      {"elf/chosen.fatbin", "sm_80", 0},
        {"elf/mixed.o", "sm_90", 1},            {"elf/mixed.o", "sm_80", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char more[64];
        snprintf(more, sizeof more, "--target %s", rows[i].target);
        command_result r = inspect_fixture(rows[i].fixture, more);
        ck_assert_msg(r.status == rows[i].status, "%s for %s: %d %s", rows[i].fixture, rows[i].target, r.status, r.out);
        ck_assert_int_eq(is_false(r.json, "files.0.fits"), rows[i].status);
        command_free(&r);
    }
    command_result r = inspect_fixture("elf/small.o", "--target sm_90");
    ck_assert(is_false(r.json, "files.0.images.0.fits"));
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.why_not.code"), "TARGET_MISMATCH");
    ck_assert(is_false(r.json, "files.0.images.0.kernels.0.fits"));
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.kernels.0.why_not.code"), "TARGET_MISMATCH");
    ck_assert(is_null(r.json, "files.0.images.1.fits")); /* compressed */
    ck_assert(is_true(r.json, "files.0.images.2.fits") && is_null(r.json, "files.0.images.2.why_not"));
    command_free(&r);
    r = inspect_fixture("elf/small.o", "--target sm_8");
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "UNKNOWN_TARGET");
    ck_assert_str_eq(command_text(r.json, "error.subject"), "sm_8");
    int listed = 0;
    struct json_object *tried = command_at(r.json, "error.tried");
    for (size_t i = 0; i < json_object_array_length(tried); i++)
        listed += strcmp(json_object_get_string(json_object_array_get_idx(tried, i)), "sm_90") == 0;
    ck_assert_int_eq(listed, 1);
    command_free(&r);
}
END_TEST

/* One kernel that does not fit beside one that does: marked with the amounts, and the file does not fit. */
START_TEST(over_a_limit) {
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry fits(.param .u64 x) .maxntid 256, 1, 1 { ret; }\n"
                               ".visible .entry wide(.param .u64 x) .reqntid 2048, 1, 1 { ret; }\n";
    const char *path = slt_path(scratch, "wide.ptx", NULL);
    slt_write_file(path, text, sizeof text - 1, 0644);
    command_result r = command_run(scratch, "inspect --json --target sm_90 %s", path);
    ck_assert_int_eq(r.status, 1);
    ck_assert(is_false(r.json, "files.0.fits") && is_false(r.json, "files.0.images.0.fits"));
    ck_assert(is_true(r.json, "files.0.images.0.kernels.0.fits"));
    ck_assert(is_false(r.json, "files.0.images.0.kernels.1.fits"));
    static const char why[] = "files.0.images.0.kernels.1.why_not.";
    char field[128];
    snprintf(field, sizeof field, "%scode", why);
    ck_assert_str_eq(command_text(r.json, field), "OUT_OF_RESOURCES");
    snprintf(field, sizeof field, "%srequired", why);
    ck_assert_int_eq(command_int(r.json, field), 2048);
    snprintf(field, sizeof field, "%slimit", why);
    ck_assert_int_eq(command_int(r.json, field), 1024);
    snprintf(field, sizeof field, "%sunit", why);
    ck_assert_ptr_nonnull(command_text(r.json, field));
    snprintf(field, sizeof field, "%sresource", why);
    ck_assert_ptr_nonnull(command_text(r.json, field));
    command_free(&r);
    r = command_run(scratch, "inspect --target sm_90 %s", path);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.out, "does not fit sm_90"));
    const char *row = strstr(r.out, "wide  ");
    ck_assert_ptr_nonnull(row);
    ck_assert_ptr_nonnull(strstr(row, "no: "));
    ck_assert_ptr_nonnull(strstr(row, "2048 needed, 1024 allowed"));
    command_free(&r);
}
END_TEST

START_TEST(devices_and_usage) {
    static const char *const bad[] = {"--target sm_90 --device host", "--entry k", "--driver-library /x", "--device gpu:0",
                                      "--grid 1", "--target"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        command_result r = command_run(scratch, "inspect %s/elf/small.o %s", fixtures, bad[i]);
        ck_assert_msg(r.status == 2, "%s: %d %s", bad[i], r.status, r.err);
        command_free(&r);
    }
    command_result r = command_run(scratch, "inspect --json");
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
    r = command_run(scratch, "ls --target sm_90");
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
    r = inspect_fixture("elf/small.o", "--device host");
    ck_assert_int_eq(r.status, 1);
    ck_assert(is_false(r.json, "files.0.fits"));
    command_free(&r);
    r = inspect_fixture("elf/small.o", "--device cuda:0 --driver-library /nonexistent/libcuda.so.1");
    ck_assert_int_eq(r.status, 3);
    ck_assert_ptr_nonnull(command_text(r.json, "error.code"));
    command_free(&r);
}
END_TEST

/* ---- the table ---- */

/* Columns line up; what would say nothing is no column; long names are cut here and nowhere else; nothing in a name
   moves the cursor. */
START_TEST(table) {
    command_result r = command_run(scratch, "inspect %s/cubin/k9_sm90.cubin", fixtures);
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "  cubin sm_90, 10576 bytes at 0\n"
                                        "    kernel   registers  shared  local  params  bytes  threads  cluster  grid\n"
                                        "    clus             8       0      0       1      8    <=128    2,1,1  blocks\n"
                                        "    coop            14       0      0       1      8      any        -  blocks\n"));
    ck_assert_ptr_null(strstr(r.out, "min blocks"));
    command_free(&r);

    char name[201];
    memset(name, 'n', 200);
    name[0] = 'a';
    name[199] = 'z';
    name[200] = '\0';
    FILE *file = fopen(slt_path(scratch, "long.ptx", NULL), "w");
    fprintf(file, ".version 9.0\n.target sm_90\n.visible .entry %s() { ret; }\n", name);
    fclose(file);
    r = command_run(scratch, "inspect %s/long.ptx", scratch);
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_null(strstr(r.out, name));
    const char *dots = strstr(r.out, "\xe2\x80\xa6");
    ck_assert_ptr_nonnull(dots);
    for (const char *line = r.out; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 160);
    command_free(&r);
    r = command_run(scratch, "inspect --json %s/long.ptx", scratch);
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.kernels.0.name"), name);
    command_free(&r);
}
END_TEST

/* ---- machine code ---- */

static void tool(const char *name, const char *script) {
    char text[4096];
    const char *folder = slt_path(scratch, "bin", NULL);
    mkdir(folder, 0755);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    slt_write_file(slt_path(folder, name, NULL), text, strlen(text), 0755);
}

static command_result inspect_with(const char *path, const char *arguments) {
    char *old = strdup(getenv("PATH"));
    setenv("PATH", path, 1);
    command_result r = command_run(scratch, "%s", arguments);
    setenv("PATH", old, 1);
    free(old);
    return r;
}

START_TEST(sass) {
    char path[512], arguments[2048];
    snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", scratch);
    tool("nvdisasm", "printf '\\t.headerflags\\n//--------------------- .text.coop ---\\n\\t.section\\t.text.coop,\"ax\"\\n"
                     "coop:\\n  EXIT ;\\n//--------------------- .text.mreg ---\\n\\t.section\\t.text.mreg,\"ax\"\\nmreg:\\n"
                     "  NOP ;\\n'");
    snprintf(arguments, sizeof arguments, "inspect --json --sass %s/cubin/k9_sm90.cubin", fixtures);
    command_result r = inspect_with(path, arguments);
    ck_assert_msg(r.status == 0, "%s %s", r.out, r.err);
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "files.0.images.0.sass"), "EXIT"));
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "files.0.images.0.sass"), "NOP"));
    command_free(&r);
    strcat(arguments, " --entry mreg");
    r = inspect_with(path, arguments);
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.sass"), "\t.section\t.text.mreg,\"ax\"\nmreg:\n  NOP ;\n");
    command_free(&r);
    snprintf(arguments, sizeof arguments, "inspect --json --sass --entry nosuch %s/cubin/k9_sm90.cubin", fixtures);
    r = inspect_with(path, arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "MISS");
    command_free(&r);
    /* Of several images those that are machine code, not compressed, and for the target. */
    snprintf(arguments, sizeof arguments, "inspect --json --sass %s/elf/small.o --target sm_90", fixtures);
    r = inspect_with(path, arguments);
    ck_assert_int_eq(r.status, 0);
    ck_assert(is_null(r.json, "files.0.images.0.sass") && is_null(r.json, "files.0.images.1.sass"));
    ck_assert_ptr_nonnull(command_text(r.json, "files.0.images.2.sass"));
    command_free(&r);
    snprintf(arguments, sizeof arguments, "inspect --json --sass %s/ptx/k9_90.ptx", fixtures);
    r = inspect_with(path, arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "NO_MACHINE_CODE");
    command_free(&r);

    tool("nvdisasm", "echo 'it is too new'; exit 1");
    snprintf(arguments, sizeof arguments, "inspect --json --sass %s/cubin/k9_sm90.cubin", fixtures);
    r = inspect_with(path, arguments);
    ck_assert_int_eq(r.status, 1);
    ck_assert(is_null(r.json, "files.0.images.0.sass"));
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.sass_error.reason"), "TOOL_FAILED");
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.sass_error.diagnostics"), "it is too new\n");
    ck_assert_str_eq(command_text(r.json, "files.0.images.0.kernels.0.name"), "clus"); /* the rest is there */
    command_free(&r);
}
END_TEST

START_TEST(sass_without_a_tool) {
    char arguments[2048];
    snprintf(arguments, sizeof arguments, "inspect --json --sass %s/cubin/k9_sm90.cubin", fixtures);
    command_result r = inspect_with("/nonexistent", arguments);
    if (r.status == 0) {
        slt_skip("sass_without_a_tool", "NVIDIA's tools are in a usual place here");
    } else {
        ck_assert_int_eq(r.status, 3);
        ck_assert_str_eq(command_text(r.json, "error.code"), "TOOL_MISSING");
        ck_assert_str_eq(json_object_get_string(command_at(r.json, "error.tried.0")), "/nonexistent/nvdisasm");
        ck_assert_ptr_nonnull(command_text(r.json, "error.hint"));
    }
    command_free(&r);
}
END_TEST

START_TEST(sass_of_amdgcn) {
    char arguments[2048];
    snprintf(arguments, sizeof arguments, "inspect --json --sass --entry noparams %s/hsaco/k_gfx90a.hsaco", fixtures);
    command_result r = inspect_with("/usr/bin:/bin", arguments);
    if (r.status == 3 || (r.status == 1 && strstr(r.out, "TOOL_FAILED") != NULL)) {
        slt_skip("sass_of_amdgcn", "no llvm-objdump that knows amdgcn here");
    } else {
        const char *text = command_text(r.json, "files.0.images.0.sass");
        ck_assert_ptr_nonnull(strstr(text, "<noparams>:"));
        ck_assert_ptr_nonnull(strstr(text, "s_endpgm"));
        ck_assert_ptr_null(strstr(text, "<add_f32>:"));
    }
    command_free(&r);
}
END_TEST

/* doctor says which are found, and starts none. */
START_TEST(doctor_lists_disassemblers) {
    char path[512];
    tool("nvdisasm", "touch $0.ran");
    snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", scratch);
    command_result r = inspect_with(path, "doctor --json");
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disassemblers.0.kind"), "cubin");
    ck_assert_str_eq(command_text(r.json, "disassemblers.0.path"), slt_path(scratch, "bin", "nvdisasm", NULL));
    ck_assert_str_eq(command_text(r.json, "disassemblers.1.kind"), "hsaco");
    ck_assert_int_ne(access(slt_path(scratch, "bin", "nvdisasm.ran", NULL), F_OK), 0);
    command_free(&r);
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    Suite *suite = suite_create("cli inspect");
    TCase *tc = tcase_create("inspect");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, formats);
    tcase_add_test(tc, fields);
    tcase_add_test(tc, host_files);
    tcase_add_test(tc, pitfall_39_files_that_are_none);
    tcase_add_test(tc, no_permission);
    tcase_add_test(tc, several_files);
    tcase_add_test(tc, targets);
    tcase_add_test(tc, over_a_limit);
    tcase_add_test(tc, devices_and_usage);
    tcase_add_test(tc, table);
    tcase_add_test(tc, sass);
    tcase_add_test(tc, sass_without_a_tool);
    tcase_add_test(tc, sass_of_amdgcn);
    tcase_add_test(tc, doctor_lists_disassemblers);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
