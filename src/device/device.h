/* SPDX-License-Identifier: MIT */
/* The device boundary: what the data path may ask of a device that can have memory of its own.
 * Input: graphs, weights, steps from the host. Output: plans, buffers by handle, completed runs.
 * Threads: a device's queue belongs to one thread at a time (the engine's); weights may be packed
 * by several. Bounds: every buffer is created before work starts; running a plan allocates nothing.
 */
#ifndef POWER_DEVICE_DEVICE_H
#define POWER_DEVICE_DEVICE_H

#include "graph/graph.h"

struct power_device;        /* concrete struct begins with struct power_device_base */
struct power_device_buffer; /* a handle; only the device knows the address behind it */
struct power_plan;

/* ---- weights as a device sees them ---- */
struct power_device_weight {
    enum power_dtype dtype;
    uint64_t rows, cols; /* of one slice */
    uint32_t slices;
    struct power_device_buffer *raw; /* [slices][rows] rows as the file stores them */
    uint64_t raw_offset;
    struct power_device_buffer *packed; /* NULL: products read raw, same bits */
    uint64_t packed_offset;
    uint32_t packed_recipe;
};

struct power_weight_table {
    struct power_device_weight *weights;
    uint32_t n_weights;
};

/* ---- commands on state, run at the head of the next plan on the same queue ---- */
enum power_state_command_kind {
    POWER_STATE_COPY_BLOCK = 1, /* KV: block a -> block b, all layers of the piece */
    POWER_STATE_ZERO_SLOT,      /* RECURRENT: head and base planes of slot a; CONV: nothing to do */
    POWER_STATE_COPY_SLOT,      /* RECURRENT, CONV: everything of slot a -> slot b */
    POWER_STATE_REPLAY_HEAD,    /* RECURRENT slot a: head = base, then apply log rows [from, to) */
    POWER_STATE_REPLAY_BASE,    /* RECURRENT slot a: base moves up by log rows [from, to) */
    POWER_STATE_SPARE_TO_BASE,  /* RECURRENT slot a: the spare plane becomes base (swap by copy) */
    POWER_STATE_EXPORT, /* canonical bytes of positions [from, to) into `buffer` at `offset` */
    POWER_STATE_IMPORT  /* the reverse */
};
struct power_state_command {
    enum power_state_command_kind kind;
    uint32_t piece;
    uint32_t a, b;
    uint64_t from, to; /* positions */
    const uint32_t
        *blocks; /* EXPORT, IMPORT of KV: block of position p is blocks[p / 64 - from / 64] */
    struct power_device_buffer *buffer;
    uint64_t offset;
};

/* ---- one step: all that changes from step to step of a language model. Host arrays, copied by the
 * device at submit; shapes in the comments, T rows, S sequences, O outputs, P pieces ---- */
struct power_step {
    uint32_t n_rows, n_seqs, n_outs;
    const uint32_t *ids;                      /* [T] */
    const uint32_t *row_seq;                  /* [T] index of the row's sequence in this step */
    const uint32_t *row_pos;                  /* [T] position in the sequence's state */
    const float *rope[POWER_GRAPH_MAX_ROPES]; /* [T][2][rot_dim / 2]: cos row, then sin row */
    const uint32_t
        *seq_first;          /* [S + 1] rows of sequence s are seq_first[s] .. seq_first[s+1] - 1 */
    const uint32_t *seq_len; /* [S] length after this step's rows */
    const uint32_t *state_slot[POWER_GRAPH_MAX_PIECES];  /* [S] RECURRENT, CONV */
    const uint32_t *block_table[POWER_GRAPH_MAX_PIECES]; /* [S][table_stride] KV: entry p / 64 */
    uint32_t table_stride[POWER_GRAPH_MAX_PIECES];
    const uint64_t
        *seq_base_pos[POWER_GRAPH_MAX_PIECES]; /* [S] RECURRENT: position of plane `base` */
    uint32_t undo_rows;
    const uint32_t *out_rows; /* [O] ascending rows */
    const struct power_state_command *commands;
    uint32_t n_commands;
};

/* Bytes of state, for pricing and for the pools. */
struct power_piece_bytes {
    uint64_t block_bytes;        /* KV: one block of 64 tokens, all layers */
    uint64_t slot_bytes;         /* RECURRENT, CONV: one sequence, all layers */
    uint64_t export_row_bytes;   /* canonical bytes of one position (KV, CONV), all layers */
    uint64_t export_fixed_bytes; /* canonical bytes independent of length (RECURRENT head plane) */
};

struct power_plan_limits {
    uint32_t max_rows, max_seqs, max_outs; /* T, S, O */
    uint32_t max_blocks_per_seq;           /* B */
    uint32_t undo_rows, step_rows;         /* of one sequence, GRAPH.md "State" */
    int64_t max_dims[POWER_SYM_COUNT];     /* bind-time symbols; 0 where unused */
    bool fusion;
};

struct power_plan_info {
    uint64_t scratch_bytes; /* exact, taken at compile */
    uint64_t state_block_bytes_total;
    uint32_t n_phases, n_steps;
};

/* Value bound to memory for a run: graph inputs and outputs. */
struct power_binding {
    power_value value;
    struct power_device_buffer *buffer;
    uint64_t offset, length_bytes;
};

