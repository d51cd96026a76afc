/* SPDX-License-Identifier: MIT */
/* Job: vocabularies that somebody made on purpose to harm: what they cost, and what is refused.
 * Input: vocabularies made here, as tokenizer.json and as keys of GGUF. Output: bounded work, exact
 * ids, or errors that name the key. Threads: main. Bounds: some 50,000 tokens. */
#include <time.h>

#include "text_support.h"

#define N_BASE 4096u
#define N_MERGES 50000u
#define FEW_SLOTS 512u

/* How an earlier version placed pairs of tokens, without a secret. */
static uint32_t old_slot(uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32) & 0x1FFFF; /* the slots of 50,000 merges */
}

/* Pairs of base tokens: crafted ones share few slots, the others come as they come. */
static void find_pairs(uint32_t (*pairs)[2], bool crafted) {
    uint32_t n = 0;
    for (uint32_t left = 0; left < N_BASE && n < N_MERGES; left++) {
        for (uint32_t right = 0; right < N_BASE && n < N_MERGES; right++) {
            bool wanted = crafted ? old_slot(left, right) < FEW_SLOTS : (left ^ right) % 300 == 0;
            if (!wanted) continue;
            pairs[n][0] = left;
            pairs[n++][1] = right;
        }
    }
    assert_int_equal(n, N_MERGES);
}

static char *json_of_pairs(uint32_t (*pairs)[2]) {
    size_t room = (size_t)N_MERGES * 64 + N_BASE * 24 + 4096, n = 0;
    char *json = malloc(room);
    assert_non_null(json);
    n += (size_t)sprintf(json + n, "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", "
                                   "\"add_prefix_space\": false, \"use_regex\": true}, "
                                   "\"model\": {\"type\": \"BPE\", \"vocab\": {");
    for (uint32_t i = 0; i < N_BASE; i++)
        n += (size_t)sprintf(json + n, "\"%04x\": %u, ", i, i);
    for (uint32_t i = 0; i < N_MERGES; i++)
        n += (size_t)sprintf(json + n, "\"%04x%04x\": %u%s", pairs[i][0], pairs[i][1], N_BASE + i,
                             i + 1 < N_MERGES ? ", " : "}, \"merges\": [");
    for (uint32_t i = 0; i < N_MERGES; i++)
        n += (size_t)sprintf(json + n, "\"%04x %04x\"%s", pairs[i][0], pairs[i][1],
                             i + 1 < N_MERGES ? ", " : "]}}");
    assert_true(n < room);
    return json;
}

static double seconds_to_load(bool crafted) {
    uint32_t(*pairs)[2] = malloc(N_MERGES * sizeof *pairs);
    assert_non_null(pairs);
    find_pairs(pairs, crafted);
    char *json = json_of_pairs(pairs);
    struct power_source source = {.allocator = &power_default_allocator,
                                  .container = POWER_CONTAINER_SAFETENSORS,
                                  .tokenizer_json = power_text_of(json)};
    struct power_vocab *vocab = NULL;
    power_error error = {0};
    clock_t start = clock();
    if (power_vocab_create(&power_default_allocator, &source, &vocab, &error))
        fail_msg("%s", error.message);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    power_vocab_destroy(vocab);
    free(json);
    free(pairs);
    return seconds;
}

/* Colliding pairs took a thousand probes and more each: some thirty times as long. */
static void test_colliding_merges(void **state) {
    (void)state;
    double plain = seconds_to_load(false), crafted = seconds_to_load(true);
    if (crafted > 5 * plain + 0.2) fail_msg("%.3f s, crafted %.3f s", plain, crafted);
}

/* ---- keys of GGUF ---- */

static const struct power_text tokens[] = {{"a", 1},           {"b", 1},  {"ab", 2},
                                           {"<|im_end|>", 10}, {"<|", 2}, {"<tool>", 6}};
static const struct power_text merges[] = {{"a b", 3}};
static const int32_t types[] = {1, 1, 1, 4, 1, 4};

static struct power_meta text_meta(const char *key, const char *value) {
    return (struct power_meta){power_text_of(key), POWER_META_TEXT, {.text = power_text_of(value)}};
}

static struct power_meta list_meta(const char *key, enum power_meta_type type, size_t count,
                                   const void *values) {
    return (struct power_meta){
        power_text_of(key), POWER_META_ARRAY, {.array = {type, count, values}}};
}

