/* SPDX-License-Identifier: MIT */
/* Expressions of a grammar, built bottom-up.
 * Input: calls of front ends. Output: nodes in the grammar's arena.
 * Threads: one. Bounds: max_nodes expressions, max_bytes of memory; the first failure is kept, and
 * every call after it gives 0. */
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "text/constraint/program.h"

enum { DEFAULT_MAX_NODES = 2000000, FIRST_ROOM = 64, SETS_LOOKED_AT = 16, MAX_UNROLLED = 4096 };
#define DEFAULT_MAX_BYTES ((size_t)256 << 20)

power_status power_grammar_create(const power_allocator *allocator,
                                  const struct power_grammar_limits *limits,
                                  struct power_grammar **out, power_error *error) {
    struct power_grammar *g = power_alloc(allocator, 1, sizeof *g);
    if (!g) return power_fail_memory(error, sizeof *g, "a grammar");
    size_t max_bytes = limits && limits->max_bytes ? limits->max_bytes : DEFAULT_MAX_BYTES;
    g->allocator = allocator;
    g->max_nodes = limits && limits->max_nodes ? limits->max_nodes : DEFAULT_MAX_NODES;
    power_arena_init(&g->arena, allocator, max_bytes);
    g->space = (struct power_regular_space){.arena = &g->arena};
    if (!POWER_GRAMMAR_ROOM(g, exprs)) {
        power_status status = power_fail(error, g->status, "%s", g->error.message);
        power_grammar_destroy(g);
        return status;
    }
    g->n_exprs = 1;
    *out = g;
    return POWER_OK;
}

void power_grammar_destroy(struct power_grammar *grammar) {
    if (!grammar) return;
    power_arena_finish(&grammar->arena);
    power_release(grammar->allocator, grammar, 1, sizeof *grammar);
}

const struct power_regular_space *power_grammar_space(struct power_grammar *grammar) {
    return &grammar->space;
}

bool power_grammar_fail(struct power_grammar *g, power_status status, const char *format, ...) {
    if (g->status != POWER_OK) return false;
    char message[sizeof g->error.message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    g->status = power_fail(&g->error, status, "%s", message);
    return false;
}

bool power_grammar_no_memory(struct power_grammar *g) {
    return power_grammar_fail(g, POWER_NO_MEMORY, "no memory for a grammar");
}

void *power_grammar_alloc(struct power_grammar *g, size_t count, size_t size) {
    void *memory = power_arena_alloc(&g->arena, count, size);
    size_t bytes, rounded, left = g->arena.max_bytes - g->arena.used_bytes;
    if (memory) return memory;
    if (power_mul_size(count, size, &bytes) && power_align_size(bytes, 16, &rounded) &&
        rounded <= left) {
        power_grammar_no_memory(g);
    } else {
        power_grammar_fail(g, POWER_LIMIT, "the grammar needs more than its limit of %zu bytes",
                           g->arena.max_bytes);
    }
    return NULL;
}

void *power_grammar_room(struct power_grammar *g, void *items, uint32_t *room, uint32_t count,
                         size_t size) {
    if (count < *room || g->status != POWER_OK) return items;
    if (count > UINT32_MAX / 4) {
        power_grammar_fail(g, POWER_LIMIT, "the grammar has more than %u parts", count);
        return items;
    }
    uint32_t more = *room ? *room * 2 : FIRST_ROOM;
    void *grown = power_grammar_alloc(g, more, size);
    if (!grown) return items;
    if (count) memcpy(grown, items, (size_t)count * size);
    *room = more;
    return grown;
}

static power_expr add_expr(struct power_grammar *g, struct power_expr_node node) {
    if (g->status != POWER_OK) return 0;
    if (g->frozen) {
        power_grammar_fail(g, POWER_STATE, "the grammar is frozen");
        return 0;
    }
    if (g->n_exprs >= g->max_nodes) {
        power_grammar_fail(g, POWER_LIMIT, "the grammar has more than %u expressions",
                           g->max_nodes);
        return 0;
    }
    if (!POWER_GRAMMAR_ROOM(g, exprs)) return 0;
    node.callable = POWER_NO_INDEX;
    g->exprs[g->n_exprs] = node;
    return g->n_exprs++;
}

static bool valid(struct power_grammar *g, power_expr e) {
    if (g->status != POWER_OK) return false;
    if (e == 0 || e >= g->n_exprs) {
        return power_grammar_fail(g, POWER_INVALID, "expression %u is not of this grammar", e);
    }
    return true;
}

power_expr power_grammar_nothing(struct power_grammar *g) {
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_NOTHING});
}

power_expr power_grammar_empty(struct power_grammar *g) {
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_EMPTY});
}

