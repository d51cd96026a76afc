/* SPDX-License-Identifier: MIT */
/* What holds of each expression: has it any text, has it the empty one, what may begin with what.
 * Input: all expressions. Output: `productive`, `nullable`, `order` and `called` of each.
 * Threads: one. Bounds: linear in the expressions and their references; queues, no recursion.
 * Left recursion is refused here: it is a cycle of "may begin with". */
#include "text/constraint/program.h"

/* Work space: for every expression the references to it, grouped (first[e] .. first[e + 1]). */
struct analysis {
    struct power_grammar *g;
    uint32_t n;
    size_t n_references;
    size_t *first;
    uint32_t *parents;
    uint32_t *pending; /* children still missing */
    uint32_t *queue;
    uint32_t n_queue;
};

/* ---- children ---- */

static uint32_t n_children(const struct power_grammar *g, const struct power_expr_node *e) {
    switch ((enum power_expr_kind)e->kind) {
    case POWER_EXPR_SEQUENCE:
    case POWER_EXPR_CHOICE:
        return e->count;
    case POWER_EXPR_REPEAT:
    case POWER_EXPR_RULE:
        return 1;
    case POWER_EXPR_MEMBERS: {
        const struct power_members *m = &g->members[e->first].given;
        return (uint32_t)(m->n_named + m->n_classes + 2);
    }
    case POWER_EXPR_NOTHING:
    case POWER_EXPR_EMPTY:
    case POWER_EXPR_BYTES:
    case POWER_EXPR_LITERAL:
    case POWER_EXPR_REGULAR:
        break;
    }
    return 0;
}

static uint32_t child(const struct power_grammar *g, const struct power_expr_node *e, uint32_t i) {
    if (e->kind == POWER_EXPR_REPEAT || e->kind == POWER_EXPR_RULE) return e->body;
    if (e->kind != POWER_EXPR_MEMBERS) return g->lists[e->first + i];
    const struct power_members *m = &g->members[e->first].given;
    if (i < m->n_named) return m->named[i].value;
    i -= (uint32_t)m->n_named;
    if (i < m->n_classes) return m->classes[i].value;
    return i == m->n_classes ? m->colon : m->comma;
}

/* Whether a text of `e` can begin with one of child i (what stands before it may be empty). */
static bool begins_with(const struct power_grammar *g, const struct power_expr_node *e,
                        uint32_t i) {
    if (e->kind == POWER_EXPR_MEMBERS) return false; /* a quote comes first, or nothing */
    if (e->kind != POWER_EXPR_SEQUENCE || i == 0) return true;
    return g->exprs[child(g, e, i - 1)].nullable;
}

/* How many children, from the first, can come first. */
static uint32_t n_beginnings(const struct power_grammar *g, const struct power_expr_node *e) {
    uint32_t n = n_children(g, e), i = 0;
    if (!e->productive) return 0;
    while (i < n && begins_with(g, e, i))
        i++;
    return i;
}

/* ---- work space ---- */

static void finish(struct analysis *a) {
    const power_allocator *allocator = a->g->allocator;
    power_release(allocator, a->first, (size_t)a->n + 2, sizeof *a->first);
    power_release(allocator, a->parents, a->n_references, sizeof *a->parents);
    power_release(allocator, a->pending, a->n, sizeof *a->pending);
    power_release(allocator, a->queue, a->n, sizeof *a->queue);
}

static bool check_defined(struct power_grammar *g) {
    for (uint32_t e = 1; e < g->n_exprs; e++) {
        const struct power_expr_node *node = &g->exprs[e];
        if (node->kind != POWER_EXPR_RULE || node->body) continue;
        struct power_quoted name = power_quote(g->bytes + node->first, node->count);
        return power_grammar_fail(g, POWER_INVALID, "rule \"%s\" is not defined", name.text);
    }
    return true;
}

