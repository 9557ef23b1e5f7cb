/* x y and its gradient, for every pair. */
#include "reference.h"

static double multiply(const void *context, int64_t from, int64_t to, double *restrict out) {
    const double *const *in = context;
    const double *restrict x = in[0], *restrict y = in[1];
    for (int64_t i = from; i < to; i++) out[i] = x[i] * y[i];
    return 0;
}

void primal(const double *const *in, const int64_t *n, double *out) { parallel(n[0], 4000, multiply, in, 0, out); }

void gradient(const double *const *in, const int64_t *n, double *out) { parallel_swap(n[0], in[0], in[1], out); }
