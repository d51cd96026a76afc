/* SPDX-License-Identifier: MIT */
/* JSON Schema: messages with keyword and pointer, limits, spacing, order, the stack.
 * Input: schemas here. Output: pass or fail. Threads: one, and one with a small stack.
 * Bounds: seconds. What schemas mean is tested by the scripts of this folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "byte_vocab.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

static struct power_vocab *vocab;
static struct power_token_trie *trie;

static int set_up(void **state) {
    power_error error = {0};
    (void)state;
    if (byte_vocab_create(&vocab, &error) != POWER_OK) return 1;
    return power_token_trie_create(&power_default_allocator, vocab, &trie, &error) != POWER_OK;
}

static int tear_down(void **state) {
    (void)state;
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
    return 0;
}

static power_status compile(struct power_text schema, const struct power_schema_options *options,
                            struct power_grammar **out, power_error *error) {
    power_expr root = 0;
    *error = (power_error){0};
    power_status status = power_grammar_create(&power_default_allocator, NULL, out, error);
    if (status == POWER_OK) status = power_schema_compile(*out, schema, options, &root, error);
    if (status == POWER_OK) status = power_grammar_freeze(*out, root, error);
    return status;
}

static void refused(const char *schema, power_status wanted, const char *message) {
    struct power_grammar *grammar = NULL;
    power_error error;
    power_status status = compile(power_text_of(schema), NULL, &grammar, &error);
    if (status != wanted || !strstr(error.message, message))
        fail_msg("%.60s: %s, \"%s\"", schema, power_status_name(status), error.message);
    assert_int_equal(error.status, status);
    power_grammar_destroy(grammar);
}

static bool accepts(const char *schema, const struct power_schema_options *options,
                    const char *text) {
    struct power_grammar *grammar = NULL;
    struct power_matcher *matcher = NULL;
    power_error error;
    bool result = false;
    if (compile(power_text_of(schema), options, &grammar, &error) != POWER_OK)
        fail_msg("%s: %s", schema, error.message);
    assert_int_equal(
        power_matcher_create(&power_default_allocator, grammar, trie, NULL, &matcher, &error),
        POWER_OK);
    assert_int_equal(power_matcher_accepts(matcher, power_text_of(text), &result, &error),
                     POWER_OK);
    power_matcher_destroy(matcher);
    power_grammar_destroy(grammar);
    return result;
}

static void test_unsupported(void **state) {
    (void)state;
    refused("{\"items\":{\"uniqueItems\":true}}", POWER_UNSUPPORTED,
            "\"uniqueItems\" at \"/items/uniqueItems\"");
    refused("{\"properties\":{\"a/b~c\":{\"format\":\"phone\"}}}", POWER_UNSUPPORTED,
            "\"format\" at \"/properties/a~1b~0c/format\": format \"phone\" is not known");
    refused("{\"$ref\":\"http://example.com/x\"}", POWER_UNSUPPORTED, "\"$ref\" at \"/$ref\"");
    refused("{\"anyOf\":[{},{\"$ref\":\"other.json#/a\"}]}", POWER_UNSUPPORTED,
            "\"$ref\" at \"/anyOf/1/$ref\"");
    refused("{\"type\":\"string\",\"nullable\":true}", POWER_UNSUPPORTED, "\"nullable\"");
    refused("{\"contains\":{\"const\":1},\"maxContains\":2}", POWER_UNSUPPORTED, "\"maxContains\"");
    refused("{\"allOf\":[{\"required\":[\"a\"]}],\"unevaluatedProperties\":false}",
            POWER_UNSUPPORTED, "\"unevaluatedProperties\"");
    refused("{\"not\":{\"additionalProperties\":{\"type\":\"string\"}}}", POWER_UNSUPPORTED,
            "\"not\" at \"/not\"");
    refused("{\"pattern\":\"(a)\\\\1\"}", POWER_UNSUPPORTED, "\"pattern\" at \"/pattern\"");
    refused("{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", POWER_UNSUPPORTED,
            "\"$schema\"");
    refused("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"prefixItems\":[{}]}",
            POWER_UNSUPPORTED, "\"prefixItems\" at \"/prefixItems\": is no keyword of draft-07");
    refused("{\"typeof\":\"function\"}", POWER_UNSUPPORTED, "\"typeof\"");
    refused("{\"$recursiveRef\":\"#\"}", POWER_UNSUPPORTED, "\"$recursiveRef\"");
}

static void test_invalid(void **state) {
    (void)state;
    refused("", POWER_INVALID, "schema");
    refused("{\"a\":}", POWER_INVALID, "byte 5");
    refused("17", POWER_INVALID, "a schema is an object, true or false");
    refused("{\"type\":\"strin\"}", POWER_INVALID, "\"type\" at \"/type\"");
    refused("{\"type\":[]}", POWER_INVALID, "\"type\"");
    refused("{\"minLength\":-1}", POWER_INVALID, "\"minLength\" at \"/minLength\"");
    refused("{\"minLength\":1.5}", POWER_INVALID, "\"minLength\"");
    refused("{\"maximum\":\"3\"}", POWER_INVALID, "\"maximum\" at \"/maximum\": must be a number");
    refused("{\"exclusiveMinimum\":true}", POWER_INVALID, "\"exclusiveMinimum\"");
    refused("{\"multipleOf\":0}", POWER_INVALID, "\"multipleOf\"");
    refused("{\"required\":true}", POWER_INVALID, "\"required\"");
    refused("{\"required\":[1]}", POWER_INVALID, "/required/0");
    refused("{\"properties\":[]}", POWER_INVALID, "\"properties\"");
    refused("{\"properties\":{\"a\":3}}", POWER_INVALID, "/properties/a");
    refused("{\"anyOf\":[]}", POWER_INVALID, "\"anyOf\"");
    refused("{\"enum\":3}", POWER_INVALID, "\"enum\"");
    refused("{\"pattern\":5}", POWER_INVALID, "\"pattern\" at \"/pattern\": must be a string");
    refused("{\"format\":1}", POWER_INVALID, "\"format\" at \"/format\": must be a string");
    refused("{\"pattern\":\"(\"}", POWER_INVALID, "\"pattern\" at \"/pattern\"");
    refused("{\"$ref\":\"#/$defs/x\"}", POWER_INVALID, "\"$ref\" at \"/$ref\"");
    refused("{\"$ref\":\"#\"}", POWER_INVALID, "\"$ref\" at \"/$ref\": leads back");
    refused("{\"type\":\"null\",\"type\":\"string\"}", POWER_INVALID,
            "\"type\" at \"/type\": the key occurs twice");
}

static void test_nothing_satisfies(void **state) {
    (void)state;
    const char *message = "no value satisfies";
    refused("false", POWER_INVALID, message);
    refused("{\"enum\":[]}", POWER_INVALID, message);
    refused("{\"type\":\"integer\",\"minimum\":3.2,\"maximum\":3.9}", POWER_INVALID, message);
    refused("{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}", POWER_INVALID, message);
    refused("{\"allOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", POWER_INVALID, message);
    refused("{\"type\":\"object\",\"required\":[\"a\"],\"additionalProperties\":false}",
            POWER_INVALID, message);
    refused("{\"type\":\"object\",\"minProperties\":2,\"propertyNames\":{\"const\":\"a\"}}",
            POWER_INVALID, message);
    refused(
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\",\"properties\":"
        "{\"b\":{\"const\":1,\"type\":\"string\"}},\"required\":[\"b\"]}},\"required\":[\"a\"]}",
        POWER_INVALID, "at \"/properties/a/properties/b\": no value");
    refused("{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}}", POWER_INVALID,
            message);
    refused("{\"oneOf\":[{},{}]}", POWER_INVALID, message);
}

/* Pieces joined `times` times around a middle. */
static char *nest(const char *open, const char *middle, const char *close, size_t times) {
    size_t n = times * (strlen(open) + strlen(close)) + strlen(middle) + 1;
    char *text = malloc(n), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, middle);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, close);
    return text;
}

