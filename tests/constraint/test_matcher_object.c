/* SPDX-License-Identifier: MIT */
/* Job: objects and spellings against plain enumeration.
 * Input: seeds. Output: for every prefix of every legal object, exactly the bytes and the tokens of
 * which some legal object goes on; for code points, exactly the spellings that JSON has. */
#include "matcher_kit.h"
#include "text/utf8.h"

/* ---- a vocabulary with tokens across members ---- */

static const char *const extra_tokens[] = {"\":1",
                                           "\":1,\"",
                                           "x\":1,\"x",
                                           "1,\"x\":1,\"y",
                                           "\"x\":1,\"x\":1",
                                           "},",
                                           "1}",
                                           "xy",
                                           "\"a\":1,",
                                           "1,\"a\":1,\"b\":1",
                                           "{\"",
                                           "\\n\":",
                                           "y\":1,\"",
                                           "x\":1,\"y\"",
                                           "z\":1,\"z\"",
                                           "\":1,\"xy\":1,\"x\":",
                                           "\":1,\"x\":1,\"xy"};
enum { EXTRA = sizeof extra_tokens / sizeof extra_tokens[0], ALL_TOKENS = 257 + EXTRA };

static struct power_token_trie *wide_trie(void) {
    struct power_token_trie *trie = NULL;
    power_error error = {0};
    struct power_vocab *vocab = NULL;
    if (wide_vocab_create(extra_tokens, EXTRA, &vocab, &error) != POWER_OK ||
        power_token_trie_create(&power_default_allocator, vocab, &trie, &error) != POWER_OK) {
        fail_msg("%s", error.message);
    }
    power_vocab_destroy(vocab);
    return trie;
}

static struct power_text token_text(uint32_t id, char *byte) {
    *byte = (char)id;
    if (id < 256) return (struct power_text){byte, 1};
    return power_text_of(id > 256 ? extra_tokens[id - 257] : "");
}

/* ---- random objects ---- */

struct spec {
    const char *keys[3], *spelled[3]; /* named, in declared order */
    bool required[3], usable[3];
    int n_keys;
    const char *regex[2];
    const char *class_keys[2][3]; /* spelled */
    int n_class_keys[2], n_classes;
    bool any_order;
    uint32_t min, max;
};

struct language {
    char **texts;
    size_t n, room;
};

static void make_spec(struct spec *s, uint64_t *seed) {
    static const char *const keys[] = {"a", "b", "ab", "q\""}, *const spelled[] = {"a", "b", "ab",
                                                                                   "q\\\""};
    *s = (struct spec){.n_keys = (int)random_below(seed, 4), .any_order = random_below(seed, 2)};
    uint32_t first = random_below(seed, 4);
    for (int i = 0; i < s->n_keys; i++) {
        s->keys[i] = keys[(first + (uint32_t)i) % 4];
        s->spelled[i] = spelled[(first + (uint32_t)i) % 4];
        s->required[i] = random_below(seed, 3) == 0;
        s->usable[i] = random_below(seed, 8) > 0;
    }
    s->n_classes = (int)random_below(seed, 3);
    if (s->n_classes > 0) {
        bool long_keys = random_below(seed, 2);
        s->regex[0] = long_keys ? "x|xy|xyx" : "[xy]";
        s->class_keys[0][0] = "x";
        s->class_keys[0][1] = long_keys ? "xy" : "y";
        s->class_keys[0][2] = "xyx";
        s->n_class_keys[0] = long_keys ? 3 : 2;
    }
    if (s->n_classes > 1) {
        s->regex[1] = "z|\\n";
        s->class_keys[1][0] = "z";
        s->class_keys[1][1] = "\\n";
        s->n_class_keys[1] = 2;
    }
    s->min = random_below(seed, 4);
    s->max = random_below(seed, 3) == 0 ? UINT32_MAX : random_below(seed, 5);
}

