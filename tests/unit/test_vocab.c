/* SPDX-License-Identifier: MIT */
/* Job: what tokenizers must do whatever the vocabulary: special tokens, BOS once, streams, limits,
 * broken input. Input: small vocabularies made here. Output: exact ids, or named errors. */
#include <pthread.h>

#include "text_support.h"

/* Characters a-e, bytes, merges; "<s>" and "<|im_end|>" control, "<tool>" user-defined. */
static const char byte_level[] =
    "{\"added_tokens\": [{\"id\": 10, \"content\": \"<s>\", \"special\": true},"
    " {\"id\": 11, \"content\": \"<|im_end|>\", \"special\": true},"
    " {\"id\": 12, \"content\": \"<tool>\", \"special\": false},"
    " {\"id\": 13, \"content\": \"<mask>\", \"special\": true, \"lstrip\": true}],"
    " \"normalizer\": {\"type\": \"NFC\"},"
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": "
    "true},"
    " \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\":"
    " [{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\"}}]},"
    " \"model\": {\"type\": \"BPE\", \"unk_token\": null, \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2,"
    " \"\\u0120\": 3, \"ab\": 4, \"abc\": 5, \"\\u0120a\": 6, \"\\u00c3\": 7, \"\\u00a9\": 8,"
    " \"\\u00c3\\u00a9\": 9}, \"merges\": [\"a b\", \"ab c\", \"\\u0120 a\","
    " [\"\\u00c3\", \"\\u00a9\"]]}}";

static struct power_vocab *make_byte_level(void) {
    return need_vocab(byte_level);
}

static void test_specials(void **state) {
    (void)state;
    struct power_vocab *vocab = make_byte_level();
    expect_ids(vocab, "abc", false, false, IDS(5));
    expect_ids(vocab, "abc", false, true, IDS(10, 5));
    expect_ids(vocab, "<s>abc", true, true, IDS(10, 5)); /* BOS once */
    expect_ids(vocab, "<s><s>abc", true, true,
               IDS(10, 10, 5)); /* what the text repeats is its own */
    expect_ids(vocab, "", true, true, IDS(10));
    expect_ids(vocab, "a<tool>b", false, false, IDS(0, 12, 1));
    expect_ids(vocab, "a<|im_end|>b", true, false, IDS(0, 11, 1));
    expect_ids(vocab, "a  <mask>b", true, false, IDS(0, 13, 1)); /* takes the spaces on its left */
    expect_ids(vocab, "e\xCC\x81" + 0, true, false, IDS(9));     /* NFC */
    assert_true(power_vocab_is_end(vocab, 11));
    assert_false(power_vocab_is_end(vocab, 12));
    assert_int_equal(power_vocab_token_type(vocab, 12), POWER_TOKEN_USER_DEFINED);
    assert_int_equal(power_vocab_find(vocab, POWER_TEXT("\xC4\xA0"
                                                        "a")),
                     6);
    assert_int_equal(power_vocab_find(vocab, POWER_TEXT("zz")), POWER_NO_TOKEN);
    assert_true(power_text_equal(power_vocab_piece(vocab, 6), POWER_TEXT(" a")));
    assert_int_equal(power_vocab_piece(vocab, 99).length, 0);
    power_vocab_destroy(vocab);
}

static void test_encode_errors(void **state) {
    (void)state;
    struct power_vocab *vocab = make_byte_level();
    struct power_tokenize_options options = {.parse_special = false};
    power_error error = {0};
    uint32_t ids[2];
    size_t count = 7;
    /* control tokens as plain text need tokens for their bytes, which this vocabulary lacks */
    assert_int_equal(power_vocab_encode(vocab, POWER_TEXT("<s>"), &options, ids, 2, &count, &error),
                     POWER_INVALID);
    assert_int_equal(count, 7);
    assert_int_equal(
        power_vocab_encode(vocab, POWER_TEXT("ab\xFF"), &options, ids, 2, &count, &error),
        POWER_INVALID);
    assert_int_equal(error.offset, 2);
    assert_int_equal(
        power_vocab_encode(vocab, POWER_TEXT("a b c"), &options, ids, 2, &count, &error),
        POWER_LIMIT);
    assert_int_equal(count, 5);
    assert_int_equal(
        power_vocab_encode(vocab, POWER_TEXT("a b c"), &options, NULL, 0, &count, &error),
        POWER_LIMIT);
    assert_int_equal(count, 5);
    power_vocab_destroy(vocab);
}

