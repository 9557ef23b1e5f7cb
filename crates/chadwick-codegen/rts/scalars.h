/* Operations on scalars that C has no operator for. Integers wrap around (the file is compiled with -fwrapv). */

#define cw_inf __builtin_inf()
#define cw_nan __builtin_nan("")

#define CW_INTEGER(T, U, S, name, bits, is_signed)                                                                          \
  static inline T cw_quot_##name(T a, T b) {                                                                                 \
    if (is_signed && b == (T)-1) return (T)((U)0 - (U)a);                                                                    \
    return b == 0 ? 0 : (T)(a / b);                                                                                          \
  }                                                                                                                          \
  static inline T cw_rem_##name(T a, T b) {                                                                                  \
    if (is_signed && b == (T)-1) return 0;                                                                                   \
    return b == 0 ? 0 : (T)(a % b);                                                                                          \
  }                                                                                                                          \
  static inline T cw_div_##name(T a, T b) {                                                                                  \
    T q = cw_quot_##name(a, b), r = cw_rem_##name(a, b);                                                                     \
    return is_signed && r != 0 && (S)(r ^ b) < 0 ? (T)(q - 1) : q;                                                           \
  }                                                                                                                          \
  static inline T cw_mod_##name(T a, T b) {                                                                                  \
    T r = cw_rem_##name(a, b);                                                                                               \
    return is_signed && r != 0 && (S)(r ^ b) < 0 ? (T)(r + b) : r;                                                           \
  }                                                                                                                          \
  static inline T cw_pow_##name(T a, T b) {                                                                                  \
    U power = 1, base = (U)a;                                                                                                \
    for (U rest = (U)b; rest > 0; rest >>= 1) {                                                                              \
      if (rest & 1) power = (U)((uint64_t)power * base);                                                                     \
      base = (U)((uint64_t)base * base);                                                                                     \
    }                                                                                                                        \
    return (T)power;                                                                                                         \
  }                                                                                                                          \
  static inline T cw_min_##name(T a, T b) { return a < b ? a : b; }                                                          \
  static inline T cw_max_##name(T a, T b) { return a > b ? a : b; }                                                          \
  static inline T cw_abs_##name(T a) { return is_signed && (S)a < 0 ? (T)((U)0 - (U)a) : a; }                                \
  static inline T cw_sign_##name(T a) { return (T)((a > 0) - (is_signed && (S)a < 0)); }                                     \
  static inline T cw_shl_##name(T a, T b) { return (uint64_t)(U)b < bits ? (T)((uint64_t)(U)a << (U)b) : 0; }                \
  static inline T cw_lshr_##name(T a, T b) { return (uint64_t)(U)b < bits ? (T)((U)a >> (U)b) : 0; }                         \
  static inline T cw_ashr_##name(T a, T b) { return (T)((S)a >> ((uint64_t)(U)b < bits ? (U)b : bits - 1)); }                \
  static inline T cw_mulhi_##name(T a, T b) {                                                                                \
    return is_signed ? (T)(((__int128)(S)a * (__int128)(S)b) >> bits)                                                        \
                     : (T)(((unsigned __int128)(U)a * (unsigned __int128)(U)b) >> bits);                                     \
  }

CW_INTEGER(int8_t, uint8_t, int8_t, i8, 8, 1)
CW_INTEGER(int16_t, uint16_t, int16_t, i16, 16, 1)
CW_INTEGER(int32_t, uint32_t, int32_t, i32, 32, 1)
CW_INTEGER(int64_t, uint64_t, int64_t, i64, 64, 1)
CW_INTEGER(uint8_t, uint8_t, int8_t, u8, 8, 0)
CW_INTEGER(uint16_t, uint16_t, int16_t, u16, 16, 0)
CW_INTEGER(uint32_t, uint32_t, int32_t, u32, 32, 0)
CW_INTEGER(uint64_t, uint64_t, int64_t, u64, 64, 0)

static inline int32_t cw_clz(uint64_t bits, int width) { return bits == 0 ? width : __builtin_clzll(bits) - (64 - width); }
static inline int32_t cw_ctz(uint64_t bits, int width) { return bits == 0 ? width : __builtin_ctzll(bits); }

/* A cotangent that is zero makes zero of any factor. Which zero counts in strict mode only: the other one is a vector product under a mask. */
#ifdef CW_STRICT
#define CW_SCALED(a, product) ((a) == 0 ? (a) : (product))
#else
#define CW_SCALED(a, product) ((a) != 0 ? (product) : 0)
#endif

/* Of two numbers the one that is not NaN; the first on a tie. */
#define CW_FLOAT(T, U, name)                                                                                                 \
  static inline T cw_min_##name(T a, T b) { return a <= b || b != b ? a : b; }                                               \
  static inline T cw_max_##name(T a, T b) { return a >= b || b != b ? a : b; }                                               \
  static inline T cw_sign_##name(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a; }                                           \
  static inline T cw_scale_##name(T a, T b) { return a == 0 ? a : a * b; }                                                   \
  static inline T cw_scale_masked_##name(T a, T b) { return CW_SCALED(a, a * b); }                                           \
  /* The same without a branch, for a cotangent that is the same all through a loop: tests of it would be threaded together, \
     and the loop not vectorised. */                                                                                         \
  static inline T cw_scale_each_##name(T a, T b) {                                                                           \
    union {                                                                                                                  \
      T number;                                                                                                              \
      U bits;                                                                                                                \
    } product = {a * b};                                                                                                     \
    product.bits &= -(U)(a != 0);                                                                                            \
    return product.number;                                                                                                   \
  }                                                                                                                          \
  static inline T cw_square_##name(T a) { return a * a; }

