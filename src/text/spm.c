/* SPDX-License-Identifier: MIT */
/* Job: SentencePiece BPE: merges by score, user-defined pieces whole, byte fallback.
 * Input: a segment with spaces escaped. Output: ids into the sink.
 * Threads: one per encode call. Bounds: O(n log n), constant stack.
 * Source: the sentencepiece library's published behaviour. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

/* A symbol starts at its index in the text and is lengths[i] bytes long; 0: merged away. The pieces
 * of frozen (user-defined) symbols stand in symbols[], others have POWER_NO_TOKEN. */

/* Highest score first, then leftmost. */
static uint64_t key_of(float score, uint32_t left) {
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u; /* ascending as the score */
    return (uint64_t)(~bits) << 32 | left;
}

static bool may_merge_to(const struct power_vocab *vocab, uint32_t id) {
    return vocab->types[id] == POWER_TOKEN_NORMAL || vocab->types[id] == POWER_TOKEN_USER_DEFINED ||
           vocab->types[id] == POWER_TOKEN_UNUSED;
}

static bool push_pair(struct power_encode_work *work, struct power_text text, uint32_t left,
                      uint32_t right) {
    if (left == UINT32_MAX || right == UINT32_MAX) return true;
    if (work->symbols[left] != POWER_NO_TOKEN || work->symbols[right] != POWER_NO_TOKEN)
        return true;
    size_t length = (size_t)work->lengths[left] + work->lengths[right];
    if (length > work->vocab->longest_spelling) return true;
    uint32_t id;
    struct power_text both = {text.bytes + left, length};
    if (!power_index_find(work->vocab->index, both, &id) || !may_merge_to(work->vocab, id))
        return true;
    return power_heap_push(work, key_of(work->vocab->scores[id], left), left, right);
}

/* First symbols: user-defined pieces, else characters. Returns false without memory. */
static bool first_symbols(struct power_encode_work *work, struct power_text text) {
    uint32_t last = UINT32_MAX;
    work->heap_count = 0;
    for (size_t at = 0, length; at < text.length; at += length) {
        const struct power_special *user =
            power_specials_match(&work->vocab->specials, text, at, false, true);
        uint32_t i = (uint32_t)at;
        (void)power_utf8_get(text, at, &length, NULL);
        if (user) length = user->spelling.length;
        work->symbols[i] = user ? user->id : POWER_NO_TOKEN;
        work->lengths[i] = (uint32_t)length;
        work->prev[i] = last;
        work->next[i] = UINT32_MAX;
        if (last != UINT32_MAX) work->next[last] = i;
        if (!push_pair(work, text, last, i)) return false;
        last = i;
    }
    return true;
}

bool power_encode_bytes(struct power_encode_work *work, struct power_text bytes,
                        bool *last_was_unk) {
    const struct power_vocab *vocab = work->vocab;
    bool all = true;
    for (size_t i = 0; i < bytes.length; i++)
        all = all && vocab->byte_tokens[(unsigned char)bytes.bytes[i]] != POWER_NO_TOKEN;
    if (!all && vocab->info.unk == POWER_NO_TOKEN)
        return power_encode_fail(work, POWER_INVALID,
                                 "a character of the text has no token, nor has its bytes");
    if (!all && !*last_was_unk) power_sink_put(&work->sink, vocab->info.unk);
    for (size_t i = 0; all && i < bytes.length; i++)
        power_sink_put(&work->sink, vocab->byte_tokens[(unsigned char)bytes.bytes[i]]);
    *last_was_unk = !all;
    return true;
}

static bool put_symbols(struct power_encode_work *work, struct power_text text) {
    bool unk = false;
    for (uint32_t at = 0; at != UINT32_MAX; at = work->next[at]) {
        struct power_text piece = {text.bytes + at, work->lengths[at]};
        uint32_t id = work->symbols[at];
        if (id == POWER_NO_TOKEN &&
            (!power_index_find(work->vocab->index, piece, &id) || !may_merge_to(work->vocab, id))) {
            if (!power_encode_bytes(work, piece, &unk)) return false;
            continue;
        }
        unk = false;
        power_sink_put(&work->sink, id);
    }
    return true;
}

bool power_spm_segment(struct power_encode_work *work, struct power_text text) {
    if (text.length == 0) return true;
    if (!power_encode_grow(work, text.length) || !first_symbols(work, text)) return false;
    uint32_t *next = work->next, *prev = work->prev, *lengths = work->lengths;
    struct power_heap_entry e;
    while (power_heap_pop(work, &e)) {
        /* stale: one of the two is gone, or one has grown since (then the product differs) */
        if (lengths[e.left] == 0 || lengths[e.right] == 0 || next[e.left] != e.right) continue;
        uint32_t id;
        struct power_text both = {text.bytes + e.left, (size_t)lengths[e.left] + lengths[e.right]};
        if (!power_index_find(work->vocab->index, both, &id) || !may_merge_to(work->vocab, id) ||
            key_of(work->vocab->scores[id], e.left) != e.key)
            continue;
        lengths[e.left] += lengths[e.right];
        lengths[e.right] = 0;
        next[e.left] = next[e.right];
        if (next[e.left] != UINT32_MAX) prev[next[e.left]] = e.left;
        if (!push_pair(work, text, prev[e.left], e.left) ||
            !push_pair(work, text, e.left, next[e.left]))
            return false;
    }
    return put_symbols(work, text);
}
