/* SPDX-License-Identifier: MIT */
/* The form of a schema: its keywords one after the other, each narrowing what is left.
 * Input: an object of the document. Output: its form.
 * Threads: one a compilation.
 * Bounds: the stack grows with schemas merged into one another, at most SCHEMA_MAX_DEPTH. */
#include "text/constraint/schema.h"

static bool is_type(struct power_text text, const char *name) {
    return power_text_equal(text, power_text_of(name));
}

static void allow_numbers(struct schema *s, struct schema_form *form, bool all) {
    if (all)
        form->numbers = s->any->numbers;
    else if (form->numbers.yes != s->all_numbers)
        form->numbers = s->whole;
}

static bool allow_type(struct schema *s, struct schema_form *form, uint32_t at) {
    struct power_text name = s->values[at].text;
    if (s->values[at].type != SCHEMA_STRING)
        return power_schema_fail(s, POWER_INVALID, at, "a type is a string");
    if (is_type(name, "null")) {
        form->null = true;
    } else if (is_type(name, "boolean")) {
        form->no = form->yes = true;
    } else if (is_type(name, "number") || is_type(name, "integer")) {
        allow_numbers(s, form, is_type(name, "number"));
    } else if (is_type(name, "string")) {
        form->strings = s->any->strings;
    } else if (is_type(name, "array")) {
        form->arrays = s->any->arrays;
        form->n_arrays = 1;
    } else if (is_type(name, "object")) {
        form->objects = s->any->objects;
        form->n_objects = 1;
    } else {
        return power_schema_fail(s, POWER_INVALID, at, "is no type of JSON Schema");
    }
    return true;
}

/* What "type" leaves, or everything. */
static struct schema_form *start_form(struct schema *s, uint32_t at) {
    uint32_t type = power_schema_get(s, at, "type");
    struct schema_form *form = power_schema_new(s, type == SCHEMA_NONE ? s->any : s->never);
    if (!form || type == SCHEMA_NONE) return form;
    if (s->values[type].type != SCHEMA_ARRAY) return allow_type(s, form, type) ? form : NULL;
    if (s->values[type].n == 0) {
        (void)power_schema_fail(s, POWER_INVALID, type, "must not be empty");
        return NULL;
    }
    for (uint32_t c = s->values[type].first; c != SCHEMA_NONE; c = s->values[c].next)
        if (!allow_type(s, form, c)) return NULL;
    return form;
}

static bool add_value_array(struct schema *s, uint32_t value, struct schema_form *form) {
    uint32_t n = s->values[value].n, i = 0;
    struct schema_array array = {.n_prefix = n, .rest = NODE_NEVER, .min = n, .max = n};
    array.prefix = power_schema_alloc(s, n, sizeof *array.prefix);
    if (!array.prefix) return false;
    for (uint32_t c = s->values[value].first; c != SCHEMA_NONE; c = s->values[c].next) {
        array.prefix[i] = power_schema_value_node(s, c);
        if (!array.prefix[i++]) return false;
    }
    return power_schema_add_array(s, form, &array);
}

static bool add_value_object(struct schema *s, uint32_t value, struct schema_form *form) {
    uint32_t n = s->values[value].n;
    struct schema_object object = {.min = n, .max = n};
    object.members = power_schema_alloc(s, n, sizeof *object.members);
    if (!object.members) return false;
    for (uint32_t c = s->values[value].first; c != SCHEMA_NONE; c = s->values[c].next) {
        struct schema_member *m = &object.members[object.n_members++];
        m->required = true;
        m->node = power_schema_value_node(s, c);
        if (!m->node || !power_schema_key(s, s->values[c].key, &m->key)) return false;
    }
    return power_schema_add_object(s, form, &object);
}

/* Values that are collected before they become one automaton. */
struct values {
    struct power_text *texts;
    struct power_regular *numbers;
    uint32_t n_texts, n_numbers, digits; /* behind the point, in any spelling that is needed */
};

static bool add_number(struct schema *s, uint32_t at, struct values *v) {
    struct schema_decimal d;
    if (!power_schema_decimal(s, at, &d)) return false;
    const struct power_regular *number = power_schema_compare_to(s, at, &d, RELATION_EQUAL);
    if (!number) return false;
    v->numbers[v->n_numbers++] = *number;
    int64_t behind = (int64_t)d.n - d.point;
    if (behind > (int64_t)v->digits) v->digits = (uint32_t)behind;
    if (d.n > v->digits) v->digits = d.n;
    return true;
}

