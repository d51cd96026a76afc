/* SPDX-License-Identifier: MIT */
/* Job: characters, escapes and classes of regular expressions.
 * Input: the expression at a character. Output: a code point or a set of them.
 * Threads: one an operation. Bounds: linear in the text and in the ranges of its classes. */
#include <stdarg.h>
#include <stdio.h>

#include "text/constraint/regex.h"
#include "text/utf8.h"

/* WhiteSpace and LineTerminator of ECMA-262. */
static const uint32_t SPACES[][2] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
static const uint32_t DIGITS[][2] = {{'0', '9'}};
static const uint32_t WORDS[][2] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

bool power_regex_fault(struct regex *r, power_status status, size_t at, const char *format, ...) {
    if (r->w->status != POWER_OK) return false;
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    r->w->status =
        power_fail_at(r->w->error, status, at, "regular expression, byte %zu: %s", at, text);
    return false;
}

bool power_regex_code(struct regex *r, uint32_t *out_code) {
    size_t length;
    *out_code = power_utf8_get(r->text, r->at, &length, NULL);
    if (*out_code == POWER_UTF8_BROKEN)
        return power_regex_fault(r, POWER_INVALID, r->at, "the text is not UTF-8");
    r->at += length;
    return true;
}

static int peek(const struct regex *r, size_t ahead) {
    return ahead < r->text.length - r->at ? (unsigned char)r->text.bytes[r->at + ahead] : -1;
}

static int hex_value(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* `digits` hexadecimal digits. */
static bool hex_code(struct regex *r, size_t digits, uint32_t *out) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = hex_value(peek(r, i));
        if (value < 0)
            return power_regex_fault(r, POWER_INVALID, r->at, "%zu hexadecimal digits are missing",
                                     digits - i);
        code = code << 4 | (uint32_t)value;
    }
    r->at += digits;
    *out = code;
    return true;
}

/* Behind \u{. */
static bool braced_code(struct regex *r, uint32_t *out) {
    size_t begin = r->at;
    uint32_t code = 0;
    while (hex_value(peek(r, 0)) >= 0 && code <= REGULAR_LAST_CODE)
        code = code << 4 | (uint32_t)hex_value(peek(r, 0)), r->at++;
    if (r->at == begin || peek(r, 0) != '}' || code > REGULAR_LAST_CODE)
        return power_regex_fault(r, POWER_INVALID, begin, "no code point between \\u{ and }");
    r->at++;
    *out = code;
    return true;
}

/* Behind \u. Two escapes that are a surrogate pair are one code point. */
static bool unicode_code(struct regex *r, uint32_t *out) {
    if (peek(r, 0) == '{') {
        r->at++;
        return braced_code(r, out);
    }
    if (!hex_code(r, 4, out)) return false;
    if (*out < 0xD800 || *out > 0xDBFF || peek(r, 0) != '\\' || peek(r, 1) != 'u') return true;
    size_t behind = r->at;
    uint32_t low;
    r->at += 2;
    if (peek(r, 0) != '{' && hex_code(r, 4, &low) && low >= 0xDC00 && low <= 0xDFFF)
        *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    else
        r->at = behind;
    return r->w->status == POWER_OK;
}

static bool add_table(struct regex *r, struct regular_set *set, const uint32_t table[][2], size_t n,
                      bool negated) {
    struct regular_set plain = {0};
    for (size_t i = 0; i < n; i++) {
        if (!power_regular_set_add(r->w, &plain, table[i][0], table[i][1])) return false;
    }
    if (!power_regular_set_normalise(r->w, &plain)) return false;
    if (negated && !power_regular_set_negate(r->w, &plain)) return false;
    for (size_t i = 0; i < plain.ranges.count; i++) {
        struct power_regular_edge range = REGULAR_RANGES(&plain)[i];
        if (!power_regular_set_add(r->w, set, range.first, range.last)) return false;
    }
    return true;
}

/* Behind \p or \P. */
static bool property(struct regex *r, bool negated, struct regular_set *set) {
    size_t begin = r->at + 1, end = begin;
    if (peek(r, 0) != '{')
        return power_regex_fault(r, POWER_INVALID, r->at, "\\p needs a name in braces");
    while (end < r->text.length && r->text.bytes[end] != '}')
        end++;
    if (end == r->text.length)
        return power_regex_fault(r, POWER_INVALID, r->at, "the brace of \\p is not closed");
    struct power_text name = {r->text.bytes + begin, end - begin};
    r->at = end + 1;
    return power_regex_property(r, name, negated, begin, set);
}

