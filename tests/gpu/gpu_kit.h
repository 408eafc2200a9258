/* What the checks of a real GPU share. A check is a function in a process of its own: the runner starts this program
 * again for each, so that one that crashes, hangs or leaves a dead context behind is one failure and no more. A check
 * ends where it fails; what it has found out stands in its figures either way. */
#ifndef GPU_KIT_H
#define GPU_KIT_H

#include <slipway/slipway.h>

#include "../doubles/double_control.h"

#define GPU_JIT_LOG_BYTES 16384
#define GPU_PATH_BYTES    1024
#define GPU_MAY_SKIP      8
/* Eight bytes that stand in number_smXX.cubin, little-endian; replaced by a number they make another module. */
#define GPU_NUMBER UINT64_C(0x79617770696c7321)

typedef struct gpu {
    const char *library;                /* --driver-library; NULL: the system's */
    const char *kernels;                /* folder of the cubins */
    const char *self;                   /* this program */
    int quick;                          /* fewer repetitions: for trying the script itself */
    const char *may_skip[GPU_MAY_SKIP]; /* checks that may be skipped over a double */
    unsigned may_skip_count;
    void *handle;                  /* the driver's library, for calls beside ours */
    const double_control *control; /* NULL: a real driver */
    slw_device *device;
    slw_device_info info;
    unsigned major, minor; /* compute capability */
    slw_error err;
    char jit_log[GPU_JIT_LOG_BYTES];
} gpu;

typedef struct gpu_check {
    const char *name;
    void (*run)(gpu *g);
    unsigned seconds;   /* after which it hangs */
    int gives_all_back; /* what the driver lent stands at nothing afterwards: a double is asked */
} gpu_check;

/* ---- Ending and figures ------------------------------------------------------------------------------------------ */

void gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* For what a device or a driver cannot do, and the driver itself says so. Over a double, which can do all, it is a
   failure unless --may-skip names the check. */
void gpu_skip(const gpu *g, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void gpu_figure(const char *name, double value);
void gpu_figure_text(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The result of this process, as one line of JSON on the runner's pipe. Once. */
void gpu_report(const char *status, const char *why);
void gpu_report_to(int fd, const char *name);

#define gpu_require(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition)) gpu_fail(__VA_ARGS__);                                                                       \
    } while (0)
#define gpu_ok(g, call)           gpu_expect((g), (call), SLW_OK, NULL, #call)
#define gpu_refused(g, call, ...) gpu_expect((g), (call), __VA_ARGS__, #call)
/* `reason` NULL: any. */
void gpu_expect(gpu *g, slw_code code, slw_code wanted, const char *reason, const char *what);

/* ---- The driver beside us ---------------------------------------------------------------------------------------- */

typedef int cu_result;
/* The address of an exported function of the driver; ends the check when there is none. */
void *gpu_symbol(gpu *g, const char *name);
#define gpu_raw(g, variable, name)                                                                                     \
    do {                                                                                                               \
        void *const found_ = gpu_symbol((g), (name));                                                                  \
        memcpy(&(variable), &found_, sizeof found_);                                                                   \
    } while (0)
typedef cu_result cu_launch_kernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
/* The driver's own word, once it is initialised. */
int gpu_attribute(gpu *g, int attribute);
int gpu_driver_version(gpu *g);
/* NULL: none is. */
void *gpu_current_context(gpu *g);
/* Makes the device's context current, as callers of the raw driver have it. */
void gpu_make_current(gpu *g);

/* ---- The library ------------------------------------------------------------------------------------------------- */

void gpu_device_options(gpu *g, slw_device_options *options);
/* Opens g->device; skips the check where no kernels were compiled for it. */
void gpu_open(gpu *g);
void gpu_close(gpu *g);
/* The architecture whose cubins a device of that major compute capability runs; 0: none was compiled. */
unsigned gpu_compiled_for(unsigned major);
/* Memory that lives as long as the process, and is no leak. */
void *gpu_keep(size_t size);
/* A file of the kernels' folder, kept. */
slw_bytes gpu_file(gpu *g, const char *name);
/* KIND_smXX.cubin for the open device. */
slw_bytes gpu_cubin(gpu *g, const char *kind);
/* The same for another architecture, by its number. */
slw_bytes gpu_cubin_of(gpu *g, const char *kind, unsigned target);
/* A copy with another number in it. */
slw_bytes gpu_numbered(gpu *g, slw_bytes cubin, uint64_t number);
slw_hydrated *gpu_hydrate(gpu *g, slw_bytes image);
slw_device_loaded *gpu_load(gpu *g, slw_device *device, slw_bytes image);
/* The loaded one stays the caller's. */
slw_launchable *gpu_make(gpu *g, const slw_device_loaded *loaded, const slw_launch_shape *shape);
slw_launchable *gpu_make_plain(gpu *g, const slw_device_loaded *loaded, const char *entry, uint32_t threads);
slw_launch_shape gpu_shape(const char *entry, uint32_t threads);
slw_code gpu_try_launch(gpu *g, const slw_launchable *launchable, uint32_t blocks, slw_stream stream, uint32_t count,
                        void *const *values);
slw_device_counts gpu_counts(gpu *g);
slw_device_address gpu_zeros(gpu *g, slw_device *device, size_t size);
uint64_t gpu_read(gpu *g, slw_device *device, slw_device_address from);
/* `first` over so many blocks, and its sum compared. */
void gpu_prove(gpu *g, slw_device *device, const slw_launchable *first, uint32_t blocks);

/* What a forked child of a program with a context, and without this library, dies of when it calls exit; 0: of nothing.
   Before anything was initialised. */
int gpu_signal_at_raw_exit(gpu *g);

uint64_t gpu_now_ns(void);
const char *gpu_directory(void); /* a fresh one, removed at the end of the process */

#endif
