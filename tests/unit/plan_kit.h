/* SPDX-License-Identifier: MIT */
/* A device, random weights and steps in few words, for the tests of plans.
 * Input: shapes and a seed. Output: buffers filled with the same numbers on every device.
 * Threads: one. Bounds: KIT_MAX_* below; any failure ends the test. */
#ifndef POWER_TESTS_PLAN_KIT_H
#define POWER_TESTS_PLAN_KIT_H

#include "device/cpu/kernels.h"
#include "device/device.h"

#define KIT_MAX_WEIGHTS 64
#define KIT_MAX_ROWS 64
#define KIT_MAX_SEQS 4
#define KIT_BLOCKS 8

struct kit {
    struct power_device *device;
    const struct power_device_ops *ops;
    struct power_device_weight weights[KIT_MAX_WEIGHTS];
    struct power_weight_table table;
    struct power_graph *graph;
    struct power_plan *plan;
    struct power_plan_limits limits;
    struct power_device_buffer *pools[POWER_GRAPH_MAX_PIECES];
    uint64_t seed;
    power_allocator allocator; /* counts `allocations` */
    uint64_t allocations;
};

/* No weights, no graph yet; limits at the kit's maxima. */
void kit_open(struct kit *kit, uint32_t threads, uint32_t features, bool apart, bool fusion);
void kit_close(struct kit *kit);
/* A random matrix in the weight table and its value in the graph; packed where the device wants it.
 */
power_value kit_weight(struct kit *kit, enum power_dtype dtype, uint32_t rows, uint32_t cols,
                       uint32_t slices);
/* Finishes the graph, compiles, makes zeroed pools. */
void kit_compile(struct kit *kit);

/* A step over sequences: sequence s has `length[s]` committed positions and gets `n[s]` rows more.
 * Slot and blocks of sequence s are s and s * KIT_BLOCKS ... */
struct kit_step {
    struct power_step step;
    uint32_t ids[KIT_MAX_ROWS], row_seq[KIT_MAX_ROWS], row_pos[KIT_MAX_ROWS];
    uint32_t seq_first[KIT_MAX_SEQS + 1], seq_len[KIT_MAX_SEQS], slots[KIT_MAX_SEQS];
    uint32_t blocks[KIT_MAX_SEQS * KIT_BLOCKS], out_rows[KIT_MAX_ROWS];
    uint64_t base_pos[KIT_MAX_SEQS];
    float rope[KIT_MAX_ROWS * 256];
};
/* Sequence s is number `first_seq` + s; every row is an output. */
void kit_step_make(const struct kit *kit, struct kit_step *out, uint32_t first_seq, uint32_t n_seqs,
                   const uint32_t *length, const uint32_t *n, uint32_t vocab);
/* Runs with inputs (host, may be NULL) and outputs (host) bound by value. Returns the status. */
struct kit_io {
    power_value value;
    const float *in;
    float *out;
    size_t floats;
};
power_status kit_run(struct kit *kit, const struct power_step *step, const int64_t *dims,
                     const struct kit_io *io, uint32_t n_io, uint32_t *faults, power_error *error);

uint32_t kit_random(uint64_t *seed);
float kit_random_float(uint64_t *seed); /* in (-1, 1) */
void kit_must(power_status status, const power_error *error, const char *what);

#endif
