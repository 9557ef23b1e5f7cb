/* (x, y) <- (a_t x + y, x) for every t; the sum of the last x, and its gradient in a, x and y. */
#include "reference.h"

static void step(int64_t n, double a, const double *restrict x, const double *restrict y, double *restrict z) {
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
}

static double total(int64_t n, const double *restrict x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], steps = sizes[1];
    double *buffer = doubles(3 * n);
    const double *x = in[1], *y = in[2];
    for (int64_t t = 0; t < steps; t++) {
        double *z = buffer + t % 3 * n;
        step(n, in[0][t], x, y, z);
        y = x;
        x = z;
    }
    out[0] = total(n, x);
    free(buffer);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], steps = sizes[1];
    /* state t is x before step t; the y before it is the state before that. */
    double *states = doubles((steps + 1) * n);
    memcpy(states, in[1], 8 * (size_t)n);
    for (int64_t t = 0; t < steps; t++) {
        const double *y = t ? states + (t - 1) * n : in[2];
        step(n, in[0][t], states + t * n, y, states + (t + 1) * n);
    }
    double *a_ct = out, *restrict x_ct = out + steps, *restrict y_ct = out + steps + n;
    for (int64_t i = 0; i < n; i++) x_ct[i] = 1, y_ct[i] = 0;
    for (int64_t t = steps - 1; t >= 0; t--) {
        const double *restrict x = states + t * n;
        double a = in[0][t], sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            double z_ct = x_ct[i];
            sum += z_ct * x[i];
            x_ct[i] = a * z_ct + y_ct[i];
            y_ct[i] = z_ct;
        }
        a_ct[t] = sum;
    }
    free(states);
}
