/* SPDX-License-Identifier: MIT */
/* Who gets rows of the next step: a pure function of what each sequence wants.
 * Input: demands in order of arrival. Output: shares. Threads: any; nothing is kept.
 * Bounds: rows, sequences and output rows of one step, as the plan was compiled for. */
#ifndef POWER_ENGINE_SCHEDULE_H
#define POWER_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct power_demand {
    uint32_t rows;       /* pending; 0: nothing to do */
    uint32_t chunk_rows; /* at most these in one step */
    bool decode;         /* one row whose output is sampled */
    bool last_wanted;    /* the output of the last pending row is wanted */
    /* Rows whose outputs are wanted, ascending, counted from the first pending row + wanted_base.
     */
    const uint32_t *wanted;
    size_t n_wanted;
    uint32_t wanted_base;
};

struct power_schedule_limits {
    uint32_t prefill_rows; /* over all sequences; decode rows come on top, one a sequence */
    uint32_t max_seqs, max_outs;
};

struct power_share {
    uint32_t demand; /* index */
    uint32_t n_rows, n_outs;
};

/* Decode rows first, so that a long prompt never stops an answer; then prefill, oldest first,
 * starting at demand `first` so that none starves. `shares` has room for n_demands; returns how
 * many were made. */
uint32_t power_schedule(const struct power_demand *demands, uint32_t n_demands, uint32_t first,
                        const struct power_schedule_limits *limits, struct power_share *shares);

#endif
