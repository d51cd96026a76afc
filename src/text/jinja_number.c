/* SPDX-License-Identifier: MIT */
/* Job: texts as numbers, and the filters abs, int, float and round.
 * Input: arguments, the filtered value first. Output: a number as Python computes it.
 * Threads: one per rendering. Bounds: linear in the text, quadratic in the digits of an integer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <utf8proc.h>

#include "text/jinja_filters.h"
#include "text/utf8.h"

#define MAX_NUMBER_BYTES 2000

/* ---- texts ---- */

static bool is_decimal(uint32_t code) {
    return code < 0x80 ? code >= '0' && code <= '9'
                       : utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_ND;
}

/* Of a decimal digit of any script, else -1. */
static int digit_value(uint32_t code) {
    if (!is_decimal(code)) return -1;
    uint32_t start = code; /* the digits of a script are ten in a row, some rows side by side */
    while (start > 0 && code - start < 60 && is_decimal(start - 1))
        start--;
    return (int)((code - start) % 10);
}

/* Without white space around, all digits as ASCII. False when it is too long. */
static bool plain_number(struct power_text text, char *out, size_t room, struct power_text *plain) {
    text = power_jinja_strip(text, NULL, 3);
    size_t n = 0;
    for (size_t at = 0, length; at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        int digit = digit_value(code);
        if (n + 1 >= room || (code >= 0x80 && digit < 0)) return false;
        out[n++] = digit >= 0 ? (char)('0' + digit) : (char)code;
    }
    out[n] = 0;
    *plain = (struct power_text){out, n};
    return true;
}

static bool same_word(struct power_text text, const char *word) {
    size_t n = strlen(word);
    if (text.length != n) return false;
    for (size_t i = 0; i < n; i++) {
        if ((text.bytes[i] | 0x20) != word[i]) return false;
    }
    return true;
}

/* Digits with single underscores between; copied to `out`. Returns how many bytes were read. */
static size_t digit_run(struct power_text text, size_t from, char *out, size_t *n) {
    size_t at = from;
    for (; at < text.length; at++) {
        char c = text.bytes[at];
        bool between = c == '_' && at > from && text.bytes[at - 1] != '_' && at + 1 < text.length &&
                       text.bytes[at + 1] >= '0' && text.bytes[at + 1] <= '9';
        if (between) continue;
        if (c < '0' || c > '9') break;
        out[(*n)++] = c;
    }
    return at - from;
}

