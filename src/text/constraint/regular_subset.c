/* SPDX-License-Identifier: MIT */
/* Job: the subset construction, with conditions on moves (start, end, word boundary) kept exact.
 * Input: an automaton with moves without a character. Output: a deterministic machine.
 * Threads: one an operation. Bounds: the operation's steps, states and work memory.
 *
 * A deterministic state is a set of states, closed under the moves that need no condition, and
 * where a condition is among them the kind of the character before. The conditions are decided
 * when the state is left: then the kind of the next character is known too. */
#include "text/constraint/regular_internal.h"

enum kind { EDGE, OTHER, WORD, UNKNOWN }; /* of what stands before or after; EDGE: no character */

struct subset_set {
    size_t offset;
    uint32_t length;
    uint32_t before; /* enum kind */
    uint64_t hash;
};

struct subset {
    struct regular_work *w;
    struct nfa *nfa;
    struct regular_machine *out;
    struct regular_list members; /* of all sets, one behind the other */
    struct regular_list sets;
    uint32_t *slots; /* number of a set plus one */
    size_t n_slots;
    uint32_t *marks, mark;
    struct regular_list todo, reach; /* of a closure */
    struct regular_list items, active, targets, found;
    uint32_t target_set; /* the set that `targets` gave */
    bool conditional, words;
};
#define SETS(s) ((struct subset_set *)(s)->sets.items)

static const struct power_regular_edge EVERY[] = {{0, REGULAR_LAST_CODE, 0}};
static const struct power_regular_edge WORDS[] = {
    {'0', '9', 0}, {'A', 'Z', 0}, {'_', '_', 0}, {'a', 'z', 0}};
static const struct power_regular_edge NO_WORDS[] = {{0, '0' - 1, 0},
                                                     {'9' + 1, 'A' - 1, 0},
                                                     {'Z' + 1, '_' - 1, 0},
                                                     {'_' + 1, 'a' - 1, 0},
                                                     {'z' + 1, REGULAR_LAST_CODE, 0}};

static bool holds(uint32_t condition, enum kind before, enum kind after) {
    if (condition == REGULAR_ALWAYS) return true;
    if (after == UNKNOWN) return false;
    if (condition == REGULAR_AT_START) return before == EDGE;
    if (condition == REGULAR_AT_END) return after == EDGE;
    bool boundary = (before == WORD) != (after == WORD);
    return boundary == (condition == REGULAR_AT_WORD);
}

static bool has_condition(const struct nfa *nfa, uint32_t state) {
    for (uint32_t j = NFA_STATES(nfa)[state].jumps; j != REGULAR_NONE; j = NFA_JUMPS(nfa)[j].next) {
        if (NFA_JUMPS(nfa)[j].condition != REGULAR_ALWAYS) return true;
    }
    return false;
}

/* ---- what can still accept when it is not at the start ---- */

struct backward {
    uint32_t *first, *sources; /* sources of state i: first[i] .. first[i + 1] */
};

static void count_move(struct backward *b, uint32_t from, uint32_t to, bool write) {
    if (write)
        b->sources[--b->first[to]] = from;
    else
        b->first[to]++;
}

static void list_moves(const struct nfa *nfa, struct backward *b, bool write) {
    for (uint32_t i = 0; i < nfa->states.count; i++) {
        const struct nfa_state *state = &NFA_STATES(nfa)[i];
        if (state->to != REGULAR_NONE) count_move(b, i, state->to, write);
        for (uint32_t j = state->jumps; j != REGULAR_NONE; j = NFA_JUMPS(nfa)[j].next) {
            if (NFA_JUMPS(nfa)[j].condition != REGULAR_AT_START)
                count_move(b, i, NFA_JUMPS(nfa)[j].to, write);
        }
    }
}

