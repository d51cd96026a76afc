/* SPDX-License-Identifier: MIT */
/* Job: JSON to values and back (the filter tojson of transformers: json.dumps without ASCII
 * escapes). Input: JSON text; values. Output: values; text. Threads: one per rendering. Bounds:
 * nesting by the reader's limit and by the rendering's depth. */
#include <math.h>
#include <stdio.h>

#include "text/jinja.h"
#include "text/json.h"
#include "text/utf8.h"

/* ---- reading ---- */

struct builder {
    struct jinja_render *r;
    struct power_json json;
    bool own;
};

static bool read_value(struct builder *b, enum power_json_event event, struct jinja_value *out);

static bool json_failed(struct builder *b) {
    if (b->r->status == POWER_OK) b->r->status = power_json_status(&b->json);
    return false;
}

static bool read_number(struct builder *b, struct jinja_value *out) {
    struct power_text n = b->json.value;
    bool negative = n.bytes[0] == '-', whole = true;
    double f;
    for (size_t i = negative; i < n.length && whole; i++)
        whole = n.bytes[i] >= '0' && n.bytes[i] <= '9';
    if (whole)
        return power_jinja_whole_parse(
            b->r, (struct power_text){n.bytes + negative, n.length - negative}, 10, negative, out);
    if (!power_jinja_parse_double(n, &f))
        return power_jinja_raise(b->r, POWER_LIMIT, "%s: number \"%s\" is too long", b->json.what,
                                 power_quote(n.bytes, n.length).text);
    *out = power_jinja_float(f);
    return true;
}

static bool copy_text(struct builder *b, struct jinja_value *out) {
    return b->own ? power_jinja_copy_own(b->r, b->json.value, out)
                  : power_jinja_copy(b->r, b->json.value, out);
}

static bool read_list(struct builder *b, struct jinja_value *out) {
    struct jinja_list *list = power_jinja_list(b->r, JINJA_PLAIN_LIST, 0);
    if (!list) return false;
    for (;;) {
        enum power_json_event event = power_json_next(&b->json);
        struct jinja_value v = {0};
        if (event == POWER_JSON_ARRAY_END) break;
        if (!read_value(b, event, &v) || !power_jinja_push(b->r, list, v)) return false;
    }
    *out = power_jinja_of_list(list);
    return true;
}

static bool read_object(struct builder *b, struct jinja_value *out) {
    struct jinja_dict *dict = power_jinja_dict(b->r);
    if (!dict) return false;
    for (;;) {
        enum power_json_event event = power_json_next(&b->json);
        struct jinja_value key = {0}, v = {0};
        if (event == POWER_JSON_OBJECT_END) break;
        if (event != POWER_JSON_KEY) return json_failed(b);
        if (!copy_text(b, &key) || !read_value(b, power_json_next(&b->json), &v) ||
            !power_jinja_dict_set(b->r, dict, key, v))
            return false;
    }
    *out = (struct jinja_value){.type = JINJA_DICT, .as.dict = dict};
    return true;
}

static bool read_value(struct builder *b, enum power_json_event event, struct jinja_value *out) {
    switch ((int)event) {
    case POWER_JSON_NULL:
        *out = power_jinja_none();
        return true;
    case POWER_JSON_TRUE:
    case POWER_JSON_FALSE:
        *out = power_jinja_bool(event == POWER_JSON_TRUE);
        return true;
    case POWER_JSON_NUMBER:
        return read_number(b, out);
    case POWER_JSON_STRING:
        return copy_text(b, out);
    case POWER_JSON_ARRAY:
        return read_list(b, out);
    case POWER_JSON_OBJECT:
        return read_object(b, out);
    default:
        return json_failed(b);
    }
}

bool power_jinja_from_json(struct jinja_render *r, struct power_text text, const char *what,
                           bool own, struct jinja_value *out) {
    struct builder b = {.r = r, .own = own};
    power_json_init(&b.json, r->arena.allocator, text, what, r->error);
    bool ok = read_value(&b, power_json_next(&b.json), out);
    if (ok && power_json_next(&b.json) != POWER_JSON_END) ok = json_failed(&b);
    power_json_finish(&b.json);
    return ok;
}

/* ---- writing ---- */

