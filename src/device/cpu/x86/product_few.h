/* SPDX-License-Identifier: MIT */
/* The quantised products of 1 to 4 rows: codes go from memory through registers to the sums.
 * Input: a power_product with a packed layout of its own (no bit planes), units of the rows.
 * Output: 64 elements of y a row.
 * Threads: any. Bounds: STREAMS whole groups of 16 outputs.
 * Included once by each instruction set's file, after product_unpack.h. Few rows wait for memory,
 * and one stream of loads does not keep it busy: STREAMS groups advance together, a part of a unit
 * each. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_FEW_H
#define POWER_DEVICE_CPU_X86_PRODUCT_FEW_H

#define STREAMS 4
#define VECTORS (16 / LANES) /* registers for the 16 outputs of a group */

/* Sums of products: 32-bit with VNNI; else 16-bit, to be ended before they overflow. */
INLINE vi sum_add(vi sum, vi codes, vi x) {
#if VNNI
    return vi_dot(sum, codes, x);
#else
    return vi_add16(sum, vi_maddubs(codes, x));
#endif
}
INLINE vi sum_end(vi sum, vi scale) {
    return VNNI ? vi_mul32(sum, scale) : vi_madd16(sum, scale);
}
INLINE vi scale_form(vi scale) {
    return VNNI ? scale : pair16(scale, scale);
}

INLINE vi load_ahead(const unsigned char *p, int lane) {
    if (lane == 0) prefetch(p);
    return vi_load(p + lane * 4);
}

/* Bit g of `bits` moved to bit 4 (other bits are left, to be masked). */
INLINE vi to_fifth(vi bits, const int g) {
    switch (g) {
    case 0:
        return vi_sll16(bits, 4);
    case 1:
        return vi_sll16(bits, 3);
    case 2:
        return vi_sll16(bits, 2);
    case 3:
        return vi_sll16(bits, 1);
    case 4:
        return bits;
    case 5:
        return vi_srl16(bits, 1);
    case 6:
        return vi_srl16(bits, 2);
    default:
        return vi_srl16(bits, 3);
    }
}

/* 64 weights of Q4_K or Q5_K: sub-blocks 2 * part and 2 * part + 1. */
INLINE void part_k(vi *sum, const unsigned char *codes, const unsigned char *scales,
                   const struct xunit *x, uint32_t part, int lane, const bool fifth,
                   const int rows) {
    const vi low = vi_bytes(15), bit = vi_bytes(16);
    const unsigned char *sc = scales + 64 + part * 32 + lane;
    vi scale0 = scale_form(vi_widen_u8(sc)), scale1 = scale_form(vi_widen_u8(sc + 16));
    vi bits0 = vi_zero(), bits1 = vi_zero(), sum0[FEW_ROWS], sum1[FEW_ROWS];
    if (fifth) {
        bits0 = load_ahead(codes, lane);
        bits1 = load_ahead(codes + 64, lane);
        codes += 128;
    }
    const int fill = fifth && !VNNI ? 4 : 8;
    UNROLL
    for (int i = 0; i < 8; i++) {
        vi v = load_ahead(codes + i * 64, lane);
        vi code0 = vi_and(v, low), code1 = vi_and(vi_srl16(v, 4), low);
        if (fifth) {
            code0 = vi_or_and(code0, to_fifth(bits0, i), bit);
            code1 = vi_or_and(code1, to_fifth(bits1, i), bit);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            const int8_t *q = x[r].q + part * 64 + 4 * i;
            const bool first = i % fill == 0, last = i % fill == fill - 1;
            sum0[r] = sum_add(first ? vi_zero() : sum0[r], code0, broadcast(q));
            sum1[r] = sum_add(first ? vi_zero() : sum1[r], code1, broadcast(q + 32));
            if (!last) continue;
            vi both = vi_add32(sum_end(sum0[r], scale0), sum_end(sum1[r], scale1));
            sum[r] = vi_add32(sum[r], both);
        }
    }
}

/* Four vectors of codes: one step of Q6_K. */
INLINE void codes_q6_k(const unsigned char *codes, int lane, vi out[4]) {
    const vi low = vi_bytes(15), high = vi_bytes(0x30);
    vi a = load_ahead(codes, lane), b = load_ahead(codes + 64, lane);
    vi h = load_ahead(codes + 128, lane), a4 = vi_srl16(a, 4), b4 = vi_srl16(b, 4);
    out[0] = vi_or_and(vi_and(a, low), vi_sll16(h, 4), high);
    out[1] = vi_or_and(vi_and(b, low), vi_sll16(h, 2), high);
    out[2] = vi_or_and(vi_and(a4, low), h, high);
    out[3] = vi_or_and(vi_and(b4, low), vi_srl16(h, 2), high);
}

