/* SPDX-License-Identifier: MIT */
/* Job: automata of literals, ranges and lengths; concatenation, union, repeats; questions.
 * Input: texts, numbers, automata. Output: minimal automata, answers.
 * Threads: one an arena. Bounds: the space's limit on states; constant stack. */
#include "base/checked.h"
#include "text/constraint/regular_internal.h"
#include "text/utf8.h"

/* ---- direct ones ---- */

power_status power_regular_literal(const struct power_regular_space *space, struct power_text text,
                                   struct power_regular *out, power_error *error) {
    struct regular_work w;
    struct regular_machine m = {0};
    power_regular_begin(&w, space, error);
    bool going = power_machine_state(&w, &m);
    for (size_t at = 0, length = 0; going && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        uint32_t from = (uint32_t)m.states.count - 1;
        if (code == POWER_UTF8_BROKEN)
            going = power_regular_fault(&w, POWER_INVALID, "text is not UTF-8 at byte %zu", at);
        going = going && power_machine_state(&w, &m) &&
                power_machine_edge(&w, &m, from, code, code, from + 1);
    }
    if (going) MACHINE_STATES(&m)[m.states.count - 1].accepts = true;
    if (going) (void)power_machine_finish(&w, &m, out);
    return power_regular_end(&w);
}

power_status power_regular_one_of(const struct power_regular_space *space,
                                  const struct power_regular_edge *ranges, size_t n,
                                  struct power_regular *out, power_error *error) {
    struct regular_work w;
    struct regular_machine m = {0};
    power_regular_begin(&w, space, error);
    bool going = power_machine_state(&w, &m);
    going = going && power_machine_state(&w, &m);
    for (size_t i = 0; going && i < n; i++)
        going = power_machine_edge(&w, &m, 0, ranges[i].first, ranges[i].last, 1);
    if (going) MACHINE_STATES(&m)[1].accepts = true;
    if (going) (void)power_machine_finish(&w, &m, out);
    return power_regular_end(&w);
}

static bool add_any(struct regular_work *w, struct regular_machine *m, uint32_t from, uint32_t to) {
    return power_machine_edge(w, m, from, 0, 0xD7FF, to) &&
           power_machine_edge(w, m, from, 0xE000, REGULAR_LAST_CODE, to);
}

power_status power_regular_length(const struct power_regular_space *space, uint32_t min,
                                  uint32_t max, struct power_regular *out, power_error *error) {
    struct regular_work w;
    struct regular_machine m = {0};
    power_regular_begin(&w, space, error);
    uint32_t last = max == UINT32_MAX ? min : max;
    bool going = min <= max && power_machine_state(&w, &m);
    if (going && last >= w.max_states) going = power_regular_too_large(&w);
    if (min > max) *out = (struct power_regular){0};
    for (uint32_t i = 0; going && i < last; i++) {
        MACHINE_STATES(&m)[i].accepts = i >= min;
        going = power_machine_state(&w, &m) && add_any(&w, &m, i, i + 1);
    }
    if (going) MACHINE_STATES(&m)[last].accepts = true;
    if (going && max == UINT32_MAX) going = add_any(&w, &m, last, last);
    if (going) (void)power_machine_finish(&w, &m, out);
    return power_regular_end(&w);
}

/* ---- by moves without a character ---- */

power_status power_regular_concat(const struct power_regular_space *space,
                                  const struct power_regular *a, const struct power_regular *b,
                                  struct power_regular *out, power_error *error) {
    if (power_regular_is_empty(a) || power_regular_is_empty(b)) {
        *out = (struct power_regular){0};
        return POWER_OK;
    }
    struct regular_work w;
    struct nfa nfa;
    power_regular_begin(&w, space, error);
    power_nfa_init(&nfa, &w);
    uint32_t start = power_nfa_state(&nfa), end = power_nfa_state(&nfa);
    uint32_t second = end != REGULAR_NONE ? power_nfa_copy(&nfa, b, end) : REGULAR_NONE;
    uint32_t first = second != REGULAR_NONE ? power_nfa_copy(&nfa, a, second) : REGULAR_NONE;
    if (first != REGULAR_NONE && power_nfa_jump(&nfa, start, first, REGULAR_ALWAYS)) {
        NFA_STATES(&nfa)[end].accepts = true;
        (void)power_nfa_finish(&nfa, out);
    }
    return power_regular_end(&w);
}

power_status power_regular_union(const struct power_regular_space *space,
                                 const struct power_regular *parts, size_t n_parts,
                                 struct power_regular *out, power_error *error) {
    struct regular_work w;
    struct nfa nfa;
    power_regular_begin(&w, space, error);
    power_nfa_init(&nfa, &w);
    uint32_t start = power_nfa_state(&nfa), end = power_nfa_state(&nfa);
    bool going = start != REGULAR_NONE && end != REGULAR_NONE;
    for (size_t i = 0; going && i < n_parts; i++) {
        if (power_regular_is_empty(&parts[i])) continue;
        uint32_t part = power_nfa_copy(&nfa, &parts[i], end);
        going = part != REGULAR_NONE && power_nfa_jump(&nfa, start, part, REGULAR_ALWAYS);
    }
    if (going) {
        NFA_STATES(&nfa)[end].accepts = true;
        (void)power_nfa_finish(&nfa, out);
    }
    return power_regular_end(&w);
}

