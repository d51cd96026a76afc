/* SPDX-License-Identifier: MIT */
/* What the tests of the answer parser share: events in a normal form that can be compared.
 * Input: pieces of an answer. Output: one line an event, neighbours of one kind joined.
 * Threads: one. Bounds: grows with the answer. */
#ifndef POWER_TESTS_ANSWER_SUPPORT_H
#define POWER_TESTS_ANSWER_SUPPORT_H

#include "text/answer/answer.h"
#include "text_support.h"

struct events {
    struct power_buffer text;
    int last;          /* kind of the last line that others may join, -1: none */
    uint32_t calls;    /* CALL events */
    uint32_t complete; /* CALL_END events */
    bool open;
    bool faulty; /* the events break a promise of the header */
    char id[256];
    size_t n_id;
};

static inline void events_init(struct events *e) {
    memset(e, 0, sizeof *e);
    power_buffer_init(&e->text, &power_default_allocator, (size_t)1 << 28);
    e->last = -1;
}

static inline void events_put(struct events *e, const char *bytes, size_t n) {
    assert_true(power_buffer_append(&e->text, bytes, n));
}

static inline void events_line(struct events *e, const char *word) {
    if (e->text.length) events_put(e, "\n", 1);
    events_put(e, word, strlen(word));
}

static inline void events_call(struct events *e, const power_answer_event *event) {
    if (event->kind == POWER_ANSWER_CALL) {
        e->faulty = e->faulty || e->open || event->call != e->calls || !event->text_bytes;
        e->open = true;
        e->calls++;
        events_line(e, "call ");
        events_put(e, event->text, event->text_bytes);
        e->n_id = event->id_bytes;
        memcpy(e->id, event->id, event->id_bytes);
        events_line(e, "arguments ");
        e->last = POWER_ANSWER_ARGUMENTS;
    } else if (event->kind == POWER_ANSWER_CALL_END) {
        e->faulty = e->faulty || !e->open || event->call + 1 != e->calls;
        e->faulty = e->faulty || (e->n_id && e->n_id != event->id_bytes);
        e->open = false;
        e->complete++;
        events_line(e, "end ");
        events_put(e, event->id, event->id_bytes);
        e->last = -1;
    } else {
        e->open = false;
        events_line(e, "malformed");
        e->last = -1;
    }
}

static inline int events_take(void *context, const power_answer_event *event) {
    static const char *const words[] = {"text ", "reasoning "};
    struct events *e = context;
    switch (event->kind) {
    case POWER_ANSWER_TEXT:
    case POWER_ANSWER_REASONING:
        e->faulty = e->faulty || !event->text_bytes;
        if (e->last != (int)event->kind) events_line(e, words[event->kind]);
        e->last = (int)event->kind;
        e->open = false;
        events_put(e, event->text, event->text_bytes);
        break;
    case POWER_ANSWER_ARGUMENTS:
        e->faulty = e->faulty || !e->open || !event->text_bytes || event->call + 1 != e->calls;
        events_put(e, event->text, event->text_bytes);
        break;
    case POWER_ANSWER_CALL:
    case POWER_ANSWER_CALL_END:
    case POWER_ANSWER_MALFORMED:
        events_call(e, event);
        break;
    }
    return 0;
}

/* Feeds the text, cut before each of the positions (ascending). */
static inline void events_of(struct events *e, const struct power_answer_format *format,
                             struct power_answer_parser_options options, struct power_text raw,
                             const size_t *cuts, size_t n_cuts, bool cut) {
    struct power_answer_parser *parser = NULL;
    power_error error = {0};
    events_init(e);
    options.on_event = events_take;
    options.context = e;
    if (power_answer_parser_create(&power_default_allocator, format, &options, &parser, &error) !=
        POWER_OK)
        fail_msg("create: %s", error.message);
    size_t from = 0;
    for (size_t i = 0; i <= n_cuts; i++) {
        size_t to = i < n_cuts ? cuts[i] : raw.length;
        struct power_text piece = {raw.bytes + from, to - from};
        assert_int_equal(power_answer_parser_push(parser, piece, &error), POWER_OK);
        from = to;
    }
    assert_int_equal(power_answer_parser_finish(parser, cut, &error), POWER_OK);
    power_answer_parser_destroy(parser);
}

static inline bool events_equal(const struct events *a, const struct events *b) {
    return a->text.length == b->text.length && a->faulty == b->faulty &&
           (!a->text.length || memcmp(a->text.bytes, b->text.bytes, a->text.length) == 0);
}

static inline void events_finish(struct events *e) {
    power_buffer_finish(&e->text);
}

#endif
