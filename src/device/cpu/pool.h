/* SPDX-License-Identifier: MIT */
/* The fork-join pool: n - 1 workers and the calling thread run one function together.
 * Input: a function and its argument. Output: returns when every thread has left the function.
 * Threads: one caller at a time. Bounds: the threads given at creation; waits spin for a few
 * microseconds, then sleep. */
#ifndef POWER_DEVICE_CPU_POOL_H
#define POWER_DEVICE_CPU_POOL_H

#include "os/os.h"

struct power_pool;
typedef void (*power_pool_fn)(void *argument, uint32_t thread);

power_status power_pool_create(struct power_pool **out, const power_allocator *allocator,
                               uint32_t n_threads, power_error *error) POWER_MUST_USE;
void power_pool_destroy(struct power_pool *pool);
/* Every thread t of [0, n_threads) runs fn(argument, t); the caller is thread 0. */
void power_pool_run(struct power_pool *pool, power_pool_fn fn, void *argument);
/* Inside fn, called by every thread: none passes before all have come. What a thread wrote before
 * it is seen by all after it. */
void power_pool_barrier(struct power_pool *pool);

#endif
