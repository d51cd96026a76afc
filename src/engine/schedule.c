/* SPDX-License-Identifier: MIT */
/* Stage "schedule": tickets -> step plan. Input: demands. Output: shares in the order of the
 * demands' arrival within each pass. Threads: any. Bounds: the limits given; no memory, no clock.
 */
#include "engine/schedule.h"

struct budget {
    uint32_t rows, seqs, outs;
};

/* Rows of a prefill share so that its wanted outputs fit in what is left. */
static struct power_share prefill_share(const struct power_demand *demand, uint32_t index,
                                        const struct budget *left) {
    uint32_t rows = demand->rows;
    if (rows > demand->chunk_rows) rows = demand->chunk_rows;
    if (rows > left->rows) rows = left->rows;
    uint32_t outs = 0;
    for (size_t i = 0; i < demand->n_wanted; i++) {
        uint32_t row = demand->wanted[i] - demand->wanted_base;
        if (row >= rows) break;
        if (outs == left->outs) {
            rows = row; /* this row waits for the next step */
            break;
        }
        outs++;
    }
    if (demand->last_wanted && rows == demand->rows) {
        if (outs == left->outs) {
            rows--;
        } else {
            outs++;
        }
    }
    return (struct power_share){index, rows, outs};
}

static uint32_t add_share(struct power_share *shares, uint32_t n, struct power_share share,
                          struct budget *left) {
    left->seqs--;
    left->outs -= share.n_outs;
    shares[n] = share;
    return n + 1;
}

uint32_t power_schedule(const struct power_demand *demands, uint32_t n_demands, uint32_t first,
                        const struct power_schedule_limits *limits, struct power_share *shares) {
    struct budget left = {limits->prefill_rows, limits->max_seqs, limits->max_outs};
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_demands && left.seqs && left.outs; i++) {
        if (!demands[i].decode || demands[i].rows == 0) continue;
        n = add_share(shares, n, (struct power_share){i, 1, 1}, &left);
    }
    for (uint32_t i = 0; i < n_demands && left.seqs && left.rows; i++) {
        uint32_t index = (first + i) % n_demands;
        if (demands[index].decode || demands[index].rows == 0) continue;
        struct power_share share = prefill_share(&demands[index], index, &left);
        if (share.n_rows == 0) continue;
        left.rows -= share.n_rows;
        n = add_share(shares, n, share, &left);
    }
    return n;
}
