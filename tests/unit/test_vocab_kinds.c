/* SPDX-License-Identifier: MIT */
/* Job: WordPiece and Unigram, parts of tokenizer.json, places, plain text. Agreement with the
 * published libraries is shown by tests/text/tokenizers_agree.py; here are the rules and the
 * faults. Input: small vocabularies made here. Output: exact ids, or errors that name the part. */
#include <pthread.h>

#include "text/charsmap.h"
#include "text_support.h"

#define SPECIALS                                                                                   \
    "\"added_tokens\": [{\"id\": 0, \"content\": \"[UNK]\", \"special\": true},"                   \
    "{\"id\": 1, \"content\": \"[CLS]\", \"special\": true},"                                      \
    "{\"id\": 2, \"content\": \"[SEP]\", \"special\": true, \"normalized\": true}],"

static const char wordpiece[] =
    "{\"truncation\": {\"max_length\": 128, \"stride\": 0},"
    " \"padding\": {\"strategy\": {\"Fixed\": 64}, \"pad_id\": 0}," SPECIALS
    "\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true,"
    " \"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true},"
    "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},"
    "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2],"
    " \"cls\": [\"[CLS]\", 1]}, \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\","
    " \"cleanup\": true}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\","
    " \"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 10, \"vocab\": {"
    "\"[UNK]\": 0, \"[CLS]\": 1, \"[SEP]\": 2, \"a\": 3, \"ab\": 4, \"##b\": 5, \"##c\": 6,"
    "\".\": 7, \"cafe\": 8, \"\\u6f22\": 9, \"##e\": 10}}}";

static const char unigram[] =
    "{" SPECIALS "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"},"
    "{\"type\": \"Strip\", \"strip_left\": false, \"strip_right\": true},"
    "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": \" \"}]},"
    "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\","
    " \"prepend_scheme\": \"always\", \"split\": true}, \"decoder\": {\"type\": \"Metaspace\","
    " \"replacement\": \"\\u2581\", \"prepend_scheme\": \"always\"},"
    "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"[UNK]\", 0.0],"
    "[\"[CLS]\", 0.0], [\"[SEP]\", 0.0], [\"\\u2581\", -2.0], [\"a\", -1.5], [\"b\", -1.5],"
    "[\"ab\", -3.0], [\"abb\", -4.0], [\"\\u2581a\", -3.5], [\"ba\", -2.5]]}}";

static void test_wordpiece(void **state) {
    (void)state;
    struct power_vocab *vocab = need_vocab(wordpiece);
    expect_ids(vocab, "ABBC", false, false, IDS(4, 5, 6));
    expect_ids(vocab, "ab  abx.", false, false, IDS(4, 0, 7)); /* no part of abx: one unknown */
    expect_ids(vocab, "Caf\xC3\xA9", false, true, IDS(1, 8, 2));
    expect_ids(vocab,
               "a\xE6\xBC\xA2"
               "a",
               false, false, IDS(3, 9, 3));
    expect_ids(vocab, "abbbbbbbbb", false, false, IDS(4, 5, 5, 5, 5, 5, 5, 5, 5));
    expect_ids(vocab, "abbbbbbbbbb", false, false, IDS(0)); /* eleven characters */
    expect_ids(vocab, "a[CLS]a", true, false, IDS(3, 1, 3));
    expect_ids(vocab, "a[CLS]a", false, false, IDS(3, 0, 0, 0, 3));
    const struct power_vocab_info *info = power_vocab_info(vocab);
    assert_int_equal(info->truncation_tokens, 128);
    assert_int_equal(info->padding_tokens, 64);
    struct power_buffer out = decode(vocab, (const uint32_t[]){1, 4, 5, 8, 7, 2}, 6, false);
    assert_true(
        power_text_equal((struct power_text){out.bytes, out.length}, POWER_TEXT("abb cafe.")));
    power_buffer_finish(&out);
    power_vocab_destroy(vocab);
}

