/* SPDX-License-Identifier: MIT */
/* Which bytes of each piece make up a saved state, and the commands that move them.
 * Input: a sequence's length. Output: sections in piece order, EXPORT and IMPORT commands.
 * Threads: the scheduler's only. Bounds: sections are computed from counts, never from saved bytes.
 */
#include <assert.h>

#include "base/checked.h"
#include "engine/state.h"

/* First position that this piece's section holds. */
static uint32_t section_from(const struct power_piece *piece, uint32_t length) {
    switch (piece->kind) {
    case POWER_PIECE_KV:
        return power_kv_first_needed(piece, length);
    case POWER_PIECE_CONV:
        return length >= piece->kernel ? length - (piece->kernel - 1) : 0;
    case POWER_PIECE_RECURRENT:
        break;
    }
    return length;
}

bool power_state_layout(const struct power_state_pool *pool, uint32_t length,
                        struct power_state_layout *out) {
    struct power_state_layout layout = {0};
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        struct power_state_section *section = &layout.sections[p];
        uint64_t bytes;
        section->from = section_from(&pool->pieces[p], length);
        section->to = length;
        section->offset = layout.total_bytes;
        if (!power_mul_u64(section->to - section->from, pool->bytes[p].export_row_bytes, &bytes)) {
            return false;
        }
        if (!power_add_u64(bytes, pool->bytes[p].export_fixed_bytes, &section->bytes)) return false;
        if (!power_add_u64(layout.total_bytes, section->bytes, &layout.total_bytes)) return false;
    }
    *out = layout;
    return true;
}

/* A command per piece; sections without bytes need none. */
static void section_command(struct power_state_pool *pool, enum power_state_command_kind kind,
                            uint32_t p, const struct power_seq_state *seq,
                            const struct power_state_section *section,
                            struct power_device_buffer *buffer) {
    const struct power_piece_state *state = &seq->pieces[p];
    if (section->bytes == 0) return;
    struct power_state_command command = {.kind = kind,
                                          .piece = p,
                                          .from = section->from,
                                          .to = section->to,
                                          .buffer = buffer,
                                          .offset = section->offset};
    if (pool->pieces[p].kind == POWER_PIECE_KV) {
        command.blocks = state->table + section->from / POWER_KV_BLOCK;
    } else {
        command.a = state->slot;
    }
    power_state_command(pool, &command);
}

power_status power_state_export(struct power_state_pool *pool, const struct power_seq_state *seq,
                                const struct power_state_layout *layout,
                                struct power_device_buffer *buffer, power_error *error) {
    assert(seq->open && seq->begun == 0);
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        section_command(pool, POWER_STATE_EXPORT, p, seq, &layout->sections[p], buffer);
    }
    return POWER_OK;
}

power_status power_state_import(struct power_state_pool *pool, struct power_seq_state *seq,
                                uint32_t length, const struct power_state_layout *layout,
                                struct power_device_buffer *buffer, power_error *error) {
    assert(seq->open && seq->length == 0 && seq->begun == 0);
    if (length > seq->context) {
        return power_fail(error, POWER_CONTEXT_FULL, "%u tokens do not fit in a context of %u",
                          length, seq->context);
    }
    power_status status = power_state_room(pool, pool->n_pieces, error);
    if (status != POWER_OK) return status;
    for (uint32_t p = 0; p < pool->n_pieces; p++) {
        struct power_piece_state *state = &seq->pieces[p];
        if (pool->pieces[p].kind == POWER_PIECE_KV) {
            state->first = state->end = (uint32_t)(layout->sections[p].from / POWER_KV_BLOCK);
            bool taken = power_kv_begin(pool, p, seq, length);
            assert(taken);
            (void)taken;
        } else {
            state->base_pos = length;
        }
        section_command(pool, POWER_STATE_IMPORT, p, seq, &layout->sections[p], buffer);
    }
    seq->length = seq->floor = length;
    return POWER_OK;
}
