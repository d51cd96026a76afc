/* SPDX-License-Identifier: MIT */
/* Job: GBNF, regular expressions and choice lists as constraints: what they admit, where their
 * faults are, that hostile ones end.
 * Input: grammars written here, after llama.cpp's description of the dialect. */
#include "matcher_kit.h"

#include "text/constraint/front.h"

typedef power_status (*front)(struct power_grammar *g, struct power_text text, power_expr *out,
                              power_error *error);

static power_status compile(front compiler, struct power_text text, struct power_grammar **out,
                            power_error *error) {
    power_expr root = 0;
    *error = (power_error){0};
    *out = new_grammar();
    power_status status = compiler(*out, text, &root, error);
    return status != POWER_OK ? status : power_grammar_freeze(*out, root, error);
}

/* `yes` and `no`: texts one behind the other, each ended by a NUL, an empty one ends the list;
 * "\001" stands for the empty text. */
static void check(front compiler, const char *text, const char *yes, const char *no) {
    power_error error;
    struct power_grammar *g;
    if (compile(compiler, power_text_of(text), &g, &error) != POWER_OK)
        fail_msg("%s: %s", text, error.message);
    struct power_token_trie *trie = byte_trie();
    struct power_matcher *matcher = new_matcher(g, trie, NULL);
    const char *lists[2] = {no, yes};
    for (int want = 0; want < 2; want++) {
        for (const char *at = lists[want]; *at; at += strlen(at) + 1) {
            size_t length = *at == '\001' ? 0 : strlen(at);
            if (accepts(matcher, at, length) != (want == 1))
                fail_msg("%s: \"%s\" should be %s", text, at, want ? "admitted" : "refused");
        }
    }
    power_matcher_destroy(matcher);
    power_token_trie_destroy(trie);
    power_grammar_destroy(g);
}

static void test_gbnf(void **state) {
    (void)state;
    front f = power_gbnf_compile;
    check(f, "root ::= \"ab\"* [c-e] | \"x\"?", "c\0ababd\0x\0\001\0", "ab\0xx\0abx\0");
    check(f, "root ::= a-1 B_2\na-1 ::= \"1\"\nB_2 ::= \"2\" # end", "12\0", "1\0002\0");
    check(f, "# first\r\n\r\nroot ::= (\r\n  \"a\" # one\n  | \"b\"\n)+ |\n\"c\"\n", "ab\0c\0",
          "cc\0\001\0");
    check(f, "root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\r\\\\\\\"\\[\\]\"",
          "A\xc3\xa9\xf0\x9f\x98\x80\n\t\r\\\"[]\0", "A\0");
    check(f, "root ::= [^a-y\\n\\]] [-x] [x-] [\\x30-\\x39]", "z--0\0zxx9\0\xc3\xa9-x5\0",
          "a--0\0\n--0\0z-y0\0z--a\0");
    check(f, "root ::= . .",
          "\n\n\0\xe2\x82\xac"
          "a\0",
          "a\0abc\0\xe2\x82\xac\0");
    check(f, "root ::= \"a\"{2} \"b\"{2,} \"c\"{1,2} \"d\"{,1} \"e\"{0}", "aabbc\0aabbbbccd\0",
          "abbc\0aabc\0aabbccc\0aabbcdd\0aabbcde\0");
    check(f, "root ::= (\"a\" { 1 , 2 } \"b\")*", "ab\0aabab\0\001\0", "aaab\0b\0");
    check(f, "root ::= \"\" | x\nx ::= \"(\" root \")\" root", "\001\0()\0(())()\0", "(\0)(\0");
    check(f, "root ::= | \"a\"", "\001\0a\0", "aa\0");
}

static void test_regex_and_choices(void **state) {
    (void)state;
    check(power_regex_compile, "(foo|bar)+\\d?", "foo\0barfoo1\0", "fo\0foo12\0");
    check(power_regex_compile, "^a.c$",
          "abc\0a\xc3\xa9"
          "c\0",
          "abcd\0a\nc\0");
    check(power_choice_compile, "[\"a\", \"ab\", \"a\", \"\\u00e9\\\"\", \"\"]",
          "a\0ab\0\xc3\xa9\"\0\001\0", "b\0aa\0");
}

static void expect(front compiler, const char *text, power_status status, uint64_t offset,
                   const char *part) {
    power_error error;
    struct power_grammar *g;
    power_status got = compile(compiler, power_text_of(text), &g, &error);
    if (got != status || !strstr(error.message, part) ||
        (offset != POWER_NO_OFFSET && error.offset != offset))
        fail_msg("%s: %s at %llu: %s", text, power_status_name(got),
                 (unsigned long long)error.offset, error.message);
    power_grammar_destroy(g);
}

