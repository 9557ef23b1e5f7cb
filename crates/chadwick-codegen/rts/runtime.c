/* What runtime.h declares. */

__attribute__((cold, noinline)) CW_SHARED int cw_fail(cw_context *ctx, int32_t site, int32_t code, int32_t count, const int64_t *values) {
  ctx->error.code = code;
  ctx->error.values_count = count < 64 ? count : 64;
  for (int32_t i = 0; i < ctx->error.values_count; i++) ctx->error.values[i] = values[i];
  ctx->error.sites[0] = site;
  ctx->error.sites_count = 1;
  return 1;
}

__attribute__((cold, noinline)) CW_SHARED int cw_fail_with(cw_context *ctx, int32_t site, int32_t code, int64_t first, int64_t second) {
  return cw_fail(ctx, site, code, 2, (const int64_t[]){first, second});
}

__attribute__((cold, noinline)) CW_SHARED int cw_unwind(cw_context *ctx, int32_t site) {
  if (ctx->error.sites_count < 64) ctx->error.sites[ctx->error.sites_count++] = site;
  return 1;
}

#ifdef CW_FORKS
static bool cw_is_unwanted(const cw_context *ctx);
#else
static inline bool cw_is_unwanted(const cw_context *ctx) { return false; }
#endif

__attribute__((cold, noinline)) CW_SHARED int cw_look_at_clock(cw_context *ctx) {
  ctx->fuel = 4096;
  if (cw_is_unwanted(ctx)) return 1;
  if (!ctx->has_deadline) return 0;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > ctx->deadline.tv_sec || (now.tv_sec == ctx->deadline.tv_sec && now.tv_nsec >= ctx->deadline.tv_nsec);
}

#ifdef CW_PROFILE
CW_SHARED void cw_lap(cw_context *ctx, int64_t line) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (ctx->lap_line != 0) ctx->lap_times[ctx->lap_line] += time - ctx->lap_since;
  ctx->lap_since = time;
  ctx->lap_line = line;
}
#endif

/* Four classes for each power of two, from 64 bytes on. */
static int32_t cw_class_of(int64_t bytes, int64_t *rounded) {
  if (bytes <= 64) {
    *rounded = 64;
    return 0;
  }
  int32_t log = 63 - __builtin_clzll((uint64_t)(bytes - 1));
  int64_t step = (int64_t)1 << (log - 2);
  int64_t steps = (bytes - ((int64_t)1 << log) + step - 1) / step;
  *rounded = ((((int64_t)1 << log) + steps * step) + 63) & ~(int64_t)63;
  int32_t class = 4 * (log - 6) + (int32_t)steps;
  return class < CW_CLASSES ? class : CW_CLASSES - 1;
}

CW_SHARED char *cw_bump(cw_context *ctx, int64_t bytes, uintptr_t alignment) {
  ctx->bump = (char *)(((uintptr_t)ctx->bump + alignment - 1) & ~(alignment - 1));
  if (ctx->bump_end - ctx->bump < bytes) {
    cw_chunk *chunk = ctx->spare_chunks;
    if (chunk != NULL && bytes <= chunk->bytes - (int64_t)sizeof(cw_chunk)) {
      ctx->spare_chunks = chunk->next;
    } else {
      int64_t size = bytes + (int64_t)sizeof(cw_chunk) > CW_CHUNK ? bytes + (int64_t)sizeof(cw_chunk) : CW_CHUNK;
      size = (size + 63) & ~(int64_t)63;
      chunk = aligned_alloc(64, (size_t)size);
      if (chunk == NULL) return NULL;
      chunk->bytes = size;
    }
    chunk->next = ctx->chunks;
    ctx->chunks = chunk;
    ctx->bump = (char *)(chunk + 1);
    ctx->bump_end = (char *)chunk + chunk->bytes;
  }
  char *result = ctx->bump;
  ctx->bump += bytes;
  return result;
}

/* Tells all contexts what this one took and gave back. */
static void cw_report_live(cw_context *ctx) {
  if (ctx->unreported == 0) return;
  int64_t live = cw_count(ctx, &ctx->memory->live, ctx->unreported);
  ctx->unreported = 0;
  if (live > __atomic_load_n(&ctx->memory->peak, __ATOMIC_RELAXED)) __atomic_store_n(&ctx->memory->peak, live, __ATOMIC_RELAXED);
}

/* Where others run at the same time, only so many bytes are worth telling them. */
static void cw_count_live(cw_context *ctx, int64_t bytes) {
  ctx->unreported += bytes;
  if (!ctx->parallel || ctx->unreported > CW_UNREPORTED || ctx->unreported < -CW_UNREPORTED) cw_report_live(ctx);
}

