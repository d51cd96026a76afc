/* SPDX-License-Identifier: MIT */
/* One GGUF file, version 2 or 3, little-endian: its keys and its tensor table.
 * Input: an open file. Output: a checked power_part. Specification: docs/gguf.md of ggml.
 * Threads: the one that opens.
 * Bounds: every count and length is compared with the bytes that remain before it is used. */
#include <inttypes.h>

#include "base/checked.h"
#include "format/input.h"

enum {
    KEY_MAX = 65535, /* the specification's limits */
    NAME_MAX_BYTES = 64,
    META_MIN = 13,   /* the smallest key: 8, type 4, value 1; an empty name has its own error */
    TENSOR_MIN = 24, /* the smallest tensor: 8, n_dims 4, type 4, offset 8 */
    POOL_BYTES = 1 << 14,
    ALIGNMENT_DEFAULT = 32
};

struct parser {
    struct power_source *source;
    struct power_input in;
    power_error *error;
    uint32_t file;
    char *pool; /* room for short texts, side by side */
    size_t pool_left;
};

/* `what` is inside its quotes already where it quotes something. */
static power_status truncated(struct parser *p, uint64_t at, const char *what) {
    return power_fail_at(p->error, POWER_CORRUPT, at,
                         "truncated: %s at byte %" PRIu64 " goes past the end of the file", what,
                         at);
}

static uint64_t read_u64(struct parser *p) {
    return power_load_u64(power_input_take(&p->in, 8));
}

static uint32_t read_u32(struct parser *p) {
    return power_load_u32(power_input_take(&p->in, 4));
}

/* Room for a text and its NUL. Short ones share blocks, so that a vocabulary stays compact. */
static char *text_room(struct parser *p, size_t length) {
    if (length >= POOL_BYTES / 4) return power_arena_alloc(&p->source->arena, length + 1, 1);
    if (length + 1 > p->pool_left) {
        uint64_t left = power_input_left(&p->in) + 1;
        size_t block = left < POOL_BYTES ? (size_t)left : POOL_BYTES;
        p->pool = power_arena_alloc(&p->source->arena, block, 1);
        p->pool_left = p->pool ? block : 0;
        if (!p->pool) return NULL;
    }
    char *room = p->pool;
    p->pool += length + 1;
    p->pool_left -= length + 1;
    return room;
}

/* A length and that many bytes. `what` names it in errors. */
static power_status read_text(struct parser *p, uint64_t limit, const char *what,
                              struct power_text *out) {
    uint64_t at = p->in.offset;
    if (power_input_left(&p->in) < 8) return truncated(p, at, what);
    uint64_t length = read_u64(p);
    if (p->in.status != POWER_OK) return p->in.status;
    if (length > limit) {
        return power_fail_at(p->error, POWER_CORRUPT, at,
                             "%s at byte %" PRIu64 " has %" PRIu64 " bytes, the limit is %" PRIu64,
                             what, at, length, limit);
    }
    if (length > power_input_left(&p->in)) return truncated(p, at, what);
    char *bytes = text_room(p, (size_t)length);
    if (!bytes) return power_fail_memory(p->error, (size_t)length, what);
    if (!power_input_copy(&p->in, bytes, (size_t)length)) return p->in.status;
    bytes[length] = '\0';
    *out = (struct power_text){bytes, (size_t)length};
    return POWER_OK;
}

/* A name: not empty, no control bytes; for keys also nothing but ASCII. */
static power_status check_name(struct parser *p, struct power_text name, uint64_t at,
                               const char *what, bool ascii) {
    if (name.length == 0) {
        return power_fail_at(p->error, POWER_CORRUPT, at, "%s at byte %" PRIu64 " is empty", what,
                             at);
    }
    for (size_t i = 0; i < name.length; i++) {
        unsigned char c = (unsigned char)name.bytes[i];
        if (c >= 0x20 && c != 0x7f && (c < 0x80 || !ascii)) continue;
        return power_fail_at(p->error, POWER_CORRUPT, at, "%s \"%s\" at byte %" PRIu64 " holds %s",
                             what, power_quote(name.bytes, name.length).text, at,
                             c == 0     ? "a NUL"
                             : c < 0x80 ? "a control byte"
                                        : "a byte that is not ASCII");
    }
    return POWER_OK;
}

/* ---- values ---- */

