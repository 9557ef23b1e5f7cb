/* A Gaussian mixture with full covariances and a Wishart prior: the log likelihood, and its gradient in alpha, l, mu and q. The factor Q of a
 * component has exp q on its diagonal and l below it, column by column. All points go through a component as one matrix product; dimensions are
 * padded with zeros to whole vectors. */
#include "../../reference/reference.h"

struct mixture {
    int64_t n, d, k, t, width; /* numbers of points, dimensions, components, numbers in l; padded dimensions */
    double m, gamma;
    const double *x, *alpha, *mu, *q, *l;
    double *factor;         /* [d][width], transposed, of one component */
    double *centred, *y;    /* [n][width] of one component: x - mu, and Q (x - mu) */
    double *terms, *square; /* [k][n]; [k] the squared entries of Q */
};

static double *zeros(int64_t count) { return memset(doubles(count), 0, 8 * (size_t)count); }

static struct mixture begin(const double *const *in, const int64_t *n) {
    int64_t width = (n[1] + 7) / 8 * 8;
    struct mixture s = {n[0], n[1], n[3], n[9], width, (double)n[2], in[1][0], in[0], in[2], in[3], in[4], in[5], 0, 0, 0, 0, 0};
    s.factor = zeros(width * width);
    s.centred = zeros(s.n * width);
    s.y = doubles(s.n * width);
    s.terms = doubles(s.k * s.n);
    s.square = doubles(s.k);
    return s;
}

static void end(struct mixture *s) { free(s->factor), free(s->centred), free(s->y), free(s->terms), free(s->square); }

/* The factor of component c, and all points through it. */
static void transform(const struct mixture *s, int64_t c) {
    const double *mu = s->mu + c * s->d, *q = s->q + c * s->d, *l = s->l + c * s->t;
    for (int64_t j = 0; j < s->d; j++) {
        s->factor[j * s->width + j] = exp(q[j]);
        memcpy(s->factor + j * s->width + j + 1, l, 8 * (size_t)(s->d - j - 1));
        l += s->d - j - 1;
    }
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->d; j++) s->centred[i * s->width + j] = s->x[i * s->d + j] - mu[j];
    matrix_product(s->n, s->width, s->d, s->centred, s->width, 1, s->factor, s->y);
}

static double sum_of(int64_t n, const double *x) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double log_sum_exp(int64_t k, const double *x) {
    double most = x[0], sum = 0;
    for (int64_t i = 1; i < k; i++) most = fmax(most, x[i]);
    for (int64_t i = 0; i < k; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

/* The terms of all components become their shares of each point; gives the sum of the points' logarithms. */
static double shares(const struct mixture *s) {
    double total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double *terms = s->terms + i, most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < s->k; c++) most = terms[c * s->n] > most ? terms[c * s->n] : most;
        for (int64_t c = 0; c < s->k; c++) sum += terms[c * s->n] = exp(terms[c * s->n] - most);
        for (int64_t c = 0; c < s->k; c++) terms[c * s->n] /= sum;
        total += most + log(sum);
    }
    return total;
}

static double likelihood(const struct mixture *s) {
    for (int64_t c = 0; c < s->k; c++) {
        transform(s, c);
        double constant = s->alpha[c] + sum_of(s->d, s->q + c * s->d);
        for (int64_t i = 0; i < s->n; i++) {
            const double *y = s->y + i * s->width;
            s->terms[c * s->n + i] = constant - 0.5 * dot_product(s->width, y, y);
        }
        s->square[c] = dot_product(s->d * s->width, s->factor, s->factor);
    }
    return shares(s) - (double)s->n * (0.5 * (double)s->d * log(2 * M_PI) + log_sum_exp(s->k, s->alpha));
}

static double prior(const struct mixture *s) {
    double d = (double)s->d, nu = d + s->m + 1, log_gamma = d * (d - 1) / 4 * log(M_PI);
    for (int64_t j = 0; j < s->d; j++) log_gamma += lgamma((nu - (double)j) / 2);
    return (double)s->k * (nu * d * log(s->gamma / M_SQRT2) - log_gamma) + s->m * sum_of(s->k * s->d, s->q) -
           0.5 * s->gamma * s->gamma * sum_of(s->k, s->square);
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct mixture s = begin(in, n);
    out[0] = likelihood(&s);
    out[0] += prior(&s);
    end(&s);
}

/* The cotangents of one component. Those of Q are -(share y) (x - mu)^T over all points, and of the prior -gamma^2 Q. */
static void component(const struct mixture *s, int64_t c, double *q_ct, double *mu_ct, double *l_ct, double *factor_ct, double *y_sums) {
    const double *share = s->terms + c * s->n;
    double shared = sum_of(s->n, share), square = s->gamma * s->gamma;
    transform(s, c);
    memset(y_sums, 0, 8 * (size_t)s->width);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->width; j++) y_sums[j] += s->y[i * s->width + j] *= share[i];
    matrix_product(s->d, s->width, s->n, s->centred, 1, s->width, s->y, factor_ct); /* transposed, as the factor */
    for (int64_t j = 0; j < s->d; j++) {
        const double *column = s->factor + j * s->width, *column_ct = factor_ct + j * s->width;
        mu_ct[j] = dot_product(s->width, column, y_sums);
        q_ct[j] = shared + s->m - column[j] * (column_ct[j] + square * column[j]);
        for (int64_t i = j + 1; i < s->d; i++) *l_ct++ = -column_ct[i] - square * column[i];
    }
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct mixture s = begin(in, n);
    double *alpha_ct = out, *l_ct = alpha_ct + s.k, *mu_ct = l_ct + s.k * s.t, *q_ct = mu_ct + s.k * s.d;
    double *factor_ct = doubles(s.width * s.width), *y_sums = doubles(s.width), normaliser = log_sum_exp(s.k, s.alpha);
    likelihood(&s);
    for (int64_t c = 0; c < s.k; c++) {
        alpha_ct[c] = sum_of(s.n, s.terms + c * s.n) - (double)s.n * exp(s.alpha[c] - normaliser);
        component(&s, c, q_ct + c * s.d, mu_ct + c * s.d, l_ct + c * s.t, factor_ct, y_sums);
    }
    free(factor_ct), free(y_sums);
    end(&s);
}
