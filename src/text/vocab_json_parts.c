/* SPDX-License-Identifier: MIT */
/* Job: normalizer, pre_tokenizer and post_processor of a tokenizer.json.
 * Input: their JSON. Output: stages and flags of the vocabulary.
 * Threads: making one. Bounds: sequences nest at most four deep.
 * What is not known is refused by its type: nothing is skipped that could change an id. */
#include "text/vocab_json.h"

struct part {
    struct power_text type, pattern, prepend, content, scheme, behavior, replacement;
    bool is_regex, add_prefix_space, use_regex, individual_digits, invert, split;
};

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

static bool add_stage(struct power_tokenizer_json *t, struct power_split_stage stage) {
    if (t->n_stages == POWER_SPLIT_MAX_STAGES)
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: too many pre-tokenizers at \"%s\"",
                                    POWER_TEXT("Sequence"));
    t->draft->vocab->stages[t->n_stages++] = stage;
    return true;
}

static bool is_escaped_space(struct power_text text) {
    return equal(text, "\xE2\x96\x81");
}

static bool apply_normalizer(struct power_tokenizer_json *t, const struct part *part) {
    struct power_vocab *vocab = t->draft->vocab;
    if (equal(part->type, "Sequence")) return true;
    if (equal(part->type, "NFC")) return vocab->nfc = true;
    if (equal(part->type, "Prepend") && is_escaped_space(part->prepend))
        return vocab->info.add_space_prefix = true;
    if (equal(part->type, "Replace") && !part->is_regex && equal(part->pattern, " ") &&
        is_escaped_space(part->content))
        return vocab->escape_spaces = true;
    return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                "tokenizer.json: normalizer \"%s\" is not supported", part->type);
}

static bool apply_split(struct power_tokenizer_json *t, const struct part *part) {
    struct power_split_stage stage;
    if (!part->is_regex && equal(part->pattern, " ") && t->draft->vocab->escape_spaces)
        return true; /* no space is left to split at */
    bool isolated = equal(part->behavior, "Isolated") && !part->invert;
    bool removed = equal(part->behavior, "Removed") && part->invert;
    if (!(isolated || removed) || !part->is_regex || !power_split_stage_of(part->pattern, &stage))
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: split expression \"%s\" is not known",
                                    part->pattern);
    return add_stage(t, stage);
}

static bool apply_metaspace(struct power_tokenizer_json *t, const struct part *part) {
    struct power_vocab *vocab = t->draft->vocab;
    vocab->escape_spaces = vocab->prefix_if_missing = true;
    vocab->info.add_space_prefix =
        part->scheme.length ? !equal(part->scheme, "never") : part->add_prefix_space;
    vocab->prefix_once = equal(part->scheme, "first");
    vocab->split_spaces = part->split;
    return is_escaped_space(part->replacement) ||
           power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                "tokenizer.json: Metaspace with \"%s\" is not supported",
                                part->replacement);
}

static bool apply_pre_tokenizer(struct power_tokenizer_json *t, const struct part *part) {
    if (equal(part->type, "Sequence")) return true;
    if (equal(part->type, "Split")) return apply_split(t, part);
    if (equal(part->type, "Metaspace")) return apply_metaspace(t, part);
    if (equal(part->type, "Digits"))
        return add_stage(t, (struct power_split_stage){.kind = POWER_SPLIT_DIGITS,
                                                       .width = part->individual_digits ? 1 : 0});
    if (equal(part->type, "Punctuation") &&
        (part->behavior.length == 0 || equal(part->behavior, "Contiguous")))
        return add_stage(t, (struct power_split_stage){.kind = POWER_SPLIT_PUNCT});
    if (!equal(part->type, "ByteLevel"))
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: pre-tokenizer \"%s\" is not supported",
                                    part->type);
    t->byte_level = true;
    t->draft->vocab->info.add_space_prefix = part->add_prefix_space;
    return !part->use_regex || add_stage(t, (struct power_split_stage){.kind = POWER_SPLIT_GPT2});
}

static bool apply_post_processor(struct power_tokenizer_json *t, const struct part *part) {
    if (equal(part->type, "Sequence") || equal(part->type, "ByteLevel") ||
        equal(part->type, "TemplateProcessing"))
        return true;
    return power_tokenizer_fail(
        t, POWER_UNSUPPORTED, "tokenizer.json: post-processor \"%s\" is not supported", part->type);
}

static bool next_key(struct power_tokenizer_json *t, struct power_text *out_key, char room[32]) {
    enum power_json_event event = power_json_next(&t->json);
    if (event != POWER_JSON_KEY) return false;
    size_t n = t->json.value.length < 32 ? t->json.value.length : 32;
    memcpy(room, t->json.value.bytes, n);
    *out_key = (struct power_text){room, n};
    return true;
}

