/* SPDX-License-Identifier: MIT */
/* Job: the "model" of a tokenizer.json: tokens, scores, merges, settings.
 * Input: its JSON, in three passes. Output: counts, then tables.
 * Threads: making one. Bounds: nothing is believed beyond what the first pass counted. */
#include <math.h>

#include "text/vocab_json.h"

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

void power_tokenizer_count(struct power_tokenizer_json *t, uint64_t id, size_t bytes) {
    t->n_tokens++;
    t->text_bytes += bytes;
    if (id >= t->end_id) t->end_id = id + 1;
}

struct power_text power_tokenizer_put(struct power_tokenizer_json *t, struct power_text text) {
    if (text.length > t->blob_left) return (struct power_text){NULL, 0};
    struct power_text copy = {t->blob, text.length};
    if (text.length) memcpy(t->blob, text.bytes, text.length);
    t->blob += text.length;
    t->blob_left -= text.length;
    return copy;
}

static bool take_token(struct power_tokenizer_json *t, struct power_text kept, uint64_t id) {
    struct power_vocab *vocab = t->draft->vocab;
    if (t->pass == 0) {
        power_tokenizer_count(t, id, kept.length);
        return true;
    }
    vocab->in_model[id] = 1;
    if (vocab->spellings[id].bytes && power_text_equal(vocab->spellings[id], kept))
        return true; /* an added token, whose flags count */
    if (vocab->spellings[id].bytes)
        return power_tokenizer_fail(t, POWER_CORRUPT,
                                    "tokenizer.json: the id of \"%s\" is given twice", kept);
    vocab->spellings[id] = kept;
    vocab->types[id] = POWER_TOKEN_NORMAL;
    return true;
}

/* The value of a JSON number by the published library's rule, which rounds twice (its digits as one
 * integer, then the product or quotient with a power of ten): ties depend on the last bit. */
static double value_of(struct power_text n) {
    uint64_t digits = 0;
    long exponent = 0, written = 0;
    bool fraction = false, full = false;
    size_t i = n.bytes[0] == '-';
    for (; i < n.length && n.bytes[i] != 'e' && n.bytes[i] != 'E'; i++) {
        if (n.bytes[i] == '.') {
            fraction = true;
            continue;
        }
        unsigned digit = (unsigned)(n.bytes[i] - '0');
        full = full || digits > (UINT64_MAX - digit) / 10;
        if (!full) digits = digits * 10 + digit;
        if (full != fraction) exponent += full ? 1 : -1; /* what is not read counts, or was read */
    }
    bool negative = i + 1 < n.length && n.bytes[i + 1] == '-';
    for (i++; i < n.length; i++) {
        if (n.bytes[i] >= '0' && n.bytes[i] <= '9' && written < 100000)
            written = written * 10 + (n.bytes[i] - '0');
    }
    exponent += negative ? -written : written;
    double value = (double)digits;
    for (; exponent < -308 && value > 0; exponent += 308)
        value /= 1e308;
    if (value > 0 && exponent < 0) value /= pow(10, (double)-exponent);
    if (value > 0 && exponent > 0) value *= pow(10, (double)exponent);
    return n.bytes[0] == '-' ? -value : value;
}

static bool read_score(struct power_tokenizer_json *t, uint64_t id) {
    if (t->json.value.length > 64)
        return power_tokenizer_fail(t, POWER_LIMIT, "tokenizer.json: score \"%s\" is too long",
                                    t->json.value);
    if (t->pass == 1 && t->scores) t->scores[id] = value_of(t->json.value);
    return true;
}

/* [["token", score], ...] */
static bool read_scored(struct power_tokenizer_json *t) {
    enum power_json_event event;
    uint64_t id = 0;
    t->has_list = true;
    for (; (event = power_json_next(&t->json)) == POWER_JSON_ARRAY; id++) {
        if (power_json_next(&t->json) != POWER_JSON_STRING) return false;
        struct power_text kept = t->json.value;
        if (t->pass == 1) kept = power_tokenizer_put(t, kept);
        if (!take_token(t, kept, id) || power_json_next(&t->json) != POWER_JSON_NUMBER ||
            !read_score(t, id) || power_json_next(&t->json) != POWER_JSON_ARRAY_END)
            return false;
    }
    return event == POWER_JSON_ARRAY_END;
}

