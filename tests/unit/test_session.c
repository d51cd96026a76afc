/* SPDX-License-Identifier: MIT */
/* Sessions as callers see them: limits with both numbers, stops, callbacks, cancellation, files
 * that change, numbers that are not finite. Input: tiny models, altered copies of them. Output:
 * statuses, lengths, tokens. Threads: one, and one that cancels. Bounds: tiny models. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine_kit.h"
#include "os/os.h"

static void open_family(struct kit *kit, const char *family, uint32_t undo_rows) {
    const struct kit_options options = {
        .family = family, .max_sequences = 3, .prefill_rows = 32, .undo_rows = undo_rows};
    kit_open(kit, &options);
}

static power_generate_options greedy(const uint32_t *ids, size_t n_ids, uint32_t max_tokens) {
    power_generate_options options;
    power_generate_options_init(&options);
    options.sampling.temperature = 0;
    options.ids = ids;
    options.n_ids = n_ids;
    options.max_tokens = max_tokens;
    options.ignore_end_tokens = 1;
    return options;
}

/* ---- limits ---- */

static void limits_are_told_with_both_numbers(void **state) {
    struct kit kit;
    power_error error;
    power_session *s[3], *more = NULL;
    power_session_options options;
    uint32_t ids[40];
    (void)state;
    const struct kit_options small = {
        .family = "llama", .max_sequences = 3, .prefill_rows = 32, .max_tokens = 128};
    kit_open(&kit, &small);
    power_session_options_init(&options);
    options.context = 129;
    assert_int_equal(power_session_open(kit.model, &options, &more, &error), POWER_LIMIT);
    assert_non_null(strstr(error.message, "129"));
    assert_non_null(strstr(error.message, "128"));
    options.context = 1u << 30;
    assert_int_equal(power_session_open(kit.model, &options, &more, &error), POWER_LIMIT);
    s[0] = kit_session(&kit, 100, POWER_KV_F16);
    options.context = 29;
    assert_int_equal(power_session_open(kit.model, &options, &more, &error), POWER_OVERLOADED);
    assert_non_null(strstr(error.message, "29"));
    assert_non_null(strstr(error.message, "100 of 128"));
    s[1] = kit_session(&kit, 20, POWER_KV_F16);
    s[2] = kit_session(&kit, 8, POWER_KV_F16);
    options.context = 1;
    assert_int_equal(power_session_open(kit.model, &options, &more, &error), POWER_OVERLOADED);
    power_session_close(s[2]);
    s[2] = kit_session(&kit, 8, POWER_KV_F16);

    kit_ids(ids, 40, 1);
    assert_int_equal(power_session_evaluate(s[1], ids, 21, NULL, 0, NULL, &error),
                     POWER_CONTEXT_FULL);
    assert_non_null(strstr(error.message, "21"));
    assert_non_null(strstr(error.message, "20"));
    power_generate_options generate = greedy(ids, 21, 1);
    assert_int_equal(power_generate(s[1], &generate, NULL, &error), POWER_CONTEXT_FULL);
    assert_int_equal(power_session_length(s[1]), 0);
    generate.n_ids = 0;
    assert_int_equal(power_generate(s[1], &generate, NULL, &error), POWER_INVALID);
    ids[3] = kit.n_vocab;
    assert_int_equal(power_session_evaluate(s[1], ids, 4, NULL, 0, NULL, &error), POWER_INVALID);
    const uint32_t falling[] = {2, 1};
    float logits[1];
    assert_int_equal(power_session_evaluate(s[1], ids, 3, falling, 2, logits, &error),
                     POWER_INVALID);
    for (int i = 0; i < 3; i++)
        power_session_close(s[i]);
    kit_close(&kit);
}

