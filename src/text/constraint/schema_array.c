/* SPDX-License-Identifier: MIT */
/* Alternatives of arrays: intersection, difference, emptiness.
 * Input: shapes, borrowed. Output: new shapes in the arena.
 * Threads: one a compilation.
 * Bounds: prefixes as long as the schema's; a difference spells out at most SCHEMA_SPAN places. */
#include "text/constraint/schema.h"

uint32_t power_schema_item_node(const struct schema_array *a, uint32_t i) {
    return i < a->n_prefix ? a->prefix[i] : a->rest;
}

bool power_schema_arrays_meet(struct schema *s, const struct schema_array *a,
                              const struct schema_array *b, struct schema_array *out) {
    uint32_t n = a->n_prefix > b->n_prefix ? a->n_prefix : b->n_prefix;
    if (!power_schema_work(s, (uint64_t)n + 1)) return false;
    *out = (struct schema_array){.n_prefix = n};
    out->min = a->min > b->min ? a->min : b->min;
    out->max = a->max < b->max ? a->max : b->max;
    out->contains = a->contains ? a->contains : b->contains;
    if (a->contains && b->contains && a->contains != b->contains)
        return power_schema_fail(s, POWER_UNSUPPORTED, power_schema_place(s, b->contains),
                                 "two different \"contains\" in one array cannot be enforced");
    out->rest = power_schema_both(s, a->rest, b->rest);
    out->prefix = n ? power_schema_alloc(s, n, sizeof *out->prefix) : NULL;
    if (!out->rest || (n && !out->prefix)) return false;
    for (uint32_t i = 0; i < n; i++) {
        out->prefix[i] =
            power_schema_both(s, power_schema_item_node(a, i), power_schema_item_node(b, i));
        if (!out->prefix[i]) return false;
    }
    return true;
}

/* A copy whose prefix has at least n places. */
static bool spell_out(struct schema *s, const struct schema_array *a, uint32_t n,
                      struct schema_array *out) {
    *out = *a;
    if (n < a->n_prefix) n = a->n_prefix;
    if (!power_schema_work(s, (uint64_t)n + 1)) return false;
    out->n_prefix = n;
    out->prefix = power_schema_alloc(s, n, sizeof *out->prefix);
    for (uint32_t i = 0; i < n && out->prefix; i++)
        out->prefix[i] = power_schema_item_node(a, i);
    return out->prefix != NULL;
}

static bool add(struct schema *s, struct schema_form *out, const struct schema_array *a) {
    return power_schema_array_hopeless(s, a, 0) || power_schema_add_array(s, out, a);
}

/* Arrays of a whose item i is there and not of `node`. */
static bool item_differs(struct schema *s, struct schema_form *out, const struct schema_array *a,
                         uint32_t i, uint32_t node) {
    struct schema_array piece;
    uint32_t not = power_schema_not(s, node);
    if (not == NODE_NEVER) return true;
    if (!not || !spell_out(s, a, i + 1, &piece)) return false;
    piece.prefix[i] = power_schema_both(s, piece.prefix[i], not );
    if (piece.min < i + 1) piece.min = i + 1;
    return piece.prefix[i] && add(s, out, &piece);
}

static bool rest_differs(struct schema *s, struct schema_form *out, const struct schema_array *a,
                         const struct schema_array *b) {
    if (b->rest == NODE_ANY) return true;
    if (b->rest == NODE_NEVER) {
        struct schema_array piece = *a;
        if (piece.min <= b->n_prefix) piece.min = b->n_prefix + 1;
        return add(s, out, &piece);
    }
    if (a->max <= SCHEMA_SPAN) {
        for (uint32_t i = b->n_prefix; i < a->max; i++)
            if (!item_differs(s, out, a, i, b->rest)) return false;
        return true;
    }
    if (b->n_prefix > 0 || a->contains)
        return power_schema_fail(s, POWER_UNSUPPORTED, s->blame,
                                 "needs an exclusion of arrays that cannot be expressed");
    struct schema_array piece = *a;
    piece.contains = power_schema_not(s, b->rest);
    return piece.contains && add(s, out, &piece);
}

static bool nothing_contained(struct schema *s, struct schema_form *out,
                              const struct schema_array *a, const struct schema_array *b) {
    struct schema_array none = {.rest = power_schema_not(s, b->contains), .max = SCHEMA_MANY};
    struct schema_array piece;
    return none.rest && power_schema_arrays_meet(s, a, &none, &piece) && add(s, out, &piece);
}

bool power_schema_array_without(struct schema *s, struct schema_form *out,
                                const struct schema_array *a, const struct schema_array *b) {
    struct schema_array piece = *a;
    if (b->min > 0) {
        if (piece.max >= b->min) piece.max = b->min - 1;
        if (!add(s, out, &piece)) return false;
    }
    if (b->max != SCHEMA_MANY) {
        piece = *a;
        if (piece.min <= b->max) piece.min = b->max + 1;
        if (!add(s, out, &piece)) return false;
    }
    for (uint32_t i = 0; i < b->n_prefix && i < a->max; i++)
        if (!item_differs(s, out, a, i, b->prefix[i])) return false;
    if (b->contains && !nothing_contained(s, out, a, b)) return false;
    return rest_differs(s, out, a, b);
}

bool power_schema_array_hopeless(struct schema *s, const struct schema_array *a, uint32_t depth) {
    if (a->min > a->max || (a->contains && a->max == 0)) return true;
    for (uint32_t i = 0; i < a->n_prefix && i < a->min; i++)
        if (power_schema_node_hopeless(s, a->prefix[i], depth)) return true;
    return a->min > a->n_prefix && power_schema_node_hopeless(s, a->rest, depth);
}
