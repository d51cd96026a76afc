/* SPDX-License-Identifier: MIT */
/* Job: set operations on automata against brute force over all short texts; what each automaton
 * promises; messages of broken expressions; ends of hostile ones.
 * Input: seeds. Output: languages equal on every text of up to five letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/error.h"
#include "text/constraint/regular.h"

/* ---- brute force: a language is the set of its texts of up to LONGEST letters ---- */

enum { LETTERS = 3, LONGEST = 5, TEXTS = 1 + 3 + 9 + 27 + 81 + 243 };
struct texts {
    bool in[TEXTS];
};
static char TEXT[TEXTS][LONGEST + 1];

static int list_texts(void **state) {
    (void)state;
    int n = 1;
    for (int i = 0; n < TEXTS; i++) {
        for (int c = 0; c < LETTERS && n < TEXTS; c++, n++) {
            memcpy(TEXT[n], TEXT[i], sizeof TEXT[n]);
            TEXT[n][strlen(TEXT[i])] = (char)('a' + c);
        }
    }
    return 0;
}

/* Texts are listed by length, then in order: the number of one is computed. */
static int number_of(const char *text, size_t length) {
    int number = 0;
    for (size_t i = 0; i < length; i++)
        number = number * LETTERS + (text[i] - 'a') + 1;
    return number;
}

static struct texts concat(const struct texts *a, const struct texts *b) {
    struct texts out = {{0}};
    for (int i = 0; i < TEXTS; i++) {
        size_t length = strlen(TEXT[i]);
        for (size_t cut = 0; cut <= length && !out.in[i]; cut++)
            out.in[i] =
                a->in[number_of(TEXT[i], cut)] && b->in[number_of(TEXT[i] + cut, length - cut)];
    }
    return out;
}

static struct texts repeat(const struct texts *a, uint32_t min, uint32_t max) {
    struct texts out = {{0}}, power = {{0}};
    power.in[0] = true;
    uint32_t most = max == UINT32_MAX ? min + LONGEST : max;
    for (uint32_t n = 0; n <= most; n++) {
        for (int i = 0; i < TEXTS; i++)
            out.in[i] = out.in[i] || (n >= min && power.in[i]);
        power = concat(&power, a);
    }
    return out;
}

/* ---- random operations ---- */

static uint32_t below(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % n);
}

struct pair { /* a language twice */
    struct power_regular automaton;
    struct texts texts;
};

static const struct power_regular_space *new_space(struct power_arena *arena,
                                                   struct power_regular_space *space) {
    power_arena_init(arena, &power_default_allocator, (size_t)256 << 20);
    *space = (struct power_regular_space){.arena = arena};
    return space;
}

static void make_leaf(const struct power_regular_space *space, uint64_t *seed, struct pair *out) {
    power_error error = {0};
    *out = (struct pair){0};
    if (below(seed, 3) == 0) {
        uint32_t first = below(seed, LETTERS), last = first + below(seed, LETTERS - first);
        const char set[] = {'[', (char)('a' + first), '-', (char)('a' + last), ']'};
        const struct power_text regex = {set, sizeof set};
        assert_int_equal(
            power_regular_parse(space, regex, POWER_REGEX_WHOLE, &out->automaton, &error),
            POWER_OK);
        for (uint32_t c = first; c <= last; c++)
            out->texts.in[1 + c] = true;
        return;
    }
    int number = (int)below(seed, 40);
    assert_int_equal(
        power_regular_literal(space, power_text_of(TEXT[number]), &out->automaton, &error),
        POWER_OK);
    out->texts.in[number] = true;
}

static void make_union(const struct power_regular_space *space, uint64_t *seed,
                       const struct pair *pairs, uint32_t n, struct pair *out) {
    struct power_regular parts[4];
    uint32_t n_parts = below(seed, 5);
    *out = (struct pair){0};
    for (uint32_t i = 0; i < n_parts; i++) {
        const struct pair *part = &pairs[below(seed, n)];
        parts[i] = part->automaton;
        for (int t = 0; t < TEXTS; t++)
            out->texts.in[t] = out->texts.in[t] || part->texts.in[t];
    }
    assert_int_equal(power_regular_union(space, parts, n_parts, &out->automaton, NULL), POWER_OK);
}

