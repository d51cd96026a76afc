/* SPDX-License-Identifier: MIT */
/* Masks: the tokens that may follow a state.
 * Input: a state and the tree of tokens. Output: bits, kept a state while there is room.
 * Threads: one. Bounds: a walk visits each node of the tree at most twice.
 *
 * A walk steps the state along the tree and skips what is below an impossible byte. Two things
 * spare the walk over most tokens of a free string:
 * - Safe tokens (token_trie.h). Where every safe text of k code points can follow, the set of the
 *   tokens of at most k is taken as it is, and only the tree of unsafe tokens is walked. Longer
 * safe tokens are impossible where no safe text of more than k can follow.
 * - What stays inside the callable at work does not depend on the frame around it. That part is
 * found once, in the frame HOLE, with the nodes of the tree where the callable can end ("exits");
 * in a frame only the tokens behind the exits are walked. */
#include "text/constraint/state.h"

enum { MAX_EXITS = 8192, NO_EXITS = UINT32_MAX, FEWEST_MASKS = 4, WIDE_BYTES = 24 };

struct walk {
    struct power_matcher *m;
    const struct power_trie_tree *tree;
    uint64_t *mask;
    bool exits;  /* note the nodes of exits, too */
    bool unsure; /* nodes that ask for an exact walk were noted */
    bool exact;
};

bool power_masks_init(struct power_matcher *m, size_t max_bytes) {
    size_t bytes = (size_t)m->trie->n_words * sizeof(uint64_t) + sizeof(struct power_mask_slot);
    size_t n = bytes ? max_bytes / bytes : 0;
    if (n < FEWEST_MASKS) n = FEWEST_MASKS;
    if (n > 65536) n = 65536;
    m->n_masks = (uint32_t)n;
    m->masks = power_alloc(m->allocator, m->n_masks, sizeof *m->masks);
    m->path = power_alloc(m->allocator, (size_t)m->trie->max_depth + 1, sizeof *m->path);
    return m->masks && m->path;
}

void power_masks_finish(struct power_matcher *m) {
    for (uint32_t i = 0; m->masks && i < m->n_masks; i++)
        power_release(m->allocator, m->masks[i].words, m->trie->n_words, sizeof(uint64_t));
    power_release(m->allocator, m->masks, m->n_masks, sizeof *m->masks);
    power_release(m->allocator, m->path, (size_t)m->trie->max_depth + 1, sizeof *m->path);
    power_release(m->allocator, m->found, m->found_room, sizeof *m->found);
    power_labels_finish(m);
}

/* Masks of states that were dropped. */
void power_masks_forget(struct power_matcher *m) {
    for (uint32_t i = 0; i < m->n_masks; i++) {
        if (m->masks[i].state && !m->states[m->masks[i].state].live) m->masks[i].state = 0;
    }
}

/* The next slot that was not used again since it was last looked at. */
static struct power_mask_slot *take_slot(struct power_matcher *m, uint32_t state) {
    struct power_mask_slot *slot;
    uint32_t at;
    do {
        at = m->next_mask;
        slot = &m->masks[at];
        m->next_mask = (at + 1) % m->n_masks;
    } while (slot->state && slot->used_again && (slot->used_again = false, true));
    if (slot->state) m->states[slot->state].mask = 0;
    slot->state = 0;
    if (!slot->words) {
        slot->words = power_alloc(m->allocator, m->trie->n_words, sizeof *slot->words);
        if (!slot->words) {
            power_states_fail(m, POWER_NO_MEMORY, "no memory for %u words of a mask",
                              m->trie->n_words);
            return NULL;
        }
    }
    slot->state = state;
    slot->used_again = true;
    m->states[state].mask = at + 1;
    return slot;
}

/* ---- walks ---- */

static bool note(struct walk *w, uint32_t node) {
    struct power_matcher *m = w->m;
    if (!POWER_STATES_ROOM(m, found)) return false;
    m->found[m->n_found++] = node;
    return true;
}

/* Nodes first .. end - 1, which are whole subtrees; path[depth - 1] of the first one is set. */
static bool walk_nodes(struct walk *w, uint32_t first, uint32_t end) {
    struct power_matcher *m = w->m;
    const struct power_trie_node *nodes = w->tree->nodes;
    for (uint32_t i = first; i < end;) {
        const struct power_trie_node *node = &nodes[i];
        uint32_t from = m->path[node->depth - 1];
        uint32_t to = w->exact ? power_states_step_new(m, from, node->byte, true)
                               : power_states_step(m, from, node->byte);
        if (to <= POWER_STATE_DEAD) {
            if (to == POWER_STATE_UNKNOWN) return false;
            i = node->end;
            continue;
        }
        uint32_t flags = m->states[to].flags;
        bool leaf = node->end == i + 1;
        if (flags & POWER_STATE_UNSURE) {
            w->unsure = true;
            if (!note(w, i)) return false;
            i = node->end;
            continue;
        }
        if (flags & POWER_STATE_HOLE && w->exits && !leaf && !note(w, i)) return false;
        if (node->token != POWER_NO_TOKEN) power_trie_set_tokens(w->m->trie, w->mask, node->token);
        m->path[node->depth] = to;
        i++;
    }
    return true;
}

