/* SPDX-License-Identifier: MIT */
/* Keywords of objects.
 * Input: a schema object. Output: its form, narrowed.
 * Threads: one a compilation.
 * Bounds: SCHEMA_MAX_CLASSES of keys; each dependency may double the alternatives. */
#include "text/constraint/schema.h"

/* The value of a keyword that must be an object; SCHEMA_NONE when it is not there. */
static bool object_word(struct schema *s, uint32_t at, const char *word, uint32_t *out) {
    *out = power_schema_get(s, at, word);
    return *out == SCHEMA_NONE || s->values[*out].type == SCHEMA_OBJECT ||
           power_schema_fail(s, POWER_INVALID, *out, "must be an object");
}

static bool is_strings(struct schema *s, uint32_t at) {
    if (s->values[at].type != SCHEMA_ARRAY)
        return power_schema_fail(s, POWER_INVALID, at, "must be an array of strings");
    for (uint32_t c = s->values[at].first; c != SCHEMA_NONE; c = s->values[c].next)
        if (s->values[c].type != SCHEMA_STRING)
            return power_schema_fail(s, POWER_INVALID, c, "must be a string");
    return true;
}

struct parts {
    struct schema_object object;
    const struct power_regular *matched; /* keys of any pattern */
    uint32_t rest;                       /* of keys that neither a name nor a pattern has */
};

static bool add_class(struct schema *s, struct schema_object *o, const struct power_regular *keys,
                      uint32_t node) {
    if (o->n_classes == SCHEMA_MAX_CLASSES)
        return power_schema_fail(s, POWER_LIMIT, s->blame, "needs more than 256 classes of keys");
    o->classes[o->n_classes++] = (struct schema_class){keys, node};
    return true;
}

/* Splits every class by a pattern: what matches must be of `node` as well. */
static bool split_classes(struct schema *s, struct parts *p, const struct power_regular *keys,
                          uint32_t node) {
    struct schema_object *o = &p->object;
    uint32_t n = o->n_classes;
    for (uint32_t i = 0; i < n; i++) {
        const struct power_regular *in = power_schema_and(s, o->classes[i].keys, keys);
        const struct power_regular *out = power_schema_minus(s, o->classes[i].keys, keys);
        uint32_t both = power_schema_both(s, o->classes[i].node, node);
        if (!in || !out || !both) return false;
        if (in->n_states == 0) continue;
        if (out->n_states > 0 && !add_class(s, o, out, o->classes[i].node)) return false;
        o->classes[i] = (struct schema_class){in, both};
    }
    const struct power_regular *fresh = power_schema_minus(s, keys, p->matched);
    if (!fresh || (fresh->n_states > 0 && !add_class(s, o, fresh, node))) return false;
    p->matched = power_schema_or(s, p->matched, keys);
    return p->matched != NULL;
}

static bool add_patterns(struct schema *s, uint32_t at, struct parts *p) {
    uint32_t map;
    if (!object_word(s, at, "patternProperties", &map)) return false;
    if (map == SCHEMA_NONE) return true;
    for (uint32_t c = s->values[map].first; c != SCHEMA_NONE; c = s->values[c].next) {
        s->blame = c;
        const struct power_regular *keys = power_schema_pattern(s, c, s->values[c].key);
        uint32_t node = power_schema_node(s, c);
        if (!keys || !node || !split_classes(s, p, keys, node)) return false;
    }
    return true;
}

static bool is_matched(const struct schema *s, const struct parts *p, uint32_t key) {
    return power_schema_has_key(s, p->matched, key);
}

/* What the patterns say of a key, without the rest. */
static uint32_t pattern_node(const struct schema *s, const struct parts *p, uint32_t key) {
    if (!is_matched(s, p, key)) return NODE_ANY;
    for (uint32_t i = 0; i < p->object.n_classes; i++)
        if (power_schema_has_key(s, p->object.classes[i].keys, key))
            return p->object.classes[i].node;
    return NODE_ANY;
}

