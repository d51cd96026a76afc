/* SPDX-License-Identifier: MIT */
/* See plan_kit.h. Input: shapes and a seed. Output: devices, weights, steps.
 * Threads: one. Bounds: those of the header. */
#include "plan_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kit_must(power_status status, const power_error *error, const char *what) {
    if (status == POWER_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, power_status_name(status), error->message);
    exit(1);
}

uint32_t kit_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

float kit_random_float(uint64_t *seed) {
    return ((float)(kit_random(seed) & 0xffff) - 32767.5f) / 32768.0f;
}

static void *count_alloc(void *context, size_t bytes, size_t alignment) {
    ((struct kit *)context)->allocations++;
    return power_default_allocator.alloc(power_default_allocator.context, bytes, alignment);
}

static void count_release(void *context, void *memory, size_t bytes, size_t alignment) {
    (void)context;
    power_default_allocator.release(power_default_allocator.context, memory, bytes, alignment);
}

void kit_open(struct kit *kit, uint32_t threads, uint32_t features, bool apart, bool fusion) {
    power_error error = {0};
    memset(kit, 0, sizeof *kit);
    struct power_cpu_options options = {threads, features, apart};
    kit->allocator = (power_allocator){kit, count_alloc, count_release};
    kit_must(power_cpu_device_open(&kit->allocator, &options, &kit->device, &error), &error,
             "device");
    kit->ops = power_device_base(kit->device)->ops;
    kit->table.weights = kit->weights;
    kit->seed = 1;
    kit->limits = (struct power_plan_limits){.max_rows = KIT_MAX_ROWS,
                                             .max_seqs = KIT_MAX_SEQS,
                                             .max_outs = KIT_MAX_ROWS,
                                             .max_blocks_per_seq = KIT_BLOCKS,
                                             .undo_rows = 4,
                                             .step_rows = KIT_MAX_ROWS,
                                             .fusion = fusion};
    kit_must(power_graph_create_internal(&power_default_allocator, &kit->graph, &error), &error,
             "graph");
}

void kit_close(struct kit *kit) {
    if (kit->plan) kit->ops->plan_destroy(kit->device, kit->plan);
    for (uint32_t i = 0; i < kit->table.n_weights; i++) {
        kit->ops->buffer_destroy(kit->device, kit->weights[i].raw);
        kit->ops->buffer_destroy(kit->device, kit->weights[i].packed);
    }
    for (uint32_t i = 0; i < POWER_GRAPH_MAX_PIECES; i++)
        kit->ops->buffer_destroy(kit->device, kit->pools[i]);
    power_graph_destroy_internal(kit->graph);
    kit->ops->close(kit->device);
}

/* Bytes of one block: finite scales of about 2^-7, random codes. */
static void fill_block(enum power_dtype dtype, struct power_dtype_info info, unsigned char *block,
                       uint64_t *seed) {
    for (uint32_t i = 0; i < info.block_bytes; i++)
        block[i] = (unsigned char)kit_random(seed);
    if (dtype == POWER_DTYPE_F32) {
        float f = kit_random_float(seed) * 0.1f;
        memcpy(block, &f, sizeof f);
    } else if (dtype == POWER_DTYPE_F16) {
        block[1] = (unsigned char)(0x28 | (block[1] & 0x83)); /* about 2^-5 */
    } else if (dtype == POWER_DTYPE_BF16) {
        block[1] = (unsigned char)(0x3c | (block[1] & 0x80));
    } else if (dtype == POWER_DTYPE_Q6_K) {
        block[208] = 0, block[209] = 0x0c; /* d is last */
    } else {
        block[1] = 0x18;
        if (dtype == POWER_DTYPE_Q4_K || dtype == POWER_DTYPE_Q5_K) block[3] = 0x18;
    }
}

static void pack(struct kit *kit, struct power_device_weight *w, const unsigned char *raw) {
    power_error error = {0};
    uint64_t bytes = 0, units = 0;
    uint32_t recipe =
        kit->ops->pack_recipe(kit->device, w->dtype, w->rows, w->cols, w->slices, &bytes, &units);
    if (!recipe) return;
    w->packed_recipe = recipe;
    kit_must(kit->ops->buffer_create(kit->device, bytes, &w->packed, &error), &error, "buffer");
    kit_must(kit->ops->pack(kit->device, w, raw, 0, units, &error), &error, "pack");
}

power_value kit_weight(struct kit *kit, enum power_dtype dtype, uint32_t rows, uint32_t cols,
                       uint32_t slices) {
    power_error error = {0};
    struct power_dtype_info info = power_dtype_info((uint32_t)dtype);
    size_t blocks = (size_t)rows * cols * slices / info.block_elements;
    unsigned char *raw = malloc(blocks * info.block_bytes);
    for (size_t b = 0; b < blocks; b++)
        fill_block(dtype, info, raw + b * info.block_bytes, &kit->seed);
    uint32_t index = kit->table.n_weights++;
    struct power_device_weight *w = &kit->weights[index];
    *w = (struct power_device_weight){.dtype = dtype, .rows = rows, .cols = cols, .slices = slices};
    size_t bytes = blocks * info.block_bytes;
    kit_must(kit->ops->buffer_create(kit->device, bytes, &w->raw, &error), &error, "buffer");
    kit_must(kit->ops->upload(kit->device, w->raw, 0, raw, bytes, &error), &error, "upload");
    if (rows > 1) pack(kit, w, raw);
    free(raw);
    struct power_weight_slice slice = {index, 0, rows, cols, slices, dtype};
    return power_graph_add_weight(kit->graph, &slice);
}

