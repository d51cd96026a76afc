/* SPDX-License-Identifier: MIT */
/* A C program outside the tree. Input: the version it expects, and a model file to run if given.
 * Output: exit 0 when the library answers as its headers say. Threads: one. Bounds: 8 tokens. */
#include <power/power.h>

#include <stdio.h>
#include <string.h>

static power_status answer(power_runtime *runtime, const char *path, power_error *error) {
    const uint32_t prompt[3] = {1, 2, 3};
    power_model *model = NULL;
    power_session *session = NULL;
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&options);
    options.ids = prompt;
    options.n_ids = 3;
    options.sampling.temperature = 0.0f;
    options.max_tokens = 8;
    options.ignore_end_tokens = 1;

    power_status status = power_model_open(runtime, path, NULL, &model, error);
    if (!status) status = power_session_open(model, NULL, &session, error);
    if (!status) status = power_generate(session, &options, &result, error);
    power_session_close(session);
    power_model_close(model);
    if (!status && (result.output_tokens != 8 || result.finish != POWER_FINISH_LENGTH)) {
        fprintf(stderr, "8 tokens expected, %u given\n", (unsigned)result.output_tokens);
        return POWER_STATE;
    }
    return status;
}

int main(int argc, char **argv) {
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    power_error error;
    if (argc < 2 || strcmp(argv[1], power_version()) != 0) return 1;
    power_status status = power_runtime_open(NULL, &runtime, &error);
    if (status) {
        fprintf(stderr, "%s: %s\n", power_status_name(status), error.message);
        return 1;
    }
    /* A file that is not there is an error with a message, and no model. */
    status = power_model_open(runtime, "/nonexistent.gguf", NULL, &model, &error);
    if (!status || model || error.status != status || !error.message[0]) return 1;
    status = argc > 2 ? answer(runtime, argv[2], &error) : POWER_OK;
    if (status) fprintf(stderr, "%s: %s\n", power_status_name(status), error.message);
    power_runtime_close(runtime);
    return status ? 1 : 0;
}
