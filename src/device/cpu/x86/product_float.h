/* SPDX-License-Identifier: MIT */
/* The float products: R-chains of 256 for weights of F32, F16 and BF16, one lane an output.
 * Input: a power_product. Output: its y, for the rows and outputs of the call.
 * Threads: any, with a scratch each. Bounds: POWER_PRODUCT_SCRATCH bytes of scratch.
 * Included once by each instruction set's file, after product_quant.h. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_FLOAT_H
#define POWER_DEVICE_CPU_X86_PRODUCT_FLOAT_H

/* One activation row's part of a segment. */
struct xsegment {
    _Alignas(64) float x[POWER_UNIT];
};

struct float_scratch {
    _Alignas(64) float w[POWER_UNIT * 16]; /* a segment of 16 raw rows, widened */
    float acc[ROWS_MAX * 16];
    struct xsegment x[];
};
#define X_SEGMENTS                                                                                 \
    ((POWER_PRODUCT_SCRATCH - sizeof(struct float_scratch)) / sizeof(struct xsegment))
_Static_assert(X_SEGMENTS > ROWS_MAX, "activation segments fit the scratch");

enum weight_kind { WEIGHT_F32, WEIGHT_F16, WEIGHT_BF16 };

INLINE vf load_weights(const unsigned char *w, uint32_t k, int lane, const enum weight_kind kind) {
    size_t at = (size_t)k * 16 + (size_t)lane;
    if (kind == WEIGHT_F16) return vf_load_half(w + at * 2);
    if (kind == WEIGHT_BF16) return vf_load_bf16(w + at * 2);
    return vf_load((const float *)(const void *)(w + at * 4));
}

/* One segment of n weights; w: [n][16]. The first segment's sums start the total. */
INLINE void tile_float(const unsigned char *w, const struct xsegment *x, uint32_t n, bool first,
                       float *acc, const int rows, const enum weight_kind kind) {
    for (int lane = 0; lane < 16; lane += LANES) {
        vf chain[TILE_ROWS_MAX];
        UNROLL
        for (int r = 0; r < rows; r++) {
            chain[r] = vf_zero();
        }
        for (uint32_t k = 0; k < n; k++) {
            vf weights = load_weights(w, k, lane, kind);
            if (k % 4 == 0) _mm_prefetch((const char *)w + k * 64 + 2048, _MM_HINT_T0);
            UNROLL
            for (int r = 0; r < rows; r++) {
                chain[r] = vf_fma(weights, vf_set1(x[r].x[k]), chain[r]);
            }
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            float *at = acc + r * 16 + lane;
            vf_store(at, first ? chain[r] : vf_add(vf_load(at), chain[r]));
        }
    }
}

typedef void (*float_tile_fn)(const unsigned char *w, const struct xsegment *x, uint32_t n,
                              bool first, float *acc);
#define FLOAT_TILE(name, kind, rows)                                                               \
    static void float_##name##_##rows(const unsigned char *w, const struct xsegment *x,            \
                                      uint32_t n, bool first, float *acc) {                        \
        tile_float(w, x, n, first, acc, rows, kind);                                               \
    }
#if LANES == 16
#define FLOAT_TILES(name, kind)                                                                    \
    FLOAT_TILE(name, kind, 12)                                                                     \
    FLOAT_TILE(name, kind, 8)                                                                      \
    FLOAT_TILE(name, kind, 4) FLOAT_TILE(name, kind, 2)                                            \
        FLOAT_TILE(name, kind, 1) static const float_tile_fn float_##name[] = {                    \
            float_##name##_12, float_##name##_8, float_##name##_4, float_##name##_2,               \
            float_##name##_1};
#else
#define FLOAT_TILES(name, kind)                                                                    \
    FLOAT_TILE(name, kind, 5)                                                                      \
    FLOAT_TILE(name, kind, 4)                                                                      \
    FLOAT_TILE(name, kind, 3) FLOAT_TILE(name, kind, 2) FLOAT_TILE(                                \
        name, kind, 1) static const float_tile_fn float_##name[] = {                               \
        float_##name##_5, float_##name##_4, float_##name##_3, float_##name##_2, float_##name##_1};
#endif
FLOAT_TILES(f32, WEIGHT_F32)
FLOAT_TILES(f16, WEIGHT_F16)
FLOAT_TILES(bf16, WEIGHT_BF16)

struct float_kernel {
    const float_tile_fn *tiles;
    enum weight_kind kind;
    bool packed;
};

