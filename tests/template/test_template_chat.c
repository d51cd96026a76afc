/* SPDX-License-Identifier: MIT */
/* Job: chats rendered as transformers renders them, and the origin of every byte.
 * Input: tests/data/golden/chat-templates/more.json (make_goldens.py) and the templates of
 * ../shared/data/chat-templates. Output: equal texts, errors where Jinja2 raises; control spellings
 * in messages never count as the template's. What is absent is skipped. */
#include "../unit/text_support.h"
#include "text/template.h"

#define NOW 1773500966 /* 2026-03-14T15:09:26 */
#define OWN "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}"

static json_t *goldens(void) {
    json_error_t error;
    json_t *doc =
        json_load_file(POWER_TEST_DATA "/golden/chat-templates/more.json", JSON_ALLOW_NUL, &error);
    if (!doc) fail_msg("%s", error.text);
    return doc;
}

static char *part_of(const json_t *scenario, const char *key) {
    const json_t *part = json_object_get(scenario, key);
    return part ? json_dumps(part, JSON_ENCODE_ANY) : strdup("");
}

static struct power_template *compile(const char *name) {
    char path[512];
    size_t length = 0;
    power_error error = {0};
    struct power_template *t = NULL;
    snprintf(path, sizeof path, SHARED_DATA "/chat-templates/%s", name);
    char *text = read_whole(path, &length);
    if (!text) return NULL;
    if (power_template_compile(&power_default_allocator, (struct power_text){text, length}, &t,
                               &error) != POWER_OK)
        fail_msg("%s: %s", name, error.message);
    free(text);
    return t;
}

static power_status render(const struct power_template *t, const json_t *scenario,
                           struct power_buffer *out, struct power_buffer *plain,
                           power_error *error) {
    char *messages = part_of(scenario, "messages"), *tools = part_of(scenario, "tools");
    char *variables = part_of(scenario, "variables");
    struct power_template_input input = {.chat = true, .now_unix_s = NOW, .own = POWER_TEXT(OWN)};
    input.messages = power_text_of(messages);
    input.tools = power_text_of(tools);
    input.variables = power_text_of(variables);
    input.continue_final_message =
        json_is_true(json_object_get(scenario, "continue_final_message"));
    input.add_generation_prompt = !json_is_true(json_object_get(scenario, "no_generation_prompt"));
    power_buffer_init(out, &power_default_allocator, (size_t)1 << 26);
    if (plain) power_buffer_init(plain, &power_default_allocator, (size_t)1 << 26);
    power_status status = power_template_run(t, &input, NULL, out, plain, error);
    free(messages);
    free(tools);
    free(variables);
    return status;
}

static bool as_wanted(const struct power_template *t, const char *name, const char *scenario_name,
                      const json_t *scenario, const json_t *want) {
    struct power_buffer out;
    power_error error = {0};
    power_status status = render(t, scenario, &out, NULL, &error);
    bool equal =
        json_is_null(want)
            ? status != POWER_OK
            : status == POWER_OK && out.length == json_string_length(want) &&
                  (out.length == 0 || memcmp(out.bytes, json_string_value(want), out.length) == 0);
    if (!equal)
        print_message("  %s %s: %s\n    got:  %.*s\n    want: %s\n", name, scenario_name,
                      error.message, (int)out.length, out.bytes ? out.bytes : "",
                      json_is_null(want) ? "(raises)" : json_string_value(want));
    power_buffer_finish(&out);
    return equal;
}

static void test_goldens(void **state) {
    (void)state;
    json_t *doc = goldens(), *answers, *scenario;
    const char *name, *scenario_name;
    size_t passed = 0, total = 0;
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        struct power_template *t = compile(name);
        if (!t) continue;
        json_object_foreach(json_object_get(doc, "scenarios"), scenario_name, scenario) {
            total++;
            passed += as_wanted(t, name, scenario_name, scenario,
                                json_object_get(answers, scenario_name));
        }
        power_template_destroy(t);
    }
    json_decref(doc);
    if (total == 0) {
        print_message("skipped: ../shared/data/chat-templates is not there\n");
        skip();
    }
    print_message("chats: %zu of %zu\n", passed, total);
    assert_int_equal(passed, total);
}

