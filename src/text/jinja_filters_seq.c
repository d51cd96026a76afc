/* SPDX-License-Identifier: MIT */
/* Job: filters on lists, dictionaries and what else can be walked.
 * Input: arguments, the sequence first. Output: a value.
 * Threads: one per rendering. Bounds: n log n for sorting, n squared for unique and groupby keys
 * that can't be hashed, both within the rendering's steps. */
#include "text/jinja_filters.h"
#include "text/utf8.h"

static bool iterator(struct jinja_render *r, struct jinja_list **out) {
    *out = power_jinja_list(r, JINJA_ITERATOR, 0);
    return *out != NULL;
}

static bool given_true(struct jinja_value v) {
    return v.type != JINJA_MISSING && power_jinja_truth(v);
}

static bool dotted(struct jinja_render *r, struct jinja_value v, struct jinja_value attribute,
                   const struct jinja_value *fallback, struct jinja_value *out) {
    *out = v;
    if (attribute.type == JINJA_MISSING || attribute.type == JINJA_NONE) return true;
    if (attribute.type != JINJA_TEXT) return power_jinja_get_item(r, v, attribute, out);
    struct power_text path = power_jinja_text(attribute);
    for (size_t at = 0; at <= path.length;) {
        size_t n = at;
        bool digits = true;
        int64_t number = 0;
        for (; n < path.length && path.bytes[n] != '.'; n++) {
            digits = digits && path.bytes[n] >= '0' && path.bytes[n] <= '9' && n - at < 9;
            number = digits ? number * 10 + (path.bytes[n] - '0') : 0;
        }
        struct power_text name = {path.bytes + at, n - at};
        struct jinja_value key =
            digits && n > at ? power_jinja_int(number) : power_jinja_borrow(name);
        if (!power_jinja_get_item(r, *out, key, out)) return false;
        if (fallback && fallback->type != JINJA_MISSING && out->type == JINJA_UNDEFINED)
            *out = *fallback;
        at = n + 1;
    }
    return true;
}

/* Text without its case, unless the case counts. */
static bool fold(struct jinja_render *r, struct jinja_value v, bool case_sensitive,
                 struct jinja_value *out) {
    *out = v;
    if (case_sensitive || v.type != JINJA_TEXT) return true;
    return power_jinja_case(r, power_jinja_text(v), CASE_LOWER, out);
}

/* ---- simple ---- */

bool power_jinja_filter_length(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value v;
    if (!power_jinja_spread(r, "length", "object", 1, args, &v)) return false;
    if (v.type == JINJA_TEXT) {
        *out = power_jinja_int((int64_t)power_utf8_count(power_jinja_text(v)));
        return power_jinja_steps(r, v.length / 64);
    }
    if (v.type == JINJA_OBJECT && v.as.object->kind == JINJA_LOOP) {
        *out = power_jinja_int((int64_t)v.as.object->loop->items->count);
        return true;
    }
    bool list = v.type == JINJA_LIST && v.as.list->kind != JINJA_ITERATOR;
    if (!list && v.type != JINJA_DICT && v.type != JINJA_UNDEFINED)
        return power_jinja_raise(r, POWER_INVALID, "object of type '%s' has no len()",
                                 power_jinja_type_name(v));
    *out = power_jinja_int(list                   ? (int64_t)v.as.list->count
                           : v.type == JINJA_DICT ? (int64_t)v.as.dict->count
                                                  : 0);
    return true;
}

bool power_jinja_filter_list(struct jinja_render *r, const struct jinja_args *args,
                             struct jinja_value *out) {
    struct jinja_value v;
    struct jinja_list *from, *to;
    if (!power_jinja_spread(r, "list", "value", 1, args, &v) || !power_jinja_iterate(r, v, &from) ||
        !(to = power_jinja_list(r, JINJA_PLAIN_LIST, from->count)))
        return false;
    if (from->count) memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = from->count;
    *out = power_jinja_of_list(to);
    return true;
}

