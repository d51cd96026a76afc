/* SPDX-License-Identifier: MIT */
/* Opening and closing a model's files, their bytes, their digest, and whether they changed.
 * Input: a path. Output: a power_source.
 * Threads: one opens and closes; any read.
 * Bounds: the arena's maximum is eight bytes for each byte of the files plus 1 MiB. */
#include "format/source.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/checked.h"
#include "format/internal.h"

enum { DIGEST_CHUNK = 1 << 20, ARENA_FACTOR = 8 };

struct power_quoted power_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    return power_quote(name, strlen(name));
}

/* ---- parts ---- */

void power_part_finish(struct power_part *part) {
    power_index_destroy(part->meta_index);
    power_index_destroy(part->tensor_index);
    part->meta_index = NULL;
    part->tensor_index = NULL;
}

const struct power_meta *power_part_meta(const struct power_part *part, const char *key) {
    uint32_t at;
    if (!power_index_find(part->meta_index, power_text_of(key), &at)) return NULL;
    return &part->metas[at];
}

bool power_tensor_bytes(enum power_dtype dtype, const uint64_t dims[4], uint64_t *out) {
    struct power_dtype_info info = power_dtype_info(dtype);
    if (!info.name || dims[0] % info.block_elements != 0) return false;
    uint64_t bytes;
    if (!power_mul_u64(dims[0] / info.block_elements, info.block_bytes, &bytes)) return false;
    for (int i = 1; i < 4; i++) {
        if (!power_mul_u64(bytes, dims[i], &bytes)) return false;
    }
    *out = bytes;
    return true;
}

static int by_offset(const void *a, const void *b) {
    const struct power_tensor *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

power_status power_part_check_overlap(const struct power_part *part,
                                      const power_allocator *allocator, power_error *error) {
    if (part->n_tensors < 2) return POWER_OK;
    const struct power_tensor **order = power_alloc(allocator, part->n_tensors, sizeof *order);
    if (!order) return power_fail_memory(error, part->n_tensors * sizeof *order, "tensor order");
    for (uint32_t i = 0; i < part->n_tensors; i++) {
        order[i] = &part->tensors[i];
    }
    qsort(order, part->n_tensors, sizeof *order, by_offset);
    power_status status = POWER_OK;
    for (uint32_t i = 1; i < part->n_tensors && status == POWER_OK; i++) {
        const struct power_tensor *a = order[i - 1], *b = order[i];
        if (b->offset - a->offset >= a->length_bytes) continue;
        status =
            power_fail_at(error, POWER_CORRUPT, b->offset, "tensor \"%s\" lies over tensor \"%s\"",
                          power_quote(b->name.bytes, b->name.length).text,
                          power_quote(a->name.bytes, a->name.length).text);
    }
    power_release(allocator, order, part->n_tensors, sizeof *order);
    return status;
}

/* ---- joining ---- */

static void take_single(struct power_source *s, struct power_part *part) {
    s->tensors = part->tensors;
    s->n_tensors = part->n_tensors;
    s->tensor_index = part->tensor_index;
    part->tensor_index = NULL;
}

static power_status join_tensors(struct power_source *s, const struct power_part *parts,
                                 power_error *error) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->n_files; i++) {
        total += parts[i].n_tensors;
    }
    if (total > POWER_FORMAT_MAX_TENSORS) {
        return power_fail(error, POWER_LIMIT, "%" PRIu64 " tensors, the limit is %d", total,
                          POWER_FORMAT_MAX_TENSORS);
    }
    s->tensors = power_arena_alloc(&s->arena, (size_t)total, sizeof *s->tensors);
    if (!s->tensors) return power_fail_memory(error, (size_t)total * sizeof *s->tensors, "tensors");
    power_status status = power_index_create(s->allocator, (size_t)total, &s->tensor_index, error);
    if (status != POWER_OK) return status;
    for (uint32_t i = 0; i < s->n_files; i++) {
        for (uint32_t j = 0; j < parts[i].n_tensors; j++) {
            struct power_text name = parts[i].tensors[j].name;
            if (!power_index_add(s->tensor_index, name, s->n_tensors)) {
                return power_fail(error, POWER_CORRUPT,
                                  "tensor \"%s\" is given twice, again in \"%s\"",
                                  power_quote(name.bytes, name.length).text,
                                  power_path_name(s->files[i].path).text);
            }
            s->tensors[s->n_tensors++] = parts[i].tensors[j];
        }
    }
    return POWER_OK;
}

