/* What the host calls. */

CW_HOST cw_context *cw_open(void) {
  cw_memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL) return NULL;
  memory->limit = INT64_MAX / 4;
  pthread_mutex_init(&memory->lock, NULL);
  cw_context *ctx = cw_new_context(memory, cw_needs_of_program().memos);
  if (ctx == NULL) free(memory); else ctx->threads = 1;
  return ctx;
}

/* Chunks of small blocks: some are kept for the next run. */
static void cw_reset_chunks(cw_context *ctx) {
  if (ctx->chunks == NULL) return;
  int64_t chunks = 0;
  while (ctx->chunks != NULL) {
    cw_chunk *chunk = ctx->chunks;
    ctx->chunks = chunk->next;
    if (chunks++ < 64 && chunk->bytes == CW_CHUNK) {
      chunk->next = ctx->spare_chunks;
      ctx->spare_chunks = chunk;
    } else {
      free(chunk);
    }
  }
  for (cw_chunk *chunk = ctx->spare_chunks; chunk != NULL;) {
    if (chunks++ > 128 && chunk->next != NULL) {
      cw_chunk *next = chunk->next;
      chunk->next = next->next;
      free(next);
    } else {
      chunk = chunk->next;
    }
  }
  ctx->bump = ctx->bump_end = ctx->nodes = ctx->nodes_end = NULL;
  ctx->nodes_part = 0;
}

/* Forgets pointers. Where there are none, nothing is written, and the cache of another thread keeps them. */
static void cw_forget(void **pointers, int64_t count) {
  uintptr_t any = 0;
  for (int64_t i = 0; i < count; i++) any |= (uintptr_t)pointers[i];
  if (any != 0) memset(pointers, 0, (size_t)count * sizeof *pointers);
}

/* Takes back all memory of a run; some of it is kept for the next one. Of workers that had none, this leaves alone what they write to. */
CW_HOST void cw_reset(cw_context *ctx) {
  cw_report_live(ctx);
  ctx->depth = 0;
  for (cw_context *each = ctx->memory->contexts; each != NULL; each = each->next) {
    cw_forget(each->free_nodes, CW_NODE_CLASSES);
    cw_forget((void **)each->free_blocks, CW_CLASSES);
    cw_forget(each->memo, each->memos);
    cw_reset_chunks(each);
    if (each->unreported != 0) each->unreported = 0;
    if (each->stream_length != 0) each->stream_length = 0;
  }
  memset(ctx->memory->free_large, 0, sizeof ctx->memory->free_large);
  int64_t kept = 0;
  for (cw_block *block = ctx->memory->large; block != NULL;) {
    cw_block *next = block->next;
    kept += block->bytes;
    block->in_use = 0;
    if (kept > CW_KEPT_BYTES) {
      kept -= block->bytes;
      cw_drop_large(ctx, block);
    } else {
      cw_keep_large(ctx, block);
    }
    block = next;
  }
  ctx->memory->live = 0;
}

/* Between runs: how many threads may work, this one included. They start when there is work for them. */
CW_HOST void cw_set_threads(cw_context *ctx, int32_t threads) {
  threads = threads < 1 ? 1 : threads > CW_MAX_THREADS ? CW_MAX_THREADS : threads;
  if (threads == ctx->threads) return;
  cw_reset(ctx);
  cw_stop_team(ctx);
  ctx->threads = threads;
}

CW_HOST void cw_close(cw_context *ctx) {
  cw_reset(ctx);
  cw_stop_team(ctx);
  cw_memory *memory = ctx->memory;
  for (cw_block *block = memory->large; block != NULL;) {
    cw_block *next = block->next;
    free(block);
    block = next;
  }
  cw_free_context(ctx);
  pthread_mutex_destroy(&memory->lock);
  free(memory);
}

CW_HOST void cw_set_host(cw_context *ctx, const cw_host *host) {
  if (memcmp(&ctx->host, host, sizeof *host) == 0) return;
  ctx->host = *host;
  ctx->run++;
}

/* Bytes of values; nanoseconds from now, or a negative number; open calls; the lowest address of the stack that may be used. */
CW_HOST void cw_set_limits(cw_context *ctx, int64_t bytes, int64_t nanoseconds, int64_t depth, void *stack_limit) {
  bool same = bytes == ctx->memory->limit && nanoseconds < 0 && !ctx->has_deadline && depth == ctx->max_depth;
  if (!same) ctx->run++;
  ctx->memory->limit = bytes;
  ctx->memory->peak = ctx->memory->live;
  ctx->max_depth = depth;
  ctx->stack_limit = stack_limit;
  ctx->has_deadline = nanoseconds >= 0;
  ctx->fuel = 4096;
#ifdef CW_PROFILE
  ctx->lap_line = 0;
#endif
  if (ctx->has_deadline) {
    clock_gettime(CLOCK_MONOTONIC, &ctx->deadline);
    ctx->deadline.tv_sec += nanoseconds / 1000000000;
    ctx->deadline.tv_nsec += nanoseconds % 1000000000;
    if (ctx->deadline.tv_nsec >= 1000000000) {
      ctx->deadline.tv_nsec -= 1000000000;
      ctx->deadline.tv_sec++;
    }
  }
}

CW_HOST const cw_error *cw_last_error(const cw_context *ctx) { return &ctx->error; }

CW_HOST const uint8_t *cw_stream(const cw_context *ctx, int64_t *length) {
  *length = ctx->stream_length;
  return ctx->stream;
}

/* The most bytes of values that were there at one time since the limits were set. */
CW_HOST int64_t cw_peak(const cw_context *ctx) {
  int64_t live = ctx->memory->live + ctx->unreported;
  return ctx->memory->peak > live ? ctx->memory->peak : live;
}

#ifdef CW_PROFILE
/* Of all calls so far: nanoseconds on the account of each line, behind the number of blocks and bytes that were asked for. */
CW_HOST void cw_profile(cw_context *ctx, int64_t *numbers) {
  numbers[0] = numbers[1] = 0;
  for (cw_context *each = ctx->memory->contexts; each != NULL; each = each->next) {
    numbers[0] += each->allocations;
    numbers[1] += each->allocated_bytes;
  }
  memcpy(numbers + 2, ctx->lap_times, sizeof ctx->lap_times);
}
#endif
