/* Loops on several threads. A worker looks out for its next part for some time before it sleeps: loops follow each other closely, and waking up takes
 * longer than many of them. */
#include "reference.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64, PATIENCE = 20000 };

static struct worker {
    _Alignas(64) atomic_int busy; /* set by who has work, cleared by the worker */
    double sum;
} workers[MOST_THREADS]; /* the first of them is the caller */

static int64_t threads = 1;
static atomic_int sleepers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static struct {
    int64_t n, parts, length;
    part *body;
    const void *context;
    double *into, *apart;
} loop;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void run(int64_t number) {
    double *into = loop.into;
    if (number > 0 && loop.length > 0) {
        into = loop.apart + (number - 1) * loop.length;
        memset(into, 0, 8 * (size_t)loop.length);
    }
    int64_t from = loop.n * number / loop.parts, to = loop.n * (number + 1) / loop.parts;
    workers[number].sum = loop.body(loop.context, from, to, into);
}

static void *work(void *data) {
    struct worker *self = data;
    for (;;) {
        for (int looks = 0; looks < PATIENCE && !atomic_load(&self->busy); looks++) pause_briefly();
        if (!atomic_load(&self->busy)) {
            pthread_mutex_lock(&lock);
            atomic_fetch_add(&sleepers, 1);
            while (!atomic_load(&self->busy)) pthread_cond_wait(&wake, &lock);
            atomic_fetch_sub(&sleepers, 1);
            pthread_mutex_unlock(&lock);
        }
        run(self - workers);
        atomic_store(&self->busy, 0);
    }
    return NULL;
}

void start_threads(int64_t count) {
    for (; threads < count && threads < MOST_THREADS; threads++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &workers[threads])) exit(1);
    }
}

double parallel(int64_t n, int64_t least, part *body, const void *context, int64_t length, double *into) {
#ifdef SMALL_PARTS /* for tests on small inputs */
    least = 1;
#endif
    int64_t parts = n / least < threads ? n / least : threads;
    if (parts <= 1) return body(context, 0, n, into);
    loop.n = n, loop.parts = parts, loop.length = length, loop.body = body, loop.context = context, loop.into = into;
    loop.apart = length > 0 ? doubles((parts - 1) * length) : NULL;
    for (int64_t number = 1; number < parts; number++) atomic_store(&workers[number].busy, 1);
    if (atomic_load(&sleepers) > 0) {
        pthread_mutex_lock(&lock);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&lock);
    }
    run(0);
    double sum = workers[0].sum;
    for (int64_t number = 1; number < parts; number++) {
        for (int looks = 0; atomic_load(&workers[number].busy); looks++)
            if (looks < PATIENCE) pause_briefly();
            else sched_yield();
        sum += workers[number].sum;
        if (length > 0) axpy(length, 1, loop.apart + (number - 1) * length, into);
    }
    free(loop.apart);
    return sum;
}
