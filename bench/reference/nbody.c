/* One step of n bodies under gravity (softened), the energy after it, and its gradient in places and speeds. */
#include "reference.h"

static const double STEP = 0.01, SOFT = 0.01;

/* Speeds and places after the step, in six arrays. */
static void advance(const double *const *in, int64_t n, double *state) {
    const double *restrict x = in[0], *restrict y = in[1], *restrict z = in[2], *restrict m = in[6];
    for (int64_t i = 0; i < n; i++) {
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
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    double *state = doubles(6 * n), energy = 0;
    advance(in, n, state);
    const double *restrict x = state, *restrict y = x + n, *restrict z = y + n, *restrict v = z + n, *restrict m = in[6];
    for (int64_t i = 0; i < n; i++) {
        double potential = 0;
#pragma omp simd reduction(+ : potential)
        for (int64_t j = 0; j < n; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            potential += m[j] / sqrt(dx * dx + dy * dy + dz * dz + SOFT);
        }
        energy += 0.5 * m[i] * (v[i] * v[i] + v[n + i] * v[n + i] + v[2 * n + i] * v[2 * n + i] - potential);
    }
    out[0] = energy;
    free(state);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    double *state = doubles(6 * n), *a_ct = doubles(3 * n);
    const double *restrict m = in[6];
    advance(in, n, state);
    {
        const double *restrict x = state, *restrict y = x + n, *restrict z = y + n, *restrict v = z + n;
        for (int64_t i = 0; i < n; i++) {
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
                a_ct[c * n + i] = STEP * v_ct;
            }
        }
    }
    const double *restrict x = in[0], *restrict y = in[1], *restrict z = in[2];
    const double *restrict ax = a_ct, *restrict ay = ax + n, *restrict az = ay + n;
    for (int64_t i = 0; i < n; i++) {
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
    free(state), free(a_ct);
}
