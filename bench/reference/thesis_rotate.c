/* Vectors turned by quaternions (x, y, z, w), 2 (u·v) u + (w² - u·u) v + 2 w (u × v), and the Jacobian in the quaternion and the vector. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) {
    for (int64_t i = 0; i < n[0]; i++) {
        const double *u = in[0] + 4 * i, *v = in[1] + 3 * i;
        double w = u[3], uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2], rest = w * w - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (int c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            out[3 * i + c] = 2 * uv * u[c] + rest * v[c] + 2 * w * (u[d] * v[e] - u[e] * v[d]);
        }
    }
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    for (int64_t i = 0; i < n[0]; i++) {
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
}
