/* SPDX-License-Identifier: MIT */
/* Job: str.format of Python, as Jinja2's sandbox does it (attributes and items are looked up by the
 * sandbox's rules). Input: a format and arguments. Output: text.
 * Threads: one per rendering. Bounds: specifications nest once; widths as in jinja_format.h. */
#include "text/jinja_format.h"
#include "text/utf8.h"

struct formatter {
    struct jinja_render *r;
    const struct jinja_args *args;
    const struct jinja_dict *mapping; /* of format_map, or NULL */
    bool markup;                      /* values are escaped */
    int64_t automatic;
    bool manual;
};

static bool bad(struct jinja_render *r, const char *what) {
    return power_jinja_raise(r, POWER_INVALID, "str.format: %s", what);
}

/* ---- specifications ---- */

static char char_at(struct power_text f, size_t at) {
    return at < f.length ? f.bytes[at] : 0;
}

static bool one_of(char c, const char *set) {
    return c && strchr(set, c);
}

static bool read_int(struct power_text f, size_t *at, int64_t *out) {
    size_t start = *at;
    for (*out = 0; char_at(f, *at) >= '0' && char_at(f, *at) <= '9'; (*at)++) {
        if (*out <= JINJA_MAX_WIDTH) *out = *out * 10 + (f.bytes[*at] - '0');
    }
    return *at > start;
}

/* [[fill]align][sign][z][#][0][width][grouping][.precision][type] */
static bool read_spec(struct jinja_render *r, struct power_text f, struct jinja_spec *s,
                      bool *out_signed) {
    size_t at = 0, length = 0;
    bool filled = false;
    *s = (struct jinja_spec){.fill = POWER_TEXT(" "), .sign = '-', .precision = -1};
    if (f.length) (void)power_utf8_get(f, 0, &length, NULL);
    if (one_of(char_at(f, length), "<>^=")) {
        s->fill = (struct power_text){f.bytes, length};
        filled = true;
        at = length;
    }
    if (one_of(char_at(f, at), "<>^=")) s->align = f.bytes[at++];
    *out_signed = one_of(char_at(f, at), "+ -");
    if (*out_signed) s->sign = f.bytes[at++];
    s->no_negative_zero = char_at(f, at) == 'z';
    at += s->no_negative_zero;
    s->alternate = char_at(f, at) == '#';
    at += s->alternate;
    if (!filled && char_at(f, at) == '0') {
        s->fill = POWER_TEXT("0");
        if (!s->align) s->align = '0'; /* '=' for numbers */
        at++;
    }
    (void)read_int(f, &at, &s->width);
    if (one_of(char_at(f, at), ",_")) s->grouping = f.bytes[at++];
    if (one_of(char_at(f, at), ",_")) return bad(r, "cannot specify both ',' and '_'");
    if (char_at(f, at) == '.') {
        at++;
        if (!read_int(f, &at, &s->precision)) return bad(r, "format specifier missing precision");
    }
    if (at < f.length) s->type = f.bytes[at++];
    if (at != f.length) return bad(r, "invalid format specifier");
    if (s->width <= JINJA_MAX_WIDTH && s->precision <= JINJA_MAX_WIDTH) return true;
    return power_jinja_raise(r, POWER_LIMIT, "a width above %d", JINJA_MAX_WIDTH);
}

static bool unknown_code(struct jinja_render *r, const struct jinja_spec *s, struct jinja_value v) {
    return power_jinja_raise(
        r, POWER_INVALID, "str.format: unknown format code '%c' for object of type '%s'",
        s->type >= 0x20 && s->type < 0x7F ? s->type : '?', power_jinja_type_name(v));
}

static bool format_text(struct jinja_render *r, struct jinja_buffer *out, struct jinja_spec *s,
                        bool with_sign, struct jinja_value v) {
    if (s->type && s->type != 's') return unknown_code(r, s, v);
    if (with_sign) return bad(r, "sign not allowed for strings");
    if (s->no_negative_zero) return bad(r, "z not allowed for strings");
    if (s->alternate) return bad(r, "# not allowed for strings");
    if (s->grouping) return bad(r, "grouping not allowed for strings");
    if (s->align == '=') return bad(r, "'=' alignment not allowed for strings");
    if (s->align == '0') s->align = '<';
    return power_jinja_put_text(r, out, s, power_jinja_text(v));
}

static bool format_whole(struct jinja_render *r, struct jinja_buffer *out, struct jinja_spec *s,
                         bool with_sign, struct jinja_value v) {
    if (s->precision >= 0) return bad(r, "precision not allowed in integer format specifier");
    if (s->no_negative_zero) return bad(r, "z not allowed with integers");
    if (s->type == 'n' && s->grouping) return bad(r, "grouping not allowed with 'n'");
    if (s->type == 'c') {
        if (with_sign || s->alternate || s->grouping)
            return bad(r, "sign, # and grouping are not allowed with 'c'");
        if (!s->align) s->align = '<';
        return power_jinja_put_code(r, out, s, v);
    }
    if (s->grouping == ',' && one_of(s->type, "boxX")) return bad(r, "',' not allowed here");
    return power_jinja_put_whole(r, out, s, v);
}

