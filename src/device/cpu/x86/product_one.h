/* SPDX-License-Identifier: MIT */
/* The quantised products of one row: codes go from memory through registers to the sums.
 * Input: a power_product with packed weights, one activation row. Output: 64 elements of y.
 * Threads: any. Bounds: STREAMS whole groups of 16 outputs.
 * Included once by each instruction set's file, after product_unpack.h. One row waits for memory,
 * and one stream of loads does not keep it busy: STREAMS groups advance together, a part of a unit
 * each. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_ONE_H
#define POWER_DEVICE_CPU_X86_PRODUCT_ONE_H

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
INLINE vi part_k(vi sum, const unsigned char *codes, const unsigned char *scales,
                 const struct xunit *x, uint32_t part, int lane, const bool fifth) {
    const vi low = vi_bytes(15), bit = vi_bytes(16);
    const unsigned char *sc = scales + 64 + part * 32 + lane;
    vi scale0 = scale_form(vi_widen_u8(sc)), scale1 = scale_form(vi_widen_u8(sc + 16));
    const int8_t *q = x->q + part * 64;
    vi bits0 = vi_zero(), bits1 = vi_zero();
    if (fifth) {
        bits0 = load_ahead(codes, lane);
        bits1 = load_ahead(codes + 64, lane);
        codes += 128;
    }
    const int fill = fifth && !VNNI ? 4 : 8;
    UNROLL
    for (int f = 0; f < 8; f += fill) {
        vi sum0 = vi_zero(), sum1 = vi_zero();
        UNROLL
        for (int i = f; i < f + fill; i++) {
            vi v = load_ahead(codes + i * 64, lane);
            vi code0 = vi_and(v, low), code1 = vi_and(vi_srl16(v, 4), low);
            if (fifth) {
                code0 = vi_or_and(code0, to_fifth(bits0, i), bit);
                code1 = vi_or_and(code1, to_fifth(bits1, i), bit);
            }
            sum0 = sum_add(sum0, code0, broadcast(q + 4 * i));
            sum1 = sum_add(sum1, code1, broadcast(q + 32 + 4 * i));
        }
        sum = vi_add32(sum, vi_add32(sum_end(sum0, scale0), sum_end(sum1, scale1)));
    }
    return sum;
}

/* 64 weights of Q6_K: sub-blocks part, part + 4, part + 8, part + 12. */
INLINE vi part_q6_k(vi sum, const unsigned char *codes, const unsigned char *scales,
                    const struct xunit *x, uint32_t part, int lane) {
    const vi low = vi_bytes(15), high = vi_bytes(0x30);
    const unsigned char *sc = scales + 32 + part * 16 + lane;
    const int8_t *q = x->q + part * 16;
    vi scale[4], s[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        scale[i] = scale_form(vi_widen_s8(sc + i * 64));
        s[i] = vi_zero();
    }
    UNROLL
    for (int i = 0; i < 4; i++, codes += 192) {
        vi a = load_ahead(codes, lane), b = load_ahead(codes + 64, lane);
        vi h = load_ahead(codes + 128, lane), a4 = vi_srl16(a, 4), b4 = vi_srl16(b, 4);
        vi code0 = vi_or_and(vi_and(a, low), vi_sll16(h, 4), high);
        vi code1 = vi_or_and(vi_and(b, low), vi_sll16(h, 2), high);
        vi code2 = vi_or_and(vi_and(a4, low), h, high);
        vi code3 = vi_or_and(vi_and(b4, low), vi_srl16(h, 2), high);
        s[0] = sum_add(s[0], code0, broadcast(q + 4 * i));
        s[1] = sum_add(s[1], code1, broadcast(q + 64 + 4 * i));
        s[2] = sum_add(s[2], code2, broadcast(q + 128 + 4 * i));
        s[3] = sum_add(s[3], code3, broadcast(q + 192 + 4 * i));
        if (i != 3 && (VNNI || i != 1)) continue;
        UNROLL
        for (int j = 0; j < 4; j++) {
            sum = vi_add32(sum, sum_end(s[j], scale[j]));
            s[j] = vi_zero();
        }
    }
    return sum;
}

/* isum of a block of Q8_0. */
INLINE vi block_q8_0(const unsigned char *codes, const struct xunit *x, uint32_t b, int lane) {
    vi sum = vi_set1(x->start[b]);
    UNROLL
    for (int i = 0; i < 8; i++) {
        vi v = load_ahead(codes + i * 64, lane), q = broadcast(x->q + b * 32 + 4 * i);
#if VNNI
        sum = vi_dot(sum, v, q);
#else
        v = vi_xor(v, vi_bytes(-128));
        vi pairs = vi_maddubs(vi_abs8(v), vi_sign8(q, v));
        sum = vi_dot16(sum, pairs, vi_set1(0x00010001));
#endif
    }
    return sum;
}