static bool edge(struct jinja_render *r, const struct jinja_args *args, bool last,
                 struct jinja_value *out) {
    struct jinja_value v;
    struct jinja_list *list;
    if (!power_jinja_spread(r, last ? "last" : "first", "seq", 1, args, &v)) return false;
    if (v.type == JINJA_LIST && v.as.list->kind == JINJA_ITERATOR) {
        if (last)
            return power_jinja_raise(r, POWER_INVALID, "'%s' object is not reversible",
                                     power_jinja_type_name(v));
        list = v.as.list; /* takes one */
        if (!list->fault && list->taken < list->count) {
            *out = list->items[list->taken++];
            return true;
        }
    }
    if (!power_jinja_iterate(r, v, &list)) return false;
    if (list->count == 0)
        return power_jinja_undefined(r, POWER_TEXT("an item of an empty sequence"), NULL, false,
                                     out);
    *out = list->items[last ? list->count - 1 : 0];
    return true;
}

bool power_jinja_filter_first(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    return edge(r, args, false, out);
}

bool power_jinja_filter_last(struct jinja_render *r, const struct jinja_args *args,
                             struct jinja_value *out) {
    return edge(r, args, true, out);
}

bool power_jinja_filter_items(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value v, pair;
    struct jinja_list *list;
    if (!power_jinja_spread(r, "items", "value", 1, args, &v) || !iterator(r, &list)) return false;
    *out = power_jinja_of_list(list);
    if (v.type == JINJA_UNDEFINED) return true;
    if (v.type != JINJA_DICT) {
        list->fault = "can only get item pairs from a mapping";
        return true;
    }
    for (size_t i = 0; i < v.as.dict->count; i++) {
        const struct jinja_entry *e = &v.as.dict->entries[i];
        if (!power_jinja_pair(r, e->key, e->value, &pair) || !power_jinja_push(r, list, pair))
            return false;
    }
    return power_jinja_steps(r, list->count);
}

bool power_jinja_filter_join(struct jinja_render *r, const struct jinja_args *args,
                             struct jinja_value *out) {
    struct jinja_value given[3], item;
    struct jinja_list *list;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, "join", "value,d,attribute", 1, args, given) ||
        !power_jinja_iterate(r, given[0], &list))
        return false;
    if (given[1].type == JINJA_MISSING) given[1] = power_jinja_borrow(POWER_TEXT(""));
    if (!power_jinja_to_text(r, given[1], &given[1])) return false;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = (i == 0 || power_jinja_put(r, &buffer, power_jinja_text(given[1]))) &&
             dotted(r, list->items[i], given[2], NULL, &item) && power_jinja_str(r, item, &buffer);
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* What Python's reversed() makes of a value; NULL where there is no such thing. */
static const char *reversed_name(struct jinja_value v) {
    static const char *const names[] = {[JINJA_PLAIN_LIST] = "list_reverseiterator",
                                        [JINJA_TUPLE] = "reversed",
                                        [JINJA_RANGE] = "range_iterator",
                                        [JINJA_KEYS] = "dict_reversekeyiterator",
                                        [JINJA_VALUES] = "dict_reversevalueiterator",
                                        [JINJA_ITEMS] = "dict_reverseitemiterator",
                                        [JINJA_ITERATOR] = NULL};
    if (v.type == JINJA_LIST) return names[v.as.list->kind];
    return v.type == JINJA_DICT ? names[JINJA_KEYS] : names[JINJA_TUPLE];
}

bool power_jinja_filter_reverse(struct jinja_render *r, const struct jinja_args *args,
                                struct jinja_value *out) {
    struct jinja_value v;
    struct jinja_list *from, *to;
    if (!power_jinja_spread(r, "reverse", "value", 1, args, &v)) return false;
    if (v.type == JINJA_TEXT)
        return power_jinja_slice(r, v, power_jinja_none(), power_jinja_none(), power_jinja_int(-1),
                                 out);
    const char *name = reversed_name(v);
    if (!power_jinja_iterate(r, v, &from)) return false;
    if (name ? !iterator(r, &to) : !(to = power_jinja_list(r, JINJA_PLAIN_LIST, from->count)))
        return false;
    if (name) to->type_name = name;
    for (size_t i = from->count; i-- > 0;) {
        if (!power_jinja_push(r, to, from->items[i])) return false;
    }
    *out = power_jinja_of_list(to);
    return true;
}

