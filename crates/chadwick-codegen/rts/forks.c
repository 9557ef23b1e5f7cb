/* What forks.h declares. */

enum { CW_DEQUE = 1024, CW_SHORT_SESSION = 30000, CW_FIRST_SKIPS = 16, CW_MOST_SKIPS = 1024 };

typedef struct cw_task {
  cw_side run;
  void *data;
  int64_t depth;
  struct cw_task *outer; /* inside which it was forked */
  bool failed;
  bool done, unwanted;
  cw_error error;
  uint8_t *stream;
  int64_t stream_length;
} cw_task;

/* Its owner works at the bottom, thieves at the top. */
typedef struct cw_deque {
  int64_t top, bottom;
  cw_task *tasks[CW_DEQUE];
} cw_deque;

typedef struct cw_session {
  cw_team *team;
  cw_context *owner;
  cw_side left, right;
  void *left_data, *right_data;
  bool done;
} cw_session;

static bool cw_push_task(cw_deque *deque, cw_task *task) {
  int64_t bottom = __atomic_load_n(&deque->bottom, __ATOMIC_RELAXED);
  if (bottom - __atomic_load_n(&deque->top, __ATOMIC_ACQUIRE) >= CW_DEQUE) return false;
  __atomic_store_n(&deque->tasks[bottom % CW_DEQUE], task, __ATOMIC_RELAXED);
  __atomic_store_n(&deque->bottom, bottom + 1, __ATOMIC_SEQ_CST);
  return true;
}

