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
    vf chain[TILE_SUMS * VECTORS], weights[VECTORS];
    UNROLL
    for (int i = 0; i < rows * VECTORS; i++) {
        chain[i] = vf_zero();
    }
    for (uint32_t k = 0; k < n; k++) {
        prefetch(w + k * (kind == WEIGHT_F32 ? 64 : 32));
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            weights[v] = load_weights(w, k, v * LANES, kind);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf value = vf_set1(x[r].x[k]);
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                chain[r * VECTORS + v] = vf_fma(weights[v], value, chain[r * VECTORS + v]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows * VECTORS; i++) {
        float *at = acc + i * LANES;
        vf_store(at, first ? chain[i] : vf_add(vf_load(at), chain[i]));
    }
}

/* One row and WIDE groups, group_bytes apart: one chain alone would wait for itself. */
#define WIDE 4
INLINE void tile_wide(const unsigned char *w, size_t group_bytes, const float *x, uint32_t n,
                      bool first, float *acc, const enum weight_kind kind) {
    vf chain[WIDE * VECTORS];
    UNROLL
    for (int i = 0; i < WIDE * VECTORS; i++) {
        chain[i] = vf_zero();
    }
    for (uint32_t k = 0; k < n; k++) {
        vf value = vf_set1(x[k]);
        UNROLL
        for (int i = 0; i < WIDE * VECTORS; i++) {
            const unsigned char *at = w + (size_t)(i / VECTORS) * group_bytes;
            if (i % VECTORS == 0) prefetch(at + k * (kind == WEIGHT_F32 ? 64 : 32));
            chain[i] = vf_fma(load_weights(at, k, i % VECTORS * LANES, kind), value, chain[i]);
        }
    }
    UNROLL
    for (int i = 0; i < WIDE * VECTORS; i++) {
        float *at = acc + i * LANES;
        vf_store(at, first ? chain[i] : vf_add(vf_load(at), chain[i]));
    }
}

typedef void (*float_tile_fn)(const unsigned char *w, const struct xsegment *x, uint32_t n,
                              bool first, float *acc);
typedef void (*float_wide_fn)(const unsigned char *w, size_t group_bytes, const float *x,
                              uint32_t n, bool first, float *acc);
#define FLOAT_NAME(name, kind, rows, groups) float_##name##_##rows,
#define FLOAT_TILE(name, kind, rows, groups)                                                       \
    static void float_##name##_##rows(const unsigned char *w, const struct xsegment *x,            \
                                      uint32_t n, bool first, float *acc) {                        \
        tile_float(w, x, n, first, acc, rows, kind);                                               \
    }
#define FLOAT_TILES(name, kind)                                                                    \
    TILE_COUNTS(FLOAT_TILE, name, kind)                                                            \
    static const float_tile_fn float_##name[] = {TILE_COUNTS(FLOAT_NAME, name, kind)};             \
    static void wide_##name(const unsigned char *w, size_t group_bytes, const float *x,            \
                            uint32_t n, bool first, float *acc) {                                  \
        tile_wide(w, group_bytes, x, n, first, acc, kind);                                         \
    }
FLOAT_TILES(f32, WEIGHT_F32)
FLOAT_TILES(f16, WEIGHT_F16)
FLOAT_TILES(bf16, WEIGHT_BF16)

struct float_kernel {
    const float_tile_fn *tiles;
    float_wide_fn wide; /* NULL for raw rows */
    enum weight_kind kind;
};

INLINE eight widen8(const unsigned char *at, const enum weight_kind kind) {
    if (kind == WEIGHT_F32) return eight_load(at);
    return kind == WEIGHT_F16 ? eight_of_halves(at) : eight_of_bfloats(at);
}

/* Eight elements of a raw row, of which `n` exist. */
INLINE eight widen_part(const unsigned char *at, uint32_t n, const enum weight_kind kind) {
    const size_t size = kind == WEIGHT_F32 ? 4 : 2;
    _Alignas(32) unsigned char copy[32] = {0};
    if (n >= 8) return widen8(at, kind);
    memcpy(copy, at, n * size);
    return widen8(copy, kind);
}

