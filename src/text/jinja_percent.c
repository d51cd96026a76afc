/* SPDX-License-Identifier: MIT */
/* Job: `format % values` of Python. Input: a format and values. Output: text.
 * Threads: one per rendering. Bounds: widths as in jinja_format.h. */
#include <math.h>

#include "text/jinja_format.h"
#include "text/utf8.h"

struct percent {
    struct jinja_render *r;
    const struct jinja_args *args;
    struct power_text format;
    size_t at, used;
    bool lone;
};

static bool next_arg(struct percent *p, struct jinja_value *out) {
    if (p->used >= p->args->count)
        return power_jinja_raise(p->r, POWER_INVALID, "not enough arguments for format string");
    *out = p->args->items[p->used++];
    return true;
}

static char peek(const struct percent *p) {
    return p->at < p->format.length ? p->format.bytes[p->at] : 0;
}

static bool read_number(struct percent *p, int64_t *out) {
    if (peek(p) == '*') {
        struct jinja_value v = {0};
        p->at++;
        if (!next_arg(p, &v)) return false;
        if (!power_jinja_as_int(v, out))
            return power_jinja_raise(p->r, POWER_INVALID, "* wants int");
    } else {
        for (*out = 0; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
            if (*out <= JINJA_MAX_WIDTH) *out = *out * 10 + (peek(p) - '0');
        }
    }
    return (*out <= JINJA_MAX_WIDTH && *out >= -JINJA_MAX_WIDTH) ||
           power_jinja_raise(p->r, POWER_LIMIT, "a width above %d", JINJA_MAX_WIDTH);
}

/* (name): the value of that key, which takes the place of the next argument. */
static bool read_key(struct percent *p, struct jinja_value *out) {
    size_t start = ++p->at, depth = 1;
    for (; depth && p->at < p->format.length; p->at++) {
        depth += peek(p) == '(';
        depth -= peek(p) == ')';
    }
    if (depth) return power_jinja_raise(p->r, POWER_INVALID, "incomplete format key");
    if (!p->lone || p->args->items[0].type != JINJA_DICT)
        return power_jinja_raise(p->r, POWER_INVALID, "format requires a mapping");
    struct power_text name = {p->format.bytes + start, p->at - 1 - start};
    const struct jinja_value *found = power_jinja_dict_find(p->args->items[0].as.dict, name);
    if (!found)
        return power_jinja_raise(p->r, POWER_INVALID, "no key '%s' for the format",
                                 power_quote(name.bytes, name.length).text);
    *out = *found;
    return true;
}

static bool put_words(struct percent *p, struct jinja_buffer *out, const struct jinja_spec *s,
                      struct jinja_value v) {
    struct jinja_value text;
    if (s->type == 'a') {
        if (!power_jinja_ascii(p->r, v, &text)) return false;
    } else if (s->type == 's') {
        if (!power_jinja_to_text(p->r, v, &text)) return false;
    } else {
        struct jinja_buffer buffer;
        power_jinja_scratch(p->r, &buffer);
        if (!power_jinja_finish_text(p->r, &buffer, power_jinja_repr(p->r, v, &buffer), &text))
            return false;
    }
    struct jinja_spec right = *s;
    if (!right.align || right.align == '=') right.align = '>';
    right.fill = POWER_TEXT(" ");
    return power_jinja_put_text(p->r, out, &right, power_jinja_text(text));
}

static bool put_char(struct percent *p, struct jinja_buffer *out, const struct jinja_spec *s,
                     struct jinja_value v) {
    struct jinja_spec plain = *s;
    plain.precision = -1;
    plain.fill = POWER_TEXT(" ");
    if (plain.align != '<') plain.align = '>';
    if (power_jinja_is_whole(v)) return power_jinja_put_code(p->r, out, &plain, v);
    if (v.type != JINJA_TEXT || power_utf8_count(power_jinja_text(v)) != 1)
        return power_jinja_raise(p->r, POWER_INVALID, "%%c requires int or char");
    return power_jinja_put_text(p->r, out, &plain, power_jinja_text(v));
}

