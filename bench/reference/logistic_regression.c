/* sum_i log (1 + exp z_i) - y_i z_i + |w|^2 / 2 with z = X w, and its gradient in w. */
#include "reference.h"

static double softplus(double z) { return fmax(z, 0) + log(1 + exp(-fabs(z))); }

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], d = sizes[1];
    const double *w = in[0], *x = in[1], *y = in[2];
    double loss = 0.5 * dot_product(d, w, w);
    for (int64_t i = 0; i < n; i++) {
        double z = dot_product(d, x + i * d, w);
        loss += softplus(z) - y[i] * z;
    }
    out[0] = loss;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], d = sizes[1];
    const double *w = in[0], *x = in[1], *y = in[2];
    memcpy(out, w, 8 * (size_t)d);
    for (int64_t i = 0; i < n; i++) {
        double z = dot_product(d, x + i * d, w);
        axpy(d, 1 / (1 + exp(-z)) - y[i], x + i * d, out);
    }
}
