/* SPDX-License-Identifier: MIT */
/* Job: the table of filters; those on single values.
 * Input: arguments, the filtered value first. Output: a value.
 * Threads: one per rendering. Bounds: constant but for what they call. */
#include <string.h>

#include "text/jinja_filters.h"
#include "text/utf8.h"

static bool filter_attr(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out) {
    struct jinja_value given[2];
    if (!power_jinja_spread(r, "attr", "obj,name", 2, args, given)) return false;
    if (given[1].type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "attr() takes a name");
    /* attributes only, no items */
    if (given[0].type == JINJA_DICT || given[0].type == JINJA_LIST) {
        bool unsafe;
        if (power_jinja_method_find(given[0], power_jinja_text(given[1]), &unsafe) < 0)
            return power_jinja_undefined(r, power_jinja_text(given[1]), &given[0], unsafe, out);
    }
    return power_jinja_get_attribute(r, given[0], power_jinja_text(given[1]), out);
}

static bool filter_default(struct jinja_render *r, const struct jinja_args *args,
                           struct jinja_value *out) {
    struct jinja_value given[3];
    if (!power_jinja_spread(r, "default", "value,default_value,boolean", 1, args, given))
        return false;
    bool boolean = given[2].type != JINJA_MISSING && power_jinja_truth(given[2]);
    bool absent = given[0].type == JINJA_UNDEFINED || (boolean && !power_jinja_truth(given[0]));
    *out = given[0];
    if (absent)
        *out = given[1].type == JINJA_MISSING ? power_jinja_borrow(POWER_TEXT("")) : given[1];
    return true;
}

static bool filter_escape(struct jinja_render *r, const struct jinja_args *args,
                          struct jinja_value *out) {
    struct jinja_value v;
    return power_jinja_spread(r, "escape", "value", 1, args, &v) && power_jinja_escape(r, v, out);
}

static bool filter_forceescape(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value v;
    if (!power_jinja_spread(r, "forceescape", "value", 1, args, &v) ||
        !power_jinja_to_text(r, v, &v))
        return false;
    v.markup = false;
    return power_jinja_escape(r, v, out);
}

static bool filter_safe(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out) {
    struct jinja_value v;
    if (!power_jinja_spread(r, "safe", "value", 1, args, &v) || !power_jinja_to_text(r, v, out))
        return false;
    out->markup = true;
    return true;
}

static bool not_supported(struct jinja_render *r, const struct jinja_args *args,
                          struct jinja_value *out) {
    (void)args;
    (void)out;
    return power_jinja_raise(r, POWER_UNSUPPORTED, "filter \"%s\" is not supported",
                             r->at ? power_quote(r->at->text.bytes, r->at->text.length).text : "");
}

#define ENTRY(name) {#name, power_jinja_filter_##name},

static const struct {
    const char *name;
    power_jinja_filter_fn fn;
} filters[] = {POWER_JINJA_SEQUENCE_FILTERS(ENTRY) POWER_JINJA_TEXT_FILTERS(ENTRY)
                   POWER_JINJA_NUMBER_FILTERS(ENTRY)
                       POWER_JINJA_PAGE_FILTERS(ENTRY){"attr", filter_attr},
               {"count", power_jinja_filter_length},
               {"d", filter_default},
               {"default", filter_default},
               {"e", filter_escape},
               {"escape", filter_escape},
               {"forceescape", filter_forceescape},
               {"pprint", not_supported},
               {"random", not_supported},
               {"safe", filter_safe},
               {"tojson", power_jinja_tojson},
               {"urlize", not_supported}};

int power_jinja_filter_find(struct power_text name) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        if (power_text_equal(name, power_text_of(filters[i].name))) return (int)i;
    }
    return -1;
}

/* Filters that only begin to work when their result is walked. */
static bool is_lazy(const char *name) {
    static const char *const lazy[] = {"map",        "select", "selectattr", "reject",
                                       "rejectattr", "unique", "batch",      "slice"};
    for (size_t i = 0; i < sizeof lazy / sizeof *lazy; i++) {
        if (strcmp(name, lazy[i]) == 0) return true;
    }
    return false;
}

/* The result raises when it is walked. */
static bool keep_fault(struct jinja_render *r, struct jinja_value *out) {
    static const char unknown[] = "a filter failed";
    r->status = POWER_OK;
    struct jinja_list *list = power_jinja_list(r, JINJA_ITERATOR, 0);
    if (!list) return false;
    const char *words = r->error ? strstr(r->error->message, ": ") : NULL;
    list->fault = words ? power_arena_text(&r->arena, words + 2, strlen(words + 2)) : unknown;
    if (!list->fault) return power_jinja_no_memory(r);
    *out = power_jinja_of_list(list);
    return true;
}

bool power_jinja_filter(struct jinja_render *r, int id, const struct jinja_args *args,
                        struct jinja_value *out) {
    if (id < 0)
        return power_jinja_raise(r, POWER_INVALID, "no filter named \"%s\"",
                                 r->at ? power_quote(r->at->text.bytes, r->at->text.length).text
                                       : "");
    if (args->count && !power_jinja_walk_steps(r, args->items[0])) return false;
    if (filters[id].fn(r, args, out)) return true;
    return r->status == POWER_INVALID && is_lazy(filters[id].name) && keep_fault(r, out);
}
