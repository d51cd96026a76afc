/* SPDX-License-Identifier: MIT */
/* Micro-kernels of attention: up to TILE queries share each load of a key or value vector.
 * Input: one KV block of 64 tokens, packed queries or probabilities. Output: scores or channel
 * sums. Threads: any. Bounds: a score tile reads all 64 lanes of a block (dead lanes are discarded
 * by the caller); a value tile reads only the keys and channels that it is given. */
#ifndef POWER_DEVICE_CPU_X86_ATTEND_TILE_H
#define POWER_DEVICE_CPU_X86_ATTEND_TILE_H

#include "device/cpu/x86/lanes.h"

enum {
    TILE = 6,        /* queries of a tile */
    BLOCK = 64,      /* keys of a KV block */
    CHUNK = 256,     /* keys of a key chunk; floats between two queries' scores */
    SEGMENT = 256,   /* elements of an R-chain segment */
    MAX_VECS = 4,    /* vectors of a micro-kernel's row */
    WIDE_QUERIES = 3 /* 16 registers: up to so many queries a row has 4 vectors, above 2 */
};

VEC vf load_kv(const void *base, size_t i, bool half) {
    return half ? vf_load_half((const uint16_t *)base + i) : vf_load((const float *)base + i);
}

/* Q8_0 values from element i on: d * q, one d for 32 elements. */
VEC vf load_codes(const int8_t *codes, const uint16_t *scales, size_t i) {
    return vf_mul(vf_set(half_to_float(scales[i / 32])), vf_load_i8(codes + i));
}

/* ---- scores, float K: k [n_channels][64], q [n_channels][TILE], s [n_q][CHUNK] ---- */
VEC void score_columns(const int n_q, const int n_vecs, const bool half, const void *k,
                       const float *q, uint32_t n_channels, float *s, bool add) {
    vf acc[TILE][MAX_VECS];
    UNROLL for (int r = 0; r < n_q; r++) {
        UNROLL for (int v = 0; v < n_vecs; v++) acc[r][v] = vf_zero();
    }
    for (size_t c = 0; c < n_channels; c++, q += TILE) {
        vf key[MAX_VECS];
        UNROLL for (int v = 0; v < n_vecs; v++) {
            key[v] = load_kv(k, c * BLOCK + (size_t)v * LANES, half);
        }
        UNROLL for (int r = 0; r < n_q; r++) {
            const vf x = vf_set(q[r]);
            UNROLL for (int v = 0; v < n_vecs; v++) acc[r][v] = vf_fma(x, key[v], acc[r][v]);
        }
    }
    UNROLL for (int r = 0; r < n_q; r++) {
        UNROLL for (int v = 0; v < n_vecs; v++) {
            float *out = s + r * CHUNK + v * LANES;
            vf_store(out, add ? vf_add(vf_load(out), acc[r][v]) : acc[r][v]);
        }
    }
}

/* One segment of the R-chain of q.k for a whole block; `add`: not the first segment. */
VEC void score_block(const int n_q, const bool half, const void *k, const float *q,
                     uint32_t n_channels, float *s, bool add) {
    const int n_vecs = REGISTERS == 32 || n_q <= WIDE_QUERIES ? 4 : 2;
    for (int i = 0; i < BLOCK; i += n_vecs * LANES) {
        const void *column =
            half ? (const void *)((const uint16_t *)k + i) : (const void *)((const float *)k + i);
        score_columns(n_q, n_vecs, half, column, q, n_channels, s + i, add);
    }
}

typedef void (*score_fn)(const void *k, const float *q, uint32_t n_channels, float *s, bool add);

#define DEFINE_SCORE(n_q, name, half)                                                              \
    static void name##n_q(const void *k, const float *q, uint32_t n_channels, float *s,            \
                          bool add) {                                                              \
        score_block(n_q, half, k, q, n_channels, s, add);                                          \
    }
#define FOR_TILE(X, ...)                                                                           \
    X(1, __VA_ARGS__)                                                                              \
    X(2, __VA_ARGS__)                                                                              \
    X(3, __VA_ARGS__)                                                                              \
    X(4, __VA_ARGS__)                                                                              \
    X(5, __VA_ARGS__)                                                                              \
    X(6, __VA_ARGS__)
FOR_TILE(DEFINE_SCORE, score_float_, false)
FOR_TILE(DEFINE_SCORE, score_half_, true)

static const score_fn score_tiles[2][TILE] = {
    {score_float_1, score_float_2, score_float_3, score_float_4, score_float_5, score_float_6},
    {score_half_1, score_half_2, score_half_3, score_half_4, score_half_5, score_half_6}};

