/* SPDX-License-Identifier: MIT */
/* A byte trie over the spellings of a vocabulary, for all tokens that a text begins with.
 * Input: spellings and ids. Output: nodes.
 * Threads: building one, walking any.
 * Bounds: at most one node a byte of the spellings; a step costs one binary search of children. */
#ifndef POWER_TEXT_TRIE_H
#define POWER_TEXT_TRIE_H

#include "base/memory.h"
#include "base/span.h"

#define POWER_TRIE_NONE UINT32_MAX

struct power_trie_key {
    struct power_text text; /* not empty */
    uint32_t id;
};

/* Node 0 is the root. Children of a node lie side by side, in order of their byte. */
struct power_trie {
    uint32_t n_nodes;
    uint32_t *first;       /* n_nodes + 1; children of i: first[i] .. first[i + 1] */
    unsigned char *labels; /* n_nodes: the byte that leads to it */
    uint32_t *ids;         /* n_nodes: POWER_TRIE_NONE where no key ends */
};

/* Sorts `keys`; of equal texts the smallest id counts. Tables lie in the arena. */
power_status power_trie_build(struct power_trie *trie, struct power_arena *arena,
                              const power_allocator *allocator, struct power_trie_key *keys,
                              uint32_t n_keys, power_error *error) POWER_MUST_USE;
/* The child of `node` along `byte`, 0 when there is none. */
uint32_t power_trie_child(const struct power_trie *trie, uint32_t node, unsigned char byte);
/* The node that `text` leads to from the root, 0 when there is none (or the text is empty). */
uint32_t power_trie_walk(const struct power_trie *trie, struct power_text text);

#endif
