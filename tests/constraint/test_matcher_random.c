/* SPDX-License-Identifier: MIT */
/* Job: random small grammars against an independent recogniser that tries every split.
 * Input: seeds. Output: languages equal on every text of up to six letters; prefixes that are kept
 * can be completed, prefixes of texts are kept; refusals only for what is empty or left recursive.
 */
#include "matcher_kit.h"

enum { MAX_PARTS = 24, MAX_LENGTH = 6, LETTERS = 3 };

enum part_kind { LETTER, WORD, EMPTY, NOTHING, SEQUENCE, CHOICE, REPEAT, RULE, REGULAR };
struct part {
    enum part_kind kind;
    unsigned letters;   /* LETTER: bits */
    char word[4];       /* WORD */
    int children[4], n; /* SEQUENCE, CHOICE, REPEAT, RULE */
    uint32_t min, max;  /* REPEAT; REGULAR: [ab]{min,max} */
    power_expr expr;
};
struct random_grammar {
    struct part parts[MAX_PARTS];
    int n, n_rules;
};

/* ---- making ---- */

static void make_part(struct random_grammar *r, uint64_t *seed, int index) {
    struct part *p = &r->parts[index];
    uint32_t kind = random_below(seed, 14);
    *p = (struct part){.kind = kind < 2 || index == r->n_rules ? LETTER
                               : kind == 2                     ? WORD
                               : kind == 3                     ? EMPTY
                               : kind < 8                      ? SEQUENCE
                               : kind < 11                     ? CHOICE
                               : kind < 13                     ? REPEAT
                                                               : REGULAR};
    if (kind == 3 && random_below(seed, 4) == 0) p->kind = NOTHING;
    p->letters = 1 + random_below(seed, (1u << LETTERS) - 1);
    p->n = p->kind == REPEAT ? 1 : (int)(1 + random_below(seed, 3));
    for (int i = 0; i < 3; i++)
        p->word[i] =
            i < 1 + (int)random_below(seed, 3) ? (char)('a' + random_below(seed, LETTERS)) : 0;
    p->word[1] = p->word[0] ? p->word[1] : 0;
    p->word[2] = p->word[1] ? p->word[2] : 0;
    for (int i = 0; i < p->n; i++) {
        bool rule = random_below(seed, 3) == 0;
        p->children[i] =
            (int)random_below(seed, (uint32_t)(rule || index == 0 ? r->n_rules : index));
    }
    p->min = random_below(seed, 4);
    p->max = random_below(seed, 3) == 0 ? UINT32_MAX : p->min + random_below(seed, 3);
    if (p->kind == REGULAR && p->max == UINT32_MAX) p->max = p->min + 1;
}

static void make_grammar(struct random_grammar *r, uint64_t *seed) {
    r->n_rules = 1 + (int)random_below(seed, 4);
    r->n = r->n_rules + 3 + (int)random_below(seed, MAX_PARTS - 8);
    for (int i = 0; i < r->n_rules; i++) {
        int body = r->n_rules + (int)random_below(seed, (uint32_t)(r->n - r->n_rules));
        r->parts[i] = (struct part){.kind = RULE, .children = {body}, .n = 1};
    }
    for (int i = r->n_rules; i < r->n; i++)
        make_part(r, seed, i);
}

static power_expr build_part(struct power_grammar *g, struct random_grammar *r, struct part *p) {
    power_expr parts[4];
    uint64_t set[4] = {0};
    char regex[32];
    for (int i = 0; i < p->n; i++)
        parts[i] = r->parts[p->children[i]].expr;
    switch (p->kind) {
    case LETTER:
        set['a' / 64] = (uint64_t)p->letters << ('a' % 64);
        return power_grammar_bytes(g, set);
    case WORD:
        return power_grammar_literal(g, power_text_of(p->word));
    case EMPTY:
        return power_grammar_empty(g);
    case NOTHING:
        return power_grammar_nothing(g);
    case SEQUENCE:
        return power_grammar_sequence(g, parts, (size_t)p->n);
    case CHOICE:
        return power_grammar_choice(g, parts, (size_t)p->n);
    case REPEAT:
        return power_grammar_repeat(g, parts[0], p->min, p->max);
    case REGULAR: {
        snprintf(regex, sizeof regex, "[ab]{%u,%u}", p->min, p->max);
        struct power_regular regular = regex_of(g, regex);
        return power_grammar_regular(g, &regular, POWER_AS_UTF8);
    }
    case RULE:
        break;
    }
    return power_grammar_rule(g, POWER_TEXT("rule"));
}

static power_expr build(struct power_grammar *g, struct random_grammar *r) {
    for (int i = 0; i < r->n; i++)
        r->parts[i].expr = build_part(g, r, &r->parts[i]);
    for (int i = 0; i < r->n_rules; i++)
        power_grammar_define(g, r->parts[i].expr, r->parts[r->parts[i].children[0]].expr);
    return r->parts[0].expr;
}

