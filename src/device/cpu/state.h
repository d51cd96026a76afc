/* SPDX-License-Identifier: MIT */
/* Layout of the slots of recurrent and convolution state, and the commands on state.
 * Input: pieces and limits. Output: offsets; bytes moved. Threads: the queue's.
 * Bounds: checked against the pools.
 *
 * RECURRENT, each layer of a slot: a header, planes head, base and spare [n_heads][d_k][d_v], the
 * log, the spare log. A log row is k [n_k_heads * d_k], v [n_heads * d_v], g [n_heads], beta
 * [n_heads]. The log is a ring: the row of position p is at p mod capacity. A step of n <=
 * undo_rows rows appends to it, so the log before a step holds at most capacity - undo_rows = 2 *
 * undo_rows rows. A longer step must leave the ring alone (the step may be rolled back): its last
 * undo_rows rows go to the spare log and the plane before them to `spare`; SPARE_TO_BASE moves both
 * into place.
 *
 * CONV, each layer of a slot: a ring of input rows, position p at p mod capacity, capacity =
 * kernel - 1 + undo_rows + step_rows. Rows at negative positions are zero and not stored. */
#ifndef POWER_DEVICE_CPU_STATE_H
#define POWER_DEVICE_CPU_STATE_H

#include "device/cpu/cpu.h"

struct power_slot_header {
    uint64_t spare_from; /* position of the first row of the spare log */
    uint64_t spare_rows;
};

struct power_slot_layout {
    struct power_piece piece;
    uint32_t undo_rows;
    size_t plane_bytes;                       /* of one plane, not rounded */
    size_t head, base, spare, log, spare_log; /* offsets in a layer's part; the header is at 0 */
    size_t log_floats;                        /* RECURRENT: floats of a log row; CONV: channels */
    uint64_t capacity;                        /* rows of the ring */
    size_t layer_bytes, slot_bytes;
};

/* False on overflow. */
bool power_slot_layout_init(struct power_slot_layout *out, const struct power_piece *piece,
                            uint32_t undo_rows, uint32_t step_rows);

/* One piece's pool as a run sees it. */
struct power_pool_view {
    const struct power_piece *piece;
    struct power_kv_layout kv;     /* KV */
    struct power_slot_layout slot; /* RECURRENT, CONV */
    uint32_t key_head_rule;        /* RECURRENT: i0 of DELTA_RULE */
    unsigned char *pool;
    uint64_t n_units; /* blocks or slots in the pool */
};

static inline unsigned char *power_slot_layer(const struct power_pool_view *view, uint32_t slot,
                                              uint32_t layer) {
    return view->pool + slot * view->slot.slot_bytes + layer * view->slot.layer_bytes;
}
static inline float *power_plane(unsigned char *layer, size_t offset) {
    return (float *)(void *)(layer + offset);
}
/* Key head that value head h reads. */
static inline uint32_t power_key_head(const struct power_piece *p, uint32_t rule, uint32_t h) {
    return rule == 1 ? h % p->n_k_heads : h / (p->n_heads / p->n_k_heads);
}

/* Checks every command, then runs them in order. `views` is [n_pieces]. */
power_status power_state_commands_check(const struct power_pool_view *views, uint32_t n_pieces,
                                        const struct power_step *step, power_error *error);
void power_state_commands_run(const struct power_cpu_kernels *kernels,
                              const struct power_pool_view *views, const struct power_step *step);

/* Canonical bytes of one KV position, all layers. */
size_t power_kv_export_row_bytes(const struct power_kv_layout *kv);

#endif