bool power_jinja_float_of_text(struct power_text text, double *out) {
    char plain[MAX_NUMBER_BYTES], copy[MAX_NUMBER_BYTES + 8];
    size_t n = 0;
    if (!plain_number(text, plain, sizeof plain, &text) || text.length == 0) return false;
    size_t at = text.bytes[0] == '-' || text.bytes[0] == '+';
    if (at) copy[n++] = text.bytes[0];
    struct power_text body = {text.bytes + at, text.length - at};
    if (same_word(body, "inf") || same_word(body, "infinity") || same_word(body, "nan")) {
        *out = same_word(body, "nan") ? (double)NAN : HUGE_VAL;
        if (text.bytes[0] == '-') *out = -*out;
        return true;
    }
    size_t whole = digit_run(text, at, copy, &n), fraction = 0;
    at += whole;
    if (at < text.length && text.bytes[at] == '.') {
        copy[n++] = '.';
        fraction = digit_run(text, at + 1, copy, &n);
        at += 1 + fraction;
    }
    if (whole + fraction == 0) return false;
    if (at < text.length && (text.bytes[at] | 0x20) == 'e') {
        copy[n++] = 'e';
        at++;
        if (at < text.length && (text.bytes[at] == '-' || text.bytes[at] == '+'))
            copy[n++] = text.bytes[at++];
        size_t digits = digit_run(text, at, copy, &n);
        if (digits == 0) return false;
        at += digits;
    }
    return at == text.length && power_jinja_parse_double((struct power_text){copy, n}, out);
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* Digits of the base with single underscores between. */
static bool all_digits(struct power_text text, int64_t base) {
    for (size_t i = 0; i < text.length; i++) {
        bool under =
            text.bytes[i] == '_' && i > 0 && text.bytes[i - 1] != '_' && i + 1 < text.length;
        if (!under && digit_of(text.bytes[i]) >= base) return false;
    }
    return text.length > 0;
}

/* int(text, base); *out_fits: it is a number. False on an error of the rendering. */
static bool int_of_text(struct jinja_render *r, struct power_text text, int64_t base,
                        bool *out_fits, struct jinja_value *out) {
    text = power_jinja_strip(text, NULL, 3);
    char *copy = power_arena_alloc(&r->arena, text.length + 1, 1);
    if (!copy) return power_jinja_no_memory(r);
    *out_fits = false;
    if ((base != 0 && (base < 2 || base > 36)) || !plain_number(text, copy, text.length + 1, &text))
        return true;
    bool negative = text.length && text.bytes[0] == '-';
    size_t at = negative || (text.length && text.bytes[0] == '+');
    if (text.length - at > 2 && text.bytes[at] == '0') {
        char kind = (char)(text.bytes[at + 1] | 0x20);
        int64_t named = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
        if (named && (base == named || base == 0)) {
            base = named;
            at += text.bytes[at + 2] == '_' ? 3 : 2;
        }
    }
    struct power_text digits = {text.bytes + at, text.length - at};
    if (base == 0) { /* as a literal: no zeros in front of other digits */
        base = 10;
        if (digits.length > 1 && digits.bytes[0] == '0' &&
            strspn(digits.bytes, "0_") < digits.length)
            return true;
    }
    if (!all_digits(digits, base) || digits.length > JINJA_MAX_DIGITS) return true;
    *out_fits = true;
    return power_jinja_whole_parse(r, digits, (unsigned)base, negative, out);
}

/* ---- filters ---- */

bool power_jinja_filter_abs(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    struct jinja_value v;
    if (!power_jinja_spread(r, "abs", "x,/", 1, args, &v)) return false;
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (!power_jinja_is_number(v))
        return power_jinja_raise(r, POWER_INVALID, "bad operand type for abs(): '%s'",
                                 power_jinja_type_name(v));
    if (v.type == JINJA_FLOAT) {
        *out = power_jinja_float(fabs(v.as.f));
        return true;
    }
    return power_jinja_whole_op(r, power_jinja_whole_negative(v) ? OP_SUB : OP_ADD,
                                power_jinja_int(0), v, out);
}

/* int(f) where f is finite; *out_fits tells. */
static bool int_of_float(struct jinja_render *r, double f, bool *out_fits,
                         struct jinja_value *out) {
    *out_fits = isfinite(f);
    return !*out_fits || power_jinja_whole_of_double(r, f, out);
}

bool power_jinja_filter_int(struct jinja_render *r, const struct jinja_args *args,
                            struct jinja_value *out) {
    struct jinja_value given[3];
    int64_t base = 10;
    bool fits = false;
    double f;
    if (!power_jinja_spread(r, "int", "value,default,base", 1, args, given)) return false;
    struct jinja_value v = given[0], fallback = given[1];
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (given[2].type != JINJA_MISSING && !power_jinja_as_int(given[2], &base)) base = -1;
    if (fallback.type == JINJA_MISSING) fallback = power_jinja_int(0);
    if (v.type == JINJA_FLOAT) {
        if (isinf(v.as.f))
            return power_jinja_raise(r, POWER_INVALID, "cannot convert float infinity to integer");
        if (!int_of_float(r, v.as.f, &fits, out)) return false;
    } else if (v.type == JINJA_TEXT) {
        if (!int_of_text(r, power_jinja_text(v), base, &fits, out)) return false;
        if (!fits && power_jinja_float_of_text(power_jinja_text(v), &f) &&
            !int_of_float(r, f, &fits, out))
            return false;
    } else if (power_jinja_is_whole(v)) {
        fits = true;
        *out = v.type == JINJA_BOOL ? power_jinja_int(v.as.b) : v;
    }
    if (!fits) *out = fallback;
    return true;
}

bool power_jinja_filter_float(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value given[2];
    double f = 0;
    if (!power_jinja_spread(r, "float", "value,default", 1, args, given)) return false;
    struct jinja_value v = given[0];
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    bool fits = power_jinja_is_number(v);
    if (fits && !power_jinja_to_double(r, v, &f)) return false;
    if (v.type == JINJA_TEXT) fits = power_jinja_float_of_text(power_jinja_text(v), &f);
    *out = fits                             ? power_jinja_float(f)
           : given[1].type == JINJA_MISSING ? power_jinja_float(0)
                                            : given[1];
    return true;
}

/* ---- round ---- */

/* The multiple of 10^zeros that is nearest to `whole`, ties to even; `more`: there is a fraction
 * behind it. */
static bool round_whole(struct jinja_render *r, struct jinja_value whole, int64_t zeros, bool more,
                        struct jinja_value *out) {
    struct jinja_value scale, quotient, rest, twice;
    bool negative = power_jinja_whole_negative(whole);
    *out = power_jinja_int(0);
    if (zeros > 5000) return true;
    if ((negative && !power_jinja_whole_negate(r, whole, &whole)) ||
        !power_jinja_whole_op(r, OP_POW, power_jinja_int(10), power_jinja_int(zeros), &scale) ||
        !power_jinja_whole_op(r, OP_FLOOR, whole, scale, &quotient) ||
        !power_jinja_whole_op(r, OP_MOD, whole, scale, &rest) ||
        !power_jinja_whole_op(r, OP_ADD, rest, rest, &twice))
        return false;
    int order = power_jinja_whole_order(twice, scale);
    if (!power_jinja_whole_op(r, OP_MOD, quotient, power_jinja_int(2), &rest)) return false;
    bool up = order > 0 || (order == 0 && (more || rest.as.i == 1));
    if (up && !power_jinja_whole_op(r, OP_ADD, quotient, power_jinja_int(1), &quotient))
        return false;
    return power_jinja_whole_op(r, OP_MUL, quotient, scale, out) &&
           (!negative || power_jinja_whole_negate(r, *out, out));
}

/* Correctly rounded to `precision` decimals, ties of the exact value to even. */
static bool round_float(struct jinja_render *r, double f, int64_t precision, double *out) {
    *out = f;
    if (!isfinite(f) || precision > 323) return true;
    if (precision < 0) {
        struct jinja_value whole, rounded;
        if (!power_jinja_whole_of_double(r, f, &whole) ||
            !round_whole(r, whole, precision < -400 ? 6000 : -precision, f != trunc(f), &rounded))
            return false;
        *out = copysign(fabs(power_jinja_as_double(rounded)), f);
        return !isinf(*out) || power_jinja_raise(r, POWER_INVALID, "rounded value too large");
    }
    char text[700];
    snprintf(text, sizeof text, "%.*f", (int)precision, f);
    for (char *c = text; *c; c++) {
        if (*c == ',') *c = '.';
    }
    (void)power_jinja_parse_double(power_text_of(text), out);
    return true;
}

static bool round_common(struct jinja_render *r, struct jinja_value v, struct jinja_value digits,
                         struct jinja_value *out) {
    double f;
    bool none = digits.type == JINJA_NONE;
    if (!power_jinja_is_number(v) || (!none && !power_jinja_is_whole(digits)))
        return power_jinja_raise(r, POWER_INVALID, "round() takes numbers, not %s",
                                 power_jinja_type_name(v));
    int64_t precision = none ? 0 : power_jinja_whole_clamp(digits);
    if (v.type != JINJA_FLOAT && precision < 0)
        return round_whole(r, v, precision < -5000 ? 6000 : -precision, false, out);
    *out = v.type == JINJA_BOOL ? power_jinja_int(v.as.b) : v;
    if (v.type != JINJA_FLOAT) return true;
    if (!round_float(r, v.as.f, precision, &f)) return false;
    *out = power_jinja_float(f);
    if (!none) return true;
    return isfinite(f) ? power_jinja_whole_of_double(r, f, out)
                       : power_jinja_raise(r, POWER_INVALID, "cannot convert float to integer");
}

bool power_jinja_filter_round(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value given[3], scale, scaled;
    if (!power_jinja_spread(r, "round", "value,precision,method", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[1].type == JINJA_MISSING) given[1] = power_jinja_int(0);
    struct power_text method = POWER_TEXT("common");
    if (given[2].type != JINJA_MISSING)
        method = given[2].type == JINJA_TEXT ? power_jinja_text(given[2]) : POWER_TEXT("");
    if (power_text_equal(method, POWER_TEXT("common")))
        return round_common(r, given[0], given[1], out);
    bool up = power_text_equal(method, POWER_TEXT("ceil"));
    if (!up && !power_text_equal(method, POWER_TEXT("floor")))
        return power_jinja_raise(r, POWER_INVALID, "method must be common, ceil or floor");
    if (!power_jinja_binary(r, OP_POW, power_jinja_int(10), given[1], &scale) ||
        !power_jinja_binary(r, OP_MUL, given[0], scale, &scaled))
        return false;
    if (scaled.type == JINJA_FLOAT && isfinite(scaled.as.f)) {
        double whole = up ? ceil(scaled.as.f) : floor(scaled.as.f);
        if (!power_jinja_whole_of_double(r, whole, &scaled)) return false;
    }
    if (!power_jinja_is_whole(scaled))
        return power_jinja_raise(r, POWER_INVALID, "must be a finite number, not %s",
                                 power_jinja_type_name(scaled));
    return power_jinja_binary(r, OP_DIV, scaled, scale, out);
}
