/* SPDX-License-Identifier: MIT */
/* From forms to a grammar: spacing, literals, arrays, objects.
 * Input: the nodes that the root needs. Output: rules of the grammar.
 * Threads: one a compilation.
 * Bounds: no recursion; expressions count against the grammar's limits. */
#include "text/constraint/schema.h"

enum { INDENT_SPACES = 64, INDENT_TABS = 16, FREE_SPACE = 64, CONTAINS_PLACES = 256 };

struct made {
    const struct power_regular_state *states;
    enum power_encoding encoding;
    power_expr expr;
};
enum { MADE = 64 };

struct emitter {
    struct schema *s;
    struct power_grammar *g;
    power_expr open, comma, colon; /* spacing inside brackets; separators with theirs */
    struct made made[MADE];        /* the automata that came last */
    uint32_t n_made;
    power_expr *any; /* by depth: a value that nests at most so deep */
};

static power_expr literal(struct emitter *e, const char *text) {
    return power_grammar_literal(e->g, power_text_of(text));
}

static power_expr sequence3(struct emitter *e, power_expr a, power_expr b, power_expr c) {
    const power_expr parts[3] = {a, b, c};
    return power_grammar_sequence(e->g, parts, 3);
}

static power_expr choice2(struct emitter *e, power_expr a, power_expr b) {
    const power_expr parts[2] = {a, b};
    return power_grammar_choice(e->g, parts, 2);
}

static power_expr bytes_of(struct emitter *e, const char *text) {
    uint64_t set[4] = {0};
    for (; *text; text++)
        set[(unsigned char)*text >> 6] |= 1ull << (*text & 63);
    return power_grammar_bytes(e->g, set);
}

static void make_spacing(struct emitter *e) {
    power_expr empty = power_grammar_empty(e->g), gap = empty, before = empty, after = empty;
    if (e->s->options.whitespace == POWER_WHITESPACE_FREE) {
        gap = power_grammar_repeat(e->g, bytes_of(e, " \t\r\n"), 0, FREE_SPACE);
        before = after = gap;
    } else if (e->s->options.whitespace == POWER_WHITESPACE_BOUNDED) {
        power_expr spaces = power_grammar_repeat(e->g, bytes_of(e, " "), 0, INDENT_SPACES);
        power_expr tabs = power_grammar_repeat(e->g, bytes_of(e, "\t"), 1, INDENT_TABS);
        power_expr line = sequence3(e, literal(e, "\n"), choice2(e, spaces, tabs), empty);
        after = choice2(e, empty, literal(e, " "));
        gap = choice2(e, after, line);
    }
    e->open = gap;
    e->comma = sequence3(e, before, literal(e, ","), gap);
    e->colon = sequence3(e, before, literal(e, ":"), after);
}

/* A copy that lives as long as the grammar. */
static const struct power_regular *keep(struct emitter *e, const struct power_regular *a) {
    struct power_arena *arena = power_grammar_space(e->g)->arena;
    struct power_regular *copy = power_arena_alloc(arena, 1, sizeof *copy);
    struct power_regular_state *states = power_arena_alloc(arena, a->n_states, sizeof *states);
    struct power_regular_edge *edges =
        power_arena_alloc(arena, (size_t)a->n_edges + 1, sizeof *edges);
    if (!copy || !states || !edges) {
        (void)power_schema_memory(e->s);
        return NULL;
    }
    memcpy(states, a->states, a->n_states * sizeof *states);
    if (a->n_edges) memcpy(edges, a->edges, a->n_edges * sizeof *edges);
    *copy = (struct power_regular){states, edges, a->n_states, a->n_edges};
    return copy;
}

static power_expr regular(struct emitter *e, const struct power_regular *a,
                          enum power_encoding encoding) {
    if (!a || a->n_states == 0) return power_grammar_nothing(e->g);
    for (uint32_t i = 0; i < MADE; i++)
        if (e->made[i].states == a->states && e->made[i].encoding == encoding)
            return e->made[i].expr;
    const struct power_regular *kept = keep(e, a);
    if (!kept) return 0;
    power_expr expr = power_grammar_regular(e->g, kept, encoding);
    e->made[e->n_made++ % MADE] = (struct made){a->states, encoding, expr};
    return expr;
}

