/* SPDX-License-Identifier: MIT */
/* Job: values as text: str() and repr() of Python.
 * Input: values. Output: bytes appended to a buffer.
 * Threads: one per rendering. Bounds: nesting by the rendering's depth, size by its output budget.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <utf8proc.h>

#include "text/jinja.h"
#include "text/split_class.h"

static bool put(struct jinja_render *r, struct jinja_buffer *out, const char *text) {
    return power_jinja_put(r, out, power_text_of(text));
}

bool power_jinja_parse_double(struct power_text text, double *out) {
    char copy[2100];
    const char *point = localeconv()->decimal_point;
    size_t n = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (n + strlen(point) + 1 > sizeof copy) return false;
        if (text.bytes[i] == '.') {
            memcpy(copy + n, point, strlen(point));
            n += strlen(point);
        } else {
            copy[n++] = text.bytes[i];
        }
    }
    copy[n] = 0;
    char *end;
    *out = strtod(copy, &end);
    return n > 0 && *end == 0;
}

/* Digits of %.*e that read back as f, fewest first. */
static void shortest(double f, char out[40]) {
    for (int digits = 0; digits < 17; digits++) {
        snprintf(out, 40, "%.*e", digits, f);
        if (strtod(out, NULL) == f) return;
    }
}

size_t power_jinja_float_text(double f, char out[40]) {
    if (isnan(f)) return (size_t)snprintf(out, 40, "nan");
    if (isinf(f)) return (size_t)snprintf(out, 40, "%s", f < 0 ? "-inf" : "inf");
    char e[40], digits[40] = "0";
    shortest(f, e);
    bool negative = e[0] == '-';
    size_t n = 0;
    const char *at = e + negative;
    for (; *at && *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') digits[n++] = *at; /* the point may be a comma by locale */
    }
    int exponent = atoi(at + 1); /* of the first digit */
    char *to = out;
    if (negative) *to++ = '-';
    if (exponent < -4 || exponent >= 16) {
        *to++ = digits[0];
        if (n > 1) *to++ = '.';
        for (size_t i = 1; i < n; i++)
            *to++ = digits[i];
        to += snprintf(to, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return (size_t)(to - out);
    }
    if (exponent < 0) {
        *to++ = '0';
        *to++ = '.';
        for (int i = -1; i > exponent; i--)
            *to++ = '0';
    }
    for (int i = 0; i < (int)n || i <= exponent; i++) {
        if (i == exponent + 1 && exponent >= 0) *to++ = '.';
        *to++ = i < (int)n ? digits[i] : '0';
    }
    if (exponent >= 0 && (int)n <= exponent + 1) {
        *to++ = '.';
        *to++ = '0';
    }
    *to = 0;
    return (size_t)(to - out);
}

/* What repr() shows as it is (str.isprintable). */
bool power_jinja_is_printable(uint32_t code) {
    if (code < 0x7F) return code >= 0x20;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    return category != UTF8PROC_CATEGORY_CC && category != UTF8PROC_CATEGORY_CF &&
           category != UTF8PROC_CATEGORY_CS && category != UTF8PROC_CATEGORY_CO &&
           category != UTF8PROC_CATEGORY_CN && category != UTF8PROC_CATEGORY_ZL &&
           category != UTF8PROC_CATEGORY_ZP && category != UTF8PROC_CATEGORY_ZS;
}

static bool put_quoted(struct jinja_render *r, struct jinja_buffer *out, struct power_text text) {
    bool single = text.length && memchr(text.bytes, '\'', text.length);
    bool twice = text.length && memchr(text.bytes, '"', text.length);
    char quote = single && !twice ? '"' : '\'';
    bool ok = power_jinja_put(r, out, (struct power_text){&quote, 1});
    for (size_t at = 0, length; ok && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        char escape[16];
        if (code == '\n' || code == '\r' || code == '\t')
            snprintf(escape, sizeof escape, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
        else if (code == '\\' || code == (unsigned char)quote)
            snprintf(escape, sizeof escape, "\\%c", (char)code);
        else if (power_jinja_is_printable(code))
            escape[0] = 0;
        else
            snprintf(escape, sizeof escape,
                     code < 0x100     ? "\\x%02x"
                     : code < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                     code);
        ok = escape[0] ? put(r, out, escape)
                       : power_jinja_put(r, out, (struct power_text){text.bytes + at, length});
    }
    return ok && power_jinja_put(r, out, (struct power_text){&quote, 1});
}

static bool put_items(struct jinja_render *r, struct jinja_buffer *out,
                      const struct jinja_list *list) {
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = (i == 0 || put(r, out, ", ")) && power_jinja_repr(r, list->items[i], out);
    return ok;
}

static bool put_list(struct jinja_render *r, struct jinja_buffer *out,
                     const struct jinja_list *list) {
    char range[80];
    switch (list->kind) {
    case JINJA_PLAIN_LIST:
        return put(r, out, "[") && put_items(r, out, list) && put(r, out, "]");
    case JINJA_TUPLE:
        return put(r, out, "(") && put_items(r, out, list) &&
               put(r, out, list->count == 1 ? ",)" : ")");
    case JINJA_KEYS:
    case JINJA_VALUES:
    case JINJA_ITEMS:
        return put(r, out,
                   list->kind == JINJA_KEYS     ? "dict_keys(["
                   : list->kind == JINJA_VALUES ? "dict_values(["
                                                : "dict_items([") &&
               put_items(r, out, list) && put(r, out, "])");
    case JINJA_RANGE: {
        int64_t start = list->bounds[0], stop = list->bounds[1], step = list->bounds[2];
        snprintf(range, sizeof range, step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
                 (long long)start, (long long)stop, (long long)step);
        return put(r, out, range);
    }
    case JINJA_ITERATOR:
        break;
    }
    return put(r, out, "<") && put(r, out, list->type_name) && put(r, out, " object>");
}

static bool put_dict(struct jinja_render *r, struct jinja_buffer *out,
                     const struct jinja_dict *dict) {
    bool ok = put(r, out, "{");
    for (size_t i = 0; ok && i < dict->count; i++)
        ok = (i == 0 || put(r, out, ", ")) && power_jinja_repr(r, dict->entries[i].key, out) &&
             put(r, out, ": ") && power_jinja_repr(r, dict->entries[i].value, out);
    return ok && put(r, out, "}");
}

static bool put_object(struct jinja_render *r, struct jinja_buffer *out, struct jinja_value v) {
    const struct jinja_object *object = v.as.object;
    if (object->kind == JINJA_NAMESPACE) {
        return put(r, out, "<Namespace ") && put_dict(r, out, object->dict) && put(r, out, ">");
    }
    bool ok = put(r, out, "<") && put(r, out, power_jinja_type_name(v));
    if (object->kind == JINJA_LOOP) {
        char place[64];
        snprintf(place, sizeof place, " %zu/%zu", object->loop->index0 + 1,
                 object->loop->items->count);
        ok = ok && put(r, out, place);
    }
    if (object->kind == JINJA_MACRO && !object->name.length) ok = ok && put(r, out, " anonymous");
    if (object->name.length)
        ok = ok && put(r, out, " '") && power_jinja_put(r, out, object->name) && put(r, out, "'");
    return ok && put(r, out, ">");
}

static bool put_big(struct jinja_render *r, struct jinja_buffer *out, struct jinja_value v) {
    struct power_text digits;
    return power_jinja_whole_digits(r, v, 10, false, &digits) &&
           (!power_jinja_whole_negative(v) || put(r, out, "-")) && power_jinja_put(r, out, digits);
}

static bool repr_value(struct jinja_render *r, struct jinja_value v, struct jinja_buffer *out) {
    char number[40];
    switch ((enum jinja_type)v.type) {
    case JINJA_NONE:
        return put(r, out, "None");
    case JINJA_BOOL:
        return put(r, out, v.as.b ? "True" : "False");
    case JINJA_INT:
        snprintf(number, sizeof number, "%lld", (long long)v.as.i);
        return put(r, out, number);
    case JINJA_BIG:
        return put_big(r, out, v);
    case JINJA_FLOAT:
        (void)power_jinja_float_text(v.as.f, number);
        return put(r, out, number);
    case JINJA_TEXT:
        if (!v.markup) return put_quoted(r, out, power_jinja_text(v));
        return put(r, out, "Markup(") && put_quoted(r, out, power_jinja_text(v)) &&
               put(r, out, ")");
    case JINJA_LIST:
        return put_list(r, out, v.as.list);
    case JINJA_DICT:
        return put_dict(r, out, v.as.dict);
    case JINJA_OBJECT:
        return put_object(r, out, v);
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
        break;
    }
    return put(r, out, "Undefined");
}

bool power_jinja_repr(struct jinja_render *r, struct jinja_value v, struct jinja_buffer *out) {
    if (!power_jinja_steps(r, 1) || !power_jinja_enter(r)) return false;
    bool ok = repr_value(r, v, out);
    power_jinja_leave(r);
    return ok;
}

bool power_jinja_str(struct jinja_render *r, struct jinja_value v, struct jinja_buffer *out) {
    if (v.type == JINJA_TEXT) return power_jinja_put(r, out, power_jinja_text(v));
    if (v.type == JINJA_UNDEFINED) return true;
    return power_jinja_repr(r, v, out);
}

bool power_jinja_to_text(struct jinja_render *r, struct jinja_value v, struct jinja_value *out) {
    if (v.type == JINJA_TEXT) {
        *out = v;
        return true;
    }
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    return power_jinja_finish_text(r, &buffer, power_jinja_str(r, v, &buffer), out);
}

bool power_jinja_escape(struct jinja_render *r, struct jinja_value v, struct jinja_value *out) {
    if (v.type == JINJA_TEXT && v.markup) {
        *out = v;
        return true;
    }
    struct jinja_value text;
    struct jinja_buffer buffer;
    if (!power_jinja_to_text(r, v, &text)) return false;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t i = 0; ok && i < text.length; i++) {
        char c = text.as.text[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&#34;"
                             : c == '\'' ? "&#39;"
                                         : NULL;
        ok = entity ? put(r, &buffer, entity)
                    : power_jinja_put(r, &buffer, (struct power_text){text.as.text + i, 1});
    }
    ok = power_jinja_finish_text(r, &buffer, ok, out);
    if (ok) out->markup = true;
    return ok;
}
