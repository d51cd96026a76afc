/* SPDX-License-Identifier: MIT */
/* Which nodes some value satisfies: the least fixed point over everything that the root needs.
 * Input: the root. Output: `inhabited` of every listed node, forms trimmed to what can be written.
 * Threads: one a compilation.
 * Bounds: the nodes listed; passes end when one changes nothing. */
#include "text/constraint/schema.h"

static bool list_node(struct schema *s, uint32_t node) {
    if (s->nodes[node].listed) return true;
    if (!power_schema_grow(s, (void **)&s->order, &s->max_order, s->n_order, sizeof *s->order))
        return false;
    s->nodes[node].listed = true;
    s->order[s->n_order++] = node;
    return true;
}

static bool list_array(struct schema *s, struct schema_array *a) {
    if (a->contains) {
        a->with = power_schema_alloc(s, (size_t)a->n_prefix + 1, sizeof *a->with);
        if (!a->with) return false;
    }
    for (uint32_t i = 0; i <= a->n_prefix; i++) {
        uint32_t node = power_schema_item_node(a, i);
        if (!list_node(s, node)) return false;
        if (!a->contains) continue;
        a->with[i] = power_schema_both(s, node, a->contains);
        if (!a->with[i] || !list_node(s, a->with[i])) return false;
    }
    return true;
}

/* What the classes leave when the members' keys are taken out. */
static bool list_object(struct schema *s, struct schema_object *o) {
    struct power_text *texts = power_schema_alloc(s, o->n_members, sizeof *texts);
    o->allowed = power_schema_alloc(s, o->n_classes, sizeof *o->allowed);
    o->counts = power_schema_alloc(s, o->n_classes, sizeof *o->counts);
    if (!texts || !o->allowed || !o->counts) return false;
    for (uint32_t i = 0; i < o->n_members; i++) {
        texts[i] = s->key_texts[o->members[i].key];
        if (!list_node(s, o->members[i].node)) return false;
    }
    const struct power_regular *names = s->no_text;
    if (o->n_classes > 0) names = power_schema_literals(s, texts, o->n_members);
    for (uint32_t i = 0; i < o->n_classes; i++) {
        o->allowed[i] = power_schema_minus(s, o->classes[i].keys, names);
        if (!o->allowed[i] || !power_schema_size(s, o->allowed[i], &o->counts[i])) return false;
        if (!list_node(s, o->classes[i].node)) return false;
    }
    return true;
}

static bool list_children(struct schema *s, uint32_t node) {
    s->blame = power_schema_place(s, node);
    const struct schema_form *form = power_schema_form(s, node);
    if (!form) return false;
    if (node == NODE_ANY || node == NODE_NEVER) return true;
    struct schema_form *own = power_schema_new(s, form); /* shapes may be shared: copied */
    if (!own) return false;
    own->arrays = power_schema_alloc(s, form->n_arrays, sizeof *own->arrays);
    own->objects = power_schema_alloc(s, form->n_objects, sizeof *own->objects);
    if (!own->arrays || !own->objects) return false;
    if (form->strings.language) {
        uint32_t max = power_schema_get(s, s->blame, "maxLength");
        if (max != SCHEMA_NONE) s->blame = max; /* what makes an automaton long */
        const struct power_regular *strings = power_schema_strings(s, form->strings);
        own->strings = (struct schema_strings){strings, 0, SCHEMA_MANY};
        if (!strings) return false;
    }
    for (uint32_t i = 0; i < form->n_arrays; i++) {
        own->arrays[i] = form->arrays[i];
        if (!list_array(s, &own->arrays[i])) return false;
    }
    for (uint32_t i = 0; i < form->n_objects; i++) {
        own->objects[i] = form->objects[i];
        if (!list_object(s, &own->objects[i])) return false;
    }
    s->nodes[node].form = own;
    return true;
}

bool power_schema_array_lives(const struct schema *s, const struct schema_array *a) {
    uint32_t length = 0;
    bool wish = a->contains == 0;
    if (a->min > a->max) return false;
    for (; length < a->n_prefix && length < a->max; length++) {
        if (!s->nodes[a->prefix[length]].inhabited) break;
        wish = wish || s->nodes[a->with[length]].inhabited;
    }
    if (length == a->n_prefix && length < a->max && s->nodes[a->rest].inhabited) {
        wish = wish || s->nodes[a->with[length]].inhabited;
        length = a->max;
    }
    return wish && length >= a->min;
}

bool power_schema_object_lives(const struct schema *s, const struct schema_object *o) {
    uint64_t possible = 0, required = 0;
    for (uint32_t i = 0; i < o->n_members; i++) {
        bool lives = s->nodes[o->members[i].node].inhabited;
        if (o->members[i].required && !lives) return false;
        required += o->members[i].required;
        possible += lives;
    }
    for (uint32_t i = 0; i < o->n_classes && possible < o->min; i++) {
        if (!s->nodes[o->classes[i].node].inhabited) continue;
        possible = o->counts[i] > UINT64_MAX - possible ? UINT64_MAX : possible + o->counts[i];
    }
    return o->min <= o->max && required <= o->max && possible >= o->min;
}

static bool lives(struct schema *s, uint32_t node) {
    const struct schema_form *form = s->nodes[node].form;
    if (node == NODE_ANY) return true;
    if (node == NODE_NEVER) return false;
    if (form->null || form->no || form->yes || form->numbers.yes->n_states > 0) return true;
    if (!power_schema_strings_empty(s, form->strings)) return true;
    for (uint32_t i = 0; i < form->n_arrays; i++)
        if (power_schema_array_lives(s, &form->arrays[i])) return true;
    for (uint32_t i = 0; i < form->n_objects; i++)
        if (power_schema_object_lives(s, &form->objects[i])) return true;
    return false;
}

/* A child of this node that cannot be, so that the node cannot be; NODE_NONE for none. */
static uint32_t guilty_child(const struct schema *s, uint32_t node) {
    const struct schema_form *form = s->nodes[node].form;
    for (uint32_t i = 0; form && i < form->n_objects; i++) {
        const struct schema_object *o = &form->objects[i];
        for (uint32_t k = 0; k < o->n_members; k++)
            if (o->members[k].required && !s->nodes[o->members[k].node].inhabited)
                return o->members[k].node;
    }
    for (uint32_t i = 0; form && i < form->n_arrays; i++) {
        const struct schema_array *a = &form->arrays[i];
        for (uint32_t k = 0; k < a->min && k <= a->n_prefix; k++) {
            uint32_t item = power_schema_item_node(a, k);
            if (!s->nodes[item].inhabited) return item;
        }
    }
    return NODE_NONE;
}

static bool blame_root(struct schema *s, uint32_t root) {
    uint32_t at = root, place = power_schema_place(s, root);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t next = guilty_child(s, at);
        if (next <= NODE_NEVER) break;
        at = next;
        place = power_schema_place(s, at);
    }
    return power_schema_fail(s, POWER_INVALID, place, "no value satisfies this schema");
}

bool power_schema_live(struct schema *s, uint32_t root) {
    s->nodes[NODE_ANY].inhabited = true;
    if (!list_node(s, root)) return false;
    for (uint32_t i = 0; i < s->n_order; i++)
        if (!list_children(s, s->order[i])) return false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = s->n_order; i-- > 0;) {
            uint32_t node = s->order[i];
            if (s->nodes[node].inhabited || !lives(s, node)) continue;
            s->nodes[node].inhabited = changed = true;
        }
        if (s->status != POWER_OK) return false;
    }
    return s->nodes[root].inhabited || blame_root(s, root);
}
