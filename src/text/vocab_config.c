/* SPDX-License-Identifier: MIT */
/* Job: begin and end tokens as tokenizer_config.json and generation_config.json state them.
 * Input: their texts (either may be empty). Output: fields of the draft.
 * Threads: making one. Bounds: one pass over each. */
#include "text/json.h"
#include "text/vocab_internal.h"

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

static bool read_number(struct power_text n, uint32_t *out) {
    uint64_t value = 0;
    if (n.length == 0 || n.length > 9) return false;
    for (size_t i = 0; i < n.length; i++) {
        if (n.bytes[i] < '0' || n.bytes[i] > '9') return false;
        value = value * 10 + (uint64_t)(n.bytes[i] - '0');
    }
    *out = (uint32_t)value;
    return true;
}

/* "<s>" or {"content": "<s>", ...} */
static bool read_token(struct power_json *json, enum power_json_event event,
                       const struct power_vocab *vocab, uint32_t *out) {
    if (event == POWER_JSON_STRING) {
        uint32_t id = power_vocab_find(vocab, json->value);
        if (id != POWER_NO_TOKEN) *out = id;
        return true;
    }
    if (event != POWER_JSON_OBJECT) return power_json_skip(json, event);
    while ((event = power_json_next(json)) == POWER_JSON_KEY) {
        bool content = equal(json->value, "content");
        event = power_json_next(json);
        if (content && event == POWER_JSON_STRING) {
            uint32_t id = power_vocab_find(vocab, json->value);
            if (id != POWER_NO_TOKEN) *out = id;
        } else if (!power_json_skip(json, event)) {
            return false;
        }
    }
    return event == POWER_JSON_OBJECT_END;
}

static bool read_tokenizer_config(struct power_json *json, struct power_vocab *vocab) {
    struct power_vocab_info *info = &vocab->info;
    if (power_json_next(json) != POWER_JSON_OBJECT) return false;
    enum power_json_event event;
    while ((event = power_json_next(json)) == POWER_JSON_KEY) {
        uint32_t *id = equal(json->value, "bos_token")   ? &info->bos
                       : equal(json->value, "eos_token") ? &info->eos
                       : equal(json->value, "unk_token") ? &info->unk
                       : equal(json->value, "pad_token") ? &info->pad
                                                         : NULL;
        bool *flag = equal(json->value, "add_bos_token")   ? &info->add_bos
                     : equal(json->value, "add_eos_token") ? &info->add_eos
                                                           : NULL;
        event = power_json_next(json);
        if (flag && (event == POWER_JSON_TRUE || event == POWER_JSON_FALSE))
            *flag = event == POWER_JSON_TRUE;
        else if (id ? !read_token(json, event, vocab, id) : !power_json_skip(json, event))
            return false;
    }
    return event == POWER_JSON_OBJECT_END;
}

static void add_end(struct power_vocab_draft *draft, struct power_text number) {
    uint32_t id;
    if (read_number(number, &id) && draft->n_ends < POWER_MAX_END_TOKENS)
        draft->ends[draft->n_ends++] = id;
}

static bool read_generation_config(struct power_json *json, struct power_vocab_draft *draft) {
    if (power_json_next(json) != POWER_JSON_OBJECT) return false;
    enum power_json_event event;
    while ((event = power_json_next(json)) == POWER_JSON_KEY) {
        bool eos = equal(json->value, "eos_token_id");
        event = power_json_next(json);
        if (!eos || (event != POWER_JSON_NUMBER && event != POWER_JSON_ARRAY)) {
            if (!power_json_skip(json, event)) return false;
            continue;
        }
        if (event == POWER_JSON_NUMBER) add_end(draft, json->value);
        while (event == POWER_JSON_ARRAY) {
            enum power_json_event item = power_json_next(json);
            if (item == POWER_JSON_NUMBER) add_end(draft, json->value);
            if (item == POWER_JSON_ARRAY_END) break;
            if (item != POWER_JSON_NUMBER) return false;
        }
    }
    return event == POWER_JSON_OBJECT_END;
}

power_status power_vocab_read_configs(struct power_vocab_draft *draft,
                                      const struct power_source *source, power_error *error) {
    for (int i = 0; i < 2; i++) {
        struct power_text text = i ? source->generation_config_json : source->tokenizer_config_json;
        const char *what = i ? "generation_config.json" : "tokenizer_config.json";
        if (text.length == 0) continue;
        struct power_json json;
        power_json_init(&json, draft->vocab->allocator, text, what, error);
        bool ok =
            i ? read_generation_config(&json, draft) : read_tokenizer_config(&json, draft->vocab);
        power_status status = POWER_OK;
        if (!ok)
            status = json.done ? power_json_status(&json)
                               : power_fail_at(error, POWER_CORRUPT, json.at,
                                               "%s: unexpected value at byte %zu", what, json.at);
        power_json_finish(&json);
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}
