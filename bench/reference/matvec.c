/* y = A x; the cotangents of A and x for one of y. */
#include "reference.h"

static double rows(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    int64_t n = p->n[1];
    for (int64_t i = from; i < to; i++) out[i] = dot_product(n, p->in[0] + i * n, p->in[1]);
    return 0;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    parallel(sizes[0], 16, rows, &(struct problem){in, sizes, out}, 0, out);
}

static double rows_gradient(const void *context, int64_t from, int64_t to, double *restrict x_ct) {
    const struct problem *p = context;
    int64_t n = p->n[1];
    const double *restrict a = p->in[0], *restrict x = p->in[1], *restrict y_ct = p->in[2];
    double *restrict a_ct = p->out;
    for (int64_t i = from; i < to; i++) {
        double s = y_ct[i];
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            a_ct[i * n + j] = s * x[j];
            x_ct[j] += s * a[i * n + j];
        }
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t m = sizes[0], n = sizes[1];
    double *x_ct = out + m * n;
    memset(x_ct, 0, 8 * (size_t)n);
    parallel(m, 16, rows_gradient, &(struct problem){in, sizes, out}, n, x_ct);
}
