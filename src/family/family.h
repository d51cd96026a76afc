/* SPDX-License-Identifier: MIT */
/* Model families: metadata and tensors of a model become a graph.
 * Input: a source (GGUF keys; SafeTensors models are brought to them first) and its weights.
 * Output: hyperparameters and a graph with outputs named "logits". Owner: the model.
 * Threads: one. Bounds: every hyperparameter is checked before use. */
#ifndef POWER_FAMILY_FAMILY_H
#define POWER_FAMILY_FAMILY_H

#include "graph/graph.h"
#include "text/vocab.h"
#include "weights/weights.h"

struct power_hparams {
    char architecture[64];
    uint32_t n_layers, n_vocab, n_embd, n_ff, n_heads, n_kv_heads, k_dim, v_dim;
    uint32_t context_length;
    uint32_t window; /* 0: none */
    uint32_t
        original_context; /* longrope: factors are chosen by the declared context; 0: no choice */
    bool has_recurrent;
};

struct power_family_request {
    const power_allocator *allocator;
    const struct power_source *source;
    const struct power_vocab *vocab; /* may be NULL for vocabulary-less checks */
    struct power_weights *weights;
    enum power_dtype kv_dtype;
};

/* Hyperparameters only: what show and pricing need. */
power_status power_family_hparams(const struct power_source *source, struct power_hparams *out,
                                  power_error *error) POWER_MUST_USE;
/* The graph: input ids, output logits [O, n_vocab]. POWER_UNSUPPORTED names the architecture. */
power_status power_family_build(const struct power_family_request *request,
                                struct power_graph **out_graph, struct power_hparams *out_hparams,
                                power_error *error) POWER_MUST_USE;
/* A SafeTensors source gets GGUF's metadata keys and tensor names. No-op for GGUF. */
power_status power_family_normalise(struct power_source *source, power_error *error) POWER_MUST_USE;

uint32_t power_family_count(void);
const char *power_family_name(uint32_t index);

#endif
