/* SPDX-License-Identifier: MIT */
/* The engine: one compiled plan, its state pools, and the thread that runs steps of many sequences.
 * Input: jobs of sessions. Output: logits, tokens, changed state. Owner: a model, one engine a KV
 * type. Threads: the scheduler thread owns everything but what `mutex` guards. Bounds: limits at
 * creation; between schedule and commit nothing allocates. */
#ifndef POWER_ENGINE_ENGINE_H
#define POWER_ENGINE_ENGINE_H

#include <stdatomic.h>

#include "engine/budget.h"
#include "engine/constrain.h"
#include "engine/sampler.h"
#include "engine/schedule.h"
#include "engine/state.h"
#include "family/family.h"
#include "os/os.h"

#define POWER_TOKEN_RING 16u

struct power_engine;
struct power_sequence;

/* ---- jobs ---- */
enum power_job_kind {
    POWER_JOB_OPEN,
    POWER_JOB_CLOSE,
    POWER_JOB_EVALUATE,
    POWER_JOB_GENERATE,
    POWER_JOB_TRUNCATE,
    POWER_JOB_FORK,
    POWER_JOB_SAVE,
    POWER_JOB_LOAD
};

struct power_token {
    uint32_t id;
    float logprob;
    power_top_logprob top[POWER_MAX_TOP_LOGPROBS]; /* as many as the call wants */
};

/* A call, on its caller's stack. The scheduler's from power_engine_post until `done`; the ring,
 * `acked`, `stop` and `done` are guarded by the engine's mutex. */
struct power_job {
    enum power_job_kind kind;
    struct power_sequence *sequence; /* OPEN, FORK: written by the scheduler */
    struct power_cond *cond;         /* the session's */
    _Atomic(int) *cancel;            /* the session's; may be NULL */
    struct power_job *next;

    const uint32_t *ids; /* EVALUATE, GENERATE */
    uint32_t n_ids;
    const uint32_t *rows; /* EVALUATE */
    uint32_t n_rows;
    float *out_logits;
    const power_generate_options *generate; /* GENERATE; checked by power_request_generate */
    struct power_constrained *constrained;  /* GENERATE; NULL: free */
    bool streams;                           /* tokens go through the ring */
    uint32_t n_top;                         /* alternatives of each */

    uint32_t length;               /* TRUNCATE, LOAD */
    uint32_t context, chunk_rows;  /* OPEN */
    uint32_t *tokens;              /* OPEN, FORK: [context], the session's */
    struct power_sequence *source; /* FORK */
    unsigned char *bytes;          /* SAVE: where the pieces go */
    const unsigned char *saved; /* LOAD: the pieces; the ids are in the session's tokens already */
    size_t n_bytes;

    power_generate_result result; /* GENERATE */
    power_status status;
    power_error error;
    bool done;

    struct power_token ring[POWER_TOKEN_RING];
    uint32_t pushed, popped; /* counters; element i at ring[i % POWER_TOKEN_RING] */
    uint32_t acked;
    bool stop;
};

/* ---- sequences ---- */

/* Progress of the job that a sequence is busy with. */
struct power_ticket {
    struct power_job *job; /* NULL: idle */
    uint64_t order;        /* of arrival */
    uint64_t started_ns, prefilled_ns;
    uint32_t start;  /* length when the job came */
    uint32_t fed;    /* prompt rows committed */
    uint32_t n_ids;  /* prompt rows; 1 when the last token is fed again */
    uint32_t wanted; /* EVALUATE: rows delivered */
    bool needs_shadow, holds_shadow;
    bool feeds_again; /* GENERATE without a prompt */
    bool decoding;
    uint32_t token; /* decoding: sampled, not yet in the state */
    uint32_t n_output;
};

struct power_sequence {
    bool used;
    uint32_t index;
    uint32_t chunk_rows;
    bool long_rope;
    uint32_t *tokens; /* [context], the session's; [length ..] is written ahead by prepare */
    struct power_seq_state state;
    struct power_ticket ticket;
};

/* ---- one step ---- */
struct power_batch_share {
    struct power_sequence *sequence;
    uint32_t first_row, n_rows;
    uint32_t first_out, n_outs;
    power_status status; /* of this sequence alone */
    uint32_t fault;      /* operator index + 1 */
    struct power_token sampled;
    bool samples;
};

struct power_batch {
    struct power_demand *demands;        /* [max_seqs] */
    struct power_sequence **demand_seqs; /* [max_seqs] */
    struct power_share *plan;            /* [max_seqs] */
    struct power_batch_share *shares;    /* [max_seqs] */
    uint32_t n_shares;
    uint32_t n_rows, n_outs;
    uint32_t *ids, *row_seq, *row_pos; /* [max_rows] */
    float *rope[POWER_GRAPH_MAX_ROPES];
    uint32_t *seq_first, *seq_len;              /* [max_seqs + 1], [max_seqs] */
    uint32_t *slots[POWER_GRAPH_MAX_PIECES];    /* [max_seqs] */
    uint32_t *tables[POWER_GRAPH_MAX_PIECES];   /* [max_seqs][max_table] */
    uint64_t *base_pos[POWER_GRAPH_MAX_PIECES]; /* [max_seqs] */
    uint32_t *out_rows;                         /* [max_outs] */
    power_error error;                          /* of the last share that failed alone */
};

