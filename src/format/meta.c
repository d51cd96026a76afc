/* SPDX-License-Identifier: MIT */
/* Looking into a source: keys, tensors, typed getters, and the few changes allowed while it is
 * opened. Input: a source. Output: values, or errors that name the key and the types. Threads: any
 * for reading; adding and renaming by the one that opens. Bounds: what is added raises the arena's
 * maximum by its own size. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "format/internal.h"

static const char *type_name(enum power_meta_type type) {
    static const char *const names[] = {"u8",   "i8",   "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "text", "array", "u64", "i64", "f64"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

const struct power_meta *power_source_meta(const struct power_source *source, const char *key) {
    uint32_t at;
    if (!power_index_find(source->meta_index, power_text_of(key), &at)) return NULL;
    return &source->metas[at];
}

/* A name that a renamed tensor once had may still be in the index. */
const struct power_tensor *power_source_tensor(const struct power_source *source,
                                               const char *name) {
    uint32_t at;
    struct power_text text = power_text_of(name);
    if (!power_index_find(source->tensor_index, text, &at)) return NULL;
    return power_text_equal(source->tensors[at].name, text) ? &source->tensors[at] : NULL;
}

bool power_meta_as_u64(const struct power_meta *meta, uint64_t *out) {
    switch (meta->type) {
    case POWER_META_U8:
    case POWER_META_U16:
    case POWER_META_U32:
    case POWER_META_U64:
        *out = meta->value.u;
        return true;
    case POWER_META_I8:
    case POWER_META_I16:
    case POWER_META_I32:
    case POWER_META_I64:
        if (meta->value.i < 0) return false;
        *out = (uint64_t)meta->value.i;
        return true;
    case POWER_META_F32:
    case POWER_META_F64:
    case POWER_META_BOOL:
    case POWER_META_TEXT:
    case POWER_META_ARRAY:
    default:
        return false;
    }
}

static bool is_signed(enum power_meta_type type) {
    return type == POWER_META_I8 || type == POWER_META_I16 || type == POWER_META_I32 ||
           type == POWER_META_I64;
}

static power_status find(const struct power_source *s, const char *key,
                         const struct power_meta **out, power_error *error) {
    *out = power_source_meta(s, key);
    if (*out) return POWER_OK;
    return power_fail(error, POWER_NOT_FOUND, "key \"%s\" is missing", key);
}

static power_status wrong_type(const struct power_meta *meta, const char *wanted,
                               power_error *error) {
    return power_fail(error, POWER_CORRUPT, "key \"%s\" is of type %s, %s is wanted",
                      power_quote(meta->key.bytes, meta->key.length).text, type_name(meta->type),
                      wanted);
}

static power_status get_u32(const struct power_meta *meta, uint32_t *out, power_error *error) {
    uint64_t value;
    struct power_quoted key = power_quote(meta->key.bytes, meta->key.length);
    if (power_meta_as_u64(meta, &value)) {
        if (value > UINT32_MAX) {
            return power_fail(error, POWER_CORRUPT,
                              "key \"%s\": %" PRIu64 " (%s) is out of range of u32", key.text,
                              value, type_name(meta->type));
        }
        *out = (uint32_t)value;
        return POWER_OK;
    }
    if (is_signed(meta->type)) {
        return power_fail(error, POWER_CORRUPT,
                          "key \"%s\": %" PRId64 " (%s) is out of range of u32", key.text,
                          meta->value.i, type_name(meta->type));
    }
    return wrong_type(meta, "u32", error);
}

static power_status get_f32(const struct power_meta *meta, float *out, power_error *error) {
    uint64_t value;
    if (meta->type == POWER_META_F32 || meta->type == POWER_META_F64) {
        float narrow = (float)meta->value.f;
        if (isinf(narrow) && !isinf(meta->value.f)) {
            return power_fail(error, POWER_CORRUPT, "key \"%s\": %g (f64) is out of range of f32",
                              power_quote(meta->key.bytes, meta->key.length).text, meta->value.f);
        }
        *out = narrow;
    } else if (power_meta_as_u64(meta, &value)) {
        *out = (float)value;
    } else if (is_signed(meta->type)) {
        *out = (float)meta->value.i;
    } else {
        return wrong_type(meta, "f32", error);
    }
    return POWER_OK;
}

power_status power_meta_u32(const struct power_source *s, const char *key, uint32_t *out,
                            power_error *error) {
    const struct power_meta *meta;
    power_status status = find(s, key, &meta, error);
    return status == POWER_OK ? get_u32(meta, out, error) : status;
}

power_status power_meta_u32_or(const struct power_source *s, const char *key, uint32_t fallback,
                               uint32_t *out, power_error *error) {
    const struct power_meta *meta = power_source_meta(s, key);
    if (meta) return get_u32(meta, out, error);
    *out = fallback;
    return POWER_OK;
}

power_status power_meta_f32(const struct power_source *s, const char *key, float *out,
                            power_error *error) {
    const struct power_meta *meta;
    power_status status = find(s, key, &meta, error);
    return status == POWER_OK ? get_f32(meta, out, error) : status;
}

power_status power_meta_f32_or(const struct power_source *s, const char *key, float fallback,
                               float *out, power_error *error) {
    const struct power_meta *meta = power_source_meta(s, key);
    if (meta) return get_f32(meta, out, error);
    *out = fallback;
    return POWER_OK;
}

power_status power_meta_bool_or(const struct power_source *s, const char *key, bool fallback,
                                bool *out, power_error *error) {
    const struct power_meta *meta = power_source_meta(s, key);
    if (meta && meta->type != POWER_META_BOOL) return wrong_type(meta, "bool", error);
    *out = meta ? meta->value.u != 0 : fallback;
    return POWER_OK;
}

