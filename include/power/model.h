/* SPDX-License-Identifier: MIT */
/* A model: the bytes of a GGUF or SafeTensors artifact, checked, bound to a device, immutable.
 * Threads: open from any thread; every function on an open model may be called from several threads
 * at once. Sessions, constraints and answers hold on to their model: the order of closing is
 * free. Texts that are passed in are UTF-8 and borrowed for the call, unless something else is
 * said. */
#ifndef POWER_MODEL_H
#define POWER_MODEL_H

#include "power/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct power_model power_model;

typedef enum power_kv_type { POWER_KV_F16 = 0, POWER_KV_F32 = 1, POWER_KV_Q8_0 = 2 } power_kv_type;

typedef enum power_verify {
    POWER_VERIFY_ONCE =
        0, /* digest computed in the background once per file identity, remembered */
    POWER_VERIFY_ALWAYS = 1, /* computed before the model opens */
    POWER_VERIFY_NEVER = 2
} power_verify;

typedef struct power_model_options {
    size_t struct_size;
    int no_mmap;         /* 1: read the file instead of mapping it */
    int no_pack;         /* 1: products read the file's layout (same bits, slower) */
    int no_fusion;       /* 1: every operator runs by itself (same bits, slower) */
    int metadata_only;   /* 1: no tensors are loaded; sessions are refused (vocabularies, show) */
    power_verify verify; /* default ONCE */
    const char *sha256;  /* expected digest in hexadecimal, or NULL; a mismatch fails the model */
    uint32_t max_sequences; /* sequences alive at once; default 16 */
    uint64_t max_tokens;   /* tokens of state over all sequences; default 0: max_sequences times the
                              smaller of the model's context and 4096, cut to what memory allows */
    uint32_t prefill_rows; /* rows of one step at most; default 512 */
    uint32_t undo_rows;    /* rows a session can take back without a snapshot; default 16 */
    /* A pre-tokenizer by the name that GGUF files use ("qwen2", "llama-bpe", ...), in place of the
     * one that the file names or does not name; NULL: the file's. An unknown name fails, and so
     * does a vocabulary that has none. */
    const char *pre_tokenizer;
    /* Called now and then while loading, 0..1; nonzero cancels. May be NULL. */
    int (*progress)(void *context, double done);
    void *progress_context;
} power_model_options;

POWER_API void power_model_options_init(power_model_options *options);

/* `path`: a GGUF file (the first of a split set), a SafeTensors file, or a directory with
 * config.json. POWER_CORRUPT and POWER_UNSUPPORTED name the key, tensor or offset; POWER_IO;
 * POWER_LIMIT; POWER_MISMATCH; POWER_NO_MEMORY; POWER_CANCELLED. */
POWER_API POWER_MUST_USE power_status power_model_open(power_runtime *runtime, const char *path,
                                                       const power_model_options *options,
                                                       power_model **out_model, power_error *error);
/* NULL is allowed. The caller's hold ends; the model goes, with its memory, once the last of its
 * sessions, constraints and answers is closed too. */
POWER_API void power_model_close(power_model *model);

/* Facts. Texts live as long as the model; NULL where the model has none. */
typedef struct power_model_info {
    size_t struct_size;
    const char *architecture;
    const char *name;      /* general.name */
    const char *file_type; /* "gguf" or "safetensors" */
    uint32_t n_layers, n_vocab, n_embd, n_heads, n_kv_heads, head_dim;
    uint32_t context_length; /* trained */
    uint64_t n_parameters, file_bytes;
    uint64_t weights_bytes; /* of all tensors, as the file stores them */
    uint32_t n_tensors, n_metadata;
    const char *chat_template;
    uint32_t end_tokens[16];
    uint32_t n_end_tokens;
    uint32_t bos_token; /* UINT32_MAX: none */
} power_model_info;
/* Caller sets struct_size. */
POWER_API POWER_MUST_USE power_status power_model_get_info(const power_model *model,
                                                           power_model_info *out_info,
                                                           power_error *error);

/* SHA-256 of the artifact as hexadecimal; waits for the background computation, or computes it now.
 */
POWER_API POWER_MUST_USE power_status power_model_digest(power_model *model, char out_hex[65],
                                                         power_error *error);

/* Metadata entry `index` as text, for people: valid UTF-8 that ends with NUL. Arrays show eight
 * elements; what was left out, or did not fit the capacity, ends in "... (N)", N being the number
 * of elements or bytes there are. POWER_NOT_FOUND beyond the end. */
POWER_API POWER_MUST_USE power_status power_model_metadata(const power_model *model, uint32_t index,
                                                           char *out_key, size_t key_capacity,
                                                           char *out_value, size_t value_capacity,
                                                           power_error *error);
/* Tensor `index` of the file; POWER_NOT_FOUND beyond the end. */
typedef struct power_tensor_info {
    const char *name; /* lives as long as the model */
    const char *type; /* as GGUF names it: "F32", "Q4_K"; static */
    uint32_t rank;
    uint64_t dims[4];       /* dims[0] is contiguous */
    uint64_t offset, bytes; /* from the beginning of its file */
} power_tensor_info;
POWER_API POWER_MUST_USE power_status power_model_tensor(const power_model *model, uint32_t index,
                                                         power_tensor_info *out_info,
                                                         power_error *error);

/* Bytes a session of this context and KV type needs: state, and the plan's scratch (shared by all).
 */
POWER_API POWER_MUST_USE power_status power_model_price(power_model *model, uint32_t context,
                                                        power_kv_type kv_type,
                                                        uint64_t *out_state_bytes,
                                                        uint64_t *out_scratch_bytes,
                                                        power_error *error);

/* ---- text ---- */