static bool walk_below(struct walk *w, uint32_t node, uint32_t state) {
    const struct power_trie_node *nodes = w->tree->nodes;
    w->m->path[nodes[node].depth] = state;
    return walk_nodes(w, node + 1, nodes[node].end);
}

/* From the root to `node` with the texts of keys kept, and on below it. */
static bool walk_exactly(struct walk *w, uint32_t state, uint32_t node) {
    const struct power_trie_node *nodes = w->tree->nodes;
    uint32_t at = 0;
    while (at != node) {
        at++;
        while (nodes[at].end <= node)
            at = nodes[at].end;
        state = power_states_step_new(w->m, state, nodes[at].byte, true);
        if (state <= POWER_STATE_DEAD) return state == POWER_STATE_DEAD;
    }
    power_trie_set_tokens(w->m->trie, w->mask, nodes[node].token);
    w->exact = true;
    bool done = walk_below(w, node, state);
    w->exact = false;
    return done;
}

/* ---- safe tokens ---- */

/* A class's key: a used key could be all that is left of a text only where few are left; behind
 * POWER_TRIE_RUNS < POWER_RUN_MAX code points one more is free, of a million. */
static bool class_is_free(const struct power_matcher *m, const struct power_local *l,
                          bool unlimited) {
    enum { USED_WORD = 3, MANY = 1000000 };
    uint32_t used = m->payloads.entries[l->payload].words[USED_WORD];
    return used == 0 || (unlimited && used < MANY);
}

/* How many safe code points can follow, whatever they are; -1 when that is not known, or when
 * longer safe texts would have to be looked at. */
static int safe_run(const struct power_matcher *m, uint32_t state) {
    const struct power_state *s = &m->states[state];
    for (uint32_t i = 0; i < s->n_items; i++) {
        if (s->items[i].local < m->grammar->n_nodes) continue;
        const struct power_local *l = power_local_of(m, s->items[i].local);
        bool class = l->kind == POWER_LOCAL_CLASS, quoted = l->kind == POWER_LOCAL_QUOTED;
        if ((!class && !quoted && l->kind != POWER_LOCAL_CURSOR) || l->b != POWER_SPELL_START) {
            continue;
        }
        uint32_t ref = class ? m->grammar->objects[l->ref].classes[l->d].regular : l->ref;
        const struct power_program_regular *r = &m->grammar->regulars[ref];
        int least = r->run_min[l->a], most = r->run_max[l->a];
        bool unlimited = least == POWER_RUN_MAX;
        if (class && !class_is_free(m, l, unlimited)) continue;
        if (unlimited) return least;
        if (least == most && (class || quoted) && s->n_items == 1) return least;
    }
    return -1;
}

static bool fill(struct walk *w, uint32_t state) {
    struct power_matcher *m = w->m;
    const struct power_token_trie *trie = m->trie;
    int run = safe_run(m, state);
    w->tree = &trie->all;
    if (run >= 0) {
        uint32_t k = (uint32_t)run < trie->n_runs ? (uint32_t)run : trie->n_runs;
        memcpy(w->mask, trie->safe[k], trie->n_words * sizeof *w->mask);
        w->tree = &trie->unsafe;
    } else {
        memset(w->mask, 0, trie->n_words * sizeof *w->mask);
    }
    m->n_found = 0;
    return walk_below(w, 0, state);
}

/* ---- with and without the frame ---- */

static void finish_slot(const struct power_matcher *m, struct power_mask_slot *slot,
                        uint32_t state) {
    uint32_t n = 0, only = POWER_NO_TOKEN;
    for (uint32_t w = 0; w < m->trie->n_words; w++) {
        if (m->states[state].flags & POWER_STATE_END) slot->words[w] |= m->trie->end_mask[w];
        if (!slot->words[w]) continue;
        if (n == 0) only = w * 64 + (uint32_t)__builtin_ctzll(slot->words[w]);
        n += (uint32_t)__builtin_popcountll(slot->words[w]);
    }
    slot->count = n;
    slot->only = n == 1 ? only : POWER_NO_TOKEN;
}