/* 64 weights of Q6_K: sub-blocks part, part + 4, part + 8, part + 12. */
INLINE void part_q6_k(vi *sum, const unsigned char *codes, const unsigned char *scales,
                      const struct xunit *x, uint32_t part, int lane, const int rows) {
    const unsigned char *sc = scales + 32 + part * 16 + lane;
    vi scale[4], s[FEW_ROWS * 4];
    UNROLL
    for (int j = 0; j < 4; j++) {
        scale[j] = scale_form(vi_widen_s8(sc + j * 64));
    }
    const int fill = VNNI ? 4 : 2;
    UNROLL
    for (int i = 0; i < 4; i++) {
        vi code[4];
        codes_q6_k(codes + i * 192, lane, code);
        UNROLL
        for (int n = 0; n < rows * 4; n++) {
            const int r = n / 4, j = n % 4;
            vi q = broadcast(x[r].q + part * 16 + 64 * j + 4 * i);
            s[n] = sum_add(i % fill == 0 ? vi_zero() : s[n], code[j], q);
            if (i % fill == fill - 1) sum[r] = vi_add32(sum[r], sum_end(s[n], scale[j]));
        }
    }
}

/* isum of a block of Q8_0; sum starts at x's start. */
INLINE void block_q8_0(vi *sum, const unsigned char *codes, const struct xunit *x, uint32_t b,
                       int lane, const int rows) {
    UNROLL
    for (int i = 0; i < 8; i++) {
        vi v = load_ahead(codes + i * 64, lane);
#if !VNNI
        v = vi_xor(v, vi_bytes(-128));
        vi size = vi_abs8(v);
#endif
        UNROLL
        for (int r = 0; r < rows; r++) {
            vi q = broadcast(x[r].q + b * 32 + 4 * i);
#if VNNI
            sum[r] = vi_dot(sum[r], v, q);
#else
            vi pairs = vi_maddubs(size, vi_sign8(q, v));
            sum[r] = vi_dot16(sum[r], pairs, vi_set1(0x00010001));
#endif
        }
    }
}

