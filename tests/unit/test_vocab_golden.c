/* SPDX-License-Identifier: MIT */
/* Job: ids of real vocabularies against reference tokenizers.
 * Input: tests/data/golden, tests/data/cases, ../shared/data where it lies, models of the cache.
 * Output: every case equal; what is absent is skipped with a line. */
#include <dirent.h>

#include "text_support.h"

static bool has_byte_from(const char *text, size_t length, unsigned char least) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= least) return true;
    return false;
}

/* The ids give the text back. Left out is what a vocabulary's authors change: all of WordPiece,
 * composed characters before NFC (qwen2), U+2581, which stands for a space. */
static bool gives_back(const struct power_vocab *vocab, const char *text, size_t length,
                       const uint32_t *ids, size_t count) {
    const struct power_vocab_info *info = power_vocab_info(vocab);
    if (power_text_equal(info->model, POWER_TEXT("bert"))) return true;
    if (power_text_equal(info->pre, POWER_TEXT("qwen2")) && has_byte_from(text, length, 0xCC))
        return true;
    if (power_text_equal(info->model, POWER_TEXT("llama")) &&
        memmem(text, length, "\xE2\x96\x81", 3))
        return true;
    struct power_buffer out = decode(vocab, ids, count, true);
    bool same = out.length == length && (length == 0 || memcmp(out.bytes, text, length) == 0);
    power_buffer_finish(&out);
    if (!same) print_message("  does not come back: %.80s\n", text);
    return same;
}

static void check_line(const struct power_vocab *vocab, const json_t *line, const char *answer,
                       size_t *passed, size_t *total) {
    size_t length, count;
    char *text = text_of_case(line, &length);
    bool special = json_is_true(json_object_get(line, "parse_special"));
    uint32_t *ids = encode(vocab, (struct power_text){text, length}, special, false, &count);
    const json_t *runs = json_object_get(line, "runs");
    bool equal =
        runs ? runs_equal(runs, ids, count) : ids_equal(json_object_get(line, answer), ids, count);
    equal = equal && gives_back(vocab, text, length, ids, count);
    (*total)++;
    *passed += equal;
    if (!equal) {
        print_message("  differs: %.80s (parse_special %d)\n", text, special);
        print_ids("got", ids, count);
    }
    free(ids);
    free(text);
}

