/* What threads.h declares. */

/* Gives a worker's context the limits of the run. */
static void cw_brief(cw_worker *worker) {
  const cw_context *owner = worker->team->owner;
  cw_context *context = worker->context;
  size_t margin = (size_t)1 << 20, usable = owner->memory->limit < (int64_t)(4 * margin) ? 4 * margin : (size_t)owner->memory->limit;
  if (usable > worker->stack_bytes) usable = worker->stack_bytes;
  context->stack_limit = worker->stack + (worker->stack_bytes - usable + margin);
  context->threads = owner->threads;
  context->max_depth = owner->max_depth;
  context->has_deadline = owner->has_deadline;
  context->deadline = owner->deadline;
  context->host = owner->host;
  worker->run = worker->team->run;
}

/* What a worker learns from its first chunk of a loop. */
static void cw_begin_chunks(cw_worker *worker) {
  if (worker->run != worker->team->run) cw_brief(worker);
  worker->context->depth = worker->team->depth;
  if (worker->context->stream_length != 0) worker->context->stream_length = 0;
}

/* Runs a chunk; false if it failed: the context keeps its error. */
static bool cw_run_chunk(cw_team *team, cw_context *ctx, int32_t chunks, int32_t chunk) {
  int64_t from = cw_chunk_start(team->length, chunks, chunk), to = cw_chunk_start(team->length, chunks, chunk + 1);
  if (team->function(ctx, team->loop, chunk, from, to) == 0) return true;
  pthread_mutex_lock(&team->lock);
  if (chunk < team->first_failed) {
    __atomic_store_n(&team->first_failed, chunk, __ATOMIC_RELAXED);
    team->failed = ctx;
  }
  pthread_mutex_unlock(&team->lock);
  return false;
}

