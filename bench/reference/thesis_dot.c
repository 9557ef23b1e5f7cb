/* The dot product and its gradient. */
#include "reference.h"

static double products(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    return dot_product(to - from, in[0] + from, in[1] + from);
}

void primal(const double *const *in, const int64_t *n, double *out) { out[0] = parallel(n[0], 4000, products, in, 0, NULL); }

static double swap(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    memcpy(out + from, p->in[1] + from, 8 * (size_t)(to - from));
    memcpy(out + p->n[0] + from, p->in[0] + from, 8 * (size_t)(to - from));
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    parallel(n[0], 2000, swap, &(struct problem){in, n, out}, 0, out);
}
