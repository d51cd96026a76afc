/* SPDX-License-Identifier: MIT */
/* What the files of the tokenizer share: the vocabulary's tables, the merge engines, the id sink.
 * Input: checked tables. Output: ids.
 * Threads: making a vocabulary belongs to one thread; the tables are immutable after.
 * Bounds: tables are proportional to the file; work areas to the text (see power_encode_work). */
#ifndef POWER_TEXT_VOCAB_INTERNAL_H
#define POWER_TEXT_VOCAB_INTERNAL_H

#include "text/split.h"
#include "text/vocab.h"

#define POWER_MAX_SPECIAL_BYTES 1024 /* length of a control or user-defined token */
#define POWER_MAX_VOCAB (1u << 24)
#define POWER_PAIR_BITS 20

enum power_vocab_kind { POWER_VOCAB_BYTE_BPE, POWER_VOCAB_CHAR_BPE, POWER_VOCAB_SPM };

/* Pair of tokens -> rank and product; open addressing, a power of two of slots. */
struct power_merge {
    uint32_t left, right; /* left is POWER_NO_TOKEN in a free slot */
    uint32_t rank, product;
};

struct power_special {
    struct power_text spelling;
    uint32_t id;
    bool control;        /* matched only with parse_special */
    bool lstrip, rstrip; /* takes the white space beside it along */
    bool single_word;
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
    uint32_t merge_mask;
    uint64_t *pairs; /* SPM: a bit for each pair of neighbours, hashed */
    struct power_split_stage stages[POWER_SPLIT_MAX_STAGES];
    struct power_special_set specials;
    size_t longest_spelling; /* of tokens that are neither control nor user-defined */
    bool nfc, whole_words;
    bool remove_extra_spaces; /* SPM */
    bool escape_spaces;       /* SPM, CHAR_BPE: ' ' is U+2581 in the vocabulary */
    bool prefix_once;         /* the space prefix only at the very start of the text */
    bool prefix_if_missing;   /* no space prefix where the text begins with a space */
    bool split_spaces;        /* CHAR_BPE: no merge across the start of a word */
    bool fuse_unk;
};

/* Ids go out here; count goes on when capacity is full. */
struct power_id_sink {
    uint32_t *ids;
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
    struct power_buffer normal; /* normalised text */
    struct power_buffer spaced; /* text with spaces escaped */
    bool at_start;              /* nothing was encoded yet */
    bool after_special;
    bool last_was_unk; /* SPM: <unk> stands once for a run */
};

bool power_encode_grow(struct power_encode_work *work, size_t symbols);
bool power_heap_push(struct power_encode_work *work, struct power_heap_entry entry);
bool power_heap_pop(struct power_encode_work *work, struct power_heap_entry *out);
bool power_encode_fail(struct power_encode_work *work, power_status status, const char *what);
void power_sink_put(struct power_id_sink *sink, uint32_t id);

/* bpe.c */
power_status power_merges_init(struct power_vocab *vocab, size_t count, power_error *error);
/* False when the same pair is there already: the first rank stays. */
bool power_merges_add(struct power_vocab *vocab, uint32_t left, uint32_t right, uint32_t rank,
                      uint32_t product);
/* The same for spellings, which must be two tokens whose join is a third. */
power_status power_merges_add_texts(struct power_vocab *vocab, struct power_text left,
                                    struct power_text right, uint32_t rank, power_error *error);
/* One pre-tokenized piece of raw bytes. Signature of power_split_fn; context is the work. */
bool power_bpe_piece(void *work, struct power_text piece);
/* A whole segment of characters with byte fallback. */
bool power_bpe_characters(struct power_encode_work *work, struct power_text text);

/* spm.c: which characters stand side by side in tokens. */
power_status power_spm_build(struct power_vocab *vocab, power_error *error);
/* A segment between special tokens, spaces escaped already. */
bool power_spm_segment(struct power_encode_work *work, struct power_text text);
/* specials.c */
power_status power_specials_build(struct power_vocab *vocab, const struct power_special *items,
                                  uint32_t count, power_error *error);
/* Longest special token at `at`, NULL when there is none. `controls`, `users`: which kinds count.
 * `plain`: as in power_tokenize_options, for the same text; control tokens don't reach into it. */
const struct power_special *power_specials_match(const struct power_special_set *set,
                                                 struct power_text text, const unsigned char *plain,
                                                 size_t at, bool controls, bool users);

/* normalise.c: NFC. The result may be `text` itself. */
bool power_nfc(struct power_encode_work *work, struct power_text text, struct power_text *out);

/* pieces.c: byte-level alphabet */
uint32_t power_byte_to_code(unsigned char byte);
/* Raw bytes of a byte-level spelling into the arena. False without memory. */
bool power_pieces_build(struct power_vocab *vocab);

/* Filled by the readers, then completed by power_vocab_complete. */
struct power_vocab_draft {
    struct power_vocab *vocab;
    struct power_special *specials; /* flags from tokenizer.json, or NULL */
    uint32_t n_specials;
    uint32_t eot, eom;
    uint32_t ends[POWER_MAX_END_TOKENS]; /* more end tokens, by generation_config.json */
    uint32_t n_ends;
};
power_status power_vocab_from_gguf(struct power_vocab_draft *draft,
                                   const struct power_source *source, power_error *error);
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