static bool find_alive(struct subset *s) {
    struct nfa *nfa = s->nfa;
    size_t n = nfa->states.count;
    struct backward b = {power_regular_alloc(s->w, n + 1, sizeof(uint32_t)), NULL};
    if (!b.first) return false;
    list_moves(nfa, &b, false);
    for (size_t i = 1; i <= n; i++)
        b.first[i] += b.first[i - 1];
    b.sources = power_regular_alloc(s->w, b.first[n], sizeof(uint32_t));
    if (!b.sources) return false;
    list_moves(nfa, &b, true);
    s->todo.count = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct nfa_state *state = &NFA_STATES(nfa)[i];
        state->alive = state->accepts || (state->n_edges && state->to == REGULAR_NONE);
        if (state->alive && !power_regular_push_u32(s->w, &s->todo, i)) return false;
    }
    while (s->todo.count > 0) {
        uint32_t at = ((uint32_t *)s->todo.items)[--s->todo.count];
        for (uint32_t i = b.first[at]; i < b.first[at + 1]; i++) {
            struct nfa_state *state = &NFA_STATES(nfa)[b.sources[i]];
            if (state->alive) continue;
            state->alive = true;
            if (!power_regular_push_u32(s->w, &s->todo, b.sources[i])) return false;
        }
    }
    return true;
}

/* ---- closures ---- */

static bool reach_state(struct subset *s, uint32_t state, enum kind before) {
    if (s->marks[state] == s->mark) return true;
    s->marks[state] = s->mark;
    if (before != EDGE && s->nfa->has[REGULAR_AT_START] && !NFA_STATES(s->nfa)[state].alive)
        return true;
    return power_regular_push_u32(s->w, &s->todo, state);
}

static bool follow_jumps(struct subset *s, uint32_t at, enum kind before, enum kind after) {
    const struct nfa *nfa = s->nfa;
    for (uint32_t j = NFA_STATES(nfa)[at].jumps; j != REGULAR_NONE; j = NFA_JUMPS(nfa)[j].next) {
        const struct nfa_jump *jump = &NFA_JUMPS(nfa)[j];
        if (!power_regular_steps(s->w, 1)) return false;
        if (holds(jump->condition, before, after) && !reach_state(s, jump->to, before))
            return false;
    }
    return true;
}

/* Appends to `out` the states that matter among those reached from the seeds. One that accepts
 * everything stands for all. */
static bool close_states(struct subset *s, const uint32_t *seeds, size_t n, enum kind before,
                         enum kind after, struct regular_list *out) {
    size_t begin = out->count;
    s->mark++;
    s->todo.count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!reach_state(s, seeds[i], before)) return false;
    }
    while (s->todo.count > 0) {
        uint32_t at = ((uint32_t *)s->todo.items)[--s->todo.count];
        const struct nfa_state *state = &NFA_STATES(s->nfa)[at];
        if (state->everything) {
            out->count = begin;
            return power_regular_push_u32(s->w, out, at);
        }
        bool matters =
            state->n_edges || state->accepts || (s->conditional && has_condition(s->nfa, at));
        if (matters && !power_regular_push_u32(s->w, out, at)) return false;
        if (!power_regular_steps(s->w, 1) || !follow_jumps(s, at, before, after)) return false;
    }
    return true;
}

/* ---- sets ---- */

static bool same_set(const struct subset *s, const struct subset_set *a,
                     const struct subset_set *b) {
    const uint32_t *members = s->members.items;
    return a->hash == b->hash && a->length == b->length && a->before == b->before &&
           memcmp(members + a->offset, members + b->offset, a->length * sizeof *members) == 0;
}

static void place_set(struct subset *s, uint32_t number) {
    size_t slot = (size_t)SETS(s)[number].hash & (s->n_slots - 1);
    while (s->slots[slot])
        slot = (slot + 1) & (s->n_slots - 1);
    s->slots[slot] = number + 1;
}

static bool grow_slots(struct subset *s) {
    if (s->sets.count * 2 < s->n_slots) return true;
    s->n_slots = s->n_slots ? s->n_slots * 2 : 64;
    s->slots = power_regular_alloc(s->w, s->n_slots, sizeof *s->slots);
    for (uint32_t i = 0; s->slots && i < s->sets.count; i++)
        place_set(s, i);
    return s->slots != NULL;
}