void kit_compile(struct kit *kit) {
    power_error error = {0};
    kit_must(power_graph_finish(kit->graph, &error), &error, "graph");
    kit_must(kit->ops->plan_compile(kit->device, kit->graph, &kit->table, &kit->limits, &kit->plan,
                                    &error),
             &error, "compile");
    for (uint32_t i = 0; i < kit->graph->n_pieces; i++) {
        struct power_piece_bytes bytes;
        kit_must(kit->ops->piece_bytes(kit->device, &kit->graph->pieces[i], &kit->limits, &bytes,
                                       &error),
                 &error, "piece");
        uint64_t unit = bytes.block_bytes ? bytes.block_bytes * KIT_BLOCKS : bytes.slot_bytes;
        uint64_t all = unit * KIT_MAX_SEQS;
        kit_must(kit->ops->buffer_create(kit->device, all, &kit->pools[i], &error), &error, "pool");
        kit_must(kit->ops->fill(kit->device, kit->pools[i], 0, 0, all, &error), &error, "fill");
    }
}

static void kit_ropes(const struct kit *kit, struct kit_step *out) {
    uint32_t half = kit->graph->n_ropes ? kit->graph->ropes[0].rot_dim / 2 : 0;
    for (uint32_t r = 0; half && r < out->step.n_rows; r++) {
        uint64_t seed = out->row_pos[r] + 77u;
        for (uint32_t i = 0; i < 2 * half; i++)
            out->rope[r * 2 * half + i] = kit_random_float(&seed);
    }
    for (uint32_t i = 0; i < kit->graph->n_ropes; i++)
        out->step.rope[i] = out->rope;
}

void kit_step_make(const struct kit *kit, struct kit_step *out, uint32_t first_seq, uint32_t n_seqs,
                   const uint32_t *length, const uint32_t *n, uint32_t vocab) {
    memset(out, 0, sizeof *out);
    uint32_t row = 0;
    for (uint32_t s = 0; s < n_seqs; s++) {
        out->seq_first[s] = row;
        out->seq_len[s] = length[s] + n[s];
        out->slots[s] = first_seq + s;
        out->base_pos[s] = length[s];
        for (uint32_t b = 0; b < KIT_BLOCKS; b++)
            out->blocks[s * KIT_BLOCKS + b] = (first_seq + s) * KIT_BLOCKS + b;
        for (uint32_t i = 0; i < n[s]; i++, row++) {
            out->row_seq[row] = s;
            out->row_pos[row] = length[s] + i;
            uint64_t seed = (first_seq + s) * 1000u + length[s] + i;
            (void)kit_random(&seed);
            out->ids[row] = kit_random(&seed) % vocab;
            out->out_rows[row] = row;
        }
    }
    out->seq_first[n_seqs] = row;
    out->step = (struct power_step){.n_rows = row,
                                    .n_seqs = n_seqs,
                                    .n_outs = row,
                                    .ids = out->ids,
                                    .row_seq = out->row_seq,
                                    .row_pos = out->row_pos,
                                    .seq_first = out->seq_first,
                                    .seq_len = out->seq_len,
                                    .undo_rows = kit->limits.undo_rows,
                                    .out_rows = out->out_rows};
    for (uint32_t i = 0; i < kit->graph->n_pieces; i++) {
        out->step.state_slot[i] = out->slots;
        out->step.block_table[i] = out->blocks;
        out->step.table_stride[i] = KIT_BLOCKS;
        out->step.seq_base_pos[i] = out->base_pos;
    }
    kit_ropes(kit, out);
}

power_status kit_run(struct kit *kit, const struct power_step *step, const int64_t *dims,
                     const struct kit_io *io, uint32_t n_io, uint32_t *faults, power_error *error) {
    struct power_binding bindings[8] = {{0}};
    struct power_device_buffer *fault_buffer = NULL;
    for (uint32_t i = 0; i < n_io; i++) {
        struct power_binding *b = &bindings[i];
        b->value = io[i].value;
        b->length_bytes = io[i].floats * sizeof(float);
        kit_must(kit->ops->buffer_create(kit->device, b->length_bytes, &b->buffer, error), error,
                 "buffer");
        if (io[i].in)
            kit_must(kit->ops->upload(kit->device, b->buffer, 0, io[i].in, b->length_bytes, error),
                     error, "upload");
    }
    if (faults)
        kit_must(kit->ops->buffer_create(kit->device, KIT_MAX_ROWS * 4, &fault_buffer, error),
                 error, "buffer");
    struct power_run run = {.step = step,
                            .bindings = bindings,
                            .n_bindings = n_io,
                            .pools = kit->pools,
                            .row_faults = fault_buffer};
    if (dims) memcpy(run.dims, dims, sizeof run.dims);
    power_status status = kit->ops->submit(kit->device, kit->plan, &run, error);
    if (status == POWER_OK) status = kit->ops->wait(kit->device, error);
    for (uint32_t i = 0; i < n_io; i++) {
        if (status == POWER_OK && io[i].out)
            kit_must(kit->ops->download(kit->device, bindings[i].buffer, 0, io[i].out,
                                        bindings[i].length_bytes, error),
                     error, "download");
        kit->ops->buffer_destroy(kit->device, bindings[i].buffer);
    }
    if (faults && status == POWER_OK)
        kit_must(kit->ops->download(kit->device, fault_buffer, 0, faults,
                                    step->n_rows * sizeof *faults, error),
                 error, "download");
    kit->ops->buffer_destroy(kit->device, fault_buffer);
    return status;
}
