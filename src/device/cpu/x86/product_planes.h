/* SPDX-License-Identifier: MIT */
/* Packed layouts made of bit planes: the types that no layout of their own serves.
 * Input: none. Output: one list, from which packing and unpacking are both made.
 * Threads: any. Bounds: an index has at most 4 bits where there is a table, else 5.
 *
 * Of 16 rows and 32 weights, eight vectors of k-groups as in product.h, a block holds: where `high`
 * is 1, one vector of the indices' highest bits (bit i: k-group i); where `low` is 4, four vectors
 * (k-group i low half, i + 4 high half); where it is 2, two (k-groups i, i + 2, i + 4, i + 6 from
 * the lowest pair of bits on). Scales of a block, each for 16 rows:
 *   D   half d
 *   DM  half d, half m
 *   E8  uint8 exponent
 *   F16 half d of each 16 weights
 *   ONE half d; every sub-block has scale 1
 *   S8  half d; int8 scale of each of 8 sub-blocks      S16  the same of 16
 *   MIN half d, dmin; of each of 16 sub-blocks a byte, scale low, minimum high */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_PLANES_H
#define POWER_DEVICE_CPU_X86_PRODUCT_PLANES_H

#include "device/cpu/x86/product.h"

enum power_plane_scales {
    PLANE_D,
    PLANE_DM,
    PLANE_E8,
    PLANE_F16,
    PLANE_ONE,
    PLANE_S8,
    PLANE_S16,
    PLANE_MIN
};

/* Codes by index. `raw`: what the row decoder gives; `code`: what the tiles read. */
struct power_plane_table {
    uint8_t raw[16], code[16];
};
enum power_plane_codes {
    PLANE_PLAIN,  /* the index is the decoder's code and the tiles' */
    PLANE_TERN,   /* -1, 0, 1, 2; the index is the tiles' code */
    PLANE_BIT,    /* -1, 1 */
    PLANE_IQ4,    /* the 16 values of IQ4_NL */
    PLANE_E2M1,   /* doubled E2M1 */
    PLANE_GRID1,  /* 8 * grid +- 1 */
    PLANE_GRID2,  /* 8, 25, 43 with signs */
    PLANE_GRID3,  /* 4, 12, ... 52, 62 with signs */
    PLANE_GRID3S, /* 1, 3, ... 15 with signs */
    PLANE_TABLES
};
extern const struct power_plane_table power_plane_tables[PLANE_TABLES]; /* product_planes.c */

/* X(name, NAME, low, high, codes, scales, block, d_at, factor, tiles, form...): d_at: where a raw
 * block holds d; dw = d * factor; form: super, bits, subs, offset, has_min. */
#define POWER_PLANE_TYPES(X)                                                                       \
    X(q4_1, Q4_1, 4, 0, PLAIN, DM, 32, 0, 1, block_4_0_1, 0, 4, 0, 0, 1)                           \
    X(q5_1, Q5_1, 4, 1, PLAIN, DM, 32, 0, 1, block_5_0_1, 0, 5, 0, 0, 1)                           \
    X(iq4_nl, IQ4_NL, 4, 0, IQ4, D, 32, 0, 1, block_8_0_0, 0, 8, 0, 128, 0)                        \
    X(mxfp4, MXFP4, 4, 0, E2M1, E8, 32, 0, 1, block_5_0_0, 0, 5, 0, 12, 0)                         \
    X(nvfp4, NVFP4, 4, 0, E2M1, F16, 64, 0, 1, half_5_12_0, 0, 5, 16, 12, 0)                       \
    X(q1_0, Q1_0, 0, 1, BIT, D, 128, 0, 1, block_4_0_0, 0, 4, 0, 1, 0)                             \
    X(q2_0, Q2_0, 2, 0, TERN, D, 64, 0, 1, block_4_0_0, 0, 4, 0, 1, 0)                             \
    X(q2_k, Q2_K, 2, 0, PLAIN, MIN, 256, 80, 1, super_4_16_1, 1, 4, 16, 0, 1)                      \
    X(q3_k, Q3_K, 2, 1, PLAIN, S16, 256, 108, 1, super_4_16_0, 1, 4, 16, 4, 0)                     \
    X(iq4_xs, IQ4_XS, 4, 0, IQ4, S8, 256, 0, 1, super_8_8_0, 1, 8, 8, 128, 0)                      \
    X(iq2_xxs, IQ2_XXS, 2, 1, GRID2, S8, 256, 0, 0.125, super_8_8_0, 1, 8, 8, 128, 0)              \
    X(iq2_xs, IQ2_XS, 2, 1, GRID2, S16, 256, 0, 0.125, super_8_16_0, 1, 8, 16, 128, 0)             \
    X(iq2_s, IQ2_S, 2, 1, GRID2, S16, 256, 0, 0.125, super_8_16_0, 1, 8, 16, 128, 0)               \
    X(iq3_xxs, IQ3_XXS, 4, 0, GRID3, S8, 256, 0, 0.25, super_8_8_0, 1, 8, 8, 128, 0)               \
    X(iq3_s, IQ3_S, 4, 0, GRID3S, S8, 256, 0, 1, super_5_8_0, 1, 5, 8, 15, 0)                      \
    X(iq1_s, IQ1_S, 2, 1, GRID1, S8, 256, 0, 0.125, super_5_8_0, 1, 5, 8, 9, 0)                    \
    X(iq1_m, IQ1_M, 2, 1, GRID1, S16, 256, 0, 0.125, super_5_16_0, 1, 5, 16, 9, 0)                 \
    X(tq1_0, TQ1_0, 2, 0, TERN, ONE, 256, 52, 1, super_4_8_0, 1, 4, 8, 1, 0)                       \
    X(tq2_0, TQ2_0, 2, 0, TERN, ONE, 256, 64, 1, super_4_8_0, 1, 4, 8, 1, 0)

#define POWER_PLANE_CODE_BYTES(low, high, block)                                                   \
    ((size_t)(block) / 32 * ((size_t)(high)*64 + (size_t)(low)*64))

/* Bytes of a block's scales. */
static inline size_t power_plane_scale_bytes(enum power_plane_scales scales) {
    static const uint16_t bytes[] = {
        [PLANE_D] = 32,   [PLANE_DM] = 64,       [PLANE_E8] = 16,        [PLANE_F16] = 128,
        [PLANE_ONE] = 32, [PLANE_S8] = 32 + 128, [PLANE_S16] = 32 + 256, [PLANE_MIN] = 64 + 256};
    return bytes[scales];
}

/* product_planes.c; recipe 0 for a type that is not in the list. */
struct power_pack_ops power_plane_ops_of(enum power_dtype dtype);

#endif
