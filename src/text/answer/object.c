/* SPDX-License-Identifier: MIT */
/* Job: calls that are JSON objects with name and arguments, alone or in an array.
 * Input: bytes after the mark that opens them. Output: events; arguments stream once the name is
 * known. Threads: one a parser. Bounds: arguments before their name wait, up to max_call_bytes. */
#include "text/answer/internal.h"

void answer_begin_body(answer_parser *p) {
    memset(&p->object, 0, sizeof p->object);
    p->state = ANSWER_IN_BODY;
}

static bool one_of(struct power_text key, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (power_text_equal(key, power_text_of(names[i]))) return true;
    }
    return false;
}

static enum answer_field field_of(const answer_parser *p) {
    static const char *const names[] = {"name", "tool_name", "function"};
    static const char *const arguments[] = {"arguments", "parameters", "args"};
    static const char *const ids[] = {"id", "tool_call_id", "call_id"};
    struct power_text key = {p->key, p->n_key};
    if (one_of(key, names, 3)) return ANSWER_FIELD_NAME;
    if (one_of(key, arguments, 3)) return ANSWER_FIELD_ARGS;
    return one_of(key, ids, 3) ? ANSWER_FIELD_ID : ANSWER_FIELD_NONE;
}

/* The name is known, and so is that arguments come. */
static void give_call(answer_parser *p) {
    if (p->object.name_given) return;
    p->object.name_given = true;
    answer_settle_name(p);
    answer_call(p);
    answer_emit(p, POWER_ANSWER_ARGUMENTS, p->pending.bytes, p->pending.length);
    power_buffer_clear(&p->pending);
}

static bool give_arguments(answer_parser *p, const char *bytes, size_t n) {
    if (p->object.name_given) {
        answer_emit(p, POWER_ANSWER_ARGUMENTS, bytes, n);
        return true;
    }
    return answer_append(p, &p->pending, bytes, n);
}

/* The first byte of a value of the call's object. False: this is no call. */
static bool begin_field(answer_parser *p, unsigned char c) {
    struct answer_object *o = &p->object;
    if (p->format.calls->shape == ANSWER_KEYED) {
        if (c != '{' || !p->n_key) return false;
        if (!answer_json_decode((struct power_text){p->key, p->n_key}, p->name, ANSWER_NAME,
                                &p->n_name))
            return false;
        o->field = ANSWER_FIELD_ARGS;
        o->have_args = true;
        give_call(p);
        return true;
    }
    o->field = field_of(p);
    bool weak = p->format.calls->flags & ANSWER_KEEP;
    if (o->field == ANSWER_FIELD_NONE)
        return !weak || power_text_equal((struct power_text){p->key, p->n_key}, POWER_TEXT("type"));
    if (o->field == ANSWER_FIELD_NAME) return c == '"' && !p->have_name && !p->n_name;
    if (o->field == ANSWER_FIELD_ID) {
        if (c != '"') o->field = ANSWER_FIELD_NONE;
        p->n_id = 0;
        return true;
    }
    if (o->have_args || (c != '{' && c != '"' && c != 'n')) return false;
    o->have_args = true;
    o->quoted = c == '"';
    if (c == 'n') {
        o->field = ANSWER_FIELD_NONE;
        if (!give_arguments(p, "{}", 2)) return false;
    }
    if (p->have_name && !o->quoted) give_call(p);
    return true;
}

/* The arguments came as a string that holds JSON. */
static bool end_quoted(answer_parser *p) {
    size_t n = p->pending.length;
    /* Decoding shortens: it may be done in place. */
    if (!answer_json_decode((struct power_text){p->pending.bytes, n}, p->pending.bytes, n, &n))
        return false;
    p->pending.length = n;
    struct power_text text = answer_from_first((struct power_text){p->pending.bytes, n});
    if (!text.length) return answer_append(p, &p->pending, "{}", 2);
    return *text.bytes == '{' && answer_json_whole(text);
}

