/* Elementary functions without branches, so that loops over them become vector code. Over the whole range exp and log are within 1.1 ulp of
   the exact value, erf within 2, tanh within 3, erfc within 4; infinities, NaN, zeros and subnormal numbers are as in the C library. With
   CW_STRICT the C library's own functions are used. */

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

/* Added to a number, this leaves its nearest integer in the low bits. */
#define CW_SHIFT 0x1.8p52
#define CW_LN2_HIGH 0x1.62e42fefa39efp-1
#define CW_LN2_LOW 0x1.abc9e3b39803fp-56

/* x less the multiple n of ln 2. */
CW_MATH double cw_without_ln2(double x, double n) {
  return __builtin_fma(-n, CW_LN2_LOW, __builtin_fma(-n, CW_LN2_HIGH, x));
}

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2: the polynomial whose largest error, as a part of e^r, is least (2^-57.9), in an order that leaves room for
   several operations at once. */
CW_MATH double cw_exp_tail(double r) {
  double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  double a = 0x1.000000000000ap-1 + r * 0x1.55555555554fap-3 + r2 * (0x1.555555555087cp-5 + r * 0x1.1111111127be6p-7);
  double b = 0x1.6c16c1842a0fap-10 + r * 0x1.a01a012a5788fp-13 + r2 * (0x1.a0199a0c6c945p-16 + r * 0x1.71df2552ac377p-19);
  double c = 0x1.28ad72c81c427p-22 + r * 0x1.ad7f6e469ed6ap-26;
  return a + r4 * b + r8 * c;
}

/* Numbers for which the steps make no sense go through all of them, too, and get their value in the end: choices at the beginning would make the C
   compiler follow each of them through the function. */

CW_MATH double cw_exp(double x) {
  /* e^x = 2^n e^r. As n may lie outside the exponents of normal numbers, 2^n is a product: its factors have the exponents n / 2, rounded down, and what
     is left of n. With 2 * 1023 added to n, which the factors share, these are as they stand in numbers. */
  double shifted = x * 0x1.71547652b82fep0 + (CW_SHIFT + 2046.0);
  double r = cw_without_ln2(x, shifted - (CW_SHIFT + 2046.0));
  uint64_t exponent = (uint64_t)cw_bits(shifted), half = exponent >> 1;
  double value = 1.0 + (r + r * r * cw_exp_tail(r));
  value = value * cw_from_bits((int64_t)(half << 52)) * cw_from_bits((int64_t)((exponent - half) << 52));
  value = x > 710.0 ? cw_inf : value;
  return x < -746.0 ? 0.0 : value;
}

CW_MATH double cw_log(double x) {
  /* x = m 2^e with m between sqrt(1/2) and sqrt 2; subnormal numbers are scaled up first. */
  int64_t small = -(int64_t)(x < 0x1p-1022);
  int64_t bits = cw_bits(x * cw_from_bits(cw_bits(1.0) + (small & INT64_C(54) << 52)));
  int64_t offset = bits - INT64_C(0x3fe6a09e667f3bcd);
  int64_t exponent = offset >> 52;
  double m = cw_from_bits(bits - (int64_t)((uint64_t)exponent << 52));
  /* The integer as a number, without a conversion that not all vector units have. */
  double e = cw_from_bits(exponent - (small & 54) + cw_bits(CW_SHIFT)) - CW_SHIFT;
  /* log m = log (1 + f) = 2 atanh s with s = f / (2 + f). What 2 atanh s / s is more than 2 is a polynomial of s^2, chosen as that of the exponential
     function; its largest error is 2^-59.5. */
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double z = s * s, z2 = z * z;
  double a = 0x1.5555555555592p-1 + z * 0x1.999999997fd36p-2 + z2 * (0x1.24924941f8e75p-2 + z * 0x1.c71c52029f93ap-3);
  double b = 0x1.7466405fd0987p-3 + z * 0x1.39a192d531d4ep-3 + z2 * 0x1.2f07092d3fa92p-3;
  double series = z * (a + z2 * z2 * b);
  double half_square = 0.5 * f * f;
  double tail = s * (half_square + series) + e * 0x1.ef35793c76730p-45;
  double value = e * 0x1.62e42fefa3800p-1 - ((half_square - tail) - f);
  value = x == cw_inf ? cw_inf : value;
  value = x == 0.0 ? -cw_inf : value;
  return x >= 0.0 ? value : cw_nan;
}

CW_MATH double cw_tanh(double x) {
  /* From e^(2|x|) - 1, which keeps its digits where x is small. Beyond 20 the result is one. */
  double y = __builtin_fabs(x), twice = y + y;
  double shifted = twice * 0x1.71547652b82fep0 + (CW_SHIFT + 1023.0);
  double r = cw_without_ln2(twice, shifted - (CW_SHIFT + 1023.0));
  double scale = cw_from_bits((int64_t)((uint64_t)cw_bits(shifted) << 52));
  double t = scale * (r + r * r * cw_exp_tail(r)) + (scale - 1.0);
  double value = t / (t + 2.0);
  return __builtin_copysign(y > 20.0 ? 1.0 : value, x);
}

/* e^(x^2) erfc x (1 + 2 x) is smooth from zero to infinity: a polynomial of t = (x - 4) / (x + 4), interpolated at Chebyshev's points. */
CW_MATH double cw_erfc_positive(double x) {
  double t = (x - 4.0) / (x + 4.0);
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
  double square = x * x;
  double e = cw_exp(-square);
  e = __builtin_fma(-__builtin_fma(x, x, -square), e, e);
  double value = e * (p / __builtin_fma(2.0, x, 1.0));
  return x > 28.0 ? 0.0 : value;
}

/* erf x / x is a polynomial of the square for |x| < 1, interpolated up to one. */
CW_MATH double cw_erf_slope(double x) {
  double z = x * x;
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