uint32_t power_grammar_set(struct power_grammar *g, const uint64_t set[4]) {
    uint32_t oldest = g->n_sets > SETS_LOOKED_AT ? g->n_sets - SETS_LOOKED_AT : 0;
    for (uint32_t i = g->n_sets; i > oldest; i--) {
        if (memcmp(g->sets[i - 1], set, sizeof g->sets[0]) == 0) return i - 1;
    }
    if (!POWER_GRAMMAR_ROOM(g, sets)) return POWER_NO_INDEX;
    memcpy(g->sets[g->n_sets], set, sizeof g->sets[0]);
    return g->n_sets++;
}

power_expr power_grammar_bytes(struct power_grammar *g, const uint64_t set[4]) {
    if (g->status != POWER_OK) return 0;
    if ((set[0] | set[1] | set[2] | set[3]) == 0) return power_grammar_nothing(g);
    uint32_t index = power_grammar_set(g, set);
    if (index == POWER_NO_INDEX) return 0;
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_BYTES, .first = index});
}

/* Copies bytes; their place goes to *out. */
static bool add_bytes(struct power_grammar *g, struct power_text text, uint32_t *out) {
    if (text.length > UINT32_MAX / 4 - g->n_bytes) {
        return power_grammar_fail(g, POWER_LIMIT, "the grammar's literals exceed %u bytes",
                                  UINT32_MAX / 4);
    }
    uint32_t length = (uint32_t)text.length, end = g->n_bytes + length;
    if (end > g->bytes_room) {
        char *grown = power_grammar_alloc(g, (size_t)end * 2, 1);
        if (!grown) return false;
        if (g->n_bytes) memcpy(grown, g->bytes, g->n_bytes);
        g->bytes = grown;
        g->bytes_room = end * 2;
    }
    if (length) memcpy(g->bytes + g->n_bytes, text.bytes, length);
    *out = g->n_bytes;
    g->n_bytes = end;
    return true;
}

power_expr power_grammar_literal(struct power_grammar *g, struct power_text text) {
    uint32_t first = 0;
    if (g->status != POWER_OK) return 0;
    if (text.length == 0) return power_grammar_empty(g);
    if (!add_bytes(g, text, &first)) return 0;
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_LITERAL,
                                                .first = first,
                                                .count = (uint32_t)text.length});
}

static uint32_t add_regular(struct power_grammar *g, const struct power_regular *language,
                            enum power_encoding encoding) {
    if (!POWER_GRAMMAR_ROOM(g, regulars)) return POWER_NO_INDEX;
    g->regulars[g->n_regulars] =
        (struct power_program_regular){.language = *language, .encoding = encoding};
    return g->n_regulars++;
}

power_expr power_grammar_regular(struct power_grammar *g, const struct power_regular *language,
                                 enum power_encoding encoding) {
    if (g->status != POWER_OK) return 0;
    if (language->n_states == 0) return power_grammar_nothing(g);
    uint32_t index = add_regular(g, language, encoding);
    if (index == POWER_NO_INDEX) return 0;
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_REGULAR, .first = index});
}

static power_expr add_list(struct power_grammar *g, enum power_expr_kind kind,
                           const power_expr *parts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!valid(g, parts[i])) return 0;
    }
    if (n > g->max_nodes) {
        power_grammar_fail(g, POWER_LIMIT, "an expression has %zu parts, limit %u", n,
                           g->max_nodes);
        return 0;
    }
    uint32_t first = g->n_lists;
    for (size_t i = 0; i < n; i++) {
        if (!POWER_GRAMMAR_ROOM(g, lists)) return 0;
        g->lists[g->n_lists++] = parts[i];
    }
    return add_expr(g, (struct power_expr_node){
                           .kind = (unsigned char)kind, .first = first, .count = (uint32_t)n});
}

power_expr power_grammar_sequence(struct power_grammar *g, const power_expr *parts, size_t n) {
    if (g->status != POWER_OK) return 0;
    if (n == 0) return power_grammar_empty(g);
    if (n == 1) return valid(g, parts[0]) ? parts[0] : 0;
    return add_list(g, POWER_EXPR_SEQUENCE, parts, n);
}

power_expr power_grammar_choice(struct power_grammar *g, const power_expr *parts, size_t n) {
    if (g->status != POWER_OK) return 0;
    if (n == 0) return power_grammar_nothing(g);
    if (n == 1) return valid(g, parts[0]) ? parts[0] : 0;
    return add_list(g, POWER_EXPR_CHOICE, parts, n);
}

/* A counted automaton of one code point becomes one automaton while that is small: then what tokens
 * do inside it need not be looked at for each count (mask.c). 0 where it stays a counter. */
static power_expr repeat_regular(struct power_grammar *g, power_expr part, uint32_t min,
                                 uint32_t max) {
    const struct power_expr_node *e = &g->exprs[part];
    if (e->kind != POWER_EXPR_REGULAR || max > MAX_UNROLLED || max < 2) return 0;
    struct power_program_regular body = g->regulars[e->first];
    if (body.language.n_states != 2 || body.language.states[0].accepts ||
        body.language.states[1].n_edges) {
        return 0;
    }
    struct power_regular language;
    power_error error;
    if (power_regular_repeat(&g->space, &body.language, min, max, &language, &error) != POWER_OK) {
        return 0;
    }
    return power_grammar_regular(g, &language, body.encoding);
}

