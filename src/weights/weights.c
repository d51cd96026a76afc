/* SPDX-License-Identifier: MIT */
/* The weight table: tensors registered by name, brought to the device in one commit.
 * Input: a source, a device, requests of a family. Output: power_weight_table.
 * Owner: the model. Threads: one while building. Bounds: memory is counted against max_bytes first.
 */
#include "weights/weights_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BATCH_BYTES (UINT64_C(64) << 20)

static struct power_quoted quoted(const char *name) {
    struct power_text text = power_text_of(name);
    return power_quote(text.bytes, text.length);
}

uint64_t power_weight_row_bytes(enum power_dtype dtype, uint64_t cols) {
    struct power_dtype_info info = power_dtype_info(dtype);
    return info.block_elements ? cols / info.block_elements * info.block_bytes : 0;
}

power_status power_weights_create(const power_allocator *allocator,
                                  const struct power_source *source, struct power_device *device,
                                  const struct power_weights_options *options,
                                  struct power_weights **out, power_error *error) {
    struct power_weights *w = power_alloc(allocator, 1, sizeof *w);
    if (!w) return power_fail_memory(error, sizeof *w, "weights");
    w->allocator = allocator;
    w->source = source;
    w->device = device;
    w->options = *options;
    w->capacity = source->n_tensors;
    /* Names of tensors, tables of parts. */
    power_arena_init(&w->arena, allocator, (size_t)64 << 20);
    power_status status = POWER_NO_MEMORY;
    w->entries = power_alloc(allocator, w->capacity, sizeof *w->entries);
    w->table.weights = power_alloc(allocator, w->capacity, sizeof *w->table.weights);
    if (w->entries && w->table.weights) {
        status = power_index_create(allocator, w->capacity, &w->index, error);
    } else {
        power_fail_memory(error, w->capacity * sizeof *w->entries, "weight table");
    }
    if (status) {
        power_weights_destroy(w);
        return status;
    }
    *out = w;
    return POWER_OK;
}

void power_weights_destroy(struct power_weights *w) {
    if (!w) return;
    const struct power_device_ops *ops = power_device_base(w->device)->ops;
    for (uint32_t i = 0; w->entries && w->table.weights && i < w->n_entries; i++) {
        struct power_device_weight *device = &w->table.weights[i];
        if (device->packed) ops->buffer_destroy(w->device, device->packed);
        if (device->raw) ops->buffer_destroy(w->device, device->raw);
        power_weight_unload(w, &w->entries[i]);
    }
    power_index_destroy(w->index);
    power_release(w->allocator, w->table.weights, w->capacity, sizeof *w->table.weights);
    power_release(w->allocator, w->entries, w->capacity, sizeof *w->entries);
    power_arena_finish(&w->arena);
    power_release(w->allocator, w, 1, sizeof *w);
}

static const struct power_tensor *find_tensor(const struct power_weights *w, const char *name) {
    return power_source_tensor(w->source, name);
}

/* Name of one expert's own tensor: "NAME.3". */
static const struct power_tensor *find_part(const struct power_weights *w, const char *name,
                                            uint32_t part) {
    char text[192];
    int n = snprintf(text, sizeof text, "%s.%" PRIu32, name, part);
    return n > 0 && (size_t)n < sizeof text ? find_tensor(w, text) : NULL;
}

bool power_weights_uses(const struct power_weights *w, struct power_text tensor) {
    uint32_t at;
    if (power_index_find(w->index, tensor, &at)) return true;
    size_t n = tensor.length;
    while (n && tensor.bytes[n - 1] >= '0' && tensor.bytes[n - 1] <= '9')
        n--;
    if (n == tensor.length || !n || tensor.bytes[n - 1] != '.') return false;
    return power_index_find(w->index, (struct power_text){tensor.bytes, n - 1}, &at);
}

bool power_weights_has(const struct power_weights *w, const char *tensor) {
    uint32_t at;
    return power_index_find(w->index, power_text_of(tensor), &at) || find_tensor(w, tensor) ||
           find_part(w, tensor, 0);
}

/* cols, rows, slices of a tensor; dims of 1 between others are dropped. */
static void logical_dims(const struct power_tensor *t, uint64_t out[3]) {
    uint32_t n = 0;
    out[0] = out[1] = out[2] = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool drop = i > 0 && t->dims[i] == 1;
        if (!drop && n < 3) out[n++] = t->dims[i];
        if (!drop && n == 3 && i + 1 < t->rank && t->dims[i + 1] != 1) out[2] = 0;
    }
}