static void make_pair(const struct power_regular_space *space, uint64_t *seed,
                      const struct pair *pairs, uint32_t n, struct pair *out) {
    const struct pair *a = &pairs[below(seed, n)], *b = &pairs[below(seed, n)];
    uint32_t min = below(seed, 3), max = below(seed, 2) ? UINT32_MAX : min + below(seed, 3);
    power_status status = POWER_OK;
    *out = (struct pair){0};
    switch (below(seed, 5)) {
    case 0:
        status = power_regular_concat(space, &a->automaton, &b->automaton, &out->automaton, NULL);
        out->texts = concat(&a->texts, &b->texts);
        break;
    case 1:
        status = power_regular_repeat(space, &a->automaton, min, max, &out->automaton, NULL);
        out->texts = repeat(&a->texts, min, max);
        break;
    case 2:
        status =
            power_regular_intersect(space, &a->automaton, &b->automaton, &out->automaton, NULL);
        for (int t = 0; t < TEXTS; t++)
            out->texts.in[t] = a->texts.in[t] && b->texts.in[t];
        break;
    case 3:
        status = power_regular_subtract(space, &a->automaton, &b->automaton, &out->automaton, NULL);
        for (int t = 0; t < TEXTS; t++)
            out->texts.in[t] = a->texts.in[t] && !b->texts.in[t];
        break;
    default:
        make_union(space, seed, pairs, n, out);
    }
    assert_int_equal(status, POWER_OK);
}

/* ---- promises ---- */

static void check_edges(const struct power_regular *a) {
    uint32_t seen = 0;
    for (uint32_t s = 0; s < a->n_states; s++) {
        const struct power_regular_state *state = &a->states[s];
        seen += state->n_edges;
        for (uint32_t e = 0; e < state->n_edges; e++) {
            const struct power_regular_edge *edge = &a->edges[state->first_edge + e];
            assert_true(edge->first <= edge->last && edge->last <= 0x10FFFF);
            assert_true(edge->last < 0xD800 || edge->first > 0xDFFF);
            assert_true(edge->to < a->n_states);
            if (e == 0) continue;
            assert_true(edge[-1].last < edge->first);
            assert_false(edge[-1].last + 1 == edge->first && edge[-1].to == edge->to);
        }
    }
    assert_int_equal(seen, a->n_edges);
}

/* Every state is reached, and reaches acceptance. */
static void check_live(const struct power_regular *a) {
    bool *reached = calloc(a->n_states + 1, 1), *live = calloc(a->n_states + 1, 1);
    assert_true(reached && live);
    reached[0] = true;
    for (uint32_t round = 0; round < a->n_states; round++) {
        for (uint32_t s = 0; s < a->n_states; s++) {
            const struct power_regular_state *state = &a->states[s];
            live[s] = live[s] || state->accepts;
            for (uint32_t e = state->first_edge; e < state->first_edge + state->n_edges; e++) {
                reached[a->edges[e].to] = reached[a->edges[e].to] || reached[s];
                live[s] = live[s] || live[a->edges[e].to];
            }
        }
    }
    for (uint32_t s = 0; s < a->n_states; s++)
        assert_true(reached[s] && live[s]);
    free(reached);
    free(live);
}

static bool same(const struct power_regular *a, const struct power_regular *b) {
    bool equal = a->n_states == b->n_states && a->n_edges == b->n_edges;
    for (uint32_t s = 0; equal && s < a->n_states; s++)
        equal = a->states[s].accepts == b->states[s].accepts &&
                a->states[s].first_edge == b->states[s].first_edge &&
                a->states[s].n_edges == b->states[s].n_edges;
    return equal &&
           (a->n_edges == 0 || memcmp(a->edges, b->edges, a->n_edges * sizeof *a->edges) == 0);
}

