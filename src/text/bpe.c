/* SPDX-License-Identifier: MIT */
/* Job: merges of byte-pair encoding by rank, on token ids.
 * Input: a piece of text. Output: ids into the sink.
 * Threads: one per encode call. Bounds: O(n log n) in the piece, constant stack; short pieces are
 * merged in place by a quadratic scan that is faster there. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define SHORT_PIECE 24
#define LONGEST_MERGE 4096

/* Under secret factors, so that whoever crafts a vocabulary cannot make its pairs collide. */
static uint32_t hash_pair(const struct power_vocab *vocab, uint32_t left, uint32_t right) {
    uint64_t h = vocab->merge_seed[0] * left + vocab->merge_seed[1] * right;
    h = (h ^ h >> 32) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32);
}

power_status power_merges_init(struct power_vocab *vocab, size_t count, power_error *error) {
    size_t slots = 16;
    while (slots < count + count / 2)
        slots *= 2;
    vocab->merges = power_arena_alloc(&vocab->arena, slots, sizeof *vocab->merges);
    if (!vocab->merges) return power_fail_memory(error, slots * sizeof *vocab->merges, "merges");
    vocab->merge_mask = (uint32_t)(slots - 1);
    power_status status = power_hash_key(vocab->merge_seed, error);
    if (status != POWER_OK) return status;
    vocab->merge_seed[0] |= 1;
    vocab->merge_seed[1] |= 1;
    for (size_t i = 0; i < slots; i++)
        vocab->merges[i].left = POWER_NO_TOKEN;
    return POWER_OK;
}

static struct power_merge *find_slot(const struct power_vocab *vocab, uint32_t left,
                                     uint32_t right) {
    uint32_t at = hash_pair(vocab, left, right) & vocab->merge_mask;
    for (;;) {
        struct power_merge *m = &vocab->merges[at];
        if (m->left == POWER_NO_TOKEN || (m->left == left && m->right == right)) return m;
        at = (at + 1) & vocab->merge_mask;
    }
}

/* False when the same pair is there already: the first rank stays. */
static bool merges_add(struct power_vocab *vocab, uint32_t left, uint32_t right, uint32_t rank,
                       uint32_t product) {
    struct power_merge *m = find_slot(vocab, left, right);
    if (m->left != POWER_NO_TOKEN) return false;
    *m = (struct power_merge){left, right, rank, product};
    return true;
}

power_status power_merges_add_texts(struct power_vocab *vocab, struct power_text left,
                                    struct power_text right, uint32_t rank, power_error *error) {
    char joined[LONGEST_MERGE];
    uint32_t a, b, product;
    if (left.length > sizeof joined / 2 || right.length > sizeof joined / 2)
        return power_fail(error, POWER_LIMIT, "merge %u is longer than %d bytes", rank,
                          LONGEST_MERGE / 2);
    if (left.length) memcpy(joined, left.bytes, left.length);
    if (right.length) memcpy(joined + left.length, right.bytes, right.length);
    if (!power_index_find(vocab->index, left, &a) || !power_index_find(vocab->index, right, &b) ||
        !power_index_find(vocab->index, (struct power_text){joined, left.length + right.length},
                          &product))
        return power_fail(error, POWER_CORRUPT,
                          "merge %u, \"%s\" and \"%s\", is not of two tokens to a third", rank,
                          power_quote(left.bytes, left.length).text,
                          power_quote(right.bytes, right.length).text);
    /* Of equal pairs the first counts in GGUF, the last in tokenizer.json, as published readers
     * have it. */
    if (!merges_add(vocab, a, b, rank, product) && vocab->piped)
        find_slot(vocab, a, b)->rank = rank;
    return POWER_OK;
}

static const struct power_merge *find_merge(const struct power_vocab *vocab, uint32_t left,
                                            uint32_t right) {
    if (!vocab->merges) return NULL;
    const struct power_merge *m = find_slot(vocab, left, right);
    return m->left == POWER_NO_TOKEN ? NULL : m;
}

/* Lowest rank first, the leftmost of equals; symbols are moved together after each merge. */
static size_t merge_short(const struct power_vocab *vocab, uint32_t *symbols, size_t n) {
    const struct power_merge *merges[SHORT_PIECE];
    for (size_t i = 0; i + 1 < n; i++)
        merges[i] = find_merge(vocab, symbols[i], symbols[i + 1]);
    while (n > 1) {
        size_t best = n;
        for (size_t i = 0; i + 1 < n; i++) {
            if (merges[i] && (best == n || merges[i]->rank < merges[best]->rank)) best = i;
        }
        if (best == n) break;
        symbols[best] = merges[best]->product;
        memmove(symbols + best + 1, symbols + best + 2, (n - best - 2) * sizeof *symbols);
        if (best + 3 <= n)
            memmove(merges + best, merges + best + 1, (n - best - 2) * sizeof *merges);
        n--;
        if (best + 1 < n) merges[best] = find_merge(vocab, symbols[best], symbols[best + 1]);
        if (best > 0) merges[best - 1] = find_merge(vocab, symbols[best - 1], symbols[best]);
    }
    return n;
}

