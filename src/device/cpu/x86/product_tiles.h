/* SPDX-License-Identifier: MIT */
/* Tiles of the quantised products: 16 outputs times a few rows over one unit of 256 weights.
 * Input: a unit of 16 weight rows, units of activation rows. Output: the rows' float chains,
 * advanced. Threads: any. Bounds: a row count that is a constant of each instance. Included once by
 * each instruction set's file, after its product_vec header. Exactness: every integer sum is exact
 * whatever its order; the float steps are those of ARITHMETIC, one a block. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_TILES_H
#define POWER_DEVICE_CPU_X86_PRODUCT_TILES_H

/* 16 rows of a unit. Scales are 32-bit with VNNI, else the scale twice as 16-bit. */
struct unit {
    _Alignas(64) uint8_t w[POWER_UNIT / 4][64];
    float d[16][16]; /* of 32 weights, or of 16 where that is the step */
    float m[8][16];
    int32_t sc[16][16];
    int32_t cp[8][16]; /* two 16-bit factors, for the activations' sums over two sub-blocks */
};

/* One activation row's part of a unit. */
struct xunit {
    _Alignas(64) int8_t q[POWER_UNIT];
    float d[8];
    union {
        int32_t start[8]; /* blocks of 32: where isum starts; with a minimum: the sum */
        int16_t sums[16]; /* blocks of 256: sums over each sub-block; steps of 16: over each */
    };
};

#define TILE_ROWS_MAX 12
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE vi broadcast(const void *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return vi_set1(word);
}

#if VNNI
/* sum[r] += scale * (codes . x) over `steps` vectors of codes. */
INLINE void span(vi *sum, const uint8_t *w, const struct xunit *x, uint32_t at, const int rows,
                 const int steps, const int bits, const vi *scale) {
    (void)bits;
    vi s[TILE_ROWS_MAX];
    UNROLL
    for (int r = 0; r < rows; r++) {
        s[r] = scale ? vi_zero() : sum[r];
    }
    UNROLL
    for (int i = 0; i < steps; i++) {
        vi codes = vi_load(w + i * 64);
        UNROLL
        for (int r = 0; r < rows; r++) {
            s[r] = vi_dot(s[r], codes, broadcast(x[r].q + at + 4 * i));
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        sum[r] = scale ? vi_add32(sum[r], vi_mul32(s[r], *scale)) : s[r];
    }
}
#else
/* Codes of 8 bits: pairs would saturate, so the weight's sign goes to the activation. */
INLINE void span_signed(vi *sum, const uint8_t *w, const struct xunit *x, uint32_t at,
                        const int rows, const int steps, vi scale) {
    UNROLL
    for (int i = 0; i < steps; i++) {
        vi codes = vi_xor(vi_load(w + i * 64), vi_bytes(-128)), size = vi_abs8(codes);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vi pairs = vi_maddubs(size, vi_sign8(broadcast(x[r].q + at + 4 * i), codes));
            sum[r] = vi_dot16(sum[r], pairs, scale);
        }
    }
}

/* As above. 16-bit sums hold 8, 4 or 2 vectors of codes of 4, 5 or 6 bits: 2 * 15 * 127 * 8,
 * 2 * 31 * 127 * 4 and 2 * 63 * 127 * 2 are below 32768. */
INLINE void span(vi *sum, const uint8_t *w, const struct xunit *x, uint32_t at, const int rows,
                 const int steps, const int bits, const vi *scale) {
    vi factor = scale ? *scale : vi_set1(0x00010001);
    if (bits == 8) {
        span_signed(sum, w, x, at, rows, steps, factor);
        return;
    }
    const int fill = bits == 4 ? 8 : bits == 5 ? 4 : 2, stride = steps < fill ? steps : fill;
    UNROLL
    for (int f = 0; f < steps; f += stride) {
        vi s[TILE_ROWS_MAX];
        UNROLL
        for (int i = 0; i < stride; i++) {
            vi codes = vi_load(w + (f + i) * 64);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vi pairs = vi_maddubs(codes, broadcast(x[r].q + at + 4 * (f + i)));
                s[r] = i ? vi_add16(s[r], pairs) : pairs;
            }
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            sum[r] = vi_dot16(sum[r], s[r], factor);
        }
    }
}
#endif

