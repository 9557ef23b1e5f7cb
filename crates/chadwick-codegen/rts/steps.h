/* Threads that stay together for the steps of a loop.

   In a loop of short steps, each of which is a few loops that threads share, to hand these over takes longer than to run them. Here every thread goes
   through all steps by itself. What is the same for all it computes for itself; of the shared loops it runs its own chunks, and then they meet. The
   chunks are those that one thread would run, put together in the same order: the results are the same bits for any number of threads.

   One of them, the leader, makes the arrays of a step before all meet for the last time in the step before, and gives arrays back. When a chunk fails,
   all leave at the meeting behind it. Those who come too late are not waited for: the loop begins with those who are there. If they wait for one another
   for longer than it takes to hand loops over, because one is slower or has other things to do, all leave behind the step. What steps of the stint are left
   the caller runs in the usual way, in which who is faster does more. */

/* More threads than this would meet for longer than they work. Fewer steps are not worth gathering for. Steps of more work than this are handed over,
   which balances them better. Loops of more work than this are worth waiting for who sleeps. To find errors (-DCW_STAY_ALWAYS), all are waited for. */
enum { CW_MOST_TOGETHER = 8, CW_FEW_STEPS = 4, CW_LONG_STEP = 64 * 16384 };
/* How long they wait at a meeting, in the mean beyond so many. */
enum { CW_PATIENCE = 16, CW_PATIENT_MEETINGS = 16 };
#ifdef CW_STAY_ALWAYS
enum { CW_WORTH_WAITING = 0, CW_JOINING_SPINS = INT32_MAX, CW_WAKING_SPINS = INT32_MAX };
#else
enum { CW_WORTH_WAITING = 1 << 24, CW_JOINING_SPINS = 256, CW_WAKING_SPINS = CW_SPINS };
#endif

typedef struct {
  cw_team *team;
  int32_t members; /* none until they are known */
  int32_t numbers[CW_MOST_TOGETHER]; /* of their threads */
  uint64_t met; /* the last meeting before */
  uint64_t failed_at, ends_at; /* the meetings at which all leave, and behind whose step they do */
  int64_t first_failed;
  cw_context *failed;
  bool unmade; /* nobody runs any step: there was no room for the arrays of the first; known before the members are */
} cw_party;

/* What a thread knows of its party. */
typedef struct {
  cw_party *party;
  int32_t rank, members; /* the leader is the first */
  uint64_t meeting;
  int64_t waited;
} cw_member;

typedef int (*cw_make_function)(cw_context *ctx, void *steps, int64_t step);

/* The thread of this number becomes a member; false if there is no place for it, or nothing to do. */
CW_SHARED bool cw_join(cw_party *party, int32_t number, cw_member *member);

/* All leave at the next meeting; the error is that of the first chunk. */
__attribute__((cold, noinline)) CW_SHARED void cw_leave(cw_member *member, cw_context *ctx, int64_t chunk);

/* The chunks of a loop that are this member's. */
static inline int32_t cw_first_own(const cw_member *member, int32_t chunks) {
  return (int32_t)cw_part_start(chunks, member->members, member->rank);
}

static inline int32_t cw_end_own(const cw_member *member, int32_t chunks) {
  return (int32_t)cw_part_start(chunks, member->members, member->rank + 1);
}

static inline void cw_run_own(cw_member *member, cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length) {
  int32_t end = cw_end_own(member, chunks);
  for (int32_t chunk = cw_first_own(member, chunks); chunk < end; chunk++)
    if (cw_unlikely(function(ctx, loop, chunk, cw_chunk_start(length, chunks, chunk), cw_chunk_start(length, chunks, chunk + 1)))) {
      cw_leave(member, ctx, chunk);
      return;
    }
}

