/* SPDX-License-Identifier: MIT */
/* Job: scanners for the split expressions that published tokenizers use.
 * Input: text that is valid UTF-8. Output: pieces, in order.
 * Threads: any. Bounds: each stage reads each byte a constant number of times; stack is constant
 * (one level a stage). Each scanner answers for one position what the expression, tried there with
 * the usual leftmost, first-alternative, greedy rule, would match. */
#include "text/split.h"

#include "text/split_class.h"

/* End of the run of characters from `at` that have one of `any` and none of `none`. */
static size_t run_of(struct power_text text, size_t at, unsigned any, unsigned none) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || (c.class & none) || !(c.class & any)) return at;
        at += c.length;
    }
}

/* The same for characters that have none of `none`, whatever else they are. */
static size_t run_without(struct power_text text, size_t at, unsigned none) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || (c.class & none)) return at;
        at += c.length;
    }
}

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

/* `\s*[\r\n]+|\s+(?!\S)|\s+` at a space. */
static size_t spaces_or_lines(struct power_text text, size_t at) {
    size_t end = at, after_line = 0;
    for (;;) {
        struct power_char c = power_char_at(text, end);
        if (!(c.class & POWER_CLASS_SPACE)) break;
        end += c.length;
        if (c.class & POWER_CLASS_LINE) after_line = end;
    }
    return after_line ? after_line : spaces(text, at);
}

/* [\r\n]* and, for O200K, [\r\n/]* */
static size_t line_tail(struct power_text text, size_t at, bool slash) {
    while (at < text.length &&
           (text.bytes[at] == '\r' || text.bytes[at] == '\n' || (slash && text.bytes[at] == '/')))
        at++;
    return at;
}

static size_t digit_run(struct power_text text, size_t at, unsigned width) {
    for (unsigned n = 0; width == 0 || n < width; n++) {
        struct power_char c = power_char_at(text, at);
        if (!(c.class & POWER_CLASS_N)) break;
        at += c.length;
    }
    return at;
}

static size_t scan_gpt2(struct power_text text, size_t at) {
    size_t n = contraction(text, at, false);
    if (n) return at + n;
    struct power_char first = power_char_at(text, at);
    size_t body = at + (first.code == ' ' ? 1 : 0);
    struct power_char c = body == at ? first : power_char_at(text, body);
    const unsigned L = POWER_CLASS_L, N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    if (c.class & L) return run_of(text, body, L, 0);
    if (c.class & N) return run_of(text, body, N, 0);
    if (c.length && !(c.class & space)) return run_without(text, body, L | N | space);
    return spaces(text, at);
}

static size_t scan_cl100k(const struct power_split_stage *stage, struct power_text text,
                          size_t at) {
    const unsigned N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    const unsigned word = POWER_CLASS_L | (stage->marks ? POWER_CLASS_M : 0u);
    size_t n = contraction(text, at, true);
    if (n) return at + n;
    struct power_char c = power_char_at(text, at);
    /* [^\r\n\p{L}\p{N}]?[word]+ : a mark may stand in front, or be the word */
    if (!(c.class & (POWER_CLASS_LINE | POWER_CLASS_L | N))) {
        size_t end = run_of(text, at + c.length, word, 0);
        if (end > at + c.length) return end;
    }
    if (c.class & word) return run_of(text, at, word, 0);
    if (c.class & N) return digit_run(text, at, stage->width);
    /*  ?[^\s word \p{N}]+[\r\n]* */
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = run_without(text, body, space | word | N);
    if (end > body) return line_tail(text, end, false);
    return spaces_or_lines(text, at);
}

/* [Lu Lt Lm Lo M]*[Ll Lm Lo M]+ (`lower`) or [Lu Lt Lm Lo M]+[Ll Lm Lo M]*; `at` when none. */
static size_t upper_lower(struct power_text text, size_t at, bool lower) {
    const unsigned letters = POWER_CLASS_L | POWER_CLASS_M;
    size_t uppers = at, both_end = 0;
    for (;;) { /* the longest run that can be upper; where its last character that is both ends */
        struct power_char c = power_char_at(text, uppers);
        if (!(c.class & letters) || (c.class & POWER_CLASS_LOWER)) break;
        uppers += c.length;
        if (!(c.class & POWER_CLASS_UPPER)) both_end = uppers;
    }
    size_t end = run_of(text, uppers, letters, POWER_CLASS_UPPER);
    if (end > uppers) return lower || uppers > at ? end : at;
    if (!lower) return uppers;
    return both_end ? both_end : at;
}

static size_t scan_o200k(const struct power_split_stage *stage, struct power_text text, size_t at) {
    const unsigned L = POWER_CLASS_L, N = POWER_CLASS_N, space = POWER_CLASS_SPACE;
    struct power_char c = power_char_at(text, at);
    bool prefix = !(c.class & (POWER_CLASS_LINE | L | N));
    for (int lower = 1; lower >= 0; lower--) {
        for (int with = prefix ? 1 : 0; with >= 0; with--) {
            size_t from = at + (with ? c.length : 0);
            size_t end = upper_lower(text, from, lower);
            if (end > from) return end + (stage->contractions ? contraction(text, end, true) : 0);
        }
    }
    if (c.class & N) return digit_run(text, at, stage->width);
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = run_without(text, body, space | L | N);
    if (end > body) return line_tail(text, end, true);
    return spaces_or_lines(text, at);
}

