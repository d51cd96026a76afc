/* SPDX-License-Identifier: MIT */
/* Job: the vocabulary of a tokenizer.model (SentencePiece's protocol buffer, BPE and Unigram).
 * Input: untrusted bytes. Output: tables of the vocabulary.
 * Threads: making one. Bounds: two passes; no length is believed beyond the bytes that remain.
 * Fields: ModelProto {1 pieces, 2 trainer_spec, 3 normalizer_spec}; SentencePiece {1 piece, 2
 * score, 3 type}; TrainerSpec {3 model_type, 24 treat_whitespace_as_suffix, 35
 * byte_fallback, 40..43 ids of unk, bos, eos, pad}; NormalizerSpec {1 name, 2 precompiled_charsmap,
 * 3 add_dummy_prefix, 4 remove_extra_whitespaces, 5 escape_whitespaces}. */
#include "text/vocab_internal.h"

#define WHAT "tokenizer.model"

struct field {
    uint32_t number;
    uint32_t wire;           /* 0 varint, 1 64 bits, 2 bytes, 5 32 bits */
    uint64_t value;          /* of wire 0 and 5 */
    struct power_span bytes; /* of wire 2 */
};

static uint64_t read_varint(struct power_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char *b = power_reader_take(r, 1);
        if (!b) return 0;
        value |= (uint64_t)(*b & 0x7F) << shift;
        if (!(*b & 0x80)) return value;
    }
    r->failed = true;
    return 0;
}

/* False at the end or at a fault (r->failed). */
static bool next_field(struct power_reader *r, struct field *out) {
    if (power_reader_left(r) == 0) return false;
    uint64_t key = read_varint(r);
    *out = (struct field){.number = (uint32_t)(key >> 3), .wire = (uint32_t)(key & 7)};
    if (key >> 32) r->failed = true;
    switch (out->wire) {
    case 0:
        out->value = read_varint(r);
        break;
    case 1:
        (void)power_reader_take(r, 8);
        break;
    case 5:
        out->value = power_reader_u32(r);
        break;
    case 2: {
        uint64_t n = read_varint(r);
        if (n > power_reader_left(r)) r->failed = true;
        out->bytes.length = r->failed ? 0 : (size_t)n;
        out->bytes.bytes = power_reader_take(r, out->bytes.length);
        break;
    }
    default:
        r->failed = true;
    }
    return !r->failed;
}

struct model {
    struct power_vocab_draft *draft;
    uint64_t n_pieces, text_bytes;
    char *blob;
    uint32_t at;
    uint64_t model_type, ids[4]; /* unk, bos, eos, pad */
    bool escape, suffix, byte_fallback;
    struct power_span charsmap;
};

static bool read_piece(struct model *m, struct power_span bytes, bool fill) {
    struct power_reader r = {.span = bytes};
    struct power_vocab *vocab = m->draft->vocab;
    struct power_span text = {0};
    uint64_t type = POWER_TOKEN_NORMAL;
    uint32_t score = 0;
    struct field f;
    while (next_field(&r, &f)) {
        if (f.number == 1 && f.wire == 2) text = f.bytes;
        if (f.number == 2 && f.wire == 5) score = (uint32_t)f.value;
        if (f.number == 3 && f.wire == 0) type = f.value;
    }
    if (r.failed || type < POWER_TOKEN_NORMAL || type > POWER_TOKEN_BYTE) return false;
    m->n_pieces++;
    m->text_bytes += text.length;
    if (!fill) return true;
    if (text.length) memcpy(m->blob, text.bytes, text.length);
    vocab->spellings[m->at] = (struct power_text){m->blob, text.length};
    vocab->types[m->at] = (unsigned char)type;
    memcpy(&vocab->scores[m->at], &score, sizeof score);
    m->blob += text.length;
    m->at++;
    return true;
}

static bool read_trainer(struct model *m, struct power_span bytes) {
    struct power_reader r = {.span = bytes};
    struct field f;
    while (next_field(&r, &f)) {
        if (f.number == 3 && f.wire == 0) m->model_type = f.value;
        if (f.number == 24 && f.wire == 0) m->suffix = f.value != 0;
        if (f.number == 35 && f.wire == 0) m->byte_fallback = f.value != 0;
        if (f.number >= 40 && f.number <= 43 && f.wire == 0) m->ids[f.number - 40] = f.value;
    }
    return !r.failed;
}

