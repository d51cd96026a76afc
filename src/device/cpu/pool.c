/* SPDX-License-Identifier: MIT */
/* One barrier is the whole pool: workers wait at it for work, inside work, and for the end.
 * Input: functions to run. Output: none. Threads: the caller and the workers.
 * Bounds: SPIN_ROUNDS of the processor's pause, then a futex; nothing is allocated after creation.
 */
#include "device/cpu/pool.h"

#include <stdatomic.h>

#define SPIN_ROUNDS 64
#define MAX_THREADS 1024u

struct power_pool {
    const power_allocator *allocator;
    uint32_t n_threads;
    uint32_t spin_rounds; /* 0 when there are more threads than processors */
    power_pool_fn fn;     /* written by the caller before a barrier, read after it */
    void *argument;
    bool stop;
    struct power_thread **threads; /* [n_threads - 1] */
    struct worker *workers;        /* [n_threads - 1] */
    uint32_t n_started;
    _Alignas(64) _Atomic(uint32_t) arrived;
    _Alignas(64) _Atomic(uint32_t) generation;
    _Atomic(uint32_t) sleepers;
};

struct worker {
    struct power_pool *pool;
    uint32_t thread;
};

static void sleep_until_changed(struct power_pool *pool, uint32_t generation) {
    /* The sleeper counts itself before the kernel compares the word, and the last comer changes the
     * word before it reads the count: one of the two sees the other. */
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == generation)
        power_futex_wait(&pool->generation, generation);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void barrier_of(struct power_pool *pool, uint32_t n) {
    if (n <= 1) return;
    uint32_t generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == n) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        atomic_fetch_add(&pool->generation, 1);
        if (atomic_load(&pool->sleepers) != 0) power_futex_wake_all(&pool->generation);
        return;
    }
    for (uint32_t i = 0; i < pool->spin_rounds; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != generation) return;
        power_cpu_relax();
    }
    sleep_until_changed(pool, generation);
}

void power_pool_barrier(struct power_pool *pool) {
    barrier_of(pool, pool->n_threads);
}

static void worker_main(void *argument) {
    const struct worker *worker = argument;
    struct power_pool *pool = worker->pool;
    for (;;) {
        power_pool_barrier(pool);
        if (pool->stop) return;
        pool->fn(pool->argument, worker->thread);
        power_pool_barrier(pool);
    }
}

void power_pool_run(struct power_pool *pool, power_pool_fn fn, void *argument) {
    pool->fn = fn;
    pool->argument = argument;
    power_pool_barrier(pool);
    fn(argument, 0);
    power_pool_barrier(pool);
}

/* The workers that did start wait at the barrier with nobody else to come: the count of threads is
 * brought down to them and the caller. Nothing has run, so nobody reads it but through the barrier.
 */
static void stop_workers(struct power_pool *pool) {
    pool->stop = true;
    /* Before a complete start the barrier could not open; the caller arrives for those missing. */
    for (uint32_t i = pool->n_started + 1; i < pool->n_threads; i++)
        atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel);
    power_pool_barrier(pool);
    for (uint32_t i = 0; i < pool->n_started; i++)
        power_thread_join(pool->threads[i]);
}

power_status power_pool_create(struct power_pool **out, const power_allocator *allocator,
                               uint32_t n_threads, power_error *error) {
    if (n_threads == 0 || n_threads > MAX_THREADS)
        return power_fail(error, POWER_LIMIT, "%u threads: it must be 1 to %u", n_threads,
                          MAX_THREADS);
    struct power_pool *pool = power_alloc(allocator, 1, sizeof *pool);
    if (!pool) return power_fail_memory(error, sizeof *pool, "thread pool");
    pool->allocator = allocator;
    pool->n_threads = n_threads;
    pool->spin_rounds = n_threads <= power_usable_cpus() ? SPIN_ROUNDS : 0;
    power_status status = POWER_OK;
    pool->threads = power_alloc(allocator, n_threads, sizeof *pool->threads);
    pool->workers = power_alloc(allocator, n_threads, sizeof *pool->workers);
    if (!pool->threads || !pool->workers) {
        status = power_fail_memory(error, n_threads * sizeof *pool->workers, "thread pool");
        goto cleanup;
    }
    for (uint32_t i = 0; i + 1 < n_threads; i++) {
        pool->workers[i] = (struct worker){pool, i + 1};
        status = power_thread_start(&pool->threads[i], allocator, "power-worker", worker_main,
                                    &pool->workers[i], error);
        if (status != POWER_OK) goto cleanup;
        pool->n_started++;
    }
    *out = pool;
    return POWER_OK;
cleanup:
    power_pool_destroy(pool);
    return status;
}

void power_pool_destroy(struct power_pool *pool) {
    if (!pool) return;
    if (pool->threads && pool->n_started) stop_workers(pool);
    power_release(pool->allocator, pool->threads, pool->n_threads, sizeof *pool->threads);
    power_release(pool->allocator, pool->workers, pool->n_threads, sizeof *pool->workers);
    power_release(pool->allocator, pool, 1, sizeof *pool);
}