power_expr power_grammar_repeat(struct power_grammar *g, power_expr part, uint32_t min,
                                uint32_t max) {
    if (!valid(g, part)) return 0;
    if (min > max) return power_grammar_nothing(g);
    if (max == 0) return power_grammar_empty(g);
    if (min == 1 && max == 1) return part;
    power_expr unrolled = repeat_regular(g, part, min, max);
    if (unrolled || g->status != POWER_OK) return unrolled;
    return add_expr(g, (struct power_expr_node){
                           .kind = POWER_EXPR_REPEAT, .body = part, .min = min, .max = max});
}

power_expr power_grammar_rule(struct power_grammar *g, struct power_text name) {
    uint32_t first = 0;
    if (g->status != POWER_OK || !add_bytes(g, name, &first)) return 0;
    return add_expr(g, (struct power_expr_node){.kind = POWER_EXPR_RULE,
                                                .first = first,
                                                .count = (uint32_t)name.length,
                                                .called = true});
}

void power_grammar_define(struct power_grammar *g, power_expr rule, power_expr body) {
    if (!valid(g, rule) || !valid(g, body)) return;
    struct power_expr_node *node = &g->exprs[rule];
    struct power_quoted name = power_quote(g->bytes + node->first, node->count);
    if (node->kind != POWER_EXPR_RULE) {
        power_grammar_fail(g, POWER_INVALID, "expression %u is not a rule", rule);
    } else if (node->body) {
        power_grammar_fail(g, POWER_INVALID, "rule \"%s\" is defined twice", name.text);
    } else {
        node->body = body;
    }
}

/* ---- members ---- */

static bool copy_named(struct power_grammar *g, const struct power_members *given,
                       struct power_members *out) {
    struct power_named_member *named = power_grammar_alloc(g, given->n_named + 1, sizeof *named);
    if (!named) return false;
    for (size_t i = 0; i < given->n_named; i++) {
        named[i] = given->named[i];
        if (!valid(g, named[i].value) ||
            !power_grammar_spell_key(g, given->named[i].key, &named[i].key)) {
            return false;
        }
    }
    out->named = named;
    return true;
}

/* Classes without a key are left out. */
static bool copy_classes(struct power_grammar *g, const struct power_members *given,
                         struct power_members *out) {
    struct power_key_class *classes = power_grammar_alloc(g, given->n_classes + 1, sizeof *classes);
    if (!classes) return false;
    out->classes = classes;
    out->n_classes = 0;
    for (size_t i = 0; i < given->n_classes; i++) {
        const struct power_regular *keys = given->classes[i].keys;
        if (!valid(g, given->classes[i].value)) return false;
        if (keys->n_states == 0) continue;
        uint32_t regular = add_regular(g, keys, POWER_AS_JSON_CANONICAL);
        if (regular == POWER_NO_INDEX) return false;
        uint64_t *counts = power_grammar_alloc(g, keys->n_states, sizeof *counts);
        if (!counts) return false;
        power_error error;
        power_status status = power_regular_count(&g->space, keys, counts, &error);
        if (status != POWER_OK) return power_grammar_fail(g, status, "%s", error.message);
        g->regulars[regular].counts = counts;
        classes[out->n_classes++] = given->classes[i];
    }
    return true;
}

power_expr power_grammar_members(struct power_grammar *g, const struct power_members *members) {
    if (!valid(g, members->colon) || !valid(g, members->comma)) return 0;
    if (members->n_named > g->max_nodes || members->n_classes > g->max_nodes) {
        power_grammar_fail(g, POWER_LIMIT, "an object has more than %u members", g->max_nodes);
        return 0;
    }
    struct power_stored_members stored = {.given = *members, .first_regular = g->n_regulars};
    if (!copy_named(g, members, &stored.given) || !copy_classes(g, members, &stored.given) ||
        !POWER_GRAMMAR_ROOM(g, members)) {
        return 0;
    }
    g->members[g->n_members] = stored;
    return add_expr(g,
                    (struct power_expr_node){.kind = POWER_EXPR_MEMBERS, .first = g->n_members++});
}

/* ---- freezing ---- */

power_status power_grammar_freeze(struct power_grammar *g, power_expr root, power_error *error) {
    if (valid(g, root) && g->frozen) {
        power_grammar_fail(g, POWER_STATE, "the grammar is frozen already");
    }
    if (g->status == POWER_OK && power_grammar_analyse(g, root)) power_grammar_lower(g, root);
    if (g->status != POWER_OK) {
        if (error) *error = g->error;
        return g->status;
    }
    g->frozen = true;
    return POWER_OK;
}
