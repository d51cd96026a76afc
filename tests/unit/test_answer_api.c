/* SPDX-License-Identifier: MIT */
/* Job: the public functions on answers, on a model whose template writes calls.
 * Input: tests/data/cases/gguf/script-tools.gguf, texts. Output: events in order; an answer
 * outlives its model's handle; what is refused. Threads: one. Bounds: LOG bytes of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/harness.h"
#include "power/answer.h"

#define TOOLS "[{\"type\": \"function\", \"function\": {\"name\": \"add\"}}]"
#define CALL "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>"

enum { LOG = 512 };

struct log {
    char text[LOG];
    size_t length;
    int stop; /* 1: the callback asks to stop */
};

static int on_event(void *context, const power_answer_event *event) {
    struct log *log = context;
    int n = snprintf(log->text + log->length, LOG - log->length, "%d:%.*s|", (int)event->kind,
                     (int)event->text_bytes, event->text);
    log->length += n > 0 && (size_t)n < LOG - log->length ? (size_t)n : 0;
    return log->stop;
}

static power_answer *open_answer(power_model *model, struct log *log, const char *tools) {
    power_error error = {0};
    power_answer *answer = NULL;
    power_answer_options options;
    power_answer_options_init(&options);
    options.tools_json = tools;
    options.on_event = on_event;
    options.context = log;
    harness_must(power_answer_open(model, &options, &answer, &error), &error, "power_answer_open");
    return answer;
}

