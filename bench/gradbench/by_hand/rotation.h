/* Rotations about an axis whose length is the angle, and how they change with it. */
#ifndef ROTATION_H
#define ROTATION_H

#include "../../reference/reference.h"

typedef double matrix3[3][3];

/* The matrix whose product with a vector is the cross product of v and that vector. */
static inline void cross_matrix(const double *v, matrix3 out) {
    matrix3 m = {{0, -v[2], v[1]}, {v[2], 0, -v[0]}, {-v[1], v[0], 0}};
    memcpy(out, m, sizeof m);
}

static inline void product3(matrix3 a, matrix3 b, matrix3 out) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

/* A rotation R by r, and the factor M of its derivative: that of R v by r is -R [v] M, with [v] the cross matrix of v, and M being
 * (r r^T + (R^T - 1) [r]) / |r|^2. */
struct rotation {
    matrix3 turn, factor;
};

static inline struct rotation rotation(const double *r) {
    struct rotation s;
    double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], angle = sqrt(square), c = cos(angle), k = (1 - c) / square;
    matrix3 cross, back;
    cross_matrix(r, cross);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s.turn[i][j] = k * r[i] * r[j] + (i == j ? c : 0) + sin(angle) / angle * cross[i][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) back[i][j] = s.turn[j][i] - (i == j);
    product3(back, cross, s.factor);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s.factor[i][j] = (s.factor[i][j] + r[i] * r[j]) / square;
    return s;
}

/* No rotation; its derivative is that of the linear form if `factor` is 1, and nothing if it is 0. */
static inline struct rotation no_rotation(double factor) {
    struct rotation s = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{factor, 0, 0}, {0, factor, 0}, {0, 0, factor}}};
    return s;
}

static inline void rotate(matrix3 turn, const double *v, double *out) {
    for (int i = 0; i < 3; i++) out[i] = turn[i][0] * v[0] + turn[i][1] * v[1] + turn[i][2] * v[2];
}

/* How the rotated v changes with the three numbers of r. */
static inline void rotation_derivative(struct rotation *s, const double *v, matrix3 out) {
    double minus[3] = {-v[0], -v[1], -v[2]};
    matrix3 cross, moved;
    cross_matrix(minus, cross);
    product3(cross, s->factor, moved);
    product3(s->turn, moved, out);
}

#endif
