/* SHA-256 with the SHA instructions of x86: the inner loop of every verified hit.
 *
 * The state is held as the two vectors the instruction wants, ABEF and CDGH. sha256rnds2 does two rounds and its result
 * is needed by the next: 32 of them in a row are all the time one block takes, while the unit could start twice as
 * many. So the second function runs two messages side by side in one loop; the order of the statements is the schedule.
 */
#include "sha256_code.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define SHA_CODE __attribute__((target("sha,sse4.1,ssse3")))
#define SHA_INLINE static inline __attribute__((always_inline, target("sha,sse4.1,ssse3")))

/* The state of one message and the sixteen words of its schedule that are still needed. */
typedef struct lane {
    __m128i abef, cdgh;
    __m128i w0, w1, w2, w3;
} lane;

SHA_INLINE __m128i load(const void *from) {
    return _mm_loadu_si128((const __m128i *) from);
}

SHA_INLINE void store(void *to, __m128i value) {
    _mm_storeu_si128((__m128i *) to, value);
}

/* Sixteen bytes of the message as four big-endian words. */
SHA_INLINE __m128i load_words(const uint8_t *from) {
    return _mm_shuffle_epi8(load(from), _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL));
}

SHA_INLINE void load_block(lane *l, const uint8_t *data) {
    l->w0 = load_words(data);
    l->w1 = load_words(data + 16);
    l->w2 = load_words(data + 32);
    l->w3 = load_words(data + 48);
}

SHA_INLINE void load_state(lane *l, const uint32_t state[8]) {
    __m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
    l->abef = _mm_alignr_epi8(badc, hgfe, 8);
    l->cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
}

SHA_INLINE void store_state(const lane *l, uint32_t state[8]) {
    __m128i feba = _mm_shuffle_epi32(l->abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(l->cdgh, 0xb1);
    store(state, _mm_blend_epi16(feba, dchg, 0xf0));
    store(state + 4, _mm_alignr_epi8(dchg, feba, 8));
}

/* Four rounds with the words w, and the constants from `at`. */
SHA_INLINE void rounds(lane *l, __m128i w, int at) {
    __m128i wk = _mm_add_epi32(w, _mm_load_si128((const __m128i *) (const void *) (slwi_sha256_k + at)));
    l->cdgh = _mm_sha256rnds2_epu32(l->cdgh, l->abef, wk);
    wk = _mm_shuffle_epi32(wk, 0x0e);
    l->abef = _mm_sha256rnds2_epu32(l->abef, l->cdgh, wk);
}

/* The four words that follow w0 to w3 take the place of w0. */
SHA_INLINE __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(sum, w3);
}

SHA_INLINE void first_rounds(lane *l) {
    rounds(l, l->w0, 0);
    rounds(l, l->w1, 4);
    rounds(l, l->w2, 8);
    rounds(l, l->w3, 12);
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
    load_state(&a, state);
    for (; count != 0; count--, data += 64) {
        __m128i abef = a.abef, cdgh = a.cdgh;
        load_block(&a, data);
        first_rounds(&a);
        sixteen_rounds(&a, 16);
        sixteen_rounds(&a, 32);
        sixteen_rounds(&a, 48);
        a.abef = _mm_add_epi32(a.abef, abef);
        a.cdgh = _mm_add_epi32(a.cdgh, cdgh);
    }
    store_state(&a, state);
}

/* The same four rounds of both messages, each half where the other waits. */
SHA_INLINE void two_rounds(lane *a, lane *b, __m128i wa, __m128i wb, int at) {
    __m128i k = _mm_load_si128((const __m128i *) (const void *) (slwi_sha256_k + at));
    wa = _mm_add_epi32(wa, k);
    wb = _mm_add_epi32(wb, k);
    a->cdgh = _mm_sha256rnds2_epu32(a->cdgh, a->abef, wa);
    b->cdgh = _mm_sha256rnds2_epu32(b->cdgh, b->abef, wb);
    wa = _mm_shuffle_epi32(wa, 0x0e);
    wb = _mm_shuffle_epi32(wb, 0x0e);
    a->abef = _mm_sha256rnds2_epu32(a->abef, a->cdgh, wa);
    b->abef = _mm_sha256rnds2_epu32(b->abef, b->cdgh, wb);
}

SHA_INLINE void two_sixteen_rounds(lane *a, lane *b, int at) {
    a->w0 = next_words(a->w0, a->w1, a->w2, a->w3);
    b->w0 = next_words(b->w0, b->w1, b->w2, b->w3);
    two_rounds(a, b, a->w0, b->w0, at);
    a->w1 = next_words(a->w1, a->w2, a->w3, a->w0);
    b->w1 = next_words(b->w1, b->w2, b->w3, b->w0);
    two_rounds(a, b, a->w1, b->w1, at + 4);
    a->w2 = next_words(a->w2, a->w3, a->w0, a->w1);
    b->w2 = next_words(b->w2, b->w3, b->w0, b->w1);
    two_rounds(a, b, a->w2, b->w2, at + 8);
    a->w3 = next_words(a->w3, a->w0, a->w1, a->w2);
    b->w3 = next_words(b->w3, b->w0, b->w1, b->w2);
    two_rounds(a, b, a->w3, b->w3, at + 12);
}

SHA_CODE static void blocks_of_two(uint32_t state_a[8], const uint8_t *data_a, uint32_t state_b[8],
                                   const uint8_t *data_b, size_t count) {
    lane a, b;
    load_state(&a, state_a);
    load_state(&b, state_b);
    for (; count != 0; count--, data_a += 64, data_b += 64) {
        __m128i abef_a = a.abef, cdgh_a = a.cdgh, abef_b = b.abef, cdgh_b = b.cdgh;
        load_block(&a, data_a);
        load_block(&b, data_b);
        two_rounds(&a, &b, a.w0, b.w0, 0);
        two_rounds(&a, &b, a.w1, b.w1, 4);
        two_rounds(&a, &b, a.w2, b.w2, 8);
        two_rounds(&a, &b, a.w3, b.w3, 12);
        two_sixteen_rounds(&a, &b, 16);
        two_sixteen_rounds(&a, &b, 32);
        two_sixteen_rounds(&a, &b, 48);
        a.abef = _mm_add_epi32(a.abef, abef_a);
        a.cdgh = _mm_add_epi32(a.cdgh, cdgh_a);
        b.abef = _mm_add_epi32(b.abef, abef_b);
        b.cdgh = _mm_add_epi32(b.cdgh, cdgh_b);
    }
    store_state(&a, state_a);
    store_state(&b, state_b);
}

static int available(void) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (ebx & (1u << 29)) == 0) return 0; /* SHA */
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
    return (ecx & (1u << 9)) != 0 && (ecx & (1u << 19)) != 0; /* SSSE3, SSE4.1 */
}

const slwi_sha256_code slwi_sha256_x86 = {"x86-sha", available, blocks, blocks_of_two, NULL, NULL, NULL};

#else
typedef int slwi_sha256_x86_is_for_x86; /* a translation unit may not be empty */
#endif
