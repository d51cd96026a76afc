/* SPDX-License-Identifier: MIT */
/* Job: arguments written as key=value (Python) or key:value with quotes of their own (Gemma).
 * Input: bytes after the bracket that begins them. Output: events; JSON that says the same.
 * Threads: one a parser. Bounds: ANSWER_DEPTH levels; bare keys and values of ANSWER_PIECE bytes,
 * strings stream. */
#include "text/answer/internal.h"

#include <stdio.h>

#include "text/utf8.h"

enum { KEY_START, KEY_BARE, QUOTE, STRING, ESCAPE, HEX, SEPARATOR, VALUE, BARE, AFTER };

static bool gemma(const answer_parser *p) {
    return p->format.calls->shape == ANSWER_GEMMA;
}

static void put(answer_parser *p, const char *text) {
    answer_emit(p, POWER_ANSWER_ARGUMENTS, text, strlen(text));
}

void answer_begin_loose(answer_parser *p) {
    static const char method[] = ".call"; /* of Llama's built-in tools */
    size_t n = sizeof method - 1;
    if (p->format.calls->shape == ANSWER_OBJECT && p->n_name > n &&
        memcmp(p->name + p->n_name - n, method, n) == 0)
        p->n_name -= n;
    answer_settle_name(p);
    answer_call(p);
    memset(&p->loose, 0, sizeof p->loose);
    p->loose.state = KEY_START;
    p->loose.first = true;
    put(p, "{");
    p->state = ANSWER_IN_LOOSE;
}

void answer_list_point(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    answer_to_point(p, calls->flags & ANSWER_LIST_ONLY ? ANSWER_DO_FAIL : ANSWER_DO_NAME);
    answer_marks_add(p, "]", ANSWER_DO_LIST_END);
    answer_marks_add(p, ",", ANSWER_DO_NAME);
    answer_marks_add(p, calls->call_close, ANSWER_DO_LIST_END);
}

static bool in_object(const struct answer_loose *l) {
    return !l->depth || answer_level_is_object(l->objects, l->depth - 1);
}

static enum answer_step to(answer_parser *p, unsigned char state) {
    p->loose.state = state;
    return ANSWER_TAKEN;
}

static enum answer_step open_level(answer_parser *p, bool object) {
    struct answer_loose *l = &p->loose;
    if (l->depth >= ANSWER_DEPTH) return ANSWER_BAD;
    answer_level_set(l->objects, l->depth++, object);
    l->first = true;
    put(p, object ? "{" : "[");
    return to(p, object ? KEY_START : VALUE);
}

static bool closes(const answer_parser *p, unsigned char c) {
    if (!p->loose.depth) return c == (gemma(p) ? '}' : ')');
    return c == (in_object(&p->loose) ? '}' : ']');
}

static enum answer_step close_level(answer_parser *p) {
    struct answer_loose *l = &p->loose;
    put(p, in_object(l) ? "}" : "]");
    if (l->depth) {
        l->depth--;
        return to(p, AFTER);
    }
    answer_call_end(p);
    if (p->format.calls->shape == ANSWER_PYTHON)
        answer_list_point(p);
    else
        answer_after_call(p);
    return ANSWER_TAKEN;
}

static void release_string(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (p->loose.in_key && !p->loose.depth) {
        if (p->n_key == ANSWER_NAME || !c)
            p->overflow = true;
        else
            p->key[p->n_key++] = byte;
    }
    answer_emit_escaped(p, &byte, 1);
}

static enum answer_step begin_string(answer_parser *p, char quote) {
    p->loose.quote = quote;
    p->n_key = 0;
    put(p, "\"");
    answer_marks_clear(p);
    if (!quote) answer_marks_add(p, p->format.calls->quote, ANSWER_DO_NOTHING);
    return to(p, STRING);
}

/* True when a string begins here, by either kind of quote. */
static bool quoted(answer_parser *p, unsigned char c, bool in_key) {
    p->loose.in_key = in_key;
    if (c == '"' || c == '\'') {
        (void)begin_string(p, (char)c);
        return true;
    }
    if (!gemma(p) || c != (unsigned char)p->format.calls->quote[0]) return false;
    p->loose.digits = 1;
    p->loose.state = QUOTE;
    return true;
}

