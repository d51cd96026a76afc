/* SPDX-License-Identifier: MIT */
/* Decodes raw blocks of one weight row into codes and scales.
 * Input: the bytes of a row as in the file. Output: a power_row_unit.
 * Threads: any. Bounds: reads exactly the blocks that hold n weights, n <= 256. */
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "device/cpu/ref/ref.h"
#include "device/cpu/x86/product.h"

static float half_at(const unsigned char *raw) {
    uint16_t bits;
    memcpy(&bits, raw, sizeof bits);
#if defined(__x86_64__)
    return _cvtsh_ss(bits);
#else
    return power_half_to_float(bits);
#endif
}

static uint32_t word_at(const unsigned char *raw) {
    uint32_t word;
    memcpy(&word, raw, sizeof word);
    return word;
}

#if defined(__x86_64__)
/* 16 bytes: low halves to `low`, high halves to `high`. */
static void nibbles16(const unsigned char *raw, uint8_t *low, uint8_t *high) {
    const __m128i mask = _mm_set1_epi8(15);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)raw);
    _mm_storeu_si128((__m128i *)(void *)low, _mm_and_si128(v, mask));
    _mm_storeu_si128((__m128i *)(void *)high, _mm_and_si128(_mm_srli_epi16(v, 4), mask));
}

/* Adds bit i of `bits` as bit 4 of code i, 32 codes. */
static void fifth_bits(uint32_t bits, uint8_t *q) {
    const __m256i byte =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201u);
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), byte);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
    __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)q);
    codes = _mm256_or_si256(codes, _mm256_and_si256(set, _mm256_set1_epi8(16)));
    _mm256_storeu_si256((__m256i *)(void *)q, codes);
}
#else
/* The same in plain C, which compilers make vectors of. */
static void nibbles16(const unsigned char *raw, uint8_t *low, uint8_t *high) {
    for (uint32_t i = 0; i < 16; i++) {
        low[i] = raw[i] & 15;
        high[i] = (uint8_t)(raw[i] >> 4);
    }
}

static void fifth_bits(uint32_t bits, uint8_t *q) {
    for (uint32_t i = 0; i < 32; i++) {
        q[i] = (uint8_t)(q[i] | (bits >> i & 1u) << 4);
    }
}
#endif

static void decode_q8_0(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 34) {
        out->d[b] = half_at(raw);
        for (uint32_t i = 0; i < 32; i++) {
            out->q[b * 32 + i] = raw[2 + i] ^ 0x80;
        }
    }
}

static void decode_q4_0(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 18) {
        out->d[b] = half_at(raw);
        nibbles16(raw + 2, out->q + b * 32, out->q + b * 32 + 16);
    }
}

static void decode_q4_1(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 20) {
        out->d[b] = half_at(raw);
        out->m[b] = half_at(raw + 2);
        nibbles16(raw + 4, out->q + b * 32, out->q + b * 32 + 16);
    }
}

static void decode_q5_0(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 22) {
        out->d[b] = half_at(raw);
        nibbles16(raw + 6, out->q + b * 32, out->q + b * 32 + 16);
        fifth_bits(word_at(raw + 2), out->q + b * 32);
    }
}

static void decode_q5_1(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 24) {
        out->d[b] = half_at(raw);
        out->m[b] = half_at(raw + 2);
        nibbles16(raw + 8, out->q + b * 32, out->q + b * 32 + 16);
        fifth_bits(word_at(raw + 4), out->q + b * 32);
    }
}

/* The values of IQ4_NL and IQ4_XS, plus 128. */
static const uint8_t nonlinear[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                      129, 141, 153, 166, 181, 197, 217, 241};

static void look_up(const unsigned char *raw, uint8_t *q) {
#if defined(__x86_64__)
    __m128i table = _mm_loadu_si128((const __m128i *)(const void *)nonlinear),
            mask = _mm_set1_epi8(15);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)raw);
    __m128i low = _mm_and_si128(v, mask), high = _mm_and_si128(_mm_srli_epi16(v, 4), mask);
    _mm_storeu_si128((__m128i *)(void *)q, _mm_shuffle_epi8(table, low));
    _mm_storeu_si128((__m128i *)(void *)(q + 16), _mm_shuffle_epi8(table, high));
#else
    nibbles16(raw, q, q + 16);
    for (uint32_t i = 0; i < 32; i++) {
        q[i] = nonlinear[q[i]];
    }
#endif
}

static void decode_iq4_nl(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t b = 0; b < n / 32; b++, raw += 18) {
        out->d[b] = half_at(raw);
        look_up(raw + 2, out->q + b * 32);
    }
}