/* ---- the engine ---- */
struct power_engine_options {
    const power_allocator *allocator;
    struct power_device *device;
    struct power_graph *graph; /* taken, also on failure */
    const struct power_weight_table *weights;
    const struct power_hparams *hparams;
    const uint32_t *end_tokens; /* borrowed */
    uint32_t n_end_tokens;
    struct power_budget *budget;
    uint32_t max_sequences, prefill_rows, undo_rows;
    uint64_t max_tokens;   /* 0: as much as is usual and fits */
    uint32_t cpu_features; /* for the sampler */
    bool fusion;
    /* Asked at the start of every call and after every step. May be NULL. */
    power_status (*check)(void *context, power_error *error);
    void *check_context;
    /* Test hook between begin and commit: a status makes every sequence of the step fail. */
    power_status (*inject)(void *context, power_error *error);
    void *inject_context;
};

struct power_engine {
    struct power_engine_options options;
    const power_allocator *allocator;
    struct power_device *device;
    const struct power_device_ops *ops;
    struct power_graph *graph;
    struct power_plan *plan;
    struct power_plan_limits limits;
    struct power_piece_bytes piece_bytes[POWER_GRAPH_MAX_PIECES];
    struct power_state_limits state_limits;
    struct power_state_pool pool;
    uint64_t taken_bytes; /* from the budget */
    uint64_t scratch_bytes;
    uint32_t n_vocab, routed; /* routed: experts used by a row */
    power_value logits;

    struct power_sequence *sequences; /* [max_sequences] */
    struct power_seq_state shadow;
    struct power_sequence *shadow_holder;
    struct power_sampler sampler;
    struct power_batch batch;
    uint32_t rotation; /* where the next step's prefill begins */
    uint64_t n_steps, n_orders;

    /* Row faults [max_rows] u32, then logits [max_outs][n_vocab]: one buffer, one download a step.
     */
    struct power_device_buffer *results;
    uint64_t results_bytes, logits_offset;
    unsigned char *host_results;

    struct power_mutex *mutex;
    struct power_cond *wake;
    struct power_thread *thread;
    struct power_job *queue_head, *queue_tail; /* guarded by mutex, like all below */
    uint32_t n_queued, max_queued;
    uint64_t events; /* posts and acknowledgements */
    bool stop;
    bool idle; /* the scheduler sleeps: tests may then run stages on their own thread */
};

power_status power_engine_create(const struct power_engine_options *options,
                                 struct power_engine **out, power_error *error) POWER_MUST_USE;
/* All sessions are closed. NULL is allowed. */
void power_engine_destroy(struct power_engine *engine);

/* Callers' side (queue.c). Posts and waits; the job's status is returned, its error copied. */
power_status power_engine_call(struct power_engine *engine, struct power_job *job,
                               power_error *error) POWER_MUST_USE;
/* Posts only. POWER_OVERLOADED when the queue is full; then the job is not taken. */
power_status power_engine_post(struct power_engine *engine, struct power_job *job,
                               power_error *error) POWER_MUST_USE;
/* Waits for the next token; false when the job is done and the ring is empty. */
bool power_engine_next(struct power_engine *engine, struct power_job *job, struct power_token *out);
/* The token last taken was delivered; `stop` ends the job after it. */
void power_engine_acknowledge(struct power_engine *engine, struct power_job *job, bool stop);
/* Bytes of the pieces of a sequence of `length` tokens, or UINT64_MAX. */
uint64_t power_engine_state_bytes(const struct power_engine *engine, uint32_t length);
/* Pieces of state whose longrope choice is "long" for this declared context. */
bool power_engine_long_rope(const struct power_engine *engine, uint32_t context);

/* ---- stages; the scheduler thread's ---- */
/* request.c: caller's thread. Limits applied; the job is filled. */
power_status power_request_evaluate(const struct power_engine *engine, const uint32_t *ids,
                                    size_t n_ids, const uint32_t *rows, size_t n_rows,
                                    float *out_logits, struct power_job *out,
                                    power_error *error) POWER_MUST_USE;
power_status power_request_generate(const struct power_engine *engine,
                                    const power_generate_options *options, uint32_t length,
                                    uint32_t context, struct power_job *out,
                                    power_error *error) POWER_MUST_USE;

/* admit.c: a job becomes a ticket, or is done at once. */
void power_admit(struct power_engine *engine, struct power_job *job);
/* Tickets whose session was cancelled or stopped leave; the shadow goes to the next that needs it.
 */
void power_admit_sweep(struct power_engine *engine);
/* jobs.c: jobs on state that need no step. */
power_status power_job_run(struct power_engine *engine, struct power_job *job,
                           power_error *error) POWER_MUST_USE;

/* step.c: true when a step was run. */
bool power_engine_step(struct power_engine *engine);
/* prepare.c */
void power_prepare_demands(struct power_engine *engine, uint32_t *out_n);
void power_prepare(struct power_engine *engine, uint32_t n_planned);
power_status power_batch_init(struct power_engine *engine, power_error *error) POWER_MUST_USE;
void power_batch_finish(struct power_engine *engine);
/* forward.c */
power_status power_forward(struct power_engine *engine, power_error *error) POWER_MUST_USE;
/* Runs pending commands without rows. */
power_status power_forward_flush(void *engine, power_error *error) POWER_MUST_USE;
/* sample.c */
void power_sample(struct power_engine *engine);
/* commit.c: `status` is that of the whole step. */
void power_commit(struct power_engine *engine, power_status status, const power_error *error);
/* The ticket ends: state of a failed call goes back to where it was. */
void power_ticket_finish(struct power_engine *engine, struct power_sequence *sequence,
                         power_status status, const power_error *error);
void power_job_done(struct power_engine *engine, struct power_job *job, power_status status,
                    const power_error *error);

#endif
