/* SPDX-License-Identifier: MIT */
/* Fuzz target of JSON Schema. Input: a schema, then optionally a NUL and bytes that steer a walk
 * through what the grammar admits. Output: none; a walk that comes to a dead end is a finding.
 * Threads: one. Bounds: small limits, so that a run is short; 64 steps a walk. */
#include "../tests/constraint/byte_vocab.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const struct power_token_trie *byte_trie(void) {
    static struct power_vocab *vocab;
    static struct power_token_trie *trie;
    power_error error = {0};
    if (trie) return trie;
    if (byte_vocab_create(&vocab, &error) != POWER_OK) __builtin_trap();
    if (power_token_trie_create(&power_default_allocator, vocab, &trie, &error) != POWER_OK)
        __builtin_trap();
    return trie;
}

static void walk(const struct power_grammar *grammar, const unsigned char *steer, size_t n) {
    struct power_matcher *matcher = NULL;
    power_error error = {0};
    if (power_matcher_create(&power_default_allocator, grammar, byte_trie(), NULL, &matcher,
                             &error) != POWER_OK)
        return;
    struct power_match match = power_matcher_start(matcher);
    for (size_t i = 0; i < n && i < 64; i++) {
        const uint64_t *mask;
        uint32_t count, only, id = steer[i];
        if (power_matcher_mask(matcher, match, &mask, &count, &only, &error) != POWER_OK) break;
        if (count == 0) __builtin_trap();
        for (uint32_t k = 0; k < 256 && (mask[id >> 6] >> (id & 63) & 1) == 0; k++)
            id = (id + 1) & 255;
        if ((mask[id >> 6] >> (id & 63) & 1) == 0) break; /* only the end */
        if (power_matcher_accept(matcher, &match, id, &error) != POWER_OK) {
            if (error.status == POWER_INVALID) __builtin_trap();
            break;
        }
    }
    power_matcher_release(matcher, match);
    power_matcher_destroy(matcher);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const struct power_grammar_limits limits = {20000, (size_t)16 << 20};
    const unsigned char *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct power_schema_options options = {.any_order = size % 2 == 0, .any_depth = 3};
    struct power_grammar *grammar = NULL;
    power_expr root = 0;
    power_error error = {0};
    if (size > 20000) return 0;
    power_status status = power_grammar_create(&power_default_allocator, &limits, &grammar, &error);
    if (status == POWER_OK)
        status = power_schema_compile(grammar, (struct power_text){(const char *)data, length},
                                      &options, &root, &error);
    if (status == POWER_OK) status = power_grammar_freeze(grammar, root, &error);
    if (status != POWER_OK && (error.status != status || !error.message[0])) __builtin_trap();
    if (status == POWER_OK && end) walk(grammar, end + 1, size - length - 1);
    power_grammar_destroy(grammar);
    return 0;
}
