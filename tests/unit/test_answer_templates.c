/* SPDX-License-Identifier: MIT */
/* Job: formats by chat template, and what the templates themselves write, read back.
 * Input: ../shared/data/chat-templates where it lies: 30 templates, and conversations with a tool
 * call as Jinja2 renders them. Output: the format of each template; the call of the conversation.
 */

#include "answer_support.h"

static const struct {
    const char *file, *calls, *reasoning;
} expected[] = {
    {"Apertus-8B-Instruct.jinja", "apertus", "<|inner_prefix|>"},
    {"Bielik-11B-v3.0-Instruct.jinja", "hermes", "<think>"},
    {"Cohere2MoE.jinja", "command-r", "<|START_THINKING|>"},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja", "command-r", "<|START_THINKING|>"},
    {"GLM-4.7-Flash.jinja", "glm", "<think>"},
    {"GigaChat3-10B-A1.8B.jinja", "gigachat", ""},
    {"HuggingFaceTB-SmolLM3-3B.jinja", "none", "<think>"},
    {"Kimi-K2-Thinking.jinja", "kimi", "<think>"},
    {"LFM2.5-Instruct.jinja", "lfm2", "<think>"},
    {"MiroThinker.jinja", "mcp", "<think>"},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", "qwen-xml", "<think>"},
    {"Qwen-QwQ-32B.jinja", "hermes", "<think>"},
    {"Qwen-Qwen2.5-7B-Instruct.jinja", "hermes", ""},
    {"Qwen-Qwen3-0.6B.jinja", "hermes", "<think>"},
    {"Qwen3.5-4B.jinja", "qwen-xml", "<think>"},
    {"StepFun3.5-Flash.jinja", "qwen-xml", "<think>"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", "deepseek", "<think>"},
    {"deepseek-ai-DeepSeek-V3.2.jinja", "deepseek-v3.2", "<think>"},
    {"fireworks-ai-llama-3-firefunction-v2.jinja", "firefunction", ""},
    {"google-gemma-2-2b-it.jinja", "none", ""},
    {"google-gemma-4-31B-it-interleaved.jinja", "gemma", "<|channel>thought"},
    {"ibm-granite-granite-3.3-2B-Instruct.jinja", "granite", "<think>"},
    {"llama-cpp-rwkv-world.jinja", "none", "<think>"},
    {"meetkai-functionary-medium-v3.2.jinja", "functionary-v3.2", ""},
    {"meta-llama-Llama-3.2-3B-Instruct.jinja", "llama3", ""},
    {"mistralai-Ministral-3-14B-Reasoning-2512.jinja", "mistral", "[THINK]"},
    {"moonshotai-Kimi-K2.jinja", "kimi", ""},
    {"stepfun-ai-Step-3.5-Flash.jinja", "qwen-xml", "<think>"},
    {"unsloth-Apriel-1.5.jinja", "apriel", ""},
};

static char *template_text(const char *file, size_t *out_length) {
    char path[512];
    snprintf(path, sizeof path, SHARED_DATA "/chat-templates/%s", file);
    return read_whole(path, out_length);
}

static json_t *goldens(void) {
    json_t *doc = json_load_file(SHARED_DATA "/chat-templates/golden.json", JSON_ALLOW_NUL, NULL);
    if (!doc) {
        print_message("skipped: ../shared/data/chat-templates is not there\n");
        skip();
    }
    return doc;
}

static void test_formats(void **state) {
    (void)state;
    json_t *doc = goldens(), *answers;
    const char *name;
    size_t known = 0;
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        size_t at = 0, length = 0, n = sizeof expected / sizeof expected[0];
        while (at < n && strcmp(expected[at].file, name) != 0)
            at++;
        if (at == n) fail_msg("%s: no expectation", name);
        char *text = template_text(name, &length);
        assert_non_null(text);
        struct power_answer_format format =
            power_answer_format_of((struct power_text){text, length});
        struct power_text open, close;
        power_answer_reasoning_marks(&format, &open, &close);
        assert_string_equal(power_answer_format_name(&format), expected[at].calls);
        if (!power_text_equal(open, power_text_of(expected[at].reasoning)))
            fail_msg("%s: reasoning begins with \"%s\"", name, open.bytes);
        free(text);
        known++;
    }
    assert_int_equal(known, json_object_size(json_object_get(doc, "renderings")));
    json_decref(doc);
}

/* What stands between the question and the tool's answer: the assistant's turn, whose header and
 * end are no part of what the model writes. Calls are found in it all the same. */