static power_status wrong_shape(power_error *error, const struct power_weight_request *r,
                                const uint64_t d[3], uint64_t offset) {
    return power_fail_at(error, POWER_CORRUPT, offset,
                         "tensor \"%s\": shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64
                         "], want [%" PRIu64 ", %" PRIu64 ", %" PRIu32 "]",
                         quoted(r->tensor).text, d[0], d[1], d[2], r->cols ? r->cols : d[0],
                         r->rows ? r->rows : d[1], r->slices ? r->slices : 1);
}

static bool shape_fits(const struct power_weight_request *r, const uint64_t d[3], uint32_t slices) {
    return (!r->cols || r->cols == d[0]) && (!r->rows || r->rows == d[1]) && d[2] == slices;
}

static power_status find_storage(struct power_weights *w, const struct power_weight_request *r,
                                 struct power_weight_entry *e, power_error *error) {
    uint32_t slices = r->slices ? r->slices : 1;
    const struct power_tensor *first = find_tensor(w, r->tensor);
    uint64_t d[3];
    if (first) {
        logical_dims(first, d);
        if (!shape_fits(r, d, slices)) return wrong_shape(error, r, d, first->offset);
        e->tensor = first;
    } else {
        first = find_part(w, r->tensor, 0);
        if (!first) {
            return power_fail(error, POWER_NOT_FOUND, "tensor \"%s\" is missing",
                              quoted(r->tensor).text);
        }
        e->parts = power_arena_alloc(&w->arena, slices, sizeof *e->parts);
        if (!e->parts) return power_fail_memory(error, slices * sizeof *e->parts, "experts");
        for (uint32_t i = 0; i < slices; i++) {
            e->parts[i] = find_part(w, r->tensor, i);
            if (!e->parts[i] || e->parts[i]->dtype != first->dtype) {
                return power_fail(error, POWER_CORRUPT,
                                  "tensor \"%s\": part %" PRIu32 " is missing or of another type",
                                  quoted(r->tensor).text, i);
            }
            logical_dims(e->parts[i], d);
            if (!shape_fits(r, d, 1)) return wrong_shape(error, r, d, e->parts[i]->offset);
        }
    }
    e->stored = first->dtype;
    e->cols = d[0];
    e->rows = d[1];
    e->slices = slices;
    return POWER_OK;
}

static bool is_float(enum power_dtype dtype) {
    return dtype == POWER_DTYPE_F32 || dtype == POWER_DTYPE_F16 || dtype == POWER_DTYPE_BF16;
}

static power_status add_entry(struct power_weights *w, const struct power_weight_request *r,
                              struct power_weight_entry *e, uint32_t *out, power_error *error) {
    if (w->committed) {
        return power_fail(error, POWER_STATE, "tensor \"%s\" was added after the commit",
                          quoted(r->tensor).text);
    }
    if (w->n_entries == w->capacity) {
        return power_fail(error, POWER_LIMIT, "more than %" PRIu32 " weights", w->capacity);
    }
    struct power_text name = power_text_of(r->tensor);
    e->name = power_arena_text(&w->arena, name.bytes, name.length);
    if (!e->name) return power_fail_memory(error, name.length, "weight name");
    uint32_t at = w->n_entries;
    if (!power_index_add(w->index, power_text_of(e->name), at)) {
        return power_fail(error, POWER_STATE, "weight \"%s\" is there already",
                          quoted(r->tensor).text);
    }
    w->entries[at] = *e;
    w->n_entries = w->table.n_weights = at + 1;
    *out = at;
    return POWER_OK;
}

static power_status new_entry(struct power_weights *w, const struct power_weight_request *r,
                              uint32_t *out, power_error *error) {
    struct power_weight_entry e = {.change = r->change, .order = r->order};
    power_status status = find_storage(w, r, &e, error);
    if (status) return status;
    bool values = r->use == POWER_WEIGHT_VALUES;
    bool altered = values || e.change || e.order.kind;
    if (altered && !is_float(e.stored)) {
        return power_fail(error, POWER_UNSUPPORTED,
                          "tensor \"%s\": type %s where floats are needed", quoted(r->tensor).text,
                          power_dtype_info(e.stored).name);
    }
    e.dtype = values || e.change ? POWER_DTYPE_F32 : e.stored;
    w->stored_bytes += power_weight_row_bytes(e.stored, e.cols) * e.rows * e.slices;
    return add_entry(w, r, &e, out, error);
}

