/* sum_i log (1 + exp z_i) - y_i z_i + |w|^2 / 2 with z = X w, and its gradient in w. */
#include "reference.h"

static double softplus(double z) { return fmax(z, 0) + log(1 + exp(-fabs(z))); }

static double losses(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    int64_t d = p->n[1];
    const double *w = p->in[0], *x = p->in[1], *y = p->in[2];
    double loss = 0;
    for (int64_t i = from; i < to; i++) {
        double z = dot_product(d, x + i * d, w);
        loss += softplus(z) - y[i] * z;
    }
    return loss;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    out[0] = 0.5 * dot_product(sizes[1], in[0], in[0]) + parallel(sizes[0], 50, losses, &(struct problem){in, sizes, out}, 0, NULL);
}

static double losses_gradient(const void *context, int64_t from, int64_t to, double *w_ct) {
    const struct problem *p = context;
    int64_t d = p->n[1];
    const double *w = p->in[0], *x = p->in[1], *y = p->in[2];
    for (int64_t i = from; i < to; i++) {
        double z = dot_product(d, x + i * d, w);
        axpy(d, 1 / (1 + exp(-z)) - y[i], x + i * d, w_ct);
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    memcpy(out, in[0], 8 * (size_t)sizes[1]);
    parallel(sizes[0], 50, losses_gradient, &(struct problem){in, sizes, out}, sizes[1], out);
}
