/* SPDX-License-Identifier: MIT */
/* Job: masks of a real vocabulary against token-by-token acceptance; forks, limits, long texts,
 * hostile grammars. Input: gpt-2's vocabulary of the shared data (skipped without it). Output:
 * every bit right, memory bounded, errors with their status. */
#include "matcher_kit.h"

#include "../unit/text_support.h"

/* JSON with an any-order object, a counted string, a free string, a number and recursion. */
static power_expr json_like(struct power_grammar *g) {
    struct power_regular any = regex_of(g, "[^\\u0000-\\u001f]*"), word = regex_of(g, "[a-z]{1,9}"),
                         dots = regex_of(g, ".{1,12}"), plain = regex_of(g, "[^<>é]{0,300}"),
                         mixed = regex_of(g, "[A-Z][a-z ]{2,}"), counted, free_text,
                         number = regex_of(g, "-?(0|[1-9][0-9]{0,14})(\\.[0-9]+)?");
    power_error error;
    assert_int_equal(power_regular_length(power_grammar_space(g), 2, 9, &counted, &error),
                     POWER_OK);
    assert_int_equal(
        power_regular_length(power_grammar_space(g), 0, UINT32_MAX, &free_text, &error), POWER_OK);
    power_expr quote = power_grammar_literal(g, POWER_TEXT("\""));
    power_expr value = power_grammar_rule(g, POWER_TEXT("value"));
    power_expr strings[6][3] = {{quote, power_grammar_regular(g, &any, POWER_AS_JSON), quote},
                                {quote, power_grammar_regular(g, &counted, POWER_AS_JSON), quote},
                                {quote, power_grammar_regular(g, &free_text, POWER_AS_JSON), quote},
                                {quote, power_grammar_regular(g, &dots, POWER_AS_JSON), quote},
                                {quote, power_grammar_regular(g, &plain, POWER_AS_JSON), quote},
                                {quote, power_grammar_regular(g, &mixed, POWER_AS_JSON), quote}};
    power_expr colon = power_grammar_literal(g, POWER_TEXT(": ")),
               comma = power_grammar_literal(g, POWER_TEXT(", "));
    power_expr limited = power_grammar_sequence(g, strings[1], 3);
    struct power_named_member named[] = {
        {POWER_TEXT("name"), limited, true},
        {POWER_TEXT("kids"), value, false},
        {POWER_TEXT("née\n"), power_grammar_sequence(g, strings[2], 3), false},
        {POWER_TEXT("dots"), power_grammar_sequence(g, strings[3], 3), false},
        {POWER_TEXT("plain"), power_grammar_sequence(g, strings[4], 3), false},
        {POWER_TEXT("mixed"), power_grammar_sequence(g, strings[5], 3), false}};
    struct power_key_class class = {&word, value};
    struct power_regular texts[2] = {word, regex_of(g, "name|kids|dots|plain|mixed")}, others;
    assert_int_equal(
        power_regular_subtract(power_grammar_space(g), &texts[0], &texts[1], &others, &error),
        POWER_OK);
    class.keys = &others;
    struct power_members members = {named, 6, &class, 1, true, 0, UINT32_MAX, colon, comma};
    power_expr object[] = {power_grammar_literal(g, POWER_TEXT("{")),
                           power_grammar_members(g, &members),
                           power_grammar_literal(g, POWER_TEXT("}"))};
    power_expr more[] = {comma, value};
    power_expr items[] = {value, power_grammar_repeat(g, power_grammar_sequence(g, more, 2), 0, 3)};
    power_expr array[] = {power_grammar_literal(g, POWER_TEXT("[")),
                          power_grammar_repeat(g, power_grammar_sequence(g, items, 2), 0, 1),
                          power_grammar_literal(g, POWER_TEXT("]"))};
    power_expr choices[] = {power_grammar_sequence(g, object, 3),
                            power_grammar_sequence(g, array, 3),
                            power_grammar_sequence(g, strings[0], 3),
                            limited,
                            power_grammar_regular(g, &number, POWER_AS_UTF8),
                            power_grammar_literal(g, POWER_TEXT("null"))};
    power_grammar_define(g, value, power_grammar_choice(g, choices, 6));
    return choices[0];
}

