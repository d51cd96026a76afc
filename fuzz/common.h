/* SPDX-License-Identifier: MIT */
/* What the targets of model files share: an allocator that counts, and a walk over all that was
 * read. Input: a source. Output: none; a broken promise traps, which the fuzzer takes for a
 * finding. Threads: one. Bounds: an input may cost FUZZ_FACTOR times its size, plus FUZZ_SLACK. */
#ifndef POWER_FUZZ_COMMON_H
#define POWER_FUZZ_COMMON_H

#include "format/internal.h"

enum { FUZZ_FACTOR = 16, FUZZ_SLACK = 2 << 20 };

struct fuzz_memory {
    size_t now, peak;
};

static inline void *fuzz_alloc(void *context, size_t bytes, size_t alignment) {
    struct fuzz_memory *memory = context;
    memory->now += bytes;
    if (memory->now > memory->peak) memory->peak = memory->now;
    return power_default_allocator.alloc(NULL, bytes, alignment);
}

static inline void fuzz_release(void *context, void *at, size_t bytes, size_t alignment) {
    struct fuzz_memory *memory = context;
    memory->now -= bytes;
    power_default_allocator.release(NULL, at, bytes, alignment);
}

static inline unsigned fuzz_sum(const void *at, size_t length) {
    const unsigned char *bytes = at;
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static inline unsigned fuzz_walk_meta(const struct power_meta *meta) {
    static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    unsigned sum = fuzz_sum(meta->key.bytes, meta->key.length + 1);
    if (meta->type == POWER_META_TEXT) {
        return sum + fuzz_sum(meta->value.text.bytes, meta->value.text.length + 1);
    }
    if (meta->type != POWER_META_ARRAY) return sum + (unsigned)meta->value.u;
    const struct power_meta_array *array = &meta->value.array;
    if (array->type != POWER_META_TEXT) {
        return sum + fuzz_sum(array->values, (size_t)array->count * sizes[array->type]);
    }
    const struct power_text *texts = array->values;
    for (uint64_t i = 0; i < array->count; i++) {
        sum += fuzz_sum(texts[i].bytes, texts[i].length + 1);
    }
    return sum;
}

/* Reads every byte that the description promises to be there. */
static inline void fuzz_walk(const struct power_source *s) {
    unsigned sum = 0;
    for (uint32_t i = 0; i < s->n_metas; i++) {
        sum += fuzz_walk_meta(&s->metas[i]);
        if (power_source_meta(s, s->metas[i].key.bytes) != &s->metas[i]) __builtin_trap();
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct power_tensor *tensor = &s->tensors[i];
        struct power_span span;
        bool borrowed;
        if (power_source_tensor_bytes(s, tensor, &span, &borrowed, NULL) != POWER_OK) {
            __builtin_trap();
        }
        sum += fuzz_sum(span.bytes, span.length);
    }
    volatile unsigned sink = sum;
    (void)sink;
}

/* Opens the bytes as a file, walks over what was read, checks what it cost. */
static inline void fuzz_open(const void *bytes, size_t length) {
    struct fuzz_memory memory = {0};
    power_allocator allocator = {&memory, fuzz_alloc, fuzz_release};
    struct power_source *source = NULL;
    power_error error = {0};
    power_status status = power_source_open_memory(&allocator, bytes, length, &source, &error);
    if (status == POWER_OK) {
        fuzz_walk(source);
        power_source_close(source);
    } else if (error.status != status || error.message[0] == '\0' || source) {
        __builtin_trap();
    }
    if (memory.now != 0 || memory.peak > FUZZ_FACTOR * length + FUZZ_SLACK) __builtin_trap();
}

#endif
