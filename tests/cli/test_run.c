/* run: the whole way to a launch; ls and show of what it published; no process in a hot run. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *scratch, *places, *sources;
static char memo[300]; /* shared by the tests: proving the toolchain by reading it takes seconds */

#define SAXPY "--grid 4 --block 256 --arg u64=1000 --arg f32=2 --arg 'f32[1000]=iota' --arg 'inout:f32[1000]=const:1'"

static void set_up(void) {
    static char buffer[2048];
    scratch = slt_scratch();
    snprintf(buffer, sizeof buffer, "--cache %s/cache --private %s/private --memo %s --json", scratch, scratch, memo);
    places = buffer;
    sources = slt_fixture("../../examples/kernels");
}

static void check_phases(struct json_object *json, const char *lookup, const char *compile) {
    static const char *const names[] = {"lookup", "compile", "hydrate", "device_load", "make_launchable", "launch"};
    for (int i = 0; i < 6; i++) {
        char path[32];
        snprintf(path, sizeof path, "phases.%d.phase", i);
        ck_assert_str_eq(command_text(json, path), names[i]);
        snprintf(path, sizeof path, "phases.%d.outcome", i);
        ck_assert_str_eq(command_text(json, path), i == 0 ? lookup : i == 1 ? compile : "OK");
        snprintf(path, sizeof path, "phases.%d.duration_ns", i);
        ck_assert_int_ge(command_int(json, path), 0);
    }
}

static void check_saxpy(struct json_object *json) {
    ck_assert_int_eq(command_int(json, "results.0.arg"), 3);
    ck_assert_str_eq(command_text(json, "results.0.type"), "f32");
    ck_assert_int_eq(command_int(json, "results.0.count"), 1000);
    for (int i = 0; i < 1000; i++) {
        struct json_object *value = json_object_array_get_idx(command_at(json, "results.0.values"), (size_t)i);
        ck_assert(json_object_get_double(value) == 2.0 * i + 1);
    }
}

/* Cold: a miss, two stages, published. Hot: a hit, no stage, the same key and results; also where PATH leads nowhere.
 */
START_TEST(cold_then_hot) {
    command_result cold = command_run(scratch, "run %s/saxpy.c %s " SAXPY, sources, places);
    ck_assert_msg(cold.status == 0 && cold.json != NULL, "%d %s %s", cold.status, cold.out, cold.err);
    ck_assert_str_eq(command_text(cold.json, "disposition"), "PUBLISHED");
    ck_assert_ptr_null(command_text(cold.json, "reason"));
    check_phases(cold.json, "MISS", "OK");
    ck_assert_str_eq(command_text(cold.json, "stages.0.name"), "object");
    ck_assert_str_eq(command_text(cold.json, "stages.1.name"), "shared_object");
    check_saxpy(cold.json);
    command_result hot = command_run(scratch, "run %s/saxpy.c %s " SAXPY, sources, places);
    ck_assert_str_eq(command_text(hot.json, "disposition"), "HIT");
    ck_assert_str_eq(command_text(hot.json, "key"), command_text(cold.json, "key"));
    check_phases(hot.json, "HIT", "SKIPPED");
    ck_assert_uint_eq(json_object_array_length(command_at(hot.json, "stages")), 0);
    check_saxpy(hot.json);
    command_free(&hot);

    command_result shown = command_run(scratch, "show %.16s %s", command_text(cold.json, "key"), places);
    ck_assert_msg(shown.status == 0, "%s %s", shown.out, shown.err);
    ck_assert_str_eq(command_text(shown.json, "name"), "saxpy.c");
    ck_assert_str_eq(command_text(shown.json, "backend"), "host");
    ck_assert_ptr_nonnull(command_at(shown.json, "contract.kernels"));
    ck_assert_ptr_nonnull(command_at(shown.json, "record"));
    ck_assert_str_eq(command_text(shown.json, "manifest.key"), command_text(cold.json, "key"));
    command_free(&shown);
    command_result listed = command_run(scratch, "ls %s", places);
    ck_assert_str_eq(command_text(listed.json, "entries.0.name"), "saxpy.c");
    ck_assert_int_gt(command_int(listed.json, "entries.0.last_used_ns"), 0);
    command_free(&listed);
    command_free(&cold);
}
END_TEST

