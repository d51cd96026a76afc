/* SPDX-License-Identifier: MIT */
/* What the files of the answer parser share: the description of a format, and the parser.
 * Input: bytes of an answer. Output: events.
 * Threads: descriptions are static data; a parser belongs to one thread.
 * Bounds: the sizes below; the raw text of one call up to the option's maximum. */
#ifndef POWER_TEXT_ANSWER_INTERNAL_H
#define POWER_TEXT_ANSWER_INTERNAL_H

#include "text/answer/answer.h"

enum {
    ANSWER_MARK = 64,     /* bytes of the longest mark */
    ANSWER_SPACE = 64,    /* white space held back */
    ANSWER_NAME = 256,    /* bytes of a function's name, of a key, of an id */
    ANSWER_MARKS = 24,    /* marks looked for at once */
    ANSWER_DEPTH = 512,   /* nesting of arguments */
    ANSWER_HEADER = 256,  /* bytes of a harmony header */
    ANSWER_KEYS = 65536,  /* bytes of the keys of one call in XML-like formats */
    ANSWER_OUT = 4096,    /* bytes of one event of a stream */
    ANSWER_PIECE = 65536, /* bytes of one bare value or key of a loose format */
};

/* ---- formats ---- */

enum answer_shape {
    ANSWER_OBJECT,  /* {"name": N, "arguments": A}, or an array of those */
    ANSWER_KEYED,   /* {N: A}, or an array of those */
    ANSWER_NAMED,   /* N, then marks, then A */
    ANSWER_XML,     /* N, then parameters between marks */
    ANSWER_GEMMA,   /* N{key:value,...} */
    ANSWER_PYTHON,  /* N(key=value, ...), a list of those */
    ANSWER_HARMONY, /* channels */
};
enum answer_flag {
    ANSWER_WEAK = 1,        /* the opening mark alone is not worth a MALFORMED */
    ANSWER_AT_START = 2,    /* opens only at the answer's start and after calls */
    ANSWER_LONE = 4,        /* call_open also opens without section_open */
    ANSWER_ARRAY = 8,       /* the envelope writes an array of calls */
    ANSWER_NEWLINES = 16,   /* one newline at each end of an XML value is not part of it */
    ANSWER_TYPED = 32,      /* the mark before an XML value says whether it is a string */
    ANSWER_RECIPIENT = 64,  /* the prompt ends with call_open; the name "all" means text */
    ANSWER_KEEP = 128,      /* the opening mark is part of the call's body */
    ANSWER_INSIDE = 256,    /* calls open inside reasoning too, and end it */
    ANSWER_LIST_ONLY = 512, /* brackets around the python calls are part of the format */
    ANSWER_EACH = 1024,     /* every call has a section of its own */
    ANSWER_WORD = 2048,     /* a word of the model's choice stands before `before_name` */
    ANSWER_NUMBER = 4096,   /* ":N" behind the name */
};

/* Texts are "" where a format has none. */
struct power_answer_calls {
    const char *name;
    enum answer_shape shape;
    uint32_t flags;
    const char *section_open, *section_close; /* around all calls */
    const char *call_open, *call_close;       /* around each */
    const char *other_open;                   /* a second spelling that opens a call */
    const char *skip;                         /* what stands before the name ends with this */
    const char *prefix;                       /* of the name, removed: "functions." */
    const char *name_end;
    const char *id_mark;                 /* between name and id */
    const char *args_open, *args_close;  /* around the arguments of ANSWER_NAMED */
    const char *param_open, *key_end;    /* of ANSWER_XML */
    const char *value_open, *value_else; /* value_else: the mark of values that are no strings */
    const char *value_end;
    const char *quote;               /* of ANSWER_GEMMA */
    const char *name_key, *args_key; /* as the template writes them in JSON */
    const char *id_key;              /* written before the name, a number in quotes */
    const char *space;               /* white space that the envelope writes between parts */
    const char *before_name;         /* what the envelope writes between call_open and the name */
    const char *drop[4];             /* marks that mean nothing to the reader */
};

struct power_answer_reasoning {
    const char *name;
    const char *open, *close;
    bool anywhere;       /* control tokens: marks wherever they stand */
    bool starts_open;    /* an answer begins inside the reasoning */
    const char *drop[4]; /* marks around the text that follows */
};

/* ---- incremental JSON ---- */

