/* SPDX-License-Identifier: MIT */
/* Commands on state: copies, replays, and the canonical form for save and load.
 * Input: commands from the host, pools. Output: pools changed, canonical bytes.
 * Threads: the queue's. Bounds: every slot, block and range is checked before the first command
 * runs.
 *
 * Canonical bytes, whatever the instruction set. KV: for each position, layer and kv head: k, then
 * v, as stored; Q8_0: codes, then the halves of the scales. CONV: for each position and layer: the
 * input row, f32. RECURRENT: for each layer: plane head [n_heads][d_k][d_v], f32. */
#include "device/cpu/state.h"

#include <string.h>

#include "base/checked.h"

#define BLOCK_TOKENS 64u

/* Reserves `bytes` at *at, rounded to 64. */
static bool place(size_t *at, size_t bytes, size_t *out_offset) {
    size_t rounded;
    *out_offset = *at;
    return power_align_size(bytes, 64, &rounded) && power_add_size(*at, rounded, at);
}

static bool place_rows(size_t *at, uint64_t rows, size_t floats, size_t *out_offset) {
    size_t bytes;
    return power_mul_size(floats, sizeof(float), &bytes) &&
           power_mul_size(bytes, (size_t)rows, &bytes) && place(at, bytes, out_offset);
}

bool power_slot_layout_init(struct power_slot_layout *out, const struct power_piece *p,
                            uint32_t undo_rows, uint32_t step_rows) {
    struct power_slot_layout l = {.piece = *p, .undo_rows = undo_rows};
    size_t at = 0, header;
    if (p->kind == POWER_PIECE_CONV) {
        l.capacity = (uint64_t)p->kernel - 1 + undo_rows + step_rows;
        if (l.capacity == 0) l.capacity = 1;
        l.log_floats = p->channels;
        if (!place_rows(&at, l.capacity, l.log_floats, &l.log)) return false;
    } else {
        uint64_t k = (uint64_t)p->n_k_heads * p->d_k, v = (uint64_t)p->n_heads * p->d_v;
        uint64_t plane;
        if (!power_mul_u64(v, p->d_k, &plane) || plane > SIZE_MAX / 64) return false;
        l.plane_bytes = (size_t)plane * sizeof(float);
        l.log_floats = (size_t)(k + v + 2u * (uint64_t)p->n_heads);
        l.capacity = 3ull * undo_rows;
        bool ok = place(&at, sizeof(struct power_slot_header), &header) &&
                  place(&at, l.plane_bytes, &l.head) && place(&at, l.plane_bytes, &l.base) &&
                  place(&at, l.plane_bytes, &l.spare) &&
                  place_rows(&at, l.capacity, l.log_floats, &l.log) &&
                  place_rows(&at, undo_rows, l.log_floats, &l.spare_log);
        if (!ok) return false;
    }
    l.layer_bytes = at;
    if (!power_mul_size(at, p->n_layers, &l.slot_bytes)) return false;
    *out = l;
    return true;
}

size_t power_kv_export_row_bytes(const struct power_kv_layout *kv) {
    size_t elements = (size_t)kv->k_dim + kv->v_dim;
    struct power_dtype_info info = power_dtype_info((uint32_t)kv->dtype);
    return elements / info.block_elements * info.block_bytes * kv->n_kv_heads * kv->n_layers;
}

power_status power_cpu_piece_bytes(struct power_device *device, const struct power_piece *piece,
                                   const struct power_plan_limits *limits,
                                   struct power_piece_bytes *out, power_error *error) {
    (void)device;
    struct power_piece_bytes bytes = {0};
    if (piece->kind == POWER_PIECE_KV) {
        struct power_kv_layout kv;
        if (!power_kv_layout_init(&kv, piece))
            return power_fail(error, POWER_LIMIT, "kv piece: layout is too large or not supported");
        bytes.block_bytes = kv.block_bytes;
        bytes.export_row_bytes = power_kv_export_row_bytes(&kv);
        *out = bytes;
        return POWER_OK;
    }
    struct power_slot_layout slot;
    uint32_t step_rows = limits->step_rows ? limits->step_rows : limits->max_rows;
    if (!power_slot_layout_init(&slot, piece, limits->undo_rows, step_rows))
        return power_fail(error, POWER_LIMIT, "state piece: layout is too large");
    bytes.slot_bytes = slot.slot_bytes;
    if (piece->kind == POWER_PIECE_CONV)
        bytes.export_row_bytes = (uint64_t)piece->channels * sizeof(float) * piece->n_layers;
    else
        bytes.export_fixed_bytes = (uint64_t)slot.plane_bytes * piece->n_layers;
    *out = bytes;
    return POWER_OK;
}