/* No process is started by a hot run, the compiler named or found in the system's directories. */
START_TEST(hot_starts_no_process) {
    command_result cold = command_run(scratch, "run %s/saxpy.c --cc /usr/bin/gcc %s " SAXPY, sources, places);
    ck_assert_msg(cold.status == 0, "%s", cold.err);
    command_free(&cold);
    const char *slipway = command_path;
    char traced[4096];
    snprintf(traced, sizeof traced, "strace -f -qq -e trace=execve -o %s/trace %s", scratch, slipway);
    if (system("strace -qq -o /dev/null true 2>/dev/null") != 0) {
        slt_skip("hot_starts_no_process", "ptrace is not allowed here");
        return;
    }
    slt_shell("HOME=%s PATH=$PATH %s run %s/saxpy.c --cc /usr/bin/gcc %s " SAXPY " >%s/hot", scratch, traced, sources,
              places, scratch);
    slt_shell("test $(grep -c 'execve.* = 0$' %s/trace) = 1", scratch);
    slt_shell("grep -q '\"disposition\":\"HIT\"' %s/hot", scratch);
    slt_shell("HOME=%s PATH=/nonexistent %s run %s/saxpy.c --cc /usr/bin/gcc %s " SAXPY " >%s/hot", scratch, slipway,
              sources, places, scratch);
    slt_shell("grep -q '\"disposition\":\"HIT\"' %s/hot", scratch);
}
END_TEST

START_TEST(compile_errors) {
    const char *bad = slt_path(scratch, "bad.c", NULL);
    slt_write_file(bad, "int x;\nint y = ;\n", 17, 0644);
    command_result r = command_run(scratch, "run %s %s", bad, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "COMPILE_FAILED");
    ck_assert_int_eq(command_int(r.json, "error.line"), 2);
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.diagnostics"), "error"));
    command_free(&r);
    r = command_run(scratch, "run %s/absent.c %s", scratch, places);
    ck_assert_int_ne(r.status, 0);
    ck_assert_ptr_nonnull(command_text(r.json, "error.code"));
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c --cc /nonexistent/cc %s " SAXPY, sources, places);
    ck_assert_int_eq(r.status, 3);
    ck_assert_str_eq(command_text(r.json, "error.code"), "TOOL_MISSING");
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c --cc nosuchcc %s " SAXPY, sources, places);
    ck_assert_int_eq(r.status, 3);
    ck_assert_str_eq(command_text(r.json, "error.subject"), "nosuchcc");
    command_free(&r);
}
END_TEST

