/* SPDX-License-Identifier: MIT */
/* Job: scanners for the expressions that tell words, numbers, marks and spaces apart.
 * Input: text that is valid UTF-8, a place. Output: end of the match.
 * Threads: any. Bounds: each match reads its bytes and one character more, up to four times.
 * A scanner answers for one place what the expression, tried there with the usual leftmost,
 * first-alternative, greedy rule, would match. */
#include "text/split_scan.h"

/* 's 't 're 've 'm 'll 'd at `at`, else 0. Without case, U+017F is an s. */
static size_t contraction(struct power_text text, size_t at, bool any_case) {
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (at >= text.length || text.bytes[at] != '\'') return 0;
    if (any_case && text.length - at >= 3 && memcmp(text.bytes + at + 1, "\xC5\xBF", 2) == 0)
        return 3;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]), same = 0;
        while (same < n && at + 1 + same < text.length) {
            char c = text.bytes[at + 1 + same];
            if (any_case && c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
            if (c != ends[i][same]) break;
            same++;
        }
        if (same == n) return n + 1;
    }
    return 0;
}

/* `\s+(?!\S)|\s+` at a space: all of the run at the end of the text, else all but its last. */
static size_t spaces(struct power_text text, size_t at) {
    size_t last = at, end = at;
    for (;;) {
        struct power_char c = power_char_at(text, end);
        if (c.length == 0) return end;
        if (!(c.class & POWER_CLASS_SPACE)) break;
        last = end;
        end += c.length;
    }
    return last > at ? last : end;
}

/* `\s{512}(?!\S)|\s{256}(?!\S)|...|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}` at a space. */
static size_t cascade(struct power_text text, size_t at) {
    size_t ends[513], n = 0; /* where the first n spaces end */
    ends[0] = at;
    struct power_char c = power_char_at(text, at);
    for (; n < 512 && (c.class & POWER_CLASS_SPACE); c = power_char_at(text, ends[n])) {
        ends[n + 1] = ends[n] + c.length;
        n++;
    }
    bool more = c.length == 0 || (c.class & POWER_CLASS_SPACE); /* no \S behind the n-th */
    for (size_t size = 512; size >= 1; size /= 2) {
        if (size < n || (size == n && more)) return ends[size];
    }
    return ends[1];
}

static size_t white(const struct power_split_stage *stage, struct power_text text, size_t at) {
    return stage->flags & POWER_SPLIT_CASCADE ? cascade(text, at) : spaces(text, at);
}

/* `\s*[\r\n]+|\s+(?!\S)|\s+` at a space. A cascade comes back to the same run of spaces: the state
 * knows that there is no line end in it. */
static size_t spaces_or_lines(const struct power_split_stage *stage, struct power_text text,
                              size_t at, struct power_scan_state *state) {
    size_t end = at, after_line = 0;
    if (stage->flags & POWER_SPLIT_LINE_ONE)
        return power_char_at(text, at).class & POWER_CLASS_LINE ? at + 1 : white(stage, text, at);
    if (at < state->run_end) return white(stage, text, at);
    for (;;) {
        struct power_char c = power_char_at(text, end);
        if (!(c.class & POWER_CLASS_SPACE)) break;
        end += c.length;
        if (c.class & POWER_CLASS_LINE) after_line = end;
    }
    if (after_line) return after_line;
    state->run_end = end;
    return white(stage, text, at);
}

/* What may follow punctuation: [\r\n]* and its dialects. */
static size_t line_tail(const struct power_split_stage *stage, struct power_text text, size_t at) {
    const bool one = stage->flags & POWER_SPLIT_TAIL_ONE;
    const bool slash = one || (stage->flags & POWER_SPLIT_TAIL_SLASH);
    if (stage->flags & POWER_SPLIT_TAIL_NONE) return at;
    for (size_t n = 0; at < text.length && (n == 0 || !one); n++, at++) {
        char c = text.bytes[at];
        if (c != '\r' && c != '\n' && !(slash && c == '/')) break;
    }
    return at;
}

size_t power_scan_gpt2(struct power_text text, size_t at) {
    const unsigned L = POWER_CLASS_L, N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    struct power_char first = power_char_at(text, at);
    if (first.code == '\'') {
        size_t n = contraction(text, at, false);
        if (n) return at + n;
    }
    size_t body = at + (first.code == ' ' ? 1 : 0);
    struct power_char c = body == at ? first : power_char_at(text, body);
    if (c.class & L) return power_run_of(text, body + c.length, L, 0);
    if (c.class & N) return power_run_of(text, body + c.length, N, 0);
    if (c.length && !(c.class & space))
        return power_run_without(text, body + c.length, L | N | space);
    return spaces(text, at);
}

/* \p{L}\p{M}*(?: \p{L}\p{M}*)* again and again. */
static size_t phrase(struct power_text text, size_t at) {
    struct power_char c = power_char_at(text, at);
    while (c.class & POWER_CLASS_L) {
        at = power_run_of(text, at + c.length, POWER_CLASS_M, 0);
        c = power_char_at(text, at);
        if (c.code != ' ' || !c.length) continue;
        c = power_char_at(text, at + 1);
        if (c.class & POWER_CLASS_L) at++;
    }
    return at;
}

