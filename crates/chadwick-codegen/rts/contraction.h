/* Matrix products. */

#define CW_PRODUCTS(T, name)                                                                                                   \
  /* c[i, j] = sum over l of a[i, l] b[l, j], or that added; n rows, k columns, inner length m. */                             \
  CW_SHARED void cw_product_##name(cw_context *ctx, int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row, int64_t a_inner,\
                                   const T *b, int64_t b_inner, int64_t b_column, T *c, int64_t c_row, bool add);              \
  /* c[i] = sum over l of a[i, l] x[l], or that added. */                                                                      \
  CW_SHARED void cw_by_columns_##name(cw_context *ctx, int64_t n, int64_t m, const T *a, int64_t a_row, int64_t a_inner,       \
                                      const T *x, int64_t x_inner, T *c, int64_t c_row, bool add);                             \
  /* The same where one side is cotangents, of which a zero makes zero of any factor: `by_right` if the factors are b, `by_matrix` if they are a. */\
  CW_SHARED void cw_scaled_product_##name(cw_context *ctx, int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row,         \
                                          int64_t a_inner, const T *b, int64_t b_inner, int64_t b_column, T *c, int64_t c_row, \
                                          bool add, bool by_right);                                                            \
  CW_SHARED void cw_scaled_by_columns_##name(cw_context *ctx, int64_t n, int64_t m, const T *a, int64_t a_row, int64_t a_inner,\
                                             const T *x, int64_t x_inner, T *c, int64_t c_row, bool add, bool by_matrix);
