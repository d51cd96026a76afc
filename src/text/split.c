/* SPDX-License-Identifier: MIT */
/* Job: walk the stages of a splitter over a text; scanners of its small expressions.
 * Input: text that is valid UTF-8. Output: pieces, in order.
 * Threads: any. Bounds: each stage reads each byte a constant number of times; stack is constant
 * (one level a stage). */
#include "text/split.h"

#include "text/split_scan.h"

static bool is_bloom_stop(uint32_t code) {
    static const uint32_t stops[] = {0x2026, 0x3002, 0xFF0C, 0x3001, 0x0964, 0x06D4, 0x060C};
    if (code < 0x80) return code == '|' || strchr("(.,!?)", (int)code) != NULL;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        if (code == stops[i]) return true;
    }
    return false;
}

static size_t scan_bloom(struct power_text text, size_t at) {
    size_t body = at + (text.bytes[at] == ' ' ? 1 : 0), end = body;
    for (;;) {
        struct power_char c = power_char_at(text, end);
        if (c.length == 0 || (c.class & POWER_CLASS_SPACE) || (c.code && is_bloom_stop(c.code)))
            return end > body ? end : at;
        end += c.length;
    }
}

static size_t scan_punct(struct power_text text, size_t at, bool grave, bool one) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        bool ascii_symbol = c.code < 0x80 && (c.class & POWER_CLASS_S) && (grave || c.code != '`');
        if (c.length == 0 || !(ascii_symbol || (c.class & POWER_CLASS_P))) return at;
        at += c.length;
        if (one) return at;
    }
}

static size_t scan_after_space(struct power_text text, size_t at, unsigned class) {
    struct power_char c = power_char_at(text, at);
    size_t body = at + (c.class & POWER_CLASS_SPACE ? c.length : 0);
    size_t end = power_run_of(text, body, class, 0);
    return end > body ? end : at;
}

static size_t scan_end_spaces(struct power_text text, size_t at, struct power_scan_state *state) {
    size_t end = power_run_of(text, at, POWER_CLASS_SPACE, 0);
    if (end == text.length) return end;
    state->skip = end - at;
    return at;
}

static size_t scan_lines(struct power_text text, size_t at) {
    if (text.bytes[at] != '\n') {
        const char *line = memchr(text.bytes + at, '\n', text.length - at);
        return line ? (size_t)(line - text.bytes) : text.length;
    }
    while (at < text.length && text.bytes[at] == '\n')
        at++;
    return at;
}

static bool starts_with(struct power_text text, size_t at, const char *what) {
    size_t n = strlen(what);
    return text.length - at >= n && memcmp(text.bytes + at, what, n) == 0;
}

static size_t scan_sentinel(struct power_text text, size_t at) {
    if (!starts_with(text, at, "<sentinel:")) return at;
    size_t digits = at + 10, end = digits;
    while (end < text.length && text.bytes[end] >= '0' && text.bytes[end] <= '9')
        end++;
    return end > digits && end < text.length && text.bytes[end] == '>' ? end + 1 : at;
}

static size_t scan_image(struct power_text text, size_t at) {
    if (!starts_with(text, at, "IMGIMG")) return at;
    size_t letters = at + 6, end = letters;
    while (end < text.length && end - letters < 4 && text.bytes[end] >= 'A' &&
           text.bytes[end] <= 'I')
        end++;
    return end > letters && end < text.length && text.bytes[end] == 'Z' ? end + 1 : at;
}

static size_t scan_indent(struct power_text text, size_t at) {
    if (text.bytes[at] == '\t' || text.bytes[at] == '\n') return at + 1;
    if (starts_with(text, at, "    ")) return at + 4;
    return starts_with(text, at, "  ") ? at + 2 : at;
}

/* End of the match at `at`; `at` itself when the expression does not match there. */
static size_t scan(const struct power_split_stage *stage, struct power_text text, size_t at,
                   struct power_scan_state *state) {
    switch (stage->kind) {
    case POWER_SPLIT_GPT2:
        return power_scan_gpt2(text, at);
    case POWER_SPLIT_CL100K:
        return power_scan_cl100k(stage, text, at, state);
    case POWER_SPLIT_O200K:
        return power_scan_o200k(stage, text, at, state);
    case POWER_SPLIT_DEEPSEEK3:
        return power_scan_deepseek3(stage, text, at, state);
    case POWER_SPLIT_DIGITS:
        return power_scan_digits(text, at, stage->width);
    case POWER_SPLIT_BYTE_DIGITS:
        state->skip = 1; /* a byte, not a character */
        return power_scan_byte_digits(text, at);
    case POWER_SPLIT_ASCII_3:
        return power_scan_ascii_3(text, at);
    case POWER_SPLIT_GROUPS:
    case POWER_SPLIT_N_GROUPS:
        return power_scan_groups(text, at, stage->kind == POWER_SPLIT_GROUPS, state);
    case POWER_SPLIT_THOUSANDS:
        return power_scan_thousands(text, at, state);
    case POWER_SPLIT_NEWLINE:
        return at + (text.bytes[at] == '\r' || text.bytes[at] == '\n');
    case POWER_SPLIT_LINES:
        return scan_lines(text, at);
    case POWER_SPLIT_PUNCT:
    case POWER_SPLIT_PUNCT_NO_GRAVE:
        return scan_punct(text, at, stage->kind == POWER_SPLIT_PUNCT, stage->width == 1);
    case POWER_SPLIT_SPACE_LETTERS:
        return scan_after_space(text, at, POWER_CLASS_L);
    case POWER_SPLIT_SPACE_PUNCT:
        return scan_after_space(text, at, POWER_CLASS_P);
    case POWER_SPLIT_END_SPACES:
        return scan_end_spaces(text, at, state);
    case POWER_SPLIT_BLOOM:
        return scan_bloom(text, at);
    case POWER_SPLIT_SENTINEL:
        return scan_sentinel(text, at);
    case POWER_SPLIT_IMAGE:
        return scan_image(text, at);
    case POWER_SPLIT_INDENT:
        return scan_indent(text, at);
    case POWER_SPLIT_CJK:
    case POWER_SPLIT_CJK_KANA:
    case POWER_SPLIT_ASIAN:
    case POWER_SPLIT_YOUTU:
    case POWER_SPLIT_DEEPSEEK_LETTERS:
    case POWER_SPLIT_DEEPSEEK_PUNCT:
        return power_scan_ranges(stage->kind, text, at);
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
    struct power_scan_state state = {0};
    while (at < text.length) {
        state.skip = 0;
        size_t end = scan(&stages[stage], text, at, &state);
        if (end == at) {
            at += state.skip ? state.skip : power_char_at(text, at).length;
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

bool power_split(const struct power_split_stage *stages, struct power_text text,
                 power_split_fn piece, void *context) {
    return split_from(stages, 0, text, piece, context);
}
