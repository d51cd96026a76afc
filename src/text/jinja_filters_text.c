/* SPDX-License-Identifier: MIT */
/* Job: filters on text. Input: arguments, the text first. Output: text.
 * Threads: one per rendering. Bounds: linear in the text. */
#include <stdio.h>

#include "text/jinja_filters.h"
#include "text/split_class.h"

/* The first argument as text; `names` begins with it. */
static bool take(struct jinja_render *r, const char *filter, const char *names, size_t required,
                 const struct jinja_args *args, struct jinja_value *given) {
    return power_jinja_spread(r, filter, names, required, args, given) &&
           power_jinja_to_text(r, given[0], &given[0]);
}

static bool int_arg(struct jinja_render *r, struct jinja_value v, int64_t fallback, int64_t *out) {
    *out = fallback;
    if (v.type == JINJA_MISSING || v.type == JINJA_NONE || power_jinja_as_int(v, out)) return true;
    return power_jinja_raise(r, POWER_INVALID, "an integer is required, not %s",
                             power_jinja_type_name(v));
}

static bool by_method(struct jinja_render *r, const char *method, struct jinja_value self,
                      struct jinja_value *items, size_t count, struct jinja_value *out) {
    bool unsafe;
    struct jinja_args args = {.items = items, .count = count};
    int id = power_jinja_method_find(self, power_text_of(method), &unsafe);
    return power_jinja_method(r, self, id, &args, out);
}

bool power_jinja_filter_upper(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value v;
    return take(r, "upper", "s", 1, args, &v) && by_method(r, "upper", v, NULL, 0, out);
}

bool power_jinja_filter_lower(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value v;
    return take(r, "lower", "s", 1, args, &v) && by_method(r, "lower", v, NULL, 0, out);
}

bool power_jinja_filter_capitalize(struct jinja_render *r, const struct jinja_args *args,
                                   struct jinja_value *out) {
    struct jinja_value v;
    return take(r, "capitalize", "s", 1, args, &v) && by_method(r, "capitalize", v, NULL, 0, out);
}

bool power_jinja_filter_string(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value v;
    if (!take(r, "string", "object", 1, args, &v)) return false;
    *out = v;
    return true;
}

bool power_jinja_filter_trim(struct jinja_render *r, const struct jinja_args *args,
                             struct jinja_value *out) {
    struct jinja_value given[2];
    if (!take(r, "trim", "value,chars", 1, args, given)) return false;
    size_t n = given[1].type == JINJA_MISSING ? 0 : 1;
    return by_method(r, "strip", given[0], &given[1], n, out);
}

bool power_jinja_filter_center(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value given[2];
    if (!take(r, "center", "value,width", 1, args, given)) return false;
    if (given[1].type == JINJA_MISSING) given[1] = power_jinja_int(80);
    return by_method(r, "center", given[0], &given[1], 1, out);
}

bool power_jinja_filter_replace(struct jinja_render *r, const struct jinja_args *args,
                                struct jinja_value *out) {
    struct jinja_value given[4];
    int64_t count;
    if (!take(r, "replace", "s,old,new,count", 3, args, given) ||
        !power_jinja_to_text(r, given[1], &given[1]) ||
        !power_jinja_to_text(r, given[2], &given[2]) || !int_arg(r, given[3], -1, &count))
        return false;
    return power_jinja_replace(r, power_jinja_text(given[0]), power_jinja_text(given[1]),
                               power_jinja_text(given[2]), count < 0 ? -1 : count, out);
}

bool power_jinja_filter_format(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value format, named;
    struct jinja_args rest = *args;
    if (args->count == 0) return power_jinja_raise(r, POWER_INVALID, "format() takes a value");
    if (!power_jinja_to_text(r, args->items[0], &format)) return false;
    rest.items++;
    rest.count--;
    if (args->n_keywords && rest.count)
        return power_jinja_raise(r, POWER_INVALID,
                                 "can't handle positional and keyword arguments at the same time");
    if (args->n_keywords) {
        struct jinja_dict *dict = power_jinja_dict(r);
        for (size_t i = 0; dict && i < args->n_keywords; i++) {
            if (!power_jinja_dict_set(r, dict, power_jinja_borrow(args->keywords[i].name),
                                      args->keywords[i].value))
                return false;
        }
        if (!dict) return false;
        named = (struct jinja_value){.type = JINJA_DICT, .as.dict = dict};
        rest.items = &named;
        rest.count = 1;
    }
    rest.n_keywords = 0;
    return power_jinja_percent(r, power_jinja_text(format), &rest, args->n_keywords > 0, out);
}

