/* Runs a reference as a process, on as many threads as its argument says, or one. Standard input: the number of sizes, the sizes, the number of
 * arguments, for each its length in 8-byte words and the words, the length of the two results; then commands. A command is `p` or `g` and a number of
 * seconds: run that function for so long and answer with the least time, the median time, the most bytes that it asked for at one time (or a NaN), and
 * the result. Everything is binary, in the machine's byte order. */
#include "reference.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { MOST_RUNS = 200000 };

static int64_t word(void) {
    int64_t value;
    if (fread(&value, 8, 1, stdin) != 1) exit(1);
    return value;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The linker leads all calls here. */
static _Atomic int64_t live, peak;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);

static void *counted(void *memory) {
    int64_t bytes = (int64_t)malloc_usable_size(memory), now_live = atomic_fetch_add(&live, bytes) + bytes, most = peak;
    while (now_live > most && !atomic_compare_exchange_weak(&peak, &most, now_live)) {}
    return memory;
}

void *__wrap_malloc(size_t bytes) { return counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) { return counted(__real_calloc(count, bytes)); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) { return counted(__real_aligned_alloc(alignment, bytes)); }
void __wrap_free(void *memory) {
    live -= (int64_t)malloc_usable_size(memory);
    __real_free(memory);
}

int main(int count, char **words) {
    /* Memory that was given back is kept for the next run, as our runtime keeps it: no run waits for pages of the system but the first. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    int64_t sizes = word();
    int64_t *n = malloc(8 * (size_t)sizes);
    for (int64_t i = 0; i < sizes; i++) n[i] = word();
    int64_t arguments = word();
    double **in = malloc(sizeof(double *) * (size_t)arguments);
    for (int64_t i = 0; i < arguments; i++) {
        int64_t length = word();
        in[i] = malloc(8 * (size_t)(length + 1)); /* aligned no better than the arguments of a call */
        if (length && fread(in[i], 8, (size_t)length, stdin) != (size_t)length) exit(1);
    }
    int64_t lengths[2] = {word(), word()};
    double *outs[2] = {doubles(lengths[0]), doubles(lengths[1])};
    double *times = doubles(MOST_RUNS);
    start_threads(count > 1 ? atoi(words[1]) : 1); /* after all else, so that memory lies where it lies on one thread */
    for (int command; (command = getchar()) != EOF;) {
        int which = command == 'g';
        double seconds;
        if (fread(&seconds, 8, 1, stdin) != 1) exit(1);
        int runs = 0;
        int64_t before_runs = peak = live;
        for (double begin = now(), before = begin, after; runs < MOST_RUNS; before = after) {
            (which ? gradient : primal)((const double *const *)in, n, outs[which]);
            after = now();
            times[runs++] = after - before;
            if (after - begin >= seconds) break;
        }
        qsort(times, (size_t)runs, 8, order);
        fwrite(&times[0], 8, 1, stdout);
        fwrite(&times[runs / 2], 8, 1, stdout);
        double memory = (double)(peak - before_runs);
        fwrite(&memory, 8, 1, stdout);
        fwrite(outs[which], 8, (size_t)lengths[which], stdout);
        fflush(stdout);
    }
    return 0;
}