static void test_limits(void **state) {
    (void)state;
    char *text = nest("{\"not\":", "{}", "}", 10000);
    refused(text, POWER_INVALID, "nesting is too deep");
    free(text);
    text = nest("{\"not\":", "{\"type\":\"null\"}", "}", 400);
    refused(text, POWER_LIMIT, "merged more than 96 deep");
    free(text);
    text = nest("1", "", "", 500);
    char schema[600];
    (void)snprintf(schema, sizeof schema, "{\"maximum\":%s}", text);
    refused(schema, POWER_LIMIT, "\"maximum\" at \"/maximum\"");
    free(text);
    refused("{\"multipleOf\":99991}", POWER_LIMIT, "\"multipleOf\"");
    refused("{\"pattern\":\"^[a-z]+$\",\"maxLength\":100000}", POWER_LIMIT, "\"maxLength\"");
    text = nest("{\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]},", "true", "", 13);
    char *blow = malloc(strlen(text) + 16);
    assert_non_null(blow);
    (void)sprintf(blow, "{\"allOf\":[%s]}", text);
    refused(blow, POWER_LIMIT, "\"allOf\" at \"/allOf\"");
    free(blow);
    free(text);
}

/* A hundred thousand properties end, one way or the other. */
static void test_many_properties(void **state) {
    (void)state;
    enum { MANY = 100000 };
    size_t room = (size_t)MANY * 16 + 100, n = 0;
    char *text = malloc(room);
    assert_non_null(text);
    n += (size_t)sprintf(text, "{\"additionalProperties\":true,\"properties\":{");
    for (int i = 0; i < MANY; i++)
        n += (size_t)sprintf(text + n, "%s\"p%d\":{}", i ? "," : "", i);
    (void)sprintf(text + n, "}}");
    refused(text, POWER_LIMIT, "states");
    free(text);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *schema, *text;
        bool accepted;
    } cases[] = {
        {"{\"type\":\"integer\"}", "1.0", true},
        {"{\"type\":\"integer\"}", "1e2", true},
        {"{\"type\":\"integer\"}", "1.5e1", true},
        {"{\"type\":\"integer\"}", "1.55e1", false},
        {"{\"type\":\"integer\"}", "1e-1", false},
        {"{\"const\":1}", "1.00", true},
        {"{\"const\":100}", "1E+02", true},
        {"{\"const\":0}", "-0.0", true},
        {"{\"minimum\":0.1}", "0.1000", true},
        {"{\"minimum\":0.1}", "0.0999999999999999999999999999", false},
        {"{\"exclusiveMaximum\":9007199254740993}", "9007199254740992", true},
        {"{\"exclusiveMaximum\":9007199254740993}", "9007199254740993", false},
        {"{\"maximum\":1e308}", "1.0000000000000001e308", false},
        {"{\"maximum\":-2.5}", "-2.5e0", true},
        {"{\"maximum\":-2.5}", "-2.49", false},
        {"{\"multipleOf\":0.01}", "19.99", true},
        {"{\"multipleOf\":0.01}", "19.999", false},
        {"{\"multipleOf\":9973}", "99730", true},
        {"{\"multipleOf\":9973}", "99731", false},
        /* One number of a list is spelt in bounded ways. */
        {"{\"enum\":[2,0.25]}", "2.000000", true},
        {"{\"enum\":[2,0.25]}", "2.0000000000", false},
        {"{\"enum\":[2,0]}", "2e0000", true},
        {"{\"enum\":[2,0]}", "2E000000", false},
        {"{\"enum\":[2,0]}", "0e99999", false},
        {"{\"const\":1e20}", "1E+20", true},
        {"{\"type\":\"number\",\"not\":{\"const\":2}}", "2.0000000000", false},
        {"{\"type\":\"number\",\"not\":{\"const\":2}}", "2e000000", false},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"enum\":[2,2.5]}]}", "2.00000000000", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (accepts(cases[i].schema, NULL, cases[i].text) != cases[i].accepted)
            fail_msg("%s: %s", cases[i].schema, cases[i].text);
}

