/* SPDX-License-Identifier: MIT */
/* Job: the subset construction, with conditions on moves (start, end, word boundary) kept exact.
 * Input: an automaton with moves without a character. Output: a deterministic machine.
 * Threads: one an operation. Bounds: the operation's steps, states and work memory.
 *
 * A deterministic state is a set of states, closed under the moves that need no condition, and
 * where a condition is among them the kind of the character before. The conditions are decided
 * when the state is left: then the kind of the next character is known too. */
#include "text/constraint/regular_internal.h"

struct subset {
    struct regular_work *w;
    struct nfa *nfa;
    struct regular_machine *out;
    struct nfa_places places;
    struct regular_interner sets; /* {places in order, kind of the character before} */
    struct regular_list marks;    /* of places: the closure that reached it last */
    uint32_t mark;
    struct regular_list todo, reach; /* of a closure */
    struct regular_list items, active, targets, found;
    uint32_t target_set; /* the set that `targets` gave */
    bool conditional, words;
};

static const struct power_regular_edge EVERY[] = {{0, REGULAR_LAST_CODE, 0}};
static const struct power_regular_edge WORDS[] = {
    {'0', '9', 0}, {'A', 'Z', 0}, {'_', '_', 0}, {'a', 'z', 0}};
static const struct power_regular_edge NO_WORDS[] = {{0, '0' - 1, 0},
                                                     {'9' + 1, 'A' - 1, 0},
                                                     {'Z' + 1, '_' - 1, 0},
                                                     {'_' + 1, 'a' - 1, 0},
                                                     {'z' + 1, REGULAR_LAST_CODE, 0}};

static bool is_open(uint32_t condition) {
    return condition != REGULAR_ALWAYS && condition < REGULAR_CONDITIONS;
}

static bool holds(uint32_t condition, enum regular_kind before, enum regular_kind after) {
    if (!is_open(condition)) return true;
    if (after == REGULAR_UNKNOWN) return false;
    if (condition == REGULAR_AT_START) return before == REGULAR_EDGE;
    if (condition == REGULAR_AT_END) return after == REGULAR_EDGE;
    bool boundary = (before == REGULAR_WORD) != (after == REGULAR_WORD);
    return boundary == (condition == REGULAR_AT_WORD);
}

/* Whether a move from here waits for the next character. */
static bool waits(const struct subset *s, uint32_t place) {
    const struct nfa *nfa = s->nfa;
    uint32_t j =
        s->conditional ? NFA_STATES(nfa)[power_place_state(&s->places, place)].jumps : REGULAR_NONE;
    for (; j != REGULAR_NONE; j = NFA_JUMPS(nfa)[j].next) {
        if (is_open(NFA_JUMPS(nfa)[j].condition)) return true;
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

static bool reach_place(struct subset *s, uint32_t place, enum regular_kind before) {
    while (s->marks.count <= place) {
        if (!power_regular_push_u32(s->w, &s->marks, 0)) return false;
    }
    uint32_t *mark = (uint32_t *)s->marks.items + place;
    if (*mark == s->mark) return true;
    *mark = s->mark;
    if (before != REGULAR_EDGE && s->nfa->has[REGULAR_AT_START] &&
        !NFA_STATES(s->nfa)[power_place_state(&s->places, place)].alive)
        return true;
    return power_regular_push_u32(s->w, &s->todo, place);
}

static bool follow_jumps(struct subset *s, uint32_t place, enum regular_kind before,
                         enum regular_kind after) {
    const struct nfa *nfa = s->nfa;
    uint32_t state = power_place_state(&s->places, place);
    for (uint32_t j = NFA_STATES(nfa)[state].jumps; j != REGULAR_NONE; j = NFA_JUMPS(nfa)[j].next) {
        const struct nfa_jump *jump = &NFA_JUMPS(nfa)[j];
        uint32_t look = jump->condition < REGULAR_CONDITIONS ? REGULAR_NONE
                                                             : jump->condition - REGULAR_CONDITIONS;
        uint32_t to;
        if (!power_regular_steps(s->w, 1)) return false;
        if (!holds(jump->condition, before, after)) continue;
        if (!power_place_jump(&s->places, place, jump->to, look, before, &to)) return false;
        if (to != REGULAR_NONE && !reach_place(s, to, before)) return false;
    }
    return true;
}

/* Appends to `out` the places that matter among those reached from the seeds. One that accepts
 * everything stands for all. */
static bool close_places(struct subset *s, const uint32_t *seeds, size_t n,
                         enum regular_kind before, enum regular_kind after,
                         struct regular_list *out) {
    s->mark++;
    s->todo.count = out->count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!reach_place(s, seeds[i], before)) return false;
    }
    while (s->todo.count > 0) {
        uint32_t at = ((uint32_t *)s->todo.items)[--s->todo.count];
        const struct nfa_state *state = &NFA_STATES(s->nfa)[power_place_state(&s->places, at)];
        if (state->everything && power_place_is_plain(&s->places, at)) {
            out->count = 0;
            return power_regular_push_u32(s->w, out, at);
        }
        bool matters = state->n_edges || state->accepts || waits(s, at);
        if (matters && !power_regular_push_u32(s->w, out, at)) return false;
        if (!power_regular_steps(s->w, 1) || !follow_jumps(s, at, before, after)) return false;
    }
    return true;
}

