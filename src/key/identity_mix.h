/* A quick 64-bit mix of bytes, for tables in memory and for noticing damage in the memo: not a digest, it proves
   nothing to anybody who chose the bytes. Any change inside one 8-byte word changes the result. Native byte order. */
#ifndef SLWI_IDENTITY_MIX_H
#define SLWI_IDENTITY_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t slwi_mix_word(uint64_t state, uint64_t word) {
    state = (state ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return state ^ (state >> 32);
}

static inline uint64_t slwi_mix(uint64_t seed, const void *data, size_t size) {
    const unsigned char *at = data;
    uint64_t state = slwi_mix_word(seed ^ UINT64_C(0x9e3779b97f4a7c15), size);
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        state = slwi_mix_word(state, word);
    }
    word = 0;
    if (size > 0) memcpy(&word, at, size);
    return slwi_mix_word(state, word);
}

#endif
