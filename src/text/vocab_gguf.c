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
    if (vocab->kind != POWER_VOCAB_SPM && vocab->kind != POWER_VOCAB_UNIGRAM) return POWER_OK;
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
    uint32_t prefix = POWER_NO_TOKEN, suffix = POWER_NO_TOKEN, middle = POWER_NO_TOKEN;
    struct {
        const char *key;
        uint32_t *id;
    } ids[] = {{KEY "bos_token_id", &info->bos},         {KEY "eos_token_id", &info->eos},
               {KEY "unknown_token_id", &info->unk},     {KEY "padding_token_id", &info->pad},
               {KEY "eot_token_id", &draft->eot},        {KEY "eom_token_id", &draft->eom},
               {KEY "cls_token_id", &draft->cls},        {KEY "seperator_token_id", &draft->sep},
               {KEY "mask_token_id", &info->mask},       {KEY "prefix_token_id", &prefix},
               {KEY "suffix_token_id", &suffix},         {KEY "middle_token_id", &middle},
               {KEY "fim_pre_token_id", &info->fim_pre}, {KEY "fim_suf_token_id", &info->fim_suf},
               {KEY "fim_mid_token_id", &info->fim_mid}, {KEY "fim_pad_token_id", &info->fim_pad},
               {KEY "fim_rep_token_id", &info->fim_rep}, {KEY "fim_sep_token_id", &info->fim_sep}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        power_status status = id_or_none(source, ids[i].key, ids[i].id, error);
        if (status == POWER_OK && *ids[i].id != POWER_NO_TOKEN && *ids[i].id >= info->n_tokens)
            status = power_fail(error, POWER_CORRUPT,
                                "key \"%s\" is %u, not below the vocabulary size %u", ids[i].key,
                                *ids[i].id, info->n_tokens);
        if (status != POWER_OK) return status;
    }
    /* the older names */
    if (info->fim_pre == POWER_NO_TOKEN) info->fim_pre = prefix;
    if (info->fim_suf == POWER_NO_TOKEN) info->fim_suf = suffix;
    if (info->fim_mid == POWER_NO_TOKEN) info->fim_mid = middle;
    return POWER_OK;
}

/* More end tokens, as some converters list them. */
static power_status read_ends(struct power_vocab_draft *draft, const struct power_source *source,
                              power_error *error) {
    static const char key[] = KEY "eos_token_ids";
    const struct power_meta *meta = power_source_meta(source, key);
    struct power_meta_array ids;
    if (!meta) return POWER_OK;
    bool is_signed = meta->type == POWER_META_ARRAY && meta->value.array.type == POWER_META_I32;
    power_status status =
        power_meta_array(source, key, is_signed ? POWER_META_I32 : POWER_META_U32, &ids, error);
    if (status != POWER_OK) return status;
    if (ids.count > POWER_MAX_END_TOKENS)
        return power_fail(error, POWER_LIMIT, "key \"%s\" has %llu values, at most %d are taken",
                          key, (unsigned long long)ids.count, POWER_MAX_END_TOKENS);
    for (uint64_t i = 0; i < ids.count; i++) {
        uint32_t id = ((const uint32_t *)ids.values)[i];
        if (id >= draft->vocab->info.n_tokens)
            return power_fail(error, POWER_CORRUPT,
                              "key \"%s\" has %u, not below the vocabulary size %u", key, id,
                              draft->vocab->info.n_tokens);
        draft->ends[draft->n_ends++] = id;
    }
    return POWER_OK;
}

