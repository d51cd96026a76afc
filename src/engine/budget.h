/* SPDX-License-Identifier: MIT */
/* Bytes of state, scratch and packed weights that a runtime may take, over all its models.
 * Input: takes and gives. Output: whether a take fits. Threads: any. Bounds: `max_bytes`. */
#ifndef POWER_ENGINE_BUDGET_H
#define POWER_ENGINE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct power_budget {
    uint64_t max_bytes;
    _Atomic(uint64_t) used_bytes;
};

static inline uint64_t power_budget_left(struct power_budget *budget) {
    uint64_t used = atomic_load(&budget->used_bytes);
    return used < budget->max_bytes ? budget->max_bytes - used : 0;
}

static inline bool power_budget_take(struct power_budget *budget, uint64_t bytes) {
    uint64_t used = atomic_load(&budget->used_bytes);
    do {
        if (used > budget->max_bytes || bytes > budget->max_bytes - used) return false;
    } while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
    return true;
}

static inline void power_budget_give(struct power_budget *budget, uint64_t bytes) {
    atomic_fetch_sub(&budget->used_bytes, bytes);
}

#endif