/* ---- checks ---- */

static uint64_t canonical_bytes(const struct power_pool_view *view,
                                const struct power_state_command *c) {
    uint64_t rows = c->to - c->from;
    if (view->piece->kind == POWER_PIECE_KV) return rows * power_kv_export_row_bytes(&view->kv);
    if (view->piece->kind == POWER_PIECE_CONV)
        return rows * view->piece->channels * sizeof(float) * view->piece->n_layers;
    return (uint64_t)view->slot.plane_bytes * view->piece->n_layers;
}

static const char *transfer_fault(const struct power_pool_view *view,
                                  const struct power_state_command *c) {
    if (c->to < c->from || c->to - c->from > UINT32_MAX) return "positions are not in order";
    if (view->piece->kind == POWER_PIECE_KV) {
        if (c->to > c->from && !c->blocks) return "no blocks are given";
        for (uint64_t i = 0; c->to > c->from && i <= (c->to - 1) / 64 - c->from / 64; i++)
            if (c->blocks[i] >= view->n_units) return "a block is outside the pool";
    } else {
        if (c->a >= view->n_units) return "the slot is outside the pool";
        if (view->piece->kind == POWER_PIECE_CONV && c->to - c->from > view->slot.capacity)
            return "more rows than the history keeps";
    }
    if (!power_buffer_holds(c->buffer, c->offset, canonical_bytes(view, c)))
        return "the buffer is too small";
    if (c->kind == POWER_STATE_IMPORT || !c->buffer->borrowed) return NULL;
    return "the buffer wraps read-only host memory";
}

static const char *command_fault(const struct power_pool_view *view,
                                 const struct power_state_command *c) {
    bool recurrent = view->piece->kind == POWER_PIECE_RECURRENT;
    switch (c->kind) {
    case POWER_STATE_COPY_BLOCK:
        if (view->piece->kind != POWER_PIECE_KV) return "not a kv piece";
        return c->a < view->n_units && c->b < view->n_units ? NULL : "a block is outside the pool";
    case POWER_STATE_ZERO_SLOT:
        if (view->piece->kind == POWER_PIECE_KV) return "a kv piece has no slots";
        return c->a < view->n_units ? NULL : "the slot is outside the pool";
    case POWER_STATE_COPY_SLOT:
        if (view->piece->kind == POWER_PIECE_KV) return "a kv piece has no slots";
        return c->a < view->n_units && c->b < view->n_units ? NULL : "a slot is outside the pool";
    case POWER_STATE_REPLAY_HEAD:
    case POWER_STATE_REPLAY_BASE:
        if (!recurrent) return "not a recurrent piece";
        if (c->a >= view->n_units) return "the slot is outside the pool";
        if (c->to < c->from || c->to - c->from > view->slot.capacity)
            return "more rows than the log holds";
        return NULL;
    case POWER_STATE_SPARE_TO_BASE:
        if (!recurrent) return "not a recurrent piece";
        return c->a < view->n_units ? NULL : "the slot is outside the pool";
    case POWER_STATE_EXPORT:
    case POWER_STATE_IMPORT:
        return transfer_fault(view, c);
    }
    return "unknown kind";
}

power_status power_state_commands_check(const struct power_pool_view *views, uint32_t n_pieces,
                                        const struct power_step *step, power_error *error) {
    for (uint32_t i = 0; i < step->n_commands; i++) {
        const struct power_state_command *c = &step->commands[i];
        const char *fault = "no such piece";
        if (c->piece < n_pieces) fault = command_fault(&views[c->piece], c);
        if (fault)
            return power_fail(error, POWER_INVALID, "state command %u (kind %d, piece %u): %s", i,
                              (int)c->kind, c->piece, fault);
    }
    return POWER_OK;
}

