/* Vectors turned by quaternions (x, y, z, w), 2 (u·v) u + (w² - u·u) v + 2 w (u × v), and the Jacobian in the quaternion and the vector. */
#include "reference.h"

static double turn(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    for (int64_t i = from; i < to; i++) {
        const double *u = in[0] + 4 * i, *v = in[1] + 3 * i;
        double w = u[3], uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2], rest = w * w - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (int c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            out[3 * i + c] = 2 * uv * u[c] + rest * v[c] + 2 * w * (u[d] * v[e] - u[e] * v[d]);
        }
    }
    return 0;
}

void primal(const double *const *in, const int64_t *n, double *out) { parallel(n[0], 1000, turn, in, 0, out); }

static double turn_gradient(const void *context, int64_t from, int64_t to, double *out) {
    const double *const *in = context;
    for (int64_t i = from; i < to; i++) {
        const double *u = in[0] + 4 * i, *v = in[1] + 3 * i;
        double w = u[3], uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2], rest = w * w - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (int c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            double *to = out + 21 * i + 7 * c;
            to[c] = 2 * uv;
            to[d] = 2 * (u[c] * v[d] - v[c] * u[d]) + 2 * w * v[e];
            to[e] = 2 * (u[c] * v[e] - v[c] * u[e]) - 2 * w * v[d];
            to[3] = 2 * w * v[c] + 2 * (u[d] * v[e] - u[e] * v[d]);
            to[4 + c] = 2 * u[c] * u[c] + rest;
            to[4 + d] = 2 * u[c] * u[d] - 2 * w * u[e];
            to[4 + e] = 2 * u[c] * u[e] + 2 * w * u[d];
        }
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) { parallel(n[0], 100, turn_gradient, in, 0, out); }
