/* SPDX-License-Identifier: MIT */
/* The inside of a grammar: expressions while it is built, the program that it is frozen into.
 * Input: calls of grammar.h. Output: nodes, callables and tables that advance.c reads.
 * Threads: building one; a frozen program any. Bounds: everything lies in the grammar's arena,
 * whose maximum is the limit; counts are checked against max_nodes. */
#ifndef POWER_TEXT_PROGRAM_H
#define POWER_TEXT_PROGRAM_H

#include "text/constraint/grammar.h"

/* ---- expressions ---- */

enum power_expr_kind {
    POWER_EXPR_NOTHING,
    POWER_EXPR_EMPTY,
    POWER_EXPR_BYTES,
    POWER_EXPR_LITERAL,
    POWER_EXPR_REGULAR,
    POWER_EXPR_SEQUENCE,
    POWER_EXPR_CHOICE,
    POWER_EXPR_REPEAT,
    POWER_EXPR_RULE,
    POWER_EXPR_MEMBERS
};

#define POWER_NO_INDEX UINT32_MAX

struct power_expr_node {
    unsigned char kind;
    bool productive, nullable;
    bool called;    /* a callable of its own: a rule, or something used more than once */
    uint32_t first; /* lists (children), bytes (literal, rule name), or the index of a table */
    uint32_t count; /* of what lies at `first` */
    uint32_t min, max;
    uint32_t body;     /* rule, repeat; 0: not defined */
    uint32_t uses;     /* references from other expressions */
    uint32_t order;    /* what may begin with it comes before it */
    uint32_t callable; /* POWER_NO_INDEX: none yet */
};

/* Members as they were given: keys spelled as JSON with both quotes; the regular of class i is
 * first_regular + i. */
struct power_stored_members {
    struct power_members given;
    uint32_t first_regular;
};

struct lowering;

/* ---- the program ---- */

enum power_op {
    POWER_OP_FINAL, /* the body ends; node 0 is the only one */
    POWER_OP_JUMP,  /* to b */
    POWER_OP_BYTE,  /* one byte of set a, then b */
    POWER_OP_SPLIT, /* edges a .. a + b */
    POWER_OP_CALL   /* callable a, then b */
};
struct power_node {
    uint32_t op, a, b;
};

enum power_callable_kind {
    POWER_CALL_BODY,   /* ref: the node where it starts */
    POWER_CALL_CURSOR, /* ref: regular */
    POWER_CALL_QUOTED, /* ref: regular; the quote behind it belongs to it */
    POWER_CALL_COUNTED,
    POWER_CALL_OBJECT
};
/* `order` is unique: a callable that may be entered at the start of another (no byte between) has
 * the larger one. There is such an order because left recursion is refused. */
struct power_callable {
    uint32_t kind, ref, order;
    bool nullable;
};

#define POWER_RUN_MAX 64 /* code points that are looked ahead in safe texts; a token's worth */

/* Safe texts: code points that every encoding spells as themselves (U+0020 and above without the
 * quote and the backslash). run_min: any safe text of so many code points can be read from the
 * state; run_max: no longer one can. POWER_RUN_MAX stands for that and more. */
#define POWER_NOT_UNIFORM UINT32_MAX
#define POWER_NO_MORE (UINT32_MAX - 1) /* no code point can follow */

struct power_program_regular {
    struct power_regular language;
    enum power_encoding encoding;
    unsigned char *run_min, *run_max; /* a state */
    /* A state whose code points all lead to one state: that state (or one of the values above), and
     * the first state with just the same code points. */
    uint32_t *uniform, *label;
    bool *every;      /* a state: its code points are all there are */
    uint64_t *counts; /* texts to acceptance, for classes of keys; else NULL */
    uint32_t quoted;  /* its callable of that kind + 1 */
};

struct power_counted {
    uint32_t min, max;
    uint32_t set;  /* of a one-byte body, or POWER_NO_INDEX */
    uint32_t body; /* callable */
};

