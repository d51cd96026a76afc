/* SPDX-License-Identifier: MIT */
/* Job: the vocabulary as an object: made from a source, completed, looked up.
 * Input: metadata. Output: immutable tables.
 * Threads: making one; looking up any.
 * Bounds: at most POWER_MAX_VOCAB tokens; memory proportional to the metadata. */
#include "base/checked.h"
#include "text/vocab_internal.h"

/* Spellings that end an answer wherever they are control tokens. */
static const char *const end_spellings[] = {"<|im_end|>",
                                            "<|endoftext|>",
                                            "<|eot_id|>",
                                            "<|eom_id|>",
                                            "<end_of_turn>",
                                            "<|end|>",
                                            "<|return|>",
                                            "<|call|>",
                                            "<|end_of_text|>",
                                            "<EOT>",
                                            "<|END_OF_TURN_TOKEN|>",
                                            "<|eot|>",
                                            "<turn|>",
                                            "<|end_of_turn|>",
                                            "<end_of_utterance>"};

/* Spellings that begin or part the turns of a chat. */
static const char *const turn_spellings[] = {
    "<|im_start|>",      "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>",
    "<|turn>",           "<|start|>",           "<|message|>",       "<|channel|>",
    "<|user|>",          "<|assistant|>",       "<|system|>",        "<|observation|>",
    "<|begin_of_text|>", "<|start_of_role|>",   "<|end_of_role|>",   "<|START_OF_TURN_TOKEN|>"};

power_status power_vocab_reserve(struct power_vocab *vocab, uint64_t n_tokens, power_error *error) {
    if (n_tokens == 0) return power_fail(error, POWER_CORRUPT, "the vocabulary is empty");
    if (n_tokens > POWER_MAX_VOCAB)
        return power_fail(error, POWER_LIMIT, "vocabulary of %llu tokens is over the limit of %u",
                          (unsigned long long)n_tokens, POWER_MAX_VOCAB);
    size_t n = (size_t)n_tokens;
    vocab->info.n_tokens = (uint32_t)n;
    vocab->spellings = power_arena_alloc(&vocab->arena, n, sizeof *vocab->spellings);
    vocab->pieces = power_arena_alloc(&vocab->arena, n, sizeof *vocab->pieces);
    vocab->types = power_arena_alloc(&vocab->arena, n, 1);
    vocab->scores = power_arena_alloc(&vocab->arena, n, sizeof *vocab->scores);
    if (!vocab->spellings || !vocab->pieces || !vocab->types || !vocab->scores)
        return power_fail_memory(error, n * 40, "vocabulary");
    memset(vocab->types, POWER_TOKEN_NORMAL, n);
    return POWER_OK;
}

power_status power_vocab_index(struct power_vocab *vocab, power_error *error) {
    uint32_t n = vocab->info.n_tokens;
    power_status status = power_index_create(vocab->allocator, n, &vocab->index, error);
    for (uint32_t id = 0; status == POWER_OK && id < n; id++) {
        struct power_text s = vocab->spellings[id];
        if (s.length == 0) continue;
        (void)power_index_add(vocab->index, s, id); /* of equal spellings the first counts */
        bool plain = vocab->types[id] != POWER_TOKEN_CONTROL;
        if (plain && s.length > vocab->longest_spelling) vocab->longest_spelling = s.length;
    }
    return status;
}

static void add_end(struct power_vocab_info *info, uint32_t id) {
    if (id >= info->n_tokens || info->n_end_tokens == POWER_MAX_END_TOKENS) return;
    for (uint32_t i = 0; i < info->n_end_tokens; i++) {
        if (info->end_tokens[i] == id) return;
    }
    info->end_tokens[info->n_end_tokens++] = id;
}

