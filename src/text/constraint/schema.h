/* SPDX-License-Identifier: MIT */
/* What the parts of the JSON Schema front end share: the document, nodes and forms.
 * Input: one schema text. Output: expressions of one grammar. Threads: one a compilation.
 * Bounds: values, nodes, alternatives, automata and nesting are limited (the constants below); all
 * memory but the automata that the grammar keeps is one arena, gone with the compilation.
 *
 * A *node* is a set of JSON values by its meaning: a schema of the document, a value of it, the
 * complement of a node, or what several nodes have in common. Nodes are made once for each meaning,
 * so references that go round meet themselves again. A node's *form* says what it admits of each
 * JSON type: automata for strings and numbers, and for arrays and objects a list of alternatives
 * whose items and members are nodes again. Forms are made when they are needed. */
#ifndef POWER_TEXT_SCHEMA_H
#define POWER_TEXT_SCHEMA_H

#include "base/hash.h"
#include "text/constraint/front.h"
#include "text/json.h"

enum {
    SCHEMA_MAX_BYTES = 16 << 20,
    SCHEMA_ARENA_BYTES = 256 << 20,
    SCHEMA_MAX_NODES = 400000,
    SCHEMA_MAX_ALTERNATIVES = 4096, /* of arrays or objects, in one form */
    SCHEMA_MAX_CLASSES = 256,       /* of keys, in one object */
    SCHEMA_MAX_WORK = 40000000,     /* steps of merging */
    SCHEMA_MAX_DEPTH = 96,          /* of schemas that must be merged to know one form */
    SCHEMA_MAX_DIGITS = 400,        /* before and after the point of a bound */
    SCHEMA_SPAN = 64                /* positions or keys that a negation may spell out */
};
#define SCHEMA_NONE UINT32_MAX
#define SCHEMA_MANY UINT32_MAX /* no maximum */

enum schema_type {
    SCHEMA_NULL,
    SCHEMA_FALSE,
    SCHEMA_TRUE,
    SCHEMA_NUMBER,
    SCHEMA_STRING,
    SCHEMA_ARRAY,
    SCHEMA_OBJECT
};

struct schema_value {
    enum schema_type type;
    uint32_t parent, first, next; /* SCHEMA_NONE: none */
    uint32_t n;                   /* children */
    uint32_t resource;            /* 1 + number of the resource that begins here, or 0 */
    struct power_text key;        /* of a member */
    struct power_text text;       /* of a string or number */
};

struct schema_strings {
    const struct power_regular *language; /* NULL: every text */
    uint32_t min, max;                    /* code points */
};
/* Texts of numbers that satisfy and that do not; a spelling in neither is not admitted. */
struct schema_numbers {
    const struct power_regular *yes, *no;
};
struct schema_member {
    uint32_t key, node;
    bool required;
};
struct schema_class {
    const struct power_regular *keys; /* NULL: every key */
    uint32_t node;
};
/* Members' keys differ. Classes are disjoint, say nothing of the members' keys, and a key in none
 * is not allowed. `allowed`: what the classes leave after the members' keys (made at the end). */
struct schema_object {
    struct schema_member *members;
    struct schema_class *classes;
    uint32_t n_members, n_classes, min, max;
    const struct power_regular **allowed;
    uint64_t *counts;
};
/* Item i is of prefix[i] or, behind the prefix, of rest; some item is of `contains` (0: no such
 * wish). with[i], with[n_prefix]: an item that is that one (made at the end). */
struct schema_array {
    uint32_t *prefix, *with;
    uint32_t n_prefix, rest, contains, min, max;
};
struct schema_form {
    bool null, no, yes; /* null, false, true */
    struct schema_numbers numbers;
    struct schema_strings strings;
    struct schema_array *arrays;
    struct schema_object *objects;
    uint32_t n_arrays, n_objects;
};

