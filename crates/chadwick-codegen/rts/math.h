/* Elementary functions without branches, so that loops over them become vector code. Over the whole range exp, log, pow, sin, cos, asin, acos and atan are
   within 1.1 ulp of the exact value, log1p, cosh, hypot, atan2 and erf within 2, tan, sinh, tanh and the inverses of these
   within 3, erfc within 4; infinities, NaN, zeros
   and subnormal numbers are as in the C library. With CW_STRICT the C library's own functions are used. */

#ifdef CW_STRICT
#define cw_exp exp
#define cw_log log
#define cw_tanh tanh
#define cw_sin sin
#define cw_cos cos
#define cw_tan tan
#define cw_log1p log1p
#define cw_sinh sinh
#define cw_cosh cosh
#define cw_asin asin
#define cw_acos acos
#define cw_atan atan
#define cw_atan2 atan2
#define cw_pow pow
#define cw_hypot hypot
#define cw_powf powf
#define cw_hypotf(x, y) ((float)hypot((double)(x), (double)(y)))
#define cw_sinf sinf
#define cw_cosf cosf
#define cw_tanf tanf
#define cw_log1pf log1pf
#define cw_sinhf sinhf
#define cw_coshf coshf
#define cw_asinf(x) ((float)asin((double)(x)))
#define cw_acosf(x) ((float)acos((double)(x)))
#define cw_atanf(x) ((float)atan((double)(x)))
#define cw_atan2f(y, x) ((float)atan2((double)(y), (double)(x)))
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

/* One of two numbers, as operations on bits: of choices in the middle of a function the C compiler would make branches. */
CW_MATH int64_t cw_mask(bool condition) { return -(int64_t)condition; }

