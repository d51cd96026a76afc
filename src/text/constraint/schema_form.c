/* SPDX-License-Identifier: MIT */
/* Forms: sets of JSON values by type, closed under intersection and union, and under difference
 * where it can be expressed.
 * Input: forms, borrowed. Output: new forms in the arena; NULL is a failure.
 * Threads: one a compilation.
 * Bounds: SCHEMA_MAX_ALTERNATIVES arrays or objects a form, SCHEMA_MAX_WORK steps in all. */
#include "text/constraint/schema.h"

bool power_schema_work(struct schema *s, uint64_t steps) {
    s->work += steps;
    return s->work <= SCHEMA_MAX_WORK ||
           power_schema_fail(s, POWER_LIMIT, s->blame, "merging takes more steps than allowed");
}

struct schema_form *power_schema_new(struct schema *s, const struct schema_form *copy) {
    struct schema_form *form = power_schema_alloc(s, 1, sizeof *form);
    if (form && copy) *form = *copy;
    return form;
}

static bool many(struct schema *s, uint32_t n) {
    return n < SCHEMA_MAX_ALTERNATIVES ||
           power_schema_fail(s, POWER_LIMIT, s->blame, "needs more than 4096 alternatives");
}

/* Lists grow by doubling inside the arena: a form that others hold keeps its own list. */
static bool room(struct schema *s, void **items, uint32_t n, size_t size) {
    if (n != 0 && (n & (n - 1)) != 0) return true;
    void *grown = power_schema_alloc(s, n ? (size_t)n * 2 : 1, size);
    if (!grown) return false;
    if (n) memcpy(grown, *items, n * size);
    *items = grown;
    return true;
}

bool power_schema_add_array(struct schema *s, struct schema_form *form,
                            const struct schema_array *array) {
    if (!power_schema_work(s, 1) || !many(s, form->n_arrays)) return false;
    if (!room(s, (void **)&form->arrays, form->n_arrays, sizeof *array)) return false;
    form->arrays[form->n_arrays++] = *array;
    return true;
}

bool power_schema_add_object(struct schema *s, struct schema_form *form,
                             const struct schema_object *object) {
    if (!power_schema_work(s, 1) || !many(s, form->n_objects)) return false;
    if (!room(s, (void **)&form->objects, form->n_objects, sizeof *object)) return false;
    form->objects[form->n_objects++] = *object;
    return true;
}

static struct schema_numbers meet_numbers(struct schema *s, struct schema_numbers a,
                                          struct schema_numbers b) {
    if (a.yes == s->all_numbers || b.no == s->all_numbers) return b;
    if (b.yes == s->all_numbers || a.no == s->all_numbers) return a;
    return (struct schema_numbers){power_schema_and(s, a.yes, b.yes),
                                   power_schema_or(s, a.no, b.no)};
}

static struct schema_numbers join_numbers(struct schema *s, struct schema_numbers a,
                                          struct schema_numbers b) {
    if (a.yes == s->all_numbers || b.yes == s->no_text) return a;
    if (b.yes == s->all_numbers || a.yes == s->no_text) return b;
    return (struct schema_numbers){power_schema_or(s, a.yes, b.yes),
                                   power_schema_and(s, a.no, b.no)};
}

static bool meet_strings(struct schema *s, struct schema_strings a, struct schema_strings b,
                         struct schema_strings *out) {
    out->min = a.min > b.min ? a.min : b.min;
    out->max = a.max < b.max ? a.max : b.max;
    out->language = a.language ? a.language : b.language;
    if (a.language && b.language) out->language = power_schema_and(s, a.language, b.language);
    return s->status == POWER_OK;
}

static struct schema_strings plain(const struct power_regular *language) {
    return (struct schema_strings){language, 0, SCHEMA_MANY};
}

static bool join_strings(struct schema *s, struct schema_strings a, struct schema_strings b,
                         struct schema_strings *out) {
    bool same = a.language == b.language;
    *out = a;
    if (same && a.min >= b.min && a.max <= b.max) *out = b;
    if (same && ((a.min >= b.min && a.max <= b.max) || (b.min >= a.min && b.max <= a.max)))
        return true;
    if (a.language && a.language->n_states == 0) return *out = b, true;
    if (b.language && b.language->n_states == 0) return true;
    const struct power_regular *left = power_schema_strings(s, a);
    *out = plain(power_schema_or(s, left, power_schema_strings(s, b)));
    if (out->language == s->all_texts) out->language = NULL;
    return s->status == POWER_OK;
}