static bool turn_of(const json_t *answers, struct power_text *out) {
    const json_t *text = json_object_get(json_object_get(answers, "tool_call"), "text");
    const char *all = json_string_value(text), *last = NULL, *end;
    if (!all) return false;
    for (const char *at = all; (at = strstr(at, "Weather in Oslo?")); at++)
        last = at;
    if (!last) return false;
    end = strstr(last, "{\"temp\"");
    if (!end) end = strstr(last, "{\\\"temp\\\"");
    if (!end) return false;
    *out = (struct power_text){last + 16, (size_t)(end - last) - 16};
    return true;
}

/* The turn as the model writes it: from the first mark of the format on. */
static bool begin_at(struct power_text *turn, const char *mark) {
    for (size_t i = 0; i + strlen(mark) <= turn->length; i++) {
        if (memcmp(turn->bytes + i, mark, strlen(mark)) != 0) continue;
        turn->bytes += i;
        turn->length -= i;
        return true;
    }
    return false;
}

static bool check_turn(const char *name, const char *calls, struct power_answer_format format,
                       struct power_text turn, const char *tools) {
    static const char want_call[] = "call get_weather\narguments ";
    struct events e;
    const struct power_answer_parser_options options = {.tools = true,
                                                        .tools_json = power_text_of(tools)};
    if (!strcmp(calls, "llama3") && !begin_at(&turn, "{")) return false;
    events_of(&e, &format, options, turn, NULL, 0, false);
    char *call = e.text.length ? strstr(e.text.bytes, want_call) : NULL;
    bool ok = !e.faulty && e.complete == 1 && call;
    if (ok) {
        char *arguments = call + sizeof want_call - 1, *end = strchr(arguments, '\n');
        json_t *got = json_loadb(arguments, (size_t)(end - arguments), 0, NULL);
        json_t *want = json_pack("{s:s,s:s,s:i}", "city", "Oslo", "unit", "C", "days", 2);
        ok = json_equal(got, want);
        json_decref(got);
        json_decref(want);
    }
    if (!ok)
        print_message("  %s (%s): from %.*s\n  got %s\n", name, calls, (int)turn.length, turn.bytes,
                      e.text.bytes ? e.text.bytes : "");
    events_finish(&e);
    return ok;
}

static void test_round_trip(void **state) {
    (void)state;
    json_t *doc = goldens(), *answers;
    json_t *scenario = json_object_get(json_object_get(doc, "scenarios"), "tool_call");
    char *tools = json_dumps(json_object_get(scenario, "tools"), 0);
    const char *name;
    size_t passed = 0, total = 0, none = 0;
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        size_t length = 0;
        char *text = template_text(name, &length);
        assert_non_null(text);
        struct power_answer_format format =
            power_answer_format_of((struct power_text){text, length});
        struct power_text turn;
        bool written = turn_of(answers, &turn) && turn.length > 60;
        bool calls = false;
        for (size_t i = 0; written && i + 11 < turn.length; i++)
            calls = calls || !memcmp(turn.bytes + i, "get_weather", 11);
        if (!format.calls || !calls) {
            print_message("  %s: the template writes no call here\n", name);
            none++;
        } else {
            total++;
            passed += check_turn(name, power_answer_format_name(&format), format, turn, tools);
        }
        free(text);
    }
    print_message("calls of templates: %zu of %zu, without: %zu\n", passed, total, none);
    assert_int_equal(passed, total);
    assert_true(total >= 18);
    free(tools);
    json_decref(doc);
}

static void test_reasoning_open(void **state) {
    (void)state;
    static const struct {
        const char *calls, *reasoning, *prompt;
        bool open;
    } cases[] = {{"qwen-xml", "think", "<|im_start|>assistant\n<think>\n", true},
                 {"hermes", "think", "<|im_start|>assistant\n<think>\n\n</think>\n\n", false},
                 {"hermes", "think", "<|im_start|>assistant\n", false},
                 {"hermes", "", "<think>\n", false},
                 {"gemma", "gemma", "<|turn>model\n<|channel>thought\n<channel|>", false},
                 {"gemma", "gemma", "<|turn>model\n<|channel>thought\n", true},
                 {"apriel", "apriel", "<|assistant|>\n", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct power_answer_format format;
        assert_true(power_answer_format_named(power_text_of(cases[i].calls),
                                              power_text_of(cases[i].reasoning), &format));
        assert_int_equal(power_answer_reasoning_is_open(&format, power_text_of(cases[i].prompt)),
                         cases[i].open);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_reasoning_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
