/* SPDX-License-Identifier: MIT */
/* Job: the vocabulary of a tokenizer.json. Input: its text. Output: tables.
 * Threads: making one. Bounds: three passes (count, tokens, merges); ids may leave gaps, but the
 * tables never exceed twice what the text lists. */
#include <stdlib.h>

#include "text/vocab_json.h"

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

bool power_tokenizer_fail(struct power_tokenizer_json *t, power_status status, const char *format,
                          struct power_text quoted) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    t->status = power_fail(t->error, status, format, power_quote(quoted.bytes, quoted.length).text);
#pragma GCC diagnostic pop
    return false;
}

static bool no_memory(struct power_tokenizer_json *t, size_t bytes) {
    t->status = power_fail_memory(t->error, bytes, "tokenizer.json");
    return false;
}

bool power_tokenizer_keep(struct power_tokenizer_json *t, struct power_text *out) {
    struct power_text value = t->json.value;
    char *copy = power_arena_text(&t->draft->vocab->arena, value.bytes, value.length);
    if (!copy) return no_memory(t, value.length);
    *out = (struct power_text){copy, value.length};
    return true;
}

bool power_tokenizer_around(struct power_tokenizer_json *t, bool after) {
    uint32_t *n = after ? &t->n_back : &t->n_front;
    if (*n == POWER_MAX_AROUND)
        return power_tokenizer_fail(t, POWER_LIMIT,
                                    "tokenizer.json: too many tokens around a text at \"%s\"",
                                    t->json.value);
    return power_tokenizer_keep(t, &(after ? t->back : t->front)[(*n)++]);
}

bool power_tokenizer_number(struct power_tokenizer_json *t, uint64_t *out) {
    struct power_text n = t->json.value;
    uint64_t value = 0;
    bool good = n.length > 0 && n.length < 10;
    for (size_t i = 0; good && i < n.length; i++) {
        good = n.bytes[i] >= '0' && n.bytes[i] <= '9';
        value = value * 10 + (uint64_t)(n.bytes[i] - '0');
    }
    *out = value;
    return good || power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: number \"%s\"", n);
}

static bool take_added(struct power_tokenizer_json *t, struct power_special item, bool have_id) {
    struct power_vocab *vocab = t->draft->vocab;
    if (!have_id || !item.spelling.length)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: added token \"%s\"",
                                    item.spelling);
    if (t->pass == 0) {
        t->n_added++;
        power_tokenizer_count(t, item.id, item.spelling.length);
        return true;
    }
    vocab->spellings[item.id] = item.spelling;
    vocab->types[item.id] = item.control ? POWER_TOKEN_CONTROL : POWER_TOKEN_USER_DEFINED;
    t->added[t->at_added++] = item;
    return true;
}

static bool read_added_token(struct power_tokenizer_json *t) {
    struct power_special item = {0};
    uint64_t id = 0;
    bool have_id = false;
    enum power_json_event event;
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text key = t->json.value;
        bool is_id = equal(key, "id"), content = equal(key, "content");
        bool *flag = equal(key, "special")       ? &item.control
                     : equal(key, "lstrip")      ? &item.lstrip
                     : equal(key, "rstrip")      ? &item.rstrip
                     : equal(key, "single_word") ? &item.single_word
                     : equal(key, "normalized")  ? &item.normalized
                                                 : NULL;
        event = power_json_next(&t->json);
        if (is_id && event == POWER_JSON_NUMBER) {
            if (!power_tokenizer_number(t, &id)) return false;
            have_id = true;
        } else if (content && event == POWER_JSON_STRING) {
            item.spelling = t->json.value;
            if (t->pass == 1) item.spelling = power_tokenizer_put(t, t->json.value);
            if (t->pass == 0 && !power_tokenizer_keep(t, &item.spelling)) return false;
        } else if (!power_json_skip(&t->json, event)) {
            return false;
        }
        if (flag) *flag = event == POWER_JSON_TRUE;
    }
    item.id = (uint32_t)id;
    return event == POWER_JSON_OBJECT_END && take_added(t, item, have_id);
}

static bool read_added(struct power_tokenizer_json *t, enum power_json_event event) {
    if (t->pass == 2 || event != POWER_JSON_ARRAY) return power_json_skip(&t->json, event);
    while ((event = power_json_next(&t->json)) == POWER_JSON_OBJECT) {
        if (!read_added_token(t)) return false;
    }
    return event == POWER_JSON_ARRAY_END;
}

