/* SPDX-License-Identifier: MIT */
/* A conversation: each line of standard input is a question, the model sees all that was said.
 * Input: a model file, and lines on standard input. Output: the answers on standard output, what
 * the model thinks before them on standard error. Threads: the runtime's. Bounds: MAX_MESSAGES
 * messages, MAX_IDS tokens of conversation, MAX_TEXT bytes of each text.
 *
 * Build: cc chat.c $(pkg-config --cflags --libs power) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power/power.h"

enum { MAX_MESSAGES = 100, MAX_IDS = 4096, MAX_TEXT = 1 << 14, MAX_TOKENS = 300 };

struct chat {
    power_model *model;
    power_session *session;
    power_message messages[MAX_MESSAGES]; /* contents are owned */
    size_t n_messages;
    uint32_t ids[MAX_IDS];
    char prompt[8 * MAX_TEXT], said[MAX_TEXT];
    size_t said_bytes;
    power_answer *answer; /* of the question under way */
};

static int add(struct chat *c, const char *role, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = c->n_messages < MAX_MESSAGES ? malloc(bytes) : NULL;
    if (!copy) return 1;
    memcpy(copy, text, bytes);
    c->messages[c->n_messages++] = (power_message){role, copy};
    return 0;
}

/* Text is kept: it becomes the assistant's message. Reasoning is shown and forgotten. */
static int on_event(void *context, const power_answer_event *event) {
    struct chat *c = context;
    if (event->kind == POWER_ANSWER_REASONING)
        return fwrite(event->text, 1, event->text_bytes, stderr) != event->text_bytes;
    if (event->kind != POWER_ANSWER_TEXT) return 0; /* no tools are given, so there are no calls */
    if (event->text_bytes >= sizeof c->said - c->said_bytes) return 1;
    memcpy(c->said + c->said_bytes, event->text, event->text_bytes);
    c->said_bytes += event->text_bytes;
    return fwrite(event->text, 1, event->text_bytes, stdout) != event->text_bytes || fflush(stdout);
}

static int on_delta(void *context, const power_delta *delta) {
    struct chat *c = context;
    return power_answer_push(c->answer, delta, NULL) != POWER_OK;
}

/* The conversation as ids in c->ids, and as the text that the parser of answers asks for. */
static power_status render(struct chat *c, size_t *out_count, power_error *error) {
    power_render_options options;
    size_t bytes;
    power_render_options_init(&options);
    options.messages = c->messages;
    options.n_messages = c->n_messages;
    power_status status =
        power_render_chat(c->model, &options, c->prompt, sizeof c->prompt, &bytes, error);
    if (status != POWER_OK) return status;
    return power_render_tokens(c->model, &options, c->ids, MAX_IDS, out_count, error);
}

/* Keeps what the state has in common with the conversation; *out_kept tokens need no prefill. At
 * least the last token is left to feed. */
static power_status rewind_state(struct chat *c, size_t count, size_t *out_kept,
                                 power_error *error) {
    const uint32_t *held = power_session_tokens(c->session);
    uint32_t length = power_session_length(c->session), same = 0;
    while (same < length && same + 1 < count && held[same] == c->ids[same])
        same++;
    power_status status = power_session_truncate(c->session, same, error);
    if (status == POWER_LIMIT) { /* windows or recurrent state do not go back that far */
        same = 0;
        status = power_session_truncate(c->session, 0, error);
    }
    *out_kept = same;
    return status;
}

static power_status generate(struct chat *c, power_error *error) {
    size_t count, kept;
    power_generate_options options;
    power_generate_result result = {.struct_size = sizeof result};
    power_status status = render(c, &count, error);
    if (status == POWER_OK) status = rewind_state(c, count, &kept, error);
    if (status != POWER_OK) return status;
    power_answer_options parse;
    power_answer_options_init(&parse);
    parse.prompt = c->prompt;
    parse.on_event = on_event;
    parse.context = c;
    status = power_answer_open(c->model, &parse, &c->answer, error);
    if (status != POWER_OK) return status;
    power_generate_options_init(&options);
    options.ids = c->ids + kept;
    options.n_ids = count - kept;
    options.max_tokens = MAX_TOKENS;
    options.show_special = 1; /* marks of reasoning may be control tokens */
    options.on_delta = on_delta;
    options.context = c;
    status = power_generate(c->session, &options, &result, error);
    if (status == POWER_OK)
        status = power_answer_finish(c->answer, result.finish != POWER_FINISH_STOP, error);
    power_answer_close(c->answer);
    return status;
}

static power_status ask(struct chat *c, const char *question, power_error *error) {
    c->said_bytes = 0;
    if (add(c, "user", question)) return POWER_LIMIT;
    power_status status = generate(c, error);
    c->said[c->said_bytes] = 0;
    printf("\n");
    if (status == POWER_OK && add(c, "assistant", c->said)) status = POWER_LIMIT;
    return status;
}

int main(int argc, char **argv) {
    static struct chat c; /* large */
    char line[MAX_TEXT];
    power_error error = {.message = "the conversation is too long"};
    power_runtime *runtime = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: chat MODEL\n");
        return 2;
    }
    int failed = power_runtime_open(NULL, &runtime, &error) != POWER_OK ||
                 power_model_open(runtime, argv[1], NULL, &c.model, &error) != POWER_OK ||
                 power_session_open(c.model, NULL, &c.session, &error) != POWER_OK;
    while (!failed && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        failed = ask(&c, line, &error) != POWER_OK;
    }
    if (failed) fprintf(stderr, "chat: %s\n", error.message);
    while (c.n_messages)
        free((void *)(uintptr_t)c.messages[--c.n_messages].content);
    power_session_close(c.session);
    power_model_close(c.model);
    power_runtime_close(runtime);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
