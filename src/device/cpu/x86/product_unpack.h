/* SPDX-License-Identifier: MIT */
/* Unpacks one unit of 16 weight rows, from a packed group or from raw rows, into a tile's form.
 * Input: a power_product, a group, a unit of n weights. Output: struct unit and where its codes
 * are. Threads: any. Bounds: reads the group's or the rows' own bytes; prefetches run past them.
 * Included once by each instruction set's file, after product_quant.h. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_UNPACK_H
#define POWER_DEVICE_CPU_X86_PRODUCT_UNPACK_H

#define AHEAD 2048 /* bytes between a load and the prefetch of its stream */

/* Half a unit's vector or all of it; each loop over `lane` does 64 bytes. */
#define FOR_LANES for (int lane = 0; lane < 64; lane += LANES * 4)

INLINE void prefetch(const unsigned char *p) {
    __builtin_prefetch(p + AHEAD, 0, 3);
}

/* Where the unit's codes and scales lie in the packed group. */
struct packed_at {
    const unsigned char *codes, *scales;
};
INLINE struct packed_at packed_at(const struct power_product *p, uint32_t group, uint32_t unit,
                                  size_t block, size_t code_bytes, size_t scale_bytes) {
    size_t blocks = p->k / block, first = unit * (POWER_UNIT / block);
    size_t bytes = (blocks * (code_bytes + scale_bytes) + 63) & ~(size_t)63;
    const unsigned char *at = p->packed + group * bytes;
    return (struct packed_at){at + first * code_bytes,
                              at + blocks * code_bytes + first * scale_bytes};
}

INLINE void halves_to_float(const unsigned char *halves, float *out) {
    for (int lane = 0; lane < 16; lane += LANES) {
        vf_store(out + lane, vf_load_half(halves + lane * 2));
    }
}

/* Two 16-bit factors a lane from two vectors of 32 bits. */
INLINE vi pair16(vi even, vi odd) {
    return vi_or(vi_and(even, vi_set1(0xffff)), vi_sll32(odd, 16));
}

INLINE void store_scale(int32_t *out, vi scale) {
    vi_store(out, VNNI ? scale : pair16(scale, scale));
}

/* low and high halves of the bytes of one vector */
INLINE void split(const unsigned char *in, uint8_t *low, uint8_t *high) {
    const vi mask = vi_bytes(15);
    prefetch(in);
    FOR_LANES {
        vi v = vi_load(in + lane);
        vi_store(low + lane, vi_and(v, mask));
        vi_store(high + lane, vi_and(vi_srl16(v, 4), mask));
    }
}

static const uint8_t *unpack_q8_0(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    struct packed_at at = packed_at(p, group, unit, 32, 512, 32);
    for (uint32_t b = 0; b < n / 32; b++) {
        halves_to_float(at.scales + b * 32, u->d[b]);
        for (uint32_t i = 0; i < 8; i++) {
            prefetch(at.codes + b * 512 + i * 64);
        }
    }
    return at.codes;
}

static const uint8_t *unpack_q4_0(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    struct packed_at at = packed_at(p, group, unit, 32, 256, 32);
    for (uint32_t b = 0; b < n / 32; b++) {
        uint8_t(*w)[64] = u->w + b * 8;
        halves_to_float(at.scales + b * 32, u->d[b]);
        for (uint32_t i = 0; i < 4; i++) {
            split(at.codes + b * 256 + i * 64, w[i], w[i + 4]);
        }
    }
    return u->w[0];
}

/* Adds bit g of the bytes of `bits` as bit 4 of the codes of k-group g of eight. */
INLINE void add_fifth(const unsigned char *bits, uint8_t (*w)[64]) {
    const vi bit = vi_bytes(16);
    prefetch(bits);
#define ADD(g, shifted) vi_store(w[g] + lane, vi_or_and(vi_load(w[g] + lane), shifted, bit))
    FOR_LANES {
        vi h = vi_load(bits + lane);
        ADD(0, vi_sll16(h, 4));
        ADD(1, vi_sll16(h, 3));
        ADD(2, vi_sll16(h, 2));
        ADD(3, vi_sll16(h, 1));
        ADD(4, h);
        ADD(5, vi_srl16(h, 1));
        ADD(6, vi_srl16(h, 2));
        ADD(7, vi_srl16(h, 3));
    }
#undef ADD
}

static const uint8_t *unpack_q5_0(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    struct packed_at at = packed_at(p, group, unit, 32, 320, 32);
    for (uint32_t b = 0; b < n / 32; b++) {
        uint8_t(*w)[64] = u->w + b * 8;
        const unsigned char *codes = at.codes + b * 320;
        halves_to_float(at.scales + b * 32, u->d[b]);
        for (uint32_t i = 0; i < 4; i++) {
            split(codes + 64 + i * 64, w[i], w[i + 4]);
        }
        add_fifth(codes, w);
    }
    return u->w[0];
}

INLINE void unpack_scales_k(const unsigned char *scales, struct unit *u) {
    for (uint32_t i = 0; i < 5; i++) {
        prefetch(scales + i * 64);
    }
    halves_to_float(scales, u->d[0]);
    halves_to_float(scales + 32, u->m[0]);
    for (uint32_t j = 0; j < 8; j++) {
        for (int lane = 0; lane < 16; lane += LANES) {
            store_scale(u->sc[j] + lane, vi_widen_u8(scales + 64 + j * 16 + lane));
            if (j % 2) continue;
            const unsigned char *mn = scales + 192 + j * 16 + lane;
            vi_store(u->cp[j / 2] + lane, pair16(vi_widen_u8(mn), vi_widen_u8(mn + 16)));
        }
    }
}

