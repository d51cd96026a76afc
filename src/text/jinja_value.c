/* SPDX-License-Identifier: MIT */
/* Job: values of templates: making, truth, equality, order, dictionaries.
 * Input: values. Output: values in the rendering's arena.
 * Threads: one per rendering. Bounds: the arena's maximum; dictionaries find keys by hash.
 * Equality and order are Python's: 1 == 1.0 == True, text by code points. */
#include "base/checked.h"
#include "base/hash.h"
#include "text/jinja.h"
#include "text/utf8.h"

struct jinja_value power_jinja_none(void) {
    return (struct jinja_value){.type = JINJA_NONE};
}

struct jinja_value power_jinja_bool(bool b) {
    return (struct jinja_value){.type = JINJA_BOOL, .as.b = b};
}

struct jinja_value power_jinja_int(int64_t i) {
    return (struct jinja_value){.type = JINJA_INT, .as.i = i};
}

struct jinja_value power_jinja_float(double f) {
    return (struct jinja_value){.type = JINJA_FLOAT, .as.f = f};
}

struct jinja_value power_jinja_borrow(struct power_text text) {
    return (struct jinja_value){
        .type = JINJA_TEXT, .length = text.length, .as.text = text.bytes ? text.bytes : ""};
}

struct power_text power_jinja_text(struct jinja_value v) {
    return (struct power_text){v.as.text, v.length};
}

bool power_jinja_copy(struct jinja_render *r, struct power_text text, struct jinja_value *out) {
    char *copy = power_arena_text(&r->arena, text.bytes, text.length);
    if (!copy) return power_jinja_no_memory(r);
    *out = power_jinja_borrow((struct power_text){copy, text.length});
    return true;
}

/* ---- lists ---- */

struct jinja_list *power_jinja_list(struct jinja_render *r, enum jinja_list_kind kind,
                                    size_t capacity) {
    struct jinja_list *list = power_arena_alloc(&r->arena, 1, sizeof *list);
    if (list) {
        list->kind = kind;
        list->capacity = capacity;
        list->type_name = "generator";
        list->items = capacity ? power_arena_alloc(&r->arena, capacity, sizeof *list->items) : NULL;
    }
    if (list && (list->items || !capacity)) return list;
    (void)power_jinja_no_memory(r);
    return NULL;
}

bool power_jinja_push(struct jinja_render *r, struct jinja_list *list, struct jinja_value v) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        struct jinja_value *items = power_arena_alloc(&r->arena, capacity, sizeof *items);
        if (!items) return power_jinja_no_memory(r);
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = v;
    return true;
}

struct jinja_value power_jinja_of_list(struct jinja_list *list) {
    return (struct jinja_value){.type = JINJA_LIST, .as.list = list};
}

bool power_jinja_pair(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                      struct jinja_value *out) {
    struct jinja_list *pair = power_jinja_list(r, JINJA_TUPLE, 2);
    if (!pair) return false;
    pair->items[0] = a;
    pair->items[1] = b;
    pair->count = 2;
    *out = power_jinja_of_list(pair);
    return true;
}

struct jinja_object *power_jinja_object(struct jinja_render *r, enum jinja_object_kind kind) {
    struct jinja_object *object = power_arena_alloc(&r->arena, 1, sizeof *object);
    if (object)
        object->kind = kind;
    else
        (void)power_jinja_no_memory(r);
    return object;
}

struct jinja_value power_jinja_of_object(struct jinja_object *object) {
    return (struct jinja_value){.type = JINJA_OBJECT, .as.object = object};
}

/* ---- numbers and truth ---- */

bool power_jinja_is_number(struct jinja_value v) {
    return v.type == JINJA_FLOAT || power_jinja_is_whole(v);
}

double power_jinja_as_double(struct jinja_value v) {
    if (v.type == JINJA_FLOAT) return v.as.f;
    if (v.type == JINJA_BIG) return power_jinja_whole_double(v);
    return v.type == JINJA_BOOL ? (double)v.as.b : (double)v.as.i;
}

bool power_jinja_as_int(struct jinja_value v, int64_t *out) {
    if (v.type != JINJA_BOOL && v.type != JINJA_INT) return false;
    *out = v.type == JINJA_BOOL ? v.as.b : v.as.i;
    return true;
}

