/* SPDX-License-Identifier: MIT */
/* Job: the tests of templates (`x is defined`).
 * Input: the value and arguments. Output: true or false.
 * Threads: one per rendering. Bounds: constant but for `in` and comparisons. */
#include "text/jinja.h"
#include "text/split_class.h"

enum test {
    TEST_DEFINED,
    TEST_UNDEFINED,
    TEST_NONE,
    TEST_BOOLEAN,
    TEST_TRUE,
    TEST_FALSE,
    TEST_INTEGER,
    TEST_FLOAT,
    TEST_NUMBER,
    TEST_STRING,
    TEST_MAPPING,
    TEST_SEQUENCE,
    TEST_ITERABLE,
    TEST_CALLABLE,
    TEST_ODD,
    TEST_EVEN,
    TEST_DIVISIBLE,
    TEST_LOWER,
    TEST_UPPER,
    TEST_SAME,
    TEST_ESCAPED,
    TEST_IN,
    TEST_FILTER,
    TEST_TEST,
    TEST_EQ,
    TEST_NE,
    TEST_LT,
    TEST_LE,
    TEST_GT,
    TEST_GE
};

static const struct {
    const char *name;
    enum test test;
    unsigned char args; /* beside the value */
} tests[] = {{"defined", TEST_DEFINED, 0},
             {"undefined", TEST_UNDEFINED, 0},
             {"none", TEST_NONE, 0},
             {"boolean", TEST_BOOLEAN, 0},
             {"true", TEST_TRUE, 0},
             {"false", TEST_FALSE, 0},
             {"integer", TEST_INTEGER, 0},
             {"float", TEST_FLOAT, 0},
             {"number", TEST_NUMBER, 0},
             {"string", TEST_STRING, 0},
             {"mapping", TEST_MAPPING, 0},
             {"sequence", TEST_SEQUENCE, 0},
             {"iterable", TEST_ITERABLE, 0},
             {"callable", TEST_CALLABLE, 0},
             {"odd", TEST_ODD, 0},
             {"even", TEST_EVEN, 0},
             {"divisibleby", TEST_DIVISIBLE, 1},
             {"lower", TEST_LOWER, 0},
             {"upper", TEST_UPPER, 0},
             {"sameas", TEST_SAME, 1},
             {"escaped", TEST_ESCAPED, 0},
             {"in", TEST_IN, 1},
             {"filter", TEST_FILTER, 0},
             {"test", TEST_TEST, 0},
             {"eq", TEST_EQ, 1},
             {"equalto", TEST_EQ, 1},
             {"==", TEST_EQ, 1},
             {"ne", TEST_NE, 1},
             {"!=", TEST_NE, 1},
             {"lt", TEST_LT, 1},
             {"lessthan", TEST_LT, 1},
             {"<", TEST_LT, 1},
             {"le", TEST_LE, 1},
             {"<=", TEST_LE, 1},
             {"gt", TEST_GT, 1},
             {"greaterthan", TEST_GT, 1},
             {">", TEST_GT, 1},
             {"ge", TEST_GE, 1},
             {">=", TEST_GE, 1}};

int power_jinja_test_find(struct power_text name) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (power_text_equal(name, power_text_of(tests[i].name))) return (int)i;
    }
    return -1;
}

static bool has_items(struct jinja_value v) {
    return v.type == JINJA_TEXT || v.type == JINJA_LIST || v.type == JINJA_DICT ||
           v.type == JINJA_UNDEFINED;
}

/* What has a length and takes an index. */
static bool is_sequence(struct jinja_value v) {
    if (v.type == JINJA_LIST) return v.as.list->kind <= JINJA_RANGE;
    return v.type == JINJA_TEXT || v.type == JINJA_DICT || v.type == JINJA_UNDEFINED;
}

/* str(v).islower() or isupper(): some cased letter, none of the other case. */
static bool has_case(struct jinja_render *r, struct jinja_value v, unsigned wanted, bool *out) {
    struct jinja_value text;
    bool some = false;
    if (!power_jinja_to_text(r, v, &text)) return false;
    *out = true;
    for (size_t at = 0; at < text.length;) {
        struct power_char c = power_char_at(power_jinja_text(text), at);
        if (c.class & (POWER_CLASS_UPPER | POWER_CLASS_LOWER)) {
            some = true;
            *out = *out && (c.class & wanted);
        }
        at += c.length;
    }
    *out = *out && some;
    return true;
}

static bool remainder_is(struct jinja_render *r, struct jinja_value v, struct jinja_value by,
                         int64_t want, bool *out) {
    struct jinja_value rest;
    if (!power_jinja_binary(r, OP_MOD, v, by, &rest)) return false;
    *out = power_jinja_equal(r, rest, power_jinja_int(want));
    return true;
}

