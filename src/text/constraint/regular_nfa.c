/* SPDX-License-Identifier: MIT */
/* Job: automata with moves without a character, and the tables that deterministic ones grow in.
 * Input: states, moves and copies of automata. Output: what the subset construction reads.
 * Threads: one an operation. Bounds: the operation's limits on states and edges. */
#include "text/constraint/regular_internal.h"

/* Every code point; `to` is not read. */
static const struct power_regular_edge ANY[2] = {{0, 0xD7FF, 0}, {0xE000, REGULAR_LAST_CODE, 0}};

void power_nfa_init(struct nfa *nfa, struct regular_work *w) {
    *nfa = (struct nfa){.w = w};
}

uint32_t power_nfa_state(struct nfa *nfa) {
    struct regular_work *w = nfa->w;
    if (nfa->states.count / REGULAR_NFA_FACTOR >= w->max_states) power_regular_too_large(w);
    if (!power_regular_room(w, &nfa->states, 1, sizeof(struct nfa_state))) return REGULAR_NONE;
    NFA_STATES(nfa)
    [nfa->states.count] = (struct nfa_state){.to = REGULAR_NONE, .jumps = REGULAR_NONE};
    return (uint32_t)nfa->states.count++;
}

bool power_nfa_jump(struct nfa *nfa, uint32_t from, uint32_t to, uint32_t condition) {
    if (from == to && condition == REGULAR_ALWAYS) return nfa->w->status == POWER_OK;
    if (!power_regular_room(nfa->w, &nfa->jumps, 1, sizeof(struct nfa_jump))) return false;
    struct nfa_state *state = &NFA_STATES(nfa)[from];
    uint32_t jump = (uint32_t)nfa->jumps.count++;
    NFA_JUMPS(nfa)[jump] = (struct nfa_jump){to, state->jumps, condition};
    state->jumps = jump;
    nfa->has[condition < REGULAR_CONDITIONS ? condition : REGULAR_CONDITIONS] = true;
    return true;
}

uint32_t power_nfa_copy(struct nfa *nfa, const struct power_regular *a, uint32_t then) {
    uint32_t base = (uint32_t)nfa->states.count;
    for (uint32_t i = 0; i < a->n_states; i++) {
        uint32_t at = power_nfa_state(nfa);
        if (at == REGULAR_NONE) return REGULAR_NONE;
        struct nfa_state *state = &NFA_STATES(nfa)[at];
        state->edges = a->edges + a->states[i].first_edge;
        state->n_edges = a->states[i].n_edges;
        state->base = base;
        if (a->states[i].accepts && !power_nfa_jump(nfa, at, then, REGULAR_ALWAYS))
            return REGULAR_NONE;
    }
    return base;
}

void power_nfa_any(struct nfa *nfa, uint32_t from, uint32_t to) {
    if (from == REGULAR_NONE) return;
    struct nfa_state *state = &NFA_STATES(nfa)[from];
    state->edges = ANY;
    state->n_edges = 2;
    state->to = to;
}

uint32_t power_nfa_everything(struct nfa *nfa) {
    uint32_t at = power_nfa_state(nfa);
    if (at == REGULAR_NONE) return at;
    power_nfa_any(nfa, at, at);
    NFA_STATES(nfa)[at].accepts = NFA_STATES(nfa)[at].everything = true;
    return at;
}

bool power_machine_state(struct regular_work *w, struct regular_machine *m) {
    if (m->states.count / REGULAR_WORK_FACTOR >= w->max_states) return power_regular_too_large(w);
    if (!power_regular_room(w, &m->states, 1, sizeof(struct power_regular_state))) return false;
    MACHINE_STATES(m)[m->states.count++] = (struct power_regular_state){0};
    return true;
}

bool power_machine_edge(struct regular_work *w, struct regular_machine *m, uint32_t state,
                        uint32_t first, uint32_t last, uint32_t to) {
    struct power_regular_state *from = &MACHINE_STATES(m)[state];
    if (from->n_edges > 0) {
        struct power_regular_edge *edge = &MACHINE_EDGES(m)[m->edges.count - 1];
        if (edge->to == to && edge->last + 1 == first) {
            edge->last = last;
            return true;
        }
    } else {
        from->first_edge = (uint32_t)m->edges.count;
    }
    if (m->edges.count / REGULAR_EDGES_A_STATE / REGULAR_WORK_FACTOR >= w->max_states)
        return power_regular_too_large(w);
    if (!power_regular_room(w, &m->edges, 1, sizeof(struct power_regular_edge))) return false;
    MACHINE_EDGES(m)[m->edges.count++] = (struct power_regular_edge){first, last, to};
    from->n_edges++;
    return true;
}

bool power_nfa_finish(struct nfa *nfa, struct power_regular *out) {
    struct regular_machine machine = {0};
    return power_nfa_determine(nfa, REGULAR_EDGE, &machine) &&
           power_machine_finish(nfa->w, &machine, out);
}
