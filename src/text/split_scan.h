/* SPDX-License-Identifier: MIT */
/* Scanners of the split expressions: what each matches at one place of a text.
 * Input: text that is valid UTF-8, a place. Output: where the match ends; the place itself for
 * none. Threads: any. Bounds: no scanner reads a byte more than a constant number of times in a
 * walk from left to right (power_scan_state carries what it would otherwise read again). */
#ifndef POWER_TEXT_SPLIT_SCAN_H
#define POWER_TEXT_SPLIT_SCAN_H

#include "text/split.h"
#include "text/split_class.h"

struct power_scan_state {
    size_t skip;    /* out: bytes from `at` on where no match begins; 0: one character */
    size_t run_end; /* of the run of digits that was counted last, of spaces without a line end */
    size_t left;    /* digits of it that were not matched yet */
    bool bounded;   /* a word boundary stands behind it */
};

/* split_words.c */
size_t power_scan_gpt2(struct power_text text, size_t at);
size_t power_scan_cl100k(const struct power_split_stage *stage, struct power_text text, size_t at,
                         struct power_scan_state *state);
size_t power_scan_o200k(const struct power_split_stage *stage, struct power_text text, size_t at,
                        struct power_scan_state *state);
size_t power_scan_deepseek3(const struct power_split_stage *stage, struct power_text text,
                            size_t at, struct power_scan_state *state);

/* split_digits.c */
size_t power_scan_digits(struct power_text text, size_t at, unsigned width);
size_t power_scan_byte_digits(struct power_text text, size_t at);
size_t power_scan_ascii_3(struct power_text text, size_t at);
size_t power_scan_groups(struct power_text text, size_t at, bool decimal,
                         struct power_scan_state *state);
size_t power_scan_thousands(struct power_text text, size_t at, struct power_scan_state *state);

/* split_ranges.c */
bool power_class_is_han(uint32_t code);
size_t power_scan_ranges(enum power_split_kind kind, struct power_text text, size_t at);

/* End of the run of characters from `at` that have one of `any` and none of `none`. */
static inline size_t power_run_of(struct power_text text, size_t at, unsigned any, unsigned none) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || (c.class & none) || !(c.class & any)) return at;
        at += c.length;
    }
}

/* The same for characters that have none of `none`, whatever else they are. */
static inline size_t power_run_without(struct power_text text, size_t at, unsigned none) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || (c.class & none)) return at;
        at += c.length;
    }
}

#endif
