/* SPDX-License-Identifier: MIT */
/* Stage "request": a parsed call -> a job with its limits applied.
 * Input: public arguments. Output: a job that the scheduler can trust.
 * Threads: the caller's. Bounds: ids below the vocabulary, rows ascending, everything inside the
 * context. */
#include <string.h>

#include "engine/engine.h"

static power_status check_ids(const struct power_engine *engine, const uint32_t *ids, size_t n_ids,
                              const char *what, power_error *error) {
    if (n_ids && !ids) return power_fail(error, POWER_INVALID, "%s: NULL with a count", what);
    if (n_ids > UINT32_MAX) {
        return power_fail(error, POWER_LIMIT, "%s: %zu ids, at most %u", what, n_ids, UINT32_MAX);
    }
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < engine->n_vocab) continue;
        return power_fail(error, POWER_INVALID, "%s: id %u at %zu, the vocabulary has %u", what,
                          ids[i], i, engine->n_vocab);
    }
    return POWER_OK;
}

power_status power_request_evaluate(const struct power_engine *engine, const uint32_t *ids,
                                    size_t n_ids, const uint32_t *rows, size_t n_rows,
                                    float *out_logits, struct power_job *out, power_error *error) {
    power_status status = check_ids(engine, ids, n_ids, "ids", error);
    if (status != POWER_OK) return status;
    if (n_rows && (!rows || !out_logits)) {
        return power_fail(error, POWER_INVALID, "rows or out_logits is NULL, n_rows is %zu",
                          n_rows);
    }
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i] >= n_ids) {
            return power_fail(error, POWER_INVALID, "row %u wanted of %zu ids", rows[i], n_ids);
        }
        if (i && rows[i] <= rows[i - 1]) {
            return power_fail(error, POWER_INVALID, "rows are not ascending at %zu", i);
        }
    }
    out->kind = POWER_JOB_EVALUATE;
    out->ids = ids;
    out->n_ids = (uint32_t)n_ids;
    out->rows = rows;
    out->n_rows = (uint32_t)n_rows;
    out->out_logits = out_logits;
    return POWER_OK;
}

power_status power_request_generate(const struct power_engine *engine,
                                    const power_generate_options *options, uint32_t length,
                                    uint32_t context, struct power_job *out, power_error *error) {
    power_status status = check_ids(engine, options->ids, options->n_ids, "prompt", error);
    if (status == POWER_OK) {
        status = check_ids(engine, options->stop_ids, options->n_stop_ids, "stop_ids", error);
    }
    if (status == POWER_OK) {
        status = power_sampling_check(&options->sampling, engine->n_vocab, error);
    }
    if (status != POWER_OK) return status;
    if (options->n_ids == 0 && length == 0) {
        return power_fail(error, POWER_INVALID, "no prompt, and the session is empty");
    }
    if (options->n_ids > context - length) {
        return power_fail(error, POWER_CONTEXT_FULL,
                          "context full: %u tokens and a prompt of %zu do not fit in %u", length,
                          options->n_ids, context);
    }
    out->kind = POWER_JOB_GENERATE;
    out->ids = options->ids;
    out->n_ids = (uint32_t)options->n_ids;
    out->generate = options;
    out->streams = options->on_delta != NULL || options->n_stops != 0;
    return POWER_OK;
}
