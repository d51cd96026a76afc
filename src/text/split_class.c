/* SPDX-License-Identifier: MIT */
/* Job: character classes from Unicode's general categories (utf8proc).
 * Input: code points. Output: class bits.
 * Threads: any. Bounds: constant time. */
#include "text/split_class.h"

#include <utf8proc.h>

/* From the categories of the Unicode Character Database; white space by its property. */
const uint16_t power_class_ascii[128] = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   32,  96,  32,  32,  96,  0,   0,   0,   0,   0,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   32,  8,   8,   8,   16,  8,
    8,   8,   8,   8,   8,   16,  8,   8,   8,   8,   4,   4,   4,   4,   4,   4,   4,   4,   4,
    4,   8,   8,   16,  16,  16,  8,   8,   129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129,
    129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 129, 8,   8,   8,   16,
    8,   16,  257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257,
    257, 257, 257, 257, 257, 257, 257, 257, 257, 8,   16,  8,   16,  0,
};

static bool is_space(uint32_t code) {
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

static unsigned class_of_category(utf8proc_category_t category) {
    if (category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT)
        return POWER_CLASS_L | POWER_CLASS_UPPER;
    if (category == UTF8PROC_CATEGORY_LL) return POWER_CLASS_L | POWER_CLASS_LOWER;
    if (category >= UTF8PROC_CATEGORY_LM && category <= UTF8PROC_CATEGORY_LO) return POWER_CLASS_L;
    if (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) return POWER_CLASS_M;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return POWER_CLASS_N;
    if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO) return POWER_CLASS_P;
    if (category >= UTF8PROC_CATEGORY_SM && category <= UTF8PROC_CATEGORY_SO) return POWER_CLASS_S;
    return 0;
}

static utf8proc_category_t category_of(uint32_t code) {
    return utf8proc_category((utf8proc_int32_t)code);
}

unsigned power_class_of(uint32_t code) {
    if (code < 0x80) return power_class_ascii[code];
    /* the ideographs and syllables that most of the text beyond ASCII is written in */
    if (code - 0x4E00u < 0x5200 || code - 0xAC00u < 0x2BA4) return POWER_CLASS_L;
    if (code == POWER_UTF8_BROKEN) return 0;
    if (is_space(code)) return POWER_CLASS_SPACE;
    return class_of_category(category_of(code));
}

bool power_class_is_word(uint32_t code) {
    const unsigned always = POWER_CLASS_L | POWER_CLASS_M;
    if (code == POWER_UTF8_BROKEN) return false;
    unsigned class = power_class_of(code);
    if (class & always) return true;
    if (class & POWER_CLASS_N) /* of the other numbers (No) those of Latin-1 */
        return code < 0x100 || category_of(code) != UTF8PROC_CATEGORY_NO;
    if (category_of(code) == UTF8PROC_CATEGORY_PC) return true;
    return (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
           (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
}

bool power_class_is_decimal(uint32_t code) {
    if (code < 0x80) return code >= '0' && code <= '9';
    return code != POWER_UTF8_BROKEN && category_of(code) == UTF8PROC_CATEGORY_ND;
}

struct power_char power_char_beyond_ascii(struct power_text text, size_t at) {
    size_t length;
    uint32_t code = power_utf8_get(text, at, &length, NULL);
    return (struct power_char){code, (uint32_t)length, power_class_of(code)};
}
