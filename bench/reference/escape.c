/* y <- y + y^2 / 10 + p while y < 4, for every element; the sum of the last ones, and its gradient in starts and p. One input of a scalar function
 * needs no tape: the two derivatives are carried along. */
#include "reference.h"

void primal(const double *const *in, const int64_t *n, double *out) {
    double sum = 0;
    for (int64_t i = 0; i < n[0]; i++) {
        double y = in[0][i], p = in[1][i];
        while (y < 4) y = y + 0.1 * y * y + p;
        sum += y;
    }
    out[0] = sum;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    for (int64_t i = 0; i < n[0]; i++) {
        double y = in[0][i], p = in[1][i], by_start = 1, by_p = 0;
        while (y < 4) {
            double slope = 1 + 0.2 * y;
            y = y + 0.1 * y * y + p;
            by_start *= slope;
            by_p = slope * by_p + 1;
        }
        out[i] = by_start;
        out[n[0] + i] = by_p;
    }
}
