/* SPDX-License-Identifier: MIT */
/* What a model says, taken apart: reasoning, text and tool calls.
 * Input: the raw text of an answer in pieces of any size. Output: events, the same however the text
 * is cut. Threads: formats are immutable; a parser belongs to one thread. Bounds: linear time; it
 * holds back what could still become a mark (at most the longest mark) and one call's header. */
#ifndef POWER_TEXT_ANSWER_H
#define POWER_TEXT_ANSWER_H

#include "base/memory.h"
#include "base/span.h"
#include "text/constraint/front.h"

struct power_answer_format; /* opaque, static data: hermes, llama3, mistral, deepseek, harmony... */

/* The format that a chat template writes. NULL where none fits (tools are then refused by name). */
const struct power_answer_format *power_answer_format_of(struct power_text chat_template);
const struct power_answer_format *power_answer_format_named(struct power_text name);
const char *power_answer_format_name(const struct power_answer_format *format);

enum power_answer_event_kind {
    POWER_ANSWER_TEXT,
    POWER_ANSWER_REASONING,
    POWER_ANSWER_CALL,      /* a call begins: name (whole), id (the model's own, may be empty) */
    POWER_ANSWER_ARGUMENTS, /* more of the arguments of the call begun last, as JSON text */
    POWER_ANSWER_CALL_END,
    POWER_ANSWER_MALFORMED /* what looked like a call and is none: given as text after this */
};
struct power_answer_event {
    enum power_answer_event_kind kind;
    uint32_t call;              /* 0, 1, ... in the answer */
    struct power_text text, id; /* borrowed during the callback */
};

struct power_answer_options {
    bool tools;          /* false: nothing is a call */
    bool reasoning_open; /* the prompt ended inside the reasoning part */
    struct power_text
        tools_json; /* the request's tools: types of parameters for XML-like formats */
    int (*on_event)(void *context, const struct power_answer_event *event); /* nonzero stops */
    void *context;
};
struct power_answer_parser; /* opaque */
power_status power_answer_parser_create(const power_allocator *allocator,
                                        const struct power_answer_format *format,
                                        const struct power_answer_options *options,
                                        struct power_answer_parser **out,
                                        power_error *error) POWER_MUST_USE;
void power_answer_parser_destroy(struct power_answer_parser *parser);
power_status power_answer_push(struct power_answer_parser *parser, struct power_text bytes,
                               power_error *error) POWER_MUST_USE;
power_status power_answer_finish(struct power_answer_parser *parser,
                                 power_error *error) POWER_MUST_USE;

/* The marks around reasoning ("<think>", "</think>"), empty where the format has none. */
void power_answer_reasoning_marks(const struct power_answer_format *format,
                                  struct power_text *out_open, struct power_text *out_close);

enum power_tool_choice { POWER_TOOLS_AUTO, POWER_TOOLS_REQUIRED, POWER_TOOLS_NAMED };
struct power_tool_request {
    struct power_text tools_json; /* OpenAI's `tools`: an array of {type, function} */
    enum power_tool_choice choice;
    struct power_text name; /* of POWER_TOOLS_NAMED */
    bool parallel;          /* more than one call is allowed */
    struct power_schema_options schema;
};
/* The grammar of an answer that calls tools as the format writes it; AUTO: free text, or calls. */
power_status power_answer_envelope(struct power_grammar *g,
                                   const struct power_answer_format *format,
                                   const struct power_tool_request *request, power_expr *out,
                                   power_error *error) POWER_MUST_USE;

#endif
