/* y = A x and the cotangents of A and x for one of y, by OpenBLAS. */
#include "../reference/reference.h"
#include <cblas.h>

void primal(const double *const *in, const int64_t *n, double *out) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n[0], (int)n[1], 1, in[0], (int)n[1], in[1], 1, 0, out, 1);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    int rows = (int)n[0], columns = (int)n[1];
    memset(out, 0, 8 * (size_t)(n[0] * n[1]));
    cblas_dger(CblasRowMajor, rows, columns, 1, in[2], 1, in[1], 1, out, columns);
    cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, 1, in[0], columns, in[2], 1, 0, out + n[0] * n[1], 1);
}