/* ---- origins ---- */

static const char *const spellings[] = {
    "<|im_end|>",      "<|im_start|>", "<s>",           "</s>",          "<|eot_id|>",
    "<|end|>",         "[INST]",       "[/INST]",       "<end_of_turn>", "<|start_header_id|>",
    "<|end_of_text|>", "<tool_call>",  "<|endoftext|>", "<think>",       "<|user|>"};

/* How often a control spelling stands where all its bytes are the template's own. */
static size_t own_spellings(const struct power_buffer *out, const struct power_buffer *plain,
                            const char *spelling) {
    size_t n = strlen(spelling), found = 0;
    for (size_t at = 0; at + n <= out->length; at++) {
        if (memcmp(out->bytes + at, spelling, n) == 0 && !memchr(plain->bytes + at, 1, n) &&
            !plain->bytes[at])
            found++;
    }
    return found;
}

/* The scenario with `filling` behind every text of its messages, tools and variables. */
static json_t *filled(const json_t *v, const char *filling, const char *key) {
    if (json_is_string(v)) {
        static const char *const fixed[] = {"role", "type", "id", "tool_call_id", "name"};
        for (size_t i = 0; key && i < sizeof fixed / sizeof *fixed; i++) {
            if (strcmp(key, fixed[i]) == 0) return json_deep_copy(v);
        }
        if (json_string_value(v)[0] == '{' || json_string_value(v)[0] == '[')
            return json_deep_copy(v);
        char text[600];
        snprintf(text, sizeof text, "%s%s", json_string_value(v), filling);
        return json_string(text);
    }
    if (!json_is_object(v) && !json_is_array(v)) return json_deep_copy(v);
    json_t *copy = json_is_object(v) ? json_object() : json_array(), *item;
    const char *name;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)v, name, item)
        json_object_set_new(copy, name, filled(item, filling, name));
    json_array_foreach(v, i, item) json_array_append_new(copy, filled(item, filling, key));
    return copy;
}

static size_t compare_origins(const struct power_template *t, const json_t *scenario,
                              const char *name, const char *scenario_name, bool *ok) {
    char literal[400] = "", harmless[400] = "";
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        strcat(literal, " ");
        strcat(literal, spellings[i]);
        strcat(harmless, " x");
    }
    json_t *bad = filled(scenario, literal, NULL), *good = filled(scenario, harmless, NULL);
    struct power_buffer out[2], plain[2];
    power_error error = {0};
    power_status first = render(t, bad, &out[0], &plain[0], &error);
    power_status second = render(t, good, &out[1], &plain[1], &error);
    size_t compared = 0;
    if (first == POWER_OK && second == POWER_OK) {
        compared = 1;
        for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
            size_t a = own_spellings(&out[0], &plain[0], spellings[i]);
            size_t b = own_spellings(&out[1], &plain[1], spellings[i]);
            /* a template may look for its own <think> and then leave it out: fewer is no harm */
            if (a == b || (a < b && strcmp(spellings[i], "<think>") == 0)) continue;
            print_message("  %s %s: %zu own %s beside %zu\n", name, scenario_name, a, spellings[i],
                          b);
            *ok = false;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        power_buffer_finish(&out[i]);
        power_buffer_finish(&plain[i]);
    }
    json_decref(bad);
    json_decref(good);
    return compared;
}

static void test_origins(void **state) {
    (void)state;
    json_t *doc = goldens(), *answers, *scenario;
    const char *name, *scenario_name;
    size_t compared = 0;
    bool ok = true;
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        struct power_template *t = compile(name);
        if (!t) continue;
        json_object_foreach(json_object_get(doc, "scenarios"), scenario_name, scenario) {
            if (json_object_get(scenario, "continue_final_message")) continue;
            compared += compare_origins(t, scenario, name, scenario_name, &ok);
        }
        power_template_destroy(t);
    }
    json_decref(doc);
    if (compared == 0) skip();
    print_message("origins: %zu chats with control spellings in them\n", compared);
    assert_true(compared > 200);
    assert_true(ok);
}

