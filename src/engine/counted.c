/* SPDX-License-Identifier: MIT */
/* Memory that counts. Input: an allocator, a budget. Output: an allocator.
 * Threads: any. Bounds: the bytes asked for are counted, not what the inner allocator adds. */
#include "engine/counted.h"

static void *counted_alloc(void *context, size_t bytes, size_t alignment) {
    const struct power_counted *counted = context;
    if (!power_budget_take(counted->budget, bytes)) return NULL;
    void *memory = counted->inner->alloc(counted->inner->context, bytes, alignment);
    if (!memory) power_budget_give(counted->budget, bytes);
    return memory;
}

static void counted_release(void *context, void *memory, size_t bytes, size_t alignment) {
    const struct power_counted *counted = context;
    counted->inner->release(counted->inner->context, memory, bytes, alignment);
    power_budget_give(counted->budget, bytes);
}

void power_counted_init(struct power_counted *counted, const power_allocator *inner,
                        struct power_budget *budget) {
    *counted = (struct power_counted){
        .allocator = {counted, counted_alloc, counted_release}, .inner = inner, .budget = budget};
}
