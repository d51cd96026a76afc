/* SPDX-License-Identifier: MIT */
/* Says of texts whether a constraint admits them, for scripts that know it otherwise.
 * Input: JSON lines {KIND: text, "texts": [...]}, KIND one of regex (with "dialect": "whole" or
 * "search"), format, gbnf, choices. Output: a line each: one 0 or 1 a text, or the name of the
 * status, a space and the message. Threads: one. Bounds: those of the library. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_vocab.h"
#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

static struct power_text text_of(const json_t *value) {
    return (struct power_text){json_string_value(value), json_string_length(value)};
}

static power_status make(const struct power_regular_space *space, const json_t *line,
                         struct power_regular *out, power_error *error) {
    const json_t *format = json_object_get(line, "format");
    const char *dialect = json_string_value(json_object_get(line, "dialect"));
    if (format) return power_regular_format(space, text_of(format), out, error);
    bool search = dialect && strcmp(dialect, "search") == 0;
    return power_regular_parse(space, text_of(json_object_get(line, "regex")),
                               search ? POWER_REGEX_SEARCH : POWER_REGEX_WHOLE, out, error);
}

static power_status ask_language(const json_t *line, char *answers, power_error *error) {
    struct power_arena arena;
    struct power_regular language;
    power_arena_init(&arena, &power_default_allocator, (size_t)64 << 20);
    const struct power_regular_space space = {&arena, 0};
    power_status status = make(&space, line, &language, error);
    const json_t *texts = json_object_get(line, "texts");
    for (size_t i = 0; status == POWER_OK && i < json_array_size(texts); i++)
        answers[i] = power_regular_contains(&language, text_of(json_array_get(texts, i)));
    power_arena_finish(&arena);
    return status;
}

static power_status ask_matcher(const struct power_grammar *grammar, const json_t *texts,
                                char *answers, power_error *error) {
    struct power_vocab *vocab = NULL;
    struct power_token_trie *trie = NULL;
    struct power_matcher *matcher = NULL;
    power_status status = byte_vocab_create(&vocab, error);
    if (status == POWER_OK)
        status = power_token_trie_create(&power_default_allocator, vocab, &trie, error);
    if (status == POWER_OK)
        status =
            power_matcher_create(&power_default_allocator, grammar, trie, NULL, &matcher, error);
    for (size_t i = 0; status == POWER_OK && i < json_array_size(texts); i++) {
        bool accepts = false;
        status = power_matcher_accepts(matcher, text_of(json_array_get(texts, i)), &accepts, error);
        answers[i] = accepts;
    }
    power_matcher_destroy(matcher);
    power_token_trie_destroy(trie);
    power_vocab_destroy(vocab);
    return status;
}

static power_status ask_grammar(const json_t *line, char *answers, power_error *error) {
    struct power_grammar *g = NULL;
    power_expr root = 0;
    const json_t *gbnf = json_object_get(line, "gbnf");
    power_status status = power_grammar_create(&power_default_allocator, NULL, &g, error);
    if (status == POWER_OK && gbnf) status = power_gbnf_compile(g, text_of(gbnf), &root, error);
    if (status == POWER_OK && !gbnf)
        status = power_choice_compile(g, text_of(json_object_get(line, "choices")), &root, error);
    if (status == POWER_OK) status = power_grammar_freeze(g, root, error);
    if (status == POWER_OK) status = ask_matcher(g, json_object_get(line, "texts"), answers, error);
    power_grammar_destroy(g);
    return status;
}

static void answer(const json_t *line) {
    power_error error = {0};
    size_t n = json_array_size(json_object_get(line, "texts"));
    char *answers = calloc(n + 1, 1);
    bool regular = json_object_get(line, "regex") || json_object_get(line, "format");
    power_status status = !answers  ? POWER_NO_MEMORY
                          : regular ? ask_language(line, answers, &error)
                                    : ask_grammar(line, answers, &error);
    for (size_t i = 0; answers && i < n; i++)
        answers[i] = answers[i] ? '1' : '0';
    if (status == POWER_OK)
        puts(answers);
    else
        printf("%s %s\n", power_status_name(status), error.message);
    free(answers);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *value = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!value) return 1;
        answer(value);
        json_decref(value);
        fflush(stdout);
    }
    free(line);
    return 0;
}