static bool push_pair(struct power_encode_work *work, uint32_t left, uint32_t right) {
    const struct power_merge *m =
        find_merge(work->vocab, work->symbols[left], work->symbols[right]);
    if (!m) return true;
    return power_heap_push(work, (struct power_heap_entry){.key = (uint64_t)m->rank << 32 | left,
                                                           .left = left,
                                                           .right = right});
}

/* The same with a heap and a linked list. A heap entry is stale when its pair no longer stands at
 * its place; equal pairs have equal ranks, so comparing the rank is enough. */
static bool merge_long(struct power_encode_work *work, size_t n) {
    uint32_t *symbols = work->symbols, *next = work->next, *prev = work->prev;
    const uint32_t none = UINT32_MAX;
    work->heap_count = 0;
    for (size_t i = 0; i < n; i++) {
        next[i] = i + 1 < n ? (uint32_t)(i + 1) : none;
        prev[i] = i ? (uint32_t)(i - 1) : none;
        if (i && !push_pair(work, (uint32_t)(i - 1), (uint32_t)i)) return false;
    }
    struct power_heap_entry e;
    while (power_heap_pop(work, &e)) {
        if (symbols[e.left] == POWER_NO_TOKEN || next[e.left] != e.right) continue;
        const struct power_merge *m = find_merge(work->vocab, symbols[e.left], symbols[e.right]);
        if (!m || m->rank != e.key >> 32) continue;
        symbols[e.left] = m->product;
        symbols[e.right] = POWER_NO_TOKEN;
        next[e.left] = next[e.right];
        if (next[e.left] != none) {
            prev[next[e.left]] = e.left;
            if (!push_pair(work, e.left, next[e.left])) return false;
        }
        if (prev[e.left] != none && !push_pair(work, prev[e.left], e.left)) return false;
    }
    for (uint32_t at = 0; at != none; at = next[at])
        power_sink_put(&work->sink, symbols[at]);
    return true;
}

/* work->symbols[0..n) hold the first symbols. */
static bool merge(struct power_encode_work *work, size_t n) {
    if (n > SHORT_PIECE) return merge_long(work, n);
    n = merge_short(work->vocab, work->symbols, n);
    for (size_t i = 0; i < n; i++)
        power_sink_put(&work->sink, work->symbols[i]);
    return true;
}

/* The bytes of a piece as symbols, merged. */
static bool merge_bytes(struct power_encode_work *work, struct power_text piece) {
    const struct power_vocab *vocab = work->vocab;
    if (!power_encode_grow(work, piece.length)) return false;
    size_t n = 0;
    for (size_t i = 0; i < piece.length; i++) {
        uint32_t id = vocab->byte_tokens[(unsigned char)piece.bytes[i]];
        if (id == POWER_NO_TOKEN) id = vocab->info.unk;
        if (id == POWER_NO_TOKEN)
            return power_encode_fail(
                work, POWER_INVALID,
                "a byte of the text has no token and there is no unknown token");
        work->symbols[n++] = id;
    }
    if (n > SHORT_PIECE) return merge_long(work, n);
    n = merge_short(vocab, work->symbols, n);
    for (size_t i = 0; i < n; i++)
        power_sink_put(&work->sink, work->symbols[i]);
    if (n == 1)
        power_mark_alone(vocab, work->symbols[0]);
    else
        power_words_remember(work, piece, work->symbols, n);
    return true;
}

static bool encode_part(struct power_encode_work *work, struct power_text part) {
    const struct power_vocab *vocab = work->vocab;
    uint32_t id;
    if (power_words_find(vocab, part, &id) && power_is_alone(vocab, id)) {
        power_sink_put(&work->sink, id);
        return true;
    }
    return power_words_recall(work, part) || merge_bytes(work, part);
}

/* No merge joins what stands on both sides of a place that no token of a merge has inside. */
static bool may_join(const struct power_vocab *vocab, uint32_t left, uint32_t right,
                     const char *at) {
    if (left == POWER_UTF8_BROKEN || right == POWER_UTF8_BROKEN) return true;
    if (power_bit_of(vocab->pairs, power_pair_bit(left, right))) return true;
    uint32_t bytes = (uint32_t)(unsigned char)at[-1] << 8 | (unsigned char)at[0];
    return power_bit_of(vocab->byte_pairs, bytes);
}

static bool encode_parts(struct power_encode_work *work, struct power_text piece) {
    size_t start = 0, length;
    uint32_t last = 0;
    for (size_t at = 0; at < piece.length; at += length) {
        uint32_t code = power_utf8_get(piece, at, &length, NULL);
        if (at > 0 && !may_join(work->vocab, last, code, piece.bytes + at)) {
            if (!encode_part(work, (struct power_text){piece.bytes + start, at - start}))
                return false;
            start = at;
        }
        last = code;
    }
    return encode_part(work, (struct power_text){piece.bytes + start, piece.length - start});
}

