/* A long short-term memory cell over a sequence: half the squared error of the hidden states, and its gradient in the weights. Gates in the order
 * forget, input, output, change. */
#include "reference.h"

struct run {
    const double *const *in;
    int64_t steps, inputs, hidden;
    double *gates, *memory, *squashed, *h; /* gates after their functions; tanh of memory; states 0 and up, the first all zero */
};

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static struct run begin(const double *const *in, const int64_t *n) {
    struct run s = {in, n[0], n[1], n[2], 0, 0, 0, 0};
    s.gates = doubles(n[0] * 4 * n[2]);
    s.memory = calloc((size_t)((n[0] + 1) * n[2]), 8);
    s.squashed = doubles(n[0] * n[2]);
    s.h = calloc((size_t)((n[0] + 1) * n[2]), 8);
    return s;
}

static void end(struct run *s) { free(s->gates), free(s->memory), free(s->squashed), free(s->h); }

struct step {
    const struct run *run;
    int64_t t;
};

/* Step t for some of the hidden numbers. */
static double forward(const void *context, int64_t from, int64_t to, double *no_sums) {
    const struct step *step = context;
    const struct run *s = step->run;
    const double *wx = s->in[0], *wh = s->in[1], *b = s->in[2], *x = s->in[3], *target = s->in[4];
    int64_t t = step->t, d = s->inputs, h = s->hidden;
    double *restrict g = s->gates + t * 4 * h;
    const double *restrict before = s->memory + t * h;
    double *restrict memory = s->memory + (t + 1) * h, *restrict out = s->h + (t + 1) * h, *restrict squashed = s->squashed + t * h;
    for (int64_t gate = 0; gate < 4; gate++)
        for (int64_t r = gate * h + from; r < gate * h + to; r++)
            g[r] = b[r] + dot_product(d, wx + r * d, x + t * d) + dot_product(h, wh + r * h, s->h + t * h);
    for (int64_t gate = 0; gate < 3; gate++)
        for (int64_t r = gate * h + from; r < gate * h + to; r++) g[r] = sigmoid(g[r]);
    for (int64_t r = 3 * h + from; r < 3 * h + to; r++) g[r] = tanh(g[r]);
    double loss = 0;
    for (int64_t j = from; j < to; j++) {
        memory[j] = g[j] * before[j] + g[h + j] * g[3 * h + j];
        squashed[j] = tanh(memory[j]);
        out[j] = g[2 * h + j] * squashed[j];
        double error = out[j] - target[t * h + j];
        loss += error * error;
    }
    return loss;
}

static double all_steps(const struct run *s) {
    double loss = 0;
    for (int64_t t = 0; t < s->steps; t++) loss += parallel(s->hidden, 16, forward, &(struct step){s, t}, 0, NULL);
    return 0.5 * loss;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct run s = begin(in, n);
    out[0] = all_steps(&s);
    end(&s);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct run s = begin(in, n);
    const double *wh = in[1], *x = in[3], *target = in[4];
    int64_t d = s.inputs, h = s.hidden, steps = s.steps;
    double *wx_ct = out, *wh_ct = wx_ct + 4 * h * d, *b_ct = wh_ct + 4 * h * h;
    all_steps(&s);
    double *z_ct = doubles(steps * 4 * h), *restrict h_ct = calloc((size_t)h, 8), *restrict c_ct = calloc((size_t)h, 8);
    memset(b_ct, 0, 8 * 4 * (size_t)h);
    for (int64_t t = steps - 1; t >= 0; t--) {
        const double *restrict g = s.gates + t * 4 * h, *restrict before = s.memory + t * h, *restrict squashed = s.squashed + t * h;
        double *restrict z = z_ct + t * 4 * h;
        for (int64_t j = 0; j < h; j++) {
            double f = g[j], i = g[h + j], o = g[2 * h + j], u = g[3 * h + j];
            double out_ct = h_ct[j] + s.h[(t + 1) * h + j] - target[t * h + j];
            double memory_ct = c_ct[j] + out_ct * o * (1 - squashed[j] * squashed[j]);
            z[j] = memory_ct * before[j] * f * (1 - f);
            z[h + j] = memory_ct * u * i * (1 - i);
            z[2 * h + j] = out_ct * squashed[j] * o * (1 - o);
            z[3 * h + j] = memory_ct * i * (1 - u * u);
            c_ct[j] = memory_ct * f;
            h_ct[j] = 0;
        }
        for (int64_t r = 0; r < 4 * h; r++) {
            axpy(h, z[r], wh + r * h, h_ct);
            b_ct[r] += z[r];
        }
    }
    parallel_product(4 * h, d, steps, z_ct, 1, 4 * h, x, wx_ct);
    parallel_product(4 * h, h, steps, z_ct, 1, 4 * h, s.h, wh_ct);
    free(z_ct), free(h_ct), free(c_ct);
    end(&s);
}
