/* SPDX-License-Identifier: MIT */
/* A session inside: one sequence of an engine, and the caller's side of it.
 * Input: options. Output: the handle. Owner: its caller. Threads: one at a time; `cancel` any.
 * Bounds: `tokens` holds the whole context. */
#ifndef POWER_API_SESSION_H
#define POWER_API_SESSION_H

#include "api/runtime.h"

struct power_session {
    struct power_model *model;
    struct power_engine *engine;
    struct power_sequence *sequence;
    struct power_cond *cond; /* of this session's job */
    _Atomic(int) cancel;
    bool busy; /* inside power_generate: its callback may not call this session again */
    power_kv_type kv_type;
    bool long_rope;
    uint32_t context, chunk_rows;
    uint32_t length;  /* as of the last call; the scheduler's own may be ahead during one */
    uint32_t *tokens; /* [context] */
};

/* A job of this session, ready for its kind's fields. */
struct power_job power_session_job(struct power_session *session, enum power_job_kind kind);
/* POWER_INVALID for NULL, POWER_STATE in the middle of a call. */
power_status power_session_idle(const struct power_session *session,
                                power_error *error) POWER_MUST_USE;
/* After a job: a cancellation that was obeyed is over. */
void power_session_settle(struct power_session *session, power_status status);

#endif
