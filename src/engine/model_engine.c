/* SPDX-License-Identifier: MIT */
/* The engines of a model: one a KV type, each with its graph and plan, all on the same weights.
 * Input: a KV type. Output: an engine. Threads: any; made under the model's mutex.
 * Bounds: three engines; state and scratch from the runtime's budget. */
#include "engine/model.h"

static enum power_dtype dtype_of(power_kv_type kv_type) {
    switch (kv_type) {
    case POWER_KV_F32:
        return POWER_DTYPE_F32;
    case POWER_KV_Q8_0:
        return POWER_DTYPE_Q8_0;
    case POWER_KV_F16:
        break;
    }
    return POWER_DTYPE_F16;
}

/* Blocks of 32 lie inside a token and head, so 32 has to divide both. */
static power_status check_kv(const struct power_model *model, power_kv_type kv_type,
                             power_error *error) {
    const struct power_hparams *h = &model->hparams;
    if (kv_type != POWER_KV_F16 && kv_type != POWER_KV_F32 && kv_type != POWER_KV_Q8_0) {
        return power_fail(error, POWER_INVALID, "\"kv_type\" is %d, known are 0, 1 and 2",
                          (int)kv_type);
    }
    if (kv_type != POWER_KV_Q8_0 || (h->k_dim % 32 == 0 && h->v_dim % 32 == 0)) return POWER_OK;
    return power_fail(error, POWER_UNSUPPORTED,
                      "q8_0 KV needs a head size that 32 divides, this model has %u and %u",
                      h->k_dim, h->v_dim);
}

power_status power_model_build(struct power_model *model, power_kv_type kv_type,
                               struct power_graph **out, power_error *error) {
    struct power_family_request request = {.allocator = model->host.allocator,
                                           .source = model->source,
                                           .vocab = model->vocab,
                                           .weights = model->weights,
                                           .kv_dtype = dtype_of(kv_type)};
    struct power_hparams
        hparams; /* the model's own were read at open, and others may be reading them */
    return power_family_build(&request, out, &hparams, error);
}

power_status power_model_check(void *context, power_error *error) {
    struct power_model *model = context;
    if (atomic_load(&model->digest.mismatch)) {
        return power_model_mismatch(model, error);
    }
    return power_source_check(model->source, error);
}

static power_status make_engine(struct power_model *model, power_kv_type kv_type,
                                struct power_engine **out, power_error *error) {
    struct power_graph *graph = NULL;
    power_status status = POWER_OK;
    if (kv_type == POWER_KV_F16 && model->first_graph) {
        graph = model->first_graph;
        model->first_graph = NULL;
    } else {
        status = power_model_build(model, kv_type, &graph, error);
    }
    if (status != POWER_OK) return status;
    const struct power_vocab_info *info = power_vocab_info(model->vocab);
    struct power_engine_options options = {.allocator = model->host.allocator,
                                           .device = model->host.device,
                                           .graph = graph,
                                           .weights = power_weights_table(model->weights),
                                           .hparams = &model->hparams,
                                           .end_tokens = info->end_tokens,
                                           .n_end_tokens = info->n_end_tokens,
                                           .budget = model->host.budget,
                                           .max_sequences = model->options.max_sequences,
                                           .prefill_rows = model->options.prefill_rows,
                                           .undo_rows = model->options.undo_rows,
                                           .max_tokens = model->options.max_tokens,
                                           .cpu_features = model->host.cpu_features,
                                           .fusion = !model->options.no_fusion,
                                           .check = power_model_check,
                                           .check_context = model};
    return power_engine_create(&options, out, error);
}

static power_status get_engine(struct power_model *model, power_kv_type kv_type,
                               struct power_engine **out, power_error *error) {
    power_status status = check_kv(model, kv_type, error);
    if (status != POWER_OK) return status;
    power_mutex_lock(model->mutex);
    struct power_engine **engine = &model->engines[kv_type];
    if (!model->weights) status = power_model_open_weights(model, error);
    if (status == POWER_OK && !*engine) status = make_engine(model, kv_type, engine, error);
    if (status == POWER_OK) *out = *engine;
    power_mutex_unlock(model->mutex);
    return status;
}

power_status power_model_engine(struct power_model *model, power_kv_type kv_type,
                                struct power_engine **out, power_error *error) {
    if (model->options.metadata_only) {
        return power_fail(error, POWER_STATE, "the model was opened with metadata_only");
    }
    return get_engine(model, kv_type, out, error);
}

power_status power_model_priced(struct power_model *model, power_kv_type kv_type,
                                struct power_engine **out, power_error *error) {
    const power_error *missing = !model->has_hparams ? &model->hparams_error
                                 : !model->vocab     ? &model->vocab_error
                                                     : NULL;
    if (missing) {
        if (error) *error = *missing;
        return missing->status;
    }
    return get_engine(model, kv_type, out, error);
}
