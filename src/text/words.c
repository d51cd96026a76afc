/* SPDX-License-Identifier: MIT */
/* Job: tokens by their bytes, quickly, and the ids of words that were merged before.
 * Input: the tables of a vocabulary; a text. Output: the token; the ids.
 * Threads: making the table belongs to one thread, asking to any; the memory of words to a call.
 * Bounds: a search compares at most POWER_WORD_PROBES slots; a token that found none of them free
 * is searched in the index of spellings. Both tables are shortcuts: no id depends on them. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define SEED 0x243F6A8885A308D3u
#define MIX 0x9E3779B97F4A7C15u

static uint64_t load(const char *at, size_t n) {
    uint64_t word = 0;
    memcpy(&word, at, n);
    return word;
}

static uint64_t hash_word(struct power_text text) {
    const char *p = text.bytes;
    size_t n = text.length;
    uint64_t h = SEED ^ (uint64_t)n * MIX, a, b = 0;
    for (; n > 16; n -= 8, p += 8) {
        h = (h ^ load(p, 8)) * MIX;
        h ^= h >> 32;
    }
    if (n >= 8) {
        a = load(p, 8);
        b = load(p + n - 8, 8);
    } else if (n >= 4) {
        a = load(p, 4) << 32 | load(p + n - 4, 4);
    } else {
        a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
            (unsigned char)p[n - 1];
    }
    h = (h ^ a) * MIX;
    h ^= h >> 32;
    h = (h ^ b) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

/* The bytes that stand for a token in a text, before any merge. */
static struct power_text word_of(const struct power_vocab *vocab, uint32_t id) {
    return vocab->kind == POWER_VOCAB_BYTE_BPE ? vocab->pieces[id] : vocab->spellings[id];
}

static bool is_word(const struct power_vocab *vocab, uint32_t id) {
    unsigned type = vocab->types[id];
    if (type == POWER_TOKEN_NORMAL) return true;
    return vocab->kind == POWER_VOCAB_SPM &&
           (type == POWER_TOKEN_USER_DEFINED || type == POWER_TOKEN_UNUSED);
}

/* The same by the index of spellings. */
static bool find_slowly(const struct power_vocab *vocab, struct power_text text, uint32_t *out) {
    char spelling[512];
    size_t n = 0;
    if (vocab->kind == POWER_VOCAB_BYTE_BPE) {
        if (text.length * 2 > sizeof spelling) return false;
        for (size_t i = 0; i < text.length; i++)
            n += power_utf8_put(power_byte_to_code((unsigned char)text.bytes[i]), spelling + n);
        text = (struct power_text){spelling, n};
    }
    return power_index_find(vocab->index, text, out) && is_word(vocab, *out);
}

static void add_word(struct power_vocab *vocab, uint32_t id) {
    struct power_text word = word_of(vocab, id);
    uint64_t hash = hash_word(word);
    if (word.length > vocab->longest_word) vocab->longest_word = word.length;
    for (uint32_t i = 0; i < POWER_WORD_PROBES; i++) {
        struct power_word_slot *slot = &vocab->words[((uint32_t)hash + i) & vocab->word_mask];
        if (slot->id == POWER_NO_TOKEN) {
            *slot = (struct power_word_slot){(uint32_t)(hash >> 32), id};
            return;
        }
        /* of equal words the first counts */
        if (slot->tag == (uint32_t)(hash >> 32) && power_text_equal(word_of(vocab, slot->id), word))
            return;
    }
    vocab->words_missing = true;
}

power_status power_words_build(struct power_vocab *vocab, power_error *error) {
    const uint32_t n = vocab->info.n_tokens;
    size_t slots = 16;
    while (slots < (size_t)n * 2)
        slots *= 2;
    vocab->words = power_arena_alloc(&vocab->arena, slots, sizeof *vocab->words);
    vocab->alone = power_arena_alloc(&vocab->arena, n, 1);
    if (!vocab->words || !vocab->alone)
        return power_fail_memory(error, slots * sizeof *vocab->words, "vocabulary");
    vocab->word_mask = (uint32_t)(slots - 1);
    for (size_t i = 0; i < slots; i++)
        vocab->words[i].id = POWER_NO_TOKEN;
    for (uint32_t id = 0; id < n; id++) {
        bool found =
            vocab->kind != POWER_VOCAB_BYTE_BPE || power_spells_bytes(vocab->spellings[id]);
        if (found && word_of(vocab, id).length > 0) add_word(vocab, id);
    }
    return POWER_OK;
}

bool power_words_find(const struct power_vocab *vocab, struct power_text text, uint32_t *out) {
    if (text.length > vocab->longest_word || text.length == 0) return false;
    uint64_t hash = hash_word(text);
    for (uint32_t i = 0; i < POWER_WORD_PROBES; i++) {
        const struct power_word_slot *slot = &vocab->words[((uint32_t)hash + i) & vocab->word_mask];
        if (slot->id == POWER_NO_TOKEN) return false;
        if (slot->tag != (uint32_t)(hash >> 32)) continue;
        struct power_text word = word_of(vocab, slot->id);
        if (word.length != text.length || memcmp(word.bytes, text.bytes, text.length) != 0)
            continue;
        *out = slot->id;
        return is_word(vocab, slot->id);
    }
    return vocab->words_missing && find_slowly(vocab, text, out);
}

/* A power of two of entries for a text of so many bytes; short texts are done before it pays. */
static size_t memory_entries(size_t bytes) {
    size_t entries = 256;
    while (entries < 4096 && entries * 32 < bytes)
        entries *= 2;
    return entries;
}

static struct power_word_memory *entry_of(struct power_encode_work *work, uint64_t hash) {
    return &work->memory[(uint32_t)hash & (work->n_memory - 1)];
}

bool power_words_recall(struct power_encode_work *work, struct power_text word) {
    if (!work->memory || word.length > POWER_MEMORY_BYTES) return false;
    uint64_t hash = hash_word(word);
    const struct power_word_memory *m = entry_of(work, hash);
    if (m->length != word.length || memcmp(m->bytes, word.bytes, word.length) != 0) return false;
    for (size_t i = 0; i < m->count; i++)
        power_sink_put(&work->sink, m->ids[i]);
    return true;
}

void power_words_remember(struct power_encode_work *work, struct power_text word,
                          const uint32_t *ids, size_t count) {
    if (word.length > POWER_MEMORY_BYTES || count > POWER_MEMORY_IDS || word.length == 0) return;
    if (!work->memory) {
        if (work->text_bytes < POWER_MEMORY_FROM) return;
        size_t n = memory_entries(work->text_bytes);
        work->memory = power_alloc(work->vocab->allocator, n, sizeof *work->memory);
        if (!work->memory) return; /* it goes without */
        work->n_memory = (uint32_t)n;
    }
    struct power_word_memory *m = entry_of(work, hash_word(word));
    m->length = (uint8_t)word.length;
    m->count = (uint8_t)count;
    memcpy(m->bytes, word.bytes, word.length);
    memcpy(m->ids, ids, count * sizeof *ids);
}