static power_expr quoted(struct emitter *e, power_expr inside) {
    return sequence3(e, literal(e, "\""), inside, literal(e, "\""));
}

static power_expr emit_strings(struct emitter *e, struct schema_strings strings) {
    struct schema *s = e->s;
    bool all = strings.min == 0 && strings.max == SCHEMA_MANY;
    if (!strings.language && all) return quoted(e, regular(e, s->all_texts, POWER_AS_JSON));
    if (!strings.language) {
        struct power_regular one;
        power_error why = {0};
        power_status status = power_regular_length(&s->space, 1, 1, &one, &why);
        if (!power_schema_check(s, status, s->blame, &why)) return 0;
        power_expr letter = regular(e, &one, POWER_AS_JSON);
        return quoted(e, power_grammar_repeat(e->g, letter, strings.min, strings.max));
    }
    return quoted(e, regular(e, power_schema_strings(s, strings), POWER_AS_JSON));
}

/* The expression of a node: itself where it is a scalar, else a rule that is defined later. */
static power_expr node_expr(struct emitter *e, uint32_t node);

static power_expr between(struct emitter *e, const char *open, power_expr inside,
                          const char *close) {
    const power_expr parts[5] = {literal(e, open), e->open, inside, e->open, literal(e, close)};
    return power_grammar_sequence(e->g, parts, 5);
}

static power_expr hollow(struct emitter *e, const char *open, const char *close) {
    return sequence3(e, literal(e, open), e->open, literal(e, close));
}

/* Values of any kind, to options.any_depth. */
static power_expr any_level(struct emitter *e, power_expr item) {
    struct schema *s = e->s;
    struct power_key_class keys = {.keys = keep(e, s->all_texts), .value = item};
    struct power_members members = {.classes = &keys,
                                    .n_classes = 1,
                                    .any_order = s->options.any_order,
                                    .min = 1,
                                    .max = UINT32_MAX,
                                    .colon = e->colon,
                                    .comma = e->comma};
    if (!keys.keys) return 0;
    power_expr parts[9] = {literal(e, "null"),
                           literal(e, "true"),
                           literal(e, "false"),
                           emit_strings(e, s->any->strings),
                           regular(e, s->all_numbers, POWER_AS_UTF8),
                           hollow(e, "[", "]"),
                           hollow(e, "{", "}")};
    size_t n = 7;
    if (item) {
        power_expr more = sequence3(e, e->comma, item, power_grammar_empty(e->g));
        power_expr items = sequence3(e, item, power_grammar_repeat(e->g, more, 0, UINT32_MAX),
                                     power_grammar_empty(e->g));
        parts[n++] = between(e, "[", items, "]");
        parts[n++] = between(e, "{", power_grammar_members(e->g, &members), "}");
    }
    power_expr rule = power_grammar_rule(e->g, POWER_TEXT("any"));
    power_grammar_define(e->g, rule, power_grammar_choice(e->g, parts, n));
    return rule;
}

static power_expr any_value(struct emitter *e) {
    uint32_t depth = e->s->options.any_depth;
    if (e->any) return e->any[depth];
    e->any = power_schema_alloc(e->s, (size_t)depth + 1, sizeof *e->any);
    for (uint32_t i = 0; e->any && i <= depth; i++)
        e->any[i] = any_level(e, i ? e->any[i - 1] : 0);
    return e->any ? e->any[depth] : 0;
}

/* Items behind the prefix, each with its comma: lo to hi of them. */
static power_expr rest_items(struct emitter *e, power_expr item, uint32_t lo, uint32_t hi) {
    if (hi == 0) return power_grammar_empty(e->g);
    return power_grammar_repeat(e->g, item, lo, hi);
}

static power_expr with_comma(struct emitter *e, uint32_t node) {
    return sequence3(e, e->comma, node_expr(e, node), power_grammar_empty(e->g));
}