CW_MATH double cw_choose(int64_t mask, double yes, double no) {
  return cw_from_bits((cw_bits(yes) & mask) | (cw_bits(no) & ~mask));
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

/* Powers of positive numbers, from the logarithm to base 2 in two parts, whose error is 2^-66 of it. */
CW_MATH double cw_positive_power(double x, double y) {
  int64_t small = cw_mask(x < 0x1p-1022);
  int64_t bits = cw_bits(x * cw_from_bits(cw_bits(1.0) + (small & INT64_C(54) << 52)));
  int64_t exponent = (bits - INT64_C(0x3fe6a09e667f3bcd)) >> 52;
  double m = cw_from_bits(bits - (int64_t)((uint64_t)exponent << 52));
  double e = cw_from_bits(exponent - (small & 54) + cw_bits(CW_SHIFT)) - CW_SHIFT;
  /* s = (m - 1) / (m + 1), and what is lost of it. */
  double f = m - 1.0, d = m + 1.0, d_low = m - (d - 1.0);
  double s = f / d, s_low = (__builtin_fma(-s, d, f) - s * d_low) / d;
  /* atanh s = s (1 + z (1 / 3 + z series)) with z = s^2; the polynomial is chosen as that of the exponential function. */
  double z = s * s, z_low = __builtin_fma(s, s, -z) + 2.0 * s * s_low, z2 = z * z;
  double a = 0x1.9999999999996p-3 + z * 0x1.249249249304bp-3 + z2 * (0x1.c71c71c57dc0cp-4 + z * 0x1.745d183398bf2p-4);
  double b = 0x1.3b13625f20116p-4 + z * 0x1.1120c2b2a4bf7p-4 + z2 * (0x1.de315dfaf3919p-5 + z * 0x1.eb22672d4fcfbp-5);
  double series = z2 * (a + z2 * z2 * b);
  double third = z * 0x1.5555555555555p-2;
  double third_low = __builtin_fma(z, 0x1.5555555555555p-2, -third) + (z * 0x1.5555555555555p-56 + z_low * 0x1.5555555555555p-2);
  double w = third + series, w_low = ((third - w) + series) + third_low;
  double p = s * w, p_low = __builtin_fma(s, w, -p) + (s * w_low + s_low * w);
  double half = s + p, half_low = ((s - half) + p) + (s_low + p_low);
  double q = half * 0x1.71547652b82fep+1;
  double q_low = __builtin_fma(half, 0x1.71547652b82fep+1, -q) + (half * 0x1.777d0ffda0d24p-55 + half_low * 0x1.71547652b82fep+1);
  double t = e + q, t_low = ((e - t) + q) + q_low;
  /* Times y, and back. Where it is too large, its size does not matter. */
  double power = y * t, power_low = __builtin_fma(y, t, -power) + y * t_low;
  double bounded = cw_choose(cw_mask(power > 1100.0), 1100.0, cw_choose(cw_mask(power < -1100.0), -1100.0, power));
  power_low = cw_choose(cw_mask(bounded == power), power_low, 0.0);
  double shifted = bounded + (CW_SHIFT + 2046.0), rest = bounded - (shifted - (CW_SHIFT + 2046.0));
  double r = rest * CW_LN2_HIGH;
  double r_low = __builtin_fma(rest, CW_LN2_HIGH, -r) + (rest * CW_LN2_LOW + power_low * CW_LN2_HIGH);
  uint64_t scale = (uint64_t)cw_bits(shifted), half_scale = scale >> 1;
  /* With all digits until the last step, so that powers that are numbers are exact. */
  double near = 1.0 + r, square = r * r * cw_exp_tail(r);
  double value = near + ((r - (near - 1.0)) + (r_low * (near + square) + square));
  value = value * cw_from_bits((int64_t)(half_scale << 52)) * cw_from_bits((int64_t)((scale - half_scale) << 52));
  value = cw_choose(cw_mask(power > 1024.0), cw_inf, value);
  return cw_choose(cw_mask(power < -1075.0), 0.0, value);
}

CW_MATH double cw_pow(double x, double y) {
  double size = __builtin_fabs(x), value = cw_positive_power(size, y);
  int64_t rises = cw_mask(y > 0.0), is_infinite = cw_mask(__builtin_fabs(y) == cw_inf);
  /* At both ends of the numbers, for the base and for the exponent. */
  int64_t is_end = cw_mask(size == 0.0) | cw_mask(size == cw_inf) | (is_infinite & cw_mask(size != 1.0));
  int64_t is_above = ~(cw_mask(size > 1.0) ^ rises);
  value = cw_choose(is_end, cw_choose(is_above, cw_inf, 0.0), value);
  value = cw_choose(is_infinite & cw_mask(size == 1.0), 1.0, value);
  /* Negative bases: only integers are exponents, and odd ones keep the sign. */
  double half = 0.5 * y;
  int64_t is_integer = cw_mask(__builtin_rint(y) == y), is_odd = is_integer & cw_mask(__builtin_rint(half) != half);
  int64_t is_negative = cw_bits(x) >> 63;
  value = cw_from_bits(cw_bits(value) ^ (int64_t)((uint64_t)(is_negative & is_odd) << 63));
  value = cw_choose(cw_mask(x < 0.0) & ~is_integer & ~is_end, cw_nan, value);
  value = cw_choose(cw_mask(x != x) | cw_mask(y != y), cw_nan, value);
  return cw_choose(cw_mask(x == 1.0) | cw_mask(y == 0.0), 1.0, value);
}

/* log (1 + x), where what is lost of the sum is put back. */
CW_MATH double cw_log1p(double x) {
  double sum = 1.0 + x, lost = x < 1.0 ? x - (sum - 1.0) : 1.0 - (sum - x);
  double value = cw_log(sum) + lost / sum;
  value = x == -1.0 ? -cw_inf : value;
  return x == 0.0 || x == cw_inf ? x : value;
}

/* (e^x - 1) / 2 for x >= 0, as long as that is no more than a number can be. */
CW_MATH double cw_half_expm1(double x) {
  double shifted = x * 0x1.71547652b82fep0 + (CW_SHIFT + 1021.0);
  double r = cw_without_ln2(x, shifted - (CW_SHIFT + 1021.0));
  double scale = cw_from_bits((int64_t)((uint64_t)cw_bits(shifted) << 52));
  double quarter = scale * (r + r * r * cw_exp_tail(r)) + (scale - 0.25);
  return quarter + quarter;
}

/* Beyond this, hyperbolic sines and cosines are more than a number can be. */
#define CW_STEEP 0x1.633ce8fb9f87dp+9

CW_MATH double cw_sinh(double x) {
  double y = __builtin_fabs(x), h = cw_half_expm1(y), value = h + h / (h + h + 1.0);
  value = y < 0x1p-28 ? y : value;
  return __builtin_copysign(y > CW_STEEP ? cw_inf : value, x);
}

CW_MATH double cw_cosh(double x) {
  double y = __builtin_fabs(x), h = cw_half_expm1(y), value = h + (0.5 + 0.5 / (h + h + 1.0));
  return y > CW_STEEP ? cw_inf : value;
}

/* The squares of very large and very small numbers are scaled. */
CW_MATH double cw_hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y), most = cw_choose(cw_mask(a > b), a, b);
  int64_t is_large = cw_mask(most > 0x1p+500), is_small = cw_mask(most < 0x1p-450);
  double scale = cw_choose(is_large, 0x1p-600, cw_choose(is_small, 0x1p+600, 1.0));
  double back = cw_choose(is_large, 0x1p+600, cw_choose(is_small, 0x1p-600, 1.0));
  double p = a * scale, q = b * scale, value = __builtin_sqrt(p * p + q * q) * back;
  return cw_choose(cw_mask(a == cw_inf) | cw_mask(b == cw_inf), cw_inf, value);
}