static void test_unigram(void **state) {
    (void)state;
    struct power_vocab *vocab = need_vocab(unigram);
    expect_ids(vocab, "a", false, false, IDS(8)); /* -3.5 is reached with one token first */
    expect_ids(vocab, "ab", false, false,
               IDS(3, 6)); /* -5 like "_a" + b, whose last starts later */
    expect_ids(vocab, "bba", false, false, IDS(3, 5, 9));
    expect_ids(vocab, "a  b ", false, false, IDS(8, 3, 5));
    expect_ids(vocab, "xy", false, false, IDS(3, 0));        /* one for the run */
    expect_ids(vocab, "\xEF\xBD\x81", false, false, IDS(8)); /* full-width a */
    expect_ids(vocab, "", false, false, NULL, 0);
    power_vocab_destroy(vocab);
}

static void test_places(void **state) {
    (void)state;
    struct power_vocab *vocab = need_vocab(wordpiece);
    static const char text[] = "Cafe\xCC\x81  ab.[CLS]";
    static const power_token_place want[] = {{0, 0}, {0, 6}, {8, 10}, {10, 11}, {11, 16}, {16, 16}};
    power_token_place places[8];
    uint32_t ids[8];
    size_t count = 0;
    power_error error;
    struct power_tokenize_options options = {true, true, NULL, places};
    assert_int_equal(
        power_vocab_encode(vocab, power_text_of(text), &options, ids, 8, &count, &error), POWER_OK);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(places[i].start, want[i].start);
        assert_int_equal(places[i].end, want[i].end);
    }
    power_vocab_destroy(vocab);
}

/* What a caller marks as plain never becomes a control token: not as it stands, not after
 * normalization (the full-width form), not joined with what stands beside it. */
static void test_plain(void **state) {
    (void)state;
    static const char *const models[] = {wordpiece, unigram};
    static const char text[] = "[SEP][SEP]\xEF\xBC\xBBSEP][CLS]";
    unsigned char plain[sizeof text];
    for (size_t m = 0; m < 2; m++) {
        struct power_vocab *vocab = need_vocab(models[m]);
        for (size_t mode = 0; mode < 3; mode++) {
            /* 0: nothing is plain; 1: all is; 2: one byte of each but the last */
            memset(plain, mode == 1, sizeof plain);
            if (mode == 2) plain[0] = plain[9] = plain[12] = 1;
            uint32_t ids[64];
            size_t count = 0, controls = 0;
            power_error error;
            struct power_tokenize_options options = {.parse_special = true, .plain = plain};
            assert_int_equal(
                power_vocab_encode(vocab, power_text_of(text), &options, ids, 64, &count, &error),
                POWER_OK);
            for (size_t i = 0; i < count; i++)
                controls += ids[i] == 1 || ids[i] == 2;
            size_t all = m == 0 ? 3 : 4; /* WordPiece: the lower-cased spelling is looked for */
            if (mode == 0 && m == 1) assert_int_equal(controls, all);
            if (mode == 1) assert_int_equal(controls, 0);
            if (mode == 2) assert_int_equal(controls, 1);
        }
        power_vocab_destroy(vocab);
    }
}

/* Each is `unigram` with one thing changed; the message names it. */
static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *names;
        power_status status;
    } cases[] = {
        {"\"NFKC\"", "\"ByteLevel\"", "normalizer \"ByteLevel\"", POWER_UNSUPPORTED},
        {" {2,}", "a|b", "a|b", POWER_UNSUPPORTED},
        {"\"Metaspace\", \"replacement\": \"\\u2581\", \"prepend_scheme\": \"always\", \"split\"",
         "\"FixedLength\", \"length\": 3, \"x\"", "\"length\"", POWER_UNSUPPORTED},
        {"\"Metaspace\", \"replacement\": \"\\u2581\", \"prepend_scheme\": \"always\"}", "\"CTC\"}",
         "decoder \"CTC\"", POWER_UNSUPPORTED},
        {"\"Unigram\"", "\"WordLevel\"", "\"WordLevel\"", POWER_UNSUPPORTED},
        {"\"unk_id\": 0", "\"unk_id\": 99", "unknown token 99", POWER_CORRUPT},
        {"\"unk_id\": 0", "\"dropout\": 0.5", "dropout", POWER_UNSUPPORTED},
        {"[\"a\", -1.5]", "[\"a\", \"-1.5\"]", "unexpected value", POWER_CORRUPT},
        {"[\"a\", -1.5]", "[\"a\", -1e999]", "not finite", POWER_CORRUPT},
        {"{\"type\": \"NFKC\"}", "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAA\"}",
         "base64", POWER_CORRUPT},
        {"{\"type\": \"NFKC\"}",
         "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"/////w==\"}", "charsmap",
         POWER_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[4096];
        const char *at = strstr(unigram, cases[i].from);
        if (!at) fail_msg("case %zu: nothing to change", i);
        snprintf(json, sizeof json, "%.*s%s%s", (int)(at - unigram), unigram, cases[i].to,
                 at + strlen(cases[i].from));
        power_error error;
        struct power_vocab *vocab = vocab_of_json(json, &error);
        if (vocab || error.status != cases[i].status || !strstr(error.message, cases[i].names))
            fail_msg("case %zu: %s (%d)", i, vocab ? "accepted" : error.message, error.status);
    }
}

