/* SPDX-License-Identifier: MIT */
/* The quantised products: units of weights unpacked once, reused over all rows of a pass.
 * Input: a power_product. Output: its y, for the rows and outputs of the call.
 * Threads: any, with a scratch each. Bounds: POWER_PRODUCT_SCRATCH bytes of scratch.
 * Included once by each instruction set's file, after product_tiles.h. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_QUANT_H
#define POWER_DEVICE_CPU_X86_PRODUCT_QUANT_H

#define ROWS_MAX 120u /* rows of one pass, a multiple of every tile's */

/* The scratch of one call. */
struct quant_scratch {
    struct unit u[TILE_GROUPS];
    struct power_row_unit rows[16];
    _Alignas(64) float acc[TILE_GROUPS][ROWS_MAX * 64];
    struct xunit x[];
};
#define X_UNITS ((POWER_PRODUCT_SCRATCH - sizeof(struct quant_scratch)) / sizeof(struct xunit))
_Static_assert(X_UNITS > 2 * ROWS_MAX, "activation units fit the scratch");

/* Unpacks unit `unit` of the 16 rows of `group` to u; returns its codes. `rows`: room for raw rows.
 */
typedef const uint8_t *(*unpack_fn)(const struct power_product *p, uint32_t group, uint32_t unit,
                                    uint32_t n, struct unit *u, struct power_row_unit *rows);

/* A few rows, FEW_OUTS outputs from `out` on. x: [units][rows]; y: column 0 of the first row. */
#define FEW_ROWS 4
#define FEW_OUTS 64u
typedef void (*few_fn)(const struct power_product *p, const struct xunit *x, uint32_t out,
                       float *y);

struct quant_kernel {
    struct power_quant_form form;
    unpack_fn unpack;
    const struct tiles *tiles;
    const few_fn *few; /* by rows - 1; NULL for raw rows and bit planes */
};

/* A row's part of a unit: codes, scales, and sums of codes or where isum starts (the weights'
 * offset taken back; signed codes of the maddubs path have none). */
static void take_row(const struct power_product *p, const struct power_quant_form *form, size_t row,
                     uint32_t unit, uint32_t n, struct xunit *out) {
    const struct power_qrows *x = &p->qx;
    const int16_t *sums = x->bsums + row * x->bsum_stride + (size_t)unit * 16;
    const float *d = x->d + row * x->d_stride + (size_t)unit * (POWER_UNIT / x->block);
    memcpy(out->q, x->q + row * x->q_stride + (size_t)unit * POWER_UNIT, n);
    memcpy(out->d, d, n / x->block * sizeof(float));
    for (uint32_t j = 0; form->super && j < form->subs; j++) {
        out->sums[j] = form->subs == 16 ? sums[j] : (int16_t)(sums[2 * j] + sums[2 * j + 1]);
    }
    for (uint32_t j = 0; !form->super && form->subs && j < n / 16; j++) {
        out->sums[j] = sums[j];
    }
    if (form->super || form->subs) return;
    int factor = form->has_min ? 1 : form->bits == 8 && !VNNI ? 0 : -form->offset;
    for (uint32_t b = 0; b < n / 32; b++) {
        out->start[b] = factor * (sums[2 * b] + sums[2 * b + 1]);
    }
}

static uint32_t unit_length(uint32_t k, uint32_t unit) {
    uint32_t left = k - unit * POWER_UNIT;
    return left < POWER_UNIT ? left : POWER_UNIT;
}

static void take_rows(const struct power_product *p, const struct power_quant_form *form,
                      uint32_t row, uint32_t n_rows, uint32_t unit, struct xunit *out) {
    uint32_t n = unit_length(p->k, unit);
    for (uint32_t r = 0; r < n_rows; r++) {
        size_t at = p->x_rows ? p->x_rows[row + r] : row + r;
        take_row(p, form, at, unit, n, out + r);
    }
}

static void run_tiles(const struct quant_kernel *kernel, const struct tile_group *g,
                      uint32_t groups, const struct xunit *x, uint32_t n_rows, uint32_t blocks) {
    for (uint32_t t = 0, row = 0; row < n_rows; t++) {
        const uint32_t rows = tile_rows[groups - 1][t];
        for (; n_rows - row >= rows; row += rows) {
            kernel->tiles->by_rows[groups - 1][t](g, x + row, row, blocks);
        }
    }
}

