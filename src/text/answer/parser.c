/* SPDX-License-Identifier: MIT */
/* Job: the answer parser's life, and the states outside calls.
 * Input: bytes of an answer, one after another: what happens depends on them alone, not on how they
 * were cut. Output: events. Threads: one a parser.
 * Bounds: constant work a byte (times the marks of a state); memory as internal.h says. */
#include "text/answer/internal.h"

#define MAX_CALL_BYTES ((size_t)16 << 20)

/* ---- text ---- */

void answer_add_calls(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    if (!calls || !p->options.tools || calls->shape == ANSWER_HARMONY) return;
    if ((calls->flags & ANSWER_AT_START) && !p->at_start) return;
    bool section = answer_has(calls->section_open);
    answer_marks_add(p, calls->section_open, ANSWER_DO_SECTION);
    if (!section || (calls->flags & ANSWER_LONE) || p->after_call) {
        bool keep = calls->flags & ANSWER_KEEP;
        answer_marks_add(p, calls->call_open, keep ? ANSWER_DO_KEEP : ANSWER_DO_CALL);
        answer_marks_add(p, calls->other_open, ANSWER_DO_CALL);
    }
    if (p->after_call) {
        answer_marks_add(p, calls->args_close, ANSWER_DO_NOTHING);
        answer_marks_add(p, calls->call_close, ANSWER_DO_NOTHING);
        answer_marks_add(p, calls->section_close, ANSWER_DO_NOTHING);
        if (calls->flags & ANSWER_KEEP) answer_marks_add(p, ";", ANSWER_DO_NOTHING);
    }
}

static void text_marks(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    const struct power_answer_reasoning *reasoning = p->format.reasoning;
    answer_marks_clear(p);
    p->stale = false;
    if (calls && calls->shape == ANSWER_HARMONY) {
        answer_harmony_marks(p);
        return;
    }
    answer_add_calls(p);
    if (reasoning && (reasoning->anywhere || p->at_start))
        answer_marks_add(p, reasoning->open, ANSWER_DO_REASON);
    if (reasoning && p->at_start) answer_marks_add(p, reasoning->close, ANSWER_DO_REASON_END);
    for (size_t i = 0; i < 4; i++) {
        if (calls) answer_marks_add(p, calls->drop[i], ANSWER_DO_NOTHING);
        if (reasoning) answer_marks_add(p, reasoning->drop[i], ANSWER_DO_NOTHING);
    }
}

void answer_to_text(answer_parser *p) {
    p->state = ANSWER_IN_TEXT;
    p->stale = true;
}

static void give_space(answer_parser *p, power_answer_kind kind) {
    answer_emit(p, kind, p->space, p->n_space);
    p->n_space = 0;
}

static void release_text(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (answer_is_space(c) && p->skip_space) return;
    if (answer_is_space(c) && p->at_start && p->n_space < ANSWER_SPACE) {
        p->space[p->n_space++] = byte;
        return;
    }
    if (p->n_space) give_space(p, POWER_ANSWER_TEXT);
    if (p->at_start || p->after_call) p->stale = true;
    p->skip_space = p->at_start = p->after_call = false;
    answer_emit(p, POWER_ANSWER_TEXT, &byte, 1);
}

/* ---- reasoning ---- */

static void reasoning_marks(answer_parser *p) {
    answer_marks_clear(p);
    p->stale = false;
    if (p->format.calls && p->format.calls->shape == ANSWER_HARMONY) {
        answer_harmony_marks(p);
        return;
    }
    answer_marks_add(p, p->format.reasoning->close, ANSWER_DO_REASON_END);
    if (p->skip_space) answer_marks_add(p, p->format.reasoning->open, ANSWER_DO_NOTHING);
    if (p->format.calls && (p->format.calls->flags & ANSWER_INSIDE)) answer_add_calls(p);
}

void answer_to_reasoning(answer_parser *p) {
    p->state = ANSWER_IN_REASONING;
    p->skip_space = true;
    p->at_start = p->after_call = false;
    p->n_space = 0;
    p->stale = true;
}

