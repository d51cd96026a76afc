/* SPDX-License-Identifier: MIT */
/* UTF-8: decoding one code point, encoding, checking, counting.
 * Input: any bytes. Output: code points; broken bytes are told apart, never read past.
 * Threads: any. Bounds: none needed. */
#ifndef POWER_TEXT_UTF8_H
#define POWER_TEXT_UTF8_H

#include "base/span.h"

#define POWER_UTF8_BROKEN UINT32_MAX

/* The code point at `at` (which is inside the text) and its length in *out_length. Broken bytes
 * give POWER_UTF8_BROKEN and the length of the maximal subpart (the WHATWG rule), at least 1.
 * *out_cut (may be NULL): the text ends inside what could still become valid. */
uint32_t power_utf8_get(struct power_text text, size_t at, size_t *out_length, bool *out_cut);
/* The offset of the code point that ends at `at`, which is not 0, in a valid text. */
size_t power_utf8_before(struct power_text text, size_t at);
/* Writes 1 to 4 bytes, returns how many. `code` is a valid scalar value. */
size_t power_utf8_put(uint32_t code, char out[4]);
/* Offset of the first broken byte, or the length. */
size_t power_utf8_check(struct power_text text);
/* Code points in a valid text. */
size_t power_utf8_count(struct power_text text);

#endif