static bool is_any_array(const struct schema_array *a) {
    return a->n_prefix == 0 && a->rest == NODE_ANY && !a->contains && a->min == 0 &&
           a->max == SCHEMA_MANY;
}

static bool is_any_object(const struct schema *s, const struct schema_object *o) {
    return o->n_members == 0 && o->n_classes == 1 && o->classes[0].keys == s->all_texts &&
           o->classes[0].node == NODE_ANY && o->min == 0 && o->max == SCHEMA_MANY;
}

static bool meet_arrays(struct schema *s, const struct schema_form *a, const struct schema_form *b,
                        struct schema_form *out) {
    for (uint32_t i = 0; i < a->n_arrays; i++) {
        for (uint32_t k = 0; k < b->n_arrays; k++) {
            struct schema_array both;
            if (!power_schema_arrays_meet(s, &a->arrays[i], &b->arrays[k], &both)) return false;
            if (power_schema_array_hopeless(s, &both, 0)) continue;
            if (!power_schema_add_array(s, out, &both)) return false;
        }
    }
    return true;
}

static bool meet_objects(struct schema *s, const struct schema_form *a, const struct schema_form *b,
                         struct schema_form *out) {
    for (uint32_t i = 0; i < a->n_objects; i++) {
        for (uint32_t k = 0; k < b->n_objects; k++) {
            struct schema_object both;
            if (!power_schema_objects_meet(s, &a->objects[i], &b->objects[k], &both)) return false;
            if (power_schema_object_hopeless(s, &both, 0)) continue;
            if (!power_schema_add_object(s, out, &both)) return false;
        }
    }
    return true;
}

const struct schema_form *power_schema_conjoin(struct schema *s, const struct schema_form *a,
                                               const struct schema_form *b) {
    if (!a || !b) return NULL;
    if (a == s->any || a == b) return b;
    if (b == s->any) return a;
    struct schema_form *out = power_schema_new(s, NULL);
    if (!out) return NULL;
    out->null = a->null && b->null;
    out->no = a->no && b->no;
    out->yes = a->yes && b->yes;
    out->numbers = meet_numbers(s, a->numbers, b->numbers);
    if (!meet_strings(s, a->strings, b->strings, &out->strings)) return NULL;
    if (!meet_arrays(s, a, b, out) || !meet_objects(s, a, b, out)) return NULL;
    return s->status == POWER_OK ? out : NULL;
}

static bool join_arrays(struct schema *s, const struct schema_form *b, struct schema_form *out) {
    for (uint32_t i = 0; i < b->n_arrays; i++) {
        if (out->n_arrays > 0 && is_any_array(&out->arrays[0])) return true;
        if (is_any_array(&b->arrays[i])) out->n_arrays = 0, out->arrays = NULL;
        if (!power_schema_add_array(s, out, &b->arrays[i])) return false;
    }
    return true;
}

static bool join_objects(struct schema *s, const struct schema_form *b, struct schema_form *out) {
    for (uint32_t i = 0; i < b->n_objects; i++) {
        if (out->n_objects > 0 && is_any_object(s, &out->objects[0])) return true;
        if (is_any_object(s, &b->objects[i])) out->n_objects = 0, out->objects = NULL;
        if (!power_schema_add_object(s, out, &b->objects[i])) return false;
    }
    return true;
}

struct schema_form *power_schema_empty(struct schema *s) {
    return power_schema_new(s, s->never); /* which has no lists to share */
}

bool power_schema_absorb(struct schema *s, struct schema_form *out, const struct schema_form *b) {
    if (!b) return false;
    out->null = out->null || b->null;
    out->no = out->no || b->no;
    out->yes = out->yes || b->yes;
    out->numbers = join_numbers(s, out->numbers, b->numbers);
    return join_strings(s, out->strings, b->strings, &out->strings) && join_arrays(s, b, out) &&
           join_objects(s, b, out) && out->numbers.yes && out->numbers.no;
}

const struct schema_form *power_schema_unite(struct schema *s, const struct schema_form *a,
                                             const struct schema_form *b) {
    if (!a || !b) return NULL;
    if (a == s->any || b == s->never || a == b) return a;
    if (b == s->any || a == s->never) return b;
    struct schema_form *out = power_schema_empty(s);
    return out && power_schema_absorb(s, out, a) && power_schema_absorb(s, out, b) ? out : NULL;
}

