/* SPDX-License-Identifier: MIT */
/* power_generate: the caller's thread turns tokens into text while the engine makes the next.
 * Input: options. Output: deltas through the caller's function, a result.
 * Threads: the caller's. Bounds: the engine's ring of tokens; one buffer for a token's text. */
#include <string.h>

#include "api/constraint.h"
#include "api/session.h"
#include "text/stream/stream.h"
#include "text/utf8.h"

#define DELTA_BYTES ((size_t)8 << 20) /* more than what stop strings can hold back */

void power_generate_options_init(power_generate_options *options) {
    if (!options) return;
    *options = (power_generate_options){.struct_size = sizeof *options};
    power_sampling_init(&options->sampling);
}

/* What the caller's side keeps while tokens come in. */
struct delivery {
    const power_generate_options *options;
    const struct power_vocab *vocab;
    struct power_stops *stops;
    uint32_t *stop_controls; /* [n_stops]: the control token that the string spells, or none */
    struct power_stream stream;
    uint64_t started_ns, first_ns;
    uint32_t delivered;
    uint32_t n_top;
    uint32_t stop; /* the stop string that came, or POWER_NO_STOP */
    bool stopped;
    power_status status; /* of turning ids into text */
};

/* ---- stop strings ---- */

static power_status check_stops(const power_generate_options *options, power_error *error) {
    if (options->n_stops && !options->stops) {
        return power_fail(error, POWER_INVALID, "\"stops\" is NULL, n_stops is %zu",
                          options->n_stops);
    }
    if (options->n_stops > POWER_MAX_STOPS) {
        return power_fail(error, POWER_LIMIT, "%zu stop strings, at most %u are taken",
                          options->n_stops, POWER_MAX_STOPS);
    }
    for (size_t i = 0; i < options->n_stops; i++) {
        struct power_text text = {options->stops[i].text, options->stops[i].text_bytes};
        if (!text.bytes) return power_fail(error, POWER_INVALID, "stop string %zu is NULL", i);
        size_t broken = text.length <= POWER_MAX_STOP_BYTES ? power_utf8_check(text) : text.length;
        if (broken == text.length) continue;
        return power_fail_at(error, POWER_INVALID, broken,
                             "stop string %zu is not UTF-8 at byte %zu", i, broken);
    }
    return POWER_OK;
}

/* A control token that is not shown gives no text: a stop string that spells it is its id. */
static uint32_t control_of(const struct delivery *d, struct power_text text) {
    uint32_t id = d->options->show_special ? POWER_NO_TOKEN : power_vocab_find(d->vocab, text);
    if (id == POWER_NO_TOKEN) return id;
    return power_vocab_token_type(d->vocab, id) == POWER_TOKEN_CONTROL ? id : POWER_NO_TOKEN;
}

static power_status open_stops(struct delivery *d, const power_allocator *allocator,
                               power_error *error) {
    size_t n = d->options->n_stops;
    if (n == 0) return POWER_OK;
    struct power_text *texts = power_alloc(allocator, n, sizeof *texts);
    d->stop_controls = power_alloc(allocator, n, sizeof *d->stop_controls);
    power_status status = POWER_OK;
    if (!texts || !d->stop_controls) {
        status = power_fail_memory(error, n * sizeof *texts, "stop strings");
    }
    for (size_t i = 0; status == POWER_OK && i < n; i++) {
        const power_stop_text *stop = &d->options->stops[i];
        texts[i] = (struct power_text){stop->text, stop->text_bytes};
        d->stop_controls[i] = control_of(d, texts[i]);
    }
    if (status == POWER_OK) status = power_stops_create(allocator, texts, n, &d->stops, error);
    power_release(allocator, texts, n, sizeof *texts);
    return status;
}

static uint32_t stop_of_control(const struct delivery *d, uint32_t id) {
    if (power_vocab_token_type(d->vocab, id) != POWER_TOKEN_CONTROL) return POWER_NO_STOP;
    for (size_t i = 0; i < d->options->n_stops; i++) {
        if (d->stop_controls[i] == id) return (uint32_t)i;
    }
    return POWER_NO_STOP;
}

/* ---- deltas ---- */

static power_status open_delivery(struct delivery *d, const struct power_session *session,
                                  const power_generate_options *options, power_error *error) {
    const power_allocator *allocator = session->model->host.allocator;
    *d = (struct delivery){.options = options,
                           .vocab = session->model->vocab,
                           .started_ns = power_clock_ns(),
                           .stop = POWER_NO_STOP};
    d->n_top = options->n_top_logprobs;
    if (d->n_top > session->engine->n_vocab) d->n_top = session->engine->n_vocab;
    power_status status = open_stops(d, allocator, error);
    power_stream_init(&d->stream, allocator, d->vocab, d->stops, options->show_special != 0,
                      DELTA_BYTES);
    uint32_t previous =
        options->n_ids ? options->ids[options->n_ids - 1] : session->tokens[session->length - 1];
    power_detokenizer_continue(&d->stream.detokenizer, previous);
    return status;
}

