/* A signal during a build: the compiler is killed, nothing is left where builds run nor in the cache, and the command ends
 * by the signal, as a shell and a build system expect. Outside of a build it ends it as ever. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAXPY "--grid 4 --block 256 --arg u64=1000 --arg f32=2 --arg 'f32[1000]=iota' --arg 'inout:f32[1000]=const:1'"

static const char *scratch;

/* A compiler that says who it is and hangs, as soon as there is a file of the name "hang". */
static void set_up(void) {
    char text[2048];
    scratch = slt_scratch();
    snprintf(text, sizeof text,
             "#!/bin/sh\n"
             "if [ -e %s/hang ]; then echo $$ > %s/pid.new; mv %s/pid.new %s/pid; sleep 1000; fi\n"
             "exec /usr/bin/cc \"$@\"\n",
             scratch, scratch, scratch, scratch);
    slt_write_file(slt_path(scratch, "cc", NULL), text, strlen(text), 0755);
}

static const char *line(const char *verb_and_file) {
    static char text[4096];
    snprintf(text, sizeof text, "%s --cache %s/cache --private %s/private --memo %s/memo --cc %s/cc", verb_and_file,
             scratch, scratch, scratch, scratch);
    return text;
}

static void hang(int on) {
    if (on)
        slt_write_file(slt_path(scratch, "hang", NULL), "", 0, 0644);
    else
        (void)unlink(slt_path(scratch, "hang", NULL));
}

/* A shell's background job, without a shell that would catch signals in between. `ignored`: 0, or a signal the command
   finds ignored, as nohup's child does. */
static pid_t start(const char *arguments, int ignored) {
    char text[8192];
    snprintf(text, sizeof text, "exec '%s' %s >%s/out 2>%s/err", command_path, arguments, scratch, scratch);
    const pid_t child = fork();
    if (child != 0) return child;
    for (int i = 1; i < NSIG; i++) (void)signal(i, SIG_DFL);
    if (ignored != 0) (void)signal(ignored, SIG_IGN);
    (void)execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

static void pause_ms(int ms) {
    (void)usleep((useconds_t)ms * 1000);
}

/* Waits until the compiler hangs; its process. */
static pid_t hanging(void) {
    const char *path = slt_path(scratch, "pid", NULL);
    for (int i = 0; i < 6000 && access(path, F_OK) != 0; i++) pause_ms(10);
    char *text = slt_read_file(path, NULL);
    const pid_t compiler = (pid_t)atol(text);
    free(text);
    ck_assert_int_gt(compiler, 1);
    ck_assert_int_eq(kill(compiler, 0), 0);
    (void)unlink(path);
    return compiler;
}

/* Sends the signal; the command ends by it, within a minute. */
static void ends_by(pid_t child, int number) {
    int status = 0;
    ck_assert_int_eq(kill(child, number), 0);
    for (int i = 0; i < 6000; i++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == number, "%x", (unsigned)status);
            return;
        }
        pause_ms(10);
    }
    (void)kill(child, SIGKILL);
    ck_abort_msg("the command does not end");
}

static void nothing_is_left(pid_t compiler) {
    for (int i = 0; i < 1000 && kill(compiler, 0) == 0; i++) pause_ms(10); /* its reaper may be slow */
    ck_assert_int_ne(kill(compiler, 0), 0);
    slt_shell("test -z \"$(ls -A %s/private 2>/dev/null)\"", scratch);
    slt_shell("test -z \"$(find %s/cache -name '.tmp*' -o -name '*.tmp' 2>/dev/null)\"", scratch);
}

static void compile_once(void) {
    hang(0);
    char arguments[4096];
    snprintf(arguments, sizeof arguments, "%s", line("run examples/kernels/saxpy.c " SAXPY));
    command_result result = command_run(scratch, "%s", arguments);
    ck_assert_msg(result.status == 0, "%d %s", result.status, result.err);
    command_free(&result);
}

START_TEST(while_it_compiles) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    compile_once(); /* what the compiler is, is known from here on */
    hang(1);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const pid_t child = start(line("run examples/kernels/saxpy.c --flag -DOTHER " SAXPY), 0);
        const pid_t compiler = hanging();
        ends_by(child, signals[i]);
        nothing_is_left(compiler);
        char *said = slt_read_file(slt_path(scratch, "err", NULL), NULL);
        ck_assert_ptr_nonnull(strstr(said, "CANCELLED"));
        free(said);
    }
    hang(0); /* and the same request is served */
    command_result after = command_run(scratch, "%s", line("run examples/kernels/saxpy.c --flag -DOTHER " SAXPY));
    ck_assert_msg(after.status == 0, "%d %s", after.status, after.err);
    command_free(&after);
}
END_TEST