/* Raw rows of one segment to [n][16] binary32, n rounded up to 8. */
INLINE void widen_rows(const struct power_product *p, const enum weight_kind kind, uint32_t group,
                       uint32_t first, uint32_t n, float *out) {
    const size_t size = kind == WEIGHT_F32 ? 4 : 2;
    for (uint32_t half = 0; half < 16; half += 8) {
        for (uint32_t k = 0; k < n; k += 8) {
            eight part[8];
            for (uint32_t r = 0; r < 8; r++) {
                const uint32_t row = group * 16 + half + r;
                const unsigned char *at = p->raw + row * p->raw_stride + (first + k) * size;
                part[r] = row < p->n_outs ? widen_part(at, n - k, kind) : eight_zero();
            }
            transpose8(part, out + (size_t)k * 16 + half, 64);
        }
    }
}

static void widen_raw(const struct power_product *p, enum weight_kind kind, uint32_t group,
                      uint32_t first, uint32_t n, float *out) {
    if (kind == WEIGHT_F32) widen_rows(p, WEIGHT_F32, group, first, n, out);
    if (kind == WEIGHT_F16) widen_rows(p, WEIGHT_F16, group, first, n, out);
    if (kind == WEIGHT_BF16) widen_rows(p, WEIGHT_BF16, group, first, n, out);
}

/* Of 16 outputs. */
static size_t element_bytes(const struct float_kernel *kernel) {
    return kernel->kind == WEIGHT_F32 ? 64 : 32;
}

static size_t packed_bytes(const struct power_product *p, const struct float_kernel *kernel) {
    return (p->k * element_bytes(kernel) + 63) & ~(size_t)63;
}

static const unsigned char *segment_weights(const struct power_product *p,
                                            const struct float_kernel *kernel, uint32_t group,
                                            uint32_t first, uint32_t n, struct float_scratch *s) {
    if (!kernel->wide) {
        widen_raw(p, kernel->kind, group, first, n, s->w);
        return (const unsigned char *)s->w;
    }
    return p->packed + group * packed_bytes(p, kernel) + first * element_bytes(kernel);
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
            for (; left >= tile_rows[0][t]; left -= tile_rows[0][t]) {
                kernel->tiles[t](w, x, n, i == 0, acc);
                x += tile_rows[0][t];
                acc += tile_rows[0][t] * 16;
            }
        }
    }
    for (uint32_t r = 0; r < n_rows; r++) {
        put_row(p->y + (size_t)(row + r) * p->y_stride + out, s->acc + r * 16, n_outs, true);
    }
}

/* One row, WIDE groups from output `out` on. */
static void run_float_wide(const struct power_product *p, const struct float_kernel *kernel,
                           uint32_t row, uint32_t out, struct float_scratch *s) {
    const size_t bytes = packed_bytes(p, kernel);
    const unsigned char *w = p->packed + out / 16 * bytes;
    const float *x = p->x + (p->x_rows ? p->x_rows[row] : row) * p->x_stride;
    memset(s->acc, 0, WIDE * 16 * sizeof(float));
    for (uint32_t k = 0; k < p->k; k += POWER_UNIT) {
        uint32_t n = unit_length(p->k, k / POWER_UNIT);
        kernel->wide(w + k * element_bytes(kernel), bytes, x + k, n, k == 0, s->acc);
    }
    for (uint32_t g = 0; g < WIDE; g++) {
        put_row(p->y + (size_t)row * p->y_stride + out + g * 16, s->acc + g * 16, 16, true);
    }
}

static void run_float(const struct power_product *p, const struct float_kernel *kernel,
                      uint32_t row, uint32_t n_rows, uint32_t out, uint32_t n_outs, void *scratch) {
    struct float_scratch *s = scratch;
    uint32_t segments = (p->k + POWER_UNIT - 1) / POWER_UNIT, end = out + n_outs;
    uint32_t fit = (uint32_t)(X_SEGMENTS / (segments ? segments : 1));
    bool x_taken = fit >= (n_rows < tile_rows[0][0] ? n_rows : tile_rows[0][0]);
    uint32_t pass = x_taken && fit < ROWS_MAX ? fit / tile_rows[0][0] * tile_rows[0][0] : ROWS_MAX;
    if (pass == 0) pass = fit;
    for (; n_rows == 1 && kernel->wide && end - out >= WIDE * 16; out += WIDE * 16) {
        run_float_wide(p, kernel, row, out, s);
    }
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
