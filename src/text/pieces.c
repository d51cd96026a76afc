/* SPDX-License-Identifier: MIT */
/* Job: the raw bytes that each token stands for.
 * Input: spellings and types. Output: pieces in the arena, byte tokens.
 * Threads: making a vocabulary. Bounds: pieces are never longer than their spellings.
 * Byte-level vocabularies spell each byte as one character: the printable ones of Latin-1 as
 * themselves, the other 68 as U+0100, U+0101, ... in order. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

static bool is_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

uint32_t power_byte_to_code(unsigned char byte) {
    if (is_itself(byte)) return byte;
    if (byte <= 0x20) return 0x100u + byte;
    return byte == 0xAD ? 0x143u : 0x100u + 33 + (byte - 0x7Fu);
}

/* -1 for a character that stands for no byte. */
static int code_to_byte(uint32_t code) {
    if (code < 0x100) return is_itself(code) ? (int)code : -1;
    if (code <= 0x120) return (int)(code - 0x100);
    if (code == 0x143) return 0xAD;
    return code < 0x143 ? (int)(code - 0x121 + 0x7F) : -1;
}

bool power_spells_bytes(struct power_text spelling) {
    for (size_t at = 0, length; at < spelling.length; at += length) {
        if (code_to_byte(power_utf8_get(spelling, at, &length, NULL)) < 0) return false;
    }
    return true;
}

/* Both write at `out`, which has room for the spelling. */
static struct power_text byte_level_piece(char *out, struct power_text spelling) {
    size_t n = 0;
    for (size_t at = 0, length; at < spelling.length; at += length) {
        uint32_t code = power_utf8_get(spelling, at, &length, NULL);
        int byte = code_to_byte(code);
        if (byte >= 0) {
            out[n++] = (char)byte;
            continue;
        }
        memcpy(out + n, spelling.bytes + at, length);
        n += length;
    }
    return (struct power_text){out, n};
}

/* "<0x0A>" -> 10, else -1 */
static int byte_of_spelling(struct power_text s) {
    if (s.length != 6 || memcmp(s.bytes, "<0x", 3) != 0 || s.bytes[5] != '>') return -1;
    int value = 0;
    for (size_t i = 3; i < 5; i++) {
        char c = s.bytes[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static struct power_text unescaped_piece(char *out, struct power_text spelling) {
    if (!memchr(spelling.bytes, '\xE2', spelling.length)) return spelling;
    size_t n = 0;
    for (size_t at = 0; at < spelling.length;) {
        if (spelling.length - at >= 3 && memcmp(spelling.bytes + at, "\xE2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            at += 3;
        } else {
            out[n++] = spelling.bytes[at++];
        }
    }
    return (struct power_text){out, n};
}

/* Drops the space in front of what English writes without one, as published decoders do. */
static struct power_text clean_piece(struct power_text piece) {
    static const char *const shorter[] = {" .",  " ?",  " !",   " ,",  " n't",
                                          " 'm", " 's", " 've", " 're"};
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        size_t n = strlen(shorter[i]);
        if (piece.length >= n && memcmp(piece.bytes, shorter[i], n) == 0)
            return (struct power_text){piece.bytes + 1, piece.length - 1};
    }
    return piece;
}

/* A token that begins a word has a space in front, another just its letters. */
static struct power_text word_piece(const struct power_vocab *vocab, char *out,
                                    struct power_text spelling) {
    struct power_text word = vocab->word_prefix, part = vocab->part_prefix;
    bool is_part = part.length && spelling.length >= part.length &&
                   memcmp(spelling.bytes, part.bytes, part.length) == 0;
    bool is_word = spelling.length >= word.length &&
                   (word.length == 0 || memcmp(spelling.bytes, word.bytes, word.length) == 0);
    if (is_part || !is_word) {
        size_t cut = is_part ? part.length : 0;
        return (struct power_text){spelling.bytes + cut, spelling.length - cut};
    }
    out[0] = ' ';
    memcpy(out + 1, spelling.bytes + word.length, spelling.length - word.length);
    struct power_text piece = {out, spelling.length - word.length + 1};
    return vocab->clean_spaces ? clean_piece(piece) : piece;
}

static struct power_text piece_of(struct power_vocab *vocab, uint32_t id, const char *bytes,
                                  char *out) {
    struct power_text spelling = vocab->spellings[id];
    int byte = byte_of_spelling(spelling);
    switch (vocab->types[id]) {
    case POWER_TOKEN_CONTROL:
    case POWER_TOKEN_UNKNOWN:
        return spelling;
    case POWER_TOKEN_BYTE:
        if (byte < 0) return spelling;
        if (vocab->byte_tokens[byte] == POWER_NO_TOKEN) vocab->byte_tokens[byte] = id;
        return (struct power_text){bytes + byte, 1};
    default:
        break;
    }
    if (spelling.length == 0) return spelling;
    if (vocab->kind == POWER_VOCAB_WORDPIECE && vocab->types[id] != POWER_TOKEN_USER_DEFINED)
        return word_piece(vocab, out, spelling);
    if (vocab->kind != POWER_VOCAB_BYTE_BPE)
        return vocab->escape_spaces ? unescaped_piece(out, spelling) : spelling;
    if (vocab->types[id] == POWER_TOKEN_USER_DEFINED) return spelling;
    return byte_level_piece(out, spelling);
}

bool power_pieces_build(struct power_vocab *vocab) {
    size_t total = (size_t)vocab->info.n_tokens + 1; /* a space more for each */
    for (uint32_t id = 0; id < vocab->info.n_tokens; id++)
        total += vocab->spellings[id].length; /* no overflow: the spellings are in memory */
    char *bytes = power_arena_alloc(&vocab->arena, 256, 1);
    char *out = power_arena_alloc(&vocab->arena, total, 1);
    if (!bytes || !out) return false;
    for (uint32_t b = 0; b < 256; b++) {
        bytes[b] = (char)b;
        vocab->byte_tokens[b] = POWER_NO_TOKEN;
    }
    for (uint32_t id = 0; id < vocab->info.n_tokens; id++) {
        vocab->pieces[id] = piece_of(vocab, id, bytes, out);
        struct power_text piece = vocab->pieces[id];
        bool made = piece.bytes == out || piece.bytes == out + 1; /* cleaned: one byte on */
        if (made) out = out + (piece.bytes - out) + piece.length;
        if (vocab->kind == POWER_VOCAB_BYTE_BPE && vocab->types[id] == POWER_TOKEN_NORMAL &&
            vocab->pieces[id].length == 1 && power_spells_bytes(vocab->spellings[id])) {
            unsigned char byte = (unsigned char)vocab->pieces[id].bytes[0];
            if (vocab->byte_tokens[byte] == POWER_NO_TOKEN) vocab->byte_tokens[byte] = id;
        }
    }
    return true;
}