/* The number of the short texts, by counting those of the automaton cut to short texts. */
static void check_count(const struct power_regular_space *space, const struct pair *p) {
    struct power_regular shorter, cut;
    uint64_t expected = 0;
    assert_int_equal(power_regular_length(space, 0, LONGEST, &shorter, NULL), POWER_OK);
    assert_int_equal(power_regular_intersect(space, &p->automaton, &shorter, &cut, NULL), POWER_OK);
    uint64_t *counts = calloc(cut.n_states + 1, sizeof *counts);
    assert_non_null(counts);
    assert_int_equal(power_regular_count(space, &cut, counts, NULL), POWER_OK);
    for (int t = 0; t < TEXTS; t++)
        expected += p->texts.in[t];
    assert_true(counts[0] == expected);
    free(counts);
}

static void check_pair(const struct power_regular_space *space, const struct pair *p) {
    struct power_regular all, complement, again;
    check_edges(&p->automaton);
    check_live(&p->automaton);
    for (int t = 0; t < TEXTS; t++) {
        if (power_regular_contains(&p->automaton, power_text_of(TEXT[t])) != p->texts.in[t])
            fail_msg("\"%s\" is %sin the language", TEXT[t], p->texts.in[t] ? "" : "not ");
    }
    assert_false(power_regular_contains(&p->automaton, POWER_TEXT("d")));
    assert_false(power_regular_contains(&p->automaton, POWER_TEXT("\xff")));
    check_count(space, p);
    /* equal languages are equal automata, so what is minimal once is always */
    assert_int_equal(power_regular_length(space, 0, UINT32_MAX, &all, NULL), POWER_OK);
    assert_int_equal(power_regular_subtract(space, &all, &p->automaton, &complement, NULL),
                     POWER_OK);
    assert_int_equal(power_regular_subtract(space, &all, &complement, &again, NULL), POWER_OK);
    assert_true(same(&again, &p->automaton));
}

static void test_operations(void **state) {
    (void)state;
    for (uint64_t round = 1; round <= 120; round++) {
        enum { PAIRS = 24, LEAVES = 6 };
        struct pair pairs[PAIRS];
        struct power_arena arena;
        struct power_regular_space room;
        const struct power_regular_space *space = new_space(&arena, &room);
        uint64_t seed = round;
        for (uint32_t i = 0; i < PAIRS; i++) {
            if (i < LEAVES)
                make_leaf(space, &seed, &pairs[i]);
            else
                make_pair(space, &seed, pairs, i, &pairs[i]);
            check_pair(space, &pairs[i]);
        }
        power_arena_finish(&arena);
    }
}

static void test_counts(void **state) {
    (void)state;
    static const struct {
        const char *regex;
        uint64_t count;
    } cases[] = {{"", 1},
                 {"[]", 0},
                 {"[ab]{3}", 8},
                 {"a*", UINT64_MAX},
                 {"[^]", 0x110000 - 0x800},
                 {"[^]{4}", UINT64_MAX},
                 {"[a-p]{15}", UINT64_C(1) << 60},
                 {"[a-p]{16}", UINT64_MAX},
                 {"x(a|b*c)", UINT64_MAX}};
    struct power_arena arena;
    struct power_regular_space room;
    const struct power_regular_space *space = new_space(&arena, &room);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct power_regular a;
        uint64_t counts[64] = {0};
        assert_int_equal(
            power_regular_parse(space, power_text_of(cases[i].regex), POWER_REGEX_WHOLE, &a, NULL),
            POWER_OK);
        assert_true(a.n_states < 64);
        assert_int_equal(power_regular_count(space, &a, counts, NULL), POWER_OK);
        if (counts[0] != cases[i].count) fail_msg("%s: wrong count", cases[i].regex);
    }
    power_arena_finish(&arena);
}

