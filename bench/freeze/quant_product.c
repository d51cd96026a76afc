/* SPDX-License-Identifier: MIT */
/* Throw-away kernel: a product with a float step per 32 elements (Q5_0 and Q8_0) against the peak
 * of the byte unit: vpdpbusd on AVX-512, vpmaddubsw with what must follow it on AVX2. Outputs lie
 * in lanes, blocks chain-major, so that an output needs one accumulator. Input: none. Output: one
 * line a type and shape. Thread: one. Bounds: shapes are multiples of the tile. */
#include "freeze.h"

enum {
    ROW_TILE = 4,
#ifdef __AVX512F__
    NV = 2,
#else
    NV = 1,
#endif
    NB = NV * VL
};

static uint32_t m_rows, n_outs, k_len, n_blocks;
static unsigned char *raw, *packed; /* packed [n_outs / NB][block, chain-major][8][NB][4] */
static float *scales;               /* [n_outs / NB][block, chain-major][NB] */
static struct power_qrows qx;
static int32_t *offsets; /* [m_rows][n_blocks]: what the unsigned form adds too much, negative */
static float *y, *wanted;

#ifdef __AVX512F__
typedef __m512i ivec;
#define i_load(at) _mm512_load_si512(at)
#define i_set1 _mm512_set1_epi32
#define i_to_float _mm512_cvtepi32_ps
#else
typedef __m256i ivec;
#define i_load(at) _mm256_load_si256((const __m256i *)(const void *)(at))
#define i_set1 _mm256_set1_epi32
#define i_to_float _mm256_cvtepi32_ps
#endif

static inline ivec four_of(const int8_t *q) {
    int32_t four;
    memcpy(&four, q, sizeof four);
    return i_set1(four);
}

/* The exact sums of a block of 32 for ROW_TILE rows and NB outputs. q: rows q_stride apart. */
#ifdef __AVX512F__
static inline void sums_of_block(int is_signed, const unsigned char *w, const int8_t *q,
                                 const int32_t *offset, ivec sum[ROW_TILE][NV]) {
    (void)is_signed; /* signed weights are packed with 128 added */
    UNROLL for (int r = 0; r < ROW_TILE; r++) {
        UNROLL for (int j = 0; j < NV; j++) {
            sum[r][j] = i_set1(offset[(size_t)r * n_blocks]);
        }
    }
    UNROLL for (int i = 0; i < 8; i++) {
        ivec v[NV];
        UNROLL for (int j = 0; j < NV; j++) {
            v[j] = i_load(w + (i * NV + j) * 64);
        }
        UNROLL for (int r = 0; r < ROW_TILE; r++) {
            const ivec x = four_of(q + r * qx.q_stride + 4 * i);
            UNROLL for (int j = 0; j < NV; j++) {
                sum[r][j] = _mm512_dpbusd_epi32(sum[r][j], v[j], x);
            }
        }
    }
}
#else
static inline void sums_of_block(int is_signed, const unsigned char *w, const int8_t *q,
                                 const int32_t *offset, ivec sum[ROW_TILE][NV]) {
    const ivec ones = _mm256_set1_epi16(1);
    UNROLL for (int r = 0; r < ROW_TILE; r++) {
        sum[r][0] = i_set1(is_signed ? 0 : offset[(size_t)r * n_blocks]);
    }
    if (is_signed) {
        UNROLL for (int i = 0; i < 8; i++) {
            const ivec v = i_load(w + i * 32), magnitude = _mm256_abs_epi8(v);
            UNROLL for (int r = 0; r < ROW_TILE; r++) {
                const ivec x = _mm256_sign_epi8(four_of(q + r * qx.q_stride + 4 * i), v);
                const ivec pairs = _mm256_maddubs_epi16(magnitude, x);
                sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(pairs, ones));
            }
        }
        return;
    }
    UNROLL for (int half = 0; half < 8; half += 4) { /* four products of 2 * 31 * 127 fit 16 bits */
        ivec pairs[ROW_TILE];
        UNROLL for (int i = half; i < half + 4; i++) {
            const ivec v = i_load(w + i * 32);
            UNROLL for (int r = 0; r < ROW_TILE; r++) {
                const ivec two = _mm256_maddubs_epi16(v, four_of(q + r * qx.q_stride + 4 * i));
                pairs[r] = i == half ? two : _mm256_add_epi16(pairs[r], two);
            }
        }
        UNROLL for (int r = 0; r < ROW_TILE; r++) {
            sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(pairs[r], ones));
        }
    }
}
#endif

