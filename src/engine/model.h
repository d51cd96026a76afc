/* SPDX-License-Identifier: MIT */
/* A model inside: its source, vocabulary, template, weights, digest, and an engine a KV type.
 * Input: a path and options. Output: an immutable model; engines made when first asked for.
 * Owner: the public handle. Threads: any; `mutex` guards the engines, `digest.mutex` the digest.
 * Bounds: bytes against the runtime's budget. */
#ifndef POWER_ENGINE_MODEL_H
#define POWER_ENGINE_MODEL_H

#include "engine/counted.h"
#include "engine/engine.h"
#include "text/template.h"
#include "text/vocab.h"

#define POWER_N_KV_TYPES 3

/* What a runtime lends to its models. */
struct power_model_host {
    const power_allocator *allocator;
    struct power_device *device;
    struct power_budget *budget;
    uint32_t threads, cpu_features;
    uint64_t max_file_bytes;
    bool may_map; /* lost pages of mapped files are guarded against */
    power_log_fn log;
    void *log_context;
    power_log_level log_level;
};

enum power_digest_state {
    POWER_DIGEST_NONE = 0,
    POWER_DIGEST_RUNNING,
    POWER_DIGEST_KNOWN,
    POWER_DIGEST_FAILED
};

struct power_model_digest {
    struct power_mutex *mutex;
    struct power_cond *cond;
    struct power_thread *thread;
    enum power_digest_state state; /* guarded by mutex, like value and error */
    struct power_digest value;
    power_error error;
    _Atomic(int) cancel;
    _Atomic(int) mismatch; /* 1: the file is not the one that was asked for */
    bool expects;
    char expected[65];
};

/* A chat template of the model. */
struct power_model_template {
    const char *name, *text;
    struct power_template *compiled; /* NULL: error says why */
    power_error error;
};

struct power_model {
    _Atomic(uint32_t) holders; /* its caller, sessions, constraints */
    struct power_model_host host;
    power_model_options options;
    struct power_source *source;
    struct power_vocab *vocab; /* NULL: vocab_error says why; metadata_only */
    power_error vocab_error;
    struct power_hparams hparams;
    bool has_hparams;
    power_error hparams_error;
    struct power_model_template *templates; /* model_templates.c */
    uint32_t n_templates;
    struct power_arena arena; /* texts of the public info */
    const char *architecture, *name, *chat_template;
    const char **tensor_names; /* [n_tensors] */
    struct power_weights *weights;
    uint64_t weights_taken;          /* from the budget */
    struct power_graph *first_graph; /* F16, until its engine takes it */
    struct power_mutex *mutex;
    struct power_engine *engines[POWER_N_KV_TYPES];
    struct power_counted counted;  /* memory of constraints */
    struct power_token_trie *trie; /* NULL until the first constraint; guarded by mutex */
    struct power_model_digest digest;
};

/* `options` were checked and are copied (their texts are not kept). */
power_status power_model_create(const struct power_model_host *host, const char *path,
                                const power_model_options *options, struct power_model **out,
                                power_error *error) POWER_MUST_USE;
void power_model_hold(struct power_model *model);
/* One holder less; the last one's takes the model down. NULL is allowed. */
void power_model_destroy(struct power_model *model);
/* The tokens that may write constrained text, made at the first call; lives as long as the model.
 * POWER_UNSUPPORTED for a vocabulary that has no end token or cannot write every text. */
power_status power_model_trie(struct power_model *model, const struct power_token_trie **out,
                              power_error *error) POWER_MUST_USE;

/* model_engine.c: the graph of one KV type; weights are registered once, whatever the type. */
power_status power_model_build(struct power_model *model, power_kv_type kv_type,
                               struct power_graph **out, power_error *error) POWER_MUST_USE;
/* The engine of a KV type, made at the first call. */
power_status power_model_engine(struct power_model *model, power_kv_type kv_type,
                                struct power_engine **out, power_error *error) POWER_MUST_USE;
/* The same for pricing alone, also with metadata_only: then weights are bound but not packed. */
power_status power_model_priced(struct power_model *model, power_kv_type kv_type,
                                struct power_engine **out, power_error *error) POWER_MUST_USE;
/* Registers, brings and packs the tensors of the family's graph. */
power_status power_model_open_weights(struct power_model *model, power_error *error) POWER_MUST_USE;
/* POWER_CHANGED or POWER_MISMATCH when the files are not, or no longer, what was opened. Any
 * thread. */
power_status power_model_check(void *model, power_error *error) POWER_MUST_USE;

/* model_digest.c */
power_status power_model_digest_init(struct power_model *model, power_error *error) POWER_MUST_USE;
/* By options.verify: now, in the background, or not at all. */
power_status power_model_digest_start(struct power_model *model, power_error *error) POWER_MUST_USE;
power_status power_model_digest_get(struct power_model *model, struct power_digest *out,
                                    power_error *error) POWER_MUST_USE;
void power_model_digest_finish(struct power_model *model);
/* Fails with both digests, once they are known to differ. */
power_status power_model_mismatch(struct power_model *model, power_error *error) POWER_MUST_USE;
/* Digest of names, types and shapes alone, for verify = never. */
power_status power_model_outline(const struct power_model *model, struct power_digest *out,
                                 power_error *error) POWER_MUST_USE;

/* "what: detail", when the runtime's log wants this level. */
void power_model_log(const struct power_model *model, power_log_level level, const char *what,
                     const char *detail);

/* ---- saved.c: a saved state's header and digest around the pieces ---- */
struct power_saved {
    uint32_t length;
    bool long_rope;
    power_kv_type kv_type;
    size_t ids_offset, pieces_offset, pieces_bytes, total_bytes;
};
/* Where things lie in a saved state of this length; POWER_LIMIT on overflow. */
power_status power_saved_layout(const struct power_engine *engine, uint32_t length,
                                struct power_saved *out, power_error *error) POWER_MUST_USE;
/* Writes header, ids and the digest at the end; the pieces are in place already. */
power_status power_saved_seal(struct power_model *model, const struct power_saved *saved,
                              const uint32_t *ids, unsigned char *bytes,
                              power_error *error) POWER_MUST_USE;
/* Checks everything. POWER_CORRUPT with the offset, POWER_MISMATCH naming what differs. */
power_status power_saved_open(struct power_model *model, const struct power_engine *engine,
                              power_kv_type kv_type, bool long_rope, const unsigned char *bytes,
                              size_t length, struct power_saved *out,
                              power_error *error) POWER_MUST_USE;
/* Ids of a checked saved state. */
void power_saved_ids(const struct power_saved *saved, const unsigned char *bytes, uint32_t *out);

/* model_templates.c. Names: "default" for the plain one, else as the files say. */
power_status power_model_open_templates(struct power_model *model,
                                        power_error *error) POWER_MUST_USE;
void power_model_close_templates(struct power_model *model);
/* `name`, or by the rule: "tool_use" where there is one and tools are given, else "default". */
power_status power_model_choose_template(const struct power_model *model, const char *name,
                                         bool tools, const struct power_template **out,
                                         power_error *error) POWER_MUST_USE;

#endif
