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
    POWER_SPLIT_DIGITS,      /* \p{N}{1,width}; width 0: no limit */
    POWER_SPLIT_BYTE_DIGITS, /* the same without limit in the byte alphabet, where the bytes B2 B3
                                B9 BC BD BE stand for numbers as well (falcon) */
    POWER_SPLIT_ASCII_3,     /* [0-9][0-9][0-9] */
    POWER_SPLIT_GROUPS,      /* \d{1,3}(?=(?:\d{3})*\b): thousands from the right */
    POWER_SPLIT_N_GROUPS,    /* the same with \p{N}, whatever stands behind */
    POWER_SPLIT_THOUSANDS,   /* (?=(\d{3})+(?!\d)): cuts in front of each three */
    POWER_SPLIT_NEWLINE,     /* [\r\n] */
    POWER_SPLIT_LINES,       /* [^\n]+|[\n]+ */
    POWER_SPLIT_PUNCT,       /* ASCII punctuation or \p{P}, runs; width 1: each alone */
    POWER_SPLIT_PUNCT_NO_GRAVE,
    POWER_SPLIT_SPACE_LETTERS, /* \s?\p{L}+ */
    POWER_SPLIT_SPACE_PUNCT,   /* \s?\p{P}+ */
    POWER_SPLIT_END_SPACES,    /* \s+$ */
    POWER_SPLIT_BLOOM,         /* ` ?[^(\s|.,!?…。，、।۔،)]+` */
    POWER_SPLIT_SENTINEL,      /* <sentinel:[0-9]+> (chameleon) */
    POWER_SPLIT_IMAGE,         /* (IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z */
    POWER_SPLIT_INDENT,        /* [\t\n], four spaces, two spaces */
    /* [...]+ over a table of ranges (split_ranges.c) */
    POWER_SPLIT_CJK,              /* [一-龥ࠀ-一가-퟿]+ */
    POWER_SPLIT_CJK_KANA,         /* [一-龥぀-ゟ゠-ヿ]+ */
    POWER_SPLIT_ASIAN,            /* afmoe */
    POWER_SPLIT_YOUTU,            /* the four alternatives of youtu's first stage */
    POWER_SPLIT_DEEPSEEK_LETTERS, /* with a space in front */
    POWER_SPLIT_DEEPSEEK_PUNCT    /* with a space in front */
};

/* What parts the dialects of one kind. */
enum power_split_flag {
    POWER_SPLIT_MARKS = 1,        /* \p{M} counts as a letter (qwen35) */
    POWER_SPLIT_CONTRACTIONS = 2, /* 's, 't ...: before words (CL100K), at their end (O200K) */
    POWER_SPLIT_TAIL_SLASH = 4,   /* punctuation goes on with [\r\n/]*, not [\r\n]* */
    POWER_SPLIT_TAIL_ONE = 8,     /* ... with [\r\n/]? */
    POWER_SPLIT_TAIL_NONE = 16,
    POWER_SPLIT_LINE_ONE = 32, /* [\r\n] in place of \s*[\r\n]+ */
    POWER_SPLIT_CASCADE = 64,  /* \s{512}(?!\S)|\s{256}(?!\S)|... in place of \s+(?!\S)|\s+ */
    POWER_SPLIT_PHRASES = 128, /* \p{L}\p{M}*(?: \p{L}\p{M}*)* in place of \p{L} (exaone-moe) */
    POWER_SPLIT_NO_HAN = 256   /* \p{Han}+ first, and no word with Han in it (kimi-k2) */
};

struct power_split_stage {
    enum power_split_kind kind;
    uint8_t width;  /* digits a piece; 0: no limit */
    uint16_t flags; /* of enum power_split_flag */
};

struct power_splitter {
    const char *names; /* separated by spaces */
    struct power_split_stage stages[POWER_SPLIT_MAX_STAGES];
    bool nfc;         /* the authors normalise to NFC first */
    bool whole_words; /* a piece that is a token is that token, before any merge */
    bool add_bos;     /* default of add_bos_token */

    bool characters; /* merges over characters, spaces escaped as U+2581 (not the byte alphabet) */
};

/* NULL for an unknown name. */
const struct power_splitter *power_splitter_find(struct power_text name);
/* The splitter at `index`, NULL beyond the last. */
const struct power_splitter *power_splitter_at(size_t index);
/* False for an expression that is not known. */
bool power_split_stage_of(struct power_text expression, struct power_split_stage *out);

/* `stages` are POWER_SPLIT_MAX_STAGES, or end with a POWER_SPLIT_NONE. False from the callback
 * stops the walk and is returned. */
typedef bool (*power_split_fn)(void *context, struct power_text piece);
bool power_split(const struct power_split_stage *stages, struct power_text text,
                 power_split_fn piece, void *context);

#endif
