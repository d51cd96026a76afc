/* SPDX-License-Identifier: MIT */
/* Job: messages of gpt-oss: a header with channel and recipient, then the content.
 * Input: bytes of an answer after "<|start|>assistant". Output: events.
 * Threads: one a parser. Bounds: a header of ANSWER_HEADER bytes; a longer one is text. */
#include "text/answer/internal.h"

static const char message_mark[] = "<|message|>";

void answer_harmony_marks(answer_parser *p) {
    answer_marks_add(p, "<|end|>", ANSWER_DO_MESSAGE_END);
    answer_marks_add(p, "<|return|>", ANSWER_DO_MESSAGE_END);
    answer_marks_add(p, "<|call|>", ANSWER_DO_MESSAGE_END);
    answer_marks_add(p, "<|start|>", ANSWER_DO_HEADER);
    answer_marks_add(p, "<|channel|>", ANSWER_DO_HEADER);
}

void answer_begin_harmony(answer_parser *p) {
    answer_begin(p, "", 0);
    answer_to_point(p, ANSWER_DO_FAIL);
    answer_marks_add(p, "<|channel|>", ANSWER_DO_HEADER);
    answer_marks_add(p, "<|start|>", ANSWER_DO_HEADER);
    answer_marks_add(p, "<|message|>", ANSWER_DO_HEADER);
    answer_marks_add(p, "to=", ANSWER_DO_HEADER);
}

/* Where a word of the header begins after `mark`; NULL when the mark is not there. */
static const char *word_after(const answer_parser *p, const char *mark, size_t *out_length) {
    size_t n = strlen(mark);
    for (size_t i = 0; i + n <= p->n_header; i++) {
        if (memcmp(p->header + i, mark, n) != 0) continue;
        const char *word = p->header + i + n, *end = p->header + p->n_header, *at = word;
        while (at < end && !answer_is_space((unsigned char)*at) && *at != '<')
            at++;
        *out_length = (size_t)(at - word);
        return word;
    }
    return NULL;
}

void answer_header_is_text(answer_parser *p) {
    power_buffer_clear(&p->raw);
    (void)answer_append(p, &p->raw, p->header, p->n_header);
    p->strong = false;
    answer_malformed(p);
}

static void begin_message(answer_parser *p) {
    size_t n = 0;
    const char *word = word_after(p, "to=", &n);
    p->at_start = p->after_call = p->skip_space = false;
    if (word && n && n < ANSWER_NAME && p->options.tools) {
        answer_begin(p, p->header, p->n_header);
        memcpy(p->name, word, n);
        p->n_name = n;
        answer_settle_name(p);
        p->n_id = 0;
        answer_to_point(p, ANSWER_DO_FAIL);
        answer_marks_add(p, "{", ANSWER_DO_ARGUMENTS);
        return;
    }
    if (word && n) {
        answer_header_is_text(p);
        return;
    }
    word = word_after(p, "<|channel|>", &n);
    if (word && power_text_equal((struct power_text){word, n}, POWER_TEXT("analysis")))
        answer_to_reasoning(p);
    else
        answer_to_text(p);
    power_buffer_clear(&p->raw);
}

static bool header_ends(const answer_parser *p) {
    size_t n = sizeof message_mark - 1;
    return p->n_header >= n && memcmp(p->header + p->n_header - n, message_mark, n) == 0;
}

/* With the mark that began it in p->raw. */
void answer_begin_header(answer_parser *p) {
    p->n_header = p->raw.length < ANSWER_HEADER ? p->raw.length : 0;
    if (p->n_header) memcpy(p->header, p->raw.bytes, p->n_header);
    p->state = ANSWER_IN_HEADER;
    if (header_ends(p)) begin_message(p);
}

void answer_step_header(answer_parser *p, unsigned char c) {
    if (p->n_header == ANSWER_HEADER) {
        answer_header_is_text(p);
        answer_feed(p, c);
        return;
    }
    p->header[p->n_header++] = (char)c;
    if (header_ends(p)) begin_message(p);
}
