/* A binary tree in heap order: the value of an inner node is w l + (1 - w) sqrt (1 + r^2) of those of its subtrees, that of a leaf is w. */
#include "reference.h"

static double value(const double *w, int64_t n, int64_t i) {
    if (2 * i + 1 >= n) return w[i];
    double l = value(w, n, 2 * i + 1), r = value(w, n, 2 * i + 2);
    return w[i] * l + (1 - w[i]) * sqrt(1 + r * r);
}

static double keep(const double *w, int64_t n, int64_t i, double *values) {
    if (2 * i + 1 >= n) return values[i] = w[i];
    double l = keep(w, n, 2 * i + 1, values), r = keep(w, n, 2 * i + 2, values);
    return values[i] = w[i] * l + (1 - w[i]) * sqrt(1 + r * r);
}

static void pull(const double *w, int64_t n, int64_t i, const double *values, double ct, double *w_ct) {
    if (2 * i + 1 >= n) {
        w_ct[i] = ct;
        return;
    }
    double l = values[2 * i + 1], r = values[2 * i + 2], root = sqrt(1 + r * r);
    w_ct[i] = ct * (l - root);
    pull(w, n, 2 * i + 1, values, ct * w[i], w_ct);
    pull(w, n, 2 * i + 2, values, ct * (1 - w[i]) * r / root, w_ct);
}

void primal(const double *const *in, const int64_t *n, double *out) { out[0] = value(in[0], n[0], 0); }

void gradient(const double *const *in, const int64_t *n, double *out) {
    double *values = doubles(n[0]);
    keep(in[0], n[0], 0, values);
    pull(in[0], n[0], 0, values, 1, out);
    free(values);
}
