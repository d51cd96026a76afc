/* SPDX-License-Identifier: MIT */
/* What the files of the template engine share: values, syntax tree, the state of a rendering.
 * Input: compiled templates and values. Output: see each function.
 * Threads: a tree is immutable once compiled; a rendering belongs to one thread.
 * Bounds: steps, output bytes and nesting are counted; values live in the rendering's arena.
 * Semantics are those of Jinja2 3.1 in the configuration of the transformers library. */
#ifndef POWER_TEXT_JINJA_H
#define POWER_TEXT_JINJA_H

#include "text/template.h"

#define JINJA_MAX_BITS 16384           /* of an integer */
#define JINJA_MAX_DIGITS 4300          /* of one as text, as in Python */
#define POWER_JINJA_MAX_EXPRESSION 300 /* nesting of the syntax tree */

/* ---- values ---- */

enum jinja_type {
    JINJA_MISSING, /* an argument that was not given; never seen by a template */
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_BIG, /* an integer of more than 64 bits */
    JINJA_FLOAT,
    JINJA_TEXT,
    JINJA_LIST,
    JINJA_DICT,
    JINJA_OBJECT
};

enum jinja_list_kind {
    JINJA_PLAIN_LIST,
    JINJA_TUPLE,
    JINJA_RANGE,
    JINJA_KEYS,
    JINJA_VALUES,
    JINJA_ITEMS,
    JINJA_ITERATOR /* can be walked once; has no length */
};

struct jinja_list;
struct jinja_dict;
struct jinja_object;
struct jinja_hole;
struct jinja_big;

struct jinja_value {
    unsigned char type; /* enum jinja_type */
    bool markup;        /* TEXT: made by `safe` or `escape` */
    size_t length;      /* TEXT: bytes */
    union {
        bool b;
        int64_t i;
        double f;
        const char *text;
        struct jinja_list *list;
        struct jinja_dict *dict;
        struct jinja_object *object;
        const struct jinja_hole *hole;
        const struct jinja_big *big;
    } as;
};

struct jinja_list {
    enum jinja_list_kind kind;
    struct jinja_value *items;
    size_t count, capacity;
    size_t taken;          /* ITERATOR: items already walked */
    const char *type_name; /* ITERATOR: as Python calls it */
    const char *fault;     /* ITERATOR: walking it raises this */
    int64_t bounds[3];     /* RANGE: start, stop, step */
};

struct jinja_entry {
    struct jinja_value key, value;
    uint64_t hash;
};

struct jinja_dict {
    struct jinja_entry *entries; /* in order of insertion */
    size_t count, capacity;
    uint32_t *slots; /* NULL while small; else entry number + 1, a power of two of slots */
    size_t n_slots;
    struct jinja_render *render;
};

/* What an undefined value remembers. */
struct jinja_hole {
    struct power_text name;
    const char *owner; /* type of the object that lacks it, NULL for a variable */
    bool unsafe;       /* the sandbox refuses it: a security error when used */
    bool parameter;    /* a macro's argument that was not given */
};

enum jinja_object_kind {
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_METHOD,
    JINJA_FUNCTION,
    JINJA_LOOP,
    JINJA_CYCLER,
    JINJA_JOINER
};

struct jinja_node;
struct jinja_frame;

struct jinja_loop {
    const struct jinja_node *node;
    struct jinja_frame *outer; /* of the statement, for recursive calls */
    struct jinja_list *items;
    size_t index0;
    uint32_t depth0;
    struct jinja_value last_changed;
    bool has_changed;
};

struct jinja_object {
    enum jinja_object_kind kind;
    struct jinja_dict *dict;       /* NAMESPACE */
    const struct jinja_node *node; /* MACRO: its statement */
    struct jinja_frame *frame;     /* MACRO: where it was defined */
    struct jinja_value self;       /* METHOD */
    int id;                        /* METHOD, FUNCTION */
    struct jinja_loop *loop;       /* LOOP */
    struct jinja_list *list;       /* CYCLER */
    size_t at;                     /* CYCLER; JOINER: used */
    struct jinja_value text;       /* JOINER */
    struct power_text name;        /* MACRO, METHOD, FUNCTION */
};

/* ---- syntax tree ---- */

