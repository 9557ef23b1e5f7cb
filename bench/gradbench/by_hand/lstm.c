/* A long short-term memory network whose gates have diagonal weights, predicting the next element of a sequence: the loss, and its gradient in all
 * parameters. Gates in the order forget, in, out, change. */
#include "../../reference/reference.h"

/* What is kept of one layer at one step: b numbers each. */
enum { INPUT, HIDDEN, MEMORY, FORGET, IN, OUT, CHANGE, SQUASHED, KEPT };

struct network {
    int64_t layers, steps, b;
    const double *parameters, *extra, *state, *sequence; /* [layers][2][4][b]; [3][b]; [layers][2][b]; [steps + 1][b] */
    double *kept;                                         /* [steps][layers][KEPT][b] */
    double *now;                                          /* [layers][2][b] */
    double *y, *exponentials;                             /* [steps][b], of the predictions */
};

static struct network begin(const double *const *in, const int64_t *n) {
    struct network s = {n[0] / 2, n[6] - 1, n[7], in[0], in[1], in[2], in[3], 0, 0, 0, 0};
    s.kept = doubles(s.steps * s.layers * KEPT * s.b);
    s.now = doubles(s.layers * 2 * s.b);
    s.y = doubles(s.b);
    s.exponentials = doubles(s.steps * s.b);
    return s;
}

static void end(struct network *s) { free(s->kept), free(s->now), free(s->y), free(s->exponentials); }

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* One layer on its input; changes its state, the first half of which is its output. */
static void layer(int64_t b, const double *w, double *restrict state, double *restrict kept) {
    const double *bias = w + 4 * b;
    double *restrict hidden = state, *restrict memory = state + b;
    memcpy(kept + HIDDEN * b, state, 16 * (size_t)b);
    for (int64_t j = 0; j < b; j++) {
        double x = kept[INPUT * b + j], h = hidden[j];
        double forget = sigmoid(x * w[j] + bias[j]), in = sigmoid(h * w[b + j] + bias[b + j]);
        double out = sigmoid(x * w[2 * b + j] + bias[2 * b + j]), change = tanh(h * w[3 * b + j] + bias[3 * b + j]);
        memory[j] = memory[j] * forget + in * change;
        double squashed = tanh(memory[j]);
        hidden[j] = out * squashed;
        kept[FORGET * b + j] = forget, kept[IN * b + j] = in, kept[OUT * b + j] = out;
        kept[CHANGE * b + j] = change, kept[SQUASHED * b + j] = squashed;
    }
}

/* The loss. Exponentials of the predictions are divided by their sum and 2. */
static double forward(struct network *s) {
    int64_t b = s->b;
    double total = 0;
    memcpy(s->now, s->state, 16 * (size_t)(s->layers * b));
    for (int64_t t = 0; t < s->steps; t++) {
        double *kept = s->kept + t * s->layers * KEPT * b, *exponentials = s->exponentials + t * b, sum = 2;
        for (int64_t j = 0; j < b; j++) kept[INPUT * b + j] = s->sequence[t * b + j] * s->extra[j];
        for (int64_t i = 0; i < s->layers; i++) {
            layer(b, s->parameters + i * 8 * b, s->now + i * 2 * b, kept + i * KEPT * b);
            if (i + 1 < s->layers) memcpy(kept + ((i + 1) * KEPT + INPUT) * b, s->now + i * 2 * b, 8 * (size_t)b);
        }
        const double *last = s->now + (s->layers - 1) * 2 * b, *next = s->sequence + (t + 1) * b;
        for (int64_t j = 0; j < b; j++) {
            s->y[j] = last[j] * s->extra[b + j] + s->extra[2 * b + j];
            sum += exponentials[j] = exp(s->y[j]);
        }
        double normal = log(sum);
        for (int64_t j = 0; j < b; j++) {
            total += next[j] * (s->y[j] - normal);
            exponentials[j] /= sum;
        }
    }
    return -total / (double)(b * s->steps);
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct network s = begin(in, n);
    out[0] = forward(&s);
    end(&s);
}

/* From the cotangent of a layer's output to that of its input, in the same place; `state_ct` is that of its state after and then before the step. */
static void layer_back(int64_t b, const double *w, const double *restrict kept, double *restrict state_ct, double *restrict ct,
                       double *restrict w_ct) {
    double *restrict bias_ct = w_ct + 4 * b;
#pragma omp simd
    for (int64_t j = 0; j < b; j++) {
        double x = kept[INPUT * b + j], h = kept[HIDDEN * b + j], c = kept[MEMORY * b + j], squashed = kept[SQUASHED * b + j];
        double forget = kept[FORGET * b + j], in = kept[IN * b + j], out = kept[OUT * b + j], change = kept[CHANGE * b + j];
        double hidden_ct = state_ct[j] + ct[j];
        double memory_ct = state_ct[b + j] + hidden_ct * out * (1 - squashed * squashed);
        double forget_ct = memory_ct * c * forget * (1 - forget), in_ct = memory_ct * change * in * (1 - in);
        double out_ct = hidden_ct * squashed * out * (1 - out), change_ct = memory_ct * in * (1 - change * change);
        w_ct[j] += forget_ct * x, w_ct[b + j] += in_ct * h, w_ct[2 * b + j] += out_ct * x, w_ct[3 * b + j] += change_ct * h;
        bias_ct[j] += forget_ct, bias_ct[b + j] += in_ct, bias_ct[2 * b + j] += out_ct, bias_ct[3 * b + j] += change_ct;
        ct[j] = forget_ct * w[j] + out_ct * w[2 * b + j];
        state_ct[j] = in_ct * w[b + j] + change_ct * w[3 * b + j];
        state_ct[b + j] = memory_ct * forget;
    }
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct network s = begin(in, n);
    int64_t b = s.b;
    double *extra_ct = out + s.layers * 8 * b, *ct = doubles(b), *state_ct = calloc((size_t)(s.layers * 2 * b), 8);
    double scale = -1 / (double)(b * s.steps);
    memset(out, 0, 8 * (size_t)(s.layers * 8 * b + 3 * b));
    forward(&s);
    for (int64_t t = s.steps - 1; t >= 0; t--) {
        const double *kept = s.kept + t * s.layers * KEPT * b, *last = kept + (s.layers - 1) * KEPT * b;
        const double *next = s.sequence + (t + 1) * b, *shares = s.exponentials + t * b;
        double sum = 0;
        for (int64_t j = 0; j < b; j++) sum += next[j];
        for (int64_t j = 0; j < b; j++) {
            double y_ct = scale * (next[j] - sum * shares[j]);
            extra_ct[b + j] += y_ct * last[OUT * b + j] * last[SQUASHED * b + j];
            extra_ct[2 * b + j] += y_ct;
            ct[j] = y_ct * s.extra[b + j];
        }
        for (int64_t i = s.layers - 1; i >= 0; i--)
            layer_back(b, s.parameters + i * 8 * b, kept + i * KEPT * b, state_ct + i * 2 * b, ct, out + i * 8 * b);
        for (int64_t j = 0; j < b; j++) extra_ct[j] += ct[j] * s.sequence[t * b + j];
    }
    free(ct), free(state_ct);
    end(&s);
}
