/* SPDX-License-Identifier: MIT */
/* Job: calls whose parameters stand between marks, each as text.
 * Input: bytes after the function's name. Output: events; the arguments are built as JSON by the
 * types that the tool declares. Threads: one a parser.
 * Bounds: text of a string streams; any other value waits for its end, up to max_call_bytes. */
#include "text/answer/internal.h"

void answer_parameter_point(answer_parser *p) {
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, p->format.calls->param_open, ANSWER_DO_PARAMETER);
    answer_marks_add(p, p->format.calls->call_close, ANSWER_DO_CALL_END);
}

void answer_begin_parameter(answer_parser *p) {
    p->n_key = 0;
    answer_marks_clear(p);
    answer_marks_add(p, p->format.calls->key_end, ANSWER_DO_VALUE);
    p->state = ANSWER_IN_KEY;
}

static void release_key(answer_parser *p, unsigned char c) {
    if (p->n_key == ANSWER_NAME || !c)
        p->overflow = true;
    else
        p->key[p->n_key++] = (char)c;
}

/* A key twice would be lost in most readers of JSON: that is no call. */
bool answer_new_key(answer_parser *p) {
    const char *at = p->keys.bytes, *end = at ? at + p->keys.length : at;
    p->key[p->n_key < ANSWER_NAME ? p->n_key : ANSWER_NAME - 1] = 0;
    while (at < end) {
        size_t n = strlen(at);
        if (n == p->n_key && memcmp(at, p->key, n) == 0) return false;
        at += n + 1;
    }
    return answer_append(p, &p->keys, p->key, p->n_key) && answer_append(p, &p->keys, "", 1);
}

enum answer_step answer_step_key(answer_parser *p, unsigned char c) {
    const struct power_answer_calls *calls = p->format.calls;
    enum answer_action action;
    bool found = answer_scan(p, c, release_key, &action);
    if (p->overflow) return ANSWER_BAD;
    if (!found) return ANSWER_TAKEN;
    p->n_held = 0;
    if (!p->n_key || p->n_key == ANSWER_NAME || !answer_new_key(p)) return ANSWER_BAD;
    if (!answer_has(calls->value_open)) {
        answer_begin_value(p, ANSWER_DO_VALUE);
        return ANSWER_TAKEN;
    }
    bool typed = calls->flags & ANSWER_TYPED;
    answer_to_point(p, ANSWER_DO_FAIL);
    if (typed) {
        /* These begin with a space, which a point would skip. */
        answer_marks_add(p, calls->value_open + 1, ANSWER_DO_STRING);
        answer_marks_add(p, calls->value_else + 1, ANSWER_DO_OTHER);
    } else {
        answer_marks_add(p, calls->value_open, ANSWER_DO_VALUE);
    }
    return ANSWER_TAKEN;
}

static uint32_t declared_types(const answer_parser *p) {
    struct power_text key = {p->key, p->n_key};
    for (size_t i = 0; p->tool && i < p->tool->count; i++) {
        if (power_text_equal(p->tool->list[i].key, key)) return p->tool->list[i].types;
    }
    return 0;
}

void answer_begin_value(answer_parser *p, enum answer_action kind) {
    const struct power_answer_calls *calls = p->format.calls;
    p->value_types = kind == ANSWER_DO_VALUE ? declared_types(p) : 0;
    if (kind == ANSWER_DO_STRING) p->value_types = ANSWER_TYPE_STRING;
    p->value_text = p->value_types == ANSWER_TYPE_STRING;
    p->value_first = true;
    p->value_json = false;
    power_buffer_clear(&p->pending);
    answer_emit(p, POWER_ANSWER_ARGUMENTS, p->n_params ? ", " : "{", p->n_params ? 2 : 1);
    p->n_params++;
    answer_emit_string(p, p->key, p->n_key);
    answer_emit(p, POWER_ANSWER_ARGUMENTS, ": \"", p->value_text ? 3 : 2);
    answer_marks_clear(p);
    answer_marks_add(p, calls->value_end, ANSWER_DO_NOTHING);
    if (calls->flags & ANSWER_NEWLINES) {
        p->newline_end[0] = '\n';
        memcpy(p->newline_end + 1, calls->value_end, strlen(calls->value_end) + 1);
        answer_marks_add(p, p->newline_end, ANSWER_DO_NOTHING);
    }
    p->state = ANSWER_IN_VALUE;
}