static void test_messages(void **state) {
    (void)state;
    front f = power_gbnf_compile;
    expect(f, "", POWER_INVALID, 0, "no rule \"root\"");
    expect(f, "root \"a\"", POWER_INVALID, 5, "line 1, column 6: \"::=\" is missing");
    expect(f, "root ::= \"a\"\n\nx ::= [a", POWER_INVALID, 20, "line 3, column 7: the class");
    expect(f, "root ::= \"\xc3\xa9\" )", POWER_INVALID, 14, "line 1, column 14: a parenthesis");
    expect(f, "root ::= (\n\"a\"", POWER_INVALID, 9, "line 1, column 10: the parenthesis");
    expect(f, "root ::= \"a", POWER_INVALID, 9, "literal is not closed");
    expect(f, "root ::= x\n", POWER_INVALID, 9, "rule \"x\" is not defined");
    expect(f, "root ::= \"a\"\nroot ::= \"b\"", POWER_INVALID, 13, "defined twice");
    expect(f, "root ::= *", POWER_INVALID, 9, "nothing to repeat");
    expect(f, "root ::= \"a\"{x}", POWER_INVALID, 13, "{m,n}");
    expect(f, "root ::= \"a\"{,}", POWER_INVALID, 14, "{m,n}");
    expect(f, "root ::= \"a\"{3,2}", POWER_INVALID, 12, "from 3 to 2");
    expect(f, "root ::= \"a\"{99999999999}", POWER_LIMIT, 13, "repeat");
    expect(f, "root ::= [z-a]", POWER_INVALID, 10, "out of order");
    expect(f, "root ::= []", POWER_INVALID, 9, "empty");
    expect(f, "root ::= \"\\q\"", POWER_INVALID, 10, "unknown escape");
    expect(f, "root ::= \"\\ud800\"", POWER_INVALID, 12, "no character");
    expect(f, "root ::= \"\\u12\"", POWER_INVALID, 12, "hexadecimal");
    expect(f, "root ::= <think> \"a\"", POWER_UNSUPPORTED, 9, "token");
    expect(f, "root ::= !<[3]>", POWER_UNSUPPORTED, 9, "token");
    expect(f, "root ::= \"a\" x ::= \"b\"", POWER_INVALID, 15, "a rule begins inside");
    expect(f, "root ::= \xff", POWER_INVALID, 9, "unexpected");
    expect(f, "root ::= \"\xff\"", POWER_INVALID, 10, "UTF-8");
    expect(f, "root ::= x\nx ::= root \"a\" | \"c\"", POWER_INVALID, POWER_NO_OFFSET,
           "left recurs");
    expect(f, "root ::= \"a\" root", POWER_INVALID, POWER_NO_OFFSET, "no text");
    expect(power_regex_compile, "a(", POWER_INVALID, 1, "byte 1");
    expect(power_regex_compile, "[]", POWER_INVALID, POWER_NO_OFFSET, "matches no text");
    f = power_choice_compile;
    expect(f, "[]", POWER_INVALID, POWER_NO_OFFSET, "no choices");
    expect(f, "{}", POWER_INVALID, POWER_NO_OFFSET, "no JSON array");
    expect(f, "[\"a\", 2]", POWER_INVALID, POWER_NO_OFFSET, "\"/1\"");
    expect(f, "[[\"a\"]]", POWER_INVALID, POWER_NO_OFFSET, "\"/0\"");
    expect(f, "[\"a\"", POWER_INVALID, POWER_NO_OFFSET, "");
    expect(f, "[\"a\"] 1", POWER_INVALID, POWER_NO_OFFSET, "");
}

/* A grammar of `times` units with %zu in them, behind `head`. */
static power_status compile_many(front compiler, const char *head, const char *before,
                                 const char *after, size_t times, const char *tail) {
    struct power_buffer text;
    struct power_grammar *g;
    power_error error;
    power_buffer_init(&text, &power_default_allocator, (size_t)64 << 20);
    assert_true(power_buffer_append(&text, head, strlen(head)));
    for (size_t i = 0; i < times; i++) {
        char number[32];
        int n = snprintf(number, sizeof number, "%zu", i);
        assert_true(power_buffer_append(&text, before, strlen(before)));
        if (*after) assert_true(power_buffer_append(&text, number, (size_t)n));
        assert_true(power_buffer_append(&text, after, strlen(after)));
    }
    assert_true(power_buffer_append(&text, tail, strlen(tail)));
    power_status status =
        compile(compiler, (struct power_text){text.bytes, text.length}, &g, &error);
    if (status != POWER_OK) print_message("  %s\n", error.message);
    power_grammar_destroy(g);
    power_buffer_finish(&text);
    return status;
}

static void test_hostile(void **state) {
    (void)state;
    front f = power_gbnf_compile;
    power_status status;
    assert_int_equal(compile_many(f, "root ::= \"a\"\n", "r", " ::= \"a\" [b-d]\n", 100000, ""),
                     POWER_OK);
    status = compile_many(f, "root ::= \"a\"{0,100000}", "", "", 0, "");
    assert_true(status == POWER_OK || status == POWER_LIMIT);
    status = compile_many(f, "root ::= ((\"ab\"{0,100000}){0,100000}){0,100000}", "", "", 0, "");
    assert_true(status == POWER_OK || status == POWER_LIMIT);
    assert_int_equal(compile_many(f, "root ::= ", "(", "", 10000, "\"a\""), POWER_INVALID);
    status = compile_many(f, "root ::= ", "(\"b\" ", "", 10000, "\"a\"");
    assert_int_equal(status, POWER_INVALID);
    status = compile_many(power_choice_compile, "[\"\"", ",\"word", "\"", 30000, "]");
    assert_int_equal(status, POWER_OK);
}

static void test_nesting(void **state) {
    (void)state;
    enum { DEEP = 10000 };
    static char text[16 + 8 * DEEP];
    struct power_grammar *g;
    power_error error;
    size_t at = (size_t)snprintf(text, sizeof text, "root ::= ");
    for (int i = 0; i < DEEP; i++)
        memcpy(text + at, "(\"b\" ", 5), at += 5;
    memcpy(text + at, "\"a\"", 3);
    at += 3;
    for (int i = 0; i < DEEP; i++)
        memcpy(text + at, ")?", 2), at += 2;
    power_status status = compile(power_gbnf_compile, (struct power_text){text, at}, &g, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    power_grammar_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gbnf), cmocka_unit_test(test_regex_and_choices),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_nesting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
