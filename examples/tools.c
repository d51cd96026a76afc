/* SPDX-License-Identifier: MIT */
/* A function call: the model must call one of the tools, with arguments that its schema allows.
 * Input: a model file and a question. Output: the calls on standard output, one a line, as the
 * function's name, a space and its arguments in JSON. Threads: the runtime's. Bounds: prompts of
 * MAX_IDS tokens and MAX_TEXT bytes, answers of MAX_TOKENS.
 *
 * Build: cc tools.c $(pkg-config --cflags --libs power) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power/power.h"

enum { MAX_IDS = 4096, MAX_TEXT = 1 << 15, MAX_TOKENS = 300 };

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {"
    "   \"name\": \"get_weather\","
    "   \"description\": \"The weather in a city.\","
    "   \"parameters\": {"
    "     \"type\": \"object\","
    "     \"properties\": {"
    "       \"city\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 60},"
    "       \"unit\": {\"enum\": [\"celsius\", \"fahrenheit\"]}},"
    "     \"required\": [\"city\", \"unit\"],"
    "     \"additionalProperties\": false}}}]";

/* Arguments come in pieces as the model writes them. */
static int on_event(void *context, const power_answer_event *event) {
    FILE *out = context;
    if (event->kind == POWER_ANSWER_CALL)
        return fprintf(out, "%.*s ", (int)event->text_bytes, event->text) < 0;
    if (event->kind == POWER_ANSWER_ARGUMENTS)
        return fwrite(event->text, 1, event->text_bytes, out) != event->text_bytes;
    if (event->kind == POWER_ANSWER_CALL_END) return fprintf(out, "\n") < 0;
    return 0;
}

static int on_delta(void *context, const power_delta *delta) {
    return power_answer_push(context, delta, NULL) != POWER_OK;
}

static power_status open_answer(power_model *model, const char *prompt, power_answer **out_answer,
                                power_error *error) {
    power_answer_options options;
    power_answer_options_init(&options);
    options.tools_json = tools;
    options.prompt = prompt;
    options.on_event = on_event;
    options.context = stdout;
    return power_answer_open(model, &options, out_answer, error);
}

/* The reasoning of models that think comes before the constraint begins. */
static power_status generate(power_model *model, power_session *session,
                             power_constraint *constraint, power_answer *answer,
                             const uint32_t *ids, size_t n_ids, power_error *error) {
    power_answer_format_info format = {.struct_size = sizeof format};
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_status status = power_model_answer_format(model, &format, error);
    if (status != POWER_OK) return status;
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n_ids;
    options.max_tokens = MAX_TOKENS;
    options.show_special = 1; /* marks of calls may be control tokens */
    options.constraint = constraint;
    if (format.reasoning_close[0]) options.constraint_after = format.reasoning_close;
    options.on_delta = on_delta;
    options.context = answer;
    status = power_generate(session, &options, &result, error);
    if (status != POWER_OK) return status;
    return power_answer_finish(answer, result.finish != POWER_FINISH_STOP, error);
}

static power_status call(power_model *model, power_session *session, power_constraint *constraint,
                         const char *question, power_error *error) {
    const power_message message = {"user", question};
    power_render_options options;
    power_answer *answer = NULL;
    uint32_t ids[MAX_IDS];
    char prompt[MAX_TEXT];
    size_t n_ids = 0, bytes = 0;
    power_render_options_init(&options);
    options.messages = &message;
    options.n_messages = 1;
    options.tools_json = tools;
    power_status status = power_render_chat(model, &options, prompt, sizeof prompt, &bytes, error);
    if (status == POWER_OK)
        status = power_render_tokens(model, &options, ids, MAX_IDS, &n_ids, error);
    if (status == POWER_OK) status = open_answer(model, prompt, &answer, error);
    if (status == POWER_OK)
        status = generate(model, session, constraint, answer, ids, n_ids, error);
    power_answer_close(answer);
    return status;
}

int main(int argc, char **argv) {
    power_error error = {0};
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    power_session *session = NULL;
    power_constraint *constraint = NULL;
    power_tools_options options;
    if (argc != 3) {
        fprintf(stderr, "usage: tools MODEL QUESTION\n");
        return 2;
    }
    power_tools_options_init(&options);
    options.tools_json = tools;
    options.choice = POWER_TOOL_CHOICE_REQUIRED;
    int failed = power_runtime_open(NULL, &runtime, &error) != POWER_OK ||
                 power_model_open(runtime, argv[1], NULL, &model, &error) != POWER_OK ||
                 power_tools_constraint_open(model, &options, &constraint, &error) != POWER_OK ||
                 power_session_open(model, NULL, &session, &error) != POWER_OK ||
                 call(model, session, constraint, argv[2], &error) != POWER_OK;
    if (failed) fprintf(stderr, "tools: %s\n", error.message);
    power_constraint_close(constraint);
    power_session_close(session);
    power_model_close(model);
    power_runtime_close(runtime);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
