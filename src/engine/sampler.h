/* SPDX-License-Identifier: MIT */
/* One row of logits to one token, by the arithmetic profile's section "Sampling".
 * Input: logits, settings, the ids so far. Output: an id and, when asked, its raw log probability.
 * Owner: an engine. Threads: the scheduler's only. Bounds: all scratch is taken at init from
 * n_vocab. */
#ifndef POWER_ENGINE_SAMPLER_H
#define POWER_ENGINE_SAMPLER_H

#include "device/cpu/kernels.h"
#include "power/session.h"

struct power_candidate {
    float x, p;
    uint32_t id;
};

struct power_sampler {
    const power_allocator *allocator;
    struct power_cpu_kernels *kernels;
    uint32_t n_vocab;
    float *x;                           /* [n_vocab] */
    uint32_t *counts;                   /* [n_vocab], all 0 between calls */
    struct power_candidate *candidates; /* [n_vocab] */
};

struct power_draw {
    const float *logits; /* [n_vocab] */
    const power_sampling *sampling;
    const uint32_t *history; /* ids of prompt and output, the last n_output are output */
    uint32_t n_history, n_output;
    uint32_t position; /* 0: the first token after the prompt */
    /* A constraint's: bit id % 64 of word id / 64 is an id that may come, at least one is set; ids
     * from n_mask on may not. NULL: all may. `only`: the one that may, or UINT32_MAX. */
    const uint64_t *mask;
    uint32_t n_mask, only;
    bool want_logprob;
    uint32_t n_top;         /* at most n_vocab */
    power_top_logprob *top; /* [n_top], written with the raw best, best first */
};

/* `features`: what the vector kernels may use; the bits do not depend on it. */
power_status power_sampler_init(struct power_sampler *sampler, const power_allocator *allocator,
                                uint32_t n_vocab, uint32_t features,
                                power_error *error) POWER_MUST_USE;
/* Accepts a zeroed or half-built sampler. */
void power_sampler_finish(struct power_sampler *sampler);

/* POWER_INVALID naming the field that is out of its range. */
power_status power_sampling_check(const power_sampling *sampling, uint32_t n_vocab,
                                  power_error *error) POWER_MUST_USE;

/* *out_logprob is 0 when it was not asked for. POWER_NOT_FINITE for logits that are not finite. */
power_status power_sampler_draw(struct power_sampler *sampler, const struct power_draw *draw,
                                uint32_t *out_id, float *out_logprob,
                                power_error *error) POWER_MUST_USE;

#endif
