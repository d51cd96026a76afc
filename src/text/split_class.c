/* SPDX-License-Identifier: MIT */
/* Job: character classes from Unicode's general categories (utf8proc).
 * Input: code points. Output: class bits.
 * Threads: any. Bounds: constant time. */
#include "text/split_class.h"

#include <utf8proc.h>

static bool is_space(uint32_t code) {
    return (code >= 9 && code <= 13) || code == 32 || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
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

static unsigned class_of_ascii(uint32_t code) {
    if (code >= 'a' && code <= 'z') return POWER_CLASS_L | POWER_CLASS_LOWER;
    if (code >= 'A' && code <= 'Z') return POWER_CLASS_L | POWER_CLASS_UPPER;
    if (code == ' ') return POWER_CLASS_SPACE;
    if (code >= '0' && code <= '9') return POWER_CLASS_N;
    if (code == '\r' || code == '\n') return POWER_CLASS_SPACE | POWER_CLASS_LINE;
    if (code < 32 || code == 127) return is_space(code) ? POWER_CLASS_SPACE : 0;
    return strchr("$+<=>^`|~", (int)code) ? POWER_CLASS_S : POWER_CLASS_P;
}

unsigned power_class_of(uint32_t code) {
    if (code < 0x80) return class_of_ascii(code);
    if (code == POWER_UTF8_BROKEN) return 0;
    if (is_space(code)) return POWER_CLASS_SPACE;
    return class_of_category(utf8proc_category((utf8proc_int32_t)code));
}

struct power_char power_char_at(struct power_text text, size_t at) {
    if (at >= text.length) return (struct power_char){0, 0, 0};
    size_t length;
    uint32_t code = power_utf8_get(text, at, &length, NULL);
    return (struct power_char){code, (uint32_t)length, power_class_of(code)};
}
