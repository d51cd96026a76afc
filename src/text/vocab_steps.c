/* SPDX-License-Identifier: MIT */
/* Job: the steps of a vocabulary's pipeline as they are added one by one.
 * Input: steps. Output: the vocabulary's lists, and how much a text may grow by them.
 * Threads: making one. Bounds: POWER_MAX_NORMAL_STEPS, POWER_MAX_PRE_STEPS. */
#include "text/vocab_internal.h"

#define MOST_GROWTH 256

static size_t growth_of(const struct power_normal_step *step) {
    switch (step->kind) {
    case POWER_NORMAL_NFC:
    case POWER_NORMAL_NFD:
        return 3;
    case POWER_NORMAL_NFKC:
    case POWER_NORMAL_NFKD:
    case POWER_NORMAL_CHARSMAP:
        return 12; /* U+FDFA becomes eleven times as long */
    case POWER_NORMAL_LOWER:
    case POWER_NORMAL_BERT_CJK:
        return 2;
    case POWER_NORMAL_REPLACE:
        return (step->to.length + step->from.length - 1) / step->from.length + 1;
    case POWER_NORMAL_SPACES:
    case POWER_NORMAL_PREPEND:
        return step->to.length + 1;
    case POWER_NORMAL_MARKS:
    case POWER_NORMAL_BERT_CLEAN:
    case POWER_NORMAL_BERT_ACCENTS:
    case POWER_NORMAL_NMT:
    case POWER_NORMAL_STRIP:
        break;
    }
    return 1;
}

bool power_vocab_add_normal(struct power_vocab *vocab, struct power_normal_step step) {
    if (vocab->n_normal == POWER_MAX_NORMAL_STEPS) return false;
    if (step.kind == POWER_NORMAL_REPLACE && step.from.length == 0) return false;
    vocab->normal[vocab->n_normal++] = step;
    size_t growth = growth_of(&step), before = vocab->most_growth ? vocab->most_growth : 1;
    vocab->most_growth = growth >= MOST_GROWTH / before ? MOST_GROWTH : growth * before;
    return true;
}

static bool add_kind(struct power_vocab *vocab, enum power_normal_kind kind) {
    return power_vocab_add_normal(vocab, (struct power_normal_step){.kind = kind});
}

bool power_vocab_add_bert(struct power_vocab *vocab, bool clean, bool cjk, bool accents,
                          bool lower) {
    return (!clean || add_kind(vocab, POWER_NORMAL_BERT_CLEAN)) &&
           (!cjk || add_kind(vocab, POWER_NORMAL_BERT_CJK)) &&
           (!accents ||
            (add_kind(vocab, POWER_NORMAL_NFD) && add_kind(vocab, POWER_NORMAL_BERT_ACCENTS))) &&
           (!lower || add_kind(vocab, POWER_NORMAL_LOWER));
}

bool power_vocab_add_pre(struct power_vocab *vocab, struct power_pre_step step) {
    if (vocab->n_pre == POWER_MAX_PRE_STEPS) return false;
    for (unsigned i = 0; i < vocab->n_pre; i++) {
        bool adds =
            vocab->pre[i].kind == POWER_PRE_METASPACE || vocab->pre[i].kind == POWER_PRE_PREFIX;
        if (adds && (step.kind == POWER_PRE_METASPACE || step.kind == POWER_PRE_PREFIX))
            return false;
    }
    vocab->needs_places = vocab->needs_places || step.only_once;
    vocab->pre[vocab->n_pre++] = step;
    return true;
}

power_status power_vocab_keep_charsmap(struct power_vocab *vocab, struct power_span bytes,
                                       power_error *error) {
    unsigned char *copy = power_arena_alloc(&vocab->arena, bytes.length + 1, 1);
    if (!copy) return power_fail_memory(error, bytes.length, "vocabulary");
    memcpy(copy, bytes.bytes, bytes.length);
    size_t growth = vocab->most_growth * 12;
    vocab->most_growth = growth < MOST_GROWTH ? growth : MOST_GROWTH;
    return power_charsmap_load(&vocab->charsmap, (struct power_span){copy, bytes.length}, error);
}
