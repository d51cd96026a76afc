/* SPDX-License-Identifier: MIT */
/* Job: calls that write the name first, then their arguments as JSON; what all calls share.
 * Input: bytes after the mark that opens a call. Output: events.
 * Threads: one a parser. Bounds: names of ANSWER_NAME bytes. */
#include "text/answer/internal.h"

void answer_begin(answer_parser *p, const char *raw, size_t n) {
    power_buffer_clear(&p->raw);
    power_buffer_clear(&p->pending);
    power_buffer_clear(&p->keys);
    p->strong = n != 0 && !(p->format.calls->flags & ANSWER_WEAK);
    p->in_section = p->begun = p->have_name = p->overflow = false;
    p->n_name = p->n_id = p->n_key = 0;
    p->tool = NULL;
    (void)answer_append(p, &p->raw, raw, n);
}

void answer_to_name(answer_parser *p) {
    p->n_name = p->n_id = 0;
    p->state = ANSWER_IN_NAME;
}

void answer_begin_call(answer_parser *p, bool other_open) {
    const struct power_answer_calls *calls = p->format.calls;
    p->n_name = p->n_id = 0;
    p->tool = NULL;
    if (calls->shape == ANSWER_OBJECT || calls->shape == ANSWER_KEYED) {
        if (!(calls->flags & ANSWER_KEEP)) {
            answer_begin_body(p);
            return;
        }
        /* <|python_tag|>: JSON, or name.call(key=value) */
        p->strong = other_open;
        answer_to_point(p, ANSWER_DO_BODY_OR_NAME);
        return;
    }
    if (calls->shape == ANSWER_PYTHON) {
        answer_to_point(p, calls->flags & ANSWER_LIST_ONLY ? ANSWER_DO_FAIL : ANSWER_DO_NAME);
        answer_marks_add(p, "[", ANSWER_DO_NAME);
        return;
    }
    if (answer_has(calls->id_mark)) {
        answer_to_point(p, ANSWER_DO_BODY_OR_NAME);
        return;
    }
    if (!answer_has(calls->skip)) {
        answer_to_name(p);
        return;
    }
    p->n_key = 0;
    answer_marks_clear(p);
    answer_marks_add(p, calls->skip, ANSWER_DO_NAME);
    p->state = ANSWER_IN_SKIP;
}

static void count_skipped(answer_parser *p, unsigned char c) {
    (void)c;
    if (++p->n_key > ANSWER_NAME) p->overflow = true;
}

enum answer_step answer_step_skip(answer_parser *p, unsigned char c) {
    enum answer_action action;
    bool found = answer_scan(p, c, count_skipped, &action);
    if (p->overflow) return ANSWER_BAD;
    if (!found) return ANSWER_TAKEN;
    p->n_held = 0;
    answer_to_name(p);
    return ANSWER_TAKEN;
}

static bool of_name(unsigned char c) {
    return c > ' ' && c != 0x7F && !strchr("<>[]{}()\"'`,;=", c);
}

/* The name as the caller knows it; Kimi's "functions.NAME:INDEX" is the id too. */
void answer_settle_name(answer_parser *p) {
    const char *prefix = p->format.calls->prefix;
    size_t n = prefix ? strlen(prefix) : 0;
    if (n && p->n_name > n && memcmp(p->name, prefix, n) == 0) {
        memcpy(p->id, p->name, p->n_name);
        p->n_id = p->n_name;
        p->n_name -= n;
        memmove(p->name, p->name + n, p->n_name);
        size_t end = p->n_name;
        while (end && p->name[end - 1] >= '0' && p->name[end - 1] <= '9')
            end--;
        if (end > 1 && end < p->n_name && p->name[end - 1] == ':') p->n_name = end - 1;
    }
    struct power_text name = {p->name, p->n_name};
    for (size_t i = 0; i < p->tools.count; i++) {
        if (power_text_equal(p->tools.list[i].name, name)) p->tool = &p->tools.list[i];
    }
    p->have_name = true;
}

enum answer_step answer_step_name(answer_parser *p, unsigned char c) {
    if (!p->n_name && answer_is_space(c)) return ANSWER_TAKEN;
    if (of_name(c)) {
        if (p->n_name == ANSWER_NAME) return ANSWER_BAD;
        p->name[p->n_name++] = (char)c;
        return ANSWER_TAKEN;
    }
    if (!p->n_name) return ANSWER_BAD;
    if (p->format.calls->flags & ANSWER_RECIPIENT) {
        struct power_text name = {p->name, p->n_name};
        if (c == '\n' && power_text_equal(name, POWER_TEXT("all"))) {
            power_buffer_clear(&p->raw);
            p->at_start = p->after_call = p->skip_space = false;
            answer_to_text(p);
            return ANSWER_TAKEN;
        }
        if (!p->options.tools || c != '\n') return ANSWER_BAD;
    }
    answer_after_name(p);
    return ANSWER_AGAIN;
}

void answer_after_name(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    if (calls->shape == ANSWER_GEMMA) {
        answer_to_point(p, ANSWER_DO_FAIL);
        answer_marks_add(p, "{", ANSWER_DO_LOOSE);
        return;
    }
    if (calls->shape == ANSWER_PYTHON || calls->shape == ANSWER_OBJECT) {
        answer_to_point(p, ANSWER_DO_FAIL);
        answer_marks_add(p, "(", ANSWER_DO_LOOSE);
        return;
    }
    if (!answer_has(calls->name_end)) {
        answer_name_end(p);
        return;
    }
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, calls->name_end, ANSWER_DO_NAME_END);
    answer_marks_add(p, calls->id_mark, ANSWER_DO_ID);
}

enum answer_step answer_step_id(answer_parser *p, unsigned char c) {
    if (of_name(c)) {
        if (p->n_id == ANSWER_NAME) return ANSWER_BAD;
        p->id[p->n_id++] = (char)c;
        return ANSWER_TAKEN;
    }
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, p->format.calls->name_end, ANSWER_DO_NAME_END);
    return ANSWER_AGAIN;
}

void answer_name_end(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    answer_settle_name(p);
    if (calls->shape == ANSWER_XML) {
        answer_call(p);
        p->n_params = 0;
        answer_parameter_point(p);
        return;
    }
    if (!answer_has(calls->args_open)) {
        answer_arguments_point(p);
        return;
    }
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, calls->args_open, ANSWER_DO_ARGS_OPEN);
}

void answer_arguments_point(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, "{", ANSWER_DO_ARGUMENTS);
    answer_marks_add(p, calls->args_close, ANSWER_DO_NO_ARGUMENTS);
    answer_marks_add(p, calls->call_close, ANSWER_DO_NO_ARGUMENTS);
}

/* After the brace that begins the arguments, or where there are none. */
void answer_begin_arguments(answer_parser *p) {
    bool none = p->raw.length == 0 || p->raw.bytes[p->raw.length - 1] != '{';
    answer_call(p);
    if (none) return;
    answer_json_begin(&p->json);
    (void)answer_json_feed(&p->json, '{');
    answer_emit(p, POWER_ANSWER_ARGUMENTS, "{", 1);
    p->state = ANSWER_IN_ARGUMENTS;
}

enum answer_step answer_step_arguments(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    enum answer_json_step step = answer_json_feed(&p->json, c);
    if (step == ANSWER_JSON_BAD) return ANSWER_BAD;
    answer_emit(p, POWER_ANSWER_ARGUMENTS, &byte, 1);
    if (step == ANSWER_JSON_MORE) return ANSWER_TAKEN;
    answer_call_end(p);
    answer_after_call(p);
    return ANSWER_TAKEN;
}