static void release_reasoning(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (answer_is_space(c)) {
        if (p->skip_space) return;
        if (p->n_space == ANSWER_SPACE) give_space(p, POWER_ANSWER_REASONING);
        p->space[p->n_space++] = byte;
        return;
    }
    if (p->skip_space) p->stale = true;
    p->skip_space = false;
    if (p->n_space) give_space(p, POWER_ANSWER_REASONING);
    answer_emit(p, POWER_ANSWER_REASONING, &byte, 1);
}

/* ---- transitions ---- */

void answer_after_call(answer_parser *p) {
    power_buffer_clear(&p->raw);
    p->at_start = p->after_call = p->skip_space = true;
    p->n_space = 0;
    answer_to_text(p);
}

void answer_to_point(answer_parser *p, enum answer_action fallback) {
    answer_marks_clear(p);
    p->fallback = fallback;
    p->state = ANSWER_AT_POINT;
}

static void after_reasoning(answer_parser *p) {
    p->skip_space = p->at_start = true;
    p->after_call = false;
    p->n_space = 0;
    answer_to_text(p);
}

static void begin_section(answer_parser *p) {
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, p->format.calls->call_open, ANSWER_DO_CALL);
}

/* After a mark of the text or the reasoning. */
static void open_mark(answer_parser *p, enum answer_action action, const char *mark, size_t n) {
    p->n_space = 0;
    if (action == ANSWER_DO_NOTHING) return;
    if (action == ANSWER_DO_REASON) {
        answer_to_reasoning(p);
        return;
    }
    if (action == ANSWER_DO_REASON_END || action == ANSWER_DO_MESSAGE_END) {
        after_reasoning(p);
        return;
    }
    if (action == ANSWER_DO_HEADER) {
        answer_begin(p, mark, n);
        answer_begin_header(p);
        return;
    }
    if (action == ANSWER_DO_KEEP) {
        answer_begin(p, "", 0);
        answer_begin_body(p);
        answer_feed(p, (unsigned char)mark[0]);
        return;
    }
    answer_begin(p, mark, n);
    if (action == ANSWER_DO_SECTION) {
        begin_section(p);
        return;
    }
    const char *other = p->format.calls->other_open;
    answer_begin_call(p, other && strlen(other) == n && memcmp(other, mark, n) == 0);
}

static void step_open(answer_parser *p, unsigned char c) {
    enum answer_action action;
    char mark[ANSWER_MARK];
    bool text = p->state == ANSWER_IN_TEXT;
    if (p->stale && text) text_marks(p);
    if (p->stale && !text) reasoning_marks(p);
    if (!answer_scan(p, c, text ? release_text : release_reasoning, &action)) return;
    size_t n = p->n_held;
    memcpy(mark, p->held, n);
    p->n_held = 0;
    open_mark(p, action, mark, n);
}

/* After a mark, or instead of one (`fallback`), inside a call. */
static void point_action(answer_parser *p, enum answer_action action, unsigned char c) {
    if (action == ANSWER_DO_BODY_OR_NAME && (c == '{' || c == '[')) {
        answer_begin_body(p);
        return;
    }
    if (action == ANSWER_DO_BODY_OR_NAME || action == ANSWER_DO_NAME) {
        answer_to_name(p);
        return;
    }
    if (action == ANSWER_DO_CALL) {
        answer_begin_call(p, false);
        return;
    }
    if (action == ANSWER_DO_NAME_END) {
        answer_name_end(p);
        return;
    }
    if (action == ANSWER_DO_ARGS_OPEN) {
        answer_arguments_point(p);
        return;
    }
    if (action == ANSWER_DO_ARGUMENTS || action == ANSWER_DO_NO_ARGUMENTS) {
        answer_begin_arguments(p);
        if (action == ANSWER_DO_ARGUMENTS) return;
        answer_emit(p, POWER_ANSWER_ARGUMENTS, "{}", 2);
        answer_call_end(p);
        answer_after_call(p);
        return;
    }
    if (action == ANSWER_DO_ID) {
        p->n_id = 0;
        p->state = ANSWER_IN_ID;
    }
    if (action == ANSWER_DO_PARAMETER) answer_begin_parameter(p);
    if (action == ANSWER_DO_VALUE || action == ANSWER_DO_STRING || action == ANSWER_DO_OTHER)
        answer_begin_value(p, action);
    if (action == ANSWER_DO_CALL_END) answer_end_parameters(p);
    if (action == ANSWER_DO_LIST_END) answer_after_call(p);
    if (action == ANSWER_DO_LOOSE) answer_begin_loose(p);
    if (action == ANSWER_DO_HEADER) answer_begin_header(p);
}

