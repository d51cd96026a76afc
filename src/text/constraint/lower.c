/* SPDX-License-Identifier: MIT */
/* From expressions to nodes: each callable becomes a small automaton over bytes and calls.
 * Input: analysed expressions. Output: nodes, edges, callables; node 0 is the end of every body.
 * Threads: one. Bounds: linear in the expressions (what is used twice is a callable, not a copy)
 * and in the bytes of the literals; a stack of tasks instead of recursion. */
#include <stdlib.h>

#include "text/constraint/program.h"

struct task {
    uint32_t expr, entry, next;
    uint32_t skip; /* bytes of a literal that are behind already */
    bool inside;   /* the body of the callable itself */
};
struct lowering {
    struct power_grammar *g;
    struct task *tasks;
    uint32_t n_tasks, tasks_room;
    struct power_text *literals; /* of the choice at work */
    uint32_t n_literals, literals_room;
};

enum { LITERALS_FOR_TREE = 3 };

static uint32_t add_node(struct power_grammar *g) {
    if (g->n_nodes >= g->max_nodes) {
        power_grammar_fail(g, POWER_LIMIT, "the grammar has more than %u states", g->max_nodes);
    }
    if (!POWER_GRAMMAR_ROOM(g, nodes)) return 0;
    return g->n_nodes++;
}

static void set_node(struct power_grammar *g, uint32_t node, enum power_op op, uint32_t a,
                     uint32_t b) {
    g->nodes[node] = (struct power_node){op, a, b};
}

/* Room for n edges in a row; the first. */
static uint32_t add_edges(struct power_grammar *g, uint32_t n) {
    uint32_t first = g->n_edges;
    for (uint32_t i = 0; i < n; i++) {
        if (!POWER_GRAMMAR_ROOM(g, edges)) return first;
        g->edges[g->n_edges++] = 0;
    }
    return first;
}

static void push(struct lowering *l, struct task task) {
    struct power_grammar *g = l->g;
    l->tasks = power_grammar_room(g, l->tasks, &l->tasks_room, l->n_tasks, sizeof *l->tasks);
    if (g->status == POWER_OK) l->tasks[l->n_tasks++] = task;
}

static uint32_t byte_set(struct power_grammar *g, unsigned char byte) {
    if (g->byte_sets[byte] == 0) {
        uint64_t set[4] = {0};
        set[byte >> 6] = UINT64_C(1) << (byte & 63);
        g->byte_sets[byte] = power_grammar_set(g, set) + 1;
    }
    return g->byte_sets[byte] - 1;
}

/* ---- callables ---- */

static bool is_plain_repeat(const struct power_expr_node *e) {
    return (e->max == UINT32_MAX && e->min <= 1) || (e->min == 0 && e->max == 1);
}

static uint32_t add_callable(struct power_grammar *g, enum power_callable_kind kind, uint32_t ref,
                             const struct power_expr_node *e) {
    if (!POWER_GRAMMAR_ROOM(g, callables)) return POWER_NO_INDEX;
    g->callables[g->n_callables] = (struct power_callable){kind, ref, e->order, e->nullable};
    return g->n_callables++;
}

static bool fill_counted(struct power_grammar *g, uint32_t expr, uint32_t index) {
    struct power_expr_node e = g->exprs[expr];
    const struct power_expr_node *body = &g->exprs[e.body];
    struct power_counted counted = {.min = body->nullable ? 0 : e.min,
                                    .max = e.max,
                                    .set = POWER_NO_INDEX,
                                    .body = POWER_NO_INDEX};
    if (body->kind == POWER_EXPR_BYTES) {
        counted.set = body->first;
    } else {
        counted.body = power_grammar_callable(g, e.body);
    }
    if (g->status == POWER_OK) g->counted[index] = counted;
    return g->status == POWER_OK;
}