/* Formats of OpenAPI: bounds of whole numbers, base64, and notes. */
static void test_openapi(void **state) {
    (void)state;
    static const struct {
        const char *format, *good, *bad;
    } cases[] = {
        {"int8", "-128", "-129"},
        {"int16", "32767", "32768"},
        {"int32", "-2147483648", "2147483648"},
        {"int32", "1e3", "1.5"},
        {"int64", "9223372036854775807", "9223372036854775808"},
        {"int64", "-9223372036854775808", "-9223372036854775809"},
        {"uint8", "255", "-1"},
        {"uint64", "18446744073709551615", "18446744073709551616"},
        {"double-int", "-9007199254740991", "9007199254740992"},
        {"int32", "\"no number\"", "2147483648.0"},
        {"byte", "\"aGVsbG8=\"", "\"aGVsbG8\""},
        {"byte", "17", "\"a===\""},
        {"float", "1.5", "x"},
        {"double", "1e400", "x"},
        {"password", "\"p w\"", "x"},
        {"binary", "\"\"", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char schema[64];
        (void)snprintf(schema, sizeof schema, "{\"format\":\"%s\"}", cases[i].format);
        if (!accepts(schema, NULL, cases[i].good)) fail_msg("%s: %s", schema, cases[i].good);
        if (accepts(schema, NULL, cases[i].bad)) fail_msg("%s: %s", schema, cases[i].bad);
    }
}

static void test_spacing(void **state) {
    (void)state;
    const char *schema = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}";
    struct power_schema_options compact = {.whitespace = POWER_WHITESPACE_COMPACT};
    struct power_schema_options loose = {.whitespace = POWER_WHITESPACE_FREE};
    assert_true(accepts(schema, NULL, "[1,2]"));
    assert_true(accepts(schema, NULL, "[1, 2]"));
    assert_true(accepts(schema, NULL, "[\n    1,\n    2\n]"));
    assert_true(accepts(schema, NULL, "[\n\t1,\n\t2\n]"));
    assert_true(accepts(schema, NULL, "[]"));
    assert_false(accepts(schema, NULL, "[1,  2]"));
    assert_false(accepts(schema, NULL, "[1 ,2]"));
    assert_false(accepts(schema, NULL, "[\n\n1]"));
    assert_false(accepts(schema, NULL, " [1]"));
    assert_false(accepts(schema, NULL, "[1]\n"));
    assert_true(accepts(schema, &compact, "[1,2]"));
    assert_false(accepts(schema, &compact, "[1, 2]"));
    assert_true(accepts(schema, &loose, "[ 1 \r\n,  2\t]"));
    assert_false(accepts(schema, &loose, "[1 2]"));
}

