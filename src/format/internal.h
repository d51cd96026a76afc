/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: a source while it is being opened.
 * Input: files of a set. Output: descriptions of single files, put together by the openers.
 * Threads: the one that opens.
 * Bounds: stated here, beside what the files themselves can justify. */
#ifndef POWER_FORMAT_INTERNAL_H
#define POWER_FORMAT_INTERNAL_H

#include "format/source.h"

enum {
    POWER_FORMAT_MAX_FILES = 1000,        /* of a set */
    POWER_FORMAT_MAX_METAS = 1 << 16,     /* keys of a file */
    POWER_FORMAT_MAX_TENSORS = 1 << 20,   /* of a set */
    POWER_FORMAT_MAX_TEXTS = 1 << 24,     /* entries of one array of texts */
    POWER_FORMAT_MAX_ALIGNMENT = 1 << 24, /* of tensor data */
    POWER_FORMAT_SLACK_BYTES = 1 << 20    /* of the arena, for paths and small change */
};

/* A source with the capacities that growing it needs. Every power_source is one of these. */
struct power_source_own {
    struct power_source source;
    uint32_t metas_capacity;            /* of the array and of its index */
    uint32_t names_indexed;             /* names in tensor_index, old ones included */
    uint32_t names_capacity;            /* of tensor_index */
    struct power_text *companion_names; /* SafeTensors: names of the files beside, for the digest */
    struct power_text *companion_texts;
    uint32_t n_companions;
};

static inline struct power_source_own *power_source_own(struct power_source *source) {
    return (struct power_source_own *)source;
}

/* What one file of a set states. Arrays lie in the source's arena; the indexes are owned by whoever
 * holds this struct. */
struct power_part {
    struct power_meta *metas;
    uint32_t n_metas;
    struct power_index *meta_index;
    struct power_tensor *tensors;
    uint32_t n_tensors;
    struct power_index *tensor_index;
};
void power_part_finish(struct power_part *part);
const struct power_meta *power_part_meta(const struct power_part *part, const char *key);

/* Makes room for the files of a set; called once, before the first is opened. */
power_status power_source_reserve_files(struct power_source *s, uint32_t n_files,
                                        power_error *error) POWER_MUST_USE;
/* Opens file number s->n_files, checks the size limit and raises the arena's maximum. */
power_status power_source_add_file(struct power_source *s, const char *path,
                                   const struct power_source_options *options,
                                   power_error *error) POWER_MUST_USE;
/* Joins the parts, one for each file: keys of the first, tensors of all. Takes the parts' indexes
 * where it can; the caller still finishes the parts. */
power_status power_source_join(struct power_source *s, struct power_part *parts,
                               power_error *error) POWER_MUST_USE;
/* Refuses tensors of `file` that lie over each other. */
power_status power_part_check_overlap(const struct power_part *part,
                                      const power_allocator *allocator,
                                      power_error *error) POWER_MUST_USE;
/* Number of bytes of a tensor, from type and dims; false when they overflow or do not fill blocks.
 */
bool power_tensor_bytes(enum power_dtype dtype, const uint64_t dims[4], uint64_t *out);
/* The value of an integer of any type; false for other types and for negative ones. */
bool power_meta_as_u64(const struct power_meta *meta, uint64_t *out);
/* The last name of a path, made safe for a message. */
struct power_quoted power_path_name(const char *path);

/* One file each. */
power_status power_gguf_read(struct power_source *s, uint32_t file, struct power_part *out,
                             power_error *error) POWER_MUST_USE;
power_status power_safetensors_read(struct power_source *s, uint32_t file, struct power_part *out,
                                    power_error *error) POWER_MUST_USE;
/* Whole sets. File 0 is open already where `path` is a file. */
power_status power_gguf_open_set(struct power_source *s, const char *path,
                                 const struct power_source_options *options,
                                 power_error *error) POWER_MUST_USE;
power_status power_safetensors_open_file(struct power_source *s, const char *path,
                                         power_error *error) POWER_MUST_USE;
power_status power_safetensors_open_folder(struct power_source *s, const char *path,
                                           const struct power_source_options *options,
                                           power_error *error) POWER_MUST_USE;

/* A single GGUF or SafeTensors file that lies in memory; the bytes are borrowed until the close.
 * For tests and fuzzing. */
power_status power_source_open_memory(const power_allocator *allocator, const void *bytes,
                                      size_t length, struct power_source **out,
                                      power_error *error) POWER_MUST_USE;

#endif
