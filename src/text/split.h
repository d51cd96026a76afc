/* SPDX-License-Identifier: MIT */
/* Pre-tokenizers: a text cut into the pieces inside which byte-level BPE may merge.
 * Input: text, a splitter by name (as GGUF files carry it) or stages by their published
 * expressions. Output: pieces through a callback, in order, together the whole text. Threads: any.
 * Bounds: linear time, constant stack, no memory. */
#ifndef POWER_TEXT_SPLIT_H
#define POWER_TEXT_SPLIT_H

#include "base/span.h"

#define POWER_SPLIT_MAX_STAGES 6

/* Each stage scans what the stages before it left, and isolates its matches. */
enum power_split_kind {
    POWER_SPLIT_NONE,
    POWER_SPLIT_GPT2,   /* words with a space in front, contractions, digits, the rest */
    POWER_SPLIT_CL100K, /* llama3, qwen2 and kin */
    POWER_SPLIT_O200K,  /* upper-then-lower words, tekken too */
    POWER_SPLIT_DEEPSEEK3,
    POWER_SPLIT_DIGITS,  /* \p{N}{1,width}; width 0: no limit */
    POWER_SPLIT_ASCII_3, /* [0-9][0-9][0-9] */
    POWER_SPLIT_NEWLINE, /* [\r\n] */
    POWER_SPLIT_PUNCT,   /* ASCII punctuation or \p{P}, runs */
    POWER_SPLIT_PUNCT_NO_GRAVE,
    POWER_SPLIT_SPACE_LETTERS, /* \s?\p{L}+ */
    POWER_SPLIT_SPACE_PUNCT,   /* \s?\p{P}+ */
    POWER_SPLIT_CJK,           /* [一-龥ࠀ-一가-퟿]+ */
    POWER_SPLIT_CJK_KANA,      /* [一-龥぀-ゟ゠-ヿ]+ */
    POWER_SPLIT_BLOOM          /* ` ?[^(\s|.,!?…。，、।۔،)]+` */
};

struct power_split_stage {
    enum power_split_kind kind;
    uint8_t width;     /* digits a piece; 0: no limit */
    bool marks;        /* \p{M} counts as a letter (qwen35) */
    bool contractions; /* O200K: 's, 't ... may end a word */
};

struct power_splitter {
    const char *names; /* separated by spaces */
    struct power_split_stage stages[POWER_SPLIT_MAX_STAGES];
    bool nfc;         /* the authors normalise to NFC first */
    bool whole_words; /* a piece that is a token is that token, before any merge */
    bool add_bos;     /* default of add_bos_token */
};

/* NULL for an unknown name. */
const struct power_splitter *power_splitter_find(struct power_text name);
/* False for an expression that is not known. */
bool power_split_stage_of(struct power_text expression, struct power_split_stage *out);

/* False from the callback stops the walk and is returned. */
typedef bool (*power_split_fn)(void *context, struct power_text piece);
bool power_split(const struct power_split_stage stages[POWER_SPLIT_MAX_STAGES],
                 struct power_text text, power_split_fn piece, void *context);

#endif