/* ---- values: o [n_q][o_stride] += p [n_q][CHUNK] * v [n_keys][v_stride], keys ascending ---- */
enum value_kind { VALUE_FLOAT, VALUE_HALF, VALUE_CODES };

VEC vf load_value(enum value_kind kind, const void *v, const uint16_t *scales, size_t i) {
    if (kind == VALUE_CODES) return load_codes(v, scales, i);
    return load_kv(v, i, kind == VALUE_HALF);
}

VEC void value_columns(const int n_q, const int n_vecs, const enum value_kind kind, const void *v,
                       const uint16_t *scales, size_t v_stride, const float *p, uint32_t n_keys,
                       float *o, size_t o_stride) {
    vf acc[TILE][MAX_VECS];
    UNROLL for (int r = 0; r < n_q; r++) {
        UNROLL for (int c = 0; c < n_vecs; c++) {
            acc[r][c] = vf_load(o + (size_t)r * o_stride + (size_t)c * LANES);
        }
    }
    size_t at = 0;
    for (const float *end = p + n_keys; p < end; p++, at += v_stride) {
        vf value[MAX_VECS];
        UNROLL for (int c = 0; c < n_vecs; c++) {
            value[c] = load_value(kind, v, scales, at + (size_t)c * LANES);
        }
        UNROLL for (int r = 0; r < n_q; r++) {
            const vf x = vf_set(p[r * CHUNK]);
            UNROLL for (int c = 0; c < n_vecs; c++) acc[r][c] = vf_fma(x, value[c], acc[r][c]);
        }
    }
    UNROLL for (int r = 0; r < n_q; r++) {
        UNROLL for (int c = 0; c < n_vecs; c++) {
            vf_store(o + (size_t)r * o_stride + (size_t)c * LANES, acc[r][c]);
        }
    }
}

/* `scales` are those of v's first element on; v_stride is a multiple of 32 where they count. */
typedef void (*value_fn)(const void *v, const uint16_t *scales, size_t v_stride, const float *p,
                         uint32_t n_keys, float *o, size_t o_stride);

#define DEFINE_VALUE(n_q, name, n_vecs, kind)                                                      \
    static void name##n_q(const void *v, const uint16_t *scales, size_t v_stride, const float *p,  \
                          uint32_t n_keys, float *o, size_t o_stride) {                            \
        value_columns(n_q, n_vecs, kind, v, scales, v_stride, p, n_keys, o, o_stride);             \
    }
