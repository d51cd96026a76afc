/* SPDX-License-Identifier: MIT */
/* Job: the public functions that render chats, on a model with a template of "role: content".
 * Input: tests/data/cases/gguf/script-text.gguf. Output: both forms of messages give the same ids,
 * what a message spells stays text, wrong arguments are refused by name. Threads: one. Bounds: 64
 * ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "../common/harness.h"

enum { CAPACITY = 64 };

static power_model *model_of(struct harness *h) {
    struct harness_options options = harness_defaults();
    harness_open(h, harness_data("cases/gguf/script-text.gguf"), &options);
    return h->model;
}

static size_t ids_of(const power_model *model, const power_render_options *options, uint32_t *ids) {
    power_error error = {0};
    size_t count = 0;
    harness_must(power_render_tokens(model, options, ids, CAPACITY, &count, &error), &error,
                 "power_render_tokens");
    return count;
}

static void test_messages(void **state) {
    (void)state;
    static const power_message messages[2] = {{"system", "Be \"brief\"\n"}, {"user", "a \\ b"}};
    struct harness h;
    uint32_t plain[CAPACITY], json[CAPACITY];
    power_render_options options;
    power_model *model = model_of(&h);
    power_render_options_init(&options);
    options.messages = messages;
    options.n_messages = 2;
    size_t n_plain = ids_of(model, &options, plain);
    power_render_options_init(&options);
    options.messages_json = "[{\"role\": \"system\", \"content\": \"Be \\\"brief\\\"\\n\"},"
                            " {\"role\": \"user\", \"content\": \"a \\\\ b\"}]";
    size_t n_json = ids_of(model, &options, json);
    assert_int_equal(n_plain, n_json);
    assert_memory_equal(plain, json, n_plain * sizeof *plain);
    harness_close(&h);
}

/* "</s>" is a control token of the vocabulary: found in a text that is trusted, not in a message.
 */
static void test_spelled(void **state) {
    (void)state;
    static const power_message message = {"user", "a</s>"};
    static const char text[] = "user: a</s>";
    struct harness h;
    uint32_t ids[CAPACITY];
    size_t count = 0;
    power_error error = {0};
    power_render_options options;
    power_model *model = model_of(&h);
    const uint32_t end = h.info.end_tokens[0];
    harness_must(power_tokenize(model, text, strlen(text), 1, 1, ids, CAPACITY, &count, &error),
                 &error, "power_tokenize");
    assert_int_equal(ids[count - 1], end);
    power_render_options_init(&options);
    options.messages = &message;
    options.n_messages = 1;
    count = ids_of(model, &options, ids);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(ids[i], end);
    harness_close(&h);
}

static void refused(const power_model *model, const power_render_options *options,
                    const char *named) {
    uint32_t ids[CAPACITY];
    size_t count = 77;
    power_error error = {0};
    assert_int_equal(power_render_tokens(model, options, ids, CAPACITY, &count, &error),
                     POWER_INVALID);
    if (!strstr(error.message, named)) fail_msg("\"%s\" lacks \"%s\"", error.message, named);
    assert_int_equal(count, 77);
}

static void test_refused(void **state) {
    (void)state;
    static const power_message good = {"user", "a"}, none = {"user", NULL}, bad = {"user", "\xff"};
    struct harness h;
    power_render_options options;
    power_model *model = model_of(&h);
    power_render_options_init(&options);
    options.n_messages = 1;
    refused(model, &options, "messages is NULL");
    options.messages = &none;
    refused(model, &options, "message 0: role or content is NULL");
    options.messages = &bad;
    refused(model, &options, "message 0: role or content is not UTF-8");
    options.messages = &good;
    options.messages_json = "[]";
    refused(model, &options, "both given");
    harness_close(&h);
}

static power_status own_template(const power_render_options *options, const char *want) {
    char text[64];
    size_t bytes = 0;
    power_error error = {0};
    power_status status = power_render_chat(NULL, options, text, sizeof text, &bytes, &error);
    if (status == POWER_OK) assert_string_equal(text, want);
    return status;
}

/* A template of the caller needs no model; each budget ends a rendering that fits without it. */
static void test_budgets(void **state) {
    (void)state;
    static const char text[] =
        "{% for i in range(9) %}{% if i %}{{ [[i]][0][0] }}{% endif %}{% endfor %}";
    power_render_options options;
    power_render_options_init(&options);
    options.messages_json = "[]";
    options.template_text = text;
    assert_int_equal(own_template(&options, "12345678"), POWER_OK);
    options.max_steps = 20;
    assert_int_equal(own_template(&options, ""), POWER_LIMIT);
    options.max_steps = 0;
    options.max_bytes = 7;
    assert_int_equal(own_template(&options, ""), POWER_LIMIT);
    options.max_bytes = 8;
    assert_int_equal(own_template(&options, "12345678"), POWER_OK);
    options.template_text =
        "{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(7) }}";
    assert_int_equal(own_template(&options, "76543210"), POWER_OK);
    options.max_depth = 2;
    assert_int_equal(own_template(&options, ""), POWER_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_spelled),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_budgets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
