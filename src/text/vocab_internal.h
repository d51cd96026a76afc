/* SPDX-License-Identifier: MIT */
/* What the files of the tokenizer share: the vocabulary's tables, the merge engines, the id sink.
 * Input: checked tables. Output: ids.
 * Threads: making a vocabulary belongs to one thread; the tables are immutable after.
 * Bounds: tables are proportional to the file; work areas to the text (see power_encode_work). */
#ifndef POWER_TEXT_VOCAB_INTERNAL_H
#define POWER_TEXT_VOCAB_INTERNAL_H

#include <stdatomic.h>

#include "text/pipeline.h"
#include "text/split.h"
#include "text/trie.h"
#include "text/vocab.h"

#define POWER_MAX_SPECIAL_BYTES 1024 /* length of a control or user-defined token */
#define POWER_MAX_VOCAB (1u << 24)
#define POWER_PAIR_BITS 20

#define POWER_MAX_AROUND 8 /* tokens put in front of a text, or behind it */

enum power_vocab_kind {
    POWER_VOCAB_BYTE_BPE,
    POWER_VOCAB_CHAR_BPE,
    POWER_VOCAB_SPM,
    POWER_VOCAB_WORDPIECE,
    POWER_VOCAB_UNIGRAM
};

/* Pair of tokens -> rank and product; open addressing, a power of two of slots. */
struct power_merge {
    uint32_t left, right; /* left is POWER_NO_TOKEN in a free slot */
    uint32_t rank, product;
};

/* A token by its bytes; open addressing. */
struct power_word_slot {
    uint32_t tag, id; /* id is POWER_NO_TOKEN in a free slot */
};

#define POWER_WORD_PROBES 32u
#define POWER_MEMORY_BYTES 26  /* of a word that an encode call remembers */
#define POWER_MEMORY_IDS 8     /* that it became */
#define POWER_MEMORY_FROM 2048 /* bytes of the shortest text that is worth it */

struct power_word_memory {
    uint32_t ids[POWER_MEMORY_IDS];
    uint8_t length, count; /* length 0: free */
    char bytes[POWER_MEMORY_BYTES];
};

struct power_special {
    struct power_text spelling;
    uint32_t id;
    bool control;        /* matched only with parse_special */
    bool lstrip, rstrip; /* takes the white space beside it along */
    bool single_word;
    bool normalized; /* looked for in the normalised text */
};

/* Control and user-defined tokens in byte order of their spelling. */
struct power_special_set {
    struct power_special *items;
    uint32_t count;
    uint32_t first[257]; /* items whose first byte is b: first[b] .. first[b + 1] */
};

struct power_vocab {
    struct power_vocab_info info;
    enum power_vocab_kind kind;
    const power_allocator *allocator;
    struct power_arena arena;
    struct power_index *index;    /* spelling -> id */
    struct power_text *spellings; /* n_tokens, as the file writes them */
    struct power_text *pieces;    /* n_tokens, raw bytes */
    unsigned char *types;         /* n_tokens */
    float *scores;                /* n_tokens, SPM only */
    uint32_t byte_tokens[256];    /* POWER_NO_TOKEN where there is none */
    struct power_merge *merges;   /* BPE kinds */
    uint64_t merge_seed[2];
    uint32_t merge_mask;
    uint64_t *pairs;      /* a bit for each pair of neighbours in tokens, hashed; NULL: no cuts */
    uint64_t *byte_pairs; /* BYTE_BPE: the same for bytes where tokens hold parts of characters */
    struct power_word_slot *words; /* BPE kinds and SPM */
    uint32_t word_mask;
    bool words_missing;  /* a token found no slot */
    size_t longest_word; /* bytes of a token */
    /* n_tokens: 1 once somebody saw that its bytes are merged to this token alone. The one part
     * of a vocabulary that changes: what it says is true from the start, and it only saves time. */
    _Atomic unsigned char *alone;
    struct power_split_stage stages[POWER_SPLIT_MAX_STAGES];
    struct power_special_set specials;
    size_t longest_spelling; /* of tokens that are neither control nor user-defined */
    /* looked for in the normalised text (tokenizer.json: "normalized") */
    struct power_special_set normal_specials;
    bool piped; /* the steps below describe everything between specials and the model */
    struct power_normal_step normal[POWER_MAX_NORMAL_STEPS];
    struct power_pre_step pre[POWER_MAX_PRE_STEPS];
    unsigned n_normal, n_pre;
    bool needs_places;  /* a step asks where a piece began */
    size_t most_growth; /* bytes that a byte of text may become, at most */
    struct power_charsmap charsmap;
    uint32_t front[POWER_MAX_AROUND], back[POWER_MAX_AROUND];
    uint32_t n_front, n_back;
    struct power_trie trie;                     /* WORDPIECE, UNIGRAM */
    struct power_text word_prefix, part_prefix; /* WORDPIECE: of a word's first and other tokens */
    uint32_t word_node, part_node;
    bool has_words, has_parts, clean_spaces;
    unsigned max_word_chars;
    unsigned char *in_model;    /* tokenizer.json: not only an added token; NULL elsewhere */
    const double *exact_scores; /* UNIGRAM of tokenizer.json, else NULL */
    double unknown_score;
    float best_score;
    bool byte_fallback;
    bool whole_words;
    bool remove_extra_spaces; /* SPM */
    bool escape_spaces;       /* SPM, CHAR_BPE: ' ' is U+2581 in the vocabulary */
    bool prefix_once;         /* the space prefix only at the very start of the text */
    bool whole_lines;         /* CHAR_BPE: a run of newlines that is a token is that token */
    bool fuse_unk;
};

