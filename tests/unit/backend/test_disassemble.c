/* slw_disassemble: which tool, how it is run, what is left behind (nothing), and every way it may fail. The tools are
 * scripts that say what they see; one test asks the system's own llvm-objdump. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_alloc.h"
#include "fault_os.h"
#include "slt.h"

static slw_error err;
static char words[4096];
static const char *scratch, *tools, *temporary;
static char *cubin, *hsaco;
static size_t cubin_size, hsaco_size;
static slw_disassemble_options options;
static slw_text text;

static void set_up(void) {
    scratch = slt_scratch();
    tools = slt_path(scratch, "tools", NULL);
    temporary = slt_path(scratch, "tmp", NULL);
    slt_shell("mkdir %s %s", tools, temporary);
    cubin = slt_read_file(slt_fixture("cubin/rq_90.cubin"), &cubin_size);
    hsaco = slt_read_file(slt_fixture("hsaco/k_gfx90a.hsaco"), &hsaco_size);
    const slw_disassemble_options fresh_options = SLW_DISASSEMBLE_OPTIONS_INIT;
    options = fresh_options;
    options.search_path = tools;
    options.temporary = temporary;
    const slw_error none = SLW_ERROR_INIT;
    err = none;
    err.diagnostics = words;
    err.diagnostics_capacity = sizeof words;
    const slw_text empty = SLW_TEXT_INIT;
    text = empty;
}

/* Nothing is left where the tool worked. */
static void tear_down(void) {
    DIR *directory = opendir(temporary);
    ck_assert_ptr_nonnull(directory);
    int left = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) left += entry->d_name[0] != '.';
    closedir(directory);
    ck_assert_int_eq(left, 0);
    free(cubin);
    free(hsaco);
    slw_text_release(&text);
}

static void tool(const char *name, const char *script) {
    char content[2048];
    snprintf(content, sizeof content, "#!/bin/sh\n%s\n", script);
    slt_write_file(slt_path(tools, name, NULL), content, strlen(content), 0755);
}

static slw_code run(const void *image, size_t size) {
    return slw_disassemble(&options, (slw_bytes){image, size}, &text, &err);
}

static void fails(const void *image, size_t size, slw_code code, const char *reason) {
    const slw_code rc = run(image, size);
    ck_assert_msg(rc == code && (reason == NULL || (err.reason != NULL && strcmp(err.reason, reason) == 0)),
                  "got %s (%s) %s, wanted %s", slw_code_name(rc), err.reason != NULL ? err.reason : "", err.message,
                  reason != NULL ? reason : slw_code_name(code));
    ck_assert_ptr_null(text.data);
}

/* What the tool gets: its arguments, a copy of the image in a directory of its own, and an environment made for it. */
START_TEST(what_the_tool_sees) {
    tool("nvdisasm", "echo \"args $1 $#\"; cksum <\"$2\"; pwd; stat -c '%a %u' . \"$2\"; env | grep -v '^_=' | sort");
    setenv("LD_RUN_PATH", "/nowhere", 1);
    slt_ok(run(cubin, cubin_size), &err);
    char expected[512], sum[128];
    FILE *pipe = popen("cksum <tests/fixtures/cubin/rq_90.cubin", "r");
    ck_assert_ptr_nonnull(fgets(sum, sizeof sum, pipe));
    pclose(pipe);
    const char *directory = strstr(text.data, temporary);
    ck_assert_ptr_nonnull(directory);
    const int size = (int)strcspn(directory, "\n");
    snprintf(expected, sizeof expected, "args -c 2\n%s%.*s\n700 %u\n600 %u\nLC_ALL=C\n", sum, size, directory,
             (unsigned)geteuid(), (unsigned)geteuid());
    ck_assert_msg(strncmp(text.data, expected, strlen(expected)) == 0, "%s\nis not\n%s", text.data, expected);
    ck_assert_ptr_null(strstr(text.data, "LD_RUN_PATH"));
    ck_assert_ptr_null(strstr(text.data, "HOME="));
    ck_assert_uint_eq(text.size, strlen(text.data));
    char line[512];
    snprintf(line, sizeof line, "\nPATH=%s:/usr/bin:/bin\n", tools);
    ck_assert_ptr_nonnull(strstr(text.data, line));
    snprintf(line, sizeof line, "\nTMPDIR=%.*s\n", size, directory);
    ck_assert_ptr_nonnull(strstr(text.data, line));
}
END_TEST