static bool put_value(struct percent *p, struct jinja_buffer *out, const struct jinja_spec *s,
                      struct jinja_value v) {
    double f;
    if (strchr("sra", s->type)) return put_words(p, out, s, v);
    if (s->type == 'c') return put_char(p, out, s, v);
    if (v.type == JINJA_UNDEFINED && !strchr("xXo", s->type))
        return power_jinja_raise_undefined(p->r, v);
    bool whole = strchr("diuxXo", s->type) != NULL;
    if (!power_jinja_is_number(v) || (v.type == JINJA_FLOAT && strchr("xXo", s->type)))
        return power_jinja_raise(p->r, POWER_INVALID, "%%%c format: a number is required, not %s",
                                 s->type, power_jinja_type_name(v));
    if (whole && v.type == JINJA_FLOAT) {
        if (!isfinite(v.as.f))
            return power_jinja_raise(p->r, POWER_INVALID, "cannot convert float to integer");
        if (!power_jinja_whole_of_double(p->r, v.as.f, &v)) return false;
    }
    if (whole) return power_jinja_put_whole(p->r, out, s, v);
    return power_jinja_to_double(p->r, v, &f) && power_jinja_put_float(p->r, out, s, f);
}

/* Behind a '%'. */
static bool put_one(struct percent *p, struct jinja_buffer *out) {
    struct jinja_spec s = {.fill = POWER_TEXT(" "), .sign = '-', .width = 0, .precision = -1};
    struct jinja_value v = {.type = JINJA_MISSING};
    bool zero = false;
    if (peek(p) == '%') {
        p->at++;
        return power_jinja_put(p->r, out, POWER_TEXT("%"));
    }
    if (peek(p) == '(' && !read_key(p, &v)) return false;
    for (; peek(p) && strchr("-+ #0", peek(p)); p->at++) {
        char c = peek(p);
        if (c == '-') s.align = '<';
        if (c == '+' || (c == ' ' && s.sign != '+')) s.sign = c;
        s.alternate = s.alternate || c == '#';
        zero = zero || c == '0';
    }
    if (!read_number(p, &s.width)) return false;
    if (s.width < 0) {
        s.width = -s.width;
        s.align = '<';
    }
    if (peek(p) == '.') {
        p->at++;
        if (!read_number(p, &s.precision)) return false;
        if (s.precision < 0) s.precision = 0;
    }
    if (peek(p) && strchr("hlL", peek(p))) p->at++;
    if (p->at >= p->format.length)
        return power_jinja_raise(p->r, POWER_INVALID, "incomplete format");
    s.type = p->format.bytes[p->at++];
    if (v.type == JINJA_MISSING && !next_arg(p, &v)) return false;
    if (!s.type || !strchr("sradiuxXofFeEgGc", s.type))
        return power_jinja_raise(p->r, POWER_INVALID, "unsupported format character");
    if (zero && s.align != '<') {
        s.align = '=';
        s.fill = POWER_TEXT("0");
    }
    return put_value(p, out, &s, v);
}

/* Such a value may stand behind % without being used. */
static bool takes_keys(struct jinja_value v) {
    return v.type == JINJA_DICT || v.type == JINJA_UNDEFINED ||
           (v.type == JINJA_LIST && v.as.list->kind <= JINJA_RANGE);
}

bool power_jinja_percent(struct jinja_render *r, struct power_text format,
                         const struct jinja_args *args, bool lone, struct jinja_value *out) {
    struct percent p = {.r = r, .args = args, .format = format, .lone = lone};
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    while (ok && p.at < format.length) {
        const char *sign = memchr(format.bytes + p.at, '%', format.length - p.at);
        size_t end = sign ? (size_t)(sign - format.bytes) : format.length;
        ok = power_jinja_put(r, &buffer, (struct power_text){format.bytes + p.at, end - p.at});
        p.at = end + 1;
        if (ok && sign) ok = put_one(&p, &buffer);
    }
    if (ok && p.used < args->count && !(lone && takes_keys(args->items[0])))
        ok = power_jinja_raise(r, POWER_INVALID,
                               "not all arguments converted during string formatting");
    return power_jinja_finish_text(r, &buffer, ok, out);
}
