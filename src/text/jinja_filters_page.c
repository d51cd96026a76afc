/* SPDX-License-Identifier: MIT */
/* Job: the filters for pages: xmlattr, wordwrap, filesizeformat.
 * Input: arguments, the filtered value first. Output: text.
 * Threads: one per rendering. Bounds: linear in the text, but for the tries of one long word. */
#include <math.h>
#include <stdio.h>

#include "text/jinja_filters.h"
#include "text/split_class.h"

static bool given_true(struct jinja_value v, bool fallback) {
    return v.type == JINJA_MISSING ? fallback : power_jinja_truth(v);
}

/* ---- xmlattr ---- */

static bool bad_key(struct power_text key) {
    for (size_t i = 0; i < key.length; i++) {
        if (key.bytes[i] && strchr(" \t\n\r\f\v/>=", key.bytes[i])) return true;
    }
    return false;
}

bool power_jinja_filter_xmlattr(struct jinja_render *r, const struct jinja_args *args,
                                struct jinja_value *out) {
    struct jinja_value given[2], key, value;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, "xmlattr", "d,autospace", 1, args, given)) return false;
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[0].type != JINJA_DICT)
        return power_jinja_raise(r, POWER_INVALID, "'%s' object has no attribute 'items'",
                                 power_jinja_type_name(given[0]));
    power_jinja_scratch(r, &buffer);
    bool ok = true, space = given_true(given[1], true);
    for (size_t i = 0; ok && i < given[0].as.dict->count; i++) {
        const struct jinja_entry *e = &given[0].as.dict->entries[i];
        if (e->value.type == JINJA_NONE || e->value.type == JINJA_UNDEFINED) continue;
        if (e->key.type != JINJA_TEXT || bad_key(power_jinja_text(e->key)))
            ok = power_jinja_raise(r, POWER_INVALID, "invalid character in attribute name");
        ok = ok && power_jinja_escape(r, e->key, &key) && power_jinja_escape(r, e->value, &value) &&
             (!(space || buffer.text.length) || power_jinja_put(r, &buffer, POWER_TEXT(" "))) &&
             power_jinja_put(r, &buffer, power_jinja_text(key)) &&
             power_jinja_put(r, &buffer, POWER_TEXT("=\"")) &&
             power_jinja_put(r, &buffer, power_jinja_text(value)) &&
             power_jinja_put(r, &buffer, POWER_TEXT("\""));
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- wordwrap ---- */

struct wrapper {
    struct jinja_render *r;
    struct jinja_buffer *out;
    struct power_text separator;
    int64_t width;
    bool break_long, break_hyphens;
    bool any;               /* a line was written in this paragraph */
    struct power_text line; /* what the current line holds so far */
    int64_t line_count;     /* in code points */
    struct power_text last; /* its last chunk */
};

static bool is_gap(uint32_t code) {
    return (code >= '\t' && code <= '\r') || code == ' ';
}

static bool is_letter(struct power_char c) {
    return c.length && (c.class & POWER_CLASS_L);
}

static bool is_word(struct power_char c) {
    return c.length && (c.code == '_' || (c.class & (POWER_CLASS_L | POWER_CLASS_N)));
}

static struct power_char before(struct power_text text, size_t at) {
    if (at == 0) return (struct power_char){0};
    return power_char_at(text, power_utf8_before(text, at));
}

static size_t dashes(struct power_text text, size_t at) {
    size_t n = 0;
    while (at + n < text.length && text.bytes[at + n] == '-')
        n++;
    return n;
}

static bool punctuated(struct power_text text, size_t at) {
    struct power_char c = before(text, at);
    return is_word(c) || (c.length && c.code && c.code < 0x80 && strchr("!\"'&.,?", (int)c.code));
}

/* Two dashes or more between words. */
static size_t long_dash(struct power_text text, size_t at) {
    if (!punctuated(text, at)) return 0; /* first: a run of dashes is counted once */
    size_t n = dashes(text, at);
    return n >= 2 && is_word(power_char_at(text, at + n)) ? n : 0;
}

/* A hyphen at `at` behind which a word may be cut. */
static bool cuts(struct power_text text, size_t at) {
    if (text.bytes[at] != '-') return false;
    struct power_char one = before(text, at), two = {0};
    if (!is_letter(one)) return false;
    two = before(text, at - one.length);
    bool joined =
        two.length && two.code == '-' && is_letter(before(text, at - one.length - two.length));
    if (!is_letter(two) && !joined) return false;
    struct power_char next = power_char_at(text, at + 1);
    if (!is_letter(next)) return false;
    size_t behind = at + 1 + next.length;
    if (behind < text.length && text.bytes[behind] == '-') behind++;
    return is_letter(power_char_at(text, behind));
}

/* The end of the chunk that begins at `at`. */
static size_t chunk_end(const struct wrapper *w, struct power_text text, size_t at) {
    struct power_char c = power_char_at(text, at);
    bool gap = is_gap(c.code);
    if (w->break_hyphens && !gap && long_dash(text, at)) return at + long_dash(text, at);
    for (at += c.length; at < text.length; at += c.length) {
        c = power_char_at(text, at);
        if (is_gap(c.code) != gap) return at;
        if (gap || !w->break_hyphens) continue;
        if (cuts(text, at)) return at + 1;
        if (long_dash(text, at)) return at;
    }
    return at;
}

static bool is_blank(struct power_text text) {
    return power_jinja_strip(text, NULL, 3).length == 0;
}

static bool end_line(struct wrapper *w) {
    struct power_text line = w->line;
    if (w->last.length && is_blank(w->last)) line.length -= w->last.length;
    w->line = w->last = (struct power_text){0};
    w->line_count = 0;
    if (line.length == 0) return true;
    bool ok = !w->any || power_jinja_put(w->r, w->out, w->separator);
    w->any = true;
    return ok && power_jinja_put(w->r, w->out, line);
}

static void take(struct wrapper *w, struct power_text chunk) {
    if (w->line.length == 0) w->line.bytes = chunk.bytes;
    w->line.length += chunk.length;
    w->line_count += (int64_t)power_utf8_count(chunk);
    w->last = chunk;
}

/* How much of a chunk that is too long for any line goes on this one. */
static size_t long_part(const struct wrapper *w, struct power_text chunk) {
    int64_t left = w->width - w->line_count;
    if (!w->break_long) return w->line.length ? 0 : chunk.length;
    size_t end = power_jinja_offset(chunk, (size_t)left), hyphen = end;
    if (!w->break_hyphens) return end;
    while (hyphen > 0 && chunk.bytes[hyphen - 1] != '-')
        hyphen--;
    for (size_t i = 0; hyphen > 1 && i < hyphen - 1; i++) {
        if (chunk.bytes[i] != '-') return hyphen;
    }
    return end;
}

static bool wrap_line(struct wrapper *w, struct power_text text) {
    w->any = false;
    for (size_t at = 0; at < text.length;) {
        size_t end = chunk_end(w, text, at);
        struct power_text chunk = {text.bytes + at, end - at};
        at = end;
        if (!power_jinja_steps(w->r, 1 + chunk.length / 16)) return false;
        int64_t count = (int64_t)power_utf8_count(chunk);
        while (chunk.length) {
            if (w->line.length == 0 && w->any && is_blank(chunk)) break;
            if (w->line_count + count <= w->width) {
                take(w, chunk);
                break;
            }
            size_t part = count > w->width ? long_part(w, chunk) : 0;
            bool cut = part || (count > w->width && w->break_long);
            int64_t before = w->line_count;
            if (cut) take(w, (struct power_text){chunk.bytes, part});
            count -= w->line_count - before;
            chunk.bytes += part;
            chunk.length -= part;
            if (!power_jinja_steps(w->r, 1) || !end_line(w)) return false;
        }
    }
    return end_line(w);
}

bool power_jinja_filter_wordwrap(struct jinja_render *r, const struct jinja_args *args,
                                 struct jinja_value *out) {
    struct jinja_value given[5], lines;
    struct jinja_buffer buffer;
    struct jinja_args none = {0};
    bool unsafe;
    if (!power_jinja_spread(r, "wordwrap", "s,width,break_long_words,wrapstring,break_on_hyphens",
                            1, args, given))
        return false;
    struct wrapper w = {.r = r, .out = &buffer, .separator = POWER_TEXT("\n"), .width = 79};
    w.break_long = given_true(given[2], true);
    w.break_hyphens = given_true(given[4], true);
    if (given[0].type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, given[0]);
    if (given[0].type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "'%s' object has no attribute 'splitlines'",
                                 power_jinja_type_name(given[0]));
    if (given[3].type == JINJA_TEXT) w.separator = power_jinja_text(given[3]);
    int id = power_jinja_method_find(given[0], POWER_TEXT("splitlines"), &unsafe);
    if (!power_jinja_method(r, given[0], id, &none, &lines)) return false;
    if (given[1].type != JINJA_MISSING && !power_jinja_as_int(given[1], &w.width) &&
        lines.as.list->count)
        return power_jinja_raise(r, POWER_INVALID, "wordwrap() takes an integer width");
    if (w.width <= 0 && lines.as.list->count)
        return power_jinja_raise(r, POWER_INVALID, "invalid width (must be > 0)");
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t i = 0; ok && i < lines.as.list->count; i++)
        ok = (i == 0 || power_jinja_put(r, &buffer, w.separator)) &&
             wrap_line(&w, power_jinja_text(lines.as.list->items[i]));
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- filesizeformat ---- */

static bool size_of(struct jinja_render *r, struct jinja_value v, double *out) {
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (power_jinja_is_number(v)) return power_jinja_to_double(r, v, out);
    if (v.type == JINJA_TEXT && power_jinja_float_of_text(power_jinja_text(v), out)) return true;
    return power_jinja_raise(r, POWER_INVALID, "could not convert '%s' to a size",
                             power_jinja_type_name(v));
}

bool power_jinja_filter_filesizeformat(struct jinja_render *r, const struct jinja_args *args,
                                       struct jinja_value *out) {
    static const char *const units[2][8] = {
        {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"},
        {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}};
    struct jinja_value given[2], whole, unit;
    char text[400];
    double bytes = 0;
    if (!power_jinja_spread(r, "filesizeformat", "value,binary", 1, args, given) ||
        !size_of(r, given[0], &bytes))
        return false;
    bool binary = given_true(given[1], false);
    double base = binary ? 1024 : 1000;
    if (bytes == 1) return power_jinja_copy(r, POWER_TEXT("1 Byte"), out);
    if (bytes < base) {
        struct jinja_buffer buffer;
        if (isinf(bytes))
            return power_jinja_raise(r, POWER_INVALID, "cannot convert float infinity to integer");
        if (!power_jinja_whole_of_double(r, bytes, &whole)) return false;
        power_jinja_scratch(r, &buffer);
        bool ok =
            power_jinja_str(r, whole, &buffer) && power_jinja_put(r, &buffer, POWER_TEXT(" Bytes"));
        return power_jinja_finish_text(r, &buffer, ok, out);
    }
    unit = power_jinja_int((int64_t)base);
    for (int i = 0; i < 8; i++) {
        int order;
        if (!power_jinja_whole_op(r, OP_MUL, unit, power_jinja_int((int64_t)base), &unit) ||
            !power_jinja_order(r, power_jinja_float(bytes), unit, "<", &order))
            return false;
        snprintf(text, sizeof text, "%.1f %s", base * bytes / power_jinja_as_double(unit),
                 units[binary][i]);
        if (order == -1) break;
    }
    for (char *c = text; *c; c++) {
        if (*c == ',') *c = '.';
    }
    return power_jinja_copy(r, power_text_of(text), out);
}