/* One chain: blocks chain, chain + 4, ... ; `at` counts blocks in packed order. */
static inline uint32_t run_chain(int is_signed, uint32_t chain, uint32_t at, uint32_t group,
                                 uint32_t row, vec f[ROW_TILE][NV]) {
    UNROLL for (int r = 0; r < ROW_TILE; r++) {
        UNROLL for (int j = 0; j < NV; j++) {
            f[r][j] = v_zero();
        }
    }
    for (uint32_t b = chain; b < n_blocks; b += 4, at++) {
        const size_t block = (size_t)group * n_blocks + at;
        ivec sum[ROW_TILE][NV];
        sums_of_block(is_signed, packed + block * 32 * NB, qx.q + row * qx.q_stride + 32 * b,
                      offsets + (size_t)row * n_blocks + b, sum);
        vec dw[NV];
        UNROLL for (int j = 0; j < NV; j++) {
            dw[j] = v_load(scales + block * NB + j * VL);
        }
        UNROLL for (int r = 0; r < ROW_TILE; r++) {
            const vec da = v_set1(qx.d[(row + (uint32_t)r) * qx.d_stride + b]);
            UNROLL for (int j = 0; j < NV; j++) {
                f[r][j] = v_fma(v_mul(dw[j], da), i_to_float(sum[r][j]), f[r][j]);
            }
        }
    }
    return at;
}

/* Adds ((c0 + c1) + (c2 + c3)) + 0 as the chains come. */
static inline void tile(int is_signed, uint32_t group, uint32_t row) {
    _Alignas(64) float first[ROW_TILE][NB], third[ROW_TILE][NB];
    uint32_t at = 0;
    for (uint32_t chain = 0; chain < 4; chain++) {
        vec f[ROW_TILE][NV];
        at = run_chain(is_signed, chain, at, group, row, f);
        UNROLL for (int i = 0; i < ROW_TILE * NV; i++) {
            const int r = i / NV, j = i % NV;
            float *to = &(chain < 2 ? first : third)[r][j * VL];
            vec value = chain % 2 ? v_add(v_load(to), f[r][j]) : f[r][j];
            if (chain == 3) {
                value = v_add(v_add(v_load(&first[r][j * VL]), value), v_zero());
                to = y + (size_t)(row + (uint32_t)r) * n_outs + (size_t)group * NB + j * VL;
            }
            v_store(to, value);
        }
    }
}

static void product_unsigned(void) {
    for (uint32_t group = 0; group < n_outs / NB; group++) {
        for (uint32_t row = 0; row < m_rows; row += ROW_TILE) {
            tile(0, group, row);
        }
    }
}

static void product_signed(void) {
    for (uint32_t group = 0; group < n_outs / NB; group++) {
        for (uint32_t row = 0; row < m_rows; row += ROW_TILE) {
            tile(1, group, row);
        }
    }
}

/* ---- peaks, in Gop/s: what the unit does on registers, with the additions it cannot do without
 * ---- */

static double peak_bytes(int is_signed) {
    ivec a[12];
    ivec x = i_set1(0x01010101);
    const long rounds = 200000;
    (void)is_signed;
    UNROLL for (int i = 0; i < 12; i++) {
        a[i] = i_set1(0);
    }
    __asm__ volatile("" : "+v"(x));
    const double start = now_s();
    for (long r = 0; r < rounds; r++) {
        UNROLL for (int i = 0; i < 12; i++) {
#ifdef __AVX512F__
            a[i] = _mm512_dpbusd_epi32(a[i], x, x);
#else
            ivec pairs = _mm256_maddubs_epi16(x, a[i]); /* of the accumulator: no hoisting */
            a[i] = is_signed ? _mm256_add_epi32(x, _mm256_madd_epi16(pairs, x))
                             : _mm256_add_epi16(x, pairs);
#endif
            __asm__ volatile("" : "+v"(a[i]));
        }
    }
    return (double)rounds * 12 * 2 * VL * 4 / (now_s() - start) / 1e9;
}

static double peak_unsigned(void) {
    return peak_bytes(0);
}
static double peak_signed(void) {
    return peak_bytes(1);
}