/* Two rules in one text, free text outside of JSON. */
static power_expr text_like(struct power_grammar *g) {
    struct power_regular any = regex_of(g, "[^<]*"), tag = regex_of(g, "<[a-z]+>");
    power_expr parts[] = {power_grammar_regular(g, &any, POWER_AS_UTF8),
                          power_grammar_regular(g, &tag, POWER_AS_UTF8)};
    return power_grammar_repeat(g, power_grammar_sequence(g, parts, 2), 1, 50);
}

static void check_every_token(struct power_matcher *m, struct power_match match,
                              const struct power_vocab *vocab) {
    const uint64_t *mask;
    uint32_t count, only, n_tokens = power_vocab_info(vocab)->n_tokens, n = 0;
    power_error error;
    size_t words = (n_tokens + 63) / 64;
    if (power_matcher_mask(m, match, &mask, &count, &only, &error) != POWER_OK) {
        fail_msg("%s", error.message);
    }
    uint64_t *copy = malloc(words * sizeof *copy);
    memcpy(copy, mask, words * sizeof *copy);
    for (uint32_t id = 0; id < n_tokens; id++) {
        struct power_match next = power_matcher_fork(m, match);
        bool want = power_matcher_accept(m, &next, id, &error) == POWER_OK;
        bool got = copy[id / 64] >> (id % 64) & 1;
        n += got;
        power_matcher_release(m, next);
        if (got != want) {
            struct power_text piece = power_vocab_piece(vocab, id);
            fail_msg("token %u \"%.*s\": %d in the mask", id, (int)piece.length, piece.bytes, got);
        }
    }
    assert_int_equal(n, count);
    assert_true(count > 0);
    if (count == 1) assert_true(copy[only / 64] >> (only % 64) & 1);
    free(copy);
}

static uint32_t random_token(struct power_matcher *m, struct power_match match, uint64_t *seed) {
    const uint64_t *mask;
    uint32_t count, only, id = 0;
    power_error error;
    assert_int_equal(power_matcher_mask(m, match, &mask, &count, &only, &error), POWER_OK);
    for (uint32_t skip = random_below(seed, count) + 1; skip; id++)
        skip -= (uint32_t)(mask[id / 64] >> (id % 64) & 1);
    return id - 1;
}

static void walk(struct power_grammar *g, const struct power_token_trie *trie,
                 const struct power_vocab *vocab, size_t max_bytes, uint64_t seed, int steps) {
    struct power_matcher_limits limits = {.max_bytes = max_bytes};
    struct power_matcher *m = new_matcher(g, trie, &limits);
    struct power_match match = power_matcher_start(m), kept = power_matcher_start(m);
    power_error error;
    for (int i = 0; i < steps; i++) {
        check_every_token(m, match, vocab);
        uint32_t id = random_token(m, match, &seed);
        assert_int_equal(power_matcher_accept(m, &match, id, &error), POWER_OK);
        if (power_vocab_is_end(vocab, id)) {
            assert_true(power_matcher_can_end(m, match));
            power_matcher_release(m, match);
            match = power_matcher_start(m);
        }
        if (random_below(&seed, 5) == 0) {
            power_matcher_release(m, kept);
            kept = power_matcher_fork(m, match);
        } else if (random_below(&seed, 5) == 0) {
            power_matcher_release(m, match);
            match = power_matcher_fork(m, kept);
        }
    }
    power_matcher_release(m, match);
    power_matcher_release(m, kept);
    power_matcher_destroy(m);
}