CW_MATH double cw_asinh(double x) {
  double y = __builtin_fabs(x), square = y * y;
  double near = cw_log1p(y + square / (1.0 + __builtin_sqrt(1.0 + square))), far = cw_log(y) + CW_LN2_HIGH;
  double value = cw_choose(cw_mask(y < 0x1p28), near, far);
  return __builtin_copysign(cw_choose(cw_mask(y < 0x1p-28), y, value), x);
}

CW_MATH double cw_acosh(double x) {
  double t = x - 1.0, near = cw_log1p(t + __builtin_sqrt(2.0 * t + t * t)), far = cw_log(x) + CW_LN2_HIGH;
  return cw_choose(cw_mask(x >= 1.0), cw_choose(cw_mask(x < 0x1p28), near, far), cw_nan);
}

CW_MATH double cw_atanh(double x) {
  double y = __builtin_fabs(x), value = 0.5 * cw_log1p((y + y) / (1.0 - y));
  value = cw_choose(cw_mask(y < 0x1p-28), y, value);
  return cw_choose(cw_mask(y <= 1.0), __builtin_copysign(value, x), cw_nan);
}

#define CW_QUARTER 0x1.921fb54442d18p+0
#define CW_QUARTER_LOW 0x1.1a62633145c07p-54

/* So many quarter turns less s and rest. */
CW_MATH double cw_turns_less(double turns, double s, double rest) {
  double turned = turns * CW_QUARTER, value = turned - s;
  return value + (((turned - value) - s) + (turns * CW_QUARTER_LOW - rest));
}

/* (atan t - t) / t for |t| <= tan (pi / 8): a polynomial of t^2, chosen as that of the exponential function; its largest error is 2^-64. */
CW_MATH double cw_atan_tail(double t) {
  double z = t * t, z2 = z * z, z4 = z2 * z2;
  double a = -0x1.5555555555554p-2 + z * 0x1.999999999965bp-3 + z2 * (-0x1.2492492475da9p-3 + z * 0x1.c71c71b77b70bp-4);
  double b = -0x1.745d14c032b51p-4 + z * 0x1.3b136eb7e846cp-4 + z2 * (-0x1.110c7a61ed918p-4 + z * 0x1.e1728de971f75p-5);
  double c = -0x1.ab80edccbd6d2p-5 + z * 0x1.70fab9bd07ebep-5 + z2 * (-0x1.12560cdbd2c7bp-5 + z * 0x1.f260492f1cfebp-7);
  return z * (a + z4 * (b + z4 * c));
}

/* An angle and what its tangent is: nothing, an eighth of a turn or a quarter, and the arc of a small tangent. */
CW_MATH double cw_atan(double x) {
  double y = __builtin_fabs(x);
  bool is_small = y <= 0x1.a8279a0000000p-2, is_large = !(y <= 0x1.3504f40000000p+1);
  double above = is_small ? y : is_large ? -1.0 : y - 1.0, below = is_small ? 1.0 : is_large ? y : y + 1.0;
  double base = is_small ? 0.0 : is_large ? 1.0 : 0.5;
  double t = above / below;
  double value = cw_turns_less(base, -t, -t * cw_atan_tail(t));
  return __builtin_copysign(value, x);
}

CW_MATH double cw_atan2(double y, double x) {
  double a = __builtin_fabs(y), b = __builtin_fabs(x);
  int64_t is_steep = cw_mask(a > b), is_behind = cw_bits(x) >> 63;
  double most = cw_choose(is_steep, a, b), least = cw_choose(is_steep, b, a);
  /* So that a sum is no more than a number can be; of infinities only whether there is another one matters. */
  double scale = cw_choose(cw_mask(most > 0x1p+1000), 0x1p-10, 1.0);
  int64_t is_infinite = cw_mask(most == cw_inf);
  least = cw_choose(is_infinite, cw_choose(cw_mask(least == cw_inf), 1.0, 0.0), least * scale);
  most = cw_choose(is_infinite, 1.0, most * scale);
  int64_t is_small = cw_mask(least <= most * 0x1.a8279a0000000p-2);
  double above = cw_choose(is_small, least, least - most), below = cw_choose(is_small, most, least + most);
  double t = above / cw_choose(cw_mask(below == 0.0), 1.0, below);
  /* From the other axis, and from the other end of that. */
  double base = cw_choose(is_small, 0.0, 0.5);
  base = cw_choose(is_steep, 1.0 - base, base);
  base = cw_choose(is_behind, 2.0 - base, base);
  t = cw_from_bits(cw_bits(t) ^ (int64_t)((uint64_t)~(is_steep ^ is_behind) << 63));
  double value = cw_turns_less(base, t, t * cw_atan_tail(t));
  return cw_choose(cw_mask(x != x) | cw_mask(y != y), cw_nan, __builtin_copysign(value, y));
}