/* The number of the set that the last members from `offset` on are; REGULAR_NONE after a fault. */
static uint32_t intern_set(struct subset *s, size_t offset, enum kind before) {
    uint32_t *members = (uint32_t *)s->members.items + offset;
    size_t length = s->members.count - offset;
    bool depends = false;
    power_regular_sort_u32(members, length);
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++) {
        hash = power_regular_mix(hash, members[i]);
        depends = depends || (s->conditional && has_condition(s->nfa, members[i]));
    }
    if (!depends) before = OTHER;
    hash = power_regular_mix(hash, (uint64_t)before);
    struct subset_set set = {offset, (uint32_t)length, (uint32_t)before, hash};
    if (!grow_slots(s)) return REGULAR_NONE;
    size_t slot = (size_t)hash & (s->n_slots - 1);
    for (; s->slots[slot]; slot = (slot + 1) & (s->n_slots - 1)) {
        if (!power_regular_steps(s->w, 1)) return REGULAR_NONE;
        if (!same_set(s, &SETS(s)[s->slots[slot] - 1], &set)) continue;
        s->members.count = offset;
        return s->slots[slot] - 1;
    }
    if (!power_regular_room(s->w, &s->sets, 1, sizeof set)) return REGULAR_NONE;
    if (!power_machine_state(s->w, s->out)) return REGULAR_NONE;
    SETS(s)[s->sets.count++] = set;
    s->slots[slot] = (uint32_t)s->sets.count;
    return (uint32_t)s->sets.count - 1;
}

/* The set that the active items lead to, the kind of their character being `kind`. Empty: none. */
static uint32_t target_of(struct subset *s, enum kind kind) {
    const struct power_regular_edge *items = s->items.items;
    uint32_t *active = s->active.items;
    size_t n = s->active.count, offset = s->members.count;
    if (!power_regular_room(s->w, &s->targets, n, sizeof(uint32_t))) return REGULAR_NONE;
    uint32_t *targets = s->targets.items;
    bool same = s->target_set != REGULAR_NONE && s->targets.count == n;
    for (size_t i = 0; i < n; i++) {
        same = same && targets[i] == items[active[i]].to;
        targets[i] = items[active[i]].to;
    }
    if (same) return s->target_set;
    s->target_set = REGULAR_NONE;
    if (!power_regular_room(s->w, &s->targets, 0, sizeof(uint32_t))) return REGULAR_NONE;
    s->targets.count = n;
    if (!close_states(s, targets, n, kind, UNKNOWN, &s->members)) return REGULAR_NONE;
    s->target_set = intern_set(s, offset, kind);
    return s->target_set;
}

/* ---- edges ---- */

static bool gather_state(struct subset *s, uint32_t member, const struct power_regular_edge *clip,
                         size_t n_clip) {
    const struct nfa_state *state = &NFA_STATES(s->nfa)[member];
    if (!power_regular_steps(s->w, state->n_edges)) return false;
    size_t c = 0;
    for (uint32_t i = 0; i < state->n_edges; i++) {
        const struct power_regular_edge *edge = &state->edges[i];
        uint32_t to = state->to != REGULAR_NONE ? state->to : edge->to + state->base;
        while (c < n_clip && clip[c].last < edge->first)
            c++;
        for (size_t k = c; k < n_clip && clip[k].first <= edge->last; k++) {
            uint32_t first = edge->first > clip[k].first ? edge->first : clip[k].first;
            uint32_t last = edge->last < clip[k].last ? edge->last : clip[k].last;
            if (!power_regular_room(s->w, &s->items, 1, sizeof *edge)) return false;
            ((struct power_regular_edge *)s->items.items)[s->items.count++] =
                (struct power_regular_edge){first, last, to};
        }
    }
    return true;
}

static bool emit(struct subset *s, uint32_t first, uint32_t last, enum kind kind) {
    if (!power_regular_steps(s->w, s->active.count)) return false;
    uint32_t to = target_of(s, kind);
    if (to == REGULAR_NONE ||
        !power_regular_room(s->w, &s->found, 1, sizeof(struct power_regular_edge)))
        return false;
    ((struct power_regular_edge *)s->found.items)[s->found.count++] =
        (struct power_regular_edge){first, last, to};
    return true;
}

/* Where the active items from `at` on first change. */
static uint32_t segment_end(const struct subset *s, size_t next) {
    const struct power_regular_edge *items = s->items.items;
    const uint32_t *active = s->active.items;
    uint32_t end = next < s->items.count ? items[next].first - 1 : REGULAR_LAST_CODE;
    for (size_t i = 0; i < s->active.count; i++) {
        if (items[active[i]].last < end) end = items[active[i]].last;
    }
    return end;
}

