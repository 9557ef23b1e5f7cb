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

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], k = sizes[1], d = sizes[2], which = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += nearest(k, d, in[0], in[1] + i * d, &which);
    out[0] = sum;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], k = sizes[1], d = sizes[2], which = 0;
    memset(out, 0, 8 * (size_t)(k * d));
    for (int64_t i = 0; i < n; i++) {
        const double *restrict p = in[1] + i * d;
        nearest(k, d, in[0], p, &which);
        const double *restrict centre = in[0] + which * d;
        double *restrict ct = out + which * d;
        for (int64_t j = 0; j < d; j++) ct[j] += 2 * (centre[j] - p[j]);
    }
}