/* isum of a block of Q4_0 or Q5_0. */
INLINE vi block_nibbles(const unsigned char *codes, const struct xunit *x, uint32_t b, int lane,
                        const bool fifth) {
    const vi low = vi_bytes(15), bit = vi_bytes(16);
    const vi one = VNNI ? vi_set1(1) : vi_set1(0x00010001);
    const int8_t *q = x->q + b * 32;
    vi bits = vi_zero(), sum0 = vi_zero(), sum1 = vi_zero();
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
        sum0 = sum_add(sum0, code0, broadcast(q + 4 * i));
        sum1 = sum_add(sum1, code1, broadcast(q + 16 + 4 * i));
    }
    vi start = vi_set1(x->start[b]);
    if (VNNI) return vi_add32(start, vi_add32(sum0, sum1));
    return vi_add32(start, vi_add32(sum_end(sum0, one), sum_end(sum1, one)));
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

/* Types of 256. x: all units of the row; out: a multiple of 16 with STREAMS groups after it. */
INLINE void one_super(const struct power_product *p, const struct xunit *x, uint32_t out, float *y,
                      const enum power_dtype dtype, size_t code_bytes, size_t scale_bytes) {
    struct packed_at at[STREAMS];
    _Alignas(64) float acc[STREAMS * 16] = {0};
    for (uint32_t g = 0; g < STREAMS; g++) {
        at[g] = packed_at(p, out / 16 + g, 0, 256, code_bytes, scale_bytes);
    }
    for (uint32_t unit = 0; unit < p->k / 256; unit++, x++) {
        vi sum[STREAMS * VECTORS];
        UNROLL
        for (int i = 0; i < STREAMS * VECTORS; i++) {
            sum[i] = vi_zero();
        }
        for (uint32_t part = 0; part < 4; part++) {
            UNROLL
            for (int i = 0; i < STREAMS * VECTORS; i++) {
                const struct packed_at *a = &at[i / VECTORS];
                const unsigned char *codes = a->codes + unit * code_bytes + part * code_bytes / 4;
                const unsigned char *scales = a->scales + unit * scale_bytes;
                const int lane = i % VECTORS * LANES;
                if (lane == 0) prefetch(scales + part * 64);
                sum[i] = dtype == POWER_DTYPE_Q6_K ? part_q6_k(sum[i], codes, scales, x, part, lane)
                                                   : part_k(sum[i], codes, scales, x, part, lane,
                                                            dtype == POWER_DTYPE_Q5_K);
            }
        }
        UNROLL
        for (int i = 0; i < STREAMS * VECTORS; i++) {
            const unsigned char *scales = at[i / VECTORS].scales + unit * scale_bytes;
            vf chain =
                float_step(vf_load(acc + i * LANES), sum[i], scales, x, i % VECTORS * LANES, dtype);
            vf_store(acc + i * LANES, chain);
        }
    }
    for (uint32_t g = 0; g < STREAMS; g++) {
        put_row(y + out + g * 16, acc + g * 16, 16, true);
    }
}

/* Types of 32. */
INLINE void one_block(const struct power_product *p, const struct xunit *x, uint32_t out, float *y,
                      const enum power_dtype dtype, size_t code_bytes) {
    struct packed_at at[STREAMS];
    _Alignas(64) float acc[STREAMS][4][16] = {{{0}}};
    for (uint32_t g = 0; g < STREAMS; g++) {
        at[g] = packed_at(p, out / 16 + g, 0, 32, code_bytes, 32);
    }
    for (uint32_t b = 0; b < p->k / 32; b++) {
        const struct xunit *xu = x + b / 8;
        const vf da = vf_set1(xu->d[b % 8]);
        UNROLL
        for (int i = 0; i < STREAMS * VECTORS; i++) {
            const struct packed_at *a = &at[i / VECTORS];
            const unsigned char *codes = a->codes + b * code_bytes, *half = a->scales + b * 32;
            const int lane = i % VECTORS * LANES;
            if (lane == 0) prefetch(half);
            vi sum = dtype == POWER_DTYPE_Q8_0
                         ? block_q8_0(codes, xu, b % 8, lane)
                         : block_nibbles(codes, xu, b % 8, lane, dtype == POWER_DTYPE_Q5_0);
            float *chain = &acc[i / VECTORS][b % 4][lane];
            vf d = vf_load_half(half + lane * 2);
            vf_store(chain, vf_fma(vf_mul(d, da), vf_from_int(sum), vf_load(chain)));
        }
    }
    for (uint32_t g = 0; g < STREAMS; g++) {
        put_row(y + out + g * 16, acc[g][0], 16, false);
    }
}

#define ONE_SUPER(name, NAME, code_bytes, scale_bytes)                                             \
    static void one_##name(const struct power_product *p, const struct xunit *x, uint32_t out,     \
                           float *y) {                                                             \
        one_super(p, x, out, y, POWER_DTYPE_##NAME, code_bytes, scale_bytes);                      \
    }
#define ONE_BLOCK(name, NAME, code_bytes)                                                          \
    static void one_##name(const struct power_product *p, const struct xunit *x, uint32_t out,     \
                           float *y) {                                                             \
        one_block(p, x, out, y, POWER_DTYPE_##NAME, code_bytes);                                   \
    }
ONE_BLOCK(q8_0, Q8_0, 512)
ONE_BLOCK(q4_0, Q4_0, 256)
ONE_BLOCK(q5_0, Q5_0, 320)
ONE_SUPER(q4_k, Q4_K, 2048, 320)
ONE_SUPER(q5_k, Q5_K, 2560, 320)
ONE_SUPER(q6_k, Q6_K, 3072, 288)

#endif
