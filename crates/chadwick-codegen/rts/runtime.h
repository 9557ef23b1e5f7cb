/* What generated code stands on: memory with reference counts, errors as return values, a stream of values for the host.

   All memory of a run belongs to its context and those of its workers. A run that fails returns through all its functions without
   cleaning up; cw_reset takes everything back at once. A block may be given back to another context than it came from. */

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define cw_unlikely(x) __builtin_expect(!!(x), 0)

/* The runtime may be compiled apart from the program: what they know of each other. */
#ifndef CW_SHARED
#define CW_SHARED static
#endif

/* What the host calls can be seen from outside, except in a library, which has an interface of its own. */
#ifndef CW_HOST
#define CW_HOST
#endif

/* In front of the elements of an array. 64 bytes, so that elements are aligned to a cache line. */
typedef struct cw_block {
  int64_t refs;
  int64_t count; /* elements that there is room for */
  int64_t bytes;
  int32_t class;
  int32_t in_use;
  struct cw_block *next, *previous; /* of large blocks: all there are */
  struct cw_block *next_free;
  int64_t unused;
} cw_block;

/* To find errors in generated code (-DCW_SANITIZE), every block is its own allocation, no larger than asked for, and given back at once. */
#ifdef CW_SANITIZE
enum { CW_CLASSES = 192, CW_LARGE = 0, CW_NODE_CLASSES = 96, CW_CHUNK = 1024 * 1024 };
#define CW_KEPT_BYTES 0
#else
enum { CW_CLASSES = 192, CW_LARGE = 128 * 1024, CW_NODE_CLASSES = 96, CW_CHUNK = 1024 * 1024 };
#define CW_KEPT_BYTES ((int64_t)1 << 30)
#endif

#define CW_UNREPORTED ((int64_t)64 * 1024)
#define CW_NODES_PART ((int64_t)64 * 1024)

typedef struct cw_chunk {
  struct cw_chunk *next;
  int64_t bytes;
  int64_t unused[6];
} cw_chunk;

typedef struct {
  int32_t code;
  int32_t values_count;
  int32_t sites_count;
  int32_t sites[64];
  int64_t values[64];
} cw_error;

typedef struct {
  double (*special)(uint32_t operation, double x);
  void (*trace)(void *data, int32_t site, const uint8_t *bytes, int64_t count);
  void *data;
} cw_host;

/* A value at the border: a scalar's bits, or the elements of a row-major array and its sizes. */
typedef struct {
  void *data;
  int64_t *shape;
  uint64_t scalar;
} cw_value;

/* What the contexts of a run share. */
typedef struct {
  int64_t live, limit, peak;
  cw_block *large;
  int64_t large_bytes;
  cw_block *free_large[CW_CLASSES]; /* whoever gave them back */
  pthread_mutex_t lock; /* of large blocks */
  struct cw_context *contexts;
} cw_memory;

typedef struct cw_context {
  /* What changes all the time, in a cache line of its own: between runs, who runs the program looks at the rest of all contexts. */
  _Alignas(64) int64_t fuel;
  int64_t depth, max_depth;
  char *stack_limit;
  cw_memory *memory;
  int32_t threads; /* how many may work */
  struct cw_team *team;
  bool parallel; /* whether others run at the same time */
  _Alignas(64) uint32_t run; /* changes with the limits of runs */
  struct cw_context *next; /* of all contexts of the memory */
  int64_t unreported; /* bytes taken that the memory has not been told of */
  struct cw_session *session; /* of forks that this context works in, with what can be stolen from it and what it stole */
  struct cw_deque *deque;
  struct cw_task *task;
  int32_t victim;
  int32_t skips, forks_to_skip; /* forks that open no session, since sessions are too short */
  bool has_deadline;
  struct timespec deadline;
  cw_block *free_blocks[CW_CLASSES];
  void *free_nodes[CW_NODE_CLASSES];
  cw_chunk *chunks, *spare_chunks;
  char *bump, *bump_end;
  char *nodes, *nodes_end; /* a part of a chunk for nodes, of which so many bytes were counted */
  int64_t nodes_part;
  void **memo;
  int32_t memos;
  uint8_t *stream;
  int64_t stream_length, stream_capacity;
  cw_host host;
  cw_error error;
#ifdef CW_PROFILE
  int64_t allocations, allocated_bytes;
  int64_t lap_times[CW_PROFILE]; /* nanoseconds on the account of each line */
  int64_t lap_since;
  int64_t lap_line;
#endif
} cw_context;

