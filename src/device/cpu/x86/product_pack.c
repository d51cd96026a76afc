/* SPDX-License-Identifier: MIT */
/* Packs 16 weight rows into a group of the type's layout.
 * Input: raw rows as in the file. Output: one group, as product.h describes.
 * Threads: any, each a group of its own. Bounds: writes exactly group_bytes(k) bytes. */
#include <string.h>

#include "device/cpu/x86/product.h"

struct unit_rows {
    struct power_row_unit row[16];
    uint8_t w[POWER_UNIT / 4][64]; /* codes, four of each row a vector */
};

struct power_pack_shape power_pack_shape(enum power_dtype dtype) {
    static const struct power_pack_shape shapes[POWER_DTYPE_LIMIT] = {
        [POWER_DTYPE_Q8_0] = {512, 32, 32},    [POWER_DTYPE_Q4_0] = {256, 32, 32},
        [POWER_DTYPE_Q5_0] = {320, 32, 32},    [POWER_DTYPE_Q4_K] = {2048, 320, 256},
        [POWER_DTYPE_Q5_K] = {2560, 320, 256}, [POWER_DTYPE_Q6_K] = {3072, 288, 256},
        [POWER_DTYPE_F32] = {64, 0, 1},        [POWER_DTYPE_F16] = {32, 0, 1},
        [POWER_DTYPE_BF16] = {32, 0, 1},
    };
    return shapes[dtype];
}

static size_t shape_bytes(enum power_dtype dtype, uint32_t k) {
    struct power_pack_shape shape = power_pack_shape(dtype);
    size_t blocks = (k + shape.block - 1u) / shape.block;
    return (blocks * ((size_t)shape.code_bytes + shape.scale_bytes) + 63) & ~(size_t)63;
}

static void transpose(struct unit_rows *u) {
    for (uint32_t g = 0; g < POWER_UNIT / 4; g++) {
        for (uint32_t r = 0; r < 16; r++) {
            memcpy(u->w[g] + 4 * r, u->row[r].q + 4 * g, 4);
        }
    }
}

static unsigned char *put_nibbles(unsigned char *out, const uint8_t *low, const uint8_t *high) {
    for (uint32_t i = 0; i < 64; i++) {
        out[i] = (unsigned char)((low[i] & 15) | (high[i] & 15) << 4);
    }
    return out + 64;
}

/* Bit 4 of the codes of eight k-groups. */
static unsigned char *put_fifth(unsigned char *out, const uint8_t (*w)[64]) {
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t bits = 0;
        for (uint32_t g = 0; g < 8; g++) {
            bits |= ((w[g][i] >> 4) & 1u) << g;
        }
        out[i] = (unsigned char)bits;
    }
    return out + 64;
}

/* The half that every row's raw block holds at `at`, as stored. */
static void put_halves(unsigned char *out, const unsigned char *const *raw, uint32_t at) {
    for (uint32_t r = 0; r < 16; r++) {
        memset(out + 2 * r, 0, 2);
        if (raw[r]) memcpy(out + 2 * r, raw[r] + at, 2);
    }
}

static void put_block32(enum power_dtype dtype, const uint8_t (*w)[64], unsigned char *out) {
    if (dtype == POWER_DTYPE_Q8_0) {
        memcpy(out, w, 512);
        return;
    }
    if (dtype == POWER_DTYPE_Q5_0) out = put_fifth(out, w);
    for (uint32_t i = 0; i < 4; i++) {
        out = put_nibbles(out, w[i], w[i + 4]);
    }
}

static void put_block_k(enum power_dtype dtype, const uint8_t (*w)[64], unsigned char *out) {
    for (uint32_t p = 0; p < 4; p++, w += 16) {
        if (dtype == POWER_DTYPE_Q5_K) {
            out = put_fifth(out, w);
            out = put_fifth(out, w + 8);
        }
        for (uint32_t i = 0; i < 8; i++) {
            out = put_nibbles(out, w[i], w[i + 8]);
        }
    }
}

static void put_scales_k(const struct unit_rows *u, unsigned char *out) {
    for (uint32_t j = 0; j < 8; j++) {
        for (uint32_t r = 0; r < 16; r++) {
            out[j * 16 + r] = (unsigned char)u->row[r].sc[j];
            out[128 + j * 16 + r] = (unsigned char)u->row[r].cp[j];
        }
    }
}

static void put_block_q6_k(const uint8_t (*w)[64], unsigned char *out) {
    for (uint32_t g = 0; g < 16; g++) {
        out = put_nibbles(out, w[g], w[g + 32]);
        out = put_nibbles(out, w[g + 16], w[g + 48]);
        for (uint32_t i = 0; i < 64; i++) {
            out[i] = (unsigned char)(w[g][i] >> 4 | (w[g + 16][i] >> 4) << 2 |
                                     (w[g + 32][i] >> 4) << 4 | (w[g + 48][i] >> 4) << 6);
        }
        out += 64;
    }
}

static void put_scales_q6_k(const struct unit_rows *u, unsigned char *out) {
    for (uint32_t j = 0; j < 16; j++) {
        for (uint32_t r = 0; r < 16; r++) {
            out[j * 16 + r] = (unsigned char)u->row[r].sc[j];
        }
    }
}