struct answer_json {
    unsigned char state, digits;
    const char *literal; /* what is left of true, false, null */
    uint32_t depth;
    unsigned char objects[ANSWER_DEPTH / 8]; /* one bit a level */
};
enum answer_json_step { ANSWER_JSON_MORE, ANSWER_JSON_DONE, ANSWER_JSON_BAD };
/* A value is wanted. DONE comes with the last byte of an object, array, string or literal. A number
 * at depth 0 never says DONE: see answer_json_whole. */
void answer_json_begin(struct answer_json *json);
enum answer_json_step answer_json_feed(struct answer_json *json, unsigned char c);
bool answer_json_wants_value(const struct answer_json *json);
bool answer_json_value_ended(const struct answer_json *json); /* a comma or a closer may come */
bool answer_json_in_string(const struct answer_json *json);   /* or in a key */
bool answer_json_in_key(const struct answer_json *json);      /* between the quotes of a key */
bool answer_json_whole(struct power_text text);               /* the text is one JSON value */
/* The text between the quotes of a JSON string, decoded; false when it does not fit. Lone
 * surrogates become U+FFFD. */
bool answer_json_decode(struct power_text inside, char *out, size_t capacity, size_t *out_length);

/* ---- tools ---- */

enum answer_type {
    ANSWER_TYPE_STRING = 1,
    ANSWER_TYPE_BOOLEAN = 2,
    ANSWER_TYPE_NULL = 4,
    ANSWER_TYPE_OTHER = 8
};
struct answer_parameter {
    struct power_text key;
    uint32_t types; /* of enum answer_type; 0: not said */
};
struct answer_tool {
    struct power_text name;
    struct power_text parameters; /* the schema as it was written; empty: none */
    struct answer_parameter *list;
    size_t count;
};
struct answer_tools {
    struct answer_tool *list;
    size_t count;
};
/* OpenAI's `tools`, also without the {type, function} around each. Results live in the arena; the
 * schemas point into `json`. POWER_INVALID names the tool by its number. */
power_status answer_tools_read(struct power_arena *arena, struct power_text json,
                               struct answer_tools *out, power_error *error) POWER_MUST_USE;

/* ---- envelopes ---- */

struct answer_envelope {
    struct power_grammar *g;
    const struct power_answer_calls *calls;
    const struct power_tool_request *request;
    const struct power_vocab *vocab; /* NULL: control tokens are written as text */
    struct power_arena arena;
    const struct answer_tool *tool; /* at hand */
    power_error *error;
    power_status status; /* of the first failure */
};
/* Each gives 0 after a failure, which is in e->status. */
power_expr answer_write(struct answer_envelope *e, const char *text);
power_expr answer_write_text(struct answer_envelope *e, struct power_text text);
power_expr answer_fail_tool(struct answer_envelope *e, power_status status, const char *message);
/* The arguments as one JSON object. */
power_expr answer_arguments(struct answer_envelope *e);
/* The parameters one after another, as the format writes them. */
power_expr answer_parameters(struct answer_envelope *e);
/* Any text that does not hold one of the marks. */
power_expr answer_free_text(struct answer_envelope *e, const char *const *marks, size_t n);
/* What a schema's object says at its outermost level. */
struct answer_schema {
    struct power_text type, properties, required, definitions, defs;
    struct power_text pattern, format, values, only;
    struct power_text min_length, max_length;
    struct power_text other; /* the first key that is none of these and says something */
};
power_status answer_schema_read(struct power_arena *arena, struct power_text text,
                                struct answer_schema *out, power_error *error) POWER_MUST_USE;

/* ---- the parser ---- */

