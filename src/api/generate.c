/* SPDX-License-Identifier: MIT */
/* power_generate: the caller's thread turns tokens into text while the engine makes the next.
 * Input: options. Output: deltas through the caller's function, a result.
 * Threads: the caller's. Bounds: the engine's ring of tokens; one buffer for a token's text. */
#include <string.h>

#include "api/session.h"

#define DELTA_BYTES ((size_t)1 << 20)

void power_generate_options_init(power_generate_options *options) {
    if (!options) return;
    *options = (power_generate_options){.struct_size = sizeof *options};
    power_sampling_init(&options->sampling);
}

/* What the caller's side keeps while tokens come in. */
struct stream {
    const power_generate_options *options;
    struct power_detokenizer detokenizer;
    struct power_buffer text;
    uint64_t started_ns, first_ns;
    uint32_t delivered;
    bool stopped;
    power_status status; /* of turning ids into text */
};

static bool deliver(struct stream *stream, uint32_t id, float logprob) {
    power_delta delta = {.id = id,
                         .text = stream->text.bytes ? stream->text.bytes : "",
                         .text_bytes = stream->text.length,
                         .logprob = logprob};
    return stream->options->on_delta(stream->options->context, &delta) != 0;
}

static void take_token(struct stream *stream, struct power_token token, power_error *error) {
    power_buffer_clear(&stream->text);
    stream->status = power_detokenizer_push(&stream->detokenizer, token.id, &stream->text, error);
    if (stream->status != POWER_OK) {
        stream->stopped = true;
        return;
    }
    if (stream->delivered == 0) stream->first_ns = power_clock_ns();
    stream->delivered++;
    stream->stopped = deliver(stream, token.id, token.logprob);
}

/* Tokens that were made but never delivered are let go. */
static void pump(struct power_engine *engine, struct power_job *job, struct stream *stream,
                 power_error *error) {
    struct power_token token;
    while (power_engine_next(engine, job, &token)) {
        if (!stream->stopped) take_token(stream, token, error);
        power_engine_acknowledge(engine, job, stream->stopped);
    }
}

/* Bytes held back for a character that never came: one more delta, of no token. */
static power_status flush_text(struct stream *stream, power_error *error) {
    power_buffer_clear(&stream->text);
    power_status status = power_detokenizer_finish(&stream->detokenizer, &stream->text, error);
    if (status == POWER_OK && stream->text.length) (void)deliver(stream, UINT32_MAX, 0.0f);
    return status;
}

/* The engine may have run ahead of a caller that stopped: the state keeps all delivered tokens but
 * the last, however far it got. */
static power_status step_back(struct power_session *session, const struct power_job *done,
                              const struct stream *stream, power_error *error) {
    uint32_t keeps =
        session->length + done->n_ids + (stream->delivered ? stream->delivered - 1 : 0);
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

static power_status finish(struct power_session *session, struct power_job *job,
                           struct stream *stream, power_error *error) {
    if (stream->stopped) {
        power_status status = step_back(session, job, stream, error);
        if (status != POWER_OK || stream->status != POWER_OK) {
            return stream->status != POWER_OK ? stream->status : status;
        }
        job->result.finish = POWER_FINISH_CALLBACK;
        job->result.end_id = UINT32_MAX;
        job->result.prompt_tokens = job->n_ids;
        job->result.output_tokens = stream->delivered;
        return POWER_OK;
    }
    session->length = job->length;
    if (job->status != POWER_OK && error) *error = job->error;
    return job->status;
}

static power_status run(struct power_session *session, struct power_job *job, struct stream *stream,
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
    pump(session->engine, job, stream, error);
    status = finish(session, job, stream, error);
    if (status == POWER_OK) status = flush_text(stream, error);
    return status;
}

static power_status check_options(const power_generate_options *options,
                                  power_generate_options *out, power_error *error) {
    power_generate_options_init(out);
    power_status status = power_options_copy(out, sizeof *out, options, options->struct_size,
                                             "generate options", error);
    if (status != POWER_OK) return status;
    if (out->sampling.struct_size == sizeof out->sampling) return POWER_OK;
    return power_fail(error, POWER_INVALID,
                      "sampling: struct_size is %zu, this library knows %zu (call its _init)",
                      out->sampling.struct_size, sizeof out->sampling);
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
    status = check_options(options, &copy, error);
    if (status != POWER_OK) return status;
    struct power_job job = power_session_job(session, POWER_JOB_GENERATE);
    status = power_request_generate(session->engine, &copy, session->length, session->context, &job,
                                    error);
    if (status != POWER_OK) return status;
    struct stream stream = {.options = &copy, .started_ns = power_clock_ns()};
    power_detokenizer_init(&stream.detokenizer, session->model->vocab, copy.show_special != 0);
    power_buffer_init(&stream.text, session->model->host.allocator, DELTA_BYTES);
    session->busy = true;
    status = run(session, &job, &stream, error);
    session->busy = false;
    power_buffer_finish(&stream.text);
    power_session_settle(session, status);
    if (status == POWER_OK && out_result) {
        size_t size = out_result->struct_size;
        job.result.struct_size = size;
        job.result.first_token_ns =
            stream.first_ns ? stream.first_ns - stream.started_ns : job.result.prefill_ns;
        memcpy(out_result, &job.result, size);
    }
    return status;
}
