/* What the functions of a library stand on: messages from the table of places, calls with limits, results that the caller keeps.

   The generated file defines cw_places and cw_places_count before this. */

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Text that grows. */
typedef struct {
  char *data;
  size_t length, capacity;
  bool failed; /* no memory for all of it */
} cw_text;

typedef struct {
  cw_context *run;
  int64_t memory_limit;
  double timeout;
  cw_text error, traced;
  void (*trace)(void *data, const char *text);
  void *trace_data;
} cw_export;

static void cw_add(cw_text *text, const char *part, size_t length) {
  if (text->capacity - text->length < length + 1) {
    size_t capacity = 2 * text->capacity + length + 256;
    char *data = realloc(text->data, capacity);
    if (data == NULL) {
      text->failed = true;
      return;
    }
    text->data = data;
    text->capacity = capacity;
  }
  memcpy(text->data + text->length, part, length);
  text->length += length;
  text->data[text->length] = 0;
}

static void cw_clear(cw_text *text) {
  text->length = 0;
  text->failed = false;
  if (text->data != NULL) text->data[0] = 0;
}

static void cw_put(cw_text *text, const char *part) { cw_add(text, part, strlen(part)); }

/* Numbers and short words. */
static void cw_say(cw_text *text, const char *format, ...) {
  char buffer[256];
  va_list args;
  va_start(args, format);
  vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  cw_put(text, buffer);
}

/* Values */

/* The shortest digits that mean the same number. */
static void cw_show_float(cw_text *text, double x, bool single, const char *name) {
  if (isnan(x)) {
    cw_say(text, "%s.nan", name);
    return;
  }
  if (isinf(x)) {
    cw_say(text, "%s%s.inf", x < 0 ? "-" : "", name);
    return;
  }
  char written[64], digits[64];
  for (int precision = 0; precision < 18; precision++) {
    snprintf(written, sizeof written, "%.*e", precision, x);
    if (single ? strtof(written, NULL) == (float)x : strtod(written, NULL) == x) break;
  }
  int count = 0, exponent = 0;
  for (const char *at = written; *at; at++) {
    if (*at >= '0' && *at <= '9') digits[count++] = *at;
    if (*at == 'e') {
      exponent = atoi(at + 1);
      break;
    }
  }
  while (count > 1 && digits[count - 1] == '0') count--;
  digits[count] = 0;
  if (signbit(x)) cw_put(text, "-");
  double size = fabs(x);
  if (size != 0 && (size < (single ? 1e-4f : 1e-4) || size >= (single ? 1e16f : 1e16))) {
    cw_add(text, digits, 1);
    if (count > 1) cw_say(text, ".%s", digits + 1);
    cw_say(text, "e%d", exponent);
  } else if (exponent < 0) {
    cw_put(text, "0.");
    for (int zero = 1; zero < -exponent; zero++) cw_put(text, "0");
    cw_put(text, digits);
  } else {
    for (int at = 0; at <= exponent; at++) cw_add(text, at < count ? &digits[at] : "0", 1);
    cw_put(text, ".");
    cw_put(text, count > exponent + 1 ? digits + exponent + 1 : "0");
  }
  cw_put(text, name);
}

static size_t cw_element_bytes(char kind) {
  switch (kind) {
  case 'u': return 0;
  case 'b': case 'c': case 'C': return 1;
  case 's': case 'S': case 'h': return 2;
  case 'i': case 'I': case 'f': return 4;
  default: return 8;
  }
}

#define CW_READ(type) ({ type cw_read; memcpy(&cw_read, bytes, sizeof cw_read); cw_read; })

static void cw_show_scalar(cw_text *text, char kind, const uint8_t *bytes) {
  switch (kind) {
  case 'u': cw_put(text, "()"); break;
  case 'b': cw_put(text, *bytes ? "true" : "false"); break;
  case 'c': cw_say(text, "%di8", (int)CW_READ(int8_t)); break;
  case 's': cw_say(text, "%di16", (int)CW_READ(int16_t)); break;
  case 'i': cw_say(text, "%ldi32", (long)CW_READ(int32_t)); break;
  case 'l': cw_say(text, "%lldi64", (long long)CW_READ(int64_t)); break;
  case 'C': cw_say(text, "%uu8", (unsigned)CW_READ(uint8_t)); break;
  case 'S': cw_say(text, "%uu16", (unsigned)CW_READ(uint16_t)); break;
  case 'I': cw_say(text, "%luu32", (unsigned long)CW_READ(uint32_t)); break;
  case 'L': cw_say(text, "%lluu64", (unsigned long long)CW_READ(uint64_t)); break;
#ifdef CW_HALF
  case 'h': cw_show_float(text, (double)CW_READ(_Float16), false, "f16"); break;
#endif
  case 'f': cw_show_float(text, (double)CW_READ(float), true, "f32"); break;
  default: cw_show_float(text, CW_READ(double), false, "f64");
  }
}

