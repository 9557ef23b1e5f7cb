/* Prices of European calls, and their derivatives in spot, strike, rate, volatility and time. */
#include "reference.h"

static double normal(double x) { return 0.5 * erfc(-x / M_SQRT2); }

static double prices(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    for (int64_t i = from; i < to; i++) {
        double s = in[0][i], k = in[1][i], r = in[2][i], v = in[3][i], t = in[4][i];
        double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
        out[i] = s * normal(d1) - k * exp(-r * t) * normal(d2);
    }
    return 0;
}

void primal(const double *const *in, const int64_t *n, double *out) { parallel(n[0], 50, prices, in, 0, out); }

static double sensitivities(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    const double *const *in = p->in;
    int64_t n = p->n[0];
    for (int64_t i = from; i < to; i++) {
        double s = in[0][i], k = in[1][i], r = in[2][i], v = in[3][i], t = in[4][i], root = sqrt(t);
        double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
        double discounted = exp(-r * t) * normal(d2), density = s * exp(-0.5 * d1 * d1) / sqrt(2 * M_PI);
        out[i] = normal(d1);
        out[n + i] = -discounted;
        out[2 * n + i] = k * t * discounted;
        out[3 * n + i] = density * root;
        out[4 * n + i] = density * v / (2 * root) + r * k * discounted;
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    parallel(n[0], 50, sensitivities, &(struct problem){in, n, out}, 0, out);
}
