/* SPDX-License-Identifier: MIT */
/* Nodes: sets of values named by their meaning, each made once.
 * Input: values of the document and other nodes. Output: node numbers, and forms on demand.
 * Threads: one a compilation.
 * Bounds: SCHEMA_MAX_NODES; a form may need forms of others SCHEMA_MAX_DEPTH deep. */
#include <stdlib.h>

#include "text/constraint/schema.h"

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_node(const struct schema_node *node) {
    uint64_t hash = mix(node->kind, node->at);
    for (uint32_t i = 0; node->parts && i < node->at; i++)
        hash = mix(hash, node->parts[i]);
    return hash;
}

static bool same(const struct schema_node *a, const struct schema_node *b) {
    if (a->kind != b->kind || a->at != b->at) return false;
    return !a->parts || memcmp(a->parts, b->parts, a->at * sizeof *a->parts) == 0;
}

static void put_slot(struct schema *s, uint32_t number) {
    uint64_t slot = hash_node(&s->nodes[number]);
    while (s->slots[slot & (s->n_slots - 1)] != 0)
        slot++;
    s->slots[slot & (s->n_slots - 1)] = number;
}

static bool grow_slots(struct schema *s) {
    if (s->n_nodes * 2 < s->n_slots) return true;
    uint32_t n = s->n_slots ? s->n_slots * 2 : 256;
    uint32_t *slots = power_alloc(s->allocator, n, sizeof *slots);
    if (!slots) return power_schema_memory(s);
    power_release(s->allocator, s->slots, s->n_slots, sizeof *s->slots);
    s->slots = slots;
    s->n_slots = n;
    for (uint32_t i = NODE_NEVER + 1; i < s->n_nodes; i++)
        put_slot(s, i);
    return true;
}

static uint32_t intern(struct schema *s, const struct schema_node *wanted) {
    if (s->n_slots) {
        uint64_t slot = hash_node(wanted);
        for (; s->slots[slot & (s->n_slots - 1)] != 0; slot++) {
            uint32_t found = s->slots[slot & (s->n_slots - 1)];
            if (same(&s->nodes[found], wanted)) return found;
        }
    }
    if (s->n_nodes == SCHEMA_MAX_NODES) {
        (void)power_schema_fail(s, POWER_LIMIT, s->blame, "merging needs too many schemas");
        return 0;
    }
    if (!power_schema_grow(s, (void **)&s->nodes, &s->max_nodes, s->n_nodes + 3, sizeof *s->nodes))
        return 0;
    if (s->n_nodes == 0) {
        s->nodes[NODE_NONE].kind = KIND_NEVER;
        s->nodes[NODE_ANY].kind = KIND_ANY;
        s->nodes[NODE_NEVER].kind = KIND_NEVER;
        s->n_nodes = 3;
    }
    if (!grow_slots(s)) return 0;
    uint32_t number = s->n_nodes++;
    s->nodes[number] = *wanted;
    put_slot(s, number);
    return number;
}

uint32_t power_schema_node(struct schema *s, uint32_t value) {
    if (power_schema_is_free(s, value)) return NODE_ANY;
    if (s->values[value].type == SCHEMA_FALSE) return NODE_NEVER;
    if (s->values[value].type != SCHEMA_OBJECT) {
        (void)power_schema_fail(s, POWER_INVALID, value, "a schema is an object, true or false");
        return 0;
    }
    struct schema_node node = {.kind = KIND_SCHEMA, .at = value};
    return intern(s, &node);
}

uint32_t power_schema_value_node(struct schema *s, uint32_t value) {
    struct schema_node node = {.kind = KIND_VALUE, .at = value};
    return intern(s, &node);
}

uint32_t power_schema_not(struct schema *s, uint32_t node) {
    if (node == NODE_NONE) return NODE_NONE;
    if (node == NODE_ANY) return NODE_NEVER;
    if (node == NODE_NEVER) return NODE_ANY;
    if (s->nodes[node].kind == KIND_NOT) return s->nodes[node].at;
    struct schema_node not = {.kind = KIND_NOT, .at = node, .blame = s->blame};
    return intern(s, &not );
}

static uint32_t list_parts(const struct schema *s, uint32_t node, uint32_t *out) {
    const struct schema_node *n = &s->nodes[node];
    if (n->kind != KIND_ALL) {
        out[0] = node;
        return 1;
    }
    memcpy(out, n->parts, n->at * sizeof *out);
    return n->at;
}

static uint32_t n_parts(const struct schema *s, uint32_t node) {
    return s->nodes[node].kind == KIND_ALL ? s->nodes[node].at : 1;
}

static bool listed(const uint32_t *sorted, uint32_t n, uint32_t wanted) {
    uint32_t low = 0;
    while (n > 0) {
        uint32_t half = n / 2;
        if (sorted[low + half] < wanted) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return sorted[low] == wanted;
}

/* Merges two sorted lists without repeats; the end of `out` is a guard for `listed`. */
static uint32_t merge(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b,
                      uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < n_a || k < n_b;) {
        uint32_t next = k == n_b || (i < n_a && a[i] <= b[k]) ? a[i] : b[k];
        i += i < n_a && a[i] == next;
        k += k < n_b && b[k] == next;
        out[n++] = next;
    }
    out[n] = SCHEMA_NONE;
    return n;
}

