/* The squared distances of points to their nearest centres, and the gradient of their sum in the centres. */
#include "reference.h"

static double nearest(int64_t k, int64_t d, const double *centres, const double *restrict p, int64_t *which) {
    double best = INFINITY;
    for (int64_t c = 0; c < k; c++) {
        const double *restrict centre = centres + c * d;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < d; j++) {
            double difference = p[j] - centre[j];
            sum += difference * difference;
        }
        if (sum < best) best = sum, *which = c;
    }
    return best;
}

static double distances(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    int64_t k = p->n[1], d = p->n[2], which = 0;
    double sum = 0;
    for (int64_t i = from; i < to; i++) sum += nearest(k, d, p->in[0], p->in[1] + i * d, &which);
    return sum;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    out[0] = parallel(sizes[0], 50, distances, &(struct problem){in, sizes, out}, 0, NULL);
}

static double distances_gradient(const void *context, int64_t from, int64_t to, double *centres_ct) {
    const struct problem *s = context;
    int64_t k = s->n[1], d = s->n[2], which = 0;
    for (int64_t i = from; i < to; i++) {
        const double *restrict p = s->in[1] + i * d;
        nearest(k, d, s->in[0], p, &which);
        const double *restrict centre = s->in[0] + which * d;
        double *restrict ct = centres_ct + which * d;
        for (int64_t j = 0; j < d; j++) ct[j] += 2 * (centre[j] - p[j]);
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t length = sizes[1] * sizes[2];
    memset(out, 0, 8 * (size_t)length);
    parallel(sizes[0], 50, distances_gradient, &(struct problem){in, sizes, out}, length, out);
}