/* Every cut of a map, and random units: an error or an answer inside the map, never beyond it. */
static void test_charsmap(void **state) {
    (void)state;
    unsigned char bytes[4 + 4 * 64 + 4];
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        size_t length = round < 300 ? (size_t)round % sizeof bytes : sizeof bytes;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)((random = random * 1664525u + 1013904223u) >> 24);
        if (length >= 4) memcpy(bytes, (unsigned char[]){0, 1, 0, 0}, 4);
        if (length) bytes[length - 1] = 0;
        unsigned char *copy = malloc(length + 1); /* its end is guarded by the sanitizer */
        memcpy(copy, bytes, length);
        struct power_charsmap map = {0};
        power_error error = {0};
        power_status status = power_charsmap_load(&map, (struct power_span){copy, length}, &error);
        assert_true(status == POWER_OK || error.message[0]);
        struct power_text to = {0}, text = {(const char *)bytes + round % 64, 16};
        for (int longest = 0; status == POWER_OK && longest < 2; longest++) {
            size_t n = power_charsmap_find(&map, text, longest, &to);
            assert_true(n <= text.length);
            if (n)
                assert_true(to.bytes + to.length <
                            map.replacements.bytes + map.replacements.length);
        }
        free(copy);
    }
}

struct job {
    const struct power_vocab *vocab;
    const char *unit;
    size_t bytes;
    power_status status;
};

static void *encode_run(void *context) {
    struct job *job = context;
    size_t n = strlen(job->unit), bytes = job->bytes / n * n, count = 0;
    char *text = malloc(bytes);
    uint32_t *ids = malloc(2 * bytes * sizeof *ids);
    for (size_t i = 0; i < bytes; i++)
        text[i] = job->unit[i % n];
    struct power_tokenize_options options = {.parse_special = true, .add_special = true};
    power_error error = {0};
    job->status = power_vocab_encode(job->vocab, (struct power_text){text, bytes}, &options, ids,
                                     2 * bytes, &count, &error);
    free(ids);
    free(text);
    return NULL;
}

/* 100 kB and 1 MB of one character on 64 KiB of stack. (test_encode_growth counts the steps.) */
static void test_long_runs(void **state) {
    (void)state;
    static const char *const models[] = {wordpiece, unigram};
    static const char *const units[] = {"a", " ",         "\n", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80",
                                        ".", "e\xCC\x81", "[",  "\xCC\x81"};
    for (size_t m = 0; m < 2 * sizeof units / sizeof *units; m++) {
        struct power_vocab *vocab = need_vocab(models[m % 2]);
        for (size_t bytes = 100000; bytes <= 1000000; bytes *= 10) {
            struct job job = {vocab, units[m / 2], bytes, POWER_INVALID};
            pthread_attr_t attributes;
            pthread_t thread;
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, (size_t)64 << 10);
            assert_int_equal(pthread_create(&thread, &attributes, encode_run, &job), 0);
            pthread_join(thread, NULL);
            pthread_attr_destroy(&attributes);
            assert_int_equal(job.status, POWER_OK);
        }
        power_vocab_destroy(vocab);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wordpiece), cmocka_unit_test(test_unigram),
        cmocka_unit_test(test_places),    cmocka_unit_test(test_plain),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_charsmap),
        cmocka_unit_test(test_long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
