/* A team of threads that runs the chunks of a loop.

   How a loop is cut depends on its size and never on the number of threads, and what chunks compute is put together in their order: the
   results are the same bits for any number of threads. Every thread has a share of the chunks, neighbours that it goes through one by one, so that it
   meets the same parts of arrays in one loop after the other; then it helps with the shares of others. A loop is over when all its chunks are: who
   comes too late finds none, and nobody waits for him. When chunks fail, the error is that of the first.

   Whether a short loop is worth handing over depends on how far apart the cores are, which differs tenfold between machines, and on what their caches
   hold. So it is tried both ways now and then, and goes the faster way in between. That changes who runs a chunk, and nothing else.

   A worker looks out for the next loop for some time before it sleeps. Handing a loop to who looks out takes a fraction of a microsecond: what
   changes from loop to loop is in one cache line, which only who runs the loop writes to, and what a worker says of its chunks in another. Waking
   somebody takes much longer, so only loops that are long, or many short ones, do that. */

enum { CW_MAX_CHUNKS = 64, CW_MAX_THREADS = 256, CW_SPINS = 4000 };

/* Work, in about a nanosecond's worth of operations (much less in vectors), that is worth a chunk; that is worth waking others. To find errors
   (-DCW_GRAIN=8), threads share even the shortest loops. */
#ifndef CW_GRAIN
#define CW_GRAIN 16384
#endif
enum { CW_WORTH_WAKING = 8 * CW_GRAIN };

typedef int (*cw_chunk_function)(cw_context *ctx, void *loop, int32_t chunk, int64_t from, int64_t to);

typedef struct {
  pthread_t thread;
  int32_t number; /* from 1: who runs the loop has the first share */
  uint32_t run; /* whose limits its context has */
  cw_context *context;
  struct cw_team *team;
  char *stack;
  size_t stack_bytes;
} cw_worker;

/* The number of a loop, and a count of chunks. */
typedef uint64_t cw_count_in_loop;

enum { CW_COUNT_BITS = 24 };
#define CW_COUNT_MASK (((cw_count_in_loop)1 << CW_COUNT_BITS) - 1)

/* Chunks that one thread takes before it helps others: how many were taken, by whomever. Chunks that this thread is done with, of whichever share: in the
   same cache line, for who looks whether there is a chunk left waits for them next. Of threads that stay together (steps.h): the last meeting that it came
   to, and how long it waited there and before. */
typedef struct {
  _Alignas(64) cw_count_in_loop taken;
  cw_count_in_loop done;
  _Alignas(64) uint64_t arrived;
  int64_t waited;
} cw_share;

/* What was learnt of a loop of some work: the least that it cost alone and shared, in the last trials and in those before, and which was less. It is tried
   a few times each way, and then goes the better way for a term, which is longer when it turns out the same. What other programs do to this machine makes
   it slower for a while, and shared loops more than others: so the least counts, and a loop is shared until it was not worth it in trials at two times. */
typedef struct {
  cw_chunk_function function;
  int32_t magnitude;
  int32_t runs, term;
  bool shares;
  int64_t least[2], least_before[2];
} cw_lesson;

enum { CW_LESSONS = 64, CW_TRIALS = 16, CW_TRIAL_GROUP = 4, CW_SHORTEST_TERM = 256, CW_LONGEST_TERM = 1024 };
/* Loops of more work than this are always shared. */
enum { CW_LONG_LOOP = 256 * 16384 };

typedef struct cw_team {
  /* The loop that runs, and its chunks. All else in this line is for those who have taken one of them. */
  _Alignas(64) cw_count_in_loop state;
  cw_chunk_function function;
  void *loop;
  int64_t length;
  int64_t depth;
  uint32_t run;
  int64_t first_failed;
  cw_context *failed;
  /* What seldom changes. */
  _Alignas(64) cw_context *owner;
  int32_t workers_count;
  int32_t sleepers;
  cw_worker *workers;
  cw_share *shares;
  int64_t unshared; /* work of loops that were not worth waking anybody */
  cw_lesson lessons[CW_LESSONS];
  bool quit;
  pthread_mutex_t lock;
  pthread_cond_t wake;
} cw_team;

static inline void cw_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Where one of so many parts begins, which are as long as one another, or one longer. */
static inline int64_t cw_part_start(int64_t length, int32_t parts, int32_t part) {
  int64_t each = length / parts, more = length % parts;
  return each * part + (part < more ? part : more);
}

/* Where a chunk of a loop begins: a long one where a group of iterations that go side by side does, a very long one in a cache line of its own. */
static inline int64_t cw_chunk_start(int64_t length, int32_t chunks, int32_t chunk) {
  int64_t start = cw_part_start(length, chunks, chunk), each = length / chunks, group = each >= 512 ? 16 : each >= 48 ? 4 : 1;
  return chunk == chunks ? length : (start + group - 1) & -group;
}

static inline int64_t cw_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many tiles of a length cover a range. */
static inline int64_t cw_tiles(int64_t range, int64_t length) { return range / length + (range % length != 0); }

