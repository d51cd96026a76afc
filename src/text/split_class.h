/* SPDX-License-Identifier: MIT */
/* Character classes of the published split expressions, as bits.
 * Input: a code point, or a place in a text. Output: bits; the character there.
 * Threads: any. Bounds: constant time. */
#ifndef POWER_TEXT_SPLIT_CLASS_H
#define POWER_TEXT_SPLIT_CLASS_H

#include "text/utf8.h"

enum power_class {
    POWER_CLASS_L = 1,       /* \p{L} */
    POWER_CLASS_M = 2,       /* \p{M} */
    POWER_CLASS_N = 4,       /* \p{N} */
    POWER_CLASS_P = 8,       /* \p{P} */
    POWER_CLASS_S = 16,      /* \p{S} */
    POWER_CLASS_SPACE = 32,  /* \s: White_Space */
    POWER_CLASS_LINE = 64,   /* [\r\n] */
    POWER_CLASS_UPPER = 128, /* Lu Lt */
    POWER_CLASS_LOWER = 256  /* Ll */
};

extern const uint16_t power_class_ascii[128];
unsigned power_class_of(uint32_t code);
/* \w as Oniguruma has it: letters, marks, Nd, Nl, connectors, letters in circles and
 * the other numbers of Latin-1. */
bool power_class_is_word(uint32_t code);
/* \d: Nd */
bool power_class_is_decimal(uint32_t code);

/* The character at `at`: 0 length at the end of the text. Broken bytes have no class. */
struct power_char {
    uint32_t code;
    uint32_t length;
    unsigned class;
};
struct power_char power_char_beyond_ascii(struct power_text text, size_t at);

static inline struct power_char power_char_at(struct power_text text, size_t at) {
    if (at >= text.length) return (struct power_char){0, 0, 0};
    unsigned char byte = (unsigned char)text.bytes[at];
    if (byte < 0x80) return (struct power_char){byte, 1, power_class_ascii[byte]};
    return power_char_beyond_ascii(text, at);
}

#endif