struct writer {
    struct jinja_render *r;
    struct jinja_buffer *out;
    bool indented, sort_keys, ascii;
    struct power_text indent;     /* one level */
    struct power_text item, pair; /* separators */
    unsigned level;
};

static bool put(struct writer *w, struct power_text text) {
    return power_jinja_put(w->r, w->out, text);
}

/* Beyond ASCII as \\uXXXX, in pairs beyond 16 bits; 0x7F stays as it is. */
static void ascii_escape(uint32_t code, char out[16]) {
    if (code < 0x10000) {
        snprintf(out, 16, "\\u%04x", code);
        return;
    }
    code -= 0x10000;
    snprintf(out, 16, "\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

static bool put_string(struct writer *w, struct power_text text) {
    bool ok = put(w, POWER_TEXT("\""));
    size_t plain = 0;
    for (size_t i = 0; ok && i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x80 || !w->ascii)) continue;
        char escape[16];
        size_t length = 1;
        const char *found = c ? strchr("\"\\\n\r\t\b\f", c) : NULL;
        if (found)
            snprintf(escape, sizeof escape, "\\%c", "\"\\nrtbf"[found - "\"\\\n\r\t\b\f"]);
        else
            ascii_escape(power_utf8_get(text, i, &length, NULL), escape);
        ok = put(w, (struct power_text){text.bytes + plain, i - plain}) &&
             put(w, power_text_of(escape));
        i += length - 1;
        plain = i + 1;
    }
    return ok && put(w, (struct power_text){text.bytes + plain, text.length - plain}) &&
           put(w, POWER_TEXT("\""));
}

static bool put_number(struct writer *w, struct jinja_value v) {
    char text[40];
    if (v.type != JINJA_FLOAT) return power_jinja_repr(w->r, v, w->out);
    if (isnan(v.as.f)) return put(w, POWER_TEXT("NaN"));
    if (isinf(v.as.f)) return put(w, v.as.f < 0 ? POWER_TEXT("-Infinity") : POWER_TEXT("Infinity"));
    (void)power_jinja_float_text(v.as.f, text);
    return put(w, power_text_of(text));
}

static bool put_line(struct writer *w) {
    bool ok = !w->indented || put(w, POWER_TEXT("\n"));
    for (unsigned i = 0; ok && w->indented && i < w->level; i++)
        ok = put(w, w->indent);
    return ok;
}

static bool put_value(struct writer *w, struct jinja_value v);

static bool put_list(struct writer *w, const struct jinja_list *list) {
    if (list->count == 0) return put(w, POWER_TEXT("[]"));
    bool ok = put(w, POWER_TEXT("["));
    w->level++;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = (i == 0 || put(w, w->item)) && put_line(w) && put_value(w, list->items[i]);
    w->level--;
    return ok && put_line(w) && put(w, POWER_TEXT("]"));
}

static bool put_key(struct writer *w, struct jinja_value key) {
    if (key.type == JINJA_TEXT) return put_string(w, power_jinja_text(key));
    if (key.type == JINJA_NONE) return put(w, POWER_TEXT("\"null\""));
    if (key.type == JINJA_BOOL)
        return put(w, key.as.b ? POWER_TEXT("\"true\"") : POWER_TEXT("\"false\""));
    if (!power_jinja_is_number(key))
        return power_jinja_raise(w->r, POWER_INVALID,
                                 "keys must be str, int, float, bool or None, not %s",
                                 power_jinja_type_name(key));
    return put(w, POWER_TEXT("\"")) && put_number(w, key) && put(w, POWER_TEXT("\""));
}

