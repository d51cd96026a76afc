/* SPDX-License-Identifier: MIT */
/* Tiles of the quantised products: 16 or 32 outputs times a few rows over one unit of 256 weights.
 * Input: units of 16 weight rows each, units of activation rows. Output: the rows' float chains,
 * advanced. Threads: any. Bounds: a row count that is a constant of each instance. Included once by
 * each instruction set's file, after its product_vec header. Exactness: every integer sum is exact
 * whatever its order; the float steps are those of ARITHMETIC, one a block, or one for 16 weights.
 * With vectors of 16 outputs two groups share each load of an activation: with one, loads would be
 * the limit. */
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

/* One group of 16 outputs in a tile: its unit, the unit's codes, its rows' chains. */
struct tile_group {
    const struct unit *u;
    const uint8_t *w;
    float *acc; /* [rows][16], or [rows][4][16] where there are four chains */
};

#define TILE_SUMS 12 /* groups times rows: what the registers hold */
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

/* s[group * rows + row] = start + codes . x over `steps` vectors of codes, 32 bits. */
#if VNNI
INLINE void dot_codes(vi *s, const struct tile_group *g, size_t w, const struct xunit *x,
                      uint32_t at, const int rows, const int groups, const int steps) {
    UNROLL
    for (int i = 0; i < steps; i++) {
        vi codes[2];
        UNROLL
        for (int n = 0; n < groups; n++) {
            codes[n] = vi_load(g[n].w + w + (size_t)i * 64);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            vi q = broadcast(x[r].q + at + 4 * i);
            UNROLL
            for (int n = 0; n < groups; n++) {
                s[n * rows + r] = vi_dot(s[n * rows + r], codes[n], q);
            }
        }
    }
}

/* sum += scale[group] * (codes . x), or without a scale sum += codes . x. */
INLINE void span(vi *sum, const struct tile_group *g, size_t w, const struct xunit *x, uint32_t at,
                 const int rows, const int groups, const int steps, const int bits,
                 const vi *scale) {
    (void)bits;
    vi s[TILE_SUMS];
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        s[i] = scale ? vi_zero() : sum[i];
    }
    dot_codes(s, g, w, x, at, rows, groups, steps);
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        sum[i] = scale ? vi_add32(sum[i], vi_mul32(s[i], scale[i / rows])) : s[i];
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
INLINE void span_group(vi *sum, const uint8_t *w, const struct xunit *x, uint32_t at,
                       const int rows, const int steps, const int bits, vi factor) {
    const int fill = bits == 4 ? 8 : bits == 5 ? 4 : 2, stride = steps < fill ? steps : fill;
    UNROLL
    for (int f = 0; f < steps; f += stride) {
        vi s[TILE_SUMS];
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

INLINE void span(vi *sum, const struct tile_group *g, size_t w, const struct xunit *x, uint32_t at,
                 const int rows, const int groups, const int steps, const int bits,
                 const vi *scale) {
    UNROLL
    for (int n = 0; n < groups; n++) {
        vi factor = scale ? scale[n] : vi_set1(0x00010001);
        if (bits == 8) {
            span_signed(sum + n * rows, g[n].w + w, x, at, rows, steps, factor);
        } else {
            span_group(sum + n * rows, g[n].w + w, x, at, rows, steps, bits, factor);
        }
    }
}
#endif

/* sum += factors . sums of activations */
INLINE void correct(vi *sum, const struct tile_group *g, int lane, const struct xunit *x,
                    const int rows, const int groups, const int subs) {
    for (int t = 0; t < subs / 2; t++) {
        vi factors[2];
        UNROLL
        for (int n = 0; n < groups; n++) {
            factors[n] = vi_load(g[n].u->cp[t] + lane);
        }
        UNROLL
        for (int i = 0; i < rows * groups; i++) {
            sum[i] = vi_dot16(sum[i], factors[i / rows], broadcast(x[i % rows].sums + 2 * t));
        }
    }
}

/* isum of a unit of 256, as a float. */
INLINE void super_sums(vf *out, const struct tile_group *g, int lane, const struct xunit *x,
                       const int rows, const int groups, const int bits, const int subs,
                       const bool has_min) {
    vi sum[TILE_SUMS];
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        sum[i] = vi_zero();
    }
    for (int j = 0; j < subs; j++) {
        vi scale[2];
        UNROLL
        for (int n = 0; n < groups; n++) {
            scale[n] = vi_load(g[n].u->sc[j] + lane);
        }
        span(sum, g, (size_t)j * (size_t)(64 / subs) * 64 + (size_t)lane * 4, x,
             (uint32_t)(j * 256 / subs), rows, groups, 64 / subs, bits, scale);
    }
    if (!has_min) correct(sum, g, lane, x, rows, groups, subs);
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        out[i] = vf_from_int(sum[i]);
    }
}

