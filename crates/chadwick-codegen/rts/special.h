/* Functions that the C library lacks, as in the interpreter: the same formulas. */

static const double cw_pi = 0x1.921fb54442d18p+1;

/* x as n/2 + rest with |rest| <= 1/4, and n modulo 4. Exact. */
static int cw_half_turns(double x, double *rest) {
  double reduced = fmod(x, 2.0), halves = round(2.0 * reduced);
  *rest = reduced - halves * 0.5;
  return (((int)halves % 4) + 4) % 4;
}

static double cw_sin_pi(double x) {
  double rest, value;
  if (!isfinite(x)) return NAN;
  switch (cw_half_turns(x, &rest)) {
  case 0: value = sin(cw_pi * rest); break;
  case 1: value = cos(cw_pi * rest); break;
  case 2: value = -sin(cw_pi * rest); break;
  default: value = -cos(cw_pi * rest);
  }
  return value == 0 ? copysign(0.0, x) : value;
}

static double cw_cos_pi(double x) {
  double rest, value;
  if (!isfinite(x)) return NAN;
  switch (cw_half_turns(x, &rest)) {
  case 0: value = cos(cw_pi * rest); break;
  case 1: value = -sin(cw_pi * rest); break;
  case 2: value = -cos(cw_pi * rest); break;
  default: value = sin(cw_pi * rest);
  }
  return value == 0 ? 0.0 : value;
}

static double cw_tan_pi(double x) {
  double rest;
  if (!isfinite(x)) return NAN;
  int halves = cw_half_turns(x, &rest);
  bool odd = halves % 2 == 1;
  if (rest == 0 && !odd) return copysign(0.0, x);
  if (rest == 0) return copysign(INFINITY, 2.0 - halves);
  if (fabs(rest) == 0.25) return copysign(1.0, odd ? -rest : rest);
  return odd ? -1.0 / tan(cw_pi * rest) : tan(cw_pi * rest);
}

/* Bernoulli numbers B2, B4, ... */
static const double cw_bernoulli[12] = {
  1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0, 43867.0 / 798.0,
  -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
};

static double cw_digamma_series(double x) {
  double inverse_square = 1.0 / (x * x), power = 1.0, sum = 0.0;
  for (int k = 0; k < 12; k++) {
    power *= inverse_square;
    sum += cw_bernoulli[k] / (2.0 * (k + 1.0)) * power;
  }
  return log(x) - 0.5 / x - sum;
}

static double cw_polygamma_series(double order, double x) {
  double below = 1.0;
  for (int i = 1; i < (int)order; i++) below *= i;
  double sum = below / pow(x, order) * (1.0 + order / (2.0 * x));
  double ratio = below, power = pow(x, -order);
  for (int k = 0; k < 12; k++) {
    double two_k = 2.0 * (k + 1.0);
    ratio *= (two_k + order - 2.0) * (two_k + order - 1.0) / ((two_k - 1.0) * two_k);
    power /= x * x;
    sum += cw_bernoulli[k] * ratio * power;
  }
  return sum;
}

/* The derivative of the given order of cot (pi x): pi^order times a polynomial in the cotangent. */
static double cw_cotangent_derivative(int order, double x) {
  double polynomial[260] = {0.0, 1.0}, next[260], cotangent = 1.0 / cw_tan_pi(x), value = 0.0;
  int length = 2;
  for (int step = 0; step < order; step++) {
    memset(next, 0, sizeof next);
    for (int k = 1; k < length; k++) {
      double slope = k * polynomial[k];
      next[k - 1] -= slope;
      next[k + 1] -= slope;
    }
    length++;
    memcpy(polynomial, next, sizeof next);
  }
  for (int k = length - 1; k >= 0; k--) value = value * cotangent + polynomial[k];
  return pow(cw_pi, order) * value;
}

static double cw_polygamma(int order, double x) {
  if (isnan(x) || x == -INFINITY || (x <= 0 && x == trunc(x))) return NAN;
  if (x == INFINITY) return order == 0 ? INFINITY : 0.0;
  if (x < 0) {
    double reflected = cw_polygamma(order, 1.0 - x);
    return (order % 2 == 0 ? reflected : -reflected) - cw_pi * cw_cotangent_derivative(order, x);
  }
  double at = x, below = 0.0, factorial = 1.0;
  for (int i = 1; i <= order; i++) factorial *= i;
  for (double threshold = order == 0 ? 10.0 : 20.0 + order; at < threshold; at += 1.0) {
    double inverse = 1.0 / at, power = inverse;
    for (int i = 0; i < order; i++) power *= inverse;
    below += power;
  }
  if (order == 0) return cw_digamma_series(at) - below;
  double magnitude = factorial * below + cw_polygamma_series(order, at);
  return order % 2 == 0 ? -magnitude : magnitude;
}

/* By the numbers of `special` in the code generator. */
static double cw_special_function(uint32_t operation, double x) {
  switch (operation) {
  case 0: return asinh(x);
  case 1: return acosh(x);
  case 2: return atanh(x);
  case 3: return cw_sin_pi(x);
  case 4: return cw_cos_pi(x);
  case 5: return cw_tan_pi(x);
  case 6: return asin(x) / cw_pi;
  case 7: return acos(x) / cw_pi;
  case 8: return atan(x) / cw_pi;
  case 9: return tgamma(x);
  case 10: return lgamma(x);
  case 11: return cw_polygamma(0, x);
  case 12: return erf(x);
  case 13: return erfc(x);
  case 14: return cbrt(x);
  default: return operation >= 64 && operation < 64 + 256 ? cw_polygamma((int)operation - 64, x) : NAN;
  }
}
