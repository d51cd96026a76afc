/* SPDX-License-Identifier: MIT */
/* Job: places of a match, with what lookaheads that were passed still ask of the text.
 * Input: moves and characters. Output: numbers of places.
 * Threads: one an operation. Bounds: the operation's steps and work memory. */
#include "text/constraint/regular_internal.h"

bool power_places_init(struct nfa_places *p, const struct nfa *nfa) {
    *p = (struct nfa_places){.w = nfa->w, .nfa = nfa};
    return power_regular_intern(p->w, &p->lists, NULL, 0) != REGULAR_NONE;
}

static uint32_t list_of(const struct nfa_places *p, uint32_t place) {
    size_t n;
    if (power_place_is_plain(p, place)) return 0;
    return power_regular_interned(&p->places, place - (uint32_t)p->nfa->states.count, &n)[1];
}

uint32_t power_place_state(const struct nfa_places *p, uint32_t place) {
    size_t n;
    if (power_place_is_plain(p, place)) return place;
    return power_regular_interned(&p->places, place - (uint32_t)p->nfa->states.count, &n)[0];
}

static const struct power_regular *automaton(const struct nfa_places *p, uint32_t number) {
    return &p->nfa->looks[number / REGULAR_KINDS].rest[number % REGULAR_KINDS];
}

/* Whether every text is accepted from here: no duty any more. */
static bool is_done(const struct power_regular *a, uint32_t state) {
    const struct power_regular_state *s = &a->states[state];
    const struct power_regular_edge *edges = a->edges + s->first_edge;
    return s->accepts && s->n_edges == 2 && edges[0].first == 0 && edges[0].last == 0xD7FF &&
           edges[1].first == 0xE000 && edges[1].last == REGULAR_LAST_CODE && edges[0].to == state &&
           edges[1].to == state;
}

bool power_place_accepts(const struct nfa_places *p, uint32_t place) {
    size_t n;
    if (!NFA_STATES(p->nfa)[power_place_state(p, place)].accepts) return false;
    const uint32_t *duties = power_regular_interned(&p->lists, list_of(p, place), &n);
    for (size_t i = 0; i < n; i += 2) {
        if (!automaton(p, duties[i])->states[duties[i + 1]].accepts) return false;
    }
    return true;
}

/* Puts a duty into p->scratch, which is in order. */
static bool add_duty(struct nfa_places *p, uint32_t number, uint32_t state) {
    struct regular_list *list = &p->scratch;
    if (is_done(automaton(p, number), state)) return true;
    if (!power_regular_room(p->w, list, 2, sizeof(uint32_t))) return false;
    uint32_t *words = list->items;
    size_t at = list->count;
    while (at > 0 && (words[at - 2] > number || (words[at - 2] == number && words[at - 1] > state)))
        at -= 2;
    if (at > 0 && words[at - 2] == number && words[at - 1] == state) return true;
    memmove(words + at + 2, words + at, (list->count - at) * sizeof *words);
    words[at] = number;
    words[at + 1] = state;
    list->count += 2;
    return power_regular_steps(p->w, list->count);
}

/* State `to` with the duties of p->scratch. */
static bool place_of(struct nfa_places *p, uint32_t to, uint32_t *out) {
    *out = to;
    if (p->scratch.count == 0) return true;
    uint32_t list = power_regular_intern(p->w, &p->lists, p->scratch.items, p->scratch.count);
    if (list == REGULAR_NONE) return false;
    const uint32_t words[2] = {to, list};
    uint32_t number = power_regular_intern(p->w, &p->places, words, 2);
    *out = (uint32_t)p->nfa->states.count + number;
    return number != REGULAR_NONE;
}

bool power_place_jump(struct nfa_places *p, uint32_t place, uint32_t to, uint32_t look,
                      enum regular_kind before, uint32_t *out) {
    size_t n;
    *out = to;
    if (look == REGULAR_NONE && power_place_is_plain(p, place)) return true;
    const uint32_t *duties = power_regular_interned(&p->lists, list_of(p, place), &n);
    p->scratch.count = 0;
    for (size_t i = 0; i < n; i += 2) {
        if (!add_duty(p, duties[i], duties[i + 1])) return false;
    }
    if (look != REGULAR_NONE) {
        uint32_t number = look * REGULAR_KINDS + (uint32_t)before;
        *out = REGULAR_NONE;
        if (power_regular_is_empty(automaton(p, number))) return true;
        if (!add_duty(p, number, 0)) return false;
    }
    return place_of(p, to, out);
}

bool power_place_step(struct nfa_places *p, uint32_t place, uint32_t to, uint32_t first,
                      uint32_t *last, uint32_t *out) {
    size_t n;
    bool possible = true;
    const uint32_t *duties = power_regular_interned(&p->lists, list_of(p, place), &n);
    p->scratch.count = 0;
    for (size_t i = 0; i < n; i += 2) {
        uint32_t next = power_regular_step(automaton(p, duties[i]), duties[i + 1], first, last);
        if (next == REGULAR_NONE)
            possible = false;
        else if (!add_duty(p, duties[i], next))
            return false;
    }
    *out = REGULAR_NONE;
    return power_regular_steps(p->w, n + 1) && (!possible || place_of(p, to, out));
}