/* The same with one item that is the wished-for one, at every place that it may have. */
static power_expr wished_rest(struct emitter *e, const struct schema_array *a, uint32_t lo,
                              uint32_t hi) {
    struct schema *s = e->s;
    if (hi == 0 || !s->nodes[a->rest].inhabited || !s->nodes[a->with[a->n_prefix]].inhabited)
        return power_grammar_nothing(e->g);
    uint32_t places = hi == UINT32_MAX ? (lo > 0 ? lo : 1) : hi;
    if (places > CONTAINS_PLACES) {
        (void)power_schema_fail(s, POWER_LIMIT, power_schema_place(s, a->contains),
                                "an array of more than 256 items with \"contains\"");
        return 0;
    }
    power_expr *parts = power_schema_alloc(s, places, sizeof *parts);
    if (!parts) return 0;
    power_expr item = with_comma(e, a->rest), wish = with_comma(e, a->with[a->n_prefix]);
    for (uint32_t i = 0; i < places; i++) {
        bool last = hi == UINT32_MAX && i + 1 == places;
        uint32_t after = lo > i + 1 ? lo - i - 1 : 0;
        uint32_t most = hi == UINT32_MAX ? hi : hi - i - 1;
        power_expr before = last ? rest_items(e, item, i, UINT32_MAX) : rest_items(e, item, i, i);
        if (i == 0 && !last) before = power_grammar_empty(e->g);
        parts[i] = sequence3(e, before, wish, rest_items(e, item, after, most));
    }
    return power_grammar_choice(e->g, parts, places);
}

/* Items 0.. of an array that is not empty. From the end: `plain` is what may follow item i,
 * `wished` the same while the wished-for item is still to come. */
static power_expr items_of(struct emitter *e, const struct schema_array *a, uint32_t max) {
    struct schema *s = e->s;
    uint32_t n = a->n_prefix < max ? a->n_prefix : max, lo = a->min > n ? a->min - n : 0;
    uint32_t hi = max == SCHEMA_MANY ? UINT32_MAX : max - n;
    if (n < a->n_prefix || !s->nodes[a->rest].inhabited) hi = 0;
    power_expr empty = power_grammar_empty(e->g), wished = 0;
    power_expr plain = hi ? rest_items(e, with_comma(e, a->rest), lo, hi) : empty;
    if (a->contains) wished = wished_rest(e, a, lo, hi);
    for (uint32_t i = n; i-- > 0;) {
        power_expr comma = i ? e->comma : empty;
        power_expr now = sequence3(e, comma, node_expr(e, a->prefix[i]), plain);
        if (a->contains) {
            power_expr later = sequence3(e, comma, node_expr(e, a->prefix[i]), wished);
            wished = later;
            if (s->nodes[a->with[i]].inhabited)
                wished = choice2(e, later, sequence3(e, comma, node_expr(e, a->with[i]), plain));
        }
        plain = i < a->min || i == 0 ? now : choice2(e, empty, now);
    }
    return a->contains ? wished : plain;
}

static power_expr emit_array(struct emitter *e, const struct schema_array *shape) {
    struct schema *s = e->s;
    struct schema_array a = *shape;
    uint32_t first[1] = {a.rest}, with[2] = {0};
    if (a.n_prefix == 0) { /* item 0 has no comma before it */
        a.prefix = first;
        a.n_prefix = 1;
        if (a.contains) with[0] = with[1] = a.with[0];
        a.with = with;
    }
    uint32_t max = a.max;
    for (uint32_t i = 0; i < a.n_prefix && i < max; i++)
        if (!s->nodes[a.prefix[i]].inhabited) max = i;
    power_expr none = hollow(e, "[", "]");
    if (max == 0) return none;
    power_expr some = between(e, "[", items_of(e, &a, max), "]");
    return a.min == 0 && !a.contains ? choice2(e, none, some) : some;
}

