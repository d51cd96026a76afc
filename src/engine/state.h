/* SPDX-License-Identifier: MIT */
/* State of sequences as transactions over typed pieces (GRAPH.md, "State").
 * Input: the pieces of a graph, limits, a device. Output: block tables, slots, commands for the
 * next plan. Owner: an engine; every sequence's state belongs to its pool. Threads: the scheduler's
 * only. Bounds: everything is allocated with the pool; host calls move tables and counters, never
 * bytes. */
#ifndef POWER_ENGINE_STATE_H
#define POWER_ENGINE_STATE_H

#include "device/device.h"

#define POWER_KV_BLOCK 64u
#define POWER_NO_BLOCK UINT32_MAX

struct power_state_limits {
    uint32_t max_sequences;
    uint32_t max_context; /* of one sequence */
    uint64_t max_tokens;  /* over all sequences, for pieces without a window */
    uint32_t undo_rows, step_rows;
};

/* Blocks (KV) or slots (RECURRENT, CONV) of one piece: free ones on a stack, holders counted. */
struct power_block_pool {
    uint32_t n_blocks, n_free;
    uint32_t *free;    /* [n_blocks], the first n_free are free */
    uint32_t *holders; /* [n_blocks] */
};

struct power_state_pool {
    const power_allocator *allocator;
    struct power_device *device;
    const struct power_piece *pieces; /* [n_pieces], borrowed from the graph */
    uint32_t n_pieces;
    struct power_state_limits limits;
    struct power_piece_bytes bytes[POWER_GRAPH_MAX_PIECES];
    struct power_block_pool blocks[POWER_GRAPH_MAX_PIECES];
    struct power_device_buffer *buffers[POWER_GRAPH_MAX_PIECES];
    uint32_t *tables; /* [max_sequences + 1][n_pieces][max_table] */
    uint32_t max_table;
    uint64_t reserved_tokens;
    bool forgets; /* some piece cannot go back further than undo_rows */
    bool recurs;  /* some piece is RECURRENT or CONV */
    struct power_state_command *commands;
    uint32_t n_commands, max_commands;
    /* Runs the pending commands now (a submit without rows) when the list is about to overflow. */
    power_status (*flush)(void *context, power_error *error);
    void *flush_context;
};

/* What one sequence holds of one piece. */
struct power_piece_state {
    uint32_t *table;     /* KV: [max_table], block of positions 64 i .. 64 i + 63 */
    uint32_t first, end; /* KV: entries [first, end) are held */
    uint32_t begun_end;  /* KV: `end` before begin */
    uint32_t shared;   /* KV: the block replaced by a copy in this transaction, or POWER_NO_BLOCK */
    uint32_t slot;     /* RECURRENT, CONV */
    uint64_t base_pos; /* RECURRENT: position of plane `base` */
};

struct power_seq_state {
    bool open;
    uint32_t context;
    uint32_t reserved; /* tokens counted against the pool's */
    uint32_t length;   /* committed positions */
    uint32_t floor;    /* truncate reaches down to here where a piece forgets */
    uint32_t begun;    /* rows between begin and commit, 0 outside */
    struct power_piece_state pieces[POWER_GRAPH_MAX_PIECES];
};

/* Blocks that a sequence of `context` tokens can hold of a KV piece (GRAPH.md's live span). */
uint32_t power_state_blocks(const struct power_piece *piece, uint32_t context,
                            const struct power_state_limits *limits);
/* Bytes that one sequence of this context takes, all pieces. */
uint64_t power_state_price(const struct power_piece *pieces, uint32_t n_pieces,
                           const struct power_piece_bytes *bytes, uint32_t context,
                           const struct power_state_limits *limits);
/* Bytes of the buffers that a pool of these limits creates; UINT64_MAX on overflow. */
uint64_t power_state_pool_bytes(const struct power_piece *pieces, uint32_t n_pieces,
                                const struct power_piece_bytes *bytes,
                                const struct power_state_limits *limits);

power_status power_state_pool_init(struct power_state_pool *pool, const power_allocator *allocator,
                                   struct power_device *device, const struct power_piece *pieces,
                                   uint32_t n_pieces, const struct power_piece_bytes *bytes,
                                   const struct power_state_limits *limits,
                                   power_error *error) POWER_MUST_USE;
/* Accepts a zeroed or half-built pool. */
void power_state_pool_finish(struct power_state_pool *pool);

/* Binds a state to table `index` (0 .. max_sequences; the last is the shadow's). */
void power_state_bind(struct power_state_pool *pool, struct power_seq_state *seq, uint32_t index);

/* Takes everything that `context` tokens can need. POWER_OVERLOADED with both numbers. */
power_status power_state_open(struct power_state_pool *pool, struct power_seq_state *seq,
                              uint32_t context, power_error *error) POWER_MUST_USE;
/* A place for one snapshot, kept open: it takes a slot, but no tokens; its blocks are shared ones.
 */
