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
    struct regular_interner pairs; /* {state of a, of b}; REGULAR_NONE: dead in b */
};

struct pair {
    uint32_t a, b;
};

static bool accepts_pair(const struct product *p, struct pair pair) {
    bool in_b = pair.b != REGULAR_NONE && p->b->states[pair.b].accepts;
    return p->a->states[pair.a].accepts && in_b != p->subtract;
}

static uint32_t number_of(struct product *p, struct pair pair) {
    const uint32_t words[2] = {pair.a, pair.b};
    uint32_t number = power_regular_intern(p->w, &p->pairs, words, 2);
    if (number == REGULAR_NONE || number < p->machine.states.count) return number;
    if (!power_machine_state(p->w, &p->machine)) return REGULAR_NONE;
    MACHINE_STATES(&p->machine)[number].accepts = accepts_pair(p, pair);
    return number;
}

static bool lead(struct product *p, uint32_t from, uint32_t first, uint32_t last, struct pair to) {
    uint32_t number = number_of(p, to);
    return number != REGULAR_NONE &&
           power_machine_edge(p->w, &p->machine, from, first, last, number);
}

static bool expand(struct product *p, uint32_t number) {
    size_t two;
    const uint32_t *words = power_regular_interned(&p->pairs, number, &two);
    struct pair pair = {words[0], words[1]};
    const struct power_regular_state *a = &p->a->states[pair.a], none = {0},
                                     *b = pair.b == REGULAR_NONE ? &none : &p->b->states[pair.b];
    const struct power_regular_edge *edges_b = b->n_edges ? p->b->edges + b->first_edge : NULL;
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
    for (uint32_t i = 0; done && i < p.machine.states.count; i++)
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