struct power_run {
    const struct power_step *step; /* NULL for graphs without step metadata */
    int64_t dims[POWER_SYM_COUNT]; /* run-time and bind-time symbols in force */
    const struct power_binding *bindings;
    uint32_t n_bindings;
    /* State pools, one buffer a piece: KV blocks or slots at index * block_bytes / slot_bytes. */
    struct power_device_buffer *const *pools;
    /* [T] uint32: 0, or op index + 1 of the first operator that met a number that is not finite in
     * that row. May be NULL. */
    struct power_device_buffer *row_faults;
};

struct power_device_base {
    const struct power_device_ops *ops;
    const power_allocator *allocator;
    const char *kind;      /* "cpu", "apart" (test device) */
    char description[128]; /* "cpu avx512-vnni, 2 threads" */
    bool wraps_host;       /* buffer_wrap works: host memory is device memory */
};

struct power_device_ops {
    void (*close)(struct power_device *device);
    power_status (*buffer_create)(struct power_device *device, uint64_t bytes,
                                  struct power_device_buffer **out, power_error *error);
    power_status (*buffer_wrap)(struct power_device *device, const void *host, uint64_t bytes,
                                struct power_device_buffer **out, power_error *error);
    void (*buffer_destroy)(struct power_device *device, struct power_device_buffer *buffer);
    power_status (*upload)(struct power_device *device, struct power_device_buffer *buffer,
                           uint64_t offset, const void *host, uint64_t bytes, power_error *error);
    power_status (*download)(struct power_device *device, const struct power_device_buffer *buffer,
                             uint64_t offset, void *host, uint64_t bytes, power_error *error);
    power_status (*fill)(struct power_device *device, struct power_device_buffer *buffer,
                         uint64_t offset, uint8_t value, uint64_t bytes, power_error *error);

    /* Packing: recipe 0 means raw is best; else the packed size of one whole weight. `units` can be
     * packed independently, from any thread, reading `raw` host bytes into the buffer. */
    uint32_t (*pack_recipe)(struct power_device *device, enum power_dtype dtype, uint64_t rows,
                            uint64_t cols, uint32_t slices, uint64_t *out_bytes,
                            uint64_t *out_units);
    power_status (*pack)(struct power_device *device, const struct power_device_weight *weight,
                         const void *raw_host, uint64_t first_unit, uint64_t n_units,
                         power_error *error);

    power_status (*piece_bytes)(struct power_device *device, const struct power_piece *piece,
                                const struct power_plan_limits *limits,
                                struct power_piece_bytes *out, power_error *error);
    /* Everything a run needs is allocated here. The graph and the table must outlive the plan. */
    power_status (*plan_compile)(struct power_device *device, const struct power_graph *graph,
                                 const struct power_weight_table *weights,
                                 const struct power_plan_limits *limits, struct power_plan **out,
                                 power_error *error);
    void (*plan_destroy)(struct power_device *device, struct power_plan *plan);
    void (*plan_info)(const struct power_plan *plan, struct power_plan_info *out);
    /* Submits; host arrays of the step are copied before it returns. One run at a time per plan. */
    power_status (*submit)(struct power_device *device, struct power_plan *plan,
                           const struct power_run *run, power_error *error);
    /* Waits for everything submitted. */
    power_status (*wait)(struct power_device *device, power_error *error);
};

static inline struct power_device_base *power_device_base(struct power_device *device) {
    return (struct power_device_base *)(void *)device;
}

/* ---- the CPU device (device/cpu/) ---- */
enum power_cpu_feature { /* bits of a mask; a path is used when all its bits are allowed and present
                          */
                         POWER_CPU_AVX2 = 1,   /* AVX2, FMA and F16C */
                         POWER_CPU_AVX512 = 2, /* F, BW, DQ, VL */
                         POWER_CPU_AVX512_VNNI = 4,
                         POWER_CPU_AMX_INT8 = 8,
                         POWER_CPU_NEON = 16,
                         POWER_CPU_AVX_VNNI = 32,
                         POWER_CPU_DOTPROD = 64, /* Arm: sdot */
                         POWER_CPU_I8MM = 128    /* Arm: usdot */
};
/* Paths that the project's tests run under an emulator only: the device uses one when its self-test
 * at open gives the reference's bits (cpu/self_test.h). */
#define POWER_CPU_SELF_TESTED (POWER_CPU_NEON | POWER_CPU_DOTPROD | POWER_CPU_I8MM)
/* What the processor and the operating system allow. */
uint32_t power_cpu_features(void);

struct power_cpu_options {
    uint32_t threads;      /* 0: power_usable_cpus() */
    uint32_t feature_mask; /* UINT32_MAX: all; 0: reference kernels only */
    bool apart;            /* the test device: memory of its own, poison on release */
};
power_status power_cpu_device_open(const power_allocator *allocator,
                                   const struct power_cpu_options *options,
                                   struct power_device **out, power_error *error) POWER_MUST_USE;
/* Counters for tests: plans compiled, downloads, uploads, host accesses are impossible by design.
 */
struct power_device_counters {
    uint64_t plans_compiled, uploads, downloads, runs;
};
void power_cpu_device_counters(struct power_device *device, struct power_device_counters *out);

#endif
