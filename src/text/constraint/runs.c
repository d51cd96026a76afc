/* SPDX-License-Identifier: MIT */
/* How far safe texts can be read from each state of an automaton, whatever they are.
 * Input: an automaton over code points. Output: run_min, run_max, uniform, label and every, a state
 * (see program.h).
 * Threads: one. Bounds: POWER_RUN_MAX passes over the edges. */
#include "text/constraint/program.h"

/* The safe code points as ranges; surrogates are no code points. */
static const uint32_t safe_ranges[][2] = {
    {0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0xD7FF}, {0xE000, 0x10FFFF}};
enum { SAFE_RANGES = sizeof safe_ranges / sizeof safe_ranges[0] };

static bool covers(const struct power_regular *a, const struct power_regular_state *state,
                   const uint32_t range[2]) {
    uint32_t at = range[0];
    for (uint32_t i = 0; i < state->n_edges; i++) {
        const struct power_regular_edge *edge = &a->edges[state->first_edge + i];
        if (edge->last < at) continue;
        if (edge->first > at) return false;
        if (edge->last >= range[1]) return true;
        at = edge->last + 1;
    }
    return false;
}

static bool covers_safe(const struct power_regular *a, const struct power_regular_state *state) {
    for (int r = 0; r < SAFE_RANGES; r++) {
        if (!covers(a, state, safe_ranges[r])) return false;
    }
    return true;
}

static bool is_safe_edge(const struct power_regular_edge *edge) {
    for (int r = 0; r < SAFE_RANGES; r++) {
        if (edge->first <= safe_ranges[r][1] && edge->last >= safe_ranges[r][0]) return true;
    }
    return false;
}

/* One pass: texts of `length` code points, from what is known of one less. A state has grown when
 * its run reached `length` in this pass. */
static bool pass(struct power_program_regular *regular, const bool *covering,
                 unsigned char length) {
    const struct power_regular *a = &regular->language;
    bool changed = false;
    for (uint32_t q = 0; q < a->n_states; q++) {
        const struct power_regular_state *state = &a->states[q];
        unsigned char least = POWER_RUN_MAX, most = 0;
        bool any = false;
        for (uint32_t i = 0; i < state->n_edges; i++) {
            const struct power_regular_edge *edge = &a->edges[state->first_edge + i];
            if (!is_safe_edge(edge)) continue;
            any = true;
            if (regular->run_min[edge->to] < least) least = regular->run_min[edge->to];
            if (regular->run_max[edge->to] > most) most = regular->run_max[edge->to];
        }
        bool all = covering[q] && least + 1 >= length, some = any && most + 1 >= length;
        if (all && regular->run_min[q] == length - 1) regular->run_min[q] = length, changed = true;
        if (some && regular->run_max[q] == length - 1) regular->run_max[q] = length, changed = true;
    }
    return changed;
}

/* Where the code points of the state lead, if that is one state. */
static uint32_t uniform(const struct power_regular *a, const struct power_regular_state *state) {
    if (state->n_edges == 0) return POWER_NO_MORE;
    for (uint32_t i = 1; i < state->n_edges; i++) {
        if (a->edges[state->first_edge + i].to != a->edges[state->first_edge].to) {
            return POWER_NOT_UNIFORM;
        }
    }
    return a->edges[state->first_edge].to;
}

static bool every_code_point(const struct power_regular *a,
                             const struct power_regular_state *state) {
    static const uint32_t all[2][2] = {{0, 0xD7FF}, {0xE000, 0x10FFFF}};
    return covers(a, state, all[0]) && covers(a, state, all[1]);
}

static bool same_label(const struct power_regular *a, uint32_t p, uint32_t q) {
    const struct power_regular_state *x = &a->states[p], *y = &a->states[q];
    if (x->n_edges != y->n_edges) return false;
    for (uint32_t i = 0; i < x->n_edges; i++) {
        const struct power_regular_edge *e = &a->edges[x->first_edge + i];
        const struct power_regular_edge *f = &a->edges[y->first_edge + i];
        if (e->first != f->first || e->last != f->last) return false;
    }
    return true;
}

/* Chains of one label are looked for, so a state is compared with the states that lead to it. */
static void label_chains(struct power_program_regular *regular) {
    const struct power_regular *a = &regular->language;
    for (uint32_t q = 0; q < a->n_states; q++)
        regular->label[q] = q;
    for (uint32_t q = 0; q < a->n_states; q++) {
        uint32_t to = regular->uniform[q];
        if (to >= POWER_NO_MORE || to <= q || regular->label[to] != to) continue;
        if (same_label(a, q, to)) regular->label[to] = regular->label[q];
    }
}

bool power_program_runs(struct power_grammar *g, struct power_program_regular *regular) {
    uint32_t n = regular->language.n_states;
    regular->run_min = power_grammar_alloc(g, n, 1);
    regular->run_max = power_grammar_alloc(g, n, 1);
    regular->uniform = power_grammar_alloc(g, n, sizeof *regular->uniform);
    regular->label = power_grammar_alloc(g, n, sizeof *regular->label);
    regular->every = power_grammar_alloc(g, n, sizeof *regular->every);
    bool *covering = power_alloc(g->allocator, n, sizeof *covering);
    bool done = regular->run_min && regular->run_max && regular->uniform && regular->label &&
                regular->every && covering;
    for (uint32_t q = 0; q < n && done; q++) {
        covering[q] = covers_safe(&regular->language, &regular->language.states[q]);
        regular->uniform[q] = uniform(&regular->language, &regular->language.states[q]);
        regular->every[q] = every_code_point(&regular->language, &regular->language.states[q]);
    }
    if (done) label_chains(regular);
    for (unsigned char length = 1; done && length <= POWER_RUN_MAX; length++) {
        if (!pass(regular, covering, length)) break;
    }
    power_release(g->allocator, covering, n, sizeof *covering);
    return done || power_grammar_no_memory(g);
}
