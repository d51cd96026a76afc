/* SPDX-License-Identifier: MIT */
/* Transactions over all pieces of a sequence: all of them move, or none.
 * Input: rows begun and kept. Output: tables, counters and commands.
 * Threads: the scheduler's only. Bounds: reserved at open, so begin finds its blocks. */
#include "engine/state.h"

#include <assert.h>

#include "base/checked.h"

/* Commands that aborts and commits of one step may add without asking. */
static uint32_t headroom(const struct power_state_pool *pool) {
    return (pool->limits.max_sequences + 1) * pool->n_pieces;
}

power_status power_state_room(struct power_state_pool *pool, uint32_t n, power_error *error) {
    uint32_t most = pool->max_commands - headroom(pool);
    if (pool->n_commands <= most && n <= most - pool->n_commands) return POWER_OK;
    if (!pool->flush) return power_fail(error, POWER_STATE, "too many state commands are pending");
    return pool->flush(pool->flush_context, error);
}

void power_state_command(struct power_state_pool *pool, const struct power_state_command *command) {
    assert(pool->n_commands < pool->max_commands);
    pool->commands[pool->n_commands++] = *command;
}

void power_state_bind(struct power_state_pool *pool, struct power_seq_state *seq, uint32_t index) {
    *seq = (struct power_seq_state){0};
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        size_t row = (size_t)index * pool->n_pieces + p;
        seq->pieces[p].table = pool->tables + row * pool->max_table;
        seq->pieces[p].shared = POWER_NO_BLOCK;
        seq->pieces[p].slot = POWER_NO_BLOCK;
    }
}

static bool is_kv(const struct power_state_pool *pool, uint32_t piece) {
    return pool->pieces[piece].kind == POWER_PIECE_KV;
}

static power_status open_pieces(struct power_state_pool *pool, struct power_seq_state *seq,
                                power_error *error) {
    assert(!seq->open);
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    seq->open = true;
    seq->length = seq->floor = seq->begun = 0;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p)) {
            seq->pieces[p].first = seq->pieces[p].end = 0;
        } else if (!power_slot_open(pool, p, seq)) {
            power_state_close(pool, seq);
            return power_fail(error, POWER_OVERLOADED, "all %u state slots are taken",
                              pool->blocks[p].n_blocks);
        }
    }
    return POWER_OK;
}

power_status power_state_open(struct power_state_pool *pool, struct power_seq_state *seq,
                              uint32_t context, power_error *error) {
    if (context > pool->limits.max_tokens - pool->reserved_tokens) {
        return power_fail(
            error, POWER_OVERLOADED, "%u tokens of context wanted, %llu of %llu are taken", context,
            (unsigned long long)pool->reserved_tokens, (unsigned long long)pool->limits.max_tokens);
    }
    power_status status = open_pieces(pool, seq, error);
    if (status != POWER_OK) return status;
    seq->context = seq->reserved = context;
    pool->reserved_tokens += context;
    return POWER_OK;
}

power_status power_state_open_shadow(struct power_state_pool *pool, struct power_seq_state *seq,
                                     power_error *error) {
    power_status status = open_pieces(pool, seq, error);
    if (status != POWER_OK) return status;
    seq->context = pool->limits.max_context;
    seq->reserved = 0;
    return POWER_OK;
}

void power_state_clear(struct power_state_pool *pool, struct power_seq_state *seq) {
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p)) power_kv_trim(pool, p, seq, 0);
    }
    seq->length = seq->floor = 0;
}

void power_state_close(struct power_state_pool *pool, struct power_seq_state *seq) {
    if (!seq->open) return;
    if (seq->begun) power_state_commit(pool, seq, 0);
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        struct power_piece_state *piece = &seq->pieces[p];
        if (is_kv(pool, p)) {
            power_kv_trim(pool, p, seq, 0);
        } else if (piece->slot != POWER_NO_BLOCK) {
            power_blocks_drop(&pool->blocks[p], piece->slot);
            piece->slot = POWER_NO_BLOCK;
        }
    }
    pool->reserved_tokens -= seq->reserved;
    seq->open = false;
    seq->length = seq->floor = seq->context = seq->reserved = 0;
}

