/* (x, y) <- (a_t x + y, x) for every t; the sum of the last x, and its gradient in a, x and y. Elements go through all steps by themselves. */
#include "reference.h"

static void step(int64_t n, double a, const double *restrict x, const double *restrict y, double *restrict z) {
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
}

static double total(int64_t n, const double *restrict x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double all_steps(const void *context, int64_t from, int64_t to, double *buffer) {
    const struct problem *p = context;
    int64_t n = p->n[0], steps = p->n[1];
    const double *x = p->in[1] + from, *y = p->in[2] + from;
    for (int64_t t = 0; t < steps; t++) {
        double *z = buffer + t % 3 * n + from;
        step(to - from, p->in[0][t], x, y, z);
        y = x;
        x = z;
    }
    return total(to - from, x);
}

void primal(const double *const *in, const int64_t *sizes, double *out) {
    double *buffer = doubles(3 * sizes[0]);
    out[0] = parallel(sizes[0], 1000, all_steps, &(struct problem){in, sizes, out}, 0, buffer);
    free(buffer);
}

struct backwards {
    struct problem problem;
    double *states; /* state t is x before step t; the y before it is the state before that. */
};

static double there_and_back(const void *context, int64_t from, int64_t to, double *a_ct) {
    const struct backwards *s = context;
    const struct problem *p = &s->problem;
    int64_t n = p->n[0], steps = p->n[1], count = to - from;
    double *states = s->states + from;
    memcpy(states, p->in[1] + from, 8 * (size_t)count);
    for (int64_t t = 0; t < steps; t++) {
        const double *y = t ? states + (t - 1) * n : p->in[2] + from;
        step(count, p->in[0][t], states + t * n, y, states + (t + 1) * n);
    }
    double *restrict x_ct = p->out + steps + from, *restrict y_ct = p->out + steps + n + from;
    for (int64_t i = 0; i < count; i++) x_ct[i] = 1, y_ct[i] = 0;
    for (int64_t t = steps - 1; t >= 0; t--) {
        const double *restrict x = states + t * n;
        double a = p->in[0][t], sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < count; i++) {
            double z_ct = x_ct[i];
            sum += z_ct * x[i];
            x_ct[i] = a * z_ct + y_ct[i];
            y_ct[i] = z_ct;
        }
        a_ct[t] += sum;
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *sizes, double *out) {
    int64_t n = sizes[0], steps = sizes[1];
    struct backwards s = {{in, sizes, out}, doubles((steps + 1) * n)};
    memset(out, 0, 8 * (size_t)steps);
    parallel(n, 1000, there_and_back, &s, steps, out);
    free(s.states);
}