/* The kind's own table entry is filled by a task: callables are made without recursion. */
uint32_t power_grammar_callable(struct power_grammar *g, uint32_t expr) {
    while (g->exprs[expr].kind == POWER_EXPR_RULE)
        expr = g->exprs[expr].body;
    struct power_expr_node *e = &g->exprs[expr];
    if (e->callable != POWER_NO_INDEX || g->status != POWER_OK) return e->callable;
    if (e->kind == POWER_EXPR_REGULAR) {
        e->callable = add_callable(g, POWER_CALL_CURSOR, e->first, e);
    } else if (e->kind == POWER_EXPR_MEMBERS) {
        if (!POWER_GRAMMAR_ROOM(g, objects)) return POWER_NO_INDEX;
        e->callable = add_callable(g, POWER_CALL_OBJECT, g->n_objects++, e);
    } else if (e->kind == POWER_EXPR_REPEAT && !is_plain_repeat(e) &&
               g->exprs[e->body].productive) {
        if (!POWER_GRAMMAR_ROOM(g, counted)) return POWER_NO_INDEX;
        e->callable = add_callable(g, POWER_CALL_COUNTED, g->n_counted++, e);
    } else {
        e->callable = add_callable(g, POWER_CALL_BODY, add_node(g), e);
    }
    if (g->status != POWER_OK) return POWER_NO_INDEX;
    struct lowering *l = g->lowering;
    push(l, (struct task){.expr = expr, .entry = POWER_NO_INDEX, .inside = true});
    return e->callable;
}

static uint32_t quoted_callable(struct power_grammar *g, uint32_t expr) {
    const struct power_expr_node *e = &g->exprs[expr];
    struct power_program_regular *regular = &g->regulars[e->first];
    if (regular->quoted == 0) {
        uint32_t made = add_callable(g, POWER_CALL_QUOTED, e->first, e);
        if (made == POWER_NO_INDEX) return made;
        g->callables[made].nullable = false;
        regular->quoted = made + 1;
    }
    return regular->quoted - 1;
}

/* ---- literals ---- */

static void lower_text(struct power_grammar *g, struct power_text text, uint32_t entry,
                       uint32_t next) {
    for (size_t i = 0; i < text.length && g->status == POWER_OK; i++) {
        uint32_t set = byte_set(g, (unsigned char)text.bytes[i]);
        uint32_t to = i + 1 < text.length ? add_node(g) : next;
        if (g->status != POWER_OK) return;
        set_node(g, entry, POWER_OP_BYTE, set, to);
        entry = to;
    }
    if (text.length == 0) set_node(g, entry, POWER_OP_JUMP, 0, next);
}

static int compare_texts(const void *a, const void *b) {
    const struct power_text *x = a, *y = b;
    size_t n = x->length < y->length ? x->length : y->length;
    int order = n ? memcmp(x->bytes, y->bytes, n) : 0;
    if (order) return order;
    return (x->length > y->length) - (x->length < y->length);
}

/* A group of sorted literals that agree in their first `depth` bytes. */
struct group {
    uint32_t low, high, depth, entry;
};

static uint32_t group_end(const struct lowering *l, const struct group *group, uint32_t from) {
    unsigned char byte = (unsigned char)l->literals[from].bytes[group->depth];
    uint32_t to = from + 1;
    while (to < group->high && (unsigned char)l->literals[to].bytes[group->depth] == byte)
        to++;
    return to;
}

static struct power_text text_from(struct power_text text, uint32_t offset) {
    return (struct power_text){text.bytes + offset, text.length - offset};
}

/* One node a group: a split over the next bytes, and the end where a literal ends here. */
static bool lower_group(struct lowering *l, const struct group *group, struct group **groups,
                        uint32_t *n_groups, uint32_t *room, uint32_t next) {
    struct power_grammar *g = l->g;
    uint32_t low = group->low, n = 0, ends = l->literals[low].length == group->depth;
    low += ends;
    for (uint32_t at = low; at < group->high; at = group_end(l, group, at))
        n++;
    uint32_t edge = add_edges(g, n + ends);
    if (g->status != POWER_OK) return false;
    set_node(g, group->entry, POWER_OP_SPLIT, edge, n + ends);
    if (ends) g->edges[edge++] = next;
    for (uint32_t at = low, to; at < group->high; at = to) {
        to = group_end(l, group, at);
        uint32_t node = add_node(g);
        if (g->status != POWER_OK) return false;
        g->edges[edge++] = node;
        if (to == at + 1) {
            lower_text(g, text_from(l->literals[at], group->depth), node, next);
            continue;
        }
        uint32_t set = byte_set(g, (unsigned char)l->literals[at].bytes[group->depth]);
        uint32_t entry = add_node(g);
        *groups = power_grammar_room(g, *groups, room, *n_groups, sizeof **groups);
        if (g->status != POWER_OK) return false;
        set_node(g, node, POWER_OP_BYTE, set, entry);
        (*groups)[(*n_groups)++] = (struct group){at, to, group->depth + 1, entry};
    }
    return true;
}

