/* SPDX-License-Identifier: MIT */
/* A run: every thread of the pool walks the phases, takes shares of each from a counter, and waits
 * for the others once a phase. Input: a plan whose run is prepared. Output: values computed.
 * Threads: the pool's. Bounds: nothing is allocated; a share is at least SHARE_NS of work where
 * there is so much. */
#include "device/cpu/plan.h"

#define SHARE_NS 5000.0f       /* a share smaller than this is not worth taking */
#define SHARES_PER_THREAD 8.0f /* enough to even out threads of different speed */

struct shares {
    uint32_t units[PLAN_MAX_PHASE_STEPS];
    uint32_t grain[PLAN_MAX_PHASE_STEPS]; /* units of a share */
    uint32_t count[PLAN_MAX_PHASE_STEPS]; /* shares of the step */
    uint32_t total;
    bool whole; /* the phase is one share */
};

/* Every thread computes the same. */
static void plan_shares(const struct power_plan *plan, const struct plan_phase *phase,
                        struct shares *out) {
    float costs[PLAN_MAX_PHASE_STEPS], sum = 0;
    const struct plan_step *steps = &plan->steps[phase->first_step];
    for (uint32_t i = 0; i < phase->n_steps; i++) {
        costs[i] = 0;
        out->units[i] = steps[i].units(plan, &steps[i], &costs[i]);
        sum += costs[i] * (float)out->units[i];
    }
    float threads = (float)plan->device->n_threads;
    float share = sum / (threads * SHARES_PER_THREAD);
    if (share < SHARE_NS) share = SHARE_NS;
    out->total = 0;
    out->whole = threads == 1 || sum < 2 * SHARE_NS;
    for (uint32_t i = 0; i < phase->n_steps; i++) {
        float grain = costs[i] > 0 ? share / costs[i] : (float)out->units[i];
        out->grain[i] = grain < 1 ? 1 : grain > 1e9f ? 1000000000u : (uint32_t)grain;
        out->count[i] = (out->units[i] + out->grain[i] - 1) / out->grain[i];
        out->total += out->count[i];
    }
    if (out->whole) out->total = 1;
}

static void run_share(struct power_plan *plan, const struct plan_phase *phase,
                      const struct shares *shares, uint32_t share, struct plan_thread *thread) {
    const struct plan_step *steps = &plan->steps[phase->first_step];
    for (uint32_t i = 0; shares->whole && i < phase->n_steps; i++)
        if (shares->units[i]) steps[i].work(plan, &steps[i], 0, shares->units[i], thread);
    if (shares->whole) return;
    uint32_t i = 0;
    while (share >= shares->count[i])
        share -= shares->count[i++];
    uint32_t first = share * shares->grain[i], left = shares->units[i] - first;
    steps[i].work(plan, &steps[i], first, left < shares->grain[i] ? left : shares->grain[i],
                  thread);
}

static void run_thread(void *argument, uint32_t index) {
    struct power_plan *plan = argument;
    struct plan_thread *thread = &plan->threads[index];
    struct power_fp_state fp = power_fp_enter();
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct shares shares = {.total = 0};
        plan_shares(plan, &plan->phases[p], &shares);
        for (;;) {
            uint32_t share =
                atomic_fetch_add_explicit(&plan->counters[p].next, 1, memory_order_relaxed);
            if (share >= shares.total) break;
            run_share(plan, &plan->phases[p], &shares, share, thread);
        }
        power_pool_barrier(plan->device->pool);
    }
    power_fp_leave(fp);
}

void plan_run_phases(struct power_plan *plan) {
    for (uint32_t p = 0; p < plan->n_phases; p++)
        atomic_store_explicit(&plan->counters[p].next, 0, memory_order_relaxed);
    power_pool_run(plan->device->pool, run_thread, plan);
}
