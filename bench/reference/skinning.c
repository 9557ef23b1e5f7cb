/* Linear blend skinning: vertices move with a weighted sum of bones, each with three angles and a shift. The full Jacobian in the pose, which is dense in
 * memory; a good half of the shift's part is zero. */
#include "reference.h"

struct bone {
    double turn[3][3], by_angle[3][3][3], shift[3];
};

static void multiply(double a[3][3], double b[3][3], double c[3][3]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

static void pose_bone(const double *p, struct bone *bone) {
    double s[3], c[3], m[3][3];
    for (int i = 0; i < 3; i++) s[i] = sin(p[i]), c[i] = cos(p[i]), bone->shift[i] = p[3 + i];
    double x[3][3] = {{1, 0, 0}, {0, c[0], -s[0]}, {0, s[0], c[0]}}, dx[3][3] = {{0, 0, 0}, {0, -s[0], -c[0]}, {0, c[0], -s[0]}};
    double y[3][3] = {{c[1], 0, s[1]}, {0, 1, 0}, {-s[1], 0, c[1]}}, dy[3][3] = {{-s[1], 0, c[1]}, {0, 0, 0}, {-c[1], 0, -s[1]}};
    double z[3][3] = {{c[2], -s[2], 0}, {s[2], c[2], 0}, {0, 0, 1}}, dz[3][3] = {{-s[2], -c[2], 0}, {c[2], -s[2], 0}, {0, 0, 0}};
    multiply(y, x, m), multiply(z, m, bone->turn), multiply(dz, m, bone->by_angle[2]);
    multiply(y, dx, m), multiply(z, m, bone->by_angle[0]);
    multiply(dy, x, m), multiply(z, m, bone->by_angle[1]);
}

static double row(const double *m, const double *v) { return m[0] * v[0] + m[1] * v[1] + m[2] * v[2]; }

static struct bone *pose(const double *const *in, int64_t bones) {
    struct bone *made = malloc(sizeof(struct bone) * (size_t)bones);
    for (int64_t b = 0; b < bones; b++) pose_bone(in[0] + 6 * b, made + b);
    return made;
}

struct skin {
    struct problem problem;
    const struct bone *bones;
};

static double vertices(const void *context, int64_t from, int64_t to, double *out) {
    const struct skin *skin = context;
    const double *const *in = skin->problem.in;
    const struct bone *bones = skin->bones;
    int64_t count = skin->problem.n[1];
    for (int64_t i = from; i < to; i++) {
        const double *v = in[2] + 3 * i;
        double sum[3] = {0, 0, 0};
        for (int64_t b = 0; b < count; b++)
            for (int c = 0; c < 3; c++) sum[c] += in[1][i * count + b] * (row(bones[b].turn[c], v) + bones[b].shift[c]);
        memcpy(out + 3 * i, sum, sizeof sum);
    }
    return 0;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct bone *bones = pose(in, n[1]);
    parallel(n[0], 100, vertices, &(struct skin){{in, n, out}, bones}, 0, out);
    free(bones);
}

static double vertices_gradient(const void *context, int64_t from, int64_t to, double *out) {
    const struct skin *skin = context;
    const double *const *in = skin->problem.in;
    const struct bone *bones = skin->bones;
    int64_t count = skin->problem.n[1];
    for (int64_t i = from; i < to; i++) {
        const double *v = in[2] + 3 * i;
        for (int c = 0; c < 3; c++)
            for (int64_t b = 0; b < count; b++) {
                double w = in[1][i * count + b], *to = out + (3 * i + c) * 6 * count + 6 * b;
                for (int a = 0; a < 3; a++) to[a] = w * row(bones[b].by_angle[a][c], v);
                for (int a = 0; a < 3; a++) to[3 + a] = a == c ? w : 0;
            }
    }
    return 0;
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct bone *bones = pose(in, n[1]);
    parallel(n[0], 25, vertices_gradient, &(struct skin){{in, n, out}, bones}, 0, out);
    free(bones);
}