/* {"max_length": 128, ...}, {"strategy": {"Fixed": 128}, ...}: told, not done, by this library. */
static bool read_length(struct power_tokenizer_json *t, enum power_json_event event, bool cut) {
    struct power_vocab_info *info = &t->draft->vocab->info;
    if (event != POWER_JSON_OBJECT) return power_json_skip(&t->json, event);
    uint32_t outside = t->json.depth - 1;
    while (t->json.depth > outside) {
        event = power_json_next(&t->json);
        if (event == POWER_JSON_FAIL) return false;
        if (event != POWER_JSON_KEY || !equal(t->json.value, cut ? "max_length" : "Fixed"))
            continue;
        uint64_t n;
        if (power_json_next(&t->json) != POWER_JSON_NUMBER || !power_tokenizer_number(t, &n))
            return false;
        *(cut ? &info->truncation_tokens : &info->padding_tokens) = (uint32_t)n;
    }
    return true;
}

static bool read_top(struct power_tokenizer_json *t) {
    if (power_json_next(&t->json) != POWER_JSON_OBJECT)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: %s",
                                    POWER_TEXT("no object"));
    enum power_json_event event;
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text key = t->json.value;
        bool model = equal(key, "model"), added = equal(key, "added_tokens");
        bool cut = equal(key, "truncation"), pad = equal(key, "padding");
        int role = equal(key, "normalizer")       ? POWER_NORMALIZER
                   : equal(key, "pre_tokenizer")  ? POWER_PRE_TOKENIZER
                   : equal(key, "post_processor") ? POWER_POST_PROCESSOR
                   : equal(key, "decoder")        ? POWER_DECODER
                                                  : -1;
        event = power_json_next(&t->json);
        bool ok;
        if (model)
            ok = power_tokenizer_model(t, event);
        else if (added)
            ok = read_added(t, event);
        else if ((cut || pad) && t->pass == 0)
            ok = read_length(t, event, cut);
        else if (role >= 0 && t->pass == 0)
            ok = power_tokenizer_part(t, event, (enum power_tokenizer_role)role, 0);
        else
            ok = power_json_skip(&t->json, event);
        if (!ok) return false;
    }
    return event == POWER_JSON_OBJECT_END && power_json_next(&t->json) == POWER_JSON_END;
}

static bool read_pass(struct power_tokenizer_json *t, const struct power_source *source, int pass) {
    t->pass = pass;
    power_json_init(&t->json, t->draft->vocab->allocator, source->tokenizer_json, "tokenizer.json",
                    t->error);
    bool ok = read_top(t);
    if (!ok && t->status == POWER_OK)
        t->status = t->json.done
                        ? power_json_status(&t->json)
                        : power_fail_at(t->error, POWER_CORRUPT, t->json.at,
                                        "tokenizer.json: unexpected value at byte %zu", t->json.at);
    power_json_finish(&t->json);
    return ok;
}

/* Older files do not say: what only one kind has tells. */
static struct power_text type_of(const struct power_tokenizer_json *t) {
    if (t->model_type.length) return t->model_type;
    if (t->has_list) return POWER_TEXT("Unigram");
    if (t->has_merges) return POWER_TEXT("BPE");
    return t->has_max_chars ? POWER_TEXT("WordPiece") : POWER_TEXT("WordLevel");
}

static bool choose_kind(struct power_tokenizer_json *t) {
    struct power_vocab *vocab = t->draft->vocab;
    struct power_text type = type_of(t);
    vocab->piped = true;
    vocab->whole_words = t->ignore_merges;
    vocab->byte_fallback = t->byte_fallback;
    vocab->info.pre = POWER_TEXT("tokenizer.json");
    if (equal(type, "BPE") && t->part_prefix.length)
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: BPE with the prefix \"%s\" is not supported",
                                    t->part_prefix);
    if (equal(type, "BPE")) {
        vocab->kind = t->byte_level ? POWER_VOCAB_BYTE_BPE : POWER_VOCAB_CHAR_BPE;
        vocab->info.model = t->byte_level ? POWER_TEXT("gpt2") : POWER_TEXT("llama");
        return true;
    }
    if (t->byte_level)
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: model \"%s\" with ByteLevel is not supported",
                                    type);
    if (equal(type, "Unigram")) {
        vocab->kind = POWER_VOCAB_UNIGRAM;
        vocab->info.model = POWER_TEXT("t5");
        return true;
    }
    if (!equal(type, "WordPiece"))
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: model \"%s\" is not supported", type);
    vocab->kind = POWER_VOCAB_WORDPIECE;
    vocab->info.model = POWER_TEXT("bert");
    vocab->part_prefix = t->has_part_prefix ? t->part_prefix : POWER_TEXT("##");
    vocab->max_word_chars = t->has_max_chars ? (unsigned)t->max_word_chars : 100;
    return true;
}