/* Ids go out here; count goes on when capacity is full. */
struct power_id_sink {
    const struct power_vocab *vocab;
    uint32_t *ids;
    power_token_place *spans;      /* NULL: nobody asks */
    const struct power_view *view; /* what is being encoded, and how far the ids are in it */
    size_t at;
    size_t capacity, count;
    uint32_t skip_once; /* an id that is dropped if it comes first: BOS never twice */
    uint32_t last;
};

struct power_heap_entry {
    uint64_t key; /* smallest first */
    uint32_t left, right;
    uint32_t size, product; /* SPM: bytes of both, and their token */
};

/* Work memory of one encode call, grown on demand; freed by power_encode_finish. */
struct power_encode_work {
    const struct power_vocab *vocab;
    const struct power_tokenize_options *options;
    power_error *error;
    power_status status;
    struct power_id_sink sink;
    uint32_t *symbols, *next, *prev, *lengths; /* capacity n_symbols each */
    size_t n_symbols;
    struct power_heap_entry *heap;
    size_t heap_capacity, heap_count;
    double *sums; /* UNIGRAM */
    size_t n_sums;
    struct power_scratch scratch[2]; /* normalised text */
    struct power_scratch prefixed;   /* a piece with something in front */
    struct power_buffer plain;       /* options->plain for a normalised text */
    bool at_start;                   /* nothing was encoded yet */
    bool after_special;
    bool last_was_unk; /* SPM: <unk> stands once for a run */
    size_t text_bytes;
    struct power_word_memory *memory; /* words that were merged before, by their hash */
    uint32_t n_memory;
};

bool power_encode_grow(struct power_encode_work *work, size_t symbols);
bool power_heap_push(struct power_encode_work *work, struct power_heap_entry entry);
bool power_heap_pop(struct power_encode_work *work, struct power_heap_entry *out);
bool power_encode_fail(struct power_encode_work *work, power_status status, const char *what);
bool power_encode_no_memory(struct power_encode_work *work, size_t bytes);
/* The token stands for the next bytes of the view: as many as it spells, `length`, or none. */
void power_sink_put(struct power_id_sink *sink, uint32_t id);
void power_sink_put_length(struct power_id_sink *sink, uint32_t id, size_t length);
/* The last token stands for `length` bytes more. */
void power_sink_extend(struct power_id_sink *sink, size_t length);
void power_sink_put_at(struct power_id_sink *sink, uint32_t id, power_token_place span);
/* encode.c: one piece to the model of the vocabulary. */
bool power_encode_piece(struct power_encode_work *work, const struct power_view *piece);

/* bpe.c */
power_status power_merges_init(struct power_vocab *vocab, size_t count, power_error *error);
/* Both are spellings of tokens, and their join is one, too. */
power_status power_merges_add_texts(struct power_vocab *vocab, struct power_text left,
                                    struct power_text right, uint32_t rank, power_error *error);
/* One pre-tokenized piece of raw bytes. Signature of power_split_fn; context is the work. */
bool power_bpe_piece(void *work, struct power_text piece);
/* A whole segment of characters with byte fallback. */
bool power_bpe_characters(struct power_encode_work *work, struct power_text text);

/* Which characters stand side by side in tokens. */
power_status power_bpe_build(struct power_vocab *vocab, power_error *error);

/* words.c: after pieces and merges stand. */
power_status power_words_build(struct power_vocab *vocab, power_error *error);
bool power_words_find(const struct power_vocab *vocab, struct power_text text, uint32_t *out);
/* Puts the ids that the word had before; false when it is not remembered. */
bool power_words_recall(struct power_encode_work *work, struct power_text word);
void power_words_remember(struct power_encode_work *work, struct power_text word,
                          const uint32_t *ids, size_t count);