enum answer_state {
    ANSWER_IN_TEXT,
    ANSWER_IN_REASONING,
    ANSWER_AT_POINT, /* one of the marks must come, after white space */
    ANSWER_IN_BODY,  /* JSON calls: an object or an array of objects */
    ANSWER_IN_SKIP,
    ANSWER_IN_NAME,
    ANSWER_IN_ID,
    ANSWER_IN_ARGUMENTS,
    ANSWER_IN_KEY,
    ANSWER_IN_VALUE,
    ANSWER_IN_LOOSE,
    ANSWER_IN_HEADER,
    ANSWER_N_STATES
};
/* What follows a mark. */
enum answer_action {
    ANSWER_DO_NOTHING, /* the mark is dropped */
    ANSWER_DO_REASON,
    ANSWER_DO_REASON_END,
    ANSWER_DO_SECTION,
    ANSWER_DO_CALL,
    ANSWER_DO_KEEP, /* a call whose opening mark is its first byte */
    ANSWER_DO_BODY_OR_NAME,
    ANSWER_DO_NAME,
    ANSWER_DO_NAME_END,
    ANSWER_DO_ID,
    ANSWER_DO_ARGS_OPEN,
    ANSWER_DO_ARGUMENTS,
    ANSWER_DO_NO_ARGUMENTS,
    ANSWER_DO_PARAMETER,
    ANSWER_DO_VALUE,
    ANSWER_DO_STRING, /* a value that is a string */
    ANSWER_DO_OTHER,  /* a value that is none */
    ANSWER_DO_CALL_END,
    ANSWER_DO_LIST_END,
    ANSWER_DO_LOOSE,
    ANSWER_DO_HEADER,
    ANSWER_DO_MESSAGE_END,
    ANSWER_DO_FAIL /* nothing else may follow */
};
enum answer_step {
    ANSWER_TAKEN, /* the byte was consumed */
    ANSWER_AGAIN, /* the new state gets it */
    ANSWER_BAD    /* this is no call */
};
struct answer_mark {
    const char *text;
    size_t length;
    enum answer_action action;
};

enum answer_field { ANSWER_FIELD_NONE, ANSWER_FIELD_NAME, ANSWER_FIELD_ARGS, ANSWER_FIELD_ID };

/* One call that is written as a JSON object. */
struct answer_object {
    struct answer_json json;
    bool in_array, in_object, want_comma;
    bool have_args, name_given;
    enum answer_field field; /* of the value at hand */
    bool quoted;             /* the arguments are a string that holds JSON */
};

/* key: value pairs in Python's or Gemma's way, turned into JSON. */
struct answer_loose {
    unsigned char state, digits;
    char quote; /* that ends the string at hand; 0: the format's own mark */
    bool in_key, first;
    uint32_t depth, code;
    unsigned char objects[ANSWER_DEPTH / 8];
};

struct power_answer_parser {
    const power_allocator *allocator;
    struct power_answer_format format;
    struct power_answer_parser_options options;
    struct power_arena arena;
    struct answer_tools tools;
    power_status failed; /* POWER_OK, or what every later call gives */

    enum answer_state state;
    enum answer_action fallback; /* of ANSWER_AT_POINT */
    bool stale;                  /* the marks are those of a state that is over */
    bool in_section;             /* a call has begun since the opening mark */
    bool at_start;               /* nothing but white space and marks so far, or since a call */
    bool skip_space;             /* white space is dropped here */
    bool after_call;             /* the closing marks of a call may follow */
    bool begun;                  /* CALL was given, CALL_END not yet */
    bool strong;                 /* a MALFORMED is owed where this is no call */
    uint32_t call;               /* of the next CALL; of the one begun while `begun` */

    struct answer_mark marks[ANSWER_MARKS];
    uint32_t n_marks;
    bool first[256]; /* bytes that begin a mark */
    char held[ANSWER_MARK];
    size_t n_held;
    char space[ANSWER_SPACE];
    size_t n_space;

    power_answer_kind out_kind;
    char out[ANSWER_OUT];
    size_t n_out;

    struct power_buffer raw;     /* of the call at hand */
    struct power_buffer pending; /* arguments before their name, text values, bare values */
    struct power_buffer keys;    /* of the call at hand, each with a NUL */
    char name[ANSWER_NAME], id[ANSWER_NAME], key[ANSWER_NAME];
    size_t n_name, n_id, n_key;
    bool have_name;

    struct answer_json json;
    struct answer_object object;
    struct answer_loose loose;
    const struct answer_tool *tool; /* of the call at hand; NULL: not declared */
    bool value_text;                /* the XML value at hand is written as a string at once */
    bool value_first;               /* nothing of the value was seen yet */
    bool value_json;                /* p->json follows the value: an object or an array so far */
    bool overflow;                  /* a bound was passed while marks were looked for */
    char newline_end[ANSWER_MARK];  /* the end of a value and the newline before it */
    uint32_t value_types;
    uint32_t n_params;
    char header[ANSWER_HEADER];
    size_t n_header;
};

typedef struct power_answer_parser answer_parser;

