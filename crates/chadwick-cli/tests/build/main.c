/* Calls every function of interface.fut. Prints what a test compares, between lines that start with `==`. */

#include "interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int problems = 0;

#define EXPECT(condition)                                            \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("line %d: %s does not hold\n", __LINE__, #condition);   \
      problems++;                                                    \
    }                                                                \
  } while (0)

static chadwick_context *ctx;

static void succeeds(int failed, int line) {
  if (!failed) return;
  printf("line %d: %s\n", line, chadwick_error(ctx));
  problems++;
}

#define OK(call) succeeds(call, __LINE__)

static void fails(const char *name, int failed) {
  if (!failed) {
    printf("%s does not fail\n", name);
    problems++;
  }
  printf("== %s\n%s\n", name, chadwick_error(ctx));
}

static void say(void *data, const char *text) {
  ++*(int *)data;
  printf("trace: %s\n", text);
}

static const int64_t one[1] = {1}, two[1] = {2}, three[1] = {3};

static void values(void) {
  const int32_t words[2] = {7, -8};
  const double xs[2] = {0.5, 2.0}, ys[2] = {4.0, 0.25};
  chadwick_f64_1d first = {0}, second = {0};
  double sum = 0;
  bool flag = true;
  int8_t a = 0;
  uint16_t b = 0;
  float x = 0;
  OK(chadwick_entry_everything(ctx, words, two, 0.5, false, 1.0, 2.0, xs, two, ys, two, -3, 65535, 1.5f, &first, &flag, &sum, &a, &b, &x));
  EXPECT(first.shape[0] == 2 && first.data[0] == 9.0 && first.data[1] == -7.5);
  EXPECT(sum == 3.5 && flag && a == -3 && b == 65535 && x == 1.5f);
  EXPECT(strcmp(chadwick_error(ctx), "") == 0);

  /* 1.0, 2.0 and 0.5 in half precision */
  const uint16_t halves[2] = {0x3c00, 0x4000};
  uint16_t half = 0;
  chadwick_f16_1d scaled = {0};
  OK(chadwick_entry_halves(ctx, halves, two, 0x3800, &scaled, &half));
  EXPECT(scaled.data[0] == 0x3800 && scaled.data[1] == 0x3c00 && half == 0x3e00);
  chadwick_f16_1d_free(&scaled);
  EXPECT(scaled.data == NULL && scaled.shape[0] == 0 && scaled.capacity == 0);

  /* Results that are arguments: as such, and of the call that replaces them. */
  const double ten[3] = {10, 20, 30};
  OK(chadwick_entry_swap(ctx, xs, two, ten, three, &first, &second));
  EXPECT(first.shape[0] == 3 && first.data[2] == 30 && second.shape[0] == 2 && second.data[1] == 2.0);
  OK(chadwick_entry_swap(ctx, first.data, first.shape, second.data, second.shape, &first, &second));
  EXPECT(first.shape[0] == 2 && first.data[0] == 0.5 && first.data[1] == 2.0);
  EXPECT(second.shape[0] == 3 && second.data[0] == 10 && second.data[2] == 30);
  for (int i = 0; i < 3; i++) OK(chadwick_entry_double(ctx, second.data, second.shape, &second));
  EXPECT(second.data[0] == 80 && second.data[2] == 240);

  /* Memory that is large enough is used again. */
  const double *before = first.data;
  OK(chadwick_entry_double(ctx, xs, one, &first));
  EXPECT(first.data == before && first.shape[0] == 1 && first.data[0] == 1.0);

  /* Results that nobody wants, empty arrays, no arguments. */
  OK(chadwick_entry_swap(ctx, xs, two, ten, three, NULL, &second));
  EXPECT(second.shape[0] == 2);
  chadwick_i64_2d rows = {0};
  OK(chadwick_entry_empty_rows(ctx, 4, &rows));
  EXPECT(rows.shape[0] == 4 && rows.shape[1] == 0 && rows.data != NULL);
  const int64_t none[1] = {0};
  OK(chadwick_entry_double(ctx, NULL, none, &first));
  EXPECT(first.shape[0] == 0);
  chadwick_u8_1d bytes = {0};
  double pi = 0;
  OK(chadwick_entry_constants(ctx, &bytes, &pi));
  EXPECT(bytes.shape[0] == 3 && bytes.data[2] == 255 && pi > 3.14159 && pi < 3.1416);
  chadwick_i64_2d_free(&rows);
  chadwick_u8_1d_free(&bytes);

  /* A failure leaves the results as they were. */
  double unchanged = 5;
  EXPECT(chadwick_entry_index(ctx, ten, three, 3, &unchanged) == 1 && unchanged == 5);
  OK(chadwick_entry_index(ctx, ten, three, 2, &unchanged));
  EXPECT(unchanged == 30);

  /* Gradients */
  const double w[2] = {1.0, -2.0}, points[6] = {1, 2, 3, 4, 5, 6};
  const int64_t points_shape[2] = {3, 2};
  double value = 0, plain = 0, by_offset = 0;
  chadwick_f64_2d by_points = {0};
  OK(chadwick_entry_loss(ctx, w, two, points, points_shape, 0.5, &plain));
  OK(chadwick_gradient_loss(ctx, w, two, points, points_shape, 0.5, &value, &first, &by_points, &by_offset));
  EXPECT(value == plain && by_points.shape[0] == 3 && by_points.shape[1] == 2);
  printf("== gradient\n%.17g\n%.17g %.17g\n%.17g\n", value, first.data[0], first.data[1], by_offset);
  OK(chadwick_gradient_loss_by_offset_w(ctx, w, two, points, points_shape, 0.5, &value, &second, &pi));
  EXPECT(value == plain && second.data[0] == first.data[0] && second.data[1] == first.data[1] && pi == by_offset);
  const float w32[2] = {0.0f, 1.0f};
  float value32 = 0;
  chadwick_f32_1d gradient32 = {0};
  OK(chadwick_gradient_loss32(ctx, w32, two, &value32, &gradient32));
  EXPECT(value32 > 2.718f && value32 < 2.719f && gradient32.data[0] == 1.0f);

  const double at[3] = {0.3, -1.25, 2.375};
  for (int i = 0; i < 3; i++) {
    OK(chadwick_entry_special(ctx, at[i], &first));
    double digamma, trigamma;
    OK(chadwick_entry_special_slope(ctx, at[i], &digamma, &trigamma));
    printf("== special %g\n", at[i]);
    for (int j = 0; j < first.shape[0]; j++) printf("%.17g\n", first.data[j]);
    printf("%.17g\n%.17g\n", digamma, trigamma);
  }
  chadwick_f32_1d_free(&gradient32);
  chadwick_f64_2d_free(&by_points);
  chadwick_f64_1d_free(&first);
  chadwick_f64_1d_free(&second);
}

