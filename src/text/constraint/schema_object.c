/* SPDX-License-Identifier: MIT */
/* Alternatives of objects: intersection, difference, emptiness.
 * Input: shapes, borrowed. Output: new shapes in the arena.
 * Threads: one a compilation.
 * Bounds: SCHEMA_MAX_CLASSES of keys; a difference spells out at most SCHEMA_SPAN keys of a class.
 */
#include "text/constraint/schema.h"

static uint32_t class_node(const struct schema *s, const struct schema_object *o, uint32_t key) {
    for (uint32_t i = 0; i < o->n_classes; i++)
        if (power_schema_has_key(s, o->classes[i].keys, key)) return o->classes[i].node;
    return NODE_NEVER;
}

uint32_t power_schema_member_node(struct schema *s, const struct schema_object *o, uint32_t key) {
    for (uint32_t i = 0; i < o->n_members; i++)
        if (o->members[i].key == key) return o->members[i].node;
    return class_node(s, o, key);
}

bool power_schema_set_member(struct schema *s, struct schema_object *o, uint32_t key, uint32_t node,
                             bool required) {
    if (!power_schema_work(s, (uint64_t)o->n_members + 1)) return false;
    struct schema_member *members =
        power_schema_alloc(s, (size_t)o->n_members + 1, sizeof *members);
    if (!members) return false;
    if (o->n_members) memcpy(members, o->members, o->n_members * sizeof *members);
    o->members = members;
    uint32_t i = 0;
    while (i < o->n_members && members[i].key != key)
        i++;
    required = required || (i < o->n_members && members[i].required);
    if (i == o->n_members) o->n_members++;
    members[i] = (struct schema_member){key, node, required};
    return true;
}

/* Adds the members of `from` to `out` (whose members are marked), merged with what `other` says. */
static bool meet_members(struct schema *s, const struct schema_object *from,
                         const struct schema_object *other, struct schema_object *out) {
    for (uint32_t i = 0; i < from->n_members; i++) {
        const struct schema_member *m = &from->members[i];
        uint32_t at = s->key_marks[m->key];
        if (at == 0) {
            out->members[out->n_members++] = *m;
            s->key_marks[m->key] = out->n_members;
            if (!other) continue;
            at = out->n_members;
            out->members[at - 1].node = power_schema_both(s, m->node, class_node(s, other, m->key));
        } else {
            struct schema_member *old = &out->members[at - 1];
            old->required = old->required || m->required;
            old->node = power_schema_both(s, old->node, m->node);
        }
        if (!out->members[at - 1].node) return false;
    }
    return true;
}

/* Members of a that b does not name still have to suit b's classes. */
static bool meet_unnamed(struct schema *s, const struct schema_object *a,
                         const struct schema_object *b, struct schema_object *out) {
    for (uint32_t i = 0; i < b->n_members; i++)
        s->key_marks[b->members[i].key] = 0;
    bool good = true;
    for (uint32_t i = 0; i < a->n_members && good; i++) {
        struct schema_member *m = &out->members[i];
        if (s->key_marks[m->key] == 0) continue; /* named by both */
        m->node = power_schema_both(s, m->node, class_node(s, b, m->key));
        good = m->node != NODE_NONE;
    }
    for (uint32_t i = 0; i < out->n_members; i++)
        s->key_marks[out->members[i].key] = 0;
    return good;
}

static bool add_class(struct schema *s, struct schema_object *out, const struct power_regular *keys,
                      uint32_t node) {
    if (!keys || !node) return false;
    if (keys->n_states == 0 || node == NODE_NEVER) return true;
    for (uint32_t i = 0; i < out->n_classes; i++) {
        if (out->classes[i].node != node) continue;
        out->classes[i].keys = power_schema_or(s, out->classes[i].keys, keys);
        return out->classes[i].keys != NULL;
    }
    if (out->n_classes == SCHEMA_MAX_CLASSES)
        return power_schema_fail(s, POWER_LIMIT, s->blame, "needs more than 256 classes of keys");
    out->classes[out->n_classes++] = (struct schema_class){keys, node};
    return true;
}

static bool meet_classes(struct schema *s, const struct schema_object *a,
                         const struct schema_object *b, struct schema_object *out) {
    size_t most = (size_t)a->n_classes * b->n_classes;
    if (most > SCHEMA_MAX_CLASSES) most = SCHEMA_MAX_CLASSES;
    out->classes = power_schema_alloc(s, most, sizeof *out->classes);
    if (!out->classes) return false;
    for (uint32_t i = 0; i < a->n_classes; i++) {
        for (uint32_t k = 0; k < b->n_classes; k++) {
            uint32_t node = power_schema_both(s, a->classes[i].node, b->classes[k].node);
            if (node == NODE_NEVER) continue;
            const struct power_regular *keys =
                power_schema_and(s, a->classes[i].keys, b->classes[k].keys);
            if (!power_schema_work(s, 16) || !add_class(s, out, keys, node)) return false;
        }
    }
    return true;
}

bool power_schema_objects_meet(struct schema *s, const struct schema_object *a,
                               const struct schema_object *b, struct schema_object *out) {
    uint64_t n = (uint64_t)a->n_members + b->n_members;
    if (!power_schema_work(s, n + 1)) return false;
    *out = (struct schema_object){0};
    out->min = a->min > b->min ? a->min : b->min;
    out->max = a->max < b->max ? a->max : b->max;
    out->members = power_schema_alloc(s, (size_t)n, sizeof *out->members);
    if (!out->members) return false;
    bool good = meet_members(s, a, NULL, out) && meet_members(s, b, a, out);
    good = meet_unnamed(s, a, b, out) && good;
    return good && meet_classes(s, a, b, out);
}

