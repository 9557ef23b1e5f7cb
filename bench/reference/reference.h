/* What every reference shares: the interface, loops on several threads, sums in vector lanes, and a matrix product with a register tile.
 *
 * A reference defines both functions. `in` are the arguments of the entry points in order, `n` the sizes of the workload; results are written one
 * after the other to `out`. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void primal(const double *const *in, const int64_t *n, double *out);
void gradient(const double *const *in, const int64_t *n, double *out);

/* What a part of a loop is given, if it needs no more. */
struct problem {
    const double *const *in;
    const int64_t *n;
    double *out;
};

/* The iterations from `from` up to `to`. */
typedef double part(const void *context, int64_t from, int64_t to, double *into);

/* A loop of n iterations in parts, one for each thread, but of `least` iterations at least. The result is the sum of theirs. Each part adds to `length`
 * numbers of its own, which are zero at first and are added to `into` in the end; the first part adds to `into` itself. On one thread, that is
 * all there is. */
double parallel(int64_t n, int64_t least, part *body, const void *context, int64_t length, double *into);

/* Before the first loop. */
void start_threads(int64_t count);

static inline double dot_product(int64_t n, const double *restrict a, const double *restrict b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* y += a * x */
static inline void axpy(int64_t n, double a, const double *restrict x, double *restrict y) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

typedef double lanes __attribute__((vector_size(64), aligned(8)));

/* c[m][n] (+)= a * b[k][n], where a[i][p] is at a[i * row + p * column]: a transposed matrix is another pair of strides. */
static inline void matrix_product(int64_t m, int64_t n, int64_t k, const double *restrict a, int64_t row, int64_t column,
                                  const double *restrict b, double *restrict c) {
    int64_t i = 0;
    for (; i + 8 <= m; i += 8) {
        int64_t j = 0;
        for (; j + 24 <= n; j += 24) {
            lanes tile[8][3];
            for (int r = 0; r < 8; r++)
                for (int l = 0; l < 3; l++) tile[r][l] = (lanes){0};
            for (int64_t p = 0; p < k; p++) {
                const lanes *restrict bp = (const lanes *)(b + p * n + j);
                lanes b0 = bp[0], b1 = bp[1], b2 = bp[2];
#pragma GCC unroll 8
                for (int r = 0; r < 8; r++) {
                    double x = a[(i + r) * row + p * column];
                    tile[r][0] += x * b0;
                    tile[r][1] += x * b1;
                    tile[r][2] += x * b2;
                }
            }
            for (int r = 0; r < 8; r++)
                for (int l = 0; l < 3; l++) *(lanes *)(c + (i + r) * n + j + 8 * l) = tile[r][l];
        }
        for (; j + 8 <= n; j += 8) {
            lanes tile[8];
            for (int r = 0; r < 8; r++) tile[r] = (lanes){0};
            for (int64_t p = 0; p < k; p++) {
                lanes b0 = *(const lanes *)(b + p * n + j);
#pragma GCC unroll 8
                for (int r = 0; r < 8; r++) tile[r] += a[(i + r) * row + p * column] * b0;
            }
            for (int r = 0; r < 8; r++) *(lanes *)(c + (i + r) * n + j) = tile[r];
        }
        for (; j < n; j++)
            for (int r = 0; r < 8; r++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++) sum += a[(i + r) * row + p * column] * b[p * n + j];
                c[(i + r) * n + j] = sum;
            }
    }
    for (; i < m; i++) {
        memset(c + i * n, 0, sizeof(double) * n);
        for (int64_t p = 0; p < k; p++) axpy(n, a[i * row + p * column], b + p * n, c + i * n);
    }
}

struct product {
    int64_t m, n, k;
    const double *a;
    int64_t row, column;
    const double *b;
};

static double tiles_of_product(const void *context, int64_t from, int64_t to, double *c) {
    const struct product *p = context;
    int64_t rows = (to * 8 < p->m ? to * 8 : p->m) - from * 8;
    matrix_product(rows, p->n, p->k, p->a + from * 8 * p->row, p->row, p->column, p->b, c + from * 8 * p->n);
    return 0;
}

/* The same on several threads, by rows of tiles. */
static inline void parallel_product(int64_t m, int64_t n, int64_t k, const double *a, int64_t row, int64_t column, const double *b,
                                    double *c) {
    struct product p = {m, n, k, a, row, column, b};
    parallel((m + 7) / 8, 1 + 4096 / (n * k + 1), tiles_of_product, &p, 0, c);
}

struct pair {
    int64_t n;
    const double *x, *y;
};

static double part_of_swap(const void *context, int64_t from, int64_t to, double *out) {
    const struct pair *p = context;
    memcpy(out + from, p->y + from, 8 * (size_t)(to - from));
    memcpy(out + p->n + from, p->x + from, 8 * (size_t)(to - from));
    return 0;
}

/* y and then x: the gradient of all x[i] y[i]. */
static inline void parallel_swap(int64_t n, const double *x, const double *y, double *out) {
    parallel(n, 2000, part_of_swap, &(struct pair){n, x, y}, 0, out);
}

static inline void transpose(int64_t m, int64_t n, const double *restrict a, double *restrict t) {
    for (int64_t ii = 0; ii < m; ii += 16)
        for (int64_t jj = 0; jj < n; jj += 16)
            for (int64_t i = ii; i < m && i < ii + 16; i++)
                for (int64_t j = jj; j < n && j < jj + 16; j++) t[j * m + i] = a[i * n + j];
}

/* Whole cache lines, as memory of our native code is. */
static inline double *doubles(int64_t count) { return aligned_alloc(64, ((size_t)count * 8 + 127) / 64 * 64); }

#endif
