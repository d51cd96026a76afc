/* SPDX-License-Identifier: MIT */
/* Job: what each normalizer, pre-tokenizer, post-processor and decoder of tokenizer.json does.
 * Input: parts. Output: steps and settings of the vocabulary.
 * Threads: making one. Bounds: the vocabulary's lists of steps.
 * What is not known is refused by its type. */
#include "text/vocab_json.h"

static bool equal(struct power_text a, const char *b) {
    return power_text_equal(a, power_text_of(b));
}

static bool is_escaped_space(struct power_text text) {
    return equal(text, "\xE2\x96\x81");
}

static bool add_normal(struct power_tokenizer_json *t, const struct power_part *part,
                       struct power_normal_step step) {
    return power_vocab_add_normal(t->draft->vocab, step) ||
           power_tokenizer_refuse(t, POWER_NORMALIZER, " (one too many)", part->type);
}

static bool add_pre(struct power_tokenizer_json *t, const struct power_part *part,
                    struct power_pre_step step) {
    if (t->byte_level) /* what follows would see the byte alphabet */
        return power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, " after ByteLevel:", part->type);
    return power_vocab_add_pre(t->draft->vocab, step) ||
           power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, " (one too many)", part->type);
}

/* ---- normalizers ---- */

/* An expression that matches just itself. */
static bool is_literal(struct power_text text) {
    for (size_t i = 0; i < text.length; i++) {
        if (strchr("\\.^$|?*+()[]{}", text.bytes[i]) || text.bytes[i] == 0) return false;
    }
    return text.length > 0;
}

static bool apply_replace(struct power_tokenizer_json *t, const struct power_part *part) {
    static const struct {
        const char *expression;
        unsigned least;
        bool any;
    } runs[] = {{" {2,}", 2, false}, {" +", 1, false}, {"\\s+", 1, true}, {"\\s{2,}", 2, true}};
    struct power_normal_step step = {
        .kind = POWER_NORMAL_REPLACE, .from = part->pattern, .to = part->content};
    for (size_t i = 0; part->is_regex && i < sizeof runs / sizeof *runs; i++) {
        if (!equal(part->pattern, runs[i].expression)) continue;
        step.kind = POWER_NORMAL_SPACES;
        step.least = runs[i].least;
        step.any = runs[i].any;
        return add_normal(t, part, step);
    }
    if (part->pattern.length == 0 || (part->is_regex && !is_literal(part->pattern)))
        return power_tokenizer_refuse(t, POWER_NORMALIZER, " Replace: expression", part->pattern);
    if (equal(part->pattern, " ") && is_escaped_space(part->content))
        t->draft->vocab->escape_spaces = true;
    return add_normal(t, part, step);
}