/* How many of the chunks of a share were taken before, in this loop; all of them if another loop has begun. Where there is none to take, only looks. */
static int64_t cw_take_chunk(cw_share *share, uint64_t loop, int64_t size) {
  cw_count_in_loop taken = __atomic_load_n(&share->taken, __ATOMIC_RELAXED);
  for (;;) {
    uint64_t last = taken >> CW_COUNT_BITS;
    int64_t before = last == loop ? (int64_t)(taken & CW_COUNT_MASK) : last > loop ? size : 0;
    if (before >= size) return size;
    cw_count_in_loop next = loop << CW_COUNT_BITS | (uint64_t)(before + 1);
    if (__atomic_compare_exchange_n(&share->taken, &taken, next, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return before;
  }
}

/* Takes chunks of a loop until there are none, or none that matters: those behind a chunk that failed do not. Who runs the loop goes through all shares
   in the order of the chunks, so whatever comes before a chunk that failed is taken by somebody. The number of chunks that were taken; whether there
   are no more. */
static int64_t cw_take_chunks(cw_team *team, cw_context *ctx, cw_count_in_loop state, cw_worker *worker, bool *all) {
  uint64_t loop = state >> CW_COUNT_BITS;
  int32_t chunks = (int32_t)(state & CW_COUNT_MASK), number = worker == NULL ? 0 : worker->number, count = team->workers_count + 1;
  int64_t done = 0;
  *all = false;
  for (int32_t helped = 0; helped < count; helped++) {
    int32_t share = (number + helped) % count;
    int64_t first = cw_part_start(chunks, count, share), end = cw_part_start(chunks, count, share + 1);
    for (;;) {
      int64_t chunk = first + cw_take_chunk(&team->shares[share], loop, end - first);
      if (chunk >= end) break;
      if (worker != NULL && done == 0) cw_begin_chunks(worker);
      bool matters = chunk <= __atomic_load_n(&team->first_failed, __ATOMIC_RELAXED);
      bool goes_on = matters && cw_run_chunk(team, ctx, chunks, (int32_t)chunk);
      cw_report_live(ctx);
      done++;
      if (worker != NULL) __atomic_store_n(&team->shares[number].done, loop << CW_COUNT_BITS | (uint64_t)done, __ATOMIC_RELEASE);
      if (!goes_on) return done;
    }
  }
  *all = true;
  return done;
}

/* Takes all chunks that are left, so that nobody else does. How many were taken before. */
static int64_t cw_close_shares(cw_team *team, cw_count_in_loop state) {
  uint64_t loop = state >> CW_COUNT_BITS;
  int64_t chunks = (int64_t)(state & CW_COUNT_MASK), taken = 0;
  int32_t count = team->workers_count + 1;
  for (int32_t share = 0; share < count; share++) {
    int64_t size = cw_part_start(chunks, count, share + 1) - cw_part_start(chunks, count, share);
    cw_count_in_loop before =
        __atomic_exchange_n(&team->shares[share].taken, loop << CW_COUNT_BITS | (uint64_t)(chunks + 1), __ATOMIC_RELAXED);
    if (before >> CW_COUNT_BITS == loop) taken += cw_least(size, (int64_t)(before & CW_COUNT_MASK));
  }
  return taken;
}

/* Chunks of a loop that workers are done with. */
static int64_t cw_chunks_done(cw_team *team, uint64_t loop) {
  int64_t done = 0;
  for (int32_t number = 1; number <= team->workers_count; number++) {
    cw_count_in_loop own = __atomic_load_n(&team->shares[number].done, __ATOMIC_ACQUIRE);
    if (own >> CW_COUNT_BITS == loop) done += (int64_t)(own & CW_COUNT_MASK);
  }
  return done;
}

static bool cw_has_begun(cw_team *team, uint64_t last, cw_count_in_loop *state) {
  *state = __atomic_load_n(&team->state, __ATOMIC_SEQ_CST);
  return *state >> CW_COUNT_BITS != last;
}

static void *cw_work(void *data) {
  cw_worker *worker = data;
  cw_team *team = worker->team;
  uint64_t last = 0;
  cw_count_in_loop state;
  bool all;
  for (;;) {
    for (int32_t spins = 0; spins < CW_SPINS && !cw_has_begun(team, last, &state); spins++) cw_pause();
    if (!cw_has_begun(team, last, &state)) {
      pthread_mutex_lock(&team->lock);
      __atomic_add_fetch(&team->sleepers, 1, __ATOMIC_SEQ_CST);
      while (!team->quit && !cw_has_begun(team, last, &state)) pthread_cond_wait(&team->wake, &team->lock);
      __atomic_sub_fetch(&team->sleepers, 1, __ATOMIC_SEQ_CST);
      bool quit = team->quit;
      pthread_mutex_unlock(&team->lock);
      if (quit) return NULL;
    }
    last = state >> CW_COUNT_BITS;
    cw_take_chunks(team, worker->context, state, worker, &all);
  }
}

__attribute__((cold)) static cw_context *cw_new_context(cw_memory *memory, int32_t memos) {
  cw_context *ctx = aligned_alloc(_Alignof(cw_context), sizeof *ctx);
  if (ctx == NULL) return NULL;
  memset(ctx, 0, sizeof *ctx);
  ctx->memos = memos;
  ctx->memo = calloc((size_t)memos + 1, sizeof *ctx->memo);
  if (ctx->memo == NULL) {
    free(ctx);
    return NULL;
  }
  ctx->max_depth = INT64_MAX / 4;
  ctx->memory = memory;
  ctx->next = memory->contexts;
  memory->contexts = ctx;
  return ctx;
}

__attribute__((cold)) static void cw_free_context(cw_context *ctx) {
  for (cw_context **place = &ctx->memory->contexts; *place != NULL; place = &(*place)->next)
    if (*place == ctx) {
      *place = ctx->next;
      break;
    }
  for (cw_chunk *chunk = ctx->spare_chunks; chunk != NULL;) {
    cw_chunk *next = chunk->next;
    free(chunk);
    chunk = next;
  }
  free(ctx->memo);
  free(ctx->deque);
  free(ctx->stream);
  free(ctx);
}

/* A large stack is reserved, not used: pages become real when they are touched. */
__attribute__((cold)) static bool cw_start_worker(cw_worker *worker) {
  size_t wanted = cw_needs_of_program().worker_stack;
  const size_t sizes[] = {wanted, (size_t)4 << 30, (size_t)512 << 20, (size_t)8 << 20};
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  bool started = false;
  for (size_t choice = 0; choice < sizeof sizes / sizeof *sizes && !started; choice++) {
    if (sizes[choice] > wanted) continue;
    void *stack = mmap(NULL, sizes[choice], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) continue;
    worker->stack = stack;
    worker->stack_bytes = sizes[choice];
    pthread_attr_setstack(&attributes, stack, sizes[choice]);
    started = pthread_create(&worker->thread, &attributes, cw_work, worker) == 0;
    if (!started) munmap(stack, sizes[choice]);
  }
  pthread_attr_destroy(&attributes);
  return started;
}

__attribute__((cold)) static void cw_stop_team(cw_context *ctx) {
  cw_team *team = ctx->team;
  if (team == NULL) return;
  pthread_mutex_lock(&team->lock);
  __atomic_store_n(&team->quit, true, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
  for (int32_t number = 0; number < team->workers_count; number++) {
    cw_worker *worker = &team->workers[number];
    pthread_join(worker->thread, NULL);
    munmap(worker->stack, worker->stack_bytes);
    cw_free_context(worker->context);
  }
  pthread_cond_destroy(&team->wake);
  pthread_mutex_destroy(&team->lock);
  free(team->shares);
  free(team->workers);
  free(team);
  ctx->team = NULL;
}

/* Starts the team that was asked for, or what the system allows of it. */
__attribute__((cold)) static void cw_start_team(cw_context *ctx) {
  int32_t wanted = ctx->threads - 1;
  size_t share_bytes = ((size_t)wanted + 1) * sizeof(cw_share);
  cw_team *team = aligned_alloc(_Alignof(cw_team), sizeof *team);
  cw_worker *workers = calloc((size_t)wanted, sizeof *workers);
  cw_share *shares = aligned_alloc(_Alignof(cw_share), share_bytes);
  if (team == NULL || workers == NULL || shares == NULL) {
    free(team);
    free(workers);
    free(shares);
    ctx->threads = 1;
    return;
  }
  memset(team, 0, sizeof *team);
  memset(shares, 0, share_bytes);
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->wake, NULL);
  team->workers = workers;
  team->shares = shares;
  team->owner = ctx;
  ctx->team = team;
  ctx->run++;
  for (int32_t number = 0; number < wanted; number++) {
    cw_worker *worker = &workers[number];
    worker->team = team;
    worker->number = number + 1;
    worker->context = cw_new_context(ctx->memory, ctx->memos);
    if (worker->context == NULL) break;
    worker->context->parallel = true;
    if (!cw_start_worker(worker)) {
      cw_free_context(worker->context);
      break;
    }
    team->workers_count++;
  }
  ctx->threads = team->workers_count + 1;
  if (team->workers_count == 0) cw_stop_team(ctx);
}

static void cw_take_error(cw_context *ctx, cw_context *from) {
  if (from == ctx) return;
  ctx->error = from->error;
  ctx->stream_length = 0;
  cw_write(ctx, from->stream, from->stream_length);
}

#ifdef CW_FORKS
static int cw_fork_chunks(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length);
#endif

/* Whether a loop of so much work is worth waking who sleeps: alone, or after many others, behind which more may come. */
static bool cw_is_worth_waking(cw_team *team, int32_t sleepers, int64_t work) {
  if (sleepers > 0) team->unshared = cw_saturated_plus(team->unshared, work);
  return work >= CW_WORTH_WAKING || team->unshared >= 8 * CW_WORTH_WAKING;
}

static void cw_wake(cw_team *team) {
  if (__atomic_load_n(&team->sleepers, __ATOMIC_SEQ_CST) == 0) return;
  team->unshared = 0;
  pthread_mutex_lock(&team->lock);
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
}

/* Tells the team of a loop. */
static cw_count_in_loop cw_publish(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length, bool wake) {
  cw_team *team = ctx->team;
  team->function = function;
  team->loop = loop;
  team->length = length;
  team->depth = ctx->depth;
  team->run = ctx->run;
  team->first_failed = INT64_MAX;
  team->failed = NULL;
  uint64_t number = (__atomic_load_n(&team->state, __ATOMIC_RELAXED) >> CW_COUNT_BITS) + 1;
  cw_count_in_loop state = number << CW_COUNT_BITS | (uint64_t)chunks;
  if (wake) {
    __atomic_store_n(&team->state, state, __ATOMIC_SEQ_CST);
    cw_wake(team);
  } else { /* Who is about to sleep may miss it; nobody waits for this store. */
    __atomic_store_n(&team->state, state, __ATOMIC_RELEASE);
  }
  return state;
}

/* Waits until workers are done with so many chunks of a loop. */
static void cw_wait_for_chunks(cw_team *team, cw_count_in_loop state, int64_t count) {
  for (int32_t spins = 0; cw_chunks_done(team, state >> CW_COUNT_BITS) < count; spins++)
    if (spins < CW_SPINS) cw_pause(); else sched_yield();
}

/* The time in units that do not matter, from a clock that costs little. */
static int64_t cw_time(void) {
#if defined(__x86_64__) || defined(__i386__)
  return (int64_t)__builtin_ia32_rdtsc();
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

static void cw_begin_trials(cw_lesson *lesson) {
  lesson->runs = 0;
  lesson->least[0] = lesson->least[1] = INT64_MAX;
}

/* What is known of a loop of so much work. */
static cw_lesson *cw_lesson_of(cw_team *team, cw_chunk_function function, int64_t work) {
  int32_t magnitude = 63 - __builtin_clzll((uint64_t)work | 1);
  uint64_t hash = ((uint64_t)(uintptr_t)function + (uint64_t)magnitude) * UINT64_C(0x9e3779b97f4a7c15);
  cw_lesson *lesson = &team->lessons[hash >> 58];
  if (lesson->function != function || lesson->magnitude != magnitude) {
    *lesson = (cw_lesson){.function = function, .magnitude = magnitude, .term = CW_SHORTEST_TERM, .shares = true};
    lesson->least_before[0] = lesson->least_before[1] = INT64_MAX;
    cw_begin_trials(lesson);
  }
  return lesson;
}

/* Whether it goes the way that was better in trials: for a term. */
static bool cw_is_settled(const cw_lesson *lesson) { return lesson->runs >= CW_TRIALS; }

/* Counts a run of a settled one that goes alone. */
static bool cw_is_better_alone(cw_lesson *lesson) {
  if (!cw_is_settled(lesson)) return false;
  if (lesson->runs++ == CW_TRIALS + lesson->term) {
    cw_begin_trials(lesson);
    return false;
  }
  return !lesson->shares;
}

static bool cw_is_shared_in_trial(const cw_lesson *lesson) {
#ifdef CW_STAY_ALWAYS
  return true;
#else
  return lesson->runs / CW_TRIAL_GROUP % 2 == 0;
#endif
}

/* Learns how long a trial took, for so much work. The first of a group finds things where the other way has left them. */
static void cw_learn(cw_lesson *lesson, bool shared, int64_t time, int64_t work) {
  bool is_first = lesson->runs++ % CW_TRIAL_GROUP == 0;
  int64_t cost = time * 65536 / work;
  if (!is_first) lesson->least[shared] = cw_least(lesson->least[shared], cost);
  if (!cw_is_settled(lesson)) return;
  int64_t alone = cw_least(lesson->least[0], lesson->least_before[0]), together = cw_least(lesson->least[1], lesson->least_before[1]);
  bool shares = together < alone - alone / 32;
  if (shares != lesson->shares) lesson->term = CW_SHORTEST_TERM;
  else if (lesson->term < CW_LONGEST_TERM) lesson->term *= 2;
  lesson->shares = shares;
  memcpy(lesson->least_before, lesson->least, sizeof lesson->least);
}

static int cw_run_alone(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length) {
  for (int32_t chunk = 0; chunk < chunks; chunk++)
    if (function(ctx, loop, chunk, cw_chunk_start(length, chunks, chunk), cw_chunk_start(length, chunks, chunk + 1))) return 1;
  return 0;
}

static int cw_run_shared(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length, bool wake) {
  cw_team *team = ctx->team;
  cw_count_in_loop state = cw_publish(ctx, function, loop, chunks, length, wake);
  ctx->parallel = true;
  bool all;
  int64_t own = cw_take_chunks(team, ctx, state, NULL, &all), taken = all ? chunks : cw_close_shares(team, state);
  cw_wait_for_chunks(team, state, taken - own);
  ctx->parallel = false;
  if (team->failed == NULL) return 0;
  cw_take_error(ctx, team->failed);
  return 1;
}

__attribute__((noinline)) CW_SHARED int cw_run_loop(cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks,
                                                 int64_t length, int64_t work) {
  if (ctx->threads > 1 && ctx->team == NULL && chunks > 1 && !ctx->parallel) cw_start_team(ctx);
#ifdef CW_FORKS
  if (ctx->session != NULL) return cw_fork_chunks(ctx, function, loop, chunks, length);
#endif
  cw_team *team = ctx->parallel || chunks <= 1 || work < CW_GRAIN ? NULL : ctx->team;
  if (team == NULL) return cw_run_alone(ctx, function, loop, chunks, length);
  cw_lesson *lesson = work < CW_LONG_LOOP ? cw_lesson_of(team, function, work) : NULL;
  /* Nobody is woken for a loop that is better alone. */
  if (lesson != NULL && cw_is_better_alone(lesson)) return cw_run_alone(ctx, function, loop, chunks, length);
  int32_t sleepers = __atomic_load_n(&team->sleepers, __ATOMIC_RELAXED);
  bool wake = cw_is_worth_waking(team, sleepers, work);
  if (sleepers == team->workers_count && !wake) return cw_run_alone(ctx, function, loop, chunks, length);
  if (lesson == NULL || cw_is_settled(lesson)) return cw_run_shared(ctx, function, loop, chunks, length, wake);
  bool shared = cw_is_shared_in_trial(lesson);
  int64_t begin = cw_time();
  int failed = shared ? cw_run_shared(ctx, function, loop, chunks, length, wake) : cw_run_alone(ctx, function, loop, chunks, length);
  cw_learn(lesson, shared, cw_time() - begin, work);
  return failed;
}

static int cw_copy_part(cw_context *ctx, void *data, int32_t chunk, int64_t from, int64_t to) {
  const cw_copied *copied = data;
  memcpy(copied->to + from * copied->size, copied->from + from * copied->size, (size_t)((to - from) * copied->size));
  return 0;
}

__attribute__((noinline)) CW_SHARED void cw_copy_long(cw_context *ctx, cw_copied copied, int64_t count) {
  bool apart = copied.to + count * copied.size <= copied.from || copied.from + count * copied.size <= copied.to;
  int64_t work = 1 + copied.size / 4;
  if (apart) cw_run_loop(ctx, cw_copy_part, &copied, cw_chunks(count, work, 0), count, cw_saturated_times(count, work));
  else memmove(copied.to, copied.from, (size_t)(count * copied.size));
}