static bool same_object(struct jinja_render *r, struct jinja_value a, struct jinja_value b) {
    if (a.type != b.type) return false;
    if (a.type == JINJA_LIST) return a.as.list == b.as.list;
    if (a.type == JINJA_DICT) return a.as.dict == b.as.dict;
    return power_jinja_equal(r, a, b);
}

static bool ordered(struct jinja_render *r, enum test test, struct jinja_value a,
                    struct jinja_value b, bool *out) {
    int order;
    const char *op = test == TEST_LT ? "<" : test == TEST_LE ? "<=" : test == TEST_GT ? ">" : ">=";
    if (!power_jinja_order(r, a, b, op, &order)) return false;
    if (order == 2)
        *out = false;
    else if (test == TEST_LT || test == TEST_LE)
        *out = order < (test == TEST_LE ? 1 : 0);
    else
        *out = order > (test == TEST_GE ? -1 : 0);
    return true;
}

static bool of_type(enum test test, struct jinja_value v) {
    switch ((int)test) {
    case TEST_DEFINED:
        return v.type != JINJA_UNDEFINED;
    case TEST_UNDEFINED:
        return v.type == JINJA_UNDEFINED;
    case TEST_NONE:
        return v.type == JINJA_NONE;
    case TEST_BOOLEAN:
        return v.type == JINJA_BOOL;
    case TEST_TRUE:
        return v.type == JINJA_BOOL && v.as.b;
    case TEST_FALSE:
        return v.type == JINJA_BOOL && !v.as.b;
    case TEST_INTEGER:
        return v.type == JINJA_INT || v.type == JINJA_BIG;
    case TEST_FLOAT:
        return v.type == JINJA_FLOAT;
    case TEST_NUMBER:
        return power_jinja_is_number(v);
    case TEST_STRING:
        return v.type == JINJA_TEXT;
    case TEST_MAPPING:
        return v.type == JINJA_DICT;
    case TEST_SEQUENCE:
        return is_sequence(v);
    case TEST_ITERABLE:
        return has_items(v);
    case TEST_CALLABLE:
        return v.type == JINJA_UNDEFINED ||
               (v.type == JINJA_OBJECT && v.as.object->kind != JINJA_NAMESPACE &&
                v.as.object->kind != JINJA_CYCLER);
    default:
        return v.type == JINJA_TEXT && v.markup; /* escaped */
    }
}

static bool run(struct jinja_render *r, enum test test, struct jinja_value v, struct jinja_value b,
                bool *out) {
    switch ((int)test) {
    case TEST_ODD:
        return remainder_is(r, v, power_jinja_int(2), 1, out);
    case TEST_EVEN:
        return remainder_is(r, v, power_jinja_int(2), 0, out);
    case TEST_DIVISIBLE:
        return remainder_is(r, v, b, 0, out);
    case TEST_LOWER:
        return has_case(r, v, POWER_CLASS_LOWER, out);
    case TEST_UPPER:
        return has_case(r, v, POWER_CLASS_UPPER, out);
    case TEST_IN:
        return power_jinja_contains(r, b, v, out);
    case TEST_LT:
    case TEST_LE:
    case TEST_GT:
    case TEST_GE:
        return ordered(r, test, v, b, out);
    case TEST_SAME:
        *out = same_object(r, v, b);
        return true;
    case TEST_EQ:
        *out = power_jinja_equal(r, v, b);
        return true;
    case TEST_NE:
        *out = !power_jinja_equal(r, v, b);
        return true;
    case TEST_FILTER:
        *out = v.type == JINJA_TEXT && power_jinja_filter_find(power_jinja_text(v)) >= 0;
        return true;
    case TEST_TEST:
        *out = v.type == JINJA_TEXT && power_jinja_test_find(power_jinja_text(v)) >= 0;
        return true;
    default:
        *out = of_type(test, v);
        return true;
    }
}

bool power_jinja_test(struct jinja_render *r, int id, const struct jinja_args *args, bool *out) {
    if (id < 0)
        return power_jinja_raise(r, POWER_INVALID, "no test named \"%s\"",
                                 r->at ? power_quote(r->at->text.bytes, r->at->text.length).text
                                       : "");
    if (args->count != tests[id].args + 1u || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "test %s takes %u argument(s), %zu given",
                                 tests[id].name, tests[id].args, args->count - 1);
    return power_jinja_walk_steps(r, args->items[0]) &&
           run(r, tests[id].test, args->items[0],
               args->count > 1 ? args->items[1] : power_jinja_none(), out);
}