/* ---- the recogniser ---- */

struct table {
    bool is[MAX_PARTS][MAX_LENGTH + 1][MAX_LENGTH + 1]; /* part derives text[i .. j) */
};

/* Whether n copies of child c, n of min .. max, derive text[i .. j): reach[k] after so many. */
static bool repeats(const struct table *t, const struct part *p, int i, int j) {
    bool at[MAX_LENGTH + 1] = {false};
    at[i] = true;
    uint32_t max = p->max == UINT32_MAX ? p->min + MAX_LENGTH + 1 : p->max;
    for (uint32_t count = 0; count <= max; count++) {
        if (count >= p->min && at[j]) return true;
        bool next[MAX_LENGTH + 1] = {false};
        for (int k = i; k <= j; k++) {
            for (int e = k; e <= j && at[k]; e++)
                next[e] |= t->is[p->children[0]][k][e];
        }
        memcpy(at, next, sizeof at);
    }
    return false;
}

static bool sequences(const struct table *t, const struct part *p, int i, int j) {
    bool at[MAX_LENGTH + 1] = {false};
    at[i] = true;
    for (int c = 0; c < p->n; c++) {
        bool next[MAX_LENGTH + 1] = {false};
        for (int k = i; k <= j; k++) {
            for (int e = k; e <= j && at[k]; e++)
                next[e] |= t->is[p->children[c]][k][e];
        }
        memcpy(at, next, sizeof at);
    }
    return at[j];
}

static bool derives(const struct table *t, const struct part *p, const char *text, int i, int j) {
    bool any = false;
    switch (p->kind) {
    case LETTER:
        return j == i + 1 && (p->letters >> (text[i] - 'a') & 1);
    case WORD:
        return j - i == (int)strlen(p->word) && strncmp(text + i, p->word, (size_t)(j - i)) == 0;
    case EMPTY:
        return i == j;
    case NOTHING:
        return false;
    case SEQUENCE:
        return sequences(t, p, i, j);
    case CHOICE:
    case RULE:
        for (int c = 0; c < p->n; c++)
            any |= t->is[p->children[c]][i][j];
        return any;
    case REPEAT:
        return repeats(t, p, i, j);
    case REGULAR:
        for (int k = i; k < j; k++)
            any |= text[k] == 'c';
        return !any && (uint32_t)(j - i) >= p->min && (uint32_t)(j - i) <= p->max;
    }
    return false;
}

/* One round over the spans of one part; whether something new was found. */
static bool extend(struct table *t, const struct random_grammar *r, int part, const char *text,
                   int length) {
    bool changed = false;
    for (int i = 0; i <= length; i++) {
        for (int j = i; j <= length; j++) {
            if (t->is[part][i][j] || !derives(t, &r->parts[part], text, i, j)) continue;
            t->is[part][i][j] = changed = true;
        }
    }
    return changed;
}

static bool recognises(const struct random_grammar *r, const char *text, int length) {
    static struct table t;
    memset(&t, 0, sizeof t);
    for (bool changed = true; changed;) {
        changed = false;
        for (int p = 0; p < r->n; p++)
            changed |= extend(&t, r, p, text, length);
    }
    return t.is[0][0][length];
}

/* ---- left recursion, by closure ---- */

struct facts {
    bool some[MAX_PARTS], empty[MAX_PARTS];
};

static bool has(const bool *known, const struct part *p, bool all) {
    for (int i = 0; i < p->n; i++) {
        if (known[p->children[i]] != all) return !all;
    }
    return all;
}

static void find_facts(const struct random_grammar *r, struct facts *f) {
    memset(f, 0, sizeof *f);
    for (int round = 0; round < 2 * MAX_PARTS; round++) {
        for (int i = 0; i < r->n; i++) {
            const struct part *p = &r->parts[i];
            bool leaf = p->kind == LETTER || p->kind == WORD || p->kind == REGULAR;
            bool all = p->kind == SEQUENCE, inner = p->kind >= SEQUENCE && p->kind <= RULE;
            f->some[i] = leaf || p->kind == EMPTY || (inner && has(f->some, p, all)) ||
                         (p->kind == REPEAT && p->min == 0);
            f->empty[i] = p->kind == EMPTY || (inner && has(f->empty, p, all)) ||
                          ((p->kind == REPEAT || p->kind == REGULAR) && p->min == 0) ||
                          (p->kind == WORD && !p->word[0]);
        }
    }
}