static bool add(struct schema *s, struct schema_form *out, const struct schema_object *o) {
    return power_schema_object_hopeless(s, o, 0) || power_schema_add_object(s, out, o);
}

/* Objects of a that have the key with a value that is not of `node`. */
static bool member_differs(struct schema *s, struct schema_form *out, const struct schema_object *a,
                           uint32_t key, uint32_t node) {
    uint32_t not = power_schema_not(s, node);
    if (not == NODE_NEVER) return true;
    uint32_t both = power_schema_both(s, power_schema_member_node(s, a, key), not );
    struct schema_object piece = *a;
    if (!both) return false;
    if (both == NODE_NEVER) return true;
    return power_schema_set_member(s, &piece, key, both, true) && add(s, out, &piece);
}

static bool member_missing(struct schema *s, struct schema_form *out, const struct schema_object *a,
                           uint32_t key) {
    struct schema_object piece = *a;
    for (uint32_t i = 0; i < a->n_members; i++)
        if (a->members[i].key == key && a->members[i].required) return true;
    return power_schema_set_member(s, &piece, key, NODE_NEVER, false) && add(s, out, &piece);
}

/* Spells out a small class: one alternative for each of its keys. */
static bool keys_differ(struct schema *s, struct schema_form *out, const struct schema_object *a,
                        const struct power_regular *keys, uint64_t n, uint32_t node) {
    for (uint64_t i = 0; i < n; i++) {
        struct power_text text;
        uint32_t key;
        if (!power_schema_text_at(s, keys, i, &text) || !power_schema_key(s, text, &key))
            return false;
        if (s->key_marks[key] == 0 && !member_differs(s, out, a, key, node)) return false;
    }
    return true;
}

/* Objects of a with a member outside of b's names whose key is in `keys` and whose value is not of
 * `node`. */
static bool class_differs(struct schema *s, struct schema_form *out, const struct schema_object *a,
                          const struct schema_object *b, const struct power_regular *keys,
                          uint32_t node) {
    if (node == NODE_ANY || !keys) return keys != NULL;
    for (uint32_t i = 0; i < a->n_members; i++) {
        uint32_t key = a->members[i].key;
        if (s->key_marks[key] != 0 || !power_schema_has_key(s, keys, key)) continue;
        if (!member_differs(s, out, a, key, node)) return false;
    }
    for (uint32_t i = 0; i < a->n_classes; i++) {
        uint32_t not = power_schema_not(s, node);
        uint32_t both = power_schema_both(s, a->classes[i].node, not );
        const struct power_regular *common = power_schema_and(s, a->classes[i].keys, keys);
        if (!both || !common) return false;
        if (both == NODE_NEVER || common->n_states == 0) continue;
        uint64_t n;
        if (!power_schema_size(s, common, &n)) return false;
        if (n <= SCHEMA_SPAN) {
            if (!keys_differ(s, out, a, common, n, node)) return false;
            continue;
        }
        bool whole =
            node == NODE_NEVER && a->n_members == 0 && b->n_members == 0 && keys == s->all_texts;
        if (!whole)
            return power_schema_fail(s, POWER_UNSUPPORTED, s->blame,
                                     "needs an exclusion of objects that cannot be expressed");
        struct schema_object piece = *a; /* some member, whichever */
        if (piece.min == 0) piece.min = 1;
        return add(s, out, &piece);
    }
    return true;
}

static bool classes_differ(struct schema *s, struct schema_form *out, const struct schema_object *a,
                           const struct schema_object *b) {
    const struct power_regular *others = s->all_texts;
    for (uint32_t i = 0; i < b->n_classes; i++) {
        const struct schema_class *c = &b->classes[i];
        if (!class_differs(s, out, a, b, c->keys, c->node)) return false;
        others = power_schema_minus(s, others, c->keys);
    }
    return class_differs(s, out, a, b, others, NODE_NEVER);
}

bool power_schema_object_without(struct schema *s, struct schema_form *out,
                                 const struct schema_object *a, const struct schema_object *b) {
    struct schema_object piece = *a;
    if (b->min > 0) {
        if (piece.max >= b->min) piece.max = b->min - 1;
        if (!add(s, out, &piece)) return false;
    }
    if (b->max != SCHEMA_MANY) {
        piece = *a;
        if (piece.min <= b->max) piece.min = b->max + 1;
        if (!add(s, out, &piece)) return false;
    }
    for (uint32_t i = 0; i < b->n_members; i++) {
        const struct schema_member *m = &b->members[i];
        if (m->required && !member_missing(s, out, a, m->key)) return false;
        if (!member_differs(s, out, a, m->key, m->node)) return false;
    }
    for (uint32_t i = 0; i < b->n_members; i++)
        s->key_marks[b->members[i].key] = 1;
    bool good = classes_differ(s, out, a, b);
    for (uint32_t i = 0; i < b->n_members; i++)
        s->key_marks[b->members[i].key] = 0;
    return good;
}

bool power_schema_object_hopeless(struct schema *s, const struct schema_object *o, uint32_t depth) {
    if (o->min > o->max || (o->n_classes == 0 && o->min > o->n_members)) return true;
    uint32_t required = 0;
    for (uint32_t i = 0; i < o->n_members; i++) {
        if (!o->members[i].required) continue;
        if (power_schema_node_hopeless(s, o->members[i].node, depth) || ++required > o->max)
            return true;
    }
    return false;
}
