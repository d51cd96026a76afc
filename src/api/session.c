/* SPDX-License-Identifier: MIT */
/* Public functions on sessions: open, close, evaluate, truncate, fork, save, load, cancel.
 * Input: handles and arrays of callers. Output: jobs for the engine, their results.
 * Threads: a session belongs to one thread at a time. Bounds: contexts are checked before they are
 * reserved. */
#include "api/session.h"

#include <string.h>

#define USUAL_CONTEXT 4096u

void power_session_options_init(power_session_options *options) {
    if (!options) return;
    *options = (power_session_options){.struct_size = sizeof *options, .kv_type = POWER_KV_F16};
}

struct power_job power_session_job(struct power_session *session, enum power_job_kind kind) {
    struct power_job job = {.kind = kind,
                            .sequence = session->sequence,
                            .cond = session->cond,
                            .cancel = &session->cancel};
    job.error.offset = POWER_NO_OFFSET;
    return job;
}

power_status power_session_idle(const struct power_session *session, power_error *error) {
    if (!session) return power_fail(error, POWER_INVALID, "session is NULL");
    if (!session->busy) return POWER_OK;
    return power_fail(error, POWER_STATE, "the session is busy with another call");
}

void power_session_settle(struct power_session *session, power_status status) {
    if (status == POWER_CANCELLED) atomic_store(&session->cancel, 0);
}

/* ---- open and close ---- */

static power_status choose_context(const struct power_model *model,
                                   const struct power_engine *engine, uint32_t wanted,
                                   int beyond_trained, uint32_t *out, power_error *error) {
    uint32_t trained = model->hparams.context_length;
    uint64_t most = engine->state_limits.max_tokens;
    if (wanted == 0) {
        wanted = trained && trained < USUAL_CONTEXT ? trained : USUAL_CONTEXT;
        if (wanted > most) wanted = (uint32_t)most;
    }
    if (trained && wanted > trained && !beyond_trained) {
        return power_fail(error, POWER_LIMIT,
                          "context of %u tokens wanted, the model was trained for %u", wanted,
                          trained);
    }
    if (wanted > most || wanted > engine->state_limits.max_context) {
        return power_fail(error, POWER_LIMIT, "context of %u tokens wanted, \"max_tokens\" is %llu",
                          wanted, (unsigned long long)most);
    }
    *out = wanted;
    return POWER_OK;
}

/* The handle without a sequence yet. */
static power_status make_session(struct power_model *model, struct power_engine *engine,
                                 uint32_t context, struct power_session **out, power_error *error) {
    const power_allocator *allocator = model->host.allocator;
    struct power_session *session = power_alloc(allocator, 1, sizeof *session);
    if (!session) return power_fail_memory(error, sizeof *session, "a session");
    session->model = model;
    power_model_hold(model);
    session->engine = engine;
    session->context = context;
    session->tokens = power_alloc(allocator, context, sizeof *session->tokens);
    power_status status = session->tokens
                              ? POWER_OK
                              : power_fail_memory(error, context * sizeof *session->tokens, "ids");
    if (status == POWER_OK) status = power_cond_create(&session->cond, allocator, error);
    if (status != POWER_OK) {
        power_session_close(session);
        return status;
    }
    *out = session;
    return POWER_OK;
}

static power_status run_open(struct power_session *session, struct power_job *job,
                             power_error *error) {
    job->cancel = NULL;
    job->context = session->context;
    job->chunk_rows = session->chunk_rows;
    job->tokens = session->tokens;
    power_status status = power_engine_call(session->engine, job, error);
    if (status == POWER_OK) session->sequence = job->sequence;
    return status;
}

power_status power_session_open(power_model *model, const power_session_options *options,
                                power_session **out_session, power_error *error) {
    power_session_options copy;
    power_session_options_init(&copy);
    if (!model || !out_session) {
        return power_fail(error, POWER_INVALID, "model or out_session is NULL");
    }
    power_status status = POWER_OK;
    if (options) {
        status = power_options_copy(&copy, sizeof copy, options, options->struct_size,
                                    "session options", error);
    }
    struct power_engine *engine = NULL;
    uint32_t context = 0;
    if (status == POWER_OK) status = power_model_check(model, error);
    if (status == POWER_OK) status = power_model_engine(model, copy.kv_type, &engine, error);
    if (status == POWER_OK) {
        status = choose_context(model, engine, copy.context, copy.beyond_trained, &context, error);
    }
    if (status != POWER_OK) return status;
    uint32_t most_rows = engine->options.prefill_rows;
    if (copy.chunk_rows > most_rows) {
        return power_fail(error, POWER_INVALID, "\"chunk_rows\" is %u, \"prefill_rows\" is %u",
                          copy.chunk_rows, most_rows);
    }
    struct power_session *session = NULL;
    status = make_session(model, engine, context, &session, error);
    if (status != POWER_OK) return status;
    session->kv_type = copy.kv_type;
    session->chunk_rows = copy.chunk_rows ? copy.chunk_rows : most_rows;
    session->long_rope = power_engine_long_rope(engine, context);
    struct power_job job = power_session_job(session, POWER_JOB_OPEN);
    status = run_open(session, &job, error);
    if (status != POWER_OK) {
        power_session_close(session);
        return status;
    }
    *out_session = session;
    return POWER_OK;
}

