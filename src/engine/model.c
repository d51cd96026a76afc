/* SPDX-License-Identifier: MIT */
/* Opening a model: source, vocabulary, template, hyperparameters, weights, in this order.
 * Input: a path. Output: a model whose files were checked as far as they are needed.
 * Threads: one opens. Bounds: those of the parts; the order frees nothing twice. */
#include "engine/model.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES ((size_t)64 << 20)

void power_model_log(const struct power_model *model, power_log_level level, const char *what,
                     const char *detail) {
    char line[512];
    if (!model->host.log || level > model->host.log_level) return;
    snprintf(line, sizeof line, "%s: %s", what, detail);
    model->host.log(model->host.log_context, level, line);
}

/* Copies a text with a NUL; a missing one stays NULL. */
static power_status keep(struct power_model *model, struct power_text text, const char **out,
                         power_error *error) {
    if (!text.bytes) return POWER_OK;
    *out = power_arena_text(&model->arena, text.bytes, text.length);
    return *out ? POWER_OK : power_fail_memory(error, text.length + 1, "a text of the model");
}

static power_status keep_meta(struct power_model *model, const char *key, const char **out,
                              power_error *error) {
    struct power_text text = {0};
    if (power_meta_text(model->source, key, &text, NULL) != POWER_OK) return POWER_OK;
    return keep(model, text, out, error);
}

/* Names that may lie in the middle of a JSON text get a NUL of their own. */
static power_status keep_names(struct power_model *model, power_error *error) {
    const struct power_source *source = model->source;
    size_t bytes = source->n_tensors * sizeof *model->tensor_names;
    model->tensor_names = power_arena_alloc(&model->arena, source->n_tensors, sizeof(char *));
    if (!model->tensor_names) return power_fail_memory(error, bytes, "tensor names");
    power_status status = POWER_OK;
    for (uint32_t i = 0; status == POWER_OK && i < source->n_tensors; i++) {
        status = keep(model, source->tensors[i].name, &model->tensor_names[i], error);
    }
    return status;
}

/* With metadata_only a vocabulary or hyperparameters that cannot be had are told when asked for. */
static power_status forgive(const struct power_model *model, power_status status,
                            const power_error *found, power_error *error) {
    if (status == POWER_OK) return status;
    if (model->options.metadata_only && status != POWER_NO_MEMORY) return POWER_OK;
    if (error) *error = *found;
    return status;
}

static power_status open_text(struct power_model *model, power_error *error) {
    power_status status =
        power_family_hparams(model->source, &model->hparams, &model->hparams_error);
    model->has_hparams = status == POWER_OK;
    status = forgive(model, status, &model->hparams_error, error);
    if (status != POWER_OK) return status;
    status = power_vocab_create_named(model->host.allocator, model->source,
                                      power_text_of(model->options.pre_tokenizer), &model->vocab,
                                      &model->vocab_error);
    if (status != POWER_OK && model->options.pre_tokenizer) { /* it was asked for by name */
        if (error) *error = model->vocab_error;
        return status;
    }
    status = forgive(model, status, &model->vocab_error, error);
    if (status != POWER_OK) return status;
    status = keep_meta(model, "general.architecture", &model->architecture, error);
    if (status == POWER_OK) status = keep_meta(model, "general.name", &model->name, error);
    if (status == POWER_OK) status = keep_names(model, error);
    return status == POWER_OK ? power_model_open_templates(model, error) : status;
}

power_status power_model_open_weights(struct power_model *model, power_error *error) {
    bool pack = !model->options.no_pack && !model->options.metadata_only;
    struct power_weights_options options = {.pack = pack,
                                            .max_bytes = power_budget_left(model->host.budget),
                                            .threads = model->host.threads,
                                            .progress = model->options.progress,
                                            .progress_context = model->options.progress_context};
    power_status status = power_weights_create(
        model->host.allocator, model->source, model->host.device, &options, &model->weights, error);
    if (status != POWER_OK) return status;
    status = power_model_build(model, POWER_KV_F16, &model->first_graph, error);
    if (status == POWER_OK) status = power_weights_commit(model->weights, error);
    if (status != POWER_OK) return status;
    uint64_t bytes = power_weights_memory(model->weights);
    if (!power_budget_take(model->host.budget, bytes)) {
        return power_fail(error, POWER_NO_MEMORY,
                          "weights take %llu bytes, %llu are left of \"max_memory_bytes\"",
                          (unsigned long long)bytes,
                          (unsigned long long)power_budget_left(model->host.budget));
    }
    model->weights_taken = bytes;
    return POWER_OK;
}

