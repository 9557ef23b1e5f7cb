/* One step of n bodies under gravity (softened), the energy after it, and its gradient in places and speeds. */
#include "reference.h"

static const double STEP = 0.01, SOFT = 0.01;

struct bodies {
    const double *const *in;
    int64_t n;
    double *state, *a_ct; /* after the step, in six arrays: places and speeds; cotangents of the accelerations */
};

static double advance(const void *context, int64_t from, int64_t to, double *state) {
    const struct bodies *bodies = context;
    const double *const *in = bodies->in;
    int64_t n = bodies->n;
    const double *restrict x = in[0], *restrict y = in[1], *restrict z = in[2], *restrict m = in[6];
    for (int64_t i = from; i < to; i++) {
        double ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int64_t j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            double square = dx * dx + dy * dy + dz * dz + SOFT;
            double pull = m[j] / (square * sqrt(square));
            ax += pull * dx, ay += pull * dy, az += pull * dz;
        }
        double v[3] = {in[3][i] + STEP * ax, in[4][i] + STEP * ay, in[5][i] + STEP * az};
        for (int c = 0; c < 3; c++) {
            state[c * n + i] = in[c][i] + STEP * v[c];
            state[(3 + c) * n + i] = v[c];
        }
    }
    return 0;
}

static double energies(const void *context, int64_t from, int64_t to, double *out) {
    const struct bodies *bodies = context;
    int64_t n = bodies->n;
    const double *restrict x = bodies->state, *restrict y = x + n, *restrict z = y + n, *restrict v = z + n, *restrict m = bodies->in[6];
    double energy = 0;
    for (int64_t i = from; i < to; i++) {
        double potential = 0;
#pragma omp simd reduction(+ : potential)
        for (int64_t j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            potential += m[j] / sqrt(dx * dx + dy * dy + dz * dz + SOFT);
        }
        energy += 0.5 * m[i] * (v[i] * v[i] + v[n + i] * v[n + i] + v[2 * n + i] * v[2 * n + i] - potential);
    }
    return energy;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    struct bodies bodies = {in, n, doubles(6 * n), NULL};
    parallel(n, 16, advance, &bodies, 0, bodies.state);
    out[0] = parallel(n, 16, energies, &bodies, 0, NULL);
    free(bodies.state);
}

static double energies_gradient(const void *context, int64_t from, int64_t to, double *out) {
    const struct bodies *bodies = context;
    int64_t n = bodies->n;
    const double *restrict x = bodies->state, *restrict y = x + n, *restrict z = y + n, *restrict v = z + n, *restrict m = bodies->in[6];
    for (int64_t i = from; i < to; i++) {
        double g[3], gx = 0, gy = 0, gz = 0;
#pragma omp simd reduction(+ : gx, gy, gz)
        for (int64_t j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            double square = dx * dx + dy * dy + dz * dz + SOFT;
            double pull = m[j] / (square * sqrt(square));
            gx -= pull * dx, gy -= pull * dy, gz -= pull * dz;
        }
        g[0] = gx, g[1] = gy, g[2] = gz;
        for (int c = 0; c < 3; c++) {
            double x_ct = m[i] * g[c], v_ct = m[i] * v[c * n + i] + STEP * x_ct;
            out[c * n + i] = x_ct;
            out[(3 + c) * n + i] = v_ct;
            bodies->a_ct[c * n + i] = STEP * v_ct;
        }
    }
    return 0;
}

static double advance_gradient(const void *context, int64_t from, int64_t to, double *out) {
    const struct bodies *bodies = context;
    int64_t n = bodies->n;
    const double *restrict x = bodies->in[0], *restrict y = bodies->in[1], *restrict z = bodies->in[2], *restrict m = bodies->in[6];
    const double *restrict ax = bodies->a_ct, *restrict ay = ax + n, *restrict az = ay + n;
    for (int64_t i = from; i < to; i++) {
        double gx = 0, gy = 0, gz = 0;
        /* What body j does to i and i to j, at once. */
#pragma omp simd reduction(+ : gx, gy, gz)
        for (int64_t j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            double inverse = 1 / (dx * dx + dy * dy + dz * dz + SOFT), pull = inverse * sqrt(inverse);
            double bx = m[i] * ax[j] - m[j] * ax[i], by = m[i] * ay[j] - m[j] * ay[i], bz = m[i] * az[j] - m[j] * az[i];
            double along = -3 * inverse * (bx * dx + by * dy + bz * dz);
            gx += pull * (bx + along * dx), gy += pull * (by + along * dy), gz += pull * (bz + along * dz);
        }
        out[i] += gx, out[n + i] += gy, out[2 * n + i] += gz;
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    struct bodies bodies = {in, n, doubles(6 * n), doubles(3 * n)};
    parallel(n, 16, advance, &bodies, 0, bodies.state);
    parallel(n, 16, energies_gradient, &bodies, 0, out);
    parallel(n, 16, advance_gradient, &bodies, 0, out);
    free(bodies.state), free(bodies.a_ct);
}
