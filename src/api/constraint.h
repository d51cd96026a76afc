/* SPDX-License-Identifier: MIT */
/* A constraint inside: a frozen grammar on a model's tokens, and matchers that rest between
 * generations.
 * Input: a front end's expressions. Output: the handle; a matcher for each generation.
 * Owner: the public handle and every running generation. Threads: any; `mutex` guards the matchers.
 * Bounds: POWER_IDLE_MATCHERS matchers rest, with what they learned. */
#ifndef POWER_API_CONSTRAINT_H
#define POWER_API_CONSTRAINT_H

#include "api/runtime.h"
#include "power/constraint.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

#define POWER_IDLE_MATCHERS 4u

struct power_constraint {
    struct power_model *model; /* held */
    _Atomic(uint32_t) holders;
    struct power_grammar *grammar;
    const struct power_token_trie *trie; /* the model's */
    struct power_matcher_limits limits;
    struct power_mutex *mutex;
    struct power_matcher *idle[POWER_IDLE_MATCHERS];
    uint32_t n_idle;
};

/* Makes the expression of the whole answer; what the options say of leading space is added to it.
 */
typedef power_status (*power_constraint_front)(void *context, struct power_grammar *g,
                                               power_expr *out, power_error *error);

/* `options` are checked here, before the front end is called. */
power_status power_constraint_create(struct power_model *model,
                                     const power_constraint_options *options,
                                     power_constraint_front front, void *context,
                                     power_constraint **out, power_error *error) POWER_MUST_USE;

/* What options that were checked say of schemas. */
struct power_schema_options power_constraint_schema_options(const power_constraint_options *o);

/* A matcher for one generation, and a hold on the constraint until it is given back. */
power_status power_constraint_take(power_constraint *constraint, struct power_matcher **out,
                                   power_error *error) POWER_MUST_USE;
/* `keeps`: it is whole and may serve again. */
void power_constraint_give(power_constraint *constraint, struct power_matcher *matcher, bool keeps);

#endif
