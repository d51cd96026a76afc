/* SPDX-License-Identifier: MIT */
/* Job: formatted text: `%` and str.format of Python.
 * Input: a format and values. Output: text.
 * Threads: one per rendering. Bounds: width and precision are at most 10,000. */
#include <stdio.h>

#include "text/jinja.h"
#include "text/utf8.h"

#define MAX_WIDTH 10000

struct spec {
    bool left, center, plus, space, alternate, zero, comma, sign_first; /* flags */
    struct power_text fill;
    int64_t width, precision; /* -1: none */
    char type;
};

static bool put_padded(struct jinja_render *r, struct jinja_buffer *out, const struct spec *s,
                       struct power_text sign, struct power_text body) {
    int64_t spare = s->width - (int64_t)(power_utf8_count(sign) + power_utf8_count(body));
    int64_t before = s->left ? 0 : s->center ? spare / 2 : spare;
    bool ok = true;
    if (s->sign_first) ok = power_jinja_put(r, out, sign);
    for (int64_t i = 0; ok && i < before; i++)
        ok = power_jinja_put(r, out, s->fill);
    if (!s->sign_first) ok = ok && power_jinja_put(r, out, sign);
    ok = ok && power_jinja_put(r, out, body);
    for (int64_t i = before < 0 ? 0 : before; ok && i < spare; i++)
        ok = power_jinja_put(r, out, s->fill);
    return ok;
}

static struct power_text sign_of(const struct spec *s, bool negative) {
    return negative   ? POWER_TEXT("-")
           : s->plus  ? POWER_TEXT("+")
           : s->space ? POWER_TEXT(" ")
                      : POWER_TEXT("");
}

/* Groups of three digits before the point. */
static size_t add_commas(const char *digits, char *out, size_t room) {
    size_t whole = strspn(digits, "0123456789"), n = 0;
    for (size_t i = 0; digits[i] && n + 2 < room; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0) out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = 0;
    return n;
}

static bool put_integer(struct jinja_render *r, struct jinja_buffer *out, const struct spec *s,
                        int64_t value) {
    char digits[80], grouped[120];
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t n = 0;
    if (s->type == 'b') {
        for (uint64_t bit = magnitude; bit || n == 0; bit >>= 1)
            digits[79 - ++n] = (char)('0' + (bit & 1));
        memmove(digits, digits + 79 - n, n);
        digits[n] = 0;
    } else {
        const char *format = s->type == 'x'   ? "%llx"
                             : s->type == 'X' ? "%llX"
                             : s->type == 'o' ? "%llo"
                                              : "%llu";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(digits, sizeof digits, format, (unsigned long long)magnitude);
#pragma GCC diagnostic pop
    }
    if (s->comma) add_commas(digits, grouped, sizeof grouped);
    char sign[4];
    const char *base = s->alternate && s->type == 'x'   ? "0x"
                       : s->alternate && s->type == 'X' ? "0X"
                       : s->alternate && s->type == 'o' ? "0o"
                       : s->alternate && s->type == 'b' ? "0b"
                                                        : "";
    struct power_text plain = sign_of(s, value < 0);
    snprintf(sign, sizeof sign, "%.*s%s", (int)plain.length, plain.bytes, base);
    return put_padded(r, out, s, power_text_of(sign), power_text_of(s->comma ? grouped : digits));
}

