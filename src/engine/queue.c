/* SPDX-License-Identifier: MIT */
/* The callers' side of an engine: a bounded queue in, tokens and results out.
 * Input: jobs on their callers' stacks. Output: jobs done. Threads: any caller's; the scheduler
 * reads the queue in engine.c. Bounds: max_queued jobs; a full queue refuses. */
#include "engine/engine.h"

power_status power_engine_post(struct power_engine *engine, struct power_job *job,
                               power_error *error) {
    power_mutex_lock(engine->mutex);
    uint32_t queued = engine->n_queued;
    if (queued < engine->max_queued) {
        job->next = NULL;
        job->done = false;
        if (engine->queue_tail) {
            engine->queue_tail->next = job;
        } else {
            engine->queue_head = job;
        }
        engine->queue_tail = job;
        engine->n_queued++;
        engine->events++;
        power_cond_signal(engine->wake);
    }
    power_mutex_unlock(engine->mutex);
    if (queued < engine->max_queued) return POWER_OK;
    return power_fail(error, POWER_OVERLOADED, "%u calls are queued, at most %u may be", queued,
                      engine->max_queued);
}

power_status power_engine_call(struct power_engine *engine, struct power_job *job,
                               power_error *error) {
    power_status status = power_engine_post(engine, job, error);
    if (status != POWER_OK) return status;
    power_mutex_lock(engine->mutex);
    while (!job->done)
        power_cond_wait(job->cond, engine->mutex);
    power_mutex_unlock(engine->mutex);
    if (job->status != POWER_OK && error) *error = job->error;
    return job->status;
}

bool power_engine_next(struct power_engine *engine, struct power_job *job,
                       struct power_token *out) {
    power_mutex_lock(engine->mutex);
    while (job->popped == job->pushed && !job->done)
        power_cond_wait(job->cond, engine->mutex);
    bool found = job->popped != job->pushed;
    if (found) *out = job->ring[job->popped++ % POWER_TOKEN_RING];
    power_mutex_unlock(engine->mutex);
    return found;
}

void power_engine_acknowledge(struct power_engine *engine, struct power_job *job, bool stop) {
    power_mutex_lock(engine->mutex);
    job->acked++;
    if (stop) job->stop = true;
    engine->events++;
    power_cond_signal(engine->wake);
    power_mutex_unlock(engine->mutex);
}