bool power_jinja_filter_sum(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    struct jinja_value given[3], item;
    struct jinja_list *list;
    if (!power_jinja_spread(r, "sum", "iterable,attribute,start", 1, args, given) ||
        !power_jinja_iterate(r, given[0], &list))
        return false;
    *out = given[2].type == JINJA_MISSING ? power_jinja_int(0) : given[2];
    if (out->type == JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "sum() can't sum strings");
    for (size_t i = 0; i < list->count; i++) {
        if (!dotted(r, list->items[i], given[1], NULL, &item) ||
            !power_jinja_binary(r, OP_ADD, *out, item, out))
            return false;
    }
    return true;
}

/* ---- order ---- */

struct sorter {
    struct jinja_render *r;
    struct jinja_value *keys;
    bool reverse;
    bool equal_first; /* keys that are equal are not compared: they may have no order */
};

static bool compare(struct sorter *s, uint32_t a, uint32_t b, int *out_sign) {
    *out_sign = 0;
    if (s->equal_first && power_jinja_equal(s->r, s->keys[a], s->keys[b])) return true;
    return power_jinja_order(s->r, s->keys[a], s->keys[b], "<", out_sign);
}

/* Stable; `order` gets the numbers of the keys in order. */
static bool merge_sort(struct sorter *s, size_t n, uint32_t **out_order) {
    uint32_t *order = power_arena_alloc(&s->r->arena, n + 1, 2 * sizeof *order);
    if (!order) return power_jinja_no_memory(s->r);
    uint32_t *from = order, *to = order + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n;
            size_t end = start + 2 * width < n ? start + 2 * width : n;
            for (size_t a = start, b = middle, k = start; k < end; k++) {
                int sign = 0;
                if (a < middle && b < end && !compare(s, from[b], from[a], &sign)) return false;
                bool before = s->reverse ? sign == 1 : sign == -1;
                to[k] = a == middle || (b < end && before) ? from[b++] : from[a++];
            }
        }
        if (!power_jinja_steps(s->r, n)) return false;
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    *out_order = from;
    return true;
}

/* a or a,b,c: one key or a list of keys */
static bool sort_key(struct jinja_render *r, struct jinja_value item, struct jinja_value attribute,
                     bool case_sensitive, const struct jinja_value *fallback,
                     struct jinja_value *out) {
    bool many = attribute.type == JINJA_TEXT && memchr(attribute.as.text, ',', attribute.length);
    if (!many)
        return dotted(r, item, attribute, fallback, out) && fold(r, *out, case_sensitive, out);
    struct jinja_list *keys = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    struct power_text rest = power_jinja_text(attribute);
    for (bool more = keys != NULL; more;) {
        const char *comma = rest.length ? memchr(rest.bytes, ',', rest.length) : NULL;
        size_t n = comma ? (size_t)(comma - rest.bytes) : rest.length;
        struct jinja_value key;
        if (!dotted(r, item, power_jinja_borrow((struct power_text){rest.bytes, n}), NULL, &key) ||
            !fold(r, key, case_sensitive, &key) || !power_jinja_push(r, keys, key))
            return false;
        more = comma != NULL;
        if (more) rest = (struct power_text){comma + 1, rest.length - n - 1};
    }
    if (!keys) return false;
    *out = power_jinja_of_list(keys);
    return true;
}

