/* SPDX-License-Identifier: MIT */
/* Job: Python's binary operators on template values.
 * Input: two values. Output: a value, or an error as Python raises.
 * Threads: one per rendering. Bounds: repeated text
 * and lists stay below the output budget. */
#include <math.h>

#include "text/jinja.h"

static const char *op_text(enum jinja_op op) {
    static const char *const texts[] = {"", "+", "-", "*", "/", "//", "%", "** or pow()"};
    return op <= OP_POW ? texts[op] : "?";
}

static bool type_error(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                       struct jinja_value b) {
    if (op == OP_ADD && a.type == JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "can only concatenate str (not \"%s\") to str",
                                 power_jinja_type_name(b));
    return power_jinja_raise(r, POWER_INVALID, "unsupported operand type(s) for %s: '%s' and '%s'",
                             op_text(op), power_jinja_type_name(a), power_jinja_type_name(b));
}

/* Operations that stay within 64 bits; false when another way must be taken. */
static bool small_op(enum jinja_op op, int64_t a, int64_t b, struct jinja_value *out) {
    int64_t c = 0;
    bool overflow = true;
    if (op == OP_ADD) overflow = __builtin_add_overflow(a, b, &c);
    if (op == OP_SUB) overflow = __builtin_sub_overflow(a, b, &c);
    if (op == OP_MUL) overflow = __builtin_mul_overflow(a, b, &c);
    if ((op == OP_FLOOR || op == OP_MOD) && b > 0) {
        overflow = false;
        int64_t rest = a % b;
        c = op == OP_MOD ? (rest < 0 ? rest + b : rest) : a / b - (rest < 0);
    }
    if (!overflow) *out = power_jinja_int(c);
    return !overflow;
}

static bool float_op(struct jinja_render *r, enum jinja_op op, double a, double b,
                     struct jinja_value *out) {
    double c = 0;
    if ((op == OP_DIV || op == OP_FLOOR || op == OP_MOD) && b == 0.0)
        return power_jinja_raise(r, POWER_INVALID,
                                 op == OP_DIV   ? "float division by zero"
                                 : op == OP_MOD ? "float modulo"
                                                : "float floor division by zero");
    double rest = op == OP_FLOOR || op == OP_MOD ? fmod(a, b) : 0, whole = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        whole -= 1;
    }
    switch ((int)op) {
    case OP_ADD:
        c = a + b;
        break;
    case OP_SUB:
        c = a - b;
        break;
    case OP_MUL:
        c = a * b;
        break;
    case OP_DIV:
        c = a / b;
        break;
    case OP_FLOOR:
        c = whole != 0 ? floor(whole) : copysign(0.0, a / b);
        if (whole - c > 0.5) c += 1;
        break;
    case OP_MOD:
        c = rest != 0 ? rest : copysign(0.0, b);
        break;
    default:
        c = pow(a, b);
        if (isnan(c) && !isnan(a) && !isnan(b))
            return power_jinja_raise(r, POWER_UNSUPPORTED, "complex numbers are not supported");
        if (isinf(c) && !isinf(a) && !isinf(b))
            return power_jinja_raise(r, POWER_INVALID, "numerical result out of range");
    }
    *out = power_jinja_float(c);
    return true;
}

static bool concat_text(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                        struct jinja_value *out) {
    bool markup = a.markup || b.markup;
    if (markup && (!power_jinja_escape(r, a, &a) || !power_jinja_escape(r, b, &b))) return false;
    if (!power_jinja_steps(r, (a.length + b.length) / 64)) return false;
    if (a.length > r->max_output_bytes || b.length > r->max_output_bytes - a.length)
        return power_jinja_raise(r, POWER_LIMIT, "text is longer than %zu bytes",
                                 r->max_output_bytes);
    unsigned char *origins;
    char *both = power_jinja_text_room(r, a.length + b.length, &origins);
    if (!both) return power_jinja_no_memory(r);
    if (origins) power_jinja_origins(r, power_jinja_text(a), origins);
    if (origins) power_jinja_origins(r, power_jinja_text(b), origins + a.length);
    if (a.length) memcpy(both, a.as.text, a.length);
    if (b.length) memcpy(both + a.length, b.as.text, b.length);
    *out = power_jinja_borrow((struct power_text){both, a.length + b.length});
    out->markup = markup;
    return true;
}

static bool concat_lists(struct jinja_render *r, const struct jinja_list *a,
                         const struct jinja_list *b, struct jinja_value *out) {
    if (!power_jinja_steps(r, a->count + b->count)) return false;
    struct jinja_list *list = power_jinja_list(r, a->kind, a->count + b->count);
    if (!list) return false;
    if (a->count) memcpy(list->items, a->items, a->count * sizeof *list->items);
    if (b->count) memcpy(list->items + a->count, b->items, b->count * sizeof *list->items);
    list->count = a->count + b->count;
    *out = power_jinja_of_list(list);
    return true;
}