/* The eight 6-bit scales and minima that Q4_K and Q5_K share. */
static void scales_k(const unsigned char *raw, struct power_row_unit *out) {
    out->d[0] = half_at(raw);
    out->m[0] = half_at(raw + 2);
    raw += 4;
    for (uint32_t j = 0; j < 8; j++) {
        uint32_t sc, mn;
        if (j < 4) {
            sc = raw[j] & 63;
            mn = raw[j + 4] & 63;
        } else {
            sc = (raw[j + 4] & 15u) | ((uint32_t)raw[j - 4] >> 6) << 4;
            mn = (uint32_t)(raw[j + 4] >> 4) | ((uint32_t)raw[j] >> 6) << 4;
        }
        out->sc[j] = (int16_t)sc;
        out->cp[j] = (int16_t)mn;
    }
}

static void decode_q4_k(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    scales_k(raw, out);
    for (uint32_t p = 0; p < 4; p++) {
        nibbles16(raw + 16 + p * 32, out->q + p * 64, out->q + p * 64 + 32);
        nibbles16(raw + 32 + p * 32, out->q + p * 64 + 16, out->q + p * 64 + 48);
    }
}

static void decode_q5_k(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    scales_k(raw, out);
    const unsigned char *high = raw + 16;
    for (uint32_t p = 0; p < 4; p++) {
        uint8_t *q = out->q + p * 64;
        nibbles16(raw + 48 + p * 32, q, q + 32);
        nibbles16(raw + 64 + p * 32, q + 16, q + 48);
        for (uint32_t i = 0; i < 32; i++) {
            q[i] = (uint8_t)(q[i] | ((high[i] >> (2 * p)) & 1) << 4);
            q[i + 32] = (uint8_t)(q[i + 32] | ((high[i] >> (2 * p + 1)) & 1) << 4);
        }
    }
}

/* Scales whose codes have an offset: isum loses offset * scale * (sum of activations). */
static void scale_offset(struct power_row_unit *out, int offset) {
    for (uint32_t j = 0; j < 16; j++) {
        out->cp[j] = (int16_t)(-offset * out->sc[j]);
    }
}

static void decode_q6_k(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    for (uint32_t s = 0; s < 2; s++) {
        const unsigned char *low = raw + 64 * s, *high = raw + 128 + 32 * s;
        uint8_t *q = out->q + 128 * s;
        for (uint32_t i = 0; i < 32; i++) {
            q[i] = (uint8_t)((low[i] & 15) | (high[i] & 3) << 4);
            q[i + 32] = (uint8_t)((low[i + 32] & 15) | ((high[i] >> 2) & 3) << 4);
            q[i + 64] = (uint8_t)((low[i] >> 4) | ((high[i] >> 4) & 3) << 4);
            q[i + 96] = (uint8_t)((low[i + 32] >> 4) | (high[i] >> 6) << 4);
        }
    }
    for (uint32_t j = 0; j < 16; j++) {
        out->sc[j] = (int8_t)raw[192 + j];
    }
    scale_offset(out, 32);
    out->d[0] = half_at(raw + 208);
}

static void decode_q2_k(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    for (uint32_t j = 0; j < 16; j++) {
        out->sc[j] = raw[j] & 15;
        out->cp[j] = (int16_t)(raw[j] >> 4);
    }
    for (uint32_t i = 0; i < 256; i++) {
        out->q[i] = (raw[16 + (i / 128) * 32 + i % 32] >> (2 * ((i / 32) % 4))) & 3;
    }
    out->d[0] = half_at(raw + 80);
    out->m[0] = half_at(raw + 82);
}

static void decode_q3_k(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t low = (uint32_t)raw[32 + (i / 128) * 32 + i % 32] >> (2 * (i / 32 % 4)) & 3u;
        uint32_t high = (uint32_t)raw[i % 32] >> (i / 32) & 1u;
        out->q[i] = (uint8_t)(low | high << 2);
    }
    const unsigned char *scales = raw + 96;
    for (uint32_t j = 0; j < 16; j++) {
        uint32_t low = j < 8 ? scales[j] & 15u : (uint32_t)(scales[j - 8] >> 4);
        uint32_t high = (uint32_t)scales[8 + j % 4] >> (2 * (j / 4)) & 3u;
        out->sc[j] = (int16_t)((int)(low | high << 4) - 32);
    }
    scale_offset(out, 4);
    out->d[0] = half_at(raw + 108);
}

static void decode_iq4_xs(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    (void)n;
    uint32_t high = raw[2] | (uint32_t)raw[3] << 8;
    out->d[0] = half_at(raw);
    for (uint32_t j = 0; j < 8; j++) {
        uint32_t low = (uint32_t)raw[4 + j / 2] >> (4 * (j % 2)) & 15u;
        int scale = (int)(low | ((high >> (2 * j)) & 3u) << 4) - 32;
        out->sc[j] = (int16_t)scale;
        out->cp[j] = (int16_t)(-128 * scale);
        look_up(raw + 8 + 16 * j, out->q + 32 * j);
    }
}