/* Takes back what was pushed last; false if it was stolen. */
static bool cw_pop_task(cw_deque *deque) {
  int64_t bottom = __atomic_load_n(&deque->bottom, __ATOMIC_RELAXED) - 1;
  __atomic_store_n(&deque->bottom, bottom, __ATOMIC_SEQ_CST);
  int64_t top = __atomic_load_n(&deque->top, __ATOMIC_SEQ_CST);
  if (top < bottom) return true;
  bool won = top == bottom && __atomic_compare_exchange_n(&deque->top, &top, top + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  __atomic_store_n(&deque->bottom, bottom + 1, __ATOMIC_SEQ_CST);
  return won;
}

static cw_task *cw_steal_from(cw_deque *deque) {
  int64_t top = __atomic_load_n(&deque->top, __ATOMIC_SEQ_CST);
  if (top >= __atomic_load_n(&deque->bottom, __ATOMIC_SEQ_CST)) return NULL;
  cw_task *task = __atomic_load_n(&deque->tasks[top % CW_DEQUE], __ATOMIC_RELAXED);
  return __atomic_compare_exchange_n(&deque->top, &top, top + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? task : NULL;
}

/* The oldest task of somebody else. */
static cw_task *cw_steal(cw_context *ctx) {
  cw_team *team = ctx->session->team;
  int32_t count = team->workers_count + 1;
  for (int32_t tries = 0; tries < count; tries++) {
    ctx->victim = (ctx->victim + 1) % count;
    cw_context *victim = ctx->victim == 0 ? ctx->session->owner : team->workers[ctx->victim - 1].context;
    cw_task *task = victim == ctx ? NULL : cw_steal_from(victim->deque);
    if (task != NULL) return task;
  }
  return NULL;
}

/* Runs a task of somebody else, and leaves the context as it was. */
static void cw_run_stolen(cw_context *ctx, cw_task *task) {
  int64_t depth = ctx->depth;
  cw_task *outer = ctx->task;
  ctx->depth = task->depth;
  ctx->task = task;
  task->failed = task->run(ctx, task->data) != 0;
  if (task->failed) {
    task->error = ctx->error;
    task->stream = ctx->stream_length > 0 ? malloc((size_t)ctx->stream_length) : NULL;
    if (task->stream != NULL) {
      memcpy(task->stream, ctx->stream, (size_t)ctx->stream_length);
      task->stream_length = ctx->stream_length;
    }
    ctx->stream_length = 0;
  }
  ctx->task = outer;
  ctx->depth = depth;
  __atomic_store_n(&task->done, true, __ATOMIC_RELEASE);
}

/* Steals a task and runs it, or waits a little. */
static void cw_help(cw_context *ctx, int32_t *idle) {
  cw_task *task = cw_steal(ctx);
  if (task != NULL) {
    *idle = 0;
    cw_run_stolen(ctx, task);
  } else if (++*idle < CW_SPINS) {
    cw_pause();
  } else if (*idle < 2 * CW_SPINS) {
    sched_yield();
  } else {
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  }
}

static int cw_fork_in_session(cw_context *ctx, cw_side left, void *left_data, cw_side right, void *right_data) {
  /* The error stays as it is until there is one. */
  cw_task task;
  task.run = right;
  task.data = right_data;
  task.depth = ctx->depth;
  task.outer = ctx->task;
  task.failed = task.done = task.unwanted = false;
  task.stream = NULL;
  task.stream_length = 0;
  bool pushed = cw_push_task(ctx->deque, &task);
  int failed = left(ctx, left_data);
  if (!pushed || cw_pop_task(ctx->deque)) return failed ? failed : right(ctx, right_data);
  int32_t idle = 0;
  if (failed) __atomic_store_n(&task.unwanted, true, __ATOMIC_RELAXED);
  /* A context that keeps an error does nothing else any more. */
  while (!__atomic_load_n(&task.done, __ATOMIC_ACQUIRE))
    if (failed) sched_yield(); else cw_help(ctx, &idle);
  if (task.failed && !failed) {
    failed = 1;
    ctx->error = task.error;
    ctx->stream_length = 0;
    cw_write(ctx, task.stream, task.stream_length);
  }
  free(task.stream);
  return failed;
}

/* The first part of a session is the fork itself, the others help. */
static int cw_session_part(cw_context *ctx, void *data, int32_t part, int64_t from, int64_t to) {
  cw_session *session = data;
  int failed = 0;
  (void)from, (void)to;
  ctx->session = session;
  ctx->task = NULL;
  if (part == 0) {
    failed = cw_fork_in_session(ctx, session->left, session->left_data, session->right, session->right_data);
    __atomic_store_n(&session->done, true, __ATOMIC_RELEASE);
  } else {
    for (int32_t idle = 0; !__atomic_load_n(&session->done, __ATOMIC_ACQUIRE);) cw_help(ctx, &idle);
  }
  ctx->session = NULL;
  return failed;
}

static bool cw_has_deque(cw_context *ctx) {
  if (ctx->deque == NULL) ctx->deque = calloc(1, sizeof *ctx->deque);
  return ctx->deque != NULL;
}

static int64_t cw_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int cw_open_session(cw_context *ctx, cw_side left, void *left_data, cw_side right, void *right_data) {
  cw_session session = {.team = ctx->team, .owner = ctx, .left = left, .right = right, .left_data = left_data, .right_data = right_data};
  int64_t begin = cw_nanoseconds();
  int failed = cw_run_loop(ctx, cw_session_part, &session, ctx->threads, ctx->threads, CW_WORTH_WAKING);
#ifndef CW_FORK_ALWAYS
  int32_t more = ctx->skips == 0 ? CW_FIRST_SKIPS : ctx->skips < CW_MOST_SKIPS ? 2 * ctx->skips : CW_MOST_SKIPS;
  ctx->skips = cw_nanoseconds() - begin < CW_SHORT_SESSION ? more : 0;
  ctx->forks_to_skip = ctx->skips;
#else
  (void)begin;
#endif
  return failed;
}

__attribute__((noinline)) CW_SHARED int cw_fork(cw_context *ctx, cw_side left, void *left_data, cw_side right, void *right_data) {
  if (ctx->session != NULL) return cw_fork_in_session(ctx, left, left_data, right, right_data);
  bool several = ctx->threads > 1 && !ctx->parallel && ctx->forks_to_skip == 0;
  if (several && ctx->team == NULL) cw_start_team(ctx);
  several = several && ctx->team != NULL && cw_has_deque(ctx);
  for (int32_t number = 0; several && number < ctx->team->workers_count; number++)
    several = cw_has_deque(ctx->team->workers[number].context);
  if (!several) {
    if (ctx->forks_to_skip > 0) ctx->forks_to_skip--;
    int failed = left(ctx, left_data);
    return failed ? failed : right(ctx, right_data);
  }
  return cw_open_session(ctx, left, left_data, right, right_data);
}

typedef struct {
  cw_chunk_function function;
  void *loop;
  int64_t length;
  int32_t chunks, first, end;
} cw_chunk_range;

/* Some chunks of a loop inside a session. */
static int cw_fork_range(cw_context *ctx, void *data) {
  cw_chunk_range *range = data;
  if (range->end - range->first > 1) {
    cw_chunk_range left = *range, right = *range;
    left.end = right.first = range->first + (range->end - range->first) / 2;
    return cw_fork_in_session(ctx, cw_fork_range, &left, cw_fork_range, &right);
  }
  int32_t chunk = range->first;
  int64_t from = cw_chunk_start(range->length, range->chunks, chunk), to = cw_chunk_start(range->length, range->chunks, chunk + 1);
  return range->function(ctx, range->loop, chunk, from, to);
}

static int cw_fork_chunks(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length) {
  cw_chunk_range range = {function, loop, length, chunks, 0, chunks};
  return chunks < 1 ? 0 : cw_fork_range(ctx, &range);
}

/* Whether nobody wants any more what this context computes. */
static bool cw_is_unwanted(const cw_context *ctx) {
  for (const cw_task *task = ctx->task; task != NULL; task = task->outer)
    if (__atomic_load_n(&task->unwanted, __ATOMIC_RELAXED)) return true;
  return false;
}
