/* SPDX-License-Identifier: MIT */
/* Job: Unigram: the cut of a text whose tokens' scores have the greatest sum (Viterbi).
 * Input: a piece, spaces escaped. Output: ids into the sink, byte fallback or one unknown token a
 * run.
 * Threads: one per encode call. Bounds: time is linear in the text, times the longest token (at
 * most POWER_MAX_UNIGRAM_BYTES); 24 bytes of work memory a byte.
 * Ties: the text is worked on from the left, tokens of one start from the shortest; a cut replaces
 * another that ends at the same place only when its sum is greater. tokenizer.json adds in double
 * precision, as its authors' library does; SentencePiece keeps sums in single precision. */
#include <float.h>

#include "text/utf8.h"
#include "text/vocab_internal.h"

#define UNKNOWN_PENALTY 10.0
#define NO_START UINT32_MAX

static bool counts_as_piece(const struct power_vocab *vocab, uint32_t id) {
    unsigned char type = vocab->types[id];
    if (vocab->in_model) return vocab->in_model[id] && type != POWER_TOKEN_CONTROL;
    if (type == POWER_TOKEN_UNUSED) return vocab->kind == POWER_VOCAB_WORDPIECE;
    return type == POWER_TOKEN_NORMAL || type == POWER_TOKEN_USER_DEFINED;
}

power_status power_vocab_trie(struct power_vocab *vocab, power_error *error) {
    uint32_t n = 0;
    struct power_trie_key *keys = power_alloc(vocab->allocator, vocab->info.n_tokens, sizeof *keys);
    if (!keys) return power_fail_memory(error, vocab->info.n_tokens * sizeof *keys, "vocabulary");
    power_status status = POWER_OK;
    for (uint32_t id = 0; status == POWER_OK && id < vocab->info.n_tokens; id++) {
        struct power_text s = vocab->spellings[id];
        if (s.length == 0 || !counts_as_piece(vocab, id)) continue;
        if (s.length > POWER_MAX_SPECIAL_BYTES)
            status = power_fail(error, POWER_LIMIT,
                                "token %u is %zu bytes long, at most %d are supported", id,
                                s.length, POWER_MAX_SPECIAL_BYTES);
        keys[n++] = (struct power_trie_key){s, id};
    }
    if (status == POWER_OK)
        status = power_trie_build(&vocab->trie, &vocab->arena, vocab->allocator, keys, n, error);
    power_release(vocab->allocator, keys, vocab->info.n_tokens, sizeof *keys);
    return status;
}

/* SentencePiece's files need not name the unknown token. */
static void find_unknown(struct power_vocab *vocab) {
    for (uint32_t id = 0; id < vocab->info.n_tokens && !vocab->in_model; id++) {
        if (vocab->info.unk == POWER_NO_TOKEN && vocab->types[id] == POWER_TOKEN_UNKNOWN)
            vocab->info.unk = id;
    }
}

static double score_of(const struct power_vocab *vocab, uint32_t id) {
    return vocab->exact_scores ? vocab->exact_scores[id] : (double)vocab->scores[id];
}

power_status power_unigram_build(struct power_vocab *vocab, power_error *error) {
    double least = vocab->exact_scores ? DBL_MAX : (double)FLT_MAX;
    bool any = false;
    vocab->best_score = FLT_MIN;
    for (uint32_t id = 0; id < vocab->info.n_tokens; id++) {
        double score = score_of(vocab, id);
        bool counts =
            vocab->in_model ? vocab->in_model[id] : vocab->types[id] == POWER_TOKEN_NORMAL;
        if (!counts) continue;
        if (!(score > -DBL_MAX && score < DBL_MAX))
            return power_fail(error, POWER_CORRUPT, "the score of token %u is not finite", id);
        if (score < least) least = score;
        if (score > (double)vocab->best_score) vocab->best_score = (float)score;
        any = true;
    }
    if (!any) least = 0;
    find_unknown(vocab);
    vocab->unknown_score = vocab->exact_scores ? least - UNKNOWN_PENALTY
                                               : (double)((float)least - (float)UNKNOWN_PENALTY);
    return power_vocab_trie(vocab, error);
}

/* What a token adds. SentencePiece gives user-defined pieces a bonus. */
static double added(const struct power_vocab *vocab, uint32_t id, size_t length) {
    if (vocab->exact_scores || vocab->types[id] != POWER_TOKEN_USER_DEFINED)
        return score_of(vocab, id);
    return (double)((float)length * vocab->best_score) - 0.1;
}

