/* SPDX-License-Identifier: MIT */
/* Job: the answer parser: every format's answers, however they are cut.
 * Input: tests/data/answers/FORMAT.json (written by tests/reference/write_answers.py, which knows
 * the formats from the models' templates), tests/data/cases/stream.json, vocabularies in the cache.
 * Output: the same events for every byte position, every pair of positions in short answers, and
 * at the edges of random tokens. */
#include "answer_support.h"

#include <dirent.h>
#include <stdlib.h>

enum { PAIRS_UP_TO = 90, PAIRS_UP_TO_SLOW = 50, RANDOM_ROUNDS = 8 };

static struct power_text text_of(const json_t *value) {
    const char *bytes = json_string_value(value);
    return (struct power_text){bytes ? bytes : "", json_string_length(value)};
}

static void append_expected(struct events *e, const json_t *event) {
    const char *kind = json_string_value(json_array_get(event, 0));
    struct power_text text = text_of(json_array_get(event, 1));
    struct power_text arguments = text_of(json_array_get(event, 2));
    struct power_text id = text_of(json_array_get(event, 3));
    if (!strcmp(kind, "call") || !strcmp(kind, "open")) {
        events_line(e, "call ");
        events_put(e, text.bytes, text.length);
        events_line(e, "arguments ");
        events_put(e, arguments.bytes, arguments.length);
        if (!strcmp(kind, "open")) return;
        events_line(e, "end ");
        events_put(e, id.bytes, id.length);
        return;
    }
    events_line(e, kind);
    if (!text.length) return;
    events_put(e, " ", 1);
    events_put(e, text.bytes, text.length);
}

/* A call that was cut: how far its arguments came is checked on their own, they begin as those of
 * the whole call. */
static bool cut_call(const struct events *got, const json_t *events) {
    const json_t *event = json_array_get(events, 0);
    if (json_array_size(events) != 1 || !json_is_null(json_array_get(event, 2))) return false;
    return got->text.length && strstr(got->text.bytes, "\"Oslo ") &&
           !strstr(got->text.bytes, "end");
}

struct answer_case {
    struct power_answer_format format;
    struct power_answer_parser_options options;
    struct power_text raw;
    bool cut;
    const char *name, *id;
};

static bool same_when_cut(const struct answer_case *c, const struct events *whole,
                          const size_t *cuts, size_t n) {
    struct events e;
    events_of(&e, &c->format, c->options, c->raw, cuts, n, c->cut);
    bool same = events_equal(&e, whole);
    if (!same)
        print_message("  %s %s: cut at %zu (of %zu cuts):\n%s\n  whole:\n%s\n", c->name, c->id,
                      cuts[0], n, e.text.bytes, whole->text.bytes);
    events_finish(&e);
    return same;
}

static bool check_cuts(const struct answer_case *c, const struct events *whole) {
    size_t n = c->raw.length;
    size_t *cuts = malloc((n + 1) * sizeof *cuts);
    bool same = true;
    for (size_t i = 0; i < n; i++)
        cuts[i] = i;
    same = same_when_cut(c, whole, cuts, n);
    for (size_t i = 0; same && i < n; i++)
        same = same_when_cut(c, whole, &(size_t){i}, 1);
    const size_t longest = getenv("POWER_TEST_SANITIZED") ? PAIRS_UP_TO_SLOW : PAIRS_UP_TO;
    for (size_t i = 0; same && n <= longest && i < n; i++) {
        for (size_t j = i + 1; same && j < n; j++)
            same = same_when_cut(c, whole, (size_t[]){i, j}, 2);
    }
    free(cuts);
    return same;
}

/* Edges of a random way to write the text in tokens of the vocabulary. */
static bool check_tokens(const struct answer_case *c, const struct events *whole,
                         const struct power_vocab *vocab, uint64_t *random) {
    size_t n = c->raw.length, n_cuts = 0;
    size_t *cuts = malloc((n + 8) * sizeof *cuts);
    for (size_t at = 0; at < n;) {
        size_t count = 0, part = 1 + (size_t)(*random >> 33) % 24;
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        if (part > n - at) part = n - at;
        while (at + part < n && ((unsigned char)c->raw.bytes[at + part] & 0xC0) == 0x80)
            part++;
        uint32_t *ids =
            encode(vocab, (struct power_text){c->raw.bytes + at, part}, true, false, &count);
        for (size_t i = 0, place = at; i < count; i++) {
            place += power_vocab_piece(vocab, ids[i]).length;
            if (place < n && (!n_cuts || place > cuts[n_cuts - 1])) cuts[n_cuts++] = place;
        }
        free(ids);
        at += part;
    }
    bool same = same_when_cut(c, whole, cuts, n_cuts);
    free(cuts);
    return same;
}

