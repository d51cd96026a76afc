/* SPDX-License-Identifier: MIT */
/* Public functions on constraints: compiled once, shared by generations.
 * Input: a text and its kind. Output: a handle. Threads: any. Bounds: the options' budgets, and the
 * runtime's memory. */
#include "api/constraint.h"

#include <string.h>

#define MOST_LEADING_SPACE 64u

void power_constraint_options_init(power_constraint_options *options) {
    if (!options) return;
    *options = (power_constraint_options){.struct_size = sizeof *options};
}

/* ---- making ---- */

static power_status check_options(const power_constraint_options *o, power_error *error) {
    if ((unsigned)o->kind > POWER_CONSTRAINT_CHOICE) {
        return power_fail(error, POWER_INVALID,
                          "constraint options: \"kind\" is %d, known are 0 to %d", (int)o->kind,
                          (int)POWER_CONSTRAINT_CHOICE);
    }
    if ((unsigned)o->space > POWER_JSON_SPACE_FREE) {
        return power_fail(error, POWER_INVALID,
                          "constraint options: \"space\" is %d, known are 0 to %d", (int)o->space,
                          (int)POWER_JSON_SPACE_FREE);
    }
    if (o->leading_space > MOST_LEADING_SPACE) {
        return power_fail(error, POWER_INVALID,
                          "constraint options: \"leading_space\" is %u, at most %u is allowed",
                          o->leading_space, MOST_LEADING_SPACE);
    }
    return POWER_OK;
}

static power_expr with_space(struct power_grammar *g, power_expr answer, uint32_t most) {
    const uint64_t space[4] = {1ull << '\t' | 1ull << '\n' | 1ull << '\r' | 1ull << ' ', 0, 0, 0};
    if (most == 0) return answer;
    const power_expr parts[] = {power_grammar_repeat(g, power_grammar_bytes(g, space), 0, most),
                                answer};
    return power_grammar_sequence(g, parts, 2);
}

static power_status compile(struct power_constraint *c, const power_constraint_options *options,
                            power_constraint_front front, void *context, power_error *error) {
    const struct power_grammar_limits limits = {.max_nodes = options->max_nodes,
                                                .max_bytes = options->max_bytes};
    power_expr answer = 0;
    power_status status =
        power_grammar_create(&c->model->counted.allocator, &limits, &c->grammar, error);
    if (status == POWER_OK) status = front(context, c->grammar, &answer, error);
    if (status != POWER_OK) return status;
    answer = with_space(c->grammar, answer, options->leading_space);
    return power_grammar_freeze(c->grammar, answer, error);
}

power_status power_constraint_create(struct power_model *model,
                                     const power_constraint_options *options,
                                     power_constraint_front front, void *context,
                                     power_constraint **out, power_error *error) {
    power_status status = check_options(options, error);
    if (status != POWER_OK) return status;
    const power_allocator *allocator = model->host.allocator;
    struct power_constraint *c = power_alloc(allocator, 1, sizeof *c);
    if (!c) return power_fail_memory(error, sizeof *c, "a constraint");
    c->model = model;
    c->limits = (struct power_matcher_limits){.max_bytes = options->max_match_bytes,
                                              .max_open = options->max_open};
    atomic_store(&c->holders, 1);
    power_model_hold(model);
    status = power_mutex_create(&c->mutex, allocator, error);
    if (status == POWER_OK) status = power_model_trie(model, &c->trie, error);
    if (status == POWER_OK) status = compile(c, options, front, context, error);
    if (status != POWER_OK) {
        power_constraint_close(c);
        return status;
    }
    *out = c;
    return POWER_OK;
}

void power_constraint_close(power_constraint *constraint) {
    if (!constraint || atomic_fetch_sub(&constraint->holders, 1) != 1) return;
    struct power_model *model = constraint->model;
    for (uint32_t i = 0; i < constraint->n_idle; i++)
        power_matcher_destroy(constraint->idle[i]);
    power_grammar_destroy(constraint->grammar);
    power_mutex_destroy(constraint->mutex);
    power_release(model->host.allocator, constraint, 1, sizeof *constraint);
    power_model_destroy(model);
}

