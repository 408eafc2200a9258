/* softmax: every row of a matrix becomes exp(x - max) / sum of those, single precision.
 *
 *   rows, columns  uint32_t       of both matrices, row by row in memory
 *   in             const float *  rows * columns finite elements
 *   out            float *        as many, written; may be `in`
 *
 * Shape: one block for each row, of any number of threads along x; a thread takes every block.x-th column.
 * Shared memory: 4 bytes dynamic for each thread (the reductions).
 *
 * The greatest element is taken off first, so that no exponential overflows and at least one is 1: the sum is never
 * zero.  Sums go up a tree, as on a GPU, which keeps the error at the logarithm of the row's length.  The exponential
 * is here because a kernel that needs no library loads everywhere. */
#include <slipway/host_kernel.h>

SLW_HOST_KERNEL(softmax, SLW_HOST_PARAM(uint32_t, rows), SLW_HOST_PARAM(uint32_t, columns),
                SLW_HOST_PARAM(const float *, in), SLW_HOST_PARAM(float *, out));

/* exp(x) for x <= 0, within 2 units in the last place: x = k ln 2 + r with |r| <= ln 2 / 2, exp(r) by its series. */
static float exp_of_negative(float x) {
    static const float series[] = {1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 0.0416666667f,
                                   0.166666667f,   0.5f,           1.0f,           1.0f}; /* 1/7! to 1/0! */
    if (x < -87.0f) return 0.0f; /* below the smallest normal number */
    const int k = (int)(x * 1.44269504f - 0.5f);
    const float r = (x - (float)k * 0.693145752f) - (float)k * 1.42860677e-6f; /* ln 2 in two parts */
    float sum = 0.0f;
    for (uint32_t i = 0; i < sizeof series / sizeof series[0]; i++) sum = sum * r + series[i];
    const union {
        uint32_t bits;
        float value;
    } power = {.bits = (uint32_t)(k + 127) << 23};
    return sum * power.value;
}

static uint32_t less(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Adds up or takes the greatest of `count` elements, halving them at each step; `values` is overwritten. */
static float reduce(float *values, uint32_t count, int greatest) {
    while (count > 1) {
        const uint32_t half = (count + 1) / 2;
        for (uint32_t thread = 0; thread + half < count; thread++) {
            const float other = values[thread + half];
            if (!greatest) {
                values[thread] += other;
            } else if (other > values[thread]) {
                values[thread] = other;
            }
        }
        count = half;
    }
    return values[0];
}

void softmax(const slw_host_block *block, void *const *args) {
    const uint32_t columns = SLW_HOST_ARG(uint32_t, args, 1);
    const uint64_t row = block->index[0];
    if (row >= SLW_HOST_ARG(uint32_t, args, 0) || columns == 0) return;
    const float *const in = SLW_HOST_ARG(const float *, args, 2) + row * columns;
    float *const out = SLW_HOST_ARG(float *, args, 3) + row * columns;
    /* As many threads work as have a column and a place to reduce in; one always can. */
    const uint32_t places = SLW_HOST_SHARED_DYNAMIC_BYTES(block, 0) / (uint32_t)sizeof(float);
    float single = 0.0f;
    float *const partial = places > 1 ? SLW_HOST_SHARED_DYNAMIC(block, 0) : &single;
    const uint32_t threads = less(less(block->block[0], columns), places > 1 ? places : 1);

    for (uint32_t thread = 0; thread < threads; thread++) {
        partial[thread] = in[thread];
        for (uint64_t i = (uint64_t)thread + threads; i < columns; i += threads) {
            if (in[i] > partial[thread]) partial[thread] = in[i];
        }
    }
    const float greatest = reduce(partial, threads, 1);

    for (uint32_t thread = 0; thread < threads; thread++) {
        partial[thread] = 0.0f;
        for (uint64_t i = thread; i < columns; i += threads) {
            out[i] = exp_of_negative(in[i] - greatest);
            partial[thread] += out[i];
        }
    }
    const float scale = 1.0f / reduce(partial, threads, 0);

    for (uint64_t i = 0; i < columns; i++) out[i] *= scale;
}
