/* SPDX-License-Identifier: MIT */
/* The vocabulary and its tokenizer: text to token ids, ids to bytes.
 * Input: metadata of a model (tokenizer.ggml.*) or tokenizer.json. Output: an immutable vocabulary.
 * Threads: making one; use any. Bounds: linear time and constant stack in the text; output ids are
 * bounded by the caller's capacity (too small is POWER_LIMIT with the count needed). */
#ifndef POWER_TEXT_VOCAB_H
#define POWER_TEXT_VOCAB_H

#include "base/memory.h"
#include "base/span.h"
#include "format/source.h"
#include "power/model.h"

enum power_token_type { /* numbered as GGUF numbers them */
                        POWER_TOKEN_NORMAL = 1,
                        POWER_TOKEN_UNKNOWN = 2,
                        POWER_TOKEN_CONTROL = 3,
                        POWER_TOKEN_USER_DEFINED = 4,
                        POWER_TOKEN_UNUSED = 5,
                        POWER_TOKEN_BYTE = 6
};

#define POWER_NO_TOKEN UINT32_MAX
#define POWER_MAX_END_TOKENS 16

struct power_vocab; /* opaque */

struct power_vocab_info {
    uint32_t n_tokens;
    uint32_t bos, eos, unk, pad, mask; /* POWER_NO_TOKEN where there is none, */
    uint32_t fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep; /* here too */
    /* what tokenizer.json would cut texts down to, or 0: encoding never does it by itself */
    uint32_t truncation_tokens, padding_tokens;
    bool add_bos, add_eos, add_space_prefix;
    uint32_t end_tokens[POWER_MAX_END_TOKENS]; /* eos, eot, eom and those the file implies */
    uint32_t n_end_tokens;
    struct power_text model; /* "gpt2", "llama", ... */
    struct power_text pre;   /* pre-tokenizer name, may be empty */
};

/* Reads GGUF keys; for SafeTensors, tokenizer.json or tokenizer.model of the source. A kind or a
 * pre-tokenizer that is not known is POWER_UNSUPPORTED by its name. */
power_status power_vocab_create(const power_allocator *allocator, const struct power_source *source,
                                struct power_vocab **out, power_error *error) POWER_MUST_USE;
/* The same with a pre-tokenizer that the caller names (may be empty) in place of the file's;
 * info.pre then is that name. POWER_INVALID where the vocabulary has none that could be named. */
power_status power_vocab_create_named(const power_allocator *allocator,
                                      const struct power_source *source, struct power_text pre,
                                      struct power_vocab **out, power_error *error) POWER_MUST_USE;
void power_vocab_destroy(struct power_vocab *vocab);
const struct power_vocab_info *power_vocab_info(const struct power_vocab *vocab);

struct power_tokenize_options {
    bool parse_special; /* control tokens in the text are tokens; else plain text */
    bool add_special;   /* BOS/EOS as the file says (BOS never twice) */
    /* One byte for each byte of the text, or NULL. Where it is not 0, the byte is plain: no control
     * token is found that would contain it (what a user wrote, see power_template_run). */
    const unsigned char *plain;
    /* As many as ids, or NULL: the bytes of the text that each token stands for. Tokens that were
     * added stand for none. Where normalization changed the text, all that it joined. */
    power_token_place *spans;
};

/* Always sets *out_count to the number needed. ids may be NULL when capacity is 0.
 * Invalid UTF-8 is POWER_INVALID with the byte offset. */
power_status power_vocab_encode(const struct power_vocab *vocab, struct power_text text,
                                const struct power_tokenize_options *options, uint32_t *ids,
                                size_t capacity, size_t *out_count,
                                power_error *error) POWER_MUST_USE;

/* The raw bytes a token stands for in the middle of a text (borrowed). Control tokens give their
 * spelling. An id beyond the vocabulary gives an empty text. */
struct power_text power_vocab_piece(const struct power_vocab *vocab, uint32_t id);
enum power_token_type power_vocab_token_type(const struct power_vocab *vocab, uint32_t id);
/* POWER_NO_TOKEN when no token has exactly this spelling. */
uint32_t power_vocab_find(const struct power_vocab *vocab, struct power_text spelling);
bool power_vocab_is_end(const struct power_vocab *vocab, uint32_t id);

/* Detokenizing stream: bytes in, whole UTF-8 sequences out; bytes that can never become valid come
 * out as U+FFFD by the WHATWG rule; handles the leading space rule of SPM vocabularies. */
struct power_detokenizer {
    const struct power_vocab *vocab;
    unsigned char held[8];
    uint32_t n_held;
    bool at_start;
    bool show_special; /* control tokens are spelled out, else they give no text */
};
void power_detokenizer_init(struct power_detokenizer *d, const struct power_vocab *vocab,
                            bool show_special);
/* Instead of a text's beginning: it goes on after `previous`. A space prefix is then dropped only
 * where encoding would have put one, which is after control tokens. */
void power_detokenizer_continue(struct power_detokenizer *d, uint32_t previous);
/* The bytes that the next token adds: its own, without the space that the vocabulary puts in front
 * of a text; none for a control token that is not shown. Borrowed from the vocabulary. */
struct power_text power_detokenizer_next(struct power_detokenizer *d, uint32_t id);
/* Appends the text that is now certain. POWER_NO_MEMORY or POWER_LIMIT from the buffer. */
power_status power_detokenizer_push_bytes(struct power_detokenizer *d, struct power_text bytes,
                                          struct power_buffer *out,
                                          power_error *error) POWER_MUST_USE;
/* Both in one. */
power_status power_detokenizer_push(struct power_detokenizer *d, uint32_t id,
                                    struct power_buffer *out, power_error *error) POWER_MUST_USE;
power_status power_detokenizer_finish(struct power_detokenizer *d, struct power_buffer *out,
                                      power_error *error) POWER_MUST_USE;

#endif