static void close_delivery(struct delivery *d, const power_allocator *allocator) {
    power_stream_finish(&d->stream);
    power_stops_destroy(d->stops);
    power_release(allocator, d->stop_controls, d->options->n_stops, sizeof *d->stop_controls);
}

static bool hand_out(struct delivery *d, const struct power_token *token, struct power_text bytes,
                     uint64_t offset, struct power_text text) {
    if (!d->options->on_delta) return false;
    power_delta delta = {.id = token->id,
                         .text = text.bytes,
                         .text_bytes = text.length,
                         .logprob = token->logprob,
                         .token_bytes = bytes.length ? bytes.bytes : "",
                         .n_token_bytes = bytes.length,
                         .text_offset = offset,
                         .top = token->top,
                         .n_top = token->id == UINT32_MAX ? 0 : d->n_top};
    return d->options->on_delta(d->options->context, &delta) != 0;
}

static void take_token(struct delivery *d, const struct power_token *token, power_error *error) {
    uint64_t offset = d->stream.text_bytes;
    uint32_t control = stop_of_control(d, token->id);
    struct power_text text, bytes = power_detokenizer_next(&d->stream.detokenizer, token->id);
    d->status = control == POWER_NO_STOP ? power_stream_push(&d->stream, bytes, &text, error)
                                         : power_stream_flush(&d->stream, &text, error);
    if (d->status != POWER_OK) {
        d->stopped = true;
        return;
    }
    if (d->delivered == 0) d->first_ns = power_clock_ns();
    d->delivered++;
    d->stop = d->stream.stop != POWER_NO_STOP ? d->stream.stop : control;
    d->stopped = hand_out(d, token, bytes, offset, text) || d->stop != POWER_NO_STOP;
}

/* Tokens that were made but never delivered are let go. */
static void pump(struct power_engine *engine, struct power_job *job, struct delivery *d,
                 power_error *error) {
    struct power_token token;
    while (power_engine_next(engine, job, &token)) {
        if (!d->stopped) take_token(d, &token, error);
        power_engine_acknowledge(engine, job, d->stopped);
    }
}

/* What was held back for more of a character, or of a stop string: one more delta, of no token. */
static power_status flush_text(struct delivery *d, power_generate_result *result,
                               power_error *error) {
    const struct power_token none = {.id = UINT32_MAX};
    struct power_text text;
    if (d->stop != POWER_NO_STOP) return POWER_OK;
    uint64_t offset = d->stream.text_bytes;
    power_status status = power_stream_flush(&d->stream, &text, error);
    if (status != POWER_OK) return status;
    if (text.length) (void)hand_out(d, &none, (struct power_text){0}, offset, text);
    if (d->stream.stop == POWER_NO_STOP) return POWER_OK;
    d->stop = d->stream.stop; /* one with U+FFFD in it */
    result->finish = POWER_FINISH_STOP;
    result->stop = d->stop;
    return POWER_OK;
}

/* ---- the call ---- */

/* The engine may have run ahead of a caller that stopped: the state keeps all delivered tokens but
 * the last, however far it got. */
static power_status step_back(struct power_session *session, const struct power_job *done,
                              const struct delivery *d, power_error *error) {
    uint32_t keeps = session->length + done->n_ids + (d->delivered ? d->delivered - 1 : 0);
    struct power_job job = power_session_job(session, POWER_JOB_TRUNCATE);
    uint32_t length = done->length;
    if (length <= keeps) {
        session->length = length;
        return POWER_OK;
    }
    job.length = keeps;
    power_status status = power_engine_call(session->engine, &job, error);
    session->length = status == POWER_OK ? keeps : length;
    return status;
}

static power_status finish(struct power_session *session, struct power_job *job, struct delivery *d,
                           power_error *error) {
    if (d->stopped) {
        power_status status = step_back(session, job, d, error);
        if (status != POWER_OK || d->status != POWER_OK) {
            return d->status != POWER_OK ? d->status : status;
        }
        job->result.finish = d->stop == POWER_NO_STOP ? POWER_FINISH_CALLBACK : POWER_FINISH_STOP;
        job->result.stop = d->stop;
        job->result.end_id = UINT32_MAX;
        job->result.prompt_tokens = job->n_ids;
        job->result.output_tokens = d->delivered;
        return POWER_OK;
    }
    session->length = job->length;
    if (job->status != POWER_OK && error) *error = job->error;
    return job->status;
}

