/* SPDX-License-Identifier: MIT */
/* Job: calls: global functions, methods, macros, loops; arguments over parameters.
 * Input: a callee and arguments. Output: a value.
 * Threads: one per rendering. Bounds: range has at most 100,000 items, as in Jinja2's sandbox. */
#include <stdio.h>

#include "text/jinja.h"

#define MAX_RANGE 100000

enum global_function {
    FUNCTION_RANGE,
    FUNCTION_DICT,
    FUNCTION_NAMESPACE,
    FUNCTION_CYCLER,
    FUNCTION_JOINER,
    FUNCTION_RAISE,
    FUNCTION_STRFTIME,
    FUNCTION_LOOP_CYCLE,
    FUNCTION_LOOP_CHANGED
};

static const char *const globals[] = {
    "range", "dict", "namespace", "cycler", "joiner", "raise_exception", "strftime_now"};

static bool make_function(struct jinja_render *r, int id, struct power_text name,
                          struct jinja_loop *loop, struct jinja_value *out) {
    struct jinja_object *object = power_jinja_object(r, JINJA_FUNCTION);
    if (!object) return false;
    object->id = id;
    object->name = name;
    object->loop = loop;
    *out = power_jinja_of_object(object);
    return true;
}

bool power_jinja_global(struct jinja_render *r, struct power_text name, struct jinja_value *out) {
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (power_text_equal(name, power_text_of(globals[i])))
            return make_function(r, (int)i, name, NULL, out);
    }
    if (power_text_equal(name, POWER_TEXT("self")) || power_text_equal(name, POWER_TEXT("lipsum")))
        (void)power_jinja_raise(r, POWER_UNSUPPORTED, "\"%.*s\" is not supported", (int)name.length,
                                name.bytes);
    return false;
}

/* ---- arguments over parameters ---- */

static bool name_at(const char *names, size_t index, struct power_text *out) {
    for (;; index--) {
        size_t n = strcspn(names, ",");
        *out = (struct power_text){names, n};
        if (index == 0) return *names != 0;
        if (!names[n]) return false;
        names += n + 1;
    }
}

bool power_jinja_spread(struct jinja_render *r, const char *function, const char *names,
                        size_t required, const struct jinja_args *args, struct jinja_value *out) {
    struct power_text name;
    size_t count = 0;
    const bool by_position = strchr(names, '/') != NULL;
    while (name_at(names, count, &name) && name.bytes[0] != '/')
        out[count++] = (struct jinja_value){.type = JINJA_MISSING};
    if (args->count > count)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes at most %zu arguments (%zu given)",
                                 function, count, args->count);
    for (size_t i = 0; i < args->count; i++)
        out[i] = args->items[i];
    for (size_t k = 0; k < args->n_keywords; k++) {
        size_t i = 0;
        while (name_at(names, i, &name) && !power_text_equal(name, args->keywords[k].name))
            i++;
        if (by_position || i >= count || out[i].type != JINJA_MISSING)
            return power_jinja_raise(
                r, POWER_INVALID, "%s() got an unexpected keyword argument '%s'", function,
                power_quote(args->keywords[k].name.bytes, args->keywords[k].name.length).text);
        out[i] = args->keywords[k].value;
    }
    for (size_t i = 0; i < required; i++) {
        if (out[i].type != JINJA_MISSING) continue;
        (void)name_at(names, i, &name);
        return power_jinja_raise(r, POWER_INVALID, "%s() misses its argument '%.*s'", function,
                                 (int)name.length, name.bytes);
    }
    return true;
}

/* ---- global functions ---- */

static bool call_range(struct jinja_render *r, const struct jinja_args *args,
                       struct jinja_value *out) {
    int64_t bound[3] = {0, 0, 1};
    if (args->count < 1 || args->count > 3 || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "range expected 1 to 3 arguments, got %zu",
                                 args->count);
    for (size_t i = 0; i < args->count; i++) {
        if (args->items[i].type == JINJA_UNDEFINED)
            return power_jinja_raise_undefined(r, args->items[i]);
        if (!power_jinja_as_int(args->items[i], &bound[args->count == 1 ? 1 : i]))
            return power_jinja_raise(r, POWER_INVALID,
                                     "'%s' object cannot be interpreted as an integer",
                                     power_jinja_type_name(args->items[i]));
    }
    if (bound[2] == 0) return power_jinja_raise(r, POWER_INVALID, "range() arg 3 must not be zero");
    struct jinja_list *list = power_jinja_list(r, JINJA_RANGE, 0);
    if (!list) return false;
    memcpy(list->bounds, bound, sizeof bound);
    for (int64_t i = bound[0]; bound[2] > 0 ? i < bound[1] : i > bound[1];) {
        if (list->count == MAX_RANGE)
            return power_jinja_raise(r, POWER_LIMIT,
                                     "range too big, the sandbox blocks ranges larger than %d",
                                     MAX_RANGE);
        if (!power_jinja_steps(r, 1) || !power_jinja_push(r, list, power_jinja_int(i)))
            return false;
        if (__builtin_add_overflow(i, bound[2], &i)) break;
    }
    *out = power_jinja_of_list(list);
    return true;
}