uint32_t power_schema_both(struct schema *s, uint32_t a, uint32_t b) {
    if (a == NODE_NONE || b == NODE_NONE) return NODE_NONE;
    if (a == b || b == NODE_ANY || a == NODE_NEVER) return a;
    if (a == NODE_ANY || b == NODE_NEVER) return b;
    uint32_t n_a = n_parts(s, a), n_b = n_parts(s, b);
    if (!power_schema_work(s, n_a + n_b)) return NODE_NONE;
    uint32_t *left = power_schema_alloc(s, (size_t)2 * (n_a + n_b) + 1, sizeof *left);
    if (!left) return NODE_NONE;
    uint32_t *right = left + n_a, *all = right + n_b;
    (void)list_parts(s, a, left);
    (void)list_parts(s, b, right);
    uint32_t n = merge(left, n_a, right, n_b, all);
    for (uint32_t i = 0; i < n; i++) {
        const struct schema_node *part = &s->nodes[all[i]];
        if (part->kind == KIND_NOT && listed(all, n, part->at)) return NODE_NEVER;
    }
    struct schema_node node = {.kind = KIND_ALL, .at = n, .parts = all};
    return n == 1 ? all[0] : intern(s, &node);
}

uint32_t power_schema_place(const struct schema *s, uint32_t node) {
    while (s->nodes[node].kind == KIND_ALL || s->nodes[node].kind == KIND_NOT) {
        const struct schema_node *n = &s->nodes[node];
        node = n->kind == KIND_ALL ? n->parts[0] : n->at;
    }
    enum schema_kind kind = s->nodes[node].kind;
    return kind == KIND_SCHEMA || kind == KIND_VALUE ? s->nodes[node].at : 0;
}

static const struct schema_form *make_all(struct schema *s, uint32_t node) {
    const uint32_t *parts = s->nodes[node].parts;
    uint32_t n = s->nodes[node].at;
    const struct schema_form *form = power_schema_form(s, parts[0]);
    for (uint32_t i = 1; i < n && form; i++) {
        const struct schema_form *next = power_schema_form(s, parts[i]);
        form = next ? power_schema_conjoin(s, form, next) : NULL;
    }
    return form;
}

static const struct schema_form *make_not(struct schema *s, uint32_t node) {
    uint32_t old = s->blame;
    const struct schema_form *form = power_schema_form(s, s->nodes[node].at);
    s->blame = s->nodes[node].blame;
    form = form ? power_schema_subtract(s, s->any, form) : NULL;
    if (form) s->blame = old;
    return form;
}

static const struct schema_form *make_form(struct schema *s, uint32_t node) {
    switch (s->nodes[node].kind) {
    case KIND_ANY:
        return s->any;
    case KIND_NEVER:
        return s->never;
    case KIND_SCHEMA:
        return power_schema_expand(s, s->nodes[node].at);
    case KIND_VALUE:
        return power_schema_of_value(s, s->nodes[node].at);
    case KIND_NOT:
        return make_not(s, node);
    case KIND_ALL:
        break;
    }
    return make_all(s, node);
}

bool power_schema_node_hopeless(struct schema *s, uint32_t node, uint32_t depth) {
    if (node == NODE_NEVER) return true;
    if (depth == 0 || node == NODE_ANY) return false;
    uint32_t old = s->blame;
    s->probing++;
    const struct schema_form *form = power_schema_form(s, node);
    bool hopeless = form && power_schema_hopeless(s, form, depth - 1);
    s->probing--;
    s->blame = old;
    return hopeless;
}

/* The reference that went round, where there is one. */
static uint32_t round_place(const struct schema *s, uint32_t node) {
    uint32_t place = power_schema_place(s, node), ref = power_schema_get(s, place, "$ref");
    return ref == SCHEMA_NONE ? place : ref;
}

const struct schema_form *power_schema_form(struct schema *s, uint32_t node) {
    if (node == NODE_NONE) return NULL;
    if (s->nodes[node].form) return s->nodes[node].form;
    if (s->probing && (s->nodes[node].busy || s->depth >= SCHEMA_MAX_DEPTH / 2)) return NULL;
    if (s->nodes[node].busy) {
        (void)power_schema_fail(s, POWER_INVALID, round_place(s, node),
                                "leads back to its own schema without a value between");
        return NULL;
    }
    if (s->depth == SCHEMA_MAX_DEPTH) {
        (void)power_schema_fail(s, POWER_LIMIT, power_schema_place(s, node),
                                "schemas are merged more than 96 deep");
        return NULL;
    }
    s->depth++;
    s->nodes[node].busy = true;
    uint32_t old = s->blame;
    s->blame = power_schema_place(s, node);
    const struct schema_form *form = make_form(s, node);
    if (form) s->blame = old;
    s->nodes[node].busy = false; /* by number: the list may have moved */
    s->nodes[node].form = form;
    s->depth--;
    return form;
}