static int digit64(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static bool apply_precompiled(struct power_tokenizer_json *t, const struct power_part *part) {
    struct power_vocab *vocab = t->draft->vocab;
    struct power_text text = part->charsmap;
    if (text.length == 0) return true;
    if (vocab->charsmap.units)
        return power_tokenizer_refuse(t, POWER_NORMALIZER, " (a second one)", part->type);
    unsigned char *bytes = power_arena_alloc(&vocab->arena, text.length / 4 + 1, 3);
    size_t n = 0, at = 0;
    uint32_t group = 0;
    if (!bytes) {
        t->status = power_fail_memory(t->error, text.length, "tokenizer.json");
        return false;
    }
    for (; at < text.length && digit64(text.bytes[at]) >= 0; at++) {
        group = group << 6 | (uint32_t)digit64(text.bytes[at]);
        if (at % 4 != 0) bytes[n++] = (unsigned char)(group >> (6 - 2 * (at % 4)));
    }
    bool padded = text.length - at <= 2 && text.length % 4 == 0;
    for (; at < text.length; at++)
        padded = padded && text.bytes[at] == '=';
    if (!padded)
        return power_tokenizer_fail(t, POWER_CORRUPT, "tokenizer.json: \"%s\" is not base64",
                                    POWER_TEXT("precompiled_charsmap"));
    t->status = power_vocab_keep_charsmap(vocab, (struct power_span){bytes, n}, t->error);
    return t->status == POWER_OK &&
           add_normal(t, part, (struct power_normal_step){.kind = POWER_NORMAL_CHARSMAP});
}

static bool apply_normalizer(struct power_tokenizer_json *t, const struct power_part *part) {
    static const struct {
        const char *name;
        enum power_normal_kind kind;
    } plain[] = {{"NFC", POWER_NORMAL_NFC},         {"NFD", POWER_NORMAL_NFD},
                 {"NFKC", POWER_NORMAL_NFKC},       {"NFKD", POWER_NORMAL_NFKD},
                 {"Lowercase", POWER_NORMAL_LOWER}, {"StripAccents", POWER_NORMAL_MARKS},
                 {"Nmt", POWER_NORMAL_NMT}};
    if (equal(part->type, "Sequence")) return true;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (equal(part->type, plain[i].name))
            return add_normal(t, part, (struct power_normal_step){.kind = plain[i].kind});
    }
    if (equal(part->type, "BertNormalizer")) {
        bool accents = part->has_strip_accents ? part->strip_accents : part->lowercase;
        return power_vocab_add_bert(t->draft->vocab, part->clean_text, part->cjk, accents,
                                    part->lowercase) ||
               power_tokenizer_refuse(t, POWER_NORMALIZER, " (one too many)", part->type);
    }
    if (equal(part->type, "Replace")) return apply_replace(t, part);
    if (equal(part->type, "Precompiled")) return apply_precompiled(t, part);
    if (equal(part->type, "Prepend")) {
        if (is_escaped_space(part->prepend)) t->draft->vocab->info.add_space_prefix = true;
        return part->prepend.length == 0 ||
               add_normal(
                   t, part,
                   (struct power_normal_step){.kind = POWER_NORMAL_PREPEND, .to = part->prepend});
    }
    if (equal(part->type, "Strip"))
        return add_normal(t, part,
                          (struct power_normal_step){.kind = POWER_NORMAL_STRIP,
                                                     .left = part->strip_left,
                                                     .right = part->strip_right});
    return power_tokenizer_refuse(t, POWER_NORMALIZER, "", part->type);
}

/* ---- pre-tokenizers ---- */

static bool behavior_of(struct power_tokenizer_json *t, const struct power_part *part,
                        enum power_split_behavior *out) {
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    *out = POWER_SPLIT_ISOLATED;
    if (part->behavior.length == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *out = (enum power_split_behavior)i; /* numbered in this order */
        if (equal(part->behavior, names[i])) return true;
    }
    return power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, " behavior", part->behavior);
}

static bool add_stage(struct power_tokenizer_json *t, const struct power_part *part,
                      struct power_split_stage stage) {
    return add_pre(t, part, (struct power_pre_step){.kind = POWER_PRE_STAGE, .stages = {stage}});
}

static bool apply_split(struct power_tokenizer_json *t, const struct power_part *part) {
    struct power_split_stage stage;
    enum power_split_behavior behavior;
    if (!behavior_of(t, part, &behavior)) return false;
    bool literal = !part->is_regex ||
                   (is_literal(part->pattern) && !power_split_stage_of(part->pattern, &stage));
    if (literal && part->pattern.length > 0 && !part->invert)
        return add_pre(t, part,
                       (struct power_pre_step){
                           .kind = POWER_PRE_LITERAL, .behavior = behavior, .text = part->pattern});
    bool isolated = behavior == POWER_SPLIT_ISOLATED && !part->invert;
    bool removed = behavior == POWER_SPLIT_REMOVED && part->invert; /* these match everything */
    if (literal || !power_split_stage_of(part->pattern, &stage))
        return power_tokenizer_fail(t, POWER_UNSUPPORTED,
                                    "tokenizer.json: split expression \"%s\" is not known",
                                    part->pattern);
    return isolated || removed
               ? add_stage(t, part, stage)
               : power_tokenizer_refuse(t, POWER_PRE_TOKENIZER,
                                        part->invert ? " Split, inverted, with" : " Split with",
                                        part->behavior);
}

static bool apply_metaspace(struct power_tokenizer_json *t, const struct power_part *part) {
    struct power_vocab *vocab = t->draft->vocab;
    if (!is_escaped_space(part->replacement))
        return power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, " Metaspace with", part->replacement);
    bool never = part->scheme.length ? equal(part->scheme, "never") : !part->add_prefix_space;
    vocab->escape_spaces = t->metaspace = true;
    vocab->info.add_space_prefix = !never;
    vocab->prefix_once = equal(part->scheme, "first");
    return add_pre(t, part,
                   (struct power_pre_step){.kind = POWER_PRE_METASPACE,
                                           .text = part->replacement,
                                           .split = part->split,
                                           .prefix = !never,
                                           .only_once = !never && vocab->prefix_once});
}

