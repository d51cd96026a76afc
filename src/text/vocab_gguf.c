/* SPDX-License-Identifier: MIT */
/* Job: the vocabulary of a GGUF file. Input: tokenizer.ggml.* keys. Output: tables of the
 * vocabulary. Threads: making one. Bounds: arrays are as long as the reader found them, and checked
 * against each other; texts are copied, so that the file may be closed. */
#include "text/vocab_internal.h"

#define KEY "tokenizer.ggml."

static power_status id_or_none(const struct power_source *source, const char *key, uint32_t *out,
                               power_error *error) {
    return power_meta_u32_or(source, key, *out, out, error);
}

static power_status copy_tokens(struct power_vocab *vocab, const struct power_meta_array *tokens,
                                power_error *error) {
    const struct power_text *texts = tokens->values;
    size_t total = 1;
    for (uint64_t i = 0; i < tokens->count; i++)
        total += texts[i].length; /* no overflow: they lie in one file in memory */
    char *blob = power_arena_alloc(&vocab->arena, total, 1);
    if (!blob) return power_fail_memory(error, total, "vocabulary");
    for (uint64_t i = 0; i < tokens->count; i++) {
        if (texts[i].length) memcpy(blob, texts[i].bytes, texts[i].length);
        vocab->spellings[i] = (struct power_text){blob, texts[i].length};
        blob += texts[i].length;
    }
    return POWER_OK;
}

static power_status optional_array(const struct power_source *source, const char *key,
                                   enum power_meta_type type, uint64_t count,
                                   struct power_meta_array *out, power_error *error) {
    *out = (struct power_meta_array){0};
    if (!power_source_meta(source, key)) return POWER_OK;
    power_status status = power_meta_array(source, key, type, out, error);
    if (status == POWER_OK && out->count != count)
        return power_fail(error, POWER_CORRUPT, "key \"%s\" has %llu values, the tokens are %llu",
                          key, (unsigned long long)out->count, (unsigned long long)count);
    return status;
}

static power_status read_types(struct power_vocab *vocab, const struct power_source *source,
                               power_error *error) {
    const uint64_t n = vocab->info.n_tokens;
    struct power_meta_array types, scores;
    const struct power_meta *meta = power_source_meta(source, KEY "token_type");
    enum power_meta_type element = POWER_META_I32;
    if (meta && meta->type == POWER_META_ARRAY && meta->value.array.type == POWER_META_U32)
        element = POWER_META_U32;
    power_status status = optional_array(source, KEY "token_type", element, n, &types, error);
    if (status != POWER_OK) return status;
    status = optional_array(source, KEY "scores", POWER_META_F32, n, &scores, error);
    if (status != POWER_OK) return status;
    for (uint64_t i = 0; i < types.count; i++) {
        int32_t type = ((const int32_t *)types.values)[i];
        if (type < 0 || type > POWER_TOKEN_BYTE)
            return power_fail(error, POWER_CORRUPT,
                              "key \"" KEY "token_type\": token %llu has type %d",
                              (unsigned long long)i, type);
        vocab->types[i] = (unsigned char)(type == 0 ? POWER_TOKEN_NORMAL : type);
    }
    if (vocab->kind != POWER_VOCAB_SPM) return POWER_OK;
    if (scores.count == 0)
        return power_fail(error, POWER_NOT_FOUND, "key \"" KEY "scores\" is missing");
    memcpy(vocab->scores, scores.values, (size_t)n * sizeof *vocab->scores);
    return POWER_OK;
}

/* "left right": the space that parts them is the first one after the first byte. */
static power_status add_merge(struct power_vocab *vocab, struct power_text text, uint32_t rank,
                              power_error *error) {
    const char *space = text.length > 1 ? memchr(text.bytes + 1, ' ', text.length - 1) : NULL;
    if (!space)
        return power_fail(error, POWER_CORRUPT, "key \"" KEY "merges\": merge %u has no space",
                          rank);
    size_t n = (size_t)(space - text.bytes);
    return power_merges_add_texts(vocab, (struct power_text){text.bytes, n},
                                  (struct power_text){space + 1, text.length - n - 1}, rank, error);
}

