/* A network with one hidden layer of rectifiers: mean cross entropy of a batch, and its gradient in weights and biases. */
#include "reference.h"

struct layers {
    const double *const *in;
    int64_t batch, inputs, hidden, outputs;
    double *h, *p, *h_ct, *w2_transposed; /* activations of the hidden layer, probabilities; for the way back */
};

/* Some rows of the batch, in groups of 8. */
static double forward(const void *context, int64_t from, int64_t to, double *out) {
    const struct layers *s = context;
    const double *w1 = s->in[0], *b1 = s->in[1], *w2 = s->in[2], *b2 = s->in[3], *x = s->in[4], *y = s->in[5];
    from *= 8, to = to * 8 < s->batch ? to * 8 : s->batch;
    double *h = s->h + from * s->hidden;
    matrix_product(to - from, s->hidden, s->inputs, x + from * s->inputs, s->inputs, 1, w1, h);
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < s->hidden; j++) {
            double z = s->h[i * s->hidden + j] + b1[j];
            s->h[i * s->hidden + j] = z > 0 ? z : 0;
        }
    matrix_product(to - from, s->outputs, s->hidden, h, s->hidden, 1, w2, s->p + from * s->outputs);
    double loss = 0;
    for (int64_t i = from; i < to; i++) {
        double *p = s->p + i * s->outputs, most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < s->outputs; j++) {
            p[j] += b2[j];
            most = fmax(most, p[j]);
        }
        for (int64_t j = 0; j < s->outputs; j++) sum += exp(p[j] - most);
        double normaliser = most + log(sum);
        for (int64_t j = 0; j < s->outputs; j++) {
            loss += y[i * s->outputs + j] * (normaliser - p[j]);
            p[j] = exp(p[j] - normaliser);
        }
    }
    return loss;
}

static struct layers layers(const double *const *in, const int64_t *n) {
    return (struct layers){in, n[0], n[1], n[2], n[3], doubles(n[0] * n[2]), doubles(n[0] * n[3]), NULL, NULL};
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct layers s = layers(in, n);
    out[0] = parallel((s.batch + 7) / 8, 1, forward, &s, 0, NULL) / (double)s.batch;
    free(s.h), free(s.p);
}

/* The cotangents of the hidden layer and its bias, for some rows. */
static double hidden_gradient(const void *context, int64_t from, int64_t to, double *b1_ct) {
    const struct layers *s = context;
    int64_t h = s->hidden, o = s->outputs;
    from *= 8, to = to * 8 < s->batch ? to * 8 : s->batch;
    matrix_product(to - from, h, o, s->p + from * o, o, 1, s->w2_transposed, s->h_ct + from * h);
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < h; j++) {
            s->h_ct[i * h + j] = s->h[i * h + j] > 0 ? s->h_ct[i * h + j] : 0;
            b1_ct[j] += s->h_ct[i * h + j];
        }
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct layers s = layers(in, n);
    int64_t m = s.batch, d = s.inputs, h = s.hidden, o = s.outputs;
    const double *w2 = in[2], *x = in[4], *y = in[5];
    double *w1_ct = out, *b1_ct = w1_ct + d * h, *w2_ct = b1_ct + h, *b2_ct = w2_ct + h * o;
    parallel((m + 7) / 8, 1, forward, &s, 0, NULL);
    memset(b1_ct, 0, 8 * (size_t)h);
    memset(b2_ct, 0, 8 * (size_t)o);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < o; j++) {
            s.p[i * o + j] = (s.p[i * o + j] - y[i * o + j]) / (double)m;
            b2_ct[j] += s.p[i * o + j];
        }
    parallel_product(h, o, m, s.h, 1, h, s.p, w2_ct);
    s.w2_transposed = doubles(h * o), s.h_ct = doubles(m * h);
    transpose(h, o, w2, s.w2_transposed);
    parallel((m + 7) / 8, 2, hidden_gradient, &s, h, b1_ct);
    parallel_product(d, h, m, x, 1, d, s.h_ct, w1_ct);
    free(s.h), free(s.p), free(s.w2_transposed), free(s.h_ct);
}