static power_expr build_spec(struct power_grammar *g, const struct spec *s) {
    struct power_named_member named[3];
    struct power_key_class classes[2];
    struct power_regular regulars[2];
    power_expr one = power_grammar_literal(g, POWER_TEXT("1")), none = power_grammar_nothing(g);
    for (int i = 0; i < s->n_keys; i++) {
        named[i] = (struct power_named_member){power_text_of(s->keys[i]), s->usable[i] ? one : none,
                                               s->required[i]};
    }
    for (int i = 0; i < s->n_classes; i++) {
        regulars[i] = regex_of(g, s->regex[i]);
        classes[i] = (struct power_key_class){&regulars[i], one};
    }
    struct power_members members = {.named = named,
                                    .n_named = (size_t)s->n_keys,
                                    .classes = classes,
                                    .n_classes = (size_t)s->n_classes,
                                    .any_order = s->any_order,
                                    .min = s->min,
                                    .max = s->max,
                                    .colon = power_grammar_literal(g, POWER_TEXT(":")),
                                    .comma = power_grammar_literal(g, POWER_TEXT(","))};
    power_expr parts[3] = {power_grammar_literal(g, POWER_TEXT("{")),
                           power_grammar_members(g, &members),
                           power_grammar_literal(g, POWER_TEXT("}"))};
    return power_grammar_sequence(g, parts, 3);
}

/* ---- all legal objects ---- */

struct chosen {
    const struct spec *spec;
    struct language *out;
    const char *keys[9];
    int named[9]; /* declared position, -1 for a key of a class */
    int n;
};

static bool legal(const struct chosen *c) {
    bool seen[3] = {false};
    int last = -1;
    for (int i = 0; i < c->n; i++) {
        int at = c->named[i];
        if (!c->spec->any_order && at >= 0 && (at < last || last == 9)) return false;
        last = at >= 0 ? at : 9;
        if (at >= 0) seen[at] = true;
    }
    for (int i = 0; i < c->spec->n_keys; i++) {
        if (c->spec->required[i] && !seen[i]) return false;
    }
    return (uint32_t)c->n >= c->spec->min && (uint32_t)c->n <= c->spec->max;
}

static void add_text(struct chosen *c) {
    char text[256] = "{";
    for (int i = 0; i < c->n; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s\"%s\":1", i ? "," : "", c->keys[i]);
    }
    strcat(text, "}");
    struct language *l = c->out;
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->texts = realloc(l->texts, l->room * sizeof *l->texts);
    }
    l->texts[l->n++] = strdup(text);
}

static void enumerate(struct chosen *c);

static void try_key(struct chosen *c, const char *key, int named) {
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->keys[i], key) == 0) return;
    }
    c->keys[c->n] = key;
    c->named[c->n++] = named;
    enumerate(c);
    c->n--;
}

static void enumerate(struct chosen *c) {
    if (legal(c)) add_text(c);
    if ((uint32_t)c->n >= c->spec->max) return;
    for (int i = 0; i < c->spec->n_keys; i++) {
        if (c->spec->usable[i]) try_key(c, c->spec->spelled[i], i);
    }
    for (int k = 0; k < c->spec->n_classes; k++) {
        for (int i = 0; i < c->spec->n_class_keys[k]; i++)
            try_key(c, c->spec->class_keys[k][i], -1);
    }
}

