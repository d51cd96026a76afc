/* SPDX-License-Identifier: MIT */
/* Shared by the kernel tests: the paths of this machine, awkward inputs, guarded outputs, bit
 * compare. Input: a seed. Output: buffers of exact size, so that a sanitizer sees an over-read.
 * Threads: one. Bounds: none. */
#ifndef POWER_TESTS_KERNEL_PATHS_CHECK_H
#define POWER_TESTS_KERNEL_PATHS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/kernels.h"
#include "device/device.h"

struct path {
    const char *name;
    uint32_t features;
};

static const struct path all_paths[] = {
#if defined(__aarch64__)
    {"neon", POWER_CPU_NEON},
    {"dotprod", POWER_CPU_NEON | POWER_CPU_DOTPROD},
    {"i8mm", POWER_CPU_NEON | POWER_CPU_DOTPROD | POWER_CPU_I8MM}
#else
    {"avx2", POWER_CPU_AVX2},
    {"avx512", POWER_CPU_AVX2 | POWER_CPU_AVX512},
    {"vnni", POWER_CPU_AVX2 | POWER_CPU_AVX512 | POWER_CPU_AVX512_VNNI}
#endif
};
enum { N_PATHS = sizeof all_paths / sizeof all_paths[0] };

/* Fills a table with the reference, then with this path's vector and attention kernels. False, with
 * a line, where the machine lacks the path. */
static inline bool path_table(const struct path *path, struct power_cpu_kernels *table) {
    if ((power_cpu_features() & path->features) != path->features) {
        printf("skipped: this machine has no %s\n", path->name);
        return false;
    }
    power_kernels_ref(table);
    power_kernels_x86_vector(table, path->features);
    power_kernels_x86_attend(table, path->features);
    power_kernels_arm(table, path->features);
    return true;
}

/* ---- random numbers: xorshift, so that a failure repeats ---- */
struct dice {
    uint64_t state;
};
static inline uint32_t roll(struct dice *d) {
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (uint32_t)(d->state >> 32);
}
static inline uint32_t roll_below(struct dice *d, uint32_t n) {
    return roll(d) % n;
}
static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/* In [-1, 1]. */
static inline float roll_unit(struct dice *d) {
    return (float)((int32_t)roll(d) >> 8) * 0x1p-23f;
}

/* Kinds of input; the last ones hold infinities and NaN. */
enum fill {
    FILL_UNIT,
    FILL_WIDE,
    FILL_TINY,
    FILL_HUGE,
    FILL_ZERO,
    FILL_SPECIAL,
    FILL_NAN,
    N_FILLS
};
enum { N_FINITE_FILLS = FILL_SPECIAL };

static inline float roll_float(struct dice *d, enum fill fill) {
    static const uint32_t special[] = {0x7f800000u, 0xff800000u, 0x80000000u, 0x00000001u,
                                       0x807fffffu, 0x7f7fffffu, 0x3f800000u, 0x00000000u};
    switch (fill) {
    case FILL_WIDE: /* any exponent from 2^-40 to 2^40 */
        return float_of((roll(d) & 0x807fffffu) | (87u + roll_below(d, 81)) << 23);
    case FILL_TINY: /* around 2^-94, subnormals, minus zero */
        return roll_below(d, 2) ? float_of((roll(d) & 0x807fffffu) | (30u + roll_below(d, 6)) << 23)
                                : float_of(roll(d) & 0x807fffffu);
    case FILL_HUGE:
        return float_of((roll(d) & 0x807fffffu) | (230u + roll_below(d, 25)) << 23);
    case FILL_ZERO:
        return float_of(roll(d) & 0x80000000u);
    case FILL_SPECIAL:
        return roll_below(d, 4) ? roll_unit(d) : float_of(special[roll_below(d, 8)]);
    case FILL_NAN:
        return roll_below(d, 8) ? roll_unit(d) : float_of(roll(d) | 0x7f800001u);
    case FILL_UNIT:
    case N_FILLS:
        break;
    }
    return roll_unit(d) * 4.0f;
}

/* ---- buffers ---- */
enum { GUARD = 64, GUARD_BYTE = 0xa5 };

/* `bytes` between two guards, all of them GUARD_BYTE. */
static inline void *guarded(size_t bytes) {
    unsigned char *base = malloc(bytes + 2 * GUARD);
    assert_non_null(base);
    memset(base, GUARD_BYTE, bytes + 2 * GUARD);
    return base + GUARD;
}
/* Fails when a guard was written, then frees. */
static inline void guarded_free(void *p, size_t bytes) {
    unsigned char *base = (unsigned char *)p - GUARD;
    for (size_t i = 0; i < GUARD; i++) {
        if (base[i] != GUARD_BYTE || base[GUARD + bytes + i] != GUARD_BYTE) {
            fail_msg("a guard byte at %zu of an output of %zu bytes was written", i, bytes);
        }
    }
    free(base);
}
static inline float *floats(struct dice *d, size_t n, enum fill fill) {
    float *x = malloc(n > 0 ? n * sizeof *x : 1);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = roll_float(d, fill);
    return x;
}

/* Same bits, or both NaN: a NaN fails its request, its payload is nobody's. */
static inline bool same_float(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}
static inline void check_floats(const float *want, const float *got, size_t n, const char *what,
                                const char *path) {
    for (size_t i = 0; i < n; i++) {
        if (!same_float(want[i], got[i])) {
            fail_msg("%s on %s: element %zu of %zu is %a, the reference has %a", what, path, i, n,
                     (double)got[i], (double)want[i]);
        }
    }
}
static inline void check_bytes(const void *want, const void *got, size_t n, const char *what,
                               const char *path) {
    if (memcmp(want, got, n) != 0)
        fail_msg("%s on %s: bytes differ from the reference", what, path);
}

#endif
