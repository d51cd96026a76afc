/* SPDX-License-Identifier: MIT */
/* Job: intersection and difference of two automata, by pairs of states.
 * Input: two automata. Output: their product, minimal.
 * Threads: one an operation. Bounds: pairs are states before minimisation. */
#include "text/constraint/regular_internal.h"

struct product {
    struct regular_work *w;
    const struct power_regular *a, *b;
    bool subtract;
    struct regular_machine machine;
    struct regular_list pairs; /* of struct pair; b may be REGULAR_NONE: dead there */
    uint32_t *slots;
    size_t n_slots;
};

struct pair {
    uint32_t a, b;
};
#define PAIRS(p) ((struct pair *)(p)->pairs.items)

static size_t slot_of(const struct product *p, struct pair pair) {
    uint64_t hash = power_regular_mix(power_regular_mix(0, pair.a), pair.b);
    size_t slot = (size_t)(hash >> 16) & (p->n_slots - 1);
    for (; p->slots[slot]; slot = (slot + 1) & (p->n_slots - 1)) {
        const struct pair *there = &PAIRS(p)[p->slots[slot] - 1];
        if (there->a == pair.a && there->b == pair.b) break;
    }
    return slot;
}

static bool grow_slots(struct product *p) {
    if (p->pairs.count * 2 < p->n_slots) return true;
    p->n_slots = p->n_slots ? p->n_slots * 2 : 64;
    p->slots = power_regular_alloc(p->w, p->n_slots, sizeof *p->slots);
    for (uint32_t i = 0; p->slots && i < p->pairs.count; i++)
        p->slots[slot_of(p, PAIRS(p)[i])] = i + 1;
    return p->slots != NULL;
}

static bool accepts_pair(const struct product *p, struct pair pair) {
    bool in_b = pair.b != REGULAR_NONE && p->b->states[pair.b].accepts;
    return p->a->states[pair.a].accepts && in_b != p->subtract;
}

static uint32_t number_of(struct product *p, struct pair pair) {
    if (!grow_slots(p) || !power_regular_steps(p->w, 1)) return REGULAR_NONE;
    size_t slot = slot_of(p, pair);
    if (p->slots[slot]) return p->slots[slot] - 1;
    if (!power_regular_room(p->w, &p->pairs, 1, sizeof pair)) return REGULAR_NONE;
    if (!power_machine_state(p->w, &p->machine)) return REGULAR_NONE;
    uint32_t number = (uint32_t)p->pairs.count++;
    PAIRS(p)[number] = pair;
    MACHINE_STATES(&p->machine)[number].accepts = accepts_pair(p, pair);
    p->slots[slot] = number + 1;
    return number;
}

static bool lead(struct product *p, uint32_t from, uint32_t first, uint32_t last, struct pair to) {
    uint32_t number = number_of(p, to);
    return number != REGULAR_NONE &&
           power_machine_edge(p->w, &p->machine, from, first, last, number);
}

static bool expand(struct product *p, uint32_t number) {
    struct pair pair = PAIRS(p)[number];
    const struct power_regular_state *a = &p->a->states[pair.a], none = {0},
                                     *b = pair.b == REGULAR_NONE ? &none : &p->b->states[pair.b];
    const struct power_regular_edge *edges_b = p->b->edges + b->first_edge;
    uint32_t j = 0;
    for (uint32_t i = 0; i < a->n_edges; i++) {
        struct power_regular_edge edge = p->a->edges[a->first_edge + i];
        while (j < b->n_edges && edges_b[j].last < edge.first)
            j++;
        for (uint32_t k = j; edge.first <= edge.last; k++) {
            bool met = k < b->n_edges && edges_b[k].first <= edge.last;
            uint32_t begin = met && edges_b[k].first > edge.first ? edges_b[k].first : edge.first;
            uint32_t end = met && edges_b[k].last < edge.last ? edges_b[k].last : edge.last;
            if (p->subtract && (!met || begin > edge.first) &&
                !lead(p, number, edge.first, met ? begin - 1 : end,
                      (struct pair){edge.to, REGULAR_NONE}))
                return false;
            if (!met) break;
            if (!lead(p, number, begin, end, (struct pair){edge.to, edges_b[k].to})) return false;
            edge.first = end + 1;
        }
    }
    return power_regular_steps(p->w, a->n_edges + b->n_edges);
}

static power_status make_product(const struct power_regular_space *space,
                                 const struct power_regular *a, const struct power_regular *b,
                                 bool subtract, struct power_regular *out, power_error *error) {
    if (power_regular_is_empty(a) || (power_regular_is_empty(b) && !subtract)) {
        *out = (struct power_regular){0};
        return POWER_OK;
    }
    struct regular_work w;
    power_regular_begin(&w, space, error);
    struct product p = {.w = &w, .a = a, .b = b, .subtract = subtract};
    struct pair start = {0, power_regular_is_empty(b) ? REGULAR_NONE : 0};
    bool done = number_of(&p, start) != REGULAR_NONE;
    for (uint32_t i = 0; done && i < p.pairs.count; i++)
        done = expand(&p, i);
    if (done) (void)power_machine_finish(&w, &p.machine, out);
    return power_regular_end(&w);
}

power_status power_regular_intersect(const struct power_regular_space *space,
                                     const struct power_regular *a, const struct power_regular *b,
                                     struct power_regular *out, power_error *error) {
    return make_product(space, a, b, false, out, error);
}

power_status power_regular_subtract(const struct power_regular_space *space,
                                    const struct power_regular *a, const struct power_regular *b,
                                    struct power_regular *out, power_error *error) {
    return make_product(space, a, b, true, out, error);
}