/* The held part of a mark that did not come goes on as what follows. */
static void replay(answer_parser *p) {
    char held[ANSWER_MARK];
    size_t n = p->n_held;
    memcpy(held, p->held, n);
    p->n_held = 0;
    if (p->fallback == ANSWER_DO_FAIL)
        answer_malformed(p);
    else
        point_action(p, p->fallback, (unsigned char)held[0]);
    for (size_t i = 0; i < n; i++)
        answer_feed(p, (unsigned char)held[i]);
}

static enum answer_step step_point(answer_parser *p, unsigned char c) {
    char byte = (char)c;
    if (!p->n_held && answer_is_space(c))
        return answer_append(p, &p->raw, &byte, 1) ? ANSWER_TAKEN : ANSWER_BAD;
    p->held[p->n_held++] = byte;
    for (uint32_t i = 0; i < p->n_marks; i++) {
        const struct answer_mark *mark = &p->marks[i];
        if (mark->length < p->n_held || memcmp(mark->text, p->held, p->n_held) != 0) continue;
        if (mark->length > p->n_held) return ANSWER_TAKEN;
        enum answer_action action = mark->action;
        if (!answer_append(p, &p->raw, p->held, p->n_held)) break;
        p->n_held = 0;
        point_action(p, action, c);
        return ANSWER_TAKEN;
    }
    if (--p->n_held) {
        replay(p);
    } else if (p->fallback == ANSWER_DO_FAIL) {
        return ANSWER_BAD;
    } else {
        point_action(p, p->fallback, c);
    }
    return ANSWER_AGAIN;
}

static enum answer_step step_call(answer_parser *p, unsigned char c) {
    static enum answer_step (*const steps[ANSWER_N_STATES])(answer_parser *, unsigned char) = {
        [ANSWER_IN_BODY] = answer_step_body,   [ANSWER_IN_SKIP] = answer_step_skip,
        [ANSWER_IN_NAME] = answer_step_name,   [ANSWER_IN_ID] = answer_step_id,
        [ANSWER_IN_KEY] = answer_step_key,     [ANSWER_IN_ARGUMENTS] = answer_step_arguments,
        [ANSWER_IN_VALUE] = answer_step_value, [ANSWER_IN_LOOSE] = answer_step_loose};
    char byte = (char)c;
    if (p->state == ANSWER_AT_POINT) return step_point(p, c);
    if (!answer_append(p, &p->raw, &byte, 1)) return ANSWER_BAD;
    enum answer_step step = steps[p->state](p, c);
    if (step != ANSWER_TAKEN) p->raw.length--;
    return step;
}

void answer_feed(answer_parser *p, unsigned char c) {
    while (p->failed == POWER_OK) {
        if (p->state == ANSWER_IN_TEXT || p->state == ANSWER_IN_REASONING) {
            step_open(p, c);
            return;
        }
        if (p->state == ANSWER_IN_HEADER) {
            answer_step_header(p, c);
            return;
        }
        enum answer_step step = step_call(p, c);
        if (step == ANSWER_TAKEN) return;
        if (step == ANSWER_BAD && p->failed == POWER_OK) answer_malformed(p);
    }
}

/* ---- life ---- */

