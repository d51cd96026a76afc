/* SPDX-License-Identifier: MIT */
/* Job: whatever an envelope allows is calls that the parser reads.
 * Input: every format, tools with hard schemas, the 0.5B model's vocabulary (skipped without it).
 * Output: random walks that end in whole calls of declared functions. With a file name as argument
 * each call is written there as a line of JSON, for tests/reference/check_calls.py. */
#include "answer_support.h"
#include "text/constraint/matcher.h"

enum { WALKS = 12, STEPS = 600, HURRY = 60 };

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"parameters\":{\"type\":"
    "\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"unit\":{\"type\":\"string\","
    "\"enum\":"
    "[\"C\",7,null,[\"x\"],\"F\"]},\"days\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":14},"
    "\"hourly\":{"
    "\"type\":"
    "\"boolean\"},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":4},"
    "\"maxItems\":3}},\"required\":[\"city\"],\"additionalProperties\":false}}},{\"type\":"
    "\"function\","
    "\"function\":{\"name\":\"pick\",\"parameters\":{\"type\":\"object\",\"$defs\":{\"p\":{"
    "\"type\":"
    "\"object\",\"properties\":{\"x\":{\"type\":\"integer\"},\"y\":{\"type\":[\"number\",\"null\"]}"
    "},"
    "\"required\":[\"x\"],\"additionalProperties\":false}},\"properties\":{\"at\":{\"$ref\":"
    "\"#/$defs/"
    "p\"},\"code\":{\"type\":\"string\",\"pattern\":\"^[A-Z]{2}[0-9]+$\",\"maxLength\":6},"
    "\"day\":{\"type\":\"string\",\"format\":\"date\"},\"note\":{\"type\":[\"string\",\"null\"],"
    "\"maxLength\":8}},\"required\":[\"code\",\"at\"],\"additionalProperties\":false}}},{\"type\":"
    "\"function\",\"function\":{\"name\":\"now\"}}]";

static struct power_vocab *vocab;
static FILE *calls_file;

static uint64_t random_next(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static uint32_t set_after(const uint64_t *mask, uint32_t n, uint32_t from) {
    for (uint32_t id = from, words = 0; words <= n / 64 + 2; words++) {
        uint64_t word = mask[id / 64] >> (id % 64);
        if (word) return id + (uint32_t)__builtin_ctzll(word);
        id = (id / 64 + 1) * 64;
        if (id >= n) id = 0;
    }
    return UINT32_MAX;
}

/* A token of the mask; in a hurry, one that closes something. */
static uint32_t choose(const uint64_t *mask, uint32_t n, uint64_t *random, bool hurry) {
    static const char *const closers[] = {"\"", "}", "]", "</", "0", ")", ">", "1", "\n"};
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; (hurry || random_next(random) % 3 == 0) && i < 9; i++) {
        uint32_t id = power_vocab_find(vocab, power_text_of(closers[i]));
        if (id < n && mask[id / 64] >> (id % 64) & 1) return id;
    }
    for (int i = 0; i < 8; i++) {
        uint32_t id = set_after(mask, n, (uint32_t)(random_next(random) % n));
        size_t length = power_vocab_piece(vocab, id).length;
        if (best == UINT32_MAX || length < power_vocab_piece(vocab, best).length) best = id;
    }
    return best;
}

/* One text of the grammar, or none when the walk got too long. */
static bool walk(struct power_matcher *matcher, uint64_t *random, struct power_buffer *out) {
    struct power_match match = power_matcher_start(matcher);
    uint32_t n = power_vocab_info(vocab)->n_tokens;
    power_error error = {0};
    bool ended = false;
    for (int step = 0; step < STEPS && !ended; step++) {
        const uint64_t *mask;
        uint32_t count, only;
        assert_int_equal(power_matcher_mask(matcher, match, &mask, &count, &only, &error),
                         POWER_OK);
        assert_true(count > 0);
        uint32_t id = choose(mask, n, random, step > HURRY);
        bool can_end = power_matcher_can_end(matcher, match);
        if (power_vocab_is_end(vocab, id) || (can_end && step > HURRY)) {
            assert_true(can_end);
            ended = true;
            break;
        }
        struct power_text piece = power_vocab_piece(vocab, id);
        assert_true(power_buffer_append(out, piece.bytes, piece.length));
        assert_int_equal(power_matcher_accept(matcher, &match, id, &error), POWER_OK);
    }
    power_matcher_release(matcher, match);
    return ended;
}

static void keep_calls(const char *format, const char *events) {
    for (const char *at = events; calls_file && (at = strstr(at, "call ")); at++) {
        if (at != events && at[-1] != '\n') continue;
        const char *end = strchr(at, '\n'), *arguments = end + 1 + strlen("arguments ");
        const char *stop = strstr(arguments, "\nend ");
        if (!stop) continue;
        fprintf(calls_file, "{\"format\": \"%s\", \"name\": \"%.*s\", \"arguments\": ", format,
                (int)(end - at) - 5, at + 5);
        /* A newline in JSON is white space: one line a call. */
        for (; arguments < stop; arguments++)
            fputc(*arguments == '\n' ? ' ' : *arguments, calls_file);
        fputs("}\n", calls_file);
    }
}

