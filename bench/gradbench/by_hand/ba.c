/* Bundle adjustment: how far cameras project points from where they were seen, and the sparse Jacobian of that, as compressed rows (columns, where
 * rows begin, values). Cameras are fewer than observations: what depends on them alone is computed once. */
#include "rotation.h"

enum { CAMERA = 11, POINT = 3, ENTRIES = CAMERA + POINT + 1 };

struct bundle {
    int64_t n, m, p;
    const double *cameras, *points, *weights, *features;
    const int64_t *camera_of, *point_of;
    struct rotation *rotations;
};

static struct bundle begin(const double *const *in, const int64_t *n) {
    struct bundle s = {n[0], n[2], n[4], in[0], in[1], in[2], in[3], (const int64_t *)in[4], (const int64_t *)in[5], 0};
    s.rotations = malloc(sizeof(struct rotation) * (size_t)s.n);
    for (int64_t i = 0; i < s.n; i++) {
        const double *r = s.cameras + i * CAMERA;
        s.rotations[i] = r[0] == 0 && r[1] == 0 && r[2] == 0 ? no_rotation(1) : rotation(r);
    }
    return s;
}

/* An observation: the point before the camera and after its rotation, its projection, and how that is distorted. */
struct view {
    double from[3], at[3], u, v, square, distortion;
};

static inline struct view view(const double *camera, struct rotation *rotation, const double *point) {
    struct view s;
    for (int i = 0; i < 3; i++) s.from[i] = point[i] - camera[3 + i];
    rotate(rotation->turn, s.from, s.at);
    s.u = s.at[0] / s.at[2], s.v = s.at[1] / s.at[2];
    s.square = s.u * s.u + s.v * s.v;
    s.distortion = 1 + (camera[9] + camera[10] * s.square) * s.square;
    return s;
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct bundle s = begin(in, n);
    double *weight_errors = out + 2 * s.p;
    for (int64_t i = 0; i < s.p; i++) {
        const double *camera = s.cameras + s.camera_of[i] * CAMERA, *feature = s.features + 2 * i;
        struct view at = view(camera, s.rotations + s.camera_of[i], s.points + s.point_of[i] * POINT);
        out[2 * i] = s.weights[i] * (camera[6] * at.distortion * at.u + camera[7] - feature[0]);
        out[2 * i + 1] = s.weights[i] * (camera[6] * at.distortion * at.v + camera[8] - feature[1]);
        weight_errors[i] = 1 - s.weights[i] * s.weights[i];
    }
    free(s.rotations);
}

/* The two rows of an observation. */
static inline void rows_of_view(const double *camera, struct rotation *rotation, const double *point, double w, const double *feature,
                                double *out) {
    struct view s = view(camera, rotation, point);
    double focal = camera[6], slope = 2 * (camera[9] + 2 * camera[10] * s.square), *rows[2] = {out, out + ENTRIES};
    double place[2] = {s.u, s.v};
    matrix3 by_rotation;
    rotation_derivative(rotation, s.from, by_rotation);
    for (int r = 0; r < 2; r++) {
        double by_u = w * focal * (place[r] * slope * s.u + (r == 0 ? s.distortion : 0));
        double by_v = w * focal * (place[r] * slope * s.v + (r == 1 ? s.distortion : 0));
        double by_point[3] = {by_u / s.at[2], by_v / s.at[2], -(by_u * s.u + by_v * s.v) / s.at[2]};
        for (int j = 0; j < 3; j++) {
            double moved = 0, turned = 0;
            for (int k = 0; k < 3; k++) {
                moved += by_point[k] * rotation->turn[k][j];
                turned += by_point[k] * by_rotation[k][j];
            }
            rows[r][j] = turned;
            rows[r][3 + j] = -moved;
            rows[r][CAMERA + j] = moved;
        }
        rows[r][6] = w * s.distortion * place[r];
        rows[r][7] = r == 0 ? w : 0;
        rows[r][8] = r == 1 ? w : 0;
        rows[r][9] = w * focal * s.square * place[r];
        rows[r][10] = w * focal * s.square * s.square * place[r];
        rows[r][14] = focal * s.distortion * place[r] + camera[7 + r] - feature[r];
    }
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct bundle s = begin(in, n);
    int64_t entries = (2 * ENTRIES + 1) * s.p, *columns = (int64_t *)out, *rows = columns + entries;
    double *values = out + entries + 3 * s.p + 1;
    for (int64_t i = 0; i < s.p; i++) {
        int64_t camera = s.camera_of[i], point = s.point_of[i], weight = CAMERA * s.n + POINT * s.m + i;
        rows_of_view(s.cameras + camera * CAMERA, s.rotations + camera, s.points + point * POINT, s.weights[i], s.features + 2 * i,
                     values + 2 * ENTRIES * i);
        for (int r = 0; r < 2; r++) {
            int64_t *row = columns + (2 * i + r) * ENTRIES;
            for (int j = 0; j < CAMERA; j++) row[j] = CAMERA * camera + j;
            for (int j = 0; j < POINT; j++) row[CAMERA + j] = CAMERA * s.n + POINT * point + j;
            row[CAMERA + POINT] = weight;
            rows[2 * i + r] = (2 * i + r) * ENTRIES;
        }
        columns[2 * ENTRIES * s.p + i] = weight;
        rows[2 * s.p + i] = 2 * ENTRIES * s.p + i;
        values[2 * ENTRIES * s.p + i] = -2 * s.weights[i];
    }
    rows[3 * s.p] = entries;
    free(s.rotations);
}