enum { NODE_NONE, NODE_ANY, NODE_NEVER };
enum schema_kind { KIND_ANY, KIND_NEVER, KIND_SCHEMA, KIND_VALUE, KIND_NOT, KIND_ALL };
struct schema_node {
    enum schema_kind kind;
    uint32_t at;           /* SCHEMA, VALUE: the value; NOT: the node; ALL: how many parts */
    const uint32_t *parts; /* ALL: sorted node numbers */
    uint32_t blame;        /* NOT: the value of the keyword that asks for it */
    const struct schema_form *form;
    power_expr rule;
    bool busy, listed, inhabited, emitted;
};

/* Languages of patterns and formats that were made already; the first few are kept. */
enum { SCHEMA_KNOWN = 64 };
struct schema_known {
    bool format;
    struct power_text text;
    const struct power_regular *language;
};

struct schema_resource {
    uint32_t root;
    struct power_text uri;
};

struct schema {
    const power_allocator *allocator;
    struct power_arena arena;
    struct power_regular_space space;
    struct power_grammar *grammar;
    struct power_schema_options options;
    power_error *error;
    power_status status;

    struct schema_value *values;
    uint32_t n_values, max_values;
    struct power_index *keys; /* text to number in key_texts */
    struct power_text *key_texts;
    uint32_t *key_marks; /* scratch: 1 + position of a key, 0 outside of use */
    bool *dynamic_twice; /* for each key: $dynamicAnchor of several schemas */
    uint32_t n_keys, max_keys;
    bool draft7;

    struct schema_resource *resources;
    uint32_t n_resources, max_resources;
    struct power_index *targets; /* "uri" or "uri#anchor" to a value */
    struct power_index *dynamic; /* names of $dynamicAnchor to their keys */

    struct schema_node *nodes;
    uint32_t n_nodes, max_nodes;
    uint32_t *slots; /* hash table of nodes */
    uint32_t n_slots;
    uint32_t *order; /* nodes that the result needs, as found */
    uint32_t n_order, max_order;
    uint32_t depth;
    uint32_t probing; /* looking ahead: what cannot be known is no failure */
    uint64_t work;
    uint32_t blame; /* the keyword being worked on */

    const struct power_regular *no_text, *all_texts, *all_numbers, *integers;
    struct schema_known known[SCHEMA_KNOWN];
    uint32_t n_known;
    struct schema_numbers whole;
    const struct power_regular *decided; /* spellings that conditions on numbers decide */
    const struct schema_form *any, *never;
};

/* Failures: each writes the error once and gives false. */
bool power_schema_fail(struct schema *s, power_status status, uint32_t at, const char *fault);
bool power_schema_memory(struct schema *s);
/* Turns a status of another part into a failure at `at`. True when it is POWER_OK. */
bool power_schema_check(struct schema *s, power_status status, uint32_t at, const power_error *why);
void *power_schema_alloc(struct schema *s, size_t count, size_t size);
/* Doubles a list when it is full. */
bool power_schema_grow(struct schema *s, void **items, uint32_t *max, uint32_t n, size_t size);

/* schema_document.c */
bool power_schema_read(struct schema *s, struct power_text json);
uint32_t power_schema_get(const struct schema *s, uint32_t object, const char *key);
uint32_t power_schema_get_text(const struct schema *s, uint32_t object, struct power_text key);
bool power_schema_key(struct schema *s, struct power_text text, uint32_t *out);

/* schema_refs.c, schema_uri.c */
bool power_schema_collect(struct schema *s);
bool power_schema_resolve(struct schema *s, uint32_t ref, uint32_t *out_target);
bool power_schema_resolve_dynamic(struct schema *s, uint32_t ref, uint32_t *out_target);
/* RFC 3986, 5.2: `reference` seen from `base`, in the arena; without memory an empty span. */
struct power_text power_uri_join(struct power_arena *arena, struct power_text base,
                                 struct power_text reference);

