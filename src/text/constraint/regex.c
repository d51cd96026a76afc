/* SPDX-License-Identifier: MIT */
/* Job: from the tree of a regular expression to its automaton.
 * Input: an expression. Output: the minimal automaton of the texts that it matches.
 * Threads: one an operation. Bounds: the operation's limits; constant stack. */
#include "text/constraint/regex.h"

/* What is still to be built: all of `node` between two states. */
struct task {
    uint32_t node, from, to;
};

struct builder {
    struct regex *r;
    struct nfa nfa;
    struct regular_list tasks;
};

static bool later(struct builder *b, uint32_t node, uint32_t from, uint32_t to) {
    if (from == REGULAR_NONE || to == REGULAR_NONE) return false;
    if (!power_regular_room(b->r->w, &b->tasks, 1, sizeof(struct task))) return false;
    ((struct task *)b->tasks.items)[b->tasks.count++] = (struct task){node, from, to};
    return power_regular_steps(b->r->w, 1);
}

static bool build_set(struct builder *b, const struct regex_node *node, struct task task) {
    uint32_t at = task.from;
    if (node->n_ranges == 0) return true;
    if (NFA_STATES(&b->nfa)[at].n_edges > 0) { /* a state's edges lead to one place */
        at = power_nfa_state(&b->nfa);
        if (at == REGULAR_NONE || !power_nfa_jump(&b->nfa, task.from, at, REGULAR_ALWAYS))
            return false;
    }
    struct nfa_state *state = &NFA_STATES(&b->nfa)[at];
    state->edges = node->ranges;
    state->n_edges = node->n_ranges;
    state->to = task.to;
    return true;
}

static bool build_list(struct builder *b, const struct regex_node *node, struct task task) {
    uint32_t from = task.from;
    for (uint32_t i = node->child; i != REGEX_NO_NODE; i = REGEX_NODES(b->r)[i].next) {
        bool last = node->kind == REGEX_CHOICE || REGEX_NODES(b->r)[i].next == REGEX_NO_NODE;
        uint32_t to = last ? task.to : power_nfa_state(&b->nfa);
        if (!later(b, i, from, to)) return false;
        if (node->kind == REGEX_SEQUENCE) from = to;
    }
    return true;
}

/* Copies in a row: those that must be, then optional ones or a loop. */
static bool build_repeat(struct builder *b, const struct regex_node *node, struct task task) {
    uint32_t at = task.from;
    bool endless = node->max == UINT32_MAX;
    for (uint32_t i = 0; i < (endless ? node->min : node->max); i++) {
        uint32_t next = power_nfa_state(&b->nfa);
        if (!later(b, node->child, at, next)) return false;
        if (i >= node->min && !power_nfa_jump(&b->nfa, at, task.to, REGULAR_ALWAYS)) return false;
        at = next;
    }
    if (endless) {
        uint32_t loop = power_nfa_state(&b->nfa);
        if (!later(b, node->child, loop, loop)) return false;
        if (!power_nfa_jump(&b->nfa, at, loop, REGULAR_ALWAYS)) return false;
        at = loop;
    }
    return power_nfa_jump(&b->nfa, at, task.to, REGULAR_ALWAYS);
}

static bool build_task(struct builder *b, struct task task) {
    const struct regex_node *node = &REGEX_NODES(b->r)[task.node];
    switch ((enum regex_kind)node->kind) {
    case REGEX_SET:
        return build_set(b, node, task);
    case REGEX_SEQUENCE:
    case REGEX_CHOICE:
        return build_list(b, node, task);
    case REGEX_REPEAT:
        return build_repeat(b, node, task);
    case REGEX_CONDITION:
        return power_nfa_jump(&b->nfa, task.from, task.to, (enum regular_condition)node->condition);
    case REGEX_LOOK:
        return power_nfa_jump(&b->nfa, task.from, task.to, REGULAR_CONDITIONS + node->number);
    case REGEX_EMPTY:
    default:
        return power_nfa_jump(&b->nfa, task.from, task.to, REGULAR_ALWAYS);
    }
}

static void start_builder(struct builder *b, struct regex *r) {
    *b = (struct builder){.r = r};
    power_nfa_init(&b->nfa, r->w);
    b->nfa.looks = r->looks;
    b->nfa.looks_at_words = r->looks_at_words;
}

static bool build(struct builder *b, uint32_t node, uint32_t from, uint32_t to) {
    if (!later(b, node, from, to)) return false;
    while (b->tasks.count > 0) {
        if (!build_task(b, ((struct task *)b->tasks.items)[--b->tasks.count])) return false;
    }
    return true;
}

/* ---- lookaheads ---- */

/* What the rest of the text is where the lookahead holds, a character of the kind before it. */
static bool build_rest(struct regex *r, const struct regex_node *look, enum regular_kind before,
                       struct power_regular *out, bool *out_depends) {
    struct builder b;
    struct regular_machine machine = {0};
    start_builder(&b, r);
    uint32_t start = power_nfa_state(&b.nfa), rest = power_nfa_everything(&b.nfa);
    if (!build(&b, look->child, start, rest)) return false;
    if (!power_nfa_determine(&b.nfa, before, &machine)) return false;
    const bool *has = b.nfa.has;
    bool words = has[REGULAR_AT_WORD] || has[REGULAR_NOT_WORD];
    r->looks_at_words = r->looks_at_words || words;
    *out_depends = words || has[REGULAR_AT_START] || has[REGULAR_CONDITIONS];
    return power_machine_finish(r->w, &machine, out);
}

