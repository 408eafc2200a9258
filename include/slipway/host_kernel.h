/* Kernels for the `host` driver: the one header a host kernel includes.  It stands alone (nothing of slipway's is
 * needed beside it), is plain C11, and asks for gcc or clang and ELF.
 *
 *     #include <slipway/host_kernel.h>
 *
 *     SLW_HOST_KERNEL(scale, SLW_HOST_PARAM(float *, values), SLW_HOST_PARAM(uint32_t, count),
 *                     SLW_HOST_PARAM(float, factor));
 *
 *     void scale(const slw_host_block *block, void *const *args) {
 *         float *const values = SLW_HOST_ARG(float *, args, 0);
 *         const uint32_t count = SLW_HOST_ARG(uint32_t, args, 1);
 *         const float factor = SLW_HOST_ARG(float, args, 2);
 *         for (uint32_t thread = 0; thread < block->block[0]; thread++) {
 *             const uint64_t i = (uint64_t)block->index[0] * block->block[0] + thread;
 *             if (i < count) values[i] *= factor;
 *         }
 *     }
 *
 * A kernel is called once for every block of the grid, by several threads of a pool at once and in no order: blocks
 * must not depend on one another, and what two blocks write to must be written with atomics.  The threads of a block
 * are loops inside the kernel, so what stands between two loops is what a barrier is on a GPU.  A kernel returns
 * normally (no longjmp, no exit) and never launches another: that is SLW_E_USAGE. */
#ifndef SLIPWAY_HOST_KERNEL_H
#define SLIPWAY_HOST_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel is told about its block.  `size` comes first and is sizeof(slw_host_block) of the driver: fields are
 * only ever added at the end, so a kernel that wants a newer field compares `size` with the end of that field before it
 * reads it, and everything listed here is always there.  The structure is the driver's, valid during the call; only
 * what `shared` points to may be written. */
typedef struct slw_host_block {
    uint32_t size;
    uint32_t grid[3];      /* blocks, x y z */
    uint32_t block[3];     /* threads of this block, x y z */
    uint32_t index[3];     /* which block this is: index[i] < grid[i] */
    void *shared;          /* this block's scratch, aligned to 64 bytes; undefined at the start, as on a GPU */
    uint32_t shared_bytes; /* static + dynamic; not one byte more may be touched */
    uint32_t reserved;     /* 0 */
} slw_host_block;

/* args[i] points to the value of parameter i, which is correctly aligned for its type and must not be written. */
typedef void slw_host_kernel(const slw_host_block *block, void *const *args);

/* ---- What SLW_HOST_KERNEL writes into the binary --------------------------------------------------------------------
 *
 * Section ".slipway.kernels" (SHT_PROGBITS, SHF_ALLOC, alignment 64) of the shared object holds one record for each
 * kernel, without gaps, in no particular order.  A record holds no pointer and no relocation, so that it is read from
 * the file without loading it.  Numbers have the byte order and width below; every byte not named is 0, and a reader
 * refuses others.
 *
 *     offset  size  field
 *          0     4  version              SLW_HOST_KERNEL_VERSION (1). Another version: read nothing but `record_bytes`.
 *          4     4  record_bytes         256 + 64 * param_count, the distance to the next record
 *          8     4  static_shared_bytes  a multiple of 16
 *         12     4  param_count
 *         16   128  name                 of the kernel and of its exported function; at least one NUL at the end
 *        144   112  0
 *        256    64  parameter 0, then 1, …
 *
 *     a parameter, from its own start
 *          0    32  name                 at least one NUL at the end
 *         32     4  size_bytes           sizeof
 *         36     4  alignment_bytes      _Alignof, a power of two
 *         40     4  kind                 SLW_HOST_POINTER … SLW_HOST_STRUCT, the numbers of slw_param_kind
 *         44    20  0
 *
 * The section is a multiple of 64 bytes. */
#define SLW_HOST_KERNEL_VERSION 1u
#define SLW_HOST_KERNEL_SECTION ".slipway.kernels"
#define SLW_HOST_KERNEL_NAME_BYTES 128u /* with the NUL */
#define SLW_HOST_PARAM_NAME_BYTES 32u   /* with the NUL */

