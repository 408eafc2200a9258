/* spmv: y = A * x for a sparse matrix in compressed rows (CSR), double precision.
 *
 *   rows     uint32_t          of A
 *   starts   const uint32_t *  rows + 1: row r's entries are starts[r] to starts[r + 1] - 1; never falling
 *   columns  const uint32_t *  the column of each entry
 *   values   const double *    the value of each entry
 *   x        const double *    one element for each column of A
 *   y        double *          `rows` elements, written
 *
 * Shape: a block of any size along x, one thread for each row, as many blocks as cover the rows.  No shared memory.
 *
 * A row's sum carries its rounding errors along (Neumaier), so that it does not depend on how long the row is. */
#include <slipway/host_kernel.h>

SLW_HOST_KERNEL(spmv, SLW_HOST_PARAM(uint32_t, rows), SLW_HOST_PARAM(const uint32_t *, starts),
                SLW_HOST_PARAM(const uint32_t *, columns), SLW_HOST_PARAM(const double *, values),
                SLW_HOST_PARAM(const double *, x), SLW_HOST_PARAM(double *, y));

static double magnitude(double value) {
    return value < 0.0 ? -value : value;
}

void spmv(const slw_host_block *block, void *const *args) {
    const uint64_t rows = SLW_HOST_ARG(uint32_t, args, 0);
    const uint32_t *const starts = SLW_HOST_ARG(const uint32_t *, args, 1);
    const uint32_t *const columns = SLW_HOST_ARG(const uint32_t *, args, 2);
    const double *const values = SLW_HOST_ARG(const double *, args, 3);
    const double *const x = SLW_HOST_ARG(const double *, args, 4);
    double *const y = SLW_HOST_ARG(double *, args, 5);

    const uint64_t first = (uint64_t)block->index[0] * block->block[0];
    for (uint64_t row = first; row < first + block->block[0] && row < rows; row++) {
        double sum = 0.0;
        double lost = 0.0;
        for (uint32_t i = starts[row]; i < starts[row + 1]; i++) {
            const double term = values[i] * x[columns[i]];
            const double next = sum + term;
            lost += magnitude(sum) >= magnitude(term) ? (sum - next) + term : (term - next) + sum;
            sum = next;
        }
        y[row] = sum + lost;
    }
}
