/* SPDX-License-Identifier: MIT */
/* The pools behind all sequences' state: what they cost, making them, freeing them.
 * Input: pieces, their bytes on the device, limits. Output: buffers, free lists, tables.
 * Threads: the scheduler's, or the one that creates the engine. Bounds: computed before anything is
 * taken. */
#include "base/checked.h"
#include "engine/state.h"

/* Blocks or slots of a piece: what may be reserved, the shadow's share, and one for each copy on
 * write that can be between begin and commit. */
static bool pool_blocks(const struct power_piece *piece, const struct power_state_limits *limits,
                        uint64_t *out) {
    uint64_t sequences = limits->max_sequences;
    if (piece->kind != POWER_PIECE_KV) {
        *out = sequences + 1;
        return true;
    }
    if (piece->window) {
        uint64_t each = power_state_blocks(piece, limits->max_context, limits);
        *out = (sequences + 1) * each + sequences + 2;
        return *out < UINT32_MAX;
    }
    uint64_t tokens;
    if (!power_add_u64(limits->max_tokens, POWER_KV_BLOCK - 1, &tokens)) return false;
    *out = tokens / POWER_KV_BLOCK + 2 * sequences + 2;
    return *out < UINT32_MAX;
}

static uint64_t unit_bytes(const struct power_piece *piece, const struct power_piece_bytes *bytes) {
    return piece->kind == POWER_PIECE_KV ? bytes->block_bytes : bytes->slot_bytes;
}

uint64_t power_state_price(const struct power_piece *pieces, uint32_t n_pieces,
                           const struct power_piece_bytes *bytes, uint32_t context,
                           const struct power_state_limits *limits) {
    uint64_t total = 0;
    for (uint32_t p = 0; p < n_pieces; p++) {
        uint64_t units = 1, part;
        if (pieces[p].kind == POWER_PIECE_KV) {
            units = power_state_blocks(&pieces[p], context, limits);
        }
        if (!power_mul_u64(units, unit_bytes(&pieces[p], &bytes[p]), &part)) return UINT64_MAX;
        if (!power_add_u64(total, part, &total)) return UINT64_MAX;
    }
    return total;
}

uint64_t power_state_pool_bytes(const struct power_piece *pieces, uint32_t n_pieces,
                                const struct power_piece_bytes *bytes,
                                const struct power_state_limits *limits) {
    uint64_t total = 0;
    for (uint32_t p = 0; p < n_pieces; p++) {
        uint64_t units, part;
        if (!pool_blocks(&pieces[p], limits, &units)) return UINT64_MAX;
        if (!power_mul_u64(units, unit_bytes(&pieces[p], &bytes[p]), &part)) return UINT64_MAX;
        if (!power_add_u64(total, part, &total)) return UINT64_MAX;
    }
    return total;
}

static power_status make_piece(struct power_state_pool *pool, uint32_t p, power_error *error) {
    const struct power_piece *piece = &pool->pieces[p];
    uint64_t units, bytes;
    if (!pool_blocks(piece, &pool->limits, &units) ||
        !power_mul_u64(units, unit_bytes(piece, &pool->bytes[p]), &bytes)) {
        return power_fail(error, POWER_LIMIT, "state piece %u is larger than can be counted", p);
    }
    power_status status =
        power_blocks_init(&pool->blocks[p], pool->allocator, (uint32_t)units, error);
    if (status != POWER_OK) return status;
    const struct power_device_ops *ops = power_device_base(pool->device)->ops;
    return ops->buffer_create(pool->device, bytes, &pool->buffers[p], error);
}

static size_t table_words(const struct power_state_pool *pool) {
    return ((size_t)pool->limits.max_sequences + 1) * pool->n_pieces * pool->max_table;
}

power_status power_state_pool_init(struct power_state_pool *pool, const power_allocator *allocator,
                                   struct power_device *device, const struct power_piece *pieces,
                                   uint32_t n_pieces, const struct power_piece_bytes *bytes,
                                   const struct power_state_limits *limits, power_error *error) {
    *pool = (struct power_state_pool){.allocator = allocator,
                                      .device = device,
                                      .pieces = pieces,
                                      .n_pieces = n_pieces,
                                      .limits = *limits};
    pool->max_table = limits->max_context / POWER_KV_BLOCK + 2;
    for (uint32_t p = 0; p < n_pieces; p++) {
        pool->bytes[p] = bytes[p];
        if (pieces[p].kind != POWER_PIECE_KV) pool->recurs = pool->forgets = true;
        if (pieces[p].kind == POWER_PIECE_KV && pieces[p].window) pool->forgets = true;
    }
    pool->tables = power_alloc(allocator, table_words(pool), sizeof *pool->tables);
    uint32_t max_commands = 4 * (limits->max_sequences + 1) * n_pieces + 8;
    pool->commands = power_alloc(allocator, max_commands, sizeof *pool->commands);
    pool->max_commands = max_commands;
    if (!pool->tables || !pool->commands) {
        return power_fail_memory(error, table_words(pool) * sizeof *pool->tables, "block tables");
    }
    for (uint32_t p = 0; p < n_pieces; p++) {
        power_status status = make_piece(pool, p, error);
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}

void power_state_pool_finish(struct power_state_pool *pool) {
    if (!pool->allocator) return;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        power_blocks_finish(&pool->blocks[p], pool->allocator);
        if (pool->buffers[p]) {
            power_device_base(pool->device)->ops->buffer_destroy(pool->device, pool->buffers[p]);
        }
    }
    power_release(pool->allocator, pool->tables, table_words(pool), sizeof *pool->tables);
    power_release(pool->allocator, pool->commands, pool->max_commands, sizeof *pool->commands);
    *pool = (struct power_state_pool){0};
}
