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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_colliding_merges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
