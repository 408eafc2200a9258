/* run, doctor and inspect with GPU drivers: every kind of binary and of Triton entry to a launch on the doubles, and what is
 * refused before a driver sees it.
 *
 * The command is given a shim in place of a double: a library that needs the double, sets it as the environment says
 * and, when the command ends, writes down what was asked of it and what was not given back. */
#include "command.h"
#include "double_loader.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *scratch, *shims[2];
static char fixtures[PATH_MAX];
static const char *const kinds[2] = {"cuda", "hip"};

#define ADD                                                                                                            \
    "--grid 4 --block 256 --arg 'f32[1000]=iota' --arg 'f32[1000]=const:1' --arg 'out:f32[1000]=zero' --arg i32=1000"
/* Of Triton: a program adds 1,024 elements, and metadata says the block. */
#define ADD_TRITON "--arg 'f32[1000]=iota' --arg 'f32[1000]=const:1' --arg 'out:f32[1000]=zero' --arg i32=1000"

static const char shim_text[] =
    "#include \"double_control.h\"\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "__attribute__((constructor)) static void begin(void) {\n"
    "    const double_control *c = double_control_get();\n"
    "    const char *at = getenv(\"SHIM_SET\");\n"
    "    int setting, value, used;\n"
    "    while (at != NULL && sscanf(at, \"%d=%d %n\", &setting, &value, &used) == 2) {\n"
    "        c->set((double_setting)setting, value);\n"
    "        at += used;\n"
    "    }\n"
    "    const char *fail = getenv(\"SHIM_FAIL\");\n"
    "    char name[64];\n"
    "    if (fail != NULL && sscanf(fail, \"%63[^=]=%d\", name, &value) == 2) c->inject(name, 1, value, 1);\n"
    "}\n"
    "__attribute__((destructor)) static void end(void) {\n"
    "    const double_control *c = double_control_get();\n"
    "    const char *path = getenv(\"SHIM_LOG\");\n"
    "    FILE *f = path != NULL ? fopen(path, \"w\") : NULL;\n"
    "    char left[2048] = \"\";\n"
    "    if (f == NULL) return;\n"
    "    const unsigned kept = c->outstanding(left, sizeof left);\n"
    "    fprintf(f, \"%u %u %u %u %u %ld\\n%u %s\\n%u %s\\n\",\n"
    "            c->count(\"cuInit\") + c->count(\"hipInit\"),\n"
    "            c->count(\"cuModuleLoadData\") + c->count(\"hipModuleLoadData\"), c->count(\"cuModuleLoadDataEx\"),\n"
    "            c->count(\"cuMemAlloc\") + c->count(\"hipMalloc\"), c->count(\"cuModuleUnload\"),\n"
    "            c->get(DOUBLE_COUNT_LAUNCHES), c->violations(), c->violation(0), kept, left);\n"
    "    fclose(f);\n"
    "}\n";

/* What the driver was asked while the last command ran. */
typedef struct asked {
    unsigned inits, loads, compiles, allocations, unloads;
    long launches;
} asked;

/* Runs outside every test, where nothing of Check's may be called. */
static int shell(const char *format, ...) {
    char line[16384];
    va_list rest;
    va_start(rest, format);
    const int used = vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    return used < (int)sizeof line && system(line) == 0;
}

/* Builds both shims once; 0 where there is no double or no compiler. */
static int make_shims(const char *folder) {
    static char paths[2][512];
    char source[512];
    snprintf(source, sizeof source, "%s/shim.c", folder);
    FILE *const f = fopen(source, "w");
    if (f == NULL || fputs(shim_text, f) < 0 || fclose(f) != 0) return 0;
    for (int i = 0; i < 2; i++) {
        const char *const path = slt_double_path(kinds[i]);
        const char *const soname = i == 0 ? "libcuda.so.1" : "libamdhip64.so.6";
        char absolute[PATH_MAX];
        if (path == NULL || realpath(path, absolute) == NULL) return 0;
        snprintf(paths[i], sizeof paths[i], "%s/shim_%s.so", folder, kinds[i]);
        /* The double is found by its soname, whatever the file is called. */
        if (!shell("ln -sf '%s' '%s/%s'", absolute, folder, soname) ||
            !shell("cc -shared -fPIC -I tests/doubles '%s' -o '%s' -Wl,--no-as-needed '%s/%s' -Wl,-rpath,'%s'", source,
                   paths[i], folder, soname, folder))
            return 0;
        shims[i] = paths[i];
    }
    return 1;
}

static void set_up(void) {
    scratch = slt_scratch();
    snprintf(fixtures, sizeof fixtures, "%s", slt_fixture(".")); /* slt_path's buffers go round */
    setenv("SHIM_LOG", slt_path(scratch, "log", NULL), 1);
    unsetenv("SHIM_SET");
    unsetenv("SHIM_FAIL");
}

static void set(double_setting setting, long value) {
    const char *const before = getenv("SHIM_SET");
    char text[256];
    snprintf(text, sizeof text, "%s%d=%ld ", before != NULL ? before : "", (int)setting, value);
    setenv("SHIM_SET", text, 1);
}

/* The library was not even loaded: the shim would have written its log. */
static void not_loaded(void) {
    FILE *const f = fopen(slt_path(scratch, "log", NULL), "r");
    ck_assert_msg(f == NULL, "the driver's library was loaded");
}

/* Reads the shim's log and removes it. Without one the command did not end as it should, or asked no driver. */
static asked look(int alive) {
    asked a = {0, 0, 0, 0, 0, 0};
    const char *const path = slt_path(scratch, "log", NULL);
    FILE *const f = fopen(path, "r");
    ck_assert_msg(f != NULL, "the driver's library has written no log: not loaded, or not ended well");
    unsigned violations, kept;
    char words[512], left[2048] = "";
    ck_assert_int_eq(fscanf(f, "%u %u %u %u %u %ld %u%511[^\n] %u", &a.inits, &a.loads, &a.compiles, &a.allocations,
                            &a.unloads, &a.launches, &violations, words, &kept),
                     9);
    if (fgets(left, sizeof left, f) == NULL) left[0] = '\0';
    fclose(f);
    remove(path);
    ck_assert_msg(violations == 0, "%u violations, the first:%s", violations, words);
    ck_assert_msg(!alive || kept == 0, "not given back:%s", left);
    return a;
}

static command_result run(int kind, const char *file, const char *more) {
    return command_run(scratch, "run '%s' --driver-library '%s' --json %s", file, shims[kind], more);
}

static const char *fixture(const char *name) {
    return slt_path(fixtures, name, NULL);
}

static void check_sum(const command_result *r, const char *what) {
    ck_assert_msg(r->status == 0 && r->json != NULL, "%s: %d %s %s", what, r->status, r->out, r->err);
    static const char *const names[] = {"lookup", "compile", "hydrate", "device_load", "make_launchable", "launch"};
    for (int i = 0; i < 6; i++) {
        char path[32];
        snprintf(path, sizeof path, "phases.%d.phase", i);
        ck_assert_str_eq(command_text(r->json, path), names[i]);
        snprintf(path, sizeof path, "phases.%d.outcome", i);
        ck_assert_str_eq(command_text(r->json, path), i < 2 ? "SKIPPED" : "OK");
    }
    ck_assert_str_eq(command_text(r->json, "disposition"), "PRIVATE");
    ck_assert_ptr_null(command_at(r->json, "key"));
    ck_assert_int_eq(command_int(r->json, "results.0.arg"), 2);
    for (size_t i = 0; i < 1000; i++) {
        struct json_object *value = json_object_array_get_idx(command_at(r->json, "results.0.values"), i);
        ck_assert_msg(json_object_get_double(value) == (double)i + 1, "%s: %zu", what, i);
    }
}

static void says(command_result *r, int status, const char *code, const char *reason) {
    ck_assert_msg(r->json != NULL, "%s %s", r->out, r->err);
    ck_assert_msg(r->status == status, "%d %s", r->status, r->out);
    ck_assert_str_eq(command_text(r->json, "error.code"), code);
    if (reason != NULL) ck_assert_str_eq(command_text(r->json, "error.reason"), reason);
}

/* Refused with that code and reason before a driver was looked for. */
static void refused_unread(command_result *r, int status, const char *code, const char *reason) {
    says(r, status, code, reason);
    not_loaded();
}

/* Refused with that code and reason, and the driver was asked for no module. */
static void refused(command_result *r, int status, const char *code, const char *reason) {
    says(r, status, code, reason);
    const asked a = look(1);
    ck_assert_uint_eq(a.loads + a.compiles, 0);
    ck_assert_int_eq(a.launches, 0);
}

#define T39      "triton/cache-3.9.0/"
#define T39_CUDA T39 "3I2GI6NJOCAU4VHBDTZF6TWXUTVWJLSIFFZMS5TKD5PAZWCXQVAA"
#define T32_CUDA "triton/cache-3.2.0/5LT7HwvoxThOW9-xXnBIchfkE0_VBOzpnPwPTgyjbt4"
#define T32_HIP  "triton/cache-3.2.0/f3ru5QFG9ftrztVYCyVcj-940o5ctxZW75VxOIOD1Dg"

/* Without --device the driver is that of the binary's kind, number 0. */
START_TEST(every_form_computes) {
    static const struct {
        const char *file;
        int kind;
        const char *more, *target;
        unsigned compiles;
    } cases[] = {
        {"cubin/k1_sm90.cubin", 0, "--entry add_f32 " ADD, "sm_90", 0},
        {"cubin/k1_sm75.cubin", 0, "--device cuda:1 --entry add_f32 " ADD, "sm_75", 0},
        {"ptx/k1_90.ptx", 0, "--entry add_f32 " ADD, "sm_90", 1},
        {"ptx/k1_75.ptx", 0, "--device cuda:1 --entry add_f32 " ADD, "sm_75", 1},
        {"fatbin/k1.fatbin", 0, "--entry add_f32 " ADD, "sm_90", 0},
        {"fatbin/k1.fatbin", 0, "--device cuda:1 --entry add_f32 " ADD, "sm_75", 0},
        {"fatbin/f_nc.fatbin", 0, "--allow-ptx --entry add_f32 " ADD, "sm_90", 1},
        {"hsaco/k_gfx942.hsaco", 1, "--entry add_f32 " ADD, "gfx942:sramecc+:xnack-", 0},
        {"hsaco/k_gfx90a.hsaco", 1, "--device hip:1 --entry add_f32 " ADD, "gfx90a:sramecc+:xnack-", 0},
        {"hsaco/k.bundle", 1, "--device hip:1 --entry add_f32 " ADD, "gfx90a:sramecc+:xnack-", 0},
        {T32_CUDA, 0, ADD_TRITON, "sm_90", 0},
        {T32_CUDA "/add_kernel.json", 0, "--device cuda " ADD_TRITON, "sm_90", 0},
        {T32_HIP, 1, ADD_TRITON, "gfx942:sramecc+:xnack-", 0},
        {T32_HIP "/add_kernel.json", 1, "--device hip:0 " ADD_TRITON, "gfx942:sramecc+:xnack-", 0},
        {T39_CUDA, 0, ADD_TRITON, "sm_90", 0},
        {T39_CUDA "/add_kernel.json", 0, "--entry add_kernel --block 128 " ADD_TRITON, "sm_90", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_result r = run(cases[i].kind, fixture(cases[i].file), cases[i].more);
        check_sum(&r, cases[i].file);
        ck_assert_str_eq(command_text(r.json, "device.kind"), kinds[cases[i].kind]);
        ck_assert_str_eq(command_text(r.json, "device.target"), cases[i].target);
        const asked a = look(1);
        ck_assert_uint_eq(a.inits, 1);
        ck_assert_uint_eq(a.loads + a.compiles, 1);
        ck_assert_uint_eq(a.compiles, cases[i].compiles);
        ck_assert_uint_eq(a.allocations, 3);
        ck_assert_int_eq(a.launches, 1);
        command_free(&r);
    }
    command_result table =
        command_run(scratch, "run '%s' --driver-library '%s' " ADD_TRITON, fixture(T32_CUDA), shims[0]);
    ck_assert_int_eq(table.status, 0);
    ck_assert_msg(strstr(table.out, "on cuda:0 ") != NULL && strstr(table.out, "1 2 3 4") != NULL, "%s", table.out);
    command_free(&table);
}
END_TEST

/* Of another device: said from the bytes, with both targets, before the driver sees the image (device.md G 1 to 3). */
START_TEST(wrong_target) {
    static const struct {
        const char *file;
        int kind;
        const char *more, *subject, *device;
    } cases[] = {
        {"cubin/k1_sm90.cubin", 0, "--device cuda:1 --entry add_f32 " ADD, "sm_90", "sm_75"},
        {"cubin/k1_sm80.cubin", 0, "--entry add_f32 " ADD, "sm_80", "sm_90"},
        {"cubin/k1_sm100.cubin", 0, "--entry add_f32 " ADD, "sm_100", "sm_90"},
        {"hsaco/k_gfx90a.hsaco", 1, "--entry add_f32 " ADD, "gfx90a", "gfx942"},
        {"ptx/k1_90.ptx", 0, "--device cuda:1 --entry add_f32 " ADD, "sm_90", "sm_75"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_result r = run(cases[i].kind, fixture(cases[i].file), cases[i].more);
        refused(&r, 1, "TARGET_MISMATCH", NULL);
        ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.subject"), cases[i].subject));
        ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.message"), cases[i].device));
        command_free(&r);
    }
    /* None of several images, an image of another kind, PTX that nobody asked for. */
    command_result r = run(1, fixture("hsaco/k.bundle"), "--entry add_f32 " ADD);
    refused(&r, 1, "TARGET_MISMATCH", NULL);
    command_free(&r);
    r = run(0, fixture("fatbin/f_nc.fatbin"), "--entry add_f32 " ADD);
    refused(&r, 1, "TARGET_MISMATCH", "PTX_NOT_ALLOWED");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.hint"), "--allow-ptx"));
    command_free(&r);
    r = run(0, fixture("hsaco/k_gfx942.hsaco"), "--device cuda --entry add_f32 " ADD);
    refused(&r, 1, "TARGET_MISMATCH", "KIND");
    command_free(&r);
    r = command_run(scratch, "run '%s' --json --device host --entry add_f32 " ADD, fixture("cubin/k1_sm90.cubin"));
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "TARGET_MISMATCH");
    command_free(&r);
    set(DOUBLE_DRIVER_VERSION, 12020);
    r = run(0, fixture("ptx/k1_75.ptx"), "--entry add_f32 " ADD);
    refused(&r, 1, "TARGET_MISMATCH", "ISA_VERSION");
    command_free(&r);
}
END_TEST

START_TEST(shapes) {
    static const struct {
        const char *file, *more;
        int status;
        const char *code, *reason, *resource;
    } cases[] = {
        {"cubin/k1_sm90.cubin", "--entry dyn_smem --block 32 --shared 232448 --arg out:u64[1]=zero --arg i32=1", 0,
         NULL, NULL, NULL},
        {"cubin/k1_sm90.cubin", "--entry dyn_smem --block 32 --shared 232449 --arg out:u64[1]=zero --arg i32=1", 1,
         "OUT_OF_RESOURCES", NULL, "shared memory"},
        {"cubin/k1_sm90.cubin", "--entry add_f32 --block 1025 --arg u64=0 --arg u64=0 --arg u64=0 --arg i32=0", 1,
         "OUT_OF_RESOURCES", NULL, NULL},
        {"cubin/k1_sm90.cubin", "--entry add_f32 --arg u64=0 --arg u64=0 --arg u64=0", 1, "INVALID_LAUNCH", "BAD_COUNT",
         "arguments"},
        {"cubin/k1_sm90.cubin", "--entry add_f32 --arg u64=0 --arg u64=0 --arg u64=0 --arg i64=0", 1, "INVALID_LAUNCH",
         "BAD_SIZE", "argument"},
        {"cubin/k1_sm90.cubin", "--entry add_f64", 1, "MISS", "NO_KERNEL", NULL},
        {"cubin/k1_sm90.cubin", "", 1, "MISS", "NO_KERNEL", NULL},
        {"doubles/cluster_sm90.cubin", "--entry of_two --grid 4 --block 32 --arg out:u64[1]=zero --arg i32=1", 0, NULL,
         NULL, NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry of_two --grid 4 --block 32 --cluster 4 --arg out:u64[1]=zero --arg i32=1", 1, "INVALID_LAUNCH",
         "BAD_CLUSTER", NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 4 --block 32 --cluster 2,1,1 --arg out:u64[1]=zero --arg i32=1", 0, NULL, NULL,
         NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 5 --block 32 --cluster 2 --arg out:u64[1]=zero --arg i32=1", 1, "INVALID_LAUNCH",
         "BAD_CLUSTER", NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 16 --block 32 --cluster 16 --arg out:u64[1]=zero --arg i32=1", 1, "OUT_OF_RESOURCES",
         NULL, "cluster"},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 16 --block 32 --cluster 16 --non-portable-cluster --arg out:u64[1]=zero --arg i32=1",
         0, NULL, NULL, NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 132 --block 32 --cooperative --programmatic --arg out:u64[1]=zero --arg i32=1", 0,
         NULL, NULL, NULL},
        {"doubles/cluster_sm90.cubin",
         "--entry free_size --grid 1000000 --block 32 --cooperative --arg out:u64[1]=zero --arg i32=1", 1,
         "OUT_OF_RESOURCES", NULL, "cooperative grid"},
        {"doubles/cluster_sm90.cubin", "--entry free_size --cluster 2,x", 2, "USAGE", "BAD_VALUE", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_result r = run(0, fixture(cases[i].file), cases[i].more);
        ck_assert_msg(r.json != NULL && r.status == cases[i].status, "%s: %d %s %s", cases[i].more, r.status, r.out,
                      r.err);
        if (cases[i].status == 2) { /* of the command line, which is read first */
            not_loaded();
        } else {
            ck_assert_int_eq(look(1).launches, cases[i].status == 0);
        }
        if (cases[i].code != NULL) ck_assert_str_eq(command_text(r.json, "error.code"), cases[i].code);
        if (cases[i].reason != NULL) ck_assert_str_eq(command_text(r.json, "error.reason"), cases[i].reason);
        if (cases[i].resource != NULL) ck_assert_str_eq(command_text(r.json, "error.resource"), cases[i].resource);
        command_free(&r);
    }
}
END_TEST

/* ---- Triton ------------------------------------------------------------------------------------------------ */

static const char *copy_of(const char *entry) {
    static char folder[512];
    snprintf(folder, sizeof folder, "%s/entry", scratch);
    slt_shell("rm -rf '%s' && cp -r '%s' '%s' && chmod -R u+w '%s'", folder, fixture(entry), folder, folder);
    return folder;
}

START_TEST(triton_entries_that_are_none) {
    const char *const folder = copy_of(T39_CUDA);
    const char *const json = slt_path(folder, "add_kernel.json", NULL);

    /* A group file lists paths of whoever compiled: never followed, and no entry by itself. */
    slt_shell("echo '{\"child_paths\": {\"add_kernel.cubin\": \"/nonexistent/add_kernel.cubin\"}}' "
              "> '%s/__grp__add_kernel.json'",
              folder);
    command_result r = run(0, folder, ADD_TRITON);
    check_sum(&r, "beside a group file");
    look(1);
    command_free(&r);
    r = run(0, slt_path(folder, "__grp__add_kernel.json", NULL), ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "GROUP_FILE");
    command_free(&r);

    /* An autotuner's timings beside it have no binary; a second entry makes the folder ambiguous, by name. */
    slt_shell("echo '{}' > '%s/add_kernel.autotune.json'", folder);
    r = run(0, folder, ADD_TRITON);
    check_sum(&r, "beside timings");
    look(1);
    command_free(&r);
    slt_shell("cd '%s' && cp add_kernel.json b.json && cp add_kernel.cubin b.cubin", folder);
    r = run(0, folder, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "SEVERAL_ENTRIES");
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "error.tried")), 2);
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.0"), "/add_kernel.json"));
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.1"), "/b.json"));
    command_free(&r);
    r = run(0, slt_path(folder, "b.json", NULL), ADD_TRITON);
    check_sum(&r, "named among two");
    look(1);
    command_free(&r);

    slt_shell("cp '%s/b.cubin' '%s/b.hsaco'", folder, folder);
    r = run(0, slt_path(folder, "b.json", NULL), ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "SEVERAL_BINARIES");
    command_free(&r);
    slt_shell("cd '%s' && rm b.* add_kernel.cubin", folder);
    r = run(0, json, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "NO_BINARY");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.0"), "/add_kernel.cubin"));
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.1"), "/add_kernel.hsaco"));
    command_free(&r);
    r = run(0, folder, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "NO_ENTRY");
    command_free(&r);
    slt_shell("rm '%s'", json);
    r = run(0, json, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "NOT_FOUND");
    command_free(&r);
    slt_shell("rm -r '%s' && mkdir '%s'", folder, folder);
    r = run(0, folder, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_SOURCE", "NO_ENTRY");
    command_free(&r);
}
END_TEST