static power_status read_merges(struct power_vocab *vocab, const struct power_source *source,
                                power_error *error) {
    struct power_meta_array merges;
    power_status status = power_meta_array(source, KEY "merges", POWER_META_TEXT, &merges, error);
    if (status != POWER_OK) return status;
    if (merges.count > UINT32_MAX / 4)
        return power_fail(error, POWER_LIMIT, "key \"" KEY "merges\" has too many values");
    const struct power_text *texts = merges.values;
    status = power_merges_init(vocab, (size_t)merges.count, error);
    for (uint64_t i = 0; status == POWER_OK && i < merges.count; i++)
        status = add_merge(vocab, texts[i], (uint32_t)i, error);
    return status;
}

static power_status read_ids(struct power_vocab_draft *draft, const struct power_source *source,
                             power_error *error) {
    struct power_vocab_info *info = &draft->vocab->info;
    struct {
        const char *key;
        uint32_t *id;
    } ids[] = {{KEY "bos_token_id", &info->bos},     {KEY "eos_token_id", &info->eos},
               {KEY "unknown_token_id", &info->unk}, {KEY "padding_token_id", &info->pad},
               {KEY "eot_token_id", &draft->eot},    {KEY "eom_token_id", &draft->eom}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        power_status status = id_or_none(source, ids[i].key, ids[i].id, error);
        if (status != POWER_OK) return status;
    }
    power_status status =
        power_meta_bool_or(source, KEY "add_bos_token", info->add_bos, &info->add_bos, error);
    if (status == POWER_OK)
        status = power_meta_bool_or(source, KEY "add_eos_token", false, &info->add_eos, error);
    if (status == POWER_OK)
        status = power_meta_bool_or(source, KEY "add_space_prefix", info->add_space_prefix,
                                    &info->add_space_prefix, error);
    if (status == POWER_OK)
        status = power_meta_bool_or(source, KEY "remove_extra_whitespaces", false,
                                    &draft->vocab->remove_extra_spaces, error);
    return status;
}

static power_status choose_kind(struct power_vocab *vocab, power_error *error) {
    struct power_vocab_info *info = &vocab->info;
    if (power_text_equal(info->model, POWER_TEXT("llama"))) {
        vocab->kind = POWER_VOCAB_SPM;
        vocab->escape_spaces = true;
        info->add_bos = info->add_space_prefix = true;
        return POWER_OK;
    }
    if (!power_text_equal(info->model, POWER_TEXT("gpt2")))
        return power_fail(error, POWER_UNSUPPORTED,
                          "tokenizer \"%s\" (key \"" KEY "model\") is not supported",
                          power_quote(info->model.bytes, info->model.length).text);
    const struct power_splitter *splitter = power_splitter_find(info->pre);
    if (!splitter)
        return power_fail(error, POWER_UNSUPPORTED,
                          "pre-tokenizer \"%s\" (key \"" KEY "pre\") is not known",
                          power_quote(info->pre.bytes, info->pre.length).text);
    vocab->kind = POWER_VOCAB_BYTE_BPE;
    memcpy(vocab->stages, splitter->stages, sizeof vocab->stages);
    vocab->nfc = splitter->nfc;
    vocab->whole_words = splitter->whole_words;
    info->add_bos = splitter->add_bos;
    return POWER_OK;
}

static power_status copy_text(struct power_arena *arena, struct power_text *text,
                              power_error *error) {
    char *copy = power_arena_text(arena, text->bytes, text->length);
    if (!copy) return power_fail_memory(error, text->length, "vocabulary");
    text->bytes = copy;
    return POWER_OK;
}

power_status power_vocab_from_gguf(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    struct power_meta_array tokens;
    power_status status = power_meta_text(source, KEY "model", &info->model, error);
    if (status == POWER_OK)
        status = power_meta_text_or(source, KEY "pre", POWER_TEXT("default"), &info->pre, error);
    if (status == POWER_OK) status = copy_text(&vocab->arena, &info->model, error);
    if (status == POWER_OK) status = copy_text(&vocab->arena, &info->pre, error);
    if (status == POWER_OK) status = choose_kind(vocab, error);
    if (status == POWER_OK)
        status = power_meta_array(source, KEY "tokens", POWER_META_TEXT, &tokens, error);
    if (status == POWER_OK) status = power_vocab_reserve(vocab, tokens.count, error);
    if (status == POWER_OK) status = copy_tokens(vocab, &tokens, error);
    if (status == POWER_OK) status = read_types(vocab, source, error);
    if (status == POWER_OK) status = read_ids(draft, source, error);
    if (status == POWER_OK) status = power_vocab_index(vocab, error);
    if (status == POWER_OK && vocab->kind == POWER_VOCAB_BYTE_BPE)
        status = read_merges(vocab, source, error);
    return status;
}
