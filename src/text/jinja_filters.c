/* SPDX-License-Identifier: MIT */
/* Job: the table of filters; those on single values.
 * Input: arguments, the filtered value first. Output: a value.
 * Threads: one per rendering. Bounds: constant but for what they call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/jinja_filters.h"
#include "text/utf8.h"

static bool filter_abs(struct jinja_render *r, const struct jinja_args *args,
                       struct jinja_value *out) {
    struct jinja_value v;
    int64_t i;
    if (!power_jinja_spread(r, "abs", "x", 1, args, &v)) return false;
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (!power_jinja_is_number(v))
        return power_jinja_raise(r, POWER_INVALID, "bad operand type for abs(): '%s'",
                                 power_jinja_type_name(v));
    *out = power_jinja_float(v.type == JINJA_FLOAT ? fabs(v.as.f) : 0);
    if (!power_jinja_as_int(v, &i)) return true;
    if (i == INT64_MIN) return power_jinja_raise(r, POWER_LIMIT, "integer is too large");
    *out = power_jinja_int(i < 0 ? -i : i);
    return true;
}

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

/* Text as Python's float() takes it: white space around, digits, one point, an exponent. */
static bool parse_float(struct power_text text, double *out) {
    char copy[128];
    text = power_jinja_strip(text, NULL, 3);
    if (text.length == 0 || text.length >= sizeof copy) return false;
    size_t n = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        bool between = i > 0 && i + 1 < text.length && text.bytes[i - 1] >= '0' &&
                       text.bytes[i - 1] <= '9' && text.bytes[i + 1] >= '0' &&
                       text.bytes[i + 1] <= '9';
        if (c == '_' && between) continue;
        if (!c || !strchr("0123456789+-.eE", c)) {
            bool word = n <= 1 && strchr("nNiI", c);
            if (!word) return false;
        }
        copy[n++] = c;
        if (strchr("nNiI", c)) { /* nan, inf, infinity: the rest decides */
            memcpy(copy + n - 1, text.bytes + i, text.length - i);
            n += text.length - i - 1;
            break;
        }
    }
    return power_jinja_parse_double((struct power_text){copy, n}, out);
}

