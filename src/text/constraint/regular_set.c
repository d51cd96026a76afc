/* SPDX-License-Identifier: MIT */
/* Job: sets of code points as sorted, disjoint ranges.
 * Input: ranges in any order. Output: the normal form, without surrogates, or its complement.
 * Threads: one an operation. Bounds: a million ranges a set. */
#include "text/constraint/regular_internal.h"

enum { SET_MAX = 1000000, SURROGATES_FIRST = 0xD800, SURROGATES_LAST = 0xDFFF };

bool power_regular_set_add(struct regular_work *w, struct regular_set *set, uint32_t first,
                           uint32_t last) {
    if (set->ranges.count >= SET_MAX)
        return power_regular_fault(w, POWER_LIMIT, "set of more than %d ranges", SET_MAX);
    if (!power_regular_room(w, &set->ranges, 1, sizeof(struct power_regular_edge))) return false;
    if (last > REGULAR_LAST_CODE) last = REGULAR_LAST_CODE;
    if (first <= last)
        REGULAR_RANGES(set)[set->ranges.count++] = (struct power_regular_edge){first, last, 0};
    return true;
}

bool power_regular_set_normalise(struct regular_work *w, struct regular_set *set) {
    struct regular_set cut = {0};
    for (size_t i = 0; i < set->ranges.count; i++) {
        struct power_regular_edge r = REGULAR_RANGES(set)[i];
        uint32_t below = r.last < SURROGATES_FIRST ? r.last : SURROGATES_FIRST - 1;
        uint32_t above = r.first > SURROGATES_LAST ? r.first : SURROGATES_LAST + 1;
        if (r.first <= below && !power_regular_set_add(w, &cut, r.first, below)) return false;
        if (above <= r.last && !power_regular_set_add(w, &cut, above, r.last)) return false;
    }
    struct power_regular_edge *ranges = REGULAR_RANGES(&cut);
    if (!power_regular_sort_edges(w, ranges, cut.ranges.count, REGULAR_BY_FIRST)) return false;
    size_t kept = 0;
    for (size_t i = 0; i < cut.ranges.count; i++) {
        if (kept > 0 && ranges[i].first <= ranges[kept - 1].last + 1) {
            if (ranges[i].last > ranges[kept - 1].last) ranges[kept - 1].last = ranges[i].last;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    cut.ranges.count = kept;
    *set = cut;
    return w->status == POWER_OK;
}

bool power_regular_set_negate(struct regular_work *w, struct regular_set *set) {
    struct regular_set rest = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < set->ranges.count; i++) {
        struct power_regular_edge r = REGULAR_RANGES(set)[i];
        if (r.first > at && !power_regular_set_add(w, &rest, at, r.first - 1)) return false;
        at = r.last + 1;
    }
    if (!power_regular_set_add(w, &rest, at, REGULAR_LAST_CODE)) return false;
    *set = rest;
    return power_regular_set_normalise(w, set);
}
