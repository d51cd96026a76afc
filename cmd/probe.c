/* SPDX-License-Identifier: MIT */
/* What the memory gives at this moment: a streaming sum over pages too many for any cache.
 * Input: a number of threads. Output: bytes per second. Owning thread: main and the probe's own.
 * Bounds: 256 MiB of pages for each thread, three passes. */
#include "common.h"

#include "os/os.h"

#include <stdatomic.h>
#include <string.h>

#define PROBE_BYTES ((size_t)256 << 20)
#define PROBE_PASSES 3
#define PROBE_THREADS 64u

struct probe {
    const uint64_t *words;
    size_t count;
    _Atomic(uint64_t) *sink;
};

static void stream(void *argument) {
    struct probe *p = argument;
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (size_t i = 0; i + 8 <= p->count; i += 8) {
        a += p->words[i];
        b += p->words[i + 1];
        c += p->words[i + 2];
        d += p->words[i + 3];
        e += p->words[i + 4];
        f += p->words[i + 5];
        g += p->words[i + 6];
        h += p->words[i + 7];
    }
    atomic_fetch_add(p->sink, a + b + c + d + e + f + g + h);
}

/* Seconds of one pass over all parts. */
static double pass(struct probe *parts, uint32_t threads) {
    struct power_thread *started[PROBE_THREADS] = {0};
    uint64_t begin = power_clock_ns();
    for (uint32_t i = 1; i < threads; i++) {
        if (power_thread_start(&started[i], &power_default_allocator, "probe", stream, &parts[i],
                               NULL))
            stream(&parts[i]);
    }
    stream(&parts[0]);
    for (uint32_t i = 1; i < threads; i++)
        power_thread_join(started[i]);
    return (double)(power_clock_ns() - begin) * 1e-9;
}

double probe_memory(uint32_t threads) {
    struct probe parts[PROBE_THREADS];
    static _Atomic(uint64_t) sink; /* keeps the sums alive */
    void *pages;
    if (threads > PROBE_THREADS) threads = PROBE_THREADS;
    if (!threads) threads = 1;
    if (power_pages_alloc(&pages, PROBE_BYTES * threads, NULL)) return 0.0;
    memset(pages, 1, PROBE_BYTES * threads);
    for (uint32_t i = 0; i < threads; i++) {
        parts[i].words = (const uint64_t *)(const void *)((const char *)pages + i * PROBE_BYTES);
        parts[i].count = PROBE_BYTES / sizeof(uint64_t);
        parts[i].sink = &sink;
    }
    double best = pass(parts, threads);
    for (int i = 1; i < PROBE_PASSES; i++) {
        double t = pass(parts, threads);
        if (t < best) best = t;
    }
    power_pages_free(pages, PROBE_BYTES * threads);
    return best > 0.0 ? (double)(PROBE_BYTES * threads) / best : 0.0;
}