static bool check_case(const struct answer_case *c, const json_t *events,
                       const struct power_vocab *vocab) {
    struct events whole, want;
    uint64_t random = 12345;
    events_init(&want);
    for (size_t i = 0; i < json_array_size(events); i++)
        append_expected(&want, json_array_get(events, i));
    events_of(&whole, &c->format, c->options, c->raw, NULL, 0, c->cut);
    bool ok = !whole.faulty && (events_equal(&whole, &want) || cut_call(&whole, events));
    if (!ok)
        print_message("  %s %s: got%s\n%s\n  want:\n%s\n", c->name, c->id,
                      whole.faulty ? " (faulty)" : "", whole.text.bytes, want.text.bytes);
    ok = ok && check_cuts(c, &whole);
    for (int i = 0; ok && vocab && i < RANDOM_ROUNDS; i++)
        ok = check_tokens(c, &whole, vocab, &random);
    events_finish(&whole);
    events_finish(&want);
    return ok;
}

static size_t check_file(const char *name, const struct power_vocab *vocab, size_t *total) {
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, POWER_TEST_DATA "/answers/%s", name);
    json_t *doc = json_load_file(path, 0, &error);
    if (!doc) fail_msg("%s: %s", path, error.text);
    struct answer_case c = {.name = name};
    if (!power_answer_format_named(text_of(json_object_get(doc, "format")),
                                   text_of(json_object_get(doc, "reasoning")), &c.format))
        fail_msg("%s: no such format", name);
    char *tools = json_dumps(json_object_get(doc, "tools"), 0);
    const json_t *cases = json_object_get(doc, "cases"), *one;
    size_t passed = 0, count = json_array_size(cases);
    assert_true(count >= 10);
    for (size_t i = 0; i < count; i++) {
        one = json_array_get(cases, i);
        c.id = json_string_value(json_object_get(one, "id"));
        c.raw = text_of(json_object_get(one, "raw"));
        c.cut = json_is_true(json_object_get(one, "cut"));
        c.options = (struct power_answer_parser_options){
            .tools = !json_is_false(json_object_get(one, "tools")),
            .reasoning_open = json_is_true(json_object_get(one, "reasoning_open")),
            .tools_json = power_text_of(tools)};
        passed += check_case(&c, json_object_get(one, "events"), vocab);
    }
    free(tools);
    json_decref(doc);
    *total += count;
    return passed;
}

static void test_formats(void **state) {
    (void)state;
    char path[512];
    power_error error;
    struct power_vocab *vocab = NULL;
    if (cached_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", path, sizeof path))
        vocab = open_vocab(path, &error);
    if (!vocab) print_message("cuts at tokens skipped: the 0.5B model is not in the cache\n");
    size_t passed = 0, total = 0, files = 0;
    DIR *dir = opendir(POWER_TEST_DATA "/answers");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".json")) continue;
        files++;
        passed += check_file(entry->d_name, vocab, &total);
    }
    closedir(dir);
    power_vocab_destroy(vocab);
    print_message("answers: %zu of %zu, formats: %zu\n", passed, total, files);
    assert_int_equal(passed, total);
    size_t known = 0;
    while (power_answer_format_list(known))
        known++;
    assert_int_equal(files, known);
}

/* ---- ../shared/cases/stream.json ---- */

static void check_stream_case(const json_t *one) {
    struct answer_case c = {.name = "stream.json",
                            .id = json_string_value(json_object_get(one, "id")),
                            .raw = text_of(json_object_get(one, "tool_text")),
                            .options = {.tools = true}};
    struct events whole, want;
    assert_true(power_answer_format_named(POWER_TEXT("hermes"), POWER_TEXT(""), &c.format));
    events_of(&whole, &c.format, c.options, c.raw, NULL, 0, false);
    events_init(&want);
    const json_t *content = json_object_get(one, "content"), *calls = json_object_get(one, "calls");
    if (json_is_string(content)) {
        events_line(&want, "text ");
        events_put(&want, json_string_value(content), json_string_length(content));
    }
    size_t at = want.text.length;
    assert_true(whole.text.length >= at);
    assert_memory_equal(whole.text.bytes ? whole.text.bytes : "",
                        want.text.bytes ? want.text.bytes : "", at);
    assert_int_equal(whole.complete, json_array_size(calls));
    char *rest = whole.text.bytes + at;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        char *name = strstr(rest, "call "), *arguments = strstr(rest, "arguments ");
        assert_non_null(name);
        assert_non_null(arguments);
        char *end = strchr(arguments, '\n');
        assert_non_null(end);
        assert_int_equal(strncmp(name + 5, json_string_value(json_array_get(call, 0)),
                                 json_string_length(json_array_get(call, 0))),
                         0);
        json_t *value = json_loadb(arguments + 10, (size_t)(end - arguments) - 10, 0, NULL);
        assert_true(json_equal(value, json_array_get(call, 1)));
        json_decref(value);
        rest = end;
    }
    size_t n = c.raw.length;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            assert_true(same_when_cut(&c, &whole, (size_t[]){i, j}, 2));
    events_finish(&whole);
    events_finish(&want);
}

