/* SPDX-License-Identifier: MIT */
/* A model as its files state it: typed metadata and named tensors, whatever the container.
 * Input: a path to a GGUF file (or the first of a split set), a SafeTensors file or a directory.
 * Output: a checked, immutable description plus access to the bytes. Owner: the model that opened
 * it. Threads: opening one; reading any. Bounds: memory for the description never exceeds what the
 * size of the files justifies; every offset and length was checked against its file. */
#ifndef POWER_FORMAT_SOURCE_H
#define POWER_FORMAT_SOURCE_H

#include "base/dtype.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/span.h"
#include "os/os.h"

enum power_meta_type { /* numbered as GGUF numbers them */
                       POWER_META_U8 = 0,
                       POWER_META_I8 = 1,
                       POWER_META_U16 = 2,
                       POWER_META_I16 = 3,
                       POWER_META_U32 = 4,
                       POWER_META_I32 = 5,
                       POWER_META_F32 = 6,
                       POWER_META_BOOL = 7,
                       POWER_META_TEXT = 8,
                       POWER_META_ARRAY = 9,
                       POWER_META_U64 = 10,
                       POWER_META_I64 = 11,
                       POWER_META_F64 = 12
};

struct power_meta_array {
    enum power_meta_type type; /* of the elements; arrays of arrays are refused by name */
    uint64_t count;
    const void *values; /* scalars: aligned little-endian values of that type (bool: one byte 0 or
                           1); text: struct power_text[count] */
};

struct power_meta {
    struct power_text key;
    enum power_meta_type type;
    union {
        uint64_t u; /* U8 U16 U32 U64, BOOL as 0 or 1 */
        int64_t i;  /* I8 I16 I32 I64 */
        double f;   /* F32 F64 */
        struct power_text text;
        struct power_meta_array array;
    } value;
};

struct power_tensor {
    struct power_text name;
    enum power_dtype dtype;
    uint32_t rank;    /* 1..4; a scalar has rank 1 and dims[0] = 1 */
    uint64_t dims[4]; /* dims[0] is the contiguous one (GGUF order); unused are 1 */
    uint32_t file;    /* index into files */
    uint64_t offset;  /* of the first byte in that file */
    uint64_t length_bytes;
};

struct power_source_file {
    char *path;
    struct power_file file;
    struct power_file_identity identity;
    struct power_mapping mapping; /* length 0 when read instead of mapped */
    _Atomic(int) damaged;         /* set by the bus guard */
};

enum power_container { POWER_CONTAINER_GGUF, POWER_CONTAINER_SAFETENSORS };

struct power_source {
    const power_allocator *allocator;
    enum power_container container;
    struct power_arena arena;
    struct power_source_file *files;
    uint32_t n_files;
    struct power_meta *metas; /* in file order */
    uint32_t n_metas;
    struct power_tensor *tensors; /* in file order */
    uint32_t n_tensors;
    struct power_index *meta_index, *tensor_index;
    /* SafeTensors only, else empty: the text of config.json, tokenizer.json,
     * tokenizer_config.json, generation_config.json; the bytes of tokenizer.model; the template
     * file. */
    struct power_text config_json, tokenizer_json, tokenizer_config_json, generation_config_json;
    struct power_text tokenizer_model, chat_template_file;
    struct power_text tool_template_file, rag_template_file; /* additional_chat_templates/ */
};

struct power_source_options {
    bool use_mmap;           /* false: tensor bytes are read when asked for */
    uint64_t max_file_bytes; /* 0: no limit */
};

/* Decides by content (GGUF magic, SafeTensors header, directory) and opens all files of a set. */
power_status power_source_open(const power_allocator *allocator, const char *path,
                               const struct power_source_options *options,
                               struct power_source **out, power_error *error) POWER_MUST_USE;
void power_source_close(struct power_source *source); /* NULL is allowed */

/* POWER_CHANGED when a file of the set is not the file that was opened, or a page of it was lost.
 */
power_status power_source_check(const struct power_source *source,
                                power_error *error) POWER_MUST_USE;

/* Bytes of a tensor: the mapping itself when mapped (*borrowed true), else read into pages that the
 * caller frees with power_pages_free(out->bytes, tensor->length_bytes). */
power_status power_source_tensor_bytes(const struct power_source *source,
                                       const struct power_tensor *tensor, struct power_span *out,
                                       bool *out_borrowed, power_error *error) POWER_MUST_USE;

/* SHA-256 of the file, or for a set: of the lines "<hex digest>  <file name>\n" in order. The files
 * beside SafeTensors weights (configuration, tokenizer, template) that were read belong to the set
 * and come last. */
power_status power_source_digest(const struct power_source *source, struct power_digest *out,
                                 const _Atomic(int) *cancel, power_error *error) POWER_MUST_USE;

const struct power_meta *power_source_meta(const struct power_source *source, const char *key);
const struct power_tensor *power_source_tensor(const struct power_source *source, const char *name);

/* Typed getters. Missing: POWER_NOT_FOUND naming the key. Wrong type or out of range of the C type:
 * POWER_CORRUPT naming the key, the type found and the type wanted. Any integer type is accepted
 * for an integer, F32 or F64 (or an integer) for a float. The _or forms take a default for a
 * missing key. */
power_status power_meta_u32(const struct power_source *s, const char *key, uint32_t *out,
                            power_error *error) POWER_MUST_USE;
power_status power_meta_u32_or(const struct power_source *s, const char *key, uint32_t fallback,
                               uint32_t *out, power_error *error) POWER_MUST_USE;
power_status power_meta_f32(const struct power_source *s, const char *key, float *out,
                            power_error *error) POWER_MUST_USE;
power_status power_meta_f32_or(const struct power_source *s, const char *key, float fallback,
                               float *out, power_error *error) POWER_MUST_USE;
power_status power_meta_bool_or(const struct power_source *s, const char *key, bool fallback,
                                bool *out, power_error *error) POWER_MUST_USE;
power_status power_meta_text(const struct power_source *s, const char *key, struct power_text *out,
                             power_error *error) POWER_MUST_USE;
power_status power_meta_text_or(const struct power_source *s, const char *key,
                                struct power_text fallback, struct power_text *out,
                                power_error *error) POWER_MUST_USE;
/* Array of a given element type. */
power_status power_meta_array(const struct power_source *s, const char *key,
                              enum power_meta_type type, struct power_meta_array *out,
                              power_error *error) POWER_MUST_USE;

/* Adds a key or a renamed view of a tensor (used where a SafeTensors model is brought to GGUF's
 * names; only before the source is shared). Text and arrays are borrowed, names copied.
 * Adding may move the keys: pointers from power_source_meta end there. */
power_status power_source_add_meta(struct power_source *s, const struct power_meta *meta,
                                   power_error *error) POWER_MUST_USE;
power_status power_source_rename_tensor(struct power_source *s, struct power_tensor *tensor,
                                        const char *name, power_error *error) POWER_MUST_USE;

#endif
