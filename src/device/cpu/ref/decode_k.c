/* SPDX-License-Identifier: MIT */
/* Blocks of the 256-element types without a grid: the K types, ternary types and IQ4_XS.
 * Input: one block of the type's size. Output: a power_ref_unit. Threads: any. Bounds: the block.
 */
#include "device/cpu/ref/ref.h"

static void begin(struct power_ref_unit *out, float dw) {
    *out = (struct power_ref_unit){.step = 256};
    out->dw[0] = dw;
    for (uint32_t i = 0; i < 16; i++) {
        out->sub[i] = 1;
    }
}

/* Two-bit codes of Q2_K, Q3_K and TQ2_0: in each half of 128 elements, 32 bytes hold four runs
 * of 32. */
static int two_bits(const unsigned char *bytes, uint32_t i) {
    return bytes[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
}

/* 16 bytes (scale low nibble, minimum high), 64 bytes of codes, half d, half dmin */
void power_ref_decode_q2_k(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block + 80));
    out->has_min = true;
    out->dmin = power_ref_half_at(block + 82);
    for (uint32_t s = 0; s < 16; s++) {
        out->sub[s] = block[s] & 15;
        out->min[s] = block[s] >> 4;
    }
    for (uint32_t i = 0; i < 256; i++) {
        out->code[i] = (int8_t)two_bits(block + 16, i);
    }
}

/* 32 bytes of third bits, 64 of codes, 12 of 6-bit scales, half d; (sc - 32) * (q - 4) */
void power_ref_decode_q3_k(const unsigned char *block, struct power_ref_unit *out) {
    const unsigned char *scales = block + 96;
    begin(out, power_ref_half_at(block + 108));
    for (uint32_t s = 0; s < 16; s++) {
        const int low = scales[s % 8] >> 4 * (s / 8) & 15;
        const int high = scales[8 + s % 4] >> 2 * (s / 4) & 3;
        out->sub[s] = (int16_t)((low | high << 4) - 32);
    }
    for (uint32_t i = 0; i < 256; i++) {
        const int high = block[i % 32] >> i / 32 & 1;
        out->code[i] = (int8_t)((two_bits(block + 32, i) | high << 2) - 4);
    }
}

/* Q4_K and Q5_K: eight scales and minima of 6 bits in 12 bytes, each for 32 elements. */
static void scales_and_minima(const unsigned char *s, struct power_ref_unit *out) {
    for (uint32_t j = 0; j < 8; j++) {
        int scale, minimum;
        if (j < 4) {
            scale = s[j] & 63;
            minimum = s[j + 4] & 63;
        } else {
            scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
            minimum = s[j + 4] >> 4 | (s[j] >> 6) << 4;
        }
        out->sub[2 * j] = out->sub[2 * j + 1] = (int16_t)scale;
        out->min[2 * j] = out->min[2 * j + 1] = (int16_t)minimum;
    }
}

/* In each 64 elements, 32 bytes hold the first 32 in low nibbles and the others in high ones. */
static int nibble_of_64(const unsigned char *bytes, uint32_t i) {
    return bytes[i / 64 * 32 + i % 32] >> 4 * (i % 64 / 32) & 15;
}

/* half d, half dmin, 12 bytes of scales and minima, 128 bytes of nibbles */
void power_ref_decode_q4_k(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block));
    out->has_min = true;
    out->dmin = power_ref_half_at(block + 2);
    scales_and_minima(block + 4, out);
    for (uint32_t i = 0; i < 256; i++) {
        out->code[i] = (int8_t)nibble_of_64(block + 16, i);
    }
}

/* as Q4_K with 32 bytes of fifth bits before the nibbles: bit i / 32 of byte i % 32 */
void power_ref_decode_q5_k(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block));
    out->has_min = true;
    out->dmin = power_ref_half_at(block + 2);
    scales_and_minima(block + 4, out);
    for (uint32_t i = 0; i < 256; i++) {
        const int high = block[16 + i % 32] >> i / 32 & 1;
        out->code[i] = (int8_t)(nibble_of_64(block + 48, i) | high << 4);
    }
}

/* 128 bytes of low nibbles, 64 of high two bits, 16 int8 scales, half d; sc * (q - 32) */
void power_ref_decode_q6_k(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block + 208));
    for (uint32_t s = 0; s < 16; s++) {
        out->sub[s] = (int16_t)(block[192 + s] < 128 ? block[192 + s] : block[192 + s] - 256);
    }
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t in_half = i % 128;
        const int low = block[i / 128 * 64 + in_half % 64] >> 4 * (in_half / 64) & 15;
        const int high = two_bits(block + 128, i);
        out->code[i] = (int8_t)((low | high << 4) - 32);
    }
}

/* float d, 256 int8, sums of 16 (not needed here) */
void power_ref_decode_q8_k(const unsigned char *block, struct power_ref_unit *out) {
    const uint32_t bits = power_load_u32(block);
    float d;
    memcpy(&d, &bits, sizeof d);
    begin(out, d);
    memcpy(out->code, block + 4, 256);
}

/* Digit n (from the most significant) of a byte that holds q / 243 as a fraction of 256. */
static int ternary_digit(unsigned char byte, uint32_t n) {
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * powers[n]) * 3 >> 8;
}

/* 48 bytes of five digits (32 bytes: elements n * 32 + i, then 16 bytes: 160 + n * 16 + i), 4 bytes
 * of four digits (240 + n * 4 + i), half d; q - 1 */
void power_ref_decode_tq1_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block + 52));
    for (uint32_t i = 0; i < 256; i++) {
        int digit;
        if (i < 160) {
            digit = ternary_digit(block[i % 32], i / 32);
        } else if (i < 240) {
            digit = ternary_digit(block[32 + i % 16], (i - 160) / 16);
        } else {
            digit = ternary_digit(block[48 + i % 4], (i - 240) / 4);
        }
        out->code[i] = (int8_t)(digit - 1);
    }
}

/* 64 bytes of two-bit codes, half d; q - 1 */
void power_ref_decode_tq2_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block + 64));
    for (uint32_t i = 0; i < 256; i++) {
        out->code[i] = (int8_t)(two_bits(block, i) - 1);
    }
}

/* half d, 16 bits and 4 bytes of 6-bit scales, 128 bytes of nibbles into a table; ls - 32 */
void power_ref_decode_iq4_xs(const unsigned char *block, struct power_ref_unit *out) {
    const int high = power_ref_u16(block + 2);
    begin(out, power_ref_half_at(block));
    for (uint32_t j = 0; j < 8; j++) {
        const int low = block[4 + j / 2] >> 4 * (j % 2) & 15;
        const int scale = (low | (high >> 2 * j & 3) << 4) - 32;
        out->sub[2 * j] = out->sub[2 * j + 1] = (int16_t)scale;
    }
    for (uint32_t i = 0; i < 256; i++) {
        const int nibble = block[8 + i / 32 * 16 + i % 16] >> 4 * (i % 32 / 16) & 15;
        out->code[i] = power_iq4_values[nibble];
    }
}
