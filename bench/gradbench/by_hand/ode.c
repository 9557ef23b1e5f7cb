/* The classical Runge-Kutta method on y_0' = x_0, y_i' = x_i y_(i-1) from y = 0 over two units of time; and the gradient of the last component.
 *
 * A step goes through its stages block by block, each with a few elements more than the next one reads. Arrays are padded for that: x with zeros, y
 * with a one before its first element, so that the slope is x_i y_(i-1) everywhere. */
#include "../../reference/reference.h"

enum { BLOCK = 256, PAD = 4 };

/* An array with zeros before and after it. */
static double *padded(int64_t n) {
    double *array = doubles(n + 2 * PAD) + PAD;
    memset(array - PAD, 0, 8 * PAD);
    memset(array + n, 0, 8 * PAD);
    return array;
}

static double *copy_of(int64_t n, const double *x) { return memcpy(padded(n), x, 8 * (size_t)n); }

static double *zeros(int64_t n) { return memset(padded(n), 0, 8 * (size_t)n); }

/* The state before the first step. */
static double *beginning(int64_t n) {
    double *y = zeros(n);
    y[-1] = 1;
    return y;
}

static void release(double *array) { free(array - PAD); }

/* Three stages of a block of elements; element i of the block is at PAD + i. */
struct stages {
    double k1[BLOCK + 2 * PAD], k2[BLOCK + 2 * PAD], k3[BLOCK + 2 * PAD];
};

static void stages(int64_t count, double h, const double *x, const double *y, struct stages *s) {
    double *restrict k1 = s->k1 + PAD, *restrict k2 = s->k2 + PAD, *restrict k3 = s->k3 + PAD;
#pragma omp simd
    for (int64_t i = -3; i < count; i++) k1[i] = x[i] * y[i - 1];
#pragma omp simd
    for (int64_t i = -2; i < count; i++) k2[i] = x[i] * (y[i - 1] + h / 2 * k1[i - 1]);
#pragma omp simd
    for (int64_t i = -1; i < count; i++) k3[i] = x[i] * (y[i - 1] + h / 2 * k2[i - 1]);
}

static void step(int64_t n, double h, const double *x, const double *y, double *restrict next) {
    struct stages s;
    const double *restrict k1 = s.k1 + PAD, *restrict k2 = s.k2 + PAD, *restrict k3 = s.k3 + PAD;
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t count = n - from < BLOCK ? n - from : BLOCK;
        stages(count, h, x + from, y + from, &s);
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            double k4 = x[from + i] * (y[from + i - 1] + h * k3[i - 1]);
            next[from + i] = y[from + i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4);
        }
    }
    next[-1] = 1;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double *x = copy_of(n[0], in[0]), *y = beginning(n[0]), *next = padded(n[0]);
    for (int64_t i = 0; i < n[1]; i++) {
        step(n[0], 2 / (double)n[1], x, y, next);
        double *other = y;
        y = next, next = other;
    }
    memcpy(out, y, 8 * (size_t)n[0]);
    release(x), release(y), release(next);
}

/* What a step from y makes of cotangents of its result: those of y, in the same place, and what it adds to those of x. */
static void step_back(int64_t n, double h, const double *x, const double *y, double *restrict y_ct, double *restrict x_ct) {
    struct stages s;
    const double *restrict k1 = s.k1 + PAD, *restrict k2 = s.k2 + PAD, *restrict k3 = s.k3 + PAD;
    double k1_ct[BLOCK + PAD], k2_ct[BLOCK + PAD], k3_ct[BLOCK + PAD], k4_ct[BLOCK + PAD];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t count = n - from < BLOCK ? n - from : BLOCK;
        const double *xs = x + from, *ys = y + from;
        double *restrict ct = y_ct + from, *restrict to = x_ct + from;
        stages(count, h, xs, ys, &s);
#pragma omp simd
        for (int64_t i = 0; i < count + 4; i++) k4_ct[i] = h / 6 * ct[i];
#pragma omp simd
        for (int64_t i = 0; i < count + 3; i++) k3_ct[i] = h / 3 * ct[i] + h * xs[i + 1] * k4_ct[i + 1];
#pragma omp simd
        for (int64_t i = 0; i < count + 2; i++) k2_ct[i] = h / 3 * ct[i] + h / 2 * xs[i + 1] * k3_ct[i + 1];
#pragma omp simd
        for (int64_t i = 0; i < count + 1; i++) k1_ct[i] = h / 6 * ct[i] + h / 2 * xs[i + 1] * k2_ct[i + 1];
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            ct[i] += xs[i + 1] * (k1_ct[i + 1] + k2_ct[i + 1] + k3_ct[i + 1] + k4_ct[i + 1]);
            to[i] += (k1_ct[i] + k2_ct[i] + k3_ct[i] + k4_ct[i]) * ys[i - 1] +
                     h / 2 * (k2_ct[i] * k1[i - 1] + k3_ct[i] * k2[i - 1]) + h * k4_ct[i] * k3[i - 1];
        }
    }
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    int64_t size = n[0], steps = n[1];
    double h = 2 / (double)steps, *x = copy_of(size, in[0]), *y_ct = zeros(size);
    double **states = malloc(sizeof(double *) * (size_t)(steps + 1));
    states[0] = beginning(size);
    for (int64_t i = 0; i < steps; i++) step(size, h, x, states[i], states[i + 1] = padded(size));
    memset(out, 0, 8 * (size_t)size);
    y_ct[size - 1] = 1;
    for (int64_t i = steps - 1; i >= 0; i--) step_back(size, h, x, states[i], y_ct, out);
    for (int64_t i = 0; i <= steps; i++) release(states[i]);
    free(states), release(x), release(y_ct);
}
