/* SPDX-License-Identifier: MIT */
/* What the tests of the constraint engine share: a byte vocabulary, matchers, random numbers.
 * Input: none. Output: objects that the tests destroy. Threads: one. Bounds: none needed. */
#ifndef POWER_TESTS_MATCHER_KIT_H
#define POWER_TESTS_MATCHER_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>

#include "byte_vocab.h"
#include "text/constraint/matcher.h"

struct kit {
    struct power_grammar *grammar;
    struct power_token_trie *trie; /* borrowed */
    struct power_matcher *matcher;
};

static inline uint32_t random_below(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % n);
}

/* The bytes, the end and more tokens from id 257 on. */
static inline power_status wide_vocab_create(const char *const *more, uint32_t n_more,
                                             struct power_vocab **out, power_error *error) {
    enum { ROOM = 512 };
    static struct power_text tokens[ROOM];
    static int32_t types[ROOM];
    static float scores[ROOM];
    static char spelled[256][8];
    struct power_meta metas[8];
    struct power_source source = {
        .allocator = &power_default_allocator, .container = POWER_CONTAINER_GGUF, .metas = metas};
    for (unsigned b = 0; b < 256; b++) {
        snprintf(spelled[b], sizeof spelled[b], "<0x%02X>", b);
        tokens[b] = (struct power_text){spelled[b], 6};
        types[b] = POWER_TOKEN_BYTE;
    }
    tokens[256] = POWER_TEXT("</s>");
    types[256] = POWER_TOKEN_CONTROL;
    for (uint32_t i = 0; i < n_more; i++) {
        tokens[257 + i] = power_text_of(more[i]);
        types[257 + i] = POWER_TOKEN_NORMAL;
    }
    power_status status =
        power_index_create(&power_default_allocator, 8, &source.meta_index, error);
    if (status != POWER_OK) return status;
    struct power_meta model = {.key = POWER_TEXT("tokenizer.ggml.model"), .type = POWER_META_TEXT};
    struct power_meta end = {.key = POWER_TEXT("tokenizer.ggml.eos_token_id"),
                             .type = POWER_META_U32};
    model.value.text = POWER_TEXT("llama");
    end.value.u = 256;
    byte_vocab_meta(&source, model);
    byte_vocab_meta(&source, end);
    const struct {
        const char *key;
        enum power_meta_type type;
        const void *values;
    } arrays[] = {{"tokenizer.ggml.tokens", POWER_META_TEXT, tokens},
                  {"tokenizer.ggml.token_type", POWER_META_I32, types},
                  {"tokenizer.ggml.scores", POWER_META_F32, scores}};
    for (int i = 0; i < 3; i++) {
        struct power_meta meta = {.key = power_text_of(arrays[i].key), .type = POWER_META_ARRAY};
        meta.value.array =
            (struct power_meta_array){arrays[i].type, 257 + n_more, arrays[i].values};
        byte_vocab_meta(&source, meta);
    }
    status = power_vocab_create(&power_default_allocator, &source, out, error);
    power_index_destroy(source.meta_index);
    return status;
}

static inline struct power_token_trie *byte_trie(void) {
    power_error error = {0};
    struct power_vocab *vocab = NULL;
    struct power_token_trie *trie = NULL;
    assert_int_equal(byte_vocab_create(&vocab, &error), POWER_OK);
    if (power_token_trie_create(&power_default_allocator, vocab, &trie, &error) != POWER_OK) {
        fail_msg("%s", error.message);
    }
    power_vocab_destroy(vocab);
    return trie;
}

static inline struct power_grammar *new_grammar(void) {
    power_error error = {0};
    struct power_grammar *grammar = NULL;
    assert_int_equal(power_grammar_create(&power_default_allocator, NULL, &grammar, &error),
                     POWER_OK);
    return grammar;
}

static inline struct power_matcher *new_matcher(const struct power_grammar *grammar,
                                                const struct power_token_trie *trie,
                                                const struct power_matcher_limits *limits) {
    power_error error = {0};
    struct power_matcher *matcher = NULL;
    if (power_matcher_create(&power_default_allocator, grammar, trie, limits, &matcher, &error) !=
        POWER_OK) {
        fail_msg("%s", error.message);
    }
    return matcher;
}

static inline bool accepts(struct power_matcher *matcher, const char *text, size_t length) {
    power_error error = {0};
    bool yes = false;
    power_status status =
        power_matcher_accepts(matcher, (struct power_text){text, length}, &yes, &error);
    if (status != POWER_OK) fail_msg("accepts: %s", error.message);
    return yes;
}

/* Whether `text` can begin a text of the language, by the matcher. */
static inline bool is_prefix(struct power_matcher *matcher, const char *text, size_t length) {
    power_error error = {0};
    struct power_match match = power_matcher_start(matcher);
    power_status status =
        power_matcher_accept_bytes(matcher, &match, (struct power_text){text, length}, &error);
    power_matcher_release(matcher, match);
    if (status != POWER_OK && status != POWER_INVALID) fail_msg("prefix: %s", error.message);
    return status == POWER_OK;
}

static inline struct power_regular regex_of(struct power_grammar *g, const char *regex) {
    power_error error = {0};
    struct power_regular regular;
    if (power_regular_parse(power_grammar_space(g), power_text_of(regex), POWER_REGEX_WHOLE,
                            &regular, &error) != POWER_OK) {
        fail_msg("%s: %s", regex, error.message);
    }
    return regular;
}

#endif
