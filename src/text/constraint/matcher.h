/* SPDX-License-Identifier: MIT */
/* A frozen grammar over a vocabulary: which tokens may come next.
 * Input: a grammar, a vocabulary's tokens, the tokens so far. Output: bit masks over the
 * vocabulary. Owner: a model holds the tokens' trie, a generation its matcher. Threads: a trie any;
 * a matcher one at a time. Bounds: states and masks are kept within the limits; the oldest that no
 * match holds are dropped first. A token is admitted only when the end can still be reached after
 * it, and the vocabulary can write what is missing: a match has no dead end. */
#ifndef POWER_TEXT_MATCHER_H
#define POWER_TEXT_MATCHER_H

#include "text/constraint/grammar.h"
#include "text/vocab.h"

struct power_token_trie; /* opaque: bytes of the tokens that may write constrained text */
struct power_matcher;    /* opaque */

/* How a grammar names a control token: bytes that no UTF-8 text has. A grammar without them never
 * admits one, and a text that a user wrote never becomes one. */
#define POWER_CONTROL_BYTES 5
static inline void power_control_bytes(uint32_t id, char out[POWER_CONTROL_BYTES]) {
    out[0] = (char)0xFE;
    for (int i = 1; i < POWER_CONTROL_BYTES; i++, id >>= 6)
        out[i] = (char)(0x80 | (id & 0x3F));
}

/* Control tokens take part by power_control_bytes alone; unused and unknown tokens and tokens
 * without bytes take no part, nor does what holds the byte 0xFE; end tokens take part through the
 * mask alone. POWER_UNSUPPORTED for a vocabulary that cannot write every byte that
 * UTF-8 uses (then a grammar could have dead ends). */
power_status power_token_trie_create(const power_allocator *allocator,
                                     const struct power_vocab *vocab, struct power_token_trie **out,
                                     power_error *error) POWER_MUST_USE;
void power_token_trie_destroy(struct power_token_trie *trie);

struct power_matcher_limits {
    size_t max_bytes;  /* states and masks; 0: 64 MiB */
    uint32_t max_open; /* alternatives and nesting of one state; 0: 10,000 */
};

/* Borrows both; the grammar is frozen. */
power_status power_matcher_create(const power_allocator *allocator,
                                  const struct power_grammar *grammar,
                                  const struct power_token_trie *trie,
                                  const struct power_matcher_limits *limits,
                                  struct power_matcher **out, power_error *error) POWER_MUST_USE;
void power_matcher_destroy(struct power_matcher *matcher);

/* A place in the grammar. A value that holds its state until it is released. */
struct power_match {
    uint32_t state;
};
struct power_match power_matcher_start(struct power_matcher *matcher);
struct power_match power_matcher_fork(struct power_matcher *matcher, struct power_match match);
void power_matcher_release(struct power_matcher *matcher, struct power_match match);

/* out_mask: borrowed until the next call on this matcher; bit id % 64 of word id / 64; words beyond
 * the vocabulary's size are 0. End tokens are set where the grammar can end. out_count: bits set
 * (at least 1; 0 where only the end can follow and the vocabulary has no end token, for which
 * models refuse constraints); out_only: the one token when the count is 1. POWER_LIMIT,
 * POWER_NO_MEMORY. */
power_status power_matcher_mask(struct power_matcher *matcher, struct power_match match,
                                const uint64_t **out_mask, uint32_t *out_count, uint32_t *out_only,
                                power_error *error) POWER_MUST_USE;
/* Moves on by one token. POWER_INVALID when it is not admitted (the match stays). An end token
 * where the grammar can end leaves the match as it is. */
power_status power_matcher_accept(struct power_matcher *matcher, struct power_match *match,
                                  uint32_t id, power_error *error) POWER_MUST_USE;
/* The same for bytes, which need not be one token's. */
power_status power_matcher_accept_bytes(struct power_matcher *matcher, struct power_match *match,
                                        struct power_text bytes, power_error *error) POWER_MUST_USE;
bool power_matcher_can_end(const struct power_matcher *matcher, struct power_match match);

/* Whether `text` as a whole is in the language (tests and checks of finished answers). */
power_status power_matcher_accepts(struct power_matcher *matcher, struct power_text text,
                                   bool *out_accepts, power_error *error) POWER_MUST_USE;

#endif
