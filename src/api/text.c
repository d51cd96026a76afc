/* SPDX-License-Identifier: MIT */
/* Public functions on text: tokenize, detokenize, render.
 * Input: texts, ids, messages of callers. Output: ids and texts in callers' buffers.
 * Threads: any; nothing of the model changes. Bounds: the callers' capacities, told when too small.
 */
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "api/runtime.h"

#define TEXT_BYTES ((size_t)256 << 20)

static power_status need_vocab(const power_model *model, power_error *error) {
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
    power_status status = need_vocab(model, error);
    if (status != POWER_OK) return status;
    struct power_tokenize_options options = {.parse_special = parse_special != 0,
                                             .add_special = add_special != 0};
    return power_vocab_encode(model->vocab, (struct power_text){text ? text : "", text_bytes},
                              &options, out_ids, capacity, out_count, error);
}

/* Hands a text over under the common rule: the length always, the bytes when they and a NUL fit. */
static power_status hand_over(const struct power_buffer *buffer, char *out, size_t capacity,
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

power_status power_detokenize(const power_model *model, const uint32_t *ids, size_t n_ids,
                              int show_special, char *out_text, size_t capacity, size_t *out_bytes,
                              power_error *error) {
    if (!model || (!ids && n_ids) || (!out_text && capacity) || !out_bytes) {
        return power_fail(error, POWER_INVALID, "model, ids, out_text or out_bytes is NULL");
    }
    power_status status = need_vocab(model, error);
    if (status != POWER_OK) return status;
    struct power_detokenizer stream;
    struct power_buffer buffer;
    power_detokenizer_init(&stream, model->vocab, show_special != 0);
    power_buffer_init(&buffer, model->host.allocator, TEXT_BYTES);
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
    if (status == POWER_OK) status = hand_over(&buffer, out_text, capacity, out_bytes, error);
    power_buffer_finish(&buffer);
    return status;
}

power_status power_token_bytes(const power_model *model, uint32_t id, const char **out_bytes,
                               size_t *out_length, power_error *error) {
    if (!model || !out_bytes || !out_length) {
        return power_fail(error, POWER_INVALID, "model or an output is NULL");
    }
    power_status status = need_vocab(model, error);
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

/* ---- rendering ---- */

static json_t *token_text(const power_model *model, uint32_t id) {
    struct power_text piece = {0};
    if (model->vocab && id != POWER_NO_TOKEN) piece = power_vocab_piece(model->vocab, id);
    json_t *text = json_stringn(piece.bytes ? piece.bytes : "", piece.length);
    return text ? text : json_string("");
}

/* bos_token and eos_token unless the caller gave them. False without memory. */
static bool add_tokens(const power_model *model, json_t *variables) {
    uint32_t bos = POWER_NO_TOKEN, eos = POWER_NO_TOKEN;
    if (model->vocab) {
        bos = power_vocab_info(model->vocab)->bos;
        eos = power_vocab_info(model->vocab)->eos;
    }
    if (!json_object_get(variables, "bos_token") &&
        json_object_set_new(variables, "bos_token", token_text(model, bos)) != 0) {
        return false;
    }
    return json_object_get(variables, "eos_token") ||
           json_object_set_new(variables, "eos_token", token_text(model, eos)) == 0;
}

static power_status render(const power_model *model, struct power_text variables, char *out_text,
                           size_t capacity, size_t *out_bytes, power_error *error) {
    struct power_buffer buffer;
    const struct power_template_limits limits = {0};
    power_buffer_init(&buffer, model->host.allocator, TEXT_BYTES);
    power_status status = power_template_render(model->template, variables, (int64_t)time(NULL),
                                                &limits, &buffer, error);
    if (status == POWER_OK) status = hand_over(&buffer, out_text, capacity, out_bytes, error);
    power_buffer_finish(&buffer);
    return status;
}

static power_status need_template(const power_model *model, power_error *error) {
    if (model->template) return POWER_OK;
    if (error) *error = model->template_error;
    return model->template_error.status;
}

static json_t *messages_json(const power_message *messages, size_t n_messages, size_t *out_broken) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < n_messages; i++) {
        json_t *message = json_object();
        *out_broken = i;
        if (json_object_set_new(message, "role", json_string(messages[i].role)) != 0 ||
            json_object_set_new(message, "content", json_string(messages[i].content)) != 0 ||
            json_array_append(list, message) != 0) {
            json_decref(list);
            list = NULL;
        }
        json_decref(message);
    }
    return list;
}

