/* SPDX-License-Identifier: MIT */
/* Keywords that combine schemas: allOf, anyOf, oneOf, not, if.
 * Input: a schema object and what its other keywords leave. Output: the form, narrowed.
 * Threads: one a compilation.
 * Bounds: those of forms. What needs an exclusion that cannot be expressed is refused by name. */
#include "text/constraint/schema.h"

static bool schema_list(struct schema *s, uint32_t at, const char *word, uint32_t *out) {
    *out = power_schema_get(s, at, word);
    if (*out == SCHEMA_NONE) return true;
    return (s->values[*out].type == SCHEMA_ARRAY && s->values[*out].n > 0) ||
           power_schema_fail(s, POWER_INVALID, *out, "must be an array of at least one schema");
}

static const struct schema_form *form_of(struct schema *s, uint32_t value) {
    return power_schema_form(s, power_schema_node(s, value));
}

static const struct schema_form *all_of(struct schema *s, uint32_t list,
                                        const struct schema_form *form) {
    for (uint32_t c = s->values[list].first; c != SCHEMA_NONE && form; c = s->values[c].next)
        form = power_schema_conjoin(s, form, form_of(s, c));
    return form;
}

static const struct schema_form *any_of(struct schema *s, uint32_t list,
                                        const struct schema_form *form) {
    struct schema_form *out = power_schema_empty(s);
    for (uint32_t c = s->values[list].first; c != SCHEMA_NONE && out; c = s->values[c].next)
        if (!power_schema_absorb(s, out, power_schema_conjoin(s, form, form_of(s, c)))) return NULL;
    return out;
}

/* The union of: alternative i without every other one. */
static const struct schema_form *one_of(struct schema *s, uint32_t list,
                                        const struct schema_form *form) {
    struct schema_form *out = power_schema_empty(s);
    for (uint32_t c = s->values[list].first; c != SCHEMA_NONE && out; c = s->values[c].next) {
        const struct schema_form *part = power_schema_conjoin(s, form, form_of(s, c));
        for (uint32_t d = s->values[list].first; d != SCHEMA_NONE && part; d = s->values[d].next)
            if (d != c) part = power_schema_subtract(s, part, form_of(s, d));
        if (!power_schema_absorb(s, out, part)) return NULL;
    }
    return out;
}

static const struct schema_form *if_then(struct schema *s, uint32_t at, uint32_t condition,
                                         const struct schema_form *form) {
    uint32_t then = power_schema_get(s, at, "then"), other = power_schema_get(s, at, "else");
    if (then == SCHEMA_NONE && other == SCHEMA_NONE) return form;
    const struct schema_form *test = form_of(s, condition);
    const struct schema_form *yes = power_schema_conjoin(s, form, test);
    const struct schema_form *no = power_schema_subtract(s, form, test);
    if (then != SCHEMA_NONE && yes) yes = power_schema_conjoin(s, yes, form_of(s, then));
    if (other != SCHEMA_NONE && no) no = power_schema_conjoin(s, no, form_of(s, other));
    return power_schema_unite(s, yes, no);
}

/* What only adds comes first: the more is known, the fewer exclusions are needed. */
bool power_schema_combine_words(struct schema *s, uint32_t at, const struct schema_form **form) {
    uint32_t all, any, one, old = s->blame;
    if (!schema_list(s, at, "allOf", &all) || !schema_list(s, at, "anyOf", &any) ||
        !schema_list(s, at, "oneOf", &one))
        return false;
    if (all != SCHEMA_NONE) {
        s->blame = all;
        *form = all_of(s, all, *form);
    }
    if (any != SCHEMA_NONE && *form) {
        s->blame = any;
        *form = any_of(s, any, *form);
    }
    if (one != SCHEMA_NONE && *form) {
        s->blame = one;
        *form = one_of(s, one, *form);
    }
    uint32_t not = power_schema_get(s, at, "not"), condition = power_schema_get(s, at, "if");
    if (not != SCHEMA_NONE && *form) {
        s->blame = not ;
        *form = power_schema_subtract(s, *form, form_of(s, not ));
    }
    if (condition != SCHEMA_NONE && *form) {
        s->blame = condition;
        *form = if_then(s, at, condition, *form);
    }
    if (*form) s->blame = old;
    return *form != NULL;
}
