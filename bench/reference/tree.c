/* A binary tree in heap order: the value of an inner node is w l + (1 - w) sqrt (1 + r^2) of those of its subtrees, that of a leaf is w. The two subtrees of
 * the root are parts. */
#include "reference.h"

static double combine(double w, double l, double r) { return w * l + (1 - w) * sqrt(1 + r * r); }

/* The same code, whoever calls it: the compiler would unfold some more levels in one of its callers. */
__attribute__((noinline)) static double value(const double *w, int64_t n, int64_t i) {
    if (2 * i + 1 >= n) return w[i];
    double l = value(w, n, 2 * i + 1), r = value(w, n, 2 * i + 2);
    return combine(w[i], l, r);
}

static double keep(const double *w, int64_t n, int64_t i, double *values) {
    if (2 * i + 1 >= n) return values[i] = w[i];
    double l = keep(w, n, 2 * i + 1, values), r = keep(w, n, 2 * i + 2, values);
    return values[i] = combine(w[i], l, r);
}

struct cts {
    double w, l, r;
};

static inline struct cts combine_gradient(double w, double l, double r, double ct) {
    double root = sqrt(1 + r * r);
    return (struct cts){ct * (l - root), ct * w, ct * (1 - w) * r / root};
}

static void pull(const double *w, int64_t n, int64_t i, const double *values, double ct, double *w_ct) {
    if (2 * i + 1 >= n) {
        w_ct[i] = ct;
        return;
    }
    struct cts cts = combine_gradient(w[i], values[2 * i + 1], values[2 * i + 2], ct);
    w_ct[i] = cts.w;
    pull(w, n, 2 * i + 1, values, cts.l, w_ct);
    pull(w, n, 2 * i + 2, values, cts.r, w_ct);
}

static double subtrees(const void *context, int64_t from, int64_t to, double *values) {
    const struct problem *p = context;
    for (int64_t i = from; i < to; i++) values[i] = value(p->in[0], p->n[0], 1 + i);
    return 0;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double values[2];
    if (n[0] > 1) parallel(2, 1, subtrees, &(struct problem){in, n, out}, 0, values);
    out[0] = n[0] > 1 ? combine(in[0][0], values[0], values[1]) : in[0][0];
}

static double keep_subtrees(const void *context, int64_t from, int64_t to, double *values) {
    const struct problem *p = context;
    for (int64_t i = from; i < to; i++) keep(p->in[0], p->n[0], 1 + i, values);
    return 0;
}

static double pull_subtrees(const void *context, int64_t from, int64_t to, double *values) {
    const struct problem *p = context;
    struct cts cts = combine_gradient(p->in[0][0], values[1], values[2], 1);
    for (int64_t i = from; i < to; i++) pull(p->in[0], p->n[0], 1 + i, values, i ? cts.r : cts.l, p->out);
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct problem p = {in, n, out};
    double *values = doubles(n[0]);
    out[0] = 1;
    if (n[0] > 1) {
        parallel(2, 1, keep_subtrees, &p, 0, values);
        parallel(2, 1, pull_subtrees, &p, 0, values);
        out[0] = combine_gradient(in[0][0], values[1], values[2], 1).w;
    }
    free(values);
}