power_status power_source_join(struct power_source *s, struct power_part *parts,
                               power_error *error) {
    struct power_source_own *own = power_source_own(s);
    if (s->n_files == 1) {
        take_single(s, &parts[0]);
    } else {
        power_status status = join_tensors(s, parts, error);
        if (status != POWER_OK) return status;
    }
    own->names_indexed = s->n_tensors;
    own->names_capacity = s->n_tensors;
    s->metas = parts[0].metas;
    s->n_metas = parts[0].n_metas;
    s->meta_index = parts[0].meta_index;
    parts[0].meta_index = NULL;
    own->metas_capacity = s->n_metas;
    return POWER_OK;
}

/* ---- files ---- */

power_status power_source_reserve_files(struct power_source *s, uint32_t n_files,
                                        power_error *error) {
    struct power_source_file *files = power_arena_alloc(&s->arena, n_files, sizeof *files);
    if (!files) return power_fail_memory(error, n_files * sizeof *files, "the files of a model");
    for (uint32_t i = 0; i < s->n_files; i++) {
        files[i].path = s->files[i].path;
        files[i].file = s->files[i].file;
        files[i].identity = s->files[i].identity;
    }
    s->files = files;
    return POWER_OK;
}

static void raise_maximum(struct power_arena *arena, uint64_t file_bytes) {
    uint64_t bytes, total;
    if (!power_mul_u64(file_bytes, ARENA_FACTOR, &bytes)) bytes = SIZE_MAX;
    if (!power_add_u64(arena->max_bytes, bytes, &total) || total > SIZE_MAX) total = SIZE_MAX;
    arena->max_bytes = (size_t)total;
}

power_status power_source_add_file(struct power_source *s, const char *path,
                                   const struct power_source_options *options, power_error *error) {
    struct power_source_file *file = &s->files[s->n_files];
    file->path = power_arena_text(&s->arena, path, strlen(path));
    if (!file->path) return power_fail_memory(error, strlen(path), "a path");
    power_status status = power_file_open(&file->file, path, error);
    if (status != POWER_OK) return status;
    s->n_files++;
    status = power_file_identity(&file->file, &file->identity, error);
    if (status != POWER_OK) return status;
    uint64_t size = file->identity.size_bytes;
    file->file.size_bytes = size;
    if (options->max_file_bytes && size > options->max_file_bytes) {
        return power_fail(error, POWER_LIMIT, "\"%s\" has %" PRIu64 " bytes, the limit is %" PRIu64,
                          power_path_name(path).text, size, options->max_file_bytes);
    }
    raise_maximum(&s->arena, size);
    return POWER_OK;
}

