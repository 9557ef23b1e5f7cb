/* The sum of A x, and its gradient in A and x. */
#include "reference.h"

static double rows(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    int64_t n = p->n[1];
    double sum = 0;
    for (int64_t i = from; i < to; i++) sum += dot_product(n, p->in[0] + i * n, p->in[1]);
    return sum;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    out[0] = parallel(n[0], 50, rows, &(struct problem){in, n, out}, 0, NULL);
}

static double rows_gradient(const void *context, int64_t from, int64_t to, double *x_ct) {
    const struct problem *p = context;
    int64_t n = p->n[1];
    for (int64_t i = from; i < to; i++) {
        memcpy(p->out + i * n, p->in[1], 8 * (size_t)n);
        axpy(n, 1, p->in[0] + i * n, x_ct);
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    double *x_ct = out + n[0] * n[1];
    memset(x_ct, 0, 8 * (size_t)n[1]);
    parallel(n[0], 25, rows_gradient, &(struct problem){in, n, out}, n[1], x_ct);
}