static void memory_is_a_limit_too(void **state) {
    struct kit kit;
    power_error error;
    power_session *session = NULL;
    (void)state;
    open_family(&kit, "llama", 16);
    uint64_t state_bytes = 0, scratch_bytes = 0, more_bytes = 0;
    assert_int_equal(
        power_model_price(kit.model, 64, POWER_KV_F32, &state_bytes, &scratch_bytes, &error),
        POWER_OK);
    assert_int_equal(
        power_model_price(kit.model, 128, POWER_KV_F32, &more_bytes, &scratch_bytes, &error),
        POWER_OK);
    assert_int_equal(more_bytes, 2 * state_bytes);
    assert_true(scratch_bytes > 0);
    uint64_t kept = kit.budget.max_bytes;
    kit.budget.max_bytes = atomic_load(&kit.budget.used_bytes) + 1000;
    assert_int_equal(power_session_open(kit.model, NULL, &session, &error), POWER_NO_MEMORY);
    assert_non_null(strstr(error.message, "max_memory_bytes"));
    kit.budget.max_bytes = kept;
    kit_close(&kit);

    /* Tokens beyond all memory are refused before tables of that length are made. */
    const struct kit_options endless = {
        .family = "llama", .max_sequences = 3, .prefill_rows = 32, .max_tokens = 1u << 31};
    kit_open(&kit, &endless);
    uint64_t before = power_memory_peak();
    assert_int_equal(power_session_open(kit.model, NULL, &session, &error), POWER_NO_MEMORY);
    assert_non_null(strstr(error.message, "2147483648"));
    assert_true(power_memory_peak() - before < (uint64_t)64 << 20);
    kit_close(&kit);
}

/* ---- ends ---- */

static void generation_ends(void **state) {
    struct kit kit;
    uint32_t ids[20], first[12];
    power_generate_result result = {.struct_size = sizeof result};
    (void)state;
    open_family(&kit, "llama", 16);
    kit_ids(ids, 20, 2);
    power_session *s = kit_session(&kit, 32, POWER_KV_F32);
    assert_int_equal(kit_greedy(s, ids, 20, 11, first), 11);

    assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
    power_generate_options options = greedy(ids, 20, 5);
    assert_int_equal(power_generate(s, &options, &result, NULL), POWER_OK);
    assert_int_equal(result.finish, POWER_FINISH_LENGTH);
    assert_int_equal(result.prompt_tokens, 20);
    assert_int_equal(result.output_tokens, 5);
    assert_int_equal(result.end_id, UINT32_MAX);
    assert_int_equal(power_session_length(s), 24);

    assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
    uint32_t at = 1;
    while (at < 10 && first[at] == first[0])
        at++;
    options = greedy(ids, 20, 0);
    options.stop_ids = &first[at];
    options.n_stop_ids = 1;
    assert_int_equal(power_generate(s, &options, &result, NULL), POWER_OK);
    assert_int_equal(result.finish, POWER_FINISH_STOP);
    assert_int_equal(result.end_id, first[at]);
    assert_int_equal(result.output_tokens, at + 1); /* the one that ended it too */
    assert_int_equal(power_session_length(s), 20 + at);

    assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
    options = greedy(ids, 20, 0);
    assert_int_equal(power_generate(s, &options, &result, NULL), POWER_OK);
    assert_int_equal(result.finish, POWER_FINISH_CONTEXT);
    assert_int_equal(power_session_length(s), 32);
    assert_int_equal(result.output_tokens, 13); /* the last one is not in the state */
    power_session_close(s);
    kit_close(&kit);
}

/* An evaluated prompt can be answered without being given again, on every kind of state. */
static void generates_without_a_prompt(void **state) {
    const char *const families[] = {"llama", "gemma3", "qwen35"};
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        struct kit kit;
        uint32_t ids[64], expected[6], got[6];
        open_family(&kit, families[f], 16);
        kit_ids(ids, 64, 3);
        power_session *s = kit_session(&kit, 100, POWER_KV_F16);
        assert_int_equal(kit_greedy(s, ids, 64, 6, expected), 6);
        assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
        free(kit_logits(&kit, s, ids, 64, 0));
        assert_int_equal(kit_greedy(s, NULL, 0, 6, got), 6);
        assert_memory_equal(got, expected, sizeof got);
        power_session_close(s);
        kit_close(&kit);
    }
}

