/* SPDX-License-Identifier: MIT */
/* Job: the vocabulary of a tokenizer.json (BPE models). Input: its text. Output: tables.
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

static bool read_id(struct power_tokenizer_json *t, uint64_t *out) {
    struct power_text n = t->json.value;
    uint64_t value = 0;
    bool good = n.length > 0 && n.length < 10;
    for (size_t i = 0; good && i < n.length; i++) {
        good = n.bytes[i] >= '0' && n.bytes[i] <= '9';
        value = value * 10 + (uint64_t)(n.bytes[i] - '0');
    }
    *out = value;
    return good || power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: token id \"%s\"", n);
}

static void count_token(struct power_tokenizer_json *t, uint64_t id, size_t bytes) {
    t->n_tokens++;
    t->text_bytes += bytes;
    if (id >= t->end_id) t->end_id = id + 1;
}

static struct power_text put_text(struct power_tokenizer_json *t, struct power_text text) {
    if (text.length > t->blob_left) return (struct power_text){NULL, 0};
    struct power_text copy = {t->blob, text.length};
    if (text.length) memcpy(t->blob, text.bytes, text.length);
    t->blob += text.length;
    t->blob_left -= text.length;
    return copy;
}

/* {"token": id, ...} */
static bool read_vocab(struct power_tokenizer_json *t, enum power_json_event event) {
    struct power_vocab *vocab = t->draft->vocab;
    if (t->pass == 2 || event != POWER_JSON_OBJECT) return power_json_skip(&t->json, event);
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text key = t->json.value, kept = key;
        if (t->pass == 1) kept = put_text(t, key);
        uint64_t id;
        if (power_json_next(&t->json) != POWER_JSON_NUMBER || !read_id(t, &id)) return false;
        if (t->pass == 0) {
            count_token(t, id, kept.length);
            continue;
        }
        if (vocab->spellings[id].bytes && power_text_equal(vocab->spellings[id], kept))
            continue; /* an added token, whose flags count */
        if (vocab->spellings[id].bytes)
            return power_tokenizer_fail(t, POWER_CORRUPT,
                                        "tokenizer.json: the id of \"%s\" is given twice", kept);
        vocab->spellings[id] = kept;
        vocab->types[id] = POWER_TOKEN_NORMAL;
    }
    return event == POWER_JSON_OBJECT_END;
}

static bool add_pair(struct power_tokenizer_json *t, struct power_text left,
                     struct power_text right) {
    t->status = power_merges_add_texts(t->draft->vocab, left, right, t->at_merge++, t->error);
    return t->status == POWER_OK;
}

static bool read_merge(struct power_tokenizer_json *t, enum power_json_event event) {
    struct power_text text = t->json.value;
    if (event == POWER_JSON_STRING) {
        const char *space = text.length > 1 ? memchr(text.bytes + 1, ' ', text.length - 1) : NULL;
        if (!space)
            return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: merge \"%s\"", text);
        size_t n = (size_t)(space - text.bytes);
        return add_pair(t, (struct power_text){text.bytes, n},
                        (struct power_text){space + 1, text.length - n - 1});
    }
    char left[2048];
    if (event != POWER_JSON_ARRAY || power_json_next(&t->json) != POWER_JSON_STRING ||
        t->json.value.length > sizeof left)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: merge after \"%s\"", text);
    size_t n = t->json.value.length;
    memcpy(left, t->json.value.bytes, n);
    if (power_json_next(&t->json) != POWER_JSON_STRING) return false;
    return add_pair(t, (struct power_text){left, n}, t->json.value) &&
           power_json_next(&t->json) == POWER_JSON_ARRAY_END;
}

static bool read_merges(struct power_tokenizer_json *t, enum power_json_event event) {
    if (t->pass == 1 || event != POWER_JSON_ARRAY) return power_json_skip(&t->json, event);
    for (;;) {
        event = power_json_next(&t->json);
        if (event == POWER_JSON_ARRAY_END) return true;
        if (event == POWER_JSON_FAIL) return false;
        t->n_merges += t->pass == 0;
        if (t->pass == 0 ? !power_json_skip(&t->json, event) : !read_merge(t, event)) return false;
    }
}