static void offer(struct power_encode_work *work, size_t start, size_t end, uint32_t id,
                  double sum) {
    if (!work->vocab->exact_scores) sum = (double)(float)sum;
    if (work->prev[end] != NO_START && !(sum > work->sums[end])) return;
    work->sums[end] = sum;
    work->prev[end] = (uint32_t)start;
    work->symbols[end] = id;
}

/* All tokens that begin at `at`, the unknown one where no token is that one character. */
static void offer_from(struct power_encode_work *work, struct power_text text, size_t at,
                       size_t char_length) {
    const struct power_vocab *vocab = work->vocab;
    double before = at ? work->sums[at] : 0;
    bool single = false;
    uint32_t node = 0;
    for (size_t i = at; i < text.length; i++) {
        node = power_trie_child(&vocab->trie, node, (unsigned char)text.bytes[i]);
        if (node == 0) break;
        uint32_t id = vocab->trie.ids[node];
        if (id == POWER_TRIE_NONE) continue;
        offer(work, at, i + 1, id, added(vocab, id, i + 1 - at) + before);
        single = single || i + 1 - at == char_length;
    }
    if (single) return;
    double sum = vocab->unknown_score + before;
    offer(work, at, at + char_length, POWER_NO_TOKEN,
          vocab->exact_scores ? sum : (double)(float)sum);
}

static bool put_unknown(struct power_encode_work *work, struct power_text run) {
    const struct power_vocab *vocab = work->vocab;
    bool bytes = vocab->byte_fallback;
    for (size_t i = 0; bytes && i < run.length; i++)
        bytes = vocab->byte_tokens[(unsigned char)run.bytes[i]] != POWER_NO_TOKEN;
    if (!bytes && vocab->info.unk == POWER_NO_TOKEN)
        return power_encode_fail(work, POWER_INVALID,
                                 "a character of the text has no token, nor have its bytes");
    if (!bytes) power_sink_put_length(&work->sink, vocab->info.unk, run.length);
    for (size_t i = 0; bytes && i < run.length; i++)
        power_sink_put_length(&work->sink, vocab->byte_tokens[(unsigned char)run.bytes[i]], 1);
    return true;
}

/* The best cut, from the end; next[start] is where the token that begins there ends. */
static bool put_best(struct power_encode_work *work, struct power_text text) {
    for (size_t at = text.length; at > 0; at = work->prev[at])
        work->next[work->prev[at]] = (uint32_t)at;
    size_t unknown = 0; /* bytes of the unknown run before `at` */
    for (size_t at = 0, end; at < text.length; at = end) {
        end = work->next[at];
        uint32_t id = work->symbols[end];
        if (id == POWER_NO_TOKEN) unknown += end - at;
        bool flush = unknown && (id != POWER_NO_TOKEN || end == text.length);
        size_t stop = id == POWER_NO_TOKEN ? end : at;
        if (flush && !put_unknown(work, (struct power_text){text.bytes + stop - unknown, unknown}))
            return false;
        if (id == POWER_NO_TOKEN) continue;
        unknown = 0;
        power_sink_put_length(&work->sink, id, end - at);
    }
    return true;
}

static bool grow_sums(struct power_encode_work *work, size_t n) {
    if (n <= work->n_sums) return true;
    const power_allocator *a = work->vocab->allocator;
    size_t capacity = work->n_sums ? work->n_sums : 256;
    while (capacity < n)
        capacity *= 2;
    double *sums = power_alloc(a, capacity, sizeof *sums);
    if (!sums) return power_encode_no_memory(work, capacity * sizeof *sums);
    power_release(a, work->sums, work->n_sums, sizeof *sums);
    work->sums = sums;
    work->n_sums = capacity;
    return true;
}

bool power_unigram_piece(struct power_encode_work *work, struct power_text text) {
    if (text.length == 0) return true;
    if (!power_encode_grow(work, text.length + 1) || !grow_sums(work, text.length + 1))
        return false;
    for (size_t i = 0; i <= text.length; i++)
        work->prev[i] = NO_START;
    for (size_t at = 0, length; at < text.length; at += length) {
        (void)power_utf8_get(text, at, &length, NULL);
        offer_from(work, text, at, length);
    }
    return put_best(work, text);
}
