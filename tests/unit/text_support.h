/* SPDX-License-Identifier: MIT */
/* What the tests of src/text share: files, JSON lines, vocabularies of files that may be absent. */
#ifndef POWER_TESTS_TEXT_SUPPORT_H
#define POWER_TESTS_TEXT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "text/vocab.h"

#define SHARED_DATA POWER_SOURCE_DIR "/../shared/data"

/* The whole file with a NUL behind; NULL when it can't be read. Caller frees. */
static inline char *read_whole(const char *path, size_t *out_length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)length + 1);
    size_t got = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    fclose(file);
    if (!bytes || got != (size_t)length) {
        free(bytes);
        return NULL;
    }
    bytes[length] = 0;
    *out_length = (size_t)length;
    return bytes;
}

/* The next line of a JSON-lines text, NULL at the end. */
static inline json_t *next_json_line(char **at) {
    while (**at == '\n')
        (*at)++;
    if (!**at) return NULL;
    size_t length = strcspn(*at, "\n");
    json_error_t error;
    json_t *line = json_loadb(*at, length, JSON_ALLOW_NUL, &error);
    if (!line) fail_msg("bad JSON line: %s", error.text);
    *at += length;
    return line;
}

/* Path of a real model in the cache; false when it is not there. */
static inline bool cached_model(const char *name, char *path, size_t room) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache)
        snprintf(path, room, "%s/power/models/%s", cache, name);
    else
        snprintf(path, room, "%s/.cache/power/models/%s", home ? home : "", name);
    return access(path, R_OK) == 0;
}

static inline struct power_vocab *open_vocab(const char *path, power_error *error) {
    struct power_source_options options = {.use_mmap = true};
    struct power_source *source = NULL;
    struct power_vocab *vocab = NULL;
    *error = (power_error){0};
    if (power_source_open(&power_default_allocator, path, &options, &source, error) != POWER_OK)
        return NULL;
    if (power_vocab_create(&power_default_allocator, source, &vocab, error) != POWER_OK)
        vocab = NULL;
    power_source_close(source);
    return vocab;
}

/* The vocabulary of a tokenizer.json; NULL when it is refused. */
static inline struct power_vocab *vocab_of_json(const char *json, power_error *error) {
    struct power_source source = {.allocator = &power_default_allocator,
                                  .container = POWER_CONTAINER_SAFETENSORS,
                                  .tokenizer_json = power_text_of(json)};
    struct power_vocab *vocab = NULL;
    *error = (power_error){0};
    power_status status = power_vocab_create(&power_default_allocator, &source, &vocab, error);
    assert_int_equal(status, error->status);
    return vocab;
}

static inline struct power_vocab *need_vocab(const char *json) {
    power_error error;
    struct power_vocab *vocab = vocab_of_json(json, &error);
    if (!vocab) fail_msg("%s", error.message);
    return vocab;
}

/* Ids of a text; caller frees. */
static inline uint32_t *encode(const struct power_vocab *vocab, struct power_text text,
                               bool parse_special, bool add_special, size_t *out_count) {
    struct power_tokenize_options options = {.parse_special = parse_special,
                                             .add_special = add_special};
    size_t capacity = text.length + 8;
    uint32_t *ids = malloc(capacity * sizeof *ids);
    power_error error = {0};
    power_status status =
        power_vocab_encode(vocab, text, &options, ids, capacity, out_count, &error);
    if (status != POWER_OK) fail_msg("encode: %s", error.message);
    return ids;
}

/* {"text": ... or {"repeat": [unit, count]}} or {"text_repeat": [unit, count]} as bytes; caller
 * frees. */
static inline char *text_of_case(const json_t *line, size_t *out_length) {
    const json_t *text = json_object_get(line, "text"), *repeat = json_object_get(line, "repeat");
    if (!repeat) repeat = json_object_get(line, "text_repeat");
    if (json_is_object(text)) repeat = json_object_get(text, "repeat");
    const json_t *unit = repeat ? json_array_get(repeat, 0) : text;
    size_t times = repeat ? (size_t)json_integer_value(json_array_get(repeat, 1)) : 1;
    size_t n = json_string_length(unit);
    char *bytes = malloc(n * times + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(bytes + i * n, json_string_value(unit), n);
    *out_length = n * times;
    return bytes;
}

static inline bool ids_equal(const json_t *array, const uint32_t *ids, size_t count) {
    if (json_array_size(array) != count) return false;
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)json_integer_value(json_array_get(array, i)) != ids[i]) return false;
    }
    return true;
}

/* [[id or [ids], times], ...] */
static inline bool runs_equal(const json_t *runs, const uint32_t *ids, size_t count) {
    size_t at = 0;
    for (size_t r = 0; r < json_array_size(runs); r++) {
        const json_t *run = json_array_get(runs, r), *what = json_array_get(run, 0);
        json_int_t times = json_integer_value(json_array_get(run, 1));
        size_t n = json_is_array(what) ? json_array_size(what) : 1;
        for (json_int_t t = 0; t < times; t++) {
            for (size_t i = 0; i < n; i++, at++) {
                const json_t *id = json_is_array(what) ? json_array_get(what, i) : what;
                if (at >= count || ids[at] != (uint32_t)json_integer_value(id)) return false;
            }
        }
    }
    return at == count;
}

static inline void print_ids(const char *label, const uint32_t *ids, size_t count) {
    print_message("  %s:", label);
    for (size_t i = 0; i < count && i < 40; i++)
        print_message(" %u", ids[i]);
    print_message("\n");
}

/* IDS(1, 2) stands for the last two arguments of expect_ids. */
#define IDS(...)                                                                                   \
    (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static inline void expect_ids(const struct power_vocab *vocab, const char *text, bool parse,
                              bool add, const uint32_t *want, size_t n) {
    size_t count;
    uint32_t *ids = encode(vocab, power_text_of(text), parse, add, &count);
    bool equal = count == n && (n == 0 || memcmp(ids, want, n * sizeof *ids) == 0);
    if (!equal) print_ids(text, ids, count);
    free(ids);
    assert_true(equal);
}

/* The text that ids give back; caller finishes the buffer. */
static inline struct power_buffer decode(const struct power_vocab *vocab, const uint32_t *ids,
                                         size_t count, bool show_special) {
    struct power_buffer out;
    power_buffer_init(&out, &power_default_allocator, (size_t)1 << 28);
    struct power_detokenizer d;
    power_error error = {0};
    power_detokenizer_init(&d, vocab, show_special);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(power_detokenizer_push(&d, ids[i], &out, &error), POWER_OK);
    assert_int_equal(power_detokenizer_finish(&d, &out, &error), POWER_OK);
    return out;
}

#endif
