/* SPDX-License-Identifier: MIT */
/* The options that constrain an answer: --schema, --grammar, --regex, --choice and what goes with
 * them.
 * Input: files and texts. Output: an open constraint in the options of a call. Owning thread: main.
 * Bounds: one constraint; files up to TEXT_MAX. */
#include "common.h"

#include "text/answer/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

void add_constraint_args(struct arg_table *table, struct constraint_args *c) {
    const struct arg list[] = {
        {ARG_GROUP, NULL, 0, NULL, "constraint (one of the first four)", NULL, 0, 0},
        {ARG_TEXT, "schema", 0, "FILE", "the answer is JSON that this JSON Schema describes",
         &c->schema, 0, 0},
        {ARG_TEXT, "grammar", 0, "FILE", "the answer is a text of this GBNF grammar", &c->grammar,
         0, 0},
        {ARG_TEXT, "regex", 0, "R", "the whole answer matches this regular expression", &c->regex,
         0, 0},
        {ARG_LIST, "choice", 0, "TEXT", "the answer is one of these texts; may be repeated",
         &c->choices, 0, 0},
        {ARG_FLAG, "any-order", 0, NULL,
         "properties of a schema in any order (default: as declared)", &c->any_order, 0, 0},
        {ARG_TEXT, "json-space", 0, "HOW",
         "white space in JSON: bounded, compact or free (default: bounded)", &c->space, 0, 0},
        {ARG_U32, "any-depth", 0, "N", "nesting of values that a schema leaves free (default: 16)",
         &c->any_depth, 1, 256},
        {ARG_U32, "leading-space", 0, "N",
         "bytes of white space allowed before the answer (default: 0)", &c->leading_space, 0, 64},
        {ARG_TEXT, "constraint-after", 0, "TEXT",
         "begin after this text; \"\": at once (default: after the model's reasoning)", &c->after,
         0, 0}};
    args_extend(table, list, COUNT(list));
}

static int usage(const char *command, const char *text) {
    fail_text(command, "%s", text);
    return EXIT_USAGE;
}

int check_constraint_args(const char *command, const struct constraint_args *c) {
    int kinds =
        (c->schema != NULL) + (c->grammar != NULL) + (c->regex != NULL) + (c->choices.count != 0);
    const char *space = c->space ? c->space : "bounded";
    if (kinds > 1)
        return usage(command, "--schema, --grammar, --regex and --choice exclude each other");
    if (!c->schema && (c->any_order || c->space || c->any_depth))
        return usage(command, "--any-order, --json-space and --any-depth belong to --schema");
    if (!kinds && (c->leading_space || c->after))
        return usage(command, "--leading-space and --constraint-after belong to a constraint");
    if (strcmp(space, "bounded") != 0 && strcmp(space, "compact") != 0 &&
        strcmp(space, "free") != 0) {
        fail_text(command, "wrong value \"%.40s\" for --json-space, want bounded, compact or free",
                  space);
        return EXIT_USAGE;
    }
    return -1;
}

bool has_constraint(const struct constraint_args *c) {
    return c->schema || c->grammar || c->regex || c->choices.count;
}

/* The choices as a JSON array; the caller frees. */
static char *choices_json(const struct arg_list *choices) {
    json_t *list = json_array();
    for (size_t i = 0; i < choices->count; i++)
        json_array_append_new(list, json_string(choices->items[i]));
    bool whole = json_array_size(list) == choices->count;
    char *text = whole ? json_dumps(list, 0) : NULL;
    json_decref(list);
    return text;
}

static int read_constraint(const char *command, const struct constraint_args *c, char **out,
                           size_t *out_bytes, power_constraint_kind *out_kind) {
    const char *file = c->schema ? c->schema : c->grammar;
    *out_kind = c->schema ? POWER_CONSTRAINT_SCHEMA : POWER_CONSTRAINT_GRAMMAR;
    if (file) return read_text(command, file, out, out_bytes);
    *out_kind = c->regex ? POWER_CONSTRAINT_REGEX : POWER_CONSTRAINT_CHOICE;
    *out = c->regex ? strdup(c->regex) : choices_json(&c->choices);
    if (!*out) return fail_text(command, "a choice is not UTF-8, or there is no memory");
    *out_bytes = strlen(*out);
    return -1;
}

static power_json_space space_of(const char *text) {
    if (text && !strcmp(text, "compact")) return POWER_JSON_SPACE_COMPACT;
    if (text && !strcmp(text, "free")) return POWER_JSON_SPACE_FREE;
    return POWER_JSON_SPACE_BOUNDED;
}

/* Names the file in front: the message itself has line, column, pointer or offset. */
static int fail_constraint(const char *command, const struct constraint_args *c,
                           const power_error *error) {
    const char *what = c->schema    ? c->schema
                       : c->grammar ? c->grammar
                       : c->regex   ? "--regex"
                                    : "--choice";
    return fail_text(command, "%s: %s", what, error->message);
}

int open_constraint(const char *command, const struct constraint_args *c, power_model *model,
                    power_constraint **out) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_constraint_options options;
    char *text = NULL;
    size_t bytes = 0;
    power_constraint_options_init(&options);
    if (!has_constraint(c)) return -1;
    int rc = read_constraint(command, c, &text, &bytes, &options.kind);
    if (rc >= 0) return rc;
    options.any_order = c->any_order;
    options.any_depth = c->any_depth;
    options.leading_space = c->leading_space;
    options.space = space_of(c->space);
    if (power_constraint_open(model, text, bytes, &options, out, &error))
        rc = fail_constraint(command, c, &error);
    free(text);
    return rc;
}

static bool has(struct power_text text, const char *word) {
    return text.length && memmem(text.bytes, text.length, word, strlen(word)) != NULL;
}

/* Whether a prompt ends with the closing mark: nothing is left to think. */
static bool is_closed(struct power_text prompt, struct power_text close) {
    size_t end = prompt.length;
    while (end && strchr(" \t\r\n", prompt.bytes[end - 1]))
        end--;
    return end >= close.length &&
           !memcmp(prompt.bytes + end - close.length, close.bytes, close.length);
}

bool reasoning_end(const char *chat_template, const char *prompt, size_t prompt_bytes, char *out,
                   size_t capacity) {
    struct power_text template = power_text_of(chat_template), open, close;
    struct power_text text = {prompt, prompt_bytes};
    struct power_answer_format format = power_answer_format_of(template);
    power_answer_reasoning_marks(&format, &open, &close);
    if (close.length == 0 || is_closed(text, close)) return false;
    if (power_text_equal(close, POWER_TEXT("<|end|>"))) { /* harmony: channels, in any order */
        close = POWER_TEXT("<|channel|>final<|message|>");
    } else if (!power_answer_reasoning_is_open(&format, text) &&
               !has(template, "enable_thinking")) {
        return false;
    }
    if (close.length >= capacity) return false;
    memcpy(out, close.bytes, close.length);
    out[close.length] = 0;
    return true;
}