static void *take(void *context, size_t bytes, size_t alignment) {
    (void)context;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

/* What is used after its release is nonsense at once, with sanitizers or without. */
static void poison(void *context, void *memory, size_t bytes, size_t alignment) {
    (void)context;
    (void)alignment;
    if (memory) memset(memory, 0xdd, bytes);
    free(memory);
}

/* The model's handle goes while the answer is open; the runtime closes last. */
static void test_outlives_model(void **state) {
    (void)state;
    power_error error = {0};
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    struct log log = {.length = 0};
    const power_allocator allocator = {NULL, take, poison};
    power_runtime_options options;
    power_runtime_options_init(&options);
    options.allocator = &allocator;
    harness_must(power_runtime_open(&options, &runtime, &error), &error, "power_runtime_open");
    harness_must(power_model_open(runtime, harness_data("cases/gguf/script-tools.gguf"), NULL,
                                  &model, &error),
                 &error, "power_model_open");
    power_answer *answer = open_answer(model, &log, TOOLS);
    power_model_close(model);
    const power_delta delta = {.id = UINT32_MAX, .text = CALL, .text_bytes = strlen(CALL)};
    harness_must(power_answer_push(answer, &delta, &error), &error, "power_answer_push");
    harness_must(power_answer_finish(answer, 0, &error), &error, "power_answer_finish");
    power_answer_close(answer);
    power_runtime_close(runtime);
    assert_non_null(strstr(log.text, "2:add|"));
    assert_non_null(strstr(log.text, "4:|"));
}

static void test_without_tools(void **state) {
    (void)state;
    power_error error = {0};
    struct harness h;
    struct harness_options options = harness_defaults();
    struct log log = {.length = 0};
    harness_open(&h, harness_data("cases/gguf/script-tools.gguf"), &options);
    power_answer *answer = open_answer(h.model, &log, NULL);
    harness_must(power_answer_push_text(answer, CALL, strlen(CALL), &error), &error, "push");
    harness_must(power_answer_finish(answer, 0, &error), &error, "finish");
    power_answer_close(answer);
    assert_null(strstr(log.text, "2:"));
    assert_non_null(strstr(log.text, "<tool_call>"));
    harness_close(&h);
}

static void test_stopped(void **state) {
    (void)state;
    power_error error = {0};
    struct harness h;
    struct harness_options options = harness_defaults();
    struct log log = {.stop = 1};
    harness_open(&h, harness_data("cases/gguf/script-tools.gguf"), &options);
    power_answer *answer = open_answer(h.model, &log, NULL);
    assert_int_equal(power_answer_push_text(answer, "one two", 7, &error), POWER_CANCELLED);
    assert_int_equal(power_answer_push_text(answer, "three", 5, &error), POWER_CANCELLED);
    power_answer_close(answer);
    harness_close(&h);
}

static void test_refused(void **state) {
    (void)state;
    power_error error = {0};
    power_answer *answer = NULL;
    power_answer_options options;
    struct harness h;
    struct harness_options open = harness_defaults();
    struct log log = {.length = 0};
    harness_open(&h, harness_data("cases/gguf/script-text.gguf"), &open);
    power_answer_options_init(&options);
    assert_int_equal(power_answer_open(h.model, &options, &answer, &error), POWER_INVALID);
    options.on_event = on_event;
    options.context = &log;
    options.tools_json = TOOLS;
    assert_int_equal(power_answer_open(h.model, &options, &answer, &error), POWER_UNSUPPORTED);
    options.format = "no such";
    assert_int_equal(power_answer_open(h.model, &options, &answer, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "no such"));
    options.format = "hermes";
    options.tools_json = "{}";
    assert_int_equal(power_answer_open(h.model, &options, &answer, &error), POWER_INVALID);
    assert_null(answer);
    power_answer_close(NULL);
    harness_close(&h);
}

static int join_text(void *context, const power_answer_event *event) {
    struct log *log = context;
    if (event->kind != POWER_ANSWER_TEXT || event->text_bytes >= LOG - log->length) return 1;
    memcpy(log->text + log->length, event->text, event->text_bytes);
    log->length += event->text_bytes;
    log->text[log->length] = 0;
    return 0;
}

/* <s> is a control token and no mark: it is left out, however much of it a stop string held back;
 * the same spelt by other tokens stays. A character is broken by the second <s>. */
static void test_control_tokens_held_back(void **state) {
    static const struct {
        const char *bytes;
        bool control;
        uint64_t offset; /* where it begins, as power_generate says */
    } tokens[] = {{"a", 0, 0},    {"<s>", 1, 1},    {"<", 0, 4},    {"s>b", 0, 5}, {"<s>", 1, 8},
                  {"<s>", 1, 11}, {"c\xE2", 0, 14}, {"<s>", 1, 15}, {"d", 0, 21}};
    static const char whole[] = "a<s><s>b<s><s>c\xEF\xBF\xBD<s>d";
    enum { N = sizeof tokens / sizeof tokens[0] };
    (void)state;
    struct harness h;
    struct harness_options defaults = harness_defaults();
    power_error error = {0};
    uint64_t seed = 1;
    uint32_t control = 0;
    size_t n_ids = 0;
    harness_open(&h, harness_data("cases/gguf/script-tools.gguf"), &defaults);
    harness_must(power_tokenize(h.model, "<s>", 3, 0, 1, &control, 1, &n_ids, &error), &error,
                 "<s>");
    for (int round = 0; round < 500; round++) {
        struct log log = {.length = 0};
        power_answer *answer = NULL;
        power_answer_options options;
        power_answer_options_init(&options);
        options.on_event = join_text;
        options.context = &log;
        harness_must(power_answer_open(h.model, &options, &answer, &error), &error, "open");
        size_t given = 0;
        for (size_t i = 0; i <= N; i++) {
            size_t most = i + 1 < N ? (size_t)tokens[i + 1].offset : sizeof whole - 1;
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            size_t now = given + (size_t)(seed >> 33) % (most - given + 1);
            if (round == 0 || i == N) now = most; /* nothing is held, and then the rest comes */
            power_delta delta = {.id = UINT32_MAX,
                                 .text = whole + given,
                                 .text_bytes = now - given,
                                 .text_offset = sizeof whole - 1};
            if (i < N) {
                delta.id = tokens[i].control ? control : 'x';
                delta.token_bytes = tokens[i].bytes;
                delta.n_token_bytes = strlen(tokens[i].bytes);
                delta.text_offset = tokens[i].offset;
            }
            harness_must(power_answer_push(answer, &delta, &error), &error, "push");
            given = now;
        }
        harness_must(power_answer_finish(answer, 0, &error), &error, "finish");
        power_answer_close(answer);
        if (strcmp(log.text, "a<s>bc\xEF\xBF\xBD"
                             "d") != 0)
            fail_msg("round %d: %s", round, log.text);
    }
    harness_close(&h);
}

/* The prompt says where the answer begins, max_call_bytes how long a call may be. */
static void test_options(void **state) {
    static const char thought[] = "so</think>\n\nyes";
    (void)state;
    struct harness h;
    struct harness_options defaults = harness_defaults();
    harness_open(&h, harness_data("cases/gguf/script-tools.gguf"), &defaults);
    const struct {
        const char *prompt, *tools, *text, *want;
        size_t max_call_bytes;
    } cases[] = {{"<think>\n", NULL, thought, "1:so|0:yes|", 0},
                 {NULL, NULL, thought, "0:so</think>\n\nyes|", 0},
                 {NULL, TOOLS, CALL, "2:add|3:{\"a\": 1}|4:|", 0},
                 {NULL, TOOLS, CALL, "5:|0:" CALL "|", 24}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct log log = {.length = 0};
        power_error error = {0};
        power_answer *answer = NULL;
        power_answer_options options;
        power_answer_options_init(&options);
        options.prompt = cases[i].prompt;
        options.tools_json = cases[i].tools;
        options.format = "hermes+think";
        options.max_call_bytes = cases[i].max_call_bytes;
        options.on_event = on_event;
        options.context = &log;
        harness_must(power_answer_open(h.model, &options, &answer, &error), &error, "open");
        harness_must(power_answer_push_text(answer, cases[i].text, strlen(cases[i].text), &error),
                     &error, "push");
        harness_must(power_answer_finish(answer, 0, &error), &error, "finish");
        power_answer_close(answer);
        assert_string_equal(log.text, cases[i].want);
    }
    harness_close(&h);
}

static int accepts(power_model *model, const power_tools_options *options, const char *text) {
    power_constraint *constraint = NULL;
    power_error error = {0};
    int out = -1;
    harness_must(power_tools_constraint_open(model, options, &constraint, &error), &error, text);
    harness_must(power_constraint_accepts(constraint, text, strlen(text), &out, &error), &error,
                 text);
    power_constraint_close(constraint);
    return out;
}

/* Each option turns the verdict on a text. */
static void test_tools_constraint(void **state) {
    static const char two[] =
        "[{\"name\": \"add\", \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": "
        "{\"type\": \"integer\"}, \"b\": {\"type\": \"integer\"}}, \"required\": [\"a\", \"b\"], "
        "\"additionalProperties\": false}}, {\"name\": \"stop\"}]";
    static const char add[] =
        "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n"
        "</tool_call>";
    static const char turned[] =
        "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"b\": 2, \"a\": "
        "1}}\n</tool_call>";
    char both[2 * sizeof add];
    (void)state;
    struct harness h;
    struct harness_options defaults = harness_defaults();
    power_error error = {0};
    power_constraint *none = NULL;
    harness_open(&h, harness_data("cases/gguf/script-text.gguf"), &defaults);
    (void)snprintf(both, sizeof both, "%s\n%s", add, add);
    power_tools_options options;
    power_constraint_options inner;
    power_tools_options_init(&options);
    power_constraint_options_init(&inner);
    options.tools_json = two;
    assert_int_equal(power_tools_constraint_open(h.model, &options, &none, &error),
                     POWER_UNSUPPORTED); /* no template, and no format by name */
    options.format = "hermes";
    assert_int_equal(accepts(h.model, &options, "No call."), 1);
    options.choice = POWER_TOOL_CHOICE_REQUIRED;
    assert_int_equal(accepts(h.model, &options, "No call."), 0);
    assert_int_equal(accepts(h.model, &options, add), 1);
    assert_int_equal(accepts(h.model, &options, both), 0);
    options.parallel = 1;
    assert_int_equal(accepts(h.model, &options, both), 1);
    assert_int_equal(accepts(h.model, &options, turned), 0);
    inner.any_order = 1;
    options.constraint = &inner;
    assert_int_equal(accepts(h.model, &options, turned), 1);
    inner.space = POWER_JSON_SPACE_COMPACT;
    assert_int_equal(accepts(h.model, &options, turned), 0);
    options.choice = POWER_TOOL_CHOICE_NAMED;
    options.constraint = NULL;
    options.name = "stop";
    assert_int_equal(accepts(h.model, &options, add), 0);
    options.name = "add";
    assert_int_equal(accepts(h.model, &options, add), 1);
    options.name = "subtract";
    assert_int_equal(power_tools_constraint_open(h.model, &options, &none, &error),
                     POWER_NOT_FOUND);
    options.name = "add";
    options.constraint = &inner;
    inner.space = (power_json_space)7;
    assert_int_equal(power_tools_constraint_open(h.model, &options, &none, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "space"));
    inner.space = POWER_JSON_SPACE_BOUNDED;
    inner.max_nodes = 3;
    assert_int_equal(power_tools_constraint_open(h.model, &options, &none, &error), POWER_LIMIT);
    assert_null(none);
    harness_close(&h);
}

static void test_format_of_model(void **state) {
    (void)state;
    struct harness h;
    struct harness_options defaults = harness_defaults();
    power_error error = {0};
    power_answer_format_info info = {.struct_size = sizeof info};
    size_t n = 0;
    bool known = false;
    harness_open(&h, harness_data("cases/gguf/script-tools.gguf"), &defaults);
    harness_must(power_model_answer_format(h.model, &info, &error), &error, "format");
    assert_string_equal(info.calls, "hermes");
    assert_int_equal(strlen(info.reasoning_open) != 0, strlen(info.reasoning_close) != 0);
    while (power_answer_formats(n))
        known = !strcmp(power_answer_formats(n++), info.calls) || known;
    assert_true(known && n > 1);
    info.struct_size--;
    assert_int_equal(power_model_answer_format(h.model, &info, &error), POWER_INVALID);
    harness_close(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_outlives_model),
                                       cmocka_unit_test(test_without_tools),
                                       cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_control_tokens_held_back),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_tools_constraint),
                                       cmocka_unit_test(test_format_of_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
