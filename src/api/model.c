/* SPDX-License-Identifier: MIT */
/* Public functions on models: arguments checked, then inward.
 * Input: handles and options of callers. Output: models, facts, digests, prices.
 * Threads: any. Bounds: those of the engine's model. */
#include <string.h>

#include "api/runtime.h"

void power_model_options_init(power_model_options *options) {
    if (!options) return;
    *options = (power_model_options){.struct_size = sizeof *options,
                                     .verify = POWER_VERIFY_ONCE,
                                     .max_sequences = 16,
                                     .prefill_rows = 512,
                                     .undo_rows = 16};
}

static power_status check_digest_text(const char *sha256, power_error *error) {
    if (!sha256) return POWER_OK;
    if (strspn(sha256, "0123456789abcdefABCDEF") == 64 && sha256[64] == '\0') return POWER_OK;
    return power_fail(error, POWER_INVALID, "\"sha256\" is not 64 hexadecimal digits");
}

static power_status check_options(const power_model_options *o, power_error *error) {
    const struct {
        uint64_t value, low, high;
        const char *name;
    } ranges[] = {
        {(uint64_t)o->verify, 0, POWER_VERIFY_NEVER, "verify"},
        {o->max_sequences, 1, 4096, "max_sequences"},
        {o->prefill_rows, 1, 65536, "prefill_rows"},
        {o->undo_rows, 0, 1024, "undo_rows"},
        {o->max_tokens, 0, 1ull << 31, "max_tokens"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high) continue;
        return power_fail(error, POWER_INVALID, "\"%s\" is %llu, allowed are %llu to %llu",
                          ranges[i].name, (unsigned long long)ranges[i].value,
                          (unsigned long long)ranges[i].low, (unsigned long long)ranges[i].high);
    }
    if (o->sha256 && o->verify == POWER_VERIFY_NEVER) {
        return power_fail(error, POWER_INVALID, "\"sha256\" is given, \"verify\" says never");
    }
    return check_digest_text(o->sha256, error);
}

power_status power_model_open(power_runtime *runtime, const char *path,
                              const power_model_options *options, power_model **out_model,
                              power_error *error) {
    power_model_options copy;
    power_model_options_init(&copy);
    if (!runtime || !path || !out_model) {
        return power_fail(error, POWER_INVALID, "runtime, path or out_model is NULL");
    }
    power_status status = POWER_OK;
    if (options) {
        status = power_options_copy(&copy, sizeof copy, options, options->struct_size,
                                    "model options", error);
    }
    if (status == POWER_OK) status = check_options(&copy, error);
    if (status != POWER_OK) return status;
    return power_model_create(&runtime->host, path, &copy, out_model, error);
}

void power_model_close(power_model *model) {
    power_model_destroy(model);
}

static void count_tensors(const struct power_source *source, power_model_info *info) {
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        const struct power_tensor *tensor = &source->tensors[i];
        uint64_t elements = 1; /* the product was checked when the file was read */
        for (uint32_t d = 0; d < tensor->rank; d++)
            elements *= tensor->dims[d];
        info->n_parameters += elements;
        info->weights_bytes += tensor->length_bytes;
    }
    for (uint32_t i = 0; i < source->n_files; i++) {
        info->file_bytes += source->files[i].file.size_bytes;
    }
    info->n_tensors = source->n_tensors;
    info->n_metadata = source->n_metas;
}

static void copy_vocab(const power_model *model, power_model_info *info) {
    info->bos_token = UINT32_MAX;
    if (!model->vocab) return;
    const struct power_vocab_info *vocab = power_vocab_info(model->vocab);
    info->bos_token = vocab->bos;
    info->n_end_tokens = vocab->n_end_tokens;
    memcpy(info->end_tokens, vocab->end_tokens, sizeof info->end_tokens);
    if (info->n_vocab == 0) info->n_vocab = vocab->n_tokens;
}

