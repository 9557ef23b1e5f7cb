/* y = A x; the cotangents of A and x for one of y. */
#include "reference.h"

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t m = sizes[0], n = sizes[1];
    for (int64_t i = 0; i < m; i++) out[i] = dot_product(n, in[0] + i * n, in[1]);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t m = sizes[0], n = sizes[1];
    const double *restrict a = in[0], *restrict x = in[1], *restrict y_ct = in[2];
    double *restrict a_ct = out, *restrict x_ct = out + m * n;
    memset(x_ct, 0, 8 * (size_t)n);
    for (int64_t i = 0; i < m; i++) {
        double s = y_ct[i];
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            a_ct[i * n + j] = s * x[j];
            x_ct[j] += s * a[i * n + j];
        }
    }
}