static bool add_properties(struct schema *s, uint32_t at, struct parts *p) {
    uint32_t map, list = power_schema_get(s, at, "required");
    if (!object_word(s, at, "properties", &map)) return false;
    if (list != SCHEMA_NONE && !is_strings(s, list)) return false;
    size_t most = (map == SCHEMA_NONE ? 0 : s->values[map].n) +
                  (size_t)(list == SCHEMA_NONE ? 0 : s->values[list].n);
    struct schema_object *o = &p->object;
    o->members = power_schema_alloc(s, most, sizeof *o->members);
    if (!o->members) return false;
    for (uint32_t c = map == SCHEMA_NONE ? map : s->values[map].first; c != SCHEMA_NONE;
         c = s->values[c].next) {
        struct schema_member *m = &o->members[o->n_members];
        if (!power_schema_key(s, s->values[c].key, &m->key)) return false;
        m->node = power_schema_both(s, power_schema_node(s, c), pattern_node(s, p, m->key));
        if (!m->node) return false;
        s->key_marks[m->key] = ++o->n_members;
    }
    return true;
}

/* Required keys; those without a property of their own follow what holds for any other key. */
static bool add_required(struct schema *s, uint32_t at, struct parts *p) {
    uint32_t list = power_schema_get(s, at, "required");
    struct schema_object *o = &p->object;
    for (uint32_t c = list == SCHEMA_NONE ? list : s->values[list].first; c != SCHEMA_NONE;
         c = s->values[c].next) {
        uint32_t key;
        if (!power_schema_key(s, s->values[c].text, &key)) return false;
        if (s->key_marks[key] == 0) {
            uint32_t node = is_matched(s, p, key) ? pattern_node(s, p, key) : p->rest;
            o->members[o->n_members] = (struct schema_member){key, node, true};
            s->key_marks[key] = ++o->n_members;
        }
        o->members[s->key_marks[key] - 1].required = true;
    }
    return true;
}

/* True when nothing but this schema's own words can evaluate members or items. */
static bool stands_alone(const struct schema *s, uint32_t at) {
    static const char *const words[] = {
        "$ref", "$dynamicRef",      "allOf",        "anyOf",   "oneOf", "not", "if", "then",
        "else", "dependentSchemas", "dependencies", "contains"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (power_schema_get(s, at, words[i]) != SCHEMA_NONE) return false;
    return true;
}

uint32_t power_schema_rest_word(struct schema *s, uint32_t at, const char *word,
                                const char *unevaluated) {
    uint32_t rest = power_schema_get(s, at, word);
    uint32_t other = power_schema_get(s, at, unevaluated);
    if (other != SCHEMA_NONE && !power_schema_is_free(s, other) && rest == SCHEMA_NONE) {
        if (!stands_alone(s, at)) {
            (void)power_schema_fail(s, POWER_UNSUPPORTED, other,
                                    "cannot be enforced beside schemas that are merged in");
            return NODE_NONE;
        }
        rest = other;
    }
    return rest == SCHEMA_NONE ? NODE_ANY : power_schema_node(s, rest);
}

/* The keys that no pattern has; classes that admit nothing go. */
static bool add_rest(struct schema *s, struct parts *p) {
    struct schema_object *o = &p->object;
    const struct power_regular *others = power_schema_minus(s, s->all_texts, p->matched);
    if (!others) return false;
    uint32_t all = o->n_classes, n = 0;
    for (uint32_t i = 0; i < all; i++)
        if (o->classes[i].node != NODE_NEVER) o->classes[n++] = o->classes[i];
    o->n_classes = n;
    return p->rest == NODE_NEVER || others->n_states == 0 || add_class(s, o, others, p->rest);
}

static bool add_counts(struct schema *s, uint32_t at, struct schema_object *o) {
    uint32_t min = power_schema_get(s, at, "minProperties");
    uint32_t max = power_schema_get(s, at, "maxProperties");
    if (min != SCHEMA_NONE && !power_schema_count(s, min, &o->min)) return false;
    if (max != SCHEMA_NONE && !power_schema_count(s, max, &o->max)) return false;
    return o->min != SCHEMA_MANY ||
           power_schema_fail(s, POWER_LIMIT, min, "no object has that many members");
}

static bool add_names(struct schema *s, uint32_t at, struct schema_object *o) {
    uint32_t word = power_schema_get(s, at, "propertyNames");
    if (word == SCHEMA_NONE) return true;
    s->blame = word;
    const struct schema_form *form = power_schema_form(s, power_schema_node(s, word));
    const struct power_regular *names = form ? power_schema_strings(s, form->strings) : NULL;
    if (!names) return false;
    for (uint32_t i = 0; i < o->n_members; i++)
        if (!power_schema_has_key(s, names, o->members[i].key)) o->members[i].node = NODE_NEVER;
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_classes; i++) {
        const struct power_regular *keys = power_schema_and(s, o->classes[i].keys, names);
        if (!keys) return false;
        if (keys->n_states > 0) o->classes[n++] = (struct schema_class){keys, o->classes[i].node};
    }
    o->n_classes = n;
    return true;
}