#if VNNI
/* sum += scale * (codes . x) of sub-block j. */
INLINE void step_small(vf *sum, const struct tile_group *g, int lane, const struct xunit *x, int j,
                       const int rows, const int groups, const int subs) {
    vi s[TILE_SUMS];
    vf scale[2];
    UNROLL
    for (int n = 0; n < groups; n++) {
        scale[n] = vf_from_int(vi_load(g[n].u->sc[j] + lane));
    }
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        s[i] = vi_zero();
    }
    dot_codes(s, g, (size_t)j * (size_t)(64 / subs) * 64 + (size_t)lane * 4, x,
              (uint32_t)(j * 256 / subs), rows, groups, 64 / subs);
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        sum[i] = vf_fma(scale[i / rows], vf_from_int(s[i]), sum[i]);
    }
}

/* The same where half a unit's sum of scale * (codes . x) is below 2^24 (4 * 63 * 15 * 127 * 32):
 * float steps of integers that small are exact and cost less than a 32-bit multiplication, and the
 * last addition rounds as the conversion of the whole sum would. */
INLINE void super_sums_small(vf *out, const struct tile_group *g, int lane, const struct xunit *x,
                             const int rows, const int groups, const int subs) {
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        out[i] = vf_zero();
    }
    for (int half = 0; half < 2; half++) {
        vf sum[TILE_SUMS];
        UNROLL
        for (int i = 0; i < rows * groups; i++) {
            sum[i] = vf_zero();
        }
        for (int j = half * subs / 2; j < (half + 1) * subs / 2; j++) {
            step_small(sum, g, lane, x, j, rows, groups, subs);
        }
        UNROLL
        for (int i = 0; i < rows * groups; i++) {
            out[i] = vf_add(out[i], sum[i]);
        }
    }
}
#endif

/* Blocks of 256. */
INLINE void tile_super(const struct tile_group *g, const struct xunit *x, uint32_t row,
                       const int rows, const int groups, const int bits, const int subs,
                       const bool has_min) {
    for (int lane = 0; lane < 16; lane += LANES) {
        vi low[TILE_SUMS];
        vf sum[TILE_SUMS];
#if VNNI
        if (bits == 4 && has_min) {
            super_sums_small(sum, g, lane, x, rows, groups, subs);
        } else
#endif
            super_sums(sum, g, lane, x, rows, groups, bits, subs, has_min);
        UNROLL
        for (int i = 0; i < rows * groups; i++) {
            low[i] = vi_zero();
        }
        if (has_min) correct(low, g, lane, x, rows, groups, subs);
        UNROLL
        for (int i = 0; i < rows * groups; i++) {
            const struct unit *u = g[i / rows].u;
            float *at = g[i / rows].acc + (row + (uint32_t)(i % rows)) * 16 + lane;
            vf da = vf_set1(x[i % rows].d[0]);
            vf chain = vf_fma(vf_mul(vf_load(u->d[0] + lane), da), sum[i], vf_load(at));
            if (has_min) {
                vf m = vf_mul(vf_load(u->m[0] + lane), da);
                chain = vf_fnma(m, vf_from_int(low[i]), chain);
            }
            vf_store(at, chain);
        }
    }
}