void power_session_close(power_session *session) {
    if (!session || session->busy) return; /* closed from its own callback it has to stay */
    struct power_model *model = session->model;
    const power_allocator *allocator = model->host.allocator;
    if (session->sequence) {
        struct power_job job = power_session_job(session, POWER_JOB_CLOSE);
        job.cancel = NULL;
        while (power_engine_call(session->engine, &job, NULL) == POWER_OVERLOADED) {
            power_cpu_relax(); /* a full queue empties within a step */
        }
    }
    power_cond_destroy(session->cond);
    power_release(allocator, session->tokens, session->context, sizeof *session->tokens);
    power_release(allocator, session, 1, sizeof *session);
    power_model_destroy(model); /* it goes with the last of its sessions, if its caller closed it */
}

uint32_t power_session_length(const power_session *session) {
    return session ? session->length : 0;
}

uint32_t power_session_context(const power_session *session) {
    return session ? session->context : 0;
}

const uint32_t *power_session_tokens(const power_session *session) {
    return session ? session->tokens : NULL;
}

void power_session_cancel(power_session *session) {
    if (session) atomic_store(&session->cancel, 1);
}

/* ---- calls ---- */

power_status power_session_evaluate(power_session *session, const uint32_t *ids, size_t n_ids,
                                    const uint32_t *rows, size_t n_rows, float *out_logits,
                                    power_error *error) {
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    struct power_job job = power_session_job(session, POWER_JOB_EVALUATE);
    status =
        power_request_evaluate(session->engine, ids, n_ids, rows, n_rows, out_logits, &job, error);
    if (status != POWER_OK) return status;
    status = power_engine_call(session->engine, &job, error);
    power_session_settle(session, status);
    if (status == POWER_OK) session->length += job.n_ids;
    return status;
}

power_status power_session_truncate(power_session *session, uint32_t length, power_error *error) {
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    struct power_job job = power_session_job(session, POWER_JOB_TRUNCATE);
    job.length = length;
    status = power_engine_call(session->engine, &job, error);
    if (status == POWER_OK) session->length = length;
    return status;
}

power_status power_session_fork(power_session *session, power_session **out_session,
                                power_error *error) {
    if (!session || !out_session) {
        return power_fail(error, POWER_INVALID, "session or out_session is NULL");
    }
    struct power_session *fork = NULL;
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    status = make_session(session->model, session->engine, session->context, &fork, error);
    if (status != POWER_OK) return status;
    fork->kv_type = session->kv_type;
    fork->chunk_rows = session->chunk_rows;
    fork->long_rope = session->long_rope;
    struct power_job job = power_session_job(fork, POWER_JOB_FORK);
    job.source = session->sequence;
    status = run_open(fork, &job, error);
    if (status != POWER_OK) {
        power_session_close(fork);
        return status;
    }
    fork->length = session->length;
    *out_session = fork;
    return POWER_OK;
}

power_status power_session_save(power_session *session, void *out, size_t capacity,
                                size_t *out_bytes, power_error *error) {
    if (!session || (!out && capacity) || !out_bytes) {
        return power_fail(error, POWER_INVALID, "session, out or out_bytes is NULL");
    }
    struct power_saved saved;
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    status = power_saved_layout(session->engine, session->length, &saved, error);
    if (status != POWER_OK) return status;
    *out_bytes = saved.total_bytes;
    if (capacity < saved.total_bytes) {
        return power_fail(error, POWER_LIMIT, "the state has %zu bytes, capacity is %zu",
                          saved.total_bytes, capacity);
    }
    saved.kv_type = session->kv_type;
    saved.long_rope = session->long_rope;
    struct power_job job = power_session_job(session, POWER_JOB_SAVE);
    job.bytes = (unsigned char *)out + saved.pieces_offset;
    job.n_bytes = saved.pieces_bytes;
    status = power_engine_call(session->engine, &job, error);
    if (status != POWER_OK) return status;
    return power_saved_seal(session->model, &saved, session->tokens, out, error);
}

power_status power_session_load(power_session *session, const void *bytes, size_t length,
                                power_error *error) {
    if (!session || !bytes) return power_fail(error, POWER_INVALID, "session or bytes is NULL");
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    if (session->length) {
        return power_fail(error, POWER_STATE, "the session holds %u tokens, it must be empty",
                          session->length);
    }
    struct power_saved saved;
    status = power_saved_open(session->model, session->engine, session->kv_type, session->long_rope,
                              bytes, length, &saved, error);
    if (status != POWER_OK) return status;
    if (saved.length > session->context) {
        return power_fail(error, POWER_CONTEXT_FULL, "%u tokens do not fit in a context of %u",
                          saved.length, session->context);
    }
    power_saved_ids(&saved, bytes, session->tokens);
    struct power_job job = power_session_job(session, POWER_JOB_LOAD);
    job.length = saved.length;
    job.saved = (const unsigned char *)bytes + saved.pieces_offset;
    job.n_bytes = saved.pieces_bytes;
    status = power_engine_call(session->engine, &job, error);
    if (status == POWER_OK) session->length = saved.length;
    return status;
}