static bool format_number(struct jinja_render *r, struct jinja_buffer *out, struct jinja_spec *s,
                          bool with_sign, struct jinja_value v) {
    double f;
    if (s->align == '0') s->align = '=';
    if (v.type != JINJA_FLOAT && (!s->type || strchr("dboxXcn", s->type)))
        return format_whole(r, out, s, with_sign, v);
    if (s->type && !strchr("eEfFgGn%", s->type)) return unknown_code(r, s, v);
    if (s->type == 'n' && s->grouping) return bad(r, "grouping not allowed with 'n'");
    return power_jinja_to_double(r, v, &f) && power_jinja_put_float(r, out, s, f);
}

static bool put_formatted(struct formatter *f, struct jinja_buffer *out, struct jinja_value v,
                          struct power_text spec) {
    struct jinja_render *r = f->r;
    struct jinja_spec s;
    struct jinja_value text;
    bool with_sign;
    bool plain = v.type != JINJA_TEXT && !power_jinja_is_number(v);
    if (f->markup && v.type == JINJA_TEXT && v.markup) {
        if (spec.length) return bad(r, "unsupported format specification for Markup");
        return power_jinja_put(r, out, power_jinja_text(v));
    }
    if (spec.length == 0 || f->markup) {
        struct jinja_buffer buffer;
        struct formatter without = *f;
        without.markup = false;
        if (spec.length == 0) {
            if (!power_jinja_to_text(r, v, &text)) return false;
        } else {
            power_jinja_scratch(r, &buffer);
            bool ok = put_formatted(&without, &buffer, v, spec);
            if (!power_jinja_finish_text(r, &buffer, ok, &text)) return false;
        }
        if (f->markup && !power_jinja_escape(r, text, &text)) return false;
        return power_jinja_put(r, out, power_jinja_text(text));
    }
    if (plain)
        return power_jinja_raise(r, POWER_INVALID,
                                 "unsupported format string passed to %s.__format__",
                                 power_jinja_type_name(v));
    if (!read_spec(r, spec, &s, &with_sign)) return false;
    return v.type == JINJA_TEXT ? format_text(r, out, &s, with_sign, v)
                                : format_number(r, out, &s, with_sign, v);
}

/* ---- fields ---- */

/* `alone`: nothing follows the name; only then is it numbered. */
static bool first_of_field(struct formatter *f, struct power_text name, bool alone,
                           struct jinja_value *out) {
    int64_t index = -1;
    size_t at = 0;
    bool digits = read_int(name, &at, &index) && at == name.length;
    if (alone && (digits || name.length == 0)) {
        if (name.length ? f->automatic > 0 : f->manual)
            return bad(f->r, "cannot switch between manual and automatic field numbering");
        f->manual = name.length > 0;
        if (name.length == 0) index = f->automatic++;
    }
    if (digits || (alone && name.length == 0)) {
        if (f->mapping || index >= (int64_t)f->args->count)
            return bad(f->r, "replacement index out of range");
        *out = f->args->items[index];
        return true;
    }
    const struct jinja_value *found = f->mapping ? power_jinja_dict_find(f->mapping, name) : NULL;
    for (size_t k = 0; !f->mapping && k < f->args->n_keywords; k++) {
        if (power_text_equal(f->args->keywords[k].name, name)) found = &f->args->keywords[k].value;
    }
    if (!found) return bad(f->r, "no value for a named field");
    *out = *found;
    return true;
}

/* name, 0, or nothing, then .attribute and [item] */
static bool field_value(struct formatter *f, struct power_text field, struct jinja_value *out) {
    size_t n = 0;
    while (n < field.length && field.bytes[n] != '.' && field.bytes[n] != '[')
        n++;
    if (!first_of_field(f, (struct power_text){field.bytes, n}, n == field.length, out))
        return false;
    while (n < field.length) {
        bool item = field.bytes[n] == '[';
        if (!item && field.bytes[n] != '.') return bad(f->r, "only '.' or '[' may follow ']'");
        size_t start = ++n, at = 0;
        while (n < field.length && field.bytes[n] != (item ? ']' : '.') &&
               (item || field.bytes[n] != '['))
            n++;
        struct power_text name = {field.bytes + start, n - start};
        if (item && n == field.length) return bad(f->r, "missing ']'");
        if (name.length == 0) return bad(f->r, "empty attribute");
        int64_t number;
        bool index = item && read_int(name, &at, &number) && at == name.length;
        struct jinja_value key = index ? power_jinja_int(number) : power_jinja_borrow(name);
        if (!(item ? power_jinja_get_item(f->r, *out, key, out)
                   : power_jinja_get_attribute(f->r, *out, name, out)))
            return false;
        n += item;
    }
    return true;
}

