/* Two layers of rectifiers and a safe softmax, summed with weights 1, 2, …; the gradient in all weights, biases and the input. */
#include "reference.h"

static void layer(int64_t rows, int64_t columns, const double *a, const double *b, const double *x, double *y) {
    for (int64_t i = 0; i < rows; i++) y[i] = fmax(dot_product(columns, a + i * columns, x) + b[i], 0);
}

static double softmax(int64_t n, const double *y, double *p) {
    double most = y[0], sum = 0, result = 0;
    for (int64_t i = 1; i < n; i++) most = fmax(most, y[i]);
    for (int64_t i = 0; i < n; i++) sum += p[i] = exp(y[i] - most);
    for (int64_t i = 0; i < n; i++) result += (double)(i + 1) * (p[i] /= sum);
    return result;
}

static void layer_gradient(int64_t rows, int64_t columns, const double *a, const double *x, const double *y, double *y_ct,
                           double *a_ct, double *b_ct, double *x_ct) {
    memset(x_ct, 0, 8 * (size_t)columns);
    for (int64_t i = 0; i < rows; i++) {
        double ct = b_ct[i] = y[i] > 0 ? y_ct[i] : 0;
        const double *restrict row = a + i * columns;
        double *restrict row_ct = a_ct + i * columns;
#pragma omp simd
        for (int64_t j = 0; j < columns; j++) {
            row_ct[j] = ct * x[j];
            x_ct[j] += ct * row[j];
        }
    }
}

void primal(const double *const *in, const int64_t *n, double *out) {
    double *h = doubles(n[1]), *y = doubles(n[2]), *p = doubles(n[2]);
    layer(n[1], n[0], in[0], in[1], in[4], h);
    layer(n[2], n[1], in[2], in[3], h, y);
    out[0] = softmax(n[2], y, p);
    free(h), free(y), free(p);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    double *h = doubles(n[1]), *y = doubles(n[2]), *p = doubles(n[2]), *h_ct = doubles(n[1]);
    double *a1 = out, *b1 = a1 + n[1] * n[0], *a2 = b1 + n[1], *b2 = a2 + n[2] * n[1], *x_ct = b2 + n[2];
    layer(n[1], n[0], in[0], in[1], in[4], h);
    layer(n[2], n[1], in[2], in[3], h, y);
    double result = softmax(n[2], y, p);
    for (int64_t i = 0; i < n[2]; i++) p[i] *= (double)(i + 1) - result;
    layer_gradient(n[2], n[1], in[2], h, y, p, a2, b2, h_ct);
    layer_gradient(n[1], n[0], in[0], in[4], h, h_ct, a1, b1, x_ct);
    free(h), free(y), free(p), free(h_ct);
}