static size_t word_run(const struct power_split_stage *stage, struct power_text text, size_t at) {
    if (stage->flags & POWER_SPLIT_PHRASES) return phrase(text, at);
    unsigned marks = stage->flags & POWER_SPLIT_MARKS ? POWER_CLASS_M : 0u;
    return power_run_of(text, at, POWER_CLASS_L | marks, 0);
}

size_t power_scan_cl100k(const struct power_split_stage *stage, struct power_text text, size_t at,
                         struct power_scan_state *state) {
    const unsigned N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    const unsigned word = POWER_CLASS_L | (stage->flags & POWER_SPLIT_MARKS ? POWER_CLASS_M : 0u);
    struct power_char c = power_char_at(text, at);
    if (c.code == '\'' && (stage->flags & POWER_SPLIT_CONTRACTIONS)) {
        size_t n = contraction(text, at, true);
        if (n) return at + n;
    }
    /* [^\r\n\p{L}\p{N}]?[word]+ : a mark may stand in front, or be the word */
    if (!(c.class & (POWER_CLASS_LINE | POWER_CLASS_L | N))) {
        size_t end = word_run(stage, text, at + c.length);
        if (end > at + c.length) return end;
    }
    if (c.class & word) return word_run(stage, text, at);
    if (c.class & N) return power_scan_digits(text, at, stage->width);
    /*  ?[^\s word \p{N}]+[\r\n]* */
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = power_run_without(text, body, space | word | N);
    if (end > body) return line_tail(stage, text, end);
    return spaces_or_lines(stage, text, at, state);
}

/* Classes at `at` where Han counts as nothing. */
static struct power_char letter_at(struct power_text text, size_t at, bool no_han) {
    struct power_char c = power_char_at(text, at);
    if (no_han && c.length > 2 && power_class_is_han(c.code)) c.class = 0;
    return c;
}

/* [Lu Lt Lm Lo M]*[Ll Lm Lo M]+ (`lower`) or [Lu Lt Lm Lo M]+[Ll Lm Lo M]*; `at` when none. */
static size_t upper_lower(struct power_text text, size_t at, bool lower, bool no_han) {
    const unsigned letters = POWER_CLASS_L | POWER_CLASS_M;
    size_t uppers = at, both_end = 0;
    struct power_char c;
    for (;;) { /* the longest run that can be upper; where its last character that is both ends */
        c = letter_at(text, uppers, no_han);
        if (!(c.class & letters) || (c.class & POWER_CLASS_LOWER)) break;
        uppers += c.length;
        if (!(c.class & POWER_CLASS_UPPER)) both_end = uppers;
    }
    size_t end = uppers;
    for (; (c.class & letters) && !(c.class & POWER_CLASS_UPPER); c = letter_at(text, end, no_han))
        end += c.length;
    if (end > uppers) return lower || uppers > at ? end : at;
    if (!lower) return uppers;
    return both_end ? both_end : at;
}

static size_t scan_han(struct power_text text, size_t at) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || !power_class_is_han(c.code)) return at;
        at += c.length;
    }
}

size_t power_scan_o200k(const struct power_split_stage *stage, struct power_text text, size_t at,
                        struct power_scan_state *state) {
    const unsigned L = POWER_CLASS_L, N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    const bool no_han = stage->flags & POWER_SPLIT_NO_HAN;
    const bool contracted = stage->flags & POWER_SPLIT_CONTRACTIONS;
    struct power_char c = power_char_at(text, at);
    if (no_han && c.length > 2) {
        size_t end = scan_han(text, at);
        if (end > at) return end;
    }
    bool prefix = !(c.class & (POWER_CLASS_LINE | L | N));
    for (int lower = 1; lower >= 0; lower--) {
        for (int with = prefix ? 1 : 0; with >= 0; with--) {
            size_t from = at + (with ? c.length : 0);
            size_t end = upper_lower(text, from, lower, no_han);
            if (end > from) return end + (contracted ? contraction(text, end, true) : 0);
        }
    }
    if (c.class & N) return power_scan_digits(text, at, stage->width);
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = power_run_without(text, body, space | L | N);
    if (end > body) return line_tail(stage, text, end);
    return spaces_or_lines(stage, text, at, state);
}

static bool is_ascii_letter(struct power_text text, size_t at) {
    if (at >= text.length) return false;
    char c = text.bytes[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t power_scan_deepseek3(const struct power_split_stage *stage, struct power_text text,
                            size_t at, struct power_scan_state *state) {
    const unsigned word = POWER_CLASS_L | POWER_CLASS_M, marks = POWER_CLASS_P | POWER_CLASS_S;
    struct power_char c = power_char_at(text, at);
    if (c.code < 0x80 && (c.class & marks) && is_ascii_letter(text, at + 1)) {
        size_t end = at + 1;
        while (is_ascii_letter(text, end))
            end++;
        return end;
    }
    if (!(c.class & (POWER_CLASS_LINE | POWER_CLASS_L | marks))) {
        size_t end = power_run_of(text, at + c.length, word, 0);
        if (end > at + c.length) return end;
    }
    if (c.class & word) return power_run_of(text, at, word, 0);
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = power_run_of(text, body, marks, 0);
    if (end > body) return line_tail(stage, text, end);
    if (c.class & POWER_CLASS_SPACE) return spaces_or_lines(stage, text, at, state);
    return at;
}
