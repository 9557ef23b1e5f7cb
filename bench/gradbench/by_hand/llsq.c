/* A polynomial with m coefficients fitted to the sign function at n points between -1 and 1: half the squared residuals, and their gradient. Points
 * are taken in blocks, side by side; what a block has too many are points 0 whose residuals do not count. */
#include "../../reference/reference.h"

enum { BLOCK = 32 };

/* The points of the block from `first` on, and their residuals. */
static void residuals(int64_t m, int64_t n, const double *x, int64_t first, double *restrict t, double *restrict r) {
    int64_t count = n - first < BLOCK ? n - first : BLOCK;
    double y[BLOCK] = {0};
    for (int64_t i = 0; i < BLOCK; i++) t[i] = i < count ? -1 + 2 * (double)(first + i) / (double)(n - 1) : 0;
    for (int64_t j = m - 1; j >= 0; j--) {
#pragma omp simd
        for (int64_t i = 0; i < BLOCK; i++) y[i] = y[i] * t[i] + x[j];
    }
    for (int64_t i = 0; i < BLOCK; i++) r[i] = i < count ? (double)((t[i] > 0) - (t[i] < 0)) - y[i] : 0;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double t[BLOCK], r[BLOCK], sum = 0;
    for (int64_t first = 0; first < n[1]; first += BLOCK) {
        residuals(n[0], n[1], in[0], first, t, r);
        sum += dot_product(BLOCK, r, r);
    }
    out[0] = 0.5 * sum;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    double t[BLOCK], r[BLOCK];
    memset(out, 0, 8 * (size_t)n[0]);
    for (int64_t first = 0; first < n[1]; first += BLOCK) {
        residuals(n[0], n[1], in[0], first, t, r);
        for (int64_t j = 0; j < n[0]; j++) { /* r is the residual times the power j of the point */
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < BLOCK; i++) {
                sum += r[i];
                r[i] *= t[i];
            }
            out[j] -= sum;
        }
    }
}