static bool end_field(answer_parser *p) {
    struct answer_object *o = &p->object;
    enum answer_field field = o->field;
    o->field = ANSWER_FIELD_NONE;
    if (field == ANSWER_FIELD_NAME) {
        struct power_text inside = {p->name, p->n_name};
        if (!answer_json_decode(inside, p->name, ANSWER_NAME, &p->n_name) || !p->n_name)
            return false;
        p->have_name = true;
        if (o->have_args) give_call(p);
    } else if (field == ANSWER_FIELD_ID) {
        struct power_text inside = {p->id, p->n_id};
        return answer_json_decode(inside, p->id, ANSWER_NAME, &p->n_id);
    } else if (field == ANSWER_FIELD_ARGS) {
        if (o->quoted && !end_quoted(p)) return false;
        if (p->have_name) give_call(p);
        if (p->format.calls->shape == ANSWER_KEYED) {
            answer_call_end(p);
            o->name_given = false;
        }
    }
    return true;
}

static bool end_object(answer_parser *p) {
    struct answer_object *o = &p->object;
    if (p->format.calls->shape == ANSWER_KEYED) {
        if (!p->in_section) return false;
    } else {
        if (!p->have_name) return false;
        if (!o->have_args && (p->format.calls->flags & ANSWER_KEEP)) return false;
        if (!o->have_args && !give_arguments(p, "{}", 2)) return false;
        give_call(p);
        answer_call_end(p);
    }
    o->in_object = false;
    o->want_comma = true;
    if (!o->in_array) answer_after_call(p);
    return true;
}

static bool put(char *to, size_t *n, unsigned char c) {
    if (*n == ANSWER_NAME) return false;
    to[(*n)++] = (char)c;
    return true;
}

/* A byte of a value that has begun. */
static bool in_field(answer_parser *p, unsigned char c, bool first, bool last) {
    char byte = (char)c;
    bool edge = first || last;
    if (p->object.field == ANSWER_FIELD_NAME) return edge || put(p->name, &p->n_name, c);
    if (p->object.field == ANSWER_FIELD_ID) return edge || put(p->id, &p->n_id, c);
    if (p->object.field == ANSWER_FIELD_ARGS && !(p->object.quoted && edge))
        return p->object.quoted ? answer_append(p, &p->pending, &byte, 1)
                                : give_arguments(p, &byte, 1);
    return true;
}

static bool step_object(answer_parser *p, unsigned char c) {
    struct answer_object *o = &p->object;
    struct answer_json *json = &o->json;
    bool outer = json->depth == 1, key = outer && answer_json_in_key(json);
    bool first = outer && answer_json_wants_value(json) && !answer_is_space(c);
    enum answer_json_step step = answer_json_feed(json, c);
    if (step == ANSWER_JSON_BAD) return false;
    if (step == ANSWER_JSON_DONE) return end_object(p);
    if (json->depth == 1 && answer_json_in_key(json)) {
        if (key) return put(p->key, &p->n_key, c);
        p->n_key = 0;
        return true;
    }
    if (first && !begin_field(p, c)) return false;
    if (o->field == ANSWER_FIELD_NONE) return true;
    bool last = !first && json->depth == 1 && answer_json_value_ended(json);
    if (!in_field(p, c, first, last)) return false;
    return !last || end_field(p);
}

static void start_object(answer_parser *p) {
    struct answer_object *o = &p->object;
    answer_json_begin(&o->json);
    (void)answer_json_feed(&o->json, '{');
    o->in_object = true;
    o->have_args = o->name_given = o->quoted = false;
    o->field = ANSWER_FIELD_NONE;
}

enum answer_step answer_step_body(answer_parser *p, unsigned char c) {
    struct answer_object *o = &p->object;
    if (o->in_object) return step_object(p, c) ? ANSWER_TAKEN : ANSWER_BAD;
    if (answer_is_space(c)) return ANSWER_TAKEN;
    if (c == '[' && !o->in_array) {
        o->in_array = true;
    } else if (c == '{' && !o->want_comma) {
        start_object(p);
    } else if (c == ',' && o->want_comma) {
        o->want_comma = false;
    } else if (c == ']' && o->want_comma) {
        answer_after_call(p);
    } else {
        return ANSWER_BAD;
    }
    return ANSWER_TAKEN;
}
