/* A CUDA toolkit that is none: programs that answer as CUDA 13.0's do, with libdevice, headers and a profile, in a
 * directory of the test's own. It drives the real C++ compiler of this machine, for its include directories. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "cuda_fixture.h"

static char fake_program[512]; /* compiled in main, once */

/* 1 when it was made; else the reason was printed. For main. */
CUDA_UNUSED static int fake_prepare(const char *suite) {
    char command[2048];
    const char *base = getenv("TMPDIR");
    if (access("/usr/bin/g++", X_OK) != 0 && access("/usr/bin/c++", X_OK) != 0) {
        slt_skip(suite, "there is no C++ compiler");
        return 0;
    }
    (void)snprintf(fake_program, sizeof(fake_program), "%s/slipway-fake-XXXXXX", base != NULL ? base : "/tmp");
    const int fd = mkstemp(fake_program);
    if (fd < 0) return 0;
    (void)close(fd);
    (void)snprintf(command, sizeof(command), "cc -o '%s' '%s' && chmod 755 '%s'", fake_program,
                   "tests/fixtures/cu/fake_tool.c", fake_program);
    if (system(command) == 0) return 1;
    slt_skip(suite, "there is no C compiler");
    (void)unlink(fake_program);
    return 0;
}

/* The directory of a fresh toolkit, with every link followed. */
CUDA_UNUSED static const char *fake_toolkit(void) {
    static const char *const programs[] = {"bin/nvcc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary", "nvvm/bin/cicc"};
    static char top[4096];
    const char *scratch = slt_scratch();
    ck_assert_ptr_nonnull(realpath(scratch, top));
    slt_shell("cd '%s' && mkdir -p bin nvvm/bin nvvm/libdevice lib targets/x86_64-linux/include/cccl answers", top);
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        slt_shell("cp '%s' '%s/%s'", fake_program, top, programs[i]);
    slt_shell("cp '%s'/*.txt '%s/answers'", slt_fixture("cu/answers"), top);
    slt_shell("cp '%s' '%s/answers/kernel.ptx'", slt_fixture("ptx/k1_90.ptx"), top);
    slt_shell("cp '%s' '%s/answers/kernel.cubin'", slt_fixture("cubin/k1_sm90.cubin"), top);
    slt_shell(
        "cd '%s' && echo bitcode >nvvm/libdevice/libdevice.10.bc && echo 'TOP = $(_HERE_)/..' >bin/nvcc.profile && "
        "echo '/* runtime */' >targets/x86_64-linux/include/cuda_runtime.h && "
        "echo '/* cccl */' >targets/x86_64-linux/include/cccl/atomic",
        top);
    return top;
}

/* With the compiler of a toolkit. */
CUDA_UNUSED static slw_code fake_open_compiler(cuda_world *w, const char *top, const char *tool) {
    return cuda_open_compiler(w, slt_path(top, "bin", tool, NULL), NULL);
}

static const char fake_source[] = "__global__ void add_f32(int *p) { *p = 1; }\n";

#endif