/* Bytes of a scalar; 0 for text and arrays. */
static size_t scalar_bytes(uint32_t type) {
    static const unsigned char table[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof table ? table[type] : 0;
}

static power_status bad_value_type(struct parser *p, struct power_text key, uint64_t at,
                                   const char *what, uint32_t type) {
    return power_fail_at(p->error, POWER_CORRUPT, at,
                         "key \"%s\": %s %" PRIu32 " at byte %" PRIu64 " does not exist",
                         power_quote(key.bytes, key.length).text, what, type, at);
}

static power_status bad_bool(struct parser *p, struct power_text key, uint64_t at) {
    return power_fail_at(p->error, POWER_CORRUPT, at,
                         "key \"%s\": the bool at byte %" PRIu64 " is neither 0 nor 1",
                         power_quote(key.bytes, key.length).text, at);
}

static power_status truncated_value(struct parser *p, struct power_text key, uint64_t at) {
    char what[96] = "the value of key \"\"";
    struct power_quoted quoted = power_quote(key.bytes, key.length);
    size_t prefix = strlen(what) - 1, length = strlen(quoted.text);
    memcpy(what + prefix, quoted.text, length);
    memcpy(what + prefix + length, "\"", 2);
    return truncated(p, at, what);
}

static power_status read_scalar(struct parser *p, struct power_meta *meta) {
    uint64_t at = p->in.offset;
    size_t bytes = scalar_bytes(meta->type);
    if (bytes > power_input_left(&p->in)) return truncated_value(p, meta->key, at);
    unsigned char raw[8] = {0};
    memcpy(raw, power_input_take(&p->in, bytes), bytes);
    if (p->in.status != POWER_OK) return p->in.status;
    uint64_t u = power_load_u64(raw);
    float f;
    switch (meta->type) {
    case POWER_META_I8:
        meta->value.i = (int8_t)u;
        break;
    case POWER_META_I16:
        meta->value.i = (int16_t)u;
        break;
    case POWER_META_I32:
        meta->value.i = (int32_t)u;
        break;
    case POWER_META_I64:
        meta->value.i = (int64_t)u;
        break;
    case POWER_META_F32:
        memcpy(&f, raw, sizeof f);
        meta->value.f = (double)f;
        break;
    case POWER_META_F64:
        memcpy(&meta->value.f, raw, sizeof meta->value.f);
        break;
    case POWER_META_BOOL:
        if (u > 1) return bad_bool(p, meta->key, at);
        meta->value.u = u;
        break;
    case POWER_META_U8:
    case POWER_META_U16:
    case POWER_META_U32:
    case POWER_META_U64:
    case POWER_META_TEXT:
    case POWER_META_ARRAY:
    default:
        meta->value.u = u;
    }
    return POWER_OK;
}

static power_status read_texts(struct parser *p, struct power_text key, uint64_t at,
                               struct power_meta_array *array) {
    if (array->count > power_input_left(&p->in) / 8) return truncated_value(p, key, at);
    if (array->count > POWER_FORMAT_MAX_TEXTS) {
        return power_fail_at(
            p->error, POWER_LIMIT, at, "key \"%s\": %" PRIu64 " texts, the limit is %d",
            power_quote(key.bytes, key.length).text, array->count, POWER_FORMAT_MAX_TEXTS);
    }
    struct power_text *texts =
        power_arena_alloc(&p->source->arena, (size_t)array->count, sizeof *texts);
    if (!texts) {
        return power_fail_memory(p->error, (size_t)array->count * sizeof *texts, "an array");
    }
    for (uint64_t i = 0; i < array->count; i++) {
        uint64_t text_at = p->in.offset;
        if (power_input_left(&p->in) < 8) return truncated_value(p, key, text_at);
        power_status status = read_text(p, UINT64_MAX, "a text of an array", &texts[i]);
        if (status == POWER_CORRUPT) return truncated_value(p, key, text_at);
        if (status != POWER_OK) return status;
    }
    array->values = texts;
    return POWER_OK;
}

static power_status read_array(struct parser *p, struct power_text key,
                               struct power_meta_array *array) {
    uint64_t at = p->in.offset;
    if (power_input_left(&p->in) < 12) return truncated_value(p, key, at);
    uint32_t type = read_u32(p);
    array->count = read_u64(p);
    if (p->in.status != POWER_OK) return p->in.status;
    if (type == POWER_META_ARRAY) {
        return power_fail_at(p->error, POWER_UNSUPPORTED, at,
                             "key \"%s\": an array of arrays at byte %" PRIu64 " is not supported",
                             power_quote(key.bytes, key.length).text, at);
    }
    if (type > POWER_META_F64) return bad_value_type(p, key, at, "element type", type);
    array->type = (enum power_meta_type)type;
    if (type == POWER_META_TEXT) return read_texts(p, key, at, array);
    size_t size = scalar_bytes(type);
    if (array->count > power_input_left(&p->in) / size) return truncated_value(p, key, at);
    unsigned char *values = power_arena_alloc(&p->source->arena, (size_t)array->count, size);
    if (!values) return power_fail_memory(p->error, (size_t)array->count * size, "an array");
    uint64_t values_at = p->in.offset;
    if (!power_input_copy(&p->in, values, (size_t)array->count * size)) return p->in.status;
    for (uint64_t i = 0; type == POWER_META_BOOL && i < array->count; i++) {
        if (values[i] > 1) return bad_bool(p, key, values_at + i);
    }
    array->values = values;
    return POWER_OK;
}

static power_status read_meta(struct parser *p, struct power_meta *meta) {
    uint64_t at = p->in.offset;
    power_status status = read_text(p, KEY_MAX, "the key", &meta->key);
    if (status == POWER_OK) status = check_name(p, meta->key, at, "the key", true);
    if (status != POWER_OK) return status;
    at = p->in.offset;
    if (power_input_left(&p->in) < 4) return truncated_value(p, meta->key, at);
    uint32_t type = read_u32(p);
    if (p->in.status != POWER_OK) return p->in.status;
    if (type > POWER_META_F64) return bad_value_type(p, meta->key, at, "value type", type);
    meta->type = (enum power_meta_type)type;
    if (type == POWER_META_ARRAY) return read_array(p, meta->key, &meta->value.array);
    if (type != POWER_META_TEXT) return read_scalar(p, meta);
    at = p->in.offset;
    if (power_input_left(&p->in) < 8) return truncated_value(p, meta->key, at);
    status = read_text(p, UINT64_MAX, "a text", &meta->value.text);
    return status == POWER_CORRUPT ? truncated_value(p, meta->key, at) : status;
}

static power_status read_metas(struct parser *p, uint64_t count, struct power_part *part) {
    if (count > power_input_left(&p->in) / META_MIN) {
        return power_fail_at(p->error, POWER_CORRUPT, 16,
                             "truncated: %" PRIu64 " keys go past the end of the file", count);
    }
    if (count > POWER_FORMAT_MAX_METAS) {
        return power_fail_at(p->error, POWER_LIMIT, 16, "%" PRIu64 " keys, the limit is %d", count,
                             POWER_FORMAT_MAX_METAS);
    }
    part->metas = power_arena_alloc(&p->source->arena, (size_t)count, sizeof *part->metas);
    if (!part->metas) return power_fail_memory(p->error, (size_t)count * 48, "the keys");
    power_status status =
        power_index_create(p->source->allocator, (size_t)count, &part->meta_index, p->error);
    for (uint32_t i = 0; i < count && status == POWER_OK; i++) {
        uint64_t at = p->in.offset;
        struct power_meta *meta = &part->metas[i];
        status = read_meta(p, meta);
        if (status == POWER_OK && !power_index_add(part->meta_index, meta->key, i)) {
            status = power_fail_at(p->error, POWER_CORRUPT, at,
                                   "key \"%s\" is given twice, again at byte %" PRIu64,
                                   power_quote(meta->key.bytes, meta->key.length).text, at);
        }
        if (status == POWER_OK) part->n_metas = i + 1;
    }
    return status;
}

/* ---- tensors ---- */

static power_status bad_tensor(struct parser *p, const struct power_tensor *tensor, uint64_t at,
                               const char *fault, uint64_t value) {
    return power_fail_at(
        p->error, POWER_CORRUPT, at, "tensor \"%s\": %s %" PRIu64 " at byte %" PRIu64,
        power_quote(tensor->name.bytes, tensor->name.length).text, fault, value, at);
}

static power_status truncated_tensor(struct parser *p, const struct power_tensor *tensor,
                                     uint64_t at) {
    return power_fail_at(p->error, POWER_CORRUPT, at,
                         "truncated: the description of tensor \"%s\" goes past the end of the "
                         "file",
                         power_quote(tensor->name.bytes, tensor->name.length).text);
}

static power_status read_type(struct parser *p, struct power_tensor *tensor) {
    uint64_t at = p->in.offset;
    uint32_t type = read_u32(p);
    if (p->in.status != POWER_OK) return p->in.status;
    const char *removed = power_dtype_removed_name(type);
    struct power_quoted name = power_quote(tensor->name.bytes, tensor->name.length);
    if (removed) {
        return power_fail_at(p->error, POWER_UNSUPPORTED, at,
                             "tensor \"%s\": type %" PRIu32 " (%s) was removed from the format",
                             name.text, type, removed);
    }
    if (!power_dtype_info(type).name) {
        return power_fail_at(p->error, POWER_UNSUPPORTED, at,
                             "tensor \"%s\": type %" PRIu32 " at byte %" PRIu64 " does not exist",
                             name.text, type, at);
    }
    tensor->dtype = (enum power_dtype)type;
    return POWER_OK;
}

/* Offsets are kept relative to the tensor data until that place is known. */
static power_status read_tensor(struct parser *p, struct power_tensor *tensor) {
    uint64_t at = p->in.offset;
    power_status status = read_text(p, NAME_MAX_BYTES, "the tensor name", &tensor->name);
    if (status == POWER_OK) status = check_name(p, tensor->name, at, "the tensor name", false);
    if (status != POWER_OK) return status;
    at = p->in.offset;
    if (power_input_left(&p->in) < 4) return truncated_tensor(p, tensor, at);
    tensor->rank = read_u32(p);
    if (p->in.status != POWER_OK) return p->in.status;
    if (tensor->rank > 4) return bad_tensor(p, tensor, at, "too many dimensions,", tensor->rank);
    if (power_input_left(&p->in) < 8 * tensor->rank + 12) return truncated_tensor(p, tensor, at);
    for (uint32_t i = 0; i < 4; i++) {
        at = p->in.offset;
        tensor->dims[i] = i < tensor->rank ? read_u64(p) : 1;
        if (p->in.status != POWER_OK) return p->in.status;
        if (tensor->dims[i] == 0 || tensor->dims[i] > INT64_MAX) {
            return bad_tensor(p, tensor, at, "a dimension of", tensor->dims[i]);
        }
    }
    if (tensor->rank == 0) tensor->rank = 1;
    uint64_t type_at = p->in.offset;
    status = read_type(p, tensor);
    if (status != POWER_OK) return status;
    struct power_dtype_info info = power_dtype_info(tensor->dtype);
    if (tensor->dims[0] % info.block_elements != 0) {
        return bad_tensor(p, tensor, type_at, "rows do not fill the type's blocks of",
                          info.block_elements);
    }
    if (!power_tensor_bytes(tensor->dtype, tensor->dims, &tensor->length_bytes) ||
        tensor->length_bytes > p->in.file->file.size_bytes) {
        return bad_tensor(p, tensor, type_at, "the dimensions need more bytes than the file's",
                          p->in.file->file.size_bytes);
    }
    tensor->file = p->file;
    tensor->offset = read_u64(p);
    return p->in.status;
}

static power_status read_tensors(struct parser *p, uint64_t count, struct power_part *part) {
    if (count > power_input_left(&p->in) / TENSOR_MIN) {
        return power_fail_at(p->error, POWER_CORRUPT, 8,
                             "truncated: %" PRIu64 " tensors go past the end of the file", count);
    }
    if (count > POWER_FORMAT_MAX_TENSORS) {
        return power_fail_at(p->error, POWER_LIMIT, 8, "%" PRIu64 " tensors, the limit is %d",
                             count, POWER_FORMAT_MAX_TENSORS);
    }
    part->tensors = power_arena_alloc(&p->source->arena, (size_t)count, sizeof *part->tensors);
    if (!part->tensors) return power_fail_memory(p->error, (size_t)count * 80, "the tensors");
    power_status status =
        power_index_create(p->source->allocator, (size_t)count, &part->tensor_index, p->error);
    for (uint32_t i = 0; i < count && status == POWER_OK; i++) {
        uint64_t at = p->in.offset;
        struct power_tensor *tensor = &part->tensors[i];
        status = read_tensor(p, tensor);
        if (status == POWER_OK && !power_index_add(part->tensor_index, tensor->name, i)) {
            status = power_fail_at(p->error, POWER_CORRUPT, at,
                                   "tensor \"%s\" is given twice, again at byte %" PRIu64,
                                   power_quote(tensor->name.bytes, tensor->name.length).text, at);
        }
        if (status == POWER_OK) part->n_tensors = i + 1;
    }
    return status;
}

static power_status find_alignment(struct parser *p, const struct power_part *part, uint64_t *out) {
    const struct power_meta *meta = power_part_meta(part, "general.alignment");
    uint64_t alignment = ALIGNMENT_DEFAULT;
    if (meta) {
        if (meta->type != POWER_META_U32) {
            return power_fail(p->error, POWER_CORRUPT, "key \"general.alignment\" is no u32");
        }
        alignment = meta->value.u;
    }
    bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < 8 || alignment > POWER_FORMAT_MAX_ALIGNMENT) {
        return power_fail(p->error, POWER_CORRUPT,
                          "key \"general.alignment\": %" PRIu64 " is no power of two from 8 to %d",
                          alignment, POWER_FORMAT_MAX_ALIGNMENT);
    }
    *out = alignment;
    return POWER_OK;
}