static bool sorted(struct jinja_render *r, const struct jinja_list *list,
                   struct jinja_value attribute, bool case_sensitive, bool reverse,
                   const struct jinja_value *fallback, struct jinja_list **out,
                   struct jinja_value **out_keys) {
    struct sorter s = {.r = r, .reverse = reverse, .equal_first = out_keys == NULL};
    uint32_t *order = NULL;
    s.keys = power_arena_alloc(&r->arena, list->count + 1, sizeof *s.keys);
    *out = power_jinja_list(r, JINJA_PLAIN_LIST, list->count);
    if (!s.keys || !*out) return power_jinja_no_memory(r);
    for (size_t i = 0; i < list->count; i++) {
        if (!sort_key(r, list->items[i], attribute, case_sensitive, fallback, &s.keys[i]))
            return false;
    }
    if (!merge_sort(&s, list->count, &order) || !order) return false;
    struct jinja_value *keys = power_arena_alloc(&r->arena, list->count + 1, sizeof *keys);
    if (!keys) return power_jinja_no_memory(r);
    for (size_t i = 0; i < list->count; i++) {
        (*out)->items[i] = list->items[order[i]];
        keys[i] = s.keys[order[i]];
    }
    (*out)->count = list->count;
    if (out_keys) *out_keys = keys;
    return true;
}

bool power_jinja_filter_sort(struct jinja_render *r, const struct jinja_args *args,
                             struct jinja_value *out) {
    struct jinja_value given[4];
    struct jinja_list *list, *result;
    if (!power_jinja_spread(r, "sort", "value,reverse,case_sensitive,attribute", 1, args, given) ||
        !power_jinja_iterate(r, given[0], &list) ||
        !sorted(r, list, given[3], given_true(given[2]), given_true(given[1]), NULL, &result, NULL))
        return false;
    *out = power_jinja_of_list(result);
    return true;
}

bool power_jinja_filter_dictsort(struct jinja_render *r, const struct jinja_args *args,
                                 struct jinja_value *out) {
    struct jinja_value given[4], pair;
    struct jinja_list *list = power_jinja_list(r, JINJA_PLAIN_LIST, 0), *result;
    if (!list ||
        !power_jinja_spread(r, "dictsort", "value,case_sensitive,by,reverse", 1, args, given))
        return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[0].type != JINJA_DICT)
        return power_jinja_raise(r, POWER_INVALID, "'%s' object has no attribute 'items'",
                                 power_jinja_type_name(given[0]));
    bool by_value = given[2].type == JINJA_TEXT &&
                    power_text_equal(power_jinja_text(given[2]), POWER_TEXT("value"));
    for (size_t i = 0; i < given[0].as.dict->count; i++) {
        const struct jinja_entry *e = &given[0].as.dict->entries[i];
        if (!power_jinja_pair(r, e->key, e->value, &pair) || !power_jinja_push(r, list, pair))
            return false;
    }
    if (!sorted(r, list, power_jinja_int(by_value), given_true(given[1]), given_true(given[3]),
                NULL, &result, NULL))
        return false;
    *out = power_jinja_of_list(result);
    return true;
}

static bool extreme(struct jinja_render *r, const struct jinja_args *args, bool max,
                    struct jinja_value *out) {
    struct jinja_value given[3], key, best;
    struct jinja_list *list;
    if (!power_jinja_spread(r, max ? "max" : "min", "value,case_sensitive,attribute", 1, args,
                            given) ||
        !power_jinja_iterate(r, given[0], &list))
        return false;
    if (list->count == 0)
        return power_jinja_undefined(r, POWER_TEXT("an item of an empty sequence"), NULL, false,
                                     out);
    for (size_t i = 0; i < list->count; i++) {
        int sign = 0;
        if (!dotted(r, list->items[i], given[2], NULL, &key) ||
            !fold(r, key, given_true(given[1]), &key))
            return false;
        if (i && !power_jinja_order(r, key, best, max ? ">" : "<", &sign)) return false;
        if (i && sign != (max ? 1 : -1)) continue;
        best = key;
        *out = list->items[i];
    }
    return true;
}

bool power_jinja_filter_max(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    return extreme(r, args, true, out);
}

bool power_jinja_filter_min(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    return extreme(r, args, false, out);
}

bool power_jinja_filter_unique(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value given[3], key;
    struct jinja_list *list, *result;
    struct jinja_dict *seen = power_jinja_dict(r);
    if (!seen ||
        !power_jinja_spread(r, "unique", "value,case_sensitive,attribute", 1, args, given) ||
        !power_jinja_iterate(r, given[0], &list) || !iterator(r, &result))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (!dotted(r, list->items[i], given[2], NULL, &key) ||
            !fold(r, key, given_true(given[1]), &key))
            return false;
        if (power_jinja_dict_get(seen, key)) continue;
        if (!power_jinja_dict_set(r, seen, key, power_jinja_none()) ||
            !power_jinja_push(r, result, list->items[i]))
            return false;
    }
    *out = power_jinja_of_list(result);
    return true;
}