bool power_jinja_truth(struct jinja_value v) {
    switch ((enum jinja_type)v.type) {
    case JINJA_BOOL:
        return v.as.b;
    case JINJA_INT:
        return v.as.i != 0;
    case JINJA_FLOAT:
        return v.as.f != 0.0;
    case JINJA_TEXT:
        return v.length != 0;
    case JINJA_LIST:
        return v.as.list->kind == JINJA_ITERATOR || v.as.list->count != 0;
    case JINJA_DICT:
        return v.as.dict->count != 0;
    case JINJA_OBJECT:
    case JINJA_BIG:
        return true;
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        break;
    }
    return false;
}

const char *power_jinja_type_name(struct jinja_value v) {
    static const char *const lists[] = {"list",      "tuple",       "range",
                                        "dict_keys", "dict_values", "dict_items"};
    static const char *const objects[] = {"Namespace", "Macro",       "builtin_function_or_method",
                                          "function",  "LoopContext", "Cycler",
                                          "Joiner"};
    switch ((enum jinja_type)v.type) {
    case JINJA_NONE:
        return "NoneType";
    case JINJA_BOOL:
        return "bool";
    case JINJA_INT:
    case JINJA_BIG:
        return "int";
    case JINJA_FLOAT:
        return "float";
    case JINJA_TEXT:
        return v.markup ? "Markup" : "str";
    case JINJA_LIST:
        return v.as.list->kind == JINJA_ITERATOR ? v.as.list->type_name : lists[v.as.list->kind];
    case JINJA_DICT:
        return "dict";
    case JINJA_OBJECT:
        return objects[v.as.object->kind];
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
        break;
    }
    return "Undefined";
}

/* ---- equality and order ---- */

static int order_text(struct power_text a, struct power_text b) {
    size_t n = a.length < b.length ? a.length : b.length;
    int order = n ? memcmp(a.bytes, b.bytes, n) : 0; /* UTF-8 sorts as its code points do */
    if (order) return order < 0 ? -1 : 1;
    return (a.length > b.length) - (a.length < b.length);
}

/* An integer beside a float, exactly; 2: not ordered (NaN). */
static int order_whole(struct jinja_value a, double f) {
    if (f != f) return 2;
    if (f >= -9007199254740992.0 && f <= 9007199254740992.0) {
        int64_t whole = (int64_t)f;
        int order = power_jinja_whole_order(a, power_jinja_int(whole));
        double fraction = f - (double)whole;
        return order ? order : (fraction < 0) - (fraction > 0);
    }
    /* a float of this size is an integer; beyond 64 bits the order of the exponents decides first
     */
    double near = power_jinja_as_double(a);
    if (near != f) return near > f ? 1 : -1;
    return power_jinja_whole_beside(a, f);
}

/* 2: not ordered (NaN) */
static int order_number(struct jinja_value a, struct jinja_value b) {
    int64_t i, j;
    if (power_jinja_as_int(a, &i) && power_jinja_as_int(b, &j)) return (i > j) - (i < j);
    if (power_jinja_is_whole(a) && power_jinja_is_whole(b)) return power_jinja_whole_order(a, b);
    if (power_jinja_is_whole(a)) return order_whole(a, b.as.f);
    if (power_jinja_is_whole(b)) {
        int order = order_whole(b, a.as.f);
        return order == 2 ? 2 : -order;
    }
    double x = a.as.f, y = b.as.f;
    if (x != x || y != y) return 2;
    return (x > y) - (x < y);
}

/* Lists that share parts can have more items than fit any memory. */
static bool take_steps(struct jinja_render *r, uint64_t n) {
    if (power_jinja_steps(r, n)) return true;
    r->steps_left = 0;
    return false;
}

static bool equal_lists(struct jinja_render *r, const struct jinja_list *a,
                        const struct jinja_list *b, unsigned depth);
static bool equal_dicts(struct jinja_render *r, const struct jinja_dict *a,
                        const struct jinja_dict *b, unsigned depth);

/* Values can't contain themselves; very deep ones (never from JSON) count as different. */
static bool equal_at(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                     unsigned depth) {
    if (depth > 1000) return false;
    if (power_jinja_is_number(a) && power_jinja_is_number(b)) return order_number(a, b) == 0;
    if (a.type != b.type) return false;
    switch ((enum jinja_type)a.type) {
    case JINJA_TEXT:
        return a.length == b.length && take_steps(r, a.length / 64) &&
               power_text_equal(power_jinja_text(a), power_jinja_text(b));
    case JINJA_LIST:
        return equal_lists(r, a.as.list, b.as.list, depth + 1);
    case JINJA_DICT:
        return equal_dicts(r, a.as.dict, b.as.dict, depth + 1);
    case JINJA_OBJECT:
        if (a.as.object->kind == JINJA_METHOD && b.as.object->kind == JINJA_METHOD)
            return a.as.object->id == b.as.object->id &&
                   equal_at(r, a.as.object->self, b.as.object->self, depth + 1);
        return a.as.object == b.as.object;
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
    case JINJA_NONE:
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_BIG:
    case JINJA_FLOAT:
        break;
    }
    return true;
}