/* ---- recurrent ---- */

/* Applies one log row to every head of `plane`. */
static void apply_row(const struct power_cpu_kernels *kernels, const struct power_pool_view *view,
                      float *plane, const float *row) {
    const struct power_piece *p = view->piece;
    const float *v = row + (size_t)p->n_k_heads * p->d_k;
    const float *g = v + (size_t)p->n_heads * p->d_v, *beta = g + p->n_heads;
    for (uint32_t h = 0; h < p->n_heads; h++) {
        const float *k = row + (size_t)power_key_head(p, view->key_head_rule, h) * p->d_k;
        kernels->delta(plane + (size_t)h * p->d_k * p->d_v, p->d_k, p->d_v, k, k,
                       v + (size_t)h * p->d_v, g[h], beta[h], NULL);
    }
}

static void replay(const struct power_cpu_kernels *kernels, const struct power_pool_view *view,
                   const struct power_state_command *c) {
    const struct power_slot_layout *l = &view->slot;
    for (uint32_t layer = 0; layer < view->piece->n_layers; layer++) {
        unsigned char *at = power_slot_layer(view, c->a, layer);
        bool head = c->kind == POWER_STATE_REPLAY_HEAD;
        if (head) memcpy(at + l->head, at + l->base, l->plane_bytes);
        float *plane = power_plane(at, head ? l->head : l->base);
        const float *log = power_plane(at, l->log);
        for (uint64_t p = c->from; p < c->to; p++)
            apply_row(kernels, view, plane, log + p % l->capacity * l->log_floats);
    }
}

static void spare_to_base(const struct power_pool_view *view, uint32_t slot) {
    const struct power_slot_layout *l = &view->slot;
    for (uint32_t layer = 0; layer < view->piece->n_layers; layer++) {
        unsigned char *at = power_slot_layer(view, slot, layer);
        struct power_slot_header header;
        memcpy(&header, at, sizeof header);
        memcpy(at + l->base, at + l->spare, l->plane_bytes);
        const float *from = power_plane(at, l->spare_log);
        float *log = power_plane(at, l->log);
        for (uint64_t i = 0; i < header.spare_rows && i < l->undo_rows; i++)
            memcpy(log + (header.spare_from + i) % l->capacity * l->log_floats,
                   from + i * l->log_floats, l->log_floats * sizeof(float));
    }
}

static void zero_slot(const struct power_pool_view *view, uint32_t slot) {
    if (view->piece->kind != POWER_PIECE_RECURRENT) return;
    for (uint32_t layer = 0; layer < view->piece->n_layers; layer++) {
        unsigned char *at = power_slot_layer(view, slot, layer);
        memset(at + view->slot.head, 0, view->slot.plane_bytes);
        memset(at + view->slot.base, 0, view->slot.plane_bytes);
    }
}

/* ---- export and import ---- */

/* Moves `bytes` between canonical and stored form and steps over them. */
static void move(bool export, unsigned char **canonical, unsigned char *stored, size_t bytes) {
    memcpy(export ? *canonical : stored, export ? stored : *canonical, bytes);
    *canonical += bytes;
}

/* One row of a kv head: element i of the row is at `part` + (i / run * 64 + token) * run elements.
 */
static void move_channels(bool export, unsigned char **canonical, unsigned char *part, size_t n,
                          size_t run, size_t bytes, uint32_t token) {
    for (size_t i = 0; i < n; i += run)
        move(export, canonical, part + (i / run * BLOCK_TOKENS + token) * run * bytes, run * bytes);
}