START_TEST(triton_metadata_is_needed_and_believed) {
    static const struct {
        const char *change; /* sed of the metadata */
        const char *code, *subject;
    } cases[] = {
        {"s/\"num_warps\": 4/\"num_warps\": 8/", "CONTRACT_MISMATCH", "num_warps"},
        {"s/\"num_ctas\": 1/\"num_ctas\": 2/", "CONTRACT_MISMATCH", "num_ctas"},
        {"s/\"name\": \"add_kernel\"/\"name\": \"add\"/", "CONTRACT_MISMATCH", "name"},
        {"s/\"arch\": 90/\"arch\": 80/", "CONTRACT_MISMATCH", "target.arch"},
        {"s/\"num_warps\": 4/\"num_warps\": \"4\"/", "INVALID_METADATA", "num_warps"},
        {"s/}$//", "INVALID_METADATA", NULL},
        {"s/.*//", "INVALID_METADATA", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const folder = copy_of(T39_CUDA);
        slt_shell("cd '%s' && sed -i '%s' add_kernel.json && ! cmp -s add_kernel.json '%s/add_kernel.json'", folder,
                  cases[i].change, fixture(T39_CUDA));
        command_result r = run(0, folder, ADD_TRITON);
        refused_unread(&r, 1, cases[i].code, NULL);
        if (cases[i].subject != NULL) ck_assert_str_eq(command_text(r.json, "error.subject"), cases[i].subject);
        if (strcmp(cases[i].code, "INVALID_METADATA") == 0)
            ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.path"), "/add_kernel.json"));
        command_free(&r);
    }
    const char *const folder = copy_of(T39_CUDA);
    slt_shell("truncate -s 0 '%s/add_kernel.json'", folder);
    command_result r = run(0, folder, ADD_TRITON);
    refused_unread(&r, 1, "INVALID_METADATA", "EMPTY");
    command_free(&r);
    /* Without metadata nothing says that the last two parameters are scratch: the binary's six are the caller's. */
    r = run(0, slt_path(folder, "add_kernel.cubin", NULL), "--block 128 " ADD_TRITON);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "BAD_COUNT");
    ck_assert_int_eq(look(1).launches, 0);
    command_free(&r);
    r = run(0, slt_path(folder, "add_kernel.cubin", NULL), ADD_TRITON " --arg 'u64[1]=zero' --arg 'u64[1]=zero'");
    check_sum(&r, "a cubin with its scratch given");
    look(1);
    command_free(&r);
    /* Another block than the metadata's. */
    r = run(0, fixture(T39_CUDA), "--block 64 " ADD_TRITON);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_LAUNCH");
    ck_assert_int_eq(look(1).launches, 0);
    command_free(&r);
}
END_TEST

