/* SPDX-License-Identifier: MIT */
/* A regular expression as a tree.
 * Input: text in the syntax of ECMA-262. Output: nodes in the operation's work memory.
 * Threads: one an operation. Bounds: nodes and ranges by the work memory; nesting by nothing, the
 * stack is constant. */
#ifndef POWER_TEXT_REGEX_H
#define POWER_TEXT_REGEX_H

#include "text/constraint/regular_internal.h"

enum regex_kind {
    REGEX_EMPTY,
    REGEX_SET,
    REGEX_SEQUENCE,
    REGEX_CHOICE,
    REGEX_REPEAT,
    REGEX_CONDITION,
    REGEX_LOOK
};

#define REGEX_NO_NODE UINT32_MAX

struct regex_node {
    uint8_t kind;      /* enum regex_kind */
    uint8_t condition; /* enum regular_condition */
    bool negative;     /* of a lookahead */
    bool consumes;     /* may match more than the empty text */
    uint32_t child;    /* first of a list by `next`; REGEX_NO_NODE ends it */
    uint32_t next;
    uint32_t min, max;                       /* of a repeat; max UINT32_MAX: none */
    const struct power_regular_edge *ranges; /* of a set */
    uint32_t n_ranges;
    uint32_t number; /* of a lookahead: inner ones have smaller numbers */
};

/* Which classes of an escape were made already: they are many ranges, and shared. */
struct regex_classes {
    struct regular_list runs;   /* of general categories over all code points */
    struct regular_list shared; /* struct regex_class */
};

struct regex {
    struct regular_work *w;
    struct power_text text;
    size_t at;
    struct regular_list nodes; /* struct regex_node */
    struct regular_list frames;
    struct regex_classes classes;
    uint32_t root;
    uint32_t n_looks;
    struct nfa_look *looks; /* built before the rest */
    bool looks_at_words;
};
#define REGEX_NODES(r) ((struct regex_node *)(r)->nodes.items)

/* False after a fault, which names the byte. */
bool power_regex_parse(struct regex *r);
bool power_regex_fault(struct regex *r, power_status status, size_t at, const char *format, ...)
    POWER_PRINTF(4, 5);

/* At a backslash that begins a character or a class: moves behind it. A single character is given
 * in *out_code, otherwise that is REGULAR_NONE and the class is added to `set` or, without one
 * (NULL), put into the node's ranges. */
bool power_regex_escape(struct regex *r, bool in_class, struct regular_set *set,
                        uint32_t *out_code);
/* At an opening bracket: moves behind the closing one. */
bool power_regex_class(struct regex *r, struct regular_set *set);
/* At a character of the text: moves behind it. */
bool power_regex_code(struct regex *r, uint32_t *out_code);
/* Adds a Unicode property's characters; `name` is what stands between the braces. */
bool power_regex_property(struct regex *r, struct power_text name, bool negated, size_t at,
                          struct regular_set *set);

#endif