/* The form of all values but objects, and these objects. */
static struct schema_form *with_objects(struct schema *s, const struct schema_object *o) {
    struct schema_form *form = power_schema_new(s, s->any);
    if (!form) return NULL;
    form->objects = NULL;
    form->n_objects = 0;
    bool hopeless = power_schema_object_hopeless(s, o, 0);
    return hopeless || power_schema_add_object(s, form, o) ? form : NULL;
}

static bool own_words(struct schema *s, uint32_t at, const struct schema_form **form) {
    struct parts p = {.matched = s->no_text};
    p.object.max = SCHEMA_MANY;
    p.object.classes = power_schema_alloc(s, SCHEMA_MAX_CLASSES, sizeof *p.object.classes);
    if (!p.object.classes) return false;
    p.rest = power_schema_rest_word(s, at, "additionalProperties", "unevaluatedProperties");
    if (!p.rest || !add_patterns(s, at, &p)) return false;
    bool named = add_properties(s, at, &p) && add_required(s, at, &p);
    for (uint32_t i = 0; i < p.object.n_members; i++)
        s->key_marks[p.object.members[i].key] = 0;
    if (!named || !add_rest(s, &p) || !add_names(s, at, &p.object) || !add_counts(s, at, &p.object))
        return false;
    struct schema_form *more = with_objects(s, &p.object);
    *form = more ? power_schema_conjoin(s, *form, more) : NULL;
    return *form != NULL;
}

/* Objects without `key`, or with it and with all of `needs` (an array of names or a schema). */
static bool add_need(struct schema *s, uint32_t needs, const struct schema_form **form) {
    uint32_t key;
    if (!power_schema_key(s, s->values[needs].key, &key)) return false;
    struct schema_object without = s->any->objects[0], with = without;
    if (!power_schema_set_member(s, &without, key, NODE_NEVER, false) ||
        !power_schema_set_member(s, &with, key, NODE_ANY, true))
        return false;
    bool names = s->values[needs].type == SCHEMA_ARRAY;
    if (names && !is_strings(s, needs)) return false;
    for (uint32_t c = names ? s->values[needs].first : SCHEMA_NONE; c != SCHEMA_NONE;
         c = s->values[c].next) {
        if (!power_schema_key(s, s->values[c].text, &key) ||
            !power_schema_set_member(s, &with, key, NODE_ANY, true))
            return false;
    }
    const struct schema_form *has = with_objects(s, &with);
    const struct schema_form *lacks = with_objects(s, &without);
    if (!names && has) {
        const struct schema_form *then = power_schema_form(s, power_schema_node(s, needs));
        struct schema_form *objects = then ? power_schema_new(s, s->any) : NULL;
        if (!objects) return false;
        objects->objects = then->objects;
        objects->n_objects = then->n_objects;
        has = power_schema_conjoin(s, has, objects);
    }
    const struct schema_form *either = power_schema_unite(s, has, lacks);
    *form = either ? power_schema_conjoin(s, *form, either) : NULL;
    return *form != NULL;
}

static bool add_needs(struct schema *s, uint32_t at, const char *word,
                      const struct schema_form **form) {
    uint32_t map;
    if (!object_word(s, at, word, &map)) return false;
    if (map == SCHEMA_NONE) return true;
    for (uint32_t c = s->values[map].first; c != SCHEMA_NONE; c = s->values[c].next) {
        s->blame = c;
        bool names = s->values[c].type == SCHEMA_ARRAY;
        if ((names && word[9] == 'S') || (!names && word[9] == 'R'))
            return power_schema_fail(s, POWER_INVALID, c,
                                     names ? "must be a schema" : "must be an array of strings");
        if (!add_need(s, c, form)) return false;
    }
    return true;
}

bool power_schema_object_words(struct schema *s, uint32_t at, const struct schema_form **form) {
    static const char *const words[] = {"properties",    "patternProperties",    "required",
                                        "propertyNames", "additionalProperties", "minProperties",
                                        "maxProperties", "unevaluatedProperties"};
    uint32_t old = s->blame;
    bool any = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        any = any || power_schema_get(s, at, words[i]) != SCHEMA_NONE;
    if ((any && !own_words(s, at, form)) || !add_needs(s, at, "dependentRequired", form) ||
        !add_needs(s, at, "dependentSchemas", form) || !add_needs(s, at, "dependencies", form))
        return false;
    s->blame = old;
    return true;
}
