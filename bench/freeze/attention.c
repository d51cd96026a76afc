/* SPDX-License-Identifier: MIT */
/* Throw-away kernel: attention over 4,096 keys, K channel-major in blocks of 64, F16 keys and
 * values, FREEZE_ROWS query rows of one kv head together, against the fma peak. Input: none.
 * Output: one line. Thread: one. Bounds: all keys visible to all rows. */
#include "freeze.h"

#ifndef FREEZE_ROWS
#define FREEZE_ROWS 12 /* a multiple of 12: two rows of a group of six heads */
#endif

enum {
    DIM = 128,
    KEYS = 4096,
    ROWS = FREEZE_ROWS,
    VECS = 2,
#ifdef __AVX512F__
    TILE = 12
#else
    TILE = 6
#endif
};

static struct power_kv_layout layout;
static unsigned char *pool;
static float *q, *out, *wanted;
static _Alignas(64) float p[ROWS][256];
static _Alignas(64) float o[ROWS][DIM], sum_o[ROWS][DIM];

#ifdef __AVX512F__
static inline vec v_exp(vec x) {
    const vec y = _mm512_min_ps(v_set1(87.0f), x); /* the second operand wins for NaN */
    const vec z = v_fma(y, v_set1(0x1.715476p+0f), v_set1(12582912.0f));
    const vec n = v_sub(z, v_set1(12582912.0f));
    const vec r = v_fma(n, v_set1(2.12194440e-4f), v_fma(n, v_set1(-0.693359375f), y));
    vec a = v_set1(1.9875691500e-4f);
    a = v_fma(a, r, v_set1(1.3981999507e-3f));
    a = v_fma(a, r, v_set1(8.3334519073e-3f));
    a = v_fma(a, r, v_set1(4.1665795894e-2f));
    a = v_fma(a, r, v_set1(1.6666665459e-1f));
    a = v_fma(a, r, v_set1(5.0000001201e-1f));
    a = v_add(v_fma(a, v_mul(r, r), r), v_set1(1.0f));
    const __m512i bits =
        _mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32(_mm512_castps_si512(z), 23));
    const __mmask16 low = _mm512_cmp_ps_mask(x, v_set1(-87.0f), _CMP_LT_OQ);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(_mm512_mask_mov_ps(_mm512_castsi512_ps(bits), low, v_zero()), nan, x);
}
static inline float v_tree(const vec lanes[2]) {
    const vec s = v_add(lanes[0], lanes[1]);
    const __m256 e = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
    __m128 f = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    f = _mm_add_ps(f, _mm_movehl_ps(f, f));
    return _mm_cvtss_f32(_mm_add_ss(f, _mm_movehdup_ps(f)));
}
static inline float v_max_of(vec x) {
    return _mm512_reduce_max_ps(x);
}
static inline vec v_half(const uint16_t *at) {
    return _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)at));
}
#else
static inline vec v_exp(vec x) {
    const vec y = _mm256_min_ps(v_set1(87.0f), x);
    const vec z = v_fma(y, v_set1(0x1.715476p+0f), v_set1(12582912.0f));
    const vec n = v_sub(z, v_set1(12582912.0f));
    const vec r = v_fma(n, v_set1(2.12194440e-4f), v_fma(n, v_set1(-0.693359375f), y));
    vec a = v_set1(1.9875691500e-4f);
    a = v_fma(a, r, v_set1(1.3981999507e-3f));
    a = v_fma(a, r, v_set1(8.3334519073e-3f));
    a = v_fma(a, r, v_set1(4.1665795894e-2f));
    a = v_fma(a, r, v_set1(1.6666665459e-1f));
    a = v_fma(a, r, v_set1(5.0000001201e-1f));
    a = v_add(v_fma(a, v_mul(r, r), r), v_set1(1.0f));
    const __m256i bits =
        _mm256_add_epi32(_mm256_castps_si256(a), _mm256_slli_epi32(_mm256_castps_si256(z), 23));
    const vec low = _mm256_cmp_ps(x, v_set1(-87.0f), _CMP_LT_OQ);
    const vec nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_ps(_mm256_andnot_ps(low, _mm256_castsi256_ps(bits)), x, nan);
}
static inline float v_tree(const vec lanes[4]) {
    const vec e = v_add(v_add(lanes[0], lanes[2]), v_add(lanes[1], lanes[3]));
    __m128 f = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    f = _mm_add_ps(f, _mm_movehl_ps(f, f));
    return _mm_cvtss_f32(_mm_add_ss(f, _mm_movehdup_ps(f)));
}
static inline float v_max_of(vec x) {
    __m128 f = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    f = _mm_max_ps(f, _mm_movehl_ps(f, f));
    return _mm_cvtss_f32(_mm_max_ss(f, _mm_movehdup_ps(f)));
}
static inline vec v_half(const uint16_t *at) {
    return _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(const void *)at));
}
#endif