bool power_jinja_filter_groupby(struct jinja_render *r, const struct jinja_args *args,
                                struct jinja_value *out) {
    struct jinja_value given[4], pair, *keys;
    struct jinja_list *list, *result = power_jinja_list(r, JINJA_PLAIN_LIST, 0), *group = NULL;
    if (!result ||
        !power_jinja_spread(r, "groupby", "value,attribute,default,case_sensitive", 2, args,
                            given) ||
        !power_jinja_iterate(r, given[0], &list) ||
        !sorted(r, list, given[1], given_true(given[3]), false, &given[2], &list, &keys))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (i == 0 || !power_jinja_equal(r, keys[i], keys[i - 1])) {
            struct jinja_value name;
            group = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
            if (!group || !dotted(r, list->items[i], given[1], &given[2], &name) ||
                !power_jinja_pair(r, name, power_jinja_of_list(group), &pair) ||
                !power_jinja_push(r, result, pair))
                return false;
            pair.as.list->type_name = "_GroupTuple"; /* has .grouper and .list */
        }
        if (!power_jinja_push(r, group, list->items[i])) return false;
    }
    *out = power_jinja_of_list(result);
    return true;
}

/* ---- map and select ---- */

/* Arguments behind the first `skip`, with room for the item in front. */
static bool rest_of(struct jinja_render *r, const struct jinja_args *args, size_t skip,
                    struct jinja_args *out) {
    size_t n = args->count > skip ? args->count - skip : 0;
    *out = *args;
    out->items = power_arena_alloc(&r->arena, n + 1, sizeof *out->items);
    if (!out->items) return power_jinja_no_memory(r);
    if (n) memcpy(out->items + 1, args->items + skip, n * sizeof *out->items);
    out->count = n + 1;
    return true;
}

static bool map_attribute(struct jinja_render *r, const struct jinja_args *args,
                          const struct jinja_list *list, struct jinja_list *result) {
    struct jinja_value given[3], item;
    if (!power_jinja_spread(r, "map", "value,attribute,default", 1, args, given)) return false;
    for (size_t i = 0; i < list->count; i++) {
        if (!dotted(r, list->items[i], given[1], &given[2], &item) ||
            !power_jinja_push(r, result, item))
            return false;
    }
    return true;
}

bool power_jinja_filter_map(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    struct jinja_list *list, *result;
    struct jinja_args rest;
    if (args->count == 0 || !iterator(r, &result)) return false;
    *out = power_jinja_of_list(result);
    if (!power_jinja_truth(args->items[0])) return true; /* whatever it is */
    if (!power_jinja_iterate(r, args->items[0], &list)) return false;
    if (args->count == 1 && args->n_keywords) return map_attribute(r, args, list, result);
    if (args->count < 2 || args->items[1].type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "map requires a filter argument");
    int id = power_jinja_filter_find(power_jinja_text(args->items[1]));
    if (id < 0)
        return power_jinja_raise(r, POWER_INVALID, "no filter named \"%s\"",
                                 power_quote(args->items[1].as.text, args->items[1].length).text);
    for (size_t i = 0; i < list->count; i++) {
        struct jinja_value v;
        if (!rest_of(r, args, 2, &rest)) return false;
        rest.items[0] = list->items[i];
        if (!power_jinja_filter(r, id, &rest, &v) || !power_jinja_push(r, result, v)) return false;
    }
    return true;
}