static bool check_walk(const char *name, const struct power_answer_format *format,
                       const struct power_buffer *text, const struct power_tool_request *request) {
    struct events e;
    const struct power_answer_parser_options options = {.tools = true,
                                                        .tools_json = power_text_of(tools)};
    events_of(&e, format, options,
              (struct power_text){text->bytes ? text->bytes : "", text->length}, NULL, 0, false);
    const char *events = e.text.bytes ? e.text.bytes : "";
    bool ok = !e.faulty && e.calls == e.complete && !strstr(events, "malformed");
    if (request->choice != POWER_TOOLS_AUTO)
        ok = ok && e.calls >= 1 && !strncmp(events, "call ", 5);
    if (!request->parallel) ok = ok && e.calls <= 1;
    if (request->choice == POWER_TOOLS_NAMED) ok = ok && strstr(events, "call pick\n");
    if (!ok)
        print_message("  %s: \"%.*s\"\n  gives:\n%s\n", name, (int)text->length, text->bytes,
                      events);
    if (ok) keep_calls(name, events);
    events_finish(&e);
    return ok;
}

static size_t check_format(const char *name, const struct power_token_trie *trie,
                           struct power_tool_request request, size_t *walks) {
    struct power_answer_format format;
    struct power_grammar *g = NULL;
    struct power_matcher *matcher = NULL;
    power_error error = {0};
    power_expr root = 0;
    uint64_t random = 99;
    size_t wrong = 0;
    assert_true(power_answer_format_named(power_text_of(name), POWER_TEXT(""), &format));
    assert_int_equal(power_grammar_create(&power_default_allocator, NULL, &g, &error), POWER_OK);
    power_status status = power_answer_envelope(g, &format, &request, vocab, &root, &error);
    if (status == POWER_OK) status = power_grammar_freeze(g, root, &error);
    if (status == POWER_OK)
        status = power_matcher_create(&power_default_allocator, g, trie, NULL, &matcher, &error);
    if (status != POWER_OK) fail_msg("%s: %s", name, error.message);
    const int times = getenv("POWER_TEST_SANITIZED") ? WALKS / 4 : WALKS;
    for (int i = 0; i < times; i++) {
        struct power_buffer text;
        power_buffer_init(&text, &power_default_allocator, (size_t)1 << 20);
        if (walk(matcher, &random, &text)) {
            wrong += !check_walk(name, &format, &text, &request);
            ++*walks;
        }
        power_buffer_finish(&text);
    }
    power_matcher_destroy(matcher);
    power_grammar_destroy(g);
    return wrong;
}

static void test_walks(void **state) {
    (void)state;
    const struct power_tool_request requests[] = {
        {.tools_json = power_text_of(tools), .choice = POWER_TOOLS_REQUIRED},
        {.tools_json = power_text_of(tools), .choice = POWER_TOOLS_REQUIRED, .parallel = true},
        {.tools_json = power_text_of(tools),
         .choice = POWER_TOOLS_NAMED,
         .name = POWER_TEXT("pick")},
        {.tools_json = power_text_of(tools), .choice = POWER_TOOLS_AUTO, .parallel = true}};
    struct power_token_trie *trie = NULL;
    power_error error = {0};
    size_t wrong = 0, walks = 0;
    if (!vocab) {
        print_message("skipped: the 0.5B model is not in the cache\n");
        skip();
    }
    assert_int_equal(power_token_trie_create(&power_default_allocator, vocab, &trie, &error),
                     POWER_OK);
    for (size_t f = 0; power_answer_format_list(f); f++) {
        for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++)
            wrong += check_format(power_answer_format_list(f), trie, requests[r], &walks);
    }
    power_token_trie_destroy(trie);
    print_message("walks: %zu, wrong: %zu\n", walks, wrong);
    assert_int_equal(wrong, 0);
    assert_true(walks > (getenv("POWER_TEST_SANITIZED") ? 150 : 600));
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *format, *tools, *name, *says;
        power_status status;
    } cases[] = {
        {"hermes", "[{\"name\":\"a\"}]", "b", "no tool has the name \"b\"", POWER_NOT_FOUND},
        {"hermes", "[]", NULL, "none to call", POWER_INVALID},
        {"hermes", "[{\"name\":\"a\",\"parameters\":{\"type\":\"array\"}}]", NULL,
         "tool \"a\": the type", POWER_UNSUPPORTED},
        {"qwen-xml",
         "[{\"name\":\"a\",\"parameters\":{\"properties\":{\"x\":{\"type\":\"string\",\"not\":{}}}}"
         "}]",
         NULL, "tool \"a\": #/properties/x/not", POWER_UNSUPPORTED},
        {"qwen-xml", "[{\"name\":\"a\",\"parameters\":{\"minProperties\":1}}]", NULL,
         "#/minProperties", POWER_UNSUPPORTED},
        {"glm", "[{\"name\":\"a\",\"parameters\":{\"required\":[\"x\"]}}]", NULL, "#/required",
         POWER_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct power_answer_format format;
        struct power_grammar *g = NULL;
        power_error error = {0};
        power_expr root = 0;
        struct power_tool_request request = {.tools_json = power_text_of(cases[i].tools),
                                             .choice = POWER_TOOLS_REQUIRED};
        if (cases[i].name) {
            request.choice = POWER_TOOLS_NAMED;
            request.name = power_text_of(cases[i].name);
        }
        assert_true(
            power_answer_format_named(power_text_of(cases[i].format), POWER_TEXT(""), &format));
        assert_int_equal(power_grammar_create(&power_default_allocator, NULL, &g, &error),
                         POWER_OK);
        assert_int_equal(power_answer_envelope(g, &format, &request, NULL, &root, &error),
                         cases[i].status);
        if (!strstr(error.message, cases[i].says))
            fail_msg("\"%s\" lacks \"%s\"", error.message, cases[i].says);
        power_grammar_destroy(g);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walks),
                                       cmocka_unit_test(test_refusals)};
    char path[512];
    power_error error;
    if (cached_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", path, sizeof path))
        vocab = open_vocab(path, &error);
    if (argc > 1) calls_file = fopen(argv[1], "w");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (calls_file && fclose(calls_file)) failed++;
    power_vocab_destroy(vocab);
    return failed;
}
