/* Hand tracking: how far the skin of a posed hand is from points that were measured, and the Jacobian of that in the pose and, for points on
 * triangles, in their two coordinates. A pose is a rotation, a translation, and four angles for each of five fingers. */
#include "rotation.h"

enum { POSE = 26, FINGERS = 6 }; /* the angles of fingers begin at FINGERS */

typedef double affine[3][4]; /* the last row is that of zeros and a one, or of zeros in a derivative */

struct hand {
    int64_t bones, vertices, count; /* of correspondences */
    const double *theta, *us, *base, *base_relatives, *inverse, *weights, *points;
    const int64_t *parents, *triangles, *correspondences;
    double side; /* -1 for a mirrored hand */
    struct rotation rotation;
    affine *relatives, *absolutes, *moves; /* of the bones; `moves` act on the skin */
    double (*posed)[3], (*skin)[3];        /* vertices before and after the rotation and translation */
};

static struct hand begin(const double *const *in, const int64_t *n) {
    struct hand s = {.bones = n[6], .vertices = n[4], .count = n[3], .theta = in[0], .us = n[1] ? in[1] : NULL, .base = in[3]};
    s.correspondences = (const int64_t *)in[2], s.base_relatives = in[4], s.inverse = in[5], s.side = in[6][0] != 0 ? -1 : 1;
    s.parents = (const int64_t *)in[7], s.triangles = (const int64_t *)in[8], s.weights = in[9], s.points = in[10];
    const double *r = s.theta;
    s.rotation = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] < 1e-8 ? no_rotation(0) : rotation(r);
    s.relatives = malloc(3 * sizeof(affine) * (size_t)s.bones);
    s.absolutes = s.relatives + s.bones, s.moves = s.absolutes + s.bones;
    s.posed = malloc(2 * sizeof(double[3]) * (size_t)s.vertices);
    s.skin = s.posed + s.vertices;
    return s;
}

static void end(struct hand *s) { free(s->relatives), free(s->posed); }

/* a b, where the last row of b ends with `corner`. */
static void product(affine a, affine b, double corner, affine out) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
        out[i][3] += a[i][3] * corner;
    }
}

/* The angles of a bone about x and z as places in theta, or 0 where it has none: after two bones come fingers of four, of which the first has both, the
 * next two have one and the last has none. */
static int angle_x(int64_t bone) {
    int64_t finger = (bone - 2) / 4, part = (bone - 2) % 4;
    return bone < 2 || finger >= 5 || part == 3 ? 0 : FINGERS + (int)(4 * finger + (part ? part + 1 : 0));
}

static int angle_z(int64_t bone) { return angle_x(bone) && (bone - 2) % 4 == 0 ? angle_x(bone) + 1 : 0; }

/* A bone's own turn and its derivatives by both angles. */
static void turn(const struct hand *s, int64_t bone, affine turned, affine by_x, affine by_z) {
    double x = angle_x(bone) ? s->theta[angle_x(bone)] : 0, z = angle_z(bone) ? s->theta[angle_z(bone)] : 0;
    double cx = cos(x), sx = sin(x), cz = cos(z), sz = sin(z);
    memcpy(turned, (affine){{cz, -sz * cx, sz * sx, 0}, {sz, cz * cx, -cz * sx, 0}, {0, sx, cx, 0}}, sizeof(affine));
    memcpy(by_x, (affine){{0, sz * sx, sz * cx, 0}, {0, -cz * sx, -cz * cx, 0}, {0, cx, -sx, 0}}, sizeof(affine));
    memcpy(by_z, (affine){{-sz, -cz * cx, cz * sx, 0}, {cz, -sz * cx, sz * sx, 0}, {0, 0, 0, 0}}, sizeof(affine));
}

static double *base_relative(const struct hand *s, int64_t bone) { return (double *)s->base_relatives + 16 * bone; }
static double *inverse(const struct hand *s, int64_t bone) { return (double *)s->inverse + 16 * bone; }

static void pose_bones(struct hand *s) {
    for (int64_t i = 0; i < s->bones; i++) {
        affine turned, by_x, by_z;
        turn(s, i, turned, by_x, by_z);
        product((void *)base_relative(s, i), turned, 1, s->relatives[i]);
        if (s->parents[i] < 0)
            memcpy(s->absolutes[i], s->relatives[i], sizeof(affine));
        else
            product(s->absolutes[s->parents[i]], s->relatives[i], 1, s->absolutes[i]);
        product(s->absolutes[i], (void *)inverse(s, i), 1, s->moves[i]);
    }
}

/* A vertex moved by the bones it hangs on. */
static void skinned(const struct hand *s, int64_t vertex, affine *moves, double *out) {
    const double *weights = s->weights + vertex * s->bones, *base = s->base + 4 * vertex;
    affine blended = {{0}};
    for (int64_t i = 0; i < s->bones; i++)
        if (weights[i] != 0) axpy(12, weights[i], (const double *)moves[i], (double *)blended);
    for (int r = 0; r < 3; r++) out[r] = dot_product(4, blended[r], base);
    out[0] *= s->side;
}