static bool apply_byte_level(struct power_tokenizer_json *t, const struct power_part *part) {
    const struct power_split_stage words = {.kind = POWER_SPLIT_GPT2};
    if (part->add_prefix_space &&
        !add_pre(t, part, (struct power_pre_step){.kind = POWER_PRE_PREFIX}))
        return false;
    if (part->use_regex && !add_stage(t, part, words)) return false;
    if (t->byte_level) return power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, " twice:", part->type);
    return t->byte_level = true;
}

static bool apply_pre_tokenizer(struct power_tokenizer_json *t, const struct power_part *part) {
    struct power_pre_step step = {.kind = POWER_PRE_PUNCT, .behavior = POWER_SPLIT_ISOLATED};
    const struct power_pre_step spaces = {.kind = POWER_PRE_SPACE_SPLIT,
                                          .behavior = POWER_SPLIT_REMOVED};
    if (equal(part->type, "Sequence")) return true;
    if (equal(part->type, "Split")) return apply_split(t, part);
    if (equal(part->type, "Metaspace")) return apply_metaspace(t, part);
    if (equal(part->type, "ByteLevel")) return apply_byte_level(t, part);
    if (equal(part->type, "WhitespaceSplit")) return add_pre(t, part, spaces);
    if (equal(part->type, "BertPreTokenizer"))
        return add_pre(t, part, spaces) && add_pre(t, part, step);
    if (equal(part->type, "Punctuation"))
        return behavior_of(t, part, &step.behavior) && add_pre(t, part, step);
    if (equal(part->type, "Whitespace"))
        return add_pre(t, part, (struct power_pre_step){.kind = POWER_PRE_WORDS});
    if (equal(part->type, "CharDelimiterSplit") && part->pattern.length > 0)
        return add_pre(t, part,
                       (struct power_pre_step){.kind = POWER_PRE_LITERAL,
                                               .behavior = POWER_SPLIT_REMOVED,
                                               .text = part->pattern});
    if (equal(part->type, "Digits"))
        return add_stage(t, part,
                         (struct power_split_stage){.kind = POWER_SPLIT_DIGITS,
                                                    .width = part->individual_digits ? 1 : 0});
    return power_tokenizer_refuse(t, POWER_PRE_TOKENIZER, "", part->type);
}

/* ---- post-processors, decoders ---- */

static bool apply_post_processor(struct power_tokenizer_json *t, const struct power_part *part) {
    static const char *const known[] = {"Sequence", "ByteLevel", "TemplateProcessing",
                                        "BertProcessing", "RobertaProcessing"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (equal(part->type, known[i])) return true;
    }
    return power_tokenizer_refuse(t, POWER_POST_PROCESSOR, "", part->type);
}

static bool apply_decoder(struct power_tokenizer_json *t, const struct power_part *part) {
    struct power_vocab *vocab = t->draft->vocab;
    t->has_decoder = true;
    if (equal(part->type, "Sequence") || equal(part->type, "ByteLevel") ||
        equal(part->type, "ByteFallback") || equal(part->type, "Fuse"))
        return true;
    if (equal(part->type, "WordPiece")) {
        vocab->clean_spaces = part->cleanup;
        return t->strips = true;
    }
    if (equal(part->type, "Metaspace") && is_escaped_space(part->replacement)) {
        bool never = part->scheme.length ? equal(part->scheme, "never") : !part->add_prefix_space;
        t->strips = !never;
        return true;
    }
    if (equal(part->type, "Replace") && !part->is_regex && is_escaped_space(part->pattern) &&
        equal(part->content, " "))
        return vocab->escape_spaces = true;
    if (equal(part->type, "Strip") && equal(part->content, " ") && part->start <= 1 &&
        part->stop == 0) {
        t->strips = part->start == 1;
        return true;
    }
    return power_tokenizer_refuse(t, POWER_DECODER, "", part->type);
}

bool power_tokenizer_apply(struct power_tokenizer_json *t, const struct power_part *part,
                           enum power_tokenizer_role role) {
    switch (role) {
    case POWER_NORMALIZER:
        return apply_normalizer(t, part);
    case POWER_PRE_TOKENIZER:
        return apply_pre_tokenizer(t, part);
    case POWER_POST_PROCESSOR:
        return apply_post_processor(t, part);
    case POWER_DECODER:
        break;
    }
    return apply_decoder(t, part);
}