enum jinja_kind {
    /* expressions */
    NODE_CONST,
    NODE_BIG, /* an integer of more than 64 bits: digits text of base id */
    NODE_NAME,
    NODE_LIST,
    NODE_TUPLE,
    NODE_DICT, /* list of NODE_PAIR a: b */
    NODE_PAIR,
    NODE_ATTRIBUTE, /* a.text */
    NODE_ITEM,      /* a[b] */
    NODE_SLICE,     /* a:b:c */
    NODE_CALL,      /* a(list of NODE_ARG) */
    NODE_ARG,       /* a; op: enum jinja_arg */
    NODE_FILTER,    /* a | text(list); a is NULL in a filter block */
    NODE_TEST,      /* a is text(list) */
    NODE_UNARY,
    NODE_BINARY,
    NODE_AND,
    NODE_OR,
    NODE_CONCAT,  /* list */
    NODE_COMPARE, /* a, then list of NODE_OPERAND op a */
    NODE_OPERAND,
    NODE_COND,             /* b if a else c */
    NODE_NAMESPACE_TARGET, /* text2.text as a target of set */
    /* statements */
    NODE_DATA,
    NODE_OUTPUT,
    NODE_FOR,          /* for a in b if c: list; else: other. flag: recursive */
    NODE_IF,           /* if a: list; else: other */
    NODE_SET,          /* a = b */
    NODE_SET_BLOCK,    /* a = list, through the filters b */
    NODE_MACRO,        /* text(other: NODE_PARAM): list */
    NODE_PARAM,        /* text = a */
    NODE_CALL_BLOCK,   /* a is the call; other, list: the caller */
    NODE_FILTER_BLOCK, /* list through the filters b */
    NODE_WITH,         /* other: NODE_SETs; list */
    NODE_SCOPE,        /* list, in a scope of its own where flag is set */
    NODE_BLOCK,        /* list, named text; kwargs: scoped, varargs: required */
    NODE_FOREIGN,      /* a tag (text) that fails when it is reached */
    NODE_BREAK,
    NODE_CONTINUE
};

enum jinja_arg { ARG_POSITION, ARG_KEYWORD, ARG_LIST, ARG_DICT };

enum jinja_op {
    OP_NONE,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR,
    OP_MOD,
    OP_POW,
    OP_NEG,
    OP_POS,
    OP_NOT,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN
};

struct jinja_node {
    enum jinja_kind kind;
    enum jinja_op op;
    enum jinja_arg arg;
    bool flag;                    /* FOR: recursive; NAME target etc. */
    bool varargs, kwargs, caller; /* MACRO: which implicit names its body reads */
    uint16_t depth;
    int id; /* FILTER, TEST: number in the table, -1 when unknown */
    uint32_t line, column;
    struct jinja_node *a, *b, *c, *list, *other, *next;
    struct jinja_node *hidden; /* of a scope: NODE_NAMEs that begin undefined (jinja_scope.c) */
    struct power_text text, text2;
    struct jinja_value value;
};

/* ---- tokens ---- */

enum jinja_token_kind {
    TOKEN_DATA,
    TOKEN_VARIABLE_BEGIN,
    TOKEN_VARIABLE_END,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INTEGER,
    TOKEN_BIG, /* text holds the digits, as.i the base */
    TOKEN_FLOAT,
    TOKEN_OPERATOR, /* text holds it */
    TOKEN_END
};

struct jinja_token {
    enum jinja_token_kind kind;
    uint32_t line, column;
    struct power_text text;
    union {
        int64_t i;
        double f;
    } as;
};

struct jinja_tokens {
    struct jinja_token *items;
    size_t count, capacity;
};

/* ---- compiling ---- */

struct jinja_compiler {
    struct power_arena *arena;
    power_error *error;
    power_status status;
    struct jinja_tokens tokens;
    size_t at;
    unsigned depth;            /* of nested statements and parentheses */
    unsigned loops;            /* open for statements: break and continue need one */
    unsigned soft;             /* inside `if`: unknown filters wait until they are reached */
    struct jinja_node *blocks; /* read so far, linked by `other` */
    unsigned n_blocks;
    unsigned frames;                  /* open ones that are not the top level */
    struct jinja_node *macro;         /* the macro or call block being read */
    const struct jinja_node *unknown; /* first unknown filter or test met while soft */
};