#define SLW_HOST_POINTER 1u
#define SLW_HOST_SIGNED 2u
#define SLW_HOST_UNSIGNED 3u
#define SLW_HOST_FLOAT 4u
#define SLW_HOST_STRUCT 5u /* also unions, complex numbers and vectors: bytes that are passed as they are */

typedef struct slw_host_param_record {
    char name[SLW_HOST_PARAM_NAME_BYTES];
    uint32_t size_bytes;
    uint32_t alignment_bytes;
    uint32_t kind;
    uint32_t reserved[5];
} slw_host_param_record;

typedef struct slw_host_kernel_record {
    uint32_t version;
    uint32_t record_bytes;
    uint32_t static_shared_bytes;
    uint32_t param_count;
    char name[SLW_HOST_KERNEL_NAME_BYTES];
    uint32_t reserved[12];
    slw_host_param_record none; /* zero; it is there so that the list of parameters may be empty. Parameters follow. */
} slw_host_kernel_record;

#ifdef __cplusplus
}
#else

_Static_assert(sizeof(slw_host_param_record) == 64, "the layout above");
_Static_assert(sizeof(slw_host_kernel_record) == 256, "the layout above");
_Static_assert(offsetof(slw_host_kernel_record, name) == 16, "the layout above");

/* ---- Declaring a kernel ------------------------------------------------------------------------------------------ */

/* SLW_HOST_KERNEL(NAME, parameters…);            a kernel without static shared memory
 * SLW_HOST_KERNEL_SHARED(NAME, BYTES, parameters…);  with BYTES of it, rounded up to 16
 *
 * Declares `void NAME(const slw_host_block *, void *const *)` (exported whatever -fvisibility says), so put it before
 * the definition, at file scope, once for each kernel.  Each parameter is SLW_HOST_PARAM(type, name), in the order of
 * `args`; there may be none, and at most 64 (SLW_LIMIT_PARAMETERS). */
#define SLW_HOST_KERNEL(...) SLW_HOST_KERNEL_SPLIT_(__VA_ARGS__, )
#define SLW_HOST_KERNEL_SHARED(...) SLW_HOST_KERNEL_RECORD_(__VA_ARGS__, )

/* `type` is a complete object type written so that `type *` is a pointer to it: for a pointer to an array or to a
 * function, and for a type with a comma in it, use a typedef. */
#define SLW_HOST_PARAM(type, name)                                                                                 \
    {                                                                                                              \
        #name, (uint32_t)(sizeof(type) + 0u * sizeof(char[sizeof(#name) <= SLW_HOST_PARAM_NAME_BYTES ? 1 : -1])),  \
            (uint32_t)_Alignof(type), SLW_HOST_KIND_(type), {0, 0, 0, 0, 0}                                        \
    }

/* The value of argument `index`, of exactly the declared type. */
#define SLW_HOST_ARG(type, args, index) (*(type const *)(args)[index])

/* Where dynamic shared memory begins in a kernel with BYTES of static shared memory (aligned to 16 bytes), and how much
 * of it this launch has. */
#define SLW_HOST_SHARED_DYNAMIC(block, BYTES) ((void *)((char *)(block)->shared + SLW_HOST_ROUND_(BYTES)))
#define SLW_HOST_SHARED_DYNAMIC_BYTES(block, BYTES) ((block)->shared_bytes - SLW_HOST_ROUND_(BYTES))

/* ---- How it is done ---------------------------------------------------------------------------------------------- */

#define SLW_HOST_ROUND_(BYTES) (((uint32_t)(BYTES) + 15u) & ~15u)