static bool add_value(struct schema *s, uint32_t at, struct schema_form *form, struct values *v) {
    switch (s->values[at].type) {
    case SCHEMA_NULL:
        form->null = true;
        break;
    case SCHEMA_FALSE:
        form->no = true;
        break;
    case SCHEMA_TRUE:
        form->yes = true;
        break;
    case SCHEMA_NUMBER:
        return add_number(s, at, v);
    case SCHEMA_STRING:
        v->texts[v->n_texts++] = s->values[at].text;
        break;
    case SCHEMA_ARRAY:
        return add_value_array(s, at, form);
    case SCHEMA_OBJECT:
        return add_value_object(s, at, form);
    }
    return true;
}

static const struct schema_form *end_values(struct schema *s, struct schema_form *form,
                                            const struct values *v) {
    if (v->n_texts > 0) {
        form->strings.language = power_schema_literals(s, v->texts, v->n_texts);
        if (!form->strings.language) return NULL;
    }
    if (v->n_numbers > 0 &&
        !power_schema_equal_numbers(s, v->numbers, v->n_numbers, v->digits, &form->numbers))
        return NULL;
    return form;
}

static bool start_values(struct schema *s, struct values *v, uint32_t n) {
    v->n_texts = v->n_numbers = v->digits = 0;
    v->texts = power_schema_alloc(s, n, sizeof *v->texts);
    v->numbers = power_schema_alloc(s, n, sizeof *v->numbers);
    return v->texts && v->numbers;
}

const struct schema_form *power_schema_of_value(struct schema *s, uint32_t value) {
    struct schema_form *form = power_schema_empty(s);
    struct values v;
    bool good = form && start_values(s, &v, 1) && add_value(s, value, form, &v);
    return good ? end_values(s, form, &v) : NULL;
}

static const struct schema_form *enum_form(struct schema *s, uint32_t list) {
    struct schema_form *form = power_schema_empty(s);
    struct values v;
    if (s->values[list].type != SCHEMA_ARRAY) {
        (void)power_schema_fail(s, POWER_INVALID, list, "must be an array");
        return NULL;
    }
    if (!form || !start_values(s, &v, s->values[list].n)) return NULL;
    for (uint32_t c = s->values[list].first; c != SCHEMA_NONE; c = s->values[c].next)
        if (!add_value(s, c, form, &v)) return NULL;
    return end_values(s, form, &v);
}

static bool add_values(struct schema *s, uint32_t at, const struct schema_form **form) {
    uint32_t list = power_schema_get(s, at, "enum"), value = power_schema_get(s, at, "const");
    uint32_t old = s->blame;
    if (list != SCHEMA_NONE) {
        s->blame = list;
        *form = power_schema_conjoin(s, *form, enum_form(s, list));
    }
    if (value != SCHEMA_NONE && *form) {
        s->blame = value;
        *form = power_schema_conjoin(s, *form, power_schema_of_value(s, value));
    }
    if (*form) s->blame = old;
    return *form != NULL;
}

static bool add_reference(struct schema *s, uint32_t at, const char *word,
                          const struct schema_form **form) {
    uint32_t ref = power_schema_get(s, at, word), target;
    if (ref == SCHEMA_NONE) return true;
    bool good = word[1] == 'd' ? power_schema_resolve_dynamic(s, ref, &target)
                               : power_schema_resolve(s, ref, &target);
    if (!good) return false;
    uint32_t node = power_schema_node(s, target);
    const struct schema_form *other = node ? power_schema_form(s, node) : NULL;
    *form = other ? power_schema_conjoin(s, *form, other) : NULL;
    return *form != NULL;
}

const struct schema_form *power_schema_expand(struct schema *s, uint32_t at) {
    const struct schema_form *form = s->any;
    if (s->draft7 && power_schema_get(s, at, "$ref") != SCHEMA_NONE)
        return add_reference(s, at, "$ref", &form) ? form : NULL; /* its siblings do not count */
    if (!power_schema_check_words(s, at)) return NULL;
    struct schema_form *start = start_form(s, at);
    if (!start || !power_schema_scalar_words(s, at, start)) return NULL;
    form = start;
    if (!add_values(s, at, &form) || !power_schema_array_words(s, at, &form) ||
        !power_schema_object_words(s, at, &form) || !add_reference(s, at, "$ref", &form) ||
        !add_reference(s, at, "$dynamicRef", &form) || !power_schema_combine_words(s, at, &form))
        return NULL;
    return form;
}