bool power_jinja_syntax(struct jinja_compiler *c, uint32_t line, uint32_t column,
                        const char *format, ...) POWER_PRINTF(4, 5);
bool power_jinja_lex(struct jinja_compiler *c, struct power_text source);
/* The statements of the whole template; NULL with c->status set on failure, or for an empty one. */
struct jinja_node *power_jinja_parse(struct jinja_compiler *c);

/* Finds for each scope the names that begin undefined in it. */
bool power_jinja_scopes(struct jinja_compiler *c, struct jinja_node *body,
                        struct jinja_node **out_hidden);

struct jinja_node *power_jinja_node(struct jinja_compiler *c, enum jinja_kind kind,
                                    const struct jinja_token *at);
/* Records the nesting of a node whose children are set; false when it is too deep. */
struct jinja_node *power_jinja_seal(struct jinja_compiler *c, struct jinja_node *node);
const struct jinja_token *power_jinja_peek(const struct jinja_compiler *c);
const struct jinja_token *power_jinja_take(struct jinja_compiler *c);
bool power_jinja_is_op(const struct jinja_compiler *c, const char *op);
bool power_jinja_is_name(const struct jinja_compiler *c, const char *name);
bool power_jinja_skip_op(struct jinja_compiler *c, const char *op);
bool power_jinja_skip_name(struct jinja_compiler *c, const char *name);
bool power_jinja_expect_op(struct jinja_compiler *c, const char *op);
struct jinja_node *power_jinja_unexpected(struct jinja_compiler *c);
struct jinja_node *power_jinja_expression(struct jinja_compiler *c, bool with_condition);
/* `a, b` or `a`. `until`: a name that ends it (in, recursive) or NULL. */
struct jinja_node *power_jinja_tuple(struct jinja_compiler *c, bool with_condition,
                                     const char *until);
/* `| f | g(x)` behind `input` (NULL in a filter block). */
struct jinja_node *power_jinja_filters(struct jinja_compiler *c, struct jinja_node *input,
                                       bool first_without_pipe);

struct power_template {
    const power_allocator *allocator;
    struct power_arena arena;
    struct jinja_node *body, *hidden;
    uint64_t hash_key[2]; /* of its dictionaries */
};

/* ---- rendering ---- */

struct jinja_binding {
    struct power_text name;
    struct jinja_value value;
    bool hidden; /* begins undefined (jinja_scope.c) and is not set yet */
};

struct jinja_frame {
    struct jinja_frame *parent;
    struct jinja_binding *bindings;
    uint32_t count, capacity;
    bool captured; /* a macro remembers it: it must not be reused */
    bool block;    /* of a block: around it, a name that is not set yet is the caller's */
};

enum jinja_flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE };

/* Where a byte of text comes from (jinja_origin.c). */
enum jinja_origin {
    JINJA_OWN,  /* the template's text, or the model's own variables */
    JINJA_GIVEN /* the request's variables, and what was computed from them */
};

/* Text under construction; `origins` stays empty where none are kept. */
struct jinja_buffer {
    struct power_buffer text, origins;
};

struct jinja_sheet;

struct jinja_render {
    struct power_arena arena;
    const struct power_arena *template_arena;
    bool keeps_origins;
    struct jinja_sheet *sheets;
    struct jinja_buffer *out;
    size_t output_bytes, max_output_bytes; /* over all buffers */
    uint64_t steps_left;
    size_t loose_bytes; /* put somewhere, too few for a step as yet */
    const uint64_t *hash_key;
    uint32_t depth, max_depth;
    int64_t now_unix_s;
    const struct jinja_node *at; /* for the position in messages */
    power_error *error;
    power_status status;
    const struct jinja_dict *context;
    struct jinja_frame *frame;
    enum jinja_flow flow;
};

struct jinja_keyword {
    struct power_text name;
    struct jinja_value value;
};

struct jinja_args {
    struct jinja_value *items;
    size_t count;
    struct jinja_keyword *keywords;
    size_t n_keywords;
};

/* All return false. The message gets line and column of r->at in front. */
bool power_jinja_raise(struct jinja_render *r, power_status status, const char *format, ...)
    POWER_PRINTF(3, 4);
