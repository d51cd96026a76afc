/* SPDX-License-Identifier: MIT */
/* Unpacks one unit of 16 weight rows from a packed group of bit planes into a tile's form.
 * Input: a power_product, a group, a unit of n weights. Output: struct unit and where its codes
 * are. Threads: any. Bounds: reads the group's own bytes; prefetches run past them.
 * Included once by each instruction set's file, after product_unpack.h. */
#ifndef POWER_DEVICE_CPU_X86_PRODUCT_UNPACK_PLANES_H
#define POWER_DEVICE_CPU_X86_PRODUCT_UNPACK_PLANES_H

#include "device/cpu/x86/product_planes.h"

/* Bit g of the bytes of `bits`, moved to bit `to`; other bits are left, to be masked. */
INLINE vi move_bit(vi bits, const int g, const int to) {
    return g > to   ? vi_srl16(bits, g > to ? g - to : 0)
           : g < to ? vi_sll16(bits, g < to ? to - g : 0)
                    : bits;
}

/* 32 weights of 16 rows to eight vectors of codes. */
INLINE void unpack_planes_32(const unsigned char *in, uint8_t (*w)[64], const int low,
                             const int high, const uint8_t *table) {
    const unsigned char *planes = in + high * 64;
    const int apart = low ? low : 1, mask = (1 << low) - 1;
    UNROLL
    for (int i = 0; i < high + low; i++) {
        prefetch(in + i * 64);
    }
    FOR_LANES {
        vi bits = high ? vi_load(in + lane) : vi_zero();
        UNROLL
        for (int g = 0; g < 8; g++) {
            vi code = vi_zero();
            if (low) {
                vi plane = vi_load(planes + g % apart * 64 + lane);
                code = vi_and(g < apart ? plane : vi_srl16(plane, g / apart * low), vi_bytes(mask));
            }
            if (high) code = vi_or_and(code, move_bit(bits, g, low), vi_bytes(1 << low));
            if (table) code = vi_look_up(table, code);
            vi_store(w[g] + lane, code);
        }
    }
}

/* Scales of sub-blocks and, for codes with an offset, the factors of the activations' sums. */
INLINE void unpack_sub_scales(const unsigned char *scales, struct unit *u, const int subs,
                              const int offset, const bool is_signed) {
    for (int j = 0; j < subs; j += 2) {
        for (int lane = 0; lane < 16; lane += LANES) {
            vi even = vi_widen_s8(scales + j * 16 + lane);
            vi odd = vi_widen_s8(scales + j * 16 + 16 + lane), by = vi_set1(-offset);
            store_scale(u->sc[j] + lane, even);
            store_scale(u->sc[j + 1] + lane, odd);
            vi pair = pair16(vi_mul32(even, by), vi_mul32(odd, by));
            vi_store(u->cp[j / 2] + lane, is_signed ? vi_zero() : pair);
        }
    }
}

INLINE void unpack_equal_scales(struct unit *u, const int subs, const int offset) {
    for (int lane = 0; lane < 16; lane += LANES) {
        for (int j = 0; j < subs; j++) {
            store_scale(u->sc[j] + lane, vi_set1(1));
        }
        for (int t = 0; t < subs / 2; t++) {
            vi_store(u->cp[t] + lane, pair16(vi_set1(-offset), vi_set1(-offset)));
        }
    }
}

/* A byte of each of 16 sub-blocks: scale low, minimum high. */
INLINE void unpack_minima(const unsigned char *scales, struct unit *u) {
    const vi low = vi_set1(15);
    for (int j = 0; j < 16; j += 2) {
        for (int lane = 0; lane < 16; lane += LANES) {
            vi even = vi_widen_u8(scales + j * 16 + lane);
            vi odd = vi_widen_u8(scales + j * 16 + 16 + lane);
            store_scale(u->sc[j] + lane, vi_and(even, low));
            store_scale(u->sc[j + 1] + lane, vi_and(odd, low));
            vi_store(u->cp[j / 2] + lane, pair16(vi_srl16(even, 4), vi_srl16(odd, 4)));
        }
    }
}

INLINE void scale_floats(float *d, const float factor) {
    for (int lane = 0; lane < 16 && factor != 1.0f; lane += LANES) {
        vf_store(d + lane, vf_mul(vf_load(d + lane), vf_set1(factor)));
    }
}

INLINE void unpack_block_scales(const unsigned char *scales, uint32_t n, struct unit *u,
                                const enum power_plane_scales kind, const int block) {
    const size_t bytes = power_plane_scale_bytes(kind);
    for (uint32_t b = 0; b < n / 32; b++) {
        const unsigned char *at = scales + b * 32 / (uint32_t)block * bytes;
        if (kind == PLANE_F16) {
            halves_to_float(at + b % 2 * 64, u->d[2 * b]);
            halves_to_float(at + b % 2 * 64 + 32, u->d[2 * b + 1]);
        } else if (kind == PLANE_E8) {
            for (int lane = 0; lane < 16; lane += LANES) {
                vf_store(u->d[b] + lane, vf_half_of_e8m0(vi_widen_u8(at + lane)));
            }
        } else {
            halves_to_float(at, u->d[b]);
            if (kind == PLANE_DM) halves_to_float(at + 32, u->m[b]);
        }
    }
}

INLINE void unpack_super_scales(const unsigned char *scales, struct unit *u,
                                const enum power_plane_scales kind, const float factor,
                                const struct power_quant_form *form) {
    halves_to_float(scales, u->d[0]);
    scale_floats(u->d[0], factor);
    for (uint32_t i = 0; i < power_plane_scale_bytes(kind); i += 64) {
        prefetch(scales + i);
    }
    if (kind == PLANE_MIN) {
        halves_to_float(scales + 32, u->m[0]);
        unpack_minima(scales + 64, u);
    } else if (kind == PLANE_ONE) {
        unpack_equal_scales(u, form->subs, form->offset);
    } else {
        unpack_sub_scales(scales + 32, u, form->subs, form->offset, form->bits == 8 && !VNNI);
    }
}

INLINE const uint8_t *unpack_planes(const struct power_product *p, uint32_t group, uint32_t unit,
                                    uint32_t n, struct unit *u, const int low, const int high,
                                    const enum power_plane_codes codes,
                                    const enum power_plane_scales kind, const int block,
                                    const float factor, const struct power_quant_form *form) {
    const size_t code_bytes = POWER_PLANE_CODE_BYTES(low, high, block);
    const struct packed_at at =
        packed_at(p, group, unit, (size_t)block, code_bytes, power_plane_scale_bytes(kind));
    const bool look_up = codes != PLANE_PLAIN && codes != PLANE_TERN;
    if (form->super) {
        unpack_super_scales(at.scales, u, kind, factor, form);
    } else {
        unpack_block_scales(at.scales, n, u, kind, block);
    }
    for (uint32_t i = 0; i < n / 32; i++) {
        unpack_planes_32(at.codes + i * (size_t)(high + low) * 64, u->w + 8 * i, low, high,
                         look_up ? power_plane_tables[codes].code : NULL);
    }
    return u->w[0];
}

#endif