/* nvdisasm anywhere before cuobjdump everywhere; versions of llvm-objdump, the newest first. */
START_TEST(which_tool) {
    char path[600];
    const char *second = slt_path(scratch, "second", NULL);
    slt_shell("mkdir %s && mkdir %s/llvm-objdump-17", second, tools); /* a directory is no program */
    snprintf(path, sizeof path, "relative::%s:%s", tools, second);
    options.search_path = path;
    fails(cubin, cubin_size, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER");
    ck_assert_ptr_nonnull(strstr(err.tried, "tools/nvdisasm\n"));
    ck_assert_ptr_nonnull(strstr(err.tried, "second/cuobjdump"));
    ck_assert_ptr_null(strstr(err.tried, "relative"));
    ck_assert_ptr_nonnull(strstr(err.hint, "nvidia-cuda-nvdisasm"));
    fails(hsaco, hsaco_size, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER");
    ck_assert_ptr_nonnull(strstr(err.hint, "llvm-objdump"));

    tool("cuobjdump", "echo cuobjdump $1");
    slt_ok(run(cubin, cubin_size), &err);
    ck_assert_str_eq(text.data, "cuobjdump -sass\n");
    slw_text_release(&text);
    slt_shell("printf '#!/bin/sh\\necho nvdisasm $1\\n' >%s/nvdisasm && chmod 755 %s/nvdisasm", second, second);
    slt_ok(run(cubin, cubin_size), &err);
    ck_assert_str_eq(text.data, "nvdisasm -c\n");
    slw_text_release(&text);

    tool("llvm-objdump-16", "echo sixteen $1");
    tool("llvm-objdump-9", "echo nine");
    slt_ok(run(hsaco, hsaco_size), &err);
    ck_assert_str_eq(text.data, "sixteen -d\n");
    slw_text_release(&text);
    tool("llvm-objdump", "echo plain $1");
    slt_ok(run(hsaco, hsaco_size), &err);
    ck_assert_str_eq(text.data, "plain -d\n");
}
END_TEST

START_TEST(a_named_tool) {
    tool("my-cuobjdump", "echo mine $1");
    options.tool = slt_path(tools, "my-cuobjdump", NULL);
    options.search_path = "/nonexistent";
    slt_ok(run(cubin, cubin_size), &err);
    ck_assert_str_eq(text.data, "mine -sass\n");
    slw_text_release(&text);
    options.tool = "/nonexistent/nvdisasm";
    fails(cubin, cubin_size, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER");
    ck_assert_str_eq(err.tried, "/nonexistent/nvdisasm");
    slt_write_file(slt_path(tools, "plain", NULL), "text", 4, 0644);
    options.tool = slt_path(tools, "plain", NULL);
    fails(cubin, cubin_size, SLW_E_TOOL_MISSING, "NO_DISASSEMBLER");
}
END_TEST

START_TEST(found_without_running) {
    slw_text path = SLW_TEXT_INIT;
    ck_assert_int_eq(slw_disassembler_find(&options, SLW_IMAGE_CUBIN, &path, &err), SLW_E_TOOL_MISSING);
    ck_assert_ptr_null(path.data);
    tool("nvdisasm", "touch $0.ran");
    slt_ok(slw_disassembler_find(&options, SLW_IMAGE_CUBIN, &path, &err), &err);
    ck_assert_str_eq(path.data, slt_path(tools, "nvdisasm", NULL));
    ck_assert_int_ne(access(slt_path(tools, "nvdisasm.ran", NULL), F_OK), 0);
    slw_text_release(&path);
    ck_assert_int_eq(slw_disassembler_find(&options, SLW_IMAGE_PTX, &path, &err), SLW_E_UNSUPPORTED_INPUT);
    ck_assert_int_eq(slw_disassembler_find(&options, SLW_IMAGE_CUBIN, NULL, &err), SLW_E_USAGE);
}
END_TEST

START_TEST(a_tool_that_fails) {
    tool("nvdisasm", "echo 'nvdisasm fatal: too new'; echo more >&2; exit 3");
    fails(cubin, cubin_size, SLW_E_COMPILE_FAILED, "TOOL_FAILED");
    ck_assert_str_eq(words, "nvdisasm fatal: too new\nmore\n");
    ck_assert_int_eq(err.raw_code, 3);
    ck_assert_str_eq(err.path, slt_path(tools, "nvdisasm", NULL));
    ck_assert_ptr_nonnull(err.hint);
    tool("nvdisasm", "kill -SEGV $$");
    fails(cubin, cubin_size, SLW_E_COMPILE_FAILED, "TOOL_FAILED");
    ck_assert_int_eq(err.raw_code, 139);
    tool("nvdisasm", "exit 0"); /* nothing said is an empty text */
    slt_ok(run(cubin, cubin_size), &err);
    ck_assert_uint_eq(text.size, 0);
    ck_assert_str_eq(text.data, "");
}
END_TEST

START_TEST(a_tool_that_hangs) {
    tool("nvdisasm", "sleep 100 & sleep 100");
    options.timeout_ns = 300000000;
    fails(cubin, cubin_size, SLW_E_TIMEOUT, NULL);
    slw_cancel *cancel = NULL;
    slt_ok(slw_cancel_create(NULL, &cancel, &err), &err);
    slw_cancel_request(cancel);
    options.timeout_ns = 0;
    options.cancel = cancel;
    fails(cubin, cubin_size, SLW_E_CANCELLED, NULL);
    slw_cancel_release(&cancel);
}
END_TEST

START_TEST(images_no_tool_reads) {
    static const struct {
        const char *fixture, *reason;
    } rows[] = {{"ptx/rq_90.ptx", "PTX"},
                {"fatbin/f_100f.fatbin", "SEVERAL_IMAGES"},
                {"hsaco/k.bundle", "SEVERAL_IMAGES"},
                {"hsaco/kc.bundle", "SEVERAL_IMAGES"},
                {"elf/small.o", "NO_MACHINE_CODE"}};
    tool("nvdisasm", "echo no");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = 0;
        char *data = slt_read_file(slt_fixture(rows[i].fixture), &size);
        fails(data, size, SLW_E_UNSUPPORTED_INPUT, rows[i].reason);
        free(data);
    }
    fails("", 0, SLW_E_UNSUPPORTED_INPUT, "NO_MACHINE_CODE");
}
END_TEST

START_TEST(usage) {
    const slw_bytes image = {cubin, cubin_size};
    tool("nvdisasm", "echo x");
    ck_assert_int_eq(slw_disassemble(&options, image, NULL, &err), SLW_E_USAGE);
    ck_assert_int_eq(slw_disassemble(&options, (slw_bytes){NULL, 4}, &text, &err), SLW_E_USAGE);
    options.temporary = "relative";
    fails(cubin, cubin_size, SLW_E_USAGE, NULL);
    options.temporary = "/nonexistent/place";
    fails(cubin, cubin_size, SLW_E_STORAGE, NULL);
    ck_assert_str_eq(err.raw_name, "ENOENT");
    options.temporary = temporary;
    options.size--;
    fails(cubin, cubin_size, SLW_E_USAGE, NULL);
}
END_TEST

START_TEST(every_allocation_may_fail) {
    tool("nvdisasm", "seq 1 20000"); /* so much that the buffer grows */
    slt_heap heap;
    slt_heap_init(&heap);
    options.allocator = heap.allocator;
    for (uint64_t n = 1;; n++) {
        slt_heap_reset(&heap);
        heap.fail_at = n;
        const slw_code rc = run(cubin, cubin_size);
        const int last = heap.failed == 0;
        if (!last) ck_assert_int_eq(rc, SLW_E_NO_MEMORY);
        if (!last) ck_assert_ptr_null(text.data);
        if (last) slt_ok(rc, &err);
        slw_text_release(&text);
        slt_heap_check_empty(&heap);
        if (last) break;
    }
}
END_TEST

/* Each system call may fail; then that is said, nothing is left behind and no descriptor is open. */
START_TEST(every_system_call_may_fail) {
    static const slt_call calls[] = {SLT_OPENAT, SLT_FSTAT, SLT_MKDIRAT, SLT_WRITE, SLT_RANDOM, SLT_PIPE, SLT_SPAWN};
    tool("nvdisasm", "echo x");
    const int before = slt_open_descriptors();
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        for (uint64_t n = 1; n < 20; n++) {
            slt_fault_os_install(NULL);
            slt_fault_os_add((slt_fault){.call = calls[c], .nth = n, .error_number = EIO});
            const slw_code rc = run(cubin, cubin_size);
            const uint64_t fired = slt_fault_os_fired();
            slt_fault_os_remove();
            if (n == 1) ck_assert_msg(fired == 1, "%s never happened", slt_call_name(calls[c]));
            /* Removing the directory is the last that happens, and no reason to lose the text. */
            ck_assert_msg(rc == SLW_OK || (fired == 1 && rc == SLW_E_STORAGE), "%s %d: %s %s", slt_call_name(calls[c]),
                          (int)n, slw_code_name(rc), err.message);
            slw_text_release(&text);
            ck_assert_int_eq(slt_open_descriptors(), before);
            if (rc == SLW_OK) slt_shell("rm -rf %s/slipway-*", temporary);
            if (fired == 0) break;
        }
    }
    slt_fault_os_install(NULL); /* a full disk */
    slt_fault_os_add((slt_fault){.call = SLT_WRITE, .nth = 1, .error_number = ENOSPC});
    fails(cubin, cubin_size, SLW_E_STORAGE, NULL);
    slt_fault_os_remove();
    ck_assert_str_eq(err.raw_name, "ENOSPC");
}
END_TEST

START_TEST(the_systems_own) {
    slw_text path = SLW_TEXT_INIT;
    options.search_path = NULL;
    if (slw_disassembler_find(&options, SLW_IMAGE_HSACO, &path, &err) != SLW_OK) {
        slt_skip("the_systems_own", "no llvm-objdump here");
        return;
    }
    slw_text_release(&path);
    const slw_code rc = run(hsaco, hsaco_size);
    if (rc == SLW_E_COMPILE_FAILED) {
        slt_skip("the_systems_own", "the llvm-objdump here does not know amdgcn");
        return;
    }
    slt_ok(rc, &err);
    ck_assert_ptr_nonnull(strstr(text.data, "<add_f32>:"));
    ck_assert_ptr_nonnull(strstr(text.data, "s_endpgm"));
}
END_TEST

START_TEST(nvidias_own) {
    slw_text path = SLW_TEXT_INIT;
    options.search_path = NULL;
    if (slw_disassembler_find(&options, SLW_IMAGE_CUBIN, &path, &err) != SLW_OK) {
        slt_skip("nvidias_own", "neither nvdisasm nor cuobjdump here");
        return;
    }
    slw_text_release(&path);
    slt_ok(run(cubin, cubin_size), &err);
    ck_assert_ptr_nonnull(strstr(text.data, "rq2"));
    ck_assert_ptr_nonnull(strstr(text.data, "EXIT"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("disassemble");
    TCase *tc = tcase_create("disassemble");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_the_tool_sees);
    tcase_add_test(tc, which_tool);
    tcase_add_test(tc, a_named_tool);
    tcase_add_test(tc, found_without_running);
    tcase_add_test(tc, a_tool_that_fails);
    tcase_add_test(tc, a_tool_that_hangs);
    tcase_add_test(tc, images_no_tool_reads);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, every_system_call_may_fail);
    tcase_add_test(tc, the_systems_own);
    tcase_add_test(tc, nvidias_own);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