/* What a program needs of a context: places for results that are computed once in a run, and stack for workers. The program says so. */
typedef struct {
  int32_t memos;
  size_t worker_stack;
} cw_needs;

CW_SHARED cw_needs cw_needs_of_program(void);

enum {
  CW_INDEX = 1, CW_SLICE, CW_IRREGULAR, CW_IRREGULAR_FIRST, CW_RESHAPE, CW_CONCAT, CW_WRITE, CW_ADD_SHAPES, CW_OPERATOR,
  CW_DIVISION, CW_EXPONENT, CW_ASSERTION, CW_MEMORY, CW_DEADLINE, CW_DEPTH, CW_OTHER_CONSTRUCTOR, CW_ADD_CONSTRUCTORS
};

/* Errors */

__attribute__((cold, noinline)) CW_SHARED int cw_fail(cw_context *ctx, int32_t site, int32_t code, int32_t count, const int64_t *values);

/* A failure with two values, in registers: an index and a size. */
__attribute__((cold, noinline)) CW_SHARED int cw_fail_with(cw_context *ctx, int32_t site, int32_t code, int64_t first, int64_t second);

/* Passes a failure on to the caller. */
__attribute__((cold, noinline)) CW_SHARED int cw_unwind(cw_context *ctx, int32_t site);

__attribute__((cold, noinline)) CW_SHARED int cw_look_at_clock(cw_context *ctx);

/* The same without waiting for many ticks: at the beginning of something long. */
static inline int cw_is_late(cw_context *ctx) { return cw_unlikely(ctx->has_deadline) && cw_look_at_clock(ctx); }

static inline int cw_tick(cw_context *ctx) { return cw_unlikely(--ctx->fuel < 0) ? cw_look_at_clock(ctx) : 0; }

/* A call that may nest, so deep; what is wrong, if something is. */
static inline int32_t cw_enter(cw_context *ctx, int64_t depth) {
  if (cw_unlikely(depth > ctx->max_depth)) return CW_DEPTH;
  return cw_unlikely((char *)__builtin_frame_address(0) < ctx->stack_limit) ? CW_MEMORY : 0;
}

/* Profiles */

#ifdef CW_PROFILE
/* From here on time is on the account of this line. */
CW_SHARED void cw_lap(cw_context *ctx, int64_t line);
#define cw_count_allocation(ctx, size) ((ctx)->allocations++, (ctx)->allocated_bytes += (size))
#else
#define cw_count_allocation(ctx, size) ((void)0)
#endif

/* Memory */

CW_SHARED char *cw_bump(cw_context *ctx, int64_t bytes, uintptr_t alignment);

/* Adds to a count that others may see: a word of shared memory only where there are others. */
static inline int64_t cw_count(cw_context *ctx, int64_t *count, int64_t change) {
  return cw_unlikely(ctx->parallel) ? __atomic_add_fetch(count, change, __ATOMIC_ACQ_REL) : (*count += change);
}

/* Whether this is the only reference. */
static inline bool cw_is_only(const int64_t *refs) { return __atomic_load_n(refs, __ATOMIC_ACQUIRE) == 1; }

/* Gives up a reference; whether it was the last. Who has the only one need not tell others. */
static inline bool cw_was_last(cw_context *ctx, int64_t *refs) {
  return (cw_unlikely(ctx->parallel) && cw_is_only(refs)) || cw_count(ctx, refs, -1) == 0;
}

__attribute__((noinline)) CW_SHARED cw_block *cw_alloc_bytes(cw_context *ctx, int64_t bytes, int64_t count);