/* The command brings the scratch that the contract wants for every block, aligned, and takes it away again. */
START_TEST(scratch_is_the_commands) {
    const char *const folder = copy_of(T39_CUDA);
    slt_shell("cd '%s' && sed -i 's/\"global_scratch_size\": 0/\"global_scratch_size\": 4096/; "
              "s/\"global_scratch_align\": 1,/\"global_scratch_align\": 4096,/; "
              "s/\"profile_scratch_size\": 0/\"profile_scratch_size\": 24/' add_kernel.json && "
              "grep -q 4096 add_kernel.json && grep -q ': 24' add_kernel.json",
              folder);
    command_result r = run(0, folder, "--grid 7,3,2 " ADD_TRITON);
    check_sum(&r, "with scratch");
    ck_assert_uint_eq(look(1).allocations, 5);
    command_free(&r);
    /* More than 64 bits count, said without asking the device for it; a grid that no device takes, said as such. */
    slt_shell("cd '%s' && sed -i 's/\"global_scratch_size\": 4096/\"global_scratch_size\": 1099511627776/' "
              "add_kernel.json",
              folder);
    r = run(0, folder, "--grid 2147483647,65535,65535 " ADD_TRITON);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "OUT_OF_RESOURCES");
    ck_assert_str_eq(command_text(r.json, "error.resource"), "global scratch");
    ck_assert_uint_eq(look(1).allocations, 3);
    command_free(&r);
    r = run(0, folder, "--grid 1,65536 " ADD_TRITON);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.resource"), "grid y");
    ck_assert_uint_eq(look(1).allocations, 3);
    command_free(&r);
    r = run(0, folder, "--grid 0 " ADD_TRITON);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "ZERO");
    look(1);
    command_free(&r);
    /* The device has no such memory: whatever it says, nothing is left behind. */
    setenv("SHIM_FAIL", "cuMemAlloc=2", 1);
    r = run(0, folder, ADD_TRITON);
    ck_assert_int_eq(r.status, 3);
    ck_assert_str_eq(command_text(r.json, "error.code"), "NO_MEMORY");
    ck_assert_int_eq(look(1).launches, 0);
    command_free(&r);
}
END_TEST

