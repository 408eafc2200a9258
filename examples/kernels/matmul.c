/* matmul: C = A * B in single precision, row by row in memory, tile by tile through shared memory.
 *
 *   m, n, k  uint32_t       A is m x k, B is k x n, C is m x n; any sizes, multiples of the tile or not
 *   a        const float *  m * k elements
 *   b        const float *  k * n elements
 *   c        float *        m * n elements, written
 *
 * Shape: a block of 16 x 16 threads, one for each element of a tile of C; ceil(n / 16) x ceil(m / 16) blocks.
 * Shared memory: 2,048 bytes static, one tile of A and one of B.
 *
 * Every element is summed in the order of k in one float, as one thread of a GPU does. */
#include <slipway/host_kernel.h>

#define TILE 16u

typedef struct tiles {
    float a[TILE][TILE];
    float b[TILE][TILE];
} tiles;

SLW_HOST_KERNEL_SHARED(matmul, sizeof(tiles), SLW_HOST_PARAM(uint32_t, m), SLW_HOST_PARAM(uint32_t, n),
                       SLW_HOST_PARAM(uint32_t, k), SLW_HOST_PARAM(const float *, a), SLW_HOST_PARAM(const float *, b),
                       SLW_HOST_PARAM(float *, c));

/* Copies the tile whose corner is (row, column) of a rows x columns matrix; what lies outside is zero. */
static void fetch(float to[TILE][TILE], const float *from, uint64_t rows, uint64_t columns, uint64_t row,
                  uint64_t column) {
    for (uint32_t y = 0; y < TILE; y++) {
        for (uint32_t x = 0; x < TILE; x++) {
            const int inside = row + y < rows && column + x < columns;
            to[y][x] = inside ? from[(row + y) * columns + column + x] : 0.0f;
        }
    }
}

void matmul(const slw_host_block *block, void *const *args) {
    const uint64_t m = SLW_HOST_ARG(uint32_t, args, 0);
    const uint64_t n = SLW_HOST_ARG(uint32_t, args, 1);
    const uint64_t k = SLW_HOST_ARG(uint32_t, args, 2);
    const float *const a = SLW_HOST_ARG(const float *, args, 3);
    const float *const b = SLW_HOST_ARG(const float *, args, 4);
    float *const c = SLW_HOST_ARG(float *, args, 5);
    tiles *const shared = block->shared;
    const uint64_t row = (uint64_t)block->index[1] * TILE;
    const uint64_t column = (uint64_t)block->index[0] * TILE;

    float sum[TILE][TILE] = {{0.0f}}; /* a register of each thread */
    for (uint64_t step = 0; step < k; step += TILE) {
        fetch(shared->a, a, m, k, row, step);
        fetch(shared->b, b, k, n, step, column);
        /* here is the barrier */
        for (uint32_t y = 0; y < TILE; y++) {
            for (uint32_t i = 0; i < TILE; i++) {
                for (uint32_t x = 0; x < TILE; x++) sum[y][x] += shared->a[y][i] * shared->b[i][x];
            }
        }
    }
    for (uint32_t y = 0; y < TILE && row + y < m; y++) {
        for (uint32_t x = 0; x < TILE && column + x < n; x++) c[(row + y) * n + column + x] = sum[y][x];
    }
}
