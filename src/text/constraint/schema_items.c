/* SPDX-License-Identifier: MIT */
/* Keywords of arrays.
 * Input: a schema object. Output: its form, narrowed.
 * Threads: one a compilation.
 * Bounds: prefixes as long as the schema's. */
#include "text/constraint/schema.h"

static bool add_prefix(struct schema *s, uint32_t list, struct schema_array *a) {
    if (s->values[list].type != SCHEMA_ARRAY)
        return power_schema_fail(s, POWER_INVALID, list, "must be an array of schemas");
    a->prefix = power_schema_alloc(s, s->values[list].n, sizeof *a->prefix);
    if (!a->prefix) return false;
    for (uint32_t c = s->values[list].first; c != SCHEMA_NONE; c = s->values[c].next) {
        a->prefix[a->n_prefix] = power_schema_node(s, c);
        if (!a->prefix[a->n_prefix++]) return false;
    }
    return true;
}

/* 2020-12: prefixItems and items. Draft-07: an array of items and additionalItems; this form is
 * taken in 2020-12 too where there is no prefixItems, since it can mean nothing else. */
static bool add_items(struct schema *s, uint32_t at, struct schema_array *a) {
    uint32_t prefix = power_schema_get(s, at, "prefixItems");
    uint32_t items = power_schema_get(s, at, "items");
    const char *rest = "items";
    if (items != SCHEMA_NONE && s->values[items].type == SCHEMA_ARRAY) {
        if (prefix != SCHEMA_NONE)
            return power_schema_fail(s, POWER_INVALID, items, "is an array beside prefixItems");
        prefix = items;
        rest = "additionalItems";
    }
    if (prefix != SCHEMA_NONE && !add_prefix(s, prefix, a)) return false;
    a->rest = power_schema_rest_word(s, at, rest, "unevaluatedItems");
    return a->rest != NODE_NONE;
}

static bool add_counts(struct schema *s, uint32_t at, struct schema_array *a) {
    uint32_t min = power_schema_get(s, at, "minItems"), max = power_schema_get(s, at, "maxItems");
    if (min != SCHEMA_NONE && !power_schema_count(s, min, &a->min)) return false;
    if (max != SCHEMA_NONE && !power_schema_count(s, max, &a->max)) return false;
    return a->min != SCHEMA_MANY ||
           power_schema_fail(s, POWER_LIMIT, min, "no array has that many items");
}

/* "contains" is a wish for at least one item; other counts of it cannot be kept. */
static bool add_contains(struct schema *s, uint32_t at, struct schema_array *a) {
    uint32_t word = power_schema_get(s, at, "contains"), count = 1;
    uint32_t min = power_schema_get(s, at, "minContains");
    uint32_t max = power_schema_get(s, at, "maxContains");
    if (min != SCHEMA_NONE && !power_schema_count(s, min, &count)) return false;
    if (word == SCHEMA_NONE) return true;
    uint32_t node = power_schema_node(s, word);
    if (!node) return false;
    if (max != SCHEMA_NONE)
        return power_schema_fail(s, POWER_UNSUPPORTED, max, "cannot be enforced");
    if (count == 0) return true;
    if (node == NODE_ANY && a->min < count) a->min = count;
    if (node == NODE_ANY) return true;
    if (count > 1) return power_schema_fail(s, POWER_UNSUPPORTED, min, "cannot be enforced");
    a->contains = node;
    return true;
}

static bool add_unique(struct schema *s, uint32_t at, const struct schema_array *a) {
    uint32_t word = power_schema_get(s, at, "uniqueItems");
    if (word == SCHEMA_NONE || s->values[word].type == SCHEMA_FALSE) return true;
    if (s->values[word].type != SCHEMA_TRUE)
        return power_schema_fail(s, POWER_INVALID, word, "must be true or false");
    bool short_array = a->max <= 1 || (a->rest == NODE_NEVER && a->n_prefix <= 1);
    return short_array || power_schema_fail(s, POWER_UNSUPPORTED, word, "cannot be enforced");
}

bool power_schema_array_words(struct schema *s, uint32_t at, const struct schema_form **form) {
    static const char *const words[] = {"items",       "prefixItems", "minItems",
                                        "maxItems",    "contains",    "uniqueItems",
                                        "minContains", "maxContains", "unevaluatedItems"};
    bool any = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        any = any || power_schema_get(s, at, words[i]) != SCHEMA_NONE;
    if (!any) return true;
    struct schema_array a = {.rest = NODE_ANY, .max = SCHEMA_MANY};
    if (!add_items(s, at, &a) || !add_counts(s, at, &a) || !add_contains(s, at, &a)) return false;
    if ((*form)->n_arrays > 0 && !add_unique(s, at, &a)) return false;
    struct schema_form *more = power_schema_new(s, s->any);
    if (!more) return false;
    more->arrays = NULL;
    more->n_arrays = 0;
    if (!power_schema_array_hopeless(s, &a, 0) && !power_schema_add_array(s, more, &a))
        return false;
    *form = power_schema_conjoin(s, *form, more);
    return *form != NULL;
}