/* isum of a block of Q4_0 or Q5_0; sum starts at x's start. */
INLINE void block_nibbles(vi *sum, const unsigned char *codes, const struct xunit *x, uint32_t b,
                          int lane, const bool fifth, const int rows) {
    const vi low = vi_bytes(15), bit = vi_bytes(16);
    vi bits = vi_zero(), sum0[FEW_ROWS], sum1[FEW_ROWS];
    if (fifth) {
        bits = load_ahead(codes, lane);
        codes += 64;
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        vi v = load_ahead(codes + i * 64, lane);
        vi code0 = vi_and(v, low), code1 = vi_and(vi_srl16(v, 4), low);
        if (fifth) {
            code0 = vi_or_and(code0, to_fifth(bits, i), bit);
            code1 = vi_or_and(code1, to_fifth(bits, i + 4), bit);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            const int8_t *q = x[r].q + b * 32 + 4 * i;
            sum0[r] = sum_add(i ? sum0[r] : vi_zero(), code0, broadcast(q));
            sum1[r] = sum_add(i ? sum1[r] : vi_zero(), code1, broadcast(q + 16));
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        vi first = VNNI ? sum0[r] : vi_madd16(sum0[r], vi_set1(0x00010001));
        vi second = VNNI ? sum1[r] : vi_madd16(sum1[r], vi_set1(0x00010001));
        sum[r] = vi_add32(sum[r], vi_add32(first, second));
    }
}

/* msum of Q4_K and Q5_K. */
INLINE vi minimum_k(const unsigned char *scales, const struct xunit *x, int lane) {
    vi sum = vi_zero();
    UNROLL
    for (int t = 0; t < 4; t++) {
        const unsigned char *mn = scales + 192 + t * 32 + lane;
        vi factors = pair16(vi_widen_u8(mn), vi_widen_u8(mn + 16));
        sum = vi_dot16(sum, factors, broadcast(x->sums + 2 * t));
    }
    return sum;
}

/* What isum of Q6_K has too much by the offset of its codes, divided by 32. */
INLINE vi offset_q6_k(const unsigned char *scales, const struct xunit *x, int lane) {
    vi sum = vi_zero();
    UNROLL
    for (int t = 0; t < 8; t++) {
        const unsigned char *sc = scales + 32 + t * 32 + lane;
        vi factors = pair16(vi_widen_s8(sc), vi_widen_s8(sc + 16));
        sum = vi_dot16(sum, factors, broadcast(x->sums + 2 * t));
    }
    return sum;
}

INLINE vf float_step(vf chain, vi sum, const unsigned char *scales, const struct xunit *x, int lane,
                     const enum power_dtype dtype) {
    vf da = vf_set1(x->d[0]), d = vf_load_half(scales + lane * 2);
    if (dtype == POWER_DTYPE_Q6_K) {
        vi offset = vi_sll32(offset_q6_k(scales, x, lane), 5);
        return vf_fma(vf_mul(d, da), vf_from_int(vi_sub32(sum, offset)), chain);
    }
    chain = vf_fma(vf_mul(d, da), vf_from_int(sum), chain);
    vf m = vf_load_half(scales + 32 + lane * 2);
    return vf_fnma(vf_mul(m, da), vf_from_int(minimum_k(scales, x, lane)), chain);
}

/* Part of a unit of one vector of outputs. */
INLINE void part_super(vi *sum, const struct packed_at *at, const struct xunit *x, uint32_t part,
                       int lane, const enum power_dtype dtype, size_t code_bytes, const int rows) {
    const unsigned char *codes = at->codes + part * code_bytes / 4;
    if (lane == 0) prefetch(at->scales + part * 64);
    if (dtype == POWER_DTYPE_Q6_K) {
        part_q6_k(sum, codes, at->scales, x, part, lane, rows);
    } else {
        part_k(sum, codes, at->scales, x, part, lane, dtype == POWER_DTYPE_Q5_K, rows);
    }
}

/* isum of one unit of all streams. One row has the registers to keep every sum. */
INLINE void sum_super(vi sum[STREAMS * VECTORS][FEW_ROWS], const struct packed_at *at,
                      const struct xunit *x, const enum power_dtype dtype, size_t code_bytes,
                      const int rows) {
    for (uint32_t part = 0; part < 4 && rows == 1; part++) {
        UNROLL
        for (int i = 0; i < STREAMS * VECTORS; i++) {
            part_super(sum[i], &at[i / VECTORS], x, part, i % VECTORS * LANES, dtype, code_bytes,
                       1);
        }
    }
    for (int n = 0; n < 4 * STREAMS * VECTORS && rows > 1; n++) {
        const int i = n % (STREAMS * VECTORS), part = n / (STREAMS * VECTORS);
        part_super(sum[i], &at[i / VECTORS], x, (uint32_t)part, i % VECTORS * LANES, dtype,
                   code_bytes, rows);
    }
}

/* Types of 256. x: [units][rows]; out: a multiple of 16 with STREAMS groups after it. */
INLINE void few_super(const struct power_product *p, const struct xunit *x, uint32_t out, float *y,
                      const enum power_dtype dtype, size_t code_bytes, size_t scale_bytes,
                      const int rows) {
    struct packed_at at[STREAMS];
    _Alignas(64) float acc[FEW_ROWS][STREAMS * 16] = {{0}};
    for (uint32_t g = 0; g < STREAMS; g++) {
        at[g] = packed_at(p, out / 16 + g, 0, 256, code_bytes, scale_bytes);
    }
    for (uint32_t unit = 0; unit < p->k / 256; unit++, x += rows) {
        vi sum[STREAMS * VECTORS][FEW_ROWS];
        UNROLL
        for (int i = 0; i < STREAMS * VECTORS * FEW_ROWS; i++) {
            sum[i / FEW_ROWS][i % FEW_ROWS] = vi_zero();
        }
        sum_super(sum, at, x, dtype, code_bytes, rows);
        for (int n = 0; n < STREAMS * VECTORS * rows; n++) {
            const int i = n / rows, r = n % rows, lane = i % VECTORS * LANES;
            float *chain = acc[r] + i * LANES;
            vf_store(chain, float_step(vf_load(chain), sum[i][r], at[i / VECTORS].scales, x + r,
                                       lane, dtype));
        }
        for (uint32_t g = 0; g < STREAMS; g++) {
            at[g].codes += code_bytes;
            at[g].scales += scale_bytes;
        }
    }
    for (int n = 0; n < rows * STREAMS; n++) {
        const int r = n / STREAMS, g = n % STREAMS;
        put_row(y + (size_t)r * p->y_stride + out + g * 16, acc[r] + g * 16, 16, true);
    }
}

/* Block b of one vector of outputs, to chains[r * stride]. */
INLINE void step_few(const unsigned char *codes, const unsigned char *half, const struct xunit *x,
                     uint32_t b, int lane, float *chain, const size_t stride,
                     const enum power_dtype dtype, const int rows) {
    vi sum[FEW_ROWS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        sum[r] = vi_set1(x[r].start[b]);
    }
    if (dtype == POWER_DTYPE_Q8_0) {
        block_q8_0(sum, codes, x, b, lane, rows);
    } else {
        block_nibbles(sum, codes, x, b, lane, dtype == POWER_DTYPE_Q5_0, rows);
    }
    vf d = vf_load_half(half + lane * 2);
    UNROLL
    for (int r = 0; r < rows; r++, chain += stride) {
        vf scale = vf_mul(d, vf_set1(x[r].d[b]));
        vf_store(chain, vf_fma(scale, vf_from_int(sum[r]), vf_load(chain)));
    }
}

/* Types of 32. */
INLINE void few_block(const struct power_product *p, const struct xunit *x, uint32_t out, float *y,
                      const enum power_dtype dtype, size_t code_bytes, const int rows) {
    struct packed_at at[STREAMS];
    _Alignas(64) float acc[FEW_ROWS][STREAMS][4][16];
    memset(acc, 0, sizeof acc);
    for (uint32_t g = 0; g < STREAMS; g++) {
        at[g] = packed_at(p, out / 16 + g, 0, 32, code_bytes, 32);
    }
    for (uint32_t b = 0; b < p->k / 32; b++) {
        const struct xunit *xu = x + b / 8 * (uint32_t)rows;
        for (uint32_t i = 0; i < STREAMS * VECTORS; i++) {
            const struct packed_at *a = &at[i / VECTORS];
            const unsigned char *codes = a->codes + b * code_bytes, *half = a->scales + b * 32;
            const int lane = (int)(i % VECTORS) * LANES;
            if (lane == 0) prefetch(half);
            step_few(codes, half, xu, b % 8, lane, &acc[0][i / VECTORS][b % 4][lane], STREAMS * 64,
                     dtype, rows);
        }
    }
    for (int n = 0; n < rows * STREAMS; n++) {
        const int r = n / STREAMS, g = n % STREAMS;
        put_row(y + (size_t)r * p->y_stride + out + g * 16, acc[r][g][0], 16, false);
    }
}

#define FEW(name, rows, call)                                                                      \
    static void few_##name##_##rows(const struct power_product *p, const struct xunit *x,          \
                                    uint32_t out, float *y) {                                      \
        call;                                                                                      \
    }