static power_expr emit_object(struct emitter *e, const struct schema_object *o) {
    struct schema *s = e->s;
    struct power_named_member *named = power_schema_alloc(s, o->n_members, sizeof *named);
    struct power_key_class *classes = power_schema_alloc(s, o->n_classes, sizeof *classes);
    if (!named || !classes) return 0;
    struct power_members members = {.named = named,
                                    .classes = classes,
                                    .any_order = s->options.any_order,
                                    .min = o->min > 0 ? o->min : 1,
                                    .max = o->max == SCHEMA_MANY ? UINT32_MAX : o->max,
                                    .colon = e->colon,
                                    .comma = e->comma};
    bool required = false;
    for (uint32_t i = 0; i < o->n_members; i++) {
        const struct schema_member *m = &o->members[i];
        if (!s->nodes[m->node].inhabited) continue;
        required = required || m->required;
        named[members.n_named++] =
            (struct power_named_member){s->key_texts[m->key], node_expr(e, m->node), m->required};
    }
    for (uint32_t i = 0; i < o->n_classes; i++) {
        if (!s->nodes[o->classes[i].node].inhabited || o->counts[i] == 0) continue;
        const struct power_regular *keys = keep(e, o->allowed[i]);
        if (!keys) return 0;
        classes[members.n_classes++] =
            (struct power_key_class){keys, node_expr(e, o->classes[i].node)};
    }
    power_expr none = hollow(e, "{", "}");
    if (o->max == 0 || members.n_named + members.n_classes == 0) return none;
    power_expr some = between(e, "{", power_grammar_members(e->g, &members), "}");
    return o->min == 0 && !required ? choice2(e, none, some) : some;
}

static power_expr emit_form(struct emitter *e, const struct schema_form *form) {
    struct schema *s = e->s;
    size_t most = 5 + (size_t)form->n_arrays + form->n_objects, n = 0;
    power_expr *parts = power_schema_alloc(s, most, sizeof *parts);
    if (!parts) return 0;
    if (form->null) parts[n++] = literal(e, "null");
    if (form->yes) parts[n++] = literal(e, "true");
    if (form->no) parts[n++] = literal(e, "false");
    if (!power_schema_strings_empty(s, form->strings)) parts[n++] = emit_strings(e, form->strings);
    if (form->numbers.yes->n_states > 0) parts[n++] = regular(e, form->numbers.yes, POWER_AS_UTF8);
    for (uint32_t i = 0; i < form->n_arrays; i++)
        if (power_schema_array_lives(s, &form->arrays[i]))
            parts[n++] = emit_array(e, &form->arrays[i]);
    for (uint32_t i = 0; i < form->n_objects; i++)
        if (power_schema_object_lives(s, &form->objects[i]))
            parts[n++] = emit_object(e, &form->objects[i]);
    return n == 1 ? parts[0] : power_grammar_choice(e->g, parts, n);
}

static power_expr node_expr(struct emitter *e, uint32_t node) {
    struct schema_node *n = &e->s->nodes[node];
    if (n->rule) return n->rule;
    if (node == NODE_ANY) {
        n->rule = any_value(e);
    } else if (!n->inhabited) {
        n->rule = power_grammar_nothing(e->g);
    } else if (n->form->n_arrays == 0 && n->form->n_objects == 0) {
        n->rule = emit_form(e, n->form);
        n->emitted = true;
    } else {
        n->rule = power_grammar_rule(e->g, (struct power_text){0});
    }
    return n->rule;
}

bool power_schema_emit(struct schema *s, uint32_t root, power_expr *out) {
    struct emitter e = {.s = s, .g = s->grammar};
    make_spacing(&e);
    *out = node_expr(&e, root);
    /* A node is listed before the nodes inside it, but a rule may be asked for later: go round
     * until every rule that exists has its body. */
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < s->n_order; i++) {
            struct schema_node *n = &s->nodes[s->order[i]];
            if (!n->rule || n->emitted || s->order[i] <= NODE_NEVER || !n->inhabited) continue;
            n->emitted = more = true;
            power_grammar_define(s->grammar, n->rule, emit_form(&e, n->form));
        }
    }
    return s->status == POWER_OK;
}