static power_status open_parts(struct power_model *model, const char *path, power_error *error) {
    struct power_source_options options = {.use_mmap =
                                               model->host.may_map && !model->options.no_mmap,
                                           .max_file_bytes = model->host.max_file_bytes};
    power_status status = power_mutex_create(&model->mutex, model->host.allocator, error);
    if (status == POWER_OK) status = power_model_digest_init(model, error);
    if (status == POWER_OK) {
        status = power_source_open(model->host.allocator, path, &options, &model->source, error);
    }
    if (status == POWER_OK) status = power_family_normalise(model->source, error);
    if (status == POWER_OK) status = open_text(model, error);
    if (status == POWER_OK) status = power_model_digest_start(model, error);
    if (status == POWER_OK && !model->options.metadata_only)
        status = power_model_open_weights(model, error);
    return status;
}

power_status power_model_create(const struct power_model_host *host, const char *path,
                                const power_model_options *options, struct power_model **out,
                                power_error *error) {
    struct power_model *model = power_alloc(host->allocator, 1, sizeof *model);
    if (!model) return power_fail_memory(error, sizeof *model, "a model");
    atomic_store(&model->holders, 1);
    model->host = *host;
    model->options = *options;
    power_counted_init(&model->counted, host->allocator, host->budget);
    power_arena_init(&model->arena, host->allocator, ARENA_BYTES);
    if (options->sha256) {
        model->digest.expects = true;
        snprintf(model->digest.expected, sizeof model->digest.expected, "%s", options->sha256);
        model->options.sha256 = NULL;
    }
    power_status status = open_parts(model, path, error);
    model->options.pre_tokenizer = NULL;
    model->options.progress = NULL; /* opening is over: the caller's context may go */
    if (status != POWER_OK) {
        power_model_destroy(model);
        return status;
    }
    *out = model;
    return POWER_OK;
}

power_status power_model_trie(struct power_model *model, const struct power_token_trie **out,
                              power_error *error) {
    if (!model->vocab) {
        if (error) *error = model->vocab_error;
        return model->vocab_error.status;
    }
    if (power_vocab_info(model->vocab)->n_end_tokens == 0) {
        return power_fail(error, POWER_UNSUPPORTED,
                          "the vocabulary has no end token, a constrained answer could not end");
    }
    power_status status = POWER_OK;
    power_mutex_lock(model->mutex);
    if (!model->trie) {
        status =
            power_token_trie_create(&model->counted.allocator, model->vocab, &model->trie, error);
    }
    if (status == POWER_OK) *out = model->trie;
    power_mutex_unlock(model->mutex);
    return status;
}

void power_model_hold(struct power_model *model) {
    atomic_fetch_add(&model->holders, 1);
}

void power_model_destroy(struct power_model *model) {
    if (!model || atomic_fetch_sub(&model->holders, 1) != 1) return;
    power_model_digest_finish(model);
    for (int i = 0; i < POWER_N_KV_TYPES; i++)
        power_engine_destroy(model->engines[i]);
    power_graph_destroy_internal(model->first_graph);
    power_weights_destroy(model->weights);
    if (model->weights_taken) power_budget_give(model->host.budget, model->weights_taken);
    power_model_close_templates(model);
    power_token_trie_destroy(model->trie);
    power_vocab_destroy(model->vocab);
    power_source_close(model->source);
    power_mutex_destroy(model->mutex);
    power_arena_finish(&model->arena);
    power_release(model->host.allocator, model, 1, sizeof *model);
}
