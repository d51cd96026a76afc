/* SPDX-License-Identifier: MIT */
/* What the readers of tokenizer.json share.
 * Input: the pull reader. Output: fields of the vocabulary and of the draft.
 * Threads: making one. Bounds: three passes over the text; nothing is kept but the tables. */
#ifndef POWER_TEXT_VOCAB_JSON_H
#define POWER_TEXT_VOCAB_JSON_H

#include "text/json.h"
#include "text/vocab_internal.h"

struct power_tokenizer_json {
    struct power_vocab_draft *draft;
    struct power_json json;
    power_error *error;
    power_status status;
    int pass; /* 0: count and read the settings, 1: tokens, 2: merges */
    /* counted */
    uint64_t n_tokens, end_id, text_bytes, n_added, n_merges;
    /* filled */
    char *blob;
    size_t blob_left;
    double *scores;
    struct power_special *added;
    uint32_t at_added;
    uint32_t at_merge;
    /* settings */
    struct power_text model_type, unk;
    /* special tokens that the post-processor puts around a text */
    struct power_text front[POWER_MAX_AROUND], back[POWER_MAX_AROUND];
    uint32_t n_front, n_back;
    uint64_t unk_id, max_word_chars;
    struct power_text part_prefix;
    bool has_part_prefix, has_unk_id, has_list, has_merges, has_max_chars;
    bool has_decoder, strips; /* decoding drops the first space */
    bool byte_level, byte_fallback, ignore_merges, metaspace;
};

bool power_tokenizer_fail(struct power_tokenizer_json *t, power_status status, const char *format,
                          struct power_text quoted);
/* Copies the reader's current value into the vocabulary's arena. */
bool power_tokenizer_keep(struct power_tokenizer_json *t, struct power_text *out);
/* The reader's current value names a token in front of a text, or behind it. */
bool power_tokenizer_around(struct power_tokenizer_json *t, bool after);
/* The reader's current value as a whole number below 10^9. */
bool power_tokenizer_number(struct power_tokenizer_json *t, uint64_t *out);
/* Counts a token in the first pass; copies a text into the blob in the second. */
void power_tokenizer_count(struct power_tokenizer_json *t, uint64_t id, size_t bytes);
struct power_text power_tokenizer_put(struct power_tokenizer_json *t, struct power_text text);
/* "model": its vocabulary, merges and settings, as the pass wants. */
bool power_tokenizer_model(struct power_tokenizer_json *t, enum power_json_event event);

enum power_tokenizer_role {
    POWER_NORMALIZER,
    POWER_PRE_TOKENIZER,
    POWER_POST_PROCESSOR,
    POWER_DECODER
};

/* One object of these, read. Absent fields have the defaults of the published format. */
struct power_part {
    struct power_text type, pattern, prepend, content, scheme, behavior, replacement, charsmap;
    struct power_text prefix, suffix, unused;
    bool has_pattern, is_regex, add_prefix_space, use_regex, individual_digits, invert, split;
    bool clean_text, cjk, strip_accents, has_strip_accents, lowercase, strip_left, strip_right;
    bool cleanup, ignored;
    unsigned start, stop;
};

/* Reads the value that `event` began. */
bool power_tokenizer_part(struct power_tokenizer_json *t, enum power_json_event event,
                          enum power_tokenizer_role role, unsigned depth);
/* Adds what the part does to the vocabulary, or refuses it by name. */
bool power_tokenizer_apply(struct power_tokenizer_json *t, const struct power_part *part,
                           enum power_tokenizer_role role);
/* "ROLE WHAT "QUOTED" is not supported"; false. */
bool power_tokenizer_refuse(struct power_tokenizer_json *t, enum power_tokenizer_role role,
                            const char *what, struct power_text quoted);

#endif