power_status power_state_open_shadow(struct power_state_pool *pool, struct power_seq_state *seq,
                                     power_error *error) POWER_MUST_USE;
/* Lets go of what a snapshot holds; its slots are kept and are overwritten by the next one. */
void power_state_clear(struct power_state_pool *pool, struct power_seq_state *seq);
/* Blocks and slots go back; closing what is not open does nothing. */
void power_state_close(struct power_state_pool *pool, struct power_seq_state *seq);

/* Room for n more rows. POWER_CONTEXT_FULL with both numbers. */
power_status power_state_begin(struct power_state_pool *pool, struct power_seq_state *seq,
                               uint32_t n, power_error *error) POWER_MUST_USE;
/* Keeps the first k of the n rows begun: 0 <= k <= n when n <= undo_rows + 1, else k = 0 or
 * k >= n - undo_rows. k = 0 after a failure leaves the pieces as they were. */
void power_state_commit(struct power_state_pool *pool, struct power_seq_state *seq, uint32_t k);
/* True when commit(k) of n begun rows is allowed. */
bool power_state_can_commit(const struct power_state_pool *pool, uint32_t n, uint32_t k);

/* POWER_LIMIT with both numbers when a piece has forgotten that far back. */
power_status power_state_truncate(struct power_state_pool *pool, struct power_seq_state *seq,
                                  uint32_t length, power_error *error) POWER_MUST_USE;
/* `to` (open, empty) becomes what `from` is; blocks are shared until written, slots copied.
 * Used for fork, for snapshots and to go back to one. */
power_status power_state_share(struct power_state_pool *pool, struct power_seq_state *to,
                               const struct power_seq_state *from,
                               power_error *error) POWER_MUST_USE;
/* Back to `from`, a snapshot taken with power_state_share; what `seq` held is let go. */
power_status power_state_restore(struct power_state_pool *pool, struct power_seq_state *seq,
                                 const struct power_seq_state *from,
                                 power_error *error) POWER_MUST_USE;

/* A command for the head of the next plan. Room was made by power_state_room. */
void power_state_command(struct power_state_pool *pool, const struct power_state_command *command);
/* Makes room for n commands, flushing when needed. */
power_status power_state_room(struct power_state_pool *pool, uint32_t n,
                              power_error *error) POWER_MUST_USE;
/* Everything pending was run. */
static inline void power_state_ran(struct power_state_pool *pool) {
    pool->n_commands = 0;
}

/* ---- canonical bytes (state_save.c) ---- */
struct power_state_section {
    uint64_t from, to, offset, bytes;
};
struct power_state_layout {
    struct power_state_section sections[POWER_GRAPH_MAX_PIECES];
    uint64_t total_bytes;
};
/* Which positions and bytes of each piece make up the state; false on overflow. */
bool power_state_layout(const struct power_state_pool *pool, uint32_t length,
                        struct power_state_layout *out);
/* EXPORT commands into `buffer`, in the layout's order. Run by the next flush. */
power_status power_state_export(struct power_state_pool *pool, const struct power_seq_state *seq,
                                const struct power_state_layout *layout,
                                struct power_device_buffer *buffer,
                                power_error *error) POWER_MUST_USE;
/* Room for `length` positions of an empty sequence, and IMPORT commands. What a saved state can
 * take back ends at its length. Truncate to 0 when the flush fails. */
power_status power_state_import(struct power_state_pool *pool, struct power_seq_state *seq,
                                uint32_t length, const struct power_state_layout *layout,
                                struct power_device_buffer *buffer,
                                power_error *error) POWER_MUST_USE;

/* ---- one kind of piece (state_kv.c, state_slot.c); for state.c ---- */
power_status power_blocks_init(struct power_block_pool *blocks, const power_allocator *allocator,
                               uint32_t n_blocks, power_error *error) POWER_MUST_USE;
void power_blocks_finish(struct power_block_pool *blocks, const power_allocator *allocator);
/* POWER_NO_BLOCK when none is free. */
uint32_t power_blocks_take(struct power_block_pool *blocks);
void power_blocks_hold(struct power_block_pool *blocks, uint32_t block);
void power_blocks_drop(struct power_block_pool *blocks, uint32_t block);

bool power_kv_begin(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                    uint32_t n);
void power_kv_commit(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                     uint32_t k);
void power_kv_trim(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                   uint32_t length);
void power_kv_drop_before(struct power_state_pool *pool, uint32_t piece,
                          struct power_seq_state *seq, uint32_t position);
void power_kv_share(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *to,
                    const struct power_seq_state *from);
/* First position that a KV piece must still hold when truncate may go down to `floor`. */
uint32_t power_kv_first_needed(const struct power_piece *piece, uint32_t floor);

bool power_slot_open(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq);
void power_slot_begin(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                      uint32_t n);
void power_slot_commit(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                       uint32_t k);
void power_slot_truncate(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *seq,
                         uint32_t length);
void power_slot_share(struct power_state_pool *pool, uint32_t piece, struct power_seq_state *to,
                      const struct power_seq_state *from);

#endif