static bool put_float(struct jinja_render *r, struct jinja_buffer *out, const struct spec *s,
                      double value) {
    char digits[512], grouped[800];
    int precision = s->precision < 0 ? 6 : s->precision > 100 ? 100 : (int)s->precision;
    double magnitude = value < 0 ? -value : value;
    char type = s->type == '%' ? 'f' : s->type;
    if (s->type == '%') magnitude *= 100;
    char format[8] = {'%', '.', '*', type, 0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(digits, sizeof digits, format, precision, magnitude);
#pragma GCC diagnostic pop
    if (n < 0 || n > 480) return power_jinja_raise(r, POWER_LIMIT, "number is too long");
    if (s->type == '%') {
        digits[n] = '%';
        digits[n + 1] = 0;
    }
    if (s->comma) add_commas(digits, grouped, sizeof grouped);
    return put_padded(r, out, s, sign_of(s, value < 0), power_text_of(s->comma ? grouped : digits));
}

static bool put_text(struct jinja_render *r, struct jinja_buffer *out, const struct spec *s,
                     struct power_text text) {
    if (s->precision >= 0) text.length = power_jinja_offset(text, (size_t)s->precision);
    return put_padded(r, out, s, POWER_TEXT(""), text);
}

/* ---- text % values ---- */

struct percent {
    struct jinja_render *r;
    const struct jinja_args *args;
    size_t used;
    bool mapping; /* a name was used */
};

static bool next_arg(struct percent *p, struct jinja_value *out) {
    if (p->used >= p->args->count)
        return power_jinja_raise(p->r, POWER_INVALID, "not enough arguments for format string");
    *out = p->args->items[p->used++];
    return true;
}

static bool percent_number(struct percent *p, struct power_text f, size_t *at, int64_t *out) {
    if (*at < f.length && f.bytes[*at] == '*') {
        struct jinja_value v = {0};
        (*at)++;
        if (!next_arg(p, &v)) return false;
        if (!power_jinja_as_int(v, out))
            return power_jinja_raise(p->r, POWER_INVALID, "* wants int");
    } else {
        for (*out = 0; *at < f.length && f.bytes[*at] >= '0' && f.bytes[*at] <= '9'; (*at)++) {
            if (*out <= MAX_WIDTH) *out = *out * 10 + (f.bytes[*at] - '0');
        }
    }
    return *out <= MAX_WIDTH || power_jinja_raise(p->r, POWER_LIMIT, "format is too wide");
}

static bool percent_put(struct percent *p, struct jinja_buffer *out, struct spec *s,
                        struct jinja_value v) {
    struct jinja_value text;
    int64_t i;
    if (s->type == 's' || s->type == 'r' || s->type == 'a') {
        struct jinja_buffer buffer;
        power_jinja_scratch(p->r, &buffer);
        bool ok =
            s->type == 's' ? power_jinja_str(p->r, v, &buffer) : power_jinja_repr(p->r, v, &buffer);
        return power_jinja_finish_text(p->r, &buffer, ok, &text) &&
               put_text(p->r, out, s, power_jinja_text(text));
    }
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(p->r, v);
    if (s->type == 'c' && v.type == JINJA_TEXT) return put_text(p->r, out, s, power_jinja_text(v));
    if (!power_jinja_is_number(v))
        return power_jinja_raise(p->r, POWER_INVALID, "%%%c format: a number is required, not %s",
                                 s->type, power_jinja_type_name(v));
    s->sign_first = s->zero && !s->left;
    if (s->zero && !s->left) s->fill = POWER_TEXT("0");
    if (strchr("diuxXo", s->type)) {
        if (!power_jinja_as_int(v, &i)) i = (int64_t)v.as.f;
        return put_integer(p->r, out, s, i);
    }
    return put_float(p->r, out, s, power_jinja_as_double(v));
}

static bool percent_one(struct percent *p, struct power_text f, size_t *at,
                        struct jinja_buffer *out) {
    struct spec s = {.fill = POWER_TEXT(" "), .precision = -1};
    struct jinja_value v = {.type = JINJA_MISSING};
    if (*at < f.length && f.bytes[*at] == '(') {
        const char *end = memchr(f.bytes + *at, ')', f.length - *at);
        if (!end || p->args->count != 1 || p->args->items[0].type != JINJA_DICT)
            return power_jinja_raise(p->r, POWER_INVALID, "format requires a mapping");
        struct power_text name = {f.bytes + *at + 1, (size_t)(end - f.bytes) - *at - 1};
        const struct jinja_value *found = power_jinja_dict_find(p->args->items[0].as.dict, name);
        if (!found) return power_jinja_raise(p->r, POWER_INVALID, "key error in format");
        v = *found;
        p->mapping = true;
        *at = (size_t)(end - f.bytes) + 1;
    }
    for (; *at < f.length && f.bytes[*at] && strchr("-+ #0", f.bytes[*at]); (*at)++) {
        char c = f.bytes[*at];
        s.left = s.left || c == '-';
        s.plus = s.plus || c == '+';
        s.space = s.space || c == ' ';
        s.alternate = s.alternate || c == '#';
        s.zero = s.zero || c == '0';
    }
    if (!percent_number(p, f, at, &s.width)) return false;
    if (*at < f.length && f.bytes[*at] == '.') {
        (*at)++;
        if (!percent_number(p, f, at, &s.precision)) return false;
    }
    if (*at >= f.length) return power_jinja_raise(p->r, POWER_INVALID, "incomplete format");
    s.type = f.bytes[(*at)++];
    if (s.type == '%') return power_jinja_put(p->r, out, POWER_TEXT("%"));
    if (!s.type || !strchr("sradiuxXofFeEgGc", s.type))
        return power_jinja_raise(p->r, POWER_INVALID, "unsupported format character");
    if (v.type == JINJA_MISSING && !next_arg(p, &v)) return false;
    return percent_put(p, out, &s, v);
}

/* Such a value may stand behind % without being used. */
static bool takes_keys(struct jinja_value v) {
    return v.type == JINJA_DICT || v.type == JINJA_UNDEFINED ||
           (v.type == JINJA_LIST && v.as.list->kind <= JINJA_RANGE);
}

bool power_jinja_percent(struct jinja_render *r, struct power_text format,
                         const struct jinja_args *args, struct jinja_value *out) {
    struct percent p = {.r = r, .args = args};
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t at = 0; ok && at < format.length;) {
        const char *sign = memchr(format.bytes + at, '%', format.length - at);
        size_t end = sign ? (size_t)(sign - format.bytes) : format.length;
        ok = power_jinja_put(r, &buffer, (struct power_text){format.bytes + at, end - at});
        at = end + 1;
        if (ok && sign) ok = percent_one(&p, format, &at, &buffer);
    }
    if (ok && !p.mapping && p.used < args->count &&
        !(args->count == 1 && takes_keys(args->items[0])))
        ok = power_jinja_raise(r, POWER_INVALID,
                               "not all arguments converted during string formatting");
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- str.format ---- */

static int64_t read_int(struct power_text f, size_t *at) {
    int64_t value = 0;
    for (; *at < f.length && f.bytes[*at] >= '0' && f.bytes[*at] <= '9'; (*at)++) {
        if (value <= MAX_WIDTH) value = value * 10 + (f.bytes[*at] - '0');
    }
    return value;
}

/* [[fill]align][sign][#][0][width][,][.precision][type] */
static bool read_spec(struct jinja_render *r, struct power_text f, struct spec *s) {
    size_t at = 0, length = 0;
    *s = (struct spec){.fill = POWER_TEXT(" "), .precision = -1, .left = true};
    bool aligned = false;
    if (f.length) (void)power_utf8_get(f, 0, &length, NULL);
    if (f.length > length && strchr("<>^=", f.bytes[length]) && f.bytes[length]) {
        s->fill = (struct power_text){f.bytes, length};
        at = length;
    }
    if (at < f.length && f.bytes[at] && strchr("<>^=", f.bytes[at])) {
        aligned = true;
        s->left = f.bytes[at] == '<';
        s->center = f.bytes[at] == '^';
        s->sign_first = f.bytes[at] == '=';
        at++;
    }
    if (at < f.length && (f.bytes[at] == '+' || f.bytes[at] == ' ' || f.bytes[at] == '-')) {
        s->plus = f.bytes[at] == '+';
        s->space = f.bytes[at++] == ' ';
    }
    if (at < f.length && f.bytes[at] == '#') s->alternate = ++at;
    if (at < f.length && f.bytes[at] == '0' && !aligned) {
        s->fill = POWER_TEXT("0");
        s->sign_first = aligned = true;
        s->left = false;
        at++;
    }
    s->width = read_int(f, &at);
    if (at < f.length && (f.bytes[at] == ',' || f.bytes[at] == '_')) s->comma = ++at;
    if (at < f.length && f.bytes[at] == '.') {
        at++;
        s->precision = read_int(f, &at);
    }
    if (at < f.length) s->type = f.bytes[at++];
    s->zero = aligned; /* an alignment was given */
    if (at != f.length) return power_jinja_raise(r, POWER_INVALID, "invalid format specifier");
    return s->width <= MAX_WIDTH || power_jinja_raise(r, POWER_LIMIT, "format is too wide");
}

static bool put_formatted(struct jinja_render *r, struct jinja_buffer *out, struct jinja_value v,
                          struct power_text spec) {
    struct spec s;
    struct jinja_value text;
    int64_t i;
    if (!read_spec(r, spec, &s)) return false;
    bool number = power_jinja_is_number(v) && !(v.type == JINJA_BOOL && !s.type);
    if (number && !s.zero) s.left = false;
    if (number && power_jinja_as_int(v, &i) && (!s.type || strchr("dxXobn", s.type)))
        return put_integer(r, out, &s, i);
    if (number && s.type && strchr("fFeEgG%", s.type))
        return put_float(r, out, &s, power_jinja_as_double(v));
    if (number && v.type == JINJA_FLOAT && !s.type && s.precision >= 0) {
        s.type = 'g';
        return put_float(r, out, &s, v.as.f);
    }
    if (s.type && s.type != 's')
        return power_jinja_raise(r, POWER_INVALID,
                                 "unknown format code '%c' for object of type '%s'", s.type,
                                 power_jinja_type_name(v));
    return power_jinja_to_text(r, v, &text) && put_text(r, out, &s, power_jinja_text(text));
}

/* name, 0, or nothing, then .attribute and [item] */
static bool format_field(struct jinja_render *r, struct power_text field,
                         const struct jinja_args *args, int64_t *automatic,
                         struct jinja_value *out) {
    size_t n = 0;
    while (n < field.length && field.bytes[n] != '.' && field.bytes[n] != '[')
        n++;
    struct power_text first = {field.bytes, n};
    bool digits = n > 0;
    for (size_t i = 0; i < n; i++)
        digits = digits && first.bytes[i] >= '0' && first.bytes[i] <= '9';
    size_t at = 0;
    int64_t index = digits ? read_int(first, &at) : -1;
    if (n == 0) index = (*automatic)++;
    bool found = false;
    if (index >= 0 && index < (int64_t)args->count) {
        *out = args->items[index];
        found = true;
    }
    for (size_t k = 0; index < 0 && k < args->n_keywords; k++) {
        if (!power_text_equal(args->keywords[k].name, first)) continue;
        *out = args->keywords[k].value;
        found = true;
    }
    if (!found) return power_jinja_raise(r, POWER_INVALID, "no value for a field of str.format");
    while (n < field.length) {
        bool item = field.bytes[n] == '[';
        size_t start = ++n;
        while (n < field.length && field.bytes[n] != (item ? ']' : '.') &&
               (item || field.bytes[n] != '['))
            n++;
        struct power_text name = {field.bytes + start, n - start};
        at = 0;
        int64_t number = item ? read_int(name, &at) : 0;
        struct jinja_value key =
            item && at && at == name.length ? power_jinja_int(number) : power_jinja_borrow(name);
        if (!(item ? power_jinja_get_item(r, *out, key, out)
                   : power_jinja_get_attribute(r, *out, name, out)))
            return false;
        n += item;
    }
    return true;
}

/* {field!conversion:spec} without its braces */
static bool format_one(struct jinja_render *r, struct power_text inside,
                       const struct jinja_args *args, int64_t *automatic,
                       struct jinja_buffer *out) {
    const char *colon = inside.length ? memchr(inside.bytes, ':', inside.length) : NULL;
    struct power_text field = inside, spec = {"", 0};
    struct jinja_value v;
    if (colon) {
        field.length = (size_t)(colon - inside.bytes);
        spec = (struct power_text){colon + 1, inside.length - field.length - 1};
    }
    char conversion = 0;
    if (field.length >= 2 && field.bytes[field.length - 2] == '!') {
        conversion = field.bytes[field.length - 1];
        field.length -= 2;
    }
    if (!format_field(r, field, args, automatic, &v)) return false;
    if (conversion) {
        struct jinja_buffer buffer;
        power_jinja_scratch(r, &buffer);
        bool ok =
            conversion == 's' ? power_jinja_str(r, v, &buffer) : power_jinja_repr(r, v, &buffer);
        if (!power_jinja_finish_text(r, &buffer, ok, &v)) return false;
    }
    return put_formatted(r, out, v, spec);
}

bool power_jinja_str_format(struct jinja_render *r, struct power_text f,
                            const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_buffer buffer;
    int64_t automatic = 0;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t at = 0; ok && at < f.length;) {
        char c = f.bytes[at];
        bool twice = at + 1 < f.length && f.bytes[at + 1] == c;
        if ((c == '{' || c == '}') && twice) {
            ok = power_jinja_put(r, &buffer, (struct power_text){&f.bytes[at], 1});
            at += 2;
        } else if (c == '{') {
            const char *end = memchr(f.bytes + at, '}', f.length - at);
            if (!end) ok = power_jinja_raise(r, POWER_INVALID, "expected '}' before end of string");
            size_t stop = end ? (size_t)(end - f.bytes) : f.length;
            ok = ok && format_one(r, (struct power_text){f.bytes + at + 1, stop - at - 1}, args,
                                  &automatic, &buffer);
            at = stop + 1;
        } else if (c == '}') {
            ok = power_jinja_raise(r, POWER_INVALID, "single '}' encountered in format string");
        } else {
            size_t end = at;
            while (end < f.length && f.bytes[end] != '{' && f.bytes[end] != '}')
                end++;
            ok = power_jinja_put(r, &buffer, (struct power_text){f.bytes + at, end - at});
            at = end;
        }
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}