static bool select_where(struct jinja_render *r, const struct jinja_args *args, bool attribute,
                         bool keep, struct jinja_value *out) {
    struct jinja_list *list, *result;
    struct jinja_args rest;
    size_t at = attribute ? 2 : 1; /* of the test's name */
    if (args->count < at || !iterator(r, &result))
        return power_jinja_raise(r, POWER_INVALID, "missing parameter for attribute name");
    *out = power_jinja_of_list(result);
    if (!power_jinja_truth(args->items[0])) return true; /* whatever it is */
    if (!power_jinja_iterate(r, args->items[0], &list)) return false;
    int id = -1;
    if (args->count > at) {
        if (args->items[at].type == JINJA_TEXT)
            id = power_jinja_test_find(power_jinja_text(args->items[at]));
        if (id < 0) return power_jinja_raise(r, POWER_INVALID, "no test of that name");
    }
    for (size_t i = 0; i < list->count; i++) {
        struct jinja_value v = list->items[i];
        if (attribute && !dotted(r, v, args->items[1], NULL, &v)) return false;
        bool holds = id < 0 && power_jinja_truth(v);
        if (id >= 0) {
            if (!rest_of(r, args, at + 1, &rest)) return false;
            rest.items[0] = v;
            if (!power_jinja_test(r, id, &rest, &holds)) return false;
        }
        if (holds == keep && !power_jinja_push(r, result, list->items[i])) return false;
    }
    return true;
}

bool power_jinja_filter_select(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    return select_where(r, args, false, true, out);
}

bool power_jinja_filter_reject(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    return select_where(r, args, false, false, out);
}

bool power_jinja_filter_selectattr(struct jinja_render *r, const struct jinja_args *args,
                                   struct jinja_value *out) {
    return select_where(r, args, true, true, out);
}

bool power_jinja_filter_rejectattr(struct jinja_render *r, const struct jinja_args *args,
                                   struct jinja_value *out) {
    return select_where(r, args, true, false, out);
}

/* ---- columns ---- */

static bool columns(struct jinja_render *r, struct jinja_list *result,
                    const struct jinja_list *list, size_t from, size_t count, size_t padding,
                    struct jinja_value fill) {
    struct jinja_list *column = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    for (size_t i = 0; column && i < count; i++) {
        if (!power_jinja_push(r, column, list->items[from + i])) return false;
    }
    for (size_t i = 0; column && i < padding; i++) {
        if (!power_jinja_steps(r, 1) || !power_jinja_push(r, column, fill)) return false;
    }
    return column && power_jinja_push(r, result, power_jinja_of_list(column));
}

static bool cut(struct jinja_render *r, const char *name, const struct jinja_args *args,
                struct jinja_value given[3], int64_t *n, struct jinja_list **list,
                struct jinja_list **result) {
    if (!power_jinja_spread(r, name, "value,count,fill_with", 2, args, given) ||
        !power_jinja_iterate(r, given[0], list) || !iterator(r, result))
        return false;
    if (!power_jinja_as_int(given[1], n) || *n <= 0 || *n > 1000000)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes a count above 0", name);
    return true;
}

bool power_jinja_filter_batch(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value given[3];
    struct jinja_list *list, *result;
    int64_t n;
    if (!cut(r, "batch", args, given, &n, &list, &result)) return false;
    bool fill = given[2].type != JINJA_MISSING && given[2].type != JINJA_NONE;
    for (size_t at = 0; at < list->count; at += (size_t)n) {
        size_t count = list->count - at < (size_t)n ? list->count - at : (size_t)n;
        if (!columns(r, result, list, at, count, fill ? (size_t)n - count : 0, given[2]))
            return false;
    }
    *out = power_jinja_of_list(result);
    return true;
}

bool power_jinja_filter_slice(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value given[3];
    struct jinja_list *list, *result;
    int64_t n;
    if (!cut(r, "slice", args, given, &n, &list, &result)) return false;
    bool fill = given[2].type != JINJA_MISSING && given[2].type != JINJA_NONE;
    size_t each = list->count / (size_t)n, more = list->count % (size_t)n, at = 0;
    for (size_t i = 0; i < (size_t)n; i++) {
        size_t count = each + (i < more);
        if (!power_jinja_steps(r, 1) ||
            !columns(r, result, list, at, count, fill && i >= more ? 1 : 0, given[2]))
            return false;
        at += count;
    }
    *out = power_jinja_of_list(result);
    return true;
}
