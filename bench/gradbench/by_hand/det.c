/* The determinant by expansion into minors along the first row, and its gradient, in one walk through the same minors. */
#include "../../reference/reference.h"

struct matrix {
    int64_t n;
    const double *a;
    double *ct;
};

static int first(int64_t set) { return __builtin_ctzll((uint64_t)set); }
static int64_t others(int64_t set) { return set & (set - 1); }

static double of_two(const double *a, const double *b, int j, int k) { return a[j] * b[k] - a[k] * b[j]; }

/* The minor of the rows from `row` on and the columns of a set, a bit for each. */
static double minor(const struct matrix *m, int64_t row, int64_t columns) {
    const double *a = m->a + row * m->n;
    int i = first(columns);
    if (row == m->n - 1) return a[i];
    int j = first(others(columns));
    if (row == m->n - 2) return of_two(a, a + m->n, i, j);
    if (row == m->n - 3) {
        int k = first(others(others(columns)));
        const double *b = a + m->n, *c = b + m->n;
        return a[i] * of_two(b, c, j, k) - a[j] * of_two(b, c, i, k) + a[k] * of_two(b, c, i, j);
    }
    double sum = 0, sign = 1;
    for (int64_t rest = columns; rest; rest = others(rest), sign = -sign)
        sum += sign * a[first(rest)] * minor(m, row + 1, columns ^ 1ll << first(rest));
    return sum;
}

/* The same, adding its cotangent times its derivative to those of the matrix. */
static double minor_back(const struct matrix *m, int64_t row, int64_t columns, double cotangent) {
    const double *a = m->a + row * m->n;
    double *a_ct = m->ct + row * m->n;
    if (row == m->n - 1) {
        a_ct[first(columns)] += cotangent;
        return a[first(columns)];
    }
    if (row == m->n - 3) {
        const double *b = a + m->n, *c = b + m->n;
        double *b_ct = a_ct + m->n, *c_ct = b_ct + m->n;
        int i = first(columns), j = first(others(columns)), k = first(others(others(columns)));
        double jk = of_two(b, c, j, k), ik = of_two(b, c, i, k), ij = of_two(b, c, i, j);
        double ai = cotangent * a[i], aj = cotangent * a[j], ak = cotangent * a[k];
        a_ct[i] += cotangent * jk, a_ct[j] -= cotangent * ik, a_ct[k] += cotangent * ij;
        b_ct[i] += ak * c[j] - aj * c[k], b_ct[j] += ai * c[k] - ak * c[i], b_ct[k] += aj * c[i] - ai * c[j];
        c_ct[i] += aj * b[k] - ak * b[j], c_ct[j] += ak * b[i] - ai * b[k], c_ct[k] += ai * b[j] - aj * b[i];
        return a[i] * jk - a[j] * ik + a[k] * ij;
    }
    double sum = 0, sign = 1;
    for (int64_t rest = columns; rest; rest = others(rest), sign = -sign) {
        int j = first(rest);
        double below = sign * minor_back(m, row + 1, columns ^ 1ll << j, cotangent * sign * a[j]);
        a_ct[j] += cotangent * below;
        sum += a[j] * below;
    }
    return sum;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    out[0] = minor(&(struct matrix){n[1], in[0], NULL}, 0, (1ll << n[1]) - 1);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    memset(out, 0, 8 * (size_t)n[0]);
    minor_back(&(struct matrix){n[1], in[0], out}, 0, (1ll << n[1]) - 1, 1);
}
