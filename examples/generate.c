/* SPDX-License-Identifier: MIT */
/* A question and its answer: opens a model, renders the chat template, streams the text.
 * Input: a model file and a question. Output: the answer on standard output, its rate on standard
 * error. Threads: the runtime's. Bounds: prompts of MAX_IDS tokens, answers of 200.
 *
 * Build: cc generate.c $(pkg-config --cflags --libs power) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power/power.h"

enum { MAX_IDS = 4096 };

/* Nonzero stops: here when nobody reads any more. */
static int on_delta(void *context, const power_delta *delta) {
    (void)context;
    return fwrite(delta->text, 1, delta->text_bytes, stdout) != delta->text_bytes || fflush(stdout);
}

/* The question as token ids: by the model's template, as it is when the model has none. Rendering
 * to ids keeps a question that spells a control token plain text. */
static power_status encode(const power_model *model, const char *question, uint32_t *ids,
                           size_t *n_ids, power_error *error) {
    const power_message message = {"user", question};
    power_render_options options;
    power_render_options_init(&options);
    options.messages = &message;
    options.n_messages = 1;
    power_status status = power_render_tokens(model, &options, ids, MAX_IDS, n_ids, error);
    if (status == POWER_NOT_FOUND)
        return power_tokenize(model, question, strlen(question), 1, 0, ids, MAX_IDS, n_ids, error);
    return status;
}

static power_status answer(power_session *session, const uint32_t *ids, size_t n_ids,
                           power_error *error) {
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n_ids;
    options.max_tokens = 200;
    options.on_delta = on_delta;
    power_status status = power_generate(session, &options, &result, error);
    if (status != POWER_OK) return status;
    printf("\n");
    if (result.output_tokens > 1 && result.decode_ns)
        fprintf(stderr, "%u tokens, %.1f a second\n", result.output_tokens,
                (result.output_tokens - 1) * 1e9 / (double)result.decode_ns);
    return POWER_OK;
}

int main(int argc, char **argv) {
    power_error error = {0};
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    power_session *session = NULL;
    uint32_t ids[MAX_IDS];
    size_t n_ids = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: generate MODEL QUESTION\n");
        return 2;
    }
    int failed = power_runtime_open(NULL, &runtime, &error) != POWER_OK ||
                 power_model_open(runtime, argv[1], NULL, &model, &error) != POWER_OK ||
                 power_session_open(model, NULL, &session, &error) != POWER_OK ||
                 encode(model, argv[2], ids, &n_ids, &error) != POWER_OK ||
                 answer(session, ids, n_ids, &error) != POWER_OK;
    if (failed) fprintf(stderr, "generate: %s\n", error.message);
    power_session_close(session);
    power_model_close(model);
    power_runtime_close(runtime);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