/* sum[r] += factors . sums of activations */
INLINE void correct(vi *sum, const struct unit *u, int lane, const struct xunit *x, const int rows,
                    const int subs) {
    for (int t = 0; t < subs / 2; t++) {
        vi factors = vi_load(u->cp[t] + lane);
        UNROLL
        for (int r = 0; r < rows; r++) {
            sum[r] = vi_dot16(sum[r], factors, broadcast(x[r].sums + 2 * t));
        }
    }
}

/* Blocks of 256. acc: [rows][16]. */
INLINE void tile_super(const struct unit *u, const uint8_t *w, const struct xunit *x, float *acc,
                       const int rows, const int bits, const int subs, const bool has_min) {
    for (int lane = 0; lane < 16; lane += LANES) {
        vi sum[TILE_ROWS_MAX];
        vf chain[TILE_ROWS_MAX];
        UNROLL
        for (int r = 0; r < rows; r++) {
            sum[r] = vi_zero();
        }
        for (int j = 0; j < subs; j++) {
            vi scale = vi_load(u->sc[j] + lane);
            span(sum, w + j * (64 / subs) * 64 + lane * 4, x, (uint32_t)(j * 256 / subs), rows,
                 64 / subs, bits, &scale);
        }
        if (!has_min) correct(sum, u, lane, x, rows, subs);
        vf d = vf_load(u->d[0] + lane);
        UNROLL
        for (int r = 0; r < rows; r++) {
            chain[r] = vf_fma(vf_mul(d, vf_set1(x[r].d[0])), vf_from_int(sum[r]),
                              vf_load(acc + r * 16 + lane));
            sum[r] = vi_zero();
        }
        if (has_min) correct(sum, u, lane, x, rows, subs);
        vf m = vf_load(u->m[0] + lane);
        UNROLL
        for (int r = 0; r < rows; r++) {
            if (has_min) {
                chain[r] = vf_fnma(vf_mul(m, vf_set1(x[r].d[0])), vf_from_int(sum[r]), chain[r]);
            }
            vf_store(acc + r * 16 + lane, chain[r]);
        }
    }
}

/* One block of 32 of a chain. */
INLINE void step_block(const struct unit *u, const uint8_t *w, const struct xunit *x, vf *chain,
                       uint32_t b, int lane, const int rows, const int bits, const bool has_min) {
    vi sum[TILE_ROWS_MAX];
    vf d = vf_load(u->d[b] + lane), m = vf_load(u->m[b] + lane);
    UNROLL
    for (int r = 0; r < rows; r++) {
        sum[r] = has_min ? vi_zero() : vi_set1(x[r].start[b]);
    }
    span(sum, w + b * 512 + lane * 4, x, b * 32, rows, 8, bits, NULL);
    UNROLL
    for (int r = 0; r < rows; r++) {
        vf da = vf_set1(x[r].d[b]);
        chain[r] = vf_fma(vf_mul(d, da), vf_from_int(sum[r]), chain[r]);
        if (has_min) {
            chain[r] = vf_fma(vf_mul(m, da), vf_set1((float)x[r].start[b]), chain[r]);
        }
    }
}

/* Blocks of 32: block b belongs to chain b mod 4. acc: [rows][4][16]. */
INLINE void tile_block(const struct unit *u, const uint8_t *w, const struct xunit *x,
                       uint32_t blocks, float *acc, const int rows, const int bits,
                       const bool has_min) {
    for (int lane = 0; lane < 16; lane += LANES) {
        for (uint32_t c = 0; c < 4 && c < blocks; c++) {
            vf chain[TILE_ROWS_MAX];
            float *at = acc + c * 16 + lane;
            UNROLL
            for (int r = 0; r < rows; r++) {
                chain[r] = vf_load(at + r * 64);
            }
            for (uint32_t b = c; b < blocks; b += 4) {
                step_block(u, w, x, chain, b, lane, rows, bits, has_min);
            }
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf_store(at + r * 64, chain[r]);
            }
        }
    }
}