/* Strings whose code points are of one set, at each byte of a text. */
static void strings_of_sets(const struct power_token_trie *trie, const struct power_vocab *vocab) {
    static const char *const cases[][2] = {
        {".{1,12}", "an \\u00e9t\xC3\xA9 x"}, {"[^<>é]{0,5}", "a \\\"b"},
        {"[A-Z][a-z ]{2,6}", "The en"},       {"[^\\n]*", "x\\t\xE6\xBC\xA2"},
        {"(ab)?[^ ]{0,3}", "abxy"},           {"[0-9]{3}[^0-9]{0,9}", "123 and"}};
    power_error error;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct power_grammar *g = new_grammar();
        struct power_regular language = regex_of(g, cases[c][0]);
        power_expr string = power_grammar_regular(g, &language, POWER_AS_JSON);
        power_expr parts[] = {power_grammar_literal(g, POWER_TEXT("[\"")), string,
                              power_grammar_literal(g, POWER_TEXT("\", \"")), string,
                              power_grammar_literal(g, POWER_TEXT("\"]"))};
        power_expr root = power_grammar_sequence(g, parts, 5);
        assert_int_equal(power_grammar_freeze(g, root, &error), POWER_OK);
        struct power_matcher *m = new_matcher(g, trie, NULL);
        struct power_match match = power_matcher_start(m);
        assert_int_equal(power_matcher_accept_bytes(m, &match, POWER_TEXT("[\""), &error),
                         POWER_OK);
        for (const char *at = cases[c][1]; *at; at++) {
            check_every_token(m, match, vocab);
            struct power_text byte = {at, 1};
            assert_int_equal(power_matcher_accept_bytes(m, &match, byte, &error), POWER_OK);
        }
        check_every_token(m, match, vocab);
        power_matcher_release(m, match);
        power_matcher_destroy(m);
        power_grammar_destroy(g);
    }
}

static void test_masks(void **state) {
    (void)state;
    power_error error;
    struct power_vocab *vocab = open_vocab(SHARED_DATA "/tokenizers/gpt-2.gguf", &error);
    struct power_token_trie *trie = NULL;
    if (!vocab) {
        print_message("SKIP: %s\n", SHARED_DATA "/tokenizers/gpt-2.gguf is not there");
        skip();
    }
    assert_int_equal(power_token_trie_create(&power_default_allocator, vocab, &trie, &error),
                     POWER_OK);
    const char *more = getenv("POWER_TEST_ROUNDS");
    int steps = more ? atoi(more) : 30;
    strings_of_sets(trie, vocab);
    for (int kind = 0; kind < 2; kind++) {
        struct power_grammar *g = new_grammar();
        power_expr root = kind ? text_like(g) : json_like(g);
        if (power_grammar_freeze(g, root, &error) != POWER_OK) fail_msg("%s", error.message);
        walk(g, trie, vocab, 0, 11, steps);
        walk(g, trie, vocab, (size_t)6 << 20, 12, steps);
        power_grammar_destroy(g);
    }
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
}

/* ---- long and hostile ---- */

/* list = "[" list* "]": nesting opens frames, and a limit ends it. */
static void test_nesting(void **state) {
    (void)state;
    struct power_token_trie *trie = byte_trie();
    struct power_grammar *g = new_grammar();
    power_error error = {0};
    power_expr list = power_grammar_rule(g, POWER_TEXT("list"));
    power_expr parts[] = {power_grammar_literal(g, POWER_TEXT("[")),
                          power_grammar_repeat(g, list, 0, UINT32_MAX),
                          power_grammar_literal(g, POWER_TEXT("]"))};
    power_grammar_define(g, list, power_grammar_sequence(g, parts, 3));
    assert_int_equal(power_grammar_freeze(g, list, &error), POWER_OK);
    struct power_matcher *m = new_matcher(g, trie, NULL);
    enum { DEEP = 9000 };
    static char text[2 * DEEP + 2], deeper[20000];
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    assert_true(accepts(m, text, 2 * DEEP));
    assert_false(accepts(m, text, 2 * DEEP - 1));
    memset(deeper, '[', sizeof deeper);
    bool yes;
    assert_int_equal(
        power_matcher_accepts(m, (struct power_text){deeper, sizeof deeper}, &yes, &error),
        POWER_LIMIT);
    assert_true(accepts(m, "[[][]]", 6)); /* and it works on */
    power_matcher_destroy(m);
    power_grammar_destroy(g);
    power_token_trie_destroy(trie);
}

/* s = "a" s "b" | "a" s "c" | "a": two ways at every depth, one frame. s = s-like pairs that differ
 * in their rules stay polynomial, too. */
