/* SPDX-License-Identifier: MIT */
/* Front ends: texts that define a constraint, compiled into expressions of one grammar.
 * Input: untrusted text. Output: an expression of the grammar given.
 * Threads: one a grammar. Bounds: the grammar's limits; the stack is constant in the input.
 * Errors carry line and column (GBNF), the byte offset (regex) or the JSON pointer (schema, tools).
 */
#ifndef POWER_TEXT_FRONT_H
#define POWER_TEXT_FRONT_H

#include "text/constraint/grammar.h"

/* A grammar in llama.cpp's dialect of GBNF; the rule `root` is the result. */
power_status power_gbnf_compile(struct power_grammar *g, struct power_text text, power_expr *out,
                                power_error *error) POWER_MUST_USE;
/* The whole answer matches the expression. */
power_status power_regex_compile(struct power_grammar *g, struct power_text regex, power_expr *out,
                                 power_error *error) POWER_MUST_USE;
/* A JSON array of strings: the answer is one of them. */
power_status power_choice_compile(struct power_grammar *g, struct power_text json, power_expr *out,
                                  power_error *error) POWER_MUST_USE;

enum power_whitespace {
    POWER_WHITESPACE_BOUNDED, /* default: what schema.c's comment states, bounded everywhere */
    POWER_WHITESPACE_COMPACT, /* none at all */
    POWER_WHITESPACE_FREE     /* any JSON whitespace between tokens, at most 64 bytes each */
};
struct power_schema_options {
    bool any_order; /* properties in any order; default: as declared */
    enum power_whitespace whitespace;
    uint32_t any_depth; /* nesting of a value that the schema leaves free; 0: 16 */
};
/* POWER_UNSUPPORTED names the keyword and its JSON pointer; POWER_INVALID likewise for a schema
 * that is broken or that nothing satisfies. */
power_status power_schema_compile(struct power_grammar *g, struct power_text schema_json,
                                  const struct power_schema_options *options, power_expr *out,
                                  power_error *error) POWER_MUST_USE;

#endif