/* dict(mapping or pairs, key=value, ...), and the same for namespace() */
static bool fill_dict(struct jinja_render *r, const char *function, const struct jinja_args *args,
                      struct jinja_dict *dict) {
    if (args->count > 1)
        return power_jinja_raise(r, POWER_INVALID, "%s expected at most 1 argument, got %zu",
                                 function, args->count);
    if (args->count && args->items[0].type == JINJA_UNDEFINED)
        return power_jinja_raise_undefined(r, args->items[0]);
    if (args->count && args->items[0].type == JINJA_DICT) {
        const struct jinja_dict *from = args->items[0].as.dict;
        for (size_t i = 0; i < from->count; i++) {
            if (!power_jinja_dict_set(r, dict, from->entries[i].key, from->entries[i].value))
                return false;
        }
    } else if (args->count) {
        struct jinja_list *pairs, *pair;
        if (!power_jinja_iterate(r, args->items[0], &pairs)) return false;
        for (size_t i = 0; i < pairs->count; i++) {
            if (!power_jinja_iterate(r, pairs->items[i], &pair)) return false;
            if (pair->count != 2)
                return power_jinja_raise(r, POWER_INVALID,
                                         "%s: element %zu has length %zu, 2 is required", function,
                                         i, pair->count);
            if (!power_jinja_dict_set(r, dict, pair->items[0], pair->items[1])) return false;
        }
    }
    for (size_t i = 0; i < args->n_keywords; i++) {
        if (!power_jinja_dict_set(r, dict, power_jinja_borrow(args->keywords[i].name),
                                  args->keywords[i].value))
            return false;
    }
    return true;
}

static bool call_dict(struct jinja_render *r, bool namespace, const struct jinja_args *args,
                      struct jinja_value *out) {
    struct jinja_dict *dict = power_jinja_dict(r);
    if (!dict || !fill_dict(r, namespace ? "namespace" : "dict", args, dict)) return false;
    *out = (struct jinja_value){.type = JINJA_DICT, .as.dict = dict};
    if (!namespace) return true;
    struct jinja_object *object = power_jinja_object(r, JINJA_NAMESPACE);
    if (!object) return false;
    object->dict = dict;
    *out = power_jinja_of_object(object);
    return true;
}

static bool call_cycler(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out) {
    struct jinja_object *object = power_jinja_object(r, JINJA_CYCLER);
    if (!object || !(object->list = power_jinja_list(r, JINJA_TUPLE, 0))) return false;
    if (args->count == 0)
        return power_jinja_raise(r, POWER_INVALID, "at least one item has to be provided");
    for (size_t i = 0; i < args->count; i++) {
        if (!power_jinja_push(r, object->list, args->items[i])) return false;
    }
    *out = power_jinja_of_object(object);
    return true;
}

static bool call_joiner(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out) {
    struct jinja_value sep;
    struct jinja_object *object = power_jinja_object(r, JINJA_JOINER);
    if (!object || !power_jinja_spread(r, "joiner", "sep", 0, args, &sep)) return false;
    object->text = sep.type == JINJA_MISSING ? power_jinja_borrow(POWER_TEXT(", ")) : sep;
    *out = power_jinja_of_object(object);
    return true;
}

static bool call_raise(struct jinja_render *r, const struct jinja_args *args) {
    struct jinja_value message, text;
    if (!power_jinja_spread(r, "raise_exception", "message", 1, args, &message) ||
        !power_jinja_to_text(r, message, &text))
        return false;
    struct power_text shown = power_jinja_text(text);
    char line[180];
    size_t n = shown.length < sizeof line - 1 ? shown.length : sizeof line - 1;
    for (size_t i = 0; i < n; i++)
        line[i] = (unsigned char)shown.bytes[i] < 0x20 ? ' ' : shown.bytes[i];
    while (n > 0 && n < shown.length && ((unsigned char)shown.bytes[n] & 0xC0) == 0x80)
        n--; /* cut at a character */
    line[n] = 0;
    return power_jinja_raise(r, POWER_INVALID, "%s", line);
}

