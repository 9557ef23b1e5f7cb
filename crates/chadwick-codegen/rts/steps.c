/* What steps.h declares. */

CW_SHARED bool cw_join(cw_party *party, int32_t number, cw_member *member) {
  int32_t members = 0;
  for (int32_t spins = 0; (members = __atomic_load_n(&party->members, __ATOMIC_ACQUIRE)) == 0; spins++)
    if (spins < CW_SPINS) cw_pause(); else sched_yield();
  *member = (cw_member){party, 0, members, party->met, 0};
  while (member->rank < members && party->numbers[member->rank] != number) member->rank++;
  return member->rank < members && !party->unmade;
}

__attribute__((cold, noinline)) CW_SHARED void cw_leave(cw_member *member, cw_context *ctx, int64_t chunk) {
  cw_party *party = member->party;
  pthread_mutex_lock(&party->team->lock);
  if (chunk < party->first_failed) {
    party->first_failed = chunk;
    party->failed = ctx;
    __atomic_store_n(&party->failed_at, member->meeting + 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&party->team->lock);
}

static int64_t cw_sum_of_work(int32_t loops, const int64_t *works) {
  int64_t sum = 0;
  for (int32_t loop = 0; loop < loops; loop++) sum = cw_saturated_plus(sum, works[loop]);
  return sum;
}

CW_SHARED cw_stint cw_next_stint(cw_context *ctx, cw_chunk_function function, int64_t steps, int32_t loops, const int64_t *works) {
  cw_stint stint = {.together = false, .steps = steps};
  if (ctx->threads <= 1 || ctx->parallel || ctx->session != NULL || steps < CW_FEW_STEPS) return stint;
  bool shares = false;
  for (int32_t loop = 0; loop < loops; loop++) shares |= works[loop] >= CW_GRAIN;
  int64_t work = cw_sum_of_work(loops, works);
  if (!shares || work > CW_LONG_STEP) return stint;
  if (ctx->team == NULL) cw_start_team(ctx);
  cw_team *team = ctx->team;
  if (team == NULL) return stint;
#ifdef CW_STAY_ALWAYS
  stint.together = stint.wakes = true;
  return stint;
#endif
  cw_lesson *lesson = cw_lesson_of(team, function, work);
  bool settled = cw_is_settled(lesson), alone = cw_is_better_alone(lesson);
  int64_t usual = settled ? CW_SETTLED_STEPS : CW_TRIED_STEPS;
  if (steps >= 2 * usual) stint.steps = usual;
  if (alone) return stint;
  int32_t sleepers = __atomic_load_n(&team->sleepers, __ATOMIC_RELAXED);
  stint.wakes = sleepers > 0 && cw_saturated_times(steps, work) >= CW_WORTH_WAITING;
  if (sleepers == team->workers_count && !stint.wakes) return stint;
  if (!cw_is_settled(lesson)) {
    stint.lesson = lesson;
    stint.begin = cw_time();
    stint.work = work;
  }
  stint.together = cw_is_settled(lesson) || cw_is_shared_in_trial(lesson);
  return stint;
}

CW_SHARED void cw_end_stint(const cw_stint *stint) {
  if (stint->lesson != NULL) cw_learn(stint->lesson, stint->together, (cw_time() - stint->begin) / stint->steps, stint->work);
}

/* Who has come by now, for some time; nobody can come later. How many came, some of them as members. */
static int32_t cw_gather(cw_party *party, cw_count_in_loop state, int32_t patience) {
  cw_team *team = party->team;
  uint64_t loop = state >> CW_COUNT_BITS;
  for (int32_t spins = 0; spins < patience; spins++) {
    int32_t here = 0;
    for (int32_t number = 1; number <= team->workers_count; number++)
      here += __atomic_load_n(&team->shares[number].taken, __ATOMIC_RELAXED) >> CW_COUNT_BITS == loop;
    if (here == team->workers_count) break;
    cw_pause();
  }
  int32_t came = 0;
  party->numbers[0] = 0;
  for (int32_t number = 0; number <= team->workers_count; number++) { /* nobody has the leader's */
    cw_count_in_loop closed = loop << CW_COUNT_BITS | (uint64_t)(team->workers_count + 2);
    cw_count_in_loop before = __atomic_exchange_n(&team->shares[number].taken, closed, __ATOMIC_RELAXED);
    if (before >> CW_COUNT_BITS != loop) continue;
    if (++came < CW_MOST_TOGETHER) party->numbers[came] = number;
  }
  return came;
}

__attribute__((noinline)) CW_SHARED int cw_stay_together(cw_context *ctx, cw_stint *stint, cw_party *party, cw_chunk_function function,
                                                         cw_make_function make, void *steps, int64_t first) {
  cw_team *team = ctx->team;
  *party = (cw_party){.team = team, .met = team->shares[0].arrived, .failed_at = UINT64_MAX, .ends_at = UINT64_MAX, .first_failed = INT64_MAX};
  int32_t threads = team->workers_count + 1;
  cw_count_in_loop state = cw_publish(ctx, function, steps, threads, threads, stint->wakes);
  int32_t came = cw_gather(party, state, stint->wakes ? CW_WAKING_SPINS : CW_JOINING_SPINS);
  if (came == 0) {
    stint->lesson = NULL;
    return 0;
  }
  ctx->parallel = true;
  if (make != NULL && make(ctx, steps, first)) {
    party->failed = ctx;
    party->unmade = true;
  }
  __atomic_store_n(&party->members, (came < CW_MOST_TOGETHER ? came : CW_MOST_TOGETHER - 1) + 1, __ATOMIC_RELEASE);
  int failed = party->unmade || function(ctx, steps, 0, 0, 0);
  cw_wait_for_chunks(team, state, came);
  ctx->parallel = false;
  cw_report_live(ctx);
  if (failed && party->failed != NULL) cw_take_error(ctx, party->failed);
  return failed;
}