bool power_bpe_piece(void *context, struct power_text piece) {
    struct power_encode_work *work = context;
    const struct power_vocab *vocab = work->vocab;
    uint32_t id;
    if (power_words_find(vocab, piece, &id) && (vocab->whole_words || power_is_alone(vocab, id))) {
        power_sink_put(&work->sink, id);
        return true;
    }
    if (power_words_recall(work, piece)) return true;
    bool wide = piece.length > SHORT_PIECE ||
                (piece.length > 6 && (unsigned char)piece.bytes[piece.length - 1] >= 0x80);
    return wide && vocab->pairs ? encode_parts(work, piece) : merge_bytes(work, piece);
}

static void note_pairs(struct power_vocab *vocab, struct power_text token) {
    size_t length;
    uint32_t last = 0;
    for (size_t at = 0; at < token.length; at += length) {
        uint32_t code = power_utf8_get(token, at, &length, NULL);
        bool parts = code == POWER_UTF8_BROKEN || last == POWER_UTF8_BROKEN;
        unsigned char byte = (unsigned char)token.bytes[at];
        if (at > 0 && parts) {
            uint32_t bit = (uint32_t)(unsigned char)token.bytes[at - 1] << 8 | byte;
            vocab->byte_pairs[bit / 64] |= (uint64_t)1 << (bit % 64);
        } else if (at > 0) {
            uint32_t bit = power_pair_bit(last, code);
            vocab->pairs[bit / 64] |= (uint64_t)1 << (bit % 64);
        }
        last = code;
    }
}

static bool is_plain(const struct power_vocab *vocab, uint32_t id) {
    return vocab->types[id] == POWER_TOKEN_NORMAL;
}

power_status power_bpe_build(struct power_vocab *vocab, power_error *error) {
    size_t words = ((size_t)1 << POWER_PAIR_BITS) / 64, few = 65536 / 64;
    vocab->pairs = power_arena_alloc(&vocab->arena, words, sizeof *vocab->pairs);
    vocab->byte_pairs = power_arena_alloc(&vocab->arena, few, sizeof *vocab->byte_pairs);
    if (!vocab->pairs || !vocab->byte_pairs)
        return power_fail_memory(error, words * sizeof *vocab->pairs, "vocabulary");
    for (size_t i = 0; vocab->merges && i <= vocab->merge_mask; i++) {
        const struct power_merge *m = &vocab->merges[i];
        if (m->left == POWER_NO_TOKEN) continue;
        note_pairs(vocab, vocab->pieces[m->product]);
        if (!is_plain(vocab, m->left) || !is_plain(vocab, m->right) || !is_plain(vocab, m->product))
            words = 0; /* the bytes of such a token are not those of its spelling */
    }
    if (words == 0) vocab->pairs = NULL;
    return power_words_build(vocab, error);
}

/* No token and no bytes: one unknown token, or one for a run of them. */
static bool put_unknown(struct power_encode_work *work, size_t length, bool again) {
    const struct power_vocab *vocab = work->vocab;
    if (vocab->info.unk == POWER_NO_TOKEN)
        return power_encode_fail(work, POWER_INVALID,
                                 "a character of the text has no token, nor has its bytes");
    if (again && vocab->fuse_unk)
        power_sink_extend(&work->sink, length);
    else
        power_sink_put_length(&work->sink, vocab->info.unk, length);
    return true;
}

/* First symbols of a character at work->symbols + n: its token, or its bytes; their number. */
static size_t put_character(struct power_encode_work *work, struct power_text c, size_t n) {
    const struct power_vocab *vocab = work->vocab;
    uint32_t id;
    if (power_index_find(vocab->index, c, &id) && vocab->types[id] == POWER_TOKEN_NORMAL) {
        work->symbols[n] = id;
        return 1;
    }
    for (size_t i = 0; i < c.length; i++) {
        id = vocab->byte_tokens[(unsigned char)c.bytes[i]];
        if (id == POWER_NO_TOKEN) return 0;
        work->symbols[n + i] = id;
    }
    return c.length;
}

bool power_bpe_characters(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    uint32_t id;
    if (vocab->whole_words && power_index_find(vocab->index, text, &id) &&
        vocab->types[id] == POWER_TOKEN_NORMAL) {
        power_sink_put(&work->sink, id);
        return true;
    }
    if (!power_encode_grow(work, text.length)) return false;
    size_t n = 0;
    bool last_unk = false;
    for (size_t at = 0, length; at < text.length; at += length) {
        (void)power_utf8_get(text, at, &length, NULL);
        size_t added = put_character(work, (struct power_text){text.bytes + at, length}, n);
        n += added;
        if (added == 0 && n > 0 && !merge(work, n)) return false;
        if (added == 0) n = 0;
        if (added == 0 && !put_unknown(work, length, last_unk)) return false;
        last_unk = added == 0;
    }
    return n == 0 || merge(work, n);
}