power_status power_weights_add(struct power_weights *w, const struct power_weight_request *r,
                               struct power_weight_slice *out, power_error *error) {
    uint32_t at;
    if (!power_index_find(w->index, power_text_of(r->tensor), &at)) {
        power_status status = new_entry(w, r, &at, error);
        if (status) return status;
    }
    struct power_weight_entry *e = &w->entries[at];
    uint64_t d[3] = {e->cols, e->rows, e->slices};
    if (!shape_fits(r, d, r->slices ? r->slices : 1)) return wrong_shape(error, r, d, 0);
    e->product |= r->use == POWER_WEIGHT_PRODUCT;
    e->gather |= r->use != POWER_WEIGHT_PRODUCT;
    *out = (struct power_weight_slice){
        .weight = at, .rows = e->rows, .cols = e->cols, .slices = e->slices, .dtype = e->dtype};
    return POWER_OK;
}

power_status power_weights_read_f32(struct power_weights *w, const char *tensor, float *out,
                                    uint64_t count, power_error *error) {
    struct power_weight_request r = {
        .tensor = tensor, .cols = count, .rows = 1, .use = POWER_WEIGHT_VALUES};
    struct power_weight_entry e = {0};
    power_status status = find_storage(w, &r, &e, error);
    if (status) return status;
    if (!is_float(e.stored)) {
        return power_fail(error, POWER_UNSUPPORTED,
                          "tensor \"%s\": type %s where floats are needed", quoted(tensor).text,
                          power_dtype_info(e.stored).name);
    }
    e.dtype = POWER_DTYPE_F32;
    status = power_weight_load(w, &e, error);
    if (status) return status;
    memcpy(out, e.bytes.bytes, count * sizeof *out);
    power_weight_unload(w, &e);
    return POWER_OK;
}

/* Host bytes of one entry become device memory; a place for its pack is made. */
static power_status place_entry(struct power_weights *w, uint32_t at, power_error *error) {
    struct power_weight_entry *e = &w->entries[at];
    struct power_device_weight *d = &w->table.weights[at];
    const struct power_device_base *base = power_device_base(w->device);
    power_status status = power_weight_load(w, e, error);
    if (status) return status;
    d->dtype = e->dtype;
    d->rows = e->rows;
    d->cols = e->cols;
    d->slices = e->slices;
    if (w->options.pack && e->product) {
        d->packed_recipe = base->ops->pack_recipe(w->device, e->dtype, e->rows, e->cols, e->slices,
                                                  &e->pack_bytes, &e->pack_units);
    }
    if (d->packed_recipe) {
        if (w->options.max_bytes && w->memory_bytes + e->pack_bytes > w->options.max_bytes) {
            return power_fail(error, POWER_LIMIT,
                              "weights need more than the memory limit of %" PRIu64 " bytes",
                              w->options.max_bytes);
        }
        status = base->ops->buffer_create(w->device, e->pack_bytes, &d->packed, error);
        if (status) return status;
        w->memory_bytes += e->pack_bytes;
    }
    if (base->wraps_host) {
        return base->ops->buffer_wrap(w->device, e->bytes.bytes, e->bytes.length, &d->raw, error);
    }
    status = base->ops->buffer_create(w->device, e->bytes.length, &d->raw, error);
    if (status) return status;
    return base->ops->upload(w->device, d->raw, 0, e->bytes.bytes, e->bytes.length, error);
}

/* After packing: host bytes that nothing reads any more are given back. */
static void drop_host_bytes(struct power_weights *w, uint32_t at) {
    struct power_weight_entry *e = &w->entries[at];
    struct power_device_weight *d = &w->table.weights[at];
    const struct power_device_base *base = power_device_base(w->device);
    if (!base->wraps_host) {
        power_weight_unload(w, e);
    } else if (d->packed && !e->gather && e->owned) {
        base->ops->buffer_destroy(w->device, d->raw);
        d->raw = NULL;
        power_weight_unload(w, e);
    }
}

power_status power_weights_commit(struct power_weights *w, power_error *error) {
    if (w->committed) return POWER_OK;
    uint64_t batch = 0, done = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < w->n_entries; i++) {
        power_status status = place_entry(w, i, error);
        if (status) return status;
        batch += w->entries[i].bytes.length;
        if (batch < BATCH_BYTES && i + 1 < w->n_entries) continue;
        status = power_weights_pack(w, first, i + 1, error);
        if (status) return status;
        for (uint32_t j = first; j <= i; j++)
            drop_host_bytes(w, j);
        done += batch;
        first = i + 1;
        batch = 0;
        double part = w->stored_bytes ? (double)done / (double)w->stored_bytes : 1.0;
        if (w->options.progress &&
            w->options.progress(w->options.progress_context, part < 1.0 ? part : 1.0)) {
            return power_fail(error, POWER_CANCELLED, "loading was cancelled");
        }
    }
    w->committed = true;
    return POWER_OK;
}

const struct power_weight_table *power_weights_table(const struct power_weights *w) {
    return &w->table;
}

uint64_t power_weights_memory(const struct power_weights *w) {
    return w->memory_bytes;
}
