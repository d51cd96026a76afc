/* SPDX-License-Identifier: MIT */
/* Public functions on text: tokenize, detokenize.
 * Input: texts and ids of callers. Output: ids and texts in callers' buffers.
 * Threads: any; nothing of the model changes. Bounds: the callers' capacities, told when too small.
 */
#include <string.h>

#include "api/text.h"

power_status power_api_need_vocab(const power_model *model, power_error *error) {
    if (model->vocab) return POWER_OK;
    if (error) *error = model->vocab_error;
    return model->vocab_error.status;
}

power_status power_tokenize(const power_model *model, const char *text, size_t text_bytes,
                            int add_special, int parse_special, uint32_t *out_ids, size_t capacity,
                            size_t *out_count, power_error *error) {
    if (!model || (!text && text_bytes) || (!out_ids && capacity) || !out_count) {
        return power_fail(error, POWER_INVALID, "model, text, out_ids or out_count is NULL");
    }
    power_status status = power_api_need_vocab(model, error);
    if (status != POWER_OK) return status;
    struct power_tokenize_options options = {.parse_special = parse_special != 0,
                                             .add_special = add_special != 0};
    return power_vocab_encode(model->vocab, (struct power_text){text ? text : "", text_bytes},
                              &options, out_ids, capacity, out_count, error);
}

power_status power_api_hand_over(const struct power_buffer *buffer, char *out, size_t capacity,
                                 size_t *out_bytes, power_error *error) {
    *out_bytes = buffer->length;
    if (capacity <= buffer->length) {
        return power_fail(error, POWER_LIMIT, "the text has %zu bytes and a NUL, capacity is %zu",
                          buffer->length, capacity);
    }
    if (buffer->length) memcpy(out, buffer->bytes, buffer->length);
    out[buffer->length] = '\0';
    return POWER_OK;
}

power_status power_tokenize_places(const power_model *model, const char *text, size_t text_bytes,
                                   int add_special, int parse_special, uint32_t *out_ids,
                                   power_token_place *out_places, size_t capacity,
                                   size_t *out_count, power_error *error) {
    if (!model || (!text && text_bytes) || (!(out_ids && out_places) && capacity) || !out_count) {
        return power_fail(error, POWER_INVALID,
                          "model, text, out_ids, out_places or out_count is NULL");
    }
    power_status status = power_api_need_vocab(model, error);
    if (status != POWER_OK) return status;
    struct power_tokenize_options options = {
        .parse_special = parse_special != 0, .add_special = add_special != 0, .spans = out_places};
    return power_vocab_encode(model->vocab, (struct power_text){text ? text : "", text_bytes},
                              &options, out_ids, capacity, out_count, error);
}

power_status power_detokenize(const power_model *model, const uint32_t *ids, size_t n_ids,
                              int show_special, char *out_text, size_t capacity, size_t *out_bytes,
                              power_error *error) {
    if (!model || (!ids && n_ids) || (!out_text && capacity) || !out_bytes) {
        return power_fail(error, POWER_INVALID, "model, ids, out_text or out_bytes is NULL");
    }
    power_status status = power_api_need_vocab(model, error);
    if (status != POWER_OK) return status;
    struct power_detokenizer stream;
    struct power_buffer buffer;
    power_detokenizer_init(&stream, model->vocab, show_special != 0);
    power_buffer_init(&buffer, model->host.allocator, POWER_API_TEXT_BYTES);
    uint32_t n_tokens = power_vocab_info(model->vocab)->n_tokens;
    for (size_t i = 0; status == POWER_OK && i < n_ids; i++) {
        if (ids[i] >= n_tokens) {
            status =
                power_fail(error, POWER_INVALID, "id %u, the vocabulary has %u", ids[i], n_tokens);
            break;
        }
        status = power_detokenizer_push(&stream, ids[i], &buffer, error);
    }
    if (status == POWER_OK) status = power_detokenizer_finish(&stream, &buffer, error);
    if (status == POWER_OK)
        status = power_api_hand_over(&buffer, out_text, capacity, out_bytes, error);
    power_buffer_finish(&buffer);
    return status;
}

power_status power_token_bytes(const power_model *model, uint32_t id, const char **out_bytes,
                               size_t *out_length, power_error *error) {
    if (!model || !out_bytes || !out_length) {
        return power_fail(error, POWER_INVALID, "model or an output is NULL");
    }
    power_status status = power_api_need_vocab(model, error);
    if (status != POWER_OK) return status;
    uint32_t n_tokens = power_vocab_info(model->vocab)->n_tokens;
    if (id >= n_tokens) {
        return power_fail(error, POWER_INVALID, "id %u, the vocabulary has %u", id, n_tokens);
    }
    struct power_text piece = power_vocab_piece(model->vocab, id);
    *out_bytes = piece.bytes ? piece.bytes : "";
    *out_length = piece.length;
    return POWER_OK;
}