static inline int64_t cw_saturated_times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 8 : product;
}

static inline int64_t cw_saturated_plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX / 8 : sum;
}

/* Rounded down to what threads can share evenly: a power of two, or a multiple of eight. */
static inline int64_t cw_even_chunks(int64_t chunks) {
  return chunks >= 8 ? chunks / 8 * 8 : chunks >= 4 ? 4 : chunks >= 2 ? 2 : 1;
}

/* How many chunks a loop is cut into, given the work of an iteration and the number of elements that every chunk needs for itself. Beyond the first
   few, chunks are larger; what is worth one is worth two, which threads can share. */
static inline int32_t cw_chunks(int64_t length, int64_t work, int64_t private_elements) {
  int64_t total = cw_saturated_times(length, work);
  int64_t chunks = total / CW_GRAIN;
  if (chunks == 1) chunks = 2;
  if (chunks > 8) chunks = 8 + (chunks - 8) / 8;
  if (private_elements > 0) {
    int64_t affordable = total / cw_saturated_times(private_elements, 64);
    if (chunks > affordable) chunks = affordable;
    if (chunks > 16) chunks = 16;
  }
  if (chunks > CW_MAX_CHUNKS) chunks = CW_MAX_CHUNKS;
  return (int32_t)(chunks >= length && length > 0 ? length : cw_even_chunks(chunks));
}

/* The same for a loop whose iterations go side by side: every chunk has some of them. */
static inline int32_t cw_lane_chunks(int32_t chunks, int64_t length) {
  int64_t most = length / 16;
  return chunks <= most ? chunks : (int32_t)cw_even_chunks(most);
}

/* Where a chunk of such a loop begins or ends, so that only the last one has iterations that go alone or in small groups. */
static inline int64_t cw_lane_start(int64_t start, int64_t length) {
  int64_t group = length >= 96 ? 16 : 8;
  return cw_least((start + group - 1) & -group, length);
}

/* The same for a loop in vectors, which takes a tenth of the time: of a short one more than two chunks would take less time than it takes to hand them over. */
static inline int32_t cw_vector_chunks(int32_t chunks) { return chunks < 8 && chunks > 2 ? 2 : chunks; }

/* Runs a loop in chunks, given the work of all of them; nonzero if one failed. A loop of a step may be too short to be handed over (steps.h). */
__attribute__((noinline)) CW_SHARED int cw_run_loop(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks,
                                                 int64_t length, int64_t work);

typedef struct {
  char *to;
  const char *from;
  int64_t size;
} cw_copied;

__attribute__((noinline)) CW_SHARED void cw_copy_long(cw_context *ctx, cw_copied copied, int64_t count);

/* Copies elements, which may overlap where they come from. */
static inline void cw_copy(cw_context *ctx, void *to, const void *from, int64_t count, int64_t size) {
  if (count * size > CW_GRAIN) cw_copy_long(ctx, (cw_copied){to, from, size}, count);
  else if (count > 0) memmove(to, from, (size_t)(count * size));
}

/* How many threads a loop may use that computes the same bits however it is cut. */
static inline int32_t cw_helpers(const cw_context *ctx) {
  return ctx->parallel && ctx->session == NULL ? 1 : ctx->threads;
}

/* Adds what chunks collected for themselves, in the order of the chunks. In every file that has use for it: of ten types most need one. */
#define CW_MERGE(T, name)                                                                                                      \
  typedef struct {                                                                                                             \
    T *to;                                                                                                                     \
    const T *more;                                                                                                             \
    int64_t count;                                                                                                             \
    int32_t chunks;                                                                                                            \
  } cw_merged_##name;                                                                                                          \
                                                                                                                               \
  static int cw_merge_part_##name(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {                      \
    cw_merged_##name *merged = data;                                                                                           \
    for (int32_t other = 0; other + 1 < merged->chunks; other++) {                                                             \
      const T *more = merged->more + other * merged->count;                                                                    \
      for (int64_t i = from; i < to; i++) merged->to[i] += more[i];                                                            \
    }                                                                                                                          \
    return 0;                                                                                                                  \
  }                                                                                                                            \
                                                                                                                               \
  static void cw_merge_##name(cw_context *ctx, T *to, const T *more, int64_t count, int32_t chunks) {                          \
    cw_merged_##name merged = {to, more, count, chunks};                                                                       \
    cw_run_loop(ctx, cw_merge_part_##name, &merged, cw_chunks(count, chunks, 0), count, count * chunks);                       \
  }

CW_MERGE(int8_t, i8)
CW_MERGE(int16_t, i16)
CW_MERGE(int32_t, i32)
CW_MERGE(int64_t, i64)
CW_MERGE(uint8_t, u8)
CW_MERGE(uint16_t, u16)
CW_MERGE(uint32_t, u32)
CW_MERGE(uint64_t, u64)
CW_MERGE(float, f32)
CW_MERGE(double, f64)