bool power_jinja_no_memory(struct jinja_render *r);
/* Takes n steps; false when the budget is used up. */
bool power_jinja_steps(struct jinja_render *r, uint64_t n);
/* Steps for a walk over a text; other values take none. */
bool power_jinja_walk_steps(struct jinja_render *r, struct jinja_value v);
/* A level of nesting more; false when that is too deep. Leave with power_jinja_leave. */
bool power_jinja_enter(struct jinja_render *r);
void power_jinja_leave(struct jinja_render *r);

/* jinja_value.c */
struct jinja_value power_jinja_none(void);
struct jinja_value power_jinja_bool(bool b);
struct jinja_value power_jinja_int(int64_t i);
struct jinja_value power_jinja_float(double f);
struct jinja_value power_jinja_borrow(struct power_text text); /* not copied */
struct power_text power_jinja_text(struct jinja_value v);      /* of a TEXT */
bool power_jinja_copy(struct jinja_render *r, struct power_text text, struct jinja_value *out);
struct jinja_list *power_jinja_list(struct jinja_render *r, enum jinja_list_kind kind,
                                    size_t capacity);
bool power_jinja_push(struct jinja_render *r, struct jinja_list *list, struct jinja_value v);
struct jinja_value power_jinja_of_list(struct jinja_list *list);
bool power_jinja_pair(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                      struct jinja_value *out); /* a tuple */
struct jinja_dict *power_jinja_dict(struct jinja_render *r);
bool power_jinja_dict_set(struct jinja_render *r, struct jinja_dict *dict, struct jinja_value key,
                          struct jinja_value v);
/* NULL when it is absent; an unhashable key raises (check r->status). */
const struct jinja_value *power_jinja_dict_get(const struct jinja_dict *dict,
                                               struct jinja_value key);
const struct jinja_value *power_jinja_dict_find(const struct jinja_dict *dict,
                                                struct power_text key);
bool power_jinja_hashable(struct jinja_value v);
struct jinja_object *power_jinja_object(struct jinja_render *r, enum jinja_object_kind kind);
struct jinja_value power_jinja_of_object(struct jinja_object *object);
const char *power_jinja_type_name(struct jinja_value v); /* as Python's type(v).__name__ */
bool power_jinja_truth(struct jinja_value v);
bool power_jinja_is_number(struct jinja_value v); /* BOOL, INT, BIG, FLOAT */
double power_jinja_as_double(struct jinja_value v);
bool power_jinja_as_int(struct jinja_value v, int64_t *out); /* BOOL, INT */
/* False, too, when the steps run out, which every node that is evaluated next finds. */
bool power_jinja_equal(struct jinja_render *r, struct jinja_value a, struct jinja_value b);
/* -1, 0, 1 in *out; types that have no order raise. `op` is named in the message. */
bool power_jinja_order(struct jinja_render *r, struct jinja_value a, struct jinja_value b,
                       const char *op, int *out);

/* jinja_big.c: BOOL, INT and BIG are whole */
bool power_jinja_is_whole(struct jinja_value v);
int power_jinja_whole_order(struct jinja_value a, struct jinja_value b);
bool power_jinja_whole_op(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                          struct jinja_value b, struct jinja_value *out);
bool power_jinja_whole_negate(struct jinja_render *r, struct jinja_value v,
                              struct jinja_value *out);
bool power_jinja_whole_negative(struct jinja_value v);
/* The nearest value of 64 bits. */
int64_t power_jinja_whole_clamp(struct jinja_value v);
size_t power_jinja_whole_bits(struct jinja_value v);
/* Order of an integer and a float that is one. */
int power_jinja_whole_beside(struct jinja_value v, double f);
double power_jinja_whole_double(struct jinja_value v); /* HUGE_VAL when it is too large */
/* The magnitude's digits, in the rendering's arena. */
bool power_jinja_whole_digits(struct jinja_render *r, struct jinja_value v, unsigned base,
                              bool upper, struct power_text *out);
/* `digits` are digits of the base, and underscores. */
bool power_jinja_whole_parse(struct jinja_render *r, struct power_text digits, unsigned base,
                             bool negative, struct jinja_value *out);
bool power_jinja_whole_of_double(struct jinja_render *r, double f, struct jinja_value *out);