/* Makes offsets count from the start of the file and proves each tensor to lie inside it. */
static power_status place_tensors(struct parser *p, struct power_part *part) {
    uint64_t alignment = 0, start, size = p->in.file->file.size_bytes;
    power_status status = find_alignment(p, part, &alignment);
    if (status != POWER_OK) return status;
    /* The table ends inside the file and the alignment is small: this cannot overflow. */
    start = (p->in.offset + alignment - 1) & ~(alignment - 1);
    for (uint32_t i = 0; i < part->n_tensors; i++) {
        struct power_tensor *tensor = &part->tensors[i];
        struct power_quoted name = power_quote(tensor->name.bytes, tensor->name.length);
        if (tensor->offset % alignment != 0) {
            return power_fail(p->error, POWER_CORRUPT,
                              "tensor \"%s\": offset %" PRIu64 " is no multiple of %" PRIu64,
                              name.text, tensor->offset, alignment);
        }
        uint64_t offset, end;
        if (!power_add_u64(start, tensor->offset, &offset) ||
            !power_add_u64(offset, tensor->length_bytes, &end) || end > size) {
            return power_fail(p->error, POWER_CORRUPT,
                              "tensor \"%s\": %" PRIu64 " bytes at offset %" PRIu64
                              " go past the end of the file's %" PRIu64 " bytes",
                              name.text, tensor->length_bytes, tensor->offset, size);
        }
        tensor->offset = offset;
    }
    return power_part_check_overlap(part, p->source->allocator, p->error);
}