static power_status read_flags(struct power_vocab *vocab, const struct power_source *source,
                               power_error *error) {
    struct power_vocab_info *info = &vocab->info;
    struct {
        const char *key;
        bool *flag;
    } flags[] = {{KEY "add_bos_token", &info->add_bos},
                 {KEY "add_eos_token", &info->add_eos},
                 {KEY "add_space_prefix", &info->add_space_prefix},
                 {KEY "remove_extra_whitespaces", &vocab->remove_extra_spaces},
                 {KEY "escape_whitespaces", &vocab->escape_spaces},
                 {KEY "ignore_merges", &vocab->whole_words},
                 {KEY "clean_spaces", &vocab->clean_spaces}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        power_status status =
            power_meta_bool_or(source, flags[i].key, *flags[i].flag, flags[i].flag, error);
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}

/* BERT and its kin put a separator behind each text, which has its own keys. */
static power_status read_around(struct power_vocab_draft *draft, const struct power_source *source,
                                power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    bool sep = vocab->kind == POWER_VOCAB_WORDPIECE;
    power_status status = power_meta_bool_or(source, KEY "add_sep_token", sep, &sep, error);
    if (status != POWER_OK) return status;
    if (draft->cls != POWER_NO_TOKEN && info->bos == POWER_NO_TOKEN) info->bos = draft->cls;
    if (draft->sep != POWER_NO_TOKEN && info->eos == POWER_NO_TOKEN) info->eos = draft->sep;
    if (!sep) return POWER_OK;
    uint32_t id = draft->sep != POWER_NO_TOKEN ? draft->sep : info->eos;
    if (id == POWER_NO_TOKEN) return POWER_OK;
    vocab->back[vocab->n_back++] = id;
    if (info->add_eos && info->eos != POWER_NO_TOKEN && info->eos != id)
        vocab->back[vocab->n_back++] = info->eos;
    info->add_eos = true;
    return POWER_OK;
}

/* SentencePiece's map of characters: an array of 8-bit integers, kept as it is. */
static power_status read_charsmap(struct power_vocab *vocab, const struct power_source *source,
                                  power_error *error) {
    static const char key[] = KEY "precompiled_charsmap";
    const struct power_meta *meta = power_source_meta(source, key);
    if (!meta) return POWER_OK;
    if (vocab->kind != POWER_VOCAB_SPM && vocab->kind != POWER_VOCAB_UNIGRAM)
        return power_fail(error, POWER_UNSUPPORTED,
                          "key \"%s\" is not supported with tokenizer \"%s\"", key,
                          power_quote(vocab->info.model.bytes, vocab->info.model.length).text);
    bool is_signed = meta->type == POWER_META_ARRAY && meta->value.array.type == POWER_META_I8;
    struct power_meta_array bytes;
    power_status status =
        power_meta_array(source, key, is_signed ? POWER_META_I8 : POWER_META_U8, &bytes, error);
    if (status != POWER_OK || bytes.count == 0) return status;
    return power_vocab_keep_charsmap(vocab, (struct power_span){bytes.values, (size_t)bytes.count},
                                     error);
}

/* "bert": words by BERT's rules; tokens that begin a word are spelled with U+2581 in front. */
static power_status choose_wordpiece(struct power_vocab *vocab, const struct power_source *source,
                                     power_error *error) {
    struct power_vocab_info *info = &vocab->info;
    bool lower = true;
    power_status status =
        power_meta_bool_or(source, KEY "normalizer.lowercase", true, &lower, error);
    if (status != POWER_OK) return status;
    vocab->kind = POWER_VOCAB_WORDPIECE;
    vocab->piped = vocab->escape_spaces = info->add_bos = info->add_space_prefix = true;
    vocab->word_prefix = POWER_TEXT("\xE2\x96\x81");
    vocab->part_prefix = POWER_TEXT("");
    vocab->max_word_chars = 100;
    (void)power_vocab_add_bert(vocab, true, true, lower, lower);
    (void)power_vocab_add_pre(vocab, (struct power_pre_step){.kind = POWER_PRE_SPACE_SPLIT,
                                                             .behavior = POWER_SPLIT_REMOVED});
    (void)power_vocab_add_pre(
        vocab, (struct power_pre_step){.kind = POWER_PRE_PUNCT, .behavior = POWER_SPLIT_ISOLATED});
    return POWER_OK;
}

static power_status choose_kind(struct power_vocab *vocab, const struct power_source *source,
                                power_error *error) {
    struct power_vocab_info *info = &vocab->info;
    if (power_text_equal(info->model, POWER_TEXT("llama"))) {
        vocab->kind = POWER_VOCAB_SPM;
        vocab->escape_spaces = true;
        info->add_bos = info->add_space_prefix = true;
        return POWER_OK;
    }
    if (power_text_equal(info->model, POWER_TEXT("t5"))) {
        vocab->kind = POWER_VOCAB_UNIGRAM;
        vocab->escape_spaces = vocab->byte_fallback = true;
        info->add_eos = info->add_space_prefix = true;
        return POWER_OK;
    }
    if (power_text_equal(info->model, POWER_TEXT("bert")))
        return choose_wordpiece(vocab, source, error);
    if (power_text_equal(info->model, POWER_TEXT("gemma4")))
        info->pre = info->model; /* whatever else the file says */
    else if (!power_text_equal(info->model, POWER_TEXT("gpt2")))
        return power_fail(error, POWER_UNSUPPORTED,
                          "tokenizer \"%s\" (key \"" KEY "model\") is not supported",
                          power_quote(info->model.bytes, info->model.length).text);
    const struct power_splitter *splitter = power_splitter_find(info->pre);
    if (!splitter)
        return power_fail(error, POWER_UNSUPPORTED,
                          "pre-tokenizer \"%s\" (key \"" KEY "pre\") is not known",
                          power_quote(info->pre.bytes, info->pre.length).text);
    vocab->kind = splitter->characters ? POWER_VOCAB_CHAR_BPE : POWER_VOCAB_BYTE_BPE;
    vocab->escape_spaces = vocab->whole_lines = splitter->characters;
    memcpy(vocab->stages, splitter->stages, sizeof vocab->stages);
    if (splitter->nfc)
        (void)power_vocab_add_normal(vocab, (struct power_normal_step){.kind = POWER_NORMAL_NFC});
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

static power_status name_pre(struct power_vocab_draft *draft, power_error *error) {
    struct power_vocab_info *info = &draft->vocab->info;
    if (!power_text_equal(info->model, POWER_TEXT("gpt2")))
        return power_fail(error, POWER_INVALID,
                          "pre-tokenizer \"%s\" was named, tokenizer \"%s\" has none",
                          power_quote(draft->pre.bytes, draft->pre.length).text,
                          power_quote(info->model.bytes, info->model.length).text);
    info->pre = draft->pre;
    return POWER_OK;
}

power_status power_vocab_from_gguf(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    struct power_meta_array tokens;
    power_status status = power_vocab_check_keys(source, error);
    if (status == POWER_OK) status = power_meta_text(source, KEY "model", &info->model, error);
    if (status == POWER_OK)
        status = power_meta_text_or(source, KEY "pre", POWER_TEXT("default"), &info->pre, error);
    if (status == POWER_OK && draft->pre.length) status = name_pre(draft, error);
    if (status == POWER_OK) status = copy_text(&vocab->arena, &info->model, error);
    if (status == POWER_OK) status = copy_text(&vocab->arena, &info->pre, error);
    if (status == POWER_OK) status = choose_kind(vocab, source, error);
    if (status == POWER_OK)
        status = power_meta_array(source, KEY "tokens", POWER_META_TEXT, &tokens, error);
    if (status == POWER_OK) status = power_vocab_reserve(vocab, tokens.count, error);
    if (status == POWER_OK) status = copy_tokens(vocab, &tokens, error);
    if (status == POWER_OK) status = read_types(vocab, source, error);
    if (status == POWER_OK) status = read_ids(draft, source, error);
    if (status == POWER_OK) status = read_ends(draft, source, error);
    if (status == POWER_OK) status = read_flags(vocab, source, error);
    if (status == POWER_OK) status = read_around(draft, source, error);
    if (status == POWER_OK) status = read_charsmap(vocab, source, error);
    if (status == POWER_OK) status = power_vocab_index(vocab, error);
    bool merges = vocab->kind == POWER_VOCAB_BYTE_BPE || vocab->kind == POWER_VOCAB_CHAR_BPE;
    if (status == POWER_OK && merges) status = read_merges(vocab, source, error);
    return status;
}
