/* SPDX-License-Identifier: MIT */
/* A grammar over bytes: expressions and rules, then frozen for matching.
 * Input: calls of a front end (GBNF, JSON Schema, regular expressions, choice lists, tool calls).
 * Output: an immutable grammar of which every rule can be finished (what cannot be is pruned).
 * Threads: building one; a frozen grammar any. Bounds: nodes, states and bytes are counted against
 * the limits; expressions are built and frozen without recursion on the stack. */
#ifndef POWER_TEXT_GRAMMAR_H
#define POWER_TEXT_GRAMMAR_H

#include "text/constraint/regular.h"

struct power_grammar; /* opaque */

/* An expression of one grammar; 0 is no expression: it is what every call gives after a failure,
 * and calls accept it, so a front end may check once at the end (power_grammar_freeze reports). */
typedef uint32_t power_expr;

struct power_grammar_limits {
    uint32_t max_nodes; /* expressions and automaton states; 0: 2,000,000 */
    size_t max_bytes;   /* 0: 256 MiB */
};

power_status power_grammar_create(const power_allocator *allocator,
                                  const struct power_grammar_limits *limits,
                                  struct power_grammar **out, power_error *error) POWER_MUST_USE;
void power_grammar_destroy(struct power_grammar *grammar);
/* Automata that must live as long as the grammar are made here. */
const struct power_regular_space *power_grammar_space(struct power_grammar *grammar);

power_expr
power_grammar_nothing(struct power_grammar *g);          /* no text at all: prunes what needs it */
power_expr power_grammar_empty(struct power_grammar *g); /* the empty text */
power_expr power_grammar_bytes(struct power_grammar *g, const uint64_t set[4]); /* one byte of it */
power_expr power_grammar_literal(struct power_grammar *g, struct power_text text);
enum power_encoding {
    POWER_AS_UTF8,
    /* Between the quotes of a JSON string: what JSON must escape is escaped, each way that JSON
     * allows (\n, \u000a, \u000A; \/ and \uXXXX for any other character too, surrogate pairs
     * included). */
    POWER_AS_JSON,
    /* The same with one spelling a text: only what must be escaped is, in its shortest form,
     * lower-case hexadecimal. For keys, so that equal keys are equal bytes. */
    POWER_AS_JSON_CANONICAL
};
power_expr power_grammar_regular(struct power_grammar *g, const struct power_regular *language,
                                 enum power_encoding encoding);
power_expr power_grammar_sequence(struct power_grammar *g, const power_expr *parts, size_t n);
power_expr power_grammar_choice(struct power_grammar *g, const power_expr *parts, size_t n);
/* max UINT32_MAX: no maximum. Counted repeats cost memory by their nesting, not by their count,
 * where the body is a single byte set or an automaton. */
power_expr power_grammar_repeat(struct power_grammar *g, power_expr part, uint32_t min,
                                uint32_t max);
/* A nonterminal to be defined later: a rule may stand in its own definition. `name` (may be empty)
 * is for messages and is copied. Every rule is defined once. */
power_expr power_grammar_rule(struct power_grammar *g, struct power_text name);
void power_grammar_define(struct power_grammar *g, power_expr rule, power_expr body);

/* Members of a JSON object between its braces, no key twice. */
struct power_named_member {
    struct power_text key; /* decoded */
    power_expr value;      /* with whatever may stand around it after the colon */
    bool required;
};
struct power_key_class {              /* any number of members whose key is in `keys` */
    const struct power_regular *keys; /* disjoint from the named keys and from other classes */
    power_expr value;
};
struct power_members {
    const struct power_named_member *named;
    size_t n_named;
    const struct power_key_class *classes;
    size_t n_classes;
    bool any_order;    /* else named members come in the order given, then the classes' */
    uint32_t min, max; /* members in all; max UINT32_MAX: no maximum */
    power_expr colon;  /* between key and value, whitespace included */
    power_expr comma;  /* between members, whitespace included */
};
/* A key is written with its quotes in the canonical encoding. A state that could not be finished
 * (all keys of a finite class used, a maximum that leaves no room for a required key) is never
 * entered. */
power_expr power_grammar_members(struct power_grammar *g, const struct power_members *members);

/* Checks and freezes. POWER_INVALID: a rule without a definition, left recursion (names the rule),
 * a root that no text satisfies; POWER_LIMIT with the number; POWER_NO_MEMORY. */
power_status power_grammar_freeze(struct power_grammar *g, power_expr root,
                                  power_error *error) POWER_MUST_USE;

#endif