static int compare_strings(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool begins_some(const struct language *l, const char *prefix, size_t n) {
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strncmp(l->texts[middle], prefix, n) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < l->n && strncmp(l->texts[low], prefix, n) == 0;
}

/* ---- the comparison ---- */

static void check_mask(struct power_matcher *m, const struct language *l, const char *prefix,
                       uint64_t seed) {
    const uint64_t *mask;
    uint32_t count, only, n = 0;
    power_error error;
    struct power_match match = power_matcher_start(m);
    size_t length = strlen(prefix);
    assert_int_equal(
        power_matcher_accept_bytes(m, &match, (struct power_text){prefix, length}, &error),
        POWER_OK);
    assert_int_equal(power_matcher_mask(m, match, &mask, &count, &only, &error), POWER_OK);
    for (uint32_t id = 0; id < ALL_TOKENS; id++) {
        char text[256], byte;
        struct power_text token = token_text(id, &byte);
        memcpy(text, prefix, length);
        memcpy(text + length, token.bytes, token.length);
        text[length + token.length] = 0;
        bool zero = id == 0;
        bool want = !zero && begins_some(l, text, length + token.length);
        if (id == 256) want = power_matcher_can_end(m, match);
        bool got = mask[id / 64] >> (id % 64) & 1;
        n += got;
        if (got != want) {
            fail_msg("seed %llu: after %s token %u (%s): %d", (unsigned long long)seed, prefix, id,
                     id < 256 ? "" : text + length, got);
        }
    }
    assert_int_equal(n, count);
    assert_true(count > 0);
    power_matcher_release(m, match);
}

static void check_language(struct power_matcher *m, const struct language *l, uint64_t seed) {
    char before[256] = "";
    for (size_t i = 0; i < l->n; i++) {
        size_t length = strlen(l->texts[i]);
        if (!accepts(m, l->texts[i], length)) fail_msg("%s", l->texts[i]);
        for (size_t n = 0; n <= length; n++) {
            char prefix[256];
            if (i && strncmp(before, l->texts[i], n) == 0) continue; /* seen */
            memcpy(prefix, l->texts[i], n);
            prefix[n] = 0;
            check_mask(m, l, prefix, seed);
            bool whole = bsearch(&(char *){prefix}, l->texts, l->n, sizeof *l->texts,
                                 compare_strings) != NULL;
            assert_int_equal(accepts(m, prefix, n), whole);
        }
        strcpy(before, l->texts[i]);
    }
}

static void test_objects(void **state) {
    (void)state;
    struct power_token_trie *trie = wide_trie();
    const char *more = getenv("POWER_TEST_ROUNDS");
    int rounds = more ? atoi(more) : 120, n_empty = 0;
    size_t texts = 0;
    for (uint64_t number = 1; number <= (uint64_t)rounds; number++) {
        uint64_t seed = number * 104729;
        struct spec spec;
        struct language l = {0};
        power_error error = {0};
        make_spec(&spec, &seed);
        struct chosen chosen = {.spec = &spec, .out = &l};
        enumerate(&chosen);
        if (l.n) qsort(l.texts, l.n, sizeof *l.texts, compare_strings);
        struct power_grammar *g = new_grammar();
        power_status status = power_grammar_freeze(g, build_spec(g, &spec), &error);
        if ((status == POWER_OK) != (l.n > 0)) {
            fail_msg("seed %llu: %zu texts, %s", (unsigned long long)number, l.n, error.message);
        }
        struct power_matcher_limits small = {.max_bytes = 400000}; /* drops states often */
        if (l.n && l.n < 400) {
            struct power_matcher *m = new_matcher(g, trie, number % 2 ? &small : NULL);
            check_language(m, &l, number);
            power_matcher_destroy(m);
        }
        n_empty += l.n == 0;
        texts += l.n;
        for (size_t i = 0; i < l.n; i++)
            free(l.texts[i]);
        free(l.texts);
        power_grammar_destroy(g);
    }
    print_message("%d objects, %d of them impossible, %zu texts\n", rounds, n_empty, texts);
    assert_true(n_empty > 0 && texts > 1000);
    power_token_trie_destroy(trie);
}

/* ---- spellings ---- */

struct spellings {
    char texts[512][20];
    int n;
};

static size_t utf8_of(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, (size_t)1;
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    size_t n = c < 0x10000 ? 3 : 4;
    out[0] = (char)(n == 3 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
    for (size_t i = 1; i < n; i++)
        out[i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 63));
    return n;
}

/* \uXXXX in every mix of cases. */
static void add_hex(struct spellings *s, const char *before, uint32_t unit) {
    char lower[8];
    snprintf(lower, sizeof lower, "%04x", unit & 0xFFFF);
    for (int mix = 0; mix < 16; mix++) {
        char text[24];
        size_t n = (size_t)snprintf(text, sizeof text, "%s\\u%s", before, lower);
        bool new = true;
        for (int d = 0; d < 4; d++) {
            char *c = &text[n - 4 + (size_t)d];
            if (!(mix >> d & 1)) continue;
            if (*c < 'a')
                new = false;
            else
                *c = (char)(*c - 32);
        }
        if (new) strcpy(s->texts[s->n++], text);
    }
}

static void spell(struct spellings *s, uint32_t c, enum power_encoding encoding) {
    static const char letters[] = "btnfr\"\\/", codes[] = "\b\t\n\f\r\"\\/";
    const char *at = c && c < 128 ? strchr(codes, (int)c) : NULL;
    bool must = c < 0x20 || c == '"' || c == '\\';
    s->n = 0;
    if (encoding == POWER_AS_UTF8 || !must) s->texts[s->n][utf8_of(c, s->texts[s->n])] = 0, s->n++;
    if (encoding == POWER_AS_UTF8 || (encoding == POWER_AS_JSON_CANONICAL && !must)) return;
    if (at) snprintf(s->texts[s->n++], 20, "\\%c", letters[at - codes]);
    if (encoding == POWER_AS_JSON_CANONICAL) {
        if (!at) snprintf(s->texts[s->n++], 20, "\\u%04x", c);
        return;
    }
    if (c < 0x10000) {
        add_hex(s, "", c);
        return;
    }
    struct spellings high = {.n = 0};
    add_hex(&high, "", 0xD800 + ((c - 0x10000) >> 10));
    for (int i = 0; i < high.n; i++)
        add_hex(s, high.texts[i], 0xDC00 + ((c - 0x10000) & 0x3FF));
}

/* Every text that the matcher takes, by trying all bytes: must be the spellings and no other. */
static void check_spellings(struct power_matcher *m, const struct spellings *s, char *text,
                            size_t length) {
    for (int b = 0; b < 256; b++) {
        bool want = false, whole = false;
        text[length] = (char)b;
        for (int i = 0; i < s->n; i++) {
            want |= strlen(s->texts[i]) > length && memcmp(s->texts[i], text, length + 1) == 0;
            whole |=
                strlen(s->texts[i]) == length + 1 && memcmp(s->texts[i], text, length + 1) == 0;
        }
        bool got = is_prefix(m, text, length + 1);
        if (got != want) fail_msg("%.*s: %d", (int)length + 1, text, got);
        if (!got) continue;
        assert_int_equal(accepts(m, text, length + 1), whole);
        check_spellings(m, s, text, length + 1);
    }
}

static void test_spellings(void **state) {
    (void)state;
    static const uint32_t codes[] = {1,      8,      0xB,    0x1F,    ' ',     '"',     '/',
                                     '\\',   'A',    0x7F,   0x80,    0x7FF,   0x800,   0xABCD,
                                     0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF};
    static const enum power_encoding encodings[] = {POWER_AS_UTF8, POWER_AS_JSON,
                                                    POWER_AS_JSON_CANONICAL};
    struct power_token_trie *trie = byte_trie();
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        for (int e = 0; e < 3; e++) {
            static struct spellings s;
            char text[24];
            power_error error;
            struct power_grammar *g = new_grammar();
            struct power_regular one;
            char code[4];
            const struct power_text literal = {code, power_utf8_put(codes[i], code)};
            assert_int_equal(power_regular_literal(power_grammar_space(g), literal, &one, &error),
                             POWER_OK);
            power_expr root = power_grammar_regular(g, &one, encodings[e]);
            assert_int_equal(power_grammar_freeze(g, root, &error), POWER_OK);
            struct power_matcher *m = new_matcher(g, trie, NULL);
            spell(&s, codes[i], encodings[e]);
            if (codes[i] >= 0x10000 && e == 1) assert_true(s.n > 8);
            check_spellings(m, &s, text, 0);
            power_matcher_destroy(m);
            power_grammar_destroy(g);
        }
    }
    power_token_trie_destroy(trie);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_objects),
                                       cmocka_unit_test(test_spellings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