static bool read_model(struct power_tokenizer_json *t, enum power_json_event event) {
    if (event != POWER_JSON_OBJECT) return power_json_skip(&t->json, event);
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text key = t->json.value;
        bool vocab = equal(key, "vocab"), merges = equal(key, "merges"), type = equal(key, "type");
        bool unk = equal(key, "unk_token"), fallback = equal(key, "byte_fallback");
        bool ignore = equal(key, "ignore_merges"), fuse = equal(key, "fuse_unk");
        event = power_json_next(&t->json);
        bool on = event == POWER_JSON_TRUE, ok = true;
        if (vocab)
            ok = read_vocab(t, event);
        else if (merges)
            ok = read_merges(t, event);
        else if (type && event == POWER_JSON_STRING)
            ok = power_tokenizer_keep(t, &t->model_type);
        else if (unk && event == POWER_JSON_STRING)
            ok = power_tokenizer_keep(t, &t->unk);
        else
            ok = power_json_skip(&t->json, event);
        if (!ok) return false;
        if (fallback) t->byte_fallback = on;
        if (ignore) t->ignore_merges = on;
        if (fuse) t->draft->vocab->fuse_unk = on;
    }
    return event == POWER_JSON_OBJECT_END;
}

static bool take_added(struct power_tokenizer_json *t, struct power_special item, bool have_id) {
    struct power_vocab *vocab = t->draft->vocab;
    if (!have_id || !item.spelling.length)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: added token \"%s\"",
                                    item.spelling);
    if (t->pass == 0) {
        t->n_added++;
        count_token(t, item.id, item.spelling.length);
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
                                                 : NULL;
        event = power_json_next(&t->json);
        if (is_id && event == POWER_JSON_NUMBER) {
            if (!read_id(t, &id)) return false;
            have_id = true;
        } else if (content && event == POWER_JSON_STRING) {
            item.spelling = t->json.value;
            if (t->pass == 1) item.spelling = put_text(t, t->json.value);
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

static bool read_top(struct power_tokenizer_json *t) {
    if (power_json_next(&t->json) != POWER_JSON_OBJECT)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: %s",
                                    POWER_TEXT("no object"));
    enum power_json_event event;
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text key = t->json.value;
        bool model = equal(key, "model"), added = equal(key, "added_tokens");
        int role = equal(key, "normalizer")       ? POWER_NORMALIZER
                   : equal(key, "pre_tokenizer")  ? POWER_PRE_TOKENIZER
                   : equal(key, "post_processor") ? POWER_POST_PROCESSOR
                                                  : -1;
        event = power_json_next(&t->json);
        bool ok;
        if (model)
            ok = read_model(t, event);
        else if (added)
            ok = read_added(t, event);
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

static bool choose_kind(struct power_tokenizer_json *t) {
    struct power_vocab *vocab = t->draft->vocab;
    if (!equal(t->model_type, "BPE"))
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: model \"%s\" is not supported", t->model_type);
    if (!t->byte_level && !t->byte_fallback)
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: model \"%s\" without bytes is not supported",
                                    t->model_type);
    vocab->kind = t->byte_level ? POWER_VOCAB_BYTE_BPE : POWER_VOCAB_CHAR_BPE;
    vocab->whole_words = t->ignore_merges;
    vocab->info.model = t->byte_level ? POWER_TEXT("gpt2") : POWER_TEXT("llama");
    vocab->info.pre = POWER_TEXT("tokenizer.json");
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
    if (!t->blob || !t->added) return no_memory(t, t->blob_left);
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

static power_status finish(struct power_tokenizer_json *t, const struct power_source *source) {
    struct power_vocab *vocab = t->draft->vocab;
    struct power_vocab_info *info = &vocab->info;
    for (uint32_t id = 0; id < info->n_tokens; id++) {
        if (!vocab->spellings[id].bytes) vocab->spellings[id] = POWER_TEXT("");
    }
    if (vocab->kind == POWER_VOCAB_CHAR_BPE) mark_byte_tokens(vocab);
    power_status status = power_vocab_index(vocab, t->error);
    if (status == POWER_OK) status = power_merges_init(vocab, (size_t)t->n_merges, t->error);
    if (status != POWER_OK) return status;
    if (!read_pass(t, source, 2)) return t->status;
    if (t->unk.length) info->unk = power_vocab_find(vocab, t->unk);
    if (t->front.length) info->bos = power_vocab_find(vocab, t->front);
    if (t->back.length) info->eos = power_vocab_find(vocab, t->back);
    info->add_bos = info->bos != POWER_NO_TOKEN;
    info->add_eos = info->eos != POWER_NO_TOKEN;
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
