/* SPDX-License-Identifier: MIT */
/* The pipeline that tokenizer.json describes: normalizer steps, then pre-tokenizer steps.
 * Input: a segment of the text. Output: pieces, each with the place of its bytes in the text.
 * Threads: one per encode call.
 * Bounds: each step is linear in the text and grows it by a constant factor at most; constant
 * stack. A view is a text of which each byte knows where it came from, so that tokens have offsets.
 */
#ifndef POWER_TEXT_PIPELINE_H
#define POWER_TEXT_PIPELINE_H

#include "text/charsmap.h"
#include "text/split.h"
#include "text/vocab.h"

#define POWER_MAX_NORMAL_STEPS 16
#define POWER_MAX_PRE_STEPS 12

struct power_encode_work;

struct power_view {
    struct power_text text;
    const power_token_place *from; /* one a byte; NULL: byte i is byte base + i */
    size_t base;
};

/* Text under construction. */
struct power_scratch {
    struct power_buffer text, from;
    bool tracked;
};

enum power_normal_kind {
    POWER_NORMAL_NFC,
    POWER_NORMAL_NFD,
    POWER_NORMAL_NFKC,
    POWER_NORMAL_NFKD,
    POWER_NORMAL_LOWER,
    POWER_NORMAL_MARKS, /* StripAccents */
    POWER_NORMAL_BERT_CLEAN,
    POWER_NORMAL_BERT_CJK,
    POWER_NORMAL_BERT_ACCENTS,
    POWER_NORMAL_NMT,
    POWER_NORMAL_REPLACE, /* `from` by `to` */
    POWER_NORMAL_SPACES,  /* runs of at least `least` (spaces; with `any` white space) by `to` */
    POWER_NORMAL_PREPEND, /* `to`, before a text that is not empty */
    POWER_NORMAL_STRIP,   /* white space at `left`, `right` */
    POWER_NORMAL_CHARSMAP /* Precompiled */
};

struct power_normal_step {
    enum power_normal_kind kind;
    struct power_text from, to;
    unsigned least;
    bool any, left, right;
};

enum power_pre_kind {
    POWER_PRE_STAGE,       /* matches of a published expression are pieces, so is what is between */
    POWER_PRE_SPACE_SPLIT, /* white space is dropped */
    POWER_PRE_WORDS,       /* \w+ and [^\w\s]+ are pieces, the rest is dropped */
    POWER_PRE_PUNCT,       /* by `behavior` */
    POWER_PRE_LITERAL,     /* `text`, by `behavior` */
    POWER_PRE_METASPACE,   /* spaces become `text`, which is also put in front; see `split` */
    POWER_PRE_PREFIX       /* a space in front where there is none */
};

/* What becomes of a match between the texts around it. */
enum power_split_behavior {
    POWER_SPLIT_ISOLATED,
    POWER_SPLIT_REMOVED,
    POWER_SPLIT_WITH_PREVIOUS,
    POWER_SPLIT_WITH_NEXT,
    POWER_SPLIT_CONTIGUOUS
};

struct power_pre_step {
    enum power_pre_kind kind;
    enum power_split_behavior behavior;
    struct power_split_stage stages[POWER_SPLIT_MAX_STAGES]; /* STAGE: the first */
    struct power_text text;
    bool split;             /* METASPACE: words apart */
    bool prefix, only_once; /* METASPACE: `text` in front; only at the start of the whole text */
};

bool power_scratch_put(struct power_encode_work *work, struct power_scratch *out,
                       struct power_text bytes, power_token_place from);
/* `length` bytes of `in` from `at` on, with their own places. */
bool power_scratch_copy(struct power_encode_work *work, struct power_scratch *out,
                        const struct power_view *in, size_t at, size_t length);
struct power_view power_scratch_view(const struct power_scratch *scratch);
/* Where bytes [at, at + length) of the view came from. */
power_token_place power_view_span(const struct power_view *view, size_t at, size_t length);
struct power_view power_view_slice(const struct power_view *view, size_t at, size_t length);

/* normal_steps.c: runs all steps. The result may be `in` itself; it lies in work->scratch. */
bool power_normalise(struct power_encode_work *work, const struct power_normal_step *steps,
                     unsigned n_steps, const struct power_view *in, struct power_view *out);
/* normalise.c: one of the four forms. */
bool power_normal_form(struct power_encode_work *work, enum power_normal_kind form,
                       const struct power_view *in, struct power_scratch *out);

/* pretokenize.c: hands each piece to the model of the vocabulary. */
bool power_pretokenize(struct power_encode_work *work, const struct power_view *view);

#endif