/* y = chains + 0, the first n_outs of the group's 16. */
static void put_row(float *y, const float *acc, uint32_t n_outs, bool super) {
    _Alignas(64) float out[16];
    for (int lane = 0; lane < 16; lane += LANES) {
        vf a = vf_load(acc + lane);
        if (!super) {
            a = vf_add(vf_add(a, vf_load(acc + 16 + lane)),
                       vf_add(vf_load(acc + 32 + lane), vf_load(acc + 48 + lane)));
        }
        vf_store(out + lane, vf_add(a, vf_zero()));
    }
    memcpy(y, out, n_outs * sizeof(float));
}

/* Some groups of up to 16 outputs each for a pass of rows. x: all units of the pass, or room for
 * one of them. */
static void run_groups(const struct power_product *p, const struct quant_kernel *kernel,
                       uint32_t row, uint32_t n_rows, uint32_t out, uint32_t n_outs, bool x_taken,
                       struct quant_scratch *s) {
    const uint32_t units = (p->k + POWER_UNIT - 1) / POWER_UNIT, groups = (n_outs + 15) / 16;
    const size_t acc_row = kernel->form.super ? 16 : 64;
    struct tile_group g[TILE_GROUPS];
    for (uint32_t i = 0; i < groups; i++) {
        g[i] = (struct tile_group){.u = &s->u[i], .acc = s->acc[i]};
        memset(s->acc[i], 0, n_rows * acc_row * sizeof(float));
    }
    for (uint32_t unit = 0; unit < units; unit++) {
        uint32_t n = unit_length(p->k, unit);
        struct xunit *x = x_taken ? s->x + (size_t)unit * n_rows : s->x;
        if (!x_taken) take_rows(p, &kernel->form, row, n_rows, unit, x);
        for (uint32_t i = 0; i < groups; i++) {
            g[i].w = kernel->unpack(p, out / 16 + i, unit, n, &s->u[i], s->rows);
        }
        run_tiles(kernel, g, groups, x, n_rows, n / 32);
    }
    for (uint32_t i = 0; i < n_rows * groups; i++) {
        const uint32_t r = i / groups, at = i % groups * 16;
        put_row(p->y + (size_t)(row + r) * p->y_stride + out + at, s->acc[i % groups] + r * acc_row,
                n_outs - at < 16 ? n_outs - at : 16, kernel->form.super);
    }
}

/* Rows go in passes whose activations fit the scratch; with a very long k each unit is taken when
 * its turn comes. */
static void run_product(const struct power_product *p, const struct quant_kernel *kernel,
                        uint32_t row, uint32_t n_rows, uint32_t out, uint32_t n_outs,
                        void *scratch) {
    struct quant_scratch *s = scratch;
    uint32_t units = (p->k + POWER_UNIT - 1) / POWER_UNIT, end = out + n_outs;
    uint32_t fit = (uint32_t)(X_UNITS / (units ? units : 1));
    bool x_taken = fit >= (n_rows < tile_rows[0][0] ? n_rows : tile_rows[0][0]);
    uint32_t pass = x_taken && fit < ROWS_MAX ? fit / tile_rows[0][0] * tile_rows[0][0] : ROWS_MAX;
    if (pass == 0) pass = fit;
    for (uint32_t taken; n_rows > 0; n_rows -= taken, row += taken) {
        taken = n_rows < pass ? n_rows : pass;
        for (uint32_t unit = 0; x_taken && unit < units; unit++) {
            take_rows(p, &kernel->form, row, taken, unit, s->x + (size_t)unit * taken);
        }
        uint32_t o = out;
        bool few = taken <= FEW_ROWS && x_taken && kernel->few;
        for (; few && end - o >= FEW_OUTS; o += FEW_OUTS) {
            kernel->few[taken - 1](p, s->x, o, p->y + (size_t)row * p->y_stride);
        }
        for (uint32_t n; o < end; o += n) {
            n = end - o < TILE_GROUPS * 16 ? end - o : TILE_GROUPS * 16;
            run_groups(p, kernel, row, taken, o, n, x_taken, s);
        }
    }
}

#endif