CW_FLOAT(float, uint32_t, f32)
CW_FLOAT(double, uint64_t, f64)

/* The root as `pow` has it. */
static inline float cw_root_f32(float a) { return a == -INFINITY ? INFINITY : sqrtf(a + 0.0f); }
static inline double cw_root_f64(double a) { return a == -INFINITY ? INFINITY : sqrt(a + 0.0); }

/* A place so far behind another one, or the end of the range that is next to it. */
static inline int64_t cw_cut(int64_t base, int64_t more, int64_t from, int64_t to) {
  int64_t at;
  if (__builtin_add_overflow(base, more, &at)) at = more < 0 ? INT64_MIN : INT64_MAX;
  at = at < from ? from : at;
  return at > to ? to : at;
}

/* The next multiple of eight, or the end or start of the range. */
static inline int64_t cw_round_up(int64_t at, int64_t to) { return at > to - 8 ? to : (at + 7) & ~INT64_C(7); }
static inline int64_t cw_round_down(int64_t at, int64_t from) { return (at & ~INT64_C(7)) < from ? from : at & ~INT64_C(7); }

/* A power with a small constant exponent: by the library, or by multiplications. */
#ifdef CW_STRICT
#define CW_POWER(library, products) (library)
#else
#define CW_POWER(library, products) (products)
#endif

static inline double cw_atan2pi(double y, double x) { return atan2(y, x) / 3.14159265358979323846; }

/* Toward zero, saturating; NaN and the infinities give zero. A negative number that fits the signed type of the same width becomes
   unsigned through it. */
#define CW_TO_SIGNED(T, name, low, high)                                                                                     \
  static inline T cw_to_##name(double x) {                                                                                   \
    if (!(x - x == 0)) return 0;                                                                                             \
    if (x <= (double)low) return low;                                                                                        \
    if (x >= (double)high) return high;                                                                                      \
    return x > -1 && x < 1 ? 0 : (T)x;                                                                                       \
  }
CW_TO_SIGNED(int8_t, i8, INT8_MIN, INT8_MAX)
CW_TO_SIGNED(int16_t, i16, INT16_MIN, INT16_MAX)
CW_TO_SIGNED(int32_t, i32, INT32_MIN, INT32_MAX)
CW_TO_SIGNED(int64_t, i64, INT64_MIN, INT64_MAX)

#define CW_TO_UNSIGNED(T, S, name, signed_name, low, high)                                                                   \
  static inline T cw_to_##name(double x) {                                                                                   \
    if (!(x - x == 0)) return 0;                                                                                             \
    if (x < 0) return __builtin_trunc(x) >= (double)low ? (T)cw_to_##signed_name(x) : 0;                                     \
    if (x >= (double)high) return high;                                                                                      \
    return x > -1 && x < 1 ? 0 : (T)x;                                                                                       \
  }
CW_TO_UNSIGNED(uint8_t, int8_t, u8, i8, INT8_MIN, UINT8_MAX)
CW_TO_UNSIGNED(uint16_t, int16_t, u16, i16, INT16_MIN, UINT16_MAX)
CW_TO_UNSIGNED(uint32_t, int32_t, u32, i32, INT32_MIN, UINT32_MAX)
CW_TO_UNSIGNED(uint64_t, int64_t, u64, i64, INT64_MIN, UINT64_MAX)

#define CW_BITS(F, U, name)                                                                                                  \
  static inline U cw_to_bits_##name(F x) {                                                                                   \
    U bits;                                                                                                                  \
    memcpy(&bits, &x, sizeof bits);                                                                                          \
    return bits;                                                                                                             \
  }                                                                                                                          \
  static inline F cw_from_bits_##name(U bits) {                                                                              \
    F x;                                                                                                                     \
    memcpy(&x, &bits, sizeof x);                                                                                             \
    return x;                                                                                                                \
  }
CW_BITS(float, uint32_t, f32)
CW_BITS(double, uint64_t, f64)

/* Not every compiler has numbers of 16 bits, so only programs that use them ask for it. */
#ifdef CW_HALF
CW_BITS(_Float16, uint16_t, f16)

static inline _Float16 cw_nextafter_f16(_Float16 x, _Float16 y) {
  if (x != x || y != y) return (_Float16)cw_nan;
  if (x == y) return y;
  uint16_t bits = cw_to_bits_f16(x);
  if (x == 0) return cw_from_bits_f16((uint16_t)(1 | (cw_to_bits_f16(y) & 0x8000)));
  bool away = ((float)y > (float)x) == ((bits & 0x8000) == 0);
  return cw_from_bits_f16((uint16_t)(away ? bits + 1 : bits - 1));
}
#endif
