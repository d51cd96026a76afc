/* SPDX-License-Identifier: MIT */
/* Checked size arithmetic. Input: sizes from files and callers. Output: true and the result, or
 * false on overflow with the output untouched.
 * Threads: any. Bounds: none needed. */
#ifndef POWER_BASE_CHECKED_H
#define POWER_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool power_add_size(size_t a, size_t b, size_t *out) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

static inline bool power_mul_size(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* Rounds up to a multiple of `alignment`, a power of two. */
static inline bool power_align_size(size_t a, size_t alignment, size_t *out) {
    size_t sum;
    if (!power_add_size(a, alignment - 1, &sum)) return false;
    *out = sum & ~(alignment - 1);
    return true;
}

static inline bool power_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

static inline bool power_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

#endif
