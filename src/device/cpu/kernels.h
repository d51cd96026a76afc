/* SPDX-License-Identifier: MIT */
/* The kernels of the CPU device: one table, the reference first, upgraded per instruction set.
 * Input: pointers and shapes, already checked. Output: the bits that ARITHMETIC.md defines.
 * Threads: any; a kernel touches only the outputs it is given and its own scratch.
 * Bounds: the caller guarantees all shapes; kernels allocate nothing and never read past a row. */
#ifndef POWER_DEVICE_CPU_KERNELS_H
#define POWER_DEVICE_CPU_KERNELS_H

#include "base/dtype.h"
#include "graph/graph.h"

/* ---- quantised activation rows (value kind qrow) ----
 * q: [rows][k] int8; d: [rows][k / block]; bsums: [rows][k / 16] sums of 16 consecutive q.
 * Strides in elements. Rows are 64-byte aligned; q has 64 readable bytes after the last row. */
struct power_qrows {
    int8_t *q;
    float *d;
    int16_t *bsums;
    size_t q_stride, d_stride, bsum_stride;
    uint32_t block; /* 32 or 256 */
};

/* ---- products: y[r][o] = sum over k of x[r][k] * w[o][k], ARITHMETIC "Quantised products" for
 * quantised types, R-chain for F32, F16, BF16. Plain result; bias and epilogue are the caller's
 * ---- */
struct power_product {
    enum power_dtype dtype;
    const unsigned char *raw; /* [n_outs] weight rows of raw_stride bytes, as in the file */
    size_t raw_stride;
    const unsigned char *packed; /* or NULL; layout of the type's recipe, all n_outs rows */
    uint32_t k, n_outs;          /* shape [n_outs][k] of this slice */
    const float *x;              /* float products: [rows][k], x_stride floats apart */
    size_t x_stride;
    struct power_qrows qx;  /* quantised products */
    const uint32_t *x_rows; /* NULL, or row r reads activation row x_rows[r] */
    float *y; /* [rows][n_outs], y_stride floats apart; column o at y[r * y_stride + o] */
    size_t y_stride;
};
/* Rows [row, row + n_rows), outputs [out, out + n_outs). `out` is a multiple of 16; n_outs too
 * unless it ends at p->n_outs. `scratch`: POWER_PRODUCT_SCRATCH bytes of the calling thread,
 * 64-aligned. */
#define POWER_PRODUCT_SCRATCH (1u << 20)
typedef void (*power_product_fn)(const struct power_product *p, uint32_t row, uint32_t n_rows,
                                 uint32_t out, uint32_t n_outs, void *scratch);
#define POWER_OUT_GRANULE 16u

/* One packed layout a type, shared by the x86 kernels: 16 weight rows interleaved (a "group").
 * A unit of packing is one group. Packed size = ceil(rows / 16) * group_bytes(k), 64-aligned. */
struct power_pack_ops {
    uint32_t recipe;                   /* 0: no packed form */
    size_t (*group_bytes)(uint32_t k); /* a multiple of 64 */
    /* Packs rows [group * 16, +16) (fewer at the end: zero rows) of a [rows][k] slice. */
    void (*pack_group)(const unsigned char *raw, size_t raw_stride, uint32_t k, uint32_t rows,
                       uint32_t group, unsigned char *out);
};

/* ---- paged KV of one piece and layer ----
 * A block holds 64 tokens. block b of layer l starts at pool + b * block_bytes + l * layer_bytes.
 * F32, F16: K [kv_head][k_dim][64] (channel-major), then V [kv_head][64][v_dim].
 * Q8_0: K codes [kv_head][k_dim / 4][64][4], K scales half [kv_head][k_dim / 32][64],
 *       V codes [kv_head][64][v_dim], V scales half [kv_head][64][v_dim / 32]. Each part
 * 64-aligned. */
struct power_kv_layout {
    enum power_dtype dtype;
    uint32_t n_kv_heads, k_dim, v_dim, n_layers;
    size_t k_offset, k_scale_offset, v_offset, v_scale_offset; /* inside a layer's part */
    size_t layer_bytes, block_bytes;
};
/* kv_layout.c; false on overflow or a head_dim that 32 does not divide with Q8_0. */
bool power_kv_layout_init(struct power_kv_layout *out, const struct power_piece *piece);

/* Writes key and value rows at slot `in_block` (0..63) of a block's layer part. Returns the largest
 * (bits & 0x7fffffff) met, after conversion for F16 (so overflow shows as infinity). */
typedef uint32_t (*power_kv_append_fn)(const struct power_kv_layout *layout, unsigned char *layer,
                                       uint32_t in_block, const float *k, const float *v);