/* One block of 32 of a chain. */
INLINE void step_block(const struct tile_group *g, const struct xunit *x, vf *chain, uint32_t b,
                       int lane, const int rows, const int groups, const int bits,
                       const bool has_min) {
    vi sum[TILE_SUMS];
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        sum[i] = has_min ? vi_zero() : vi_set1(x[i % rows].start[b]);
    }
    span(sum, g, b * 512 + (size_t)lane * 4, x, b * 32, rows, groups, 8, bits, NULL);
    UNROLL
    for (int i = 0; i < rows * groups; i++) {
        const struct unit *u = g[i / rows].u;
        vf da = vf_set1(x[i % rows].d[b]);
        chain[i] = vf_fma(vf_mul(vf_load(u->d[b] + lane), da), vf_from_int(sum[i]), chain[i]);
        if (has_min) {
            vf m = vf_mul(vf_load(u->m[b] + lane), da);
            chain[i] = vf_fma(m, vf_set1((float)x[i % rows].start[b]), chain[i]);
        }
    }
}

/* Blocks of 32: block b belongs to chain b mod 4. */
INLINE void tile_block(const struct tile_group *g, const struct xunit *x, uint32_t row,
                       uint32_t blocks, const int rows, const int groups, const int bits,
                       const bool has_min) {
    for (int lane = 0; lane < 16; lane += LANES) {
        for (uint32_t c = 0; c < 4 && c < blocks; c++) {
            vf chain[TILE_SUMS];
            const size_t at = row * 64 + c * 16 + (size_t)lane;
            UNROLL
            for (int i = 0; i < rows * groups; i++) {
                chain[i] = vf_load(g[i / rows].acc + at + i % rows * 64);
            }
            for (uint32_t b = c; b < blocks; b += 4) {
                step_block(g, x, chain, b, lane, rows, groups, bits, has_min);
            }
            UNROLL
            for (int i = 0; i < rows * groups; i++) {
                vf_store(g[i / rows].acc + at + i % rows * 64, chain[i]);
            }
        }
    }
}

/* Steps of 16 weights: step s belongs to chain s mod 4. */
INLINE void tile_half(const struct tile_group *g, const struct xunit *x, uint32_t row,
                      uint32_t blocks, const int rows, const int groups, const int bits,
                      const int offset) {
    for (int lane = 0; lane < 16; lane += LANES) {
        for (uint32_t step = 0; step < 2 * blocks; step++) {
            vi sum[TILE_SUMS];
            UNROLL
            for (int i = 0; i < rows * groups; i++) {
                sum[i] = vi_set1(bits == 8 && !VNNI ? 0 : -offset * x[i % rows].sums[step]);
            }
            span(sum, g, step * 256 + (size_t)lane * 4, x, step * 16, rows, groups, 4, bits, NULL);
            UNROLL
            for (int i = 0; i < rows * groups; i++) {
                float *at =
                    g[i / rows].acc + (row + (uint32_t)(i % rows)) * 64 + step % 4 * 16 + lane;
                vf d = vf_mul(vf_load(g[i / rows].u->d[step] + lane),
                              vf_set1(x[i % rows].d[step / 2]));
                vf_store(at, vf_fma(d, vf_from_int(sum[i]), vf_load(at)));
            }
        }
    }
}

/* Rows of x, whose chains start at `row`; the groups of one tile. */
typedef void (*tile_fn)(const struct tile_group *g, const struct xunit *x, uint32_t row,
                        uint32_t blocks);

/* Row counts of the instances, largest first: what the registers hold. Pairs of groups only where
 * vectors hold a group's 16 outputs. */