/* Raw rows of one segment to [n][16] binary32. */
static void widen_raw(const struct power_product *p, enum weight_kind kind, uint32_t group,
                      uint32_t first, uint32_t n, float *out) {
    for (uint32_t r = 0; r < 16; r++) {
        uint32_t row = group * 16 + r;
        const unsigned char *at = row < p->n_outs ? p->raw + row * p->raw_stride : NULL;
        for (uint32_t k = 0; k < n; k++) {
            float value = 0;
            uint16_t half;
            if (at && kind == WEIGHT_F32) {
                memcpy(&value, at + ((size_t)first + k) * 4, 4);
            } else if (at) {
                memcpy(&half, at + ((size_t)first + k) * 2, 2);
                uint32_t wide = (uint32_t)half << 16;
                if (kind == WEIGHT_F16) value = _cvtsh_ss(half);
                if (kind == WEIGHT_BF16) memcpy(&value, &wide, 4);
            }
            out[k * 16 + r] = value;
        }
    }
}

static const unsigned char *segment_weights(const struct power_product *p,
                                            const struct float_kernel *kernel, uint32_t group,
                                            uint32_t first, uint32_t n, struct float_scratch *s) {
    if (!kernel->packed) {
        widen_raw(p, kernel->kind, group, first, n, s->w);
        return (const unsigned char *)s->w;
    }
    size_t element = kernel->kind == WEIGHT_F32 ? 64 : 32;
    size_t bytes = (p->k * element + 63) & ~(size_t)63;
    return p->packed + group * bytes + first * element;
}

static void take_segments(const struct power_product *p, uint32_t row, uint32_t n_rows,
                          uint32_t segment, struct xsegment *out) {
    uint32_t n = unit_length(p->k, segment);
    for (uint32_t r = 0; r < n_rows; r++) {
        size_t at = p->x_rows ? p->x_rows[row + r] : row + r;
        memcpy(out[r].x, p->x + at * p->x_stride + (size_t)segment * POWER_UNIT, n * sizeof(float));
    }
}

static void run_float_group(const struct power_product *p, const struct float_kernel *kernel,
                            uint32_t row, uint32_t n_rows, uint32_t out, uint32_t n_outs,
                            bool x_taken, struct float_scratch *s) {
    uint32_t segments = (p->k + POWER_UNIT - 1) / POWER_UNIT;
    memset(s->acc, 0, n_rows * 16 * sizeof(float));
    for (uint32_t i = 0; i < segments; i++) {
        uint32_t n = unit_length(p->k, i), left = n_rows;
        struct xsegment *x = x_taken ? s->x + (size_t)i * n_rows : s->x;
        float *acc = s->acc;
        if (!x_taken) take_segments(p, row, n_rows, i, x);
        const unsigned char *w = segment_weights(p, kernel, out / 16, i * POWER_UNIT, n, s);
        for (uint32_t t = 0; left > 0; t++) {
            for (; left >= tile_rows[t]; left -= tile_rows[t]) {
                kernel->tiles[t](w, x, n, i == 0, acc);
                x += tile_rows[t];
                acc += tile_rows[t] * 16;
            }
        }
    }
    for (uint32_t r = 0; r < n_rows; r++) {
        put_row(p->y + (size_t)(row + r) * p->y_stride + out, s->acc + r * 16, n_outs, true);
    }
}

static void run_float(const struct power_product *p, const struct float_kernel *kernel,
                      uint32_t row, uint32_t n_rows, uint32_t out, uint32_t n_outs, void *scratch) {
    struct float_scratch *s = scratch;
    uint32_t segments = (p->k + POWER_UNIT - 1) / POWER_UNIT, end = out + n_outs;
    uint32_t fit = (uint32_t)(X_SEGMENTS / (segments ? segments : 1));
    bool x_taken = fit >= (n_rows < tile_rows[0] ? n_rows : tile_rows[0]);
    uint32_t pass = x_taken && fit < ROWS_MAX ? fit / tile_rows[0] * tile_rows[0] : ROWS_MAX;
    if (pass == 0) pass = fit;
    for (uint32_t taken; n_rows > 0; n_rows -= taken, row += taken) {
        taken = n_rows < pass ? n_rows : pass;
        for (uint32_t i = 0; x_taken && i < segments; i++) {
            take_segments(p, row, taken, i, s->x + (size_t)i * taken);
        }
        for (uint32_t o = out; o < end; o += 16) {
            run_float_group(p, kernel, row, taken, o, end - o < 16 ? end - o : 16, x_taken, s);
        }
    }
}

#endif
