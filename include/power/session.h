/* SPDX-License-Identifier: MIT */
/* A session: one sequence's state on a model, used by one thread at a time.
 * Sessions of one model run together in batches; no session's bits depend on another.
 * Threads: different sessions may be used from different threads at once; one session by one at a
 * time, except power_session_cancel, which any thread may call. */
#ifndef POWER_SESSION_H
#define POWER_SESSION_H

#include "power/constraint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct power_session power_session;

typedef struct power_session_options {
    size_t struct_size;
    uint32_t context; /* tokens this session can hold; reserved at open; 0: smaller of trained and
                         4096 */
    power_kv_type kv_type; /* default F16 */
    uint32_t chunk_rows; /* prefill rows of this session in one step; 0: the model's prefill_rows */
    int beyond_trained;  /* 1: a context longer than the model was trained for is allowed */
} power_session_options;

POWER_API void power_session_options_init(power_session_options *options);

/* POWER_OVERLOADED when the model's sequences or tokens are taken (both numbers in the message);
 * POWER_LIMIT when the context exceeds what the model was trained for (unless beyond_trained) or
 * max_tokens;
 * POWER_UNSUPPORTED for a KV type that the model's head size does not allow. */
POWER_API POWER_MUST_USE power_status power_session_open(power_model *model,
                                                         const power_session_options *options,
                                                         power_session **out_session,
                                                         power_error *error);
/* NULL is allowed. */
POWER_API void power_session_close(power_session *session);

POWER_API uint32_t power_session_length(const power_session *session);  /* tokens in the state */
POWER_API uint32_t power_session_context(const power_session *session); /* tokens it can hold */
/* The ids in the state, oldest first; valid until the session's next call. */
POWER_API const uint32_t *power_session_tokens(const power_session *session);

/* Appends `n_ids` tokens. For each of the `n_rows` row numbers (0 .. n_ids - 1, ascending) one row
 * of n_vocab logits is written to out_logits ([n_rows][n_vocab] floats). On failure the state is as
 * before. POWER_CONTEXT_FULL with both numbers; POWER_INVALID for an id beyond the vocabulary;
 * POWER_NOT_FINITE naming the operator; POWER_CANCELLED; POWER_CHANGED. */
POWER_API POWER_MUST_USE power_status power_session_evaluate(power_session *session,
                                                             const uint32_t *ids, size_t n_ids,
                                                             const uint32_t *rows, size_t n_rows,
                                                             float *out_logits, power_error *error);
/* Takes tokens back: length becomes `length`. KV-only models: any length unless a window dropped
 * it; models with recurrent state: at most undo_rows below the current length, or 0. POWER_LIMIT
 * with both numbers. */
POWER_API POWER_MUST_USE power_status power_session_truncate(power_session *session,
                                                             uint32_t length, power_error *error);
/* A second session with the same state; blocks are shared until written. Reserves like an open, and
 * fails like one: POWER_OVERLOADED. */
POWER_API POWER_MUST_USE power_status power_session_fork(power_session *session,
                                                         power_session **out_session,
                                                         power_error *error);
/* The state as bytes that any build on any instruction set can load (same model and KV type).
 * *out_bytes gets the size needed; POWER_LIMIT when capacity is smaller, so NULL with capacity 0
 * asks for it. */
POWER_API POWER_MUST_USE power_status power_session_save(power_session *session, void *out,
                                                         size_t capacity, size_t *out_bytes,
                                                         power_error *error);
/* Into an empty session (else POWER_STATE). POWER_CORRUPT; POWER_MISMATCH: another model, KV type
 * or longrope choice; POWER_CONTEXT_FULL with both numbers. */
POWER_API POWER_MUST_USE power_status power_session_load(power_session *session, const void *bytes,
                                                         size_t length, power_error *error);

/* ---- generation ---- */

typedef struct power_bias {
    uint32_t id;
    float bias;
} power_bias;

/* A value out of its range is POWER_INVALID where it is used. */
typedef struct power_sampling {
    size_t struct_size;
    float temperature;                         /* 0: greedy; else 0.0001 to 1000 */
    uint32_t top_k;                            /* 0: off */
    float top_p;                               /* >= 1: off; not below 0 */
    float min_p;                               /* 0: off; at most 1 */
    float repetition_penalty;                  /* 1: off; 0.001 to 1000 */
    float presence_penalty, frequency_penalty; /* 0: off; -1000 to 1000 */
    const power_bias *biases;                  /* borrowed for the call; each within 1e6 */
    size_t n_biases;
    uint64_t seed; /* default 0; the same seed, state and options give the same answer. Draws count
                      from the start of each call: calls that follow one another want other seeds */
    uint32_t choice; /* index of this answer among several to the same prompt */
} power_sampling;
/* Stated defaults: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, penalties off, seed 0. */
POWER_API void power_sampling_init(power_sampling *sampling);
/* The same, then what the model's file says (general.sampling.*, generation_config.json). */
POWER_API POWER_MUST_USE power_status power_model_sampling(const power_model *model,
                                                           power_sampling *out_sampling,
                                                           power_error *error);

typedef enum power_finish {
    POWER_FINISH_STOP = 0,    /* an end token, a stop id or a stop string */
    POWER_FINISH_LENGTH = 1,  /* max_tokens */
    POWER_FINISH_CONTEXT = 2, /* the context is full */
    POWER_FINISH_CALLBACK = 3 /* the callback asked to stop */
} power_finish;

#define POWER_MAX_TOP_LOGPROBS 20

typedef struct power_top_logprob {
    uint32_t id;
    float logprob;
} power_top_logprob;

