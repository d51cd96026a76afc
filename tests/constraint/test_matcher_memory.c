/* SPDX-License-Identifier: MIT */
/* Job: a matcher that ran out of memory goes on from the same place once there is some again.
 * Input: a schema and a long text. Output: pass or fail; every allocation may be the one that
 * fails, above all those of dropping states. Threads: one. Bounds: seconds. */
#include "matcher_kit.h"

#include "text/constraint/front.h"

struct purse {
    size_t left, live;
};

static void *purse_alloc(void *context, size_t bytes, size_t alignment) {
    struct purse *p = context;
    if (p->left == 0) return NULL;
    p->left--;
    p->live++;
    return power_default_allocator.alloc(NULL, bytes, alignment);
}

static void purse_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct purse *p = context;
    p->live--;
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

/* An object of many keys, which all have to be remembered, and of nested values. */
static struct power_text long_text(void) {
    static char text[24000];
    int n = snprintf(text, sizeof text, "{");
    for (int i = 0; i < 150; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s\"key%d\": [%d, {\"a%d\": \"word%d\", \"b\": [[null], true]}]",
                      i ? ", " : "", i * 7, i, i, i * 31);
    n += snprintf(text + n, sizeof text - (size_t)n, "}");
    return (struct power_text){text, (size_t)n};
}

static void same_place(struct power_matcher *a, struct power_match in_a, struct power_matcher *b,
                       struct power_match in_b) {
    const uint64_t *one, *other;
    uint32_t counts[2], only;
    power_error error;
    assert_int_equal(power_matcher_mask(a, in_a, &one, &counts[0], &only, &error), POWER_OK);
    assert_int_equal(power_matcher_mask(b, in_b, &other, &counts[1], &only, &error), POWER_OK);
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(one, other, 256 / 8);
}

/* False once no allocation failed. */
static bool fails_then_goes_on(const struct power_grammar *g, const struct power_token_trie *trie,
                               size_t n, struct power_matcher *twin, struct power_match there) {
    struct purse purse = {SIZE_MAX, 0};
    const power_allocator allocator = {&purse, purse_alloc, purse_release};
    const struct power_matcher_limits limits = {.max_bytes = (size_t)512 << 10};
    struct power_text text = long_text(), half = {text.bytes, text.length / 2};
    struct power_matcher *m = NULL;
    power_error error = {0};
    assert_int_equal(power_matcher_create(&allocator, g, trie, &limits, &m, &error), POWER_OK);
    struct power_match match = power_matcher_start(m);
    assert_int_equal(power_matcher_accept_bytes(m, &match, half, &error), POWER_OK);
    struct power_text rest = {text.bytes + half.length, text.length - half.length};
    purse.left = n;
    power_status status = power_matcher_accept_bytes(m, &match, rest, &error);
    bool failed = status != POWER_OK;
    if (failed) {
        assert_int_equal(status, POWER_NO_MEMORY);
        purse.left = 0; /* and again, with nothing at all */
        status = power_matcher_accept_bytes(m, &match, rest, &error);
        assert_int_equal(status, POWER_NO_MEMORY);
        purse.left = SIZE_MAX;
        if (power_matcher_can_end(m, match)) fail_msg("the place moved, allocation %zu", n);
        status = power_matcher_accept_bytes(m, &match, rest, &error);
        if (status != POWER_OK) fail_msg("allocation %zu: %s", n, error.message);
    }
    purse.left = SIZE_MAX;
    assert_true(power_matcher_can_end(m, match));
    same_place(m, match, twin, there);
    power_matcher_release(m, match);
    power_matcher_destroy(m);
    assert_int_equal(purse.live, 0);
    return failed;
}

static void test_out_of_memory(void **state) {
    (void)state;
    struct power_token_trie *trie = byte_trie();
    struct power_grammar *g = new_grammar();
    struct power_schema_options options = {.any_order = true};
    power_error error = {0};
    power_expr root = 0;
    assert_int_equal(
        power_schema_compile(g, POWER_TEXT("{\"type\":\"object\"}"), &options, &root, &error),
        POWER_OK);
    assert_int_equal(power_grammar_freeze(g, root, &error), POWER_OK);
    struct power_matcher *twin = new_matcher(g, trie, NULL);
    struct power_match there = power_matcher_start(twin);
    assert_int_equal(power_matcher_accept_bytes(twin, &there, long_text(), &error), POWER_OK);
    size_t n = 0;
    while (fails_then_goes_on(g, trie, n, twin, there))
        n += 1 + n / 64;
    if (n < 50) fail_msg("only %zu allocations: nothing was dropped", n);
    power_matcher_release(twin, there);
    power_matcher_destroy(twin);
    power_grammar_destroy(g);
    power_token_trie_destroy(trie);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