struct power_attend {
    const struct power_kv_layout *layout;
    const unsigned char *pool; /* start of the layer's part in block 0 */
    const uint32_t *blocks;    /* block table of the sequence: entry p / 64 */
    uint32_t n_heads, window;  /* window 0: full causal; else keys p with pos - window < p <= pos */
    float scale, cap;          /* cap 0: off */
    const float *q;            /* [n_rows][n_heads * k_dim], q_stride apart */
    size_t q_stride;
    float *out; /* [n_rows][n_heads * v_dim], out_stride apart */
    size_t out_stride;
    uint32_t first_pos,
        n_rows; /* rows are consecutive positions of one sequence; keys are in the pool */
};
/* All query heads of one kv head, for all n_rows rows. Scratch: POWER_ATTEND_SCRATCH bytes. */
#define POWER_ATTEND_SCRATCH (1u << 20)
#define POWER_ATTEND_ROWS 16u /* the caller gives at most this many rows in one call */
typedef void (*power_attend_fn)(const struct power_attend *a, uint32_t kv_head, void *scratch);

/* ---- gated delta net, one head: ARITHMETIC "Recurrences". state [d_k][d_v] updated in place ----
 */
typedef void (*power_delta_fn)(float *state, uint32_t d_k, uint32_t d_v, const float *q,
                               const float *k, const float *v, float g, float beta,
                               float *out /* [d_v], NULL when replaying */);

struct power_cpu_kernels {
    uint32_t features; /* what the table was upgraded with */
    /* x [k] -> one qrow; returns the largest (bits & 0x7fffffff) of x */
    uint32_t (*quantise)(const float *x, uint32_t k, uint32_t block, int8_t *q, float *d,
                         int16_t *bsums);
    uint32_t (*max_bits)(const float *x, size_t n); /* largest (bits & 0x7fffffff) */
    void (*rms_norm)(const float *x, const float *w /* or NULL */, uint32_t n, float eps, float *y);
    void (*layer_norm)(const float *x, const float *w, const float *b, uint32_t n, float eps,
                       float *y);
    void (*l2_norm)(const float *x, uint32_t n, float eps, bool eps_inside, float *y);
    void (*softmax)(const float *x, uint32_t n, float *y);
    float (*sum)(const float *x, size_t n);              /* R-lane */
    float (*sum_exp)(const float *x, size_t n, float m); /* R-lane of exp(x - m) */
    void (*unary)(enum power_op code, const float *x, float *y, size_t n, float f0);
    void (*binary)(enum power_op code, const float *a, const float *b, float *y, size_t n);
    void (*binary_scalar)(enum power_op code, const float *a, float b, float *y, size_t n);
    void (*glu)(enum power_activation act, const float *gate, const float *up, float *y, size_t n);
    /* x, y [n_heads][head_dim]; cos, sin [rot_dim / 2]; channels beyond rot_dim are copied */
    void (*rope)(const float *x, float *y, uint32_t n_heads, uint32_t head_dim, uint32_t rot_dim,
                 enum power_rope_mode mode, const float *cos, const float *sin);
    /* conv: y[c] = silu-free depthwise sum over taps, rows oldest first; hist[j] row of tap j or
     * NULL */
    void (*conv_step)(const float *const *taps, const float *w /* [channels][kernel] */,
                      uint32_t channels, uint32_t kernel, float *y);
    power_delta_fn delta;
    power_kv_append_fn kv_append;
    power_attend_fn attend;
    void (*dequantise)(enum power_dtype dtype, const unsigned char *raw, uint64_t k, float *y);
    void (*matmul)(const float *a, const float *b, float *y, uint32_t m, uint32_t k, uint32_t n);
    power_product_fn product_raw[POWER_DTYPE_LIMIT];    /* NULL: the type has no product */
    power_product_fn product_packed[POWER_DTYPE_LIMIT]; /* NULL: reads raw only */
    struct power_pack_ops pack[POWER_DTYPE_LIMIT];
};

/* Fills the table with reference kernels, then upgrades by each function in turn. The
 * upgrade functions exist on every platform; where they do not apply they leave the table alone. */
void power_cpu_kernels_init(struct power_cpu_kernels *table, uint32_t features);
void power_kernels_ref(struct power_cpu_kernels *table); /* ref/table.c */
void power_kernels_x86_product(struct power_cpu_kernels *table,
                               uint32_t features); /* x86/product.c */
void power_kernels_x86_vector(struct power_cpu_kernels *table,
                              uint32_t features); /* x86/vector.c */
void power_kernels_x86_attend(struct power_cpu_kernels *table,
                              uint32_t features);                           /* x86/attend.c */
void power_kernels_arm(struct power_cpu_kernels *table, uint32_t features); /* arm/table.c */

/* ---- reference scalar functions, the specification (ref/math.c); header ref/math.h ---- */

/* FP environment of every thread that runs kernels: MXCSR 0x1f80, FPCR 0. */
struct power_fp_state {
    uint64_t saved;
};
struct power_fp_state power_fp_enter(void);
void power_fp_leave(struct power_fp_state state);

#endif
