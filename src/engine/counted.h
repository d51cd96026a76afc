/* SPDX-License-Identifier: MIT */
/* An allocator whose memory counts against a budget. Input: requests. Output: memory, or NULL where
 * the budget or the memory is exhausted. Threads: any. Bounds: the budget's. */
#ifndef POWER_ENGINE_COUNTED_H
#define POWER_ENGINE_COUNTED_H

#include "engine/budget.h"
#include "power/status.h"

/* Stays where it was initialised: its allocator points to it. */
struct power_counted {
    power_allocator allocator;
    const power_allocator *inner;
    struct power_budget *budget;
};

/* Both are borrowed. */
void power_counted_init(struct power_counted *counted, const power_allocator *inner,
                        struct power_budget *budget);

#endif