power_status power_render(const power_model *model, const power_message *messages,
                          size_t n_messages, int add_generation_prompt, char *out_text,
                          size_t capacity, size_t *out_bytes, power_error *error) {
    if (!model || (!messages && n_messages) || (!out_text && capacity) || !out_bytes) {
        return power_fail(error, POWER_INVALID, "model, messages, out_text or out_bytes is NULL");
    }
    power_status status = need_template(model, error);
    if (status != POWER_OK) return status;
    for (size_t i = 0; i < n_messages; i++) {
        if (messages[i].role && messages[i].content) continue;
        return power_fail(error, POWER_INVALID, "message %zu: role or content is NULL", i);
    }
    size_t broken = 0;
    json_t *list = messages_json(messages, n_messages, &broken);
    if (!list) {
        return power_fail(error, POWER_INVALID, "message %zu: role or content is not UTF-8",
                          broken);
    }
    json_t *variables = json_pack("{s:o, s:b}", "messages", list, "add_generation_prompt",
                                  add_generation_prompt != 0);
    char *text = variables && add_tokens(model, variables) ? json_dumps(variables, 0) : NULL;
    status = text ? render(model, power_text_of(text), out_text, capacity, out_bytes, error)
                  : power_fail(error, POWER_NO_MEMORY, "no memory for the template's variables");
    free(text);
    json_decref(variables);
    return status;
}

/* The caller's text is used as it is, so that numbers and key order stay; what is missing is put in
 * front. */
static power_status with_tokens(const power_model *model, struct power_text given, json_t *parsed,
                                struct power_buffer *out, power_error *error) {
    const char *brace = memchr(given.bytes, '{', given.length);
    size_t before = (size_t)(brace - given.bytes) + 1;
    bool empty = json_object_size(parsed) == 0;
    json_t *missing = json_object();
    bool made = missing && add_tokens(model, missing);
    if (made && json_object_get(parsed, "bos_token")) json_object_del(missing, "bos_token");
    if (made && json_object_get(parsed, "eos_token")) json_object_del(missing, "eos_token");
    bool any = made && json_object_size(missing) > 0;
    char *text = any ? json_dumps(missing, 0) : NULL;
    made = made && (!any || text) && power_buffer_append(out, "{", 1);
    if (made && any) {
        made = power_buffer_append(out, text + 1, strlen(text) - 2) &&
               (empty || power_buffer_append(out, ",", 1));
    }
    made = made && power_buffer_append(out, given.bytes + before, given.length - before);
    free(text);
    json_decref(missing);
    return made ? POWER_OK
                : power_fail(error, POWER_NO_MEMORY, "no memory for the template's variables");
}

power_status power_render_json(const power_model *model, const char *variables_json, char *out_text,
                               size_t capacity, size_t *out_bytes, power_error *error) {
    if (!model || !variables_json || (!out_text && capacity) || !out_bytes) {
        return power_fail(error, POWER_INVALID, "model, variables, out_text or out_bytes is NULL");
    }
    power_status status = need_template(model, error);
    if (status != POWER_OK) return status;
    json_error_t where;
    json_t *parsed = json_loads(variables_json, JSON_REJECT_DUPLICATES, &where);
    if (!parsed || !json_is_object(parsed)) {
        json_decref(parsed);
        uint64_t offset = parsed || where.position < 0 ? 0 : (uint64_t)where.position;
        return power_fail_at(error, POWER_INVALID, offset,
                             "template variables: not a JSON object (offset %llu)",
                             (unsigned long long)offset);
    }
    struct power_buffer buffer;
    power_buffer_init(&buffer, model->host.allocator, TEXT_BYTES);
    status = with_tokens(model, power_text_of(variables_json), parsed, &buffer, error);
    if (status == POWER_OK) {
        status = render(model, (struct power_text){buffer.bytes, buffer.length}, out_text, capacity,
                        out_bytes, error);
    }
    power_buffer_finish(&buffer);
    json_decref(parsed);
    return status;
}