static inline bool cw_has_room(cw_context *ctx, int64_t bytes) {
  return bytes <= ctx->memory->limit && __atomic_load_n(&ctx->memory->live, __ATOMIC_RELAXED) + bytes <= ctx->memory->limit;
}

static void cw_lock(cw_context *ctx) {
  if (ctx->parallel) pthread_mutex_lock(&ctx->memory->lock);
}

static void cw_unlock(cw_context *ctx) {
  if (ctx->parallel) pthread_mutex_unlock(&ctx->memory->lock);
}

static void cw_add_large(cw_context *ctx, cw_block *block) {
  cw_memory *memory = ctx->memory;
  cw_lock(ctx);
  block->previous = NULL;
  block->next = memory->large;
  if (memory->large) memory->large->previous = block;
  memory->large = block;
  memory->large_bytes += block->bytes;
  cw_unlock(ctx);
}

static void cw_drop_large(cw_context *ctx, cw_block *block) {
  cw_memory *memory = ctx->memory;
  cw_lock(ctx);
  if (block->previous) block->previous->next = block->next; else memory->large = block->next;
  if (block->next) block->next->previous = block->previous;
  memory->large_bytes -= block->bytes;
  cw_unlock(ctx);
  free(block);
}

/* Gives unused large blocks back to the system, if nobody else may be about to use one. */
static void cw_trim(cw_context *ctx) {
  if (ctx->parallel) return;
  memset(ctx->memory->free_large, 0, sizeof ctx->memory->free_large);
  for (cw_block *block = ctx->memory->large; block != NULL;) {
    cw_block *next = block->next;
    if (!block->in_use) cw_drop_large(ctx, block);
    block = next;
  }
}

/* A large block starts at a cache line. Large pages are asked for where they matter: getting small ones takes longer than filling them. */
static void *cw_system_memory(int64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= ((int64_t)4 << 20)) {
    void *memory = aligned_alloc((size_t)2 << 20, ((size_t)bytes + ((size_t)2 << 20) - 1) & ~(((size_t)2 << 20) - 1));
    if (memory != NULL) madvise(memory, (size_t)bytes & ~(size_t)4095, MADV_HUGEPAGE);
    return memory;
  }
#endif
  void *memory = NULL;
  return posix_memalign(&memory, 64, (size_t)bytes) == 0 ? memory : NULL;
}

/* A large block that is not in use, or NULL. */
static cw_block *cw_take_large(cw_context *ctx, int32_t class, int64_t bytes) {
  cw_lock(ctx);
  cw_block **list = &ctx->memory->free_large[class], *block = *list;
  if (block != NULL && block->bytes >= bytes) *list = block->next_free; else block = NULL;
  cw_unlock(ctx);
  return block;
}

static void cw_keep_large(cw_context *ctx, cw_block *block) {
  cw_lock(ctx);
  block->next_free = ctx->memory->free_large[block->class];
  ctx->memory->free_large[block->class] = block;
  cw_unlock(ctx);
}

__attribute__((noinline)) CW_SHARED cw_block *cw_alloc_bytes(cw_context *ctx, int64_t bytes, int64_t count) {
  int64_t rounded;
  if (bytes > ctx->memory->limit) return NULL;
  int32_t class = cw_class_of(bytes, &rounded);
#ifdef CW_SANITIZE
  rounded = bytes;
#endif
  if (!cw_has_room(ctx, rounded)) return NULL;
  cw_block *block = rounded < CW_LARGE ? ctx->free_blocks[class] : cw_take_large(ctx, class, bytes);
  if (rounded < CW_LARGE) {
    if (block != NULL) {
      ctx->free_blocks[class] = block->next_free;
    } else {
      block = (cw_block *)cw_bump(ctx, rounded + (int64_t)sizeof(cw_block), 64);
      if (block == NULL) return NULL;
      block->bytes = rounded;
      block->class = class;
    }
  } else if (block == NULL) {
    block = cw_system_memory(rounded + (int64_t)sizeof(cw_block));
    if (block == NULL) {
      cw_trim(ctx);
      block = cw_system_memory(rounded + (int64_t)sizeof(cw_block));
      if (block == NULL) return NULL;
    }
    block->bytes = rounded;
    block->class = class;
    cw_add_large(ctx, block);
  }
  block->refs = 1;
  block->count = count;
  block->in_use = 1;
  cw_count_allocation(ctx, block->bytes);
  cw_count_live(ctx, block->bytes);
  return block;
}

__attribute__((noinline)) CW_SHARED void cw_free_block(cw_context *ctx, cw_block *block) {
  cw_count_live(ctx, -block->bytes);
  block->in_use = 0;
  if (block->bytes >= CW_LARGE && __atomic_load_n(&ctx->memory->large_bytes, __ATOMIC_RELAXED) >= CW_KEPT_BYTES) {
    cw_drop_large(ctx, block);
    return;
  }
  if (block->bytes >= CW_LARGE) {
    cw_keep_large(ctx, block);
    return;
  }
  block->next_free = ctx->free_blocks[block->class];
  ctx->free_blocks[block->class] = block;
}

