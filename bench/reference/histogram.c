/* Weights are added up by bin; the sum of squares of the bins, and its gradient in the weights. */
#include "reference.h"

static double add(const void *context, int64_t from, int64_t to, double *h) {
    const struct problem *p = context;
    const int64_t *bin = (const int64_t *)p->in[0], bins = p->n[1];
    const double *weights = p->in[1];
    for (int64_t i = from; i < to; i++)
        if (bin[i] >= 0 && bin[i] < bins) h[bin[i]] += weights[i];
    return 0;
}

static double *bins(const struct problem *p) {
    double *h = doubles(p->n[1]);
    memset(h, 0, 8 * (size_t)p->n[1]);
    parallel(p->n[0], 2000, add, p, p->n[1], h);
    return h;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double *h = bins(&(struct problem){in, n, out});
    out[0] = dot_product(n[1], h, h);
    free(h);
}

static double spread(const void *context, int64_t from, int64_t to, double *h) {
    const struct problem *p = context;
    const int64_t *bin = (const int64_t *)p->in[0], bins = p->n[1];
    double *out = p->out;
    for (int64_t i = from; i < to; i++) out[i] = bin[i] >= 0 && bin[i] < bins ? 2 * h[bin[i]] : 0;
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct problem p = {in, n, out};
    double *h = bins(&p);
    parallel(n[0], 2000, spread, &p, 0, h);
    free(h);
}
