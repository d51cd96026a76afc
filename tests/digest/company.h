/* SPDX-License-Identifier: MIT */
/* Other sequences that arrive, work and leave while a scenario runs.
 * Input: a model and a number. Output: load on its batches. Threads: one for each sequence.
 * Bounds: 16 sequences. */
#ifndef POWER_TESTS_COMPANY_H
#define POWER_TESTS_COMPANY_H

#include "../common/harness.h"

struct company;
struct company *company_start(struct harness *h, const struct harness_options *options,
                              uint32_t count, uint32_t seed);
void company_stop(struct company *company);

#endif
