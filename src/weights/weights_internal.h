/* SPDX-License-Identifier: MIT */
/* What the files of src/weights share: one entry a tensor of the table.
 * Input, output: see weights.h. Owner: struct power_weights. Threads: building one.
 * Bounds: at most one entry a tensor of the source. */
#ifndef POWER_WEIGHTS_INTERNAL_H
#define POWER_WEIGHTS_INTERNAL_H

#include "weights/weights.h"

struct power_weight_entry {
    char *name;                        /* in the arena */
    const struct power_tensor *tensor; /* NULL: in parts */
    const struct power_tensor **parts; /* [slices] where experts lie apart */
    enum power_dtype stored, dtype;    /* in the file; in the table */
    uint64_t rows, cols;
    uint32_t slices;
    bool product, gather;
    enum power_weight_change change;
    struct power_weight_order order;
    struct power_span
        bytes;  /* host bytes while building (and after, where the device wraps them) */
    bool owned; /* bytes are pages of ours */
    uint64_t pack_bytes, pack_units;
};

struct power_weights {
    const power_allocator *allocator;
    const struct power_source *source;
    struct power_device *device;
    struct power_weights_options options;
    struct power_arena arena;
    struct power_weight_entry *entries; /* [capacity] */
    uint32_t n_entries, capacity;
    struct power_index *index;
    struct power_weight_table table; /* [capacity], first n_entries used */
    uint64_t stored_bytes, memory_bytes;
    bool committed;
};

uint64_t power_weight_row_bytes(enum power_dtype dtype, uint64_t cols);
/* convert.c: brings an entry's bytes to host memory in the form of the table. */
power_status power_weight_load(struct power_weights *weights, struct power_weight_entry *entry,
                               power_error *error) POWER_MUST_USE;
void power_weight_unload(struct power_weights *weights, struct power_weight_entry *entry);
/* pack.c: packs entries [first, end) with several threads. */
power_status power_weights_pack(struct power_weights *weights, uint32_t first, uint32_t end,
                                power_error *error) POWER_MUST_USE;

#endif
