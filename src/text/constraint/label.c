/* SPDX-License-Identifier: MIT */
/* What each token does inside a JSON string whose code points are all of one set, whatever their
 * number.
 * Input: a state of an automaton whose code points lead to one state. Output: the tokens that stay
 * inside by their length, and the nodes of the tree behind closing quotes.
 * Owner: one matcher. Threads: one. Bounds: POWER_LABELS sets, a sixteenth of the bytes for states
 * each at most (a quarter of the matcher's bytes); one walk of the tree a set.
 * A pattern such as ^.{1,80}$ has a state a code point with the same set in all of them: without
 * this each would need a walk of its own. */
#include "text/constraint/state.h"

static void forget(struct power_matcher *m, struct power_label_tokens *l) {
    power_release(m->allocator, l->by_length, m->trie->n_tokens, sizeof *l->by_length);
    power_release(m->allocator, l->all, m->trie->n_words, sizeof *l->all);
    power_release(m->allocator, l->exits, l->exits_room, sizeof *l->exits);
    power_release(m->allocator, l->closers, l->closers_room, sizeof *l->closers);
    *l = (struct power_label_tokens){0};
}

void power_labels_finish(struct power_matcher *m) {
    for (uint32_t i = 0; i < POWER_LABELS; i++)
        forget(m, &m->labels[i]);
}

static size_t bytes_of(const struct power_matcher *m, const struct power_label_tokens *l) {
    return m->trie->n_tokens * sizeof *l->by_length + m->trie->n_words * sizeof *l->all +
           ((size_t)l->exits_room + l->closers_room) * sizeof *l->exits;
}

static bool add(struct power_matcher *m, struct power_trie_exit **items, uint32_t *n,
                uint32_t *room, struct power_trie_exit item) {
    if (*n == *room) {
        uint32_t more = *room ? *room * 2 : 256;
        struct power_trie_exit *grown = power_alloc(m->allocator, more, sizeof *grown);
        if (!grown) return false;
        if (*n) memcpy(grown, *items, *n * sizeof *grown);
        power_release(m->allocator, *items, *room, sizeof *grown);
        *items = grown;
        *room = more;
    }
    (*items)[(*n)++] = item;
    return true;
}

/* `length`: code points a token takes when it stays inside, 0: it does not. */
static bool walk(struct power_matcher *m, const struct power_program_regular *text,
                 struct power_string_place *path, uint8_t *length, struct power_label_tokens *l) {
    const struct power_trie_tree *tree = &m->trie->all;
    path[0] = (struct power_string_place){0};
    for (uint32_t i = 1; i < tree->n_nodes;) {
        const struct power_trie_node *node = &tree->nodes[i];
        struct power_string_place *to = &path[node->depth];
        if (!power_string_step(text, &path[node->depth - 1], node->byte, to)) {
            i = node->end;
            continue;
        }
        uint32_t n = to->n + (to->cursor.spelling != POWER_SPELL_START);
        for (uint32_t t = to->closed ? POWER_NO_TOKEN : node->token; t != POWER_NO_TOKEN;
             t = m->trie->same[t])
            length[t] = (uint8_t)n;
        struct power_trie_exit exit = {i, n};
        bool more = to->closed && node->end > i + 1;
        bool token = to->closed && node->token != POWER_NO_TOKEN;
        if (more && !add(m, &l->exits, &l->n_exits, &l->exits_room, exit)) return false;
        if (token && !add(m, &l->closers, &l->n_closers, &l->closers_room, exit)) return false;
        i++;
    }
    return true;
}

/* The walk with the automaton of any number of the label's code points. */
static bool walk_label(struct power_matcher *m, const struct power_regular *a, uint32_t label,
                       struct power_string_place *path, uint8_t *length,
                       struct power_label_tokens *l) {
    const struct power_regular_state *from = &a->states[label];
    const struct power_regular_state state = {0, from->n_edges, true};
    struct power_regular_edge *edges = power_alloc(m->allocator, from->n_edges, sizeof *edges);
    if (!edges) return false;
    memcpy(edges, a->edges + from->first_edge, from->n_edges * sizeof *edges);
    for (uint32_t i = 0; i < from->n_edges; i++)
        edges[i].to = 0;
    const struct power_program_regular text = {.language = {&state, edges, 1, from->n_edges},
                                               .encoding = POWER_AS_JSON};
    bool done = walk(m, &text, path, length, l);
    power_release(m->allocator, edges, from->n_edges, sizeof *edges);
    return done;
}

static void sort_by_length(const struct power_matcher *m, const uint8_t *length,
                           struct power_label_tokens *l) {
    uint32_t next[POWER_TRIE_MAX_BYTES + 2], n = 0;
    for (uint32_t t = 0; t < m->trie->n_tokens; t++)
        l->from[length[t] + 1]++;
    l->from[1] = 0; /* those that do not stay inside */
    for (uint32_t k = 0; k < POWER_TRIE_MAX_BYTES + 2; k++) {
        n += l->from[k];
        next[k] = l->from[k] = n;
    }
    for (uint32_t t = 0; t < m->trie->n_tokens; t++) {
        if (!length[t]) continue;
        l->by_length[next[length[t]]++] = t;
        l->all[t / 64] |= UINT64_C(1) << (t % 64);
    }
}

static bool make(struct power_matcher *m, const struct power_regular *a, uint32_t label,
                 struct power_label_tokens *l) {
    size_t depth = (size_t)m->trie->max_depth + 1, n = m->trie->n_tokens;
    struct power_string_place *path = power_alloc(m->allocator, depth, sizeof *path);
    uint8_t *length = power_alloc(m->allocator, n, 1);
    l->by_length = power_alloc(m->allocator, n, sizeof *l->by_length);
    l->all = power_alloc(m->allocator, m->trie->n_words, sizeof *l->all);
    bool done =
        path && length && l->by_length && l->all && walk_label(m, a, label, path, length, l);
    if (done) sort_by_length(m, length, l);
    power_release(m->allocator, path, depth, sizeof *path);
    power_release(m->allocator, length, n, 1);
    return done;
}

bool power_labels_get(struct power_matcher *m, uint32_t regular, uint32_t label,
                      const struct power_label_tokens **out) {
    *out = NULL;
    for (uint32_t i = 0; i < POWER_LABELS; i++) {
        if (m->labels[i].label != label + 1 || m->labels[i].regular != regular) continue;
        *out = &m->labels[i];
        return true;
    }
    struct power_label_tokens *l = &m->labels[m->next_label];
    size_t most = m->max_state_bytes / 16;
    forget(m, l);
    if (bytes_of(m, l) > most) return true;
    bool done = make(m, &m->grammar->regulars[regular].language, label, l);
    if (!done || bytes_of(m, l) > most) {
        forget(m, l);
        return done || power_states_fail(m, POWER_NO_MEMORY, "no memory for %u tokens of a string",
                                         m->trie->n_tokens);
    }
    m->next_label = (m->next_label + 1) % POWER_LABELS;
    l->regular = regular;
    l->label = label + 1;
    *out = l;
    return true;
}