static void failures(void) {
  const double xs[3] = {1, 2, 3};
  const int64_t negative[1] = {-1};
  double result;
  int64_t integer;
  fails("index", chadwick_entry_index(ctx, xs, three, 7, &result));
  fails("slice", chadwick_entry_slice(ctx, xs, three, 1, 5, &result));
  fails("add_sizes", chadwick_entry_add_sizes(ctx, xs, two, xs, two, &result));
  fails("divide", chadwick_entry_divide(ctx, 1, 0, &integer));
  fails("power", chadwick_entry_power(ctx, 2, -1, &integer));
  fails("reshape", chadwick_entry_reshape(ctx, xs, three, 2, 2, &result));
  fails("positive", chadwick_entry_positive(ctx, -1, &result));
  fails("call_chain", chadwick_entry_call_chain(ctx, xs, three, 2, &result));
  fails("recursion", chadwick_entry_recursion(ctx, 20, &integer));
  fails("negative", chadwick_entry_index(ctx, xs, negative, 0, &result));
  fails("no elements", chadwick_entry_index(ctx, NULL, three, 0, &result));

  chadwick_set_memory_limit(ctx, 1 << 20);
  chadwick_i64_1d prefixes = {0};
  fails("allocate", chadwick_entry_allocate(ctx, 1000000, &prefixes));
  chadwick_set_memory_limit(ctx, (int64_t)1 << 30);
  OK(chadwick_entry_allocate(ctx, 1000000, &prefixes));
  EXPECT(prefixes.shape[0] == 1000000 && prefixes.data[999999] == 499999500000 && chadwick_peak_memory(ctx) >= 8 * 1000000);
  chadwick_i64_1d_free(&prefixes);
  chadwick_set_timeout(ctx, 0.05);
  fails("forever", chadwick_entry_forever(ctx, 0, &integer));
  chadwick_set_timeout(ctx, 0);

  OK(chadwick_entry_deep(ctx, 1000000, &integer));
  EXPECT(integer == 1000000);
}

int main(void) {
  ctx = chadwick_context_new();
  if (ctx == NULL) return 1;
  values();
  failures();

  const double xs[3] = {0.1, -1e300, 12345.678};
  int said = 0;
  double result;
  OK(chadwick_entry_speak(ctx, 1.0, 0.1f, 5, xs, three, &result));
  EXPECT(said == 0);
  chadwick_set_trace(ctx, say, &said);
  const double numbers[] = {0.1, 1e-5, 1e16, 123456789.125, -0.0, 1e15, 0.0001, 5e-324, 1.7976931348623157e308};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    printf("== speak %.17g\n", numbers[i]);
    OK(chadwick_entry_speak(ctx, numbers[i], (float)numbers[i], 5, xs, three, &result));
  }
  EXPECT(said == 5 * (int)(sizeof numbers / sizeof *numbers));

  /* Contexts do not know each other. */
  chadwick_context *other = chadwick_context_new();
  chadwick_set_threads(other, 3);
  int64_t quotient = 0;
  chadwick_i64_1d a = {0}, b = {0};
  EXPECT(chadwick_entry_divide(ctx, 1, 0, &quotient) == 1);
  OK(chadwick_entry_allocate(other, 100000, &a));
  EXPECT(strcmp(chadwick_error(other), "") == 0 && strcmp(chadwick_error(ctx), "") != 0);
  OK(chadwick_entry_allocate(ctx, 100000, &b));
  EXPECT(memcmp(a.data, b.data, 100000 * sizeof *a.data) == 0);
  chadwick_i64_1d_free(&a);
  chadwick_i64_1d_free(&b);
  chadwick_context_free(other);
  chadwick_context_free(ctx);
  chadwick_context_free(NULL);
  printf("== problems %d\n", problems);
  return problems != 0;
}