/* Scores of TILE rows and VECS vectors of keys; block is K [DIM][64], widened in
 * registers. The lines of the next block are asked for meanwhile: worth half of the speed. */
static inline void scores(const uint16_t *block, const uint16_t *next, int row, int key,
                          int in_chunk) {
    vec a[TILE][VECS];
    UNROLL for (int i = 0; i < TILE; i++) {
        UNROLL for (int j = 0; j < VECS; j++) {
            a[i][j] = v_zero();
        }
    }
    for (int c = 0; c < DIM; c++) {
        vec k[VECS];
        _mm_prefetch((const char *)(next + c * 64 + key), _MM_HINT_T0);
        UNROLL for (int j = 0; j < VECS; j++) {
            k[j] = v_half(block + c * 64 + key + j * VL);
        }
        UNROLL for (int i = 0; i < TILE; i++) {
            const vec s = v_set1(q[(row + i) * DIM + c]);
            UNROLL for (int j = 0; j < VECS; j++) {
                a[i][j] = v_fma(s, k[j], a[i][j]);
            }
        }
    }
    UNROLL for (int i = 0; i < TILE; i++) {
        UNROLL for (int j = 0; j < VECS; j++) {
            v_store(&p[row + i][in_chunk + key + j * VL],
                    v_mul(v_add(a[i][j], v_zero()), v_set1(0.125f)));
        }
    }
}

/* o += p V for TILE rows and VECS vectors of channels; block is V [64][DIM]. */
static inline void values(const uint16_t *block, const uint16_t *next, int row, int channel,
                          int in_chunk) {
    vec a[TILE][VECS];
    UNROLL for (int i = 0; i < TILE; i++) {
        UNROLL for (int j = 0; j < VECS; j++) {
            a[i][j] = v_load(&o[row + i][channel + j * VL]);
        }
    }
    for (int t = 0; t < 64; t++) {
        vec v[VECS];
        _mm_prefetch((const char *)(next + t * DIM + channel), _MM_HINT_T0);
        UNROLL for (int j = 0; j < VECS; j++) {
            v[j] = v_half(block + t * DIM + channel + j * VL);
        }
        UNROLL for (int i = 0; i < TILE; i++) {
            const vec s = v_set1(p[row + i][in_chunk + t]);
            UNROLL for (int j = 0; j < VECS; j++) {
                a[i][j] = v_fma(s, v[j], a[i][j]);
            }
        }
    }
    UNROLL for (int i = 0; i < TILE; i++) {
        UNROLL for (int j = 0; j < VECS; j++) {
            v_store(&o[row + i][channel + j * VL], a[i][j]);
        }
    }
}

/* Weights of one row of a key chunk; returns their sum. */
static inline float weights(float *row, float *out_max) {
    vec m = v_load(row), lanes[32 / VL];
    for (int j = VL; j < 256; j += VL) {
        m = v_max(m, v_load(row + j));
    }
    *out_max = v_max_of(m);
    const vec max = v_set1(*out_max);
    UNROLL for (int j = 0; j < 32 / VL; j++) {
        lanes[j] = v_zero();
    }
    for (int j = 0; j < 256; j += 32) {
        UNROLL for (int z = 0; z < 32 / VL; z++) {
            const vec e = v_exp(v_sub(v_load(row + j + z * VL), max));
            v_store(row + j + z * VL, e);
            lanes[z] = v_add(lanes[z], e);
        }
    }
    return v_tree(lanes);
}

static void merge(int row, int first, float m, float l, float *max, float *sum_l) {
    if (first) {
        *max = m;
        *sum_l = l;
        memcpy(sum_o[row], o[row], sizeof o[row]);
        return;
    }
    const float both = power_ref_max(*max, m);
    const float a = power_ref_exp(*max - both), b = power_ref_exp(m - both);
    *sum_l = fmaf(*sum_l, a, l * b);
    for (int c = 0; c < DIM; c += VL) {
        v_store(&sum_o[row][c],
                v_fma(v_load(&sum_o[row][c]), v_set1(a), v_mul(v_load(&o[row][c]), v_set1(b))));
    }
    *max = both;
}