static bool left_recursive(const struct random_grammar *r) {
    static bool begins[MAX_PARTS][MAX_PARTS];
    struct facts f;
    find_facts(r, &f);
    memset(begins, 0, sizeof begins);
    for (int i = 0; i < r->n; i++) {
        const struct part *p = &r->parts[i];
        bool inner = p->kind >= SEQUENCE && p->kind <= RULE && f.some[i];
        if (p->kind == REPEAT && p->max == 0) inner = false;
        for (int c = 0; c < p->n && inner; c++) {
            begins[i][p->children[c]] = true;
            if (p->kind == SEQUENCE && !f.empty[p->children[c]]) break;
        }
    }
    for (int k = 0; k < r->n; k++) {
        for (int i = 0; i < r->n; i++) {
            for (int j = 0; j < r->n && begins[i][k]; j++)
                begins[i][j] |= begins[k][j];
        }
    }
    for (int i = 0; i < r->n; i++) {
        if (begins[i][i]) return true;
    }
    return false;
}

/* ---- the comparison ---- */

/* From the match to an end, always by the token with the smallest number that leads to a state not
 * seen at this depth: breadth first over places. */
static bool can_finish(struct power_matcher *m, struct power_match from) {
    enum { MANY = 3000 };
    static struct power_match queue[MANY];
    int n = 1, found = 0;
    queue[0] = power_matcher_fork(m, from);
    for (int at = 0; at < n && !found; at++) {
        found = power_matcher_can_end(m, queue[at]);
        for (char c = 'a'; c < 'a' + LETTERS && n < MANY && !found; c++) {
            power_error error;
            struct power_match next = power_matcher_fork(m, queue[at]);
            bool ok = power_matcher_accept_bytes(m, &next, (struct power_text){&c, 1}, &error) ==
                      POWER_OK;
            for (int i = 0; i < n && ok; i++)
                ok = queue[i].state != next.state;
            if (ok) {
                queue[n++] = next;
            } else {
                power_matcher_release(m, next);
            }
        }
    }
    for (int i = 0; i < n; i++)
        power_matcher_release(m, queue[i]);
    return found;
}

struct count {
    int grammars, refused, texts, accepted;
};

static void compare_text(const struct random_grammar *r, struct power_matcher *m, const char *text,
                         size_t length, struct count *count) {
    bool want = recognises(r, text, (int)length);
    if (want != accepts(m, text, length)) fail_msg("\"%s\": %d is wrong", text, !want);
    count->texts++;
    count->accepted += want;
    for (size_t i = 0; i <= length && want; i++) {
        if (!is_prefix(m, text, i)) fail_msg("\"%s\": prefix of %zu is lost", text, i);
    }
    if (length > 3) return;
    power_error error;
    struct power_match match = power_matcher_start(m);
    if (power_matcher_accept_bytes(m, &match, (struct power_text){text, length}, &error) ==
            POWER_OK &&
        !can_finish(m, match)) {
        fail_msg("\"%s\": dead end", text);
    }
    power_matcher_release(m, match);
}

static void compare(const struct random_grammar *r, struct power_matcher *m, struct count *count) {
    char text[MAX_LENGTH + 1];
    int total = 1;
    for (size_t length = 0; length <= MAX_LENGTH; length++, total *= LETTERS) {
        for (int number = 0; number < total; number++) {
            int rest = number;
            for (size_t i = 0; i < length; i++, rest /= LETTERS)
                text[i] = (char)('a' + rest % LETTERS);
            text[length] = 0;
            compare_text(r, m, text, length, count);
        }
    }
}

static void test_random(void **state) {
    (void)state;
    struct power_token_trie *trie = byte_trie();
    struct count count = {0};
    const char *more = getenv("POWER_TEST_ROUNDS");
    int rounds = more ? atoi(more) : 300;
    for (uint64_t number = 1; number <= (uint64_t)rounds; number++) {
        uint64_t seed = number * 7919;
        struct random_grammar r;
        power_error error = {0};
        make_grammar(&r, &seed);
        struct power_grammar *g = new_grammar();
        power_expr root = build(g, &r);
        power_status status = power_grammar_freeze(g, root, &error);
        struct facts f;
        find_facts(&r, &f);
        bool want = f.some[0] && !left_recursive(&r);
        if ((status == POWER_OK) != want) {
            fail_msg("seed %llu: %s", (unsigned long long)number, error.message);
        }
        if (status == POWER_OK) {
            struct power_matcher *m = new_matcher(g, trie, NULL);
            compare(&r, m, &count);
            power_matcher_destroy(m);
            count.grammars++;
        } else {
            count.refused++;
        }
        power_grammar_destroy(g);
    }
    print_message("%d grammars, %d refused, %d texts, %d in the language\n", count.grammars,
                  count.refused, count.texts, count.accepted);
    assert_true(count.grammars > rounds / 4 && count.accepted > 100);
    power_token_trie_destroy(trie);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