static void test_order(void **state) {
    (void)state;
    const char *schema = "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}";
    struct power_schema_options any = {.any_order = true};
    assert_true(accepts(schema, NULL, "{\"a\":1,\"b\":2,\"z\":3}"));
    assert_false(accepts(schema, NULL, "{\"b\":2,\"a\":1}"));
    assert_true(accepts(schema, &any, "{\"z\":3,\"b\":2,\"a\":1}"));
    assert_false(accepts(schema, &any, "{\"b\":2,\"b\":1}"));
    assert_false(accepts(schema, &any, "{\"z\":1,\"b\":2,\"z\":1}"));
    assert_false(accepts(schema, &any, "{\"a\":1}"));
}

static void test_depth_of_any(void **state) {
    (void)state;
    struct power_schema_options two = {.any_depth = 2};
    assert_true(accepts("{}", &two, "[[1]]"));
    assert_true(accepts("{}", &two, "[[[]]]"));
    assert_false(accepts("{}", &two, "[[[1]]]"));
    assert_true(accepts("{}", NULL, "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"));
    assert_false(accepts("{}", NULL, "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"));
}

static void test_round_trips(void **state) {
    (void)state;
    const char *tree =
        "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"oneOf\":[{\"properties\":{\"a\":"
        "{\"$ref\":\"#\"}},\"required\":[\"a\"]},{\"properties\":{\"b\":{\"$ref\":\"#\"}},"
        "\"required\":[\"b\"]}]}]}";
    assert_true(accepts(tree, NULL, "{\"a\":{\"b\":null}}"));
    assert_false(accepts(tree, NULL, "{\"a\":{\"b\":null},\"b\":null}"));
    assert_true(accepts(tree, NULL, "{\"a\":{\"b\":null},\"b\":3}"));
    assert_true(accepts("{\"$defs\":{\"n\":{\"allOf\":[{\"$ref\":\"#/$defs/m\"},{\"properties\":"
                        "{\"l\":{\"$ref\":\"#/$defs/n\"}}}]},\"m\":{\"type\":\"object\","
                        "\"properties\":{\"v\":{\"type\":\"integer\"},\"l\":{\"$ref\":"
                        "\"#/$defs/m\"}},\"additionalProperties\":false}},\"$ref\":\"#/$defs/n\"}",
                        NULL, "{\"v\":1,\"l\":{\"v\":2,\"l\":{}}}"));
}