power_status power_meta_text(const struct power_source *s, const char *key, struct power_text *out,
                             power_error *error) {
    const struct power_meta *meta;
    power_status status = find(s, key, &meta, error);
    if (status != POWER_OK) return status;
    if (meta->type != POWER_META_TEXT) return wrong_type(meta, "text", error);
    *out = meta->value.text;
    return POWER_OK;
}

power_status power_meta_text_or(const struct power_source *s, const char *key,
                                struct power_text fallback, struct power_text *out,
                                power_error *error) {
    const struct power_meta *meta = power_source_meta(s, key);
    if (meta && meta->type != POWER_META_TEXT) return wrong_type(meta, "text", error);
    *out = meta ? meta->value.text : fallback;
    return POWER_OK;
}

power_status power_meta_array(const struct power_source *s, const char *key,
                              enum power_meta_type type, struct power_meta_array *out,
                              power_error *error) {
    const struct power_meta *meta;
    power_status status = find(s, key, &meta, error);
    if (status != POWER_OK) return status;
    if (meta->type != POWER_META_ARRAY) return wrong_type(meta, "array", error);
    if (meta->value.array.type != type) {
        return power_fail(error, POWER_CORRUPT, "key \"%s\" is an array of %s, %s is wanted", key,
                          type_name(meta->value.array.type), type_name(type));
    }
    *out = meta->value.array;
    return POWER_OK;
}

/* ---- changes while a model is opened ---- */

/* Lets the arena hand out `bytes` more: what our own code adds is not bounded by a file's size. */
static void raise_maximum(struct power_arena *arena, size_t bytes) {
    size_t raised;
    if (power_add_size(arena->max_bytes, bytes + 64, &raised)) arena->max_bytes = raised;
}

static power_status grow_metas(struct power_source *s, power_error *error) {
    struct power_source_own *own = power_source_own(s);
    if (s->n_metas < own->metas_capacity) return POWER_OK;
    if (s->n_metas >= POWER_FORMAT_MAX_METAS) {
        return power_fail(error, POWER_LIMIT, "more than %d keys", POWER_FORMAT_MAX_METAS);
    }
    uint32_t capacity = s->n_metas < 32 ? 64 : s->n_metas * 2;
    size_t bytes = capacity * sizeof *s->metas;
    raise_maximum(&s->arena, bytes);
    struct power_meta *metas = power_arena_alloc(&s->arena, capacity, sizeof *metas);
    if (!metas) return power_fail_memory(error, bytes, "the keys");
    struct power_index *index = NULL;
    power_status status = power_index_create(s->allocator, capacity, &index, error);
    if (status != POWER_OK) return status;
    for (uint32_t i = 0; i < s->n_metas; i++) {
        metas[i] = s->metas[i];
        power_index_add(index, metas[i].key, i);
    }
    power_index_destroy(s->meta_index);
    s->meta_index = index;
    s->metas = metas;
    own->metas_capacity = capacity;
    return POWER_OK;
}

power_status power_source_add_meta(struct power_source *s, const struct power_meta *meta,
                                   power_error *error) {
    power_status status = grow_metas(s, error);
    if (status != POWER_OK) return status;
    raise_maximum(&s->arena, meta->key.length);
    char *key = power_arena_text(&s->arena, meta->key.bytes, meta->key.length);
    if (!key) return power_fail_memory(error, meta->key.length, "a key");
    struct power_meta added = *meta;
    added.key.bytes = key;
    if (!power_index_add(s->meta_index, added.key, s->n_metas)) {
        return power_fail(error, POWER_CORRUPT, "key \"%s\" is given twice",
                          power_quote(key, added.key.length).text);
    }
    s->metas[s->n_metas++] = added;
    return POWER_OK;
}

/* An index of the names that the tensors have now, with room for as many more. */
static power_status rebuild_names(struct power_source *s, power_error *error) {
    struct power_source_own *own = power_source_own(s);
    uint32_t capacity = s->n_tensors * 2 + 2;
    struct power_index *index = NULL;
    power_status status = power_index_create(s->allocator, capacity, &index, error);
    if (status != POWER_OK) return status;
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        struct power_text name = s->tensors[i].name;
        if (power_index_add(index, name, i)) continue;
        power_index_destroy(index);
        return power_fail(error, POWER_CORRUPT, "two tensors are called \"%s\"",
                          power_quote(name.bytes, name.length).text);
    }
    power_index_destroy(s->tensor_index);
    s->tensor_index = index;
    own->names_indexed = s->n_tensors;
    own->names_capacity = capacity;
    return POWER_OK;
}

power_status power_source_rename_tensor(struct power_source *s, struct power_tensor *tensor,
                                        const char *name, power_error *error) {
    struct power_source_own *own = power_source_own(s);
    assert(tensor >= s->tensors && tensor < s->tensors + s->n_tensors);
    size_t length = strlen(name);
    raise_maximum(&s->arena, length);
    char *copy = power_arena_text(&s->arena, name, length);
    if (!copy) return power_fail_memory(error, length, "a tensor name");
    struct power_text kept = tensor->name;
    tensor->name = (struct power_text){copy, length};
    uint32_t number = (uint32_t)(tensor - s->tensors);
    if (own->names_indexed < own->names_capacity &&
        power_index_add(s->tensor_index, tensor->name, number)) {
        own->names_indexed++;
        return POWER_OK;
    }
    power_status status = rebuild_names(s, error);
    if (status != POWER_OK) tensor->name = kept;
    return status;
}