/* The number of the set in s->reach; REGULAR_NONE after a fault. */
static uint32_t number_of_set(struct subset *s, enum regular_kind before) {
    bool depends = false;
    uint32_t *places = s->reach.items;
    size_t n = s->reach.count;
    if (!power_regular_sort_u32(s->w, places, n)) return REGULAR_NONE;
    for (size_t i = 0; i < n && !depends; i++)
        depends = waits(s, places[i]);
    if (!depends) before = REGULAR_OTHER;
    if (!power_regular_push_u32(s->w, &s->reach, (uint32_t)before)) return REGULAR_NONE;
    uint32_t number = power_regular_intern(s->w, &s->sets, s->reach.items, n + 1);
    if (number == REGULAR_NONE || number < s->out->states.count) return number;
    return power_machine_state(s->w, s->out) ? number : REGULAR_NONE;
}

/* The set that the active items lead to, the kind of their character being `kind`. */
static uint32_t target_of(struct subset *s, enum regular_kind kind) {
    const struct power_regular_edge *items = s->items.items;
    const uint32_t *active = s->active.items;
    size_t n = s->active.count;
    if (!power_regular_room(s->w, &s->targets, n, sizeof *active)) return REGULAR_NONE;
    uint32_t *targets = s->targets.items;
    bool same = s->target_set != REGULAR_NONE && s->targets.count == n;
    for (size_t i = 0; i < n; i++) {
        same = same && targets[i] == items[active[i]].to;
        targets[i] = items[active[i]].to;
    }
    if (same) return s->target_set;
    s->targets.count = n;
    if (!close_places(s, targets, n, kind, REGULAR_UNKNOWN, &s->reach)) return REGULAR_NONE;
    s->target_set = number_of_set(s, kind);
    return s->target_set;
}

/* ---- edges ---- */

static bool push_edge(struct subset *s, struct regular_list *list, uint32_t first, uint32_t last,
                      uint32_t to) {
    if (!power_regular_room(s->w, list, 1, sizeof(struct power_regular_edge))) return false;
    ((struct power_regular_edge *)list->items)[list->count++] =
        (struct power_regular_edge){first, last, to};
    return true;
}

/* A range of characters that lead from a place to a state: as items, cut where duties differ. */
static bool gather_range(struct subset *s, uint32_t place, uint32_t first, uint32_t last,
                         uint32_t to) {
    if (power_place_is_plain(&s->places, place)) return push_edge(s, &s->items, first, last, to);
    while (first <= last) {
        uint32_t end = last, reached;
        if (!power_place_step(&s->places, place, to, first, &end, &reached)) return false;
        if (reached != REGULAR_NONE && !push_edge(s, &s->items, first, end, reached)) return false;
        first = end + 1;
    }
    return true;
}