/* The default branch sees what C11 has no type name for: pointers (class 5), other floats (class 8), structures. */
#define SLW_HOST_KIND_(type)                                                                                       \
    _Generic(*(type *)0,                                                                                           \
        _Bool: SLW_HOST_UNSIGNED,                                                                                  \
        char: ((char)-1 < 0 ? SLW_HOST_SIGNED : SLW_HOST_UNSIGNED),                                                \
        signed char: SLW_HOST_SIGNED,                                                                              \
        short: SLW_HOST_SIGNED,                                                                                    \
        int: SLW_HOST_SIGNED,                                                                                      \
        long: SLW_HOST_SIGNED,                                                                                     \
        long long: SLW_HOST_SIGNED,                                                                                \
        unsigned char: SLW_HOST_UNSIGNED,                                                                          \
        unsigned short: SLW_HOST_UNSIGNED,                                                                         \
        unsigned int: SLW_HOST_UNSIGNED,                                                                           \
        unsigned long: SLW_HOST_UNSIGNED,                                                                          \
        unsigned long long: SLW_HOST_UNSIGNED,                                                                     \
        float: SLW_HOST_FLOAT,                                                                                     \
        double: SLW_HOST_FLOAT,                                                                                    \
        long double: SLW_HOST_FLOAT,                                                                               \
        default: (__builtin_classify_type(*(type *)0) == 5   ? SLW_HOST_POINTER                                    \
                  : __builtin_classify_type(*(type *)0) == 8 ? SLW_HOST_FLOAT                                      \
                                                             : SLW_HOST_STRUCT))

/* `retain` keeps the record through --gc-sections; where it is unknown, the record's exported symbol does. Clang's
 * address
   sanitizer would put red zones between the records. */
#if defined(__clang__)
#define SLW_HOST_PLAIN_ __attribute__((no_sanitize("address")))
#else
#define SLW_HOST_PLAIN_
#endif
#if defined(__has_attribute)
#if __has_attribute(retain)
#define SLW_HOST_RETAIN_ __attribute__((retain))
#endif
#endif
#ifndef SLW_HOST_RETAIN_
#define SLW_HOST_RETAIN_
#endif

/* Every call ends in an empty argument: the list may be empty, and the comma before it closes the initializer. */
#define SLW_HOST_KERNEL_SPLIT_(NAME, ...) SLW_HOST_KERNEL_RECORD_(NAME, 0, __VA_ARGS__)
#define SLW_HOST_PARAM_COUNT_(...)                                                                                 \
    (sizeof((const slw_host_param_record[]){{"", 0, 0, 0, {0, 0, 0, 0, 0}}, __VA_ARGS__}) /                        \
         sizeof(slw_host_param_record) -                                                                           \
     1u)

#if defined(__ELF__)
#define SLW_HOST_KERNEL_RECORD_(NAME, BYTES, ...)                                                                  \
    __attribute__((visibility("default"))) extern void NAME(const slw_host_block *, void *const *);                \
    _Static_assert(sizeof(#NAME) <= SLW_HOST_KERNEL_NAME_BYTES, "the name of a host kernel has at most 127 bytes"); \
    struct slw_host_kernel_of_##NAME {                                                                             \
        uint32_t head[4];                                                                                          \
        char name[SLW_HOST_KERNEL_NAME_BYTES];                                                                     \
        uint32_t reserved[12];                                                                                     \
        slw_host_param_record params[SLW_HOST_PARAM_COUNT_(__VA_ARGS__) + 1u];                                     \
    };                                                                                                             \
    __attribute__((visibility("default"))) extern const struct slw_host_kernel_of_##NAME slw_host_kernel_of_##NAME; \
    __attribute__((section(SLW_HOST_KERNEL_SECTION), used, aligned(64))) SLW_HOST_RETAIN_ SLW_HOST_PLAIN_          \
    const struct slw_host_kernel_of_##NAME slw_host_kernel_of_##NAME = {                                           \
        {SLW_HOST_KERNEL_VERSION, (uint32_t)sizeof(struct slw_host_kernel_of_##NAME), SLW_HOST_ROUND_(BYTES),      \
         (uint32_t)SLW_HOST_PARAM_COUNT_(__VA_ARGS__)},                                                            \
        #NAME,                                                                                                     \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},                                                                      \
        {{"", 0, 0, 0, {0, 0, 0, 0, 0}}, __VA_ARGS__}}
#else
#define SLW_HOST_KERNEL_RECORD_(NAME, BYTES, ...) _Static_assert(0, "host kernels are ELF shared objects")
#endif

#endif /* __cplusplus */
#endif
