/* SPDX-License-Identifier: MIT */
/* One generation under a constraint: which ids may come next, and where the constraint begins.
 * Input: a matcher of the constraint, the ids chosen so far. Output: masks over the vocabulary.
 * Owner: the call; the scheduler's from post to done. Threads: one at a time. Bounds: two masks,
 * and the matcher's own budget. */
#ifndef POWER_ENGINE_CONSTRAIN_H
#define POWER_ENGINE_CONSTRAIN_H

#include "power/session.h"
#include "text/constraint/matcher.h"
#include "text/stream/stops.h"

struct power_constrained {
    const power_allocator *allocator;
    const struct power_vocab *vocab;
    struct power_matcher *matcher; /* borrowed, nobody else's meanwhile */
    struct power_match match;
    bool started;               /* `match` holds a state */
    bool begun;                 /* the constraint is in force */
    struct power_stops *after;  /* the text after which it begins; NULL once begun from the start */
    uint32_t place;             /* in `after` */
    uint32_t n_words, n_tokens; /* of the masks */
    uint64_t *free_mask;        /* [n_words] before it begins: all but what ends an answer */
    uint64_t *here;             /* [n_words] the same without the ids that would begin it badly */
    bool narrowed;              /* `here` is in force */
};

/* Of the options: constraint_after, constraint_prefix and the ids that end. `matcher` is borrowed.
 * POWER_INVALID for a prefix that no text of the language begins with. */
power_status power_constrained_init(struct power_constrained *c, const power_allocator *allocator,
                                    const struct power_vocab *vocab, struct power_matcher *matcher,
                                    const power_generate_options *options,
                                    power_error *error) POWER_MUST_USE;
/* Accepts a zeroed or half-built one. */
void power_constrained_finish(struct power_constrained *c);

/* Ids that its masks know; those from here on may not come. */
static inline uint32_t power_constrained_tokens(const struct power_constrained *c) {
    return power_vocab_info(c->vocab)->n_tokens;
}
/* What may come next; *out_only is the one id where there is only one, else UINT32_MAX. The mask
 * is borrowed until the next call. POWER_LIMIT or POWER_NO_MEMORY from the matcher. */
power_status power_constrained_mask(struct power_constrained *c, const uint64_t **out_mask,
                                    uint32_t *out_only, power_error *error) POWER_MUST_USE;
/* The id that was chosen from that mask. *out_again: it cannot stand, as the constraint would begin
 * inside it with bytes that it does not allow: choose again from a new mask, in which no such id
 * is. */
power_status power_constrained_accept(struct power_constrained *c, uint32_t id, bool *out_again,
                                      power_error *error) POWER_MUST_USE;

#endif