/* {"token": id, ...} or a list with scores */
static bool read_vocab(struct power_tokenizer_json *t, enum power_json_event event) {
    if (t->pass != 2 && event == POWER_JSON_ARRAY) return read_scored(t);
    if (t->pass == 2 || event != POWER_JSON_OBJECT) return power_json_skip(&t->json, event);
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        struct power_text kept = t->json.value; /* in the first pass its length alone counts */
        if (t->pass == 1) kept = power_tokenizer_put(t, kept);
        uint64_t id;
        if (power_json_next(&t->json) != POWER_JSON_NUMBER || !power_tokenizer_number(t, &id) ||
            !take_token(t, kept, id))
            return false;
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

/* Settings that other models than ours have: allowed where they are as good as absent. */
static bool check_absent(struct power_tokenizer_json *t, struct power_text key,
                         enum power_json_event event) {
    bool empty = event == POWER_JSON_STRING && t->json.value.length == 0;
    bool zero = event == POWER_JSON_NUMBER;
    for (size_t i = 0; zero && i < t->json.value.length; i++)
        zero = t->json.value.bytes[i] == '0' || t->json.value.bytes[i] == '.';
    if (event == POWER_JSON_NULL || event == POWER_JSON_FALSE || empty || zero) return true;
    return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                "tokenizer.json: \"%s\" of the model is not supported", key);
}

enum setting {
    SET_NONE,
    SET_TYPE,
    SET_UNK,
    SET_UNK_ID,
    SET_FALLBACK,
    SET_IGNORE,
    SET_FUSE,
    SET_PREFIX,
    SET_CHARS,
    SET_VOCAB,
    SET_MERGES,
    SET_ABSENT
};

static enum setting setting_of(struct power_text key) {
    static const struct {
        const char *name;
        enum setting setting;
    } settings[] = {{"type", SET_TYPE},
                    {"unk_token", SET_UNK},
                    {"unk_id", SET_UNK_ID},
                    {"byte_fallback", SET_FALLBACK},
                    {"ignore_merges", SET_IGNORE},
                    {"fuse_unk", SET_FUSE},
                    {"continuing_subword_prefix", SET_PREFIX},
                    {"max_input_chars_per_word", SET_CHARS},
                    {"vocab", SET_VOCAB},
                    {"merges", SET_MERGES},
                    {"end_of_word_suffix", SET_ABSENT},
                    {"dropout", SET_ABSENT}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (equal(key, settings[i].name)) return settings[i].setting;
    }
    return SET_NONE;
}

static bool read_setting(struct power_tokenizer_json *t, enum setting setting,
                         enum power_json_event event) {
    bool on = event == POWER_JSON_TRUE, text = event == POWER_JSON_STRING;
    bool number = event == POWER_JSON_NUMBER;
    switch (setting) {
    case SET_TYPE:
        return text ? power_tokenizer_keep(t, &t->model_type) : power_json_skip(&t->json, event);
    case SET_UNK:
        return text ? power_tokenizer_keep(t, &t->unk) : power_json_skip(&t->json, event);
    case SET_PREFIX:
        t->has_part_prefix = text;
        return text ? power_tokenizer_keep(t, &t->part_prefix) : power_json_skip(&t->json, event);
    case SET_UNK_ID:
        t->has_unk_id = number;
        return number ? power_tokenizer_number(t, &t->unk_id) : power_json_skip(&t->json, event);
    case SET_CHARS:
        t->has_max_chars = number;
        return number ? power_tokenizer_number(t, &t->max_word_chars)
                      : power_json_skip(&t->json, event);
    case SET_FALLBACK:
        t->byte_fallback = on;
        break;
    case SET_IGNORE:
        t->ignore_merges = on;
        break;
    case SET_FUSE:
        t->draft->vocab->fuse_unk = on;
        break;
    case SET_VOCAB:
        return read_vocab(t, event);
    case SET_MERGES:
        t->has_merges = true;
        return read_merges(t, event);
    case SET_NONE:
    case SET_ABSENT:
        break;
    }
    return power_json_skip(&t->json, event);
}

bool power_tokenizer_model(struct power_tokenizer_json *t, enum power_json_event event) {
    if (event != POWER_JSON_OBJECT) return power_json_skip(&t->json, event);
    while ((event = power_json_next(&t->json)) == POWER_JSON_KEY) {
        char room[32];
        size_t n = t->json.value.length < sizeof room ? t->json.value.length : sizeof room;
        memcpy(room, t->json.value.bytes, n);
        struct power_text key = {room, n};
        enum setting setting = setting_of(key);
        event = power_json_next(&t->json);
        if (setting == SET_ABSENT && !check_absent(t, key, event)) return false;
        if (!read_setting(t, setting, event)) return false;
    }
    return event == POWER_JSON_OBJECT_END;
}