/* emit.c: events */
void answer_emit(answer_parser *p, power_answer_kind kind, const char *bytes, size_t n);
/* Between the quotes of a JSON string. */
void answer_emit_escaped(answer_parser *p, const char *bytes, size_t n);
void answer_emit_string(answer_parser *p, const char *bytes, size_t n);
void answer_flush(answer_parser *p);
void answer_call(answer_parser *p); /* CALL with p->name and p->id */
void answer_call_end(answer_parser *p);
/* What came since the opening mark, or since the last call, is text. The byte at hand comes next.
 */
void answer_malformed(answer_parser *p);
/* False at the buffer's maximum, or without memory (p->failed tells). */
bool answer_append(answer_parser *p, struct power_buffer *buffer, const char *bytes, size_t n);

/* marks.c: looking for marks */
void answer_marks_clear(answer_parser *p);
void answer_marks_add(answer_parser *p, const char *text, enum answer_action action);
/* Feeds a byte; bytes that are no part of a mark go to `release`. True when a mark is complete:
 * it stands in p->held until the caller empties that. */
bool answer_scan(answer_parser *p, unsigned char c,
                 void (*release)(answer_parser *p, unsigned char c), enum answer_action *out);

/* parser.c */
void answer_feed(answer_parser *p, unsigned char c);
void answer_to_text(answer_parser *p);
void answer_to_reasoning(answer_parser *p);
void answer_after_call(answer_parser *p);
/* One of the marks added after this must come, after white space; else `fallback`. */
void answer_to_point(answer_parser *p, enum answer_action fallback);
void answer_add_calls(answer_parser *p); /* the marks that open calls */

/* steps of the states */
enum answer_step answer_step_body(answer_parser *p, unsigned char c);      /* object.c */
enum answer_step answer_step_arguments(answer_parser *p, unsigned char c); /* named.c */
enum answer_step answer_step_skip(answer_parser *p, unsigned char c);
enum answer_step answer_step_name(answer_parser *p, unsigned char c);
enum answer_step answer_step_id(answer_parser *p, unsigned char c);
enum answer_step answer_step_key(answer_parser *p, unsigned char c); /* xml.c */
enum answer_step answer_step_value(answer_parser *p, unsigned char c);
enum answer_step answer_step_loose(answer_parser *p, unsigned char c); /* loose.c */
void answer_step_header(answer_parser *p, unsigned char c);            /* harmony.c */

/* what marks lead to */
void answer_begin(answer_parser *p, const char *raw, size_t n); /* named.c: a call or a section */
void answer_begin_call(answer_parser *p, bool other_open);
void answer_to_name(answer_parser *p);
void answer_after_name(answer_parser *p);
/* The name without what the format adds to it, and the tool of that name. */
void answer_settle_name(answer_parser *p);
void answer_name_end(answer_parser *p);
void answer_arguments_point(answer_parser *p);
void answer_begin_arguments(answer_parser *p);
void answer_begin_body(answer_parser *p);      /* object.c */
void answer_parameter_point(answer_parser *p); /* xml.c */
void answer_begin_parameter(answer_parser *p);
void answer_begin_value(answer_parser *p, enum answer_action kind);
void answer_end_parameters(answer_parser *p);
bool answer_new_key(answer_parser *p);     /* p->key was not in this call yet */
void answer_begin_loose(answer_parser *p); /* loose.c */
void answer_list_point(answer_parser *p);
void answer_harmony_marks(answer_parser *p); /* harmony.c */
void answer_begin_header(answer_parser *p);
void answer_begin_harmony(answer_parser *p);
void answer_header_is_text(answer_parser *p);

/* Kinds of the levels that are open, one bit each: 1 is an object. */
static inline void answer_level_set(unsigned char *objects, uint32_t level, bool object) {
    unsigned char bit = (unsigned char)(1u << (level % 8)), *at = &objects[level / 8];
    *at = (unsigned char)(object ? *at | bit : *at & ~bit);
}
static inline bool answer_level_is_object(const unsigned char *objects, uint32_t level) {
    return objects[level / 8] >> (level % 8) & 1;
}
static inline bool answer_is_space(unsigned char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
/* Without the white space at its end. */
static inline struct power_text answer_trimmed(struct power_text text) {
    while (text.length && answer_is_space((unsigned char)text.bytes[text.length - 1]))
        text.length--;
    return text;
}
/* Without the white space before it. */
static inline struct power_text answer_from_first(struct power_text text) {
    while (text.length && answer_is_space((unsigned char)*text.bytes)) {
        text.bytes++;
        text.length--;
    }
    return text;
}
static inline bool answer_has(const char *text) {
    return text && text[0];
}

#endif
