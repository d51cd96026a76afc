/* SPDX-License-Identifier: MIT */
/* Job: scanners for digits, alone, in runs or in groups of three.
 * Input: text, a place. Output: end of the match.
 * Threads: any. Bounds: as split_scan.h says: a run is counted once, when its first digit is met.
 */
#include "text/split_scan.h"

size_t power_scan_digits(struct power_text text, size_t at, unsigned width) {
    for (unsigned n = 0; width == 0 || n < width; n++) {
        struct power_char c = power_char_at(text, at);
        if (!(c.class & POWER_CLASS_N)) break;
        at += c.length;
    }
    return at;
}

/* The byte alphabet spells most bytes above 0x7F as letters and marks, six of them as the numbers
 * U+00B2 U+00B3 U+00B9 U+00BC U+00BD U+00BE. */
size_t power_scan_byte_digits(struct power_text text, size_t at) {
    for (; at < text.length; at++) {
        unsigned char byte = (unsigned char)text.bytes[at];
        bool number =
            byte == 0xB2 || byte == 0xB3 || byte == 0xB9 || (byte >= 0xBC && byte <= 0xBE);
        if (!number && (byte < '0' || byte > '9')) break;
    }
    return at;
}

size_t power_scan_ascii_3(struct power_text text, size_t at) {
    for (size_t i = at; i < at + 3; i++) {
        if (i >= text.length || text.bytes[i] < '0' || text.bytes[i] > '9') return at;
    }
    return at + 3;
}

static bool is_digit(struct power_char c, bool decimal) {
    if (!c.length || !(c.class & POWER_CLASS_N)) return false;
    return !decimal || power_class_is_decimal(c.code);
}

static void count_run(struct power_text text, size_t at, bool decimal,
                      struct power_scan_state *state) {
    struct power_char c;
    state->left = 0;
    for (; is_digit(c = power_char_at(text, at), decimal); at += c.length)
        state->left++;
    state->run_end = at;
    state->bounded = !decimal || c.length == 0 || !power_class_is_word(c.code);
}

static size_t skip_characters(struct power_text text, size_t at, size_t n) {
    for (; n > 0; n--)
        at += power_char_at(text, at).length;
    return at;
}

size_t power_scan_groups(struct power_text text, size_t at, bool decimal,
                         struct power_scan_state *state) {
    if (!is_digit(power_char_at(text, at), decimal)) return at;
    if (at >= state->run_end) count_run(text, at, decimal, state);
    if (!state->bounded) {
        state->skip = state->run_end - at;
        return at;
    }
    size_t take = state->left % 3 ? state->left % 3 : 3;
    state->left -= take;
    return skip_characters(text, at, take);
}

/* From a cut to the next one, or to the end of the text. */
size_t power_scan_thousands(struct power_text text, size_t at, struct power_scan_state *state) {
    bool digit = is_digit(power_char_at(text, at), true);
    if (digit && at >= state->run_end) count_run(text, at, true, state);
    if (!digit || state->left == 0 || state->left % 3 != 0) {
        if (digit && state->left) state->left--;
        return at;
    }
    size_t end = skip_characters(text, at, 3);
    state->left -= 3;
    while (state->left == 0 && end < text.length) {
        struct power_char c = power_char_at(text, end);
        if (!is_digit(c, true)) {
            end += c.length;
            continue;
        }
        count_run(text, end, true, state);
        if (state->left < 3) {
            end = state->run_end;
            state->left = 0;
            continue;
        }
        size_t front = state->left % 3;
        end = skip_characters(text, end, front);
        state->left -= front;
    }
    return end;
}
