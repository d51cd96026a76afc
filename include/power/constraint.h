/* SPDX-License-Identifier: MIT */
/* A constraint: the language that an answer must be a text of. Compiled once for a model, then used
 * by any number of generations at once, each of which keeps its own place in it.
 * Only tokens from which the end can still be reached are ever chosen, and the model's end tokens
 * only where the language has a text that ends: an answer that finishes with POWER_FINISH_STOP by
 * an end token is a whole text of the language. What may cut it short are the caller's own limits:
 * max_tokens (POWER_FINISH_LENGTH), the context's end, stop strings, stop ids, the callback, a
 * cancellation.
 * Log probabilities are those of the model, before the constraint removes tokens.
 * Threads: open from any; an open constraint may be used by several threads at once. It holds on
 * to its model, and a running generation to its constraint: each may be closed before what uses
 * it. Its memory counts against the runtime's max_memory_bytes. */
#ifndef POWER_CONSTRAINT_H
#define POWER_CONSTRAINT_H

#include "power/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct power_constraint power_constraint;

typedef enum power_constraint_kind {
    POWER_CONSTRAINT_SCHEMA = 0, /* a JSON Schema, drafts 2020-12 and 7: one JSON value */
    POWER_CONSTRAINT_GRAMMAR,    /* GBNF as llama.cpp writes it; begins at the rule "root" */
    POWER_CONSTRAINT_REGEX,      /* a regular expression that the whole answer matches */
    POWER_CONSTRAINT_CHOICE      /* a JSON array of strings: the answer is one of them */
} power_constraint_kind;

typedef enum power_json_space {
    POWER_JSON_SPACE_BOUNDED = 0, /* what a writer of JSON may put, bounded everywhere */
    POWER_JSON_SPACE_COMPACT,     /* none */
    POWER_JSON_SPACE_FREE         /* any, at most 64 bytes between two tokens */
} power_json_space;

typedef struct power_constraint_options {
    size_t struct_size;
    power_constraint_kind kind; /* default POWER_CONSTRAINT_SCHEMA */
    /* Of schemas. */
    int any_order;          /* 1: properties in any order; default: as the schema declares them */
    power_json_space space; /* between the tokens of JSON; default BOUNDED */
    uint32_t any_depth;     /* nesting of values that a schema leaves free, at most 256; 0: 16 */
    /* Of all kinds. Bytes of white space that may come before the answer: models that think often
     * begin it on a new line. Default 0, at most 64. */
    uint32_t leading_space;
    /* Budgets; beyond them opening, or the generation, is POWER_LIMIT. */
    uint32_t max_nodes;       /* parts of the compiled constraint; 0: 2,000,000 */
    uint64_t max_bytes;       /* of the compiled constraint; 0: 256 MiB */
    uint64_t max_match_bytes; /* of each generation's own state; 0: 64 MiB */
    uint32_t max_open;        /* alternatives and nesting open at one place; 0: 10,000 */
} power_constraint_options;
POWER_API void power_constraint_options_init(power_constraint_options *options);

/* Compiles `text` (UTF-8) for the model's vocabulary; the text is not kept. On success
 * *out_constraint is owned by the caller. options may be NULL: a schema.
 * POWER_INVALID: an error in the text, with line and column (grammar), byte offset (regex) or JSON
 * pointer (schema) in the message, or a language without any text; POWER_UNSUPPORTED names the
 * keyword with its JSON pointer, or a vocabulary that cannot write every text; POWER_LIMIT,
 * POWER_NO_MEMORY. */
POWER_API POWER_MUST_USE power_status power_constraint_open(power_model *model, const char *text,
                                                            size_t text_bytes,
                                                            const power_constraint_options *options,
                                                            power_constraint **out_constraint,
                                                            power_error *error);
/* NULL is allowed. */
POWER_API void power_constraint_close(power_constraint *constraint);

/* Whether `text` as a whole is in the language: 1 or 0. POWER_INVALID, POWER_LIMIT (max_match_bytes
 * or max_open), POWER_NO_MEMORY. */
POWER_API POWER_MUST_USE power_status power_constraint_accepts(power_constraint *constraint,
                                                               const char *text, size_t text_bytes,
                                                               int *out_accepts,
                                                               power_error *error);

#ifdef __cplusplus
}
#endif
#endif