/* A small vocabulary with one key more; NULL for one that is refused. */
static struct power_vocab *vocab_with(struct power_meta more, power_error *error) {
    struct power_meta metas[] = {text_meta("general.architecture", "llama"),
                                 text_meta("tokenizer.ggml.model", "gpt2"),
                                 text_meta("tokenizer.ggml.pre", "gpt-2"),
                                 list_meta("tokenizer.ggml.tokens", POWER_META_TEXT, 6, tokens),
                                 list_meta("tokenizer.ggml.token_type", POWER_META_I32, 6, types),
                                 list_meta("tokenizer.ggml.merges", POWER_META_TEXT, 1, merges),
                                 more};
    struct power_source source = {.allocator = &power_default_allocator,
                                  .container = POWER_CONTAINER_GGUF,
                                  .metas = metas,
                                  .n_metas = sizeof metas / sizeof *metas};
    struct power_vocab *vocab = NULL;
    *error = (power_error){0};
    assert_int_equal(
        power_index_create(&power_default_allocator, source.n_metas, &source.meta_index, error),
        POWER_OK);
    for (uint32_t i = 0; i < source.n_metas; i++)
        assert_true(power_index_add(source.meta_index, metas[i].key, i));
    if (power_vocab_create(&power_default_allocator, &source, &vocab, error)) vocab = NULL;
    power_index_destroy(source.meta_index);
    return vocab;
}

static void test_keys(void **state) {
    (void)state;
    static const uint32_t ends[] = {2, 1}, beyond[] = {6};
    const struct power_meta on = {POWER_TEXT("tokenizer.ggml.add_unknown_token"),
                                  POWER_META_BOOL,
                                  {.u = 1}},
                            off = {POWER_TEXT("tokenizer.ggml.add_unknown_token"),
                                   POWER_META_BOOL,
                                   {.u = 0}};
    const struct {
        struct power_meta meta;
        power_status status;
    } cases[] = {
        {text_meta("tokenizer.ggml.byte_order", "x"), POWER_UNSUPPORTED},
        {text_meta("tokenizer.ggml.normalizer.type", "x"), POWER_UNSUPPORTED},
        {list_meta("tokenizer.ggml.suppress_tokens", POWER_META_U32, 2, ends), POWER_UNSUPPORTED},
        {on, POWER_UNSUPPORTED},
        {off, POWER_OK},
        {text_meta("tokenizer.ggml.image_token_id", "x"), POWER_OK},
        {text_meta("tokenizer.ggmlx", "x"), POWER_OK},
        {list_meta("tokenizer.ggml.eos_token_ids", POWER_META_U32, 2, ends), POWER_OK},
        {list_meta("tokenizer.ggml.eos_token_ids", POWER_META_I32, 1, beyond), POWER_CORRUPT},
        {text_meta("tokenizer.ggml.eos_token_ids", "x"), POWER_CORRUPT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        power_error error;
        struct power_vocab *vocab = vocab_with(cases[i].meta, &error);
        if (error.status != cases[i].status || (vocab != NULL) != (cases[i].status == POWER_OK))
            fail_msg("case %zu: %d, %s", i, error.status, error.message);
        if (!vocab && !strstr(error.message, cases[i].meta.key.bytes))
            fail_msg("case %zu does not name its key: %s", i, error.message);
        if (vocab &&
            power_text_equal(cases[i].meta.key, POWER_TEXT("tokenizer.ggml.eos_token_ids")))
            assert_true(power_vocab_is_end(vocab, 1) && power_vocab_is_end(vocab, 2));
        power_vocab_destroy(vocab);
    }
}

/* A token that ends a turn is a control token though the file calls it a user's. */
static void test_turns(void **state) {
    (void)state;
    power_error error;
    struct power_vocab *vocab = vocab_with(text_meta("general.name", "x"), &error);
    size_t count;
    if (!vocab) fail_msg("%s", error.message);
    assert_int_equal(power_vocab_token_type(vocab, 3), POWER_TOKEN_CONTROL);
    assert_int_equal(power_vocab_token_type(vocab, 5), POWER_TOKEN_USER_DEFINED);
    assert_true(power_vocab_is_end(vocab, 3));
    uint32_t *ids = encode(vocab, POWER_TEXT("a<|im_end|>b<tool>"), true, false, &count);
    assert_true(count == 4 && ids[0] == 0 && ids[1] == 3 && ids[2] == 1 && ids[3] == 5);
    free(ids);
    struct power_tokenize_options plain = {.parse_special = false};
    uint32_t few[16];
    /* in plain text it is letters, some of which have no token here */
    assert_int_equal(
        power_vocab_encode(vocab, POWER_TEXT("a<|im_end|>"), &plain, few, 16, &count, &error),
        POWER_INVALID);
    power_vocab_destroy(vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_colliding_merges),
                                       cmocka_unit_test(test_keys), cmocka_unit_test(test_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
