/* A driver that runs nothing: it keeps state, not answers, and can be told to fail. For tests of the table of modules
 * and of lifecycle; never in the library.
 *
 *     slt_null null;
 *     slt_null_init(&null);
 *     slw_device_options options = SLW_DEVICE_OPTIONS_INIT;
 *     slt_null_use(&null, &options);
 *
 * All fields may be read and the script's set at any time, from any thread. What must never happen is counted in
 * `violations` and said in `violation`: an unknown or already unloaded module, a function of one, a close with modules
 * loaded, a driver call with wrong arguments. */
#ifndef SLT_NULL_DRIVER_H
#define SLT_NULL_DRIVER_H

#include <slipway/sys/driver_impl.h>

#include <stdatomic.h>

/* What a call answers: `code` for the next `times` calls (-1: for ever), then OK. */
typedef struct slt_null_script {
    atomic_int code;
    atomic_int times;
} slt_null_script;

typedef struct slt_null {
    /* The script. */
    slt_null_script open, load, function, prepare, launch, alloc, copy, stream, wait;
    atomic_int at_fault; /* reported by failing loads */
    atomic_uint more_registers; /* measured of a function beyond its contract's */
    atomic_uint load_delay_ms;
    atomic_uint unload_delay_ms;
    slw_device_info info; /* what open reports; slt_null_init fills in a small GPU of target "null" */

    /* What was called. */
    atomic_uint opens, closes, forked_closes;
    atomic_uint loads, failed_loads, unloads, forked_unloads;
    atomic_uint functions, prepares, launches, globals, waits, synchronizes;
    atomic_uint allocations, frees, streams_made, streams_gone;
    atomic_uint modules_now;

    /* The last launch, for tests with one thread. */
    slw_driver_launch last_launch;
    void *last_function;

    atomic_uint violations;
    char violation[128]; /* the first */
} slt_null;

void slt_null_init(slt_null *null);
/* Points the options at this driver: kind "null". */
void slt_null_use(slt_null *null, slw_device_options *options);
void slt_null_fail(slt_null_script *script, slw_code code, int times);
extern const slw_driver_vtable slt_null_driver;

#endif