/* Marks inside the strings of an object or array are part of these. */
static void follow_json(answer_parser *p, unsigned char c) {
    bool mixed = p->value_types & ANSWER_TYPE_STRING;
    if (p->value_json) {
        p->value_json = answer_json_feed(&p->json, c) != ANSWER_JSON_BAD;
    } else if (p->value_first && (c == '{' || c == '[' || (c == '"' && mixed))) {
        answer_json_begin(&p->json);
        p->value_json = answer_json_feed(&p->json, c) != ANSWER_JSON_BAD;
    }
    if (!answer_is_space(c)) p->value_first = false;
}

static void release_value(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (p->value_text) {
        bool dropped = p->value_first && c == '\n' && (p->format.calls->flags & ANSWER_NEWLINES);
        p->value_first = false;
        if (!dropped) answer_emit_escaped(p, &byte, 1);
        return;
    }
    follow_json(p, c);
    if (!answer_append(p, &p->pending, &byte, 1)) p->overflow = true;
}

static uint32_t type_of(char c) {
    if (c == '"') return ANSWER_TYPE_STRING;
    if (c == 't' || c == 'f') return ANSWER_TYPE_BOOLEAN;
    return c == 'n' ? ANSWER_TYPE_NULL : ANSWER_TYPE_OTHER;
}

/* True, False and None are what Jinja makes of JSON's literals in a conversation's history. */
static struct power_text literal_of(struct power_text text, uint32_t types) {
    if (power_text_equal(text, POWER_TEXT("True")) && (types & ANSWER_TYPE_BOOLEAN))
        return POWER_TEXT("true");
    if (power_text_equal(text, POWER_TEXT("False")) && (types & ANSWER_TYPE_BOOLEAN))
        return POWER_TEXT("false");
    if (power_text_equal(text, POWER_TEXT("None")) && (types & ANSWER_TYPE_NULL))
        return POWER_TEXT("null");
    return text;
}

/* The value as a string, without the newline that the format puts before it. */
static void emit_whole(answer_parser *p) {
    const char *bytes = p->pending.bytes;
    size_t n = p->pending.length;
    if (n && *bytes == '\n' && (p->format.calls->flags & ANSWER_NEWLINES)) {
        bytes++;
        n--;
    }
    answer_emit_string(p, bytes, n);
}

/* JSON where it is a value of a declared type, else a string. */
static void end_value(answer_parser *p) {
    struct power_text text = {p->pending.bytes, p->pending.length};
    text = literal_of(answer_trimmed(answer_from_first(text)), p->value_types);
    bool fits = text.length && (!p->value_types || (p->value_types & type_of(*text.bytes)));
    if (fits && answer_json_whole(text))
        answer_emit(p, POWER_ANSWER_ARGUMENTS, text.bytes, text.length);
    else
        emit_whole(p);
    power_buffer_clear(&p->pending);
}

enum answer_step answer_step_value(answer_parser *p, unsigned char c) {
    enum answer_action action;
    bool found = answer_scan(p, c, release_value, &action);
    if (p->overflow) return ANSWER_BAD;
    if (!found) return ANSWER_TAKEN;
    if (!p->value_text && p->value_json && answer_json_in_string(&p->json)) {
        for (size_t i = 0; i < p->n_held; i++)
            release_value(p, (unsigned char)p->held[i]);
        p->n_held = 0;
        return p->overflow ? ANSWER_BAD : ANSWER_TAKEN;
    }
    p->n_held = 0;
    if (p->value_text)
        answer_emit(p, POWER_ANSWER_ARGUMENTS, "\"", 1);
    else
        end_value(p);
    answer_parameter_point(p);
    return ANSWER_TAKEN;
}

void answer_end_parameters(answer_parser *p) {
    answer_emit(p, POWER_ANSWER_ARGUMENTS, p->n_params ? "}" : "{}", p->n_params ? 1 : 2);
    answer_call_end(p);
    answer_after_call(p);
}