static bool call_strftime(struct jinja_render *r, const struct jinja_args *args,
                          struct jinja_value *out) {
    struct jinja_value format;
    if (!power_jinja_spread(r, "strftime_now", "format", 1, args, &format)) return false;
    if (format.type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "strftime_now() argument must be str, not %s",
                                 power_jinja_type_name(format));
    return power_jinja_strftime(r, power_jinja_text(format), out);
}

static bool loop_cycle(struct jinja_render *r, const struct jinja_loop *loop,
                       const struct jinja_args *args, struct jinja_value *out) {
    if (args->count == 0) return power_jinja_raise(r, POWER_INVALID, "no items for cycling given");
    *out = args->items[loop->index0 % args->count];
    return true;
}

static bool loop_changed(struct jinja_render *r, struct jinja_loop *loop,
                         const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_list *now = power_jinja_list(r, JINJA_TUPLE, 0);
    for (size_t i = 0; now && i < args->count; i++) {
        if (!power_jinja_push(r, now, args->items[i])) return false;
    }
    if (!now) return false;
    struct jinja_value v = power_jinja_of_list(now);
    *out = power_jinja_bool(!loop->has_changed || !power_jinja_equal(r, loop->last_changed, v));
    loop->has_changed = true;
    loop->last_changed = v;
    return true;
}

static bool call_function(struct jinja_render *r, const struct jinja_object *f,
                          const struct jinja_args *args, struct jinja_value *out) {
    switch (f->id) {
    case FUNCTION_RANGE:
        return call_range(r, args, out);
    case FUNCTION_DICT:
        return call_dict(r, false, args, out);
    case FUNCTION_NAMESPACE:
        return call_dict(r, true, args, out);
    case FUNCTION_CYCLER:
        return call_cycler(r, args, out);
    case FUNCTION_JOINER:
        return call_joiner(r, args, out);
    case FUNCTION_RAISE:
        return call_raise(r, args);
    case FUNCTION_STRFTIME:
        return call_strftime(r, args, out);
    case FUNCTION_LOOP_CYCLE:
        return loop_cycle(r, f->loop, args, out);
    default:
        return loop_changed(r, f->loop, args, out);
    }
}

/* ---- loop attributes ---- */

bool power_jinja_loop_attribute(struct jinja_render *r, struct jinja_loop *loop,
                                struct power_text name, struct jinja_value *out, bool *out_found) {
    static const char *const numbers[] = {"index",  "index0", "revindex", "revindex0",
                                          "length", "depth",  "depth0"};
    int64_t count = (int64_t)loop->items->count, at = (int64_t)loop->index0;
    int64_t values[] = {
        at + 1, at, count - at, count - at - 1, count, (int64_t)loop->depth0 + 1, loop->depth0};
    *out_found = true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!power_text_equal(name, power_text_of(numbers[i]))) continue;
        *out = power_jinja_int(values[i]);
        return true;
    }
    bool first = power_text_equal(name, POWER_TEXT("first"));
    if (first || power_text_equal(name, POWER_TEXT("last"))) {
        *out = power_jinja_bool(first ? at == 0 : at == count - 1);
        return true;
    }
    bool previous = power_text_equal(name, POWER_TEXT("previtem"));
    if (previous || power_text_equal(name, POWER_TEXT("nextitem"))) {
        int64_t other = previous ? at - 1 : at + 1;
        if (other < 0 || other >= count) return power_jinja_undefined(r, name, NULL, false, out);
        *out = loop->items->items[other];
        return true;
    }
    if (power_text_equal(name, POWER_TEXT("cycle")))
        return make_function(r, FUNCTION_LOOP_CYCLE, name, loop, out);
    if (power_text_equal(name, POWER_TEXT("changed")))
        return make_function(r, FUNCTION_LOOP_CHANGED, name, loop, out);
    *out_found = false;
    return true;
}

/* ---- calls ---- */

bool power_jinja_call(struct jinja_render *r, struct jinja_value callee,
                      const struct jinja_args *args, struct jinja_value *out) {
    if (callee.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, callee);
    if (callee.type == JINJA_OBJECT) {
        struct jinja_object *object = callee.as.object;
        switch (object->kind) {
        case JINJA_FUNCTION:
            return call_function(r, object, args, out);
        case JINJA_METHOD:
            return power_jinja_method(r, object->self, object->id, args, out);
        case JINJA_MACRO:
            return power_jinja_call_macro(r, object, args, out);
        case JINJA_LOOP:
            return power_jinja_call_loop(r, object->loop, args, out);
        case JINJA_JOINER:
            *out = object->at++ ? object->text : power_jinja_borrow(POWER_TEXT(""));
            return true;
        case JINJA_NAMESPACE:
        case JINJA_CYCLER:
            break;
        }
    }
    return power_jinja_raise(r, POWER_INVALID, "'%s' object is not callable",
                             power_jinja_type_name(callee));
}