power_status power_state_begin(struct power_state_pool *pool, struct power_seq_state *seq,
                               uint32_t n, power_error *error) {
    assert(seq->open && seq->begun == 0 && n > 0 && n <= pool->limits.step_rows);
    if (n > seq->context - seq->length) {
        return power_fail(error, POWER_CONTEXT_FULL,
                          "context full: %u tokens and %u more do not fit in %u", seq->length, n,
                          seq->context);
    }
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (!is_kv(pool, p) || power_kv_begin(pool, p, seq, n)) continue;
        for (uint32_t q = 0; q < p; q++) {
            if (is_kv(pool, q)) power_kv_commit(pool, q, seq, 0);
        }
        return power_fail(error, POWER_OVERLOADED, "no block is free of %u",
                          pool->blocks[p].n_blocks);
    }
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (!is_kv(pool, p)) power_slot_begin(pool, p, seq, n);
    }
    seq->begun = n;
    return POWER_OK;
}

bool power_state_can_commit(const struct power_state_pool *pool, uint32_t n, uint32_t k) {
    uint32_t undo = pool->limits.undo_rows;
    if (k > n) return false;
    return k == 0 || n <= undo + 1 || k >= n - undo;
}

static void drop_windows(struct power_state_pool *pool, struct power_seq_state *seq) {
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p) && pool->pieces[p].window) {
            power_kv_drop_before(pool, p, seq, power_kv_first_needed(&pool->pieces[p], seq->floor));
        }
    }
}

/* What is committed can be taken back by undo_rows; after a part of a long step only as far as the
 * plane that the device set aside. */
static void raise_floor(const struct power_state_pool *pool, struct power_seq_state *seq,
                        uint32_t k) {
    uint32_t undo = pool->limits.undo_rows;
    uint32_t reached = seq->length + (seq->begun > undo ? seq->begun : k);
    if (reached > undo && reached - undo > seq->floor) seq->floor = reached - undo;
}

void power_state_commit(struct power_state_pool *pool, struct power_seq_state *seq, uint32_t k) {
    assert(seq->begun && power_state_can_commit(pool, seq->begun, k));
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p)) {
            power_kv_commit(pool, p, seq, k);
        } else {
            power_slot_commit(pool, p, seq, k);
        }
    }
    if (k) raise_floor(pool, seq, k);
    seq->length += k;
    seq->begun = 0;
    drop_windows(pool, seq);
}

/* What a piece has forgotten: pieces with slots go back to the floor, windows too once they
 * dropped. */
static bool reaches(const struct power_state_pool *pool, const struct power_seq_state *seq,
                    uint32_t length) {
    if (length == 0 || length >= seq->floor) return true;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        const struct power_piece *piece = &pool->pieces[p];
        if (!is_kv(pool, p)) return false;
        if (piece->window && power_kv_first_needed(piece, seq->floor) > 0) return false;
    }
    return true;
}

power_status power_state_truncate(struct power_state_pool *pool, struct power_seq_state *seq,
                                  uint32_t length, power_error *error) {
    assert(seq->open && seq->begun == 0);
    if (length > seq->length) {
        return power_fail(error, POWER_LIMIT, "cannot truncate to %u tokens, the state holds %u",
                          length, seq->length);
    }
    if (!reaches(pool, seq, length)) {
        return power_fail(error, POWER_LIMIT,
                          "cannot truncate to %u tokens, the state reaches back to %u (or 0)",
                          length, seq->floor);
    }
    if (length == seq->length) return POWER_OK;
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p)) {
            power_kv_trim(pool, p, seq, length);
        } else {
            power_slot_truncate(pool, p, seq, length);
        }
    }
    seq->length = length;
    if (length < seq->floor) seq->floor = length;
    return POWER_OK;
}

power_status power_state_share(struct power_state_pool *pool, struct power_seq_state *to,
                               const struct power_seq_state *from, power_error *error) {
    assert(to->open && to->length == 0 && from->open && from->begun == 0);
    if (from->length > to->context) {
        return power_fail(error, POWER_CONTEXT_FULL, "%u tokens do not fit in a context of %u",
                          from->length, to->context);
    }
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        if (is_kv(pool, p)) {
            power_kv_share(pool, p, to, from);
        } else {
            power_slot_share(pool, p, to, from);
        }
    }
    to->length = from->length;
    to->floor = from->floor;
    return POWER_OK;
}

power_status power_state_restore(struct power_state_pool *pool, struct power_seq_state *seq,
                                 const struct power_seq_state *from, power_error *error) {
    assert(seq->open && seq->begun == 0);
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    power_state_clear(pool, seq);
    return power_state_share(pool, seq, from, error);
}