static void begin(answer_parser *p) {
    const struct power_answer_calls *calls = p->format.calls;
    p->at_start = true;
    answer_to_text(p);
    if (p->options.reasoning_open && p->format.reasoning)
        answer_to_reasoning(p);
    else if (calls && calls->shape == ANSWER_HARMONY)
        answer_begin_harmony(p);
    else if (calls && (calls->flags & ANSWER_RECIPIENT)) {
        answer_begin(p, "", 0);
        answer_to_name(p);
    }
}

power_status power_answer_parser_create(const power_allocator *allocator,
                                        const struct power_answer_format *format,
                                        const struct power_answer_parser_options *options,
                                        struct power_answer_parser **out, power_error *error) {
    answer_parser *p = power_alloc(allocator, 1, sizeof *p);
    if (!p) return power_fail_memory(error, sizeof *p, "an answer parser");
    p->allocator = allocator;
    p->format = *format;
    p->options = *options;
    if (!format->calls) p->options.tools = false;
    size_t most = options->max_call_bytes ? options->max_call_bytes : MAX_CALL_BYTES;
    power_buffer_init(&p->raw, allocator, most);
    power_buffer_init(&p->pending, allocator, most);
    power_buffer_init(&p->keys, allocator, ANSWER_KEYS);
    power_arena_init(&p->arena, allocator, options->tools_json.length * 16 + 65536);
    power_status status = POWER_OK;
    if (p->options.tools && options->tools_json.length)
        status = answer_tools_read(&p->arena, options->tools_json, &p->tools, error);
    if (status != POWER_OK) {
        power_answer_parser_destroy(p);
        return status;
    }
    p->options.tools_json = (struct power_text){0};
    begin(p);
    *out = p;
    return POWER_OK;
}

void power_answer_parser_destroy(struct power_answer_parser *p) {
    if (!p) return;
    power_buffer_finish(&p->raw);
    power_buffer_finish(&p->pending);
    power_buffer_finish(&p->keys);
    power_arena_finish(&p->arena);
    power_release(p->allocator, p, 1, sizeof *p);
}

static power_status status_of(const answer_parser *p, power_error *error) {
    if (p->failed == POWER_CANCELLED)
        return power_fail(error, POWER_CANCELLED, "the callback of the answer asked to stop");
    if (p->failed != POWER_OK) return power_fail_memory(error, p->raw.length, "a tool call");
    return POWER_OK;
}

power_status power_answer_parser_push(struct power_answer_parser *p, struct power_text bytes,
                                      power_error *error) {
    for (size_t i = 0; i < bytes.length && p->failed == POWER_OK; i++)
        answer_feed(p, (unsigned char)bytes.bytes[i]);
    answer_flush(p);
    return status_of(p, error);
}

/* What is held back outside calls. */
static void finish_open(answer_parser *p, bool cut) {
    bool text = p->state == ANSWER_IN_TEXT;
    if (cut && p->after_call) p->n_held = 0;
    for (size_t i = 0; i < p->n_held; i++) {
        if (text)
            release_text(p, (unsigned char)p->held[i]);
        else
            release_reasoning(p, (unsigned char)p->held[i]);
    }
    if (text && p->n_space) give_space(p, POWER_ANSWER_TEXT);
    p->n_held = p->n_space = 0;
}

power_status power_answer_parser_finish(struct power_answer_parser *p, bool cut,
                                        power_error *error) {
    bool call = p->state != ANSWER_IN_TEXT && p->state != ANSWER_IN_REASONING;
    bool left = cut && (p->begun || p->strong || p->state == ANSWER_IN_HEADER);
    if (p->state == ANSWER_IN_HEADER && !left && p->failed == POWER_OK) {
        answer_header_is_text(p);
    } else if (call && !left && p->failed == POWER_OK) {
        char held[ANSWER_MARK];
        size_t n = p->state == ANSWER_AT_POINT ? p->n_held : 0;
        memcpy(held, p->held, n);
        answer_malformed(p);
        for (size_t i = 0; i < n; i++)
            release_text(p, (unsigned char)held[i]);
    } else if (!call && p->failed == POWER_OK) {
        finish_open(p, cut);
    }
    answer_flush(p);
    return status_of(p, error);
}
