/* SPDX-License-Identifier: MIT */
/* Element types: what a stored value can be. Input: a type number of a file. Output: its name and
 * block geometry. Threads: any. Bounds: none needed. */
#ifndef POWER_BASE_DTYPE_H
#define POWER_BASE_DTYPE_H

#include <stdint.h>

/* Element types, numbered as ggml numbers them. X(NAME, id, block elements, block bytes) */
#define POWER_DTYPE_MAP(X)                                                                         \
    X(F32, 0, 1, 4)                                                                                \
    X(F16, 1, 1, 2)                                                                                \
    X(Q4_0, 2, 32, 18)                                                                             \
    X(Q4_1, 3, 32, 20)                                                                             \
    X(Q5_0, 6, 32, 22)                                                                             \
    X(Q5_1, 7, 32, 24)                                                                             \
    X(Q8_0, 8, 32, 34)                                                                             \
    X(Q8_1, 9, 32, 36)                                                                             \
    X(Q2_K, 10, 256, 84)                                                                           \
    X(Q3_K, 11, 256, 110)                                                                          \
    X(Q4_K, 12, 256, 144)                                                                          \
    X(Q5_K, 13, 256, 176)                                                                          \
    X(Q6_K, 14, 256, 210)                                                                          \
    X(Q8_K, 15, 256, 292)                                                                          \
    X(IQ2_XXS, 16, 256, 66)                                                                        \
    X(IQ2_XS, 17, 256, 74)                                                                         \
    X(IQ3_XXS, 18, 256, 98)                                                                        \
    X(IQ1_S, 19, 256, 50)                                                                          \
    X(IQ4_NL, 20, 32, 18)                                                                          \
    X(IQ3_S, 21, 256, 110)                                                                         \
    X(IQ2_S, 22, 256, 82)                                                                          \
    X(IQ4_XS, 23, 256, 136)                                                                        \
    X(I8, 24, 1, 1)                                                                                \
    X(I16, 25, 1, 2)                                                                               \
    X(I32, 26, 1, 4)                                                                               \
    X(I64, 27, 1, 8)                                                                               \
    X(F64, 28, 1, 8)                                                                               \
    X(IQ1_M, 29, 256, 56)                                                                          \
    X(BF16, 30, 1, 2)                                                                              \
    X(TQ1_0, 34, 256, 54)                                                                          \
    X(TQ2_0, 35, 256, 66)                                                                          \
    X(MXFP4, 39, 32, 17)                                                                           \
    X(NVFP4, 40, 64, 36)                                                                           \
    X(Q1_0, 41, 128, 18)                                                                           \
    X(Q2_0, 42, 64, 18)

enum power_dtype {
#define POWER_DTYPE_ENUM(name, id, elements, bytes) POWER_DTYPE_##name = id,
    POWER_DTYPE_MAP(POWER_DTYPE_ENUM)
#undef POWER_DTYPE_ENUM
        POWER_DTYPE_LIMIT = 64
};

struct power_dtype_info {
    const char *name;        /* NULL for a number that names no type here */
    uint32_t block_elements; /* elements a block */
    uint32_t block_bytes;
};
/* `id` may be anything; the name is NULL for unknown and for removed types. */
struct power_dtype_info power_dtype_info(uint32_t id);
/* Name of a type id that ggml once had and removed (Q4_2, Q4_0_4_4, ...), else NULL. */
const char *power_dtype_removed_name(uint32_t id);

#endif