static void test_stream_cases(void **state) {
    (void)state;
    json_t *doc = json_load_file(POWER_TEST_DATA "/cases/stream.json", 0, NULL);
    assert_non_null(doc);
    const json_t *cases = json_object_get(doc, "cases");
    size_t checked = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        if (!json_object_get(one, "tool_text")) continue;
        check_stream_case(one);
        checked++;
    }
    assert_int_equal(checked, 4);
    json_decref(doc);
}

/* ---- bounds ---- */

static int stop_at_call(void *context, const power_answer_event *event) {
    ++*(int *)context;
    return event->kind == POWER_ANSWER_CALL;
}

static void test_stop(void **state) {
    (void)state;
    struct power_answer_format format;
    int events = 0;
    power_error error = {0};
    struct power_answer_parser *parser = NULL;
    const struct power_answer_parser_options options = {
        .tools = true, .on_event = stop_at_call, .context = &events};
    assert_true(power_answer_format_named(POWER_TEXT("hermes"), POWER_TEXT(""), &format));
    assert_int_equal(
        power_answer_parser_create(&power_default_allocator, &format, &options, &parser, &error),
        POWER_OK);
    struct power_text raw =
        POWER_TEXT("<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call> and more");
    assert_int_equal(power_answer_parser_push(parser, raw, &error), POWER_CANCELLED);
    assert_int_equal(power_answer_parser_push(parser, raw, &error), POWER_CANCELLED);
    assert_int_equal(power_answer_parser_finish(parser, false, &error), POWER_CANCELLED);
    assert_int_equal(events, 1);
    power_answer_parser_destroy(parser);
}

/* A call beyond the maximum is text, all of it. */
static void test_large_call(void **state) {
    (void)state;
    struct power_answer_format format;
    struct events e;
    char raw[4096];
    int n = snprintf(raw, sizeof raw,
                     "<tool_call>{\"name\": \"x\", \"arguments\": {\"a\": \"%01000d\"}}", 7);
    assert_true(power_answer_format_named(POWER_TEXT("hermes"), POWER_TEXT(""), &format));
    struct power_answer_parser_options options = {.tools = true, .max_call_bytes = 512};
    events_of(&e, &format, options, (struct power_text){raw, (size_t)n}, NULL, 0, false);
    assert_false(e.faulty);
    const char *text = strstr(e.text.bytes, "malformed\ntext ");
    assert_non_null(text);
    assert_string_equal(text + 15, raw);
    events_finish(&e);
    options.max_call_bytes = 2048;
    events_of(&e, &format, options, (struct power_text){raw, (size_t)n}, NULL, 0, false);
    assert_int_equal(e.complete, 1);
    events_finish(&e);
}

static void test_tools_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *says;
    } cases[] = {{"{}", "no array"},
                 {"[1]", "tools[0]: no object"},
                 {"[{\"type\":\"function\",\"function\":{}}]", "tools[0]: no name"},
                 {"[{\"name\":\"a\"},{\"name\":\"a\"}]", "tools[1]: the name \"a\" twice"},
                 {"[{\"name\":\"a b\"}]", "white space"},
                 {"[{\"type\":\"web_search\"}]", "not \"function\""},
                 {"[{\"name\":\"a\",\"parameters\":[]}]", "no object"},
                 {"[{\"name\":\"a\"}", "tools"}};
    struct power_answer_format format;
    assert_true(power_answer_format_named(POWER_TEXT("glm"), POWER_TEXT(""), &format));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct power_answer_parser *parser = NULL;
        power_error error = {0};
        const struct power_answer_parser_options options = {
            .tools = true, .tools_json = power_text_of(cases[i].json), .on_event = events_take};
        assert_int_equal(power_answer_parser_create(&power_default_allocator, &format, &options,
                                                    &parser, &error),
                         POWER_INVALID);
        if (!strstr(error.message, cases[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].json, error.message, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_stream_cases),
        cmocka_unit_test(test_stop), cmocka_unit_test(test_large_call),
        cmocka_unit_test(test_tools_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