power_status power_model_get_info(const power_model *model, power_model_info *out_info,
                                  power_error *error) {
    if (!model || !out_info) return power_fail(error, POWER_INVALID, "model or info is NULL");
    size_t size = out_info->struct_size;
    if (size < sizeof(size_t) || size > sizeof *out_info) {
        return power_fail(error, POWER_INVALID,
                          "model info: struct_size is %zu, this library knows %zu", size,
                          sizeof *out_info);
    }
    const struct power_hparams *h = &model->hparams;
    power_model_info info = {
        .struct_size = size,
        .architecture = model->architecture,
        .name = model->name,
        .file_type = model->source->container == POWER_CONTAINER_GGUF ? "gguf" : "safetensors",
        .chat_template = model->chat_template};
    if (model->has_hparams) {
        info.n_layers = h->n_layers;
        info.n_vocab = h->n_vocab;
        info.n_embd = h->n_embd;
        info.n_heads = h->n_heads;
        info.n_kv_heads = h->n_kv_heads;
        info.head_dim = h->k_dim;
        info.context_length = h->context_length;
    }
    count_tensors(model->source, &info);
    copy_vocab(model, &info);
    memcpy(out_info, &info, size);
    return POWER_OK;
}

power_status power_model_digest(power_model *model, char out_hex[65], power_error *error) {
    struct power_digest digest;
    if (!model || !out_hex) return power_fail(error, POWER_INVALID, "model or out_hex is NULL");
    power_status status = power_model_digest_get(model, &digest, error);
    if (status != POWER_OK) return status;
    power_digest_hex(&digest, out_hex);
    return POWER_OK;
}

power_status power_model_tensor(const power_model *model, uint32_t index,
                                power_tensor_info *out_info, power_error *error) {
    if (!model || !out_info) return power_fail(error, POWER_INVALID, "model or info is NULL");
    if (index >= model->source->n_tensors) {
        return power_fail(error, POWER_NOT_FOUND, "tensor %u of %u", index,
                          model->source->n_tensors);
    }
    const struct power_tensor *tensor = &model->source->tensors[index];
    *out_info = (power_tensor_info){.name = model->tensor_names[index],
                                    .type = power_dtype_info((uint32_t)tensor->dtype).name,
                                    .rank = tensor->rank,
                                    .offset = tensor->offset,
                                    .bytes = tensor->length_bytes};
    for (int d = 0; d < 4; d++)
        out_info->dims[d] = tensor->dims[d];
    return POWER_OK;
}

power_status power_model_price(power_model *model, uint32_t context, power_kv_type kv_type,
                               uint64_t *out_state_bytes, uint64_t *out_scratch_bytes,
                               power_error *error) {
    struct power_engine *engine = NULL;
    if (!model || !out_state_bytes || !out_scratch_bytes) {
        return power_fail(error, POWER_INVALID, "model or an output is NULL");
    }
    power_status status = power_model_priced(model, kv_type, &engine, error);
    if (status != POWER_OK) return status;
    uint64_t bytes = power_state_price(engine->graph->pieces, engine->graph->n_pieces,
                                       engine->piece_bytes, context, &engine->state_limits);
    if (bytes == UINT64_MAX) {
        return power_fail(error, POWER_LIMIT, "state of %u tokens is too large to count", context);
    }
    *out_state_bytes = bytes;
    *out_scratch_bytes = engine->scratch_bytes;
    return POWER_OK;
}

power_status power_embed(power_model *model, const uint32_t *ids, size_t n_ids,
                         float *out_embedding, size_t capacity, power_error *error) {
    if (!model || !ids || !out_embedding) {
        return power_fail(error, POWER_INVALID, "model, ids or out_embedding is NULL");
    }
    (void)n_ids;
    (void)capacity;
    const char *name = model->architecture ? model->architecture : "";
    return power_fail(error, POWER_UNSUPPORTED, "architecture \"%s\" makes no embeddings",
                      power_quote(name, strlen(name)).text);
}
