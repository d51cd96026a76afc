/* SPDX-License-Identifier: MIT */
/* Job: a byte trie over spellings, laid out breadth first.
 * Input: keys. Output: tables.
 * Threads: building one, walking any. Bounds: see trie.h; the work list has one entry a node. */
#include "text/trie.h"

#include <stdlib.h>

#include "base/error.h"

/* Keys [low, high) agree on their first `depth` bytes. */
struct pending {
    uint32_t low, high, depth;
};

static int compare(const void *a, const void *b) {
    const struct power_trie_key *x = a, *y = b;
    size_t n = x->text.length < y->text.length ? x->text.length : y->text.length;
    int order = memcmp(x->text.bytes, y->text.bytes, n);
    if (order == 0) order = (x->text.length > y->text.length) - (x->text.length < y->text.length);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static size_t shared_prefix(struct power_text a, struct power_text b) {
    size_t n = a.length < b.length ? a.length : b.length, i = 0;
    while (i < n && a.bytes[i] == b.bytes[i])
        i++;
    return i;
}

static size_t count_nodes(const struct power_trie_key *keys, uint32_t n_keys) {
    size_t nodes = 1;
    for (uint32_t i = 0; i < n_keys; i++) {
        size_t shared = i ? shared_prefix(keys[i - 1].text, keys[i].text) : 0;
        nodes += keys[i].text.length - shared;
    }
    return nodes;
}

static void lay_out(struct power_trie *trie, const struct power_trie_key *keys,
                    struct pending *work) {
    uint32_t made = 1;
    for (uint32_t node = 0; node < trie->n_nodes; node++) {
        struct pending p = work[node];
        trie->first[node] = made;
        trie->ids[node] = POWER_TRIE_NONE;
        if (p.low < p.high && keys[p.low].text.length == p.depth) trie->ids[node] = keys[p.low].id;
        while (p.low < p.high && keys[p.low].text.length == p.depth)
            p.low++;
        while (p.low < p.high) {
            char byte = keys[p.low].text.bytes[p.depth];
            uint32_t end = p.low + 1;
            while (end < p.high && keys[end].text.bytes[p.depth] == byte)
                end++;
            trie->labels[made] = (unsigned char)byte;
            work[made++] = (struct pending){p.low, end, p.depth + 1};
            p.low = end;
        }
    }
    trie->first[trie->n_nodes] = made;
}

power_status power_trie_build(struct power_trie *trie, struct power_arena *arena,
                              const power_allocator *allocator, struct power_trie_key *keys,
                              uint32_t n_keys, power_error *error) {
    if (n_keys) qsort(keys, n_keys, sizeof *keys, compare);
    size_t nodes = count_nodes(keys, n_keys);
    if (nodes >= UINT32_MAX)
        return power_fail(error, POWER_LIMIT, "spellings of %zu bytes are over the limit of %u",
                          nodes, UINT32_MAX - 1);
    struct pending *work = power_alloc(allocator, nodes, sizeof *work);
    trie->n_nodes = (uint32_t)nodes;
    trie->first = power_arena_alloc(arena, nodes + 1, sizeof *trie->first);
    trie->labels = power_arena_alloc(arena, nodes, 1);
    trie->ids = power_arena_alloc(arena, nodes, sizeof *trie->ids);
    bool ok = work && trie->first && trie->labels && trie->ids;
    if (ok) {
        work[0] = (struct pending){0, n_keys, 0};
        lay_out(trie, keys, work);
    }
    power_release(allocator, work, nodes, sizeof *work);
    return ok ? POWER_OK : power_fail_memory(error, nodes * 9, "vocabulary");
}

uint32_t power_trie_child(const struct power_trie *trie, uint32_t node, unsigned char byte) {
    uint32_t low = trie->first[node], end = trie->first[node + 1], high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trie->labels[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trie->labels[low] == byte ? low : 0;
}

uint32_t power_trie_walk(const struct power_trie *trie, struct power_text text) {
    uint32_t node = 0;
    for (size_t i = 0; i < text.length; i++) {
        node = power_trie_child(trie, node, (unsigned char)text.bytes[i]);
        if (node == 0) return 0;
    }
    return node;
}
