/* The dot product and its gradient. */
#include "reference.h"

static double products(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    return dot_product(to - from, in[0] + from, in[1] + from);
}

void primal(const double *const *in, const int64_t *n, double *out) { out[0] = parallel(n[0], 4000, products, in, 0, NULL); }

void gradient(const double *const *in, const int64_t *n, double *out) { parallel_swap(n[0], in[0], in[1], out); }
