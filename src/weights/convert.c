/* SPDX-License-Identifier: MIT */
/* One entry's bytes in the form the table wants: as stored, widened, transformed or put together.
 * Input: an entry whose shape was checked. Output: entry->bytes, owned pages or the file's mapping.
 * Threads: one. Bounds: pages of exactly the entry's size, counted in memory_bytes. */
#include "weights/weights_internal.h"

#include <string.h>

#include "base/rotary.h"

static float widen(enum power_dtype dtype, const unsigned char *at) {
    uint32_t bits;
    float value;
    if (dtype == POWER_DTYPE_F32) {
        memcpy(&value, at, 4);
        return value;
    }
    uint32_t half = (uint32_t)at[0] | (uint32_t)at[1] << 8;
    if (dtype == POWER_DTYPE_BF16) {
        bits = half << 16;
        memcpy(&value, &bits, 4);
        return value;
    }
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | mantissa << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112u) << 23 | mantissa << 13;
    } else {
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    memcpy(&value, &bits, 4);
    return value;
}

/* The stored bytes of a whole entry; put together from parts where they lie apart. */
static power_status stored_bytes(struct power_weights *w, struct power_weight_entry *e,
                                 struct power_span *out, bool *out_borrowed, power_error *error) {
    if (e->tensor) {
        return power_source_tensor_bytes(w->source, e->tensor, out, out_borrowed, error);
    }
    uint64_t part = power_weight_row_bytes(e->stored, e->cols) * e->rows;
    void *pages;
    power_status status = power_pages_alloc(&pages, part * e->slices, error);
    if (status) return status;
    for (uint32_t i = 0; i < e->slices && !status; i++) {
        struct power_span span;
        bool borrowed;
        status = power_source_tensor_bytes(w->source, e->parts[i], &span, &borrowed, error);
        if (status) break;
        memcpy((unsigned char *)pages + part * i, span.bytes, part);
        if (!borrowed) power_pages_free((void *)(uintptr_t)span.bytes, span.length);
    }
    if (status) {
        power_pages_free(pages, part * e->slices);
        return status;
    }
    *out = (struct power_span){pages, part * e->slices};
    *out_borrowed = false;
    return POWER_OK;
}

/* Where item i of `count` goes. */
static uint64_t place(const struct power_weight_order *order, uint64_t count, uint64_t i) {
    if (order->kind == POWER_ORDER_AS_IS || i < order->first) return i;
    uint64_t head = (count - order->first) / order->heads;
    uint64_t h = (i - order->first) / head, in = (i - order->first) % head;
    if (order->kind == POWER_ORDER_HALVES_TO_ADJACENT) {
        in = in < head / 2 ? 2 * in : 2 * (in - head / 2) + 1;
    } else {
        uint64_t each = order->heads / order->groups;
        h = h % each * order->groups + h / each;
    }
    return order->first + h * head + in;
}

static float change_value(enum power_weight_change change, float v) {
    if (change == POWER_CHANGE_PLUS_ONE) return v + 1.0f;
    if (change == POWER_CHANGE_MINUS_EXP) return (float)-power_exp_double((double)v);
    return v;
}

/* One stored row to one row of the table; `columns` says where each element goes. */
static void convert_row(const struct power_weight_entry *e,
                        const struct power_weight_order *columns, const unsigned char *from,
                        unsigned char *to) {
    size_t in = power_dtype_info(e->stored).block_bytes;
    size_t out = power_dtype_info(e->dtype).block_bytes;
    for (uint64_t c = 0; c < e->cols; c++) {
        unsigned char *at = to + place(columns, e->cols, c) * out;
        if (e->dtype == e->stored && !e->change) {
            memcpy(at, from + c * in, in);
            continue;
        }
        float v = change_value(e->change, widen(e->stored, from + c * in));
        memcpy(at, &v, sizeof v);
    }
}

static void transform(const struct power_weight_entry *e, const unsigned char *from,
                      unsigned char *to) {
    const struct power_weight_order none = {0};
    bool columns = e->order.columns || e->rows == 1;
    size_t in = power_weight_row_bytes(e->stored, e->cols);
    size_t out = power_weight_row_bytes(e->dtype, e->cols);
    for (uint64_t r = 0; r < e->rows * e->slices; r++) {
        uint64_t slice = r / e->rows * e->rows;
        uint64_t row = columns ? r : slice + place(&e->order, e->rows, r % e->rows);
        if (e->dtype == e->stored && !e->change && !columns) {
            memcpy(to + row * out, from + r * in, in);
        } else {
            convert_row(e, columns ? &e->order : &none, from + r * in, to + row * out);
        }
    }
}

power_status power_weight_load(struct power_weights *w, struct power_weight_entry *e,
                               power_error *error) {
    uint64_t bytes = power_weight_row_bytes(e->dtype, e->cols) * e->rows * e->slices;
    struct power_span stored;
    bool borrowed;
    power_status status = stored_bytes(w, e, &stored, &borrowed, error);
    if (status) return status;
    if (!e->order.kind && !e->change && e->dtype == e->stored) {
        e->bytes = stored;
        e->owned = !borrowed;
        if (e->owned) w->memory_bytes += stored.length;
        return POWER_OK;
    }
    void *pages;
    status = power_pages_alloc(&pages, bytes, error);
    if (!status) {
        transform(e, stored.bytes, pages);
        e->bytes = (struct power_span){pages, bytes};
        e->owned = true;
        w->memory_bytes += bytes;
    }
    if (!borrowed) power_pages_free((void *)(uintptr_t)stored.bytes, stored.length);
    return status;
}

void power_weight_unload(struct power_weights *w, struct power_weight_entry *e) {
    if (e->owned) {
        power_pages_free((void *)(uintptr_t)e->bytes.bytes, e->bytes.length);
        w->memory_bytes -= e->bytes.length;
    }
    e->owned = false;
    e->bytes = (struct power_span){0};
}