static void test_large_unions(void **state) {
    (void)state;
    enum { WORDS = 5000 };
    static char words[WORDS][12];
    static struct power_regular parts[WORDS];
    struct power_regular all;
    struct power_arena arena;
    struct power_regular_space room;
    const struct power_regular_space *space = new_space(&arena, &room);
    uint64_t seed = 9;
    for (int i = 0; i < WORDS; i++) {
        uint32_t length = 3 + below(&seed, 8);
        for (uint32_t k = 0; k < length; k++)
            words[i][k] = (char)('a' + below(&seed, 26));
        assert_int_equal(power_regular_literal(space, power_text_of(words[i]), &parts[i], NULL),
                         POWER_OK);
    }
    assert_int_equal(power_regular_union(space, parts, WORDS, &all, NULL), POWER_OK);
    check_edges(&all);
    for (int i = 0; i < WORDS; i++)
        assert_true(power_regular_contains(&all, power_text_of(words[i])));
    assert_false(power_regular_contains(&all, POWER_TEXT("ab")));
    power_arena_finish(&arena);
}

/* ---- expressions ---- */

static void expect(const char *regex, power_status status, uint64_t offset, const char *part) {
    struct power_arena arena;
    struct power_regular_space room;
    struct power_regular out;
    power_error error = {0};
    power_status got = power_regular_parse(new_space(&arena, &room), power_text_of(regex),
                                           POWER_REGEX_WHOLE, &out, &error);
    if (got != status || error.offset != offset || !strstr(error.message, part))
        fail_msg("%s: %s at %llu: %s", regex, power_status_name(got),
                 (unsigned long long)error.offset, error.message);
    power_arena_finish(&arena);
}

static void test_messages(void **state) {
    (void)state;
    expect("a(b", POWER_INVALID, 1, "not closed");
    expect("ab)", POWER_INVALID, 2, "none is open");
    expect("[a", POWER_INVALID, 0, "not closed");
    expect("x[b-a]", POWER_INVALID, 2, "out of order");
    expect("*a", POWER_INVALID, 0, "nothing to repeat");
    expect("a|+", POWER_INVALID, 2, "nothing to repeat");
    expect("a**", POWER_INVALID, 2, "nothing to repeat");
    expect("a{3,2}", POWER_INVALID, 1, "from 3 to 2");
    expect("a{,2}", POWER_INVALID, 1, "lower bound");
    expect("^*", POWER_INVALID, 1, "assertion");
    expect("\\Z", POWER_INVALID, 0, "unknown escape");
    expect("a\\", POWER_INVALID, 1, "nothing follows");
    expect("\\x4", POWER_INVALID, 2, "hexadecimal");
    expect("\\u{110000}", POWER_INVALID, 3, "code point");
    expect("(a)\\1", POWER_UNSUPPORTED, 3, "backreference");
    expect("(?<n>a)\\k<n>", POWER_UNSUPPORTED, 7, "backreference");
    expect("(?<=a)b", POWER_UNSUPPORTED, 0, "lookbehind");
    expect("(?i:a)", POWER_UNSUPPORTED, 0, "modifiers");
    expect("(?<1>a)", POWER_INVALID, 3, "name");
    expect("(?P<n>a)", POWER_INVALID, 0, "kind of group");
    expect("\\p{Greek}", POWER_UNSUPPORTED, 3, "Greek");
    expect("\\p{L", POWER_INVALID, 2, "not closed");
    expect("\xff", POWER_INVALID, 0, "UTF-8");
}

/* `unit` many times, between `before` and `after`. */
static power_status parse_repeated(const char *before, const char *unit, size_t times,
                                   const char *after, enum power_regex_dialect dialect) {
    struct power_buffer text;
    struct power_arena arena;
    struct power_regular_space room;
    struct power_regular out = {0};
    power_error error = {0};
    power_buffer_init(&text, &power_default_allocator, (size_t)1 << 24);
    assert_true(power_buffer_append(&text, before, strlen(before)));
    for (size_t i = 0; i < times; i++)
        assert_true(power_buffer_append(&text, unit, strlen(unit)));
    for (size_t i = 0; i < (strcmp(after, "a)") == 0 ? 1 : times); i++)
        assert_true(power_buffer_append(&text, after, strlen(after)));
    power_status status =
        power_regular_parse(new_space(&arena, &room), (struct power_text){text.bytes, text.length},
                            dialect, &out, &error);
    if (status != POWER_OK) assert_true(error.message[0] != '\0');
    if (status == POWER_OK) check_edges(&out);
    power_arena_finish(&arena);
    power_buffer_finish(&text);
    return status;
}

