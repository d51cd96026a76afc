/* SPDX-License-Identifier: MIT */
/* Judges texts by schemas, for the scripts of this folder.
 * Input: lines of JSON on stdin: {"schema": text, "texts": [...], "walks": n, "seed": n,
 * "any_order", "whitespace": "compact" | "free"}. Output: a line each: {"status", "message",
 * "accepts": [...], "walks": [...]}; a walk is a text that was put together from admitted bytes,
 * null when it had no end within its length. Threads: one. Bounds: the script's. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "byte_vocab.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

enum { WALK_BYTES = 4000 };

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool allows(const uint64_t *mask, uint32_t id) {
    return (mask[id >> 6] >> (id & 63) & 1) != 0;
}

/* A byte that is admitted; towards the end those that close something. */
static uint32_t choose(const uint64_t *mask, uint64_t *random, size_t length) {
    static const char closing[] = "\"]}0";
    bool close = next_random(random) % 100 < (length > 200 ? 90u : 25u);
    for (size_t i = 0; close && i < sizeof closing - 1; i++)
        if (allows(mask, (unsigned char)closing[i])) return (unsigned char)closing[i];
    bool ascii = next_random(random) % 8 != 0;
    uint32_t ids[256], n = 0;
    for (uint32_t id = 0; id < 256; id++)
        if (allows(mask, id) && (!ascii || id < 128)) ids[n++] = id;
    for (uint32_t id = 0; id < 256 && n == 0; id++)
        if (allows(mask, id)) ids[n++] = id;
    return n ? ids[next_random(random) % n] : BYTE_VOCAB_END;
}

static json_t *walk(struct power_matcher *matcher, uint64_t *random) {
    char text[WALK_BYTES];
    size_t n = 0;
    struct power_match match = power_matcher_start(matcher);
    power_error error = {0};
    bool ended = false;
    while (n < WALK_BYTES) {
        const uint64_t *mask;
        uint32_t count, only;
        if (power_matcher_mask(matcher, match, &mask, &count, &only, &error) != POWER_OK) break;
        bool end = allows(mask, BYTE_VOCAB_END);
        if (end != power_matcher_can_end(matcher, match)) break;
        if (end && (count == 1 || next_random(random) % 2 == 0)) {
            ended = true;
            break;
        }
        uint32_t id = choose(mask, random, n);
        if (power_matcher_accept(matcher, &match, id, &error) != POWER_OK) break;
        text[n++] = (char)id;
    }
    power_matcher_release(matcher, match);
    if (error.status != POWER_OK) return json_pack("{s:s}", "error", error.message);
    return ended ? json_stringn(text, n) : json_null();
}

static void judge(struct power_matcher *matcher, const json_t *line, json_t *out) {
    json_t *accepts = json_array(), *walks = json_array();
    const json_t *texts = json_object_get(line, "texts");
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        struct power_text bytes = {json_string_value(text), json_string_length(text)};
        power_error error = {0};
        bool good = false;
        if (power_matcher_accepts(matcher, bytes, &good, &error) != POWER_OK)
            json_array_append_new(accepts, json_string(error.message));
        else
            json_array_append_new(accepts, json_boolean(good));
    }
    uint64_t random = (uint64_t)json_integer_value(json_object_get(line, "seed"));
    json_int_t n = json_integer_value(json_object_get(line, "walks"));
    for (json_int_t i = 0; i < n; i++)
        json_array_append_new(walks, walk(matcher, &random));
    json_object_set_new(out, "accepts", accepts);
    json_object_set_new(out, "walks", walks);
}

static struct power_schema_options options_of(const json_t *line) {
    const char *spacing = json_string_value(json_object_get(line, "whitespace"));
    struct power_schema_options options = {.any_order =
                                               json_is_true(json_object_get(line, "any_order"))};
    if (spacing && strcmp(spacing, "compact") == 0) options.whitespace = POWER_WHITESPACE_COMPACT;
    if (spacing && strcmp(spacing, "free") == 0) options.whitespace = POWER_WHITESPACE_FREE;
    return options;
}

static power_status answer(const struct power_token_trie *trie, const json_t *line, json_t *out,
                           power_error *error) {
    const json_t *schema = json_object_get(line, "schema");
    struct power_text text = {json_string_value(schema), json_string_length(schema)};
    struct power_schema_options options = options_of(line);
    struct power_grammar *grammar = NULL;
    struct power_matcher *matcher = NULL;
    power_expr root = 0;
    power_status status = power_grammar_create(&power_default_allocator, NULL, &grammar, error);
    if (status == POWER_OK) status = power_schema_compile(grammar, text, &options, &root, error);
    if (status == POWER_OK) status = power_grammar_freeze(grammar, root, error);
    if (status == POWER_OK)
        status =
            power_matcher_create(&power_default_allocator, grammar, trie, NULL, &matcher, error);
    if (status == POWER_OK) judge(matcher, line, out);
    power_matcher_destroy(matcher);
    power_grammar_destroy(grammar);
    return status;
}

int main(void) {
    struct power_vocab *vocab = NULL;
    struct power_token_trie *trie = NULL;
    power_error error = {0};
    power_status status = byte_vocab_create(&vocab, &error);
    if (status == POWER_OK)
        status = power_token_trie_create(&power_default_allocator, vocab, &trie, &error);
    if (status != POWER_OK) {
        fprintf(stderr, "schema_judge: %s\n", error.message);
        return 1;
    }
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_error_t broken;
        json_t *request = json_loads(line, JSON_ALLOW_NUL, &broken), *out = json_object();
        if (!request) return 1;
        error = (power_error){0};
        status = answer(trie, request, out, &error);
        json_object_set_new(out, "status", json_string(power_status_name(status)));
        json_object_set_new(out, "message", json_string(error.message));
        char *text = json_dumps(out, JSON_COMPACT);
        puts(text);
        fflush(stdout);
        free(text);
        json_decref(request);
        json_decref(out);
    }
    free(line);
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
    return 0;
}