/* How often each control token stands among the ids; the caller frees. */
static uint32_t *control_counts(const struct power_vocab *vocab, const struct power_buffer *out,
                                const struct power_buffer *plain) {
    uint32_t n = power_vocab_info(vocab)->n_tokens, *counts = calloc(n, sizeof *counts);
    struct power_tokenize_options options = {.parse_special = true, .add_special = true};
    options.plain = (const unsigned char *)plain->bytes;
    size_t count = 0, capacity = out->length + 8;
    uint32_t *ids = malloc(capacity * sizeof *ids);
    power_error error = {0};
    if (power_vocab_encode(vocab, (struct power_text){out->bytes ? out->bytes : "", out->length},
                           &options, ids, capacity, &count, &error) != POWER_OK)
        fail_msg("encode: %s", error.message);
    for (size_t i = 0; i < count; i++)
        counts[ids[i]] += power_vocab_token_type(vocab, ids[i]) == POWER_TOKEN_CONTROL;
    free(ids);
    return counts;
}

/* Control tokens of the vocabulary in messages: no id more than with harmless text. Returns how
 * many control tokens were found. */
static size_t compare_ids(const struct power_vocab *vocab, const struct power_template *t,
                          const json_t *scenario, const char *name) {
    const struct power_vocab_info *info = power_vocab_info(vocab);
    char literal[2000] = "", harmless[2000] = "";
    for (uint32_t i = 0; i < info->n_tokens && strlen(literal) < 500; i++) {
        struct power_text piece = power_vocab_piece(vocab, i);
        if (power_vocab_token_type(vocab, i) != POWER_TOKEN_CONTROL || piece.length > 100) continue;
        strcat(literal, " ");
        strncat(literal, piece.bytes, piece.length);
        strcat(harmless, " x");
    }
    json_t *chats[2] = {filled(scenario, literal, NULL), filled(scenario, harmless, NULL)};
    struct power_buffer out[2], plain[2];
    uint32_t *counts[2] = {NULL, NULL};
    size_t found = 0;
    for (int i = 0; i < 2; i++) {
        power_error error = {0};
        if (render(t, chats[i], &out[i], &plain[i], &error) == POWER_OK)
            counts[i] = control_counts(vocab, &out[i], &plain[i]);
        power_buffer_finish(&out[i]);
        power_buffer_finish(&plain[i]);
        json_decref(chats[i]);
    }
    for (uint32_t i = 0; counts[0] && counts[1] && i < info->n_tokens; i++) {
        found += counts[0][i];
        if (counts[0][i] != counts[1][i])
            fail_msg("%s: control token %u %u times beside %u", name, i, counts[0][i],
                     counts[1][i]);
    }
    free(counts[0]);
    free(counts[1]);
    return found;
}

static void check_ids(const char *path, const char *what) {
    power_error error;
    struct power_vocab *vocab = open_vocab(path, &error);
    json_t *doc = goldens(), *answers, *scenario;
    const char *name, *scenario_name;
    size_t found = 0;
    if (!vocab) fail_msg("%s: %s", path, error.message);
    json_object_foreach(json_object_get(doc, "renderings"), name, answers) {
        struct power_template *t = compile(name);
        if (!t) continue;
        json_object_foreach(json_object_get(doc, "scenarios"), scenario_name, scenario) {
            if (!json_object_get(scenario, "continue_final_message"))
                found += compare_ids(vocab, t, scenario, name);
        }
        power_template_destroy(t);
    }
    json_decref(doc);
    power_vocab_destroy(vocab);
    print_message("ids: %zu control tokens of %s\n", found, what);
    assert_true(found > 0);
}

