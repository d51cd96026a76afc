/* SPDX-License-Identifier: MIT */
/* Job: merges of byte-pair encoding by rank, on token ids.
 * Input: a piece of text. Output: ids into the sink.
 * Threads: one per encode call. Bounds: O(n log n) in the piece, constant stack; short pieces are
 * merged in place by a quadratic scan that is faster there. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define SHORT_PIECE 24
#define LONGEST_MERGE 4096

static uint32_t hash_pair(uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32);
}

power_status power_merges_init(struct power_vocab *vocab, size_t count, power_error *error) {
    size_t slots = 16;
    while (slots < count + count / 2)
        slots *= 2;
    vocab->merges = power_arena_alloc(&vocab->arena, slots, sizeof *vocab->merges);
    if (!vocab->merges) return power_fail_memory(error, slots * sizeof *vocab->merges, "merges");
    vocab->merge_mask = (uint32_t)(slots - 1);
    for (size_t i = 0; i < slots; i++)
        vocab->merges[i].left = POWER_NO_TOKEN;
    return POWER_OK;
}

static struct power_merge *find_slot(const struct power_vocab *vocab, uint32_t left,
                                     uint32_t right) {
    uint32_t at = hash_pair(left, right) & vocab->merge_mask;
    for (;;) {
        struct power_merge *m = &vocab->merges[at];
        if (m->left == POWER_NO_TOKEN || (m->left == left && m->right == right)) return m;
        at = (at + 1) & vocab->merge_mask;
    }
}

bool power_merges_add(struct power_vocab *vocab, uint32_t left, uint32_t right, uint32_t rank,
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
    (void)power_merges_add(vocab, a, b, rank, product); /* the first of equal pairs counts */
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

/* A piece that is itself a token, spelled in the byte alphabet. */
static uint32_t find_whole(const struct power_vocab *vocab, struct power_text piece) {
    char spelling[512];
    size_t n = 0;
    if (piece.length * 2 > sizeof spelling) return POWER_NO_TOKEN;
    for (size_t i = 0; i < piece.length; i++)
        n += power_utf8_put(power_byte_to_code((unsigned char)piece.bytes[i]), spelling + n);
    uint32_t id;
    if (n > vocab->longest_spelling ||
        !power_index_find(vocab->index, (struct power_text){spelling, n}, &id))
        return POWER_NO_TOKEN;
    return vocab->types[id] == POWER_TOKEN_NORMAL ? id : POWER_NO_TOKEN;
}

bool power_bpe_piece(void *context, struct power_text piece) {
    struct power_encode_work *work = context;
    const struct power_vocab *vocab = work->vocab;
    if (vocab->whole_words) {
        uint32_t id = find_whole(vocab, piece);
        if (id != POWER_NO_TOKEN) {
            power_sink_put(&work->sink, id);
            return true;
        }
    }
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
    return merge(work, n);
}

bool power_bpe_characters(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    if (!power_encode_grow(work, text.length)) return false;
    size_t n = 0;
    bool last_unk = false;
    for (size_t at = 0, length; at < text.length; at += length) {
        (void)power_utf8_get(text, at, &length, NULL);
        struct power_text c = {text.bytes + at, length};
        uint32_t id;
        if (power_index_find(vocab->index, c, &id) && vocab->types[id] == POWER_TOKEN_NORMAL) {
            work->symbols[n++] = id;
            last_unk = false;
            continue;
        }
        bool bytes = true;
        for (size_t i = 0; i < length; i++)
            bytes = bytes && vocab->byte_tokens[(unsigned char)c.bytes[i]] != POWER_NO_TOKEN;
        if (!bytes && vocab->info.unk == POWER_NO_TOKEN)
            return power_encode_fail(work, POWER_INVALID,
                                     "a character of the text has no token, nor has its bytes");
        if (!bytes && !(last_unk && vocab->fuse_unk)) work->symbols[n++] = vocab->info.unk;
        for (size_t i = 0; bytes && i < length; i++)
            work->symbols[n++] = vocab->byte_tokens[(unsigned char)c.bytes[i]];
        last_unk = !bytes;
    }
    return n == 0 || merge(work, n);
}