static bool fill_directly(struct power_matcher *m, struct power_mask_slot *slot, uint32_t state) {
    struct walk w = {.m = m, .mask = slot->words};
    if (!fill(&w, state)) return false;
    uint32_t n = m->n_found;
    for (uint32_t i = 0; i < n; i++) {
        if (!walk_exactly(&w, state, m->found[i])) return false;
    }
    return true;
}

/* The frame of all items, where looking inside it may pay; else the root. */
static uint32_t frame_of(const struct power_matcher *m, uint32_t state) {
    const struct power_state *s = &m->states[state];
    int n = 0;
    if (s->n_items == 0 || s->n_few || s->flags & POWER_STATE_CLASS) return POWER_FRAME_ROOT;
    for (uint32_t i = 1; i < s->n_items; i++) {
        if (s->items[i].frame != s->items[0].frame) return POWER_FRAME_ROOT;
    }
    for (int w = 0; w < 4; w++)
        n += __builtin_popcountll(s->maybe[w]);
    return n < WIDE_BYTES ? POWER_FRAME_ROOT : s->items[0].frame;
}

/* The mask inside the hole and its exits; NULL on failure. The exits are kept with the state. */
static struct power_mask_slot *fill_inside(struct power_matcher *m, uint32_t inside) {
    struct power_state *s = &m->states[inside];
    if (s->mask) return &m->masks[s->mask - 1];
    struct power_mask_slot *slot = take_slot(m, inside);
    struct walk w = {.m = m, .exits = true};
    if (!slot) return NULL;
    w.mask = slot->words;
    bool done = fill(&w, inside);
    s = &m->states[inside];
    if (done && !s->exits && !w.unsure && m->n_found <= MAX_EXITS) {
        s->exits = power_states_alloc(m, m->n_found + 1, sizeof *s->exits);
        done = s->exits != NULL;
        if (done && m->n_found) memcpy(s->exits, m->found, m->n_found * sizeof *s->exits);
        s->n_exits = m->n_found;
    } else if (done && !s->exits) {
        s->n_exits = NO_EXITS;
    }
    if (!done) {
        slot->state = 0;
        s->mask = 0;
        return NULL;
    }
    return slot;
}

static bool fill_around(struct power_matcher *m, struct power_mask_slot *slot, uint32_t state,
                        uint32_t frame) {
    uint32_t inside = power_states_inside(m, state);
    if (inside <= POWER_STATE_DEAD) return m->status == POWER_OK && fill_directly(m, slot, state);
    if (m->states[inside].flags & POWER_STATE_HOLE || m->states[inside].n_exits == NO_EXITS) {
        return fill_directly(m, slot, state);
    }
    struct power_mask_slot *in = fill_inside(m, inside);
    if (!in) return false;
    if (m->states[inside].n_exits == NO_EXITS) return fill_directly(m, slot, state);
    memcpy(slot->words, in->words, m->trie->n_words * sizeof *slot->words);
    struct walk w = {.m = m, .mask = slot->words};
    w.tree = safe_run(m, state) >= 0 ? &m->trie->unsafe : &m->trie->all;
    uint32_t outside = power_states_of_frame(m, frame);
    if (outside == 0) return false;
    uint32_t n = m->states[inside].n_exits;
    const uint32_t *exits = m->states[inside].exits;
    m->n_found = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!walk_below(&w, exits[i], outside)) return false;
    }
    n = m->n_found;
    for (uint32_t i = 0; i < n; i++) {
        if (!walk_exactly(&w, state, m->found[i])) return false;
    }
    return true;
}

/* ---- strings of any text ---- */

/* The regular of a JSON string, at the start of a character. */
static const struct power_program_regular *string_of(const struct power_matcher *m, uint32_t state,
                                                     uint32_t *out_ref, uint32_t *out_at) {
    const struct power_state *s = &m->states[state];
    if (s->n_items != 1 || s->items[0].local < m->grammar->n_nodes) return NULL;
    const struct power_local *l = power_local_of(m, s->items[0].local);
    if (l->kind != POWER_LOCAL_QUOTED || l->b != POWER_SPELL_START) return NULL;
    const struct power_program_regular *r = &m->grammar->regulars[l->ref];
    *out_ref = l->ref;
    *out_at = l->a;
    return r->encoding == POWER_AS_JSON ? r : NULL;
}

/* A string that goes on with code points of one set: run[k] is the state behind k of them, `n` the
 * most that matter. */
struct string_run {
    uint32_t regular, label, n, run[POWER_TRIE_MAX_BYTES + 2];
    bool every;
};

