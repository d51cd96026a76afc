/* SPDX-License-Identifier: MIT */
/* The bytes of a vocabulary's tokens as two trees in depth-first order.
 * Input: a vocabulary. Output: immutable arrays. Owner: a model. Threads: any.
 * Bounds: nodes are at most the bytes of the tokens. */
#ifndef POWER_TEXT_TOKEN_TRIE_H
#define POWER_TEXT_TOKEN_TRIE_H

#include "text/constraint/matcher.h"

#define POWER_TRIE_RUNS 63 /* less than POWER_RUN_MAX: mask.c says why */

#define POWER_TRIE_MAX_BYTES 255 /* a longer token takes no part */

/* Node 0 is the root. The children of a node lie behind it up to `end`. */
struct power_trie_node {
    uint32_t end;
    uint32_t token; /* POWER_NO_TOKEN: none; tokens of the same bytes follow by `same` */
    uint16_t depth;
    unsigned char byte;
};
struct power_trie_tree {
    struct power_trie_node *nodes;
    uint32_t n_nodes;
};

struct power_trie_exit {
    uint32_t node, n;
};

struct power_token_trie {
    const power_allocator *allocator;
    struct power_arena arena;
    uint32_t n_tokens, n_words; /* words of a mask */
    uint32_t max_depth;
    uint32_t n_runs;               /* safe token sets are there for 1 .. n_runs code points */
    struct power_trie_tree all;    /* every token that takes part */
    struct power_trie_tree unsafe; /* those that are in no safe set */
    struct power_text *pieces;     /* n_tokens; empty for those that take no part */
    uint32_t *same;                /* a token: the next one of the same bytes */
    uint64_t *end_mask;            /* end tokens */
    uint64_t
        *safe[POWER_TRIE_RUNS + 1]; /* [k]: tokens of at most k safe code points, whole UTF-8 */
    /* In the JSON string of any text, from the start of a character: [k]: tokens that stay inside,
     * when at most k code points may follow (one begun counts); and the nodes of `unsafe` where the
     * closing quote has come and more bytes follow, with the code points before it. */
    uint64_t **inside;
    uint32_t n_inside;
    struct power_trie_exit *exits;
    uint32_t n_exits;
    struct power_trie_exit *closers; /* nodes of tokens that end with the closing quote */
    uint32_t n_closers;
    uint64_t single_bytes[4]; /* bytes that are tokens by themselves */
};

/* Sets the bits of `token` and of all tokens of the same bytes; POWER_NO_TOKEN is none. */
static inline void power_trie_set_tokens(const struct power_token_trie *trie, uint64_t *mask,
                                         uint32_t token) {
    for (; token != POWER_NO_TOKEN; token = trie->same[token])
        mask[token / 64] |= UINT64_C(1) << (token % 64);
}

/* trie_string.c: inside, closers, exits. False without memory. */
bool power_token_trie_strings(struct power_token_trie *trie);

#endif
