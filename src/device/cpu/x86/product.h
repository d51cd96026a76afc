/* SPDX-License-Identifier: MIT */
/* What the product kernels of x86 share: decoded weight rows, packed layouts, the tables per path.
 * Input: raw weight rows as in the file. Output: codes and scales that the tiles read.
 * Threads: any. Bounds: a unit is 256 weights of a row, the last one of a row may be shorter. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_H
#define POWER_DEVICE_CPU_X86_PRODUCT_H

#include "device/cpu/kernels.h"

#define POWER_UNIT 256u /* weights of a row that one unit holds */

/* One row's part of a unit. The value of weight i in its block is d * scale * (q[i] - offset), the
 * offset being the type's (power_quant_form). */
struct power_row_unit {
    uint8_t q[POWER_UNIT];
    float d[8], m[8]; /* a block of 32 each; types of 256 use the first only (d, dmin); where the
                         step is 16, d has the first eight of a unit and m the others */
    int16_t sc[16];   /* types of 256: scale of each sub-block of 16 or 32 */
    int16_t cp[16];   /* types of 256: factor of the activations' sum over each sub-block */
};

/* How the tiles read a type. A constant of each type. */
struct power_quant_form {
    uint8_t super;   /* 1: one float step a unit (blocks of 256); 0: one a block of 32 */
    uint8_t bits;    /* codes are below 1 << bits */
    uint8_t subs;    /* super: sub-blocks a unit, 8 or 16; else 16 where the step is 16 weights */
    uint8_t offset;  /* blocks of 32: subtracted from the code */
    uint8_t has_min; /* a second float step */
};

/* Decodes `n` weights (a multiple of the type's block) of one row. Codes past n are not written. */
typedef void (*power_row_decode_fn)(const unsigned char *raw, uint32_t n,
                                    struct power_row_unit *out);
/* product_decode.c; NULL for a type that has no decoder here. */
power_row_decode_fn power_row_decoder(enum power_dtype dtype);

/* Packed layouts (product_pack.c): a group is its code stream, then its scale stream. Bytes of 16
 * rows; a vector is 64 bytes, four codes of each of 16 rows.
 *   Q8_0  block: 8 vectors of q ^ 0x80; scales: half d[16]
 *   Q4_0  block: 4 vectors, k-group i low, i + 4 high; scales: half d[16]
 *   Q5_0  block: 1 vector of high bits (bit i: k-group i), then as Q4_0
 *   Q4_K  super-block: per 64 weights 8 vectors, sub-block 2p low, 2p + 1 high;
 *         scales: half d[16], dmin[16]; uint8 sc[8][16], mn[8][16]
 *   Q5_K  per 64 weights 2 vectors of high bits (2p, 2p + 1), then as Q4_K
 *   Q6_K  16 times 3 vectors: low halves of k-groups g and g + 32, of g + 16 and g + 48, and the
 *         high pairs of bits of g, g + 16, g + 32, g + 48; scales: half d[16]; int8 sc[16][16]
 *   F32 F16 BF16  element k of 16 rows, as stored; no scales
 * All others: bit planes, product_planes.h. */
struct power_pack_shape {
    uint16_t code_bytes;  /* a block */
    uint16_t scale_bytes; /* a block */
    uint16_t block;       /* weights: 32, 256; floats 1 */
};
struct power_pack_shape power_pack_shape(enum power_dtype dtype);
struct power_pack_ops power_pack_ops_of(enum power_dtype dtype);

/* One per instruction set: puts its products into the table. */
void power_products_avx2(struct power_cpu_kernels *table);
void power_products_avx512(struct power_cpu_kernels *table);
void power_products_vnni(struct power_cpu_kernels *table);

#endif