/* ---- callbacks ---- */

struct listener {
    uint32_t ids[64], n, stop_after, delay;
    power_session *cancels;
    float logprobs[64];
};

static int listen(void *context, const power_delta *delta) {
    struct listener *l = context;
    if (delta->id == UINT32_MAX) return 0;
    l->logprobs[l->n] = delta->logprob;
    l->ids[l->n++] = delta->id;
    if (l->delay) usleep(l->delay);
    if (l->cancels) { /* tokens that the engine made meanwhile still come */
        if (l->n == l->stop_after) power_session_cancel(l->cancels);
        return 0;
    }
    return l->stop_after && l->n >= l->stop_after;
}

/* However far the engine ran ahead, the state keeps what was delivered but the last. */
static void a_callback_stops_exactly(void **state) {
    const char *const families[] = {"llama", "qwen35"};
    (void)state;
    for (uint32_t round = 0; round < 12; round++) {
        struct kit kit;
        uint32_t ids[30];
        open_family(&kit, families[round % 2], round % 4 ? 16 : 1);
        kit_ids(ids, 30, 4);
        power_session *s = kit_session(&kit, 128, POWER_KV_F16);
        struct listener l = {.stop_after = 1 + round, .delay = round % 3 * 2000};
        power_generate_options options = greedy(ids, 30, 40);
        power_generate_result result = {.struct_size = sizeof result};
        options.on_delta = listen;
        options.context = &l;
        assert_int_equal(power_generate(s, &options, &result, NULL), POWER_OK);
        assert_int_equal(result.finish, POWER_FINISH_CALLBACK);
        assert_int_equal(result.output_tokens, l.stop_after);
        assert_int_equal(l.n, l.stop_after);
        assert_int_equal(power_session_length(s), 30 + l.n - 1);
        assert_memory_equal(power_session_tokens(s) + 30, l.ids, (l.n - 1) * sizeof l.ids[0]);
        kit_same_as_fresh(&kit, s, POWER_KV_F16);
        power_session_close(s);
        kit_close(&kit);
    }
}

/* A slow listener gets every token of a long answer, with its log probability. */
static void nothing_is_lost_on_the_way(void **state) {
    struct kit kit;
    uint32_t ids[10], expected[40];
    (void)state;
    open_family(&kit, "qwen2", 16);
    kit_ids(ids, 10, 5);
    power_session *s = kit_session(&kit, 128, POWER_KV_F16);
    assert_int_equal(kit_greedy(s, ids, 10, 40, expected), 40);
    assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
    struct listener l = {.delay = 300};
    power_generate_options options = greedy(ids, 10, 40);
    options.on_delta = listen;
    options.context = &l;
    assert_int_equal(power_generate(s, &options, NULL, NULL), POWER_OK);
    assert_int_equal(l.n, 40);
    assert_memory_equal(l.ids, expected, sizeof expected);
    assert_int_equal(power_session_truncate(s, 0, NULL), POWER_OK);
    float *logits = kit_logits(&kit, s, ids, 10, 1);
    double sum = 0, most = -1e30;
    for (uint32_t i = 0; i < kit.n_vocab; i++)
        most = fmax(most, (double)logits[i]);
    for (uint32_t i = 0; i < kit.n_vocab; i++)
        sum += exp((double)logits[i] - most);
    double logprob = (double)logits[l.ids[0]] - most - log(sum);
    assert_true(fabs(logprob - (double)l.logprobs[0]) < 1e-5);
    free(logits);
    power_session_close(s);
    kit_close(&kit);
}

