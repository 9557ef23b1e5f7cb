/* The heat equation on a square grid with a fixed border; half the squared distance to a target after some steps, and its gradient in the first state.
 * A step is linear, so nothing is kept: the transposed step goes back. */
#include "reference.h"

static const double RATE = 0.2;

struct grid {
    int64_t n;
    const double *u;
    double *border_ct; /* on the way back */
};

/* A step for some of the inner rows. */
static double step(const void *context, int64_t from, int64_t to, double *restrict next) {
    const struct grid *grid = context;
    const double *restrict u = grid->u;
    int64_t n = grid->n;
    for (int64_t i = 1 + from; i < 1 + to; i++)
        for (int64_t j = 1; j < n - 1; j++) {
            int64_t at = i * n + j;
            next[at] = u[at] + RATE * (u[at - n] + u[at + n] + u[at - 1] + u[at + 1] - 4 * u[at]);
        }
    return 0;
}

/* The state after all steps, in one of two buffers that share the border. */
static double *run(const double *const *in, int64_t n, int64_t steps, double *buffers) {
    double *u = buffers, *next = buffers + n * n;
    memcpy(u, in[0], 8 * (size_t)(n * n));
    memcpy(next, in[0], 8 * (size_t)(n * n));
    for (int64_t t = 0; t < steps; t++) {
        parallel(n - 2, 16, step, &(struct grid){n, u, NULL}, 0, next);
        double *swap = u;
        u = next;
        next = swap;
    }
    return u;
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0];
    double *buffers = doubles(2 * n * n);
    const double *restrict u = run(in, n, sizes[1], buffers), *restrict target = in[1];
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n * n; i++) sum += (u[i] - target[i]) * (u[i] - target[i]);
    out[0] = 0.5 * sum;
    free(buffers);
}

/* The inner part is stepped with a border of zeros; the border collects what its neighbours read of it. */
static double step_back(const void *context, int64_t from, int64_t to, double *next) {
    const struct grid *grid = context;
    const double *g = grid->u;
    double *out = grid->border_ct;
    int64_t n = grid->n, last = n - 1;
    for (int64_t j = 1 + from; j < 1 + to; j++) {
        out[j] += RATE * g[n + j];
        out[last * n + j] += RATE * g[(last - 1) * n + j];
        out[j * n] += RATE * g[j * n + 1];
        out[j * n + last] += RATE * g[j * n + last - 1];
    }
    return step(context, from, to, next);
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], last = n - 1;
    double *buffers = doubles(2 * n * n), *u = run(in, n, sizes[1], buffers);
    for (int64_t i = 0; i < n * n; i++) out[i] = u[i] - in[1][i];
    double *g = buffers, *next = buffers + n * n;
    memset(buffers, 0, 8 * (size_t)(2 * n * n));
    for (int64_t i = 1; i < last; i++) memcpy(g + i * n + 1, out + i * n + 1, 8 * (size_t)(n - 2));
    for (int64_t t = 0; t < sizes[1]; t++) {
        parallel(n - 2, 16, step_back, &(struct grid){n, g, out}, 0, next);
        double *swap = g;
        g = next;
        next = swap;
    }
    for (int64_t i = 1; i < last; i++) memcpy(out + i * n + 1, g + i * n + 1, 8 * (size_t)(n - 2));
    free(buffers);
}