/* {"Regex": "..."} or {"String": "..."} */
static bool read_pattern(struct power_tokenizer_json *t, struct part *part) {
    struct power_text key;
    char room[32];
    while (next_key(t, &key, room)) {
        enum power_json_event event = power_json_next(&t->json);
        if (event != POWER_JSON_STRING) return power_json_skip(&t->json, event);
        part->is_regex = equal(key, "Regex");
        if (!power_tokenizer_keep(t, &part->pattern)) return false;
    }
    return !t->json.done;
}

/* [{"SpecialToken": {"id": "<s>", ...}}, {"Sequence": {...}}, ...] */
static bool read_single(struct power_tokenizer_json *t) {
    bool after = false, special = false;
    uint32_t outside = t->json.depth - 1;
    while (t->json.depth > outside) {
        enum power_json_event event = power_json_next(&t->json);
        if (event == POWER_JSON_FAIL) return false;
        if (event != POWER_JSON_KEY) continue;
        if (equal(t->json.value, "SpecialToken")) special = true;
        if (equal(t->json.value, "Sequence")) after = true;
        if (!equal(t->json.value, "id")) continue;
        if (power_json_next(&t->json) != POWER_JSON_STRING) return false;
        if (special && !power_tokenizer_keep(t, after ? &t->back : &t->front)) return false;
        special = false;
    }
    return true;
}

static bool read_children(struct power_tokenizer_json *t, enum power_tokenizer_role role,
                          unsigned depth) {
    for (;;) {
        enum power_json_event event = power_json_next(&t->json);
        if (event == POWER_JSON_FAIL) return false;
        if (event == POWER_JSON_ARRAY_END) return true;
        if (!power_tokenizer_part(t, event, role, depth + 1)) return false;
    }
}

static bool read_string(struct power_tokenizer_json *t, struct part *part, struct power_text key) {
    struct {
        const char *name;
        struct power_text *field;
    } fields[] = {{"type", &part->type},         {"prepend", &part->prepend},
                  {"content", &part->content},   {"prepend_scheme", &part->scheme},
                  {"behavior", &part->behavior}, {"replacement", &part->replacement}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (equal(key, fields[i].name)) return power_tokenizer_keep(t, fields[i].field);
    }
    return true;
}

static void read_flag(struct part *part, struct power_text key, bool value) {
    if (equal(key, "add_prefix_space")) part->add_prefix_space = value;
    if (equal(key, "use_regex")) part->use_regex = value;
    if (equal(key, "individual_digits")) part->individual_digits = value;
    if (equal(key, "invert")) part->invert = value;
    if (equal(key, "split")) part->split = value;
}

static bool read_field(struct power_tokenizer_json *t, struct part *part, struct power_text key,
                       enum power_tokenizer_role role, unsigned depth) {
    enum power_json_event event = power_json_next(&t->json);
    if (event == POWER_JSON_STRING) return read_string(t, part, key);
    if (event == POWER_JSON_OBJECT && equal(key, "pattern")) return read_pattern(t, part);
    if (event == POWER_JSON_ARRAY && equal(key, "single")) return read_single(t);
    if (event == POWER_JSON_ARRAY &&
        (equal(key, "pretokenizers") || equal(key, "normalizers") || equal(key, "processors")))
        return read_children(t, role, depth);
    if (event == POWER_JSON_TRUE || event == POWER_JSON_FALSE)
        read_flag(part, key, event == POWER_JSON_TRUE);
    return power_json_skip(&t->json, event);
}

bool power_tokenizer_part(struct power_tokenizer_json *t, enum power_json_event event,
                          enum power_tokenizer_role role, unsigned depth) {
    if (event == POWER_JSON_NULL) return true;
    if (event != POWER_JSON_OBJECT || depth > 4)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: \"%s\" is not as expected",
                                    role == POWER_NORMALIZER      ? POWER_TEXT("normalizer")
                                    : role == POWER_PRE_TOKENIZER ? POWER_TEXT("pre_tokenizer")
                                                                  : POWER_TEXT("post_processor"));
    struct part part = {.use_regex = true, .split = true, .add_prefix_space = true};
    struct power_text key;
    char room[32];
    while (next_key(t, &key, room)) {
        if (!read_field(t, &part, key, role, depth)) return false;
    }
    if (t->json.done) return false;
    if (role == POWER_NORMALIZER) return apply_normalizer(t, &part);
    if (role == POWER_PRE_TOKENIZER) return apply_pre_tokenizer(t, &part);
    return apply_post_processor(t, &part);
}