static void test_ids(void **state) {
    char path[512];
    (void)state;
    if (access(SHARED_DATA "/chat-templates", R_OK) != 0) skip();
    check_ids(SHARED_DATA "/tokenizers/llama-spm.gguf", "llama-spm");
    if (cached_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", path, sizeof path))
        check_ids(path, "qwen2.5");
}

/* A template's bytes, one character each: o own, g given. */
static void check_origin(const char *template, const char *want_text, const char *want) {
    struct power_template *t = NULL;
    struct power_buffer out, plain;
    power_error error = {0};
    struct power_template_input input = {
        .variables =
            POWER_TEXT("{\"s\": \"ab\", \"l\": [\"x\", \"y\"], \"n\": 5, \"messages\": "
                       "[{\"role\": \"user\", \"content\": \" hi \"}, {\"role\": \"evil\"}]}"),
        .own = POWER_TEXT(OWN)};
    power_buffer_init(&out, &power_default_allocator, 1 << 20);
    power_buffer_init(&plain, &power_default_allocator, 1 << 20);
    assert_int_equal(
        power_template_compile(&power_default_allocator, power_text_of(template), &t, &error),
        POWER_OK);
    if (power_template_run(t, &input, NULL, &out, &plain, &error) != POWER_OK)
        fail_msg("%s: %s", template, error.message);
    char got[100] = "";
    for (size_t i = 0; i < plain.length && i < 99; i++)
        got[i] = plain.bytes[i] ? 'g' : 'o';
    assert_int_equal(out.length, plain.length);
    assert_string_equal(out.bytes, want_text);
    assert_string_equal(got, want);
    power_buffer_finish(&out);
    power_buffer_finish(&plain);
    power_template_destroy(t);
}

static void test_carried(void **state) {
    (void)state;
    check_origin("<{{ s }}>", "<ab>", "oggo");
    check_origin("{{ '<' + s + '>' }}{{ '<' ~ s ~ '>' }}", "<ab><ab>", "oggooggo");
    check_origin("{{ ('<' + s + '>')[1:] }}{{ ('<' + s + '>')[::-1] }}", "ab>>ba<", "ggooggo");
    check_origin("{{ bos_token }}{{ s }}{{ eos_token }}", "<s>ab</s>", "oooggoooo");
    check_origin("{{ ' a-b '.strip() }}{{ s.upper() }}{{ 'x'.upper() }}", "a-bABX", "oooggo");
    check_origin("{{ 'abc'.replace('b', s) }}{{ s.replace('a', '|') }}", "aabc|b", "oggoog");
    check_origin("{{ l | join('|') }}{{ ['<', s] | join }}", "x|y<ab", "gogogg");
    check_origin("{{ '%s>' % s }}{{ '{}>'.format(s) }}", "ab>ab>", "ggoggo");
    check_origin("{{ s | tojson }}", "\"ab\"", "gggg");
    check_origin("{{ s * 2 }}{{ '<' * 2 }}", "abab<<", "ggggoo");
    check_origin("{% set x %}<{{ s }}>{% endset %}{{ x }}", "<ab>", "oggo");
    check_origin("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(s) }}{{ m('z') }}", "[ab][z]",
                 "oggoooo");
    check_origin("{% filter upper %}<{{ s }}>{% endfilter %}", "<AB>", "oggo");
    check_origin("{{ '<|' + messages[0].role + '|>' }}{{ messages[1].role }}", "<|user|>evil",
                 "oooooooogggg");
    check_origin("{{ messages[0].content | trim }}{{ n }}", "hi5", "ggg");
    check_origin("{% for c in '<' + s %}{{ c }}{% endfor %}", "<ab", "ogg");
    check_origin("{{ ('<,' ~ s ~ ',>').split(',')[0] }}", "<", "o");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens),
                                       cmocka_unit_test(test_origins), cmocka_unit_test(test_ids),
                                       cmocka_unit_test(test_carried)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