#if LANES == 16
#define TILE_GROUPS 2
#define PAIR_LIST(...) __VA_ARGS__
#define TILE_COUNTS(X, ...)                                                                        \
    X(__VA_ARGS__, 12, 1)                                                                          \
    X(__VA_ARGS__, 6, 1) X(__VA_ARGS__, 4, 1) X(__VA_ARGS__, 2, 1) X(__VA_ARGS__, 1, 1)
#define PAIR_COUNTS(X, ...)                                                                        \
    X(__VA_ARGS__, 6, 2) X(__VA_ARGS__, 4, 2) X(__VA_ARGS__, 2, 2) X(__VA_ARGS__, 1, 2)
#else
#define TILE_COUNTS(X, ...)                                                                        \
    X(__VA_ARGS__, 6, 1)                                                                           \
    X(__VA_ARGS__, 4, 1) X(__VA_ARGS__, 3, 1) X(__VA_ARGS__, 2, 1) X(__VA_ARGS__, 1, 1)
#define TILE_GROUPS 1
#define PAIR_LIST(...)
#define PAIR_COUNTS(X, ...)
#endif
#define TILE_COUNT(unused, rows, groups) rows,
static const uint8_t tile_rows[TILE_GROUPS][5] = {{TILE_COUNTS(TILE_COUNT, 0)},
                                                  PAIR_LIST({PAIR_COUNTS(TILE_COUNT, 0)})};

/* The instances of one type: [groups - 1], by the position of the row count in tile_rows. */
struct tiles {
    tile_fn by_rows[TILE_GROUPS][5];
};

#define TILE_NAME(kind, a, b, c, rows, groups) kind##_##a##_##b##_##c##_##rows##_##groups,
#define TILE_TABLE(kind, a, b, c)                                                                  \
    static const struct tiles kind##_##a##_##b##_##c = {                                           \
        {{TILE_COUNTS(TILE_NAME, kind, a, b, c)},                                                  \
         PAIR_LIST({PAIR_COUNTS(TILE_NAME, kind, a, b, c)})}};
#define TILE_HEAD(kind, a, b, c, rows, groups)                                                     \
    static void kind##_##a##_##b##_##c##_##rows##_##groups(                                        \
        const struct tile_group *g, const struct xunit *x, uint32_t row, uint32_t blocks)

#define SUPER_TILE(bits, subs, has_min, rows, groups)                                              \
    TILE_HEAD(super, bits, subs, has_min, rows, groups) {                                          \
        (void)blocks;                                                                              \
        tile_super(g, x, row, rows, groups, bits, subs, has_min);                                  \
    }
#define SUPER_TILES(bits, subs, has_min)                                                           \
    TILE_COUNTS(SUPER_TILE, bits, subs, has_min)                                                   \
    PAIR_COUNTS(SUPER_TILE, bits, subs, has_min) TILE_TABLE(super, bits, subs, has_min)

/* subs is 0 here: one float step a block */
#define BLOCK_TILE(bits, subs, has_min, rows, groups)                                              \
    TILE_HEAD(block, bits, subs, has_min, rows, groups) {                                          \
        tile_block(g, x, row, blocks, rows, groups, bits, has_min);                                \
    }
#define BLOCK_TILES(bits, has_min)                                                                 \
    TILE_COUNTS(BLOCK_TILE, bits, 0, has_min)                                                      \
    PAIR_COUNTS(BLOCK_TILE, bits, 0, has_min) TILE_TABLE(block, bits, 0, has_min)

#define HALF_TILE(bits, offset, has_min, rows, groups)                                             \
    TILE_HEAD(half, bits, offset, has_min, rows, groups) {                                         \
        tile_half(g, x, row, blocks, rows, groups, bits, offset);                                  \
    }
#define HALF_TILES(bits, offset)                                                                   \
    TILE_COUNTS(HALF_TILE, bits, offset, 0)                                                        \
    PAIR_COUNTS(HALF_TILE, bits, offset, 0) TILE_TABLE(half, bits, offset, 0)

#endif
