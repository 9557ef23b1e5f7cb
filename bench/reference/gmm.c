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

void primal(const double *const *in, const int64_t *n, double *out) {
    int64_t count = n[0], d = n[1], k = n[2], t = d * (d - 1) / 2;
    const double *x = in[0], *alpha = in[1], *mu = in[2], *q = in[3], *l = in[4];
    struct tables s = tables(k, d, q);
    double *terms = doubles(k), *centred = doubles(d), *y = doubles(d), sum = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t c = 0; c < k; c++)
            terms[c] = alpha[c] + s.sums[c] -
                       0.5 * transform(d, x + i * d, mu + c * d, s.diagonal + c * d, l + c * t, centred, y);
        sum += log_sum_exp(k, terms);
    }
    out[0] = sum + constant(n, in, &s);
    free(terms), free(centred), free(y), free(s.diagonal), free(s.sums);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    int64_t count = n[0], d = n[1], k = n[2], t = d * (d - 1) / 2;
    const double *x = in[0], *alpha = in[1], *mu = in[2], *q = in[3], *l = in[4];
    double *alpha_ct = out, *mu_ct = alpha_ct + k, *q_ct = mu_ct + k * d, *l_ct = q_ct + k * d;
    struct tables s = tables(k, d, q);
    double *terms = doubles(k), *centred = doubles(k * d), *y = doubles(k * d);
    double shared = log_sum_exp(k, alpha);
    memset(mu_ct, 0, 8 * (size_t)(k * d));
    for (int64_t c = 0; c < k; c++) alpha_ct[c] = -(double)count * exp(alpha[c] - shared);
    for (int64_t i = 0; i < k * d; i++) q_ct[i] = -s.diagonal[i] * s.diagonal[i];
    for (int64_t i = 0; i < k * t; i++) l_ct[i] = -l[i];
    for (int64_t i = 0; i < count; i++) {
        for (int64_t c = 0; c < k; c++)
            terms[c] = alpha[c] + s.sums[c] -
                       0.5 * transform(d, x + i * d, mu + c * d, s.diagonal + c * d, l + c * t, centred + c * d, y + c * d);
        double normaliser = log_sum_exp(k, terms);
        for (int64_t c = 0; c < k; c++) {
            double w = exp(terms[c] - normaliser);
            const double *restrict row = l + c * t, *restrict z = centred + c * d, *restrict diagonal = s.diagonal + c * d;
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
    free(terms), free(centred), free(y), free(s.diagonal), free(s.sums);
}