/* schema_words.c: the keywords. */
enum schema_word_kind {
    WORD_UNKNOWN,
    WORD_NOTE,
    WORD_PLAIN,
    WORD_SCHEMA,
    WORD_LIST,
    WORD_MAP,
    WORD_ITEMS,
    WORD_NEEDS,
    WORD_REFUSED
};
enum schema_word_kind power_schema_word(struct power_text key, bool draft7);
/* True when nothing in the schema restricts anything. */
bool power_schema_is_free(const struct schema *s, uint32_t at);
bool power_schema_check_words(struct schema *s, uint32_t at);

/* schema_number.c, schema_decimal.c */
struct schema_decimal {
    bool negative;
    const char *digits; /* no zero at either end; the value is 0.DIGITS * 10^point */
    uint32_t n;         /* 0: zero */
    int32_t point;
};
enum { RELATION_LESS = 1, RELATION_EQUAL = 2, RELATION_MORE = 4 };
bool power_schema_decimal(struct schema *s, uint32_t at, struct schema_decimal *out);
/* A count: what is not a whole number of at least 0 fails; beyond 32 bits SCHEMA_MANY. */
bool power_schema_count(struct schema *s, uint32_t at, uint32_t *out);
/* Numbers in one of these relations to the value at `at`. */
const struct power_regular *power_schema_compare(struct schema *s, uint32_t at, unsigned relations);
const struct power_regular *power_schema_compare_to(struct schema *s, uint32_t at,
                                                    const struct schema_decimal *value,
                                                    unsigned relations);
/* Numbers in one of the parts, each of which holds the spellings of one number with at most
 * `digits` digits behind a point. */
bool power_schema_equal_numbers(struct schema *s, const struct power_regular *parts, uint32_t n,
                                uint32_t digits, struct schema_numbers *out);
/* With what is decided and not in `yes`. */
bool power_schema_numbers(struct schema *s, const struct power_regular *yes,
                          struct schema_numbers *out);
bool power_schema_multiple(struct schema *s, uint32_t at, struct schema_numbers *out);
bool power_schema_number_sets(struct schema *s);

/* A deterministic automaton over 0-9 + - . E e given by its steps. */
#define MACHINE_DEAD UINT64_MAX
struct schema_machine {
    uint64_t (*next)(const void *context, uint64_t state, char c);
    bool (*accepts)(const void *context, uint64_t state);
    const void *context;
};
bool power_schema_machine(struct schema *s, uint32_t at, const struct schema_machine *machine,
                          const struct power_regular **out);

/* schema_language.c: NULL is a failure. */
const struct power_regular *power_schema_and(struct schema *s, const struct power_regular *a,
                                             const struct power_regular *b);
const struct power_regular *power_schema_or(struct schema *s, const struct power_regular *a,
                                            const struct power_regular *b);
const struct power_regular *power_schema_minus(struct schema *s, const struct power_regular *a,
                                               const struct power_regular *b);
/* The union of n automata. */
const struct power_regular *power_schema_union(struct schema *s, const struct power_regular *parts,
                                               uint32_t n);
const struct power_regular *power_schema_literals(struct schema *s, const struct power_text *texts,
                                                  uint32_t n);
/* The strings as one automaton (NULL is a failure). */
const struct power_regular *power_schema_strings(struct schema *s, struct schema_strings strings);
bool power_schema_strings_empty(struct schema *s, struct schema_strings strings);
bool power_schema_has_key(const struct schema *s, const struct power_regular *keys, uint32_t key);
/* Texts in a language, UINT64_MAX for very many. */
bool power_schema_size(struct schema *s, const struct power_regular *language, uint64_t *out);
/* The text with number `rank` of a finite language, in order of code points. */
bool power_schema_text_at(struct schema *s, const struct power_regular *language, uint64_t rank,
                          struct power_text *out);

/* schema_node.c */
uint32_t power_schema_node(struct schema *s, uint32_t value); /* 0 on failure, as all of these */
uint32_t power_schema_value_node(struct schema *s, uint32_t value);
uint32_t power_schema_both(struct schema *s, uint32_t a, uint32_t b);
uint32_t power_schema_not(struct schema *s, uint32_t node);
const struct schema_form *power_schema_form(struct schema *s, uint32_t node);
/* The value in the document that stands for a node in messages. */
uint32_t power_schema_place(const struct schema *s, uint32_t node);

