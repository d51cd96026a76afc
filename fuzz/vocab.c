/* SPDX-License-Identifier: MIT */
/* Fuzz target of the tokenizers. Input: a letter for the form, then: j a tokenizer.json, s a
 * tokenizer.model, g, l, u or w a text for a byte-level, an SPM, a Unigram or a WordPiece
 * vocabulary made from the lines before the first empty line (g: also merges, lines with a space).
 * Output: none; findings are ids that do not give back the bytes where they must, places outside
 * the text or going back, and control tokens where the text is plain. Threads: one. Bounds: inputs
 * of 64 KiB. */
#include "text/vocab.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MAX_LINES = 300, MAX_INPUT = 65536 };

static void check_places(const struct power_vocab *vocab, struct power_text text,
                         const uint32_t *ids, const power_token_place *places, size_t count) {
    uint32_t last = 0;
    for (size_t k = 0; k < count; k++) {
        if (ids[k] >= power_vocab_info(vocab)->n_tokens) __builtin_trap();
        if (places[k].start > places[k].end || places[k].end > text.length) __builtin_trap();
        if (places[k].start < last) __builtin_trap();
        last = places[k].start;
    }
}

/* Where all of the text is plain, no control token may stand, whatever normalization does. */
static void check_plain(const struct power_vocab *vocab, struct power_text text) {
    static uint32_t ids[MAX_INPUT * 2 + 8];
    static unsigned char plain[MAX_INPUT * 2];
    struct power_tokenize_options options = {.parse_special = true, .plain = plain};
    size_t count = 0;
    memset(plain, 1, sizeof plain);
    if (power_vocab_encode(vocab, text, &options, ids, sizeof ids / sizeof *ids, &count, NULL))
        return;
    for (size_t k = 0; k < count; k++) {
        bool control = power_vocab_token_type(vocab, ids[k]) == POWER_TOKEN_CONTROL;
        if (control && ids[k] != power_vocab_info(vocab)->unk) __builtin_trap();
    }
}

static void encode_text(const struct power_vocab *vocab, struct power_text text, bool lossless) {
    static uint32_t ids[MAX_INPUT * 2 + 8];
    static power_token_place places[MAX_INPUT * 2 + 8];
    check_plain(vocab, text);
    for (int i = 0; i < 4; i++) {
        struct power_tokenize_options options = {
            .parse_special = i & 1, .add_special = i & 2, .spans = places};
        size_t count = 0;
        power_error error = {0};
        power_status status = power_vocab_encode(vocab, text, &options, ids,
                                                 sizeof ids / sizeof *ids, &count, &error);
        if (status != POWER_OK && !error.message[0]) __builtin_trap();
        if (status != POWER_OK) continue;
        check_places(vocab, text, ids, places, count);
        struct power_buffer out;
        struct power_detokenizer d;
        power_buffer_init(&out, &power_default_allocator, (size_t)64 << 20);
        power_detokenizer_init(&d, vocab, true);
        for (size_t k = 0; k < count; k++)
            if (power_detokenizer_push(&d, ids[k], &out, &error) != POWER_OK) break;
        if (power_detokenizer_finish(&d, &out, &error) != POWER_OK) __builtin_trap();
        bool same = out.length == text.length &&
                    (text.length == 0 || memcmp(out.bytes, text.bytes, text.length) == 0);
        if (lossless && i == 0 && !same) __builtin_trap();
        power_buffer_finish(&out);
    }
}

static void try_source(const struct power_source *source, struct power_text text, bool lossless) {
    struct power_vocab *vocab = NULL;
    power_error error = {0};
    power_status status = power_vocab_create(&power_default_allocator, source, &vocab, &error);
    if (status != POWER_OK) {
        if (error.status != status || !error.message[0]) __builtin_trap();
        return;
    }
    encode_text(vocab, text, lossless);
    encode_text(vocab, POWER_TEXT("Hello <s> \xE4\xB8\x96\xE7\x95\x8C  \n\n 123's"), false);
    power_vocab_destroy(vocab);
}

static void add_meta(struct power_source *source, struct power_meta meta) {
    source->metas[source->n_metas] = meta;
    (void)power_index_add(source->meta_index, meta.key, source->n_metas++);
}

static struct power_meta array_meta(const char *key, enum power_meta_type type, uint64_t count,
                                    const void *values) {
    struct power_meta meta = {.key = power_text_of(key), .type = POWER_META_ARRAY};
    meta.value.array = (struct power_meta_array){type, count, values};
    return meta;
}

