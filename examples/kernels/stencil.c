/* stencil: one step of heat on a plate, by the five-point formula, single precision.
 *
 *   width, height  uint32_t       of the plate, row by row in memory
 *   rate           float          alpha * dt / dx^2; the step is stable up to 0.25
 *   in             const float *  width * height temperatures
 *   out            float *        as many, written; not overlapping `in`
 *
 *   out = in + rate * (left + right + above + below - 4 in); the rim keeps its temperature.
 *
 * Shape: a block of any size along x and y, as many blocks as cover the plate.  No shared memory. */
#include <slipway/host_kernel.h>

SLW_HOST_KERNEL(stencil, SLW_HOST_PARAM(uint32_t, width), SLW_HOST_PARAM(uint32_t, height), SLW_HOST_PARAM(float, rate),
                SLW_HOST_PARAM(const float *, in), SLW_HOST_PARAM(float *, out));

static uint64_t less(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void stencil(const slw_host_block *block, void *const *args) {
    const uint64_t width = SLW_HOST_ARG(uint32_t, args, 0);
    const uint64_t height = SLW_HOST_ARG(uint32_t, args, 1);
    const float rate = SLW_HOST_ARG(float, args, 2);
    const float *restrict const in = SLW_HOST_ARG(const float *, args, 3);
    float *restrict const out = SLW_HOST_ARG(float *, args, 4);

    const uint64_t left = (uint64_t)block->index[0] * block->block[0];
    const uint64_t top = (uint64_t)block->index[1] * block->block[1];
    const uint64_t right = less(left + block->block[0], width);
    const uint64_t bottom = less(top + block->block[1], height);
    for (uint64_t y = top; y < bottom; y++) {
        for (uint64_t x = left; x < right; x++) {
            const uint64_t at = y * width + x;
            if (x == 0 || y == 0 || x + 1 == width || y + 1 == height) {
                out[at] = in[at];
                continue;
            }
            /* Opposite neighbours first: their sum less the centre twice is small where the plate is smooth. */
            const float across = (in[at - 1] - in[at]) + (in[at + 1] - in[at]);
            const float along = (in[at - width] - in[at]) + (in[at + width] - in[at]);
            out[at] = in[at] + rate * (across + along);
        }
    }
}