/* Pairs of neighbours, hashed: another pair may share a bit, which only costs time. */
static inline uint32_t power_pair_bit(uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> (64 - POWER_PAIR_BITS));
}

static inline bool power_bit_of(const uint64_t *bits, uint32_t bit) {
    return bits[bit / 64] >> (bit % 64) & 1;
}

static inline bool power_is_alone(const struct power_vocab *vocab, uint32_t id) {
    return atomic_load_explicit(&vocab->alone[id], memory_order_relaxed) != 0;
}

static inline void power_mark_alone(const struct power_vocab *vocab, uint32_t id) {
    if (!power_is_alone(vocab, id))
        atomic_store_explicit(&vocab->alone[id], 1, memory_order_relaxed);
}

/* spm.c: which characters stand side by side in tokens. */
power_status power_spm_build(struct power_vocab *vocab, power_error *error);
/* A segment between special tokens, spaces escaped already. */
bool power_spm_segment(struct power_encode_work *work, struct power_text text);
/* specials.c */
power_status power_specials_build(struct power_vocab *vocab, struct power_special_set *set,
                                  const struct power_special *items, uint32_t count,
                                  power_error *error);
/* Longest special token at `at`, NULL when there is none. `controls`, `users`: which kinds count.
 * `plain`: as in power_tokenize_options, for the same text; control tokens don't reach into it. */
const struct power_special *power_specials_match(const struct power_special_set *set,
                                                 struct power_text text, const unsigned char *plain,
                                                 size_t at, bool controls, bool users);

/* spm_normalise.c: characters mapped, spaces escaped, a prefix if wanted. */
bool power_spm_normalise(struct power_encode_work *work, const struct power_view *in, bool prefix,
                         struct power_scratch *out);
/* normal_steps.c: the REPLACE step. */
bool power_replace(struct power_encode_work *work, const struct power_normal_step *step,
                   const struct power_view *in, struct power_scratch *out);
/* False when there is no room for another step. */
bool power_vocab_add_normal(struct power_vocab *vocab, struct power_normal_step step);
/* BertNormalizer: its steps in its order. */
bool power_vocab_add_bert(struct power_vocab *vocab, bool clean, bool cjk, bool accents,
                          bool lower);
bool power_vocab_add_pre(struct power_vocab *vocab, struct power_pre_step step);
/* Copies and checks SentencePiece's precompiled map. */
power_status power_vocab_keep_charsmap(struct power_vocab *vocab, struct power_span bytes,
                                       power_error *error);

/* wordpiece.c, unigram.c: after types, scores and prefixes stand. */
power_status power_wordpiece_build(struct power_vocab *vocab, power_error *error);
bool power_wordpiece_word(struct power_encode_work *work, struct power_text word);
power_status power_unigram_build(struct power_vocab *vocab, power_error *error);
bool power_unigram_piece(struct power_encode_work *work, struct power_text text);
/* The trie of all tokens that plain text may become. */
power_status power_vocab_trie(struct power_vocab *vocab, power_error *error);

/* pieces.c: byte-level alphabet */
uint32_t power_byte_to_code(unsigned char byte);
/* Whether each character stands for a byte; other tokens are in no text's bytes. */
bool power_spells_bytes(struct power_text spelling);
/* Raw bytes of a byte-level spelling into the arena. False without memory. */
bool power_pieces_build(struct power_vocab *vocab);

/* Filled by the readers, then completed by power_vocab_complete. */
struct power_vocab_draft {
    struct power_vocab *vocab;
    struct power_special *specials; /* flags from tokenizer.json, or NULL */
    uint32_t n_specials;
    struct power_text pre; /* named by the caller, or empty */
    uint32_t eot, eom, cls, sep;
    uint32_t ends[POWER_MAX_END_TOKENS]; /* more end tokens, by generation_config.json */
    uint32_t n_ends;
};
power_status power_vocab_from_gguf(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error);
/* Keys of a GGUF file that are not known and could change ids are refused by name. */
power_status power_vocab_check_keys(const struct power_source *source, power_error *error);
power_status power_vocab_from_json(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error);
power_status power_vocab_from_sentencepiece(struct power_vocab_draft *draft,
                                            const struct power_source *source, power_error *error);
/* tokenizer_config.json and generation_config.json, for both of the above. The index must stand. */
power_status power_vocab_read_configs(struct power_vocab_draft *draft,
                                      const struct power_source *source, power_error *error);
/* Tables of n tokens in the arena. */
power_status power_vocab_reserve(struct power_vocab *vocab, uint64_t n_tokens, power_error *error);
/* The index of spellings; merges are added after it. */
power_status power_vocab_index(struct power_vocab *vocab, power_error *error);

#endif