static void test_hostile(void **state) {
    (void)state;
    assert_int_equal(parse_repeated("", "(", 10000, ")", POWER_REGEX_WHOLE), POWER_OK);
    assert_int_equal(parse_repeated("", "(?:", 10000, ")*", POWER_REGEX_SEARCH), POWER_OK);
    assert_int_equal(parse_repeated("", "(", 10000, "", POWER_REGEX_WHOLE), POWER_INVALID);
    assert_int_equal(parse_repeated("(", "a", 19990, "a)", POWER_REGEX_WHOLE), POWER_OK);
    assert_int_equal(parse_repeated("(", "a", 100000, "a)", POWER_REGEX_WHOLE), POWER_LIMIT);
    assert_int_equal(parse_repeated("", "\\b", 50000, "", POWER_REGEX_SEARCH), POWER_OK);
    assert_int_equal(parse_repeated("", ".*", 20000, "", POWER_REGEX_SEARCH), POWER_OK);
    assert_int_equal(parse_repeated("", "((?:){1000}){1000}", 100, "", POWER_REGEX_WHOLE),
                     POWER_OK);
    assert_int_equal(parse_repeated("a{1000}", "", 0, "", POWER_REGEX_WHOLE), POWER_OK);
    assert_int_equal(parse_repeated("((a{1000}){1000}){1000}", "", 0, "", POWER_REGEX_WHOLE),
                     POWER_LIMIT);
    assert_int_equal(parse_repeated("(a|b|c|d){1,500}", "", 0, "", POWER_REGEX_WHOLE), POWER_OK);
    assert_int_equal(parse_repeated(".{0,1000}", "", 0, "", POWER_REGEX_SEARCH), POWER_OK);
    assert_int_equal(parse_repeated("(?:a*){1000000000}", "", 0, "", POWER_REGEX_WHOLE), POWER_OK);
    assert_int_equal(parse_repeated("(a|b)*a(a|b){30}", "", 0, "", POWER_REGEX_WHOLE), POWER_LIMIT);
    assert_int_equal(parse_repeated("", "(?=a)", 20000, "", POWER_REGEX_SEARCH), POWER_LIMIT);
}

/* ---- memory that runs out at request number `left` ---- */

static void *scarce_alloc(void *context, size_t bytes, size_t alignment) {
    uint32_t *left = context;
    if (*left == 0) return NULL;
    --*left;
    return power_default_allocator.alloc(NULL, bytes, alignment);
}

static void scarce_release(void *context, void *memory, size_t bytes, size_t alignment) {
    (void)context;
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const regexes[] = {"(?:a|bc){2,5}x", "^(?=.*\\d)(?!x)\\p{Lu}+\\b"};
    for (size_t i = 0; i < 2; i++) {
        power_status status = POWER_NO_MEMORY;
        for (uint32_t n = 0; status != POWER_OK; n++) {
            uint32_t left = n;
            const power_allocator allocator = {&left, scarce_alloc, scarce_release};
            struct power_arena arena;
            struct power_regular out;
            power_error error = {0};
            power_arena_init(&arena, &allocator, (size_t)1 << 26);
            const struct power_regular_space space = {&arena, 0};
            status = power_regular_parse(&space, power_text_of(regexes[i]), POWER_REGEX_SEARCH,
                                         &out, &error);
            if (status != POWER_OK) assert_int_equal(status, POWER_NO_MEMORY);
            power_arena_finish(&arena);
            assert_true(n < 1000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),   cmocka_unit_test(test_counts),
        cmocka_unit_test(test_large_unions), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_hostile),      cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, list_texts, NULL);
}
