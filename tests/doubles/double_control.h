/* How a test holds the reins of a double of a vendor's driver library.
 *
 *     const double_control *control = double_control_find(handle);   // a handle that dlopen gave
 *
 * A double keeps state, not answers: it refuses what the real library refuses, with the real code, and writes down as a
 * violation what the real one would punish later or not at all. Everything here may be called from any thread. */
#ifndef DOUBLE_CONTROL_H
#define DOUBLE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

typedef enum double_setting {
    DOUBLE_STRICT,         /* 1: abort at the first violation */
    DOUBLE_DRIVER_VERSION, /* cuda: 13000; hip: the runtime's, 60300000 */
    DOUBLE_STUB,           /* cuda: 1: every call answers 34 and writes nothing */
    DOUBLE_DEVICES,        /* how many of the two devices are there; 0: no device */
    DOUBLE_SECOND_DEVICE,  /* what device 1 is. cuda: 75, or 80; hip: 0x90a, or another gfx number in hex digits */
    DOUBLE_COMPUTE_MODE,   /* 0 default, 2 prohibited, 3 exclusive process */
    DOUBLE_LAZY,           /* cuda: 1: kernels are loaded at first use */
    DOUBLE_HOLD,           /* 1: launched work waits; 0 lets go of all that waits */
    DOUBLE_STICKY_AFTER,   /* the launch (counted from 1) that kills its context; 0: none */
    DOUBLE_STICKY_CODE,    /* what a killed context answers: 700 */
    DOUBLE_TORN_DOWN,      /* 1: as after the driver's own exit handler: every call answers 4 */
    DOUBLE_CAPTURE,        /* cuda: 1: another thread captures a stream, globally */
    DOUBLE_NO_JIT,         /* cuda: 1: compiling PTX is disabled (223) */
    DOUBLE_INIT_FORKS, /* 1: initialising starts a helper program, as a real one does to have its device nodes made */
    /* The stream (its handle as a number) that captures: what is launched on it is recorded and does not run, and what
       asks or waits for it ends the capture. 0: none. */
    DOUBLE_CAPTURING_STREAM,
    DOUBLE_MORE_REGISTERS,  /* what functions of modules loaded from now on have beyond what the image says */
    DOUBLE_MORE_LOCAL,      /* bytes */
    DOUBLE_MORE_SHARED,     /* static bytes */
    DOUBLE_FEWER_THREADS,   /* the most threads of a block; 0: as the image says */
    DOUBLE_COUNT_LAUNCHES,  /* read only, and those below */
    DOUBLE_CAPTURES_BROKEN, /* calls that would have ended a capture, of either kind */
    DOUBLE_INITIALIZED,
    DOUBLE_LIVE_MODULES,
    DOUBLE_LIVE_MEMORY,     /* allocations */
    DOUBLE_DELAYED_AT_ONCE, /* the most calls that waited out their delay at one time */
    DOUBLE_SETTINGS
} double_setting;

/* One call that a test can look back at, in the order in which the calls ended. */
typedef struct double_call {
    uint64_t order;
    uint64_t thread;  /* equal for calls of one thread */
    const char *name; /* without _v2 and the like; lives as long as the library */
    int code;
} double_call;

/* What the last launch asked for beside its shape. */
#define DOUBLE_ATTRIBUTES 8
typedef struct double_extras {
    unsigned count; /* of launch attributes */
    int ids[DOUBLE_ATTRIBUTES];
    int cooperative;
    int programmatic; /* the value; -1: not given */
    unsigned cluster[3];
} double_extras;

typedef struct double_control {
    uint32_t size;
    /* As just loaded: nothing initialised, no rule, no log, no violation, settings as they come. Frees what is left. */
    void (*reset)(void);
    void (*set)(double_setting setting, long value);
    long (*get)(double_setting setting);

    /* The call of that name answers `code`, from the nth on that comes now (1 = the next), `times` times. Calls that
       give something back do so before they answer: a real one tells somebody else's error there. 0: no such call. */
    int (*inject)(const char *name, unsigned nth, int code, unsigned times);
    /* How often an injected code was given since the last `inject` of any name. */
    unsigned (*failed)(void);
    /* Every call of that name takes so much longer, with nothing locked. */
    int (*delay)(const char *name, unsigned microseconds);
    /* The library has no such symbol: for the loader, and for the library's own search. */
    void (*hide)(const char *name);
    /* 1 when the loader must not find that exported name: hidden, or of a newer version than the driver's. */
    int (*hidden)(const char *name);

    unsigned (*call_names)(void); /* names a test can fail, by index */
    const char *(*call_name)(unsigned index);

    void (*log_clear)(void);
    unsigned (*count)(const char *name); /* calls since the log was cleared; NULL: all */
    unsigned (*log_size)(void);          /* kept ones: the first 65,536 */
    int (*log_at)(unsigned index, double_call *out);

    unsigned (*violations)(void);
    const char *(*violation)(unsigned index); /* the first 64 are kept; "" past the end */
    void (*forgive)(void);                    /* forgets the violations */
    /* What the caller has taken and not given back, one line each; how many. */
    unsigned (*outstanding)(char *text, size_t text_size);

    void (*last_launch)(double_extras *out);
    /* The library's own exit handler writes to that file how many calls came since the log was cleared, and then every
       call that comes after it, a line each. Every such call is a violation too. NULL: no file. */
    void (*write_exit)(const char *path);

    /* 1 when every byte lies in one allocation or module global of a device. */
    int (*is_memory)(uint64_t address, uint64_t size_bytes);
    /* For the thread that calls: pushes without pop, and 0 when its capture mode is as it was. */
    int (*thread_balance)(void);
    /* cuda: resets a device's primary context as if another part of the program had done so. */
    void (*lose_context)(int device);
} double_control;

/* Exported by both doubles. */
const double_control *double_control_get(void);

/* What the generic kernel writes to its first pointer argument: FNV-1a over parameters 1 and up (as the binary counts
   them), grid, block and dynamic shared bytes. */
static inline uint64_t double_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}
static inline uint64_t double_checksum(void *const *params, const uint32_t *sizes, unsigned count,
                                       const uint32_t grid[3], const uint32_t block[3], uint32_t shared) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (unsigned i = 1; i < count; i++) hash = double_hash(hash, params[i], sizes[i]);
    hash = double_hash(hash, grid, 3 * sizeof grid[0]);
    hash = double_hash(hash, block, 3 * sizeof block[0]);
    return double_hash(hash, &shared, sizeof shared);
}

#endif