#define FEW_SUPER(name, NAME, code_bytes, scale_bytes, rows)                                       \
    FEW(name, rows, few_super(p, x, out, y, POWER_DTYPE_##NAME, code_bytes, scale_bytes, rows))
#define FEW_BLOCK(name, NAME, code_bytes, unused, rows)                                            \
    FEW(name, rows, few_block(p, x, out, y, POWER_DTYPE_##NAME, code_bytes, rows))
#define FEW_TABLE(KIND, name, ...)                                                                 \
    KIND(name, __VA_ARGS__, 1)                                                                     \
    KIND(name, __VA_ARGS__, 2)                                                                     \
    KIND(name, __VA_ARGS__, 3)                                                                     \
    KIND(name, __VA_ARGS__, 4)                                                                     \
    static const few_fn few_##name[FEW_ROWS] = {few_##name##_1, few_##name##_2, few_##name##_3,    \
                                                few_##name##_4};
FEW_TABLE(FEW_BLOCK, q8_0, Q8_0, 512, 32)
FEW_TABLE(FEW_BLOCK, q4_0, Q4_0, 256, 32)
FEW_TABLE(FEW_BLOCK, q5_0, Q5_0, 320, 32)
FEW_TABLE(FEW_SUPER, q4_k, Q4_K, 2048, 320)
FEW_TABLE(FEW_SUPER, q5_k, Q5_K, 2560, 320)
FEW_TABLE(FEW_SUPER, q6_k, Q6_K, 3072, 288)

#endif