static void find_ends(struct power_vocab_draft *draft) {
    struct power_vocab *vocab = draft->vocab;
    add_end(&vocab->info, vocab->info.eos);
    add_end(&vocab->info, draft->eot);
    add_end(&vocab->info, draft->eom);
    for (uint32_t i = 0; i < draft->n_ends; i++)
        add_end(&vocab->info, draft->ends[i]);
    for (size_t i = 0; i < sizeof end_spellings / sizeof *end_spellings; i++) {
        uint32_t id = power_vocab_find(vocab, power_text_of(end_spellings[i]));
        if (id != POWER_NO_TOKEN && vocab->types[id] == POWER_TOKEN_CONTROL)
            add_end(&vocab->info, id);
    }
}

/* A user-defined token is found in any text. What ends or begins turns is a control token whatever
 * the file calls it, so that nobody can write another's turn. */
static void guard_turns(struct power_vocab_draft *draft, const char *const *spellings, size_t n) {
    struct power_vocab *vocab = draft->vocab;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = power_vocab_find(vocab, power_text_of(spellings[i]));
        if (id == POWER_NO_TOKEN || vocab->types[id] != POWER_TOKEN_USER_DEFINED) continue;
        vocab->types[id] = POWER_TOKEN_CONTROL;
        for (uint32_t k = 0; k < draft->n_specials; k++)
            draft->specials[k].control = draft->specials[k].control || draft->specials[k].id == id;
    }
}

/* User-defined pieces are looked for after spaces were escaped; files spell them either way. */
static bool escape_spelling(struct power_vocab *vocab, struct power_text *spelling) {
    size_t spaces = 0, n = 0;
    for (size_t i = 0; i < spelling->length; i++)
        spaces += spelling->bytes[i] == ' ';
    if (spaces == 0) return true;
    char *out = power_arena_alloc(&vocab->arena, spelling->length + 2 * spaces, 1);
    if (!out) return false;
    for (size_t i = 0; i < spelling->length; i++) {
        bool space = spelling->bytes[i] == ' ';
        memcpy(out + n, space ? "\xE2\x96\x81" : &spelling->bytes[i], space ? 3 : 1);
        n += space ? 3 : 1;
    }
    *spelling = (struct power_text){out, n};
    return true;
}

/* Tokens that are looked for in the normalised text are spelled as normalised texts are. */
static power_status normalise_spelling(struct power_vocab *vocab, struct power_special *item,
                                       power_error *error) {
    struct power_tokenize_options options = {0};
    struct power_encode_work work = {.vocab = vocab, .options = &options, .error = error};
    struct power_view in = {.text = item->spelling}, out;
    size_t most = item->spelling.length * vocab->most_growth + 64;
    for (size_t i = 0; i < 2; i++)
        power_buffer_init(&work.scratch[i].text, vocab->allocator, most);
    bool ok = power_normalise(&work, vocab->normal, vocab->n_normal, &in, &out);
    char *copy = ok ? power_arena_text(&vocab->arena, out.text.bytes, out.text.length) : NULL;
    if (copy) item->spelling = (struct power_text){copy, out.text.length};
    for (size_t i = 0; i < 2; i++)
        power_buffer_finish(&work.scratch[i].text);
    if (!ok) return work.status;
    return copy ? POWER_OK : power_fail_memory(error, most, "special tokens");
}

/* Two sets: what is looked for in the text, and what in the normalised text. */
static power_status build_flagged(struct power_vocab_draft *draft, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    uint32_t n = draft->n_specials, raw = 0;
    power_status status = POWER_OK;
    for (uint32_t i = 0; status == POWER_OK && i < n; i++) {
        struct power_special item = draft->specials[i];
        if (item.normalized) {
            status = normalise_spelling(vocab, &draft->specials[i], error);
            continue;
        }
        draft->specials[i] = draft->specials[raw];
        draft->specials[raw++] = item;
    }
    if (status == POWER_OK)
        status = power_specials_build(vocab, &vocab->specials, draft->specials, raw, error);
    if (status == POWER_OK)
        status = power_specials_build(vocab, &vocab->normal_specials, draft->specials + raw,
                                      n - raw, error);
    return status;
}

