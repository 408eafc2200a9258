/* What every fuzz target shares: promises that end the process, an allocator that fails on request and knows what is alive,
 * and a few files in memory in place of the system's.
 *
 * A target defines LLVMFuzzerTestOneInput. It is linked with libFuzzer, or with replay_main.c (a corpus),
 * mutate_main.c (mutations of fixtures) or afl_main.c (AFL++). */
#ifndef SLIPWAY_FUZZ_H
#define SLIPWAY_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include <slipway/slipway.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise of the library: says which and aborts, so that libFuzzer keeps the input. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *promise, const char *file, int line);

/* How many times a reader accepted what it was given; and the number of the mutation that is tried, told with a broken promise. */
extern uint64_t fuzz_accepted;
extern uint64_t fuzz_mutation;

/* Memory straight from malloc, so that the sanitizers see every block as it is. */
typedef struct fuzz_heap {
    slw_allocator allocator;
    uint64_t calls;
    uint64_t fail_at; /* the n-th call fails, from 1; 0: none */
    uint64_t failed;
    int64_t live;
} fuzz_heap;
void fuzz_heap_begin(fuzz_heap *heap, uint64_t fail_at);
void fuzz_heap_end(fuzz_heap *heap); /* requires that nothing is alive */

/* A number that depends on the whole input: picks the allocation that fails, so that no byte of the format is spent on it. */
uint64_t fuzz_pick(const uint8_t *data, size_t size, uint64_t below);

/* Set by replay_main.c: every allocation of an input fails in turn (the first FUZZ_FAULTS_MAX of them), not one of them. */
extern int fuzz_every_fault; /* 1: every allocation, 0: one of them, -1: none */
#define FUZZ_FAULTS_MAX 48u
/* The faults to try, of `calls` allocations: from *first, how many. */
uint64_t fuzz_faults(const uint8_t *data, size_t size, uint64_t calls, uint64_t *first);

/* Runs `once` without a fault, then with one allocation of those it made failing. `once` gives the code of the call under
   attack; with the fault it must be NO_MEMORY or what it was before (a failure that is only worse luck may be passed over). */
typedef slw_code (*fuzz_once)(const slw_allocator *allocator, const uint8_t *data, size_t size);
slw_code fuzz_with_fault(fuzz_once once, const uint8_t *data, size_t size);

/* A refusal says what and why, and never points past the text. */
void fuzz_check_refusal(slw_code code, const slw_error *err, size_t text_size);

/* ---- files in memory ---- */

typedef struct fuzz_file {
    const char *path; /* absolute, resolved */
    const uint8_t *data;
    size_t size;
} fuzz_file;

/* Until fuzz_os_end the library sees these files, the directories above them, and nothing else. What it writes is kept in
   memory as files of the same kind. `count` is 16 at most. */
void fuzz_os_begin(const fuzz_file *files, size_t count);
/* The file as it is now; size 0 and data NULL when there is none. Valid until fuzz_os_end. */
fuzz_file fuzz_os_file(const char *path);
void fuzz_os_end(void); /* requires that no descriptor is open */

#endif
