/* SPDX-License-Identifier: MIT */
/* How large an engine is. Input: options. Output: limits in the engine. Threads: its creator's.
 * Bounds: what does not fit the budget is refused here, before anything is taken. */
#ifndef POWER_ENGINE_LIMITS_H
#define POWER_ENGINE_LIMITS_H

#include "engine/engine.h"

power_status power_limits_check(const struct power_engine_options *options,
                                power_error *error) POWER_MUST_USE;
/* Limits of plan and state, and the bytes of each piece. */
power_status power_limits_plan(struct power_engine *engine, power_error *error) POWER_MUST_USE;
/* After the plan was compiled: cuts tokens to what is left beside `fixed_bytes`, takes both from
 * the budget. */
power_status power_limits_state(struct power_engine *engine, uint64_t fixed_bytes,
                                power_error *error) POWER_MUST_USE;

#endif