static const uint8_t *unpack_q4_k(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    (void)n;
    struct packed_at at = packed_at(p, group, unit, 256, 2048, 320);
    unpack_scales_k(at.scales, u);
    for (uint32_t i = 0; i < 32; i++) {
        uint8_t(*w)[64] = u->w + i / 8 * 16 + i % 8;
        split(at.codes + i * 64, w[0], w[8]);
    }
    return u->w[0];
}

static const uint8_t *unpack_q5_k(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    (void)n;
    struct packed_at at = packed_at(p, group, unit, 256, 2560, 320);
    unpack_scales_k(at.scales, u);
    for (uint32_t pair = 0; pair < 4; pair++) {
        const unsigned char *codes = at.codes + pair * 640;
        uint8_t(*w)[64] = u->w + pair * 16;
        for (uint32_t i = 0; i < 8; i++) {
            split(codes + 128 + i * 64, w[i], w[i + 8]);
        }
        add_fifth(codes, w);
        add_fifth(codes + 64, w + 8);
    }
    return u->w[0];
}

INLINE void unpack_scales_q6_k(const unsigned char *scales, struct unit *u) {
    for (uint32_t i = 0; i < 5; i++) {
        prefetch(scales + i * 64);
    }
    halves_to_float(scales, u->d[0]);
    for (uint32_t j = 0; j < 16; j += 2) {
        for (int lane = 0; lane < 16; lane += LANES) {
            vi even = vi_widen_s8(scales + 32 + j * 16 + lane);
            vi odd = vi_widen_s8(scales + 48 + j * 16 + lane), by = vi_set1(-32);
            store_scale(u->sc[j] + lane, even);
            store_scale(u->sc[j + 1] + lane, odd);
            vi_store(u->cp[j / 2] + lane, pair16(vi_mul32(even, by), vi_mul32(odd, by)));
        }
    }
}

static const uint8_t *unpack_q6_k(const struct power_product *p, uint32_t group, uint32_t unit,
                                  uint32_t n, struct unit *u, struct power_row_unit *rows) {
    (void)rows;
    (void)n;
    struct packed_at at = packed_at(p, group, unit, 256, 3072, 288);
    const vi low = vi_bytes(15), high = vi_bytes(0x30);
    unpack_scales_q6_k(at.scales, u);
    for (uint32_t g = 0; g < 16; g++) {
        const unsigned char *codes = at.codes + g * 192;
        uint8_t(*w)[64] = u->w + g;
        prefetch(codes);
        prefetch(codes + 64);
        prefetch(codes + 128);
        FOR_LANES {
            vi a = vi_load(codes + lane), b = vi_load(codes + 64 + lane);
            vi h = vi_load(codes + 128 + lane);
            vi a4 = vi_srl16(a, 4), b4 = vi_srl16(b, 4);
            vi_store(w[0] + lane, vi_or_and(vi_and(a, low), vi_sll16(h, 4), high));
            vi_store(w[16] + lane, vi_or_and(vi_and(b, low), vi_sll16(h, 2), high));
            vi_store(w[32] + lane, vi_or_and(vi_and(a4, low), h, high));
            vi_store(w[48] + lane, vi_or_and(vi_and(b4, low), vi_srl16(h, 2), high));
        }
    }
    return u->w[0];
}

/* ---- raw rows ---- */

static void gather_codes(const struct power_row_unit *rows, uint8_t (*w)[64]) {
    for (uint32_t half = 0; half < 16; half += 8) {
        for (uint32_t g = 0; g < POWER_UNIT / 4; g += 8) {
            eight part[8];
            for (uint32_t r = 0; r < 8; r++) {
                part[r] = eight_load(rows[half + r].q + 4 * g);
            }
            transpose8(part, w[g] + half * 4, 64);
        }
    }
}

static void gather_scales(const struct power_row_unit *rows, const struct power_quant_form *form,
                          struct unit *u) {
    bool is_signed = form->bits == 8 && !VNNI;
    for (uint32_t r = 0; r < 16; r++) {
        for (uint32_t b = 0; b < (form->super ? 1u : 8u); b++) {
            u->d[b][r] = rows[r].d[b];
            u->m[b][r] = rows[r].m[b];
        }
        for (uint32_t s = 8; s < 16 && !form->super && form->subs; s++) {
            u->d[s][r] = rows[r].m[s - 8];
        }
        for (uint32_t j = 0; form->super && j < form->subs; j++) {
            uint32_t scale = (uint32_t)(int32_t)rows[r].sc[j];
            u->sc[j][r] = (int32_t)(VNNI ? scale : (scale & 0xffff) | scale << 16);
        }
        for (uint32_t t = 0; form->super && t < form->subs / 2u; t++) {
            uint32_t even = (uint16_t)rows[r].cp[2 * t], odd = (uint16_t)rows[r].cp[2 * t + 1];
            u->cp[t][r] = is_signed ? 0 : (int32_t)(even | odd << 16);
        }
    }
}

INLINE const uint8_t *unpack_raw(const struct power_product *p, uint32_t group, uint32_t unit,
                                 uint32_t n, struct unit *u, struct power_row_unit *rows,
                                 enum power_dtype dtype, const struct power_quant_form *form,
                                 size_t unit_bytes) {
    power_row_decode_fn decode = power_row_decoder(dtype);
    for (uint32_t r = 0; r < 16; r++) {
        uint32_t row = group * 16 + r;
        if (row >= p->n_outs) {
            memset(&rows[r], 0, sizeof rows[r]);
            continue;
        }
        decode(p->raw + row * p->raw_stride + unit * unit_bytes, n, &rows[r]);
    }
    gather_codes(rows, u->w);
    gather_scales(rows, form, u);
    return u->w[0];
}

#endif
