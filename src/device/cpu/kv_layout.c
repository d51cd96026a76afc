/* SPDX-License-Identifier: MIT */
/* Where the parts of a KV block lie: keys, values and their scales, for one layer and for all.
 * Input: a KV piece. Output: offsets and sizes in bytes. Threads: any. Bounds: false on overflow.
 */
#include "base/checked.h"
#include "device/cpu/kernels.h"

#define BLOCK_TOKENS 64u
#define PART_ALIGN 64u

/* Appends a part of heads * channels * 64 elements of `element_bytes`; sets its offset. */
static bool add_part(size_t *total, uint32_t heads, uint32_t channels, size_t element_bytes,
                     size_t *out_offset) {
    size_t bytes = 0;
    if (!power_mul_size(heads, channels, &bytes) ||
        !power_mul_size(bytes, BLOCK_TOKENS * element_bytes, &bytes)) {
        return false;
    }
    *out_offset = *total;
    if (!power_add_size(*total, bytes, total) || !power_add_size(*total, PART_ALIGN - 1, total)) {
        return false;
    }
    *total &= ~(size_t)(PART_ALIGN - 1);
    return true;
}

static bool add_float_parts(struct power_kv_layout *l, size_t element_bytes) {
    size_t total = 0;
    if (!add_part(&total, l->n_kv_heads, l->k_dim, element_bytes, &l->k_offset) ||
        !add_part(&total, l->n_kv_heads, l->v_dim, element_bytes, &l->v_offset)) {
        return false;
    }
    l->layer_bytes = total;
    return true;
}

static bool add_q8_parts(struct power_kv_layout *l) {
    size_t total = 0;
    if (l->k_dim % 32 != 0 || l->v_dim % 32 != 0) {
        return false;
    }
    if (!add_part(&total, l->n_kv_heads, l->k_dim, 1, &l->k_offset) ||
        !add_part(&total, l->n_kv_heads, l->k_dim / 32, 2, &l->k_scale_offset) ||
        !add_part(&total, l->n_kv_heads, l->v_dim, 1, &l->v_offset) ||
        !add_part(&total, l->n_kv_heads, l->v_dim / 32, 2, &l->v_scale_offset)) {
        return false;
    }
    l->layer_bytes = total;
    return true;
}

bool power_kv_layout_init(struct power_kv_layout *out, const struct power_piece *piece) {
    struct power_kv_layout l = {
        .dtype = piece->kv_dtype,
        .n_kv_heads = piece->n_kv_heads,
        .k_dim = piece->k_dim,
        .v_dim = piece->v_dim,
        .n_layers = piece->n_layers,
    };
    bool ok = false;
    if (l.dtype == POWER_DTYPE_F32 || l.dtype == POWER_DTYPE_F16) {
        ok = add_float_parts(&l, l.dtype == POWER_DTYPE_F32 ? 4 : 2);
    } else if (l.dtype == POWER_DTYPE_Q8_0) {
        ok = add_q8_parts(&l);
    }
    if (!ok || !power_mul_size(l.layer_bytes, l.n_layers, &l.block_bytes)) {
        return false;
    }
    *out = l;
    return true;
}