static int call_again(void *context, const power_delta *delta) {
    struct listener *l = context;
    power_error error;
    const uint32_t id = 20;
    power_session *fork = NULL;
    (void)delta;
    l->n++;
    assert_int_equal(power_session_evaluate(l->cancels, &id, 1, NULL, 0, NULL, &error),
                     POWER_STATE);
    assert_int_equal(power_session_truncate(l->cancels, 0, &error), POWER_STATE);
    assert_int_equal(power_session_fork(l->cancels, &fork, &error), POWER_STATE);
    power_session_close(l->cancels); /* has no effect */
    return 0;
}

static void a_busy_session_says_so(void **state) {
    struct kit kit;
    uint32_t ids[10];
    (void)state;
    open_family(&kit, "llama", 16);
    kit_ids(ids, 10, 5);
    power_session *s = kit_session(&kit, 64, POWER_KV_F16);
    struct listener l = {.cancels = s};
    power_generate_options options = greedy(ids, 10, 6);
    options.on_delta = call_again;
    options.context = &l;
    assert_int_equal(power_generate(s, &options, NULL, NULL), POWER_OK);
    assert_true(l.n >= 6);
    power_session_close(s);
    kit_close(&kit);
}

/* ---- cancellation ---- */

static void cancelled_calls_leave_the_state(void **state) {
    struct kit kit;
    uint32_t ids[90];
    power_error error;
    (void)state;
    open_family(&kit, "gemma3", 16);
    kit_ids(ids, 90, 6);
    power_session *s = kit_session(&kit, 200, POWER_KV_F16);
    free(kit_logits(&kit, s, ids, 60, 0));
    power_session_cancel(s); /* the next call */
    assert_int_equal(power_session_evaluate(s, ids + 60, 30, NULL, 0, NULL, &error),
                     POWER_CANCELLED);
    assert_int_equal(power_session_length(s), 60);
    kit_same_as_fresh(&kit, s, POWER_KV_F16);

    struct listener l = {.cancels = s, .stop_after = 3};
    power_generate_options options = greedy(ids + 60, 30, 100);
    options.on_delta = listen;
    options.context = &l;
    assert_int_equal(power_generate(s, &options, NULL, &error), POWER_CANCELLED);
    assert_true(l.n >= 3 && l.n < 30);
    assert_int_equal(power_session_length(s), 90 + l.n - 1);
    kit_same_as_fresh(&kit, s, POWER_KV_F16);
    power_session_close(s);
    kit_close(&kit);
}

/* ---- files ---- */

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void temporary(char *path, size_t capacity) {
    snprintf(path, capacity, "/tmp/power-test-session-%d.gguf", (int)getpid());
}

static void a_changed_file_is_an_error(void **state) {
    struct kit kit;
    char path[64];
    uint32_t ids[5];
    power_error error;
    (void)state;
    temporary(path, sizeof path);
    copy_file(kit_path("llama"), path);
    const struct kit_options options = {.path = path};
    kit_open(&kit, &options);
    kit_ids(ids, 5, 7);
    power_session *s = kit_session(&kit, 32, POWER_KV_F16);
    free(kit_logits(&kit, s, ids, 5, 0));
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputc(0, file);
    fclose(file);
    assert_int_equal(power_session_evaluate(s, ids, 5, NULL, 0, NULL, &error), POWER_CHANGED);
    assert_int_equal(power_session_length(s), 5);
    power_session *more = NULL;
    assert_int_equal(power_session_open(kit.model, NULL, &more, &error), POWER_CHANGED);
    power_session_close(s);
    kit_close(&kit);
    remove(path);
}