static void test_ambiguity(void **state) {
    (void)state;
    struct power_token_trie *trie = byte_trie();
    struct power_grammar *g = new_grammar();
    power_error error = {0};
    power_expr s = power_grammar_rule(g, POWER_TEXT("s"));
    power_expr a = power_grammar_literal(g, POWER_TEXT("a"));
    power_expr b[] = {a, s, power_grammar_literal(g, POWER_TEXT("b"))},
               c[] = {a, s, power_grammar_literal(g, POWER_TEXT("c"))}, ss[] = {a, s, s};
    power_expr choices[] = {power_grammar_sequence(g, b, 3), power_grammar_sequence(g, c, 3),
                            power_grammar_sequence(g, ss, 3), a};
    power_grammar_define(g, s, power_grammar_choice(g, choices, 4));
    assert_int_equal(power_grammar_freeze(g, s, &error), POWER_OK);
    struct power_matcher *m = new_matcher(g, trie, NULL);
    static char text[401];
    memset(text, 'a', 200);
    for (int i = 200; i < 399; i++)
        text[i] = i % 2 ? 'b' : 'c';
    assert_true(accepts(m, text, 399));
    assert_false(accepts(m, text, 400));
    power_matcher_destroy(m);
    power_grammar_destroy(g);
    power_token_trie_destroy(trie);
}

/* 100,000 rules in a chain, and a repeat of 100,000. */
static void test_large(void **state) {
    (void)state;
    struct power_token_trie *trie = byte_trie();
    struct power_grammar *g = new_grammar();
    power_error error = {0};
    enum { RULES = 100000 };
    power_expr a = power_grammar_literal(g, POWER_TEXT("a")), first = 0, before = 0;
    for (int i = 0; i < RULES; i++) {
        power_expr rule = power_grammar_rule(g, POWER_TEXT("r"));
        if (before) {
            power_expr parts[] = {a, rule};
            power_grammar_define(g, before, power_grammar_sequence(g, parts, 2));
        } else {
            first = rule;
        }
        before = rule;
    }
    power_grammar_define(g, before, power_grammar_repeat(g, a, 100000, 100000));
    assert_int_equal(power_grammar_freeze(g, first, &error), POWER_OK);
    struct power_matcher_limits small = {.max_bytes = (size_t)8 << 20};
    struct power_matcher *m = new_matcher(g, trie, &small);
    static char text[2 * RULES];
    memset(text, 'a', sizeof text);
    assert_true(accepts(m, text, 2 * RULES - 1));
    assert_false(accepts(m, text, 2 * RULES - 2));
    power_matcher_destroy(m);
    power_grammar_destroy(g);
    power_token_trie_destroy(trie);
}

static void expect_refused(struct power_grammar *g, power_expr root, const char *why) {
    power_error error = {0};
    power_status status = power_grammar_freeze(g, root, &error);
    if (status == POWER_OK || !strstr(error.message, why)) {
        fail_msg("wanted \"%s\": \"%s\"", why, error.message);
    }
    power_grammar_destroy(g);
}

static void test_refusals(void **state) {
    (void)state;
    struct power_grammar *g = new_grammar();
    power_expr open = power_grammar_rule(g, POWER_TEXT("open"));
    expect_refused(g, open, "rule \"open\" is not defined");
    g = new_grammar();
    power_expr list = power_grammar_rule(g, POWER_TEXT("list")), blank;
    blank = power_grammar_repeat(g, power_grammar_literal(g, POWER_TEXT(" ")), 0, UINT32_MAX);
    power_expr parts[] = {blank, list, power_grammar_literal(g, POWER_TEXT("x"))};
    power_expr choices[] = {power_grammar_sequence(g, parts, 3),
                            power_grammar_literal(g, POWER_TEXT("y"))};
    power_grammar_define(g, list, power_grammar_choice(g, choices, 2));
    expect_refused(g, list, "rule \"list\" is left recursive");
    g = new_grammar();
    power_expr never = power_grammar_rule(g, POWER_TEXT("never"));
    power_expr again[] = {power_grammar_literal(g, POWER_TEXT("x")), never};
    power_grammar_define(g, never, power_grammar_sequence(g, again, 2));
    expect_refused(g, never, "no text satisfies");
    struct power_grammar_limits limits = {.max_nodes = 100};
    power_error error;
    assert_int_equal(power_grammar_create(&power_default_allocator, &limits, &g, &error), POWER_OK);
    power_expr last = 0;
    for (int i = 0; i < 200; i++)
        last = power_grammar_empty(g);
    expect_refused(g, last, "more than 100 expressions");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks), cmocka_unit_test(test_nesting),
                                       cmocka_unit_test(test_ambiguity),
                                       cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