/* A block for an array; NULL if there is no room. */
static inline cw_block *cw_alloc(cw_context *ctx, int64_t element_bytes, int32_t rank, const int64_t *dims, bool zeroed) {
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int32_t i = 0; i < rank; i++) {
    empty |= dims[i] == 0;
    overflow |= __builtin_mul_overflow(count, dims[i], &count);
  }
  if (empty) count = 0;
  int64_t bytes = 0;
  if (!empty && (overflow || __builtin_mul_overflow(count, element_bytes, &bytes))) return NULL;
  cw_block *block = cw_alloc_bytes(ctx, bytes, count);
  if (zeroed && block != NULL) memset(block + 1, 0, (size_t)bytes);
  return block;
}

__attribute__((noinline)) CW_SHARED void cw_free_block(cw_context *ctx, cw_block *block);

static inline void cw_retain(cw_context *ctx, cw_block *block) {
  if (block != NULL) cw_count(ctx, &block->refs, 1);
}

/* Not inlined: there are many of these, and they take the C compiler longer than they save. */
__attribute__((noinline)) CW_SHARED void cw_release(cw_context *ctx, cw_block *block);

/* Whether somebody else may look at what the block holds. */
static inline bool cw_is_shared(const cw_block *block) { return block == NULL || !cw_is_only(&block->refs); }

/* Whether a block has no room for one more row of so many elements behind `count` rows. */
static inline bool cw_is_full(const cw_block *block, int64_t element_bytes, int64_t count, int64_t row) {
  int64_t needed;
  if (__builtin_mul_overflow(count + 1, row, &needed) || __builtin_mul_overflow(needed, element_bytes, &needed)) return true;
  return block == NULL || needed > block->bytes;
}

/* Makes room for one more row behind `count` rows. */
__attribute__((noinline)) CW_SHARED int cw_grow(cw_context *ctx, cw_block **owner, int64_t element_bytes, int64_t count, int64_t row,
                                             bool zeroed);

/* Rows of several columns that grow together. */
typedef struct cw_rows {
  int64_t count, room, start;
  cw_block **columns;
} cw_rows;

__attribute__((noinline)) CW_SHARED int cw_grow_rows(cw_context *ctx, cw_rows *log, int32_t columns, const int64_t *sizes);

static inline int32_t cw_node_class(int64_t bytes, int64_t *rounded) {
  if (bytes <= 1024) {
    *rounded = (bytes + 15) & ~(int64_t)15;
    return (int32_t)(*rounded / 16);
  }
  int32_t log = 64 - __builtin_clzll((uint64_t)(bytes - 1));
  *rounded = (int64_t)1 << log;
  return log < 31 + 11 ? 65 + log - 11 : CW_NODE_CLASSES - 1;
}

/* What stands for a failure where a node is returned. */
#define CW_FAILED_NODE ((void *)(uintptr_t)1)

/* A part of a chunk for nodes, larger each time: its bytes are counted, those of the nodes in it are not. */
__attribute__((cold, noinline)) CW_SHARED char *cw_node_in_new_part(cw_context *ctx, int64_t bytes);

/* Memory for a node of a recursive type; its first word counts references. Whoever asks writes all of it that is read. */
static inline void *cw_node(cw_context *ctx, int64_t bytes) {
  int64_t rounded;
  int32_t class = cw_node_class(bytes, &rounded);
  char *node = ctx->free_nodes[class];
  if (node != NULL) {
    ctx->free_nodes[class] = *(void **)node;
  } else if (node = ctx->nodes, cw_unlikely(ctx->nodes_end - node < rounded)) {
    node = cw_node_in_new_part(ctx, rounded);
    if (node == NULL) return NULL;
  } else {
    ctx->nodes = node + rounded;
  }
  cw_count_allocation(ctx, rounded);
  *(int64_t *)node = 1;
  return node;
}

