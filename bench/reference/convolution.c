/* A signal against a kernel at all places where the kernel is inside; the cotangents of both for one of the result. */
#include "reference.h"

static double places(const void *context, int64_t from, int64_t to, double *out) {
    const struct problem *p = context;
    memset(out + from, 0, 8 * (size_t)(to - from));
    for (int64_t j = 0; j < p->n[1]; j++) axpy(to - from, p->in[1][j], p->in[0] + from + j, out + from);
    return 0;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    parallel(sizes[0] - sizes[1] + 1, 500, places, &(struct problem){in, sizes, out}, 0, out);
}

/* By places of the signal; a place of the result is j places before one of the signal. */
static double signal_gradient(const void *context, int64_t from, int64_t to, double *restrict kernel_ct) {
    const struct problem *p = context;
    int64_t k = p->n[1], m = p->n[0] - k + 1;
    const double *restrict signal = p->in[0], *restrict kernel = p->in[1], *restrict y_ct = p->in[2];
    double *restrict signal_ct = p->out;
    memset(signal_ct + from, 0, 8 * (size_t)(to - from));
    for (int64_t j = 0; j < k; j++) {
        int64_t first = from > j ? from - j : 0, last = to - j < m ? to - j : m;
        axpy(last - first, kernel[j], y_ct + first, signal_ct + first + j);
        kernel_ct[j] += dot_product(last - first, signal + first + j, y_ct + first);
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], k = sizes[1];
    double *kernel_ct = out + n;
    memset(kernel_ct, 0, 8 * (size_t)k);
    parallel(n, 500, signal_gradient, &(struct problem){in, sizes, out}, k, kernel_ct);
}