static void digests(void **state) {
    power_runtime *runtime = NULL;
    power_model *model = NULL;
    power_session *session = NULL;
    power_error error;
    char hex[65], again[65], directory[] = "/tmp/power-test-cache-XXXXXX", path[128];
    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(setenv("XDG_CACHE_HOME", directory, 1), 0);
    assert_int_equal(power_runtime_open(NULL, &runtime, &error), POWER_OK);
    assert_int_equal(power_model_open(runtime, kit_path("llama"), NULL, &model, &error), POWER_OK);
    assert_int_equal(power_model_digest(model, hex, &error), POWER_OK);
    power_model_close(model);
    snprintf(path, sizeof path, "%s/power/digests", directory);
    FILE *cache = fopen(path, "rb");
    assert_non_null(cache);
    char line[200] = {0};
    assert_non_null(fgets(line, sizeof line, cache));
    fclose(cache);
    assert_int_equal(strlen(line), 130);
    assert_memory_equal(line + 65, hex, 64);

    power_model_options options;
    power_model_options_init(&options);
    options.sha256 = hex;
    assert_int_equal(power_model_open(runtime, kit_path("llama"), &options, &model, &error),
                     POWER_OK);
    assert_int_equal(power_model_digest(model, again, &error), POWER_OK);
    assert_string_equal(hex, again);
    assert_int_equal(power_session_open(model, NULL, &session, &error), POWER_OK);
    power_session_close(session);
    power_model_close(model);

    hex[0] = hex[0] == 'a' ? 'b' : 'a';
    assert_int_equal(power_model_open(runtime, kit_path("llama"), &options, &model, &error),
                     POWER_OK); /* off the path to the first token */
    assert_int_equal(power_model_digest(model, again, &error), POWER_OK); /* waits */
    assert_int_equal(power_session_open(model, NULL, &session, &error), POWER_MISMATCH);
    power_model_close(model);
    options.verify = POWER_VERIFY_ALWAYS;
    assert_int_equal(power_model_open(runtime, kit_path("llama"), &options, &model, &error),
                     POWER_MISMATCH);
    power_runtime_close(runtime);
    remove(path);
    snprintf(path, sizeof path, "%s/power", directory);
    rmdir(path);
    rmdir(directory);
}

/* A row of the embedding that is not a number: that request fails by the operator's name, the other
 * session's answer is as ever. */
static void one_bad_row_fails_alone(void **state) {
    struct kit kit, good;
    char path[64];
    uint32_t ids[8], bad = 0, expected[10], got[10];
    power_error error;
    power_tensor_info info = {0};
    (void)state;
    kit_ids(ids, 8, 8);
    open_family(&good, "llama", 16);
    for (uint32_t i = 0; strcmp(info.name ? info.name : "", "token_embd.weight") != 0; i++) {
        assert_int_equal(power_model_tensor(good.model, i, &info, &error), POWER_OK);
    }
    power_session *clean = kit_session(&good, 64, POWER_KV_F16);
    kit_greedy(clean, ids, 8, 10, expected);
    power_session_close(clean);
    kit_close(&good);
    for (uint32_t i = 0; i < 8; i++)
        bad += ids[i] == 9; /* kit_ids begin at 10 */
    assert_int_equal(bad, 0);
    assert_string_equal(info.type, "F32");

    temporary(path, sizeof path);
    copy_file(kit_path("llama"), path);
    FILE *file = fopen(path, "r+b");
    const float nan_value = NAN;
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(info.offset + 9 * info.dims[0] * 4), SEEK_SET), 0);
    assert_int_equal(fwrite(&nan_value, 4, 1, file), 1);
    fclose(file);
    const struct kit_options options = {.path = path};
    kit_open(&kit, &options);
    power_session *a = kit_session(&kit, 64, POWER_KV_F16);
    power_session *b = kit_session(&kit, 64, POWER_KV_F16);
    free(kit_logits(&kit, a, ids, 3, 0));
    const uint32_t poisoned[] = {ids[3], 9, ids[4]};
    assert_int_equal(power_session_evaluate(a, poisoned, 3, NULL, 0, NULL, &error),
                     POWER_NOT_FINITE);
    assert_non_null(strstr(error.message, "operator \""));
    assert_non_null(strstr(error.message, "blk.0"));
    assert_int_equal(power_session_length(a), 3);
    free(kit_logits(&kit, a, ids + 3, 5, 0));
    assert_int_equal(power_session_truncate(a, 0, NULL), POWER_OK);
    assert_int_equal(kit_greedy(a, ids, 8, 10, got), 10);
    assert_memory_equal(got, expected, sizeof got);
    assert_int_equal(kit_greedy(b, ids, 8, 10, got), 10);
    assert_memory_equal(got, expected, sizeof got);
    power_session_close(a);
    power_session_close(b);
    kit_close(&kit);
    remove(path);
}