/* Random blocks with scales of either sign, raw and packed. */
/* A random block b of output n, raw and as number `at` in the packed order. */
static void make_block(enum power_dtype dtype, int shift, uint32_t n, uint32_t b, uint32_t at) {
    const uint32_t bytes = power_dtype_info(dtype).block_bytes;
    unsigned char *from = raw + ((size_t)n * n_blocks + b) * bytes;
    struct power_ref_unit unit;
    for (uint32_t i = 0; i < bytes; i++) {
        from[i] = (unsigned char)next_random();
    }
    from[1] = (unsigned char)((from[1] & 0x83) | 0x20);
    power_ref_decoder(dtype)(from, &unit);
    const size_t block = (size_t)(n / NB) * n_blocks + at;
    scales[block * NB + n % NB] = unit.dw[0];
    for (uint32_t i = 0; i < 32; i++) {
        packed[(block * 8 + i / 4) * NB * 4 + n % NB * 4 + i % 4] =
            (unsigned char)(unit.code[i] + shift);
    }
}

static void make_weights(enum power_dtype dtype) {
    const int shift = dtype == POWER_DTYPE_Q5_0 ? 16 : VL == 16 ? 128 : 0;
    for (uint32_t n = 0; n < n_outs; n++) {
        for (uint32_t at = 0, chain = 0; chain < 4; chain++) {
            for (uint32_t b = chain; b < n_blocks; b += 4, at++) {
                make_block(dtype, shift, n, b, at);
            }
        }
    }
    for (uint32_t i = 0; i < m_rows * n_blocks; i++) {
        const int16_t *sums =
            qx.bsums + (size_t)(i / n_blocks) * qx.bsum_stride + 2 * (i % n_blocks);
        offsets[i] = -shift * (sums[0] + sums[1]);
    }
}

static void measure(enum power_dtype dtype, uint32_t m, uint32_t n, uint32_t k) {
    const struct power_dtype_info info = power_dtype_info(dtype);
    const int is_signed = dtype == POWER_DTYPE_Q8_0;
    m_rows = m;
    n_outs = n;
    k_len = k;
    n_blocks = k / 32;
    raw = allocate((size_t)n * n_blocks * info.block_bytes);
    packed = allocate((size_t)n * k);
    scales = allocate(sizeof(float) * n * n_blocks);
    offsets = allocate(sizeof(int32_t) * m * n_blocks);
    y = allocate(sizeof(float) * m * n);
    wanted = allocate(sizeof(float) * m * n);
    qx = (struct power_qrows){.q = allocate((size_t)m * (k + 64)),
                              .d = allocate(sizeof(float) * m * n_blocks),
                              .bsums = allocate(sizeof(int16_t) * m * k / 16),
                              .q_stride = k + 64,
                              .d_stride = n_blocks,
                              .bsum_stride = k / 16,
                              .block = 32};
    float *x = allocate(sizeof(float) * k);
    for (uint32_t r = 0; r < m; r++) {
        for (uint32_t i = 0; i < k; i++) {
            x[i] = random_float();
        }
        (void)power_quantise_f32_ref(x, k, 32, qx.q + r * qx.q_stride, qx.d + r * qx.d_stride,
                                     qx.bsums + r * qx.bsum_stride);
    }
    make_weights(dtype);
    const struct power_product p = {.dtype = dtype,
                                    .raw = raw,
                                    .raw_stride = (size_t)n_blocks * info.block_bytes,
                                    .k = k,
                                    .n_outs = n,
                                    .qx = qx,
                                    .y = wanted,
                                    .y_stride = n};
    power_product_quant_ref(&p, 0, m, 0, n, allocate(POWER_PRODUCT_SCRATCH));
    (is_signed ? product_signed : product_unsigned)();
    char name[64];
    snprintf(name, sizeof name, "%s product %u x %u x %u", info.name, m, n, k);
    report(name, 2.0 * m * n * k, is_signed ? peak_signed : peak_unsigned,
           is_signed ? product_signed : product_unsigned, "Gop/s",
           memcmp(y, wanted, sizeof(float) * m * n));
}

int main(void) {
    measure(POWER_DTYPE_Q5_0, 128, 896, 896);
    measure(POWER_DTYPE_Q8_0, 128, 896, 896);
    measure(POWER_DTYPE_Q8_0, 128, 512, 4864);
    return 0;
}