/* Special tokens: the flags of the draft where tokenizer.json gave them, else plain ones by type.
 */
static power_status build_specials(struct power_vocab_draft *draft, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    if (draft->specials) return build_flagged(draft, error);
    uint32_t count = 0, n = vocab->info.n_tokens;
    for (uint32_t id = 0; id < n; id++)
        count += vocab->types[id] == POWER_TOKEN_CONTROL ||
                 vocab->types[id] == POWER_TOKEN_UNKNOWN ||
                 vocab->types[id] == POWER_TOKEN_USER_DEFINED;
    struct power_special *items = power_alloc(vocab->allocator, count + 1u, sizeof *items);
    if (!items) return power_fail_memory(error, count * sizeof *items, "special tokens");
    uint32_t at = 0;
    bool ok = true;
    for (uint32_t id = 0; ok && id < n; id++) {
        unsigned char type = vocab->types[id];
        if (type != POWER_TOKEN_CONTROL && type != POWER_TOKEN_UNKNOWN &&
            type != POWER_TOKEN_USER_DEFINED)
            continue;
        items[at++] = (struct power_special){.spelling = vocab->spellings[id],
                                             .id = id,
                                             .control = type != POWER_TOKEN_USER_DEFINED};
        bool spm = vocab->kind == POWER_VOCAB_SPM || vocab->kind == POWER_VOCAB_UNIGRAM;
        if (spm && vocab->escape_spaces && !items[at - 1].control)
            ok = escape_spelling(vocab, &items[at - 1].spelling);
    }
    power_status status = ok ? power_specials_build(vocab, &vocab->specials, items, count, error)
                             : power_fail_memory(error, 0, "special tokens");
    power_release(vocab->allocator, items, count + 1u, sizeof *items);
    return status;
}

static power_status check_id(const struct power_vocab *vocab, uint32_t id, const char *name,
                             power_error *error) {
    if (id == POWER_NO_TOKEN || id < vocab->info.n_tokens) return POWER_OK;
    return power_fail(error, POWER_CORRUPT, "%s token %u is not below the vocabulary size %u", name,
                      id, vocab->info.n_tokens);
}

/* What stands around a text, where the file gave no list of its own. */
static void put_around(struct power_vocab *vocab) {
    const struct power_vocab_info *info = &vocab->info;
    if (vocab->n_front == 0 && info->bos != POWER_NO_TOKEN)
        vocab->front[vocab->n_front++] = info->bos;
    if (vocab->n_back == 0 && info->eos != POWER_NO_TOKEN) vocab->back[vocab->n_back++] = info->eos;
}

static power_status complete(struct power_vocab_draft *draft, power_error *error) {
    struct power_vocab *vocab = draft->vocab;
    power_status status = check_id(vocab, vocab->info.bos, "bos", error);
    if (status == POWER_OK) status = check_id(vocab, vocab->info.eos, "eos", error);
    if (status == POWER_OK) status = check_id(vocab, vocab->info.unk, "unknown", error);
    if (status == POWER_OK) status = check_id(vocab, vocab->info.pad, "padding", error);
    if (status == POWER_OK) status = check_id(vocab, draft->eot, "eot", error);
    if (status == POWER_OK) status = check_id(vocab, draft->eom, "eom", error);
    if (status != POWER_OK) return status;
    guard_turns(draft, end_spellings, sizeof end_spellings / sizeof *end_spellings);
    guard_turns(draft, turn_spellings, sizeof turn_spellings / sizeof *turn_spellings);
    status = build_specials(draft, error);
    if (status != POWER_OK) return status;
    if (vocab->kind == POWER_VOCAB_SPM) status = power_spm_build(vocab, error);
    if (vocab->kind == POWER_VOCAB_WORDPIECE) status = power_wordpiece_build(vocab, error);
    if (vocab->kind == POWER_VOCAB_UNIGRAM) status = power_unigram_build(vocab, error);
    if (status != POWER_OK) return status;
    put_around(vocab);
    if (!power_pieces_build(vocab)) return power_fail_memory(error, 0, "vocabulary");
    find_ends(draft);
    if (vocab->kind == POWER_VOCAB_BYTE_BPE) return power_bpe_build(vocab, error);
    return vocab->kind == POWER_VOCAB_SPM ? power_words_build(vocab, error) : POWER_OK;
}