/* The same limit checks as a GPU's, with the amounts. */
START_TEST(limits) {
    static const struct {
        const char *shape, *code, *resource;
        int64_t required, limit;
    } cases[] = {
        {"--grid 1 --block 1025", "OUT_OF_RESOURCES", NULL, 1025, 1024},
        {"--grid 1 --block 1,1,65", "OUT_OF_RESOURCES", NULL, 65, 64},
        {"--grid 1 --block 1 --shared 49153", "OUT_OF_RESOURCES", NULL, 49153, 49152},
        {"--grid 2147483648 --block 1", "OUT_OF_RESOURCES", NULL, 2147483648ll, 2147483647},
        {"--grid 1,65536 --block 1", "OUT_OF_RESOURCES", NULL, 65536, 65535},
        {"--grid 0 --block 1", "INVALID_LAUNCH", NULL, 0, 0},
        {"--grid 1 --block 0", "INVALID_LAUNCH", NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_result r =
            command_run(scratch, "run %s/saxpy.c %s %s --arg u64=0 --arg f32=2 --arg 'f32[1]=zero' --arg 'f32[1]=zero'",
                        sources, places, cases[i].shape);
        ck_assert_msg(r.status == 1 && r.json != NULL, "%s: %d %s", cases[i].shape, r.status, r.err);
        ck_assert_str_eq(command_text(r.json, "error.code"), cases[i].code);
        if (cases[i].limit != 0) {
            ck_assert_int_eq(command_int(r.json, "error.required"), cases[i].required);
            ck_assert_int_eq(command_int(r.json, "error.limit"), cases[i].limit);
            ck_assert_ptr_nonnull(command_text(r.json, "error.unit"));
            ck_assert_str_eq(command_text(r.json, "error.kernel"), "saxpy");
            ck_assert_ptr_nonnull(command_text(r.json, "error.device"));
        }
        command_free(&r);
    }
    command_result r = command_run(scratch, "run %s/saxpy.c %s --arg u64=0", sources, places);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_LAUNCH");
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c %s --entry nosuch --arg u64=0", sources, places);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "MISS");
    command_free(&r);
}
END_TEST

START_TEST(bad_arguments) {
    static const char *const bad[] = {"--arg f32",
                                      "--arg f99=1",
                                      "--arg u8=256",
                                      "--arg i8=-129",
                                      "--arg u32=-1",
                                      "--arg 'f32[0]=zero'",
                                      "--arg 'f32[x]=zero'",
                                      "--arg 'f32[2]=rand:'",
                                      "--arg 'f32[2]=nonsense'",
                                      "--arg in:u32=1",
                                      "--arg 'f32[2]=const:'",
                                      "--grid 1,2,3,4",
                                      "--grid x",
                                      "--block -1",
                                      "--timeout abc",
                                      "--timeout 0",
                                      "--tolerance -1",
                                      "--arg 'f32[2]=zero>'",
                                      "--device gpu:x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        command_result r = command_run(scratch, "run %s/saxpy.c %s %s", sources, places, bad[i]);
        ck_assert_msg(r.status == 2, "%s: %d %s", bad[i], r.status, r.out);
        command_free(&r);
    }
}
END_TEST

/* A number where a pointer belongs would be followed; more than 32 bits is no extent; damage is no miss; an include root that
   cannot be read is told and built privately; a cache below a directory that others may write is refused the first time too. */
START_TEST(found_by_a_new_user) {
    command_result r = command_run(
        scratch, "run %s/saxpy.c %s --arg u64=8 --arg f32=2 --arg 'f32[8]=iota' --arg u64=4096", sources, places);
    ck_assert_int_eq(r.status, 2);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "BAD_ARGUMENT");
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c %s --grid 4294967296", sources, places);
    ck_assert_int_eq(r.status, 2);
    command_free(&r);

    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY, sources, places);
    ck_assert_str_eq(command_text(r.json, "disposition"), "HIT"); /* what was refused above had compiled */
    ck_assert_int_gt(command_int(r.json, "toolchain.duration_ns"), 0);
    command_free(&r);
    slt_shell("f=$(find %s/cache -name kernel.so) && printf X | dd of=$f conv=notrunc bs=1 seek=100 2>/dev/null",
              scratch);
    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY, sources, places);
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    check_phases(r.json, "FAILED", "OK");
    command_free(&r);

    slt_shell("mkdir %s/inc && ln -s /no/such '%s/inc/.#x.h'", scratch, scratch);
    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY " --include %s/inc", sources, places, scratch);
    ck_assert_msg(r.status == 0, "%s %s", r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "reason"), "IDENTITY_UNUSABLE"));
    command_free(&r);

    slt_shell("mkdir %s/open && chmod 777 %s/open", scratch, scratch);
    for (int i = 0; i < 2; i++) {
        r = command_run(scratch, "ls --cache %s/open/cache --json", scratch);
        ck_assert_int_eq(r.status, 4);
        ck_assert_str_eq(command_text(r.json, "error.reason"), "UNTRUSTED");
        command_free(&r);
    }
    slt_shell("test ! -e %s/open/cache", scratch);
}
END_TEST