static power_status map_files(struct power_source *s, power_error *error) {
    bool guarded = power_bus_guard_installed();
    for (uint32_t i = 0; i < s->n_files; i++) {
        struct power_source_file *file = &s->files[i];
        power_status status = power_map_file(&file->mapping, &file->file, error);
        if (status == POWER_OK && guarded) {
            status = power_bus_guard_add(&file->mapping, &file->damaged, error);
        }
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}

/* ---- opening ---- */

enum content { CONTENT_GGUF, CONTENT_SAFETENSORS, CONTENT_OTHER };

/* What the first bytes of a file say it is. */
static enum content content_of(const unsigned char *at, size_t length, uint64_t size) {
    if (length >= 4 && (memcmp(at, "GGUF", 4) == 0 || memcmp(at, "FUGG", 4) == 0)) {
        return CONTENT_GGUF;
    }
    if (length < 9 || at[8] != '{') return CONTENT_OTHER;
    return power_load_u64(at) <= size - 8 ? CONTENT_SAFETENSORS : CONTENT_OTHER;
}

static power_status refuse_content(const unsigned char *at, size_t length, const char *name,
                                   power_error *error) {
    if (length < 9) {
        return power_fail_at(error, POWER_CORRUPT, length,
                             "\"%s\" is too short for a model: %zu bytes", name, length);
    }
    static const struct {
        const char *magic, *what;
    } known[] = {
        {"lmgg", "an old GGML file"},
        {"tjgg", "an old GGJT file"},
        {"fmgg", "an old GGMF file"},
        {"algg", "an old adapter file"},
        {"PK\3\4", "a zip archive (a PyTorch file?)"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (memcmp(at, known[i].magic, 4) != 0) continue;
        return power_fail_at(error, POWER_UNSUPPORTED, 0,
                             "\"%s\" is %s, only GGUF and SafeTensors are supported", name,
                             known[i].what);
    }
    if (at[8] == '{') {
        return power_fail_at(error, POWER_CORRUPT, 0,
                             "\"%s\" is truncated: its SafeTensors header of %" PRIu64
                             " bytes goes past the end of the file",
                             name, power_load_u64(at));
    }
    return power_fail_at(error, POWER_UNSUPPORTED, 0,
                         "\"%s\" is neither a GGUF nor a SafeTensors file", name);
}

/* File 0 is open: reads it as what it is. */
static power_status open_content(struct power_source *s, const char *path,
                                 const struct power_source_options *options, power_error *error) {
    const struct power_source_file *file = &s->files[0];
    unsigned char start[9] = {0};
    size_t length = file->file.size_bytes < 9 ? (size_t)file->file.size_bytes : 9;
    if (file->file.fd < 0) {
        memcpy(start, file->mapping.bytes, length);
    } else {
        power_status status = power_file_read(&file->file, 0, start, length, error);
        if (status != POWER_OK) return status;
    }
    switch (content_of(start, length, file->file.size_bytes)) {
    case CONTENT_GGUF:
        s->container = POWER_CONTAINER_GGUF;
        return power_gguf_open_set(s, path, options, error);
    case CONTENT_SAFETENSORS:
        s->container = POWER_CONTAINER_SAFETENSORS;
        return power_safetensors_open_file(s, path, error);
    case CONTENT_OTHER:
    default:
        return refuse_content(start, length, power_path_name(path).text, error);
    }
}

static power_status source_create(const power_allocator *allocator, struct power_source **out,
                                  power_error *error) {
    struct power_source_own *own = power_alloc(allocator, 1, sizeof *own);
    if (!own) return power_fail_memory(error, sizeof *own, "a model description");
    own->source.allocator = allocator;
    power_arena_init(&own->source.arena, allocator, POWER_FORMAT_SLACK_BYTES);
    *out = &own->source;
    return POWER_OK;
}

power_status power_source_open(const power_allocator *allocator, const char *path,
                               const struct power_source_options *options,
                               struct power_source **out, power_error *error) {
    struct power_source *s = NULL;
    power_status status = source_create(allocator, &s, error);
    if (status != POWER_OK) return status;
    if (power_path_is_directory(path)) {
        s->container = POWER_CONTAINER_SAFETENSORS;
        status = power_safetensors_open_folder(s, path, options, error);
    } else {
        status = power_source_reserve_files(s, 1, error);
        if (status == POWER_OK) status = power_source_add_file(s, path, options, error);
        if (status == POWER_OK) status = open_content(s, path, options, error);
    }
    if (status == POWER_OK && options->use_mmap) status = map_files(s, error);
    if (status != POWER_OK) {
        power_source_close(s);
        return status;
    }
    *out = s;
    return POWER_OK;
}

power_status power_source_open_memory(const power_allocator *allocator, const void *bytes,
                                      size_t length, struct power_source **out,
                                      power_error *error) {
    static const struct power_source_options options = {.use_mmap = false};
    struct power_source *s = NULL;
    power_status status = source_create(allocator, &s, error);
    if (status != POWER_OK) return status;
    status = power_source_reserve_files(s, 1, error);
    if (status == POWER_OK) {
        struct power_source_file *file = &s->files[0];
        file->path = power_arena_text(&s->arena, "memory", 6);
        file->file = (struct power_file){.fd = -1, .size_bytes = length};
        file->mapping.bytes = length ? bytes : (const unsigned char *)"";
        file->mapping.length = length;
        s->n_files = 1;
        raise_maximum(&s->arena, length);
        status = file->path ? open_content(s, file->path, &options, error)
                            : power_fail_memory(error, 7, "a path");
    }
    if (status != POWER_OK) {
        power_source_close(s);
        return status;
    }
    *out = s;
    return POWER_OK;
}

void power_source_close(struct power_source *source) {
    if (!source) return;
    const power_allocator *allocator = source->allocator;
    for (uint32_t i = 0; i < source->n_files; i++) {
        struct power_source_file *file = &source->files[i];
        if (file->file.fd < 0) continue; /* bytes in memory belong to the caller */
        power_bus_guard_remove(&file->mapping);
        power_unmap(&file->mapping);
        power_file_close(&file->file);
    }
    power_index_destroy(source->meta_index);
    power_index_destroy(source->tensor_index);
    power_arena_finish(&source->arena);
    power_release(allocator, power_source_own(source), 1, sizeof(struct power_source_own));
}

/* ---- changes ---- */

/* Of one open file: other bytes have another size or time of change. A file that was removed, or
 * replaced by a new one under its name, has fewer links and another inode time; its bytes are what
 * they were. */
static bool same_content(const struct power_file_identity *a, const struct power_file_identity *b) {
    bool same_inode_time = a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
           (same_inode_time || a->links != b->links);
}

static power_status check_file(const struct power_source_file *file, power_error *error) {
    struct power_file_identity now;
    if (atomic_load(&file->damaged)) {
        return power_fail(error, POWER_CHANGED, "bytes of \"%s\" were lost while it was mapped",
                          power_path_name(file->path).text);
    }
    if (file->file.fd < 0) return POWER_OK;
    power_status status = power_file_identity(&file->file, &now, error);
    if (status != POWER_OK) return status;
    if (same_content(&file->identity, &now)) return POWER_OK;
    return power_fail(error, POWER_CHANGED, "\"%s\" changed since it was opened",
                      power_path_name(file->path).text);
}

power_status power_source_check(const struct power_source *source, power_error *error) {
    for (uint32_t i = 0; i < source->n_files; i++) {
        power_status status = check_file(&source->files[i], error);
        if (status != POWER_OK) return status;
    }
    return POWER_OK;
}

power_status power_source_tensor_bytes(const struct power_source *source,
                                       const struct power_tensor *tensor, struct power_span *out,
                                       bool *out_borrowed, power_error *error) {
    const struct power_source_file *file = &source->files[tensor->file];
    power_status status = check_file(file, error);
    if (status != POWER_OK) return status;
    if (file->mapping.length) {
        *out =
            (struct power_span){file->mapping.bytes + tensor->offset, (size_t)tensor->length_bytes};
        *out_borrowed = true;
        return POWER_OK;
    }
    void *pages = NULL;
    if (tensor->length_bytes > SIZE_MAX) return power_fail_memory(error, SIZE_MAX, "a tensor");
    size_t length = (size_t)tensor->length_bytes;
    status = power_pages_alloc(&pages, length, error);
    if (status != POWER_OK) return status;
    status = power_file_read(&file->file, tensor->offset, pages, length, error);
    if (status != POWER_OK) {
        power_pages_free(pages, length);
        return status;
    }
    *out = (struct power_span){pages, length};
    *out_borrowed = false;
    return POWER_OK;
}

/* ---- digest ---- */

static power_status update(struct power_sha256 *sha, const void *bytes, size_t length,
                           power_error *error) {
    power_status status = power_sha256_update(sha, bytes, length);
    return status == POWER_OK ? status : power_fail(error, status, "the digest failed");
}

/* A file is read, not taken from the mapping: reading cannot fault. */
static power_status hash_file(struct power_sha256 *sha, const struct power_source_file *file,
                              unsigned char *chunk, const _Atomic(int) *cancel,
                              power_error *error) {
    if (file->file.fd < 0) {
        return update(sha, file->mapping.bytes, file->mapping.length, error);
    }
    uint64_t size = file->file.size_bytes;
    for (uint64_t at = 0; at < size;) {
        if (cancel && atomic_load(cancel)) {
            return power_fail(error, POWER_CANCELLED, "the digest was cancelled");
        }
        size_t n = size - at < DIGEST_CHUNK ? (size_t)(size - at) : DIGEST_CHUNK;
        power_status status = power_file_read(&file->file, at, chunk, n, error);
        if (status == POWER_OK) status = update(sha, chunk, n, error);
        if (status != POWER_OK) return status;
        at += n;
    }
    return check_file(file, error);
}

static power_status digest_file(const struct power_source_file *file, struct power_digest *out,
                                unsigned char *chunk, const _Atomic(int) *cancel,
                                power_error *error) {
    struct power_sha256 *sha = NULL;
    power_status status = power_sha256_create(&sha, error);
    if (status == POWER_OK) status = hash_file(sha, file, chunk, cancel, error);
    if (status == POWER_OK) status = power_sha256_final(sha, out);
    power_sha256_destroy(sha);
    return status;
}

/* One line of a set's list. */
static power_status add_line(struct power_sha256 *sha, const struct power_digest *digest,
                             const char *name, power_error *error) {
    char hex[65];
    power_digest_hex(digest, hex);
    power_status status = update(sha, hex, 64, error);
    if (status == POWER_OK) status = update(sha, "  ", 2, error);
    if (status == POWER_OK) status = update(sha, name, strlen(name), error);
    if (status == POWER_OK) status = update(sha, "\n", 1, error);
    return status;
}

static power_status digest_set(const struct power_source *source, struct power_digest *out,
                               unsigned char *chunk, const _Atomic(int) *cancel,
                               power_error *error) {
    const struct power_source_own *own = (const struct power_source_own *)source;
    struct power_sha256 *sha = NULL;
    struct power_digest digest;
    power_status status = power_sha256_create(&sha, error);
    for (uint32_t i = 0; i < source->n_files && status == POWER_OK; i++) {
        const char *slash = strrchr(source->files[i].path, '/');
        const char *name = slash ? slash + 1 : source->files[i].path;
        status = digest_file(&source->files[i], &digest, chunk, cancel, error);
        if (status == POWER_OK) status = add_line(sha, &digest, name, error);
    }
    for (uint32_t i = 0; i < own->n_companions && status == POWER_OK; i++) {
        struct power_text text = own->companion_texts[i];
        status = power_sha256_once(text.bytes, text.length, &digest);
        if (status == POWER_OK)
            status = add_line(sha, &digest, own->companion_names[i].bytes, error);
    }
    if (status == POWER_OK) status = power_sha256_final(sha, out);
    power_sha256_destroy(sha);
    return status;
}

power_status power_source_digest(const struct power_source *source, struct power_digest *out,
                                 const _Atomic(int) *cancel, power_error *error) {
    const struct power_source_own *own = (const struct power_source_own *)source;
    unsigned char *chunk = power_alloc(source->allocator, DIGEST_CHUNK, 1);
    if (!chunk) return power_fail_memory(error, DIGEST_CHUNK, "a read buffer");
    power_status status = source->n_files == 1 && own->n_companions == 0
                              ? digest_file(&source->files[0], out, chunk, cancel, error)
                              : digest_set(source, out, chunk, cancel, error);
    power_release(source->allocator, chunk, DIGEST_CHUNK, 1);
    return status;
}
