/* Trains examples/logistic_regression.fut by gradient descent, through the library that `chadwick build` makes of it. `make` builds and
   runs it; see the Makefile. */

#include "logistic_regression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 400, DIMENSIONS = 3 };

/* Numbers in [-1, 1), the same in every run. */
static double next(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1.0;
}

static void fail(chadwick_context *context) {
  fprintf(stderr, "%s\n", chadwick_error(context));
  exit(1);
}

int main(void) {
  /* Points on both sides of a plane. */
  static double features[POINTS][DIMENSIONS], labels[POINTS];
  const double truth[DIMENSIONS] = {2.0, -1.0, 0.5};
  uint64_t state = 1;
  for (int i = 0; i < POINTS; i++) {
    double side = 0;
    for (int j = 0; j < DIMENSIONS; j++) {
      features[i][j] = next(&state);
      side += truth[j] * features[i][j];
    }
    labels[i] = side > 0 ? 1.0 : 0.0;
  }

  chadwick_context *context = chadwick_context_new();
  if (context == NULL) return 1;
  chadwick_set_threads(context, 0);
  chadwick_set_timeout(context, 10.0);

  double weights[DIMENSIONS] = {0}, loss = 0;
  const int64_t weights_shape[1] = {DIMENSIONS}, features_shape[2] = {POINTS, DIMENSIONS}, labels_shape[1] = {POINTS};
  chadwick_f64_1d gradient = {0};
  for (int step = 0; step <= 200; step++) {
    /* The elements of the arguments are read where they are; the gradient's memory is used again in every step. */
    if (chadwick_gradient_loss_by_weights(context, weights, weights_shape, features[0], features_shape, labels, labels_shape, &loss,
                                          &gradient))
      fail(context);
    if (step % 50 == 0) printf("step %3d: loss %.6f\n", step, loss);
    for (int j = 0; j < DIMENSIONS; j++) weights[j] -= 0.02 * gradient.data[j];
  }
  double length = sqrt(weights[0] * weights[0] + weights[1] * weights[1] + weights[2] * weights[2]);
  printf("direction:");
  for (int j = 0; j < DIMENSIONS; j++) printf(" %.3f", weights[j] / length);
  printf("\n");

  /* Arguments that do not fit are errors, and the context can be used again. */
  const int64_t too_short[1] = {POINTS - 1};
  if (chadwick_entry_loss(context, weights, weights_shape, features[0], features_shape, labels, too_short, &loss))
    printf("%s\n", chadwick_error(context));

  chadwick_f64_1d_free(&gradient);
  chadwick_context_free(context);
  return 0;
}
