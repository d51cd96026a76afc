/* SPDX-License-Identifier: MIT */
/* Job: attributes that are data, and the methods of numbers, as Python's objects have them.
 * Input: a value and a name. Output: the attribute. Threads: one per rendering. Bounds: constant.
 */
#include <math.h>

#include "text/jinja.h"

static bool is(struct power_text name, const char *word) {
    return power_text_equal(name, power_text_of(word));
}

static bool of_number(struct jinja_value v, struct power_text name, struct jinja_value *out) {
    bool whole = v.type != JINJA_FLOAT;
    if (is(name, "real") || (whole && is(name, "numerator")))
        *out = v.type == JINJA_BOOL ? power_jinja_int(v.as.b) : v;
    else if (is(name, "imag"))
        *out = whole ? power_jinja_int(0) : power_jinja_float(0);
    else if (whole && is(name, "denominator"))
        *out = power_jinja_int(1);
    else
        return false;
    return true;
}

static bool of_list(const struct jinja_list *list, struct power_text name,
                    struct jinja_value *out) {
    static const char *const bounds[] = {"start", "stop", "step"};
    for (size_t i = 0; list->kind == JINJA_RANGE && i < 3; i++) {
        if (!is(name, bounds[i])) continue;
        *out = power_jinja_int(list->bounds[i]);
        return true;
    }
    if (list->kind != JINJA_TUPLE || list->count != 2 ||
        strcmp(list->type_name, "_GroupTuple") != 0 || (!is(name, "grouper") && !is(name, "list")))
        return false;
    *out = list->items[is(name, "grouper") ? 0 : 1];
    return true;
}

static bool of_macro(struct jinja_render *r, const struct jinja_object *macro,
                     struct power_text name, struct jinja_value *out, bool *found) {
    const struct jinja_node *node = macro->node;
    *found = true;
    if (is(name, "name")) {
        *out = macro->name.length ? power_jinja_borrow(macro->name) : power_jinja_none();
    } else if (is(name, "arguments")) {
        struct jinja_list *list = power_jinja_list(r, JINJA_TUPLE, 0);
        if (!list) return false;
        for (const struct jinja_node *p = node->other; p; p = p->next) {
            if (!power_jinja_push(r, list, power_jinja_borrow(p->text))) return false;
        }
        *out = power_jinja_of_list(list);
    } else if (is(name, "catch_kwargs") || is(name, "catch_varargs") || is(name, "caller")) {
        *out = power_jinja_bool(is(name, "caller")         ? node->caller
                                : is(name, "catch_kwargs") ? node->kwargs
                                                           : node->varargs);
    } else {
        *found = false;
    }
    return true;
}

bool power_jinja_data_attribute(struct jinja_render *r, struct jinja_value v,
                                struct power_text name, struct jinja_value *out, bool *found) {
    *found = false;
    if (power_jinja_is_number(v)) *found = of_number(v, name, out);
    if (v.type == JINJA_LIST) *found = of_list(v.as.list, name, out);
    if (v.type == JINJA_OBJECT && v.as.object->kind == JINJA_MACRO)
        return of_macro(r, v.as.object, name, out, found);
    return true;
}

bool power_jinja_number_method(struct jinja_render *r, struct jinja_value self, const char *name,
                               const struct jinja_args *args, struct jinja_value *out) {
    if (args->count || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes no arguments", name);
    if (strcmp(name, "is_integer") == 0) {
        *out = power_jinja_bool(isfinite(self.as.f) && self.as.f == trunc(self.as.f));
    } else if (strcmp(name, "conjugate") == 0) {
        *out = self.type == JINJA_BOOL ? power_jinja_int(self.as.b) : self;
    } else if (strcmp(name, "bit_length") == 0) {
        *out = power_jinja_int((int64_t)power_jinja_whole_bits(self));
    } else { /* bit_count */
        struct power_text bits;
        int64_t n = 0;
        if (!power_jinja_whole_digits(r, self, 2, false, &bits)) return false;
        for (size_t i = 0; i < bits.length; i++)
            n += bits.bytes[i] == '1';
        *out = power_jinja_int(n);
    }
    return true;
}