/* A named member; `key` includes both quotes, so no key begins another. */
struct power_object_key {
    struct power_text key;
    uint32_t order; /* as declared */
    uint32_t value; /* callable */
    bool required;
};
struct power_object_class {
    uint32_t regular; /* encoding POWER_AS_JSON_CANONICAL, counts filled */
    uint32_t value;
};
struct power_object {
    const struct power_object_key *keys; /* by the bytes of the key */
    const uint32_t *sorted_of;           /* declared position -> index in keys */
    const uint32_t *required_from;       /* n_keys + 1: required keys declared at or after */
    uint32_t n_keys, n_classes;
    const struct power_object_class *classes;
    bool any_order;
    uint32_t min, max;
    uint32_t colon, comma; /* callables */
};

struct power_grammar {
    const power_allocator *allocator;
    struct power_arena arena;
    struct power_regular_space space;
    uint32_t max_nodes;
    power_status status; /* the first failure */
    power_error error;
    bool frozen;

    /* expressions; 0 is none */
    struct power_expr_node *exprs;
    uint32_t n_exprs, exprs_room;
    uint32_t *lists;
    uint32_t n_lists, lists_room;
    char *bytes;
    uint32_t n_bytes, bytes_room;
    uint64_t (*sets)[4];
    uint32_t n_sets, sets_room;
    struct power_program_regular *regulars;
    uint32_t n_regulars, regulars_room;
    struct power_stored_members *members;
    uint32_t n_members, members_room;

    /* program */
    struct power_node *nodes;
    uint32_t n_nodes, nodes_room;
    uint32_t *edges;
    uint32_t n_edges, edges_room;
    struct power_callable *callables;
    uint32_t n_callables, callables_room;
    struct power_counted *counted;
    uint32_t n_counted, counted_room;
    struct power_object *objects;
    uint32_t n_objects, objects_room;
    uint32_t byte_sets[256];   /* the set of that one byte + 1 */
    uint32_t root;             /* callable */
    struct lowering *lowering; /* while it is under way */
    uint64_t bytes_used[4];    /* bytes that the program may ask for */
};

/* Memory of the arena, zeroed; NULL after noting whether its limit was met or memory is out. */
void *power_grammar_alloc(struct power_grammar *g, size_t count, size_t size);
/* Room for one more item of `size` bytes: the items, grown where need be. After a failure, which is
 * noted, the items as they were. */
void *power_grammar_room(struct power_grammar *g, void *items, uint32_t *room, uint32_t count,
                         size_t size);
#define POWER_GRAMMAR_ROOM(g, name)                                                                \
    ((g)->name =                                                                                   \
         power_grammar_room((g), (g)->name, &(g)->name##_room, (g)->n_##name, sizeof *(g)->name),  \
     (g)->status == POWER_OK)
/* Notes the first failure. Always false. */
bool power_grammar_fail(struct power_grammar *g, power_status status, const char *format, ...)
    POWER_PRINTF(3, 4);
bool power_grammar_no_memory(struct power_grammar *g);
/* Index of the set, shared with an equal one among the last few; POWER_NO_INDEX on failure. */
uint32_t power_grammar_set(struct power_grammar *g, const uint64_t set[4]);

/* analyse.c: productive, nullable, order, uses. */
bool power_grammar_analyse(struct power_grammar *g, uint32_t root);
/* lower.c: nodes and callables from the expressions that the root reaches. */
bool power_grammar_lower(struct power_grammar *g, uint32_t root);
/* lower_object.c */
bool power_grammar_lower_object(struct power_grammar *g, const struct power_stored_members *members,
                                struct power_object *out);
/* Whether there is such an object, as far as its values are known to have texts. */
bool power_members_productive(const struct power_grammar *g,
                              const struct power_stored_members *members);
/* Canonical JSON spelling of a decoded key with both quotes, in the arena. */
bool power_grammar_spell_key(struct power_grammar *g, struct power_text key,
                             struct power_text *out);
/* The callable of an expression, made when there is none. POWER_NO_INDEX on failure. */
uint32_t power_grammar_callable(struct power_grammar *g, uint32_t expr);
/* runs.c: run_min, run_max, uniform, label, every. */
bool power_program_runs(struct power_grammar *g, struct power_program_regular *regular);

#endif