/* Blocks [block, block + n) of the group, decoded in u; raw: the first of them of every row. */
static void put_unit(enum power_dtype dtype, const struct unit_rows *u,
                     const unsigned char *const *raw, uint32_t n, unsigned char *codes,
                     unsigned char *scales) {
    if (dtype == POWER_DTYPE_Q4_K || dtype == POWER_DTYPE_Q5_K) {
        put_block_k(dtype, u->w, codes);
        put_halves(scales, raw, 0);
        put_halves(scales + 32, raw, 2);
        put_scales_k(u, scales + 64);
        return;
    }
    if (dtype == POWER_DTYPE_Q6_K) {
        put_block_q6_k(u->w, codes);
        put_halves(scales, raw, 208);
        put_scales_q6_k(u, scales + 32);
        return;
    }
    struct power_pack_shape shape = power_pack_shape(dtype);
    uint32_t bytes = power_dtype_info(dtype).block_bytes;
    for (uint32_t b = 0; b < n; b++) {
        put_block32(dtype, u->w + 8 * b, codes + (size_t)b * shape.code_bytes);
        put_halves(scales + (size_t)b * shape.scale_bytes, raw, b * bytes);
    }
}

static void pack_quantised(enum power_dtype dtype, const unsigned char *raw, size_t raw_stride,
                           uint32_t k, uint32_t rows, uint32_t group, unsigned char *out) {
    struct power_pack_shape shape = power_pack_shape(dtype);
    power_row_decode_fn decode = power_row_decoder(dtype);
    size_t block_bytes = power_dtype_info(dtype).block_bytes;
    uint32_t blocks = k / shape.block, unit_blocks = POWER_UNIT / shape.block;
    unsigned char *scales = out + (size_t)blocks * shape.code_bytes;
    struct unit_rows u;
    memset(&u, 0, sizeof u);
    memset(out, 0, shape_bytes(dtype, k));
    for (uint32_t b = 0; b < blocks; b += unit_blocks) {
        uint32_t n = blocks - b < unit_blocks ? blocks - b : unit_blocks;
        const unsigned char *at[16] = {NULL};
        for (uint32_t r = 0; r < 16 && group * 16 + r < rows; r++) {
            at[r] = raw + (size_t)(group * 16 + r) * raw_stride + b * block_bytes;
            decode(at[r], n * shape.block, &u.row[r]);
        }
        transpose(&u);
        put_unit(dtype, &u, at, n, out + (size_t)b * shape.code_bytes,
                 scales + (size_t)b * shape.scale_bytes);
    }
}

/* Elements of `size` bytes, 16 rows interleaved. */
static void pack_float(size_t size, const unsigned char *raw, size_t raw_stride, uint32_t k,
                       uint32_t rows, uint32_t group, unsigned char *out) {
    memset(out, 0, ((size_t)k * 16 * size + 63) & ~(size_t)63);
    for (uint32_t r = 0; r < 16 && group * 16 + r < rows; r++) {
        const unsigned char *at = raw + (size_t)(group * 16 + r) * raw_stride;
        for (size_t i = 0; i < k; i++) {
            memcpy(out + (i * 16 + r) * size, at + i * size, size);
        }
    }
}

#define QUANTISED(name)                                                                            \
    static size_t bytes_##name(uint32_t k) {                                                       \
        return shape_bytes(POWER_DTYPE_##name, k);                                                 \
    }                                                                                              \
    static void pack_##name(const unsigned char *raw, size_t raw_stride, uint32_t k,               \
                            uint32_t rows, uint32_t group, unsigned char *out) {                   \
        pack_quantised(POWER_DTYPE_##name, raw, raw_stride, k, rows, group, out);                  \
    }
#define FLOATING(name, size)                                                                       \
    static size_t bytes_##name(uint32_t k) {                                                       \
        return shape_bytes(POWER_DTYPE_##name, k);                                                 \
    }                                                                                              \
    static void pack_##name(const unsigned char *raw, size_t raw_stride, uint32_t k,               \
                            uint32_t rows, uint32_t group, unsigned char *out) {                   \
        pack_float(size, raw, raw_stride, k, rows, group, out);                                    \
    }
QUANTISED(Q8_0)
QUANTISED(Q4_0)
QUANTISED(Q5_0)
QUANTISED(Q4_K)
QUANTISED(Q5_K)
QUANTISED(Q6_K)
FLOATING(F32, 4)
FLOATING(F16, 2)
FLOATING(BF16, 2)

/* The recipe number is the layout's version: a change of layout is a new number. */
struct power_pack_ops power_pack_ops_of(enum power_dtype dtype) {
#define OPS(name) [POWER_DTYPE_##name] = { 0x100u + POWER_DTYPE_##name, bytes_##name, pack_##name }
    static const struct power_pack_ops ops[POWER_DTYPE_LIMIT] = {
        OPS(Q8_0), OPS(Q4_0), OPS(Q5_0), OPS(Q4_K), OPS(Q5_K),
        OPS(Q6_K), OPS(F32),  OPS(F16),  OPS(BF16),
    };
#undef OPS
    return ops[dtype];
}
