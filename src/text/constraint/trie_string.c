/* SPDX-License-Identifier: MIT */
/* What each token does inside the JSON string of any text: it stays there, closes it, or cannot be.
 * Input: the trees of the tokens. Output: sets by code points, and the nodes behind closing quotes.
 * Threads: one while building. Bounds: one walk of the tree of unsafe tokens.
 * A string whose length alone is limited needs nothing else: its masks are unions of these sets. */
#include "text/constraint/state.h"

static const struct power_regular_state any_state = {0, 1, true};
static const struct power_regular_edge any_edge = {0, 0x10FFFF, 0};
static const struct power_program_regular any_text = {.language = {&any_state, &any_edge, 1, 1},
                                                      .encoding = POWER_AS_JSON};

bool power_string_step(const struct power_program_regular *text,
                       const struct power_string_place *from, unsigned char byte,
                       struct power_string_place *to) {
    *to = *from;
    if (from->closed) return false;
    if (byte == '"' && from->cursor.spelling == POWER_SPELL_START) {
        to->closed = true;
        return true;
    }
    if (!power_cursor_step(text, &to->cursor, byte)) return false;
    to->n += to->cursor.spelling == POWER_SPELL_START;
    return true;
}

struct list {
    struct power_trie_exit *items;
    uint32_t n, room;
};

static bool add(struct power_token_trie *trie, struct list *list, uint32_t node, uint32_t n) {
    if (list->n == list->room) {
        uint32_t more = list->room ? list->room * 2 : 256;
        struct power_trie_exit *grown = power_arena_alloc(&trie->arena, more, sizeof *grown);
        if (!grown) return false;
        if (list->n) memcpy(grown, list->items, list->n * sizeof *grown);
        list->items = grown;
        list->room = more;
    }
    list->items[list->n++] = (struct power_trie_exit){node, n};
    return true;
}

static bool walk(struct power_token_trie *trie, struct power_string_place *path) {
    const struct power_trie_tree *tree = &trie->unsafe;
    struct list exits = {0}, closers = {0};
    path[0] = (struct power_string_place){0};
    for (uint32_t i = 1; i < tree->n_nodes;) {
        const struct power_trie_node *node = &tree->nodes[i];
        struct power_string_place *to = &path[node->depth];
        if (!power_string_step(&any_text, &path[node->depth - 1], node->byte, to)) {
            i = node->end;
            continue;
        }
        uint32_t n = to->n + (to->cursor.spelling != POWER_SPELL_START);
        if (!to->closed) {
            power_trie_set_tokens(trie, trie->inside[n], node->token);
        } else if ((node->end > i + 1 && !add(trie, &exits, i, n)) ||
                   (node->token != POWER_NO_TOKEN && !add(trie, &closers, i, n))) {
            return false;
        }
        i++;
    }
    trie->exits = exits.items;
    trie->n_exits = exits.n;
    trie->closers = closers.items;
    trie->n_closers = closers.n;
    return true;
}

static bool alloc_sets(struct power_token_trie *trie, uint64_t ***out) {
    *out = power_arena_alloc(&trie->arena, trie->n_inside + 1, sizeof **out);
    for (uint32_t k = 0; *out && k <= trie->n_inside; k++) {
        (*out)[k] = power_arena_alloc(&trie->arena, trie->n_words, sizeof(uint64_t));
        if (!(*out)[k]) return false;
    }
    return *out != NULL;
}

bool power_token_trie_strings(struct power_token_trie *trie) {
    struct power_string_place *path =
        power_alloc(trie->allocator, (size_t)trie->max_depth + 1, sizeof *path);
    trie->n_inside = trie->max_depth;
    bool done = path && alloc_sets(trie, &trie->inside) && walk(trie, path);
    for (uint32_t k = 0; done && k <= trie->n_inside; k++) {
        uint32_t safe = k < trie->n_runs ? k : trie->n_runs;
        for (uint32_t w = 0; w < trie->n_words; w++) {
            if (k) trie->inside[k][w] |= trie->inside[k - 1][w];
            trie->inside[k][w] |= trie->safe[safe][w];
        }
    }
    power_release(trie->allocator, path, (size_t)trie->max_depth + 1, sizeof *path);
    return done;
}
