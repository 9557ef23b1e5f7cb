/* A Gaussian mixture with full covariances and a prior: the log likelihood, and its gradient in weights, means and factors. The factor Q of a
 * component has exp q on its diagonal and l below it, row by row. */
#include "reference.h"

static double log_sum_exp(int64_t k, const double *x) {
    double most = x[0], sum = 0;
    for (int64_t i = 1; i < k; i++) most = fmax(most, x[i]);
    for (int64_t i = 0; i < k; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

struct tables {
    double *diagonal, *sums; /* exp q, and the sums of q */
};

static struct tables tables(int64_t k, int64_t d, const double *q) {
    struct tables s = {doubles(k * d), doubles(k)};
    for (int64_t c = 0; c < k; c++) {
        s.sums[c] = 0;
        for (int64_t r = 0; r < d; r++) {
            s.sums[c] += q[c * d + r];
            s.diagonal[c * d + r] = exp(q[c * d + r]);
        }
    }
    return s;
}

/* centred = x - mu, y = Q centred; gives |y|^2 */
static double transform(int64_t d, const double *restrict x, const double *restrict mu, const double *restrict diagonal,
                        const double *restrict l, double *restrict centred, double *restrict y) {
    double square = 0;
    for (int64_t r = 0; r < d; r++) centred[r] = x[r] - mu[r];
    for (int64_t r = 0; r < d; r++) {
        y[r] = diagonal[r] * centred[r] + dot_product(r, l, centred);
        square += y[r] * y[r];
        l += r;
    }
    return square;
}

static double constant(const int64_t *n, const double *const *in, const struct tables *s) {
    int64_t count = n[0], d = n[1], k = n[2], t = d * (d - 1) / 2;
    double prior = dot_product(k * d, s->diagonal, s->diagonal) + dot_product(k * t, in[4], in[4]);
    return -(double)count * (0.5 * (double)d * log(2 * M_PI) + log_sum_exp(k, in[1])) - 0.5 * prior;
}

struct mixture {
    struct problem problem;
    struct tables tables;
};

static double likelihoods(const void *context, int64_t from, int64_t to, double *out) {
    const struct mixture *m = context;
    const struct tables *s = &m->tables;
    const double *const *in = m->problem.in;
    int64_t d = m->problem.n[1], k = m->problem.n[2], t = d * (d - 1) / 2;
    const double *x = in[0], *alpha = in[1], *mu = in[2], *l = in[4];
    double *terms = doubles(k), *centred = doubles(d), *y = doubles(d), sum = 0;
    for (int64_t i = from; i < to; i++) {
        for (int64_t c = 0; c < k; c++)
            terms[c] = alpha[c] + s->sums[c] -
                       0.5 * transform(d, x + i * d, mu + c * d, s->diagonal + c * d, l + c * t, centred, y);
        sum += log_sum_exp(k, terms);
    }
    free(terms), free(centred), free(y);
    return sum;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct mixture m = {{in, n, out}, tables(n[2], n[1], in[3])};
    out[0] = parallel(n[0], 1, likelihoods, &m, 0, NULL) + constant(n, in, &m.tables);
    free(m.tables.diagonal), free(m.tables.sums);
}

static double likelihoods_gradient(const void *context, int64_t from, int64_t to, double *out) {
    const struct mixture *m = context;
    const struct tables *s = &m->tables;
    const double *const *in = m->problem.in;
    int64_t d = m->problem.n[1], k = m->problem.n[2], t = d * (d - 1) / 2;
    const double *x = in[0], *alpha = in[1], *mu = in[2], *l = in[4];
    double *alpha_ct = out, *mu_ct = alpha_ct + k, *q_ct = mu_ct + k * d, *l_ct = q_ct + k * d;
    double *terms = doubles(k), *centred = doubles(k * d), *y = doubles(k * d);
    for (int64_t i = from; i < to; i++) {
        for (int64_t c = 0; c < k; c++)
            terms[c] = alpha[c] + s->sums[c] -
                       0.5 * transform(d, x + i * d, mu + c * d, s->diagonal + c * d, l + c * t, centred + c * d, y + c * d);
        double normaliser = log_sum_exp(k, terms);
        for (int64_t c = 0; c < k; c++) {
            double w = exp(terms[c] - normaliser);
            const double *restrict row = l + c * t, *restrict z = centred + c * d, *restrict diagonal = s->diagonal + c * d;
            double *restrict row_ct = l_ct + c * t, *restrict m_ct = mu_ct + c * d;
            alpha_ct[c] += w;
            for (int64_t r = 0; r < d; r++) {
                double wy = w * y[c * d + r];
                q_ct[c * d + r] += w - wy * diagonal[r] * z[r];
                m_ct[r] += wy * diagonal[r];
#pragma omp simd
                for (int64_t j = 0; j < r; j++) {
                    row_ct[j] -= wy * z[j];
                    m_ct[j] += wy * row[j];
                }
                row += r;
                row_ct += r;
            }
        }
    }
    free(terms), free(centred), free(y);
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    int64_t count = n[0], d = n[1], k = n[2], t = d * (d - 1) / 2;
    double *alpha_ct = out, *mu_ct = alpha_ct + k, *q_ct = mu_ct + k * d, *l_ct = q_ct + k * d;
    struct mixture m = {{in, n, out}, tables(k, d, in[3])};
    double shared = log_sum_exp(k, in[1]);
    memset(mu_ct, 0, 8 * (size_t)(k * d));
    for (int64_t c = 0; c < k; c++) alpha_ct[c] = -(double)count * exp(in[1][c] - shared);
    for (int64_t i = 0; i < k * d; i++) q_ct[i] = -m.tables.diagonal[i] * m.tables.diagonal[i];
    for (int64_t i = 0; i < k * t; i++) l_ct[i] = -in[4][i];
    parallel(count, 4, likelihoods_gradient, &m, k + 2 * k * d + k * t, out);
    free(m.tables.diagonal), free(m.tables.sums);
}
