/* SPDX-License-Identifier: MIT */
/* What a model says, taken apart while it streams: reasoning, text and tool calls.
 * The format follows from the model's chat template; where none fits, tools are refused by name.
 * Threads: an open answer belongs to one thread; its model may serve others at once. */
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

#ifdef __cplusplus
}
#endif
#endif