static uint32_t control_code(int c) {
    switch (c) {
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    default:
        return REGULAR_NONE;
    }
}

/* Behind the backslash, at what is no class: a character. */
static bool character_escape(struct regex *r, bool in_class, uint32_t *out) {
    size_t begin = r->at - 1;
    int c = peek(r, 0);
    *out = control_code(c);
    if (*out == REGULAR_NONE && !is_letter(c) && (c < '0' || c > '9'))
        return power_regex_code(r, out); /* a character that needs no escape stands for itself */
    r->at++;
    if (*out != REGULAR_NONE) return true;
    if (c == 'x') return hex_code(r, 2, out);
    if (c == 'u') return unicode_code(r, out);
    if (c == 'b' && in_class) return *out = '\b', true;
    if (c == '0' && (peek(r, 0) < '0' || peek(r, 0) > '9')) return *out = 0, true;
    if (c == 'c' && is_letter(peek(r, 0))) {
        *out = (uint32_t)peek(r, 0) % 32;
        r->at++;
        return true;
    }
    if (c >= '1' && c <= '9' && !in_class)
        return power_regex_fault(r, POWER_UNSUPPORTED, begin, "a backreference is not regular");
    if (c == 'k' && !in_class)
        return power_regex_fault(r, POWER_UNSUPPORTED, begin, "a backreference is not regular");
    return power_regex_fault(r, POWER_INVALID, begin, "unknown escape \\%c", c);
}

bool power_regex_escape(struct regex *r, bool in_class, struct regular_set *set,
                        uint32_t *out_code) {
    r->at++;
    int c = peek(r, 0);
    *out_code = REGULAR_NONE;
    if (c < 0) return power_regex_fault(r, POWER_INVALID, r->at - 1, "nothing follows the escape");
    bool negated = c == 'D' || c == 'S' || c == 'W' || c == 'P';
    switch (c) {
    case 'd':
    case 'D':
        r->at++;
        return add_table(r, set, DIGITS, 1, negated);
    case 's':
    case 'S':
        r->at++;
        return add_table(r, set, SPACES, sizeof SPACES / sizeof *SPACES, negated);
    case 'w':
    case 'W':
        r->at++;
        return add_table(r, set, WORDS, sizeof WORDS / sizeof *WORDS, negated);
    case 'p':
    case 'P':
        r->at++;
        return property(r, negated, set);
    default:
        return character_escape(r, in_class, out_code);
    }
}

/* One item of a class: a character, or a class that is added (then *out_code is REGULAR_NONE). */
static bool class_item(struct regex *r, struct regular_set *set, uint32_t *out_code) {
    if (peek(r, 0) == '\\') return power_regex_escape(r, true, set, out_code);
    return power_regex_code(r, out_code);
}

/* Behind one item: adds it, or the range that it begins. A hyphen beside a class is a hyphen. */
static bool add_item(struct regex *r, struct regular_set *set, uint32_t first, size_t begin) {
    uint32_t last = first;
    bool ranges = peek(r, 0) == '-' && peek(r, 1) != ']' && peek(r, 1) >= 0;
    if (ranges) {
        r->at++;
        if (!class_item(r, set, &last)) return false;
        if (first == REGULAR_NONE || last == REGULAR_NONE) {
            if (!power_regular_set_add(r->w, set, '-', '-')) return false;
            if (last != REGULAR_NONE && !power_regular_set_add(r->w, set, last, last)) return false;
            last = first;
        }
    }
    if (first == REGULAR_NONE) return true;
    if (first > last)
        return power_regex_fault(r, POWER_INVALID, begin, "the range of a class is out of order");
    return power_regular_set_add(r->w, set, first, last);
}

bool power_regex_class(struct regex *r, struct regular_set *set) {
    size_t open = r->at++;
    bool negated = peek(r, 0) == '^';
    r->at += negated;
    while (peek(r, 0) != ']') {
        size_t begin = r->at;
        uint32_t code;
        if (peek(r, 0) < 0)
            return power_regex_fault(r, POWER_INVALID, open, "the class is not closed");
        if (!class_item(r, set, &code) || !add_item(r, set, code, begin)) return false;
    }
    r->at++;
    return power_regular_set_normalise(r->w, set) &&
           (!negated || power_regular_set_negate(r->w, set));
}