static bool parse_int(struct power_text text, int64_t base, int64_t *out) {
    text = power_jinja_strip(text, NULL, 3);
    bool negative = text.length && text.bytes[0] == '-';
    size_t at = negative || (text.length && text.bytes[0] == '+');
    if (text.length - at > 2 && text.bytes[at] == '0' && base != 10) {
        char kind = (char)(text.bytes[at + 1] | 0x20);
        int64_t named = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
        if (named && (base == named || base == 0)) {
            base = named;
            at += 2;
        }
    }
    if (base == 0) base = 10;
    if (at >= text.length) return false;
    int64_t value = 0;
    for (; at < text.length; at++) {
        char c = text.bytes[at];
        int64_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'z' ? c - 'a' + 10
                        : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                               : 99;
        if (c == '_' && at + 1 < text.length && at > 0 && text.bytes[at - 1] != '_') continue;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static bool float_to_int(double f, int64_t *out) {
    if (!(f > -9.2e18 && f < 9.2e18)) return false;
    *out = (int64_t)f;
    return true;
}

/* A number that is an integer, but not one of 64 bits. */
static bool is_too_large(struct jinja_value v) {
    return v.type == JINJA_FLOAT && isfinite(v.as.f);
}

static bool filter_int(struct jinja_render *r, const struct jinja_args *args,
                       struct jinja_value *out) {
    struct jinja_value given[3];
    int64_t base = 10, i;
    double f;
    if (!power_jinja_spread(r, "int", "value,default,base", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[2].type != JINJA_MISSING) (void)power_jinja_as_int(given[2], &base);
    bool ok = power_jinja_as_int(given[0], &i);
    if (given[0].type == JINJA_FLOAT) ok = float_to_int(given[0].as.f, &i);
    if (given[0].type == JINJA_TEXT) {
        struct power_text text = power_jinja_text(given[0]);
        ok = parse_int(text, base, &i) || (parse_float(text, &f) && float_to_int(f, &i));
    }
    if (!ok && is_too_large(given[0]))
        return power_jinja_raise(r, POWER_LIMIT, "integer is too large");
    *out = ok ? power_jinja_int(i) : given[1].type == JINJA_MISSING ? power_jinja_int(0) : given[1];
    return true;
}

static bool filter_float(struct jinja_render *r, const struct jinja_args *args,
                         struct jinja_value *out) {
    struct jinja_value given[2];
    double f = 0;
    if (!power_jinja_spread(r, "float", "value,default", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    bool ok = power_jinja_is_number(given[0]);
    if (ok) f = power_jinja_as_double(given[0]);
    if (given[0].type == JINJA_TEXT) ok = parse_float(power_jinja_text(given[0]), &f);
    *out = ok                               ? power_jinja_float(f)
           : given[1].type == JINJA_MISSING ? power_jinja_float(0)
                                            : given[1];
    return true;
}

/* Correctly rounded to `precision` decimals, ties of the exact value to even. */
static double round_decimal(double f, int64_t precision) {
    if (precision > 300 || !isfinite(f)) return f;
    if (precision < -300) return 0;
    if (precision < 0) {
        double scale = pow(10, (double)-precision);
        return nearbyint(f / scale) * scale;
    }
    char text[700];
    double back;
    snprintf(text, sizeof text, "%.*f", (int)precision, f);
    for (char *c = text; *c; c++) {
        if (*c == ',') *c = '.';
    }
    return power_jinja_parse_double(power_text_of(text), &back) ? back : f;
}

static bool filter_round(struct jinja_render *r, const struct jinja_args *args,
                         struct jinja_value *out) {
    struct jinja_value given[3];
    int64_t precision = 0;
    if (!power_jinja_spread(r, "round", "value,precision,method", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (!power_jinja_is_number(given[0]) ||
        (given[1].type != JINJA_MISSING && !power_jinja_as_int(given[1], &precision)))
        return power_jinja_raise(r, POWER_INVALID, "round() takes numbers, not %s",
                                 power_jinja_type_name(given[0]));
    struct power_text method = POWER_TEXT("common");
    if (given[2].type == JINJA_TEXT) method = power_jinja_text(given[2]);
    bool up = power_text_equal(method, POWER_TEXT("ceil"));
    if (!up && !power_text_equal(method, POWER_TEXT("floor"))) {
        if (!power_text_equal(method, POWER_TEXT("common")))
            return power_jinja_raise(r, POWER_INVALID, "method must be common, ceil or floor");
        *out = given[0];
        int64_t i;
        if (power_jinja_as_int(given[0], &i)) {
            *out =
                power_jinja_int(precision >= 0 ? i : (int64_t)round_decimal((double)i, precision));
            return true;
        }
        *out = power_jinja_float(round_decimal(given[0].as.f, precision));
        return true;
    }
    double scale = pow(10, (double)precision), scaled = power_jinja_as_double(given[0]) * scale;
    *out = power_jinja_float((up ? ceil(scaled) : floor(scaled)) / scale);
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
} filters[] = {POWER_JINJA_SEQUENCE_FILTERS(ENTRY)
                   POWER_JINJA_TEXT_FILTERS(ENTRY){"abs", filter_abs},
               {"attr", filter_attr},
               {"count", power_jinja_filter_length},
               {"d", filter_default},
               {"default", filter_default},
               {"e", filter_escape},
               {"escape", filter_escape},
               {"float", filter_float},
               {"forceescape", filter_forceescape},
               {"int", filter_int},
               {"pprint", not_supported},
               {"random", not_supported},
               {"round", filter_round},
               {"safe", filter_safe},
               {"tojson", power_jinja_tojson},
               {"urlize", not_supported},
               {"wordwrap", not_supported},
               {"xmlattr", not_supported}};

int power_jinja_filter_find(struct power_text name) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        if (power_text_equal(name, power_text_of(filters[i].name))) return (int)i;
    }
    return -1;
}

bool power_jinja_filter(struct jinja_render *r, int id, const struct jinja_args *args,
                        struct jinja_value *out) {
    if (id < 0)
        return power_jinja_raise(r, POWER_INVALID, "no filter named \"%s\"",
                                 r->at ? power_quote(r->at->text.bytes, r->at->text.length).text
                                       : "");
    return filters[id].fn(r, args, out);
}