START_TEST(while_the_compiler_is_asked_what_it_is) {
    static const char run[] = "run examples/kernels/saxpy.c " SAXPY;
    static const char *const verbs[] = {run, "doctor", "doctor --no-cache"};
    hang(1);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const pid_t child = start(line(verbs[i]), 0);
        const pid_t compiler = hanging();
        ends_by(child, SIGINT);
        nothing_is_left(compiler);
    }
}
END_TEST

/* Nothing waits there that would ask for the token: the launch is what must not come. The toolchain is read whole, which
   takes longer than the signal does. */
START_TEST(while_it_finds_a_hit) {
    compile_once();
    const pid_t child = start(line("run examples/kernels/saxpy.c --identity content " SAXPY), 0);
    pause_ms(50);
    ends_by(child, SIGINT);
    size_t size = 0;
    free(slt_read_file(slt_path(scratch, "out", NULL), &size));
    ck_assert_uint_eq(size, 0);
}
END_TEST

START_TEST(what_was_ignored_stays_ignored) {
    compile_once();
    hang(1);
    const pid_t child = start(line("run examples/kernels/saxpy.c --flag -DOTHER " SAXPY), SIGHUP);
    const pid_t compiler = hanging();
    ck_assert_int_eq(kill(child, SIGHUP), 0);
    pause_ms(500);
    ck_assert_int_eq(kill(compiler, 0), 0);
    ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
    ends_by(child, SIGTERM);
    nothing_is_left(compiler);
}
END_TEST

START_TEST(while_it_warms) {
    static const char config[] = "{\"schema\": 1, \"requests\": [{\"source\": \"saxpy.c\", \"flags\": [\"-DOTHER\"]}]}";
    char verb[1024];
    compile_once();
    slt_shell("cp examples/kernels/saxpy.c %s", scratch);
    slt_write_file(slt_path(scratch, "warm.json", NULL), config, sizeof config - 1, 0644);
    hang(1);
    snprintf(verb, sizeof verb, "warm %s/warm.json", scratch);
    const pid_t child = start(line(verb), 0);
    const pid_t compiler = hanging();
    ends_by(child, SIGINT);
    nothing_is_left(compiler);
}
END_TEST

/* Nothing asks for a token there. */
START_TEST(a_kernel_that_never_ends_is_ended_by_the_first_signal) {
    static const char source[] = "#include <slipway/host_kernel.h>\n"
                                 "#include <stdio.h>\n"
                                 "SLW_HOST_KERNEL(forever, SLW_HOST_PARAM(int, n));\n"
                                 "void forever(const slw_host_block *block, void *const *args) {\n"
                                 "    FILE *file = fopen(\"%s/running\", \"w\");\n"
                                 "    (void)block; (void)args;\n"
                                 "    if (file != NULL) fclose(file);\n"
                                 "    for (volatile int i = 0;; i = i + 1 > 1000 ? 0 : i + 1) {}\n"
                                 "}\n";
    char text[2048], verb[2048];
    snprintf(text, sizeof text, source, scratch);
    slt_write_file(slt_path(scratch, "forever.c", NULL), text, strlen(text), 0644);
    snprintf(verb, sizeof verb, "run %s/forever.c --arg i32=1", scratch);
    const pid_t child = start(line(verb), 0);
    const char *running = slt_path(scratch, "running", NULL);
    for (int i = 0; i < 6000 && access(running, F_OK) != 0; i++) pause_ms(10);
    ck_assert_int_eq(access(running, F_OK), 0);
    ends_by(child, SIGINT);
}
END_TEST

int main(int argc, char **argv) {
    Suite *suite = suite_create("slipway interrupted");
    TCase *tests = tcase_create("interrupted");
    command_use(argc, argv);
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, while_it_compiles);
    tcase_add_test(tests, while_the_compiler_is_asked_what_it_is);
    tcase_add_test(tests, while_it_finds_a_hit);
    tcase_add_test(tests, what_was_ignored_stays_ignored);
    tcase_add_test(tests, while_it_warms);
    tcase_add_test(tests, a_kernel_that_never_ends_is_ended_by_the_first_signal);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