static bool equal_lists(struct jinja_render *r, const struct jinja_list *a,
                        const struct jinja_list *b, unsigned depth) {
    if (a == b) return true;
    if (a->kind != b->kind || a->kind == JINJA_ITERATOR || a->kind == JINJA_VALUES) return false;
    if (a->count != b->count || !take_steps(r, a->count)) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!equal_at(r, a->items[i], b->items[i], depth)) return false;
    }
    return true;
}

static bool equal_dicts(struct jinja_render *r, const struct jinja_dict *a,
                        const struct jinja_dict *b, unsigned depth) {
    if (a == b) return true;
    if (a->count != b->count || !take_steps(r, a->count)) return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct jinja_value *other = power_jinja_dict_get(b, a->entries[i].key);
        if (!other || !equal_at(r, a->entries[i].value, *other, depth)) return false;
    }
    return true;
}

bool power_jinja_equal(struct jinja_render *r, struct jinja_value a, struct jinja_value b) {
    return equal_at(r, a, b, 0);
}

static bool order_lists(struct jinja_render *r, const struct jinja_list *a,
                        const struct jinja_list *b, const char *op, int *out) {
    size_t n = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < n; i++) {
        if (power_jinja_equal(r, a->items[i], b->items[i])) continue;
        if (!power_jinja_enter(r)) return false;
        bool ok = power_jinja_order(r, a->items[i], b->items[i], op, out);
        power_jinja_leave(r);
        return ok;
    }
    *out = (a->count > b->count) - (a->count < b->count);
    return true;
}

bool power_jinja_order(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                       const char *op, int *out) {
    if (power_jinja_is_number(a) && power_jinja_is_number(b)) {
        *out = order_number(a, b);
        return true;
    }
    if (a.type == JINJA_TEXT && b.type == JINJA_TEXT) {
        *out = order_text(power_jinja_text(a), power_jinja_text(b));
        return power_jinja_steps(r, (a.length < b.length ? a.length : b.length) / 64);
    }
    if (a.type == JINJA_LIST && b.type == JINJA_LIST && a.as.list->kind == b.as.list->kind &&
        a.as.list->kind <= JINJA_TUPLE)
        return order_lists(r, a.as.list, b.as.list, op, out);
    if (a.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, a);
    if (b.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, b);
    return power_jinja_raise(r, POWER_INVALID,
                             "'%s' not supported between instances of '%s' and '%s'", op,
                             power_jinja_type_name(a), power_jinja_type_name(b));
}

/* ---- dictionaries ---- */

bool power_jinja_hashable(struct jinja_value v) {
    if (v.type == JINJA_DICT) return false;
    if (v.type != JINJA_LIST) return true;
    if (v.as.list->kind == JINJA_PLAIN_LIST || v.as.list->kind == JINJA_KEYS ||
        v.as.list->kind == JINJA_ITEMS)
        return false;
    for (size_t i = 0; v.as.list->kind == JINJA_TUPLE && i < v.as.list->count; i++) {
        struct jinja_value item = v.as.list->items[i];
        bool deep = item.type == JINJA_LIST && item.as.list->kind == JINJA_TUPLE;
        if (deep ? item.as.list->count > 64 : !power_jinja_hashable(item)) return false;
    }
    return true;
}

static uint64_t hash_number(const struct jinja_render *r, uint64_t bits) {
    return power_hash_text(r->hash_key, (struct power_text){(const char *)&bits, sizeof bits});
}

static uint64_t hash_value(struct jinja_render *r, struct jinja_value v, unsigned depth);

/* The first items of a tuple, and of tuples in it. */
static uint64_t hash_list(struct jinja_render *r, const struct jinja_list *list, unsigned depth) {
    uint64_t h = list->count + 77;
    for (size_t i = 0; list->kind == JINJA_TUPLE && depth < 3 && i < list->count && i < 4; i++)
        h = hash_number(r, h ^ hash_value(r, list->items[i], depth + 1));
    return h;
}