/* Entry numbers in order of their keys. */
static bool sort_entries(struct writer *w, const struct jinja_dict *dict, uint32_t **out) {
    size_t n = dict->count;
    uint32_t *order = power_arena_alloc(&w->r->arena, n, 2 * sizeof *order);
    if (!order) return power_jinja_no_memory(w->r);
    uint32_t *from = order, *to = order + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) { /* merge sort, bottom up, stable */
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n;
            size_t end = start + 2 * width < n ? start + 2 * width : n;
            for (size_t a = start, b = middle, k = start; k < end; k++) {
                int sign = -1;
                if (a < middle && b < end &&
                    !power_jinja_order(w->r, dict->entries[from[b]].key, dict->entries[from[a]].key,
                                       "<", &sign))
                    return false;
                bool take_b = a == middle || (b < end && sign < 0);
                to[k] = take_b ? from[b++] : from[a++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    *out = from;
    return true;
}

static bool put_dict(struct writer *w, const struct jinja_dict *dict) {
    if (dict->count == 0) return put(w, POWER_TEXT("{}"));
    uint32_t *order = NULL;
    if (w->sort_keys && !sort_entries(w, dict, &order)) return false;
    bool ok = put(w, POWER_TEXT("{"));
    w->level++;
    for (size_t i = 0; ok && i < dict->count; i++) {
        const struct jinja_entry *e = &dict->entries[order ? order[i] : i];
        ok = (i == 0 || put(w, w->item)) && put_line(w) && put_key(w, e->key) && put(w, w->pair) &&
             put_value(w, e->value);
    }
    w->level--;
    return ok && put_line(w) && put(w, POWER_TEXT("}"));
}

static bool put_kind(struct writer *w, struct jinja_value v) {
    switch ((int)v.type) {
    case JINJA_NONE:
        return put(w, POWER_TEXT("null"));
    case JINJA_BOOL:
        return put(w, v.as.b ? POWER_TEXT("true") : POWER_TEXT("false"));
    case JINJA_INT:
    case JINJA_BIG:
    case JINJA_FLOAT:
        return put_number(w, v);
    case JINJA_TEXT:
        return put_string(w, power_jinja_text(v));
    case JINJA_DICT:
        return put_dict(w, v.as.dict);
    case JINJA_LIST:
        if (v.as.list->kind <= JINJA_TUPLE) return put_list(w, v.as.list);
        break;
    default:
        break;
    }
    return power_jinja_raise(w->r, POWER_INVALID, "object of type %s is not JSON serializable",
                             power_jinja_type_name(v));
}

static bool put_value(struct writer *w, struct jinja_value v) {
    if (!power_jinja_steps(w->r, 1) || !power_jinja_enter(w->r)) return false;
    bool ok = put_kind(w, v);
    power_jinja_leave(w->r);
    return ok;
}

static bool read_options(struct writer *w, const struct jinja_value given[5]) {
    struct jinja_value indent = given[2], separators = given[3];
    int64_t width = 0;
    w->sort_keys = given[4].type != JINJA_MISSING && power_jinja_truth(given[4]);
    w->ascii = given[1].type != JINJA_MISSING && power_jinja_truth(given[1]);
    if (indent.type != JINJA_MISSING && indent.type != JINJA_NONE) {
        w->indented = true;
        w->item = POWER_TEXT(",");
        if (indent.type == JINJA_TEXT) {
            w->indent = power_jinja_text(indent);
        } else if (power_jinja_as_int(indent, &width)) {
            char *spaces = power_arena_alloc(&w->r->arena, 65, 1);
            if (!spaces) return power_jinja_no_memory(w->r);
            width = width < 0 ? 0 : width > 64 ? 64 : width;
            memset(spaces, ' ', 64);
            w->indent = (struct power_text){spaces, (size_t)width};
        } else {
            return power_jinja_raise(w->r, POWER_INVALID, "tojson: indent is a '%s'",
                                     power_jinja_type_name(indent));
        }
    }
    if (separators.type == JINJA_MISSING || separators.type == JINJA_NONE) return true;
    if (separators.type != JINJA_LIST || separators.as.list->count != 2 ||
        separators.as.list->items[0].type != JINJA_TEXT ||
        separators.as.list->items[1].type != JINJA_TEXT)
        return power_jinja_raise(w->r, POWER_INVALID, "tojson: separators must be two strings");
    w->item = power_jinja_text(separators.as.list->items[0]);
    w->pair = power_jinja_text(separators.as.list->items[1]);
    return true;
}

bool power_jinja_tojson(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out) {
    struct jinja_value given[5];
    struct jinja_buffer buffer;
    struct writer w = {.r = r, .out = &buffer, .item = POWER_TEXT(", "), .pair = POWER_TEXT(": ")};
    if (!power_jinja_spread(r, "tojson", "x,ensure_ascii,indent,separators,sort_keys", 1, args,
                            given) ||
        !read_options(&w, given))
        return false;
    power_jinja_scratch(r, &buffer);
    return power_jinja_finish_text(r, &buffer, put_value(&w, given[0]), out);
}
