/* Weights are added up by bin; the sum of squares of the bins, and its gradient in the weights. */
#include "reference.h"

static void bins(const double *const *in, const int64_t *n, double *h) {
    const int64_t *bin = (const int64_t *)in[0];
    memset(h, 0, 8 * (size_t)n[1]);
    for (int64_t i = 0; i < n[0]; i++)
        if (bin[i] >= 0 && bin[i] < n[1]) h[bin[i]] += in[1][i];
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double *h = doubles(n[1]);
    bins(in, n, h);
    out[0] = dot_product(n[1], h, h);
    free(h);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    const int64_t *bin = (const int64_t *)in[0];
    double *h = doubles(n[1]);
    bins(in, n, h);
    for (int64_t i = 0; i < n[0]; i++) out[i] = bin[i] >= 0 && bin[i] < n[1] ? 2 * h[bin[i]] : 0;
    free(h);
}
