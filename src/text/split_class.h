/* SPDX-License-Identifier: MIT */
/* Character classes of the published split expressions, as bits.
 * Input: a code point. Output: bits. Threads: any. Bounds: none needed. */
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

unsigned power_class_of(uint32_t code);

/* The character at `at`: 0 length at the end of the text. Broken bytes have no class. */
struct power_char {
    uint32_t code;
    uint32_t length;
    unsigned class;
};
struct power_char power_char_at(struct power_text text, size_t at);

#endif