static power_status run(struct power_session *session, struct power_job *job, struct delivery *d,
                        power_error *error) {
    /* A job that never becomes a ticket leaves the length where it was. */
    job->length = session->length;
    if (!job->streams) {
        power_status status = power_engine_call(session->engine, job, error);
        session->length = job->length;
        return status;
    }
    power_status status = power_engine_post(session->engine, job, error);
    if (status != POWER_OK) return status;
    pump(session->engine, job, d, error);
    status = finish(session, job, d, error);
    if (status == POWER_OK) status = flush_text(d, &job->result, error);
    return status;
}

static power_status run_constrained(struct power_session *session, struct power_job *job,
                                    struct delivery *d, power_error *error) {
    const power_generate_options *options = job->generate;
    if (!options->constraint) return run(session, job, d, error);
    struct power_model *model = session->model;
    struct power_constrained constrained = {0};
    struct power_matcher *matcher = NULL;
    power_status status = power_constraint_take(options->constraint, &matcher, error);
    if (status != POWER_OK) return status;
    status = power_constrained_init(&constrained, &model->counted.allocator, model->vocab, matcher,
                                    options, error);
    job->constrained = &constrained;
    if (status == POWER_OK) status = run(session, job, d, error);
    job->constrained = NULL;
    power_constrained_finish(&constrained);
    power_constraint_give(options->constraint, matcher,
                          status != POWER_LIMIT && status != POWER_NO_MEMORY);
    return status;
}

/* ---- options ---- */

static power_status check_constraint(const struct power_session *session,
                                     const power_generate_options *o, power_error *error) {
    if (!o->constraint) {
        if (!o->constraint_after && !o->constraint_prefix) return POWER_OK;
        return power_fail(error, POWER_INVALID, "\"%s\" is given, \"constraint\" is NULL",
                          o->constraint_after ? "constraint_after" : "constraint_prefix");
    }
    if (o->constraint->model != session->model) {
        return power_fail(error, POWER_INVALID, "\"constraint\" was opened on another model");
    }
    if (o->ignore_end_tokens) {
        return power_fail(error, POWER_INVALID,
                          "\"ignore_end_tokens\" and \"constraint\" exclude each other");
    }
    if (o->constraint_prefix_bytes && !o->constraint_prefix) {
        return power_fail(error, POWER_INVALID, "\"constraint_prefix\" is NULL, it has %zu bytes",
                          o->constraint_prefix_bytes);
    }
    return POWER_OK;
}

static power_status check_options(const struct power_session *session,
                                  const power_generate_options *options,
                                  power_generate_options *out, power_error *error) {
    power_generate_options_init(out);
    power_status status = power_options_copy(out, sizeof *out, options, options->struct_size,
                                             "generate options", error);
    if (status != POWER_OK) return status;
    if (out->sampling.struct_size != sizeof out->sampling) {
        return power_fail(error, POWER_INVALID,
                          "sampling: struct_size is %zu, this library knows %zu (call its _init)",
                          out->sampling.struct_size, sizeof out->sampling);
    }
    if (out->n_top_logprobs > POWER_MAX_TOP_LOGPROBS) {
        return power_fail(error, POWER_INVALID, "\"n_top_logprobs\" is %u, at most %d are given",
                          out->n_top_logprobs, POWER_MAX_TOP_LOGPROBS);
    }
    status = check_stops(out, error);
    return status == POWER_OK ? check_constraint(session, out, error) : status;
}

static void write_result(power_generate_result *out, struct power_job *job,
                         const struct delivery *d) {
    size_t size = out->struct_size;
    job->result.struct_size = size;
    job->result.first_token_ns = d->first_ns ? d->first_ns - d->started_ns : job->result.prefill_ns;
    memcpy(out, &job->result, size);
}

power_status power_generate(power_session *session, const power_generate_options *options,
                            power_generate_result *out_result, power_error *error) {
    power_generate_options copy;
    power_status status = power_session_idle(session, error);
    if (status != POWER_OK) return status;
    if (!options) return power_fail(error, POWER_INVALID, "options is NULL");
    if (out_result && (out_result->struct_size < sizeof(size_t) ||
                       out_result->struct_size > sizeof *out_result)) {
        return power_fail(error, POWER_INVALID,
                          "generate result: struct_size is %zu, this library knows %zu",
                          out_result->struct_size, sizeof *out_result);
    }
    status = check_options(session, options, &copy, error);
    if (status != POWER_OK) return status;
    struct power_job job = power_session_job(session, POWER_JOB_GENERATE);
    status = power_request_generate(session->engine, &copy, session->length, session->context, &job,
                                    error);
    if (status != POWER_OK) return status;
    struct delivery d;
    status = open_delivery(&d, session, &copy, error);
    job.n_top = d.n_top;
    session->busy = true;
    if (status == POWER_OK) status = run_constrained(session, &job, &d, error);
    session->busy = false;
    close_delivery(&d, session->model->host.allocator);
    power_session_settle(session, status);
    if (status == POWER_OK && out_result) write_result(out_result, &job, &d);
    return status;
}
