/* SHA-256 with the cryptographic instructions of ARMv8. */
#include "sha256_code.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__clang__)
#define SHA_CODE __attribute__((target("sha2")))
#define SHA_INLINE static inline __attribute__((always_inline, target("sha2")))
#else
#define SHA_CODE __attribute__((target("+crypto")))
#define SHA_INLINE static inline __attribute__((always_inline, target("+crypto")))
#endif

typedef struct lane {
    uint32x4_t abcd, efgh;
    uint32x4_t w0, w1, w2, w3;
} lane;

/* Sixteen bytes of the message as four big-endian words. */
SHA_INLINE uint32x4_t load_words(const uint8_t *from) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(from)));
}

/* Four rounds with the words w, and the constants from `at`. */
SHA_INLINE void rounds(lane *l, uint32x4_t w, int at) {
    uint32x4_t wk = vaddq_u32(w, vld1q_u32(slwi_sha256_k + at));
    uint32x4_t abcd = l->abcd;
    l->abcd = vsha256hq_u32(abcd, l->efgh, wk);
    l->efgh = vsha256h2q_u32(l->efgh, abcd, wk);
}

/* The four words that follow w0 to w3. */
SHA_INLINE uint32x4_t next_words(uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3) {
    return vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

SHA_INLINE void sixteen_rounds(lane *l, int at) {
    l->w0 = next_words(l->w0, l->w1, l->w2, l->w3);
    rounds(l, l->w0, at);
    l->w1 = next_words(l->w1, l->w2, l->w3, l->w0);
    rounds(l, l->w1, at + 4);
    l->w2 = next_words(l->w2, l->w3, l->w0, l->w1);
    rounds(l, l->w2, at + 8);
    l->w3 = next_words(l->w3, l->w0, l->w1, l->w2);
    rounds(l, l->w3, at + 12);
}

SHA_CODE static void blocks(uint32_t state[8], const uint8_t *data, size_t count) {
    lane a;
    a.abcd = vld1q_u32(state);
    a.efgh = vld1q_u32(state + 4);
    for (; count != 0; count--, data += 64) {
        uint32x4_t abcd = a.abcd, efgh = a.efgh;
        a.w0 = load_words(data);
        a.w1 = load_words(data + 16);
        a.w2 = load_words(data + 32);
        a.w3 = load_words(data + 48);
        rounds(&a, a.w0, 0);
        rounds(&a, a.w1, 4);
        rounds(&a, a.w2, 8);
        rounds(&a, a.w3, 12);
        sixteen_rounds(&a, 16);
        sixteen_rounds(&a, 32);
        sixteen_rounds(&a, 48);
        a.abcd = vaddq_u32(a.abcd, abcd);
        a.efgh = vaddq_u32(a.efgh, efgh);
    }
    vst1q_u32(state, a.abcd);
    vst1q_u32(state + 4, a.efgh);
}

static int available(void) {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & (1ul << 6)) != 0; /* HWCAP_SHA2 */
#elif defined(__APPLE__)
    return 1; /* every 64-bit ARM machine of theirs */
#else
    return 0;
#endif
}

const slwi_sha256_code slwi_sha256_arm = {"armv8-sha2", available, blocks, NULL, NULL, NULL, NULL};

#else
typedef int slwi_sha256_arm_is_for_aarch64; /* a translation unit may not be empty */
#endif