/* ---- by kind ---- */

struct request {
    struct power_text text;
    const power_constraint_options *options;
};

struct power_schema_options power_constraint_schema_options(const power_constraint_options *o) {
    static const enum power_whitespace spaces[] = {POWER_WHITESPACE_BOUNDED,
                                                   POWER_WHITESPACE_COMPACT, POWER_WHITESPACE_FREE};
    return (struct power_schema_options){
        .any_order = o->any_order != 0, .whitespace = spaces[o->space], .any_depth = o->any_depth};
}

static power_status compile_text(void *context, struct power_grammar *g, power_expr *out,
                                 power_error *error) {
    const struct request *r = context;
    switch (r->options->kind) {
    case POWER_CONSTRAINT_GRAMMAR:
        return power_gbnf_compile(g, r->text, out, error);
    case POWER_CONSTRAINT_REGEX:
        return power_regex_compile(g, r->text, out, error);
    case POWER_CONSTRAINT_CHOICE:
        return power_choice_compile(g, r->text, out, error);
    case POWER_CONSTRAINT_SCHEMA:
        break;
    }
    const struct power_schema_options schema = power_constraint_schema_options(r->options);
    return power_schema_compile(g, r->text, &schema, out, error);
}

power_status power_constraint_open(power_model *model, const char *text, size_t text_bytes,
                                   const power_constraint_options *options,
                                   power_constraint **out_constraint, power_error *error) {
    power_constraint_options copy;
    power_constraint_options_init(&copy);
    if (!model || (!text && text_bytes) || !out_constraint) {
        return power_fail(error, POWER_INVALID, "model, text or out_constraint is NULL");
    }
    power_status status = POWER_OK;
    if (options) {
        status = power_options_copy(&copy, sizeof copy, options, options->struct_size,
                                    "constraint options", error);
    }
    struct request request = {{text ? text : "", text_bytes}, &copy};
    if (status != POWER_OK) return status;
    return power_constraint_create(model, &copy, compile_text, &request, out_constraint, error);
}

/* ---- use ---- */

power_status power_constraint_take(power_constraint *constraint, struct power_matcher **out,
                                   power_error *error) {
    struct power_matcher *matcher = NULL;
    power_mutex_lock(constraint->mutex);
    if (constraint->n_idle) matcher = constraint->idle[--constraint->n_idle];
    power_mutex_unlock(constraint->mutex);
    power_status status = POWER_OK;
    if (!matcher) {
        status = power_matcher_create(&constraint->model->counted.allocator, constraint->grammar,
                                      constraint->trie, &constraint->limits, &matcher, error);
    }
    if (status != POWER_OK) return status;
    atomic_fetch_add(&constraint->holders, 1);
    *out = matcher;
    return POWER_OK;
}

void power_constraint_give(power_constraint *constraint, struct power_matcher *matcher,
                           bool keeps) {
    power_mutex_lock(constraint->mutex);
    if (keeps && constraint->n_idle < POWER_IDLE_MATCHERS) {
        constraint->idle[constraint->n_idle++] = matcher;
        matcher = NULL;
    }
    power_mutex_unlock(constraint->mutex);
    power_matcher_destroy(matcher);
    power_constraint_close(constraint);
}

power_status power_constraint_accepts(power_constraint *constraint, const char *text,
                                      size_t text_bytes, int *out_accepts, power_error *error) {
    if (!constraint || (!text && text_bytes) || !out_accepts) {
        return power_fail(error, POWER_INVALID, "constraint, text or out_accepts is NULL");
    }
    struct power_matcher *matcher = NULL;
    bool accepts = false;
    power_status status = power_constraint_take(constraint, &matcher, error);
    if (status != POWER_OK) return status;
    status = power_matcher_accepts(matcher, (struct power_text){text ? text : "", text_bytes},
                                   &accepts, error);
    power_constraint_give(constraint, matcher, status == POWER_OK);
    if (status == POWER_OK) *out_accepts = accepts;
    return status;
}