static bool read_normalizer(struct model *m, struct power_span bytes) {
    struct power_reader r = {.span = bytes};
    struct power_vocab *vocab = m->draft->vocab;
    struct field f;
    while (next_field(&r, &f)) {
        if (f.number == 2 && f.wire == 2) m->charsmap = f.bytes;
        if (f.number == 3 && f.wire == 0) vocab->info.add_space_prefix = f.value != 0;
        if (f.number == 4 && f.wire == 0) vocab->remove_extra_spaces = f.value != 0;
        if (f.number == 5 && f.wire == 0) m->escape = f.value != 0;
    }
    return !r.failed;
}

static bool read_pass(struct model *m, struct power_span bytes, bool fill, size_t *out_at) {
    struct power_reader r = {.span = bytes};
    struct field f;
    bool ok = true;
    while (ok && next_field(&r, &f)) {
        if (f.wire != 2) continue;
        if (f.number == 1) ok = read_piece(m, f.bytes, fill);
        if (f.number == 2 && !fill) ok = read_trainer(m, f.bytes);
        if (f.number == 3 && !fill) ok = read_normalizer(m, f.bytes);
    }
    *out_at = r.offset;
    return ok && !r.failed;
}

static power_status check_model(const struct model *m, power_error *error) {
    if (m->model_type != 1 && m->model_type != 2)
        return power_fail(error, POWER_UNSUPPORTED, WHAT ": model type %s is not supported",
                          m->model_type == 3   ? "\"word\""
                          : m->model_type == 4 ? "\"char\""
                                               : "that is unknown");
    if (m->suffix)
        return power_fail(error, POWER_UNSUPPORTED,
                          WHAT ": treat_whitespace_as_suffix is not supported");
    return POWER_OK;
}

static void take_id(const struct power_vocab *vocab, uint64_t value, uint32_t *out) {
    *out = value < vocab->info.n_tokens ? (uint32_t)value : POWER_NO_TOKEN; /* -1: none */
}

power_status power_vocab_from_sentencepiece(struct power_vocab_draft *draft,
                                            const struct power_source *source, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    struct power_span bytes = {(const unsigned char *)source->tokenizer_model.bytes,
                               source->tokenizer_model.length};
    struct model m = {
        .draft = draft, .model_type = 1, .ids = {0, 1, 2, UINT64_MAX}, .escape = true};
    info->add_bos = info->add_space_prefix = vocab->remove_extra_spaces = true;
    vocab->kind = POWER_VOCAB_SPM;
    size_t at;
    if (!read_pass(&m, bytes, false, &at))
        return power_fail_at(error, POWER_CORRUPT, at, WHAT ": broken at byte %zu", at);
    power_status status = check_model(&m, error);
    if (status == POWER_OK) status = power_vocab_reserve(vocab, m.n_pieces, error);
    if (status == POWER_OK && m.charsmap.length)
        status = power_vocab_keep_charsmap(vocab, m.charsmap, error);
    if (status != POWER_OK) return status;
    m.blob = power_arena_alloc(&vocab->arena, (size_t)m.text_bytes + 1, 1);
    if (!m.blob) return power_fail_memory(error, (size_t)m.text_bytes, WHAT);
    if (!read_pass(&m, bytes, true, &at))
        return power_fail_at(error, POWER_CORRUPT, at, WHAT ": broken at byte %zu", at);
    vocab->escape_spaces = m.escape;
    vocab->byte_fallback = m.byte_fallback;
    info->model = POWER_TEXT("llama");
    if (m.model_type == 1) { /* these put nothing around a text unless a file beside says so */
        vocab->kind = POWER_VOCAB_UNIGRAM;
        info->model = POWER_TEXT("t5");
        info->add_bos = false;
    }
    info->pre = POWER_TEXT("default");
    take_id(vocab, m.ids[0], &info->unk);
    take_id(vocab, m.ids[1], &info->bos);
    take_id(vocab, m.ids[2], &info->eos);
    take_id(vocab, m.ids[3], &info->pad);
    status = power_vocab_index(vocab, error);
    return status == POWER_OK ? power_vocab_read_configs(draft, source, error) : status;
}