static bool repeat_text(struct jinja_render *r, struct jinja_value v, int64_t times,
                        struct jinja_value *out) {
    size_t n = times > 0 ? (size_t)times : 0, total;
    if (__builtin_mul_overflow(n, v.length, &total) || total > r->max_output_bytes)
        return power_jinja_raise(r, POWER_LIMIT, "text is longer than %zu bytes",
                                 r->max_output_bytes);
    if (!power_jinja_steps(r, total / 64)) return false;
    unsigned char *origins;
    char *bytes = power_jinja_text_room(r, total, &origins);
    if (!bytes) return power_jinja_no_memory(r);
    for (size_t i = 0; v.length && i < n; i++) {
        memcpy(bytes + i * v.length, v.as.text, v.length);
        if (origins) power_jinja_origins(r, power_jinja_text(v), origins + i * v.length);
    }
    *out = power_jinja_borrow((struct power_text){bytes, total});
    out->markup = v.markup;
    return true;
}

static bool repeat_list(struct jinja_render *r, const struct jinja_list *from, int64_t times,
                        struct jinja_value *out) {
    size_t n = times > 0 ? (size_t)times : 0, total;
    if (__builtin_mul_overflow(n, from->count, &total) || !power_jinja_steps(r, total))
        return power_jinja_raise(r, POWER_LIMIT, "list is too long");
    struct jinja_list *list = power_jinja_list(r, from->kind, total);
    for (size_t i = 0; list && i < total; i++)
        list->items[list->count++] = from->items[i % from->count];
    if (!list) return false;
    *out = power_jinja_of_list(list);
    return true;
}

static bool is_sequence(struct jinja_value v) {
    return v.type == JINJA_LIST && v.as.list->kind <= JINJA_TUPLE;
}

static bool repeat(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                   struct jinja_value *out) {
    int64_t times;
    if (power_jinja_as_int(a, &times)) {
        struct jinja_value swap = a;
        a = b;
        b = swap;
    }
    if (!power_jinja_as_int(b, &times)) return type_error(r, OP_MUL, a, b);
    if (a.type == JINJA_TEXT) return repeat_text(r, a, times, out);
    if (is_sequence(a)) return repeat_list(r, a.as.list, times, out);
    return type_error(r, OP_MUL, a, b);
}

/* text % values: a tuple holds several. */
static bool percent(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                    struct jinja_value *out) {
    struct jinja_args args = {.items = &b, .count = 1};
    bool tuple = b.type == JINJA_LIST && b.as.list->kind == JINJA_TUPLE;
    if (tuple) {
        args.items = b.as.list->items;
        args.count = b.as.list->count;
    }
    return power_jinja_percent(r, power_jinja_text(a), &args, !tuple, out);
}

bool power_jinja_to_double(struct jinja_render *r, struct jinja_value v, double *out) {
    *out = power_jinja_as_double(v);
    return v.type != JINJA_BIG || isfinite(*out) ||
           power_jinja_raise(r, POWER_INVALID, "int too large to convert to float");
}

bool power_jinja_binary(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                        struct jinja_value b, struct jinja_value *out) {
    int64_t i, j;
    double x, y;
    if (a.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, a);
    if (b.type == JINJA_UNDEFINED && !(op == OP_MOD && a.type == JINJA_TEXT))
        return power_jinja_raise_undefined(r, b);
    if (power_jinja_as_int(a, &i) && power_jinja_as_int(b, &j) && small_op(op, i, j, out))
        return true;
    if (power_jinja_is_whole(a) && power_jinja_is_whole(b))
        return power_jinja_whole_op(r, op, a, b, out);
    if (power_jinja_is_number(a) && power_jinja_is_number(b))
        return power_jinja_to_double(r, a, &x) && power_jinja_to_double(r, b, &y) &&
               float_op(r, op, x, y, out);
    if (op == OP_MOD && a.type == JINJA_TEXT) return percent(r, a, b, out);
    if (op == OP_MUL) return repeat(r, a, b, out);
    if (op == OP_ADD && a.type == JINJA_TEXT && b.type == JINJA_TEXT)
        return concat_text(r, a, b, out);
    if (op == OP_ADD && is_sequence(a) && is_sequence(b) && a.as.list->kind == b.as.list->kind)
        return concat_lists(r, a.as.list, b.as.list, out);
    return type_error(r, op, a, b);
}