/* (asin s - s) / s as a polynomial of z = s^2 up to a quarter, chosen in the same way; its largest error is 2^-59. */
CW_MATH double cw_asin_tail(double z) {
  double z2 = z * z, z4 = z2 * z2;
  double a = 0x1.5555555555578p-3 + z * 0x1.333333332df7fp-4 + z2 * (0x1.6db6db7226044p-5 + z * 0x1.f1c71a8dc4c17p-6);
  double b = 0x1.6e8bdfa65d062p-6 + z * 0x1.1c49e2bb8a67bp-6 + z2 * (0x1.ca20ce1d3bc7ap-7 + z * 0x1.757b7951a1d48p-7);
  double c = 0x1.6173f85d941d5p-7 + z * 0x1.e2be49c1b1737p-9 + z2 * (0x1.6492c17f909c0p-6 - z * 0x1.5954987666e2fp-6);
  return z * (a + z4 * (b + z4 * (c + z4 * 0x1.0bb068862f187p-5)));
}

/* asin y up to a half, as *s and the result. Beyond, half of what is missing to a quarter turn, whose sine is sqrt ((1 - y) / 2); what is lost of the root
   is put back. */
CW_MATH double cw_asin_rest(double y, double *s) {
  int64_t is_far = cw_mask(y > 0.5);
  double z = cw_choose(is_far, 0.5 - 0.5 * y, y * y), root = __builtin_sqrt(z);
  double lost = __builtin_fma(-root, root, z) / (root + root);
  *s = cw_choose(is_far, root, y);
  return *s * cw_asin_tail(z) + cw_choose(is_far & cw_mask(z != 0.0), lost, 0.0);
}

CW_MATH double cw_asin(double x) {
  double s, y = __builtin_fabs(x), rest = cw_asin_rest(y, &s);
  double value = cw_choose(cw_mask(y > 0.5), cw_turns_less(1.0, s + s, rest + rest), s + rest);
  return __builtin_copysign(value, x);
}