__attribute__((noinline)) CW_SHARED void cw_release(cw_context *ctx, cw_block *block) {
  if (block != NULL && cw_was_last(ctx, &block->refs)) cw_free_block(ctx, block);
}

__attribute__((noinline)) CW_SHARED int cw_grow(cw_context *ctx, cw_block **owner, int64_t element_bytes, int64_t count, int64_t row,
                                             bool zeroed) {
  int64_t needed;
  if (__builtin_mul_overflow(count + 1, row, &needed) || __builtin_mul_overflow(needed, element_bytes, &needed)) return 1;
  cw_block *old = *owner;
  if (old != NULL && needed <= old->bytes) return 0;
  int64_t wanted = old == NULL ? 8 * row * element_bytes : 2 * old->bytes;
  if (wanted < needed) wanted = needed;
  cw_block *block = cw_alloc_bytes(ctx, wanted, 0);
  if (block == NULL) return 1;
  block->count = element_bytes == 0 ? 0 : block->bytes / element_bytes;
  int64_t used = old == NULL ? 0 : count * row * element_bytes;
  if (old != NULL) {
    memcpy(block + 1, old + 1, (size_t)used);
    cw_free_block(ctx, old);
  }
  if (zeroed) memset((char *)(block + 1) + used, 0, (size_t)(block->bytes - used));
  *owner = block;
  return 0;
}

__attribute__((noinline)) CW_SHARED int cw_grow_rows(cw_context *ctx, cw_rows *log, int32_t columns, const int64_t *sizes) {
  int64_t room = INT64_MAX;
  for (int32_t i = 0; i < columns; i++) {
    if (cw_grow(ctx, &log->columns[i], sizes[i], log->count, 1, true)) return 1;
    int64_t fits = log->columns[i]->bytes / sizes[i];
    if (fits < room) room = fits;
  }
  log->room = room;
  return 0;
}

__attribute__((cold, noinline)) CW_SHARED char *cw_node_in_new_part(cw_context *ctx, int64_t bytes) {
  int64_t part = ctx->nodes_part < CW_NODES_PART ? 2 * ctx->nodes_part + 1024 : CW_NODES_PART;
  if (part < bytes || !cw_has_room(ctx, part)) part = bytes;
  char *nodes = cw_has_room(ctx, part) ? cw_bump(ctx, part, 16) : NULL;
  if (nodes == NULL) return NULL;
  cw_count_live(ctx, part);
  ctx->nodes_part = part;
  ctx->nodes = nodes + bytes;
  ctx->nodes_end = nodes + part;
  return nodes;
}

CW_SHARED void cw_turn(void *target, const void *source, int64_t rows, int64_t columns, int64_t stride, int64_t apart) {
  int64_t *to = target;
  const int64_t *from = source;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) cw_turn_four(to + i * apart + j, apart, from + j * stride + i, stride);
    for (; j < columns; j++)
      for (int64_t r = i; r < i + 4; r++) to[r * apart + j] = from[j * stride + r];
  }
  for (; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) to[i * apart + j] = from[j * stride + i];
}

CW_SHARED void cw_transpose(void *target, const void *source, int64_t rows, int64_t columns, int64_t stride, int64_t block) {
  int64_t down = (rows + CW_TURNED_ROWS - 1) / CW_TURNED_ROWS;
  int64_t j = block / down * CW_TURNED_COLUMNS, i = block % down * CW_TURNED_ROWS;
  int64_t height = rows - i < CW_TURNED_ROWS ? rows - i : CW_TURNED_ROWS;
  int64_t width = columns - j < CW_TURNED_COLUMNS ? columns - j : CW_TURNED_COLUMNS;
  cw_turn((int64_t *)target + i * columns + j, (const int64_t *)source + j * stride + i, height, width, stride, columns);
}

__attribute__((noinline)) CW_SHARED void cw_write(cw_context *ctx, const void *bytes, int64_t count) {
  if (ctx->stream_capacity - ctx->stream_length < count) {
    int64_t capacity = 2 * ctx->stream_capacity + count + 256;
    uint8_t *stream = realloc(ctx->stream, (size_t)capacity);
    if (stream == NULL) return;
    ctx->stream = stream;
    ctx->stream_capacity = capacity;
  }
  if (count > 0) memcpy(ctx->stream + ctx->stream_length, bytes, (size_t)count);
  ctx->stream_length += count;
}

CW_SHARED void cw_trace(cw_context *ctx, int32_t site) {
  if (ctx->host.trace) ctx->host.trace(ctx->host.data, site, ctx->stream, ctx->stream_length);
  ctx->stream_length = 0;
}