/* Results against a document; files in and out; a binary given directly; no cache. */
START_TEST(expect_files_binary) {
    command_result r = command_run(scratch, "run %s/saxpy.c %s " SAXPY, sources, places);
    slt_write_file(slt_path(scratch, "wanted.json", NULL), r.out, strlen(r.out), 0644);
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY " --expect %s/wanted.json", sources, places, scratch);
    ck_assert_int_eq(r.status, 0);
    command_free(&r);
    slt_shell("sed -i 's/1999/1999.001/' %s/wanted.json", scratch);
    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY " --expect %s/wanted.json", sources, places, scratch);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(r.json); /* standard output is still one document */
    ck_assert(!json_object_get_boolean(command_at(r.json, "as_expected")));
    ck_assert_ptr_nonnull(command_text(r.json, "difference"));
    command_free(&r);
    r = command_run(scratch, "run %s/saxpy.c %s " SAXPY " --expect %s/wanted.json --tolerance 1e-5", sources, places,
                    scratch);
    ck_assert_int_eq(r.status, 0);
    command_free(&r);

    const float x[4] = {1, 2, 3, 4};
    slt_write_file(slt_path(scratch, "x.bin", NULL), x, sizeof x, 0644);
    r = command_run(
        scratch,
        "run %s/saxpy.c %s --block 4 --arg u64=4 --arg f32=10 --arg 'f32[4]=@%s/x.bin' --arg 'out:f32[4]=@>%s/y.bin'",
        sources, places, scratch, scratch);
    ck_assert_msg(r.status == 0, "%s", r.out);
    ck_assert_str_eq(command_text(r.json, "results.0.file"), slt_path(scratch, "y.bin", NULL));
    size_t size = 0;
    char *y = slt_read_file(slt_path(scratch, "y.bin", NULL), &size);
    ck_assert_uint_eq(size, sizeof x);
    for (int i = 0; i < 4; i++) ck_assert(((float *)(void *)y)[i] == 10 * x[i]);
    free(y);
    command_free(&r);
    /* No more is read of a file than the array holds: this one has no end. */
    r = command_run(scratch, "run %s/saxpy.c %s --arg u64=4 --arg f32=10 --arg 'f32[4]=@/dev/zero' --arg 'out:f32[4]'",
                    sources, places);
    ck_assert_int_eq(r.status, 2);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "BAD_ARGUMENT");
    command_free(&r);

    slt_shell("cp $(find %s/cache -name kernel.so) %s/k.so", scratch, scratch);
    r = command_run(scratch, "run %s/k.so %s --entry saxpy " SAXPY, scratch, places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    ck_assert_ptr_null(command_at(r.json, "key"));
    check_phases(r.json, "SKIPPED", "SKIPPED");
    check_saxpy(r.json);
    command_free(&r);

    r = command_run(scratch, "run %s/saxpy.c --no-cache %s " SAXPY, sources, places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    check_saxpy(r.json);
    command_free(&r);
    slt_shell("test -z \"$(ls -A %s/private)\"", scratch); /* private builds are gone with their handles */
}
END_TEST

static const char edges_text[] =
    "#include <slipway/host_kernel.h>\n"
    "SLW_HOST_KERNEL(edges, SLW_HOST_PARAM(float *, f), SLW_HOST_PARAM(double *, d), SLW_HOST_PARAM(uint8_t *, u),\n"
    "                SLW_HOST_PARAM(uint64_t *, w));\n"
    "void edges(const slw_host_block *block, void *const *args) {\n"
    "    float *f = SLW_HOST_ARG(float *, args, 0);\n"
    "    double *d = SLW_HOST_ARG(double *, args, 1);\n"
    "    (void)block;\n"
    "    f[0] = -0.0f, f[1] = 1e30f, f[2] = __builtin_inff(), f[3] = __builtin_nanf(\"\");\n"
    "    d[0] = -0.0, d[1] = 1e22, d[2] = 0.1, d[3] = 5e-324;\n"
    "    SLW_HOST_ARG(uint8_t *, args, 2)[0] = 0;\n"
    "    SLW_HOST_ARG(uint64_t *, args, 3)[0] = UINT64_MAX;\n"
    "}\n";

/* What run prints is what --expect takes, at the edges of every type; what differs in one bit differs. */
START_TEST(results_come_back_as_they_are) {
#define EDGES "--arg 'out:f32[4]=const:1' --arg 'out:f64[4]=zero' --arg 'out:u8[1]=zero' --arg 'out:u64[1]=zero'"
    const char *source = slt_path(scratch, "edges.c", NULL), *wanted = slt_path(scratch, "wanted.json", NULL);
    slt_write_file(source, edges_text, sizeof edges_text - 1, 0644);
    command_result r = command_run(scratch, "run %s %s " EDGES, source, places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    slt_write_file(wanted, r.out, strlen(r.out), 0644);
    ck_assert_ptr_nonnull(strstr(r.out, "\"values\":[-0.0,1e+30,\"Infinity\",\"NaN\"]"));
    ck_assert_ptr_nonnull(strstr(r.out, "\"values\":[18446744073709551615]"));
    command_free(&r);
    static const struct {
        const char *change; /* sed */
        int status;
    } cases[] = {{"", 0},
                 {"s/-0\\.0/-0/g", 0}, /* another spelling of minus zero */
                 {"s/\\[-0\\.0,1e+30/[0.0,1e+30/", 1},
                 {"s/0\\.1,5e-324/0.1,0.0/", 1},
                 {"s/\\[0\\]/[256]/", 1},
                 {"s/\"NaN\"/1/", 1},
                 {"s/\"Infinity\"/\"-Infinity\"/", 1},
                 {"s/18446744073709551615/18446744073709551614/", 1},
                 {"s/\"type\":\"u8\"/\"type\":\"i8\"/", 1},
                 {"s/\"arg\":3/\"arg\":2/", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slt_shell("sed '%s' %s >%s/changed.json", cases[i].change, wanted, scratch);
        if (cases[i].change[0] != '\0') slt_shell("! cmp -s %s %s/changed.json", wanted, scratch);
        r = command_run(scratch, "run %s %s " EDGES " --expect %s/changed.json", source, places, scratch);
        ck_assert_msg(r.status == cases[i].status, "%s: %d %s", cases[i].change, r.status, r.err);
        command_free(&r);
    }
    /* Values in a file, written by any kind of array and read again. */
    r = command_run(scratch, "run %s %s " EDGES, source, places);
    command_free(&r);
    slt_shell("cd %s && rm -f f.bin", scratch);
    r = command_run(
        scratch,
        "run %s %s --arg 'out:f32[4]=const:1>%s/f.bin' --arg 'out:f64[4]=zero' --arg 'out:u8[1]=zero' --arg "
        "'out:u64[1]=zero'",
        source, places, scratch);
    ck_assert_msg(r.status == 0, "%s %s", r.out, r.err);
    slt_write_file(wanted, r.out, strlen(r.out), 0644);
    command_free(&r);
    r = command_run(scratch, "run %s %s " EDGES " --expect %s", source, places, wanted);
    ck_assert_msg(r.status == 0, "%s", r.err);
    command_free(&r);
    slt_shell("printf x | dd of=%s/f.bin bs=1 seek=4 conv=notrunc 2>/dev/null", scratch);
    r = command_run(scratch, "run %s %s " EDGES " --expect %s", source, places, wanted);
    ck_assert_int_eq(r.status, 1);
    command_free(&r);
}
END_TEST

/* A request that is not cacheable is compiled privately, and says which flag did it. */
START_TEST(private_for_a_reason) {
    slt_write_file(slt_path(scratch, "extra.h", NULL), "\n", 1, 0644);
    command_result r =
        command_run(scratch, "run %s/saxpy.c --flag -include --flag %s/extra.h %s " SAXPY, sources, scratch, places);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    ck_assert_ptr_nonnull(strstr(command_text(r.json, "reason"), "-include"));
    command_free(&r);
}
END_TEST

/* A C source runs on the host; a driver that is named and not there is told with the places that were tried. */
START_TEST(other_drivers_say_why) {
    static const char *const kinds[] = {"cuda", "hip"};
    for (int i = 0; i < 2; i++) {
        command_result r =
            command_run(scratch, "run %s/saxpy.c --device %s:0 --driver-library /nonexistent/libdriver.so %s " SAXPY,
                        sources, kinds[i], places);
        ck_assert_int_eq(r.status, 3);
        ck_assert_str_eq(command_text(r.json, "error.code"), "UNAVAILABLE");
        ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.tried.0"), "/nonexistent/libdriver.so"));
        command_free(&r);
        r = command_run(scratch, "run %s/saxpy.c --device %s:0 %s " SAXPY, sources, kinds[i], places);
        const char *const code = r.status == 3 ? command_text(r.json, "error.code") : "";
        /* Where there is such a device: it runs no code of this processor. */
        ck_assert_msg(r.status == 1 || strcmp(code, "UNAVAILABLE") == 0 || strcmp(code, "STUB") == 0 ||
                          strcmp(code, "NO_DEVICE") == 0,
                      "%s", r.out);
        command_free(&r);
    }
    command_result r = command_run(scratch, "run %s/saxpy.c --driver-library x %s " SAXPY, sources, places);
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
    r = command_run(scratch, "ls --verify memo %s", places);
    ck_assert_int_eq(r.status, 3);
    ck_assert_str_eq(command_text(r.json, "error.code"), "UNSUPPORTED");
    command_free(&r);
}
END_TEST

/* A file may be called anything: what is printed for people moves no cursor. */
START_TEST(a_name_moves_no_cursor) {
    static const char *const verbs[] = {"run", "ls", "why", "run --no-cache"};
    char where[1024], file[512];
    snprintf(where, sizeof where, "--cache %s/cache --private %s/private --memo %s", scratch, scratch, memo);
    snprintf(file, sizeof file, "%s/a\033[31mb.c", scratch);
    slt_shell("cp '%s/saxpy.c' '%s'", sources, file);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (i == 3) slt_write_file(file, "x(", 2, 0644);
        command_result r = i == 1 ? command_run(scratch, "ls %s", where)
                                  : command_run(scratch, "%s '%s' %s %s", verbs[i], file, where, i == 2 ? "" : SAXPY);
        ck_assert_int_eq(r.status, i == 3);
        ck_assert_ptr_null(strchr(r.out, '\033'));
        ck_assert_ptr_null(strchr(r.err, '\033'));
        if (i > 0) ck_assert_ptr_nonnull(strstr(i == 3 ? r.err : r.out, "a\\x1b[31mb.c"));
        command_free(&r);
    }
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    const char *base = getenv("TMPDIR");
    snprintf(memo, sizeof memo, "%s/slipway-memo-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(memo) == NULL) return EXIT_FAILURE;
    Suite *suite = suite_create("command: run");
    TCase *tc = tcase_create("run");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, cold_then_hot);
    tcase_add_test(tc, hot_starts_no_process);
    tcase_add_test(tc, a_name_moves_no_cursor);
    tcase_add_test(tc, compile_errors);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, bad_arguments);
    tcase_add_test(tc, found_by_a_new_user);
    tcase_add_test(tc, expect_files_binary);
    tcase_add_test(tc, results_come_back_as_they_are);
    tcase_add_test(tc, private_for_a_reason);
    tcase_add_test(tc, other_drivers_say_why);
    suite_add_tcase(suite, tc);
    const int status = slt_run(suite, NULL);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", memo);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