static bool build_look(struct regex *r, const struct regex_node *look, struct nfa_look *out) {
    const struct power_regular_space *space = r->w->space;
    struct power_regular all, *rest = out->rest;
    bool depends = true;
    for (int kind = 0; kind < REGULAR_KINDS; kind++) {
        if (!depends)
            rest[kind] = rest[0];
        else if (!build_rest(r, look, (enum regular_kind)kind, &rest[kind], &depends))
            return false;
    }
    if (!look->negative) return true;
    power_status status = power_regular_length(space, 0, UINT32_MAX, &all, r->w->error);
    for (int kind = 0; kind < REGULAR_KINDS && status == POWER_OK; kind++)
        status = power_regular_subtract(space, &all, &rest[kind], &rest[kind], r->w->error);
    r->w->status = status;
    return status == POWER_OK;
}

/* The automata of all lookaheads, inner ones first. They live in the work memory. */
static bool build_looks(struct regex *r) {
    const struct power_regular_space *space = r->w->space;
    const struct power_regular_space inner = {&r->w->arena, r->w->max_states};
    r->looks = power_regular_alloc(r->w, r->n_looks, sizeof *r->looks);
    uint32_t *nodes = power_regular_alloc(r->w, r->n_looks, sizeof *nodes);
    if (!nodes) return false;
    for (uint32_t i = 0; i < r->nodes.count; i++) {
        if (REGEX_NODES(r)[i].kind == REGEX_LOOK) nodes[REGEX_NODES(r)[i].number] = i;
    }
    bool built = true;
    r->w->space = &inner;
    for (uint32_t i = 0; built && i < r->n_looks; i++)
        built = build_look(r, &REGEX_NODES(r)[nodes[i]], &r->looks[i]);
    r->w->space = space;
    return built;
}

/* ---- whole expressions ---- */

static bool is_plain(const struct regex *r) {
    for (size_t i = 0; i < r->nodes.count; i++) {
        uint8_t kind = REGEX_NODES(r)[i].kind;
        if (kind == REGEX_CONDITION || kind == REGEX_LOOK) return false;
    }
    return true;
}

static bool build_whole(struct regex *r, struct power_regular *out) {
    struct builder b;
    start_builder(&b, r);
    uint32_t start = power_nfa_state(&b.nfa), end = power_nfa_state(&b.nfa);
    if (!build(&b, r->root, start, end)) return false;
    NFA_STATES(&b.nfa)[end].accepts = true;
    return power_nfa_finish(&b.nfa, out);
}

/* Anything, the expression, anything. */
static bool build_search(struct regex *r, struct power_regular *out) {
    struct builder b;
    start_builder(&b, r);
    uint32_t start = power_nfa_state(&b.nfa), body = power_nfa_state(&b.nfa);
    uint32_t rest = power_nfa_everything(&b.nfa);
    if (rest == REGULAR_NONE) return false;
    power_nfa_any(&b.nfa, start, start);
    if (!power_nfa_jump(&b.nfa, start, body, REGULAR_ALWAYS)) return false;
    return build(&b, r->root, body, rest) && power_nfa_finish(&b.nfa, out);
}

/* The same from the automaton of the expression alone: its common beginnings are shared then. */
static bool search_for(struct regular_work *w, const struct power_regular *found,
                       struct power_regular *out) {
    struct nfa nfa;
    power_nfa_init(&nfa, w);
    uint32_t start = power_nfa_state(&nfa), rest = power_nfa_everything(&nfa);
    if (rest == REGULAR_NONE) return false;
    power_nfa_any(&nfa, start, start);
    uint32_t body = power_nfa_copy(&nfa, found, rest);
    return body != REGULAR_NONE && power_nfa_jump(&nfa, start, body, REGULAR_ALWAYS) &&
           power_nfa_finish(&nfa, out);
}

/* Without conditions. False also where the way over the expression's own automaton is too long. */
static bool search_plain(const struct power_regular_space *space, struct power_text regex,
                         struct power_regular *out) {
    struct regular_work w;
    struct power_arena arena;
    struct power_regular found = {0}, made = {0};
    power_arena_init(&arena, space->arena->allocator, REGULAR_WORK_BYTES);
    const struct power_regular_space inner = {&arena, space->max_states};
    power_status status = power_regular_parse(&inner, regex, POWER_REGEX_WHOLE, &found, NULL);
    if (status == POWER_OK && found.n_states == 0) {
        *out = made;
    } else if (status == POWER_OK) {
        power_regular_begin(&w, space, NULL);
        (void)search_for(&w, &found, &made);
        status = power_regular_end(&w);
        if (status == POWER_OK) *out = made;
    }
    power_arena_finish(&arena);
    return status == POWER_OK;
}

power_status power_regular_parse(const struct power_regular_space *space, struct power_text regex,
                                 enum power_regex_dialect dialect, struct power_regular *out,
                                 power_error *error) {
    struct regular_work w;
    power_regular_begin(&w, space, error);
    struct regex r = {.w = &w, .text = regex};
    if (power_regex_parse(&r) && build_looks(&r)) {
        if (dialect == POWER_REGEX_WHOLE)
            (void)build_whole(&r, out);
        else if (!is_plain(&r) || !search_plain(space, regex, out))
            (void)build_search(&r, out);
    }
    return power_regular_end(&w);
}