#define VALUE_ROW(name)                                                                            \
    { name##1, name##2, name##3, name##4, name##5, name##6 }
FOR_TILE(DEFINE_VALUE, value_float1_, 1, VALUE_FLOAT)
FOR_TILE(DEFINE_VALUE, value_float2_, 2, VALUE_FLOAT)
FOR_TILE(DEFINE_VALUE, value_float4_, 4, VALUE_FLOAT)
FOR_TILE(DEFINE_VALUE, value_half1_, 1, VALUE_HALF)
FOR_TILE(DEFINE_VALUE, value_half2_, 2, VALUE_HALF)
FOR_TILE(DEFINE_VALUE, value_half4_, 4, VALUE_HALF)
FOR_TILE(DEFINE_VALUE, value_codes1_, 1, VALUE_CODES)
FOR_TILE(DEFINE_VALUE, value_codes2_, 2, VALUE_CODES)
FOR_TILE(DEFINE_VALUE, value_codes4_, 4, VALUE_CODES)

/* [kind][log2 of the vectors][n_q - 1] */
static const value_fn value_tiles[3][3][TILE] = {
    {VALUE_ROW(value_float1_), VALUE_ROW(value_float2_), VALUE_ROW(value_float4_)},
    {VALUE_ROW(value_half1_), VALUE_ROW(value_half2_), VALUE_ROW(value_half4_)},
    {VALUE_ROW(value_codes1_), VALUE_ROW(value_codes2_), VALUE_ROW(value_codes4_)}};

/* ---- scores, Q8_0 K: exact integer sums of 32 channels, then one float step a block ---- */

/* Query side of a tile: codes [k_dim / 4][TILE] of 4 int8, d and 128 * (sum of the codes) of each
 * block [k_dim / 32][TILE]. */
struct score_codes {
    const int32_t *q;
    const float *d;
    const int32_t *sum128;
};

/* acc + the dot product of 4 int8 in each lane; `key` as prepare_codes left it. */
#if defined(__aarch64__)
VEC vi prepare_codes(const int8_t *k) {
    return vi_load(k);
}
VEC vi dot4(vi acc, vi key, const int8_t *k, int32_t q) {
    const int8x16_t a = vreinterpretq_s8_s32(key), b = vreinterpretq_s8_s32(vi_set(q));
    (void)k;
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(acc, a, b);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    return vpadalq_s16(acc, vpaddq_s16(low, vmull_high_s8(a, b)));
#endif
}
#elif defined(__AVX512VNNI__)
VEC vi prepare_codes(const int8_t *k) { /* + 128: the sum of q * 128 is taken off at the end */
    return _mm512_xor_si512(vi_load(k), _mm512_set1_epi8(INT8_MIN));
}
VEC vi dot4(vi acc, vi key, const int8_t *k, int32_t q) {
    (void)k;
    return _mm512_dpbusd_epi32(acc, key, vi_set(q));
}
#elif defined(__AVX512F__)
VEC vi prepare_codes(const int8_t *k) {
    return _mm512_abs_epi8(vi_load(k));
}
VEC vi dot4(vi acc, vi key, const int8_t *k, int32_t q) {
    const vi x = vi_set(q);
    const __mmask64 negative = _mm512_movepi8_mask(vi_load(k));
    const vi y = _mm512_mask_sub_epi8(x, negative, vi_zero(), x);
    const vi pairs = _mm512_maddubs_epi16(key, y);
    return vi_add(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
#else
VEC vi prepare_codes(const int8_t *k) {
    return _mm256_abs_epi8(vi_load(k));
}
VEC vi dot4(vi acc, vi key, const int8_t *k, int32_t q) {
    const vi pairs = _mm256_maddubs_epi16(key, _mm256_sign_epi8(vi_set(q), vi_load(k)));
    return vi_add(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

/* LANES keys: codes [k_dim / 4][64][4], scales half [k_dim / 32][64], four chains over the blocks.
 */
VEC void score_codes_column(const int n_q, const int8_t *k, const uint16_t *scales,
                            const struct score_codes *c, uint32_t n_blocks, float *s) {
    vf chain[4][TILE];
    UNROLL for (int i = 0; i < 4; i++) {
        UNROLL for (int r = 0; r < n_q; r++) chain[i][r] = vf_zero();
    }
    for (uint32_t b = 0; b < n_blocks; b++) {
        vi acc[TILE];
        UNROLL for (int r = 0; r < n_q; r++) acc[r] = vi_zero();
        UNROLL for (uint32_t g = 0; g < 8; g++) {
            const int8_t *codes = k + (size_t)(b * 8 + g) * BLOCK * 4;
            const vi key = prepare_codes(codes);
            const int32_t *q = c->q + (b * 8 + g) * TILE;
            UNROLL for (int r = 0; r < n_q; r++) acc[r] = dot4(acc[r], key, codes, q[r]);
        }
        const vf dw = vf_load_half(scales + (size_t)b * BLOCK);
        UNROLL for (int r = 0; r < n_q; r++) {
            const uint32_t at = b * TILE + (uint32_t)r;
#if defined(__AVX512VNNI__)
            acc[r] = vi_sub(acc[r], vi_set(c->sum128[at]));
#endif
            const vf scale = vf_mul(dw, vf_set(c->d[at]));
            chain[b & 3][r] = vf_fma(scale, vi_convert(acc[r]), chain[b & 3][r]);
        }
    }
    UNROLL for (int r = 0; r < n_q; r++) {
        const vf low = vf_add(chain[0][r], chain[1][r]);
        vf_store(s + r * CHUNK, vf_add(low, vf_add(chain[2][r], chain[3][r])));
    }
}

typedef void (*score_codes_fn)(const int8_t *k, const uint16_t *scales, const struct score_codes *c,
                               uint32_t n_blocks, float *s);

#define DEFINE_SCORE_CODES(n_q, name)                                                              \
    static void name##n_q(const int8_t *k, const uint16_t *scales, const struct score_codes *c,    \
                          uint32_t n_blocks, float *s) {                                           \
        for (int i = 0; i < BLOCK; i += LANES) {                                                   \
            score_codes_column(n_q, k + i * 4, scales + i, c, n_blocks, s + i);                    \
        }                                                                                          \
    }
FOR_TILE(DEFINE_SCORE_CODES, score_codes_)

static const score_codes_fn score_codes_tiles[TILE] = {score_codes_1, score_codes_2, score_codes_3,
                                                       score_codes_4, score_codes_5, score_codes_6};

#endif
