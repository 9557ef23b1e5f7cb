/* x_i = a_i x_(i-1) + b_i from 0; half the sum of squares, and its gradient in a and b. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) {
    double x = 0, sum = 0;
    for (int64_t i = 0; i < n[0]; i++) {
        x = in[0][i] * x + in[1][i];
        sum += x * x;
    }
    out[0] = 0.5 * sum;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    const double *restrict a = in[0], *restrict b = in[1];
    double *restrict a_ct = out, *restrict b_ct = out + n, *restrict xs = doubles(n), x = 0, x_ct = 0;
    for (int64_t i = 0; i < n; i++) xs[i] = x = a[i] * x + b[i];
    for (int64_t i = n - 1; i >= 0; i--) {
        x_ct += xs[i];
        b_ct[i] = x_ct;
        a_ct[i] = i ? x_ct * xs[i - 1] : 0;
        x_ct *= a[i];
    }
    free(xs);
}
