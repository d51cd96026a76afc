/* SPDX-License-Identifier: MIT */
/* The runtime inside: what every public function needs of it.
 * Input: options at open. Output: device, allocator, budget. Owner: the public handle.
 * Threads: read by any; the budget is atomic. Bounds: max_memory_bytes. */
#ifndef POWER_API_RUNTIME_H
#define POWER_API_RUNTIME_H

#include "engine/model.h"

struct power_runtime {
    const power_allocator *allocator; /* never NULL */
    power_runtime_options options;
    struct power_device *device;
    struct power_budget budget;
    struct power_model_host host;
};

/* Copies an option struct of `size` bytes over defaults of `known` bytes. POWER_INVALID names
 * `what` when the size is not one that any version had. */
power_status power_options_copy(void *out, size_t known, const void *options, size_t size,
                                const char *what, power_error *error) POWER_MUST_USE;

#endif
