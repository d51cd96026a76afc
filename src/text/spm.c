/* SPDX-License-Identifier: MIT */
/* Job: SentencePiece BPE: merges by score, user-defined pieces whole, byte fallback.
 * Input: a segment with spaces escaped. Output: ids into the sink.
 * Threads: one per encode call. Bounds: O(n log n), constant stack.
 * Source: the sentencepiece library's published behaviour. The segment is cut where no token can
 * span (two characters that stand side by side in no token), which changes no merge. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

static uint32_t pair_bit(uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> (64 - POWER_PAIR_BITS));
}

/* Bits of all pairs of neighbours in tokens; another pair may share a bit, which only costs time.
 */
power_status power_spm_build(struct power_vocab *vocab, power_error *error) {
    size_t words = ((size_t)1 << POWER_PAIR_BITS) / 64;
    vocab->pairs = power_arena_alloc(&vocab->arena, words, sizeof *vocab->pairs);
    if (!vocab->pairs) return power_fail_memory(error, words * sizeof *vocab->pairs, "vocabulary");
    for (uint32_t id = 0; id < vocab->info.n_tokens; id++) {
        struct power_text s = vocab->spellings[id];
        uint32_t last = 0;
        for (size_t at = 0, length; at < s.length; at += length) {
            uint32_t code = power_utf8_get(s, at, &length, NULL);
            uint32_t bit = pair_bit(last, code);
            if (at) vocab->pairs[bit / 64] |= (uint64_t)1 << (bit % 64);
            last = code;
        }
    }
    return POWER_OK;
}

static bool may_join(const struct power_vocab *vocab, uint32_t left, uint32_t right) {
    uint32_t bit = pair_bit(left, right);
    return vocab->pairs[bit / 64] >> (bit % 64) & 1;
}

/* Highest score first, then leftmost. */
static uint64_t key_of(float score, uint32_t left) {
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u; /* ascending as the score */
    return (uint64_t)(~bits) << 32 | left;
}

static bool find_piece(const struct power_vocab *vocab, struct power_text text, uint32_t *out) {
    return power_index_find(vocab->index, text, out) &&
           (vocab->types[*out] == POWER_TOKEN_NORMAL ||
            vocab->types[*out] == POWER_TOKEN_USER_DEFINED ||
            vocab->types[*out] == POWER_TOKEN_UNUSED);
}

/* A symbol is known by the offset where it starts in its part; lengths[i] bytes long, 0 when it was
 * merged away; symbols[i] is its token where it came from a merge. */
static bool push_pair(struct power_encode_work *work, struct power_text part, uint32_t left,
                      uint32_t right) {
    if (left == UINT32_MAX || right == UINT32_MAX) return true;
    uint32_t size = work->lengths[left] + work->lengths[right], id;
    if (size > work->vocab->longest_spelling ||
        !find_piece(work->vocab, (struct power_text){part.bytes + left, size}, &id))
        return true;
    return power_heap_push(work, (struct power_heap_entry){key_of(work->vocab->scores[id], left),
                                                           left, right, size, id});
}

static bool merge_part(struct power_encode_work *work, struct power_text part) {
    uint32_t *next = work->next, *prev = work->prev, *lengths = work->lengths;
    struct power_heap_entry e;
    while (power_heap_pop(work, &e)) {
        /* stale: one of the two is gone or has grown since */
        if (next[e.left] != e.right || lengths[e.left] == 0 ||
            lengths[e.left] + lengths[e.right] != e.size)
            continue;
        lengths[e.left] = e.size;
        lengths[e.right] = 0;
        work->symbols[e.left] = e.product;
        next[e.left] = next[e.right];
        if (next[e.left] != UINT32_MAX) prev[next[e.left]] = e.left;
        if (!push_pair(work, part, prev[e.left], e.left) ||
            !push_pair(work, part, e.left, next[e.left]))
            return false;
    }
    return true;
}

/* The bytes of what has no token, or <unk>, once for a run of them. */
static bool put_bytes(struct power_encode_work *work, struct power_text bytes) {
    const struct power_vocab *vocab = work->vocab;
    bool all = true;
    for (size_t i = 0; i < bytes.length; i++)
        all = all && vocab->byte_tokens[(unsigned char)bytes.bytes[i]] != POWER_NO_TOKEN;
    if (!all && vocab->info.unk == POWER_NO_TOKEN)
        return power_encode_fail(work, POWER_INVALID,
                                 "a character of the text has no token, nor have its bytes");
    if (!all && !work->last_was_unk) power_sink_put(&work->sink, vocab->info.unk);
    for (size_t i = 0; all && i < bytes.length; i++)
        power_sink_put(&work->sink, vocab->byte_tokens[(unsigned char)bytes.bytes[i]]);
    work->last_was_unk = !all;
    return true;
}

static bool put_part(struct power_encode_work *work, struct power_text part) {
    for (uint32_t at = 0; at != UINT32_MAX; at = work->next[at]) {
        struct power_text piece = {part.bytes + at, work->lengths[at]};
        uint32_t id = work->symbols[at];
        if (id == POWER_NO_TOKEN && !find_piece(work->vocab, piece, &id)) {
            if (!put_bytes(work, piece)) return false;
            continue;
        }
        work->last_was_unk = false;
        power_sink_put(&work->sink, id);
    }
    return true;
}

/* A part in which no user-defined piece stands. */
static bool encode_part(struct power_encode_work *work, struct power_text part) {
    if (part.length == 0) return true;
    if (!power_encode_grow(work, part.length)) return false;
    uint32_t last = UINT32_MAX;
    work->heap_count = 0;
    for (size_t at = 0, length; at < part.length; at += length) {
        uint32_t i = (uint32_t)at;
        (void)power_utf8_get(part, at, &length, NULL);
        work->symbols[i] = POWER_NO_TOKEN;
        work->lengths[i] = (uint32_t)length;
        work->prev[i] = last;
        work->next[i] = UINT32_MAX;
        if (last != UINT32_MAX) work->next[last] = i;
        if (!push_pair(work, part, last, i)) return false;
        last = i;
    }
    return merge_part(work, part) && put_part(work, part);
}

bool power_spm_segment(struct power_encode_work *work, struct power_text text) {
    size_t start = 0;
    uint32_t last = 0;
    work->last_was_unk = false;
    for (size_t at = 0, length; at < text.length; at += length) {
        const struct power_special *user =
            power_specials_match(&work->vocab->specials, text, NULL, at, false, true);
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        if (user || (at > start && !may_join(work->vocab, last, code))) {
            if (!encode_part(work, (struct power_text){text.bytes + start, at - start}))
                return false;
            start = at;
        }
        last = code;
        if (!user) continue;
        power_sink_put(&work->sink, user->id);
        work->last_was_unk = false;
        length = user->spelling.length;
        start = at + length;
    }
    return encode_part(work, (struct power_text){text.bytes + start, text.length - start});
}
