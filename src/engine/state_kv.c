/* SPDX-License-Identifier: MIT */
/* Paged KV, with and without a window: blocks of 64 tokens, counted holders, copy on write.
 * Input: rows begun, kept, dropped. Output: the piece's block table and COPY_BLOCK commands.
 * Threads: the scheduler's only. Bounds: blocks of one pool, all allocated with it. */
#include <assert.h>

#include "engine/state.h"

power_status power_blocks_init(struct power_block_pool *blocks, const power_allocator *allocator,
                               uint32_t n_blocks, power_error *error) {
    blocks->free = power_alloc(allocator, n_blocks, sizeof *blocks->free);
    blocks->holders = power_alloc(allocator, n_blocks, sizeof *blocks->holders);
    blocks->n_blocks = n_blocks;
    if (!blocks->free || !blocks->holders) {
        return power_fail_memory(error, (size_t)n_blocks * 8, "the block allocator");
    }
    /* The lowest index is taken first, so that little of a lazily committed pool is touched. */
    for (uint32_t i = 0; i < n_blocks; i++)
        blocks->free[i] = n_blocks - 1 - i;
    blocks->n_free = n_blocks;
    return POWER_OK;
}

void power_blocks_finish(struct power_block_pool *blocks, const power_allocator *allocator) {
    power_release(allocator, blocks->free, blocks->n_blocks, sizeof *blocks->free);
    power_release(allocator, blocks->holders, blocks->n_blocks, sizeof *blocks->holders);
    *blocks = (struct power_block_pool){0};
}

uint32_t power_blocks_take(struct power_block_pool *blocks) {
    if (blocks->n_free == 0) return POWER_NO_BLOCK;
    uint32_t block = blocks->free[--blocks->n_free];
    assert(blocks->holders[block] == 0);
    blocks->holders[block] = 1;
    return block;
}

void power_blocks_hold(struct power_block_pool *blocks, uint32_t block) {
    assert(blocks->holders[block] > 0);
    blocks->holders[block]++;
}

void power_blocks_drop(struct power_block_pool *blocks, uint32_t block) {
    assert(block < blocks->n_blocks && blocks->holders[block] > 0);
    if (--blocks->holders[block] == 0) blocks->free[blocks->n_free++] = block;
}

static uint32_t blocks_of(uint32_t tokens) {
    return tokens / POWER_KV_BLOCK + (tokens % POWER_KV_BLOCK != 0);
}

/* The last block is written by this step: a copy of it when somebody else holds it too. The old
 * one stays held until commit, so that an abort can put it back. */
static bool copy_on_write(struct power_state_pool *pool, uint32_t piece,
                          struct power_seq_state *seq) {
    struct power_piece_state *state = &seq->pieces[piece];
    struct power_block_pool *blocks = &pool->blocks[piece];
    if (seq->length % POWER_KV_BLOCK == 0) return true;
    uint32_t *last = &state->table[seq->length / POWER_KV_BLOCK];
    if (blocks->holders[*last] == 1) return true;
    uint32_t copy = power_blocks_take(blocks);
    if (copy == POWER_NO_BLOCK) return false;
    power_state_command(pool,
                        &(struct power_state_command){
                            .kind = POWER_STATE_COPY_BLOCK, .piece = piece, .a = *last, .b = copy});
    state->shared = *last;
    *last = copy;
    return true;
}

static void give_back(struct power_state_pool *pool, uint32_t piece,
                      struct power_piece_state *state, uint32_t end) {
    while (state->end > end && state->end > state->first) {
        power_blocks_drop(&pool->blocks[piece], state->table[--state->end]);
    }
}

static void undo_copy(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq) {
    struct power_piece_state *state = &seq->pieces[piece];
    if (state->shared == POWER_NO_BLOCK) return;
    uint32_t *last = &state->table[seq->length / POWER_KV_BLOCK];
    power_blocks_drop(&pool->blocks[piece], *last);
    *last = state->shared;
    state->shared = POWER_NO_BLOCK;
}

bool power_kv_begin(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                    uint32_t n) {
    struct power_piece_state *state = &seq->pieces[piece];
    state->begun_end = state->end;
    state->shared = POWER_NO_BLOCK;
    if (!copy_on_write(pool, piece, seq)) return false;
    uint32_t end = blocks_of(seq->length + n);
    assert(end <= pool->max_table);
    while (state->end < end) {
        uint32_t block = power_blocks_take(&pool->blocks[piece]);
        if (block == POWER_NO_BLOCK) {
            give_back(pool, piece, state, state->begun_end);
            undo_copy(pool, piece, seq);
            return false;
        }
        state->table[state->end++] = block;
    }
    return true;
}

void power_kv_commit(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                     uint32_t k) {
    struct power_piece_state *state = &seq->pieces[piece];
    if (k == 0) {
        give_back(pool, piece, state, state->begun_end);
        undo_copy(pool, piece, seq);
        return;
    }
    if (state->shared != POWER_NO_BLOCK) {
        power_blocks_drop(&pool->blocks[piece], state->shared);
        state->shared = POWER_NO_BLOCK;
    }
    give_back(pool, piece, state, blocks_of(seq->length + k));
}

void power_kv_trim(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                   uint32_t length) {
    struct power_piece_state *state = &seq->pieces[piece];
    give_back(pool, piece, state, blocks_of(length));
    if (length == 0) state->first = state->end = 0;
}

void power_kv_drop_before(struct power_state_pool *pool, uint32_t piece,
                          struct power_seq_state *seq, uint32_t position) {
    struct power_piece_state *state = &seq->pieces[piece];
    uint32_t first = position / POWER_KV_BLOCK;
    while (state->first < first && state->first < state->end) {
        power_blocks_drop(&pool->blocks[piece], state->table[state->first]);
        state->table[state->first++] = 0; /* never read: a masked key does not exist */
    }
}

void power_kv_share(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *to,
                    const struct power_seq_state *from) {
    const struct power_piece_state *source = &from->pieces[piece];
    struct power_piece_state *state = &to->pieces[piece];
    for (uint32_t i = 0; i < source->first; i++)
        state->table[i] = 0;
    for (uint32_t i = source->first; i < source->end; i++) {
        power_blocks_hold(&pool->blocks[piece], source->table[i]);
        state->table[i] = source->table[i];
    }
    state->first = source->first;
    state->end = source->end;
    state->shared = POWER_NO_BLOCK;
}

uint32_t power_kv_first_needed(const struct power_piece *piece, uint32_t floor) {
    if (piece->window == 0) return 0;
    uint32_t behind = piece->window - 1;
    return floor > behind ? floor - behind : 0;
}

uint32_t power_state_blocks(const struct power_piece *piece, uint32_t context,
                            const struct power_state_limits *limits) {
    uint32_t all = blocks_of(context);
    if (piece->window == 0) return all;
    uint64_t span = (uint64_t)piece->window - 1 + limits->undo_rows + limits->step_rows;
    uint64_t blocks = span ? (span - 1 + POWER_KV_BLOCK - 1) / POWER_KV_BLOCK + 1 : 1;
    return blocks < all ? (uint32_t)blocks : all;
}
