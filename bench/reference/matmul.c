/* C = A B; the cotangents of A and B for one of C. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) {
    parallel_product(n[0], n[2], n[1], in[0], n[1], 1, in[1], out);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t m = sizes[0], k = sizes[1], n = sizes[2];
    double *b_transposed = doubles(n * k);
    transpose(k, n, in[1], b_transposed);
    parallel_product(m, k, n, in[2], n, 1, b_transposed, out);
    parallel_product(k, n, m, in[0], 1, k, in[2], out + m * k);
    free(b_transposed);
}
