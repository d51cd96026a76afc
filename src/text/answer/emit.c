/* SPDX-License-Identifier: MIT */
/* Job: events of the answer parser.
 * Input: pieces of text, calls begun and ended. Output: the caller's callback.
 * Threads: one a parser. Bounds: runs of one kind are joined up to ANSWER_OUT bytes. */
#include "text/answer/internal.h"

static void give(answer_parser *p, const power_answer_event *event) {
    if (p->failed != POWER_OK) return;
    if (p->options.on_event(p->options.context, event)) p->failed = POWER_CANCELLED;
}

void answer_flush(answer_parser *p) {
    if (!p->n_out) return;
    power_answer_event event = {
        .kind = p->out_kind, .text = p->out, .text_bytes = p->n_out, .id = ""};
    if (event.kind == POWER_ANSWER_ARGUMENTS) event.call = p->call;
    p->n_out = 0;
    give(p, &event);
}

void answer_emit(answer_parser *p, power_answer_kind kind, const char *bytes, size_t n) {
    if (kind != p->out_kind) answer_flush(p);
    p->out_kind = kind;
    while (n) {
        size_t part = ANSWER_OUT - p->n_out < n ? ANSWER_OUT - p->n_out : n;
        memcpy(p->out + p->n_out, bytes, part);
        p->n_out += part;
        bytes += part;
        n -= part;
        if (p->n_out == ANSWER_OUT) answer_flush(p);
    }
}

void answer_call(answer_parser *p) {
    answer_flush(p);
    p->begun = true;
    p->in_section = true;
    give(p, &(power_answer_event){POWER_ANSWER_CALL, p->call, p->name, p->n_name, p->id, p->n_id});
}

static void forget_call(answer_parser *p) {
    p->n_name = p->n_id = 0;
    p->have_name = false;
    power_buffer_clear(&p->raw);
    power_buffer_clear(&p->pending);
    power_buffer_clear(&p->keys);
}

void answer_call_end(answer_parser *p) {
    answer_flush(p);
    give(p, &(power_answer_event){POWER_ANSWER_CALL_END, p->call, "", 0, p->id, p->n_id});
    p->begun = false;
    p->call++;
    forget_call(p);
}

/* White space between a finished call and what turned out to be none is dropped too. */
static size_t dropped_space(const answer_parser *p) {
    size_t n = 0;
    if (p->begun || !p->in_section) return 0;
    while (n < p->raw.length && answer_is_space((unsigned char)p->raw.bytes[n]))
        n++;
    return n;
}

void answer_malformed(answer_parser *p) {
    if (p->begun || (p->strong && !p->in_section)) {
        /* What is left of the arguments came before the fault. */
        answer_flush(p);
        give(p, &(power_answer_event){POWER_ANSWER_MALFORMED, p->call, "", 0, "", 0});
        if (p->begun) p->call++;
    }
    p->begun = false;
    size_t skip = dropped_space(p);
    if (p->raw.length > skip) {
        answer_emit(p, POWER_ANSWER_TEXT, p->raw.bytes + skip, p->raw.length - skip);
        p->skip_space = false;
    }
    forget_call(p);
    p->n_held = 0;
    p->at_start = p->after_call = false;
    answer_to_text(p);
}

bool answer_append(answer_parser *p, struct power_buffer *buffer, const char *bytes, size_t n) {
    if (power_buffer_append(buffer, bytes, n)) return true;
    if (buffer->max_bytes - buffer->length >= n) p->failed = POWER_NO_MEMORY;
    return false;
}

void answer_emit_escaped(answer_parser *p, const char *bytes, size_t n) {
    static const char plain[] = "\b\f\n\r\t\"\\", escaped[] = "bfnrt\"\\";
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        const char *at = c ? strchr(plain, c) : NULL;
        char text[8] = {'\\', at ? escaped[at - plain] : 'u', '0', '0'};
        if (at) {
            answer_emit(p, POWER_ANSWER_ARGUMENTS, text, 2);
        } else if (c < 0x20) {
            text[4] = (char)('0' + (c >> 4));
            text[5] = "0123456789abcdef"[c & 15];
            answer_emit(p, POWER_ANSWER_ARGUMENTS, text, 6);
        } else {
            answer_emit(p, POWER_ANSWER_ARGUMENTS, bytes + i, 1);
        }
    }
}

void answer_emit_string(answer_parser *p, const char *bytes, size_t n) {
    answer_emit(p, POWER_ANSWER_ARGUMENTS, "\"", 1);
    answer_emit_escaped(p, bytes, n);
    answer_emit(p, POWER_ANSWER_ARGUMENTS, "\"", 1);
}