/* The literals as one tree of bytes: a thousand names are one step each, not a thousand. */
static void lower_literals(struct lowering *l, uint32_t entry, uint32_t next) {
    struct power_grammar *g = l->g;
    qsort(l->literals, l->n_literals, sizeof *l->literals, compare_texts);
    uint32_t n = 1, n_groups = 0, room = 0;
    for (uint32_t i = 1; i < l->n_literals; i++) {
        if (compare_texts(&l->literals[i], &l->literals[n - 1])) l->literals[n++] = l->literals[i];
    }
    struct group first = {0, n, 0, entry}, *groups = NULL;
    bool going = lower_group(l, &first, &groups, &n_groups, &room, next);
    while (going && n_groups) {
        struct group group = groups[--n_groups];
        going = lower_group(l, &group, &groups, &n_groups, &room, next);
    }
    (void)g;
}

/* ---- expressions ---- */

static void lower_choice(struct lowering *l, const struct power_expr_node *e,
                         const struct task *task) {
    struct power_grammar *g = l->g;
    uint32_t n = 0;
    l->n_literals = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        const struct power_expr_node *part = &g->exprs[g->lists[e->first + i]];
        n += part->productive;
        if (part->kind != POWER_EXPR_LITERAL) continue;
        l->literals = power_grammar_room(g, l->literals, &l->literals_room, l->n_literals,
                                         sizeof *l->literals);
        if (g->status != POWER_OK) return;
        l->literals[l->n_literals++] = (struct power_text){g->bytes + part->first, part->count};
    }
    bool tree = l->n_literals >= LITERALS_FOR_TREE;
    if (tree) n = n - l->n_literals + 1;
    uint32_t edge = add_edges(g, n);
    if (g->status != POWER_OK) return;
    set_node(g, task->entry, POWER_OP_SPLIT, edge, n);
    if (tree) {
        uint32_t node = add_node(g);
        if (g->status != POWER_OK) return;
        g->edges[edge++] = node;
        lower_literals(l, node, task->next);
    }
    for (uint32_t i = 0; i < e->count && g->status == POWER_OK; i++) {
        uint32_t part = g->lists[e->first + i];
        if (!g->exprs[part].productive || (tree && g->exprs[part].kind == POWER_EXPR_LITERAL)) {
            continue;
        }
        uint32_t node = add_node(g);
        if (g->status != POWER_OK) return;
        g->edges[edge++] = node;
        push(l, (struct task){.expr = part, .entry = node, .next = task->next});
    }
}

/* A JSON string's content with the quote behind it is one automaton: most tokens that leave the
 * string hold the quote, and it tells them apart from those that stay. */
static bool takes_quote(const struct power_grammar *g, uint32_t part, uint32_t behind) {
    const struct power_expr_node *a = &g->exprs[part], *b = &g->exprs[behind];
    return a->kind == POWER_EXPR_REGULAR && g->regulars[a->first].encoding != POWER_AS_UTF8 &&
           b->kind == POWER_EXPR_LITERAL && g->bytes[b->first] == '"';
}

static void lower_sequence(struct lowering *l, const struct power_expr_node *e,
                           const struct task *task) {
    struct power_grammar *g = l->g;
    uint32_t entry = task->entry, skip = 0;
    for (uint32_t i = 0; i < e->count && g->status == POWER_OK; i++) {
        uint32_t part = g->lists[e->first + i];
        uint32_t to = i + 1 < e->count ? add_node(g) : task->next;
        if (g->status != POWER_OK) return;
        if (i + 1 < e->count && takes_quote(g, part, g->lists[e->first + i + 1])) {
            set_node(g, entry, POWER_OP_CALL, quoted_callable(g, part), to);
            skip = 1;
        } else {
            push(l, (struct task){.expr = part, .entry = entry, .next = to, .skip = skip});
            skip = 0;
        }
        entry = to;
    }
}

