/* SPDX-License-Identifier: MIT */
/* power tokenize: text to ids and back. Input: a model, a text or ids. Output: ids and pieces, or
 * text. Owning thread: main. Bounds: texts up to TEXT_MAX. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "tokenize";

struct tokenize {
    struct opened o;
    int parse_special, plain, detokenize, json;
    char *text;
    size_t bytes;
    uint32_t *ids;
    size_t count;
};

static int print_ids(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    json_t *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const char *piece;
        size_t length;
        char line[64];
        if (power_token_bytes(t->o.model, t->ids[i], &piece, &length, &error)) {
            json_decref(list);
            return fail_with(name, &error);
        }
        if (t->json) {
            json_array_append_new(list, json_pack("{s:I,s:o}", "id", (json_int_t)t->ids[i], "piece",
                                                  json_text(piece, length)));
            continue;
        }
        int n = snprintf(line, sizeof line, "%u\t", t->ids[i]);
        char *quoted = NULL;
        json_t *shown = json_text(piece, length);
        if (shown) quoted = json_dumps(shown, JSON_ENCODE_ANY);
        json_decref(shown);
        bool written = quoted && write_out(line, (size_t)n) && write_out(quoted, strlen(quoted)) &&
                       write_out("\n", 1);
        free(quoted);
        if (!written) break;
    }
    if (t->json) return print_json(name, list);
    json_decref(list);
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

/* Ids separated by white space or commas. */
static int parse_ids(struct tokenize *t) {
    t->ids = malloc((t->bytes / 2 + 1) * sizeof *t->ids);
    if (!t->ids) return fail_text(name, "out of memory for ids");
    for (char *word = strtok(t->text, " \t\r\n,[]"); word; word = strtok(NULL, " \t\r\n,[]")) {
        uint64_t id;
        if (!args_unsigned(word, &id) || id >= UINT32_MAX)
            return fail_text(name, "\"%.40s\" is not a token id", word);
        t->ids[t->count++] = (uint32_t)id;
    }
    return -1;
}

static int print_text(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    size_t bytes = 0;
    power_status status =
        power_detokenize(t->o.model, t->ids, t->count, t->parse_special, NULL, 0, &bytes, &error);
    if (status && status != POWER_LIMIT) return fail_with(name, &error);
    char *text = malloc(bytes + 1);
    if (!text) return fail_text(name, "out of memory for the text");
    status = power_detokenize(t->o.model, t->ids, t->count, t->parse_special, text, bytes + 1,
                              &bytes, &error);
    int rc = EXIT_OK;
    if (status) {
        rc = fail_with(name, &error);
    } else if (t->json) {
        rc = print_json(name, json_pack("{s:o}", "text", json_text(text, bytes)));
    } else if (!write_out(text, bytes) || !write_out("\n", 1)) {
        rc = write_failed(name);
    }
    free(text);
    return rc;
}

int command_tokenize(int argc, char **argv) {
    static const struct command command = {"tokenize",
                                           "MODEL [TEXT]",
                                           "Shows the tokens of a text, or the text of token ids.",
                                           "power tokenize model.gguf \"Hello, world\"",
                                           1,
                                           2};
    struct tokenize t = {0};
    struct model_args m;
    const char *file = NULL;
    model_args_init(&m);
    const struct arg args[] = {
        {ARG_TEXT, "file", 'f', "FILE", "text from a file (default: stdin)", &file, 0, 0},
        {ARG_FLAG, "parse-special", 0, NULL, "control tokens in the text are tokens",
         &t.parse_special, 0, 0},
        {ARG_FLAG, "plain", 0, NULL, "add no BOS or EOS", &t.plain, 0, 0},
        {ARG_FLAG, "detokenize", 'd', NULL, "the text holds ids; print what they stand for",
         &t.detokenize, 0, 0},
        {ARG_FLAG, "json", 0, NULL, "print JSON", &t.json, 0, 0},
        {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    const char *positionals[2];
    size_t count = 0;
    int rc = args_parse(&command, args, argc, argv, positionals, &count);
    if (rc >= 0) return rc;
    if (count == 2) {
        t.text = strdup(positionals[1]);
        t.bytes = t.text ? strlen(t.text) : 0;
        if (!t.text) rc = fail_text(name, "out of memory for the text");
    } else {
        rc = read_text(name, file ? file : "-", &t.text, &t.bytes);
    }
    if (rc < 0) rc = open_model(name, &m, positionals[0], true, &t.o);
    if (rc < 0 && t.detokenize) {
        rc = parse_ids(&t);
        if (rc < 0) rc = print_text(&t);
    } else if (rc < 0) {
        rc = tokenize_text(name, t.o.model, t.text, t.bytes, !t.plain, t.parse_special, &t.ids,
                           &t.count);
        if (rc < 0) rc = print_ids(&t);
    }
    close_all(&t.o);
    free(t.ids);
    free(t.text);
    return rc;
}