static void cw_show_array(cw_text *text, char kind, const uint8_t *bytes, const int64_t *shape, int rank, int64_t at, int *budget) {
  if (rank == 0) {
    if (*budget > 0) (*budget)--;
    cw_show_scalar(text, kind, bytes + (size_t)at * cw_element_bytes(kind));
    return;
  }
  int64_t step = 1;
  for (int axis = 1; axis < rank; axis++) step *= shape[axis];
  cw_put(text, "[");
  for (int64_t i = 0; i < shape[0]; i++) {
    if (i > 0) cw_put(text, ", ");
    if (*budget == 0) {
      cw_put(text, "\342\200\246");
      break;
    }
    cw_show_array(text, kind, bytes, shape + 1, rank - 1, at + i * step, budget);
  }
  cw_put(text, "]");
}

/* The next value of the stream, by its kind: a letter for a scalar, a number and a letter for an array, `?` for what is not shown. */
static bool cw_show_value(cw_text *text, const char *kind, const uint8_t **bytes, int64_t *left) {
  int rank = 0;
  while (*kind >= '0' && *kind <= '9') rank = 10 * rank + (*kind++ - '0');
  if (*kind == '?' || rank > 60) {
    cw_say(text, "<a value of type %s, which libraries do not show>", kind + 1);
    return false;
  }
  int64_t shape[60], count = 1, needed;
  if (*left < 8 * rank) return false;
  for (int axis = 0; axis < rank; axis++) {
    memcpy(&shape[axis], *bytes, 8);
    *bytes += 8;
    *left -= 8;
    if (shape[axis] < 0 || __builtin_mul_overflow(count, shape[axis], &count)) return false;
  }
  if (__builtin_mul_overflow(count, (int64_t)cw_element_bytes(*kind), &needed) || needed > *left) return false;
  int budget = 100;
  cw_show_array(text, *kind, *bytes, shape, rank, 0, &budget);
  *bytes += needed;
  *left -= needed;
  return true;
}

/* The message of a place with the values that it wrote. */
static void cw_show_parts(cw_text *text, const cw_place *place, const uint8_t *bytes, int64_t left) {
  bool readable = true;
  for (int32_t part = 0; part < place->parts_count; part++) {
    if (place->parts[part].text != NULL)
      cw_put(text, place->parts[part].text);
    else if (!readable || !cw_show_value(text, place->parts[part].kind, &bytes, &left)) {
      if (!readable || *place->parts[part].kind != '?') cw_put(text, "?");
      readable = false;
    }
  }
}

/* Failures */

static void cw_say_shape(cw_text *text, const int64_t *shape, int32_t rank) {
  for (int32_t axis = 0; axis < rank; axis++) cw_say(text, "[%lld]", (long long)shape[axis]);
}

static void cw_say_shapes(cw_text *text, const cw_error *error, const char *before, const char *between, const char *behind) {
  int32_t half = error->values_count / 2;
  cw_put(text, before);
  cw_say_shape(text, error->values, half);
  cw_put(text, between);
  cw_say_shape(text, error->values + half, error->values_count - half);
  cw_put(text, behind);
}

static void cw_say_problem(cw_text *text, cw_context *run, const cw_error *error, const cw_place *place) {
  const int64_t *v = error->values;
  switch (error->code) {
  case CW_INDEX: cw_say(text, "index %lld out of bounds for size %lld", (long long)v[0], (long long)v[1]); break;
  case CW_SLICE:
    cw_say(text, "slice of %lld from %lld in steps of %lld out of bounds for size %lld", (long long)v[0], (long long)v[1],
           (long long)v[2], (long long)v[3]);
    break;
  case CW_IRREGULAR: cw_say_shapes(text, error, "irregular array: an element of shape ", " among elements of shape ", ""); break;
  case CW_IRREGULAR_FIRST:
    cw_put(text, "irregular array: an element of shape ");
    cw_say_shape(text, v, error->values_count);
    break;
  case CW_RESHAPE: {
    int32_t rank = v[0] < 0 || v[0] >= error->values_count ? 0 : (int32_t)v[0];
    cw_put(text, "cannot reshape ");
    cw_say_shape(text, v + 1, rank);
    cw_put(text, " to ");
    cw_say_shape(text, v + 1 + rank, error->values_count - 1 - rank);
    break;
  }
  case CW_CONCAT: cw_say_shapes(text, error, "cannot concatenate arrays of shapes ", " and ", ""); break;
  case CW_WRITE: cw_say_shapes(text, error, "cannot write an array of shape ", " over a part of shape ", ""); break;
  case CW_ADD_SHAPES: cw_say_shapes(text, error, "cannot add arrays of shapes ", " and ", ""); break;
  case CW_OPERATOR: cw_say_shapes(text, error, "the operator returned shape ", ", but the neutral element has shape ", ""); break;
  case CW_DIVISION: cw_put(text, "division by zero"); break;
  case CW_EXPONENT: cw_put(text, "negative exponent in an integer power"); break;
  case CW_ASSERTION: {
    int64_t length;
    const uint8_t *stream = cw_stream(run, &length);
    if (place == NULL || place->parts_count == 0)
      cw_put(text, "assertion failed");
    else
      cw_show_parts(text, place, stream, length);
    break;
  }
  case CW_MEMORY: cw_put(text, "memory limit exceeded"); break;
  case CW_DEADLINE: cw_put(text, "time limit exceeded"); break;
  case CW_DEPTH: cw_put(text, "too many nested calls"); break;
  case CW_OTHER_CONSTRUCTOR: cw_put(text, "an accumulation into another constructor"); break;
  case CW_ADD_CONSTRUCTORS: cw_put(text, "cannot add values of different constructors"); break;
  default: cw_say(text, "native code failed with number %d", (int)error->code);
  }
}

