/* SPDX-License-Identifier: MIT */
/* The thread pool: every thread runs, a barrier separates what is before from what is after,
 * sleeping threads wake, more threads than processors work, a start that fails leaves nothing
 * behind. Input: none. Output: cmocka's verdict. Threads: up to 9. Bounds: none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "device/cpu/pool.h"

#define ROUNDS 50
#define MAX 9

struct work {
    struct power_pool *pool;
    uint32_t n;
    uint64_t cells[MAX][8]; /* plain memory: the barrier alone orders the accesses */
    uint64_t sums[MAX];
};

/* Each round every thread adds all cells of the round before, then writes its own. */
static void add_all(void *argument, uint32_t thread) {
    struct work *w = argument;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        w->cells[thread][0] += thread + round;
        power_pool_barrier(w->pool);
        for (uint32_t t = 0; t < w->n; t++)
            w->sums[thread] += w->cells[t][0];
        power_pool_barrier(w->pool);
    }
}

static void test_barriers(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= MAX; n += n < 3 ? 1 : 3) {
        struct work w = {.n = n};
        power_error error = {0};
        assert_int_equal(power_pool_create(&w.pool, &power_default_allocator, n, &error), POWER_OK);
        for (int i = 0; i < 3; i++) {
            power_pool_run(w.pool, add_all, &w);
            /* Long enough for the workers to fall asleep. */
            uint64_t until = power_clock_ns() + 2000000;
            while (power_clock_ns() < until)
                power_cpu_relax();
        }
        for (uint32_t t = 1; t < n; t++)
            assert_int_equal(w.sums[t], w.sums[0]);
        assert_int_not_equal(w.sums[0], 0);
        power_pool_destroy(w.pool);
    }
}

struct failing {
    int left; /* allocations until failure */
    int live;
};

static void *fail_alloc(void *context, size_t bytes, size_t alignment) {
    struct failing *f = context;
    if (f->left-- <= 0) return NULL;
    void *memory = power_default_allocator.alloc(power_default_allocator.context, bytes, alignment);
    f->live += memory != NULL;
    return memory;
}

static void fail_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct failing *f = context;
    f->live -= memory != NULL;
    power_default_allocator.release(power_default_allocator.context, memory, bytes, alignment);
}

static void test_failed_start(void **state) {
    (void)state;
    power_status status = POWER_NO_MEMORY;
    for (int n = 0; status != POWER_OK; n++) {
        struct failing f = {.left = n};
        power_allocator allocator = {&f, fail_alloc, fail_release};
        struct power_pool *pool = NULL;
        power_error error = {0};
        status = power_pool_create(&pool, &allocator, 4, &error);
        if (status != POWER_OK) assert_int_equal(status, POWER_NO_MEMORY);
        if (status != POWER_OK) assert_null(pool);
        power_pool_destroy(pool);
        assert_int_equal(f.live, 0);
        assert_true(n < 100);
    }
}

static void test_bounds(void **state) {
    (void)state;
    struct power_pool *pool = NULL;
    power_error error = {0};
    assert_int_equal(power_pool_create(&pool, &power_default_allocator, 0, &error), POWER_LIMIT);
    assert_int_equal(power_pool_create(&pool, &power_default_allocator, 5000, &error), POWER_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_failed_start),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
