/* The sum of A x, and its gradient in A and x. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) {
    double sum = 0;
    for (int64_t i = 0; i < n[0]; i++) sum += dot_product(n[1], in[0] + i * n[1], in[1]);
    out[0] = sum;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    double *x_ct = out + n[0] * n[1];
    memset(x_ct, 0, 8 * (size_t)n[1]);
    for (int64_t i = 0; i < n[0]; i++) {
        memcpy(out + i * n[1], in[1], 8 * (size_t)n[1]);
        axpy(n[1], 1, in[0] + i * n[1], x_ct);
    }
}
