/* saxpy: y[i] = a * x[i] + y[i], single precision.
 *
 *   n  uint64_t       how many elements
 *   a  float
 *   x  const float *  n elements, read
 *   y  float *        n elements, read and written; not overlapping x
 *
 * Shape: a block of any size along x, as many blocks as cover n.  No shared memory. */
#include <slipway/host_kernel.h>

SLW_HOST_KERNEL(saxpy, SLW_HOST_PARAM(uint64_t, n), SLW_HOST_PARAM(float, a), SLW_HOST_PARAM(const float *, x),
                SLW_HOST_PARAM(float *, y));

void saxpy(const slw_host_block *block, void *const *args) {
    const uint64_t n = SLW_HOST_ARG(uint64_t, args, 0);
    const float a = SLW_HOST_ARG(float, args, 1);
    const float *restrict const x = SLW_HOST_ARG(const float *, args, 2);
    float *restrict const y = SLW_HOST_ARG(float *, args, 3);

    /* The last block ends where the data ends, so that the loop itself has no test and is vectorised. */
    const uint64_t first = (uint64_t)block->index[0] * block->block[0];
    const uint64_t end = first + block->block[0] < n ? first + block->block[0] : n;
    for (uint64_t i = first; i < end; i++) y[i] = a * x[i] + y[i];
}