/* ---- arguments ---- */

static void arguments_are_checked(void **state) {
    power_error error;
    power_runtime *runtime = NULL;
    power_runtime_options options;
    uint32_t mask = 0;
    (void)state;
    power_runtime_options_init(&options);
    options.struct_size = 3;
    assert_int_equal(power_runtime_open(&options, &runtime, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "struct_size"));
    options.struct_size = sizeof options + 1;
    assert_int_equal(power_runtime_open(&options, &runtime, &error), POWER_INVALID);
    assert_int_equal(power_cpu_mask_parse("avx2,avx9", &mask, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "avx9"));
    assert_int_equal(error.offset, 5);
    assert_int_equal(power_cpu_mask_parse("none", &mask, &error), POWER_OK);
    assert_int_equal(mask, 0);
    assert_int_equal(power_cpu_mask_parse("avx512+vnni", &mask, &error), POWER_OK);
    assert_true(mask & POWER_CPU_AVX512_VNNI);
    assert_int_equal(power_cpu_mask_parse("", &mask, &error), POWER_INVALID);
    assert_true(power_architecture_count() >= 10);
    assert_non_null(power_architecture_name(0));
    assert_null(power_architecture_name(power_architecture_count()));
    assert_int_equal(power_generate(NULL, NULL, NULL, &error), POWER_INVALID);
    power_session_close(NULL);
    power_model_close(NULL);
    power_runtime_close(NULL);
}

static void metadata_is_text(void **state) {
    struct kit kit;
    char key[100], value[64];
    uint32_t n = 0;
    (void)state;
    open_family(&kit, "gemma3", 16);
    bool cut = false, name = false;
    while (power_model_metadata(kit.model, n, key, sizeof key, value, sizeof value, NULL) ==
           POWER_OK) {
        n++;
        cut = cut || (strcmp(key, "tokenizer.ggml.tokens") == 0 && strstr(value, "... ("));
        name = name || (strcmp(key, "general.architecture") == 0 && strcmp(value, "gemma3") == 0);
    }
    power_model_info info = {.struct_size = sizeof info};
    assert_int_equal(power_model_get_info(kit.model, &info, NULL), POWER_OK);
    assert_int_equal(info.n_metadata, n);
    assert_true(cut && name);
    assert_string_equal(info.architecture, "gemma3");
    assert_string_equal(info.file_type, "gguf");
    float embedding[4];
    power_error error;
    const uint32_t id = 5;
    assert_int_equal(power_embed(kit.model, &id, 1, embedding, 4, &error), POWER_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemma3"));
    kit_close(&kit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_told_with_both_numbers),
        cmocka_unit_test(memory_is_a_limit_too),
        cmocka_unit_test(generation_ends),
        cmocka_unit_test(generates_without_a_prompt),
        cmocka_unit_test(a_callback_stops_exactly),
        cmocka_unit_test(nothing_is_lost_on_the_way),
        cmocka_unit_test(a_busy_session_says_so),
        cmocka_unit_test(cancelled_calls_leave_the_state),
        cmocka_unit_test(a_changed_file_is_an_error),
        cmocka_unit_test(digests),
        cmocka_unit_test(one_bad_row_fails_alone),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(metadata_is_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