static bool is_ascii_letter(struct power_text text, size_t at) {
    if (at >= text.length) return false;
    char c = text.bytes[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t scan_deepseek3(struct power_text text, size_t at) {
    const unsigned word = POWER_CLASS_L | POWER_CLASS_M, marks = POWER_CLASS_P | POWER_CLASS_S;
    struct power_char c = power_char_at(text, at);
    if (c.code < 0x80 && (c.class & marks) && is_ascii_letter(text, at + 1)) {
        size_t end = at + 1;
        while (is_ascii_letter(text, end))
            end++;
        return end;
    }
    if (!(c.class & (POWER_CLASS_LINE | POWER_CLASS_L | marks))) {
        size_t end = run_of(text, at + c.length, word, 0);
        if (end > at + c.length) return end;
    }
    if (c.class & word) return run_of(text, at, word, 0);
    size_t body = at + (c.code == ' ' ? 1 : 0);
    size_t end = run_of(text, body, marks, 0);
    if (end > body) return line_tail(text, end, false);
    if (c.class & POWER_CLASS_SPACE) return spaces_or_lines(text, at);
    return at;
}

static bool in_cjk(uint32_t code, bool kana) {
    if (code >= 0x4E00 && code <= 0x9FA5) return true;
    if (kana) return code >= 0x3040 && code <= 0x30FF;
    return (code >= 0x0800 && code <= 0x4E00) || (code >= 0xAC00 && code <= 0xD7FF);
}

static size_t scan_cjk(struct power_text text, size_t at, bool kana) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || !in_cjk(c.code, kana)) return at;
        at += c.length;
    }
}

static size_t scan_bloom(struct power_text text, size_t at) {
    static const uint32_t stops[] = {'(',    '|',    '.',    ',',    '!',    '?',    ')',
                                     0x2026, 0x3002, 0xFF0C, 0x3001, 0x0964, 0x06D4, 0x060C};
    size_t body = at + (text.bytes[at] == ' ' ? 1 : 0), end = body;
    for (;;) {
        struct power_char c = power_char_at(text, end);
        bool stop = c.length == 0 || (c.class & POWER_CLASS_SPACE);
        for (size_t i = 0; !stop && i < sizeof stops / sizeof *stops; i++)
            stop = c.code == stops[i];
        if (stop) return end > body ? end : at;
        end += c.length;
    }
}

static size_t scan_punct(struct power_text text, size_t at, bool grave) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        bool ascii_symbol = c.code < 0x80 && (c.class & POWER_CLASS_S) && (grave || c.code != '`');
        if (c.length == 0 || !(ascii_symbol || (c.class & POWER_CLASS_P))) return at;
        at += c.length;
    }
}

static size_t scan_after_space(struct power_text text, size_t at, unsigned class) {
    struct power_char c = power_char_at(text, at);
    size_t body = at + (c.class & POWER_CLASS_SPACE ? c.length : 0);
    size_t end = run_of(text, body, class, 0);
    return end > body ? end : at;
}

static bool is_ascii_digit(struct power_text text, size_t at) {
    return at < text.length && text.bytes[at] >= '0' && text.bytes[at] <= '9';
}

/* End of the match at `at`; `at` itself when the expression does not match there. */
static size_t scan(const struct power_split_stage *stage, struct power_text text, size_t at) {
    switch (stage->kind) {
    case POWER_SPLIT_GPT2:
        return scan_gpt2(text, at);
    case POWER_SPLIT_CL100K:
        return scan_cl100k(stage, text, at);
    case POWER_SPLIT_O200K:
        return scan_o200k(stage, text, at);
    case POWER_SPLIT_DEEPSEEK3:
        return scan_deepseek3(text, at);
    case POWER_SPLIT_DIGITS:
        return digit_run(text, at, stage->width);
    case POWER_SPLIT_ASCII_3:
        return is_ascii_digit(text, at) && is_ascii_digit(text, at + 1) &&
                       is_ascii_digit(text, at + 2)
                   ? at + 3
                   : at;
    case POWER_SPLIT_NEWLINE:
        return at + (text.bytes[at] == '\r' || text.bytes[at] == '\n');
    case POWER_SPLIT_PUNCT:
        return scan_punct(text, at, true);
    case POWER_SPLIT_PUNCT_NO_GRAVE:
        return scan_punct(text, at, false);
    case POWER_SPLIT_SPACE_LETTERS:
        return scan_after_space(text, at, POWER_CLASS_L);
    case POWER_SPLIT_SPACE_PUNCT:
        return scan_after_space(text, at, POWER_CLASS_P);
    case POWER_SPLIT_CJK:
        return scan_cjk(text, at, false);
    case POWER_SPLIT_CJK_KANA:
        return scan_cjk(text, at, true);
    case POWER_SPLIT_BLOOM:
        return scan_bloom(text, at);
    case POWER_SPLIT_NONE:
        break;
    }
    return at;
}

static bool split_from(const struct power_split_stage *stages, unsigned stage,
                       struct power_text text, power_split_fn piece, void *context) {
    if (text.length == 0) return true;
    if (stage == POWER_SPLIT_MAX_STAGES || stages[stage].kind == POWER_SPLIT_NONE)
        return piece(context, text);
    size_t at = 0, rest = 0; /* rest: start of what did not match yet */
    while (at < text.length) {
        size_t end = scan(&stages[stage], text, at);
        if (end == at) {
            at += power_char_at(text, at).length;
            continue;
        }
        struct power_text before = {text.bytes + rest, at - rest};
        struct power_text match = {text.bytes + at, end - at};
        if (!split_from(stages, stage + 1, before, piece, context) ||
            !split_from(stages, stage + 1, match, piece, context))
            return false;
        at = rest = end;
    }
    struct power_text tail = {text.bytes + rest, text.length - rest};
    return split_from(stages, stage + 1, tail, piece, context);
}

bool power_split(const struct power_split_stage stages[POWER_SPLIT_MAX_STAGES],
                 struct power_text text, power_split_fn piece, void *context) {
    return split_from(stages, 0, text, piece, context);
}
