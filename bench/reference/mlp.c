/* A network with one hidden layer of rectifiers: mean cross entropy of a batch, and its gradient in weights and biases. */
#include "reference.h"

struct layers {
    int64_t batch, inputs, hidden, outputs;
    double *h, *p; /* activations of the hidden layer, probabilities */
};

static double forward(const double *const *in, struct layers *s) {
    const double *w1 = in[0], *b1 = in[1], *w2 = in[2], *b2 = in[3], *x = in[4], *y = in[5];
    matrix_product(s->batch, s->hidden, s->inputs, x, s->inputs, 1, w1, s->h);
    for (int64_t i = 0; i < s->batch; i++)
        for (int64_t j = 0; j < s->hidden; j++) {
            double z = s->h[i * s->hidden + j] + b1[j];
            s->h[i * s->hidden + j] = z > 0 ? z : 0;
        }
    matrix_product(s->batch, s->outputs, s->hidden, s->h, s->hidden, 1, w2, s->p);
    double loss = 0;
    for (int64_t i = 0; i < s->batch; i++) {
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
    return loss / (double)s->batch;
}

static struct layers layers(const int64_t *n) {
    return (struct layers){n[0], n[1], n[2], n[3], doubles(n[0] * n[2]), doubles(n[0] * n[3])};
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct layers s = layers(n);
    out[0] = forward(in, &s);
    free(s.h), free(s.p);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct layers s = layers(n);
    int64_t m = s.batch, d = s.inputs, h = s.hidden, o = s.outputs;
    const double *w2 = in[2], *x = in[4], *y = in[5];
    double *w1_ct = out, *b1_ct = w1_ct + d * h, *w2_ct = b1_ct + h, *b2_ct = w2_ct + h * o;
    forward(in, &s);
    memset(b1_ct, 0, 8 * (size_t)h);
    memset(b2_ct, 0, 8 * (size_t)o);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < o; j++) {
            s.p[i * o + j] = (s.p[i * o + j] - y[i * o + j]) / (double)m;
            b2_ct[j] += s.p[i * o + j];
        }
    matrix_product(h, o, m, s.h, 1, h, s.p, w2_ct);
    double *w2_transposed = doubles(h * o), *h_ct = doubles(m * h);
    transpose(h, o, w2, w2_transposed);
    matrix_product(m, h, o, s.p, o, 1, w2_transposed, h_ct);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < h; j++) {
            h_ct[i * h + j] = s.h[i * h + j] > 0 ? h_ct[i * h + j] : 0;
            b1_ct[j] += h_ct[i * h + j];
        }
    matrix_product(d, h, m, x, 1, d, h_ct, w1_ct);
    free(s.h), free(s.p), free(w2_transposed), free(h_ct);
}
