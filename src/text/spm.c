/* SPDX-License-Identifier: MIT */
/* Job: SentencePiece BPE: merges by score, user-defined pieces whole, byte fallback.
 * Input: a segment with spaces escaped. Output: ids into the sink.
 * Threads: one per encode call. Bounds: O(n log n), constant stack.
 * Source: the sentencepiece library's published behaviour. The segment is cut where no token can
 * span (two characters that stand side by side in no token), which changes no merge. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define SHORT_PART 32 /* characters of a part that is merged by a scan, which is faster there */

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
            uint32_t bit = power_pair_bit(last, code);
            if (at) vocab->pairs[bit / 64] |= (uint64_t)1 << (bit % 64);
            last = code;
        }
    }
    return POWER_OK;
}

/* Ascending as the score descends. */
static uint32_t rank_of(float score) {
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~bits;
}

/* A symbol is known by the offset where it starts in its part; lengths[i] bytes long, 0 when it was
 * merged away; symbols[i] is its token where it came from a merge. */
static bool push_pair(struct power_encode_work *work, struct power_text part, uint32_t left,
                      uint32_t right) {
    if (left == UINT32_MAX || right == UINT32_MAX) return true;
    uint32_t size = work->lengths[left] + work->lengths[right], id;
    if (!power_words_find(work->vocab, (struct power_text){part.bytes + left, size}, &id))
        return true;
    /* highest score first, then leftmost */
    uint64_t key = (uint64_t)rank_of(work->vocab->scores[id]) << 32 | left;
    return power_heap_push(work, (struct power_heap_entry){key, left, right, size, id});
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
    if (!all && work->last_was_unk)
        power_sink_extend(&work->sink, bytes.length);
    else if (!all)
        power_sink_put_length(&work->sink, vocab->info.unk, bytes.length);
    for (size_t i = 0; all && i < bytes.length; i++)
        power_sink_put(&work->sink, vocab->byte_tokens[(unsigned char)bytes.bytes[i]]);
    work->last_was_unk = !all;
    return true;
}

static bool put_symbol(struct power_encode_work *work, struct power_text bytes, uint32_t id) {
    if (id == POWER_NO_TOKEN && !power_words_find(work->vocab, bytes, &id))
        return put_bytes(work, bytes);
    work->last_was_unk = false;
    power_sink_put(&work->sink, id);
    return true;
}

static bool merge_long(struct power_encode_work *work, struct power_text part) {
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
    if (!merge_part(work, part)) return false;
    for (uint32_t at = 0; at != UINT32_MAX; at = work->next[at]) {
        struct power_text piece = {part.bytes + at, work->lengths[at]};
        if (!put_symbol(work, piece, work->symbols[at])) return false;
    }
    return true;
}

/* Symbols of a short part: symbol i begins at starts[i] and ends at starts[i + 1]; pairs[i] is the
 * token of symbols i and i + 1. */
struct short_part {
    struct power_text text;
    uint32_t n;
    uint32_t starts[SHORT_PART + 1], ids[SHORT_PART], pairs[SHORT_PART], ranks[SHORT_PART];
};

static void find_pair(const struct power_vocab *vocab, struct short_part *s, uint32_t i) {
    struct power_text both = {s->text.bytes + s->starts[i], s->starts[i + 2] - s->starts[i]};
    uint32_t id = POWER_NO_TOKEN;
    if (!power_words_find(vocab, both, &id)) id = POWER_NO_TOKEN;
    s->pairs[i] = id;
    s->ranks[i] = id == POWER_NO_TOKEN ? UINT32_MAX : rank_of(vocab->scores[id]);
}

static void join_pair(const struct power_vocab *vocab, struct short_part *s, uint32_t i) {
    s->ids[i] = s->pairs[i];
    size_t behind = s->n - i - 2;
    memmove(s->starts + i + 1, s->starts + i + 2, (behind + 1) * sizeof *s->starts);
    memmove(s->ids + i + 1, s->ids + i + 2, behind * sizeof *s->ids);
    memmove(s->pairs + i, s->pairs + i + 1, behind * sizeof *s->pairs);
    memmove(s->ranks + i, s->ranks + i + 1, behind * sizeof *s->ranks);
    s->n--;
    if (i + 1 < s->n) find_pair(vocab, s, i);
    if (i > 0) find_pair(vocab, s, i - 1);
}

static void merge_short(const struct power_vocab *vocab, struct short_part *s) {
    for (uint32_t i = 0; i + 1 < s->n; i++)
        find_pair(vocab, s, i);
    for (;;) {
        uint32_t best = s->n;
        for (uint32_t i = 0; i + 1 < s->n; i++) {
            if (s->pairs[i] != POWER_NO_TOKEN && (best == s->n || s->ranks[i] < s->ranks[best]))
                best = i;
        }
        if (best == s->n) return;
        join_pair(vocab, s, best);
    }
}

static bool put_short(struct power_encode_work *work, struct short_part *s) {
    bool whole = true; /* each symbol is a token */
    for (uint32_t i = 0; i < s->n; i++) {
        struct power_text bytes = {s->text.bytes + s->starts[i], s->starts[i + 1] - s->starts[i]};
        uint32_t id = s->ids[i];
        if (id == POWER_NO_TOKEN && power_words_find(work->vocab, bytes, &id)) s->ids[i] = id;
        whole = whole && s->ids[i] != POWER_NO_TOKEN;
        if (!put_symbol(work, bytes, s->ids[i])) return false;
    }
    if (whole && s->n == 1)
        power_mark_alone(work->vocab, s->ids[0]);
    else if (whole)
        power_words_remember(work, s->text, s->ids, s->n);
    return true;
}

static bool merge(struct power_encode_work *work, struct power_text part) {
    struct short_part s; /* too large to be cleared for each part */
    s.text = part;
    s.n = 0;
    for (size_t at = 0, length; at < part.length; at += length) {
        if (s.n == SHORT_PART) return merge_long(work, part);
        (void)power_utf8_get(part, at, &length, NULL);
        s.ids[s.n] = POWER_NO_TOKEN;
        s.starts[s.n++] = (uint32_t)at;
        s.starts[s.n] = (uint32_t)(at + length);
    }
    merge_short(work->vocab, &s);
    return put_short(work, &s);
}

/* A part in which no user-defined piece stands. */
static bool encode_part(struct power_encode_work *work, struct power_text part) {
    uint32_t id;
    if (part.length == 0) return true;
    bool alone = power_words_find(work->vocab, part, &id) && power_is_alone(work->vocab, id);
    if (alone) power_sink_put(&work->sink, id);
    if (alone || power_words_recall(work, part)) {
        work->last_was_unk = false;
        return true;
    }
    return merge(work, part);
}

bool power_spm_segment(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    const uint32_t *first = vocab->specials.first;
    size_t start = 0;
    uint32_t last = 0;
    work->last_was_unk = false;
    for (size_t at = 0, length; at < text.length; at += length) {
        unsigned char byte = (unsigned char)text.bytes[at];
        const struct power_special *user =
            first[byte] == first[byte + 1]
                ? NULL
                : power_specials_match(&vocab->specials, text, NULL, at, false, true);
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        if (user || (at > start && !power_bit_of(vocab->pairs, power_pair_bit(last, code)))) {
            if (!encode_part(work, (struct power_text){text.bytes + start, at - start}))
                return false;
            start = at;
        }
        last = code;
        if (!user) continue;
        power_sink_put_length(&work->sink, user->id, user->spelling.length);
        work->last_was_unk = false;
        length = user->spelling.length;
        start = at + length;
    }
    return encode_part(work, (struct power_text){text.bytes + start, text.length - start});
}