/* ---- Drivers ----------------------------------------------------------------------------------------------- */

START_TEST(drivers_that_are_not_there) {
    for (int i = 0; i < 2; i++) {
        const char *const file = fixture(i == 0 ? "cubin/k1_sm90.cubin" : "hsaco/k_gfx942.hsaco");
        command_result r = command_run(
            scratch, "run '%s' --json --driver-library /nonexistent/libdriver.so.1 --entry add_f32 " ADD, file);
        ck_assert_int_eq(r.status, 3);
        ck_assert_str_eq(command_text(r.json, "error.code"), "UNAVAILABLE");
        ck_assert_str_eq(command_text(r.json, "error.reason"), "NO_LIBRARY");
        ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.0"), "/nonexistent/libdriver.so.1"));
        command_free(&r);
        /* The other vendor's library has none of the names. */
        r = run(1 - i, file, "--entry add_f32 " ADD);
        refused(&r, 3, "UNAVAILABLE", "MISSING_SYMBOLS");
        command_free(&r);
        r = run(i, file, i == 0 ? "--device cuda:7 --entry add_f32 " ADD : "--device hip:7 --entry add_f32 " ADD);
        refused(&r, 3, "NO_DEVICE", NULL);
        command_free(&r);
    }
    set(DOUBLE_STUB, 1);
    command_result r = run(0, fixture("cubin/k1_sm90.cubin"), "--entry add_f32 " ADD);
    refused(&r, 3, "STUB", NULL);
    ck_assert_ptr_nonnull(command_text(r.json, "error.path"));
    command_free(&r);
    unsetenv("SHIM_SET");
    set(DOUBLE_DEVICES, 0);
    for (int i = 0; i < 2; i++) {
        r = run(i, fixture(i == 0 ? "cubin/k1_sm90.cubin" : "hsaco/k_gfx942.hsaco"), "--entry add_f32 " ADD);
        refused(&r, 3, "NO_DEVICE", NULL);
        command_free(&r);
    }
    unsetenv("SHIM_SET");
    set(DOUBLE_COMPUTE_MODE, 2);
    r = run(0, fixture("cubin/k1_sm90.cubin"), "--entry add_f32 " ADD);
    refused(&r, 3, "NO_DEVICE", "PROHIBITED");
    command_free(&r);
}
END_TEST

