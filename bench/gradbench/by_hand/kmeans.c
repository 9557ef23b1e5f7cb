/* The squared distances of points to their nearest centroids; and the gradient of their sum in the centroids, divided by the diagonal of the Hessian:
 * by how far a centroid is off the mean of its points. */
#include "../../reference/reference.h"

enum { BLOCK = 32, VECTORS = BLOCK / 8 };

struct search {
    int64_t k, d, padded;
    double *by_component; /* of the centroids, with some at infinity in the end */
    double *distances;
};

static struct search begin(int64_t k, int64_t d, const double *centroids) {
    int64_t padded = (k + BLOCK - 1) / BLOCK * BLOCK;
    struct search s = {k, d, padded, doubles(d * padded), doubles(padded)};
    for (int64_t j = 0; j < d; j++)
        for (int64_t c = 0; c < padded; c++) s.by_component[j * padded + c] = c < k ? centroids[c * d + j] : INFINITY;
    return s;
}

static void end(struct search *s) { free(s->by_component), free(s->distances); }

/* The least distance of a point, after those to all centroids. */
static double nearest(const struct search *s, const double *p) {
    for (int64_t c = 0; c < s->padded; c += BLOCK) {
        lanes sum[VECTORS] = {{0}};
        for (int64_t j = 0; j < s->d; j++) {
            const lanes *centroids = (const lanes *)(s->by_component + j * s->padded + c);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                lanes difference = centroids[v] - p[j];
                sum[v] += difference * difference;
            }
        }
        memcpy(s->distances + c, sum, sizeof sum);
    }
    double best = INFINITY;
#pragma omp simd reduction(min : best)
    for (int64_t c = 0; c < s->padded; c++) best = s->distances[c] < best ? s->distances[c] : best;
    return best;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct search s = begin(n[2], n[1], in[1]);
    double sum = 0;
    for (int64_t i = 0; i < n[0]; i++) sum += nearest(&s, in[0] + i * s.d);
    out[0] = sum;
    end(&s);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct search s = begin(n[2], n[1], in[1]);
    double *counts = calloc((size_t)s.k, 8);
    memset(out, 0, 8 * (size_t)(s.k * s.d));
    for (int64_t i = 0; i < n[0]; i++) {
        const double *p = in[0] + i * s.d;
        double best = nearest(&s, p);
        int64_t which = 0;
        while (s.distances[which] != best) which++;
        counts[which]++;
        for (int64_t j = 0; j < s.d; j++) out[which * s.d + j] += in[1][which * s.d + j] - p[j];
    }
    for (int64_t c = 0; c < s.k; c++)
        for (int64_t j = 0; j < s.d; j++) out[c * s.d + j] /= counts[c];
    free(counts);
    end(&s);
}