/* Steps of 16 weights: step s belongs to chain s mod 4. acc: [rows][4][16]. */
INLINE void tile_half(const struct unit *u, const uint8_t *w, const struct xunit *x,
                      uint32_t blocks, float *acc, const int rows, const int bits,
                      const int offset) {
    for (int lane = 0; lane < 16; lane += LANES) {
        for (uint32_t step = 0; step < 2 * blocks; step++) {
            vi sum[TILE_ROWS_MAX];
            vf d = vf_load(u->d[step] + lane);
            float *at = acc + step % 4 * 16 + lane;
            UNROLL
            for (int r = 0; r < rows; r++) {
                sum[r] = vi_set1(bits == 8 && !VNNI ? 0 : -offset * x[r].sums[step]);
            }
            span(sum, w + step * 256 + lane * 4, x, step * 16, rows, 4, bits, NULL);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf da = vf_set1(x[r].d[step / 2]);
                vf_store(at + r * 64,
                         vf_fma(vf_mul(d, da), vf_from_int(sum[r]), vf_load(at + r * 64)));
            }
        }
    }
}

typedef void (*tile_fn)(const struct unit *u, const uint8_t *w, const struct xunit *x,
                        uint32_t blocks, float *acc);

/* Row counts of the instances, largest first: what the registers hold. */
#if LANES == 16
#define TILE_COUNTS(X, ...)                                                                        \
    X(__VA_ARGS__, 12) X(__VA_ARGS__, 8) X(__VA_ARGS__, 4) X(__VA_ARGS__, 2) X(__VA_ARGS__, 1)
#else
#define TILE_COUNTS(X, ...)                                                                        \
    X(__VA_ARGS__, 6) X(__VA_ARGS__, 4) X(__VA_ARGS__, 3) X(__VA_ARGS__, 2) X(__VA_ARGS__, 1)
#endif
#define TILE_COUNT(unused, rows) rows,
static const uint8_t tile_rows[] = {TILE_COUNTS(TILE_COUNT, 0)};

#define SUPER_NAME(bits, subs, has_min, rows) super_##bits##_##subs##_##has_min##_##rows,
#define SUPER_TILE(bits, subs, has_min, rows)                                                      \
    static void super_##bits##_##subs##_##has_min##_##rows(const struct unit *u, const uint8_t *w, \
                                                           const struct xunit *x, uint32_t blocks, \
                                                           float *acc) {                           \
        (void)blocks;                                                                              \
        tile_super(u, w, x, acc, rows, bits, subs, has_min);                                       \
    }
#define SUPER_TILES(bits, subs, has_min)                                                           \
    TILE_COUNTS(SUPER_TILE, bits, subs, has_min)                                                   \
    static const tile_fn super_##bits##_##subs##_##has_min[] = {                                   \
        TILE_COUNTS(SUPER_NAME, bits, subs, has_min)};

#define BLOCK_NAME(bits, has_min, rows) block_##bits##_##has_min##_##rows,
#define BLOCK_TILE(bits, has_min, rows)                                                            \
    static void block_##bits##_##has_min##_##rows(const struct unit *u, const uint8_t *w,          \
                                                  const struct xunit *x, uint32_t blocks,          \
                                                  float *acc) {                                    \
        tile_block(u, w, x, blocks, acc, rows, bits, has_min);                                     \
    }
#define BLOCK_TILES(bits, has_min)                                                                 \
    TILE_COUNTS(BLOCK_TILE, bits, has_min)                                                         \
    static const tile_fn block_##bits##_##has_min[] = {TILE_COUNTS(BLOCK_NAME, bits, has_min)};

#define HALF_NAME(bits, offset, rows) half_##bits##_##offset##_##rows,
#define HALF_TILE(bits, offset, rows)                                                              \
    static void half_##bits##_##offset##_##rows(const struct unit *u, const uint8_t *w,            \
                                                const struct xunit *x, uint32_t blocks,            \
                                                float *acc) {                                      \
        tile_half(u, w, x, blocks, acc, rows, bits, offset);                                       \
    }
#define HALF_TILES(bits, offset)                                                                   \
    TILE_COUNTS(HALF_TILE, bits, offset)                                                           \
    static const tile_fn half_##bits##_##offset[] = {TILE_COUNTS(HALF_NAME, bits, offset)};

#endif
