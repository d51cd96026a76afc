/* SPDX-License-Identifier: MIT */
/* Job: runs the pre-tokenizers of a tokenizer.json, one after the other on each piece.
 * Input: a normalised view. Output: pieces to the model.
 * Threads: one per encode call.
 * Bounds: linear time for each step; the stack holds a few frames a step. At most one step adds
 * bytes (Metaspace or a space prefix), so one scratch text is enough. */
#include "text/charset.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

/* Where a piece is on its way: the step that comes next, and the view that it is a slice of. */
struct walk {
    struct power_encode_work *work;
    const struct power_view *view;
    unsigned step;
};

static bool take_piece(const struct walk *walk, size_t at, size_t length);

static bool take_stage_piece(void *context, struct power_text piece) {
    const struct walk *walk = context;
    return take_piece(walk, (size_t)(piece.bytes - walk->view->text.bytes), piece.length);
}

/* The walk of what a step leaves. */
static struct walk after(const struct walk *walk) {
    return (struct walk){walk->work, walk->view, walk->step + 1};
}

static bool is_match(const struct power_pre_step *step, uint32_t code) {
    if (step->kind == POWER_PRE_PUNCT) return power_is_bert_punctuation(code);
    return power_is_space(code);
}

/* End of the next span from `at`: one match, or all up to the next one. */
static size_t next_span(const struct power_pre_step *step, struct power_text text, size_t at,
                        bool *out_match) {
    size_t length, end = at;
    *out_match = false;
    while (end < text.length) {
        bool match;
        if (step->kind == POWER_PRE_LITERAL) {
            length = step->text.length;
            match = text.length - end >= length &&
                    memcmp(text.bytes + end, step->text.bytes, length) == 0;
        } else {
            match = is_match(step, power_utf8_get(text, end, &length, NULL));
        }
        if (match && end > at) return end;
        *out_match = match;
        if (match) return end + length;
        (void)power_utf8_get(text, end, &length, NULL);
        end += length;
    }
    return end;
}

/* Spans come one by one; `held` waits for what may join it. */
struct joiner {
    const struct walk *next;
    enum power_split_behavior behavior;
    size_t held_at, held_length;
    bool held_match;
};

static bool flush(struct joiner *j) {
    size_t n = j->held_length;
    j->held_length = 0;
    return n == 0 || take_piece(j->next, j->held_at, n);
}

static bool join(struct joiner *j, size_t at, size_t length, bool match) {
    if (j->behavior == POWER_SPLIT_REMOVED && match) return flush(j);
    bool same = j->held_length > 0 &&
                ((j->behavior == POWER_SPLIT_CONTIGUOUS && match == j->held_match) ||
                 (j->behavior == POWER_SPLIT_WITH_PREVIOUS && match && !j->held_match) ||
                 (j->behavior == POWER_SPLIT_WITH_NEXT && !match && j->held_match));
    if (!same && !flush(j)) return false;
    if (j->held_length == 0) j->held_at = at;
    j->held_length += length;
    j->held_match = match;
    return true;
}

static bool split_spans(const struct walk *walk, const struct power_pre_step *step,
                        struct power_text piece, size_t base) {
    struct walk next = after(walk);
    struct joiner j = {.next = &next, .behavior = step->behavior};
    for (size_t at = 0, end; at < piece.length; at = end) {
        bool match;
        end = next_span(step, piece, at, &match);
        if (!join(&j, base + at, end - at, match)) return false;
    }
    return flush(&j);
}

/* \w+ and [^\w\s]+ */
static bool split_words(const struct walk *walk, struct power_text piece, size_t base) {
    struct walk next = after(walk);
    size_t start = 0, at = 0, length;
    int last = 0; /* 0: white space, 1: word, 2: other */
    for (; at <= piece.length; at += length) {
        int kind = 0;
        length = 1;
        if (at < piece.length) {
            uint32_t code = power_utf8_get(piece, at, &length, NULL);
            kind = power_is_word(code) ? 1 : power_is_space(code) ? 0 : 2;
        }
        if (kind == last && at < piece.length) continue;
        if (last != 0 && !take_piece(&next, base + start, at - start)) return false;
        start = at;
        last = kind;
    }
    return true;
}

static bool starts_with(struct power_text text, struct power_text prefix) {
    return text.length >= prefix.length && memcmp(text.bytes, prefix.bytes, prefix.length) == 0;
}

/* Metaspace: the piece with its spaces replaced and the prefix in front, then its words. */
static bool metaspace(const struct walk *walk, const struct power_pre_step *step,
                      const struct power_view *piece) {
    struct power_encode_work *work = walk->work;
    struct power_scratch *out = &work->prefixed;
    struct power_normal_step spaces = {
        .kind = POWER_NORMAL_REPLACE, .from = POWER_TEXT(" "), .to = step->text};
    bool starts = starts_with(piece->text, step->text) || piece->text.bytes[0] == ' ';
    bool first = !step->only_once || power_view_span(piece, 0, 1).start == 0;
    power_buffer_clear(&out->text);
    power_buffer_clear(&out->from);
    if (step->prefix && first && !starts &&
        !power_scratch_put(work, out, step->text, power_view_span(piece, 0, 0)))
        return false;
    if (!power_replace(work, &spaces, piece, out)) return false;
    struct power_view view = power_scratch_view(out);
    struct walk inner = {work, &view, walk->step};
    if (!step->split) {
        struct walk next = after(&inner);
        return take_piece(&next, 0, view.text.length);
    }
    struct power_pre_step cut = {
        .kind = POWER_PRE_LITERAL, .behavior = POWER_SPLIT_WITH_NEXT, .text = step->text};
    return split_spans(&inner, &cut, view.text, 0);
}

static bool prefix_space(const struct walk *walk, const struct power_view *piece) {
    struct power_scratch *out = &walk->work->prefixed;
    power_buffer_clear(&out->text);
    power_buffer_clear(&out->from);
    if (piece->text.bytes[0] != ' ' &&
        !power_scratch_put(walk->work, out, POWER_TEXT(" "), power_view_span(piece, 0, 0)))
        return false;
    if (!power_scratch_copy(walk->work, out, piece, 0, piece->text.length)) return false;
    struct power_view view = power_scratch_view(out);
    struct walk next = {walk->work, &view, walk->step + 1};
    return take_piece(&next, 0, view.text.length);
}

static bool take_piece(const struct walk *walk, size_t at, size_t length) {
    const struct power_vocab *vocab = walk->work->vocab;
    if (length == 0) return true;
    struct power_view piece = power_view_slice(walk->view, at, length);
    if (walk->step == vocab->n_pre) return power_encode_piece(walk->work, &piece);
    const struct power_pre_step *step = &vocab->pre[walk->step];
    switch (step->kind) {
    case POWER_PRE_STAGE: {
        struct walk next = after(walk);
        return power_split(step->stages, piece.text, take_stage_piece, &next);
    }
    case POWER_PRE_SPACE_SPLIT:
    case POWER_PRE_PUNCT:
    case POWER_PRE_LITERAL:
        return split_spans(walk, step, piece.text, at);
    case POWER_PRE_WORDS:
        return split_words(walk, piece.text, at);
    case POWER_PRE_METASPACE:
        return metaspace(walk, step, &piece);
    case POWER_PRE_PREFIX:
        return prefix_space(walk, &piece);
    }
    return true;
}

bool power_pretokenize(struct power_encode_work *work, const struct power_view *view) {
    struct walk walk = {work, view, 0};
    return take_piece(&walk, 0, view->text.length);
}
