/* A signal against a kernel at all places where the kernel is inside; the cotangents of both for one of the result. */
#include "reference.h"

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], k = sizes[1], m = n - k + 1;
    memset(out, 0, 8 * (size_t)m);
    for (int64_t j = 0; j < k; j++) axpy(m, in[1][j], in[0] + j, out);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], k = sizes[1], m = n - k + 1;
    const double *restrict signal = in[0], *restrict kernel = in[1], *restrict y_ct = in[2];
    double *restrict signal_ct = out, *restrict kernel_ct = out + n;
    memset(signal_ct, 0, 8 * (size_t)n);
    for (int64_t j = 0; j < k; j++) {
        axpy(m, kernel[j], y_ct, signal_ct + j);
        kernel_ct[j] = dot_product(m, signal + j, y_ct);
    }
}