static void move_kv_head(bool export, const struct power_kv_layout *kv, unsigned char **canonical,
                         unsigned char *layer, uint32_t head, uint32_t token) {
    size_t k = (size_t)head * BLOCK_TOKENS * kv->k_dim;
    size_t v = ((size_t)head * BLOCK_TOKENS + token) * kv->v_dim;
    if (kv->dtype != POWER_DTYPE_Q8_0) {
        size_t bytes = kv->dtype == POWER_DTYPE_F32 ? 4 : 2;
        move_channels(export, canonical, layer + kv->k_offset + k * bytes, kv->k_dim, 1, bytes,
                      token);
        move(export, canonical, layer + kv->v_offset + v * bytes, kv->v_dim * bytes);
        return;
    }
    move_channels(export, canonical, layer + kv->k_offset + k, kv->k_dim, 4, 1, token);
    move_channels(export, canonical, layer + kv->k_scale_offset + k / 32 * 2, kv->k_dim / 32, 1, 2,
                  token);
    move(export, canonical, layer + kv->v_offset + v, kv->v_dim);
    move(export, canonical, layer + kv->v_scale_offset + v / 32 * 2, (size_t)kv->v_dim / 32 * 2);
}

static void transfer_kv(const struct power_pool_view *view, const struct power_state_command *c,
                        bool export) {
    unsigned char *canonical = c->buffer->host + c->offset;
    for (uint64_t p = c->from; p < c->to; p++) {
        uint32_t block = c->blocks[p / BLOCK_TOKENS - c->from / BLOCK_TOKENS];
        unsigned char *layer = view->pool + block * view->kv.block_bytes;
        for (uint32_t l = 0; l < view->kv.n_layers; l++, layer += view->kv.layer_bytes)
            for (uint32_t h = 0; h < view->kv.n_kv_heads; h++)
                move_kv_head(export, &view->kv, &canonical, layer, h, p % BLOCK_TOKENS);
    }
}

static void transfer_slot(const struct power_pool_view *view, const struct power_state_command *c,
                          bool export) {
    const struct power_slot_layout *l = &view->slot;
    unsigned char *canonical = c->buffer->host + c->offset;
    bool conv = view->piece->kind == POWER_PIECE_CONV;
    for (uint64_t p = c->from; conv && p < c->to; p++) {
        for (uint32_t layer = 0; layer < view->piece->n_layers; layer++) {
            unsigned char *at = power_slot_layer(view, c->a, layer);
            size_t bytes = l->log_floats * sizeof(float);
            move(export, &canonical, at + l->log + p % l->capacity * bytes, bytes);
        }
    }
    for (uint32_t layer = 0; !conv && layer < view->piece->n_layers; layer++) {
        unsigned char *at = power_slot_layer(view, c->a, layer);
        move(export, &canonical, at + l->head, l->plane_bytes);
        /* What was loaded is both the state now and the state that a rollback starts from. */
        if (!export) memcpy(at + l->base, at + l->head, l->plane_bytes);
    }
}

static void transfer(const struct power_pool_view *view, const struct power_state_command *c) {
    bool export = c->kind == POWER_STATE_EXPORT;
    if (view->piece->kind == POWER_PIECE_KV)
        transfer_kv(view, c, export);
    else
        transfer_slot(view, c, export);
}

static void copy_unit(const struct power_pool_view *view, uint32_t a, uint32_t b) {
    bool kv = view->piece->kind == POWER_PIECE_KV;
    size_t bytes = kv ? view->kv.block_bytes : view->slot.slot_bytes;
    if (a != b) memcpy(view->pool + b * bytes, view->pool + a * bytes, bytes);
}

void power_state_commands_run(const struct power_cpu_kernels *kernels,
                              const struct power_pool_view *views, const struct power_step *step) {
    for (uint32_t i = 0; i < step->n_commands; i++) {
        const struct power_state_command *c = &step->commands[i];
        const struct power_pool_view *view = &views[c->piece];
        switch (c->kind) {
        case POWER_STATE_COPY_BLOCK:
        case POWER_STATE_COPY_SLOT:
            copy_unit(view, c->a, c->b);
            break;
        case POWER_STATE_ZERO_SLOT:
            zero_slot(view, c->a);
            break;
        case POWER_STATE_REPLAY_HEAD:
        case POWER_STATE_REPLAY_BASE:
            replay(kernels, view, c);
            break;
        case POWER_STATE_SPARE_TO_BASE:
            spare_to_base(view, c->a);
            break;
        case POWER_STATE_EXPORT:
        case POWER_STATE_IMPORT:
            transfer(view, c);
            break;
        }
    }
}