/* ---- the file ---- */

static power_status read_version(struct parser *p) {
    const unsigned char *magic = power_input_take(&p->in, 4);
    if (p->in.status != POWER_OK) return p->in.status;
    bool reversed = memcmp(magic, "FUGG", 4) == 0;
    if (!reversed && memcmp(magic, "GGUF", 4) != 0) {
        return power_fail_at(p->error, POWER_CORRUPT, 0, "no GGUF magic at the start of the file");
    }
    uint32_t version = read_u32(p);
    if (p->in.status != POWER_OK) return p->in.status;
    if (!reversed && (version == 2 || version == 3)) return POWER_OK;
    if (!reversed && version == 1) {
        return power_fail_at(p->error, POWER_UNSUPPORTED, 4,
                             "GGUF version 1 is not supported, only 2 and 3: convert the model "
                             "anew");
    }
    if (reversed || (version != 0 && (version & 0xffff) == 0)) {
        return power_fail_at(p->error, POWER_UNSUPPORTED, 4,
                             "a big-endian GGUF file is not supported, only little-endian ones");
    }
    return power_fail_at(p->error, POWER_UNSUPPORTED, 4,
                         "GGUF version %" PRIu32 " is not supported, only 2 and 3", version);
}

static power_status read_file(struct parser *p, struct power_part *part) {
    uint64_t size = p->in.file->file.size_bytes;
    if (size < 8) {
        return power_fail_at(p->error, POWER_CORRUPT, size,
                             "truncated: %" PRIu64 " bytes are too short for a GGUF file", size);
    }
    power_status status = read_version(p);
    if (status != POWER_OK) return status;
    if (size < 24) {
        return power_fail_at(p->error, POWER_CORRUPT, size,
                             "truncated: %" PRIu64 " bytes are too short for a GGUF file", size);
    }
    uint64_t n_tensors = read_u64(p), n_metas = read_u64(p);
    if (p->in.status != POWER_OK) return p->in.status;
    status = read_metas(p, n_metas, part);
    if (status == POWER_OK) status = read_tensors(p, n_tensors, part);
    if (status == POWER_OK) status = place_tensors(p, part);
    return status;
}

power_status power_gguf_read(struct power_source *s, uint32_t file, struct power_part *out,
                             power_error *error) {
    struct parser parser = {.source = s, .error = error, .file = file};
    struct power_part part = {0};
    power_status status = power_input_init(&parser.in, &s->files[file], s->allocator, error);
    if (status != POWER_OK) return status;
    status = read_file(&parser, &part);
    power_input_finish(&parser.in);
    if (status == POWER_OK) {
        *out = part;
    } else {
        power_part_finish(&part);
    }
    return status;
}