/* Byte tokens first, so that every text has ids; then the lines. */
static void try_lines(char form, struct power_text input) {
    const bool spm = form != 'g';
    static struct power_text tokens[MAX_LINES + 256], merges[MAX_LINES];
    static float scores[MAX_LINES + 256];
    static int32_t types[MAX_LINES + 256];
    static char bytes[256][8];
    static const char digits[] = "0123456789ABCDEF";
    struct power_meta metas[8];
    struct power_source source = {
        .allocator = &power_default_allocator, .container = POWER_CONTAINER_GGUF, .metas = metas};
    size_t n = 0, n_merges = 0, at = 0;
    for (unsigned b = 0; b < 256; b++, n++) {
        char spelled[8] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>', 0, 0};
        bool itself = (b > 0x20 && b < 0x7F) || (b > 0xA0 && b < 0xAD) || b > 0xAD;
        uint32_t code = itself ? b : b <= 0x20 ? 0x100 + b : b == 0xAD ? 0x143 : 0x121 + b - 0x7F;
        memcpy(bytes[b], spelled, 8);
        if (!spm && code < 0x80) memcpy(bytes[b], (char[]){(char)code, 0}, 2);
        if (!spm && code >= 0x80)
            memcpy(bytes[b], (char[]){(char)(0xC0 | code >> 6), (char)(0x80 | (code & 63)), 0}, 3);
        tokens[n] = power_text_of(bytes[b]);
        types[n] = spm ? POWER_TOKEN_BYTE : POWER_TOKEN_NORMAL;
    }
    if (spm) { /* without it a space would come back as the bytes of U+2581 */
        tokens[n] = POWER_TEXT("\xE2\x96\x81");
        types[n++] = POWER_TOKEN_NORMAL;
    }
    while (at < input.length && n_merges < MAX_LINES && n < MAX_LINES + 256) {
        const char *end = memchr(input.bytes + at, '\n', input.length - at);
        size_t stop = end ? (size_t)(end - input.bytes) : input.length;
        struct power_text line = {input.bytes + at, stop - at};
        at = stop + 1;
        if (line.length == 0) break;
        if (!spm && line.length > 1 && memchr(line.bytes + 1, ' ', line.length - 1)) {
            merges[n_merges++] = line;
            continue;
        }
        types[n] = line.bytes[0] == '@'   ? POWER_TOKEN_CONTROL
                   : line.bytes[0] == '+' ? POWER_TOKEN_USER_DEFINED
                                          : POWER_TOKEN_NORMAL;
        scores[n] = (float)(line.bytes[0] % 7);
        tokens[n++] = line;
    }
    power_error error;
    if (power_index_create(&power_default_allocator, 8, &source.meta_index, &error) != POWER_OK)
        return;
    struct power_meta model = {.key = POWER_TEXT("tokenizer.ggml.model"), .type = POWER_META_TEXT};
    model.value.text = form == 'l'   ? POWER_TEXT("llama")
                       : form == 'u' ? POWER_TEXT("t5")
                       : form == 'w' ? POWER_TEXT("bert")
                                     : POWER_TEXT("gpt2");
    add_meta(&source, model);
    add_meta(&source, array_meta("tokenizer.ggml.tokens", POWER_META_TEXT, n, tokens));
    add_meta(&source, array_meta("tokenizer.ggml.token_type", POWER_META_I32, n, types));
    add_meta(&source, array_meta("tokenizer.ggml.scores", POWER_META_F32, n, scores));
    add_meta(&source, array_meta("tokenizer.ggml.merges", POWER_META_TEXT, n_merges, merges));
    struct power_text text = {input.bytes + (at < input.length ? at : input.length),
                              at < input.length ? input.length - at : 0};
    /* a literal U+2581 comes back as a space, by SentencePiece's rule */
    bool lossless = form != 'w' && (!spm || !memmem(text.bytes, text.length, "\xE2\x96\x81", 3));
    try_source(&source, text, lossless);
    power_index_destroy(source.meta_index);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size == 0 || size > MAX_INPUT) return 0;
    struct power_text rest = {(const char *)data + 1, size - 1};
    struct power_source source = {.allocator = &power_default_allocator,
                                  .container = POWER_CONTAINER_SAFETENSORS};
    if (data[0] == 'j') source.tokenizer_json = rest;
    if (data[0] == 's') source.tokenizer_model = rest;
    if (data[0] == 'j' || data[0] == 's') {
        size_t n = rest.length < 256 ? rest.length : 256; /* its own bytes as the text, too */
        try_source(&source, (struct power_text){rest.bytes + rest.length - n, n}, false);
    } else {
        try_lines((char)data[0], rest);
    }
    return 0;
}