static bool arrays_apart(struct schema *s, const struct schema_array *a,
                         const struct schema_array *b, bool *out) {
    struct schema_array both;
    *out = false;
    if (!power_schema_arrays_meet(s, a, b, &both)) return false;
    *out = power_schema_array_hopeless(s, &both, 3);
    return s->status == POWER_OK;
}

static bool objects_apart(struct schema *s, const struct schema_object *a,
                          const struct schema_object *b, bool *out) {
    struct schema_object both;
    *out = false;
    if (!power_schema_objects_meet(s, a, b, &both)) return false;
    *out = power_schema_object_hopeless(s, &both, 3);
    return s->status == POWER_OK;
}

/* Takes one array after the other away from what is left. */
static bool subtract_arrays(struct schema *s, const struct schema_form *a,
                            const struct schema_form *b, struct schema_form *out) {
    struct schema_form left = *a;
    for (uint32_t k = 0; k < b->n_arrays; k++) {
        struct schema_form next = {0};
        for (uint32_t i = 0; i < left.n_arrays; i++) {
            bool apart;
            if (!arrays_apart(s, &left.arrays[i], &b->arrays[k], &apart)) return false;
            bool good = apart
                            ? power_schema_add_array(s, &next, &left.arrays[i])
                            : power_schema_array_without(s, &next, &left.arrays[i], &b->arrays[k]);
            if (!good) return false;
        }
        left.arrays = next.arrays;
        left.n_arrays = next.n_arrays;
    }
    out->arrays = left.arrays;
    out->n_arrays = left.n_arrays;
    return true;
}

static bool subtract_objects(struct schema *s, const struct schema_form *a,
                             const struct schema_form *b, struct schema_form *out) {
    struct schema_form left = *a;
    for (uint32_t k = 0; k < b->n_objects; k++) {
        struct schema_form next = {0};
        for (uint32_t i = 0; i < left.n_objects; i++) {
            bool apart;
            if (!objects_apart(s, &left.objects[i], &b->objects[k], &apart)) return false;
            bool good =
                apart ? power_schema_add_object(s, &next, &left.objects[i])
                      : power_schema_object_without(s, &next, &left.objects[i], &b->objects[k]);
            if (!good) return false;
        }
        left.objects = next.objects;
        left.n_objects = next.n_objects;
    }
    out->objects = left.objects;
    out->n_objects = left.n_objects;
    return true;
}

static bool subtract_strings(struct schema *s, struct schema_strings a, struct schema_strings b,
                             struct schema_strings *out) {
    *out = a;
    if (b.language && b.language->n_states == 0) return true;
    if (!b.language && b.min == 0 && b.max == SCHEMA_MANY) {
        *out = plain(s->no_text);
        return true;
    }
    const struct power_regular *left = power_schema_strings(s, a);
    *out = plain(power_schema_minus(s, left, power_schema_strings(s, b)));
    return s->status == POWER_OK;
}

const struct schema_form *power_schema_subtract(struct schema *s, const struct schema_form *a,
                                                const struct schema_form *b) {
    if (!a || !b) return NULL;
    if (b == s->never) return a;
    if (b == s->any || a == b) return s->never;
    struct schema_form *out = power_schema_new(s, NULL);
    if (!out) return NULL;
    out->null = a->null && !b->null;
    out->no = a->no && !b->no;
    out->yes = a->yes && !b->yes;
    const struct schema_numbers opposite = {b->numbers.no, b->numbers.yes};
    out->numbers = meet_numbers(s, a->numbers, opposite);
    if (!subtract_strings(s, a->strings, b->strings, &out->strings)) return NULL;
    if (!subtract_arrays(s, a, b, out) || !subtract_objects(s, a, b, out)) return NULL;
    return s->status == POWER_OK ? out : NULL;
}

bool power_schema_hopeless(struct schema *s, const struct schema_form *form, uint32_t depth) {
    if (form == s->never) return true;
    if (form->null || form->no || form->yes || form->numbers.yes->n_states > 0) return false;
    if (!power_schema_strings_empty(s, form->strings)) return false;
    for (uint32_t i = 0; i < form->n_arrays; i++)
        if (!power_schema_array_hopeless(s, &form->arrays[i], depth)) return false;
    for (uint32_t i = 0; i < form->n_objects; i++)
        if (!power_schema_object_hopeless(s, &form->objects[i], depth)) return false;
    return true;
}