static bool init(struct analysis *a, struct power_grammar *g) {
    *a = (struct analysis){.g = g, .n = g->n_exprs};
    const power_allocator *allocator = g->allocator;
    for (uint32_t e = 1; e < a->n; e++)
        a->n_references += n_children(g, &g->exprs[e]);
    a->first = power_alloc(allocator, (size_t)a->n + 2, sizeof *a->first);
    a->parents = power_alloc(allocator, a->n_references, sizeof *a->parents);
    a->pending = power_alloc(allocator, a->n, sizeof *a->pending);
    a->queue = power_alloc(allocator, a->n, sizeof *a->queue);
    if (!a->first || !a->parents || !a->pending || !a->queue) return power_grammar_no_memory(g);
    for (uint32_t e = 1; e < a->n; e++) {
        for (uint32_t i = 0, n = n_children(g, &g->exprs[e]); i < n; i++)
            a->first[child(g, &g->exprs[e], i) + 2]++;
    }
    for (uint32_t e = 2; e < a->n + 2; e++)
        a->first[e] += a->first[e - 1];
    for (uint32_t e = 1; e < a->n; e++) {
        for (uint32_t i = 0, n = n_children(g, &g->exprs[e]); i < n; i++)
            a->parents[a->first[child(g, &g->exprs[e], i) + 1]++] = e;
    }
    return true;
}

/* ---- productive ---- */

static void set_productive(struct analysis *a, uint32_t e) {
    if (a->g->exprs[e].productive) return;
    a->g->exprs[e].productive = true;
    a->queue[a->n_queue++] = e;
}

static bool productive_alone(const struct power_expr_node *e) {
    return e->kind == POWER_EXPR_EMPTY || e->kind == POWER_EXPR_BYTES ||
           e->kind == POWER_EXPR_LITERAL || e->kind == POWER_EXPR_REGULAR ||
           (e->kind == POWER_EXPR_REPEAT && e->min == 0);
}

static void spread_productive(struct analysis *a, uint32_t *at) {
    struct power_grammar *g = a->g;
    for (; *at < a->n_queue; (*at)++) {
        uint32_t e = a->queue[*at];
        for (size_t r = a->first[e]; r < a->first[e + 1]; r++) {
            uint32_t parent = a->parents[r];
            if (a->pending[parent] > 0) a->pending[parent]--;
            if (a->pending[parent] > 0) continue;
            const struct power_expr_node *node = &g->exprs[parent];
            if (node->kind != POWER_EXPR_MEMBERS ||
                power_members_productive(g, &g->members[node->first])) {
                set_productive(a, parent);
            }
        }
    }
}

/* An object may do without some of its members: those that not all children made productive are
 * looked at until no more are found. */
static void find_productive(struct analysis *a) {
    struct power_grammar *g = a->g;
    uint32_t at = 0, before;
    for (uint32_t e = 1; e < a->n; e++) {
        const struct power_expr_node *node = &g->exprs[e];
        bool all = node->kind == POWER_EXPR_SEQUENCE || node->kind == POWER_EXPR_MEMBERS;
        a->pending[e] = all ? n_children(g, node) : 1;
        if (productive_alone(node)) set_productive(a, e);
    }
    spread_productive(a, &at);
    do {
        before = a->n_queue;
        for (uint32_t e = 1; e < a->n; e++) {
            const struct power_expr_node *node = &g->exprs[e];
            if (node->kind != POWER_EXPR_MEMBERS || node->productive ||
                !power_members_productive(g, &g->members[node->first])) {
                continue;
            }
            set_productive(a, e);
            spread_productive(a, &at);
        }
    } while (a->n_queue != before);
}

/* ---- nullable ---- */

static void set_nullable(struct analysis *a, uint32_t e) {
    if (a->g->exprs[e].nullable || !a->g->exprs[e].productive) return;
    a->g->exprs[e].nullable = true;
    a->queue[a->n_queue++] = e;
}

static bool nullable_alone(const struct power_grammar *g, const struct power_expr_node *e) {
    if (e->kind == POWER_EXPR_REGULAR) return g->regulars[e->first].language.states[0].accepts;
    if (e->kind != POWER_EXPR_MEMBERS) {
        return e->kind == POWER_EXPR_EMPTY || (e->kind == POWER_EXPR_REPEAT && e->min == 0);
    }
    const struct power_members *m = &g->members[e->first].given;
    for (size_t i = 0; i < m->n_named; i++) {
        if (m->named[i].required) return false;
    }
    return m->min == 0;
}

