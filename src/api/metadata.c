/* SPDX-License-Identifier: MIT */
/* Metadata as text, for people. Input: an entry's index. Output: key and value in callers' buffers.
 * Threads: any. Bounds: the capacities; what does not fit is cut and says how much there is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/runtime.h"
#include "text/utf8.h"

/* Writes into a fixed buffer, always ended; remembers that something did not fit. */
struct writer {
    char *bytes;
    size_t capacity, length;
    bool full;
};

/* Room for the sign that something was cut. */
#define TAIL_BYTES 40u

static void put(struct writer *w, const char *bytes, size_t length) {
    size_t most = w->capacity > TAIL_BYTES ? w->capacity - TAIL_BYTES : 0;
    if (w->full || w->length + length > most) {
        w->full = true;
        return;
    }
    memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
}

/* Valid UTF-8 whatever is in the file; control bytes but newline and tab become '?'. */
static void put_text(struct writer *w, struct power_text text) {
    for (size_t at = 0; at < text.length && !w->full;) {
        size_t length;
        char encoded[4];
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        if (code == POWER_UTF8_BROKEN) code = 0xfffd;
        if ((code < 0x20 && code != '\n' && code != '\t') || code == 0x7f) code = '?';
        put(w, encoded, power_utf8_put(code, encoded));
        at += length;
    }
}

static void put_scalar(struct writer *w, enum power_meta_type type, uint64_t u, int64_t i,
                       double f) {
    char number[48];
    int length = 0;
    switch (type) {
    case POWER_META_U8:
    case POWER_META_U16:
    case POWER_META_U32:
    case POWER_META_U64:
        length = snprintf(number, sizeof number, "%" PRIu64, u);
        break;
    case POWER_META_I8:
    case POWER_META_I16:
    case POWER_META_I32:
    case POWER_META_I64:
        length = snprintf(number, sizeof number, "%" PRId64, i);
        break;
    case POWER_META_F32:
        length = snprintf(number, sizeof number, "%.9g", f);
        break;
    case POWER_META_F64:
        length = snprintf(number, sizeof number, "%.17g", f);
        break;
    case POWER_META_BOOL:
        length = snprintf(number, sizeof number, "%s", u ? "true" : "false");
        break;
    case POWER_META_TEXT:
    case POWER_META_ARRAY:
        break;
    }
    if (length > 0) put(w, number, (size_t)length);
}

static void put_element(struct writer *w, const struct power_meta_array *array, uint64_t index) {
    const unsigned char *at = array->values;
    const unsigned char *two = at + 2 * index, *four = at + 4 * index, *eight = at + 8 * index;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
    switch (array->type) {
    case POWER_META_U8:
    case POWER_META_BOOL:
        put_scalar(w, array->type, at[index], 0, 0);
        break;
    case POWER_META_I8:
        put_scalar(w, array->type, 0, (int8_t)at[index], 0);
        break;
    case POWER_META_U16:
    case POWER_META_I16:
        memcpy(&u16, two, 2);
        put_scalar(w, array->type, u16, (int16_t)u16, 0);
        break;
    case POWER_META_U32:
    case POWER_META_I32:
        memcpy(&u32, four, 4);
        put_scalar(w, array->type, u32, (int32_t)u32, 0);
        break;
    case POWER_META_U64:
    case POWER_META_I64:
        memcpy(&u64, eight, 8);
        put_scalar(w, array->type, u64, (int64_t)u64, 0);
        break;
    case POWER_META_F32:
        memcpy(&f32, four, 4);
        put_scalar(w, array->type, 0, 0, (double)f32);
        break;
    case POWER_META_F64:
        memcpy(&f64, eight, 8);
        put_scalar(w, array->type, 0, 0, f64);
        break;
    case POWER_META_TEXT:
        put(w, "\"", 1);
        put_text(w, ((const struct power_text *)array->values)[index]);
        put(w, "\"", 1);
        break;
    case POWER_META_ARRAY:
        break;
    }
}

/* The first eight elements; then how many there are. */
static void put_array(struct writer *w, const struct power_meta_array *array) {
    uint64_t shown = array->count < 8 ? array->count : 8;
    put(w, "[", 1);
    for (uint64_t i = 0; i < shown && !w->full; i++) {
        if (i) put(w, ", ", 2);
        put_element(w, array, i);
    }
    if (shown == array->count) put(w, "]", 1);
}

static void end(struct writer *w, bool cut, uint64_t count) {
    size_t left = w->capacity - w->length;
    int length = 0;
    w->bytes[w->length] = '\0';
    if (cut) length = snprintf(w->bytes + w->length, left, "... (%" PRIu64 ")", count);
    if (length > 0 && (size_t)length >= left) w->bytes[w->length] = '\0';
}

static void render_value(const struct power_meta *meta, char *out, size_t capacity) {
    struct writer w = {.bytes = out, .capacity = capacity};
    uint64_t count = 0;
    bool cut = false;
    if (meta->type == POWER_META_ARRAY) {
        count = meta->value.array.count;
        cut = count > 8;
        put_array(&w, &meta->value.array);
    } else if (meta->type == POWER_META_TEXT) {
        count = meta->value.text.length;
        put_text(&w, meta->value.text);
    } else {
        put_scalar(&w, meta->type, meta->value.u, meta->value.i,
                   meta->type == POWER_META_F32 || meta->type == POWER_META_F64 ? meta->value.f
                                                                                : 0);
    }
    end(&w, cut || w.full, count);
}

power_status power_model_metadata(const power_model *model, uint32_t index, char *out_key,
                                  size_t key_capacity, char *out_value, size_t value_capacity,
                                  power_error *error) {
    if (!model || !out_key || key_capacity == 0 || !out_value || value_capacity == 0) {
        return power_fail(error, POWER_INVALID, "model is NULL, or a buffer has no room");
    }
    if (index >= model->source->n_metas) {
        return power_fail(error, POWER_NOT_FOUND, "metadata entry %u of %u", index,
                          model->source->n_metas);
    }
    const struct power_meta *meta = &model->source->metas[index];
    struct writer key = {.bytes = out_key, .capacity = key_capacity};
    put_text(&key, meta->key);
    end(&key, key.full, meta->key.length);
    render_value(meta, out_value, value_capacity);
    return POWER_OK;
}
