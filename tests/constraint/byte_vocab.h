/* SPDX-License-Identifier: MIT */
/* A vocabulary of the 256 bytes and an end token, made in memory.
 * Input: none. Output: a vocabulary in which id b is byte b and id 256 ends.
 * Threads: one. Bounds: none needed. */
#ifndef POWER_TESTS_BYTE_VOCAB_H
#define POWER_TESTS_BYTE_VOCAB_H

#include "base/hash.h"
#include "text/vocab.h"

enum { BYTE_VOCAB_END = 256, BYTE_VOCAB_TOKENS = 257 };

static inline void byte_vocab_meta(struct power_source *source, struct power_meta meta) {
    source->metas[source->n_metas] = meta;
    (void)power_index_add(source->meta_index, meta.key, source->n_metas++);
}

static inline void byte_vocab_array(struct power_source *source, const char *key,
                                    enum power_meta_type type, const void *values) {
    struct power_meta meta = {.key = power_text_of(key), .type = POWER_META_ARRAY};
    meta.value.array = (struct power_meta_array){type, BYTE_VOCAB_TOKENS, values};
    byte_vocab_meta(source, meta);
}

static inline power_status byte_vocab_create(struct power_vocab **out, power_error *error) {
    struct power_text tokens[BYTE_VOCAB_TOKENS];
    int32_t types[BYTE_VOCAB_TOKENS];
    float scores[BYTE_VOCAB_TOKENS] = {0};
    char spelled[256][8];
    struct power_meta metas[8];
    struct power_source source = {
        .allocator = &power_default_allocator, .container = POWER_CONTAINER_GGUF, .metas = metas};
    for (unsigned b = 0; b < 256; b++) {
        static const char digits[] = "0123456789ABCDEF";
        const char name[8] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>', 0, 0};
        memcpy(spelled[b], name, sizeof name);
        tokens[b] = (struct power_text){spelled[b], 6};
        types[b] = POWER_TOKEN_BYTE;
    }
    tokens[BYTE_VOCAB_END] = POWER_TEXT("</s>");
    types[BYTE_VOCAB_END] = POWER_TOKEN_CONTROL;
    power_status status =
        power_index_create(&power_default_allocator, 8, &source.meta_index, error);
    if (status != POWER_OK) return status;
    struct power_meta model = {.key = POWER_TEXT("tokenizer.ggml.model"), .type = POWER_META_TEXT};
    struct power_meta end = {.key = POWER_TEXT("tokenizer.ggml.eos_token_id"),
                             .type = POWER_META_U32};
    model.value.text = POWER_TEXT("llama");
    end.value.u = BYTE_VOCAB_END;
    byte_vocab_meta(&source, model);
    byte_vocab_meta(&source, end);
    byte_vocab_array(&source, "tokenizer.ggml.tokens", POWER_META_TEXT, tokens);
    byte_vocab_array(&source, "tokenizer.ggml.token_type", POWER_META_I32, types);
    byte_vocab_array(&source, "tokenizer.ggml.scores", POWER_META_F32, scores);
    status = power_vocab_create(&power_default_allocator, &source, out, error);
    power_index_destroy(source.meta_index);
    return status;
}

#endif
