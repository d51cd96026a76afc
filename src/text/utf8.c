/* SPDX-License-Identifier: MIT */
/* Job: UTF-8 by the Unicode standard's table of well-formed sequences.
 * Input: any bytes. Output: code points, lengths, offsets of faults.
 * Threads: any. Bounds: linear, constant stack. */
#include "text/utf8.h"

uint32_t power_utf8_get(struct power_text text, size_t at, size_t *out_length, bool *out_cut) {
    const unsigned char *p = (const unsigned char *)text.bytes + at;
    size_t left = text.length - at;
    if (out_cut) *out_cut = false;
    *out_length = 1;
    if (p[0] < 0x80) return p[0];
    if (p[0] < 0xC2 || p[0] > 0xF4) return POWER_UTF8_BROKEN;
    size_t need = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    uint32_t code = p[0] & (0x7Fu >> need);
    unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < need; i++) {
        if (i == left) {
            if (out_cut) *out_cut = true;
            *out_length = i;
            return POWER_UTF8_BROKEN;
        }
        if (p[i] < low || p[i] > high) {
            *out_length = i;
            return POWER_UTF8_BROKEN;
        }
        code = code << 6 | (p[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    *out_length = need;
    return code;
}

size_t power_utf8_before(struct power_text text, size_t at) {
    do {
        at--;
    } while (at > 0 && ((unsigned char)text.bytes[at] & 0xC0) == 0x80);
    return at;
}

size_t power_utf8_put(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

size_t power_utf8_check(struct power_text text) {
    size_t at = 0;
    while (at < text.length) {
        uint64_t word;
        if (text.length - at >= 8) { /* eight ASCII bytes at once */
            memcpy(&word, text.bytes + at, 8);
            if ((word & 0x8080808080808080u) == 0) {
                at += 8;
                continue;
            }
        }
        size_t length;
        if (power_utf8_get(text, at, &length, NULL) == POWER_UTF8_BROKEN) return at;
        at += length;
    }
    return at;
}

size_t power_utf8_count(struct power_text text) {
    size_t n = 0;
    for (size_t i = 0; i < text.length; i++)
        n += ((unsigned char)text.bytes[i] & 0xC0) != 0x80;
    return n;
}