CW_MATH double cw_acos(double x) {
  double s, y = __builtin_fabs(x), rest = cw_asin_rest(y, &s);
  int64_t is_far = cw_mask(y > 0.5);
  s = cw_choose(is_far, s + s, __builtin_copysign(s, x));
  rest = cw_choose(is_far, rest + rest, __builtin_copysign(rest, x));
  double value = cw_turns_less(cw_choose(is_far, 2.0, 1.0), s, rest);
  return cw_choose(is_far & cw_mask(x > 0.0), s + rest, value);
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

/* An angle is a number of quarter turns and what remains, r + low, at most an eighth of a turn. Parts of pi / 2, each the best for what is left, are taken away
   as often: the first time nothing is lost. Good for angles up to CW_FAR; the C library knows the others. */
#define CW_FAR 0x1p30

CW_MATH int64_t cw_is_far(double x) { return !(__builtin_fabs(x) < CW_FAR); }

CW_MATH void cw_quarters(double x, int64_t *quarters, double *r, double *low) {
  double shifted = __builtin_fma(x, 0x1.45f306dc9c883p-1, CW_SHIFT), n = shifted - CW_SHIFT;
  *quarters = cw_bits(shifted);
  double first = __builtin_fma(-n, 0x1.921fb54442d18p+0, x);
  double second = n * 0x1.1a62633145c07p-54, lost = __builtin_fma(n, 0x1.1a62633145c07p-54, -second);
  double rest = first - second;
  double tail = __builtin_fma(-n, -0x1.f1976b7ed8fbcp-110, ((first - rest) - second) - lost);
  *r = rest + tail;
  *low = tail - (*r - rest);
}

/* Polynomials of r^2, chosen as that of the exponential function; their largest errors are 2^-58. */
CW_MATH double cw_sin_part(double r, double low) {
  double z = r * r, z2 = z * z;
  double a = -0x1.5555555555549p-3 + z * 0x1.111111110f830p-7;
  double b = -0x1.a01a019c07e35p-13 + z * 0x1.71de356eef2ffp-19;
  double c = -0x1.ae5e5f19108d1p-26 + z * 0x1.5d90de0560243p-33;
  double series = a + z2 * (b + z2 * c);
  return r + (r * (z * series) + (low - 0.5 * z * low));
}

CW_MATH double cw_cos_part(double r, double low) {
  double z = r * r, z2 = z * z;
  double a = 0x1.555555555554cp-5 - z * 0x1.6c16c16c1512ep-10;
  double b = 0x1.a01a019ca98b0p-16 - z * 0x1.27e4f803c32efp-22;
  double c = 0x1.1ee9e78c8c00dp-29 - z * 0x1.8fac45edaca6dp-37;
  double half = 0.5 * z, near = 1.0 - half;
  return near + (((1.0 - near) - half) + (z2 * (a + z2 * (b + z2 * c)) - r * low));
}

/* The sine of an angle and some quarter turns. */
CW_MATH double cw_sine(double x, int64_t more) {
  int64_t quarters;
  double r, low;
  cw_quarters(x, &quarters, &r, &low);
  quarters += more;
  double value = (quarters & 1) != 0 ? cw_cos_part(r, low) : cw_sin_part(r, low);
  return cw_from_bits(cw_bits(value) ^ (int64_t)((uint64_t)(quarters & 2) << 62));
}

CW_MATH double cw_near_sin(double x) {
  double value = cw_sine(x, 0);
  return x == 0.0 ? x : value;
}

CW_MATH double cw_near_cos(double x) { return cw_sine(x, 1); }

CW_MATH double cw_near_tan(double x) {
  int64_t quarters;
  double r, low;
  cw_quarters(x, &quarters, &r, &low);
  double s = cw_sin_part(r, low), c = cw_cos_part(r, low);
  double value = ((quarters & 1) != 0 ? -c : s) / ((quarters & 1) != 0 ? s : c);
  return x == 0.0 ? x : value;
}

/* One number, and several at once: only where one of these is far away are they looked at one by one. */
#define CW_ANGLES(function, type)                                                                 \
  static inline void cw_##function##_##type(const cw_##type *x, cw_##type *y, int64_t lanes) {    \
    int64_t far = 0;                                                                              \
    _Pragma("omp simd reduction(|:far)")                                                          \
    for (int64_t lane = 0; lane < lanes; lane++) {                                                \
      double angle = x[lane];                                                                     \
      far |= cw_is_far(angle);                                                                    \
      y[lane] = (cw_##type)cw_near_##function(angle);                                             \
    }                                                                                             \
    if (cw_unlikely(far != 0)) {                                                                  \
      for (int64_t lane = 0; lane < lanes; lane++) y[lane] = (cw_##type)cw_##function(x[lane]);   \
    }                                                                                             \
  }

static inline double cw_sin(double x) { return cw_is_far(x) ? sin(x) : cw_near_sin(x); }
static inline double cw_cos(double x) { return cw_is_far(x) ? cos(x) : cw_near_cos(x); }
static inline double cw_tan(double x) { return cw_is_far(x) ? tan(x) : cw_near_tan(x); }
static inline float cw_sinf(float x) { return (float)cw_sin(x); }
static inline float cw_cosf(float x) { return (float)cw_cos(x); }
static inline float cw_tanf(float x) { return (float)cw_tan(x); }

typedef double cw_f64;
typedef float cw_f32;
CW_ANGLES(sin, f64)
CW_ANGLES(cos, f64)
CW_ANGLES(tan, f64)
CW_ANGLES(sin, f32)
CW_ANGLES(cos, f32)
CW_ANGLES(tan, f32)

CW_MATH float cw_expf(float x) { return (float)cw_exp(x); }
CW_MATH float cw_logf(float x) { return (float)cw_log(x); }
CW_MATH float cw_tanhf(float x) { return (float)cw_tanh(x); }
CW_MATH float cw_hypotf(float x, float y) { return (float)cw_hypot(x, y); }
CW_MATH float cw_powf(float x, float y) { return (float)cw_pow(x, y); }
CW_MATH float cw_log1pf(float x) { return (float)cw_log1p(x); }
CW_MATH float cw_sinhf(float x) { return (float)cw_sinh(x); }
CW_MATH float cw_coshf(float x) { return (float)cw_cosh(x); }
CW_MATH float cw_asinf(float x) { return (float)cw_asin(x); }
CW_MATH float cw_acosf(float x) { return (float)cw_acos(x); }
CW_MATH float cw_atanf(float x) { return (float)cw_atan(x); }
CW_MATH float cw_atan2f(float y, float x) { return (float)cw_atan2(y, x); }

#endif