/* schema_form.c: sets of values. NULL is a failure; inputs stay as they are. */
struct schema_form *power_schema_new(struct schema *s, const struct schema_form *copy);
const struct schema_form *power_schema_conjoin(struct schema *s, const struct schema_form *a,
                                               const struct schema_form *b);
const struct schema_form *power_schema_unite(struct schema *s, const struct schema_form *a,
                                             const struct schema_form *b);
/* Adds b to a form that only the caller holds and that began with power_schema_empty. */
bool power_schema_absorb(struct schema *s, struct schema_form *out, const struct schema_form *b);
struct schema_form *power_schema_empty(struct schema *s);
/* Fails, blaming s->blame, where the difference cannot be expressed. */
const struct schema_form *power_schema_subtract(struct schema *s, const struct schema_form *a,
                                                const struct schema_form *b);
/* True only when no value satisfies it; looks `depth` levels into arrays and objects. */
bool power_schema_hopeless(struct schema *s, const struct schema_form *form, uint32_t depth);
bool power_schema_work(struct schema *s, uint64_t steps);

/* schema_array.c, schema_object.c */
bool power_schema_arrays_meet(struct schema *s, const struct schema_array *a,
                              const struct schema_array *b, struct schema_array *out);
bool power_schema_objects_meet(struct schema *s, const struct schema_object *a,
                               const struct schema_object *b, struct schema_object *out);
bool power_schema_add_array(struct schema *s, struct schema_form *form,
                            const struct schema_array *array);
bool power_schema_add_object(struct schema *s, struct schema_form *form,
                             const struct schema_object *object);
bool power_schema_array_without(struct schema *s, struct schema_form *out,
                                const struct schema_array *a, const struct schema_array *b);
bool power_schema_object_without(struct schema *s, struct schema_form *out,
                                 const struct schema_object *a, const struct schema_object *b);
bool power_schema_array_hopeless(struct schema *s, const struct schema_array *a, uint32_t depth);
bool power_schema_object_hopeless(struct schema *s, const struct schema_object *o, uint32_t depth);
/* power_schema_hopeless of a node; false where that is not known yet. */
bool power_schema_node_hopeless(struct schema *s, uint32_t node, uint32_t depth);
uint32_t power_schema_member_node(struct schema *s, const struct schema_object *o, uint32_t key);
uint32_t power_schema_item_node(const struct schema_array *a, uint32_t i);
/* The object with `key` of this node; NODE_NEVER forbids it. */
bool power_schema_set_member(struct schema *s, struct schema_object *o, uint32_t key, uint32_t node,
                             bool required);

/* schema_keywords.c and its parts: the form of a schema of the document. */
const struct schema_form *power_schema_expand(struct schema *s, uint32_t at);
const struct schema_form *power_schema_of_value(struct schema *s, uint32_t value);
/* The node of additionalProperties (or items), or of the unevaluated word where it means the same;
 * 0 on failure. */
uint32_t power_schema_rest_word(struct schema *s, uint32_t at, const char *word,
                                const char *unevaluated);
const struct power_regular *power_schema_pattern(struct schema *s, uint32_t at,
                                                 struct power_text text);
bool power_schema_object_words(struct schema *s, uint32_t at, const struct schema_form **form);
bool power_schema_array_words(struct schema *s, uint32_t at, const struct schema_form **form);
bool power_schema_scalar_words(struct schema *s, uint32_t at, struct schema_form *form);
bool power_schema_combine_words(struct schema *s, uint32_t at, const struct schema_form **form);

/* schema_emit.c */
bool power_schema_emit(struct schema *s, uint32_t root, power_expr *out);
/* schema_live.c: which nodes some value satisfies. */
bool power_schema_live(struct schema *s, uint32_t root);
bool power_schema_array_lives(const struct schema *s, const struct schema_array *a);
bool power_schema_object_lives(const struct schema *s, const struct schema_object *o);

#endif
