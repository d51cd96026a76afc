/* SPDX-License-Identifier: MIT */
/* Job: which keys tokenizer.ggml.* of a GGUF file are known.
 * Input: the keys of a file. Output: an error that names one that could change ids unseen.
 * Threads: making a vocabulary.
 * Bounds: one comparison for each key and name. */
#include "text/vocab_internal.h"

#define SPACE "tokenizer.ggml."

/* Read by vocab_gguf.c, or saying nothing about ids: token_type_count is of embeddings,
 * added_tokens repeats what tokens and their types say. */
static const char *const known[] = {"model",
                                    "pre",
                                    "tokens",
                                    "token_type",
                                    "scores",
                                    "merges",
                                    "add_bos_token",
                                    "add_eos_token",
                                    "add_sep_token",
                                    "add_space_prefix",
                                    "remove_extra_whitespaces",
                                    "escape_whitespaces",
                                    "ignore_merges",
                                    "clean_spaces",
                                    "normalizer.lowercase",
                                    "precompiled_charsmap",
                                    "eos_token_ids",
                                    "token_type_count",
                                    "added_tokens"};

/* Settings that some converters write: they ask for nothing where they are false. */
static const char *const off[] = {"add_cls_token", "add_mask_token", "add_padding_token",
                                  "add_unknown_token"};

static bool is_one_of(struct power_text name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (power_text_equal(name, power_text_of(names[i]))) return true;
    }
    return false;
}

/* Names of single tokens: a text has no other ids for them. */
static bool names_a_token(struct power_text name) {
    static const char end[] = "_token_id";
    const size_t n = sizeof end - 1;
    return name.length > n && memcmp(name.bytes + name.length - n, end, n) == 0;
}

power_status power_vocab_check_keys(const struct power_source *source, power_error *error) {
    const size_t n = sizeof SPACE - 1;
    for (uint32_t i = 0; i < source->n_metas; i++) {
        const struct power_meta *meta = &source->metas[i];
        if (meta->key.length < n || memcmp(meta->key.bytes, SPACE, n) != 0) continue;
        struct power_text name = {meta->key.bytes + n, meta->key.length - n};
        bool is_off = meta->type == POWER_META_BOOL && meta->value.u == 0 &&
                      is_one_of(name, off, sizeof off / sizeof *off);
        if (is_off || names_a_token(name) || is_one_of(name, known, sizeof known / sizeof *known))
            continue;
        return power_fail(error, POWER_UNSUPPORTED,
                          "key \"%s\" is not known: it could change what the tokenizer does",
                          power_quote(meta->key.bytes, meta->key.length).text);
    }
    return POWER_OK;
}