/* Text to ids. *out_count gets the number needed; POWER_LIMIT when capacity is smaller. A first
 * call with NULL and capacity 0 asks for it; the same below.
 * parse_special: control tokens in the text are recognised; add_special: BOS/EOS as the file says.
 * POWER_INVALID with the byte offset for text that is not UTF-8. */
POWER_API POWER_MUST_USE power_status power_tokenize(const power_model *model, const char *text,
                                                     size_t text_bytes, int add_special,
                                                     int parse_special, uint32_t *out_ids,
                                                     size_t capacity, size_t *out_count,
                                                     power_error *error);
/* Bytes [start, end) of a text. */
typedef struct power_token_place {
    uint32_t start, end;
} power_token_place;
/* The same, and what of the text each id stands for, `capacity` of each. Where normalization joined
 * characters, a place covers all of them; tokens that were added (BOS, EOS) have empty places. Byte
 * tokens of one character split it. Texts of at most 1 GiB. */
POWER_API POWER_MUST_USE power_status power_tokenize_places(
    const power_model *model, const char *text, size_t text_bytes, int add_special,
    int parse_special, uint32_t *out_ids, power_token_place *out_places, size_t capacity,
    size_t *out_count, power_error *error);
/* Ids to text; bytes that are not UTF-8 become U+FFFD. *out_bytes gets the length without the NUL;
 * POWER_LIMIT when capacity is smaller than length + 1. */
POWER_API POWER_MUST_USE power_status power_detokenize(const power_model *model,
                                                       const uint32_t *ids, size_t n_ids,
                                                       int show_special, char *out_text,
                                                       size_t capacity, size_t *out_bytes,
                                                       power_error *error);
/* The raw bytes of one token, not NUL-terminated; live as long as the model. */
POWER_API POWER_MUST_USE power_status power_token_bytes(const power_model *model, uint32_t id,
                                                        const char **out_bytes, size_t *out_length,
                                                        power_error *error);

typedef struct power_message {
    const char *role;    /* "system", "user", "assistant", ... */
    const char *content; /* UTF-8 */
} power_message;
/* What a chat template is given. Texts are borrowed for the call; NULL is none.
 * As in the transformers library, tools and documents are none for the template unless given, and
 * arguments of tool calls that hold an object as JSON text become that object (other text stays).
 * Which template: template_text; else the model's template of template_name; else "tool_use" where
 * the model has one and tools_json is given; else "default". The names are those of
 * tokenizer.chat_template.NAME in GGUF ("default" is tokenizer.chat_template itself), of the list
 * in tokenizer_config.json, and of additional_chat_templates/ (tool_use and rag);
 * chat_template.jinja is "default". There is never another template than the one asked for. */
typedef struct power_render_options {
    size_t struct_size;
    const char *messages_json;  /* a JSON array of messages; or, in its place, messages */
    const char *tools_json;     /* an array of tools */
    const char *variables_json; /* an object: more variables (enable_thinking, documents, ...) */
    int no_generation_prompt;   /* 1: add_generation_prompt is false, unless variables_json says */
    int continue_final_message; /* 1: the text ends where the last message's content ends */
    const char *template_name;
    const char *template_text; /* the caller's: its control tokens are trusted as the model's are */
    int has_now;               /* 1: strftime_now sees now_unix_s (UTC); 0: the machine's clock */
    int64_t now_unix_s;
    /* Messages of a role and a text each, n_messages of them, instead of messages_json. */
    const power_message *messages;
    size_t n_messages;
    uint64_t max_steps; /* 0: 10,000,000 */
    uint64_t max_bytes; /* of the text; 0: 16 MiB */
    uint32_t max_depth; /* of nested statements and calls; 0: 200 */
} power_render_options;
POWER_API void power_render_options_init(power_render_options *options);

/* The rendered text. Same rule for capacity as power_detokenize. `model` may be NULL where
 * template_text is given. POWER_NOT_FOUND when the model has no such template; POWER_INVALID with
 * line and column for what the template refuses; POWER_LIMIT when a budget is used up;
 * POWER_CORRUPT for JSON that is none; POWER_UNSUPPORTED for parts of the language that are refused
 * by name. The text alone does not tell what a user wrote: use power_render_tokens for ids. */
POWER_API POWER_MUST_USE power_status power_render_chat(const power_model *model,
                                                        const power_render_options *options,
                                                        char *out_text, size_t capacity,
                                                        size_t *out_bytes, power_error *error);
/* The same as ids, BOS and EOS as the file says (BOS never twice). Control tokens stand only where
 * the template or the model wrote all their bytes: what came with the messages, tools and
 * variables, in whatever way the template changed it, is plain text. Same rule for capacity as
 * power_tokenize.
 */
POWER_API POWER_MUST_USE power_status power_render_tokens(const power_model *model,
                                                          const power_render_options *options,
                                                          uint32_t *out_ids, size_t capacity,
                                                          size_t *out_count, power_error *error);

/* Shorter forms of power_render_chat. A prompt for a model is better made by power_render_tokens:
 * to tokenize this text with parse_special would turn what a user spelled into control tokens. */
POWER_API POWER_MUST_USE power_status power_render(const power_model *model,
                                                   const power_message *messages, size_t n_messages,
                                                   int add_generation_prompt, char *out_text,
                                                   size_t capacity, size_t *out_bytes,
                                                   power_error *error);
/* All variables as a JSON object (messages, tools, add_generation_prompt, ...), used as they are.
 */
POWER_API POWER_MUST_USE power_status power_render_json(const power_model *model,
                                                        const char *variables_json, char *out_text,
                                                        size_t capacity, size_t *out_bytes,
                                                        power_error *error);

#ifdef __cplusplus
}
#endif
#endif
