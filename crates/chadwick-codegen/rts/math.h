/* Elementary functions without branches, so that loops over them become vector code. Over the whole range exp and log are within 1.1 ulp of
   the exact value, tanh within 3; infinities, NaN, zeros and subnormal numbers are as in the C library. With CW_STRICT the C library's own
   functions are used. */

#ifdef CW_STRICT
#define cw_exp exp
#define cw_log log
#define cw_tanh tanh
#define cw_expf expf
#define cw_logf logf
#define cw_tanhf tanhf
#define cw_special(function, number, x) ctx->host.special(number, x)
#else
#define cw_special(function, number, x) function(x)

/* A loop with a call in it does not run in vectors. */
#define CW_MATH static inline __attribute__((always_inline))

static inline int64_t cw_bits(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double cw_from_bits(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The nearest integer to x / ln 2 as n (and, in the low bits of `shifted`, as an integer), and what is left of x: |r| <= ln 2 / 2. */
#define CW_SHIFT 0x1.8p52
#define CW_LN2_HIGH 0x1.62e42fefa39efp-1
#define CW_LN2_LOW 0x1.abc9e3b39803fp-56

/* (e^r - 1 - r) / r^2 for small r: the series, in an order that leaves room for several operations at once. */
CW_MATH double cw_exp_tail(double r) {
  double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  double a = 1.0 / 2 + r * (1.0 / 6) + r2 * (1.0 / 24 + r * (1.0 / 120));
  double b = 1.0 / 720 + r * (1.0 / 5040) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  double c = 1.0 / 3628800 + r * (1.0 / 39916800) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
  return a + r4 * b + r8 * c;
}

CW_MATH double cw_exp(double x) {
  /* Beyond these the result is infinite or zero. NaN is neither. */
  double y = x > 710.0 ? 710.0 : x;
  y = y < -746.0 ? -746.0 : y;
  double shifted = y * 0x1.71547652b82fep0 + CW_SHIFT;
  double n = shifted - CW_SHIFT;
  double r = __builtin_fma(-n, CW_LN2_HIGH, y);
  double low = -n * CW_LN2_LOW;
  double rest = r + low;
  double value = 1.0 + (rest + rest * rest * cw_exp_tail(rest));
  /* 2^n in two steps: n may lie outside the exponents of normal numbers. */
  int64_t whole = cw_bits(shifted) - cw_bits(CW_SHIFT);
  int64_t half = whole >> 1;
  double scale = cw_from_bits((int64_t)((uint64_t)(half + 1023) << 52));
  double other = cw_from_bits((int64_t)((uint64_t)(whole - half + 1023) << 52));
  return value * scale * other;
}

CW_MATH double cw_log(double x) {
  /* x = m 2^e with m between sqrt(1/2) and sqrt 2; subnormal numbers are scaled up first. */
  int small = x < 0x1p-1022;
  double scaled = small ? x * 0x1p54 : x;
  int64_t bits = cw_bits(scaled);
  int64_t offset = bits - INT64_C(0x3fe6a09e667f3bcd);
  int64_t exponent = offset >> 52;
  double m = cw_from_bits(bits - (int64_t)((uint64_t)exponent << 52));
  /* The integer as a number, without a conversion that not all vector units have. */
  double e = cw_from_bits(exponent + cw_bits(CW_SHIFT)) - CW_SHIFT - (small ? 54.0 : 0.0);
  /* log m = log (1 + f) = 2 atanh s with s = f / (2 + f): s is small, and the series in s^2 short. */
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double z = s * s, z2 = z * z, z4 = z2 * z2;
  double a = 2.0 / 3 + z * (2.0 / 5) + z2 * (2.0 / 7 + z * (2.0 / 9));
  double b = 2.0 / 11 + z * (2.0 / 13) + z2 * (2.0 / 15 + z * (2.0 / 17));
  double c = 2.0 / 19 + z * (2.0 / 21);
  double series = z * (a + z4 * (b + z4 * c));
  double half_square = 0.5 * f * f;
  double tail = s * (half_square + series) + e * 0x1.ef35793c76730p-45;
  double value = e * 0x1.62e42fefa3800p-1 - ((half_square - tail) - f);
  value = x == cw_inf ? cw_inf : value;
  value = x == 0.0 ? -cw_inf : value;
  return x >= 0.0 ? value : cw_nan;
}

CW_MATH double cw_tanh(double x) {
  /* From e^(2|x|) - 1, which keeps its digits where x is small. Beyond 20 the result is one. */
  double y = __builtin_fabs(x);
  y = y > 20.0 ? 20.0 : y;
  y = y + y;
  double shifted = y * 0x1.71547652b82fep0 + CW_SHIFT;
  double n = shifted - CW_SHIFT;
  double r = __builtin_fma(-n, CW_LN2_HIGH, y);
  r = __builtin_fma(-n, CW_LN2_LOW, r);
  double less_one = r + r * r * cw_exp_tail(r);
  double scale = cw_from_bits((int64_t)((uint64_t)(cw_bits(shifted) - cw_bits(CW_SHIFT) + 1023) << 52));
  double t = scale * less_one + (scale - 1.0);
  return __builtin_copysign(t / (t + 2.0), x);
}

/* e^(x^2) erfc x (1 + 2 x) is smooth from zero to infinity: a polynomial of t = (x - 4) / (x + 4), interpolated at Chebyshev's points. */
CW_MATH double cw_erfc_positive(double x) {
  /* Beyond 28 the result is zero. NaN is not beyond. */
  double y = x > 28.0 ? 28.0 : x;
  double t = (y - 4.0) / (y + 4.0);
  double p = -0x1.246d137a7141bp-32;
  p = __builtin_fma(p, t, 0x1.ffeb28f8a7c30p-31);
  p = __builtin_fma(p, t, 0x1.b39ff8659b236p-29);
  p = __builtin_fma(p, t, -0x1.a83c2ea8364c9p-27);
  p = __builtin_fma(p, t, -0x1.613ab11aa87fdp-26);
  p = __builtin_fma(p, t, 0x1.c8b87aa039fb6p-24);
  p = __builtin_fma(p, t, 0x1.4cbb15f961e46p-24);
  p = __builtin_fma(p, t, -0x1.b8d249727cce8p-21);
  p = __builtin_fma(p, t, 0x1.3981051d34c77p-22);
  p = __builtin_fma(p, t, 0x1.7ef6b7a31e6a9p-18);
  p = __builtin_fma(p, t, -0x1.78861f18ee7b4p-17);
  p = __builtin_fma(p, t, -0x1.995385e20c3b6p-16);
  p = __builtin_fma(p, t, 0x1.3be04bf52bb5ap-13);
  p = __builtin_fma(p, t, -0x1.a1df5db3b79f4p-13);
  p = __builtin_fma(p, t, -0x1.8d4a9b00c7997p-11);
  p = __builtin_fma(p, t, 0x1.49c672e0029c2p-8);
  p = __builtin_fma(p, t, -0x1.0962388397d97p-6);
  p = __builtin_fma(p, t, 0x1.3079edf51fc68p-5);
  p = __builtin_fma(p, t, -0x1.0fb06dfe5229fp-4);
  p = __builtin_fma(p, t, 0x1.7fee004e1e9dcp-4);
  p = __builtin_fma(p, t, -0x1.9ddb23c3e8a22p-4);
  p = __builtin_fma(p, t, 0x1.16ecefcfa4d42p-4);
  p = __builtin_fma(p, t, 0x1.f7f5df66fd6c2p-7);
  p = __builtin_fma(p, t, -0x1.1df1ad154a287p-3);
  p = __builtin_fma(p, t, 0x1.3ba5916e9fd7fp+0);
  /* What is lost of the square is put back. */
  double square = y * y;
  double e = cw_exp(-square);
  e = __builtin_fma(-__builtin_fma(y, y, -square), e, e);
  return e * (p / __builtin_fma(2.0, y, 1.0));
}

/* erf x / x for |x| < 1 is a polynomial of its square, interpolated up to one. */
CW_MATH double cw_erf_slope(double x) {
  double z = __builtin_fabs(x) < 1.0 ? x * x : 1.0;
  double p = 0x1.0613987edce0dp-34;
  p = __builtin_fma(p, z, -0x1.38a4b8db8a7c5p-30);
  p = __builtin_fma(p, z, 0x1.f7b72e5bcd4ffp-27);
  p = __builtin_fma(p, z, -0x1.5f1f0634fb062p-23);
  p = __builtin_fma(p, z, 0x1.b9df2954a9147p-20);
  p = __builtin_fma(p, z, -0x1.f4d1e3a67dc3ep-17);
  p = __builtin_fma(p, z, 0x1.f9a321dd3898cp-14);
  p = __builtin_fma(p, z, -0x1.c02db3db06d60p-11);
  p = __builtin_fma(p, z, 0x1.565bcd0dbc1adp-8);
  p = __builtin_fma(p, z, -0x1.b82ce31284e9cp-6);
  p = __builtin_fma(p, z, 0x1.ce2f21a042b32p-4);
  p = __builtin_fma(p, z, -0x1.812746b0379e6p-2);
  p = __builtin_fma(p, z, 0x1.20dd750429b6dp+0);
  return p;
}

CW_MATH double cw_erfc(double x) {
  double y = __builtin_fabs(x), near = __builtin_fma(-x, cw_erf_slope(x), 1.0), far = cw_erfc_positive(y);
  far = x < 0.0 ? 2.0 - far : far;
  return y < 0.5 ? near : far;
}

CW_MATH double cw_erf(double x) {
  double y = __builtin_fabs(x), near = y * cw_erf_slope(x), far = 1.0 - cw_erfc_positive(y);
  return __builtin_copysign(y < 1.0 ? near : far, x);
}

static inline float cw_expf(float x) { return (float)cw_exp(x); }
static inline float cw_logf(float x) { return (float)cw_log(x); }
static inline float cw_tanhf(float x) { return (float)cw_tanh(x); }

#endif
