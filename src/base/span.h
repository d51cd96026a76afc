/* SPDX-License-Identifier: MIT */
/* A borrowed run of bytes and a bounds-checked little-endian reader over it.
 * Input: untrusted bytes. Output: values, or `failed` set once and kept (sticky), zero values
 * after. Threads: one. Bounds: never reads outside the span. */
#ifndef POWER_BASE_SPAN_H
#define POWER_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct power_span {
    const unsigned char *bytes;
    size_t length;
};

/* A borrowed text, not NUL-terminated. */
struct power_text {
    const char *bytes;
    size_t length;
};

#define POWER_TEXT(literal) ((struct power_text){(literal), sizeof(literal) - 1})

static inline struct power_text power_text_of(const char *text) {
    return (struct power_text){text, text ? strlen(text) : 0};
}

static inline bool power_text_equal(struct power_text a, struct power_text b) {
    return a.length == b.length &&
           (a.length == 0 || (a.bytes && b.bytes && memcmp(a.bytes, b.bytes, a.length) == 0));
}

struct power_reader {
    struct power_span span;
    size_t offset;
    bool failed;
};

static inline size_t power_reader_left(const struct power_reader *reader) {
    return reader->failed ? 0 : reader->span.length - reader->offset;
}

static inline const unsigned char *power_reader_take(struct power_reader *reader, size_t length) {
    if (reader->failed || length > reader->span.length - reader->offset) {
        reader->failed = true;
        return NULL;
    }
    const unsigned char *at = reader->span.bytes + reader->offset;
    reader->offset += length;
    return at;
}

static inline uint32_t power_load_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t power_load_u64(const unsigned char *at) {
    return (uint64_t)power_load_u32(at) | (uint64_t)power_load_u32(at + 4) << 32;
}

static inline uint32_t power_reader_u32(struct power_reader *reader) {
    const unsigned char *at = power_reader_take(reader, 4);
    return at ? power_load_u32(at) : 0;
}

static inline uint64_t power_reader_u64(struct power_reader *reader) {
    const unsigned char *at = power_reader_take(reader, 8);
    return at ? power_load_u64(at) : 0;
}

#endif