static bool run_of(const struct power_matcher *m, uint32_t state, struct string_run *out) {
    uint32_t at = 0, n = 0, most = m->trie->n_inside;
    const struct power_program_regular *r = string_of(m, state, &out->regular, &at);
    if (!r || r->uniform[at] >= POWER_NO_MORE) return false;
    out->label = r->label[at];
    out->every = r->every[at];
    for (out->run[0] = at; n < most && r->uniform[out->run[n]] < POWER_NO_MORE; n++) {
        if (out->every ? !r->every[out->run[n]] : r->label[out->run[n]] != out->label) return false;
        out->run[n + 1] = r->uniform[out->run[n]];
    }
    out->n = n;
    return n == most || r->uniform[out->run[n]] == POWER_NO_MORE;
}

/* Tokens that close the string, and those that go on behind it. */
static bool fill_closing(struct walk *w, uint32_t state, const struct string_run *run,
                         const struct power_trie_exit *closers, uint32_t n_closers,
                         const struct power_trie_exit *exits, uint32_t n_exits) {
    struct power_matcher *m = w->m;
    const struct power_regular_state *states = m->grammar->regulars[run->regular].language.states;
    for (uint32_t i = 0; i < n_closers; i++) {
        if (closers[i].n <= run->n && states[run->run[closers[i].n]].accepts) {
            power_trie_set_tokens(w->m->trie, w->mask, w->tree->nodes[closers[i].node].token);
        }
    }
    uint32_t outside = power_states_of_frame(m, m->states[state].items[0].frame);
    m->n_found = 0;
    if (outside == POWER_STATE_UNKNOWN) return false;
    for (uint32_t i = 0; i < n_exits; i++) {
        if (exits[i].n > run->n || !states[run->run[exits[i].n]].accepts) continue;
        if (!walk_below(w, exits[i].node, outside)) return false;
    }
    for (uint32_t i = 0, found = m->n_found; i < found; i++) {
        if (!walk_exactly(w, state, m->found[i])) return false;
    }
    return true;
}

/* Tokens of at most `most` code points: from all or from none, whichever is nearer. */
static void set_inside(const struct power_matcher *m, const struct power_label_tokens *l,
                       uint32_t most, uint64_t *mask) {
    const size_t bytes = m->trie->n_words * sizeof *mask;
    uint32_t first = l->from[1], end = l->from[POWER_TRIE_MAX_BYTES + 1], cut = l->from[most + 1];
    bool down = end - cut < cut - first;
    if (down) {
        memcpy(mask, l->all, bytes);
    } else {
        memset(mask, 0, bytes);
    }
    for (uint32_t i = down ? cut : first; i < (down ? end : cut); i++) {
        uint32_t t = l->by_length[i];
        mask[t / 64] ^= UINT64_C(1) << (t % 64);
    }
}

/* Fills the mask of such a state from sets made in advance (trie_string.c, label.c) and the tokens
 * behind the quote; *out_done is false where the state is another. */
static bool fill_string(struct power_matcher *m, struct power_mask_slot *slot, uint32_t state,
                        bool *out_done) {
    const struct power_token_trie *trie = m->trie;
    const struct power_label_tokens *tokens = NULL;
    struct walk w = {.m = m, .mask = slot->words};
    struct string_run run;
    *out_done = false;
    if (!run_of(m, state, &run)) return true;
    if (run.every) {
        *out_done = true;
        w.tree = &trie->unsafe;
        memcpy(slot->words, trie->inside[run.n], trie->n_words * sizeof *slot->words);
        return fill_closing(&w, state, &run, trie->closers, trie->n_closers, trie->exits,
                            trie->n_exits);
    }
    if (!power_labels_get(m, run.regular, run.label, &tokens)) return false;
    if (!tokens) return true;
    *out_done = true;
    w.tree = &trie->all;
    set_inside(m, tokens, run.n, slot->words);
    return fill_closing(&w, state, &run, tokens->closers, tokens->n_closers, tokens->exits,
                        tokens->n_exits);
}

struct power_mask_slot *power_masks_get(struct power_matcher *m, uint32_t state) {
    if (m->states[state].mask) {
        struct power_mask_slot *slot = &m->masks[m->states[state].mask - 1];
        slot->used_again = true;
        return slot;
    }
    struct power_mask_slot *slot = take_slot(m, state);
    if (!slot) return NULL;
    uint32_t frame = frame_of(m, state);
    bool filled = false, done = fill_string(m, slot, state, &filled);
    if (done && !filled) {
        done = frame > POWER_FRAME_HOLE ? fill_around(m, slot, state, frame)
                                        : fill_directly(m, slot, state);
    }
    if (!done) {
        slot->state = 0;
        m->states[state].mask = 0;
        return NULL;
    }
    finish_slot(m, slot, state);
    return slot;
}