static bool reserve(struct power_tokenizer_json *t) {
    struct power_vocab *vocab = t->draft->vocab;
    if (t->end_id > 2 * t->n_tokens + 1024)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: %s",
                                    POWER_TEXT("token ids leave too many gaps"));
    t->status = power_vocab_reserve(vocab, t->end_id, t->error);
    if (t->status != POWER_OK) return false;
    memset(vocab->types, POWER_TOKEN_UNUSED, vocab->info.n_tokens);
    t->blob_left = (size_t)t->text_bytes;
    t->blob = power_arena_alloc(&vocab->arena, t->blob_left + 1, 1);
    t->added = power_arena_alloc(&vocab->arena, (size_t)t->n_added + 1, sizeof *t->added);
    if (vocab->kind == POWER_VOCAB_UNIGRAM)
        t->scores = power_arena_alloc(&vocab->arena, vocab->info.n_tokens, sizeof *t->scores);
    vocab->exact_scores = t->scores;
    vocab->in_model = power_arena_alloc(&vocab->arena, vocab->info.n_tokens, 1);
    if (!vocab->in_model) return no_memory(t, vocab->info.n_tokens);
    bool scored = t->scores || vocab->kind != POWER_VOCAB_UNIGRAM;
    if (!t->blob || !t->added || !scored) return no_memory(t, t->blob_left);
    return true;
}

/* A token that only holds a byte must not be found by its spelling "<0x0A>". */
static void mark_byte_tokens(struct power_vocab *vocab) {
    for (uint32_t id = 0; id < vocab->info.n_tokens; id++) {
        struct power_text s = vocab->spellings[id];
        if (s.length == 6 && memcmp(s.bytes, "<0x", 3) == 0 && s.bytes[5] == '>' &&
            vocab->types[id] == POWER_TOKEN_NORMAL)
            vocab->types[id] = POWER_TOKEN_BYTE;
    }
}

static bool find_around(struct power_tokenizer_json *t, const struct power_text *names, uint32_t n,
                        uint32_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = power_vocab_find(t->draft->vocab, names[i]);
        if (out[i] == POWER_NO_TOKEN)
            return power_tokenizer_fail(t, POWER_CORRUPT,
                                        "tokenizer.json: \"%s\" of the post-processor is no token",
                                        names[i]);
    }
    return true;
}

static power_status finish(struct power_tokenizer_json *t, const struct power_source *source) {
    struct power_vocab *vocab = t->draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    for (uint32_t id = 0; id < info->n_tokens; id++) {
        if (!vocab->spellings[id].bytes) vocab->spellings[id] = POWER_TEXT("");
    }
    if (vocab->kind == POWER_VOCAB_CHAR_BPE || vocab->byte_fallback) mark_byte_tokens(vocab);
    power_status status = power_vocab_index(vocab, t->error);
    if (status == POWER_OK) status = power_merges_init(vocab, (size_t)t->n_merges, t->error);
    if (status != POWER_OK) return status;
    if (!read_pass(t, source, 2)) return t->status;
    if (t->unk.length) info->unk = power_vocab_find(vocab, t->unk);
    if (t->has_unk_id) info->unk = (uint32_t)t->unk_id; /* checked when all is there */
    if (t->has_decoder) info->add_space_prefix = t->strips;
    if (!find_around(t, t->front, t->n_front, vocab->front) ||
        !find_around(t, t->back, t->n_back, vocab->back))
        return t->status;
    vocab->n_front = t->n_front;
    vocab->n_back = t->n_back;
    if (t->n_front) info->bos = vocab->front[0];
    if (t->n_back) info->eos = vocab->back[t->n_back - 1];
    info->add_bos = t->n_front > 0;
    info->add_eos = t->n_back > 0;
    t->draft->specials = t->added;
    t->draft->n_specials = t->at_added;
    return power_vocab_read_configs(t->draft, source, t->error);
}

power_status power_vocab_from_json(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error) {
    struct power_tokenizer_json t = {.draft = draft, .error = error};
    bool ok =
        read_pass(&t, source, 0) && choose_kind(&t) && reserve(&t) && read_pass(&t, source, 1);
    return ok ? finish(&t, source) : t.status;
}
