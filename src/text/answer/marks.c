/* SPDX-License-Identifier: MIT */
/* Job: looking for marks in a stream of bytes.
 * Input: bytes, the marks of the state. Output: a mark, or bytes that are none and cannot begin
 * one. Threads: one a parser. Bounds: holds back less than the longest mark (ANSWER_MARK). */
#include <assert.h>

#include "text/answer/internal.h"

void answer_marks_clear(answer_parser *p) {
    p->n_marks = 0;
    memset(p->first, 0, sizeof p->first);
}

void answer_marks_add(answer_parser *p, const char *text, enum answer_action action) {
    if (!answer_has(text)) return;
    size_t length = strlen(text);
    assert(p->n_marks < ANSWER_MARKS && length < ANSWER_MARK);
    for (uint32_t i = 0; i < p->n_marks; i++) {
        if (p->marks[i].length == length && memcmp(p->marks[i].text, text, length) == 0) return;
    }
    p->marks[p->n_marks++] = (struct answer_mark){text, length, action};
    p->first[(unsigned char)text[0]] = true;
}

bool answer_scan(answer_parser *p, unsigned char c,
                 void (*release)(answer_parser *p, unsigned char c), enum answer_action *out) {
    if (!p->n_held && !p->first[c]) {
        release(p, c);
        return false;
    }
    p->held[p->n_held++] = (char)c;
    while (p->n_held) {
        bool prefix = false;
        for (uint32_t i = 0; i < p->n_marks; i++) {
            const struct answer_mark *mark = &p->marks[i];
            if (mark->length < p->n_held || memcmp(mark->text, p->held, p->n_held) != 0) continue;
            if (mark->length == p->n_held) {
                *out = mark->action;
                return true;
            }
            prefix = true;
        }
        if (prefix) return false;
        unsigned char byte = (unsigned char)p->held[0];
        memmove(p->held, p->held + 1, --p->n_held);
        release(p, byte);
    }
    return false;
}