static void check_file(const struct power_vocab *vocab, const char *name, const char *file,
                       const char *answer) {
    char path[512];
    snprintf(path, sizeof path, POWER_TEST_DATA "/golden/%s/%s", name, file);
    size_t length, passed = 0, total = 0;
    char *bytes = read_whole(path, &length), *at = bytes;
    assert_non_null(bytes);
    for (json_t *line; (line = next_json_line(&at)); json_decref(line))
        check_line(vocab, line, answer, &passed, &total);
    free(bytes);
    print_message("%s/%s: %zu of %zu\n", name, file, passed, total);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

static struct power_vocab *model_vocab(const char *file) {
    char path[512];
    power_error error;
    if (!cached_model(file, path, sizeof path)) {
        print_message("skipped: %s is not in the cache (tools/fetch-model gets it)\n", file);
        skip();
    }
    struct power_vocab *vocab = open_vocab(path, &error);
    if (!vocab) fail_msg("%s", error.message);
    return vocab;
}

static void check_ends(const struct power_vocab *vocab, const uint32_t *ids, uint32_t count) {
    const struct power_vocab_info *info = power_vocab_info(vocab);
    assert_int_equal(info->n_end_tokens, count);
    for (uint32_t i = 0; i < count; i++)
        assert_true(power_vocab_is_end(vocab, ids[i]));
}

static void test_qwen(void **state) {
    (void)state;
    struct power_vocab *vocab = model_vocab("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf");
    check_file(vocab, "qwen2.5-coder-0.5b", "tokenizer.jsonl", "ids");
    check_file(vocab, "qwen2.5-coder-0.5b", "tokenizer-disagreements.jsonl", "reference");
    check_ends(vocab, (uint32_t[]){151645, 151643}, 2);
    size_t length, passed = 0, total = 0;
    char *bytes = read_whole(POWER_TEST_DATA "/golden/qwen2.5-coder-0.5b/chat.jsonl", &length);
    char *at = bytes;
    assert_non_null(bytes);
    for (json_t *line; (line = next_json_line(&at)); json_decref(line)) {
        json_object_set_new(line, "parse_special", json_true());
        check_line(vocab, line, "ids", &passed, &total);
    }
    free(bytes);
    print_message("qwen chat ids: %zu of %zu\n", passed, total);
    assert_int_equal(passed, total);
    power_vocab_destroy(vocab);
}

static void test_gemma(void **state) {
    (void)state;
    struct power_vocab *vocab = model_vocab("gemma-3-270m-q4_k_m.gguf");
    check_file(vocab, "gemma-3-270m", "tokenizer.jsonl", "ids");
    check_file(vocab, "gemma-3-270m", "tokenizer-disagreements.jsonl", "reference");
    assert_int_equal(power_vocab_info(vocab)->bos, 2);
    assert_true(power_vocab_is_end(vocab, 1));
    assert_true(power_vocab_is_end(vocab, 106));
    power_vocab_destroy(vocab);
}

/* Texts separated by a line, ids a line each. */
static void check_pair(const char *name, size_t *out_total) {
    static const char mark[] = "\n__ggml_vocab_test__\n";
    char path[512];
    power_error error;
    size_t length, passed = 0, total = 0;
    snprintf(path, sizeof path, SHARED_DATA "/tokenizers/%s.gguf", name);
    struct power_vocab *vocab = open_vocab(path, &error);
    if (!vocab) fail_msg("%s: %s", name, error.message);
    snprintf(path, sizeof path, SHARED_DATA "/tokenizers/%s.gguf.inp", name);
    char *texts = read_whole(path, &length);
    snprintf(path, sizeof path, SHARED_DATA "/tokenizers/%s.gguf.out", name);
    char *answers = read_whole(path, &length);
    assert_non_null(texts);
    assert_non_null(answers);
    char *text = texts, *answer = answers;
    while (text) {
        char *end = strstr(text, mark);
        size_t n = end ? (size_t)(end - text) : strlen(text), count, seen = 0;
        uint32_t *ids = encode(vocab, (struct power_text){text, n}, false, false, &count);
        bool equal = true;
        char *line_end = answer + strcspn(answer, "\n");
        for (;;) {
            while (*answer == ' ')
                answer++;
            if (answer >= line_end) break;
            uint32_t want = (uint32_t)strtoul(answer, &answer, 10);
            equal = equal && seen < count && ids[seen] == want;
            seen++;
        }
        equal = equal && seen == count && gives_back(vocab, text, n, ids, count);
        if (!equal) print_message("  %s differs: %.*s\n", name, (int)n, text);
        if (!equal) print_ids("got", ids, count);
        passed += equal;
        total++;
        answer = line_end + (*line_end == '\n');
        text = end ? end + sizeof mark - 1 : NULL;
        free(ids);
    }
    free(texts);
    free(answers);
    power_vocab_destroy(vocab);
    print_message("tokenizers/%s: %zu of %zu\n", name, passed, total);
    assert_int_equal(passed, total);
    *out_total = total;
}

static void test_public(void **state) {
    (void)state;
    static const char *const names[] = {"gpt-2", "deepseek-coder", "llama-spm", "bert-bge"};
    if (access(SHARED_DATA "/tokenizers/gpt-2.gguf", R_OK) != 0) {
        print_message("skipped: ../shared/data/tokenizers is not there\n");
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t total;
        check_pair(names[i], &total);
        assert_true(total > 30);
    }
}

static bool check_prompts(const char *golden, const struct power_vocab *vocab, const char *name) {
    json_error_t json_error;
    json_t *doc = json_load_file(golden, 0, &json_error);
    if (!doc) return true;
    bool all = true;
    const json_t *prompts = json_object_get(doc, "prompts");
    for (size_t i = 0; i < json_array_size(prompts); i++) {
        const json_t *p = json_array_get(prompts, i), *text = json_object_get(p, "text");
        if (!json_is_string(text)) continue;
        size_t count;
        struct power_text t = {json_string_value(text), json_string_length(text)};
        uint32_t *ids = encode(vocab, t, true, true, &count);
        if (!ids_equal(json_object_get(p, "ids"), ids, count)) {
            print_message("  %s: prompt %zu differs\n", name, i);
            print_ids("got", ids, count);
            all = false;
        }
        free(ids);
    }
    json_decref(doc);
    return all;
}

/* Every tiny model there is, as GGUF and, where it lies beside, as SafeTensors. */
static void test_tiny(void **state) {
    (void)state;
    const char *folder = POWER_TEST_DATA "/tiny-models";
    if (access(SHARED_DATA "/tiny-models", R_OK) == 0) folder = SHARED_DATA "/tiny-models";
    DIR *dir = opendir(folder);
    if (!dir) {
        print_message("skipped: no tiny models\n");
        skip();
    }
    size_t passed = 0, total = 0, refused = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        static const char *const forms[] = {"model.gguf", "model.safetensors"};
        for (size_t f = 0; f < 2; f++) {
            char path[600], golden[600];
            power_error error;
            snprintf(path, sizeof path, "%s/%s/%s", folder, entry->d_name, forms[f]);
            snprintf(golden, sizeof golden, "%s/%s/golden.json", folder, entry->d_name);
            if (entry->d_name[0] == '.' || access(path, R_OK) != 0) continue;
            struct power_vocab *vocab = open_vocab(path, &error);
            if (!vocab && error.status == POWER_UNSUPPORTED) {
                print_message("  refused: %s: %s\n", entry->d_name, error.message);
                refused++;
                continue;
            }
            if (!vocab) fail_msg("%s: %s", path, error.message);
            total++;
            passed += check_prompts(golden, vocab, entry->d_name);
            power_vocab_destroy(vocab);
        }
    }
    closedir(dir);
    print_message("tiny models: %zu of %zu (%zu refused by name)\n", passed, total, refused);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

static struct power_vocab *case_vocab(const char *name, bool *absent) {
    char path[512];
    power_error error;
    if (strncmp(name, "cases/", 6) == 0)
        snprintf(path, sizeof path, POWER_TEST_DATA "/%s", name);
    else
        snprintf(path, sizeof path, SHARED_DATA "/tokenizers/%s.gguf", name);
    *absent = access(path, R_OK) != 0;
    if (*absent) return NULL;
    struct power_vocab *vocab = open_vocab(path, &error);
    if (!vocab && error.status != POWER_UNSUPPORTED) fail_msg("%s: %s", name, error.message);
    return vocab;
}

static bool check_case(const struct power_vocab *vocab, const json_t *c) {
    size_t length, count;
    char *text = text_of_case(c, &length);
    bool special = json_is_true(json_object_get(c, "parse_special"));
    bool add = json_is_true(json_object_get(c, "add_special"));
    uint32_t *ids = encode(vocab, (struct power_text){text, length}, special, add, &count);
    const json_t *want = json_object_get(c, "ids"), *runs = json_object_get(c, "ids_runs");
    const json_t *back = json_object_get(c, "decodes_to");
    bool equal = (!want || ids_equal(want, ids, count)) && (!runs || runs_equal(runs, ids, count));
    if (back) {
        struct power_buffer out = decode(vocab, ids, count, false);
        equal = equal && out.length == json_string_length(back) &&
                memcmp(out.bytes, json_string_value(back), out.length) == 0;
        power_buffer_finish(&out);
    }
    if (!equal) print_ids(json_string_value(json_object_get(c, "id")), ids, count);
    free(ids);
    free(text);
    return equal;
}

static void test_cases(void **state) {
    (void)state;
    json_error_t json_error;
    json_t *doc =
        json_load_file(POWER_TEST_DATA "/cases/tokenizer.json", JSON_ALLOW_NUL, &json_error);
    assert_non_null(doc);
    const json_t *cases = json_object_get(doc, "cases");
    size_t passed = 0, total = 0, absent = 0, refused = 0;
    char last[128] = "";
    struct power_vocab *vocab = NULL;
    bool missing = false;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const char *name = json_string_value(json_object_get(c, "vocab"));
        if (strcmp(name, last) != 0) {
            power_vocab_destroy(vocab);
            vocab = case_vocab(name, &missing);
            snprintf(last, sizeof last, "%s", name);
        }
        absent += missing;
        refused += !missing && !vocab;
        if (!vocab) continue;
        total++;
        passed += check_case(vocab, c);
    }
    power_vocab_destroy(vocab);
    json_decref(doc);
    print_message("cases/tokenizer.json: %zu of %zu (%zu of kinds not supported yet, %zu whose "
                  "vocabulary is absent)\n",
                  passed, total, refused, absent);
    assert_true(total > 0);
    assert_int_equal(passed, total);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qwen), cmocka_unit_test(test_gemma), cmocka_unit_test(test_public),
        cmocka_unit_test(test_tiny), cmocka_unit_test(test_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
