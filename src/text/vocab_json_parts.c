/* SPDX-License-Identifier: MIT */
/* Job: reads normalizer, pre_tokenizer, post_processor and decoder of a tokenizer.json.
 * Input: their JSON. Output: parts, applied one by one (vocab_json_apply.c).
 * Threads: making one. Bounds: sequences nest at most four deep.
 * A field that is not known and not empty is refused: nothing is skipped that could change an id.
 */
#include "text/vocab_json.h"

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

static const char *const role_names[] = {"normalizer", "pre-tokenizer", "post-processor",
                                         "decoder"};

bool power_tokenizer_refuse(struct power_tokenizer_json *t, enum power_tokenizer_role role,
                            const char *what, struct power_text quoted) {
    t->status =
        power_fail(t->error, POWER_UNSUPPORTED, "tokenizer.json: %s%s \"%s\" is not supported",
                   role_names[role], what, power_quote(quoted.bytes, quoted.length).text);
    return false;
}

static bool next_key(struct power_tokenizer_json *t, struct power_text *out_key, char room[32]) {
    enum power_json_event event = power_json_next(&t->json);
    if (event != POWER_JSON_KEY) return false;
    size_t n = t->json.value.length < 32 ? t->json.value.length : 32;
    memcpy(room, t->json.value.bytes, n);
    *out_key = (struct power_text){room, n};
    return true;
}

/* {"Regex": "..."} or {"String": "..."}, or the literal itself */
static bool read_pattern(struct power_tokenizer_json *t, struct power_part *part,
                         enum power_json_event event) {
    struct power_text key;
    char room[32];
    part->has_pattern = true;
    if (event == POWER_JSON_STRING) return power_tokenizer_keep(t, &part->pattern);
    if (event != POWER_JSON_OBJECT) return false;
    while (next_key(t, &key, room)) {
        event = power_json_next(&t->json);
        bool regex = equal(key, "Regex");
        if (event != POWER_JSON_STRING || !(regex || equal(key, "String"))) return false;
        part->is_regex = regex;
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
        if (special && !power_tokenizer_around(t, after)) return false;
        special = false;
    }
    return true;
}

/* ["[SEP]", 102] */
static bool read_pair(struct power_tokenizer_json *t, bool after) {
    return power_json_next(&t->json) == POWER_JSON_STRING && power_tokenizer_around(t, after) &&
           power_json_next(&t->json) == POWER_JSON_NUMBER &&
           power_json_next(&t->json) == POWER_JSON_ARRAY_END;
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

static struct power_text *text_field(struct power_part *part, struct power_text key) {
    struct {
        const char *name;
        struct power_text *field;
    } fields[] = {{"type", &part->type},         {"prepend", &part->prepend},
                  {"content", &part->content},   {"prepend_scheme", &part->scheme},
                  {"behavior", &part->behavior}, {"replacement", &part->replacement},
                  {"delimiter", &part->pattern}, {"precompiled_charsmap", &part->charsmap},
                  {"prefix", &part->prefix},     {"suffix", &part->suffix},
                  {"str_rep", &part->unused}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (equal(key, fields[i].name)) return fields[i].field;
    }
    return NULL;
}

static bool *flag_field(struct power_part *part, struct power_text key) {
    struct {
        const char *name;
        bool *field;
    } fields[] = {{"add_prefix_space", &part->add_prefix_space},
                  {"use_regex", &part->use_regex},
                  {"individual_digits", &part->individual_digits},
                  {"invert", &part->invert},
                  {"split", &part->split},
                  {"clean_text", &part->clean_text},
                  {"handle_chinese_chars", &part->cjk},
                  {"strip_accents", &part->strip_accents},
                  {"lowercase", &part->lowercase},
                  {"strip_left", &part->strip_left},
                  {"strip_right", &part->strip_right},
                  {"cleanup", &part->cleanup},
                  {"trim_offsets", &part->ignored}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (equal(key, fields[i].name)) return fields[i].field;
    }
    return NULL;
}

static bool read_list(struct power_tokenizer_json *t, struct power_text key,
                      enum power_tokenizer_role role, unsigned depth, bool *out_known) {
    *out_known = true;
    if (equal(key, "single")) return read_single(t);
    if (equal(key, "pair")) return power_json_skip(&t->json, POWER_JSON_ARRAY);
    if (equal(key, "cls")) return read_pair(t, false);
    if (equal(key, "sep")) return read_pair(t, true);
    if (equal(key, "pretokenizers") || equal(key, "normalizers") || equal(key, "processors") ||
        equal(key, "decoders"))
        return read_children(t, role, depth);
    *out_known = false;
    return true;
}

static bool read_number(struct power_tokenizer_json *t, struct power_part *part,
                        struct power_text key, bool *out_known) {
    struct power_text n = t->json.value;
    *out_known = equal(key, "start") || equal(key, "stop");
    unsigned value = n.length == 1 && n.bytes[0] >= '0' ? (unsigned)(n.bytes[0] - '0') : 10;
    if (equal(key, "start")) part->start = value;
    if (equal(key, "stop")) part->stop = value;
    return true;
}

static bool read_field(struct power_tokenizer_json *t, struct power_part *part,
                       struct power_text key, enum power_tokenizer_role role, unsigned depth) {
    enum power_json_event event = power_json_next(&t->json);
    struct power_text *text = text_field(part, key);
    bool *flag = flag_field(part, key), known = true;
    if (event == POWER_JSON_FAIL) return false;
    if (event == POWER_JSON_NULL) return true;
    if (equal(key, "pattern")) return read_pattern(t, part, event);
    if (equal(key, "special_tokens")) return power_json_skip(&t->json, event);
    if (event == POWER_JSON_STRING && text) {
        part->has_pattern = part->has_pattern || text == &part->pattern;
        return power_tokenizer_keep(t, text);
    }
    if (flag && (event == POWER_JSON_TRUE || event == POWER_JSON_FALSE)) {
        *flag = event == POWER_JSON_TRUE;
        if (flag == &part->strip_accents) part->has_strip_accents = true;
        return true;
    }
    if (event == POWER_JSON_ARRAY) {
        if (!read_list(t, key, role, depth, &known)) return false;
    } else if (event == POWER_JSON_NUMBER) {
        if (!read_number(t, part, key, &known)) return false;
    } else {
        known = event == POWER_JSON_FALSE;
    }
    return known || power_tokenizer_refuse(t, role, " with", key);
}

bool power_tokenizer_part(struct power_tokenizer_json *t, enum power_json_event event,
                          enum power_tokenizer_role role, unsigned depth) {
    if (event == POWER_JSON_NULL) return true;
    if (event != POWER_JSON_OBJECT || depth > 4)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: \"%s\" is not as expected",
                                    power_text_of(role_names[role]));
    struct power_part part = {.use_regex = true,
                              .split = true,
                              .add_prefix_space = true,
                              .clean_text = true,
                              .cjk = true,
                              .lowercase = true,
                              .cleanup = true};
    struct power_text key;
    char room[32];
    while (next_key(t, &key, room)) {
        if (!read_field(t, &part, key, role, depth)) return false;
    }
    if (t->json.done) return false;
    return power_tokenizer_apply(t, &part, role);
}
