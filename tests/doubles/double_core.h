/* What both doubles are made of: one lock, the gate every call passes, rules, log, objects, memory, streams. Inside a
   call the lock is held; bodies run under it and wait with double_wait. */
#ifndef DOUBLE_CORE_H
#define DOUBLE_CORE_H

#include "double_control.h"

#define DOUBLE_API __attribute__((visibility("default")))
#define DOUBLE_GO  (-1)

/* ---- What a double brings ---- */

typedef struct double_entry {
    const char *name;
    unsigned flags;
} double_entry;
#define DOUBLE_FREE 1u /* may come before initialisation */
#define DOUBLE_ACTS 2u /* an injected code is answered after the work: the call gives something back */

typedef struct double_hooks {
    const double_entry *entries;
    unsigned entry_count;
    const long *defaults;       /* of the settings */
    int (*gate)(unsigned call); /* DOUBLE_GO or what the state of the process answers */
    void (*reset)(void);
    int (*hidden)(const char *name); /* by version */
    void (*outstanding)(void (*say)(const char *format, ...));
    void (*lose_context)(int device);
    void (*let_go)(void); /* runs all work that waited */
    long (*get)(double_setting setting);
} double_hooks;
extern const double_hooks double_hooks_of;

/* ---- Calls ---- */

int double_begin(unsigned call);
int double_end(unsigned call, int code);
#define DOUBLE_CALL(call, body)                                                                                        \
    do {                                                                                                               \
        int code_ = double_begin(call);                                                                                \
        if (code_ == DOUBLE_GO) code_ = (body);                                                                        \
        return double_end(call, code_);                                                                                \
    } while (0)

extern long double_settings[DOUBLE_SETTINGS];
extern double_extras double_last;       /* of the last launch */
void double_start_helper(void);         /* before an initialising call, when the test wants one */
int double_is_hidden(const char *name); /* by the test's word only */
void double_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
void double_wait(void); /* until something changed; gives the lock away meanwhile */
void double_changed(void);
void double_mark_process(void);          /* when the library is initialised */
int double_in_child(void);               /* 1 in a child of the process that did that */
int double_is_over(void);                /* 1 after the exit handler that it installed */
int double_captures(const void *stream); /* as DOUBLE_CAPTURING_STREAM says */
int double_break_capture(int code);      /* counts it; the code */

/* Per thread, reset with the library. */
typedef struct double_thread {
    uint64_t number;
    int injected; /* code to answer at the end of an acting call; DOUBLE_GO: none */
    int pushes;
    int depth;
    void *stack[32];
    int capture_mode;
    int device; /* hip */
    int last_error;
} double_thread;
double_thread *double_self(void);

/* ---- Objects: handles that can be told from any other pointer, never used twice ---- */

typedef struct double_object {
    uint32_t kind;
    uint32_t alive;
} double_object;
#define DOUBLE_OBJECT_SIZE 768u
void *double_object_new(uint32_t kind);
/* 1 alive, 0 no such thing, -1 gone. */
int double_object_state(const void *handle, uint32_t kind);
void double_objects_each(uint32_t kind, void (*job)(void *object, void *context), void *context); /* the living */
unsigned double_objects_count(uint32_t kind);

/* ---- Memory ---- */

typedef struct double_block {
    unsigned char *base;
    uint64_t size;
    void *owner;  /* context or device */
    void *module; /* of a global; NULL: allocated by the caller */
} double_block;
uint64_t double_memory_alloc(uint64_t size, void *owner, void *module); /* zeroed; 0 when there is none */
int double_memory_free(uint64_t address);                               /* 0: not an allocation's start */
int double_memory_holds(uint64_t address, uint64_t size);
void double_memory_drop(void *owner, void *module); /* all of an owner (NULL: any), all of a module (NULL: any) */
void double_memory_each(void (*job)(const double_block *block, void *context), void *context);
/* Copies what can be read at an address, without a fault: how many bytes could. */
size_t double_read(const void *from, void *to, size_t size);

/* ---- Streams and work ---- */

typedef struct double_launch {
    const char *kernel;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    unsigned count;
    const uint32_t *sizes;
    void **values; /* the queue's own copies */
} double_launch;

typedef struct double_work double_work;
struct double_work {
    double_work *next;
    void *module;                 /* of a kernel */
    unsigned *pending;            /* of an event: counts down */
    void (*fault)(void *context); /* where the kernel used memory that is none */
    void *context;
    double_launch launch;
    uint32_t *sizes; /* of launch, its own */
    char *kernel;
};
typedef struct double_queue {
    double_work *first, *last;
} double_queue;

/* Copies the values, runs now or, while work is held, later. 0 without memory. */
int double_queue_kernel(double_queue *queue, const double_launch *launch, void *module, void (*fault)(void *),
                        void *context);
int double_queue_event(double_queue *queue, unsigned *pending);
void double_queue_run(double_queue *queue); /* all of it */
void double_queue_drop(double_queue *queue);
int double_queue_uses(const double_queue *queue, const void *module);
/* 0, or -1 where a pointer leads outside the device's memory. */
int double_kernel_run(const double_launch *launch);

#endif