/* jinja_origin.c */
void power_jinja_origins(const struct jinja_render *r, struct power_text text, unsigned char *out);
/* Room for `length` bytes and a NUL, NULL without memory; *out_origins: one for each byte, to be
 * written by the caller, NULL where none are kept. */
char *power_jinja_text_room(struct jinja_render *r, size_t length, unsigned char **out_origins);
/* A copy that counts as the model's own. */
bool power_jinja_copy_own(struct jinja_render *r, struct power_text text, struct jinja_value *out);
bool power_jinja_put(struct jinja_render *r, struct jinja_buffer *out, struct power_text text);
/* The same for a text made of `from`: it is own if all of that is. */
bool power_jinja_put_like(struct jinja_render *r, struct jinja_buffer *out, struct power_text text,
                          struct power_text from);
/* A scratch buffer whose content becomes a value; both others free it. */
void power_jinja_scratch(struct jinja_render *r, struct jinja_buffer *out);
bool power_jinja_finish_text(struct jinja_render *r, struct jinja_buffer *buffer, bool ok,
                             struct jinja_value *out);
void power_jinja_drop(struct jinja_buffer *buffer);

/* jinja_print.c */
bool power_jinja_str(struct jinja_render *r, struct jinja_value v, struct jinja_buffer *out);
bool power_jinja_repr(struct jinja_render *r, struct jinja_value v, struct jinja_buffer *out);
/* str(v) as a TEXT; a TEXT is returned as it is. */
bool power_jinja_to_text(struct jinja_render *r, struct jinja_value v, struct jinja_value *out);
/* A decimal number in C's notation with a point, whatever the locale. */
bool power_jinja_parse_double(struct power_text text, double *out);
/* Shortest digits that read back as f, as Python's repr. */
size_t power_jinja_float_text(double f, char out[40]);
bool power_jinja_escape(struct jinja_render *r, struct jinja_value v, struct jinja_value *out);

/* jinja_json.c */
bool power_jinja_tojson(struct jinja_render *r, const struct jinja_args *args,
                        struct jinja_value *out);
/* `what` names the text in messages; `own`: its texts count as the model's own, not as given. */
bool power_jinja_from_json(struct jinja_render *r, struct power_text text, const char *what,
                           bool own, struct jinja_value *out);

/* jinja_eval.c */
bool power_jinja_eval(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out);
bool power_jinja_args(struct jinja_render *r, const struct jinja_node *list,
                      const struct jinja_value *first, struct jinja_args *out);
bool power_jinja_get_attribute(struct jinja_render *r, struct jinja_value v, struct power_text name,
                               struct jinja_value *out);
bool power_jinja_get_item(struct jinja_render *r, struct jinja_value v, struct jinja_value key,
                          struct jinja_value *out);
bool power_jinja_undefined(struct jinja_render *r, struct power_text name,
                           const struct jinja_value *owner, bool unsafe, struct jinja_value *out);
bool power_jinja_raise_undefined(struct jinja_render *r, struct jinja_value v);
/* The items to walk; an iterator is used up. */
bool power_jinja_iterate(struct jinja_render *r, struct jinja_value v, struct jinja_list **out);
bool power_jinja_binary(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                        struct jinja_value b, struct jinja_value *out);
bool power_jinja_contains(struct jinja_render *r, struct jinja_value container,
                          struct jinja_value item, bool *out);

/* A number as a float; an integer that is too large for one raises. */
bool power_jinja_to_double(struct jinja_render *r, struct jinja_value v, double *out);

/* jinja_exec.c */
bool power_jinja_exec(struct jinja_render *r, const struct jinja_node *list);
bool power_jinja_hide(struct jinja_render *r, const struct jinja_node *hidden);
bool power_jinja_call_macro(struct jinja_render *r, struct jinja_object *macro,
                            const struct jinja_args *args, struct jinja_value *out);
bool power_jinja_call_loop(struct jinja_render *r, struct jinja_loop *loop,
                           const struct jinja_args *args, struct jinja_value *out);
const struct jinja_value *power_jinja_lookup(const struct jinja_render *r, struct power_text name);

/* jinja_call.c */
bool power_jinja_call(struct jinja_render *r, struct jinja_value callee,
                      const struct jinja_args *args, struct jinja_value *out);
