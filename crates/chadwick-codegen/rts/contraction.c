/* What contraction.h declares: blocks of both operands are copied into the order in which they are needed, and multiplied tile by tile in registers. */

#if defined(__AVX512F__)
enum { CW_VECTOR_BYTES = 64, CW_ROWS = 8 };
#elif defined(__AVX__)
enum { CW_VECTOR_BYTES = 32, CW_ROWS = 4 };
#else
enum { CW_VECTOR_BYTES = 16, CW_ROWS = 4 };
#endif

/* Rows of the left operand, inner length, and columns of the right operand that are worked on at a time. */
enum { CW_BLOCK_ROWS = 144, CW_BLOCK_INNER = 256, CW_BLOCK_COLUMNS = 3072 };

#define CW_CONTRACTION(T, name)                                                                                                \
  typedef T cw_vector_##name __attribute__((vector_size(CW_VECTOR_BYTES), aligned(sizeof(T))));                                \
  enum { CW_LANES_##name = CW_VECTOR_BYTES / sizeof(T), CW_COLUMNS_##name = 3 * CW_LANES_##name };                             \
                                                                                                                               \
  /* A tile of the product: CW_ROWS rows, one to three vectors of columns. */                                                  \
  static inline __attribute__((always_inline)) void cw_tile_of_##name(int vectors, int64_t inner, const T *a, const T *b, T *c,\
                                                                int64_t c_row, bool add) {                                     \
    cw_vector_##name sum[CW_ROWS][3];                                                                                          \
    _Pragma("GCC unroll 8") for (int r = 0; r < CW_ROWS; r++)                                                                  \
      _Pragma("GCC unroll 3") for (int v = 0; v < vectors; v++) sum[r][v] = (cw_vector_##name){0};                             \
    for (int64_t l = 0; l < inner; l++) {                                                                                      \
      cw_vector_##name row[3];                                                                                                 \
      _Pragma("GCC unroll 3") for (int v = 0; v < vectors; v++) row[v] = *(const cw_vector_##name *)(b + v * CW_LANES_##name); \
      _Pragma("GCC unroll 8") for (int r = 0; r < CW_ROWS; r++)                                                                \
        _Pragma("GCC unroll 3") for (int v = 0; v < vectors; v++) sum[r][v] += a[r] * row[v];                                  \
      a += CW_ROWS;                                                                                                            \
      b += vectors * CW_LANES_##name;                                                                                          \
    }                                                                                                                          \
    _Pragma("GCC unroll 8") for (int r = 0; r < CW_ROWS; r++)                                                                  \
      _Pragma("GCC unroll 3") for (int v = 0; v < vectors; v++) {                                                              \
        cw_vector_##name *place = (cw_vector_##name *)(c + r * c_row + v * CW_LANES_##name);                                   \
        *place = add ? *place + sum[r][v] : sum[r][v];                                                                         \
      }                                                                                                                        \
  }                                                                                                                            \
                                                                                                                               \
  __attribute__((noinline)) static void cw_tile_##name(int64_t vectors, int64_t inner, const T *a, const T *b, T *c, int64_t c_row,\
                                                 bool add) {                                                                   \
    if (vectors == 3) cw_tile_of_##name(3, inner, a, b, c, c_row, add);                                                        \
    else if (vectors == 2) cw_tile_of_##name(2, inner, a, b, c, c_row, add);                                                   \
    else cw_tile_of_##name(1, inner, a, b, c, c_row, add);                                                                     \
  }                                                                                                                            \
  /* c = a b for few columns and a short inner length, both known when this is compiled. */                                    \
  static inline __attribute__((always_inline)) void cw_tiny_##name(int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row, \
                                                                   int64_t a_inner, const T *b, int64_t b_inner,               \
                                                                   int64_t b_column, T *restrict c, int64_t c_row, bool add) { \
    T kept[16];                                                                                                                \
    for (int64_t l = 0; l < m; l++)                                                                                            \
      for (int64_t j = 0; j < k; j++) kept[l * k + j] = b[l * b_inner + j * b_column];                                         \
    for (int64_t i = 0; i < n; i++)                                                                                            \
      _Pragma("GCC unroll 4") for (int64_t j = 0; j < k; j++) {                                                                \
        T sum = add ? c[i * c_row + j] : 0;                                                                                    \
        _Pragma("GCC unroll 4") for (int64_t l = 0; l < m; l++) sum += a[i * a_row + l * a_inner] * kept[l * k + j];           \
        c[i * c_row + j] = sum;                                                                                                \
      }                                                                                                                        \
  }                                                                                                                            \
  /* c = a b for operands too small for blocks. */                                                                             \
  static void cw_small_product_##name(int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row, int64_t a_inner,             \
                                      const T *b, int64_t b_inner, int64_t b_column, T *restrict c, int64_t c_row, bool add) { \
    if (k >= 1 && k <= 4 && m >= 1 && m <= 4) switch ((k - 1) * 4 + m - 1) {                                                   \
      case 0:                                                                                                                  \
        cw_tiny_##name(n, 1, 1, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 1:                                                                                                                  \
        cw_tiny_##name(n, 1, 2, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 2:                                                                                                                  \
        cw_tiny_##name(n, 1, 3, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 3:                                                                                                                  \
        cw_tiny_##name(n, 1, 4, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 4:                                                                                                                  \
        cw_tiny_##name(n, 2, 1, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 5:                                                                                                                  \
        cw_tiny_##name(n, 2, 2, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 6:                                                                                                                  \
        cw_tiny_##name(n, 2, 3, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 7:                                                                                                                  \
        cw_tiny_##name(n, 2, 4, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 8:                                                                                                                  \
        cw_tiny_##name(n, 3, 1, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 9:                                                                                                                  \
        cw_tiny_##name(n, 3, 2, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 10:                                                                                                                 \
        cw_tiny_##name(n, 3, 3, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 11:                                                                                                                 \
        cw_tiny_##name(n, 3, 4, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 12:                                                                                                                 \
        cw_tiny_##name(n, 4, 1, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 13:                                                                                                                 \
        cw_tiny_##name(n, 4, 2, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 14:                                                                                                                 \
        cw_tiny_##name(n, 4, 3, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      case 15:                                                                                                                 \
        cw_tiny_##name(n, 4, 4, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                                       \
        return;                                                                                                                \
      }                                                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                                          \
      T *restrict row = c + i * c_row;                                                                                         \
      if (!add)                                                                                                                \
        for (int64_t j = 0; j < k; j++) row[j] = 0;                                                                            \
      for (int64_t l = 0; l < m; l++) {                                                                                        \
        T x = a[i * a_row + l * a_inner];                                                                                      \
        const T *other = b + l * b_inner;                                                                                      \
        if (b_column == 1)                                                                                                     \
          for (int64_t j = 0; j < k; j++) row[j] += x * other[j];                                                              \
        else                                                                                                                   \
          for (int64_t j = 0; j < k; j++) row[j] += x * other[j * b_column];                                                   \
      }                                                                                                                        \
    }                                                                                                                          \
  }                                                                                                                            \
                                                                                                                               \
  /* c = a b for few rows or few columns, where rows of a and columns of b lie side by side: four sums at a time. */           \
  static void cw_dots_##name(int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row, const T *b, int64_t b_column,         \
                             T *restrict c, int64_t c_row, bool add) {                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                                          \
      const T *x = a + i * a_row;                                                                                              \
      T *restrict row = c + i * c_row;                                                                                         \
      int64_t j = 0;                                                                                                           \
      for (; j + 4 <= k; j += 4) {                                                                                             \
        const T *p = b + j * b_column, *q = p + b_column, *r = q + b_column, *s = r + b_column;                                \
        T p_sum = 0, q_sum = 0, r_sum = 0, s_sum = 0;                                                                          \
        _Pragma("omp simd reduction(+:p_sum, q_sum, r_sum, s_sum)") for (int64_t l = 0; l < m; l++) {                          \
          p_sum += x[l] * p[l];                                                                                                \
          q_sum += x[l] * q[l];                                                                                                \
          r_sum += x[l] * r[l];                                                                                                \
          s_sum += x[l] * s[l];                                                                                                \
        }                                                                                                                      \
        row[j] = p_sum + (add ? row[j] : 0);                                                                                   \
        row[j + 1] = q_sum + (add ? row[j + 1] : 0);                                                                           \
        row[j + 2] = r_sum + (add ? row[j + 2] : 0);                                                                           \
        row[j + 3] = s_sum + (add ? row[j + 3] : 0);                                                                           \
      }                                                                                                                        \
      for (; j < k; j++) {                                                                                                     \
        const T *p = b + j * b_column;                                                                                         \
        T sum = 0;                                                                                                             \
        _Pragma("omp simd reduction(+:sum)") for (int64_t l = 0; l < m; l++) sum += x[l] * p[l];                               \
        row[j] = sum + (add ? row[j] : 0);                                                                                     \
      }                                                                                                                        \
    }                                                                                                                          \
  }                                                                                                                            \
  /* Lines of one operand side by side: to[l, x] = from[x, l] for x below `here`, and zeros up to `width`. */                  \
  static inline __attribute__((always_inline)) void cw_pack_##name(T *restrict to, int64_t width, int64_t here, int64_t inner, \
                                                             const T *restrict from, int64_t from_x, int64_t from_l) {         \
    if (here == width && from_x == 1) {                                                                                        \
      for (int64_t l = 0; l < inner; l++)                                                                                      \
        for (int64_t x = 0; x < width; x++) to[l * width + x] = from[l * from_l + x];                                          \
      return;                                                                                                                  \
    }                                                                                                                          \
    int64_t x = 0;                                                                                                             \
    if (sizeof(T) == 8 && from_l == 1)                                                                                         \
      for (; x + 4 <= here; x += 4) {                                                                                          \
        const T *lines = from + x * from_x;                                                                                    \
        int64_t l = 0;                                                                                                         \
        for (; l + 4 <= inner; l += 4)                                                                                         \
          cw_turn_four((int64_t *)(to + l * width + x), width, (const int64_t *)(lines + l), from_x);                          \
        for (; l < inner; l++)                                                                                                 \
          for (int64_t y = 0; y < 4; y++) to[l * width + x + y] = lines[y * from_x + l];                                       \
      }                                                                                                                        \
    for (; x < width; x++)                                                                                                     \
      for (int64_t l = 0; l < inner; l++) to[l * width + x] = x < here ? from[x * from_x + l * from_l] : 0;                    \
  }                                                                                                                            \
  typedef struct {                                                                                                             \
    int64_t n, k, m, a_row, a_inner, b_inner, b_column, c_row;                                                                 \
    const T *a, *b;                                                                                                            \
    T *c;                                                                                                                      \
    bool add;                                                                                                                  \
  } cw_product_of_##name;                                                                                                      \
                                                                                                                               \
  /* A block of the product, from packed operands: so many rows, columns, and inner indices. */                                \
  static void cw_tiles_##name(int64_t height, int64_t width, int64_t inner, const T *a, const T *b, T *c, int64_t c_row, bool add) {\
    for (int64_t j = 0; j < width; j += CW_COLUMNS_##name) {                                                                   \
      int64_t vectors = cw_least(3, cw_tiles(width - j, CW_LANES_##name)), columns = vectors * CW_LANES_##name;                \
      for (int64_t i = 0; i < height; i += CW_ROWS) {                                                                          \
        T *place = c + i * c_row + j;                                                                                          \
        if (height - i >= CW_ROWS && width - j >= columns) {                                                                   \
          cw_tile_##name(vectors, inner, a + i * inner, b + j * inner, place, c_row, add);                                     \
          continue;                                                                                                            \
        }                                                                                                                      \
        T edge[CW_ROWS * CW_COLUMNS_##name];                                                                                   \
        cw_tile_##name(vectors, inner, a + i * inner, b + j * inner, edge, columns, false);                                    \
        for (int64_t r = 0; r < CW_ROWS && i + r < height; r++)                                                                \
          for (int64_t x = 0; x < columns && j + x < width; x++)                                                               \
            place[r * c_row + x] = edge[r * columns + x] + (add ? place[r * c_row + x] : 0);                                   \
      }                                                                                                                        \
    }                                                                                                                          \
  }                                                                                                                            \
                                                                                                                               \
  /* c[i, j] = sum over l of a[i, l] b[l, j], or that added; n rows, k columns, inner length m. */                             \
  __attribute__((noinline)) static void cw_block_product_##name(cw_context *ctx, const cw_product_of_##name *p) {              \
    enum { COLUMNS = CW_COLUMNS_##name, MOST = CW_BLOCK_COLUMNS / COLUMNS * COLUMNS };                                         \
    int64_t columns = cw_least(cw_tiles(p->k, COLUMNS) * COLUMNS, MOST);                                                       \
    cw_block *memory = NULL;                                                                                                   \
    bool narrow = p->n < 4 || (p->k < CW_LANES_##name && p->m >= 16 * p->k);                                                   \
    if (narrow && p->a_inner == 1 && p->b_inner == 1 && p->m >= 16) {                                                          \
      cw_dots_##name(p->n, p->k, p->m, p->a, p->a_row, p->b, p->b_column, p->c, p->c_row, p->add);                             \
      return;                                                                                                                  \
    }                                                                                                                          \
    /* Rows of b that are added to a few rows need no blocks. */                                                               \
    if ((p->n >= 4 || p->b_column != 1) && p->n * p->k * p->m >= 4096)                                                         \
      memory = cw_alloc_bytes(ctx, (int64_t)sizeof(T) * CW_BLOCK_INNER * (columns + CW_BLOCK_ROWS), 0);                        \
    if (memory == NULL) {                                                                                                      \
      cw_small_product_##name(p->n, p->k, p->m, p->a, p->a_row, p->a_inner, p->b, p->b_inner, p->b_column, p->c, p->c_row, p->add);\
      return;                                                                                                                  \
    }                                                                                                                          \
    T *packed_b = (T *)(memory + 1), *packed_a = packed_b + CW_BLOCK_INNER * columns;                                          \
    for (int64_t j0 = 0; j0 < p->k; j0 += columns)                                                                             \
      for (int64_t l0 = 0; l0 < p->m || l0 == 0; l0 += CW_BLOCK_INNER) {                                                       \
        int64_t width = cw_least(p->k - j0, columns), inner = cw_least(p->m - l0, CW_BLOCK_INNER);                             \
        for (int64_t j = 0; j < width; j += COLUMNS) {                                                                         \
          const T *from = p->b + l0 * p->b_inner + (j0 + j) * p->b_column;                                                     \
          int64_t here = width - j, lanes = cw_tiles(here, CW_LANES_##name) * CW_LANES_##name;                                 \
          if (here >= COLUMNS) cw_pack_##name(packed_b + j * inner, COLUMNS, COLUMNS, inner, from, p->b_column, p->b_inner);   \
          else cw_pack_##name(packed_b + j * inner, lanes, here, inner, from, p->b_column, p->b_inner);                        \
        }                                                                                                                      \
        for (int64_t i0 = 0; i0 < p->n; i0 += CW_BLOCK_ROWS) {                                                                 \
          int64_t height = cw_least(p->n - i0, CW_BLOCK_ROWS);                                                                 \
          for (int64_t i = 0; i < height; i += CW_ROWS) {                                                                      \
            const T *from = p->a + (i0 + i) * p->a_row + l0 * p->a_inner;                                                      \
            cw_pack_##name(packed_a + i * inner, CW_ROWS, cw_least(height - i, CW_ROWS), inner, from, p->a_row, p->a_inner);   \
          }                                                                                                                    \
          T *place = p->c + i0 * p->c_row + j0;                                                                                \
          cw_tiles_##name(height, width, inner, packed_a, packed_b, place, p->c_row, p->add || l0 > 0);                        \
        }                                                                                                                      \
      }                                                                                                                        \
    cw_free_block(ctx, memory);                                                                                                \
  }                                                                                                                            \
                                                                                                                               \
  /* Some of the rows, counted in tiles. */                                                                                    \
  static int cw_some_rows_##name(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {                       \
    cw_product_of_##name part = *(cw_product_of_##name *)data;                                                                 \
    from *= CW_ROWS;                                                                                                           \
    part.n = cw_least(to * CW_ROWS, part.n) - from;                                                                            \
    part.a += from * part.a_row;                                                                                               \
    part.c += from * part.c_row;                                                                                               \
    cw_block_product_##name(ctx, &part);                                                                                       \
    return 0;                                                                                                                  \
  }                                                                                                                            \
                                                                                                                               \
  /* Some of the columns, counted in vectors. */                                                                               \
  static int cw_some_columns_##name(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {                    \
    cw_product_of_##name part = *(cw_product_of_##name *)data;                                                                 \
    from *= CW_LANES_##name;                                                                                                   \
    part.k = cw_least(to * CW_LANES_##name, part.k) - from;                                                                    \
    part.b += from * part.b_column;                                                                                            \
    part.c += from;                                                                                                            \
    cw_block_product_##name(ctx, &part);                                                                                       \
    return 0;                                                                                                                  \
  }                                                                                                                            \
                                                                                                                               \
  /* Every element is the same sum however the product is cut, so it is cut for the threads that there are, and such that the smaller operand is what\
     each of them packs for itself. */                                                                                         \
  CW_SHARED void cw_product_##name(cw_context *ctx, int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row, int64_t a_inner,\
                                const T *b, int64_t b_inner, int64_t b_column, T *c, int64_t c_row, bool add) {                \
    if (n <= 0 || k <= 0) return; /* of many rows without columns, n may not be a number of rows */                            \
    cw_product_of_##name product = {n, k, m, a_row, a_inner, b_inner, b_column, c_row, a, b, c, add};                          \
    int64_t work = cw_saturated_times(n, cw_saturated_times(k, m)) / 2, threads = work < 2 * CW_GRAIN ? 1 : cw_helpers(ctx);   \
    int64_t rows = cw_tiles(n, CW_ROWS), columns = cw_tiles(k, CW_LANES_##name), enough = 4 * threads;                         \
    bool by_rows = rows >= enough && (n >= k || columns < enough);                                                             \
    if (threads == 1 || (!by_rows && columns < enough)) cw_block_product_##name(ctx, &product);                                \
    else if (by_rows) cw_run_loop(ctx, cw_some_rows_##name, &product, (int32_t)threads, rows, work);                           \
    else cw_run_loop(ctx, cw_some_columns_##name, &product, (int32_t)threads, columns, work);                                  \
  }                                                                                                                            \
  /* c[i] = sum over l of a[i, l] x[l] where rows are far apart and columns are not: a column at a time. */                    \
  __attribute__((noinline)) static void cw_some_by_columns_##name(int64_t n, int64_t m, const T *a, int64_t a_row,             \
                                                             int64_t a_inner, const T *x, int64_t x_inner, T *restrict c,      \
                                                             int64_t c_row, bool add) {                                        \
    if (a_row != 1 || c_row != 1) {                                                                                            \
      for (int64_t i = 0; i < n; i++) {                                                                                        \
        T sum = 0;                                                                                                             \
        _Pragma("omp simd reduction(+:sum)") for (int64_t l = 0; l < m; l++)                                                   \
          sum += a[i * a_row + l * a_inner] * x[l * x_inner];                                                                  \
        c[i * c_row] = add ? c[i * c_row] + sum : sum;                                                                         \
      }                                                                                                                        \
      return;                                                                                                                  \
    }                                                                                                                          \
    if (!add)                                                                                                                  \
      for (int64_t i = 0; i < n; i++) c[i] = 0;                                                                                \
    int64_t l = 0;                                                                                                             \
    for (; l + 4 <= m; l += 4) {                                                                                               \
      const T *p = a + l * a_inner, *q = p + a_inner, *r = q + a_inner, *s = r + a_inner;                                      \
      T x0 = x[l * x_inner], x1 = x[(l + 1) * x_inner], x2 = x[(l + 2) * x_inner], x3 = x[(l + 3) * x_inner];                  \
      for (int64_t i = 0; i < n; i++) c[i] += (p[i] * x0 + q[i] * x1) + (r[i] * x2 + s[i] * x3);                               \
    }                                                                                                                          \
    for (; l < m; l++)                                                                                                         \
      for (int64_t i = 0; i < n; i++) c[i] += a[l * a_inner + i] * x[l * x_inner];                                             \
  }                                                                                                                            \
                                                                                                                               \
  typedef struct {                                                                                                             \
    int64_t m, a_row, a_inner, x_inner, c_row;                                                                                 \
    const T *a, *x;                                                                                                            \
    T *c;                                                                                                                      \
    bool add;                                                                                                                  \
  } cw_columns_of_##name;                                                                                                      \
                                                                                                                               \
  static int cw_columns_part_##name(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {                    \
    cw_columns_of_##name *p = data;                                                                                            \
    cw_some_by_columns_##name(to - from, p->m, p->a + from * p->a_row, p->a_row, p->a_inner, p->x, p->x_inner,                 \
                              p->c + from * p->c_row, p->c_row, p->add);                                                       \
    return 0;                                                                                                                  \
  }                                                                                                                            \
                                                                                                                               \
  CW_SHARED void cw_by_columns_##name(cw_context *ctx, int64_t n, int64_t m, const T *a, int64_t a_row, int64_t a_inner, const T *x,\
                                   int64_t x_inner, T *c, int64_t c_row, bool add) {                                           \
    int32_t threads = cw_helpers(ctx);                                                                                         \
    if (threads == 1 || n < 64 * threads || cw_saturated_times(n, m) < (1 << 17)) {                                            \
      cw_some_by_columns_##name(n, m, a, a_row, a_inner, x, x_inner, c, c_row, add);                                           \
      return;                                                                                                                  \
    }                                                                                                                          \
    cw_columns_of_##name columns = {m, a_row, a_inner, x_inner, c_row, a, x, c, add};                                          \
    cw_run_loop(ctx, cw_columns_part_##name, &columns, threads, n, cw_saturated_times(n, m) / 4);                              \
  }                                                                                                                            \
  typedef struct {                                                                                                             \
    int64_t length, to_next, step;                                                                                             \
    const T *a;                                                                                                                \
    bool all_finite;                                                                                                           \
  } cw_lines_of_##name;                                                                                                        \
                                                                                                                               \
  static int cw_some_lines_##name(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {                      \
    cw_lines_of_##name *p = data;                                                                                              \
    for (int64_t i = from; i < to; i++) {                                                                                      \
      T sum = 0;                                                                                                               \
      _Pragma("omp simd reduction(+:sum)") for (int64_t l = 0; l < p->length; l++)                                             \
        sum += p->a[i * p->to_next + l * p->step] - p->a[i * p->to_next + l * p->step];                                        \
      if (!(sum == 0)) __atomic_store_n(&p->all_finite, false, __ATOMIC_RELAXED);                                              \
    }                                                                                                                          \
    return 0;                                                                                                                  \
  }                                                                                                                            \
                                                                                                                               \
  /* Goes along what lies side by side. */                                                                                     \
  static bool cw_all_finite_##name(cw_context *ctx, int64_t n, int64_t m, const T *a, int64_t a_row, int64_t a_inner) {        \
    bool along_rows = a_inner <= a_row || n == 1;                                                                              \
    cw_lines_of_##name p = {along_rows ? m : n, along_rows ? a_row : a_inner, along_rows ? a_inner : a_row, a, true};          \
    int64_t lines = along_rows ? n : m;                                                                                        \
    cw_run_loop(ctx, cw_some_lines_##name, &p, cw_chunks(lines, p.length, 0), lines, cw_saturated_times(n, m));                \
    return p.all_finite;                                                                                                       \
  }                                                                                                                            \
  /* A cotangent times a factor: zero where the cotangent is zero, even if the factor is not finite. If all factors are finite, or all results,\
     that makes no difference: if results are fewer, they are looked at first. */                               \
  CW_SHARED void cw_scaled_product_##name(cw_context *ctx, int64_t n, int64_t k, int64_t m, const T *a, int64_t a_row,         \
                                       int64_t a_inner, const T *b, int64_t b_inner, int64_t b_column, T *c, int64_t c_row,    \
                                       bool add, bool by_right) {                                                              \
    if (n <= 0 || k <= 0) return;                                                                                              \
    bool try = !add && (by_right ? n <= m : k <= m);                                                                           \
    if (try) cw_product_##name(ctx, n, k, m, a, a_row, a_inner, b, b_inner, b_column, c, c_row, false);                        \
    if (try && cw_all_finite_##name(ctx, n, k, c, c_row, 1)) return;                                                           \
    if (by_right ? cw_all_finite_##name(ctx, k, m, b, b_column, b_inner) : cw_all_finite_##name(ctx, n, m, a, a_row, a_inner)) {\
      if (!try) cw_product_##name(ctx, n, k, m, a, a_row, a_inner, b, b_inner, b_column, c, c_row, add);                       \
      return;                                                                                                                  \
    }                                                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                                            \
      for (int64_t j = 0; j < k; j++) {                                                                                        \
        T sum = 0;                                                                                                             \
        for (int64_t l = 0; l < m; l++) {                                                                                      \
          T x = a[i * a_row + l * a_inner], y = b[l * b_inner + j * b_column];                                                 \
          sum += by_right ? cw_scale_##name(x, y) : cw_scale_##name(y, x);                                                     \
        }                                                                                                                      \
        c[i * c_row + j] = add ? c[i * c_row + j] + sum : sum;                                                                 \
      }                                                                                                                        \
  }                                                                                                                            \
                                                                                                                               \
  CW_SHARED void cw_scaled_by_columns_##name(cw_context *ctx, int64_t n, int64_t m, const T *a, int64_t a_row, int64_t a_inner,\
                                          const T *x, int64_t x_inner, T *c, int64_t c_row, bool add, bool by_matrix) {        \
    bool try = !add && by_matrix;                                                                                              \
    if (try) cw_by_columns_##name(ctx, n, m, a, a_row, a_inner, x, x_inner, c, c_row, false);                                  \
    if (try && cw_all_finite_##name(ctx, 1, n, c, 0, c_row)) return;                                                           \
    if (by_matrix ? cw_all_finite_##name(ctx, n, m, a, a_row, a_inner) : cw_all_finite_##name(ctx, 1, m, x, 0, x_inner)) {     \
      if (!try) cw_by_columns_##name(ctx, n, m, a, a_row, a_inner, x, x_inner, c, c_row, add);                                 \
      return;                                                                                                                  \
    }                                                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                                          \
      T sum = 0;                                                                                                               \
      for (int64_t l = 0; l < m; l++) {                                                                                        \
        T y = a[i * a_row + l * a_inner], z = x[l * x_inner];                                                                  \
        sum += by_matrix ? cw_scale_##name(z, y) : cw_scale_##name(y, z);                                                      \
      }                                                                                                                        \
      c[i * c_row] = add ? c[i * c_row] + sum : sum;                                                                           \
    }                                                                                                                          \
  }
