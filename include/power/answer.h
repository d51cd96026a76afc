/* SPDX-License-Identifier: MIT */
/* What a model says, taken apart while it streams: reasoning, text and tool calls.
 * The format follows from the model's chat template; where none fits, tools are refused by name.
 * Threads: an open answer belongs to one thread at a time; its model may serve others at once. It
 * holds on to its model, which may be closed before it. */
#ifndef POWER_ANSWER_H
#define POWER_ANSWER_H

#include "power/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same events come however the text is cut, once neighbouring TEXT, REASONING and ARGUMENTS
 * events of one kind are joined. */
typedef enum power_answer_kind {
    POWER_ANSWER_TEXT = 0,
    POWER_ANSWER_REASONING = 1,
    POWER_ANSWER_CALL = 2,      /* a call begins: its name, whole */
    POWER_ANSWER_ARGUMENTS = 3, /* more of the arguments of the call begun last, as JSON text */
    POWER_ANSWER_CALL_END = 4,  /* the arguments are complete: one JSON object */
    POWER_ANSWER_MALFORMED = 5  /* what looked like a call is none; its raw text follows as TEXT. If
                                   the call had begun (CALL without CALL_END), it is void */
} power_answer_kind;

typedef struct power_answer_event {
    power_answer_kind kind;
    uint32_t call;    /* of CALL, ARGUMENTS, CALL_END and MALFORMED: 0, 1, ... in the answer */
    const char *text; /* borrowed during the callback; not NUL-terminated */
    size_t text_bytes;
    const char *id; /* the model's own id of the call, may be empty: with CALL where it was written
                       before the arguments, with CALL_END wherever it was written */
    size_t id_bytes;
} power_answer_event;

typedef struct power_answer power_answer;

typedef struct power_answer_options {
    size_t struct_size;
    /* OpenAI's `tools`: a JSON array of {"type": "function", "function": {...}}; NULL: the answer
     * has no calls, and what looks like one is text. */
    const char *tools_json;
    /* The rendered prompt, as power_render_chat gives it: its end tells whether the answer begins
     * inside the reasoning. NULL: it does not. */
    const char *prompt;
    /* A format by name instead of the one that the model's chat template writes: "hermes", or with
     * its marks of reasoning "hermes+think" (see power_answer_formats). NULL: the template's. */
    const char *format;
    size_t max_call_bytes; /* of one call's raw text; a longer one is text. 0: 16 MiB */
    /* Called on the calling thread; nonzero stops: pushing then gives POWER_CANCELLED. Required. */
    int (*on_event)(void *context, const power_answer_event *event);
    void *context;
} power_answer_options;
POWER_API void power_answer_options_init(power_answer_options *options);

/* POWER_UNSUPPORTED names the model's template when tools are given and it has no format of calls
 * that is known: tools are refused then, not ignored. POWER_INVALID: the tools, or a format that is
 * not known. Texts of the options are not kept; on success *out_answer is owned by the caller.
 * Rules, the same for all formats: white space is dropped between and after calls, after the end of
 * reasoning, and at the answer's start where a mark follows at once. A call to a name that no tool
 * has is reported like any other: the caller decides. Arguments are passed on as the model wrote
 * them, and they are one JSON object, in which a key may stand twice if the model wrote it so;
 * whether they obey the tool's schema is for a constraint (or the caller) to see, under which no
 * key stands twice. Formats that write text instead of JSON give JSON by the declared types. */
POWER_API POWER_MUST_USE power_status power_answer_open(power_model *model,
                                                        const power_answer_options *options,
                                                        power_answer **out_answer,
                                                        power_error *error);
/* NULL is allowed. */
POWER_API void power_answer_close(power_answer *answer);
/* A delta of power_generate; call it from on_delta. Marks may be control tokens: generate with
 * show_special = 1; control tokens that are no marks of the format are then left out here. The
 * events that have become certain come during this call. POWER_CANCELLED when on_event asked to
 * stop, POWER_NO_MEMORY; both stay. */
POWER_API POWER_MUST_USE power_status power_answer_push(power_answer *answer,
                                                        const power_delta *delta,
                                                        power_error *error);
/* More of the answer as text, from anywhere. */
POWER_API POWER_MUST_USE power_status power_answer_push_text(power_answer *answer, const char *text,
                                                             size_t text_bytes, power_error *error);
/* The answer is over; what waited for more text comes as events. `cut`: by a limit
 * (POWER_FINISH_LENGTH, _CONTEXT, _CALLBACK), not by the model: a call that had begun then has no
 * CALL_END, and its arguments are incomplete; without `cut` it is MALFORMED. */
POWER_API POWER_MUST_USE power_status power_answer_finish(power_answer *answer, int cut,
                                                          power_error *error);

/* What the model's chat template makes it write. Static texts. */
typedef struct power_answer_format_info {
    size_t struct_size;
    const char *calls;           /* "hermes", ...; NULL: none is known, tools are refused */
    const char *reasoning_open;  /* the mark before reasoning; "": the template knows of none */
    const char *reasoning_close; /* the mark after it, or "" */
} power_answer_format_info;
/* Caller sets struct_size. POWER_NOT_FOUND when the model has no chat template. */
POWER_API POWER_MUST_USE power_status power_model_answer_format(const power_model *model,
                                                                power_answer_format_info *out_info,
                                                                power_error *error);
/* Names of all formats of calls; NULL beyond the end. */
POWER_API const char *power_answer_formats(size_t index);

typedef enum power_tool_choice_kind {
    POWER_TOOL_CHOICE_AUTO = 0, /* text, calls, or text and then calls */
    POWER_TOOL_CHOICE_REQUIRED, /* calls */
    POWER_TOOL_CHOICE_NAMED     /* a call to the function `name` */
} power_tool_choice_kind;

typedef struct power_tools_options {
    size_t struct_size;
    const char *tools_json;        /* as in power_answer_options; required */
    power_tool_choice_kind choice; /* default POWER_TOOL_CHOICE_AUTO */
    const char *name;              /* the function of POWER_TOOL_CHOICE_NAMED */
    int parallel;                  /* 1: more than one call is allowed */
    const char *format;            /* as in power_answer_options */
    /* Of the schemas of arguments, and the budgets; kind is not used. NULL: defaults. Where the
     * format knows marks of reasoning, a leading_space of 0 is 16. */
    const power_constraint_options *constraint;
} power_tools_options;
POWER_API void power_tools_options_init(power_tools_options *options);

/* The constraint under which an answer calls the tools as the model's format writes it: the name of
 * a declared function, and arguments that its schema allows. Where the format's marks are control
 * tokens, only those tokens write them. Where the model thinks first, set constraint_after to
 * reasoning_close; not where the rendered prompt ends with that mark already: none would come.
 * POWER_UNSUPPORTED names the function and the keyword that cannot be enforced; POWER_NOT_FOUND: no
 * function `name`; POWER_INVALID, POWER_LIMIT, POWER_NO_MEMORY as power_constraint_open. */
POWER_API POWER_MUST_USE power_status
power_tools_constraint_open(power_model *model, const power_tools_options *options,
                            power_constraint **out_constraint, power_error *error);

#ifdef __cplusplus
}
#endif
#endif