/* Bytes 0xC3 0xA9 come as two tokens; 0xC3 alone never becomes valid. */
static void test_stream(void **state) {
    (void)state;
    struct power_vocab *vocab = make_byte_level();
    struct power_detokenizer d;
    struct power_buffer out;
    power_error error;
    power_buffer_init(&out, &power_default_allocator, 1000);
    power_detokenizer_init(&d, vocab, false);
    assert_int_equal(power_detokenizer_push(&d, 7, &out, &error), POWER_OK);
    assert_int_equal(out.length, 0);
    assert_int_equal(power_detokenizer_push(&d, 8, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "\xC3\xA9");
    assert_int_equal(power_detokenizer_push(&d, 7, &out, &error), POWER_OK);
    assert_int_equal(power_detokenizer_push(&d, 11, &out, &error), POWER_OK); /* control: nothing */
    assert_int_equal(power_detokenizer_push(&d, 0, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "\xC3\xA9\xEF\xBF\xBD"
                                   "a");
    assert_int_equal(power_detokenizer_push(&d, 7, &out, &error), POWER_OK);
    assert_int_equal(power_detokenizer_finish(&d, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "\xC3\xA9\xEF\xBF\xBD"
                                   "a"
                                   "\xEF\xBF\xBD");
    power_buffer_clear(&out);
    power_detokenizer_init(&d, vocab, true);
    assert_int_equal(power_detokenizer_push(&d, 11, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "<|im_end|>");
    power_buffer_finish(&out);
    power_vocab_destroy(vocab);
}

/* Each is `byte_level` with one thing changed. */
static void test_json_errors(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *names;
        power_status status;
    } cases[] = {
        {"\"BPE\"", "\"WordLevel\"", "WordLevel", POWER_UNSUPPORTED},
        {"\"NFC\"", "\"NFX\"", "normalizer \"NFX\"", POWER_UNSUPPORTED},
        {"{\"type\": \"ByteLevel\"", "{\"type\": \"UnicodeScripts\"",
         "pre-tokenizer \"UnicodeScripts\"", POWER_UNSUPPORTED},
        {"\"TemplateProcessing\"", "\"Other\"", "post-processor \"Other\"", POWER_UNSUPPORTED},
        {"\"ab c\"", "\"ab z\"", "merge 1", POWER_CORRUPT},
        {"\"ab c\"", "\"abc\"", "abc", POWER_CORRUPT},
        {"\"c\": 2", "\"c\": 1", "\"c\"", POWER_CORRUPT},
        {"\"c\": 2", "\"c\": 2000000", "gaps", POWER_CORRUPT},
        {"\"c\": 2", "\"c\": -1", "-1", POWER_CORRUPT},
        {"\"merges\": [", "\"merges\": [[\"a\"], ", "unexpected value", POWER_CORRUPT},
        {"]}}", "]}", "byte", POWER_CORRUPT},
        {"\"a\": 0", "\"\\ud800\": 0", "escape", POWER_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[2048];
        const char *at = strstr(byte_level, cases[i].from);
        assert_non_null(at);
        snprintf(json, sizeof json, "%.*s%s%s", (int)(at - byte_level), byte_level, cases[i].to,
                 at + strlen(cases[i].from));
        power_error error;
        struct power_vocab *vocab = vocab_of_json(json, &error);
        if (vocab || error.status != cases[i].status || !strstr(error.message, cases[i].names))
            fail_msg("case %zu: %s (%d)", i, vocab ? "accepted" : error.message, error.status);
    }
}

/* Every prefix of the document is an error, never a crash. */
static void test_json_prefixes(void **state) {
    (void)state;
    char *copy = strdup(byte_level);
    for (size_t n = strlen(copy); n-- > 1;) {
        copy[n] = 0;
        power_error error;
        assert_null(vocab_of_json(copy, &error));
        assert_true(error.message[0] != 0);
    }
    free(copy);
}

/* Merges by rank over characters, with byte fallback, as older Llama files have it. */
static void test_char_bpe(void **state) {
    (void)state;
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<unk>\", \"special\": true},"
        "{\"id\": 1, \"content\": \"<s>\", \"special\": true}],"
        "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\","
        "\"prepend\": \"\\u2581\"}, {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"},"
        "\"content\": \"\\u2581\"}]}, \"pre_tokenizer\": null,"
        "\"model\": {\"type\": \"BPE\", \"unk_token\": \"<unk>\", \"fuse_unk\": true,"
        "\"byte_fallback\": true, \"vocab\": {\"<unk>\": 0, \"<s>\": 1, \"<0xC3>\": 2,"
        "\"<0xA9>\": 3, \"\\u2581\": 4, \"h\": 5, \"i\": 6, \"hi\": 7, \"\\u2581hi\": 8},"
        "\"merges\": [\"h i\", \"\\u2581 hi\"]}}";
    power_error error;
    struct power_vocab *vocab = vocab_of_json(json, &error);
    /* a token of the model that is added too has its id given twice with one spelling */
    if (!vocab) fail_msg("%s", error.message);
    expect_ids(vocab, "hi hi", false, false, IDS(8, 8));
    expect_ids(vocab, "hi\xC3\xA9", false, false, IDS(8, 2, 3));
    expect_ids(vocab, "zz", false, false, IDS(4, 0));
    size_t count;
    uint32_t *ids = encode(vocab, POWER_TEXT(" hi"), false, false, &count);
    struct power_buffer out = decode(vocab, ids, count, false);
    assert_string_equal(out.bytes, " hi");
    power_buffer_finish(&out);
    free(ids);
    power_vocab_destroy(vocab);
}

struct job {
    const struct power_vocab *vocab;
    const char *unit;
    size_t count;
};

static void *encode_run(void *context) {
    struct job *job = context;
    size_t n = strlen(job->unit), bytes = 100000 / n * n;
    char *text = malloc(bytes);
    uint32_t *ids = malloc(bytes * sizeof *ids);
    for (size_t i = 0; i < bytes; i++)
        text[i] = job->unit[i % n];
    struct power_tokenize_options options = {.parse_special = true, .add_special = true};
    power_error error = {0};
    power_status status = power_vocab_encode(job->vocab, (struct power_text){text, bytes}, &options,
                                             ids, bytes, &job->count, &error);
    if (status != POWER_OK) job->count = SIZE_MAX;
    free(ids);
    free(text);
    return NULL;
}

/* 100 kB of one character on a stack of 64 KiB. */
static void test_small_stack(void **state) {
    (void)state;
    static const char *const units[] = {
        "A", " ", "\n",        "\xE6\xBC\xA2",    "\xF0\x9F\x98\x80",
        ".", "<", "e\xCC\x81", "\xCC\x81\xCC\x96"};
    static const char *const models[] = {"qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                                         "gemma-3-270m-q4_k_m.gguf"};
    size_t runs = 0;
    for (size_t m = 0; m < 2; m++) {
        char path[512];
        power_error error;
        if (!cached_model(models[m], path, sizeof path)) {
            print_message("left out: %s is not in the cache\n", models[m]);
            continue;
        }
        struct power_vocab *vocab = open_vocab(path, &error);
        assert_non_null(vocab);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            struct job job = {vocab, units[u], 0};
            pthread_attr_t attributes;
            pthread_t thread;
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, (size_t)64 << 10);
            assert_int_equal(pthread_create(&thread, &attributes, encode_run, &job), 0);
            pthread_join(thread, NULL);
            pthread_attr_destroy(&attributes);
            assert_true(job.count > 0 && job.count < SIZE_MAX);
            runs++;
        }
        power_vocab_destroy(vocab);
    }
    if (runs == 0) skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_specials),      cmocka_unit_test(test_encode_errors),
        cmocka_unit_test(test_stream),        cmocka_unit_test(test_json_errors),
        cmocka_unit_test(test_json_prefixes), cmocka_unit_test(test_char_bpe),
        cmocka_unit_test(test_small_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
