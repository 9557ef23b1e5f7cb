/* Particles in a force field -p / (1 + |p|²) with friction; the sum of x y over their last places, and its gradient in first places and speeds. */
#include "reference.h"

static const double STEP = 0.01, FRICTION = 0.1;

/* The state of a particle is a lane of four arrays: x, y and the speeds. */
static void step(int64_t n, const double *restrict s, double *restrict t) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        double x = s[i], y = s[n + i], u = s[2 * n + i], v = s[3 * n + i], pull = 1 / (1 + x * x + y * y);
        u += STEP * (-x * pull - FRICTION * u);
        v += STEP * (-y * pull - FRICTION * v);
        t[i] = x + STEP * u, t[n + i] = y + STEP * v, t[2 * n + i] = u, t[3 * n + i] = v;
    }
}

static void load(const double *const *in, int64_t n, double *s) {
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < 4; c++) s[c * n + i] = in[0][4 * i + c];
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    double *s = doubles(8 * n), sum = 0;
    load(in, n, s);
    for (int64_t t = 0; t < sizes[1]; t++) step(n, s + t % 2 * 4 * n, s + (t + 1) % 2 * 4 * n);
    const double *last = s + sizes[1] % 2 * 4 * n;
    for (int64_t i = 0; i < n; i++) sum += last[i] * last[n + i];
    out[0] = sum;
    free(s);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    double *states = doubles((sizes[1] + 1) * 4 * n), *restrict g = doubles(4 * n);
    load(in, n, states);
    for (int64_t t = 0; t < sizes[1]; t++) step(n, states + t * 4 * n, states + (t + 1) * 4 * n);
    const double *last = states + sizes[1] * 4 * n;
    for (int64_t i = 0; i < n; i++) g[i] = last[n + i], g[n + i] = last[i], g[2 * n + i] = g[3 * n + i] = 0;
    for (int64_t t = sizes[1] - 1; t >= 0; t--) {
        const double *restrict s = states + t * 4 * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            double x = s[i], y = s[n + i], pull = 1 / (1 + x * x + y * y);
            double u_ct = g[2 * n + i] + STEP * g[i], v_ct = g[3 * n + i] + STEP * g[n + i];
            double pull_ct = -STEP * (x * u_ct + y * v_ct), square_ct = -2 * pull * pull * pull_ct;
            g[i] += -STEP * pull * u_ct + square_ct * x;
            g[n + i] += -STEP * pull * v_ct + square_ct * y;
            g[2 * n + i] = u_ct * (1 - STEP * FRICTION);
            g[3 * n + i] = v_ct * (1 - STEP * FRICTION);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < 4; c++) out[4 * i + c] = g[c * n + i];
    free(states), free(g);
}