/* White space, '-' and opening brackets: a word begins behind them. */
static bool between_words(struct power_text text, size_t at, size_t *out_length) {
    uint32_t code = power_utf8_get(text, at, out_length, NULL);
    return power_jinja_is_space(code) || (code < 0x80 && code && strchr("-({[<", (int)code));
}

/* The rest of a word is lowered at once: a sigma asks what stands beside it. */
bool power_jinja_filter_title(struct jinja_render *r, const struct jinja_args *args,
                              struct jinja_value *out) {
    struct jinja_value v, first, rest;
    struct jinja_buffer buffer;
    if (!take(r, "title", "s", 1, args, &v)) return false;
    power_jinja_scratch(r, &buffer);
    struct power_text text = power_jinja_text(v);
    bool ok = true;
    for (size_t at = 0, end, next; ok && at < text.length; at = end) {
        bool word = !between_words(text, at, &next);
        size_t begin = at + next;
        for (end = begin; word && end < text.length; end += next) {
            if (between_words(text, end, &next)) break;
        }
        struct power_text head = {text.bytes + at, begin - at},
                          tail = {text.bytes + begin, end - begin};
        ok = power_jinja_case(r, head, CASE_UPPER, &first) &&
             power_jinja_put(r, &buffer, power_jinja_text(first)) &&
             power_jinja_case(r, tail, CASE_LOWER, &rest) &&
             power_jinja_put(r, &buffer, power_jinja_text(rest));
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

bool power_jinja_filter_indent(struct jinja_render *r, const struct jinja_args *args,
                               struct jinja_value *out) {
    struct jinja_value given[4], lines;
    int64_t width = 4;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, "indent", "s,width,first,blank", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[0].type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID,
                                 "unsupported operand type(s) for +=: '%s' and 'str'",
                                 power_jinja_type_name(given[0]));
    bool text = given[1].type == JINJA_TEXT;
    if (!text && !int_arg(r, given[1], 4, &width)) return false;
    if (width > 1000) return power_jinja_raise(r, POWER_LIMIT, "indent is too wide");
    bool first = given[2].type != JINJA_MISSING && power_jinja_truth(given[2]);
    bool blank = given[3].type != JINJA_MISSING && power_jinja_truth(given[3]);
    if (!power_jinja_binary(r, OP_ADD, given[0], power_jinja_borrow(POWER_TEXT("\n")), &lines) ||
        !by_method(r, "splitlines", lines, NULL, 0, &lines))
        return false;
    const struct jinja_list *list = lines.as.list;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++) {
        bool indented = i == 0 ? first : blank || list->items[i].length > 0;
        if (i) ok = power_jinja_put(r, &buffer, POWER_TEXT("\n"));
        if (ok && indented && text) ok = power_jinja_put(r, &buffer, power_jinja_text(given[1]));
        for (int64_t k = 0; ok && indented && !text && k < width; k++)
            ok = power_jinja_put(r, &buffer, POWER_TEXT(" "));
        ok = ok && power_jinja_put(r, &buffer, power_jinja_text(list->items[i]));
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* Tags and comments removed, white space folded. Entities are left as they are. */
bool power_jinja_filter_striptags(struct jinja_render *r, const struct jinja_args *args,
                                  struct jinja_value *out) {
    struct jinja_value v;
    struct jinja_buffer buffer;
    if (!take(r, "striptags", "value", 1, args, &v)) return false;
    struct power_text text = power_jinja_text(v);
    if (text.length && memchr(text.bytes, '&', text.length))
        return power_jinja_raise(r, POWER_UNSUPPORTED, "striptags of text with entities");
    power_jinja_scratch(r, &buffer);
    bool ok = true, space = false;
    for (size_t at = 0, length; ok && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        struct power_text rest = {text.bytes + at, text.length - at};
        if (code == '<') {
            bool comment = rest.length >= 4 && memcmp(rest.bytes, "<!--", 4) == 0;
            size_t end = power_jinja_find(rest, comment ? POWER_TEXT("-->") : POWER_TEXT(">"), 0);
            if (end != SIZE_MAX) {
                length = end + (comment ? 3 : 1);
                continue;
            }
        }
        if (power_jinja_is_space(code)) {
            space = true;
            continue;
        }
        if (space && buffer.text.length) ok = power_jinja_put(r, &buffer, POWER_TEXT(" "));
        space = false;
        ok = ok && power_jinja_put(r, &buffer, (struct power_text){rest.bytes, length});
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

bool power_jinja_filter_truncate(struct jinja_render *r, const struct jinja_args *args,
                                 struct jinja_value *out) {
    struct jinja_value given[5], cut;
    int64_t length, leeway;
    if (!power_jinja_spread(r, "truncate", "s,length,killwords,end,leeway", 1, args, given) ||
        !int_arg(r, given[1], 255, &length) || !int_arg(r, given[4], 5, &leeway))
        return false;
    struct power_text end =
        given[3].type == JINJA_TEXT ? power_jinja_text(given[3]) : POWER_TEXT("...");
    struct power_text text =
        given[0].type == JINJA_TEXT ? power_jinja_text(given[0]) : POWER_TEXT("");
    int64_t tail = (int64_t)power_utf8_count(end);
    if (length < tail || leeway < 0)
        return power_jinja_raise(r, POWER_INVALID, "expected length >= %lld, got %lld",
                                 (long long)tail, (long long)length);
    *out = given[0];
    if (given[0].type != JINJA_TEXT) { /* what is short enough stays what it is */
        struct jinja_args one = {.items = given, .count = 1};
        struct jinja_value n;
        if (!power_jinja_filter_length(r, &one, &n)) return false;
        return n.as.i <= length + leeway ||
               power_jinja_raise(r, POWER_INVALID, "can't truncate a '%s'",
                                 power_jinja_type_name(given[0]));
    }
    if ((int64_t)power_utf8_count(text) <= length + leeway) return true;
    text.length = power_jinja_offset(text, (size_t)(length - tail));
    if (given[2].type == JINJA_MISSING || !power_jinja_truth(given[2])) {
        size_t at = text.length;
        while (at > 0 && text.bytes[at - 1] != ' ')
            at--;
        if (at > 0) text.length = at - 1;
    }
    cut = power_jinja_borrow(text);
    return power_jinja_binary(r, OP_ADD, cut, power_jinja_borrow(end), out);
}

static bool put_url(struct jinja_render *r, struct jinja_buffer *out, struct power_text text,
                    bool query) {
    bool ok = true;
    for (size_t i = 0; ok && i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("_.-~", c)) || (c == '/' && !query);
        char code[4];
        snprintf(code, sizeof code, "%%%02X", c);
        if (plain)
            ok = power_jinja_put(r, out, (struct power_text){&text.bytes[i], 1});
        else
            ok = power_jinja_put(r, out, query && c == ' ' ? POWER_TEXT("+") : power_text_of(code));
    }
    return ok;
}

bool power_jinja_filter_urlencode(struct jinja_render *r, const struct jinja_args *args,
                                  struct jinja_value *out) {
    struct jinja_value v, text;
    struct jinja_list *list;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, "urlencode", "value", 1, args, &v)) return false;
    bool whole = v.type != JINJA_DICT && v.type != JINJA_LIST;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    if (whole) {
        ok = power_jinja_to_text(r, v, &text) && put_url(r, &buffer, power_jinja_text(text), false);
        return power_jinja_finish_text(r, &buffer, ok, out);
    }
    if (v.type == JINJA_DICT) ok = by_method(r, "items", v, NULL, 0, &v);
    ok = ok && power_jinja_iterate(r, v, &list);
    for (size_t i = 0; ok && i < list->count; i++) {
        struct jinja_list *pair;
        ok = power_jinja_iterate(r, list->items[i], &pair) &&
             (pair->count == 2 ||
              power_jinja_raise(r, POWER_INVALID, "urlencode() takes pairs, found %zu values",
                                pair->count));
        for (size_t k = 0; ok && k < 2; k++) {
            struct power_text before = k ? POWER_TEXT("=") : i ? POWER_TEXT("&") : POWER_TEXT("");
            ok = power_jinja_put(r, &buffer, before) &&
                 power_jinja_to_text(r, pair->items[k], &text) &&
                 put_url(r, &buffer, power_jinja_text(text), true);
        }
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

bool power_jinja_filter_wordcount(struct jinja_render *r, const struct jinja_args *args,
                                  struct jinja_value *out) {
    struct jinja_value v;
    if (!take(r, "wordcount", "s", 1, args, &v)) return false;
    int64_t n = 0;
    bool inside = false;
    for (size_t at = 0; at < v.length;) {
        struct power_char c = power_char_at(power_jinja_text(v), at);
        bool word = c.code == '_' || (c.class & (POWER_CLASS_L | POWER_CLASS_N));
        n += word && !inside;
        inside = word;
        at += c.length;
    }
    *out = power_jinja_int(n);
    return true;
}
