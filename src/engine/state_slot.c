/* SPDX-License-Identifier: MIT */
/* Recurrent planes and convolution history: one slot a sequence, rolled back by replay.
 * Input: rows begun, kept, taken back. Output: slot numbers and ZERO, COPY, REPLAY commands.
 * Threads: the scheduler's only. Bounds: the log reaches from `base` to the committed length and
 * the rows of one step; base moves up before it would hold more than twice undo_rows. */
#include <assert.h>

#include "engine/state.h"

static bool is_recurrent(const struct power_state_pool *pool, uint32_t piece) {
    return pool->pieces[piece].kind == POWER_PIECE_RECURRENT;
}

static void slot_command(struct power_state_pool *pool, enum power_state_command_kind kind,
                         uint32_t piece, uint32_t slot, uint64_t from, uint64_t to) {
    power_state_command(pool, &(struct power_state_command){
                                  .kind = kind, .piece = piece, .a = slot, .from = from, .to = to});
}

bool power_slot_open(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq) {
    struct power_piece_state *state = &seq->pieces[piece];
    state->slot = power_blocks_take(&pool->blocks[piece]);
    if (state->slot == POWER_NO_BLOCK) return false;
    state->base_pos = 0;
    slot_command(pool, POWER_STATE_ZERO_SLOT, piece, state->slot, 0, 0);
    return true;
}

void power_slot_begin(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                      uint32_t n) {
    struct power_piece_state *state = &seq->pieces[piece];
    uint32_t undo = pool->limits.undo_rows;
    if (!is_recurrent(pool, piece) || n > undo) return;
    if (seq->length + n - state->base_pos <= 2ull * undo) return;
    if (seq->floor <= state->base_pos) return;
    slot_command(pool, POWER_STATE_REPLAY_BASE, piece, state->slot, state->base_pos, seq->floor);
    state->base_pos = seq->floor;
}

void power_slot_commit(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                       uint32_t k) {
    struct power_piece_state *state = &seq->pieces[piece];
    uint32_t n = seq->begun, undo = pool->limits.undo_rows;
    if (!is_recurrent(pool, piece)) return; /* history is found by position */
    if (k && n > undo) {
        state->base_pos = (uint64_t)seq->length + n - undo;
        slot_command(pool, POWER_STATE_SPARE_TO_BASE, piece, state->slot, state->base_pos,
                     state->base_pos);
    }
    if (k < n) {
        slot_command(pool, POWER_STATE_REPLAY_HEAD, piece, state->slot, state->base_pos,
                     (uint64_t)seq->length + k);
    }
}

void power_slot_truncate(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                         uint32_t length) {
    struct power_piece_state *state = &seq->pieces[piece];
    if (length == 0) {
        state->base_pos = 0;
        slot_command(pool, POWER_STATE_ZERO_SLOT, piece, state->slot, 0, 0);
    } else if (is_recurrent(pool, piece)) {
        assert(length >= state->base_pos);
        slot_command(pool, POWER_STATE_REPLAY_HEAD, piece, state->slot, state->base_pos, length);
    }
}

void power_slot_share(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *to,
                      const struct power_seq_state *from) {
    power_state_command(pool, &(struct power_state_command){.kind = POWER_STATE_COPY_SLOT,
                                                            .piece = piece,
                                                            .a = from->pieces[piece].slot,
                                                            .b = to->pieces[piece].slot});
    to->pieces[piece].base_pos = from->pieces[piece].base_pos;
}
