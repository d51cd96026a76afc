/* SPDX-License-Identifier: MIT */
/* Packs 16 weight rows into a group of a layout of bit planes.
 * Input: raw rows as in the file. Output: one group, as product_planes.h describes.
 * Threads: any, each a group of its own. Bounds: writes exactly group_bytes(k) bytes. */
#include "device/cpu/x86/product_planes.h"

#include <assert.h>
#include <string.h>

#include "device/cpu/ref/ref.h"

#define RAW_AND_CODE(...)                                                                          \
    {                                                                                              \
        {__VA_ARGS__}, {                                                                           \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
const struct power_plane_table power_plane_tables[PLANE_TABLES] = {
    [PLANE_TERN] = {{127, 128, 129, 130}, {0, 1, 2, 3}},
    [PLANE_BIT] = {{127, 129}, {0, 2}},
    [PLANE_IQ4] =
        RAW_AND_CODE(1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241),
    [PLANE_E2M1] = {{128, 129, 130, 131, 132, 134, 136, 140, 127, 126, 125, 124, 122, 120, 116},
                    {12, 13, 14, 15, 16, 18, 20, 24, 11, 10, 9, 8, 6, 4, 0}},
    [PLANE_GRID1] = {{119, 121, 127, 129, 135, 137}, {0, 2, 8, 10, 16, 18}},
    [PLANE_GRID2] = RAW_AND_CODE(85, 103, 120, 136, 153, 171),
    [PLANE_GRID3] =
        RAW_AND_CODE(66, 76, 84, 92, 100, 108, 116, 124, 132, 140, 148, 156, 164, 172, 180, 190),
    [PLANE_GRID3S] = {{113, 115, 117, 119, 121, 123, 125, 127, 129, 131, 133, 135, 137, 139, 141,
                       143},
                      {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}},
};

struct plane_type {
    uint8_t low, high, codes, scales, d_at, offset, listed;
    uint16_t block;
};

static struct plane_type plane_type(enum power_dtype dtype) {
#define ROW(name, NAME, low, high, codes, scales, block, d_at, factor, tiles, super, bits, subs,   \
            offset, has_min)                                                                       \
    [POWER_DTYPE_##NAME] = {low, high, PLANE_##codes, PLANE_##scales, d_at, offset, 1, block},
    static const struct plane_type types[POWER_DTYPE_LIMIT] = {POWER_PLANE_TYPES(ROW)};
#undef ROW
    return types[dtype];
}

/* Indices of one row's codes, in place. A code that no index gives cannot be: raw decoders make
 * only those of their tables. */
static void to_indices(const struct plane_type *type, uint8_t *q, uint32_t n) {
    const struct power_plane_table *table = &power_plane_tables[type->codes];
    uint8_t index_of[256];
    if (type->codes == PLANE_PLAIN) return;
    memset(index_of, 0xff, sizeof index_of);
    for (uint32_t i = 16; i-- > 0;) {
        if (table->raw[i]) index_of[table->raw[i]] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < n; i++) {
        assert(index_of[q[i]] != 0xff);
        q[i] = index_of[q[i]];
    }
}

struct unit_rows {
    struct power_row_unit row[16];
    uint8_t w[POWER_UNIT / 4][64]; /* indices, four of each row a vector */
};

static void transpose(struct unit_rows *u) {
    for (uint32_t g = 0; g < POWER_UNIT / 4; g++) {
        for (uint32_t r = 0; r < 16; r++) {
            memcpy(u->w[g] + 4 * r, u->row[r].q + 4 * g, 4);
        }
    }
}

/* One vector: of `count` k-groups, `step` apart, `bits` bits each from bit `from` on. */
static unsigned char *put_plane(unsigned char *out, const uint8_t (*w)[64], uint32_t count,
                                uint32_t step, uint32_t bits, uint32_t from) {
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t byte = 0;
        for (uint32_t g = 0; g < count; g++) {
            byte |= ((uint32_t)w[g * step][i] >> from & ((1u << bits) - 1)) << bits * g;
        }
        out[i] = (unsigned char)byte;
    }
    return out + 64;
}

/* 32 weights of 16 rows. */
static unsigned char *put_codes(const struct plane_type *type, unsigned char *out,
                                const uint8_t (*w)[64]) {
    if (type->high) out = put_plane(out, w, 8, 1, 1, type->low);
    for (uint32_t i = 0; i < type->low; i++) {
        out = put_plane(out, w + i, 8u / type->low, type->low, type->low, 0);
    }
    return out;
}

/* The bits of d of a raw block. */
static uint16_t half_bits(enum power_dtype dtype, const unsigned char *raw, uint32_t at) {
    if (dtype != POWER_DTYPE_IQ1_M) return power_ref_u16(raw + at);
    uint32_t d = 0;
    for (uint32_t w = 0; w < 4; w++) {
        d |= (uint32_t)(power_ref_u16(raw + 48 + 2 * w) >> 12) << 4 * w;
    }
    return (uint16_t)d;
}

static void put_half(unsigned char *out, uint32_t row, uint16_t bits) {
    memcpy(out + 2 * row, &bits, sizeof bits);
}

/* Half of an e4m3 scale as the reference reads it: at most 240, at least 2^-10: a half holds it. */
static uint16_t half_of_e4m3(unsigned char byte) {
    const uint32_t exponent = byte >> 3 & 15u, mantissa = byte & 7u;
    if (byte == 0x7f || (byte & 0x7f) == 0) return 0;
    if (exponent != 0) return (uint16_t)((exponent + 7u) << 10 | mantissa << 7);
    const uint32_t shift = mantissa >= 4 ? 2 : mantissa >= 2 ? 1 : 0; /* mantissa * 2^-10 */
    return (uint16_t)((5u + shift) << 10 | (mantissa << (10 - shift) & 1023u));
}

/* `step`: decoded scales that one sub-block of the layout covers. */
static void put_sub_scales(const struct power_row_unit *row, uint32_t r, uint32_t subs,
                           uint32_t step, unsigned char *out) {
    for (uint32_t j = 0; j < subs; j++) {
        out[j * 16 + r] = (unsigned char)row->sc[j * step];
    }
}

/* Scales of one block of row r. raw: the row's block; unit: its decoded unit. */
static void put_scales(enum power_dtype dtype, const struct plane_type *type,
                       const unsigned char *raw, const struct power_row_unit *unit, uint32_t r,
                       unsigned char *out) {
    switch ((enum power_plane_scales)type->scales) {
    case PLANE_E8:
        out[r] = raw[0];
        return;
    case PLANE_F16:
        for (uint32_t s = 0; s < 4; s++) {
            put_half(out + s * 32, r, half_of_e4m3(raw[s]));
        }
        return;
    case PLANE_DM:
        put_half(out + 32, r, half_bits(dtype, raw, type->d_at + 2u));
        break;
    case PLANE_S8:
        put_sub_scales(unit, r, 8, dtype == POWER_DTYPE_IQ4_XS ? 1 : 2, out + 32);
        break;
    case PLANE_S16:
        put_sub_scales(unit, r, 16, 1, out + 32);
        break;
    case PLANE_MIN:
        put_half(out + 32, r, half_bits(dtype, raw, type->d_at + 2u));
        for (uint32_t j = 0; j < 16; j++) {
            out[64 + j * 16 + r] = (unsigned char)(unit->sc[j] | unit->cp[j] << 4);
        }
        break;
    case PLANE_D:
    case PLANE_ONE:
    default:
        break;
    }
    put_half(out, r, half_bits(dtype, raw, type->d_at));
}

static size_t planes_bytes(enum power_dtype dtype, uint32_t k) {
    const struct plane_type type = plane_type(dtype);
    const size_t block_bytes = POWER_PLANE_CODE_BYTES(type.low, type.high, type.block) +
                               power_plane_scale_bytes((enum power_plane_scales)type.scales);
    return ((size_t)k / type.block * block_bytes + 63) & ~(size_t)63;
}

/* Unit of up to 256 weights at block `b` of the group's rows. */
static void pack_unit(enum power_dtype dtype, const struct plane_type *type,
                      const unsigned char *const *raw, uint32_t n, unsigned char *codes,
                      unsigned char *scales) {
    const size_t raw_block = power_dtype_info(dtype).block_bytes;
    const size_t scale_bytes = power_plane_scale_bytes((enum power_plane_scales)type->scales);
    struct unit_rows u;
    memset(&u, 0, sizeof u);
    for (uint32_t r = 0; r < 16 && raw[r]; r++) {
        power_row_decoder(dtype)(raw[r], n, &u.row[r]);
        to_indices(type, u.row[r].q, n);
        for (uint32_t b = 0; b < n / type->block; b++) {
            put_scales(dtype, type, raw[r] + b * raw_block, &u.row[r], r, scales + b * scale_bytes);
        }
    }
    transpose(&u);
    for (uint32_t i = 0; i < n / 32; i++) {
        codes = put_codes(type, codes, (const uint8_t(*)[64])(u.w + 8 * i));
    }
}

static void pack_planes(enum power_dtype dtype, const unsigned char *raw, size_t raw_stride,
                        uint32_t k, uint32_t rows, uint32_t group, unsigned char *out) {
    const struct plane_type type = plane_type(dtype);
    const size_t code_bytes = POWER_PLANE_CODE_BYTES(type.low, type.high, type.block);
    const size_t scale_bytes = power_plane_scale_bytes((enum power_plane_scales)type.scales);
    const size_t raw_block = power_dtype_info(dtype).block_bytes;
    const uint32_t blocks = k / type.block, unit_blocks = POWER_UNIT / type.block;
    unsigned char *scales = out + blocks * code_bytes;
    memset(out, 0, planes_bytes(dtype, k));
    for (uint32_t b = 0; b < blocks; b += unit_blocks) {
        const uint32_t n = blocks - b < unit_blocks ? blocks - b : unit_blocks;
        const unsigned char *at[16] = {NULL};
        for (uint32_t r = 0; r < 16 && group * 16 + r < rows; r++) {
            at[r] = raw + (size_t)(group * 16 + r) * raw_stride + b * raw_block;
        }
        pack_unit(dtype, &type, at, n * type.block, out + b * code_bytes, scales + b * scale_bytes);
    }
}

#define TYPE(name, NAME, ...)                                                                      \
    static size_t bytes_##name(uint32_t k) {                                                       \
        return planes_bytes(POWER_DTYPE_##NAME, k);                                                \
    }                                                                                              \
    static void pack_##name(const unsigned char *raw, size_t raw_stride, uint32_t k,               \
                            uint32_t rows, uint32_t group, unsigned char *out) {                   \
        pack_planes(POWER_DTYPE_##NAME, raw, raw_stride, k, rows, group, out);                     \
    }
POWER_PLANE_TYPES(TYPE)

/* The recipe number is the layout's version: a change of layout is a new number. */
struct power_pack_ops power_plane_ops_of(enum power_dtype dtype) {
#define OPS(name, NAME, ...)                                                                       \
    [POWER_DTYPE_##NAME] = {0x100u + POWER_DTYPE_##NAME, bytes_##name, pack_##name},
    static const struct power_pack_ops ops[POWER_DTYPE_LIMIT] = {POWER_PLANE_TYPES(OPS)};
#undef OPS
    return ops[dtype];
}
