/* a · b, and the gradient times a seed. */
#include "reference.h"

static double products(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    return dot_product(to - from, in[0] + from, in[1] + from);
}

void primal(const double *const *in, const int64_t *n, double *out) { out[0] = parallel(n[0], 4000, products, in, 0, NULL); }

static double scale(const void *context, int64_t from, int64_t to, double *restrict out) {
    const struct problem *p = context;
    const double *restrict a = p->in[0], *restrict b = p->in[1];
    double seed = p->in[2][0];
    int64_t n = p->n[0];
    for (int64_t i = from; i < to; i++) out[i] = seed * b[i];
    for (int64_t i = from; i < to; i++) out[n + i] = seed * a[i];
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    parallel(n[0], 2000, scale, &(struct problem){in, n, out}, 0, out);
}
