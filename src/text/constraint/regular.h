/* SPDX-License-Identifier: MIT */
/* Regular languages over Unicode code points, as deterministic automata closed under the set
 * operations.
 * Input: expressions and operations. Output: immutable automata in the caller's arena.
 * Threads: one an arena. Bounds: states and edges are counted against `max_states`; an operation
 * that would pass it is POWER_LIMIT with the number; the stack is constant in the input. */
#ifndef POWER_TEXT_REGULAR_H
#define POWER_TEXT_REGULAR_H

#include "base/memory.h"
#include "base/span.h"

/* Edges of a state are sorted and disjoint; adjacent edges to one state are merged. Every state is
 * reachable and can reach acceptance (the empty language has no states). State 0 is the start. */
struct power_regular_edge {
    uint32_t first, last; /* code points, surrogates never */
    uint32_t to;
};
struct power_regular_state {
    uint32_t first_edge, n_edges;
    bool accepts;
};
struct power_regular {
    const struct power_regular_state *states;
    const struct power_regular_edge *edges;
    uint32_t n_states, n_edges;
};

struct power_regular_space {
    struct power_arena *arena; /* results; work space is taken from its allocator and returned */
    uint32_t max_states;       /* of one automaton; 0: 20,000 */
};

enum power_regex_dialect {
    POWER_REGEX_WHOLE, /* the text matches as a whole; ^ and $ are allowed and change nothing */
    POWER_REGEX_SEARCH /* ECMA-262 as JSON Schema's `pattern`: anywhere in the text unless anchored
                        */
};

/* POWER_INVALID with error->offset (byte) for a syntax error; POWER_UNSUPPORTED naming what is not
 * regular or not supported (backreference, lookaround, word boundary where it cannot be kept). */
power_status power_regular_parse(const struct power_regular_space *space, struct power_text regex,
                                 enum power_regex_dialect dialect, struct power_regular *out,
                                 power_error *error) POWER_MUST_USE;

power_status power_regular_literal(const struct power_regular_space *space, struct power_text text,
                                   struct power_regular *out, power_error *error) POWER_MUST_USE;
/* Every text of min..max code points (UINT32_MAX: no maximum). */
power_status power_regular_length(const struct power_regular_space *space, uint32_t min,
                                  uint32_t max, struct power_regular *out,
                                  power_error *error) POWER_MUST_USE;
power_status power_regular_concat(const struct power_regular_space *space,
                                  const struct power_regular *a, const struct power_regular *b,
                                  struct power_regular *out, power_error *error) POWER_MUST_USE;
power_status power_regular_union(const struct power_regular_space *space,
                                 const struct power_regular *parts, size_t n_parts,
                                 struct power_regular *out, power_error *error) POWER_MUST_USE;
power_status power_regular_repeat(const struct power_regular_space *space,
                                  const struct power_regular *a, uint32_t min, uint32_t max,
                                  struct power_regular *out, power_error *error) POWER_MUST_USE;
power_status power_regular_intersect(const struct power_regular_space *space,
                                     const struct power_regular *a, const struct power_regular *b,
                                     struct power_regular *out, power_error *error) POWER_MUST_USE;
/* Texts of a that are not in b; the complement of b is subtract(length 0..UINT32_MAX, b). */
power_status power_regular_subtract(const struct power_regular_space *space,
                                    const struct power_regular *a, const struct power_regular *b,
                                    struct power_regular *out, power_error *error) POWER_MUST_USE;

bool power_regular_is_empty(const struct power_regular *a);
bool power_regular_contains(const struct power_regular *a, struct power_text text);
/* Number of texts that lead from `state` to acceptance, saturating at UINT64_MAX (also when there
 * are infinitely many); `out_counts` has one entry a state. */
power_status power_regular_count(const struct power_regular_space *space,
                                 const struct power_regular *a, uint64_t *out_counts,
                                 power_error *error) POWER_MUST_USE;

/* Named formats of JSON Schema: date, time, date-time, uuid, email, ipv4, ipv6, uri, ... exactly as
 * the RFC that the specification names says, days of months and leap years included.
 * POWER_NOT_FOUND for a name that is not known. */
power_status power_regular_format(const struct power_regular_space *space, struct power_text name,
                                  struct power_regular *out, power_error *error) POWER_MUST_USE;

#endif