static void lower_repeat(struct lowering *l, const struct power_expr_node *e,
                         const struct task *task) {
    struct power_grammar *g = l->g;
    if (!g->exprs[e->body].productive) {
        set_node(g, task->entry, POWER_OP_JUMP, 0, task->next);
        return;
    }
    /* The loop's node decides between one more and going on. With a minimum of one, the body comes
     * first. */
    uint32_t body = add_node(g), loop = e->min ? add_node(g) : task->entry;
    uint32_t edge = add_edges(g, 2);
    if (g->status != POWER_OK) return;
    g->edges[edge] = body;
    g->edges[edge + 1] = task->next;
    set_node(g, loop, POWER_OP_SPLIT, edge, 2);
    if (e->min) set_node(g, task->entry, POWER_OP_JUMP, 0, body);
    uint32_t back = e->max == UINT32_MAX ? loop : task->next;
    push(l, (struct task){.expr = e->body, .entry = body, .next = back});
}

static void lower_expr(struct lowering *l, const struct task *task) {
    struct power_grammar *g = l->g;
    struct power_expr_node e = g->exprs[task->expr];
    bool counted =
        e.kind == POWER_EXPR_REPEAT && !is_plain_repeat(&e) && g->exprs[e.body].productive;
    if (counted || e.kind == POWER_EXPR_REGULAR || e.kind == POWER_EXPR_MEMBERS ||
        (e.called && !task->inside)) {
        bool whole_literal = e.kind == POWER_EXPR_LITERAL && task->skip;
        if (!whole_literal) {
            uint32_t callable = power_grammar_callable(g, task->expr);
            set_node(g, task->entry, POWER_OP_CALL, callable, task->next);
            return;
        }
    }
    switch ((enum power_expr_kind)e.kind) {
    case POWER_EXPR_BYTES:
        set_node(g, task->entry, POWER_OP_BYTE, e.first, task->next);
        break;
    case POWER_EXPR_LITERAL:
        lower_text(g, (struct power_text){g->bytes + e.first + task->skip, e.count - task->skip},
                   task->entry, task->next);
        break;
    case POWER_EXPR_SEQUENCE:
        lower_sequence(l, &e, task);
        break;
    case POWER_EXPR_CHOICE:
        lower_choice(l, &e, task);
        break;
    case POWER_EXPR_REPEAT:
        lower_repeat(l, &e, task);
        break;
    case POWER_EXPR_EMPTY:
    case POWER_EXPR_NOTHING:
    case POWER_EXPR_REGULAR:
    case POWER_EXPR_RULE:
    case POWER_EXPR_MEMBERS:
        set_node(g, task->entry, POWER_OP_JUMP, 0, task->next);
        break;
    }
}

/* The first task of a callable: its own table entry, or the body from its first node. */
static void lower_callable(struct lowering *l, const struct task *task) {
    struct power_grammar *g = l->g;
    const struct power_expr_node *e = &g->exprs[task->expr];
    struct power_callable callable = g->callables[e->callable];
    if (callable.kind == POWER_CALL_COUNTED) {
        fill_counted(g, task->expr, callable.ref);
    } else if (callable.kind == POWER_CALL_OBJECT) {
        struct power_object object = {0};
        if (power_grammar_lower_object(g, &g->members[e->first], &object)) {
            g->objects[callable.ref] = object;
        }
    } else if (callable.kind == POWER_CALL_BODY) {
        lower_expr(l, &(struct task){.expr = task->expr, .entry = callable.ref, .inside = true});
    }
}

static void find_bytes_used(struct power_grammar *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != POWER_OP_BYTE) continue;
        for (int w = 0; w < 4; w++)
            g->bytes_used[w] |= g->sets[g->nodes[i].a][w];
    }
    for (uint32_t i = 0; i < g->n_counted; i++) {
        for (int w = 0; w < 4 && g->counted[i].set != POWER_NO_INDEX; w++)
            g->bytes_used[w] |= g->sets[g->counted[i].set][w];
    }
}

bool power_grammar_lower(struct power_grammar *g, uint32_t root) {
    struct lowering l = {.g = g};
    g->lowering = &l;
    add_node(g); /* the end */
    g->root = power_grammar_callable(g, root);
    while (l.n_tasks && g->status == POWER_OK) {
        struct task task = l.tasks[--l.n_tasks];
        if (task.entry == POWER_NO_INDEX) {
            lower_callable(&l, &task);
        } else {
            lower_expr(&l, &task);
        }
    }
    g->lowering = NULL;
    for (uint32_t i = 0; i < g->n_regulars && g->status == POWER_OK; i++)
        power_program_runs(g, &g->regulars[i]);
    find_bytes_used(g);
    return g->status == POWER_OK;
}