/* What is wrong, where, and the calls that led there. */
static void cw_explain(cw_export *export) {
  enum { NAMED = 32, SHOWN = 8 };
  const cw_error *error = cw_last_error(export->run);
  const cw_place *places[NAMED];
  int32_t count = 0;
  for (int32_t at = 0; at < error->sites_count; at++)
    for (int32_t site = error->sites[at]; site >= 0 && site < cw_places_count && count < NAMED; site = cw_places[site].caller)
      places[count++] = &cw_places[site];
  cw_text *text = &export->error;
  cw_clear(text);
  cw_put(text, "error: ");
  cw_say_problem(text, export->run, error, count > 0 ? places[0] : NULL);
  /* The innermost place in the program itself. */
  const char *snippet = count > 0 ? places[0]->snippet : NULL;
  for (int32_t at = 0; at < count; at++) {
    if (places[at]->in_program) {
      snippet = places[at]->snippet;
      break;
    }
  }
  if (snippet != NULL) {
    cw_put(text, "\n");
    cw_put(text, snippet);
  }
  int32_t lines = 0;
  for (int32_t at = 0; at < count;) {
    int32_t same = 1;
    while (at + same < count && strcmp(places[at + same]->call, places[at]->call) == 0) same++;
    if (lines++ == SHOWN) {
      cw_say(text, "\n   = and %d more calls", (int)(count - at));
      break;
    }
    cw_put(text, "\n   = ");
    cw_put(text, places[at]->call);
    if (same > 1) cw_say(text, " (%d times)", (int)same);
    at += same;
  }
}

static int cw_refuse(cw_export *export, const char *format, const char *what) {
  cw_clear(&export->error);
  cw_put(&export->error, "error: ");
  cw_say(&export->error, format, what);
  return 1;
}

static const char *cw_error_text(cw_export *export) {
  if (export->error.failed) return "error: there is no memory for the message";
  return export->error.length == 0 ? "" : export->error.data;
}

static void cw_export_trace(void *data, int32_t site, const uint8_t *bytes, int64_t count) {
  cw_export *export = data;
  if (export->trace == NULL || site < 0 || site >= cw_places_count) return;
  cw_clear(&export->traced);
  cw_put(&export->traced, "");
  cw_show_parts(&export->traced, &cw_places[site], bytes, count);
  if (!export->traced.failed) export->trace(export->trace_data, export->traced.data);
}

/* Contexts */

static int cw_export_open(cw_export *export) {
  export->run = cw_open();
  export->memory_limit = (int64_t)8 << 30;
  return export->run == NULL;
}

static void cw_export_close(cw_export *export) {
  if (export->run != NULL) cw_close(export->run);
  free(export->error.data);
  free(export->traced.data);
}

static void cw_export_threads(cw_export *export, int threads) {
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  cw_set_threads(export->run, threads);
}

/* Calls */

static cw_value cw_array_argument(const void *data, const int64_t *shape) { return (cw_value){(void *)data, (int64_t *)shape, 0}; }

static cw_value cw_scalar_argument(const void *data, size_t bytes) {
  cw_value value = {NULL, NULL, 0};
  memcpy(&value.scalar, data, bytes);
  return value;
}

/* Whether sizes are possible; `fixed` has those that the type knows, or -1. */
static int cw_check_array(cw_export *export, const char *name, const void *data, const int64_t *shape, int32_t rank, const int64_t *fixed) {
  int64_t count = 1;
  if (shape == NULL) return cw_refuse(export, "%s has no shape", name);
  for (int32_t axis = 0; axis < rank; axis++) {
    if (shape[axis] < 0) return cw_refuse(export, "%s has a negative size", name);
    if (fixed[axis] >= 0 && shape[axis] != fixed[axis]) return cw_refuse(export, "%s has another size than its type", name);
    count = cw_times(count, shape[axis]);
  }
  if (count < 0) return cw_refuse(export, "%s is too large", name);
  return count > 0 && data == NULL ? cw_refuse(export, "%s has no elements behind its pointer", name) : 0;
}