static enum answer_step step_quote(answer_parser *p, unsigned char c) {
    const char *mark = p->format.calls->quote;
    if (c != (unsigned char)mark[p->loose.digits]) return ANSWER_BAD;
    if (!mark[++p->loose.digits]) return begin_string(p, 0);
    return ANSWER_TAKEN;
}

static void comma(answer_parser *p) {
    if (!p->loose.first) put(p, ", ");
}

static enum answer_step key_start(answer_parser *p, unsigned char c) {
    if (answer_is_space(c)) return ANSWER_TAKEN;
    if (closes(p, c)) return close_level(p);
    if (strchr("<>[]{}():=,", c) && !(gemma(p) && c == '<')) return ANSWER_BAD;
    comma(p);
    if ((p->loose.depth || gemma(p)) && quoted(p, c, true)) return ANSWER_TAKEN;
    if (strchr("\"'<", c)) return ANSWER_BAD;
    power_buffer_clear(&p->pending);
    (void)to(p, KEY_BARE);
    return ANSWER_AGAIN;
}

/* Keys of the outermost level are names of parameters: none may come twice. */
static bool end_key(answer_parser *p) {
    p->loose.state = SEPARATOR;
    return p->loose.depth || (p->n_key && p->n_key < ANSWER_NAME && answer_new_key(p));
}

static char separator(const answer_parser *p) {
    return gemma(p) || p->loose.depth ? ':' : '=';
}

static enum answer_step key_bare(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (answer_is_space(c) || c == (unsigned char)separator(p)) {
        const char *bytes = p->pending.bytes;
        size_t n = p->pending.length;
        if (!n || n >= ANSWER_NAME) return ANSWER_BAD;
        memcpy(p->key, bytes, n);
        p->n_key = n;
        answer_emit_string(p, bytes, n);
        return end_key(p) ? ANSWER_AGAIN : ANSWER_BAD;
    }
    if (!c || strchr("<>[]{}()\"',=:", c) || p->pending.length == ANSWER_NAME) return ANSWER_BAD;
    return answer_append(p, &p->pending, &byte, 1) ? ANSWER_TAKEN : ANSWER_BAD;
}

static enum answer_step end_string(answer_parser *p) {
    put(p, "\"");
    if (!p->loose.in_key) return to(p, AFTER);
    return end_key(p) ? ANSWER_TAKEN : ANSWER_BAD;
}

static enum answer_step string(answer_parser *p, unsigned char c) {
    struct answer_loose *l = &p->loose;
    if (!l->quote) {
        enum answer_action action;
        bool found = answer_scan(p, c, release_string, &action);
        if (p->overflow) return ANSWER_BAD;
        if (!found) return ANSWER_TAKEN;
        p->n_held = 0;
        return end_string(p);
    }
    if (c == (unsigned char)l->quote) return end_string(p);
    if (c == '\\') return to(p, ESCAPE);
    release_string(p, c);
    return p->overflow ? ANSWER_BAD : ANSWER_TAKEN;
}

static enum answer_step code_point(answer_parser *p) {
    struct answer_loose *l = &p->loose;
    char text[8];
    l->state = STRING;
    if (l->code > 0x10FFFF) return ANSWER_BAD;
    if (l->code >= 0xD800 && l->code < 0xE000) {
        /* One half of a pair: JSON can say it as it stands. */
        if (l->in_key) return ANSWER_BAD;
        (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)(l->code & 0xFFFF));
        put(p, text);
        return ANSWER_TAKEN;
    }
    size_t n = power_utf8_put(l->code, text);
    for (size_t i = 0; i < n; i++)
        release_string(p, (unsigned char)text[i]);
    return p->overflow ? ANSWER_BAD : ANSWER_TAKEN;
}

