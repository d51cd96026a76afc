/* SPDX-License-Identifier: MIT */
/* The tokenizer of a file as a program for scripts. usage: tokenize_lines FILE [FLAGS]
 * FILE is a GGUF file, a tokenizer.json or a tokenizer.model. FLAGS: p parse control tokens, a add
 * BOS and EOS, s show places, d show the text that the ids give back.
 * Input: texts, each after its length as 32 bits, little-endian. Output: a line of ids for each
 * ("! message" for an error), then a line start:end for each id (s) and the text in hex (d).
 * Bounds: texts of 16 MiB. */
#include <stdio.h>
#include <stdlib.h>

#include "text/vocab.h"

#define MAX_TEXT ((size_t)16 << 20)

static char *read_whole(const char *path, size_t *out_length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
    long length = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)length + 1);
    if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) return NULL;
    fclose(file);
    *out_length = (size_t)length;
    return bytes;
}

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static struct power_vocab *open_file(const char *path) {
    power_error error = {0};
    struct power_vocab *vocab = NULL;
    struct power_source *source = NULL;
    size_t length = 0;
    if (ends_with(path, ".json") || ends_with(path, ".model")) {
        char *bytes = read_whole(path, &length);
        struct power_source made = {.allocator = &power_default_allocator,
                                    .container = POWER_CONTAINER_SAFETENSORS};
        if (ends_with(path, ".json")) made.tokenizer_json = (struct power_text){bytes, length};
        if (ends_with(path, ".model")) made.tokenizer_model = (struct power_text){bytes, length};
        if (bytes && power_vocab_create(&power_default_allocator, &made, &vocab, &error))
            vocab = NULL;
        free(bytes);
    } else {
        struct power_source_options options = {.use_mmap = true};
        if (power_source_open(&power_default_allocator, path, &options, &source, &error) ==
                POWER_OK &&
            power_vocab_create(&power_default_allocator, source, &vocab, &error) != POWER_OK)
            vocab = NULL;
        power_source_close(source);
    }
    if (!vocab) fprintf(stderr, "%s: %s\n", path, error.message);
    return vocab;
}

static void print_decoded(const struct power_vocab *vocab, const uint32_t *ids, size_t count) {
    struct power_detokenizer d;
    struct power_buffer out;
    power_error error;
    power_buffer_init(&out, &power_default_allocator, MAX_TEXT * 8);
    power_detokenizer_init(&d, vocab, true);
    for (size_t i = 0; i < count; i++)
        if (power_detokenizer_push(&d, ids[i], &out, &error) != POWER_OK) break;
    if (power_detokenizer_finish(&d, &out, &error) != POWER_OK) printf("! %s", error.message);
    for (size_t i = 0; i < out.length; i++)
        printf("%02x", (unsigned char)out.bytes[i]);
    printf("\n");
    power_buffer_finish(&out);
}

static void print_text(const struct power_vocab *vocab, struct power_text text, const char *flags) {
    size_t capacity = text.length * 4 + 16, count = 0;
    uint32_t *ids = malloc(capacity * sizeof *ids);
    power_token_place *spans = malloc(capacity * sizeof *spans);
    struct power_tokenize_options options = {.parse_special = strchr(flags, 'p') != NULL,
                                             .add_special = strchr(flags, 'a') != NULL};
    if (strchr(flags, 's')) options.spans = spans;
    power_error error = {0};
    if (power_vocab_encode(vocab, text, &options, ids, capacity, &count, &error) != POWER_OK) {
        printf("! %s", error.message);
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        printf(i ? " %u" : "%u", ids[i]);
    printf("\n");
    for (size_t i = 0; i < count && options.spans; i++)
        printf(i ? " %u:%u" : "%u:%u", spans[i].start, spans[i].end);
    if (options.spans) printf("\n");
    if (strchr(flags, 'd')) print_decoded(vocab, ids, count);
    free(ids);
    free(spans);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    struct power_vocab *vocab = open_file(argv[1]);
    if (!vocab) return 1;
    unsigned char head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t length = power_load_u32(head);
        char *text = length <= MAX_TEXT ? malloc(length + 1) : NULL;
        if (!text || fread(text, 1, length, stdin) != length) return 1;
        print_text(vocab, (struct power_text){text, length}, argc > 2 ? argv[2] : "");
        free(text);
    }
    power_vocab_destroy(vocab);
    return 0;
}
