/* SPDX-License-Identifier: MIT */
/* power tokenize: text to ids and back. Input: a model, a text or ids. Output: ids, places and
 * pieces, or text. Owning thread: main. Bounds: texts up to TEXT_MAX. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "tokenize";

struct tokenize {
    struct opened o;
    struct model_args m;
    const char *file;
    int parse_special, no_parse_special, plain, detokenize, replace, json;
    char *text;
    size_t bytes;
    uint32_t *ids;
    power_token_place *places;
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

static json_t *piece_json(const struct tokenize *t, size_t i, const char *piece, size_t length) {
    json_t *object = json_pack("{s:I,s:o,s:I,s:I}", "id", (json_int_t)t->ids[i], "piece",
                               json_text(piece, length), "start", (json_int_t)t->places[i].start,
                               "end", (json_int_t)t->places[i].end);
    json_t *whole = json_stringn(piece, length);
    if (!whole) { /* no UTF-8 by itself: the bytes, too */
        json_t *bytes = json_array();
        for (size_t k = 0; k < length; k++)
            json_array_append_new(bytes, json_integer((unsigned char)piece[k]));
        json_object_set_new(object, "bytes", bytes);
    }
    json_decref(whole);
    return object;
}

/* One line: the id, its piece, the bytes [start, end) of the text that it stands for. */
static bool print_line(const struct tokenize *t, size_t i, const char *piece, size_t length) {
    char id[16], place[32];
    int n = snprintf(id, sizeof id, "%u\t", t->ids[i]);
    int m = snprintf(place, sizeof place, "\t%u-%u\n", t->places[i].start, t->places[i].end);
    char *text = quoted(piece, length);
    bool written = text && buffer_out(id, (size_t)n) && buffer_out(text, strlen(text)) &&
                   buffer_out(place, (size_t)m);
    free(text);
    return written;
}

static int print_ids(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    json_t *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const char *piece = NULL;
        size_t length = 0;
        if (power_token_bytes(t->o.model, t->ids[i], &piece, &length, &error)) {
            json_decref(list);
            return fail_with(name, &error);
        }
        if (t->json)
            json_array_append_new(list, piece_json(t, i, piece, length));
        else if (!print_line(t, i, piece, length))
            break;
    }
    if (t->json) return print_json(name, list);
    json_decref(list);
    write_out("", 0);
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

static int replace_invalid(struct tokenize *t) {
    char *out = malloc(3 * t->bytes + 1);
    if (!out) return fail_text(name, "out of memory for the text");
    size_t n = whole_characters(t->text, t->bytes, out);
    out[n] = 0;
    free(t->text);
    t->text = out;
    t->bytes = n;
    return -1;
}

static int tokenize(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_status status = POWER_LIMIT;
    for (size_t capacity = t->bytes + 16; status == POWER_LIMIT; capacity = t->count) {
        free(t->ids);
        free(t->places);
        t->ids = calloc(capacity, sizeof *t->ids);
        t->places = calloc(capacity, sizeof *t->places);
        if (!t->ids || !t->places) return fail_text(name, "out of memory for %zu tokens", capacity);
        t->count = 0;
        status = power_tokenize_places(t->o.model, t->text, t->bytes, !t->plain, t->parse_special,
                                       t->ids, t->places, capacity, &t->count, &error);
        if (t->count <= capacity) break;
    }
    return status ? fail_with(name, &error) : -1;
}

/* Ids separated by white space or commas. */
static int parse_ids(struct tokenize *t) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_model_info info = {.struct_size = sizeof info};
    if (power_model_get_info(t->o.model, &info, &error)) return fail_with(name, &error);
    if (memchr(t->text, 0, t->bytes)) return fail_text(name, "the ids hold a NUL byte");
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

static int take_text(struct tokenize *t, size_t count, const char **positionals) {
    if (count == 2 && t->file)
        return fail_text(name, "a text and --file were both given"), EXIT_USAGE;
    if (count < 2) return read_text(name, t->file ? t->file : "-", &t->text, &t->bytes);
    t->text = strdup(positionals[1]);
    t->bytes = t->text ? strlen(t->text) : 0;
    return t->text ? -1 : fail_text(name, "out of memory for the text");
}

static int work(struct tokenize *t) {
    int rc = t->detokenize ? parse_ids(t) : t->replace ? replace_invalid(t) : -1;
    if (rc >= 0) return rc;
    if (t->detokenize) return print_text(t);
    rc = tokenize(t);
    return rc < 0 ? print_ids(t) : rc;
}

int command_tokenize(int argc, char **argv) {
    static const struct command command = {"tokenize",
                                           "MODEL [TEXT]",
                                           "Shows the tokens of a text, or the text of token ids.",
                                           "power tokenize model.gguf \"Hello, world\"",
                                           1,
                                           2};
    struct tokenize t = {0};
    model_args_init(&t.m);
    const struct arg args[] = {
        {ARG_TEXT, "file", 'f', "FILE", "text from a file (- is stdin, as without TEXT)", &t.file,
         0, 0},
        {ARG_FLAG, "parse-special", 0, NULL,
         "control tokens in the text are tokens; with -d, show them", &t.parse_special, 0, 0},
        {ARG_FLAG, "no-parse-special", 0, NULL, "control tokens are plain text (default)",
         &t.no_parse_special, 0, 0},
        {ARG_FLAG, "plain", 0, NULL, "add no BOS or EOS", &t.plain, 0, 0},
        {ARG_FLAG, "detokenize", 'd', NULL, "the text holds ids; print what they stand for",
         &t.detokenize, 0, 0},
        {ARG_TEXT, "pre", 0, "NAME", "pre-tokenizer by name (default: the one the file names)",
         &t.m.pre, 0, 0},
        {ARG_FLAG, "replace-invalid", 0, NULL,
         "bytes that are not UTF-8 become U+FFFD (default: an error); places count these",
         &t.replace, 0, 0},
        {ARG_FLAG, "json", 0, NULL, "print JSON", &t.json, 0, 0},
        {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    const char *positionals[2];
    size_t count = 0;
    int rc = args_parse(&command, args, argc, argv, positionals, &count);
    if (rc >= 0) return rc;
    if (t.parse_special && t.no_parse_special)
        return fail_text(name, "--parse-special and --no-parse-special were both given"),
               EXIT_USAGE;
    if (t.detokenize && (t.plain || t.replace || t.m.pre))
        return fail_text(name, "--detokenize excludes --plain, --replace-invalid and --pre"),
               EXIT_USAGE;
    rc = take_text(&t, count, positionals);
    if (rc < 0) rc = open_model(name, &t.m, positionals[0], true, &t.o);
    if (rc < 0) rc = work(&t);
    close_all(&t.o);
    free(t.ids);
    free(t.places);
    free(t.text);
    return rc;
}