static const uint16_t *halves(int key, size_t offset) {
    return (const uint16_t *)(const void *)(pool + (size_t)key / 64 * layout.block_bytes + offset);
}

/* Scores of the 64 keys of block b, then o of the same block's values: tiles of rows. */
static void score_block(const uint16_t *k, const uint16_t *next, int b) {
    for (int row = 0; row < ROWS; row += TILE) {
        for (int key = 0; key < 64; key += VECS * VL) {
            scores(k, next, row, key, b);
        }
    }
}

static void value_block(const uint16_t *v, const uint16_t *next, int b) {
    for (int row = 0; row < ROWS; row += TILE) {
        for (int channel = 0; channel < DIM; channel += VECS * VL) {
            values(v, next, row, channel, b);
        }
    }
}

static void attention(void) {
    float max[ROWS], sum_l[ROWS], m[ROWS], l[ROWS];
    for (int chunk = 0; chunk < KEYS; chunk += 256) {
        for (int b = 0; b < 256; b += 64) {
            const uint16_t *k = halves(chunk + b, layout.k_offset);
            const uint16_t *next =
                b < 192 ? halves(chunk + b + 64, layout.k_offset) : halves(chunk, layout.v_offset);
            score_block(k, next, b);
        }
        for (int row = 0; row < ROWS; row++) {
            l[row] = weights(p[row], &m[row]);
        }
        memset(o, 0, sizeof o);
        for (int b = 0; b < 256; b += 64) {
            const uint16_t *v = halves(chunk + b, layout.v_offset);
            const uint16_t *next = b < 192 ? halves(chunk + b + 64, layout.v_offset)
                                           : halves((chunk + 256) % KEYS, layout.k_offset);
            value_block(v, next, b);
        }
        for (int row = 0; row < ROWS; row++) {
            merge(row, chunk == 0, m[row], l[row], &max[row], &sum_l[row]);
        }
    }
    for (int row = 0; row < ROWS; row++) {
        const float scale = 1.0f / sum_l[row];
        for (int c = 0; c < DIM; c++) {
            out[row * DIM + c] = sum_o[row][c] * scale + 0.0f;
        }
    }
}

int main(void) {
    const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                      .n_layers = 1,
                                      .n_kv_heads = 1,
                                      .k_dim = DIM,
                                      .v_dim = DIM,
                                      .kv_dtype = POWER_DTYPE_F16};
    if (!power_kv_layout_init(&layout, &piece)) {
        return 1;
    }
    pool = allocate(layout.block_bytes * KEYS / 64);
    q = allocate(sizeof(float) * ROWS * DIM);
    out = allocate(sizeof(float) * ROWS * DIM);
    wanted = allocate(sizeof(float) * ROWS * DIM);
    uint32_t blocks[KEYS / 64];
    for (uint32_t t = 0; t < KEYS; t++) {
        float k[DIM], v[DIM];
        for (int c = 0; c < DIM; c++) {
            k[c] = 2 * random_float();
            v[c] = random_float();
        }
        blocks[t / 64] = t / 64;
        (void)power_kv_append_ref(&layout, pool + t / 64 * layout.block_bytes, t % 64, k, v);
    }
    for (int i = 0; i < ROWS * DIM; i++) {
        q[i] = random_float();
    }
    /* The last position sees all keys: the rows are heads of one position, so nothing is masked. */
    const struct power_attend a = {.layout = &layout,
                                   .pool = pool,
                                   .blocks = blocks,
                                   .n_heads = ROWS,
                                   .scale = 0.125f,
                                   .q = q,
                                   .q_stride = ROWS * DIM,
                                   .out = wanted,
                                   .out_stride = ROWS * DIM,
                                   .first_pos = KEYS - 1,
                                   .n_rows = 1};
    power_attend_ref(&a, 0, allocate(POWER_ATTEND_SCRATCH));
    attention();
    char name[64];
    snprintf(name, sizeof name, "attention, %d rows x 4096 keys x 128, F16 KV", ROWS);
    report(name, 4.0 * ROWS * KEYS * DIM, peak_fma, attention, "GFLOP/s",
           memcmp(out, wanted, sizeof(float) * ROWS * DIM));
    return 0;
}
