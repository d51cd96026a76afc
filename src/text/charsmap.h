/* SPDX-License-Identifier: MIT */
/* SentencePiece's precompiled map of characters: a double-array trie and replacements.
 * Input: untrusted bytes. Output: what a text's beginning is replaced by.
 * Threads: loading one, looking up any.
 * Bounds: every index is checked; a lookup reads at most as many units as bytes of the text. */
#ifndef POWER_TEXT_CHARSMAP_H
#define POWER_TEXT_CHARSMAP_H

#include "base/memory.h"
#include "base/span.h"

struct power_charsmap {
    const unsigned char *units; /* 32 bits each, little-endian */
    uint32_t n_units;
    struct power_text replacements; /* each ends with a NUL */
};

/* Format: the trie's bytes (32 bits), the trie, the replacements. The bytes are borrowed. */
power_status power_charsmap_load(struct power_charsmap *map, struct power_span bytes,
                                 power_error *error) POWER_MUST_USE;
/* The longest (or the shortest) key that `text` begins with: its length, 0 when there is none. */
size_t power_charsmap_find(const struct power_charsmap *map, struct power_text text, bool longest,
                           struct power_text *out);

#endif