/* What the driver itself says no to is told with its own name; a launch that kills the context ends cleanly. */
START_TEST(drivers_that_fail) {
    static const struct {
        const char *fail, *file;
        int kind, status;
        const char *code, *raw_name;
        int alive; /* what was lent can be given back */
    } cases[] = {
        {"cuInit=999", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_UNKNOWN", 1},
        {"cuInit=803", "cubin/k1_sm90.cubin", 0, 3, "UNAVAILABLE", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", 1},
        {"cuDevicePrimaryCtxRetain=46", "cubin/k1_sm90.cubin", 0, 3, "UNAVAILABLE", "CUDA_ERROR_DEVICE_UNAVAILABLE", 1},
        {"cuModuleLoadData=200", "cubin/k1_sm90.cubin", 0, 1, "INVALID_BINARY", "CUDA_ERROR_INVALID_IMAGE", 1},
        {"cuModuleLoadData=209", "cubin/k1_sm90.cubin", 0, 1, "TARGET_MISMATCH", "CUDA_ERROR_NO_BINARY_FOR_GPU", 1},
        {"cuModuleLoadDataEx=218", "ptx/k1_75.ptx", 0, 1, "INVALID_PTX", "CUDA_ERROR_INVALID_PTX", 1},
        {"cuModuleLoadDataEx=223", "ptx/k1_75.ptx", 0, 3, "UNSUPPORTED", "CUDA_ERROR_JIT_COMPILATION_DISABLED", 1},
        {"cuModuleGetFunction=999", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_UNKNOWN", 1},
        {"cuFuncGetAttribute=999", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_UNKNOWN", 1},
        {"cuMemAlloc=2", "cubin/k1_sm90.cubin", 0, 3, "NO_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY", 1},
        {"cuMemcpyHtoD=1", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_INVALID_VALUE", 1},
        {"cuLaunchKernel=1", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_INVALID_VALUE", 1},
        {"cuLaunchKernel=701", "cubin/k1_sm90.cubin", 0, 1, "OUT_OF_RESOURCES", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
         1},
        {"cuLaunchKernel=719", "cubin/k1_sm90.cubin", 0, 3, "LOST", "CUDA_ERROR_LAUNCH_FAILED", 0},
        {"cuMemcpyDtoH=999", "cubin/k1_sm90.cubin", 0, 3, "DRIVER", "CUDA_ERROR_UNKNOWN", 1},
        {"hipInit=999", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorUnknown", 1},
        {"hipInit=3", "hsaco/k_gfx942.hsaco", 1, 3, "UNAVAILABLE", "hipErrorNotInitialized", 1},
        {"hipInit=35", "hsaco/k_gfx942.hsaco", 1, 3, "UNAVAILABLE", "hipErrorInsufficientDriver", 1},
        {"hipInit=101", "hsaco/k_gfx942.hsaco", 1, 3, "NO_DEVICE", "hipErrorInvalidDevice", 1},
        {"hipGetDeviceCount=100", "hsaco/k_gfx942.hsaco", 1, 3, "NO_DEVICE", "hipErrorNoDevice", 1},
        {"hipModuleLoadData=200", "hsaco/k_gfx942.hsaco", 1, 1, "INVALID_BINARY", "hipErrorInvalidImage", 1},
        {"hipModuleLoadData=209", "hsaco/k_gfx942.hsaco", 1, 1, "TARGET_MISMATCH", "hipErrorNoBinaryForGpu", 1},
        {"hipModuleGetFunction=999", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorUnknown", 1},
        {"hipFuncGetAttribute=999", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorUnknown", 1},
        {"hipMalloc=2", "hsaco/k_gfx942.hsaco", 1, 3, "NO_MEMORY", "hipErrorOutOfMemory", 1},
        {"hipMemcpyHtoD=1", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorInvalidValue", 1},
        {"hipModuleLaunchKernel=1", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorInvalidValue", 1},
        {"hipModuleLaunchKernel=719", "hsaco/k_gfx942.hsaco", 1, 3, "LOST", "hipErrorLaunchFailure", 0},
        {"hipMemcpyDtoH=999", "hsaco/k_gfx942.hsaco", 1, 3, "DRIVER", "hipErrorUnknown", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("SHIM_FAIL", cases[i].fail, 1);
        command_result r = run(cases[i].kind, fixture(cases[i].file), "--entry add_f32 " ADD);
        ck_assert_msg(r.json != NULL && r.status == cases[i].status, "%s: %d %s %s", cases[i].fail, r.status, r.out,
                      r.err);
        ck_assert_msg(command_text(r.json, "error.raw_name") != NULL, "%s: %s", cases[i].fail, r.out);
        ck_assert_msg(strcmp(command_text(r.json, "error.code"), cases[i].code) == 0, "%s: %s", cases[i].fail, r.out);
        ck_assert_str_eq(command_text(r.json, "error.raw_name"), cases[i].raw_name);
        ck_assert_int_eq(command_int(r.json, "error.raw_code"), atoi(strchr(cases[i].fail, '=') + 1));
        look(cases[i].alive);
        command_free(&r);
    }
    unsetenv("SHIM_FAIL");
    /* A driver newer than we know is let try; its compiler's words come along. */
    set(DOUBLE_DRIVER_VERSION, 13090);
    const char *const newer = slt_path(scratch, "newer.ptx", NULL);
    slt_shell("sed 's/^.version 9.0/.version 9.9/' '%s' > '%s'", fixture("ptx/k1_75.ptx"), newer);
    command_result r = run(0, newer, "--entry add_f32 " ADD);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.raw_name"), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.diagnostics"), "Unsupported .version 9.9"));
    look(1);
    command_free(&r);
    unsetenv("SHIM_SET");
    set(DOUBLE_STICKY_AFTER, 1);
    for (int i = 0; i < 2; i++) {
        r = run(i, fixture(i == 0 ? "cubin/k1_sm90.cubin" : "hsaco/k_gfx942.hsaco"), "--entry add_f32 " ADD);
        ck_assert_int_eq(r.status, 3);
        ck_assert_str_eq(command_text(r.json, "error.code"), "LOST");
        look(0);
        command_free(&r);
    }
}
END_TEST

START_TEST(files_that_are_no_binaries) {
    static const struct {
        const char *name, *text;
        int status;
        const char *code;
    } cases[] = {
        {"empty.cubin", "", 1, "INVALID_BINARY"},
        {"words.cubin", "these are no machine code\n", 1, "UNSUPPORTED_INPUT"},
        {"k.cpp", "void k() {}\n", 3, "UNSUPPORTED"},
        {"k.mlir", "module {}\n", 3, "UNSUPPORTED"},
        {"k.ptx", ".target sm_90\n", 1, "INVALID_PTX"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const path = slt_path(scratch, cases[i].name, NULL);
        slt_write_file(path, cases[i].text, strlen(cases[i].text), 0644);
        command_result r = run(0, path, "");
        refused_unread(&r, cases[i].status, cases[i].code, NULL);
        command_free(&r);
    }
    const char *const cut = slt_path(scratch, "cut.cubin", NULL);
    slt_shell("head -c 9000 '%s' > '%s'", fixture("cubin/k1_sm90.cubin"), cut);
    command_result r = run(0, cut, "--entry add_f32 " ADD);
    refused_unread(&r, 1, "INVALID_BINARY", NULL);
    command_free(&r);
    r = run(0, slt_path(scratch, "absent.cubin", NULL), "");
    refused_unread(&r, 1, "INVALID_SOURCE", "NOT_FOUND");
    command_free(&r);
}
END_TEST

/* doctor looks and does not touch: a driver that was initialised could break every later fork. */
START_TEST(doctor_tells_of_drivers) {
    static const char *const names[] = {"host", "cuda", "hip"};
    for (int i = 0; i < 2; i++) {
        command_result r = command_run(scratch, "doctor --json --driver-library '%s'", shims[i]);
        ck_assert_int_eq(r.status, 0);
        for (int k = 0; k < 3; k++) {
            char path[32];
            snprintf(path, sizeof path, "drivers.%d.name", k);
            ck_assert_str_eq(command_text(r.json, path), names[k]);
            snprintf(path, sizeof path, "drivers.%d.status", k);
            ck_assert_str_eq(command_text(r.json, path), k == 0 ? "yes" : k == i + 1 ? "maybe" : "no");
            snprintf(path, sizeof path, "drivers.%d.why", k);
            ck_assert_ptr_nonnull(command_text(r.json, path));
        }
        ck_assert_str_eq(command_text(r.json, i == 0 ? "drivers.2.code" : "drivers.1.code"), "UNAVAILABLE");
        ck_assert_ptr_null(command_text(r.json, i == 0 ? "drivers.1.code" : "drivers.2.code"));
        ck_assert_ptr_nonnull(strstr(command_text(r.json, i == 0 ? "drivers.1.path" : "drivers.2.path"), ".so"));
        ck_assert_uint_eq(look(1).inits, 0);
        command_free(&r);
    }
    command_result r = command_run(scratch, "doctor --json --device cuda:0 --driver-library /nonexistent/libcuda.so.1");
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(command_text(r.json, "drivers.1.status"), "no");
    ck_assert_str_eq(command_text(r.json, "drivers.1.path"), "/nonexistent/libcuda.so.1");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "drivers.1.why"), "/nonexistent/libcuda.so.1"));
    const char *const path = command_text(r.json, "drivers.2.path");
    ck_assert(path == NULL || strstr(path, "/nonexistent/") == NULL);
    command_free(&r);
    r = command_run(scratch, "doctor --driver-library '%s'", shims[0]);
    ck_assert_ptr_nonnull(strstr(r.out, "driver cuda  maybe"));
    command_free(&r);
    r = command_run(scratch, "doctor --json --device host --driver-library '%s'", shims[0]);
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
}
END_TEST

START_TEST(inspect_asks_a_device) {
    command_result r = command_run(scratch, "inspect --json '%s' --device cuda:0 --driver-library '%s'",
                                   fixture("cubin/k1_sm90.cubin"), shims[0]);
    ck_assert_msg(r.json != NULL, "%s", r.err);
    ck_assert_str_eq(command_text(r.json, "target"), "sm_90");
    ck_assert(json_object_get_boolean(command_at(r.json, "files.0.images.0.kernels.0.fits")));
    look(1);
    command_free(&r);
    r = command_run(scratch, "inspect --json '%s' --device cuda:1 --driver-library '%s'",
                    fixture("cubin/k1_sm90.cubin"), shims[0]);
    ck_assert_int_eq(r.status, 1);
    ck_assert(!json_object_get_boolean(command_at(r.json, "files.0.images.0.kernels.0.fits")));
    look(1);
    command_free(&r);
    r = command_run(scratch, "inspect --json '%s' --device hip:1 --driver-library '%s'",
                    fixture("hsaco/k_gfx90a.hsaco"), shims[1]);
    ck_assert_str_eq(command_text(r.json, "target"), "gfx90a:sramecc+:xnack-");
    look(1);
    command_free(&r);
}
END_TEST

START_TEST(without_doubles) {
    slt_skip("run on the doubles", "no doubles were given, or there is no compiler for the shim before them");
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    static char folder[300];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/slipway-shims-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(folder) == NULL) return EXIT_FAILURE;
    Suite *suite = suite_create("command: GPU drivers");
    TCase *tc = tcase_create("gpu");
    tcase_set_timeout(tc, 300);
    if (make_shims(folder)) {
        tcase_add_checked_fixture(tc, set_up, NULL);
        tcase_add_test(tc, every_form_computes);
        tcase_add_test(tc, wrong_target);
        tcase_add_test(tc, shapes);
        tcase_add_test(tc, triton_entries_that_are_none);
        tcase_add_test(tc, triton_metadata_is_needed_and_believed);
        tcase_add_test(tc, scratch_is_the_commands);
        tcase_add_test(tc, drivers_that_are_not_there);
        tcase_add_test(tc, drivers_that_fail);
        tcase_add_test(tc, files_that_are_no_binaries);
        tcase_add_test(tc, doctor_tells_of_drivers);
        tcase_add_test(tc, inspect_asks_a_device);
    } else {
        tcase_add_test(tc, without_doubles);
    }
    suite_add_tcase(suite, tc);
    const int status = slt_run(suite, NULL);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
