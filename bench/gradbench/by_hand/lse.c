/* The logarithm of a sum of exponentials; its gradient is the softmax. */
#include "../../reference/reference.h"

static double largest(int64_t n, const double *x) {
    double most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    const double *x = in[0];
    double most = largest(n[0], x), sum = 0;
    for (int64_t i = 0; i < n[0]; i++) sum += exp(x[i] - most);
    out[0] = most + log(sum);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    const double *x = in[0];
    double most = largest(n[0], x), sum = 0;
    for (int64_t i = 0; i < n[0]; i++) sum += out[i] = exp(x[i] - most);
#pragma omp simd
    for (int64_t i = 0; i < n[0]; i++) out[i] /= sum;
}
