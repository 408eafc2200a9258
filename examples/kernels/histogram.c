/* histogram: counts how often each byte value occurs.
 *
 *   n       uint64_t         how many values
 *   values  const uint8_t *  n of them
 *   bins    uint64_t *       256 counts, added to (clear them first)
 *
 * Shape: a block of any size along x, any number of blocks: they share the values evenly.
 * Shared memory: 1,024 bytes static, the block's own 256 counts.
 *
 * Blocks run at once, so each counts for itself and adds its counts to the common ones atomically, 256 times a block
 * instead of once for each value.  The result is exact whatever the order. */
#include <slipway/host_kernel.h>

#define BINS 256u

SLW_HOST_KERNEL_SHARED(histogram, BINS * sizeof(uint32_t), SLW_HOST_PARAM(uint64_t, n),
                       SLW_HOST_PARAM(const uint8_t *, values), SLW_HOST_PARAM(uint64_t *, bins));

/* A block's counts have 32 bits: it gives them up before they can overflow. */
#define VALUES_AT_ONCE UINT32_MAX

static void give_up(uint32_t *counts, uint64_t *bins) {
    for (uint32_t i = 0; i < BINS; i++) {
        if (counts[i] != 0) (void)__atomic_fetch_add(&bins[i], counts[i], __ATOMIC_RELAXED);
        counts[i] = 0;
    }
}

void histogram(const slw_host_block *block, void *const *args) {
    const uint64_t n = SLW_HOST_ARG(uint64_t, args, 0);
    const uint8_t *const values = SLW_HOST_ARG(const uint8_t *, args, 1);
    uint64_t *const bins = SLW_HOST_ARG(uint64_t *, args, 2);
    uint32_t *const counts = block->shared;

    /* The first n % blocks blocks take one value more. */
    const uint64_t blocks = block->grid[0];
    const uint64_t me = block->index[0];
    const uint64_t share = n / blocks;
    const uint64_t rest = n % blocks;
    uint64_t at = me * share + (me < rest ? me : rest);
    uint64_t left = share + (me < rest ? 1 : 0);

    for (uint32_t i = 0; i < BINS; i++) counts[i] = 0; /* scratch is not cleared */
    while (left > 0) {
        const uint64_t now = left < VALUES_AT_ONCE ? left : VALUES_AT_ONCE;
        for (uint64_t i = 0; i < now; i++) counts[values[at + i]]++;
        give_up(counts, bins);
        at += now;
        left -= now;
    }
}