/* Equal values have equal hashes. */
static uint64_t hash_value(struct jinja_render *r, struct jinja_value v, unsigned depth) {
    int64_t i;
    if (power_jinja_as_int(v, &i)) return hash_number(r, (uint64_t)i);
    switch ((enum jinja_type)v.type) {
    case JINJA_BIG:
    case JINJA_FLOAT: {
        const double f = power_jinja_as_double(v), limit = 9223372036854775808.0;
        bool whole = f >= -limit && f < limit && (double)(int64_t)f == f;
        uint64_t bits;
        memcpy(&bits, &f, sizeof bits);
        return hash_number(r, whole ? (uint64_t)(int64_t)f : bits);
    }
    case JINJA_TEXT:
        return take_steps(r, v.length / 64) ? power_hash_text(r->hash_key, power_jinja_text(v)) : 0;
    case JINJA_LIST:
        return hash_list(r, v.as.list, depth);
    case JINJA_OBJECT:
        return v.as.object->kind == JINJA_METHOD ? 1 : hash_number(r, (uintptr_t)v.as.object);
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
    case JINJA_NONE:
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_DICT:
        break;
    }
    return v.type;
}

struct jinja_dict *power_jinja_dict(struct jinja_render *r) {
    struct jinja_dict *dict = power_arena_alloc(&r->arena, 1, sizeof *dict);
    if (!dict) return (void)power_jinja_no_memory(r), NULL;
    dict->render = r;
    return dict;
}

static size_t find_entry(const struct jinja_dict *dict, struct jinja_value key, uint64_t hash) {
    if (!dict->slots) {
        for (size_t i = 0; i < dict->count; i++) {
            if (dict->entries[i].hash == hash &&
                power_jinja_equal(dict->render, dict->entries[i].key, key))
                return i;
        }
        return SIZE_MAX;
    }
    for (size_t at = hash & (dict->n_slots - 1); dict->slots[at];
         at = (at + 1) & (dict->n_slots - 1)) {
        const struct jinja_entry *e = &dict->entries[dict->slots[at] - 1];
        if (e->hash == hash && power_jinja_equal(dict->render, e->key, key))
            return dict->slots[at] - 1;
    }
    return SIZE_MAX;
}

static void put_slot(struct jinja_dict *dict, size_t entry) {
    size_t at = dict->entries[entry].hash & (dict->n_slots - 1);
    while (dict->slots[at])
        at = (at + 1) & (dict->n_slots - 1);
    dict->slots[at] = (uint32_t)entry + 1;
}

static bool grow(struct jinja_render *r, struct jinja_dict *dict) {
    size_t capacity = dict->capacity ? dict->capacity * 2 : 8;
    if (capacity > UINT32_MAX / 4) return power_jinja_no_memory(r);
    struct jinja_entry *entries = power_arena_alloc(&r->arena, capacity, sizeof *entries);
    if (!entries) return power_jinja_no_memory(r);
    if (dict->count) memcpy(entries, dict->entries, dict->count * sizeof *entries);
    dict->entries = entries;
    dict->capacity = capacity;
    if (capacity <= 8) return true;
    dict->slots = power_arena_alloc(&r->arena, capacity * 2, sizeof *dict->slots);
    if (!dict->slots) return power_jinja_no_memory(r);
    dict->n_slots = capacity * 2;
    for (size_t i = 0; i < dict->count; i++)
        put_slot(dict, i);
    return true;
}

bool power_jinja_dict_set(struct jinja_render *r, struct jinja_dict *dict, struct jinja_value key,
                          struct jinja_value v) {
    if (!power_jinja_hashable(key))
        return power_jinja_raise(r, POWER_INVALID, "unhashable type: '%s'",
                                 power_jinja_type_name(key));
    uint64_t hash = hash_value(dict->render, key, 0);
    size_t at = find_entry(dict, key, hash);
    if (at != SIZE_MAX) {
        dict->entries[at].value = v;
        return true;
    }
    if (dict->count == dict->capacity && !grow(r, dict)) return false;
    dict->entries[dict->count] = (struct jinja_entry){key, v, hash};
    dict->count++;
    if (dict->slots) put_slot(dict, dict->count - 1);
    return true;
}

const struct jinja_value *power_jinja_dict_get(const struct jinja_dict *dict,
                                               struct jinja_value key) {
    if (!power_jinja_hashable(key)) return NULL;
    size_t at = find_entry(dict, key, hash_value(dict->render, key, 0));
    return at == SIZE_MAX ? NULL : &dict->entries[at].value;
}

const struct jinja_value *power_jinja_dict_find(const struct jinja_dict *dict,
                                                struct power_text key) {
    return power_jinja_dict_get(dict, power_jinja_borrow(key));
}
