/* SPDX-License-Identifier: MIT */
/* Building the trees of a vocabulary's tokens, and the sets of safe tokens.
 * Input: a vocabulary. Output: arrays in depth-first order. Threads: one while building.
 * Bounds: a sort of the tokens; nodes are at most the bytes of the tokens. */
#include "text/constraint/token_trie.h"

#include <stdlib.h>

struct entry {
    struct power_text text;
    uint32_t token;
};

static int compare_entries(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    size_t n = x->text.length < y->text.length ? x->text.length : y->text.length;
    int order = memcmp(x->text.bytes, y->text.bytes, n);
    if (order) return order;
    if (x->text.length != y->text.length) return x->text.length < y->text.length ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Code points of a text that is whole UTF-8 without control characters, quotes and backslashes;
 * UINT32_MAX for any other. */
static uint32_t safe_length(struct power_text text) {
    uint32_t n = 0;
    for (size_t i = 0; i < text.length; n++) {
        unsigned char b = (unsigned char)text.bytes[i++];
        if (b < 0x20 || b == '"' || b == '\\' || (b >= 0x80 && b < 0xC2) || b > 0xF4) {
            return UINT32_MAX;
        }
        uint32_t missing = b < 0x80   ? 0
                           : b < 0xE0 ? 1
                           : b < 0xF0 ? 2
                                      : 3,
                 code = b & (0x3Fu >> missing);
        for (; missing; missing--) {
            if (i == text.length || ((unsigned char)text.bytes[i] & 0xC0) != 0x80) {
                return UINT32_MAX;
            }
            code = code << 6 | ((unsigned char)text.bytes[i++] & 0x3F);
        }
        bool is_long = (b >= 0xE0 && code < 0x800) || (b >= 0xF0 && code < 0x10000);
        if (is_long || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return UINT32_MAX;
    }
    return n;
}

static void set_bit(uint64_t *mask, uint32_t token) {
    mask[token / 64] |= UINT64_C(1) << (token % 64);
}

/* ---- trees ---- */

static size_t shared_bytes(struct power_text a, struct power_text b) {
    size_t n = 0;
    while (n < a.length && n < b.length && a.bytes[n] == b.bytes[n])
        n++;
    return n;
}

static size_t count_nodes(const struct entry *entries, uint32_t n) {
    size_t nodes = 1;
    struct power_text before = {NULL, 0};
    for (uint32_t i = 0; i < n; i++) {
        nodes += entries[i].text.length - shared_bytes(before, entries[i].text);
        before = entries[i].text;
    }
    return nodes;
}

/* Sorted entries come in depth-first order. `open` holds the node at each depth of the path. */
static bool build_tree(struct power_token_trie *trie, struct power_trie_tree *tree,
                       const struct entry *entries, uint32_t n) {
    size_t n_nodes = count_nodes(entries, n);
    uint32_t *open = power_alloc(trie->allocator, (size_t)trie->max_depth + 1, sizeof *open);
    tree->nodes =
        n_nodes < UINT32_MAX ? power_arena_alloc(&trie->arena, n_nodes, sizeof *tree->nodes) : NULL;
    if (!open || !tree->nodes) {
        power_release(trie->allocator, open, (size_t)trie->max_depth + 1, sizeof *open);
        return false;
    }
    struct power_text before = {NULL, 0};
    uint32_t at = 1;
    tree->nodes[0] = (struct power_trie_node){.token = POWER_NO_TOKEN};
    for (uint32_t i = 0; i < n; i++) {
        struct power_text text = entries[i].text;
        size_t depth = shared_bytes(before, text);
        for (size_t d = depth + 1; d <= before.length; d++)
            tree->nodes[open[d]].end = at;
        for (; depth < text.length; depth++) {
            tree->nodes[at] = (struct power_trie_node){.token = POWER_NO_TOKEN,
                                                       .depth = (uint16_t)(depth + 1),
                                                       .byte = (unsigned char)text.bytes[depth]};
            open[depth + 1] = at++;
        }
        trie->same[entries[i].token] = tree->nodes[open[text.length]].token;
        tree->nodes[open[text.length]].token = entries[i].token;
        before = text;
    }
    for (size_t d = 1; d <= before.length; d++)
        tree->nodes[open[d]].end = at;
    tree->nodes[0].end = at;
    tree->n_nodes = at;
    power_release(trie->allocator, open, (size_t)trie->max_depth + 1, sizeof *open);
    return true;
}

/* ---- building ---- */

static bool is_control(const struct power_vocab *vocab, uint32_t id) {
    return power_vocab_token_type(vocab, id) == POWER_TOKEN_CONTROL &&
           !power_vocab_is_end(vocab, id) && id < UINT32_C(1) << 24;
}

/* The bytes by which a token is chosen; empty for those that take no part. */
static struct power_text piece_of(const struct power_vocab *vocab, uint32_t id, char *control) {
    enum power_token_type type = power_vocab_token_type(vocab, id);
    struct power_text piece = power_vocab_piece(vocab, id), none = {NULL, 0};
    if (is_control(vocab, id)) {
        power_control_bytes(id, control);
        return (struct power_text){control, POWER_CONTROL_BYTES};
    }
    if (type == POWER_TOKEN_CONTROL || type == POWER_TOKEN_UNUSED || type == POWER_TOKEN_UNKNOWN ||
        power_vocab_is_end(vocab, id) || !piece.length || piece.length > POWER_TRIE_MAX_BYTES)
        return none;
    return memchr(piece.bytes, 0xFE, piece.length) ? none : piece;
}

/* Bytes in the arena: the trie outlives its vocabulary. */
static bool copy_pieces(struct power_token_trie *trie, const struct power_vocab *vocab) {
    char control[POWER_CONTROL_BYTES];
    size_t bytes = 0;
    trie->pieces = power_arena_alloc(&trie->arena, trie->n_tokens, sizeof *trie->pieces);
    for (uint32_t id = 0; id < trie->n_tokens; id++)
        bytes += piece_of(vocab, id, control).length;
    char *text = power_arena_alloc(&trie->arena, bytes, 1);
    if (!trie->pieces || !text) return false;
    for (uint32_t id = 0; id < trie->n_tokens; id++) {
        struct power_text piece = piece_of(vocab, id, control);
        if (!piece.length) continue;
        memcpy(text, piece.bytes, piece.length);
        trie->pieces[id] = (struct power_text){text, piece.length};
        text += piece.length;
        /* A grammar that names a control token can be written: it names one of this vocabulary. */
        if (is_control(vocab, id)) trie->single_bytes[0xFE >> 6] |= UINT64_C(1) << (0xFE & 63);
    }
    return true;
}

static uint32_t collect(struct power_token_trie *trie, struct entry *entries) {
    uint32_t n = 0;
    for (uint32_t id = 0; id < trie->n_tokens; id++) {
        struct power_text text = trie->pieces[id];
        if (text.length == 0) continue;
        entries[n++] = (struct entry){text, id};
        if (text.length > trie->max_depth) trie->max_depth = (uint32_t)text.length;
        if (text.length > 1) continue;
        unsigned char byte = (unsigned char)text.bytes[0];
        trie->single_bytes[byte >> 6] |= UINT64_C(1) << (byte & 63);
    }
    return n;
}

/* Safe sets for each number of code points; what is in none is moved to the front. */
static bool build_safe(struct power_token_trie *trie, struct entry *entries, uint32_t n,
                       uint32_t *out_unsafe) {
    uint32_t n_unsafe = 0, longest = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t length = safe_length(entries[i].text);
        if (length <= POWER_TRIE_RUNS && length > longest) longest = length;
    }
    trie->n_runs = longest;
    for (uint32_t k = 0; k <= longest; k++) {
        trie->safe[k] = power_arena_alloc(&trie->arena, trie->n_words, sizeof *trie->safe[k]);
        if (!trie->safe[k]) return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t length = safe_length(entries[i].text);
        if (length <= longest) {
            set_bit(trie->safe[length], entries[i].token);
        } else {
            entries[n_unsafe++] = entries[i];
        }
    }
    for (uint32_t k = 1; k <= longest; k++) {
        for (uint32_t w = 0; w < trie->n_words; w++)
            trie->safe[k][w] |= trie->safe[k - 1][w];
    }
    *out_unsafe = n_unsafe;
    return true;
}

static power_status build(struct power_token_trie *trie, const struct power_vocab *vocab,
                          struct entry *entries, power_error *error) {
    const struct power_vocab_info *info = power_vocab_info(vocab);
    if (!copy_pieces(trie, vocab)) {
        return power_fail_memory(error, trie->n_tokens, "the tree of tokens");
    }
    uint32_t n = collect(trie, entries), n_unsafe;
    for (uint32_t b = 0; b <= 0xF4; b++) {
        bool in_utf8 = b < 0xC0 || b >= 0xC2;
        if (!in_utf8 || trie->single_bytes[b >> 6] >> (b & 63) & 1) continue;
        return power_fail(error, POWER_UNSUPPORTED,
                          "the vocabulary has no token for the byte 0x%02x, so a constraint could "
                          "ask for what it cannot write",
                          b);
    }
    for (uint32_t i = 0; i < info->n_end_tokens; i++) {
        if (info->end_tokens[i] < trie->n_tokens) set_bit(trie->end_mask, info->end_tokens[i]);
    }
    if (n) qsort(entries, n, sizeof *entries, compare_entries);
    bool done = build_tree(trie, &trie->all, entries, n) && build_safe(trie, entries, n, &n_unsafe);
    if (done && build_tree(trie, &trie->unsafe, entries, n_unsafe) &&
        power_token_trie_strings(trie)) {
        return POWER_OK;
    }
    return power_fail_memory(error, trie->arena.used_bytes, "the tree of tokens");
}

power_status power_token_trie_create(const power_allocator *allocator,
                                     const struct power_vocab *vocab, struct power_token_trie **out,
                                     power_error *error) {
    struct power_token_trie *trie = power_alloc(allocator, 1, sizeof *trie);
    if (!trie) return power_fail_memory(error, sizeof *trie, "the tree of tokens");
    trie->allocator = allocator;
    trie->n_tokens = power_vocab_info(vocab)->n_tokens;
    trie->n_words = (trie->n_tokens + 63) / 64;
    power_arena_init(&trie->arena, allocator, SIZE_MAX);
    struct entry *entries = power_alloc(allocator, trie->n_tokens, sizeof *entries);
    trie->same = power_arena_alloc(&trie->arena, trie->n_tokens, sizeof *trie->same);
    trie->end_mask = power_arena_alloc(&trie->arena, trie->n_words, sizeof *trie->end_mask);
    power_status status = entries && trie->same && trie->end_mask
                              ? build(trie, vocab, entries, error)
                              : power_fail_memory(error, trie->n_tokens, "the tree of tokens");
    power_release(allocator, entries, trie->n_tokens, sizeof *entries);
    if (status != POWER_OK) {
        power_token_trie_destroy(trie);
        return status;
    }
    *out = trie;
    return POWER_OK;
}

void power_token_trie_destroy(struct power_token_trie *trie) {
    if (!trie) return;
    power_arena_finish(&trie->arena);
    power_release(trie->allocator, trie, 1, sizeof *trie);
}
