/* SPDX-License-Identifier: MIT */
/* Job: several threads under one constraint. Input: a schema over a vocabulary with long tokens.
 * Output: every thread's masks and tokens are those of one thread alone; the TSan build runs this.
 * Threads: four, each with its own matcher, on one grammar and one tree of tokens. Bounds: seconds.
 */
#include "matcher_kit.h"

#include <pthread.h>

#include "text/constraint/front.h"

enum { WORKERS = 4, WALKS = 12, MOST = 300 };

static const char *const more[] = {"ab",     "abc",    "\"",   "\",",  "\": ", "{\"",
                                   "[1",     "10",     "null", "true", ", ",   "]}",
                                   "\"name", "name\"", "tags", "é",    "x\":"};

struct worker {
    const struct power_grammar *grammar;
    const struct power_token_trie *trie;
    uint64_t digest; /* of all masks and tokens */
    const char *fault;
};

static void mix(struct worker *w, uint64_t value) {
    w->digest = (w->digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    w->digest ^= w->digest >> 29;
}

static uint32_t pick(const uint64_t *mask, uint32_t count, uint64_t *seed) {
    uint32_t n = random_below(seed, count);
    for (uint32_t at = 0;; at++) {
        uint64_t bits = mask[at];
        uint32_t here = (uint32_t)__builtin_popcountll(bits);
        if (n >= here) {
            n -= here;
            continue;
        }
        for (; n; n--)
            bits &= bits - 1;
        return at * 64 + (uint32_t)__builtin_ctzll(bits);
    }
}

static void walk(struct worker *w, struct power_matcher *m, uint64_t seed) {
    struct power_match match = power_matcher_start(m);
    power_error error = {0};
    for (int i = 0; i < MOST && !w->fault; i++) {
        const uint64_t *mask;
        uint32_t count, only;
        if (power_matcher_mask(m, match, &mask, &count, &only, &error)) {
            w->fault = "no mask";
            break;
        }
        for (uint32_t at = 0; at < 5; at++)
            mix(w, mask[at]);
        uint32_t id = pick(mask, count, &seed);
        mix(w, id);
        if (id == 256) break; /* the end */
        if (power_matcher_accept(m, &match, id, &error))
            w->fault = "a token of the mask is refused";
    }
    power_matcher_release(m, match);
}

static void *work(void *context) {
    struct worker *w = context;
    const struct power_matcher_limits limits = {.max_bytes = (size_t)1 << 20};
    struct power_matcher *m = NULL;
    power_error error = {0};
    w->digest = 1;
    if (power_matcher_create(&power_default_allocator, w->grammar, w->trie, &limits, &m, &error)) {
        w->fault = "no matcher";
        return NULL;
    }
    for (uint64_t seed = 1; seed <= WALKS; seed++)
        walk(w, m, seed);
    power_matcher_destroy(m);
    return NULL;
}

static void test_one_constraint(void **state) {
    (void)state;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":9},"
        "\"tags\":{\"type\":\"array\",\"items\":{\"enum\":[\"ab\",10,null]},\"maxItems\":4},"
        "\"kid\":{\"$ref\":\"#\"},\"n\":{\"minimum\":-3,\"maximum\":1000}}}";
    const struct power_schema_options options = {.any_order = true, .any_depth = 3};
    struct power_vocab *vocab = NULL;
    struct power_token_trie *trie = NULL;
    struct power_grammar *g = new_grammar();
    power_error error = {0};
    power_expr root = 0;
    assert_int_equal(wide_vocab_create(more, sizeof more / sizeof *more, &vocab, &error), POWER_OK);
    assert_int_equal(power_token_trie_create(&power_default_allocator, vocab, &trie, &error),
                     POWER_OK);
    assert_int_equal(power_schema_compile(g, power_text_of(schema), &options, &root, &error),
                     POWER_OK);
    assert_int_equal(power_grammar_freeze(g, root, &error), POWER_OK);
    struct worker alone = {.grammar = g, .trie = trie}, workers[WORKERS];
    pthread_t threads[WORKERS];
    work(&alone);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.grammar = g, .trie = trie};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WORKERS; i++) {
        if (workers[i].fault) fail_msg("%s", workers[i].fault);
        assert_true(workers[i].digest == alone.digest);
    }
    power_grammar_destroy(g);
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_constraint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
