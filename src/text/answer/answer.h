/* SPDX-License-Identifier: MIT */
/* What a model says, taken apart: reasoning, text and tool calls.
 * Input: the raw text of an answer in pieces of any size. Output: events, the same however the text
 * is cut. Threads: formats are immutable; a parser belongs to one thread. Bounds: linear time; it
 * holds back what could still become a mark, and the raw text of one call up to max_call_bytes. */
#ifndef POWER_TEXT_ANSWER_H
#define POWER_TEXT_ANSWER_H

#include "power/answer.h"
#include "text/constraint/front.h"

struct power_answer_calls;     /* opaque, static data: how calls are written */
struct power_answer_reasoning; /* opaque, static data: how reasoning is marked */

/* What a chat template makes a model write. A value; both parts are static data. */
struct power_answer_format {
    const struct power_answer_calls *calls;         /* NULL: tools are refused for this model */
    const struct power_answer_reasoning *reasoning; /* NULL: no marks around reasoning */
};

/* By features of the template's text, in the order of the table in formats.c. */
struct power_answer_format power_answer_format_of(struct power_text chat_template);
/* By the names in formats.c ("hermes", "think"); an empty name is none. False when one is not
 * known.
 */
bool power_answer_format_named(struct power_text calls, struct power_text reasoning,
                               struct power_answer_format *out);
/* "hermes", ...; "none" without calls. */
const char *power_answer_format_name(const struct power_answer_format *format);
/* Names of all formats of calls, in table order; NULL beyond the end. */
const char *power_answer_format_list(size_t index);

struct power_answer_parser_options {
    bool tools;          /* false: nothing is a call */
    bool reasoning_open; /* the prompt ended inside the reasoning part */
    /* The request's tools (OpenAI's form): types of parameters for formats that write text.
     * Borrowed during create; may be empty. */
    struct power_text tools_json;
    size_t max_call_bytes; /* raw text of one call; beyond it the call is malformed. 0: 16 MiB */
    int (*on_event)(void *context, const power_answer_event *event); /* nonzero stops */
    void *context;
};

/* Rules, the same for all formats:
 * - White space is dropped between and after calls, after the end of reasoning, and at the answer's
 *   start where a mark follows at once. Reasoning loses white space at both ends (up to 64 bytes
 *   at its end).
 * - A call to a name that no tool has is reported like any other: the caller decides.
 * - <think> and <response> are marks only at the start of the answer and after calls; elsewhere
 *   they are text. Marks that are control tokens are marks everywhere.
 * - Marks must be seen: generate with show_special where they are control tokens. */
struct power_answer_parser; /* opaque */
power_status power_answer_parser_create(const power_allocator *allocator,
                                        const struct power_answer_format *format,
                                        const struct power_answer_parser_options *options,
                                        struct power_answer_parser **out,
                                        power_error *error) POWER_MUST_USE;
void power_answer_parser_destroy(struct power_answer_parser *parser);
/* POWER_CANCELLED after the callback asked to stop; POWER_NO_MEMORY. Both stay. */
power_status power_answer_parser_push(struct power_answer_parser *parser, struct power_text bytes,
                                      power_error *error) POWER_MUST_USE;
/* `cut`: the answer was ended by a limit, not by the model. A call that had begun then stays
 * without CALL_END (its arguments are incomplete), and what came after an opening mark alone is
 * dropped. Without `cut` both are MALFORMED. */
power_status power_answer_parser_finish(struct power_answer_parser *parser, bool cut,
                                        power_error *error) POWER_MUST_USE;

/* The marks around reasoning ("<think>", "</think>"), empty where the format has none. */
void power_answer_reasoning_marks(const struct power_answer_format *format,
                                  struct power_text *out_open, struct power_text *out_close);
/* Whether a rendered prompt ends inside the reasoning part. */
bool power_answer_reasoning_is_open(const struct power_answer_format *format,
                                    struct power_text prompt);
/* Whether `text`, as a token writes it, is a mark of the format or part of one. */
bool power_answer_is_mark(const struct power_answer_format *format, struct power_text text);

enum power_tool_choice { POWER_TOOLS_AUTO, POWER_TOOLS_REQUIRED, POWER_TOOLS_NAMED };
struct power_tool_request {
    struct power_text tools_json; /* OpenAI's `tools`: an array of {type, function} */
    enum power_tool_choice choice;
    struct power_text name; /* of POWER_TOOLS_NAMED */
    bool parallel;          /* more than one call is allowed */
    struct power_schema_options schema;
};
struct power_vocab;
/* The grammar of an answer that calls tools as the format writes it; AUTO: free text, or calls.
 * `vocab` (may be NULL): marks that are control tokens there must be those tokens.
 * POWER_UNSUPPORTED: the format has no calls, or a parameter's schema cannot be enforced (names the
 * function and the keyword). POWER_NOT_FOUND: the named function. POWER_INVALID: the tools. */
power_status power_answer_envelope(struct power_grammar *g,
                                   const struct power_answer_format *format,
                                   const struct power_tool_request *request,
                                   const struct power_vocab *vocab, power_expr *out,
                                   power_error *error) POWER_MUST_USE;

#endif
