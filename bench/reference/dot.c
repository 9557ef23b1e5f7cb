/* a · b, and the gradient times a seed. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) { out[0] = dot_product(n[0], in[0], in[1]); }

void gradient(const double *const *in, const int64_t *n, double *restrict out) {
    const double *restrict a = in[0], *restrict b = in[1];
    double seed = in[2][0];
    for (int64_t i = 0; i < n[0]; i++) out[i] = seed * b[i];
    for (int64_t i = 0; i < n[0]; i++) out[n[0] + i] = seed * a[i];
}
