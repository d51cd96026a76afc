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
    struct power_special *added;
    uint32_t at_added;
    uint32_t at_merge;
    /* settings */
    struct power_text model_type, unk;
    struct power_text front, back; /* special tokens that the post-processor puts around a text */
    uint32_t n_stages;
    bool byte_level, byte_fallback, ignore_merges;
};

bool power_tokenizer_fail(struct power_tokenizer_json *t, power_status status, const char *format,
                          struct power_text quoted);
/* Copies the reader's current value into the vocabulary's arena. */
bool power_tokenizer_keep(struct power_tokenizer_json *t, struct power_text *out);

enum power_tokenizer_role { POWER_NORMALIZER, POWER_PRE_TOKENIZER, POWER_POST_PROCESSOR };
/* Reads the value that `event` began. */
bool power_tokenizer_part(struct power_tokenizer_json *t, enum power_json_event event,
                          enum power_tokenizer_role role, unsigned depth);

#endif
