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

/* A piece in quotes: as JSON does, but bytes that are not UTF-8 as \xNN. The caller frees. */
static char *quoted(const char *piece, size_t length) {
    json_t *shown = json_stringn(piece, length);
    char *text = shown ? json_dumps(shown, JSON_ENCODE_ANY) : malloc(4 * length + 3);
    size_t n = 0;
    if (shown || !text) return json_decref(shown), text;
    text[n++] = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)piece[i];
        bool plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\';
        n += (size_t)sprintf(text + n, plain ? "%c" : "\\x%02x", c);
    }
    memcpy(text + n, "\"", 2);
    return text;
}

static json_t *piece_json(uint32_t id, const char *piece, size_t length) {
    json_t *object =
        json_pack("{s:I,s:o}", "id", (json_int_t)id, "piece", json_text(piece, length));
    json_t *whole = json_stringn(piece, length);
    if (!whole) { /* no UTF-8 by itself: the bytes, too */
        json_t *bytes = json_array();
        for (size_t i = 0; i < length; i++)
            json_array_append_new(bytes, json_integer((unsigned char)piece[i]));
        json_object_set_new(object, "bytes", bytes);
    }
    json_decref(whole);
    return object;
}

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
            json_array_append_new(list, piece_json(t->ids[i], piece, length));
            continue;
        }
        int n = snprintf(line, sizeof line, "%u\t", t->ids[i]);
        char *text = quoted(piece, length);
        bool written = text && buffer_out(line, (size_t)n) && buffer_out(text, strlen(text)) &&
                       buffer_out("\n", 1);
        free(text);
        if (!written) break;
    }
    if (t->json) return print_json(name, list);
    json_decref(list);
    write_out("", 0);
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

/* Ids separated by white space or commas. */
static int parse_ids(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_model_info info = {.struct_size = sizeof info};
    if (power_model_get_info(t->o.model, &info, &error)) return fail_with(name, &error);
    t->ids = malloc((t->bytes / 2 + 1) * sizeof *t->ids);
    if (!t->ids) return fail_text(name, "out of memory for ids");
    for (char *word = strtok(t->text, " \t\r\n,[]"); word; word = strtok(NULL, " \t\r\n,[]")) {
        uint64_t id;
        if (!args_unsigned(word, &id) || id >= UINT32_MAX)
            return fail_text(name, "\"%.40s\" is not a token id", word);
        if (id >= info.n_vocab)
            return fail_text(name, "token id %.40s, the vocabulary has %u", word, info.n_vocab);
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
        {ARG_TEXT, "file", 'f', "FILE", "text from a file (- is stdin, as without TEXT)", &file, 0,
         0},
        {ARG_FLAG, "parse-special", 0, NULL,
         "control tokens in the text are tokens; with -d, show them", &t.parse_special, 0, 0},
        {ARG_FLAG, "plain", 0, NULL, "add no BOS or EOS", &t.plain, 0, 0},
        {ARG_FLAG, "detokenize", 'd', NULL, "the text holds ids; print what they stand for",
         &t.detokenize, 0, 0},
        {ARG_FLAG, "json", 0, NULL, "print JSON", &t.json, 0, 0},
        {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    const char *positionals[2];
    size_t count = 0;
    int rc = args_parse(&command, args, argc, argv, positionals, &count);
    if (rc >= 0) return rc;
    if (count == 2 && file) return fail_text(name, "a text and --file were both given"), EXIT_USAGE;
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