/* The same for a loop that keeps nothing for each chunk: its own ones are one piece. */
static inline void cw_run_at_once(cw_member *member, cw_context *ctx, cw_chunk_function function, void *loop, int32_t chunks, int64_t length) {
  int32_t first = cw_first_own(member, chunks), end = cw_end_own(member, chunks);
  if (first == end) return;
  if (cw_unlikely(function(ctx, loop, first, cw_chunk_start(length, chunks, first), cw_chunk_start(length, chunks, end)))) cw_leave(member, ctx, first);
}

/* Waits for all others; whether to leave. */
static inline bool cw_meet(cw_member *member) {
  cw_party *party = member->party;
  cw_share *shares = party->team->shares, *own = &shares[party->numbers[member->rank]];
  uint64_t meeting = ++member->meeting;
  __atomic_store_n(&own->waited, member->waited, __ATOMIC_RELAXED);
  __atomic_store_n(&own->arrived, meeting, __ATOMIC_RELEASE);
  for (int32_t rank = 0; rank < member->members; rank++) {
    if (rank == member->rank) continue;
    uint64_t *arrived = &shares[party->numbers[rank]].arrived;
    for (int32_t spins = 0; __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < meeting; spins++) {
      member->waited++;
      if (spins < CW_SPINS) cw_pause(); else sched_yield();
    }
  }
  return cw_unlikely(__atomic_load_n(&party->failed_at, __ATOMIC_RELAXED) <= meeting);
}

/* Whether somebody has waited for too long. */
static inline bool cw_are_tired(const cw_member *member) {
  const cw_party *party = member->party;
  int64_t longest = member->waited;
  for (int32_t rank = 1; rank < member->members; rank++) {
    cw_share *share = &party->team->shares[party->numbers[rank]];
    if (__atomic_load_n(&share->arrived, __ATOMIC_ACQUIRE) <= party->met) continue; /* has not said yet */
    int64_t waited = __atomic_load_n(&share->waited, __ATOMIC_RELAXED);
    if (waited > longest) longest = waited;
  }
  return longest > CW_PATIENCE * (int64_t)(member->meeting - party->met + CW_PATIENT_MEETINGS);
}

/* The last meeting of a step, before which the leader makes the arrays of the next one. Whether to leave; and whether this was the last step. */
static inline bool cw_meet_last(cw_member *member, cw_context *ctx, cw_make_function make, void *steps, int64_t next, int64_t bound, bool *ends) {
  cw_party *party = member->party;
  if (member->rank == 0 && next < bound) {
    if (cw_unlikely(cw_are_tired(member))) __atomic_store_n(&party->ends_at, member->meeting + 1, __ATOMIC_RELAXED);
    else if (make != NULL && make(ctx, steps, next)) cw_leave(member, ctx, INT64_MAX - 1);
  }
  bool leaves = cw_meet(member);
  *ends = __atomic_load_n(&party->ends_at, __ATOMIC_RELAXED) <= member->meeting;
  return leaves;
}

/* Some of the steps of a loop, which threads run together, or one alone. Which is better is learnt as for loops (threads.h), from shorter stints. */
typedef struct {
  bool together, wakes; /* who sleeps */
  int64_t steps;
  cw_lesson *lesson; /* that learns from it */
  int64_t begin, work; /* of a step */
} cw_stint;

enum { CW_TRIED_STEPS = 128, CW_SETTLED_STEPS = 1024 };

/* The next ones of so many steps, given the work of the loops of a step. */
CW_SHARED cw_stint cw_next_stint(cw_context *ctx, cw_chunk_function function, int64_t steps, int32_t loops, const int64_t *works);

CW_SHARED void cw_end_stint(const cw_stint *stint);

/* Runs the steps of a stint, from the first on, with whoever comes, as many as they stay for, or none. Nonzero if a step failed. */
__attribute__((noinline)) CW_SHARED int cw_stay_together(cw_context *ctx, cw_stint *stint, cw_party *party, cw_chunk_function function,
                                                         cw_make_function make, void *steps, int64_t first);
