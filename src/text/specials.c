/* SPDX-License-Identifier: MIT */
/* Job: find control and user-defined tokens in a text, the longest at each place.
 * Input: their spellings; text. Output: the match.
 * Threads: building one, matching any.
 * Bounds: a match reads at most POWER_MAX_SPECIAL_BYTES bytes, each with a binary search. */
#include <stdlib.h>

#include "text/vocab_internal.h"

static int compare_text(struct power_text a, struct power_text b) {
    size_t n = a.length < b.length ? a.length : b.length;
    int order = n ? memcmp(a.bytes, b.bytes, n) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare(const void *a, const void *b) {
    const struct power_special *x = a, *y = b;
    int order = compare_text(x->spelling, y->spelling);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

power_status power_specials_build(struct power_vocab *vocab, struct power_special_set *set,
                                  const struct power_special *items, uint32_t count,
                                  power_error *error) {
    set->items = power_arena_alloc(&vocab->arena, count ? count : 1, sizeof *set->items);
    if (!set->items) return power_fail_memory(error, count * sizeof *set->items, "special tokens");
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].spelling.length == 0) continue;
        if (items[i].spelling.length > POWER_MAX_SPECIAL_BYTES)
            return power_fail(error, POWER_LIMIT,
                              "special token %u is %zu bytes long, at most %d are supported",
                              items[i].id, items[i].spelling.length, POWER_MAX_SPECIAL_BYTES);
        set->items[set->count++] = items[i];
    }
    qsort(set->items, set->count, sizeof *set->items, compare);
    uint32_t at = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        set->first[byte] = at;
        while (at < set->count && (unsigned char)set->items[at].spelling.bytes[0] == byte)
            at++;
    }
    set->first[256] = at;
    return POWER_OK;
}

/* In [low, high), whose items agree on the first `depth` bytes, the first item whose next byte is
 * at least `byte`; items that end at `depth` come before all. */
static uint32_t lower_bound(const struct power_special_set *set, uint32_t low, uint32_t high,
                            size_t depth, unsigned byte) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct power_text s = set->items[middle].spelling;
        if (s.length <= depth || (unsigned char)s.bytes[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct power_special *power_specials_match(const struct power_special_set *set,
                                                 struct power_text text, const unsigned char *plain,
                                                 size_t at, bool controls, bool users) {
    const struct power_special *best = NULL;
    unsigned byte = (unsigned char)text.bytes[at];
    uint32_t low = set->first[byte], high = set->first[byte + 1];
    for (size_t depth = 1; low < high; depth++) {
        if (plain && plain[at + depth - 1]) controls = false;
        for (uint32_t i = low; i < high && set->items[i].spelling.length == depth; i++) {
            const struct power_special *item = &set->items[i];
            if (item->control ? controls : users) {
                best = item;
                break;
            }
        }
        if (at + depth >= text.length) break;
        byte = (unsigned char)text.bytes[at + depth];
        low = lower_bound(set, low, high, depth, byte);
        high = lower_bound(set, low, high, depth, byte + 1);
    }
    return best;
}
