/* Prices of European calls, and their derivatives in spot, strike, rate, volatility and time. */
#include "reference.h"

static double normal(double x) { return 0.5 * erfc(-x / M_SQRT2); }

void primal(const double *const *in, const int64_t *n, double *out) {
    for (int64_t i = 0; i < n[0]; i++) {
        double s = in[0][i], k = in[1][i], r = in[2][i], v = in[3][i], t = in[4][i];
        double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
        out[i] = s * normal(d1) - k * exp(-r * t) * normal(d2);
    }
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    for (int64_t i = 0; i < n; i++) {
        double s = in[0][i], k = in[1][i], r = in[2][i], v = in[3][i], t = in[4][i], root = sqrt(t);
        double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
        double discounted = exp(-r * t) * normal(d2), density = s * exp(-0.5 * d1 * d1) / sqrt(2 * M_PI);
        out[i] = normal(d1);
        out[n + i] = -discounted;
        out[2 * n + i] = k * t * discounted;
        out[3 * n + i] = density * root;
        out[4 * n + i] = density * v / (2 * root) + r * k * discounted;
    }
}
