/* SPDX-License-Identifier: MIT */
/* Job: chat templates against Jinja2 3.1's answers.
 * Input: ../shared/data/chat-templates where it lies, tests/data/cases/templates.json,
 * tests/data/golden/.../chat.jsonl with the template of the model in the cache.
 * Output: text equal byte for byte, errors where Jinja2 raises; what is absent is skipped. */
#include "text/template.h"
#include "text_support.h"

#define NOW 1773500966 /* 2026-03-14T15:09:26 */

static power_status render(const char *text, size_t length, const json_t *variables,
                           struct power_buffer *out, power_error *error) {
    struct power_template *t = NULL;
    *error = (power_error){0};
    power_buffer_init(out, &power_default_allocator, (size_t)1 << 26);
    power_status status = power_template_compile(&power_default_allocator,
                                                 (struct power_text){text, length}, &t, error);
    if (status != POWER_OK) return status;
    char *json = json_dumps(variables, 0);
    status = power_template_render(t, power_text_of(json), NOW, NULL, out, error);
    free(json);
    power_template_destroy(t);
    return status;
}

static void show_difference(const struct power_buffer *out, const char *want, size_t length) {
    size_t at = 0;
    while (at < out->length && at < length && out->bytes[at] == want[at])
        at++;
    size_t from = at > 40 ? at - 40 : 0;
    print_message("    at byte %zu\n    got:  %.*s\n    want: %.*s\n", at,
                  (int)(out->length - from < 120 ? out->length - from : 120), out->bytes + from,
                  (int)(length - from < 120 ? length - from : 120), want + from);
}

static bool check_scenario(const char *name, const char *text, size_t length, const char *scenario,
                           const json_t *variables, const json_t *want) {
    struct power_buffer out;
    power_error error;
    json_t *all = json_deep_copy(variables);
    json_object_set_new(all, "bos_token", json_string("<s>"));
    json_object_set_new(all, "eos_token", json_string("</s>"));
    power_status status = render(text, length, all, &out, &error);
    const json_t *expected = json_object_get(want, "text");
    bool equal;
    if (!expected) {
        equal = status != POWER_OK;
        if (!equal) print_message("  %s %s: rendered, Jinja2 raises\n", name, scenario);
    } else if (status != POWER_OK) {
        equal = false;
        print_message("  %s %s: %s\n", name, scenario, error.message);
    } else {
        equal =
            out.length == json_string_length(expected) &&
            (out.length == 0 || memcmp(out.bytes, json_string_value(expected), out.length) == 0);
        if (!equal) {
            print_message("  %s %s differs\n", name, scenario);
            show_difference(&out, json_string_value(expected), json_string_length(expected));
        }
    }
    power_buffer_finish(&out);
    json_decref(all);
    return equal;
}

static void test_public(void **state) {
    (void)state;
    json_error_t json_error;
    json_t *doc =
        json_load_file(SHARED_DATA "/chat-templates/golden.json", JSON_ALLOW_NUL, &json_error);
    if (!doc) {
        print_message("skipped: ../shared/data/chat-templates is not there\n");
        skip();
    }
    json_t *scenarios = json_object_get(doc, "scenarios");
    size_t passed = 0, total = 0;
    const char *name, *scenario;
    json_t *answers, *variables;
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        char path[512];
        size_t length = 0;
        snprintf(path, sizeof path, SHARED_DATA "/chat-templates/%s", name);
        char *text = read_whole(path, &length);
        assert_non_null(text);
        json_object_foreach(scenarios, scenario, variables) {
            total++;
            passed += check_scenario(name, text, length, scenario, variables,
                                     json_object_get(answers, scenario));
        }
        free(text);
    }
    json_decref(doc);
    print_message("chat-templates: %zu of %zu\n", passed, total);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

static void test_cases(void **state) {
    (void)state;
    json_error_t json_error;
    json_t *doc =
        json_load_file(POWER_TEST_DATA "/cases/templates.json", JSON_ALLOW_NUL, &json_error);
    assert_non_null(doc);
    const json_t *cases = json_object_get(doc, "cases");
    size_t passed = 0, total = json_array_size(cases);
    for (size_t i = 0; i < total; i++) {
        const json_t *c = json_array_get(cases, i), *expect = json_object_get(c, "expect");
        const char *id = json_string_value(json_object_get(c, "id"));
        const json_t *text = json_object_get(c, "template");
        const char *error_has = json_string_value(json_object_get(expect, "error_has"));
        bool ok = check_scenario(id, json_string_value(text), json_string_length(text), "",
                                 json_object_get(c, "variables"), expect);
        if (error_has) {
            struct power_buffer out;
            power_error error;
            (void)!render(json_string_value(text), json_string_length(text),
                          json_object_get(c, "variables"), &out, &error);
            power_buffer_finish(&out);
            ok = ok && strstr(error.message, error_has);
            if (!ok) print_message("  %s: message is %s\n", id, error.message);
        }
        passed += ok;
    }
    json_decref(doc);
    print_message("cases/templates.json: %zu of %zu\n", passed, total);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

/* The model's own template and its goldens. */
static void test_qwen(void **state) {
    (void)state;
    char path[512];
    power_error error = {0};
    if (!cached_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", path, sizeof path)) {
        print_message("skipped: the Qwen model is not in the cache\n");
        skip();
    }
    struct power_source_options options = {.use_mmap = true};
    struct power_source *source = NULL;
    assert_int_equal(power_source_open(&power_default_allocator, path, &options, &source, &error),
                     POWER_OK);
    struct power_text text;
    assert_int_equal(power_meta_text(source, "tokenizer.chat_template", &text, &error), POWER_OK);
    size_t length, passed = 0, total = 0;
    char *bytes = read_whole(POWER_TEST_DATA "/golden/qwen2.5-coder-0.5b/chat.jsonl", &length);
    assert_non_null(bytes);
    char *at = bytes;
    for (json_t *line; (line = next_json_line(&at)); json_decref(line)) {
        struct power_buffer out;
        const json_t *want = json_object_get(line, "text");
        json_t *variables = json_deep_copy(line);
        json_object_del(variables, "text");
        json_object_del(variables, "ids");
        json_object_del(variables, "name");
        bool ok = render(text.bytes, text.length, variables, &out, &error) == POWER_OK &&
                  out.length == json_string_length(want) &&
                  memcmp(out.bytes, json_string_value(want), out.length) == 0;
        if (!ok) print_message("  differs: %s\n", error.message);
        passed += ok;
        total++;
        power_buffer_finish(&out);
        json_decref(variables);
    }
    free(bytes);
    power_source_close(source);
    print_message("qwen chat texts: %zu of %zu\n", passed, total);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_public), cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_qwen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