/* Copies one behind the other: `min` that must be, then optional ones or a loop. */
static bool add_copies(struct nfa *nfa, const struct power_regular *a, uint32_t min, uint32_t max,
                       uint32_t at, uint32_t end) {
    for (uint32_t i = 0; i < min || (max != UINT32_MAX && i < max); i++) {
        uint32_t next = power_nfa_state(nfa);
        uint32_t copy = next != REGULAR_NONE ? power_nfa_copy(nfa, a, next) : REGULAR_NONE;
        if (copy == REGULAR_NONE || !power_nfa_jump(nfa, at, copy, REGULAR_ALWAYS)) return false;
        if (i >= min && !power_nfa_jump(nfa, at, end, REGULAR_ALWAYS)) return false;
        at = next;
    }
    if (max == UINT32_MAX) {
        uint32_t copy = power_nfa_copy(nfa, a, at);
        if (copy == REGULAR_NONE || !power_nfa_jump(nfa, at, copy, REGULAR_ALWAYS)) return false;
    }
    return power_nfa_jump(nfa, at, end, REGULAR_ALWAYS);
}

power_status power_regular_repeat(const struct power_regular_space *space,
                                  const struct power_regular *a, uint32_t min, uint32_t max,
                                  struct power_regular *out, power_error *error) {
    if (min > max || (power_regular_is_empty(a) && min > 0)) {
        *out = (struct power_regular){0};
        return POWER_OK;
    }
    struct regular_work w;
    struct nfa nfa;
    power_regular_begin(&w, space, error);
    power_nfa_init(&nfa, &w);
    uint32_t start = power_nfa_state(&nfa), end = power_nfa_state(&nfa);
    if (power_regular_is_empty(a) || (a->n_states == 1 && a->n_edges == 0)) min = max = 0;
    if (end != REGULAR_NONE && add_copies(&nfa, a, min, max, start, end)) {
        NFA_STATES(&nfa)[end].accepts = true;
        (void)power_nfa_finish(&nfa, out);
    }
    return power_regular_end(&w);
}

/* ---- questions ---- */

bool power_regular_is_empty(const struct power_regular *a) {
    return a->n_states == 0;
}

uint32_t power_regular_step(const struct power_regular *a, uint32_t state, uint32_t code,
                            uint32_t *last) {
    uint32_t low = a->states[state].first_edge, high = low + a->states[state].n_edges, end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->edges[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end) return REGULAR_NONE;
    const struct power_regular_edge *edge = &a->edges[low];
    uint32_t change = edge->first <= code ? edge->last : edge->first - 1;
    if (change < *last) *last = change;
    return edge->first <= code ? edge->to : REGULAR_NONE;
}

bool power_regular_contains(const struct power_regular *a, struct power_text text) {
    uint32_t state = power_regular_is_empty(a) ? REGULAR_NONE : 0;
    for (size_t at = 0, length = 0; state != REGULAR_NONE && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        uint32_t last = code;
        state =
            code == POWER_UTF8_BROKEN ? REGULAR_NONE : power_regular_step(a, state, code, &last);
    }
    return state != REGULAR_NONE && a->states[state].accepts;
}

/* Edges by target, and the number of edges that leave each state. */
struct counting {
    uint32_t *first_into, *sources, *left, *todo;
    uint64_t *widths;
};

static bool start_counting(struct regular_work *w, const struct power_regular *a,
                           struct counting *c) {
    c->first_into = power_regular_alloc(w, (size_t)a->n_states + 1, sizeof *c->first_into);
    c->sources = power_regular_alloc(w, a->n_edges, sizeof *c->sources);
    c->widths = power_regular_alloc(w, a->n_edges, sizeof *c->widths);
    c->left = power_regular_alloc(w, a->n_states, sizeof *c->left);
    c->todo = power_regular_alloc(w, a->n_states, sizeof *c->todo);
    if (!c->todo || !c->left || !c->widths || !c->sources || !c->first_into) return false;
    for (uint32_t e = 0; e < a->n_edges; e++)
        c->first_into[a->edges[e].to]++;
    for (uint32_t i = 1; i <= a->n_states; i++)
        c->first_into[i] += c->first_into[i - 1];
    for (uint32_t i = 0; i < a->n_states; i++) {
        c->left[i] = a->states[i].n_edges;
        for (uint32_t e = a->states[i].first_edge; e < a->states[i].first_edge + c->left[i]; e++) {
            uint32_t at = --c->first_into[a->edges[e].to];
            c->sources[at] = i;
            c->widths[at] = (uint64_t)a->edges[e].last - a->edges[e].first + 1;
        }
    }
    return true;
}

static uint64_t add_saturating(uint64_t a, uint64_t b) {
    uint64_t sum;
    return power_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

power_status power_regular_count(const struct power_regular_space *space,
                                 const struct power_regular *a, uint64_t *out_counts,
                                 power_error *error) {
    struct regular_work w;
    struct counting c;
    power_regular_begin(&w, space, error);
    if (!start_counting(&w, a, &c)) return power_regular_end(&w);
    uint32_t n_todo = 0;
    for (uint32_t i = 0; i < a->n_states; i++) {
        out_counts[i] = a->states[i].accepts;
        if (c.left[i] == 0) c.todo[n_todo++] = i;
    }
    while (n_todo > 0) {
        uint32_t at = c.todo[--n_todo];
        for (uint32_t e = c.first_into[at]; e < c.first_into[at + 1]; e++) {
            uint32_t from = c.sources[e];
            uint64_t more;
            if (!power_mul_u64(out_counts[at], c.widths[e], &more)) more = UINT64_MAX;
            out_counts[from] = add_saturating(out_counts[from], more);
            if (--c.left[from] == 0) c.todo[n_todo++] = from;
        }
    }
    for (uint32_t i = 0; i < a->n_states; i++) {
        if (c.left[i] > 0) out_counts[i] = UINT64_MAX; /* a loop can be reached */
    }
    return power_regular_end(&w);
}
