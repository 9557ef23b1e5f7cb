/* What the host calls. */

cw_context *cw_open(void) {
  cw_context *ctx = calloc(1, sizeof *ctx);
  if (ctx == NULL) return NULL;
  ctx->memo = calloc(CW_MEMOS + 1, sizeof *ctx->memo);
  if (ctx->memo == NULL) {
    free(ctx);
    return NULL;
  }
  ctx->limit = INT64_MAX / 4;
  ctx->max_depth = INT64_MAX / 4;
  return ctx;
}

/* Takes back all memory of a run; some of it is kept for the next one. */
void cw_reset(cw_context *ctx) {
  memset(ctx->free_nodes, 0, sizeof ctx->free_nodes);
  memset(ctx->free_blocks, 0, sizeof ctx->free_blocks);
  memset(ctx->memo, 0, CW_MEMOS * sizeof *ctx->memo);
  int64_t kept = 0;
  for (cw_block *block = ctx->large; block != NULL;) {
    cw_block *next = block->next;
    kept += block->bytes;
    block->in_use = 0;
    if (kept > CW_KEPT_BYTES) {
      kept -= block->bytes;
      cw_drop_large(ctx, block);
    } else {
      block->next_free = ctx->free_blocks[block->class];
      ctx->free_blocks[block->class] = block;
    }
    block = next;
  }
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
  ctx->bump = ctx->bump_end = NULL;
  ctx->live = 0;
  ctx->depth = 0;
  ctx->stream_length = 0;
}

void cw_close(cw_context *ctx) {
  cw_reset(ctx);
  for (cw_block *block = ctx->large; block != NULL;) {
    cw_block *next = block->next;
    free(block);
    block = next;
  }
  for (cw_chunk *chunk = ctx->spare_chunks; chunk != NULL;) {
    cw_chunk *next = chunk->next;
    free(chunk);
    chunk = next;
  }
  free(ctx->memo);
  free(ctx->stream);
  free(ctx);
}

void cw_set_host(cw_context *ctx, const cw_host *host) { ctx->host = *host; }

/* Bytes of values; nanoseconds from now, or a negative number; open calls; the lowest address of the stack that may be used. */
void cw_set_limits(cw_context *ctx, int64_t bytes, int64_t nanoseconds, int64_t depth, void *stack_limit) {
  ctx->limit = bytes;
  ctx->max_depth = depth;
  ctx->stack_limit = stack_limit;
  ctx->has_deadline = nanoseconds >= 0;
  ctx->fuel = 4096;
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

const cw_error *cw_last_error(const cw_context *ctx) { return &ctx->error; }

const uint8_t *cw_stream(const cw_context *ctx, int64_t *length) {
  *length = ctx->stream_length;
  return ctx->stream;
}

int64_t cw_peak(const cw_context *ctx) { return ctx->peak; }
