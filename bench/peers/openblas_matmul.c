/* C = A B and the cotangents of A and B for one of C, by OpenBLAS. */
#include "../reference/reference.h"
#include <cblas.h>

void primal(const double *const *in, const int64_t *n, double *out) {
    int m = (int)n[0], k = (int)n[1], columns = (int)n[2];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, columns, k, 1, in[0], k, in[1], columns, 0, out, columns);
}

void gradient(const double *const *in, const int64_t *n, double *out) {
    int m = (int)n[0], k = (int)n[1], columns = (int)n[2];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, columns, 1, in[2], columns, in[1], columns, 0, out, k);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, columns, m, 1, in[0], k, in[2], columns, 0, out + n[0] * n[1], columns);
}