static void *on_small_stack(void *out) {
    char *text = nest("{\"allOf\":[{\"anyOf\":[{\"not\":", "{\"type\":\"null\"}", "}]}]}", 31);
    struct power_grammar *grammar = NULL;
    power_error error;
    power_status status = compile(power_text_of(text), NULL, &grammar, &error);
    power_grammar_destroy(grammar);
    free(text);
    *(power_status *)out = status;
    return NULL;
}

/* The deepest merge there may be, on 256 KiB (1 MiB with a sanitizer's larger frames). */
static void test_stack(void **state) {
    (void)state;
    size_t bytes = (size_t)256 << 10;
#if defined(__SANITIZE_ADDRESS__)
    bytes = (size_t)1 << 20;
#endif
    pthread_attr_t attributes;
    pthread_t thread;
    power_status result = POWER_STATE;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, on_small_stack, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, POWER_OK);
    (void)pthread_attr_destroy(&attributes);
}

/* Allocation number N fails, then N + 1: an error each time, and nothing is lost. */
struct counting {
    size_t left, live;
};

static void *count_alloc(void *context, size_t bytes, size_t alignment) {
    struct counting *c = context;
    if (c->left == 0) return NULL;
    c->left--;
    c->live++;
    return power_default_allocator.alloc(NULL, bytes, alignment);
}

static void count_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct counting *c = context;
    c->live--;
    power_default_allocator.release(NULL, memory, bytes, alignment);
}

static void test_no_memory(void **state) {
    (void)state;
    const char *schema =
        "{\"$id\":\"http://a/"
        "b\",\"type\":[\"object\",\"array\"],\"properties\":{\"a\":{\"minimum\":1.5},"
        "\"b\":{\"enum\":[\"x\",1]}},\"patternProperties\":{\"^x\":{\"maxLength\":3}},"
        "\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"items\":{\"$ref\":\"#\"}}";
    power_status status = POWER_NO_MEMORY;
    for (size_t n = 0; status != POWER_OK; n++) {
        struct counting counting = {n, 0};
        power_allocator allocator = {&counting, count_alloc, count_release};
        struct power_grammar *grammar = NULL;
        power_error error = {0};
        power_expr root = 0;
        status = power_grammar_create(&allocator, NULL, &grammar, &error);
        if (status == POWER_OK)
            status = power_schema_compile(grammar, power_text_of(schema), NULL, &root, &error);
        if (status == POWER_OK) status = power_grammar_freeze(grammar, root, &error);
        power_grammar_destroy(grammar);
        assert_int_equal(counting.live, 0);
        if (status != POWER_OK && status != POWER_NO_MEMORY)
            fail_msg("allocation %zu: %s", n, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_nothing_satisfies),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_properties),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_openapi),
        cmocka_unit_test(test_spacing),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_depth_of_any),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