static void drop_ended(struct subset *s, uint32_t end) {
    const struct power_regular_edge *items = s->items.items;
    uint32_t *active = s->active.items;
    size_t kept = 0;
    for (size_t i = 0; i < s->active.count; i++) {
        if (items[active[i]].last > end) active[kept++] = active[i];
    }
    s->active.count = kept;
}

/* Cuts the items into ranges with the same targets. */
static bool sweep(struct subset *s, enum kind kind) {
    power_regular_sort_edges(s->items.items, s->items.count);
    s->active.count = 0;
    s->target_set = REGULAR_NONE;
    size_t next = 0;
    uint32_t at = 0;
    while (next < s->items.count || s->active.count > 0) {
        const struct power_regular_edge *items = s->items.items;
        if (s->active.count == 0) at = items[next].first;
        for (; next < s->items.count && items[next].first == at; next++) {
            if (!power_regular_push_u32(s->w, &s->active, (uint32_t)next)) return false;
        }
        uint32_t end = segment_end(s, next);
        if (!emit(s, at, end, kind)) return false;
        drop_ended(s, end);
        at = end + 1;
    }
    return true;
}

/* The members of a set when `after` follows: in s->reach. */
static bool resolve(struct subset *s, uint32_t number, enum kind after) {
    const struct subset_set *set = &SETS(s)[number];
    const uint32_t *members = (const uint32_t *)s->members.items + set->offset;
    s->reach.count = 0;
    if (s->conditional)
        return close_states(s, members, set->length, (enum kind)set->before, after, &s->reach);
    if (!power_regular_room(s->w, &s->reach, set->length, sizeof *members)) return false;
    if (set->length) memcpy(s->reach.items, members, set->length * sizeof *members);
    s->reach.count = set->length;
    return true;
}

static bool leave_by(struct subset *s, uint32_t number, enum kind kind) {
    const struct power_regular_edge *clip = !s->words ? EVERY : kind == WORD ? WORDS : NO_WORDS;
    size_t n_clip = !s->words ? 1 : kind == WORD ? 4 : 5;
    if (!resolve(s, number, kind)) return false;
    s->items.count = 0;
    for (size_t i = 0; i < s->reach.count; i++) {
        if (!gather_state(s, ((uint32_t *)s->reach.items)[i], clip, n_clip)) return false;
    }
    return sweep(s, kind);
}

static bool expand(struct subset *s, uint32_t number) {
    if (!resolve(s, number, EDGE)) return false;
    for (size_t i = 0; i < s->reach.count; i++) {
        if (NFA_STATES(s->nfa)[((uint32_t *)s->reach.items)[i]].accepts)
            MACHINE_STATES(s->out)[number].accepts = true;
    }
    s->found.count = 0;
    if (!leave_by(s, number, OTHER) || (s->words && !leave_by(s, number, WORD))) return false;
    power_regular_sort_edges(s->found.items, s->found.count);
    for (size_t i = 0; i < s->found.count; i++) {
        struct power_regular_edge edge = ((struct power_regular_edge *)s->found.items)[i];
        if (!power_machine_edge(s->w, s->out, number, edge.first, edge.last, edge.to)) return false;
    }
    return true;
}

bool power_nfa_determine(struct nfa *nfa, struct regular_machine *out) {
    struct subset s = {.w = nfa->w, .nfa = nfa, .out = out, .target_set = REGULAR_NONE};
    s.words = nfa->has[REGULAR_AT_WORD] || nfa->has[REGULAR_NOT_WORD];
    s.conditional = s.words || nfa->has[REGULAR_AT_START] || nfa->has[REGULAR_AT_END];
    s.marks = power_regular_alloc(nfa->w, nfa->states.count, sizeof *s.marks);
    if (!s.marks || (nfa->has[REGULAR_AT_START] && !find_alive(&s))) return false;
    uint32_t start = 0;
    if (!close_states(&s, &start, 1, EDGE, UNKNOWN, &s.members)) return false;
    if (intern_set(&s, 0, EDGE) == REGULAR_NONE) return false;
    for (uint32_t i = 0; i < s.sets.count; i++) {
        if (!expand(&s, i)) return false;
    }
    return true;
}