/* A token of an answer, and the text that is certain with it: whole characters of valid UTF-8
 * (bytes that cannot become valid are U+FFFD by the WHATWG rule), perhaps none. Text that a stop
 * string could still match waits, and comes with the token that settles it. What is left at the end
 * comes as one more delta, of no token: its id is UINT32_MAX. The texts of all deltas in a row are
 * the answer. Everything lives during the call. */
typedef struct power_delta {
    uint32_t id;
    const char *text;
    size_t text_bytes;
    float logprob; /* natural log of the raw probability: before constraint, bias, penalties */
    /* What the token itself adds, before characters are put together: the bytes of all tokens in a
     * row decode to the answer (and to the stop string that ended it). None for a control token
     * that is not shown. */
    const char *token_bytes;
    size_t n_token_bytes;
    /* Where in the answer's text the token begins, in bytes; a token that begins inside a
     * character has that character's place. At or beyond the answer's end it is a stop string's. */
    uint64_t text_offset;
    /* The n_top_logprobs most probable tokens, best first, equal ones by id. */
    const power_top_logprob *top;
    size_t n_top;
} power_delta;

typedef struct power_stop_text { /* a stop string; need not end with NUL */
    const char *text;
    size_t text_bytes;
} power_stop_text;

typedef struct power_generate_options {
    size_t struct_size;
    /* Appended to the state first. May be empty when the state is not: its last token is then fed
     * again, which is POWER_LIMIT where it cannot be taken back (see power_session_truncate), as
     * right after a load with windows or recurrent state. */
    const uint32_t *ids;
    size_t n_ids;
    power_sampling sampling;
    uint32_t max_tokens; /* 0: until the context is full */
    const uint32_t *stop_ids;
    size_t n_stop_ids;
    int ignore_end_tokens; /* 1: the model's own end tokens do not stop */
    int show_special;      /* 1: control tokens appear in the text */
    /* Called on the calling thread for each token but the one that ends the answer by its id;
     * nonzero stops after this token (what was held back may still follow). Other calls on this
     * session but power_session_cancel fail with POWER_STATE in here. May be NULL. */
    int (*on_delta)(void *context, const power_delta *delta);
    void *context;
    /* The answer ends before the first of these in its text: the one that ends first, of several
     * that end together the longest. A string that is a control token's spelling ends it at that
     * token, though it gives no text. UTF-8, not empty; at most 4096 of 4 MiB together
     * (POWER_LIMIT). Borrowed for the call. */
    const power_stop_text *stops;
    size_t n_stops;
    uint32_t n_top_logprobs; /* alternatives of each delta, at most POWER_MAX_TOP_LOGPROBS */
    /* The answer is a text of this language, or its beginning where a limit cut it (see
     * power/constraint.h). Opened on the same model; excludes ignore_end_tokens. May be NULL. */
    power_constraint *constraint;
    /* The constraint begins after the first place where the answer has this text (in control
     * tokens' spellings too, shown or not), say "</think>". Until then the model is free, but for
     * its end tokens and stop ids, which are not chosen. NULL: at once. */
    const char *constraint_after;
    /* What of the language's text stands already at the end of the prompt, or was written by the
     * call before this one: the constraint goes on behind it. POWER_INVALID when it is no beginning
     * of one. Excludes constraint_after. NULL: nothing. */
    const char *constraint_prefix;
    size_t constraint_prefix_bytes;
} power_generate_options;
POWER_API void power_generate_options_init(power_generate_options *options);

typedef struct power_generate_result {
    size_t struct_size;
    power_finish finish;
    /* With a constraint, the answer is a whole text of its language where this is an end token. */
    uint32_t end_id; /* the token that stopped it, UINT32_MAX if none; not in the text */
    uint32_t prompt_tokens;
    uint32_t output_tokens; /* chosen, those of a stop string and the one that ended it included */
    uint64_t prefill_ns, first_token_ns,
        decode_ns; /* first_token: from the call to the first delta */
    uint32_t stop; /* the stop string that ended it, as an index; UINT32_MAX if none */
} power_generate_result;

/* Appends the prompt ids, then samples token after token. All emitted tokens but possibly the last
 * are in the state afterwards (the next call's prompt continues from there; power_session_length
 * tells). To go on with an answer that was cut, give the last id as the prompt when it is not in
 * the state: a call without ids samples that position again. out_result may be NULL; the caller
 * sets its struct_size. A prompt that does not fit is POWER_CONTEXT_FULL with both numbers; nothing
 * is dropped. POWER_INVALID: an option; POWER_LIMIT: a budget of the constraint; POWER_CANCELLED;
 * POWER_NOT_FINITE; POWER_CHANGED; POWER_STATE: another call of this session is under way. On
 * failure the state is as it was before the token that failed. */
POWER_API POWER_MUST_USE power_status power_generate(power_session *session,
                                                     const power_generate_options *options,
                                                     power_generate_result *out_result,
                                                     power_error *error);
/* Any thread: the running call on this session, or the next one when none runs, ends with
 * POWER_CANCELLED within one step. */
POWER_API void power_session_cancel(power_session *session);

/* ---- embeddings ---- */
/* Pooled embedding of a token list for models that can: n_embd floats. POWER_UNSUPPORTED otherwise;
 * none of the architectures of this version can. */
POWER_API POWER_MUST_USE power_status power_embed(power_model *model, const uint32_t *ids,
                                                  size_t n_ids, float *out_embedding,
                                                  size_t capacity, power_error *error);

#ifdef __cplusplus
}
#endif
#endif