static bool gather_place(struct subset *s, uint32_t place, const struct power_regular_edge *clip,
                         size_t n_clip) {
    const struct nfa_state *state = &NFA_STATES(s->nfa)[power_place_state(&s->places, place)];
    size_t c = 0;
    if (!power_regular_steps(s->w, state->n_edges)) return false;
    for (uint32_t i = 0; i < state->n_edges; i++) {
        const struct power_regular_edge *edge = &state->edges[i];
        uint32_t to = state->to != REGULAR_NONE ? state->to : edge->to + state->base;
        while (c < n_clip && clip[c].last < edge->first)
            c++;
        for (size_t k = c; k < n_clip && clip[k].first <= edge->last; k++) {
            uint32_t first = edge->first > clip[k].first ? edge->first : clip[k].first;
            uint32_t last = edge->last < clip[k].last ? edge->last : clip[k].last;
            if (!gather_range(s, place, first, last, to)) return false;
        }
    }
    return true;
}

static bool emit(struct subset *s, uint32_t first, uint32_t last, enum regular_kind kind) {
    if (!power_regular_steps(s->w, s->active.count)) return false;
    uint32_t to = target_of(s, kind);
    return to != REGULAR_NONE && push_edge(s, &s->found, first, last, to);
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
static bool sweep(struct subset *s, enum regular_kind kind) {
    if (!power_regular_sort_edges(s->w, s->items.items, s->items.count, REGULAR_BY_FIRST))
        return false;
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

/* The places of a set when `after` follows: in s->reach. */
static bool resolve(struct subset *s, uint32_t number, enum regular_kind after) {
    size_t n;
    const uint32_t *places = power_regular_interned(&s->sets, number, &n);
    enum regular_kind before = (enum regular_kind)places[--n];
    if (s->conditional) return close_places(s, places, n, before, after, &s->reach);
    s->reach.count = 0;
    if (!power_regular_room(s->w, &s->reach, n, sizeof *places)) return false;
    if (n) memcpy(s->reach.items, places, n * sizeof *places);
    s->reach.count = n;
    return true;
}

static bool leave_by(struct subset *s, uint32_t number, enum regular_kind kind) {
    bool word = kind == REGULAR_WORD;
    const struct power_regular_edge *clip = !s->words ? EVERY : word ? WORDS : NO_WORDS;
    size_t n_clip = !s->words ? 1 : word ? 4 : 5;
    if (!resolve(s, number, kind)) return false;
    s->items.count = 0;
    for (size_t i = 0; i < s->reach.count; i++) {
        if (!gather_place(s, ((uint32_t *)s->reach.items)[i], clip, n_clip)) return false;
    }
    return sweep(s, kind);
}

static bool expand(struct subset *s, uint32_t number) {
    if (!resolve(s, number, REGULAR_EDGE)) return false;
    for (size_t i = 0; i < s->reach.count; i++) {
        if (power_place_accepts(&s->places, ((uint32_t *)s->reach.items)[i]))
            MACHINE_STATES(s->out)[number].accepts = true;
    }
    s->found.count = 0;
    if (!leave_by(s, number, REGULAR_OTHER)) return false;
    if (s->words && !leave_by(s, number, REGULAR_WORD)) return false;
    if (!power_regular_sort_edges(s->w, s->found.items, s->found.count, REGULAR_BY_FIRST))
        return false;
    for (size_t i = 0; i < s->found.count; i++) {
        struct power_regular_edge edge = ((struct power_regular_edge *)s->found.items)[i];
        if (!power_machine_edge(s->w, s->out, number, edge.first, edge.last, edge.to)) return false;
    }
    return true;
}

bool power_nfa_determine(struct nfa *nfa, enum regular_kind before, struct regular_machine *out) {
    struct subset s = {.w = nfa->w, .nfa = nfa, .out = out, .target_set = REGULAR_NONE};
    const uint32_t start = 0;
    s.words = nfa->has[REGULAR_AT_WORD] || nfa->has[REGULAR_NOT_WORD];
    s.conditional = s.words || nfa->has[REGULAR_AT_START] || nfa->has[REGULAR_AT_END];
    if (nfa->has[REGULAR_CONDITIONS]) s.words = s.words || nfa->looks_at_words;
    if (!power_places_init(&s.places, nfa)) return false;
    if (nfa->has[REGULAR_AT_START] && !find_alive(&s)) return false;
    if (!close_places(&s, &start, 1, before, REGULAR_UNKNOWN, &s.reach)) return false;
    if (number_of_set(&s, before) == REGULAR_NONE) return false;
    for (uint32_t i = 0; i < out->states.count; i++) {
        if (!expand(&s, i)) return false;
    }
    return true;
}