static bool convert(struct formatter *f, char how, struct jinja_value *v) {
    struct jinja_buffer buffer;
    if (how == 's') return power_jinja_to_text(f->r, *v, v);
    if (how == 'a') return power_jinja_ascii(f->r, *v, v);
    if (how != 'r') return bad(f->r, "unknown conversion specifier");
    power_jinja_scratch(f->r, &buffer);
    return power_jinja_finish_text(f->r, &buffer, power_jinja_repr(f->r, *v, &buffer), v);
}

static bool put_all(struct formatter *f, struct power_text format, unsigned depth,
                    struct jinja_buffer *out);

/* {field!conversion:spec} without its braces */
static bool put_field(struct formatter *f, struct power_text inside, unsigned depth,
                      struct jinja_buffer *out) {
    size_t n = 0;
    bool bracket = false;
    for (; n < inside.length; n++) {
        char c = inside.bytes[n];
        if (c == '[') bracket = true;
        if (c == ']') bracket = false;
        if (!bracket && (c == '!' || c == ':')) break;
        if (!bracket && c == '{') return bad(f->r, "unexpected '{' in field name");
    }
    struct power_text field = {inside.bytes, n}, spec = {"", 0};
    struct jinja_value v, made;
    char conversion = 0;
    if (char_at(inside, n) == '!') {
        if (n + 1 >= inside.length) return bad(f->r, "missing conversion specifier");
        conversion = inside.bytes[n + 1];
        n += 2;
        if (n < inside.length && inside.bytes[n] != ':')
            return bad(f->r, "expected ':' after conversion specifier");
    }
    if (n < inside.length) spec = (struct power_text){inside.bytes + n + 1, inside.length - n - 1};
    if (!field_value(f, field, &v) || (conversion && !convert(f, conversion, &v))) return false;
    if (spec.length && memchr(spec.bytes, '{', spec.length)) {
        struct jinja_buffer buffer;
        if (depth == 0) return bad(f->r, "max string recursion exceeded");
        power_jinja_scratch(f->r, &buffer);
        if (!power_jinja_finish_text(f->r, &buffer, put_all(f, spec, depth - 1, &buffer), &made))
            return false;
        spec = power_jinja_text(made);
    }
    return put_formatted(f, out, v, spec);
}

/* The end of the field that begins at `at` (behind its brace), SIZE_MAX when it has none. */
static size_t field_end(struct power_text format, size_t at) {
    size_t open = 1;
    bool bracket = false, name = true;
    for (; at < format.length; at++) {
        char c = format.bytes[at];
        if (name && c == '[') bracket = true;
        if (name && c == ']') bracket = false;
        if (bracket) continue;
        if (c == ':' || c == '!') name = false;
        open += c == '{';
        if (c == '}' && --open == 0) return at;
    }
    return SIZE_MAX;
}

static bool put_all(struct formatter *f, struct power_text format, unsigned depth,
                    struct jinja_buffer *out) {
    bool ok = true;
    for (size_t at = 0; ok && at < format.length;) {
        char c = format.bytes[at];
        bool twice = char_at(format, at + 1) == c;
        size_t end = at;
        if ((c == '{' || c == '}') && twice) {
            ok = power_jinja_put(f->r, out, (struct power_text){&format.bytes[at], 1});
            at += 2;
        } else if (c == '}') {
            ok = bad(f->r, "single '}' encountered");
        } else if (c == '{') {
            end = field_end(format, at + 1);
            if (end == SIZE_MAX) return bad(f->r, "expected '}' before end of string");
            struct power_text inside = {format.bytes + at + 1, end - at - 1};
            ok = put_field(f, inside, depth, out);
            at = end + 1;
        } else {
            while (end < format.length && format.bytes[end] != '{' && format.bytes[end] != '}')
                end++;
            ok = power_jinja_put(f->r, out, (struct power_text){format.bytes + at, end - at});
            at = end;
        }
    }
    return ok;
}

bool power_jinja_str_format(struct jinja_render *r, struct jinja_value format,
                            const struct jinja_args *args, const struct jinja_dict *mapping,
                            struct jinja_value *out) {
    struct formatter f = {.r = r, .args = args, .mapping = mapping, .markup = format.markup};
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = put_all(&f, power_jinja_text(format), 1, &buffer);
    if (!power_jinja_finish_text(r, &buffer, ok, out)) return false;
    out->markup = format.markup;
    return true;
}