typedef struct {
  cw_context *run;
  int32_t entry;
  const cw_value *args;
  cw_value *results;
  int failed;
} cw_job;

static void *cw_run_job(void *data) {
  cw_job *job = data;
  job->failed = cw_call(job->run, job->entry, job->args, job->results);
  return NULL;
}

static int cw_export_call(cw_export *export, int32_t entry, const cw_value *args, cw_value *results) {
  cw_job job = {export->run, entry, args, results, 1};
  cw_host host = {cw_special_function, cw_export_trace, export};
  int64_t nanoseconds = export->timeout > 0 && export->timeout < 9e9 ? (int64_t)(export->timeout * 1e9) : -1;
  char *stack_limit = NULL;
  cw_set_host(export->run, &host);
  cw_clear(&export->error);
#ifdef CW_RECURSIVE
  /* Recursion gets a stack whose address space is reserved, not used, on a thread of its own. */
  static const size_t sizes[] = {(size_t)64 << 30, (size_t)4 << 30, (size_t)512 << 20, (size_t)16 << 20};
  size_t margin = (size_t)1 << 20, bytes = 0;
  char *stack = MAP_FAILED;
  for (size_t choice = 0; choice < sizeof sizes / sizeof *sizes && stack == MAP_FAILED; choice++) {
    bytes = sizes[choice];
    stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (stack == MAP_FAILED) return cw_refuse(export, "there is no memory for %s", "the stack");
  size_t usable = export->memory_limit < (int64_t)(4 * margin) ? 4 * margin : (size_t)export->memory_limit;
  stack_limit = stack + (bytes - (usable < bytes ? usable : bytes)) + margin;
  cw_set_limits(export->run, export->memory_limit, nanoseconds, INT64_MAX / 4, stack_limit);
  pthread_attr_t attributes;
  pthread_t thread;
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    started = pthread_attr_setstack(&attributes, stack, bytes) == 0 && pthread_create(&thread, &attributes, cw_run_job, &job) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (started) pthread_join(thread, NULL);
  munmap(stack, bytes);
  if (!started) return cw_refuse(export, "%s could not be started", "the thread for recursion");
#else
  cw_set_limits(export->run, export->memory_limit, nanoseconds, INT64_MAX / 4, stack_limit);
  cw_run_job(&job);
#endif
  if (job.failed) {
    cw_explain(export);
    cw_reset(export->run);
  }
  return job.failed;
}

/* An array that the caller keeps. */
typedef struct {
  void **data;
  int64_t *capacity; /* bytes behind the pointer */
  int64_t *shape;
  int32_t rank;
  int32_t element_bytes;
  const cw_value *result;
  void *target;
  int64_t bytes;
} cw_out;

static bool cw_is_argument(const cw_out *out, const cw_value *args, int32_t args_count) {
  const char *from = *out->data, *to = from + *out->capacity;
  for (int32_t at = 0; at < args_count; at++) {
    const char *data = args[at].data;
    if (data != NULL && data >= from && data < to) return true;
  }
  return false;
}

/* Copies results. Memory that is large enough is used again, unless an argument of the call, which a result may share, is in it. */
static int cw_keep_arrays(cw_export *export, cw_out *outs, int32_t count, const cw_value *args, int32_t args_count) {
  for (int32_t at = 0; at < count; at++) {
    cw_out *out = &outs[at];
    out->bytes = out->element_bytes;
    for (int32_t axis = 0; axis < out->rank; axis++) out->bytes *= out->result->shape[axis];
    bool reuse = *out->data != NULL && *out->capacity >= out->bytes && !cw_is_argument(out, args, args_count);
    out->target = reuse ? *out->data : malloc(out->bytes > 0 ? (size_t)out->bytes : 1);
    if (out->target == NULL) {
      while (--at >= 0)
        if (outs[at].target != *outs[at].data) free(outs[at].target);
      cw_reset(export->run);
      return cw_refuse(export, "there is no memory for %s", "the results");
    }
  }
  for (int32_t at = 0; at < count; at++)
    if (outs[at].bytes > 0) memcpy(outs[at].target, outs[at].result->data, (size_t)outs[at].bytes);
  for (int32_t at = 0; at < count; at++) {
    cw_out *out = &outs[at];
    memcpy(out->shape, out->result->shape, (size_t)out->rank * sizeof *out->shape);
    if (out->target == *out->data) continue;
    free(*out->data);
    *out->data = out->target;
    *out->capacity = out->bytes;
  }
  return 0;
}