/* ---- the remaining types, by the reference's decoders ---- */

static void add_offset(const int8_t *code, uint32_t n, uint8_t *q) {
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (uint8_t)code[i] ^ 0x80;
    }
}

static void adapt_super(power_ref_decode_fn decode, const unsigned char *raw,
                        struct power_row_unit *out) {
    struct power_ref_unit unit;
    decode(raw, &unit);
    add_offset(unit.code, POWER_UNIT, out->q);
    memcpy(out->sc, unit.sub, sizeof out->sc);
    scale_offset(out, 128);
    out->d[0] = unit.dw[0];
}

/* Blocks of 32, 64 or 128 with a float step each 32 and no sub-scales. */
static void adapt_blocks(enum power_dtype dtype, power_ref_decode_fn decode,
                         const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    const struct power_dtype_info info = power_dtype_info(dtype);
    for (uint32_t i = 0; i < n; i += info.block_elements, raw += info.block_bytes) {
        struct power_ref_unit unit;
        decode(raw, &unit);
        add_offset(unit.code, info.block_elements, out->q + i);
        memcpy(out->d + i / 32, unit.dw, info.block_elements / 32 * sizeof(float));
    }
}

/* A step of 16 weights. */
static void decode_nvfp4(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {
    for (uint32_t i = 0; i < n; i += 64, raw += 36) {
        struct power_ref_unit unit;
        power_ref_decode_nvfp4(raw, &unit);
        add_offset(unit.code, 64, out->q + i);
        memcpy((i < 128 ? out->d : out->m) + i % 128 / 16, unit.dw, 4 * sizeof(float));
    }
}

#define ADAPT_SUPER(name)                                                                          \
    static void decode_##name(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {  \
        (void)n;                                                                                   \
        adapt_super(power_ref_decode_##name, raw, out);                                            \
    }
#define ADAPT_BLOCKS(name, NAME)                                                                   \
    static void decode_##name(const unsigned char *raw, uint32_t n, struct power_row_unit *out) {  \
        adapt_blocks(POWER_DTYPE_##NAME, power_ref_decode_##name, raw, n, out);                    \
    }
ADAPT_SUPER(iq2_xxs)
ADAPT_SUPER(iq2_xs)
ADAPT_SUPER(iq2_s)
ADAPT_SUPER(iq3_xxs)
ADAPT_SUPER(iq3_s)
ADAPT_SUPER(iq1_s)
ADAPT_SUPER(iq1_m)
ADAPT_SUPER(tq1_0)
ADAPT_SUPER(tq2_0)
ADAPT_BLOCKS(mxfp4, MXFP4)
ADAPT_BLOCKS(q1_0, Q1_0)
ADAPT_BLOCKS(q2_0, Q2_0)

power_row_decode_fn power_row_decoder(enum power_dtype dtype) {
    static const power_row_decode_fn decoders[POWER_DTYPE_LIMIT] = {
        [POWER_DTYPE_Q8_0] = decode_q8_0,       [POWER_DTYPE_Q4_0] = decode_q4_0,
        [POWER_DTYPE_Q4_1] = decode_q4_1,       [POWER_DTYPE_Q5_0] = decode_q5_0,
        [POWER_DTYPE_Q5_1] = decode_q5_1,       [POWER_DTYPE_IQ4_NL] = decode_iq4_nl,
        [POWER_DTYPE_Q4_K] = decode_q4_k,       [POWER_DTYPE_Q5_K] = decode_q5_k,
        [POWER_DTYPE_Q6_K] = decode_q6_k,       [POWER_DTYPE_Q2_K] = decode_q2_k,
        [POWER_DTYPE_Q3_K] = decode_q3_k,       [POWER_DTYPE_IQ4_XS] = decode_iq4_xs,
        [POWER_DTYPE_IQ2_XXS] = decode_iq2_xxs, [POWER_DTYPE_IQ2_XS] = decode_iq2_xs,
        [POWER_DTYPE_IQ2_S] = decode_iq2_s,     [POWER_DTYPE_IQ3_XXS] = decode_iq3_xxs,
        [POWER_DTYPE_IQ3_S] = decode_iq3_s,     [POWER_DTYPE_IQ1_S] = decode_iq1_s,
        [POWER_DTYPE_IQ1_M] = decode_iq1_m,     [POWER_DTYPE_TQ1_0] = decode_tq1_0,
        [POWER_DTYPE_TQ2_0] = decode_tq2_0,     [POWER_DTYPE_MXFP4] = decode_mxfp4,
        [POWER_DTYPE_NVFP4] = decode_nvfp4,     [POWER_DTYPE_Q1_0] = decode_q1_0,
        [POWER_DTYPE_Q2_0] = decode_q2_0,
    };
    return decoders[dtype];
}
