/* SPDX-License-Identifier: MIT */
/* Facts out of a text, as JSON that a schema describes: a constrained answer.
 * Input: a model file and a text. Output: one line of JSON on standard output. Exit status 3 when
 * the answer was cut: what was printed is then no whole JSON text. Threads: the runtime's. Bounds:
 * prompts of MAX_IDS tokens, answers of MAX_TOKENS.
 *
 * Build: cc extract.c $(pkg-config --cflags --libs power) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power/power.h"

enum { MAX_IDS = 4096, MAX_TOKENS = 200, EXIT_CUT = 3 };

/* Every member is named, and no other is allowed: a schema that leaves something free admits it. */
static const char schema[] =
    "{\"type\": \"object\","
    " \"properties\": {"
    "   \"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 40},"
    "   \"age\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 150},"
    "   \"languages\": {\"type\": \"array\", \"maxItems\": 3,"
    "                 \"items\": {\"enum\": [\"English\", \"German\", \"Chinese\"]}}},"
    " \"required\": [\"name\", \"age\", \"languages\"],"
    " \"additionalProperties\": false}";

static int on_delta(void *context, const power_delta *delta) {
    (void)context;
    return fwrite(delta->text, 1, delta->text_bytes, stdout) != delta->text_bytes;
}

static power_status encode(const power_model *model, const char *text, uint32_t *ids, size_t *n_ids,
                           power_error *error) {
    const power_message messages[2] = {
        {"system", "Write the person's name, age and languages as JSON."}, {"user", text}};
    power_render_options options;
    power_render_options_init(&options);
    options.messages = messages;
    options.n_messages = 2;
    return power_render_tokens(model, &options, ids, MAX_IDS, n_ids, error);
}

/* Compact JSON holds no newline, so one would end nothing; the stop string shows how it is done. */
static power_status answer(power_session *session, power_constraint *constraint,
                           const uint32_t *ids, size_t n_ids, int *out_cut, power_error *error) {
    const power_stop_text stop = {"\n", 1};
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n_ids;
    options.max_tokens = MAX_TOKENS;
    options.constraint = constraint;
    options.stops = &stop;
    options.n_stops = 1;
    options.on_delta = on_delta;
    power_status status = power_generate(session, &options, &result, error);
    if (status != POWER_OK) return status;
    /* Only an end token says that the text is whole; a limit or a stop string may cut it. */
    *out_cut = result.end_id == UINT32_MAX;
    printf("\n");
    return POWER_OK;
}

int main(int argc, char **argv) {
    power_error error = {0};
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    power_session *session = NULL;
    power_constraint *constraint = NULL;
    power_constraint_options options;
    uint32_t ids[MAX_IDS];
    size_t n_ids = 0;
    int cut = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: extract MODEL TEXT\n");
        return 2;
    }
    power_constraint_options_init(&options);
    options.kind = POWER_CONSTRAINT_SCHEMA;
    options.space = POWER_JSON_SPACE_COMPACT;
    int failed = power_runtime_open(NULL, &runtime, &error) != POWER_OK ||
                 power_model_open(runtime, argv[1], NULL, &model, &error) != POWER_OK ||
                 power_constraint_open(model, schema, strlen(schema), &options, &constraint,
                                       &error) != POWER_OK ||
                 power_session_open(model, NULL, &session, &error) != POWER_OK ||
                 encode(model, argv[2], ids, &n_ids, &error) != POWER_OK ||
                 answer(session, constraint, ids, n_ids, &cut, &error) != POWER_OK;
    if (failed) fprintf(stderr, "extract: %s\n", error.message);
    if (cut) fprintf(stderr, "extract: the answer was cut\n");
    power_constraint_close(constraint);
    power_session_close(session);
    power_model_close(model);
    power_runtime_close(runtime);
    return failed ? EXIT_FAILURE : cut ? EXIT_CUT : EXIT_SUCCESS;
}