static void find_nullable(struct analysis *a) {
    struct power_grammar *g = a->g;
    a->n_queue = 0;
    for (uint32_t e = 1; e < a->n; e++) {
        a->pending[e] = g->exprs[e].kind == POWER_EXPR_SEQUENCE ? g->exprs[e].count : 1;
        if (nullable_alone(g, &g->exprs[e])) set_nullable(a, e);
    }
    for (uint32_t at = 0; at < a->n_queue; at++) {
        uint32_t e = a->queue[at];
        for (size_t r = a->first[e]; r < a->first[e + 1]; r++) {
            uint32_t parent = a->parents[r];
            if (g->exprs[parent].kind == POWER_EXPR_MEMBERS) continue;
            if (a->pending[parent] > 0) a->pending[parent]--;
            if (a->pending[parent] == 0) set_nullable(a, parent);
        }
    }
}

/* ---- order ---- */

/* A rule on a cycle: everything left over has something left over that begins with it, so the way
 * back ends in a cycle, and only a rule can close one. */
static bool fail_left_recursion(struct analysis *a, uint32_t e) {
    struct power_grammar *g = a->g;
    for (uint32_t step = 0;; step++) {
        const struct power_expr_node *node = &g->exprs[e];
        if (step > a->n && node->kind == POWER_EXPR_RULE) {
            struct power_quoted name = power_quote(g->bytes + node->first, node->count);
            return power_grammar_fail(g, POWER_INVALID,
                                      "rule \"%s\" is left recursive: it can begin with itself",
                                      name.text);
        }
        for (size_t r = a->first[e]; r < a->first[e + 1]; r++) {
            const struct power_expr_node *parent = &g->exprs[a->parents[r]];
            uint32_t n = a->pending[a->parents[r]] ? n_beginnings(g, parent) : 0, i = 0;
            while (i < n && child(g, parent, i) != e)
                i++;
            if (i == n) continue;
            e = a->parents[r];
            break;
        }
    }
}

/* Kahn's order over "may begin with". */
static bool find_order(struct analysis *a) {
    struct power_grammar *g = a->g;
    memset(a->pending, 0, (size_t)a->n * sizeof *a->pending);
    for (uint32_t e = 1; e < a->n; e++) {
        for (uint32_t i = 0, n = n_beginnings(g, &g->exprs[e]); i < n; i++)
            a->pending[child(g, &g->exprs[e], i)]++;
    }
    a->n_queue = 0;
    for (uint32_t e = 1; e < a->n; e++) {
        if (a->pending[e] == 0) a->queue[a->n_queue++] = e;
    }
    for (uint32_t at = 0; at < a->n_queue; at++) {
        struct power_expr_node *node = &g->exprs[a->queue[at]];
        node->order = at;
        for (uint32_t i = 0, n = n_beginnings(g, node); i < n; i++) {
            uint32_t next = child(g, node, i);
            if (--a->pending[next] == 0) a->queue[a->n_queue++] = next;
        }
    }
    if (a->n_queue == a->n - 1) return true;
    uint32_t e = 1;
    while (a->pending[e] == 0)
        e++;
    return fail_left_recursion(a, e);
}

/* What is used more than once is lowered once: copies could double at every level. */
static void find_called(struct analysis *a) {
    for (uint32_t e = 1; e < a->n; e++) {
        struct power_expr_node *node = &a->g->exprs[e];
        bool leaf = node->kind == POWER_EXPR_EMPTY || node->kind == POWER_EXPR_BYTES ||
                    (node->kind == POWER_EXPR_LITERAL && node->count <= 16);
        if (!leaf && a->first[e + 1] - a->first[e] > 1) node->called = true;
    }
}

bool power_grammar_analyse(struct power_grammar *g, uint32_t root) {
    struct analysis a;
    if (!check_defined(g)) return false;
    bool done = init(&a, g);
    if (done) {
        find_productive(&a);
        if (g->exprs[root].productive) {
            find_nullable(&a);
            find_called(&a);
            done = find_order(&a);
        } else {
            done = power_grammar_fail(g, POWER_INVALID, "no text satisfies the constraint");
        }
    }
    finish(&a);
    return done;
}
