/* SPDX-License-Identifier: MIT */
/* Job: SentencePiece's precompiled map of characters.
 * Input: untrusted bytes. Output: replacements.
 * Threads: loading one, looking up any. Bounds: see charsmap.h.
 * Units of the trie: bits 0..7 label, bit 8 has a value, bits 10.. offset (bit 9: times 256); the
 * unit of a value has bit 31 set. Source: the published format of the darts-clone library. */
#include "text/charsmap.h"

#define MOST_KEYS 32 /* as many as sentencepiece looks at */

power_status power_charsmap_load(struct power_charsmap *map, struct power_span bytes,
                                 power_error *error) {
    struct power_reader r = {.span = bytes};
    uint32_t trie_bytes = power_reader_u32(&r);
    const unsigned char *units = power_reader_take(&r, trie_bytes);
    if (r.failed || trie_bytes < 4 || trie_bytes % 4)
        return power_fail(error, POWER_CORRUPT,
                          "precompiled charsmap: a trie of %u bytes does not fit in %zu",
                          trie_bytes, bytes.length);
    size_t left = power_reader_left(&r);
    const char *texts = (const char *)power_reader_take(&r, left);
    if (left == 0 || texts[left - 1] != 0)
        return power_fail(error, POWER_CORRUPT,
                          "precompiled charsmap: the replacements do not end with a NUL");
    *map = (struct power_charsmap){units, trie_bytes / 4, {texts, left}};
    return POWER_OK;
}

static uint32_t unit_at(const struct power_charsmap *map, uint32_t at) {
    return power_load_u32(map->units + (size_t)at * 4);
}

static uint32_t offset_of(uint32_t unit) {
    return (unit >> 10) << ((unit & 0x200u) >> 6);
}

size_t power_charsmap_find(const struct power_charsmap *map, struct power_text text, bool longest,
                           struct power_text *out) {
    size_t found = 0;
    uint32_t value = 0, at = 0, unit = unit_at(map, 0);
    unsigned keys = 0;
    at ^= offset_of(unit);
    for (size_t i = 0; i < text.length && keys < MOST_KEYS; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        at ^= byte;
        if (at >= map->n_units) break;
        unit = unit_at(map, at);
        if ((unit & 0x800000FFu) != byte) break;
        at ^= offset_of(unit);
        if (!(unit & 0x100u)) continue;
        if (at >= map->n_units) break;
        value = unit_at(map, at) & 0x7FFFFFFFu;
        found = i + 1;
        keys++;
        if (!longest) break;
    }
    if (found == 0 || value >= map->replacements.length) return 0;
    *out = power_text_of(map->replacements.bytes + value); /* a NUL ends the last one */
    return found;
}