static void pose_skin(struct hand *s) {
    pose_bones(s);
    for (int64_t i = 0; i < s->vertices; i++) {
        skinned(s, i, s->moves, s->posed[i]);
        rotate(s->rotation.turn, s->posed[i], s->skin[i]);
        for (int r = 0; r < 3; r++) s->skin[i][r] += s->theta[3 + r];
    }
}

void primal(const double *const *in, const int64_t *n, double *out) {
    struct hand s = begin(in, n);
    pose_skin(&s);
    for (int64_t i = 0; i < s.count; i++) {
        const int64_t *corners = s.triangles + 3 * s.correspondences[i];
        for (int r = 0; r < 3; r++) {
            double at = s.us ? s.us[2 * i] * s.skin[corners[0]][r] + s.us[2 * i + 1] * s.skin[corners[1]][r] +
                                   (1 - s.us[2 * i] - s.us[2 * i + 1]) * s.skin[corners[2]][r]
                             : s.skin[s.correspondences[i]][r];
            out[3 * i + r] = s.points[3 * i + r] - at;
        }
    }
    end(&s);
}

/* How the moves of all bones change with an angle: not for those before the bone that has it, nor for those that do not hang on it. Tells which do. */
static void moves_by_angle(const struct hand *s, int64_t bone, int about_z, affine *absolutes, affine *moves, char *changes) {
    affine turned, by_x, by_z, relative;
    memset(changes, 0, (size_t)s->bones);
    turn(s, bone, turned, by_x, by_z);
    product((void *)base_relative(s, bone), about_z ? by_z : by_x, 0, relative);
    for (int64_t i = bone; i < s->bones; i++) {
        int64_t parent = s->parents[i];
        changes[i] = i == bone || (parent >= 0 && changes[parent]);
        if (!changes[i]) continue;
        if (i != bone)
            product(absolutes[parent], s->relatives[i], 1, absolutes[i]);
        else if (parent < 0)
            memcpy(absolutes[i], relative, sizeof(affine));
        else
            product(s->absolutes[parent], relative, 0, absolutes[i]);
        product(absolutes[i], (void *)inverse(s, i), 1, moves[i]);
    }
}

/* The derivatives of all vertices by the pose. */
static void skin_by_pose(struct hand *s, double (*by_pose)[3][POSE]) {
    affine *absolutes = malloc(2 * sizeof(affine) * (size_t)s->bones), *moves = absolutes + s->bones;
    char *changes = malloc((size_t)s->bones);
    memset(by_pose, 0, sizeof(double[3][POSE]) * (size_t)s->vertices);
    for (int64_t v = 0; v < s->vertices; v++) {
        matrix3 by_rotation;
        rotation_derivative(&s->rotation, s->posed[v], by_rotation);
        for (int r = 0; r < 3; r++) {
            memcpy(by_pose[v][r], by_rotation[r], sizeof by_rotation[r]);
            by_pose[v][r][3 + r] = 1;
        }
    }
    for (int64_t bone = 0; bone < s->bones; bone++)
        for (int about_z = 0; about_z < 2; about_z++) {
            int angle = about_z ? angle_z(bone) : angle_x(bone);
            if (!angle) continue;
            moves_by_angle(s, bone, about_z, absolutes, moves, changes);
            for (int64_t v = 0; v < s->vertices; v++) {
                const double *weights = s->weights + v * s->bones, *base = s->base + 4 * v;
                double moved[3] = {0}, turned[3];
                for (int64_t i = bone; i < s->bones; i++)
                    if (changes[i] && weights[i] != 0)
                        for (int r = 0; r < 3; r++) moved[r] += weights[i] * dot_product(4, moves[i][r], base);
                moved[0] *= s->side;
                rotate(s->rotation.turn, moved, turned);
                for (int r = 0; r < 3; r++) by_pose[v][r][angle] = turned[r];
            }
        }
    free(absolutes), free(changes);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    struct hand s = begin(in, n);
    double(*by_pose)[3][POSE] = malloc(sizeof(double[3][POSE]) * (size_t)s.vertices);
    pose_skin(&s);
    skin_by_pose(&s, by_pose);
    for (int64_t i = 0; i < s.count; i++) {
        int64_t which = s.correspondences[i];
        for (int r = 0; r < 3; r++) {
            if (!s.us) {
                for (int j = 0; j < POSE; j++) *out++ = -by_pose[which][r][j];
                continue;
            }
            const int64_t *corners = s.triangles + 3 * which;
            double p = s.us[2 * i], q = s.us[2 * i + 1];
            const double *a = by_pose[corners[0]][r], *b = by_pose[corners[1]][r], *c = by_pose[corners[2]][r];
            *out++ = s.skin[corners[2]][r] - s.skin[corners[0]][r];
            *out++ = s.skin[corners[2]][r] - s.skin[corners[1]][r];
            for (int j = 0; j < POSE; j++) *out++ = -(p * a[j] + q * b[j] + (1 - p - q) * c[j]);
        }
    }
    free(by_pose);
    end(&s);
}
