/* SPDX-License-Identifier: MIT */
/* Walking through a JSON text in place, with no tree: for the headers and index files of
 * SafeTensors. Input: bytes that the scanner may overwrite (escapes are decoded where they stand).
 * Output: names and numbers in order; `fault` set once and kept, with `at` at the place. Threads:
 * one. Bounds: the text; nesting of skipped values at most 64; allocates nothing. */
#ifndef POWER_FORMAT_JSON_SCAN_H
#define POWER_FORMAT_JSON_SCAN_H

#include "base/span.h"

struct power_json_scan {
    char *bytes;
    size_t length, at;
    const char *fault; /* static text, NULL while all is well */
};

void power_json_scan_init(struct power_json_scan *scan, char *bytes, size_t length);
/* Next byte that is no white space, not taken; 0 at the end or after a fault. */
char power_json_scan_peek(struct power_json_scan *scan);
/* Takes `c`, or is a fault. */
bool power_json_scan_expect(struct power_json_scan *scan, char c);
/* Inside an object or array that `open` began: true where another member follows (the separating
 * comma is taken), false at its end (`close` is taken). `*first` is true at the start. */
bool power_json_scan_next(struct power_json_scan *scan, char close, bool *first);
/* A string, decoded in place; a NUL follows it. */
bool power_json_scan_text(struct power_json_scan *scan, struct power_text *out);
/* A string and the colon after it. */
bool power_json_scan_key(struct power_json_scan *scan, struct power_text *out);
/* A whole number from 0 to 2^64 - 1, with no sign, fraction or exponent. */
bool power_json_scan_u64(struct power_json_scan *scan, uint64_t *out);
/* Any value. */
bool power_json_scan_skip(struct power_json_scan *scan);
/* Nothing but white space is left. */
bool power_json_scan_end(struct power_json_scan *scan);

#endif