bool power_jinja_global(struct jinja_render *r, struct power_text name, struct jinja_value *out);
/* Spreads arguments over `names` (separated by commas; a '/' at the end: none by keyword); what was
 * not given is MISSING. Raises for what does not fit. */
bool power_jinja_spread(struct jinja_render *r, const char *function, const char *names,
                        size_t required, const struct jinja_args *args, struct jinja_value *out);
bool power_jinja_loop_attribute(struct jinja_render *r, struct jinja_loop *loop,
                                struct power_text name, struct jinja_value *out, bool *out_found);

/* jinja_filters.c, jinja_tests.c: -1 for an unknown name */
int power_jinja_filter_find(struct power_text name);
bool power_jinja_filter(struct jinja_render *r, int id, const struct jinja_args *args,
                        struct jinja_value *out);
int power_jinja_test_find(struct power_text name);
bool power_jinja_test(struct jinja_render *r, int id, const struct jinja_args *args, bool *out);

/* jinja_methods.c: -1 for none; *out_unsafe for one that the sandbox refuses */
int power_jinja_method_find(struct jinja_value self, struct power_text name, bool *out_unsafe);
bool power_jinja_method(struct jinja_render *r, struct jinja_value self, int id,
                        const struct jinja_args *args, struct jinja_value *out);

/* jinja_percent.c */
/* `lone`: the argument is no tuple; a mapping need not be used then. */
bool power_jinja_percent(struct jinja_render *r, struct power_text format,
                         const struct jinja_args *args, bool lone, struct jinja_value *out);
/* jinja_strformat.c */
/* `mapping`: named fields are its keys, instead of arguments; or NULL. */
bool power_jinja_str_format(struct jinja_render *r, struct jinja_value format,
                            const struct jinja_args *args, const struct jinja_dict *mapping,
                            struct jinja_value *out);

/* jinja_attributes.c */
bool power_jinja_data_attribute(struct jinja_render *r, struct jinja_value v,
                                struct power_text name, struct jinja_value *out, bool *found);
bool power_jinja_number_method(struct jinja_render *r, struct jinja_value self, const char *name,
                               const struct jinja_args *args, struct jinja_value *out);

/* jinja_date.c */
bool power_jinja_strftime(struct jinja_render *r, struct power_text format,
                          struct jinja_value *out);

/* jinja_text.c: Unicode text operations on TEXT values */
size_t power_jinja_offset(struct power_text text, size_t code_points);
bool power_jinja_slice(struct jinja_render *r, struct jinja_value v, struct jinja_value start,
                       struct jinja_value stop, struct jinja_value step, struct jinja_value *out);
enum jinja_case { CASE_UPPER, CASE_LOWER, CASE_TITLE, CASE_CAPITALIZE, CASE_SWAP, CASE_FOLD };
/* Up to three code points, 0 behind the last; NULL for what maps to one. jinja_case.c */
const uint16_t *power_jinja_special_case(uint32_t code, enum jinja_case how);
bool power_jinja_case(struct jinja_render *r, struct power_text text, enum jinja_case how,
                      struct jinja_value *out);
bool power_jinja_is_space(uint32_t code);     /* str.isspace */
bool power_jinja_is_printable(uint32_t code); /* str.isprintable */
/* Whether a name may begin with it, or have it. */
bool power_jinja_is_name_part(uint32_t code, bool first);
/* chars: MISSING or NONE for white space. ends: 1 left, 2 right, 3 both. */
struct power_text power_jinja_strip(struct power_text text, const struct power_text *chars,
                                    int ends);
/* Offset of the first occurrence at or after `from`, SIZE_MAX for none. */
size_t power_jinja_find(struct power_text text, struct power_text what, size_t from);
bool power_jinja_replace(struct jinja_render *r, struct power_text text, struct power_text from,
                         struct power_text to, int64_t count, struct jinja_value *out);

/* For the analyzer, which sees one file at a time: these always return false. */
#if defined(__clang_analyzer__) && !defined(POWER_JINJA_BODIES)
#define power_jinja_raise(r, status, ...) (power_jinja_raise(r, status, __VA_ARGS__), false)
#define power_jinja_no_memory(r) (power_jinja_no_memory(r), false)
#endif

#endif