/* The memory of a node stays with the nodes of its size. */
static inline void cw_free_node(cw_context *ctx, void *node, int64_t bytes) {
  int64_t rounded;
  int32_t class = cw_node_class(bytes, &rounded);
  *(void **)node = ctx->free_nodes[class];
  ctx->free_nodes[class] = node;
}

/* Copies */

typedef int64_t cw_words __attribute__((vector_size(32), aligned(8), may_alias));

#if defined(__clang__)
#define cw_shuffle(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define cw_shuffle(a, b, ...) __builtin_shuffle(a, b, (cw_words){__VA_ARGS__})
#endif

/* Four rows of four words each become columns; rows start so far apart, here and there. */
static inline void cw_turn_four(int64_t *to, int64_t to_row, const int64_t *from, int64_t from_row) {
  cw_words a = *(const cw_words *)from, b = *(const cw_words *)(from + from_row);
  cw_words c = *(const cw_words *)(from + 2 * from_row), d = *(const cw_words *)(from + 3 * from_row);
  cw_words ab_even = cw_shuffle(a, b, 0, 4, 2, 6), ab_odd = cw_shuffle(a, b, 1, 5, 3, 7);
  cw_words cd_even = cw_shuffle(c, d, 0, 4, 2, 6), cd_odd = cw_shuffle(c, d, 1, 5, 3, 7);
  *(cw_words *)to = cw_shuffle(ab_even, cd_even, 0, 1, 4, 5);
  *(cw_words *)(to + to_row) = cw_shuffle(ab_odd, cd_odd, 0, 1, 4, 5);
  *(cw_words *)(to + 2 * to_row) = cw_shuffle(ab_even, cd_even, 2, 3, 6, 7);
  *(cw_words *)(to + 3 * to_row) = cw_shuffle(ab_odd, cd_odd, 2, 3, 6, 7);
}

/* A matrix of words is transposed in blocks. Those of the same columns follow each other: who made the columns finds them in its cache. */
enum { CW_TURNED_ROWS = 256, CW_TURNED_COLUMNS = 8 };

static inline int64_t cw_turned_blocks(int64_t rows, int64_t columns) {
  return ((rows + CW_TURNED_ROWS - 1) / CW_TURNED_ROWS) * ((columns + CW_TURNED_COLUMNS - 1) / CW_TURNED_COLUMNS);
}

/* A block of a matrix whose columns lie side by side, a stride apart: to one whose rows do. */
CW_SHARED void cw_transpose(void *target, const void *source, int64_t rows, int64_t columns, int64_t stride, int64_t block);

/* A few columns, a stride apart: to rows that are so far apart. */
CW_SHARED void cw_turn(void *target, const void *source, int64_t rows, int64_t columns, int64_t stride, int64_t apart);

/* How many columns are made before they are written to rows: a cache line of each row or, of short columns, as many as fill a block. */
static inline int64_t cw_turned_length(int64_t rows) {
  return rows >= CW_TURNED_ROWS ? CW_TURNED_COLUMNS : (CW_TURNED_COLUMNS * CW_TURNED_ROWS / (rows + 1) + 7) & -8;
}

/* Sizes */

static inline int64_t cw_at_least_zero(int64_t x) { return x > 0 ? x : 0; }

/* The product; -1 where there is none. */
static inline int64_t cw_times(int64_t a, int64_t b) {
  int64_t product;
  if (a == 0 || b == 0) return 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

/* Every selected position must exist; an empty range must lie within 0..size (from -1 when it goes down). */
static inline bool cw_range_fits(int64_t start, int64_t count, int64_t stride, int64_t size) {
  if (count < 0) return false;
  if (count == 0) return -1 <= start && start <= size;
  if (count > 1 && stride == 0) return false;
  __int128 last = (__int128)start + (__int128)(count - 1) * stride;
  return 0 <= start && start < size && 0 <= last && last < size;
}

/* Values for the host */

__attribute__((noinline)) CW_SHARED void cw_write(cw_context *ctx, const void *bytes, int64_t count);

CW_SHARED void cw_trace(cw_context *ctx, int32_t site);
