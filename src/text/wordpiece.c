/* SPDX-License-Identifier: MIT */
/* Job: WordPiece: a word is cut from the left, each time by the longest token that fits.
 * Input: a word. Output: ids into the sink; one unknown token for a word that cannot be cut.
 * Threads: one per encode call. Bounds: a word has at most max_word_chars characters, so the time
 * is linear in the text. Source: the published behaviour of BERT's tokenizer. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define MOST_PARTS 4096 /* a word's characters; power_wordpiece_build refuses longer words */

power_status power_wordpiece_build(struct power_vocab *vocab, power_error *error) {
    if (vocab->max_word_chars > MOST_PARTS)
        return power_fail(error, POWER_LIMIT, "words of %u characters are over the limit of %d",
                          vocab->max_word_chars, MOST_PARTS);
    power_status status = power_vocab_trie(vocab, error);
    if (status != POWER_OK) return status;
    vocab->word_node = power_trie_walk(&vocab->trie, vocab->word_prefix);
    vocab->part_node = power_trie_walk(&vocab->trie, vocab->part_prefix);
    vocab->has_words = vocab->word_node || vocab->word_prefix.length == 0;
    vocab->has_parts = vocab->part_node || vocab->part_prefix.length == 0;
    return POWER_OK;
}

/* The longest token from `at` on: its end, or `at`. */
static size_t longest(const struct power_vocab *vocab, struct power_text word, size_t at,
                      uint32_t *out_id) {
    if (!(at ? vocab->has_parts : vocab->has_words)) return at;
    uint32_t node = at ? vocab->part_node : vocab->word_node;
    size_t end = at;
    for (size_t i = at; i < word.length; i++) {
        node = power_trie_child(&vocab->trie, node, (unsigned char)word.bytes[i]);
        if (node == 0) break;
        if (vocab->trie.ids[node] == POWER_TRIE_NONE) continue;
        *out_id = vocab->trie.ids[node];
        end = i + 1;
    }
    return end;
}

bool power_wordpiece_word(struct power_encode_work *work, struct power_text word) {
    const struct power_vocab *vocab = work->vocab;
    bool whole = power_utf8_count(word) <= vocab->max_word_chars;
    size_t n = 0;
    if (whole && !power_encode_grow(work, word.length)) return false;
    for (size_t at = 0; whole && at < word.length; n++) {
        size_t end = longest(vocab, word, at, &work->symbols[n]);
        work->lengths[n] = (uint32_t)(end - at);
        whole = end > at;
        at = end;
    }
    if (!whole && vocab->info.unk == POWER_NO_TOKEN)
        return power_encode_fail(work, POWER_INVALID,
                                 "a word of the text has no tokens and there is no unknown token");
    if (!whole) power_sink_put_length(&work->sink, vocab->info.unk, word.length);
    for (size_t i = 0; whole && i < n; i++)
        power_sink_put_length(&work->sink, work->symbols[i], work->lengths[i]);
    return true;
}