static enum answer_step escape(answer_parser *p, unsigned char c) {
    static const char from[] = "abfnrtv\\'\"/", as[] = "\a\b\f\n\r\t\v\\'\"/";
    struct answer_loose *l = &p->loose;
    const char *at = c ? strchr(from, c) : NULL;
    l->state = STRING;
    l->code = 0;
    l->digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (l->digits) return to(p, HEX);
    if (c == '\n') return ANSWER_TAKEN;
    if (at) {
        release_string(p, (unsigned char)as[at - from]);
    } else {
        release_string(p, '\\');
        release_string(p, c);
    }
    return p->overflow ? ANSWER_BAD : ANSWER_TAKEN;
}

static enum answer_step hex(answer_parser *p, unsigned char c) {
    struct answer_loose *l = &p->loose;
    unsigned char low = (unsigned char)(c | 32);
    bool digit = c >= '0' && c <= '9';
    if (!digit && !(low >= 'a' && low <= 'f')) return ANSWER_BAD;
    l->code = l->code << 4 | (uint32_t)(digit ? c - '0' : low - 'a' + 10);
    return --l->digits ? ANSWER_TAKEN : code_point(p);
}

static enum answer_step value(answer_parser *p, unsigned char c) {
    if (answer_is_space(c)) return ANSWER_TAKEN;
    bool list = !in_object(&p->loose);
    if (list && closes(p, c)) return close_level(p);
    if (list) comma(p);
    if (c == '{' || c == '[') return open_level(p, c == '{');
    if (quoted(p, c, false)) return ANSWER_TAKEN;
    if (!c || strchr("}]),:=(<>", c)) return ANSWER_BAD;
    power_buffer_clear(&p->pending);
    (void)to(p, BARE);
    return ANSWER_AGAIN;
}

static struct power_text literal_of(struct power_text text) {
    if (power_text_equal(text, POWER_TEXT("True"))) return POWER_TEXT("true");
    if (power_text_equal(text, POWER_TEXT("False"))) return POWER_TEXT("false");
    if (power_text_equal(text, POWER_TEXT("None"))) return POWER_TEXT("null");
    return text;
}

/* Numbers and literals; in Gemma's way other bare words are strings that lost their quotes. */
static bool end_bare(answer_parser *p) {
    struct power_text text = {p->pending.bytes, p->pending.length};
    text = literal_of(answer_trimmed(text));
    if (answer_json_whole(text))
        answer_emit(p, POWER_ANSWER_ARGUMENTS, text.bytes, text.length);
    else if (gemma(p))
        answer_emit_string(p, text.bytes, text.length);
    else
        return false;
    p->loose.state = AFTER;
    return true;
}

static enum answer_step bare(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    bool ends = c == ',' || c == '}' || c == ']' || c == ')';
    if (ends || (answer_is_space(c) && !gemma(p))) return end_bare(p) ? ANSWER_AGAIN : ANSWER_BAD;
    if (p->pending.length == ANSWER_PIECE) return ANSWER_BAD;
    return answer_append(p, &p->pending, &byte, 1) ? ANSWER_TAKEN : ANSWER_BAD;
}

static enum answer_step after(answer_parser *p, unsigned char c) {
    if (answer_is_space(c)) return ANSWER_TAKEN;
    if (closes(p, c)) return close_level(p);
    if (c != ',') return ANSWER_BAD;
    p->loose.first = false;
    return to(p, in_object(&p->loose) ? KEY_START : VALUE);
}

static enum answer_step step(answer_parser *p, unsigned char c) {
    switch (p->loose.state) {
    case KEY_START:
        return key_start(p, c);
    case KEY_BARE:
        return key_bare(p, c);
    case QUOTE:
        return step_quote(p, c);
    case STRING:
        return string(p, c);
    case ESCAPE:
        return escape(p, c);
    case HEX:
        return hex(p, c);
    case SEPARATOR:
        if (answer_is_space(c)) return ANSWER_TAKEN;
        if (c != (unsigned char)separator(p)) return ANSWER_BAD;
        put(p, ": ");
        return to(p, VALUE);
    case VALUE:
        return value(p, c);
    case BARE:
        return bare(p, c);
    default:
        return after(p, c);
    }
}

enum answer_step answer_step_loose(answer_parser *p, unsigned char c) {
    /* A byte that ends a bare word is given on once. */
    enum answer_step got = step(p, c);
    while (got == ANSWER_AGAIN)
        got = step(p, c);
    return got;
}
