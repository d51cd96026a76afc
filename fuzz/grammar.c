/* SPDX-License-Identifier: MIT */
/* Fuzz target of GBNF and of matching. Input: a grammar, then optionally a NUL and bytes to match.
 * Output: none; a broken promise traps. Threads: one. Bounds: 16 MiB and 50,000 nodes a grammar,
 * 200 bytes matched.
 *
 * What is checked: whenever a byte was admitted, the mask has a token, and admits each byte that it
 * shows. */
#include "../tests/constraint/byte_vocab.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MATCHED = 200 };

static bool shown(const uint64_t *mask, uint32_t id) {
    return (mask[id / 64] >> id % 64 & 1) != 0;
}

static void match(struct power_matcher *matcher, struct power_text text) {
    struct power_match at = power_matcher_start(matcher);
    power_error error = {0};
    for (size_t i = 0; i < text.length && i < MATCHED; i++) {
        const uint64_t *mask;
        uint32_t count, only, id = (unsigned char)text.bytes[i];
        power_status status = power_matcher_mask(matcher, at, &mask, &count, &only, &error);
        if (status != POWER_OK) break;
        bool admitted = shown(mask, id);
        if (count == 0) __builtin_trap();
        if (shown(mask, BYTE_VOCAB_END) != power_matcher_can_end(matcher, at)) __builtin_trap();
        status = power_matcher_accept(matcher, &at, id, &error);
        if (status == POWER_LIMIT || status == POWER_NO_MEMORY) break;
        if ((status == POWER_OK) != admitted) __builtin_trap();
    }
    power_matcher_release(matcher, at);
}

static void match_grammar(const struct power_grammar *grammar, struct power_text text) {
    struct power_vocab *vocab = NULL;
    struct power_token_trie *trie = NULL;
    struct power_matcher *matcher = NULL;
    if (byte_vocab_create(&vocab, NULL) == POWER_OK &&
        power_token_trie_create(&power_default_allocator, vocab, &trie, NULL) == POWER_OK &&
        power_matcher_create(&power_default_allocator, grammar, trie, NULL, &matcher, NULL) ==
            POWER_OK)
        match(matcher, text);
    power_matcher_destroy(matcher);
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const struct power_grammar_limits limits = {50000, (size_t)16 << 20};
    const unsigned char *end = size ? memchr(data, 0, size) : NULL;
    struct power_text gbnf = {(const char *)data, end ? (size_t)(end - data) : size};
    struct power_text text = {"", 0};
    if (end) text = (struct power_text){(const char *)end + 1, size - gbnf.length - 1};
    struct power_grammar *g = NULL;
    power_expr root = 0;
    power_error error = {0};
    if (power_grammar_create(&power_default_allocator, &limits, &g, &error) != POWER_OK) return 0;
    power_status status = power_gbnf_compile(g, gbnf, &root, &error);
    if (status == POWER_OK) status = power_grammar_freeze(g, root, &error);
    if (status == POWER_OK)
        match_grammar(g, text);
    else if (error.status != status || !error.message[0])
        __builtin_trap();
    power_grammar_destroy(g);
    return 0;
}