power_status power_vocab_create(const power_allocator *allocator, const struct power_source *source,
                                struct power_vocab **out, power_error *error) {
    return power_vocab_create_named(allocator, source, (struct power_text){0}, out, error);
}

power_status power_vocab_create_named(const power_allocator *allocator,
                                      const struct power_source *source, struct power_text pre,
                                      struct power_vocab **out, power_error *error) {
    struct power_vocab *vocab = power_alloc(allocator, 1, sizeof *vocab);
    if (!vocab) return power_fail_memory(error, sizeof *vocab, "vocabulary");
    vocab->allocator = allocator;
    power_arena_init(&vocab->arena, allocator, SIZE_MAX);
    vocab->most_growth = 4; /* spaces escaped, form C */
    struct power_vocab_info *info = &vocab->info;
    info->bos = info->eos = info->unk = info->pad = info->mask = POWER_NO_TOKEN;
    info->fim_pre = info->fim_suf = info->fim_mid = POWER_NO_TOKEN;
    info->fim_pad = info->fim_rep = info->fim_sep = POWER_NO_TOKEN;
    struct power_vocab_draft draft = {.vocab = vocab,
                                      .pre = pre,
                                      .eot = POWER_NO_TOKEN,
                                      .eom = POWER_NO_TOKEN,
                                      .cls = POWER_NO_TOKEN,
                                      .sep = POWER_NO_TOKEN};
    power_status status;
    if (pre.length && source->container != POWER_CONTAINER_GGUF)
        status = power_fail(error, POWER_INVALID,
                            "pre-tokenizer \"%s\" was named, the model's own files define it",
                            power_quote(pre.bytes, pre.length).text);
    else if (source->container == POWER_CONTAINER_GGUF)
        status = power_vocab_from_gguf(&draft, source, error);
    else if (source->tokenizer_json.length)
        status = power_vocab_from_json(&draft, source, error);
    else if (source->tokenizer_model.length)
        status = power_vocab_from_sentencepiece(&draft, source, error);
    else
        status = power_fail(error, POWER_NOT_FOUND,
                            "the model has neither tokenizer.json nor tokenizer.model");
    if (status == POWER_OK) status = complete(&draft, error);
    if (status != POWER_OK) {
        power_vocab_destroy(vocab);
        return status;
    }
    *out = vocab;
    return POWER_OK;
}

void power_vocab_destroy(struct power_vocab *vocab) {
    if (!vocab) return;
    power_index_destroy(vocab->index);
    power_arena_finish(&vocab->arena);
    power_release(vocab->allocator, vocab, 1, sizeof *vocab);
}

const struct power_vocab_info *power_vocab_info(const struct power_vocab *vocab) {
    return &vocab->info;
}

struct power_text power_vocab_piece(const struct power_vocab *vocab, uint32_t id) {
    return id < vocab->info.n_tokens ? vocab->pieces[id] : POWER_TEXT("");
}

enum power_token_type power_vocab_token_type(const struct power_vocab *vocab, uint32_t id) {
    return id < vocab->info.n_tokens ? (enum power_token_type)vocab->types[id] : POWER_TOKEN_UNUSED;
}

uint32_t power_vocab_find(const struct power_vocab *vocab, struct power_text spelling) {
    uint32_t id;
    return power_index_find(vocab->index, spelling, &id) ? id : POWER_NO_TOKEN;
}

bool power_vocab_is_end(const struct power_vocab *vocab, uint32_t id) {
    for (uint32_t i = 0; i < vocab->info.n_end_tokens; i++) {
        if (vocab->info.end_tokens[i] == id) return true;
    }
    return false;
}
